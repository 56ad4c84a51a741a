"""`softsense code`: error-correcting codes, shipped or in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import softsense
from softsense import Code, CodeError, ConfigError, Interrupted
from softsense._core import read_text
from softsense.background import in_background
from softsense.cli.conform import code_conform
from softsense.cli.exits import INTERRUPTED
from softsense.cli.hardware import code_hardware
from softsense.cli.measuring import dask_executor, measuring, opened_shard
from softsense.cli.options import (
    LEVELS,
    code_argument,
    cycles_option,
    example,
    force_option,
    no_progress_option,
    picture_option,
    redundant_checks_option,
    worker_options,
)
from softsense.cli.output import check_picture, check_suffix, check_writable, print_list, progress_bars, save_picture
from softsense.cli.ranges import Real, Whole, whole_numbers
from softsense.cli.vectors import code_vectors
from softsense.files import replacing


@click.group("code")
def code_group() -> None:
    """List, show, convert and measure error-correcting codes.

    CODE is one of: a shipped code (`softsense code list`); any BCH code, written bch:m=15,t=57,k=31912; a code of the
    literature (literature:margulis-2640, literature:ethernet-2048); or the file of an LDPC code, an alist or a base
    matrix (.qc).
    """


code_group.add_command(code_conform)
code_group.add_command(code_hardware)
code_group.add_command(code_vectors)


@code_group.command("list", epilog=example("softsense code list"))
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


@code_group.command("show", epilog=example("softsense code show flash-8/9"))
@code_argument
@redundant_checks_option
@cycles_option
@picture_option("the base matrix and the Tanner graph")
@click.option("--json", "as_json", is_flag=True, help="Print all facts as one JSON document.")
def code_show(name: str, redundant_checks: bool, cycles: bool, picture: Path | None, as_json: bool) -> None:
    """Show the properties of CODE."""
    from softsense import codes, tables

    code = Code.open(name, redundant_checks)
    drawn = None
    if picture:
        check_picture(picture)
        from softsense import plots

        drawn = plots.draw_code(code)
    facts = in_background(lambda: codes.describe(code, cycles=cycles or None))
    click.echo(json.dumps(facts, indent=2) if as_json else tables.describe(tables.code(facts)))
    if picture and drawn:
        save_picture(picture, drawn, as_json)


@code_group.command("export", epilog=example("softsense code export flash-8/9 flash.alist"))
@code_argument
@click.argument("to", metavar="FILE", type=click.Path(path_type=Path))
@redundant_checks_option
@force_option
def code_export(name: str, to: Path, redundant_checks: bool, force: bool) -> None:
    """Write the matrix of LDPC code CODE to FILE.

    The suffix of FILE chooses the format: .qc for the base matrix, .alist for the whole matrix.
    """
    check_suffix(to, ".alist", ".qc")
    _write_code(Code.open(name, redundant_checks), to, force)


@code_group.command("import", epilog=example("softsense code import my.alist --out my.qc"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out", "to", type=click.Path(path_type=Path), metavar="FILE", help="Also write the code: .alist or .qc."
)
@redundant_checks_option
@cycles_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print all facts as one JSON document.")
def code_import(file: Path, to: Path | None, redundant_checks: bool, cycles: bool, force: bool, as_json: bool) -> None:
    """Check the LDPC code in FILE, and convert it.

    Shows the properties of the code and how it encodes; --out converts it.
    """
    from softsense import codes, tables

    if to:
        check_suffix(to, ".alist", ".qc")
        check_writable(to, force)
    text = read_text(file)
    code, order = in_background(lambda: Code.parse_in_any_order(str(file), text, redundant_checks))
    facts = in_background(lambda: codes.describe(code, thresholds=False, cycles=cycles or None))
    facts["columns_from"] = order
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


@code_group.command("bench", epilog=example("softsense code bench flash-8/9 --channel bsc:0.0075"))
@code_argument
@click.option(
    "--channel",
    metavar="CHANNEL",
    help="Channel: bsc:P (bit error rate), errors:W (errors per word), awgn:EBN0_DB or gaussian:RBER:LEVELS.",
)
@click.option("--errors", type=Whole(0), help="Bit errors per word, the same as --channel errors:W.")
@click.option(
    "--decoder",
    default="min-sum",
    metavar="NAME",
    help="Decoder of LDPC codes: min-sum (default), min-sum-8bit[:LARGEST], min-sum-16bit, "
    "rcq:BITS[:POSTERIOR], bit-flipping, or [layered-|flooding-]RULE[-f32|-f64] with the rules sum-product, "
    "min-sum[:FACTOR] and offset-min-sum[:OFFSET].",
)
@click.option("--iterations", default=20, type=Whole(1, 10**6), help="Most iterations of an LDPC decoder; default: 20.")
@click.option(
    "--workers", "--threads", "threads", default=1, type=Whole(1, 1024), help="Threads that decode; default: 1."
)
@click.option("--seconds", type=float, help="How long to measure, in seconds; default: 10.")
@click.option("--frames", type=Whole(1, 2**63 - 1), help="Number of frames to measure, instead of --seconds.")
@click.option("--seed", default=1, type=Whole(0, 2**64 - 1), help="Seed of data and noise; default: 1.")
@click.option(
    "--backend",
    metavar="NAME",
    help="Decode the same frames with a decoder of your own, FILE.py:CLASS or MODULE:CLASS; see `code conform`.",
)
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
    """Measure speed and error rate of CODE's decoder.

    Random data is encoded, sent through a channel, decoded, and compared with the original.
    """
    from softsense import tables

    if (channel is None) == (errors is None):
        found = "neither --channel nor --errors" if channel is None else "both --channel and --errors"
        raise CodeError(f"--channel: found {found}, expected exactly one channel, such as --channel bsc:0.0075")
    if seconds is not None and frames is not None:
        raise CodeError("--frames: found both --seconds and --frames, expected only one of the two")
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
    # A matrix from a file may well have circulants of its own; codes to learn with have none.
    is_file = code.name not in dict(Code.entries())
    if is_file and decoder == "min-sum" and result["decoder"].startswith("layered-"):
        slow = "is not made of circulants, which the fast decoders need"
        click.echo(
            f"note: {code.name} {slow}: {result['decoder']} is some hundred times slower than a decoder of circulants",
            err=True,
        )
    if interrupted:
        click.echo("interrupted: the results that are shown cover the frames that were decoded until then", err=True)
    return INTERRUPTED if interrupted else 0


@code_group.command("traps", epilog=example("softsense code traps flash-8/9 --bits 6 --out traps.toml"))
@code_argument
@click.option(
    "--bits",
    "most_bits",
    default=8,
    type=Whole(0, 14),
    help="Largest absorbing sets to search for, in bits, at most 14; 0: no search; default: 8.",
)
@click.option(
    "--violated",
    "most_violated",
    type=Whole(0, 2**16),
    help="List only sets that violate at most this number of checks; default: all.",
)
@click.option(
    "--impulses",
    default=0,
    type=Whole(0, 2**32),
    help="Also search by decoding this number of impulses; default: 0.",
)
@click.option(
    "--impulse-decoder",
    default="gallager",
    metavar="NAME",
    help="Decoder for impulses: gallager (default) or any of `code bench`.",
)
@click.option(
    "--decoders",
    default="",
    metavar="NAMES",
    help="Also measure the failure rates of these decoders on the sets, such as min-sum,min-sum-8bit.",
)
@click.option(
    "--rber",
    default=0.0,
    type=Real(0, 0.5),
    help="Raw bit error rate outside of the sets, for --decoders; default: 0.",
)
@click.option(
    "--frames",
    default=1000,
    type=Whole(1, 2**40),
    help="Frames for each set and decoder, for --decoders; default: 1000.",
)
@click.option("--iterations", default=20, type=Whole(1, 10**6), help="Most iterations of a decoder; default: 20.")
@click.option("--seed", default=1, type=Whole(0, 2**64 - 1), help="Seed of impulses, data and noise; default: 1.")
@worker_options
@click.option(
    "--out",
    "to",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the sets to this .toml file, for `fer --traps`.",
)
@picture_option("the Tanner graph of the smallest set")
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
    """Find the small absorbing sets of LDPC code CODE.

    An absorbing set is a set of bits whose errors hold one another in place: every bit of it has more satisfied checks
    than violated ones. Small ones make the error floor of the code.
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
        if not 0 <= rber <= 0.5:  # Click accepts NaN in every range.
            raise ConfigError(f"--rber: found {rber}, expected 0 to 0.5")
        shared = {key: running[key] for key in ("iterations", "seed", "workers", "progress")}
        asked = {key: value for key, value in running.items() if key not in ("workers", "progress", "store")}
        asked |= {"code": name, "matrix": finding.matrix_identity(code), "decoders": names, "rber": rber}
        with (
            opened_store(running.pop("store")) as store,
            store.doing(what="traps", frames=frames, **asked),
        ):
            try:
                found = finding.find_traps(code, store=store, **running)
                failing = finding.failures_on_sets(found, names, rber=rber, frames=frames, store=store, **shared)
            except Interrupted:
                raise click.Abort from None
    document = found.to_dict() | {"decoders": failing}
    if to:
        found.save(to)
    click.echo(json.dumps(document, indent=2) if as_json else tables.traps(document))
    if to and not as_json:
        click.echo(f"\nwrote {to}")
    if picture and found.list:
        save_picture(picture, found.plot(), as_json)


