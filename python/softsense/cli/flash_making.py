"""`softsense flash`: what is made for cells and configs, by age or from measurements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import softsense
from softsense.cli.options import LEVELS, cells_argument, config_argument, config_options, force_option, together
from softsense.cli.output import check_suffix, check_writable
from softsense.files import replacing

# What is made for cells by age, and stands in their file.
_placing_options = together(
    cells_argument("tlc-measured"),
    click.option("--table", default="flash-8-9", metavar="TABLE", help="Decode table of the code; default: flash-8-9."),
    click.option(
        "--step-v", default=0.0125, help="References stand at multiples of it off the default; default: 0.0125."
    ),
    click.option(
        "--pe-cycles",
        "--pe",
        "pe_cycles",
        default="0:3000:300",
        metavar="LIST",
        help="Ages it is for; default: 0:3000:300.",
    ),
    click.option("--retention-days", default="0,0.1,1,3,7,14,30,60,90,180,365", metavar="LIST", help="Up to a year."),
    click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the cells with it: .toml."),
    force_option,
    click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document."),
)


def _ages(pe_cycles: str, retention_days: str) -> dict[str, Any]:
    """The ages that were asked for, as what is made for them takes them."""
    from softsense.campaign import parse_list

    return {
        "pe_cycles": [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        "retention_days": parse_list(retention_days, "--retention-days", 0, 4e5),
    }


def _check(out: Path | None, force: bool) -> None:
    """Whether the file can be written that is asked for, before anything is made."""
    if out:
        check_suffix(out, ".toml")
        check_writable(out, force)


def _write(out: Path | None, toml: str) -> None:
    if out:
        with replacing(out) as path:
            path.write_text(toml)


@click.command("references")
@_placing_options
@click.option("--entries", default=12, type=click.IntRange(1, 100), help="At most, the default references among them.")
def flash_references(
    name: str,
    table: str,
    entries: int,
    step_v: float,
    pe_cycles: str,
    retention_days: str,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Make a retry table for cells: few sets of references, one of which decodes wherever the best ones would.

    Written into the cells' file it is tried by runs with read.references = "retry_table".
    """
    from softsense import retry_tables, tables

    _check(out, force)
    made = retry_tables.make(
        name,
        table=table,
        entries=entries,
        step_v=step_v,
        **_ages(pe_cycles, retention_days),
    )
    _write(out, made.toml)
    if as_json:
        known = {"retry_table_v": made.offsets_v, "made_for": made.made_for}
        click.echo(json.dumps({**known, "decoded": made.decoded, "worst": made.worst}, indent=2))
        return
    click.echo(tables.retry_table(made.offsets_v, made.made_for, made.decoded))
    worst = made.worst
    age = f"{worst['pe_cycles']:,} P/E cycles and {worst['retention_days']:g} days"
    click.echo(f"\nThe least is {100 * worst['decoded']:.2f} %, of the {worst['page']} page after {age}.")
    if out:
        click.echo(f"wrote {out}")


