"""Results of simulations: of one run, and of several that are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from softsense._core import Config, FileError
from softsense.problems import Problem, found_in, is_open_loop

# polars and matplotlib take longer to import than everything else together, so they are imported where they are used.
if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softsense.records import Summary
    from softsense.request_log import RequestLog
    from softsense.run_timeline import RunTimeline

RESPONSE_KINDS = ("read", "write", "all")
TENANT_KINDS = ("read", "write", "trim")
_UNITS = ("plane", "channel", "channel_wasted", "decoder")
_RESPONSE_STATS = ("mean", "p50", "p95", "p99", "p999", "p9999", "max")


@dataclass(repr=False)
class RunResult:
    """The measurements of one simulation.

    Attributes:
        name: the policy as it was asked for, such as `two_step` or `two_step:restart`.
        config: the resolved configuration that ran.
        summary: all measurements, by the names in docs/results.md: dicts whose keys are attributes, too. Times are in
            us unless a name says otherwise; None where nothing was recorded.
        interrupted: whether the run was stopped before its last request.
        timeline: the operations in the window that `run(timeline=...)` named; None without a window.
        intervals: the rows of `series`, ready for JSON.
        tenant_distributions: for each tenant, in the order of the config, the response times of `read`, `write`
            and `trim`, us, ascending, and the fraction of its requests at or below each.

    >>> from softsense import run
    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
    >>> result = run("mlc-25nm", policy="two_step", overrides=small)
    >>> result.name, result.summary.requests, result.interrupted
    ('two_step', 200, False)
    >>> result.distribution("read").columns
    ['response_us', 'fraction']
    """

    name: str
    config: Config
    summary: Summary
    _distributions: dict[str, tuple[Any, Any]]
    _log: RequestLog | None = None
    timeline: RunTimeline | None = None
    intervals: list[dict[str, Any]] = field(default_factory=list)
    tenant_distributions: list[dict[str, tuple[Any, Any]]] = field(default_factory=list)

    def __repr__(self) -> str:
        """A line with the mean response times; `table` has all numbers."""
        means = {kind: self.summary["response"][kind]["mean_us"] for kind in ("read", "write")}
        told = "".join(f", {kind}s {us:,.0f} us in the mean" for kind, us in means.items() if us is not None)
        return f"<RunResult of {self.name}: {self.summary['requests']:,} requests{told}>"

    def _repr_html_(self) -> str:
        """The table, in a notebook."""
        return self.table._repr_html_()

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its last request."""
        return bool(self.summary["interrupted"])

    def distribution(self, kind: str = "read") -> pl.DataFrame:
        """Cumulative distribution of the response time of `read`, `write` or `all` requests.

        Returns columns `response_us` (f64, ascending) and `fraction` (f64, of requests at or below it).
        """
        import polars as pl

        response_us, fraction = self._distributions[kind]
        return pl.DataFrame({"response_us": response_us, "fraction": fraction})

    @property
    def series(self) -> pl.DataFrame:
        """The run over time: one row per interval, rows of a warm-up first.

        The run has 60 to 120 intervals of equal length, fewer if it is shorter than 60 ms. The last interval of
        the warm-up, and of the measured part, has half to one and a half of their length.

        Columns: from_s, to_s (f64), measured (bool, False in the warm-up), iops, read_iops, write_iops (f64),
        read_mb_per_s, write_mb_per_s (f64, 10^6 bytes). read_mean_us, read_p99_us, write_mean_us, write_p99_us (f64)
        are of requests that completed in the interval; percentiles are off by 0.4 % at most. write_amplification (f64)
        counts codewords programmed for each one that the host wrote to flash. free_blocks (i64) are the free blocks of
        the drive at the end of the interval, and slc_blocks (i64) the blocks that its SLC cache then uses. attempts
        (f64) are per codeword that the host read. uncorrectable (i64) counts codewords of the host that no level
        decoded. rber (f64) is the mean raw bit error rate of codewords as they were read first. A number for which the
        interval has nothing is null.

        >>> from softsense import run
        >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
        >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
        >>> run("mlc-25nm", overrides=small).series["read_iops"].max() > 0
        True
        """
        return _frame(self.intervals)

    @property
    def log_error(self) -> str | None:
        """The reason why the Parquet file of requests could not be written, or None.

        The rest of the result is complete in any case.
        """
        return self._log.error if self._log else None

    @cached_property
    def requests(self) -> pl.DataFrame:
        """One row per request in order of completion; needs `run(log_requests=...)`.

        Columns: request (u64), arrival_ns (u64), kind (read, write, trim, flush, fua_write), offset_bytes (u64),
        bytes (u64), response_ns (u64). max_level (u8) is the highest read level that any of its codewords needed, 0 if
        none was read. retries (u16) is the sum over its codewords. energy_uj (f64) is the energy of its own operations:
        without garbage collection and programs from the write buffer. Where there are tenants, tenant (u16) is its
        number in the config, from 0.
        """
        if self._log is None:
            raise ValueError("requests were not logged: pass log_requests=True, or a path to a Parquet file")
        if self._log.error:
            raise FileError(self._log.error)
        return self._log.frame(self.name)

    @property
    def table(self) -> pl.DataFrame:
        """The run as one row: see `Comparison.table`."""
        return Comparison([self]).table

    @property
    def responses(self) -> pl.DataFrame:
        """Response-time statistics in long form: see `Comparison.responses`."""
        return Comparison([self]).responses

    @property
    def time_split(self) -> pl.DataFrame:
        """The parts of a codeword read's time: see `Comparison.time_split`."""
        return Comparison([self]).time_split

    @property
    def levels(self) -> pl.DataFrame:
        """Read levels at which codewords decoded: see `Comparison.levels`."""
        return Comparison([self]).levels

    @cached_property
    def problems(self) -> list[Problem]:
        """Problems that make the other numbers meaningless: lost data, a load that cannot be served."""
        from softsense.folders import numbers

        open_loop = is_open_loop(self.config.fields, "trace" in self.summary["source"])
        return list(found_in([dict(numbers(self.summary))], open_loop))

    def to_dict(self) -> dict[str, Any]:
        """The summary with the run's name and its problems, ready for JSON."""
        problems = [f"{problem.reason}: {problem.told}" for problem in self.problems]
        return {"name": self.name, "problems": problems, **self.summary}

    def plot(self, title: str | None = None, *, style: str = "screen", columns: int | None = None) -> Figure:
        """Draw the run; save the figure with its `savefig`. See `Comparison.plot`."""
        return Comparison([self]).plot(title, style=style, columns=columns)

    def plot_over_time(self, title: str | None = None, *, style: str = "screen", columns: int | None = None) -> Figure:
        """Draw the run over time, from its `series`; arguments as those of `Comparison.plot`."""
        from softsense.plots import draw_over_time

        return draw_over_time(Comparison([self]), title, style, columns)

    def report(self, title: str | None = None) -> str:
        """The run as one HTML document: see `Comparison.report`."""
        return Comparison([self]).report(title)


