"""Run the simulations of a paper, each once, and write the results."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from softsense import _core
from softsense._core import StopFlag
from softsense.api import run
from softsense.base import Progress, ShardDone
from softsense.charts import Sheet
from softsense.executing import Elsewhere, Flight, Threads, Workers
from softsense.formats import listed
from softsense.papers.judging import Claim, judged
from softsense.papers.plans import Case, Figure, Measured, Paper, Plan, configured
from softsense.papers.telling import report
from softsense.traces import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from softsense.store import Store


class Folder(Protocol):
    """A folder for results; files are written one at a time and whole."""

    def write(self, name: str, text: str) -> None:
        """Write a text file."""

    def replacing(self, name: str) -> AbstractContextManager[Path]:
        """A temporary path that takes the name when the block ends."""


@dataclass
class Reproduction:
    """A reproduction: claims as in `claims.json`, figures with their measured numbers, and whether it was stopped.

    Pictures are kept by the ids of figures, as they were drawn and as PNG. The `devices` are the shipped
    configurations that its simulations change, the paper's own first, and the `traces` are the files that they read.
    """

    paper: Paper
    plan: Plan
    claims: list[dict[str, Any]] = field(default_factory=list)
    figures: list[tuple[Figure, Measured]] = field(default_factory=list)
    pictures: dict[str, tuple[Sheet | Picture, bytes]] = field(default_factory=dict, repr=False)
    runs: int = 0
    devices: tuple[str, ...] = ()
    traces: tuple[Path, ...] = ()
    interrupted: bool = False

    @property
    def elsewhere(self) -> Mapping[str, Any]:
        """The data of figure `across`, where the headline holds on drives of today; empty if it was not measured."""
        return next((measured.elsewhere for _, measured in self.figures if measured.elsewhere), {})

    @property
    def biased(self) -> list[Claim]:
        """The claims for which this run is biased, as it is a quick one."""
        return [] if self.plan.full else [claim for claim in self.paper.claims if claim.quick_bias]


class _StopError(Exception):
    """Exception that ends a simulation whose result is no longer needed."""


def _simulated(device: str, case: Case, shared: Sequence[str], traces: str | None, progress: Progress | None) -> Any:
    """The summary of a case."""
    config = configured(device, case.changed(shared))
    trace = None
    if case.workload.file:
        options: dict[str, Any] = dict(case.workload.options)
        trace = Trace(os.path.join(str(traces), case.workload.file), **options)
    # A device with fewer channels may be smaller than a trace.
    return run(config, trace, policy=case.policy, seed=case.seed, beyond="wrap", progress=progress).summary


@cache
def _build() -> str:
    """A hash of this build of the simulator: results of another build are never taken for its own."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()


