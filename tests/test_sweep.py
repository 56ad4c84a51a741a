"""Is every point of a sweep simulated once, to the same bytes whoever does it, and never lost once it is finished?"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import big_sweep
import softsense
from conftest import ROOT, SMALL, Softsense, dask_cluster
from softsense import ConfigError, FileError, SoftsenseError, points
from softsense import sweep as sweeping
from softsense.designs import pareto
from softsense.folders import Folder
from softsense.live.results import Results
from softsense.points import planned as planned_points
from softsense.points import resolving, working
from softsense.sweep import LatinHypercube, Planned, Range, Sweep, sweep
from test_cli import assert_bad_input

pytestmark = pytest.mark.usefixtures("one_pixel")

COMMAND = [sys.executable, "-c", "import sys; from softsense.cli import main; sys.exit(main())"]

# Two points of the grid leave no blocks for garbage collection: they fail, each with both policies and seeds.
TWELVE = f"""
config = "mlc-25nm"
policies = ["two_step", "look_ahead_progressive"]
seeds = [1, 2]
set = {json.dumps(SMALL)}

[grid]
"ftl.over_provisioning" = [0.001, 0.15, 0.25]
"""
SLOW = TWELVE.replace("workload.requests=3000", "workload.requests=60000")
"""The same; each point takes some tenths of a second."""


def sweep_file(folder: Path, text: str = TWELVE, name: str = "s.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def parsed(text: str) -> Sweep:
    return Sweep.parse(text, "s.toml")


def sha256(folder: Path) -> str:
    return hashlib.sha256((folder / "sweep.parquet").read_bytes()).hexdigest()


# What is in a sweep file.


def test_a_grid_is_all_combinations_and_seeds_change_fastest() -> None:
    spec = parsed(
        """
        config = "mlc-25nm"
        policies = ["two_step", "progressive:restart"]
        seeds = [3, 1]
        [grid]
        "ftl.over_provisioning" = [0.2, 0.3]
        "decoder.placement" = [{ per_channel = 1 }, { pool = 4 }]
        """
    )
    planned = Planned(spec)
    assert len(planned.points) == len(planned.jobs) == spec.size == 16
    assert [point.number for point in planned.points] == list(range(1, 17))
    told = [(*point.setting.values(), point.policy, point.seed) for point in planned.points[:5]]
    assert told == [
        (0.2, {"per_channel": 1}, "two_step", 3),
        (0.2, {"per_channel": 1}, "two_step", 1),
        (0.2, {"per_channel": 1}, "progressive:restart", 3),
        (0.2, {"per_channel": 1}, "progressive:restart", 1),
        (0.2, {"pool": 4}, "two_step", 3),
    ]


def test_fields_may_be_written_with_quotes_or_without() -> None:
    quoted = parsed('config = "mlc-25nm"\n[grid]\n"ftl.over_provisioning" = [0.2]\n"read.max_level" = [3, 7]')
    bare = parsed('config = "mlc-25nm"\n[grid]\nftl.over_provisioning = [0.2]\nread.max_level = [3, 7]')
    assert bare == quoted
    quoted = parsed('config = "a"\n[latin_hypercube]\nsamples = 2\n"ftl.over_provisioning" = { from = 0.1, to = 0.2 }')
    bare = parsed('config = "a"\n[latin_hypercube]\nsamples = 2\nftl.over_provisioning = { from = 0.1, to = 0.2 }')
    assert bare == quoted
    assert bare.latin_hypercube == LatinHypercube(2, {"ftl.over_provisioning": Range(0.1, 0.2)})


def test_without_policies_seeds_and_fields_the_config_s_own_is_one_point() -> None:
    planned = Planned(parsed('config = "tlc-femu"\nset = ["seed=7"]'))
    assert [(point.policy, point.seed, point.trace) for point in planned.points] == [("progressive", 7, None)]


def test_points_are_known_by_what_they_simulate() -> None:
    """Other seeds and policies beside them, or another way to write them, change nothing; another device does."""
    first = {point.id for point in Planned(parsed(TWELVE)).points}
    more = {point.id for point in Planned(parsed(TWELVE.replace("[1, 2]", "[5, 2, 1]"))).points}
    assert len(first) == 12
    assert first < more
    plain = TWELVE.replace('policies = ["two_step", "look_ahead_progressive"]', "").replace("0.001, ", "")
    assert {point.id for point in Planned(parsed(plain)).points} < first
    assert not first & {
        p.id for p in Planned(parsed(plain.replace("blocks_per_plane=256", "blocks_per_plane=255"))).points
    }


BAD_SWEEPS: dict[str, tuple[str, list[str]]] = {
    "broken TOML": ('config = "mlc-25nm"\nseeds = [1,,2]', ["s.toml:2:", "expected"]),
    "cut short": ('config = "mlc-25nm"\nseeds = [1,', ["s.toml:2:"]),
    "unknown field": ('config = "mlc-25nm"\nseed = 1', ["unknown field `seed`", "seeds"]),
    "no config": ("seeds = [1]", ["config: found nothing"]),
    "config no text": ("config = 7", ["config: found 7"]),
    "policies no list": ('config = "mlc-25nm"\npolicies = "two_step"', ["policies: found `two_step`", "list"]),
    "unknown policy": ('config = "mlc-25nm"\npolicies = ["guess"]', ["policies", "guess", "two_step"]),
    "no policies": ('config = "mlc-25nm"\npolicies = []', ["policies", "none"]),
    "a seed below zero": ('config = "mlc-25nm"\nseeds = [1, -1]', ["seeds: found [1, -1]", "from 0"]),
    "a seed twice": ('config = "mlc-25nm"\nseeds = [1, 1]', ["seeds", "once"]),
    "no seeds": ('config = "mlc-25nm"\nseeds = []', ["seeds: found []"]),
    "beyond": ('config = "mlc-25nm"\nbeyond = "drop"', ["beyond: found `drop`", "wrap"]),
    "set no list": ('config = "mlc-25nm"\nset = "a=1"', ["set: found `a=1`", "list"]),
    "set without a value": ('config = "mlc-25nm"\nset = ["ftl"]', ["set[0]: found `ftl`", "workload.requests="]),
    "traces no list": ('config = "mlc-25nm"\ntraces = "a"', ["traces: found `a`", "list"]),
    "no traces": ('config = "mlc-25nm"\ntraces = []', ["traces: found []"]),
    "a missing trace": ('config = "mlc-25nm"\ntraces = ["nowhere.csv"]', ["traces[0]", "nowhere.csv"]),
    "a trace without a file": ('config = "mlc-25nm"\n[[traces]]\nformat = "msr"', ["traces[0]", "table with file"]),
    "an unknown option": ('config = "mlc-25nm"\n[[traces]]\nfile = "a"\nunit = "s"', ["traces[0]", "`unit`", "format"]),
    "an option no text": ('config = "mlc-25nm"\n[[traces]]\nfile = "a"\nformat = 1', ["traces[0].format: found 1"]),
    "grid no table": ('config = "mlc-25nm"\ngrid = 1', ["grid: found 1", "[grid]"]),
    "a field without a list": (
        'config = "mlc-25nm"\n[grid]\n"ftl.over_provisioning" = 0.2',
        ["grid: ftl.over_provisioning: found 0.2", "list"],
    ),
    "a field without values": ('config = "mlc-25nm"\n[grid]\n"a.b" = []', ["grid: a.b: found []", "list"]),
    "a date": ('config = "mlc-25nm"\n[grid]\na.b = [2020-01-01]', ["s.toml:3: found 2020-01-01", "expected text"]),
    "no number": ('config = "mlc-25nm"\n[grid]\na.b = [1, nan]', ["grid: a.b[1]"]),
    "no field name": ('config = "mlc-25nm"\n[grid]\n"a b" = [1]', ["grid: found `a b`", "ftl.over_provisioning"]),
    "a field twice": ('config = "mlc-25nm"\n[grid]\n"a.b" = [1]\na.b = [2]', ["grid: found `a.b`", "once"]),
    "a seed in the grid": ('config = "mlc-25nm"\n[grid]\nseed = [1, 2]', ["grid: found `seed`", "`seeds`"]),
    "a policy in the grid": ('config = "mlc-25nm"\n[grid]\n"read.policy" = ["ideal"]', ["read.policy", "`policies`"]),
    "reading in the grid": ('config = "mlc-25nm"\n[grid]\nread = [1]', ["grid: found `read`", "`policies`"]),
    "set and swept": (
        'config = "mlc-25nm"\nset = ["ftl.over_provisioning=0.2"]\n[grid]\n"ftl.over_provisioning" = [0.3]',
        ["set: found ftl.over_provisioning", "grid", "one of them"],
    ),
    "a part set that is swept": (
        'config = "mlc-25nm"\nset = ["decoder.placement.pool=4"]\n[grid]\n"decoder.placement" = [{ per_ssd = 4 }]',
        ["set: found decoder.placement.pool, a part of decoder.placement", "grid"],
    ),
    "a part swept twice": (
        'config = "mlc-25nm"\n[grid]\n"ftl" = [1]\n"ftl.over_provisioning" = [0.3]',
        ["ftl.over_provisioning, a part of ftl"],
    ),
    "a retry twice": (
        'config = "mlc-25nm"\npolicies = ["two_step:restart"]\n[grid]\n"read.retry" = ["restart"]',
        ["read.retry", "policies"],
    ),
    "a seed set and listed": ('config = "mlc-25nm"\nset = ["seed=1"]\nseeds = [1]', ["set: found seed", "seeds"]),
    "both": ('config = "a"\n[grid]\na=[1]\n[latin_hypercube]\nsamples=1', ["both [grid] and [latin_hypercube]"]),
    "no samples": ('config = "a"\n[latin_hypercube]\na = { from = 1, to = 2 }', ["samples: found nothing"]),
    "few samples": ('config = "a"\n[latin_hypercube]\nsamples = 0\na = [1]', ["samples: found 0"]),
    "no fields": ('config = "a"\n[latin_hypercube]\nsamples = 3', ["latin_hypercube: found no fields"]),
    "a lonely value": ('config = "a"\n[latin_hypercube]\nsamples = 3\na = 1', ["latin_hypercube: a: found 1", "from"]),
    "no end": ('config = "a"\n[latin_hypercube]\nsamples = 3\na = { from = 1 }', ["a.to: found nothing", "number"]),
    "ends that are none": (
        'config = "a"\n[latin_hypercube]\nsamples = 3\na = { from = "x", to = 2 }',
        ["a.from: found `x`"],
    ),
    "ends the wrong way": ('config = "a"\n[latin_hypercube]\nsamples = 3\na = { from = 2, to = 1 }', ["a.to: found 1"]),
    "logarithm of zero": (
        'config = "a"\n[latin_hypercube]\nsamples = 3\na = { from = 0, to = 1, log = true }',
        ["a.from: found 0", "logarithmic"],
    ),
    "log no truth value": (
        'config = "a"\n[latin_hypercube]\nsamples = 3\na = { from = 1, to = 2, log = 1 }',
        ["a.log: found 1", "true or false"],
    ),
    "whole parts": (
        'config = "a"\n[latin_hypercube]\nsamples = 3\na = { from = 0.5, to = 2, whole = true }',
        ["whole numbers"],
    ),
    "an unknown end": (
        'config = "a"\n[latin_hypercube]\nsamples = 3\na = { from = 1, to = 2, step = 1 }',
        ["unknown field `step`"],
    ),
    "too many": (
        'config = "a"\nseeds = [1, 2]\n[latin_hypercube]\nsamples = 1000000\na = [1]',
        ["2,000,000 points", "1,000,000"],
    ),
    "frontier no table": ('config = "a"\nfrontier = 1', ["frontier: found 1"]),
    "frontier unknown": ('config = "a"\n[frontier]\npair = []', ["frontier", "`pair`", "pairs"]),
    "pairs no list": ('config = "a"\n[frontier]\npairs = 1', ["frontier.pairs: found 1"]),
    "half a pair": ('config = "a"\n[frontier]\npairs = [{ x = "reads" }]', ["frontier.pairs[0]", "y = "]),
    "an unknown column": (
        'config = "a"\n[frontier]\npairs = [{ x = "reads", y = "speed" }]',
        ["frontier.pairs[0].y: found `speed`", "energy.total_uj", "lifetime = true"],
    ),
    "a lifetime that was not asked for": (
        'config = "a"\n[frontier]\npairs = [{ x = "reads", y = "lifetime.user_capacity" }]',
        ["found `lifetime.user_capacity`", "lifetime = true"],
    ),
    "constraints no list": ('config = "a"\nconstraints = "p99 < 1"', ["constraints: found `p99 < 1`", "list"]),
    "a constraint that is none": ('config = "a"\nconstraints = ["p99 fast"]', ["constraints[0]", "p99 fast", "2 ms"]),
    "a constraint on nothing": (
        'config = "a"\nconstraints = ["reads > 1", "latncy < 1"]',
        ["constraints[1]", "unknown column `latncy`", "lifetime = true"],
    ),
    "all no truth value": ('config = "a"\n[frontier]\nall = 1', ["frontier.all: found 1", "true or false"]),
    "better": (
        'config = "a"\n[frontier]\npairs = [{ x = "reads", y = "writes", better = ["less", "more"] }]',
        ["better: found", "lower and higher"],
    ),
    "lifetime no table": ('config = "a"\n[frontier]\nlifetime = 1', ["frontier.lifetime: found 1"]),
    "lifetime unknown": ('config = "a"\n[frontier]\nlifetime = { years = 5 }', ["`years`", "uber"]),
    "lifetime's level": ('config = "a"\n[frontier]\nlifetime = { level = 8 }', ["level: found 8", "1 to 7"]),
}


@pytest.mark.parametrize("name", BAD_SWEEPS)
def test_a_bad_sweep_file_is_one_error_that_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("")
    text, says = BAD_SWEEPS[name]
    with pytest.raises(SoftsenseError) as error:
        parsed(text)
    assert str(error.value).startswith("s.toml")
    for word in says:
        assert word in str(error.value)


def test_all_that_is_wrong_with_a_sweep_file_is_told_with_its_line() -> None:
    text = """config = "tlc-femu"
