"""Published beside measured numbers, in words and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from softsense.formats import NONE, as_interval, as_number, as_share, listed
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
    VERDICTS,
    Claim,
    counted,
)

if TYPE_CHECKING:
    from softsense.papers.plans import Measured
    from softsense.papers.running import Reproduction


def shown(value: float | None, unit: str) -> str:
    """A number of a claim, as people read it."""
    if value is None:
        return NONE
    if unit in ("%", "+%"):
        return as_share(value, signed=unit == "+%")
    digits = {"us": 1, "min": 1, "x": 3 if abs(value) < 1.995 else 2, "rber": 5}.get(unit, 3 if abs(value) < 100 else 0)
    text = as_number(value, digits)
    return text if unit in ("x", "rber", "") else f"{text} {unit}"


def claim_row(claim: Claim, found: Mapping[str, Any]) -> list[str]:
    """Cells of a claim: published number, measured number with its interval, verdict."""
    published = shown(claim.published, claim.unit)
    if claim.rule == "at most":
        published = f"at most {published.lstrip('+')}"
    return [published if claim.published is not None else "an ordering", measured(claim, found), found["verdict"]]


def measured(claim: Claim, found: Mapping[str, Any]) -> str:
    """A measured number with its interval."""
    text = shown(found["measured"], claim.unit)
    if found["lo"] is not None and found["lo"] < found["hi"]:
        text += f" ({as_interval(found['lo'], found['hi'], lambda end: shown(end, claim.unit))})"
    return text


def claim_heads(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Heads of `claim_cells`. Softsense's own device is among them if a claim was measured on it, too."""
    ours = ["on ours"] if any(row["on_ours"] for row in found) else []
    return ["figure", "claim", "verdict", "published", "measured (95 %)", *ours, "kind"]


def claim_cells(claims: Mapping[str, Claim], found: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The claims of one paper, row by row, under `claim_heads`."""
    with_ours = any(row["on_ours"] for row in found)
    cells = []
    for row in found:
        claim = claims[row["id"]]
        published, number, verdict = claim_row(claim, row)
        ours = [f"{measured(claim, row['on_ours'])}, {row['on_ours']['verdict']}" if row["on_ours"] else ""]
        numbers = [published, number, *(ours if with_ours else [])]
        cells.append([row["figure"], row["claim"], verdict, *numbers, row["kind"]])
    return cells


def reasons(claim: Claim, found: Mapping[str, Any]) -> list[str]:
    """Paragraphs on a claim: its verdict with the reason, and its number under each assumption."""
    told = [f"**{found['claim']}: {found['verdict']}.** {found['why']}"] if found["why"] else []
    if found["under"]:
        each = (f"{name}: {measured(claim, row)}, {row['verdict']}" for name, row in found["under"].items())
        told.append(f"{'' if told else found['claim'] + '. '}Under other assumptions: {'; '.join(each)}.")
    return told


def left_out(measured: Measured) -> list[str]:
    """A paragraph on the workloads that a figure left out, if it did."""
    left = "; ".join(f"{name}: {why}" for name, why in measured.left_out.items())
    return [f"**Left out** (claims about all workloads are not measured): {left}."] if left else []


_SAID = {
    HOLDS: ("holds", "hold"),
    UNDER_SOME: ("holds under some assumptions", "hold under some assumptions"),
    IN_DIRECTION: ("holds in direction", "hold in direction"),
    SIGN_ONLY: ("has the same sign only", "have the same sign only"),
    NOT: ("does not hold", "do not hold"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_MEASURED: ("was not measured", "were not measured"),
}
_CLAIMS = {
    "measured": "measured claim",
    "arithmetic": "claim of arithmetic",
    "calibrated": "calibrated claim",
    "invented workload": "claim about invented workloads",
    "own check": "check of our own",
}


def tally(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Numbers of claims of each kind by verdict, a sentence for each kind."""
    sentences = []
    for kind, row in counted(found).items():
        total = sum(row.values())
        parts = [f"{n} {_SAID[word][n != 1]}" for word, n in row.items()]
        what = _CLAIMS[kind] if total == 1 else _plural(_CLAIMS[kind])
        sentences.append(f"Of {total} {what}, {listed(parts)}.")
    return sentences


def summed(result: Reproduction) -> list[str]:
    """The sentences of `tally`, and one that names the claims for which a quick run is biased."""
    judged = {row["id"] for row in result.claims}
    said = tally(result.claims)
    if biased := [claim.id for claim in result.biased if claim.id in judged]:
        said.append(
            f"A quick run is biased for {listed(biased)}: its runs are short, and a full run may judge otherwise."
        )
    return said


def _plural(text: str) -> str:
    for word in ("claim", "check"):
        text = text.replace(word, f"{word}s", 1)
    return text


def table(result: Reproduction) -> str:
    """The claims as a table for the terminal; if there are none, the notes of the figures."""
    if not result.paper.claims:
        told = ((figure.title, measured.notes) for figure, measured in result.figures if measured.notes)
        return "\n\n".join("\n".join((title, *(note.replace("*", "") for note in notes))) for title, notes in told)
    claims = {claim.id: claim for claim in result.paper.claims}
    rows = [["figure", "claim", "published", "measured (95 %)", "verdict"]]
    rows += [[found["figure"], found["id"], *claim_row(claims[found["id"]], found)] for found in result.claims]
    lines = [*_aligned(rows), "", *summed(result)]
    if sentence := result.elsewhere.get("sentence"):
        lines += ["", *wrap(f"On drives of today: {sentence}", 120)]
    return "\n".join(lines)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose first row has the heads."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(heads)}", *lines[1:]])


