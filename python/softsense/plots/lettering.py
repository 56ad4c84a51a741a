"""Widths of text, and the amount of it that fits: measured, so that nothing in a picture for a paper overlaps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties

POINTS = 8
"""The size of all text of a paper."""

DPI = 300
"""Dots per inch of pictures for papers, for which text is measured."""

KEY_IN = 0.25  # The mark of an entry of a legend, and the room beside it.
_BETWEEN_KEYS_IN = 0.13


def wrapped(text: str, inches: float, *, bold: bool = False, within_words: bool = False) -> list[str]:
    """A text in lines of at most some width, with its own line breaks. No lines for an empty text.

    A word that is wider stands alone in its line, or, with `within_words`, is broken into several lines.
    """
    lines: list[str] = []
    for paragraph in text.split("\n"):
        begun = False
        for word in paragraph.split(" "):
            if begun and inches_of(f"{lines[-1]} {word}", bold=bold) <= inches:
                lines[-1] += f" {word}"
            else:
                lines += _parts(word, inches, bold) if within_words else [word]
            begun = True
    return [line for line in lines if line]


def _parts(word: str, inches: float, bold: bool) -> list[str]:
    """A word in parts that are no wider than some width, of a letter at least."""
    parts = [""]
    for letter in word:
        if parts[-1] and inches_of(parts[-1] + letter, bold=bold) > inches:
            parts.append("")
        parts[-1] += letter
    return parts


@cache
def inches_of(text: str, *, bold: bool = False) -> float:
    """The width in inches of a text of one line or several at eight points."""
    font = FontProperties(size=POINTS, weight="bold" if bold else "normal")
    widths = [_renderer().get_text_width_height_descent(line, font, False)[0] for line in text.split("\n")]
    return float(max(widths)) / DPI


@cache
def _renderer() -> Any:
    """The renderer that measures text; it is without types."""
    agg: Any = RendererAgg
    return agg(DPI, DPI, DPI)


def lines_of(names: Sequence[str], in_row: int) -> int:
    """The number of lines of a legend whose names may have several lines."""
    return max(sum(1 + name.count("\n") for name in column) for column in _columns(names, in_row))


def that_fit(names: Sequence[str], inches: float) -> int:
    """The number of entries of a legend that fit side by side; a legend fills its columns one after the other."""
    for count in range(len(names), 1, -1):
        widths = [max(inches_of(name) for name in column) for column in _columns(names, count)]
        if sum(widths) + count * KEY_IN + (count - 1) * _BETWEEN_KEYS_IN <= inches:
            return count
    return 1


def names_that_fit(names: Sequence[str], inches: float) -> list[str]:
    """Names of a legend, in as many lines as each needs to fit alone."""
    return ["\n".join(wrapped(name, inches - KEY_IN, within_words=True)) for name in names]


def _columns(names: Sequence[str], count: int) -> list[Sequence[str]]:
    """The names of each column of a legend."""
    whole, more = divmod(len(names), count)
    ends = list(itertools.accumulate(whole + (column < more) for column in range(count)))
    return [names[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
