"""A paper's headline on drives of today: a figure that papers share, by the rules of `softsense compare --across`.

Its verdicts are about drives that no paper speaks of, so that they are no claims and are not counted as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from softsense._core import ConfigError
from softsense.across import Across, Axes, Compared, Verdict, cases_of, problem_of, problems_of
from softsense.across import Case as Place
from softsense.formats import listed
from softsense.papers.comparing import Arm
from softsense.papers.plans import Case, Figure, Measured, Plan, Runs, Workload, configured
from softsense.papers.techniques import at_age
from softsense.papers.telling import markdown_table
from softsense.read_policies import Technique
from softsense.records import of
from softsense.results import Comparison, RunResult
from softsense.seeds import SeededComparison

DRIVES = ("tlc-client", "tlc-client-pcie5", "tlc-enterprise", "qlc-client")
AGES = ((50, 1.0), (1000, 90.0), (3000, 365.0))
"""P/E cycles and days of data: new, in the middle of life, and at its end."""
SEEDS = (1, 2, 3)
AS_SHIPPED = "All else of the reading is as shipped."
_QUICK_DRIVES, _QUICK_AGES = ("tlc-client", "tlc-enterprise"), AGES[1:2]
_REQUESTS = {False: (6_000, 4_000), True: (30_000, 20_000)}
"""Requests of a warm-up, in which drives learn where blocks are decoded, and measured ones, of quick and full runs."""


@dataclass(frozen=True)
class Headline:
    """The headline of a paper as a comparison of techniques.

    Attributes:
        claim: the headline in words: that the last technique reads faster than the first.
        techniques: the techniques on shipped drives, the one first with which others are compared.
        own: function that gives a simulation of each technique, in their order, on the paper's own drive.
        where: the paper's own drive and workload, in words.
        device: the shipped configuration of the paper's own drive.
        by: the statistic of response times of reads.
        load: overrides for the workload of all shipped drives; none for the workload of each.
        share: requests of a run on a shipped drive, over those of other papers: fewer where requests are large.
        note: how the techniques are stated on shipped drives.
        not_on: shipped drives on which they cannot run, each with the reason.

    Raises `ConfigError` for a drive in `not_on` that is not among `DRIVES`.
    """

    claim: str
    techniques: tuple[Technique, ...]
    own: Callable[[Plan], Sequence[Case]]
    where: str
    device: str
    by: str = "mean"
    load: tuple[str, ...] = ()
    share: float = 1.0
    note: str = ""
    not_on: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for drive in self.not_on:
            if drive not in DRIVES:
                raise ConfigError(f"not_on: found `{drive}`, expected some of {listed(DRIVES)}")

    def loaded(self, plan: Plan) -> Workload:
        """The workload of shipped drives."""
        warmup, measured = (round(self.share * requests) for requests in _REQUESTS[plan.full])
        what = f"{measured:,} requests after {warmup:,} that warm up"
        counts = (f"workload.requests={measured}", f"measurement.warmup={{ requests = {warmup} }}")
        return Workload("drives of today", what, overrides=(*self.load, *counts))

    def places(self, plan: Plan) -> Iterator[tuple[Place, list[Case]]]:
        """The paper's own drive, then shipped drives at each age; each with a simulation of every technique."""
        own = list(self.own(plan))
        first = own[0]
        config = configured(first.device or self.device, first.changed(plan.overrides))
        yield from ((place, own) for place in cases_of([(self.where, config)], Axes(), traced=False))
        workload = self.loaded(plan)
        for drive in DRIVES if plan.full else _QUICK_DRIVES:
            for age in () if drive in self.not_on else AGES if plan.full else _QUICK_AGES:
                cases = [
                    Case(workload, each.policy, (*at_age(*age), *each.overrides), device=drive, apart=True)
                    for each in self.techniques
                ]
                config = configured(drive, (*workload.overrides, *at_age(*age)))
                yield from ((place, cases) for place in cases_of([(drive, config)], Axes(), traced=False))

    def found(self, plan: Plan, runs: Runs) -> Across:
        """The comparison across all places."""
        compared = []
        for place, cases in self.places(plan):
            by_seed = [
                Comparison(
                    [
                        RunResult(technique.name, place.config, of("Summary", runs[replace(case, seed=seed)]), {})
                        for technique, case in zip(self.techniques, cases, strict=True)
                    ]
                )
                for seed in SEEDS
            ]
            seeded = SeededComparison(list(SEEDS), by_seed)
            compared.append(Compared(place, seeded, dict(problems_of(seeded, place, traced=False))))
        return Across([one.case for one in compared], self.by, compared)

    def measure(self, plan: Plan, runs: Runs) -> Measured:
        """The table of all places, the sentence on where the headline holds, and both as data."""
        found = self.found(plan, runs)
        names = (found.reference, *found.others)
        heads = [f"{self.by} of reads", f"{found.reference}, us", *(f"{name}, %" for name in found.others)]
        rows = [[found.name(one.case), *(found.cell(one, name) for name in names)] for one in found.compared]
        left = [f"Not on {drive}: {why}." for drive, why in self.not_on.items()]
        how = (
            f"The headline: {self.claim}. The first line is {self.where}. Others are shipped drives, "
            f"{'each under its own workload' if not self.load else 'all under one workload'} "
            f"({self.loaded(plan).what}). {self.note} Verdicts are about drives of which the paper does not speak, and "
            "are not counted among its claims. Differences are to the first technique, with 95 % intervals over "
            f"{len(SEEDS)} seeds; < faster, > slower, ! counted nowhere. Ages are P/E cycles and days, as in 50:1."
        )
        sentence = sentence_of(found)
        notes = (sentence, " ".join(how.split()), *left, markdown_table(heads, rows))
        drives: dict[str, list[str]] = {each.case.drive: [] for each in found.compared}
        for one in found.compared:
            drives[one.case.drive].append(found.cell(one, found.others[-1]).strip())
        data: dict[str, Any] = {"claim": self.claim, "sentence": sentence, "technique": found.others[-1]}
        data |= {"where": self.where, "own": drives.pop(self.where)}
        data["drives"] = drives | {drive: [why] for drive, why in self.not_on.items()}
        return Measured(found.table, notes=notes, elsewhere=data | found.to_dict())

    @property
    def figure(self) -> Figure:
        """The figure `across`."""
        title = "The headline on drives of today"

        def draw(frame: pl.DataFrame) -> Any:
            from softsense.plots.of_cases import draw_cases

            return draw_cases(frame, title, self.by, "the paper's own drive")

        def cases(plan: Plan) -> list[Case]:
            return [replace(case, seed=seed) for _, cases in self.places(plan) for case in cases for seed in SEEDS]

        return Figure("across", title, self.measure, draw, cases)


