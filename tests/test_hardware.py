"""Circuits of codecs from Python and the command line: what they take, and designs at equal area."""

from __future__ import annotations

import json
import math
from itertools import pairwise, product
from pathlib import Path

import pytest

import softsense
from conftest import Softsense
from softsense import codes
from softsense.api import parallelism_of
from softsense.points import Planned
from softsense.sweep_file import Sweep

ENGINE = "decoder.time={ bch = { engine_correctable = 108 } }"


def _resized(config: softsense.Config, reference: softsense.Config) -> softsense.Config:
    return config.with_overrides(parallelism_of(config, reference))


def test_a_device_and_a_code_have_the_same_decoder() -> None:
    config = softsense.load_config(
        "mlc-25nm", ["decoder={ node_nm = 40.0, time = { ldpc = { checks_per_cycle = 32 } } }"]
    )
    hardware = config.decoder_hardware()
    of_code = codes.hardware(softsense.Code.open("flash-8/9"), node_nm=40.0, checks_per_cycle=32)["decoder"]
    assert hardware is not None
    assert {name: hardware[name] for name in ("gates", "memory_bits", "mm2")} == {
        name: of_code[name] for name in ("gates", "memory_bits", "mm2")
    }
    assert hardware["count"] == 8  # One a channel.
    assert hardware["total_mm2"] == pytest.approx(8 * hardware["mm2"])
    assert softsense.load_config("mlc-25nm").decoder_hardware() is None


@pytest.mark.parametrize("name", ["flash-8/9", "bch-4KB-t105"])
def test_the_command_prints_what_python_says(softsense_command: Softsense, name: str) -> None:
    facts = codes.hardware(softsense.Code.open(name), clock_mhz=300.0)
    printed = softsense_command("code", "hardware", name, "--clock-mhz", "300", "--json")
    assert json.loads(printed.stdout) == facts
    told = softsense_command("code", "hardware", name, "--clock-mhz", "300").stdout
    for part in ("decoder", "encoder"):
        of = facts[part]
        assert of["us"] == pytest.approx(of["cycles"] / 300.0)
        assert of["gbps"] == pytest.approx(32768 / of["us"] / 1e3)
        assert of["pj_per_bit"] == pytest.approx(1e3 * of["nj"] / 32768)
        assert f"{of['cycles']:,} cycles" in told


def test_designs_at_equal_area_take_it_and_no_more() -> None:
    reference = softsense.load_config("mlc-lae-worst-case", [ENGINE])
    area = reference.decoder_hardware()
    assert area is not None
    for name in ("mlc-lae", "mlc-lae-unsqueezed"):
        resized = _resized(softsense.load_config(name, [ENGINE]), reference)
        hardware = resized.decoder_hardware()
        assert hardware is not None
        assert 0.97 * area["total_mm2"] < hardware["total_mm2"] <= area["total_mm2"]
    # What an area buys of a config is what that config has.
    assert _resized(reference, reference).sha256 == reference.sha256


def test_a_run_at_equal_area_says_what_it_got(softsense_command: Softsense, tmp_path: Path) -> None:
    printed = softsense_command(
        *(
            "run",
            "mlc-lae-unsqueezed",
            "--set",
            ENGINE,
            "--set",
            "workload.requests=200",
            "--set",
            "geometry.blocks_per_plane=64",
        ),
        *("--set", "workload.footprint_bytes=1048576", "--equal-area", "mlc-lae-worst-case", "--no-progress"),
        *("--out", str(tmp_path / "out")),
    )
    first = printed.stdout.splitlines()[0]
    assert first.startswith("equal area: decoder.time.bch.engine_correctable=")
    assert "mlc-lae-worst-case has" in first
    got = first.split("=")[1].split(":")[0]
    assert f"engine_correctable = {got}" in (tmp_path / "out" / "config.toml").read_text()


SWEEP = """
config = "mlc-25nm"
equal_area = {equal_area}
set = ["decoder.time={{ ldpc = {{ checks_per_cycle = 64 }} }}", "workload.requests=100"]
[grid]
{grid}
"""