@cache
def _of_file(path: str, size: int, changed_ns: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _identity(device: str, case: Case, shared: Sequence[str], traces: str | None) -> str:
    """A hash of all inputs of the summary of a case."""
    config = configured(device, case.changed(shared))
    requests = ""
    if case.workload.file:
        path = os.path.join(str(traces), case.workload.file)
        state = os.stat(path)
        requests = _of_file(path, state.st_size, state.st_mtime_ns)
    text = [_build(), config.sha256, requests, case.workload.options, case.policy, case.seed]
    return hashlib.sha256(json.dumps(text).encode()).hexdigest()


class _Simulations(Mapping[Case, dict[str, Any]]):
    """Cases that are being simulated, each once: by threads with one case at a time each, or by an executor."""

    def __init__(
        self,
        config: str,
        cases: Iterable[Case],
        plan: Plan,
        traces: Path | None,
        jobs: int | Executor,
        store: Store | None,
    ) -> None:
        distinct = list(dict.fromkeys(cases))
        self._fractions = dict.fromkeys(distinct, 0.0)
        self._store, self._keys = store, dict[Case, str]()
        self._found: dict[Case, dict[str, Any]] = {}
        folder = None if traces is None else os.fspath(traces)

        def asked(case: Case) -> tuple[str, Case, Sequence[str], str | None]:
            return case.device or config, case, plan.overrides, folder

        if store is not None:
            for case in distinct:
                self._keys[case] = _identity(*asked(case))
                if (known := store.result(self._keys[case], 0)) is not None:
                    self._found[case] = known
        self._elsewhere = set[Case]()
        if store is not None:
            here = {key for key, _ in store.to_do((key, 0) for key in dict.fromkeys(self._keys.values()))}
            self._elsewhere = {c for c, key in self._keys.items() if c not in self._found and key not in here}
        # All cases are submitted at once, so that other simulations continue while a finished figure is measured.
        most = len(distinct)
        by: Workers[Case]
        if isinstance(jobs, int):
            by = Threads(jobs, lambda case, stop: _simulated(*asked(case), self._watched(case, stop)), most)
        else:
            by = Elsewhere(jobs, lambda executor, case: executor.submit(_simulated, *asked(case), None), most)
        left = self._found.keys() | self._elsewhere
        self._flight = Flight(by, [case for case in distinct if case not in left])
        self._flight.submit()

    def _watched(self, case: Case, stop: StopFlag) -> Progress:
        def watch(_: str, requests: int, fraction: float) -> None:
            if stop.is_set:
                raise _StopError
            self._fractions[case] = fraction

        return watch

    def __getitem__(self, case: Case) -> dict[str, Any]:
        """The summary of a case, of this figure or of another one. Waits until the case has ended."""
        if case not in self._fractions:
            raise KeyError(case)
        self.wait([case], None)
        return self._found[case]

    def __iter__(self) -> Any:
        return iter(self._fractions)

    def __len__(self) -> int:
        return len(self._fractions)

    def share(self, progress: Progress | None) -> None:
        """Do the share of a shard; raises `ShardDone` where other shards have simulations to do."""
        if self._store is not None and self._elsewhere:
            self.wait(self._keys.keys() - self._elsewhere, progress)
            raise ShardDone(self._store.told())

    def wait(self, cases: Iterable[Case], progress: Progress | None) -> None:
        """Wait until all these cases have ended; an error of any case is raised."""
        wanted = set(cases)
        while not wanted <= self._found.keys():
            self._keep(self._flight.ended())
            self.report(progress)
        self.report(progress)

    def _keep(self, ended: Iterable[tuple[Case, Future[Any]]]) -> None:
        """Put simulations that have ended into the store."""
        for case, future in ended:
            self._found[case] = self._flight.result(future)
            # Cases with different wording may be one simulation.
            if self._store is not None and self._store.result(self._keys[case], 0) is None:
                self._store.add_result(self._keys[case], 0, self._found[case])

    def report(self, progress: Progress | None) -> None:
        """Report the progress of all cases."""
        if progress and self._fractions:
            fractions = (1.0 if case in self._found else fraction for case, fraction in self._fractions.items())
            progress("simulating", len(self._found), sum(fractions) / len(self._fractions))

    def close(self) -> None:
        """Stop running simulations, and keep those that have ended."""
        self._flight.close(self._keep)


def command(device: str, case: Case, shared: Sequence[str]) -> str:
    """A shell command that runs a case alone, in which `TRACES` is the folder of traces."""
    words = ["softsense", "run", case.device or device, "--policy", case.policy, "--seed", str(case.seed)]
    for override in case.changed(shared):
        words += ["--set", override]
    line = shlex.join(words)
    if case.workload.file:
        options = [f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in case.workload.options]
        line += " ".join([f' --trace "$TRACES"/{shlex.quote(case.workload.file)}', *options, "--beyond wrap"])
    return line


def _runs(device: str, cases: Mapping[str, Sequence[Case]], shared: Sequence[str]) -> str:
    """All simulations as CSV: the figures that use each, its workload, and the command that runs it alone."""
    figures: dict[Case, list[str]] = {}
    for figure, of_figure in cases.items():
        for case in dict.fromkeys(of_figure):
            figures.setdefault(case, []).append(figure)
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["figures", "workload", "policy", "seed", "command"])
    for case, of_case in figures.items():
        line = command(device, case, shared)
        rows.writerow([" ".join(of_case), case.workload.name, case.policy, case.seed, line])
    return text.getvalue()


