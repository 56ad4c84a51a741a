"""Is LaLDPC's reproduction fed with what was published, and does every figure come out, with all claims judged?"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import softsense
from conftest import Folder, judged
from softsense import papers
from softsense.papers import NOT_MEASURED, Plan, laldpc

MIB = 1024 * 1024
SMALL = (
    "geometry.channels=4",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=2",
    "geometry.blocks_per_plane=128",
)
TRACES = {"soft_rsrch1", "soft_F1", "soft_hm0", "counts_sectors"}
"""Claims about real traces."""


def stand_in(name: str, requests: int = 2000) -> papers.Workload:
    return laldpc.stand_in(name, requests, written_bytes=16 * MIB, read_bytes=64 * MIB)


def small_plan(*names: str, requests: int = 2000) -> Plan:
    workloads = tuple(stand_in(name, requests) for name in names)
    return Plan(False, (1, 2), workloads, 20_000, overrides=SMALL)


@pytest.mark.parametrize("name", ["prn0", "proj4", "hm1", "F2"])
def test_stand_ins_have_the_published_statistics(name: str) -> None:
    """20,000 requests; four standard errors of a share p of n are 4 sqrt(p (1 - p) / n)."""
    row = next(row for row in laldpc.WORKLOADS if row.name == name)
    arm = laldpc.MAIN.base
    config = papers.configured("mlc-laldpc", [*SMALL, *stand_in(name, 20_000).overrides, *arm.overrides])
    summary = softsense.run(config, policy=arm.policy).summary
    reads = row.reads / (row.reads + row.writes)
    soft = sum(summary["codeword_reads"]["level_histogram"][1:]) / summary["codeword_reads"]["count"]
    for found, published, n in (
        (summary["reads"] / 20_000, reads, 20_000),
        (soft, row.soft_read_ratio, reads * 20_000),
    ):
        # What is read while its write waits is read from the controller's memory.
        assert abs(found - published) < 4 * (published * (1 - published) / n) ** 0.5 + 0.002
    seconds = row.days * 86_400 * 20_000 / ((row.reads + row.writes) / 8)
    assert summary["simulated_s"] == pytest.approx(seconds, rel=0.03)


def test_every_figure_of_laldpc_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a small device and few requests, so that only what cannot be wrong there is asserted."""
    monkeypatch.setattr(laldpc, "_WRITTEN_BYTES", 16 * MIB)
    monkeypatch.setattr(laldpc, "_READ_BYTES", 64 * MIB)
    paper = laldpc.PAPER
    plan = small_plan("prn0", "F2", "hm1", "proj3")
    result = papers.reproduce(paper, paper.figures, plan, Folder(tmp_path))
    claims = judged(tmp_path)
    assert list(claims) == [claim.id for claim in paper.claims]
    unmeasured = {id_ for id_, claim in claims.items() if claim["verdict"] == NOT_MEASURED}
    assert unmeasured == TRACES
    assert {id_ for _, measured in result.figures for id_ in measured.evidence} == set(claims) - TRACES
    assert claims["cumulative_latency"]["measured"] == pytest.approx(1099.0)
    assert claims["known_latency"]["measured"] == pytest.approx(229.0)
    assert claims["levels_3_to_4"]["measured"] == 3
    report = (tmp_path / "report.md").read_text()
    for figure in paper.figures:
        assert (tmp_path / f"{figure.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{figure.stem}.csv" in report


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
    assert {key: there[key] for key in laldpc.PUBLISHED} == laldpc.PUBLISHED
    assert [tuple(row) for row in paper["workloads"]["rows"]] == [
        (row.name, row.reads, row.writes, row.read_ratio, row.days, row.soft_read_ratio) for row in laldpc.WORKLOADS
    ]
    assert [row["rber_below"] for row in paper["read_level"]] == list(laldpc.RBER_BELOW)
    assert [row["latency_us"] for row in paper["read_level"]] == list(laldpc.LATENCY_US)
