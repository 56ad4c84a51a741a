"""The machines on which figures are measured: the paper's, as far as its text says, and softsense's own.

The paper ran on DiskSim's SSD extension in "synchronous-share-control ganging mode", with one failure probability for
all reads. A synchronous gang of eight chips is a chip whose pages are eight times as large and written whole
(superpages). It serves one request at a time, first come, first served; its pages are sensed one after the other, as in
DiskSim. Each detail that the text leaves open, or that DiskSim's code and comments tell differently, makes a further
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from softsense.papers import Case, Evidence, Figure, Measured, Plan, Runs, Workload
from softsense.papers.ldpc_in_ssd.published import PUBLISHED, SYNTHETIC, at_stated_age
from softsense.papers.ldpc_in_ssd.sampled import Lone

if TYPE_CHECKING:
    from softsense.charts import Sheet

Cases = Callable[[Plan], Sequence[Case]]
Measure = Callable[[Plan, Runs], Measured]


@cache
def given_failures() -> str:
    """The override with which levels fail as often as those of the four chips do in the mean, whatever is read."""
    sampled = Lone(at_stated_age(("geometry.blocks_per_plane=512",))).p_fail.mean(axis=0).tolist()
    p_fail = [PUBLISHED["hard_decision_failure_at_10k_pe"], *(round(p, 6) for p in sampled[1:])]
    return f"reliability={{ fixed = {{ p_fail = {p_fail} }} }}"


@dataclass(frozen=True)
class Machine:
    """A device on which figures are measured.

    Attributes:
        name: name for people.
        overrides: overrides of the shipped device.
        given: whether levels have given failure probabilities, the same for all reads.
        synthetic: overrides of the synthetic workloads, whose numbers are assumed.
    """

    name: str
    overrides: tuple[str, ...] = ()
    given: bool = False
    synthetic: tuple[str, ...] = ()

    def served(self, plan: Plan) -> Plan:
        """The plan with its workloads in the machine's reading."""
        return replace(plan, workloads=tuple(self._reading(workload) for workload in plan.workloads))

    def _reading(self, workload: Workload) -> Workload:
        """A workload in the machine's reading."""
        if workload.name not in SYNTHETIC or not self.synthetic:
            return workload
        return replace(workload, overrides=(*workload.overrides, *self.synthetic))

    def case(self, case: Case) -> Case:
        """The simulation on this machine; overrides of the arm prevail over those of the machine."""
        if not self.given:
            return replace(case, overrides=(*self.overrides, *case.overrides))
        # Overrides of decode tables are left out, as they would replace the given probabilities.
        kept = [text for text in case.overrides if not text.startswith("reliability.table")]
        first = [text for text in self.overrides if text.startswith("reliability")]
        rest = [text for text in self.overrides if not text.startswith("reliability")]
        reliability = [given_failures(), *first] if 'reliability="perfect"' not in kept else []
        return replace(case, overrides=(*reliability, *rest, *kept))


class _OnMachine(Mapping[Case, dict]):  # type: ignore[type-arg]
    """Summaries of cases on a machine."""

    def __init__(self, machine: Machine, runs: Runs) -> None:
        self._machine, self._runs = machine, runs

    def __getitem__(self, case: Case) -> dict:  # type: ignore[type-arg]
        return self._runs[self._machine.case(case)]

    def __iter__(self) -> Iterator[Case]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)


