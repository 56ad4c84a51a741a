"""Are sets found that brute force finds, the same whoever searches, and are floors what they are known to be?"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import softsense
from conftest import Softsense
from softsense import Code, CodeError, Store, _core, sampling, traps
from softsense.campaign import Campaign
from softsense.counts import Counts
from softsense.floors import ALWAYS_RIGHT, Floor, fewest_wrong, floor_frames, measure_floor
from softsense.runner import Runner
from softsense.sampling import Goal
from softsense.strata import Strata
from softsense.traps import Traps, failures_on_sets, find_traps, load_traps, shipped_traps

TEACHING = "teaching-1/2"
LDPC = [name for name, _ in Code.entries() if Code.open(name).kind != "bch"]

# A second opinion: nothing below asks what it tests for more than the checks of each bit, from the alist.


class Graph:
    """The Tanner graph of a quasi-cyclic code, from its alist."""

    def __init__(self, code: Code) -> None:
        numbers = [list(map(int, line.split())) for line in code.to_alist().splitlines()]
        self.bits = numbers[0][0]
        self.size = code.circulant_size or 1
        self.checks = [frozenset(check - 1 for check in line if check) for line in numbers[4 : 4 + self.bits]]

    @cached_property
    def near(self) -> list[set[int]]:
        """The bits that share a check with each bit."""
        of_check: dict[int, set[int]] = {}
        for bit, checks in enumerate(self.checks):
            for check in checks:
                of_check.setdefault(check, set()).add(bit)
        return [set().union(*(of_check[check] for check in checks)) - {b} for b, checks in enumerate(self.checks)]

    def counted(self, bits: frozenset[int]) -> Counter[int]:
        """How many of the bits each check has."""
        return Counter(check for bit in bits for check in self.checks[bit])

    def violated(self, bits: frozenset[int]) -> int:
        """How many checks have an odd number of them."""
        return sum(count % 2 for count in self.counted(bits).values())

    def absorbing(self, bits: frozenset[int]) -> bool:
        """Whether each bit has more satisfied checks than violated ones."""
        counted = self.counted(bits)
        return all(2 * sum(counted[c] % 2 for c in self.checks[bit]) < len(self.checks[bit]) for bit in bits)

    def orbit(self, bits: frozenset[int]) -> frozenset[frozenset[int]]:
        """The set and its rotations."""
        size = self.size
        return frozenset(
            frozenset(bit - bit % size + (bit % size + shift) % size for bit in bits) for shift in range(size)
        )

    def stays_connected(self, bits: frozenset[int]) -> bool:
        """Whether the bits hang together by shared checks, whichever one check is taken out."""
        shared = [check for check, count in self.counted(bits).items() if count > 1]
        return all(self._connected(bits, out) for out in [None, *shared])

    def _connected(self, bits: frozenset[int], out: int | None) -> bool:
        reached, todo = set(), [min(bits)]
        while todo:
            if (bit := todo.pop()) not in reached:
                reached.add(bit)
                todo += [other for other in bits if (self.checks[bit] & self.checks[other]) - {out}]
        return reached == bits

    def shortest_cycle(self, bits: frozenset[int]) -> int:
        """The fewest of the bits that a path through distinct checks leads round; more than all of them for none."""
        for count in range(2, len(bits) + 1):
            for first, *others in itertools.permutations(bits, count):
                path = [first, *others, first]
                ties = [self.checks[a] & self.checks[b] for a, b in itertools.pairwise(path)]
                if any(len(set(by)) == count for by in itertools.product(*ties)):
                    return count
        return len(bits) + 1

    def elementary(self, most: int) -> Iterator[frozenset[int]]:
        """All connected sets of up to `most` bits whose checks have at most two of them, at least one of each orbit."""
        for column in range(self.bits // self.size):
            lowest = column * self.size
            level = {frozenset([lowest])}
            while level:
                yield from level
                grown = set()
                for bits in level:
                    if len(bits) < most:
                        full = {check for check, count in self.counted(bits).items() if count == 2}
                        near = set().union(*(self.near[bit] for bit in bits)) - bits
                        fits = (bit for bit in near if bit >= lowest and not self.checks[bit] & full)
                        grown |= {bits | {bit} for bit in fits}
                level = grown


def orbits_of(graph: Graph, found: Traps) -> set[frozenset[frozenset[int]]]:
    """The orbits that were found, after a look at each set."""
    orbits = set()
    for trap in found.list:
        bits = frozenset(trap.bits)
        orbit = graph.orbit(bits)
        assert list(trap.bits) == sorted(bits)
        assert graph.absorbing(bits)
        assert trap.violated == graph.violated(bits)
        assert trap.multiplicity == len(orbit)
        assert {frozenset(rotated) for rotated in found.rotations(trap)} == orbit
        orbits.add(orbit)
    assert len(orbits) == len(found.list), "an orbit twice"
    return orbits


@pytest.fixture(scope="module")
def brute() -> tuple[Graph, dict[frozenset[frozenset[int]], tuple[int, int]]]:
    """Elementary absorbing sets of teaching-1/2 up to 5 bits that stay connected: of each orbit its shortest cycle."""
    graph = Graph(Code.open(TEACHING))
    found: dict[frozenset[frozenset[int]], tuple[int, int]] = {}
    for bits in graph.elementary(5):
        if len(bits) > 2 and graph.absorbing(bits) and graph.stays_connected(bits):
            orbit = graph.orbit(bits)
            if orbit not in found:
                found[orbit] = (len(bits), graph.shortest_cycle(bits))
    return graph, found


@pytest.mark.parametrize("most_bits", [3, 4, 5])
def test_the_search_finds_what_brute_force_finds(brute: Any, most_bits: int) -> None:
    """All of them, and nothing else, of those that have a cycle as short as the search says that it grows from."""
    graph, expected = brute
    found = find_traps(TEACHING, most_bits=most_bits)
    assert found.longest_cycle >= 3
    wanted = {o for o, (bits, cycle) in expected.items() if bits <= most_bits and cycle <= found.longest_cycle}
    assert len(wanted) >= 7
    assert orbits_of(graph, found) == wanted
    assert sum(c["sets"] for c in found.classes) == sum(map(len, wanted))
    few = find_traps(TEACHING, most_bits=most_bits, most_violated=3)
    assert [t for t in found.list if t.violated <= 3] == few.list


def test_all_sets_with_more_than_one_cycle_are_found(brute: Any) -> None:
    """However long their cycles: what `find_traps` may leave out are single cycles alone."""
    graph, expected = brute
    found = orbits_of(graph, find_traps(TEACHING, most_bits=5))
    for orbit in expected.keys() - found:
        bits = next(iter(orbit))
        assert expected[orbit] == (5, 5), "its one cycle is all of it"
        assert graph.violated(bits) == 5


def test_an_alist_has_the_same_sets(tmp_path: Path) -> None:
    """By the orbits of the circulants that are found in it; and one by one where its bits are shuffled."""
    code = Code.open(TEACHING)
    (tmp_path / "t.alist").write_text(code.to_alist())
    found, rotating = find_traps(tmp_path / "t.alist", most_bits=5), find_traps(code, most_bits=5)
    everyone = sorted(tuple(bits) for trap in rotating.list for bits in rotating.rotations(trap))
    assert sorted(tuple(bits) for trap in found.list for bits in found.rotations(trap)) == everyone
    order = random.Random(1).sample(range(96), 96)
    (tmp_path / "shuffled.alist").write_text(shuffled(code.to_alist(), order))
    alone = find_traps(tmp_path / "shuffled.alist", most_bits=5)
    assert {trap.multiplicity for trap in alone.list} == {1}
    assert sorted(tuple(sorted(order[bit] for bit in trap.bits)) for trap in alone.list) == everyone


def shuffled(alist: str, order: list[int]) -> str:
    """An alist whose bits are those of another one in this order: it has no circulants."""
    lines = alist.splitlines()
    columns, rows = map(int, lines[0].split())
    place = {str(bit + 1): str(new + 1) for new, bit in enumerate(order)} | {"0": "0"}
    degrees = lines[2].split()
    of_columns, of_rows = lines[4 : 4 + columns], lines[4 + columns : 4 + columns + rows]
    head = [*lines[:2], " ".join(degrees[bit] for bit in order), lines[3]]
    body = [of_columns[bit] for bit in order] + [" ".join(place[each] for each in row.split()) for row in of_rows]
    return "\n".join([*head, *body, ""])


# Two finders.


def test_impulses_are_compared_with_the_search() -> None:
    graph = Graph(Code.open(TEACHING))
    both = find_traps(TEACHING, most_bits=5, impulses=5000, seed=3)
    search, alone = find_traps(TEACHING, most_bits=5), find_traps(TEACHING, most_bits=0, impulses=5000, seed=3)
    assert (both.impulses, both.impulse_decoder) == (8192, "gallager")
    assert (search.impulses, search.impulse_decoder, search.hits) == (0, None, {})
    assert (alone.most_bits, alone.most_violated, alone.longest_cycle) == (0, 0, 0)
    assert alone.only_impulses == alone.list
    assert both.hits == alone.hits == {trap.bits: both.hits[trap.bits] for trap in alone.list}
    assert sum(both.hits.values()) + sum(both.stray.values()) <= both.impulses
    by_search, by_impulses = orbits_of(graph, search), orbits_of(graph, alone)
    assert orbits_of(graph, both) == by_search | by_impulses
    assert len(by_search & by_impulses) > 20
    only = {graph.orbit(frozenset(trap.bits)) for trap in both.only_impulses}
    assert only == by_impulses - by_search
    assert any(len(trap.bits) > 5 for trap in both.only_impulses)
    rows = both.compared()
    assert [(row["bits"], row["violated"]) for row in rows] == sorted({(len(t.bits), t.violated) for t in both.list})
    for row in rows:
        of_class = {o for o in by_search | by_impulses if is_of(graph, o, row["bits"], row["violated"])}
        assert row["orbits"] == len(of_class)
        assert row["search"] == len(of_class & by_search)
        assert row["impulses"] == len(of_class & by_impulses)
        assert row["both"] == len(of_class & by_search & by_impulses)
        assert row["sets"] == sum(map(len, of_class))
    told = both.to_dict()
    assert sum(found["hits"] for found in told["sets"]) == sum(both.hits.values())
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def is_of(graph: Graph, orbit: frozenset[frozenset[int]], bits: int, violated: int) -> bool:
    one = next(iter(orbit))
    return (len(one), graph.violated(one)) == (bits, violated)


def test_any_decoder_leaves_impulses_in_sets() -> None:
    graph = Graph(Code.open(TEACHING))
    found = {
        decoder: find_traps(TEACHING, most_bits=0, impulses=1, impulse_decoder=decoder)
        for decoder in ("min-sum", "bit-flipping")
    }
    for decoder, left in found.items():
        assert left.impulse_decoder == decoder
        assert len(orbits_of(graph, left)) > 20
    assert found["min-sum"].hits != found["bit-flipping"].hits


# Whoever searches.

WORK: dict[str, Any] = {"most_bits": 8, "most_violated": 2, "impulses": 12 * traps.IMPULSES_A_UNIT}
"""Some 40 units of search, and 12 of impulses."""


def results(file: Path) -> list[tuple[Any, ...]]:
    """Every result in a store."""
    base = sqlite3.connect(file)
    try:
        return base.execute("SELECT * FROM results ORDER BY identity, unit").fetchall()
    finally:
        base.close()


KILLED = """
import os, signal, sys, softsense.store
from softsense.traps import find_traps

