"""The frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from softsense.papers import Measured, Plan, Runs
from softsense.papers.drawing import heading
from softsense.papers.read_retry.composed import COLOURS
from softsense.papers.read_retry.measured import JUDGED_BY, frontier_of, rows_at_the_end, scores_of
from softsense.papers.read_retry.techniques import DRIVES, TECHNIQUES, TRACKED

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def measure_frontier(plan: Plan, runs: Runs) -> Measured:
    """Which techniques no other one beats, over all ages of both drives."""
    rows = []
    for drive in DRIVES:
        end = rows_at_the_end(plan, runs, drive)
        frontier = frontier_of(end)
        for technique, score in scores_of(end).items():
            if technique != TRACKED:
                numbers = dict(zip(JUDGED_BY, score, strict=True))
                rows.append({"drive": drive.config, "technique": technique, **numbers})
                rows[-1]["on_the_frontier"] = technique in frontier
    return Measured(pl.DataFrame(rows))


def draw_frontier(frame: pl.DataFrame) -> Picture:
    """What every technique costs, a panel for each quantity; those on the frontier are filled."""
    from matplotlib.figure import Figure as Picture

    from softsense import plots

    picture = Picture(figsize=(12, 5.6), dpi=110, facecolor="white")
    names = [technique for technique in TECHNIQUES if technique != TRACKED]
    labels = {"mean_us": "mean", "p9999_us": "p99.99", "gb_per_s": "time of a saturating load", "read_uj": "energy"}
    for i, (metric, label) in enumerate(labels.items()):
        axes = picture.add_axes((0.2 + 0.2 * i, 0.06, 0.18, 0.76))
        plots.head(axes, "")
        for drive in DRIVES:
            of_drive = frame.filter(pl.col("drive") == drive.config)
            for place, row in enumerate(of_drive.to_dicts()):
                filled = COLOURS[drive.config] if row["on_the_frontier"] else "white"
                look: dict[str, Any] = {
                    "color": COLOURS[drive.config],
                    "markerfacecolor": filled,
                    "markersize": 6.5,
                    "zorder": 3,
                }
                axes.plot(row[metric], place, "o", **look, label=None if place else drive.config)
        axes.set_yticks(range(len(names)), names if i == 0 else [], fontsize=8.5)
        axes.invert_yaxis()
        axes.set_xlim(left=0.9)
        axes.set_title(label, loc="left", fontsize=10, color=plots.INK)
        axes.grid(color="#e6e6e6", linewidth=0.7)
        axes.tick_params(axis="y", length=0, labelcolor=plots.INK)
        if i == 0:
            handles, _ = axes.get_legend_handles_labels()
    note = (
        "over references tracked, at the end of life, mean of ages; filled: no data is lost, and nothing is better in "
    )
    heading(picture, "The frontier", note + "one of the four without being worse in another")
    known = [drive.config for drive in DRIVES]
    picture.legend(handles, known, loc="upper right", frameon=False, fontsize=9, labelcolor=plots.INK, ncols=2)
    return picture
