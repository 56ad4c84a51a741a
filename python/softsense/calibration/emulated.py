"""An emulator: the result of the simulator at a point, in a millisecond, from its results nearby.

The logarithm of each quantity is a quadratic in the logarithms of the parameters, fitted to simulated points by ridge
regression. Its error is known from the error at each point when that point is left out.

Source: A. Hoerl, R. Kennard, "Ridge regression", Technometrics 12(1), 1970; leaving one out: G. Golub, M. Heath,
G. Wahba, "Generalized cross-validation as a method for choosing a good ridge parameter", Technometrics 21(2), 1979, eq.
1.3 (PRESS); the use: M. Kennedy, A. O'Hagan, "Bayesian calibration of computer models", J. R. Statist. Soc. B 63(3),
2001, with quadratics in place of Gaussian processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softsense.calibration.target import FARTHEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RIDGES = 10.0 ** np.arange(-4.0, 3.0)


@dataclass(frozen=True)
class Emulator:
    """Quadratics of a vector.

    Attributes:
        center, scale: center and scale of the vectors (size,): the quadratics are of (vector - center) / scale.
        weights: coefficients (terms, quantities).
        error: standard deviation of the error of each quantity, at points that were left out of the fit (quantities,).
    """

    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]
    error: NDArray[np.float64]

    @staticmethod
    def of(vectors: NDArray[np.float64], quantities: NDArray[np.float64]) -> Emulator:
        """Fit simulated points.

        Args:
            vectors: simulated points (points, size).
            quantities: their quantities (points, quantities); NaN where a point lacks one.
        """
        center = vectors.mean(axis=0)
        scale = np.maximum(vectors.std(axis=0), 1e-6)
        terms = _terms((vectors - center) / scale)
        weights = np.zeros((terms.shape[1], quantities.shape[1]))
        error = np.zeros(quantities.shape[1])
        for column, all_of_it in enumerate(quantities.T):
            seen = np.isfinite(all_of_it)
            weights[:, column], error[column] = _ridge(terms[seen], all_of_it[seen], vectors.shape[1])
        return Emulator(center, scale, weights, error)

    def at(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """The quantities at vectors (n, size): (n, quantities)."""
        return np.asarray(_terms((vectors - self.center) / self.scale) @ self.weights)


def _terms(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Terms of the quadratic: 1, each element, and each product of two."""
    rows, columns = np.triu_indices(x.shape[1])
    return np.concatenate([np.ones((len(x), 1)), x, x[:, rows] * x[:, columns]], axis=1)


def _ridge(terms: NDArray[np.float64], values: NDArray[np.float64], size: int) -> tuple[NDArray[np.float64], float]:
    """Weights, and the error of leaving one out, with the ridge for which this error is least.

    The penalty on linear terms is a hundredth of that on products; the penalty on the constant is negligible.
    """
    if len(values) < 3:
        return np.zeros(terms.shape[1]), FARTHEST
    mean = values.mean()
    held = np.ones(terms.shape[1])
    held[: size + 1] = 0.1
    held[0] = 1e-6
    scaled = terms / held
    left, singular, right = np.linalg.svd(scaled, full_matrices=False)
    projected = left.T @ (values - mean)
    best: tuple[float, float] = (np.inf, 1.0)
    for ridge in _RIDGES:
        shrunk = singular**2 / (singular**2 + ridge * len(values))
        off = (values - mean) - left @ (shrunk * projected)
        out = off / np.maximum(1 - np.sum(left**2 * shrunk, axis=1), 1e-3)
        best = min(best, (float(np.sqrt(np.mean(out**2))), float(ridge)))
    error, ridge = best
    weights = right.T @ (singular / (singular**2 + ridge * len(values)) * projected) / held
    weights[0] += mean
    return weights, error
