"""An ensemble of points that closes in on what was measured."""

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
    """The points moved to where, by their own regression, their quantities would be those that were measured.

    Args:
        points: that were simulated, in the unit cube (points, size).
        off: of `Target.off` (points, quantities). Points that lack quantities are replaced by others.
        target: what was measured.
        times: how often measurements are assimilated in all: each time as if they were less certain by the root of it.
        random: for the draws.

    Source: A. Emerick, A. Reynolds, "Ensemble smoother with multiple data assimilation", Comput. Geosci. 55, 2013, eq.
    8, with equal coefficients. Deviations: places are mirrored at the borders of the cube, and spread by a tenth of the
    ensemble's deviation, as few points are more alike than they should be.
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
