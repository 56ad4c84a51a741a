"""Long calls of the core in a thread of their own, so that the calling thread still hears Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from softsense._core import StopFlag

T = TypeVar("T")

GRACE_S = 0.4
"""How long work may take to end after Ctrl-C; work that takes longer, such as a very long decode, is abandoned."""

_WAIT_S = 0.1


def in_background(work: Callable[[], T], stop: StopFlag | None = None, watch: Callable[[], None] = lambda: None) -> T:
    """Return what `work` returns, or raise what it raises.

    Args:
        work: runs in a thread of its own.
        stop: is set on Ctrl-C; `work` then soon returns a partial result. Without `stop`, Ctrl-C abandons the work.
        watch: called now and then in the calling thread. An exception that it raises ends the work; `KeyboardInterrupt`
            ends it as Ctrl-C does.

    Raises `KeyboardInterrupt` for work that was abandoned.
    """
    ended = threading.Event()
    returned: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            returned.append(work())
        except BaseException as error:
            raised.append(error)
        finally:
            ended.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        while not ended.wait(_WAIT_S):
            watch()
        watch()
    except BaseException as error:
        if stop:
            stop.set()
        if not isinstance(error, KeyboardInterrupt) or not stop or not ended.wait(GRACE_S):
            raise
    if raised:
        raise raised[0]
    return returned[0]
