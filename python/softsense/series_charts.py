"""Charts of runs over time, for a picture and for reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from softsense import colours
from softsense.base import NO_SOFT_SENSING
from softsense.charts import Chart, Mark, Series
from softsense.formats import run_name

if TYPE_CHECKING:
    from softsense.results import Comparison, RunResult

_TIME = "simulated time (s)"
_LINKED = "simulated time"


def over_time(comparison: Comparison) -> list[Chart]:
    """Throughput, the slowest 1 %, write amplification and free blocks over time.

    A single run has lines by kind of request, several runs by policy. A chart that would have no line is left out.
    """
    runs = comparison.all_runs
    kinds = [kind for kind in ("read", "write") if any(run.summary["response"][kind]["count"] for run in runs)]
    if len(runs) == 1:
        by_kind = [(f"{kind}s", kind, colours.KINDS[kind], runs[0]) for kind in kinds]
        alone = [("", "", colours.SERIES[0], runs[0])]
    else:
        kinds = kinds[:1]
        by_kind = [(run_name(run.name), kinds[0], c, run) for run, c in _coloured(runs)] if kinds else []
        alone = [(run_name(run.name), "", colour, run) for run, colour in _coloured(runs)]
    what = f"{kinds[0]}s" if len(runs) > 1 and kinds else "requests"
    charts = [
        _chart(f"Throughput: {what}", f"{what} per s", by_kind, "{}_iops"),
        _chart(f"The slowest 1 % of {what}", "99th percentile (µs)", by_kind, "{}_p99_us", log_y=True),
        _chart("Write amplification", "programmed per written", alone, "write_amplification"),
        _chart("Free blocks", "free blocks", alone, "free_blocks"),
        _chart("SLC cache", "blocks in use", alone, "slc_blocks"),
        _chart("Attempts at a codeword", "attempts per read", alone, "attempts"),
    ]
    return [chart for chart in charts if chart.series]


def _coloured(runs: Sequence[RunResult]) -> Iterable[tuple[RunResult, str]]:
    return zip(runs, colours.of_runs(runs), strict=True)


def _chart(title: str, label: str, lines: Sequence[tuple[str, str, str, RunResult]], column: str, **more: Any) -> Chart:
    """A chart with a line for each of (name, kind of request, colour, run)."""
    series = []
    for name, kind, colour, run in lines:
        rows = run.intervals
        values = [row[column.format(kind)] for row in rows]
        if any(value is not None for value in values):
            # Each value holds from the beginning of its interval to the end.
            times, values = [*(row["from_s"] for row in rows), rows[-1]["to_s"]], [*values, values[-1]]
            dashed = run.name == NO_SOFT_SENSING
            series.append(
                Series(name or title, times, values, colour=colour, steps=True, dashed=dashed, named=bool(name))
            )
    starts = {run.summary["measurement"]["warmup_s"] for *_, run in lines if "measurement" in run.summary}
    y_range = (None if more.get("log_y") else 0.0, None)
    marks = [Mark(start, "measured from here on", "x") for start in starts if start and len(starts) == 1]
    return Chart(title, series, _TIME, label, y_range=y_range, linked=_LINKED, marks=marks, own_key=True, **more)
