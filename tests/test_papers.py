"""Do reproductions judge as they say, and do they keep, repeat and name what they should?"""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
import threading
import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

import softsense
from conftest import Folder, dask_client
from softsense import ConfigError, FileError, cli, flash, papers, plots
from softsense.folders import Results
from softsense.papers import (
    HOLDS,
    IN_DIRECTION,
    NOT,
    NOT_MEASURED,
    SIGN_ONLY,
    UNDECIDED,
    UNDER_SOME,
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Paper,
    Plan,
    Runs,
    Workload,
    ldpc_in_ssd,
    plans,
    running,
    synthetic,
)
from softsense.papers.comparing import falls, ordered
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc import methods
from softsense.papers.ldpc_in_ssd import machines

pytestmark = pytest.mark.usefixtures("one_pixel")

TINY = (
    "geometry.channels=4",
    "geometry.chips_per_channel=2",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=1",
    "geometry.blocks_per_plane=64",
)
KEYS = [
    "id",
    "figure",
    "claim",
    "kind",
    "published",
    "measured",
    "lo",
    "hi",
    "verdict",
    "under",
    "on_ours",
    "left_out",
    "why",
]


def tiny_workload(name: str, reads: float, requests: int = 400) -> Workload:
    return Workload(
        name,
        "a few requests",
        overrides=synthetic(
            requests=requests,
            read_fraction=reads,
            sizes=[{"bytes": 4096, "share": 1.0}],
            addresses="uniform",
            arrivals={"poisson": {"requests_per_s": 2000.0}},
            footprint_bytes=16777216,
        ),
    )


def tiny_plan(full: bool = False) -> Plan:
    workloads = (tiny_workload("Postmark", 0.8), tiny_workload("Synthetic2", 0.99))
    return Plan(full, (1, 2), workloads, 500, overrides=TINY)


# Verdicts and intervals.


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (Number.exact(3.0), HOLDS),
        (Number.exact(3.44), HOLDS),
        (Number(3.6, 3.4, 3.8), HOLDS),
        (Number(3.9, 3.8, 4.0), IN_DIRECTION),
        (Number(1.5, 1.1, 1.9), SIGN_ONLY),
        (Number(2.0, 1.9, 2.1), IN_DIRECTION),
        (Number(5.0, 4.9, 5.1), IN_DIRECTION),
        (Number(5.1, 5.0, 5.2), SIGN_ONLY),
        (Number(1.5, 0.9, 2.1), NOT),
        (Number(0.8, 0.7, 0.9), NOT),
    ],
)
def test_a_number_holds_within_15_percent_and_in_direction_within_a_factor(number: Number, expected: str) -> None:
    claim = Claim("c", "1", "three times", 3.0, no_effect=1.0)
    assert papers.verdict(claim, Evidence(number)) == expected


def test_of_an_increase_15_percent_of_the_increase_count() -> None:
    claim = Claim("c", "1", "a fifth more", 0.20, no_effect=0.0, unit="+%")
    assert papers.verdict(claim, Evidence(Number.exact(0.229))) == HOLDS
    assert papers.verdict(claim, Evidence(Number.exact(0.231))) == IN_DIRECTION
    assert papers.verdict(claim, Evidence(Number.exact(-0.1))) == NOT


def test_a_number_below_no_effect_has_its_direction_below() -> None:
    claim = Claim("c", "1", "half", 0.5, no_effect=1.0)
    assert papers.verdict(claim, Evidence(Number(0.75, 0.7, 0.8))) == IN_DIRECTION
    assert papers.verdict(claim, Evidence(Number(0.8, 0.7, 0.9))) == SIGN_ONLY
    assert papers.verdict(claim, Evidence(Number(0.9, 0.7, 1.1))) == NOT


def test_slightly_more_than_nothing_is_more() -> None:
    claim = Claim("c", "1", "slightly above 1", 1.0, no_effect=1.0)
    assert papers.verdict(claim, Evidence(Number(1.05, 1.01, 1.09))) == HOLDS
    assert papers.verdict(claim, Evidence(Number(1.34, 1.33, 1.36))) == SIGN_ONLY
    assert papers.verdict(claim, Evidence(Number(0.98, 0.97, 0.99))) == NOT


