"""The report of a comparison, or of a single run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from softsense import colours
from softsense.base import NO_SOFT_SENSING
from softsense.formats import run_name
from softsense.report.marking import with_micro
from softsense.report.pages import html, versions
from softsense.report.parts import Chart, Section, Series, Table

if TYPE_CHECKING:
    from softsense.results import Comparison, RunResult

# The share of requests that may be left of where an axis begins.
_FEW = 0.05

_STATS = {"mean": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "max"}


def of_comparison(comparison: Comparison, title: str | None = None) -> str:
    """The report of a comparison, or of a single run.

    Args:
        comparison: what was measured.
        title: names workload and device; default: what the summaries say.
    """
    from softsense import tables

    runs = comparison.all_runs
    name = f"Reading with {run_name(runs[0].name)}" if len(runs) == 1 else "What each way of reading costs"
    sections = [
        _responses(comparison),
        _time_split(comparison),
        _levels(comparison),
        Section("What each tenant got", parts=_tables(comparison, "tenants")),
        _energy(comparison),
        Section("What the device did", parts=_tables(comparison, "device", "read_reclaim", "slc_cache", "mapping")),
    ]
    return html(
        f"{name}: {title or _workload_name(runs[0])}",
        with_micro(" ".join([*tables.warnings(comparison).splitlines(), tables.finding(comparison)])),
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
        linked=f"{kind} response",
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
        linked=f"{kind} response",
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
    names = [run_name(run.name) for run in runs]
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
    names = [run_name(run.name) for run in runs]
    series = [
        Series(
            label,
            names,
            [run.summary["energy"][f"{what}_uj"] / max(run.summary["requests"], 1) for run in runs],
            "bar",
            colour=colour,
        )
        for what, (label, colour) in colours.ENERGIES.items()
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
            found.append(Table(with_micro(block.title), [block.corner, *heads], [list(row) for row in rows]))
    return found


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
    return Series(run_name(run.name), x, y, kind, colour=colour, dashed=run.name == NO_SOFT_SENSING, **more)


def _workload_name(run: RunResult) -> str:
    trace = run.summary["source"].get("trace")
    return PurePath(trace["path"]).name if trace else "the config's own workload"


def _what_was_run(comparison: Comparison) -> dict[str, str]:
    runs = comparison.all_runs
    # All runs have the same configuration but for how they read.
    first = comparison.runs[0]
    summary = first.summary
    found = {"policies": ", ".join(f"{run_name(run.name)} ({run.summary['retry']})" for run in runs)}
    found |= _trace(summary["source"]["trace"]) if "trace" in summary["source"] else {}
    rows = [row for row in first.config.describe() if row[0] != "read" or len(runs) == 1]
    if "trace" not in summary["source"]:
        rows += first.config.describe_workload()
    for label, text in rows:
        found[label] = text
    found |= {
        "seed": f"{summary['seed']}",
        "versions": versions(),
        f"SHA-256 of the config, with {run_name(first.name)}": summary["config_sha256"],
        f"resolved config, with {run_name(first.name)}": first.config.to_toml(),
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
