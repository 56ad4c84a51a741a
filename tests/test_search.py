"""Does a search spend its designs near the frontier, ask for the same ones whoever simulates, and lose none of them?"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import SMALL, dask_client
from softsense import ConfigError
from softsense.designs import pareto
from softsense.search import Search, Searching, Told, Wanted
from softsense.sweep import Planned, Range, Sweep, sweep
from test_sweep import sha256

FIELDS: dict[str, Any] = {"a": list(range(10)), "b": ["x", "y", "z", "w"], "c": Range(1, 10, whole=True)}
"""With one policy 400 designs."""
BETTER = ("lower", "lower")


def came(wanted: Wanted) -> Told:
    """The frontier is where `b` is `z`, and `c` is 3; `a` trades one number for the other. Some designs are bad."""
    a, b, c = wanted.setting["a"], wanted.setting["b"], wanted.setting["c"]
    off = 3.0 * "zywx".index(b) + abs(c - 3)
    return Told((a + off, 10.0 - a + off), 1.0 if a == 0 or c == 10 else 0.0)


def searched(search: Search, policies: tuple[str, ...] = ()) -> list[Wanted]:
    """What a search asks for in the end."""
    found: list[Wanted] = []
    searching = Searching(search, policies, BETTER)
    while batch := searching.ask():
        assert len(batch) <= search.batch
        found += batch
        searching.tell({wanted.key: came(wanted) for wanted in batch})
    return found


def on_frontier(designs: list[Wanted]) -> float:
    """The share of the nine best places that was found."""
    places = [told.values for wanted in designs if not (told := came(wanted)).violation and told.values]
    best = {places[i] for i in pareto([(x, y) for x, y in places], BETTER)}
    return len(best & {(float(a), 10.0 - a) for a in range(1, 10)}) / 9


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_search_finds_more_of_the_frontier_than_lots_do(seed: int) -> None:
    designs = searched(Search(60, FIELDS, seed=seed))
    every = [Wanted({"a": a, "b": b, "c": c}, None) for a in range(10) for b in "xyzw" for c in range(1, 11)]
    assert len({wanted.key for wanted in designs}) == len(designs) == 60
    # Of 60 drawn by lot, each of the nine is one with a probability of 0.15.
    assert on_frontier(designs) >= 0.5 > on_frontier(random.Random(seed).sample(every, 60)) + 0.05
    late = designs[20:]
    assert sum(came(wanted).violation > 0 for wanted in late) / len(late) < 0.19, "as many as there are are bad"


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_a_search_is_a_function_of_its_seed(sampler: str) -> None:
    one, again, other = (
        searched(Search(24, FIELDS, seed=seed, sampler=sampler), ("two_step", "progressive")) for seed in (1, 1, 2)
    )
    assert one == again != other
    assert {wanted.policy for wanted in one} == {"two_step", "progressive"}


def test_a_search_ends_when_there_are_no_more_designs() -> None:
    search = Search(50, {"a": list(range(4)), "b": ["x", "y"], "c": [3]}, batch=3)
    assert Searching(search, (), BETTER).designs == 8
    assert len({wanted.key for wanted in searched(search)}) == 8


@settings(max_examples=15, deadline=None)
@given(
    low=st.floats(1e-6, 1.0),
    span=st.floats(0.1, 1e6),
    log=st.booleans(),
    whole=st.booleans(),
    batch=st.integers(1, 7),
    designs=st.integers(1, 12),
    failing=st.booleans(),
)
def test_designs_are_within_their_ranges(
    low: float, span: float, log: bool, whole: bool, batch: int, designs: int, failing: bool
) -> None:
    ends = Range(1, 2 + int(span), log, True) if whole else Range(low, low + span, log)
    searching = Searching(Search(designs, {"a": ends, "b": [{"pool": 1}, {"pool": 2}]}, batch), (), BETTER)
    seen: set[str] = set()
    while asked := searching.ask():
        for wanted in asked:
            assert ends.low <= wanted.setting["a"] <= ends.high
            assert not whole or isinstance(wanted.setting["a"], int)
            assert wanted.key not in seen
            seen.add(wanted.key)
        told = Told(None, 1.0) if failing else Told((1.0, 2.0), 0.0)
        searching.tell({wanted.key: told for wanted in asked})
    assert len(seen) == min(designs, 2 * (int(span) + 2) if whole else designs)


# As a sweep.

SEARCH = f"""
config = "mlc-25nm"
policies = "all"
seeds = [1, 2]
constraints = ["p99.9 < 1 s"]
set = {json.dumps(SMALL)}

