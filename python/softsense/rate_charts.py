"""Charts of frame error rates, of one code or of several: the same for their picture and for their report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from softsense.charts import Chart, Mark, Marker, Series
from softsense.colours import BASELINE, LEVELS, SERIES
from softsense.formats import level_name

if TYPE_CHECKING:
    from softsense.campaign import FerResult
    from softsense.code_comparison import CodeComparison

_AXES = ("raw bit error rate", "probability that decoding fails")
_BELOW = 1e-3
_INCOMPLETE = "incomplete: some is missing"
_MARKERS: Sequence[Marker] = ("circle", "square", "diamond", "triangle", "down", "cross", "none")
# Grey is that of axes and limits.
_COLOURS = [colour for colour in SERIES if colour != BASELINE]


def fer_chart(result: FerResult, title: str = "") -> Chart:
    """Frame error rates, or the failure probabilities of a decode table, against raw bit error rate.

    A line is a level, with the band of its intervals. Points that are incomplete are hollow. No line leads to them, as
    their missing part would look like a cliff that no code has. Hollow points of a table contain the missing part, so
    dashes lead there. The pale dashed line is an upper bound of the failures that no method saw.
    """
    named = result.description
    lowest = _lowest([result])
    of_table = "interpolation" in named
    look = {"steps": named.get("interpolation") == "step", "loose": not of_table}
    series = []
    for level in result.levels:
        style = {"colour": LEVELS[level - 1], "marker": "circle", **look}
        series += _curves(level_name(level), result.curve(level), lowest, style)
    limit = named.get("shannon_limit")
    marks = [Mark(limit, f"capacity of hard decisions: {limit:.5f}", "x")] if limit else []
    hollow = "extrapolated, or a bound" if of_table else _INCOMPLETE
    return Chart(title, series, *_AXES, log_y=True, y_range=(lowest, 2), marks=marks, hollow=hollow)


def codes_chart(compared: CodeComparison, title: str = "") -> Chart:
    """Frame error rates of several codes against one axis of raw bit error rates, each as in `fer_chart`.

    A colour is a code and its decoder, a marker a level. If there are more codes than colours, the colours are used
    again with other markers. The legend says n, k and rate of each.
    """
    # A code that almost never fails shall not squeeze the curves of the others.
    sought = min(result.description["goal"]["down_to"] for result in compared.results)
    lowest = max(_lowest(compared.results), _BELOW * sought)
    levels = compared.levels
    series: list[Series] = []
    for i, (label, result) in enumerate(zip(compared.labels, compared.results, strict=True)):
        named = result.description
        size = f"n = {named['codeword_bits']:,}, k = {named['data_bits']:,}, rate {result.rate:.3f}"
        for level in result.levels:
            name = f"{label} ({size})" + (f", level {level}" if len(levels) > 1 else "")
            again = i // len(_COLOURS)
            marker = _MARKERS[(again * len(levels) + levels.index(level)) % len(_MARKERS)]
            look = {"colour": _COLOURS[i % len(_COLOURS)], "marker": marker, "loose": True}
            series += _curves(name, result.curve(level), lowest, look)
    return Chart(title, series, *_AXES, log_y=True, y_range=(lowest, 2), hollow=_INCOMPLETE)


def _lowest(results: Sequence[FerResult]) -> float:
    """The lower end of the vertical axis, below all rates but those that are mostly missing."""
    points = [point for result in results for point in result.points]
    told = [point["fer"] for point in points if point["missing"] is not None and point["missing"] < 1]
    return float(10.0 ** math.floor(math.log10(min((fer for fer in told if fer > 0), default=1e-3)) - 0.5))


def _curves(name: str, points: list[dict[str, Any]], lowest: float, look: Mapping[str, Any]) -> list[Series]:
    """The rates of a code at a level, and the bound of unseen failures; frames as they come leave nothing unlisted."""
    shown = [point for point in points if point["fer"] >= lowest]
    look = dict(look)
    if shown and all(point["lo"] is not None for point in shown):
        look["lo"], look["hi"] = ([max(point[end], lowest / 10) for point in shown] for end in ("lo", "hi"))
    look |= {"hollow": [not point["complete"] for point in shown], "band": True}
    curves = [Series(name, [point["rber"] for point in shown], [point["fer"] for point in shown], **look)]
    if bounds := [point for point in points if point["unlisted"] > 0]:
        at, most = [point["rber"] for point in bounds], [point["unlisted"] for point in bounds]
        more: dict[str, Any] = {"dashed": True, "pale": True, "named": False, "marker": "none"}
        curves.append(Series(f"{name}, unlisted at most", at, most, colour=look["colour"], **more))
    return curves
