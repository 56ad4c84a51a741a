"""The techniques on one drive."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softsense.formats import as_significant, listed
from softsense.papers import Measured, Plan, Runs
from softsense.papers.read_retry.measured import METRICS, at_the_end, frontier_of, rows_of
from softsense.papers.read_retry.runs import conditions
from softsense.papers.read_retry.techniques import SOFT, TECHNIQUES, TRACKED, Drive

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


def measure_drive(drive: Drive) -> Callable[[Plan, Runs], Measured]:
    """A function that measures every technique at every age of one drive."""

    def measure(plan: Plan, runs: Runs) -> Measured:
        rows = rows_of(plan, runs, conditions(plan, drive))
        end = at_the_end(rows, drive)
        soft = {(row["pe_cycles"], row["age"]): row["mean_us"] for row in rows if row["technique"] == SOFT}
        slower = {
            technique: sum(
                row["mean_us"] > 1.01 * soft[row["pe_cycles"], row["age"]]
                for row in rows
                if row["technique"] == technique
            )
            for technique in TECHNIQUES
        }
        lost = [row for row in rows if row["uncorrectable"]]
        worst = max(rows, key=lambda row: row["p_uncorrectable"])
        frontier = listed([f"*{name}*" for name in frontier_of(end)] or ["none, as each loses data"])
        losing = listed([f"*{name}* ({n})" for name, n in slower.items() if n]) if any(slower.values()) else "none"
        notes = (
            f"On the frontier after {drive.pe_cycles[-1]:,} P/E cycles: {frontier}. In the mean of ages, no other that "
            "loses no data is better in one of mean, p99.99, bandwidth and energy without being worse in another.",
            f"Of {len(soft)} ages so many have a mean response more than 1 % above that of soft levels about the "
            f"default references: {losing}.",
            (f"Not decoded by anything: {listed([_told_lost(row) for row in lost])}" if lost else "All was decoded")
            + f". A codeword is lost with a probability of {worst['p_uncorrectable']:.1e} at most, in the mean of "
            f"2,000 of the drive (*{worst['technique']}*, {worst['pe_cycles']:,} P/E cycles, {worst['age']}).",
        )
        return Measured(pl.DataFrame(rows), notes=notes)

    return measure


def _told_lost(row: dict[str, Any]) -> str:
    age = f"{row['pe_cycles']:,} P/E cycles, {row['age']}"
    return f"{row['uncorrectable']:,} of {row['codewords']:,} codewords with *{row['technique']}* ({age})"


def draw_drive(drive: Drive) -> Callable[[pl.DataFrame], Picture]:
    """A function that draws the results of one drive, a panel for each quantity."""

    def draw(frame: pl.DataFrame) -> Picture:
        from matplotlib.figure import Figure as Picture

        from softsense import plots

        rows = at_the_end(frame.to_dicts(), drive)
        ages = list(dict.fromkeys(row["age"] for row in rows))
        of = {(row["technique"], row["age"]): row for row in rows}
        names = list(TECHNIQUES)
        wide = 2.6 + 0.52 * len(ages) * len(METRICS)
        high = 1.25 + 0.29 * len(names)
        picture = Picture(figsize=(wide, high), dpi=110, facecolor="white")
        for at, (metric, (label, _, more)) in enumerate(METRICS.items()):
            left = (2.35 + at * (0.52 * len(ages) + 0.03)) / wide
            axes = picture.add_axes((left, 0.02, 0.52 * len(ages) / wide - 0.004, 1 - 1.2 / high))
            values = np.array([[of[name, age][metric] for age in ages] for name in names])
            bound = np.maximum(values[names.index(TRACKED)], 1e-9)
            with np.errstate(divide="ignore"):
                ratio = np.log2(np.maximum(values, 1e-9) / bound) * (-1 if more else 1)
            if metric in ("retries", "channel_wasted"):
                ratio = 2 * values / max(values.max(), 1e-9)
            axes.imshow(ratio, cmap="RdYlGn_r", vmin=-2, vmax=2, aspect="auto", alpha=0.75)
            for (y, x), value in np.ndenumerate(values):
                axes.text(
                    x,
                    y,
                    as_significant(float(value), 3 if value >= 1 else 2),
                    ha="center",
                    va="center",
                    fontsize=7,
                    color=plots.INK,
                )
            axes.set_xticks(range(len(ages)), ages, fontsize=6.5, color=plots.FAINT)
            axes.xaxis.tick_top()
            axes.set_yticks(range(len(names)), names if at == 0 else [], fontsize=8.5, color=plots.INK)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            picture.text(left, 1 - 0.78 / high, label, fontsize=9, color=plots.INK, va="center")
        note = (
            "colours: beside references tracked, which no drive can do; retries, channel wasted and GB/s of the drive "
        )
        plots.heading(
            picture, f"Read retry on {drive.config} after {drive.pe_cycles[-1]:,} P/E cycles", note + "saturated"
        )
        return picture

    return draw
