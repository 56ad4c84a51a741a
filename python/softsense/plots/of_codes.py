"""Pictures of codes and of their absorbing sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from softsense import _core
from softsense._core import Code, CodeError
from softsense.colours import BAD, FAINT, INK, POLICIES, SPARE
from softsense.plots.paper import Part, columns_of, draw_parts_on_paper
from softsense.plots.style import head

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from softsense.traps import Trap

_MOST_DRAWN_BITS = 256


def draw_code(code: Code) -> Figure:
    """Draw the base matrix of an LDPC code, its circulants coloured by their shift and zero blocks left empty.

    For a code of at most 256 bits the Tanner graph is drawn below. A code made from an alist has no base matrix: the
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


def draw_trap(code: Code, trap: Trap, style: str = "screen", columns: int | None = None) -> Figure:
    """Draw the graph of an absorbing set.

    Bits are circles, satisfied checks are lines between two of them, violated checks are squares.

    Args:
        code: the code.
        trap: the set.
        style: `screen`, or `paper` for text at 8 points in a picture as wide as columns of a paper.
        columns: columns of a paper that the picture spans: 1 (3.5 inches) or 2 (7.16); default: 2.

    Returns a figure of 8 x 8 inches at 150 dpi, or one for a paper; save it with its `savefig`. Raises `ValueError` for
    another style, or another number of columns.
    """
    spanned = columns_of(style, columns)
    heading = (
        f"{code.name}: a ({len(trap.bits)}, {trap.violated}) absorbing set, one of {trap.multiplicity} of its orbit"
    )
    note = "circles: wrong bits   lines: checks that two of them satisfy   squares: violated checks"
    if spanned is not None:
        part = Part(lambda axes: _draw_graph(axes, code, trap), 3.4, shrunk=0.85)
        return draw_parts_on_paper(heading, [part], spanned, note)
    figure = Figure(figsize=(8, 8), dpi=150, facecolor="white")
    _draw_graph(figure.add_axes((0.02, 0.02, 0.96, 0.88)), code, trap)
    figure.text(0.03, 0.955, heading, fontsize=13, weight="bold", color=INK, va="center", parse_math=False)
    figure.text(0.03, 0.92, note, fontsize=9, color=FAINT, va="center")
    return figure


def _draw_graph(axes: Axes, code: Code, trap: Trap) -> None:
    checks: dict[int, list[int]] = {}
    for bit, of_bit in zip(trap.bits, _core.checks_of(code, list(trap.bits)), strict=True):
        for check in of_bit:
            checks.setdefault(check, []).append(bit)
    tied = [tuple(bits) for bits in checks.values() if len(bits) == 2]
    # The bits stand along a path through as many of them as possible, so that few lines cross.
    order = _long_path(trap.bits, tied)
    angle = {bit: 2 * math.pi * i / len(order) for i, bit in enumerate(order)}
    at = {bit: (math.sin(turn), math.cos(turn)) for bit, turn in angle.items()}
    for one, other in tied:
        axes.plot(*zip(at[one], at[other], strict=True), color=INK, linewidth=1.4, zorder=1)
    for bit in order:
        violated = [check for check, bits in checks.items() if len(bits) % 2 and bit in bits]
        for i, _ in enumerate(violated):
            turn = angle[bit] + 0.25 * (i - (len(violated) - 1) / 2)
            outside = (1.32 * math.sin(turn), 1.32 * math.cos(turn))
            axes.plot(*zip(at[bit], outside, strict=True), color=FAINT, linewidth=1.2, zorder=1)
            axes.plot(*outside, "s", color=BAD, markersize=11, zorder=2)
    for bit, place in at.items():
        axes.plot(*place, "o", color="#0072b2", markersize=34, zorder=3)
        axes.annotate(f"{bit}", place, ha="center", va="center", fontsize=8, color="white", zorder=4)
    axes.set_xlim(-1.5, 1.5)
    axes.set_ylim(-1.5, 1.5)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _long_path(bits: Sequence[int], tied: Sequence[tuple[int, ...]]) -> list[int]:
    """The bits in the order of a longest path along ties, a closed path if there is one.

    Bits that are not on the path come last.
    """
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
    (rows, columns), size = base.shape, code.circulant_size
    assert size is not None
    head(axes, f"Base matrix: {rows} x {columns} circulants of size {size:,}, coloured by shift")
    # No colour of this map is near white, which is for zero blocks.
    image = axes.imshow(
        np.ma.masked_less(base, 0),
        cmap="viridis",
        vmin=0,
        vmax=size - 1,
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
    if code.punctured_bits:
        axes.axvline(columns - code.punctured_bits // size - 0.5, color=INK, linewidth=1.4, linestyle="dotted")
        axes.text(columns - 0.5, -0.6, "not sent", fontsize=9, color=INK, ha="right", va="bottom")
    if columns <= 16:
        for (row, column), shift in np.ndenumerate(base):
            if shift >= 0:
                colour = "white" if shift < 0.6 * size else INK
                axes.text(column, row, str(shift), ha="center", va="center", fontsize=9, color=colour)
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
    not_sent = ", not sent grey" if code.punctured_bits else ""
    head(axes, f"Tanner graph: each check (square) and its bits (circles: data filled, parity open{not_sent})")
    rows, columns = code.edges()
    n, checks = code.codeword_bits + code.punctured_bits, code.checks
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
    sent = np.arange(n) < code.codeword_bits
    for chosen, face in ((data, INK), (~data & sent, "white"), (~sent, FAINT)):
        style: dict[str, Any] = {
            "markersize": size,
            "markerfacecolor": face,
            "markeredgecolor": INK,
            "markeredgewidth": 0.8,
        }
        axes.plot(at_bit[chosen], np.zeros(chosen.sum()), "o", clip_on=False, zorder=3, **style)
    axes.plot(at_check, np.ones(checks), "s", color=INK, markersize=size, clip_on=False, zorder=3)
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 1], [f"{n} bits", f"{checks} checks"])
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    for side in axes.spines.values():
        side.set_visible(False)