@click.command("inference")
@_placing_options
@click.option("--boundary", type=int, help="That is measured, from 0; default: the one by which sentinels fail least.")
@click.option("--known", default=0.002, type=click.FloatRange(0, 1), help="Share of known cells; default: 0.002.")
@click.option("--cells", default=147_456, type=click.IntRange(1, 10**7), help="Of a page; default: 147,456.")
def flash_inference(
    name: str,
    table: str,
    boundary: int | None,
    step_v: float,
    known: float,
    cells: int,
    pe_cycles: str,
    retention_days: str,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Fit how references are inferred from a measurement at one boundary: known cells, or the share of ones.

    Written into the cells' file it is used by runs with read.references = "sentinels" or "share_of_ones".
    """
    from softsense import inference, tables

    _check(out, force)
    made = inference.make(
        name,
        table=table,
        boundary=boundary,
        step_v=step_v,
        known_share=known,
        counted_cells=cells,
        **_ages(pe_cycles, retention_days),
    )
    _write(out, made.toml)
    if as_json:
        rest = {"boundaries": made.boundaries, "default_fails": made.default_fails, "best_fails": made.best_fails}
        click.echo(json.dumps({"inference": made.fields, **rest}, indent=2))
        return
    click.echo(tables.inference(made.boundaries))
    fails = f"{100 * made.default_fails:.1f} % of codewords, the best ones {100 * made.best_fails:.1f} %"
    click.echo(f"\nWhere reads are retried the default references fail {fails}.")
    fields = made.fields
    sentinels = f"{fields['sentinels']} sentinels and {fields['counted_cells']:,} counted cells"
    click.echo(
        f"Boundary {fields['boundary']}, {sentinels}, at most {fields['steps']} steps of {fields['step_v']:g} V."
    )
    if out:
        click.echo(f"wrote {out}")


@click.command("fit")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mapping", required=True, metavar="NAME", help="Of states to bits, such as tlc_2_3_2.")
@click.option("--unit-v", default=1.0, help="What a unit of the means and spreads is, in volts; default: 1.")
@click.option("--temperature", default=40.0, help="At which they were measured, in degrees Celsius; default: 40.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the cells: .toml.")
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print how near the fit comes as one JSON document.")
def flash_fit(
    file: Path, mapping: str, unit_v: float, temperature: float, out: Path | None, force: bool, as_json: bool
) -> None:
    """Fit cells to measured means and spreads by age: a CSV file with pe_cycles,retention_days,state,mean,sigma.

    Or to measured valleys, raw bit error rates by where a reference stands, with the columns
    pe_cycles,retention_days,boundary,reference,rber, where rber is the share of all cells on the wrong side.

    Shows how far the fit is from each age, and how far a fit without that age is: what it would have predicted.
    """
    from softsense import measured_cells, tables

    _check(out, force)
    found = measured_cells.fit(file, mapping, unit_v=unit_v, temperature_c=temperature)
    if out:
        with replacing(out) as path:
            path.write_text(found.toml)
    click.echo(json.dumps(found.rows, indent=2) if as_json else tables.cell_fit(found.rows))
    if not as_json:
        click.echo(f"\nwrote {out}" if out else f"\n{found.toml}", nl=bool(out))


@click.command("grid")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it: .toml.")
@force_option
def flash_grid(file: Path, out: Path | None, force: bool) -> None:
    """Make a grid of raw bit error rates for configs: from a CSV file with pe_cycles,retention_days,rber.

    What is printed is the value of rber in a config: under [reliability.table.rber.grid], say. `softsense config ages`
    draws what a drive makes of it.
    """
    from softsense import measured_cells

    _check(out, force)
    found = measured_cells.rber_grid(file)
    if out:
        with replacing(out) as path:
            path.write_text(found)
    click.echo(f"wrote {out}" if out else found, nl=bool(out))


@click.command("calibrate")
@config_argument
@click.option("--p-fail", required=True, type=float, metavar="P", help="The mean probability that decoding fails.")
@click.option("--level", default=1, type=LEVELS, help="The read level at which it does; default: 1, hard decision.")
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print the factors as one JSON document.")
def flash_calibrate(
    config: Path, p_fail: float, level: int, overrides: tuple[str, ...], seed: int | None, as_json: bool
) -> None:
    """Scale the chip_factors of CONFIG so that decoding fails with probability P in the mean over its codewords.

    The device is taken as it starts, with its decode table: at the wear and age that [precondition] gives its SSDs.
    """
    from softsense import flash, tables

    resolved = softsense.load_config(config, overrides, seed=seed)
    factors = flash.calibrate(resolved, p_fail, level)
    chips = flash.chip_failures(resolved.with_overrides([f"reliability.table.variation.chip_factors={factors}"]), level)
    if as_json:
        click.echo(json.dumps({"chip_factors": factors, "chips": chips}, indent=2))
        return
    click.echo(f"chip_factors = {factors}\n")
    click.echo(tables.chips(chips))
