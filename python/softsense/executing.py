"""Carrying out many jobs: in threads, in processes or on a cluster.

Jobs are handed out in the order in which they wait, and come back as they end. After Ctrl-C no more are handed out, and
results of jobs that have ended are kept. The choice and number of workers changes no result as long as each job is a
pure function.

Runs of `run` and `compare` have threads of their own, in `softsense.simulating`. The core may be amidst a decode of
many iterations when Ctrl-C comes; such a thread is abandoned, while every pool of Python's waits for its threads.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from softsense._core import ConfigError, SoftsenseError, StopFlag

if TYPE_CHECKING:
    from types import FrameType

_J = TypeVar("_J")
_J_in = TypeVar("_J_in", contravariant=True)
_UNKNOWN = 32
"""Number of workers assumed of an executor that does not report it."""
_LOOK_AGAIN_S = 5.0
_WAIT_S = 0.1

Ended = tuple[_J, Future[Any]]


class Workers(Protocol[_J_in]):
    """Workers that do jobs.

    Attributes:
        here: whether they are part of this program, so that an error in a job is a fault of the program itself.
    """

    here: bool

    @property
    def most(self) -> int:
        """Number of jobs that they have at a time: enough to keep each busy; more would be lost if they stop."""

    def submit(self, job: _J_in) -> Future[Any]:
        """Hand a job to a worker."""

    def close(self, *, stop: bool) -> None:
        """Take no more jobs; with `stop` also abandon those under way."""


class Threads(Generic[_J]):
    """Threads of this process.

    Args:
        count: number of threads.
        do: a function that does a job; a flag tells it that the result is not wanted any more.
        most: number of jobs in flight, as in `Workers`; default: two jobs for each thread.
    """

    here = True

    def __init__(self, count: int, do: Callable[[_J, StopFlag], Any], most: int = 0) -> None:
        self._pool, self._do, self._stop = ThreadPoolExecutor(count), do, StopFlag()
        self._most = most or 2 * count

    @property
    def most(self) -> int:
        """The number of jobs in flight, as in `Workers`."""
        return self._most

    def submit(self, job: _J) -> Future[Any]:
        """Hand a job to a thread."""
        return self._pool.submit(self._do, job, self._stop)

    def close(self, *, stop: bool) -> None:
        """End the threads."""
        if stop:
            self._stop.set()
        self._pool.shutdown(wait=True)


class Elsewhere(Generic[_J]):
    """Workers of an executor or of a Dask client, which are not ended here.

    Workers of a cluster may come and go: jobs in flight are twice as many as there are workers now.

    Args:
        executor: the executor, or the client.
        submit: a function that hands a job to it, with whatever the job needs there.
        most: number of jobs in flight, as in `Workers`; default: two jobs for each worker.
    """

    here = False

    def __init__(self, executor: Any, submit: Callable[[Executor, _J], Future[Any]], most: int = 0) -> None:
        self._executor: Executor = executor.get_executor() if hasattr(executor, "get_executor") else executor
        self._submit, self._most = submit, most
        self._count, self._looked = 0, -math.inf

    @property
    def most(self) -> int:
        """The number of jobs in flight, as in `Workers`."""
        if self._most:
            return self._most
        # A client asks its scheduler, which takes time, so the number is asked for only now and then.
        if time.monotonic() - self._looked > _LOOK_AGAIN_S:
            self._count, self._looked = max(1, _workers_of(self._executor)), time.monotonic()
        return 2 * self._count

    def submit(self, job: _J) -> Future[Any]:
        """Hand a job to the executor."""
        return self._submit(self._executor, job)

    def close(self, *, stop: bool) -> None:
        """Do nothing: the workers are somebody else's."""


def _workers_of(executor: Any) -> int:
    """The number of workers that an executor has now."""
    client: Any = getattr(executor, "_client", None)
    count: int = sum(client.nthreads().values()) if client else getattr(executor, "_max_workers", _UNKNOWN)
    return count


