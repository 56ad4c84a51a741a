"""Are frame error rates right, the same whoever counts them, and never lost once they are counted?"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

import softsense
from conftest import Softsense, dask_cluster
from softsense import Code, Config, ConfigError, FileError, Store, _core, campaign, codes, sampling, strata
from softsense.counts import Counts
from softsense.folders import Results
from softsense.runner import Runner
from test_cli import assert_bad_input

BCH = "bch:m=8,t=5,k=215"
QUICK = ["fer", BCH, "--method", "weight", "--rber", "0.004,0.01", "--json"]
"""A campaign of no time."""

COMMAND = [sys.executable, "-c", "import sys; from softsense.cli import main; sys.exit(main())"]


class FakeTask:
    """Frames that fail with a known probability, without a decoder."""

    def __init__(
        self, seed: int, bits: int = 2000, middle: float = 60, width: float = 6, unit_frames: int = 1000
    ) -> None:
        self.seed, self.codeword_bits, self.middle, self.width = seed, bits, middle, width
        self.unit_frames = unit_frames
        self.spec_json = json.dumps([seed, bits, middle, width])
        self.identity = hashlib.sha256(self.spec_json.encode()).hexdigest()

    def failure(self, errors: int) -> float:
        """F: a normal distribution function, or a step where `width` is 0."""
        if self.width == 0:
            return float(errors > self.middle)
        return 0.5 * math.erfc((self.middle - errors) / self.width / math.sqrt(2))

    def count(self, errors: int | None, first_unit: int, units: int, stop: object = None) -> dict[str, Any]:
        """As the real one counts."""
        assert errors is not None
        drawn = [np.random.default_rng([self.seed, errors, first_unit + i]) for i in range(units)]
        failures = sum(int(chance.binomial(self.unit_frames, self.failure(errors))) for chance in drawn)
        frames = units * self.unit_frames
        return {"frames": frames, "failures": failures, "undetected": 0, "iterations": [frames - failures]}

    def rate(self, rber: float) -> float:
        """The frame error rate, exactly."""
        weights = strata.binomial_weights(self.codeword_bits, rber)
        return float(weights @ np.array([self.failure(w) for w in range(self.codeword_bits + 1)]))


class Shuffled(Executor):
    """Does jobs one at a time, in an order drawn by lot from those that are there."""

    def __init__(self, seed: int) -> None:
        self._lot = random.Random(seed)
        self._jobs: list[tuple[Future[Any], Any, tuple[Any, ...]]] = []
        self._some = threading.Semaphore(0)
        self.done = 0
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As any executor."""
        future: Future[Any] = Future()
        self._jobs.append((future, fn, args))
        self._some.release()
        return future

    def _work(self) -> None:
        while True:
            self._some.acquire()
            future, fn, args = self._jobs.pop(self._lot.randrange(len(self._jobs)))
            future.set_result(fn(*args))
            self.done += 1


def sampled(task: FakeTask, rbers: list[float], goal: sampling.Goal, workers: Any = 1, every: bool = False) -> Any:
    """Strata of a task, sampled for these raw bit error rates, and the store they are in."""
    store = Store()
    rungs = strata.ladder(task.codeword_bits, every)
    guess = 1.2 * rbers[-1] * task.codeword_bits
    plan = sampling.sample_by_weight(task, rbers, goal, store.counts, rungs, guess)
    found = Runner(store, workers, "fake").run([plan])[0]
    assert found is not None
    return found, store


def rows(store: Store | Path) -> list[tuple[Any, ...]]:
    """Every row of a store."""
    if isinstance(store, Store):
        return store._base.execute("SELECT * FROM counts").fetchall()
    base = sqlite3.connect(store)
    try:
        return base.execute("SELECT * FROM counts").fetchall()
    finally:
        base.close()


# Whoever counts.


def test_counts_do_not_depend_on_threads_or_processes() -> None:
    """The same documents from 1, 2 and 4 threads and a pool of processes, for strata and for frames as they come."""
    for arguments in (
        {"code": BCH, "rber": "0.004,0.01", "method": "weight"},
        {"code": "flash-8/9", "rber": "0.0152", "levels": "2", "relative_error": 0.5},
    ):
        expected = softsense.measure_fer(**arguments, workers=1).to_dict()
        assert expected["points"][0]["failures"] > 0
        for workers in (2, 4):
            assert softsense.measure_fer(**arguments, workers=workers).to_dict() == expected
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            assert softsense.measure_fer(**arguments, workers=pool).to_dict() == expected


@pytest.mark.law
@pytest.mark.filterwarnings("ignore")
def test_counts_are_the_same_from_a_dask_cluster(softsense_process: Softsense) -> None:
    command = ["fer", "flash-8/9", "--rber", "0.0085", "--relative-error", "0.3", "--json"]
    expected = softsense_process(command)
    assert expected.returncode == 0, expected.stderr
    with dask_cluster(2) as cluster:
        done = softsense_process(command, "--dask", cluster.scheduler_address)
        assert done.returncode == 0, done.stderr
        assert done.stdout == expected.stdout
    assert json.loads(done.stdout)["points"][0]["failures"] > 1000


