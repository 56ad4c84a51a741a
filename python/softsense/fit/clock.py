"""The number of requests that were outstanding while a log was written, and whether its lines are single reads.

The sum of latencies, over the time in which they were measured, is the mean number outstanding (J. D. C. Little, "A
proof for the queuing formula: L = lambda W", 1961). If one read is outstanding at a time, each read completes at least
its own latency after the read before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import FileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CLOCKS = ("ns", "us", "ms", "s", "none")
"""Units of the times of a log; with `none` the times are not judged."""

_TO_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
_AGREES = 1.5
_IDLE = 0.8
_FEW = 0.01
_BLOCK = 64
_ON_GRID = 0.97
_GRID = 20
_IMPLAUSIBLE = 500
_UNJUDGED = "--clock none ignores the times"


@dataclass(frozen=True)
class Queue:
    """The number of requests that were outstanding while one file was written.

    Attributes:
        depth: reads outstanding; 0 where nothing says it.
        mean: number outstanding on average, from the clock; None where the file has none.
        source: source of `depth` and `mean`, in words.
        notes: remarks for the user, a sentence each.
    """

    depth: int = 0
    mean: float | None = None
    source: str = "not known from this file"
    notes: tuple[str, ...] = ()

    @property
    def idle(self) -> float | None:
        """Least share of the time in which nothing was outstanding; None where the file has no clock."""
        return None if self.mean is None else max(0.0, 1.0 - self.mean)

    def to_dict(self) -> dict[str, Any]:
        """The queue as a dict for JSON."""
        return {"depth": self.depth or None, "mean": self.mean, "idle": self.idle, "from": self.source}

    def __str__(self) -> str:
        if self.mean is None:
            return f"{self.depth}, {self.source}" if self.depth else self.source
        idle = f", {self.idle:.1%} of the time idle" if self.mean < _IDLE else ""
        return f"{self.mean:.3g} on average{idle} ({self.source})"


def agreed(place: str, found: float, claimed: int, source: str, way_out: str) -> None:
    """Raises `FileError` where the number outstanding that was found is not that of `--depth`, to a factor of 1.5."""
    if not claimed / _AGREES <= max(found, 1.0) <= claimed * _AGREES:
        raise FileError(
            f"{place}: found a depth of {found:.3g} ({source}), expected {claimed}, as --depth says ({way_out})"
        )


def told(place: str, depth: int, source: str, claimed: int | None, mean: float | None = None) -> Queue:
    """The queue of a file whose own counts say that at most `depth` are outstanding; `claimed` has to agree."""
    if claimed is not None:
        agreed(place, depth, claimed, source, "without --depth the depth of the file is taken")
    return Queue(claimed or depth, mean, source)


def noting_idle(queue: Queue, why: str) -> Queue:
    """The queue, with a note where nothing was outstanding for more than a fifth of the time."""
    if queue.mean is None or queue.mean >= _IDLE:
        return queue
    return replace(queue, notes=(f"{queue.idle:.1%} of the time no read was outstanding: {why}",))


def unjudged(claimed: int | None, why: str = "not known from this file") -> Queue:
    """The queue of a file that has no clock, or one that is not judged: the claimed depth."""
    return Queue(claimed or 0, None, why if claimed is None else f"as --depth says, {why}")


@dataclass(frozen=True)
class Stamped:
    """The lines of a log with a clock.

    Attributes:
        place: the file.
        lines: number of each line in the file.
        times: completion time of each request, in the unit of the clock.
        latencies_us: latency of each request, us.
        reads: whether the request is a read.
    """

    place: str
    lines: NDArray[np.int64]
    times: NDArray[np.float64]
    latencies_us: NDArray[np.float64]
    reads: NDArray[np.bool_]

    def part(self, begin: int, end: int) -> Stamped:
        """The lines from `begin` to before `end`."""
        some = slice(begin, end)
        return Stamped(self.place, self.lines[some], self.times[some], self.latencies_us[some], self.reads[some])


def judge(log: Stamped, clock: str | None, claimed: int | None, deep: bool) -> Queue:
    """The number of requests that were outstanding; checks that each line is one read.

    Args:
        log: all requests that are in the log.
        clock: unit of its times, one of `CLOCKS`; default: ms, as fio writes.
        claimed: reads outstanding, as `--depth` says.
        deep: whether several reads may be outstanding although `claimed` does not say so.

    Raises `FileError`

    - for several reads outstanding where one was expected, or another number than was claimed;
    - for times that go back;
    - for lines at regular times with gaps between, which are means of many reads;
    - for a clock that seems to have another unit.
    """
    if clock == "none":
        return unjudged(claimed, "the clock is not judged")
    unit = _TO_US[clock or "ms"]
    tick = _tick(log.times)
    backwards = np.flatnonzero(np.diff(log.times) < -max(2 * tick, 1e3 / unit)) + 1
    runs = [log.part(a, b) for a, b in zip([0, *backwards], [*backwards, len(log.times)], strict=True)]
    if len(runs) > 1 and claimed is None:
        at, before, after = log.lines[backwards[0]], log.times[backwards[0] - 1], log.times[backwards[0]]
        raise FileError(
            f"{log.place}:{at}: found a time of {after:,.9g} after {before:,.9g}, expected times in ascending "
            f"order: the file has {len(runs)} jobs or runs (give each its own file; or give --depth 1 if they ran "
            "one after another, or else the number of reads that were outstanding)"
        )
    queues = [_run(run, unit, tick) for run in runs]
    alone = max(queues, key=lambda queue: queue.depth)
    if len(runs) > 1 and claimed is not None and claimed > 1:
        # Jobs that ran at once, rather than one after another.
        total = sum(float(run.latencies_us[1:].sum()) for run in runs)
        together = total / max(float(np.ptp(log.times)) * unit, tick * unit)
        if abs(np.log(together / claimed)) < abs(np.log(alone.depth / claimed)):
            alone = Queue(max(1, round(together)), together, alone.source)
    if claimed is not None:
        agreed(log.place, alone.depth if alone.depth > 1 else alone.mean or 1.0, claimed, alone.source, _UNJUDGED)
        alone = replace(alone, depth=claimed)
    elif alone.depth > 1 and (not deep or alone.depth >= _IMPLAUSIBLE):
        way_out = (
            f"--deep-log takes a log with several reads outstanding; --depth {alone.depth} fits this log with its waits"
        )
        if alone.depth >= _IMPLAUSIBLE:
            way_out = f"--unit if latencies have another unit, --clock if times have another unit; {_UNJUDGED}"
        raise FileError(
            f"{log.place}: found a depth of {alone.depth:,} ({alone.source}), expected one read outstanding: waits "
            f"hide the time of a read itself ({way_out})"
        )
    if alone.depth > 1:
        return alone
    least = min(queues, key=lambda queue: 1.0 if queue.mean is None else queue.mean)
    if least.mean is None or least.mean >= _IDLE:
        return alone
    for run in runs:
        _single(run, clock, unit)
    return noting_idle(
        replace(least, depth=alone.depth),
        "gaps between reads, or reads that are not in the log (or times in another unit: --clock). Each line is "
        "taken for one read; lines with means of several reads would look the same",
    )


def _tick(times: NDArray[np.float64]) -> float:
    """The granularity of times, in the unit of the clock."""
    if np.all(times == np.round(times)):
        return 1.0
    steps = np.diff(np.unique(times))
    return float(steps.min(initial=1.0))


def _run(run: Stamped, unit: float, tick: float) -> Queue:
    """The queue of one run: depth 1, or the number outstanding in the parts of the run where more than one was."""
    source = "sum of latencies over the time of the log's clock"
    us, elapsed = run.latencies_us[1:], (run.times[1:] - run.times[0]) * unit
    if len(us) == 0:
        return Queue(1, None, source)
    # Each part lasts many ticks of the clock. One read at a time fills no part more than once, and gaps in some parts
    # do not hide that another part is fuller.
    done = np.cumsum(us)
    parts = max(1, int(done[-1] // max(_BLOCK * tick * unit, _BLOCK * us.mean()))) if done[-1] > 0 else 1
    ends = np.unique(np.searchsorted(done, done[-1] * np.arange(1, parts) / parts).clip(max=len(us) - 1))
    ends = np.unique(np.append(ends, len(us) - 1))
    busy, passed = np.diff(done[ends], prepend=0.0), np.diff(elapsed[ends], prepend=0.0).clip(min=0.0)
    deep = busy / (passed + tick * unit) > _AGREES
    mean = float(done[-1] / max(elapsed[-1], tick * unit))
    if busy[deep].sum() <= _FEW * done[-1]:
        return Queue(1, mean, source)
    return Queue(max(2, round(float(busy[deep].sum() / max(passed[deep].sum(), tick * unit)))), mean, source)


def _single(run: Stamped, clock: str | None, unit: float) -> None:
    """Raises `FileError` where lines of a log with gaps are no single reads, or where its clock has another unit."""
    times, us = run.times[run.reads], run.latencies_us[run.reads]
    if len(times) < _BLOCK:
        return
    steps = np.diff(times)
    if window := _grid(times, steps):
        raise FileError(
            f"{run.place}: found a line every {window * unit / 1000.0:,.6g} ms with a latency of "
            f"{us.mean() / 1000.0:.3g} ms, expected a line for each read: these look like means or maxima of many "
            "reads (fio writes each read with log_avg_msec=0; --clock none if each line is one read, issued by a "
            "timer)"
        )
    if clock is not None:
        return
    for name in ("us", "ns"):
        each = steps * _TO_US[name]
        follows = us[1:] <= each * 1.02 + 1.5 * _TO_US[name]
        if np.mean(follows) > 1 - 2 * _FEW and us[1:].sum() > each.sum() / 2:
            raise FileError(
                f"{run.place}: found latencies of {us.mean():.3g} us and times that are {np.mean(steps):.3g} "
                f"apart, expected times in ms: these fit times in {name} (--clock {name} if that is their unit; "
                "--unit if latencies are not in ns; --clock ms if both units are right)"
            )


def _grid(times: NDArray[np.float64], steps: NDArray[np.float64]) -> float | None:
    """The window of a log that has at most one line for each window, in units of its clock; None if it has no grid."""
    window = float(np.median(steps))
    if window <= 0 or np.mean(steps <= 0) > _FEW:
        return None
    if window == 1 and np.mean(steps == 1) < _ON_GRID:
        return None
    places = np.floor(np.mod(times - times[0] + window / (2 * _GRID), window) / window * _GRID).astype(int) % _GRID
    counts = np.bincount(places, minlength=_GRID)
    return window if (counts + np.roll(counts, 1)).max() >= _ON_GRID * len(times) else None


def of_jobs(place: str, jobs: Sequence[dict[str, Any]], said: int, claimed: int | None, clock: str | None) -> Queue:
    """The queue of fio's JSON: number of requests, times their mean latency, over the time that they took.

    Jobs of a group run at once. Raises `FileError` where the depth found is not `claimed`, or else not `said`, the
    depth by the options of the jobs.
    """
    by_options = "iodepth and numjobs"
    if clock == "none":
        return unjudged(claimed or said, "the times of the jobs are not judged")
    groups: dict[str, float] = {}
    for job in jobs:
        name = str(job.get("groupid", 0))
        groups[name] = groups.get(name, 0.0) + _of_job(job)
    found = max(groups.values(), default=0.0)
    if found <= 0:
        return told(place, said, f"by {by_options}", claimed)
    source = "requests times their mean latency, over the runtime of the jobs"
    if claimed is not None:
        agreed(place, found, claimed, source, _UNJUDGED)
    elif not said / _AGREES <= max(found, 1.0) <= said * _AGREES:
        raise FileError(
            f"{place}: found a depth of {found:.3g} ({source}), expected {said}, as {by_options} say (--depth "
            f"gives the right one; {_UNJUDGED})"
        )
    return noting_idle(Queue(claimed or said, found, source), "gaps between reads")


def _of_job(job: dict[str, Any]) -> float:
    """Requests of all directions outstanding on average; 0 where the job does not tell it."""
    busy_ns, runtime_ms = 0.0, 0.0
    for direction in ("read", "write", "trim"):
        of = job.get(direction)
        if isinstance(of, dict):
            mean = _number(of.get("lat_ns"), "mean") or _number(of.get("clat_ns"), "mean")
            busy_ns += _number(of, "total_ios") * mean
            runtime_ms = max(runtime_ms, _number(of, "runtime"))
    return busy_ns / (runtime_ms * 1e6) if runtime_ms > 0 else 0.0


def _number(values: Any, name: str) -> float:
    value = values.get(name) if isinstance(values, dict) else None
    return float(value) if isinstance(value, (int, float)) and np.isfinite(value) and value > 0 else 0.0
