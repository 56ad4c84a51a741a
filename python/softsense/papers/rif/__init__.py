"""RiF (M. Chun et al., HPCA 2024), an on-die engine that retries before it transfers, and the techniques beside it.

The device is that of the paper's table I, `configs/tlc-rif.toml`; its cells are not the paper's. All published numbers
except those of the abstract are taken from notes of others.
"""

from __future__ import annotations

from softsense.papers import Paper, resting_on, shown
from softsense.papers.rif.claims import FIGURES, LONE_CLAIMS, OF_CELLS, ON_WORKLOADS
from softsense.papers.rif.published import DEVICE, GAIN, PUBLISHED
from softsense.papers.rif.workloads import plan_of

__all__ = ["PAPER", "PUBLISHED"]

PAPER = Paper(
    name="rif",
    title="RiF: retrying inside the die",
    published="M. Chun, J. Lee, M. Kim, J. Park, J. Kim, HPCA 2024",
    figures=FIGURES,
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
