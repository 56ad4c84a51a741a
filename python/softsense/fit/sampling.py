"""The posterior of the parameters of one round: its mode, the misfit of the model, and samples.

A *round* is one complete reading of the drive's data, and a histogram has its latencies in bins of time. A *vector* has
the parameters of the distribution of latencies: times in us, their logarithms, and logits of shares.
`softsense.fit.model` lists its elements. The page is docs/model/fit.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.fit.model import Grid, Parameters, Structure, least_retry_us, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from softsense.fit.histograms import Histogram

_EXPECTED_READS = 5.0
"""Number of expected reads above which a bin is a *usual* one, whose chi-square measures the misfit."""
_STEP = 1e-5
"""Step of numerical derivatives, as a share of an element of the vector, or of 1 where the element is smaller."""
_ENOUGH = 1e-3
"""Gain of the sum of squares in a step of the descent below which the descent ends."""
_CHI_SQUARE_MEDIAN = 0.4549
"""Median of the chi-square distribution of one degree of freedom."""
_WALKERS = 2
"""Walkers of the ensemble for each element of the vector."""
_BURN_IN = 150
"""Steps of the ensemble that are dropped, before it has forgotten where it began."""
_STEPS = 350
"""Steps of the ensemble after these."""
_THIN = 10
"""Number of steps of which one is kept, as successive ones are nearly the same."""


@dataclass(frozen=True)
class Prior:
    """Independent normal priors of the elements of a vector, cut off at bounds.

    Attributes:
        mean, sigma: mean and standard deviation of each element.
        low, high: bounds of each element.
    """

    mean: NDArray[np.float64]
    sigma: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @staticmethod
    def of(structure: Structure, start: NDArray[np.float64], grid: Grid) -> Prior:
        """Wide priors: peaks within 15 % of the places where they were seen, all other parameters within the range of
        real drives (docs/model/fit.md).

        Args:
            structure: the parts of the latency, which decide the elements of the vector.
            start: a vector with the peaks where they were seen.
            grid: the bins, and the cells of time in which the model is computed.
        """
        # Each row is the mean, standard deviation, lower and upper bound of one element, in the order of `Structure`:
        # peaks in us, all other times as logarithms of us, shares as logits.
        k, cell = structure.peaks, grid.cell_us
        at = start[:k]
        reach = 0.15 * np.maximum(at, 40.0)
        rows = [(m, r, m - 3 * r, m + 3 * r) for m, r in zip(at, reach, strict=True)]
        # Spread of each peak, then shares, then the mean of the right skew.
        rows += [(np.log(3.0), 1.0, np.log(1.05 * grid.least_sigma_us), np.log(40.0))] * k
        rows += [(m, 4.0, m - 16, m + 16) for m in start[2 * k : 3 * k - 1]]
        rows += [(np.log(2.0), 1.2, np.log(0.05 * cell), np.log(40.0))]
        if structure.ladder:
            least = min(max(4 * cell, least_retry_us(structure, unpack(structure, start))), grid.most_step_us)
            # Step of the retry ladder, then the probabilities of a first, a second and each further retry.
            rows += [(np.log(60.0), 1.0, np.log(least), np.log(grid.most_step_us))]
            rows += [(-3.0, 2.5, -14.0, 6.0), (-1.5, 1.5, -8.0, 6.0), (-1.5, 1.5, -8.0, 6.0)]
        # A share and a mean, length or delay of each further part.
        if structure.slow:
            rows += [(-2.5, 1.5, -9.0, 0.0), (np.log(15.0), 0.6, np.log(5.0), np.log(60.0))]
        if structure.pauses:
            rows += [(-7.0, 2.5, -16.0, -1.0), (np.log(200.0), 1.0, np.log(60.0), np.log(5e4))]
        if structure.busy:
            rows += [(-5.0, 2.5, -16.0, -1.5), (np.log(300.0), 1.0, np.log(60.0), np.log(grid.edges_us[-1]))]
        if structure.late:
            most = max(5 * cell, least_retry_us(structure, unpack(structure, start)))
            rows += [(-3.0, 2.5, -14.0, 0.0), (np.log(10.0), 1.0, np.log(4 * cell), np.log(most))]
        return Prior(*np.array(rows).T)

    def log_density(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Logarithm of the density of vectors (..., dimensions), up to a constant; minus infinity beyond the bounds."""
        inside = np.all((vectors >= self.low) & (vectors <= self.high), axis=-1)
        return np.where(inside, -0.5 * np.sum(((vectors - self.mean) / self.sigma) ** 2, axis=-1), -np.inf)