[search]
designs = 9
batch = 2
"ftl.over-provisioning" = [0.001, 0.15, 0.25]
"flash.erase_us" = {{ from = 1e3, to = 1e4, log = true }}
"""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search by one process."""
    out = tmp_path_factory.mktemp("search") / "out"
    asked: list[int] = []
    result = sweep(Sweep.parse(SEARCH), out=out, workers=1, on_batch=lambda planned: asked.append(len(planned.points)))
    assert asked == [8, 12, 16, 18]
    assert result.planned.size == 18
    return out


def test_a_search_is_a_sweep_that_says_when_it_asked(undisturbed: Path) -> None:
    frame = pl.read_parquet(undisturbed / "sweep.parquet")
    assert frame["batch"].to_list() == [1 + i // 4 for i in range(18)]
    assert frame["point"].to_list() == list(range(1, 19))
    assert "ideal" not in frame["policy"].to_list(), "what cannot be built is on no frontier"
    assert set(frame["ftl.over_provisioning"]) <= {0.001, 0.15, 0.25}
    # With hardly any spare flash nothing can be simulated: it is told, and costs the others nothing.
    failed = frame.filter(frame["status"] == "failed")
    assert set(failed["ftl.over_provisioning"]) <= {0.001}
    assert len(failed) < 9
    assert "batch" in pl.read_csv(undisturbed / "designs.csv").columns
    assert "A search chose the points in 5 batches" in (undisturbed / "report.html").read_text()


def test_whoever_simulates_a_search_asks_for_the_same(undisturbed: Path, tmp_path: Path) -> None:
    sweep(Sweep.parse(SEARCH), out=tmp_path / "out", workers=3)
    assert sha256(tmp_path / "out") == sha256(undisturbed)


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_asks_for_the_same(undisturbed: Path, tmp_path: Path) -> None:
    with dask_client(2) as client:
        sweep(Sweep.parse(SEARCH), out=tmp_path / "out", workers=client)
    assert sha256(tmp_path / "out") == sha256(undisturbed)


def test_a_search_goes_on_where_it_was_stopped(undisturbed: Path, tmp_path: Path) -> None:
    """What is kept is not simulated again, of a search that was longer or shorter, too."""
    out = tmp_path / "out"
    short = sweep(Sweep.parse(SEARCH.replace("designs = 9", "designs = 5")), out=out, workers=2)
    assert short.planned.size == 10
    result = sweep(Sweep.parse(SEARCH), out=out, workers=2)
    assert sha256(out) == sha256(undisturbed)
    assert result.simulated < 18
    assert sweep(Sweep.parse(SEARCH), out=out, workers=2).simulated == 0


def test_a_search_without_optuna_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'softsense\[search\]'"):
        Planned(Sweep.parse(SEARCH))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SEARCH.replace('"all"', '["ideal"]'), ["policies: found only ideal", "cannot be built"]),
        (SEARCH.replace("[0.001, 0.15, 0.25]", "[0.001]"), ["no point that can be simulated", "over_provisioning"]),
        (
            SEARCH + '[frontier]\npairs = [{ x = "reads", y = "writes" }, '
            '{ x = "reads", y = "trims", better = ["higher", "lower"] }]',
            ["found reads as better lower and as better higher"],
        ),
        (SEARCH + "[grid]\na = [1]", ["both [grid] and [search]"]),
        (SEARCH.replace("designs = 9", ""), ["search.designs: found nothing"]),
        (SEARCH.replace("batch = 2", 'sampler = "annealing"'), ["search.sampler: found `annealing`", "tpe, nsga2"]),
    ],
)
def test_a_search_that_cannot_be_is_one_error(text: str, says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        Planned(Sweep.parse(text, "s.toml"))
    for word in says:
        assert word in str(error.value)
