"""The growth of the share of slow reads from round to round: a law with its posterior and its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FREEDOM = 4.0
_WALKERS, _BURN_IN, _STEPS, _THIN = 32, 400, 800, 10
_MOST_POINTS = 400
_LEAST_SHARE = 1e-9


@dataclass(frozen=True)
class Growth:
    """Share of reads beyond a bound by round.

    The law is that of raw bit error rates under read disturb, a floor and a power of the reads:
    share(r) = floor (1 + ((r + 1) / scale)^exponent), about which the shares of rounds scatter by a factor.

    Attributes:
        bound_us: the bound.
        samples: of ln floor, ln scale, ln exponent and ln scatter (samples, 4).
        rounds: what it was fitted to,
        shares: and their shares.
    """

    bound_us: float
    samples: NDArray[np.float64]
    rounds: NDArray[np.float64]
    shares: NDArray[np.float64]

    def at(self, rounds: NDArray[np.float64] | float, scattered: bool = False) -> NDArray[np.float64]:
        """Samples of the share at rounds: (samples, rounds). `scattered` adds the scatter of single rounds about the
        law.
        """
        found = _law(self.samples, np.atleast_1d(np.asarray(rounds, dtype=float)))
        if scattered:
            random = np.random.default_rng(len(self.samples))
            found = found + np.exp(self.samples[:, 3:]) * random.standard_t(_FREEDOM, found.shape)
        return np.exp(found)

    def interval(self, rounds: NDArray[np.float64] | float, scattered: bool = True) -> NDArray[np.float64]:
        """Median and 95 % interval of a round's share: (3, rounds)."""
        return np.quantile(self.at(rounds, scattered), [0.5, 0.025, 0.975], axis=0)

    def to_json(self) -> dict[str, Any]:
        """As a store keeps it."""
        return {
            "bound_us": self.bound_us,
            "samples": self.samples.tolist(),
            "rounds": self.rounds.tolist(),
            "shares": self.shares.tolist(),
        }

    @staticmethod
    def from_json(kept: dict[str, Any]) -> Growth:
        """The other way round."""
        return Growth(kept["bound_us"], *(np.array(kept[name]) for name in ("samples", "rounds", "shares")))


def fit(bound_us: float, rounds: NDArray[np.float64], shares: NDArray[np.float64], seed: int) -> Growth:
    """The posterior of the law.

    Args:
        bound_us: what the shares are beyond.
        rounds: numbers (n,).
        shares: of reads, 0 to 1 (n,); rounds without any are taken as having one in 10^9.
        seed: of the sampler.

    Of many rounds medians of neighbours are taken, 400 at most. Residuals of ln share have Student's t distribution
    with 4 degrees of freedom. Priors: exponent between 0.3 and 4 (95 %), scatter about 0.3.
    """
    import emcee

    groups = np.array_split(np.arange(len(rounds)), min(len(rounds), _MOST_POINTS))
    x = np.array([np.median(rounds[group]) for group in groups])
    y = np.log(np.maximum(np.array([np.median(shares[group]) for group in groups]), _LEAST_SHARE))
    centre = np.array([np.median(y) - 0.5, np.log(max(x.max(), 1.0) + 1), 0.1, np.log(0.3)])
    width = np.array([2.0, 1.5, 0.65, 0.7])

    def log_posterior(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        scatter = samples[:, 3:]
        off = (y - _law(samples, x)) / np.exp(scatter)
        likelihood = -0.5 * (_FREEDOM + 1) * np.log1p(off**2 / _FREEDOM) - scatter
        found: NDArray[np.float64] = likelihood.sum(axis=1) - 0.5 * np.sum(((samples - centre) / width) ** 2, axis=1)
        return found

    random = np.random.default_rng([seed, 20])
    begin = centre + 0.1 * width * random.standard_normal((_WALKERS, 4))
    sampler = emcee.EnsembleSampler(_WALKERS, 4, log_posterior, vectorize=True)
    sampler._random.seed(int(random.integers(2**31)))
    sampler.run_mcmc(begin, _BURN_IN + _STEPS, skip_initial_state_check=True)
    return Growth(bound_us, sampler.get_chain(discard=_BURN_IN, thin=_THIN, flat=True), rounds, shares)


def _law(samples: NDArray[np.float64], rounds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ln share of samples (n, 4) at rounds (m,): (n, m)."""
    power = np.exp(np.clip(samples[:, 2:3], -5, 3)) * (np.log(rounds + 1)[None, :] - samples[:, 1:2])
    return samples[:, :1] + np.logaddexp(0.0, power)
