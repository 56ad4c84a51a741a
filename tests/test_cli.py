"""Does the command line do what it says, and is every kind of bad input one clear error?"""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import softsense
from conftest import CONFIGS, ROOT, Softsense
from softsense import _core, cli

pytestmark = pytest.mark.usefixtures("one_pixel")

POLICIES = ["ideal", "two_step", "look_ahead", "progressive", "look_ahead_progressive"]


def assert_bad_input(done: subprocess.CompletedProcess[str], *says: str) -> None:
    """One line that names the place, exit code 2, no traceback, nothing on standard output."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in says:
        assert word in done.stderr


# Traces that are wrong: what is in the file, and what the error must say besides its name.

GOOD_LINES = b"".join(b"%d 0 %d 8 1\n" % (i * 1000, i * 8) for i in range(5000))


def zstd_frame(payload: bytes) -> bytes:
    """A zstd frame of raw blocks, built by hand: the standard library of Python 3.11 has no zstd."""
    frame = b"\x28\xb5\x2f\xfd\x00\x38"
    blocks = [payload[i : i + 1000] for i in range(0, len(payload), 1000)]
    for i, block in enumerate(blocks):
        frame += ((len(block) << 3) | (i == len(blocks) - 1)).to_bytes(3, "little") + block
    return frame


BAD_TRACES: dict[str, tuple[bytes, list[str]]] = {
    "empty": (b"", []),
    "binary": (bytes(range(256)) * 64, []),
    "truncated gzip": (gzip.compress(GOOD_LINES)[:-200], []),
    "truncated zstd": (zstd_frame(GOOD_LINES)[:-200], []),
    "letters": (b"0 0 0 8 1\n1000 0 eight 8 1\n2000 0 16 8 1\n", [":2", "eight"]),
    "negative": (b"0 0 0 8 1\n1000 0 -8 8 1\n", [":2", "-8"]),
    "overflow": (b"0 0 0 8 1\n1000 0 8 8 1\n2000 0 99999999999999999999999 8 1\n", [":3"]),
    "missing column": (b"0 0 0 8 1\n1000 0 8 8\n", [":2"]),
}


@pytest.mark.parametrize("name", BAD_TRACES)
@pytest.mark.parametrize("command", ["stats", "compare"])
def test_bad_trace_is_one_error_that_names_the_place(
    softsense_command: Softsense, tmp_path: Path, config: Path, set_small: list[str], name: str, command: str
) -> None:
    content, says = BAD_TRACES[name]
    file = tmp_path / "bad.trace"
    file.write_bytes(content)
    if command == "stats":
        done = softsense_command("trace", "stats", file, "--format", "mqsim")
    else:
        done = softsense_command("compare", config, "--trace", file, "--format", "mqsim", set_small)
    assert_bad_input(done, "bad.trace", *says)
    assert not (tmp_path / "out" / "compare-mlc-25nm").exists(), "an error left an empty folder behind"


def test_whole_hand_made_zstd_is_a_trace(softsense_command: Softsense, tmp_path: Path) -> None:
    """So that the truncated one fails for being truncated."""
    (tmp_path / "good.trace.zst").write_bytes(zstd_frame(GOOD_LINES))
    done = softsense_command("trace", "stats", "good.trace.zst", "--format", "mqsim", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["requests"] == 5000


BAD_CONFIGS: dict[str, tuple[str, list[str]]] = {
    "unknown section": ("colour.red=1", ["colour"]),
    "unknown field": ("geometry.wings=2", ["wings"]),
    "no channels": ("geometry.channels=0", ["geometry.channels", "0"]),
    "negative blocks": ("geometry.blocks_per_plane=-5", ["geometry.blocks_per_plane"]),
    "astronomic geometry": ("geometry.blocks_per_plane=4000000000000", ["geometry"]),
    "no over-provisioning": ("ftl.over_provisioning=0", ["ftl.over_provisioning"]),
    "all over-provisioning": ("ftl.over_provisioning=1.0", ["ftl.over_provisioning"]),
    "letters": ('geometry.channels="eight"', ["geometry.channels"]),
    "unknown policy": ('read.policy="guess"', ["read.policy", "guess", "two_step"]),
    "unknown retry": ('read.retry="never"', ["read.retry", "never", "restart"]),
    "not an assignment": ("geometry.channels", ["geometry.channels"]),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_bad_config_is_one_error_that_names_the_field(softsense_command: Softsense, config: Path, name: str) -> None:
    override, says = BAD_CONFIGS[name]
    assert_bad_input(softsense_command("config", "check", config, "--set", override), *says)
    assert_bad_input(softsense_command("run", config, "--set", override), *says)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"geometry = [", ["bad.toml"]),
        (b"\xff\xfe\x00geometry", ["bad.toml", "UTF-8"]),
        (b"[geometry]\nwings = 2\n", ["bad.toml", "wings"]),
    ],
    ids=["broken TOML", "binary", "unknown key"],
)
def test_bad_config_file_is_named(
    softsense_command: Softsense, tmp_path: Path, content: bytes, says: list[str]
) -> None:
    (tmp_path / "bad.toml").write_bytes(content)
    assert_bad_input(softsense_command("config", "check", "bad.toml"), *says)


def test_missing_files_are_named(softsense_command: Softsense, config: Path) -> None:
    assert_bad_input(softsense_command("run", "nowhere.toml"), "nowhere.toml")
    assert_bad_input(softsense_command("run", config, "--trace", "nowhere.csv"), "nowhere.csv")
    assert_bad_input(softsense_command("trace", "stats", "nowhere.csv"), "nowhere.csv")


def test_unknown_policy_lists_the_known_ones(softsense_command: Softsense, config: Path) -> None:
    assert_bad_input(softsense_command("compare", config, "--policies", "two_step,guess"), "guess", *POLICIES)
    assert_bad_input(softsense_command("compare", config, "--policies", "two_step:never"), "never")
    assert_bad_input(softsense_command("run", config, "--policy", "guess"), "guess", *POLICIES)


def test_unknown_option_is_one_error(softsense_process: Softsense, config: Path) -> None:
    assert_bad_input(softsense_process("run", config, "--wings"), "--wings")
    assert_bad_input(softsense_process("run"), "CONFIG")
    assert_bad_input(softsense_process("trace", "stats", "x", "--format", "punched-card"), "punched-card", "mqsim")


def test_trace_beyond_the_device_is_refused_unless_told_otherwise(
    softsense_command: Softsense, tmp_path: Path, config: Path, set_small: list[str]
) -> None:
    (tmp_path / "far.trace").write_text("0 0 0 8 1\n1000 0 8000000000 8 1\n2000 0 8 8 0\n")
    command = ["run", str(config), "--trace", "far.trace", "--format", "mqsim", "--json", *set_small]
    refused = softsense_command(command)
    assert refused.returncode == 2
    # What was recognised is shown before the device is set up, and so before the trace turns out not to fit.
    message = refused.stderr.splitlines()[-1]
    assert message.startswith("error: ")
    assert all(word in message for word in ("far.trace", "wrap", "scale"))
    for how in ("wrap", "scale"):
        done = softsense_command(command, "--beyond", how)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["requests"] == 3


def test_unwritable_folder_is_one_error_before_anything_runs(
    softsense_process: Softsense, tmp_path: Path, config: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    started = time.monotonic()
    done = softsense_process("compare", config, "--set", "workload.requests=1000000000", "--out", "file/results")
    assert_bad_input(done, "file", "cannot write")
    assert time.monotonic() - started < 30


# What it prints and writes.


def test_compare_prints_tables_and_writes_results(
    softsense_command: Softsense, tmp_path: Path, config: Path, set_small: list[str], trace_file: Path
) -> None:
    done = softsense_command(
        "compare", config, "--trace", trace_file, "--format", "mqsim", set_small, "--out", "results"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "progress is for terminals"
    for name in ["no soft sensing", *POLICIES]:
        assert re.search(rf"^{name} ", done.stdout, re.MULTILINE), name
    assert "2,000" in done.stdout
    assert "mqsim" in done.stdout.lower()
    assert " us on average" in done.stdout
    written = sorted(p.name for p in (tmp_path / "results").iterdir())
    pages = ["comparison.png", "report.html"]
    assert written == sorted([*pages, "config.toml", "results.json", "series.csv", "summary.json", "table.txt"])
    for name in written:
        assert f"results/{name}" in done.stdout
    assert (tmp_path / "results" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    summary = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert [p["name"] for p in summary["policies"]] == POLICIES
    assert summary["baseline"]["reliability"] == "perfect"


def test_no_line_is_wider_than_the_screen(softsense_command: Softsense, config: Path, set_small: list[str]) -> None:
    done = softsense_command("compare", config, set_small)
    assert done.returncode == 0, done.stderr
    blocks = done.stdout[done.stdout.index("Response time") : done.stdout.index(" on average")].rpartition("\n")[0]
    assert max(map(len, blocks.splitlines())) <= 150


def test_json_is_all_there_is_on_standard_output(
    softsense_process: Softsense, config: Path, set_small: list[str]
) -> None:
    done = softsense_process("run", config, set_small, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["machine"].keys() == {"wall_s", "requests_per_s", "setup_s", "peak_rss_bytes"}
    assert summary["requests"] == 3000
    assert not summary["interrupted"]


def test_written_config_repeats_the_run(
    softsense_process: Softsense, tmp_path: Path, config: Path, set_small: list[str]
) -> None:
    first = softsense_process("run", config, set_small, "--seed", "7", "--json", "--out", "first")
    assert first.returncode == 0, first.stderr
    again = softsense_process("run", tmp_path / "first" / "config.toml", "--json", "--out", "again")
    assert again.returncode == 0, again.stderr
    for field in ("response", "codeword_reads", "config_sha256", "seed"):
        assert json.loads(first.stdout)[field] == json.loads(again.stdout)[field]


def test_requests_log_holds_every_request(
    softsense_command: Softsense, tmp_path: Path, config: Path, set_small: list[str]
) -> None:
    import polars as pl

    done = softsense_command("compare", config, set_small, "--requests-log", "--policies", "two_step,look_ahead")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out" / "compare-mlc-25nm"
    frame = pl.read_parquet(folder / "requests.parquet")
    assert frame["policy"].unique(maintain_order=True).to_list() == ["no_soft_sensing", "two_step", "look_ahead"]
    assert frame.group_by("policy").len()["len"].to_list() == [3000] * 3
    assert not [p for p in folder.iterdir() if p.name.startswith(".")], "part files are left"


def test_ctrl_c_writes_what_was_measured(tmp_path: Path, config: Path, set_small: list[str]) -> None:
    command = [sys.executable, "-c", "import sys; from softsense.cli import main; sys.exit(main())"]
    command += ["compare", str(config), *set_small, "--set", "workload.requests=200000000", "--out", "cut", "--json"]
    process = subprocess.Popen(
        [*command, "--jobs", "2", "--requests-log"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    # Part files appear once requests have completed.
    while process.poll() is None and not list(tmp_path.glob("cut/.softsense-*.parts/001-*.npz")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    summary = json.loads(output)
    assert summary["policies"]
    assert all(p["interrupted"] and p["requests"] > 0 for p in summary["policies"])
    assert json.loads((tmp_path / "cut" / "summary.json").read_text()) == summary
    assert sorted(p.name for p in (tmp_path / "cut").iterdir()) == [
        "config.toml",
        "report.html",
        "requests.parquet",
        "results.json",
        "series.csv",
        "summary.json",
        "table.txt",
    ]


def test_json_draws_nothing_and_leaves_no_picture_of_an_earlier_run(
    softsense_command: Softsense, tmp_path: Path, config: Path, set_small: list[str]
) -> None:
    run = ["run", config, set_small, "--set", "workload.requests=300", "--out", "results"]
    names = {"config.toml", "results.json", "series.csv", "summary.json", "table.txt"}
    for more, pages in [([], {"over-time.png", "run.png", "report.html"}), (["--json"], set())]:
        done = softsense_command(*run, *more)
        assert done.returncode == 0, done.stderr
        assert {path.name for path in (tmp_path / "results").iterdir()} == names | pages


def test_schema_is_up_to_date(softsense_command: Softsense) -> None:
    assert softsense_command("config", "schema").stdout == (ROOT / "schema" / "config.schema.json").read_text()


def test_config_show_is_a_config(softsense_command: Softsense, tmp_path: Path, config: Path) -> None:
    shown = softsense_command("config", "show", config)
    assert shown.returncode == 0, shown.stderr
    (tmp_path / "shown.toml").write_text(shown.stdout)
    assert softsense_command("config", "show", "shown.toml").stdout == shown.stdout
    assert softsense_command("config", "check", "shown.toml").stdout.startswith("ok: ")
    assert json.loads(softsense_command("config", "show", config, "--json").stdout)


@pytest.mark.parametrize("to", ["csv", "mqsim", "disksim"])
def test_converted_trace_holds_the_same_requests(
    softsense_command: Softsense, trace_file: Path, tmp_path: Path, to: str
) -> None:
    done = softsense_command("trace", "convert", trace_file, f"converted.{to}", "--format", "mqsim", "--to", to)
    assert done.returncode == 0, done.stderr
    assert "2,000" in done.stdout
    before = softsense_command("trace", "stats", trace_file, "--format", "mqsim", "--json")
    after = softsense_command("trace", "stats", tmp_path / f"converted.{to}", "--format", to, "--json")
    assert after.returncode == 0, after.stderr
    kept = ("requests", "reads", "writes", "span_s", "footprint_bytes")
    assert [json.loads(after.stdout)[k] for k in kept] == [json.loads(before.stdout)[k] for k in kept]


def test_generated_workload_is_a_trace(softsense_command: Softsense, config: Path, set_small: list[str]) -> None:
    done = softsense_command("trace", "generate", config, "synthetic.trace", set_small)
    assert done.returncode == 0, done.stderr
    stats = softsense_command("trace", "stats", "synthetic.trace", "--format", "mqsim", "--json")
    assert json.loads(stats.stdout)["requests"] == 3000


def test_version_and_help(softsense_process: Softsense) -> None:
    profile = _core.build_info()["profile"]
    assert profile in {"release", "debug"}
    told = rf"softsense \d+\.\d+\.\d+, model \d+, {profile} build for \S+, codecs use \S+(, commit \S+)?\n"
    assert re.fullmatch(told, softsense_process("--version").stdout)
    for command in ([], ["run"], ["compare"], ["trace"], ["trace", "stats"], ["config"], ["policies"]):
        assert softsense_process(command, "--help").returncode == 0
    for command in ([], ["config"]):
        asked = softsense_process(command)
        assert (asked.returncode, asked.stdout, asked.stderr) == (0, softsense_process(command, "--help").stdout, "")
    listed = softsense_process("policies").stdout
    assert all(name in listed for name in POLICIES)


def test_shipped_configs_are_listed(softsense_command: Softsense) -> None:
    rows = json.loads(softsense_command("config", "list", "--json").stdout)
    assert rows == softsense.configs()
    assert [row["name"] for row in rows] == sorted(file.stem for file in CONFIGS.glob("*.toml"))
    told = softsense_command("config", "list").stdout
    for row in rows:
        first_line = (CONFIGS / f"{row['name']}.toml").read_text().splitlines()[1]
        assert f"# {row['description']}" == first_line
        assert row["user_bytes"] == softsense.Config.open(row["name"]).user_bytes
        (line,) = (line for line in told.splitlines() if line.split()[:1] == [row["name"]])
        assert row["reliability"] in line.split()
        assert row["description"] in line


# Raw bit error rates that a decode table does not reach.

SHORT_TABLE = """format = "softsense decode table, version 1"
name = "short"
code = "of no code"
decoder = "none"
source = "made up"
interpolation = "log"
rber = [0.004, 0.02]

