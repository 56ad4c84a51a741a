"""The cost of a soft level, and real decodes beside the decode table."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import listed
from softsense.papers import Case, Measured, Number, Plan, Runs, configured, inline
from softsense.papers.drawing import bar_sheet, point
from softsense.papers.read_retry.runs import case_of, few_reads
from softsense.papers.read_retry.techniques import DRIVES, SOFT, Condition, Drive

if TYPE_CHECKING:
    from softsense.charts import Sheet

_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
_COMPARED = (SOFT, "table + remembered", "Sentinel + remembered", "RiF + remembered")
_OLD = {drive.config: Condition(drive, 2, "a year") for drive in DRIVES}


def _dear_case(plan: Plan, drive: Drive, share: float, technique: str, seed: int) -> Case:
    page_types = configured(drive.config, ()).fields.flash.page_types
    dear = [page | {"sense_extra_level_us": round(share * page["sense_us"], 3)} for page in page_types]
    case = case_of(plan.workloads[1], technique, _OLD[drive.config], seed)
    return replace(case, overrides=(*case.overrides, f"flash.page_types={inline(dear)}"))


def dear_cases(plan: Plan) -> list[Case]:
    """Simulations with different costs of a soft level."""
    each = product(DRIVES, _SHARES, _COMPARED, plan.seeds)
    return [_dear_case(plan, drive, share, technique, seed) for drive, share, technique, seed in each]


def measure_dear(plan: Plan, runs: Runs) -> Measured:
    """Mean response of reads by the cost of a soft level."""
    rows = []
    for drive, technique, share in product(DRIVES, _COMPARED, _SHARES):
        each = [
            runs[_dear_case(plan, drive, share, technique, seed)]["response"]["read"]["mean_us"] for seed in plan.seeds
        ]
        rows.append(point(drive.config, technique, share, Number.exact(fmean(each))))
    note = (
        "The drives sense an extra level in 14 us, as MLC of one boundary does [assumed]. A page with more boundaries "
        "needs two sensings at each of them: what soft levels save depends on that time more than on anything else."
    )
    return Measured(pl.DataFrame(rows), notes=(note,))


_FIDELITIES = ("decode table", "real decodes")


def _real_case(plan: Plan, drive: Drive, technique: str, fidelity: str, seed: int) -> Case:
    case = case_of(few_reads(3000 if plan.full else 600), technique, _OLD[drive.config], seed)
    if fidelity == _FIDELITIES[0]:
        return case
    of_table = configured(drive.config, case.overrides).fields.reliability["table"]
    exact = {"code": "flash-8/9", "decoder": "min-sum", "max_iterations": 20}
    exact |= {name: of_table[name] for name in ("rber", "variation")}
    return replace(case, overrides=(*case.overrides, f"reliability={inline({'exact': exact})}"))


def real_cases(plan: Plan) -> list[Case]:
    """Simulations with the decode table and with real decodes."""
    each = product(DRIVES, _COMPARED, _FIDELITIES, plan.seeds)
    return [_real_case(plan, drive, technique, fidelity, seed) for drive, technique, fidelity, seed in each]


def real(plan: Plan, runs: Runs) -> Measured:
    """Mean response of reads with real decodes, beside those with the decode table."""
    rows, lost = [], {}
    for drive, technique, fidelity in product(DRIVES, _COMPARED, _FIDELITIES):
        summaries = [runs[_real_case(plan, drive, technique, fidelity, seed)] for seed in plan.seeds]
        mean = fmean(summary["response"]["read"]["mean_us"] for summary in summaries)
        reads = [summary["codeword_reads"] for summary in summaries]
        count, uncorrectable = (sum(each[name] for each in reads) for name in ("count", "uncorrectable"))
        lost[drive.config, technique, fidelity] = uncorrectable, count
        rows.append({"group": f"{technique}\n{drive.config}", "bar": fidelity, "value": mean, "lo": mean, "hi": mean})
        rows[-1] |= {"codewords": count, "uncorrectable": uncorrectable}
    by_table, by_decodes = _FIDELITIES
    failing = [
        f"*{technique}* on {config} {there:,} of {count:,} codewords ({lost[config, technique, by_table][0]:,} by the "
        "decode table)"
        for (config, technique, fidelity), (there, count) in lost.items()
        if fidelity == by_decodes and there
    ]
    told = listed(failing) if failing else "none"
    note = (
        "The same reads with each codeword's cells sensed and decoded. Not decoded by anything there: "
        f"{told}. Soft levels about references that are far off tell the decoder less than the decode table supposes."
    )
    return Measured(pl.DataFrame(rows), notes=(note,))


def draw_real(frame: pl.DataFrame) -> Sheet:
    """A bar for each fidelity."""
    colours = dict(zip(_FIDELITIES, ("#56b4e9", "#0072b2"), strict=True))
    note = "mean response, after a year at the end of life"
    return bar_sheet(frame, "Real decodes", "us", colours=colours, line=None, note=note, digits=0)
