"""From a matrix to an entry of the board: what each method says of each failure rate, within a budget.

Each read level begins with the raw bit error rate at which a few frames of a hundred fail. A trial of splitting goes
from there down to the last target, and says where each target lies. All methods then measure at these places: splitting
with more runs and patterns, frames as they come, and error weights with the floor of the listed sets.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Sequence
from typing import Any

from softsense import codes
from softsense._core import Code, CodeError, FrameTask, build_info, placement_json
from softsense.base import Interrupted, Progress
from softsense.board import planning, verdicts
from softsense.board.budgets import Budget
from softsense.board.entries import FORMAT, sealed
from softsense.board.matrices import Matrix, invariant
from softsense.board.planning import BoardPlan, LevelPlan
from softsense.campaign import measure_fer
from softsense.campaign.judge import with_floor
from softsense.splitting import SplitResult, split
from softsense.store import Store, opened_store
from softsense.traps import Traps, find_traps

_RELATIVE_ERROR, _NEVER = 0.2, 1e-3
_PLACEMENT = "mutual_information"
_SEARCH_STEPS = 7
_AIM = 1.5
"""Places are sought a little above their targets, so that frames that are counted there fail often enough."""
_REACHES = (0.8, 0.6, 0.4, 0.2, 0.08, 0.03, 0.01, 0.003)
"""Raw bit error rates, over that of the start, down to which the first trial looks for targets."""
_TRIES, _CLOSE, _NEAR, _LEAST_SLOPE = 3, 3.0, 8.0, 1.0
_HIGHEST = 4.0
"""Soft levels fail a few times in a hundred at no more than so many times the raw bit error rate of hard decisions."""
_BENCH_SHARE, _MOST_BENCH_S = 0.02, 3.0


def measure_entry(
    matrix: Matrix,
    *,
    decoder: str = "min-sum",
    budget: float = 5.0,
    patience: float = 1.0,
    levels: Sequence[int] = planning.LEVELS,
    workers: int = 1,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure a matrix, and return its entry, ready for JSON.

    The plan follows from matrix, decoder and budget (`planning.plan_of`); all frames have a seed that follows from the
    matrix. So the entry is the same for any workers and for a run that was resumed from its store, but for `cost` and
    `throughput`, unless the budget ends early on a slow machine: `cost.short` then lists what is missing.

    Args:
        matrix: the matrix.
        decoder: a decoder that softsense has, as `Code.decoder` takes it; a BCH code ignores it.
        budget: the most core-minutes to spend.
        patience: the budget as a limit of time, times this: a slower machine needs more for the same plan.
        levels: read levels, of 1, 3 and 7; 1 is always measured.
        workers: threads.
        store: a store or its file: counts are kept there, and an interrupted measurement goes on from it.
        progress: called now and then.

    Raises:
        SoftsenseError: an option, the matrix or the store is wrong.
        Interrupted: Ctrl-C; the store keeps every count. Its `result` is None: half an entry is none.

    >>> from softsense.board import made_matrix, measure_entry
    >>> from softsense.board.published import construction
    >>> entry = measure_entry(made_matrix(construction("bch-1939-t29")), budget=0.1)
    >>> entry["code"]["codeword_bits"], [target["proved"] for target in entry["levels"]["1"]["targets"]]
    (1939, [True, True, True, True])
    """
    code = matrix.code
    asked = (1,) if code.kind == "bch" else tuple(sorted({1, *levels}))
    plan = planning.plan_of(code, matrix.seed, budget, decoder, asked)
    if code.kind == "ldpc":
        code.decoder(plan.decoder, plan.iterations)
    told = plan.to_dict()
    with opened_store(store) as kept, kept.doing(what="board entry", matrix=matrix.identity, plan=told):
        spending = Budget(60 * budget * patience, kept, f"{matrix.identity} {told}", progress)
        try:
            parts = _Parts(matrix, plan, kept, workers, spending)
            found = parts.all()
        except KeyboardInterrupt:
            raise Interrupted(None) from None
    build = build_info()
    return sealed(
        {
            "format": FORMAT,
            "name": matrix.name,
            "matrix": {
                "file": matrix.file,
                "licence": matrix.licence,
                "identity": matrix.identity,
                "invariant": found.pop("invariant"),
                "redundant_checks": redundant_checks(code),
            },
            **found,
            "plan": told,
            "cost": {
                "core_minutes": round(spending.spent / 60, 3),
                "parts_core_seconds": {name: round(seconds, 2) for name, seconds in spending.parts.items()},
                "short": spending.short,
            },
            "softsense": {"version": build["version"], "model_version": build["model_version"]},
        }
    )


