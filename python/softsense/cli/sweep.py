"""`softsense sweep`: many simulations."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import click

from softsense import Interrupted
from softsense.cli.exits import INTERRUPTED, complain
from softsense.cli.measuring import dask_executor
from softsense.cli.options import example, no_progress_option, shard_option
from softsense.cli.output import command_line, progress_bars
from softsense.cli.ranges import Whole


@click.command("sweep", epilog=example("softsense sweep designs.toml --workers 4"))
@click.argument("file", metavar="SWEEP.toml", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/<sweep>.")
@click.option(
    "--workers",
    type=Whole(1),
    help="Simulations at once, each in a process with the memory of a whole device; default: one per CPU.",
)
@click.option(
    "--dask", metavar="ADDRESS", help="Simulate on the Dask cluster at this address instead, such as tcp://host:8786."
)
@shard_option
@click.option(
    "--all",
    "all_designs",
    is_flag=True,
    help="Rank all designs, also those that are no contenders, like `all = true` in [frontier].",
)
@click.option(
    "--allow-own",
    is_flag=True,
    help="Also run Python code that a config names which is neither in this folder nor on the command line.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result with every point as one JSON document.")
@no_progress_option
def sweep_command(
    file: Path,
    out: Path | None,
    workers: int | None,
    dask: str | None,
    shard: str | None,
    all_designs: bool,
    allow_own: bool,
    as_json: bool,
    no_progress: bool,
) -> int:
    """Simulate a grid, a Latin hypercube or a search of designs.

    SWEEP.toml names config fields and their values, read policies, traces and seeds. Finished points are kept at once:
    the same command continues where it was stopped or killed. The results are the same bytes whatever the workers.
    Designs that lose data, cannot serve the load or break a constraint are listed first, and are on no frontier. Points
    that failed are listed at the end. The folder holds sweep.parquet, designs.csv, failures.csv, frontier.png and
    report.html.
    """
    from softsense import folders, following, frontier, manifests, own, points, sweep, tables
    from softsense.points import sharing
    from softsense.shards import parse_part

    if allow_own:
        own.allow()
    spec = sweep.Sweep.open(file)
    spec = replace(spec, all_designs=spec.all_designs or all_designs)
    # A sweep file keeps its folder however it is changed; another file of the same name gets another folder.
    manifest = manifests.Manifest("sweep", command_line(), known_by={"file": str(file.resolve())})
    path = out or folders.default_folder(Path("out") / spec.name, manifest)
    # Shards share the folder.
    alone = contextlib.nullcontext() if shard else folders.Folder(path, manifest.identity)
    told = sharing.Share(*parse_part(shard)).folder(path) if shard else path
    with alone as folder, dask_executor(dask) as executor:
        with progress_bars(no_progress) as report:
            planned = points.Planned(spec, report)
        seeds = list(dict.fromkeys(point.seed for point in planned.points if point.seed is not None))
        manifest = replace(manifest, config=planned.config, traces=planned.traces, seeds=seeds)
        # The recognised formats of traces are always shown, so that a wrong guess is seen before anything runs.
        click.echo(tables.describe(planned.describe()) + ("" if as_json else "\n"), err=as_json)
        interrupted = False
        try:
            with (
                progress_bars(no_progress, "simulations") as report,
                following.following(told / following.NAME, "sweep", spec.name, report) as followed,
            ):

                def plan(planned: points.Planned) -> None:
                    if folder:
                        followed.plan(told / following.PLAN, planned.to_dict())

                plan(planned)
                result = sweep.sweep(
                    planned,
                    out=folder or path,
                    shard=shard,
                    workers=executor or workers,
                    progress=followed,
                    on_batch=plan,
                )
        except Interrupted as interruption:
            interrupted, result = True, interruption.result
        # Signed before anything is printed, as printing may fail: the files are whole by then.
        if folder and not interrupted:
            folder.sign(manifest)
        if as_json:
            click.echo(json.dumps(result.to_dict(), indent=2, allow_nan=False))
        else:
            click.echo(frontier.table(result))
        if interrupted:
            click.echo("interrupted: finished work is kept, and the same command continues it", err=True)
            return INTERRUPTED
        if folder and not as_json:
            click.echo(f"\nwrote {', '.join(map(str, folder.written()))}")
        if not result.count(points.OK, points.WITHOUT_LIFETIME):
            return complain(
                f"{file}: found no point that could be simulated, expected at least one; the error of point 1 is: "
                f"{result.failures['error'][0]}"
            )
        return 0
