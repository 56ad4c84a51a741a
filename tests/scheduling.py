"""How much of their time are the workers of a cluster at work in a campaign, and what does it ask of their scheduler?

Too long for the tests: `.venv/bin/python tests/scheduling.py`, a minute. The runner of campaigns hands jobs to a
cluster that exists in virtual time alone: so many workers, each a job at a time and one more waiting; a scheduler that
handles a message after the other, a fifth of a millisecond each; 5 ms of network each way; 50 us a frame. It prints for
10, 100 and 1,000 workers, and for a campaign of strata and one of frames as they come, the share of worker time that is
used, the jobs, and the jobs that end in a second. It ends with 1 if a share is below what is expected.

Source: a scheduler of Dask takes some 200 us a task (docs.dask.org, "Efficiency").
"""

from __future__ import annotations

import hashlib
import heapq
import json
import math
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np

from softsense import runner, sampling, strata
from softsense.runner import Runner
from softsense.store import Store

FRAME_S = 50e-6
UNIT_FRAMES = 910
MESSAGE_S = 0.2e-3
NETWORK_S = 5e-3
CLIENT_S = 1e-3
LEAST_USED = {"strata": {10: 0.9, 100: 0.9, 1000: 0.85}, "as they come": {10: 0.95, 100: 0.95, 1000: 0.95}}


class Task:
    """Frames that fail with a probability that falls with the number of errors."""

    codeword_bits, unit_frames = 36864, UNIT_FRAMES

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.spec_json = json.dumps([seed])
        self.identity = hashlib.sha256(self.spec_json.encode()).hexdigest()

    def failure(self, errors: int | None) -> float:
        """How often frames fail; 2e-6 as they come."""
        return 2e-6 if errors is None else 0.5 * math.erfc((330 - errors) / 12 / math.sqrt(2))

    def count(self, errors: int | None, first_unit: int, units: int) -> dict[str, Any]:
        """As the real one counts, but for that it is drawn by the range."""
        frames = units * UNIT_FRAMES
        chance = np.random.default_rng([self.seed, errors or 0, first_unit])
        failures = int(chance.binomial(frames, self.failure(errors)))
        return {"frames": frames, "failures": failures, "undetected": 0, "iterations": [frames - failures]}


class Cluster(Executor):
    """Workers in virtual time."""

    def __init__(self, workers: int) -> None:
        self._max_workers = workers
        self.clock = self.busy = self._message = 0.0
        self.jobs = 0
        self._free = [0.0] * workers
        self.ends: list[tuple[float, int, Future[Any], Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Takes the worker that is free first."""
        future: Future[Any] = Future()
        self.clock += CLIENT_S
        self._message = max(self._message, self.clock) + MESSAGE_S
        # Earlier versions gave a job one range, as its first unit and a number of units.
        ranges = args[2] if len(args) == 3 else ((args[2], args[2] + args[3]),)
        seconds = sum(end - start for start, end in ranges) * UNIT_FRAMES * FRAME_S
        start = max(heapq.heappop(self._free), self._message + NETWORK_S)
        heapq.heappush(self._free, start + seconds)
        self.busy += seconds
        self.jobs += 1

        def result() -> Any:
            found = fn(*args)
            return (*found[:-1], seconds) if len(args) == 3 else found

        heapq.heappush(self.ends, (start + seconds + NETWORK_S, self.jobs, future, result))
        return future

    def next(self) -> Future[Any]:
        """The job that is known next to have ended."""
        end, _, future, result = heapq.heappop(self.ends)
        self._message = max(self._message, end) + MESSAGE_S
        self.clock = max(self.clock, self._message)
        future.set_result(result())
        return future


def used(workers: int, of: str, hours: float) -> tuple[float, int, float]:
    """The share of worker time that is used, jobs, and virtual seconds; `hours` is how long they have to be busy."""
    cluster = Cluster(workers)

    class Virtual(runner.Flight):  # type: ignore[type-arg]
        def ended(self) -> Iterator[Any]:
            if self.running:
                future = cluster.next()
                yield self.running.pop(future), future

    real, runner.Flight = runner.Flight, Virtual  # type: ignore[misc]
    try:
        store, task = Store(), Task(1)
        frames = int(hours * 3600 * workers / FRAME_S)
        goal = sampling.Goal(relative_error=1e-9, frames=frames)
        if of == "strata":
            rungs = strata.ladder(task.codeword_bits)
            plan: Any = sampling.sample_by_weight(task, [0.0065], goal, store.counts, rungs, 320)  # type: ignore[arg-type]
        else:
            plan = sampling.sample_directly(task, goal, store.counts)  # type: ignore[arg-type]
        Runner(store, cluster, "fake").run([plan])
    finally:
        runner.Flight = real  # type: ignore[misc]
    return cluster.busy / (workers * cluster.clock), cluster.jobs, cluster.clock


def main() -> int:
    """Print the shares; 1 if one is too small."""
    good, hours = True, float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{'campaign':14}{'workers':>9}{'used':>8}{'jobs':>9}{'ended/s':>9}{'hours':>8}")
    for of, least in LEAST_USED.items():
        for workers, expected in least.items():
            share, jobs, seconds = used(workers, of, hours)
            good &= share >= expected
            print(
                f"{of:14}{workers:>9,}{share:>8.1%}{jobs:>9,}{jobs / seconds:>9.1f}{seconds / 3600:>8.2f}", flush=True
            )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
