"""What a document is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Series:
    """Numbers under one name in the legend.

    Attributes:
        name: in the legend.
        x: numbers, or the names of categories.
        y: as many numbers; None leaves a gap.
        kind: a `line`, a `bar`, `points`, or `span`: bars from `lo` to y, of charts whose bars are stacked.
        lo: lower ends of intervals of y, drawn as whiskers.
        hi: upper ends.
        labels: a line more of what a point shows under the pointer.
        colour: such as `#0072b2`; default: the next one of `colours.SERIES`.
        dashed: a line that is a bound or a reference.
        steps: a line that is constant from each point to the next one.
        keys: what each point stands for: a selection in one chart is one of all charts and tables of the document.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    kind: Literal["line", "bar", "points", "span"] = "line"
    lo: Sequence[float | None] | None = None
    hi: Sequence[float | None] | None = None
    labels: Sequence[str] | None = None
    colour: str = ""
    dashed: bool = False
    steps: bool = False
    keys: Sequence[str] | None = None


@dataclass(frozen=True)
class Chart:
    """A chart; labels of axes say the unit, which is shown with each value.

    Attributes:
        title: above it; may be empty where the section says it.
        series: what is drawn; bars stand side by side in the order of series.
        x_label: quantity and unit.
        y_label: quantity and unit.
        log_x: whether the axis is logarithmic at first; the reader can switch each axis that allows it.
        log_y: the same.
        note: a line below the chart.
        stacked: bars of a category lie end to end, from left to right; they never have a logarithmic axis.
        level: a height to be marked, such as that of no change.
        names: the order of categories; default: that in which series name them.
        x_from: where a logarithmic horizontal axis begins at first, lest a few small values squeeze the others.
        exclusive: bars stand alone in the middle of their category, as no other series has one there.
        linked: charts of the same name zoom together along the horizontal axis.
    """

    title: str
    series: Sequence[Series]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    stacked: bool = False
    level: float | None = None
    names: Sequence[str] = ()
    x_from: float | None = None
    exclusive: bool = False
    linked: str = ""


@dataclass(frozen=True)
class Table:
    """A table that sorts by any column, can be searched if it is long, and saved.

    Attributes:
        title: above it; may be empty.
        columns: their heads.
        rows: cells of each, numbers or text; text such as `1,282.0` or `25.9 % (25.1 % to 26.7 %)` sorts as its
            number, and None is nothing.
        note: a line below the table.
        marks: texts of cells that are marked by a sign and a colour, and their name in the style sheet.
        keys: what each row stands for, as the points of `Series.keys` do.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] | None = None


@dataclass(frozen=True)
class Picture:
    """A picture in PNG, and in words what it shows; `folded` pictures wait until the reader opens them."""

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
        title: also in the list of contents.
        paragraphs: what it begins with.
        parts: charts, tables, pictures, attachments, and paragraphs between them.
    """

    title: str
    paragraphs: Sequence[str] = ()
    parts: Sequence[Chart | Table | Picture | Attachment | str] = ()