def _with_left_out(measured: Measured, plan: Plan) -> Measured:
    """The measurement of a figure, with the workloads that the plan left out in it and in each evidence."""
    if measured.elsewhere:
        # Shipped drives have workloads of their own.
        return measured
    left = {workload.name: "its trace was not given" for workload in plan.left_out}
    evidence = {id_: replace(each, left_out=left) for id_, each in measured.evidence.items()}
    return replace(measured, evidence=evidence, left_out=left)


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

    The reports are `report.md` and `report.html`, which holds all that it shows. `runs.csv` has each simulation as the
    command that runs it alone.

    Ctrl-C ends the reproduction early: complete figures are written, and the result says `interrupted`. Results do not
    depend on `jobs`.

    Args:
        paper: the paper whose figures are measured.
        figures: some of its figures, in its order.
        plan: extent of the measurement.
        folder: folder for the results.
        traces: the folder of traces; needed if a workload of the plan has a file.
        jobs: simulations that run at once, each with the memory of a whole device; or an executor, such as that of a
            Dask client, whose workers need the same softsense and see the same traces.
        store: store that keeps summaries and is searched first, so that a run that was interrupted goes on.
        progress: called now and then with a name, the completed simulations and the completed fraction.

    Raises `SoftsenseError`.
    """
    from softsense.papers.pages import of_reproduction
    from softsense.plots import png

    result = Reproduction(paper, plan)
    simulations = None
    cases: dict[str, list[Case]] = {}
    try:
        cases = {figure.id: list(figure.cases(plan)) for figure in figures}
        every = [case for each in cases.values() for case in each]
        simulations = _Simulations(paper.config, every, plan, traces, jobs, store)
        result.runs = len(simulations)
        result.devices = tuple(dict.fromkeys([paper.config, *(case.device or paper.config for case in every)]))
        files = {case.workload.file for case in every} - {None}
        result.traces = tuple(Path(traces or "") / str(file) for file in sorted(map(str, files)))
        simulations.share(progress)
        for figure in figures:
            simulations.wait(cases[figure.id], progress)
            measured = _with_left_out(figure.measure(plan, simulations), plan)
            drawn = figure.draw(measured.frame)
            if measured.left_out and isinstance(drawn, Sheet):
                drawn = replace(drawn, foot=f"{drawn.foot} Left out: {listed(list(measured.left_out))}.".strip())
            with folder.replacing(f"{figure.stem}.csv") as path:
                measured.frame.write_csv(path, float_precision=6)
            with folder.replacing(f"{figure.stem}.png") as path:
                path.write_bytes(printed := png(drawn))
            result.pictures[figure.id] = drawn, printed
            result.figures.append((figure, measured))
            for claim in paper.claims:
                if claim.figure == figure.id:
                    row = judged(claim, measured.evidence.get(claim.id))
                    if claim in result.biased:
                        row["why"] = f"{row['why']} A quick run is biased here: {claim.quick_bias}.".strip()
                    result.claims.append(row)
    except KeyboardInterrupt:
        result.interrupted = True
    finally:
        if simulations:
            simulations.close()
        if result.figures:
            if result.runs:
                of_figures = {figure.id: cases[figure.id] for figure, _ in result.figures}
                folder.write("runs.csv", _runs(paper.config, of_figures, plan.overrides))
            folder.write("claims.json", json.dumps(result.claims, indent=2, allow_nan=False) + "\n")
            if result.elsewhere:
                folder.write("across.json", json.dumps(result.elsewhere, indent=2, allow_nan=False) + "\n")
            folder.write("report.md", report(result))
            folder.write("report.html", of_reproduction(result))
    return result
