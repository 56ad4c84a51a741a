"""STRAW (M. Chun et al., ASPLOS 2026): read reclaim of wordlines instead of blocks.

The paper's chips, drive and traces are not available. Reads disturb so little that a drive has to be read for hours
before it reclaims a block. So time is compressed: each read disturbs cells as many reads do. All numbers are at second
hand, through notes of others.
"""

from __future__ import annotations

from softsense.papers import Figure, Paper, resting_on, shown
from softsense.papers.drawing import lines
from softsense.papers.elsewhere import AGES, Headline, on_workload
from softsense.papers.straw.claims import FITTED, PREDICTED, SAVINGS, figure_of
from softsense.papers.straw.device import CLAIMED, COMPRESSED, PUBLISHED, arm_of, on_two_dies, reclaim_at
from softsense.papers.straw.results import (
    RATE_STAGE,
    RATE_STYLES,
    RATES,
    copies,
    draw_flash,
    erasures,
    flash,
    measure_rates,
    rate_cases,
    tail,
)
from softsense.papers.straw.workloads import LOADS, load_of, plan_of
from softsense.read_policies import Technique

__all__ = ["PAPER", "PUBLISHED"]

_COMPARED = ("blocks", "STRAW")
_WORN = AGES[-1][0]
_ELSEWHERE = Headline(
    "reclaim of wordlines shortens the p99.9 of reads beside reclaim of blocks",
    tuple(Technique(name, "progressive", (reclaim_at(name, _WORN),)) for name in _COMPARED),
    on_workload(LOADS[3][0], *(arm_of(name, RATE_STAGE) for name in _COMPARED)),
    f"tlc-femu of two dies, {LOADS[3][0]}",
    "tlc-femu",
    by="p99.9",
    load=(*on_two_dies(), *load_of(*LOADS[3], 1).overrides),
    share=5.0,
    note=f"Drives are cut to two dies, and a read disturbs as {COMPRESSED} do, so that a run reclaims anything; limits "
    f"are those after {_WORN:,} P/E cycles.",
    not_on={"qlc-client": "the limits are those of TLC cells"},
)

PAPER = Paper(
    name="straw",
    title="STRAW: read reclaim of wordlines",
    published="M. Chun et al., ASPLOS 2026",
    figures=(
        figure_of("copies", "Copies that reclaim of wordlines saves", copies),
        figure_of("tail", "p99.9 of reads that it saves", tail),
        Figure(
            "rate",
            "p99.9 of reads by load",
            measure_rates,
            lines(
                "p99.9 of reads by load",
                "requests a second that these stand for",
                "us",
                RATE_STYLES,
                f"{LOADS[3][0]}, {RATE_STAGE:,} P/E cycles",
                at=[rate * COMPRESSED for rate in RATES],
            ),
            rate_cases,
        ),
        figure_of("erasures", "Erasures that it saves on mixed workloads", erasures),
        Figure("flash", "Reads until a page is beyond the code", flash, draw_flash),
        _ELSEWHERE.figure,
    ),
    claims=(
        *resting_on("invented workload", *SAVINGS),
        *resting_on("calibrated", *FITTED),
        *PREDICTED,
    ),
    plan=plan_of,
    config="tlc-femu",
    headline=lambda found: (
        f"Reclaim of wordlines saves {shown(found['copies_1000']['measured'], '%')} of the copies of reclaim of blocks "
        f"after 1,000 P/E cycles ({shown(CLAIMED['copies_reduction']['1000'], '%')} published), and "
        f"{shown(found['p999_1000']['measured'], '%')} of the p99.9 of reads at loads that were chosen for it."
    ),
    intro=(
        "All published numbers are at second hand, through notes of others. The paper's 160 chips, its drive and its "
        "traces are not to be had. Cells are `tlc-charge-trap`, whose read disturb is fitted to two published numbers "
        "of the same chips; layers differ as assumed, in four classes; limits are the effective reads after which the "
        "worst page of a class is beyond a raw bit error rate of 0.0085, and of a block what its worst wordline bears "
        f"of one neighbour. Time is compressed: a read stands for {COMPRESSED}, by which cells are disturbed, and "
        "arrives as many times slower; a write stands for itself. Workloads are assumed."
    ),
)
