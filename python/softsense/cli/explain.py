"""`softsense explain`: the life of one codeword."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from softsense import ConfigError
from softsense.cli.completing import (
    complete_cells,
    complete_code,
    complete_config,
    complete_policies,
    named_cells,
    named_code,
)
from softsense.cli.exits import INTERRUPTED
from softsense.cli.options import (
    LEVELS,
    example,
    pe_cycles_option,
    picture_option,
    placement_option,
    retention_option,
    server_options,
)
from softsense.cli.output import check_picture, save_picture, say_address
from softsense.cli.ranges import Whole


@click.command("explain", epilog=example("softsense explain --pe-cycles 12000 --retention 90d --needs 2"))
@click.option(
    "--config",
    default="mlc-25nm",
    type=click.Path(path_type=Path),
    metavar="CONFIG",
    shell_complete=complete_config,
    help="Configuration whose times and read settings apply: a shipped one or a TOML file; default: mlc-25nm.",
)
@click.option(
    "--cells",
    metavar="NAME",
    shell_complete=complete_cells,
    callback=named_cells,
    help="Model of the cells: a shipped one or a TOML file; default: the config's, or mlc where it has none.",
)
@pe_cycles_option(10_000)
@retention_option("365d", "Time since the codeword was written, such as 365d (default) or 12h; a number alone is days.")
@click.option(
    "--page", default="upper", metavar="PAGE", help="Page of the codeword, by name or number; default: upper."
)
@click.option(
    "--code",
    default="flash-8/9",
    metavar="CODE",
    shell_complete=complete_code,
    callback=named_code,
    help="Code of the codeword; default: flash-8/9.",
)
@click.option("--decoder", default="min-sum", metavar="NAME", help="Decoder of LDPC codes, as in `code bench`.")
@click.option("--iterations", default=20, type=Whole(1, 10**6), help="Most iterations of an LDPC decoder; default: 20.")
@click.option("--level", type=LEVELS, help="Read level whose regions are shown; default: the first level that decodes.")
@click.option("--max-level", type=LEVELS, help="Deepest read level; default: the config's.")
@placement_option
@click.option(
    "--policies",
    default="all",
    metavar="NAMES",
    shell_complete=complete_policies,
    help="Read policies to show, as in `compare`, such as two_step,look_ahead; default: all.",
)
@click.option(
    "--needs",
    default=1,
    type=LEVELS,
    help="Explain the first codeword, from --seed on, that needs at least this read level; default: 1, any codeword.",
)
@click.option("--seed", default=1, type=Whole(0, 2**64 - 1), help="Seed of the codeword and its cells; default: 1.")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Replace a config field; repeatable.")
@picture_option("the explanation")
@click.option("--json", "as_json", is_flag=True, help="Print all numbers as one JSON document.")
@click.option("--serve", is_flag=True, help="Serve a page with sliders on this machine, until Ctrl-C.")
@server_options
def explain_command(
    config: Path,
    retention: str,
    picture: Path | None,
    as_json: bool,
    serve: bool,
    host: str,
    port: int,
    **options: Any,
) -> int:
    """Explain the life of one codeword, from program to decode.

    Shows its cells, the results of sensing them, how decoding goes, and the cost of its read. The codeword is really
    programmed, aged, sensed and decoded, level by level. The time of each read policy holds for an otherwise idle
    device. Reads that move references, as with --set 'read.references="sentinels"', are shown step by step.

    With --serve everything but --config is chosen on the page.
    """
    from softsense import explain

    if serve:
        _serve(str(config), host, port)
        return INTERRUPTED
    if picture:
        check_picture(picture)
    found = explain.explain(config, retention_hours=explain.parse_retention(retention), **options)
    click.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else explain.text(found))
    if picture:
        save_picture(picture, explain.draw(found), as_json)
    return 0


def _serve(config: str, host: str, port: int) -> None:
    """Serve the page; options that are chosen on the page are refused."""
    context = click.get_current_context()
    taken = ("config", "serve", "host", "port")
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if parameter.name not in taken and source is not click.core.ParameterSource.DEFAULT:
            raise ConfigError(
                f"{parameter.opts[0]}: found together with --serve, expected only one of the two: the page has a "
                "control for this option"
            )
    from softsense.live import explaining, server

    # Made here, so that a device that cannot be explained is reported before a browser is opened.
    found = explaining.Explaining(config)
    server.serve(server.Server(found.answered, host, port, found.named), say_address)
