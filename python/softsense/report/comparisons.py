"""The report of a comparison, or of a single run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from softsense import run_charts
from softsense.charts import Chart
from softsense.formats import run_name
from softsense.report.marking import with_micro
from softsense.report.pages import html, versions
from softsense.report.parts import Section, Table
from softsense.series_charts import over_time

if TYPE_CHECKING:
    from softsense.results import Comparison, RunResult


_OF_THE_DEVICE = (
    *("device", "background", "scheduling", "wear", "read_reclaim", "copyback", "bad_blocks", "maintenance"),
    *("slc_cache", "parity", "memory", "mapping", "power_loss"),
)


def of_comparison(comparison: Comparison, title: str | None = None) -> str:
    """The report of a comparison, or of a single run.

    Args:
        comparison: the runs.
        title: names workload and device; default: taken from the summaries.
    """
    from softsense import tables

    runs = comparison.all_runs
    name = f"Reading with {run_name(runs[0].name)}" if len(runs) == 1 else "What each way of reading costs"
    sections = [
        _responses(comparison),
        _charted(comparison, "Where a read's time goes", run_charts.time_split(comparison), "time split", "slowest"),
        _charted(comparison, "Read levels", run_charts.levels(comparison), "levels"),
        Section("Over time", parts=list(over_time(comparison))),
        Section("What each tenant got", parts=_tables(comparison, "tenants")),
        _charted(comparison, "Energy", run_charts.energy(comparison), "energy"),
        Section("What the device did", parts=_tables(comparison, *_OF_THE_DEVICE)),
    ]
    return html(
        f"{name}: {title or _workload_name(runs[0])}",
        with_micro(" ".join([*tables.warnings(comparison).splitlines(), tables.finding(comparison)])),
        [section for section in sections if section.parts],
        _what_was_run(comparison),
    )


def _responses(comparison: Comparison) -> Section:
    kinds = run_charts.kinds_of(comparison)
    parts: list[Chart | Table] = [run_charts.distribution(comparison, kind) for kind in kinds]
    if kinds:
        parts.insert(1, run_charts.tail(comparison, kinds[:1]))
        parts.insert(2, run_charts.statistics(comparison, kinds[0]))
        if comparison.baseline:
            parts.insert(3, run_charts.slowdowns(comparison, kinds[0]))
    told = []
    if comparison.baseline:
        told.append(
            "All policies meet the same codewords with the same random draws. `no soft sensing` is a run in which "
            "nothing ever fails, so that hard sensing always suffices; `ideal` knows the level that it needs."
        )
    return Section("Response time", told, [*parts, *_tables(comparison, "response")])


def _charted(comparison: Comparison, title: str, chart: Chart, *about: str) -> Section:
    """A section with tables, and with a chart if the chart has data."""
    return Section(title, parts=[*([chart] if chart.series else []), *_tables(comparison, *about)])


def _tables(comparison: Comparison, *about: str) -> list[Table]:
    """The tables that the terminal prints, for some of the subjects."""
    from softsense import tables

    return [
        Table.of_columns(with_micro(block.title), [(block.corner, block.names), *block.columns])
        for block in tables.blocks(comparison)
        if block.about in about
    ]


def _workload_name(run: RunResult) -> str:
    trace = run.summary["source"].get("trace")
    return PurePath(trace["path"]).name if trace else "the config's own workload"


def _what_was_run(comparison: Comparison) -> dict[str, str]:
    runs = comparison.all_runs
    # All runs have the same configuration except for the read policy.
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
    """The numbers that distinguish a trace from others."""
    unit = f"time in {trace['time_unit']}, " if trace.get("time_unit") else ""
    unit += f"sizes in units of {trace['size_unit_bytes']} B" if trace.get("size_unit_bytes") else ""
    recognised = ", recognised" if trace["format_recognised"] else ""
    packed = f", {trace['compression']}" if trace.get("compression") not in (None, "none") else ""
    return {
        "trace": PurePath(trace["path"]).name,
        "trace format": f"{trace['format']}{recognised}{packed}{f'; {unit}' if unit else ''}",
        "trace requests": (
            f"{trace['requests']:,}, of which {trace['reads']:,} read {trace['bytes_read']:,} B, {trace['writes']:,} "
            f"write {trace['bytes_written']:,} B and {trace['trims']:,} trim {trace['bytes_trimmed']:,} B"
            f"{_flushes(trace)}; {trace['replayed_requests']:,} replayed, over {trace['replayed_span_ns'] / 1e9:,.3f} s"
        ),
        "trace addresses": f"footprint {trace['footprint_bytes']:,} B within {trace['extent_bytes']:,} B",
    }


def _flushes(trace: Mapping[str, Any]) -> str:
    """The flushes of a trace and its writes with FUA, in words, if it has any."""
    counts = (("flushes", trace["flushes"]), ("writes with FUA", trace["fua_writes"]))
    return "".join(f", {count:,} {name}" for name, count in counts if count)
