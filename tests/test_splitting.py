"""Does splitting find rates that are known, the same whoever does the runs, and do walks weigh what they should?"""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import softsense
from softsense import Code, ConfigError, splitting, strata
from softsense._core import FrameTask, StopFlag
from softsense.campaign import Campaign
from softsense.campaign.judge import judge_points
from softsense.sampling import Goal
from softsense.splitting import ladder, rate_from_time, split
from softsense.store import opened_store

BCH = "bch:m=10,t=5,k=512"
QUICK: dict[str, Any] = {"runs": 3, "particles": 20, "steps": 5}


def task(code: str, decoder: str = "min-sum", channel: dict[str, Any] | None = None) -> FrameTask:
    spec = {"decoder": decoder, "iterations": 20, "seed": 1, "channel": channel or {"hard": {"rber": None}}}
    return FrameTask(Code.open(code), json.dumps(spec))


def soft_task(code: str, rber: float, level: int, placement: Any = "mutual_information") -> FrameTask:
    return task(code, channel={"gaussian": {"rber": rber, "level": level, "placement": placement}})


def tail(bits: int, most: int, rber: float) -> float:
    """The probability of more than `most` errors."""
    return float(strata.binomial_weights(bits, rber)[most + 1 :].sum())


def test_errors_of_rates_cover_what_is_known() -> None:
    """Of a BCH code at four rates down to 1e-9, ten times over, is none of 40 rates off by more than 4.5 of its errors?

    They are of 12 runs each, so that this happens by chance once in 30 tests. And is the mean of squares about 1? From
    0.5 to 2; errors that are half of what they should be give 4.
    """
    code, rbers = Code.open(BCH), [0.0034, 0.0015, 0.0005, 0.00015]
    off = []
    for seed in range(10):
        result = split(code, rbers, runs=12, particles=60, steps=8, seed=seed, workers=1)
        found = {point["rber"]: point for point in result.points}
        for rber in rbers:
            exact = tail(562, 5, rber)
            off.append((found[rber]["fer"] / exact - 1) / found[rber]["relative_error"])
    assert max(map(abs, off)) < 4.5
    assert 0.5 < np.square(off).mean() < 2


def test_two_runs_that_agree_by_chance_are_not_exact() -> None:
    """Is the error of two runs what 100 failures in each leave, or more? The runs alone often say less."""
    less = 0
    for seed in range(30):
        result = split(Code.open(BCH), [0.004, 0.0035], runs=2, particles=100, steps=2, seed=seed, workers=1)
        first, rates = result.points[0], result.rates()[:, 0]
        less += rates.std(ddof=1) / rates.mean() < 0.1
        assert first["relative_error"] >= 200**-0.5
        assert abs(first["fer"] / tail(562, 5, 0.004) - 1) < 4.5 * first["relative_error"]
    assert less > 5


def test_rungs_keep_half_of_the_patterns_and_pass_through_what_is_asked_for() -> None:
    wanted = [0.07, 0.05, 0.031, 0.02]
    rungs = ladder(task("teaching-1/2"), reversed(wanted))
    assert set(wanted) <= set(rungs)
    assert all(high > low for high, low in itertools.pairwise(rungs))
    points = split("teaching-1/2", wanted, runs=2, particles=100, steps=10, workers=1).points
    assert [point["rber"] for point in points] == rungs
    assert all(0.5 < point["effective"] <= 1 for point in points)
    # Without a spread that steps have to heed there are few.
    assert len(ladder(task(BCH), [1e-4, 1e-6])) < 10


def test_rungs_of_soft_levels_keep_half_of_the_patterns_too() -> None:
    for level in (2, 7):
        rungs = ladder(soft_task("teaching-1/2", 0.03, level), [0.03, 0.1])
        assert (rungs[0], rungs[-1]) == (0.1, 0.03)
        points = split("teaching-1/2", [0.1, 0.03], level=level, runs=2, particles=100, steps=10, workers=1).points
        assert [point["rber"] for point in points] == rungs
        assert all(0.5 < point["effective"] <= 1 for point in points)


