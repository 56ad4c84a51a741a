"""The picture of a comparison, or of a single run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from softsense import run_charts
from softsense.charts import Chart, Sheet
from softsense.formats import run_name
from softsense.plots.panels import fit_panels
from softsense.plots.paper import columns_of
from softsense.plots.printing import draw_chart, draw_sheet
from softsense.series_charts import over_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softsense.results import Comparison

_STATS = ("mean", "p99", "p999")


def _tail(comparison: Comparison) -> Chart:
    kinds = run_charts.kinds_of(comparison)
    return run_charts.tail(comparison, kinds if len(comparison.all_runs) == 1 else kinds[:1])


def _slowdown(comparison: Comparison) -> Chart:
    if not comparison.baseline:
        raise ValueError("panel: found `slowdown` without a baseline, expected a comparison with a baseline")
    return run_charts.slowdowns(comparison, _first_kind(comparison), _STATS)


def _responses(comparison: Comparison) -> Chart:
    if len(comparison.all_runs) == 1:
        return run_charts.by_kind(comparison.all_runs[0], _STATS)
    return run_charts.statistics(comparison, _first_kind(comparison), _STATS)


def _time_split(comparison: Comparison) -> Chart:
    return replace(run_charts.time_split(comparison), title="Where a codeword read's time goes")


def _first_kind(comparison: Comparison) -> str:
    return (run_charts.kinds_of(comparison) or ["read"])[0]


_PANELS: dict[str, Callable[[Comparison], Chart]] = {
    "time_split": _time_split,
    "tail": _tail,
    "slowdown": _slowdown,
    "responses": _responses,
    "levels": run_charts.levels,
}

PANELS = tuple(_PANELS)
"""The panels of a comparison that can be drawn by themselves; see `draw_panel`."""


def draw(comparison: Comparison, title: str | None = None, style: str = "screen", columns: int | None = None) -> Figure:
    """Draw a comparison, or a single run.

    Args:
        comparison: the runs.
        title: names workload and device; default: taken from the summaries.
        style: `screen` or `paper`.
        columns: columns of a paper that the picture spans: 1 or 2.

    Returns a figure at least 13 x 8 inches large at 150 dpi, or as wide as `draw_sheet` says for a paper; save it with
    its `savefig`. The labels of its four axes are the names of their panels (`draw_panel`), by which they can be found
    and restyled.
    """
    runs = comparison.all_runs
    names = ("time_split", "tail", "slowdown" if comparison.baseline else "responses", "levels")
    first = runs[0].summary
    heading = "What each way of reading costs" if len(runs) > 1 else f"Reading with {run_name(runs[0].name)}"
    interrupted = "interrupted   " if comparison.interrupted else ""
    note = (
        f"{interrupted}{max(r.summary['requests'] for r in runs):,} requests   seed {first['seed']}   "
        f"softsense {first['softsense_version']}, model {first['model_version']}"
    )
    # More than seven rows get a taller picture, not smaller print.
    high = 3.6 + 0.28 * max(0, len(runs) - 7)
    charts = [_PANELS[name](comparison) for name in names]
    heading = f"{heading}: {title}" if title else heading
    figure = draw_sheet(Sheet(heading, charts, foot=note, columns=2, panel=(6.5, high), dpi=150), style, columns)
    for axes, name in zip(figure.axes, names, strict=True):
        axes.set_label(name)
    return figure


def draw_over_time(
    comparison: Comparison, title: str | None = None, style: str = "screen", columns: int | None = None
) -> Figure:
    """Draw runs over time: throughput, the slowest 1 %, write amplification, free blocks.

    The arguments are those of `draw`.
    """
    first = comparison.all_runs[0].summary
    heading = f"Over time: {title}" if title else "Over time"
    note = f"seed {first['seed']}   softsense {first['softsense_version']}, model {first['model_version']}"
    charts = over_time(comparison)
    return draw_sheet(Sheet(heading, charts, foot=note, columns=2, panel=(6.5, 2.8), dpi=150), style, columns)


def draw_panel(comparison: Comparison, panel: str, axes: Axes, style: str = "screen") -> None:
    """Draw one panel of a comparison into axes, whose label becomes the name of the panel.

    Its title and its legend have as many lines as fit. A figure without a layout engine gets matplotlib's constrained
    one, so that nothing beside the data is cut off.

    Args:
        comparison: the runs.
        panel: `time_split` (the parts of a codeword read's time), `tail` (of the response time; its lines have labels
            for a legend), `slowdown` (against the baseline), `responses` (mean, p99, p99.9) or `levels` (read levels).
        axes: axes of any figure.
        style: `screen`, or `paper` for text at 8 points.

    Raises `ValueError` for another panel or style, or for a slowdown without a baseline.
    """
    if panel not in PANELS:
        raise ValueError(f"panel: found `{panel}`, expected {', '.join(PANELS)}")
    on_paper = columns_of(style, None) is not None
    draw_chart(axes, _PANELS[panel](comparison))
    axes.set_label(panel)
    fit_panels(axes, PANELS, on_paper=on_paper)
