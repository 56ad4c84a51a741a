"""Does a result say how much was copied within planes, and how far apart the blocks have worn?"""

from __future__ import annotations

import softsense
from conftest import ONE_PLANE
from softsense import tables

SMALL = [
    ONE_PLANE,
    "ftl.over_provisioning=0.4",
    "host.write_buffer_bytes=0",
    "precondition.layout='steady_state'",
    "workload.requests=5000",
    "workload.read_fraction=0.5",
    "workload.sizes=[{ bytes = 16384, share = 1.0 }]",
    "workload.align_bytes=16384",
    "workload.footprint_bytes=60391424",
]


def test_a_result_counts_copies_and_wear() -> None:
    more = ["flash.copyback={ ecc = 'check' }", "ftl.wear_levelling_spread=1"]
    result = softsense.run("tlc-femu", overrides=[*SMALL, *more])
    summary = result.summary
    moved = sum(row["programs"] for row in summary["background"])
    assert summary["copyback"]["share"] == summary["copyback"]["pages"] / moved > 0
    wear = summary["wear"]
    assert wear["least_pe_cycles"] <= wear["mean_pe_cycles"] <= wear["most_pe_cycles"]
    assert wear["widest_plane_spread"] == wear["most_pe_cycles"] - wear["least_pe_cycles"], "of the only plane"
    told = tables.results(softsense.Comparison([result]))
    assert "Copyback" in told
    assert "P/E cycles of blocks" in told


def test_a_result_without_them_does_not_mention_them() -> None:
    result = softsense.run("tlc-femu", overrides=[*SMALL, "workload.read_fraction=1.0", "workload.requests=100"])
    assert not {"copyback", "wear"} & set(result.summary)
    told = tables.results(softsense.Comparison([result]))
    assert "Copyback" not in told
    assert "P/E cycles of blocks" not in told
