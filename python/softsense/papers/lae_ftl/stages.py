"""A device through all of its stages, under load, on one engine, for which the paper has no figure.

Each stage is run at the raw bit error rate of its end. And in one run an erase counts as thousands of P/E cycles, so
that blocks go from code to code while they are read and written.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.base import inline
from softsense.formats import as_plain_share
from softsense.papers import (
    Case,
    Claim,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    Workload,
    markdown_table,
    synthetic,
)
from softsense.papers.comparing import (
    Arm,
    Quantity,
    cases,
    summaries,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.devices import SMALL, squeezed
from softsense.papers.lae_ftl.published import POLICY, UNIT, wear
from softsense.papers.lae_ftl.units import (
    EVERY_LIFE,
    FOR_LIFE,
    SEGMENTS,
    SQUEEZED,
    UNSQUEEZED,
    WORST_CASE,
    Hardware,
    UnitCode,
    bch_of,
    constant,
)
from softsense.papers.lae_ftl.workloads import AMPLIFICATION, GREY, READ, bar

if TYPE_CHECKING:
    from softsense.charts import Sheet

_CODES = EVERY_LIFE
_STRONGEST = SQUEEZED[-1]
_ENGINE = Hardware(engine=_STRONGEST.correctable)

_BLOCKS, _SHARE, _PER_DIE = 64, 0.4, 2
# Share of reads among requests; share of the plan's requests in a stage.
_READS, _REQUESTS = 0.7, 0.4
# P/E cycles that an erase counts as, for quick (False) and full (True) runs.
_PER_ERASE = {False: 5_000, True: 2_500}
_LAE, _FROM_THE_FIRST_DAY, _WORST = "LAE-FTL", f"t = {_STRONGEST.correctable} for life", WORST_CASE.label


def _ends() -> list[int]:
    """P/E cycles at which stages end."""
    return [int(wear().pe_cycles(code.limit())) for code in _CODES]


def _small(blocks: int) -> tuple[str, ...]:
    return (*SMALL.overrides(_SHARE), f"geometry.blocks_per_plane={blocks}")


def _load(requests: int, reads: float, blocks: int) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=reads,
        sizes=[{"bytes": UNIT, "share": 1.0}],
        addresses="uniform",
        arrivals="immediate",
    )
    depth = _PER_DIE * SMALL.dies
    load = f"host.issue={inline({'closed_loop': {'queue_depth': depth}})}"
    what = f"{as_plain_share(reads)} reads of 4 KiB at random places, {depth} at a time"
    return Workload("under load", what, overrides=(*fields, load, *_small(blocks)))


def _on(code: UnitCode, rber: float, label: str) -> Arm:
    arm = squeezed(code, _SHARE, _ENGINE.override)
    reliability = bch_of({code: FOR_LIFE}, constant(rber))
    return Arm(label, arm.policy, (reliability, *arm.overrides[1:]))


def _stage_arms(stage: int) -> list[Arm]:
    rber = wear().rber(_ends()[stage])
    arms = [_on(_CODES[stage], rber, _LAE), _on(_STRONGEST, rber, _FROM_THE_FIRST_DAY)]
    return [*arms, _on(WORST_CASE, rber, _WORST)] if stage < len(SEGMENTS) else arms


def _stage_plan(plan: Plan) -> Plan:
    return replace(plan, workloads=(_load(round(_REQUESTS * plan.requests), _READS, _BLOCKS),))


def _life_arms(full: bool) -> list[Arm]:
    """Arms of one run through life: the codes by age, and the strongest code for life."""
    per_erase = f"flash.pe_cycles_per_erase={_PER_ERASE[full]}"
    by_age = bch_of(dict(zip(_CODES, _ends(), strict=True)), wear().model)
    strongest = squeezed(_STRONGEST, _SHARE)
    of_strongest = (bch_of({_STRONGEST: FOR_LIFE}, wear().model), *strongest.overrides[1:])
    more = per_erase, _ENGINE.override
    share = f"ftl.over_provisioning={_SHARE}"
    return [Arm(_LAE, POLICY, (by_age, share, *more)), Arm(_FROM_THE_FIRST_DAY, POLICY, (*of_strongest, *more))]


def _life_plan(plan: Plan) -> Plan:
    # The number of writes that wears blocks out, with a write amplification of about 1.85.
    blocks = _BLOCKS // 2
    slots = blocks * SMALL.dies * UNSQUEEZED.units_per_block
    writes = slots * _ends()[-1] / _PER_ERASE[plan.full] / 1.85
    return replace(plan, workloads=(_load(round(2 * writes), 0.5, blocks),), seeds=plan.seeds[:1])


def _cases(plan: Plan) -> list[Case]:
    chain = [case for stage in range(len(_CODES)) for case in cases(_stage_plan(plan), *_stage_arms(stage))]
    return chain + cases(_life_plan(plan), *_life_arms(plan.full))


_P99 = Quantity("read_p99_us", lambda summary: summary["response"]["read"]["p99_us"])
_WRITE_P99 = Quantity("write_p99_us", lambda summary: summary["response"]["write"]["p99_us"])


def _measure(plan: Plan, runs: Runs) -> Measured:
    some, rows, told = _stage_plan(plan), [], []
    (workload,) = some.workloads
    for stage, (code, end) in enumerate(zip(_CODES, _ends(), strict=True)):
        cells = []
        for arm in _stage_arms(stage):
            each = summaries(some, runs, workload, arm)
            p99 = Number.of(_P99.each(each))
            rows.append(bar(f"t = {code.correctable}\n{end:,}", arm.label, p99))
            numbers = (fmean(READ.each(each)), p99.value, fmean(_WRITE_P99.each(each)), fmean(AMPLIFICATION.each(each)))
            cells.append(f"{numbers[0]:.0f}, {numbers[1]:.0f}, {numbers[2]:,.0f}, {numbers[3]:.2f}")
        told.append([code.label, f"{end:,}", *cells, *[""] * (3 - len(cells))])
    heads = ["code of the stage", "up to, P/E cycles", *(f"{name}" for name in (_LAE, _FROM_THE_FIRST_DAY, _WORST))]
    note = (
        f"{workload.what}, on the small device with blocks for a tenth of the capacity and {as_plain_share(_SHARE)} of "
        f"over-provisioning, at the raw bit error rate at which each stage ends. All on one engine for t = "
        f"{_STRONGEST.correctable}, which weaker codes share. Reads in the mean and the slowest hundredth, writes of "
        f"the slowest hundredth, us, and write amplification:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), {}, (note, _note_of_life(plan, runs)))


def _note_of_life(plan: Plan, runs: Runs) -> str:
    some, per_erase, rows = _life_plan(plan), _PER_ERASE[plan.full], []
    (workload,) = some.workloads
    for arm in _life_arms(plan.full):
        (summary,) = summaries(some, runs, workload, arm)
        erases = [per_erase * summary["gc"][name] for name in ("least_erases", "most_erases")]
        reads = summary["codeword_reads"]
        rows.append(
            [
                arm.label,
                f"{erases[0]:,} to {erases[1]:,}",
                f"{summary['response']['read']['mean_us']:.0f}",
                f"{summary['response']['read']['p99_us']:.0f}",
                f"{summary['response']['write']['p99_us']:,.0f}",
                f"{summary['writes_detail']['write_amplification']:.2f}",
                f"{100 * reads['crossing'] / reads['count']:.1f} %",
                f"{reads['uncorrectable']:,}",
                f"{summary['writes_detail']['refused_codewords']:,}",
            ]
        )
    heads = ["", "P/E cycles at the end", "read, us", "p99", "write, p99", "write amplification", "reads in two pages"]
    heads += ["uncorrectable", "refused"]
    return (
        f"One run through life, in which an erase counts as {per_erase:,} P/E cycles, so that blocks go through all "
        "codes while they are read and written; half of requests are reads. Wear is faster, nothing else is:\n\n"
        + markdown_table(heads, rows)
    )


def _draw(frame: pl.DataFrame) -> Sheet:
    colours = {_LAE: "#0072b2", _FROM_THE_FIRST_DAY: "#e69f00", _WORST: GREY}
    note = "two requests for each die, by the end of each stage (P/E cycles); all on one engine"
    return bar_sheet(
        frame, "Through life under load: reads", "us, p99", colours=colours, line=None, note=note, digits=0
    )


FIGURES = (Figure("stages", "Through life, under load", _measure, _draw, _cases),)
CLAIMS: tuple[Claim, ...] = ()