class Flight(Generic[_J]):
    """Jobs that wait, and jobs that workers have.

    Attributes:
        one_at_a_time: whether no more than one job is handed out.
    """

    def __init__(self, workers: Workers[_J], jobs: Iterable[_J] = ()) -> None:
        self._workers, self.one_at_a_time = workers, False
        self.waiting: deque[_J] = deque(jobs)
        self.running: dict[Future[Any], _J] = {}

    def __bool__(self) -> bool:
        return bool(self.waiting or self.running)

    @property
    def most(self) -> int:
        """Number of jobs that workers have at a time."""
        return 1 if self.one_at_a_time else self._workers.most

    def carry_out(
        self,
        keep: Callable[[Iterable[Ended[_J]]], None],
        report: Callable[[], None],
        *,
        feed: Callable[[], None] = lambda: None,
        goes_on: Callable[[], bool] | None = None,
    ) -> bool:
        """Do all jobs; returns whether Ctrl-C ended that early.

        Args:
            keep: takes jobs that have ended, with `result`; after Ctrl-C or an error, too, those that ended by then.
            report: called now and then, to report progress.
            feed: called before jobs are handed out, and may add some.
            goes_on: tells whether there is more to do; default: as long as there are jobs.
        """
        going = goes_on or self.__bool__
        if not going():
            self.close(keep)
            return False
        with hearing_ctrl_c() as heard:
            try:
                while not heard and going():
                    report()
                    feed()
                    self.submit()
                    keep(self.ended())
                report()
                return going()
            finally:
                self.close(keep)

    def submit(self) -> None:
        """Hand out waiting jobs, as far as there is room."""
        most = self.most
        while self.waiting and len(self.running) < most:
            job = self.waiting.popleft()
            self.running[self._workers.submit(job)] = job

    def ended(self) -> Iterator[Ended[_J]]:
        """Jobs that have ended since the last call; waits for some for a tenth of a second at most."""
        done, _ = wait(self.running, timeout=_WAIT_S, return_when=FIRST_COMPLETED)
        # Jobs leave one at a time: those that an error keeps the caller from taking stay in `running`.
        for future in done:
            yield self.running.pop(future), future

    def close(self, keep: Callable[[Iterable[Ended[_J]]], None]) -> None:
        """Hand out nothing more, take back jobs that no worker has begun, and keep those that have ended well."""
        unfinished = bool(self)
        self.waiting.clear()
        for future in self.running:
            future.cancel()
        self._workers.close(stop=unfinished)
        running, self.running = self.running, {}
        keep([(job, f) for f, job in running.items() if f.done() and not f.cancelled() and not f.exception()])

    def result(self, future: Future[Any]) -> Any:
        """The result of a job.

        Raises `SoftsenseError`: the error of the job, or that workers elsewhere are gone, or another error of theirs.
        """
        try:
            return future.result()
        except SoftsenseError:
            raise
        except Exception as error:
            if self._workers.here:
                raise
            if isinstance(error, CancelledError):
                message = (
                    "workers: found that all workers are gone, expected at least one (the same command or call "
                    "continues the work)"
                )
                raise SoftsenseError(message) from None
            raise SoftsenseError(f"workers: {type(error).__name__}: {error}".removesuffix(": ")) from error


@contextlib.contextmanager
def hearing_ctrl_c() -> Iterator[list[int]]:
    """A list that is no longer empty after Ctrl-C; a second Ctrl-C acts as usual. Other threads hear nothing."""
    heard: list[int] = []

    def hear(number: int, frame: FrameType | None) -> None:
        if heard:
            raise KeyboardInterrupt
        heard.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield heard
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def chosen_workers(workers: int | Executor | None) -> int | Executor:
    """The workers that were asked for; for None a thread for each CPU that this process may use."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, int) and workers < 1:
        raise ConfigError(f"workers: found {workers}, expected at least 1")
    return workers
