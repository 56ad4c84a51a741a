"""Output of commands: tables, JSON, pictures, and progress bars."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softsense import CodeError, FileError
from softsense.base import Progress
from softsense.files import blaming, replacing
from softsense.formats import as_share
from softsense.terminal import escaped, escaping, raw

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.figure import Figure


_PLAIN_WIDTH = 150
_BETWEEN_LINES_S = 10.0


def width() -> int:
    """Columns that a table may have: the terminal's, or 150 in pipes and files."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PLAIN_WIDTH


def print_list(rows: list[dict[str, Any]], as_json: bool, told: Callable[[list[dict[str, Any]]], str]) -> None:
    """Print rows as one JSON document, or as the text that `told` makes of them."""
    click.echo(json.dumps(rows, indent=2) if as_json else told(rows))


def save_picture(picture: Path, drawn: Figure, quiet: bool) -> None:
    """Write a figure to the file that `--picture` names, and say so unless `quiet`."""
    with replacing(picture) as path:
        drawn.savefig(path)
    if not quiet:
        click.echo(f"\nwrote {picture}")


def show_rows(
    rows: list[dict[str, Any]],
    table: Callable[[list[dict[str, Any]]], str],
    as_json: bool,
    picture: Path | None,
    draw: Callable[[ModuleType], Figure],
) -> None:
    """Print rows as a table or as JSON, and draw them if a picture is asked for.

    `draw` is called with `softsense.plots`.
    """
    drawn = None
    if picture:
        check_picture(picture)
        from softsense import plots

        drawn = draw(plots)
    click.echo(json.dumps(rows, indent=2) if as_json else table(rows))
    if picture and drawn:
        save_picture(picture, drawn, as_json)


def say_address(address: str) -> None:
    """Print the address of a local server's page."""
    click.echo(f"{address} (Ctrl-C ends it)")
    sys.stdout.flush()


@contextlib.contextmanager
def progress_bars(off: bool, unit: str = "requests") -> Iterator[Progress]:
    """Progress bars with an estimate of the time left on a terminal; elsewhere a line now and then.

    No output if `off`.
    """
    if off:
        yield lambda name, count, fraction: None
        return
    if not sys.stderr.isatty():
        yield _progress_lines(unit)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # Text that is printed meanwhile goes through the bars, which would act on escape sequences.
    with Progress(*columns, console=Console(file=raw(sys.stderr)), transient=True) as bars, escaping():
        tasks: dict[str, Any] = {}

        def report(name: str, count: int, fraction: float) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(escaped(name), total=1.0, done="", start=False)
            done = f"{count:,} {unit}" if count else ""
            # The estimate must not count the time spent waiting for a free CPU.
            if fraction > 0 and not bars.tasks[tasks[name]].started:
                bars.start_task(tasks[name])
            bars.update(tasks[name], completed=fraction, done=done)

        yield report


def command_line() -> list[str]:
    """The words of the command that runs."""
    context = click.get_current_context(silent=True)
    return list(context.obj or ()) if context else []


def _progress_lines(unit: str) -> Progress:
    """Report the work in progress as a line on standard error every ten seconds, for logs of long runs."""
    said = time.monotonic()

    def report(name: str, count: int, fraction: float) -> None:
        nonlocal said
        now = time.monotonic()
        # Work that has not begun or is done needs no line.
        if now - said < _BETWEEN_LINES_S or not 0 < fraction < 1:
            return
        said = now
        click.echo(f"{name}: {as_share(fraction, 0)}{f', {count:,} {unit}' if count else ''}", err=True)

    return report


def check_picture(file: Path) -> None:
    """Refuse a picture whose suffix is unknown or that could not be written."""
    check_suffix(file, ".png", ".svg", ".pdf")
    check_writable(file, force=True)


def check_suffix(file: Path, *known: str) -> None:
    """Refuse a file whose name has none of the known suffixes."""
    if file.suffix not in known:
        expected = " or ".join(filter(None, (", ".join(known[:-1]), known[-1])))
        raise CodeError(f"{file}: found suffix `{file.suffix}`, expected {expected}")


def check_writable(file: Path, force: bool) -> None:
    """Refuse a file that could not be written, before anything is measured for it."""
    if file.exists() and not force:
        raise FileError(f"{file}: found a file, expected none (--force replaces it)")
    with blaming(file):
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        tempfile.TemporaryFile(dir=file.parent).close()
