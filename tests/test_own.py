"""Policies and rules of users' own: does the tutorial run, do they decide as shipped ones do, what becomes of their
errors, and do they take part in sweeps?
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import softsense
from conftest import ROOT, SMALL, Softsense, dask_client
from softsense import Config, ConfigError, points
from softsense.own import load
from softsense.read_policies import policy_names, split_policy
from softsense.sweep import sweep

TUTORIALS = ROOT / "docs/tutorials"
TUTORIAL = (TUTORIALS / "your-own-read-policy.md").read_text()
COLLECTION = (TUTORIALS / "your-own-collection-and-caches.md").read_text()

TWO_STEP = """
class Tabulated:
    def next(self, read):
        return (1, 7, None)[read.attempts]

class Asked(Tabulated):
    tabulate = False
"""

WRITES = [*SMALL, "workload.read_fraction=0.1", "precondition.layout=steady_state"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a file of policies into the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "own.py") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def measured(overrides: list[str], config: str = "mlc-25nm") -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A summary without what is of the computer and of the name, and what was asked."""
    summary = softsense.run(config, overrides=overrides).summary
    own = summary.pop("machine").get("own", [])
    return {key: value for key, value in summary.items() if key not in ("config_sha256", "policy")}, own


# The tutorial.


def tutorial_files(folder: Path) -> None:
    """The files that they show, by the name in their first line."""
    files: dict[str, str] = {}
    shown = r"^```(?:python|toml)\n(# \S+\.(?:py|toml)\n.*?)^```"
    for block in re.findall(shown, TUTORIAL + COLLECTION, re.DOTALL | re.MULTILINE):
        name, text = block.removeprefix("# ").split("\n", 1)
        files[name] = files.get(name, "") + text
    python, toml = (
        ["my_collection.py", "my_compiled.py", "my_policies.py", "my_rules.py"],
        ["calm.toml", "collection-sweep.toml"],
    )
    assert sorted(files) == sorted([*python, *toml, "own-sweep.toml"])
    for name, text in files.items():
        (folder / name).write_text(text)


