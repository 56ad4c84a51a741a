"""Do the reproductions of read retry come out, fed with what was published, and are their own sums right?"""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest

from conftest import Folder, judged
from softsense import Cells, papers
from softsense.papers import pr2_ar2, read_retry, sentinel, straw
from softsense.papers.read_retry import composed, runs, techniques
from softsense.papers.read_retry.measured import on_the_frontier
from softsense.papers.straw import device, workloads


@pytest.mark.parametrize(("module", "told"), [(sentinel, 7), (pr2_ar2, 2), (straw, 3)])
def test_published_numbers_are_those_of_the_papers(module: ModuleType, told: int, shared: Path) -> None:
    """All numbers are there; `told` mechanisms are words."""
    published = tomllib.loads((shared / "published" / f"{module.__name__.split('.')[-1]}.toml").read_text())
    for section, fields in module.PUBLISHED.items():
        for name, value in fields.items():
            assert published[section][name] == value, (section, name)
    missing = [
        value
        for section, fields in published.items()
        for name, value in fields.items()
        if name not in module.PUBLISHED.get(section, {})
    ]
    assert all(isinstance(value, str) for value in missing)
    assert len(missing) == told


def _small(paper: papers.Paper) -> papers.Plan:
    plan = paper.plan(False)
    few = [replace(each, overrides=(*each.overrides, "workload.requests=300")) for each in plan.workloads[:2]]
    return replace(plan, workloads=tuple(few), seeds=(1, 2))


