"""`softsense lifetime` and `design`: the lifetime of flash with given codes, and codes for a lifetime."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

import softsense
from softsense import ConfigError
from softsense.cli.completing import Name, complete_tables, named_tables
from softsense.cli.options import (
    LEVELS,
    config_argument,
    config_options,
    example,
    folder_option,
    no_progress_option,
    picture_option,
)
from softsense.cli.output import check_picture, command_line, progress_bars, save_picture
from softsense.cli.ranges import whole_numbers
from softsense.files import replacing

if TYPE_CHECKING:
    from softsense.design import Law


@click.command(
    "lifetime", epilog=example("softsense lifetime mlc-25nm --tables adaptive-5-6,adaptive-1-2 --set read.max_level=1")
)
@config_argument
@click.option(
    "--tables",
    metavar="LIST",
    default="",
    shell_complete=complete_tables,
    callback=named_tables,
    help="Decode tables, one for each code; default: the config's.",
)
@click.option(
    "--utilisation",
    "utilisations",
    metavar="LIST",
    default="",
    help="Shares of the data capacity that users get, such as 0.7,0.9; default: the config's.",
)
@click.option("--uber", default=1e-14, help="Most decoding failures per data bit read; default: 1e-14.")
@click.option("--mean-iterations", type=float, help="Largest mean number of decoding iterations; default: no limit.")
@click.option(
    "--level",
    type=LEVELS,
    help="Deepest read level, whose failures count; default: the config's read.max_level, or a table's deepest.",
)
@config_options
@picture_option("the lifetimes")
@folder_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@no_progress_option
def lifetime_command(
    config: Path,
    tables: str,
    utilisations: str,
    uber: float,
    mean_iterations: float | None,
    level: int | None,
    overrides: tuple[str, ...],
    seed: int | None,
    picture: Path | None,
    out: Path | None,
    as_json: bool,
    no_progress: bool,
) -> None:
    """Compute how much can be written before codes give up.

    Several codes are also used one after the other, each until it no longer meets the limits. The raw bit error rates
    by wear and the age of data are those of CONFIG. Failure rates come from decode tables, and write amplification is
    simulated. With [reliability.bch] the codes are CONFIG's.
    """
    from softsense import lifetime
    from softsense import tables as texts
    from softsense.folders import Folder
    from softsense.manifests import Manifest, of_config

    if picture:
        check_picture(picture)
    resolved = softsense.load_config(config, overrides, seed=seed)
    try:
        shares = [float(word) for word in utilisations.split(",") if word.strip()]
    except ValueError:
        raise ConfigError(f"--utilisation: found {utilisations}, expected numbers such as 0.7,0.9") from None
    # A folder that cannot be written is an error before anything is simulated.
    with Folder(out) if out else contextlib.nullcontext() as folder:
        with progress_bars(no_progress, "steps") as report:
            found = lifetime.lifetime(
                resolved,
                # Commas within the name of a BCH code, as in bch:m=15,t=57,k=31912, separate nothing.
                [word.strip() for word in re.split(r",(?![mtk]=)", tables) if word.strip()],
                utilisations=shares,
                demand=lifetime.Demand(uber, mean_iterations, level),
                progress=report,
            )
        document, table = json.dumps(found.to_dict(), indent=2), texts.lifetime(found)
        click.echo(document if as_json else table)
        if folder:
            asked = {
                "tables": tables,
                "utilisation": shares,
                "uber": uber,
                "mean_iterations": mean_iterations,
                "level": level,
            }
            seeds = [resolved.fields.seed]
            folder.write("config.toml", resolved.to_toml())
            folder.write("lifetime.json", document + "\n")
            folder.write("table.txt", table + "\n")
            folder.sign(Manifest("lifetime", command_line(), of_config(config, resolved), seeds=seeds, asked=asked))
            if not as_json:
                click.echo(f"\nwrote {', '.join(map(str, folder.written()))}")
    if picture:
        save_picture(picture, lifetime.draw(found), as_json)


@click.group("design")
def design_group() -> None:
    """Design error correction."""


@design_group.command(
    "ecc-by-age", epilog=example("softsense design ecc-by-age mlc-lae --rber 16000:3e-4,25000:8e-4 --out by-age.toml")
)
@config_argument
@click.option(
    "--rber",
    "points",
    metavar="LIST",
    default="",
    help="Raw bit error rates by P/E cycles, such as 16000:3e-4,25000:8e-4; default: those of CONFIG.",
)
@click.option(
    "--law",
    default="power_law",
    type=Name(["power_law", "exponential"]),
    help="Curve through the points: power_law (default) or exponential.",
)
@click.option(
    "--stages",
    type=Name(["points", "room"]),
    help="When a stage ends: at each of the points (default with --rber), or when the strongest "
    "code that its room allows no longer suffices (room).",
)
@click.option(
    "--squeeze",
    "squeezes",
    metavar="LIST",
    default="",
    help="Bytes of a unit's data space that parity may take, such as 128,256; default: none, or what the points need.",
)
@click.option("--oob-bytes", type=int, help="Bytes of the out-of-band area of a unit; default: that of CONFIG.")
@click.option("--uber", default=1e-15, help="Most failed codewords per data bit read; default: 1e-15.")
@click.option(
    "--code",
    default="bch",
    type=Name(["bch", "ldpc"]),
    help="Kind of codes: bch (default) or ldpc, with measured decode tables.",
)
@click.option(
    "--tables",
    metavar="LIST",
    default="",
    shell_complete=complete_tables,
    callback=named_tables,
    help="Decode tables of LDPC codes to choose from; default: the shipped adaptive-*.",
)
@click.option("--level", default=1, type=LEVELS, help="Read level of LDPC codes; default: 1, hard decision.")
@config_options
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the whole config, ready to run: .toml."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
def design_ecc_by_age(
    config: Path,
    points: str,
    law: Law,
    stages: Literal["points", "room"] | None,
    squeezes: str,
    oob_bytes: int | None,
    uber: float,
    code: Literal["bch", "ldpc"],
    tables: str,
    level: int,
    overrides: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Choose codes by the age of the flash pages of CONFIG.

    Chooses how strong each code is, where its parity lies, and until which age it is used. Young blocks get the
    shortest codewords whose parity fits the out-of-band area; old ones get codewords of a whole unit, whose parity
    takes space from the data. The result is printed as a section of a config; --out writes the whole config.
    """
    from softsense import design
    from softsense import tables as texts

    found = design.ecc_by_age(
        softsense.load_config(config, overrides, seed=seed),
        points=_wear_points(points),
        law=law,
        stages=stages,
        squeezes=whole_numbers("--squeeze", squeezes, "128,256"),
        oob_bytes=oob_bytes,
        uber=uber,
        code=code,
        tables=[word.strip() for word in tables.split(",") if word.strip()],
        level=level,
    )
    if out:
        with replacing(out) as path:
            path.write_text(found.config.to_toml(), encoding="utf-8")
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else texts.design(found))
    if out and not as_json:
        click.echo(f"\nwrote {out}: softsense run {out}")


def _wear_points(text: str) -> list[tuple[int, float]]:
    """Pairs of P/E cycles and raw bit error rate from the text of an option."""
    pairs = [word.split(":") for word in text.split(",") if word.strip()]
    try:
        return [(int(pe_cycles), float(rber)) for pe_cycles, rber in pairs]
    except ValueError:
        raise ConfigError(
            f"--rber: found {text}, expected P/E cycles and rates such as 16000:3e-4,25000:8e-4"
        ) from None