policies = ["two-stp"]
seeds = [1, -1]
constraints = ["p99.9 < 2 ms", "latncy < 1"]
polcies = "all"

[grid]
ftl.over-provisioning = [0.2]
"decoder.placement" = 3
"""
    with pytest.raises(ConfigError) as error:
        parsed(text)
    expected = [
        ("s.toml:2: policies: unknown policy 'two-stp'", "did you mean `two_step`?"),
        ("s.toml:3: seeds: found [1, -1], expected a list of whole numbers", ""),
        ("s.toml:9: grid: decoder.placement: found 3, expected a list", ""),
        ("s.toml:5: polcies: found unknown field `polcies`", "did you mean `policies`?"),
    ]
    lines = str(error.value).splitlines()
    assert len(lines) == len(expected), error.value
    for line, (head, tail) in zip(lines, expected, strict=True):
        assert line.startswith(head), line
        assert line.endswith(tail), line
    # What is wrong with columns is told as soon as it is known what is swept.
    with pytest.raises(ConfigError) as error:
        parsed(text.replace("= 3", "= [{ pool = 1 }]"))
    assert len(str(error.value).splitlines()) == 4
    assert "s.toml:4: constraints[1]: found unknown column `latncy`" in str(error.value)


def test_names_in_a_sweep_file_may_be_spelled_in_other_ways() -> None:
    plain = """
    config = "tlc-femu"
    policies = ["look_ahead_progressive", "two_step:restart"]
    [grid]
    "ftl.over_provisioning" = [0.1, 0.2]
    "reliability.table.file" = ["flash-8-9"]
    """
    other = """
    config = "TLC_FEMU"
    policies = ["Look-Ahead-Progressive", "two-step:Restart"]
    [grid]
    ftl.over-provisioning = [0.1, 0.2]
    "reliability.table.file" = ["flash_8/9"]
    """
    one, two = Planned(parsed(plain)), Planned(parsed(other))
    assert [point.id for point in one.points] == [point.id for point in two.points]
    assert [point.setting for point in one.points] == [point.setting for point in two.points]
    assert [point.policy for point in one.points] == [point.policy for point in two.points]


def test_the_schema_of_sweep_files_has_what_they_may_say() -> None:
    from softsense.sweep_models import schema

    known = json.loads(schema())
    assert known == json.loads((ROOT / "schema" / "sweep.schema.json").read_text())
    assert {"config", "search", "grid", "frontier"} <= known["properties"].keys()
    for file in (ROOT / "examples").glob("*.toml"):
        first, *_ = file.read_text().splitlines()
        assert first == "#:schema ../schema/sweep.schema.json"
        Sweep.open(file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('config = "mlc-25"', ["config", "mlc-25", "mlc-25nm"]),
        ('config = "device.toml"', ["config", "device.toml"]),
        ('config = "mlc-25nm"\n[grid]\n"ftl.spare" = [0.1, 0.2]', ["no point", "ftl.spare", "over_provisioning"]),
        ('config = "mlc-25nm"\nset = ["reliability.fast=1"]', ["no point", "reliability"]),
        ('config = "mlc-25nm"\n[[traces]]\nfile = "t.csv"\nformat = "mqsim"', ["traces[0]", "t.csv:1"]),
    ],
    ids=["unknown config", "missing config", "unknown field", "bad override", "bad trace"],
)
def test_what_no_point_could_run_with_is_one_error_before_anything_runs(
    tmp_path: Path, text: str, says: list[str]
) -> None:
    (tmp_path / "t.csv").write_text("0 0 0 eight 1\n")
    file = sweep_file(tmp_path, text)
    with pytest.raises(SoftsenseError) as error:
        sweep(file, out=tmp_path / "out")
    assert str(error.value).startswith(str(file))
    for word in says:
        assert word in str(error.value)
    assert not (tmp_path / "out").exists()


def test_bad_input_ends_the_command_with_2(softsense_process: Softsense, tmp_path: Path) -> None:
    assert_bad_input(softsense_process("sweep", "nowhere.toml"), "nowhere.toml", "No such file")
    (tmp_path / "bad.toml").write_text("config = [")
    assert_bad_input(softsense_process("sweep", "bad.toml"), "bad.toml:1")
    sweep_file(tmp_path)
    assert_bad_input(softsense_process("sweep", "s.toml", "--dask", "tcp://127.0.0.1:9"), "--dask", "cannot connect")
    (tmp_path / "file").write_text("in the way")
    assert_bad_input(softsense_process("sweep", "s.toml", "--out", "file/results"), "file", "cannot write")


# Latin hypercubes.


@given(samples=st.integers(1, 300), seed=st.integers(-5, 2**40))
def test_a_latin_hypercube_meets_every_stratum_of_every_field_once(samples: int, seed: int) -> None:
    fields = {"a": Range(0.07, 0.4), "b": Range(1e-9, 1e6, log=True), "c": Range(-3, 7)}
    cube = LatinHypercube(samples, fields, seed)
    drawn = cube.draw()
    assert len(drawn) == samples
    for name, ends in fields.items():
        low, high = (math.log(ends.low), math.log(ends.high)) if ends.log else (ends.low, ends.high)
        at = [math.log(sample[name]) if ends.log else sample[name] for sample in drawn]
        assert sorted(math.floor((value - low) / (high - low) * samples) for value in at) == list(range(samples))
    assert drawn == LatinHypercube(samples, fields, seed).draw()


def test_a_latin_hypercube_is_a_function_of_its_seed_and_each_field_of_itself() -> None:
    one = LatinHypercube(50, {"a": Range(0, 1), "b": Range(0, 1)}, seed=1)
    assert one.draw() != LatinHypercube(50, one.fields, seed=2).draw()
    assert [s["a"] for s in one.draw()] == [s["a"] for s in LatinHypercube(50, {"a": Range(0, 1)}, seed=1).draw()]
    assert one.shares("a") != one.shares("b")
    # Pinned, so that points of a sweep are the same in a year.
    assert [s["a"] for s in LatinHypercube(3, {"a": Range(0.0, 1.0)}).draw()] == [
        0.397833333333,
        0.834166666667,
        0.311166666667,
    ]


def test_whole_numbers_and_lists_share_the_strata_evenly() -> None:
    cube = LatinHypercube(
        60, {"n": Range(1, 6, whole=True), "placement": ["a", "b", "c"], "m": Range(1, 4, True, True)}
    )
    drawn = cube.draw()
    assert sorted(sample["n"] for sample in drawn) == sorted(list(range(1, 7)) * 10)
    assert sorted(sample["placement"] for sample in drawn) == sorted(["a", "b", "c"] * 20)
    assert {type(sample["m"]) for sample in drawn} == {int}
    assert {sample["m"] for sample in drawn} == {1, 2, 3, 4}


def test_neighbouring_fields_of_a_latin_hypercube_are_not_correlated() -> None:
    """With 400 samples a correlation has a standard deviation of 0.05; what is refused is five of these."""
    cube = LatinHypercube(400, {})
    a, b = cube.shares("a"), cube.shares("b")
    means = sum(a) / 400, sum(b) / 400
    covariance = sum((x - means[0]) * (y - means[1]) for x, y in zip(a, b, strict=True)) / 400
    assert abs(covariance * 12) < 0.25


# The same bytes, whoever simulates, in whatever order, however often it is stopped.


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What one process makes of the slow sweep when nobody disturbs it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    result = sweep(sweep_file(folder, SLOW), out=folder / "out", workers=1)
    assert result.simulated == 8
    return folder / "out"


ONLY_WHERE_THERE = {"wear", "copyback", "slc_cache", "growth", "parity", "refresh", "scrub", "power_loss", "bad_blocks"}
"""Parts of a summary that it has only where the device has them."""


def test_results_are_those_of_single_runs(expected: Path) -> None:
    frame = pl.read_parquet(expected / "sweep.parquet")
    assert frame["point"].to_list() == list(range(1, 13))
    assert frame["ftl.over_provisioning"].to_list() == [0.001] * 4 + [0.15] * 4 + [0.25] * 4
    assert frame["policy"].to_list() == (["two_step"] * 2 + ["look_ahead_progressive"] * 2) * 3
    assert frame["seed"].to_list() == [1, 2] * 6
    row = frame.row(7, named=True)
    overrides = [*SMALL, "workload.requests=60000", "ftl.over_provisioning=0.15"]
    alone = softsense.run("mlc-25nm", policy="look_ahead_progressive", seed=2, overrides=overrides)
    for column in points.SUMMARY_COLUMNS:
        found: Any = alone.summary
        if column == "user_bytes":
            found = alone.config.user_bytes
        elif column == points.FOLLOWS_AGE:
            found = 0
        elif column.startswith("codeword_reads.level_"):
            found = alone.summary["codeword_reads"]["level_histogram"][int(column[-1]) - 1]
        else:
            for key in column.split("."):
                # Nothing is said of what is not there, nor of responses that do not grow.
                is_absent = found is None or (key in ONLY_WHERE_THERE and key not in found)
                found = None if is_absent else found[key]
        assert row[column] == found, column
    assert not [column for column in frame.columns if "machine" in column or "version" in column]


def test_what_fails_is_told_and_costs_nothing_else(expected: Path) -> None:
    frame = pl.read_parquet(expected / "sweep.parquet")
    assert frame["status"].to_list() == ["failed"] * 4 + ["ok"] * 8
    assert all(error.startswith("ftl.over_provisioning: found 0.001, which leaves") for error in frame["error"][:4])
    assert frame["error"][4:].is_null().all()
    assert frame["requests"].to_list() == [None] * 4 + [60_000] * 8
    failures = pl.read_csv(expected / "failures.csv")
    assert failures["point"].to_list() == [1, 2, 3, 4]
    assert failures["error"].to_list() == frame["error"][:4].to_list()


def test_more_processes_make_the_same_bytes(expected: Path, tmp_path: Path) -> None:
    sweep(sweep_file(tmp_path, SLOW), out=tmp_path / "out", workers=3)
    assert sha256(tmp_path / "out") == sha256(expected)


class Shuffled(ThreadPoolExecutor):
    """Does jobs in an order drawn by lot, once a number of them are there."""

    def __init__(self, jobs: int) -> None:
        super().__init__(jobs // 2)
        self._lot, self._jobs, self._held = random.Random(1), jobs, []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As any executor."""
        future: Future[Any] = Future()
        self._held.append((future, fn, args))
        if len(self._held) == self._jobs:
            self._lot.shuffle(self._held)
            for each, function, arguments in self._held:
                super().submit(lambda e=each, f=function, a=arguments: e.set_result(f(*a)))
        return future


