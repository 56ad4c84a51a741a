"""Frame error rates of a code against raw bit error rate or age, by the cheapest of three methods.

`measure_fer` is `softsense fer`. How rates follow from counts is in `softsense.strata`, what is sampled next in
`softsense.sampling`, and who counts in `softsense.runner`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import _core, codes
from softsense._core import MAX_LEVEL, Cells, Code, ConfigError, FrameTask
from softsense.api import Interrupted
from softsense.flash import page_number
from softsense.floors import Floor, floor_frames, measure_floor
from softsense.runner import Progress, Runner, chosen_workers
from softsense.sampling import (
    Goal,
    Plan,
    Request,
    Round,
    direct_frames,
    sample_by_weight,
    sample_directly,
)
from softsense.store import Counts, Store, opened_store
from softsense.strata import (
    MOST_EXTRAPOLATED,
    Estimate,
    Strata,
    binomial_weights,
    direct_estimate,
    ladder,
)

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softsense.traps import Traps

MOST_CONTINUED = 1e4
"""What may be missing, over what was measured, of a rate that is told by extrapolation."""

THRESHOLD_TARGETS = (1e-2, 1e-6, 1e-10, 1e-15, 1e-17)
"""Failure probabilities of a codeword for which results say the raw bit error rate."""

UBER_TARGETS = (1e-15, 1e-16)
"""Uncorrectable bit error rates, failures per data bit read, for which they say it, too.

