"""Error rates of cells and devices by age and by reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from softsense.charts import Chart, Mark, Series, Sheet
from softsense.colours import of_ages
from softsense.plots.printing import draw_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = dict[str, Any]

_LEAST_UBER = 1e-24
_JESD218 = (Mark(1e-15, "JESD218 client"), Mark(1e-16, "JESD218 enterprise"))
_PATTERNS = {"one_neighbour": "a wordline beside is read", "even": "the block is read evenly"}


def draw_rber_by_age(rows: Sequence[Row], name: str, style: str = "screen", columns: int | None = None) -> Figure:
    """Draw raw bit error rates of cells over time since the write, a line for each number of P/E cycles.

    Args:
        rows: rows as `softsense.flash.rber_by_age` returns them.
        name: name of the cells.
        style: `screen` or `paper`, as in `draw_sheet`.
        columns: columns of a paper that the picture spans.

    Returns a figure 9 inches wide, or as wide as columns of a paper.
    """
    told = {f"{cycles:,} P/E cycles": of for cycles, of in _grouped_by(rows, "pe_cycles")}
    days = sorted({row["retention_days"] for row in rows})
    names = ("retention_days", "default", "tracked")
    sheet = _rber(name, told, names, "days since the write", days, "ones that track the age")
    return draw_sheet(sheet, style, columns)


def draw_rber_by_reads(rows: Sequence[Row], name: str, style: str = "screen", columns: int | None = None) -> Figure:
    """Draw raw bit error rates of cells over reads of their block.

    Args:
        rows: rows as `softsense.flash.rber_by_reads` returns them.
        name: name of the cells.
        style: `screen` or `paper`, as in `draw_sheet`.
        columns: columns of a paper that the picture spans.

    Returns a figure 9 inches wide, or as wide as columns of a paper.
    """
    told = {_PATTERNS[pattern]: of for pattern, of in _grouped_by(rows, "pattern")}
    most = max(row["reads"] for row in rows)
    ticks = [0, *(10**power for power in range(3, 10) if 10**power <= most)]
    names = ("reads", "default", "best")
    sheet = _rber(name, told, names, "reads of the block since the write", ticks, "the best ones")
    return draw_sheet(sheet, style, columns)


def _rber(
    name: str,
    told: dict[str, list[Row]],
    names: tuple[str, str, str],
    x_label: str,
    ticks: Sequence[float],
    beside: str,
) -> Sheet:
    """A sheet with two lines for each group of rows; the columns are x, the solid line and the dashed line."""
    series = []
    for (label, rows), colour in zip(told.items(), of_ages(len(told)), strict=True):
        at, solid, dashed = ([row[column] for row in sorted(rows, key=lambda row: row[names[0]])] for column in names)
        series.append(Series(label, at, solid, colour=colour))
        look: dict[str, Any] = {"dashed": True, "marker": "circle", "named": False}
        series.append(Series(f"{label}, {beside}", at, dashed, colour=colour, **look))
    y_label = "mean raw bit error rate of the pages"
    chart = Chart("", series, x_label, y_label, log_x=True, log_y=True, x_ticks=ticks)
    title = f"{name}: default references (solid), and {beside} (dashed)"
    return Sheet(title, [chart], panel=(9, 5.0), dpi=130)


def draw_reliability_by_age(
    rows: Sequence[Row], name: str, style: str = "screen", columns: int | None = None
) -> Figure:
    """Draw the outcome of a config's reads over P/E cycles, a line for each retention.

    Args:
        rows: rows as `softsense.flash.reliability_by_age` returns them.
        name: name of the config.
        style: `screen` or `paper`, as in `draw_sheet`.
        columns: columns of a paper that the picture spans.

    Returns a figure 12 inches wide, or as wide as columns of a paper.
    """
    ages = _grouped_by(rows, "retention_days")

    def chart(title: str, value: Callable[[Row], float], **more: Any) -> Chart:
        series = [
            Series(f"after {days:g} days", [row["pe_cycles"] for row in of], [value(row) for row in of], colour=colour)
            for (days, of), colour in zip(ages, of_ages(len(ages)), strict=True)
        ]
        return Chart(title, series, "P/E cycles", "", **more)

    charts = [
        chart("Mean raw bit error rate", lambda row: float(row["rber"]), log_y=True),
        chart("Mean retries of a read", lambda row: float(row["retries"])),
        chart("UBER", lambda row: max(row["uber"], _LEAST_UBER), log_y=True, marks=_JESD218),
    ]
    return draw_sheet(Sheet(name, charts, panel=(4, 4.2), dpi=130), style, columns)


def _grouped_by(rows: Iterable[Row], column: str) -> list[tuple[Any, list[Row]]]:
    """Rows grouped by the value of a column, in the order in which values first occur."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return list(found.items())
