"""How wide text is, and how much of it fits: measured, so that nothing of a picture for a paper overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties

POINTS = 8
"""The size of all text of a paper."""

DPI = 300
"""Dots per inch of pictures for papers, for which text is measured."""

_KEY_IN = 0.25  # The mark of an entry of a legend, and the room beside it.
_BETWEEN_KEYS_IN = 0.13


def wrapped(text: str, inches: float, *, bold: bool = False) -> list[str]:
    """A text in lines of some width; a word that is wider stands alone in its line. None of an empty text."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and inches_of(f"{lines[-1]} {word}", bold=bold) <= inches:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [line for line in lines if line]


def inches_of(text: str, *, bold: bool = False) -> float:
    """How wide a text is at eight points."""
    font = FontProperties(size=POINTS, weight="bold" if bold else "normal")
    width, _, _ = _renderer().get_text_width_height_descent(text, font, False)
    return float(width) / DPI


@cache
def _renderer() -> Any:
    """What measures text; it is without types."""
    agg: Any = RendererAgg
    return agg(DPI, DPI, DPI)


def that_fit(names: Sequence[str], inches: float) -> int:
    """How many entries of a legend fit side by side; a legend fills its columns one after the other."""
    for count in range(len(names), 1, -1):
        whole, more = divmod(len(names), count)
        columns, at = [], 0
        for column in range(count):
            size = whole + (column < more)
            columns.append(max(inches_of(name) for name in names[at : at + size]))
            at += size
        if sum(columns) + count * _KEY_IN + (count - 1) * _BETWEEN_KEYS_IN <= inches:
            return count
    return 1
