"""`softsense flash`: cells at an age."""

from __future__ import annotations

import json
from pathlib import Path

import click

from softsense import Cells, ConfigError, _core
from softsense.cli.completing import Name, named_code
from softsense.cli.flash_making import flash_calibrate, flash_fit, flash_grid, flash_inference, flash_references
from softsense.cli.options import LEVELS, cells_argument, pe_cycles_option, placement_option
from softsense.cli.output import check_picture, show_rows
from softsense.files import replacing

_temperature_option = click.option(
    "--temperature",
    type=float,
    metavar="C",
    help="Of data at rest, degrees Celsius, in measured cells; default: theirs.",
)


@click.group("flash")
def flash_group() -> None:
    """Look at flash cells at an age, and at how chips are aged in an oven."""


@flash_group.command("show")
@cells_argument("mlc")
@pe_cycles_option(10_000)
@click.option("--retention-days", default=365.0, type=float, help="Days since the cells were written; default: 365.")
@click.option(
    "--level",
    default=_core.MAX_LEVEL,
    type=LEVELS,
    help=f"Read level shown beside hard decision; default: {_core.MAX_LEVEL}.",
)
@placement_option
@_temperature_option
@click.option(
    "--references",
    type=Name(["default", "tracked"]),
    help="Where hard references stand: the chip's default, or where they are best at this age; default: the model's.",
)
@click.option(
    "--effective-reads",
    default=0.0,
    type=click.FloatRange(0, 1e12),
    metavar="N",
    help="Reads of other wordlines of the block since the write; of those beside, each counts for several.",
)
@click.option("--page", default="0", metavar="PAGE", help="Page that is drawn: its name or number; default: the first.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw how a page is read.")
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def flash_show(
    name: str,
    pe_cycles: int,
    retention_days: float,
    level: int,
    placement: str,
    temperature: float | None,
    references: str | None,
    effective_reads: float,
    page: str,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show cells at an age, a shipped model (mlc, tlc-2-3-2, tlc-measured, ...) or a TOML file.

    Error rates, reference voltages, the regions between them and their log-likelihood ratios.
    """
    from softsense import flash, tables

    cells = Cells.open(name, pe_cycles, retention_days * 24, references, temperature, effective_reads)
    if effective_reads and cells.adjacent_stress is None:
        raise ConfigError(f"--effective-reads: found {effective_reads:g} for {name}, whose cells reads do not disturb")
    drawn, number = None, flash.page_number(cells, page)
    if picture:
        check_picture(picture)
        from softsense import plots

        drawn = plots.draw_cells(cells, number, level, placement)
    facts = flash.describe(cells, level, placement)
    if drawn and picture:
        with replacing(picture) as path:
            drawn.savefig(path)
    click.echo(json.dumps(facts, indent=2) if as_json else tables.cells(facts))
    if picture and not as_json:
        click.echo(f"wrote {picture}")


@flash_group.command("rber")
@cells_argument("tlc-measured")
@click.option(
    "--pe-cycles", "--pe", "pe_cycles", default="0,1000,2000,3000", metavar="LIST", help="Default: 0,1000,2000,3000."
)
@click.option("--retention-days", default="0,1,7,30,90,365", metavar="LIST", help="Default: 0,1,7,30,90,365.")
@click.option(
    "--levels", default="", metavar="LIST", help="Read levels whose mutual information is told, such as 1,2,7."
)
@_temperature_option
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the rates as one JSON document.")
def flash_rber(
    name: str,
    pe_cycles: str,
    retention_days: str,
    levels: str,
    temperature: float | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show raw bit error rates of cells by age, with default references and with ones that track the age."""
    from softsense import flash, tables
    from softsense.campaign import parse_levels, parse_list

    rows = flash.rber_by_age(
        name,
        [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        parse_list(retention_days, "--retention-days", 0, 4e5),
        levels=parse_levels(levels) if levels else [],
        retention_temperature_c=temperature,
    )
    show_rows(rows, tables.rber_by_age, as_json, picture, lambda plots: plots.draw_rber_by_age(rows, name))


@flash_group.command("disturb")
@cells_argument("tlc-measured")
@click.option(
    "--reads",
    default="0,1e4,3e4,1e5,2e5,3e5,5e5,7e5,1e6",
    metavar="LIST",
    help="Of the block; default: 0,1e4,3e4,1e5,2e5,3e5,5e5,7e5,1e6.",
)
@pe_cycles_option(1000)
@click.option("--retention-days", default=0.0, type=click.FloatRange(0, 4e5), help="Days since the write; default: 0.")
@click.option("--wordlines", default=256, type=click.IntRange(3, 10**6), help="Of a block; default: 256.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the rates as one JSON document.")
def flash_disturb(
    name: str,
    reads: str,
    pe_cycles: int,
    retention_days: float,
    wordlines: int,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show what reads do to cells: of one wordline beside them, and of their whole block evenly."""
    from softsense import flash, tables
    from softsense.campaign import parse_list

    rows = flash.rber_by_reads(
        name,
        parse_list(reads, "--reads", 0, 1e9),
        pe_cycles=pe_cycles,
        retention_days=retention_days,
        wordlines_per_block=wordlines,
    )
    show_rows(rows, tables.rber_by_reads, as_json, picture, lambda plots: plots.draw_rber_by_reads(rows, name))


@flash_group.command("measure")
@cells_argument("tlc-measured")
@click.option(
    "--code",
    default="flash-8/9",
    metavar="CODE",
    callback=named_code,
    help="Whose checks are counted; default: flash-8/9.",
)
@pe_cycles_option(3000)
@click.option(
    "--retention-days", default=90.0, type=click.FloatRange(0, 4e5), help="Days since the write; default: 90."
)
@click.option("--cells", default=147_456, type=click.IntRange(1, 10**7), help="Of a page; default: 147,456.")
@click.option("--known", default=0.002, type=click.FloatRange(0, 1), help="Share of known cells; default: 0.002.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as one JSON document.")
def flash_measure(
    name: str, code: str, pe_cycles: int, retention_days: float, cells: int, known: float, as_json: bool
) -> None:
    """Show what a controller can measure of a page: how it tells that references are misplaced, and what that costs.

    Violated checks of a codeword, the share of ones, errors of cells that are known, and a search for the valleys
    between states: each with default references and with the best, with its spread, sensings and transfers.
    """
    from softsense import flash, tables

    rows = flash.measures(
        name, code, pe_cycles=pe_cycles, retention_days=retention_days, cells=cells, known_share=known
    )
    click.echo(json.dumps(rows, indent=2) if as_json else tables.measures(rows))


@flash_group.command("bake")
@click.option("--bake-c", default=105.0, help="Temperature of the oven; default: 105.")
@click.option("--operating-c", default=40.0, help="Temperature at which data would rest; default: 40.")
@click.option("--retention-days", default=30.0, help="For how long; default: 30.")
@click.option("--cycling-c", default=40.0, help="Temperature at which blocks would be cycled; default: 40.")
@click.option("--cycling-days", default=400.0, help="Over how many days; default: 400.")
@click.option("--activation-energy-ev", default=1.1, help="By the failure mechanism; default: 1.1.")
@click.option("--recovery-constant", default=0.022, help="A, by the technology; default: 0.022.")
@click.option("--json", "as_json", is_flag=True, help="Print the times as one JSON document.")
def flash_bake(as_json: bool, **protocol: float) -> None:
    """Say for how long a cycled and then written chip is baked to be like one that took its time (Arrhenius' law).

    Cycled in a hurry, it is baked to recover as between cycles that are days apart; then written, and baked to age.
    """
    from softsense import flash, tables

    times = flash.bake_minutes(**protocol)
    click.echo(json.dumps(times, indent=2) if as_json else tables.describe(tables.bake(times)))


for _made in (flash_references, flash_inference, flash_fit, flash_grid, flash_calibrate):
    flash_group.add_command(_made)
