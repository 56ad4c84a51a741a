"""The ageing of the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from softsense._core import Cells
from softsense.papers import Evidence, Measured, Number, Plan, Runs
from softsense.papers.comparing import first_beyond
from softsense.papers.drawing import Line, lines, point
from softsense.papers.rif.published import CAPABILITY, CELLS, PUBLISHED

if TYPE_CHECKING:
    from softsense.charts import Sheet


def _retry_days(pe_cycles: int) -> float:
    """Days after which the worst page is beyond the capability with default references; ten years if never."""

    def is_beyond(days: float) -> bool:
        cells = Cells.open(CELLS, pe_cycles, days * 24, "default")
        found: bool = max(cells.rber(page) for page in range(len(cells.pages))) > CAPABILITY
        return found

    return first_beyond(0.0, 3650.0, is_beyond)


def measure_cells(plan: Plan, runs: Runs) -> Measured:
    """Days after which data of each wear needs a retry."""
    published = PUBLISHED["flash"]["retry_needed_after_days"]
    rows = [
        {"pe_cycles": cycles, "published_days": published.get(str(cycles)), "measured_days": _retry_days(cycles)}
        for cycles in (0, 200, 500, 1000, 1500, 2000, 2500, 3000)
    ]
    evidence = {}
    for row in rows:
        if row["published_days"] is not None:
            days = row["measured_days"]
            told = "never within ten years" if days > 3640 else f"after {days:.0f} days"
            evidence[f"days_{row['pe_cycles']}"] = Evidence(
                Number.exact(days),
                f"By default references the worst page of {CELLS} is beyond a raw bit error rate of 0.0085 "
                f"{told}: the cells were set by these three numbers. The ages of the other figures are those at which "
                "one ideal retry loses as much as in the paper.",
            )
    return Measured(pl.DataFrame(rows), evidence)


def draw_cells(frame: pl.DataFrame) -> Sheet:
    """Measured and published days by P/E cycles."""
    shown = frame.filter(pl.col("measured_days") < 3640)
    rows = [point("days", "measured", row["pe_cycles"], Number.exact(row["measured_days"])) for row in shown.to_dicts()]
    published = frame.drop_nulls("published_days").to_dicts()
    rows += [point("days", "published", row["pe_cycles"], Number.exact(row["published_days"])) for row in published]
    styles = {"measured": Line("#0072b2"), "published": Line("#000000", "none", "square")}
    title = "After how many days default references need a retry"
    note = f"worst page beyond a raw bit error rate of 0.0085; cells: {CELLS}"
    return lines(title, "P/E cycles", "days", styles, note)(pl.DataFrame(rows))
