"""`softsense trace`: show, fit, convert and generate traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import softsense
from softsense import ConfigError
from softsense.cli.completing import complete_written
from softsense.cli.measuring import opened_trace
from softsense.cli.options import (
    config_argument,
    config_options,
    example,
    json_written_option,
    no_progress_option,
    trace_options,
)
from softsense.cli.output import check_suffix, progress_bars
from softsense.files import replacing


@click.group()
def trace() -> None:
    """Show, fit, convert and generate traces."""


@trace.command("stats", epilog=example("softsense trace stats my.csv --columns time:us,op,bytes,lbn:512B"))
@click.argument("file", type=click.Path())
@trace_options
@click.option(
    "--save-columns",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the meaning of the columns to this .toml file, for --format.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the statistics as one JSON document.")
@no_progress_option
def trace_stats(file: str, save_columns: Path | None, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Show the recognised format and the statistics of a trace.

    FILE is a file, a pipe, or - for standard input.
    """
    from softsense import tables

    if save_columns:
        check_suffix(save_columns, ".toml")
    opened = opened_trace(file, no_progress, options)
    if save_columns:
        if (columns := opened.columns_toml()) is None:
            raise ConfigError(
                "--save-columns: found a format without columns to save, expected a format that is made of columns "
                "(--columns)"
            )
        with replacing(save_columns) as path:
            path.write_text(columns, encoding="utf-8")
    click.echo(json.dumps(json.loads(opened.stats_json()), indent=2) if as_json else tables.describe(opened.describe()))


@trace.command("fit-arrivals", epilog=example("softsense trace fit-arrivals my.csv"))
@click.argument("file", type=click.Path())
@trace_options
@click.option("--json", "as_json", is_flag=True, help="Print the fit as one JSON document.")
@no_progress_option
def trace_fit_arrivals(file: str, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Fit a model of bursts to the arrivals of trace FILE.

    The model is a Markov-modulated Poisson process with two states. It is printed as the [workload] section of a
    config, with comments that compare statistics of the trace and of the fit.
    """
    from softsense import tables

    fit, rows, toml = opened_trace(file, no_progress, options).fit_arrivals()
    if as_json:
        click.echo(json.dumps(json.loads(fit), indent=2))
        return
    commented = "\n".join(f"# {line}" for line in tables.describe(rows).splitlines())
    click.echo(f"{commented}\n\n{toml}", nl=False)


@trace.command("convert", epilog=example("softsense trace convert my.csv out.trace --to disksim"))
@click.argument("file", type=click.Path())
@click.argument("to", metavar="OUT", type=click.Path())
@trace_options
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    default="csv",
    shell_complete=complete_written,
    help="Format to write: csv (default), mqsim or disksim.",
)
@json_written_option
@no_progress_option
def trace_convert(file: str, to: str, to_format: str, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Convert trace FILE to another format, and write it to OUT."""
    from softsense import tables

    opened = opened_trace(file, no_progress, options)
    click.echo(tables.describe(opened.describe()), err=as_json)
    with progress_bars(no_progress) as report:
        written = opened.convert(to, to_format, progress=lambda fraction: report(f"writing {to}", 0, fraction))
    _say_written(to, to_format, written, as_json)


@trace.command("generate", epilog=example("softsense trace generate mlc-25nm out.trace"))
@config_argument
@click.argument("to", metavar="OUT", type=click.Path())
@config_options
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    default="mqsim",
    shell_complete=complete_written,
    help="Format to write: mqsim (default), csv or disksim.",
)
@no_progress_option
@json_written_option
def trace_generate(
    config: Path,
    to: str,
    to_format: str,
    overrides: tuple[str, ...],
    seed: int | None,
    no_progress: bool,
    as_json: bool,
) -> None:
    """Write the synthetic workload of CONFIG to a trace file.

    OUT gets the requests that [workload] of CONFIG generates.
    """
    opened = softsense.load_config(config, overrides, seed=seed)
    with progress_bars(no_progress) as report:
        written = opened.write_workload(to, to_format, lambda fraction: report("writing", 0, fraction))
    _say_written(to, to_format, written, as_json)


def _say_written(to: str, to_format: str, requests: int, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"file": to, "format": to_format, "requests": requests}, indent=2))
    else:
        click.echo(f"wrote {requests:,} requests to {to} as {to_format}")