def test_without_a_direction_a_number_holds_or_does_not() -> None:
    claim = Claim("c", "1", "eleven minutes", 11.0)
    assert papers.verdict(claim, Evidence(Number.exact(11.5))) == HOLDS
    assert papers.verdict(claim, Evidence(Number.exact(1.5))) == NOT


def test_a_bound_holds_if_the_whole_interval_keeps_it() -> None:
    claim = Claim("c", "1", "below a fifth", 0.20, "at most")
    assert papers.verdict(claim, Evidence(Number(0.15, 0.10, 0.20))) == HOLDS
    assert papers.verdict(claim, Evidence(Number(0.19, 0.17, 0.21), improves=True)) == IN_DIRECTION
    assert papers.verdict(claim, Evidence(Number(0.19, 0.17, 0.21))) == NOT
    assert papers.verdict(claim, Evidence(Number(0.39, 0.38, 0.41), improves=True)) == IN_DIRECTION
    assert papers.verdict(claim, Evidence(Number(0.41, 0.40, 0.42), improves=True)) == SIGN_ONLY


def test_a_claim_that_holds_under_some_assumptions_says_so_and_its_interval_spans_them() -> None:
    claim = Claim("c", "1", "a fifth more", 0.20, no_effect=0.0, unit="+%")
    meets, misses = Evidence(Number(0.20, 0.19, 0.21)), Evidence(Number(0.80, 0.79, 0.81))
    for alone, other in ((meets, misses), (misses, meets)):
        evidence = replace(alone, under={"another exponent": other})
        found = papers.judged(claim, evidence)
        assert found["verdict"] == UNDER_SOME
        assert (found["lo"], found["hi"]) == (0.19, 0.81)
        assert found["under"]["another exponent"]["verdict"] in (HOLDS, SIGN_ONLY)
    assert papers.verdict(claim, replace(meets, under={"another exponent": meets})) == HOLDS
    assert papers.verdict(claim, replace(misses, under={"another exponent": misses})) == SIGN_ONLY


def test_kinds_of_claims_are_counted_apart() -> None:
    measured = Claim("c", "1", "a fifth more", 0.20, no_effect=0.0)
    arithmetic = replace(measured, kind="arithmetic")
    rows = [papers.judged(claim, Evidence(Number.exact(0.2))) for claim in (measured, measured, arithmetic)]
    rows.append(papers.judged(measured, None))
    assert papers.counted(rows) == {"measured": {HOLDS: 2, NOT_MEASURED: 1}, "arithmetic": {HOLDS: 1}}
    assert papers.tally(rows) == [
        "Of 3 measured claims, 2 hold and 1 was not measured.",
        "Of 1 claim of arithmetic, 1 holds.",
    ]


def test_an_order_holds_in_all_workloads_or_in_their_mean() -> None:
    claim = Claim("c", "1", "more", rule="order")
    assert papers.verdict(claim, Evidence(None, in_all=True, in_mean=True)) == HOLDS
    assert papers.verdict(claim, Evidence(None, in_mean=True)) == IN_DIRECTION
    assert papers.verdict(claim, Evidence(None)) == NOT


def test_an_order_with_less_than_the_least_effect_has_its_sign_only() -> None:
    claim = Claim("c", "1", "more", rule="order")
    for values, expected in (
        ([(1.0, 0.95), (1.0, 0.9)], HOLDS),
        ([(1.0, 0.994), (1.0, 0.9)], IN_DIRECTION),
        ([(1.0, 0.994), (1.0, 0.995)], SIGN_ONLY),
        ([(1.0, 1.01), (1.0, 0.9)], IN_DIRECTION),
        ([(1.0, 1.01), (1.0, 1.02)], NOT),
    ):
        each = {str(i): falls(pair) for i, pair in enumerate(values)}
        mean = falls([fmean(column) for column in zip(*values, strict=True)])
        assert papers.verdict(claim, ordered(each, mean, None, "")) == expected, values


