"""Do the parts of a campaign add up to the whole, to the byte, whoever counted which part, when, and how often?"""

from __future__ import annotations

import itertools
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softsense
from conftest import SMALL, Softsense
from softsense import ConfigError, FileError, Shard, ShardDone, Store, sampling, strata
from softsense.counts import Counts, Row, block_end, block_start, blocks_within, cut, gaps, whole_blocks
from softsense.merging import merge
from softsense.runner import Runner
from softsense.shards import beside, parse_part
from test_campaign import COMMAND, FakeTask
from test_cli import assert_bad_input

CODE = "bch:m=8,t=5,k=215"
QUICK = {"rber": "0.005,0.007", "method": "direct", "relative_error": 0.08}
EXAMPLES = int(os.environ.get("SOFTSENSE_EXAMPLES", "15"))
COMMON = ["fer", "teaching-1/2", "--rber", "0.02", "--method", "direct", "--relative-error", "0.05", "--json"]
"""Campaigns of a second that have something to share out."""


def in_shards(of_all: Path, parts: int, measure: Callable[[Store], Any], wanted: Iterable[int] = ()) -> list[Path]:
    """Carries out some shards, one after the other; all of them if none are named."""
    files = []
    for part in wanted or range(1, parts + 1):
        with Shard(of_all, part, parts) as shard, suppress(ShardDone):
            measure(shard)
        files.append(beside(of_all, part, parts))
    return files


def measured(store: Store | Path | None, code: softsense.Code | str = CODE, **options: Any) -> dict[str, Any]:
    return softsense.measure_fer(code, workers=1, store=store, **{**QUICK, **options}).to_dict()


# Blocks and ranges.


@given(st.integers(0, 10**11))
def test_blocks_are_laid_end_to_end_and_growth_by_four_keeps_to_their_ends(unit: int) -> None:
    start, end = block_start(unit), block_end(unit)
    assert start <= unit < end
    assert block_start(end) == end
    assert block_end(start) == end
    assert whole_blocks(end) == blocks_within(end) == end
    assert whole_blocks(unit + 1) == end
    assert blocks_within(unit) == start
    # A plan asks for four times as much at most.
    assert whole_blocks(4 * end) == 4 * end
    assert end - start <= max(16, unit // 16)


@given(st.integers(0, 3000), st.integers(1, 3000))
def test_a_range_is_cut_at_the_ends_of_blocks(first: int, units: int) -> None:
    pieces = list(cut(first, first + units))
    assert [unit for start, end in pieces for unit in range(start, end)] == list(range(first, first + units))
    assert all(block_start(start) == block_start(end - 1) for start, end in pieces)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 1300), max_size=30), st.randoms())
def test_equal_counts_are_equal_rows_however_they_were_cut(cuts: list[int], lot: random.Random) -> None:
    """Ranges in any order, in a store: a row for each block, with the sums of its units."""
    task, end = FakeTask(1), 1300
    edges = sorted({0, end, *cuts, *(piece for piece, _ in cut(0, end))} - set(range(end + 1, 2000)))
    ranges = list(itertools.pairwise(edges))
    lot.shuffle(ranges)
    with Store() as store:
        for start, stop in ranges:
            counted = {"frames": 1000 * (stop - start), "failures": stop, "undetected": 0}
            counted["failures"] = sum(unit % 7 for unit in range(start, stop))
            counted["iterations"] = [counted["frames"] - counted["failures"]]
            store.add(task, "fake", 50, start, stop - start, counted)  # type: ignore[arg-type]
        (rows,) = store.rows().values()
        assert [(row.first_unit, row.end) for row in rows] == list(cut(0, end))
        assert all(row.counts.failures == sum(u % 7 for u in range(row.first_unit, row.end)) for row in rows)
        kept = store._base.execute("SELECT first_unit, units, failures FROM counts ORDER BY first_unit").fetchall()
        assert kept == [(row.first_unit, row.units, row.counts.failures) for row in rows]


# The law: cuts, orders, repeats and losses.


def sampled(store: Store, task: FakeTask, workers: Any = 1) -> tuple[Any, ...]:
    """What strata of a task come to, with whatever is in the store."""
    goal = sampling.Goal(relative_error=0.05, frames=1_500_000)
    rungs = strata.ladder(task.codeword_bits, every=False)
    plan = sampling.sample_by_weight(task, [0.012, 0.02], goal, store.counts, rungs, 30)  # type: ignore[arg-type]
    found = Runner(store, workers, "fake").run([plan])[0]
    assert found is not None
    return found.weights.tolist(), found.sampled.tolist(), found.failed.tolist()


