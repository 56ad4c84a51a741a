"""Reports: one HTML document that holds everything it shows, for a browser, a phone or a printer.

`html` makes a document of sections with charts and tables; `of_comparison` and `of_reproduction` say what goes into
one. Charts are drawn in the browser by plotly.js, whose script plotly's wheel carries and the document embeds, so
nothing is ever loaded from a network. They are written as plotly.js wants them, in JSON: to make them with plotly's own
classes would take longer than everything else here. `report.js` draws them, switches their axes and sorts tables;
`report.css` is how it looks.
"""

from __future__ import annotations

import base64
import io
import json
import math
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from pathlib import PurePath
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import softsense
from softsense import colours, papers
from softsense.api import NO_SOFT_SENSING, Comparison, RunResult

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from softsense.papers import Reproduction

MARKS = {
    papers.HOLDS: "good",
    papers.UNDER_SOME: "some",
    papers.IN_DIRECTION: "fair",
    papers.SIGN_ONLY: "poor",
    papers.NOT: "bad",
    papers.NOT_MEASURED: "unknown",
}
"""Cells that are marked by a colour, and its name in the style sheet: the verdicts of `papers`."""

_INK, _FAINT, _GRID = "#222222", "#6b6b6b", "#e6e6e6"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif"
# Points are marked on lines that have few.
_MOST_MARKED = 40
# Letters that a line has room for on a phone.
_PHONE = 42
# Longer cells are broken into lines.
_MOST_UNBROKEN = 40
# Beyond so many sections contents are shortened.
_MOST_LINKS = 8
# What is longer than a few lines is folded.
_MOST_SHOWN, _MOST_SHOWN_LINES = 400, 6
_NUMBER = re.compile(
    r"(?:at most )?([+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?:x| ?%| (?:s|ms|us|µs|min|uJ|µJ))?(?: \(.*\))?\*?$"
)
# The share of requests that may be left of where an axis begins.
_FEW = 0.05
_STATS = {"mean": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "max"}
_ENERGIES = {
    "sense": ("hard sensing", "#1f6fad"),
    "sense_extra_levels": ("extra levels", "#d9593d"),
    "transfer": ("transfer", "#3f9448"),
    "program": ("program", "#e69f00"),
    "erase": ("erase", "#7f7f7f"),
    "decode": ("decode", "#7a5ba8"),
}


# What a document is made of ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Series:
    """Numbers under one name in the legend.

    Attributes:
        name: in the legend.
        x: numbers, or the names of categories.
        y: as many numbers; None leaves a gap.
        kind: a `line`, a `bar`, or `points`.
        lo: lower ends of intervals of y, drawn as whiskers.
        hi: upper ends.
        labels: a line more of what a point shows under the pointer.
        colour: such as `#0072b2`; default: the next one of `colours.SERIES`.
        dashed: a line that is a bound or a reference.
        steps: a line that is constant from each point to the next one.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    kind: Literal["line", "bar", "points"] = "line"
    lo: Sequence[float | None] | None = None
    hi: Sequence[float | None] | None = None
    labels: Sequence[str] | None = None
    colour: str = ""
    dashed: bool = False
    steps: bool = False


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


@dataclass(frozen=True)
class Table:
    """A table that sorts by any column.

    Attributes:
        title: above it; may be empty.
        columns: their heads.
        rows: cells of each, numbers or text; text such as `1,282.0` or `25.9 % (25.1 % to 26.7 %)` sorts as its
            number, and None is nothing.
        note: a line below the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    note: str = ""


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
            f'<p class="finding">{_marked_up(finding)}</p>',
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
    build = softsense.build_info()
    return (
        f"softsense {build['version']}, model {build['model_version']} ({build['profile']}, {build['target']}, "
        f"{build['instruction_set']}); Python {platform.python_version()}"
    )


# A comparison --------------------------------------------------------------------------------------------------------


