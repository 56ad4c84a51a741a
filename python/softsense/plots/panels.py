"""A panel in a figure of the user's own, of any size: its title and its legend in as many lines as fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg

from softsense.colours import INK
from softsense.plots.lettering import POINTS, that_fit, wrapped
from softsense.plots.paper import leave_out, shrink, wrap_labels
from softsense.plots.style import TITLE_POINTS, key_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_ROUNDS = 3
_LINE = 1.32  # From one line to the next, in sizes of its letters.


def fit_panels(axes: Axes, panels: tuple[str, ...], *, on_paper: bool) -> None:
    """Fit the titles and legends of a figure to the room that there is, after one more panel has been drawn.

    A figure without a layout engine gets the constrained one, or text beside the data would be cut off.

    Args:
        axes: the axes into which the panel has been drawn.
        panels: labels of axes that hold a panel.
        on_paper: whether the text of the panel has eight points.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    # Texts are measured on one canvas, also in a figure that came without one.
    if not hasattr(figure.canvas, "get_renderer"):
        FigureCanvasAgg(figure)
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    if on_paper:
        legend, title = axes.get_legend(), axes.get_title(loc="left")
        key = (legend.legend_handles, [text.get_text() for text in legend.get_texts()]) if legend else None
        shrink(axes)
        axes.set_title(title, loc="left", fontsize=POINTS, pad=22)
        if key:
            _put(axes, *key, 1, POINTS, 0.0)
    drawn = [each for each in figure.axes if each.get_label() in panels]
    for _ in range(_ROUNDS):
        if engine := figure.get_layout_engine():
            engine.execute(figure)
        for each in drawn:
            _fit(each, figure)
        figure.draw_without_rendering()
        # Hidden text takes no room any more.
        for each in drawn:
            leave_out(figure, each)


def _fit(axes: Axes, figure: Figure) -> None:
    """Let the title and the legend begin at the left of the names, and end where the data ends."""
    inner, dpi = axes.get_window_extent(), figure.dpi
    labels = axes.yaxis.get_tightbbox()
    beside = (inner.x0 - min(labels.x0, inner.x0)) / dpi if labels else 0.0
    wide = inner.width / dpi
    left = -beside / wide
    # Widths of text are known at eight points.
    of_labels = _size_of(axes.xaxis.label)
    wrap_labels(axes, wide * POINTS / of_labels, inner.height / dpi * POINTS / of_labels)
    above = 4.0
    if legend := axes.get_legend():
        names, size = [text.get_text() for text in legend.get_texts()], _size_of(legend.get_texts()[0])
        in_row = that_fit(names, (wide + beside) * POINTS / size)
        _put(axes, legend.legend_handles, names, in_row, size, left)
        above += size * (0.8 + _LINE * math.ceil(len(names) / in_row))
    title = axes.get_title(loc="left").replace("\n", " ")
    size = POINTS if of_labels == POINTS else TITLE_POINTS
    lines = wrapped(title, (wide + beside) * POINTS / size, bold=True)
    look: dict[str, Any] = {"fontsize": size, "weight": "bold", "color": INK}
    axes.set_title("\n".join(lines), loc="left", x=left, pad=above, **look)


def _size_of(text: Text) -> float:
    """The size of a text, in points."""
    return float(text.get_fontsize())


def _put(axes: Axes, handles: Any, names: list[str], in_row: int, size: float, left: float) -> None:
    key_beside(axes, handles, names, ncols=in_row, handlelength=0.9, handletextpad=0.4, columnspacing=0.9)
    legend = axes.get_legend()
    assert legend is not None
    for text in legend.get_texts():
        text.set_fontsize(size)
    legend.set_bbox_to_anchor((left, 0.995), transform=axes.transAxes)