def test_regions_are_those_of_the_gaussian_boundary() -> None:
    """By the normal distribution: of two references that stay, at a quarter of the mean, and of a lopsided one."""
    soft = soft_task("teaching-1/2", 0.05, 2, {"uniform": {"step_v": 0.5}})
    for rber in (0.05, 0.01, 0.2):
        deviation = -1 / NormalDist().inv_cdf(rber)
        ends = [NormalDist(1, deviation).cdf(reference) for reference in (-0.25, 0.25)]
        found = soft.region_probabilities(rber)
        assert found.dtype == np.float64
        assert found == pytest.approx([ends[0], ends[1] - ends[0], 1 - ends[1]], rel=1e-6)
    # Of the hard reference and another one regions of a 0 and of a 1 differ.
    lopsided = soft_task("teaching-1/2", 0.05, 2, "nested")
    assert len(lopsided.region_probabilities(0.05)) == 6
    for rber in (0.05, 0.01, 0.2):
        assert lopsided.region_probabilities(rber)[:3].sum() == pytest.approx(rber, rel=1e-6)
    assert task(BCH).region_probabilities(0.05).tolist() == [0.05, 0.95]
    aged = {"cells": "mlc", "pe_cycles": 10000, "retention_hours": 0, "page": 0, "level": 3}
    with pytest.raises(ConfigError, match="found soft sensing of cells"):
        task("teaching-1/2", channel={"cells": aged}).region_probabilities(0.05)


@pytest.mark.parametrize(
    ("level", "rates"), [(1, [0.014, 0.02, 0.03]), pytest.param(7, [0.045, 0.05, 0.065], marks=pytest.mark.law)]
)
def test_the_judge_agrees_with_strata_and_sees_where_they_are_wrong(
    level: int, rates: list[float], tmp_path: Path
) -> None:
    """Of hard decisions all low points are judged, of a soft level the lowest; a rate that is a third of it differs.

    Runs and strata know rates to a tenth or better: by chance one in 100 points is apart by the 30 % that differ.
    """
    told: list[str] = []
    kept: dict[str, Any] = {"store": tmp_path / "judged.fer", "progress": lambda name, *_: told.append(name)}
    goal: dict[str, Any] = {"relative_error": 0.15, "frames": 100_000, "method": "weight"}
    asked: dict[str, Any] = {"levels": [level], "traps": None, "judge": 2, **goal, **kept}
    points = softsense.measure_fer("teaching-1/2", rates, workers=2, **asked).points
    assert "splitting" in told
    judged = [point["rber"] for point in points if point["judged"]]
    assert judged == (rates[:2] if level == 1 else rates[:1])
    assert all(point["judged"]["agrees"] for point in points[: len(judged)])
    # From the store they cost nothing, and are the same.
    told.clear()
    assert softsense.measure_fer("teaching-1/2", rates, workers=1, **asked).points == points
    assert "splitting" not in told
    third = [{**point, "fer": point["fer"] / 3, "judged": None} for point in points]
    third[-1]["fer"] = points[-1]["fer"]
    with opened_store(tmp_path / "judged.fer") as store:
        campaign = Campaign(Code.open("teaching-1/2"), "min-sum", 20, 1, Goal(**goal), store)
        assert not judge_points(campaign, third, "mutual_information", 2, 1, None)
    assert not third[0]["judged"]["agrees"]


def test_runs_do_not_depend_on_who_does_them(tmp_path: Path) -> None:
    def same(result: splitting.SplitResult) -> dict[str, Any]:
        runs = [{name: value for name, value in run.items() if name != "seconds"} for run in result.runs]
        return result.to_dict() | {"runs": runs}

    rbers = [0.07, 0.03]
    alone = split("teaching-1/2", rbers, workers=1, **QUICK)
    assert [run["unit"] for run in alone.runs] == [0, 1, 2]
    assert not alone.interrupted
    assert same(split("teaching-1/2", rbers, workers=2, **QUICK)) == same(alone)
    soft = split("teaching-1/2", [0.1, 0.06], level=7, workers=1, **QUICK)
    assert same(split("teaching-1/2", [0.1, 0.06], level=7, workers=2, **QUICK)) == same(soft)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert same(split("teaching-1/2", rbers, workers=pool, **QUICK)) == same(alone)
        assert same(split("teaching-1/2", [0.1, 0.06], level=7, workers=pool, **QUICK)) == same(soft)
    # What is in a store is not done again, though it came by JSON; other arguments are other runs.
    file = tmp_path / "s.fer"
    counted: list[int] = []

    def kept(runs: int, **other: Any) -> tuple[dict[str, Any], int]:
        counted.clear()
        found = split(
            "teaching-1/2",
            rbers,
            workers=1,
            store=file,
            progress=lambda _, done, __: counted.append(done),
            **(QUICK | {"runs": runs} | other),
        )
        return same(found), len(counted)

    some, rounds = kept(2)
    assert rounds > 0
    assert some["runs"] == same(alone)["runs"][:2]
    more, _ = kept(3)
    assert more == same(alone)
    assert counted[0] >= 2, "runs that are in the store were done again"
    assert kept(3) == (same(alone), 0)
    for other in ({"steps": 6}, {"seed": 2}):
        assert kept(3, **other)[1] > 0


