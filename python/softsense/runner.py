"""Runners of plans: units of frames are counted by threads, processes or machines, and kept in a store.

- A *frame* is one codeword that is decoded to measure a failure rate. A *task* says how frames are made and decoded.
- A *unit* is a number of frames (`unit_frames` of the task) that are counted together; *blocks* are ranges of units
  whose counts are kept together (`softsense.counts`).
- A *plan* is a generator that asks for units, round by round, until a rate is known (`softsense.sampling`).
- A *shard* is one of several parts of a campaign that know nothing of one another. It counts its share, and foresees
  the counts of the others (`softsense.shards`, docs/clusters.md).
"""

from __future__ import annotations

import bisect
import functools
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from softsense._core import FrameTask, SoftsenseError, StopFlag
from softsense.base import Progress, ShardDone
from softsense.counts import Counts, Place, Row, block_end, cut, gaps, place_of
from softsense.executing import Elsewhere, Flight, Threads, Workers, hearing_ctrl_c
from softsense.sampling import Plan, Request
from softsense.store import Store

_T = TypeVar("_T")

_LEAST_JOB_S = 0.25
"""Shortest job, in seconds: shorter ones would cost more to hand out than they do."""
_LONGEST_JOB_S = 120.0
"""Longest job, in seconds: what is lost if a worker is killed."""


@dataclass(frozen=True)
class _Job:
    """Ranges of units that are counted at once, each within a block, as first unit and end.

    Frames have `errors` raw bit errors; None: as many as the channel draws. The same holds for `errors` below.
    """

    task: FrameTask
    errors: int | None
    ranges: tuple[tuple[int, int], ...]

    @property
    def units(self) -> int:
        return self.ranges[-1][1] - self.ranges[0][0]


@dataclass
class _WaitingRange:
    """A range of units that no worker has been given yet."""

    task: FrameTask
    errors: int | None
    start: int
    end: int


@dataclass
class _Progressing:
    """A plan that is carried out.

    Attributes:
        waits_for: requests of the present round whose units are not all counted.
        counted: frames counted for it so far.
        expected: frames that it expects to need after this round.
        result: its result, once it has ended.
    """

    plan: Plan[Any]
    waits_for: list[Request] = field(default_factory=list)
    counted: int = 0
    expected: int = 0
    begun: bool = False
    ended: bool = False
    result: Any = None

    def advance(self, go_on: bool) -> list[Request]:
        """The requests of the next round; none if the plan has ended. `go_on` False ends it with the counts so far."""
        try:
            wanted = self.plan.send(go_on) if self.begun else next(self.plan)
        except StopIteration as end:
            self.ended, self.result = True, end.value
            return []
        self.begun, self.expected = True, wanted.expected_frames
        return wanted.requests

    def fraction(self, store: Store) -> float:
        """The completed fraction of the plan, by the number of frames that it expects."""
        if self.ended:
            return 1.0
        units = [(request.task, sum(end - start for start, end in store.ask(request))) for request in self.waits_for]
        waiting = sum(task.unit_frames * count for task, count in units)
        return self.counted / max(1, self.counted + waiting + self.expected)


def count_ranges(
    pickled: bytes, errors: int | None, ranges: tuple[tuple[int, int], ...]
) -> tuple[str, list[dict[str, Any] | None], float]:
    """Count ranges of units of a pickled task in whatever process this is.

    Returns the task's identity there, the counts of each range, and the seconds that these took.
    """
    return _counted(_unpickled(pickled), errors, ranges)


def _counted(
    task: FrameTask, errors: int | None, ranges: tuple[tuple[int, int], ...], *stop: StopFlag
) -> tuple[str, list[dict[str, Any] | None], float]:
    began = time.perf_counter()
    counts = [task.count(errors, start, end - start, *stop) for start, end in ranges]
    return task.identity, counts, time.perf_counter() - began


@functools.lru_cache(maxsize=64)
def _unpickled(pickled: bytes) -> Any:
    return pickle.loads(pickled)


def all_of(steps: Iterable[Callable[[], _T]]) -> list[_T]:
    """The results of steps that do not need each other.

    `ShardDone` of a step says that the rest of it is up to other shards. This shard still does its share of the next
    steps, and `ShardDone` is raised after the last.
    """
    found: list[_T] = []
    left: ShardDone | None = None
    for step in steps:
        try:
            found.append(step())
        except ShardDone as done:
            left = done
    if left:
        raise left
    return found


class Work(Protocol):
    """Work in units, each a pure function of the work's identity and its number. It pickles."""

    @property
    def identity(self) -> str:
        """A hash of all inputs of the results."""

    def run(self, unit: int, stop: StopFlag | None = None) -> Any:
        """The result of a unit, ready for JSON; None if `stop` was set meanwhile."""


