"""The error floor of a code and decoder: the part of the frame error rate that its listed absorbing sets cause.

Sampling by error weight does not meet eight particular bits that are all wrong, but the probability of that event is
known exactly. Take a class of M sets of a bits, with k of the bits wrong and the others right. One frame has on average

    events(k) = M C(a, k) p^k (1 - p)^(a - k),          floor = sum over classes and k of  events(k) F(k),

where F(k) is the probability that decoding fails in frames with such a set, whose other bits are as the channel makes
them. F is measured: every set of the class is drawn with equal probability, so that one stratum serves all. A frame in
which several listed sets are wrong counts as a failure of one with the fewest right bits (`FrameTask`). So the sum
counts every failure once, and the part of sets with few right bits does not depend on how far down others are sampled.

At soft levels a class has two strata for each k. In one of them all k bits are surely wrong: their LLRs are half of the
largest or more, with the wrong sign. The other has the remaining cases. Messages have to outgrow LLRs, so that sure
bits trap a decoder first. Seven sure bits among seven wrong ones are too rare to be met otherwise.

Frames with as many errors as the lowest measured stratum of error weight, or more, belong to the strata of weight,
whatever sets are wrong in them. Only failures with fewer errors belong to the floor. In long codes below their
waterfall these are all failures; on the waterfall and in short codes they are next to none.

Each F(k) has its exact interval, all of them together 95 % (Sidak). A class has strata from all bits down to all but
one, and further as long as they fail, to half of its bits. In sets with few violated checks half is enough, as errors
around them do the rest. A stratum that was not sampled, because it could not matter, is bounded by the stratum with one
more wrong bit, as fewer wrong bits are no harder to correct. Failures with fewer wrong bits are no event of a set any
more; error weights and splitting see them.

A class, or a kind of its strata, that never failed is bounded apart (`at_most`), by its number of frames alone. Sets of
few bits are so often wrong that no number of frames bounds them below 1e-15. That bound tells how much was sampled, not
how uncertain a rate is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense.counts import blocks_within, whole_blocks
from softsense.sampling import Plan, Request, Round
from softsense.strata import CONFIDENCE, binomial_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from softsense._core import FrameTask
    from softsense.sampling import Goal, View
    from softsense.traps import Traps

MOST_RIGHT = 2
"""The most bits of a set that may be right while the set counts as present."""

ALWAYS_RIGHT = 1
"""The most right bits of a sampled set, unless frames with so many still fail."""

_NEARLY_ALL = 1 - 1e-12
_GROWTH = 4
_ALIKE = 0.5
"""The part of the frames that all strata share evenly; the rest goes to strata whose result it can decide."""
_NEGLIGIBLE = 0.1


def fewest_wrong(bits: int) -> int:
    """The least number of wrong bits of a set of `bits` bits that may account for a failure."""
    return (bits + 1) // 2


@dataclass(frozen=True)
class FloorStratum:
    """Frames in which `wrong` of the `bits` bits of one absorbing set are wrong, the set being any of its class.

    Attributes:
        bits: bits of a set.
        violated: checks that a set violates.
        sets: number of sets in the class.
        wrong: number of wrong bits of the set.
        surely: at a soft level, whether all of these are surely wrong, or not all; None: not told apart.
        events: mean number of such sets in a frame: `sets` times the probability of one.
        frames: frames that were decoded.
        failures: failed frames with fewer errors than the lowest measured stratum of error weight.
        rate: the part of the frame error rate that the stratum causes; 0 without failures.
        hi: upper bound of that part.
    """

    bits: int
    violated: int
    sets: int
    wrong: int
    surely: bool | None
    events: float
    frames: int
    failures: int
    rate: float
    hi: float

    @property
    def kind(self) -> tuple[int, int, bool | None]:
        """The class and grade that strata share if they differ in the number of wrong bits alone."""
        return self.bits, self.violated, self.surely


@dataclass(frozen=True)
class Floor:
    """The part of a frame error rate that the listed sets cause.

    Attributes:
        rate: the sum over strata.
        lo: lower end of its 95 % interval.
        hi: upper end of its interval, for the classes that were seen to fail.
        at_most: upper end with the classes that never failed, each as bad as its frames allow.
        relative_error: standard error over the rate; None without failures.
        strata: the strata of the sum.
    """

    rate: float
    lo: float
    hi: float
    at_most: float
    relative_error: float | None
    strata: tuple[FloorStratum, ...]

    def of_bits(self, bits: int) -> float:
        """The share of the rate that sets of `bits` bits cause; 0 where nothing failed.

        If the largest sets that were searched for cause much, larger ones may add more.
        """
        return sum(stratum.rate for stratum in self.strata if stratum.bits == bits) / self.rate if self.rate else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Stratum:
    bits: int
    violated: int
    sets: int
    wrong: int
    surely: bool | None
    events: float
    share: float
    task: FrameTask


def measure_floor(
    make_task: Callable[[dict[str, Any]], FrameTask],
    error_rate: float,
    traps: Traps,
    waterfall: float,
    goal: Goal,
    view: View,
    lowest: int | None = None,
    sure_error_rate: float | None = None,
) -> Plan[Floor]:
    """Sample the strata of listed sets until the floor is known, or known not to matter, or the frames are spent.

    The floor matters where it is more than a tenth of `waterfall`, the rate without it, and of the lowest rate that is
    sought; or where it is more than `goal.floor_down_to`, if that is given.

    Args:
        make_task: makes the task of a condition, which docs/model/frame-error-rates.md describes.
        error_rate: the probability that a decision is wrong.
        traps: the listed sets.
        waterfall: the frame error rate by error weight.
        goal: `relative_error`, `down_to`, `floor_frames` and `floor_down_to`.
        view: the counts so far.
        lowest: number of errors from which on failures belong to strata of error weight, and do not count here; None:
            all count.
        sure_error_rate: at a soft level, the probability that a decision is surely wrong.
    """
    strata = []
    sure = (sure_error_rate or 0.0) / error_rate
    # If all wrong bits are sure, or none, the two grades need not be told apart.
    grades: list[bool | None] = [True, False] if 0.0 < sure < _NEARLY_ALL else [None]
    for found, surely in ((each, grade) for each in traps.classes for grade in grades):
        bits, violated, sets = found["bits"], found["violated"], found["sets"]
        if lowest is not None:
            elsewhere = binomial_weights(traps.code.codeword_bits - bits, error_rate)
        for wrong in range(bits, fewest_wrong(bits) - 1, -1):
            events = sets * math.comb(bits, wrong) * error_rate**wrong * (1 - error_rate) ** (bits - wrong)
            condition = {"bits": bits, "violated": violated, "wrong": wrong, "listed": traps.sets.identity}
            if surely is not None:
                condition["surely"] = surely
                events *= sure**wrong if surely else 1 - sure**wrong
            share = 1.0
            if lowest is not None:
                share = float(elsewhere[: max(0, lowest - wrong)].sum())
                if share < _NEARLY_ALL:
                    condition["fewer_errors_than"] = lowest
            strata.append(_Stratum(bits, violated, sets, wrong, surely, events, share, make_task(condition)))
    matters = goal.floor_down_to or _NEGLIGIBLE * max(waterfall, goal.down_to)
    # Nothing is sampled where the sets, even if they always failed, would be wrong too seldom to matter.
    units: dict[int, int] = {}
    share = _ALIKE * goal.floor_frames / max(1, len(strata))
    expected = 0
    while True:
        requests = [Request(strata[index].task, None, count) for index, count in sorted(units.items())]
        go_on = not requests or (yield Round(requests, expected))
        floor = _floor(strata, units, view)
        if not go_on:
            return floor
        grown = _next_units(strata, units, floor, matters, goal)
        spent = before = sum(strata[index].task.unit_frames * count for index, count in units.items())
        # Strata without frames come first, then those that may add most, as far as the frames go. At last comes one of
        # the strata that have had their share: the one whose bound is nearest to deciding.
        at_hand = sorted(grown, key=lambda index: (index in units, -floor.strata[index].hi, index))
        never_failed = [i for i in at_hand if floor.strata[i].frames >= share and not floor.strata[i].failures]
        for index in [*(i for i in at_hand if i not in never_failed), *never_failed[-1:]]:
            have, unit_frames = units.get(index, 0), strata[index].task.unit_frames
            wanted = min(grown[index], blocks_within(have + (goal.floor_frames - spent) // unit_frames))
            if floor.strata[index].frames < share and not floor.strata[index].failures:
                wanted = min(wanted, whole_blocks(math.ceil(share / unit_frames)))
            if wanted > have:
                spent += unit_frames * (wanted - have)
                units[index] = wanted
        if spent == before:
            return floor
        expected = spent - before


def floor_frames(floor: Floor) -> int:
    """Frames decoded for a floor."""
    return sum(stratum.frames for stratum in floor.strata)


def _next_units(
    strata: Sequence[_Stratum], units: dict[int, int], floor: Floor, matters: float, goal: Goal
) -> dict[int, int]:
    """The number of units that each stratum should have next."""
    grown: dict[int, int] = {}
    if floor.at_most <= matters:
        return grown
    least = matters / len(strata)
    known = floor.relative_error is not None and floor.relative_error <= goal.relative_error
    for index, found in enumerate(floor.strata):
        if found.hi <= least:
            continue
        # Strata with more wrong bits tell whether those with fewer fail at all, so they come first.
        while index not in units and index - 1 not in units and strata[index].bits - strata[index].wrong > ALWAYS_RIGHT:
            index -= 1
        have = units.get(index, 0)
        # A stratum that adds much is to be known to a part of the error that is sought for all.
        wanted = 2 / goal.relative_error**2
        enough = found.rate > least and found.failures >= wanted
        if not have:
            grown[index] = 1
        elif not enough and not (known and found.failures):
            grown[index] = whole_blocks(_GROWTH * have)
    return grown


def _floor(strata: Sequence[_Stratum], units: dict[int, int], view: View) -> Floor:
    sampled = max(1, len(units))
    confidence = CONFIDENCE ** (1 / sampled)
    found: list[FloorStratum] = []
    variance = lo = 0.0
    ceiling = 1.0
    fails = True
    for index, stratum in enumerate(strata):
        if stratum.wrong == stratum.bits:
            ceiling, fails = stratum.share, True
        counted = view(stratum.task, None, units.get(index, 0)) if index in units else None
        frames = counted.frames if counted else 0
        failures = counted.failures if counted else 0
        if frames:
            least, most = _core.binomial_interval(failures, frames, confidence)
            # The probability of so few errors bounds the probability of a failure with them.
            ceiling = min(most, stratum.share)
            lo += stratum.events * min(least, ceiling)
            variance += stratum.events**2 * failures * (frames - failures) / frames**3
        rate = stratum.events * failures / frames if frames else 0.0
        counts = fails or stratum.bits - stratum.wrong <= ALWAYS_RIGHT
        hi = max(rate, stratum.events * ceiling) if counts else 0.0
        # A stratum without frames may fail, and so may the far more numerous cases with fewer wrong bits.
        fails = failures > 0 if frames else counts
        found.append(
            FloorStratum(
                stratum.bits,
                stratum.violated,
                stratum.sets,
                stratum.wrong,
                stratum.surely,
                stratum.events,
                frames,
                failures,
                rate,
                hi,
            )
        )
    rate = sum(stratum.rate for stratum in found)
    failing = {stratum.kind for stratum in found if stratum.failures}
    hi = sum((stratum.hi for stratum in found if stratum.kind in failing), 0.0)
    at_most = sum((stratum.hi for stratum in found), 0.0)
    error = math.sqrt(variance) / rate if rate else None
    return Floor(rate, lo, min(1.0, hi), min(1.0, at_most), error, tuple(found))
