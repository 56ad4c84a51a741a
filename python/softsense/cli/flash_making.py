"""`softsense flash`: commands that make retry tables, inference, cells, grids and chip factors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import softsense
from softsense.cli.options import (
    LEVELS,
    cells_argument,
    config_argument,
    config_options,
    example,
    force_option,
    retention_list_option,
    together,
)
from softsense.cli.output import check_suffix, check_writable
from softsense.cli.ranges import Real, Whole
from softsense.files import replacing
from softsense.formats import as_share

# Options of commands that make a part of the description of cells by age, which is then written into the cells' file.
_placing_options = together(
    cells_argument("tlc-measured"),
    click.option(
        "--table",
        default="flash-8-9",
        metavar="TABLE",
        help="Decode table that says which reads succeed; default: flash-8-9.",
    ),
    click.option(
        "--step-v", default=0.0125, help="Step of reference voltages, in volts from the default; default: 0.0125."
    ),
    click.option(
        "--pe-cycles",
        "--pe",
        "pe_cycles",
        default="0:3000:300",
        metavar="LIST",
        help="Program/erase cycles to cover, as a list or FIRST:LAST:STEP; default: 0:3000:300.",
    ),
    retention_list_option("0,0.1,1,3,7,14,30,60,90,180,365"),
    click.option(
        "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the cells with the result: .toml."
    ),
    force_option,
    click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document."),
)


def _ages(pe_cycles: str, retention_days: str) -> dict[str, Any]:
    """The ages that were asked for, as arguments of `retry_tables.make` and `inference.make`."""
    from softsense.campaign import parse_list

    return {
        "pe_cycles": [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        "retention_days": parse_list(retention_days, "--retention", 0, 4e5),
    }


def _check(out: Path | None, force: bool) -> None:
    """Refuse a file that cannot be written, before anything is computed."""
    if out:
        check_suffix(out, ".toml")
        check_writable(out, force)


def _write(out: Path | None, toml: str) -> None:
    if out:
        with replacing(out) as path:
            path.write_text(toml)


@click.command("references", epilog=example("softsense flash references tlc-measured --out cells.toml"))
@_placing_options
@click.option(
    "--entries",
    default=12,
    type=Whole(1, 100),
    help="Most entries of the table, with the default references as one of them; default: 12.",
)
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
    """Make a retry table for cells.

    A retry table is a few sets of reference voltages, chosen so that one of them decodes wherever the best references
    would. Simulations with read.references = "retry_table" use the table in the cells' file, which --out writes.
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
    click.echo(f"\nThe least is {as_share(worst['decoded'], 2)}, of the {worst['page']} page after {age}.")
    if out:
        click.echo(f"wrote {out}")


@click.command("inference", epilog=example("softsense flash inference tlc-measured --out cells.toml"))
@_placing_options
@click.option(
    "--boundary", type=int, help="Boundary to measure, from 0; default: the one with which sentinels fail least."
)
@click.option("--known", default=0.002, type=Real(0, 1), help="Share of known cells; default: 0.002.")
@click.option("--cells", default=147_456, type=Whole(1, 10**7), help="Cells per page; default: 147,456.")
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
    """Fit how references follow from a measurement at one boundary.

    The measurement is the errors of known cells, or the share of ones. Simulations with read.references = "sentinels"
    or "share_of_ones" use the fit in the cells' file, which --out writes.
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
    fails = f"{as_share(made.default_fails, 1)} of codewords, the best ones {as_share(made.best_fails, 1)}"
    click.echo(f"\nWhere reads are retried the default references fail {fails}.")
    fields = made.fields
    sentinels = f"{fields['sentinels']} sentinels and {fields['counted_cells']:,} counted cells"
    click.echo(
        f"Boundary {fields['boundary']}, {sentinels}, at most {fields['steps']} steps of {fields['step_v']:g} V."
    )
    if out:
        click.echo(f"wrote {out}")


@click.command("fit", epilog=example("softsense flash fit measured.csv --mapping tlc_2_3_2 --out cells.toml"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mapping", required=True, metavar="NAME", help="Mapping of states to bits, such as tlc_2_3_2.")
@click.option("--unit-v", default=1.0, help="Volts per unit of the means and spreads; default: 1.")
@click.option("--temperature", default=40.0, help="Temperature of the measurement in degrees Celsius; default: 40.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the fitted cells: .toml.")
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the errors of the fit as one JSON document.")
def flash_fit(
    file: Path, mapping: str, unit_v: float, temperature: float, out: Path | None, force: bool, as_json: bool
) -> None:
    """Fit a model of cells to measurements by age.

    FILE is a CSV file. It has either means and spreads of states, in the columns
    pe_cycles,retention_days,state,mean,sigma, or valleys, in the columns
    pe_cycles,retention_days,boundary,reference,rber. There rber is the share of all cells that are on the wrong side of
    a reference.

    Shows for each age how far the fit is from the measurement, and how far a fit to all other ages would have been.
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


@click.command("grid", epilog=example("softsense flash grid rates.csv --out grid.toml"))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the grid: .toml.")
@force_option
def flash_grid(file: Path, out: Path | None, force: bool) -> None:
    """Make a grid of raw bit error rates from a CSV file.

    FILE has the columns pe_cycles,retention_days,rber. The grid that is printed is the value of rber in a config, such
    as under [reliability.table.rber.grid]. `softsense config ages` then shows the error rates of that config's device.
    """
    from softsense import measured_cells

    _check(out, force)
    found = measured_cells.rber_grid(file)
    if out:
        with replacing(out) as path:
            path.write_text(found)
    click.echo(f"wrote {out}" if out else found, nl=bool(out))


@click.command("calibrate", epilog=example("softsense flash calibrate mlc-25nm --p-fail 1e-4"))
@config_argument
@click.option("--p-fail", required=True, type=float, metavar="P", help="Mean probability of decoding failure to reach.")
@click.option(
    "--level", default=1, type=LEVELS, help="Read level at which decoding fails so often; default: 1, hard decision."
)
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print the factors as one JSON document.")
def flash_calibrate(
    config: Path, p_fail: float, level: int, overrides: tuple[str, ...], seed: int | None, as_json: bool
) -> None:
    """Scale chip_factors to a mean decoding failure probability.

    The factors of CONFIG are scaled so that the mean failure probability over the codewords of its device is P. The
    device is in its initial state, at the wear and age of [precondition], and fails as its decode table says.
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
