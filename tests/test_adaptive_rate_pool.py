"""Is the adaptive-rate pool's reproduction fed with what was published, and does every figure come out?

Does its wear follow from one number, and are saturated pools where theory has them?
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import softsense
from conftest import Folder, judged
from softsense import papers
from softsense.papers import NOT_MEASURED, Case, Plan
from softsense.papers.adaptive_rate_pool import (
    PAPER,
    accelerators,
    inner_code,
    life,
    lifetimes,
    living,
    mixed_ages,
    pool_hardware,
    settings,
    wear,
)
from softsense.papers.adaptive_rate_pool.decoders import PER_SSD, POOL, Decoders, by_name, saturated
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.living import Living
from softsense.papers.adaptive_rate_pool.machine import DEVICE
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE, PUBLISHED, RATES, printed_lifetime
from softsense.papers.adaptive_rate_pool.wear import FITTED


def plan(requests: int, *seeds: int) -> Plan:
    return Plan(False, seeds, (), requests, overrides=DEVICE)


def run(case: Case) -> dict[str, Any]:
    overrides = [*DEVICE, *case.workload.overrides, *case.overrides]
    return softsense.run(papers.configured(PAPER.config, overrides), policy=case.policy, seed=case.seed).summary


def test_published_numbers_are_those_of_the_paper(shared: Path) -> None:
    paper = tomllib.loads((shared / "published" / "adaptive_rate_pool.toml").read_text())
    assert {name: {key: paper[name][key] for key in fields} for name, fields in PUBLISHED.items()} == PUBLISHED
    assert tuple(paper["code"]["rates"]) == RATES


def test_the_printed_lifetimes_add_up_as_counted_by_hand() -> None:
    """10 x 5/6 + 4 x 3/4 + 3 x 2/3 + 8 x 1/2 + 9 x 1/3 + 9 x 1/4, against 25 x 1/2."""
    assert printed_lifetime("1/2") == 12.5
    assert printed_lifetime(ADAPTIVE) == pytest.approx(22.583, abs=1e-3)


@pytest.mark.parametrize("rate", RATES)
def test_a_fit_gives_its_endurance_back(rate: str) -> None:
    printed = PUBLISHED["lifetime"]["endurance_kpe"][RATES.index(rate)]
    assert wear.predicted(rate, wear.fit(rate)) == pytest.approx(printed, rel=1e-12)


def test_lifetimes_of_the_device_are_those_that_were_predicted() -> None:
    """A bisection in the table, and one of the device's codewords by whole P/E cycles."""
    for rate, code in zip(RATES, wear.life().codes, strict=True):
        assert code.table == f"adaptive-{rate.replace('/', '-')}"
        assert abs(code.endurance_pe - 1000 * wear.predicted(rate, wear.fit())) < 1.001
    assert wear.adapted(24_990) == FITTED


@pytest.mark.parametrize(
    ("decoders", "age"),
    [(Decoders(8), 12_000), (Decoders(8, "per_ssd"), 24_000), (Decoders(64, "per_channel"), 38_000)],
)
def test_saturation_is_at_its_bound(decoders: Decoders, age: int) -> None:
    (case,) = saturated(plan(40_000, 1), at(age), decoders)
    summary = run(case)
    rate = summary["requests"] / summary["simulated_s"]
    assert 0.98 <= rate / decoders.bound(at(age).load) <= 1.005
    # 40,000 codewords whose iterations have a standard deviation of one at most: four standard errors.
    iterations = summary["codeword_reads"]["time_us"]["decode"] / 4.0
    assert iterations == pytest.approx(at(age).load, abs=4 * at(age).spread / 200 + 1e-6)


def test_fresh_flash_has_codewords_without_errors() -> None:
    (case,) = saturated(plan(40_000, 1), at(100), POOL)
    operations = run(case)["operations"]
    share = at(100).error_free
    assert 0.4 < share < 0.5
    assert operations["bypasses"] / 40_000 == pytest.approx(share, abs=4 * 0.0025)


