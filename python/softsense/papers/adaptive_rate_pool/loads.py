"""Workloads, and the plan of a quick and a full run."""

from __future__ import annotations

from typing import Any

from softsense.formats import as_plain_share
from softsense.papers import Plan, Workload, inline, synthetic
from softsense.papers.adaptive_rate_pool.machine import DEVICE
from softsense.papers.adaptive_rate_pool.published import CODEWORD, GEOMETRY

POLICY = "two_step:restart"
QUEUE_DEPTH = 2048
_SATURATED = f"host.issue={inline({'closed_loop': {'queue_depth': QUEUE_DEPTH}})}"
_OPEN = f"host.issue={inline({'open_loop': {'time_scale': 1.0}})}"
LIGHT, HEAVY = 0.05, 0.8
"""Loads, as shares of the least rate of the smallest pool over all ages."""
QUEUE_DEPTHS = (64, 256, QUEUE_DEPTH)
"""Numbers of outstanding reads at random places."""
HOT_SHARES = (0.5, 0.8)
"""Shares of reads that go to hot data; the paper does not give them."""
HOT_SSDS = 2


def _workload(
    name: str, what: str, requests: int, addresses: Any, *overrides: str, codeword: int = CODEWORD
) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=1.0,
        sizes=[{"bytes": codeword, "share": 1.0}],
        align_bytes=codeword,
        addresses=addresses,
        arrivals="immediate",
    )
    return Workload(name, what, overrides=(*fields, *overrides))


def round_robin(requests: int) -> Workload:
    """A saturating workload: every SSD and channel in turn."""
    what = f"{requests:,} reads of a codeword in turn from all SSDs and channels, {QUEUE_DEPTH:,} at a time"
    return _workload("round robin", what, requests, "sequential", _SATURATED, "host.spread=round_robin")


def scattered(requests: int) -> Workload:
    """A load below saturation, at random places; cases set its rate."""
    what = f"{requests:,} reads of a codeword at random places, Poisson"
    return _workload("scattered", what, requests, "uniform", _OPEN, "host.spread=round_robin")


def crowded(requests: int, queue_depth: int) -> Workload:
    """A saturating workload at random places, with `queue_depth` reads outstanding."""
    what = f"{requests:,} reads of a codeword at random places, {queue_depth:,} at a time"
    saturated = f"host.issue={inline({'closed_loop': {'queue_depth': queue_depth}})}"
    return _workload(f"crowded {queue_depth}", what, requests, "uniform", saturated, "host.spread=round_robin")


def hot(requests: int, share: float, codeword: int = CODEWORD) -> Workload:
    """A saturating workload of which two SSDs have the hot data."""
    what = f"{requests:,} reads of a codeword, {as_plain_share(share)} of them from two SSDs, {QUEUE_DEPTH:,} at a time"
    addresses = {"hot_cold": {"hot_fraction": HOT_SSDS / GEOMETRY["ssds"], "hot_share": share}}
    more = (_SATURATED, "host.spread=address")
    return _workload(f"hot {share:g}", what, requests, addresses, *more, codeword=codeword)


def array_of_any(share: float) -> tuple[str, ...]:
    """Overrides that make an array of any drive, and give it the hot workload, without its number of requests.

    An array has a link for each drive, so that the drive's own link to its host is left out.
    """
    codeword = 4096
    return (f"geometry.ssds={GEOMETRY['ssds']}", "host.link=none", *hot(1, share, codeword).overrides)


def planned(full: bool) -> Plan:
    """The plan: three seeds of every figure; of lives one in a quick run."""
    requests = 100_000 if full else 20_000
    some = (crowded(requests, depth) for depth in QUEUE_DEPTHS)
    every = (round_robin(requests), scattered(requests), *some, *(hot(requests, share) for share in HOT_SHARES))
    return Plan(full, (1, 2, 3), every, requests, overrides=DEVICE)
