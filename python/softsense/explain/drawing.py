"""Common parts of the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


WIDE = 11.0


def draw_key(axes: Axes, entries: list[tuple[Any, str]], said: str) -> None:
    """Draw a row between the head of a panel and its data: keys at the left, words at the right, or alone there."""
    from softsense import plots

    if entries:
        handles, labels = zip(*entries, strict=True)
        axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(-0.005, 0.995),
            ncols=len(entries),
            frameon=False,
            fontsize=9,
            labelcolor=plots.INK,
            borderaxespad=0,
            handlelength=1.4,
            handletextpad=0.5,
            columnspacing=1.3,
        )
    at, side = ((1, 0), "right") if entries else ((0, 0), "left")
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": side, "va": "bottom"}
    axes.annotate(said, (at[0], 1), (0, 6), fontsize=9, color=plots.FAINT, **place)
