"""Carrying out plans: units of frames counted by threads, processes or machines, and kept in a store."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from softsense._core import ConfigError, FrameTask, SoftsenseError, StopFlag
from softsense.base import Progress
from softsense.sampling import Plan, Request, block_end
from softsense.store import Store

if TYPE_CHECKING:
    from types import FrameType

_T = TypeVar("_T")
_J = TypeVar("_J")
_MOST_ELSEWHERE = 64
_WAIT_S = 0.1

Key = tuple[str, int | None, int]
"""A job: identity of its task, raw bit errors, first unit."""


@dataclass(frozen=True)
class _Job:
    task: FrameTask
    errors: int | None
    first_unit: int
    units: int

    @property
    def key(self) -> Key:
        return (self.task.identity, self.errors, self.first_unit)

    @property
    def frames(self) -> int:
        return self.units * self.task.unit_frames


@dataclass
class _Progressing:
    """A plan, and what it waits for."""

    plan: Plan[Any]
    waits_for: dict[Key, int] = field(default_factory=dict)
    counted: int = 0
    expected: int = 0
    begun: bool = False
    ended: bool = False
    result: Any = None

    def advance(self, go_on: bool) -> list[Request]:
        """What the next round asks for; nothing if the plan has ended."""
        try:
            wanted = self.plan.send(go_on) if self.begun else next(self.plan)
        except StopIteration as end:
            self.ended, self.result = True, end.value
            return []
        self.begun, self.expected = True, wanted.expected_frames
        return wanted.requests

    @property
    def fraction(self) -> float:
        if self.ended:
            return 1.0
        return self.counted / max(1, self.counted + sum(self.waits_for.values()) + self.expected)


def count_units(pickled: bytes, errors: int | None, first_unit: int, units: int) -> tuple[str, dict[str, Any]]:
    """Count units of a pickled task in whatever process this is; returns the task's identity there, and the counts."""
    task = _unpickled(pickled)
    counted = task.count(errors, first_unit, units)
    assert counted is not None
    return task.identity, counted


@functools.lru_cache(maxsize=64)
def _unpickled(pickled: bytes) -> Any:
    return pickle.loads(pickled)


class Work(Protocol):
    """Work in units, each a pure function of the work's identity and its number. It pickles."""

    @property
    def identity(self) -> str:
        """What results depend on, as a hash."""

    def run(self, unit: int, stop: StopFlag | None = None) -> Any:
        """What a unit comes to, as JSON has it; None if `stop` was set meanwhile."""


def run_unit(pickled: bytes, unit: int) -> Any:
    """A unit of pickled work in whatever process this is."""
    return _unpickled(pickled).run(unit)


def run_units(
    store: Store, workers: int | Executor, work: Work, units: int, name: str, progress: Progress | None = None
) -> list[Any] | None:
    """Carry out units 0 to `units` - 1 of work that the store lacks; returns all results, or None after Ctrl-C."""
    identity = work.identity
    threads = ThreadPoolExecutor(workers) if isinstance(workers, int) else None
    pickled = b"" if threads else pickle.dumps(work)
    with stopping() as stop:

        def submit(unit: int) -> Future[Any]:
            if threads:
                return threads.submit(work.run, unit, stop)
            assert not isinstance(workers, int)
            return workers.submit(run_unit, pickled, unit)

        flight = InFlight(submit, 2 * workers if isinstance(workers, int) else _MOST_ELSEWHERE)
        flight.waiting.extend(unit for unit in range(units) if store.result(identity, unit) is None)
        done = units - len(flight.waiting)

        def keep(ended: Iterable[tuple[int, Future[Any]]]) -> None:
            nonlocal done
            for unit, future in ended:
                try:
                    result = future.result()
                except SoftsenseError:
                    raise
                except Exception as error:
                    if threads:
                        raise
                    raise SoftsenseError(f"workers: {type(error).__name__}: {error}") from error
                if result is not None:
                    store.add_result(identity, unit, result)
                    done += 1

        try:
            while flight and not stop.is_set:
                flight.submit()
                keep(flight.ended())
                if progress:
                    progress(name, done, done / max(1, units))
        finally:
            flight.cancel()
            if threads:
                threads.shutdown(wait=True)
            keep(flight.rest())
            store.commit()
    return None if done < units else [store.result(identity, unit) for unit in range(units)]


class InFlight(Generic[_J]):
    """Jobs that wait their turn, and those that have been handed to workers, a bounded number of them.

    Args:
        submit: hands a job to a worker.
        most: jobs that workers have at a time. Enough to keep every worker busy; more would only be there to be lost.
    """

    def __init__(self, submit: Callable[[_J], Future[Any]], most: int) -> None:
        self._submit, self.most = submit, most
        self.waiting: deque[_J] = deque()
        self.running: dict[Future[Any], _J] = {}

    def __bool__(self) -> bool:
        return bool(self.waiting or self.running)

    def submit(self) -> None:
        """Hand out what waits, as far as there is room."""
        while self.waiting and len(self.running) < self.most:
            job = self.waiting.popleft()
            self.running[self._submit(job)] = job

    def ended(self) -> Iterator[tuple[_J, Future[Any]]]:
        """What has ended since the last call; waits for some of it for a tenth of a second at most."""
        done, _ = wait(self.running, timeout=_WAIT_S, return_when=FIRST_COMPLETED)
        # One at a time: what is not asked for any more, because of an error, is still there.
        for future in done:
            yield self.running.pop(future), future

    def cancel(self) -> None:
        """Hand out nothing more, and take back what no worker has begun."""
        self.waiting.clear()
        for future in self.running:
            future.cancel()

    def rest(self) -> list[tuple[_J, Future[Any]]]:
        """What had ended well by the time that it was cancelled; all else is given up."""
        running, self.running = self.running, {}
        return [(job, f) for f, job in running.items() if f.done() and not f.cancelled() and not f.exception()]


