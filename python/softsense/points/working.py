"""The work of a sweep's workers: simulations in processes of their own."""

from __future__ import annotations

import contextlib
import functools
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import MAX_LEVEL, Config, SoftsenseError, TraceError
from softsense.api import run
from softsense.executing import hearing_ctrl_c
from softsense.files import sha256_of
from softsense.own import own_error, provided
from softsense.points.columns import FOLLOWS_AGE, LIFETIME_COLUMNS, SUMMARY_COLUMNS
from softsense.points.planned import Job
from softsense.read_policies import follows_age
from softsense.terminal import escape_output
from softsense.traces import Trace

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event


class _StopError(Exception):
    """A signal that ends a simulation whose result is no longer needed."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job.

    Attributes:
        sha256: identity of the config that the worker made.
        numbers: numbers by column; None if it failed.
        error: the reason why it failed.
        stopped: whether it was stopped.
    """

    sha256: str
    numbers: dict[str, float | None] | None = None
    error: str | None = None
    stopped: bool = False


_stop: Event | None = None


def work(job: Job) -> Outcome:
    """Simulate a point, or find a lifetime, in this process. A fault of the job is an outcome, not an exception."""
    sha256 = job.sha256
    try:
        _stop_if_sweep_ended()
        with provided(dict(job.own)):
            config = Config.from_toml(job.text, job.origin, list(job.overrides))
        sha256 = config.sha256
        numbers = _numbers(config, job) if job.demand is None else _lifetime_numbers(config, job.demand)
    except _StopError:
        return Outcome(sha256, stopped=True)
    except SoftsenseError as error:
        return Outcome(sha256, error="\n".join(" ".join(line.split()) for line in str(error).splitlines()))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # Panics of the core are no Exception, but are caught too: a bug in one point is not to cost the others.
        what = f"{type(error).__name__}: {error}"
        if own := own_error(error):
            what = f"{own[0]}: {what} ({own[1]})"
        return Outcome(sha256, error=" ".join(what.split()))
    return Outcome(sha256, numbers)


def _numbers(config: Config, job: Job) -> dict[str, float | None]:
    trace = None if job.trace is None else _opened(*job.trace)
    return flat(config, run(config, trace, beyond=job.beyond, progress=_stop_if_sweep_ended).summary)


def _stop_if_sweep_ended(*_: object) -> None:
    """End the running simulation, which calls this now and then, if the sweep has ended."""
    if _stop and _stop.is_set():
        raise _StopError


def flat(config: Config, summary: Mapping[str, Any]) -> dict[str, float | None]:
    """The columns of a summary; None where the summary has no number."""
    numbers: dict[str, float | None] = {"user_bytes": config.user_bytes}
    for column in SUMMARY_COLUMNS:
        found: Any = summary
        for key in column.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        numbers.setdefault(column, found)
    levels = summary["codeword_reads"]["level_histogram"]
    numbers |= {f"codeword_reads.level_{level}": count for level, count in enumerate(levels[:MAX_LEVEL], start=1)}
    return numbers | {FOLLOWS_AGE: int(follows_age(summary))}


def _lifetime_numbers(config: Config, demand: str) -> dict[str, float | None]:
    from softsense.lifetime import Demand, lifetime

    # The adaptive scheme comes last; with one code there is none.
    found = lifetime(config, demand=Demand(**json.loads(demand))).frame.to_dicts()[-1]
    return {column: found[column.removeprefix("lifetime.")] for column in LIFETIME_COLUMNS}


@functools.lru_cache(maxsize=8)
def _opened(path: str, options: tuple[tuple[str, Any], ...], sha256: str) -> Trace:
    """A trace, scanned once in each process."""
    if sha256_of(Path(path)) != sha256:
        raise TraceError(
            f"{path}: found other content than at the start of the sweep, expected an unchanged file: restore the "
            "file, or start the sweep in a new folder (--out)"
        )
    return Trace(path, **dict(options))


def _begin(stop: Event) -> None:
    """Make a process a worker, which ends when the sweep ends."""
    global _stop
    _stop = stop
    escape_output()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A pool's processes wait for work for ever if the process that would give it to them is killed.
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """A context in which new processes never hear Ctrl-C, which terminals send to all: the sweep hears it for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Processes:
    """A pool of processes on this machine that is replaced when one of them dies."""

    here = False

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._pool: ProcessPoolExecutor | None = None

    @property
    def most(self) -> int:
        """Number of jobs that they have at a time."""
        return 2 * self._workers

    def submit(self, job: Job) -> Future[Any]:
        """Hand a job to a process."""
        with _ctrl_c_blocked():
            try:
                return self._started().submit(work, job)
            except BrokenProcessPool:
                self.close(stop=False)
                return self._started().submit(work, job)

    def close(self, *, stop: bool) -> None:
        """End the processes; with `stop` even those that are at work."""
        if stop:
            self._stop.set()
        # A process that is still starting fetches its state from the pool, which must not be dropped by Ctrl-C
        # meanwhile.
        with hearing_ctrl_c():
            if self._pool:
                self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, self._context, initializer=_begin, initargs=(self._stop,))
        return self._pool