def test_the_order_in_which_points_end_changes_no_byte(expected: Path, tmp_path: Path) -> None:
    with Shuffled(8) as executor:
        sweep(sweep_file(tmp_path, SLOW), out=tmp_path / "out", workers=executor)
    assert sha256(tmp_path / "out") == sha256(expected)


def wait_until(ready: Callable[[], bool]) -> None:
    """At most four minutes: on a machine that does other work a point may take one."""
    deadline = time.monotonic() + 240
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def finished(folder: Path) -> int:
    """Points that are kept; none while files are made one."""
    try:
        parts = (folder / "points").glob("[0-9a-f]*.parquet")
        return sum(len(pl.read_parquet(part)) for part in parts)
    except FileNotFoundError:
        return 0


def descendants(process: int) -> set[int]:
    """The processes that a process has begun, and theirs."""
    found: set[int] = set()
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | descendants(child)
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill_at(command: list[str], folder: Path, count: int, how: int = signal.SIGKILL) -> subprocess.Popen[str]:
    """Run a sweep until `count` points are kept, and kill it."""
    out = folder / "out"
    process = subprocess.Popen(
        [*COMMAND, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: finished(out) >= count or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    begun = descendants(process.pid) if Path("/proc").is_dir() else set()
    if how == signal.SIGKILL:
        process.kill()
        process.communicate()
        wait_until(lambda: not any(map(alive, begun)))
    else:
        # A terminal tells all of them.
        os.killpg(process.pid, how)
    return process


SWEEP = ["sweep", "s.toml", "--out", "out", "--json"]


def test_a_killed_sweep_resumes_to_the_same_bytes(softsense_process: Softsense, expected: Path, tmp_path: Path) -> None:
    """Killed twice with SIGKILL, which leaves no process behind; no finished point is simulated again."""
    sweep_file(tmp_path, SLOW)
    kill_at([*SWEEP, "--workers", "1"], tmp_path, 1)
    first = finished(tmp_path / "out")
    kill_at([*SWEEP, "--workers", "2"], tmp_path, first + 1)
    second = finished(tmp_path / "out")
    assert 1 <= first < second < 8
    assert not (tmp_path / "out" / "sweep.parquet").exists()
    # A file that was not finished when it was killed.
    (tmp_path / "out" / "points" / ".softsense-torn.parquet").write_bytes(b"PAR1")
    result = sweep(tmp_path / "s.toml", out=tmp_path / "out", workers=1)
    assert result.simulated == 8 - second
    assert sha256(tmp_path / "out") == sha256(expected)
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.name != "report.html") == [
        ".plan.json",
        ".progress.json",
        "designs.csv",
        "failures.csv",
        "frontier.png",
        "points",
        "sweep.parquet",
    ]
    assert len(list((tmp_path / "out" / "points").iterdir())) == 1, "one file"


def test_ctrl_c_keeps_what_is_finished_and_tells_it(expected: Path, tmp_path: Path) -> None:
    sweep_file(tmp_path, SLOW)
    started = kill_at([*SWEEP, "--workers", "1"], tmp_path, 2, signal.SIGINT)
    output, errors = started.communicate(timeout=30)
    assert started.returncode == 130, errors
    assert "Traceback" not in errors
    document = json.loads(output)
    assert document["interrupted"]
    assert 2 <= document["ok"] < 8
    assert document["failed"] == 4
    assert {row["status"] for row in document["rows"]} == {"ok", "failed", "not simulated"}
    assert not (tmp_path / "out" / "sweep.parquet").exists()
    result = sweep(tmp_path / "s.toml", out=tmp_path / "out", workers=1)
    assert result.simulated == 8 - document["ok"]
    assert sha256(tmp_path / "out") == sha256(expected)


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_makes_the_same_bytes(softsense_process: Softsense, expected: Path, tmp_path: Path) -> None:
    """The sweep is killed once on it."""
    sweep_file(tmp_path, SLOW)
    with dask_cluster(2) as cluster:
        command = [*SWEEP, "--dask", cluster.scheduler_address]
        kill_at(command, tmp_path, 1)
        done = softsense_process(command)
        assert done.returncode == 0, done.stderr
        assert sha256(tmp_path / "out") == sha256(expected)
        with cluster.get_client() as client:
            again = sweep(sweep_file(tmp_path), out=tmp_path / "quick", workers=client)
    assert json.loads(done.stdout)["ok"] == again.count("ok") == 8


# Workers that die, or are not what they should be.


def test_a_process_that_dies_costs_no_point(expected: Path, tmp_path: Path) -> None:
    """Whoever was in flight with it is tried again, alone."""
    killed: list[int] = []

    def kill_one() -> None:
        wait_until(lambda: finished(tmp_path / "out") > 0)
        for process in multiprocessing.active_children()[:1]:
            assert process.pid is not None
            killed.append(process.pid)
            process.kill()

    thread = threading.Thread(target=kill_one)
    thread.start()
    result = sweep(sweep_file(tmp_path, SLOW), out=tmp_path / "out", workers=2)
    thread.join()
    assert killed
    assert result.count("ok") == 8
    assert sha256(tmp_path / "out") == sha256(expected)


class Doomed:
    """Stands for processes of which one dies whenever it is given one of some points."""

    most, here = 2, False

    def __init__(self, doomed: Callable[[points.Job], bool]) -> None:
        self._doomed, self._held = doomed, []

    def __call__(self, workers: int) -> Doomed:
        """As the class itself."""
        return self

    def submit(self, job: points.Job) -> Future[Any]:
        """As `points.Processes` does, with two jobs at a time."""
        future: Future[Any] = Future()
        self._held.append((job, future))
        threading.Timer(0.05, self._do).start()
        return future

    def _do(self) -> None:
        held, self._held = self._held, []
        dies = any(self._doomed(job) for job, _ in held)
        for job, future in held:
            if dies:
                future.set_exception(BrokenProcessPool("gone"))
            else:
                future.set_result(points.work(job))

    def close(self, stop: bool = True) -> None:
        """As `points.Processes`."""


def test_a_point_that_always_kills_its_process_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeping, "Processes", Doomed(lambda job: "seed=2" in job.overrides))
    result = sweep(sweep_file(tmp_path, TWELVE.replace("0.001, ", "")), out=tmp_path / "out", workers=2)
    assert result.frame["status"].to_list() == ["ok", "failed"] * 4
    assert result.failures["error"].str.contains("died.*out of memory").all()
    monkeypatch.undo()
    again = sweep(tmp_path / "s.toml", out=tmp_path / "out", workers=1)
    assert (again.simulated, again.count("ok")) == (4, 8), "points that failed are tried again"