@code_group.command(
    "design", epilog=example("softsense code design --data-bytes 4096 --parity-bytes 512 --fer 1e-10 --out mine.qc")
)
@click.option("--data-bytes", type=Whole(1, 2**40), help="Data bytes of a codeword.")
@click.option("--data-bits", type=Whole(1, 2**40), help="Data bits of a codeword, instead of --data-bytes.")
@click.option(
    "--parity-bytes", type=Whole(1, 2**40), help="Parity bytes of a codeword, such as the spare area of a page."
)
@click.option("--parity-bits", type=Whole(1, 2**40), help="Parity bits of a codeword, instead of --parity-bytes.")
@click.option("--rate", type=Real(0, 1), help="Code rate, such as 0.89, instead of parity bytes or bits.")
@click.option("--fer", default=1e-10, type=Real(1e-15, 0.1), help="Frame error rate to aim at; default: 1e-10.")
@click.option("--level", default=1, type=LEVELS, help="Read level; default: 1, hard decision.")
@click.option(
    "--shares",
    metavar="LIST",
    help="Share of reads that each shallower level may fail, such as 1:0.1,3:0.001; default: any.",
)
@click.option(
    "--decoder",
    default="min-sum",
    metavar="NAME",
    help="Decoder that candidates are measured with, as in `code bench`, such as rcq:4 for 4-bit messages.",
)
@click.option("--iterations", default=20, type=Whole(1, 1000), help="Most iterations of the decoder; default: 20.")
@click.option(
    "--circulants",
    metavar="LIST",
    help="Circulant sizes that the hardware allows, such as 256,512; default: the two largest that leave six "
    "block rows.",
)
@click.option("--lightest", default=3, type=Whole(3, 16), help="Least column weight; default: 3.")
@click.option("--heaviest", default=8, type=Whole(3, 16), help="Largest column weight; default: 8.")
@click.option(
    "--families",
    default="regular,two_weights,three_weights",
    metavar="LIST",
    help="Kinds of codes: regular, two_weights, three_weights, punctured, coupled; default: the first three.",
)
@click.option("--profiles", default=4, type=Whole(1, 100), help="Number of column-weight lists to lift; default: 4.")
@click.option("--seeds", default=4, type=Whole(1, 1000), help="Matrices for each of them; default: 4.")
@click.option("--measured", default=3, type=Whole(0, 100), help="Number of candidates to measure; default: 3.")
@click.option(
    "--bits", "most_bits", default=6, type=Whole(3, 10), help="Largest absorbing sets to search for; default: 6."
)
@click.option(
    "--frames", default=20_000, type=Whole(1, 2**40), help="Most frames for each measured point; default: 20,000."
)
@click.option("--seed", default=1, type=Whole(0, 2**64 - 1), help="Seed of matrices, data and noise; default: 1.")
@worker_options
@click.option(
    "--out", "to", type=click.Path(path_type=Path), metavar="FILE", help="Write the best matrix to this .qc file."
)
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@no_progress_option
def code_design_command(
    data_bytes: int | None,
    data_bits: int | None,
    parity_bytes: int | None,
    parity_bits: int | None,
    rate: float | None,
    shares: str | None,
    circulants: str | None,
    families: str,
    workers: int | None,
    dask: str | None,
    to: Path | None,
    force: bool,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Design an LDPC code for a page, a decoder and a failure rate.

    Density evolution of the decoder ranks column weights. The best are made into matrices with several seeds. Small
    absorbing sets are searched for in these, and the best few are measured. --out writes the best one.
    """
    from softsense import following, tables
    from softsense.code_design import parity_of_rate, parse_shares

    if to:
        check_suffix(to, ".qc")
        check_writable(to, force)
    data = _bits("--data-bytes", data_bytes, data_bits)
    if rate is None:
        parity = _bits("--parity-bytes", parity_bytes, parity_bits)
    elif parity_bytes is None and parity_bits is None:
        parity = parity_of_rate(data, rate)
    else:
        raise CodeError(
            "--rate: found together with parity bytes or bits, expected only one of the two: the parity follows from "
            "the rate"
        )
    sizes = None if circulants is None else whole_numbers("--circulants", circulants, "256,512")
    chosen = [word.strip().lower().replace("-", "_") for word in families.split(",") if word.strip()]
    with (
        opened_shard(options.pop("store"), options.pop("shard")) as store,
        dask_executor(dask) as executor,
        progress_bars(no_progress, "units") as report,
        following.following(following.beside(store), "code design", f"{data}+{parity}", report) as followed,
    ):
        try:
            found = softsense.design_code(
                data,
                parity,
                shares=parse_shares(shares or ""),
                circulant_sizes=sizes,
                families=chosen,
                workers=executor or workers,
                store=store,
                progress=followed,
                **options,
            )
        except Interrupted:
            raise click.Abort from None
    if to:
        found.save(to)
    click.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else tables.code_design(found))
    if to and not as_json:
        click.echo(f"\nwrote {to}: softsense fer {to}")


def _bits(option: str, in_bytes: int | None, in_bits: int | None) -> int:
    """Bits that were given either in bytes or in bits."""
    if (in_bytes is None) == (in_bits is None):
        found = "neither bytes nor bits" if in_bytes is None else "both bytes and bits"
        raise CodeError(f"{option}: found {found}, expected exactly one of them")
    return in_bits if in_bytes is None else 8 * in_bytes  # type: ignore[return-value]
