"""Legends of charts in pictures: marks and names of their series, and the number of entries in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from softsense.charts import Chart, Sheet
from softsense.colours import FAINT

MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle": "^",
    "down": "v",
    "cross": "x",
    "none": "",
    None: "o",
}
"""Markers of points, by their names in `softsense.charts`."""

OF_ROWS = ("o", "D", "^", "s", "v", "P")
"""Markers of categories in a chart that shows bars as rows of points."""

DASHES = (0, (4, 1.5))
"""The dashes of bounds and references."""

HOLLOW: dict[str, Any] = {
    "marker": "o",
    "linestyle": "none",
    "color": FAINT,
    "markersize": 6,
    "markerfacecolor": "none",
}
"""The look of hollow points of any series."""

_LETTER_IN = 0.078  # Inches that a letter of a legend takes, in the mean.
_KEY_IN = 0.38  # Inches of its mark and the room beside it.

Key = tuple[Any, str]
"""A mark, and its name."""


def shared_key(sheet: Sheet) -> list[Key]:
    """The entries of a legend for all charts; none if only one series is drawn."""
    found: dict[str, Any] = {}
    for chart in sheet.charts:
        if not chart.own_key:
            for handle, name in keys_of(chart):
                found.setdefault(name, handle)
    return [(handle, name) for name, handle in found.items()] if len(found) > 1 else []


def keys_of(chart: Chart) -> list[Key]:
    """Marks and names of the series of a chart."""
    if chart.rows:
        marks = zip(chart.categories(), OF_ROWS, strict=False)
        return [(Line2D([], [], marker=m, linestyle="", color=FAINT, markersize=6), name) for name, m in marks]
    found: list[Key] = []
    for series, colour in zip(chart.series, chart.colours(), strict=True):
        if not series.named or not len(series.x):
            continue
        handle: Any
        if series.kind == "range":
            handle = Patch(facecolor="#dedede", edgecolor=FAINT, linewidth=1.1)
        elif series.kind in ("bar", "span"):
            handle = Patch(facecolor=colour, linewidth=0)
        else:
            line = series.kind == "line"
            marker = MARKERS[series.marker] if not line or series.marker else ""
            look: dict[str, Any] = {"linestyle": "none"} if not line else {"linewidth": 2.2}
            if line and series.dashed:
                look = {"linewidth": 1.4, "linestyle": DASHES}
            face = "none" if series.hollow is True else colour
            handle = Line2D([], [], color=colour, marker=marker, markersize=6, markerfacecolor=face, **look)
        found.append((handle, series.name))
    if chart.tells_hollow:
        found.append((Line2D([], [], **HOLLOW), chart.hollow))
    return found


def that_fit(names: Sequence[str], inches: float) -> int:
    """The number of entries of a legend in a row: all, or as many as fit beside one another."""
    for count in range(len(names), 1, -1):
        widths = [max(len(name) for name in names[at::count]) for at in range(count)]
        if sum(_KEY_IN + _LETTER_IN * width for width in widths) <= inches:
            return count
    return 1
