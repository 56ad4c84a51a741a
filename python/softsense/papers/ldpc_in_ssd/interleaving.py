"""Figures 15 and 16: data placement interleaving, and all three techniques."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import Claim, Evidence, Measured, Number, Plan, Runs
from softsense.papers.comparing import (
    Arm,
    Compared,
    cases,
    summaries,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import BOTH, COLOURS, NONE, TWO_STEP, by_ways, drawn_bars, in_ways, interleaved
from softsense.papers.ldpc_in_ssd.machines import CHIPS_THAT_DIFFER, figure_on, read_otherwise
from softsense.papers.ldpc_in_ssd.published import CHIPS, PUBLISHED, at_stated_age
from softsense.papers.ldpc_in_ssd.sampled import codeword_sample, hard_failure, threshold

if TYPE_CHECKING:
    from softsense.charts import Sheet


def _measure_fig15(plan: Plan, runs: Runs) -> Measured:
    arms = [interleaved(TWO_STEP, 2), interleaved(TWO_STEP, 4)]
    compared = Compared(plan, runs, [TWO_STEP, *arms], TWO_STEP)
    failed = hard_failures(plan, runs, [TWO_STEP, *arms])
    start = [as_share(hard_failure(*plan.overrides, in_ways(ways)), 1) for ways in (1, 2, CHIPS)]
    why = (
        f"Four-way interleaving saves {compared.saved(arms[1])}. Of codewords read, hard decision fails for "
        f"{failed[0]} without, {failed[1]} with two and {failed[2]} with four ways (mean of workloads); of those of "
        f"the start for {listed(start)}. {_why_interleaving(plan)}"
    )
    more = (
        f"Two ways respond in {compared.mean(arms[0]).value:.3f}, four in {compared.mean(arms[1]).value:.3f} of the "
        f"baseline, mean of workloads. {_width_cost(plan, runs, arms)}"
    )
    alone = Compared(plan, runs, [interleaved(NONE, 2), interleaved(NONE, 4)], NONE)
    faster = [100 * (alone.mean(arm).value - 1) for arm in alone.arms]
    note = (
        "Interleaving does two things. It averages raw bit error rates, and it divides the transfer of a codeword "
        f"among the buses of its chips: where nothing fails, mean read response changes by {faster[0]:+.1f} % with "
        f"two ways and {faster[1]:+.1f} % with four (mean of workloads), which is the second alone."
    )
    evidence = {
        "interleaving_reduces": compared.order([TWO_STEP, arms[1]], compared.mean(arms[1]), why),
        "four_ways_beat_two": compared.order(
            arms, Number.ratio(compared.seed_means(arms[1]), compared.seed_means(arms[0])), more
        ),
    }
    return Measured(Compared(plan, runs, arms, TWO_STEP).frame(), evidence, (note,))


def _why_interleaving(plan: Plan) -> str:
    """Raw bit error rates and failures by page type, without interleaving and with four ways."""
    names = [page["name"] for page in at_stated_age().fields.flash.page_types]
    alone, four = (codeword_sample(at_stated_age([*plan.overrides, in_ways(ways)])) for ways in (1, CHIPS))
    parts = []
    for kind, name in enumerate(names):
        rber = [float(sample["rber"][sample["page_type"] == kind].mean()) for sample in (alone, four)]
        fails = [100 * float(sample["p_fail"][sample["page_type"] == kind, 0].mean()) for sample in (alone, four)]
        parts.append(f"{name} pages have {rber[0]:.4f} in the mean and fail for {fails[0]:.1f}, then {fails[1]:.1f} %")
    edge = threshold(1, 1e-2).get("rber")
    return (
        "Interleaving gives all codewords of a group the mean of its chips' raw bit error rates. That helps where "
        f"the mean is one that hard decision corrects (1 % fail at {edge:.4f}), and harms where it is not: "
        f"{listed(parts)}."
    )


def hard_failures(plan: Plan, runs: Runs, arms: Sequence[Arm]) -> list[str]:
    """Share of codeword reads whose hard decision fails, for each arm, mean of workloads and seeds."""
    shares = []
    for arm in arms:
        each = []
        for workload in plan.workloads:
            for summary in summaries(plan, runs, workload, arm):
                levels = summary["codeword_reads"]["level_histogram"]
                each.append(1 - levels[0] / max(1, summary["codeword_reads"]["count"]))
        shares.append(as_share(fmean(each), 1))
    return shares


def _width_cost(plan: Plan, runs: Runs, arms: Sequence[Arm]) -> str:
    """A sentence on the pages sensed for each attempt, as a lone codeword of a group needs all its chips."""
    each = []
    for arm in arms:
        ratios = [
            s["operations"]["senses"] / max(1, s["codeword_reads"]["attempts"])
            for workload in plan.workloads
            for s in summaries(plan, runs, workload, arm)
        ]
        each.append(f"{fmean(ratios):.2f}")
    return f"Pages sensed for each attempt at a codeword: {each[0]} with two ways, {each[1]} with four."


def _measure_fig16(plan: Plan, runs: Runs) -> Measured:
    arms = [interleaved(BOTH, 2), interleaved(BOTH, 4)]
    compared = Compared(plan, runs, [BOTH, *arms], TWO_STEP)
    over_none = Compared(plan, runs, [TWO_STEP, BOTH, *arms], NONE)
    worst, before = over_none.worst(arms[1]), over_none.worst(TWO_STEP)
    number = over_none.number(worst, arms[1]).plus(-1)
    told = ", ".join(
        f"{name} {as_share(over_none.number(name, arms[1]).value - 1, 1, signed=True)}" for name in compared.workloads
    )
    why = (
        f"Worst is {worst}; four ways against no soft sensing: {told}. The two-step read had "
        f"{as_share(over_none.number(before, TWO_STEP).value - 1, 0)} on {before}. Without interleaving both "
        f"techniques leave {as_share(over_none.number(over_none.worst(BOTH), BOTH).value - 1, 1)} on "
        f"{over_none.worst(BOTH)}."
    )
    like = Compared(plan, runs, [arms[1]], interleaved(NONE, 4))
    why += (
        " Against no soft sensing on an interleaved device, whose transfers are divided as well, the worst is "
        f"{as_share(like.number(like.worst(arms[1]), arms[1]).value - 1, 1, signed=True)} on {like.worst(arms[1])}."
    )
    improves = number.hi < over_none.number(worst, TWO_STEP).lo - 1
    evidence = {
        "combined_below_20": Evidence(number, why, improves=improves),
        "interleaving_on_top": compared.order(
            [BOTH, arms[1]],
            Number.ratio(compared.seed_means(arms[1]), compared.seed_means(BOTH)),
            f"On top of both, four ways respond in {compared.mean(arms[1]).value:.3f} of the two-step read, "
            f"{compared.mean(BOTH).value:.3f} without them (mean of workloads).",
        ),
    }
    frame = pl.concat(
        each.frame().with_columns(pl.lit(over).alias("over"))
        for over, each in (("two-step", Compared(plan, runs, arms, TWO_STEP)), ("no soft sensing", over_none))
    )
    return Measured(frame, evidence)


def _draw_fig16(frame: pl.DataFrame) -> Sheet:
    over = frame.filter(pl.col("over") == "no soft sensing")
    title = "Figure 16: mean read response with all three techniques"
    return bar_sheet(
        over, title, "over no soft sensing", colours=COLOURS, note="the paper: below 1.2 in the worst case"
    )


FIGURES = (
    figure_on(
        "15",
        "Figure 15: data placement interleaving",
        _measure_fig15,
        drawn_bars("Figure 15: mean read response of two-step reads with interleaving", "over the two-step read"),
        lambda plan: cases(plan, *(arm for base in (NONE, TWO_STEP) for arm in by_ways(base))),
        CHIPS_THAT_DIFFER,
        read_otherwise(CHIPS_THAT_DIFFER, more=True),
    ),
    figure_on(
        "16",
        "Figure 16: all three techniques",
        _measure_fig16,
        _draw_fig16,
        lambda plan: cases(plan, NONE, interleaved(NONE, 4), TWO_STEP, *by_ways(BOTH)),
        CHIPS_THAT_DIFFER,
        read_otherwise(CHIPS_THAT_DIFFER, more=True),
    ),
)

CLAIMS = (
    Claim("interleaving_reduces", "15", "four-way interleaving responds earlier than none (over none)", rule="order"),
    Claim("four_ways_beat_two", "15", "four ways respond earlier than two (four over two)", rule="order"),
    Claim(
        "combined_below_20",
        "16",
        "all three techniques respond less than 20 % later than no soft sensing, in the worst case",
        PUBLISHED["combined_read_increase_below"],
        "at most",
        unit="+%",
        all_workloads=True,
        source=("claims.combined_read_increase_below",),
    ),
    Claim(
        "interleaving_on_top", "16", "interleaving saves on top of the other two (four ways over none)", rule="order"
    ),
)
