"""Documents that hold everything they show, in HTML."""

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
from softsense.report.cells import table_html
from softsense.report.charts import chart_html
from softsense.report.marking import marked_up
from softsense.report.parts import Attachment, Chart, Picture, Section, Table

# Beyond so many sections contents are shortened.
_MOST_LINKS = 8

# What is longer than a few lines is folded.
_MOST_SHOWN, _MOST_SHOWN_LINES = 400, 6


def html(title: str, finding: str, sections: Sequence[Section], provenance: Mapping[str, str]) -> str:
    """A document that needs nothing but itself.

    Args:
        title: of the document.
        finding: the main result in a sentence or two.
        sections: in order.
        provenance: what was run, label by label; a long text, such as the resolved config, is folded.

    Deterministic: equal arguments give equal documents.
    """
    charts: list[dict[str, Any]] = []
    body = [_section(f"s{i}", section, charts) for i, section in enumerate(sections, start=1)]
    links = [(f"s{i}", section.title) for i, section in enumerate(sections, start=1)]
    if provenance:
        body.append(_provenance(provenance))
        links.append(("run", "What was run"))
    names = _short([text for _, text in links])
    contents = "".join(
        f'<li><a href="#{id_}">{escape(name)}</a></li>' for (id_, _), name in zip(links, names, strict=True)
    )
    hint = ""
    scripts = [f"<script>{_script('report.js')}</script>"]
    if charts:
        hint = (
            '<p class="hint">Names above a chart hide or show their series<span class="mouse">, or with a double '
            "click one alone; drag over a chart to zoom in, double-click to zoom out</span>. Heads of tables sort.</p>"
        )
        # Inside a script element only `<` could end it.
        data = json.dumps(charts, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        scripts = [
            f'<script type="application/json" id="charts">{data}</script>',
            f"<script>{_plotly()}</script>",
            *scripts,
        ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            # The browser itself refuses to load anything from anywhere.
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>{_text('report.css')}</style>",
            "</head>",
            "<body>",
            f"<header>\n<h1>{escape(title)}</h1>",
            f'<p class="finding">{marked_up(finding)}</p>',
            f'<nav aria-label="Contents"><ul>{contents}</ul></nav>',
            "<noscript><p>Charts are drawn by a script, which this browser does not run.</p></noscript>",
            f"{hint}\n</header>",
            "<main>",
            *body,
            "</main>",
            f"<footer>{escape(_made_by(bool(charts)))}</footer>",
            *scripts,
            "</body>",
            "</html>\n",
        ]
    )


def _short(titles: Sequence[str]) -> list[str]:
    """Of many titles what stands before a colon, where that tells them apart."""
    heads = [title.partition(":")[0] for title in titles]
    few = len(titles) <= _MOST_LINKS
    return [title if few or heads.count(head) > 1 else head for title, head in zip(titles, heads, strict=True)]


def versions() -> str:
    """What this softsense is and on what it runs, as one line of provenance."""
    build = build_info()
    return (
        f"softsense {build['version']}, model {build['model_version']} ({build['profile']}, {build['target']}, "
        f"{build['instruction_set']}); Python {platform.python_version()}"
    )


def _text(name: str) -> str:
    return files("softsense").joinpath(name).read_text(encoding="utf-8")


def _script(name: str) -> str:
    return _safe_script(_text(name))


def _plotly() -> str:
    return _safe_script(files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8"))


def _safe_script(text: str) -> str:
    """A script that cannot end the element that holds it; in its strings this says the same."""
    return re.sub(r"</(?=script)", r"\\x3c/", text, flags=re.IGNORECASE)


def _made_by(charts: bool) -> str:
    made = f"Made by softsense {__version__}."
    if charts and (found := re.search(r"plotly\.js v[\d.]+", _plotly()[:400])):
        made += f" Charts: {found.group()} (MIT licence)."
    return made


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
