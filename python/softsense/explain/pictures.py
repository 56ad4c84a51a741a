"""An explanation as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import _core
from softsense.colours import BAD, BITS, GOOD
from softsense.explain.drawing import WIDE, draw_key
from softsense.explain.explanation import Explanation
from softsense.explain.phrases import for_decoder, references_of, shown
from softsense.explain.pictures_of_reads import draw_steps, draw_timelines
from softsense.explain.reasons import moves_references, steps_of
from softsense.explain.words import heading, told, told_policy

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(found: Explanation) -> Figure:
    """Draw an explanation: states and regions, LLRs, attempts level by level, the steps of a read that moves
    references, and a timeline for each policy.

    Returns a figure 11 inches wide at 150 dpi; save it with its `savefig`.
    """
    from matplotlib.figure import Figure

    from softsense import plots

    lanes = 0.72 * found.reads.height
    read = told_policy(found)
    steps = steps_of(found, read)
    steps_high = 0.8 + 0.4 * len(steps) if moves_references(steps) else 0.0
    # A separate panel, with its title and its x axis.
    steps_take = steps_high + 1.35 if steps_high else 0.0
    height = 7.95 + steps_take + lanes + 0.75
    figure = Figure(figsize=(WIDE, height), dpi=150, facecolor="white")

    def panel(left: float, width: float, top: float, high: float) -> Axes:
        return figure.add_axes((left / WIDE, 1 - (top + high) / height, width / WIDE, high / height))

    said = told(found)
    size = min(10.0, 10.0 * 140 / len(said))
    title = min(13.0, 13.0 * 96 / len(heading(found)))
    figure.text(
        0.3 / WIDE, 1 - 0.3 / height, heading(found), fontsize=title, weight="bold", color=plots.INK, va="center"
    )
    figure.text(0.3 / WIDE, 1 - 0.58 / height, said, fontsize=size, color=plots.FAINT, va="center")
    _draw_states(panel(0.75, 9.95, 1.35, 2.15), found)
    _draw_llrs(panel(0.75, 5.55, 4.5, 2.1), found)
    _draw_attempts(panel(7.35, 3.35, 4.5, 2.1), found)
    if steps_high:
        boundaries = len(references_of(found, 1))
        wide = 6.5 / boundaries
        panels = [panel(2.1 + wide * boundary, wide - 0.12, 7.95, steps_high) for boundary in range(boundaries)]
        draw_steps(panels, found, read["policy"], steps)
    draw_timelines(panel(2.75, 7.95, 7.95 + steps_take, lanes), found)
    note = f"{found.config_name}   seed {found.seed}   softsense {_core.__version__}"
    figure.text(0.3 / WIDE, 0.17 / height, note, fontsize=8.5, color=plots.FAINT, va="center")
    return figure


def _shade(llr: float, most: float) -> tuple[str, float]:
    """The colour of the bit for which a region speaks, and the strength of the colour."""
    return BITS[0 if llr > 0 else 1], 0.04 + 0.26 * min(abs(llr) / most, 1.0)


def _largest(regions: pl.DataFrame) -> float:
    """The largest finite LLR."""
    return max((abs(llr) for llr in regions["llr"] if math.isfinite(llr)), default=1.0)


def _draw_states(axes: Axes, found: Explanation) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from softsense import plots

    volts = plots.voltages(found.cells)
    fresh = found.cells.at(found.cells.pe_cycles, 0.0)
    regions = shown(found)
    plots.head(axes, f"The cells: raw bit error rate {found.rber:.2e}, read at level {found.level}")
    densities = [found.cells.density(state, volts) for state in range(found.cells.states)]
    top = 1.32 * max(density.max() for density in densities)
    for row, density in zip(found.states.iter_rows(named=True), densities, strict=True):
        colour = BITS[row["bit"]]
        axes.fill_between(volts, density, color=colour, alpha=0.4, linewidth=0, zorder=2)
        axes.plot(volts, density, color=colour, linewidth=1.6, zorder=3)
        axes.plot(volts, fresh.density(row["state"], volts), color=colour, linewidth=1.1, linestyle=":", zorder=3)
        axes.annotate(
            row["bits"],
            (row["mean_v"], density.max()),
            (0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=10.5,
            weight="bold",
            color=colour,
            zorder=5,
        )
    largest = _largest(regions)
    for row in regions.iter_rows(named=True):
        low = volts[0] if row["from_v"] is None else row["from_v"]
        high = volts[-1] if row["to_v"] is None else row["to_v"]
        colour, strength = _shade(row["llr"], largest)
        axes.axvspan(low, high, color=colour, alpha=strength, linewidth=0, zorder=0)
    for reference in references_of(found, found.level):
        axes.axvline(reference, color=plots.INK, linewidth=0.8, zorder=4)
    for reference in references_of(found, 1):
        axes.axvline(reference, color=plots.INK, linewidth=1.2, linestyle=(0, (3, 2)), zorder=4)
        at = (reference, top)
        label = f"{reference:.3f} V"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
        place: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top", "zorder": 6, "bbox": box}
        axes.annotate(label, at, (0, -3), fontsize=9, color=plots.INK, **place)
    axes.set_ylim(0, top)
    axes.set_xlim(volts[0], volts[-1])
    axes.set_ylabel("density (1/V)")
    axes.set_xlabel("threshold voltage (V)")
    keys = [
        (Patch(color=BITS[1], alpha=0.6, linewidth=0), f"1 in the {found.page} page"),
        (Patch(color=BITS[0], alpha=0.6, linewidth=0), "0"),
        (Line2D([], [], color=plots.FAINT, linestyle=":", linewidth=1.3), "as written"),
        (Line2D([], [], color=plots.INK, linestyle=(0, (3, 2)), linewidth=1.2), "hard references"),
        (Line2D([], [], color=plots.INK, linewidth=0.8), f"references of level {found.level}"),
    ]
    bits = f"bits of the states: {', '.join(found.cells.pages)}" if len(found.cells.pages) > 1 else ""
    draw_key(axes, keys if found.level > 1 else keys[:-1], bits)


def _draw_llrs(axes: Axes, found: Explanation) -> None:
    from softsense import plots

    regions = shown(found)
    largest = _largest(regions)
    plots.head(axes, f"What each of its {regions.height} regions says")
    size = 9.0 if regions.height <= 16 else 7.5 if regions.height <= 22 else 6.5
    for row in regions.iter_rows(named=True):
        llr = max(-largest, min(largest, row["llr"]))
        colour = BITS[0 if row["llr"] > 0 else 1]
        axes.bar(row["region"], llr, width=0.94, color=colour, alpha=0.75, linewidth=0)
        # The number stands outside the bar.
        up = row["llr"] > 0
        axes.annotate(
            for_decoder(row),
            (row["region"], llr),
            (0, 2 if up else -2),
            textcoords="offset points",
            ha="center",
            va="bottom" if up else "top",
            fontsize=size,
            color=plots.INK,
        )
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_ylim(-1.25 * largest, 1.25 * largest)
    axes.set_xlim(-0.5, regions.height - 0.5)
    references = references_of(found, found.level)
    axes.set_xticks(np.arange(len(references)) + 0.5, [f"{volts:.3f}" for volts in references])
    if len(references) > 8:
        axes.tick_params(axis="x", rotation=90, labelsize=size)
    axes.set_ylabel("LLR")
    axes.set_xlabel("references between the regions (V)")
    draw_key(axes, [], "bars: ln(P(region | 0) / P(region | 1))   numbers: as the decoder gets it")


def _draw_attempts(axes: Axes, found: Explanation) -> None:
    from softsense import plots

    rows = found.attempts.to_dicts()
    # A BCH decoder has no iterations: its bar says whether it decodes.
    heights = [1 if found.decoder is None else row["iterations"] for row in rows]
    top = max(*heights, 1)
    plots.head(axes, "How decoding goes, level by level")
    for row, height in zip(rows, heights, strict=True):
        right = row["converged"] and row["correct"]
        beyond = found.required_level is not None and row["level"] > found.required_level
        colour = GOOD if right else BAD
        axes.bar(row["level"], height, width=0.72, color=colour, alpha=0.4 if beyond else 1.0, linewidth=0)
        if found.decoder is not None:
            bold = "normal" if beyond else "bold"
            place: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 9, "color": plots.INK, "weight": bold}
            axes.text(row["level"], height + 0.03 * top, str(height), **place)
        said = "gives up" if not row["converged"] else "wrong" if not right else "corrects"
        if said != "corrects" or found.decoder is None:
            inside: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 9, "color": "white"}
            axes.text(row["level"], 0.06 * top, said, weight="bold", **inside)
    axes.set_ylim(0, 1.18 * top)
    axes.set_xlim(0.4, max(len(rows), 2) + 0.6)
    labels = [f"{row['level']}\n{row['wrong_signs']:,}\n{row['information_bits']:.3f}" for row in rows]
    axes.set_xticks(range(1, len(rows) + 1), labels, fontsize=8.5)
    axes.tick_params(axis="x", length=0)
    names = "level\nwrong signs\ninformation"
    below: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate(names, (0, 0), (-4, -3), fontsize=8.5, color=plots.FAINT, linespacing=1.2, **below)
    if found.decoder is None:
        axes.set_yticks([])
    else:
        from matplotlib.ticker import MaxNLocator

        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("iterations")
    deeper = found.required_level is not None and found.required_level < found.max_level
    rate = f"information needed: {found.data_bits / found.codeword_bits:.3f}"
    draw_key(axes, [], f"{rate}   pale: not needed" if deeper else rate)
