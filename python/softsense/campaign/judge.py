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

from softsense._core import placement_json, student_t_quantile
from softsense.base import Progress
from softsense.campaign.curves import continued
from softsense.floors import MOST_RIGHT
from softsense.runner import all_of, run_units
from softsense.strata import CONFIDENCE

if TYPE_CHECKING:
    from softsense._core import FrameTask, StopFlag
    from softsense.campaign.plans import Campaign
    from softsense.store import Store
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
            place = campaign.hard
            if level > 1:
                place = campaign.gaussian(level, point["rber"], json.loads(placement_json(placement))).task
            told = with_floor(rung, point, place, campaign.traps, campaign.store, runs, workers, progress)
            if told is None:
                interrupted = True
                return
            fer, deviation = told
            point["judged"] = {
                "fer": fer,
                "relative_error": deviation / fer,
                "agrees": _agrees(point, fer, deviation, runs),
            }
        interrupted = found.interrupted

    all_of(partial(judge, level) for level in sorted({point["level"] for point in points}))
    return interrupted


def with_floor(
    rung: dict[str, Any],
    point: dict[str, Any],
    task: FrameTask,
    traps: Traps | None,
    store: Store,
    runs: int,
    workers: int | Executor,
    progress: Progress | None,
) -> tuple[float, float] | None:
    """The rate by splitting with that of chains that start in listed sets, and its standard deviation.

    Args:
        rung: a rung of splitting, with `fer` and `relative_error`.
        point: the point of `measure_fer` at the same raw bit error rate, with its `floor_strata`.
        task: the code and the way of reading, at this rate.
        traps: the listed sets; None without any.
        store: keeps the chains.
        runs: number of groups of chains.
        workers: threads of this process, or an executor.
        progress: called now and then.

    Returns None after Ctrl-C. The floor is left out if it is no more than a hundredth of the rate. It is infinite if no
    chain ever has a listed set.
    """
    fer, deviation = rung["fer"], rung["fer"] * rung["relative_error"]
    strata = point["floor_strata"] or ()
    floor = sum(each["rate"] for each in strata if each["bits"] - each["wrong"] <= MOST_RIGHT)
    if traps is None or floor <= _FLOOR_SHARE * fer:
        return fer, deviation
    failing = tuple(sorted({(each["bits"], each["violated"]) for each in strata if each["failures"]}))
    work = WalkWork(task, point["rber"], traps, failing)
    found = run_units(store, workers, work, runs, "walking among failures", progress)
    if found is None:
        return None
    times = np.array([share for shares in found for share in shares])
    share = float(times.mean())
    if not share:
        return math.inf, math.inf
    floor /= share
    spread = float(times.std(ddof=1)) / math.sqrt(len(times)) / share
    return fer + floor, math.hypot(deviation, floor * math.hypot(spread, point["floor_relative_error"]))


def _agrees(point: dict[str, Any], fer: float, deviation: float, runs: int) -> bool:
    if not math.isfinite(fer):
        return False
    # Strata give the measured rate, and by extrapolation the missing part: they are compatible with every rate between.
    told = min(max(fer, point["fer"]), continued(point) or point["fer"])
    # Few runs know their own spread badly: Student's t has wide intervals for them.
    both = math.hypot(deviation / fer * student_t_quantile(runs - 1, CONFIDENCE) / 2, point["relative_error"] or 1.0)
    return abs(math.log(fer / told)) <= max(math.log(MOST_APART), 2 * both)
