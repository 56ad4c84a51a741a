"""`softsense run`, `compare` and `policies`: simulations of read policies."""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import softsense
from softsense import Comparison, Config, ConfigError, Interrupted, RunResult, Trace, _core
from softsense.api import parallelism_of
from softsense.base import Progress
from softsense.cli.completing import complete_policies, complete_policy
from softsense.cli.exits import INTERRUPTED, complain
from softsense.cli.measuring import config_rows, opened_trace, trace_name
from softsense.cli.options import example, jobs_option, run_options
from softsense.cli.output import command_line, print_list, progress_bars, width
from softsense.cli.ranges import Whole
from softsense.read_policies import policy_names, with_policy
from softsense.traces import OPTIONS as TRACE_OPTIONS

if TYPE_CHECKING:
    from softsense.seeds import SeededComparison


@click.command(epilog=example("softsense run mlc-25nm --policy look_ahead"))
@run_options
@click.option(
    "--policy",
    metavar="NAME[:RETRY]",
    shell_complete=complete_policy,
    help="Replace the config's read policy, such as two_step:restart or my_policies.py:Ladder.",
)
@click.option(
    "--timeline",
    metavar="FROM..TO",
    help="Also write timeline.json for ui.perfetto.dev: what every plane, bus and decoder did in "
    "this window of simulated time, such as 10ms..12ms.",
)
def run(config: Path, out: Path | None, policy: str | None, timeline: str | None, as_json: bool, **options: Any) -> int:
    """Simulate one read policy on a trace or a workload.

    CONFIG is the name of a shipped configuration (`softsense config list`) or a TOML file. Without --trace its
    synthetic [workload] is simulated.
    """
    if timeline is not None:
        _core.window(timeline)
    resolved = softsense.load_config(config, options["overrides"], seed=options["seed"], policy=policy)
    resolved = _at_equal_area(resolved, options["equal_area"], as_json)

    def simulate(trace: Trace | None, log: Path | bool, progress: Progress) -> RunResult:
        return softsense.run(
            resolved,
            trace,
            beyond=options["beyond"],
            log_requests=log,
            timeline=timeline,
            progress=progress,
            policy=policy,
        )

    asked = {"policies": [policy]} if policy else {}
    return _measure("run", config, resolved, out, as_json, simulate, asked, **options)