def test_hot_data_goes_to_two_ssds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of eight decoders decode 80 % of reads, or all of them: 8 / (2 / 0.8) = 3.2."""
    monkeypatch.setattr(wear, "AGES", (24_000,))
    papers.reproduce(PAPER, PAPER.chosen(["8"]), plan(40_000, 1), Folder(tmp_path))
    found = judged(tmp_path)["pool_beats_dedicated"]
    assert found["verdict"] == papers.HOLDS
    assert found["measured"] == pytest.approx(3.2, rel=0.03)


def test_endurances_under_other_assumptions_are_those_of_the_limits() -> None:
    """(limit over that of rate 1/2) to one over the exponent, by hand; and codes of the printed rates."""
    of_tlc = lifetimes.assumed()["exponent 2.05 (72-layer TLC)"]
    for rate in RATES:
        by_hand = 25 * (wear.limit(rate) / wear.limit(FITTED)) ** (1 / 2.05)
        assert of_tlc.endurance[rate] == pytest.approx(by_hand, rel=1e-12)
    # A code of rate 1/2 that is as good as possible corrects 11.0 % of wrong bits; 1/3 17.4 %.
    nominal = lifetimes.nominal_limits()
    assert nominal[FITTED] == pytest.approx(wear.limit(FITTED), rel=1e-9)
    assert nominal["1/3"] / nominal["1/2"] == pytest.approx(0.17395 / 0.11003, rel=1e-3)
    gains = lifetimes.printed()
    assert (gains.over_best, gains.over_mean) == (pytest.approx(1.807, abs=1e-3), pytest.approx(2.093, abs=1e-3))


def test_links_cost_what_their_bandwidth_and_latency_say() -> None:
    """A read alone: 8,192 bytes at 3.94 and at 15.75 GB/s, and 0.4 us of latency; the narrow link bounds saturation."""
    (case,) = saturated(plan(20_000, 1), at(100), POOL)
    (linked,) = settings.NARROW.of([case], POOL)
    free, narrow = run(case), run(linked)
    assert free["interconnect"] is None
    # Of fresh codewords 46 % have no errors, and stay in their SSD.
    per_ssd = 0.985e9 / 8192 / (1 - at(100).error_free)
    bound = min(64 / 40e-6, 8 * per_ssd)
    assert narrow["requests"] / narrow["simulated_s"] == pytest.approx(bound, rel=0.03)
    (alone,) = settings.WIDE.of([case], POOL)
    one = papers.Case(alone.workload, alone.policy, (*alone.overrides, "host.issue.closed_loop.queue_depth=1"), 1)
    found = run(one)
    crossing = 8192 / 3.94e3 + 8192 / 15.75e3 + settings.LINK_LATENCY_US + settings.SWITCH_LATENCY_US
    decoded = 1 - found["operations"]["bypasses"] / 20_000
    assert found["interconnect"]["mean_us"] == pytest.approx(crossing * decoded, abs=2e-3)


def test_an_array_of_different_ages_is_bound_by_its_oldest_without_a_pool() -> None:
    rates = []
    for decoders in (POOL, PER_SSD):
        (case,) = mixed_ages._saturated(plan(40_000, 1), decoders)
        summary = run(case)
        rates.append(summary["requests"] / summary["simulated_s"])
    loads = [at(age).load for age in mixed_ages._ages()]
    assert rates[1] == pytest.approx(PER_SSD.bound(max(loads)), rel=0.05)
    assert rates[0] == pytest.approx(POOL.bound(sum(loads) / 8), rel=0.05)


def test_the_array_by_name_is_the_one_that_is_judged() -> None:
    shipped, judged = (
        config.fields
        for config in (softsense.load_config("pool-array"), softsense.load_config(PAPER.config, list(by_name())))
    )
    shipped.pop("workload")
    judged.pop("workload")
    assert shipped == judged


@pytest.mark.parametrize(
    ("config", "overrides"),
    [("pool-array", []), ("mlc-25nm", ["decoder.bypass={ errors = 0, codeword_bits = 36864 }"])],
)
def test_the_baseline_of_a_comparison_has_the_same_codewords_without_errors(config: str, overrides: list[str]) -> None:
    """Reads of as many codewords take as many transfers of the same length, and no decoder."""
    overrides = [*overrides, "workload.requests=2000", "workload.read_fraction=1.0"]
    compared = softsense.compare(config, policies="two_step", overrides=overrides)
    assert compared.baseline is not None
    without, with_errors = (run.summary for run in (compared.baseline, compared["two_step"]))
    assert (without["operations"]["decodes"], with_errors["operations"]["bypasses"]) == (0, 0)
    assert without["operations"]["bypasses"] == without["codeword_reads"]["count"]
    assert without["operations"]["transfers"] <= with_errors["operations"]["transfers"]
    assert compared.slowdown(compared["two_step"]) > 1


def test_a_read_of_a_user_page_takes_one_decode_or_two() -> None:
    """4 KiB are 8 units of data of 13 in a codeword: five of thirteen places lie within one."""
    overrides = ["workload.requests=20000", "workload.read_fraction=1.0"]
    summary = softsense.run(softsense.load_config("pool-array", overrides)).summary
    assert summary["operations"]["decodes"] / 20_000 == pytest.approx(1 + 7 / 13, abs=4 * 0.5 / 20_000**0.5)


@pytest.mark.parametrize("at_once", [2, 8])
def test_accelerators_saturate_like_as_many_decoders(at_once: int) -> None:
    """In work are as many codewords as with so many times the decoders, until channels bring no more."""
    (case,) = accelerators._runs(plan(40_000, 1), None, POOL, at_once)
    summary = run(case)
    bound = Decoders(POOL.count * at_once).bound(at(38_000).load)
    assert 0.97 <= summary["requests"] / summary["simulated_s"] / bound <= 1.005


def test_the_inner_code_takes_the_codewords_with_few_errors() -> None:
    """After 500 P/E cycles a codeword has 9.8 errors in the mean: 35 % of them have eight at most."""
    (case,) = inner_code._runs(plan(20_000, 1), 8, 500)
    rber, bits = at(500).rber, 8 * 8192
    share = sum(math.comb(bits, k) * rber**k * (1 - rber) ** (bits - k) for k in range(9))
    assert 0.3 < share < 0.4
    assert inner_code._past(run(case)) == pytest.approx(share, abs=4 * 0.5 / 20_000**0.5)


def test_a_decoder_of_six_codes_is_as_parallel_as_the_slowest_needs() -> None:
    """An iteration of 4 us at most of each code, and one check less a cycle is too slow for one of them."""
    checks = pool_hardware.checks_per_cycle()
    slowest = {
        lanes: max(pool_hardware._circuit(rate, lanes)["us"] for rate in RATES) for lanes in (checks - 1, checks)
    }
    assert slowest[checks] <= 4.0 < slowest[checks - 1]
    # Rate 1/4 has 96 block rows of 512 checks, at 400 MHz.
    assert slowest[checks] == pytest.approx(96 * (math.ceil(512 / checks) + 4) / 400)
    assert pool_hardware.area(*RATES) > pool_hardware.area(RATES[0])


def test_a_life_goes_through_all_rates_and_loses_nothing() -> None:
    """By P/E cycles and by what is observed: blocks begin with 5/6 and end with 1/3 or 1/4, and no codeword fails."""
    for device in (Living(), Living(switch="corrected_errors", host_first=True, link_gb_per_s=3.94)):
        summary = run(device.case(PAPER.plan(False), 1))
        blocks = summary["code_rates"]["blocks"]
        assert sum(blocks[:4]) == 0
        assert blocks[4] * blocks[5] > 0
        assert life.failed(summary) + summary["writes_detail"]["refused_codewords"] == 0
        assert summary["operations"]["encodes"] == 2 * summary["operations"]["programs"]
    # Of five rates to the next, each of 256 blocks by four at least.
    assert 4 * 256 <= summary["code_rates"]["to_stronger"] <= 5 * 256 + 64


@pytest.mark.usefixtures("few_elsewhere")
def test_every_figure_of_the_pool_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At three ages, with few reads, and lives of which the beginning is run."""
    monkeypatch.setattr(wear, "AGES", (2_000, 12_000, 38_000))
    monkeypatch.setattr(living, "USED", 0.1)
    result = papers.reproduce(PAPER, PAPER.figures, plan(6_000, 1), Folder(tmp_path))
    claims = judged(tmp_path)
    assert list(claims) == [claim.id for claim in PAPER.claims]
    assert {id_ for _, measured in result.figures for id_ in measured.evidence} == set(claims)
    assert NOT_MEASURED not in {claim["verdict"] for claim in claims.values()}
    for claim in (
        "endurance_1_3",
        "iterations_grow",
        "rate_grows_with_t",
        "latency_independent_of_count",
    ):
        assert claims[claim]["verdict"] == papers.HOLDS
    for claim in ("endurance_5_6", "best_fixed", "almost_doubles"):
        assert claims[claim]["verdict"] == papers.UNDER_SOME
    table = pl.read_csv(tmp_path / "table2.csv").filter(pl.col("bar") == "measured")
    written = dict(table.select("group", "lifetime").iter_rows())
    best = max(written[rate] for rate in RATES)
    assert claims["almost_doubles"]["measured"] == pytest.approx(written[ADAPTIVE] / best, rel=1e-5)
    report = (tmp_path / "report.md").read_text()
    for figure in PAPER.figures:
        assert (tmp_path / f"{figure.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{figure.stem}.csv" in report
