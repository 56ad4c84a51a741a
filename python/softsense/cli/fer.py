"""`softsense fer`: frame error rates of codes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import softsense
from softsense import Interrupted
from softsense.cli.completing import complete_cells, named_cells
from softsense.cli.exits import INTERRUPTED
from softsense.cli.measuring import asked, measuring_codes
from softsense.cli.options import (
    codes_argument,
    example,
    folder_option,
    no_progress_option,
    picture_option,
    retention_list_option,
    sampling_options,
)
from softsense.cli.output import check_picture, command_line, save_picture
from softsense.cli.ranges import Whole

if TYPE_CHECKING:
    from softsense import CodeComparison, FerResult


@click.command("fer", epilog=example("softsense fer flash-8/9 --relative-error 0.3 --store flash.fer"))
@codes_argument
@sampling_options
@click.option(
    "--floor-down-to",
    type=float,
    metavar="RATE",
    help="Sample the error floor until it is known or below this rate; default: a tenth of the "
    "frame error rate or of --down-to.",
)
@click.option(
    "--judge",
    default=0,
    type=Whole(0, 1000),
    metavar="RUNS",
    help="Check rates by this number of splitting runs: all rates of level 1, and the lowest of "
    "each deeper level; default: 0.",
)
@click.option(
    "--cells",
    metavar="NAME",
    shell_complete=complete_cells,
    callback=named_cells,
    help="Read these cells instead of using --rber: a shipped model or a TOML file.",
)
@click.option(
    "--pe-cycles",
    "--pe",
    "pe_cycles",
    default="",
    metavar="LIST",
    help="Program/erase cycles of the cells, such as 3000,5000.",
)
@retention_list_option("")
@click.option(
    "--page",
    default="mean",
    metavar="PAGE",
    help="Page that is read, by name or number, or mean (default) of all pages.",
)
@click.option(
    "--llrs-for", metavar="PE:DAYS", help="Age for which references and LLRs are made; default: the age of the cells."
)
@picture_option("the curves")
@folder_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@no_progress_option
def fer(
    names: list[str],
    llrs_for: str | None,
    picture: Path | None,
    out: Path | None,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """Measure frame error rates of CODEs, down to 1e-15.

    Rates are measured at raw bit error rates (--rber), or for flash cells at an age (--cells). Rates too low to be
    counted directly are computed from frames with given numbers of errors. Nothing is extrapolated: failures that were
    not observed are bounded, and the bound is shown separately.

    Several codes, or several decoders (--decoder with commas), are measured on the same channel, and come in one table
    and one picture.
    """
    from softsense import following, tables
    from softsense.code_comparison import CodeComparison
    from softsense.folders import Folder
    from softsense.manifests import Manifest

    if picture:
        check_picture(picture)
    if llrs_for is not None:
        from softsense.campaign import parse_age

        options["llrs_for"] = parse_age(llrs_for)
    decoders = [word.strip() for word in options.pop("decoder").split(",")]
    several = len(names) > 1 or len(decoders) > 1
    told = {"codes": names, "decoders": decoders} if several else {"code": names[0], "decoder": decoders[0]}
    what = {**told, "llrs_for": llrs_for} | asked(options)
    manifest = Manifest("fer", command_line(), seeds=[options["seed"]], asked=what)
    # A folder that cannot be written is an error before anything is measured.
    with Folder(out) if out else contextlib.nullcontext() as folder:
        with measuring_codes(names, no_progress, options) as (codes, running):
            interrupted = False
            result: FerResult | CodeComparison
            try:
                if several:
                    result = softsense.compare_codes(codes, decoders=decoders, **running)
                else:
                    result = softsense.measure_fer(codes[0], decoder=decoders[0], **running)
            except Interrupted as interruption:
                interrupted, result = True, interruption.result
                running["progress"].ended(following.INTERRUPTED)
                if result is None:
                    raise click.Abort from None
        document = result.to_dict()
        text = json.dumps(document, indent=2, allow_nan=False)
        table = tables.compared(result) if isinstance(result, CodeComparison) else tables.fer(document)
        click.echo(text if as_json else table)
        if folder:
            folder.write("fer.json", text + "\n")
            folder.write("table.txt", table + "\n")
            folder.write("report.html", result.report())
            folder.sign(manifest, interrupted=interrupted)
            if not as_json:
                click.echo(f"\nwrote {', '.join(map(str, folder.written()))}")
    if picture:
        save_picture(picture, result.plot(), as_json)
    if interrupted:
        click.echo("interrupted: the results that are shown cover the frames that were decoded until then", err=True)
    return INTERRUPTED if interrupted else 0
