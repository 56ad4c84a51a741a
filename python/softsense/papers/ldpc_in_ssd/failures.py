"""Figure 5: the cost of given failure probabilities."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import Case, Claim, Evidence, Measured, Number, Plan, Runs
from softsense.papers.comparing import (
    Arm,
    Compared,
    cases,
    response,
    summaries,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import TWO_STEP
from softsense.papers.ldpc_in_ssd.machines import GANGS, ONE_DRAW, figure_on, read_otherwise
from softsense.papers.ldpc_in_ssd.published import PUBLISHED
from softsense.papers.ldpc_in_ssd.sampled import codewords_read

if TYPE_CHECKING:
    from softsense.charts import Sheet


def _fixed(p_fail: float, *overrides: str) -> Arm:
    label = as_plain_share(p_fail)
    return Arm(label, TWO_STEP.policy, (f"reliability.fixed.p_fail=[{p_fail}, 0.0]", *overrides))


def _fixed_arms(*overrides: str) -> list[Arm]:
    return [_fixed(p_fail, *overrides) for p_fail in PUBLISHED["hard_failure_probabilities_fig5"]]


def _cases_fig05(plan: Plan) -> list[Case]:
    return cases(plan, _fixed(0.0), *_fixed_arms())


def _measure_fig05(plan: Plan, runs: Runs) -> Measured:
    arms = _fixed_arms()
    reads = Compared(plan, runs, arms, _fixed(0.0))
    _, some, most = arms
    writes = Compared(plan, runs, arms, _fixed(0.0), response("write"))
    frame = pl.concat(
        compared.frame().with_columns(pl.lit(kind).alias("kind"))
        for kind, compared in (("read", reads), ("write", writes))
    )
    grown = [reads.mean(arm).value - 1 for arm in arms]
    proportion = Number.of(
        [
            (most_us - 1) / (some_us - 1)
            for most_us, some_us in zip(reads.seed_means(most), reads.seed_means(some), strict=True)
        ]
    )
    worst = writes.worst(most)
    merged = [
        fmean(s["writes_detail"]["read_modify_writes"] / s["writes"] for s in summaries(plan, runs, w, most))
        for w in plan.workloads
        if w.name == worst
    ]
    why_writes = f"Most of it is {worst}, {as_share(writes.number(worst, most).value - 1, 1, signed=True)}: "
    why_writes += (
        f"{merged[0]:.1f} codewords a write are read, corrected and merged first, and those reads fail like others."
        if merged[0]
        else "no write reads through error correction, as DiskSim takes whole pages only."
    )
    why_proportion = (
        f"From 10 to 30 % failure the increase grows {proportion.value:.2f} times in the mean. Where requests are one "
        f"codeword, it is in proportion, as eq. 1 says: {_single_growth(reads, some, most)}. A larger request waits "
        "for its unluckiest codeword, and of n codewords one fails with 1 - (1 - p)^n, which saturates."
    )
    claims = {
        "reads_in_proportion": Evidence(proportion, why_proportion),
        "writes_at_30": Evidence(writes.mean(most).plus(-1), why_writes, improves=writes.mean(most).hi - 1 < grown[2]),
    }
    rows = [
        f"{name} {codewords_read(summaries(plan, runs, workload, most)):.1f}"
        for name, workload in ((workload.name, workload) for workload in plan.workloads)
    ]
    note = f"Codewords that a read takes from flash, mean: {listed(rows)}."
    return Measured(frame, claims, (note,))


def _single_growth(reads: Compared, some: Arm, most: Arm) -> str:
    found = []
    for workload in reads.plan.workloads:
        if workload.file is None:
            growth = [reads.number(workload.name, arm).value - 1 for arm in (most, some)]
            found.append(f"{growth[0] / growth[1]:.2f} on {workload.name}")
    return listed(found)


def _draw_fig05(frame: pl.DataFrame) -> Sheet:
    colours = {"1 %": "#56b4e9", "10 %": "#0072b2", "30 %": "#d55e00"}
    reads = frame.filter(pl.col("kind") == "read")
    title = "Figure 5: mean read response of the two-step read, at given failure of hard decision"
    return bar_sheet(reads, title, "over that without failures", colours=colours)


FIGURES = (
    figure_on(
        "5",
        "Figure 5: what given failures cost",
        _measure_fig05,
        _draw_fig05,
        _cases_fig05,
        GANGS,
        (ONE_DRAW, *read_otherwise(GANGS)),
    ),
)

CLAIMS = (
    Claim(
        "reads_in_proportion",
        "5",
        "read response grows in proportion to the failure rate: at 30 % three times as much as at 10 %",
        3.0,
        no_effect=1.0,
        all_workloads=True,
        source=("claims.hard_failure_probabilities_fig5",),
    ),
    Claim(
        "writes_at_30",
        "5",
        "at 30 % failure writes respond no more than 2 % later, mean of traces",
        PUBLISHED["write_response_increase_max"],
        "at most",
        unit="+%",
        all_workloads=True,
        source=("claims.write_response_increase_max",),
    ),
)