@settings(max_examples=20, deadline=None)
@given(order=st.integers(0, 2**32), seed=st.integers(0, 3))
def test_what_is_sampled_does_not_depend_on_the_order_in_which_jobs_end(order: int, seed: int) -> None:
    goal = sampling.Goal(relative_error=0.1, frames=2_000_000)
    expected, store = sampled(FakeTask(seed), [0.012, 0.02], goal)
    shuffled = Shuffled(order)
    found, other = sampled(FakeTask(seed), [0.012, 0.02], goal, shuffled)
    assert shuffled.done > 20
    assert rows(other) == rows(store)
    assert (found.failed == expected.failed).all()


def test_workers_with_another_version_are_refused() -> None:
    class Elsewhere(Shuffled):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            return super().submit(lambda *a: ("another", *fn(*a)[1:]), *args)

    with pytest.raises(softsense.SoftsenseError, match="another version"):
        sampled(FakeTask(1), [0.02], sampling.Goal(), Elsewhere(1))


def test_a_worker_that_dies_is_one_error() -> None:
    class Dying(Shuffled):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(OSError("gone"))
            return future

    with pytest.raises(softsense.SoftsenseError, match="workers: OSError: gone"):
        sampled(FakeTask(1), [0.02], sampling.Goal(), Dying(1))


# Stopped and resumed.


def wait_until(ready: Callable[[], bool]) -> None:
    """At most four minutes: on a machine that does other work a point may take one."""
    deadline = time.monotonic() + 240
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.01)


MEASURED = ["--rber", "0.0074,0.0078", "--relative-error", "0.25"]
JUDGED = ["--rber", "0.0079", "--relative-error", "0.25", "--judge", "2"]


@pytest.mark.parametrize(
    "options", [pytest.param(MEASURED, id="measured"), pytest.param(JUDGED, id="judged", marks=pytest.mark.law)]
)
def test_a_killed_campaign_resumes_to_the_same_result(
    softsense_process: Softsense, tmp_path: Path, options: list[str]
) -> None:
    """Killed at any moment, while it writes and while it splits; then byte for byte what nobody killed."""
    long = ["fer", "flash-8/9", "--json", "--workers", "2", *options]
    started = time.monotonic()
    whole = softsense_process(long)
    took_s = time.monotonic() - started
    assert whole.returncode == 0, whole.stderr
    command, store = [*COMMAND, *long, "--store", "s.fer"], tmp_path / "s.fer"

    def kill(moment: Callable[[], bool]) -> bool:
        """Kills it at this moment; on a machine that has become faster meanwhile it may have ended before."""
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: moment() or process.poll() is not None)
        killed = process.poll() is None
        process.kill()
        process.wait()
        return killed

    def kill_after(seconds: float) -> bool:
        moment = time.monotonic() + seconds
        return kill(lambda: time.monotonic() > moment)

    kills = [kill(store.exists), kill_after(0.15 * took_s)]
    # It writes when it rolls back what the last one left half done, and then about once a second.
    written = {store.stat().st_mtime_ns}
    kills += [kill(lambda: written.add(store.stat().st_mtime_ns) or (len(written) > 2 and time.sleep(0.1) is None))]
    kills += [kill_after(0.3 * took_s)]
    assert sum(kills) >= 2, "it ended before it was killed"
    kept = len(rows(store))
    assert kept > 0
    done = softsense_process(long, "--store", "s.fer")
    assert done.returncode == 0, done.stderr
    assert done.stdout == whole.stdout
    assert len(rows(store)) == len({row[:3] for row in rows(store)})
    assert kept < len(rows(store)) or options is JUDGED or not all(kills)
    started = time.monotonic()
    assert softsense_process(long, "--store", "s.fer").stdout == whole.stdout
    assert time.monotonic() - started < 10, "what is in the store was done again"


def test_ctrl_c_reports_and_keeps_what_was_counted(softsense_process: Softsense, tmp_path: Path) -> None:
    command = ["fer", "flash-8/9", "--rber", "0.0060,0.0078", "--json", "--store", "s.fer"]
    process = subprocess.Popen(
        [*COMMAND, *command], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: (tmp_path / "s.fer").exists() or process.poll() is not None)
    time.sleep(3)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert time.monotonic() - started < 10
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    document = json.loads(output)
    assert document["interrupted"]
    assert document["points"][0]["frames"] > 0
    assert rows(tmp_path / "s.fer")


def test_the_python_interface_hands_over_what_there_is_on_ctrl_c() -> None:
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(softsense.Interrupted) as interruption:
        softsense.measure_fer("flash-8/9", "0.0060", workers=2)
    timer.join()
    assert interruption.value.result is None or interruption.value.result.interrupted


# Stores.


@pytest.fixture
def store_file(softsense_command: Softsense, tmp_path: Path) -> Path:
    """A store with some rows."""
    done = softsense_command(QUICK, "--store", "s.fer")
    assert done.returncode == 0, done.stderr
    return tmp_path / "s.fer"


