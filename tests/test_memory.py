"""Does a result say what the controller's memory did: what was merged, read ahead and carried by DRAM?"""

from __future__ import annotations

import softsense
from softsense import tables

SMALL = ["workload.requests=2000", "workload.read_fraction=0.5", "workload.sizes=[{ bytes = 2048, share = 1.0 }]"]
STREAM = ["workload.requests=500", "workload.read_fraction=1.0", "workload.addresses='sequential'"]
ON = [
    "host.read_buffer={ bytes = 16777216 }",
    "host.read_ahead={}",
    "host.dram={ speed.bus = { width_bits = 16, transfer_rate_mt_per_s = 1600.0 }, access_us = 0.03 }",
    "host.partial_write='merge'",
]


def test_a_result_counts_what_was_read_ahead_and_crossed_dram() -> None:
    result = softsense.run("tlc-femu", overrides=[*STREAM, *ON])
    ahead, dram = result.summary["read_ahead"], result.summary["dram"]
    assert ahead["pages"] == ahead["used_pages"] + ahead["wasted_pages"] > ahead["wasted_pages"] > 0
    assert dram["gb_per_s"] == 3.2
    assert dram["host_bytes"] > 0
    assert 0 < dram["utilisation"] < 1
    blocks = tables.blocks(softsense.Comparison([result]))
    [memory] = [block for block in blocks if block.about == "memory"]
    assert {"pages\nread ahead", "DRAM\nbusy %"} <= {header for header, _ in memory.columns}


def test_parts_of_codewords_need_fewer_reads() -> None:
    def reads(*more: str) -> int:
        found = softsense.run("tlc-femu", overrides=[*SMALL, *more]).summary["writes_detail"]
        assert ("merged_codewords" in found) == bool(more)
        return int(found["read_modify_writes"])

    assert reads("host.partial_write='merge'") < reads()


def test_a_result_without_any_of_it_does_not_mention_it() -> None:
    result = softsense.run("tlc-femu", overrides=SMALL)
    assert not {"read_ahead", "dram"} & result.summary.keys()
    assert "controller's memory" not in tables.results(softsense.Comparison([result]))
