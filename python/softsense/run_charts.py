"""Charts of a comparison or a single run, for its picture and for its report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from softsense import colours
from softsense.base import NO_SOFT_SENSING
from softsense.charts import Chart, Kind, Mark, Series
from softsense.formats import as_ratio, as_share, as_time, run_name
from softsense.tables import TIME_PARTS

if TYPE_CHECKING:
    from softsense.results import Comparison, RunResult

STATS = {"mean": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "max"}
"""Statistics of response times, and their labels."""

# The share of requests that may lie left of the beginning of an axis.
_FEW = 0.05
# If one policy takes this many times as long as another, the bars of the others would vanish.
_MOST_TIMES = 12
_SHARES = {"p50": 0.5, "p95": 0.05, "p99": 1e-2, "p99.9": 1e-3}


def kinds_of(comparison: Comparison) -> list[str]:
    """The kinds of requests that a run has: `read`, `write`, or both."""
    runs = comparison.all_runs
    return [kind for kind in ("read", "write") if any(run.summary["response"][kind]["count"] for run in runs)]


def distribution(comparison: Comparison, kind: str) -> Chart:
    """The share of requests that are done within a time."""
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
        x_range=(_nearly_fastest(comparison, [kind]), None),
        linked=f"{kind} response",
    )


def tail(comparison: Comparison, kinds: Sequence[str]) -> Chart:
    """The share of requests that take longer than a time.

    A single run has a line for each kind of request, several runs have a line each.
    """
    series = []
    least = 1.0
    several = len(kinds) > 1
    for kind in kinds:
        for run, colour in _coloured(comparison):
            response_us, fraction = (column.tolist() for column in run._distributions[kind])
            if not response_us:
                continue
            least = min(least, 1 / run.summary["response"][kind]["count"])
            # No request takes longer than the slowest one, and a logarithmic axis has no zero.
            percent = [100.0, *(100 * (1 - share) if share < 1 - 1e-11 else 0.0 for share in fraction)]
            line = _of_run(run, colour, [response_us[0], *response_us], percent, steps=True)
            if several:
                line = Series(f"{kind}s", line.x, line.y, colour=colours.KINDS[kind], steps=True)
            series.append(line)
    what = "requests" if several else f"{kinds[0]}s" if kinds else "requests"
    low = max(min(least, 1e-3) * 0.7, 1e-7)
    return Chart(
        "Tail of the response time" if several else f"Tail: {what} that take longer",
        series,
        "response time (µs)",
        f"{what} that take longer (%)",
        log_x=True,
        log_y=True,
        x_range=(_nearly_fastest(comparison, kinds), None),
        y_range=(100 * low, 130.0),
        marks=[Mark(100 * share, name) for name, share in _SHARES.items() if share >= low],
        linked=f"{what.removesuffix('s')} response",
        own_key=several,
        why_empty="no requests",
    )


def _nearly_fastest(comparison: Comparison, kinds: Sequence[str]) -> float | None:
    """A time a little below that of the fastest requests, without the few that the controller serves at once."""
    found = []
    for run in comparison.all_runs:
        for kind in kinds:
            response_us, fraction = run._distributions[kind]
            found += [float(us) for us, share in zip(response_us, fraction, strict=True) if share >= _FEW][:1]
    return 0.7 * min(found) if found and min(found) > 0 else None


def statistics(comparison: Comparison, kind: str, stats: Sequence[str] = tuple(STATS)) -> Chart:
    """Response times of each run: their mean, and percentiles."""
    names = [STATS[stat] for stat in stats]
    series = []
    for run, colour in _coloured(comparison):
        values = [run.summary["response"][kind][f"{stat}_us"] for stat in stats]
        series.append(_of_run(run, colour, names, values, "bar", printed=[as_time(value) for value in values]))
    title = f"Mean and percentiles of {kind} response"
    return _in_rows(Chart(title, series, "of requests", "response time (µs)", why_empty="no requests"))


def by_kind(run: RunResult, stats: Sequence[str]) -> Chart:
    """Response times of one run, for each kind of request."""
    names = [STATS[stat] for stat in stats]
    series = []
    for kind, colour in colours.KINDS.items():
        response = run.summary["response"][kind]
        if response["count"]:
            values = [response[f"{stat}_us"] for stat in stats]
            printed = [as_time(value) for value in values]
            series.append(Series(kind, names, values, "bar", colour=colour, printed=printed))
    title = "Response time by kind of request"
    return _in_rows(Chart(title, series, "of requests", "response time (µs)", why_empty="no requests"))


def slowdowns(comparison: Comparison, kind: str, stats: Sequence[str] = tuple(STATS)) -> Chart:
    """Response times of each run over those of the baseline."""
    names = [STATS[stat] for stat in stats]
    series = []
    for run, colour in _coloured(comparison):
        values = [comparison.slowdown(run, stat, kind) for stat in stats]
        if run is not comparison.baseline and any(value for value in values):
            series.append(_of_run(run, colour, names, values, "bar", printed=[as_ratio(value) for value in values]))
    title = f"Slowdown of {kind}s against no soft sensing"
    label = "slowdown (no soft sensing = 1)"
    chart = Chart(title, series, "of requests", label, marks=[Mark(1.0)], why_empty="nothing to compare")
    return _in_rows(chart)


def time_split(comparison: Comparison) -> Chart:
    """The parts of the time of a codeword read, mean over reads, for each policy."""
    runs = [(run, colour) for run, colour in _coloured(comparison) if run.summary["codeword_reads"]["count"]]
    names = [run_name(run.name) for run, _ in runs]
    reads = [run.summary["codeword_reads"] for run, _ in runs]
    means = [read["mean_us"] or 0.0 for read in reads]
    known = [mean for mean in means if mean > 0]
    shares = bool(known) and max(known) > _MOST_TIMES * min(known)
    series = []
    for part, label in TIME_PARTS.items() if runs else ():
        times = [read["time_us"][part] or 0.0 for read in reads]
        values = [100 * us / (mean or 1.0) if shares else us for us, mean in zip(times, means, strict=True)]
        said = [f"{value:.0f} %" for value in values] if shares else [as_time(us).removesuffix(" µs") for us in times]
        more: dict[str, Any] = {"labels": [as_time(us) for us in times]} if shares else {}
        series.append(Series(label, names, values, "bar", colour=colours.PARTS[part], printed=said, **more))
    return Chart(
        "Mean time of a codeword read, in the order in which it passes",
        series,
        "policy",
        "share of the mean time (%)" if shares else "mean time (µs)",
        stacked=True,
        totals=dict(zip(names, map(as_time, means), strict=True)),
        name_colours={name: colour for name, (_, colour) in zip(names, runs, strict=True)},
        own_key=True,
        why_empty="no codeword was read from flash",
    )


def levels(comparison: Comparison) -> Chart:
    """The levels at which codewords decoded.

    The run without soft sensing is left out: nothing goes beyond level 1 there.
    """
    shown = [(run, colour) for run, colour in _coloured(comparison) if run is not comparison.baseline]
    found = {run.name: run.summary["codeword_reads"]["level_histogram"] for run, _ in shown}
    deepest = max((level for counts in found.values() for level, n in enumerate(counts, start=1) if n), default=0)
    series = []
    least = 1.0
    for run, colour in shown:
        counts = found[run.name][:deepest]
        if total := sum(found[run.name]):
            least = min(least, *(n / total for n in counts if n))
            labels = [f"{n:,} codeword reads" for n in counts]
            printed = [as_share(n / total) for n in counts]
            shares = [100 * n / total or None for n in counts]
            names = [str(level) for level in range(1, deepest + 1)]
            series.append(_of_run(run, colour, names, shares, "bar", labels=labels, printed=printed))
    lost = max((run.summary["codeword_reads"]["uncorrectable"] for run, _ in shown), default=0)
    return Chart(
        "Read level at which codewords decoded",
        series,
        "read level (1 = hard sensing)",
        "share of codeword reads (%)",
        log_y=True,
        y_range=(100 * 10 ** math.floor(math.log10(least) - 0.3), 400.0),
        corner=f"uncorrectable at the last level: up to {lost:,} reads" if lost else "",
        why_empty="no codeword was read from flash",
    )


def energy(comparison: Comparison) -> Chart:
    """The energy of a request by operation."""
    runs = comparison.all_runs
    names = [run_name(run.name) for run in runs]
    series = []
    for what, (label, colour) in colours.ENERGIES.items():
        values = [run.summary["energy"][f"{what}_uj"] / max(run.summary["requests"], 1) for run in runs]
        series.append(Series(label, names, values, "bar", colour=colour))
    title = "Mean energy of a request, by operation"
    return Chart(title, series, "policy", "energy of a request (µJ)", stacked=True)


def _in_rows(chart: Chart) -> Chart:
    """A chart whose bars a picture shows as rows of points, named in the colours of their series."""
    return replace(chart, rows=True, own_key=True, name_colours={each.name: each.colour for each in chart.series})


def _coloured(comparison: Comparison) -> list[tuple[RunResult, str]]:
    runs = comparison.all_runs
    return list(zip(runs, colours.of_runs(runs), strict=True))


def _of_run(
    run: RunResult,
    colour: str,
    x: Sequence[float | str],
    y: Sequence[float | None],
    kind: Kind = "line",
    **more: Any,
) -> Series:
    return Series(run_name(run.name), x, y, kind, colour=colour, dashed=run.name == NO_SOFT_SENSING, **more)