COMMANDS = re.findall(r"^\$ softsense (.*)$", TUTORIAL + COLLECTION, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_tutorial_runs(command: str, softsense_command: Softsense, tmp_path: Path) -> None:
    if "my_compiled" in command:
        pytest.importorskip("numba", reason="Numba is not installed: pip install 'softsense[numba]'")
    tutorial_files(tmp_path)
    words = shlex.split(command)
    # The whole workload of the first one would take a while.
    quick = [] if words[0] == "sweep" or "workload.requests" in command else ["--set", "workload.requests=20000"]
    done = softsense_command(*words, *quick, "--no-progress")
    assert done.returncode == 0, done.stderr
    written = tmp_path / words[words.index("--out") + 1]
    assert any(written.iterdir())
    if "Ladder" in command and words[0] == "compare":
        assert "my_policies.py:Ladder: 4 decisions tabulated before the run, none asked for during it" in done.stderr
        summary = json.loads((written / "summary.json").read_text())
        shipped, own, _ = summary["policies"]
        assert own["codeword_reads"]["level_histogram"][1] > 0
        assert shipped["codeword_reads"]["level_histogram"][1] == 0
    for name in re.findall(r"my_collection\.py:\w+", command):
        assert re.search(rf"{name}: asked [\d,]+ times in", done.stderr)
    if "my_rules" in command:
        assert re.search(r"my_rules\.py:WarmLast: asked [\d,]+ times in", done.stderr)
        assert re.search(r"my_rules\.py:Apart: asked [\d,]+ times in", done.stderr)


def test_the_tutorial_has_commands_of_each_kind() -> None:
    assert sorted(command.split()[0] for command in COMMANDS) == [
        *["compare"] * 2,
        *["run"] * 5,
        *["sweep"] * 2,
    ]


def test_what_is_shipped_is_a_config(tmp_path: Path) -> None:
    tutorial_files(tmp_path)
    summary = softsense.run(tmp_path / "calm.toml", overrides=SMALL).summary
    assert summary["gc"]["pacing"]["least_free_blocks"] > 2
    assert summary["read_buffer"]["refused_pages"] > 0


def test_what_the_tutorial_says_of_mistakes_is_said(here: Callable[[str], Path]) -> None:
    here("class Ladder:\n    def next(self, read):\n        return 9\n", "my_policies.py")
    with pytest.raises(ConfigError) as caught:
        softsense.run("mlc-25nm", policy="my_policies.py:Ladder", overrides=SMALL)
    assert f"error: {caught.value}\n" in TUTORIAL
    here("class Patient:\n    def pace(self, plane):\n        return 'soon'\n", "my_collection.py")
    with pytest.raises(ConfigError) as caught:
        softsense.run("mlc-25nm", overrides=[*WRITES, "ftl.gc_pacing=my_collection.py:Patient"])
    assert f"error: {caught.value}\n" in COLLECTION


def test_costs_are_measured(tmp_path: Path) -> None:
    import subprocess

    script = [sys.executable, ROOT / "examples/policy_costs.py", "--requests", "2000", "--repeats", "1"]
    done = subprocess.run(script, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "Python, tabulated" in done.stdout
    assert "Python placement, each round" in done.stdout
    assert "Python pacing" in done.stdout
    assert "Python admission" in done.stdout


# What they decide.


@pytest.mark.parametrize("retry", ["restart", "incremental"])
def test_a_policy_of_ones_own_is_the_shipped_one(retry: str, here: Callable[[str], Path]) -> None:
    here(TWO_STEP)
    expected, none = measured([*SMALL, "read.policy=two_step", f"read.retry={retry}"])
    assert none == []
    tabulated, [table] = measured([*SMALL, "read.policy=own.py:Tabulated", f"read.retry={retry}"])
    asked, [calls] = measured([*SMALL, "read.policy=own.py:Asked", f"read.retry={retry}"])
    assert tabulated == asked == expected
    assert (table["name"], table["tabulated"], table["calls"]) == ("own.py:Tabulated", 3, 0)
    assert calls["tabulated"] is None
    assert calls["calls"] > expected["codeword_reads"]["count"] / 2
    assert calls["calls_s"] > 0


def test_a_compiled_policy_is_the_shipped_one(here: Callable[[str], Path]) -> None:
    pytest.importorskip("numba", reason="Numba is not installed: pip install 'softsense[numba]'")
    here(
        "from numba import carray, cfunc\n"
        "from softsense.own import compiled_signature\n"
        "@cfunc(compiled_signature())\n"
        "def compiled(read):\n"
        "    seen = carray(read, 1)[0]\n"
        "    if seen.attempts == 1 and seen.step[0] != 1: return 9\n"
        "    return 1 if seen.attempts == 0 else seen.max_level if seen.attempts == 1 else 0\n"
    )
    assert measured([*SMALL, "read.policy=own.py:compiled"])[0] == measured([*SMALL, "read.policy=two_step"])[0]


def test_policies_see_what_they_observe(here: Callable[[str], Path]) -> None:
    """Whether a table or the run asks, and with numbers or edges, the decisions are those of one rule."""
    rule = """
class Edges:
    observes = {{"syndrome_weight": (1000, 1200), "pe_cycles": (1,), "page_type": None}}
    tabulate = {tabulate}
    def next(self, read):
        if read.attempts == 0: return 1
        if read.attempts > 1: return None
        return min(2 + 2 * read.syndrome_weights[0] + read.pe_cycles + read.page_type, 6)

class Numbers(Edges):
    observes = ("syndrome_weight", "pe_cycles", "page_type")
    def next(self, read):
        if read.attempts == 0: return 1
        reached = (read.syndrome_weights[0] >= 1000) + (read.syndrome_weights[0] >= 1200)
        return min(2 + 2 * reached + (read.pe_cycles >= 1) + read.page_type, 6) if read.attempts == 1 else None
"""
    found = []
    for tabulate, name in [(True, "Edges"), (False, "Edges"), (True, "Numbers")]:
        here(rule.format(tabulate=tabulate))
        summary, [own] = measured([*SMALL, f"read.policy=own.py:{name}"])
        found.append(summary)
        assert (own["tabulated"] is not None) == (tabulate and name == "Edges")
    assert found[0] == found[1] == found[2]
    levels = found[0]["codeword_reads"]["level_histogram"]
    assert sum(count > 0 for count in levels) > 2, levels


def test_a_policy_may_remember_and_be_random(here: Callable[[str], Path]) -> None:
    here(
        "import random\n"
        "class Own:\n"
        "    observes = ('block',)\n"
        "    tabulate = False\n"
        "    def __init__(self, device):\n"
        "        self.lot, self.known = random.Random(device.seed), {}\n"
        "    def next(self, read):\n"
        "        if read.attempts == 0: return self.known.get(read.block, 1)\n"
        "        level = self.known[read.block] = self.lot.randint(2, 7)\n"
        "        return level if level > read.last.level else None\n"
    )
    fields = [*SMALL, "read.policy=own.py:Own"]
    assert measured(fields)[0] == measured(fields)[0]
    assert measured(fields)[0] != measured([*fields, "seed=2"])[0]


TWINS = """
class TwoStep:
    observes = ("remembered_level",)

    def __init__(self, device):
        self.deepest = device.max_level

    def next(self, read):
        if read.attempts == 0:
            return min(read.remembered_level, self.deepest)
        return self.after(read.last.level) if read.last.level < self.deepest else None

    def after(self, level):
        return self.deepest

class LookAhead(TwoStep):
    looks_ahead = True

class Progressive(TwoStep):
    def after(self, level):
        return level + 1

class LookAheadProgressive(Progressive):
    looks_ahead = True

class AskedTwoStep(TwoStep):
    tabulate = False

class AskedLookAheadProgressive(LookAheadProgressive):
    tabulate = False
"""


@pytest.mark.parametrize("config", [each["name"] for each in softsense.configs()])
def test_bare_levels_read_as_shipped_policies_do(here: Callable[[str], Path], config: str) -> None:
    """Whatever `[read]` of a config says of retries: retry tables, what is remembered, inference, prediction."""
    here(TWINS)
    fields = ["workload.requests=1500", "flash.cache_register=true"]
    ages = [[], ["precondition.pe_cycles=3000", "precondition.retention_days=365", "read.retries_ahead=true"]]
    for more in ages:
        for shipped, twins in {
            "two_step": ("TwoStep", "AskedTwoStep"),
            "look_ahead": ("LookAhead",),
            "progressive": ("Progressive",),
            "look_ahead_progressive": ("LookAheadProgressive", "AskedLookAheadProgressive"),
        }.items():
            expected = measured([*fields, *more, f"read.policy={shipped}"], config)[0]
            for twin in twins:
                assert measured([*fields, *more, f"read.policy=own.py:{twin}"], config)[0] == expected, (twin, more)


def test_a_policy_that_follows_the_age_is_a_bound(here: Callable[[str], Path], softsense_command: Softsense) -> None:
    """It is faster than any that reads as the drive does, and is said to know what no controller knows."""
    here(
        "from softsense import ReadStep\n"
        "class Knows:\n"
        "    def next(self, read):\n"
        "        return ReadStep((1, 7)[read.attempts], 'cells') if read.attempts < 2 else None\n"
        "class Mine:\n"
        "    def next(self, read): return (1, 7, None)[read.attempts]\n"
    )
    fields = ["workload.requests=2000", "precondition.pe_cycles=3000", "precondition.retention_days=365"]
    sets = [word for field in fields for word in ("--set", field)]
    names = ["two_step", "own.py:Knows", "own.py:Mine"]
    told = softsense_command("compare", "tlc-3d", "--policies", ",".join(names), *sets, "--out", "out")
    summary = json.loads(Path("out/summary.json").read_text())
    shipped, knows, mine = (each["references"] for each in summary["policies"])
    assert (
        shipped == mine == {"hard": "retry_table", "soft": "fewest_violated", "own_cells": False, "follow_age": False}
    )
    assert knows == shipped | {"own_cells": True, "follow_age": True}
    said = "own.py:Knows reads at references that follow the true age of the data"
    before, _, after = told.stdout.partition("Response time of requests")
    assert said in before
    assert "two_step reads in" in after or "own.py:Mine reads in" in after
    alone = softsense_command("run", "tlc-3d", "--policy", "own.py:Knows", *sets, "--out", "alone").stdout
    assert said in alone.partition("Response time of requests")[0]


def test_references_are_moved(here: Callable[[str], Path]) -> None:
    """By entries of the retry table, as the shipped policy moves them."""
    here(
        "from softsense import ReadStep\n"
        "class Own:\n"
        "    def __init__(self, device):\n"
        "        self.steps = [ReadStep(1, f'retry_entry:{n}') for n in range(device.retry_entries)]\n"
        "    def next(self, read):\n"
        "        if read.attempts < len(self.steps): return self.steps[read.attempts]\n"
        "        return 7 if read.attempts == len(self.steps) else None\n"
    )
    old = [
        *("geometry.channels=2", "geometry.blocks_per_plane=128", "workload.footprint_bytes=67108864"),
        *("workload.requests=1000", "precondition.pe_cycles=3000", "precondition.retention_days=365"),
        *("read.policy=two_step", "read.soft_references=cells"),
    ]
    expected = measured(old, "tlc-3d")[0]
    assert expected["codeword_reads"]["attempts"] > expected["codeword_reads"]["count"]
    # Steps that name their references go by nothing that `[read]` says of those of shipped policies.
    assert measured([*old, "read.policy=own.py:Own"], "tlc-3d")[0] == expected


def test_rules_of_ones_own_are_shipped_ones(here: Callable[[str], Path]) -> None:
    here(
        "import numpy as np\n"
        "class Oldest:\n"
        "    def choose(self, blocks):\n"
        "        assert len(blocks) == len(blocks.valid) == len(blocks.erases) == len(blocks.blocks)\n"
        "        return blocks.age.argmax()\n"
        "class Turn:\n"
        "    def place(self, planes): return planes.in_turn\n"
        "class Round:\n"
        "    def place(self, planes): return np.arange(len(planes))\n"
    )
    fifo = measured([*WRITES, "ftl.victims=fifo"])[0]
    own, [cost] = measured([*WRITES, "ftl.victims=own.py:Oldest"])
    assert own == fifo
    assert cost["calls"] == fifo["gc"]["blocks_reclaimed"] > 0
    in_turn = measured(WRITES)[0]
    turn, [each] = measured([*WRITES, "ftl.plane_choice=own.py:Turn"])
    assert turn == in_turn
    rounds, [fewer] = measured([*WRITES, "ftl.plane_choice=own.py:Round"])
    assert fewer["calls"] <= each["calls"] / 3
    assert rounds["requests"] == in_turn["requests"]


def without_pacing(summary: dict[str, Any]) -> dict[str, Any]:
    return {**summary, "gc": {key: value for key, value in summary["gc"].items() if key != "pacing"}}


def test_pacing_of_ones_own_is_shipped_pacing(here: Callable[[str], Path]) -> None:
    here(
        "class AtOnce:\n"
        "    def wanted(self, plane):\n"
        "        return plane.free_blocks < (plane.high_watermark if plane.collecting else plane.low_watermark)\n"
        "    def pace(self, plane):\n"
        "        return plane.valid is not None or self.wanted(plane)\n"
        "class Preemptible(AtOnce):\n"
        "    def pace(self, plane):\n"
        "        assert plane.free_blocks > plane.reserve and plane.idle_us >= 0\n"
        "        return self.wanted(plane) and not plane.host_waits\n"
        "class Never:\n"
        "    def pace(self, plane): return False\n"
    )
    fields = [*WRITES, "ftl.gc_low_watermark_blocks=4"]
    at_once = measured(fields)[0]
    own, [cost] = measured([*fields, "ftl.gc_pacing=own.py:AtOnce"])
    assert without_pacing(own) == at_once
    assert cost["calls"] > at_once["gc"]["blocks_reclaimed"] > 0
    own, _ = measured([*fields, "ftl.gc_pacing=own.py:Preemptible"])
    shipped, _ = measured([*fields, "ftl.gc_pacing=preemptible"])
    assert own == shipped
    assert shipped["gc"]["pacing"]["pauses"] > 0
    never, _ = measured([*fields, "ftl.gc_pacing=own.py:Never"])
    assert never["requests"] == at_once["requests"]
    assert never["gc"]["pacing"]["at_reserve"] > never["gc"]["blocks_reclaimed"] > 0


def test_an_admission_of_ones_own_is_the_shipped_one(here: Callable[[str], Path]) -> None:
    here("class Second:\n    def admit(self, page): return page.misses > 1\n")
    buffer = [*SMALL, "host.read_buffer.bytes=262144"]
    shipped = measured([*buffer, "host.read_buffer.admission=second_miss"])[0]
    own, [cost] = measured([*buffer, "host.read_buffer.admission=own.py:Second"])
    assert own == shipped
    assert cost["calls"] >= own["read_buffer"]["refused_pages"] > 0
    assert own["read_buffer"] != measured(buffer)[0]["read_buffer"]
    cache = [*SMALL, "ftl.mapping.demand.cache_bytes=4096"]
    shipped = measured([*cache, "ftl.mapping.demand.admission=second_miss"])[0]
    own, [cost] = measured([*cache, "ftl.mapping.demand.admission=own.py:Second"])
    assert own == shipped
    assert cost["calls"] >= own["mapping"]["refused_entries"] > 0


# Names.


def test_names_are_taken_apart() -> None:
    assert split_policy("own.py:A:restart") == ("own.py:A", "restart")
    assert split_policy("some.module:A") == ("some.module:A", "")
    assert policy_names("two_step, own.py:A,own.py:A:restart") == ["two_step", "own.py:A", "own.py:A:restart"]


def test_files_are_found_beside_the_config_first(here: Callable[[str], Path], tmp_path: Path) -> None:
    here(TWO_STEP.replace("Tabulated:", "Tabulated:\n    where = 'here'"))
    (tmp_path / "there").mkdir()
    (tmp_path / "there/own.py").write_text(TWO_STEP)
    config = tmp_path / "there/device.toml"
    config.write_text(Config.open("mlc-25nm", ["read.policy=own.py:Tabulated"]).to_toml())
    assert Config.open(config).own_sources == {"own.py": TWO_STEP}
    assert "where" in Config.open("mlc-25nm", ["read.policy=own.py:Tabulated"]).own_sources["own.py"]
    assert Config.open("mlc-25nm").own_sources == {}


def test_modules_are_imported(here: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(here(TWO_STEP, "module_of_mine.py").parent)
    config = Config.open("mlc-25nm", [*SMALL, "read.policy=module_of_mine:Tabulated"])
    assert config.own_sources == {"module_of_mine": TWO_STEP}
    assert softsense.run(config).name == "module_of_mine:Tabulated"


def test_the_source_is_part_of_the_identity(here: Callable[[str], Path]) -> None:
    opened = lambda: Config.open("mlc-25nm", ["read.policy=own.py:Tabulated"]).sha256  # noqa: E731
    here(TWO_STEP)
    first = opened()
    assert opened() == first
    here(TWO_STEP + "# A remark, which nobody can tell from a change.\n")
    assert opened() != first
    assert Config.open("mlc-25nm", ["read.policy=own.py:Asked"]).sha256 != first


# What goes wrong.

WRONG: dict[str, tuple[str, str, list[str]]] = {
    "no file": ("", "missing.py:A", ["read.policy", "no file missing.py"]),
    "no module": ("", "no_such_module_at_all:A", ["read.policy", "no module `no_such_module_at_all`"]),
    "no class": ("class B:\n    def next(self, read): return 1\n", "own.py:A", ["no `A` in own.py", "one of B"]),
    "no method": ("class A: pass\n", "own.py:A", ["without a method `next`"]),
    "no name": ("", "own.py:3", ["own.py:3", "such as `my_policies.py:Ladder`"]),
    "level": (
        "class A:\n    def next(self, read): return 99\n",
        "own.py:A",
        ["own.py:A: next: found level 99", "1 to 7"],
    ),
    "text": (
        "class A:\n    def next(self, read): return 'x'\n",
        "own.py:A",
        ["own.py:A: next: found 'x' (str)", "ReadStep"],
    ),
    "none": ("class A:\n    def next(self, read): pass\n", "own.py:A", ["found None", "expected a step"]),
    "no end": ("class A:\n    def next(self, read): return 1\n", "own.py:A", ["found a step after 32"]),
    "moody": (
        "class A:\n    n = 0\n    def next(self, read):\n        A.n += 1\n        return 1 + A.n % 2\n",
        "own.py:A",
        ["two answers", "tabulate = False"],
    ),
    "observes": (
        "class A:\n    observes = ('weather',)\n    def next(self, read): return 1\n",
        "own.py:A",
        ["own.py:A: observes: found `weather`", "syndrome_weight"],
    ),
    "edges": (
        "class A:\n    observes = {'pe_cycles': (2, 1)}\n    def next(self, read): return 1\n",
        "own.py:A",
        ["found (2, 1) for `pe_cycles`", "increasing"],
    ),
    "edges of a name": (
        "class A:\n    observes = {'page_type': (1,)}\n    def next(self, read): return 1\n",
        "own.py:A",
        ["edges for `page_type`"],
    ),
    "references": (
        "from softsense import ReadStep\nclass A:\n    def next(self, read): return ReadStep(1, 'retry_entry:0')\n",
        "own.py:A",
        ["references `retry_entry:0`", "threshold_voltage"],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_policy_is_one_error(case: str, here: Callable[[str], Path], tmp_path: Path) -> None:
    text, name, expected = WRONG[case]
    here(text)
    with pytest.raises(ConfigError) as caught:
        softsense.run("mlc-25nm", overrides=[*SMALL, f"read.policy='{name}'"])
    assert all(words in str(caught.value) for words in expected), caught.value
    assert "\n" not in str(caught.value)


def test_bad_answers_are_bad_input(softsense_command: Softsense, tmp_path: Path, set_small: list[str]) -> None:
    (tmp_path / "own.py").write_text("class A:\n    def choose(self, blocks): return 1 << 40\n")
    writes = [word for field in WRITES for word in ("--set", field)]
    done = softsense_command("run", "mlc-25nm", *writes, "--set", "ftl.victims=own.py:A", "--out", "out")
    assert (done.returncode, done.stdout.count("wrote")) == (2, 0)
    assert done.stderr.splitlines()[-1].startswith("error: own.py:A: choose: found 1099511627776, expected the index")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("where", ["file", "constructor", "table", "run", "undeclared"])
@pytest.mark.parametrize("command", ["run", "compare"])
def test_errors_of_ones_own_end_with_their_traceback(
    command: str, where: str, softsense_command: Softsense, tmp_path: Path, set_small: list[str]
) -> None:
    bad = "[][3]  # where it is wrong"
    parts = {
        "file": f"x = {bad}\nclass A:\n    def next(self, read): return 1\n",
        "constructor": f"class A:\n    def __init__(self): {bad}\n    def next(self, read): return 1\n",
        "table": f"class A:\n    def next(self, read):\n        {bad}\n",
        "run": "class A:\n    tabulate = False\n    def next(self, read):\n"
        f"        if read.attempts: {bad}\n        return 1\n",
        "undeclared": "class A:\n    def next(self, read):\n        return 1 + read.page_type  # where it is wrong\n",
    }
    (tmp_path / "own.py").write_text(parts[where])
    policy = ["--policy", "own.py:A"] if command == "run" else ["--policies", "two_step,own.py:A"]
    done = softsense_command(command, "mlc-25nm", *set_small, *policy, "--out", "out", "--no-progress")
    assert done.returncode == 1, done.stderr
    shown = done.stderr[done.stderr.index("Traceback") :].splitlines()
    assert re.match(r' *File "[^"]*own\.py"', shown[1]), shown
    assert any("where it is wrong" in line for line in shown)
    assert "python/softsense" not in "\n".join(shown)
    kind = (
        "AttributeError: page_type: found a policy" if where == "undeclared" else "IndexError: list index out of range"
    )
    assert shown[-1].startswith(kind)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("field", "method"),
    [
        ("ftl.gc_pacing", "pace"),
        ("host.read_buffer.admission", "admit"),
        ("ftl.mapping.demand.admission", "admit"),
    ],
)
def test_errors_of_rules_end_the_run_with_their_traceback(
    field: str, method: str, softsense_command: Softsense, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        f"class A:\n    asked = 0\n    def {method}(self, seen):\n        self.asked += 1\n"
        "        return True if self.asked < 20 else [][3]  # where it is wrong\n"
    )
    fields = [*WRITES, "workload.read_fraction=0.5", "host.read_buffer.bytes=262144", f"{field}=own.py:A"]
    sets = [word for value in fields for word in ("--set", value)]
    done = softsense_command("run", "mlc-25nm", *sets, "--out", "out", "--no-progress")
    assert (done.returncode, done.stdout.count("wrote")) == (1, 0), done.stderr
    shown = done.stderr[done.stderr.index("Traceback") :].splitlines()
    assert any("where it is wrong" in line for line in shown)
    assert "python/softsense" not in "\n".join(shown)
    assert shown[-1] == "IndexError: list index out of range"
    assert not (tmp_path / "out").exists()


def test_code_of_ones_own_can_be_refused(here: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    here("raise SystemExit\n")
    monkeypatch.setenv("SOFTSENSE_OWN", "refuse")
    with pytest.raises(ConfigError, match="SOFTSENSE_OWN=refuse, expected a shipped one"):
        Config.open("mlc-25nm", ["read.policy=own.py:A"])


def test_errors_are_raised_as_they_are(here: Callable[[str], Path]) -> None:
    here("class Mine(Exception): pass\nclass A:\n    def place(self, planes): raise Mine(7)\n")
    with pytest.raises(Exception, match="7") as caught:
        softsense.run("mlc-25nm", overrides=[*WRITES, "ftl.plane_choice=own.py:A"])
    assert type(caught.value).__name__ == "Mine"
    with pytest.raises(ConfigError, match="without a method `choose`"):
        load("ftl.victims", "own.py:A", "")


# Sweeps.

SWEEP = """
config = "mlc-25nm"
policies = ["two_step", "own.py:Tabulated", "own.py:Wrong"]
set = {fields}
[grid]
"ftl.victims" = ["fifo", "own.py:Oldest"]
"""

SWEPT = (
    TWO_STEP
    + """
class Oldest:
    def choose(self, blocks):
        return blocks.age.argmax()

class Wrong:
    tabulate = False
    def next(self, read):
        return 1 // (1 - read.attempts)
"""
)


def swept(folder: Path, **options: Any) -> Any:
    (folder / "own.py").write_text(SWEPT)
    (folder / "s.toml").write_text(SWEEP.format(fields=json.dumps([*WRITES, "workload.read_fraction=0.5"])))
    return sweep(folder / "s.toml", out=folder / "out", **options)


def test_sweeps_take_what_is_ones_own(here: Callable[[str], Path], tmp_path: Path) -> None:
    result = swept(tmp_path, workers=2)
    rows = result.frame.sort("point").to_dicts()
    assert [row["status"] for row in rows] == ["ok", "ok", "failed"] * 2
    assert rows[0]["response.read.mean_us"] == rows[1]["response.read.mean_us"] == rows[3]["response.read.mean_us"]
    assert len({row["id"] for row in rows}) == 6
    assert "own.py:Wrong: ZeroDivisionError" in rows[2]["error"]
    assert "(own.py:" in rows[2]["error"]
    assert swept(tmp_path, workers=1).simulated <= 2, "only what has failed is simulated again"


def test_the_source_goes_with_a_point(
    here: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a worker that is elsewhere, and does not have the file."""
    from softsense.sweep_file import Sweep

    (tmp_path / "own.py").write_text(SWEPT)
    (tmp_path / "s.toml").write_text(SWEEP.format(fields=json.dumps([*WRITES])))
    planned = points.Planned(Sweep.open(tmp_path / "s.toml"))
    (tmp_path / "own.py").unlink()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    jobs = [job for job in planned.jobs.values() if "own.py:Tabulated" in str(job.overrides)]
    assert len(jobs) == 2
    for job in jobs:
        outcome = points.work(job)
        assert outcome.error is None
        assert outcome.sha256 == job.sha256


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_takes_what_is_ones_own(here: Callable[[str], Path], tmp_path: Path) -> None:
    expected = swept(tmp_path, workers=1).frame.sort("point")
    (tmp_path / "there").mkdir()
    with dask_client(threads=2) as client:
        found = swept(tmp_path / "there", workers=client).frame.sort("point")
    assert found.equals(expected)