Source: JESD218, for client and enterprise drives.
"""

SHIPPED = "shipped"
"""The absorbing sets that come with a shipped code."""

HOURS_PER_DAY = 24

_MOST_POINTS = 1000
_DIRECT_UNITS = 16
_GRID_STEPS = 20


# Options -------------------------------------------------------------------------------------------------------------


def parse_list(text: str, name: str, least: float, most: float) -> list[float]:
    """Numbers in increasing order from `0.004,0.005` or `0.004:0.012:0.0005` (start, stop and step, both ends in it).

    Raises:
        ConfigError: not such a list, more than 1000 numbers, or one outside `least` to `most`.
    """
    numbers: set[Decimal] = set()
    for part in text.split(","):
        try:
            first, *rest = (Decimal(word.strip()) for word in part.split(":"))
            if not all(number.is_finite() for number in (first, *rest)) or len(rest) not in (0, 2):
                raise InvalidOperation
            stop, step = rest or (first, Decimal(1))
            if step <= 0 or stop < first or (stop - first) / step >= _MOST_POINTS:
                raise InvalidOperation
        except InvalidOperation:
            raise ConfigError(
                f"{name}: found `{part}`, expected numbers such as 0.004,0.005, or start:stop:step such as "
                f"0.004:0.012:0.0005, at most {_MOST_POINTS} of them"
            ) from None
        numbers.update(first + i * step for i in range(int((stop - first) / step) + 1))
    return checked_numbers(map(float, sorted(numbers)), name, least, most)


def checked_numbers(numbers: Iterable[float], name: str, least: float, most: float) -> list[float]:
    """The numbers in increasing order without repeats.

    Raises:
        ConfigError: none, too many, or one outside `least` to `most`.
    """
    found = sorted(set(numbers))
    if not 0 < len(found) <= _MOST_POINTS:
        raise ConfigError(f"{name}: found {len(found)} numbers, expected 1 to {_MOST_POINTS}")
    for number in found:
        if not least <= number <= most:
            raise ConfigError(f"{name}: found {number:g}, expected {least:g} to {most:g}")
    return found


def parse_levels(text: str) -> list[int]:
    """Read levels from `1`, `1-7` or `1,3,7`.

    Raises:
        ConfigError: not such a list, or a level outside 1 to 7.
    """
    levels: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)):
            raise ConfigError(f"levels: found `{part}`, expected levels such as 1, 1-7 or 1,3,7")
        end = int(last or first)
        levels.update(range(int(first), end + 1) if end <= MAX_LEVEL else [end])
    return checked_levels(levels)


def checked_levels(levels: Iterable[int]) -> list[int]:
    """The levels in increasing order without repeats.

    Raises:
        ConfigError: none, or one outside 1 to 7.
    """
    found = sorted(set(levels))
    wrong = [level for level in found if not 1 <= level <= MAX_LEVEL]
    if wrong or not found:
        raise ConfigError(f"levels: found {wrong[0] if wrong else 'none'}, expected levels from 1 to {MAX_LEVEL}")
    return found


def parse_age(text: str) -> tuple[int, float]:
    """Program/erase cycles and days from `10000:30`.

    Raises:
        ConfigError: anything else.
    """
    cycles, _, days = text.partition(":")
    with contextlib.suppress(ValueError):
        return int(cycles), float(days)
    raise ConfigError(f"llrs_for: found `{text}`, expected program/erase cycles and days, such as 10000:30")


# Frame error rates ---------------------------------------------------------------------------------------------------


@dataclass
class FerResult:
    """Frame error rates of a code, as measured.

    Attributes:
        description: what was run; ready for JSON.
        points: one for each level and raw bit error rate (or age), ready for JSON. `fer` is the rate of what was
            measured, `lo` to `hi` its 95 % interval and `relative_error` its standard error over it. It is the sum of
            `waterfall`, by error weight, and `floor`, by the listed absorbing sets (`floor_lo` to `floor_hi`,
            `floor_relative_error`, `floor_strata`; None where none are listed; sets that never failed may add up to
            `floor_at_most`, which `hi` does not contain). `unlisted` is an upper bound of what
            neither has seen. `missing` is what strata of error weight below the lowest that failed would add, over
            `fer`, by extrapolation (None if unknown): above 25 % a point is not `complete`. `judged` is what
            splitting says: `fer`, `relative_error` and whether it `agrees` (None where it was not asked).
        interrupted: whether it was stopped before its end.
    """

    description: dict[str, Any]
    points: list[dict[str, Any]]
    interrupted: bool = False

    @property
    def levels(self) -> list[int]:
        """The read levels, in increasing order."""
        return sorted({point["level"] for point in self.points})

    def curve(self, level: int) -> list[dict[str, Any]]:
        """The points of a level by increasing raw bit error rate."""
        return sorted((p for p in self.points if p["level"] == level), key=lambda p: p["rber"])

    @property
    def thresholds(self) -> list[dict[str, Any]]:
        """The raw bit error rates at which each level fails as often as `targets` says, where points are around.

        `failure` is the failure probability of a codeword, `uber` the uncorrectable bit error rate that it comes from,
        if it does. Between points ln FER is interpolated linearly; `lo` and `hi` are where the ends of the intervals
        cross, and `complete` says whether the points on both sides are. `floor_at_most` is that of the point above.
        """
        return [
            {"level": level, "uber": uber, **found}
            for level in self.levels
            for uber, target in targets(self.description.get("data_bits"))
            if (found := threshold(self.curve(level), target))
        ]

    @property
    def table(self) -> pl.DataFrame:
        """The points as a table: a row each."""
        import polars as pl

        return pl.DataFrame(self.points, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            **self.description,
            "interrupted": self.interrupted,
            "thresholds": self.thresholds,
            "points": self.points,
        }

    def plot(self, title: str | None = None, *, axes: Axes | None = None) -> Figure:
        """Draw frame error rate against raw bit error rate; save the figure with its `savefig`.

        Args:
            title: of the picture; default: the code's name.
            axes: axes of your own to draw into, so that curves of several codes can share them; default: a new figure.

        Returns the figure, whose axes and texts can be restyled.
        """
        from softsense import plots

        return plots.draw_fer(self, title, axes)


def targets(data_bits: int | None) -> list[tuple[float | None, float]]:
    """The failure probabilities that thresholds are told for, each after the uncorrectable bit error rate behind it."""
    of_uber = [(uber, uber * data_bits) for uber in UBER_TARGETS] if data_bits else []
    return [*((None, target) for target in THRESHOLD_TARGETS), *of_uber]


def can_be_continued(point: dict[str, Any]) -> bool:
    """Whether enough of a rate was measured that what is missing may be told by extrapolation."""
    return point["missing"] is not None and point["missing"] < MOST_CONTINUED


def continued(point: dict[str, Any], curve: str = "fer") -> float | None:
    """The rate of a point, or an end of its interval, with what is missing by extrapolation; None if unknown."""
    return point[curve] * (1 + point["missing"]) if can_be_continued(point) and point[curve] is not None else None


def threshold(points: Sequence[dict[str, Any]], target: float) -> dict[str, Any] | None:
    """Where a curve of points by increasing `rber` crosses the failure probability `target`; None if it does not.

    What is missing counts, by extrapolation: where that is more than a little, the threshold is not `complete`.
    """

    def crossing(values: Sequence[float | None]) -> tuple[float, bool, float] | None:
        for (low, below), (high, above) in itertools.pairwise(zip(points, values, strict=True)):
            if below and above and below <= target <= above and below < above:
                part = math.log(target / below) / math.log(above / below)
                rber = low["rber"] + part * (high["rber"] - low["rber"])
                return rber, low["complete"] and high["complete"], high["floor_at_most"]
        return None

    if not (found := crossing([continued(point) for point in points])):
        return None
    curves = {"lo": [continued(point, "hi") for point in points], "hi": [point["lo"] for point in points]}
    ends = {end: at[0] if (at := crossing(values)) else None for end, values in curves.items()}
    return {"failure": target, "rber": found[0], **ends, "complete": found[1], "floor_at_most": found[2]}


@dataclass(frozen=True)
class Place:
    """Where frames are read: a level, a raw bit error rate, and the age that it comes from, if it does."""

    task: FrameTask
    level: int
    rber: float
    pe_cycles: int | None = None
    retention_days: float | None = None

    def point(
        self,
        method: str,
        estimate: Estimate,
        counted: Counts | Strata,
        mean_iterations: float | None,
        floor: Floor | None = None,
    ) -> dict[str, Any]:
        """What was found here, ready for JSON, from what was decoded for it."""
        parts = [(estimate.fer, estimate.relative_error), (floor.rate, floor.relative_error) if floor else (0.0, None)]
        fer = sum(rate for rate, _ in parts)
        deviation = math.hypot(*(rate * (error or 0.0) for rate, error in parts))
        known = estimate.missing < math.inf and fer > 0
        missing = estimate.missing * estimate.fer / fer if known else None
        age = {} if self.pe_cycles is None else {"pe_cycles": self.pe_cycles, "retention_days": self.retention_days}
        return {
            "level": self.level,
            "rber": self.rber,
            **age,
            "fer": min(1.0, fer),
            "lo": min(1.0, estimate.lo + (floor.lo if floor else 0.0)),
            "hi": min(1.0, estimate.hi + (floor.hi if floor else 0.0)),
            "relative_error": deviation / fer if fer else None,
            "waterfall": estimate.fer,
            "floor": floor.rate if floor else None,
            "floor_lo": floor.lo if floor else None,
            "floor_hi": floor.hi if floor else None,
            "floor_at_most": floor.at_most if floor else None,
            "floor_relative_error": floor.relative_error if floor else None,
            "floor_strata": [asdict(stratum) for stratum in floor.strata] if floor else [],
            "unlisted": estimate.unlisted,
            "judged": None,
            "missing": missing,
            "complete": missing is not None and missing <= MOST_EXTRAPOLATED,
            "method": method,
            "frames": counted.frames + (floor_frames(floor) if floor else 0),
            "failures": counted.failures + (sum(stratum.failures for stratum in floor.strata) if floor else 0),
            "undetected": counted.undetected,
            "mean_iterations": mean_iterations,
        }


def mean_iterations(counts: Counts, limit: int) -> float | None:
    """Iterations that a frame took, those given up after `limit` included; None without frames."""
    if not counts.frames:
        return None
    done = sum(i * n for i, n in enumerate(counts.iterations))
    return (done + limit * (counts.frames - sum(counts.iterations))) / counts.frames


class Campaign:
    """The frames of one code and decoder: makes tasks, and plans of how to find rates.

    Args:
        code: the code.
        decoder: as `Code.decoder` takes it.
        iterations: after how many it gives up.
        seed: of data and noise.
        goal: when a rate is known well enough.
        store: where plans look up what has been counted.
        traps: the absorbing sets that make the error floor, if any are known.
    """

    def __init__(
        self,
        code: Code,
        decoder: str,
        iterations: int,
        seed: int,
        goal: Goal,
        store: Store,
        traps: Traps | None = None,
    ) -> None:
        self.traps = traps
        self.code, self.decoder, self.iterations, self.seed, self.goal = code, decoder, iterations, seed, goal
        self.store = store
        self.view = store.counts
        """What became of the first units of a task, so far."""
        self._bch = code.kind == "bch"
        self.rungs = ladder(code.codeword_bits, every=self._bch)
        if goal.method == "analytic" and not self._bch:
            raise ConfigError(
                f"method: found `analytic` for {code.name}, an LDPC code, expected auto, weight or direct"
            )
        self.hard = self.task({"hard": {"rber": None}})

    def task(self, channel: dict[str, Any], condition: dict[str, Any] | None = None) -> FrameTask:
        """A task of this code and decoder; with a condition, of frames that are drawn by the listed absorbing sets."""
        spec = {"decoder": self.decoder, "iterations": self.iterations, "seed": self.seed, "channel": channel}
        if condition is None:
            return FrameTask(self.code, json.dumps(spec))
        assert self.traps is not None
        return FrameTask(self.code, json.dumps({**spec, "condition": condition}), self.traps.sets)

    def floor(self, place: Place, waterfall: float, strata: Strata) -> Plan[Floor | None]:
        """What the listed absorbing sets add at a place to the `waterfall` that strata of error weight say."""
        error_rate = place.task.decision_error_rate
        if self.traps is None or not error_rate or self.goal.method == "direct":
            return None
        channel = json.loads(place.task.spec_json)["channel"]
        if "hard" in channel or ("cells" in channel and place.level == 1):
            channel = {"hard": {"rber": error_rate}}
        # Errors are here wrong decisions, of which a soft level, where an LLR may be 0, has fewer than raw bit errors.
        lowest = round(strata.lowest * error_rate / place.rber) if strata.measured else None
        return (
            yield from measure_floor(
                lambda condition: self.task(channel, condition),
                error_rate,
                self.traps,
                waterfall,
                self.goal,
                self.view,
                lowest,
                place.task.sure_error_rate,
            )
        )

    def gaussian(self, level: int, rber: float, placement: str | dict[str, Any]) -> Place:
        """One boundary between two Gaussian states, at a raw bit error rate."""
        self._check_level(level)
        if level == 1:
            return Place(self.task({"hard": {"rber": rber}}), 1, rber)
        return Place(self.task({"gaussian": {"rber": rber, "level": level, "placement": placement}}), level, rber)

    def aged(self, level: int, pe_cycles: int, retention_days: float, reading: dict[str, Any]) -> Place:
        """Cells at an age; `reading` says which, and how they are read."""
        self._check_level(level)
        age = {"pe_cycles": pe_cycles, "retention_hours": HOURS_PER_DAY * retention_days, "level": level}
        task = self.task({"cells": {**age, **reading}})
        assert task.raw_error_rate is not None
        return Place(task, level, task.raw_error_rate, pe_cycles, retention_days)

    def describe(self) -> dict[str, Any]:
        """What is measured, and how; ready for JSON."""
        build = _core.build_info()
        return {
            "code": self.code.name,
            "kind": self.code.kind,
            "codeword_bits": self.code.codeword_bits,
            "data_bits": self.code.data_bits,
            "shannon_limit": self.code.shannon_limit,
            "decoder": None if self._bch else self.decoder,
            "iterations": None if self._bch else self.iterations,
            "seed": self.seed,
            "goal": asdict(self.goal),
            "softsense_version": build["version"],
            "model_version": build["model_version"],
            "traps": None
            if self.traps is None
            else {
                "classes": self.traps.classes,
                "most_bits": self.traps.most_bits,
                "identity": self.traps.sets.identity,
            },
        }

    def _check_level(self, level: int) -> None:
        if self._bch and level > 1:
            raise ConfigError(
                f"levels: found {level} for {self.code.name}, expected 1: a BCH code takes hard decisions"
            )

    def plans(self, places: Sequence[Place]) -> list[Plan[list[dict[str, Any]]]]:
        """How to find the rates at these places, one plan for what depends on one another."""
        direct = self.goal.method == "direct"
        shared = [place for place in places if place.level == 1 and not direct]
        each = [self.descent([place]) for place in places if place.level > 1 or direct]
        return [self.hard_points(shared), *each] if shared else each

    def automatic_plans(
        self, levels: Sequence[int], placement: str | dict[str, Any]
    ) -> list[Plan[list[dict[str, Any]]]]:
        """How to find the rates of these levels, each across its own waterfall."""
        return [self._automatic(level, placement) for level in levels]

    def hard_points(self, places: Sequence[Place]) -> Plan[list[dict[str, Any]]]:
        """Rates of hard decisions: one series of strata for all of them, or the binomial tail."""
        if self._bch and self.goal.method in ("auto", "analytic"):
            return [self._analytic(place) for place in places]
        strata = yield from self._hard_strata([place.rber for place in places])
        return (yield from self._hard_points(places, strata))

    def _hard_points(self, places: Sequence[Place], strata: Strata) -> Plan[list[dict[str, Any]]]:
        if not strata.frames:
            return []
        if not self._bch:
            # For their iterations alone.
            yield Round([Request(place.task, None, 1) for place in places])
        points = []
        for place in places:
            point = yield from self._by_weight(place, strata)
            points.append(point)
        return points

    def _hard_strata(self, rbers: Sequence[float]) -> Plan[Strata]:
        guess = 0.65 * self.code.shannon_limit * self.code.codeword_bits
        # One series for all of them may cost what all of them may.
        goal = replace(self.goal, frames=self.goal.frames * max(1, len(rbers)))
        return sample_by_weight(self.hard, rbers, goal, self.view, self.rungs, guess)

    def _by_weight(self, place: Place, strata: Strata) -> Plan[dict[str, Any]]:
        estimate = strata.estimate(binomial_weights(self.code.codeword_bits, place.rber))
        floor = yield from self.floor(place, estimate.fer, strata)
        return place.point("weight", estimate, strata, self._iterations(self.view(place.task, None, 1)), floor)

    def _analytic(self, place: Place) -> dict[str, Any]:
        fer = codes.failure_probability(self.code.codeword_bits, self.code.correctable, place.rber)
        return place.point("analytic", Estimate(fer, fer, fer, 0.0, 0.0, 0.0), Counts(), None)

    def _iterations(self, counts: Counts) -> float | None:
        return None if self._bch else mean_iterations(counts, self.iterations)

    def own_point(self, place: Place) -> Plan[dict[str, Any] | None]:
        """The rate at one place, by strata of its own or directly."""
        goal = self.goal
        yield Round([Request(place.task, None, 1)])
        first = self.view(place.task, None, 1)
        if not first.frames:
            return None
        cheap = first.failures and (
            direct_frames(first, goal.relative_error) <= min(_DIRECT_UNITS * place.task.unit_frames, goal.frames)
        )
        if goal.method == "direct" or (goal.method == "auto" and cheap):
            counts = yield from sample_directly(place.task, goal, self.view)
            return place.point("direct", direct_estimate(counts), counts, self._iterations(counts))
        guess = 1.2 * place.rber * self.code.codeword_bits
        strata = yield from sample_by_weight(place.task, [place.rber], goal, self.view, self.rungs, guess)
        return (yield from self._by_weight(place, strata))

    def descent(self, places: Iterable[Place]) -> Plan[list[dict[str, Any]]]:
        """Rates from high raw bit error rates down, as far as they can be found and are not below `goal.down_to`."""
        points: list[dict[str, Any]] = []
        for place in places:
            point = yield from self.own_point(place)
            if point is None:
                break
            points.append(point)
            if (rate := continued(point)) is None or rate < self.goal.down_to:
                break
        return points

    def grid_step(self) -> Plan[float | None]:
        """A round number, about a twentieth of the raw bit error rate at which half of all hard reads fail."""
        strata = yield from self._hard_strata([])
        if not strata.measured:
            return None
        half = strata.weights[np.argmax(2 * strata.failed >= strata.sampled)]
        return _round_step(float(half) / self.code.codeword_bits / _GRID_STEPS)

    def middle(self, level: int, step: float, placement: str | dict[str, Any]) -> Plan[int]:
        """About the least multiple of `step` at which half of all frames fail at a level."""

        def fails(multiple: int) -> Plan[bool]:
            task = self.gaussian(level, _multiple(multiple, step), placement).task
            yield Round([Request(task, None, 1)])
            counted = self.view(task, None, 1)
            return 2 * counted.failures >= counted.frames

        most = math.floor(0.45 / step)
        low, high, leap = 0, min(_GRID_STEPS, most), 4
        while high < most and not (yield from fails(high)):
            low, high, leap = high, min(high + leap, most), 2 * leap
        while high - low > 1:
            probe = (low + high) // 2
            low, high = (low, probe) if (yield from fails(probe)) else (probe, high)
        return high

    def grid(self, levels: Sequence[int], placement: str | dict[str, Any]) -> Plan[list[float]]:
        """Round raw bit error rates from where hard decisions seldom fail to where the last of `levels` mostly does."""
        if self._bch:
            return self._tail_grid()
        if (step := (yield from self.grid_step())) is None:
            return []
        hard = yield from self._automatic(1, placement)
        top = (yield from self.middle(levels[-1], step, placement)) + 2
        lowest = min((point["rber"] for point in hard), default=step)
        return [rate for i in range(1, top + 1) if (rate := _multiple(i, step)) >= lowest]

    def _automatic(self, level: int, placement: str | dict[str, Any]) -> Plan[list[dict[str, Any]]]:
        if self._bch and self.goal.method in ("auto", "analytic"):
            return [self._analytic(self.gaussian(level, rber, placement)) for rber in self._tail_grid()]
        if (step := (yield from self.grid_step())) is None:
            return []
        top = (yield from self.middle(level, step, placement)) + 2
        rbers = [_multiple(i, step) for i in range(top, 0, -1)]
        if level > 1 or self.goal.method == "direct":
            return (yield from self.descent(self.gaussian(level, rber, placement) for rber in rbers))
        strata = yield from self._hard_strata(rbers)
        expected = [strata.expected(binomial_weights(self.code.codeword_bits, rber)) for rber in rbers]
        # The first one below the goal closes the curve.
        shown = next((i + 1 for i, rate in enumerate(expected) if rate < self.goal.down_to), len(rbers))
        return (yield from self._hard_points([self.gaussian(1, rber, placement) for rber in rbers[:shown]], strata))

    def _tail_grid(self) -> list[float]:
        """Raw bit error rates at which a BCH code fails sometimes."""
        n, t = self.code.codeword_bits, self.code.correctable
        low, high = (codes.raw_bit_error_rate(n, t, target) for target in (self.goal.down_to, 0.99))
        # Exact rates cost nothing: a finer grid is closer to the curve between its points.
        step = _round_step(high / (4 * _GRID_STEPS))
        return [_multiple(i, step) for i in range(max(1, math.floor(low / step)), math.ceil(high / step) + 1)]


def _round_step(about: float) -> float:
    exponent = math.floor(math.log10(about))
    return float(f"{min((1, 2, 5, 10), key=lambda n: abs(math.log(about / (n * 10.0**exponent))))}e{exponent}")


def _multiple(multiple: int, step: float) -> float:
    return float(f"{multiple * step:.9g}")


def measure_fer(
    code: Code | str | os.PathLike[str],
    rber: str | Sequence[float] | None = None,
    *,
    levels: str | Sequence[int] | None = None,
    placement: str = "mutual_information",
    decoder: str = "min-sum",
    iterations: int = 20,
    method: str = "auto",
    relative_error: float = 0.1,
    down_to: float = 1e-15,
    frames: int = Goal.frames,
    seed: int = 1,
    traps: Traps | str | os.PathLike[str] | None = SHIPPED,
    floor_frames: int = Goal.floor_frames,
    floor_down_to: float | None = None,
    judge: int = 0,
    cells: str | os.PathLike[str] | None = None,
    pe_cycles: str | Sequence[int] = (),
    retention_days: str | Sequence[float] = (),
    page: str = "mean",
    llrs_for: tuple[int, float] | None = None,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> FerResult:
    """Measure frame error rates of a code against raw bit error rate, or against the age of cells.

    Counts depend on the code, the decoder, the channel and the seed alone, and what is counted on these and the goal:
    results are the same for any workers, and for a campaign that was stopped and resumed from its store.

    Args:
        code: a code, or a name or file that `Code.open` takes.
        rber: raw bit error rates from 0 to 0.5 (bit errors per bit), as numbers or as `0.004:0.012:0.0005`; default: of
            each level, round numbers across its waterfall.
        levels: read levels, 1 (hard decision, the default) to 7, as numbers or as `1-7`.
        placement: where references stand: `mutual_information`, `nested`, `uniform`, or `uniform:STEP_V` (V).
        decoder: as `Code.decoder` takes it; of this and of `iterations` BCH codes take no notice.
        iterations: after how many a decoder gives up.
        method: `weight` samples frames with given numbers of errors (see `softsense.strata`), `direct` frames as they
            come; `analytic` is the binomial tail of a BCH code on hard decisions; `auto` takes the cheapest.
        relative_error: standard error over rate at which a rate is known.
        down_to: rates below this one are not sampled for.
        frames: frames that a point may cost at most; hard decisions are measured for all points at once.
        seed: of data and noise.
        traps: the absorbing sets that make the error floor, as `find_traps` or `softsense code traps` has them, or
            their file; default: those that are shipped with the code; None: no floor is measured.
        floor_frames: frames that the error floor of a point may cost at most.
        floor_down_to: error floors are sampled until they are known, or bounded below this rate; default: below a tenth
            of the rate without them, or of `down_to`.
        judge: so many runs of splitting (see `softsense.splitting`) judge the rates of hard decisions, and of each soft
            level the lowest that is not below `down_to`, where the same level has a point that fails once in 300 reads
            or more to start from; soft levels of cells are not judged. Default: none.
        cells: instead of `rber`: a shipped model of cells or a TOML file, at each of `pe_cycles` and `retention_days`.
        pe_cycles: program/erase cycles, as numbers or as text like that of `rber`.
        retention_days: days since the page was written, likewise.
        page: the name or number of the page; `mean` is a codeword spread over all of them.
        llrs_for: program/erase cycles and days for which references and LLRs are made; default: those of the cells.
        workers: threads of this process (default: one per CPU), or any executor, such as a pool of processes or that
            of a Dask client (`client.get_executor()`).
        store: a store or its file, which is made if there is none; default: nothing is kept.
        progress: called now and then with a name, the frames counted so far and the completed fraction.

    Raises:
        SoftsenseError: a code, option, store or worker is wrong; the message names it.
        Interrupted: Ctrl-C; its `result` is what had been measured, or None. The store keeps every count.

    Of a BCH code the rate is a sum, of others it is measured:

    >>> import softsense
    >>> result = softsense.measure_fer("bch:m=10,t=5,k=512", [0.001, 0.002])
    >>> [f"{point['fer']:.3g}" for point in result.points]
    ['2.65e-05', '0.00106']
    >>> result.table["method"].to_list()
    ['analytic', 'analytic']
    >>> measured = softsense.measure_fer("teaching-1/2", [0.05], relative_error=0.3, frames=5000)
    >>> 0.01 < measured.points[0]["fer"] < 0.2
    True
    """
    opened = code if isinstance(code, Code) else Code.open(code)
    goal = Goal(relative_error, down_to, frames, method, floor_frames, floor_down_to)
    listed = opened_traps(opened, traps)
    chosen = parse_levels(levels) if isinstance(levels, str) else checked_levels(levels or [1])
    standing = json.loads(_core.placement_json(placement))
    if (cells is None) != (not pe_cycles and not retention_days) or (cells is not None and rber is not None):
        raise ConfigError("cells: expected either rber, or cells with pe_cycles and retention_days")
    with opened_store(store) as kept:
        campaign = Campaign(opened, decoder, iterations, seed, goal, kept, listed)
        channel: dict[str, Any] = {"placement": standing}
        if cells is not None:
            cycles = [int(n) for n in numbers(pe_cycles, "pe_cycles", 0, 10**7)]
            days = numbers(retention_days, "retention_days", 0, 400_000)
            reading = _reading(cells, page, llrs_for) | channel
            channel = reading | {"pe_cycles": cycles, "retention_days": days}
            places = [campaign.aged(level, n, day, reading) for level in chosen for n in cycles for day in days]
            plans = campaign.plans(places)
        elif rber is not None:
            rates = numbers(rber, "rber", 0, 0.5)
            plans = campaign.plans([campaign.gaussian(level, rate, standing) for level in chosen for rate in rates])
        else:
            plans = campaign.automatic_plans(chosen, standing)
        runner = Runner(kept, chosen_workers(workers), opened.name, progress)
        found = runner.run(plans)
        order = ("level", "pe_cycles", "retention_days", "rber")
        points = sorted(
            (p for part in found if part for p in part), key=lambda p: [p[name] for name in order if name in p]
        )
        if judge and not runner.interrupted:
            from softsense.judge import judge_points

            runner.interrupted = judge_points(campaign, points, placement, judge, runner.workers, progress)
    result = FerResult(campaign.describe() | {"channel": channel}, points, runner.interrupted)
    if runner.interrupted:
        raise Interrupted(result if points else None)
    return result


def numbers(values: str | Sequence[float], name: str, least: float, most: float) -> list[float]:
    """Checked numbers from text or a sequence; see `parse_list`."""
    if isinstance(values, str):
        return parse_list(values, name, least, most)
    return checked_numbers(values, name, least, most)


def _reading(cells: str | os.PathLike[str], page: str, llrs_for: tuple[int, float] | None) -> dict[str, Any]:
    """Which cells and which page, as a task has them."""
    opened = Cells.open(os.fspath(cells))
    age = None
    if llrs_for:
        age = {"pe_cycles": llrs_for[0], "retention_hours": HOURS_PER_DAY * llrs_for[1]}
    number = None if page == "mean" else page_number(opened, page)
    named = os.fspath(cells) in Cells.names()
    return {"cells": os.fspath(cells) if named else json.loads(opened.spec_json), "page": number, "llrs_for": age}


def opened_traps(code: Code, traps: Traps | str | os.PathLike[str] | None) -> Traps | None:
    """The absorbing sets that are meant: as they are, from a file, those shipped with the code (`SHIPPED`), or none."""
    from softsense.traps import Traps, load_traps, matrix_identity, shipped_traps

    if traps is None or code.kind == "bch":
        return None
    if isinstance(traps, Traps):
        if matrix_identity(traps.code) != matrix_identity(code):
            raise ConfigError(
                f"traps: found those of {traps.code.name}, of another matrix, expected those of {code.name}"
            )
        return traps
    return shipped_traps(code) if traps == SHIPPED else load_traps(traps, code)
