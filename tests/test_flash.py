"""Are flash cells seen from Python what the Rust core says, and do its commands answer in one line or one document?"""

import json
import math
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import softsense
from conftest import Softsense, carried_on
from softsense import Cells, ConfigError, flash, inference, measured_cells, plots, retry_tables, tables
from softsense.papers import ldpc_in_ssd

YEAR_HOURS = 365 * 24.0


def test_densities_add_up_to_distributions() -> None:
    volts = np.linspace(-5.0, 8.0, 30_001)
    for name in Cells.names():
        cells = Cells.open(name, 3000, YEAR_HOURS)
        for state in range(cells.states):
            below = np.concatenate([[0.0], np.cumsum(cells.density(state, volts)[1:] * np.diff(volts))])
            assert np.abs(below - cells.cdf(state, volts)).max() < 2e-3


def test_regions_are_read_as_often_as_sampled_cells_fall_into_them() -> None:
    """20,000 cells of each state: a share's standard error is at most 0.0025; the bound is five of them."""
    cells = Cells.open("mlc", 10_000, YEAR_HOURS)
    volts = [cells.sample(state, 20_000, seed=3) for state in range(cells.states)]
    for page in range(len(cells.pages)):
        read = cells.sense(page, 3)
        assert (read["sensings"], len(read["llrs"])) == (3 * (page + 1), 3 * (page + 1) + 1)
        assert read["probabilities"].sum(axis=0) == pytest.approx([1.0, 1.0])
        for bit in (0, 1):
            holding = [volts[state] for state in range(cells.states) if cells.bit(page, state) == bool(bit)]
            regions = np.searchsorted(read["references"], np.concatenate(holding))
            shares = np.bincount(regions, minlength=len(read["llrs"])) / len(regions)
            assert np.abs(shares - read["probabilities"][:, bit]).max() < 0.0125


def test_llrs_made_for_another_age_cost_information() -> None:
    cells = Cells.open("mlc", 10_000, YEAR_HOURS)
    own, fresh = cells.sense(0, 3), cells.sense(0, 3, assumed=cells.at(10_000, 0.0))
    assert fresh["information"] < own["information"] - 0.1
    assert not np.allclose(own["references"], fresh["references"])


def test_what_is_wrong_is_named() -> None:
    cells = Cells.open("mlc")
    for wrong, expected in [
        (lambda: Cells.open("qlc"), "qlc: No such file"),
        (lambda: Cells.open("mlc", 1, -1.0), "retention_hours: found -1"),
        (lambda: cells.rber(2), "page: found 2, expected 0 to 1"),
        (lambda: cells.sense(0, 8), "level: found 8, expected 1 to 7"),
        (lambda: cells.sense(0, 2, placement="best"), "placement: found `best`"),
        (lambda: cells.sense(0, 2, assumed=Cells.open("tlc-2-3-2")), "assumed: found cells of 8 states, expected 4"),
        (lambda: flash.page_number(cells, "top"), "page: found `top`, expected lower, upper, or 0 to 1"),
    ]:
        with pytest.raises(ConfigError) as raised:
            wrong()
        assert str(raised.value).startswith(expected)


def test_show_prints_what_describe_says(tmp_path: Path, softsense_command: Softsense) -> None:
    picture = tmp_path / "upper.png"
    age = ["--pe-cycles", "10000", "--retention-days", "365", "--level", "3"]
    shown = softsense_command("flash", "show", "mlc", *age, "--page", "upper", "--picture", picture)
    assert shown.returncode == 0, shown.stderr
    assert "0.00643" in shown.stdout
    assert picture.stat().st_size > 10_000
    told = softsense_command("flash", "show", "mlc", *age, "--json")
    assert json.loads(told.stdout) == flash.describe(Cells.open("mlc", 10_000, YEAR_HOURS), 3)
    refused = softsense_command("flash", "show", "mlc", "--page", "top", "--picture", picture)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == "error: page: found `top`, expected lower, upper, or 0 to 1\n"


def test_baking_is_that_of_ldpc_in_ssd(softsense_command: Softsense) -> None:
    """Eq. 5 gives 11.5 minutes at 40 degrees and not at the printed 25; eq. 6 gives 39.1."""
    for cycling_c, minutes in (("40", 11.5), ("25", 1.5)):
        times = json.loads(softsense_command("flash", "bake", "--cycling-c", cycling_c, "--json").stdout)
        assert times["recovery_bake_minutes"] == pytest.approx(minutes, abs=0.05)
        assert times["retention_bake_minutes"] == pytest.approx(39.1, abs=0.05)
    assert softsense_command("flash", "bake", "--bake-c", "-300").returncode == 2


def test_pages_can_be_drawn() -> None:
    for number, name in enumerate(Cells.names()):
        cells = Cells.open(name, 0, 0.0)
        assert plots.draw_cells(cells, number % len(cells.pages), 2, "nested").axes