def sql(file: Path, *statements: str) -> None:
    base = sqlite3.connect(file)
    with base:
        for statement in statements:
            base.execute(statement)
    base.close()


def damage_a_row(file: Path) -> None:
    sql(file, "UPDATE counts SET failures = failures - 1 WHERE failures > 1")


def damage_a_result(file: Path) -> None:
    """What a unit of other work came to, not what its checksum says."""
    with Store(file) as store:
        store.add_result("0123456789abcdef", 3, [1, 2])
    sql(file, "UPDATE results SET result = '[1, 3]'")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:5000])


def garble(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096:6000] = os.urandom(1904)
    file.write_bytes(bytes(content))


def overlap(file: Path) -> None:
    """A row that counts units again, with a checksum that fits."""
    from softsense import store

    base = sqlite3.connect(file)
    with base:
        (frames,) = base.execute("SELECT unit_frames FROM tasks").fetchone()
        identity, errors = base.execute("SELECT identity, errors FROM counts").fetchone()
        for first, units in ((1, 2), (2, 1)):
            values = (identity, errors, first, units, frames * units, 0, 0, f"[{frames * units}]")
            base.execute("INSERT INTO counts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*values, store._crc(values)))
    base.close()


def impossible(file: Path) -> None:
    """More failures than frames, with a checksum that fits."""
    from softsense import store

    base = sqlite3.connect(file)
    with base:
        *values, _ = base.execute("SELECT * FROM counts").fetchone()
        values[5] = values[4] + 1
        base.execute(
            "UPDATE counts SET failures = ?, crc32 = ? WHERE identity = ? AND errors = ? AND first_unit = ?",
            (values[5], store._crc(values), *values[:3]),
        )
    base.close()


def another(file: Path) -> None:
    file.unlink()
    sql(file, "CREATE TABLE mine (a)", "INSERT INTO mine VALUES (1)")


BAD_STORES = {
    "a row changed": (damage_a_row, ["damaged row", "checksum"]),
    "cut short": (cut, []),
    "garbage inside": (garble, []),
    "units twice": (overlap, ["counted already", "once"]),
    "more failures than frames": (impossible, ["failures", "frames"]),
    "another program's": (another, ["application 0x00000000", "store of softsense"]),
    "a newer version": (lambda file: sql(file, "PRAGMA user_version = 4"), ["version 4", "expected 3"]),
    "an older version": (lambda file: sql(file, "PRAGMA user_version = 1"), ["version 1", "expected 3"]),
    "a result changed": (damage_a_result, ["result", "unit 3", "damaged row", "checksum"]),
    "no database": (lambda file: file.write_text("counts, lots of them\n" * 10), ["no SQLite database"]),
}


@pytest.mark.parametrize("name", BAD_STORES)
def test_a_bad_store_is_one_error_and_left_alone(softsense_command: Softsense, store_file: Path, name: str) -> None:
    spoil, says = BAD_STORES[name]
    spoil(store_file)
    before = store_file.read_bytes()
    assert_bad_input(softsense_command(QUICK, "--store", "s.fer"), "s.fer", *says)
    assert store_file.read_bytes() == before
    assert sorted(path.name for path in store_file.parent.iterdir()) == ["s.fer", "s.fer.progress.json"]


def test_a_store_is_one_process_s_at_a_time(softsense_process: Softsense, store_file: Path) -> None:
    with Store(store_file):
        assert_bad_input(softsense_process(QUICK, "--store", "s.fer"), "s.fer", "another process")
    assert softsense_process(QUICK, "--store", "s.fer").returncode == 0
    assert_bad_input(softsense_process(QUICK, "--store", "no/s.fer"), "no/s.fer")
    assert_bad_input(softsense_process(QUICK, "--store", "."), ".", "store")


def test_a_store_holds_many_tasks_and_knows_its_gaps(tmp_path: Path) -> None:
    one, two = FakeTask(1), FakeTask(2)
    with Store(tmp_path / "s.fer") as store:
        for first, units in ((0, 1), (4, 4), (1, 1)):
            store.add(one, "fake", 50, first, units, one.count(50, first, units))
        store.add(two, "fake", None, 0, 2, {"frames": 2000, "failures": 3, "undetected": 1, "iterations": [0, 1998]})
        assert store.missing(one, 50, 0, 10) == [(2, 2), (8, 2)]
        assert store.missing(one, 51, 0, 10) == [(0, 10)]
        with pytest.raises(FileError, match="counted already"):
            store.add(one, "fake", 50, 5, 1, one.count(50, 5, 1))
    with Store(tmp_path / "s.fer") as store:
        assert store.counts(two, None, 2) == Counts(2000, 3, 1, (0, 1998))
        assert store.counts(one, 50, 8).frames == 6000
        assert store.counts(one, 50, 4).frames == 2000
        assert [(task["code"], task["frames"]) for task in store.tasks()] == [("fake", 6000), ("fake", 2000)]
        one.unit_frames = 500
        with pytest.raises(FileError, match="units of 1000 frames"):
            store.counts(one, 50, 8)


@settings(max_examples=100, deadline=None)
@given(
    kept=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=8),
    asked=st.tuples(st.integers(0, 30), st.integers(1, 20)),
)
def test_gaps_are_what_no_row_covers(kept: list[tuple[int, int]], asked: tuple[int, int]) -> None:
    task = FakeTask(1)
    covered: set[int] = set()
    with Store() as store:
        for first, units in kept:
            span = set(range(first, first + units))
            if not span & covered:
                store.add(task, "fake", 7, first, units, task.count(7, first, units))
                covered |= span
        gaps = [unit for first, units in store.missing(task, 7, *asked) for unit in range(first, first + units)]
    assert gaps == [unit for unit in range(asked[0], sum(asked)) if unit not in covered]


