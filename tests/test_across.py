"""Does a comparison across cases say of each what a comparison of it alone says, and of all where a verdict turns?

And do the headlines of papers on drives of today say the same as that comparison?
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy import stats

import softsense.across
from conftest import Folder, Softsense
from softsense import Cells, ConfigError, Interrupted, SoftsenseError, cli, folders, papers
from softsense.across import Axes, Verdict, across
from softsense.papers import elsewhere, sentinel
from softsense.papers.lae_ftl.units import SEGMENTS, WORST_CASE
from softsense.papers.pages import of_reproductions
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
    assert "The same holds in 1 of 2 other cases; the opposite holds in 1, and 0 show no difference" in told
    assert "faster, by age: 10000:30 1 of 1; 11000:30 1 of 1; 11000:50 0 of 1" in told


def test_cases_that_lose_data_are_counted_nowhere() -> None:
    found = across(
        "mlc-25nm", axes=Axes(ages=((14000, 90.0),), seeds=1), policies="two_step,progressive", overrides=SMALL
    )
    assert [bool(one.problems) for one in found.compared] == [False, True]
    told = found.text()
    assert told.startswith(
        "1 of 2 cases are not counted, because their runs cannot be used:\n  14,000 cycles, 90 days: "
    )
    assert "uncorrectable" in told.splitlines()[1]
    assert "in 0 of 0 other cases" in told


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
        (["seeds=none"], "a number of seeds"),
        (["drives=,"], "at least one name"),
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


# Headlines of papers on drives of today.


def test_every_paper_has_a_headline_elsewhere_or_a_reason_why_not() -> None:
    for paper in papers.papers():
        figures = [figure.id for figure in paper.figures]
        assert figures.count("across") == (not paper.not_elsewhere), paper.name
        assert "across" not in {claim.figure for claim in paper.claims}, paper.name


def test_new_pages_of_today_are_beyond_the_codes_that_save_latency() -> None:
    """The reason why LAE-FTL has no headline there, of the cells of all drives of today."""
    most = max(code.limit() for code in (*SEGMENTS, WORST_CASE))
    drives = [softsense.load_config(drive).fields for drive in elsewhere.DRIVES]
    cells = {drive["reliability"]["table"]["rber"]["threshold_voltage"] for drive in drives}
    assert cells == {"tlc-charge-trap", "qlc-charge-trap"}
    for name in cells:
        for (pe_cycles, days), references in zip(elsewhere.AGES, ("default", "tracked"), strict=False):
            aged = Cells.open(name, pe_cycles, days * 24, references)
            assert max(aged.rber(page) for page in range(len(aged.pages))) > most, (name, pe_cycles)


def test_a_headline_says_what_the_comparison_across_drives_says(
    few_elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The function `across`, which plans and runs by itself, gives the same rows to the last bit."""
    monkeypatch.setattr(elsewhere, "_QUICK_DRIVES", ("tlc-client", "qlc-client"))
    headline, plan = sentinel._ELSEWHERE, small_plan()
    found = papers.reproduce(sentinel.PAPER, sentinel.PAPER.chosen(["across"]), plan, Folder(tmp_path))
    ours = found.figures[0][1].frame
    fields = [*headline.loaded(plan).overrides, "precondition.pe_cycles=1000", "precondition.retention_days=90"]
    theirs = across(
        "tlc-client",
        axes=Axes(drives=("qlc-client",), seeds=3),
        by=headline.by,
        policies=headline.techniques,
        overrides=fields,
        seed=1,
    )
    rows = ours.filter(pl.col("drive") != headline.where)
    assert rows.height == 4
    assert rows.to_dicts() == theirs.table.to_dicts()
    # The paper's own drive is simulated as its other figures have it.
    own = sentinel.PAPER.chosen(["reads"])[0].cases(plan)
    assert {replace(case, seed=1) for case in headline.own(plan)} <= set(own)