def report(result: Reproduction) -> str:
    """The report in Markdown: published beside measured numbers."""
    claims = {claim.id: claim for claim in result.paper.claims}
    plan = result.plan
    seeds = f"seeds {plan.seeds[0]} to {plan.seeds[-1]}" if len(plan.seeds) > 1 else f"seed {plan.seeds[0]}"
    lines = [f"# {result.paper.title}", "", f"{result.paper.published}.", ""]
    if result.paper.intro:
        lines += [result.paper.intro, ""]
    if result.interrupted:
        lines += ["**Interrupted**: this report covers the figures that were complete.", ""]
    scale = "full" if plan.full else "quick: with few seeds intervals are wide, and runs are short"
    if not claims:
        scale = scale.split(":")[0]
    what = [(workload.name, workload.what) for workload in plan.workloads]
    what += [(workload.name, "left out: its trace was not given") for workload in plan.left_out]
    lines += [f"Measured with {seeds} ({scale}).", ""]
    if result.runs:
        lines += [f"Each of {result.runs:,} simulations stands in [runs.csv](runs.csv) as a command that runs it.", ""]
    lines.append(markdown_table(["workload", "what it is"], what))
    if claims:
        rows = claim_cells(claims, result.claims)
        lines += ["", "## Claims", "", *(f"- {sentence}" for sentence in summed(result)), ""]
        lines += [" ".join(RULE.split()), "", markdown_table(claim_heads(result.claims), rows)]
    for figure, found in result.figures:
        lines += ["", f"## {figure.title}", "", f"![{figure.title}]({figure.stem}.png)", ""]
        lines += [f"Numbers: [{figure.stem}.csv]({figure.stem}.csv).", ""]
        for note in (*left_out(found), *found.notes):
            lines += [note, ""]
        for row in result.claims:
            if row["figure"] == figure.id:
                for text in reasons(claims[row["id"]], row):
                    lines += [text, ""]
        lines.pop()
    return "\n".join(lines) + "\n"


def headline(result: Reproduction) -> str:
    """The main result of a paper in one sentence; empty if not all claims were measured."""
    whole = len(result.claims) == len(result.paper.claims) and not result.interrupted
    if not whole or not result.paper.headline:
        return ""
    return result.paper.headline({row["id"]: row for row in result.claims})


