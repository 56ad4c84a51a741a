"""The posterior of the parameters of one round: the mode, what misfits, and samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.fit.model import Grid, Parameters, Structure, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from softsense.fit.histograms import Histogram

_EXPECTED_READS = 5.0
_STEP = 1e-5
_WALKERS = 2
_BURN_IN = 150
_STEPS = 350
_THIN = 10


@dataclass(frozen=True)
class Prior:
    """Independent normal priors of the elements of a vector, cut off at bounds.

    Attributes:
        mean, sigma: of each.
        low, high: bounds of each.
    """

    mean: NDArray[np.float64]
    sigma: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @staticmethod
    def of(structure: Structure, start: NDArray[np.float64], grid: Grid) -> Prior:
        """Wide ones: peaks within 15 % of where they were seen, all else by what drives have (docs/model/fit.md)."""
        k, cell = structure.peaks, grid.cell_us
        last = float(grid.edges_us[-1])
        at = start[:k]
        reach = 0.15 * np.maximum(at, 40.0)
        rows = [(m, r, m - 3 * r, m + 3 * r) for m, r in zip(at, reach, strict=True)]
        rows += [(np.log(3.0), 1.0, np.log(1.05 * grid.least_sigma_us), np.log(40.0))] * k
        rows += [(m, 4.0, m - 16, m + 16) for m in start[2 * k : 3 * k - 1]]
        rows += [(np.log(2.0), 1.2, np.log(0.05 * cell), np.log(40.0))]
        if structure.ladder:
            rows += [(np.log(60.0), 1.0, np.log(4 * cell), np.log(last / 2))]
            rows += [(-3.0, 2.5, -14.0, 6.0), (-1.5, 1.5, -8.0, 6.0), (-1.5, 1.5, -8.0, 6.0)]
        if structure.pauses:
            rows += [(-7.0, 2.5, -16.0, 0.0), (np.log(100.0), 1.0, np.log(30.0), np.log(5e4))]
        return Prior(*np.array(rows).T)

    def log_density(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Up to a constant, of vectors (..., dimensions); minus infinity beyond the bounds."""
        inside = np.all((vectors >= self.low) & (vectors <= self.high), axis=-1)
        return np.where(inside, -0.5 * np.sum(((vectors - self.mean) / self.sigma) ** 2, axis=-1), -np.inf)


@dataclass(frozen=True)
class Mode:
    """The most probable vector.

    Attributes:
        vector: it.
        covariance: of the posterior about it, if counts scattered as the model says they do.
        deviance: twice how much less probable it makes the counts than their own shares do.
        dispersion: deviance over degrees of freedom, at least 1: by how much the counts scatter about the model more than
            independent reads would.
    """

    vector: NDArray[np.float64]
    covariance: NDArray[np.float64]
    deviance: float
    dispersion: float


