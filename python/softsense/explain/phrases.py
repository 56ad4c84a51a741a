"""Numbers and lists as they stand in an explanation."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from softsense.explain.explanation import Explanation

if TYPE_CHECKING:
    import polars as pl

_WIDTH = 100


def shown(found: Explanation) -> pl.DataFrame:
    """The regions of the level that is shown."""
    return found.regions.filter(found.regions["level"] == found.level)


def bit_of(region: dict[str, Any]) -> int:
    """The bit that a region stands for."""
    return int(region["llr"] < 0)


def for_decoder(region: dict[str, Any]) -> str:
    """The decoder's input for a region: a bit at level 1, an integer at other levels."""
    return str(bit_of(region)) if region["level"] == 1 else f"{region['integer_llr']:+d}"


def odds_of(region: dict[str, Any]) -> str:
    """The odds of a region's bit, in words."""
    llr = abs(region["llr"])
    if llr > math.log(1e6):
        return "more than a million to 1"
    odds = math.exp(llr)
    return f"{odds:,.0f} to 1" if odds >= 10 else f"{odds:.1f} to 1"


def list_of_levels(levels: Sequence[int]) -> str:
    """Levels that fail, in words."""
    if len(levels) == 1:
        return f"level {levels[0]} fails"
    return f"levels {levels[0]} {'and' if len(levels) == 2 else 'to'} {levels[-1]} fail"


def filled(paragraph: str, indent: int = 0) -> str:
    """A paragraph, broken into lines."""
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": " " * indent}
    return textwrap.fill(paragraph, _WIDTH, **options)


def table_of(corner: str, names: Iterable[Any], columns: list[tuple[str, list[str]]]) -> str:
    """A table, however wide."""
    from softsense import tables

    return tables.paneled("", corner, [str(name) for name in names], columns, 1000).lstrip("\n")


def references_of(found: Explanation, level: int) -> list[float]:
    """The reference voltages of a level, V."""
    return found.references.filter(found.references["level"] == level)["reference_v"].to_list()
