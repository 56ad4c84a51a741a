"""Pictures for papers: as wide as one column or as two, and all of their text at eight points.

A sheet of charts is drawn anew, not shrunk. Charts stand one or two in a row, each as high as its content needs.
Titles, legends and labels of axes have as many lines as fit. Numbers beside values are left out where they have no
room; in rows of points they have it. Widths of text are measured, so that nothing overlaps and nothing is cut off.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import Bbox

from softsense.charts import Chart, Sheet
from softsense.colours import FAINT, INK
from softsense.formats import as_plain
from softsense.plots.keys import Key, keys_of, shared_key
from softsense.plots.lettering import DPI, POINTS, lines_of, names_that_fit, that_fit, wrapped
from softsense.plots.style import BESIDE_POINTS, MARK, plain_log

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

COLUMN_INCHES = {1: 3.5, 2: 7.16}
"""Width in inches of a picture that spans one column or two of a page, as in papers of IEEE and ACM."""

_LINE_IN = 0.145  # From one line of text to the next.
_EDGE_IN = 0.05  # Around the picture, and between panels.
_SHRUNK = 0.65  # Lines and markers, against those of a page that is twice as wide.
_PLOT_IN = 1.2  # How high a chart is without its title, legend and axis.
_APART_PX = 3
_ROUNDS = 5  # Of placing charts by their labels, which depend on the places.

Draw = Callable[["Axes", Chart], None]


def columns_of(style: str, columns: int | None) -> int | None:
    """The number of columns of a paper that a picture spans; None on a screen.

    Args:
        style: `screen` or `paper`.
        columns: 1 or 2; None for 2 on paper.

    Raises `ValueError`.
    """
    if style not in ("screen", "paper"):
        raise ValueError(f"style: found `{style}`, expected `screen` or `paper`")
    if style == "screen":
        if columns is not None:
            raise ValueError(f"columns: found {columns} with style `screen`, expected it with style `paper` alone")
        return None
    if columns not in (None, *COLUMN_INCHES):
        raise ValueError(f"columns: found {columns}, expected 1 or 2")
    return columns or 2


@dataclass(frozen=True)
class Part:
    """A panel of a picture that is no chart.

    Attributes:
        draw: draws the panel into axes, with a title at the left and a legend where it has one.
        inches: height without its title and its legend.
        shrunk: scale of its lines and markers, against those on a screen.
    """

    draw: Callable[[Axes], None]
    inches: float
    shrunk: float = _SHRUNK


@dataclass
class _Panel:
    """A panel in its place: sides in inches, from the left and from the bottom of the picture.

    Attributes:
        least: the least height in inches below its title and its legend, its axis included.
        aligned: whether its data begins and ends where the data of all others does.
        widens: whether its horizontal axis may be extended, so that numbers beside values have room.
    """

    axes: Axes
    width: float
    least: float
    title: Sequence[str] = ()
    keys: Sequence[Key] = ()
    widens: bool = False
    aligned: bool = False
    left: float = _EDGE_IN
    bottom: float = 0.0
    top: float = 0.0

    @property
    def in_row(self) -> int:
        return that_fit([name for _, name in self.keys], self.width)

    @property
    def key_lines(self) -> int:
        return lines_of([name for _, name in self.keys], self.in_row) if self.keys else 0

    @property
    def above(self) -> float:
        """Inches of the title and the legend."""
        return _LINE_IN * (len(self.title) + self.key_lines) + 0.07


@dataclass(frozen=True)
class _Surroundings:
    """Text and legend above and below all panels: title, note, legend, and lines at the foot."""

    title: str
    note: str = ""
    keys: Sequence[Key] = ()
    foot: Sequence[str] = ()


def draw_on_paper(sheet: Sheet, columns: int, draw: Draw) -> Figure:
    """Draw a sheet for a paper.

    Args:
        sheet: the sheet; at most as many of its charts as columns stand in a row.
        columns: columns of the paper that it spans: 1 or 2.
        draw: draws a chart into axes.

    Returns a figure of 300 dots an inch, whose axes stand in the order of the charts.
    """
    figure, in_row, width = _blank(columns, min(columns, sheet.columns or len(sheet.charts)))
    panels = []
    for chart in sheet.charts:
        axes = figure.add_axes((0.2, 0.2, 0.5, 0.5))
        draw(axes, chart)
        shrink(axes)
        title = wrapped(chart.title, width, bold=True, within_words=True)
        keys = _fitted(keys_of(chart), width) if chart.own_key else []
        least = _least(chart, alone=len(sheet.charts) == 1)
        panels.append(_Panel(axes, width, least, title, keys, chart.rows or chart.lies_across))
    _compose(figure, panels, in_row, _Surroundings(sheet.title, sheet.note, shared_key(sheet), _below(sheet)))
    return figure


def draw_parts_on_paper(title: str, parts: Sequence[Part], columns: int, note: str = "") -> Figure:
    """Draw panels that are no charts for a paper, below one another, under a title and a note."""
    figure, in_row, width = _blank(columns, 1)
    panels = []
    for part in parts:
        axes = figure.add_axes((0.2, 0.2, 0.5, 0.5))
        part.draw(axes)
        legend = axes.get_legend()
        names = [text.get_text() for text in legend.get_texts()] if legend else []
        keys = _fitted(list(zip(legend.legend_handles, names, strict=True)), width) if legend else []
        head = wrapped(axes.get_title(loc="left"), width, bold=True, within_words=True)
        shrink(axes, part.shrunk)
        panels.append(_Panel(axes, width, part.inches, head, keys, aligned=True))
    _compose(figure, panels, in_row, _Surroundings(title, note))
    return figure


def _blank(columns: int, in_row: int) -> tuple[Figure, int, float]:
    """An empty picture, the number of panels in its rows, and the width of each in inches."""
    across = COLUMN_INCHES[columns]
    figure = Figure(figsize=(across, 4), dpi=DPI, facecolor="white")
    # Texts are measured on one canvas; without it matplotlib makes one for each text.
    FigureCanvasAgg(figure)
    return figure, in_row, across / in_row - 2 * _EDGE_IN


def _least(chart: Chart, *, alone: bool) -> float:
    count = len(chart.categories())
    if chart.rows:
        return 0.4 + _LINE_IN * max(count * len(chart.series), 4)
    if chart.lies_across:
        bars = 1 if chart.stacked or chart.exclusive else len(chart.series)
        return 0.4 + 1.1 * _LINE_IN * max(count * bars, 5)
    return 0.45 + (1.5 if alone else 1.0) * _PLOT_IN


def _compose(figure: Figure, panels: Sequence[_Panel], in_row: int, around: _Surroundings) -> None:
    """Give a picture its height, and every part its place."""
    across = float(figure.get_size_inches()[0])
    whole = across - 2 * _EDGE_IN
    head = [(line, True) for line in wrapped(around.title, whole, bold=True, within_words=True)]
    head += [(line, False) for line in wrapped(around.note, whole, within_words=True)]
    keys = _fitted(around.keys, whole)
    key_columns = that_fit([name for _, name in keys], whole)
    key_lines = lines_of([name for _, name in keys], key_columns) if keys else 0
    foot = [line for said in around.foot for line in wrapped(said, whole, within_words=True)]
    top = _EDGE_IN + _LINE_IN * (len(head) + key_lines) + (0.06 if head or keys else 0)
    bottom = _EDGE_IN + _LINE_IN * len(foot) + (0.05 if foot else 0)
    rows = [panels[at : at + in_row] for at in range(0, len(panels), in_row)]
    highs = [max(each.above for each in row) + max(each.least for each in row) for row in rows]
    height = top + sum(highs) + 2 * _EDGE_IN * len(rows) + bottom
    figure.set_size_inches(across, height)
    at = height - top
    for row, high in zip(rows, highs, strict=True):
        for i, panel in enumerate(row):
            panel.left = _EDGE_IN + across / in_row * i
            panel.top, panel.bottom = at - max(each.above for each in row), at - high
        at -= high + 2 * _EDGE_IN
    for i, (line, bold) in enumerate(head):
        _say(figure, line, height - _EDGE_IN - _LINE_IN * i, bold=bold)
    if keys:
        _put_key(figure, keys, key_columns, height - _EDGE_IN - _LINE_IN * len(head) - 0.03)
    for i, line in enumerate(reversed(foot)):
        _say(figure, line, _EDGE_IN + _LINE_IN * (i + 1), bold=False)
    _lay_out(figure, panels)


def _below(sheet: Sheet) -> list[str]:
    """The lines that stand at the right of charts, or in their corners, where a screen has room."""
    found = []
    for chart in sheet.charts:
        begin = f"{chart.title}: " if len(sheet.charts) > 1 and chart.title else ""
        found += [f"{begin}{chart.corner}"] if chart.corner else []
        lines: list[str] = []
        for line in chart.beside:
            # A continued line of a list, whose lines were broken elsewhere.
            if line.startswith("    ") and lines:
                lines[-1] += f" {line.strip()}"
            elif line:
                lines.append(line.strip())
        found += [f"{begin}{lines[0]}", *lines[1:]] if lines else []
    return [*found, *([sheet.foot] if sheet.foot else [])]


# Text ----------------------------------------------------------------------------------------------------------------


def _say(figure: Figure, line: str, top: float, *, bold: bool) -> None:
    across, height = figure.get_size_inches()
    look: dict[str, Any] = {"color": INK, "weight": "bold"} if bold else {"color": FAINT}
    figure.text(_EDGE_IN / across, top / height, line, fontsize=POINTS, va="top", parse_math=False, **look)


def _fitted(keys: Sequence[Key], inches: float) -> list[Key]:
    """Entries of a legend, each in as many lines as it needs."""
    names = names_that_fit([name for _, name in keys], inches)
    return [(handle, name) for (handle, _), name in zip(keys, names, strict=True)]


def _put_key(place: Figure | Axes, keys: Sequence[Key], in_row: int, top: float, left: float = _EDGE_IN) -> None:
    """Put a legend with its left upper corner at a place in inches."""
    figure = place if isinstance(place, Figure) else place.get_figure(root=True)
    assert figure is not None
    across, height = figure.get_size_inches()
    handles, names = zip(*keys, strict=True)
    for handle in handles:
        _shrink_one(handle)
    place.legend(
        handles,
        names,
        loc="upper left",
        bbox_to_anchor=(left / across, top / height),
        bbox_transform=figure.transFigure,
        ncols=in_row,
        frameon=False,
        fontsize=POINTS,
        labelcolor=INK,
        handlelength=1.6,
        handletextpad=0.5,
        columnspacing=1.0,
        labelspacing=(_LINE_IN * 72 / POINTS) - 1.0,
        borderaxespad=0,
        borderpad=0,
    )


def shrink(axes: Axes, to: float = _SHRUNK) -> None:
    """Give text one size and lines less width; a legend is put anew."""
    if legend := axes.get_legend():
        legend.remove()
    axes.set_title("", loc="left")
    axes.set_title("", loc="right")
    for text in [*axes.texts]:
        # Text beside a chart goes below the picture.
        if isinstance(text, Annotation) and text.get_gid() == "beside":
            text.remove()
    axes.tick_params(labelsize=POINTS, length=2.5, width=0.6, pad=2)
    for found in axes.findobj(Text):
        if isinstance(found, Text):
            found.set_fontsize(POINTS)
    for side in axes.spines.values():
        side.set_linewidth(0.6)
    for line in axes.lines:
        _shrink_one(line, to)


def _shrink_one(artist: Any, to: float = _SHRUNK) -> None:
    if hasattr(artist, "set_markersize"):
        artist.set_markersize(to * artist.get_markersize())
        artist.set_linewidth(to * artist.get_linewidth())


# Places --------------------------------------------------------------------------------------------------------------


def _lay_out(figure: Figure, panels: Sequence[_Panel]) -> None:
    """Give each panel the room that its labels leave, and then put its texts in their places."""
    across, height = figure.get_size_inches()
    for panel in panels:
        # The first guess is the usual size of labels.
        inner = (panel.left + 0.6, panel.bottom + 0.4, panel.width - 0.7, panel.top - panel.bottom - 0.4)
        _place(panel.axes, inner, across, height)
    before = None
    for round_ in range(_ROUNDS):
        margins = [_margins(panel.axes) for panel in panels]
        for panel, (left, bottom, right) in zip(panels, margins, strict=True):
            if panel.aligned:
                left, right = max(each[0] for each in margins), max(each[2] for each in margins)
            wide, high = max(panel.width - left - right, 0.5), max(panel.top - panel.bottom - bottom, 0.5)
            _place(panel.axes, (panel.left + left, panel.bottom + bottom, wide, high), across, height)
            wrap_labels(panel.axes, wide, high)
        # In the last round nothing changes that takes room.
        if round_ == _ROUNDS - 1:
            break
        for panel in panels:
            _widen(panel)
            _hide_colliding_marks(panel.axes, panel.axes.xaxis, upright=False)
            _hide_colliding_marks(panel.axes, panel.axes.yaxis, upright=True)
            _part_marks(panel.axes)
        # A round that changes nothing would be followed by others that change nothing.
        if (found := [_layout_state(panel.axes) for panel in panels]) == before:
            break
        before = found
    for panel in panels:
        _set_head(panel, across)
    figure.draw_without_rendering()
    for panel in panels:
        leave_out(figure, panel.axes)


def _layout_state(axes: Axes) -> tuple[Any, ...]:
    """The state of a chart that a round of placing looks at or changes."""
    texts = [(each.get_text(), each.get_position(), each.get_visible()) for each in axes.findobj(Text)]
    ticks = [tuple(axis.get_ticklocs()) for axis in (axes.xaxis, axes.yaxis)]
    return axes.get_position().bounds, axes.get_xlim(), axes.get_ylim(), ticks, texts


def _place(axes: Axes, inches: tuple[float, float, float, float], across: float, height: float) -> None:
    left, bottom, width, high = inches
    bounds = (left / across, bottom / height, width / across, high / height)
    axes.set_position(Bbox.from_bounds(*(round(side, 6) for side in bounds)))


def _margins(axes: Axes) -> tuple[float, float, float]:
    """Inches that labels of axes and of marks take at the left, below and at the right of the data."""
    inner = axes.get_window_extent()
    boxes = [axis.get_tightbbox() for axis in (axes.xaxis, axes.yaxis)]
    boxes += [text.get_window_extent() for text in axes.texts if text.get_gid() == MARK and not text.get_rotation()]
    outer = Bbox.union([inner, *(box for box in boxes if box is not None)])
    left, bottom, right = inner.x0 - outer.x0, inner.y0 - outer.y0, outer.x1 - inner.x1
    return left / DPI, bottom / DPI, right / DPI


def wrap_labels(axes: Axes, wide: float, high: float) -> None:
    """Break labels of axes, and of upright marks, into lines that are no longer than the axis."""
    for axis, inches in ((axes.xaxis, wide), (axes.yaxis, high)):
        axis.set_label_text("\n".join(wrapped(axis.get_label_text().replace("\n", " "), inches)))
    for text in axes.texts:
        if text.get_rotation() == 90 or (text.get_gid() is None and text.get_transform() == axes.transAxes):
            inches = high if text.get_rotation() == 90 else wide
            text.set_text("\n".join(wrapped(text.get_text().replace("\n", " "), 0.95 * inches)))


def _set_head(panel: _Panel, across: float) -> None:
    """Put the title and the legend of a panel, from its left side on."""
    axes = panel.axes
    inner = axes.get_window_extent()
    wide, high = inner.width / DPI, inner.height / DPI
    if panel.title:
        x, y = (panel.left - inner.x0 / DPI) / wide, 1 + (_LINE_IN * panel.key_lines + 0.06) / high
        look: dict[str, Any] = {"loc": "left", "fontsize": POINTS, "weight": "bold", "color": INK}
        axes.set_title("\n".join(panel.title), x=x, y=y, pad=0, va="bottom", linespacing=1.15, **look)
    if panel.keys:
        top = panel.top + _LINE_IN * panel.key_lines + 0.04
        _put_key(axes, panel.keys, panel.in_row, top, panel.left)


def _widen(panel: _Panel) -> None:
    """Extend the horizontal axis where numbers beside values would leave the panel."""
    axes = panel.axes
    if not panel.widens:
        return
    inner = axes.get_window_extent()
    texts = [text for text in axes.texts if text.get_visible() and text.get_gid() is None]
    most = max((text.get_window_extent().x1 for text in texts), default=inner.x1)
    beyond = (most - inner.x1) / inner.width
    if beyond <= 0:
        return
    low, high = axes.get_xlim()
    share = 1 / (1 - min(beyond + 0.01, 0.6))
    if axes.get_xscale() == "log":
        axes.set_xlim(low, low * (high / low) ** share)
        plain_log(axes, as_plain)
    else:
        axes.set_xlim(low, low + share * (high - low))


def _hide_colliding_marks(axes: Axes, axis: Axis, *, upright: bool) -> None:
    """Leave out marks whose labels would meet; names of categories stand upright instead."""
    labels = [label for label in axis.get_ticklabels() if label.get_visible() and label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    ends = [(box.y0, box.y1) if upright else (box.x0, box.x1) for box in boxes]
    inner = axes.get_window_extent()
    low, high = (inner.y0, inner.y1) if upright else (inner.x0, inner.x1)
    shown = sorted(end for end in ends if low - 2 <= sum(end) / 2 <= high + 2)
    if not any(one[1] + _APART_PX > other[0] for one, other in itertools.pairwise(shown)):
        return
    if isinstance(axis.get_major_locator(), FixedLocator) and not _are_numbers(labels):
        if not upright:
            axes.tick_params(axis="x", rotation=90)
        return
    axis.set_major_locator(FixedLocator(list(axis.get_majorticklocs())[::2]))


def _are_numbers(labels: Sequence[Text]) -> bool:
    return all(label.get_text()[:1] in "0123456789-\N{MINUS SIGN}$" for label in labels)


def _part_marks(axes: Axes) -> None:
    """Move labels of marks at the right of the data a line apart."""
    marks = [text for text in axes.texts if text.get_gid() == MARK and text.get_rotation() == 0]
    placed: list[Bbox] = []
    for text in sorted(marks, key=lambda each: each.get_window_extent().y0):
        box = text.get_window_extent()
        if placed and (up := placed[-1].y1 + 1 - box.y0) > 0:
            assert isinstance(text, Annotation)
            x, y = text.xyann
            text.xyann = (x, y + up * 72 / DPI)
            box = box.translated(0, up)
        placed.append(box)


def leave_out(figure: Figure, axes: Axes) -> None:
    """Hide numbers beside values that have no room: inside of their bars, beside other text, or in the picture.

    Names beside points are tried at the other sides of their points first.
    """
    inner = axes.get_window_extent()
    low, high = axes.get_xlim()
    values = [text for text in axes.texts if text.get_gid() != MARK]
    kept = [text.get_window_extent() for text in texts_of(figure) if text not in values]
    for text in values:
        text.set_visible(True)
        if (span := text.get_gid()) is not None:
            wide = text.get_window_extent().width + 2 * _APART_PX
            text.set_visible(wide <= float(span) / (high - low) * inner.width)
        else:
            text.set_visible(any(_has_room(text, kept, bounds) for bounds in (inner, figure.bbox)))
        if text.get_visible():
            kept.append(text.get_window_extent())


def _has_room(text: Text, kept: Sequence[Bbox], bounds: Any) -> bool:
    """Whether a text has room at one side of its point; it is put there."""
    beside = isinstance(text, Annotation) and tuple(map(abs, text.xyann)) == BESIDE_POINTS
    for right, up in ((1, 1), (-1, 1), (1, -1), (-1, -1)) if beside else ((0, 0),):
        if isinstance(text, Annotation) and beside:
            text.xyann = (right * BESIDE_POINTS[0], up * BESIDE_POINTS[1])
            text.set(ha="left" if right > 0 else "right", va="bottom" if up > 0 else "top")
        box = text.get_window_extent()
        if _contains(bounds, box) and not any(Bbox.intersection(box, other) for other in kept):
            return True
    return False


def _contains(outer: Any, inner: Bbox) -> bool:
    return bool(outer.x0 <= inner.x0 and inner.x1 <= outer.x1 and outer.y0 <= inner.y0 and inner.y1 <= outer.y1)


def texts_of(figure: Figure) -> list[Text]:
    """The visible texts of a figure, without labels of ticks beyond their axis."""
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        legend = axes.get_legend()
        found += [*axes.texts, *(legend.get_texts() if legend else ())]
        found += [title for title in axes.get_children() if isinstance(title, Text) and title not in axes.texts]
        inner = axes.get_window_extent()
        for axis, low, high, side in ((axes.xaxis, inner.x0, inner.x1, 0), (axes.yaxis, inner.y0, inner.y1, 1)):
            found += [axis.label, axis.get_offset_text()]
            for label in axis.get_ticklabels(which="both"):
                ends = label.get_window_extent().get_points()[:, side]
                found += [label] if low - 2 <= ends.mean() <= high + 2 else []
    return [text for text in found if text.get_visible() and text.get_text()]