def test_the_tutorial_prints_what_it_shows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every block of Python in the tutorial, in order, in one namespace, and the text that follows it."""
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[1] / "docs" / "one-page-from-program-to-decode.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)\n```(?:\n\n```text\n(.*?)\n```)?", text, re.DOTALL)
    assert sum(bool(shown) for _, shown in blocks) > 3
    names: dict[str, object] = {"softsense": softsense}
    for block, shown in blocks:
        exec(compile(block, "tutorial", "exec"), names)
        printed = capsys.readouterr().out.rstrip("\n")
        assert not shown or printed == shown


def test_the_shipped_chips_are_calibrated(config: Path) -> None:
    """LDPC-in-SSD's mean hard-decision failure over its four chips, and how it was come by: with cells that grow old,
    as the config has them, and with all data at the rate of its age, as the reproduction has it.
    """
    shipped = softsense.load_config(config)
    stated = ldpc_in_ssd.published.at_stated_age()
    start = shipped.fields.precondition
    cells = Cells.open("mlc", start["pe_cycles"], start["retention_days"] * 24)
    rber = stated.fields.reliability.table.rber
    assert rber["constant"]["rber"] == pytest.approx(cells.rber(), abs=5e-7)
    quantiles = [NormalDist().inv_cdf((chip - 0.5) / 4) for chip in (1, 3, 2, 4)]
    ratios = [math.exp(0.2 * (z - quantiles[0])) for z in quantiles]
    for loaded in (shipped, stated):
        chosen = loaded.fields.reliability.table.variation.chip_factors
        assert [factor / chosen[0] for factor in chosen] == pytest.approx(ratios, rel=1e-4)
        assert flash.calibrate(loaded, 0.288) == pytest.approx(chosen, abs=1.5e-4)
        chips = flash.chip_failures(loaded)
        assert sum(chip["p_fail"] for chip in chips) / 4 == pytest.approx(0.288, abs=5e-4)


def test_calibration_meets_any_probability(config: Path) -> None:
    """With page types that differ, at a deeper level, from other factors: the mean over sampled codewords is met."""
    pages = [
        {"name": "lower", "sense_us": 41.0, "sense_extra_level_us": 14.0, "program_us": 121.0, "rber_factor": 0.5},
        {"name": "upper", "sense_us": 55.0, "sense_extra_level_us": 14.0, "program_us": 1450.0, "rber_factor": 1.5},
    ]
    inline = ", ".join("{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in p.items()) + "}" for p in pages)
    small = ["geometry.blocks_per_plane=64", f"flash.page_types=[{inline}]"]
    loaded = softsense.load_config(config, [*small, "reliability.table.variation.chip_factors=[1.0, 5.0]"])
    for level, p_fail in ((1, 0.9), (3, 0.1)):
        factors = flash.calibrate(loaded, p_fail, level)
        assert factors[1] / factors[0] == pytest.approx(5, rel=1e-3)
        scaled = loaded.with_overrides([f"reliability.table.variation.chip_factors={factors}"])
        sample = scaled.sample_codewords(65_536)
        assert scaled.p_fail(sample["rber"])[level - 1].mean() == pytest.approx(p_fail, abs=2e-3)
        assert {"chip", "block", "page_type", "rber", "p_fail_hard", "p_fail", "p_uncorrectable", "mean_steps"} == set(
            sample
        )


@pytest.mark.parametrize(
    ("overrides", "p_fail", "level", "message"),
    [
        ([], 1.5, 1, "p_fail: found 1.5, expected a probability above 0 and below 1"),
        ([], 0.3, 8, "level: found 8, expected 1 to 7"),
        (
            ["reliability=perfect"],
            0.3,
            1,
            "reliability: found a reliability without a decode table, expected `reliability.table`",
        ),
        (["reliability.table.variation.chip_factors=[]"], 0.3, 1, "chip_factors: found no factors"),
        (
            ["reliability.table.variation.overdispersion=0.001"],
            0.3,
            1,
            "overdispersion: found overdispersion, expected 0",
        ),
    ],
)
def test_what_cannot_be_calibrated_is_named(
    config: Path, overrides: list[str], p_fail: float, level: int, message: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        flash.calibrate(softsense.load_config(config, overrides), p_fail, level)


def test_chips_that_are_not_known_are_named(config: Path) -> None:
    for overrides, message in (
        (["reliability=perfect"], "reliability: found a reliability without a decode table"),
        (["reliability.table.variation.chip_factors=[]"], "chip_factors: found no factors"),
    ):
        with pytest.raises(ConfigError, match=re.escape(message)):
            flash.chip_failures(softsense.load_config(config, overrides))


def test_calibrate_prints_factors_and_chips(softsense_command: Softsense, config: Path) -> None:
    small = ["--set", "geometry.blocks_per_plane=64"]
    printed = softsense_command("flash", "calibrate", config, "--p-fail", "0.1", *small)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.startswith("chip_factors = [")
    assert printed.stdout.splitlines()[-1].split()[-1] == "0.100"
    as_json = json.loads(softsense_command("flash", "calibrate", config, "--p-fail", "0.1", *small, "--json").stdout)
    assert len(as_json["chip_factors"]) == len(as_json["chips"]) == 4


def _rows(name: str, ages: list[tuple[int, float]], *, unit_v: float) -> str:
    """A file of measurements that are those of a model, exactly."""
    lines = ["pe_cycles,retention_days,state,mean,sigma"]
    for pe_cycles, days in ages:
        values = Cells.open(name, pe_cycles, days * 24).means_and_spreads() / unit_v
        lines += [f"{pe_cycles},{days},{state},{mean},{sigma}" for state, (mean, sigma) in enumerate(values.tolist())]
    return "\n".join(lines) + "\n"


def test_a_fit_is_a_file_of_cells(tmp_path: Path, softsense_command: Softsense) -> None:
    """What is measured of cells is what the fit to it says, after rounding to four digits, in millivolts, too."""
    ages = [(2000, 1.0), (2000, 10.0), (2000, 60.0), (2000, 150.0), (2000, 365.0), (500, 1.0)]
    (tmp_path / "mine.csv").write_text(_rows("tlc-measured", ages, unit_v=0.001))
    done = softsense_command(
        *("flash", "fit", "mine.csv", "--mapping", "tlc_2_3_2", "--unit-v", "0.001", "--out", "mine.toml")
    )
    assert done.returncode == 0, done.stderr
    for pe_cycles, days in [(1000, 30.0), (3000, 365.0)]:
        found = Cells.open(str(tmp_path / "mine.toml"), pe_cycles, days * 24)
        expected = Cells.open("tlc-measured", pe_cycles, days * 24)
        assert found.rber() == pytest.approx(expected.rber(), rel=0.02)
        assert found.means_and_spreads() == pytest.approx(expected.means_and_spreads(), abs=2e-3)
    rows = measured_cells.fit(tmp_path / "mine.csv", "tlc_2_3_2", unit_v=0.001).rows
    assert max(abs(row["mean_off"]) for row in rows) < 1
    assert all(row["left_out_mean_off"] is not None for row in rows)


def test_a_fit_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    head = ",".join(measured_cells.COLUMNS)
    for text, expected in [
        ("a,b\n", r"m\.csv:1: found the columns `a,b`"),
        (f"{head}\n1,1,0,1\n", r"m\.csv:2: found 4 columns, expected 5"),
        (f"{head}\n1,1,0,1,1\n1,1,0,2,1\n", r"m\.csv:3: found state 0 of this age a second time"),
        (f"{head}\n1,1,0,1,1\n1,1,2,2,1\n", r"m\.csv: found states \[0, 2\] at 1 P/E cycles and 1 days"),
        (f"{head}\n1,1,0,1,\n1,1,1,2,1\n", r"m\.csv: found spreads of some states"),
        (f"{head}\n1,1,0,nan,1\n", r"m\.csv:2: mean: found `nan`, expected a number from -1e\+06"),
        (f"{head}\n1,1,0.5,1,1\n", r"m\.csv:2: state: found `0.5`, expected a whole number from 0 to 15"),
        (f"{head}\n", r"m\.csv: found no measurements"),
        (_rows("mlc", [(1000, 1.0)], unit_v=1.0), r"m\.csv: measurements: found means after 1 retention times"),
        (
            _rows("tlc-2-3-2", [(9, 1.0), (9, 9.0)], unit_v=1.0),
            r"m\.csv: mapping: found measurements of 8 states",
        ),
    ]:
        (tmp_path / "m.csv").write_text(text)
        with pytest.raises(ConfigError, match=expected):
            measured_cells.fit(tmp_path / "m.csv", "mlc")
    with pytest.raises(ConfigError, match="mapping: found `plc`, expected one of"):
        measured_cells.fit(tmp_path / "m.csv", "plc")


def test_the_measured_tlc_is_near_the_published_tables(shared: Path, tmp_path: Path) -> None:
    """Tables 4 and 5 of Cai et al., whose unit is a 512th of the largest voltage: means of the seven programmed states,
    with spreads of 9 to 13 units, are met within 0.6 and spreads within 0.3; any one age of retention is predicted by
    the others within 1.1 and 0.5. The erased state, 46 to 48 wide: within 1.5 and 0.7, predicted within 2.8 and 1.3.
    """
    published = tomllib.loads((shared / "published" / "tlc_voltages.toml").read_text())
    lines = [",".join(measured_cells.COLUMNS)]
    for age in published["retention"]:
        values = zip(age["mean"], age["sigma"], strict=True)
        lines += [f"2000,{age['days']},{state},{mean},{sigma}" for state, (mean, sigma) in enumerate(values)]
    for age in published["wear"]:
        lines += [f"{age['pe_cycles']},1,{state},{mean}," for state, mean in enumerate(age["mean"])]
    (tmp_path / "tlc.csv").write_text("\n".join(lines))
    fitted = measured_cells.fit(tmp_path / "tlc.csv", "tlc_2_3_2", unit_v=0.0125)

    def worst(column: str, erased: bool) -> float:
        of_retention = [row for row in fitted.rows if row["pe_cycles"] == 2000 and (row["state"] == 0) == erased]
        return max(abs(row[column]) for row in of_retention)

    assert worst("mean_off", False) < 0.6
    assert worst("sigma_off", False) < 0.3
    assert worst("left_out_mean_off", False) < 1.1
    assert worst("left_out_sigma_off", False) < 0.5
    assert worst("mean_off", True) < 1.5
    assert worst("sigma_off", True) < 0.7
    assert worst("left_out_mean_off", True) < 2.8
    assert worst("left_out_sigma_off", True) < 1.3
    # What is shipped is this fit, rounded.
    (tmp_path / "tlc.toml").write_text(fitted.toml)
    for pe_cycles, hours in [(0, 0.0), (1000, 5.0), (3000, YEAR_HOURS)]:
        shipped, found = (Cells.open(each, pe_cycles, hours) for each in ("tlc-measured", str(tmp_path / "tlc.toml")))
        assert shipped.means_and_spreads() == pytest.approx(found.means_and_spreads(), abs=1e-3)


def test_cells_named_in_a_config_are_those_of_the_file(tmp_path: Path) -> None:
    """A config finds its cells beside it, its start has their raw bit error rates, and its hash goes with them."""
    small = ["geometry.blocks_per_plane=160", "geometry.pages_per_block=48", "workload.footprint_bytes=67108864"]
    age = ["precondition.pe_cycles=2000", "precondition.retention_days=90"]
    base = softsense.Config.open("tlc-femu", [*small, *age, "reliability.table.variation={}", "read.references=cells"])
    (tmp_path / "own.toml").write_text(base.to_toml().replace('"tlc-charge-trap"', '"mine.toml"'))
    (tmp_path / "mine.toml").write_text(Cells.open("tlc-measured").toml(6))
    own = softsense.Config.open(str(tmp_path / "own.toml"))
    rows = flash.starting_reliability(own)
    cells = Cells.open("tlc-measured", 2000, 90 * 24.0)
    assert [row["page_type"] for row in rows] == [*cells.pages, "all"]
    for page, row in enumerate(rows[:-1]):
        assert row["rber"] == pytest.approx(cells.rber(page), rel=0.005)
        assert row["p_fail_hard"] == pytest.approx(own.p_fail(np.array([row["rber"]]), 1)[0, 0], rel=0.1)
    assert rows[-1]["rber"] == pytest.approx(cells.rber(), rel=0.005)
    before = own.sha256
    (tmp_path / "mine.toml").write_text(Cells.open("tlc-2-3-2").toml(6))
    assert softsense.Config.open(str(tmp_path / "own.toml")).sha256 != before
    with pytest.raises(ConfigError, match=r"reliability\.table\.rber\.threshold_voltage: .*nowhere\.toml"):
        own.with_overrides(["reliability.table.rber.threshold_voltage=nowhere.toml"])


def test_a_config_is_judged_over_its_life(tmp_path: Path, softsense_command: Softsense) -> None:
    """The enterprise drive meets JESD218 at its rated cycles; a fifth beyond, two thirds of its kind do not."""
    config = softsense.Config.open("tlc-enterprise")
    start = config.fields.precondition
    rated = start["pe_cycles"]
    # Three months at 40 C, at 1.04 eV, where the cells rest.
    days = start["retention_days"]
    assert json.loads(config.cells().spec_json)["measured"]["retention_temperature_c"] == 30
    assert days == pytest.approx(90 * math.exp(1.04 / 8.617e-5 * (1 / 303.15 - 1 / 313.15)), rel=0.01)
    drives = [config.with_overrides([f"seed={seed}"]) for seed in range(1, 7)]
    ages = [flash.reliability_by_age(drive, [1000, rated, rated * 12 // 10], [days]) for drive in drives]
    # One bad block decides: drives of the same kind differ by orders of magnitude.
    young, end, beyond = (sorted(rows[at]["uber"] for rows in ages) for at in range(3))
    assert max(young) < min(end)
    assert end[5] <= 1e-16
    assert beyond[1] <= 1e-16 < beyond[2]
    young, end, beyond = ages[0]
    assert young["retries"] < 4
    assert 6 < end["retries"] < 8
    # What a run finds is what was told: retries by simulation, of reads that follow one another.
    reading = ["workload.requests=20_000", "workload.read_fraction=1.0", "workload.addresses='uniform'"]
    reading.append("read.remembered=nothing")
    reads = softsense.run(config, overrides=reading).summary["codeword_reads"]
    assert reads["attempts"] / reads["count"] - 1 == pytest.approx(end["retries"], rel=0.04)
    command = ("config", "ages", "tlc-femu", "--pe-cycles", "1000,3000", "--retention-days", "90")
    shown = softsense_command(*command, "--picture", "ages.png")
    assert shown.returncode == 0, shown.stderr
    assert (tmp_path / "ages.png").stat().st_size > 10_000
    rows = json.loads(softsense_command(*command, "--json").stdout)
    assert [row["pe_cycles"] for row in rows] == [1000, 3000]
    with pytest.raises(ConfigError, match="raw bit error rates"):
        flash.reliability_by_age(
            config.with_overrides(["reliability='perfect'", "read.references='cells'"]), [0], [0.0]
        )


def test_a_grid_of_rates_drives_a_config(tmp_path: Path, softsense_command: Softsense) -> None:
    """Rates from a CSV file are met at their ages, and a start beyond them is refused."""
    ages = [(cycles, days) for days in (30.0, 0.0, 365.0) for cycles in (3000, 0, 1000)]
    rate = {age: 1e-5 * (1 + age[0] / 10) * (1 + age[1] / 30) for age in ages}
    lines = "".join(f"{cycles},{days},{rate[cycles, days]}\n" for cycles, days in ages)
    (tmp_path / "rates.csv").write_text("pe_cycles,retention_days,rber\n" + lines)
    shown = softsense_command("flash", "grid", "rates.csv")
    assert shown.returncode == 0, shown.stderr
    grid = shown.stdout.replace("[grid]", "[reliability.table.rber.grid]")
    own = '[reliability.table]\nfile = "flash-8-9"\n[precondition]\npe_cycles = 1000\n'
    (tmp_path / "own.toml").write_text(own + grid)
    config = softsense.Config.open(str(tmp_path / "own.toml"))
    for row in flash.reliability_by_age(config, [0, 1000, 3000], [0.0, 30.0, 365.0]):
        assert row["rber"] == pytest.approx(rate[row["pe_cycles"], row["retention_days"]], rel=1e-4)
    assert softsense.run(config, overrides=["workload.requests=1000"]).summary["requests"] == 1000
    for override, message in (
        ("precondition.pe_cycles=3001", "precondition: found a start after 3001 P/E cycles, expected 0 to 3000"),
        ("precondition.retention_days=366.0", "precondition: found a start after 366 days, expected 0 to 365"),
        ("reliability.table.rber.grid.pe_cycles=[0, 1000, 1000]", r"pe_cycles\[2\]: found 1000 after 1000"),
    ):
        with pytest.raises(ConfigError, match=message):
            config.with_overrides([override])
    for text, message in (
        (lines + "0,0.0,1e-5\n", "rates.csv:11: found 0 P/E cycles and 0 days a second time"),
        (lines.replace("0,30.0", "0,31.0", 1), "expected a full grid"),
        (lines + "7,0.0,0.6\n", "rates.csv:11: rber: found `0.6`, expected a number from 0 to 0.5"),
    ):
        (tmp_path / "rates.csv").write_text("pe_cycles,retention_days,rber\n" + text)
        refused = softsense_command("flash", "grid", "rates.csv", "--out", "grid.toml")
        assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr
        assert not (tmp_path / "grid.toml").exists()


def test_rates_that_a_table_did_not_measure_are_upper_bounds(tmp_path: Path) -> None:
    """Above level 1 a table was measured down to 1e-7, and carries that on to lower rates."""
    table = json.dumps(carried_on("flash-8-9-nested", 1e-7, tmp_path / "short.toml"))
    config = softsense.Config.open("mlc-25nm", ["geometry.blocks_per_plane=128", f"reliability.table.file={table}"])
    deep, failing = flash.reliability_by_age(config, [6000, 10_000], [365.0])
    assert deep["not_measured"] > 0.9
    assert failing["not_measured"] < 0.01
    stars = [line.count("*") for line in tables.reliability_by_age([deep, failing]).splitlines()[-4:]]
    assert stars == [1, 0, 0, 1]
    (exact,) = flash.reliability_by_age(softsense.Config.open("mlc-lae"), [20_000], [0.0])
    assert exact["not_measured"] is None


def test_early_retention_loss_is_the_published_one() -> None:
    """Of worn 3D MLC tenfold from seven minutes to three hours, and tenfold again by eleven days."""
    at = [Cells.open("mlc-charge-trap", 10_000, hours, "default") for hours in (7 / 60, 3.0, 11 * 24.0)]
    first, second = at[1].rber() / at[0].rber(), at[2].rber() / at[1].rber()
    assert first == pytest.approx(10, rel=0.1)
    assert second == pytest.approx(10, rel=0.1)
    best = [cells.with_references("tracked").references[2] for cells in at]
    moved = (best[0] - best[2]) / (best[0] - best[1])
    assert moved == pytest.approx(2.5, rel=0.05)
    # A logarithm of time that began long before the first measurement allows no less; published are 10 steps for 5.
    assert moved > np.log(11 * 24 / (7 / 60)) / np.log(3 / (7 / 60)) > 10.5 / 4.5


def test_rber_by_age_and_references(softsense_command: Softsense) -> None:
    rows = flash.rber_by_age("tlc-measured", [0, 3000], [0, 90], levels=[1, 7])
    assert [(row["pe_cycles"], row["retention_days"]) for row in rows] == [(0, 0), (0, 90), (3000, 0), (3000, 90)]
    old = rows[-1]
    assert old["tracked"] == Cells.open("tlc-measured", 3000, 90 * 24.0, "tracked").rber()
    assert old["default"] == Cells.open("tlc-measured", 3000, 90 * 24.0).with_references("default").rber()
    assert sum(old["default_pages"].values()) / 3 == pytest.approx(old["default"])
    assert old["information"][1] < old["information"][7] < 1
    age = ["--pe-cycles", "3000", "--retention-days", "90"]
    told = json.loads(softsense_command("flash", "rber", *age, "--json").stdout)
    assert told[0]["tracked"] == old["tracked"]
    hot = Cells.open("tlc-measured", 3000, 90 * 24.0, retention_temperature_c=55.0)
    assert hot.rber() > 1.3 * old["tracked"]


def test_read_disturb_is_the_published_one(softsense_command: Softsense) -> None:
    """54,560 reads of one neighbour until 0.0085 are met; 518,420 spread over 704 wordlines are missed by 13 %."""
    by_pattern = {
        (row["reads"], row["pattern"]): row
        for row in flash.rber_by_reads("tlc-measured", [0, 54_560, 449_700], wordlines_per_block=704)
    }
    hammered, even = by_pattern[54_560, "one_neighbour"], by_pattern[449_700, "even"]
    assert hammered["default_worst"] == pytest.approx(0.0085, rel=0.01)
    assert even["default_worst"] == pytest.approx(0.0085, rel=0.01)
    assert hammered["effective_reads"] == pytest.approx(8.4 * 54_560)
    # Moved references gain an order of magnitude, and not everything.
    unread = by_pattern[0, "even"]
    assert 3 * unread["best_worst"] < hammered["best_worst"] < hammered["default_worst"] / 8
    # Low states rise most, and none falls.
    cells = Cells.open("tlc-measured", 1000)
    risen = cells.at(1000, 0.0, 8.4 * 54_560).means_and_spreads()[:, 0] - cells.means_and_spreads()[:, 0]
    assert (np.diff(risen) < 0).all()
    assert risen[0] > 0.9
    assert 0 < risen[-1] < 0.01
    rows = json.loads(softsense_command("flash", "disturb", "--reads", "1e5", "--json").stdout)
    assert [row["pattern"] for row in rows] == ["one_neighbour", "even"]
    shown = json.loads(softsense_command("flash", "show", "tlc-measured", "--effective-reads", "5e5", "--json").stdout)
    assert shown["effective_reads"] == 5e5
    for command in (("flash", "disturb", "mlc"), ("flash", "show", "mlc", "--effective-reads", "5")):
        refused = softsense_command(*command)
        assert refused.returncode == 2
        assert "error: " in refused.stderr
        assert "Traceback" not in refused.stderr


def test_measures_are_those_of_sampled_cells(softsense_command: Softsense) -> None:
    """Ones, and errors of known cells, of 400,000 sampled cells of each state: four standard errors."""
    rows = flash.measures("tlc-measured", retention_days=365)
    of = {(row["page"], row["measure"]): row for row in rows}
    cells = Cells.open("tlc-measured", 3000, 365 * 24, "default")
    count = 400_000
    voltages = [cells.sample(state, count, seed=state + 1) for state in range(8)]
    for number, page in enumerate(cells.pages):
        boundaries = cells.boundaries(number)
        above = [sum((volts > cells.references[at]).astype(int) for at in boundaries) for volts in voltages]
        ones = np.mean([np.mean(crossed % 2 == 0) for crossed in above])
        assert of[page, "ones"]["default"] / 147_456 == pytest.approx(ones, abs=4 * 0.5 / math.sqrt(8 * count))
        for at in boundaries:
            up, down = np.mean(voltages[at] > cells.references[at]), np.mean(voltages[at + 1] < cells.references[at])
            assert cells.known_errors[at] == pytest.approx([up, down], abs=4 * math.sqrt(0.25 / count))
        assert of[page, "violated_checks"]["default"] >= of[page, "violated_checks"]["best"]
        assert of[page, "valley_search"]["sensings"] == 11 * len(boundaries)
        assert of[page, "valley_search"]["default"] < 1.2 * of[page, "valley_search"]["best"]
    far = of["centre", "violated_checks"]
    assert (far["default"] - far["best"]) / far["sigma"] > 10
    assert json.loads(softsense_command("flash", "measure", "--retention-days", "365", "--json").stdout) == rows
    # Cells that know no search are measured without one.
    assert {row["measure"] for row in flash.measures("mlc")} == {"violated_checks", "ones", "known_errors"}
    with pytest.raises(ConfigError, match=r"references\.valley_search"):
        Cells.open("mlc").search_valleys()
    with pytest.raises(ConfigError, match="odd number"):
        Cells.open("mlc").search_valleys(0.05, 4, 1000)


def test_cells_are_fitted_to_valleys(tmp_path: Path, softsense_command: Softsense) -> None:
    """Error rates by reference of known cells, thirteen at each boundary: the fit finds the cells."""
    lines = [",".join(measured_cells.VALLEY_COLUMNS)]
    for cycles, days in ((0, 1), (2000, 1), (2000, 7), (2000, 30), (2000, 90), (2000, 365), (3000, 1)):
        cells = Cells.open("tlc-measured", cycles, days * 24)
        states = [NormalDist(mean, spread) for mean, spread in cells.means_and_spreads()]
        for boundary in range(7):
            for step in range(-6, 7):
                volts = cells.references[boundary] + 0.03 * step
                wrong = (1 - states[boundary].cdf(volts) + states[boundary + 1].cdf(volts)) / 8
                lines.append(f"{cycles},{days},{boundary},{volts / 0.0125:.4f},{wrong:.6g}")
    (tmp_path / "valleys.csv").write_text("\n".join(lines))
    done = softsense_command(
        "flash", "fit", "valleys.csv", "--mapping", "tlc_2_3_2", "--unit-v", "0.0125", "--out", "own.toml", "--json"
    )
    assert done.returncode == 0, done.stderr
    # In units of the source, of which states are 63 apart and 10 wide.
    assert max(abs(row["mean_off"]) + abs(row["sigma_off"]) for row in json.loads(done.stdout)) < 0.2
    found, truth = (Cells.open(name, 2500, 2000, "tracked") for name in (str(tmp_path / "own.toml"), "tlc-measured"))
    assert found.rber() == pytest.approx(truth.rber(), rel=0.02)
    # Too few points of one boundary.
    (tmp_path / "few.csv").write_text("\n".join(line for line in lines if ",3," not in line or "2000,30,3" in line))
    refused = softsense_command("flash", "fit", "few.csv", "--mapping", "tlc_2_3_2")
    assert refused.returncode == 2
    assert "at 0 P/E cycles and 1 days: valleys: found 0 points of boundary 3, expected at least four" in refused.stderr


def test_one_bit_cells_have_a_page_of_their_own(tmp_path: Path) -> None:
    """`pslc:` goes before any name, in configs, too."""
    slc = Cells.open("pslc:tlc-measured", 3000, 365 * 24)
    assert list(slc.pages) == ["page"]
    assert slc.rber() < 1e-4
    with pytest.raises(ConfigError, match=r"nothing\.toml"):
        Cells.open("pslc:nothing.toml")
    cells = 'reliability.table.rber.threshold_voltage="pslc:tlc-measured"'
    types = "flash.page_types=[{ name = 'page', sense_us = 20.0, sense_extra_level_us = 5.0, program_us = 200.0 }]"
    config = softsense.load_config("tlc-femu", [cells, types, "read.references=cells"])
    row = flash.starting_reliability(config)[-1]
    assert row["rber"] < 1e-4


def test_a_retry_table_decodes_what_the_best_references_do(tmp_path: Path, softsense_command: Softsense) -> None:
    """Of the measured TLC up to 3,000 cycles and a year: at least 99.9 %, where default references decode 97 %."""
    made = retry_tables.make("tlc-measured", entries=12)
    assert len(made.offsets_v) <= 12
    assert made.decoded[0] < 0.98
    assert made.decoded[-1] > 0.999
    assert made.decoded == sorted(made.decoded)
    assert made.worst["decoded"] > 0.95
    # An entry does at the age that it was made for what the best references there do, within a step.
    cycles, days = made.made_for[1]
    cells = Cells.open("tlc-measured", cycles, days * 24, "default")
    off = cells.rber_off(np.array(made.offsets_v[:2]))
    assert off[0] == pytest.approx([cells.rber(page) for page in range(3)])
    tracked = [cells.with_references("tracked").rber(page) for page in range(3)]
    assert off[1] == pytest.approx(tracked, rel=0.02)
    assert off[0].sum() > 1.5 * off[1].sum()
    done = softsense_command("flash", "references", "--out", "with.toml")
    assert done.returncode == 0, done.stderr
    found = tomllib.loads((tmp_path / "with.toml").read_text())["references"]["retry_table_v"]
    assert found[0] == [0.0] * 7
    # The shipped cells have it.
    assert found == json.loads(Cells.open("tlc-measured").spec_json)["references"]["retry_table_v"]


def test_references_are_inferred_nearly_as_well_as_they_can_be(tmp_path: Path, softsense_command: Softsense) -> None:
    """Of the measured TLC: by 294 known cells 4 % of codewords fail, by the best references 3.7, by the default 43."""
    made = inference.make("tlc-measured")
    chosen = next(row for row in made.boundaries if row["boundary"] == made.fields["boundary"])
    assert made.best_fails <= chosen["exactly"][1] <= chosen["share_of_ones"][1] <= chosen["sentinels"][1]
    assert chosen["sentinels"][1] < 1.1 * made.best_fails < 0.1 * made.default_fails
    assert chosen["sentinels"][0] == pytest.approx(1.008, abs=0.004)
    # Fewer known cells tell less.
    few = inference.make("tlc-measured", boundary=made.fields["boundary"], known_share=0.0002).boundaries[0]
    assert few["sentinels"][1] > 1.2 * chosen["sentinels"][1]
    assert few["share_of_ones"] == chosen["share_of_ones"]
    done = softsense_command("flash", "inference", "--out", "with.toml")
    assert done.returncode == 0, done.stderr
    found = tomllib.loads((tmp_path / "with.toml").read_text())["references"]["inference"]
    assert found["boundary"] == made.fields["boundary"]


@pytest.mark.parametrize(
    ("name", "most"),
    [("tlc-measured", 3000), ("tlc-charge-trap", 3000), ("qlc-charge-trap", 1500), ("qlc-1-2-4-8", 1500)],
)
def test_shipped_cells_infer_as_was_fitted(name: str, most: int) -> None:
    made = inference.make(name, pe_cycles=range(0, most + 1, most // 10)).fields
    shipped = json.loads(Cells.open(name).spec_json)["references"]["inference"]
    for field, expected in made.items():
        assert np.array(shipped[field]) == pytest.approx(np.array(expected), rel=1e-4, abs=5e-5), field


def _retries(pe_cycles: list[int], days: list[float], *overrides: str) -> dict[tuple[int, float], float]:
    """Mean retries of `tlc-client` by age, each as `config ages` gives it."""
    rows = flash.reliability_by_age(softsense.Config.open("tlc-client", overrides), pe_cycles, days)
    return {(row["pe_cycles"], row["retention_days"]): row["retries"] for row in rows}


def test_predicted_retries_are_between_those_of_two_chips_of_today() -> None:
    """Means of two chips of 232 and 176 layers at 3,000 P/E cycles, by a public table of retry counts by wordline.

    How they were obtained is not said. The cells were not set by it; the step of their retry table was chosen with
    it in view.
    """
    found = _retries([3000, 6000], [30.0, 90.0, 180.0, 365.0])
    chips = {30: (0.34, 2.83), 90: (2.57, 5.04), 180: (4.18, 6.13), 365: (5.83, 6.78)}
    for days, (fewest, most) in chips.items():
        assert fewest - 1.2 < found[3000, days] < most + 1.2, days
    # Wear matters little (1.34 times at three months), and retries grow with the logarithm of time.
    assert found[6000, 90] / found[3000, 90] <= 2.0
    slopes = [
        (found[3000, late] - found[3000, early]) / math.log(late / early)
        for early, late in ((30, 90), (90, 180), (180, 365))
    ]
    assert max(slopes) < 1.25 * min(slopes)


def test_fitted_retries_of_the_variant_are_those_of_asplos21() -> None:
    """PR2/AR2, 160 chips: more than three retries at 0 P/E cycles and three months, 19.9 at 2,000 and a year."""
    cells = 'reliability.table.rber.threshold_voltage="tlc-charge-trap-asplos21"'
    found = _retries([0, 2000], [90.0, 365.0], cells, "reliability.table.variation={}")
    assert found[0, 90] > 4
    assert found[2000, 365] == pytest.approx(19.9, abs=1.0)


def test_a_config_reads_by_the_retry_table_of_its_cells(tmp_path: Path) -> None:
    """Old data of planar cells: default references fail a third of hard decisions, the second entry none."""
    small = ["geometry.blocks_per_plane=160", "geometry.pages_per_block=48", "workload.footprint_bytes=67108864"]
    age = ["precondition.pe_cycles=3000", "precondition.retention_days=90", "workload.requests=2000"]
    quiet = ["workload.arrivals.poisson.requests_per_s=100", "workload.read_fraction=1.0"]
    cells = 'reliability.table.rber.threshold_voltage="tlc-measured"'
    base = softsense.Config.open("tlc-femu", [*small, *age, *quiet, cells, "reliability.table.variation={}"])
    (tmp_path / "own.toml").write_text(base.to_toml().replace('"tlc-measured"', '"mine.toml"'))
    cells = retry_tables.make("tlc-measured").toml
    by_default = cells.replace("tracked = true", "tracked = false")
    assert by_default != cells
    (tmp_path / "mine.toml").write_text(by_default)

    def run(*overrides: str) -> dict[str, Any]:
        config = softsense.load_config(tmp_path / "own.toml", overrides)
        return dict(softsense.run(config).summary["codeword_reads"])

    default, table = run("read.references=cells"), run()
    fails = flash.starting_reliability(softsense.Config.open(str(tmp_path / "own.toml")))[-1]["p_fail_hard"]
    assert 0.2 < fails < 0.5
    # Some 2,000 codewords and more: the standard error of a share is 0.011 at most.
    assert default["level_histogram"][0] / default["count"] == pytest.approx(1 - fails, abs=0.05)
    assert table["level_histogram"][0] == table["count"]
    assert table["attempts"] / table["count"] - 1 == pytest.approx(fails, abs=0.05)
    # The baseline, in which nothing fails, has no table.
    compared = softsense.compare(softsense.load_config(tmp_path / "own.toml", ["read.references=retry_table"]))
    assert compared.baseline is not None
    assert all(run.summary["codeword_reads"]["level_histogram"][0] == table["count"] for run in compared.runs[1:])
    with pytest.raises(ConfigError, match="found `retry_table` with cells that have no retry table"):
        softsense.load_config("mlc-25nm", ["read.references=retry_table"])


@pytest.mark.law
def test_cells_are_drawn_beside_published_chips(tmp_path: Path) -> None:
    """examples/cells_beside_chips.py: each source held out, and the picture of docs/model/threshold-voltage.md."""
    script = Path(__file__).parents[1] / "examples" / "cells_beside_chips.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    held_out = [line.split(" | ") for line in done.stdout.splitlines() if " | " in line]
    assert [line[0].split(":")[0] for line in held_out] == [
        "first retries",
        "worst tracked page",
        "retries of two chips",
        "fit of 72 layers",
    ]
    # The retries of the two chips follow from the other sources.
    retries = [float(each) for each in held_out[2][2].split(": ")[1].split(" (")[0].split(", ")]
    chips = ((0.34, 2.83), (2.57, 5.04), (4.18, 6.13), (5.83, 6.78))
    assert all(low - 0.5 < found < high for found, (low, high) in zip(retries, chips, strict=True))
    assert (tmp_path / "cells-beside-chips.png").stat().st_size > 20_000
