"""Tables of a document: cells, and the numbers by which they sort."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from softsense.formats import as_significant
from softsense.report.marking import breakable, marked_up
from softsense.report.parts import Table

# Cells with more characters are broken into lines.
_MOST_UNBROKEN = 40
# Tables with more rows can be searched.
_MOST_SEEN = 12
_NUMBER = re.compile(
    r"(?:at most )?([+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?:x| ?%| (?:s|ms|us|µs|min|uJ|µJ))?(?: \(.*\))?\*?$"
)


def table_html(table: Table, where: str) -> str:
    """A table as an element."""
    numeric = [_of_numbers([row[i] for row in table.rows]) for i in range(len(table.columns))]
    heads = "".join(
        f'<th scope="col" aria-sort="none"{_class(is_number)}><button type="button">{breakable(head)}</button></th>'
        for head, is_number in zip(table.columns, numeric, strict=True)
    )
    judged = any(isinstance(cell, str) and cell in table.marks for row in table.rows for cell in row)
    labels = [f' data-label="{escape(head)}"' if judged else "" for head in table.columns]
    rows = []
    for number, row in enumerate(table.rows):
        cells = "".join(
            _cell(cell, is_number, i == 0, label, table.marks)
            for i, (cell, is_number, label) in enumerate(zip(row, numeric, labels, strict=True))
        )
        key = f' data-row="{escape(table.keys[number])}"' if table.keys is not None else ""
        rows.append(f"<tr{key}>{cells}</tr>")
    name = escape(table.title or where)
    lines = [f'<figure class="table{" verdicts" if judged else ""}" data-name="{name}">', '<figcaption class="above">']
    if table.title:
        lines.append(f"<h3>{name}</h3>")
    search = ""
    if len(rows) > _MOST_SEEN:
        search = (
            '<span class="count"></span><input class="filter" type="search" placeholder="find rows" '
            f'aria-label="Find rows of {name}">'
        )
    lines.append(f'<span class="tools">{search}<button type="button" data-save="csv">CSV</button></span></figcaption>')
    lines.append(f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>')
    lines.append(f"<thead><tr>{heads}</tr></thead>\n<tbody>")
    lines += rows
    lines.append("</tbody></table></div>")
    if table.note:
        lines.append(f'<p class="note">{marked_up(table.note)}</p>')
    return "\n".join([*lines, "</figure>"])


def _of_numbers(cells: Sequence[Any]) -> bool:
    """Whether most cells of a column are numbers."""
    held = [cell for cell in cells if cell not in (None, "", "-")]
    return 2 * sum(_sort_key(cell) is not None for cell in held) > len(held)


def _class(*names: str | bool) -> str:
    given = " ".join("number" if name is True else name for name in names if name)
    return f' class="{given}"' if given else ""


def _cell(cell: Any, is_number: bool, first: bool, label: str, marks: Mapping[str, str]) -> str:
    text = _shown(cell)
    key = _sort_key(cell)
    sort = "" if key is None else f' data-key="{key!r}"'
    inner = breakable(text)
    mark = marks.get(text, "")
    if mark:
        inner = f'<span class="mark {mark}">{inner}</span>'
    elif first:
        inner = f'<span class="name">{inner}</span>'
    elif len(text) > _MOST_UNBROKEN:
        inner = f'<span class="long">{inner}</span>'
    elif is_number and key is not None and " (" in inner:
        # The interval gets a line of its own, so that a table with several intervals is no wider than a page.
        inner = inner.replace(" (", ' <span class="interval">(', 1) + "</span>"
    tag = 'th scope="row"' if first else "td"
    return f"<{tag}{_class(is_number, 'verdict' if mark else '')}{sort}{label}>{inner}</{tag[:2]}>"


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    return as_significant(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else str(cell)


def _sort_key(cell: Any) -> float | None:
    """The number by which a cell sorts; None for text."""
    if isinstance(cell, int | float):
        return float(cell) if math.isfinite(cell) else None
    found = _NUMBER.match(str(cell).strip()) if cell is not None else None
    return float(found.group(1).replace(",", "")) if found else None