# Are the rates right?


def test_strata_of_a_bch_code_give_the_binomial_tail() -> None:
    """F is a step from 0 at t = 5 errors to 1 at 6, so that every rate is known."""
    code = Code.open(BCH)
    rates = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1]
    result = softsense.measure_fer(code, rates, method="weight")
    assert [point["rber"] for point in result.points] == rates
    for point in result.points:
        exact = codes.failure_probability(code.codeword_bits, code.correctable, point["rber"])
        assert point["fer"] == pytest.approx(exact, rel=1e-9)
        assert point["lo"] <= exact * (1 + 1e-9)
        assert exact <= (point["hi"] + point["unlisted"]) * (1 + 1e-9)
        assert point["complete"]
        assert point["unlisted"] > 0
        assert point["method"] == "weight"
        assert point["mean_iterations"] is None


def test_bch_codes_are_analytic_unless_told_otherwise() -> None:
    result = softsense.measure_fer("bch-4KB-t256", [0.00406, 0.006])
    for point in result.points:
        exact = codes.failure_probability(36856, 256, point["rber"])
        assert point["fer"] == point["lo"] == point["hi"] == exact
        assert (point["method"], point["frames"], point["unlisted"], point["complete"]) == ("analytic", 0, 0, True)
    at = {found["failure"]: found["rber"] for found in softsense.measure_fer("bch-4KB-t256").thresholds}
    assert at[1e-15] == pytest.approx(4.06e-3, rel=5e-3)
    assert at[1e-2] == pytest.approx(6.00e-3, rel=5e-3)


@pytest.mark.parametrize(
    ("relative_error", "width"), [(0.3, 6.0), (0.1, 0.0), pytest.param(0.1, 6.0, marks=pytest.mark.law)]
)
def test_intervals_cover_what_is_known(relative_error: float, width: float) -> None:
    """100 campaigns with F known: all strata lie in their intervals in at least 95 of them, and so does every curve.

    All strata together are covered in 98 % of campaigns; intervals of 80 % instead of 95 % would be in 86 %, and pass
    with probability 1 %. Bands of curves, sums of ends, are wider than they need be: no campaign misses. The mean
    estimate is right within four standard errors and the 10 % that the luck of few failures and rates cut at 5 % may
    cost.
    """
    rates = [0.012, 0.015, 0.018, 0.022, 0.026]
    goal = sampling.Goal(relative_error=relative_error, frames=2**24)
    exactly = {rate: FakeTask(0, width=width).rate(rate) for rate in rates}
    covered, ratios = 0, []
    for seed in range(100):
        task = FakeTask(seed, width=width)
        found, _ = sampled(task, rates, goal, every=width == 0)
        failure = np.array([task.failure(int(weight)) for weight in found.weights])
        covered += bool((found.lower <= failure).all() and (failure <= found.upper).all())
        for rate in rates:
            estimate = found.estimate(strata.binomial_weights(task.codeword_bits, rate))
            exact = exactly[rate]
            assert estimate.lo <= exact * (1 + 1e-9)
            assert exact <= (estimate.hi + estimate.unlisted) * (1 + 1e-9)
            assert estimate.complete
            assert estimate.relative_error is not None
            assert estimate.relative_error <= relative_error
            ratios.append((rate, estimate.fer / exact, estimate.relative_error))
    assert covered >= 95
    for rate in rates:
        mean = np.mean([ratio for at, ratio, _ in ratios if at == rate])
        claimed = np.mean([error for at, _, error in ratios if at == rate])
        assert abs(mean - 1) < 0.1 + 4 * claimed / 10


def test_a_budget_is_kept_and_what_it_cannot_show_is_incomplete() -> None:
    """Half the rate at 0.006 lies at weights with F below 1e-8, which a million frames do not show."""
    task = FakeTask(1)
    found, _ = sampled(task, [0.006, 0.02], sampling.Goal(frames=1_000_000))
    assert found.frames <= 1_000_000
    low, high = (found.estimate(strata.binomial_weights(2000, rate)) for rate in (0.006, 0.02))
    assert not low.complete
    assert high.complete
    assert low.lo <= task.rate(0.006) <= low.hi + low.unlisted
    nothing = strata.Strata(2000, {}, strata.ladder(2000)).estimate(strata.binomial_weights(2000, 0.006))
    assert (nothing.fer, nothing.hi, nothing.unlisted, nothing.complete) == (0.0, 0.0, 1.0, False)