class Raising(Executor):
    """Answers every job with the same error."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As any executor."""
        future: Future[Any] = Future()
        future.set_exception(self._error)
        return future


class KilledWorker(Exception):  # noqa: N818
    """As Dask's."""


IMPATIENT = """
import os, signal, threading
import softsense.sweep
from softsense.points import Processes

if __name__ == "__main__":
    for _ in range(5):
        processes = Processes(2)
        future = processes.submit(None)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        processes.close(stop=True)
        assert not future.cancel()
    print("closed")
"""


def test_processes_that_still_start_outlast_an_impatient_ctrl_c(tmp_path: Path) -> None:
    """What they ask the pool for is still there: they say nothing, and nothing is leaked."""
    script = tmp_path / "impatient.py"
    script.write_text(IMPATIENT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n", "")


def test_workers_that_are_lost_are_one_error_and_a_killed_one_fails_its_point(tmp_path: Path) -> None:
    file = sweep_file(tmp_path)
    with pytest.raises(SoftsenseError, match="workers: ModuleNotFoundError: No module named 'softsense'"):
        sweep(file, out=tmp_path / "out", workers=Raising(ModuleNotFoundError("No module named 'softsense'")))
    with pytest.raises(SoftsenseError, match="workers: found that all workers are gone"):
        sweep(file, out=tmp_path / "out", workers=Raising(CancelledError()))
    result = sweep(file, out=tmp_path / "out", workers=Raising(KilledWorker("key", "worker")))
    assert result.count("failed") == 12
    assert "died" in result.failures["error"][11]


def test_workers_with_another_version_are_refused(tmp_path: Path) -> None:
    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(lambda: points.Outcome("another", {}))

    with Elsewhere(1) as executor, pytest.raises(SoftsenseError, match="another version"):
        sweep(sweep_file(tmp_path), out=tmp_path / "out", workers=executor)


def test_an_identity_that_was_derived_amiss_costs_no_point(tmp_path: Path) -> None:
    """What a worker says is what the core says here, too: so no other version is at work there."""
    planned = Planned(Sweep.open(sweep_file(tmp_path)))
    planned.jobs = {id_: replace(job, sha256="0" * 64) for id_, job in planned.jobs.items()}
    with ThreadPoolExecutor(1) as executor:
        assert sweep(planned, out=tmp_path / "out", workers=executor).count("ok") == 8


def test_a_panic_is_a_failed_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def panics(*_: Any, **__: Any) -> None:
        raise PanicException("index out of bounds:\n the len is 3")

    monkeypatch.setattr(working, "run", panics)
    job = next(iter(Planned(parsed(TWELVE)).jobs.values()))
    assert points.work(job).error == "PanicException: index out of bounds: the len is 3"


# What is kept.


def test_a_changed_sweep_keeps_the_points_that_are_still_in_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    small = TWELVE.replace("0.001, ", "")
    first = sweep(sweep_file(tmp_path, small), out=out, workers=1)
    assert first.simulated == 8
    other = sweep(sweep_file(tmp_path, small.replace("0.25]", "0.3]")), out=out, workers=1)
    assert other.simulated == 4
    assert other.frame["ftl.over_provisioning"].to_list() == [0.15] * 4 + [0.3] * 4
    back = sweep(sweep_file(tmp_path, small), out=out, workers=1)
    assert back.simulated == 0
    assert back.frame.equals(first.frame)


def test_points_that_are_the_same_are_simulated_once(tmp_path: Path) -> None:
    """The config says `restart_on_jumps`, so that saying so makes no other point."""
    text = f"""
    config = "mlc-25nm"
    policies = ["two_step", "two_step:restart_on_jumps"]
    set = {json.dumps(SMALL)}
    [latin_hypercube]
    samples = 4
    "read.max_level" = {{ from = 6, to = 7, whole = true }}
    """
    result = sweep(sweep_file(tmp_path, text), out=tmp_path / "out", workers=1)
    assert result.simulated == 2
    assert result.frame["requests"].to_list() == [3000] * 8
    assert result.frame["id"].n_unique() == 2


def damage(part: Path) -> None:
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(bytes(content))


@pytest.mark.parametrize("spoil", [damage, lambda part: part.write_bytes(part.read_bytes()[:100])])
def test_a_damaged_file_is_one_error(tmp_path: Path, spoil: Callable[[Path], Any]) -> None:
    file = sweep_file(tmp_path)
    sweep(file, out=tmp_path / "out", workers=1)
    (part,) = (tmp_path / "out" / "points").glob("*.parquet")
    spoil(part)
    with pytest.raises(FileError, match=rf"{part.name}: found a damaged file"):
        sweep(file, out=tmp_path / "out", workers=1)
    part.unlink()
    assert sweep(file, out=tmp_path / "out", workers=1).simulated == 8


def test_a_folder_is_one_sweep_s_at_a_time(tmp_path: Path) -> None:
    file = sweep_file(tmp_path)
    at_work = f"process {os.getpid()} on .* at work in this folder"
    with points.Kept(tmp_path / "out" / "points"), pytest.raises(FileError, match=rf"points: found {at_work}"):
        sweep(file, out=tmp_path / "out", workers=1)
    with Folder(tmp_path / "out"), pytest.raises(FileError, match=rf"out: found {at_work}"):
        sweep(file, out=tmp_path / "out", workers=1)


def test_many_small_files_are_made_one(tmp_path: Path) -> None:
    def row(i: int) -> dict[str, Any]:
        return {"id": f"{i:064}", "requests": i, "simulated_s": i / 7, "energy.total_uj": 1}

    with points.Kept(tmp_path / "points") as kept:
        for i in range(200):
            kept.add([row(i)])
        assert len(list((tmp_path / "points").glob("*.parquet"))) < 100
        kept.add([row(7)])
    with points.Kept(tmp_path / "points") as kept:
        assert len(kept.ids) == 200
        kept.merge()
        frame = kept.frame()
        assert frame["requests"].to_list() == list(range(200))
        assert frame["simulated_s"].to_list() == [i / 7 for i in range(200)]
    assert len(list((tmp_path / "points").glob("*.parquet"))) == 1


# Traces.


def trace_lines(requests: int, extent: int, step: int = 7919) -> str:
    return "".join(f"{i * 50_000} 0 {(i * step % extent) * 8} 8 {int(i % 10 < 7)}\n" for i in range(requests))


def test_traces_are_replayed_and_known_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "one.trace").write_text(trace_lines(2000, 4096))
    (tmp_path / "two.trace").write_text(trace_lines(1000, 2048))
    (tmp_path / "far.trace").write_text("0 0 0 8 1\n1000 0 8000000000 8 1\n")
    text = f"""
    config = "mlc-25nm"
    set = {json.dumps(SMALL)}
    traces = [
        {{ file = "one.trace", format = "mqsim" }},
        {{ file = "two.trace", format = "mqsim", name = "short" }},
        {{ file = "far.trace", format = "mqsim" }},
    ]
    """
    out = tmp_path / "out"
    result = sweep(sweep_file(tmp_path, text), out=out, workers=2)
    assert result.frame["trace"].to_list() == ["one.trace", "short", "far.trace"]
    assert result.frame["requests"].to_list() == [2000, 1000, None]
    assert result.frame["status"].to_list() == ["ok", "ok", "failed"]
    assert result.failures["error"][0].startswith("far.trace:2: ")
    assert 'beyond = "wrap"' in result.failures["error"][0]
    assert [frontier.trace for frontier in result.frontiers] == ["one.trace", "short", "far.trace"]
    described = dict(result.planned.describe())
    assert "mqsim" in described["trace"]
    # Elsewhere, under another name, it is the same trace; with other content it is another one.
    (tmp_path / "one.trace").rename(tmp_path / "uno.trace")
    (tmp_path / "two.trace").write_text(trace_lines(1000, 2048, 4099))
    result = sweep(sweep_file(tmp_path, text.replace("one.", "uno.")), out=out, workers=1)
    assert result.simulated == 1
    result = sweep(sweep_file(tmp_path, f'beyond = "wrap"\n{text.replace("one.", "uno.")}'), out=out, workers=1)
    assert result.simulated == 3
    assert result.frame["status"].to_list() == ["ok"] * 3