def test_a_wide_interval_of_two_seeds_proves_nothing() -> None:
    """12.7 standard errors reach nearly every published number."""
    near = Claim("c", "1", "doubles", 2.0, no_effect=1.0)
    assert papers.verdict(near, Evidence(Number(1.1, 0.2, 2.0))) == UNDECIDED
    assert papers.verdict(near, Evidence(Number(2.05, 1.9, 2.2))) == HOLDS
    # As wide as the claim itself allows is no guess.
    wide = replace(near, tolerance=0.5)
    assert papers.verdict(wide, Evidence(Number(2.0, 1.1, 2.9))) == HOLDS
    bound = Claim("c", "1", "below a fifth", 0.20, "at most")
    assert papers.verdict(bound, Evidence(Number(0.30, -0.2, 0.8), improves=True)) == UNDECIDED


def test_a_claim_about_all_workloads_without_one_is_not_measured() -> None:
    claim = Claim("c", "1", "twice on all", 2.0, no_effect=1.0, all_workloads=True)
    left = {"Synthetic1": "the machine cannot serve it"}
    evidence = Evidence(Number.exact(2.0), "Because.", left_out=left)
    found = papers.judged(claim, evidence)
    assert (found["verdict"], found["measured"], found["left_out"]) == (NOT_MEASURED, None, left)
    assert "Synthetic1: the machine cannot serve it" in found["why"]
    assert papers.verdict(replace(claim, all_workloads=False), evidence) == HOLDS
    whole = Evidence(Number.exact(2.0))
    assert papers.verdict(claim, replace(evidence, under={"another machine": whole})) == NOT_MEASURED
    assert papers.verdict(claim, replace(whole, under={"a small machine": evidence})) == HOLDS


def test_a_reading_that_turns_a_verdict_is_in_the_verdict() -> None:
    claim = Claim("c", "1", "a fifth more", 0.20, no_effect=0.0, unit="+%")
    direction, sign = Evidence(Number(0.3, 0.29, 0.31)), Evidence(Number(0.8, 0.79, 0.81))
    for alone, other in ((direction, sign), (sign, direction)):
        assert papers.verdict(claim, replace(alone, under={"8,000 a second": other})) == SIGN_ONLY


def test_an_order_judged_by_hand_has_a_least_effect_too() -> None:
    claim = Claim("c", "1", "faster (over the other)", rule="order")
    assert papers.verdict(claim, Evidence(Number.exact(1.006), in_all=True)) == SIGN_ONLY
    assert papers.verdict(claim, Evidence(Number.exact(0.97), in_mean=True)) == IN_DIRECTION


def test_an_excerpt_is_not_the_workload() -> None:
    claim = Claim("c", "1", "half of its reads", 0.5, unit="%")
    found = papers.judged(claim, Evidence(Number.exact(0.2), "Because.", unlike="It is an excerpt."))
    assert (found["verdict"], found["measured"]) == (NOT_MEASURED, None)
    assert found["why"] == "It is an excerpt. There it is 0.2. Because."


def test_what_turns_a_verdict_is_named() -> None:
    claim = Claim("c", "1", "a fifth at most", 0.2, "at most", unit="+%")
    slow, same = Evidence(Number.exact(0.4)), Evidence(Number.exact(0.15))
    found = papers.judged(claim, Evidence(Number.exact(0.1), "Because.", under={"slow": slow, "same": same}))
    assert found["why"] == "Because. As first assumed it is judged: holds. Otherwise with slow (does not hold)."


def test_what_was_not_measured_says_so() -> None:
    found = papers.judged(Claim("c", "1", "more", 2.0), None)
    assert list(found) == KEYS
    assert found["verdict"] == NOT_MEASURED
    assert found["measured"] is None


