"""LaLDPC's workloads: three are real traces or excerpts of them, the others are stand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from softsense.papers import Plan, Workload
from softsense.papers.stand_ins import WORKLOADS, stand_in

_REAL: dict[str, tuple[str, str, tuple[tuple[str, str], ...]]] = {
    "rsrch1": ("real, whole", "msr_rsrch_1.csv.zst", ()),
    "F1": (
        "real, an excerpt of 50,000 requests",
        "umass_Financial1_req3-50002.4Kpages.trace.zst",
        (("format", "disksim"), ("size_unit", "4KiB")),
    ),
    "hm0": ("real, an excerpt of 7,016 requests", "msr_hm_0_excerpt7016.csv.zst", ()),
}

WDEV3 = Workload("wdev3", "real, whole; not the paper's wdev0 but a disk beside it", "msr_wdev_3.csv.zst")
"""A real trace of the server of wdev0."""


def plan(full: bool) -> Plan:
    """The workloads of a run: all of them, with the first requests of stand-ins.

    `Plan.requests` is the number of requests of workloads that figures make for themselves, and of readings.
    """
    most = 300_000 if full else 40_000
    workloads = []
    for row in WORKLOADS:
        workload = stand_in(row.name, most)
        if row.name in _REAL:
            what, file, options = _REAL[row.name]
            workload = Workload(row.name, what, file, options, stand_in=workload)
        workloads.append(workload)
    return Plan(full, (1, 2, 3), tuple(workloads), 100_000 if full else 20_000)


REPRESENTATIVE = ("prn0", "F2", "hm1", "proj3", "web1")
"""Workloads with many reads, of which few to all are soft, so that there is something to gain."""


def some(plan: Plan, names: Sequence[str] = REPRESENTATIVE) -> Plan:
    """The plan with workloads of these names only; with all if there are none of them."""
    chosen = tuple(workload for workload in plan.workloads if workload.name in names)
    return replace(plan, workloads=chosen or plan.workloads)


def names(plan: Plan) -> list[str]:
    """The names of the workloads."""
    return [workload.name for workload in plan.workloads]


def as_stand_ins(plan: Plan) -> Plan:
    """The plan with stand-ins in place of real traces; real workloads without a stand-in are left out."""
    stand_ins = (workload.stand_in or workload for workload in plan.workloads)
    return replace(plan, workloads=tuple(workload for workload in stand_ins if not workload.file))
