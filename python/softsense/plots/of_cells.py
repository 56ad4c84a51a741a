"""How a page of cells is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from softsense._core import Cells
from softsense.colours import BITS, FAINT, INK, STATES
from softsense.plots.printing import settled
from softsense.plots.style import head

if TYPE_CHECKING:
    from numpy.typing import NDArray


def draw_cells(cells: Cells, page: int, level: int, placement: str = "mutual_information") -> Figure:
    """Draw how a page is read: threshold voltages, the references with which they are compared, and the LLR of each
    region.

    Args:
        cells: the cells, at their age.
        page: which page of the wordline, from 0.
        level: the read level, 1 to 7.
        placement: where its references are: `mutual_information`, `nested` or `uniform`.

    Raises `ConfigError`.
    """
    read = cells.sense(page, level, placement=placement)
    name = cells.pages[page]
    volts = voltages(cells)
    ends = np.concatenate([[volts[0]], read["references"], [volts[-1]]])
    figure = Figure(figsize=(11, 9.5), dpi=110, layout="constrained")
    states, bits, llrs = figure.subplots(3, 1, sharex=True, height_ratios=[1.2, 1.0, 0.9])

    head(states, "Threshold voltages: as programmed (dotted) and now")
    fresh = cells.at(cells.pe_cycles, 0.0)
    for state in range(cells.states):
        colour = STATES[state % len(STATES)]
        density = cells.density(state, volts)
        states.fill_between(volts, density, color=colour, alpha=0.3, linewidth=0)
        states.plot(volts, density, color=colour, linewidth=1.5)
        states.plot(volts, fresh.density(state, volts), color=colour, linewidth=1.1, linestyle=":")
        held = "".join(str(int(cells.bit(each, state))) for each in range(len(cells.pages)))
        at = float(volts[np.argmax(density)])
        states.annotate(held, (at, density.max()), (0, 5), "data", "offset points", ha="center", color=INK, fontsize=10)
    states.set_ylabel("density (1/V)")
    states.set_ylim(0, 1.18 * states.get_ylim()[1])
    states.text(
        0.995,
        0.97,
        f"bits: {', '.join(cells.pages)} page",
        transform=states.transAxes,
        ha="right",
        va="top",
        color=FAINT,
    )

    plural = "reference" if len(read["references"]) == 1 else "references"
    head(bits, f"The {name} page, read at level {level}: {len(read['references'])} {plural}, {len(ends) - 1} regions")
    for bit, colour in enumerate(BITS):
        holding = [state for state in range(cells.states) if cells.bit(page, state) == bool(bit)]
        density = np.sum([cells.density(state, volts) for state in holding], axis=0) / len(holding)
        bits.plot(volts, density, color=colour, linewidth=1.6, label=f"bit {bit}")
    bits.set_yscale("log")
    bits.set_ylim(1e-6, 20)
    bits.set_ylabel("density given the bit (1/V)")
    bits.legend(loc="upper right", frameon=False, labelcolor=INK, fontsize=9)

    head(llrs, "What each region says: its log-likelihood ratio, and the integer that the decoder gets")
    for low, high, llr, integer in zip(ends, ends[1:], read["llrs"], read["integer_llrs"], strict=False):
        colour = BITS[0 if llr > 0 else 1]
        llrs.fill_between([low, high], 0, llr, color=colour, alpha=0.35, linewidth=0)
        llrs.plot([low, high], [llr, llr], color=colour, linewidth=1.6)
        if high - low > 0.035 * (volts[-1] - volts[0]):
            place = (0, 3 if llr >= 0 else -3)
            side = "bottom" if llr >= 0 else "top"
            llrs.annotate(
                f"{integer:+d}",
                ((low + high) / 2, llr),
                place,
                "data",
                "offset points",
                ha="center",
                va=side,
                fontsize=8.5,
            )
    llrs.axhline(0, color="#aaaaaa", linewidth=0.8)
    llrs.set_ylabel("ln P(region | 0) / P(region | 1)")
    llrs.set_xlabel("threshold voltage (V)")
    llrs.margins(y=0.2)
    for axes in (states, bits, llrs):
        for reference in read["references"]:
            axes.axvline(reference, color=INK, linewidth=0.7, alpha=0.55)
        axes.set_xlim(volts[0], volts[-1])
    days = cells.retention_hours / 24
    figure.suptitle(
        f"{name} page after {cells.pe_cycles:,} P/E cycles and {days:,.4g} days: "
        f"raw bit error rate {cells.rber(page):.2e}, {read['information']:.4f} bits of information a bit",
        x=0.01,
        ha="left",
        fontsize=12.5,
        weight="bold",
        color=INK,
    )
    return settled(figure)


def voltages(cells: Cells) -> NDArray[np.float64]:
    """Voltages where cells are to be found, now or when they were programmed."""
    wide = np.linspace(-5.0, 15.0, 4001)
    ages = (cells, cells.at(cells.pe_cycles, 0.0))
    found = np.max([age.density(state, wide) for age in ages for state in range(cells.states)], axis=0)
    there = np.flatnonzero(found > 1e-3)
    return np.linspace(wide[there[0]], wide[there[-1]], 1600)