def redundant_checks(code: Code) -> int:
    """The number of checks of a matrix that follow from others."""
    return 0 if code.kind == "bch" else code.checks - (code.codeword_bits + code.punctured_bits - code.data_bits)


class _Parts:
    """The parts of a measurement."""

    def __init__(self, matrix: Matrix, plan: BoardPlan, store: Store, workers: int, budget: Budget) -> None:
        self._matrix, self._code, self._plan = matrix, matrix.code, plan
        self._store, self._workers, self._budget = store, workers, budget
        self._traps: Traps | None = None

    def all(self) -> dict[str, Any]:
        """Everything of an entry but its frame."""
        code, run = self._code, self._budget.run
        facts = run("graph", lambda _: codes.describe(code, thresholds=False, cycles=True)) or {}
        facts.pop("name", None)
        found: dict[str, Any] = {"code": facts, "invariant": run("invariant", lambda _: invariant(code))}
        if code.kind == "bch":
            found |= {"sets": None, "levels": {"1": self._bch()}}
        else:
            found |= {"sets": self._sets(), "levels": {}}
            low, high = 0.97 * code.shannon_limit / _HIGHEST, 0.97 * code.shannon_limit
            for level in self._plan.levels:
                found["levels"][str(level)], start = self._level(level, low, high)
                if level == 1 and start:
                    low, high = start, min(0.4, _HIGHEST * start)
        found["limits"] = self._limits()
        first = found["levels"]["1"]["targets"][0]
        found["circuit"] = self._circuit(first)
        found["throughput"] = run("throughput", lambda _: self._throughput(first))
        return found

    def _fer(self, part: str, rber: Sequence[float], level: int, **options: Any) -> dict[float, dict[str, Any]]:
        """Points of `measure_fer` by raw bit error rate; none if the budget ends meanwhile."""
        plan = self._plan
        given: dict[str, Any] = {
            "levels": [level], "decoder": "min-sum" if plan.decoder == "BCH" else plan.decoder,
            "iterations": plan.iterations, "seed": plan.seed, "relative_error": _RELATIVE_ERROR, "traps": None,
            "workers": self._workers, "store": self._store,
        }  # fmt: skip
        given |= options
        found = self._budget.run(part, lambda follow: measure_fer(self._code, [*rber], progress=follow, **given))
        return {point["rber"]: point for point in found.points} if found else {}

    def _sets(self) -> dict[str, Any]:
        """Absorbing sets, up to the number of bits with which they become many."""

        def search(follow: Progress) -> Traps:
            bits = 4
            while True:
                traps = find_traps(
                    self._code, most_bits=bits, workers=self._workers, store=self._store, progress=follow
                )
                orbits = sum(each["orbits"] for each in traps.classes)
                # A matrix without circulants has as many orbits as sets.
                per_size = self._code.circulant_size or 64
                if orbits > self._plan.most_orbits * (64 / min(per_size, 64)) or bits >= self._most_bits():
                    return traps
                bits += 1

        self._traps = self._budget.run("sets", search)
        if self._traps is None:
            return {"searched_to_bits": 0, "classes": []}
        return {"searched_to_bits": self._traps.most_bits, "classes": self._traps.classes}

    def _most_bits(self) -> int:
        """Bits to which sets are searched for: fewer where many edges make the search long."""
        edges = len(self._code.edges()[0]) / (self._code.circulant_size or 1)
        return min(self._plan.most_bits, 4 if edges > 1500 else 5 if edges > 250 else 6)

    def _bch(self) -> dict[str, Any]:
        n, t = self._code.codeword_bits, self._code.correctable
        places = {target: codes.raw_bit_error_rate(n, t, target) for target in planning.TARGETS}
        analytic = self._fer("analytic", list(places.values()), 1, method="analytic")
        frames = self._plan.levels[1].weight_frames // len(places)
        weights = self._fer("by weight", list(places.values()), 1, method="weight", frames=frames)
        targets = []
        for target, rber in places.items():
            methods = [verdicts.by_analysis(analytic[rber]["fer"])] if rber in analytic else []
            methods += [verdicts.by_weight(weights[rber])] if rber in weights else []
            # Failures that are rare come from t + 1 errors.
            targets.append(verdicts.verdict(target, rber, t + 1, methods))
        return {"curve": [[rber, target] for target, rber in places.items()], "targets": targets}

    def _level(self, level: int, low: float, high: float) -> tuple[dict[str, Any], float | None]:
        """The targets of a read level, and its start between two raw bit error rates."""
        plan = self._plan.levels[level]
        start = self._start(level, low, high) if plan.targets else None
        rungs, curve = self._splitting(level, start, self._places(level, start, plan)) if start else ({}, [])
        places = {target: here["rber"] for target, (_, here) in rungs.items()}
        methods = {target: self._counted(level, target, rber, plan) for target, rber in places.items()}
        floors = {"traps": self._traps, "floor_frames": plan.floor_frames} if self._traps else {}
        given = {"method": "weight", "frames": plan.weight_frames, "down_to": planning.TARGETS[-1], **floors}
        weights = self._fer(f"level {level}, by weight", list(places.values()), level, **given) if places else {}
        targets = []
        for target in planning.TARGETS:
            if target not in places:
                targets.append(verdicts.unmeasured(target, self._why_not(target, plan)))
                continue
            above, here = rungs[target]
            point = weights.get(here["rber"])
            told = (
                [verdicts.by_splitting(*rate, planning.RUNS)] if (rate := self._with_sets(level, here, point)) else []
            )
            told += [*methods[target], *([verdicts.by_weight(point)] if point else [])]
            targets.append(verdicts.verdict(target, here["rber"], _slope(above, here), told))
        return {"curve": curve, "targets": targets}, start

    def _counted(self, level: int, target: float, rber: float, plan: LevelPlan) -> list[verdicts.Method]:
        """The rate of a target as its frames come, if the plan has it."""
        if target not in plan.counted_frames:
            return []
        # All frames count: to stop when many have failed would favour counts that are high by chance.
        given = {"method": "direct", "frames": plan.counted_frames[target], "relative_error": _NEVER}
        counted = self._fer(f"level {level}, counted at {target:g}", [rber], level, **given)
        return [verdicts.by_counting(point) for point in counted.values()]

    def _why_not(self, target: float, plan: LevelPlan) -> str:
        if target not in plan.targets:
            return verdicts.TOO_SMALL
        return verdicts.ENDED if self._budget.short else verdicts.NOT_REACHED

    def _start(self, level: int, low: float, high: float) -> float | None:
        """A raw bit error rate at which about as many frames fail as splitting starts with, by bisection."""
        few: dict[str, Any] = {"method": "direct", "frames": 1, "relative_error": 1.0}
        for step in range(_SEARCH_STEPS):
            middle = math.sqrt(low * high)
            found = self._fer(f"level {level}, start {step + 1}", [middle], level, **few)
            if not found:
                return None
            low, high = (low, middle) if found[middle]["fer"] > planning.START else (middle, high)
        return _rounded(math.sqrt(low * high))

    def _places(self, level: int, start: float, plan: LevelPlan) -> dict[float, float]:
        """The raw bit error rate of each target, by trials of splitting; targets that they do not reach are absent.

        At a soft level a trial has the references of its last rung. So each target has trials of its own there, which
        begin where the first trial says that it is.
        """
        told: list[dict[str, Any]] = []
        for reach in _REACHES:
            told = self._trial(level, start, _rounded(reach * start))
            if not told:
                return {}
            if told[-1]["fer"] < plan.targets[-1]:
                break
        found = {target: _crossing(told, _AIM * target) for target in plan.targets}
        places = {target: rber for target, rber in found.items() if rber}
        for target in places if level > 1 else ():
            for _ in range(_TRIES):
                told = self._trial(level, start, places[target])
                if not told:
                    return {}
                above, here = told[-2:]
                places[target] = _moved(target, above, here, start)
                if _within(target, here, _CLOSE):
                    break
        return places

    def _trial(self, level: int, start: float, rber: float) -> list[dict[str, Any]]:
        """The rungs of a trial of splitting; none if the budget ends."""
        sizes = planning.TRIAL_RUNS, planning.TRIAL_PARTICLES, planning.TRIAL_STEPS
        found = self._split(f"level {level}, trial to {rber:g}", level, [start, rber], *sizes)
        return found.points if found else []

    def _splitting(
        self, level: int, start: float, places: dict[float, float]
    ) -> tuple[dict[float, tuple[dict[str, Any], dict[str, Any]]], list[list[float]]]:
        """For each target the rung at its place with the one above it, and the rungs of a curve.

        One ladder has all places of hard decisions. At a soft level each place has its own, whose references it is. A
        ladder whose rates are far from their targets is climbed once more, at places that follow from it.
        """
        found: dict[float, tuple[dict[str, Any], dict[str, Any]]] = {}
        curve: list[list[float]] = []
        for targets in [list(places)] if level == 1 else [[target] for target in places]:
            for again in (False, True):
                rates = [start, *(places[target] for target in targets)]
                part = f"level {level}, splitting to {rates[-1]:g}"
                sizes = planning.RUNS, planning.PARTICLES, planning.STEPS
                told = self._split(part, level, rates, *sizes) if len(rates) > 1 else None
                if told is None:
                    break
                points = told.points
                at = {point["rber"]: pair for pair in itertools.pairwise(points) for point in pair[1:]}
                rungs = {target: at[places[target]] for target in targets}
                far = [target for target in targets if not _within(target, rungs[target][1], _NEAR)]
                if again or not far:
                    found |= rungs
                    curve += [[point["rber"], point["fer"]] for point in (points if level == 1 else points[-1:])]
                    break
                places = places | {target: _moved(target, *rungs[target], start) for target in far}
        return found, curve

    def _with_sets(self, level: int, rung: dict[str, Any], point: dict[str, Any] | None) -> tuple[float, float] | None:
        """A rate by splitting with that of chains from the listed sets, and its relative error."""
        told: tuple[float, float] | None = rung["fer"], rung["fer"] * rung["relative_error"]
        if point and rung["fer"] < planning.RARE:

            def walk(follow: Progress) -> tuple[float, float]:
                task = self._task(level, rung["rber"])
                found = with_floor(rung, point, task, self._traps, self._store, planning.WALKS, self._workers, follow)
                if found is None:
                    raise KeyboardInterrupt
                return found

            told = self._budget.run(f"level {level}, chains at {rung['rber']:g}", walk)
        return (told[0], told[1] / told[0]) if told and math.isfinite(told[0]) else None

    def _task(self, level: int, rber: float) -> FrameTask:
        plan = self._plan
        channel: dict[str, Any] = {"hard": {"rber": None}}
        if level > 1:
            standing = json.loads(placement_json(_PLACEMENT))
            channel = {"gaussian": {"rber": rber, "level": level, "placement": standing}}
        spec = {"decoder": plan.decoder, "iterations": plan.iterations, "seed": plan.seed, "channel": channel}
        return FrameTask(self._code, json.dumps(spec))

    def _split(
        self, part: str, level: int, rates: Sequence[float], runs: int, particles: int, steps: int
    ) -> SplitResult | None:
        """Splitting through some rates; None if the budget ends meanwhile."""
        plan = self._plan
        found = self._budget.run(
            part,
            lambda follow: split(
                self._code, rates, level=level, runs=runs, particles=particles, steps=steps, placement=_PLACEMENT,
                decoder=plan.decoder, iterations=plan.iterations, seed=plan.seed, workers=self._workers,
                store=self._store, progress=follow,
            ),
        )  # fmt: skip
        if found is not None and found.interrupted:
            raise KeyboardInterrupt
        return found

    def _limits(self) -> list[dict[str, Any]]:
        """For each level and target the rate of the best codes, and the rate at which capacity equals the code rate."""
        code = self._code
        rows = []
        for level in self._plan.levels:
            row: dict[str, Any] = {
                "level": level,
                "capacity_rber": float(f"{codes.rber_at_capacity(code.rate, level):.6g}"),
            }
            row["normal_approximation"] = {
                f"{target:g}": codes.limit(code.codeword_bits, code.data_bits, fer=target, level=level)
                for target in planning.TARGETS
            }
            rows.append(row)
        return rows

    def _circuit(self, first: dict[str, Any]) -> dict[str, Any] | None:
        """Gates, area and energy of decoders that reach the data rate of the board, by the model of circuits."""
        means = [method["mean_iterations"] for method in first["methods"] if method["method"] == "counted"]
        if self._code.kind == "ldpc" and not means:
            return {"why_not": "no frames were counted at 1e-4, so the number of iterations is unknown"}
        iterations = math.ceil(means[0]) if means else 1
        try:
            least = codes.hardware_at_equal_rate(
                [self._code], planning.GBPS, node_nm=planning.NODE_NM, iterations=iterations
            )[0]
            names = ("checks_per_cycle", "syndrome_bits_per_cycle", "search_bits_per_cycle", "key_equation_multipliers")
            parallel = {name: least[name] for name in names if name in least}
            one = codes.hardware(self._code, node_nm=planning.NODE_NM, iterations=iterations, **parallel)["decoder"]
        except (CodeError, ValueError) as error:
            return {"why_not": str(error)}
        least.pop("code")  # the name of a file, with its folder
        told = {"gates": least["decoders"] * one["gates"], "memory_bits": least["decoders"] * one["memory_bits"]}
        return {"iterations": iterations, **least, **told}

    def _throughput(self, first: dict[str, Any]) -> dict[str, Any] | None:
        """The data rate of the decoder on this machine, one thread, where one frame of ten thousand fails."""
        if not first["rber"]:
            return None
        seconds = min(_MOST_BENCH_S, _BENCH_SHARE * 60 * self._plan.budget_core_minutes)
        decoder = "min-sum" if self._plan.decoder == "BCH" else self._plan.decoder
        told = codes.bench(
            self._code, f"bsc:{_rounded(first['rber'])}", decoder=decoder, iterations=self._plan.iterations,
            seconds=seconds, seed=self._plan.seed,
        )  # fmt: skip
        return {
            "mbps": told["user_mbps"],
            "channel": told["channel"],
            "instruction_set": build_info()["instruction_set"],
        }