def test_intervals_are_student_s() -> None:
    number = Number.of([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.776445 * 2.5**0.5 / 5**0.5
    assert (number.value, number.lo, number.hi) == pytest.approx((3.0, 3 - half, 3 + half))
    assert Number.of([2.0]) == Number(2.0, 2.0, 2.0)
    known = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 19: 2.093, 29: 2.045, 30: 2.042}
    assert {n: round(papers.t_quantile(n), 3) for n in known} == known
    assert papers.t_quantile(1) == pytest.approx(math.tan(0.475 * math.pi))
    assert papers.t_quantile(100) == pytest.approx(1.984, abs=5e-4)


def test_ratios_are_paired() -> None:
    """Common luck cancels: both twice as long with one seed is no spread of their ratio."""
    number = Number.ratio([1.0, 2.0, 4.0], [2.0, 4.0, 8.0])
    assert (number.value, number.lo, number.hi) == (0.5, 0.5, 0.5)


# A paper of two figures, to be stopped and repeated.


def tiny_figure(id_: str, requests: int) -> Figure:
    workload = tiny_workload(f"figure {id_}", 0.9, requests)
    cases = [Case(workload, "two_step:restart", seed=seed) for seed in (1, 2)]

    def measure(plan: Plan, runs: Runs) -> Measured:
        means = [runs[case]["response"]["read"]["mean_us"] for case in cases]
        number = Number.of(means)
        row = {"group": "all", "bar": "two-step", "value": number.value, "lo": number.lo, "hi": number.hi}
        return Measured(pl.DataFrame([row]), {f"claim_{id_}": Evidence(number, "For this reason.")})

    def draw(frame: pl.DataFrame) -> Any:
        return bar_sheet(frame, f"Figure {id_}", "us", colours={"two-step": "#000000"})

    return Figure(id_, f"Figure {id_}: tiny", measure, draw, lambda plan: cases)


def tiny_paper(figures: Sequence[Figure]) -> Paper:
    claims = tuple(
        Claim(f"claim_{figure.id}", figure.id, "reads take 100 us", 100.0, no_effect=0.0, unit="us")
        for figure in figures
    )
    return Paper("tiny", "Tiny, reproduced", "Nobody, 2013", tuple(figures), claims, tiny_plan, "mlc-25nm")


def use(monkeypatch: pytest.MonkeyPatch, paper: Paper) -> None:
    monkeypatch.setattr(ldpc_in_ssd, "PAPER", paper)


def test_claims_report_and_pictures_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, tiny_paper([tiny_figure("1", 200), tiny_figure("extra", 200)]))
    assert cli.main(["reproduce", "tiny", "--out", str(tmp_path / "out")]) == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir() if path.name != ".progress.json")
    assert names == [
        "claims.json",
        "extra.csv",
        "extra.png",
        "fig01.csv",
        "fig01.png",
        "report.html",
        "report.md",
        "results.json",
        "runs.csv",
    ]
    manifest = json.loads((tmp_path / "out" / "results.json").read_text())
    assert manifest["config"] == {"name": "mlc-25nm", "sha256": softsense.Config.open("mlc-25nm").sha256}
    assert manifest["seeds"] == list(tiny_plan().seeds)
    lines = (tmp_path / "out" / "runs.csv").read_text().splitlines()
    assert manifest["asked"]["runs"] == {"file": "runs.csv", "simulations": len(lines) - 1, "further_configs": []}
    claims = json.loads((tmp_path / "out" / "claims.json").read_text())
    assert [list(claim) for claim in claims] == [KEYS, KEYS]
    assert claims[0]["lo"] <= claims[0]["measured"] <= claims[0]["hi"]
    report = (tmp_path / "out" / "report.md").read_text()
    for text in ("# Tiny, reproduced", "fig01.png", "extra.csv", "For this reason.", "100.0 us", claims[0]["verdict"]):
        assert text in report
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "claim_extra" in printed.out
    assert all(str(tmp_path / "out" / name) in printed.out for name in names)


def test_a_quick_run_names_the_claims_for_which_it_is_biased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = tiny_paper([tiny_figure("1", 200), tiny_figure("2", 200)])
    first, second = paper.claims
    paper = replace(paper, claims=(replace(first, quick_bias="the cache hardly fills"), second))
    use(monkeypatch, paper)
    assert cli.main(["reproduce", "tiny", "--quick", "--out", str(tmp_path / "quick")]) == 0
    assert "A quick run is biased for claim_1: " in capsys.readouterr().out
    report = (tmp_path / "quick" / "report.md").read_text()
    assert report.count("biased") == 2
    assert "For this reason. A quick run is biased here: the cache hardly fills." in report
    monkeypatch.setattr(ldpc_in_ssd, "PAPER", replace(paper, plan=lambda full: replace(tiny_plan(), full=True)))
    assert cli.main(["reproduce", "tiny", "--full", "--out", str(tmp_path / "full")]) == 0
    assert "biased" not in capsys.readouterr().out + (tmp_path / "full" / "report.md").read_text()


