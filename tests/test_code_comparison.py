"""Do several codes come in one table and one picture, each with the rates that it has alone?"""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import softsense
from conftest import Softsense
from softsense import Code, CodeComparison, ConfigError, Store, tables
from softsense.folders import Results
from softsense.rate_charts import codes_chart
from test_cli import assert_bad_input

BCH = "bch:m=7,t=6,k=64"
RATES = [0.02, 0.05, 0.08]
QUICK: dict[str, Any] = {"relative_error": 0.3, "frames": 20_000, "method": "direct"}
OPTIONS = ("--relative-error", "0.3", "--frames", "20000", "--method", "direct", "--no-progress")


@pytest.fixture(scope="module")
def compared() -> CodeComparison:
    """An LDPC code with two decoders, and a BCH code."""
    decoders = ["min-sum", "bit-flipping"]
    return softsense.compare_codes(["teaching-1/2", BCH], RATES, decoders=decoders, workers=1, **QUICK)


def test_each_code_has_the_rates_that_it_has_alone(compared: CodeComparison) -> None:
    assert compared.labels == ["teaching-1/2, min-sum", "teaching-1/2, bit-flipping", BCH]
    alone = [
        softsense.measure_fer(code, RATES, decoder=decoder, **QUICK)
        for code, decoder in (("teaching-1/2", "min-sum"), ("teaching-1/2", "bit-flipping"), (BCH, "min-sum"))
    ]
    assert [result.to_dict() for result in compared.results] == [result.to_dict() for result in alone]
    assert compared.table["rate"].unique(maintain_order=True).to_list() == [0.5, 64 / 106]


def test_one_table_has_a_group_of_columns_for_each_code(compared: CodeComparison) -> None:
    told = tables.compared(compared)
    about, level, thresholds, *notes = told.split("\n\n")
    rows = [line.split() for line in about.splitlines()]
    assert [row[-2:] for row in rows[3:]] == [["20", "iterations"]] * 2 + [["0.07832", "BCH"]]
    assert "106  64  0.6038" in about
    _, heads, below, _, *body = level.splitlines()
    for label in compared.labels:
        assert label in heads
    assert heads.count("95 %") == below.count("from") == below.count("to") == 3
    for line, place in zip(body, RATES, strict=True):
        rber, *cells = line.split()
        assert float(rber) == place
        points = [next(p for p in result.points if p["rber"] == place) for result in compared.results]
        wanted = [point[end] for point in points for end in ("fer", "lo", "hi")]
        assert [float(cell.strip("*")) for cell in cells] == pytest.approx(wanted, rel=5e-3)
    assert "1e-02" in thresholds
    assert any("not of equal cost" in note for note in notes)
    assert any("differ in length" in note for note in notes)


def test_one_picture_has_a_curve_with_its_interval_for_each(compared: CodeComparison) -> None:
    axes = compared.plot().axes[0]
    names = [
        "teaching-1/2, min-sum (n = 96, k = 48, rate 0.500)",
        "teaching-1/2, bit-flipping (n = 96, k = 48, rate 0.500)",
        f"{BCH} (n = 106, k = 64, rate 0.604)",
    ]
    lines = {line.get_label(): line for line in axes.lines if line.get_label() in names}
    assert list(lines) == names
    assert len({line.get_color() for line in lines.values()}) == 3
    for line, result in zip(lines.values(), compared.results, strict=True):
        assert list(line.get_xdata()) == RATES
        wanted = [p["fer"] if p["complete"] else math.nan for p in result.points]
        assert list(line.get_ydata()) == pytest.approx(wanted, nan_ok=True)
    bands = [each for each in axes.collections if type(each).__name__ == "FillBetweenPolyCollection"]
    assert len(bands) == 3
    legend = [text.get_text() for each in axes.figure.legends for text in each.get_texts()]
    assert legend[:3] == names


def test_levels_of_several_codes_have_markers() -> None:
    decoders = ["flooding-min-sum-f32", "layered-min-sum-f32"]
    more: dict[str, Any] = {"levels": "1,3", "method": "direct", "relative_error": 0.5, "frames": 500, "workers": 1}
    compared = softsense.compare_codes(["teaching-1/2"], [0.05, 0.08], decoders=decoders, **more)
    assert compared.levels == [1, 3]
    axes = compared.plot().axes[0]
    marked = {(line.get_color(), line.get_marker()) for line in axes.lines if line.get_marker() in ("o", "s")}
    assert len(marked) == 4
    assert "Level 3" in compared.report()


def test_more_codes_than_colours_have_other_markers() -> None:
    """The tenth curve looked like the first."""
    compared = softsense.compare_codes([f"bch:m=10,t={t},k=512" for t in range(2, 14)], [0.002, 0.005])
    looks = [(series.colour, series.marker) for series in codes_chart(compared).series]
    assert len(looks) == len(set(looks)) == 12


