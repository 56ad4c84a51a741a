"""Is the same thing available from Python, as polars frames, with the same numbers however it is run?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import softsense
from conftest import CONFIGS, Softsense


def measured(result: softsense.RunResult) -> str:
    """A summary to the byte, without what depends on the machine."""
    return json.dumps({k: v for k, v in result.summary.items() if k != "machine"})


@pytest.fixture(scope="module")
def comparison() -> softsense.Comparison:
    """All policies on the small device."""
    from conftest import SMALL

    return softsense.compare(CONFIGS / "mlc-25nm.toml", overrides=SMALL)


def test_three_lines_give_a_table(trace_file: Path, config: Path, small: list[str]) -> None:
    trace = softsense.Trace(str(trace_file), format="mqsim")
    table = softsense.compare(config, trace, overrides=small).table
    assert table["policy"].to_list() == ["no_soft_sensing", *(policy["name"] for policy in softsense.policies())]
    assert table["requests"].to_list() == [2000] * 6
    assert table["slowdown"][0] == 1.0


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a=b", "found the text `a=b`"),
        ({"read.max_level": 3}, "found a dict"),
        ([("read.max_level", 3)], "found a list with"),
        (3, "found <class 'int'>"),
    ],
)
def test_overrides_are_a_list_of_text(given: Any, found: str) -> None:
    """In one sentence, wherever they are taken; a text went letter by letter."""
    config = softsense.load_config("mlc-25nm")
    for take in (
        config.with_overrides,
        lambda given: softsense.load_config("mlc-25nm", given),
        lambda given: softsense.run("mlc-25nm", overrides=given),
        lambda given: softsense.compare(config, overrides=given),
    ):
        with pytest.raises(softsense.ConfigError, match=f"^overrides: {found}"):
            take(given)


def test_frames_agree_with_the_summaries(comparison: softsense.Comparison) -> None:
    import polars as pl

    for result in comparison.all_runs:
        of_this = pl.col("policy") == result.name
        summary = result.summary
        responses = comparison.responses.filter(of_this, kind="read", stat="p99")
        assert responses["response_us"].to_list() == [summary["response"]["read"]["p99_us"]]
        split = comparison.time_split.filter(of_this)
        assert split["mean_us"].sum() == pytest.approx(summary["codeword_reads"]["mean_us"], rel=1e-6)
        levels = comparison.levels.filter(of_this)
        assert levels["codewords"].to_list() == summary["codeword_reads"]["level_histogram"]
        assert levels["share"].sum() == pytest.approx(1)
        distribution = result.distribution("read")
        assert distribution["fraction"].is_sorted()
        assert distribution["response_us"].is_sorted()
        assert distribution["fraction"][-1] == pytest.approx(1)


def test_requests_are_all_accounted_for(comparison: softsense.Comparison) -> None:
    for result in comparison.all_runs:
        summary = result.summary
        assert summary["requests"] == 3000
        assert summary["reads"] + summary["writes"] + summary["trims"] == 3000
        assert summary["response"]["all"]["count"] == 3000


@pytest.mark.parametrize("queue_depth", [1, 8, 64])
def test_throughput_obeys_littles_law(config: Path, small: list[str], queue_depth: int) -> None:
    """In a closed loop as many requests as its depth are always under way: those a second times their mean response.

    Only where the loop fills and empties are there fewer, at most twice the longest response of the run.
    """
    loop = [
        'workload.arrivals="immediate"',
        "workload.sizes=[{bytes=16384,share=1.0}]",
        f"host.issue={{closed_loop={{queue_depth={queue_depth}}}}}",
    ]
    summary = softsense.run(config, overrides=[*small, *loop]).summary
    served, response = summary["throughput"], summary["response"]
    under_way = served["iops"] * 1e-6 * response["all"]["mean_us"]
    ends = 2e-6 * response["all"]["max_us"] / served["span_s"]
    assert (1 - ends) * queue_depth <= under_way <= queue_depth * (1 + 1e-9)
    assert served["mb_per_s"] == pytest.approx(16384e-6 * served["iops"])
    assert served["iops"] == pytest.approx(served["read_iops"] + served["write_iops"])
    assert served["mb_per_s"] == pytest.approx(served["read_mb_per_s"] + served["write_mb_per_s"])
    assert served["read_iops"] * served["span_s"] == pytest.approx(summary["reads"])


def test_policies_meet_the_same_codewords(comparison: softsense.Comparison) -> None:
    """A codeword's luck is fixed when it is written, so every policy sees the same levels needed by host reads."""
    host = {r.summary["codeword_reads"]["count"] for r in comparison.all_runs}
    assert len(host) == 1