class StopsError(Exception):
    """The machine is gone."""


class Unsteady(Runner):
    """Cuts jobs at random, and may stop in the middle."""

    lot = random.Random(1)
    left = 10**9

    def _cut(self) -> Any:
        Unsteady.left -= 1
        if Unsteady.left < 0:
            raise StopsError
        self._unit_s = {self._queue[0].task.identity: 1.0}
        return super()._cut()

    def _job_s(self) -> float:
        return self.lot.choice([1, 2, 5, 17, 100, 1000])


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(0, 3), st.data())
def test_shards_add_up_whatever_is_cut_lost_repeated_or_out_of_order(
    tmp_path_factory: pytest.TempPathFactory, seed: int, parts: int, rounds: int, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    task, lot, of_all = FakeTask(seed % 3), random.Random(seed), folder / "all.fer"
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sampled.__globals__, "Runner", Unsteady)
        Unsteady.lot, Unsteady.left = lot, 10**9
        with Store() as alone:
            expected = sampled(alone, task)
        for _ in range(rounds):
            # Some are of another number of shards, some never run, some die.
            numbers = [(part, of) for of in {parts, lot.choice([1, 3, parts])} for part in range(1, of + 1)]
            lot.shuffle(numbers)
            files = []
            for part, of in numbers[: data.draw(st.integers(1, len(numbers)))]:
                Unsteady.left = lot.choice([3, 30, 10**9])
                with Shard(of_all, part, of) as shard, suppress(ShardDone, StopsError):
                    sampled(shard, task)
                files.append(beside(of_all, part, of))
            again = [*files, *lot.choices(files, k=2)]
            lot.shuffle(again)
            merged = merge(of_all, again)
            assert merged.held == frames_of(of_all)
            reversed_ = merge(folder / "other.fer", [*reversed(again), of_all])
            assert rows_of(folder / "other.fer") == rows_of(of_all)
            assert reversed_.held == merged.held
            (folder / "other.fer").unlink()
            for (_, errors), rows in rows_of(of_all).items():
                for row in rows:
                    true = task.count(errors, row.first_unit, row.units)
                    assert row.counts == Counts(**{**true, "iterations": tuple(true["iterations"])})
        Unsteady.left = 10**9
        with Store(of_all) as whole:
            assert sampled(whole, task) == expected


def rows_of(file: Path) -> dict[Any, list[Row]]:
    with Store(file, read_only=True) as store:
        return store.rows()


def frames_of(file: Path) -> int:
    return sum(row.counts.frames for rows in rows_of(file).values() for row in rows)


def test_shards_have_equal_parts_of_all_but_what_they_all_count_first(tmp_path: Path) -> None:
    """What is merged is what one process counts, but for what was foreseen amiss; it is dealt out to a few units."""
    task = FakeTask(2)
    with Store() as alone:
        sampled(alone, task)
        expected = sum(row.counts.frames for rows in alone.rows().values() for row in rows)
    files = in_shards(tmp_path / "all.fer", 6, lambda store: sampled(store, task))
    each = [frames_of(file) for file in files]
    assert max(each) - min(each) <= 2 * len(rows_of(files[0])) * task.unit_frames
    merged = merge(tmp_path / "all.fer", files)
    assert 0.7 * expected < merged.held < 1.5 * expected
    assert merged.twice < 0.25 * expected
    assert merged.left_out == 0


# Real campaigns.


def test_one_process_two_threads_and_64_shards_have_the_same_result(tmp_path: Path) -> None:
    code = softsense.Code.open(CODE)
    expected = measured(None)
    assert softsense.measure_fer(code, workers=2, **QUICK).to_dict() == expected
    assert expected["points"][0]["failures"] > 100
    files = in_shards(tmp_path / "all.fer", 64, lambda store: measured(store, code))
    random.Random(4).shuffle(files)
    merged = softsense.merge(tmp_path / "all.fer", files)
    assert (merged.sources, merged.parts, merged.missing, merged.unfinished) == (64, 64, (), ())
    assert measured(tmp_path / "all.fer") == expected
    # What was measured is not shared out again.
    with Shard(tmp_path / "all.fer", 5, 64) as shard:
        assert measured(shard) == expected


