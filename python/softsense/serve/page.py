"""The status of a served drive as an HTML page that loads itself anew: one file without scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from softsense.formats import as_duration, as_rate, as_share
from softsense.serve import text

_REFRESH_S = 2
_COLOURS = 8
_ACROSS = 32
_MOST_CELLS = 768
"""The most cells; more superblocks share cells, as the page would grow without bound otherwise."""
_CELL, _GAP = 15, 1
_BAR_WIDTH, _BAR_HEIGHT = 300, 18
_FREE, _BAD = "free", "bad"
_BROKEN = ("retired", "bad")


def page(status: dict[str, Any], *, address: str = "", live: bool = True) -> str:
    """The page of a status.

    Args:
        status: the status as the drive tells it, with the name of its `config` where that is known.
        address: address of the block device.
        live: whether the page loads itself anew every two seconds; False for a drive that is no longer served.
    """
    refresh = f'<meta http-equiv="refresh" content="{_REFRESH_S}">' if live else ""
    found = text.alarms(status)
    alarm = "".join(f"<p>{escape(sentence)}</p>" for sentence in found)
    sections = "".join(f"<section><h2>{title}</h2>{_rows(rows)}</section>" for title, rows in text.sections(status))
    image = escape(str(status.get("image", "")))
    ends = "" if live else '<p class="faint">As it was when this was written: the page does not follow the drive.</p>'
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{refresh}
<title>{escape(_title(status, found))}</title>
<style>
{_style()}</style>
</head>
<body>
<h1>{escape(_title(status, found))}</h1>
<p class="faint">{escape(address)}</p>
{ends}
{f'<div class="alarm">{alarm}</div>' if alarm else ""}
<div class="columns">{sections}</div>
<div class="columns">
<section><h2>Level at which codewords were decoded</h2>{_bars(status)}</section>
{_errors(status)}
</div>
<h2>Superblocks</h2>
{_grids(status.get("superblocks", []))}
{_smart(status)}
<footer>{image}</footer>
</body>
</html>
"""


def _style() -> str:
    """The colours of all pages, and the style of this one."""
    return "".join(
        files("softsense").joinpath(*path).read_text(encoding="utf-8")
        for path in (("web", "colours.css"), ("serve", "page.css"))
    )


def _title(status: dict[str, Any], found: Sequence[str]) -> str:
    state = str(status.get("state", "ok")).replace("_", " ")
    word = state if state != "ok" else "errors" if found else "ok"
    name = status.get("config") or status.get("model", "drive")
    return f"{name}: {word}, {as_rate(status.get('codewords', {}).get('rber'))} RBER"


def _rows(rows: text.Rows) -> str:
    return f"<dl>{''.join(f'<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>' for name, value in rows)}</dl>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" tabindex="0">{table}</div>'


def _errors(status: dict[str, Any]) -> str:
    rows = text.errors(status)[:12]
    return f"<section><h2>Last errors</h2>{_table(text.ERROR_COLUMNS, rows)}</section>" if rows else ""


def _smart(status: dict[str, Any]) -> str:
    rows = text.smart(status)
    columns = "".join(_rows([row]) for row in rows)
    return f'<h2>SMART</h2><div class="columns">{columns}</div>' if rows else ""


def _bars(status: dict[str, Any]) -> str:
    """The bars of read levels. Lengths are logarithmic, as the deep levels that matter are rare; numbers are beside."""
    levels = text.levels(status)
    most = math.log10(1 + max((n for _, n, _ in levels), default=0))
    lines = []
    for row, (level, n, share) in enumerate(levels):
        y = row * _BAR_HEIGHT
        width = 150 * math.log10(1 + n) / most if most else 0
        lines.append(f'<text x="0" y="{y + 13}">{level}</text>')
        lines.append(f'<rect x="14" y="{y + 3}" width="{width:.1f}" height="{_BAR_HEIGHT - 6}"/>')
        lines.append(f'<text x="{14 + width + 5:.1f}" y="{y + 13}">{n:,} ({as_share(share, significant=2)})</text>')
    box = f"0 0 {_BAR_WIDTH} {max(1, len(levels)) * _BAR_HEIGHT}"
    label = "Codewords by the read level at which they were decoded, logarithmic"
    caption = "<figcaption>Lengths of bars are logarithmic.</figcaption>"
    svg = f'<svg viewBox="{box}" role="img" aria-label="{label}">{"".join(lines)}</svg>'
    return f'<figure class="bars">{caption}{svg}</figure>'