def run_unit(pickled: bytes, unit: int) -> Any:
    """Carry out a unit of pickled work, in any process."""
    return _unpickled(pickled).run(unit)


def run_units(
    store: Store, workers: int | Executor, work: Work, units: int, name: str, progress: Progress | None = None
) -> list[Any] | None:
    """Carry out the units among 0 to `units` - 1 that are to be done here.

    Here means in this process, with its workers: all units that the store lacks, or those that fall to this shard.
    Returns the results of all units, or None after Ctrl-C. Raises `ShardDone` where other shards have some of them.
    """
    identity = work.identity
    by: Workers[int]
    if isinstance(workers, int):
        by = Threads(workers, work.run)
    else:
        pickled = pickle.dumps(work)
        by = Elsewhere(workers, lambda executor, unit: executor.submit(run_unit, pickled, unit))
    to_do = [unit for _, unit in store.to_do((identity, unit) for unit in range(units))]
    flight = Flight(by, to_do)
    done = units - len(to_do)

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
        interrupted = flight.carry_out(keep, report)
    finally:
        store.commit()
    # A unit that was stopped has no result either.
    if interrupted or any(store.result(identity, unit) is None for unit in to_do):
        return None
    found = [store.result(identity, unit) for unit in range(units)]
    if None in found:
        raise ShardDone(store.told())
    return found