def test_frames_below_the_goal_are_not_sampled_for() -> None:
    task = FakeTask(1)
    dear, _ = sampled(task, [0.012, 0.02], sampling.Goal(down_to=1e-15, frames=2**22))
    cheap, _ = sampled(task, [0.012, 0.02], sampling.Goal(down_to=1e-4, frames=2**22))
    assert task.rate(0.012) < 1e-4 < task.rate(0.02)
    assert 4 * cheap.frames < dear.frames


def test_interpolation_between_strata_is_good_to_a_percent() -> None:
    """The normal quantile of F of flash-8/9 is nearly a line: 300,000 frames at each weight, interpolated over 6."""
    failures = {318: 828, 321: 2035, 324: 4582, 327: 9460, 330: 18301}
    known = {w: Counts(300_000, n, 0, ()) for w, n in failures.items()}
    for middle in (321, 324, 327):
        some = {w: known[w] for w in (middle - 3, middle + 3)}
        found = strata.Strata(36864, some, strata.ladder(36864))._rate[3]
        assert found == pytest.approx(failures[middle] / 300_000, rel=0.01 + 2 / math.sqrt(failures[middle - 3]))


AGREEMENT = [
    ("teaching-1/2", 1, 0.04, 0.1),
    pytest.param("flash-8/9", 1, 0.0078, 0.15, marks=pytest.mark.law),
    ("flash-8/9", 2, 0.0149, 0.25),
]


@pytest.mark.parametrize(("name", "level", "rber", "error"), AGREEMENT)
def test_weights_and_direct_sampling_agree(name: str, level: int, rber: float, error: float) -> None:
    """They would differ by four standard errors with probability 6e-5, if they measured the same."""
    both = [
        softsense.measure_fer(name, [rber], levels=[level], method=method, relative_error=error).points[0]
        for method in ("weight", "direct")
    ]
    weight, direct = both
    assert 1e-4 < direct["fer"] < 0.2
    assert weight["complete"]
    assert [point["method"] for point in both] == ["weight", "direct"]
    for point in both:
        assert point["relative_error"] <= error
        assert point["lo"] < point["fer"] < point["hi"]
        assert point["failures"] >= point["undetected"]
    spread = math.hypot(*(point["relative_error"] * point["fer"] for point in both))
    assert abs(weight["fer"] - direct["fer"]) < 4 * spread
    assert weight["mean_iterations"] == pytest.approx(direct["mean_iterations"], rel=0.05)


def test_cells_at_level_1_are_hard_decisions_at_their_own_rate() -> None:
    aged = {"cells": "mlc", "pe_cycles": [12000, 15000], "retention_days": "365", "relative_error": 0.4}
    result = softsense.measure_fer("flash-8/9", **aged, levels=[1], frames=50_000)
    assert [point["pe_cycles"] for point in result.points] == [12000, 15000]
    rates = [point["rber"] for point in result.points]
    assert rates[0] < rates[1]
    alone = softsense.measure_fer("flash-8/9", rates, relative_error=0.4, frames=50_000)
    assert [p["fer"] for p in alone.points] == [p["fer"] for p in result.points]


# Decode tables.


def test_a_built_table_is_monotone_and_says_what_it_is(softsense_command: Softsense, tmp_path: Path) -> None:
    command = ["table", "build", "teaching-1/2", "--levels", "1-3", "--rber", "0.01:0.13:0.03", "--iterations", "10"]
    command += ["--relative-error", "0.5", "--down-to", "1e-3", "--frames", "50000", "--store", "s.fer"]
    done = softsense_command(command, "--out", "t.toml")
    assert done.returncode == 0, done.stderr
    assert "t.toml" in done.stdout
    text = (tmp_path / "t.toml").read_text()
    _core.decode_table_check(text, "t.toml")
    table = tomllib.loads(text)
    assert table["name"] == "t"
    assert table["rber"] == [0.01, 0.04, 0.07, 0.1, 0.13]
    assert table["max_iterations"] == 10
    for word in ("softsense table build teaching-1/2", "--levels 1-3", "--iterations 10", "seed 1", "monotone"):
        assert word in table["source"]
    levels = table["level"]
    assert len(levels) == 3
    for curve in ("p_fail", "p_fail_lo", "p_fail_hi"):
        for level in levels:
            assert level[curve] == sorted(level[curve])
        for shallow, deep in itertools.pairwise(levels):
            assert all(d <= s for s, d in zip(shallow[curve], deep[curve], strict=True))
    for level in levels:
        assert all(map(lambda lo, p, hi: lo <= p <= hi, *(level[c] for c in ("p_fail_lo", "p_fail", "p_fail_hi"))))
        assert all(abs(sum(row) - 1) < 1e-6 and len(row) <= 10 for row in level["iterations"])
        # Fewer errors take fewer iterations.
        means = [sum(i * p for i, p in enumerate(row, start=1)) for row in level["iterations"]]
        assert means == sorted(means)
    assert_bad_input(softsense_command(command, "--out", "t.toml"), "t.toml", "--force")
    again = softsense_command(command, "--out", "t.toml", "--force", "--workers", "1")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "t.toml").read_text() == text, "the store, or the number of workers, made a difference"
    shown = softsense_command("table", "show", "t.toml", "--json", "--picture", "t.png")
    assert shown.returncode == 0, shown.stderr
    assert {found["failure"] for found in json.loads(shown.stdout)["thresholds"]} >= {1e-2}
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert softsense_command("table", "show", "t.toml").stdout.startswith("table    t\n")


