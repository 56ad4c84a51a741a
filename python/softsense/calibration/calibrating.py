"""Calibration: a posterior of the parameters of a drive from measurements under load, by many simulations of the drive.

There is no formula for the latency of a read among suspended programs and collections, but there is a simulator. So
the likelihood of the measurements is inferred in four steps. Points spread over the prior are simulated under all
loads. An ensemble of them moves towards the measured quantities, and a search goes on from the best point. An emulator
is fitted to these points. Points of its posterior are simulated, and the emulator is fitted again. Differences that
neither simulator nor emulator explains are a part of the likelihood, and become an error of each kind of quantity.

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
    """The amount of simulation.

    Attributes:
        first: points spread over the prior, a Latin hypercube.
        assimilations: number of times that the ensemble is moved towards the measured quantities.
        ensemble: points of the ensemble.
        generations: generations of the search from the best of them.
        population: points of a generation.
        batches: batches of points of the posterior, from which the emulator is fitted again.
        batch: points of each batch.
        drawn: points of the posterior at which all loads are predicted.
        effort: length of the simulation of each load of a point.
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
        """Number of points that are simulated in all, those of the predictions included."""
        searched = self.assimilations * self.ensemble + self.generations * self.population
        return self.first + searched + self.batches * self.batch + self.drawn + 1


QUICK = Plan(48, 2, 32, 1, batches=1, batch=16, drawn=4, effort=Effort(1_000, 50_000, 2.0))
"""A plan to test input files with: intervals are wide, and the search is not at its end."""


@dataclass(frozen=True)
class Calibration:
    """The parameters of a drive that measurements under load tell, with predictions of the loads.

    Attributes:
        space: the parameters and the measurements.
        samples: samples of the posterior, in the unit cube (samples, size).
        errors: errors of the model, by group, as standard deviations of a logarithm (samples, groups).
        best: the most probable simulated point, in the unit cube.
        simulated: for each load, in order, and each quantity: `best`, at the best point, and `drawn`, at some of the
            samples.
        emulator_off: error of the emulator at points that were left out of its fit, by group: standard deviation of a
            logarithm.
        points: number of simulated points.
        seed: seed of the samplers and of the simulations.
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
    """Stop after Ctrl-C: the store has the finished work."""


def calibrate(
    measured: Measured,
    *,
    plan: Plan | None = None,
    seed: int = 1,
    workers: int | Executor | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Calibration | None:
    """Fit a drive to its measurements under load.

    Args:
        measured: measurements from `read_measured`; held-out loads are predicted, and not looked at.
        plan: the amount of simulation.
        seed: seed of samplers and simulations; the same seed gives the same result, on any number of workers.
        workers: threads, or an executor; default: a thread for each CPU.
        store: keeps simulated points; a calibration goes on from it.
        progress: called with a name, points done, and their fraction.

    Returns the calibration, or None after Ctrl-C; the store then has the finished work.

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
            raise ConfigError(
                f"{measured.base}: found no drive near this config that can be simulated, expected at least one; the "
                f"first error is: {found[0]['error']}"
            )
        return np.array([target.off(each) for each in found])

    try:
        seen = _searched(space, target, plan, seed, off)
        posterior = sample(seen.points, seen.off, target, seed)
        for number in range(plan.batches):
            batch = posterior.some(plan.batch, seed + number)
            seen = seen.and_also(batch, off(batch, "learning what is near"))
            posterior = sample(seen.points, seen.off, target, seed + number + 1)
        # The most probable point by its simulated quantities; emulated ones have errors.
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
class _SimulatedPoints:
    """Simulated points, and the distances of the logarithms of their quantities from the measured ones."""

    points: NDArray[np.float64]
    off: NDArray[np.float64]

    def and_also(self, points: NDArray[np.float64], off: NDArray[np.float64]) -> _SimulatedPoints:
        return _SimulatedPoints(np.concatenate([self.points, points]), np.concatenate([self.off, off]))


def _searched(
    space: Space,
    target: Target,
    plan: Plan,
    seed: int,
    off: Callable[[NDArray[np.float64], str], NDArray[np.float64]],
) -> _SimulatedPoints:
    """Points of the prior, of the ensemble and of a search from the best of them, with their distances."""
    from cmaes import CMA

    names = [each.name for each in space.parameters]
    drawn = LatinHypercube(plan.first, dict.fromkeys(names, Range(0.0, 1.0)), seed).draw()
    points = np.array([[row[name] for name in names] for row in drawn])
    seen = _SimulatedPoints(points, off(points, "looking everywhere"))
    ensemble = seen
    random = np.random.default_rng([seed, 43])
    for _ in range(plan.assimilations):
        points = assimilated(ensemble.points, ensemble.off, target, plan.assimilations, random)[: plan.ensemble]
        ensemble = _SimulatedPoints(points, off(points, "closing in"))
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
    """The simulation of points under loads, as units of `run_units`; it can be pickled."""

    measured: Measured
    loads: tuple[Load, ...]
    points: NDArray[np.float64]
    effort: Effort
    seed: int
    all_loads: bool

    @property
    def identity(self) -> str:
        """A hash of all inputs of the results. The hash of the base config covers the version of the model and the
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
        """Quantities of a point under each load; `error`, where there is no such drive; None if stopped."""
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
        """Numbers of loads, most writes first: a drive whose rate of writes is far off needs no other loads."""
        return sorted(range(len(self.loads)), key=lambda number: -self.loads[number].measured.get("write_iops", 0.0))


def _is_hopeless(row: Mapping[str, float], load: Load) -> bool:
    """Whether the rate of writes of a drive is more than a factor of 1.3 off the measured one."""
    measured = load.measured.get("write_iops")
    return measured is not None and abs(math.log(row.get("write_iops", 1e-9) / measured)) > _HOPELESS
