"""The chart of frame error rates: the same for their picture and for their report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from softsense.charts import Chart, Mark, Series
from softsense.colours import LEVELS
from softsense.formats import level_name

if TYPE_CHECKING:
    from softsense.campaign import FerResult


def fer_chart(result: FerResult, title: str = "") -> Chart:
    """Frame error rates, or the failure probabilities of a decode table, against raw bit error rate.

    A line is a level, with the band of its intervals. Points that are incomplete are hollow, and no line leads to them:
    what is missing of them would be a cliff that no code has. Those of a table contain what is missing, so that dashes
    lead there. What no method saw is at most the pale dashed line.
    """
    named = result.description
    # What is mostly missing says nothing.
    told = [point["fer"] for point in result.points if point["missing"] is not None and point["missing"] < 1]
    lowest = 10.0 ** math.floor(math.log10(min((fer for fer in told if fer > 0), default=1e-3)) - 0.5)
    of_table = "interpolation" in named
    look = {"steps": named.get("interpolation") == "step", "loose": not of_table}
    series = [each for level in result.levels for each in _curves(level, result.curve(level), lowest, look)]
    limit = named.get("shannon_limit")
    marks = [Mark(limit, f"capacity of hard decisions: {limit:.5f}", "x")] if limit else []
    labels = "raw bit error rate", "probability that decoding fails"
    hollow = "extrapolated, or a bound" if of_table else "incomplete: some is missing"
    return Chart(title, series, *labels, log_y=True, y_range=(lowest, 2), marks=marks, hollow=hollow)


def _curves(level: int, points: list[dict[str, Any]], lowest: float, look: Mapping[str, Any]) -> list[Series]:
    """A level's rates, and what no method saw of it; frames as they come leave nothing unlisted."""
    name = level_name(level)
    shown = [point for point in points if point["fer"] >= lowest]
    look = {"colour": LEVELS[level - 1], **look}
    if shown and all(point["lo"] is not None for point in shown):
        look["lo"], look["hi"] = ([max(point[end], lowest / 10) for point in shown] for end in ("lo", "hi"))
    look |= {"hollow": [not point["complete"] for point in shown], "marker": "circle", "band": True}
    curves = [Series(name, [point["rber"] for point in shown], [point["fer"] for point in shown], **look)]
    if bounds := [point for point in points if point["unlisted"] > 0]:
        at, most = [point["rber"] for point in bounds], [point["unlisted"] for point in bounds]
        more: dict[str, Any] = {"dashed": True, "pale": True, "named": False, "marker": "none"}
        curves.append(Series(f"{name}, unlisted at most", at, most, colour=LEVELS[level - 1], **more))
    return curves
