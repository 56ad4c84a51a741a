"""The repeated display of the status of a served drive: on a terminal, and on a page."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click

from softsense.files import replacing
from softsense.serve import text
from softsense.serve.client import Drive
from softsense.serve.page import page
from softsense.terminal import steer

_EVERY_S = 2.0


def watch(drive: Drive, page_file: Path | None) -> None:
    """Show the status every two seconds, in place on a terminal, until Ctrl-C or the drive's end.

    Raises `FileError` when the drive is gone, or the page cannot be written.
    """
    while True:
        status = drive.status()
        if page_file:
            write_page(page_file, status)
        if sys.stdout.isatty():
            steer("\x1b[2J\x1b[H")
        click.echo(text.told(status) + ("" if sys.stdout.isatty() else "\n"))
        sys.stdout.flush()
        time.sleep(_EVERY_S)


def write_page(file: Path, status: dict[str, Any], *, address: str = "", live: bool = True) -> None:
    """Write the page of a status. Raises `FileError`."""
    with replacing(file) as partial:
        partial.write_text(page(status, address=address, live=live), encoding="utf-8")