def test_only_the_figures_asked_for_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, tiny_paper([tiny_figure("1", 200), tiny_figure("2", 10**12)]))
    assert cli.main(["reproduce", "tiny", "--figure", "1", "--out", str(tmp_path)]) == 0
    assert [claim["id"] for claim in json.loads((tmp_path / "claims.json").read_text())] == ["claim_1"]


def interrupt_once_there_is(path: Path) -> None:
    """Press Ctrl-C a moment after the file or folder has come to be."""

    def press() -> None:
        while not path.exists():
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def test_ctrl_c_keeps_the_figures_that_were_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use(monkeypatch, tiny_paper([tiny_figure("1", 200), tiny_figure("2", 10**12)]))
    interrupt_once_there_is(tmp_path / "fig01.png")
    assert cli.main(["reproduce", "tiny", "--jobs", "3", "--out", str(tmp_path)]) == 130
    names = sorted(path.name for path in tmp_path.iterdir() if path.name != ".progress.json")
    assert names == ["claims.json", "fig01.csv", "fig01.png", "report.html", "report.md", "results.json", "runs.csv"]
    assert all("Interrupted" in (tmp_path / f"report.{kind}").read_text() for kind in ("md", "html"))
    assert "interrupted" in capsys.readouterr().err


def test_ctrl_c_before_any_figure_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, tiny_paper([tiny_figure("2", 10**12)]))
    interrupt_once_there_is(tmp_path / "out")
    assert cli.main(["reproduce", "tiny", "--out", str(tmp_path / "out")]) == 130
    assert not (tmp_path / "out").exists()


