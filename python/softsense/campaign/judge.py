"""Splitting as a check of strata: does the list of absorbing sets contain all ways in which decoding fails?

Chains that walk among failing patterns use neither error weights nor absorbing sets. They begin in the waterfall, and
are carried down to error rates at which strata predict how often decoding fails. On hard decisions they pass through
all points. At a soft level they go to the lowest point alone, as the whole ladder has the references and LLRs of its
last point.

A chain stays in one kind of failure, so other chains start in the listed sets. The share of their time in which a
listed set is nearly all wrong tells how much of their kind of failure the list has:

    FER by splitting = rate of the chains from the waterfall + floor / share of time

A set is present if at most two of its bits are right; the floor in this formula is the rate that such sets add.

The strata give a range of rates: from the measured rate to the rate with the missing part. The judge agrees if it
differs from the nearest rate in that range by no more than 30 %, or by no more than both errors explain.
"""

from __future__ import annotations

import hashlib
import json
import math
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import placement_json
from softsense.base import Progress
from softsense.campaign.curves import continued
from softsense.floors import MOST_RIGHT
from softsense.runner import all_of, run_units

if TYPE_CHECKING:
    from softsense._core import FrameTask, StopFlag
    from softsense.campaign.plans import Campaign
    from softsense.traps import Traps

SPLIT_FROM = 3e-3
"""Least frame error rate from which splitting starts: it starts at the lowest point that fails as often, or more."""

MOST_APART = 1.3
"""Largest ratio of the two rates at which they agree, whatever their errors."""

_FLOOR_SHARE = 0.01
_CHAINS = 12
_STEPS = 600
_EVERY = 5


@dataclass(frozen=True)
class WalkWork:
    """Chains from listed sets among failing patterns at one raw bit error rate; a unit is some chains."""

    task: FrameTask
    rber: float
    traps: Traps
    classes: tuple[tuple[int, int], ...]

    @property
    def identity(self) -> str:
        """A hash of all inputs of the chains."""
        text = ["walk", 1, self.task.identity, self.rber, self.traps.sets.identity, self.classes, _CHAINS, _STEPS]
        return hashlib.sha256(json.dumps(text).encode()).hexdigest()

    def run(self, unit: int, stop: StopFlag | None = None) -> list[float] | None:
        """For each chain, the share of its second half in which a listed set is present, all but two of its bits
        wrong.
        """
        listed = [trap for trap in self.traps.list if (len(trap.bits), trap.violated) in self.classes]
        starts = [list(listed[(unit * _CHAINS + i) % len(listed)].bits) for i in range(_CHAINS)]
        # Rotations look alike to the decoder, and a chain that leaves for another set of the orbit still has a listed
        # set.
        sets = [bits for trap in listed for bits in self.traps.rotations(trap)]
        found = self.task.walk(
            self.rber, starts, _STEPS, unit, sets, every=_EVERY, missing=MOST_RIGHT, most_draws=100_000, stop=stop
        )
        if found is None:
            return None
        present = np.asarray(found["present"]) > 0
        return [float(share) for share in present[:, present.shape[1] // 2 :].mean(axis=1)]


def judge_points(
    campaign: Campaign,
    points: list[dict[str, Any]],
    placement: str,
    runs: int,
    workers: int | Executor,
    progress: Progress | None,
) -> bool:
    """Set `judged` of the points that splitting can be asked about; returns whether it was interrupted.

    Splitting is asked about all hard points by weight that fail less often than `SPLIT_FROM`. Of each soft level of one
    Gaussian boundary it is asked about the lowest such point. It is not asked about a level without a point that fails
    at least as often as `SPLIT_FROM`.

    Args:
        campaign: the code, decoder, goal, store and listed sets.
        points: the points that the campaign found.
        placement: placement of the references of soft levels, as `measure_fer` takes it.
        runs: number of runs of splitting; also of chains from listed sets, at each point where the rate of such sets is
            more than a hundredth of the rate.
        workers: threads of this process, or an executor.
        progress: called now and then.
    """
    interrupted = False

    def judge(level: int) -> None:
        nonlocal interrupted
        read = [p for p in points if p["level"] == level]
        # Soft points where direct frames fail often enough to be counted have no strata, but can start a ladder. Hard
        # points have strata everywhere.
        starts = [p for p in read if p["fer"] >= SPLIT_FROM and (level > 1 or p["method"] == "weight")]
        least = campaign.goal.down_to / 10
        below = [p for p in read if p["fer"] > 0 and least <= p["fer"] < SPLIT_FROM and p["method"] == "weight"]
        if interrupted or not starts or not below or (level > 1 and "pe_cycles" in below[0]):
            return
        if level > 1:
            below = [min(below, key=lambda p: p["rber"])]
        rates = [min(p["rber"] for p in starts), *(p["rber"] for p in below)]
        found = campaign.split(rates, level, placement, runs, workers, progress)
        at = {rung["rber"]: rung for rung in found.points}
        for point in below:
            rung = at.get(point["rber"])
            if rung is None or rung["relative_error"] is None:
                continue
            fer, deviation = rung["fer"], rung["fer"] * rung["relative_error"]
            present = [s for s in point["floor_strata"] or () if s["bits"] - s["wrong"] <= MOST_RIGHT]
            if (floor := sum(s["rate"] for s in present)) > _FLOOR_SHARE * fer:
                times = _times(campaign, point, placement, runs, workers, progress)
                if times is None:
                    interrupted = True
                    return
                share = float(times.mean())
                floor = floor / share if share else math.inf
                spread = float(times.std(ddof=1)) / math.sqrt(len(times)) / share if share else math.inf
                fer += floor
                deviation = math.hypot(deviation, floor * math.hypot(spread, point["floor_relative_error"]))
            point["judged"] = {"fer": fer, "relative_error": deviation / fer, "agrees": _agrees(point, fer, deviation)}
        interrupted = found.interrupted

    all_of(partial(judge, level) for level in sorted({point["level"] for point in points}))
    return interrupted


def _agrees(point: dict[str, Any], fer: float, deviation: float) -> bool:
    if not math.isfinite(fer):
        return False
    # Strata give the measured rate, and by extrapolation the missing part: they are compatible with every rate between.
    told = min(max(fer, point["fer"]), continued(point) or point["fer"])
    both = math.hypot(deviation / fer, point["relative_error"] or 1.0)
    return abs(math.log(fer / told)) <= max(math.log(MOST_APART), 2 * both)


def _times(
    campaign: Campaign,
    point: dict[str, Any],
    placement: str,
    runs: int,
    workers: int | Executor,
    progress: Progress | None,
) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """The shares of time of all chains; None after Ctrl-C."""
    assert campaign.traps is not None
    failing = tuple(sorted({(s["bits"], s["violated"]) for s in point["floor_strata"] if s["failures"]}))
    task = campaign.hard
    if point["level"] > 1:
        task = campaign.gaussian(point["level"], point["rber"], json.loads(placement_json(placement))).task
    work = WalkWork(task, point["rber"], campaign.traps, failing)
    found = run_units(campaign.store, workers, work, runs, "walking among failures", progress)
    return None if found is None else np.array([share for shares in found for share in shares])