softsense.store._COMMIT_S = 0.0

def die(name, done, fraction):
    if name.startswith(sys.argv[2]) and fraction >= 0.4:
        os.kill(os.getpid(), signal.SIGKILL)

find_traps("teaching-1/2", most_bits=8, most_violated=2, impulses=12 * 8192, workers=2, store=sys.argv[1], progress=die)
"""


@pytest.mark.law
def test_what_is_found_does_not_depend_on_who_searches_nor_on_kills(
    softsense_command: Softsense, tmp_path: Path
) -> None:
    """1 and 2 threads, a pool of processes, and killed twice, in the search and among impulses, then resumed."""
    file = {name: tmp_path / f"{name}.fer" for name in ("one", "two", "pool", "killed")}
    expected = find_traps(TEACHING, **WORK, workers=1, store=file["one"]).to_dict()
    assert len(expected["sets"]) > 100
    assert expected["stray"]
    assert find_traps(TEACHING, **WORK, workers=2, store=file["two"]).to_dict() == expected
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        assert find_traps(TEACHING, **WORK, workers=pool, store=file["pool"]).to_dict() == expected
    rows = results(file["one"])
    assert len(rows) > 40
    kept = [0]
    for name in ("absorbing sets", "impulses"):
        command = [sys.executable, "-c", KILLED, file["killed"], name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == -9, done.stderr
        kept.append(len(results(file["killed"])))
    assert kept == sorted(set(kept))
    assert kept[-1] < len(rows)
    words = [TEACHING, "--bits", "8", "--violated", "2", "--impulses", str(WORK["impulses"]), "--json"]
    whole = softsense_command("code", "traps", words, "--store", "fresh.fer", "--workers", "1")
    resumed = softsense_command("code", "traps", words, "--store", "killed.fer", "--workers", "2")
    assert resumed.returncode == whole.returncode == 0, resumed.stderr + whole.stderr
    assert resumed.stdout == whole.stdout
    assert json.loads(whole.stdout) == expected | {"decoders": []}
    assert results(file["killed"]) == rows == results(file["two"]) == results(file["pool"])
    # What is there is not done again.
    units: list[int] = []
    again = find_traps(TEACHING, **WORK, store=file["killed"], progress=lambda _, done, __: units.append(done))
    assert again.to_dict() == expected
    assert units == []


def test_other_work_is_not_taken_from_a_store(tmp_path: Path) -> None:
    file = tmp_path / "s.fer"
    for given in (
        {"most_bits": 4},
        {"most_bits": 5},
        {"most_bits": 5, "most_violated": 3},
        {"most_bits": 0, "impulses": 1},
        {"most_bits": 0, "impulses": 1, "seed": 2},
        {"most_bits": 0, "impulses": 1, "impulse_decoder": "min-sum"},
        {"most_bits": 0, "impulses": 1, "impulse_decoder": "min-sum", "iterations": 5},
    ):
        before = len(results(file)) if file.exists() else 0
        assert find_traps(TEACHING, **given, store=file).to_dict() == find_traps(TEACHING, **given).to_dict()
        assert len(results(file)) == before + 1


# Files.


def test_sets_survive_a_file(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    code = Code.open(TEACHING)
    found = find_traps(code, most_bits=5, impulses=1)
    found.save(file)
    assert [path.name for path in tmp_path.iterdir()] == ["t.toml"]
    loaded = load_traps(file, code)
    assert loaded.list == found.list
    assert loaded.sets.identity == found.sets.identity
    assert loaded.classes == found.classes
    for name in ("most_bits", "most_violated", "longest_cycle", "impulses"):
        assert getattr(loaded, name) == getattr(found, name)
    assert load_traps(str(file), code).text() == found.text() == file.read_text()
    none = Traps(code, _core.AbsorbingSets(code, []))
    none.save(file)
    assert load_traps(file, code).list == []


GOOD = find_traps(TEACHING, most_bits=3).text()
FIRST = "[0, 79, 93]"
WITHOUT = {
    f"without {key}": ("".join(line for line in GOOD.splitlines(True) if not line.startswith(f"{key} =")), key)
    for key in ("format", "code", "matrix", "most_bits", "most_violated", "longest_cycle", "impulses")
}
BAD: dict[str, tuple[str | bytes, str]] = {
    **WITHOUT,
    "without sets": (GOOD[: GOOD.index("sets = [")], "sets"),
    "no TOML": ("sets, lots of them", ":1: "),
    "cut short": (GOOD[:-3], ""),
    "no text": (b"\xff\xfe\x00format", "UTF-8"),
    "a number of five thousand digits": (f"most_bits = 1{'0' * 5000}", ""),
    "lists in lists in lists": (f"sets = {'[' * 5000}", ""),
    "another format": (GOOD.replace("version 1", "version 2"), "version 2"),
    "another format's number": (GOOD.replace(f'"{traps.FORMAT}"', "1"), "format: found 1"),
    "another matrix": (GOOD.replace('matrix = "', 'matrix = "0'), "matrix: found sets of"),
    "a code of two lines": (GOOD.replace('matrix = "', 'matrix = "0').replace(TEACHING, "a\\nb"), "matrix"),
    "a matrix that is a number": (GOOD.replace('matrix = "', "matrix = 1 # "), "matrix"),
    "bits in words": (GOOD.replace("most_bits = 3", 'most_bits = "3"'), "most_bits"),
    "a truth for a number": (GOOD.replace("most_bits = 3", "most_bits = true"), "most_bits"),
    "fewer than none": (GOOD.replace("most_bits = 3", "most_bits = -3"), "most_bits: found -3"),
    "no list": (GOOD[: GOOD.index("sets = [")] + "sets = 1", "sets"),
    "bits without a list": (GOOD.replace(FIRST, "0, 13, 79"), "sets"),
    "a bit in words": (GOOD.replace(FIRST, '[0, "13", 79]'), "sets"),
    "half a bit": (GOOD.replace(FIRST, "[0, 13.5, 79]"), "sets"),
    "a truth for a bit": (GOOD.replace(FIRST, "[0, true, 79]"), "sets"),
    "a bit below the first": (GOOD.replace(FIRST, "[-1, 79, 93]"), "sets"),
    "a bit beyond the last": (GOOD.replace(FIRST, "[0, 79, 96]"), "0 to 95"),
    "a bit beyond all": (GOOD.replace(FIRST, f"[0, 79, {2**32}]"), "sets"),
    "a bit beyond numbers": (GOOD.replace(FIRST, f"[0, 79, {2**70}]"), f"found {2**70}, expected a whole number"),
    "a bit twice": (GOOD.replace(FIRST, "[0, 79, 79]"), "different bits"),
    "an empty set": (GOOD.replace(FIRST, "[]"), "different bits"),
    "not absorbing": (GOOD.replace(FIRST, "[0, 79, 94]"), "no absorbing set"),
    "a set twice": (GOOD.replace(FIRST, f"{FIRST}, {FIRST}"), "one set of each orbit"),
    "a set and its bits in another order": (GOOD.replace(FIRST, f"{FIRST}, [93, 0, 79]"), "one set of each orbit"),
    "a set and its rotation": (GOOD.replace(FIRST, f"{FIRST}, [1, 72, 94]"), "one set of each orbit"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_error_that_names_it(tmp_path: Path, name: str) -> None:
    content, says = BAD[name]
    assert content != GOOD
    file = tmp_path / "t.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_one_error(file, says)


def assert_one_error(file: Path, says: str) -> None:
    with pytest.raises(CodeError) as refused:
        load_traps(file, Code.open(TEACHING))
    assert str(refused.value).startswith(f"{file}:")
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_cannot_be_read_is_one_error_that_names_it(tmp_path: Path) -> None:
    assert FIRST in GOOD
    assert_one_error(tmp_path / "nowhere.toml", "No such file")
    assert_one_error(tmp_path, "directory")
    (tmp_path / "file").write_text("in the way")
    assert_one_error(tmp_path / "file" / "t.toml", "Not a directory")


def test_sets_of_another_code_are_refused_by_measurements() -> None:
    with pytest.raises(softsense.ConfigError, match=r"^traps: found absorbing sets of teaching-1/2"):
        softsense.measure_fer("flash-8/9", [0.005], traps=find_traps(TEACHING, most_bits=3))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"most_bits": 2}, "2 bits, expected 3 to 14"),
        ({"most_bits": -1}, "most_bits: found -1"),
        ({"most_bits": 0}, "most_bits: found neither"),
        ({"most_violated": -1}, "most_violated: found -1"),
        ({"most_violated": 2**40}, "most_violated"),
        ({"impulses": -1}, "impulses: found -1"),
        ({"impulses": 2**40}, "impulses"),
        ({"seed": -1}, "seed: found -1"),
        ({"impulses": 1, "impulse_decoder": "guess"}, "guess"),
        ({"code": "bch-2KB-t57"}, "BCH"),
    ],
)
def test_what_is_out_of_range_is_one_error_before_the_search(given: dict[str, Any], match: str) -> None:
    with pytest.raises(CodeError, match=match):
        find_traps(**({"code": "flash-8/9", "most_bits": 8} | given))


# Shipped sets.


@pytest.mark.parametrize("name", LDPC)
def test_shipped_sets_load_and_are_absorbing(name: str) -> None:
    code = Code.open(name)
    found = shipped_traps(code)
    assert found is not None
    # Of these a search up to five to eight bits found nothing.
    without = ("flash-64/73", "flash-64/71", "irregular-4/5", "irregular-32/35", "irregular-16/17")
    assert bool(found.list) == (name not in without)
    assert found.most_bits >= 5
    some = found.list[:: max(1, len(found.list) // 50)]
    graph = Graph(code)
    for trap in some:
        bits = frozenset(trap.bits)
        assert graph.absorbing(bits)
        assert graph.violated(bits) == trap.violated
        assert trap.multiplicity in (code.circulant_size, len(graph.orbit(bits)))


def test_flash_has_three_orbits_of_eight_bits() -> None:
    found = shipped_traps(Code.open("flash-8/9"))
    assert found is not None
    assert found.classes[0] == {"bits": 8, "violated": 8, "orbits": 3, "sets": 1536}
    assert found.longest_cycle == 5


def test_codes_that_are_not_shipped_have_no_sets(tmp_path: Path) -> None:
    assert shipped_traps(Code.open("bch-2KB-t57")) is None
    # The same matrix by another name.
    (tmp_path / "teaching-1-2.qc").write_text(Code.open(TEACHING).to_qc())
    assert shipped_traps(Code.open(str(tmp_path / "teaching-1-2.qc"))) is None


def eight() -> Traps:
    """The (8, 8) sets of flash-8/9."""
    found = shipped_traps(Code.open("flash-8/9"))
    assert found is not None
    bits = [list(trap.bits) for trap in found.list if len(trap.bits) == 8]
    return Traps(found.code, _core.AbsorbingSets(found.code, bits), 8)


def test_eight_bits_alone_fail_where_the_default_does_not() -> None:
    """Of some 900 frames each: totals of 8 bits fail in 99.3 % with all bits wrong, in 17 % with seven, others never.

    0.97 is 6 standard errors from that, 0.1 and 0.24 are 5.
    """
    names = ["min-sum", "min-sum-8bit", "min-sum-16bit"]
    found = failures_on_sets(eight(), names, rber=0.0055, frames=300)
    assert [(row["decoder"], row["wrong"]) for row in found] == [(name, k) for name in names for k in (8, 7, 6)]
    share = {(row["decoder"], row["wrong"]): row["failures"] / row["frames"] for row in found}
    for row in found:
        assert 300 <= row["frames"] < 3000
        assert row["lo"] <= row["failures"] / row["frames"] <= row["hi"]
        assert (row["bits"], row["violated"], row["rber"]) == (8, 8, 0.0055)
    assert share["min-sum-8bit", 8] > 0.97
    assert 0.1 < share["min-sum-8bit", 7] < 0.24
    assert share["min-sum-8bit", 6] < 0.01
    assert not any(share[name, k] for name in ("min-sum", "min-sum-16bit") for k in (8, 7, 6))


def test_the_second_pass_of_few_bits_releases_sets() -> None:
    """Messages of few bits are trapped by every set of which seven bits are wrong, but for the second pass.

    Of 3,640 words with seven or eight wrong bits it left 6. A share of 4 % would pass in one of a hundred cases at
    most.
    """
    found = failures_on_sets(eight(), ["rcq:4", "rcq:3"], rber=0.0055, frames=300)
    assert len(found) == 6
    for row in found:
        assert row["failures"] / row["frames"] < 0.015, row


# Text and picture.


def test_sets_are_told_and_drawn(softsense_command: Softsense, tmp_path: Path) -> None:
    arguments = ["--bits", "5", "--impulses", "1", "--out", "t.toml", "--picture", "p.png"]
    done = softsense_command("code", "traps", TEACHING, arguments)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = find_traps(TEACHING, most_bits=5, impulses=1)
    assert load_traps(tmp_path / "t.toml", found.code).list == found.list
    for word in ("teaching-1/2 (n = 96)", "all elementary sets of up to 5 bits", "8,192 through gallager", "orbits"):
        assert word in done.stdout
    for word in ("not absorbing", "wrote t.toml", "wrote p.png", "(3, 3), one of 8: 0 79 93", "more orbits"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 150
    few = ["--bits", "3", "--decoders", "min-sum,min-sum-f32", "--rber", "0.01", "--frames", "1", "--out", "few.toml"]
    failing = softsense_command("code", "traps", TEACHING, few)
    assert failing.returncode == 0, failing.stderr
    for word in ("elsewhere at RBER 0.01", "min-sum-f32  (3, 3)      2", "share that"):
        assert word in failing.stdout
    picture = (tmp_path / "p.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000
    # The file is what `fer` takes.
    told = softsense_command("fer", TEACHING, "--rber", "0.02", "--frames", "50000", "--traps", "few.toml", "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    found = find_traps(TEACHING, most_bits=3)
    assert document["traps"]["identity"] == found.sets.identity
    assert {(s["bits"], s["violated"]) for s in document["points"][0]["floor_strata"]} == {
        (c["bits"], c["violated"]) for c in found.classes
    }
    without = softsense_command("fer", TEACHING, "--rber", "0.02", "--frames", "50000", "--traps", "none")
    assert "no absorbing sets are listed" in without.stdout


def test_every_bit_and_violated_check_is_in_the_picture() -> None:
    found = shipped_traps(Code.open("flash-8/9"))
    assert found is not None
    for trap in (found.list[0], found.list[-1]):
        axes = found.plot(trap).axes[0]
        assert sum(line.get_marker() == "o" for line in axes.lines) == len(trap.bits)
        assert sum(line.get_marker() == "s" for line in axes.lines) == trap.violated
        assert {text.get_text() for text in axes.texts} == set(map(str, trap.bits))
    nothing = Traps(found.code, _core.AbsorbingSets(found.code, []))
    with pytest.raises(CodeError, match="no absorbing set"):
        nothing.plot()


def test_no_sets_are_told_too(softsense_command: Softsense, tmp_path: Path) -> None:
    done = softsense_command("code", "traps", TEACHING, "--bits", "3", "--violated", "0", "--picture", "p.png")
    assert done.returncode == 0, done.stderr
    assert "none found" in done.stdout
    assert not (tmp_path / "p.png").exists()


# Floors.

EVENTS = {(8, 8): 1536, (9, 9): 20_000}
"""Classes of sets of a code that there is not: how many sets each has."""

FAILS = {(8, 8): (0.99, 0.17, 1e-4, 0.0, 0.0), (9, 9): (0.6, 0.02, 0.0, 0.0, 0.0)}
"""How often a set with all, all but one, ... and all but four bits wrong fails: never more often for fewer."""

ERROR_RATE = 0.0055
LISTED = SimpleNamespace(
    classes=[{"bits": a, "violated": b, "orbits": 1, "sets": n} for (a, b), n in EVENTS.items()],
    sets=SimpleNamespace(identity="of no code"),
)


class FakeSets:
    """Frames with wrong bits in a set that fail with a known probability, without a decoder; unsure ones never."""

    unit_frames = 500

    def __init__(self, seed: int, condition: dict[str, Any], fails: dict[tuple[int, int], tuple[float, ...]]) -> None:
        self.spec_json = json.dumps([seed, condition])
        self.identity = hashlib.sha256(self.spec_json.encode()).hexdigest()
        right = condition["bits"] - condition["wrong"]
        fails_at_all = condition.get("surely") is not False
        self._failure = fails[condition["bits"], condition["violated"]][right] if fails_at_all else 0.0
        self._seed = [seed, condition["bits"], condition["wrong"]]

    def count(self, errors: int | None, first_unit: int, units: int, stop: object = None) -> dict[str, Any]:
        """As the real one counts."""
        assert errors is None
        frames = units * self.unit_frames
        failures = int(np.random.default_rng([*self._seed, first_unit]).binomial(frames, self._failure))
        return {"frames": frames, "failures": failures, "undetected": 0, "iterations": [frames - failures]}


def exactly(fails: dict[tuple[int, int], tuple[float, ...]] = FAILS) -> float:
    """The floor, by its formula."""
    return sum(
        sets * math.comb(a, k) * ERROR_RATE**k * (1 - ERROR_RATE) ** (a - k) * fails[a, b][a - k]
        for (a, b), sets in EVENTS.items()
        for k in range(a, fewest_wrong(a) - 1, -1)
    )


def measured(
    seed: int,
    goal: Goal,
    waterfall: float = 0.0,
    fails: Any = FAILS,
    listed: Any = LISTED,
    sure_error_rate: float | None = None,
) -> Floor:
    """The floor of sets that fail so often."""
    store = Store()
    plan = measure_floor(
        lambda condition: FakeSets(seed, condition, fails),
        ERROR_RATE,
        listed,
        waterfall,
        goal,
        store.counts,
        sure_error_rate=sure_error_rate,
    )
    found = Runner(store, 1, "fake").run([plan])[0]
    assert found is not None
    return found


def test_floors_cover_what_is_known() -> None:
    """100 seeds with F known: the floor lies in its interval in 95 or more, and never above its upper end.

    The upper end is a sum of ends, wider than it need be. The mean of estimates is right within four standard errors,
    and so is the error that is told: the mean square of what estimates are off, in errors, is from 0.6 to 1.6.
    """
    goal = Goal(relative_error=0.1, floor_frames=2**20)
    truth, covered, off, ratios = exactly(), 0, [], []
    for seed in range(100):
        found = measured(seed, goal)
        covered += found.lo <= truth <= found.hi
        assert truth <= found.hi
        assert found.lo <= found.rate <= found.hi
        assert found.relative_error is not None
        assert found.relative_error <= goal.relative_error
        assert floor_frames(found) <= goal.floor_frames
        off.append((found.rate - truth) / (found.relative_error * found.rate))
        ratios.append(found.rate / truth)
        assert found.rate == pytest.approx(sum(s.rate for s in found.strata), rel=1e-12)
    assert covered >= 95
    assert abs(np.mean(ratios) - 1) < 4 * np.std(ratios) / 10
    assert 0.6 < np.square(off).mean() < 1.6


def test_sure_bits_are_told_apart() -> None:
    """Of a soft level: sets that trap a decoder only where all wrong bits are sure, one in sixty of those of eight."""
    share = 0.6
    truth = sum(
        sets * math.comb(a, k) * (share * ERROR_RATE) ** k * (1 - ERROR_RATE) ** (a - k) * FAILS[a, b][a - k]
        for (a, b), sets in EVENTS.items()
        for k in range(a, fewest_wrong(a) - 1, -1)
    )
    found = measured(1, Goal(floor_frames=2**20), sure_error_rate=share * ERROR_RATE)
    assert found.rate == pytest.approx(truth, rel=0.15)
    assert found.lo < truth < found.hi
    # What was never seen to fail widens no interval.
    assert found.hi == pytest.approx(sum(s.hi for s in found.strata if s.surely), rel=1e-12)
    assert found.at_most > found.hi
    plain = measured(1, Goal(floor_frames=1))
    together = Counter[tuple[int, int]]()
    for stratum in found.strata:
        together[stratum.bits, stratum.wrong] += stratum.events
    assert together == pytest.approx({(s.bits, s.wrong): s.events for s in plain.strata}, rel=1e-9)
    for nothing_to_tell_apart in (0.0, ERROR_RATE):
        found = measured(1, Goal(floor_frames=1), sure_error_rate=nothing_to_tell_apart)
        assert [s.surely for s in found.strata] == [None] * len(plain.strata)


def test_a_floor_spends_no_more_than_it_may() -> None:
    first = len(EVENTS) * (ALWAYS_RIGHT + 1) * FakeSets.unit_frames
    last = 0
    for budget in (1, first, 2 * first, 2**14, 2**16, 2**18, 2**20):
        found = measured(1, Goal(relative_error=0.01, floor_frames=budget))
        assert last <= floor_frames(found) <= budget
        assert exactly() <= found.at_most
        last = floor_frames(found)
    assert last > 2**17


def test_a_floor_that_does_not_matter_is_not_sampled_for() -> None:
    """Nothing where sets that always fail would not matter; those with one right bit where sets with fewer would."""
    first = len(EVENTS) * FakeSets.unit_frames
    events = sum(
        sets * math.comb(a, k) * ERROR_RATE**k for (a, _), sets in EVENTS.items() for k in range((a + 1) // 2, a + 1)
    )
    none = dict.fromkeys(EVENTS, (0.0,) * 5)
    for rate, fails, frames in ((20 * events, FAILS, 0), (1e-8, none, first)):
        for goal, waterfall in ((Goal(down_to=1e-15), rate), (Goal(down_to=rate), 0.0)):
            found = measured(1, goal, waterfall, fails)
            assert floor_frames(found) == frames
            assert found.hi <= found.at_most < 0.1 * rate
            assert exactly(fails) <= found.at_most
    assert floor_frames(measured(1, Goal(down_to=1e-15))) > 0


def test_a_floor_is_sampled_until_it_is_below_what_is_asked_for() -> None:
    """Sets that fail once in ten thousand frames: less than that shows cannot be told, more need not be sampled."""
    seldom = dict.fromkeys(EVENTS, (1e-4, 1e-4, 0.0, 0.0, 0.0))
    loose, tight = (measured(1, Goal(floor_frames=2**24, floor_down_to=rate), fails=seldom) for rate in (1e-14, 1e-16))
    assert floor_frames(loose) < floor_frames(tight) < 2**24
    assert loose.at_most < 1e-14
    assert tight.at_most < 1e-16 or (tight.relative_error or 1.0) <= Goal.relative_error
    assert exactly(seldom) <= min(loose.at_most, tight.at_most)


def test_sets_that_never_fail_have_a_floor_of_none_with_a_bound() -> None:
    never = dict.fromkeys(EVENTS, (0.0,) * 5)
    found = measured(1, Goal(floor_frames=2**20), fails=never)
    assert (found.rate, found.lo, found.hi, found.relative_error) == (0.0, 0.0, 0.0, None)
    assert 0 < found.at_most < 1e-13
    always = dict.fromkeys(EVENTS, (1.0,) * 5)
    found = measured(1, Goal(floor_frames=2**20), fails=always)
    assert found.rate == pytest.approx(exactly(always), rel=1e-9)
    assert found.lo < found.rate <= found.hi * (1 + 1e-12)
    nothing = measured(1, Goal(), listed=SimpleNamespace(classes=[], sets=LISTED.sets))
    assert (nothing.rate, nothing.lo, nothing.hi, nothing.at_most, nothing.strata) == (0.0, 0.0, 0.0, 0.0, ())


def test_fewer_wrong_bits_are_bounded_by_more() -> None:
    """What was not sampled cannot fail more often than what has more wrong bits, of the same class."""
    found = measured(1, Goal(floor_frames=1))
    share = [stratum.hi / stratum.events for stratum in found.strata]
    assert len(share) == 2 * 5
    for start in (0, 5):
        all_wrong, but_one, but_two, *fewer = share[start : start + 5]
        assert 1 >= all_wrong >= but_one * (1 - 1e-9)
        assert but_one >= but_two * (1 - 1e-9) > 0
        assert found.strata[start + 2].frames == 0
        assert fewer == pytest.approx([but_two, but_two]), "where all but two may fail, so may these"


def test_strata_go_down_as_long_as_they_fail() -> None:
    """Of sets with few violated checks half of the bits may be enough, and the most that they add."""
    down = dict.fromkeys(EVENTS, (0.9, 0.8, 0.5, 0.1, 0.01))
    found = measured(1, Goal(relative_error=0.05, floor_frames=2**22), fails=down)
    assert found.lo < exactly(down) < found.hi
    assert found.rate == pytest.approx(exactly(down), rel=0.15)
    assert [s.wrong for s in found.strata if s.failures] == [8, 7, 6, 5, 4, 9, 8, 7, 6, 5]
    stops = {(8, 8): (0.9, 0.8, 0.5, 0.0, 0.5), (9, 9): (0.9, 0.0, 0.5, 0.5, 0.5)}
    found = measured(1, Goal(floor_frames=2**22), fails=stops)
    assert [s.wrong for s in found.strata if s.frames] == [8, 7, 6, 5, 9, 8]


def test_a_floor_that_is_interrupted_is_told_from_what_there_is() -> None:
    plan = measure_floor(
        lambda condition: FakeSets(1, condition, FAILS), ERROR_RATE, LISTED, 0.0, Goal(), lambda *_: Counts()
    )
    assert isinstance(next(plan), sampling.Round)
    with pytest.raises(StopIteration) as ended:
        plan.send(False)
    found = ended.value.value
    assert (found.rate, found.lo, floor_frames(found)) == (0.0, 0.0, 0)
    assert exactly() <= found.at_most


def test_frames_go_where_they_can_decide() -> None:
    """No number of frames bounds small sets that are often wrong and never fail; large ones that seldom fail count."""
    classes = [{"bits": a, "violated": b, "orbits": 1, "sets": n} for a, b, n in ((4, 4, 120_000), (8, 8, 1536))]
    listed = SimpleNamespace(classes=classes, sets=LISTED.sets)
    fails = {(4, 4): (0.0, 0.0, 0.0), (8, 8): (2e-4, 0.0, 0.0, 0.0, 0.0)}
    found = measured(1, Goal(floor_frames=150_000, floor_down_to=1e-20), fails=fails, listed=listed)
    assert floor_frames(found) <= 150_000
    rarest = next(stratum for stratum in found.strata if (stratum.bits, stratum.wrong) == (8, 8))
    # Half of the frames are shared alike, and half go there, where ten failures and more are expected.
    assert rarest.frames > 60_000
    assert rarest.failures > 5
    assert found.lo < 2e-4 * rarest.events < found.hi


def test_one_class_that_fails_says_nothing_of_another() -> None:
    """The interval is that of classes seen to fail; what the others could add stands beside it."""
    one = {(8, 8): FAILS[8, 8], (9, 9): (0.0,) * 5}
    found = measured(1, Goal(floor_frames=2**18), fails=one)
    ends = {bits: sum(stratum.hi for stratum in found.strata if stratum.bits == bits) for bits in (8, 9)}
    assert found.lo < exactly(one) < found.hi == ends[8]
    assert found.at_most == pytest.approx(ends[8] + ends[9], rel=1e-12)
    assert ends[9] > 0


def test_the_floor_of_flash_with_eight_bits_is_what_was_measured() -> None:
    """3.34e-13 at 0.0055, measured with 20,020 frames for each stratum; these few have a standard error of 7 %."""
    code = Code.open("flash-8/9")
    goal = Goal(floor_frames=2**14)
    store = Store()
    campaign = Campaign(code, "min-sum-8bit", 20, 1, goal, store, shipped_traps(code))
    nothing = Strata(code.codeword_bits, {}, campaign.rungs)
    plan = campaign.floor(campaign.gaussian(1, 0.0055, "mutual_information"), 0.0, nothing)
    found = Runner(store, 2, code.name).run([plan])[0]
    assert found is not None
    assert 2.6e-13 < found.rate < 4.3e-13
    assert found.lo < 3.34e-13 < found.hi
    assert found.relative_error is not None
    assert found.relative_error < 0.1
    assert floor_frames(found) <= goal.floor_frames
    heaviest = max(found.strata, key=lambda stratum: stratum.rate)
    assert (heaviest.bits, heaviest.violated, heaviest.wrong) == (8, 8, 7)
