"""Simulations in threads, which hear Ctrl-C."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from softsense import _core, records
from softsense._core import Config, StopFlag, Trace
from softsense.background import GRACE_S
from softsense.base import Interrupted, Progress
from softsense.request_log import MOST_LOGGED, RequestLog
from softsense.results import RESPONSE_KINDS, TENANT_KINDS, RunResult
from softsense.run_timeline import RunTimeline

_CHUNK_S = 0.1


@dataclass
class Task:
    """One run to be done: filled in by a worker thread, watched by the calling one."""

    name: str
    config: Config
    log: RequestLog | None
    window: str | None = None
    requests: int = 0
    fraction: float = 0.0
    result: RunResult | None = None
    error: BaseException | None = None
    in_core: bool = False
    """Whether the core is running. It can stop only after its current event, which may be a decode of many iterations.
    """

    def simulate(self, trace: Trace | None, beyond: str, stop: StopFlag) -> None:
        """Run to the end, or until `stop` is set; objects of the core never leave this thread."""
        run = _core.Run(self.config, trace, beyond=beyond, log_requests=self.log is not None, window=self.window)
        chunk, more = 1000, True
        while more and not stop.is_set:
            started = time.perf_counter()
            self.in_core = True
            more = run.advance(chunk, stop)
            self.in_core = False
            if self.log:
                self.log.add(run.take_log())
            self.requests, self.fraction = run.requests, run.fraction
            # Chunks of about a tenth of a second: short enough for Ctrl-C, long enough to cost nothing.
            took = time.perf_counter() - started
            if took < _CHUNK_S / 2 and not (self.log and chunk >= MOST_LOGGED):
                chunk *= 2
            elif took > _CHUNK_S * 2:
                chunk = max(1, chunk // 2)
        if more and not run.requests:
            return
        if self.log:
            self.log.close()
        kinds = {kind: run.distribution(kind) for kind in RESPONSE_KINDS}
        summary = records.read("Summary", run.summary_json(more))
        recording = run.take_recording()
        timeline = RunTimeline(recording) if recording else None
        tenants = range(len(summary.tenants or ()))
        of_tenants = [{kind: run.distribution(kind, number) for kind in TENANT_KINDS} for number in tenants]
        series = json.loads(run.series_json())
        self.result = RunResult(self.name, self.config, summary, kinds, self.log, timeline, series, of_tenants)
        self.fraction = self.fraction if more else 1.0


def simulate_all(
    tasks: list[Task],
    trace: Trace | None,
    beyond: str,
    jobs: int,
    progress: Progress | None,
    measured: Callable[[], Any],
) -> None:
    """Run the tasks in `jobs` threads; the core gives up the GIL while it simulates.

    Each task is a simulation of its own with its own random streams, so the number of threads changes no result.
    """
    waiting = list(reversed(tasks))
    stop = StopFlag()

    def work(ended: threading.Event) -> None:
        try:
            while not stop.is_set:
                try:
                    task = waiting.pop()
                except IndexError:
                    return
                try:
                    task.simulate(trace, beyond, stop)
                except BaseException as error:
                    task.error = error
                    stop.set()
        finally:
            ended.set()

    # Events, as Thread.join of Python 3.11 takes a thread for ended when Ctrl-C interrupts the waiting for it.
    ends = [threading.Event() for _ in range(max(1, min(jobs, len(tasks))))]
    for ended in ends:
        threading.Thread(target=work, args=(ended,), daemon=True).start()
    try:
        for ended in ends:
            while not ended.wait(_CHUNK_S):
                _report(tasks, progress)
    except BaseException as error:
        # Even if `progress` has raised: a thread that is not in the core must not be there when Python ends.
        stop.set()
        given_up = time.monotonic() + GRACE_S
        for ended in ends:
            while not ended.wait(_CHUNK_S / 5) and not (
                time.monotonic() > given_up and any(task.in_core for task in tasks)
            ):
                pass
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(measured()) from None
        raise
    _report(tasks, progress)
    for task in tasks:
        if task.error:
            raise task.error


def _report(tasks: list[Task], progress: Progress | None) -> None:
    if progress:
        for task in tasks:
            progress(task.name, task.requests, task.fraction)
