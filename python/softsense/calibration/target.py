"""How well a point explains what was measured: the likelihood, with an error of the model beside the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.calibration.measured import KINDS, RATES, WRITE_AMPLIFICATION, Load

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUPS = ("median of reads", "tail of reads", "median of writes", "tail of writes", "rates", "write amplification")
"""Kinds of quantities, each with an error of the model of its own: what is lacking of tails must not cost medians."""

PRIOR_ERROR = np.array([0.15, 0.2, 0.15, 0.4, 0.03, 0.05])
"""By group, the standard deviation of the half-normal prior of that error, which is one of a logarithm."""
_MEDIANS = ("p10_us", "p50_us")
LEAST_ERROR = np.array([0.01, 0.01, 0.01, 0.01, 0.005, 0.005])
FARTHEST = float(np.log(8.0))
"""A logarithm that is off by more counts as off by so much."""
FREEDOM = 4
"""Degrees of freedom of Student's t, by which logarithms are off."""


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
        groups: the group of each.
    """

    loads: tuple[Load, ...]
    names: tuple[tuple[int, str], ...]
    logs_measured: NDArray[np.float64]
    groups: NDArray[np.int_]

    @staticmethod
    def of(loads: Sequence[Load]) -> Target:
        """Of loads that are fitted."""
        names = tuple((number, name) for number, load in enumerate(loads) for name in load.measured)
        logs = np.array([np.log(loads[number].measured[name]) for number, name in names])
        return Target(tuple(loads), names, logs, np.array([group_of(name) for _, name in names]))

    @property
    def size(self) -> int:
        """The number of quantities."""
        return len(self.names)

    def off(self, simulated: dict[str, Any]) -> NDArray[np.float64]:
        """Logarithms of what a point has, over what was measured; NaN where it has nothing. What is farther than a
        factor of eight is that far: how far beyond all hope a point is says nothing of others.
        """
        rows = simulated.get("loads")
        if rows is None:
            return np.full(self.size, np.nan)
        logs = np.log([rows[number].get(name, np.nan) for number, name in self.names])
        return np.asarray(np.clip(logs - self.logs_measured, -FARTHEST, FARTHEST))

    def density(
        self, off: NDArray[np.float64], errors: NDArray[np.float64], emulator: NDArray[np.float64] | float = 0.0
    ) -> NDArray[np.float64]:
        """Log posterior density, up to a constant, where logarithms are off by so much (n, quantities).

        Args:
            off: of `off`, or of an emulator; what is NaN counts as farthest.
            errors: of the model, by group (groups,) or (n, groups).
            emulator: standard deviation of what an emulator is off by, by quantity.

        Student's t, so that one quantity that no point reaches does not draw all others away from theirs. The prior of
        the errors is one of their logarithms.
        """
        far = np.nan_to_num(off, nan=FARTHEST)
        variance = errors[..., self.groups] ** 2 + np.square(emulator)
        likelihood = -0.5 * np.sum((FREEDOM + 1) * np.log1p(far**2 / (FREEDOM * variance)) + np.log(variance), axis=-1)
        prior = np.sum(-0.5 * (errors / PRIOR_ERROR) ** 2 + np.log(errors), axis=-1)
        return np.asarray(likelihood + prior)
