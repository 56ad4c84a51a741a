"""Calibration: a posterior of the parameters of a drive, from what it did under load, by simulating it again and again.

There is no formula for the latency of a read behind a program that rests behind a collection; there is a simulator. So
its likelihood is inferred. Points spread over the prior are simulated under all loads; an ensemble of them closes in
on what was measured; a search goes on from the best to where the loads are explained; an emulator learns what is
there, and points of its posterior are simulated, from which it learns again. What neither simulator nor emulator
explains is a part of the likelihood, and becomes an error of each kind of quantity.

Source: M. Kennedy, A. O'Hagan, "Bayesian calibration of computer models", J. R. Statist. Soc. B 63(3), 2001 (the error
of the model beside its parameters); N. Hansen, A. Ostermeier, "Completely derandomized self-adaptation in evolution
strategies", Evol. Comput. 9(2), 2001 (the search: CMA-ES); G. Papamakarios, D. Sterratt, I. Murray, "Sequential neural
likelihood", AISTATS 2019 (to simulate where the posterior is, and learn again).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import ConfigError, StopFlag
from softsense.api import load_config
from softsense.base import Progress, check_extra
from softsense.calibration.assimilated import assimilated
from softsense.calibration.measured import Load, Measured
from softsense.calibration.parameters import Space
from softsense.calibration.posterior import Posterior, sample
from softsense.calibration.simulated import Effort, simulate
from softsense.calibration.target import GROUPS, PRIOR_ERROR, Target
from softsense.executing import chosen_workers
from softsense.latin_hypercube import LatinHypercube, Range
from softsense.runner import run_units
from softsense.store import Store

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

_MODEL = 2
_HOPELESS = math.log(1.3)
_STEP = 0.1
"""Standard deviation of the first generation of the search, in the unit cube."""


@dataclass(frozen=True)
class Plan:
    """How much is simulated.

    Attributes:
        first: points spread over the prior, a Latin hypercube.
        assimilations: of an ensemble, which closes in on what was measured.
        ensemble: points of it.
        generations: of the search from the best of them.
        population: points of a generation.
        batches: of points of the posterior, from which the emulator learns.
        batch: points of each of them.
        drawn: points of the posterior at which all loads are predicted.
        effort: of each load of a point.
    """

    first: int = 128
    assimilations: int = 5
    ensemble: int = 72
    generations: int = 20
    population: int = 14
    batches: int = 2
    batch: int = 40
    drawn: int = 12
    effort: Effort = field(default_factory=Effort)

    @property
    def points(self) -> int:
        """That are simulated in all, those of the predictions included."""
        searched = self.assimilations * self.ensemble + self.generations * self.population
        return self.first + searched + self.batches * self.batch + self.drawn + 1


QUICK = Plan(48, 2, 32, 1, batches=1, batch=16, drawn=4, effort=Effort(1_000, 50_000, 2.0))
"""To see whether files are right: intervals are wide, and the search is not at its end."""


@dataclass(frozen=True)
class Calibration:
    """What measurements under load tell of a drive.

    Attributes:
        space: the parameters, and what was measured.
        samples: of the posterior, in the unit cube (samples, size).
        errors: of the model, by group: standard deviation of a logarithm, samples (samples, groups).
        best: the simulated point that is most probable, in the unit cube.
        simulated: for each load, in order, and each quantity: `best`, at the best point, and `drawn`, at some of the
            samples.
        emulator_off: how far the emulator is off from the simulator where it was not fitted: standard deviation of a
            logarithm, by group.
        points: that were simulated.
        seed: of the samplers and of the simulations.
    """

    space: Space
    samples: NDArray[np.float64]
    errors: NDArray[np.float64]
    best: NDArray[np.float64]
    simulated: tuple[dict[str, dict[str, Any]], ...]
    emulator_off: dict[str, float]
    points: int
    seed: int


class _StoppedError(Exception):
    """Ctrl-C: the store has what was finished."""


def calibrate(
    measured: Measured,
    *,
    plan: Plan | None = None,
    seed: int = 1,
    workers: int | Executor | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Calibration | None:
    """Fit a drive to what was measured of it under load.

    Args:
        measured: of `read_measured`; its held-out loads are predicted, and not looked at.
        plan: how much is simulated.
        seed: the same seed gives the same result, on any number of workers.
        workers: threads, or an executor; default: a thread for each CPU.
        store: keeps what was simulated; a calibration goes on from it.
        progress: called with a name, points done, and their fraction.

    Returns the calibration, or None after Ctrl-C, when the store has what was finished.

    Raises:
        ConfigError: no point of the prior could be simulated; or a library is missing that `softsense[fit]` brings.
    """
    check_extra("calibrate", "fit")
    plan, store, workers = plan or Plan(), store or Store(), chosen_workers(workers)
    space, target = Space.of(measured), Target.of(measured.fitted)
    done = 0

    def simulated(points: NDArray[np.float64], name: str, effort: Effort, *, all_loads: bool = False) -> list[Any]:
        nonlocal done
        loads = measured.loads if all_loads else measured.fitted

        def report(_: str, count: int, __: float) -> None:
            if progress:
                progress(name, done + count, (done + count) / plan.points)

        work = _Work(measured, loads, points, effort, seed, all_loads)
        found = run_units(store, workers, work, len(points), name, report)
        if found is None:
            raise _StoppedError
        done += len(points)
        return found

    def off(points: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        found = simulated(points, name, plan.effort)
        if all("error" in each for each in found):
            raise ConfigError(f"{measured.base}: no drive near it could be simulated: {found[0]['error']}")
        return np.array([target.off(each) for each in found])

    try:
        seen = _searched(space, target, plan, seed, off)
        posterior = sample(seen.points, seen.off, target, seed)
        for number in range(plan.batches):
            batch = posterior.some(plan.batch, seed + number)
            seen = seen.and_also(batch, off(batch, "learning what is near"))
            posterior = sample(seen.points, seen.off, target, seed + number + 1)
        # The most probable point by what was simulated, and not by what was emulated.
        best = seen.points[int(np.argmax(target.density(seen.off, np.median(posterior.errors, axis=0))))]
        last = np.concatenate([best[None], posterior.some(plan.drawn, seed + plan.batches)])
        careful = replace(plan.effort, seen=2 * plan.effort.seen, most=2 * plan.effort.most)
        found = simulated(last, "predicting all loads", careful, all_loads=True)
    except _StoppedError:
        return None
    return Calibration(
        space,
        posterior.samples,
        posterior.errors,
        best,
        _by_load(measured.loads, found),
        _emulator_off(posterior, target),
        len(seen.points),
        seed,
    )


@dataclass(frozen=True)
class _Seen:
    """Points that were simulated, and by how much the logarithms of their quantities are off."""

    points: NDArray[np.float64]
    off: NDArray[np.float64]

    def and_also(self, points: NDArray[np.float64], off: NDArray[np.float64]) -> _Seen:
        return _Seen(np.concatenate([self.points, points]), np.concatenate([self.off, off]))


def _searched(
    space: Space,
    target: Target,
    plan: Plan,
    seed: int,
    off: Callable[[NDArray[np.float64], str], NDArray[np.float64]],
) -> _Seen:
    """Points of the prior and of a search from the best of them, and by how much they are off."""
    from cmaes import CMA

    names = [each.name for each in space.parameters]
    drawn = LatinHypercube(plan.first, dict.fromkeys(names, Range(0.0, 1.0)), seed).draw()
    points = np.array([[row[name] for name in names] for row in drawn])
    seen = _Seen(points, off(points, "looking everywhere"))
    ensemble = seen
    random = np.random.default_rng([seed, 43])
    for _ in range(plan.assimilations):
        points = assimilated(ensemble.points, ensemble.off, target, plan.assimilations, random)[: plan.ensemble]
        ensemble = _Seen(points, off(points, "closing in"))
        seen = seen.and_also(ensemble.points, ensemble.off)
    best = seen.points[int(np.argmax(target.density(seen.off, PRIOR_ERROR)))]
    bounds = np.tile([0.0, 1.0], (space.size, 1))
    search = CMA(mean=best, sigma=_STEP, bounds=bounds, seed=seed, population_size=plan.population)
    for _ in range(plan.generations):
        batch = np.array([search.ask() for _ in range(plan.population)])
        of_batch = off(batch, "searching")
        search.tell(list(zip(batch, (-target.density(of_batch, PRIOR_ERROR)).tolist(), strict=True)))
        seen = seen.and_also(batch, of_batch)
    return seen


def _emulator_off(posterior: Posterior, target: Target) -> dict[str, float]:
    error = posterior.emulator.error
    return {
        name: float(np.sqrt(np.mean(error[target.groups == number] ** 2)))
        for number, name in enumerate(GROUPS)
        if (target.groups == number).any()
    }


def _by_load(loads: Sequence[Load], found: Sequence[dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], ...]:
    rows = []
    for number, load in enumerate(loads):
        of_best, *of_drawn = [each["loads"][number] if "loads" in each else {} for each in found]
        rows.append(
            {
                name: {"best": of_best.get(name), "drawn": [each[name] for each in of_drawn if name in each]}
                for name in load.measured
            }
        )
    return tuple(rows)


@dataclass(frozen=True)
class _Work:
    """The simulation of points under loads, as units of `run_units`: pickles."""

    measured: Measured
    loads: tuple[Load, ...]
    points: NDArray[np.float64]
    effort: Effort
    seed: int
    all_loads: bool

    @property
    def identity(self) -> str:
        """A hash of all that the results depend on: that of the config to begin with has the model's version and the
        content of tables.
        """
        space = Space.of(self.measured)
        told = [
            *(_MODEL, self.measured.user_bytes, load_config(self.measured.base, self.measured.settings).sha256),
            [[repr(load.jobs), load.filled, dict(load.measured)] for load in self.loads],
            [space.values(point) for point in self.points],
            [*astuple(self.effort), self.seed, self.all_loads],
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def run(self, unit: int, stop: StopFlag | None = None) -> Any:
        """What a point has under each load; `error`, where there is no such drive; None if stopped."""
        space = Space.of(self.measured)
        values = space.values(self.points[unit])
        rows: list[dict[str, float]] = [{} for _ in self.loads]
        try:
            device = space.device(values, whole=False)
            for number in self._order():
                if (row := simulate(device, self.loads[number], self.effort, self.seed, stop)) is None:
                    return None
                rows[number] = row
                if not self.all_loads and _is_hopeless(row, self.loads[number]):
                    break
        except ConfigError as error:
            return {"error": str(error)}
        return {"loads": rows}

    def _order(self) -> list[int]:
        """The load with most writes first: a drive that writes far too fast or too slowly need not do more."""
        return sorted(range(len(self.loads)), key=lambda number: -self.loads[number].measured.get("write_iops", 0.0))


def _is_hopeless(row: Mapping[str, float], load: Load) -> bool:
    """Whether a drive has another rate of writes altogether."""
    measured = load.measured.get("write_iops")
    return measured is not None and abs(math.log(row.get("write_iops", 1e-9) / measured)) > _HOPELESS
