"""Charts as pictures: the charts that `softsense.charts` describes, drawn by matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, NullFormatter, NullLocator

from softsense.charts import Chart, Series, Sheet
from softsense.colours import FAINT, INK, RULE
from softsense.formats import as_plain
from softsense.plots.keys import DASHES, HOLLOW, MARKERS, OF_ROWS, keys_of, shared_key, that_fit
from softsense.plots.paper import columns_of, draw_on_paper
from softsense.plots.style import (
    BESIDE_POINTS,
    MARK,
    head,
    heading,
    keep_key_out_of_the_next,
    key_beside,
    plain_log,
    say_why,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_MARKED = 40  # Points are marked on lines that have few.
_ALIKE = 0.05  # Neighbours whose heights differ less are told once, where heights are logarithms.


def draw_sheet(sheet: Sheet, style: str = "screen", columns: int | None = None) -> Figure:
    """Draw a sheet of charts.

    Args:
        sheet: the sheet.
        style: `screen`, or `paper` for a picture as wide as one column of a paper (3.5 inches) or as two (7.16), with
            all text at 8 points.
        columns: columns of a paper that the picture spans: 1 or 2; default: 2.

    Returns a figure; save it with its `savefig`. Its axes stand in the order of the charts. Raises `ValueError` for
    another style, or another number of columns.
    """
    if (spanned := columns_of(style, columns)) is not None:
        return draw_on_paper(sheet, spanned, draw_chart)
    in_line = sheet.columns or len(sheet.charts)
    rows = math.ceil(len(sheet.charts) / in_line)
    across = max(sheet.panel[0] * in_line, 0.3 + 0.1 * len(sheet.title))
    shared = shared_key(sheet)
    in_row = that_fit([name for _, name in shared], across - 0.3)
    lines = math.ceil(len(shared) / in_row) if shared else 0
    above = 0.42 + (0.24 if sheet.note else 0.0) + 0.23 * lines
    below = 0.3 if sheet.foot else 0.05
    height = above + sheet.panel[1] * rows + below
    figure = Figure(figsize=(across, height), dpi=sheet.dpi, facecolor="white")
    room = (0.06 / across, below / height, 1 - 0.12 / across, 1 - (above + below) / height)
    figure.set_layout_engine("constrained", rect=room, h_pad=0.06, w_pad=0.09)
    grid = figure.add_gridspec(rows, in_line)
    for i, chart in enumerate(sheet.charts):
        draw_chart(figure.add_subplot(grid[divmod(i, in_line)]), chart)
    heading(figure, sheet.title, sheet.note)
    if sheet.foot:
        figure.text(0.15 / across, 0.15 / height, sheet.foot, fontsize=8.5, color=FAINT, va="center")
    if shared:
        handles, names = zip(*shared, strict=True)
        figure.legend(
            handles,
            names,
            loc="upper left",
            bbox_to_anchor=(0.08 / across, 1 - (above - 0.23 * lines - 0.05) / height),
            ncols=in_row,
            frameon=False,
            fontsize=9,
            labelcolor=INK,
            handlelength=1.6,
            handletextpad=0.6,
            columnspacing=1.4,
            labelspacing=0.3,
            borderaxespad=0,
        )
    return settled(figure)


def settled(figure: Figure) -> Figure:
    """A figure whose charts stay where its layout has put them.

    The solver of layouts differs in the last digits from call to call, and so would some pixels.
    """
    if engine := figure.get_layout_engine():
        engine.execute(figure)
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(float(side), 6) for side in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))
        keep_key_out_of_the_next(axes)
    return figure


def png(drawn: Sheet | Figure) -> bytes:
    """A sheet, or any other picture, as a PNG file."""
    found = io.BytesIO()
    (draw_sheet(drawn) if isinstance(drawn, Sheet) else drawn).savefig(found)
    return found.getvalue()


def draw_chart(axes: Axes, chart: Chart, *, with_key: bool = False) -> None:
    """Draw a chart into axes of any figure.

    Args:
        axes: axes, which may show other charts of the same kind already.
        chart: the chart.
        with_key: whether it gets a legend inside; the lines have labels for one in any case.
    """
    head(axes, chart.title)
    if chart.corner:
        axes.set_title(chart.corner, loc="right", fontsize=8, color=FAINT)
    if not any(len(series.x) for series in chart.series):
        say_why(axes, chart.why_empty)
        return
    colours = chart.colours()
    if chart.rows:
        _draw_rows(axes, chart, colours)
    else:
        _draw_series(axes, chart, colours)
        _set_scales(axes, chart)
    _draw_marks(axes, chart)
    lies = chart.lies_across or chart.rows
    axes.set(**{"xlabel" if lies else "ylabel": chart.y_label})
    if not lies:
        axes.set_xlabel(chart.x_label)
    if chart.categories():
        axes.grid(axis="x" if lies else "y", color=RULE, linewidth=0.7)
        for name in axes.get_yticklabels() if lies else axes.get_xticklabels():
            name.set(color=chart.name_colours.get(name.get_text(), INK))
            name.set_fontweight("bold" if name.get_text() in chart.name_colours else "normal")
        axes.tick_params(axis="y" if lies else "x", length=0)
    else:
        axes.grid(color=RULE, linewidth=0.7)
    if chart.own_key and (keys := keys_of(chart)):
        handles, names = zip(*keys, strict=True)
        key_beside(axes, handles, names, ncols=len(names), handlelength=0.9, handletextpad=0.4, columnspacing=0.9)
    if with_key:
        # Other charts in these axes may have such an entry already.
        if chart.tells_hollow and chart.hollow not in axes.get_legend_handles_labels()[1]:
            axes.plot([], [], label=chart.hollow, **HOLLOW)
        axes.legend(loc="best", frameon=False, fontsize=9.5, labelcolor=INK)
    if chart.beside:
        text = "\n".join(chart.beside)
        axes.annotate(text, (1, 1), (9, 0), "axes fraction", "offset points", va="top", fontsize=7.5, color=INK,
                      linespacing=1.35, parse_math=False, gid="beside")  # fmt: skip


# Series --------------------------------------------------------------------------------------------------------------


def _draw_series(axes: Axes, chart: Chart, colours: Sequence[str]) -> None:
    names = chart.categories()
    places = {name: place for place, name in enumerate(names)}
    bars = [series for series in chart.series if series.kind == "bar"]
    reached = np.zeros(len(names))
    tops: list[tuple[float, float, float, str]] = []
    for series, colour in zip(chart.series, colours, strict=True):
        at = np.array([places[x] if isinstance(x, str) else x for x in series.x], dtype=float)
        values = np.array([math.nan if y is None else y for y in series.y], dtype=float)
        if series.kind == "bar" and chart.stacked:
            _draw_stacked(axes, series, at, values, colour, reached)
        elif series.kind == "bar":
            n, count = (0, 1) if chart.exclusive else (bars.index(series), len(bars))
            width = 0.8 / max(count, 2) if count < 2 and len(names) > 8 else 0.8 / count
            at = at + width * (n - (count - 1) / 2)
            put = axes.barh if chart.across else axes.bar
            put(at, values, 0.92 * width, color=colour, label=_label(series), linewidth=0)
            _draw_ends(axes, series, at, values, INK, across=chart.across)
            if series.printed is not None:
                ends = values if series.hi is None else np.fmax(values, [_number(hi) for hi in series.hi])
                tops += [(x, width, end, text) for x, end, text in zip(at, ends, series.printed, strict=True)]
        elif series.kind == "span":
            low = [_number(lo) for lo in series.lo or ()]
            axes.barh(at, values - low, 0.66, left=low, color=colour, label=_label(series), linewidth=0)
        elif series.kind == "range":
            _draw_ranges(axes, series, at, across=chart.across)
        else:
            _draw_line(axes, series, at, values, colour, across=bool(names) and chart.lies_across)
    _print_tops(axes, chart, tops)
    if chart.stacked:
        _print_totals(axes, chart, reached)
    if names:
        _name_categories(axes, names, across=chart.lies_across)


def _draw_line(axes: Axes, series: Series, at: Any, values: Any, colour: str, *, across: bool) -> None:
    line = series.kind == "line"
    few = len(at) <= _MOST_MARKED and not series.steps
    marked = not line or series.marker not in (None, "none") or (series.marker is None and few and not series.dashed)
    look: dict[str, Any] = {"color": colour, "alpha": 0.5 if series.pale else 1.0}
    look |= {"zorder": 2 if line else 2.5 if series.pale else 3}
    hollow = np.array([series.is_hollow(i) for i in range(len(at))], dtype=bool)
    alone = np.array([series.stands_alone(i) for i in range(len(at))], dtype=bool)
    if line:
        thin: dict[str, Any] = {"linestyle": DASHES, "linewidth": 1.1}
        style = thin if series.dashed else {"linestyle": "-", "linewidth": 1.8}
        shape: dict[str, Any] = {"drawstyle": "steps-post" if series.steps else "default", "marker": ""}
        whole = np.where(hollow, math.nan, values)
        axes.plot(at, whole, label=_label(series), **shape, **style, **look)
        if (loose := hollow & ~alone).any():
            near = loose | np.append(loose[1:], False) | np.insert(loose[:-1], 0, False)
            axes.plot(at, np.where(near & ~alone, values, math.nan), **shape, **thin, **look)
    if marked:
        marker = MARKERS[series.marker]
        mark: dict[str, Any] = {"linestyle": "none", "markersize": 4.5 if line else 7 if not series.pale else 6}
        label = None if line else _label(series)
        for some, face in ((~hollow, colour), (hollow, "white")):
            if some.any() or not isinstance(series.hollow, bool):
                where = (values[some], at[some]) if across else (at[some], values[some])
                face = "none" if face == "white" and not line else face
                edge: dict[str, Any] = {"markeredgecolor": colour if face != colour or marker == "x" else "white"}
                edge["markeredgewidth"] = 1.2 if face != colour or marker == "x" else 0.5
                axes.plot(*where, marker, markerfacecolor=face, label=label, **edge, **mark, **look)
                label = None
    if series.band and series.lo is not None and series.hi is not None:
        low, high = (np.where(alone, math.nan, [_number(end) for end in each]) for each in (series.lo, series.hi))
        look = {"color": colour, "alpha": 0.18, "linewidth": 0, "step": "post" if series.steps else None}
        axes.fill_between(at, low, high, **look)
        _draw_ends(axes, series, at, np.where(alone, values, math.nan), colour, across=across)
    else:
        _draw_ends(axes, series, at, values, colour, across=across)
    if series.printed is not None:
        for x, y, text in zip(at, values, series.printed, strict=True):
            axes.annotate(text, (x, y), BESIDE_POINTS, textcoords="offset points", fontsize=8, color=INK, zorder=5)


def _draw_ends(axes: Axes, series: Series, at: Any, values: Any, colour: str, *, across: bool) -> None:
    """Draw whiskers, where an interval is more than its value."""
    if series.lo is None or series.hi is None:
        return
    ends = np.array([[_number(end) for end in each] for each in (series.lo, series.hi)])
    known = np.isfinite(ends).all(axis=0) & (ends[0] < ends[1]) & np.isfinite(values)
    if not known.any():
        return
    errors = np.abs(ends - values)[:, known]
    look: dict[str, Any] = {"fmt": "none", "ecolor": colour, "elinewidth": 0.9, "capsize": 2}
    if across:
        axes.errorbar(values[known], at[known], xerr=errors, **look)
    else:
        axes.errorbar(at[known], values[known], yerr=errors, **look)


def _draw_ranges(axes: Axes, series: Series, at: Any, *, across: bool) -> None:
    """Draw boxes behind all other elements; a box without height is a line."""
    label = _label(series)
    for x, low, high in zip(at, series.lo or (), series.hi or (), strict=True):
        look: dict[str, Any] = {"facecolor": "#dedede", "edgecolor": FAINT, "linewidth": 1.1, "zorder": 0.5}
        fill = axes.fill_betweenx if across else axes.fill_between
        fill([x - 0.46, x + 0.46], _number(low), _number(high), label=label, **look)
        label = None


def _draw_stacked(axes: Axes, series: Series, at: Any, values: Any, colour: str, reached: Any) -> None:
    rows, width = at.astype(int), np.nan_to_num(values)
    axes.barh(rows, width, left=reached[rows], height=0.66, color=colour, label=_label(series), linewidth=0)
    if series.printed is not None:
        dark = np.mean([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) < 150
        for row, start, span, text in zip(rows, reached[rows], width, series.printed, strict=True):
            place = (start + span / 2, row)
            found = axes.annotate(text, place, ha="center", va="center", fontsize=8.5, color="white" if dark else INK)
            # The room for it is known when the axis is; until then its width is kept here.
            found.set_gid(f"{span}")
    reached[rows] += width


def _print_totals(axes: Axes, chart: Chart, reached: Any) -> None:
    """Print the totals of bars at their ends, and hide text inside that has no room."""
    widest = max(float(reached.max()), 1e-12)
    for text in axes.texts:
        if text.get_gid() and float(text.get_gid() or 0) <= 0.018 * (len(text.get_text()) + 0.5) * widest:
            text.set_visible(False)
    for row, (name, total) in enumerate(zip(chart.categories(), reached, strict=True)):
        said = chart.totals.get(name)
        if said:
            axes.text(total + 0.012 * widest, row, said, va="center", fontsize=10, weight="bold", color=INK)
    axes.set_xlim(0, (1.2 if chart.totals else 1.03) * widest)


def _print_tops(axes: Axes, chart: Chart, tops: Sequence[tuple[float, float, float, str]]) -> None:
    """Print the values of bars above them; alike neighbours on a logarithmic axis share one number."""
    if chart.log_y:
        tops = _without_repeats(sorted(tops))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85}
    for x, _, end, text in tops:
        if math.isnan(end):
            continue
        size: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": INK, "bbox": box}
        if chart.across:
            axes.annotate(text, (max(end, 0.0), x), (4, 0), va="center", **size)
        else:
            axes.annotate(text, (x, max(end, 0.0)), (0, 3), ha="center", va="bottom", **size)


def _without_repeats(tops: Sequence[tuple[float, float, float, str]]) -> list[tuple[float, float, float, str]]:
    """The middle one of neighbours of nearly one height; for each category the longest such run of each height."""
    told: list[tuple[float, float, float, str]] = []
    by_category: dict[int, list[tuple[float, float, float, str]]] = {}
    for top in tops:
        by_category.setdefault(round(top[0]), []).append(top)
    for those in by_category.values():
        runs: list[list[tuple[float, float, float, str]]] = []
        for top in those:
            if top[2] > 0 and runs and math.isclose(top[2], runs[-1][-1][2], rel_tol=_ALIKE):
                runs[-1].append(top)
            elif top[2] > 0:
                runs.append([top])
        chosen: list[list[tuple[float, float, float, str]]] = []
        for run in sorted(runs, key=len, reverse=True):
            if not any(math.isclose(run[0][2], other[0][2], rel_tol=_ALIKE) for other in chosen):
                chosen.append(run)
        told += [((run[0][0] + run[-1][0]) / 2, run[0][1], run[-1][2], run[-1][3]) for run in chosen]
    return told


def _draw_rows(axes: Axes, chart: Chart, colours: Sequence[str]) -> None:
    """Draw a row for each series, and in it a line for each category, so that no two markers or numbers meet."""
    names = chart.categories()
    places = np.linspace(-0.25, 0.25, len(names)) if len(names) > 1 else np.zeros(1)
    known = []
    for row, (series, colour) in enumerate(zip(chart.series, colours, strict=True)):
        for i, (name, value) in enumerate(zip(series.x, series.y, strict=True)):
            if value is None:
                continue
            known.append(value)
            n = names.index(str(name))
            at = row + places[n]
            axes.plot(value, at, OF_ROWS[n], color=colour, markersize=7, markeredgecolor="white", zorder=3)
            said = series.printed[i] if series.printed is not None else as_plain(value)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.8}
            look: dict[str, Any] = {"weight": "bold" if n == 0 else "normal", "zorder": 4, "bbox": box}
            place: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 8.5, "color": INK}
            axes.annotate(said, (value, at), (7, 0), **place, **look)
    for row in range(len(chart.series) - 1):
        axes.axhline(row + 0.5, color="#eeeeee", linewidth=0.8, zorder=0)
    _name_categories(axes, [series.name for series in chart.series], across=True)
    values = [*known, *(mark.value for mark in chart.marks)]
    low, high = min(values), max(values)
    if low > 0 and high / low > 8:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.3, high * max(high / low, 3) ** 0.22)
        plain_log(axes, as_plain)
    else:
        room = max(high - low, 0.05 * max(abs(high), 1e-12))
        axes.set_xlim(low - 0.06 * room, high + 0.2 * room)


# Axes ----------------------------------------------------------------------------------------------------------------


def _name_categories(axes: Axes, names: Sequence[str], *, across: bool) -> None:
    if not across:
        axes.set_xticks(range(len(names)), list(names), fontsize=9.5)
        axes.set_xlim(-0.55, len(names) - 0.45)
        return
    axes.set_yticks(range(len(names)), list(names), fontsize=9.5)
    # One or two bars would otherwise be as thick as they are long.
    room = (len(names) + 0.3, -1.3) if len(names) < 3 else (len(names) - 0.5, -0.5)
    axes.set_ylim(*room)


def _set_scales(axes: Axes, chart: Chart) -> None:
    lies = chart.lies_across
    logs = {"x": chart.log_x, "y": chart.log_y}
    if lies:
        logs = {"x": chart.log_y and not chart.stacked, "y": False}
    elif chart.categories():
        logs["x"] = False
    ranges = {"x": chart.y_range, "y": (None, None)} if lies else {"x": chart.x_range, "y": chart.y_range}
    for axis, log in logs.items():
        values = [x for x in _values(chart, axis, lies=lies) if math.isfinite(x)]
        ticks = chart.x_ticks if axis == "x" and not lies else ()
        positive = [x for x in (*values, *ticks) if x > 0]
        if log and positive:
            _set_log(axes, axis, zero=min(values) <= 0 and axis == "x" and not lies, least=min(positive))
        low, high = ranges[axis]
        if low is not None or high is not None:
            getattr(axes, f"set_{axis}lim")(low, high)
    stands = any(series.kind in ("bar", "range") for series in chart.series)
    if stands and not lies and not chart.log_y and chart.y_range == (None, None):
        _give_room(axes, chart)
    if chart.x_ticks and not lies:
        axes.set_xticks(list(chart.x_ticks), [as_plain(tick) for tick in chart.x_ticks])
        axes.xaxis.set_minor_locator(NullLocator())
    elif axes.get_xscale() == "log":
        plain_log(axes, as_plain)
    elif axes.get_xscale() == "linear" and (lies or not chart.categories()):
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: as_plain(value)))
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        if low > 1e-5 and high < 1e6:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: as_plain(value)))
            axes.yaxis.set_minor_formatter(_PlainMinor())
        if high / low > 10:
            axes.yaxis.set_minor_formatter(NullFormatter())
    elif not lies:
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: as_plain(value)))


class _PlainMinor(LogFormatterSciNotation):
    """A formatter with plain labels where matplotlib would write powers, and with no more labels."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label at a value."""
        return as_plain(x) if super().__call__(x, pos) else ""