def _grids(superblocks: Sequence[dict[str, Any]]) -> str:
    if not superblocks:
        return '<p class="faint">Nothing is known of them.</p>'
    wear = _grid(superblocks, "pe_cycles", "P/E cycles", lambda value: f"{value:,.0f}", free_too=True)
    age = _grid(superblocks, "age_hours", "Age of the data", lambda hours: as_duration(3600 * hours), free_too=False)
    shared = math.ceil(len(superblocks) / _MOST_CELLS)
    note = (
        f'<p class="faint">{len(superblocks):,} superblocks, the highest of {shared} in a cell.</p>'
        if shared > 1
        else ""
    )
    return f'<div class="columns">{wear}{age}</div>{note}'


def _grid(superblocks: Sequence[dict[str, Any]], key: str, title: str, say: Any, *, free_too: bool) -> str:
    """A grid with a cell for each superblock, or for several; one path for all cells of a colour saves space."""
    per_cell = math.ceil(len(superblocks) / _MOST_CELLS)
    groups = [superblocks[i : i + per_cell] for i in range(0, len(superblocks), per_cell)]
    values = [float(each.get(key) or 0) for each in superblocks if free_too or not _is(each, _FREE)]
    low, high = min(values, default=0.0), max(values, default=0.0)
    paths: dict[str, list[str]] = {}
    for number, group in enumerate(groups):
        y, x = divmod(number, _ACROSS)
        place = f"M{x * _CELL} {y * _CELL}h{_CELL - _GAP}v{_CELL - _GAP}h-{_CELL - _GAP}z"
        paths.setdefault(_colour(group, key, low, high, free_too), []).append(place)
    drawn = "".join(f'<path class="{name}" d="{"".join(places)}"/>' for name, places in sorted(paths.items()))
    box = f"0 0 {_ACROSS * _CELL - _GAP} {math.ceil(len(groups) / _ACROSS) * _CELL - _GAP}"
    keys = [("c0", say(low)), (f"c{_COLOURS - 1}", say(high))]
    keys += [] if free_too else [(_FREE, "free")]
    keys += [(_BAD, "retired, or with broken blocks")] if _BAD in paths else []
    legend = "".join(
        f'<span class="key"><svg viewBox="0 0 9 9"><path class="{name}" d="M0 0h9v9h-9z"/></svg>{escape(word)}</span>'
        for name, word in keys
    )
    svg = f'<svg viewBox="{box}" role="img" aria-label="{title} of superblocks">{drawn}</svg>'
    return f'<figure class="grid"><figcaption>{title}: {legend}</figcaption>{svg}</figure>'


def _colour(group: Sequence[dict[str, Any]], key: str, low: float, high: float, free_too: bool) -> str:
    """The class of a cell, by the worst of the superblocks for which it stands."""
    if any(each.get("state") in _BROKEN or each.get("broken_blocks") for each in group):
        return _BAD
    values = [float(each.get(key) or 0) for each in group if free_too or not _is(each, _FREE)]
    if not values:
        return _FREE
    share = (max(values) - low) / (high - low) if high > low else 0.0
    return f"c{min(_COLOURS - 1, int(share * _COLOURS))}"


def _is(superblock: dict[str, Any], state: str) -> bool:
    return str(superblock.get("state", "")) == state
