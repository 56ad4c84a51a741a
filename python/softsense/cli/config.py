"""`softsense config`: configurations, shipped or in files."""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path

import click

import softsense
from softsense.cli.completing import complete_config
from softsense.cli.measuring import config_rows, starting_reliability
from softsense.cli.options import config_options, example, picture_option, retention_list_option
from softsense.cli.output import print_list, show_rows


@click.group("config")
def config_group() -> None:
    """List, check and show configurations.

    FILE is the name of a shipped configuration (`softsense config list`) or a TOML file.
    """


@config_group.command("list", epilog=example("softsense config list"))
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def config_list(as_json: bool) -> None:
    """List the shipped configurations."""
    from softsense import tables

    print_list(softsense.configs(), as_json, tables.configs)


@config_group.command("check", epilog=example("softsense config check my.toml"))
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_config)
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print the description as one JSON document.")
def config_check(file: Path, overrides: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Check a configuration and show the device it describes."""
    from softsense import tables

    config = softsense.load_config(file, overrides, seed=seed)
    rows = config_rows(config, True)
    if as_json:
        known = {"file": str(file), "sha256": config.sha256, "user_bytes": config.user_bytes}
        click.echo(json.dumps({**known, "description": dict(rows)}, indent=2))
        return
    click.echo(f"ok: {file}")
    click.echo(tables.describe(rows, indent="  "))
    if start := starting_reliability(config):
        click.echo("\n" + start)


@config_group.command("show", epilog=example("softsense config show mlc-25nm --set read.max_level=5"))
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_config)
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of TOML.")
def config_show(file: Path, overrides: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Print a configuration with every default filled in.

    Comments at the end show the error rates with which a run of it starts.
    """
    config = softsense.load_config(file, overrides, seed=seed)
    click.echo(json.dumps(config.fields, indent=2) if as_json else config.to_toml(), nl=as_json)
    if not as_json and (start := starting_reliability(config)):
        click.echo("\n" + textwrap.indent(start, "# "))


@config_group.command("ages", epilog=example("softsense config ages tlc-femu --pe-cycles 0,1000,3000"))
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_config)
@config_options
@click.option(
    "--pe-cycles",
    "--pe",
    "pe_cycles",
    default="",
    metavar="LIST",
    help="Program/erase cycles, as a list or FIRST:LAST:STEP; default: ten steps to 5,000, or to the age of the config "
    "and of its last code, if they are older.",
)
@retention_list_option("0,7,30,90,365")
@picture_option("the rates")
@click.option("--json", "as_json", is_flag=True, help="Print the rates as one JSON document.")
def config_ages(
    file: Path,
    overrides: tuple[str, ...],
    seed: int | None,
    pe_cycles: str,
    retention_days: str,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show error rates, retries and failures by age of the flash.

    No workload is simulated. Each number is a mean over the codewords of the device at that age, read by the policy of
    the configuration. UBER is the probability of an uncorrectable read per bit of data read; JESD218 allows 1e-15 for a
    client drive and 1e-16 for an enterprise drive.
    """
    from softsense import flash, tables
    from softsense.campaign import parse_list

    config = softsense.load_config(file, overrides, seed=seed)
    days = parse_list(retention_days, "--retention", 0, 36_500)
    cycles = [round(each) for each in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)] if pe_cycles else _ages(config)
    rows = flash.reliability_by_age(config, cycles, days)
    show_rows(
        rows, tables.reliability_by_age, as_json, picture, lambda plots: plots.draw_reliability_by_age(rows, file.stem)
    )


def _ages(config: softsense.Config) -> list[int]:
    """P/E cycles in ten steps, up to the most that the config has."""
    starts = config.fields.precondition
    oldest = [starts["pe_cycles"], *(ssd["pe_cycles"] for ssd in starts["ssds"])]
    most = max(5000, *oldest, *(code["to_pe_cycles"] for code in config.bch_codes()))
    step = 500 * math.ceil(most / 5000)
    return list(range(0, 10 * step + 1, step))


@config_group.command("schema", epilog=example("softsense config schema > softsense.schema.json"))
@click.option("--sweep", is_flag=True, help="Print the schema of sweep files instead.")
def config_schema(sweep: bool) -> None:
    """Print the JSON schema of configurations, for editors."""
    if sweep:
        from softsense import sweep_models

        click.echo(sweep_models.schema().rstrip("\n"))
    else:
        click.echo(softsense.config_schema().rstrip("\n"))
