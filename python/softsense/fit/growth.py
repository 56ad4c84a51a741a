"""The growth of the share of slow reads from round to round: a law with its posterior and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FREEDOM = 4.0
_WALKERS, _BURN_IN, _STEPS, _THIN = 32, 300, 500, 10
_MOST_POINTS = 300
_LEAST_SHARE = 1e-9
# Standard deviations of the prior at which it is cut off.
_FARTHEST = 6.0
# Variance of the median of n normal values, for large n: pi / 2 of that of their mean.
_MEDIAN_VARIANCE = np.pi / 2


@dataclass(frozen=True)
class Growth:
    """The share of reads beyond a bound, by round.

    The law is that of raw bit error rates under read disturb: a floor, and a power of the reads. A drive departs from
    the law for some rounds, as it rewrites data or reads with other references, and single rounds scatter:

    Here z is an Ornstein-Uhlenbeck process of standard deviation `wander`, whose correlation falls by a factor of
    2.718 in `memory` rounds. The e are independent, of Student's t distribution with 4 degrees of freedom.

    Attributes:
        bound_us: the bound.
        samples: samples of ln floor, ln scale, ln exponent, ln wander, ln memory and ln scatter (samples, 6).
        points: the fitted points in order of rounds: medians of neighbours.
    """

    bound_us: float
    samples: NDArray[np.float64]
    points: Points

    def at(self, rounds: NDArray[np.float64] | float, scattered: bool = False) -> NDArray[np.float64]:
        """Samples of the share at rounds: (samples, rounds).

        The departure from the law is its mean given the neighbouring rounds. `scattered` draws the departure from its
        distribution, and adds the scatter of single rounds.
        """
        rounds = np.atleast_1d(np.asarray(rounds, dtype=float))
        together, at = np.unique(np.concatenate([self.points.rounds, rounds]), return_inverse=True)
        departures, at = _Departures(self.samples, self.points, together), at[len(self.points.rounds) :]
        law = _law(self.samples, rounds)
        if scattered:
            random = np.random.default_rng(len(self.samples))
            single = np.exp(self.samples[:, 5:]) * random.standard_t(_FREEDOM, law.shape)
            law += departures.drawn(random)[:, at] + single
        else:
            law += departures.mean[:, at]
        return np.asarray(np.exp(np.minimum(law, 0.0)))

    def interval(self, rounds: NDArray[np.float64] | float, scattered: bool = True) -> NDArray[np.float64]:
        """Median and 95 % interval of a round's share: (3, rounds)."""
        return np.quantile(self.at(rounds, scattered), [0.5, 0.025, 0.975], axis=0)


@dataclass(frozen=True)
class Points:
    """Medians of neighbouring rounds, in order.

    Attributes:
        rounds: median of the round numbers of each point (n,).
        ln_shares: natural logarithm of the median share of each point (n,).
        variances: variance of each point, as a multiple of that of a single round (n,).
    """

    rounds: NDArray[np.float64]
    ln_shares: NDArray[np.float64]
    variances: NDArray[np.float64]

    @staticmethod
    def of(rounds: NDArray[np.float64], shares: NDArray[np.float64]) -> Points:
        """At most 300 points of the rounds; a share of 0 is taken as one read in 10^9."""
        order = np.argsort(rounds, kind="stable")
        groups = np.array_split(order, min(len(rounds), _MOST_POINTS))
        sizes = np.array([len(group) for group in groups])
        return Points(
            np.array([np.median(rounds[group]) for group in groups]),
            np.log(np.maximum(np.array([np.median(shares[group]) for group in groups]), _LEAST_SHARE)),
            np.where(sizes > 2, _MEDIAN_VARIANCE / sizes, 1 / sizes),
        )


