"""Does a result say what losses of power have cost, and do response times show them?"""

from __future__ import annotations

import pytest

import softsense
from conftest import ONE_PLANE
from softsense import tables

SMALL = [
    ONE_PLANE,
    "ftl.over_provisioning=0.4",
    "workload.requests=2000",
    "workload.read_fraction=0.5",
    "workload.footprint_bytes=60391424",
    "workload.arrivals.poisson.requests_per_s=1000.0",
]


def test_a_result_tells_what_losses_of_power_cost() -> None:
    undisturbed = softsense.run("tlc-femu", overrides=SMALL)
    losses = ["power_loss={ at_s = [0.5, 1.0], off_us = 1000.0, power_up_us = 50000.0, scan = 'none' }"]
    result = softsense.run("tlc-femu", overrides=[*SMALL, *losses])
    lost = result.summary["power_loss"]
    assert lost["losses"] == 2
    assert lost["lost_codewords"] > 0
    assert lost["mean_away_us"] == pytest.approx(lost["longest_away_us"])
    assert lost["longest_away_us"] > 51_000
    assert result.summary["response"]["read"]["max_us"] > 51_000 > undisturbed.summary["response"]["read"]["p99_us"]
    comparison = softsense.Comparison([result])
    assert "Losses of power" in tables.results(comparison)
    # What is lost is told first.
    assert f"{lost['lost_codewords']:,} of " in tables.warnings(comparison)
    assert "were acknowledged before any flush, and were lost with the power" in tables.warnings(comparison)
    assert "power_loss" not in undisturbed.summary
    assert "Losses of power" not in tables.results(softsense.Comparison([undisturbed]))
