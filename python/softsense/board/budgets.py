"""Core time that is spent: measured, kept within a budget, and remembered by a store."""

from __future__ import annotations

import hashlib
import json
import signal
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from softsense.base import Progress
from softsense.store import Store

_T = TypeVar("_T")


class Budget:
    """The core time of a measurement, in seconds of this process.

    Args:
        seconds: the most that may be spent.
        store: the store that remembers what earlier runs of the same measurement spent.
        identity: a hash of the inputs of the measurement.
        progress: called now and then, as `measure_fer` takes it.

    Attributes:
        parts: seconds by part.
        short: parts that ended early, or never began, as the budget was spent.
    """

    def __init__(self, seconds: float, store: Store, identity: str, progress: Progress | None = None) -> None:
        self._seconds, self._store, self._progress = seconds, store, progress
        self._identity = hashlib.sha256(json.dumps(["board", identity]).encode()).hexdigest()
        self._began = time.process_time()
        self._asked = False
        self.parts: dict[str, float] = {}
        self.short: list[str] = []

    @property
    def spent(self) -> float:
        """Core seconds that were spent so far, those of earlier runs included."""
        return sum(self.parts.values())

    def run(self, part: str, do: Callable[[Progress], _T]) -> _T | None:
        """Do a part, unless the budget is spent; None if it was not done.

        When the budget ends meanwhile, the part ends as with Ctrl-C, and counts as not done: what it has depends on the
        speed of the machine. A real Ctrl-C raises `KeyboardInterrupt`.
        """
        if self.spent >= self._seconds:
            self.short.append(part)
            return None
        began = time.process_time()
        before = self.spent
        self._asked = False

        def follow(name: str, count: int, fraction: float) -> None:
            if self._progress:
                self._progress(f"{part}: {name}", count, min(1.0, before / self._seconds))
            used = before + time.process_time() - began
            if used >= self._seconds and not self._asked and threading.current_thread() is threading.main_thread():
                self._asked = True
                # Jobs under way end as with Ctrl-C, and their counts are kept.
                signal.raise_signal(signal.SIGINT)

        try:
            found = do(follow)
        except KeyboardInterrupt:
            self._note(part, time.process_time() - began)
            if not self._asked:
                raise
            self.short.append(part)
            return None
        self._note(part, time.process_time() - began)
        if self._asked:
            self.short.append(part)
            return None
        return found

    def _note(self, part: str, seconds: float) -> None:
        """Add what a part took. A run that goes on from a store adds what the first one took for it."""
        number = len(self.parts)
        earlier = self._store.result(self._identity, number)
        took = max(seconds, earlier["seconds"]) if earlier and earlier["part"] == part else seconds
        if not earlier and not self._asked:
            self._store.add_result(self._identity, number, {"part": part, "seconds": took})
        self.parts[part] = took
