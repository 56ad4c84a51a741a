"""Claims."""

from __future__ import annotations

from collections.abc import Callable

from softsense.papers import Claim, Figure, Measured, Plan, Runs
from softsense.papers.drawing import bars
from softsense.papers.straw.device import CLAIMED, FLASH
from softsense.papers.straw.results import COLOURS, cases_of


def figure_of(id_: str, title: str, measure: Callable[[Plan, Runs], Measured]) -> Figure:
    """A figure of reclaims."""
    note = "mean of workloads, against reclaim of blocks; STRAW lowers the pass-through voltage, too"
    return Figure(id_, title, measure, bars(title, "part saved", colours=COLOURS, note=note), cases_of)


SAVINGS = (
    *(
        Claim(
            f"copies_{stage}",
            "copies",
            f"After {int(stage):,} P/E cycles so much fewer copies are made for reads",
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
            f"After {int(stage):,} P/E cycles p99.9 of reads is so much shorter",
            share,
            no_effect=0.0,
            unit="%",
        )
        for stage, share in CLAIMED["p999_reduction"].items()
    ),
    Claim(
        "overhead",
        "tail",
        "Reads take longer by so much at most",
        CLAIMED["read_latency_overhead"],
        rule="at most",
        unit="%",
    ),
    Claim(
        "erasures",
        "erasures",
        "On mixed workloads so many fewer blocks are erased",
        CLAIMED["erasures_reduction_mixed"],
        no_effect=0.0,
        unit="%",
    ),
)

# Read disturb of the cells is fitted to these two.
FITTED = (
    Claim(
        "hammered",
        "flash",
        "A wordline fails after so many reads of one beside it",
        float(FLASH["reads_until_failure"]["one_neighbour_hammered"]),
        unit="",
    ),
    Claim(
        "tolerance",
        "flash",
        "A pass-through voltage 5 % lower bears so many more reads, at most",
        FLASH["vpass_minus_5_percent_raises_tolerance"],
        no_effect=0.0,
        unit="+%",
    ),
)

PREDICTED = (
    Claim(
        "uniform",
        "flash",
        "A wordline fails after so many reads that are spread over its block",
        float(FLASH["reads_until_failure"]["uniform"]),
        unit="",
    ),
    Claim(
        "qlc",
        "flash",
        "Of QLC, a byte that is read costs so much of a byte written by reclaim",
        FLASH["qlc_176_layers"]["internal_writes_tb"] / FLASH["qlc_176_layers"]["host_reads_tb"],
        no_effect=0.0,
        unit="",
    ),
)