def _set_log(axes: Axes, axis: str, *, zero: bool, least: float) -> None:
    """Make an axis logarithmic; if zero is among the values, it is linear up to the least other one."""
    scale = getattr(axes, f"set_{axis}scale")
    if zero:
        scale("symlog", linthresh=least, linscale=0.5)
    else:
        scale("log")


def _values(chart: Chart, axis: str, *, lies: bool) -> list[float]:
    told: list[Any] = []
    for series in chart.series:
        told += series.x if axis == "x" and not lies else series.y
    return [float(x) for x in told if x is not None and not isinstance(x, str)]


def _give_room(axes: Axes, chart: Chart) -> None:
    """Let linear heights begin with zero, unless some are negative, and leave room for the numbers above bars."""
    ends = [*_values(chart, "y", lies=False), *(mark.value for mark in chart.marks if mark.axis == "y")]
    for series in chart.series:
        ends += [_number(end) for end in [*(series.lo or ()), *(series.hi or ())]]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    spare = 0.1 if any(series.printed for series in chart.series) else 0.06
    axes.set_ylim(low - (spare * (high - low) if low < 0 else 0), high + spare * (high - low) or 1.0)


def _draw_marks(axes: Axes, chart: Chart) -> None:
    look: dict[str, Any] = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 0.8}
    upright = chart.lies_across or chart.rows
    named: dict[str, Any] = {"color": "#c4c4c4", "linewidth": 0.8, "zorder": 0.8}
    for mark in chart.marks:
        stands = (mark.axis == "x") != upright
        (axes.axvline if stands else axes.axhline)(mark.value, **(named if mark.text else look))
        if not mark.text:
            continue
        said: dict[str, Any] = {"textcoords": "offset points", "fontsize": 8, "color": FAINT, "gid": MARK}
        if stands:
            along: dict[str, Any] = {
                "xycoords": ("data", "axes fraction"),
                "rotation": 90,
                "ha": "right",
                "va": "bottom",
            }
            axes.annotate(mark.text, (mark.value, 0.02), (-3, 0), **along, **said)
        else:
            axes.annotate(mark.text, (1, mark.value), (4, 0), ("axes fraction", "data"), va="center", **said)


def _label(series: Series) -> str | None:
    return series.name if series.named else None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