[[level]]
p_fail = [1e-3, 0.5]

[[level]]
p_fail = [1e-6, 0.25]
"""


@pytest.mark.parametrize(("rber", "beyond"), [(0.003, True), (0.004, False), (0.021, True)])
def test_what_a_table_does_not_reach_is_said_first_or_an_error(
    softsense_command: Softsense, tmp_path: Path, set_small: list[str], rber: float, beyond: bool
) -> None:
    (tmp_path / "short.toml").write_text(SHORT_TABLE)
    table = [f"file='{tmp_path / 'short.toml'}'", f"rber.constant.rber={rber}", "variation={}"]
    command = ["run", "mlc-25nm", *set_small, "--set", "read.max_level=2"]
    command += [word for field in table for word in ("--set", f"reliability.table.{field}")]
    done = softsense_command(command)
    assert done.returncode == (2 if beyond else 0), done.stderr
    if beyond:
        assert "reliability.table.most_beyond: found 100.000 % of codeword reads" in done.stderr
        assert not (tmp_path / "out").exists()
    done = softsense_command(command, "--set", "reliability.table.most_beyond=1", "--out", "all")
    assert done.returncode == 0, done.stderr
    counted = json.loads((tmp_path / "all" / "summary.json").read_text())["codeword_reads"]
    assert counted["beyond_table"] == (counted["count"] if beyond else 0)
    said = "(100 %) were at raw bit error rates outside the range of the decode table"
    assert (said in done.stdout) == beyond
    assert not beyond or done.stdout.index(said) < done.stdout.index("Response time of requests")


# Names.


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        (["config", "show", "tlc-femu"], ["config", "show", "TLC_FEMU"]),
        (
            ["config", "show", "tlc-femu", "--set", "read.policy=look_ahead", "--set", "ftl.victims=cost_benefit"],
            ["config", "show", "tlc-femu", "--set", "read.policy=look-ahead", "--set", "ftl.victims=Cost-Benefit"],
        ),
        (
            ["config", "show", "tlc-femu", "--set", "reliability.table.file=flash-8-9"],
            ["config", "show", "tlc-femu", "--set", "Reliability.Table.File=flash_8/9"],
        ),
        (["code", "show", "flash-8/9"], ["code", "show", "flash_8_9"]),
        (["flash", "show", "tlc-2-3-2", "--pe-cycles", "10"], ["flash", "show", "TLC_2_3_2", "--pe", "10"]),
        (
            ["flash", "show", "mlc", "--placement", "mutual_information"],
            ["flash", "show", "mlc", "--placement", "Mutual-Information"],
        ),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_name_is_the_same_however_it_is_spelled(
    capfd: pytest.CaptureFixture[str], plain: list[str], other: list[str]
) -> None:
    """What is printed is always its own spelling."""
    told = []
    for arguments in (plain, other):
        assert cli.main(arguments) == 0
        told.append(capfd.readouterr().out)
    assert told[0] == told[1]