def test_simulations_of_a_store_are_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was stopped goes on from what had ended, and ends the same."""
    use(monkeypatch, tiny_paper([tiny_figure("1", 200), tiny_figure("2", 300)]))
    kept, done = tmp_path / "kept.store", []
    simulated = running._simulated
    monkeypatch.setattr(running, "_simulated", lambda *of: done.append(of[1]) or simulated(*of))
    figures = (["--figure", "1"], [], [])
    for i, some in enumerate(figures):
        assert cli.main(["reproduce", "tiny", *some, "--store", str(kept), "--out", str(tmp_path / str(i))]) == 0
    assert len(done) == len(set(done)) == 4
    assert cli.main(["reproduce", "tiny", "--out", str(tmp_path / "anew")]) == 0
    assert len(done) == 8
    anew, resumed = ((tmp_path / name / "claims.json").read_text() for name in ("anew", "2"))
    assert anew == resumed


def test_a_store_takes_one_simulation_of_two_wordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = tiny_figure("1", 200)
    reworded = [replace(case, overrides=("flash.cache_register=true",)) for case in figure.cases(tiny_plan())]
    both = replace(figure, cases=lambda plan: [*figure.cases(plan), *reworded])
    use(monkeypatch, tiny_paper([both]))
    assert cli.main(["reproduce", "tiny", "--store", str(tmp_path / "kept"), "--out", str(tmp_path / "out")]) == 0


def test_results_of_another_build_are_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = tiny_figure("1", 200).cases(tiny_plan())[0]
    ours = running._identity("mlc-25nm", case, TINY, None)
    assert ours == running._identity("mlc-25nm", case, TINY, None)
    monkeypatch.setattr(running, "_build", lambda: "another")
    assert ours != running._identity("mlc-25nm", case, TINY, None)


def test_all_papers_meet_on_one_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (
        replace(tiny_paper([tiny_figure(id_, 200)]), name=name, headline=lambda found: f"{len(found)} claim counts.")
        for id_, name in (("1", "tiny"), ("2", "small"))
    )
    monkeypatch.setattr(plans, "papers", lambda: [first, second])
    monkeypatch.setattr(papers, "papers", lambda: [first, second])
    out = tmp_path / "out"
    assert cli.main(["reproduce", "all", "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "claims.json",
        "report.html",
        "report.md",
        "results.json",
        "small",
        "tiny",
    ]
    assert {"claims.json", "report.html", "report.md", "results.json"} < {
        path.name for path in (out / "tiny").iterdir()
    }
    assert [row["id"] for row in Results.open(out / "small").rows()] == ["claim_2"]
    claims = json.loads((out / "claims.json").read_text())
    assert [row["id"] for name in ("tiny", "small") for row in claims[name]] == ["claim_1", "claim_2"]
    report = (out / "report.md").read_text()
    assert report.count("1 claim counts.") == 2
    assert "2 claims of 2 papers" in report
    assert "small: 1 claim counts." in capsys.readouterr().out
    assert cli.main(["reproduce", "all", "--figure", "1", "--out", str(out)]) == 2
    assert "--figure" in capsys.readouterr().err


def test_no_paper_imports_another() -> None:
    """What several share stands beside them."""
    folder = Path(papers.__file__).parent
    for name in plans._PAPERS:
        own = folder / name
        for path in sorted(own.rglob("*.py")) if own.is_dir() else [folder / f"{name}.py"]:
            text = path.read_text()
            others = [other for other in plans._PAPERS if other != name and f"softsense.papers.{other}" in text]
            assert others == [], f"{path} imports {others}"


# Bad input.


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["laldcp"], ["laldcp", "ldpc-in-ssd"]),
        (["ldpc-in-ssd", "--figure", "4"], ["--figure", "4", "11", "energy"]),
        (["ldpc-in-ssd", "--figure", "3,seven"], ["seven", "sensitivity"]),
        (["ldpc-in-ssd", "--quick", "--full"], ["--quick", "--full"]),
        (["ldpc-in-ssd", "--jobs", "0"], ["--jobs"]),
        (["ldpc-in-ssd", "--figure", "8", "--out", "file/out"], ["file", "cannot write"]),
    ],
)
def test_bad_input_is_one_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("in the way")
    assert cli.main(["reproduce", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert all(word in printed.err for word in says)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_lacks_a_trace_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "umass_Financial1_req3-50002.4Kpages.trace.zst").touch()
    assert cli.main(["reproduce", "ldpc-in-ssd", "--figure", "8", "--traces", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert all(word in printed.err for word in (str(tmp_path), "postmark.disksim.trace.zst", "Postmark"))
    with pytest.raises(FileError, match="umass_WebSearch1"):
        papers.with_traces(replace(tiny_plan(), workloads=ldpc_in_ssd.PAPER.plan(True).workloads[3:]), tmp_path)


def test_without_a_name_papers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["reproduce"], ["reproduce", "--list"]):
        assert cli.main(arguments) == 0
        printed = capsys.readouterr().out
        assert all(word in printed for word in ("ldpc-in-ssd", "FAST 2013", "sensitivity", "laldpc", "MSST 2017"))


def test_files_of_figures_are_in_order() -> None:
    ids = ("5", "5a", "12", "eq", "cache", "table3")
    stems = [replace(tiny_figure("1", 1), id=id_).stem for id_ in ids]
    assert stems == ["fig05", "fig05a", "fig12", "eq", "cache", "table3"]


def test_a_synthetic_workload_leaves_nothing_of_the_shipped_one() -> None:
    """What it does not say is the default, not that of the device's config."""
    (override,) = synthetic(requests=7, arrivals={"fixed": {"requests_per_s": 3.5}}, addresses="uniform")
    config = papers.configured("mlc-25nm", [override])
    workload = config.fields.workload
    assert (workload["requests"], workload["arrivals"]) == (7, {"fixed": {"requests_per_s": 3.5}})
    assert (workload["addresses"], workload["footprint_bytes"]) == ("uniform", None)


def test_a_stand_in_takes_the_place_of_a_trace_that_is_not_given(tmp_path: Path) -> None:
    standing = tiny_workload("w", 0.5)
    real = Workload("w", "real", "w.trace", stand_in=standing)
    plan = replace(tiny_plan(), workloads=(real, Workload("left", "real", "left.trace")))
    without = papers.with_traces(plan, None)
    assert without.workloads == (standing,)
    assert [workload.name for workload in without.left_out] == ["left"]
    for name in ("w.trace", "left.trace"):
        (tmp_path / name).touch()
    assert papers.with_traces(plan, tmp_path) == plan


# LDPC-in-SSD.


def test_results_do_not_depend_on_jobs(tmp_path: Path) -> None:
    plan, found = tiny_plan(), []
    for jobs in (1, 3):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        figures = ldpc_in_ssd.PAPER.chosen(["11", "12", "14"])
        papers.reproduce(ldpc_in_ssd.PAPER, figures, plan, Folder(folder), jobs=jobs)
        found.append([(folder / name).read_text() for name in ("claims.json", "report.md", "fig11.csv", "fig14.csv")])
    assert found[0] == found[1]


