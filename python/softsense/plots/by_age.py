"""Error rates of cells and devices by age and by reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from softsense.plots.style import INK, head

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_rber_by_age(rows: Sequence[dict[str, Any]], name: str) -> Figure:
    """Draw raw bit error rates of cells over time since the write, a line for each number of P/E cycles.

    Args:
        rows: as `softsense.flash.rber_by_age` returns them.
        name: what the cells are called.

    Returns a figure 9 inches wide.
    """
    figure, axes = _rber_panel(f"{name}: default references (solid), and ones that track the age (dashed)")
    cycles = list(dict.fromkeys(row["pe_cycles"] for row in rows))
    days = sorted({row["retention_days"] for row in rows})
    colours = colormaps["viridis"](np.linspace(0.85, 0.0, len(cycles)))
    for number, colour in zip(cycles, colours, strict=True):
        of_cycles = sorted((row for row in rows if row["pe_cycles"] == number), key=lambda row: row["retention_days"])
        _solid_and_dashed(axes, of_cycles, ("retention_days", "default", "tracked"), colour, f"{number:,} P/E cycles")
    # Logarithmic from the first day on, as retention is; the day before it has room, too.
    axes.set_xscale("symlog", linthresh=1, linscale=0.6)
    axes.set_xticks(days, [f"{day:g}" for day in days])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("days since the write")
    axes.legend(loc="upper left", frameon=False, labelcolor=INK, fontsize=9)
    return figure


def draw_reliability_by_age(rows: Sequence[dict[str, Any]], name: str) -> Figure:
    """Draw what a config's reads come to over P/E cycles, a line for each retention.

    Args:
        rows: as `softsense.flash.reliability_by_age` returns them.
        name: what the config is called.

    Returns a figure 12 inches wide.
    """
    figure = Figure(figsize=(12, 4.8), dpi=130, layout="constrained")
    panels = (("rber", f"{name}: mean raw bit error rate"), ("retries", "Mean retries of a read"), ("uber", "UBER"))
    ages = list(dict.fromkeys(row["retention_days"] for row in rows))
    colours = colormaps["viridis"](np.linspace(0.85, 0.0, len(ages)))
    least = 1e-24
    for (column, title), axes in zip(panels, figure.subplots(1, 3), strict=True):
        head(axes, title)
        for days, colour in zip(ages, colours, strict=True):
            of = [row for row in rows if row["retention_days"] == days]
            values = [row[column] if column == "retries" else max(row[column], least) for row in of]
            at = [row["pe_cycles"] for row in of]
            axes.plot(at, values, color=colour, marker="o", markersize=3.5, label=f"after {days:g} days")
        axes.set_xlabel("P/E cycles")
        axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
        if column != "retries":
            axes.set_yscale("log")
        if column == "uber":
            for limit, who in ((1e-15, "client"), (1e-16, "enterprise")):
                axes.axhline(limit, color=INK, linewidth=0.8, linestyle=":")
                axes.annotate(
                    f"JESD218 {who}",
                    (0, limit),
                    xycoords=("axes fraction", "data"),
                    textcoords="offset points",
                    xytext=(3, 2 if who == "client" else -9),
                    fontsize=7.5,
                    color=INK,
                )
        if column == "rber":
            axes.legend(loc="upper left", frameon=False, labelcolor=INK, fontsize=9)
    return figure


def draw_rber_by_reads(rows: Sequence[dict[str, Any]], name: str) -> Figure:
    """Draw raw bit error rates of cells over reads of their block.

    Args:
        rows: as `softsense.flash.rber_by_reads` returns them.
        name: what the cells are called.

    Returns a figure 9 inches wide.
    """
    figure, axes = _rber_panel(f"{name}: default references (solid), and the best ones (dashed)")
    patterns = (("one_neighbour", "a wordline beside is read"), ("even", "the block is read evenly"))
    for (pattern, label), colour in zip(patterns, colormaps["viridis"]([0.75, 0.15]), strict=True):
        of = sorted((row for row in rows if row["pattern"] == pattern), key=lambda row: row["reads"])
        _solid_and_dashed(axes, of, ("reads", "default", "best"), colour, label)
    # Linear up to the first reads that do something, so that none at all have a place, too.
    axes.set_xscale("symlog", linthresh=1000, linscale=0.4)
    most = max(row["reads"] for row in rows)
    ticks = [0, *(10**power for power in range(3, 10) if 10**power <= most)]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("reads of the block since the write")
    axes.legend(loc="upper left", frameon=False, labelcolor=INK, fontsize=9)
    return figure


def _rber_panel(title: str) -> tuple[Figure, Axes]:
    """A figure of raw bit error rates of cells, without its lines and its x axis."""
    figure = Figure(figsize=(9, 5.6), dpi=130, layout="constrained")
    axes = figure.subplots()
    head(axes, title)
    axes.set_yscale("log")
    axes.set_ylabel("mean raw bit error rate of the pages")
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    return figure, axes


def _solid_and_dashed(
    axes: Axes, rows: list[dict[str, Any]], columns: tuple[str, str, str], colour: Any, label: str
) -> None:
    """Two lines of rows in a colour: the columns are those of x, of the solid line and of the dashed one."""
    at, solid, dashed = ([row[column] for row in rows] for column in columns)
    axes.plot(at, solid, color=colour, marker="o", markersize=3.5, label=label)
    axes.plot(at, dashed, color=colour, marker="o", markersize=3.5, linestyle="--", linewidth=1.1)
