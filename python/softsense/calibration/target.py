"""The likelihood of the measured quantities at a point, with an error of the model beside the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.calibration.measured import KINDS, RATES, WRITE_AMPLIFICATION, Load

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUPS = ("median of reads", "tail of reads", "median of writes", "tail of writes", "rates", "write amplification")
"""Kinds of quantities. Each has its own error of the model, so that a misfit of tails does not spoil medians."""

PRIOR_ERROR = np.array([0.15, 0.2, 0.15, 0.4, 0.03, 0.05])
"""Standard deviation of the half-normal prior of the error of each group; the error is one of a logarithm."""
_MEDIANS = ("p10_us", "p50_us")
LEAST_ERROR = np.array([0.01, 0.01, 0.01, 0.01, 0.005, 0.005])
FARTHEST = float(np.log(8.0))
"""Largest distance of a logarithm from the measured one; larger distances count as this."""
FREEDOM = 4
"""Degrees of freedom of Student's t, the distribution of the distances of logarithms from the measured ones."""


def group_of(quantity: str) -> int:
    """The number of the group of a quantity."""
    if quantity == WRITE_AMPLIFICATION:
        return GROUPS.index("write amplification")
    if quantity.rpartition(".")[2] in RATES:
        return GROUPS.index("rates")
    _, kind, statistic = quantity.split(".", 2)
    return 2 * KINDS.index(kind) + (statistic not in _MEDIANS)


@dataclass(frozen=True)
class Target:
    """The measured quantities of all fitted loads, one after another.

    Attributes:
        loads: the loads.
        names: for each quantity the number of its load, and its name.
        logs_measured: logarithms of the measured values.
        groups: the group of each quantity.
    """

    loads: tuple[Load, ...]
    names: tuple[tuple[int, str], ...]
    logs_measured: NDArray[np.float64]
    groups: NDArray[np.int_]

    @staticmethod
    def of(loads: Sequence[Load]) -> Target:
        """The target of loads that are fitted."""
        names = tuple((number, name) for number, load in enumerate(loads) for name in load.measured)
        logs = np.array([np.log(loads[number].measured[name]) for number, name in names])
        return Target(tuple(loads), names, logs, np.array([group_of(name) for _, name in names]))

    @property
    def size(self) -> int:
        """The number of quantities."""
        return len(self.names)

    def off(self, simulated: dict[str, Any]) -> NDArray[np.float64]:
        """Logarithm of each quantity of a point, over the measured one; NaN where the point lacks the quantity.

        Distances are at most a factor of eight: how much farther a hopeless point is says nothing about other points.
        """
        rows = simulated.get("loads")
        if rows is None:
            return np.full(self.size, np.nan)
        logs = np.log([rows[number].get(name, np.nan) for number, name in self.names])
        return np.asarray(np.clip(logs - self.logs_measured, -FARTHEST, FARTHEST))

    def density(
        self, off: NDArray[np.float64], errors: NDArray[np.float64], emulator: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float64]:
        """Log posterior density, up to a constant, of distances of logarithms from the measured ones (n, quantities).

        Args:
            off: distances, from `Target.off` or an emulator; NaN counts as `FARTHEST`.
            errors: errors of the model, by group (groups,) or (n, groups).
            emulator: standard deviation of the error of the emulator, by quantity.

        The likelihood is Student's t, so that one quantity that no point reaches does not draw all others away from
        their measured values. The prior of the errors is a density of their logarithms.
        """
        far = np.nan_to_num(off, nan=FARTHEST)
        variance = errors[..., self.groups] ** 2 + np.square(emulator)
        likelihood = -0.5 * np.sum((FREEDOM + 1) * np.log1p(far**2 / (FREEDOM * variance)) + np.log(variance), axis=-1)
        prior = np.sum(-0.5 * (errors / PRIOR_ERROR) ** 2 + np.log(errors), axis=-1)
        return np.asarray(likelihood + prior)
