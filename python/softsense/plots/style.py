"""Common parts of pictures: heads, legends and axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from softsense.colours import FAINT, INK, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARK = "mark"
"""The group of labels of reference lines."""

BESIDE_POINTS = (5, 5)
"""The distance from a point to the text beside it, in points."""

TITLE_POINTS = 11.5
"""The size of the title of a panel."""

_ABOVE_PANEL = 0.995  # Where the key of a single panel stands, in shares of its height.


def heading(picture: Figure, title: str, note: str = "") -> None:
    """Put the title of a picture and a line below it, in the house's type."""
    across, height = picture.get_size_inches()
    style: dict[str, Any] = {"x": 0.15 / across, "va": "center", "parse_math": False}
    size = min(13.0, 13.0 * (across - 0.3) / (0.1 * len(title)))
    picture.text(y=1 - 0.22 / height, s=title, fontsize=size, weight="bold", color=INK, **style)
    if note:
        picture.text(y=1 - 0.47 / height, s=note, fontsize=9, color=FAINT, **style)


def head(axes: Axes, title: str) -> None:
    """Put the title of a panel, and draw its frame without top and right."""
    # With a height of its own: to find one, matplotlib would place all labels of the y axis anew.
    axes.set_title(title, loc="left", fontsize=TITLE_POINTS, weight="bold", color=INK, y=1.0, pad=22)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#aaaaaa")
    axes.tick_params(colors=FAINT, labelsize=9)
    axes.xaxis.label.set(color=FAINT, fontsize=9.5)
    axes.yaxis.label.set(color=FAINT, fontsize=9.5)
    axes.set_axisbelow(True)


def key_beside(axes: Axes, *entries: Any, **spacing: Any) -> None:
    """Put one row of keys between the head of a panel and its data."""
    key = axes.legend(
        *entries,
        loc="lower left",
        bbox_to_anchor=(-0.01, _ABOVE_PANEL),
        frameon=False,
        fontsize=8.5,
        borderaxespad=0,
        labelcolor=INK,
        **spacing,
    )
    # The legend may be wider than its panel.
    key.set_in_layout(False)


def keep_key_out_of_the_next(axes: Axes) -> None:
    """Let a key that is wider than its panel begin above the names of the rows, where there is room."""
    key = axes.get_legend()
    if key is None or key.get_in_layout():
        return
    too_wide = key.get_window_extent().width / axes.get_window_extent().width - 1
    if too_wide > 0:
        key.set_bbox_to_anchor((-round(too_wide, 4), _ABOVE_PANEL), transform=axes.transAxes)


def say_why(axes: Axes, why: str) -> None:
    """Put a text into an empty panel about why it is empty."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color=FAINT, fontsize=11)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def plain_log(axes: Axes, say: Callable[[float], str]) -> None:
    """Make a logarithmic x axis with plain labels, few enough to stand apart."""
    low, high = axes.get_xlim()
    decades = math.log10(high / low)
    steps = (1, 1.5, 2, 3, 4, 5, 7) if decades < 0.8 else (1, 2, 5) if decades < 2 else (1,)
    stride = max(1, math.ceil(decades / 6))
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [s * 10.0**e for e in exponents if e % stride == 0 for s in steps if low <= s * 10.0**e <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: say(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", color=RULE, linewidth=0.7)