def test_a_store_that_was_merged_from_halves_goes_on_like_any_other(tmp_path: Path) -> None:
    coarse = {"relative_error": 0.2}
    merge(tmp_path / "all.fer", in_shards(tmp_path / "all.fer", 2, lambda store: measured(store, **coarse)))
    assert measured(tmp_path / "all.fer", **coarse) == measured(None, **coarse)
    finer = merge(tmp_path / "all.fer", in_shards(tmp_path / "all.fer", 3, measured))
    assert finer.new > 0
    assert measured(tmp_path / "all.fer") == measured(None)


@pytest.mark.parametrize(
    "measure",
    [
        pytest.param(
            lambda store: (
                softsense.find_traps("teaching-1/2", most_bits=5, impulses=50_000, workers=1, store=store).classes
            ),
            id="absorbing sets",
        ),
        pytest.param(
            lambda store: (
                softsense.build_table(
                    "teaching-1/2",
                    [0.02, 0.06],
                    levels=[1],
                    relative_error=0.3,
                    down_to=1e-4,
                    frames=100_000,
                    floor_frames=10_000,
                    judge=2,
                    workers=1,
                    store=store,
                ).text
            ),
            id="decode table",
        ),
        pytest.param(
            lambda store: softsense.design_code(
                1024, 256, fer=1e-3, families=["regular"], seeds=3, measured=1, frames=5000, workers=1, store=store
            ).to_dict(),
            id="design",
            marks=pytest.mark.law,
        ),
        pytest.param(
            lambda store: softsense.measure_fer(
                "teaching-1/2", "0.01:0.05:0.01", relative_error=0.2, judge=3, workers=1, store=store
            ).to_dict(),
            id="judged",
            marks=pytest.mark.law,
        ),
        pytest.param(
            lambda store: softsense.compare_codes(
                ["teaching-1/2", CODE],
                [0.02],
                decoders=["min-sum", "min-sum-8bit"],
                method="direct",
                relative_error=0.05,
                frames=400_000,
                workers=1,
                store=store,
            ).to_dict(),
            id="several codes",
        ),
    ],
)
def test_measurements_of_several_steps_end_in_shards_as_in_one_process(
    tmp_path: Path, measure: Callable[[Any], Any]
) -> None:
    expected = measure(None)
    of_all, passes = tmp_path / "all.fer", 0
    while passes < 12:
        passes += 1
        done = False
        for part in (2, 1, 3):
            with Shard(of_all, part, 3) as shard:
                try:
                    assert measure(shard) == expected
                    done = True
                except ShardDone:
                    assert not done, "some shards know the result and some do not"
        merge(of_all, [beside(of_all, part, 3) for part in (1, 2, 3)])
        if done:
            break
    assert done, "so many passes and no result"
    assert measure(of_all) == expected


def test_a_killed_shard_goes_on(softsense_process: Softsense, tmp_path: Path) -> None:
    """Killed twice while it counts, merged unfinished, and gone on with: the result of one process."""
    long = [
        "fer",
        "flash-8/9",
        "--rber",
        "0.0074",
        "--relative-error",
        "0.2",
        "--json",
        "--workers",
        "2",
        "--no-progress",
    ]
    whole = softsense_process(long)
    assert whole.returncode == 0, whole.stderr
    file = tmp_path / "all-1-of-2.fer"
    for _ in range(2):
        before = file.stat().st_size if file.exists() else 0
        command = [*COMMAND, *long, "--store", "all.fer", "--shard", "1/2"]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
        while process.poll() is None and not (file.exists() and file.stat().st_size > before):
            time.sleep(0.01)
        time.sleep(1)
        process.kill()
        process.wait()
    merged = softsense_process("merge", "all.fer", "all-1-of-2.fer")
    assert merged.returncode == 0, merged.stderr
    assert "missing: shard 2 of 2" in merged.stdout
    for part in ("1/2", "2/2"):
        done = softsense_process(long, "--store", "all.fer", "--shard", part)
        assert done.returncode == 0, done.stderr
        assert " is complete: " in done.stderr or done.stdout == whole.stdout
    assert softsense_process("merge", "all.fer", "all-1-of-2.fer", "all-2-of-2.fer").returncode == 0
    again = softsense_process(long, "--store", "all.fer")
    assert again.stdout == whole.stdout, again.stderr


