"""Does a result say how many blocks went bad, and what is left of the spares?"""

from __future__ import annotations

import softsense
from conftest import ONE_PLANE
from softsense import tables

SMALL = [
    ONE_PLANE,
    "ftl.over_provisioning=0.4",
    "ftl.gc_low_watermark_blocks=5",
    "workload.requests=4000",
    "workload.read_fraction=0.0",
    "workload.footprint_bytes=60391424",
    "workload.arrivals.poisson.requests_per_s=100.0",
]


def test_a_result_tells_how_many_blocks_are_bad() -> None:
    without = softsense.run("tlc-femu", overrides=SMALL)
    failure = "erase_failure = { share = 0.9, at_pe_cycles = 20, exponent = 1.0 }"
    bad = f"flash.bad_blocks={{ spare_blocks_per_plane = 30, factory_share = 0.05, {failure} }}"
    result = softsense.run("tlc-femu", overrides=[*SMALL, bad, "precondition.pe_cycles=0"])
    found = result.summary["bad_blocks"]
    assert found["factory"] > 0
    assert found["grown"] > 0
    assert found["factory"] + found["grown"] + found["spares_left"] == 30
    assert found["fewest_spares_of_plane"] == found["spares_left"]
    assert found["retired"] == 0
    assert found["failed_programs"] == found["grown_by_programs"] == 0
    assert "Bad blocks" in tables.results(softsense.Comparison([result]))
    fails = bad.replace("erase_failure", "program_failure")
    result = softsense.run("tlc-femu", overrides=[*SMALL, fails, "precondition.pe_cycles=0"])
    found = result.summary["bad_blocks"]
    assert found["failed_programs"] >= found["grown_by_programs"] == found["grown"] > 0
    assert found["codewords_programmed_again"] > 0
    assert "bad_block" in {work["cause"] for work in result.summary["background"]}
    assert "out of bad blocks" in tables.results(softsense.Comparison([result]))
    assert "bad_blocks" not in without.summary
    assert "Bad blocks" not in tables.results(softsense.Comparison([without]))
