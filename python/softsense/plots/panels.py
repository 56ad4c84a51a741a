"""The panels of the picture of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter
from matplotlib.transforms import blended_transform_factory

from softsense.base import NO_SOFT_SENSING
from softsense.colours import BASELINE, PARTS
from softsense.formats import run_name
from softsense.plots.style import FAINT, INK, head, key_beside, plain_log, say_why
from softsense.tables import TIME_PARTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from softsense.results import Comparison, RunResult

_TAILS = {"p99": 1e-2, "p999": 1e-3}
_MARKERS = {"mean": "o", "p99": "D", "p999": "^"}
_KIND_COLOURS = {"read": "#0072b2", "write": "#d55e00", "all": "#7f7f7f"}
_STATS = {"mean": "mean", "p99": "p99", "p999": "p99.9"}


def draw_time_split(axes: Axes, runs: list[RunResult], colours: list[str]) -> None:
    """Where the time of a codeword read goes."""
    reads = [r.summary["codeword_reads"] for r in runs]
    head(axes, "Where a codeword read's time goes")
    if not any(r["count"] for r in reads):
        say_why(axes, "no codeword was read from flash")
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
    key_beside(
        axes,
        at=(0.02, 0.985),
        bbox_transform=blended_transform_factory(axes.figure.transFigure, axes.transAxes),
        ncols=len(TIME_PARTS),
        handlelength=0.9,
        handletextpad=0.4,
        columnspacing=0.9,
    )
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)


def draw_tail(axes: Axes, runs: list[RunResult], colours: list[str], kind: str) -> None:
    """How many requests take longer than a time."""
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
        label = f"{which}s" if single else run_name(result.name)
        line: dict[str, Any] = {"color": colour, "linewidth": 1.9, "linestyle": style, "label": label}
        axes.plot(x, above, drawstyle="steps-post", alpha=0.95, **line)
        for stat, share in _TAILS.items():
            if response["count"] * share >= 1:
                axes.plot(
                    response[f"{stat}_us"], share, _MARKERS[stat], color=colour, markersize=6, markeredgecolor="white"
                )
        drawn.append((which, colour))
    if not drawn:
        say_why(axes, "no requests")
        return
    axes.set_xscale("log")
    axes.set_xlim(left=0.7 * fastest)
    axes.set_yscale("log")
    low = max(min(floor, 1e-3) * 0.7, 1e-7)
    axes.set_ylim(low, 1.3)
    axes.set_xlabel("response time")
    axes.set_ylabel("share of requests that take longer")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: _percent(share)))
    plain_log(axes, _tick_time)
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
        key_beside(
            axes,
            [Line2D([], [], color=colour, linewidth=3) for _, colour in drawn],
            [f"{which}s" for which, _ in drawn],
            at=(-0.01, 1.0),
            ncols=2,
            handlelength=1.2,
        )


def draw_slowdown(axes: Axes, comparison: Comparison, colours: list[str], kind: str) -> None:
    """Response times over those of the baseline."""
    head(axes, f"{kind.capitalize()} response against no soft sensing")
    runs = comparison.runs
    values = {stat: [comparison.slowdown(r, stat, kind) for r in runs] for stat in _STATS}
    known = [v for column in values.values() for v in column if v]
    if not known:
        say_why(axes, "nothing to compare")
        return
    _dots(axes, runs, colours[1:], values, _times)
    axes.axvline(1, color=BASELINE, linewidth=1.4, linestyle=(0, (4, 1.5)), zorder=1)
    axes.set_xlabel("slowdown (no soft sensing = 1)")
    low, high = min(1.0, *known), max(1.0, *known)
    if high / low > 8:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.25, high * (high / low) ** 0.22)
        plain_log(axes, lambda v: f"{v:,.10g}")
    else:
        room = max(high - low, 0.05)
        axes.set_xlim(low - 0.06 * room, high + 0.16 * room)


def draw_responses(axes: Axes, runs: list[RunResult], colours: list[str], kind: str) -> None:
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
        say_why(axes, "no requests")
        return
    _dots(axes, [r for r, _ in rows], shades, values, _time, names)
    low, high = min(known), max(known)
    axes.set_xscale("log")
    axes.set_xlim(low / 1.3, high * max(high / low, 3) ** 0.2)
    plain_log(axes, _tick_time)
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
    key_beside(axes, handles, list(_STATS.values()), at=(-0.01, 0.985), ncols=3, handletextpad=0.2, columnspacing=0.9)
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)


def draw_levels(axes: Axes, runs: list[RunResult], colours: list[str]) -> None:
    """The levels at which codewords decoded."""
    head(axes, "Read level at which codewords decoded")
    shown = [(r, c) for r, c in zip(runs, colours, strict=True) if r.name != NO_SOFT_SENSING]
    counts = [np.array(r.summary["codeword_reads"]["level_histogram"], dtype=float) for r, _ in shown]
    if not any(c.sum() for c in counts):
        say_why(axes, "no codeword was read from flash")
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
            x, side = (left, "left") if first > 0 and last == len(shown) - 1 else ((left + right) / 2, "center")
            axes.text(x, heights[last] * 1.2, _percent(heights[last]), ha=side, va="bottom", fontsize=8, color=INK)
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
    axes.set_yticks(range(len(runs)), names or [run_name(r.name) for r in runs])
    for tick, colour in zip(axes.get_yticklabels(), colours, strict=True):
        tick.set_color(colour)
        tick.set_fontweight("bold")
    axes.set_ylim(len(runs) - 0.5, -0.5)
    if len(runs) < 3:
        # One or two bars would otherwise be as thick as they are long.
        axes.set_ylim(len(runs) + 0.3, -1.3)
    axes.tick_params(axis="y", length=0)


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
