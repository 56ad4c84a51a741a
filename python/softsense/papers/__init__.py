"""Reproductions of published figures: what all papers share.

A paper is a module of this package with a `PAPER`: its figures, each with the simulations it needs, what is measured of
them and how it is drawn, and its claims. `reproduce` runs the simulations that several figures share once, sets what
was measured beside what was published, and writes pictures, numbers and a report.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from softsense._core import Config, ConfigError, FileError, SoftsenseError, Trace
from softsense.api import Progress, inline, run

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Picture

HOLDS = "holds"
IN_DIRECTION = "holds in direction"
NOT = "does not hold"
NOT_MEASURED = "not measured"
TOLERANCE = 0.15
"""A published number is met by an interval that reaches within this part of it."""

RULE = """A number has a 95 % interval: over seeds with Student's t, paired by seed where it is a ratio of two runs. It
*holds* if the interval meets the published number give or take 15 % of it (for an increase, 15 % of the increase; for
an equation, 0.5 %). It *holds in direction* if not, but the whole interval lies on the published side of no effect. A
bound *holds* if the upper end of the interval keeps it, and *in direction* if it does not but is better than what the
claim improves on. An order of techniques *holds* if the means over seeds are in that order in every workload that was
given, and *in direction* if they are in the mean of workloads. Anything else *does not hold*. What needs a workload
that was not given is *not measured*."""

_POLL_S = 0.1
_PAPERS = (
    "ldpc_in_ssd",
    "laldpc",
    "adaptive_rate_pool",
    "lae_ftl",
    "rif",
    "sentinel",
    "pr2_ar2",
    "straw",
    "read_retry",
)
# Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
_T_95 = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)


# Numbers and verdicts ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    """A measured number with the ends of its 95 % interval, which are the number itself where it has no error."""

    value: float
    lo: float
    hi: float

    @staticmethod
    def exact(value: float) -> Number:
        """A number without an error."""
        return Number(value, value, value)

    @staticmethod
    def of(values: Sequence[float]) -> Number:
        """The mean of independent values with Student's interval; a single value has none and stands for itself."""
        mean = fmean(values)
        if len(values) < 2:
            return Number.exact(mean)
        half = t_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
        return Number(mean, mean - half, mean + half)

    @staticmethod
    def ratio(above: Sequence[float], below: Sequence[float]) -> Number:
        """The mean of ratios, paired by seed."""
        return Number.of([a / b for a, b in zip(above, below, strict=True)])

    def plus(self, shift: float) -> Number:
        """The number and its interval, shifted."""
        return Number(self.value + shift, self.lo + shift, self.hi + shift)


