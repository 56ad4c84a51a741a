"""`softsense reproduce`: figures and claims of papers."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import click

import softsense
from softsense import ConfigError, _core
from softsense.api import default_jobs
from softsense.cli.completing import PAPERS, one_of
from softsense.cli.exits import INTERRUPTED
from softsense.cli.measuring import dask_executor, opened_shard
from softsense.cli.options import example, jobs_option, no_progress_option, shard_option
from softsense.cli.output import command_line, progress_bars


def _paper(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    return given and (_core.spelled_like(given, [*PAPERS, "all"]) or given)


@click.command("reproduce", epilog=example("softsense reproduce laldpc --figure 5"))
@click.argument("name", metavar="[PAPER|all]", required=False, shell_complete=one_of(*PAPERS, "all"), callback=_paper)
@click.option("--list", "listing", is_flag=True, help="List the papers and their figures.")
@click.option(
    "--figure", "figures", multiple=True, metavar="N[,N...]", help="Only these figures; repeatable; default: all."
)
@click.option("--quick", is_flag=True, help="Use few seeds, for a look within minutes (default).")
@click.option("--full", is_flag=True, help="Use the seeds and grids of the documentation.")
@click.option(
    "--traces",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of real traces; default: stand-ins are simulated, or what needs the trace is left out.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/<paper>.")
@jobs_option
@click.option(
    "--dask", metavar="ADDRESS", help="Simulate on the Dask cluster at this address instead, such as tcp://host:8786."
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep all simulations in this file, and resume from it.",
)
@shard_option
@click.option("--json", "as_json", is_flag=True, help="Print the claims, or the list, as one JSON document.")
@no_progress_option
def reproduce_command(
    name: str | None,
    listing: bool,
    figures: tuple[str, ...],
    quick: bool,
    full: bool,
    traces: Path | None,
    out: Path | None,
    jobs: int | None,
    dask: str | None,
    store: Path | None,
    shard: str | None,
    as_json: bool,
    no_progress: bool,
) -> int:
    """Reproduce the figures of PAPER, and judge its claims.

    `all` stands for every paper; without PAPER the papers are listed. The folder holds a picture and a CSV file for
    each figure, claims.json, runs.csv with the command of each simulation, and two reports that compare measured with
    published results: report.md, and report.html for a browser. Figure `across` has the paper's headline on drives of
    today, and across.json the same as data. With `all` each paper has a folder of its own within it, beside a page of
    all claims and all headlines.
    """
    from softsense import following, papers, tables
    from softsense.files import sha256_of
    from softsense.folders import Folder, default_folder
    from softsense.manifests import Manifest, of_config
    from softsense.shards import beside, parse_part
    from softsense.store import opened_store

    if (listing or name is None) and as_json:
        listed = [
            {
                "name": paper.name,
                "published": paper.published,
                "figures": [{"id": figure.id, "title": figure.title} for figure in paper.figures],
            }
            for paper in papers.papers()
        ]
        click.echo(json.dumps(listed, indent=2))
        return 0
    if listing or name is None:
        for paper in papers.papers():
            click.echo(f"{paper.name}: {paper.published}")
            rows = [(figure.id, figure.title) for figure in paper.figures]
            click.echo(tables.describe(rows, indent="  "))
        return 0
    if quick and full:
        raise ConfigError("--full: found both --quick and --full, expected only one of the two")
    everything = name == "all"
    if everything and figures:
        raise ConfigError("--figure: found the papers `all`, expected the name of the one paper whose figures to make")
    chosen = papers.papers() if everything else [papers.paper(name)]
    parts = [part.strip() for text in figures for part in text.split(",")]
    # Faults of the command line are errors before anything runs.
    todo = [(paper, paper.chosen(parts), papers.with_traces(paper.plan(full), traces)) for paper in chosen]
    of_traces = str(traces.resolve()) if traces else None

    def manifest_of(paper: str) -> Manifest:
        asked = {"paper": paper, "figures": parts, "full": full, "traces": of_traces}
        # Results of --full replace those of --quick, since both are of one paper on the same traces.
        return Manifest("reproduce", command_line(), asked=asked, known_by={"paper": paper, "traces": of_traces})

    def of_simulations(result: papers.Reproduction) -> Manifest:
        """The manifest with the inputs of a paper's simulations; each simulation is a line of runs.csv."""
        device, *others = (of_config(each, softsense.Config.open(each)) for each in result.devices)
        runs = {"file": "runs.csv", "simulations": result.runs, "further_configs": others} if result.runs else {}
        manifest = manifest_of(result.paper.name)
        return replace(
            manifest,
            config=device,
            traces=[{"file": str(path), "sha256": sha256_of(path)} for path in result.traces],
            seeds=result.plan.seeds,
            asked={**manifest.asked, **({"runs": runs} if runs else {})},
        )

    manifest = manifest_of(name)
    out = out or default_folder(Path("out") / name, manifest)
    if shard:
        # Shards may run at the same time, and one process has a folder for itself.
        out = beside(out, *parse_part(shard))
    results: list[papers.Reproduction] = []
    with (
        Folder(out, manifest.identity) as folder,
        dask_executor(dask) as executor,
        opened_shard(store, shard) as given,
        opened_store(given) if given else contextlib.nullcontext() as kept,
        contextlib.ExitStack() as begun,
    ):
        if kept:
            names = [paper.name for paper in chosen]
            begun.enter_context(kept.doing(what="reproduce", papers=names, figures=parts, full=full))
        for paper, of_paper, plan in todo:
            if plan.left_out:
                left = ", ".join(workload.name for workload in plan.left_out)
                of = f"{paper.name}: " if everything else ""
                said = f"{of}left out: {left} (needs real traces: --traces FOLDER)"
                click.echo(said + ("" if as_json or everything else "\n"), err=as_json or everything)
            with (
                Folder(out / paper.name, within=folder) if everything else contextlib.nullcontext(folder) as of_its_own,
                progress_bars(no_progress, f"runs of {paper.name}" if everything else "runs") as report,
                following.following(of_its_own.path / following.NAME, "reproduce", paper.name, report) as followed,
            ):
                result = papers.reproduce(
                    paper,
                    of_paper,
                    plan,
                    of_its_own,
                    traces=traces,
                    jobs=executor or jobs or default_jobs(),
                    store=kept,
                    progress=followed,
                )
                if result.interrupted and result.figures:
                    followed.ended(following.INTERRUPTED)
                elif result.interrupted:
                    followed.forget()
                if everything and result.figures:
                    of_its_own.sign(of_simulations(result), interrupted=result.interrupted)
            if result.figures:
                results.append(result)
            if result.interrupted:
                break
        if not results:
            raise click.Abort
        interrupted = results[-1].interrupted or len(results) < len(todo)
        if everything:
            from softsense.papers.pages import of_reproductions

            every = {result.paper.name: result.claims for result in results}
            folder.write("claims.json", json.dumps(every, indent=2, allow_nan=False) + "\n")
            if across := {result.paper.name: result.elsewhere for result in results if result.elsewhere}:
                folder.write("across.json", json.dumps(across, indent=2, allow_nan=False) + "\n")
            folder.write("report.md", papers.overview(results))
            folder.write("report.html", of_reproductions(results))
        folder.sign(manifest if everything else of_simulations(results[0]), interrupted=interrupted)
        written = folder.written()
    if as_json:
        each = [
            {
                "paper": result.paper.name,
                "interrupted": result.interrupted,
                "claims": result.claims,
                "counted": papers.counted(result.claims),
                "across": result.elsewhere or None,
            }
            for result in results
        ]
        told = {"papers": each, "interrupted": interrupted} if everything else each[0]
        click.echo(json.dumps({**told, "written": [str(path) for path in written]}, indent=2, allow_nan=False))
    elif everything:
        click.echo(papers.summary_table(results))
        own = (path for path in written if path.parent == out)
        click.echo(f"\nwrote {', '.join(map(str, own))}, and a folder for each paper")
    else:
        click.echo(papers.table(results[0]))
        click.echo(f"\nwrote {', '.join(map(str, written))}")
    if interrupted:
        click.echo("interrupted: the results that are shown and written cover the figures that were complete", err=True)
    return INTERRUPTED if interrupted else 0