def test_a_table_of_a_bch_code_is_the_binomial_tail(softsense_command: Softsense, tmp_path: Path) -> None:
    assert softsense_command("table", "build", "bch-2KB-t57", "--out", "b.toml").returncode == 0
    # A folder is one of results, with the same table in it.
    done = softsense_command("table", "build", "bch-2KB-t57", "--out", "kept/b")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept/b/b.toml").read_text() == (tmp_path / "b.toml").read_text()
    files = {"b.toml", "report.html", "results.json", "table.json", "table.txt"}
    assert {path.name for path in (tmp_path / "kept/b").iterdir()} == files
    assert softsense_command("table", "show", "kept/b/b.toml").stdout == (tmp_path / "kept/b/table.txt").read_text()
    document = json.loads((tmp_path / "kept/b/table.json").read_text())
    rows = Results.open(tmp_path / "kept/b").rows()
    assert [row["p_fail"] for row in rows] == document["level"][0]["p_fail"]
    assert "A frame fails with probability 1e-15 at a raw bit error rate of" in (
        tmp_path / "kept/b/report.html"
    ).read_text(encoding="utf-8")
    table = tomllib.loads((tmp_path / "b.toml").read_text())
    assert "iterations" not in table["level"][0]
    for rate, p in zip(table["rber"], table["level"][0]["p_fail"], strict=True):
        assert p == pytest.approx(codes.failure_probability(17239, 57, rate), rel=1e-5)
    shown = softsense_command("table", "show", "b.toml")
    assert "0.00095" in shown.stdout
    assert_bad_input(softsense_command("table", "build", "bch-2KB-t57", "--levels", "1-2", "--out", "c.toml"), "levels")


def test_bounds_are_carried_below_what_was_measured() -> None:
    from softsense.decode_tables import _carried
    from softsense.table_files import monotone

    def point(rber: float, fer: float, missing: float | None = 0.0) -> dict[str, Any]:
        known = {"rber": rber, "fer": fer, "lo": fer / 2, "hi": 2 * fer, "unlisted": 1e-9, "frames": 5}
        floor = {"floor": None, "floor_lo": None, "floor_hi": None, "floor_at_most": None}
        return {**known, **floor, "missing": missing, "complete": missing == 0}

    grid = [0.1, 0.2, 0.3, 0.4]
    one = _carried(grid, [point(0.4, 0.5), point(0.3, 0.01), point(0.2, 1e-6, missing=2.0)])
    assert one["p_fail"] == pytest.approx([3e-6, 3e-6, 0.01, 0.5])
    assert one["p_fail_lo"] == pytest.approx([0.0, 5e-7, 0.005, 0.25])
    assert one["missing"] == [2.0, 2.0, 0.0, 0.0]
    assert one["frames"] == [0, 5, 5, 5]
    unseen = _carried(grid, [point(0.4, 0.0, missing=None) | {"hi": 1e-3}])
    assert unseen["p_fail"] == pytest.approx([1e-3 + 1e-9] * 4)
    wavy = _carried(grid, [point(rate, fer) for rate, fer in zip(grid, (0.2, 0.1, 0.3, 0.4), strict=True)])
    levels, change = monotone([one, wavy])
    assert levels[1]["p_fail"] == pytest.approx([3e-6, 3e-6, 0.01, 0.4])
    assert change == pytest.approx(1 - 3e-6 / 0.2)


