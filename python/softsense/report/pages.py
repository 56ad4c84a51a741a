"""A document as HTML: the frame around its sections, its scripts and its style."""

from __future__ import annotations

import base64
import json
import platform
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from softsense._core import __version__, build_info
from softsense.charts import Chart
from softsense.report.cells import table_html
from softsense.report.charts import chart_html
from softsense.report.marking import marked_up
from softsense.report.parts import Attachment, Picture, Section, Table

# With more sections, contents are shortened.
_MOST_LINKS = 8
# Texts that are longer than a few lines are folded.
_MOST_SHOWN, _MOST_SHOWN_LINES = 400, 6
_HINT = (
    '<p class="hint">Names above a chart hide or show their series<span class="mouse">, or with a double click one '
    "alone; drag over a chart to zoom in, double-click to zoom out</span>. Arrow keys go from value to value. Heads of "
    "tables sort.</p>"
)
_SELECT_HINT = (
    '<p class="hint">With <em>select</em>, drag around points: all charts and tables show what was chosen.</p>'
)
# Folders of an absolute path, which are left out: the machine of a file is no part of a result.
_FOLDERS = re.compile(r"(?<![\w.:/<])(?:[A-Za-z]:)?(?:[\\/][^\\/\s\"'`<>:,;()]+)+[\\/](?=[^\\/\s\"'`<>:,;()])")


def html(title: str, finding: str, sections: Sequence[Section], provenance: Mapping[str, str]) -> str:
    """A document that is complete in one file.

    Args:
        title: title of the document.
        finding: the main result in a sentence or two.
        sections: the sections in order.
        provenance: the inputs of the runs, by label; a long text, such as the resolved config, is folded. Of absolute
            paths only the names of files are shown.

    Deterministic: equal arguments give equal documents.
    """
    charts: list[dict[str, Any]] = []
    body = [_section(f"s{i}", section, charts) for i, section in enumerate(sections, start=1)]
    links = [(f"s{i}", section.title) for i, section in enumerate(sections, start=1)]
    if provenance:
        body.append(_provenance({label: without_folders(text) for label, text in provenance.items()}))
        links.append(("run", "What was run"))
    hints = [_HINT] if charts else []
    hints += [_SELECT_HINT] if any("keys" in series for chart in charts for series in chart["series"]) else []
    # Inside a script element only `<` could end it.
    data = json.dumps(charts, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return document(
        title,
        [f'<p class="finding">{marked_up(finding)}</p>', *hints],
        body,
        links,
        data=f'<script type="application/json" id="charts">{data}</script>' if charts else "",
        scripts=("report.js",),
    )


def document(
    title: str,
    head: Sequence[str],
    body: Sequence[str],
    links: Sequence[tuple[str, str]] = (),
    *,
    data: str = "",
    scripts: Sequence[str] = (),
    served: bool = False,
) -> str:
    """A page of softsense: its common frame around the elements of the page.

    Args:
        title: title of the page.
        head: elements below the title.
        body: elements of the page.
        links: contents: the id of an element, and the words that lead to it.
        data: an element that scripts read.
        scripts: files of `softsense/web` that follow those of all pages.
        served: whether the page is of a local server, from which it loads more; any other loads nothing.
    """
    connect = " connect-src 'self';" if served else ""
    images = "img-src data: 'self';" if served else "img-src data:;"
    names = _short([text for _, text in links])
    items = "".join(
        f'<li><a href="#{id_}">{escape(name)}</a></li>' for (id_, _), name in zip(links, names, strict=True)
    )
    contents = (
        '<nav aria-label="Contents"><details open><summary>Contents<span class="place"></span></summary>'
        f"<ul>{items}</ul></details></nav>"
    )
    script = "\n".join(_web(name) for name in ("charts.js", "plots.js", "page.js", *scripts))
    # The escape has the same meaning within strings of a script, and cannot end the script element.
    script = re.sub(r"</(?=script)", r"\\x3c/", script, flags=re.IGNORECASE)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # The browser refuses to load resources from elsewhere.
            f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\';{connect} {images} '
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>{_web('colours.css')}{_web('page.css')}</style>",
            "</head>",
            "<body>",
            f'<header>\n<div class="top"><h1>{escape(title)}</h1><button type="button" class="quiet" id="theme">dark'
            "</button></div>",
            *head,
            "<noscript><p>Charts are drawn by a script, which this browser does not run.</p></noscript>",
            "</header>",
            f'<div class="{"page" if links else "whole"}">',
            *([contents] if links else []),
            "<main>",
            *body,
            "</main>",
            "</div>",
            f"<footer>Made by softsense {escape(__version__)}.</footer>",
            *([data] if data else []),
            f"<script>{script}</script>",
            "</body>",
            "</html>\n",
        ]
    )


def versions() -> str:
    """The version of softsense and of its surroundings, as one line of provenance."""
    build = build_info()
    return (
        f"softsense {build['version']}, model {build['model_version']} ({build['profile']}, {build['target']}, "
        f"{build['instruction_set']}); Python {platform.python_version()}"
    )


def without_folders(text: str) -> str:
    """A text with the names of files in place of absolute paths."""
    return _FOLDERS.sub("", text)


def _web(name: str) -> str:
    return files("softsense").joinpath("web", name).read_text(encoding="utf-8")


def _short(titles: Sequence[str]) -> list[str]:
    """Titles for links: of many titles only the part before a colon, where that part is unique."""
    heads = [title.partition(":")[0] for title in titles]
    few = len(titles) <= _MOST_LINKS
    return [title if few or heads.count(head) > 1 else head for title, head in zip(titles, heads, strict=True)]


def _section(id_: str, section: Section, charts: list[dict[str, Any]]) -> str:
    lines = [f'<section id="{id_}">', f"<h2>{escape(section.title)}</h2>"]
    lines += [f"<p>{marked_up(text)}</p>" for text in section.paragraphs]
    for part in section.parts:
        if isinstance(part, Chart):
            lines.append(chart_html(part, section.title, charts))
        elif isinstance(part, Table):
            lines.append(table_html(part, section.title))
        elif isinstance(part, Picture):
            lines.append(_picture(part))
        elif isinstance(part, Attachment):
            lines.append(_attachment(part))
        else:
            lines.append(f"<p>{marked_up(part)}</p>")
    return "\n".join([*lines, "</section>"])


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode()
    image = f'<img alt="{escape(picture.title)}" src="data:image/png;base64,{data}">'
    image = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(picture.title)}">{image}</div>'
    if picture.folded:
        return f'<details class="picture"><summary>As a picture</summary>{image}</details>'
    return f'<figure class="picture">{image}</figure>'


def _attachment(attachment: Attachment) -> str:
    data = base64.b64encode(attachment.text.encode()).decode()
    name = escape(attachment.name)
    return f'<p class="attachment">Numbers: <a download="{name}" href="data:text/csv;base64,{data}">{name}</a></p>'


def _provenance(provenance: Mapping[str, str]) -> str:
    short = {
        label: text
        for label, text in provenance.items()
        if len(text) <= _MOST_SHOWN and text.count("\n") < _MOST_SHOWN_LINES
    }
    lines = ['<section id="run">', "<h2>What was run</h2>", "<dl>"]
    lines += [f"<div><dt>{escape(label)}</dt><dd>{escape(text)}</dd></div>" for label, text in short.items()]
    lines.append("</dl>")
    for label, text in provenance.items():
        if label not in short:
            lines.append(f"<details><summary>{escape(label)}</summary><pre>{escape(text)}</pre></details>")
    return "\n".join([*lines, "</section>"])
