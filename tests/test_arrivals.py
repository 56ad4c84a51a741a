"""Are bursts fitted to a trace those that a config then has?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import softsense
from conftest import SMALL, Softsense
from softsense.base import inline


def states(config: softsense.Config) -> list[dict[str, float]]:
    found = config.fields.workload.arrivals.markov_modulated.states
    assert isinstance(found, list)
    return found


def test_what_a_config_says_is_found_in_the_trace_that_it_generates(
    tmp_path: Path, softsense_command: Softsense
) -> None:
    """20,000 requests in some 200 bursts know each number to about 8 %; four of that are allowed."""
    said = [
        {"requests_per_s": 50.0, "mean_dwell_us": 400_000.0},
        {"requests_per_s": 9_000.0, "mean_dwell_us": 9_000.0},
    ]
    bursts = f"workload.arrivals.markov_modulated.states={inline(said)}"
    config = softsense.load_config("mlc-25nm", [*SMALL, "workload.requests=20000", bursts])
    assert ["Markov-modulated" in text for label, text in config.describe_workload() if label == "arrivals"] == [True]
    config.write_workload(tmp_path / "bursts.csv", "csv")
    printed = softsense_command("trace", "fit-arrivals", str(tmp_path / "bursts.csv"), "--no-progress").stdout
    assert "index of dispersion" in printed
    # What is printed is a config, comments and all.
    again = softsense.Config.from_toml(printed, "printed")
    for found, expected in zip(states(again), said, strict=True):
        for field, value in expected.items():
            assert found[field] == pytest.approx(value, rel=0.32), field
    shown = softsense_command("trace", "fit-arrivals", str(tmp_path / "bursts.csv"), "--json", "--no-progress").stdout
    assert json.loads(shown)["requests_per_s"] == [state["requests_per_s"] for state in states(again)]


def test_bursts_of_hm0_are_batches(shared: Path) -> None:
    """Its excerpt has some ten requests in 35 us, every 0.3 s. Counts are more dispersed in long windows than two
    states tell.
    """
    fit = json.loads(softsense.Trace(str(shared / "traces" / "msr_hm_0_excerpt7016.csv.zst")).fit_arrivals()[0])
    burst = fit["requests_per_s"][1] * fit["mean_dwell_us"][1] * 1e-6
    assert 8 < burst < 12
    assert fit["gain_over_poisson_nats"] > 4
    rate, *_, longest = fit["statistics"]
    assert rate["fitted"] == pytest.approx(rate["recorded"], rel=0.02)
    assert longest["recorded"] > 2 * longest["fitted"] > 2 * longest["poisson"]


def test_too_few_requests_are_refused(tmp_path: Path) -> None:
    trace = tmp_path / "few.csv"
    trace.write_text("arrival_ns,device,kind,offset_bytes,bytes\n" + "5,0,read,0,4096\n" * 99)
    with pytest.raises(softsense.TraceError, match="found 99 requests, expected at least 100"):
        softsense.Trace(str(trace)).fit_arrivals()
    trace.write_text("arrival_ns,device,kind,offset_bytes,bytes\n" + "5,0,read,0,4096\n" * 100)
    with pytest.raises(softsense.TraceError, match="one instant"):
        softsense.Trace(str(trace)).fit_arrivals()
