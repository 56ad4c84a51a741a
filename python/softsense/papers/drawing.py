"""Charts that papers share: grouped bars, and lines with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from softsense.charts import Chart, Mark, Marker, Series, Sheet
from softsense.colours import FAINT
from softsense.formats import as_number
from softsense.papers import Number

# Values are printed where there are few bars.
_MOST_PRINTED = 28
_WIDE, _HIGH = 11.0, 4.0


def bars(title: str, label: str, *, colours: Mapping[str, str], note: str = "") -> Callable[[pl.DataFrame], Sheet]:
    """A function that draws the numbers of a figure by `bar_sheet`."""

    def draw(frame: pl.DataFrame) -> Sheet:
        return bar_sheet(frame, title, label, colours=colours, note=note)

    return draw


def bar_sheet(
    frame: pl.DataFrame,
    title: str,
    label: str,
    *,
    colours: Mapping[str, str],
    line: float | None = 1.0,
    note: str = "",
    digits: int = 2,
    published: Mapping[str, tuple[float, float]] | None = None,
) -> Sheet:
    """Grouped bars with their intervals.

    Args:
        frame: columns group, bar, value, lo, hi; groups and bars are drawn in the order in which they first stand.
        title: title of the figure.
        label: label of the values.
        colours: colours of bars by the names of bars.
        line: a level to be marked, such as that of no change.
        note: a line below the title.
        digits: digits of values, which are printed where there are few bars.
        published: ends of the published range of a group, by its name; two equal ends are marked as a line.
    """
    groups = frame["group"].unique(maintain_order=True).to_list()
    names = frame["bar"].unique(maintain_order=True).to_list()
    exact = frame["lo"].equals(frame["hi"], check_names=False) if "lo" in frame.columns else True
    few = len(groups) * len(names) <= _MOST_PRINTED
    series = []
    for name in names:
        rows = frame.filter(pl.col("bar") == name)
        printed = [as_number(value, digits) for value in rows["value"]]
        series.append(
            Series(
                str(name),
                rows["group"].to_list(),
                rows["value"].to_list(),
                "bar",
                None if exact else rows["lo"].to_list(),
                None if exact else rows["hi"].to_list(),
                colour=colours[name],
                printed=printed if few else None,
            )
        )
    if ranges := {group: ends for group, ends in (published or {}).items() if group in groups}:
        low, high = [ends[0] for ends in ranges.values()], [ends[1] for ends in ranges.values()]
        middle = [(a + b) / 2 for a, b in ranges.values()]
        series.append(Series("published", list(ranges), middle, "range", low, high, colour=FAINT))
    marks = [] if line is None else [Mark(line)]
    # Inches: bars are wide enough for their intervals, and names of groups stand apart.
    longest = max(len(line) for group in groups for line in group.split("\n"))
    across = max(10.0, 0.24 * len(groups) * len(names), 0.085 * len(groups) * longest)
    return Sheet(title, [Chart("", series, "", label, marks=marks, names=groups)], note, panel=(across, _HIGH))


def point(panel: str, line: str, x: float, number: Number, **more: Any) -> dict[str, Any]:
    """A row for a point of `lines`."""
    return {"panel": panel, "line": line, "x": x, "value": number.value, "lo": number.lo, "hi": number.hi, **more}


@dataclass(frozen=True)
class Line:
    """The style of a line, and whether the legend names it; the style `none` draws points alone."""

    colour: str
    style: Literal["-", "--", "none"] = "-"
    marker: Marker = "circle"
    named: bool = True


def lines(
    title: str,
    x: str,
    y: str | Sequence[str],
    styles: Mapping[str, Line],
    note: str = "",
    *,
    low: float = 0.0,
    at: Sequence[float] = (),
) -> Callable[[pl.DataFrame], Sheet]:
    """A function that draws lines, panel by panel, whose points have an interval.

    Args:
        title: title of the figure.
        x: label of the horizontal axes of all panels.
        y: labels of the panels, or one for all.
        styles: styles of lines by the names of lines.
        note: a line below the title.
        low: largest value at which the vertical axes begin.
        at: ticks of a logarithmic horizontal axis; none for a linear axis.

    The frame of the figure has rows of `point`.
    """

    def draw(frame: pl.DataFrame) -> Sheet:
        panels = frame["panel"].unique(maintain_order=True).to_list()
        labels = [y] * len(panels) if isinstance(y, str) else list(y)
        charts = []
        for panel, label in zip(panels, labels, strict=True):
            of_panel = frame.filter(pl.col("panel") == panel)
            names = of_panel["line"].unique(maintain_order=True).to_list()
            series = [_line(name, of_panel.filter(pl.col("line") == name), styles[name]) for name in names]
            least = min([low, *of_panel["lo"].drop_nulls()])
            more: dict[str, Any] = {
                "log_x": bool(at),
                "x_ticks": at,
                "y_range": (least, None) if least else (None, None),
            }
            charts.append(Chart(str(panel), series, x, label, **more))
        return Sheet(title, charts, note, panel=(_WIDE / len(charts), _HIGH))

    return draw


def _line(name: str, rows: pl.DataFrame, style: Line) -> Series:
    exact = rows["lo"].equals(rows["hi"], check_names=False)
    alone = style.style == "none"
    return Series(
        name,
        rows["x"].to_list(),
        rows["value"].to_list(),
        "points" if alone else "line",
        None if exact else rows["lo"].to_list(),
        None if exact else rows["hi"].to_list(),
        colour=style.colour,
        dashed=style.style == "--",
        marker=style.marker,
        hollow=alone,
        named=style.named,
    )