def summary_table(results: Sequence[Reproduction]) -> str:
    """Number of claims of each paper by verdict, for the terminal.

    The table counts claims that were measured, since other kinds are weaker evidence; their numbers are told below.
    """
    rows = [["paper", "measured", *VERDICTS]]
    for result in results:
        found = [row["verdict"] for row in result.claims if row["kind"] == "measured"]
        rows.append([result.paper.name, str(len(found)), *(str(found.count(word) or "") for word in VERDICTS)])
    lines = _aligned(rows)
    others = Counter(row["kind"] for result in results for row in result.claims if row["kind"] != "measured")
    if others:
        kinds = [
            f"{count:,} {_CLAIMS[kind] if count == 1 else _plural(_CLAIMS[kind])}" for kind, count in others.items()
        ]
        lines += ["", *wrap(f"Not counted above: {listed(kinds)}.", 120)]
    if biased := [result.paper.name for result in results if result.biased]:
        lines += [
            "",
            *wrap(f"Quick runs are biased for some claims of {listed(biased)}: their reports name them.", 120),
        ]
    for result in results:
        if sentence := headline(result):
            lines += ["", *wrap(f"{result.paper.name}: {sentence}", 120)]
    told = {result.paper.name: result.elsewhere["sentence"] for result in results if result.elsewhere}
    for name, sentence in told.items():
        lines += ["", *wrap(f"{name} on drives of today: {sentence}", 120)]
    return "\n".join(lines)


ELSEWHERE = """The last technique of each headline beside the first one, in the statistic of reads that is named:
differences with 95 % intervals, < faster, > slower, ! counted nowhere. Several numbers are of several ages, the
youngest first. Papers do not speak of these drives, so that none of their claims is judged here."""
"""Words below the title of the table of all papers' headlines on drives of today."""


def elsewhere_table(results: Sequence[Reproduction]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table of all papers' headlines on drives of today; no rows if none was measured."""
    drives = dict.fromkeys(drive for result in results for drive in result.elsewhere.get("drives", ()))
    rows = []
    for result in results:
        data, why = result.elsewhere, result.paper.not_elsewhere
        if data:
            of = [data["own"], *(data["drives"].get(drive, ["not run"]) for drive in drives)]
            named = f"{result.paper.name}: {data['technique']} beside {data['reference']}, {data['by']}"
            rows.append([named, *("; ".join(each) for each in of)])
        elif why:
            rows.append([f"{result.paper.name}: {why}", *[""] * (1 + len(drives))])
    return ["paper", "its own drive, %", *(f"{drive}, %" for drive in drives)], rows if drives else []


def overview(results: Sequence[Reproduction], folder: str = "") -> str:
    """All claims of several papers on one page, in Markdown; their reports are in folders of their names."""
    every = [row for result in results for row in result.claims]
    lines = ["# What was published, and what comes of it here", ""]
    lines += [f"{len(every)} claims of {len(results)} papers.", "", *(f"- {sentence}" for sentence in tally(every)), ""]
    lines += [f"- *{kind}*: {what}." for kind, what in KINDS.items()]
    lines += ["", " ".join(RULE.split())]
    heads, rows = elsewhere_table(results)
    if rows:
        lines += ["", "## The headlines on drives of today", "", " ".join(ELSEWHERE.split()), ""]
        lines.append(markdown_table(heads, rows))
    for result in results:
        claims = {claim.id: claim for claim in result.paper.claims}
        lines += ["", f"## {result.paper.title}", "", f"{result.paper.published}. "]
        lines[-1] += f"[Its report]({folder}{result.paper.name}/report.md)."
        if result.interrupted:
            lines += ["", "**Interrupted**: what is shown covers the figures that were complete."]
        if sentence := headline(result):
            lines += ["", f"**{sentence}**"]
        if result.claims:
            lines += ["", *(f"- {text}" for text in summed(result)), ""]
            lines.append(markdown_table(claim_heads(result.claims), claim_cells(claims, result.claims)))
    return "\n".join(lines) + "\n"
