"""Charts as plotly.js wants them, in JSON, with what stands around them in HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from textwrap import fill
from typing import Any

from softsense import colours
from softsense.report.marking import marked_up
from softsense.report.parts import Chart, Series

INK, _FAINT, _GRID = "#222222", "#6b6b6b", "#e6e6e6"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"

# Points are marked on lines that have few.
_MOST_MARKED = 40

# Letters that a line has room for on a phone.
_PHONE = 42


def chart_html(chart: Chart, where: str, charts: list[dict[str, Any]]) -> str:
    """What stands around a chart; what plotly.js draws joins `charts`."""
    chart = replace(chart, series=[_clean(series) for series in chart.series])
    across = [value for series in chart.series for value in series.x]
    up = [] if chart.stacked else [value for series in chart.series for value in series.y]
    switches = "".join(
        f'<button type="button" data-axis="{axis}axis" aria-pressed="{str(log).lower()}">log {axis}</button>'
        for axis, log, numbers in (("x", chart.log_x, across), ("y", chart.log_y, up))
        if _may_be_log(numbers)
    )
    layout = _layout(chart)
    shown = [value for value in across if isinstance(value, int | float) and value >= (chart.x_from or 0)]
    ticks = {name: _log_ticks(numbers) for name, numbers in (("xaxis", shown), ("yaxis", up))}
    for name, tick in ticks.items():
        if layout[name]["type"] == "log":
            layout[name]["dtick"] = tick
    charts.append({"data": _traces(chart), "layout": layout, "log_ticks": ticks})
    name = escape(chart.title or where)
    lines = [f'<figure class="chart" aria-label="{name}">']
    lines.append('<figcaption class="above">')
    if chart.title:
        lines.append(f"<h3>{escape(chart.title)}</h3>")
    if switches:
        lines.append(f'<span class="scales">{switches}</span>')
    lines.append("</figcaption>")
    if len(chart.series) > 1:
        lines.append(_keys(chart))
    if chart.y_label and not chart.stacked:
        lines.append(f'<p class="y-label">{escape(chart.y_label)}</p>')
    lines.append(f'<div class="plot" data-chart="{len(charts) - 1}" role="img" aria-label="{name}"></div>')
    if chart.note:
        lines.append(f'<p class="note">{marked_up(chart.note)}</p>')
    return "\n".join([*lines, "</figure>"])


def _clean(series: Series) -> Series:
    """With lists of what JSON has: numbers to seven digits, and None for what is not finite."""

    def clean(values: Any) -> list[Any]:
        found: list[Any] = []
        for value in values.tolist() if hasattr(values, "tolist") else values:
            if value is None or isinstance(value, str | int):
                found.append(value)
            else:
                found.append(float(f"{value:.7g}") if math.isfinite(value) else None)
        return found

    ends: dict[str, Any] = {name: clean(end) for name, end in (("lo", series.lo), ("hi", series.hi)) if end is not None}
    return replace(series, x=clean(series.x), y=clean(series.y), **ends)


def _keys(chart: Chart) -> str:
    """The legend: unlike plotly.js's own it wraps on phones and hears the keyboard."""
    keys = []
    for series, colour in zip(chart.series, _colours(chart), strict=True):
        look = f"{series.kind} dashed" if series.dashed else series.kind
        keys.append(
            f'<button type="button" aria-pressed="true"><i class="{look}" style="color:{escape(colour)}"></i>'
            f"{escape(series.name)}</button>"
        )
    return f'<div class="keys" role="group" aria-label="Series">{"".join(keys)}</div>'


