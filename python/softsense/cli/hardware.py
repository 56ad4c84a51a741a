"""`softsense code hardware`: circuits of codes."""

from __future__ import annotations

import json
from typing import Any

import click

from softsense import Code, ConfigError
from softsense.cli.options import codes_argument, example, redundant_checks_option


@click.command("hardware", epilog=example("softsense code hardware flash-8/9 bch-4KB-t256 --gbps 8"))
@codes_argument
@redundant_checks_option
@click.option("--node-nm", type=float, default=28.0, help="Technology node in nm, 28 to 130; default: 28.")
@click.option("--clock-mhz", type=float, help="Clock in MHz; default: 400 (LDPC) or 200 (BCH).")
@click.option("--iterations", type=int, default=5, help="Iterations of the LDPC decoder; default: 5.")
@click.option("--checks-per-cycle", type=int, help="Checks that the LDPC decoder processes per cycle; default: 64.")
@click.option("--message-bits", type=int, help="Bits per message of the LDPC decoder; default: 5.")
@click.option(
    "--posterior-bits",
    type=int,
    help="The LDPC decoder is rcq: bits per a-posteriori value, 7 to 10; messages then have 4 bits by default.",
)
@click.option("--syndrome-bits-per-cycle", type=int, help="Bits per cycle of the BCH decoder's syndromes; default: 8.")
@click.option(
    "--key-equation-multipliers", type=int, help="Multipliers for the BCH decoder's key equation; default: 16."
)
@click.option("--search-bits-per-cycle", type=int, help="Bits per cycle of the BCH decoder's root search; default: 8.")
@click.option(
    "--encoder-bits-per-cycle",
    type=int,
    default=32,
    help="Data bits that the encoder takes per cycle; default: 32.",
)
@click.option(
    "--gbps",
    type=float,
    help="Data rate in Gb/s that decoders have to reach, in the least area; of several codes by default that of the "
    "fastest.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all facts as one JSON document.")
def code_hardware(names: list[str], redundant_checks: bool, gbps: float | None, as_json: bool, **circuit: Any) -> None:
    """Estimate gates, area, cycles and energy of CODE's circuits.

    The circuits are a decoder and an encoder. For several codes, or with --gbps, decoders of equal data rates are
    compared. Their number and parallelism for each code are those that take the least area.
    """
    from softsense import codes, tables

    opened = [Code.open(name, redundant_checks) for name in names]
    try:
        if len(opened) == 1 and gbps is None:
            facts: Any = codes.hardware(opened[0], **circuit)
        else:
            facts = codes.hardware_at_equal_rate(opened, gbps, **circuit)
    except ConfigError as error:
        # The error names a field, which is an option here.
        field, _, rest = str(error).partition(": ")
        raise ConfigError(f"--{field.replace('_', '-')}: {rest}") from None
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    elif isinstance(facts, dict):
        click.echo(tables.describe(tables.hardware(facts)))
    else:
        click.echo(tables.equal_rate(facts))
