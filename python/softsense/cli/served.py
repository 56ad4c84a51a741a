"""`softsense drive`: drives that are served."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import softsense
from softsense import ConfigError
from softsense.background import in_background
from softsense.cli.completing import complete_fault, one_of
from softsense.cli.exits import INTERRUPTED
from softsense.cli.options import config_argument, config_options, example, retention_option
from softsense.cli.output import check_suffix, check_writable, width
from softsense.cli.ranges import Whole
from softsense.terminal import escaped, steer

_drive_argument = click.argument("drive", metavar="DRIVE", type=click.Path(path_type=Path))

_page_option = click.option(
    "--page",
    "page_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the drive's status to this page, and renew it while the command runs: .html.",
)


@click.group("drive")
def drive_group() -> None:
    """Serve a drive to mount; age, break and watch it."""


@drive_group.command("serve", epilog=example("softsense drive serve tlc-femu --size 2GiB --socket disk.sock"))
@config_argument
@click.option("--size", metavar="SIZE", help="Size of a new drive, such as 2GiB; an existing image has its own.")
@click.option("--socket", type=click.Path(path_type=Path), metavar="FILE", help="Listen on a unix socket.")
@click.option("--port", type=Whole(1, 65_535), help="Listen on this TCP port of 127.0.0.1 instead.")
@click.option(
    "--image",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder that holds the flash, created if it does not exist; default: disk.image for the socket disk.sock.",
)
@click.option("--real-time", is_flag=True, help="Let requests take as long as on the modelled drive.")
@click.option("--parity/--no-parity", default=True, help="Keep parity across dies, or not; default: parity.")
@click.option(
    "--refresh",
    metavar="TIME",
    help="Rewrite data when it is this old, such as 30d; default: ftl.refresh of the config, or never.",
)
@click.option(
    "--write-cache",
    default="protected",
    metavar="KIND",
    shell_complete=one_of("protected", "volatile"),
    help="Write cache: protected (by capacitors, default), or volatile (data that was not flushed "
    "is lost when power fails).",
)
@click.option("--read-only", is_flag=True, help="Refuse writes.")
@_page_option
@click.option(
    "--script",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file of events: what happens to the drive, and when.",
)
@config_options
@click.option("--json", "as_json", is_flag=True, help="Print only where the drive is served, as one JSON document.")
def serve_command(
    config: Path,
    size: str | None,
    refresh: str | None,
    page_file: Path | None,
    script: Path | None,
    overrides: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Serve a drive as an NBD block device, until Ctrl-C.

    The drive has the flash and the error correction of CONFIG. Data written to it is scrambled, encoded and programmed
    into cells that age; reads really sense and decode them. `softsense drive age` ages the drive, `fault` breaks parts
    of it, `status` shows its state. The image keeps everything: the same command continues with it.
    """
    from softsense.serve import foreground, units
    from softsense.serve.events import Script

    resolved = softsense.load_config(config, overrides, seed=seed)
    hours = None if refresh is None else units.parse_hours(refresh, "--refresh")
    size_bytes = None if size is None else units.parse_size(size, "--size")
    served = foreground.Options(size_bytes=size_bytes, refresh_hours=hours, seed=seed, config=config.name, **options)
    served.check()
    events = Script.open(script) if script else None
    _check_page(page_file)
    server = foreground.opened(resolved, served)
    if as_json:
        known = {
            "config": os.fspath(config),
            "address": server.address,
            "control": os.path.abspath(server.control),
            "image": str(served.folder.absolute()),
            "without_effect": server.without_effect,
        }
        click.echo(json.dumps(known, indent=2))
    else:
        click.echo(foreground.introduction(os.fspath(config), server, served.folder))
    sys.stdout.flush()
    say = _say_in_place() if sys.stdout.isatty() else click.echo
    say = (lambda _: None) if as_json else say
    ended = foreground.serve(server, served.folder, events, page_file, say=say)
    return INTERRUPTED if ended else 0


@drive_group.command("age", epilog=example("softsense drive age disk.sock --retention 365d --pe-cycles 1000"))
@_drive_argument
@retention_option("0s", "Time that passes for the data, such as 365d or 12h; a number alone is days; default: none.")
@click.option(
    "--temperature", default=40.0, metavar="C", help="Temperature during that time, in degrees Celsius; default: 40."
)
@click.option(
    "--pe-cycles",
    "--pe",
    "pe_cycles",
    default=0,
    type=Whole(0, 10**6),
    help="P/E cycles to add to every block; default: 0.",
)
@click.option("--reads", default=0, type=Whole(0, 10**12), help="Reads to add to every block; default: 0.")
@click.option(
    "--powered",
    is_flag=True,
    help="The drive is powered meanwhile, and refreshes and reclaims data; default: it lies on a shelf.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the new ages as one JSON document.")
