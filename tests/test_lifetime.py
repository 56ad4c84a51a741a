"""Is lifetime capacity what endurance, user share and write amplification make it, and are these right?"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from conftest import Softsense, carried_on
from softsense import Config, ConfigError, TableError, decode_tables, tables
from softsense._core import DecodeTable
from softsense.base import inline
from softsense.codes import failure_probability, raw_bit_error_rate
from softsense.lifetime import ADAPTIVE, Demand, draw, lifetime, write_amplification

SCALE, EXPONENT = 4.4e-4, 1.57
WEAR = [
    "reliability.table.file=adaptive-1-2",
    f"reliability.table.rber={{ power_law = {{ scale = {SCALE}, pe_exponent = {EXPONENT} }} }}",
    "read.max_level=1",
    "ftl.mapping=page",
]
TABLES = ["adaptive-3-4", "adaptive-1-4", "adaptive-1-2"]


@pytest.fixture(scope="module")
def worn() -> Config:
    return Config.open("mlc-laldpc", WEAR)


def victim_fraction(utilisation: float) -> float:
    """The root below 1 of u = (delta - 1) / ln delta (Desnoyers 2014): greedy collection of large blocks."""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        delta = (low + high) / 2
        low, high = (delta, high) if (delta - 1) / math.log(delta) < utilisation else (low, delta)
    return low


@pytest.mark.parametrize("utilisation", [0.7, 0.85])
def test_write_amplification_is_that_of_uniform_overwriting(worn: Config, utilisation: float) -> None:
    """1 / (1 - delta) holds for endless blocks; finite ones do up to 5 % better."""
    closed_form = 1 / (1 - victim_fraction(utilisation))
    assert 0.93 * closed_form < write_amplification(worn, utilisation) < 1.02 * closed_form


def test_pages_of_several_codewords_are_written_whole() -> None:
    """Four codewords a page, written one by one, amplify like one a page; each alone would fill a quarter."""
    config = Config.open("tlc-femu")
    assert write_amplification(config, 0.7) < 2.4


def test_endurance_is_where_the_table_says(worn: Config) -> None:
    """By the power law alone: one cycle less meets the demand, one more does not."""
    found = lifetime(worn, ["adaptive-1-2"], utilisations=[0.7])
    (code,) = found.codes
    bits = 32_768

    def uber(pe_cycles: int) -> float:
        rber = SCALE * (pe_cycles / 1000) ** EXPONENT
        return float(worn.p_fail(np.array([rber]), 1)[0, 0]) / bits

    assert uber(code.endurance_pe) <= 1e-14 < uber(code.endurance_pe + 1)
    assert code.uber == pytest.approx(uber(code.endurance_pe), rel=1e-9)
    assert code.user_share == bits / 65_536
    row = found.frame.row(0, named=True)
    expected = code.endurance_pe * code.user_share / found.write_amplification[0.7]
    assert row["lifetime_capacity"] == pytest.approx(expected)


def test_soft_levels_fail_as_often_as_simulations_have_it() -> None:
    """Is the device's own depth what counts, and are soft levels looked up by what a page's cells tell?"""
    config = Config.open("mlc-25nm", ["reliability.table.file=flash-8-9", "read.max_level=7"])
    hard, three, deepest = (lifetime(config, utilisations=[0.7], demand=Demand(level=n)).codes[0] for n in (1, 3, None))
    assert (hard.level, three.level, deepest.level) == (1, 3, 7)
    assert hard.endurance_pe < three.endurance_pe < deepest.endurance_pe
    # As many blocks as a lifetime takes, so that the same codewords are sampled.
    start = ["geometry.blocks_per_plane=267", "geometry.pages_per_block=32", "precondition.layout=sequential"]
    worn = config.with_overrides(
        [*start, "read.soft_references=cells", f"precondition.pe_cycles={deepest.endurance_pe}"]
    )
    assert deepest.uber == pytest.approx(worn.sample_codewords(4096)["p_fail"].mean() / 32_768, rel=1e-9)


def test_an_endurance_that_rests_on_upper_bounds_is_said_to_be_a_bound(tmp_path: Path) -> None:
    """A table that was measured down to 1e-6 above level 1 carries that on."""
    for table, bound in (("flash-8-9", False), (carried_on("flash-8-9-nested", 1e-7, tmp_path / "short.toml"), True)):
        found = lifetime(Config.open("mlc-25nm"), [table], utilisations=[0.7])
        assert (found.codes[0].not_measured > 0.99) == bound
        assert (f"{table}: its endurance is a lower bound, as 100 %" in tables.lifetime(found)) == bound


def test_a_table_that_does_not_reach_gives_no_endurance(worn: Config, tmp_path: Path) -> None:
    """One whose lowest rate still fails too often for the demand: whether fresher flash meets it would be a guess."""
    (tmp_path / "narrow.toml").write_text(
        'format = "softsense decode table, version 1"\nname = "n"\ncode = "adaptive-1/2: as it is"\ndecoder = "d"\n'
        'source = "made up"\ninterpolation = "log"\nrber = [0.05, 0.06]\n[[level]]\np_fail = [1e-6, 1.0]\n'
    )
    table = str(tmp_path / "narrow.toml")
    with pytest.raises(ConfigError, match=r"found a share of 1 of the codewords outside .* expected at most 0\.01"):
        lifetime(worn, [table], utilisations=[0.7])
    assert lifetime(worn, [table], demand=Demand(uber=1e-9), utilisations=[0.7]).codes[0].endurance_pe > 0


def test_bch_codes_by_age_follow_one_another() -> None:
    """Are the ages in the shipped config those that flash and error target make, and is what codes leave for data?"""
    config = Config.open("mlc-lae")
    found = lifetime(config, demand=Demand(uber=1e-15))
    assert found.rates(config, 4096) == f"reliability.bch.codes={inline(found.to_dict()['rates'])}"
    shipped = config.fields.reliability.bch.codes
    assert found.to_dict()["rates"] == shipped
    again = config.with_overrides([found.rates(config, 4096)])
    assert again.sha256 == config.sha256
    for life, code in zip(found.codes, config.bch_codes(), strict=True):
        assert life.table == f"{code['codeword_bytes']}B-t{code['correctable']}"
        assert life.user_share == pytest.approx((4096 - code["squeezed_bytes"]) / 4320)
        rber = raw_bit_error_rate(code["codeword_bits"], code["correctable"], 1e-15 * life.data_bits)
        assert life.rber == pytest.approx(rber, rel=2e-3)
    with pytest.raises(ConfigError, match=r"tables: found flash-8-9 together with `reliability\.bch`"):
        lifetime(config, ["flash-8-9"])
    aged = config.with_overrides(["precondition.ssds=[{ pe_cycles = 1, retention_days = 0.0 }]"])
    with pytest.raises(ConfigError, match=r"precondition\.ssds: found ages of 1 SSDs, expected an empty list"):
        lifetime(aged)


def test_any_bch_code_has_a_table() -> None:
    """Is a computed table the binomial tail, and the shipped one of the same code?"""
    rber = np.geomspace(1.1e-4, 6e-3, 60)
    computed = DecodeTable("bch:m=13,t=15,k=4096").p_fail(rber)[0]
    tail = [failure_probability(4291, 15, rate) for rate in rber]
    assert computed == pytest.approx(tail, rel=1e-3)
    shipped = DecodeTable("bch-512B-t15").p_fail(rber)[0]
    # Its grid is coarse.
    assert computed[10:] == pytest.approx(shipped[10:], rel=0.5)
    with pytest.raises(TableError, match="bch:m=13: found `m=13`, expected m, t and k"):
        decode_tables.describe("bch:m=13")


def test_codes_follow_one_another(worn: Config) -> None:
    found = lifetime(worn, TABLES, utilisations=[0.7, 0.8])
    assert [code.table for code in found.codes] == ["adaptive-3-4", "adaptive-1-2", "adaptive-1-4"]
    ends = [code.endurance_pe for code in found.codes]
    assert ends == sorted(ends)
    assert [(stage.from_pe, stage.to_pe) for stage in found.stages] == list(zip([0, *ends], ends, strict=False))
    parts = [(end - start) * code.user_share for start, end, code in zip([0, *ends], ends, found.codes, strict=False)]
    rows = {(row["scheme"], row["utilisation"]): row for row in found.frame.to_dicts()}
    for share in (0.7, 0.8):
        adaptive = rows[ADAPTIVE, share]["lifetime_capacity"]
        assert adaptive == pytest.approx(sum(parts) / found.write_amplification[share])
        assert all(adaptive > rows[table, share]["lifetime_capacity"] for table in TABLES)
    assert draw(found).get_axes()


def test_a_code_that_never_lasts_longest_has_no_stage(worn: Config) -> None:
    """A bound on iterations wears codes out earlier; one that a code with more data outlives is passed over."""
    free = lifetime(worn, ["adaptive-1-2"], utilisations=[0.7]).codes[0]
    assert free.mean_iterations is not None
    bounded = lifetime(worn, ["adaptive-1-2"], utilisations=[0.7], demand=Demand(mean_iterations=7.0)).codes[0]
    assert bounded.endurance_pe < free.endurance_pe
    assert bounded.mean_iterations == pytest.approx(7.0, abs=0.01)
    impossible = lifetime(worn, TABLES, utilisations=[0.7], demand=Demand(uber=0.0, mean_iterations=0.5))
    assert not impossible.stages
    assert set(impossible.frame["lifetime_capacity"]) == {0.0}


def test_stages_are_the_rates_of_a_config(worn: Config) -> None:
    """A device with one codeword to a page, which the last stage leaves four blocks of 512 bytes."""
    found = lifetime(worn, TABLES, utilisations=[0.7])
    page = ["geometry.codeword_bytes=512", "geometry.codewords_per_page=12", "geometry.blocks_per_plane=64"]
    rates = found.rates(worn, unit_bytes=512)
    data = []
    for stage in found.stages:
        for pe_cycles in (stage.from_pe + 1, stage.to_pe):
            device = worn.with_overrides(
                [*page, rates, f"precondition.pe_cycles={pe_cycles}", "ftl.over_provisioning=0.3"]
            )
            data.append(device.user_bytes)
    assert [round(12 * each / data[0]) for each in data] == [12, 12, 8, 8, 4, 4]
    assert [rate["units"] for rate in found.to_dict()["rates"]] == [12, 8, 4]


def test_bad_questions_are_named(worn: Config) -> None:
    rate = "reliability.table.rber={ constant = { rber = 0.0034 } }"
    constant = Config.open("mlc-25nm", [rate, "reliability.table.file=flash-8-9"])
    for config, options, message in (
        (worn, {"tables": ["adaptive-1-2", "adaptive-1-2"]}, "expected each table once"),
        (worn, {"utilisations": [1.0]}, "utilisation: found 1, expected a share"),
        (worn, {"utilisations": [0.9999]}, "utilisation 0.9999: --set ftl.over_provisioning"),
        (worn, {"tables": ["laldpc-thresholds"]}, "expected one of a code of softsense"),
        (worn, {"demand": Demand(level=2)}, "level: found 2, expected 1 to 1, the levels of adaptive-1-2"),
        (constant, {"demand": Demand(level=3)}, "expected rates that grow with wear"),
        (constant.with_overrides(["reliability=perfect"]), {}, "reliability: found no decode table"),
    ):
        with pytest.raises(ConfigError, match=message):
            lifetime(config, **options)


def test_the_command_prints_draws_and_is_json(softsense_command: Softsense, tmp_path: Path) -> None:
    options = [word for field in WEAR for word in ("--set", field)]
    command = ["lifetime", "mlc-laldpc", *options, "--tables", "adaptive-3-4,adaptive-1-2", "--utilisation", "0.7"]
    told = softsense_command(*command, "--picture", "life.png")
    assert told.returncode == 0
    assert "Lifetime capacity" in told.stdout
    assert (tmp_path / "life.png").read_bytes().startswith(b"\x89PNG")
    document = json.loads(softsense_command(*command, "--json").stdout)
    assert [stage["table"] for stage in document["stages"]] == ["adaptive-3-4", "adaptive-1-2"]
    assert {row["scheme"] for row in document["schemes"]} == {"adaptive-3-4", "adaptive-1-2", ADAPTIVE}
    bad = softsense_command(*command[:2], "--utilisation", "much")
    assert (bad.returncode, bad.stderr.startswith("error: --utilisation: found much")) == (2, True)
