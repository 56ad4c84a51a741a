"""Ten ways and more to cheat the board: is each refused, with a word that names it?"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softsense
from softsense import Code, board
from softsense.backends import Cpu, Decoded
from softsense.board import checking, verdicts
from softsense.board.entries import sealed
from softsense.board.published.formulas import alist, array_code

BUDGET = 0.1
LEVELS = (1, 3)
pytestmark = pytest.mark.usefixtures("small_plans")
TEACHING = "# Licence: MIT\n" + Code.open("teaching-1/2").to_qc()
Entry = dict[str, Any]


@pytest.fixture(scope="module")
def honest(small_plans: None) -> Entry:
    """An honest entry, as a file has it."""
    found = board.measure_entry(board.parse_matrix("teaching.qc", TEACHING), budget=BUDGET, levels=LEVELS, patience=10)
    read: Entry = json.loads(json.dumps(found))
    return read


def judged(folder: Path, entries: dict[str, Entry], texts: dict[str, str], *, measure: bool = False) -> dict[str, str]:
    """The judge's refusals of each entry, in one text."""
    for name in ("entries", "matrices"):
        (folder / name).mkdir(exist_ok=True)
    for name, entry in entries.items():
        (folder / "entries" / f"{name}.json").write_text(json.dumps(entry))
    for file, text in texts.items():
        (folder / "matrices" / file).write_text(text)
    found = board.check_board(folder, measure=measure, patience=20)
    return {each.name: "\n".join(each.refusals) for each in found}


def of_one(folder: Path, entry: Entry, text: str = TEACHING, *, measure: bool = False) -> str:
    """The judge's refusals of the teaching code's entry."""
    return judged(folder, {"teaching": entry}, {"teaching.qc": text}, measure=measure)["teaching"]


def changed(entry: Entry, change: Callable[[Entry], None], *, again: bool = True) -> Entry:
    """A copy that a cheat has changed; with `again`, with targets that follow, and the right seal."""
    found = copy.deepcopy(entry)
    change(found)
    if again:
        for level in found["levels"].values():
            level["targets"] = [verdicts.again(target) for target in level["targets"]]
    return json.loads(json.dumps(sealed(found)))


def test_an_honest_entry_is_confirmed_by_measuring_it_again(tmp_path: Path, honest: Entry) -> None:
    assert of_one(tmp_path, honest, measure=True) == ""


def test_cheat_1_a_wrong_k(tmp_path: Path, honest: Entry) -> None:
    def more_data(entry: Entry) -> None:
        entry["code"]["data_bits"] += 8

    assert "code.data_bits: found 56, expected 48" in of_one(tmp_path, changed(honest, more_data))


def test_cheat_2_a_floor_below_the_sampled_range(tmp_path: Path, honest: Entry) -> None:
    """A rate below all that was measured is drawn on from the waterfall, as if there were no floor."""

    def extrapolated(entry: Entry) -> None:
        target = entry["levels"]["1"]["targets"][2]
        target |= {"rber": 0.004, "lo": 0.0039, "hi": 0.0041, "proved": True, "why_not": None}

    told = of_one(tmp_path, changed(honest, extrapolated, again=False))
    assert "target 1e-10: found 0.004 (proved)" in told
    assert "nothing is extrapolated" in told

    def drawn_on(entry: Entry) -> None:
        first, *_, last = entry["levels"]["1"]["targets"]
        last |= {name: first[name] for name in ("measured_rber", "slope", "methods")}

    told = of_one(tmp_path, changed(honest, drawn_on), measure=True)
    assert "as measured again" in told


def test_cheat_3_a_decoder_that_peeks(tmp_path: Path, honest: Entry) -> None:
    """Backends get received words alone (docs/accelerators.md); the board does not even take one."""

    def peeking(entry: Entry) -> None:
        entry["plan"]["decoder"] = "oracle.py:Peek"

    assert "found `oracle.py:Peek`, a program" in of_one(tmp_path, changed(honest, peeking))
    with pytest.raises(softsense.ConfigError, match="a program"):
        board.measure_entry(board.parse_matrix("teaching.qc", TEACHING), decoder="oracle:Peek")
    # Elsewhere a program may decode, and learns nothing but received words: data are random, and guesses are counted.
    told = softsense.bench("teaching-1/2", "errors:0", frames=64, backend=AlwaysZeros)
    assert told["frame_errors"] == told["undetected"] == 64


