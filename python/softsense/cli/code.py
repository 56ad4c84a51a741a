"""`softsense code`: error-correcting codes, shipped or in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import softsense
from softsense import Code, CodeError, ConfigError, Interrupted
from softsense.background import in_background
from softsense.cli.exits import INTERRUPTED
from softsense.cli.measuring import measuring
from softsense.cli.options import (
    code_argument,
    cycles_option,
    force_option,
    no_progress_option,
    redundant_checks_option,
    worker_options,
)
from softsense.cli.output import check_picture, check_suffix, check_writable, print_list, progress_bars
from softsense.files import replacing


@click.group("code")
def code_group() -> None:
    """List, show, convert and measure error-correcting codes.

    A code is the name of a shipped one, any BCH code in the form bch:m=15,t=57,k=31912, a code of the literature
    (literature:margulis-2640, literature:ethernet-2048), or the file of an LDPC code: alist, or a base matrix (.qc).
    """


@code_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def code_list(as_json: bool) -> None:
    """List the shipped codes."""
    from softsense import tables

    rows = []
    for name, description in Code.entries():
        code = Code.open(name)
        rows.append(
            {
                "name": name,
                "kind": code.kind,
                "codeword_bits": code.codeword_bits,
                "data_bits": code.data_bits,
                "rate": code.rate,
                "description": description,
            }
        )
    print_list(rows, as_json, tables.codes)


@code_group.command("show")
@code_argument
@redundant_checks_option
@cycles_option
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: base matrix, Tanner graph.")
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def code_show(name: str, redundant_checks: bool, cycles: bool, picture: Path | None, as_json: bool) -> None:
    """Show what CODE is and what it can do."""
    from softsense import codes, tables

    code = Code.open(name, redundant_checks)
    drawn = None
    if picture:
        check_picture(picture)
        from softsense import plots

        drawn = plots.draw_code(code)
    facts = in_background(lambda: codes.describe(code, cycles=cycles or None))
    if drawn and picture:
        with replacing(picture) as path:
            drawn.savefig(path)
    click.echo(json.dumps(facts, indent=2) if as_json else tables.describe(tables.code(facts)))
    if picture and not as_json:
        click.echo(f"wrote {picture}")


@code_group.command("hardware")
@code_argument
@redundant_checks_option
@click.option("--node-nm", type=float, default=28.0, show_default=True, help="Technology node, 28 to 130 nm.")
@click.option("--clock-mhz", type=float, help="Clock; default: 400 (LDPC) or 200 (BCH).")
@click.option("--iterations", type=int, default=5, show_default=True, help="Of an LDPC decoder.")
@click.option("--checks-per-cycle", type=int, help="Of an LDPC decoder; default: 64.")
@click.option("--message-bits", type=int, help="Of an LDPC decoder; default: 5.")
@click.option("--syndrome-bits-per-cycle", type=int, help="Of a BCH decoder; default: 8.")
@click.option("--key-equation-multipliers", type=int, help="Of a BCH decoder; default: 16.")
@click.option("--search-bits-per-cycle", type=int, help="Of a BCH decoder; default: 8.")
@click.option("--encoder-bits-per-cycle", type=int, default=32, show_default=True, help="Data that an encoder takes.")
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def code_hardware(name: str, redundant_checks: bool, as_json: bool, **circuit: Any) -> None:
    """Show what a decoder and an encoder of CODE take as circuits: gates, area, cycles, energy."""
    from softsense import codes, tables

    try:
        facts = codes.hardware(Code.open(name, redundant_checks), **circuit)
    except ConfigError as error:
        # Named as a field; here it is an option.
        field, _, rest = str(error).partition(": ")
        raise ConfigError(f"--{field.replace('_', '-')}: {rest}") from None
    click.echo(json.dumps(facts, indent=2) if as_json else tables.describe(tables.hardware(facts)))


@code_group.command("export")
@code_argument
@click.argument("to", metavar="FILE", type=click.Path(path_type=Path))
@redundant_checks_option
@force_option
def code_export(name: str, to: Path, redundant_checks: bool, force: bool) -> None:
    """Write the matrix of LDPC code CODE to FILE: its base matrix (.qc) or all of it (.alist)."""
    check_suffix(to, ".alist", ".qc")
    _write_code(Code.open(name, redundant_checks), to, force)


@code_group.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", "to", type=click.Path(path_type=Path), metavar="FILE", help="Also write it: .alist or .qc.")
@redundant_checks_option
@cycles_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def code_import(file: Path, to: Path | None, redundant_checks: bool, cycles: bool, force: bool, as_json: bool) -> None:
    """Read and check the LDPC code in FILE, say what it is and how it encodes, and convert it."""
    from softsense import codes, tables

    if to:
        check_suffix(to, ".alist", ".qc")
        check_writable(to, force)
    named = any(str(file) == name for name, _ in Code.entries()) or str(file).startswith("bch:")
    # With a folder in front it is a file whatever its name.
    code = Code.open(f"./{file}" if named else file, redundant_checks)
    facts = in_background(lambda: codes.describe(code, thresholds=False, cycles=cycles or None))
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        click.echo(f"ok: {file}")
        click.echo(tables.describe(tables.code(facts), indent="  "))
    if to:
        _write_code(code, to, force, quiet=as_json)


def _write_code(code: Code, to: Path, force: bool, quiet: bool = False) -> None:
    text = code.to_qc() if to.suffix == ".qc" else code.to_alist()
    check_writable(to, force)
    with replacing(to) as path:
        path.write_text(text, encoding="utf-8")
    if not quiet:
        click.echo(f"wrote {to}")


@code_group.command("bench")
@code_argument
@click.option(
    "--channel",
    metavar="CHANNEL",
    help="bsc:P (error rate), errors:W (errors a word), awgn:EBN0_DB, or gaussian:RBER:LEVELS.",
)
@click.option("--errors", type=click.IntRange(min=0), help="That many errors in each word, instead of --channel.")
@click.option(
    "--decoder",
    default="min-sum",
    metavar="NAME",
    help="Of LDPC codes: min-sum (default), min-sum-8bit[:LARGEST], min-sum-16bit, bit-flipping, or "
    "[layered-|flooding-]RULE[-f32|-f64] with the rules sum-product, min-sum[:FACTOR] and offset-min-sum[:OFFSET].",
)
@click.option("--iterations", default=20, type=click.IntRange(1, 10**6), help="Of LDPC codes, at most; default: 20.")
@click.option("--threads", default=1, type=click.IntRange(1, 1024), help="Threads that decode; default: 1.")
@click.option("--seconds", type=float, help="How long; default: 10.")
@click.option("--frames", type=click.IntRange(1, 2**63 - 1), help="How many frames, instead of --seconds.")
@click.option("--seed", default=1, type=click.IntRange(0, 2**64 - 1), help="Of data and noise; default: 1.")
@redundant_checks_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@no_progress_option
def code_bench(
    name: str,
    channel: str | None,
    errors: int | None,
    decoder: str,
    seconds: float | None,
    frames: int | None,
    redundant_checks: bool,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """Measure speed and error rate of CODE: random data, encoded, sent through a channel, decoded and compared."""
    from softsense import tables

    if (channel is None) == (errors is None):
        found = "neither --channel nor --errors" if channel is None else "both --channel and --errors"
        raise CodeError(f"--channel: found {found}, expected one, such as --channel bsc:0.0075")
    if seconds is not None and frames is not None:
        raise CodeError("--frames: found both --seconds and --frames, expected one")
    code = Code.open(name, redundant_checks)
    interrupted = False
    try:
        with progress_bars(no_progress, "frames") as report:
            result = softsense.bench(
                code,
                f"errors:{errors}" if channel is None else channel,
                decoder=decoder,
                seconds=10.0 if seconds is None else seconds,
                frames=frames,
                progress=lambda fraction, done: report(f"decoding {name}", done, fraction),
                **options,
            )
    except Interrupted as interruption:
        interrupted, result = True, interruption.result
    click.echo(json.dumps(result, indent=2, allow_nan=False) if as_json else tables.describe(tables.bench(result)))
    if interrupted:
        click.echo("interrupted: what is shown covers what had been decoded", err=True)
    return INTERRUPTED if interrupted else 0


@code_group.command("traps")
@code_argument
@click.option(
    "--bits",
    "most_bits",
    default=8,
    type=click.IntRange(0, 14),
    help="Search for sets of up to so many bits; default: 8; 0: no search.",
)
@click.option(
    "--violated",
    "most_violated",
    type=click.IntRange(0, 2**16),
    help="List sets that violate up to so many checks; default: all.",
)
@click.option("--impulses", default=0, type=click.IntRange(0, 2**32), help="Also decode so many impulses; default: 0.")
@click.option(
    "--impulse-decoder",
    default="gallager",
    metavar="NAME",
    help="By gallager (default) or any decoder of `code bench`.",
)
@click.option(
    "--decoders",
    default="",
    metavar="NAMES",
    help="Also measure how often these fail on the sets, such as min-sum,min-sum-8bit.",
)
@click.option("--rber", default=0.0, type=click.FloatRange(0, 0.5), help="Of the bits elsewhere, for that; default: 0.")
@click.option(
    "--frames", default=1000, type=click.IntRange(1, 2**40), help="Frames of each row of that; default: 1000."
)
@click.option("--iterations", default=20, type=click.IntRange(1, 10**6), help="Of decoders, at most; default: 20.")
@click.option("--seed", default=1, type=click.IntRange(0, 2**63 - 1), help="Of impulses, data and noise; default: 1.")
@worker_options
@click.option("--out", "to", type=click.Path(path_type=Path), metavar="FILE", help="Write the sets there, for `fer`.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the smallest set's graph.")
@redundant_checks_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@no_progress_option
def code_traps(
    name: str,
    decoders: str,
    rber: float,
    frames: int,
    to: Path | None,
    picture: Path | None,
    force: bool,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Find the small absorbing sets of LDPC code CODE, which make its error floor.

    Sets of bits whose errors hold one another in place: every bit has more satisfied checks than violated ones.
    """
    from softsense import tables
    from softsense import traps as finding
    from softsense.store import opened_store

    if picture:
        check_picture(picture)
    if to:
        check_suffix(to, ".toml")
        check_writable(to, force)
    names = [word.strip() for word in decoders.split(",") if word.strip()]
    with measuring(name, no_progress, {**options, "what": "units"}) as (code, running):
        for decoder in names:
            code.decoder(decoder)
        if not 0 <= rber <= 0.5:  # NaN is in every range of click's.
            raise ConfigError(f"--rber: found {rber}, expected 0 to 0.5")
        shared = {key: running[key] for key in ("iterations", "seed", "workers", "progress")}
        with opened_store(running.pop("store")) as store:
            try:
                found = finding.find_traps(code, store=store, **running)
                failing = finding.failures_on_sets(found, names, rber=rber, frames=frames, store=store, **shared)
            except Interrupted:
                raise click.Abort from None
    document = found.to_dict() | {"decoders": failing}
    if to:
        found.save(to)
    drawn = picture if picture and found.list else None
    if drawn:
        with replacing(drawn) as path:
            found.plot().savefig(path)
    click.echo(json.dumps(document, indent=2) if as_json else tables.traps(document))
    for written in (to, drawn):
        if written and not as_json:
            click.echo(f"\nwrote {written}")