def _colours(chart: Chart) -> list[str]:
    spare = iter(colours.SERIES * (1 + len(chart.series) // len(colours.SERIES)))
    return [series.colour or next(spare) for series in chart.series]


def _may_be_log(values: Iterable[Any]) -> bool:
    """Numbers, none of them negative and some positive."""
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        return False
    return any(value > 0 for value in known) and not any(value < 0 for value in known)


def _log_ticks(values: Iterable[float | None]) -> str | None:
    """How plotly.js places ticks on a logarithmic axis: 1, 2 and 5 of a few decades; of more, as it sees fit."""
    known = [value for value in values if value is not None and value > 0]
    return "D2" if known and max(known) < 1500 * min(known) else None


def _traces(chart: Chart) -> list[dict[str, Any]]:
    """The series as plotly.js wants them."""
    # The axis of categories or of x, and that of values.
    along, value = ("y", "x") if chart.stacked else ("x", "y")
    traces = []
    for series, colour in zip(chart.series, _colours(chart), strict=True):
        places = [_label(each) if isinstance(each, str) else each for each in series.x]
        trace: dict[str, Any] = {"name": _label(series.name), along: places, value: series.y}
        if series.kind == "bar":
            trace |= {"type": "bar", "marker": {"color": colour}, "textposition": "none"}
            trace["orientation"] = "h" if chart.stacked else "v"
        else:
            mode = "markers" if series.kind == "points" else "lines"
            if mode == "lines" and len(places) <= _MOST_MARKED and not series.steps:
                mode = "lines+markers"
            line = {"color": colour, "width": 2, "dash": "dash" if series.dashed else "solid"}
            line["shape"] = "hv" if series.steps else "linear"
            size = 9 if series.kind == "points" else 5
            trace |= {"type": "scatter", "mode": mode, "line": line, "marker": {"color": colour, "size": size}}
        # What is shown under the pointer.
        lines = [f"<b>{trace['name']}</b>"]
        lines.append(f"{_label(chart.x_label or 'at')}: %{{{along}{_digits(series.x)}}}")
        lines.append(f"{_label(chart.y_label)}: %{{{value}{_digits(series.y)}}}")
        if series.lo is not None and series.hi is not None:
            trace[f"error_{value}"] = {
                "type": "data",
                "symmetric": False,
                "array": [_difference(hi, y) for y, hi in zip(series.y, series.hi, strict=True)],
                "arrayminus": [_difference(y, lo) for y, lo in zip(series.y, series.lo, strict=True)],
                "color": INK if series.kind == "bar" else colour,
                "thickness": 1,
                "width": 3,
            }
            trace["customdata"] = [list(ends) for ends in zip(series.lo, series.hi, strict=True)]
            lines.append(f"from %{{customdata[0]{_digits(series.lo)}}} to %{{customdata[1]{_digits(series.hi)}}}")
        if series.labels is not None:
            trace["text"] = [_label(_wrapped(label)) for label in series.labels]
            lines.append("%{text}")
        traces.append(trace | {"hovertemplate": f"{'<br>'.join(lines)}<extra></extra>"})
    return traces


def _wrapped(text: str) -> str:
    """Lines that are no wider than a phone."""
    return "\n".join(fill(line, _PHONE, break_long_words=False) for line in text.splitlines())


def _layout(chart: Chart) -> dict[str, Any]:
    x = _axis([*chart.names, *(value for series in chart.series for value in series.x)], chart.log_x)
    y = _axis([value for series in chart.series for value in series.y], chart.log_y and not chart.stacked)
    if any(series.kind == "bar" for series in chart.series):
        y["rangemode"] = "tozero"
    title = {"font": {"color": _FAINT, "size": 13}, "standoff": 8}
    if chart.stacked:
        # The first category is at the top.
        x, y = {**y, "title": {"text": _label(chart.y_label), **title}}, {**x, "autorange": "reversed"}
    else:
        x["title"] = {"text": _label(chart.x_label), **title}
        x["showline"] = True
    if chart.log_x and chart.x_from:
        numbers = (value for series in chart.series for value in series.x)
        last = max((value for value in numbers if isinstance(value, int | float)), default=chart.x_from)
        x["range"] = [round(math.log10(chart.x_from), 4), round(math.log10(max(1.05 * last, 2 * chart.x_from)), 4)]
    layout: dict[str, Any] = {
        "font": {"family": _FONT, "size": 12, "color": INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "margin": {"l": 8, "r": 14, "t": 8, "b": 8},
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#ffffff", "bordercolor": "#aaaaaa", "align": "left", "font": {"color": INK}},
        "barmode": "stack" if chart.stacked else "group",
        "bargap": 0.25,
        "showlegend": False,
        "xaxis": x,
        "yaxis": y,
    }
    if chart.level is not None:
        across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": chart.level, "y1": chart.level}
        layout["shapes"] = [across | {"line": {"color": _FAINT, "width": 1, "dash": "dash"}}]
    return layout


def _axis(values: Sequence[float | str | None], log: bool) -> dict[str, Any]:
    axis = {"automargin": True, "gridcolor": _GRID, "linecolor": "#aaaaaa", "tickfont": {"color": _FAINT, "size": 12}}
    axis |= {"zeroline": False, "separatethousands": True, "minorloglabels": "complete"}
    names = [_label(value) for value in values if isinstance(value, str)]
    if names:
        angles = {"autotickangles": [0, -40, -90]}
        return axis | angles | {"type": "category", "categoryarray": list(dict.fromkeys(names)), "showgrid": False}
    sizes = [abs(value) for value in values if value and not isinstance(value, str)]
    plain = not sizes or (min(sizes) >= 1e-6 and max(sizes) < 1e9)
    return axis | {"type": "log" if log else "linear", "exponentformat": "none" if plain else "power"}


def _label(text: str) -> str:
    """Text that plotly.js shows as it is: it takes tags as HTML does, and in templates `%{` for a value."""
    return escape(text, quote=False).replace("%{", "%\u200b{").replace("\n", "<br>")


def _digits(values: Sequence[Any]) -> str:
    """How plotly.js writes such numbers under the pointer: five digits that count, powers only of the very small."""
    if any(isinstance(value, str) for value in values):
        return ""
    known = [abs(value) for value in values if value]
    return ":.4~g" if known and min(known) < 1e-6 else ":,.5~r"


def _difference(more: float | None, less: float | None) -> float | None:
    return None if more is None or less is None else float(f"{more - less:.6g}")
