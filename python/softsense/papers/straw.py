"""STRAW (M. Chun et al., ASPLOS 2026): read reclaim of wordlines instead of blocks.

The paper's chips, drive and traces are not to be had, and reads disturb so little that a drive has to be read for hours
before it reclaims a block. So time is compressed: each read stands for many, by which cells are disturbed. All numbers
are at second hand, through notes of others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense._core import Cells
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Paper,
    Plan,
    Runs,
    Workload,
    inline,
    resting_on,
    shown,
    synthetic,
)
from softsense.papers.comparing import Arm, Compared, Quantity, cases, first_beyond, percent, response, saved, summaries
from softsense.papers.drawing import Line, bars, draw_bars, lines, point
from softsense.papers.techniques import CAPABILITY_RBER, at_age, of_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

PUBLISHED: dict[str, Any] = {
    "flash": {
        "adjacent_stress": 8.4,
        "reads_until_failure": {"one_neighbour_hammered": 54560, "uniform": 518420},
        "vpass_minus_5_percent_raises_tolerance": 0.591,
        "wordline_classes": ["best", "good", "bad", "worst"],
        "wordlines_per_block": 704,
        "qlc_176_layers": {"host_reads_tb": 30, "internal_writes_tb": 8.7},
    },
    "mechanism": {"rec_entries": 32},
    "claims": {
        "copies_reduction": {"0": 0.900, "1000": 0.922, "2000": 0.936},
        "p999_reduction": {"0": 0.652, "1000": 0.711, "2000": 0.756},
        "erasures_reduction_mixed": 0.536,
        "read_latency_overhead": 0.012,
    },
}
"""The published numbers, by the names of `published/straw.toml`; mechanisms are told there in words."""

_FLASH, _CLAIMED = PUBLISHED["flash"], PUBLISHED["claims"]
_CELLS = "tlc-measured"
_STRESS = _FLASH["adjacent_stress"]
_WORDLINES = _FLASH["wordlines_per_block"]

# The device ----------------------------------------------------------------------------------------------------------

_COMPRESSED = 20
"""How many reads each stands for."""
_LAYER_FACTORS = (0.74, 0.82, 0.88, 0.94, 1.0, 1.07, 1.17, 1.35)
"""Of raw bit error rates [assumed]: eight layers, two of each class."""
_CLASSES = len(_FLASH["wordline_classes"])
_BLOCKS = 40
"""Of each of four planes, two dies."""


@cache
def _compressed() -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(Cells.open(_CELLS).spec_json)
    disturb = spec["read_disturb"]
    return spec | {"read_disturb": disturb | {"doubling_reads": disturb["doubling_reads"] / _COMPRESSED}}


@cache
def limit(pe_cycles: int, layer_factor: float) -> float:
    """Effective reads after which the worst page of a layer is beyond the code, by default references, just written."""
    cells = Cells.from_json(json.dumps(_compressed()), pe_cycles, 0.0).with_references("default")

    def is_beyond(reads: float) -> bool:
        aged = cells.at(pe_cycles, 0.0, reads)
        return layer_factor * max(aged.rber(page) for page in range(len(aged.pages))) > CAPABILITY_RBER

    return first_beyond(0.0, 1e8 / _COMPRESSED, is_beyond)


def _device(pe_cycles: int, *, disturbed: bool = True) -> tuple[str, ...]:
    spec = _compressed() if disturbed else {k: v for k, v in _compressed().items() if k != "read_disturb"}
    return (
        f"geometry.blocks_per_plane={_BLOCKS}",
        f"geometry.pages_per_block={3 * _WORDLINES}",
        *("geometry.channels=2", "geometry.chips_per_channel=1", "geometry.dies_per_chip=1"),
        of_cells(Cells.from_json(json.dumps(spec))),
        f"reliability.table.variation={inline({'layer_factors': list(_LAYER_FACTORS)})}",
        *("ftl.over_provisioning=0.3", "precondition.layout=sequential", "host.write_buffer_bytes=0"),
        *at_age(pe_cycles, 1.0),
    )


_UNDISTURBED = "undisturbed cells"
"""A bound: nothing has to be reclaimed."""


def _reclaims(pe_cycles: int) -> dict[str, dict[str, Any]]:
    """The ways to reclaim: a block when its worst wordline might be lost, or a wordline when it is near that."""
    by_layer = [limit(pe_cycles, factor) for factor in _LAYER_FACTORS]
    each = len(_LAYER_FACTORS) // _CLASSES
    # The worst layer of each class, the best class first.
    limits = [min(by_layer[each * rank : each * (rank + 1)]) for rank in range(_CLASSES)]
    wordline = {"effective_reads": limits, "counters": PUBLISHED["mechanism"]["rec_entries"]}
    return {
        _UNDISTURBED: {},
        "blocks": {"block": {"reads": int(min(by_layer) / _STRESS)}},
        "wordlines": {"wordline": wordline},
        "STRAW": {"wordline": wordline | {"pass_through_reduction": 0.05}},
    }


@cache
def _arm(reclaim: str, pe_cycles: int) -> Arm:
    how = _reclaims(pe_cycles)[reclaim]
    fields = (f"ftl.read_reclaim={inline(how)}",) if how else ()
    device = _device(pe_cycles, disturbed=reclaim != _UNDISTURBED)
    return Arm(reclaim, "progressive", (*device, *fields))


# Workloads -----------------------------------------------------------------------------------------------------------

_STAGES = tuple(_CLAIMED["copies_reduction"])
# Names, shares of reads and exponents of Zipf.
_LOADS = (
    ("Zipf 0.9", 1.0, 0.9),
    ("Zipf 1.0", 1.0, 1.0),
    ("Zipf 1.1", 1.0, 1.1),
    ("Zipf 1.2", 1.0, 1.2),
    ("0.1 % writes", 0.999, 1.1),
    ("0.5 % writes", 0.995, 1.1),
    ("2 % writes", 0.98, 1.1),
)
_MIXED = tuple(name for name, reads, _ in _LOADS if reads < 1)
_REQUESTS_PER_S = 200.0


def _load(name: str, reads: float, exponent: float, requests: int, requests_per_s: float = _REQUESTS_PER_S) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=reads,
        sizes=[{"bytes": 4096, "share": 1.0}],
        addresses={"zipf": {"exponent": exponent}},
        arrivals={"poisson": {"requests_per_s": requests_per_s}},
        footprint_bytes=1 << 30,
    )
    real = reads * _COMPRESSED / (reads * _COMPRESSED + 1 - reads)
    what = (
        f"assumed: {requests:,} requests of 4 KiB, Zipf {exponent:g} over 1 GiB, {100 * reads:g} % reads, which stand "
        f"for {100 * real:.4g} %"
    )
    return Workload(name, what, overrides=fields)


def _plan(full: bool) -> Plan:
    requests = 200_000
    loads = _LOADS if full else (_LOADS[3], _LOADS[5])
    workloads = tuple(_load(*load, requests) for load in loads)
    return Plan(full, (1, 2, 3) if full else (1, 2), workloads, requests)


# Results -------------------------------------------------------------------------------------------------------------

_ARMS = ("blocks", "wordlines", "STRAW")
_COLOURS = {"wordlines": "#56b4e9", "STRAW": "#0072b2"}


_QUANTITIES = {
    "copies": Quantity("codewords_moved", lambda summary: summary["read_reclaim"]["codewords"]),
    "p999": Quantity("p999_us", lambda summary: summary["response"]["read"]["p999_us"]),
    "erasures": Quantity("erases", lambda summary: summary["operations"]["erases"]),
}


def _cases(plan: Plan) -> list[Case]:
    return cases(plan, *(_arm(name, int(stage)) for stage in _STAGES for name in (_UNDISTURBED, *_ARMS)))


def _with_something(plan: Plan, runs: Runs, quantity: str, stage: str, names: Sequence[str]) -> Plan:
    """The plan with those of some workloads of which reclaim of blocks has something to be saved."""
    of, arm = _QUANTITIES[quantity].of, _arm("blocks", int(stage))
    kept = [
        each for each in plan.workloads if each.name in names and min(map(of, summaries(plan, runs, each, arm))) > 0
    ]
    return replace(plan, workloads=tuple(kept))


def _by_stage(
    quantity: str, plan: Plan, runs: Runs, names: Sequence[str] = ()
) -> tuple[pl.DataFrame, dict[str, Number]]:
    """What is saved by P/E cycles, for a picture, and with all of STRAW."""
    rows, straw = [], {}
    for stage in _STAGES:
        known = names or [workload.name for workload in plan.workloads]
        some = _with_something(plan, runs, quantity, stage, known)
        if not some.workloads:
            continue
        arms = {name: _arm(name, int(stage)) for name in _ARMS}
        compared = Compared(some, runs, [arms[name] for name in _COLOURS], arms["blocks"], _QUANTITIES[quantity])
        for name in _COLOURS:
            number = straw[stage] = saved(compared.mean(arms[name]))
            group = f"{int(stage):,} P/E cycles"
            rows.append({"group": group, "bar": name, "value": number.value, "lo": number.lo, "hi": number.hi})
    return pl.DataFrame(rows), straw


def _counts(plan: Plan, runs: Runs, stage: str, name: str) -> str:
    """What was reclaimed in a run, in the mean."""
    found = [
        summary["read_reclaim"]
        for workload in plan.workloads
        for summary in summaries(plan, runs, workload, _arm(name, int(stage)))
    ]
    return (
        f"{fmean(each['blocks'] for each in found):,.0f} blocks and {fmean(each['wordlines'] for each in found):,.0f} "
        "wordlines"
    )


def _copies(plan: Plan, runs: Runs) -> Measured:
    frame, straw = _by_stage("copies", plan, runs)
    uniform = 1 - 1 / (_STRESS / (1 + 2 * (_STRESS - 1) / _WORDLINES))
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


def _tail(plan: Plan, runs: Runs) -> Measured:
    frame, straw = _by_stage("p999", plan, runs)
    why = (
        "Reads wait for programs and erases of reclaim, without suspending them. Where that is more than one read in a "
        f"thousand, p99.9 is a program's time. So it depends on the load, here {_REQUESTS_PER_S * _COMPRESSED:,.0f} "
        "requests a second [assumed]: see the figure of loads."
    )
    evidence = {f"p999_{stage}": Evidence(number, why) for stage, number in straw.items()}
    straws = {stage: _arm("STRAW", int(stage)) for stage in _STAGES}
    beside = {
        stage: Compared(plan, runs, [arm], _arm(_UNDISTURBED, int(stage)), response()) for stage, arm in straws.items()
    }
    worst = max(beside[stage].number(beside[stage].worst(arm), arm).value for stage, arm in straws.items()) - 1
    evidence["overhead"] = Evidence(
        Number.exact(worst),
        "The most of any workload and age, beside a drive whose cells reads do not disturb. It is the time that reads "
        "wait for reclaim, and grows with the load. What counting and another voltage cost a controller is not "
        "modelled; what the published number is measured beside is not in our sources.",
    )
    return Measured(frame, evidence)


_RATES = (12.5, 25.0, 50.0, 100.0, 200.0)
_RATE_STAGE = 1000


def _at_rate(plan: Plan, rate: float) -> Workload:
    return _load(*_LOADS[3], plan.requests, rate)


def _rate_cases(plan: Plan) -> list[Case]:
    arms = [_arm(name, _RATE_STAGE) for name in _RATE_STYLES]
    return [
        Case(_at_rate(plan, rate), arm.policy, arm.overrides, seed)
        for rate, arm, seed in product(_RATES, arms, plan.seeds)
    ]


_RATE_STYLES = {_UNDISTURBED: Line("#7f7f7f"), "blocks": Line("#e69f00"), "STRAW": Line("#0072b2")}


def _rate(plan: Plan, runs: Runs) -> Measured:
    of = _QUANTITIES["p999"].of
    rows = []
    for name, rate in product(_RATE_STYLES, _RATES):
        arm = _arm(name, _RATE_STAGE)
        each = [of(runs[Case(_at_rate(plan, rate), arm.policy, arm.overrides, seed)]) for seed in plan.seeds]
        rows.append(point("reads", name, rate * _COMPRESSED, Number.of(each)))
    return Measured(pl.DataFrame(rows))


def _erasures(plan: Plan, runs: Runs) -> Measured:
    frame, straw = _by_stage("erasures", plan, runs, _MIXED)
    least = min(straw.values(), key=lambda number: number.value)
    why = (
        "Erases of reclaim and of garbage collection, of workloads that write, at the age where the least is saved; "
        f"by age it is {', '.join(map(percent, straw.values()))}. How many there are for writes depends on how "
        "much is written: what the paper's mixed workloads write is not in our sources."
    )
    return Measured(frame, {"erasures": Evidence(least, why)})


def _flash(plan: Plan, runs: Runs) -> Measured:
    """The closed forms of the cells, not compressed: what is fitted to a number is not judged by it."""
    cells = Cells.open(_CELLS, 1000, 0.0, "default")

    def worst(reads: float, voltage: float = 1.0) -> float:
        spec = json.loads(cells.spec_json)
        spec["read_disturb"]["pass_through_voltage"] = voltage
        aged = Cells.from_json(json.dumps(spec), 1000, 0.0).with_references("default").at(1000, 0.0, reads)
        return max(aged.rber(page) for page in range(len(aged.pages)))

    hammered = first_beyond(0.0, 1e8, lambda reads: worst(reads) > CAPABILITY_RBER)
    lowered = first_beyond(0.0, 1e8, lambda reads: worst(reads, 0.95) > CAPABILITY_RBER)
    even = hammered / cells.effective_reads_if_even(1.0, _WORDLINES)
    rows = [
        {"what": "reads until failure, one neighbour hammered", "reads": hammered / _STRESS},
        {"what": "reads until failure, uniform", "reads": even},
        {"what": "effective reads, pass-through voltage 5 % lower", "reads": lowered},
    ]
    published = _FLASH["reads_until_failure"]
    pages, limit_reads = 4 * _WORDLINES, hammered / _STRESS
    qlc = _FLASH["qlc_176_layers"]
    evidence = {
        "hammered": Evidence(
            Number.exact(limit_reads), "Fitted to: `doubling_reads` of the cells is chosen to meet it at 1,000 cycles."
        ),
        "uniform": Evidence(
            Number.exact(even),
            f"The same effective reads, spread: a neighbour counts {_STRESS:g} times. The two published counts ask for "
            f"{published['uniform'] / published['one_neighbour_hammered']:.1f} as their ratio, which a stress of 9.7 "
            "would give.",
        ),
        "tolerance": Evidence(Number.exact(lowered / hammered - 1), "Fitted to: `pass_through_sensitivity`."),
        "qlc": Evidence(
            Number.exact(4 * pages / limit_reads),
            f"In closed form: a block of {_WORDLINES} wordlines of four pages is moved after {limit_reads:,.0f} reads "
            f"of 4 KiB. The published {qlc['internal_writes_tb']} TB for {qlc['host_reads_tb']} TB are of QLC, whose "
            "cells have no read disturb here, and of what block sizes and reads is not in our sources.",
        ),
    }
    return Measured(pl.DataFrame(rows), evidence)


def _draw_flash(frame: pl.DataFrame) -> Picture:
    published = {
        "reads until failure, one neighbour hammered": _FLASH["reads_until_failure"]["one_neighbour_hammered"],
        "reads until failure, uniform": _FLASH["reads_until_failure"]["uniform"],
    }
    shown = frame.with_columns(
        pl.col("what").alias("group"), pl.lit("measured").alias("bar"), *(pl.col("reads").alias(end) for end in _ENDS)
    )
    return draw_bars(
        shown,
        "Reads until a page is beyond the code",
        "reads",
        colours={"measured": "#0072b2"},
        line=None,
        note="1,000 P/E cycles, just written, default references",
        digits=0,
        published={name: (float(reads), float(reads)) for name, reads in published.items()},
    )


_ENDS = ("value", "lo", "hi")

# Claims --------------------------------------------------------------------------------------------------------------


def _figure(id_: str, title: str, measure: Callable[[Plan, Runs], Measured]) -> Figure:
    note = "mean of workloads, against reclaim of blocks; STRAW lowers the pass-through voltage, too"
    return Figure(id_, title, measure, bars(title, "part saved", colours=_COLOURS, note=note), _cases)


_SAVINGS = (
    *(
        Claim(
            f"copies_{stage}",
            "copies",
            f"After {int(stage):,} P/E cycles so much fewer copies are made for reads",
            share,
            no_effect=0.0,
            unit="%",
        )
        for stage, share in _CLAIMED["copies_reduction"].items()
    ),
    *(
        Claim(
            f"p999_{stage}",
            "tail",
            f"After {int(stage):,} P/E cycles p99.9 of reads is so much shorter",
            share,
            no_effect=0.0,
            unit="%",
        )
        for stage, share in _CLAIMED["p999_reduction"].items()
    ),
    Claim(
        "overhead",
        "tail",
        "Reads take longer by so much at most",
        _CLAIMED["read_latency_overhead"],
        rule="at most",
        unit="%",
    ),
    Claim(
        "erasures",
        "erasures",
        "On mixed workloads so many fewer blocks are erased",
        _CLAIMED["erasures_reduction_mixed"],
        no_effect=0.0,
        unit="%",
    ),
)
# Read disturb of the cells is fitted to these two.
_FITTED = (
    Claim(
        "hammered",
        "flash",
        "A wordline fails after so many reads of one beside it",
        float(_FLASH["reads_until_failure"]["one_neighbour_hammered"]),
        unit="",
    ),
    Claim(
        "tolerance",
        "flash",
        "A pass-through voltage 5 % lower bears so many more reads, at most",
        _FLASH["vpass_minus_5_percent_raises_tolerance"],
        no_effect=0.0,
        unit="+%",
    ),
)
_PREDICTED = (
    Claim(
        "uniform",
        "flash",
        "A wordline fails after so many reads that are spread over its block",
        float(_FLASH["reads_until_failure"]["uniform"]),
        unit="",
    ),
    Claim(
        "qlc",
        "flash",
        "Of QLC, a byte that is read costs so much of a byte written by reclaim",
        _FLASH["qlc_176_layers"]["internal_writes_tb"] / _FLASH["qlc_176_layers"]["host_reads_tb"],
        no_effect=0.0,
        unit="",
    ),
)

PAPER = Paper(
    name="straw",
    title="STRAW: read reclaim of wordlines",
    published="M. Chun et al., ASPLOS 2026",
    figures=(
        _figure("copies", "Copies that reclaim of wordlines saves", _copies),
        _figure("tail", "p99.9 of reads that it saves", _tail),
        Figure(
            "rate",
            "p99.9 of reads by load",
            _rate,
            lines(
                "p99.9 of reads by load",
                "requests a second that these stand for",
                "us",
                _RATE_STYLES,
                f"{_LOADS[3][0]}, {_RATE_STAGE:,} P/E cycles",
                at=[rate * _COMPRESSED for rate in _RATES],
            ),
            _rate_cases,
        ),
        _figure("erasures", "Erasures that it saves on mixed workloads", _erasures),
        Figure("flash", "Reads until a page is beyond the code", _flash, _draw_flash),
    ),
    claims=(
        *resting_on("invented workload", *_SAVINGS),
        *resting_on("calibrated", *_FITTED),
        *_PREDICTED,
    ),
    plan=_plan,
    config="tlc-3d",
    headline=lambda found: (
        f"Reclaim of wordlines saves {shown(found['copies_1000']['measured'], '%')} of the copies of reclaim of blocks "
        f"after 1,000 P/E cycles ({shown(_CLAIMED['copies_reduction']['1000'], '%')} published), and "
        f"{shown(found['p999_1000']['measured'], '%')} of the p99.9 of reads at loads that were chosen for it."
    ),
    intro=(
        "All published numbers are at second hand, through notes of others. The paper's 160 chips, its drive and its "
        "traces are not to be had. Cells are `tlc-measured`, whose read disturb is fitted to two of the published "
        "numbers; layers differ as assumed, in four classes; limits are the effective reads after which the worst page "
        "of a class is beyond a raw bit error rate of 0.0085, and of a block what its worst wordline bears of one "
        f"neighbour. Time is compressed: a read stands for {_COMPRESSED}, by which cells are disturbed, and arrives as "
        "many times slower; a write stands for itself. Workloads are assumed."
    ),
)