# What is refused, and what is said.


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two of three shards of a small campaign."""
    folder = tmp_path_factory.mktemp("made")
    for part in ("1/3", "2/3"):
        command = [*COMMAND, *COMMON, "--store", "all.fer", "--shard", part]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "", "what is no JSON"
        assert f"shard {part[0]} of 3 is complete" in done.stderr
        assert "softsense merge all.fer all-*-of-3.fer" in done.stderr
    return folder


@pytest.fixture
def shards(made: Path, tmp_path: Path) -> Path:
    """The same, to be spoilt."""
    for file in made.glob("*.fer"):
        shutil.copy(file, tmp_path)
    return tmp_path


def test_a_merge_says_what_is_missing_and_what_counts_once(softsense_command: Softsense, shards: Path) -> None:
    done = softsense_command("merge", "all.fer", "all-1-of-3.fer", "all-2-of-3.fer", "all-1-of-3.fer")
    assert done.returncode == 0, done.stderr
    assert "merged 2 into all.fer" in done.stdout
    assert "count once" in done.stdout
    assert "missing: shard 3 of 3" in done.stdout
    document = json.loads(softsense_command("merge", "all.fer", "all-2-of-3.fer", "--json").stdout)
    assert document["new"] == 0
    assert document["missing"] == [1, 3]
    expected, found = softsense_command(COMMON), softsense_command(COMMON, "--store", "all.fer")
    assert found.stdout == expected.stdout


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["fer", CODE, "--rber", "0.004", "--method", "direct"], ["code: found", "teaching-1/2"]),
        ([*COMMON, "--decoder", "min-sum-8bit"], ["decoder: found", "min-sum-8bit"]),
        ([*COMMON, "--relative-error", "0.2"], ["goal.relative_error: found 0.2, expected 0.05"]),
        ([*COMMON, "--seed", "2"], ["seed: found 2, expected 1"]),
    ],
)
def test_a_shard_of_another_plan_is_refused_by_name(
    softsense_process: Softsense, shards: Path, options: list[str], says: list[str]
) -> None:
    other = softsense_process(options, "--store", "other.fer", "--shard", "3/3", "--no-progress")
    assert other.returncode == 0, other.stderr
    before = {path.name: path.read_bytes() for path in shards.glob("*.fer")}
    done = softsense_process("merge", "new.fer", "all-1-of-3.fer", "all-2-of-3.fer", "other-3-of-3.fer")
    assert_bad_input(done, "other-3-of-3.fer", "another plan", *says)
    assert {path.name: path.read_bytes() for path in shards.glob("*.fer")} == before
    # A shard does not become one of another plan either.
    (shards / "other-3-of-3.fer").rename(shards / "all-3-of-3.fer")
    assert_bad_input(
        softsense_process(COMMON, "--store", "all.fer", "--shard", "3/3"), "all-3-of-3.fer", "another command"
    )


def changed(file: Path, statement: str, *values: Any) -> None:
    """Changes rows of a store, with checksums that fit."""
    from softsense import store

    base = sqlite3.connect(file)
    with base:
        base.execute(statement, values)
        for *row, _ in base.execute("SELECT * FROM counts").fetchall():
            base.execute(
                "UPDATE counts SET crc32 = ? WHERE identity = ? AND errors = ? AND first_unit = ?",
                (store._crc(row), *row[:3]),
            )
        for *row, _ in base.execute("SELECT * FROM results").fetchall():
            base.execute("UPDATE results SET crc32 = ? WHERE identity = ? AND unit = ?", (store._crc(row), *row[:2]))
    base.close()


def another_version(folder: Path) -> None:
    newer = """replace(plan, '"model_version": "', '"model_version": "9')"""
    changed(folder / "all-2-of-3.fer", f"UPDATE plans SET plan = {newer}")


def other_counts(folder: Path) -> None:
    changed(folder / "all-2-of-3.fer", "UPDATE counts SET failures = failures + 1 WHERE failures < frames / 2")


def other_results(folder: Path) -> None:
    for name, text in (("all-1-of-3.fer", [1]), ("all-2-of-3.fer", [2])):
        with Store(folder / name) as store:
            store.add_result("0123", 4, text)


def gone(folder: Path) -> None:
    (folder / "all-2-of-3.fer").unlink()


def no_store(folder: Path) -> None:
    (folder / "all-2-of-3.fer").write_text("counts, lots of them")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (another_version, ['model_version: found "9']),
        (other_counts, ["failures", "expected the same as in"]),
        (other_results, ["result 0123, unit 4", "found another result than"]),
        (gone, ["found no file"]),
        (no_store, ["no SQLite database"]),
    ],
)
def test_a_merge_that_cannot_be_right_is_one_error_and_nothing_is_written(
    softsense_process: Softsense, shards: Path, spoil: Callable[[Path], None], says: list[str]
) -> None:
    spoil(shards)
    done = softsense_process("merge", "all.fer", "all-1-of-3.fer", "all-2-of-3.fer")
    assert_bad_input(done, "all-2-of-3.fer", *says)
    assert not (shards / "all.fer").exists()


def test_shards_that_cannot_be_are_one_error_each(softsense_process: Softsense, tmp_path: Path) -> None:
    for text in ("0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/3"):
        assert_bad_input(softsense_process(COMMON, "--store", "all.fer", f"--shard={text}"), "--shard", text, "3/64")
        with pytest.raises(ConfigError):
            parse_part(text)
    assert_bad_input(softsense_process(COMMON, "--shard", "1/3"), "--shard", "--store")
    with pytest.raises(ConfigError, match="part 4 of 3"):
        Shard(tmp_path / "all.fer", 4, 3)
    with Store(tmp_path / "all.fer"):
        pass
    assert_bad_input(softsense_process("merge", "all.fer", "all.fer"), "all.fer", "both as target and as source")


def test_ranges_across_each_other_are_left_out_and_told(tmp_path: Path) -> None:
    """Nothing counts twice: the ranges that hold the most frames stay, in any order."""
    task = FakeTask(1)
    of = {"a": [(16, 24), (24, 32)], "b": [(20, 28)], "c": [(16, 32), (40, 48)], "d": [(44, 52)]}
    for name, ranges in of.items():
        with Store(tmp_path / name) as store:
            for start, end in ranges:
                store.add(task, "fake", 50, start, end - start, task.count(50, start, end - start))  # type: ignore[arg-type]
    for names in ("abcd", "dcba", "bdac"):
        merged = merge(tmp_path / names, [tmp_path / name for name in names])
        (rows,) = rows_of(tmp_path / names).values()
        assert [(row.first_unit, row.end) for row in rows] == [(16, 32), (40, 48)]
        assert (merged.left_out, merged.held) == (8 * task.unit_frames, 24 * task.unit_frames)
    assert gaps(rows, 0, 60) == [(0, 16), (32, 40), (48, 60)]


def test_a_store_of_before_is_read_and_goes_on(tmp_path: Path) -> None:
    """One without plans, of version 2."""
    expected = measured(tmp_path / "old.fer")
    base = sqlite3.connect(tmp_path / "old.fer")
    base.executescript("DROP TABLE plans; PRAGMA user_version = 2;")
    base.close()
    assert frames_of(tmp_path / "old.fer") > 0
    assert measured(tmp_path / "old.fer") == expected
    with Store(tmp_path / "old.fer") as store:
        assert len(store.plans()) == 1


def test_a_paper_in_shards_is_that_of_one_process(softsense_command: Softsense, tmp_path: Path) -> None:
    paper = ["reproduce", "lae-ftl", "--figure", "lone", "--no-progress"]
    assert softsense_command(paper, "--out", "one").returncode == 0
    for part in (2, 1):
        done = softsense_command(paper, "--store", "all.store", "--shard", f"{part}/2", "--out", "all")
        assert (done.returncode, " is complete: " in done.stdout) == (0, True), done.stderr
    merged = softsense_command("merge", "all.store", "all-1-of-2.store", "all-2-of-2.store")
    assert "new results of other work" in merged.stdout
    done = softsense_command(paper, "--store", "all.store", "--out", "all")
    assert done.returncode == 0, done.stderr
    for name in ("claims.json", "lone.csv", "lone.png", "report.md"):
        assert (tmp_path / "all" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name


# Sweeps.

SWEEP = f"""
config = "mlc-25nm"
policies = ["two_step", "progressive"]
seeds = [1, 2]
set = {[*SMALL, "workload.requests=300"]}
[grid]
"decoder.time.fixed_us" = [1.0, 8.0]
"""


def test_a_sweep_in_shards_is_that_of_one_process(softsense_command: Softsense, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SWEEP)
    sweep = ["sweep", "s.toml", "--workers", "1", "--no-progress"]
    assert softsense_command(sweep, "--out", "one").returncode == 0
    for part in (3, 1):
        done = softsense_command(sweep, "--out", "all", "--shard", f"{part}/3")
        assert done.returncode == 0, done.stderr
        assert f"shard {part} of 3 is complete" in done.stdout
    merged = softsense_command("merge", "all", "all/points-1-of-3", "all/points-3-of-3")
    assert merged.returncode == 0, merged.stderr
    assert "merged 2 into all: 5 points, 5 of them new" in merged.stdout
    assert "missing: shard 2 of 3" in merged.stdout
    ended = softsense_command(sweep, "--out", "all")
    assert ended.returncode == 0, ended.stderr
    for name in ("sweep.parquet", "designs.csv", "failures.csv", "report.html"):
        assert (tmp_path / "all" / name).read_bytes() == (tmp_path / "one" / name).read_bytes(), name
    # Another sweep's points, and numbers that are not those of another shard.
    (tmp_path / "s.toml").write_text(SWEEP.replace("8.0]", "9.0]"))
    softsense_command(sweep, "--out", "else", "--shard", "2/3")
    other = softsense_command("merge", "all", "all/points-1-of-3", "else/points-2-of-3")
    assert_bad_input(other, "points-2-of-3", "another plan", "grid")
    part = next((tmp_path / "all" / "points-1-of-3").glob("*.parquet"))
    assert pl.read_parquet(part).height > 0


def test_a_merge_onto_a_full_disk_leaves_the_store_as_it_was(shards: Path) -> None:
    merge(shards / "all.fer", [shards / "all-1-of-3.fer"])
    before, most = rows_of(shards / "all.fer"), (shards / "all.fer").stat().st_size
    command = [*COMMAND, "merge", "all.fer", "all-2-of-3.fer"]
    failed = 0
    for size in (4096, most):
        done = subprocess.run(
            command,
            cwd=shards,
            capture_output=True,
            text=True,
            preexec_fn=lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),  # type: ignore[misc]
        )
        if done.returncode:
            failed += 1
            assert_bad_input(done, "all.fer")
            assert rows_of(shards / "all.fer") == before
    assert failed
    assert subprocess.run(command, cwd=shards, check=False).returncode == 0
    assert frames_of(shards / "all.fer") > sum(row.counts.frames for rows in before.values() for row in rows)


def test_a_merge_that_fails_in_the_middle_writes_nothing(tmp_path: Path) -> None:
    files = in_shards(tmp_path / "all.fer", 2, measured)
    merge(tmp_path / "all.fer", files[:1])
    before = rows_of(tmp_path / "all.fer")

    class Full(Store):
        def note(self, part: Any) -> None:
            raise FileError("disk full")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("softsense.merging.Store", Full)
        with pytest.raises(FileError, match="disk full"):
            merge(tmp_path / "all.fer", files)
    assert rows_of(tmp_path / "all.fer") == before
    assert merge(tmp_path / "all.fer", files).new > 0


def test_a_shard_that_was_lost_is_dealt_out_again_without_loss(tmp_path: Path) -> None:
    """In the second pass the share of a lost shard is cut in parts, none of which lies across what there is."""
    task = FakeTask(2)

    def measure(store: Store) -> Any:
        return sampled(store, task)

    merge(tmp_path / "all.fer", in_shards(tmp_path / "all.fer", 5, measure, wanted=(1, 2, 4, 5)))
    left = merge(tmp_path / "all.fer", in_shards(tmp_path / "all.fer", 5, measure))
    assert (left.left_out, left.new > 0) == (0, True)
    with Store(tmp_path / "all.fer") as whole, Store() as alone:
        assert measure(whole) == measure(alone)


def test_a_store_that_was_left_in_the_middle_of_a_write_is_put_in_order(tmp_path: Path) -> None:
    """What a killed process leaves is merged as it was when that last kept something."""
    files = in_shards(tmp_path / "all.fer", 2, measured)
    expected = rows_of(files[0])
    base = sqlite3.connect(files[0], isolation_level=None)
    base.execute("PRAGMA cache_size = 1")
    base.execute("BEGIN")
    for number in range(2000):
        base.execute("INSERT INTO results VALUES (?, ?, ?, 0)", (f"{number:064}", 0, "x" * 500))
    for name in (files[0].name, f"{files[0].name}-journal"):
        shutil.copy(tmp_path / name, tmp_path / f"left-{name}")
    base.close()
    assert (tmp_path / f"left-{files[0].name}").stat().st_size > 500_000
    merged = merge(tmp_path / "new.fer", [tmp_path / f"left-{files[0].name}"])
    assert rows_of(tmp_path / "new.fer") == expected
    assert merged.held == sum(row.counts.frames for rows in expected.values() for row in rows)
