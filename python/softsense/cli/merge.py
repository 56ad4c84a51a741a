"""`softsense merge`: putting the parts of a campaign or a sweep together."""

from __future__ import annotations

import json
from pathlib import Path

import click

import softsense
from softsense.cli.options import example, no_progress_option
from softsense.cli.output import progress_bars
from softsense.formats import listed

_MOST_NAMED = 20


@click.command("merge", epilog=example("softsense merge flash.fer flash-*-of-64.fer"))
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("sources", metavar="SHARD...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print what was merged as one JSON document.")
@no_progress_option
def merge_command(out: Path, sources: tuple[Path, ...], as_json: bool, no_progress: bool) -> None:
    """Add up SHARDs of a campaign or a sweep in OUT.

    OUT is the --store of all shards, or the folder of a sweep; it is made if there is none. Each SHARD is a store, or a
    folder of points, of any command with --shard. SHARDs stay unchanged. They may come in any order, unfinished, or
    repeatedly: nothing counts twice. Shards of another code, decoder, version or plan are refused.

    The command of the shards, without --shard, then measures what is still missing and ends with the result.
    """
    with progress_bars(no_progress, "shards") as report:
        merged = softsense.merge(out, sources, report)
    if as_json:
        click.echo(json.dumps(merged.to_dict(), indent=2))
        return
    unit, results = merged.unit, merged.results
    also = f", and {results:,} new result{'s' * (results > 1)} of other work" if results else ""
    click.echo(f"merged {merged.sources} into {out}: {merged.held:,} {unit}, {merged.new:,} of them new{also}")
    if merged.twice:
        click.echo(f"{merged.twice:,} {unit} were in several stores, and count once")
    if merged.left_out:
        click.echo(
            f"{merged.left_out:,} {unit} are left out, as their ranges overlap others in part: the command of the "
            "measurement counts them again"
        )
    for said, shards in (("missing", merged.missing), ("unfinished", merged.unfinished)):
        if shards:
            named = [str(shard) for shard in shards[:_MOST_NAMED]]
            more = [f"{len(shards) - _MOST_NAMED:,} more"] * (len(shards) > _MOST_NAMED)
            click.echo(f"{said}: shard {listed(named + more)} of {merged.parts}")