def test_every_point_of_a_sweep_has_the_area_of_its_config() -> None:
    grid = '"decoder.placement" = [{ per_channel = 1 }, { per_channel = 2 }, { pool = 4 }]'
    planned = Planned(Sweep.parse(SWEEP.format(equal_area="true", grid=grid)))
    hardware = [
        softsense.Config.from_toml(job.text, job.origin, list(job.overrides)).decoder_hardware()
        for job in planned.jobs.values()
    ]
    # A row of 1024 checks is the most that helps.
    areas = [each["total_mm2"] for each in hardware if each]
    assert len(areas) == 3
    assert max(areas) == pytest.approx(areas[0])
    assert dict(planned.describe())["equal area"].count("checks_per_cycle=") == 3
    plain = Planned(Sweep.parse(SWEEP.format(equal_area="false", grid=grid)))
    assert "equal area" not in dict(plain.describe())


@pytest.mark.parametrize(
    ("equal_area", "grid", "says"),
    [
        ('"yes"', '"seed_of" = [1]', "equal_area: found"),
        (
            "true",
            '"decoder.time.ldpc.checks_per_cycle" = [1, 2]',
            "found a swept field whose value follows from `equal_area`",
        ),
        ("true", '"decoder.node_nm" = [130.0]', "are larger than"),
    ],
)
def test_equal_area_without_a_meaning_is_refused(equal_area: str, grid: str, says: str) -> None:
    with pytest.raises(softsense.ConfigError, match=says):
        Planned(Sweep.parse(SWEEP.format(equal_area=equal_area, grid=grid)))
    text = 'config = "mlc-25nm"\nequal_area = true\n'
    with pytest.raises(softsense.ConfigError, match="equal_area: found decoders whose area is unknown"):
        Planned(Sweep.parse(text))


def test_decoders_of_equal_rate_have_the_least_area() -> None:
    """Does each reach the rate, is it made of decoders that `hardware` knows, and has no other parallelism less?"""
    opened = [softsense.Code.open(name) for name in ("flash-8/9", "adaptive-1/2", "bch-4KB-t105", "bch-512B-t15")]
    fastest = max(codes.hardware(code)["decoder"]["gbps"] for code in opened)
    assert [each["gbps_asked"] for each in codes.hardware_at_equal_rate(opened)] == [fastest] * 4
    fields = ("checks_per_cycle", "syndrome_bits_per_cycle", "search_bits_per_cycle", "key_equation_multipliers")
    areas = []
    for gbps in (0.3, 3.0, 30.0, 300.0):
        found = codes.hardware_at_equal_rate(opened, gbps, node_nm=40.0)
        for code, row in zip(opened, found, strict=True):
            parallel = {name: row[name] for name in fields if name in row}
            one = codes.hardware(code, node_nm=40.0, **parallel)["decoder"]
            assert row["gbps"] >= gbps
            assert row["decoders"] == math.ceil(gbps / one["gbps"])
            assert row["mm2"] == pytest.approx(row["decoders"] * one["mm2"])
            assert (row["us"], row["nj"]) == (one["us"], one["nj"])
            for factors in product((1, 2, 8), repeat=len(set(parallel) - {"search_bits_per_cycle"})):
                other = dict(zip((name for name in parallel if name != "search_bits_per_cycle"), factors, strict=True))
                other = {name: min(4096, parallel[name] * factor) for name, factor in other.items()}
                if code.kind == "bch":
                    other["search_bits_per_cycle"] = other["syndrome_bits_per_cycle"]
                another = codes.hardware(code, node_nm=40.0, **other)["decoder"]
                assert row["mm2"] <= math.ceil(gbps / another["gbps"]) * another["mm2"] * (1 + 1e-12)
        areas.append([row["mm2"] for row in found])
    assert all(less <= more for slow, fast in pairwise(areas) for less, more in zip(slow, fast, strict=True))


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--gbps", "0"], "--gbps: found 0, expected above 0"),
        (["--gbps", "nan"], "--gbps: found nan"),
        (["--gbps", "8", "--checks-per-cycle", "4"], "--checks-per-cycle: found 4 together with a data rate"),
        (
            ["bch-512B-t15", "--key-equation-multipliers", "4"],
            "--key-equation-multipliers: found 4 together with a data rate",
        ),
        (["--gbps", "8", "--node-nm", "3"], "--node-nm: found 3"),
    ],
)
def test_rates_that_cannot_be_reached_are_refused(softsense_command: Softsense, asked: list[str], says: str) -> None:
    done = softsense_command("code", "hardware", "flash-8/9", *asked)
    assert done.returncode == 2
    assert says in done.stderr
    assert not done.stdout
