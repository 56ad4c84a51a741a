"""What composes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from softsense.papers import Measured, Plan, Runs
from softsense.papers.drawing import heading
from softsense.papers.read_retry.measured import over_ages, rows_at_the_end
from softsense.papers.read_retry.techniques import DRIVES, SOFT

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_ADDED = (
    (SOFT, "soft levels ahead"),
    ("table", "table + remembered"),
    ("table", "table + PR2"),
    ("table", "table + AR2"),
    ("table + PR2", "table + PR2 + AR2"),
    ("table + PR2 + AR2", "table + PR2 + AR2 + remembered"),
    ("Sentinel", "Sentinel + remembered"),
    ("Swift-Read", "Swift-Read + remembered"),
    ("Swift-Read", "Swift-Read + controller predicts"),
    ("Swift-Read", "RiF"),
    ("RiF", "RiF + remembered"),
    ("RiF + remembered", "RiF + AR2 + remembered"),
)
"""What is added to what: the second of each pair has one setting more."""


def measure_composed(plan: Plan, runs: Runs) -> Measured:
    """What each setting saves that is added to a technique."""
    rows = []
    for drive in DRIVES:
        mean = over_ages(rows_at_the_end(plan, runs, drive), "mean_us")
        for before, after in _ADDED:
            value = 1 - mean[after] / mean[before]
            rows.append({"before": before, "after": after, "drive": drive.config, "saved": value})
    return Measured(pl.DataFrame(rows))


COLOURS = {"tlc-3d": "#0072b2", "qlc-3d": "#d55e00"}


def draw_composed(frame: pl.DataFrame) -> Picture:
    """A bar for each setting and drive."""
    from matplotlib.figure import Figure as Picture

    from softsense import plots

    picture = Picture(figsize=(10, 5.2), dpi=110, facecolor="white")
    axes = picture.add_axes((0.4, 0.1, 0.57, 0.75))
    plots.head(axes, "")
    for i, drive in enumerate(DRIVES):
        of_drive = frame.filter(pl.col("drive") == drive.config)
        at = [place + 0.4 * (i - 0.5) for place in range(len(_ADDED))]
        axes.barh(at, of_drive["saved"], 0.36, color=COLOURS[drive.config], label=drive.config)
    axes.set_yticks(range(len(_ADDED)), [f"{before}  \u2192  {after}" for before, after in _ADDED], fontsize=8.5)
    axes.invert_yaxis()
    axes.axvline(0, color=plots.FAINT, linewidth=0.9)
    axes.set_xlabel("part of the mean response of reads that is saved")
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    axes.tick_params(axis="y", length=0, labelcolor=plots.INK)
    heading(
        picture,
        "What one setting more saves",
        "at the end of life, mean of ages; reads that leave the drive idle for most of the time",
    )
    axes.legend(frameon=False, fontsize=9, labelcolor=plots.INK)
    return picture