def sentence_of(found: Across) -> str:
    """A sentence on the last technique: its gain in the first case, and where it holds, turns or vanishes elsewhere."""
    policy, (base, *rest) = found.others[-1], found.compared
    told = f"{policy} beside {found.reference} ({found.by} of reads, {base.case.drive}): "
    first = found.verdict(base, policy)
    if first is None or base.problems:
        told += f"counted nowhere ({next(iter(base.problems.values()), 'nothing is read')})"
    elif first.word == "alike":
        told += f"not told apart ({_percent(first)})"
    else:
        told += f"{first.word} by {_percent(first)}"
    judged = [(one, of) for one in rest if not one.problems and (of := found.verdict(one, policy))]
    parts = []
    for word, verb in (("faster", "faster"), ("slower", "slower"), ("alike", "not told apart")):
        some = sorted((pair for pair in judged if pair[1].word == word), key=lambda pair: abs(pair[1].difference))
        if some:
            ends = dict.fromkeys(_percent(of) for _, of in (some[0], some[-1]))
            parts.append(f"{verb} in {len(some)} ({_where([one for one, _ in some], rest)}: {' to '.join(ends)})")
    if lost := [one for one in rest if one.problems]:
        parts.append(f"counted nowhere in {len(lost)} ({_where(lost, rest)}; {problem_of(lost[0])})")
    return f"{told}; of {len(rest)} cases on drives of today {', '.join(parts)}." if rest else f"{told}."


def _percent(verdict: Verdict) -> str:
    return f"{verdict.percent(-1 if verdict.word == 'faster' else 1)} %"


def _where(some: Sequence[Compared], rest: Sequence[Compared]) -> str:
    """Drives of some cases, and their ages (P/E cycles:days) unless all ages of a drive are among them."""
    drives: dict[tuple[str, ...], list[str]] = {}
    for drive in dict.fromkeys(one.case.drive for one in rest):
        of = [one for one in rest if one.case.drive == drive]
        ages = tuple(one.case.told["age"] for one in of if any(one is each for each in some))
        if ages:
            drives.setdefault(ages if len(ages) < len(of) else (), []).append(drive)
    return "; ".join(listed(of) + (f" at {listed(ages)}" if ages else "") for ages, of in drives.items())


def on_workload(name: str, *arms: Arm) -> Callable[[Plan], list[Case]]:
    """A function that gives a simulation of each arm on a plan's workload of that name, or on its last one."""

    def of(plan: Plan) -> list[Case]:
        workload = next((each for each in plan.workloads if each.name == name), plan.workloads[-1])
        return [Case(workload, arm.policy, arm.overrides) for arm in arms]

    return of


def techniques_of(*arms: Arm) -> tuple[Technique, ...]:
    """The techniques of arms that shipped drives can have as they are."""
    return tuple(Technique(arm.label, arm.policy, arm.overrides) for arm in arms)