@pytest.mark.law
@pytest.mark.usefixtures("few_elsewhere")
def test_sentinel_reads_sampled_wordlines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do few known cells find what all cells of a wordline say is best, and is calibrating no worse?"""
    monkeypatch.setattr(sentinel, "_wordline_count", lambda plan: 20)
    papers.reproduce(sentinel.PAPER, sentinel.PAPER.figures, _small(sentinel.PAPER), Folder(tmp_path), jobs=2)
    claims = judged(tmp_path)
    assert list(claims) == [claim.id for claim in sentinel.PAPER.claims]
    shares = pl.read_csv(tmp_path / "wordlines.csv")
    for panel in ("tlc-charge-trap", "qlc-charge-trap"):
        default, inferred, calibrated = (
            shares.filter((pl.col("panel") == panel) & (pl.col("line") == line))["value"].to_numpy()
            for line in ("default", "inferred", "calibrated")
        )
        assert (default <= inferred).all()
        assert (inferred <= calibrated).all()
        assert calibrated[-1] > 0.8
        assert default[-1] == 0
    assert claims["retry_reduction"]["measured"] > 0.4


def test_a_sampled_wordline_has_the_errors_of_its_cells() -> None:
    """Are errors by default, and what known cells tell, those of the closed form, within five standard errors?"""
    cells = Cells.open("tlc-charge-trap", 3000, 365 * 24, "default")
    wordline = sentinel._Wordline(cells, 3)
    of_a_state = 147_456 // cells.states
    expected = of_a_state * cells.known_errors.sum(axis=1)
    found = wordline._errors(np.zeros(cells.states - 1))
    assert np.abs(found - expected).max() < 5 * np.sqrt(expected.max())
    boundary = json.loads(cells.spec_json)["references"]["inference"]["boundary"]
    up, down = cells.known_errors[boundary]
    spread = np.sqrt((up + down) / 147)
    assert wordline._difference(0) == pytest.approx(up - down, abs=5 * spread)
    steps = cells.inferred_steps(up - down)
    assert abs(wordline._difference(steps)) < abs(wordline._difference(0))
    assert cells.calibrated_steps(steps, -0.1) == steps - 1
    assert cells.calibrated_steps(steps, 0.1) == steps + 1
    assert cells.inferred_offsets_v(steps)[boundary] == pytest.approx(0.0125 * steps)


@pytest.mark.usefixtures("few_elsewhere")
def test_retries_ahead_are_those_of_the_closed_form(tmp_path: Path) -> None:
    """To the nanosecond, with every way and number of failures; all claims are judged."""
    paper = pr2_ar2.PAPER
    papers.reproduce(paper, paper.figures, _small(paper), Folder(tmp_path), jobs=2)
    assert list(judged(tmp_path)) == [claim.id for claim in paper.claims]
    lone = pl.read_csv(tmp_path / "lone.csv")
    assert lone.height == 24
    for row in lone.to_dicts():
        assert row["value"] == pytest.approx(pr2_ar2.in_closed_form_us(row["line"], int(row["x"])), abs=1e-6), row
    retries = pl.read_csv(tmp_path / "steps.csv").filter(pl.col("line") == "2,000 P/E cycles")["value"].to_list()
    assert retries == sorted(retries)
    # Less than all of the time is best, but not the least.
    assert all(50 < pr2_ar2.best_percent(pr2_ar2._CELLS, age) < 100 for age in pr2_ar2._AGES)


def test_straw_moves_less_than_reclaim_of_blocks(tmp_path: Path) -> None:
    """Are limits those of the cells, fewer for worse layers and with wear, and is less moved? All claims are judged."""
    paper, plan = straw.PAPER, replace(straw.PAPER.plan(False), seeds=(1, 2))
    few = [workloads.load_of(*workloads.LOADS[3], 60_000), workloads.load_of(*workloads.LOADS[5], 20_000)]
    papers.reproduce(
        paper, paper.chosen(["copies", "flash"]), replace(plan, workloads=tuple(few)), Folder(tmp_path), jobs=2
    )
    claims = judged(tmp_path)
    assert {"copies_1000", "copies_2000", "hammered", "uniform", "tolerance", "qlc"} <= set(claims)
    assert claims["copies_2000"]["measured"] > 0.8
    # Of 749,000 effective reads that are published, after 2,000 cycles, each stands for so many.
    assert device.limit(2000, 1.0) == pytest.approx(749_000 / device.COMPRESSED, rel=0.005)
    limits = device._reclaims(1000)["STRAW"]["wordline"]["effective_reads"]
    assert limits == sorted(limits, reverse=True)
    assert device.limit(0, 1.0) > device.limit(1000, 1.0) > device.limit(2000, 1.0)


def test_the_frontier_is_what_nothing_beats() -> None:
    scores = {"a": [1.0, 3.0], "b": [2.0, 2.0], "c": [2.0, 3.0], "d": [3.0, 1.0], "twin": [1.0, 3.0]}
    assert on_the_frontier(scores) == ["a", "b", "d", "twin"]


def test_techniques_add_one_setting_at_a_time() -> None:
    """Is the second of each pair the first one with one setting more?"""
    for before, after in composed._ADDED:
        old, new = techniques.TECHNIQUES[before], techniques.TECHNIQUES[after]
        assert old.items() <= new.items(), (before, after)
        assert len(new) == len(old) + 1, (before, after)


@pytest.mark.law
@pytest.mark.usefixtures("few_elsewhere")
def test_the_bench_does_not_depend_on_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same bytes with one simulation at a time and with two; every technique is there, and no claims are."""
    paper = read_retry.PAPER
    plan = replace(_small(paper), seeds=(1,))
    for module in (techniques, runs):
        monkeypatch.setattr(module, "DAYS", {"3 hours": 0.125, "a year": 365.0})
    for jobs, figures in ((1, paper.figures[:1]), (2, paper.figures)):
        (tmp_path / str(jobs)).mkdir()
        papers.reproduce(paper, figures, plan, Folder(tmp_path / str(jobs)), jobs=jobs)
    one, all_ = tmp_path / "1", tmp_path / "2"
    for name in ("tlc-femu.csv", "tlc-femu.png", "claims.json"):
        assert (one / name).read_bytes() == (all_ / name).read_bytes(), name
    assert {path.stem for path in all_.glob("*.png")} == {figure.stem for figure in paper.figures}
    rows = pl.read_csv(all_ / "tlc-femu.csv")
    assert rows["technique"].to_list() == list(techniques.TECHNIQUES)
    assert json.loads((all_ / "claims.json").read_text()) == []
    assert "Claims" not in (all_ / "report.md").read_text() + (all_ / "report.html").read_text()
    # Nothing reads faster than what knows where states are.
    tracked = rows.filter(pl.col("technique") == techniques.TRACKED)
    assert rows["mean_us"].min() == tracked["mean_us"].item()
    assert rows["gb_per_s"].max() == tracked["gb_per_s"].item()
