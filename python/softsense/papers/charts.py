"""Pictures of figures as charts that a report shows."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from softsense.colours import INK
from softsense.report.parts import Chart, Series

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing


def with_png(drawing: Drawing) -> tuple[Drawing, bytes]:
    """A picture, and what it is as PNG."""
    png = io.BytesIO()
    drawing.savefig(png)
    return drawing, png.getvalue()


def charts_of(drawing: Drawing, frame: pl.DataFrame) -> list[Chart]:
    """What `drawing.draw_bars` and `drawing.lines` have drawn, as charts; none of any other picture."""
    texts = [text.get_text() for text in drawing.texts]
    note = texts[1] if len(texts) > 1 else ""
    if len(drawing.axes) == 1 and (chart := _bars(drawing.axes[0], note)):
        return [chart]
    if {"panel", "line", "x", "value", "lo", "hi"} <= set(frame.columns):
        return _lines(drawing, frame, note)
    return []


def _bars(axes: Axes, note: str) -> Chart | None:
    """Grouped bars with their intervals; None unless every group has a name."""
    import numpy as np
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_hex
    from matplotlib.container import BarContainer, ErrorbarContainer
    from matplotlib.ticker import FixedLocator

    bars = [each for each in axes.containers if isinstance(each, BarContainer) and each.patches]
    groups = [tick.get_text() for tick in axes.get_xticklabels()]
    named = isinstance(axes.xaxis.get_major_locator(), FixedLocator) and all(groups)
    if not bars or not named or list(axes.get_xticks()) != list(range(len(groups))):
        return None
    ends: dict[float, tuple[float, float]] = {}
    for each in axes.containers:
        if isinstance(each, ErrorbarContainer):
            for (x, low), (_, high) in each.lines[2][0].get_segments():
                ends[round(float(x), 6)] = float(low), float(high)
    series = []
    for bar in bars:
        centres = [patch.get_x() + patch.get_width() / 2 for patch in bar.patches]
        values = [float(patch.get_height()) for patch in bar.patches]
        known = [ends.get(round(float(x), 6), (value, value)) for x, value in zip(centres, values, strict=True)]
        series.append(
            Series(
                str(bar.get_label()),
                [groups[round(x)] for x in centres],
                values,
                "bar",
                [low for low, _ in known] if ends else None,
                [high for _, high in known] if ends else None,
                colour=to_hex(bar.patches[0].get_facecolor()),
            )
        )
    # Bands behind the bars are what was published.
    bands = [np.asarray(each.get_paths()[0].vertices) for each in axes.collections if isinstance(each, PolyCollection)]
    if bands:
        names = [groups[round(float(band[:, 0].mean()))] for band in bands]
        low, high = ([float(end(band[:, 1])) for band in bands] for end in (min, max))
        middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        series.append(Series("published", names, middle, "points", low, high, colour=INK))
    drawn = [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines]
    marked = [ys[0] for xs, ys in drawn if xs.tolist() == [0, 1]]
    level = float(marked[0]) if marked else None
    return Chart("", series, axes.get_xlabel(), axes.get_ylabel(), note=note, level=level)


def _lines(drawing: Drawing, frame: pl.DataFrame, note: str) -> list[Chart]:
    """Panels of lines with intervals: numbers are the frame's, labels and colours the picture's, if they agree."""
    import polars as pl
    from matplotlib.colors import to_hex
    from matplotlib.container import ErrorbarContainer

    charts: list[Chart] = []
    panels = frame["panel"].unique(maintain_order=True).to_list()
    if len(panels) != len(drawing.axes):
        return []
    for panel, axes in zip(panels, drawing.axes, strict=True):
        of_panel = frame.filter(pl.col("panel") == panel)
        names = of_panel["line"].unique(maintain_order=True).to_list()
        drawn = [each.lines[0] for each in axes.containers if isinstance(each, ErrorbarContainer)]
        if len(names) != len(drawn):
            return []
        series = []
        for name, line in zip(names, drawn, strict=True):
            rows = of_panel.filter(pl.col("line") == name)
            exact = rows["lo"].equals(rows["hi"])
            series.append(
                Series(
                    str(name),
                    rows["x"].to_list(),
                    rows["value"].to_list(),
                    "points" if line.get_linestyle() in ("None", "none") else "line",
                    None if exact else rows["lo"].to_list(),
                    None if exact else rows["hi"].to_list(),
                    colour=to_hex(line.get_color()),
                    dashed=line.get_linestyle() not in ("-", "None", "none"),
                )
            )
        log_x = axes.get_xscale() == "log"
        charts.append(Chart(str(panel), series, axes.get_xlabel(), axes.get_ylabel(), log_x=log_x))
    return [*charts[:-1], replace(charts[-1], note=note)] if charts else []
