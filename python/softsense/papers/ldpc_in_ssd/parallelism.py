"""Figure 17: two channels."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share
from softsense.papers import (
    Claim,
    Evidence,
    Measured,
    Number,
    Plan,
    Runs,
)
from softsense.papers.comparing import (
    Arm,
    Compared,
    cases,
    summaries,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import BOTH, FEW_CHANNELS, NONE, TWO_STEP, interleaved
from softsense.papers.ldpc_in_ssd.machines import CHIPS_THAT_DIFFER, figure_on, read_otherwise
from softsense.papers.ldpc_in_ssd.published import PUBLISHED

if TYPE_CHECKING:
    from softsense.charts import Sheet


def _few(arm: Arm) -> Arm:
    return arm.on(*FEW_CHANNELS)


_FIG17 = (NONE, TWO_STEP, interleaved(BOTH, 4))


def _measure_fig17(plan: Plan, runs: Runs) -> Measured:
    all_three = _FIG17[2]
    many = Compared(plan, runs, [all_three], TWO_STEP)
    few = Compared(plan, runs, [_few(all_three)], _few(TWO_STEP))
    frame = pl.concat(
        each.frame().with_columns(pl.lit(f"{channels} channels").alias("bar"))
        for channels, each in ((8, many), (PUBLISHED["low_parallelism_channels"], few))
    )
    kept = Number.of(
        [
            (1 - two) / (1 - eight)
            for two, eight in zip(few.seed_means(_few(all_three)), many.seed_means(all_three), strict=True)
        ]
    )
    added = [
        Compared(plan, runs, [base], reference).mean(base).value - 1
        for base, reference in ((TWO_STEP, NONE), (_few(TWO_STEP), _few(NONE)))
    ]
    wait = [_mean_wait(plan, runs, arm) for arm in (TWO_STEP, _few(TWO_STEP))]
    why = (
        f"With 8 channels all three techniques save {as_share(1 - many.mean(all_three).value, 1)} of the two-step "
        f"read's response, with 2 channels {as_share(1 - few.mean(_few(all_three)).value, 1)} (mean of workloads). "
        f"The two-step read itself grows by {100 * added[0]:.0f} and {as_share(added[1], 0)} over no soft sensing; a "
        f"codeword's first attempt waits {wait[0]:.0f} and {wait[1]:.0f} us for plane, bus and decoder."
    )
    return Measured(frame, {"parallelism": Evidence(kept, why)})


def _mean_wait(plan: Plan, runs: Runs, arm: Arm) -> float:
    waits = []
    for workload in plan.workloads:
        for summary in summaries(plan, runs, workload, arm):
            parts = summary["codeword_reads"]["time_us"]
            waits.append(sum(parts[part] for part in ("wait_plane", "wait_bus", "wait_decoder")))
    return fmean(waits)


def _draw_fig17(frame: pl.DataFrame) -> Sheet:
    colours = {"8 channels": "#0072b2", "2 channels": "#e69f00"}
    title = "Figure 17: mean read response with all three techniques, by number of channels"
    return bar_sheet(
        frame, title, "over the two-step read", colours=colours, note="each over the same channels' two-step"
    )


FIGURES = (
    figure_on(
        "17",
        "Figure 17: two channels",
        _measure_fig17,
        _draw_fig17,
        lambda plan: cases(plan, *_FIG17, *map(_few, _FIG17)),
        CHIPS_THAT_DIFFER,
        read_otherwise(CHIPS_THAT_DIFFER, more=True),
    ),
)

CLAIMS = (
    Claim(
        "parallelism",
        "17",
        "the saving of all three is insensitive to parallelism (with 2 channels over with 8)",
        1.0,
        all_workloads=True,
        source=("claims.parallelism_insensitive",),
    ),
)