def test_the_command_leaves_a_folder_of_results(softsense_process: Softsense, tmp_path: Path) -> None:
    words = ("fer", "teaching-1/2", BCH, "--rber", "0.02,0.05,0.08", "--store", "s.fer", *OPTIONS)
    done = softsense_process(*words, "--out", "one", "--picture", "one.png")
    assert done.returncode == 0, done.stderr
    again = softsense_process(*words, "--out", "two", "--workers", "2")
    assert again.returncode == 0, again.stderr
    fresh = softsense_process(*words[: -len(OPTIONS) - 2], *OPTIONS, "--out", "three", "--workers", "2")
    assert fresh.returncode == 0, fresh.stderr
    # Whatever the store has, and whoever measures.
    for name in ("fer.json", "table.txt", "report.html"):
        assert len({(tmp_path / folder / name).read_bytes() for folder in ("one", "two", "three")}) == 1
    assert (tmp_path / "one.png").stat().st_size > 10_000
    assert (tmp_path / "one" / "table.txt").read_text().strip() in done.stdout
    found = Results.open(tmp_path / "one")
    assert found.state == "whole"
    assert found.manifest.asked["codes"] == ["teaching-1/2", BCH]
    rows = found.rows()
    assert [(row["code"], row["rber"]) for row in rows] == [
        (code, rber) for code in ("teaching-1/2", BCH) for rber in RATES
    ]
    side = softsense_process("results", "compare", "one", "two", "--metric", "fer")
    assert f"{BCH}, 1, 0.02" in side.stdout, side.stderr


def test_a_comparison_that_was_stopped_goes_on_to_the_same_result(compared: CodeComparison, tmp_path: Path) -> None:
    """Ctrl-C while the second curve is measured: the first is whole, and the store has what was counted."""
    asked: dict[str, Any] = {"decoders": ["min-sum", "bit-flipping"], "workers": 1, **QUICK}

    stopped: list[str] = []

    def stop(label: str, frames: int, fraction: float) -> None:
        if label == "teaching-1/2, bit-flipping" and not stopped:
            stopped.append(label)
            os.kill(os.getpid(), signal.SIGINT)

    with Store(tmp_path / "s.fer") as store:
        with pytest.raises(softsense.Interrupted) as interruption:
            softsense.compare_codes(["teaching-1/2", BCH], RATES, store=store, progress=stop, **asked)
        left = interruption.value.result
        assert left.interrupted
        assert left.labels in (compared.labels[:1], compared.labels[:2])
        assert left.results[0].to_dict() == compared.results[0].to_dict()
        assert "interrupted" in left.plot().texts[1].get_text()
        told: list[float] = []
        resumed = softsense.compare_codes(
            ["teaching-1/2", BCH], RATES, store=store, progress=lambda *at: told.append(at[2]), **asked
        )
    assert resumed.to_dict() == compared.to_dict()
    assert told == sorted(told)
    assert told[-1] <= 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["teaching-1/2", "teaching-1/2"], ["found teaching-1/2 twice with decoder min-sum", "each code once"]),
        (["teaching-1/2", "same.qc"], ["found same.qc twice", "which is teaching-1/2"]),
        ([BCH, BCH], [f"found {BCH} twice", "each code once"]),
        ([BCH, "--decoder", "min-sum,bit-flipping"], ["found 1 pair of code and decoder", "at least two"]),
        (["teaching-1/2", "--decoder", "min-sum,min-sum"], ["twice with decoder min-sum"]),
        (["teaching-1/2", BCH, "--traps", "sets.toml"], ["found a list of one code", "expected `none`"]),
        (["teaching-1/2", "nowhere.qc"], ["nowhere.qc"]),
        (["teaching-1/2", BCH, "--levels", "1-3"], ["levels", BCH]),
        (["teaching-1/2", BCH, "--decoder", "min-sum,"], ["decoder"]),
    ],
)
def test_bad_input_is_one_error(
    softsense_command: Softsense, tmp_path: Path, words: Sequence[str], told: Sequence[str]
) -> None:
    (tmp_path / "same.qc").write_text(Code.open("teaching-1/2").to_qc())
    refused = softsense_command("fer", *words, "--rber", "0.05", "--out", "out", *OPTIONS)
    assert_bad_input(refused, *told)
    assert not (tmp_path / "out").exists()


def test_one_code_needs_no_list() -> None:
    """A name was taken for a list of codes of one letter each."""
    more: dict[str, Any] = {"decoders": ["min-sum", "bit-flipping"], "method": "direct", "frames": 100, "traps": None}
    for code in ("teaching-1/2", Code.open("teaching-1/2")):
        found = softsense.compare_codes(code, [0.08], relative_error=0.9, **more)
        assert found.labels == ["teaching-1/2, min-sum", "teaching-1/2, bit-flipping"]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """A file is called by its name alone, as reports hold no paths, but where another one has the same name."""
    text = Code.open("teaching-1/2").to_qc()
    files = [tmp_path / "a" / "my.qc", tmp_path / "b" / "my.qc", tmp_path / "b" / "other.qc"]
    for file, shift in zip(files, ("7", "6", "5"), strict=True):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.replace("0  7\n", f"0  {shift}\n", 1))
    more: dict[str, Any] = {"method": "direct", "frames": 100, "relative_error": 0.9, "traps": None}
    assert softsense.compare_codes(files[1:], [0.08], **more).labels == ["my.qc", "other.qc"]
    assert softsense.compare_codes(files[:2], [0.08], **more).labels == [str(file) for file in files[:2]]


def test_results_of_other_channels_are_refused() -> None:
    rates = softsense.measure_fer(BCH, [0.03])
    cells = softsense.measure_fer("bch:m=7,t=5,k=64", cells="mlc", pe_cycles="1000", retention_days="30")
    with pytest.raises(
        ConfigError, match=r"codes: found b on another channel than a, expected the same channel for all"
    ):
        CodeComparison([rates, cells], ["a", "b"])
    json.dumps(CodeComparison([rates], ["a"]).to_dict())
