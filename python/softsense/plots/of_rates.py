"""Curves of frame error rates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from softsense.plots.style import FAINT, INK, LEVEL_COLOURS, head

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softsense.campaign import FerResult


def draw_fer(result: FerResult, title: str | None = None, axes: Axes | None = None) -> Figure:
    """Draw frame error rates, or the failure probabilities of a decode table, against raw bit error rate.

    A line is a level, with the band of its intervals; points that are incomplete, or no more than bounds, are hollow;
    what no method saw is at most the pale dashed line. A vertical line marks the capacity of hard decisions at the
    code's rate.

    Returns a figure of 13 x 8 inches at 150 dpi; save it with its `savefig`. With `axes`, which may show other results
    already, the curves are drawn into them, under the title if there is one, and their figure is returned.
    """
    named = result.description
    if axes is not None:
        head(axes, title or "")
        _fer_curves(axes, result)
        drawn = axes.get_figure(root=True)
        assert drawn is not None
        return drawn
    figure = Figure(figsize=(13, 8), dpi=150, facecolor="white")
    axes = figure.add_axes((0.075, 0.09, 0.88, 0.78))
    heading = title or f"Frame error rate of {named['code']}"
    head(axes, "")
    figure.text(0.025, 0.955, heading, fontsize=15, weight="bold", color=INK, va="center", parse_math=False)
    _fer_curves(axes, result)
    how = named["decoder"] or "BCH"
    if named.get("iterations"):
        how += f", at most {named['iterations']} iterations, seed {named['seed']}"
    note = f"{how}   bands: 95 %   hollow: incomplete, or a bound   dashed: unlisted, at most"
    interrupted = "interrupted   " if result.interrupted else ""
    figure.text(0.025, 0.915, interrupted + note, fontsize=9, color=FAINT, va="center", parse_math=False)
    return figure


def _fer_curves(axes: Axes, result: FerResult) -> None:
    named = result.description
    # What is mostly missing says nothing.
    told = [point["fer"] for point in result.points if point["missing"] is not None and point["missing"] < 1]
    lowest = 10.0 ** math.floor(math.log10(min((fer for fer in told if fer > 0), default=1e-3)) - 0.5)
    for level in result.levels:
        _fer_curve(axes, level, result.curve(level), lowest, named.get("interpolation") == "step")
    axes.set_yscale("log")
    axes.set_ylim(lowest, 2)
    axes.set_xlabel("raw bit error rate")
    axes.set_ylabel("probability that decoding fails")
    axes.grid(color="#e6e6e6", linewidth=0.7)
    if limit := named.get("shannon_limit"):
        axes.axvline(limit, color=INK, linewidth=1, linestyle=(0, (1, 2)))
        place: dict[str, Any] = {
            "xycoords": axes.get_xaxis_transform(),
            "textcoords": "offset points",
            "xytext": (-5, 8),
        }
        label: dict[str, Any] = {"rotation": 90, "ha": "right", "va": "bottom", "fontsize": 8.5, "color": FAINT}
        axes.annotate(f"capacity of hard decisions: {limit:.5f}", (limit, 0), **place, **label)
    # The curves rise to the right.
    axes.legend(loc="upper left", bbox_to_anchor=(0.01, 0.97), fontsize=9.5, labelcolor=INK, frameon=False)


def _fer_curve(axes: Axes, level: int, points: list[dict[str, Any]], lowest: float, steps: bool) -> None:
    colour = LEVEL_COLOURS[level - 1]
    shown = [point for point in points if point["fer"] >= lowest]
    rber = [point["rber"] for point in shown]
    fer = [point["fer"] for point in shown]
    label = f"level {level}" + (" (hard decision)" if level == 1 else "")
    axes.plot(rber, fer, color=colour, linewidth=1.6, label=label, drawstyle="steps-post" if steps else "default")
    for complete, face in ((True, colour), (False, "white")):
        some = [point for point in shown if point["complete"] == complete]
        at = [point["rber"] for point in some], [point["fer"] for point in some]
        axes.plot(*at, "o", color=colour, markerfacecolor=face, markersize=5, linestyle="none")
    if shown and all(point["lo"] is not None for point in shown):
        low, high = ([max(point[end], lowest / 10) for point in shown] for end in ("lo", "hi"))
        axes.fill_between(rber, low, high, color=colour, alpha=0.18, linewidth=0)
    # Frames as they come leave nothing unlisted.
    bounds = [(point["rber"], point["unlisted"]) for point in points if point["unlisted"] > 0]
    axes.plot(
        [rber for rber, _ in bounds],
        [bound for _, bound in bounds],
        color=colour,
        alpha=0.35,
        linewidth=1,
        linestyle="--",
    )
