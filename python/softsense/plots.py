"""Pictures: of a comparison where reads spend their time, their tail, what soft sensing costs, and the levels; of an
LDPC code its base matrix and its Tanner graph; of frame error rates and decode tables their curves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator
from matplotlib.transforms import blended_transform_factory

from softsense import _core
from softsense._core import Cells, Code, CodeError
from softsense.api import NO_SOFT_SENSING, Comparison, RunResult
from softsense.colours import BASELINE, PARTS, POLICIES, SPARE, of_runs
from softsense.tables import TIME_PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from softsense.campaign import FerResult
    from softsense.traps import Trap

_KIND_COLOURS = {"read": "#0072b2", "write": "#d55e00", "all": "#7f7f7f"}
# From hard decisions to the deepest level.
LEVEL_COLOURS = ["#d55e00", "#e69f00", "#009e73", "#56b4e9", "#0072b2", "#5e4fa2", "#000000"]
_TAILS = {"p99": 1e-2, "p999": 1e-3}
_MARKERS = {"mean": "o", "p99": "D", "p999": "^"}
_STATS = {"mean": "mean", "p99": "p99", "p999": "p99.9"}
STATE_COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d31", "#5e4fa2"]
BIT_COLOURS = ["#0072b2", "#d55e00"]
_MOST_DRAWN_BITS = 256
PANELS = ("time_split", "tail", "slowdown", "responses", "levels")
"""What of a comparison can be drawn by itself; see `draw_panel`."""
INK = "#222222"
FAINT = "#6b6b6b"


def draw(comparison: Comparison, title: str | None = None) -> Figure:
    """Draw a comparison, or a single run.

    Args:
        comparison: what was measured.
        title: names workload and device; default: what the summaries say.

    Returns a figure of 13 x 8 inches at 150 dpi; save it with its `savefig`. Its four axes bear the names of what they
    show as labels, as `draw_panel` has them, for those who want to restyle them.
    """
    runs = comparison.all_runs
    # More than seven rows get a taller picture, not smaller print; header and footer keep their height in inches.
    height = 8 + 0.55 * max(0, len(runs) - 7)
    figure = Figure(figsize=(13, height), dpi=150, facecolor="white")
    panels = figure.subplots(2, 2, gridspec_kw={"width_ratios": [1.12, 1], "height_ratios": [1, 1]})
    longest = max(len(_label(r)) for r in runs)
    figure.subplots_adjust(
        left=0.025 + 0.0066 * max(longest, 8),
        right=0.955,
        top=1 - 1.24 / height,
        bottom=0.92 / height,
        wspace=0.2,
        hspace=0.5 if len(runs) <= 7 else 0.36,
    )
    colours = of_runs(runs)
    names = ("time_split", "tail", "slowdown" if comparison.baseline else "responses", "levels")
    for axes, name in zip(panels.flat, names, strict=True):
        draw_panel(comparison, name, axes)
    first = runs[0].summary
    heading = "What each way of reading costs" if len(runs) > 1 else f"Reading with {_label(runs[0])}"
    heading = f"{heading}: {title}" if title else heading
    size = min(15, 15 * 92 / len(heading))
    figure.text(0.025, 1 - 0.28 / height, heading, fontsize=size, weight="bold", color=INK, va="center")
    _policy_key(figure, runs, colours)
    interrupted = "interrupted   " if comparison.interrupted else ""
    note = (
        f"{interrupted}{max(r.summary['requests'] for r in runs):,} requests   seed {first['seed']}   "
        f"softsense {first['softsense_version']}, model {first['model_version']}"
    )
    figure.text(0.025, 0.15 / height, note, fontsize=8.5, color=FAINT, va="center")
    return figure


def draw_panel(comparison: Comparison, panel: str, axes: Axes) -> None:
    """Draw one panel of a comparison into axes, which take its name as their label.

    Args:
        comparison: what was measured.
        panel: `time_split` (where a codeword read's time goes), `tail` (of the response time; its lines have labels for
            a legend), `slowdown` (against the baseline), `responses` (mean, p99, p99.9) or `levels` (read levels).
        axes: those of any figure.

    Raises `ValueError` for another panel, or for a slowdown without a baseline.
    """
    if panel not in PANELS:
        raise ValueError(f"panel: found `{panel}`, expected {', '.join(PANELS)}")
    if panel == "slowdown" and not comparison.baseline:
        raise ValueError("panel: found `slowdown` without a baseline, expected a comparison that has one")
    runs = comparison.all_runs
    colours = of_runs(runs)
    kind = "read" if any(r.summary["response"]["read"]["count"] for r in runs) else "write"
    axes.set_label(panel)
    if panel == "time_split":
        _time_split(axes, runs, colours)
    elif panel == "tail":
        _tail(axes, runs, colours, kind)
    elif panel == "slowdown":
        _slowdown(axes, comparison, colours, kind)
    elif panel == "responses":
        _responses(axes, runs, colours, kind)
    else:
        _levels(axes, runs, colours)


def draw_code(code: Code) -> Figure:
    """Draw the base matrix of an LDPC code, its circulants coloured by their shift and zero blocks left empty.

    Of a code of at most 256 bits the Tanner graph is drawn below. A code made from an alist has no base matrix: the
    ones of its parity-check matrix are drawn instead. Raises `CodeError` for a BCH code.

    Returns a figure 13 inches wide at 150 dpi; save it with its `savefig`.
    """
    if code.kind != "ldpc":
        raise CodeError(f"{code.name}: found a BCH code, expected an LDPC code: only that has a matrix to draw")
    base = code.base_matrix()
    rows, columns = (code.checks, code.codeword_bits) if base is None else base.shape
    below = 4.6 if code.codeword_bits <= _MOST_DRAWN_BITS else 0.0
    # Blocks are squares where there is room for it; header and footer keep their height in inches.
    above = min(max(11.6 * rows / columns, 2.0), 4.0 if below else 9.0)
    height = 1.2 + above + 0.7 + below
    figure = Figure(figsize=(13, height), dpi=150, facecolor="white")
    left, width = 0.06, 0.89
    axes = figure.add_axes((left, 1 - (1.2 + above) / height, width, above / height))
    if base is None:
        _ones(axes, code)
    else:
        _base_matrix(axes, code, base)
    if below:
        _tanner_graph(figure.add_axes((left, 0.35 / height, width, (below - 0.9) / height)), code)
    figure.text(
        0.025,
        1 - 0.3 / height,
        f"LDPC code {code.name}",
        fontsize=15,
        weight="bold",
        color=INK,
        va="center",
        parse_math=False,
    )
    note = f"n = {code.codeword_bits:,}   k = {code.data_bits:,}   rate {code.rate:.4f}"
    figure.text(0.955, 1 - 0.3 / height, note, fontsize=9.5, color=FAINT, ha="right", va="center")
    return figure


def draw_fer(result: FerResult, title: str | None = None, axes: Axes | None = None) -> Figure:
    """Draw frame error rates, or the failure probabilities of a decode table, against raw bit error rate.

    A line is a level, with the band of its intervals; points that are incomplete, or no more than bounds, are hollow;
    what no method saw is at most the pale dashed line. A vertical line marks the capacity of hard decisions at the
    code's rate.

    Returns a figure of 13 x 8 inches at 150 dpi; save it with its `savefig`. With `axes`, which may show other results
    already, the curves are drawn into them, under the title if there is one, and their figure is returned.
    """
    named = result.description
    if axes is not None:
        head(axes, title or "")
        _fer_curves(axes, result)
        return axes.get_figure(root=True)
    figure = Figure(figsize=(13, 8), dpi=150, facecolor="white")
    axes = figure.add_axes((0.075, 0.09, 0.88, 0.78))
    heading = title or f"Frame error rate of {named['code']}"
    head(axes, "")
    figure.text(0.025, 0.955, heading, fontsize=15, weight="bold", color=INK, va="center", parse_math=False)
    _fer_curves(axes, result)
    how = named["decoder"] or "BCH"
    if named.get("iterations"):
        how += f", at most {named['iterations']} iterations, seed {named['seed']}"
    note = f"{how}   bands: 95 %   hollow: incomplete, or a bound   dashed: unlisted, at most"
    interrupted = "interrupted   " if result.interrupted else ""
    figure.text(0.025, 0.915, interrupted + note, fontsize=9, color=FAINT, va="center", parse_math=False)
    return figure


def _fer_curves(axes: Axes, result: FerResult) -> None:
    named = result.description
    # What is mostly missing says nothing.
    told = [point["fer"] for point in result.points if point["missing"] is not None and point["missing"] < 1]
    lowest = 10.0 ** math.floor(math.log10(min((fer for fer in told if fer > 0), default=1e-3)) - 0.5)
    for level in result.levels:
        _fer_curve(axes, level, result.curve(level), lowest, named.get("interpolation") == "step")
    axes.set_yscale("log")
    axes.set_ylim(lowest, 2)
    axes.set_xlabel("raw bit error rate")
    axes.set_ylabel("probability that decoding fails")
    axes.grid(color="#e6e6e6", linewidth=0.7)
    if limit := named.get("shannon_limit"):
        axes.axvline(limit, color=INK, linewidth=1, linestyle=(0, (1, 2)))
        place = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "xytext": (-5, 8)}
        label = {"rotation": 90, "ha": "right", "va": "bottom", "fontsize": 8.5, "color": FAINT}
        axes.annotate(f"capacity of hard decisions: {limit:.5f}", (limit, 0), **place, **label)
    # The curves rise to the right.
    axes.legend(loc="upper left", bbox_to_anchor=(0.01, 0.97), fontsize=9.5, labelcolor=INK, frameon=False)


def _fer_curve(axes: Axes, level: int, points: list[dict[str, Any]], lowest: float, steps: bool) -> None:
    colour = LEVEL_COLOURS[level - 1]
    shown = [point for point in points if point["fer"] >= lowest]
    rber = [point["rber"] for point in shown]
    fer = [point["fer"] for point in shown]
    label = f"level {level}" + (" (hard decision)" if level == 1 else "")
    axes.plot(rber, fer, color=colour, linewidth=1.6, label=label, drawstyle="steps-post" if steps else "default")
    for complete, face in ((True, colour), (False, "white")):
        some = [point for point in shown if point["complete"] == complete]
        at = [point["rber"] for point in some], [point["fer"] for point in some]
        axes.plot(*at, "o", color=colour, markerfacecolor=face, markersize=5, linestyle="none")
    if shown and all(point["lo"] is not None for point in shown):
        band = [[max(point[end], lowest / 10) for point in shown] for end in ("lo", "hi")]
        axes.fill_between(rber, *band, color=colour, alpha=0.18, linewidth=0)
    # Frames as they come leave nothing unlisted.
    bounds = [(point["rber"], point["unlisted"]) for point in points if point["unlisted"] > 0]
    axes.plot(
        [rber for rber, _ in bounds],
        [bound for _, bound in bounds],
        color=colour,
        alpha=0.35,
        linewidth=1,
        linestyle="--",
    )


def draw_trap(code: Code, trap: Trap) -> Figure:
    """Draw the graph of an absorbing set: its bits as circles, satisfied checks as lines between two of them, violated
    checks as squares.

    Returns a figure of 8 x 8 inches at 150 dpi; save it with its `savefig`.
    """
    checks: dict[int, list[int]] = {}
    for bit, of_bit in zip(trap.bits, _core.checks_of(code, list(trap.bits)), strict=True):
        for check in of_bit:
            checks.setdefault(check, []).append(bit)
    tied = [tuple(bits) for bits in checks.values() if len(bits) == 2]
    # Along a path through as many bits as possible, so that few lines cross.
    order = _long_path(trap.bits, tied)
    angle = {bit: 2 * math.pi * i / len(order) for i, bit in enumerate(order)}
    at = {bit: (math.sin(turn), math.cos(turn)) for bit, turn in angle.items()}
    figure = Figure(figsize=(8, 8), dpi=150, facecolor="white")
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.88))
    for one, other in tied:
        axes.plot(*zip(at[one], at[other], strict=True), color=INK, linewidth=1.4, zorder=1)
    for bit in order:
        violated = [check for check, bits in checks.items() if len(bits) % 2 and bit in bits]
        for i, _ in enumerate(violated):
            turn = angle[bit] + 0.25 * (i - (len(violated) - 1) / 2)
            outside = (1.32 * math.sin(turn), 1.32 * math.cos(turn))
            axes.plot(*zip(at[bit], outside, strict=True), color=FAINT, linewidth=1.2, zorder=1)
            axes.plot(*outside, "s", color="#c0392b", markersize=11, zorder=2)
    for bit, place in at.items():
        axes.plot(*place, "o", color="#2c6fbb", markersize=34, zorder=3)
        axes.annotate(f"{bit}", place, ha="center", va="center", fontsize=8, color="white", zorder=4)
    axes.set_xlim(-1.5, 1.5)
    axes.set_ylim(-1.5, 1.5)
    axes.set_aspect("equal")
    axes.set_axis_off()
    heading = (
        f"{code.name}: a ({len(trap.bits)}, {trap.violated}) absorbing set, one of {trap.multiplicity} of its orbit"
    )
    figure.text(0.03, 0.955, heading, fontsize=13, weight="bold", color=INK, va="center", parse_math=False)
    note = "circles: wrong bits   lines: checks that two of them satisfy   squares: violated checks"
    figure.text(0.03, 0.92, note, fontsize=9, color=FAINT, va="center")
    return figure


def _long_path(bits: Sequence[int], tied: Sequence[tuple[int, ...]]) -> list[int]:
    """The bits in the order of a longest path along ties, closed if there is such a one; what is left comes last."""
    neighbours: dict[int, list[int]] = {bit: [] for bit in bits}
    for one, other in tied:
        neighbours[one].append(other)
        neighbours[other].append(one)
    best: list[int] = []
    stack = [[bits[0]]]
    while stack:
        path = stack.pop()
        closed = path[0] in neighbours[path[-1]]
        if len(path) > len(best) or (len(path) == len(best) and closed):
            best = path
            if closed and len(path) == len(bits):
                break
        stack += [[*path, bit] for bit in neighbours[path[-1]] if bit not in path]
    return [*best, *(bit for bit in bits if bit not in best)]


def _base_matrix(axes: Axes, code: Code, base: NDArray[np.int32]) -> None:
    rows, columns = base.shape
    head(axes, f"Base matrix: {rows} x {columns} circulants of size {code.circulant_size:,}, coloured by shift")
    # No colour of this map is near white, which is for zero blocks.
    image = axes.imshow(
        np.ma.masked_less(base, 0),
        cmap="viridis",
        vmin=0,
        vmax=code.circulant_size - 1,
        aspect="auto",
        interpolation="nearest",
    )
    for edge in np.arange(0.5, columns - 1):
        axes.axvline(edge, color="#eeeeee", linewidth=0.6 if columns <= 80 else 0.3)
    for edge in np.arange(0.5, rows - 1):
        axes.axhline(edge, color="#eeeeee", linewidth=0.6 if rows <= 40 else 0.3)
    if code.encoding == "structured":
        axes.axvline(columns - rows - 0.5, color=INK, linewidth=1.4)
        axes.text(columns - rows - 0.2, -0.6, "parity", fontsize=9, color=INK, ha="left", va="bottom")
        axes.text(columns - rows - 0.8, -0.6, "data", fontsize=9, color=INK, ha="right", va="bottom")
    if columns <= 16:
        for (row, column), shift in np.ndenumerate(base):
            if shift >= 0:
                colour = "white" if shift < 0.6 * code.circulant_size else INK
                axes.text(column, row, shift, ha="center", va="center", fontsize=9, color=colour)
    axes.set_xlabel("block column")
    axes.set_ylabel("block row")
    for axis, count in ((axes.xaxis, columns), (axes.yaxis, rows)):
        step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, count) if count / step <= 20)
        axis.set_major_locator(FixedLocator(range(0, count, step)))
    for side in axes.spines.values():
        side.set_visible(True)
        side.set_color("#aaaaaa")
    key = axes.figure.colorbar(image, cax=axes.inset_axes((1.012, 0, 0.012, 1)))
    key.outline.set_visible(False)
    key.locator = MaxNLocator(8, integer=True)
    key.update_ticks()
    key.ax.tick_params(colors=FAINT, labelsize=8.5)


def _ones(axes: Axes, code: Code) -> None:
    head(axes, f"Parity-check matrix: {code.checks:,} x {code.codeword_bits:,}, its ones")
    rows, columns = code.edges()
    size = min(8.0, max(0.3, 500 / code.codeword_bits))
    axes.plot(columns, rows, "s", color="#0072b2", markersize=size, markeredgewidth=0, rasterized=len(rows) > 20_000)
    axes.set_xlim(-0.5, code.codeword_bits - 0.5)
    axes.set_ylim(code.checks - 0.5, -0.5)
    axes.set_xlabel("bit")
    axes.set_ylabel("check")


def _tanner_graph(axes: Axes, code: Code) -> None:
    head(axes, "Tanner graph: each check (square) and its bits (circles: data filled, parity open)")
    rows, columns = code.edges()
    n, checks = code.codeword_bits, code.checks
    at_bit = (np.arange(n) + 0.5) / n
    at_check = (np.arange(checks) + 0.5) / checks
    ends = np.stack([np.stack([at_check[rows], np.ones(len(rows))], 1), np.stack([at_bit[columns], 0 * columns], 1)], 1)
    # Checks of one circulant have one colour, so that its parallel edges are seen.
    group = rows // (code.circulant_size or 1)
    palette = list(POLICIES.values()) + SPARE
    colours = [palette[g % len(palette)] for g in group]
    axes.add_collection(LineCollection(list(ends), colors=colours, linewidths=0.5, alpha=0.65))
    size = min(6.0, 900 / n)
    data = np.zeros(n, dtype=bool)
    data[code.data_positions()] = True
    for chosen, face in ((data, INK), (~data, "white")):
        style = {"markersize": size, "markerfacecolor": face, "markeredgecolor": INK, "markeredgewidth": 0.8}
        axes.plot(at_bit[chosen], np.zeros(chosen.sum()), "o", clip_on=False, zorder=3, **style)
    axes.plot(at_check, np.ones(checks), "s", color=INK, markersize=size, clip_on=False, zorder=3)
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 1], [f"{n} bits", f"{checks} checks"])
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def draw_cells(cells: Cells, page: int, level: int, placement: str = "mutual_information") -> Figure:
    """Draw how a page is read: threshold voltages, the references that it is compared with, and what each region says.

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
        colour = STATE_COLOURS[state % len(STATE_COLOURS)]
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
    for bit, colour in enumerate(BIT_COLOURS):
        holding = [state for state in range(cells.states) if cells.bit(page, state) == bool(bit)]
        density = sum(cells.density(state, volts) for state in holding) / len(holding)
        bits.plot(volts, density, color=colour, linewidth=1.6, label=f"bit {bit}")
    bits.set_yscale("log")
    bits.set_ylim(1e-6, 20)
    bits.set_ylabel("density given the bit (1/V)")
    bits.legend(loc="upper right", frameon=False, labelcolor=INK, fontsize=9)

    head(llrs, "What each region says: its log-likelihood ratio, and the integer that the decoder gets")
    for low, high, llr, integer in zip(ends, ends[1:], read["llrs"], read["integer_llrs"], strict=False):
        colour = BIT_COLOURS[0 if llr > 0 else 1]
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
    return figure


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


