"""A law: what listed absorbing sets predict is what plain counting finds, wherever a floor can be counted.

A prediction knows the list of sets of a code and how often its decoder fails on frames that are drawn by them
(`measure_floor`); nothing of it was fitted to the counts. What is counted are failures of frames as the channel makes
them (`measure_fer(method="direct")`). The two share the decoder and nothing else: neither frames nor seeds nor
arithmetic.

At each point both are told with intervals of 95 %, which must overlap; their ratio must be one within 3.5 standard
errors of both, and the mean ratio over the points of a case within 3.5 of its own. Seeds are fixed, so the outcome is
always the same; with other seeds one of the fourteen ratios would be beyond by chance in one run of 150. In the case of
three decades the standard error is 7 to 12 % at a point and 4.4 % over all: a prediction that lacks a seventh of the
failures is refused by more than half of such runs, one that lacks a quarter by 99 of 100. The other cases have fewer
failures; what each can show is in its line of the output.

`make laws` runs all of it; `make test` a point of it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache

import pytest

from softsense import Code, Store, _core, measure_fer
from softsense._core import FrameTask
from softsense.executing import chosen_workers
from softsense.floors import Floor, measure_floor
from softsense.runner import Runner
from softsense.sampling import Goal
from softsense.strata import CONFIDENCE
from softsense.traps import Traps, find_traps

MOST_DEVIATIONS = 3.5
"""Standard errors by which a ratio may be off."""

MOST_COUNTED_AGAIN = 2**21
"""Frames of a point that whole rates are compared with, too."""


@dataclass(frozen=True)
class Case:
    """A code, a decoder, and where its floor is counted.

    Attributes:
        shifts: of the code's circulants, block row by block row.
        circulant: size of them.
        decoder: as `Code.decoder` takes it.
        most_bits: of listed sets.
        most_violated: checks that they violate.
        points: raw bit error rates, and how many frames are counted there.
        decades: of frame error rate that the points cover at least.
    """

    shifts: tuple[tuple[int, ...], ...]
    circulant: int
    decoder: str
    most_bits: int
    most_violated: int
    points: tuple[tuple[float, int], ...]
    decades: float


@dataclass(frozen=True)
class Compared:
    """What was predicted at a point, and what was counted."""

    rber: float
    floor: Floor
    failures: int
    frames: int

    @property
    def counted(self) -> float:
        """The counted rate."""
        return self.failures / self.frames

    @property
    def interval(self) -> tuple[float, float]:
        """Of what was counted."""
        return _core.binomial_interval(self.failures, self.frames, CONFIDENCE)

    @property
    def deviations(self) -> float:
        """How far the ratio is from one, in standard errors."""
        assert self.floor.relative_error is not None
        return math.log(self.floor.rate / self.counted) / math.hypot(
            self.floor.relative_error, 1 / math.sqrt(self.failures)
        )

    def __str__(self) -> str:
        floor, (lo, hi) = self.floor, self.interval
        events = sum(stratum.events for stratum in floor.strata if stratum.frames)
        return (
            f"{self.rber:g} | {floor.rate:.3g} ({floor.lo:.3g} to {floor.hi:.3g}) | "
            f"{self.counted:.3g} ({lo:.3g} to {hi:.3g}) | {self.failures} of {self.frames:,} | "
            f"{floor.rate / self.counted:.3f} | {self.deviations:+.1f} | {events:.2g} events a frame"
        )


def array_code(rows: int, columns: int) -> tuple[tuple[int, ...], ...]:
    """The shifts of an array code: i j.

    Source: J. Fan, "Array codes as low-density parity-check codes", 2000. Deviation: circulants of any size.
    """
    return tuple(tuple(row * column for column in range(columns)) for row in range(rows))


def shifts(text: str) -> tuple[tuple[int, ...], ...]:
    """Shifts from a table of them."""
    return tuple(tuple(map(int, line.split())) for line in text.strip().splitlines())


LIGHT = shifts("""
77 22 83  9 59 15 40 62
 8 17 55 31 45 66 41 66
