"""Plans of sampling, which make rates known well enough with few frames.

A plan is a generator: it yields rounds of units to be counted, and continues with their counts. It does not know who
counts them, where, or in which order, so its rounds are a function of the counts only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from softsense._core import ConfigError, FrameTask
from softsense.counts import Counts, Place, blocks_within, place_of, whole_blocks
from softsense.strata import MOST_EXTRAPOLATED, Strata, binomial_weights

if TYPE_CHECKING:
    from softsense.strata import Floats

METHODS = ("auto", "weight", "direct", "analytic")
"""Methods of measuring a rate; `auto` takes the cheapest one."""

_T = TypeVar("_T")
_GROWTH = 4
_FRONTIER_FAILURES = 3
_FRONTIER_STEPS = 3
_LEAST_FAILURES = 4
_LEAST_SHARE = 0.002
_NOTABLE_SHARE = 0.03
_FIRST_STRATA = 8
# Slightly more frames than needed are planned, so that chance seldom makes another round necessary.
_MARGIN = 0.93


@dataclass(frozen=True)
class Goal:
    """The condition under which a rate is known well enough.

    Attributes:
        relative_error: standard error of a rate over the rate.
        down_to: the least rate for which frames are sampled.
        frames: frames that a point may cost at most.
        method: one of `METHODS`.
        floor_frames: frames that the error floor of a point may cost at most.
        floor_down_to: error floors are sampled until they are known or below this rate; None: until they are below a
            tenth of the rate without them, or of `down_to`.
    """

    relative_error: float = 0.1
    down_to: float = 1e-15
    frames: int = 2**22
    method: str = "auto"
    floor_frames: int = 2**17
    floor_down_to: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.relative_error <= 1:
            raise ConfigError(f"relative_error: found {self.relative_error:g}, expected above 0 and at most 1")
        if not 0 < self.down_to < 1:
            raise ConfigError(f"down_to: found {self.down_to:g}, expected between 0 and 1")
        if self.frames < 1:
            raise ConfigError(f"frames: found {self.frames}, expected at least 1")
        if self.floor_frames < 1:
            raise ConfigError(f"floor_frames: found {self.floor_frames}, expected at least 1")
        if self.floor_down_to is not None and not 0 < self.floor_down_to < 1:
            raise ConfigError(f"floor_down_to: found {self.floor_down_to:g}, expected between 0 and 1")
        if self.method not in METHODS:
            raise ConfigError(f"method: found `{self.method}`, expected {', '.join(METHODS[:-1])} or {METHODS[-1]}")


@dataclass(frozen=True)
class Request:
    """Units 0 to `units` - 1 of a task, in whole blocks.

    Frames have exactly `errors` raw bit errors or, if None, are as the channel makes them. `failing` is the share of
    frames that the plan expects to fail; None: the share of the counted frames.
    """

    task: FrameTask
    errors: int | None
    units: int
    failing: float | None = None

    def __post_init__(self) -> None:
        assert self.units == whole_blocks(self.units)

    @property
    def place(self) -> Place:
        """The place to which its counts belong."""
        return place_of(self.task, self.errors)


@dataclass(frozen=True)
class Round:
    """Units that a plan needs before it continues, and the number of frames that it expects to need after them."""

    requests: list[Request]
    expected_frames: int = 0


Plan = Generator[Round, bool, _T]
"""A generator that yields rounds. It is sent True once a round is counted, or False to end with the counts so far, and
returns its result.
"""

View = Callable[[FrameTask, int | None, int], Counts]
"""A function that gives the counts so far of the first units of a task."""


def sample_by_weight(
    task: FrameTask, rbers: Sequence[float], goal: Goal, view: View, rungs: Sequence[int], guess: float
) -> Plan[Strata]:
    """Sample strata until all rates at `rbers` that are not below `goal.down_to` are known, or the frames are spent.

    `guess` is roughly the number of errors at which half of all frames fail.
    """
    bits = task.codeword_bits
    units: dict[int, int] = {}

    def ask(wanted: dict[int, int], expected_frames: int = 0, strata: Strata | None = None) -> Round:
        units.update({weight: max(count, units.get(weight, 0)) for weight, count in wanted.items()})
        planned = strata.planned(max(wanted) + 1) if strata and strata.measured else None
        failing = {weight: None if planned is None else float(planned[weight]) for weight in wanted}
        requests = [Request(task, weight, count, failing[weight]) for weight, count in wanted.items()]
        return Round(requests, expected_frames)

    def read() -> Strata:
        return Strata(bits, {weight: view(task, weight, count) for weight, count in units.items()}, rungs)

    # Find where most frames begin to fail: by leaps from a usual number of errors, then by bisection.
    low, high = 0, len(rungs) - 1
    probe = min(range(1, high), key=lambda i: abs(rungs[i] - guess)) if high > 1 else high
    leap, bounded, first_frames = 2, set(), 4 * _FIRST_STRATA * task.unit_frames
    while high - low > 1:
        if not (yield ask({rungs[probe]: 1}, first_frames)):
            return read()
        counted = view(task, rungs[probe], 1)
        fails = 2 * counted.failures >= counted.frames
        low, high = (low, probe) if fails else (probe, high)
        bounded.add(fails)
        if len(bounded) == 1:
            probe = max(low + 1, probe - leap) if fails else min(high - 1, probe + leap)
            leap *= 2
        else:
            probe = (low + high) // 2
    if not (yield ask({rungs[i]: 1 for i in range(max(0, high - _FIRST_STRATA), high + 1)}, first_frames)):
        return read()
    while True:
        strata = read()
        left = goal.frames - strata.frames
        wanted = _wanted(strata, rbers, goal, left)
        grown = {}
        for weight, frames in sorted(wanted.items()):
            now = units.get(weight, 0)
            most = _GROWTH * now if now else 1
            if (count := min(whole_blocks(math.ceil(frames / task.unit_frames)), most)) > now:
                grown[weight] = count
        asked = sum(count - units.get(weight, 0) for weight, count in grown.items()) * task.unit_frames
        if asked > max(left, 0):
            left = max(left, 0)
            part = left / asked
            for weight, count in list(grown.items()):
                now = units.get(weight, 0)
                if (count := blocks_within(now + int(part * (count - now)))) > now:
                    grown[weight] = count
                else:
                    del grown[weight]
        if not grown:
            return strata
        more = sum(max(0, frames - units.get(w, 0) * task.unit_frames) for w, frames in wanted.items())
        if not (yield ask(grown, int(max(0, min(more, left) - min(asked, left))), strata)):
            return read()


def _wanted(strata: Strata, rbers: Sequence[float], goal: Goal, left: int) -> dict[int, float]:
    """The final number of frames of each stratum by Neyman's allocation: the most that any of `rbers` needs.

    Frames go where the variance of the rate falls most for their number. Their number is proportional to the share of
    the rate for which a stratum stands, over the square root of F.

    Source: J. Neyman, "On the two different aspects of the representative method", 1934.
    """
    wanted: dict[int, float] = {}
    if not strata.measured:
        return wanted
    places = strata.places
    sampled = dict(zip(strata.weights.tolist(), strata.sampled.tolist(), strict=True))
    lowest, last = np.searchsorted(places, (strata.lowest, strata.highest))
    top = int(last) if strata.saturated else min(int(last) + 1, len(places) - 1)
    planned = strata.planned(int(places[top]) + 1)
    rates = np.clip(planned[places[: top + 1]], 1e-300, 1.0)
    spread = np.sqrt((1 - rates) / rates)

    def want(weight: int, frames: float) -> None:
        if frames > sampled.get(weight, 0.0):
            wanted[weight] = max(wanted.get(weight, 0.0), frames)

    for rber in rbers:
        probabilities = binomial_weights(strata.bits, rber)
        rate, shares = strata.shares(probabilities, planned)
        if rate < goal.down_to:
            continue
        # A rung that was passed over costs little, and interpolation across it has an unknown error.
        for place in range(lowest, top + 1):
            if shares[place] > _LEAST_SHARE:
                want(int(places[place]), 1)
        now = strata.estimate(probabilities)
        known = now.relative_error is not None and now.relative_error <= goal.relative_error
        # The missing part shall be no more than the error of the known part.
        complete = now.missing <= min(MOST_EXTRAPOLATED, goal.relative_error)
        if known and complete:
            continue
        spreads = shares[: top + 1] * spread
        scale = 0.0 if known else float(spreads[lowest:].sum()) / (_MARGIN * goal.relative_error) ** 2
        for place in range(lowest, top + 1):
            weight = int(places[place])
            want(weight, spreads[place] * scale)
            if shares[place] > _NOTABLE_SHARE:
                # Each stratum gets a few failures, since the first one alone says little about its rate.
                want(weight, _LEAST_FAILURES / rates[place])
        if not complete and strata.lowest > strata.rungs[0]:
            below = int(strata.rungs[np.searchsorted(strata.rungs, strata.lowest) - 1])
            frontier = _frontier(below, strata.lowest, planned, sampled, left)
            if frontier is not None:
                have = sampled.get(frontier, 0.0)
                want(frontier, max(_FRONTIER_FAILURES / planned[frontier], 2 * have))
    return wanted


def _frontier(below: int, lowest: int, planned: Floats, sampled: dict[int, float], left: int) -> int | None:
    """The next stratum below the lowest measured one: `below`, or a nearer one.

    A nearer one is taken if `left` frames do not suffice to show that `below` fails. Deeper ones wait until this one
    has failed.
    """
    for weight in range(below, lowest, max(1, (lowest - below) // _FRONTIER_STEPS)):
        have = sampled.get(weight, 0.0)
        if planned[weight] > 0 and max(_FRONTIER_FAILURES / planned[weight], 2 * have) - have <= left:
            return weight
    return None


def sample_directly(task: FrameTask, goal: Goal, view: View, units: int = 1) -> Plan[Counts]:
    """Sample frames as the channel makes them until enough have failed, or the frames are spent."""
    while True:
        if not (yield Round([Request(task, None, units)], 0)):
            return view(task, None, units)
        counts = view(task, None, units)
        if _known_directly(counts, goal):
            return counts
        needed = direct_frames(counts, _MARGIN * goal.relative_error) if counts.failures else math.inf
        most = min(_GROWTH * units, blocks_within(goal.frames // task.unit_frames))
        if most <= units:
            return counts
        units = min(whole_blocks(math.ceil(needed / task.unit_frames)), most) if needed < math.inf else most


def _known_directly(counts: Counts, goal: Goal) -> bool:
    return counts.failures > 0 and direct_frames(counts, goal.relative_error) <= counts.frames


def direct_frames(counts: Counts, relative_error: float) -> float:
    """The number of frames, drawn as the channel makes them, that a relative error needs, estimated from earlier
    failures.
    """
    return (counts.frames / counts.failures - 1) / relative_error**2
