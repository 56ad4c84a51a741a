"""The time of a lone read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from softsense.papers import Case, Evidence, Measured, Number, Plan, Runs, Workload, synthetic
from softsense.papers.drawing import bar_sheet
from softsense.papers.rif.published import PUBLISHED
from softsense.papers.rif.workloads import methods

if TYPE_CHECKING:
    from softsense.charts import Sheet

_LONE = Workload(
    "256 KiB",
    "reads of 256 KiB, one at a time, of 16 planes on one channel",
    overrides=(
        *synthetic(
            requests=200,
            read_fraction=1.0,
            sizes=[{"bytes": 1 << 18, "share": 1.0}],
            addresses="sequential",
            arrivals="immediate",
        ),
        "host.issue.closed_loop.queue_depth=1",
        "geometry.channels=1",
        "reliability.table.variation={}",
    ),
)

_LONE_AGE = (3000, 365.0)
_YOUNG = "precondition.retention_days=0.1"
LONE_METHODS = {"no retry": "no_retry", "one ideal retry": "one_ideal_retry", "RiF": "rif"}


def lone_cases(plan: Plan) -> list[Case]:
    """Simulations of a lone read."""
    arms = methods(*_LONE_AGE)
    # Young data for reads without a retry, which decode in few iterations.
    arms["no retry"] = arms["no retry"].on(_YOUNG)
    return [Case(_LONE, arms[label].policy, arms[label].overrides, plan.seeds[0]) for label in LONE_METHODS]


def lone(plan: Plan, runs: Runs) -> Measured:
    """Time of a lone read of 256 KiB, us."""
    published = PUBLISHED["flash"]["read_256_kib_us"]
    rows, evidence = [], {}
    for case, (label, name) in zip(lone_cases(plan), LONE_METHODS.items(), strict=True):
        number = Number.exact(runs[case]["response"]["read"]["mean_us"])
        for bar, value in (("published", Number.exact(published[name])), ("measured", number)):
            rows.append({"group": label, "bar": bar, "value": value.value, "lo": value.lo, "hi": value.hi})
        why = {
            "no_retry": "40 us of sensing and 16 transfers of 13 us are 248; the rest is the last page's decoding.",
            "one_ideal_retry": "Here all sixteen pages are retried: a failed decode takes 20 us a page, longer "
            "than the transfer of the next one, and then there are 16 "
            "transfers more. The published number has no room for those: not every page of the paper's read can "
            "have been retried.",
            "rif": "All sixteen pages are sensed twice, at once: 40 us and a prediction more than without retries.",
        }[name]
        evidence[f"read_{name}"] = Evidence(number, why)
    return Measured(pl.DataFrame(rows), evidence)


def draw_lone(frame: pl.DataFrame) -> Sheet:
    """A bar for each method."""
    colours = {"published": "#7f7f7f", "measured": "#0072b2"}
    note = "sixteen planes of one channel; of these cells every page needs a retry"
    return bar_sheet(frame, "A read of 256 KiB", "us", colours=colours, line=None, note=note, digits=0)
