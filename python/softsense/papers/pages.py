"""Reports of reproductions as documents for a browser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from softsense.charts import Chart, Mark, Series, Sheet
from softsense.papers.judging import (
    HOLDS,
    IN_DIRECTION,
    KINDS,
    NOT,
    NOT_MEASURED,
    RULE,
    SIGN_ONLY,
    UNDECIDED,
    UNDER_SOME,
)
from softsense.papers.plans import configured
from softsense.papers.telling import (
    ELSEWHERE,
    claim_cells,
    claim_heads,
    claim_row,
    elsewhere_table,
    headline,
    reasons,
    summed,
    tally,
)
from softsense.report.pages import html, versions
from softsense.report.parts import Attachment, Picture, Section, Table

if TYPE_CHECKING:
    from softsense.papers.running import Reproduction

MARKS = {
    HOLDS: "good",
    UNDER_SOME: "some",
    IN_DIRECTION: "fair",
    SIGN_ONLY: "poor",
    NOT: "bad",
    UNDECIDED: "unknown",
    NOT_MEASURED: "unknown",
}
"""Verdicts, with the names of their colours in the style sheet."""


def of_reproduction(result: Reproduction) -> str:
    """The report of a reproduction: claims with published and measured numbers, and every figure with its notes."""
    plan = result.plan
    workloads = [[each.name, each.what, each.file or "synthetic"] for each in plan.workloads]
    workloads += [[each.name, "left out: its trace was not given", each.file or ""] for each in plan.left_out]
    judges = bool(result.paper.claims)
    sections = [
        *([Section("Claims", [f"{result.paper.published}."], _claims(result))] if judges else []),
        *(_figure(result, figure, measured) for figure, measured in result.figures),
        Section(
            "How it was measured and judged" if judges else "How it was measured",
            [text for text in (result.paper.intro, " ".join(RULE.split()) if judges else "") if text],
            [Table("Workloads", ["workload", "what it is", "trace"], workloads)],
        ),
    ]
    config = configured(result.paper.config, plan.overrides)
    provenance = {
        "paper": result.paper.name,
        "figures": ", ".join(figure.id for figure, _ in result.figures),
        "seeds": ", ".join(map(str, plan.seeds)),
        "scale": "full" if plan.full else "quick",
        "simulations": f"{result.runs:,}",
        "versions": versions(),
        "SHA-256 of the device's config": config.sha256,
        f"resolved config of the device ({result.paper.config})": config.to_toml(),
    }
    return html(result.paper.title, _verdicts(result), sections, provenance)


def of_reproductions(results: Sequence[Reproduction]) -> str:
    """All claims of several papers on one page, each with its verdict; their reports are in folders beside it."""
    every = [row for result in results for row in result.claims]
    sections = []
    heads, cells = elsewhere_table(results)
    if cells:
        title = "The headlines on drives of today"
        sections.append(Section(title, [" ".join(ELSEWHERE.split())], [Table("Paper by drive", heads, cells)]))
    for result in results:
        claims = {claim.id: claim for claim in result.paper.claims}
        texts = [text for text in (headline(result), " ".join(summed(result))) if text]
        rows = claim_cells(claims, result.claims)
        tables = [Table("Claims", claim_heads(result.claims), rows, marks=MARKS)] if rows else []
        sections.append(Section(result.paper.title, [f"{result.paper.published}.", *texts], tables))
    kinds = [[kind, what] for kind, what in KINDS.items()]
    sections.append(
        Section("How claims are judged", [" ".join(RULE.split())], [Table("Kinds", ["kind", "what"], kinds)])
    )
    scales = {"full" if result.plan.full else "quick" for result in results}
    provenance = {"papers": ", ".join(result.paper.name for result in results), "scale": ", ".join(sorted(scales))}
    said = f"{len(every)} claims of {len(results)} papers. {' '.join(tally(every))}"
    return html("What was published, and what comes of it here", said, sections, {**provenance, "versions": versions()})


def _verdicts(result: Reproduction) -> str:
    """The numbers of claims by verdict, in a sentence or two."""
    sentences = []
    if result.interrupted:
        sentences.append("Interrupted: this covers the figures that were complete.")
    if sentence := headline(result):
        sentences.append(sentence)
    if result.claims:
        sentences += summed(result)
    elif result.paper.claims:
        sentences.append("None of the paper's claims belongs to these figures.")
    else:
        sentences.append(f"{result.paper.published}.")
    seeds = result.plan.seeds
    n = f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
    if result.plan.full:
        sentences.append(f"Measured with {n}.")
    else:
        wide = ": intervals are wide, and runs are short" if result.paper.claims else ""
        sentences.append(f"A quick look with {n}{wide}.")
    return " ".join(sentences)


def _claims(result: Reproduction) -> list[Chart | Table | str]:
    """All claims in a table, and how far numbers are from those published."""
    claims = {claim.id: claim for claim in result.paper.claims}
    rows: list[list[Any]] = []
    ratios: dict[str, list[tuple[str, float, float, float, str]]] = {}
    for number, (found, cells) in enumerate(
        zip(result.claims, claim_cells(claims, result.claims), strict=True), start=1
    ):
        rows.append([number, *cells])
        claim = claims[found["id"]]
        published, measured, verdict = claim_row(claim, found)
        if found["measured"] is not None and claim.published:
            scaled = [found[key] / claim.published for key in ("measured", "lo", "hi")]
            label = f"{found['claim']}\npublished {published}, measured {measured}"
            ratios.setdefault(verdict, []).append((str(number), *scaled, label))
    parts: list[Chart | Table | str] = []
    if rows:
        parts.append(Table("Published beside measured", ["no.", *claim_heads(result.claims)], rows, marks=MARKS))
    if ratios:
        tones = {
            "good": "#009e73",
            "some": "#56b4e9",
            "fair": "#e69f00",
            "poor": "#cc79a7",
            "bad": "#d55e00",
            "unknown": "#7f7f7f",
        }
        series = []
        for verdict, mark in MARKS.items():
            if points := ratios.get(verdict):
                x, y, lo, hi, labels = zip(*points, strict=True)
                series.append(Series(verdict, x, y, "points", lo, hi, labels, colour=tones[mark]))
        note = "Whiskers: 95 %. Of a bound, what is below 1 keeps it. Orders have no number to compare with."
        title, label = "How far measured numbers are from published ones", "measured over published"
        compared = {point[0] for points in ratios.values() for point in points}
        names = [str(row[0]) for row in rows if str(row[0]) in compared]
        log_y = all(lo > 0 for points in ratios.values() for _, _, lo, _, _ in points)
        parts.append(Chart(title, series, "claim (no.)", label, log_y=log_y, note=note, marks=[Mark(1.0)], names=names))
    return parts


def _figure(result: Reproduction, figure: Any, measured: Any) -> Section:
    from softsense.plots import png

    drawn, printed = result.pictures.get(figure.id) or (None, b"")
    drawn = drawn or figure.draw(measured.frame)
    charts = _charts(drawn) if isinstance(drawn, Sheet) else []
    parts: list[Chart | Table | Picture | Attachment | str] = [*charts]
    parts.append(Picture(figure.title, printed or png(drawn), folded=bool(charts)))
    parts.append(Attachment(f"{figure.stem}.csv", measured.frame.write_csv(float_precision=6)))
    for note in measured.notes:
        parts += _of_markdown(note)
    claims = {claim.id: claim for claim in result.paper.claims}
    for found in result.claims:
        if found["figure"] == figure.id:
            parts += reasons(claims[found["id"]], found)
    return Section(figure.title, parts=parts)


def _charts(sheet: Sheet) -> list[Chart]:
    """The charts of a figure, with its note below the last."""
    return [*sheet.charts[:-1], replace(sheet.charts[-1], note=sheet.note)]


def _of_markdown(text: str) -> list[Table | str]:
    """Paragraphs and tables of Markdown as parts of a section."""
    parts: list[Table | str] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in block.splitlines()]
        if len(lines) > 1 and all(line.startswith("|") for line in lines) and set(lines[1]) <= set("|-: "):
            cells = [[_plain_words(cell) for cell in line.strip("|").split("|")] for line in lines]
            parts.append(Table("", cells[0], cells[2:], marks=MARKS))
        else:
            parts.append(" ".join(lines))
    return parts


def _plain_words(markdown: str) -> str:
    return re.sub(r"\*\*|`", "", markdown).strip()
