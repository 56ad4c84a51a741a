"""`softsense serve`, `age`, `status`, `fault` and `scrub`: drives that are served."""

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
from softsense.cli.options import config_argument, config_options, retention_option
from softsense.cli.output import check_suffix, check_writable, width

_drive_argument = click.argument("drive", metavar="DRIVE", type=click.Path(path_type=Path))

_page_option = click.option(
    "--page", "page_file", type=click.Path(path_type=Path), metavar="FILE", help="Keep a page with its status: .html."
)


@click.command("serve")
@config_argument
@click.option("--size", metavar="SIZE", help="Of a new drive, such as 2GiB; one that is there knows its own.")
@click.option("--socket", type=click.Path(path_type=Path), metavar="FILE", help="Listen on a unix socket.")
@click.option("--port", type=click.IntRange(1, 65_535), help="Listen on this TCP port of 127.0.0.1 instead.")
@click.option(
    "--image",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where the flash is kept, made if it is not there; default: disk.image for the socket disk.sock.",
)
@click.option("--real-time", is_flag=True, help="Requests take as long as the drive would take.")
@click.option("--parity/--no-parity", default=True, help="Keep parity across dies, or none; default: parity.")
@click.option("--refresh", metavar="TIME", help="Write data anew after so long, such as 30d; default: never.")
@click.option(
    "--write-cache",
    default="protected",
    metavar="KIND",
    shell_complete=one_of("protected", "volatile"),
    help="protected (default) by capacitors, or volatile: what was not flushed is lost with the power.",
)
@click.option("--read-only", is_flag=True, help="Refuse writes.")
@_page_option
@click.option("--script", type=click.Path(path_type=Path), metavar="FILE", help="What happens to it, and when: TOML.")
@config_options
@click.option("--json", "as_json", is_flag=True, help="Say where it is as one JSON document, and nothing else.")
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
    """Serve a drive with the flash and the error correction of CONFIG as an NBD block device, until Ctrl-C.

    What is written is scrambled, encoded and programmed into cells that age; what is read is sensed and decoded really.
    `softsense age` makes it old, `fault` breaks it, `status` tells how it is. The image keeps everything: the same
    command goes on with it.
    """
    from softsense.serve import foreground, units
    from softsense.serve.events import Script

    resolved = softsense.load_config(config, overrides, seed=seed)
    hours = None if refresh is None else units.parse_hours(refresh, "--refresh")
    size_bytes = None if size is None else units.parse_size(size, "--size")
    served = foreground.Options(size_bytes=size_bytes, refresh_hours=hours, seed=seed, **options)
    served.check()
    events = Script.open(script) if script else None
    _check_page(page_file)
    server = foreground.opened(resolved, served)
    if as_json:
        known = {
            "address": server.address,
            "control": os.path.abspath(server.control),
            "image": str(served.folder.absolute()),
        }
        click.echo(json.dumps(known, indent=2))
    else:
        click.echo(foreground.introduction(server.address, served.folder))
    sys.stdout.flush()
    say = _say_in_place() if sys.stdout.isatty() else click.echo
    ended = foreground.serve(server, served.folder, events, page_file, say=(lambda _: None) if as_json else say)
    return INTERRUPTED if ended else 0


@click.command("age")
@_drive_argument
@retention_option("0s", "So long its data lies, such as 365d or 12h; a number alone is days.")
@click.option("--temperature", default=40.0, metavar="C", help="Meanwhile, degrees Celsius; default: 40.")
@click.option(
    "--pe", "--pe-cycles", "pe_cycles", default=0, type=click.IntRange(0, 10**6), help="More P/E cycles of every block."
)
@click.option("--reads", default=0, type=click.IntRange(0, 10**12), help="More reads of every block.")
@click.option("--powered", is_flag=True, help="It refreshes and reclaims meanwhile; default: it lies on a shelf.")
@click.option("--json", "as_json", is_flag=True, help="Print its ages as one JSON document.")
def age_command(
    drive: Path, retention: str, temperature: float, pe_cycles: int, reads: int, powered: bool, as_json: bool
) -> None:
    """Make a served DRIVE older: time, wear and reads go by at once.

    DRIVE is the socket of `softsense serve`, or the folder of its image.
    """
    from softsense.serve import text, units

    hours = units.parse_hours(retention, "--retention")
    if not (hours or pe_cycles or reads):
        raise ConfigError("--retention: found nothing that ages the drive, expected --retention, --pe or --reads")
    if not -273.15 < temperature < 1000:
        raise ConfigError(f"--temperature: found {temperature:g}, expected degrees Celsius")
    aged = {"retention_hours": hours, "temperature_c": temperature, "pe_cycles": pe_cycles, "reads": reads}
    _print_answer(_asked(drive, {"age": {**aged, "powered": powered}}), as_json, text.aged)


@click.command("status")
@_drive_argument
@click.option("--watch", is_flag=True, help="Show it again every two seconds, until Ctrl-C.")
@_page_option
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def status_command(drive: Path, watch: bool, page_file: Path | None, as_json: bool) -> None:
    """Show how a served DRIVE is: what is lost, how hard it is to read, how worn it is.

    DRIVE is the socket of `softsense serve`, or the folder of its image.
    """
    from softsense.serve import client, text, watching

    if watch and as_json:
        raise ConfigError("--json: found --watch, too, expected one of them: --json is one document")
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


@click.command("fault")
@_drive_argument
@click.argument("words", metavar="FAULT [N]...", nargs=-1, shell_complete=complete_fault)
@click.option("--json", "as_json", is_flag=True, help="Print what the drive answers as one JSON document.")
def fault_command(drive: Path, words: tuple[str, ...], as_json: bool) -> None:
    """Break something in a served DRIVE.

    FAULT is kill-die DIE, kill-plane PLANE, kill-block DIE PLANE BLOCK, flip-bits LBA BITS, drop-power or heal.
    drop-power takes the power away and gives it back; heal mends dies, planes and blocks that were killed. DRIVE is
    the socket of `softsense serve`, or the folder of its image.
    """
    from softsense.serve import faults, text

    fault = {"fault": faults.from_words(words, "FAULT")}
    answer = _asked(drive, fault)
    _print_answer({**fault, **answer}, as_json, lambda _: text.answer(answer))


@click.command("scrub")
@_drive_argument
@click.option("--json", "as_json", is_flag=True, help="Print what was counted as one JSON document.")
def scrub_command(drive: Path, as_json: bool) -> None:
    """Read all data of a served DRIVE through its error correction, and write anew what is weak.

    DRIVE is the socket of `softsense serve`, or the folder of its image.
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
    """Says a line in place of the last one, as wide as the terminal."""

    def say(line: str) -> None:
        click.echo(f"\r\x1b[K{line[: width() - 1]}", nl=False)

    return say
