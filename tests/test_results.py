"""Do folders of results say what they are of, and do several of them meet?"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import softsense
from conftest import SMALL, Softsense
from softsense.folders import Folder, Results, default_folder, find
from softsense.intervals import interval
from softsense.manifests import Manifest
from softsense.results_compared import change, compare_results
from softsense.seeds import SeededComparison, compare_seeds

QUICK = [word for field in SMALL for word in ("--set", field)]


def test_a_folder_says_what_it_is_of(softsense_command: Softsense, tmp_path: Path, trace_file: Path) -> None:
    words = ["run", "mlc-25nm", *QUICK, "--trace", str(trace_file), "--format", "mqsim", "--seed", "7", "--json"]
    done = softsense_command(words)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out" / "run-mlc-25nm-small"
    manifest = json.loads((folder / "results.json").read_text())
    assert manifest["kind"] == "run"
    assert manifest["command"] == ["softsense", *words]
    assert manifest["softsense"]["version"] == softsense.__version__
    assert manifest["seeds"] == [7]
    assert manifest["config"] == {"name": "mlc-25nm", "sha256": json.loads(done.stdout)["config_sha256"]}
    (trace,) = manifest["traces"]
    assert trace["file"] == str(trace_file)
    assert len(trace["sha256"]) == 64
    assert manifest["files"] == ["config.toml", "series.csv", "summary.json", "table.txt"]
    assert manifest["date_utc"].endswith("Z")


def test_only_results_json_differs_when_the_same_is_asked_again(softsense_process: Softsense, tmp_path: Path) -> None:
    kept = []
    for jobs in ("1", "2"):
        done = softsense_process("compare", "mlc-25nm", QUICK, "--policies", "two_step,progressive", "--jobs", jobs)
        assert done.returncode == 0, done.stderr
        folder = tmp_path / "out" / "compare-mlc-25nm"
        kept.append({name: (folder / name).read_bytes() for name in ("config.toml", "comparison.png")})
    assert kept[0] == kept[1]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["compare-mlc-25nm"]


def test_other_inputs_never_take_the_place_of_results(
    softsense_command: Softsense, tmp_path: Path, trace_file: Path
) -> None:
    """Traces of one name, another config and another seed."""
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / trace_file.name
    other.write_text("".join(trace_file.read_text().splitlines(keepends=True)[:500]))
    base = ["run", "mlc-25nm", *QUICK, "--json", "--format", "mqsim", "--trace"]
    for words in ([str(trace_file)], [str(other)], [str(trace_file), "--seed", "2"], [str(trace_file)]):
        assert softsense_command([*base, *words]).returncode == 0
    kept = [json.loads((folder / "summary.json").read_text()) for folder in (tmp_path / "out").iterdir()]
    assert sorted(summary["requests"] for summary in kept) == [500, 2000, 2000]
    assert (tmp_path / "out" / "run-mlc-25nm-small").is_dir()


def test_sweeps_of_one_name_have_folders_of_their_own(softsense_command: Softsense, tmp_path: Path) -> None:
    text = f"config = 'mlc-25nm'\npolicies = ['two_step']\nset = {json.dumps(SMALL)}\n"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "s.toml").write_text(text)
        assert softsense_command("sweep", f"{name}/s.toml", "--workers", "1").returncode == 0
    # A sweep that was changed goes on in its own.
    (tmp_path / "one" / "s.toml").write_text(f"{text}seeds = [1, 2]\n")
    done = softsense_command("sweep", "one/s.toml", "--workers", "1")
    assert "wrote out/s/sweep.parquet" in done.stdout
    assert len(list((tmp_path / "out").iterdir())) == 2
    rows = Results.open(tmp_path / "out" / "s").rows()
    assert [row["seed"] for row in rows] == [1, 2]


def test_without_a_manifest_or_with_the_same_inputs_a_folder_is_taken(tmp_path: Path) -> None:
    manifest = Manifest("run", seeds=[1])
    assert default_folder(tmp_path / "run", manifest) == tmp_path / "run"
    with Folder(tmp_path / "run") as folder:
        folder.sign(manifest)
    assert default_folder(tmp_path / "run", Manifest("run", ["other", "words"], seeds=[1])) == tmp_path / "run"
    other = default_folder(tmp_path / "run", Manifest("run", seeds=[2]))
    assert other.name.startswith("run-")


@pytest.fixture(scope="module")
def seeded() -> SeededComparison:
    return compare_seeds("mlc-25nm", seeds=4, policies="two_step,progressive", overrides=SMALL)


def test_seeds_are_paired_and_each_is_the_comparison_alone(seeded: SeededComparison) -> None:
    assert seeded.seeds == [1, 2, 3, 4]
    alone = softsense.compare("mlc-25nm", policies="two_step,progressive", overrides=SMALL, seed=3)
    assert seeded.comparisons[2].responses.equals(alone.responses)
    rows = seeded.table.filter((pl.col("kind") == "read") & (pl.col("stat") == "mean"))
    by = {name: [c[name].summary["response"]["read"]["mean_us"] for c in seeded.comparisons] for name in rows["policy"]}
    for row in rows.iter_rows(named=True):
        assert (row["mean_us"], row["half_width_us"]) == interval(by[row["policy"]])
        off = [a - b for a, b in zip(by[row["policy"]], by["two_step"], strict=True)]
        assert (row["difference_us"], row["difference_half_width_us"]) == interval(off)
    assert "us less than two_step" in seeded.finding() or "do not show" in seeded.finding()


def test_comparisons_with_seeds_say_intervals_and_meet(softsense_command: Softsense, tmp_path: Path) -> None:
    words = ["compare", "mlc-25nm", *QUICK, "--policies", "two_step,progressive", "--seeds", "3"]
    done = softsense_command([*words, "--out", "a"])
    assert done.returncode == 0, done.stderr
    assert "over 3 seeds, mean and 95 % interval (us)" in done.stdout
    assert "Difference to two_step, seed by seed (us)" in done.stdout
    assert softsense_command([*words, "--out", "b", "--set", "decoder.time.fixed_us=20"]).returncode == 0
    assert len(json.loads((tmp_path / "a" / "summary.json").read_text())["comparisons"]) == 3
    compared = compare_results([Results.open(tmp_path / name) for name in "ab"], ["read.mean"])
    assert [what for what, _ in compared.differences] == ["decoder.time.fixed_us"]
    assert [(label, metric) for label, metric, _ in compared.rows] == [
        (name, "response.read.mean_us") for name in ("no_soft_sensing", "two_step", "progressive")
    ]
    first, second = compared.rows[1][2]
    assert first
    assert second
    assert set(first.by_seed) == {1, 2, 3}
    changed = change(first, second)
    assert changed
    assert changed["half_width"] == interval([second.by_seed[s] - first.by_seed[s] for s in (1, 2, 3)])[1]
    assert changed["ratio"] == pytest.approx((second.mean or 0) / (first.mean or 1))
    told = softsense_command("results", "compare", "a", "b").stdout
    for words_ in ("What differs", "decoder.time.fixed_us", "±", "response.read.p999_us", "ratio"):
        assert words_ in told


def test_results_are_listed_newest_first_shown_and_exported(softsense_command: Softsense, tmp_path: Path) -> None:
    assert softsense_command("run", "mlc-25nm", QUICK, "--json", "--out", "kept/deep/one").returncode == 0
    fer = ["fer", "bch:m=10,t=5,k=512", "--rber", "0.001,0.002", "--json", "--out", "kept/two"]
    assert softsense_command(fer).returncode == 0
    manifest = tmp_path / "kept" / "two" / "results.json"
    manifest.write_text(manifest.read_text().replace('"date_utc": "2', '"date_utc": "3'))
    assert [each.folder.name for each in find(tmp_path / "kept").results] == ["two", "one"]
    told = softsense_command("results", "list", "kept").stdout
    assert told.index("kept/two") < told.index("kept/deep/one")
    shown = softsense_command("results", "show", "kept/deep/one").stdout
    assert "Response time of requests" in shown
    assert "config.toml, series.csv, summary.json, table.txt" in shown
    for suffix in ("csv", "parquet", "json"):
        done = softsense_command("results", "export", "kept/two", "--out", f"fer.{suffix}")
        assert done.returncode == 0, done.stderr
    frames = [pl.read_csv(tmp_path / "fer.csv"), pl.read_parquet(tmp_path / "fer.parquet")]
    assert frames[0]["fer"].to_list() == frames[1]["fer"].to_list()
    assert [row["rber"] for row in json.loads((tmp_path / "fer.json").read_text())] == [0.001, 0.002]