@pytest.mark.law
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_gives_the_same_bytes(tmp_path: Path) -> None:
    """A worker's error is one of ours."""
    plan, figures, found = tiny_plan(), ldpc_in_ssd.PAPER.chosen(["12"]), []
    with dask_client() as client:
        for name, jobs in (("here", 1), ("there", client.get_executor())):
            folder = tmp_path / name
            folder.mkdir()
            papers.reproduce(ldpc_in_ssd.PAPER, figures, plan, Folder(folder), jobs=jobs)
            found.append([(folder / name).read_bytes() for name in ("claims.json", "report.md", "fig12.csv")])
        assert found[0] == found[1]
        broken = replace(plan, overrides=("geometry.channels=0",))
        with pytest.raises(ConfigError, match=r"geometry\.channels: found 0"):
            papers.reproduce(ldpc_in_ssd.PAPER, figures, broken, Folder(tmp_path), jobs=client.get_executor())


@pytest.mark.usefixtures("few_elsewhere")
def test_every_figure_of_ldpc_in_ssd_comes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device of 8 planes and 400 requests, so that only what cannot be wrong there is asserted."""
    monkeypatch.setattr(flash, "_CALIBRATION_CODEWORDS", 1024)
    monkeypatch.setattr(ldpc_in_ssd.sampled, "SAMPLED", 1024)
    paper = ldpc_in_ssd.PAPER
    result = papers.reproduce(paper, paper.figures, tiny_plan(), Folder(tmp_path))
    claims = json.loads((tmp_path / "claims.json").read_text())
    assert [claim["id"] for claim in claims] == [claim.id for claim in paper.claims]
    assert all(list(claim) == KEYS for claim in claims)
    told = {id_ for _, measured in result.figures for id_ in measured.evidence}
    assert told == {claim.id for claim in paper.claims}
    verdicts = {claim["id"]: claim["verdict"] for claim in claims}
    assert NOT_MEASURED not in verdicts.values()
    assert verdicts["retention_bake"] == HOLDS
    assert verdicts["recovery_bake"] == NOT
    assert verdicts["progressive_beats_look_ahead"] in (HOLDS, UNDER_SOME)
    report = (tmp_path / "report.md").read_text()
    for figure in paper.figures:
        assert (tmp_path / f"{figure.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{figure.stem}.csv" in report


def test_without_traces_what_needs_them_is_not_measured(tmp_path: Path) -> None:
    plan = replace(tiny_plan(), workloads=tiny_plan().workloads[1:], left_out=(Workload("Postmark", "real", "x"),))
    papers.reproduce(ldpc_in_ssd.PAPER, ldpc_in_ssd.PAPER.chosen(["11"]), plan, Folder(tmp_path))
    verdicts = {claim["id"]: claim["verdict"] for claim in json.loads((tmp_path / "claims.json").read_text())}
    assert verdicts["increase_postmark"] == NOT_MEASURED
    assert verdicts["order_of_workloads"] == NOT_MEASURED
    assert verdicts["increase_synthetic2"] != NOT_MEASURED
    assert "Postmark | left out" in (tmp_path / "report.md").read_text()


def test_each_simulation_is_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of `runs.csv` gives the numbers of the figure."""
    monkeypatch.chdir(tmp_path)
    papers.reproduce(ldpc_in_ssd.PAPER, ldpc_in_ssd.PAPER.chosen(["11", "12"]), tiny_plan(), Folder(tmp_path))
    runs = pl.read_csv(tmp_path / "runs.csv")
    assert set(runs["figures"]) >= {"11 12", "12"}
    assert runs["command"].is_unique().all()
    figure = pl.read_csv(tmp_path / "fig11.csv").filter(machine="softsense's own", group="Synthetic2", bar="two-step")
    found = []
    own = runs.filter(
        pl.col("command").str.contains("busy_unit").not_(), workload="Synthetic2", policy="two_step:restart"
    )
    for line in own.filter(pl.col("figures").str.contains("11"))["command"]:
        words = shlex.split(line)
        assert words[0] == "softsense"
        capsys.readouterr()
        assert cli.main([*words[1:], "--json", "--no-progress"]) == 0
        found.append(json.loads(capsys.readouterr().out)["response"]["read"]["mean_us"])
    assert figure["response_us"].to_list() == [pytest.approx(fmean(found[: len(tiny_plan().seeds)]), rel=1e-6)]