@click.command(epilog=example("softsense compare mlc-25nm --policies two_step,look_ahead --seeds 3"))
@run_options
@click.option(
    "--policies",
    default="all",
    metavar="NAMES",
    shell_complete=complete_policies,
    help="Comma-separated read policies: a name (look_ahead), one with its retry "
    "(two_step:restart) or one of your own (my_policies.py:Ladder); default: all.",
)
@click.option(
    "--no-baseline", is_flag=True, help="Do not simulate the baseline without soft sensing, and report no slowdowns."
)
@jobs_option
@click.option(
    "--seeds",
    type=Whole(2, 1000),
    metavar="N",
    help="Compare on N consecutive seeds, the config's first, and show 95 % intervals; default: "
    "the config's seed only.",
)
@click.option(
    "--across",
    multiple=True,
    metavar="AXIS[=LIST]",
    help="Does the ranking hold? Compare in all combinations of these too: drives=NAME,..., ages=CYCLES:DAYS,..., "
    "loads=FACTOR,..., codes=NAME,..., seeds=N; repeatable. Without a list an axis has some values of its own.",
)
@click.option("--by", metavar="STATISTIC", help="With --across: mean, p99 (default) or p99.9 of reads.")
def compare(
    config: Path,
    out: Path | None,
    policies: str,
    no_baseline: bool,
    jobs: int | None,
    seeds: int | None,
    across: tuple[str, ...],
    by: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Compare read policies on one trace or workload.

    All policies read the same codewords with the same random draws. Slowdowns are relative to a baseline in which every
    read succeeds with hard sensing. CONFIG is the name of a shipped configuration (`softsense config list`) or a TOML
    file.
    """
    if across:
        from softsense.cli.across import compare_across

        return compare_across(config, out, policies, jobs, seeds, across, by or "p99", as_json, **options)
    if by:
        raise ConfigError(f"--by: found {by} without --across, expected --across with it, or no --by")
    resolved = softsense.load_config(config, options["overrides"], seed=options["seed"])
    resolved = _at_equal_area(resolved, options["equal_area"], as_json)
    names = policy_names(policies)
    for name in names:
        # An unknown retry is an error before anything is scanned or simulated.
        with_policy(resolved, name)
    if seeds and options["requests_log"]:
        raise ConfigError(
            "--requests-log: found together with --seeds, expected only one of the two: a log is of one seed"
        )
    asked = {"policies": names, "baseline": not no_baseline}

    def simulate(trace: Trace | None, log: Path | bool, progress: Progress) -> Comparison | SeededComparison:
        shared: dict[str, Any] = {
            "policies": names,
            "baseline": not no_baseline,
            "beyond": options["beyond"],
            "jobs": jobs,
        }
        if seeds:
            from softsense.seeds import compare_seeds

            return compare_seeds(resolved, trace, seeds=seeds, progress=progress, **shared)
        return softsense.compare(resolved, trace, log_requests=log, progress=progress, **shared)

    return _measure("compare", config, resolved, out, as_json, simulate, asked, seeds or 1, **options)


@click.command("policies", epilog=example("softsense policies"))
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def policies_command(as_json: bool) -> None:
    """List the read policies."""
    from softsense import tables

    told = [(policy["name"], policy["description"]) for policy in softsense.policies()]
    print_list(softsense.policies(), as_json, lambda _: tables.describe(told))


def _at_equal_area(config: Config, reference: str | None, as_json: bool) -> Config:
    """The config with decoders of the same area as the reference's, if there is a reference.

    Prints a line about them.
    """
    if reference is None:
        return config
    opened = softsense.load_config(reference)
    bought = parallelism_of(config, opened)
    resized = config.with_overrides(bought)
    (theirs, ours) = (opened.decoder_hardware() or {}, resized.decoder_hardware() or {})
    click.echo(
        f"equal area: {', '.join(bought)}: {ours['count']} x {ours['mm2']:.3f} mm2 at {ours['node_nm']:g} nm, "
        f"where {reference} has {theirs['count']} x {theirs['mm2']:.3f} mm2 at {theirs['node_nm']:g} nm",
        err=as_json,
    )
    return resized


class _LogAbandonedError(Exception):
    """A signal to give up the log of requests, and nothing else."""


def _measure(
    command: str,
    file: Path,
    config: Config,
    out: Path | None,
    as_json: bool,
    simulate: Callable[[Trace | None, Path | bool, Progress], RunResult | Comparison | SeededComparison],
    asked: dict[str, Any],
    seeds: int = 1,
    *,
    beyond: str,
    trace_file: str | None,
    requests_log: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """The common part of `run` and `compare`: describe the run, simulate, print and write the results."""
    from softsense import folders, manifests, tables

    of_trace = {name: options[name] for name in TRACE_OPTIONS}
    first = config.fields.seed
    # A folder that cannot be written is an error before the trace is scanned, which may take minutes. The name of the
    # default folder depends on the trace.
    folders.check_folder(out or Path("out"))
    opened = opened_trace(trace_file, no_progress, of_trace) if trace_file else None
    traces = [manifests.of_trace(trace_file, opened, of_trace, beyond)] if trace_file and opened else []
    manifest = manifests.Manifest(
        command, command_line(), manifests.of_config(file, config), traces, range(first, first + seeds), asked
    )
    name = f"{command}-{file.stem}" + (f"-{folders.stem(trace_name(trace_file))}" if trace_file else "")
    where = out or folders.default_folder(Path("out") / name, manifest)
    with folders.Folder(where, manifest.identity) as folder:
        # The recognised format and units are always shown, so that a wrong guess is seen before anything runs.
        rows = [("config", str(file)), *config_rows(config, opened is None), *(opened.describe() if opened else [])]
        description = tables.describe(rows)
        click.echo(description + ("" if as_json else "\n"), err=as_json)

        def measured(log: Path | bool) -> tuple[RunResult | Comparison | SeededComparison, bool]:
            try:
                with progress_bars(no_progress) as report:
                    return simulate(opened, log, report), False
            except Interrupted as interruption:
                if interruption.result is None:
                    raise
                return interruption.result, True

        log_error = None
        if requests_log:
            with contextlib.suppress(_LogAbandonedError), folder.replacing("requests.parquet") as log:
                result, interrupted = measured(log)
                if log_error := next((each.log_error for each in _told(result)[0].all_runs if each.log_error), None):
                    raise _LogAbandonedError
        else:
            result, interrupted = measured(False)
        summary = json.dumps(result.to_dict(), indent=2, allow_nan=False)
        comparison, table = _told(result)
        for cost in tables.own_costs(comparison):
            click.echo(cost, err=True)
        workload = trace_name(trace_file) if trace_file else "its own workload"
        # Printed before any file is written, as the disk may be full.
        click.echo(summary if as_json else f"{table(width())}\n")
        folder.write("config.toml", config.to_toml())
        folder.write("summary.json", summary + "\n")
        folder.write("table.txt", f"{description}\n\n{table(150)}\n")
        picture = "comparison.png" if command == "compare" else "run.png"
        title = f"{workload} on {file.stem}" if trace_file else f"{file.stem}, {workload}"
        title += f", seed {first} of {seeds}" if seeds > 1 else ""
        if not as_json:
            # With --json there is none: loading matplotlib takes longer than most simulations.
            with folder.replacing(picture) as path:
                comparison.plot(title).savefig(path)
            if command == "run":
                with folder.replacing("over-time.png") as path:
                    comparison.runs[0].plot_over_time(title).savefig(path)
        with folder.replacing("series.csv") as path, path.open("w", encoding="utf-8", newline="") as series:
            writer = csv.DictWriter(series, comparison.intervals[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(comparison.intervals)
        timeline = result.timeline if isinstance(result, RunResult) else None
        if timeline is not None:
            with folder.replacing("timeline.json") as path:
                timeline.write(path)
            if timeline.note:
                click.echo(timeline.note, err=True)
        has_report = command == "compare" or not as_json
        if has_report:
            folder.write("report.html", comparison.report(title))
        # Files of an earlier run that this one does not write would be taken for results of this one.
        written = {picture: not as_json, "over-time.png": command == "run" and not as_json, "report.html": has_report}
        written |= {"timeline.json": timeline is not None, "requests.parquet": requests_log and not log_error}
        for left in (name for name, is_new in written.items() if not is_new):
            folder.remove(left)
        folder.sign(manifest, interrupted=interrupted)
        if not as_json:
            click.echo(f"wrote {', '.join(str(path) for path in folder.written())}")
        if log_error:
            told = log_error.replace(str(log), str(folder.path / "requests.parquet"))
            return complain(f"{told}; all other results are written")
        if interrupted:
            click.echo(
                "interrupted: the results that are shown and written cover the requests that were simulated until then",
                err=True,
            )
        return INTERRUPTED if interrupted else 0


def _told(result: RunResult | Comparison | SeededComparison) -> tuple[Comparison, Callable[[int], str]]:
    """The comparison to draw, and a function that makes the text to print.

    The function takes a number of columns and returns the text, which begins with warnings.
    """
    from softsense import tables

    table: Callable[[int], str]
    if isinstance(result, RunResult | Comparison):
        comparison = result if isinstance(result, Comparison) else Comparison([result])
        warned, table, found = comparison, partial(tables.results, comparison), tables.finding(comparison)
    else:
        from softsense.seeds import worst

        comparison, warned = result.first, worst(result)
        table, found = result.text, result.finding()
    warnings = tables.warnings(warned)
    first = f"{warnings}\n\n" if warnings else ""
    return comparison, lambda columns: f"{first}{table(columns)}\n\n{found}"