def test_a_trace_that_changes_under_way_is_a_failed_point(tmp_path: Path) -> None:
    (tmp_path / "one.trace").write_text(trace_lines(20, 4096))
    text = f'config = "mlc-25nm"\nset = {json.dumps(SMALL)}\ntraces = [{{ file = "one.trace", format = "mqsim" }}]'
    planned = Planned(Sweep.open(sweep_file(tmp_path, text)))
    (tmp_path / "one.trace").write_text(trace_lines(30, 4096))
    result = sweep(planned, out=tmp_path / "out", workers=1)
    assert "found other content" in result.failures["error"][0]


# Columns.


def test_swept_fields_keep_their_types_and_never_hide_a_result(tmp_path: Path) -> None:
    text = f"""
    config = "mlc-25nm"
    set = {json.dumps(SMALL)}
    [grid]
    "energy.sense_uj" = [2.4, 3]
    "decoder.placement" = [{{ per_channel = 1 }}, {{ pool = 4 }}]
    "host.reads_first" = [true, false]
    "read.retry" = ["restart", "incremental"]
    "precondition.pe_cycles" = [5000]
    """
    frame = sweep(sweep_file(tmp_path, text), out=tmp_path / "out", workers=2).frame
    assert frame["config.energy.sense_uj"].to_list()[::8] == [2.4, 3.0]
    assert frame["energy.sense_uj"].dtype == pl.Float64
    assert frame["energy.sense_uj"][0] > 1000
    assert frame["decoder.placement"].to_list()[:8:4] == ["{ per_channel = 1 }", "{ pool = 4 }"]
    assert frame["host.reads_first"].dtype == pl.Boolean
    assert frame["read.retry"].to_list()[:2] == ["restart", "incremental"]
    assert frame["precondition.pe_cycles"].dtype == pl.Int64