def test_a_run_hears_that_it_shall_stop() -> None:
    stop = StopFlag()
    threading.Timer(0.2, stop.set).start()
    # It would take hours.
    assert task("teaching-1/2").split([0.07, 0.05], 1000, 10**6, 0, stop=stop) is None
    assert soft_task("teaching-1/2", 0.07, 3).split([0.1, 0.07], 1000, 10**6, 0, stop=stop) is None
    assert task("teaching-1/2").walk(0.05, [[]], 10**7, 0, every=100, stop=stop) is None


def test_ctrl_c_leaves_the_runs_that_had_ended() -> None:
    # Not before a run has ended: on a busy machine that takes longer than any time that could be named here.
    told = iter([True])

    def interrupt(_name: str, done: int, _fraction: float) -> None:
        if done and next(told, False):
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    # It would take an hour.
    result = split("teaching-1/2", [0.07, 0.06], workers=2, progress=interrupt, **(QUICK | {"runs": 10**4}))
    assert result.interrupted
    assert 0 < len(result.runs) < 10**4
    assert len(result.points) == len(result.split.ladder)


def test_patterns_are_returned_if_they_are_asked_for() -> None:
    run = task(BCH).split([0.003, 0.001], 20, 5, 0, patterns=True)
    assert run is not None
    assert len(run["patterns"]) == 20
    assert all(len(pattern["errors"]) > 5 and pattern["left"] for pattern in run["patterns"])
    mean = sum(len(pattern["errors"]) for pattern in run["patterns"]) / 20
    assert mean == pytest.approx(run["rungs"][-1]["mean_errors"])
    assert "patterns" not in split(BCH, [0.003, 0.001], workers=1, **QUICK).runs[0]


def test_time_in_a_listed_event_gives_the_rate_of_all() -> None:
    """A BCH code, and the event that one of 60 pairs of bits is wrong: what it has with failure is known.

    So the rate of all failures follows from the chains' time, to 3 % from 60 chains; 4 standard errors are passed by
    chance once in 15,000 tests.
    """
    rber, sets = 0.004, [[bit, bit + 100] for bit in range(60)]
    listed = len(sets) * rber**2 * tail(560, 3, rber)
    walked = task(BCH).walk(rber, sets, 20_000, 0, sets=sets, redraw=0.3)
    assert walked is not None
    assert walked["present"].shape == (60, 20_000)
    assert walked["present"].dtype == np.uint32
    assert (walked["errors"] > 5).all()
    # What a chain was begun with is soon forgotten.
    rate, error = rate_from_time(listed, walked["present"][:, 200:])
    assert error < 0.1
    assert abs(rate / tail(562, 5, rber) - 1) < 4 * error


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"rber": [0.07]}, "found 1 raw bit error rates"),
        ({"rber": [0.07, 0.0]}, "rber: found 0"),
        ({"effective": 1.0}, "effective: found 1"),
        ({"runs": 0}, "runs: found 0"),
        ({"particles": 1}, "particles: found 1"),
        ({"redraw": 2.0}, "redraw: found 2"),
        ({"level": 8}, "level: found 8"),
        ({"level": 3, "placement": "nowhere"}, "placement"),
    ],
)
def test_what_is_out_of_range_is_one_error(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        split("teaching-1/2", **({"rber": [0.07, 0.05], "workers": 1} | QUICK | given))
    with pytest.raises(ConfigError, match="too few chains"):
        rate_from_time(1e-9, np.zeros((3, 4)))
