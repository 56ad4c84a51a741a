"""`softsense code conform`: decoders of users' own, compared with the one that ships."""

from __future__ import annotations

import json

import click

from softsense import Code, CodeError, Interrupted
from softsense.cli.exits import INTERRUPTED
from softsense.cli.options import example, no_progress_option
from softsense.cli.output import progress_bars

_DIFFERS = 1


@click.command("conform", epilog=example("softsense code conform examples/numpy_decoder.py:Decoder"))
@click.argument("backend", metavar="NAME")
@click.option(
    "--decoder",
    "algorithms",
    default="min-sum,min-sum-8bit,min-sum-16bit",
    metavar="NAMES",
    help="Algorithms to compare; default: min-sum,min-sum-8bit,min-sum-16bit. Also min-sum-8bit:LARGEST and "
    "rcq:BITS[:POSTERIOR].",
)
@click.option(
    "--code",
    "codes",
    multiple=True,
    metavar="CODE",
    help="Decode frames of this code, instead of those of the suite; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result, with all differences, as one JSON document.")
@no_progress_option
def code_conform(backend: str, algorithms: str, codes: tuple[str, ...], as_json: bool, no_progress: bool) -> int:
    """Compare decoder NAME with the one that ships, bit for bit.

    NAME is a decoder of your own, FILE.py:CLASS or MODULE:CLASS (docs/accelerators.md). It and the CPU decode every
    case of a fixed list of codes, limits of iterations and frames. The exit code is 1 if any case differs or is
    refused.
    """
    from softsense import tables
    from softsense.conformance import conform

    names = [word.strip() for word in algorithms.split(",") if word.strip()]
    if not names:
        raise CodeError("--decoder: found no name, expected at least one algorithm, such as min-sum")
    interrupted = False
    with progress_bars(no_progress, "frames") as report:
        try:
            opened = [Code.open(name, True) for name in codes] or None
            found = conform(backend, codes=opened, algorithms=names, progress=report)
        except Interrupted as interruption:
            interrupted, found = True, interruption.result
    if as_json:
        click.echo(json.dumps(found.to_dict(), indent=2))
    else:
        click.echo(tables.describe(tables.conformance(found)))
        if raised := next((each.traceback for each in found.differences if each.traceback), None):
            click.echo(f"\n{raised}", nl=False, err=True)
    if interrupted:
        click.echo("interrupted: the results that are shown cover the frames that were decoded until then", err=True)
        return INTERRUPTED
    return 0 if found.conforms else _DIFFERS
