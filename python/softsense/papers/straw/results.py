"""Measurements of STRAW, and charts of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense._core import Cells
from softsense.papers import Case, Evidence, Measured, Number, Plan, Runs, Workload
from softsense.papers.comparing import Compared, Quantity, cases, first_beyond, percent, response, saved, summaries
from softsense.papers.drawing import Line, bar_sheet, point
from softsense.papers.straw.device import CELLS, COMPRESSED, FLASH, QLC_CELLS, UNDISTURBED, WORDLINES, arm_of, stress
from softsense.papers.straw.workloads import LOADS, MIXED, REQUESTS_PER_S, STAGES, load_of
from softsense.papers.techniques import CAPABILITY_RBER

if TYPE_CHECKING:
    from softsense.charts import Sheet

_ARMS = ("blocks", "wordlines", "STRAW")
COLOURS = {"wordlines": "#56b4e9", "STRAW": "#0072b2"}

_QUANTITIES = {
    "copies": Quantity("codewords_moved", lambda summary: summary["read_reclaim"]["codewords"]),
    "p999": Quantity("p999_us", lambda summary: summary["response"]["read"]["p999_us"]),
    "erasures": Quantity("erases", lambda summary: summary["operations"]["erases"]),
}


def cases_of(plan: Plan) -> list[Case]:
    """Simulations of all arms at all stages."""
    return cases(plan, *(arm_of(name, int(stage)) for stage in STAGES for name in (UNDISTURBED, *_ARMS)))


def _with_something(plan: Plan, runs: Runs, quantity: str, stage: str, names: Sequence[str]) -> Plan:
    """The plan with the workloads in which reclaim of blocks moves any data."""
    of, arm = _QUANTITIES[quantity].of, arm_of("blocks", int(stage))
    kept = [
        each for each in plan.workloads if each.name in names and min(map(of, summaries(plan, runs, each, arm))) > 0
    ]
    return replace(plan, workloads=tuple(kept))


def _by_stage(
    quantity: str, plan: Plan, runs: Runs, names: Sequence[str] = ()
) -> tuple[pl.DataFrame, dict[str, Number]]:
    """Saved shares by P/E cycles: rows for a picture, and the numbers of STRAW."""
    rows, straw = [], {}
    for stage in STAGES:
        known = names or [workload.name for workload in plan.workloads]
        some = _with_something(plan, runs, quantity, stage, known)
        if not some.workloads:
            continue
        arms = {name: arm_of(name, int(stage)) for name in _ARMS}
        compared = Compared(some, runs, [arms[name] for name in COLOURS], arms["blocks"], _QUANTITIES[quantity])
        for name in COLOURS:
            number = straw[stage] = saved(compared.mean(arms[name]))
            group = f"{int(stage):,} P/E cycles"
            rows.append({"group": group, "bar": name, "value": number.value, "lo": number.lo, "hi": number.hi})
    return pl.DataFrame(rows), straw


def _counts(plan: Plan, runs: Runs, stage: str, name: str) -> str:
    """Mean numbers of reclaimed blocks and wordlines in a run, in words."""
    found = [
        summary["read_reclaim"]
        for workload in plan.workloads
        for summary in summaries(plan, runs, workload, arm_of(name, int(stage)))
    ]
    return (
        f"{fmean(each['blocks'] for each in found):,.0f} blocks and {fmean(each['wordlines'] for each in found):,.0f} "
        "wordlines"
    )


def copies(plan: Plan, runs: Runs) -> Measured:
    """Saved share of the codewords that reclaim moves."""
    frame, straw = _by_stage("copies", plan, runs)
    uniform = 1 - (1 + 2 * (stress() - 1) / WORDLINES) / stress()
    evidence = {}
    for stage, number in straw.items():
        evidence[f"copies_{stage}"] = Evidence(
            number,
            f"Reclaim of blocks moves {_counts(plan, runs, stage, 'blocks')} in a run, STRAW "
            f"{_counts(plan, runs, stage, 'STRAW')}. A block has to count as if all reads were of one neighbour: of "
            f"reads that are spread evenly, {percent(Number.exact(uniform))} of its copies come too early by "
            "that alone. The rest is skew, classes of wordlines and the lower pass-through voltage.",
        )
    return Measured(frame, evidence)


def tail(plan: Plan, runs: Runs) -> Measured:
    """Saved share of the 99.9th percentile of reads."""
    frame, straw = _by_stage("p999", plan, runs)
    why = (
        "Reads wait for programs and erases of reclaim, without suspending them. Where that is more than one read in a "
        f"thousand, p99.9 is a program's time. So it depends on the load, here {REQUESTS_PER_S * COMPRESSED:,.0f} "
        "requests a second [assumed]: see the figure of loads."
    )
    evidence = {f"p999_{stage}": Evidence(number, why) for stage, number in straw.items()}
    straws = {stage: arm_of("STRAW", int(stage)) for stage in STAGES}
    beside = {
        stage: Compared(plan, runs, [arm], arm_of(UNDISTURBED, int(stage)), response()) for stage, arm in straws.items()
    }
    worst = max(beside[stage].number(beside[stage].worst(arm), arm).value for stage, arm in straws.items()) - 1
    evidence["overhead"] = Evidence(
        Number.exact(worst),
        "The most of any workload and age, beside a drive whose cells reads do not disturb. It is the time that reads "
        "wait for reclaim, and grows with the load. What counting and another voltage cost a controller is not "
        "modelled; what the published number is measured beside is not in our sources.",
    )
    return Measured(frame, evidence)


RATES = (5.0, 10.0, 20.0, 40.0, 80.0)
RATE_STAGE = 1000


def _at_rate(plan: Plan, rate: float) -> Workload:
    return load_of(*LOADS[3], plan.requests, rate)


def rate_cases(plan: Plan) -> list[Case]:
    """Simulations by rate of requests."""
    arms = [arm_of(name, RATE_STAGE) for name in RATE_STYLES]
    return [
        Case(_at_rate(plan, rate), arm.policy, arm.overrides, seed)
        for rate, arm, seed in product(RATES, arms, plan.seeds)
    ]


RATE_STYLES = {UNDISTURBED: Line("#7f7f7f"), "blocks": Line("#e69f00"), "STRAW": Line("#0072b2")}


def measure_rates(plan: Plan, runs: Runs) -> Measured:
    """The 99.9th percentile of reads by rate of requests."""
    of = _QUANTITIES["p999"].of
    rows = []
    for name, rate in product(RATE_STYLES, RATES):
        arm = arm_of(name, RATE_STAGE)
        each = [of(runs[Case(_at_rate(plan, rate), arm.policy, arm.overrides, seed)]) for seed in plan.seeds]
        rows.append(point("reads", name, rate * COMPRESSED, Number.of(each)))
    return Measured(pl.DataFrame(rows))


def erasures(plan: Plan, runs: Runs) -> Measured:
    """Saved share of the erases of blocks."""
    frame, straw = _by_stage("erasures", plan, runs, MIXED)
    if not straw:
        return Measured(frame)
    least = min(straw.values(), key=lambda number: number.value)
    why = (
        "Erases of reclaim and of garbage collection, of workloads that write, at the age where the least is saved; "
        f"by age it is {', '.join(map(percent, straw.values()))}. How many there are for writes depends on how "
        "much is written: what the paper's mixed workloads write is not in our sources."
    )
    return Measured(frame, {"erasures": Evidence(least, why)})


_WORN = 2000
"""P/E cycles at which the TLC cells are fitted to a number of the paper."""
_QLC_WORN = 1000


def _bears(name: str, pe_cycles: int, voltage: float = 1.0) -> float:
    """Effective reads after which the worst page of just written cells is beyond the code by default references."""
    spec = json.loads(Cells.open(name).spec_json)
    spec["read_disturb"]["pass_through_voltage"] = voltage
    cells = Cells.from_json(json.dumps(spec), pe_cycles, 0.0).with_references("default")

    def is_beyond(reads: float) -> bool:
        aged = cells.at(pe_cycles, 0.0, reads)
        found: bool = max(aged.rber(page) for page in range(len(aged.pages))) > CAPABILITY_RBER
        return found

    return first_beyond(0.0, 1e8, is_beyond)


def flash(plan: Plan, runs: Runs) -> Measured:
    """Closed forms of the cells, not compressed. A quantity that is fitted to a published number is not judged by
    it.
    """
    hammered, lowered = (_bears(CELLS, _WORN, voltage) for voltage in (1.0, 0.95))
    limit_reads = hammered / stress()
    even = hammered / Cells.open(CELLS, _WORN, 0.0).effective_reads_if_even(1.0, WORDLINES)
    rows = [
        {"what": "reads until failure, one neighbour hammered", "reads": limit_reads},
        {"what": "reads until failure, uniform", "reads": even},
        {"what": "effective reads, pass-through voltage 5 % lower", "reads": lowered},
    ]
    published = FLASH["reads_until_failure"]
    pages, qlc_reads = 4 * WORDLINES, _bears(QLC_CELLS, _QLC_WORN) / stress()
    qlc = FLASH["qlc_176_layers"]
    evidence = {
        "hammered": Evidence(
            Number.exact(limit_reads),
            f"`doubling_reads` of the cells is chosen for another number of the paper: {hammered:,.0f} effective reads "
            f"after {_WORN:,} cycles. The cycles and the age of the data of this number are not in our sources.",
        ),
        "uniform": Evidence(
            Number.exact(even),
            f"The same effective reads, spread: a neighbour counts {stress():g} times. The two published counts ask "
            f"for {published['uniform'] / published['one_neighbour_hammered']:.1f} as their ratio, which a stress of "
            "9.7 would give.",
        ),
        "tolerance": Evidence(Number.exact(lowered / hammered - 1), "Fitted to: `pass_through_sensitivity`."),
        "qlc": Evidence(
            Number.exact(4 * pages / qlc_reads),
            f"In closed form: a block of {WORDLINES} wordlines of four pages is moved after {qlc_reads:,.0f} reads "
            f"of 4 KiB, what a neighbour bears in {QLC_CELLS} after {_QLC_WORN:,} cycles (assumed). Of what block "
            f"sizes and reads the published {qlc['internal_writes_tb']} TB for {qlc['host_reads_tb']} TB are is not in "
            "our sources.",
        ),
    }
    return Measured(pl.DataFrame(rows), evidence)


def draw_flash(frame: pl.DataFrame) -> Sheet:
    """The cells beside the paper's numbers."""
    published = {
        "reads until failure, one neighbour hammered": FLASH["reads_until_failure"]["one_neighbour_hammered"],
        "reads until failure, uniform": FLASH["reads_until_failure"]["uniform"],
    }
    shown = frame.with_columns(
        pl.col("what").alias("group"), pl.lit("measured").alias("bar"), *(pl.col("reads").alias(end) for end in _ENDS)
    )
    return bar_sheet(
        shown,
        "Reads until a page is beyond the code",
        "reads",
        colours={"measured": "#0072b2"},
        line=None,
        note=f"{_WORN:,} P/E cycles, just written, default references",
        digits=0,
        published={name: (float(reads), float(reads)) for name, reads in published.items()},
    )


_ENDS = ("value", "lo", "hi")