class Runner:
    """A runner of plans: it keeps their counts in a store and gives missing units to threads, processes or machines.

    A job lasts about as many seconds as there are workers, two minutes at most. So about one job ends each second,
    however many workers there are, and the process that hands out jobs keeps up. Towards the end jobs are shorter, so
    that all workers share the rest. Their length follows from the observed speed. It changes no result, as counts are
    kept by blocks.

    Args:
        store: the store in which counts are looked up and kept.
        workers: number of threads of this process, or any executor (`concurrent.futures`), also of a cluster.
        code: name of the error-correcting code that is measured.
        progress: called now and then with a name, the frames counted so far and their fraction of all.

    Attributes:
        interrupted: whether Ctrl-C has ended the last run.
    """

    def __init__(self, store: Store, workers: int | Executor, code: str, progress: Progress | None = None) -> None:
        self._store, self.workers, self._code, self._progress = store, workers, code, progress
        self._flight: Flight[_Job]
        self._pickled: dict[str, bytes] = {}
        self._asked: dict[Place, list[Row]] = {}
        self._queue: deque[_WaitingRange] = deque()
        self._unit_s: dict[Place | str, float] = {}
        self.interrupted = False

    def _by(self) -> Workers[_Job]:
        if isinstance(self.workers, int):
            return Threads(self.workers, lambda job, stop: _counted(job.task, job.errors, job.ranges, stop))
        return Elsewhere(self.workers, self._submit)

    def run(self, plans: Iterable[Plan[_T]]) -> list[_T | None]:
        """Carry out plans, the first ones first; after Ctrl-C, end them with the counts so far and set `interrupted`.

        Returns their results; None for plans that had not begun. Raises `ShardDone` where a shard has done its share of
        the units that the plans need.
        """
        progressing = [_Progressing(plan) for plan in plans]

        def feed() -> None:
            for p in progressing:
                if not p.ended and not p.waits_for and (p.begun or not self._queue):
                    self._advance(p)
                # A shard carries out plans one after the other (`in_turn`): the counts that it foresees depend on
                # earlier requests, whose order has to be the same in all shards.
                if self._store.in_turn and not p.ended:
                    break
            self._hand_out()

        def report() -> None:
            if self._progress and progressing:
                fraction = sum(p.fraction(self._store) for p in progressing) / len(progressing)
                self._progress(f"decoding {self._code}", sum(p.counted for p in progressing), fraction)

        self._carry_out(progressing, report, feed, lambda: not all(p.ended for p in progressing))
        # Units that plans went on without, with foreseen counts, as this shard is to count them: none but in a shard.
        if (promised := self._store.promised()) is not None:
            if not self.interrupted:
                self._count_share(promised)
            if not self.interrupted:
                raise ShardDone(self._store.told())
            # The plans have ended on foreseen counts, and their results mean nothing.
            return [None] * len(progressing)
        # After Ctrl-C plans end with the counts so far.
        with hearing_ctrl_c():
            for p in progressing:
                while p.begun and not p.ended:
                    p.advance(False)
        return [p.result for p in progressing]

    def _carry_out(
        self,
        progressing: Sequence[_Progressing],
        report: Callable[[], None],
        feed: Callable[[], None],
        goes_on: Callable[[], bool],
    ) -> None:
        self._flight = Flight(self._by())
        try:
            self.interrupted = self._flight.carry_out(
                lambda ended: self._collect(progressing, ended), report, feed=feed, goes_on=goes_on
            )
        finally:
            self._store.commit()

    def _count_share(self, promised: Sequence[tuple[FrameTask, int | None, int, int]]) -> None:
        """Count the share of a shard: the promised ranges, each as task, errors, first unit and end."""
        self._queue.extend(_WaitingRange(*each) for each in promised)
        share = sum(asked.task.unit_frames * (asked.end - asked.start) for asked in self._queue)

        def report() -> None:
            running = [(job.task, job.units) for job in [*self._flight.running.values(), *self._flight.waiting]]
            left = [*running, *((asked.task, asked.end - asked.start) for asked in self._queue)]
            done = share - sum(task.unit_frames * units for task, units in left)
            if self._progress:
                self._progress(f"decoding {self._code}", done, done / max(1, share))

        self._carry_out([], report, self._hand_out, lambda: bool(self._queue or self._flight))

    def _advance(self, progressing: _Progressing) -> None:
        """Advance a plan until it asks for units that have to be counted first."""
        while not progressing.ended and not progressing.waits_for:
            for request in progressing.advance(True):
                if missing := self._store.ask(request):
                    progressing.waits_for.append(request)
                    asked = self._asked.setdefault(request.place, [])
                    # Several plans may ask for the same units, which are counted once.
                    new = [piece for start, end in missing for piece in gaps(asked, start, end)]
                    for start, end in new:
                        self._queue.append(_WaitingRange(request.task, request.errors, start, end))
                        bisect.insort(asked, Row(start, end - start, Counts()), key=lambda row: row.first_unit)

    def _hand_out(self) -> None:
        """Cut jobs from the requested ranges, as many as workers take: two for each worker, as a rule."""
        room = self._flight.most - len(self._flight.running) - len(self._flight.waiting)
        while self._queue and room > 0:
            self._flight.waiting.append(self._cut())
            room -= 1

    def _cut(self) -> _Job:
        """Cut the next job from the first requested range."""
        asked = self._queue[0]
        unit_s = self._seconds(asked)
        # The first job of a new task, whose speed is not known, is the rest of a block.
        units = max(1, int(self._job_s() / unit_s)) if unit_s else block_end(asked.start) - asked.start
        start, asked.start = asked.start, min(asked.end, asked.start + units)
        if asked.start == asked.end:
            self._queue.popleft()
        return _Job(asked.task, asked.errors, tuple(cut(start, asked.start)))

    def _seconds(self, asked: _WaitingRange) -> float | None:
        """The time of a unit in seconds, as far as it was observed."""
        place = place_of(asked.task, asked.errors)
        return self._unit_s.get(place) or self._unit_s.get(asked.task.identity)

    def _job_s(self) -> float:
        """The length of the next job in seconds."""
        # Half of the jobs that are in flight wait, so that no worker is idle.
        workers = max(1, self._flight.most // 2)
        left = sum((self._seconds(asked) or 0.0) * (asked.end - asked.start) for asked in self._queue)
        return max(_LEAST_JOB_S, min(left / (2 * workers), workers, _LONGEST_JOB_S))

    def _submit(self, executor: Executor, job: _Job) -> Future[Any]:
        identity = job.task.identity
        if identity not in self._pickled:
            self._pickled[identity] = pickle.dumps(job.task)
        return executor.submit(count_ranges, self._pickled[identity], job.errors, job.ranges)

    def _collect(self, progressing: Sequence[_Progressing], ended: Iterable[tuple[_Job, Future[Any]]]) -> None:
        """Keep the counts of jobs that have ended, and note which plans wait for them no longer."""
        for job, future in ended:
            identity, counts, seconds = self._flight.result(future)
            if identity != job.task.identity:
                message = "workers: found another version of softsense on a worker, expected the version that runs here"
                raise SoftsenseError(message)
            place, frames = place_of(job.task, job.errors), 0
            for (start, end), counted in zip(job.ranges, counts, strict=True):
                # A range that was stopped has no counts.
                if counted is not None:
                    self._store.add(job.task, self._code, job.errors, start, end - start, counted)
                    frames += counted["frames"]
            if frames:
                self._unit_s[place] = self._unit_s[job.task.identity] = seconds * job.task.unit_frames / frames
            for p in progressing:
                if any(request.place == place for request in p.waits_for):
                    p.counted += frames
                    p.waits_for = [r for r in p.waits_for if r.place != place or self._store.ask(r)]