class AlwaysZeros(Cpu):
    """A decoder that takes every word for the codeword of zeros, as if it had peeked."""

    def decode(self, received: Any) -> Decoded:
        """Say zeros, and that all is well."""
        found = super().decode(received)
        return found._replace(word=np.zeros_like(found.word), converged=np.ones_like(found.converged))


def test_cheat_4_an_entry_edited_by_hand(tmp_path: Path, honest: Entry) -> None:
    edited = copy.deepcopy(honest)
    edited["circuit"]["mm2"] /= 2
    assert "seal: found another" in of_one(tmp_path, edited)

    def better(entry: Entry) -> None:
        for target in entry["levels"]["1"]["targets"]:
            if target["measured_rber"]:
                target["measured_rber"] *= 1.1

    # With everything else made to fit, only a measurement tells.
    told = of_one(tmp_path, changed(honest, better), measure=True)
    assert "as measured again" in told
    assert "levels.1" in told


def test_cheat_5_a_duplicate_under_another_name(tmp_path: Path, honest: Entry) -> None:
    """Somebody else sends the same graph as an alist, with rows and columns permuted."""
    code = Code.open("teaching-1/2")
    rows, columns = code.edges()
    draw = np.random.default_rng(1)
    checks, bits = draw.permutation(code.checks), draw.permutation(code.codeword_bits)
    lists: list[list[int]] = [[] for _ in range(code.checks)]
    for row, column in zip(rows, columns, strict=True):
        lists[checks[row]].append(int(bits[column]))
    text = "# Licence: MIT\n" + alist([sorted(each) for each in lists], code.codeword_bits)
    mine = board.measure_entry(board.parse_matrix("mine.alist", text), budget=0.01)
    told = judged(tmp_path, {"teaching": honest, "mine": mine}, {"teaching.qc": TEACHING, "mine.alist": text})
    assert "found the graph of `teaching` under another name" in told["mine"]


def test_cheat_5_with_relabelled_circulants(tmp_path: Path, honest: Entry) -> None:
    """Shifts of a block row and a block column that all grow by as much, and block columns in another order."""
    base = Code.open("teaching-1/2").base_matrix()
    assert base is not None
    moved = np.where(base < 0, -1, (base + np.arange(6)[:, None] + 3 * np.arange(12)) % 8)
    text = "# Licence: MIT\n12 6 8\n" + "\n".join(" ".join(map(str, row)) for row in moved) + "\n"
    mine = board.measure_entry(board.parse_matrix("mine.qc", text), budget=0.01)
    told = judged(tmp_path, {"teaching": honest, "mine": mine}, {"teaching.qc": TEACHING, "mine.qc": text})
    assert "found the graph of `teaching` under another name" in told["mine"]


def test_cheat_6_dependent_rows_called_independent(tmp_path: Path) -> None:
    text = "# Licence: facts\n" + array_code(7, 3, 7)
    with pytest.raises(softsense.CodeError):
        board.parse_matrix("array.qc", text)
    true = board.measure_entry(board.parse_matrix("array.qc", text, True), budget=0.01)
    assert true["matrix"]["redundant_checks"] == 2

    def independent(entry: Entry) -> None:
        entry["matrix"]["redundant_checks"] = 0

    told = judged(tmp_path, {"array": changed(true, independent)}, {"array.qc": text})
    assert "matrix:" in told["array"]
    assert "array.qc" in told["array"]


def test_cheat_7_a_soft_level_called_hard(tmp_path: Path, honest: Entry) -> None:
    def soft(entry: Entry) -> None:
        entry["levels"]["1"] = copy.deepcopy(entry["levels"]["3"])

    assert honest["levels"]["3"]["targets"][0]["rber"] > honest["levels"]["1"]["targets"][0]["rber"]
    told = of_one(tmp_path, changed(honest, soft), measure=True)
    assert "levels.1" in told
    assert "as measured again" in told