@dataclass(repr=False)
class Comparison:
    """Several runs on the same codewords with the same random draws.

    Attributes:
        runs: one result per policy, in the order asked for.
        baseline: the run without soft sensing (hard decision decodes every codeword), or None when not asked for.

    Frames are polars frames; a run is found by its name.

    >>> from softsense import compare
    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
    >>> compared = compare("mlc-25nm", policies="two_step,look_ahead", overrides=small)
    >>> compared["look_ahead"].summary["response"]["read"]["count"] > 0
    True
    >>> compared.responses.columns
    ['policy', 'kind', 'stat', 'response_us', 'slowdown']
    >>> compared.levels["level"].unique().to_list()
    [1, 2, 3, 4, 5, 6, 7]
    """

    runs: list[RunResult]
    baseline: RunResult | None = None

    def __repr__(self) -> str:
        """The names of the runs, in a line; `table` has the numbers."""
        return f"<Comparison of {', '.join(run.name for run in self.all_runs)}>"

    def _repr_html_(self) -> str:
        """The table, in a notebook."""
        return self.table._repr_html_()

    @property
    def all_runs(self) -> list[RunResult]:
        """The baseline, if there is one, and then the policies."""
        return ([self.baseline] if self.baseline else []) + self.runs

    @property
    def interrupted(self) -> bool:
        """Whether any run was stopped before its last request."""
        return any(r.interrupted for r in self.all_runs)

    def __getitem__(self, name: str) -> RunResult:
        """The run of that name."""
        for result in self.all_runs:
            if result.name == name:
                return result
        raise KeyError(f"{name}: this comparison holds {', '.join(r.name for r in self.all_runs)}")

    def slowdown(self, result: RunResult, stat: str = "mean", kind: str = "read") -> float | None:
        """Response time of `result` over that of the baseline; None without a baseline or without such requests.

        Args:
            result: one of the runs.
            stat: mean, p50, p95, p99, p999, p9999 or max.
            kind: read, write or all.
        """
        if self.baseline is None:
            return None
        ours = result.summary["response"][kind][f"{stat}_us"]
        theirs = self.baseline.summary["response"][kind][f"{stat}_us"]
        return ours / theirs if ours is not None and theirs else None

    @property
    def table(self) -> pl.DataFrame:
        """One row per run, the baseline first: the columns that most questions need, response times in us.

        slowdown is that of mean reads, energies are in uJ, and requests_per_s is the speed of the simulator.
        """
        rows = []
        for result in self.all_runs:
            s = result.summary
            row: dict[str, Any] = {"policy": result.name, "retry": s["retry"], "requests": s["requests"]}
            for kind in RESPONSE_KINDS:
                for stat in _RESPONSE_STATS:
                    row[f"{kind}_{stat}_us"] = s["response"][kind][f"{stat}_us"]
            row["slowdown"] = self.slowdown(result)
            row["codeword_read_mean_us"] = s["codeword_reads"]["mean_us"]
            row["uncorrectable"] = s["codeword_reads"]["uncorrectable"]
            row["energy_read_mean_uj"] = s["energy"]["mean_read_uj"]
            row["energy_request_mean_uj"] = s["energy"]["mean_request_uj"]
            row["write_amplification"] = s["writes_detail"]["write_amplification"]
            row["gc_blocks_reclaimed"] = s["gc"]["blocks_reclaimed"]
            for unit in _UNITS:
                row[f"{unit}_utilisation"] = s["utilisation"][unit]
            row["requests_per_s"] = s["machine"]["requests_per_s"]
            rows.append(row)
        return _frame(rows)

    @property
    def responses(self) -> pl.DataFrame:
        """Long form: policy, kind (read, write, all), stat (the names that `slowdown` takes), response_us, slowdown."""
        return _frame(
            {
                "policy": result.name,
                "kind": kind,
                "stat": stat,
                "response_us": result.summary["response"][kind][f"{stat}_us"],
                "slowdown": self.slowdown(result, stat, kind),
            }
            for result in self.all_runs
            for kind in RESPONSE_KINDS
            for stat in _RESPONSE_STATS
        )

    @property
    def time_split(self) -> pl.DataFrame:
        """Long form: policy, part, mean_us per codeword read (None without reads).

        The parts, from `wait_plane` to `retries`, add up to the mean time of a codeword read.
        """
        return _frame(
            {"policy": result.name, "part": part, "mean_us": mean_us}
            for result in self.all_runs
            for part, mean_us in result.summary["codeword_reads"]["time_us"].items()
        )

    @property
    def levels(self) -> pl.DataFrame:
        """Long form: policy, level (1 = hard sensing), codewords decoded at it, their share (None without reads)."""
        rows = []
        for result in self.all_runs:
            counts = result.summary["codeword_reads"]["level_histogram"]
            total = sum(counts)
            rows += [
                {"policy": result.name, "level": level, "codewords": n, "share": n / total if total else None}
                for level, n in enumerate(counts, start=1)
            ]
        return _frame(rows)

    @property
    def series(self) -> pl.DataFrame:
        """The runs over time, the baseline first: policy, and the columns of `RunResult.series`."""
        return _frame(self.intervals)

    @property
    def intervals(self) -> list[dict[str, Any]]:
        """The rows of `series`, ready for JSON."""
        return [{"policy": result.name, **row} for result in self.all_runs for row in result.intervals]

    def to_dict(self) -> dict[str, Any]:
        """Baseline and policies, each with its slowdown of reads against no soft sensing, ready for JSON."""
        policies = []
        for result in self.runs:
            slowdown = {stat: self.slowdown(result, stat) for stat in _RESPONSE_STATS}
            policies.append({**result.to_dict(), "slowdown": slowdown if self.baseline else None})
        return {"baseline": self.baseline.to_dict() if self.baseline else None, "policies": policies}

    def plot(self, title: str | None = None, *, style: str = "screen", columns: int | None = None) -> Figure:
        """Draw the comparison; save the figure with its `savefig`.

        Args:
            title: names workload and device; default: taken from the summaries.
            style: `screen`, or `paper` for a picture as wide as one column of a paper (3.5 inches) or as two (7.16),
                with all text at 8 points.
            columns: columns of a paper that a picture for a paper spans: 1 or 2; default: 2.

        Raises `ValueError` for another style, or another number of columns.

        The result is a matplotlib figure like any other: its axes bear labels, by which they are found and restyled.

        >>> from softsense import compare
        >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
        >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
        >>> figure = compare("mlc-25nm", policies="two_step", overrides=small).plot("a trial")
        >>> panels = {axes.get_label(): axes for axes in figure.axes}
        >>> list(panels)
        ['time_split', 'tail', 'slowdown', 'levels']
        >>> _ = panels["tail"].set_xlabel("response time of my drive")
        """
        from softsense.plots import draw

        return draw(self, title, style, columns)

    def plot_panel(self, panel: str, axes: Axes, *, style: str = "screen") -> None:
        """Draw one panel into axes of your own.

        Args:
            panel: `time_split`, `tail`, `levels`, `slowdown`, or `responses`, which `plot` draws without a baseline.
            axes: matplotlib axes, of any figure; one without a layout engine gets the constrained one.
            style: `screen`, or `paper` for text at 8 points.

        Raises `ValueError` for another panel or style, or for a slowdown without a baseline.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure(figsize=(6, 4)).subplots()
        >>> from softsense import compare
        >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
        >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
        >>> compare("mlc-25nm", policies="two_step", overrides=small).plot_panel("tail", axes)
        >>> [text.get_text() for text in axes.legend().get_texts()]
        ['no soft sensing', 'two_step']
        """
        from softsense.plots import draw_panel

        draw_panel(self, panel, axes, style)

    def report(self, title: str | None = None) -> str:
        """The comparison as one HTML document, with charts, tables and what was run; write it to a file."""
        from softsense.report import of_comparison

        return of_comparison(self, title)


def _frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)
