"""`softsense config`: configurations, shipped or in files."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import click

import softsense
from softsense.cli.completing import complete_config
from softsense.cli.measuring import config_rows, starting_reliability
from softsense.cli.options import config_options
from softsense.cli.output import print_list, show_rows


@click.group("config")
def config_group() -> None:
    """List, check and show configurations.

    A configuration is the name of a shipped one, or a TOML file.
    """


@config_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def config_list(as_json: bool) -> None:
    """List the shipped configurations."""
    from softsense import tables

    print_list(softsense.configs(), as_json, tables.configs)


@config_group.command("check")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_config)
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print what it describes as one JSON document.")
def config_check(file: Path, overrides: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Check a configuration and say what device it describes."""
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


@config_group.command("show")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_config)
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of TOML.")
def config_show(file: Path, overrides: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Print a configuration with every default filled in, and the error rates that its run starts with."""
    config = softsense.load_config(file, overrides, seed=seed)
    click.echo(json.dumps(json.loads(config.to_json()), indent=2) if as_json else config.to_toml(), nl=as_json)
    if not as_json and (start := starting_reliability(config)):
        click.echo("\n" + textwrap.indent(start, "# "))


@config_group.command("ages")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=complete_config)
@config_options
@click.option("--pe-cycles", "--pe", "pe_cycles", default="0:5000:500", metavar="LIST", help="Default: 0:5000:500.")
@click.option("--retention-days", default="0,7,30,90,365", metavar="LIST", help="Default: 0,7,30,90,365.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def config_ages(
    file: Path,
    overrides: tuple[str, ...],
    seed: int | None,
    pe_cycles: str,
    retention_days: str,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show error rates, retries and uncorrectable reads of a configuration over the life of its flash.

    Nothing is simulated: means over codewords of the device at each age, read as the policy reads. UBER is the
    probability of an uncorrectable read for each bit of data; JESD218 allows a client drive 1e-15, an enterprise one
    1e-16.
    """
    from softsense import flash, tables
    from softsense.campaign import parse_list

    rows = flash.reliability_by_age(
        softsense.load_config(file, overrides, seed=seed),
        [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        parse_list(retention_days, "--retention-days", 0, 36_500),
    )
    show_rows(
        rows, tables.reliability_by_age, as_json, picture, lambda plots: plots.draw_reliability_by_age(rows, file.stem)
    )


@config_group.command("schema")
@click.option("--sweep", is_flag=True, help="Of sweep files instead.")
def config_schema(sweep: bool) -> None:
    """Print the JSON schema of configurations, for editors."""
    if sweep:
        from softsense import sweep_models

        click.echo(sweep_models.schema().rstrip("\n"))
    else:
        click.echo(softsense.config_schema().rstrip("\n"))
