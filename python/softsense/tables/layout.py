"""Aligned blocks of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

_GAP = "  "

Column = tuple[str, list[str]]
"""A header of one or two lines, and a cell for each row."""


def columns(rows: Sequence[Mapping[str, Any]], *asked: tuple[str, str, Callable[[Any], str]]) -> list[Column]:
    """A column for each requested field: its header, its name in the rows, and the format of its values."""
    return [(header, [say(row[name]) for row in rows]) for header, name, say in asked]


def describe(rows: Sequence[tuple[str, str]], indent: str = "") -> str:
    """Label and value rows, aligned."""
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{indent}{label:<{width}}  {value}".rstrip() for label, value in rows)


def headed(columns: Sequence[Column]) -> str:
    """Columns under heads of two lines, aligned to the right."""
    return joined([aligned([*header.split("\n"), *cells], str.rjust) for header, cells in columns])


def paneled(title: str, corner: str, names: Sequence[str], columns: Sequence[Column], width: int) -> str:
    """A table under a title: names at the left, columns beside them, in several panels where the width asks for it."""
    first = aligned(["", corner, *names], str.ljust)
    panels = [[first]]
    used = len(first[0])
    for header, cells in columns:
        above, _, below = header.rpartition("\n")
        text = aligned([above, below, *cells], str.rjust)
        needed = len(_GAP) + len(text[0])
        if used + needed > width and len(panels[-1]) > 1:
            panels.append([first])
            used = len(first[0])
        panels[-1].append(text)
        used += needed
    return title + "\n" + "\n\n".join(joined(panel) for panel in panels)


def listing(rows: Sequence[Mapping[str, Any]], *asked: tuple[str, str, Callable[[Any], str]]) -> str:
    """A list of things, one a line, with columns as in `columns`: words at the left, formatted values at the right."""
    sides = [str.ljust if say is str else str.rjust for _, _, say in asked]
    told = zip(columns(rows, *asked), sides, strict=True)
    return joined([aligned([*header.split("\n"), *cells], side) for (header, cells), side in told])


def joined(columns: list[list[str]]) -> str:
    """Aligned columns beside one another, with a rule below their heads of two lines."""
    above, below, *body = [_GAP.join(cells).rstrip() for cells in zip(*columns, strict=True)]
    rule = "-" * len(_GAP.join(column[0] for column in columns))
    return "\n".join([*([above] if above else []), below, rule, *body])


def aligned(cells: list[str], align: Callable[[str, int], str]) -> list[str]:
    """Cells of one width."""
    width = max(map(len, cells))
    return [align(cell, width) for cell in cells]