def of_comparison(comparison: Comparison, title: str | None = None) -> str:
    """The report of a comparison, or of a single run.

    Args:
        comparison: what was measured.
        title: names workload and device; default: what the summaries say.
    """
    from softsense import tables

    runs = comparison.all_runs
    name = f"Reading with {_shown_name(runs[0])}" if len(runs) == 1 else "What each way of reading costs"
    sections = [
        _responses(comparison),
        _time_split(comparison),
        _levels(comparison),
        _energy(comparison),
        Section("What the device did", parts=_tables(comparison, "device", "read_reclaim", "mapping")),
    ]
    return html(
        f"{name}: {title or _workload_name(runs[0])}",
        _with_micro(" ".join([*tables.warnings(comparison).splitlines(), tables.finding(comparison)])),
        [section for section in sections if section.parts],
        _what_was_run(comparison),
    )


def _responses(comparison: Comparison) -> Section:
    runs = comparison.all_runs
    kinds = [kind for kind in ("read", "write") if any(run.summary["response"][kind]["count"] for run in runs)]
    parts: list[Chart | Table] = [_distribution(comparison, kind) for kind in kinds]
    if kinds:
        parts.insert(1, _tail(comparison, kinds[0]))
        parts.insert(2, _statistics(comparison, kinds[0]))
        if comparison.baseline:
            parts.insert(3, _slowdowns(comparison, kinds[0]))
    told = []
    if comparison.baseline:
        told.append(
            "All policies meet the same codewords with the same random draws. `no soft sensing` is a run in which "
            "nothing ever fails, so that hard sensing always suffices; `ideal` knows the level that it needs."
        )
    return Section("Response time", told, [*parts, *_tables(comparison, "response")])


def _distribution(comparison: Comparison, kind: str) -> Chart:
    series = []
    for run, colour in _coloured(comparison):
        response_us, fraction = (column.tolist() for column in run._distributions[kind])
        if response_us:
            percent = [0.0, *(100 * share for share in fraction)]
            series.append(_of_run(run, colour, [response_us[0], *response_us], percent, steps=True))
    return Chart(
        f"{kind.capitalize()}s that are done",
        series,
        "response time (µs)",
        f"{kind}s done (%)",
        log_x=True,
        x_from=_nearly_fastest(comparison, kind),
    )


def _tail(comparison: Comparison, kind: str) -> Chart:
    series = []
    for run, colour in _coloured(comparison):
        response_us, fraction = (column.tolist() for column in run._distributions[kind])
        if response_us:
            # None takes longer than the slowest: zero, which a logarithmic axis does not have.
            percent = [100.0, *(100 * (1 - share) if share < 1 - 1e-11 else 0.0 for share in fraction)]
            series.append(_of_run(run, colour, [response_us[0], *response_us], percent, steps=True))
    return Chart(
        f"Tail: {kind}s that take longer",
        series,
        "response time (µs)",
        f"{kind}s that take longer (%)",
        log_x=True,
        log_y=True,
        x_from=_nearly_fastest(comparison, kind),
    )


def _nearly_fastest(comparison: Comparison, kind: str) -> float | None:
    """A little less than what the fastest few take: some are served from the controller at once."""
    found = []
    for run in comparison.all_runs:
        response_us, fraction = run._distributions[kind]
        found += [float(us) for us, share in zip(response_us, fraction, strict=True) if share >= _FEW][:1]
    return 0.7 * min(found) if found and min(found) > 0 else None


def _statistics(comparison: Comparison, kind: str) -> Chart:
    series = [
        _of_run(
            run, colour, list(_STATS.values()), [run.summary["response"][kind][f"{stat}_us"] for stat in _STATS], "bar"
        )
        for run, colour in _coloured(comparison)
    ]
    title = f"Mean and percentiles of {kind} response"
    return Chart(title, series, "of requests", "response time (µs)")


def _slowdowns(comparison: Comparison, kind: str) -> Chart:
    series = [
        _of_run(run, colour, list(_STATS.values()), [comparison.slowdown(run, stat, kind) for stat in _STATS], "bar")
        for run, colour in _coloured(comparison)
        if run is not comparison.baseline
    ]
    return Chart(
        f"Slowdown of {kind}s against no soft sensing", series, "of requests", "slowdown (no soft sensing = 1)", level=1
    )