def test_a_table_reaches_all_that_a_config_reads(softsense_command: Softsense, tmp_path: Path) -> None:
    """By default a table tells nothing of some reads of a config, which says so; made for the config it tells all."""
    base = Config.open(
        "tlc-femu",
        [
            *("geometry.codeword_bytes=512", "reliability.table.file=bch-512B-t15", "read.policy=two_step"),
            *("read.max_level=1", "read.soft_references=cells", "workload.requests=5000", "host.write_buffer_bytes=0"),
        ],
    )
    # Its table need not exist before.
    (tmp_path / "mine.toml").write_text(base.to_toml().replace("bch-512B-t15", "table.toml"))
    code = ("table", "build", "bch-512B-t15", "--json")
    default = softsense_command(*code, "--out", "table.toml", "--rber", "0.002,0.003")
    assert json.loads(default.stdout)["reaches"] == {"below": False, "above": False}
    refused = softsense_command("run", "mine.toml")
    assert refused.returncode == 2
    for word in ("lie below its first point of 2.000e-3", "down to", "lie above", "table build CODE --for CONFIG"):
        assert word in refused.stderr
    (tmp_path / "table.toml").unlink()
    made = softsense_command(*code, "--out", "table.toml", "--for", "mine.toml")
    assert made.returncode == 0, made.stderr
    done = softsense_command("run", "mine.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["codeword_reads"]["beyond_table"] == 0
    other = softsense_command(*code[:2], "flash-8/9", "--out", "other.toml", "--for", "mine.toml")
    assert_bad_input(other, "mine.toml", "found `flash-8/9` with 32768 data bits, expected 4096")
    # The table that it has is of another length, which is why another one is made.
    (tmp_path / "mine.toml").write_text((tmp_path / "mine.toml").read_text().replace("table.toml", "flash-8-9"))
    assert softsense_command("config", "check", "mine.toml").returncode == 2
    again = softsense_command(*code, "--out", "again.toml", "--for", "mine.toml")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.toml").read_text().replace("again", "table") == (tmp_path / "table.toml").read_text()
    perfect = softsense_command(*code[:2], "flash-8/9", "--out", "other.toml", "--for", "mqsim-ssd")
    assert_bad_input(perfect, "mqsim-ssd: reliability: found `perfect`, expected `table`")
    fewer = softsense_command(*code[:2], "flash-8/9", "--out", "other.toml", "--levels", "1-2", "--for", "tlc-femu")
    assert_bad_input(fewer, "levels: found 1-2, expected 1-7", "read.max_level of tlc-femu")


def test_shipped_tables_are_shown(softsense_command: Softsense) -> None:
    from softsense import decode_tables, tables

    for name in _core.decode_tables():
        assert name in tables.decode_table(decode_tables.describe(name))
    done = softsense_command("table", "show", "bch-4KB-t105")
    assert done.returncode == 0, done.stderr
    assert "bch-4KB-t105" in done.stdout
    assert_bad_input(softsense_command("table", "show", "nowhere.toml"), "nowhere.toml", *_core.decode_tables())


def test_no_line_leads_to_an_incomplete_point() -> None:
    """A rate of which most is missing looked like a cliff of the code: is it shown, but joined with nothing?"""
    result = softsense.measure_fer("teaching-1/2", [0.03, 0.05, 0.07], relative_error=0.3, frames=20_000)
    result.points[0] |= {"complete": False, "missing": 3.84}
    result.interrupted = True
    axes = result.plot().axes[0]
    (line,) = [each for each in axes.lines if each.get_label() == "level 1 (hard decision)"]
    assert [x for x, y in line.get_xydata().tolist() if not math.isnan(y)] == [0.05, 0.07]
    hollow = [x for each in axes.lines if each.get_markerfacecolor() == "white" for x in each.get_xdata().tolist()]
    assert hollow == [0.03]
    legend = [text.get_text() for each in axes.figure.legends for text in each.get_texts()]
    assert legend == ["level 1 (hard decision)", "incomplete: some is missing"]
    # Another code in the same axes says it no second time.
    shared = Figure().subplots()
    for _ in range(2):
        result.plot(axes=shared)
    assert [text.get_text() for text in shared.get_legend().get_texts()].count(legend[1]) == 1


def test_a_table_is_drawn_as_it_is_told(softsense_command: Softsense, tmp_path: Path) -> None:
    """Is every mark of a picture at the `p_fail` that the text prints, however much of it is extrapolated?"""
    from softsense import decode_tables

    for name in ("flash-8-9", "adaptive-1-2", "bch-2KB-t57", "laldpc-thresholds"):
        table = decode_tables.describe(name)
        axes = decode_tables.draw(table).axes[0]
        lowest = axes.get_ylim()[0]
        marks = [line for line in axes.lines if line.get_marker() == "o"]
        for number, level in enumerate(table["level"]):
            told = {at for at in zip(table["rber"], level["p_fail"], strict=True) if at[1] >= lowest}
            # Filled ones, and hollow ones.
            drawn = [line.get_xydata() for line in marks[2 * number : 2 * number + 2]]
            assert {(x, y) for line in drawn for x, y in line.tolist()} == told, (name, number + 1)
    table = decode_tables.describe("flash-8-9")
    # Of what was measured and is drawn, the value of which the most is extrapolated.
    lowest = decode_tables.draw(table).axes[0].get_ylim()[0]
    missing, level, at = max(
        (level["missing"][i], number, i)
        for number, level in enumerate(table["level"])
        for i in range(len(table["rber"]))
        if level["frames"][i] and level["p_fail"][i] > lowest
    )
    assert missing > 1
    shown = softsense_command("table", "show", "flash-8-9").stdout.splitlines()
    row = next(line for line in shown if line.split()[:1] == [f"{table['rber'][at]:g}"])
    assert row.split()[level + 1].strip("*") == f"{table['level'][level]['p_fail'][at]:.3g}"
    # A table whose values have frames but no interval is shown, too.
    text = _core.DecodeTable("laldpc-thresholds").text
    points = len(decode_tables.describe("laldpc-thresholds")["rber"])
    (tmp_path / "frames.toml").write_text(f"{text}\nframes = {[0] * points}\n")
    shown = softsense_command("table", "show", "frames.toml", "--picture", "f.png")
    assert shown.returncode == 0, shown.stderr


# Options.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.004", [0.004]),
        ("0.005,0.004, 0.005", [0.004, 0.005]),
        ("0.004:0.0055:0.0005", [0.004, 0.0045, 0.005, 0.0055]),
        ("0.1:0.25:0.1,0.3", [0.1, 0.2, 0.3]),
        ("1e-3:1e-3:1", [0.001]),
    ],
)
def test_lists_are_read(text: str, expected: list[float]) -> None:
    assert campaign.parse_list(text, "rber", 0, 0.5) == expected