@dataclass(frozen=True)
class Mode:
    """The most probable vector, and the misfit of the model at it.

    Attributes:
        vector: the vector.
        covariance: covariance of the posterior about the mode, if counts scatter as the model says.
        deviance: deviance of the counts from the model, over the dispersion: twice the log-likelihood of a model with
            the measured share of reads in each bin, minus twice that of this model.
        model_error: relative error of the model in a usual bin (`_EXPECTED_READS`), beyond chance; 0 where chance
            explains all.
        dispersion: variance of the counts of usual bins, over the variance by chance; 1 where chance explains all.
    """

    vector: NDArray[np.float64]
    covariance: NDArray[np.float64]
    deviance: float
    model_error: float
    dispersion: float


def find_mode(
    structure: Structure,
    grid: Grid,
    histogram: Histogram,
    prior: Prior,
    start: NDArray[np.float64],
    most: int = 60,
    dispersion: float = 1.0,
) -> Mode:
    """Maximise the posterior of counts by trust-region least squares of signed roots of their deviance.

    A signed root is the root of a bin's deviance, with the sign of count minus expected count. The sum of their squares
    is the deviance. The result depends on the arguments alone.

    Args:
        structure: the parts of the latency.
        grid: the bins of the histogram.
        histogram: the latencies of the round.
        prior: the prior of the vector.
        start: the vector at which the descent begins.
        most: number of steps at most.
        dispersion: number by which the deviance is divided.

    Source: P. McCullagh, J. Nelder, "Generalized linear models", 1989, section 2.3 (deviance) and chapter 9
    (quasi-likelihood).
    """
    counts, reads = histogram.all_counts, histogram.reads

    def residuals(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        expected = reads * grid.probabilities(structure, unpack(structure, vectors))
        roots = np.sign(counts - expected) * np.sqrt(_deviances(counts, expected) / dispersion)
        return np.concatenate([roots, (vectors - prior.mean) / prior.sigma], axis=-1)

    def jacobian(vector: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = _STEP * np.maximum(1.0, np.abs(vector))
        both = np.concatenate([vector + np.diag(steps), vector - np.diag(steps)])
        found = residuals(both)
        return ((found[: len(vector)] - found[len(vector) :]) / (2 * steps[:, None])).T

    vector, information, fun = _descended(residuals, jacobian, np.clip(start, prior.low, prior.high), prior, most)
    covariance = np.linalg.pinv(information, hermitian=True).astype(np.float64, copy=False)
    deviance = float(np.sum(fun[: len(counts)] ** 2))
    expected = reads * grid.probabilities(structure, unpack(structure, vector))
    return Mode(vector, covariance, deviance, *_misfit(counts, expected, structure.dimensions))


def _descended(
    residuals: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    jacobian: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    vector: NDArray[np.float64],
    prior: Prior,
    most: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The Levenberg-Marquardt descent within bounds: the vector where it ends, the information, and the residuals.

    The information is the inverse of the covariance: the product of the Jacobian's transpose and the Jacobian.

    SciPy's implementation takes a singular value decomposition of all bins at each step, which takes longer than
    everything else here.
    """
    fun, damping = residuals(vector), 1e-3
    cost = float(fun @ fun)
    slope = jacobian(vector)
    for _ in range(most):
        information, gradient = slope.T @ slope, slope.T @ fun
        improved = False
        while damping < 1e8:
            # An element at a bound whose gradient points beyond it is not moved.
            stuck = ((vector <= prior.low) & (gradient > 0)) | ((vector >= prior.high) & (gradient < 0))
            free = np.flatnonzero(~stuck)
            system = information[np.ix_(free, free)]
            moved = vector.copy()
            moved[free] -= np.linalg.solve(system + damping * np.diag(np.diag(system) + 1e-9), gradient[free])
            moved = np.clip(moved, prior.low, prior.high)
            tried = residuals(moved)
            if (lower := float(tried @ tried)) < cost:
                improved = True
                break
            damping *= 5
        if not improved:
            break
        gained, vector, fun, cost = cost - lower, moved, tried, lower
        damping = max(damping / 8, 1e-9)
        slope = jacobian(vector)
        if gained < _ENOUGH:
            break
    return vector, slope.T @ slope, fun


def _deviances(counts: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviance of each Poisson count."""
    with np.errstate(divide="ignore", invalid="ignore"):
        likelihood = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
    return np.maximum(2 * (likelihood - counts + expected), 0.0)


def _misfit(counts: NDArray[np.float64], expected: NDArray[np.float64], dimensions: int) -> tuple[float, float]:
    """Relative error of the model in a usual bin, and the dispersion: 0 and 1 where chance explains all.

    Let n be the expected reads of a bin. The error is chosen so that with variances n + error^2 n^2 the median of the
    chi-squares of bins is that of one degree of freedom; the dispersion likewise, with variances of dispersion x n. The
    error is reported, but the fit does not use it. With such a variance a peak of five bins could be off by half of its
    reads, if a hundred bins between peaks fit better for it.

    Source: D. Williams, "Extra-binomial variation in logistic linear models", 1982, method II, and P. McCullagh,
    J. Nelder, "Generalized linear models", 1989, chapter 9. Medians are taken because a few bins that the model cannot
    describe are no measure of the others.
    """
    many = expected > _EXPECTED_READS
    off, n = (counts[many] - expected[many]) ** 2, expected[many]
    free = max(10, len(n) - dimensions)
    # Two standard deviations above the mean of chi-square: a misfit that chance causes in one of forty logs is no error
    # of the model.
    if float(np.sum(off / n)) <= free + 2 * np.sqrt(2 * free):
        return 0.0, 1.0
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        if float(np.median(off / (n + middle**2 * n**2))) > _CHI_SQUARE_MEDIAN:
            low = middle
        else:
            high = middle
    return high, max(1.0, float(np.median(off / n)) / _CHI_SQUARE_MEDIAN)


@dataclass(frozen=True)
class Posterior:
    """Samples of the vector of one round.

    Attributes:
        round: number of the round: how often the data had been read whole.
        structure: structure that gives the elements of the vectors their meaning.
        mode: the most probable vector.
        samples: vectors of the posterior (samples, dimensions).
        model_error: `Mode.model_error`.
        reads: number of reads of the round.
    """

    round: float
    structure: Structure
    mode: NDArray[np.float64]
    samples: NDArray[np.float64]
    model_error: float
    reads: float

    def parameters(self) -> Parameters:
        """Parameters of the samples, in their own units."""
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
    """Sample the posterior with an affine-invariant ensemble about the mode; None if it was stopped.

    The deviance is divided by the dispersion where counts scatter about the model by more than chance. Intervals are
    wider then, and the mode is fitted anew with that dispersion. The result depends on the arguments alone: the same
    seed gives the same samples.

    Args:
        structure: the parts of the latency.
        grid: the bins of the histogram.
        histogram: the latencies of the round.
        prior: the prior of the vector.
        start: the vector at which the search for the mode begins.
        seed: seed of the draws.
        stopped: tells whether the samples are not wanted any more; asked after each step.

    Source: J. Goodman, J. Weare, "Ensemble samplers with affine invariance", 2010, as emcee has it (D. Foreman-Mackey
    et al., 2013); quasi-likelihood: P. McCullagh, J. Nelder, 1989, chapter 9.
    """
    import emcee

    mode = find_mode(structure, grid, histogram, prior, start)
    error, dispersion = mode.model_error, mode.dispersion
    if dispersion > 1:
        mode = find_mode(structure, grid, histogram, prior, mode.vector, dispersion=dispersion)
    counts, reads = histogram.all_counts, histogram.reads

    def log_posterior(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        density = prior.log_density(vectors)
        inside = np.isfinite(density)
        if inside.any():
            probabilities = grid.probabilities(structure, unpack(structure, vectors[inside]))
            density[inside] -= 0.5 * _deviances(counts, reads * probabilities).sum(axis=-1) / dispersion
        return density

    random = np.random.default_rng([seed, 1 + max(-1, round(histogram.round))])
    d = structure.dimensions
    # Walkers begin where a normal distribution with the mode's covariance puts them.
    values, directions = np.linalg.eigh(mode.covariance)
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
    return Posterior(histogram.round, structure, mode.vector, samples, error, histogram.reads)


def to_json(posterior: Posterior) -> dict[str, Any]:
    """The posterior as a store keeps it; numbers come back bit for bit."""
    s = posterior.structure
    return {
        "round": posterior.round,
        "structure": s.to_json(),
        "mode": posterior.mode.tolist(),
        "samples": posterior.samples.tolist(),
        "model_error": posterior.model_error,
        "reads": posterior.reads,
    }


def from_json(kept: dict[str, Any]) -> Posterior:
    """The posterior that `to_json` has kept."""
    mode, samples = np.array(kept["mode"]), np.array(kept["samples"])
    return Posterior(kept["round"], Structure(*kept["structure"]), mode, samples, kept["model_error"], kept["reads"])
