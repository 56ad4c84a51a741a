"""`softsense flash`: cells at an age."""

from __future__ import annotations

import json
from pathlib import Path

import click

from softsense import Cells, ConfigError, _core
from softsense.cli.completing import Name, named_code
from softsense.cli.flash_making import flash_calibrate, flash_fit, flash_grid, flash_inference, flash_references
from softsense.cli.options import (
    LEVELS,
    cells_argument,
    example,
    pe_cycles_option,
    picture_option,
    placement_option,
    retention_days_option,
    retention_list_option,
)
from softsense.cli.output import check_picture, print_list, save_picture, show_rows
from softsense.cli.ranges import Real, Whole

_temperature_option = click.option(
    "--temperature",
    type=float,
    metavar="C",
    help="Temperature at which data rests, in degrees Celsius, for measured cells; default: the "
    "one of the measurement.",
)


@click.group("flash")
def flash_group() -> None:
    """Show flash cells by age, and fit models of them."""


@flash_group.command("list", epilog=example("softsense flash list"))
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def flash_list(as_json: bool) -> None:
    """List the shipped models of cells."""
    from softsense import flash, tables

    print_list(flash.listed(), as_json, tables.cell_models)


@flash_group.command("show", epilog=example("softsense flash show tlc-measured --pe-cycles 3000 --retention 90d"))
@cells_argument("mlc")
@pe_cycles_option(10_000)
@retention_days_option(365.0)
@click.option(
    "--level",
    default=_core.MAX_LEVEL,
    type=LEVELS,
    help=f"Read level to show beside hard decision; default: {_core.MAX_LEVEL}.",
)
@placement_option
@_temperature_option
@click.option(
    "--references",
    type=Name(["default", "tracked"]),
    help="Hard-decision references: default (those of the chip) or tracked (the best ones at this "
    "age); default: the model's.",
)
@click.option(
    "--effective-reads",
    default=0.0,
    type=Real(0, 1e12),
    metavar="N",
    help="Reads of other wordlines of the block since the write, where a read of an adjacent "
    "wordline counts as several; default: 0.",
)
@click.option("--page", default="0", metavar="PAGE", help="Page to draw, by name or number; default: the first.")
@picture_option("the cells and how the page is read")
@click.option("--json", "as_json", is_flag=True, help="Print all facts as one JSON document.")
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
    """Show flash cells at an age.

    Shows raw bit error rates, reference voltages, the regions between references and the log-likelihood ratios of the
    regions. CELLS is a shipped model (mlc, tlc-2-3-2, tlc-measured, ...) or a TOML file.
    """
    from softsense import flash, tables

    cells = Cells.open(name, pe_cycles, retention_days * 24, references, temperature, effective_reads)
    if effective_reads and cells.adjacent_stress is None:
        raise ConfigError(
            f"--effective-reads: found {effective_reads:g} for {name}, whose cells are not disturbed by reads, "
            "expected 0, or cells with `read_disturb`"
        )
    drawn, number = None, flash.page_number(cells, page)
    if picture:
        check_picture(picture)
        from softsense import plots

        drawn = plots.draw_cells(cells, number, level, placement)
    facts = flash.describe(cells, level, placement)
    click.echo(json.dumps(facts, indent=2) if as_json else tables.cells(facts))
    if picture and drawn:
        save_picture(picture, drawn, as_json)


