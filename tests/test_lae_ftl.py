"""Is LAE-FTL's reproduction fed with what was published, does every figure come out, and are its closed forms right?"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from conftest import Folder, judged
from softsense import Config, _core, papers
from softsense.papers import NOT_MEASURED, Plan, Workload, lae_ftl, running
from softsense.papers.comparing import cases
from softsense.papers.lae_ftl import assumed, decoding, devices, parallel, region, squeezing, stages, units, workloads
from softsense.papers.lae_ftl.devices import LARGE, SMALL, Device, squeezed
from softsense.papers.lae_ftl.published import Law
from softsense.papers.lae_ftl.units import ASSUMED, ENGINE, SEGMENTS, SQUEEZED, UNSQUEEZED, WORST_CASE, UnitCode

MIB = 1024 * 1024
EVERY = (*SEGMENTS, WORST_CASE, *SQUEEZED)


def test_published_numbers_are_those_of_the_paper(shared: Path) -> None:
    assert tomllib.loads((shared / "published" / "lae_ftl.toml").read_text()) == lae_ftl.PUBLISHED


# Codes and wear.


def test_squeezed_units_have_the_codes_that_fit() -> None:
    assert [code.correctable for code in SQUEEZED] == [170, 234, 298, 362]
    assert [code.squeezed_bytes for code in (*SEGMENTS, WORST_CASE)] == [0] * 5
    assert [code.squeezed_bytes for code in SQUEEZED] == [128, 256, 384, 512]
    assert [code.unit for code in SQUEEZED] == ["3.875 KB", "3.75 KB", "3.625 KB", "3.5 KB"]


@pytest.mark.parametrize(
    ("oob_bytes", "correctable", "rber"),
    [(224, 112, 1.64e-3), (352, 176, 2.91e-3), (480, 240, 4.19e-3), (608, 304, 5.44e-3), (736, 368, 6.66e-3)],
)
def test_the_oob_holds_what_was_found_apart(oob_bytes: int, correctable: int, rber: float) -> None:
    """Numbers of another program."""
    code = units.filling(oob_bytes, 0)
    assert code.correctable == correctable
    assert code.limit() == pytest.approx(rber, abs=5e-6)
    assert code.limit("failure") < code.limit()
    assert units.filling(oob_bytes, 12).correctable == correctable - 6


@pytest.mark.parametrize("code", SQUEEZED, ids=lambda code: code.unit)
def test_units_cross_pages_as_often_as_counted(code: UnitCode) -> None:
    """Unit by unit through a block."""
    page = 2 * (4096 - code.squeezed_bytes)
    units = 256 * page // 4096
    crossing = sum(4096 * i // page != (4096 * (i + 1) - 1) // page for i in range(units))
    assert units == code.units_per_block
    assert crossing / units == pytest.approx(code.crossing, rel=1e-12)


@pytest.mark.parametrize("name", ["power_law", "exponential"])
def test_laws_go_through_the_middle_of_the_four_points(name: Law) -> None:
    law = lae_ftl.wear(name)
    if name == "power_law":
        assert law.pe_exponent == pytest.approx(2.47, abs=5e-3)
    assert law.pe_cycles(law.rber(23_456)) == pytest.approx(23_456, abs=1)
    off = [law.rber(each["pe_cycles"]) / each["rber"] for each in lae_ftl.PUBLISHED["segment"]]
    assert min(off) < 1 < max(off)
    assert max(max(each, 1 / each) for each in off) == pytest.approx(law.worst_factor, rel=1e-9)
    assert law.worst_factor < 1.16


# Decoding.


def test_decoding_takes_the_cycles_counted_by_hand() -> None:
    """BCH(4291, 4096, 15): 537 + 15 x 3 + 537 cycles of 5 ns; BCH(34448, 32768, 105): 4306 + 105 x 20 + 4306."""
    assert ASSUMED.decode_us(SEGMENTS[0]) == pytest.approx(1119 / 200)
    assert ASSUMED.decode_us(SEGMENTS[0], errors=False) == pytest.approx(537 / 200)
    assert ASSUMED.decode_us(UNSQUEEZED) == pytest.approx(10_712 / 200)


def test_an_engine_has_the_hardware_of_the_worst_case_code() -> None:
    """Seven codewords of t = 15 at once, with two of the sixteen multipliers each: 537 + 15 x 24 + 537 cycles."""
    assert ENGINE.decode_us(WORST_CASE) == ASSUMED.decode_us(WORST_CASE)
    assert ENGINE.decode_us(SEGMENTS[0]) == pytest.approx((537 + 15 * 24 + 537) / 200)
    config = papers.configured("mlc-lae", [ENGINE.override, "decoder.codewords_at_once=1"])
    assert [code["codewords_at_once"] for code in config.bch_codes()] == [7, 3, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(("codewords", "transfer_us"), [(1, 5.0), (2, 3.0), (5, 2.0), (5, 7.0), (8, 4.0)])
def test_the_pipeline_is_the_mean_of_all_outcomes(codewords: int, transfer_us: float) -> None:
    clean_us, decode_us, p_clean = 2.5, 6.0, 0.3
    mean = 0.0
    for outcome in itertools.product((True, False), repeat=codewords):
        free = 0.0
        for i, clean in enumerate(outcome, 1):
            free = max(free, i * transfer_us) + (clean_us if clean else decode_us)
        mean += free * p_clean ** sum(outcome) * (1 - p_clean) ** (codewords - sum(outcome))
    found = units.last_decode_us(codewords, transfer_us, clean_us, decode_us, p_clean)
    assert found == pytest.approx(mean, rel=1e-9)


def test_uniform_overwriting_has_the_documented_amplification() -> None:
    """docs/model/ftl.md."""
    for utilisation, amplification in ((0.9035, 5.361), (0.8533, 3.594), (0.7228, 2.009)):
        assert _core.uniform_write_amplification(utilisation) == pytest.approx(amplification, rel=1e-3)


# The device.


def test_the_shipped_device_has_these_codes() -> None:
    found = Config.open("mlc-lae").bch_codes()
    assert [(each["codeword_bytes"], each["correctable"]) for each in found] == [
        (code.codeword_bytes, code.correctable) for code in (*SEGMENTS, *SQUEEZED)
    ]
    for each, code in zip(found, (*SEGMENTS, *SQUEEZED), strict=True):
        # The generator of t above 128 has some factors of a lower degree than m.
        assert 0 <= code.parity.codeword_bits - each["codeword_bits"] <= 64
        # Used up to where a unit is as reliable as asked for, by the real length of the code.
        assert each["to_pe_cycles"] == pytest.approx(lae_ftl.wear().pe_cycles(code.limit()), rel=1e-3)


def test_the_shipped_device_is_the_small_one() -> None:
    config = Config.open("mlc-lae")
    assert config.fields == config.with_overrides(list(SMALL.overrides())).fields
    large = config.with_overrides(list(LARGE.overrides()))
    assert config.user_bytes == pytest.approx(0.9e9, rel=2e-3)
    assert large.user_bytes == pytest.approx(16e9, rel=2e-3)
    geometry = large.fields.geometry
    assert geometry["channels"] * geometry["chips_per_channel"] * geometry["dies_per_chip"] == 16


@pytest.mark.parametrize("share", [None, 0.4])
def test_the_user_keeps_its_capacity_when_units_are_squeezed(share: float | None) -> None:
    whole = papers.configured("mlc-lae", [*SMALL.overrides(share), *squeezed(UNSQUEEZED, share).overrides])
    assert whole.user_bytes == pytest.approx(0.9e9, rel=0.01)
    for code in SQUEEZED:
        config = papers.configured("mlc-lae", [*SMALL.overrides(share), *squeezed(code, share).overrides])
        assert abs(config.user_bytes - whole.user_bytes) <= 4096


# Figures.


def tiny_plan(requests: int) -> Plan:
    """Footprints are as small as devices can be whose whole capacity they are."""
    stand_ins = (
        workloads.f1_stand_in(requests),
        workloads.f2_stand_in(requests, 384 * MIB),
        workloads.src_stand_in(requests, 768 * MIB),
        workloads.ts_stand_in(requests, 768 * MIB),
    )
    return Plan(False, (1,), tuple(workloads.placed(each) for each in stand_ins), 2000)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Small devices, few requests and few assumptions."""
    monkeypatch.setattr(devices, "SMALL", Device(2, 2, 450_000_000))
    monkeypatch.setattr(devices, "LARGE", Device(2, 4, 900_000_000))
    monkeypatch.setattr(parallel, "PER_DIE", (0.25, 1.0))
    monkeypatch.setattr(assumed, "DEPTHS", (4,))
    monkeypatch.setattr(region, "_SHARES", {False: (0.4,)})
    monkeypatch.setattr(region, "_MULTIPLIERS", {False: (16,)})
    monkeypatch.setattr(stages, "_PER_ERASE", {False: 50_000})
    monkeypatch.setattr(workloads, "_PASSES", {False: 0.01})
    monkeypatch.setattr(workloads, "_PASSES_OF_CLOSED_FORM", 0.01)
    few = {name: decoding.HARDWARE[name] for name in ("as assumed", "1 multiplier", "2,048 multipliers")}
    monkeypatch.setattr(decoding, "HARDWARE", few)
    monkeypatch.setattr(assumed, "HARDWARE", few)
    return tiny_plan(300)


