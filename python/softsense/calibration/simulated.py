"""The quantities of a simulated drive under a load, by the names of the measured quantities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from softsense import _core
from softsense.calibration.measured import KINDS, WRITE_AMPLIFICATION, Load
from softsense.fio.jobs import overrides_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softsense._core import Config, StopFlag
    from softsense.results import RunResult

_READS_BEFORE = 2_000
_GUESSED_IOPS = 100_000
_ROUNDS_SEEN = 2.0
_SIZES = (
    "ssds",
    "channels",
    "chips_per_channel",
    "dies_per_chip",
    "planes_per_die",
    "pages_per_block",
    "codewords_per_page",
    "codeword_bytes",
)
"""Sizes of a geometry whose product is the number of bytes of one block on every plane."""


@dataclass(frozen=True)
class Effort:
    """The length of the simulation of a load.

    Attributes:
        seen: least number of requests of each kind whose latencies are counted.
        most: largest number of requests of all jobs.
        rounds: number of times that the host first fills a block of each plane, so that the drive comes to its steady
            state; never more than half of `most` writes.
    """

    seen: int = 2_000
    most: int = 200_000
    rounds: float = 4.0


def simulate(
    device: Config, load: Load, effort: Effort, seed: int, stop: StopFlag | None = None
) -> dict[str, float] | None:
    """The measured quantities of a load, by simulation of a device in its steady state; None if stopped.

    The result depends on the arguments alone, but for `stop`. A quantity that the device does not have, such as the
    latency of reads that never ended, is missing.
    """
    load = load.as_issued()
    seconds, before = _durations(load, effort, _round_writes(device, load))
    jobs = [replace(job, runtime_s=seconds, ramp_s=before, number_ios=10**9) for job in load.jobs]
    overrides = overrides_of(jobs, device.user_bytes, load.filled)
    overrides.append(f"precondition.mapped_fraction={load.filled!r}")
    if load.writes:
        overrides.append("precondition.layout='steady_state'")
    result = _run(device.with_overrides([*overrides, f"seed={seed}"]), stop)
    return None if result is None else _quantities(load, result)


def _round_writes(device: Config, load: Load) -> float:
    """Number of writes that fill one block on every plane."""
    geometry = device.fields.geometry
    return math.prod(geometry[name] for name in _SIZES) / load.write_bytes if load.writes else 0.0


def _durations(load: Load, effort: Effort, round_writes: float) -> tuple[float, float]:
    """Seconds that are measured, and seconds before, from the measured rates of the drive, so that no load takes
    long.
    """
    rates = {kind: _served(load, kind) for kind in KINDS}
    total = sum(rates.values())
    wanted = effort.seen / total
    for name in load.measured:
        job, _, rest = name.partition(".")
        if rest and (rate := _rate(load, job, rest.partition(".")[0])):
            wanted = max(wanted, effort.seen / rate)
    if not load.writes:
        return _seconds(min(wanted, effort.most / total)), _seconds(_READS_BEFORE / total)
    if WRITE_AMPLIFICATION in load.measured or not load.reached() or load.offered_iops("write") is None:
        # The amount of collection differs from one block to the next.
        wanted = max(wanted, _ROUNDS_SEEN * round_writes / rates["write"])
    before = min(effort.rounds * round_writes, effort.most / 2)
    return _seconds(min(wanted, effort.most / total)), _seconds(before / rates["write"])


def _seconds(value: float) -> float:
    """The value rounded to six digits, as the last digits of quotients differ between machines."""
    return float(f"{value:.6g}")


def _served(load: Load, kind: str) -> float:
    """Requests of a kind a second: the measured rate, else the offered one, else a guess."""
    if (known := load.served_iops(kind)) is not None:
        return known
    share = sum(job.read_share * job.numjobs for job in load.jobs) / sum(job.numjobs for job in load.jobs)
    return _GUESSED_IOPS * (share if kind == "read" else 1 - share)


def _rate(load: Load, name: str, kind: str) -> float | None:
    """Requests of a kind that a job had a second; None if unknown."""
    if (measured := load.measured.get(f"{name}.{kind}_iops")) is not None:
        return measured
    job = next(each for each in load.jobs if each.name == name)
    share = job.read_share if kind == "read" else 1 - job.read_share
    return job.rate_iops * job.numjobs * share if job.rate_iops else None


def _run(config: Config, stop: StopFlag | None) -> RunResult | None:
    from softsense.simulating import Task

    task = Task("load", config, None)
    task.simulate(None, "reject", stop or _core.StopFlag())
    return None if stop is not None and stop.is_set else task.result


def _quantities(load: Load, result: RunResult) -> dict[str, float]:
    tenants, at = dict[str, list[int]](), 0
    for job in load.jobs:
        tenants[job.name] = list(range(at, at + job.numjobs))
        at += job.numjobs
    found = dict[str, float]()
    for name in load.measured:
        value = _quantity(name, tenants, result)
        if value is not None and math.isfinite(value) and value > 0:
            found[name] = value
    return found


def _quantity(name: str, tenants: Mapping[str, Sequence[int]], result: RunResult) -> float | None:
    if name == WRITE_AMPLIFICATION:
        amplified: float | None = result.summary["writes_detail"]["write_amplification"]
        return amplified
    job, _, rest = name.partition(".")
    if not rest:
        return float(result.summary["throughput"][name])
    kind, _, statistic = rest.partition(".")
    numbers = tenants[job]
    if not statistic:
        each = result.summary["tenants"]
        return float(
            sum(each[number][kind.removesuffix("_iops")]["count"] / each[number]["span_s"] for number in numbers)
        )
    return _quantile(result, numbers, kind, float(statistic[1:-3]) / 100)


def _quantile(result: RunResult, numbers: Sequence[int], kind: str, share: float) -> float | None:
    """The latency, us, that a share of the requests of some tenants does not exceed."""
    values: list[NDArray[np.float64]] = []
    counts: list[NDArray[np.float64]] = []
    for number in numbers:
        at, up_to = (np.asarray(each, dtype=float) for each in result.tenant_distributions[number][kind])
        values.append(at)
        counts.append(np.diff(up_to, prepend=0.0) * result.summary["tenants"][number][kind]["count"])
    at, weight = np.concatenate(values), np.concatenate(counts)
    if not len(at):
        return None
    order = np.argsort(at, kind="stable")
    up_to = np.cumsum(weight[order])
    return float(at[order][min(int(np.searchsorted(up_to, share * up_to[-1] * (1 - 1e-12))), len(at) - 1)])