def voltages(cells: Cells) -> NDArray[np.float64]:
    """Voltages where cells are to be found, now or when they were programmed."""
    wide = np.linspace(-5.0, 15.0, 4001)
    ages = (cells, cells.at(cells.pe_cycles, 0.0))
    found = np.max([age.density(state, wide) for age in ages for state in range(cells.states)], axis=0)
    there = np.flatnonzero(found > 1e-3)
    return np.linspace(wide[there[0]], wide[there[-1]], 1600)


def _policy_key(figure: Figure, runs: list[RunResult], colours: list[str]) -> None:
    """One key for all panels: names in their colours, on a line under the title."""
    if len(runs) == 1:
        return
    handles = [Line2D([], [], color=colour, linewidth=5, solid_capstyle="butt") for colour in colours]
    figure.legend(
        handles,
        [_label(r) for r in runs],
        loc="center left",
        bbox_to_anchor=(0.018, 1 - 0.6 / figure.get_figheight()),
        ncols=min(len(runs), 7),
        frameon=False,
        fontsize=9.5 if len(runs) <= 7 else 8.5,
        handlelength=1.2,
        columnspacing=1.6,
        labelcolor=INK,
    )


def _time_split(axes: Axes, runs: list[RunResult], colours: list[str]) -> None:
    reads = [r.summary["codeword_reads"] for r in runs]
    head(axes, "Where a codeword read's time goes")
    if not any(r["count"] for r in reads):
        _nothing(axes, "no codeword was read from flash")
        return
    means = np.array([r["mean_us"] or 0.0 for r in reads])
    # Where one policy takes many times as long as another, the others' bars would vanish: then shares are drawn.
    known = means[means > 0]
    shares = known.max() > 12 * known.min()
    scale = np.where(means > 0, means, 1.0) / 100 if shares else np.ones(len(runs))
    widest = float((means / scale).max())
    rows = np.arange(len(runs))
    left = np.zeros(len(runs))
    for part, label in TIME_PARTS.items():
        width = np.array([r["time_us"][part] or 0.0 for r in reads]) / scale
        axes.barh(rows, width, left=left, height=0.66, color=PARTS[part], label=label, linewidth=0)
        for row, (start, span) in enumerate(zip(left, width, strict=True)):
            text = f"{span:.0f} %" if shares else _us(span)
            if span > 0.018 * (len(text) + 0.5) * widest:
                colour = "white" if part in ("sense", "transfer", "decode", "retries") else INK
                axes.text(start + span / 2, row, text, ha="center", va="center", fontsize=8.5, color=colour)
        left += width
    for row, mean in enumerate(means):
        axes.text(left[row] + 0.012 * widest, row, _time(mean), va="center", fontsize=10, weight="bold", color=INK)
    axes.set_xlim(0, 1.2 * widest)
    if shares:
        axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("share of a codeword read's mean time (%)" if shares else "mean time of a codeword read (µs)")
    _policy_rows(axes, runs, colours)
    _legend(
        axes,
        at=(0.02, 0.985),
        bbox_transform=blended_transform_factory(axes.figure.transFigure, axes.transAxes),
        ncols=len(TIME_PARTS),
        handlelength=0.9,
        handletextpad=0.4,
        columnspacing=0.9,
    )
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)


