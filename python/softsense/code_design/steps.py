"""The steps of a design: prediction, matrices, absorbing sets, measurement."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from softsense._core import AbsorbingSets, Code, CodeError, StopFlag, Waterfall, code_profiles, code_shapes
from softsense.base import Interrupted, Progress, ShardDone
from softsense.formats import as_column_weights
from softsense.runner import all_of, run_units
from softsense.store import Store

if TYPE_CHECKING:
    from softsense.campaign import FerResult
    from softsense.floors import Floor
    from softsense.traps import Traps

MEASURED_AT = (1e-2, 1e-3)
"""Predicted frame error rates at which the best candidate is measured; all others are measured at the same places."""

FEWEST_FAILURES = 10
"""Least number of failures of a point that moves a prediction."""

FEWEST_ROWS = 6
"""Least number of block rows of a shape where no circulant sizes are asked for."""

_USUAL_SHAPES = 2
_FEWEST_SEARCHED = 2
FLOOR_FRAMES = (2**13, 2**18)
"""Frames that a floor may cost when one of some matrices is chosen: the second number where the first finds no floor
that matters.
"""
_NEGLIGIBLE = 0.1
_VERSION = 1

Shape = tuple[int, int, int]
"""Circulant size (bits), block rows, block columns."""

Runs = list[tuple[int, int]]
"""Column weights as pairs of weight and number of block columns, the parity part last."""


def shapes_of(data_bits: int, parity_bits: int, sizes: Sequence[int] | None) -> list[Shape]:
    """The shapes with these circulant sizes; for None, the usual shapes."""
    shapes = code_shapes(data_bits, parity_bits, None if sizes is None else list(sizes))
    if sizes is not None:
        return shapes
    return [shape for shape in shapes if shape[1] >= FEWEST_ROWS][:_USUAL_SHAPES] or shapes[:1]


@dataclass(frozen=True)
class Reading:
    """The reading and decoding of codewords, and how often decoding may fail.

    Attributes:
        targets: allowed frame error rate of each read level; that of the last level is the target.
        decoder: a decoder as `Code.decoder` takes it.
        iterations: number of iterations after which the decoder gives up.
    """

    targets: dict[int, float]
    decoder: str
    iterations: int

    @property
    def level(self) -> int:
        """The deepest level."""
        return max(self.targets)

    @property
    def fer(self) -> float:
        """The frame error rate that the deepest level may have."""
        return self.targets[self.level]


@dataclass(frozen=True)
class Profile:
    """Column weights of a shape, and the raw bit error rate at which they are predicted to fail as often as is allowed.

    Attributes:
        memory: memory of a chain, in block rows; None for any other code.
        punctured: number of block columns, the last ones, that are not sent. They are not among those of the shape.
        threshold: threshold of the deepest level.
        rber: the highest raw bit error rate at which no level fails more often than it may.
        limiting_level: the level that fails as often as it may there.
    """

    shape: Shape
    family: str
    runs: Runs
    memory: int | None
    punctured: int
    threshold: float
    rber: float
    limiting_level: int

    @property
    def weights(self) -> list[int]:
        """The weight of each block column."""
        return [weight for weight, count in self.runs for _ in range(count)]


@dataclass(frozen=True)
class Work:
    """The workers of a design, and the store that keeps finished work."""

    store: Store
    workers: int | Executor
    progress: Progress | None

    def units(self, task: Any, count: int, what: str) -> list[Any]:
        """The results of units 0 to `count` - 1 of a task; raises `Interrupted` after Ctrl-C."""
        found = run_units(self.store, self.workers, task, count, what, self.progress)
        if found is None:
            raise Interrupted(None)
        return found


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(["code design", _VERSION, *parts]).encode()).hexdigest()


class PredictTask:
    """Predictions of column weights by density evolution, one a unit."""

    def __init__(
        self, profiles: list[tuple[Shape, Runs, int | None, int]], targets: list[tuple[int, float]], iterations: int
    ) -> None:
        self._of = (profiles, targets, iterations)

    def __reduce__(self) -> tuple[type[PredictTask], tuple[Any, ...]]:
        return PredictTask, self._of

    @property
    def identity(self) -> str:
        """A hash of all inputs of the results."""
        return _digest("predictions, layered", *self._of)

    def run(self, unit: int, stop: StopFlag | None = None) -> list[float] | None:
        """The threshold of the last level, and for each level the predicted raw bit error rate at its target."""
        profiles, targets, iterations = self._of
        rbers = []
        for level, fer in targets:
            if stop is not None and stop.is_set:
                return None
            found = Waterfall(*profiles[unit], level=level, iterations=iterations)
            rbers.append(found.rber(fer))
        return [found.threshold, *rbers]


class LiftTask:
    """Matrices of one list of column weights, one a unit, by seed."""

    def __init__(self, shape: Shape, weights: list[int], memory: int | None, punctured: int, first_seed: int) -> None:
        self._of = (shape, weights, memory, punctured, first_seed)

    def __reduce__(self) -> tuple[type[LiftTask], tuple[Any, ...]]:
        return LiftTask, self._of

    @property
    def identity(self) -> str:
        """A hash of all inputs of the results."""
        return _digest("matrices", *self._of)

    def run(self, unit: int, stop: StopFlag | None = None) -> dict[str, Any] | None:
        """The matrix, its girth and cycles by length and extrinsic degree; or the reason why there is none."""
        (size, rows, _), weights, memory, punctured, first_seed = self._of
        rows, seed = rows + punctured, first_seed + unit
        try:
            code = Code.construct(
                "candidate", size, rows, weights, memory=memory, punctured=punctured, seed=seed, stop=stop
            )
        except CodeError as error:
            return {"failed": str(error)}
        except KeyboardInterrupt:
            return None
        girth, spectra = code.cycles()
        return {"matrix": code.to_qc(), "girth": girth, "cycles": {str(length): of for length, of in spectra}}


def ranked(
    work: Work, shapes: list[Shape], families: Sequence[str], weights: tuple[int, int], reading: Reading
) -> list[Profile]:
    """The best column weights of each family and shape, the best first; `weights` are the lightest and the heaviest."""
    lightest, heaviest = weights
    listed = [
        (shape, family, runs, memory, punctured)
        for shape in shapes
        for family in families
        for runs, memory, punctured in code_profiles(shape, family, heaviest)
        if min(weight for weight, _ in runs) >= lightest
    ]
    if not listed:
        found = f"families: found {', '.join(families) or 'none'} with columns of {lightest} up to {heaviest}"
        raise CodeError(f"{found}, expected some that fit {shapes[0][1]} block rows")
    targets = sorted(reading.targets.items())
    of = [(shape, runs, memory, punctured) for shape, _, runs, memory, punctured in listed]
    task = PredictTask(of, targets, reading.iterations)
    told = work.units(task, len(listed), "density evolution")
    profiles = []
    for one, (threshold, *rbers) in zip(listed, told, strict=True):
        rber, limiting = min((rber, level) for rber, (level, _) in zip(rbers, targets, strict=True))
        profiles.append(Profile(*one, threshold, rber, limiting))
    best: dict[tuple[Shape, str], Profile] = {}
    for profile in profiles:
        key = (profile.shape, profile.family)
        if key not in best or profile.rber > best[key].rber:
            best[key] = profile
    # Among equals, larger circulants and fewer weights come first, as the sort is stable.
    return sorted(best.values(), key=lambda profile: -profile.rber)


@dataclass
class Candidate:
    """A matrix with its absorbing sets, predictions and measurements."""

    profile: Profile
    seed: int
    text: str
    girth: int | None
    cycles: dict[str, list[list[int]]]
    traps: Traps
    floor_bound: float
    floor: float
    floor_at_most: float
    floor_of_largest: float
    points: list[dict[str, Any]] | None = None
    measured_rber: float | None = None

    @property
    def code(self) -> Code:
        """The matrix, compiled."""
        return self.traps.code

    def row(self, reading: Reading) -> dict[str, Any]:
        """Everything, ready for JSON."""
        from softsense import codes

        decoder = codes.hardware(self.code, iterations=reading.iterations, **_widths(reading.decoder))["decoder"]
        count = {length: sum(number for _, number in self.cycles[length]) for length in ("6", "8")}
        return {
            **profile_row(self.profile),
            "column_weights": _runs_of(self.code),
            "seed": self.seed,
            "girth": self.girth,
            "six_cycles": count["6"],
            "eight_cycles": count["8"],
            "sets": self.traps.classes,
            "searched_bits": self.traps.most_bits,
            "floor_bound": self.floor_bound,
            "mm2": decoder["mm2"],
            "cycles": decoder["cycles"],
            "points": self.points,
            "measured_rber": self.measured_rber,
            "floor": self.floor,
            "floor_at_most": self.floor_at_most,
            "floor_of_largest": self.floor_of_largest,
        }


def _runs_of(code: Code) -> list[list[int]]:
    """Column weights of a base matrix as pairs of weight and number of block columns."""
    base = code.base_matrix()
    assert base is not None
    runs: list[list[int]] = []
    for weight in (base >= 0).sum(axis=0).tolist():
        if runs and runs[-1][0] == weight:
            runs[-1][1] += 1
        else:
            runs.append([weight, 1])
    return runs


def profile_row(profile: Profile) -> dict[str, Any]:
    """Column weights and their prediction, ready for JSON."""
    size, rows, columns = profile.shape
    return {
        "family": profile.family,
        "circulant_size": size,
        "rows": rows,
        "columns": columns,
        "column_weights": [list(run) for run in profile.runs],
        "memory": profile.memory,
        "punctured": profile.punctured,
        "threshold": profile.threshold,
        "rber": profile.rber,
        "limiting_level": profile.limiting_level,
    }


def _widths(decoder: str) -> dict[str, int]:
    """The widths of messages and posteriors of a decoder with tables, in bits; empty for any other decoder."""
    name, *bits = decoder.split(":")
    return dict(zip(("message_bits", "posterior_bits"), map(int, bits), strict=False)) if name == "rcq" else {}


def made_of(work: Work, profile: Profile, seed: int, seeds: int) -> list[dict[str, Any]]:
    """Matrices of some column weights, by seed, or the reasons why there are none."""
    task = LiftTask(profile.shape, profile.weights, profile.memory, profile.punctured, seed)
    return work.units(task, seeds, f"matrices of {_name(profile)}")


def _name(profile: Profile) -> str:
    return as_column_weights(profile.runs, profile.memory, profile.punctured)


def lifted(
    work: Work, number: int, profile: Profile, made: list[dict[str, Any]], seed: int, most_bits: int, reading: Reading
) -> Candidate | None:
    """The best of the matrices that were made of the column weights that are `number` in rank; None if there is none.

    Raises `ShardDone` where another shard is to find it.
    """
    of = _digest("best matrix", vars(profile), len(made), seed, most_bits, vars(reading))
    with work.store.whole(number, of) as here:
        if here:
            return _best(work, profile, made, seed, most_bits, reading)
    raise ShardDone(work.store.told())


def _best(
    work: Work, profile: Profile, made: list[dict[str, Any]], seed: int, most_bits: int, reading: Reading
) -> Candidate | None:
    """The best of the matrices that were made of some column weights; None if there is none.

    Absorbing sets are searched for in at least two matrices, those with the fewest short cycles first, until one has a
    floor that does not matter at the target's raw bit error rate. The matrix with the lowest floor is taken. Among
    floors that do not matter, the sets of the best matrix would fail least often, were all of their bits wrong.
    """
    fair = [(_cost(found["cycles"]), seed + unit, found) for unit, found in enumerate(made) if "matrix" in found]
    best: tuple[tuple[float, float, float, int], Candidate] | None = None
    matters = _NEGLIGIBLE * reading.fer
    for searched, (cost, of, found) in enumerate(sorted(fair, key=lambda each: each[:2])):
        if searched >= _FEWEST_SEARCHED and best and best[0][0] == matters:
            break
        code = Code.parse(f"{_name(profile)}, seed {of}", found["matrix"])
        traps = _traps(work, code, most_bits)
        bound = sum(float(c["sets"]) * profile.rber ** c["bits"] for c in traps.classes)
        for frames in FLOOR_FRAMES:
            floor = predicted_floor(work, code, traps, profile.rber, reading, seed, frames)
            if floor.rate > matters:
                break
        rank = (max(floor.rate, matters), bound, cost, of)
        if best is None or rank < best[0]:
            known = (traps, bound, floor.rate, floor.at_most, floor.of_bits(most_bits))
            best = rank, Candidate(profile, of, found["matrix"], found["girth"], found["cycles"], *known)
    return best[1] if best else None


def predicted_floor(
    work: Work, code: Code, traps: Traps, rber: float, reading: Reading, seed: int, frames: int
) -> Floor:
    """The rate that listed sets add to the frame error rate of the deepest level, with at most `frames` frames."""
    from softsense.campaign.plans import Campaign
    from softsense.runner import Runner
    from softsense.sampling import Goal

    goal = Goal(relative_error=0.2, down_to=reading.fer, floor_frames=frames, floor_down_to=_NEGLIGIBLE * reading.fer)
    campaign = Campaign(code, reading.decoder, reading.iterations, seed, goal, work.store, traps)
    place = campaign.gaussian(reading.level, rber, "mutual_information")
    runner = Runner(work.store, work.workers, f"floor of {code.name}", work.progress)
    (floor,) = runner.run([campaign.floor(place, reading.fer)])
    if runner.interrupted or floor is None:
        raise Interrupted(None)
    return floor


def _traps(work: Work, code: Code, most_bits: int) -> Traps:
    """The absorbing sets of a matrix. They are kept whole in the store, as even the set-up of a search takes time."""
    from softsense.traps import Traps, find_traps, matrix_identity

    identity = _digest("absorbing sets", matrix_identity(code), most_bits)
    if (kept := work.store.result(identity, 0)) is None:
        found = find_traps(
            code,
            most_bits=most_bits,
            most_violated=most_bits,
            workers=work.workers,
            store=work.store,
            progress=work.progress,
        )
        kept = {"sets": [list(trap.bits) for trap in found.list], "longest_cycle": found.longest_cycle}
        work.store.add_result(identity, 0, kept)
    return Traps(code, AbsorbingSets(code, kept["sets"]), most_bits, most_bits, kept["longest_cycle"])


def _cost(cycles: dict[str, list[list[int]]]) -> float:
    """Weighted number of short cycles, as the construction weighs them: half for each extrinsic edge, more with 6
    edges.
    """
    return sum(
        number * 2.0 ** (12 - min(extrinsic, 12) + (12 if length == "6" else 0))
        for length, spectrum in cycles.items()
        for extrinsic, number in spectrum
    )


def measure(work: Work, candidates: list[Candidate], reading: Reading, frames: int, seed: int) -> None:
    """Measure candidates at the same raw bit error rates, and their floors where they are to reach the target."""
    from softsense.campaign import measure_fer

    waterfalls = [
        {level: _waterfall(candidate, level, reading.iterations) for level in reading.targets}
        for candidate in candidates
    ]
    places = {level: [float(f"{best.rber(rate):.3g}") for rate in MEASURED_AT] for level, best in waterfalls[0].items()}

    def measured(candidate: Candidate, level: int) -> FerResult:
        deepest, fer = level == reading.level, reading.targets[level]
        return measure_fer(
            candidate.code,
            sorted({*places[level], candidate.profile.rber} if deepest else places[level]),
            levels=[level],
            decoder=reading.decoder,
            iterations=reading.iterations,
            relative_error=0.1,
            down_to=min(fer, *MEASURED_AT),
            frames=frames,
            seed=seed,
            traps=candidate.traps if deepest else None,
            floor_frames=max(frames, *FLOOR_FRAMES),
            floor_down_to=fer,
            workers=work.workers,
            store=work.store,
            progress=work.progress,
        )

    levels = sorted(reading.targets)
    results = iter(all_of(partial(measured, candidate, level) for candidate in candidates for level in levels))
    for candidate, predictions in zip(candidates, waterfalls, strict=True):
        target = candidate.profile.rber
        candidate.points, reached = [], []
        for level, fer in sorted(reading.targets.items()):
            predicted, result = predictions[level], next(results)
            moved = []
            for point in result.points:
                if point["rber"] == target and point["floor"] is not None:
                    candidate.floor, candidate.floor_at_most = point["floor"], point["floor_at_most"]
                if point["rber"] not in places[level]:
                    continue
                # A point of which a part was extrapolated does not count as a measurement.
                counts = point["complete"] and point["failures"] >= FEWEST_FAILURES and 0 < point["fer"] < 0.5
                told = {key: point[key] for key in ("level", "rber", "fer", "lo", "hi")}
                candidate.points.append(told | {"predicted": predicted.fer(point["rber"])})
                if counts:
                    moved.append(math.log(point["rber"] / predicted.rber(point["fer"])))
            if moved:
                reached.append(predicted.rber(fer) * math.exp(sum(moved) / len(moved)))
        if len(reached) == len(reading.targets):
            candidate.measured_rber = min(reached)


def _waterfall(candidate: Candidate, level: int, iterations: int) -> Waterfall:
    """The prediction for a matrix by its own column weights."""
    runs = [(weight, count) for weight, count in _runs_of(candidate.code)]
    profile = candidate.profile
    return Waterfall(profile.shape, runs, profile.memory, profile.punctured, level=level, iterations=iterations)