def _time_split(comparison: Comparison) -> Section:
    from softsense.tables import TIME_PARTS

    runs = [run for run in comparison.all_runs if run.summary["codeword_reads"]["count"]]
    if not runs:
        return Section("Where a read's time goes")
    names = [_shown_name(run) for run in runs]
    series = [
        Series(
            label,
            names,
            [run.summary["codeword_reads"]["time_us"][part] for run in runs],
            "bar",
            colour=colours.PARTS[part],
        )
        for part, label in TIME_PARTS.items()
    ]
    title = "Mean time of a codeword read, in the order in which it passes"
    chart = Chart(title, series, "policy", "mean time (µs)", stacked=True)
    return Section("Where a read's time goes", parts=[chart, *_tables(comparison, "time split", "slowest")])


def _levels(comparison: Comparison) -> Section:
    # Without soft sensing nothing goes beyond the first level, which needs no bar.
    shown = [(run, colour) for run, colour in _coloured(comparison) if run is not comparison.baseline]
    found = {run.name: run.summary["codeword_reads"]["level_histogram"] for run, _ in shown}
    deepest = max((level for counts in found.values() for level, n in enumerate(counts, start=1) if n), default=0)
    series = []
    for run, colour in shown:
        counts = found[run.name]
        if total := sum(counts):
            levels = [str(level) for level in range(1, deepest + 1)]
            shares = [100 * n / total or None for n in counts[:deepest]]
            labels = [f"{n:,} codeword reads" for n in counts[:deepest]]
            series.append(_of_run(run, colour, levels, shares, "bar", labels=labels))
    if not series:
        return Section("Read levels", parts=_tables(comparison, "levels"))
    chart = Chart(
        "Read level at which codewords decoded",
        series,
        "read level (1 = hard sensing)",
        "share of codeword reads (%)",
        log_y=True,
    )
    return Section("Read levels", parts=[chart, *_tables(comparison, "levels")])


def _energy(comparison: Comparison) -> Section:
    runs = comparison.all_runs
    names = [_shown_name(run) for run in runs]
    series = [
        Series(
            label,
            names,
            [run.summary["energy"][f"{what}_uj"] / max(run.summary["requests"], 1) for run in runs],
            "bar",
            colour=colour,
        )
        for what, (label, colour) in _ENERGIES.items()
    ]
    chart = Chart("Mean energy of a request, by operation", series, "policy", "energy of a request (µJ)", stacked=True)
    return Section("Energy", parts=[chart, *_tables(comparison, "energy")])


def _tables(comparison: Comparison, *about: str) -> list[Table]:
    """What the terminal prints."""
    from softsense import tables

    found = []
    for block in tables.blocks(comparison):
        if block.about in about:
            # Words that a narrow column has broken at a hyphen are whole again; `slow-down` has always been one.
            heads = [re.sub(r"(?<=\w)-\n", "", head).replace("\n", " ").strip() for head, _ in block.columns]
            rows = zip(block.names, *(cells for _, cells in block.columns), strict=True)
            found.append(Table(_with_micro(block.title), [block.corner, *heads], [list(row) for row in rows]))
    return found


def _with_micro(text: str) -> str:
    """With the micro sign, which not every terminal has."""
    return re.sub(r"\bu([sJ])\b", r"µ\1", text)


def _coloured(comparison: Comparison) -> list[tuple[RunResult, str]]:
    runs = comparison.all_runs
    return list(zip(runs, colours.of_runs(runs), strict=True))


def _of_run(
    run: RunResult,
    colour: str,
    x: Sequence[float | str],
    y: Sequence[float | None],
    kind: Literal["line", "bar", "points"] = "line",
    **more: Any,
) -> Series:
    return Series(_shown_name(run), x, y, kind, colour=colour, dashed=run.name == NO_SOFT_SENSING, **more)


def _shown_name(run: RunResult) -> str:
    return run.name.replace("_", " ") if run.name == NO_SOFT_SENSING else run.name


def _workload_name(run: RunResult) -> str:
    trace = run.summary["source"].get("trace")
    return PurePath(trace["path"]).name if trace else "the config's own workload"


def _what_was_run(comparison: Comparison) -> dict[str, str]:
    runs = comparison.all_runs
    # All runs have the same configuration but for how they read.
    first = comparison.runs[0]
    summary = first.summary
    found = {"policies": ", ".join(f"{_shown_name(run)} ({run.summary['retry']})" for run in runs)}
    found |= _trace(summary["source"]["trace"]) if "trace" in summary["source"] else {}
    rows = [row for row in first.config.describe() if row[0] != "read" or len(runs) == 1]
    if "trace" not in summary["source"]:
        rows += first.config.describe_workload()
    for label, text in rows:
        found[label] = text
    found |= {
        "seed": f"{summary['seed']}",
        "versions": versions(),
        f"SHA-256 of the config, with {_shown_name(first)}": summary["config_sha256"],
        f"resolved config, with {_shown_name(first)}": first.config.to_toml(),
    }
    return found