def test_a_headline_is_a_figure_by_name_and_no_claim(
    few_elsewhere: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result does not depend on workers."""
    paper = replace(sentinel.PAPER, plan=lambda full: small_plan())
    monkeypatch.setattr(sentinel, "PAPER", paper)
    for workers in ("1", "2"):
        words = ["reproduce", "sentinel", "--figure", "across", "--workers", workers, "--no-progress"]
        assert cli.main([*words, "--out", str(tmp_path / workers)]) == 0
    names = ["across.csv", "across.json", "across.png", "claims.json", "report.html", "report.md", "runs.csv"]
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name
    assert json.loads((tmp_path / "1" / "claims.json").read_text()) == []
    data = json.loads((tmp_path / "1" / "across.json").read_text())
    assert data["claim"] == sentinel._ELSEWHERE.claim
    for report in ("report.md", "report.html"):
        assert data["sentence"] in (tmp_path / "1" / report).read_text()
    assert data["sentence"] in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(
        papers, "papers", lambda: [replace(paper, figures=paper.figures[-1:], claims=(), headline=None)]
    )
    assert cli.main(["reproduce", "all", "--no-progress", "--out", str(tmp_path / "all")]) == 0
    assert json.loads((tmp_path / "all" / "across.json").read_text()) == {"sentinel": data}
    assert f"sentinel on drives of today: {data['sentence']}" in " ".join(capsys.readouterr().out.split())
    result = papers.reproduce(paper, paper.chosen(["across"]), small_plan(), Folder(tmp_path))
    heads, (row,) = papers.elsewhere_table([result])
    assert heads == ["paper", "its own drive, %", "tlc-client, %"]
    assert row == ["sentinel: Sentinel beside retry table, mean", *data["own"], *data["drives"]["tlc-client"]]
    assert " | ".join(row) in papers.overview([result])
    assert row[0] in of_reproductions([result])


def test_a_headline_tells_where_it_holds_turns_and_vanishes() -> None:
    """By made-up times: what is counted nowhere is not among what holds."""
    headline, plan = sentinel._ELSEWHERE, sentinel.PAPER.plan(True)
    whole = softsense.run("tlc-client", policy="progressive", overrides=["workload.requests=100"]).summary
    known_cells = headline.techniques[-1].overrides
    # Part saved on each drive; of the seeds one is a little slower than the others.
    saved = {"tlc-client": 0.2, "tlc-client-pcie5": -0.1, "tlc-enterprise": 0.0, "qlc-client": 0.3}

    class Made(dict[papers.Case, Any]):
        def __missing__(self, case: papers.Case) -> Any:
            summary = copy.deepcopy(whole)
            gains = saved.get(case.device, 0.5) if known_cells[0] in case.overrides else 0.0
            summary["response"]["read"]["mean_us"] = (100 + case.seed) * (1 - gains)
            if case.device == "qlc-client" and "precondition.pe_cycles=3000" in case.overrides:
                summary["codeword_reads"]["uncorrectable"] = 1
            return summary

    found = headline.measure(plan, Made())
    told = found.elsewhere["sentence"]
    assert "of 12 cases on drives of today faster in 5 (tlc-client; qlc-client at 50:1 and 1000:90: 20.0 ±" in told
    assert "slower in 3 (tlc-client-pcie5: 10.0 ±" in told
    assert "not told apart in 3 (tlc-enterprise: 0.0 ± 0.0 %)" in told
    assert "counted nowhere in 1 (qlc-client at 3000:365; " in told
    assert "of codeword reads were uncorrectable)" in told
    assert found.elsewhere["drives"]["qlc-client"][-1].endswith("!")
    assert not found.evidence
    assert found.notes[0] == told


def test_a_difference_that_would_read_as_zero_has_more_digits() -> None:
    assert Verdict(100.0, 0.0001, 0.00004, is_measured=True).percent() == "0.010 ± 0.004"
    assert Verdict(100.0, -0.123, 0.01, is_measured=True).percent(-1) == "12.3 ± 1.0"
    assert Verdict(100.0, 0.0, 0.0, is_measured=False).percent() == "0.0"


def test_a_misspelt_drive_is_refused() -> None:
    with pytest.raises(ConfigError, match="found `tlc-cleint`, expected some of tlc-client, "):
        replace(sentinel._ELSEWHERE, not_on={"tlc-cleint": "it is not there"})


def small_plan() -> papers.Plan:
    """The plan of Sentinel with a workload of few requests."""
    plan = sentinel._plan(False)
    workload = next(each for each in plan.workloads if each.name == "prn0")
    few = replace(workload, overrides=(*workload.overrides, "workload.requests=300"))
    return replace(plan, workloads=(few,))
