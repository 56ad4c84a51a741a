"""RiF (M. Chun et al., HPCA 2024), an on-die engine that retries before it transfers, and the techniques beside it.

The device is that of the paper's table I, `configs/tlc-rif.toml`; its cells are not the paper's. All published numbers
except those of the abstract are taken from notes of others.
"""

from __future__ import annotations

from softsense.papers import Case, Paper, Plan, inline, resting_on, shown
from softsense.papers.elsewhere import AS_SHIPPED, Headline
from softsense.papers.rif.claims import FIGURES, LONE_CLAIMS, OF_CELLS, ON_WORKLOADS
from softsense.papers.rif.published import CAPABILITY, DEVICE, GAIN, PE_CYCLES, PUBLISHED
from softsense.papers.rif.workloads import SATURATING, methods, plan_of
from softsense.papers.techniques import predictor
from softsense.read_policies import Technique

__all__ = ["PAPER", "PUBLISHED"]

_COMPARED = ("Sentinel", "Swift-Read", "RiF")
_DAYS = float(PUBLISHED["flash"]["required_retention_days"])


def _own(plan: Plan) -> list[Case]:
    arms = methods(PE_CYCLES, _DAYS)
    return [Case(plan.workloads[-1], arms[name].policy, arms[name].overrides) for name in _COMPARED]


_SWIFT = "read.references=share_of_ones"
_ELSEWHERE = Headline(
    "retrying inside the die reads faster than Sentinel where a drive is kept busy",
    (
        Technique("Sentinel", "progressive", ("read.references=sentinels",)),
        Technique("Swift-Read", "progressive", (_SWIFT,)),
        Technique("RiF", "progressive", (_SWIFT, f"read.predictor={inline(predictor('die', CAPABILITY))}")),
    ),
    _own,
    "tlc-rif, most reads",
    DEVICE,
    load=SATURATING,
    share=0.25,
    note=f"That is the paper's, with the most reads, 256 at once: the mean response is the inverse of bandwidth. "
    f"{AS_SHIPPED}",
)

PAPER = Paper(
    name="rif",
    title="RiF: retrying inside the die",
    published="M. Chun, J. Lee, M. Kim, J. Park, J. Kim, HPCA 2024",
    figures=(*FIGURES, _ELSEWHERE.figure),
    claims=(
        *resting_on("invented workload", *ON_WORKLOADS),
        *resting_on("calibrated", *LONE_CLAIMS),
        *OF_CELLS,
    ),
    plan=plan_of,
    config=DEVICE,
    headline=lambda found: (
        f"RiF has {shown(found['gain_sentinel']['measured'], '+%')} bandwidth over Sentinel at the end of life "
        f"({shown(GAIN['sentinel'], '+%')} published), and over Swift-Read with tracked references "
        f"{shown(found['gain_swift_read_tracking']['measured'], '+%')} "
        f"({shown(GAIN['swift_read_tracking'], '+%')} published)."
    ),
    intro=(
        "All published numbers are at second hand, through notes of others, but for those of the abstract. The "
        "paper's chips and traces are not to be "
        "had: cells are `tlc-charge-trap`, set to the days after which the paper's need a retry; the age of each "
        "figure is where one ideal retry loses as much as is published for a wear; workloads are "
        "stand-ins with the published shares of reads, and requests of 64 KiB, 256 at once (assumed). The host's "
        "link of 8 GB/s is not "
        "modelled. Area and power of the predictor are the paper's, and judged by nothing here."
    ),
)
