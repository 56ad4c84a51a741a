"""An ensemble of points that moves towards the measured quantities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softsense.calibration.target import FARTHEST, PRIOR_ERROR, Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KNOWN = 0.9
_LEAST = 8
_SPREAD = 0.1


def assimilated(
    points: NDArray[np.float64],
    off: NDArray[np.float64],
    target: Target,
    times: int,
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Move the points to where, by a regression among them, their quantities would be the measured ones.

    Args:
        points: simulated points, in the unit cube (points, size).
        off: values of `Target.off` (points, quantities). Points that lack quantities are replaced by others.
        target: the measured quantities.
        times: number of assimilations in all. Each takes the standard deviations of the measurements times the root of
            this number.
        random: generator of the draws.

    Source: A. Emerick, A. Reynolds, "Ensemble smoother with multiple data assimilation", Comput. Geosci. 55, 2013, eq.
    8, with equal coefficients. Deviations: points are mirrored at the borders of the cube. They are also spread by a
    tenth of the ensemble's deviation, as few points are more alike than they should be.
    """
    known = np.isfinite(off).mean(axis=1) >= _KNOWN
    if known.sum() < _LEAST:
        known = np.isfinite(off).any(axis=1)
    at, logs = points[known], np.nan_to_num(off[known], nan=FARTHEST)
    noise = PRIOR_ERROR[target.groups] * np.sqrt(times)
    apart, logs_apart = at - at.mean(axis=0), logs - logs.mean(axis=0)
    count = max(1, len(at) - 1)
    gain = apart.T @ logs_apart / count @ np.linalg.inv(logs_apart.T @ logs_apart / count + np.diag(noise**2))
    # A point that lacks quantities is replaced by a copy of one that has them, which is moved on its own.
    of = np.concatenate([np.arange(len(at)), random.integers(len(at), size=len(points) - len(at))])
    moved = at[of] - (logs[of] + noise * random.standard_normal((len(of), target.size))) @ gain.T
    moved += _SPREAD * at.std(axis=0) * random.standard_normal(moved.shape)
    return np.asarray(1 - np.abs(1 - np.mod(moved, 2)))
