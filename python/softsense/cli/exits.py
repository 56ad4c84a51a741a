"""The end of the command: its exit codes, and the one line about what went wrong."""

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
    """Print one line that says what went wrong, or a traceback for the user's own code, and return the exit code."""
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
        return complain("found a name or a text that is not UTF-8, expected UTF-8")
    if isinstance(error, MemoryError):
        return complain("found too little memory for the device or the jobs, expected a smaller device or fewer jobs")
    if isinstance(error, ImportError):
        # Everything that is imported was installed with softsense.
        return complain(f"cannot load a library: {error} (memory may be short, or the installation incomplete)")
    return _report_bug(error)


def drop_output() -> None:
    """Redirect the rest of standard output to the null device, or Python would report an error when it exits."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_own(error: BaseException) -> int:
    """Print the traceback of an exception that the user's own code raised."""
    from softsense.own import own_traceback

    traceback.print_exception(type(error), error, own_traceback(error))
    return _OWN_FAILED


def _report_bug(error: BaseException) -> int:
    """Print one line about a bug of softsense, and the traceback if SOFTSENSE_TRACEBACK is set."""
    if os.environ.get("SOFTSENSE_TRACEBACK"):
        traceback.print_exception(error)
    # The class of a panic's exception cannot be imported, only named.
    if not (what := _core.last_panic() if type(error).__name__ == "PanicException" else None):
        *_, last = traceback.extract_tb(error.__traceback__)
        what = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    complain(f"softsense has a bug: please report it with this command, its input, and this line: {what}")
    return _BUG


def complain(*faults: str) -> int:
    """Print the faults of the input, a line each, and return the exit code."""
    lines = "\n       ".join(" ".join(fault.split()) for fault in faults)
    print(f"error: {lines}", file=sys.stderr)
    return _BAD_INPUT
