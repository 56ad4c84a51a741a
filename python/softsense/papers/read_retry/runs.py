"""The simulations of the bench."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from softsense.papers import Case, Plan, Workload, synthetic
from softsense.papers.comparing import FINANCE1, WEB_SEARCH
from softsense.papers.read_retry.techniques import DAYS, TECHNIQUES, Condition, Drive, overrides


def _saturating(requests: int) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=1.0,
        sizes=[{"bytes": 65_536, "share": 1.0}],
        addresses="uniform",
        arrivals="immediate",
    )
    what = f"{requests:,} reads of 64 KiB, uniform, 256 under way, of data that lies sequentially"
    more = ("host.issue.closed_loop.queue_depth=256", "precondition.layout=sequential")
    return Workload(SATURATED, what, overrides=(*fields, *more))


def few_reads(requests: int) -> Workload:
    """Reads that leave a drive idle for most of the time."""
    fields = synthetic(
        requests=requests,
        read_fraction=1.0,
        sizes=[{"bytes": 4096, "share": 0.6}, {"bytes": 16_384, "share": 0.4}],
        addresses={"zipf": {"exponent": 0.9}},
        arrivals={"poisson": {"requests_per_s": 5_000.0}},
        footprint_bytes=1 << 34,
    )
    what = f"{requests:,} reads of 4 and 16 KiB, Zipf over 16 GiB, 5,000 a second"
    return Workload(READS, what, overrides=fields)


SATURATED, READS = "saturated", "reads"

_TRACES = (
    WEB_SEARCH,
    FINANCE1,
    Workload("hm_0", "real, an excerpt of 7,016 requests", "msr_hm_0_excerpt7016.csv.zst"),
)


def plan_of(full: bool) -> Plan:
    """The plan of a quick or a full run."""
    requests = 100_000 if full else 10_000
    workloads = (_saturating(requests // 20), few_reads(requests), *(_TRACES if full else ()))
    # The number of blocks changes nothing but the capacity and the time to set it up.
    return Plan(full, (1,), workloads, requests, overrides=("geometry.blocks_per_plane=128",))


def conditions(plan: Plan, drive: Drive) -> list[Condition]:
    """The ages of a drive; a quick run takes the end of its life."""
    stages, ages = ((0, 1, 2), DAYS) if plan.full else ((2,), tuple(DAYS)[1:])
    return [Condition(drive, stage, age) for stage, age in product(stages, ages)]


def case_of(workload: Workload, technique: str, condition: Condition, seed: int) -> Case:
    """The simulation of a technique on a workload."""
    policy = TECHNIQUES[technique].get("policy", "progressive")
    return Case(workload, policy, overrides(technique, condition), seed, condition.drive.config)


def cases_of(*drives: Drive) -> Callable[[Plan], list[Case]]:
    """All simulations of drives."""

    def of(plan: Plan) -> list[Case]:
        return [
            case_of(workload, technique, condition, seed)
            for drive in drives
            for condition in conditions(plan, drive)
            for technique in TECHNIQUES
            for workload in plan.workloads
            for seed in plan.seeds
        ]

    return of