def _trace(trace: Mapping[str, Any]) -> dict[str, str]:
    """By which numbers a trace can be told from others."""
    unit = f"time in {trace['time_unit']}, " if trace.get("time_unit") else ""
    unit += f"sizes in units of {trace['size_unit_bytes']} B" if trace.get("size_unit_bytes") else ""
    recognised = ", recognised" if trace["format_recognised"] else ""
    packed = f", {trace['compression']}" if trace.get("compression") not in (None, "none") else ""
    return {
        "trace": PurePath(trace["path"]).name,
        "trace format": f"{trace['format']}{recognised}{packed}{f'; {unit}' if unit else ''}",
        "trace requests": (
            f"{trace['requests']:,}, of which {trace['reads']:,} read {trace['bytes_read']:,} B, {trace['writes']:,} "
            f"write {trace['bytes_written']:,} B and {trace['trims']:,} trim {trace['bytes_trimmed']:,} B; "
            f"{trace['replayed_requests']:,} replayed, over {trace['replayed_span_ns'] / 1e9:,.3f} s"
        ),
        "trace addresses": f"footprint {trace['footprint_bytes']:,} B within {trace['extent_bytes']:,} B",
    }


# A reproduction ------------------------------------------------------------------------------------------------------


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
        parts.append(Chart(title, series, "claim (no.)", label, log_y=log_y, note=note, level=1, names=names))
    return parts


def _figure(result: Reproduction, figure: Any, measured: Any) -> Section:
    drawing, png = result.pictures.get(figure.id) or _drawn(figure.draw(measured.frame))
    charts = _charts(drawing, measured.frame)
    parts: list[Chart | Table | Picture | Attachment | str] = [*charts]
    parts.append(Picture(figure.title, png, folded=bool(charts)))
    parts.append(Attachment(f"{figure.stem}.csv", measured.frame.write_csv(float_precision=6)))
    for note in measured.notes:
        parts += _of_markdown(note)
    claims = {claim.id: claim for claim in result.paper.claims}
    for found in result.claims:
        if found["figure"] == figure.id:
            parts += papers.reasons(claims[found["id"]], found)
    return Section(figure.title, parts=parts)


def _drawn(drawing: Drawing) -> tuple[Drawing, bytes]:
    png = io.BytesIO()
    drawing.savefig(png)
    return drawing, png.getvalue()


def _charts(drawing: Drawing, frame: pl.DataFrame) -> list[Chart]:
    """What `drawing.draw_bars` and `drawing.lines` have drawn, as charts; none of any other picture."""
    texts = [text.get_text() for text in drawing.texts]
    note = texts[1] if len(texts) > 1 else ""
    if len(drawing.axes) == 1 and (chart := _bars(drawing.axes[0], note)):
        return [chart]
    if {"panel", "line", "x", "value", "lo", "hi"} <= set(frame.columns):
        return _lines(drawing, frame, note)
    return []