def _legend(axes: Axes, *entries: Any, at: tuple[float, float], **spacing: Any) -> None:
    """One row of keys between the head of a panel and its data."""
    axes.legend(
        *entries,
        loc="lower left",
        bbox_to_anchor=at,
        frameon=False,
        fontsize=8.5,
        borderaxespad=0,
        labelcolor=INK,
        **spacing,
    )


def _tail(axes: Axes, runs: list[RunResult], colours: list[str], kind: str) -> None:
    single = len(runs) == 1
    head(axes, "Tail of the response time" if single else f"Tail of {kind} response")
    curves = (
        [(runs[0], k, _KIND_COLOURS[k]) for k in ("read", "write")]
        if single
        else [(r, kind, colour) for r, colour in zip(runs, colours, strict=True)]
    )
    floor = 1.0
    fastest = math.inf
    drawn = []
    for result, which, colour in curves:
        response = result.summary["response"][which]
        if not response["count"]:
            continue
        table = result.distribution(which)
        x, fraction = table["response_us"].to_numpy(), table["fraction"].to_numpy()
        # A handful of requests that the controller serves at once would squeeze everything else to the right.
        fastest = min(fastest, x[np.searchsorted(fraction, 0.05)])
        # Nothing is slower than the slowest: the last step falls to zero, which this axis does not have.
        above = np.concatenate(([1.0], np.maximum(1.0 - fraction, 1e-12)))
        x = np.concatenate((x[:1], x))
        floor = min(floor, 1.0 / response["count"])
        style = (0, (4, 1.5)) if result.name == NO_SOFT_SENSING else "solid"
        label = f"{which}s" if single else _label(result)
        line = {"color": colour, "linewidth": 1.9, "linestyle": style, "label": label}
        axes.plot(x, above, drawstyle="steps-post", alpha=0.95, **line)
        for stat, share in _TAILS.items():
            if response["count"] * share >= 1:
                axes.plot(
                    response[f"{stat}_us"], share, _MARKERS[stat], color=colour, markersize=6, markeredgecolor="white"
                )
        drawn.append((which, colour))
    if not drawn:
        _nothing(axes, "no requests")
        return
    axes.set_xscale("log")
    axes.set_xlim(left=0.7 * fastest)
    axes.set_yscale("log")
    low = max(min(floor, 1e-3) * 0.7, 1e-7)
    axes.set_ylim(low, 1.3)
    axes.set_xlabel("response time")
    axes.set_ylabel("share of requests that take longer")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: _percent(share)))
    _plain_log(axes, _tick_time)
    for label, share in {"p50": 0.5, "p95": 0.05, "p99": 1e-2, "p99.9": 1e-3}.items():
        if share >= low:
            axes.axhline(share, color="#d5d5d5", linewidth=0.8, zorder=0)
            axes.annotate(
                label,
                (1, share),
                xycoords=("axes fraction", "data"),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=FAINT,
            )
    if single:
        _legend(
            axes,
            [Line2D([], [], color=colour, linewidth=3) for _, colour in drawn],
            [f"{which}s" for which, _ in drawn],
            at=(-0.01, 1.0),
            ncols=2,
            handlelength=1.2,
        )


