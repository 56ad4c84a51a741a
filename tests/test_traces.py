"""Do the real traces run to the end, with every request accounted for?"""

from __future__ import annotations

import json
from typing import Any

import pytest

import softsense
from conftest import CONFIGS, TRACES

# Requests, reads, writes, and what has to be said about the file, from the README beside the traces. Times in ns are
# MQSim's, whatever the file is called; where sizes are in pages, a 4 KiB page is the unit.
FILES: dict[str, tuple[int, int, int, dict[str, str]]] = {
    "postmark.disksim.trace.zst": (62_257, 51_780, 10_477, {}),
    "umass_Financial1_req3-50002.4Kpages.trace.zst": (
        50_000,
        29_199,
        20_801,
        {"format": "disksim", "size_unit": "4KiB"},
    ),
    "umass_Financial1_first10000.ns.trace.zst": (10_000, 4_077, 5_923, {"format": "mqsim"}),
    "umass_WebSearch1_first50k.4Kpages.trace.zst": (50_000, 49_990, 10, {"format": "disksim", "size_unit": "4KiB"}),
    "umass_WebSearch1_first24783_mqsim_wsrch-small.ns.trace.zst": (24_783, 24_779, 4, {"format": "mqsim"}),
    "mqsim_tpcc-small.trace.zst": (6_999, 4_381, 2_618, {"format": "mqsim"}),
    "msr_rsrch_1.csv.zst": (13_780, 42, 13_738, {}),
    "msr_hm_0_excerpt7016.csv.zst": (7_016, 5_820, 1_196, {}),
    "msr_wdev_3.csv.zst": (682, 11, 671, {}),
    "ms_DTRS_devtools_first127043.ns.trace.zst": (127_043, 113_123, 13_920, {"format": "mqsim"}),
    "iozone_100k.disksim.trace.zst": (100_000, 0, 100_000, {}),
    "blkparse_hadoop_apress_50k_events.txt.zst": (15_524, 80, 15_444, {}),
}

needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason=f"the real traces are absent: no {TRACES.name} folder")


def opened(name: str) -> softsense.Trace:
    options: dict[str, Any] = FILES[name][3]
    return softsense.Trace(str(TRACES / name), **options)


@needs_traces
@pytest.mark.parametrize("name", FILES)
def test_stats_agree_with_the_readme(name: str) -> None:
    requests, reads, writes, _ = FILES[name]
    stats = json.loads(opened(name).stats_json())
    assert (stats["requests"], stats["reads"], stats["writes"]) == (requests, reads, writes)


@needs_traces
@pytest.mark.parametrize("name", FILES)
def test_trace_runs_to_the_end(name: str) -> None:
    requests, reads, writes, _ = FILES[name]
    trace = opened(name)
    result = softsense.run(CONFIGS / "mlc-25nm.toml", trace, policy="look_ahead", beyond="wrap")
    summary = result.summary
    # An end mark is a row that looks like a read: the README counts it, but nobody asked the disk for it.
    end_marks = json.loads(trace.stats_json())["skipped"]["end_marks"]
    assert end_marks == (1 if name.startswith("postmark") else 0)
    expected = {"read": reads - end_marks, "write": writes, "all": requests - end_marks}
    assert not summary["interrupted"]
    assert (summary["requests"], summary["reads"], summary["writes"]) == (
        expected["all"],
        expected["read"],
        expected["write"],
    )
    assert {kind: summary["response"][kind]["count"] for kind in expected} == expected