def t_quantile(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t; beyond 30 degrees of freedom that of 30, which is a little more."""
    return _T_95[min(degrees, len(_T_95)) - 1]


@dataclass(frozen=True)
class Claim:
    """What a paper says, and by which rule it is judged.

    Attributes:
        id: its name in `claims.json`.
        figure: id of the figure that measures it.
        claim: the claim in words.
        published: the published number, or the bound; None for an order.
        rule: `near` a number, `at most` a bound, or an `order` of techniques.
        no_effect: what the number would be without the effect; None where there is no such thing.
        tolerance: by what part of itself a published number may be missed.
        unit: how numbers are printed: `x` a ratio, `%` a share, `+%` an increase, `us`, `min`, `rber` or nothing.
        all_workloads: whether it speaks of all workloads of the paper, and is not measured if one was left out.
    """

    id: str
    figure: str
    claim: str
    published: float | None = None
    rule: Literal["near", "at most", "order"] = "near"
    no_effect: float | None = None
    tolerance: float = TOLERANCE
    unit: Literal["x", "%", "+%", "us", "min", "rber", ""] = "x"
    all_workloads: bool = False


@dataclass(frozen=True)
class Evidence:
    """What was measured for a claim.

    Attributes:
        number: with its interval; None for an order that has none.
        why: one paragraph, from what was measured, on why it differs from what was published.
        improves: of a bound, whether it is better than what the claim improves on.
        in_all: of an order, whether it is met in every workload.
        in_mean: of an order, whether it is met in the mean of workloads.
    """

    number: Number | None
    why: str = ""
    improves: bool = False
    in_all: bool = False
    in_mean: bool = False


def verdict(claim: Claim, evidence: Evidence) -> str:
    """Judge a claim by `RULE`."""
    number = evidence.number
    if claim.rule == "order":
        return HOLDS if evidence.in_all else IN_DIRECTION if evidence.in_mean else NOT
    assert number is not None
    assert claim.published is not None
    if claim.rule == "at most":
        return HOLDS if number.hi <= claim.published else IN_DIRECTION if evidence.improves else NOT
    margin = claim.tolerance * abs(claim.published)
    none = claim.no_effect
    # The side of a number that is published as hardly above no effect is above.
    below = none is not None and claim.published < none
    beyond = none is not None and (number.hi < none if below else number.lo > none)
    if none is not None and claim.published == none:
        # Near no effect is not enough: the claim says on which side.
        return NOT if not beyond else HOLDS if number.lo <= none + margin else IN_DIRECTION
    if number.lo <= claim.published + margin and number.hi >= claim.published - margin:
        return HOLDS
    return IN_DIRECTION if beyond else NOT


def judged(claim: Claim, evidence: Evidence | None) -> dict[str, Any]:
    """A row of `claims.json`; without evidence the claim was not measured."""
    number = evidence.number if evidence else None
    return {
        "id": claim.id,
        "figure": claim.figure,
        "claim": claim.claim,
        "published": claim.published,
        "measured": number.value if number else None,
        "lo": number.lo if number else None,
        "hi": number.hi if number else None,
        "verdict": verdict(claim, evidence) if evidence else NOT_MEASURED,
        "why": evidence.why if evidence else "It needs a workload that was not given.",
    }


# Papers --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """Requests: a trace file in the folder of traces, or a synthetic workload (`synthetic`).

    Attributes:
        name: as in the paper.
        what: what it really is, for the report.
        file: of the trace; None for a synthetic workload.
        options: keyword arguments of `Trace`.
        overrides: config fields, those of `[workload]` for a synthetic one.
        stand_in: a synthetic workload that takes its place where no folder of traces is given.
    """

    name: str
    what: str
    file: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    overrides: tuple[str, ...] = ()
    stand_in: Workload | None = None


def synthetic(**fields: Any) -> tuple[str, ...]:
    """The override that makes these fields the whole `[workload]`: what the device's own config says there is gone."""
    return (f"workload={inline(fields)}",)


@dataclass(frozen=True)
class Case:
    """A simulation: equal cases are run once."""

    workload: Workload
    policy: str
    overrides: tuple[str, ...] = ()
    seed: int = 1
    device: str = ""
    """The shipped configuration; that of the paper without it."""


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        full: whether larger grids are wanted.
        seeds: with each of which every simulation is done.
        workloads: those of the paper that are to be had.
        left_out: those that are not.
        overrides: of the device in all simulations.
        requests: of synthetic workloads that a figure makes for itself.
    """

    full: bool
    seeds: tuple[int, ...]
    workloads: tuple[Workload, ...]
    requests: int
    left_out: tuple[Workload, ...] = ()
    overrides: tuple[str, ...] = ()


Runs = Mapping[Case, dict[str, Any]]
"""The summaries of cases."""


@dataclass(frozen=True)
class Measured:
    """What a figure measured: its numbers, the evidence for claims by their ids, and paragraphs for the report."""

    frame: pl.DataFrame
    evidence: dict[str, Evidence] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure: the simulations that it needs, what it makes of them, and how that is drawn."""

    id: str
    title: str
    measure: Callable[[Plan, Runs], Measured]
    draw: Callable[[pl.DataFrame], Picture]
    cases: Callable[[Plan], Sequence[Case]] = lambda plan: ()

    @property
    def stem(self) -> str:
        """Of its files: `fig05`, `fig05a`, or its id."""
        number = self.id.rstrip("abcdef")
        return f"fig{int(number):02}{self.id[len(number) :]}" if number.isdecimal() else self.id


@dataclass(frozen=True)
class Paper:
    """A paper.

    Attributes:
        name: on the command line.
        title: of the report.
        published: by whom and where.
        figures: in order.
        claims: of its prose.
        plan: how much a quick and a full run measure.
        config: the shipped configuration of its device.
        intro: what the report begins with.
    """

    name: str
    title: str
    published: str
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    plan: Callable[[bool], Plan]
    config: str
    intro: str = ""

    def chosen(self, ids: Iterable[str]) -> list[Figure]:
        """The figures of these ids in the paper's order, all if there are none; `ConfigError` names the known ones."""
        known = {figure.id: figure for figure in self.figures}
        wanted = list(ids)
        for figure in wanted:
            if figure not in known:
                raise ConfigError(f"--figure: found {figure}, expected one of {', '.join(known)}")
        return [figure for figure in self.figures if not wanted or figure.id in wanted]


def papers() -> list[Paper]:
    """All papers that can be reproduced."""
    return [import_module(f"softsense.papers.{name}").PAPER for name in _PAPERS]


def paper(name: str) -> Paper:
    """The paper of that name; `ConfigError` names the known ones."""
    known = {each.name: each for each in papers()}
    if name not in known:
        raise ConfigError(f"paper: found {name}, expected one of {', '.join(known)}")
    return known[name]


def with_traces(plan: Plan, folder: Path | None) -> Plan:
    """The plan with the workloads that are to be had: without a folder those that need no trace, and stand-ins.

    Raises `FileError` for a file that the folder lacks.
    """
    kept, left = [], []
    for workload in plan.workloads:
        if workload.file is None:
            kept.append(workload)
        elif folder is None and workload.stand_in:
            kept.append(workload.stand_in)
        elif folder is None:
            left.append(workload)
        else:
            if not (folder / workload.file).is_file():
                raise FileError(f"--traces {folder}: found no {workload.file}, expected it for {workload.name}")
            kept.append(workload)
    return replace(plan, workloads=tuple(kept), left_out=tuple(left))


def configured(name: str, overrides: Sequence[str]) -> Config:
    """The shipped configuration of that name with fields replaced."""
    config = Config.open(name)
    # Of the resolved one, so that a field of a section can be replaced alone.
    return config.with_overrides(list(overrides)) if overrides else config


# Reproducing ---------------------------------------------------------------------------------------------------------


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
    pictures: dict[str, tuple[Picture, bytes]] = field(default_factory=dict, repr=False)
    runs: int = 0
    interrupted: bool = False


class _StopError(Exception):
    """Ends a simulation that nobody waits for any more."""


def _simulated(device: str, case: Case, shared: Sequence[str], traces: str | None, progress: Progress | None) -> Any:
    """The summary of a case."""
    config = configured(device, [*shared, *case.workload.overrides, *case.overrides])
    trace = None
    if case.workload.file:
        trace = Trace(os.path.join(str(traces), case.workload.file), **dict(case.workload.options))
    # A device with fewer channels may be smaller than a trace.
    return run(config, trace, policy=case.policy, seed=case.seed, beyond="wrap", progress=progress).summary


class _Simulations(Mapping[Case, dict[str, Any]]):
    """Cases that are being simulated, each once: in threads of which each does one at a time, or by an executor."""

    def __init__(
        self, config: str, cases: Iterable[Case], plan: Plan, traces: Path | None, jobs: int | Executor
    ) -> None:
        self._stop = threading.Event()
        self._threads = ThreadPoolExecutor(jobs) if isinstance(jobs, int) else None
        distinct = list(dict.fromkeys(cases))
        self._fractions = dict.fromkeys(distinct, 0.0)
        folder = None if traces is None else os.fspath(traces)
        self._futures: dict[Case, Future[dict[str, Any]]] = {}
        for case in distinct:
            of = (case.device or config, case, plan.overrides, folder)
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
            self.report(progress)

    def report(self, progress: Progress | None) -> None:
        """Tell how far all cases are."""
        if progress and self._futures:
            done = {case: future.done() for case, future in self._futures.items()}
            fraction = sum(1.0 if ended else self._fractions[case] for case, ended in done.items()) / len(done)
            progress("simulating", sum(done.values()), fraction)

    def close(self) -> None:
        """Stop what is still running."""
        self._stop.set()
        for future in self._futures.values():
            future.cancel()
        if self._threads:
            self._threads.shutdown()


def reproduce(
    paper: Paper,
    figures: Sequence[Figure],
    plan: Plan,
    folder: Folder,
    *,
    traces: Path | None = None,
    jobs: int | Executor = 1,
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
        progress: called now and then with a name, the completed simulations and the completed fraction.

    Raises `SoftsenseError`.
    """
    from softsense.report import of_reproduction

    result = Reproduction(paper, plan)
    simulations = None
    try:
        cases = {figure.id: list(figure.cases(plan)) for figure in figures}
        every = [case for each in cases.values() for case in each]
        simulations = _Simulations(paper.config, every, plan, traces, jobs)
        result.runs = len(simulations)
        for figure in figures:
            simulations.wait(cases[figure.id], progress)
            measured = figure.measure(plan, simulations)
            picture = figure.draw(measured.frame)
            with folder.replacing(f"{figure.stem}.csv") as path:
                measured.frame.write_csv(path, float_precision=6)
            with folder.replacing(f"{figure.stem}.png") as path:
                picture.savefig(path)
                result.pictures[figure.id] = picture, path.read_bytes()
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


# Telling -------------------------------------------------------------------------------------------------------------


def shown(value: float | None, unit: str) -> str:
    """A number of a claim, as people read it."""
    if value is None:
        return "-"
    if unit in ("%", "+%"):
        return f"{100 * value:{'+' if unit == '+%' else ''}.1f} %"
    digits = {"us": 1, "min": 1, "x": 3 if abs(value) < 1.995 else 2, "rber": 5}.get(unit, 3 if abs(value) < 100 else 0)
    text = f"{value:,.{digits}f}"
    return text if unit in ("x", "rber", "") else f"{text} {unit}"


def claim_row(claim: Claim, found: Mapping[str, Any]) -> list[str]:
    """Published, measured with its interval, verdict."""
    published = shown(claim.published, claim.unit)
    if claim.rule == "at most":
        published = f"at most {published.lstrip('+')}"
    measured = shown(found["measured"], claim.unit)
    if found["lo"] is not None and found["lo"] < found["hi"]:
        measured += f" ({shown(found['lo'], claim.unit)} to {shown(found['hi'], claim.unit)})"
    return [published if claim.published is not None else "an order", measured, found["verdict"]]


def table(result: Reproduction) -> str:
    """The claims as a table for the terminal; of what judges none, what its figures note."""
    if not result.paper.claims:
        told = ((figure.title, measured.notes) for figure, measured in result.figures if measured.notes)
        return "\n\n".join("\n".join((title, *(note.replace("*", "") for note in notes))) for title, notes in told)
    claims = {claim.id: claim for claim in result.paper.claims}
    rows = [["figure", "claim", "published", "measured (95 %)", "verdict"]]
    rows += [[found["figure"], found["id"], *claim_row(claims[found["id"]], found)] for found in result.claims]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(heads)}", *lines[1:]])


def report(result: Reproduction) -> str:
    """What was published beside what was measured, in Markdown."""
    claims = {claim.id: claim for claim in result.paper.claims}
    plan = result.plan
    seeds = f"seeds {plan.seeds[0]} to {plan.seeds[-1]}" if len(plan.seeds) > 1 else f"seed {plan.seeds[0]}"
    lines = [f"# {result.paper.title}", "", f"{result.paper.published}.", ""]
    if result.paper.intro:
        lines += [result.paper.intro, ""]
    if result.interrupted:
        lines += ["**Interrupted**: this report covers the figures that were complete.", ""]
    scale = "full" if plan.full else "quick: with few seeds intervals are wide, and numbers are easily met"
    if not claims:
        scale = scale.split(":")[0]
    what = [(workload.name, workload.what) for workload in plan.workloads]
    what += [(workload.name, "left out: its trace was not given") for workload in plan.left_out]
    lines += [f"Measured with {seeds} ({scale}).", "", markdown_table(["workload", "what it is"], what)]
    if claims:
        rows = [[found["figure"], found["claim"], *claim_row(claims[found["id"]], found)] for found in result.claims]
        heads = ["figure", "claim", "published", "measured (95 %)", "verdict"]
        lines += ["", "## Claims", "", " ".join(RULE.split()), "", markdown_table(heads, rows)]
    for figure, measured in result.figures:
        lines += ["", f"## {figure.title}", "", f"![{figure.title}]({figure.stem}.png)", ""]
        lines += [f"Numbers: [{figure.stem}.csv]({figure.stem}.csv).", ""]
        for note in measured.notes:
            lines += [note, ""]
        for found in result.claims:
            if found["figure"] == figure.id and found["why"]:
                lines += [f"**{found['claim']}: {found['verdict']}.** {found['why']}", ""]
        lines.pop()
    return "\n".join(lines) + "\n"