def find_mode(
    structure: Structure, grid: Grid, histogram: Histogram, prior: Prior, start: NDArray[np.float64], most: int = 60
) -> Mode:
    """Maximise the posterior of multinomial counts by trust-region least squares of signed roots of the deviance.

    A function of its arguments. Source: P. McCullagh, J. Nelder, "Generalized linear models", 1989, section 2.3
    (deviance) and 9.2 (dispersion).
    """
    from scipy.optimize import least_squares

    counts, reads = histogram.all_counts, histogram.reads

    def residuals(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        expected = reads * grid.probabilities(structure, unpack(structure, vectors))
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
        roots = np.sign(counts - expected) * np.sqrt(np.maximum(2 * (likelihood - counts + expected), 0.0))
        return np.concatenate([roots, (vectors - prior.mean) / prior.sigma], axis=-1)

    def jacobian(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = _STEP * np.maximum(1.0, np.abs(vector))
        both = np.concatenate([vector + np.diag(steps), vector - np.diag(steps)])
        found = residuals(both)
        return ((found[: len(vector)] - found[len(vector) :]) / (2 * steps[:, None])).T

    inside = np.clip(start, prior.low + 1e-6, prior.high - 1e-6)
    done = least_squares(residuals, inside, jac=jacobian, bounds=(prior.low, prior.high), x_scale=prior.sigma, max_nfev=most)
    information = done.jac.T @ done.jac
    covariance = np.linalg.pinv(information, hermitian=True)
    deviance = float(np.sum(done.fun[: len(counts)] ** 2))
    expected = reads * grid.probabilities(structure, unpack(structure, done.x))
    free = max(10, int(np.sum(expected > _EXPECTED_READS)) - structure.dimensions)
    seen = float(np.sum(done.fun[: len(counts)][expected > _EXPECTED_READS] ** 2))
    return Mode(done.x, covariance, deviance, max(1.0, seen / free))


@dataclass(frozen=True)
class Posterior:
    """Samples of the vector of one round.

    Attributes:
        round: its number.
        structure: what the vectors are of.
        mode: the most probable vector.
        samples: (samples, dimensions).
        dispersion: as of `Mode`; counts were taken as so many times fewer.
        reads: of the round.
    """

    round: float
    structure: Structure
    mode: NDArray[np.float64]
    samples: NDArray[np.float64]
    dispersion: float
    reads: float

    def parameters(self) -> Parameters:
        """The samples, in their own units."""
        return unpack(self.structure, self.samples)


def sample(
    structure: Structure,
    grid: Grid,
    histogram: Histogram,
    prior: Prior,
    start: NDArray[np.float64],
    seed: int,
    stopped: Callable[[], bool] = lambda: False,
) -> Posterior | None:
    """Samples of the posterior by an affine-invariant ensemble about the mode; None if it was stopped.

    Counts that scatter more than the model says are taken as `dispersion` times fewer, which widens all intervals by its
    root. A function of its arguments: the same seed gives the same samples.

    Source: J. Goodman, J. Weare, "Ensemble samplers with affine invariance", 2010, as emcee has it (D. Foreman-Mackey et
    al., 2013); quasi-likelihood: P. McCullagh, J. Nelder, 1989, chapter 9.
    """
    import emcee

    mode = find_mode(structure, grid, histogram, prior, start)
    weights = histogram.all_counts / mode.dispersion

    def log_posterior(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        density = prior.log_density(vectors)
        inside = np.isfinite(density)
        if inside.any():
            probabilities = grid.probabilities(structure, unpack(structure, vectors[inside]))
            density[inside] += np.log(probabilities) @ weights
        return density

    random = np.random.default_rng([seed, round(histogram.round)])
    d = structure.dimensions
    spread = mode.covariance * mode.dispersion
    values, directions = np.linalg.eigh(spread)
    root = directions * np.sqrt(np.clip(values, 1e-14, None))
    walkers = max(_WALKERS * d + 2, 32)
    drawn = mode.vector + random.standard_normal((walkers, d)) @ root.T
    begin = np.clip(drawn, prior.low + 1e-9, prior.high - 1e-9)
    moves = [(emcee.moves.DEMove(), 0.7), (emcee.moves.DESnookerMove(), 0.1), (emcee.moves.StretchMove(), 0.2)]
    sampler = emcee.EnsembleSampler(walkers, d, log_posterior, moves=moves, vectorize=True)
    sampler._random.seed(int(random.integers(2**31)))
    for _ in sampler.sample(begin, iterations=_BURN_IN + _STEPS, skip_initial_state_check=True):
        if stopped():
            return None
    samples = sampler.get_chain(discard=_BURN_IN, thin=_THIN, flat=True)
    return Posterior(histogram.round, structure, mode.vector, samples, mode.dispersion, histogram.reads)


def to_json(posterior: Posterior) -> dict[str, Any]:
    """As a store keeps it; numbers come back bit for bit."""
    s = posterior.structure
    return {
        "round": posterior.round,
        "structure": [s.peaks, s.hit, s.ladder, s.pauses],
        "mode": posterior.mode.tolist(),
        "samples": posterior.samples.tolist(),
        "dispersion": posterior.dispersion,
        "reads": posterior.reads,
    }


def from_json(kept: dict[str, Any]) -> Posterior:
    """The other way round."""
    mode, samples = np.array(kept["mode"]), np.array(kept["samples"])
    return Posterior(kept["round"], Structure(*kept["structure"]), mode, samples, kept["dispersion"], kept["reads"])
