"""Workloads and stages of life."""

from __future__ import annotations

from softsense.formats import as_plain_share, as_share
from softsense.papers import Plan, Workload, synthetic
from softsense.papers.straw.device import CLAIMED, COMPRESSED

STAGES = tuple(CLAIMED["copies_reduction"])

# Names, shares of reads and exponents of the Zipf distribution.
LOADS = (
    ("Zipf 0.9", 1.0, 0.9),
    ("Zipf 1.0", 1.0, 1.0),
    ("Zipf 1.1", 1.0, 1.1),
    ("Zipf 1.2", 1.0, 1.2),
    ("0.1 % writes", 0.999, 1.1),
    ("0.5 % writes", 0.995, 1.1),
    ("2 % writes", 0.98, 1.1),
)

MIXED = tuple(name for name, reads, _ in LOADS if reads < 1)
REQUESTS_PER_S = 80.0


def load_of(
    name: str, reads: float, exponent: float, requests: int, requests_per_s: float = REQUESTS_PER_S
) -> Workload:
    """A workload with Zipf-distributed addresses and a share of writes."""
    fields = synthetic(
        requests=requests,
        read_fraction=reads,
        sizes=[{"bytes": 4096, "share": 1.0}],
        addresses={"zipf": {"exponent": exponent}},
        arrivals={"poisson": {"requests_per_s": requests_per_s}},
        footprint_bytes=1 << 30,
    )
    real = reads * COMPRESSED / (reads * COMPRESSED + 1 - reads)
    what = (
        f"assumed: {requests:,} requests of 4 KiB, Zipf {exponent:g} over 1 GiB, {as_plain_share(reads)} reads, which "
        f"stand for {as_share(real, significant=4)}"
    )
    return Workload(name, what, overrides=fields)


def plan_of(full: bool) -> Plan:
    """The plan of a quick or a full run."""
    requests = 200_000 if full else 100_000
    loads = LOADS if full else (LOADS[3], LOADS[5])
    workloads = tuple(load_of(*load, requests) for load in loads)
    return Plan(full, (1, 2, 3) if full else (1, 2), workloads, requests)