def test_nothing_fails_without_soft_sensing(comparison: softsense.Comparison) -> None:
    baseline: Any = comparison.baseline
    assert sum(baseline.summary["codeword_reads"]["level_histogram"][1:]) == 0
    assert baseline.summary["codeword_reads"]["time_us"]["retries"] == 0


def test_a_run_equals_its_row_of_a_comparison(comparison: softsense.Comparison, config: Path, small: list[str]) -> None:
    alone = softsense.run(config, policy="look_ahead", overrides=small)
    assert measured(alone) == measured(comparison["look_ahead"])


def test_results_do_not_depend_on_jobs(config: Path, small: list[str]) -> None:
    one, two = (softsense.compare(config, overrides=small, jobs=jobs) for jobs in (1, 2))
    assert [measured(r) for r in one.all_runs] == [measured(r) for r in two.all_runs]


def test_the_seed_decides(config: Path, small: list[str]) -> None:
    first, same, other = (softsense.run(config, seed=seed, overrides=small) for seed in (3, 3, 4))
    assert measured(first) == measured(same)
    assert measured(first) != measured(other)


def test_logging_changes_nothing_and_agrees_with_the_summary(config: Path, small: list[str], tmp_path: Path) -> None:
    plain = softsense.run(config, policy="two_step", overrides=small)
    logged = softsense.run(config, policy="two_step", overrides=small, log_requests=True)
    filed = softsense.run(config, policy="two_step", overrides=small, log_requests=tmp_path / "requests.parquet")
    assert measured(plain) == measured(logged) == measured(filed)
    requests = logged.requests
    assert requests.equals(filed.requests)
    assert requests["request"].sort().to_list() == list(range(3000))
    reads = requests.filter(kind="read")
    assert len(reads) == plain.summary["reads"]
    assert reads["response_ns"].mean() / 1000 == pytest.approx(plain.summary["response"]["read"]["mean_us"], rel=1e-6)
    assert reads["response_ns"].max() / 1000 == pytest.approx(plain.summary["response"]["read"]["max_us"], rel=1e-6)
    with pytest.raises(ValueError, match="log_requests"):
        _ = plain.requests


def test_requests_have_their_energy(config: Path, small: list[str]) -> None:
    result = softsense.run(config, policy="look_ahead", overrides=small, log_requests=True)
    energy, counted = result.summary["energy"], result.summary
    by_operation = [energy[f"{what}_uj"] for what in ("sense", "transfer", "program", "erase", "decode")]
    assert sum(by_operation) + energy["sense_extra_levels_uj"] == pytest.approx(energy["total_uj"])
    of_hosts = energy["mean_read_uj"] * counted["reads"] + energy["mean_write_uj"] * counted["writes"]
    assert of_hosts + energy["background_uj"] == pytest.approx(energy["total_uj"])
    assert result.requests["energy_uj"].sum() == pytest.approx(of_hosts)
    assert energy["decode_uj"] == pytest.approx(0.8 * counted["operations"]["decodes"])
    assert energy["program_uj"] == pytest.approx(52.0 * counted["operations"]["programs"])


def test_a_policy_may_carry_its_retry(config: Path, small: list[str]) -> None:
    pair = softsense.compare(config, policies="two_step:restart, two_step:incremental", overrides=small, baseline=False)
    assert [r.summary["retry"] for r in pair.runs] == ["restart", "incremental"]
    assert pair.table["slowdown"].to_list() == [None, None]


def test_errors_are_of_one_kind_and_name_the_place(config: Path, small: list[str], tmp_path: Path) -> None:
    with pytest.raises(softsense.ConfigError, match="wings"):
        softsense.run(config, overrides=["geometry.wings=2"])
    with pytest.raises(softsense.ConfigError, match=r"guess.*two_step"):
        softsense.compare(config, policies="guess")
    with pytest.raises(softsense.SoftsenseError, match="nowhere"):
        softsense.run(config, tmp_path / "nowhere.csv", overrides=small)
    with pytest.raises(softsense.FileError, match="nowhere"):
        softsense.run(tmp_path / "nowhere.toml")
    with pytest.raises(softsense.FileError, match="nowhere"):
        softsense.run(config, overrides=small, log_requests=tmp_path / "nowhere" / "requests.parquet")


