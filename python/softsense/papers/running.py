"""Running what a paper needs, each simulation once, and writing what comes of it."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from softsense import _core
from softsense._core import SoftsenseError
from softsense.api import run
from softsense.base import Progress
from softsense.papers.judging import judged
from softsense.papers.plans import Case, Figure, Measured, Paper, Plan, configured
from softsense.papers.telling import report
from softsense.traces import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from softsense.charts import Sheet
    from softsense.store import Store

_POLL_S = 0.1


class Folder(Protocol):
    """Where results go, a file at a time and whole."""

    def write(self, name: str, text: str) -> None:
        """Write a text file."""

    def replacing(self, name: str) -> AbstractContextManager[Path]:
        """A temporary path that takes the name when the block ends."""


@dataclass
class Reproduction:
    """What was reproduced: claims as in `claims.json`, figures with what they measured, and whether it was stopped.

    Pictures are there by the ids of figures, as they were drawn and as PNG.
    """

    paper: Paper
    plan: Plan
    claims: list[dict[str, Any]] = field(default_factory=list)
    figures: list[tuple[Figure, Measured]] = field(default_factory=list)
    pictures: dict[str, tuple[Sheet | Picture, bytes]] = field(default_factory=dict, repr=False)
    runs: int = 0
    interrupted: bool = False


class _StopError(Exception):
    """Ends a simulation that nobody waits for any more."""


def _simulated(device: str, case: Case, shared: Sequence[str], traces: str | None, progress: Progress | None) -> Any:
    """The summary of a case."""
    config = configured(device, [*shared, *case.workload.overrides, *case.overrides])
    trace = None
    if case.workload.file:
        options: dict[str, Any] = dict(case.workload.options)
        trace = Trace(os.path.join(str(traces), case.workload.file), **options)
    # A device with fewer channels may be smaller than a trace.
    return run(config, trace, policy=case.policy, seed=case.seed, beyond="wrap", progress=progress).summary


@cache
def _build() -> str:
    """Of this build of the simulator: results of another one are never taken for its own."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


