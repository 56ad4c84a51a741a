"""Workloads, seeds and sizes of quick and full runs."""

from __future__ import annotations

from typing import Any

from softsense.papers import (
    Plan,
    Workload,
    synthetic,
)
from softsense.papers.comparing import (
    FINANCE1,
    WEB_SEARCH,
)
from softsense.papers.ldpc_in_ssd.published import PUBLISHED, STATED_AGE

SYNTHETIC_PER_S = 5_000.0
"""Requests a second of Synthetic1 and Synthetic2, not printed in the paper: every machine of its text serves them."""

_4_KIB = [{"bytes": 4096, "share": 1.0}]


def single(
    requests: int, reads: float, requests_per_s: float, footprint_bytes: int, addresses: Any = "uniform"
) -> tuple[str, ...]:
    """Fields of requests of 4 KiB, Poisson: their number, share of reads, rate, footprint and addresses."""
    return synthetic(
        requests=requests,
        read_fraction=reads,
        sizes=_4_KIB,
        addresses=addresses,
        arrivals={"poisson": {"requests_per_s": requests_per_s}},
        footprint_bytes=footprint_bytes,
    )


def plan_of(full: bool) -> Plan:
    """The plan of a quick or a full run."""
    requests = 100_000 if full else 10_000
    first, second = PUBLISHED["synthetic_read_fraction"]
    assumed = f"assumed: 4 KiB, uniform over 16 GiB, {SYNTHETIC_PER_S:,.0f} requests a second, Poisson"
    workloads = (
        FINANCE1,
        Workload(
            "Finance2",
            "stand-in: read fraction and rate that LaLDPC prints, 4 KiB, uniform over 1 GiB, Poisson",
            # LaLDPC prints 4,312,858 sectors read and 100,684 written in half a day, eight a request.
            overrides=single(requests, 0.977, 12.8, 1 << 30),
        ),
        Workload("Postmark", "real, whole", "postmark.disksim.trace.zst"),
        WEB_SEARCH,
        Workload("Synthetic1", f"66 % reads; {assumed}", overrides=single(requests, first, SYNTHETIC_PER_S, 16 << 30)),
        Workload("Synthetic2", f"99 % reads; {assumed}", overrides=single(requests, second, SYNTHETIC_PER_S, 16 << 30)),
    )
    seeds = (1, 2, 3) if full else (1, 2)
    # The number of blocks changes nothing but the capacity and the time to set it up.
    overrides = (*STATED_AGE, *(() if full else ("geometry.blocks_per_plane=512",)))
    return Plan(full, seeds, workloads, 200_000 if full else 30_000, overrides=overrides)