def _bars(axes: Axes, note: str) -> Chart | None:
    """Grouped bars with their intervals; None unless every group has a name."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_hex
    from matplotlib.container import BarContainer, ErrorbarContainer
    from matplotlib.ticker import FixedLocator

    bars = [each for each in axes.containers if isinstance(each, BarContainer) and each.patches]
    groups = [tick.get_text() for tick in axes.get_xticklabels()]
    named = isinstance(axes.xaxis.get_major_locator(), FixedLocator) and all(groups)
    if not bars or not named or list(axes.get_xticks()) != list(range(len(groups))):
        return None
    ends: dict[float, tuple[float, float]] = {}
    for each in axes.containers:
        if isinstance(each, ErrorbarContainer):
            for (x, low), (_, high) in each.lines[2][0].get_segments():
                ends[round(float(x), 6)] = float(low), float(high)
    series = []
    for bar in bars:
        centres = [patch.get_x() + patch.get_width() / 2 for patch in bar.patches]
        values = [float(patch.get_height()) for patch in bar.patches]
        known = [ends.get(round(float(x), 6), (value, value)) for x, value in zip(centres, values, strict=True)]
        series.append(
            Series(
                str(bar.get_label()),
                [groups[round(x)] for x in centres],
                values,
                "bar",
                [low for low, _ in known] if ends else None,
                [high for _, high in known] if ends else None,
                colour=to_hex(bar.patches[0].get_facecolor()),
            )
        )
    # Bands behind the bars are what was published.
    bands = [each.get_paths()[0].vertices for each in axes.collections if isinstance(each, PolyCollection)]
    if bands:
        names = [groups[round(float(band[:, 0].mean()))] for band in bands]
        low, high = ([float(end(band[:, 1])) for band in bands] for end in (min, max))
        middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
        series.append(Series("published", names, middle, "points", low, high, colour=_INK))
    marked = [line.get_ydata()[0] for line in axes.lines if list(line.get_xdata()) == [0, 1]]
    level = float(marked[0]) if marked else None
    return Chart("", series, axes.get_xlabel(), axes.get_ylabel(), note=note, level=level)


def _lines(drawing: Drawing, frame: pl.DataFrame, note: str) -> list[Chart]:
    """Panels of lines with intervals: numbers are the frame's, labels and colours the picture's, if they agree."""
    import polars as pl
    from matplotlib.colors import to_hex
    from matplotlib.container import ErrorbarContainer

    charts: list[Chart] = []
    panels = frame["panel"].unique(maintain_order=True).to_list()
    if len(panels) != len(drawing.axes):
        return []
    for panel, axes in zip(panels, drawing.axes, strict=True):
        of_panel = frame.filter(pl.col("panel") == panel)
        names = of_panel["line"].unique(maintain_order=True).to_list()
        drawn = [each.lines[0] for each in axes.containers if isinstance(each, ErrorbarContainer)]
        if len(names) != len(drawn):
            return []
        series = []
        for name, line in zip(names, drawn, strict=True):
            rows = of_panel.filter(pl.col("line") == name)
            exact = rows["lo"].equals(rows["hi"])
            series.append(
                Series(
                    str(name),
                    rows["x"].to_list(),
                    rows["value"].to_list(),
                    "points" if line.get_linestyle() in ("None", "none") else "line",
                    None if exact else rows["lo"].to_list(),
                    None if exact else rows["hi"].to_list(),
                    colour=to_hex(line.get_color()),
                    dashed=line.get_linestyle() not in ("-", "None", "none"),
                )
            )
        log_x = axes.get_xscale() == "log"
        charts.append(Chart(str(panel), series, axes.get_xlabel(), axes.get_ylabel(), log_x=log_x))
    return [*charts[:-1], replace(charts[-1], note=note)] if charts else []


def _of_markdown(text: str) -> list[Table | str]:
    """Paragraphs and tables of Markdown as parts of a section."""
    parts: list[Table | str] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in block.splitlines()]
        if len(lines) > 1 and all(line.startswith("|") for line in lines) and set(lines[1]) <= set("|-: "):
            cells = [[_plain_words(cell) for cell in line.strip("|").split("|")] for line in lines]
            parts.append(Table("", cells[0], cells[2:]))
        else:
            parts.append(" ".join(lines))
    return parts


def _plain_words(markdown: str) -> str:
    return re.sub(r"\*\*|`", "", markdown).strip()


# Writing -------------------------------------------------------------------------------------------------------------


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
    made = f"Made by softsense {softsense.__version__}."
    if charts and (found := re.search(r"plotly\.js v[\d.]+", _plotly()[:400])):
        made += f" Charts: {found.group()} (MIT licence)."
    return made


def _section(id_: str, section: Section, charts: list[dict[str, Any]]) -> str:
    lines = [f'<section id="{id_}">', f"<h2>{escape(section.title)}</h2>"]
    lines += [f"<p>{_marked_up(text)}</p>" for text in section.paragraphs]
    for part in section.parts:
        if isinstance(part, Chart):
            lines.append(_chart(part, section.title, charts))
        elif isinstance(part, Table):
            lines.append(_table(part, section.title))
        elif isinstance(part, Picture):
            lines.append(_picture(part))
        elif isinstance(part, Attachment):
            lines.append(_attachment(part))
        else:
            lines.append(f"<p>{_marked_up(part)}</p>")
    return "\n".join([*lines, "</section>"])


def _chart(chart: Chart, where: str, charts: list[dict[str, Any]]) -> str:
    chart = replace(chart, series=[_clean(series) for series in chart.series])
    across = [value for series in chart.series for value in series.x]
    up = [] if chart.stacked else [value for series in chart.series for value in series.y]
    switches = "".join(
        f'<button type="button" data-axis="{axis}axis" aria-pressed="{str(log).lower()}">log {axis}</button>'
        for axis, log, numbers in (("x", chart.log_x, across), ("y", chart.log_y, up))
        if _may_be_log(numbers)
    )
    layout = _layout(chart)
    shown = [value for value in across if isinstance(value, int | float) and value >= (chart.x_from or 0)]
    ticks = {name: _log_ticks(numbers) for name, numbers in (("xaxis", shown), ("yaxis", up))}
    for name, tick in ticks.items():
        if layout[name]["type"] == "log":
            layout[name]["dtick"] = tick
    charts.append({"data": _traces(chart), "layout": layout, "log_ticks": ticks})
    name = escape(chart.title or where)
    lines = [f'<figure class="chart" aria-label="{name}">']
    lines.append('<figcaption class="above">')
    if chart.title:
        lines.append(f"<h3>{escape(chart.title)}</h3>")
    if switches:
        lines.append(f'<span class="scales">{switches}</span>')
    lines.append("</figcaption>")
    if len(chart.series) > 1:
        lines.append(_keys(chart))
    if chart.y_label and not chart.stacked:
        lines.append(f'<p class="y-label">{escape(chart.y_label)}</p>')
    lines.append(f'<div class="plot" data-chart="{len(charts) - 1}" role="img" aria-label="{name}"></div>')
    if chart.note:
        lines.append(f'<p class="note">{_marked_up(chart.note)}</p>')
    return "\n".join([*lines, "</figure>"])


def _clean(series: Series) -> Series:
    """With lists of what JSON has: numbers to seven digits, and None for what is not finite."""

    def clean(values: Any) -> list[Any]:
        found = []
        for value in values.tolist() if hasattr(values, "tolist") else values:
            if value is None or isinstance(value, str | int):
                found.append(value)
            else:
                found.append(float(f"{value:.7g}") if math.isfinite(value) else None)
        return found

    ends = {name: clean(end) for name, end in (("lo", series.lo), ("hi", series.hi)) if end is not None}
    return replace(series, x=clean(series.x), y=clean(series.y), **ends)


def _keys(chart: Chart) -> str:
    """The legend: unlike plotly.js's own it wraps on phones and hears the keyboard."""
    keys = []
    for series, colour in zip(chart.series, _colours(chart), strict=True):
        look = f"{series.kind} dashed" if series.dashed else series.kind
        keys.append(
            f'<button type="button" aria-pressed="true"><i class="{look}" style="color:{escape(colour)}"></i>'
            f"{escape(series.name)}</button>"
        )
    return f'<div class="keys" role="group" aria-label="Series">{"".join(keys)}</div>'