def test_a_drive_is_compared_with_one_that_lacks_something(tmp_path: Path) -> None:
    """`none` takes a table of the config away, and is one of the values of a field."""
    suspends = "{ program_us = 30.0, erase_us = 60.0, resume_us = 20.0 }"
    shipped = (ROOT / "configs/mlc-25nm.toml").read_text()
    (tmp_path / "suspends.toml").write_text(f"{shipped}\n[flash.suspend]\n{suspends[2:-2].replace(', ', chr(10))}\n")
    text = f"""
    config = "suspends.toml"
    set = {json.dumps([*SMALL, "workload.read_fraction=0.5"])}
    [grid]
    "flash.suspend" = ["none", {suspends}]
    """
    frame = sweep(sweep_file(tmp_path, text), out=tmp_path / "out", workers=1).frame
    assert frame["flash.suspend"].to_list() == ["none", suspends]
    without, with_it = frame["operations.suspensions"]
    assert without == 0 < with_it


LIVES = """
config = "tlc-femu"
policies = ["progressive", "two_step"]
seeds = [1, 2]
set = ["geometry.channels=2", "geometry.chips_per_channel=1", "geometry.blocks_per_plane=160",
       "geometry.pages_per_block=24", "workload.requests=2000", "workload.footprint_bytes=67108864",
       "workload.arrivals.poisson.requests_per_s=500.0"]
[grid]
"ftl.over_provisioning" = [0.15, 0.3]
"precondition.pe_cycles" = [500, 3000]
[frontier]
lifetime = true
"""