def _slowdown(axes: Axes, comparison: Comparison, colours: list[str], kind: str) -> None:
    head(axes, f"{kind.capitalize()} response against no soft sensing")
    runs = comparison.runs
    values = {stat: [comparison.slowdown(r, stat, kind) for r in runs] for stat in _STATS}
    known = [v for column in values.values() for v in column if v]
    if not known:
        _nothing(axes, "nothing to compare")
        return
    _dots(axes, runs, colours[1:], values, _times)
    axes.axvline(1, color=BASELINE, linewidth=1.4, linestyle=(0, (4, 1.5)), zorder=1)
    axes.set_xlabel("slowdown (no soft sensing = 1)")
    low, high = min(1.0, *known), max(1.0, *known)
    if high / low > 8:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.25, high * (high / low) ** 0.22)
        _plain_log(axes, lambda v: f"{v:,.10g}")
    else:
        room = max(high - low, 0.05)
        axes.set_xlim(low - 0.06 * room, high + 0.16 * room)


def _responses(axes: Axes, runs: list[RunResult], colours: list[str], kind: str) -> None:
    """In place of slowdowns where there is no baseline: response times themselves."""
    if len(runs) > 1:
        head(axes, f"{kind.capitalize()} response")
        names, rows, shades = None, [(r, kind) for r in runs], colours
    else:
        head(axes, "Response time by kind of request")
        rows = [(runs[0], k) for k in ("read", "write", "all") if runs[0].summary["response"][k]["count"]]
        names, shades = [k for _, k in rows], [_KIND_COLOURS[k] for _, k in rows]
    values = {stat: [r.summary["response"][k][f"{stat}_us"] for r, k in rows] for stat in _STATS}
    known = [v for column in values.values() for v in column if v]
    if not known:
        _nothing(axes, "no requests")
        return
    _dots(axes, [r for r, _ in rows], shades, values, _time, names)
    low, high = min(known), max(known)
    axes.set_xscale("log")
    axes.set_xlim(low / 1.3, high * max(high / low, 3) ** 0.2)
    _plain_log(axes, _tick_time)
    axes.set_xlabel("response time")