def _rounded(rber: float) -> float:
    return float(f"{rber:.4g}")


def _slope(above: dict[str, Any], here: dict[str, Any]) -> float:
    """The derivative d ln FER / d ln RBER between two rungs, at least a little: noise may hide it."""
    return max(math.log(above["fer"] / here["fer"]) / math.log(above["rber"] / here["rber"]), _LEAST_SLOPE)


def _within(target: float, here: dict[str, Any], factor: float) -> bool:
    """Whether a rung's rate is within a factor of the one at which a target is measured."""
    return abs(math.log(_AIM * target / here["fer"])) < math.log(factor)


def _moved(target: float, above: dict[str, Any], here: dict[str, Any], start: float) -> float:
    """The place of a target along the slope of two rungs, below the start."""
    apart = _AIM * target / here["fer"]
    return min(_rounded(here["rber"] * apart ** (1 / _slope(above, here))), 0.99 * start)


def _crossing(points: Sequence[dict[str, Any]], fer: float) -> float | None:
    """The raw bit error rate at which falling rungs cross a frame error rate, between logarithms."""
    for high, low in itertools.pairwise(points):
        if low["fer"] <= fer <= high["fer"] and low["fer"] < high["fer"]:
            part = math.log(fer / low["fer"]) / math.log(high["fer"] / low["fer"])
            return _rounded(low["rber"] * (high["rber"] / low["rber"]) ** part)
    return None