def _colours(chart: Chart) -> list[str]:
    spare = iter(colours.SERIES * (1 + len(chart.series) // len(colours.SERIES)))
    return [series.colour or next(spare) for series in chart.series]


def _may_be_log(values: Iterable[Any]) -> bool:
    """Numbers, none of them negative and some positive."""
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        return False
    return any(value > 0 for value in known) and not any(value < 0 for value in known)


def _log_ticks(values: Iterable[float | None]) -> str | None:
    """How plotly.js places ticks on a logarithmic axis: 1, 2 and 5 of a few decades; of more, as it sees fit."""
    known = [value for value in values if value is not None and value > 0]
    return "D2" if known and max(known) < 1500 * min(known) else None


def _traces(chart: Chart) -> list[dict[str, Any]]:
    """The series as plotly.js wants them."""
    # The axis of categories or of x, and that of values.
    along, value = ("y", "x") if chart.stacked else ("x", "y")
    traces = []
    for series, colour in zip(chart.series, _colours(chart), strict=True):
        places = [_label(each) if isinstance(each, str) else each for each in series.x]
        trace: dict[str, Any] = {"name": _label(series.name), along: places, value: series.y}
        if series.kind == "bar":
            trace |= {"type": "bar", "marker": {"color": colour}, "textposition": "none"}
            trace["orientation"] = "h" if chart.stacked else "v"
        else:
            mode = "markers" if series.kind == "points" else "lines"
            if mode == "lines" and len(places) <= _MOST_MARKED and not series.steps:
                mode = "lines+markers"
            line = {"color": colour, "width": 2, "dash": "dash" if series.dashed else "solid"}
            line["shape"] = "hv" if series.steps else "linear"
            size = 9 if series.kind == "points" else 5
            trace |= {"type": "scatter", "mode": mode, "line": line, "marker": {"color": colour, "size": size}}
        # What is shown under the pointer.
        lines = [f"<b>{trace['name']}</b>"]
        lines.append(f"{_label(chart.x_label or 'at')}: %{{{along}{_digits(series.x)}}}")
        lines.append(f"{_label(chart.y_label)}: %{{{value}{_digits(series.y)}}}")
        if series.lo is not None and series.hi is not None:
            trace[f"error_{value}"] = {
                "type": "data",
                "symmetric": False,
                "array": [_difference(hi, y) for y, hi in zip(series.y, series.hi, strict=True)],
                "arrayminus": [_difference(y, lo) for y, lo in zip(series.y, series.lo, strict=True)],
                "color": _INK if series.kind == "bar" else colour,
                "thickness": 1,
                "width": 3,
            }
            trace["customdata"] = [list(ends) for ends in zip(series.lo, series.hi, strict=True)]
            lines.append(f"from %{{customdata[0]{_digits(series.lo)}}} to %{{customdata[1]{_digits(series.hi)}}}")
        if series.labels is not None:
            trace["text"] = [_label(_wrapped(label)) for label in series.labels]
            lines.append("%{text}")
        traces.append(trace | {"hovertemplate": f"{'<br>'.join(lines)}<extra></extra>"})
    return traces


def _wrapped(text: str) -> str:
    """Lines that are no wider than a phone."""
    return "\n".join(fill(line, _PHONE, break_long_words=False) for line in text.splitlines())


def _layout(chart: Chart) -> dict[str, Any]:
    x = _axis([*chart.names, *(value for series in chart.series for value in series.x)], chart.log_x)
    y = _axis([value for series in chart.series for value in series.y], chart.log_y and not chart.stacked)
    if any(series.kind == "bar" for series in chart.series):
        y["rangemode"] = "tozero"
    title = {"font": {"color": _FAINT, "size": 13}, "standoff": 8}
    if chart.stacked:
        # The first category is at the top.
        x, y = {**y, "title": {"text": _label(chart.y_label), **title}}, {**x, "autorange": "reversed"}
    else:
        x["title"] = {"text": _label(chart.x_label), **title}
        x["showline"] = True
    if chart.log_x and chart.x_from:
        numbers = (value for series in chart.series for value in series.x)
        last = max((value for value in numbers if isinstance(value, int | float)), default=chart.x_from)
        x["range"] = [round(math.log10(chart.x_from), 4), round(math.log10(max(1.05 * last, 2 * chart.x_from)), 4)]
    layout: dict[str, Any] = {
        "font": {"family": _FONT, "size": 12, "color": _INK},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "margin": {"l": 8, "r": 14, "t": 8, "b": 8},
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#ffffff", "bordercolor": "#aaaaaa", "align": "left", "font": {"color": _INK}},
        "barmode": "stack" if chart.stacked else "group",
        "bargap": 0.25,
        "showlegend": False,
        "xaxis": x,
        "yaxis": y,
    }
    if chart.level is not None:
        across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": chart.level, "y1": chart.level}
        layout["shapes"] = [across | {"line": {"color": _FAINT, "width": 1, "dash": "dash"}}]
    return layout


def _axis(values: Sequence[float | str | None], log: bool) -> dict[str, Any]:
    axis = {"automargin": True, "gridcolor": _GRID, "linecolor": "#aaaaaa", "tickfont": {"color": _FAINT, "size": 12}}
    axis |= {"zeroline": False, "separatethousands": True, "minorloglabels": "complete"}
    names = [_label(value) for value in values if isinstance(value, str)]
    if names:
        angles = {"autotickangles": [0, -40, -90]}
        return axis | angles | {"type": "category", "categoryarray": list(dict.fromkeys(names)), "showgrid": False}
    sizes = [abs(value) for value in values if value]
    plain = not sizes or (min(sizes) >= 1e-6 and max(sizes) < 1e9)
    return axis | {"type": "log" if log else "linear", "exponentformat": "none" if plain else "power"}


def _label(text: str) -> str:
    """Text that plotly.js shows as it is: it takes tags as HTML does, and in templates `%{` for a value."""
    return escape(text, quote=False).replace("%{", "%\u200b{").replace("\n", "<br>")


def _digits(values: Sequence[Any]) -> str:
    """How plotly.js writes such numbers under the pointer: five digits that count, powers only of the very small."""
    if any(isinstance(value, str) for value in values):
        return ""
    known = [abs(value) for value in values if value]
    return ":.4~g" if known and min(known) < 1e-6 else ":,.5~r"


def _difference(more: float | None, less: float | None) -> float | None:
    return None if more is None or less is None else float(f"{more - less:.6g}")


def _table(table: Table, where: str) -> str:
    numeric = [_of_numbers([row[i] for row in table.rows]) for i in range(len(table.columns))]
    heads = "".join(
        f'<th scope="col" aria-sort="none"{_class(is_number)}><button type="button">{_breakable(head)}</button></th>'
        for head, is_number in zip(table.columns, numeric, strict=True)
    )
    rows = []
    for row in table.rows:
        cells = [_cell(cell, is_number, i == 0) for i, (cell, is_number) in enumerate(zip(row, numeric, strict=True))]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    name = escape(table.title or where)
    lines = ['<figure class="table">']
    if table.title:
        lines.append(f'<figcaption class="above"><h3>{name}</h3></figcaption>')
    lines.append(f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>')
    lines.append(f"<thead><tr>{heads}</tr></thead>\n<tbody>")
    lines += rows
    lines.append("</tbody></table></div>")
    if table.note:
        lines.append(f'<p class="note">{_marked_up(table.note)}</p>')
    return "\n".join([*lines, "</figure>"])


def _of_numbers(cells: Sequence[Any]) -> bool:
    """Whether most of what a column holds is numbers."""
    held = [cell for cell in cells if cell not in (None, "", "-")]
    return 2 * sum(_sort_key(cell) is not None for cell in held) > len(held)


def _class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""


def _cell(cell: Any, is_number: bool, first: bool) -> str:
    text = _shown(cell)
    key = _sort_key(cell)
    sort = "" if key is None else f' data-key="{key!r}"'
    inner = _breakable(text)
    if mark := MARKS.get(text):
        inner = f'<span class="mark {mark}">{inner}</span>'
    elif first:
        inner = f'<span class="name">{inner}</span>'
    elif len(text) > _MOST_UNBROKEN:
        inner = f'<span class="long">{inner}</span>'
    tag = 'th scope="row"' if first else "td"
    return f"<{tag}{_class(is_number)}{sort}>{inner}</{tag[:2]}>"


def _breakable(text: str) -> str:
    """With places at which a long name, such as a config field, may be broken."""
    return re.sub(r"(?<=\w[_.])(?=[^\W\d])", "<wbr>", escape(text))


def _shown(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:,.4g}" if abs(cell) < 1000 else f"{cell:,.1f}"
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else str(cell)


def _sort_key(cell: Any) -> float | None:
    """The number by which a cell sorts; None for text."""
    if isinstance(cell, int | float):
        return float(cell) if math.isfinite(cell) else None
    found = _NUMBER.match(str(cell).strip()) if cell is not None else None
    return float(found.group(1).replace(",", "")) if found else None


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


def _marked_up(text: str) -> str:
    """A paragraph with `code`, *emphasis* and **strong** words; everything else is shown as it is."""
    found = []
    # What is between backticks is code, with nothing in it to be marked.
    for i, part in enumerate(re.split(r"`([^`\n]+)`", text)):
        safe = escape(part, quote=False)
        if i % 2:
            found.append(f"<code>{safe}</code>")
            continue
        safe = re.sub(r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])", r"<strong>\1</strong>", safe)
        found.append(re.sub(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])", r"<em>\1</em>", safe))
    return "".join(found)
