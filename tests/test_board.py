"""Does the board measure what a matrix does: within its budget, the same each time, proved by two methods or not?"""

from __future__ import annotations

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softsense
from browser import Browser, View
from conftest import ROOT, SMALL_PLANS
from softsense import Code, board
from softsense.board import comparing, league, planning, verdicts
from softsense.board.budgets import Budget
from softsense.board.matrices import identity, invariant
from softsense.board.published import CONSTRUCTIONS, construction
from softsense.store import Store

WHOLE = {name: getattr(planning, name) for name in SMALL_PLANS}
BUDGET = 0.1
LEVELS = (1, 3)
SLOW = {"802.3an-2048", "ccsds-8176-7156", "qc-9216-w4", "qc-9216-w5", "qc-9216-w6", "peg-1008-504"}
"""Codes whose matrices take seconds to make, or to invert."""

pytestmark = pytest.mark.usefixtures("small_plans")
TEACHING = "# Licence: MIT\n" + Code.open("teaching-1/2").to_qc()


def measured(**more: Any) -> dict[str, Any]:
    """The entry of the teaching code."""
    matrix = board.parse_matrix("teaching.qc", TEACHING)
    return board.measure_entry(matrix, budget=BUDGET, levels=LEVELS, patience=10, **more)


@pytest.fixture
def whole(small_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans as users have them."""
    for name, value in WHOLE.items():
        monkeypatch.setattr(planning, name, value)


@pytest.fixture(scope="module")
def entry(small_plans: None) -> dict[str, Any]:
    """One entry for all tests."""
    return measured()


def untimed(entry: dict[str, Any]) -> dict[str, Any]:
    """The fields that a second measurement has to repeat."""
    return {key: value for key, value in entry.items() if key not in ("cost", "throughput")}


@pytest.mark.parametrize("made", [each for each in CONSTRUCTIONS if each.name not in SLOW], ids=lambda each: each.name)
def test_published_codes_have_their_sizes_rank_and_girth(made: Any) -> None:
    matrix = board.made_matrix(made)
    code = matrix.code
    assert (code.codeword_bits, code.data_bits) == (made.bits, made.data_bits)
    assert matrix.licence == made.licence
    if code.kind == "ldpc":
        assert code.checks - (code.codeword_bits + code.punctured_bits - code.data_bits) == made.redundant
        assert code.cycles()[0] == made.girth


def test_the_euclidean_geometry_code_has_the_published_rank_and_degrees() -> None:
    code = Code.parse("c2.alist", construction("ccsds-8176-7156").text(), True)
    assert (code.codeword_bits, code.data_bits, code.checks) == (8176, 7156, 1022)
    bits, checks = code.degree_distribution()
    assert [degree for degree, _ in bits] == [4]
    assert [degree for degree, _ in checks] == [32]


def test_progressive_edges_have_no_short_cycles_and_depend_on_the_seed_alone() -> None:
    from softsense.board.published.formulas import progressive_edges

    text = progressive_edges(120, 60, 3, 5)
    assert text == progressive_edges(120, 60, 3, 5) != progressive_edges(120, 60, 3, 6)
    code = Code.parse("peg.alist", text, True)
    assert (code.cycles()[0] or 0) >= 6
    assert code.degree_distribution()[0] == [(3, 1.0)]


def test_two_methods_agree_on_a_small_code() -> None:
    matrix = board.parse_matrix("teaching.qc", TEACHING)
    entry = board.measure_entry(matrix, budget=0.3, levels=[1], patience=10)
    first = entry["levels"]["1"]["targets"][0]
    assert first["proved"], first
    assert {"counted", "splitting"} <= {each["method"] for each in first["methods"]}
    assert first["rber"] < first["hi"] < entry["limits"][0]["capacity_rber"]
    # A rate that was counted with other seeds at the threshold is the one that is asked for.
    code = Code.open("teaching-1/2")
    counted = softsense.bench(code, f"bsc:{first['rber']}", frames=200_000, seed=77)
    assert counted["fer_lo"] / 2 < 1e-4 < 2 * counted["fer_hi"]


@pytest.mark.usefixtures("whole")
def test_rates_are_those_of_repetition_codes_in_closed_form() -> None:
    """32 words of 15 equal bits: each fails where eight bits or more are wrong."""
    rows = "\n".join(" ".join("0" if column in (0, row + 1) else "-1" for column in range(15)) for row in range(14))
    matrix = board.parse_matrix("repetition.qc", f"# Licence: MIT\n15 14 32\n{rows}\n")
    entry = board.measure_entry(matrix, budget=1.0, levels=[1], patience=10)
    said = []
    for told in entry["levels"]["1"]["targets"]:
        p = told["measured_rber"]
        wrong = sum(math.comb(15, count) * p**count * (1 - p) ** (15 - count) for count in range(8, 16))
        known = -math.expm1(32 * math.log1p(-wrong))
        said += [known / method["fer"] for method in told["methods"] if method["method"] == "splitting"]
        assert all(method["lo"] < known < (method["hi"] or 1.0) for method in told["methods"]), told
    assert len(said) == len(planning.TARGETS)
    assert all(0.5 < ratio < 2 for ratio in said), said


def test_what_is_not_proved_says_why(entry: dict[str, Any]) -> None:
    for found in entry["levels"].values():
        for target in found["targets"]:
            assert target["proved"] == (target["why_not"] is None)
            assert not target["proved"] or len({each["method"] for each in target["methods"]}) >= 2


def test_entries_are_equal_for_any_workers_and_formats(entry: dict[str, Any]) -> None:
    assert untimed(measured(workers=2)) == untimed(entry)
    alist = "# Licence: MIT\n" + Code.open("teaching-1/2").to_alist()
    assert board.parse_matrix("teaching.alist", alist).identity == entry["matrix"]["identity"]


def test_a_measurement_goes_on_from_its_store(tmp_path: Path, entry: dict[str, Any]) -> None:
    calls = 0

    def interrupt(*_: Any) -> None:
        nonlocal calls
        calls += 1
        # An interrupt that comes as a part ends is not heard.
        if calls >= 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(softsense.Interrupted):
        measured(store=tmp_path / "board.store", progress=interrupt)
    assert calls >= 3
    assert untimed(measured(store=tmp_path / "board.store")) == untimed(entry)


def test_the_budget_is_kept_and_what_is_missing_is_told() -> None:
    matrix = board.made_matrix(construction("802.11n-648-1-2"))
    entry = board.measure_entry(matrix, budget=0.5, patience=0.01)
    assert entry["cost"]["core_minutes"] < 0.05
    assert entry["cost"]["short"]
    assert not any(target["proved"] for found in entry["levels"].values() for target in found["targets"])


def test_parts_after_the_budget_are_not_begun() -> None:
    with Store() as store:
        budget = Budget(0.0, store, "x")
        assert budget.run("never", lambda _: pytest.fail("begun")) is None
        assert budget.short == ["never"]


@pytest.mark.usefixtures("whole")
def test_plans_follow_from_matrix_and_budget_alone() -> None:
    code = Code.open("flash-8/9")
    nothing, small, large = (planning.plan_of(code, 1, budget) for budget in (0.1, 22.0, 100.0))
    assert small == planning.plan_of(code, 1, 22.0)
    assert [len(plan.levels[1].targets) for plan in (nothing, small, large)] == [0, 4, 4]
    assert [len(plan.levels[7].targets) for plan in (nothing, small, large)] == [0, 3, 4]
    assert small.levels[1].weight_frames < large.levels[1].weight_frames
    with pytest.raises(softsense.ConfigError, match="budget: found nan"):
        planning.plan_of(code, 1, float("nan"))


def test_verdicts_need_two_narrow_methods_and_none_that_differs() -> None:
    def told(*methods: dict[str, Any], target: float = 1e-4) -> dict[str, Any]:
        return verdicts.verdict(target, 0.01, 10.0, methods)

    def method(name: str, fer: float, factor: float) -> dict[str, Any]:
        return {"method": name, "fer": fer, "lo": fer / factor, "hi": fer * factor}

    agreed = told(method("splitting", 2e-4, 1.2), method("counted", 2.2e-4, 1.5))
    assert agreed["proved"]
    # The curve falls by its slope from 2e-4 to the target.
    assert agreed["rber"] == pytest.approx(0.01 * 0.5**0.1)
    assert agreed["lo"] < agreed["rber"] < agreed["hi"]
    assert told(method("splitting", 2e-4, 1.2), method("counted", 6e-4, 1.5))["why_not"] == (
        "methods differ: splitting and counted"
    )
    # Intervals of 95 % that are a little apart are so by chance, now and then.
    assert told(method("splitting", 2e-4, 1.2), method("counted", 4e-4, 1.5))["proved"]
    wide = told(method("splitting", 2e-4, 1.2), method("counted", 2e-4, 2.1))
    assert not wide["proved"]
    assert wide["why_not"] == "splitting alone, counted too wide"
    assert wide["rber"] == agreed["rber"]
    # A lower bound proves nothing, but it can contradict.
    bound = {"method": "weight", "fer": 1e-3, "lo": 9e-4, "hi": None}
    assert "differ" in told(method("splitting", 2e-4, 1.2), bound)["why_not"]
    assert told(method("splitting", 2e-4, 1.2), bound | {"fer": 1e-9, "lo": 1e-10})["rber"] == agreed["rber"]
    far = told(method("splitting", 2e-4, 1.2), method("counted", 2e-4, 1.2), target=1e-6)
    assert far["rber"] is None
    assert not far["proved"]


def test_intervals_of_splitting_grow_as_runs_become_few() -> None:
    two, eight = (verdicts.by_splitting(1e-6, 0.1, runs) for runs in (2, 8))
    assert eight["hi"] / 1e-6 == pytest.approx(math.exp(0.1 * 2.3646), rel=1e-3)
    assert two["hi"] / 1e-6 == pytest.approx(math.exp(0.1 * 12.706), rel=1e-3)


def test_the_invariant_survives_every_new_name() -> None:
    code = Code.open("teaching-1/2")
    rows, columns = code.edges()
    draw = np.random.default_rng(3)
    checks, bits = draw.permutation(code.checks), draw.permutation(code.codeword_bits)
    lists: list[list[int]] = [[] for _ in range(code.checks)]
    for row, column in zip(rows, columns, strict=True):
        lists[checks[row]].append(int(bits[column]))
    from softsense.board.published.formulas import alist

    other = Code.parse("other.alist", alist([sorted(each) for each in lists], code.codeword_bits))
    assert identity(other) != identity(code)
    assert invariant(other) == invariant(code)
    different = Code.construct("other", 8, 6, [3] * 12, seed=6)
    assert invariant(different) != invariant(code)


def test_every_field_of_the_league_has_room_and_a_limit() -> None:
    assert len(league.FIELDS) == 20
    for field in league.FIELDS:
        assert field.bits > field.data_bits == 8192 * field.page_kib
        limit = league.limits(field)
        assert 0 < limit[1] < limit[3] < limit[7] < 0.1
    four = league.Field(4, 0.125)
    code = Code.open("flash-8/9")
    assert (four.bits, four.data_bits) == (code.codeword_bits, code.data_bits)
    assert four.takes({"code": {"codeword_bits": 36856, "data_bits": 32768}})
    assert not four.takes({"code": {"codeword_bits": 36872, "data_bits": 32768}})


@pytest.mark.usefixtures("one_pixel")
def test_the_site_has_a_page_for_each_code_and_loads_nothing(tmp_path: Path, entry: dict[str, Any]) -> None:
    (tmp_path / "entries").mkdir()
    board.save_entry(entry, tmp_path / "entries" / "teaching.json")
    assert json.loads((tmp_path / "entries" / "teaching.json").read_text()) == entry
    index, page = board.write_site(tmp_path, tmp_path / "site")
    assert 'href="teaching.html"' in index.read_text()
    assert "default-src 'none'" in page.read_text()
    assert board.entry_page(entry) == board.entry_page(entry)
    with pytest.raises(softsense.ConfigError, match="no entry"):
        board.write_site(tmp_path / "site", tmp_path / "other")


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("[]", softsense.ConfigError, "found 'list'"),
        ("{", softsense.FileError, r"a\.json: found text that is not JSON .*line 1"),
        ('{"format": NaN}', softsense.FileError, "found text that is not JSON"),
        ('{"format": "x"}', softsense.ConfigError, "found 'x'"),
        ("\xff", softsense.FileError, "UTF-8"),
    ],
)
def test_what_is_no_entry_is_refused(tmp_path: Path, text: str, error: type[Exception], says: str) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(error, match=says):
        board.load_entry(file)


def test_a_pipe_is_no_entry(tmp_path: Path) -> None:
    """It would be waited for without end."""
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(softsense.FileError, match="found a folder, a pipe or a device"):
        board.load_entry(tmp_path / "a.json")


@pytest.mark.usefixtures("whole")
def test_the_board_of_this_repository_follows_from_its_matrices() -> None:
    """All entries whose matrices are quickly made; and one is measured again."""
    names = [file.stem for file in board.entry_files(ROOT / "board")]
    found = board.check_board(ROOT / "board", only=sorted(set(names) - SLOW), measure=False)
    assert [each.name for each in found if not each.confirmed] == []
    (again,) = board.check_board(ROOT / "board", only=["bch-1939-t29"], patience=20)
    assert again.confirmed
    assert again.measured


def test_what_is_published_is_what_is_found_here() -> None:
    """Sets of the Margulis and 802.3an codes are asserted beside their construction, in Rust."""
    told = comparing.literature()["published"]
    known = {(each["entry"], each["what"]): each for each in told}
    regular = Code.open("literature:margulis-2640")
    assert regular.threshold("sum-product") == pytest.approx(known["peg-1008-504", "threshold"]["rber"], rel=0.01)
    assert known["ccsds-8176-7156", "rank"]["rank"] == 8176 - construction("ccsds-8176-7156").data_bits
    names = {each.name for each in CONSTRUCTIONS}
    assert {each["entry"] for each in told} <= names
    assert all(each["sure"] in ("text", "recalled") and each["source"] for each in told)


def test_published_curves_are_those_of_our_matrices_and_decoders() -> None:
    """One failure of ten to a hundred frames: the whole of it is `softsense board published`."""
    rows = comparing.compare_published(["802.11n-648-5-6", "802.16e-576-1-2"], failures=20, down_to=8e-3)
    assert len(rows) >= 15
    assert {row["channel"] for row in rows} == {"awgn", "bsc"}
    assert [row for row in rows if not row["agrees"]] == []
    # All of them together have some 300 failures: a matrix or decoder that is a little worse would be seen.
    mean = sum(math.log(row["ratio"]) for row in rows) / len(rows)
    assert abs(mean) < 0.2


def test_what_differs_from_what_is_published_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = comparing.literature()
    curve = next(each for each in told["curve"] if each["channel"] == "bsc") | {"points": [[0.07, 107, 16080]]}
    monkeypatch.setattr(comparing, "literature", lambda: {"curve": [curve]})
    (row,) = comparing.compare_published(failures=10)
    assert not row["agrees"]
    (tmp_path / "published.json").write_text(json.dumps({"rows": [row]}))
    (read,) = comparing.table_of(comparing.load_rows(tmp_path / "published.json"))
    assert read[-1] == "differ"


@pytest.mark.parametrize("width", [1200, 390])
def test_the_site_fits_and_is_silent_in_a_browser(
    tmp_path: Path, entry: dict[str, Any], browser: Browser, width: int
) -> None:
    (tmp_path / "entries").mkdir()
    board.save_entry(entry, tmp_path / "entries" / "teaching.json")
    for page in board.write_site(tmp_path, tmp_path / "site"):
        view = View(browser, page, width)
        assert view.js("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
        assert all(view.js("[...document.querySelectorAll('.plot')].map(p => p.querySelectorAll('svg').length === 1)"))
        assert view.complaints() == []
        assert all(url.startswith(("file:", "data:")) for url in view.requests())
        view.close()