17 76  3 41 25 70 63 83
""")
"""Drawn at random among those without cycles of 4 and 6 edges: columns of weight 3."""

CASES = {
    "array 4 x 8, totals up to 12": Case(
        array_code(4, 8),
        64,
        "min-sum-8bit:12",
        8,
        4,
        ((0.02, 2**17), (0.01, 2**21), (0.006, 2**23), (0.0042, 2**25)),
        3.0,
    ),
    "array 4 x 8, totals up to 126": Case(
        array_code(4, 8), 64, "min-sum-8bit", 8, 4, ((0.02, 2**17), (0.01, 2**21)), 1.3
    ),
    "3 x 8, totals up to 12": Case(LIGHT, 96, "min-sum-8bit:12", 8, 3, ((0.014, 2**20), (0.01, 2**22)), 0.5),
}


@cache
def traps_of(name: str) -> Traps:
    """The listed sets of a case."""
    case = CASES[name]
    rows = [" ".join(str(shift % case.circulant) for shift in row) for row in case.shifts]
    text = "\n".join([f"{len(case.shifts[0])} {len(rows)} {case.circulant}", *rows, ""])
    code = Code.parse("law.qc", text, redundant_checks=True)
    return find_traps(code, most_bits=case.most_bits, most_violated=case.most_violated)


def predicted(name: str, rber: float, relative_error: float, most_frames: int) -> Floor:
    """The frame error rate of listed sets alone."""
    traps, store = traps_of(name), Store()

    def task(condition: dict[str, object]) -> FrameTask:
        spec = {"decoder": CASES[name].decoder, "iterations": 20, "seed": 1, "channel": {"hard": {"rber": rber}}}
        return FrameTask(traps.code, json.dumps({**spec, "condition": condition}), traps.sets)

    def measured(floor_frames: int, waterfall: float) -> Floor:
        goal = Goal(relative_error=relative_error, floor_frames=floor_frames)
        plan = measure_floor(task, rber, traps, waterfall, goal, store.counts)
        floor = Runner(store, chosen_workers(None), name).run([plan])[0]
        assert floor is not None
        return floor

    # What a stratum may add at most is of interest down to a tenth of all together.
    return measured(most_frames, waterfall=measured(2**18, waterfall=0.0).rate)


def compared(name: str, rber: float, frames: int, relative_error: float, most_frames: int) -> Compared:
    """What is predicted and what is counted at a point."""
    found = measure_fer(
        traps_of(name).code,
        [rber],
        decoder=CASES[name].decoder,
        method="direct",
        frames=frames,
        relative_error=1e-6,
        traps=None,
    ).points[0]
    return Compared(rber, predicted(name, rber, relative_error, most_frames), found["failures"], found["frames"])


def assert_agrees(found: Compared) -> None:
    """Intervals overlap, and the ratio is one within its error."""
    lo, hi = found.interval
    assert found.floor.lo <= hi, found
    assert lo <= found.floor.hi, found
    assert abs(found.deviations) <= MOST_DEVIATIONS, found


@pytest.mark.law
@pytest.mark.parametrize("name", CASES)
def test_floors_are_what_is_counted(name: str) -> None:
    """Point by point, over all points, and over as many decades of the counted rate as the case says."""
    found = [
        compared(name, rber, frames, relative_error=0.05, most_frames=2**22) for rber, frames in CASES[name].points
    ]
    for point in found:
        print(f"{name}: {point}")
        assert_agrees(point)
    # What is predicted of all points, over what is counted: each weighs as much as it is known.
    weights = [(point.floor.relative_error or 1.0) ** 2 + 1 / point.failures for point in found]
    mean = sum(
        math.log(point.floor.rate / point.counted) / weight for point, weight in zip(found, weights, strict=True)
    ) / sum(1 / weight for weight in weights)
    error = 1 / math.sqrt(sum(1 / weight for weight in weights))
    print(f"{name}: {math.exp(mean):.3f} times what is counted, standard error {error:.3f}")
    assert abs(mean) <= MOST_DEVIATIONS * error
    assert max(point.counted for point in found) >= 10 ** CASES[name].decades * min(point.counted for point in found)


@pytest.mark.law
@pytest.mark.parametrize("name", CASES)
def test_rates_are_what_is_counted(name: str) -> None:
    """The rate that is told, by error weights with the floor of the same sets below them, against the same counts."""
    case = CASES[name]
    for rber, frames in case.points:
        if frames > MOST_COUNTED_AGAIN:
            continue
        told, counted = (
            measure_fer(
                traps_of(name).code,
                [rber],
                decoder=case.decoder,
                method=method,
                frames=frames,
                relative_error=error,
                traps=traps_of(name) if method == "weight" else None,
            ).points[0]
            for method, error in (("weight", 0.05), ("direct", 1e-6))
        )
        print(f"{name}: {rber:g} | {told['fer']:.3g} ({told['lo']:.3g} to {told['hi']:.3g}) | {counted['fer']:.3g}")
        assert told["lo"] <= counted["hi"]
        assert counted["lo"] <= told["hi"] + told["unlisted"]
        both = math.hypot(told["relative_error"], 1 / math.sqrt(counted["failures"]))
        missing = math.log1p(told["missing"])
        apart = math.log(told["fer"] / counted["fer"])
        assert -MOST_DEVIATIONS * both - missing <= apart <= MOST_DEVIATIONS * both


@pytest.mark.law
def test_a_floor_is_what_is_counted() -> None:
    """One point of the law, with an error of 7 %: a third of the failures too many or too few would show."""
    found = compared("array 4 x 8, totals up to 12", 0.02, 2**17, relative_error=0.1, most_frames=2**18)
    assert found.failures > 300
    assert_agrees(found)
    # With two right bits of a set at most, as if fewer wrong ones were harmless, a part would be missing.
    nearly = sum(stratum.rate for stratum in found.floor.strata if stratum.bits - stratum.wrong <= 2)
    assert nearly < 0.5 * found.counted
