"""Claims about STRAW."""

from __future__ import annotations

from collections.abc import Callable

from softsense.papers import Claim, Figure, Measured, Plan, Runs
from softsense.papers.drawing import bars
from softsense.papers.straw.device import CLAIMED, FLASH
from softsense.papers.straw.results import COLOURS, cases_of


def figure_of(id_: str, title: str, measure: Callable[[Plan, Runs], Measured]) -> Figure:
    """A figure about reclaim, with a bar for each way."""
    note = "mean of workloads, against reclaim of blocks; STRAW lowers the pass-through voltage, too"
    return Figure(id_, title, measure, bars(title, "part saved", colours=COLOURS, note=note), cases_of)


SAVINGS = (
    *(
        Claim(
            f"copies_{stage}",
            "copies",
            f"Share of the copies made for reads that STRAW saves, after {int(stage):,} P/E cycles",
            share,
            no_effect=0.0,
            unit="%",
        )
        for stage, share in CLAIMED["copies_reduction"].items()
    ),
    *(
        Claim(
            f"p999_{stage}",
            "tail",
            f"Part of the p99.9 of reads that STRAW saves, after {int(stage):,} P/E cycles",
            share,
            no_effect=0.0,
            unit="%",
        )
        for stage, share in CLAIMED["p999_reduction"].items()
    ),
    Claim(
        "overhead",
        "tail",
        "Time that STRAW adds to reads",
        CLAIMED["read_latency_overhead"],
        rule="at most",
        unit="%",
    ),
    Claim(
        "erasures",
        "erasures",
        "Share of the erases of blocks that STRAW saves on mixed workloads",
        CLAIMED["erasures_reduction_mixed"],
        no_effect=0.0,
        unit="%",
    ),
)

# The read disturb of the cells is fitted to the published number.
FITTED = (
    Claim(
        "tolerance",
        "flash",
        "Reads that a pass-through voltage 5 % lower allows in addition, at most",
        FLASH["vpass_minus_5_percent_raises_tolerance"],
        no_effect=0.0,
        unit="+%",
    ),
)

PREDICTED = (
    Claim(
        "hammered",
        "flash",
        "Reads of one neighbour after which a wordline fails",
        float(FLASH["reads_until_failure"]["one_neighbour_hammered"]),
        unit="",
    ),
    Claim(
        "uniform",
        "flash",
        "Reads spread evenly over its block after which a wordline fails",
        float(FLASH["reads_until_failure"]["uniform"]),
        unit="",
    ),
    Claim(
        "qlc",
        "flash",
        "Bytes that reclaim of QLC writes for each byte read",
        FLASH["qlc_176_layers"]["internal_writes_tb"] / FLASH["qlc_176_layers"]["host_reads_tb"],
        no_effect=0.0,
        unit="",
    ),
)
