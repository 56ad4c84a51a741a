"""The flash league: sizes of codewords that pages have, and the channels on which codes of these sizes are compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from softsense import codes
from softsense.flash import rber_by_age

PAGES_KIB = (1, 2, 4, 16)
"""Data of a codeword, in KiB."""

SPARES = (0.0625, 0.078125, 0.09375, 0.109375, 0.125)
"""Spare areas, as shares of the data: 64 to 128 bytes for 1 KiB."""

LEVELS = (1, 3, 7)
TARGET = 1e-10
DAYS = 90.0
"""Days of rest after which endurances are told."""
STEP, LAST = 100, 10_000
"""Steps of program/erase cycles of endurances, and the last one."""
_NEAR = 0.015

CELLS = (
    ("tlc-measured", 1000, 30.0),
    ("tlc-measured", 3000, 365.0),
    ("qlc-1-2-4-8", 300, 30.0),
    ("qlc-1-2-4-8", 1000, 90.0),
)
"""Cells of the league, each at program/erase cycles and days of rest."""


AGEING = ("tlc-measured", "qlc-1-2-4-8")
"""Cells whose endurances are told."""


@dataclass(frozen=True)
class Field:
    """A size of the league.

    Attributes:
        page_kib: data, in KiB.
        spare: parity, as a share of the data.
    """

    page_kib: int
    spare: float

    @property
    def data_bits(self) -> int:
        """K."""
        return 8192 * self.page_kib

    @property
    def bits(self) -> int:
        """N."""
        return round(self.data_bits * (1 + self.spare))

    @property
    def name(self) -> str:
        """The field in words."""
        return f"{self.page_kib} KiB, {round(1024 * self.page_kib * self.spare):,} B spare"

    def takes(self, entry: dict[str, Any]) -> bool:
        """Whether an entry plays in this field: as much data, and parity that fits, within 1.5 % of the codeword."""
        code = entry["code"]
        fits = self.bits * (1 - _NEAR) <= code["codeword_bits"] <= self.bits
        return bool(code["data_bits"] == self.data_bits and fits)


FIELDS = tuple(Field(page, spare) for page in PAGES_KIB for spare in SPARES)
"""All sizes of the league."""


def limits(field: Field, fer: float = TARGET) -> dict[int, float]:
    """For each level the raw bit error rate of the best codes of a size, by the normal approximation."""
    return {level: codes.limit(field.bits, field.data_bits, fer=fer, level=level) for level in LEVELS}


def cell_rates() -> list[dict[str, Any]]:
    """Raw bit error rates of the cells of the league, with references that track their age: bit errors per bit."""
    rows = []
    for name, pe_cycles, days in CELLS:
        (found,) = rber_by_age(name, [pe_cycles], [days])
        rows.append({"cells": name, "pe_cycles": pe_cycles, "retention_days": days, "rber": found["tracked"]})
    return rows


def endurance(rber: float, cells: str, days: float = DAYS) -> int | None:
    """The program/erase cycles up to which cells stay below a raw bit error rate after some days of rest.

    Args:
        rber: raw bit error rate (bit errors per bit), with references that track the age.
        cells: a model of cells, as `rber_by_age` takes it.
        days: days of rest.

    Returns a multiple of `STEP`, at most `LAST`; None if cells that were never cycled are above the rate.
    """
    below = [cycles for cycles, rate in _aged(cells, days) if rate <= rber]
    return max(below) if below else None


@lru_cache(maxsize=16)
def _aged(cells: str, days: float) -> list[tuple[int, float]]:
    found = rber_by_age(cells, list(range(0, LAST + 1, STEP)), [days])
    told = [(int(each["pe_cycles"]), float(each["tracked"])) for each in found]
    # Rates rise with age; where a model's rates fall again, the first rise counts.
    return [(cycles, max(rate for other, rate in told if other <= cycles)) for cycles, _ in told]
