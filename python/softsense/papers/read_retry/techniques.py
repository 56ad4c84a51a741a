"""Drives and ages, and the techniques that read them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from softsense.papers import configured
from softsense.papers.techniques import CAPABILITY_RBER, at_age, of_cells, predictor, reading
from softsense.retry_tables import with_references


@dataclass(frozen=True)
class Drive:
    """A shipped drive, its cells, and the P/E cycles of a fresh one, in the middle and at the end of its life."""

    config: str
    cells: str
    pe_cycles: tuple[int, int, int]


DRIVES = (Drive("tlc-femu", "tlc-charge-trap", (0, 1500, 3000)), Drive("qlc-3d", "qlc-charge-trap", (0, 500, 1000)))
DAYS = {"3 hours": 0.125, "30 days": 30.0, "90 days": 90.0, "a year": 365.0}
_TABLE: dict[str, Any] = {"references": "retry_table", "soft_references": "fewest_violated"}
_SENTINEL = {"references": "sentinels"}
_SWIFT = {"references": "share_of_ones"}
_RIF = {**_SWIFT, "predictor": predictor("die", CAPABILITY_RBER)}
_REMEMBERED = {"remembered": "of_block"}
_PR2 = {"retries_ahead": True}
_AR2 = {"retry_sensing_percent": 75}
TRACKED = "references tracked"
SOFT = "soft levels"

TECHNIQUES: dict[str, dict[str, Any]] = {
    TRACKED: {"references": "cells"},
    SOFT: {"references": "cells"},
    "soft levels ahead": {"references": "cells", "policy": "look_ahead_progressive"},
    "table": _TABLE,
    "table + remembered": _TABLE | _REMEMBERED,
    "table + PR2": _TABLE | _PR2,
    "table + AR2": _TABLE | _AR2,
    "table + PR2 + AR2": _TABLE | _PR2 | _AR2,
    "table + PR2 + AR2 + remembered": _TABLE | _PR2 | _AR2 | _REMEMBERED,
    "search for valleys": {"references": "valley_search"},
    "Sentinel": _SENTINEL,
    "Sentinel + remembered": _SENTINEL | _REMEMBERED,
    "Swift-Read": _SWIFT,
    "Swift-Read + remembered": _SWIFT | _REMEMBERED,
    "Swift-Read + controller predicts": _SWIFT | {"predictor": predictor("controller", CAPABILITY_RBER)},
    "RiF": _RIF,
    "RiF + remembered": _RIF | _REMEMBERED,
    "RiF + AR2 + remembered": _RIF | _AR2 | _REMEMBERED,
}
"""Settings of `[read]`. The first technique knows where states are, which no drive does: it is a bound. All end with
soft levels.
"""

_FROM_DEFAULT = (SOFT, "soft levels ahead", "search for valleys")
"""Techniques that begin at the references of the cells, which are the chip's default ones for them."""


@dataclass(frozen=True)
class Condition:
    """A drive at an age."""

    drive: Drive
    stage: int
    age: str

    @property
    def pe_cycles(self) -> int:
        """P/E cycles of all blocks."""
        return self.drive.pe_cycles[self.stage]


def overrides(technique: str, condition: Condition) -> tuple[str, ...]:
    """Overrides of the drive, read by a technique, at an age."""
    cells: tuple[str, ...] = ()
    if technique in _FROM_DEFAULT:
        cells = (of_cells(with_references(condition.drive.cells, tracked=False)),)
    return (reading(**TECHNIQUES[technique]), *cells, *at_age(condition.pe_cycles, DAYS[condition.age]))


@cache
def p_uncorrectable(technique: str, condition: Condition, of_plan: tuple[str, ...]) -> float:
    """The probability that nothing decodes a codeword of the drive as it starts."""
    config = configured(condition.drive.config, (*of_plan, *overrides(technique, condition)))
    return float(np.mean(config.sample_codewords(2000)["p_uncorrectable"]))


@cache
def metadata_bytes(technique: str, drive: Drive) -> int:
    """Bytes that a controller keeps: one for each block whose references it remembers."""
    if TECHNIQUES[technique].get("remembered") is None:
        return 0
    geometry = configured(drive.config, ()).fields.geometry
    parts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    return int(np.prod([geometry[part] for part in parts]))


def in_flash(technique: str, drive: Drive) -> str:
    """Features that a technique needs of the flash beside its commands of today."""
    read = TECHNIQUES[technique]
    if read["references"] == "sentinels":
        return "0.2 % of the cells of a page, known"
    if read.get("predictor", {}).get("place") == "die":
        return "a predictor of 0.012 mm2 a die (as RiF says), and counting of ones"
    return {
        "share_of_ones": "counting of ones on command",
        "valley_search": "counting between references on command",
    }.get(read["references"], "shorter sensing on command" if "retry_sensing_percent" in read else "")