@pytest.mark.parametrize(
    "text",
    ["", "a", "0.1,", "0.1:0.2", "0.2:0.1:0.01", "0.1:0.2:0", "0.1:0.2:-1", "0:0.5:1e-9", "nan", "inf", "0.6", "-1"],
)
def test_bad_lists_are_one_error(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^rber: found"):
        campaign.parse_list(text, "rber", 0, 0.5)


@given(st.integers(0, 400), st.integers(1, 50), st.integers(0, 20))
def test_a_list_holds_both_ends(start: int, step: int, count: int) -> None:
    stop = start + count * step
    found = campaign.parse_list(f"{start / 1000}:{stop / 1000}:{step / 1000}", "rber", 0, 2)
    assert found == [(start + i * step) / 1000 for i in range(count + 1)]


def test_levels_are_read() -> None:
    assert campaign.parse_levels("1-3,7") == [1, 2, 3, 7]
    for text in ("", "0", "8", "3-1", "1-", "-1", "one", "1-99999999999"):
        with pytest.raises(ConfigError, match=r"^levels: found"):
            campaign.parse_levels(text)


BAD_OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "no such code": (["flash-9/8"], ["flash-9/8"]),
    "no such level": (["flash-8/9", "--levels", "8"], ["levels", "8", "7"]),
    "soft BCH": (["bch-2KB-t57", "--levels", "2", "--rber", "0.001"], ["levels", "BCH"]),
    "rates beyond a half": (["flash-8/9", "--rber", "0.6"], ["rber", "0.6", "0.5"]),
    "no such method": (["flash-8/9", "--method", "guess"], ["method", "guess", "weight"]),
    "analytic LDPC": (["flash-8/9", "--method", "analytic"], ["analytic", "LDPC"]),
    "no such decoder": (["flash-8/9", "--decoder", "guess"], ["guess"]),
    "no such placement": (["flash-8/9", "--placement", "uniform:wide"], ["placement", "uniform:wide"]),
    "no error allowed": (["flash-8/9", "--relative-error", "0"], ["relative_error", "0"]),
    "goal of one": (["flash-8/9", "--down-to", "1"], ["down_to", "1"]),
    "cells without ages": (["flash-8/9", "--cells", "mlc"], ["pe_cycles"]),
    "cells and rates": (["flash-8/9", "--cells", "mlc", "--pe-cycles", "1", "--rber", "0.1"], ["rber"]),
    "ages without cells": (["flash-8/9", "--pe-cycles", "1000"], ["cells"]),
    "no such cells": (["flash-8/9", "--cells", "slc", "--pe-cycles", "1", "--retention-days", "1"], ["slc"]),
    "no such page": (
        ["flash-8/9", "--cells", "mlc", "--pe-cycles", "1", "--retention-days", "1", "--page", "top"],
        ["page", "top", "lower"],
    ),
    "no age": (["flash-8/9", "--llrs-for", "old"], ["llrs_for", "old", "10000:30"]),
    "no cluster": (["flash-8/9", "--dask", "tcp://127.0.0.1:1"], ["--dask", "tcp://127.0.0.1:1", "connect"]),
    "no picture": (["flash-8/9", "--picture", "p.gif"], [".gif", ".png"]),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options_are_one_error(softsense_command: Softsense, name: str) -> None:
    arguments, says = BAD_OPTIONS[name]
    assert_bad_input(softsense_command("fer", arguments), *says)


def test_a_table_is_printed_with_thresholds_and_a_picture(softsense_command: Softsense, tmp_path: Path) -> None:
    arguments = ["teaching-1/2", "--rber", "0.005:0.12:0.023", "--down-to", "1e-4", "--relative-error", "0.3"]
    done = softsense_command("fer", arguments, "--picture", "p.svg", "--no-progress")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for word in ("Level 1 (hard decision)", "floor", "weight", "Raw bit error rate at which", "1e-02", "wrote p.svg"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 150
    assert b"<svg" in (tmp_path / "p.svg").read_bytes()[:500]


def test_the_automatic_grid_spans_the_waterfall() -> None:
    goal = {"relative_error": 0.5, "down_to": 1e-3, "frames": 150_000}
    result = softsense.measure_fer("teaching-1/2", levels="1,4", iterations=5, **goal)
    for level in result.levels:
        curve = [point["fer"] for point in result.curve(level)]
        assert curve[0] < 1e-2
        assert curve[-1] > 0.4
    assert result.table.height == len(result.points) >= 10