def test_lifetimes_are_those_of_softsense_lifetime_once_for_each_device(tmp_path: Path) -> None:
    from softsense.lifetime import lifetime

    result = sweep(sweep_file(tmp_path, LIVES), out=tmp_path / "out", workers=2)
    assert result.count("ok") == 16
    assert len(result.planned.lifetimes) == 2
    row = result.frame.row(-1, named=True)
    overrides = [*parsed(LIVES).overrides, "ftl.over_provisioning=0.3", "precondition.pe_cycles=3000"]
    found = lifetime(softsense.load_config("tlc-femu", overrides)).frame.to_dicts()[0]
    for column in points.LIFETIME_COLUMNS:
        assert row[column] == found[column.removeprefix("lifetime.")], column
    latency, lives = result.frontiers
    assert latency.pair.x == "response.read.mean_us"
    assert len(latency.designs) == 8
    assert {len(design.points) for design in latency.designs} == {2}
    assert [dict(design.setting) for design in lives.designs] == [
        {"ftl.over_provisioning": 0.15},
        {"ftl.over_provisioning": 0.3},
    ]
    assert len(lives.best) == 2, "more spare flash lasts longer, and leaves less to the user"


def test_a_lifetime_that_cannot_be_found_costs_no_simulation(tmp_path: Path) -> None:
    text = LIVES.replace("tlc-femu", "mlc-laldpc").replace('"geometry.chips_per_channel=1", ', "")
    text = text.replace('"geometry.channels=2"', '"geometry.channels=2", "ftl.mapping=page"')
    result = sweep(sweep_file(tmp_path, text), out=tmp_path / "out", workers=2)
    assert result.count("lifetime failed") == len(result.frame) == 16
    assert result.failures["error"].str.starts_with("lifetime: table laldpc-thresholds").all()
    assert (result.frame["requests"] == 2000).all()


# Frontiers.

few = st.integers(0, 6)


@given(
    places=st.lists(st.tuples(few, few), max_size=30),
    better=st.tuples(st.sampled_from(["lower", "higher"]), st.sampled_from(["lower", "higher"])),
)
def test_the_frontier_is_what_nothing_dominates(places: list[tuple[int, int]], better: tuple[str, str]) -> None:
    signs = [1 if each == "lower" else -1 for each in better]

    def dominates(a: tuple[int, int], b: tuple[int, int]) -> bool:
        no_worse = all(sign * x <= sign * y for sign, x, y in zip(signs, a, b, strict=True))
        return no_worse and a != b

    expected = [i for i, place in enumerate(places) if not any(dominates(other, place) for other in places)]
    assert sorted(pareto([(float(x), float(y)) for x, y in places], better)) == expected


def test_designs_are_means_over_seeds(expected: Path, tmp_path: Path) -> None:
    frame = pl.read_parquet(expected / "sweep.parquet")
    (frontier,) = sweep(sweep_file(tmp_path, SLOW), out=expected, workers=1).frontiers
    assert [design.points for design in frontier.designs] == [(5, 6), (7, 8), (9, 10), (11, 12)]
    assert frontier.designs[0].x == pytest.approx(frame["response.read.mean_us"][4:6].mean(), rel=1e-12)
    assert frontier.designs[0].y == pytest.approx(frame["energy.mean_request_uj"][4:6].mean(), rel=1e-12)
    assert all(design in frontier.designs for design in frontier.best)


# The command.


def test_the_command_prints_frontiers_and_failures_and_writes_results(
    softsense_command: Softsense, tmp_path: Path
) -> None:
    sweep_file(tmp_path)
    done = softsense_command("sweep", "s.toml", "--workers", "2")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "progress is for terminals"
    for words in (
        "12 points",
        "mlc-25nm",
        "Response time of reads, mean (us)",
        "of 4 designs",
        "Points that failed: 4",
    ):
        assert words in done.stdout
    assert "8 of 12 points are simulated, 4 failed." in done.stdout
    for name in ("sweep.parquet", "failures.csv", "frontier.png"):
        assert f"out/s/{name}" in done.stdout
        assert (tmp_path / "out" / "s" / name).stat().st_size > 0
    assert (tmp_path / "out" / "s" / "frontier.png").read_bytes().startswith(b"\x89PNG")
    again = softsense_command("sweep", "s.toml", "--json")
    document = json.loads(again.stdout)
    assert (document["points"], document["ok"], document["failed"]) == (12, 8, 4)
    assert len(document["rows"]) == 12
    assert document["frontiers"][0]["frontier"]
    assert "12 points" in again.stderr


def test_a_sweep_of_which_every_point_fails_ends_with_2(softsense_command: Softsense, tmp_path: Path) -> None:
    (tmp_path / "far.trace").write_text("0 0 0 8 1\n1000 0 8000000000 8 1\n")
    text = f'config = "mlc-25nm"\nset = {json.dumps(SMALL)}\ntraces = [{{ file = "far.trace", format = "mqsim" }}]'
    sweep_file(tmp_path, text)
    done = softsense_command("sweep", "s.toml")
    assert done.returncode == 2
    assert "far.trace" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "s" / "failures.csv").exists()


