"""Are shipped drives of today near published numbers of real ones, where nothing explains why they are not?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import beside_data_sheets as sheets

ALL = list(sheets.rows([], quick=False))


def _judge(config: str, row: dict, fresh: list[str]) -> None:
    one = sheets.compared(config, row, fresh)
    assert abs(one.off) <= sheets.NEAR or "because" in row, f"{one.simulated:,.0f}, published {row['published']}"
    # An explanation of a number that is near would explain nothing.
    assert "because" not in row or abs(one.off) > 0.1, f"{one.simulated:,.0f} needs no explanation"


def _named(row: tuple) -> str:
    return f"{row[0]}: {row[2]['says']}"


@pytest.mark.parametrize("row", [row for row in ALL if not row[2].get("slow")], ids=_named)
def test_jobs_are_near_what_is_published(row: tuple) -> None:
    _judge(row[0], row[2], row[3])


@pytest.mark.law
@pytest.mark.parametrize("row", [row for row in ALL if row[2].get("slow")], ids=_named)
def test_steady_states_are_near_what_is_published(row: tuple) -> None:
    _judge(row[0], row[2], row[3])


def test_every_number_has_a_source() -> None:
    for config, _, row, _ in ALL:
        assert row["is"] in ("fitted", "predicted"), config
        assert "published" not in row or row["source"], config
