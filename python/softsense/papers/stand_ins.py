"""Stand-ins for workloads whose traces are not available: synthetic workloads with their published statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softsense.papers.plans import Workload, synthetic

SECTOR_BYTES = 512
PAGE_BYTES = 4096
DAY_S = 86_400.0
GIB = 1024**3


@dataclass(frozen=True)
class Row:
    """A workload in tables III and IV of LaLDPC.

    Attributes:
        name: name of the workload.
        reads: printed number of reads; of sectors, as LaLDPC's figure `table3` finds.
        writes: printed number of writes, likewise.
        read_ratio: printed share of reads.
        days: duration of the workload, days.
        soft_read_ratio: the share of reads that need more than level 1.
    """

    name: str
    reads: int
    writes: int
    read_ratio: float
    days: float
    soft_read_ratio: float

    @property
    def requests(self) -> int:
        """Number of requests of 4 KiB that have the printed sectors."""
        return (self.reads + self.writes) * SECTOR_BYTES // PAGE_BYTES

    @property
    def requests_per_s(self) -> float:
        """Mean rate, requests per second."""
        return self.requests / (self.days * DAY_S)


WORKLOADS = (
    Row("wdev0", 5172477, 13153463, 0.28, 6.0, 0.36),
    Row("rsrch2", 1090912, 605720, 0.64, 6.6, 0.002),
    Row("proxy0", 545985, 4604603, 0.11, 0.5, 0.17),
    Row("prn1", 6966661, 18265525, 0.28, 1.3, 0.04),
    Row("prn0", 19136490, 5691238, 0.77, 0.7, 0.22),
    Row("ts0", 3976632, 14127647, 0.22, 4.7, 0.36),
    Row("rsrch1", 1110, 334365, 0.03, 5.7, 0.91),
    Row("F1", 6508016, 130648, 0.98, 0.5, 0.99),
    Row("F2", 4312858, 100684, 0.97, 0.5, 1.00),
    Row("hm0", 1167249, 1932058, 0.37, 0.4, 0.41),
    Row("hm1", 6444861, 775983, 0.89, 4.8, 0.21),
    Row("proj1", 773087, 5594270, 0.12, 0.1, 0.005),
    Row("proj3", 3471062, 65402, 0.98, 0.6, 0.58),
    Row("proj4", 1301436, 824502, 0.61, 3.9, 0.05),
    Row("web1", 7992543, 1422974, 0.85, 7.0, 0.46),
)
"""The rows of tables III and IV, in their order."""

ROWS = {row.name: row for row in WORKLOADS}

# Assumed. The traces are public, but our sources have the addresses of three only. LaLDPC's figure `assumed` has other
# values.
WRITTEN_BYTES = GIB
READ_BYTES = 4 * GIB
EXPONENT = 0.9

BURSTS = ((14.1882, 297_682.0), (285_858.0, 34.4550))
"""The arrivals that `softsense trace fit-arrivals` finds in the excerpt of hm_0: rates in requests per second and mean
dwells in us, the quiet state first.
"""


def arrivals(row: Row, kind: str, longer: float = 1.0) -> dict[str, Any]:
    """Arrivals with the mean rate of a workload.

    Args:
        row: the workload.
        kind: `poisson`; `bursts`: those of hm_0's excerpt, with all of time stretched to the workload's mean rate; or
            `batches`: bursts as quick as hm_0's, with the silence between them stretched.
        longer: requests of a burst, over those of a burst of hm_0.
    """
    rate = row.requests_per_s
    if kind == "poisson":
        return {"poisson": {"requests_per_s": rate}}
    (slow, quiet_us), (quick, burst_us) = BURSTS
    burst_us *= longer
    # Requests of a silence with the burst after it; and the length of both together that gives the mean rate.
    lone, burst = slow * quiet_us * 1e-6, quick * burst_us * 1e-6
    cycle_us = 1e6 * (lone + burst) / rate
    burst_us = burst_us * cycle_us / (quiet_us + burst_us) if kind == "bursts" else burst_us
    dwells = (cycle_us - burst_us, burst_us)
    return {
        "markov_modulated": {
            "states": [
                {"requests_per_s": each / (dwell * 1e-6), "mean_dwell_us": dwell}
                for each, dwell in zip((lone, burst), dwells, strict=True)
            ]
        }
    }


def stand_in(
    name: str,
    most: int,
    written_bytes: int | None = None,
    read_bytes: int | None = None,
    *,
    exponent: float = EXPONENT,
    kind: str = "poisson",
    longer: float = 1.0,
) -> Workload:
    """A synthetic workload with the published statistics of one of LaLDPC's.

    The paper gives the numbers of sectors read and written (here eight a request), the duration, and the share of reads
    that need soft sensing. Those reads are taken to be reads of data that the workload has not written itself.

    Args:
        name: name of the workload in table III.
        most: largest number of requests; the first ones are taken.
        written_bytes: bytes over which writes go (assumed: `WRITTEN_BYTES`).
        read_bytes: bytes over which other reads go (assumed: `READ_BYTES`).
        exponent: exponent of the Zipf distribution of addresses (assumed).
        kind: kind of `arrivals`.
        longer: length of bursts, as for `arrivals`.
    """
    row = ROWS[name]
    written = WRITTEN_BYTES if written_bytes is None else written_bytes
    read = READ_BYTES if read_bytes is None else read_bytes
    requests = min(most, row.requests)
    fields = synthetic(
        requests=requests,
        read_fraction=row.reads / (row.reads + row.writes),
        sizes=[{"bytes": PAGE_BYTES, "share": 1.0}],
        addresses={"zipf": {"exponent": exponent}},
        arrivals=arrivals(row, kind, longer),
        footprint_bytes=written + read,
        written_bytes=written,
        read_after_write=1.0 - row.soft_read_ratio,
    )
    some = (
        f"the first {requests:,} of {row.requests:,} requests" if requests < row.requests else f"{requests:,} requests"
    )
    share = 100 * row.reads / (row.reads + row.writes)
    what = f"stand-in: {some}, {share:.3g} % reads, {row.requests_per_s:.3g} a second"
    return Workload(name, what, overrides=fields)
