"""Does a result say what read reclaim did, apart from garbage collection?"""

from __future__ import annotations

import pytest

import softsense
from conftest import ONE_PLANE
from softsense import tables

SMALL = [
    ONE_PLANE,
    "ftl.over_provisioning=0.3",
    "host.write_buffer_bytes=0",
    "precondition.layout='sequential'",
    "workload.requests=20000",
    "workload.read_fraction=0.9",
    "workload.footprint_bytes=1048576",
    # Under overload data would be moved after the last request alone.
    "workload.arrivals={ poisson = { requests_per_s = 500.0 } }",
]
RECLAIMS = {
    "block": ("{ block = { reads = 150 } }", 4),
    "wordline": ("{ wordline = { effective_reads = [200.0] } }", 4 * 32),
    "counted": ("{ wordline = { effective_reads = [200.0], counters = 8, pass_through_reduction = 0.05 } }", 6 * 8),
}


@pytest.mark.parametrize("unit", RECLAIMS)
def test_a_result_counts_what_was_reclaimed(unit: str) -> None:
    """Write amplification includes it; `gc` does not, but for its erases."""
    reclaim, counter_bytes = RECLAIMS[unit]
    result = softsense.run("tlc-femu", overrides=[*SMALL, f"ftl.read_reclaim={reclaim}"])
    found, gc, writes = (result.summary[part] for part in ("read_reclaim", "gc", "writes_detail"))
    blocks, wordlines = found["blocks"], found["wordlines"]
    assert (blocks > 0, wordlines > 0) == (unit == "block", unit != "block")
    assert found["counter_bytes_per_block"] == counter_bytes
    assert 0 < found["codewords"] <= 96 * 4 * blocks + 12 * wordlines
    assert result.summary["operations"]["erases"] == gc["blocks_reclaimed"] + blocks
    # Counts go on to the end of all work, write amplification to the last completion.
    programmed = sum(writes[f"{part}_codewords"] for part in ("host", "gc", "padding")) + found["codewords"]
    without = softsense.run("tlc-femu", overrides=SMALL).summary["writes_detail"]["write_amplification"]
    assert without < writes["write_amplification"] <= programmed / writes["host_codewords"]
    assert "Read reclaim" in tables.results(softsense.Comparison([result]))


def test_a_result_without_read_reclaim_says_so() -> None:
    result = softsense.run("tlc-femu", overrides=SMALL)
    assert result.summary["read_reclaim"] is None
    assert "Read reclaim" not in tables.results(softsense.Comparison([result]))