def test_a_report_shows_frontiers_and_failures(expected: Path) -> None:
    text = (expected / "report.html").read_text()
    assert "On the frontier" in text
    assert "Points that failed" in text
    assert "All points" in text
    assert str(expected) not in text
    assert str(Path.home()) not in text


def test_workers_import_nothing_heavy() -> None:
    code = "import sys, softsense.points, softsense.sweep; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"matplotlib", "polars", "rich", "scipy", "pandas"} & set(done.stdout.split())


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.stem)
def test_examples_are_sweeps(file: Path) -> None:
    planned = Planned(Sweep.open(file))
    assert not [point.error for point in planned.points if point.error]


# Large sweeps, of which tests/big_sweep.py measures 100,000 points.

MIXED = """
config = "tlc-femu"
policies = ["two_step", "look-ahead-progressive"]
seeds = [3, 1]
set = ["workload.requests=2000"]

[latin_hypercube]
samples = 40
"ftl.over_provisioning" = { from = 0.07, to = 0.4 }
"reliability.table.variation.chip_sigma" = { from = 1e-6, to = 0.1, log = true }
"reliability.table.file" = ["flash-8/9", "flash-32-35"]
"precondition.retention_days" = [0, 30, 30.0, 1e-5]
"precondition.pe_cycles" = { from = 500, to = 6000, whole = true }
"flash.busy_unit" = ["die", "Plane"]
"decoder.placement" = [{ per_channel = 1 }, { pool = 4 }]
"host.reads_first" = [true, false]

[frontier]
lifetime = true
"""
AGES = """
config = "disksim-ssd"
[latin_hypercube]
samples = 40
"precondition.retention_days" = [0, 30, 30.0, 0.001, 90]
"precondition.pe_cycles" = [0, 1, 10000, 5000, 7]
"""


@pytest.mark.parametrize("text", [MIXED, AGES, TWELVE.replace("0.001, ", "")], ids=["mixed", "ages", "grid"])
def test_a_config_derived_from_another_one_is_that_of_the_core(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Large sweeps put numbers into the text of one config, and must know points by what the core would call them."""
    made = []
    for checked in (10**9, 0):
        monkeypatch.setattr(planned_points, "MOST_CHECKED", checked)
        monkeypatch.setattr(resolving, "_COMPARED", 0)
        if checked:
            # Nothing is derived, not even seeds.
            monkeypatch.setattr(resolving._Frame, "derived", lambda *_: None)
        made.append(Planned(parsed(text)))
        monkeypatch.undo()
    one_by_one, derived = made
    assert derived.points == one_by_one.points
    assert derived.jobs == one_by_one.jobs
    assert derived.lifetimes == one_by_one.lifetimes


def test_few_configs_of_a_large_sweep_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    monkeypatch.setattr(
        Planned, "_config", lambda self, overrides, was=Planned._config: opened.append(1) or was(self, overrides)
    )
    text = 'config = "tlc-femu"\npolicies = ["two_step", "progressive"]\n[latin_hypercube]\nsamples = 4000\n'
    planned = Planned(
        parsed(text + '"ftl.over_provisioning" = { from = 0.07, to = 0.4 }\n"flash.busy_unit" = ["die", "plane"]')
    )
    assert len(planned.jobs) == 8000
    assert len(opened) < 100


def test_numbers_that_make_no_sense_fail_their_points_in_a_large_sweep_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers say so, in the words of the plan of a small sweep."""
    plain = sweep(sweep_file(tmp_path), out=tmp_path / "small", workers=1)
    monkeypatch.setattr(planned_points, "MOST_CHECKED", 0)
    monkeypatch.setattr(resolving, "_COMPARED", 0)
    # The first is right: others are not known to be wrong.
    text = TWELVE.replace("[0.001, 0.15, 0.25]", "[0.25, 0.15, 0.001]")
    result = sweep(sweep_file(tmp_path, text), out=tmp_path / "large", workers=2)
    assert not [point.error for point in result.planned.points if point.error]
    assert result.frame["status"].to_list() == ["ok"] * 8 + ["failed"] * 4
    assert result.frame["error"][8:].to_list() == plain.frame["error"][:4].to_list()
    assert result.frame["id"][:8].sort().to_list() == plain.frame["id"][4:].sort().to_list()


def test_a_large_sweep_has_light_results(softsense_command: Softsense, tmp_path: Path) -> None:
    """Its report has every design of its frontiers, says what it leaves out and where that is; so has its page."""
    file = sweep_file(tmp_path, big_sweep.HEAD + big_sweep.SAMPLES.format(points=5000))
    for seed, out in enumerate(("out", "other")):
        big_sweep.made_up(file, tmp_path / out, seed)
    result = sweep(file, out=tmp_path / "out", workers=1)
    for out in ("out", "other"):
        done = softsense_command(["sweep", "s.toml", "--out", out, "--workers", "1"])
        assert done.returncode == 0, done.stderr
    assert (len(result.frame), result.simulated) == (5000, 0)
    report = (tmp_path / "out" / "report.html").read_text()
    assert len(report.encode()) < 1_000_000
    charts = json.loads(report.partition('id="charts">')[2].partition("</script>")[0])
    for frontier, chart in zip(result.frontiers, charts, strict=False):
        (drawn,) = (each for each in chart["series"] if each["name"] == "frontier")
        assert drawn["x"] == [float(f"{design.x:.7g}") for design in frontier.best]
        points_drawn = sum(len(each["x"]) for each in chart["series"] if each["kind"] == "points")
        assert len(frontier.best) <= points_drawn <= len(frontier.best) + 2000
    marginals = [chart for chart in charts if chart["title"].endswith(", by precondition.pe_cycles")]
    assert marginals[0]["y"]["label"] == "response time of reads, mean (us)"
    youngest = result.frame.sort("precondition.pe_cycles").head(250)
    ages = youngest["response.read.mean_us"]
    (series,) = marginals[0]["series"]
    assert series["x"][0] == youngest["precondition.pe_cycles"].median()
    assert series["y"][0] == pytest.approx(ages.median())
    assert series["lo"][0] == pytest.approx(ages.quantile(0.1, "linear"))
    for words in ("designs are drawn: those on the frontier", "100 of 5,000 points, by lot", "sweep.parquet"):
        assert words in report
    assert (tmp_path / "out" / ".plan.json").stat().st_size < 1_000_000
    state = Results(tmp_path / "out").state()
    assert (state["runs"][0]["points"]["planned"], state["runs"][0]["points"]["of"]) == (1000, 5000)
    assert len(json.dumps(state)) < 1_000_000
    compared = softsense_command(["results", "compare", "out", "other"])
    assert "and 4,960 more rows; --json has all of them" in compared.stdout
    assert "Ratios of other to out, of all" in compared.stdout
    assert len(compared.stdout) < 60_000


def test_a_small_sweep_has_all_points_in_its_report(expected: Path) -> None:
    report = (expected / "report.html").read_text()
    assert "What each field does" not in report
    assert report.count("<tr data-row=") == 12