@pytest.mark.parametrize(
    "stems", [("fig01", "fig03", "fig06a", "oob", "region"), pytest.param(None, marks=pytest.mark.law)]
)
def test_every_figure_of_lae_ftl_comes_out(tmp_path: Path, tiny: Plan, stems: tuple[str, ...] | None) -> None:
    """With 300 requests, so that only what cannot be wrong there is asserted; workloads differ in the rest."""
    paper = lae_ftl.PAPER
    figures = [figure for figure in paper.figures if stems is None or figure.stem in stems]
    result = papers.reproduce(paper, figures, tiny, Folder(tmp_path))
    claims = judged(tmp_path)
    assert list(claims) == [claim.id for claim in paper.claims if stems is None or claim.id in claims]
    assert NOT_MEASURED not in {claim["verdict"] for claim in claims.values()}
    assert {id_ for _, measured in result.figures for id_ in measured.evidence} == set(claims)
    for segment in lae_ftl.PUBLISHED["segment"]:
        assert claims[f"t_{segment['codeword_bytes']}"]["verdict"] == papers.HOLDS
    printed = {n["codeword_bytes"]: claims[f"n_{n['codeword_bytes']}"] for n in lae_ftl.PUBLISHED["segment"]}
    assert [printed[size]["verdict"] == papers.HOLDS for size in printed] == [False, True, True, True]
    assert printed[512]["measured"] == 4291
    for claim in {"decoding_grows", "reliability_grows", "lost_room", "life_grows"} & set(claims):
        assert claims[claim]["verdict"] == papers.HOLDS, claim
    for worst in {f"{overhead.stem}_3584" for overhead in workloads.OVERHEADS} & set(claims):
        assert len(claims[worst]["under"]) == 8
        assert claims[worst]["on_ours"]["measured"] == claims[worst]["under"]["all mapped"]["measured"]
    report = (tmp_path / "report.md").read_text()
    for figure in figures:
        assert (tmp_path / f"{figure.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{figure.stem}.csv" in report


def test_lone_reads_are_those_of_the_closed_form(tmp_path: Path, tiny: Plan) -> None:
    """40,000 reads: 2 % of a share near a half are four standard errors."""
    plan = replace(tiny, requests=40_000)
    papers.reproduce(lae_ftl.PAPER, lae_ftl.PAPER.chosen(["lone"]), plan, Folder(tmp_path))
    rows = pl.read_csv(tmp_path / "lone.csv").partition_by("group")
    assert len(rows) == len(EVERY)
    for code, both in zip(EVERY, rows, strict=True):
        says, took = both["value"]
        assert took == pytest.approx(says, rel=0.005), code.label
        crossing, senses = both["crossing"][1], both["senses"][1]
        assert crossing == pytest.approx(code.crossing, rel=0.02, abs=1e-9), code.label
        assert senses == pytest.approx(1 + crossing, rel=1e-9), code.label


def test_workloads_are_on_the_devices_of_the_paper() -> None:
    plan = lae_ftl.PAPER.plan(False)
    assert [workload.name for workload in plan.workloads] == list(lae_ftl.TRACES)
    without = papers.with_traces(plan, None)
    assert not without.left_out

    def channels(workload: Workload) -> int:
        config = papers.configured("mlc-lae", workload.overrides)
        return int(config.fields.geometry.channels)

    for each in (plan, without):
        assert [channels(workload) for workload in each.workloads] == [2, 2, 4, 4]


def test_only_the_footprint_is_mapped_on_the_machine_of_the_paper() -> None:
    plan = papers.with_traces(lae_ftl.PAPER.plan(False), None)
    machines = squeezing._machines(plan)
    for whole, part in zip(plan.workloads, machines["only the footprint mapped"].plan.workloads, strict=True):
        fields = papers.configured("mlc-lae", part.overrides).fields
        mapped = fields["precondition"]["mapped_fraction"]
        user_bytes = papers.configured("mlc-lae", whole.overrides).user_bytes
        assert mapped == pytest.approx(fields["workload"]["footprint_bytes"] / user_bytes, rel=1e-4)
        assert mapped < 0.65


def judged_by_check(machine: squeezing._Machine, at_uniform: squeezing._Machine) -> dict[str, str]:
    """Verdicts of our own checks on how much is collected."""
    every = [case for each in (machine, at_uniform) for case in cases(each.plan, *each.arms)]
    simulations = running._Simulations("mlc-lae", every, machine.plan, None, 1, None)
    evidence = squeezing._of_collection(machine, at_uniform, simulations)
    simulations.close()
    return {claim.id: papers.verdict(claim, evidence[claim.id]) for claim in squeezing._ON_COLLECTION}


def some(machine: squeezing._Machine, *names: str) -> squeezing._Machine:
    """The same with one seed, and these workloads alone."""
    chosen = tuple(workload for workload in machine.plan.workloads if workload.name in names)
    return replace(machine, plan=replace(machine.plan, seeds=(1,), workloads=chosen))


def test_a_machine_that_collects_does_in_every_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick plan with one seed and half of its passes, on which shares of collection hardly depend."""
    plan = papers.with_traces(lae_ftl.PAPER.plan(False), None)
    at_uniform = some(squeezing._at_uniform_addresses(plan), "F2")
    monkeypatch.setattr(workloads, "_PASSES", {False: 0.05})
    machine = some(squeezing._machines(plan)["a machine that collects"], *lae_ftl.TRACES)
    assert [workload.name for workload in machine.plan.workloads] == list(lae_ftl.TRACES)
    for workload in machine.plan.workloads:
        config = papers.configured("mlc-lae", workload.overrides)
        fields = config.fields
        assert fields["workload"]["footprint_bytes"] == config.user_bytes
        assert fields["precondition"]["mapped_fraction"] == 1.0
    assert judged_by_check(machine, at_uniform) == dict.fromkeys(["collects", "uniform_amplification"], papers.HOLDS)


def test_a_machine_that_hardly_collects_fails_the_check() -> None:
    """MSR-ts on its footprint alone, of which collection moves nothing."""
    plan = workloads.fewer(papers.with_traces(lae_ftl.PAPER.plan(False), None), 2000)
    machine = some(squeezing._machines(plan)["only the footprint mapped"], "MSR-ts")
    assert judged_by_check(machine, machine)["collects"] == papers.NOT


def test_where_closed_forms_are_compatible_with_what_was_published() -> None:
    """At both ends of a region write amplification grows by an end of the published range."""
    for code, (low, high) in zip(SQUEEZED, workloads.OVERHEADS[0].ranges, strict=True):
        least, most = region._compatible(code, low, high)
        assert region._growth(least, code) == pytest.approx(high, rel=1e-3)
        assert most == pytest.approx(0.999) or region._growth(most, code) == pytest.approx(low, rel=1e-3)


def test_the_f1_stand_in_is_like_the_excerpt(shared: Path, tmp_path: Path) -> None:
    """Shares of reads and of units, and the rate."""
    real = lae_ftl.PAPER.plan(False).workloads[0]
    assert real.file is not None
    stand_in = workloads.f1_stand_in(50_000)
    found = []
    for workload in (real, replace(stand_in, overrides=(*stand_in.overrides, *SMALL.overrides()))):
        plan = Plan(False, (1,), (workload,), 1)
        case = papers.Case(workload, "progressive:restart")
        simulations = running._Simulations("mlc-lae", [case], plan, shared / "traces", 1, None)
        found.append(simulations[case])
        simulations.close()
    for key in ("requests", "reads", "simulated_s"):
        assert found[1][key] == pytest.approx(found[0][key], rel=0.02)
    units_read = [each["codeword_reads"]["count"] + each["codeword_reads"]["from_controller"] for each in found]
    assert units_read[1] == pytest.approx(units_read[0], rel=0.1)
