"""`softsense run`, `compare` and `policies`: simulations of read policies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import softsense
from softsense import Comparison, Config, Interrupted, RunResult, Trace
from softsense.api import parallelism_of
from softsense.base import Progress
from softsense.cli.completing import complete_policies, complete_policy
from softsense.cli.exits import INTERRUPTED, complain
from softsense.cli.measuring import config_rows, opened_trace, trace_name
from softsense.cli.options import run_options
from softsense.cli.output import Folder, print_list, progress_bars, width
from softsense.read_policies import policy_names, with_policy
from softsense.traces import OPTIONS as TRACE_OPTIONS


@click.command()
@run_options
@click.option(
    "--policy",
    metavar="NAME[:RETRY]",
    shell_complete=complete_policy,
    help="Replace the config's read policy, such as two_step:restart or my_policies.py:Ladder.",
)
def run(config: Path, out: Path | None, policy: str | None, as_json: bool, **options: Any) -> int:
    """Simulate one read policy on a trace, or on the workload of CONFIG."""
    resolved = softsense.load_config(config, options["overrides"], seed=options["seed"], policy=policy)
    resolved = _at_equal_area(resolved, options["equal_area"], as_json)

    def simulate(trace: Trace | None, log: Path | bool, progress: Progress) -> RunResult:
        return softsense.run(
            resolved, trace, beyond=options["beyond"], log_requests=log, progress=progress, policy=policy
        )

    return _measure("run", config, resolved, out, as_json, simulate, **options)


@click.command()
@run_options
@click.option(
    "--policies",
    default="all",
    metavar="NAMES",
    shell_complete=complete_policies,
    help="Comma-separated read policies, such as look_ahead, or with a retry two_step:restart, or of your own, "
    "my_policies.py:Ladder; default: all.",
)
@click.option("--no-baseline", is_flag=True, help="Do not run the device without soft sensing, nor report slowdowns.")
@click.option("--jobs", type=click.IntRange(min=1), help="Simulations at once; default: one per CPU, at most 4.")
def compare(
    config: Path, out: Path | None, policies: str, no_baseline: bool, jobs: int | None, as_json: bool, **options: Any
) -> int:
    """Compare read policies on the same codewords with the same random draws.

    Slowdowns are against a run in which nothing ever fails, so that hard sensing always suffices.
    """
    resolved = softsense.load_config(config, options["overrides"], seed=options["seed"])
    resolved = _at_equal_area(resolved, options["equal_area"], as_json)
    names = policy_names(policies)
    for name in names:
        # A retry that does not exist is told before anything is scanned or simulated.
        with_policy(resolved, name)

    def simulate(trace: Trace | None, log: Path | bool, progress: Progress) -> Comparison:
        return softsense.compare(
            resolved,
            trace,
            policies=names,
            baseline=not no_baseline,
            beyond=options["beyond"],
            jobs=jobs,
            log_requests=log,
            progress=progress,
        )

    return _measure("compare", config, resolved, out, as_json, simulate, **options)


@click.command("policies")
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def policies_command(as_json: bool) -> None:
    """List the read policies."""
    from softsense import tables

    told = [(policy["name"], policy["description"]) for policy in softsense.policies()]
    print_list(softsense.policies(), as_json, lambda _: tables.describe(told))


def _at_equal_area(config: Config, reference: str | None, as_json: bool) -> Config:
    """The config with decoders as large as those of the reference, if there is one, said in a line."""
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


def _measure(
    command: str,
    file: Path,
    config: Config,
    out: Path | None,
    as_json: bool,
    simulate: Callable[[Trace | None, Path | bool, Progress], RunResult | Comparison],
    *,
    trace_file: str | None,
    requests_log: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """What `run` and `compare` share: say what will run, run it, print and write what came of it."""
    from softsense import tables

    with Folder(out or Path("out") / f"{command}-{file.stem}") as folder:
        of_trace = {name: options[name] for name in TRACE_OPTIONS}
        opened = opened_trace(trace_file, no_progress, of_trace) if trace_file else None
        # The recognised format and units are always shown, so that a wrong guess is seen before anything runs.
        rows = [("config", str(file)), *config_rows(config, opened is None), *(opened.describe() if opened else [])]
        description = tables.describe(rows)
        click.echo(description + ("" if as_json else "\n"), err=as_json)
        interrupted = False
        try:
            with progress_bars(no_progress) as report:
                result = simulate(opened, folder.file("requests.parquet") if requests_log else False, report)
        except Interrupted as interruption:
            interrupted = True
            result = interruption.result
            if result is None:
                raise
        comparison = result if isinstance(result, Comparison) else Comparison([result])
        summary = json.dumps(result.to_dict(), indent=2, allow_nan=False)
        found, warnings = tables.finding(comparison), tables.warnings(comparison)
        first = f"{warnings}\n\n" if warnings else ""
        for cost in tables.own_costs(comparison):
            click.echo(cost, err=True)
        workload = trace_name(trace_file) if trace_file else "its own workload"
        # Said first: the disk may be full.
        click.echo(summary if as_json else f"{first}{tables.results(comparison, width())}\n\n{found}\n")
        folder.write("config.toml", config.to_toml())
        folder.write("summary.json", summary + "\n")
        folder.write("table.txt", f"{description}\n\n{first}{tables.results(comparison)}\n\n{found}\n")
        picture = "comparison.png" if command == "compare" else "run.png"
        title = f"{workload} on {file.stem}" if trace_file else f"{file.stem}, {workload}"
        if as_json:
            # Loading what draws takes longer than most simulations.
            folder.remove(picture)
        else:
            with folder.replacing(picture) as path:
                comparison.plot(title).savefig(path)
        if command == "compare":
            folder.write("report.html", comparison.report(title))
        if not as_json:
            click.echo(f"wrote {', '.join(str(path) for path in folder.written())}")
        if log_error := next((each.log_error for each in comparison.all_runs if each.log_error), None):
            return complain(f"{log_error}; all else is written")
        if interrupted:
            click.echo("interrupted: what is shown and written covers what had been simulated", err=True)
        return INTERRUPTED if interrupted else 0