def test_cheat_8_a_budget_not_spent_and_a_seed_chosen_after_the_fact(tmp_path: Path, honest: Entry) -> None:
    def lucky(entry: Entry) -> None:
        entry["plan"]["seed"] = 7

    told = of_one(tmp_path, changed(honest, lucky))
    assert "plan.seed: found 7" in told
    assert "it follows from the matrix" in told

    def richer(entry: Entry) -> None:
        entry["plan"]["budget_core_minutes"] = 100.0

    assert "plan.levels: found" in of_one(tmp_path, changed(honest, richer))

    def convenient(entry: Entry) -> None:
        entry["cost"]["short"] = ["hard, splitting"]

    assert "nobody may choose what is left out" in of_one(tmp_path, changed(honest, convenient))


def test_cheat_9_bits_that_are_not_sent(tmp_path: Path) -> None:
    """Bits that are sent but not counted, and bits that are not sent, to make a rate look higher."""
    base = Code.open("teaching-1/2").to_qc()
    text = f"# Licence: MIT\n{base}{' '.join(['1'] * 11 + ['0'])}\n"
    matrix = board.parse_matrix("short.qc", text)
    assert (matrix.code.codeword_bits, matrix.code.punctured_bits) == (88, 8)
    true = board.measure_entry(matrix, budget=0.01)

    def fewer(entry: Entry) -> None:
        entry["code"] |= {"codeword_bits": 80, "rate": 48 / 80}

    told = judged(tmp_path, {"short": changed(true, fewer)}, {"short.qc": text})
    assert "code.codeword_bits: found 80, expected 88" in told["short"]
    assert "code.rate" in told["short"]

    def all_sent(entry: Entry) -> None:
        entry["code"]["punctured_bits"] = 0

    told = judged(tmp_path, {"short": changed(true, all_sent)}, {"short.qc": text})
    assert "code.punctured_bits: found 0, expected 8" in told["short"]


def test_cheat_10_an_interval_of_length_zero_and_a_rate_that_nobody_counted(tmp_path: Path, honest: Entry) -> None:
    def counted(entry: Entry) -> dict[str, Any]:
        methods = entry["levels"]["1"]["targets"][0]["methods"]
        return next(each for each in methods if each["method"] == "counted")

    def certain(entry: Entry) -> None:
        method = counted(entry)
        method["lo"] = method["hi"] = method["fer"]

    assert "found an interval of length zero" in of_one(tmp_path, changed(honest, certain))

    def invented(entry: Entry) -> None:
        counted(entry)["fer"] /= 1.2

    assert "counted: found" in of_one(tmp_path, changed(honest, invented))
    assert "what follows from its frames" in of_one(tmp_path, changed(honest, invented))

    def surer(entry: Entry) -> None:
        for method in entry["levels"]["1"]["targets"][0]["methods"]:
            if method["method"] == "splitting":
                method["lo"], method["hi"] = 0.99 * method["fer"], 1.01 * method["fer"]

    assert "splitting: found" in of_one(tmp_path, changed(honest, surer))


def test_cheat_11_no_licence_or_another_matrix(tmp_path: Path, honest: Entry) -> None:
    assert "licence: found no note" in of_one(tmp_path, honest, TEACHING.replace("# Licence: MIT\n", ""))
    other = "# Licence: MIT\n" + Code.construct("teaching", 8, 6, [3] * 12, seed=9).to_qc()
    assert "matrix.identity: found that of another matrix" in of_one(tmp_path, honest, other)
    (tmp_path / "matrices" / "teaching.qc").unlink()
    (found,) = board.check_board(tmp_path, measure=False)
    assert "expected the matrix of the entry" in found.refusals[0]


def test_cheat_12_a_rate_beyond_capacity(tmp_path: Path, honest: Entry) -> None:
    def marvellous(entry: Entry) -> None:
        entry["levels"]["1"]["targets"][0]["measured_rber"] = 0.2

    assert "beyond the capacity of level 1" in of_one(tmp_path, changed(honest, marvellous))


def test_a_machine_that_is_too_slow_confirms_nothing(tmp_path: Path, honest: Entry) -> None:
    of_one(tmp_path, honest)
    (found,) = board.check_board(tmp_path, patience=0.001)
    assert not found.confirmed
    assert "did not suffice" in found.refusals[0]
    with pytest.raises(softsense.ConfigError, match="--only: found `x`"):
        board.check_board(tmp_path, only=["x"])
    assert checking.PATIENCE > 1
