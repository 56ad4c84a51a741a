"""`softsense lifetime` and `design`: what flash bears with which codes."""

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
from softsense.cli.options import LEVELS, config_argument, config_options, folder_option, no_progress_option
from softsense.cli.output import Folder, check_picture, command_line, progress_bars
from softsense.files import replacing
from softsense.folders import Manifest, of_config

if TYPE_CHECKING:
    from softsense.design import Law


@click.command("lifetime")
@config_argument
@click.option(
    "--tables",
    metavar="LIST",
    default="",
    shell_complete=complete_tables,
    callback=named_tables,
    help="Decode tables, one for each code; default: that of the config.",
)
@click.option(
    "--utilisation",
    "utilisations",
    metavar="LIST",
    default="",
    help="Shares of the data capacity that the user has, such as 0.7,0.9; default: that of the config.",
)
@click.option("--uber", default=1e-14, help="Failed decodes for each data bit read, at most; default: 1e-14.")
@click.option("--mean-iterations", type=float, help="Decoding iterations in the mean, at most; default: any number.")
@click.option("--level", default=1, type=LEVELS, help="The read level; default: 1, hard decision.")
@config_options
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@folder_option
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
@no_progress_option
def lifetime_command(
    config: Path,
    tables: str,
    utilisations: str,
    uber: float,
    mean_iterations: float | None,
    level: int,
    overrides: tuple[str, ...],
    seed: int | None,
    picture: Path | None,
    out: Path | None,
    as_json: bool,
    no_progress: bool,
) -> None:
    """How much can be written to CONFIG's flash until its code gives up, or several codes, one after the other.

    The raw bit error rate by wear, and the age of data, are those of the config; how often decoding fails is in decode
    tables; write amplification is simulated. With `reliability.bch` the codes are CONFIG's.
    """
    from softsense import lifetime
    from softsense import tables as texts

    if picture:
        check_picture(picture)
    resolved = softsense.load_config(config, overrides, seed=seed)
    try:
        shares = [float(word) for word in utilisations.split(",") if word.strip()]
    except ValueError:
        raise ConfigError(f"--utilisation: found {utilisations}, expected numbers such as 0.7,0.9") from None
    # What cannot be written is said before anything is simulated.
    with Folder(out) if out else contextlib.nullcontext(), progress_bars(no_progress, "steps") as report:
        found = lifetime.lifetime(
            resolved,
            # Not where a BCH code goes on, as in bch:m=15,t=57,k=31912.
            [word.strip() for word in re.split(r",(?![mtk]=)", tables) if word.strip()],
            utilisations=shares,
            demand=lifetime.Demand(uber, mean_iterations, level),
            progress=report,
        )
    document, table = json.dumps(found.to_dict(), indent=2), texts.lifetime(found)
    click.echo(document if as_json else table)
    if out:
        asked = {
            "tables": tables,
            "utilisation": shares,
            "uber": uber,
            "mean_iterations": mean_iterations,
            "level": level,
        }
        seeds = [int(json.loads(resolved.to_json())["seed"])]
        with Folder(out) as folder:
            folder.write("config.toml", resolved.to_toml())
            folder.write("lifetime.json", document + "\n")
            folder.write("table.txt", table + "\n")
            folder.sign(Manifest("lifetime", command_line(), of_config(config, resolved), seeds=seeds, asked=asked))
        if not as_json:
            click.echo(f"\nwrote {', '.join(map(str, folder.written()))}")
    if picture:
        with replacing(picture) as path:
            lifetime.draw(found).savefig(path)
        if not as_json:
            click.echo(f"\nwrote {picture}")


@click.group("design")
def design_group() -> None:
    """Design error correction."""


@design_group.command("ecc-by-age")
@config_argument
@click.option(
    "--rber",
    "points",
    metavar="LIST",
    default="",
    help="Raw bit error rates after so many P/E cycles, such as 16000:3e-4,25000:8e-4; default: those of CONFIG.",
)
@click.option(
    "--law",
    default="power_law",
    type=Name(["power_law", "exponential"]),
    help="What is laid through the points: power_law (default) or exponential.",
)
@click.option(
    "--stages",
    type=Name(["points", "room"]),
    help="A stage ends at each of the points (default with --rber), or lasts as long as the strongest code that fits.",
)
@click.option(
    "--squeeze",
    "squeezes",
    metavar="LIST",
    default="",
    help="Bytes by which the data of a unit may shrink for parity, such as 128,256; default: none, or as points need.",
)
@click.option("--oob-bytes", type=int, help="Out-of-band area of a unit, bytes; default: that of CONFIG.")
@click.option("--uber", default=1e-15, help="Failed codewords for each bit of data read, at most; default: 1e-15.")
@click.option("--code", default="bch", type=Name(["bch", "ldpc"]), help="bch (default), or measured LDPC codes.")
@click.option(
    "--tables",
    metavar="LIST",
    default="",
    shell_complete=complete_tables,
    callback=named_tables,
    help="Of LDPC codes, decode tables to choose from; default: the shipped adaptive-*.",
)
@click.option("--level", default=1, type=LEVELS, help="Of LDPC codes, the read level; default: 1, hard decision.")
@config_options
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the whole config, ready to run.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
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
    """Choose codes for the life of the pages of CONFIG: of what strength, where their parity lies, until when.

    Young blocks have the shortest codewords whose parity fits the out-of-band area, old ones codewords of a whole unit
    whose parity takes room of the data. What is printed is a section of a config; --out writes all of it.
    """
    from softsense import design
    from softsense import tables as texts

    found = design.ecc_by_age(
        softsense.load_config(config, overrides, seed=seed),
        points=_wear_points(points),
        law=law,
        stages=stages,
        squeezes=_whole_numbers("--squeeze", squeezes),
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
    """P/E cycles and raw bit error rates of an option."""
    pairs = [word.split(":") for word in text.split(",") if word.strip()]
    try:
        return [(int(pe_cycles), float(rber)) for pe_cycles, rber in pairs]
    except ValueError:
        raise ConfigError(
            f"--rber: found {text}, expected P/E cycles and rates such as 16000:3e-4,25000:8e-4"
        ) from None


def _whole_numbers(option: str, text: str) -> list[int]:
    try:
        found = [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        found = [-1]
    if any(number < 0 for number in found):
        raise ConfigError(f"{option}: found {text}, expected whole numbers such as 128,256")
    return found
