"""The Pareto frontier of the techniques."""

from __future__ import annotations

from typing import Any

import polars as pl

from softsense.charts import Chart, Series, Sheet
from softsense.papers import Measured, Plan, Runs
from softsense.papers.read_retry.composed import COLOURS
from softsense.papers.read_retry.measured import JUDGED_BY, frontier_of, rows_at_the_end, scores_of
from softsense.papers.read_retry.techniques import DRIVES, TECHNIQUES, TRACKED


def measure_frontier(plan: Plan, runs: Runs) -> Measured:
    """Scores of the techniques on each drive, mean of ages, and whether they are on the frontier."""
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


def draw_frontier(frame: pl.DataFrame) -> Sheet:
    """Scores of every technique, a chart for each quantity; techniques on the frontier are filled."""
    names = [technique for technique in TECHNIQUES if technique != TRACKED]
    labels = {"mean_us": "mean", "p9999_us": "p99.99", "gb_per_s": "time of a saturating load", "read_uj": "energy"}
    charts = []
    for metric, label in labels.items():
        series = []
        for drive in DRIVES:
            rows = frame.filter(pl.col("drive") == drive.config)
            hollow = [not filled for filled in rows["on_the_frontier"]]
            look: dict[str, Any] = {"colour": COLOURS[drive.config], "hollow": hollow}
            series.append(Series(drive.config, rows["technique"].to_list(), rows[metric].to_list(), "points", **look))
        axis = "over references tracked"
        charts.append(Chart(label, series, "", axis, across=True, names=names, y_range=(0.9, None)))
    note = (
        "at the end of life, mean of ages; filled: no data is lost, and nothing is better in one of the four without "
        "being worse in another"
    )
    return Sheet("The frontier", charts, note, columns=2, panel=(6.5, 4.6))
