"""Charts of a document: the elements around each chart, and its description, which `softsense/web/charts.js` draws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from typing import Any

from softsense.charts import Chart, Range, Series
from softsense.report.marking import marked_up


def chart_html(chart: Chart, where: str, charts: list[dict[str, Any]]) -> str:
    """A chart as an element; its description is added to those of the document."""
    described = description(chart)
    charts.append(described)
    name = escape(chart.title or where)
    lines = [f'<figure class="chart" aria-label="{name}">', '<figcaption class="above">']
    if chart.title:
        lines.append(f"<h3>{escape(chart.title)}</h3>")
    lines += [_tools(chart, described), "</figcaption>"]
    if len(chart.series) > 1 or chart.tells_hollow:
        lines.append(_keys(described))
    if chart.y_label and not chart.lies_across:
        lines.append(f'<p class="y-label">{escape(chart.y_label)}</p>')
    lines.append(f'<div class="plot" data-chart="{len(charts) - 1}" role="group" aria-label="{name}"></div>')
    if chart.note:
        lines.append(f'<p class="note">{marked_up(chart.note)}</p>')
    return "\n".join([*lines, "</figure>"])


def description(chart: Chart) -> dict[str, Any]:
    """A chart as JSON; fields that are false or missing are left out."""
    series = [_clean(each) for each in chart.series]
    across = [value for each in series for value in each.x]
    up = [value for each in series for value in each.y]
    found: dict[str, Any] = {
        "title": chart.title,
        "x": {"label": chart.x_label, "log": chart.log_x and _may_be_log(across)},
        "y": {"label": chart.y_label, "log": chart.log_y and not chart.stacked and _may_be_log(up)},
        "series": [_series(each, colour) for each, colour in zip(series, chart.colours(), strict=True)],
    }
    found["x"] |= _range(chart.x_range)
    found["y"] |= _range(chart.y_range)
    more = {name: getattr(chart, name) for name in ("stacked", "across", "exclusive", "linked", "note")}
    more["hollow"] = chart.hollow if chart.tells_hollow else ""
    more["names"] = list(chart.names)
    more["marks"] = [{"value": mark.value, "text": mark.text, "axis": mark.axis} for mark in chart.marks]
    return found | {name: value for name, value in more.items() if value}


def _range(ends: Range) -> dict[str, float]:
    """The initial ends of an axis, as far as they are given."""
    return {name: float(f"{end:.7g}") for name, end in zip(("from", "to"), ends, strict=True) if end is not None}


def _series(series: Series, colour: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": series.name, "kind": series.kind, "colour": colour, "x": series.x, "y": series.y}
    for name in ("lo", "hi", "labels", "keys"):
        if (values := getattr(series, name)) is not None:
            found[name] = list(values)
    if any(hollow := [series.is_hollow(i) for i in range(len(series.x))]):
        found["hollow"] = hollow
    if series.kind == "line" and any(alone := [series.stands_alone(i) for i in range(len(series.x))]):
        found["alone"] = alone
    if series.marker:
        found["marker"] = series.marker
    return found | {name: True for name in ("dashed", "steps", "band", "pale") if getattr(series, name)}


def _clean(series: Series) -> Series:
    """The series in types of JSON: numbers with seven digits, and None for numbers that are not finite."""

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


def _tools(chart: Chart, described: dict[str, Any]) -> str:
    """The buttons that switch axes, select and save."""
    series = described["series"]
    may_be_log = {
        "x": _may_be_log(value for each in series for value in each["x"]),
        "y": not chart.stacked and _may_be_log(value for each in series for value in each["y"]),
    }
    buttons = []
    for axis, possible in may_be_log.items():
        if possible:
            pressed = str(described[axis]["log"]).lower()
            buttons.append(f'<button type="button" data-axis="{axis}" aria-pressed="{pressed}">log {axis}</button>')
    if any("keys" in each for each in series):
        buttons.append('<button type="button" data-select aria-pressed="false">select</button>')
    buttons += [
        f'<button type="button" data-save="{kind}" aria-label="save as {kind.upper()}">{kind.upper()}</button>'
        for kind in ("csv", "svg", "png")
    ]
    return f'<span class="tools">{"".join(buttons)}</span>'


def _keys(described: dict[str, Any]) -> str:
    """The legend."""
    keys = []
    for series in described["series"]:
        look = f"{series['kind']} dashed" if series.get("dashed") else series["kind"]
        keys.append(
            f'<button type="button" aria-pressed="true"><i class="{look}" style="color:{escape(series["colour"])}"></i>'
            f"{escape(series['name'])}</button>"
        )
    if hollow := described.get("hollow"):
        keys.append(f'<span><i class="hollow"></i>{escape(hollow)}</span>')
    return f'<div class="keys" role="group" aria-label="Series">{"".join(keys)}</div>'


def _may_be_log(values: Iterable[Any]) -> bool:
    """Whether values may have a logarithmic axis: numbers, none of them negative and some positive."""
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        return False
    return any(value > 0 for value in known) and not any(value < 0 for value in known)