_SERIAL = ('flash.busy_unit="chip"', 'flash.cache_register_for="look_ahead"', "host.reads_first=false")
_STATIC = ('ftl.allocation_pool="chip"', "host.serves_in_flight=false")
_GANGS = (
    *_SERIAL,
    *_STATIC,
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=8",
    "geometry.codewords_per_page=8",
    "ftl.whole_pages=true",
    'host.partial_write="copy_back"',
)
OURS = Machine("softsense's own")
GANGS = Machine("synchronous gangs", (*_GANGS, "flash.shared_sensing=false"), given=True)
SENSED_TOGETHER = Machine("a gang senses its pages together", _GANGS, given=True)
ONE_DRAW = Machine(
    "failures drawn for an operation of a gang",
    (*_GANGS, 'reliability.fixed.drawn_for="page"'),
    given=True,
)
STATIC = Machine("serial chips, static allocation", (*_SERIAL, *_STATIC, 'host.partial_write="pad"'), given=True)
DYNAMIC = Machine("serial chips, dynamic allocation", (*_SERIAL, 'host.partial_write="pad"'), given=True)
CHIPS_THAT_DIFFER = Machine("serial chips, dynamic allocation", _SERIAL)
"""The machine for interleaving, which needs chips that differ, and chips with control of their own."""
_SYNTHETIC = {
    "2,000 synthetic requests a second": ("workload.arrivals.poisson.requests_per_s=2000.0",),
    "8,000 synthetic requests a second": ("workload.arrivals.poisson.requests_per_s=8000.0",),
    "synthetic requests of 16 KiB": ("workload.sizes=[{ bytes = 16384, share = 1.0 }]",),
    "synthetic addresses of Zipf 0.9": ("workload.addresses={ zipf = { exponent = 0.9 } }",),
}
"""Other readings of the numbers of the synthetic workloads that the paper does not print. Gangs serve 8,000 requests a
second of 66 % reads and no more, as each write of a page rewrites a superpage.
"""
_MORE = {"20,000 synthetic requests a second": ("workload.arrivals.poisson.requests_per_s=20000.0",)}


def read_otherwise(machine: Machine, more: bool = False) -> tuple[Machine, ...]:
    """The machine with other synthetic workloads; with `more` also at a rate that gangs cannot serve."""
    found = _SYNTHETIC | (_MORE if more else {})
    return tuple(replace(machine, name=name, synthetic=overrides) for name, overrides in found.items())


READINGS = (SENSED_TOGETHER, ONE_DRAW, STATIC, DYNAMIC, *read_otherwise(GANGS))


def figure_on(
    id_: str,
    title: str,
    measure: Measure,
    draw: Callable[[pl.DataFrame], Sheet],
    cases: Cases,
    machine: Machine,
    under: Sequence[Machine] = (),
) -> Figure:
    """A figure that is judged on the paper's machine, and measured also on ours and on other machines that fit the
    text.
    """
    return Figure(
        id_,
        title,
        measured_on(measure, machine, under),
        lambda frame: draw(of_paper(frame)),
        cases_on(cases, machine, under),
    )


def cases_on(cases: Cases, machine: Machine, under: Sequence[Machine] = ()) -> Cases:
    """The simulations of a figure on the paper's machine, on ours, and on other machines that fit the text."""

    def of(plan: Plan) -> list[Case]:
        found = [each.case(case) for each in (machine, OURS) for case in cases(each.served(plan))]
        return found + [each.case(case) for each in under for case in cases(each.served(_fewer(plan)))]

    return of


def measured_on(measure: Measure, machine: Machine, under: Sequence[Machine] = ()) -> Measure:
    """A function that gives the result on the paper's machine, with those on ours and on other machines that fit the
    text.
    """

    def of(plan: Plan, runs: Runs) -> Measured:
        ours = measure(plan, runs)
        theirs = measure(machine.served(plan), _OnMachine(machine, runs))
        others = {each.name: measure(each.served(_fewer(plan)), _OnMachine(each, runs)) for each in under}
        evidence = {id_: _beside(id_, found, ours, others) for id_, found in theirs.evidence.items()}
        named = [(machine.name, theirs), *others.items(), (OURS.name, ours)]
        frame = pl.concat(
            [each.frame.with_columns(pl.lit(name).alias("machine")) for name, each in named], how="diagonal_relaxed"
        )
        notes = [f"On {name}: {note}" for name, each in named[:: len(named) - 1] for note in each.notes]
        return Measured(frame, evidence, tuple(notes))

    return of


def _beside(id_: str, found: Evidence, ours: Measured, others: Mapping[str, Measured]) -> Evidence:
    under = {name: each.evidence[id_] for name, each in others.items() if id_ in each.evidence}
    why = found.why
    if (on_ours := ours.evidence.get(id_)) and on_ours.why:
        why = f"On the paper's machine: {found.why} On ours: {on_ours.why}"
    return replace(found, why=why, under=under, on_ours=on_ours)


def _fewer(plan: Plan) -> Plan:
    """The plan with fewer seeds, as readings of the text differ by far more than seeds do."""
    return replace(plan, seeds=plan.seeds[: 2 if plan.full else 1])


def of_paper(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of a figure's numbers that are measured on the paper's machine."""
    return frame.filter(pl.col("machine") == frame["machine"][0])