def test_commands_are_of_the_configs_that_are_simulated() -> None:
    """Every 97th simulation of every paper: `--set` gives the config that the reproduction has."""
    for paper in papers.papers():
        plan = papers.with_traces(paper.plan(False), None)
        cases = list(dict.fromkeys(case for figure in paper.figures for case in figure.cases(plan)))
        for case in cases[::97]:
            words = shlex.split(running.command(paper.config, case, plan.overrides))
            overrides = [value for name, value in pairwise(words) if name == "--set"]
            shown = softsense.load_config(words[2], overrides)
            whole = [*(() if case.apart else plan.overrides), *case.workload.overrides, *case.overrides]
            assert shown.sha256 == papers.configured(case.device or paper.config, whole).sha256, words


@pytest.mark.parametrize(
    ("name", "base", "overrides"),
    [
        ("mlc-25nm-gangs", "mlc-25nm", machines.GANGS.overrides),
        ("mlc-25nm-serial", "mlc-25nm", machines.DYNAMIC.overrides),
        ("mlc-laldpc-serial", "mlc-laldpc", methods.SERIAL),
    ],
)
def test_machines_by_name_are_those_that_are_judged(name: str, base: str, overrides: tuple[str, ...]) -> None:
    shipped, judged = (
        config.fields for config in (softsense.load_config(name), softsense.load_config(base, list(overrides)))
    )
    shipped.pop("workload")
    judged.pop("workload")
    assert shipped == judged


def test_lone_reads_are_those_of_the_equations(tmp_path: Path) -> None:
    """2,000 reads of 12,000 codewords with each of six seeds: 2 % are four standard errors of the two-step read."""
    plan = tiny_plan()
    overrides = (*ldpc_in_ssd.published.STATED_AGE, *plan.overrides)
    plan = replace(plan, seeds=tuple(range(1, 7)), requests=2000, overrides=overrides)
    papers.reproduce(ldpc_in_ssd.PAPER, ldpc_in_ssd.PAPER.chosen(["eqs"]), plan, Folder(tmp_path))
    frame = pl.read_csv(tmp_path / "eqs.csv")
    measured = {row["equation"]: row["measured_us"] / row["equation_us"] for row in frame.iter_rows(named=True)}
    for equation in ("eq_1", "eq_2", "eq_3"):
        assert measured[equation] == pytest.approx(1.0, abs=0.02), equation


def test_published_numbers_are_those_of_the_paper(shared: Path) -> None:
    paper = tomllib.loads((shared / "published" / "ldpc_in_ssd.toml").read_text())
    sections = ("claims", "energy_uj", "aging_protocol", "workloads", "geometry")
    there = {key: value for section in sections for key, value in paper[section].items()}
    there["low_parallelism_channels"] = paper["geometry"]["low_parallelism_channels"]
    assert {key: there[key] for key in ldpc_in_ssd.published.PUBLISHED} == ldpc_in_ssd.published.PUBLISHED
    protocol = {**paper["aging_protocol"], "recovery_constant": paper["aging_protocol"]["recovery_constant_a"]}
    protocol["cycling_days"] = protocol["t_cyc_days"]
    assert {key: protocol[key] for key in ldpc_in_ssd.published.PROTOCOL} == ldpc_in_ssd.published.PROTOCOL


def test_the_bars_have_room(tmp_path: Path) -> None:
    """Values that reach below zero or have no interval are drawn as well."""
    rows = [
        {"group": group, "bar": bar, "value": value, "lo": value - 0.1, "hi": value}
        for group, bar, value in (("a", "x", -1.0), ("a", "y", 2.0), ("b", "x", 0.0))
    ]
    sheet = bar_sheet(pl.DataFrame(rows), "t", "l", colours={"x": "#000000", "y": "#ff0000"}, note="n", line=None)
    (axes,) = plots.draw_sheet(sheet).axes
    assert axes.get_ylim()[0] <= -1.1
    assert axes.get_ylim()[1] >= 2.0
