"""The gain of one more setting, by technique."""

from __future__ import annotations

import polars as pl

from softsense.charts import Chart, Mark, Series, Sheet
from softsense.papers import Measured, Plan, Runs
from softsense.papers.read_retry.measured import over_ages, rows_at_the_end
from softsense.papers.read_retry.techniques import DRIVES, SOFT

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
"""Pairs of techniques; the second of each pair has one setting more."""


def measure_composed(plan: Plan, runs: Runs) -> Measured:
    """The response time that each setting saves when it is added to a technique."""
    rows = []
    for drive in DRIVES:
        mean = over_ages(rows_at_the_end(plan, runs, drive), "mean_us")
        for before, after in _ADDED:
            value = 1 - mean[after] / mean[before]
            rows.append({"before": before, "after": after, "drive": drive.config, "saved": value})
    return Measured(pl.DataFrame(rows))


COLOURS = {"tlc-femu": "#0072b2", "qlc-3d": "#d55e00"}


def draw_composed(frame: pl.DataFrame) -> Sheet:
    """A bar for each setting and drive."""
    names = [f"{before}  \u2192  {after}" for before, after in _ADDED]
    series = [
        Series(
            drive.config, names, frame.filter(pl.col("drive") == drive.config)["saved"].to_list(), "bar", colour=colour
        )
        for drive, colour in ((drive, COLOURS[drive.config]) for drive in DRIVES)
    ]
    label = "part of the mean response of reads that is saved"
    chart = Chart("", series, "", label, across=True, marks=[Mark(0.0)])
    note = "at the end of life, mean of ages; reads that leave the drive idle for most of the time"
    return Sheet("What one setting more saves", [chart], note, panel=(10, 4.6))