def _dots(
    axes: Axes,
    runs: list[RunResult],
    colours: list[str],
    values: dict[str, list[float | None]],
    say: Callable[[float], str],
    names: list[str] | None = None,
) -> None:
    """One row per run: mean, p99 and p99.9 on their own lines, so that no two markers or numbers meet."""
    offsets = dict(zip(_STATS, (-0.25, 0.0, 0.25), strict=True))
    for stat, offset in offsets.items():
        for row, value in enumerate(values[stat]):
            if value is None:
                continue
            axes.plot(
                value, row + offset, _MARKERS[stat], color=colours[row], markersize=7, markeredgecolor="white", zorder=3
            )
            axes.annotate(
                say(value),
                (value, row + offset),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=INK,
                weight="bold" if stat == "mean" else "normal",
                zorder=4,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8},
            )
    for row in range(len(runs) - 1):
        axes.axhline(row + 0.5, color="#eeeeee", linewidth=0.8, zorder=0)
    _policy_rows(axes, runs, colours, names)
    handles = [Line2D([], [], marker=_MARKERS[s], linestyle="", color=FAINT, markersize=6) for s in _STATS]
    _legend(axes, handles, list(_STATS.values()), at=(-0.01, 0.985), ncols=3, handletextpad=0.2, columnspacing=0.9)
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)


