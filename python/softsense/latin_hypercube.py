"""Latin hypercubes: samples of several fields at once, in which each field meets each part of its range."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Range:
    """Values between two ends, for a Latin hypercube.

    Attributes:
        low: the lower end.
        high: the upper end; with `whole` one of the values.
        log: whether values are spread evenly in their logarithm.
        whole: whether values are whole numbers.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def at(self, share: float) -> float:
        """The value at a position in the range, from 0 to 1."""
        top = self.high + 1 if self.whole else self.high
        value = self.low * (top / self.low) ** share if self.log else self.low + share * (top - self.low)
        if self.whole:
            return min(math.floor(value), int(self.high))
        # Rounded, as the last digits of powers differ between machines.
        return float(f"{value:.12g}")


@dataclass(frozen=True)
class LatinHypercube:
    """Samples of several fields at once: each field's range has as many strata as there are samples, each met once.

    Attributes:
        samples: number of samples.
        fields: for each config field its range, or a list of values that share the strata evenly.
        seed: seed of the samples. The samples of each field are a function of it and of `samples`.
    """

    samples: int
    fields: Mapping[str, Range | Sequence[Any]]
    seed: int = 1

    def draw(self) -> list[dict[str, Any]]:
        """The samples, each a value for every field."""
        columns = {name: self._column(name, values) for name, values in self.fields.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(self.samples)]

    def shares(self, name: str) -> list[float]:
        """The position of each sample in the range of a field, 0 to 1: each at random within a stratum of its own."""

        def lot(purpose: str, i: int) -> int:
            text = f"{self.seed} {name} {purpose} {i}"
            return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

        strata = sorted(range(self.samples), key=lambda i: lot("order", i))
        # Positions within a stratum are thousandths away from its edges, so that rounding never moves a sample into the
        # next one.
        return [(stratum + (lot("place", i) % 1000 + 0.5) / 1000) / self.samples for i, stratum in enumerate(strata)]

    def _column(self, name: str, values: Range | Sequence[Any]) -> list[Any]:
        shares = self.shares(name)
        if isinstance(values, Range):
            return [values.at(share) for share in shares]
        return [values[int(share * len(values))] for share in shares]