class Runner:
    """Carries out plans: keeps their counts in a store and gives what is missing to threads, processes or machines.

    Args:
        store: where counts are looked up and kept.
        workers: threads of this process, or any executor.
        code: the code's name.
        progress: called now and then with a name, the frames counted so far and the fraction that they are of all.
    """

    def __init__(self, store: Store, workers: int | Executor, code: str, progress: Progress | None = None) -> None:
        self._store, self.workers, self._code, self._progress = store, workers, code, progress
        self._stop = StopFlag()
        self._threads: ThreadPoolExecutor | None = None
        self._flight = InFlight(self._submit, 2 * workers if isinstance(workers, int) else _MOST_ELSEWHERE)
        self._pickled: dict[str, bytes] = {}
        self._asked: dict[Key, _Job] = {}
        self.interrupted = False

    def run(self, plans: Iterable[Plan[_T]]) -> list[_T | None]:
        """Carry out plans, the first ones first; after Ctrl-C, end them with what there is and set `interrupted`.

        Returns their results; None for plans that had not begun.
        """
        progressing = [_Progressing(plan) for plan in plans]
        if isinstance(self.workers, int):
            self._stop, self._threads = StopFlag(), ThreadPoolExecutor(self.workers)
        with hearing_ctrl_c() as heard:
            try:
                while not heard and not all(p.ended for p in progressing):
                    for p in progressing:
                        if not p.ended and not p.waits_for and (p.begun or len(self._asked) < self._flight.most):
                            self._advance(p)
                    self._flight.submit()
                    self._collect(progressing, self._flight.ended())
                    if self._progress:
                        fraction = sum(p.fraction for p in progressing) / len(progressing)
                        self._progress(f"decoding {self._code}", sum(p.counted for p in progressing), fraction)
                self.interrupted = not all(p.ended for p in progressing)
            finally:
                self._end(progressing)
            for p in progressing:
                while p.begun and not p.ended:
                    p.advance(False)
        return [p.result for p in progressing]

    def _advance(self, progressing: _Progressing) -> None:
        """Go on with a plan until the store lacks something that it asks for."""
        while not progressing.ended and not progressing.waits_for:
            for request in progressing.advance(True):
                for job in self._missing(request):
                    progressing.waits_for[job.key] = job.frames
                    if job.key not in self._asked:
                        self._asked[job.key] = job
                        self._flight.waiting.append(job)

    def _missing(self, request: Request) -> Iterable[_Job]:
        for first, units in self._store.missing(request.task, request.errors, 0, request.units):
            start = first
            while start < first + units:
                end = min(block_end(start), first + units)
                yield _Job(request.task, request.errors, start, end - start)
                start = end

    def _submit(self, job: _Job) -> Future[Any]:
        place = (job.errors, job.first_unit, job.units)
        if self._threads:
            return self._threads.submit(job.task.count, *place, self._stop)
        identity = job.task.identity
        if identity not in self._pickled:
            self._pickled[identity] = pickle.dumps(job.task)
        assert not isinstance(self.workers, int)
        return self.workers.submit(count_units, self._pickled[identity], *place)

    def _collect(self, progressing: Sequence[_Progressing], ended: Iterable[tuple[_Job, Future[Any]]]) -> None:
        for job, future in ended:
            if (counted := self._result(future, job)) is None:
                continue
            self._store.add(job.task, self._code, job.errors, job.first_unit, job.units, counted)
            del self._asked[job.key]
            for p in progressing:
                p.counted += p.waits_for.pop(job.key, 0)

    def _result(self, future: Future[Any], job: _Job) -> dict[str, Any] | None:
        if self._threads:
            found: dict[str, Any] | None = future.result()
            return found
        try:
            identity, counted = future.result()
        except SoftsenseError:
            raise
        except Exception as error:
            raise SoftsenseError(f"workers: {type(error).__name__}: {error}") from error
        if identity != job.task.identity:
            raise SoftsenseError("workers: found another version of softsense there, expected the one that runs here")
        whole: dict[str, Any] = counted
        return whole

    def _end(self, progressing: Sequence[_Progressing]) -> None:
        """Stop what runs, and keep what has been counted all the same."""
        self._stop.set()
        self._flight.cancel()
        if self._threads:
            self._threads.shutdown(wait=True)
        self._collect(progressing, self._flight.rest())
        self._store.commit()


@contextlib.contextmanager
def stopping() -> Iterator[StopFlag]:
    """A flag that Ctrl-C sets."""
    stop = StopFlag()
    with hearing_ctrl_c(stop.set):
        yield stop


@contextlib.contextmanager
def hearing_ctrl_c(also: Callable[[], None] | None = None) -> Iterator[list[int]]:
    """A list that is no longer empty after Ctrl-C; a second Ctrl-C is the usual one. Other threads hear nothing.

    The first Ctrl-C calls `also`, too.
    """
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(number)
        if also:
            also()

    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def chosen_workers(workers: int | Executor | None) -> int | Executor:
    """The workers that were asked for; None: a thread for each CPU that this process may use."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, int) and workers < 1:
        raise ConfigError(f"workers: found {workers}, expected at least 1")
    return workers
