"""Does a comparison across cases say of each what a comparison of it alone says, and of all where a verdict turns?"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

import softsense.across
from conftest import Softsense
from softsense import ConfigError, Interrupted, SoftsenseError, folders
from softsense.across import Axes, across
from softsense.read_policies import Technique
from softsense.seeds import compare_seeds

SMALL = [
    "geometry.channels=1",
    "geometry.chips_per_channel=2",
    "geometry.blocks_per_plane=256",
    "workload.footprint_bytes=67108864",
    "workload.requests=1500",
    "workload.arrivals.poisson.requests_per_s=1000",
]


def test_each_case_is_the_comparison_of_it_alone() -> None:
    axes = Axes(ages=((8000, 10.0),), loads=(2.0,), codes=("flash-64-73",), seeds=3)
    found = across("mlc-25nm", axes=axes, by="mean", policies="two_step,progressive", overrides=SMALL)
    assert len(found.compared) == 8
    ages, scales, codes = ((10000, 30.0), (8000, 10.0)), (1.0, 0.5), ("flash-8-9-nested", "flash-64-73")
    for one, (age, scale, code) in zip(found.compared, product(ages, scales, codes), strict=True):
        more = [f"precondition.pe_cycles={age[0]}", f"precondition.retention_days={age[1]}"]
        more += [f"host.issue.open_loop.time_scale={scale}", f"reliability.table.file={code}"]
        alone = compare_seeds(
            "mlc-25nm", seeds=3, policies="two_step,progressive", baseline=False, overrides=[*SMALL, *more]
        )
        for policy in ("two_step", "progressive"):
            ours = [each[policy].summary["response"] for each in one.seeds.comparisons]
            assert ours == [each[policy].summary["response"] for each in alone.comparisons]
        two_step, progressive = (
            [each[policy].summary["response"]["read"]["mean_us"] for each in alone.comparisons]
            for policy in ("two_step", "progressive")
        )
        # The interval of paired differences, from a library of statistics.
        paired = stats.ttest_rel(progressive, two_step).confidence_interval(0.95)
        mean = sum(two_step) / 3
        verdict = found.verdict(one, "progressive")
        assert verdict.difference == pytest.approx(sum(paired) / 2 / mean)
        assert verdict.half_width == pytest.approx((paired.high - paired.low) / 2 / mean)
        assert verdict.word == ("faster" if paired.high < 0 else "slower" if paired.low > 0 else "alike")


def test_a_load_is_a_factor_of_the_rate() -> None:
    found = across("mlc-25nm", axes=Axes(loads=(4.0,), seeds=1), policies="two_step,ideal", overrides=SMALL)
    rates = [one.seeds.first["two_step"].summary["throughput"]["iops"] for one in found.compared]
    assert rates[1] / rates[0] == pytest.approx(4, rel=0.02)
    # A policy that knows the level in advance is shown to nobody as a choice.
    assert found.others == []


def test_a_verdict_that_turns_is_said_to() -> None:
    # Sensing everything again for each level costs more the deeper the levels are.
    found = across(
        "mlc-25nm",
        axes=Axes(ages=((11000, 30.0), (11000, 50.0)), seeds=3),
        by="mean",
        policies="two_step:incremental,progressive:restart",
        overrides=[*SMALL, "workload.requests=2000"],
    )
    words = [found.verdict(one, "progressive:restart").word for one in found.compared]
    assert words == ["faster", "faster", "slower"]
    assert not any(one.problems for one in found.compared)
    told = found.text()
    assert "the same holds in 1, turns in 1, and is not shown in 0" in told
    assert "faster, by age: 10000:30 1 of 1; 11000:30 1 of 1; 11000:50 0 of 1" in told


def test_cases_that_lose_data_are_counted_nowhere() -> None:
    found = across(
        "mlc-25nm", axes=Axes(ages=((14000, 90.0),), seeds=1), policies="two_step,progressive", overrides=SMALL
    )
    assert [bool(one.problems) for one in found.compared] == [False, True]
    told = found.text()
    assert told.startswith("1 of 2 cases are counted nowhere:\n  14,000 cycles, 90 days: ")
    assert "uncorrectable" in told.splitlines()[1]
    assert "Of 0 other cases" in told


def test_ctrl_c_keeps_the_cases_that_were_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter([compare_seeds, compare_seeds])

    def stops(*given: Any, **named: Any) -> Any:
        if (call := next(calls, None)) is None:
            raise Interrupted(None)
        return call(*given, **named)

    monkeypatch.setattr(softsense.across, "compare_seeds", stops)
    axes = Axes(loads=(0.5, 2.0), seeds=1)
    with pytest.raises(Interrupted) as stopped:
        across("mlc-25nm", axes=axes, policies="two_step,look_ahead", overrides=SMALL)
    assert len(stopped.value.result.compared) == 2
    assert len(stopped.value.result.planned) == 3
    assert "load 0.5" in stopped.value.result.text()


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["temperature=40"], "found `temperature`"),
        (["loads=2", "loads=3"], "found it twice"),
        (["loads=0"], "factors above 0"),
        (["loads=fast"], "factors above 0"),
        (["ages=3000"], "P/E cycles and days"),
        (["seeds=none"], "how many"),
        (["drives=,"], "some names"),
    ],
)
def test_axes_that_there_are_not_are_refused(texts: list[str], expected: str) -> None:
    with pytest.raises(ConfigError, match=r"--across") as refused:
        Axes.parse(texts)
    assert expected in str(refused.value)


@pytest.mark.parametrize(
    ("config", "more", "axes", "expected"),
    [
        ("mlc-25nm", ["host.issue={ closed_loop = { queue_depth = 4 } }"], Axes(loads=(2.0,)), "given times"),
        ("mlc-25nm", ["reliability='perfect'"], Axes(codes=("flash-8-9",)), "decode table"),
        ("mlc-25nm", [], Axes(codes=("flash-99",)), "flash-99"),
        ("mlc-25nm", [], Axes(drives=("tlc-cleint",)), "tlc-client"),
    ],
)
def test_axes_that_do_not_go_with_a_drive_are_refused(config: str, more: list[str], axes: Axes, expected: str) -> None:
    with pytest.raises(SoftsenseError, match=expected):
        across(config, axes=axes, policies="two_step,progressive", overrides=more)


def test_one_policy_is_none_to_compare() -> None:
    with pytest.raises(ConfigError, match="at least two"):
        across("mlc-25nm", axes=Axes(), policies="two_step")


def test_a_technique_is_its_policy_with_its_overrides() -> None:
    slow = Technique("slow decoders", "progressive", ("decoder.time.fixed_us=40.0",))
    found = across("mlc-25nm", axes=Axes(seeds=2), policies=["two_step", slow], overrides=SMALL)
    assert (found.reference, found.others) == ("two_step", ["slow decoders"])
    alone = compare_seeds("mlc-25nm", seeds=2, policies="progressive", overrides=[*SMALL, *slow.overrides])
    ours, theirs = (
        [each[name].summary["response"] for each in some.comparisons]
        for name, some in (("slow decoders", found.compared[0].seeds), ("progressive", alone))
    )
    assert ours == theirs
    with pytest.raises(ConfigError, match="two techniques named `slow decoders`"):
        across("mlc-25nm", axes=Axes(), policies=[slow, replace(slow, policy="two_step")])


def test_the_command_writes_what_it_prints(softsense_command: Softsense, tmp_path: Path) -> None:
    words = ["compare", "mlc-25nm", "--policies", "two_step,progressive", "--across", "loads=0.5", "--seeds", "2"]
    words += [word for each in SMALL for word in ("--set", each)]
    done = softsense_command(words, "--out", "a", "--no-progress")
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "a" / "table.txt").read_text()
    assert "load 0.5" in table
    assert table.strip() in done.stdout
    assert (tmp_path / "a" / "cases.png").stat().st_size > 10_000
    cases = pl.read_csv(tmp_path / "a" / "cases.csv")
    assert cases.height == 4
    document = json.loads(softsense_command(words, "--json", "--out", "b", "--no-progress").stdout)
    assert [case["mean_us"] for case in document["cases"]] == pytest.approx(cases["mean_us"].to_list())
    # The folder is one of results, whose numbers `softsense results` exports.
    rows = folders.Results.open(tmp_path / "a").rows()
    assert [row["policy"] for row in rows] == ["two_step", "progressive"] * 2
    assert {row["load"] for row in rows} == {"1", "0.5"}
    shown = softsense_command("results", "show", "a")
    assert shown.returncode == 0, shown.stderr
