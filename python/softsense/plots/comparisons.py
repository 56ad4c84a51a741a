"""The picture of a comparison, or of a single run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from softsense.colours import of_runs
from softsense.formats import run_name
from softsense.plots.panels import draw_levels, draw_responses, draw_slowdown, draw_tail, draw_time_split
from softsense.plots.style import FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softsense.results import Comparison, RunResult

PANELS = ("time_split", "tail", "slowdown", "responses", "levels")
"""What of a comparison can be drawn by itself; see `draw_panel`."""


def draw(comparison: Comparison, title: str | None = None) -> Figure:
    """Draw a comparison, or a single run.

    Args:
        comparison: what was measured.
        title: names workload and device; default: what the summaries say.

    Returns a figure of 13 x 8 inches at 150 dpi; save it with its `savefig`. Its four axes bear the names of what they
    show as labels, as `draw_panel` has them, for those who want to restyle them.
    """
    runs = comparison.all_runs
    # More than seven rows get a taller picture, not smaller print; header and footer keep their height in inches.
    height = 8 + 0.55 * max(0, len(runs) - 7)
    figure = Figure(figsize=(13, height), dpi=150, facecolor="white")
    panels = figure.subplots(2, 2, gridspec_kw={"width_ratios": [1.12, 1], "height_ratios": [1, 1]})
    longest = max(len(run_name(r.name)) for r in runs)
    figure.subplots_adjust(
        left=0.025 + 0.0066 * max(longest, 8),
        right=0.955,
        top=1 - 1.24 / height,
        bottom=0.92 / height,
        wspace=0.2,
        hspace=0.5 if len(runs) <= 7 else 0.36,
    )
    colours = of_runs(runs)
    names = ("time_split", "tail", "slowdown" if comparison.baseline else "responses", "levels")
    for axes, name in zip(panels.flat, names, strict=True):
        draw_panel(comparison, name, axes)
    first = runs[0].summary
    heading = "What each way of reading costs" if len(runs) > 1 else f"Reading with {run_name(runs[0].name)}"
    heading = f"{heading}: {title}" if title else heading
    size = min(15, 15 * 92 / len(heading))
    figure.text(0.025, 1 - 0.28 / height, heading, fontsize=size, weight="bold", color=INK, va="center")
    _policy_key(figure, runs, colours)
    interrupted = "interrupted   " if comparison.interrupted else ""
    note = (
        f"{interrupted}{max(r.summary['requests'] for r in runs):,} requests   seed {first['seed']}   "
        f"softsense {first['softsense_version']}, model {first['model_version']}"
    )
    figure.text(0.025, 0.15 / height, note, fontsize=8.5, color=FAINT, va="center")
    return figure


def draw_panel(comparison: Comparison, panel: str, axes: Axes) -> None:
    """Draw one panel of a comparison into axes, which take its name as their label.

    Args:
        comparison: what was measured.
        panel: `time_split` (where a codeword read's time goes), `tail` (of the response time; its lines have labels for
            a legend), `slowdown` (against the baseline), `responses` (mean, p99, p99.9) or `levels` (read levels).
        axes: those of any figure.

    Raises `ValueError` for another panel, or for a slowdown without a baseline.
    """
    if panel not in PANELS:
        raise ValueError(f"panel: found `{panel}`, expected {', '.join(PANELS)}")
    if panel == "slowdown" and not comparison.baseline:
        raise ValueError("panel: found `slowdown` without a baseline, expected a comparison that has one")
    runs = comparison.all_runs
    colours = of_runs(runs)
    kind = "read" if any(r.summary["response"]["read"]["count"] for r in runs) else "write"
    axes.set_label(panel)
    if panel == "time_split":
        draw_time_split(axes, runs, colours)
    elif panel == "tail":
        draw_tail(axes, runs, colours, kind)
    elif panel == "slowdown":
        draw_slowdown(axes, comparison, colours, kind)
    elif panel == "responses":
        draw_responses(axes, runs, colours, kind)
    else:
        draw_levels(axes, runs, colours)


def _policy_key(figure: Figure, runs: list[RunResult], colours: list[str]) -> None:
    """One key for all panels: names in their colours, on a line under the title."""
    if len(runs) == 1:
        return
    handles = [Line2D([], [], color=colour, linewidth=5, solid_capstyle="butt") for colour in colours]
    figure.legend(
        handles,
        [run_name(r.name) for r in runs],
        loc="center left",
        bbox_to_anchor=(0.018, 1 - 0.6 / figure.get_figheight()),
        ncols=min(len(runs), 7),
        frameon=False,
        fontsize=9.5 if len(runs) <= 7 else 8.5,
        handlelength=1.2,
        columnspacing=1.6,
        labelcolor=INK,
    )
