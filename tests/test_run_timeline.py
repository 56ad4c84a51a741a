"""Does a run tell what its device did in a window, and is it the same run?"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import softsense
from conftest import SMALL, Softsense


def test_a_window_is_told_in_frames_and_changes_no_result() -> None:
    plain = softsense.run("mlc-25nm", policy="two_step", overrides=SMALL)
    seen = softsense.run("mlc-25nm", policy="two_step", overrides=SMALL, timeline="0ns..1000s")
    assert {**seen.summary, "machine": None} == {**plain.summary, "machine": None}
    assert plain.timeline is None
    assert seen.timeline is not None
    assert seen.timeline.note is None
    spans, requests = seen.timeline.spans, seen.timeline.requests
    assert requests["completed"].all()
    assert len(requests) == seen.summary["requests"]
    assert requests["uncorrectable_codewords"].sum() == seen.summary["codeword_reads"]["uncorrectable"]
    decodes = spans.filter(pl.col("action") == "decode")
    assert len(decodes) == seen.summary["operations"]["decodes"]
    assert set(spans["request"].drop_nulls()) <= set(requests["request"])
    for _, those in spans.group_by("resource", "index", maintain_order=True):
        assert (those["from_ns"][1:] >= those["to_ns"][:-1]).all()


@pytest.mark.parametrize("window", ["5ms..1ms", "10..12", "xms..2ms", "10ms..", "10ms"])
def test_a_window_that_is_none_is_one_error(softsense_command: Softsense, set_small: list[str], window: str) -> None:
    done = softsense_command("run", "mlc-25nm", *set_small, "--timeline", window)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --timeline: found `{window}`, expected ")
    assert done.stderr.count("\n") == 1


def test_the_command_writes_trace_events_and_says_where_there_are_none(
    softsense_command: Softsense, set_small: list[str], tmp_path: Path
) -> None:
    command = ("run", "mlc-25nm", *set_small, "--json", "--out", str(tmp_path / "out"))
    done = softsense_command(*command, "--timeline", "1ms..3ms")
    assert done.returncode == 0
    document = json.loads((tmp_path / "out" / "timeline.json").read_text())
    assert {event["ph"] for event in document["traceEvents"]} >= {"M", "X", "b", "e"}
    assert "timeline.json" in json.loads((tmp_path / "out" / "results.json").read_text())["files"]
    done = softsense_command(*command, "--timeline", "1000s..1001s")
    assert done.returncode == 0
    assert "the timeline is empty: the run ends after " in done.stderr
    document = json.loads((tmp_path / "out" / "timeline.json").read_text())
    assert {event["ph"] for event in document["traceEvents"]} == {"M"}
    done = softsense_command(*command)
    assert done.returncode == 0
    assert not (tmp_path / "out" / "timeline.json").exists(), "it would be taken for one of this run"
