"""Is LaLDPC's reproduction fed with what was published, and does every figure come out, with all claims judged?"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import softsense
from conftest import Folder, judged
from softsense import papers
from softsense.papers import NOT_MEASURED, UNDER_SOME, Plan, laldpc, stand_ins
from softsense.papers.laldpc import assumed, methods, published, setups

MIB = 1024 * 1024
SMALL = (
    "geometry.channels=4",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=2",
    "geometry.blocks_per_plane=128",
)
TRACES = {"soft_rsrch1", "soft_F1", "soft_hm0", "counts_sectors", "much_soft_gains"}
"""Claims about real traces."""
BY_WORKLOAD = {"web1_hits", "web1_gain", "read_ratio_helps", "system_new_beats_lru"}
"""Claims about what is particular to a workload, which stand-ins of one law of addresses cannot show."""


def stand_in(name: str, requests: int = 2000) -> papers.Workload:
    return stand_ins.stand_in(name, requests, written_bytes=16 * MIB, read_bytes=64 * MIB)


def small_plan(*names: str, requests: int = 2000) -> Plan:
    workloads = tuple(stand_in(name, requests) for name in names)
    return Plan(False, (1, 2), workloads, requests, overrides=SMALL)


@pytest.mark.parametrize("name", ["prn0", "proj4", "hm1", "F2"])
def test_stand_ins_have_the_published_statistics(name: str) -> None:
    """20,000 requests; four standard errors of a share p of n are 4 sqrt(p (1 - p) / n)."""
    row = next(row for row in stand_ins.WORKLOADS if row.name == name)
    arm = methods.OURS.base
    config = papers.configured("mlc-laldpc", [*SMALL, *stand_in(name, 20_000).overrides, *arm.overrides])
    summary = softsense.run(config, policy=arm.policy).summary
    reads = row.reads / (row.reads + row.writes)
    soft = sum(summary["codeword_reads"]["level_histogram"][1:]) / summary["codeword_reads"]["count"]
    for found, printed, n in (
        (summary["reads"] / 20_000, reads, 20_000),
        (soft, row.soft_read_ratio, reads * 20_000),
    ):
        # What is read while its write waits is read from the controller's memory.
        assert abs(found - printed) < 4 * (printed * (1 - printed) / n) ** 0.5 + 0.002
    seconds = row.days * 86_400 * 20_000 / ((row.reads + row.writes) / 8)
    assert summary["simulated_s"] == pytest.approx(seconds, rel=0.03)


@pytest.mark.usefixtures("few_elsewhere")
def test_every_figure_of_laldpc_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small device and few requests, so that only what cannot be wrong there is asserted."""
    monkeypatch.setattr(stand_ins, "WRITTEN_BYTES", 16 * MIB)
    monkeypatch.setattr(stand_ins, "READ_BYTES", 64 * MIB)
    paper = laldpc.PAPER
    plan = small_plan("prn0", "F2", "hm1", "wdev0")
    result = papers.reproduce(paper, paper.figures, plan, Folder(tmp_path))
    claims = judged(tmp_path)
    assert list(claims) == [claim.id for claim in paper.claims]
    unmeasured = {id_ for id_, claim in claims.items() if claim["verdict"] == NOT_MEASURED}
    assert unmeasured == TRACES | BY_WORKLOAD | {"f2_exception"}, "a stand-in has no special pattern of access"
    assert {id_ for _, measured in result.figures for id_ in measured.evidence} == set(claims) - TRACES - BY_WORKLOAD
    assert claims["cumulative_latency"]["measured"] == pytest.approx(1099.0)
    assert claims["known_latency"]["measured"] == pytest.approx(229.0)
    assert claims["levels_3_to_4"]["measured"] == 3
    report = (tmp_path / "report.md").read_text()
    for figure in paper.figures:
        assert (tmp_path / f"{figure.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{figure.stem}.csv" in report


@pytest.mark.law
def test_the_equation_is_met_for_the_hits_that_were_measured(tmp_path: Path) -> None:
    papers.reproduce(laldpc.PAPER, laldpc.PAPER.chosen(["eq"]), small_plan("F2"), Folder(tmp_path))
    for row in pl.read_csv(tmp_path / "eq.csv").iter_rows(named=True):
        # The file has six digits.
        assert row["measured_us"] == pytest.approx(row["equation_of_measured_hits_us"], abs=1e-5)
        # 20,000 reads with each of two seeds, and a cache that begins empty, which costs at most its entries.
        assert row["read_hit_ratio"] == pytest.approx(row["entries_of_pages"], abs=0.02)


def test_workloads_without_soft_reads_are_left_out_by_name(tmp_path: Path) -> None:
    plan = small_plan("F2", "hm1", requests=300)
    fresh = replace(stand_in("hm0", 300), overrides=(*stand_in("hm0", 300).overrides, "precondition.retention_days=1"))
    plan = replace(plan, workloads=(*plan.workloads, fresh))
    papers.reproduce(laldpc.PAPER, laldpc.PAPER.chosen(["11a"]), plan, Folder(tmp_path))
    why = judged(tmp_path)["retries_removed"]["why"]
    assert "Mean of 2 workloads" in why
    assert "none on them: hm0" in why


def test_real_traces_count_sectors_as_the_paper_does(shared: Path, tmp_path: Path) -> None:
    paper = laldpc.PAPER
    workloads = tuple(workload for workload in paper.plan(False).workloads if workload.name == "rsrch1")
    plan = replace(small_plan(), workloads=workloads)
    papers.reproduce(paper, paper.chosen(["table3", "table4"]), plan, Folder(tmp_path), traces=shared / "traces")
    claims = judged(tmp_path)
    assert claims["counts_sectors"]["measured"] == pytest.approx(1.0, abs=1e-3)
    # 150 of its 162 codewords had been written before: counted apart, from the trace alone.
    assert claims["soft_rsrch1"]["measured"] == pytest.approx(12 / 153, abs=0.03)


def test_published_numbers_are_those_of_the_paper(shared: Path) -> None:
    paper = tomllib.loads((shared / "published" / "laldpc.toml").read_text())
    there = {**paper["claims"], **paper["basic_experiment"]}
    assert {key: there[key] for key in published.PUBLISHED} == published.PUBLISHED
    assert [tuple(row) for row in paper["workloads"]["rows"]] == [
        (row.name, row.reads, row.writes, row.read_ratio, row.days, row.soft_read_ratio) for row in stand_ins.WORKLOADS
    ]
    assert [row["rber_below"] for row in paper["read_level"]] == list(published.RBER_BELOW)
    assert [row["latency_us"] for row in paper["read_level"]] == list(published.LATENCY_US)


def test_headline_claims_span_what_is_assumed(tmp_path: Path) -> None:
    """Exponents alone move what is removed from a few to tens of percent: the interval says so, and names each."""
    result = papers.reproduce(laldpc.PAPER, laldpc.PAPER.chosen(["11a"]), small_plan("F2", "hm1"), Folder(tmp_path))
    claim = judged(tmp_path)["retries_removed"]
    names = [reading.name for reading in assumed.readings(result.plan)]
    assert list(claim["under"]) == names
    numbers = [claim["under"][name]["measured"] for name in names]
    assert claim["lo"] <= min(numbers) < max(numbers) <= claim["hi"]
    exponents = [claim["under"][f"Zipf {exponent}"]["measured"] for exponent in (0.7, 0.8, 1.0, 1.1, 1.2)]
    assert exponents == sorted(exponents)
    assert (claim["verdict"] == UNDER_SOME) == (max(numbers) >= 0.85 * published.PUBLISHED["redundant_retries_removed"])


@pytest.mark.parametrize(("kind", "longer"), [("poisson", 1.0), ("bursts", 1.0), ("batches", 1.0), ("batches", 8.0)])
def test_arrivals_of_stand_ins_have_the_published_rate(kind: str, longer: float) -> None:
    for row in stand_ins.WORKLOADS:
        arrivals = stand_ins.arrivals(row, kind, longer)
        if kind == "poisson":
            assert arrivals["poisson"]["requests_per_s"] == pytest.approx(row.requests_per_s)
            continue
        states = arrivals["markov_modulated"]["states"]
        dwell = sum(state["mean_dwell_us"] for state in states)
        mean = sum(state["requests_per_s"] * state["mean_dwell_us"] for state in states) / dwell
        assert mean == pytest.approx(row.requests_per_s)
        quick = states[1]["requests_per_s"]
        assert (quick == pytest.approx(stand_ins.BURSTS[1][0])) == (kind == "batches")


def test_bursts_are_those_of_hm0(shared: Path) -> None:
    fit = json.loads(softsense.Trace(str(shared / "traces" / "msr_hm_0_excerpt7016.csv.zst")).fit_arrivals()[0])
    found = zip(fit["requests_per_s"], fit["mean_dwell_us"], strict=True)
    for state, kept in zip(found, stand_ins.BURSTS, strict=True):
        assert state == pytest.approx(kept, rel=1e-4)
    # Eightfold bursts have its index of dispersion in 60 ms, but for a quarter.
    burst = fit["statistics"][2]
    assert assumed.EIGHTFOLD * (burst["fitted"] - 1) == pytest.approx(burst["recorded"], rel=0.25)


def test_a_fit_to_one_number_predicts_another() -> None:
    points = [(1.0, 10.0), (2.0, 30.0), (3.0, 20.0)]
    assert setups.crossing(points, 25.0) == 1.75
    assert setups.crossing(points, 31.0) is None
    assert setups.between(points, 2.5) == 25.0
    with pytest.raises(ValueError, match=r"found 4\.0"):
        setups.between(points, 4.0)


def test_set_ups_meet_all_three_numbers_where_each_is_met() -> None:
    """56, 18 and 24 % within 15 %: from 47.6, 15.3 and 20.4 on, up to 64.4, 20.7 and 27.6."""
    line = {1.0: {"retries_removed": 0.376, "read_gain": 0.133, "system_response_gain": 0.24}}
    line[1.2] = {"retries_removed": 0.576, "read_gain": 0.253, "system_response_gain": 0.24}
    # Retries are met from 1.1 on, flash reads from 1.0333 to 1.1233.
    assert setups.meeting_all(line) == [1.1, 1.11, 1.12]
    assert setups.meeting_all({1.1: {id_: 1.1 * value for id_, value in setups.TARGETS.items()}}) == [1.1]
    assert setups.meeting_all({1.1: {id_: 1.2 * value for id_, value in setups.TARGETS.items()}}) == []
