"""What of a run is measured, as users see it: warnings, files, frames and pictures."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

import softsense
from conftest import Softsense

SMALL = [
    "geometry={ channels = 2, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 2, blocks_per_plane = 32, "
    "pages_per_block = 24, codewords_per_page = 4, codeword_bytes = 4096 }",
    "ftl.over_provisioning=0.4",
    "host.write_buffer_bytes=262144",
    "workload={ requests = 4000, read_fraction = 0.3, arrivals = 'immediate' }",
    "host.issue={ closed_loop = { queue_depth = 8 } }",
]
SETS = [word for field in SMALL for word in ("--set", field)]


def test_a_run_that_used_up_room_says_so_first_and_one_in_the_steady_state_does_not(
    softsense_command: Softsense, tmp_path: Path
) -> None:
    short = softsense_command("run", "tlc-femu", *SETS, "--out", str(tmp_path / "short"))
    warning, table = short.stdout.index("was not in its steady state"), short.stdout.index("Response time of requests")
    assert warning < table
    assert re.search(r"of \d+ free blocks \d+ were left", short.stdout)
    steady = ["--set", "measurement.warmup='until_steady'", "--set", "measurement.seconds=0.5"]
    done = softsense_command("run", "tlc-femu", *SETS, *steady, "--out", str(tmp_path / "steady"))
    assert "steady state" not in done.stdout.split("Response time")[0].split("measured")[1].replace(
        "from the steady state on", ""
    )
    summary = json.loads((tmp_path / "steady" / "summary.json").read_text())
    assert summary["measurement"]["steady"] is True
    assert summary["throughput"]["span_s"] == pytest.approx(0.5, rel=0.1)


def test_series_are_a_file_a_frame_and_a_picture(softsense_command: Softsense, tmp_path: Path) -> None:
    warmup = "measurement.warmup={ requests = 2000 }"
    softsense_command("run", "tlc-femu", *SETS, "--set", warmup, "--out", str(tmp_path / "run"))
    assert (tmp_path / "run" / "over-time.png").stat().st_size > 20_000
    with (tmp_path / "run" / "series.csv").open() as file:
        rows = list(csv.DictReader(file))
    result = softsense.run("tlc-femu", overrides=[*SMALL, warmup])
    assert [float(row["from_s"]) for row in rows] == result.series["from_s"].to_list()
    assert result.series["measured"].to_list() == sorted(result.series["measured"].to_list())
    measured = result.series.filter("measured")
    seconds = measured["to_s"] - measured["from_s"]
    assert (measured["iops"] * seconds).sum() == pytest.approx(result.summary["requests"])
    assert result.series["rber"].drop_nulls().min() > 1e-4
    assert [axes.get_title(loc="left") for axes in result.plot_over_time(style="paper", columns=2).axes] != []


def test_comparisons_have_the_series_of_all_runs(softsense_command: Softsense, tmp_path: Path) -> None:
    policies = ["--policies", "two_step,progressive"]
    softsense_command("compare", "tlc-femu", *SETS, *policies, "--out", str(tmp_path / "compared"))
    with (tmp_path / "compared" / "series.csv").open() as file:
        assert {row["policy"] for row in csv.DictReader(file)} == {"no_soft_sensing", "two_step", "progressive"}
    assert "Over time" in (tmp_path / "compared" / "report.html").read_text()


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("measurement.seconds=0", "measurement.seconds: found 0, expected a number from 0.000001 to"),
        ("measurement.warmup={ requests = 0 }", "measurement.warmup.requests: found 0, expected at least 1"),
        ("measurement.warmup={ seconds = -1.0 }", "measurement.warmup.seconds: found -1"),
        ("measurement.warmup='steady'", "measurement.warmup"),
        ("precondition.free_blocks=1", "precondition.free_blocks: found 1, expected a whole number from 3 to 6"),
    ],
)
def test_bad_measurements_are_one_error(softsense_command: Softsense, field: str, message: str) -> None:
    failed = softsense_command("run", "tlc-femu", *SETS, "--set", field)
    assert failed.returncode == 2
    assert message in failed.stderr
    assert failed.stdout == ""
    assert failed.stderr.count("\n") == 1
