"""The reports of reproductions: claims published beside measured, and every figure with what is to be said."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from softsense import papers
from softsense.report.drawings import charts_of, of_markdown
from softsense.report.page import html, versions
from softsense.report.parts import Attachment, Chart, Picture, Section, Series, Table
from softsense.report.tables import MARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from softsense.papers import Reproduction

_TONES = {
    "good": "#009e73",
    "some": "#56b4e9",
    "fair": "#e69f00",
    "poor": "#cc79a7",
    "bad": "#d55e00",
    "unknown": "#7f7f7f",
}
"""Colours of verdicts in charts, by their marks."""


def of_reproduction(result: Reproduction) -> str:
    """The report of a reproduction: claims published beside measured, and every figure with what is to be said."""
    plan = result.plan
    workloads = [[each.name, each.what, each.file or "synthetic"] for each in plan.workloads]
    workloads += [[each.name, "left out: its trace was not given", each.file or ""] for each in plan.left_out]
    judges = bool(result.paper.claims)
    sections = [
        *([Section("Claims", [f"{result.paper.published}."], _claims(result))] if judges else []),
        *(_figure(result, figure, measured) for figure, measured in result.figures),
        Section(
            "How it was measured and judged" if judges else "How it was measured",
            [text for text in (result.paper.intro, " ".join(papers.RULE.split()) if judges else "") if text],
            [Table("Workloads", ["workload", "what it is", "trace"], workloads)],
        ),
    ]
    config = papers.configured(result.paper.config, plan.overrides)
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
    for result in results:
        claims = {claim.id: claim for claim in result.paper.claims}
        texts = [text for text in (papers.headline(result), " ".join(papers.tally(result.claims))) if text]
        rows = papers.claim_cells(claims, result.claims)
        tables = [Table("Claims", papers.claim_heads(result.claims), rows)] if rows else []
        sections.append(Section(result.paper.title, [f"{result.paper.published}.", *texts], tables))
    kinds = [[kind, what] for kind, what in papers.KINDS.items()]
    sections.append(
        Section("How claims are judged", [" ".join(papers.RULE.split())], [Table("Kinds", ["kind", "what"], kinds)])
    )
    scales = {"full" if result.plan.full else "quick" for result in results}
    provenance = {"papers": ", ".join(result.paper.name for result in results), "scale": ", ".join(sorted(scales))}
    said = f"{len(every)} claims of {len(results)} papers. {' '.join(papers.tally(every))}"
    return html("What was published, and what comes of it here", said, sections, {**provenance, "versions": versions()})


def _verdicts(result: Reproduction) -> str:
    """How many claims hold, in a sentence or two."""
    sentences = []
    if result.interrupted:
        sentences.append("Interrupted: this covers the figures that were complete.")
    if sentence := papers.headline(result):
        sentences.append(sentence)
    if result.claims:
        sentences += papers.tally(result.claims)
    elif result.paper.claims:
        sentences.append("None of the paper's claims belongs to these figures.")
    else:
        sentences.append(f"{result.paper.published}.")
    seeds = result.plan.seeds
    n = f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
    if result.plan.full:
        sentences.append(f"Measured with {n}.")
    else:
        wide = ": intervals are wide, and numbers are easily met" if result.paper.claims else ""
        sentences.append(f"A quick look with {n}{wide}.")
    return " ".join(sentences)


def _claims(result: Reproduction) -> list[Chart | Table | str]:
    """All claims in a table, and how far numbers are from those published."""
    claims = {claim.id: claim for claim in result.paper.claims}
    rows: list[list[Any]] = []
    ratios: dict[str, list[tuple[str, float, float, float, str]]] = {}
    for number, (found, cells) in enumerate(
        zip(result.claims, papers.claim_cells(claims, result.claims), strict=True), start=1
    ):
        rows.append([number, *cells])
        claim = claims[found["id"]]
        published, measured, verdict = papers.claim_row(claim, found)
        if found["measured"] is not None and claim.published:
            scaled = [found[key] / claim.published for key in ("measured", "lo", "hi")]
            label = f"{found['claim']}\npublished {published}, measured {measured}"
            ratios.setdefault(verdict, []).append((str(number), *scaled, label))
    parts: list[Chart | Table | str] = []
    if rows:
        parts.append(Table("Published beside measured", ["no.", *papers.claim_heads(result.claims)], rows))
    if ratios:
        series = []
        for verdict, mark in MARKS.items():
            if points := ratios.get(verdict):
                x, y, lo, hi, labels = zip(*points, strict=True)
                series.append(Series(verdict, x, y, "points", lo, hi, labels, colour=_TONES[mark]))
        note = "Whiskers: 95 %. Of a bound, what is below 1 keeps it. Orders have no number to compare with."
        title, label = "How far measured numbers are from published ones", "measured over published"
        compared = {point[0] for points in ratios.values() for point in points}
        names = [str(row[0]) for row in rows if str(row[0]) in compared]
        log_y = all(lo > 0 for points in ratios.values() for _, _, lo, _, _ in points)
        parts.append(Chart(title, series, "claim (no.)", label, log_y=log_y, note=note, level=1, names=names))
    return parts


def _figure(result: Reproduction, figure: Any, measured: Any) -> Section:
    drawing, png = result.pictures.get(figure.id) or _drawn(figure.draw(measured.frame))
    charts = charts_of(drawing, measured.frame)
    parts: list[Chart | Table | Picture | Attachment | str] = [*charts]
    parts.append(Picture(figure.title, png, folded=bool(charts)))
    parts.append(Attachment(f"{figure.stem}.csv", measured.frame.write_csv(float_precision=6)))
    for note in measured.notes:
        parts += of_markdown(note)
    claims = {claim.id: claim for claim in result.paper.claims}
    for found in result.claims:
        if found["figure"] == figure.id:
            parts += papers.reasons(claims[found["id"]], found)
    return Section(figure.title, parts=parts)


def _drawn(drawing: Drawing) -> tuple[Drawing, bytes]:
    png = io.BytesIO()
    drawing.savefig(png)
    return drawing, png.getvalue()
