"""Runners of plans: units of frames are counted by threads, processes or machines, and kept in a store."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from softsense._core import FrameTask, SoftsenseError, StopFlag
from softsense.base import Progress
from softsense.executing import Elsewhere, Flight, Threads, Workers, hearing_ctrl_c
from softsense.sampling import Plan, Request, block_end
from softsense.store import Store

_T = TypeVar("_T")

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
    def place(self) -> tuple[int | None, int, int]:
        return (self.errors, self.first_unit, self.units)

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
        """The result of a unit, ready for JSON; None if `stop` was set meanwhile."""


def run_unit(pickled: bytes, unit: int) -> Any:
    """Carry out a unit of pickled work, in any process."""
    return _unpickled(pickled).run(unit)


def run_units(
    store: Store, workers: int | Executor, work: Work, units: int, name: str, progress: Progress | None = None
) -> list[Any] | None:
    """Carry out those of units 0 to `units` - 1 that the store lacks. Returns the results of all units, or None after
    Ctrl-C.
    """
    identity = work.identity
    by: Workers[int]
    if isinstance(workers, int):
        by = Threads(workers, work.run)
    else:
        pickled = pickle.dumps(work)
        by = Elsewhere(workers, lambda executor, unit: executor.submit(run_unit, pickled, unit))
    flight = Flight(by, [unit for unit in range(units) if store.result(identity, unit) is None])
    done = units - len(flight.waiting)

    def keep(ended: Iterable[tuple[int, Future[Any]]]) -> None:
        nonlocal done
        for unit, future in ended:
            # A unit that was stopped has no result.
            if (result := flight.result(future)) is not None:
                store.add_result(identity, unit, result)
                done += 1

    def report() -> None:
        if progress:
            progress(name, done, done / max(1, units))

    try:
        flight.carry_out(keep, report)
    finally:
        store.commit()
    return None if done < units else [store.result(identity, unit) for unit in range(units)]


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
        self._flight: Flight[_Job]
        self._pickled: dict[str, bytes] = {}
        self._asked: dict[Key, _Job] = {}
        self.interrupted = False

    def _by(self) -> Workers[_Job]:
        if isinstance(self.workers, int):
            return Threads(self.workers, lambda job, stop: (job.task.identity, job.task.count(*job.place, stop)))
        return Elsewhere(self.workers, self._submit)

    def run(self, plans: Iterable[Plan[_T]]) -> list[_T | None]:
        """Carry out plans, the first ones first; after Ctrl-C, end them with what there is and set `interrupted`.

        Returns their results; None for plans that had not begun.
        """
        progressing = [_Progressing(plan) for plan in plans]
        self._flight = Flight(self._by())

        def feed() -> None:
            for p in progressing:
                if not p.ended and not p.waits_for and (p.begun or len(self._asked) < self._flight.most):
                    self._advance(p)

        def report() -> None:
            if self._progress and progressing:
                fraction = sum(p.fraction for p in progressing) / len(progressing)
                self._progress(f"decoding {self._code}", sum(p.counted for p in progressing), fraction)

        try:
            self.interrupted = self._flight.carry_out(
                lambda ended: self._collect(progressing, ended),
                report,
                feed=feed,
                goes_on=lambda: not all(p.ended for p in progressing),
            )
        finally:
            self._store.commit()
        with hearing_ctrl_c():
            for p in progressing:
                while p.begun and not p.ended:
                    p.advance(False)
        return [p.result for p in progressing]

    def _advance(self, progressing: _Progressing) -> None:
        """Advance a plan until it asks for units that the store lacks."""
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

    def _submit(self, executor: Executor, job: _Job) -> Future[Any]:
        identity = job.task.identity
        if identity not in self._pickled:
            self._pickled[identity] = pickle.dumps(job.task)
        return executor.submit(count_units, self._pickled[identity], *job.place)

    def _collect(self, progressing: Sequence[_Progressing], ended: Iterable[tuple[_Job, Future[Any]]]) -> None:
        for job, future in ended:
            identity, counted = self._flight.result(future)
            if identity != job.task.identity:
                message = "workers: found another version of softsense on a worker, expected the version that runs here"
                raise SoftsenseError(message)
            # A unit that was stopped has no counts.
            if counted is None:
                continue
            self._store.add(job.task, self._code, job.errors, job.first_unit, job.units, counted)
            del self._asked[job.key]
            for p in progressing:
                p.counted += p.waits_for.pop(job.key, 0)
