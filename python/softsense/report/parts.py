"""The parts of a document, beside the charts of `softsense.charts`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from softsense.charts import Chart


@dataclass(frozen=True)
class Table:
    """A table that sorts by any column, can be searched if it is long, and can be saved.

    Attributes:
        title: title above the table; may be empty.
        columns: heads of the columns.
        rows: cells of each row, numbers or text; text such as `1,282.0` or `25.9 % (25.1 % to 26.7 %)` sorts as its
            number, and None is an empty cell.
        note: a line below the table.
        marks: texts of cells that are marked by a sign and a colour, and their name in the style sheet.
        keys: the thing that each row stands for, as in `Series.keys`.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] | None = None

    @classmethod
    def of_columns(cls, title: str, columns: Sequence[tuple[str, Sequence[Any]]]) -> Table:
        """A table of columns as the terminal prints them: the head of each, of several lines, and its cells."""
        # Words that a narrow column has broken at a hyphen are whole again; `slow-down` has always been one.
        heads = [re.sub(r"(?<=\w)-\n", "", head).replace("\n", " ").strip() for head, _ in columns]
        return cls(title, heads, [list(row) for row in zip(*(cells for _, cells in columns), strict=True)])


@dataclass(frozen=True)
class Picture:
    """A picture in PNG, with a title; `folded` pictures wait until the reader opens them."""

    title: str
    png: bytes
    folded: bool = False


@dataclass(frozen=True)
class Attachment:
    """A file that the reader can save: its name and its text."""

    name: str
    text: str


@dataclass(frozen=True)
class Section:
    """A section: paragraphs, then parts.

    Paragraphs, also those among the parts, may have `code`, *emphasis* and **strong** words, as in Markdown.

    Attributes:
        title: title of the section, also in the list of contents.
        paragraphs: paragraphs at its beginning.
        parts: charts, tables, pictures, attachments, and paragraphs between them.
    """

    title: str
    paragraphs: Sequence[str] = ()
    parts: Sequence[Chart | Table | Picture | Attachment | str] = ()
