"""Techniques of read retry after a failed hard decision, as overrides of `[read]` and of cells."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from softsense._core import Cells
from softsense.papers import inline
from softsense.retry_tables import with_references

CAPABILITY_RBER = 0.0085
"""Raw bit error rate beyond which a read counts as lost, from RiF."""


def reading(**fields: Any) -> str:
    """The override that replaces the whole `[read]` of the device's config, progressive by default."""
    return f"read={inline({'policy': 'progressive', 'retry': 'incremental', 'max_level': 7, **fields})}"


def predictor(place: str, threshold_rber: float, checks: int | None = 1024) -> dict[str, Any]:
    """The predictor of failures at `die` or `controller`, with RiF's 2.5 us, by all checks of the code or the first
    ones.
    """
    fields = {"place": place, "predict_us": 2.5, "threshold_rber": threshold_rber}
    return fields if checks is None else fields | {"checks": checks}


def of_cells(cells: Cells) -> str:
    """The override that gives a device these cells."""
    return f"reliability.table.rber.threshold_voltage={inline(json.loads(cells.spec_json))}"


@cache
def ladder(cells: str, pe_cycles: int, retention_days: float, retries: int) -> str:
    """The override for cells whose retry table goes in equal steps from the default references to the best ones of an
    age.

    With one retry, the retry has the best references of the age.
    """
    default = Cells.open(cells, pe_cycles, retention_days * 24, "default")
    best = default.with_references("tracked").references - default.references
    rows = [[round(float(offset) * step / retries, 6) + 0.0 for offset in best] for step in range(retries + 1)]
    return of_cells(with_references(cells, retry_table_v=rows))


def at_age(pe_cycles: int, retention_days: float) -> tuple[str, ...]:
    """The overrides for data of an age (days) in blocks of a wear (P/E cycles)."""
    return f"precondition.pe_cycles={pe_cycles}", f"precondition.retention_days={retention_days}"