def _levels(axes: Axes, runs: list[RunResult], colours: list[str]) -> None:
    head(axes, "Read level at which codewords decoded")
    shown = [(r, c) for r, c in zip(runs, colours, strict=True) if r.name != NO_SOFT_SENSING]
    counts = [np.array(r.summary["codeword_reads"]["level_histogram"], dtype=float) for r, _ in shown]
    if not any(c.sum() for c in counts):
        _nothing(axes, "no codeword was read from flash")
        return
    shares = [c / c.sum() if c.sum() else c for c in counts]
    positive = [s for share in shares for s in share if s > 0]
    floor = 10 ** math.floor(math.log10(min(positive)) - 0.3)
    deepest = max(np.flatnonzero(share)[-1] + 1 for share in shares if share.any())
    width = min(0.8 / len(shown), 0.34)
    for i, ((_, colour), share) in enumerate(zip(shown, shares, strict=True)):
        at = np.arange(1, deepest + 1) + (i - (len(shown) - 1) / 2) * width
        axes.bar(at, share[:deepest], width=0.92 * width, bottom=0, color=colour)
    for level in range(1, deepest + 1):
        # The policies meet the same codewords, so most bars of a level are equal: each height is said once.
        heights = [share[level - 1] for share in shares]
        for first, last in _runs_of_equals(heights):
            left = level + (first - len(shown) / 2) * width
            right = left + (last - first + 1) * width
            # Beside the last bars of a level there is room; over others a number stands in the middle.
            at, side = (left, "left") if first > 0 and last == len(shown) - 1 else ((left + right) / 2, "center")
            axes.text(at, heights[last] * 1.2, _percent(heights[last]), ha=side, va="bottom", fontsize=8, color=INK)
    axes.set_yscale("log")
    axes.set_ylim(floor, 4.0)
    axes.set_xlim(0.4, max(deepest, 2) + 0.7)
    axes.xaxis.set_major_locator(FixedLocator(range(1, max(deepest, 2) + 1)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: _percent(share)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("read level (1 = hard sensing)")
    axes.set_ylabel("share of codeword reads")
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    lost = max(r.summary["codeword_reads"]["uncorrectable"] for r, _ in shown)
    if lost:
        axes.text(
            1.0,
            1.01,
            f"uncorrectable at the last level: up to {lost:,} reads",
            transform=axes.transAxes,
            ha="right",
            va="bottom",
            fontsize=9,
            color=PARTS["retries"],
        )


def _runs_of_equals(heights: list[float]) -> list[tuple[int, int]]:
    """First and last index of neighbours of (nearly) one height: for each height but zero the longest such run."""
    runs: list[tuple[int, int]] = []
    for i, height in enumerate(heights):
        if i and math.isclose(height, heights[i - 1], rel_tol=0.05):
            runs[-1] = (runs[-1][0], i)
        else:
            runs.append((i, i))
    chosen: list[tuple[int, int]] = []
    for run in sorted((r for r in runs if heights[r[0]] > 0), key=lambda r: (r[0] - r[1], -r[1])):
        if not any(math.isclose(heights[run[0]], heights[other[0]], rel_tol=0.05) for other in chosen):
            chosen.append(run)
    return chosen


def _policy_rows(axes: Axes, runs: list[RunResult], colours: list[str], names: list[str] | None = None) -> None:
    axes.set_yticks(range(len(runs)), names or [_label(r) for r in runs])
    for tick, colour in zip(axes.get_yticklabels(), colours, strict=True):
        tick.set_color(colour)
        tick.set_fontweight("bold")
    axes.set_ylim(len(runs) - 0.5, -0.5)
    if len(runs) < 3:
        # One or two bars would otherwise be as thick as they are long.
        axes.set_ylim(len(runs) + 0.3, -1.3)
    axes.tick_params(axis="y", length=0)


def head(axes: Axes, title: str) -> None:
    """The title of a panel, and its frame without top and right."""
    axes.set_title(title, loc="left", fontsize=11.5, weight="bold", color=INK, pad=22)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#aaaaaa")
    axes.tick_params(colors=FAINT, labelsize=9)
    axes.xaxis.label.set(color=FAINT, fontsize=9.5)
    axes.yaxis.label.set(color=FAINT, fontsize=9.5)
    axes.set_axisbelow(True)


def _nothing(axes: Axes, why: str) -> None:
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color=FAINT, fontsize=11)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _plain_log(axes: Axes, say: Callable[[float], str]) -> None:
    """A logarithmic x axis with plain labels, few enough to stand apart."""
    low, high = axes.get_xlim()
    decades = math.log10(high / low)
    steps = (1, 1.5, 2, 3, 4, 5, 7) if decades < 0.8 else (1, 2, 5) if decades < 2 else (1,)
    stride = max(1, math.ceil(decades / 6))
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [s * 10.0**e for e in exponents if e % stride == 0 for s in steps if low <= s * 10.0**e <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: say(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)


def _label(result: RunResult) -> str:
    return result.name.replace("_", " ") if result.name == NO_SOFT_SENSING else result.name


def _us(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def _time(value_us: float) -> str:
    """A time in the unit in which it reads best."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if value_us >= 9_999.5 * size / 1e3:
            return f"{value_us / size:,.4g} {unit}"
    return f"{_us(value_us)} µs"


def _tick_time(value_us: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if value_us >= size:
            return f"{value_us / size:,.6g} {unit}"
    return f"{value_us:,.6g} µs"


def _times(value: float) -> str:
    return f"{value:.2f}x" if value < 10 else f"{value:.1f}x" if value < 1000 else f"{value:,.0f}x"


def _percent(share: float) -> str:
    percent = 100 * share
    if percent >= 10:
        return f"{percent:.0f} %"
    return f"{percent:.2g} %" if percent >= 1e-3 else f"{percent:.0e} %"