@flash_group.command("rber", epilog=example("softsense flash rber tlc-measured --levels 1,2,7"))
@cells_argument("tlc-measured")
@click.option(
    "--pe-cycles",
    "--pe",
    "pe_cycles",
    default="0,1000,2000,3000",
    metavar="LIST",
    help="Program/erase cycles; default: 0,1000,2000,3000.",
)
@retention_list_option("0,1,7,30,90,365")
@click.option(
    "--levels", default="", metavar="LIST", help="Read levels whose mutual information to show, such as 1,2,7."
)
@_temperature_option
@picture_option("the rates")
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
    """Show raw bit error rates of cells by age.

    Shows them with default references, and with references that track the age. CELLS is a shipped model or a TOML
    file.
    """
    from softsense import flash, tables
    from softsense.campaign import parse_levels, parse_list

    rows = flash.rber_by_age(
        name,
        [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        parse_list(retention_days, "--retention", 0, 4e5),
        levels=parse_levels(levels) if levels else [],
        retention_temperature_c=temperature,
    )
    show_rows(rows, tables.rber_by_age, as_json, picture, lambda plots: plots.draw_rber_by_age(rows, name))


@flash_group.command("disturb", epilog=example("softsense flash disturb tlc-measured --pe-cycles 3000"))
@cells_argument("tlc-measured")
@click.option(
    "--reads",
    default="0,1e4,3e4,1e5,2e5,3e5,5e5,7e5,1e6",
    metavar="LIST",
    help="Numbers of reads of the block; default: 0,1e4,3e4,1e5,2e5,3e5,5e5,7e5,1e6.",
)
@pe_cycles_option(1000)
@retention_days_option(0.0)
@click.option("--wordlines", default=256, type=Whole(3, 10**6), help="Wordlines per block; default: 256.")
@picture_option("the rates")
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
    """Show how reads of a block disturb its cells.

    Compares reads that all go to one adjacent wordline with reads that are spread evenly over the block.
    """
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


@flash_group.command("measure", epilog=example("softsense flash measure tlc-measured --retention 30d"))
@cells_argument("tlc-measured")
@click.option(
    "--code",
    default="flash-8/9",
    metavar="CODE",
    callback=named_code,
    help="Code whose violated checks are counted; default: flash-8/9.",
)
@pe_cycles_option(3000)
@retention_days_option(90.0)
@click.option("--cells", default=147_456, type=Whole(1, 10**7), help="Cells per page; default: 147,456.")
@click.option("--known", default=0.002, type=Real(0, 1), help="Share of known cells; default: 0.002.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as one JSON document.")
def flash_measure(
    name: str, code: str, pe_cycles: int, retention_days: float, cells: int, known: float, as_json: bool
) -> None:
    """Show how a controller can detect misplaced references.

    Compares four measurements of a page: violated checks of a codeword, the share of ones, errors of known cells, and a
    search for the valleys between states. Each is shown with default references and with the best ones, with its spread
    and the sensings and transfers that it costs.
    """
    from softsense import flash, tables

    rows = flash.measures(
        name, code, pe_cycles=pe_cycles, retention_days=retention_days, cells=cells, known_share=known
    )
    click.echo(json.dumps(rows, indent=2) if as_json else tables.measures(rows))


@flash_group.command("bake", epilog=example("softsense flash bake --retention 365d"))
@click.option("--bake-c", default=105.0, help="Temperature of the oven in degrees Celsius; default: 105.")
@click.option(
    "--operating-c", default=40.0, help="Temperature in degrees Celsius at which the data would rest; default: 40."
)
@retention_days_option(30.0)
@click.option(
    "--cycling-c", default=40.0, help="Temperature in degrees Celsius at which blocks would be cycled; default: 40."
)
@click.option("--cycling-days", default=400.0, help="Days over which blocks would be cycled; default: 400.")
@click.option(
    "--activation-energy-ev", default=1.1, help="Activation energy of the failure mechanism in eV; default: 1.1."
)
@click.option("--recovery-constant", default=0.022, help="Recovery constant A of the technology; default: 0.022.")
@click.option("--json", "as_json", is_flag=True, help="Print the times as one JSON document.")
def flash_bake(as_json: bool, **protocol: float) -> None:
    """Compute how long to bake a chip to age it (Arrhenius' law).

    A chip that was cycled quickly is baked twice. The first bake lets it recover as it would have between cycles that
    are days apart. The second, after it was written, ages it as data at rest would age.
    """
    from softsense import flash, tables

    times = flash.bake_minutes(**protocol)
    click.echo(json.dumps(times, indent=2) if as_json else tables.describe(tables.bake(times)))


for _made in (flash_references, flash_inference, flash_fit, flash_grid, flash_calibrate):
    flash_group.add_command(_made)
