"""The progress of a run, in a file beside its results, which `softsense serve-results` reads."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import FileError
from softsense.base import Progress, ShardDone
from softsense.files import read_json, replacing
from softsense.shapes import Between, Shape, misfit

if TYPE_CHECKING:
    from softsense.store import Store

NAME = ".progress.json"
"""Name of the progress file in a folder of results; a store's file has the store's name and this suffix."""

PLAN = ".plan.json"
"""Name of the file with the points that a sweep is to simulate, by identity."""

RUNNING, FINISHED, INTERRUPTED, FAILED = "running", "finished", "interrupted", "failed"

_EVERY_S = 1.0
_MOST_KEPT = 240
_TIME_S = Between(0, 1e11)
# Sums of shares may be a little more than one.
_SHARE = Between(0, 1 + 1e-9)
_TOLD = {
    "what": str,
    "name": str,
    "state": frozenset((RUNNING, FINISHED, INTERRUPTED, FAILED)),
    "process": Between(1, 2**31),
    "started_s": _TIME_S,
    "told_s": _TIME_S,
    "doing": str,
    "count": Between(0, 2**63),
    "fraction": _SHARE,
    "history": [(Between(-1e11, 1e11), _SHARE)],
}
_SCALAR = int | float | bool | str
_PLANNED = {
    "fields": [str],
    "pair": (str, str),
    "of?": Between(0, 2**63),
    "points": [
        {
            "point": int,
            "id": str,
            "setting": {"*": _SCALAR},
            "policy": str | None,
            "trace": str | None,
            "seed": int | None,
        }
    ],
}
_MOST_TOLD_BYTES = 1 << 20


class Following:
    """A progress callback that also writes the progress to a file, about once a second.

    A run continues if the file cannot be written, since the file is no result. A run that ends before anything was done
    leaves no file.

    Args:
        file: the file; None writes nothing.
        what: the command, such as `sweep`.
        name: the name of the sweep, paper or code.
        progress: a callback that is called, too.
    """

    def __init__(self, file: Path | None, what: str, name: str, progress: Progress) -> None:
        self._file, self._progress = file, progress
        self._told: dict[str, Any] = {"what": what, "name": name, "state": RUNNING, "process": os.getpid()}
        self._told |= {"started_s": time.time(), "doing": "", "count": 0, "fraction": 0.0, "history": []}
        self._written = 0.0
        self._begun = False
        self._lock = threading.Lock()

    def __call__(self, doing: str, count: int, fraction: float) -> None:
        """Take the name of the current work, the number done, and the completed fraction."""
        self._progress(doing, count, fraction)
        with self._lock:
            now = time.time()
            self._told |= {"doing": doing, "count": count, "fraction": fraction}
            self._begun = self._begun or fraction > 0
            if self._begun and now - self._written >= _EVERY_S:
                self._write(now)

    def plan(self, file: Path, document: Any) -> None:
        """Write the plan of a run that begins."""
        self._begun = True
        with contextlib.suppress(FileError), replacing(file) as partial:
            partial.write_text(json.dumps(document), encoding="utf-8")

    def ended(self, state: str) -> None:
        """Record how the run ended; only the first call counts."""
        with self._lock:
            if self._told["state"] != RUNNING:
                return
            self._told["state"] = state
            if state == FINISHED:
                self._told["fraction"] = 1.0
            if self._begun or state == FINISHED:
                self._write(time.time())

    def forget(self) -> None:
        """Remove the file of a run without results."""
        with self._lock, contextlib.suppress(OSError):
            self._told["state"] = INTERRUPTED
            if self._file:
                self._file.unlink(missing_ok=True)

    def _write(self, now: float) -> None:
        self._written = now
        history = self._told["history"]
        history.append([round(now - self._told["started_s"], 2), self._told["fraction"]])
        if len(history) > _MOST_KEPT:
            del history[1:-1:2]
        self._told["told_s"] = now
        if self._file:
            with contextlib.suppress(FileError), replacing(self._file) as partial:
                partial.write_text(json.dumps(self._told), encoding="utf-8")


@contextlib.contextmanager
def following(file: Path | None, what: str, name: str, progress: Progress) -> Iterator[Following]:
    """A context with a `Following` that records by itself how the run ended, unless `ended` was called."""
    found = Following(file, what, name, progress)
    state = FAILED
    try:
        yield found
        state = FINISHED
    except ShardDone:
        state = FINISHED
        raise
    except KeyboardInterrupt:
        state = INTERRUPTED
        raise
    finally:
        found.ended(state)


def beside(store: Path | Store | None) -> Path | None:
    """The progress file of a store."""
    path = store if isinstance(store, Path | None) else store.path
    return Path(f"{path}{NAME}") if path else None


def read_told(file: Path) -> dict[str, Any]:
    """The progress that `Following` wrote. Raises `FileError` for any other content, and says what that is."""
    found = _fitting(file, read_json(file, _MOST_TOLD_BYTES), _TOLD)
    return {key: found[key] for key in _TOLD}


def read_plan(file: Path) -> dict[str, Any]:
    """The plan that `Following.plan` wrote for a sweep. Raises `FileError` for other content, and says what that is."""
    return _fitting(file, read_json(file), _PLANNED)


def _fitting(file: Path, found: Any, shape: Shape) -> dict[str, Any]:
    if wrong := misfit(found, shape):
        raise FileError(f"{file}: {wrong}")
    assert isinstance(found, dict)
    return found


def is_running(told: dict[str, Any]) -> bool:
    """Whether a run whose file says that it runs is still alive: a killed run stops writing."""
    if told.get("state") != RUNNING:
        return False
    try:
        os.kill(int(told["process"]), 0)
    except (ProcessLookupError, KeyError, ValueError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
