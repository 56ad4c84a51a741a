"""Is the adaptive-rate pool's reproduction fed with what was published, and does every figure come out?

Does its wear follow from one number, and are saturated pools where theory has them?
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import softsense
from conftest import Folder, judged
from softsense import papers
from softsense.papers import NOT_MEASURED, Case, Plan
from softsense.papers import adaptive_rate_pool as pool
from softsense.papers.adaptive_rate_pool import ADAPTIVE, DEVICE, FITTED, RATES, Decoders


def plan(requests: int, *seeds: int) -> Plan:
    return Plan(False, seeds, (), requests, overrides=DEVICE)


def run(case: Case) -> dict[str, Any]:
    overrides = [*DEVICE, *case.workload.overrides, *case.overrides]
    return softsense.run(papers.configured(pool.PAPER.config, overrides), policy=case.policy, seed=case.seed).summary


def test_published_numbers_are_those_of_the_paper(shared: Path) -> None:
    paper = tomllib.loads((shared / "published" / "adaptive_rate_pool.toml").read_text())
    assert {
        name: {key: paper[name][key] for key in fields} for name, fields in pool.PUBLISHED.items()
    } == pool.PUBLISHED
    assert tuple(paper["code"]["rates"]) == RATES


def test_the_printed_lifetimes_add_up_as_counted_by_hand() -> None:
    """10 x 5/6 + 4 x 3/4 + 3 x 2/3 + 8 x 1/2 + 9 x 1/3 + 9 x 1/4, against 25 x 1/2."""
    assert pool.printed_lifetime("1/2") == 12.5
    assert pool.printed_lifetime(ADAPTIVE) == pytest.approx(22.583, abs=1e-3)


@pytest.mark.parametrize("rate", RATES)
def test_a_fit_gives_its_endurance_back(rate: str) -> None:
    printed = pool.PUBLISHED["lifetime"]["endurance_kpe"][RATES.index(rate)]
    assert pool.predicted(rate, pool.fit(rate)) == pytest.approx(printed, rel=1e-12)


def test_lifetimes_of_the_device_are_those_that_were_predicted() -> None:
    """A bisection in the table, and one of the device's codewords by whole P/E cycles."""
    for rate, code in zip(RATES, pool.life().codes, strict=True):
        assert code.table == f"adaptive-{rate.replace('/', '-')}"
        assert abs(code.endurance_pe - 1000 * pool.predicted(rate, pool.fit())) < 1.001
    assert pool.adapted(24_990) == FITTED


@pytest.mark.parametrize(
    ("decoders", "age"),
    [(Decoders(8), 12_000), (Decoders(8, "per_ssd"), 24_000), (Decoders(64, "per_channel"), 38_000)],
)
def test_saturation_is_at_its_bound(decoders: Decoders, age: int) -> None:
    (case,) = pool._saturated(plan(40_000, 1), pool.at(age), decoders)
    summary = run(case)
    rate = summary["requests"] / summary["simulated_s"]
    assert 0.98 <= rate / decoders.bound(pool.at(age).load) <= 1.005
    # 40,000 codewords whose iterations have a standard deviation of one at most: four standard errors.
    iterations = summary["codeword_reads"]["time_us"]["decode"] / 4.0
    assert iterations == pytest.approx(pool.at(age).load, abs=4 * pool.at(age).spread / 200 + 1e-6)


def test_fresh_flash_has_codewords_without_errors() -> None:
    (case,) = pool._saturated(plan(40_000, 1), pool.at(100), pool.POOL)
    operations = run(case)["operations"]
    share = pool.at(100).error_free
    assert 0.4 < share < 0.5
    assert operations["bypasses"] / 40_000 == pytest.approx(share, abs=4 * 0.0025)


def test_hot_data_goes_to_two_ssds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of eight decoders decode 80 % of reads, or all of them: 8 / (2 / 0.8) = 3.2."""
    monkeypatch.setattr(pool, "_AGES", (24_000,))
    papers.reproduce(pool.PAPER, pool.PAPER.chosen(["8"]), plan(40_000, 1), Folder(tmp_path))
    found = judged(tmp_path)["pool_beats_dedicated"]
    assert found["verdict"] == papers.HOLDS
    assert found["measured"] == pytest.approx(3.2, rel=0.03)


def test_every_figure_of_the_pool_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At three ages, with few reads."""
    monkeypatch.setattr(pool, "_AGES", (2_000, 12_000, 38_000))
    result = papers.reproduce(pool.PAPER, pool.PAPER.figures, plan(6_000, 1), Folder(tmp_path))
    claims = judged(tmp_path)
    assert list(claims) == [claim.id for claim in pool.PAPER.claims]
    assert {id_ for _, measured in result.figures for id_ in measured.evidence} == set(claims)
    assert NOT_MEASURED not in {claim["verdict"] for claim in claims.values()}
    for claim in (
        "endurance_5_6",
        "best_fixed",
        "iterations_grow",
        "rate_grows_with_t",
        "latency_independent_of_count",
    ):
        assert claims[claim]["verdict"] == papers.HOLDS
    lifetimes = pl.read_csv(tmp_path / "table2.csv").filter(pl.col("bar") == "measured")
    written = dict(lifetimes.select("group", "lifetime").iter_rows())
    best = max(written[rate] for rate in RATES)
    assert claims["almost_doubles"]["measured"] == pytest.approx(written[ADAPTIVE] / best, rel=1e-5)
    report = (tmp_path / "report.md").read_text()
    for figure in pool.PAPER.figures:
        assert (tmp_path / f"{figure.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{figure.stem}.csv" in report
