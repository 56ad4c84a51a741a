"""The picture of the read of a page of cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from softsense._core import Cells
from softsense.colours import BITS, FAINT, INK, STATES
from softsense.plots.paper import Part, columns_of, draw_parts_on_paper
from softsense.plots.printing import settled
from softsense.plots.style import head

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


def draw_cells(
    cells: Cells,
    page: int,
    level: int,
    placement: str = "mutual_information",
    style: str = "screen",
    columns: int | None = None,
) -> Figure:
    """Draw the read of a page: threshold voltages, the references that they meet, and the LLR of each region.

    Args:
        cells: the cells, at their age.
        page: number of the page in the wordline, from 0.
        level: the read level, 1 to 7.
        placement: the placement of references: `mutual_information`, `nested` or `uniform`.
        style: `screen`, or `paper` for text at 8 points in a picture as wide as columns of a paper.
        columns: columns of a paper that the picture spans: 1 (3.5 inches) or 2 (7.16); default: 2.

    Raises `ConfigError`, and `ValueError` for another style, or another number of columns.
    """
    spanned = columns_of(style, columns)
    read = cells.sense(page, level, placement=placement)
    volts = voltages(cells)
    heading = (
        f"{cells.pages[page]} page after {cells.pe_cycles:,} P/E cycles and {cells.retention_hours / 24:,.4g} days: "
        f"raw bit error rate {cells.rber(page):.2e}, {read['information']:.4f} bits of information a bit"
    )

    def referred(draw: Callable[[Axes], None]) -> Callable[[Axes], None]:
        def drawn(axes: Axes) -> None:
            draw(axes)
            for reference in read["references"]:
                axes.axvline(reference, color=INK, linewidth=0.7, alpha=0.55)
            axes.set_xlim(volts[0], volts[-1])

        return drawn

    draws = [
        referred(lambda axes: _draw_states(axes, cells, volts)),
        referred(lambda axes: _draw_bits(axes, cells, page, level, read, volts)),
        referred(lambda axes: _draw_llrs(axes, read, volts)),
    ]
    if spanned is not None:
        parts = [Part(draw, inches) for draw, inches in zip(draws, (1.7, 1.5, 1.6), strict=True)]
        return draw_parts_on_paper(heading, parts, spanned)
    figure = Figure(figsize=(11, 9.5), dpi=110, layout="constrained")
    for axes, draw in zip(figure.subplots(3, 1, sharex=True, height_ratios=[1.2, 1.0, 0.9]), draws, strict=True):
        draw(axes)
    figure.suptitle(heading, x=0.01, ha="left", fontsize=12.5, weight="bold", color=INK)
    return settled(figure)


def _draw_states(axes: Axes, cells: Cells, volts: NDArray[np.float64]) -> None:
    head(axes, "Threshold voltages: as programmed (dotted) and now")
    fresh = cells.at(cells.pe_cycles, 0.0)
    for state in range(cells.states):
        colour = STATES[state % len(STATES)]
        density = cells.density(state, volts)
        axes.fill_between(volts, density, color=colour, alpha=0.3, linewidth=0)
        axes.plot(volts, density, color=colour, linewidth=1.5)
        axes.plot(volts, fresh.density(state, volts), color=colour, linewidth=1.1, linestyle=":")
        held = "".join(str(int(cells.bit(each, state))) for each in range(len(cells.pages)))
        at = float(volts[np.argmax(density)])
        axes.annotate(held, (at, density.max()), (0, 5), "data", "offset points", ha="center", color=INK, fontsize=10)
    axes.set_ylabel("density (1/V)")
    axes.set_ylim(0, 1.18 * axes.get_ylim()[1])
    said = f"bits: {', '.join(cells.pages)} page"
    axes.text(0.995, 0.97, said, transform=axes.transAxes, ha="right", va="top", color=FAINT)


def _draw_bits(
    axes: Axes, cells: Cells, page: int, level: int, read: dict[str, Any], volts: NDArray[np.float64]
) -> None:
    count = len(read["references"])
    plural = "reference" if count == 1 else "references"
    head(axes, f"The {cells.pages[page]} page, read at level {level}: {count} {plural}, {count + 1} regions")
    for bit, colour in enumerate(BITS):
        holding = [state for state in range(cells.states) if cells.bit(page, state) == bool(bit)]
        density = np.sum([cells.density(state, volts) for state in holding], axis=0) / len(holding)
        axes.plot(volts, density, color=colour, linewidth=1.6, label=f"bit {bit}")
    axes.set_yscale("log")
    axes.set_ylim(1e-6, 20)
    axes.set_ylabel("density given the bit (1/V)")
    axes.legend(loc="upper right", frameon=False, labelcolor=INK, fontsize=9)


def _draw_llrs(axes: Axes, read: dict[str, Any], volts: NDArray[np.float64]) -> None:
    head(axes, "What each region says: its log-likelihood ratio, and the integer that the decoder gets")
    ends = np.concatenate([[volts[0]], read["references"], [volts[-1]]])
    for low, high, llr, integer in zip(ends, ends[1:], read["llrs"], read["integer_llrs"], strict=False):
        colour = BITS[0 if llr > 0 else 1]
        axes.fill_between([low, high], 0, llr, color=colour, alpha=0.35, linewidth=0)
        axes.plot([low, high], [llr, llr], color=colour, linewidth=1.6)
        if high - low > 0.035 * (volts[-1] - volts[0]):
            up = llr >= 0
            look: dict[str, Any] = {"ha": "center", "va": "bottom" if up else "top", "fontsize": 8.5}
            at = ((low + high) / 2, llr)
            axes.annotate(f"{integer:+d}", at, (0, 3 if up else -3), "data", "offset points", **look)
    axes.axhline(0, color="#aaaaaa", linewidth=0.8)
    axes.set_ylabel("ln P(region | 0) / P(region | 1)")
    axes.set_xlabel("threshold voltage (V)")
    axes.margins(y=0.2)


def voltages(cells: Cells) -> NDArray[np.float64]:
    """Voltages at which there are cells, now or when they were programmed."""
    wide = np.linspace(-5.0, 15.0, 4001)
    ages = (cells, cells.at(cells.pe_cycles, 0.0))
    found = np.max([age.density(state, wide) for age in ages for state in range(cells.states)], axis=0)
    there = np.flatnonzero(found > 1e-3)
    return np.linspace(wide[there[0]], wide[there[-1]], 1600)
