"""`softsense fairness`: how much the tenants of one device slow one another down."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import click

import softsense
from softsense import Interrupted
from softsense.cli.exits import INTERRUPTED
from softsense.cli.measuring import config_rows
from softsense.cli.options import (
    config_argument,
    config_options,
    example,
    folder_option,
    jobs_option,
    no_progress_option,
)
from softsense.cli.output import command_line, progress_bars, width
from softsense.tenants import to_be_compared


@click.command("fairness", epilog=example("softsense fairness tenants.toml"))
@config_argument
@folder_option
@config_options
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@no_progress_option
def fairness_command(
    config: Path,
    out: Path | None,
    overrides: tuple[str, ...],
    seed: int | None,
    jobs: int | None,
    as_json: bool,
    no_progress: bool,
) -> int:
    """Measure how fair a device is to its tenants.

    Simulates the tenants of CONFIG together and each of them alone, and shows how much sharing the device slows each
    one down.
    """
    from softsense import tables
    from softsense.folders import Folder
    from softsense.manifests import Manifest, of_config

    resolved = softsense.load_config(config, overrides, seed=seed)
    to_be_compared(resolved)
    first = resolved.fields.seed
    manifest = Manifest("fairness", command_line(), of_config(config, resolved), seeds=range(first, first + 1))
    description = tables.describe(config_rows(resolved, True))
    click.echo(description + ("" if as_json else "\n"), err=as_json)
    # A folder that cannot be written is an error before anything is simulated.
    with Folder(out) if out else contextlib.nullcontext() as folder:
        interrupted = False
        try:
            with progress_bars(no_progress) as report:
                found = softsense.fairness(resolved, jobs=jobs, progress=report)
        except Interrupted as interruption:
            interrupted, found = True, interruption.result
            if found is None:
                raise
        summary = json.dumps(found.to_dict(), indent=2, allow_nan=False)
        click.echo(summary if as_json else tables.fairness(found, width()))
        if folder:
            folder.write("config.toml", resolved.to_toml())
            folder.write("summary.json", summary + "\n")
            folder.write("table.txt", f"{description}\n\n{tables.fairness(found)}\n")
            folder.sign(manifest, interrupted=interrupted)
            if not as_json:
                click.echo(f"\nwrote {', '.join(str(path) for path in folder.written())}")
    if interrupted:
        click.echo(
            "interrupted: the results that are shown and written cover the requests that were simulated until then",
            err=True,
        )
    return INTERRUPTED if interrupted else 0