def fit(bound_us: float, rounds: NDArray[np.float64], shares: NDArray[np.float64], seed: int) -> Growth:
    """The posterior of the law.

    Args:
        bound_us: latency beyond which the shares are counted.
        rounds: numbers of the rounds (n,).
        shares: shares of reads, 0 to 1 (n,); rounds without any are taken as having one in 10^9.
        seed: seed of the sampler.

    More than 300 rounds are replaced by 300 medians of neighbours, whose residuals are taken for normal. The priors
    are an exponent between 0.3 and 4, wander and scatter about 0.1 and 0.2, and a memory about 100 rounds; the
    standard deviations of their logarithms are 1.
    """
    import emcee

    points = Points.of(rounds, shares)
    x, y = points.rounds, points.ln_shares
    centre = np.array([np.median(y) - 0.5, np.log(max(x.max(), 1.0) + 1), 0.1, *np.log([0.1, 100.0, 0.2])])
    width = np.array([2.0, 1.5, 0.65, 1.0, 1.0, 1.0])

    def log_posterior(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        away = (samples - centre) / width
        density: NDArray[np.float64] = -0.5 * np.sum(away**2, axis=1)
        inside = np.all(np.abs(away) < _FARTHEST, axis=1)
        if inside.any():
            density[inside] += log_likelihood(samples[inside], points)
        density[~inside] = -np.inf
        return density

    random = np.random.default_rng([seed, 20])
    begin = centre + 0.1 * width * random.standard_normal((_WALKERS, len(centre)))
    sampler = emcee.EnsembleSampler(_WALKERS, len(centre), log_posterior, vectorize=True)
    sampler._random.seed(int(random.integers(2**31)))
    sampler.run_mcmc(begin, _BURN_IN + _STEPS, skip_initial_state_check=True)
    return Growth(bound_us, sampler.get_chain(discard=_BURN_IN, thin=_THIN, flat=True), points)


def log_likelihood(samples: NDArray[np.float64], points: Points) -> NDArray[np.float64]:
    """Natural logarithm of the density of the points (without the constant), for each sample (n, 6): (n,).

    Source: H. Rue, L. Held, "Gaussian Markov random fields", 2005, section 2.3: departures at given rounds depend on
    their neighbours alone, so that their precision has three diagonals.
    """
    departures = _Departures(samples, points, points.rounds)
    off, precision = departures.off, departures.seen
    explained = np.sum(off * precision * departures.mean, axis=1)
    known = (
        np.sum(np.log(departures.pivots), axis=1) - departures.ln_prior_precision - np.sum(np.log(precision), axis=1)
    )
    found: NDArray[np.float64] = -0.5 * (np.sum(off**2 * precision, axis=1) - explained + known)
    return found


class _Departures:
    """The departure from the law at m increasing rounds, given the points; the rounds include those of the points.

    Attributes:
        off: distance of the points from the law, in ln share (n, points).
        seen: precision of each point (n, points).
        mean: mean of the departure given all points (n, m).
        pivots: D of the Cholesky factorisation L D L' of the precision of the departure (n, m).
        ln_prior_precision: ln determinant of the precision without points (n,).
    """

    def __init__(self, samples: NDArray[np.float64], points: Points, rounds: NDArray[np.float64]) -> None:
        from scipy.linalg.lapack import dpttrf, dpttrs

        self.off = points.ln_shares - _law(samples, points.rounds)
        self.seen = np.exp(-2 * samples[:, 5:]) / points.variances
        variance, memory = np.exp(2 * samples[:, 3:4]), np.exp(samples[:, 4:5])
        gap = np.diff(rounds) / memory
        lost = -np.expm1(-2 * gap)
        self.ln_prior_precision = -len(rounds) * 2 * samples[:, 3] - np.sum(np.log(lost), axis=1)
        kept = np.exp(-gap)
        diagonal = np.ones((len(samples), len(rounds)))
        diagonal[:, :-1] += kept**2 / lost
        diagonal[:, 1:] += kept**2 / lost
        diagonal /= variance
        told = np.zeros_like(diagonal)
        at = np.searchsorted(rounds, points.rounds)
        diagonal[:, at] += self.seen
        told[:, at] = self.seen * self.off
        # The tridiagonal systems of all samples are solved as one, with zeros between them.
        beside = np.zeros_like(diagonal)
        beside[:, :-1] = -kept / lost / variance
        pivots, self._below, _ = dpttrf(diagonal.ravel(), beside.ravel()[:-1])
        self.pivots = pivots.reshape(diagonal.shape)
        self.mean = dpttrs(pivots, self._below, told.ravel())[0].reshape(diagonal.shape)

    def drawn(self, random: np.random.Generator) -> NDArray[np.float64]:
        """A random draw of the departure: (n, m)."""
        from scipy.linalg import solve_banded

        noise = random.standard_normal(self.mean.shape) / np.sqrt(self.pivots)
        bands = np.vstack([np.append(0.0, self._below), np.ones(noise.size)])
        found: NDArray[np.float64] = self.mean + solve_banded((0, 1), bands, noise.ravel()).reshape(noise.shape)
        return found


def _law(samples: NDArray[np.float64], rounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithm of the share by samples (n, 6) at rounds (m,), without departure: (n, m)."""
    power = np.exp(np.clip(samples[:, 2:3], -5, 3)) * (np.log(rounds + 1)[None, :] - samples[:, 1:2])
    return samples[:, :1] + np.logaddexp(0.0, power)
