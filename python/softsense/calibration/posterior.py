"""Samples of the posterior of a calibration, by an emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softsense.calibration.emulated import Emulator
from softsense.calibration.target import FARTHEST, GROUPS, LEAST_ERROR, PRIOR_ERROR, Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_ERROR = 2.0
_WALKERS, _BURN_IN, _STEPS, _THIN = 3, 800, 1200, 20
_TIMES_AS_MANY = 1.5
_BEYOND = 0.02


@dataclass(frozen=True)
class Posterior:
    """Samples of the posterior, and the emulator with which they were drawn.

    Attributes:
        samples: points in the unit cube (samples, size).
        errors: errors of the model (samples, groups).
        emulator: emulator of the values of `Target.off`.
    """

    samples: NDArray[np.float64]
    errors: NDArray[np.float64]
    emulator: Emulator

    def some(self, count: int, seed: int) -> NDArray[np.float64]:
        """Random choice of `count` samples."""
        random = np.random.default_rng([seed, 41])
        return np.asarray(self.samples[random.choice(len(self.samples), count, replace=len(self.samples) < count)])


def sample(points: NDArray[np.float64], off: NDArray[np.float64], target: Target, seed: int) -> Posterior:
    """Sample the posterior by an affine-invariant ensemble, with an emulator of the most probable points.

    Args:
        points: simulated points (points, size).
        off: values of `Target.off` (points, quantities).
        target: the measured quantities.
        seed: seed of the sampler; the same seed gives the same samples.

    Source: J. Goodman, J. Weare, "Ensemble samplers with affine invariance", 2010, as emcee has it (D. Foreman-Mackey
    et al., 2013).
    """
    import emcee

    size, groups = points.shape[1], len(GROUPS)
    density = target.density(off, PRIOR_ERROR)
    known = np.isfinite(off).mean(axis=1) > 0.5
    order = np.argsort(np.where(known, -density, np.inf), kind="stable")
    terms = (size + 1) * (size + 2) // 2
    near = order[: min(int(known.sum()), int(_TIMES_AS_MANY * terms))]
    emulator = Emulator.of(points[near], off[near])
    # An emulator knows nothing beyond the points that it was fitted to.
    low = np.clip(points[near].min(axis=0) - _BEYOND, 0, 1)
    high = np.clip(points[near].max(axis=0) + _BEYOND, 0, 1)

    def log_density(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        at, log_errors = vectors[:, :size], vectors[:, size:]
        inside = np.all((at >= low) & (at <= high), axis=1)
        inside &= np.all((log_errors >= np.log(LEAST_ERROR)) & (log_errors <= np.log(_MOST_ERROR)), axis=1)
        found = np.full(len(vectors), -np.inf)
        if inside.any():
            emulated = np.clip(emulator.at(at[inside]), -FARTHEST, FARTHEST)
            found[inside] = target.density(emulated, np.exp(log_errors[inside]), emulator.error)
        return found

    random = np.random.default_rng([seed, 40])
    walkers = _WALKERS * (size + groups)
    first = points[near[np.arange(walkers) % max(4, len(near) // 4)]]
    jittered = first + 0.01 * random.standard_normal((walkers, size))
    of_errors = np.log(PRIOR_ERROR) + 0.1 * random.standard_normal((walkers, groups))
    begin = np.concatenate([np.clip(jittered, low + 1e-6, high - 1e-6), of_errors], axis=1)
    moves = [(emcee.moves.DEMove(), 0.6), (emcee.moves.DESnookerMove(), 0.1), (emcee.moves.StretchMove(), 0.3)]
    sampler = emcee.EnsembleSampler(walkers, size + groups, log_density, moves=moves, vectorize=True)
    sampler._random.seed(int(random.integers(2**31)))
    sampler.run_mcmc(begin, _BURN_IN + _STEPS, skip_initial_state_check=True)
    samples = sampler.get_chain(discard=_BURN_IN, thin=_THIN, flat=True)
    return Posterior(samples[:, :size], np.exp(samples[:, size:]), emulator)
