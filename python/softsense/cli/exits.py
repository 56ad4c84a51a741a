"""How the command ends: its exit codes, and the one line that says what went wrong."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path

from softsense import _core

_OWN_FAILED = 1
_BAD_INPUT = 2
_BUG = 70
INTERRUPTED = 130
NOBODY_READS = 141


def failed(error: BaseException) -> int:
    """Say in one line what went wrong, of the user's own code as Python does, and return the exit code."""
    if hasattr(error, "softsense_own"):
        return _report_own(error)
    if isinstance(error, BrokenPipeError):
        drop_output()
        return NOBODY_READS
    if isinstance(error, OSError):
        if error.filename is None:
            drop_output()
        return complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
    if isinstance(error, UnicodeError):
        return complain("found a name or text that is not UTF-8, expected UTF-8")
    if isinstance(error, MemoryError):
        return complain("found too little memory for this, expected a smaller device or fewer jobs")
    if isinstance(error, ImportError):
        # Nothing is imported that was not installed with softsense.
        return complain(f"cannot load a library, for want of memory or of a whole installation: {error}")
    return _report_bug(error)


def drop_output() -> None:
    """What is still to be written goes nowhere, or Python would complain of it at its end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_own(error: BaseException) -> int:
    """Show what code of the user's own has raised, as Python shows it."""
    from softsense.own import own_traceback

    traceback.print_exception(type(error), error, own_traceback(error))
    return _OWN_FAILED


def _report_bug(error: BaseException) -> int:
    """Say in one line what is wrong with softsense itself; with SOFTSENSE_TRACEBACK set, how it came to it, too."""
    if os.environ.get("SOFTSENSE_TRACEBACK"):
        traceback.print_exception(error)
    # The exception of a panic has no class that could be imported.
    if not (what := _core.last_panic() if type(error).__name__ == "PanicException" else None):
        *_, last = traceback.extract_tb(error.__traceback__)
        what = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    complain(f"softsense has a bug: please report it with this command, its input, and this line: {what}")
    return _BUG


def complain(*faults: str) -> int:
    """Say what is wrong with the input, a line for each fault, and return the exit code."""
    lines = "\n       ".join(" ".join(fault.split()) for fault in faults)
    print(f"error: {lines}", file=sys.stderr)
    return _BAD_INPUT