@cache
def _of_file(path: str, size: int, changed_ns: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _identity(device: str, case: Case, shared: Sequence[str], traces: str | None) -> str:
    """What the summary of a case depends on."""
    config = configured(device, [*shared, *case.workload.overrides, *case.overrides])
    requests = ""
    if case.workload.file:
        path = os.path.join(str(traces), case.workload.file)
        state = os.stat(path)
        requests = _of_file(path, state.st_size, state.st_mtime_ns)
    text = [_build(), config.sha256, requests, case.workload.options, case.policy, case.seed]
    return hashlib.sha256(json.dumps(text).encode()).hexdigest()


class _Simulations(Mapping[Case, dict[str, Any]]):
    """Cases that are being simulated, each once: in threads of which each does one at a time, or by an executor."""

    def __init__(
        self,
        config: str,
        cases: Iterable[Case],
        plan: Plan,
        traces: Path | None,
        jobs: int | Executor,
        store: Store | None,
    ) -> None:
        self._stop = threading.Event()
        self._threads = ThreadPoolExecutor(jobs) if isinstance(jobs, int) else None
        distinct = list(dict.fromkeys(cases))
        self._fractions = dict.fromkeys(distinct, 0.0)
        folder = None if traces is None else os.fspath(traces)
        self._store, self._keys = store, dict[Case, str]()
        self._futures: dict[Case, Future[dict[str, Any]]] = {}
        for case in distinct:
            of = (case.device or config, case, plan.overrides, folder)
            if store is not None:
                key = _identity(*of)
                if (known := store.result(key, 0)) is not None:
                    self._futures[case] = Future()
                    self._futures[case].set_result(known)
                    continue
                self._keys[case] = key
            self._futures[case] = (
                self._threads.submit(_simulated, *of, self._watched(case))
                if self._threads
                else cast("Executor", jobs).submit(_simulated, *of, None)
            )

    def _watched(self, case: Case) -> Progress:
        def watch(_: str, requests: int, fraction: float) -> None:
            if self._stop.is_set():
                raise _StopError
            self._fractions[case] = fraction

        return watch

    def __getitem__(self, case: Case) -> dict[str, Any]:
        return self._futures[case].result()

    def __iter__(self) -> Any:
        return iter(self._futures)

    def __len__(self) -> int:
        return len(self._futures)

    def wait(self, cases: Iterable[Case], progress: Progress | None) -> None:
        """Return when all these cases have ended; an error of any case is raised."""
        waiting = {self._futures[case] for case in cases}
        while waiting:
            ended, waiting = wait(waiting, _POLL_S)
            for future in ended:
                try:
                    future.result()
                except SoftsenseError:
                    raise
                except Exception as error:
                    if self._threads:
                        raise
                    # Of workers elsewhere, which may have gone, or have another softsense.
                    raise SoftsenseError(f"workers: {type(error).__name__}: {error}") from error
            self._keep()
            self.report(progress)

    def _keep(self) -> None:
        """Put into the store what has ended."""
        for case in [case for case in self._keys if self._futures[case].done()]:
            key, future = self._keys.pop(case), self._futures[case]
            ended = not future.cancelled() and future.exception() is None
            # Cases that are worded otherwise may be one simulation.
            if self._store is not None and ended and self._store.result(key, 0) is None:
                self._store.add_result(key, 0, future.result())

    def report(self, progress: Progress | None) -> None:
        """Tell how far all cases are."""
        if progress and self._futures:
            done = {case: future.done() for case, future in self._futures.items()}
            fraction = sum(1.0 if ended else self._fractions[case] for case, ended in done.items()) / len(done)
            progress("simulating", sum(done.values()), fraction)

    def close(self) -> None:
        """Stop what is still running, and keep what has ended."""
        self._stop.set()
        for future in self._futures.values():
            future.cancel()
        if self._threads:
            self._threads.shutdown()
        self._keep()


def reproduce(
    paper: Paper,
    figures: Sequence[Figure],
    plan: Plan,
    folder: Folder,
    *,
    traces: Path | None = None,
    jobs: int | Executor = 1,
    store: Store | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Measure figures, write each when it is complete, and at the end `claims.json` and reports over all of them.

    The reports are `report.md` and `report.html`, which holds all that it shows.

    Ctrl-C ends it early: what is complete by then is written, and the result says `interrupted`. Results do not depend
    on `jobs`.

    Args:
        paper: whose figures they are.
        figures: some of its figures, in its order.
        plan: how much is measured.
        folder: where results go.
        traces: the folder of traces; needed if a workload of the plan has a file.
        jobs: simulations that run at once, each with the memory of a whole device; or an executor, such as that of a
            Dask client, whose workers need the same softsense and see the same traces.
        store: where summaries are kept and looked for first, so that a run that was interrupted goes on.
        progress: called now and then with a name, the completed simulations and the completed fraction.

    Raises `SoftsenseError`.
    """
    from softsense.papers.pages import of_reproduction
    from softsense.plots import png

    result = Reproduction(paper, plan)
    simulations = None
    try:
        cases = {figure.id: list(figure.cases(plan)) for figure in figures}
        every = [case for each in cases.values() for case in each]
        simulations = _Simulations(paper.config, every, plan, traces, jobs, store)
        result.runs = len(simulations)
        for figure in figures:
            simulations.wait(cases[figure.id], progress)
            measured = figure.measure(plan, simulations)
            drawn = figure.draw(measured.frame)
            with folder.replacing(f"{figure.stem}.csv") as path:
                measured.frame.write_csv(path, float_precision=6)
            with folder.replacing(f"{figure.stem}.png") as path:
                path.write_bytes(printed := png(drawn))
            result.pictures[figure.id] = drawn, printed
            result.figures.append((figure, measured))
            for claim in paper.claims:
                if claim.figure == figure.id:
                    there = not (claim.all_workloads and plan.left_out)
                    result.claims.append(judged(claim, measured.evidence.get(claim.id) if there else None))
    except KeyboardInterrupt:
        result.interrupted = True
    finally:
        if simulations:
            simulations.close()
        if result.figures:
            folder.write("claims.json", json.dumps(result.claims, indent=2, allow_nan=False) + "\n")
            folder.write("report.md", report(result))
            folder.write("report.html", of_reproduction(result))
    return result
