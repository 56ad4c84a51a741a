"""How the frames of one code and decoder are drawn until rates are known."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import _core, codes
from softsense._core import Code, ConfigError, FrameTask
from softsense.campaign.curves import continued
from softsense.counts import Counts
from softsense.floors import Floor, floor_frames, measure_floor
from softsense.sampling import Goal, Plan, Request, Round, direct_frames, sample_by_weight, sample_directly
from softsense.store import Store
from softsense.strata import MOST_EXTRAPOLATED, Estimate, Strata, binomial_weights, direct_estimate, ladder

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from softsense.base import Progress
    from softsense.splitting import SplitResult
    from softsense.traps import Traps

HOURS_PER_DAY = 24
_DIRECT_UNITS = 16
_GRID_STEPS = 20


@dataclass(frozen=True)
class Place:
    """The conditions of a read: a level, a raw bit error rate, and the age that causes it, if cells have one."""

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
        """The result at this place, ready for JSON, from the frames that were decoded for it."""
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
            # Strata that never failed give a bound, and no interval.
            "floor_lo": floor.lo if floor and floor.rate else None,
            "floor_hi": floor.hi if floor and floor.rate else None,
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
    """Mean iterations of a frame; frames that were given up count as `limit`. None without frames."""
    if not counts.frames:
        return None
    done = sum(i * n for i, n in enumerate(counts.iterations))
    return (done + limit * (counts.frames - sum(counts.iterations))) / counts.frames


class Campaign:
    """The frames of one code and decoder: makes tasks, and plans of how to find rates.

    Args:
        code: the code.
        decoder: a decoder as `Code.decoder` takes it.
        iterations: number of iterations after which the decoder gives up.
        seed: seed of data and noise.
        goal: precision at which a rate is known well enough.
        store: the store in which plans look up counts.
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
        """Counts of the first units of a task so far."""
        self._bch = code.kind == "bch"
        self.rungs = ladder(code.codeword_bits, every=self._bch)
        if goal.method == "analytic" and not self._bch:
            raise ConfigError(
                f"method: found `analytic` for {code.name}, an LDPC code, expected auto, weight or direct"
            )
        self.hard = self.task({"hard": {"rber": None}})

    def task(self, channel: dict[str, Any], condition: dict[str, Any] | None = None) -> FrameTask:
        """A task of this code and decoder. With a condition, its frames are drawn by the listed absorbing sets."""
        spec = {"decoder": self.decoder, "iterations": self.iterations, "seed": self.seed, "channel": channel}
        if condition is None:
            return FrameTask(self.code, json.dumps(spec))
        assert self.traps is not None
        return FrameTask(self.code, json.dumps({**spec, "condition": condition}), self.traps.sets)

    def split(
        self,
        rber: Sequence[float],
        level: int,
        placement: str,
        runs: int,
        workers: int | Executor,
        progress: Progress | None,
        **ladder: Any,
    ) -> SplitResult:
        """Measure rates by splitting, with this code, decoder, seed and store. `ladder`: further arguments of
        `split`.
        """
        from softsense.splitting import split

        return split(
            self.code,
            rber,
            level=level,
            placement=placement,
            runs=runs,
            decoder=self.decoder,
            iterations=self.iterations,
            seed=self.seed,
            workers=workers,
            store=self.store,
            progress=progress,
            **ladder,
        )

    def floor(self, place: Place, waterfall: float, strata: Strata | None = None) -> Plan[Floor | None]:
        """The rate that the listed absorbing sets add to the `waterfall` at a place; None without sets.

        `strata` are the strata of error weight from which the waterfall follows, if there are any.
        """
        error_rate = place.task.decision_error_rate
        if self.traps is None or not error_rate or self.goal.method == "direct":
            return None
        channel = json.loads(place.task.spec_json)["channel"]
        if "hard" in channel or ("cells" in channel and place.level == 1):
            channel = {"hard": {"rber": error_rate}}
        # Errors here are wrong decisions. A soft level has fewer of them than raw bit errors, as an LLR may be 0.
        lowest = round(strata.lowest * error_rate / place.rber) if strata and strata.measured else None
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
        """The place of one boundary between two Gaussian states, at a raw bit error rate."""
        self._check_level(level)
        if level == 1:
            return Place(self.task({"hard": {"rber": rber}}), 1, rber)
        return Place(self.task({"gaussian": {"rber": rber, "level": level, "placement": placement}}), level, rber)

    def aged(self, level: int, pe_cycles: int, retention_days: float, reading: dict[str, Any]) -> Place:
        """The place of cells at an age; `reading` says which cells, and how they are read."""
        self._check_level(level)
        age = {"pe_cycles": pe_cycles, "retention_hours": HOURS_PER_DAY * retention_days, "level": level}
        task = self.task({"cells": {**age, **reading}})
        assert task.raw_error_rate is not None
        return Place(task, level, task.raw_error_rate, pe_cycles, retention_days)

    def describe(self) -> dict[str, Any]:
        """Inputs of the measurement; ready for JSON."""
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

    def plan(self) -> dict[str, Any]:
        """The entry of a campaign in a store: its description, and a hash that distinguishes matrices of one name."""
        return {**self.describe(), "hard_task": self.hard.identity}

    def _check_level(self, level: int) -> None:
        if self._bch and level > 1:
            raise ConfigError(
                f"levels: found {level} for {self.code.name}, expected 1: a BCH code takes only hard decisions"
            )

    def plans(self, places: Sequence[Place]) -> list[Plan[list[dict[str, Any]]]]:
        """Plans to find the rates at these places, one plan for all places that share frames."""
        direct = self.goal.method == "direct"
        shared = [place for place in places if place.level == 1 and not direct]
        each = [self.descent([place]) for place in places if place.level > 1 or direct]
        return [self.hard_points(shared), *each] if shared else each

    def automatic_plans(
        self, levels: Sequence[int], placement: str | dict[str, Any]
    ) -> list[Plan[list[dict[str, Any]]]]:
        """Plans to find the rates of these levels, each across its own waterfall."""
        return [self._automatic(level, placement) for level in levels]

    def hard_points(self, places: Sequence[Place]) -> Plan[list[dict[str, Any]]]:
        """Rates of hard decisions: one series of strata for all places, or the binomial tail."""
        if self._bch and self.goal.method in ("auto", "analytic"):
            return [self._analytic(place) for place in places]
        strata = yield from self._hard_strata([place.rber for place in places])
        return (yield from self._hard_points(places, strata))

    def _hard_points(self, places: Sequence[Place], strata: Strata) -> Plan[list[dict[str, Any]]]:
        if not strata.frames:
            return []
        if not self._bch:
            # One unit each, for the mean iterations.
            yield Round([Request(place.task, None, 1) for place in places])
        points = []
        for place in places:
            point = yield from self._by_weight(place, strata)
            points.append(point)
        return points

    def _hard_strata(self, rbers: Sequence[float]) -> Plan[Strata]:
        guess = 0.65 * self.code.shannon_limit * self.code.codeword_bits
        # One series for all points may take as many frames as all of them together.
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
        """Rates from high raw bit error rates down, until a rate cannot be found or is below `goal.down_to`."""
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
        # The first rate below the goal closes the curve.
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