def age_command(
    drive: Path, retention: str, temperature: float, pe_cycles: int, reads: int, powered: bool, as_json: bool
) -> None:
    """Age a served DRIVE at once by time, wear and reads.

    DRIVE is the socket of `softsense drive serve`, or the folder of its image.
    """
    from softsense.serve import text, units

    hours = units.parse_hours(retention, "--retention")
    if not (hours or pe_cycles or reads):
        raise ConfigError("--retention: found no ageing, expected at least one of --retention, --pe-cycles and --reads")
    if not -273.15 < temperature < 1000:
        raise ConfigError(
            f"--temperature: found {temperature:g}, expected degrees Celsius above -273.15 and below 1000"
        )
    aged = {"retention_hours": hours, "temperature_c": temperature, "pe_cycles": pe_cycles, "reads": reads}
    _print_answer(_asked(drive, {"age": {**aged, "powered": powered}}), as_json, text.aged)


@drive_group.command("status", epilog=example("softsense drive status disk.sock"))
@_drive_argument
@click.option("--watch", is_flag=True, help="Show the status again every two seconds, until Ctrl-C.")
@_page_option
@click.option("--json", "as_json", is_flag=True, help="Print the status as one JSON document.")
def status_command(drive: Path, watch: bool, page_file: Path | None, as_json: bool) -> None:
    """Show the status of a served DRIVE.

    Shows lost data, how hard data is to read, and wear. DRIVE is the socket of `softsense drive serve`, or the
    folder of its image.
    """
    from softsense.serve import client, text, watching

    if watch and as_json:
        raise ConfigError(
            "--json: found together with --watch, expected only one of the two: --json prints one document"
        )
    _check_page(page_file)
    with client.Drive(drive) as asked:
        if watch:
            watching.watch(asked, page_file)
            return
        status = in_background(asked.status)
    if page_file:
        watching.write_page(page_file, status, live=False)
    _print_answer(status, as_json, text.told)
    if page_file and not as_json:
        click.echo(f"\nwrote {page_file}")


@drive_group.command("fault", epilog=example("softsense drive fault disk.sock kill-die 3"))
@_drive_argument
@click.argument("words", metavar="FAULT [N]...", nargs=-1, shell_complete=complete_fault)
@click.option("--json", "as_json", is_flag=True, help="Print the drive's answer as one JSON document.")
def fault_command(drive: Path, words: tuple[str, ...], as_json: bool) -> None:
    """Break a part of a served DRIVE.

    FAULT is kill-die DIE, kill-plane PLANE, kill-block DIE PLANE BLOCK, flip-bits LBA BITS, drop-power or heal.
    drop-power cuts the power and restores it; heal repairs dies, planes and blocks that were killed. DRIVE is
    the socket of `softsense drive serve`, or the folder of its image.
    """
    from softsense.serve import faults, text

    fault = {"fault": faults.from_words(words, "FAULT")}
    answer = _asked(drive, fault)
    _print_answer({**fault, **answer}, as_json, lambda _: text.answer(answer))


@drive_group.command("scrub", epilog=example("softsense drive scrub disk.sock"))
@_drive_argument
@click.option("--json", "as_json", is_flag=True, help="Print the counts as one JSON document.")
def scrub_command(drive: Path, as_json: bool) -> None:
    """Read all data of a served DRIVE, and rewrite weak data.

    Every codeword is read through the drive's error correction. DRIVE is the socket of `softsense drive serve`, or the
    folder of its image.
    """
    from softsense.serve import text

    _print_answer(_asked(drive, {"scrub": {}}), as_json, text.answer)


def _asked(drive: Path, request: dict[str, Any]) -> dict[str, Any]:
    from softsense.serve import client

    with client.Drive(drive) as asked:
        # Ageing and scrubbing may take long.
        return in_background(lambda: asked.ask(request))


def _print_answer(answer: dict[str, Any], as_json: bool, told: Callable[[dict[str, Any]], str]) -> None:
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else told(answer))


def _check_page(file: Path | None) -> None:
    if file:
        check_suffix(file, ".html")
        check_writable(file, force=True)


def _say_in_place() -> Callable[[str], None]:
    """A function that prints a line in place of the last one, cut to the width of the terminal."""

    def say(line: str) -> None:
        steer("\r\x1b[K")
        click.echo(escaped(line)[: width() - 1], nl=False)

    return say