def test_progress_comes_from_the_calling_thread_and_ends_at_one(config: Path, small: list[str]) -> None:
    import threading

    seen: dict[str, list[float]] = {}

    def progress(name: str, requests: int, fraction: float) -> None:
        assert threading.current_thread() is threading.main_thread()
        seen.setdefault(name, []).append(fraction)

    softsense.compare(config, overrides=small, policies="two_step", progress=progress)
    assert list(seen) == ["no_soft_sensing", "two_step"]
    for fractions in seen.values():
        assert fractions == sorted(fractions)
        assert fractions[-1] == 1.0


def test_pictures_of_all_shapes_can_be_drawn(config: Path, small: list[str], tmp_path: Path) -> None:
    """Nothing to read, nothing to write, one request, many rows."""
    shapes = {
        "reads": [*small, "workload.read_fraction=1.0"],
        "writes": [*small, "workload.read_fraction=0.0"],
        "one": [*small, "workload.requests=1"],
    }
    for name, overrides in shapes.items():
        result = softsense.compare(config, overrides=overrides, policies="two_step,look_ahead")
        result.plot(name).savefig(tmp_path / f"{name}.png")
        softsense.run(config, overrides=overrides).plot().savefig(tmp_path / f"{name}-run.png")
        from softsense import tables

        assert tables.results(result, width=80)
        assert tables.finding(result)


def test_memory_does_not_grow_with_the_trace(
    tmp_path: Path, softsense_process: Softsense, set_small: list[str]
) -> None:
    """Four times the requests: what a run keeps of each would be some hundred bytes at least, 60 MB in all."""
    peaks = []
    for requests in (200_000, 800_000):
        trace = tmp_path / f"{requests}.trace"
        small = [*set_small, "--set", f"workload.requests={requests}"]
        assert softsense_process("trace", "generate", CONFIGS / "mlc-25nm.toml", trace, small).returncode == 0
        replay = ["--trace", str(trace), "--format", "mqsim", "--json"]
        ran = softsense_process("run", CONFIGS / "mlc-25nm.toml", replay, set_small)
        assert ran.returncode == 0, ran.stderr
        summary = json.loads(ran.stdout)
        assert summary["requests"] == requests
        peaks.append(summary["machine"]["peak_rss_bytes"])
    assert peaks[1] - peaks[0] < 8e6, peaks


def test_a_run_without_reads_has_every_frame(config: Path, small: list[str]) -> None:
    result = softsense.run(config, overrides=[*small, "workload.read_fraction=0.0", "workload.requests=200"])
    assert result.time_split["mean_us"].null_count() == len(result.time_split) == 7
    assert result.levels["codewords"].sum() == 0
    # Mean, maximum and five percentiles of reads, writes and all.
    assert result.responses.height == 21
    assert result.table["codeword_read_mean_us"].to_list() == [None]


def test_ctrl_c_while_a_log_is_cleaned_up_leaves_nothing(
    config: Path, set_small: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first removal hears Ctrl-C before it has removed anything."""
    import shutil

    calls = []
    remove = shutil.rmtree

    def interrupted_once(path: Path, **options: bool) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        remove(path, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        softsense.run(config, overrides=set_small[1::2], log_requests=tmp_path / "log.parquet")
    assert len(calls) == 2
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_slowest_reads_are_told_by_what_they_waited_for() -> None:
    """Are all of them those of the mean, do their parts add up, and does a tail of programs say so?"""
    lone = ["workload.requests=20000", "workload.arrivals.poisson.requests_per_s=1000.0"]
    lone += ["precondition.retention_days=0", "precondition.layout=sequential"]
    reads = softsense.run(softsense.Config.open("tlc-femu", lone)).summary["codeword_reads"]
    of_all, hundredth, thousandth = reads["slowest"]
    assert (of_all["share"], of_all["count"]) == (1.0, reads["count"])
    assert of_all["mean_us"] == pytest.approx(reads["mean_us"])
    assert of_all["time_us"] == pytest.approx(reads["time_us"])
    for slowest in reads["slowest"]:
        assert slowest["mean_us"] == pytest.approx(sum(slowest["time_us"].values()))
        waits = slowest["wait_plane_for_us"]
        assert sum(waits.values()) == pytest.approx(slowest["time_us"]["wait_plane"])
    assert 0.01 * reads["count"] <= hundredth["count"] < 0.02 * reads["count"]
    assert of_all["mean_us"] < hundredth["from_us"] < hundredth["mean_us"] < thousandth["mean_us"]
    assert thousandth["wait_plane_for_us"]["host_programs"] > 0.8 * thousandth["mean_us"]


def test_codes_of_hard_decisions_are_compared_without_a_baseline() -> None:
    compared = softsense.compare("mlc-lae", policies="ideal,two_step", overrides=["workload.requests=500"])
    assert compared.table["policy"].to_list() == ["ideal", "two_step"]
