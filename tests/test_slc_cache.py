"""Does a result say what an SLC cache did, and what it added to write amplification?"""

from __future__ import annotations

import pytest

import softsense
from conftest import ONE_PLANE
from softsense import tables

SMALL = [
    ONE_PLANE,
    "ftl.over_provisioning=0.4",
    "host.write_buffer_bytes=0",
    "precondition.layout='steady_state'",
    "workload.requests=20000",
    "workload.read_fraction=0.5",
    "workload.footprint_bytes=4194304",
    "workload.arrivals.poisson.requests_per_s=100.0",
]


@pytest.mark.parametrize("size", ["{ static = { blocks = 4 } }", "{ dynamic = { least_blocks = 2, most_blocks = 6 } }"])
@pytest.mark.parametrize("when_full", ["direct", "fold"])
def test_a_result_counts_what_was_folded(size: str, when_full: str) -> None:
    cache = f"{{ size = {size}, when_full = '{when_full}', idle_after_us = 2000.0 }}"
    result = softsense.run("tlc-femu", overrides=[*SMALL, f"ftl.slc_cache={cache}"])
    found, gc, writes = (result.summary[part] for part in ("slc_cache", "gc", "writes_detail"))
    assert found["blocks_folded"] >= found["blocks_folded_in_idle_time"] > 0
    assert found["cached_codewords"] + found["direct_codewords"] == writes["host_codewords"]
    assert 0 < found["folded_codewords"] < found["cached_codewords"]
    assert 0 < found["read_share"] < 1
    assert found["valid_bytes"] <= found["capacity_bytes"] <= 6 * 32 * 4 * 4096
    assert result.summary["operations"]["erases"] == gc["blocks_reclaimed"] + found["blocks_folded"]
    programmed = sum(writes[f"{part}_codewords"] for part in ("host", "gc", "padding")) + found["folded_codewords"]
    assert writes["write_amplification"] == pytest.approx(programmed / writes["host_codewords"], rel=1e-12)
    assert "SLC cache" in tables.results(softsense.Comparison([result]))


def test_a_result_without_a_cache_does_not_mention_it() -> None:
    result = softsense.run("tlc-femu", overrides=[*SMALL, "workload.requests=100"])
    assert "slc_cache" not in result.summary
    assert "SLC cache" not in tables.results(softsense.Comparison([result]))
