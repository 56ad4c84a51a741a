"""The parts of a paper: workloads, simulations, figures and claims; and the list of papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import Config, ConfigError, FileError
from softsense.base import inline
from softsense.papers.judging import Claim, Evidence

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Picture

    from softsense.charts import Sheet

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


@dataclass(frozen=True)
class Workload:
    """Requests: a trace file in the folder of traces, or a synthetic workload (`synthetic`).

    Attributes:
        name: name of the workload in the paper.
        what: description of the requests, for the report.
        file: name of the trace file; None for a synthetic workload.
        options: keyword arguments of `Trace`.
        overrides: config fields, those of `[workload]` for a synthetic one.
        stand_in: a synthetic workload that takes the place of the trace where no folder of traces is given.
    """

    name: str
    what: str
    file: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    overrides: tuple[str, ...] = ()
    stand_in: Workload | None = None


def synthetic(**fields: Any) -> tuple[str, ...]:
    """The override that makes these fields the whole `[workload]`, in place of the workload of the device's config."""
    return (f"workload={inline(fields)}",)


@dataclass(frozen=True)
class Case:
    """A simulation. Equal cases are run once."""

    workload: Workload
    policy: str
    overrides: tuple[str, ...] = ()
    seed: int = 1
    device: str = ""
    """The shipped configuration of the device; empty: that of the paper."""
    apart: bool = False
    """Whether the overrides of the plan, which are of the paper's device, are left out."""

    def changed(self, shared: Sequence[str]) -> list[str]:
        """All overrides of the device in their order, where `shared` are those of the plan."""
        return [*(() if self.apart else shared), *self.workload.overrides, *self.overrides]


@dataclass(frozen=True)
class Plan:
    """The extent of a measurement.

    Attributes:
        full: whether larger grids are measured.
        seeds: seeds; every simulation is done with each.
        workloads: workloads of the paper that are available.
        left_out: workloads of the paper that are not available.
        overrides: overrides of the device in all simulations.
        requests: number of requests of synthetic workloads that a figure makes for itself.
    """

    full: bool
    seeds: tuple[int, ...]
    workloads: tuple[Workload, ...]
    requests: int
    left_out: tuple[Workload, ...] = ()
    overrides: tuple[str, ...] = ()


Runs = Mapping[Case, dict[str, Any]]
"""Summaries of simulations, by case."""


@dataclass(frozen=True)
class Measured:
    """The measurement of a figure.

    A measurement has numbers, evidence for claims by their ids, paragraphs for the report, and the workloads that the
    figure left out, each with the reason. That of figure `across` also has, as `elsewhere`, where the paper's headline
    holds on other drives, ready for JSON.
    """

    frame: pl.DataFrame
    evidence: dict[str, Evidence] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Figure:
    """A figure: its simulations, its numbers, and the function that draws them as charts or as another picture."""

    id: str
    title: str
    measure: Callable[[Plan, Runs], Measured]
    draw: Callable[[pl.DataFrame], Sheet | Picture]
    cases: Callable[[Plan], Sequence[Case]] = lambda plan: ()

    @property
    def stem(self) -> str:
        """Stem of the names of its files: `fig05`, `fig05a`, or the id."""
        number = self.id.rstrip("abcdef")
        return f"fig{int(number):02}{self.id[len(number) :]}" if number.isdecimal() else self.id


@dataclass(frozen=True)
class Paper:
    """A paper with its figures and claims.

    Attributes:
        name: name on the command line.
        title: title of the report.
        published: authors and place of publication.
        figures: figures, in order.
        claims: claims of the paper's prose.
        plan: function that gives the plan of a quick (False) or full (True) run.
        config: the shipped configuration of its device.
        intro: introduction of the report.
        inputs: use of each published number that no claim judges, by its key in the file of published numbers. The use
            is the field of a shipped configuration, such as `mlc-lae: flash.erase_us`, or why the number is not used.
        headline: function that makes the main result in one sentence, from the rows of `claims.json` by their ids; for
            whole runs only.
        not_elsewhere: why there is no figure `across`, which measures the headline on drives of today; else empty.
    """

    name: str
    title: str
    published: str
    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...]
    plan: Callable[[bool], Plan]
    config: str
    intro: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    headline: Callable[[Mapping[str, Mapping[str, Any]]], str] | None = None
    not_elsewhere: str = ""

    def chosen(self, ids: Iterable[str]) -> list[Figure]:
        """The figures of these ids in the paper's order, all for no ids; `ConfigError` names the known ids."""
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
    """The plan with the available workloads: without a folder those that need no trace, and stand-ins.

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
    # Overrides change the resolved config, so that one field of a section can be replaced alone.
    return config.with_overrides(list(overrides)) if overrides else config
