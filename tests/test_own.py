"""Policies and rules of users' own: does the tutorial run, do they decide as shipped ones do, what becomes of their
errors, and do they take part in sweeps?
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

import softsense
from conftest import ROOT, SMALL, Softsense, dask_client
from softsense import Config, ConfigError, cli, explain, own, points
from softsense.cli.completing import complete_config
from softsense.own import load
from softsense.read_policies import policy_names, split_policy
from softsense.sweep import sweep

pytestmark = pytest.mark.usefixtures("one_pixel")

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
    # With 500, as many of the four shipped policies differ from one another as with 1,500, but for two configs.
    requests = 1500 if config in ("tlc-femu", "qlc-3d-cached") else 500
    fields = [f"workload.requests={requests}", "flash.cache_register=true"]
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
    told = softsense_command("compare", "tlc-femu", "--policies", ",".join(names), *sets, "--out", "out")
    summary = json.loads(Path("out/summary.json").read_text())
    shipped, knows, mine = (each["references"] for each in summary["policies"])
    bare = {"hard": "retry_table", "soft": "fewest_violated", "own_cells": False, "follow_age": False}
    assert shipped == mine == bare
    assert knows == shipped | {"own_cells": True, "follow_age": True}
    said = "own.py:Knows reads at references that follow the true age of the data"
    before, _, after = told.stdout.partition("Response time of requests")
    assert said in before
    assert "two_step reads in" in after or "own.py:Mine reads in" in after
    alone = softsense_command("run", "tlc-femu", "--policy", "own.py:Knows", *sets, "--out", "alone").stdout
    assert said in alone.partition("Response time of requests")[0]
    small = ["geometry.blocks_per_plane=64", "geometry.pages_per_block=96", "ftl.over_provisioning=0.2", *fields]
    Path("s.toml").write_text(
        f'config = "tlc-femu"\npolicies = {json.dumps(names)}\nset = {json.dumps(small)}\n'
        '[grid]\n"workload.footprint_bytes" = [67108864]\n'
    )
    told = softsense_command("sweep", "s.toml", "--out", "swept")
    assert "bounds of what can be built: own.py:Knows" in " ".join(told.stdout.split()), told.stdout + told.stderr
    built = dict(pl.read_csv("swept/designs.csv").select("policy", "can_be_built").iter_rows())
    assert built == {"two_step": True, "own.py:Knows": False, "own.py:Mine": True}


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
    expected = measured(old, "tlc-femu")[0]
    assert expected["codeword_reads"]["attempts"] > expected["codeword_reads"]["count"]
    # Steps that name their references go by nothing that `[read]` says of those of shipped policies.
    assert measured([*old, "read.policy=own.py:Own"], "tlc-femu")[0] == expected


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
    "no file": ("", "missing.py:A", ["read.policy", "expected a file missing.py"]),
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
    "none": ("class A:\n    def next(self, read): pass\n", "own.py:A", ["found None", "expected a first step"]),
    "no end": ("class A:\n    def next(self, read): return 1\n", "own.py:A", ["found another step after 32"]),
    "moody": (
        "class A:\n    n = 0\n    def next(self, read):\n        A.n += 1\n        return 1 + A.n % 2\n",
        "own.py:A",
        ["two different answers", "tabulate = False"],
    ),
    "observes": (
        "class A:\n    observes = ('weather',)\n    def next(self, read): return 1\n",
        "own.py:A",
        ["own.py:A: observes: found `weather`", "syndrome_weight"],
    ),
    "edges": (
        "class A:\n    observes = {'pe_cycles': (2, 1)}\n    def next(self, read): return 1\n",
        "own.py:A",
        ["found (2, 1) for `pe_cycles`", "ascending"],
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


def test_bad_answers_are_bad_input(softsense_process: Softsense, tmp_path: Path, set_small: list[str]) -> None:
    (tmp_path / "own.py").write_text("class A:\n    def choose(self, blocks): return 1 << 40\n")
    writes = [word for field in WRITES for word in ("--set", field)]
    done = softsense_process("run", "mlc-25nm", *writes, "--set", "ftl.victims=own.py:A", "--out", "out")
    assert (done.returncode, done.stdout.count("wrote")) == (2, 0)
    assert done.stderr.splitlines()[-1].startswith("error: own.py:A: choose: found 1099511627776, expected the index")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("where", ["file", "constructor", "table", "run", "undeclared"])
@pytest.mark.parametrize("command", ["run", "compare"])
def test_errors_of_ones_own_end_with_their_traceback(
    command: str, where: str, softsense_process: Softsense, tmp_path: Path, set_small: list[str]
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
    done = softsense_process(command, "mlc-25nm", *set_small, *policy, "--out", "out", "--no-progress")
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
    field: str, method: str, softsense_process: Softsense, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(
        f"class A:\n    asked = 0\n    def {method}(self, seen):\n        self.asked += 1\n"
        "        return True if self.asked < 20 else [][3]  # where it is wrong\n"
    )
    fields = [*WRITES, "workload.read_fraction=0.5", "host.read_buffer.bytes=262144", f"{field}=own.py:A"]
    sets = [word for value in fields for word in ("--set", value)]
    done = softsense_process("run", "mlc-25nm", *sets, "--out", "out", "--no-progress")
    assert (done.returncode, done.stdout.count("wrote")) == (1, 0), done.stderr
    shown = done.stderr[done.stderr.index("Traceback") :].splitlines()
    assert any("where it is wrong" in line for line in shown)
    assert "python/softsense" not in "\n".join(shown)
    assert shown[-1] == "IndexError: list index out of range"
    assert not (tmp_path / "out").exists()


def test_code_of_ones_own_can_be_refused(here: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    here("raise SystemExit\n")
    monkeypatch.setenv("SOFTSENSE_OWN", "refuse")
    with pytest.raises(ConfigError, match="SOFTSENSE_OWN=refuse, expected the name of a shipped one"):
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


# Whose code runs.

SAYS = "import sys\nprint('RAN', file=sys.stderr)\n"
CONFIG = f"read.policy = 'own.py:Tabulated'\n{chr(10).join(SMALL)}\n"
BAD_SETTINGS = ["refuse", "Refuse", "REFUSE", "1", "0", "true", "no", " allow", "Allow", "allow,refuse"]

# Every command that opens code of the user's own. What is wrong with some of them is found after it was opened.
OPENS: dict[str, list[str]] = {
    "run": ["x.toml", "--out", "out"],
    "compare": ["x.toml", "--policies", "two_step", "--out", "out"],
    "fairness": ["x.toml"],
    "fio": ["x.toml", "--rw", "randread", "--runtime", "20ms"],
    "trace generate": ["x.toml", "out.csv"],
    "config check": ["x.toml"],
    "config show": ["x.toml"],
    "config ages": ["x.toml", "--pe-cycles", "1000", "--retention-days", "1"],
    "table build": ["bch-4KB-t105", "--out", "t.toml", "--for", "x.toml"],
    "lifetime": ["x.toml"],
    "design ecc-by-age": ["x.toml", "--rber", "16000:3e-4"],
    "flash calibrate": ["x.toml", "--p-fail", "0.01"],
    "explain": ["--config", "x.toml", "--policies", "two_step"],
    "drive serve": ["x.toml", "--socket", "drive.sock", "--size", "nothing"],
    "sweep": ["s.toml", "--out", "out", "--workers", "1"],
    "code bench": ["flash-8/9", "--backend", "own.py:Tabulated", "--errors", "1", "--frames", "1"],
    "code conform": ["own.py:Tabulated", "--code", "flash-8/9"],
}


@pytest.fixture
def opened(here: Callable[[str], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command beside a config that names code; what it says."""
    # Code that has run in this process does not run again, so each test has code of its own.
    here(f"{SAYS}{TWO_STEP}    def decode(self, received): pass\n# {tmp_path}\n")
    here(CONFIG, "x.toml")
    here("config = 'x.toml'\nseeds = [1]\n", "s.toml")

    def run(*arguments: str, code: int | None = None) -> str:
        capfd.readouterr()
        ended = cli.main(list(arguments))
        said = capfd.readouterr().err
        assert code is None or ended == code, said
        return said

    return run


def test_every_command_that_opens_code_is_here() -> None:
    def opens(command: click.Command) -> bool:
        return any(each._custom_shell_complete is complete_config for each in command.params)

    found = {path for path, command in commands_of(cli.cli) if opens(command)}
    assert set(OPENS) - found == {"sweep", "code bench", "code conform"}
    assert found <= set(OPENS)


def commands_of(of: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command with its path."""
    for name, command in of.commands.items() if isinstance(of, click.Group) else ():
        yield from commands_of(command, f"{path}{name} ")
    if not isinstance(of, click.Group):
        yield path.rstrip(), of


@pytest.mark.parametrize("command", OPENS)
def test_a_command_says_whose_code_runs_before_it_runs(command: str, opened: Callable[..., str]) -> None:
    said = opened(*command.split(), *OPENS[command]).splitlines()
    told = [at for at, line in enumerate(said) if line.startswith("runs ")]
    assert len(told) == 1, said
    by = "the command line" if command.startswith("code") else "read.policy of x.toml"
    assert re.fullmatch(rf"runs (\S*/)?own.py, which {by} names", said[told[0]])
    assert said[told[0] + 1] == "RAN"


@pytest.mark.parametrize("command", OPENS)
def test_what_is_not_exactly_allowed_is_refused(
    command: str, opened: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in BAD_SETTINGS:
        monkeypatch.setenv("SOFTSENSE_OWN", setting)
        said = opened(*command.split(), *OPENS[command], code=2)
        assert re.search(rf"^error: .*: found `own.py:Tabulated` with SOFTSENSE_OWN={setting}, expected", said)
        assert "RAN" not in said
        assert "runs own.py" not in said
    for setting in ("allow", ""):
        monkeypatch.setenv("SOFTSENSE_OWN", setting)
        assert "SOFTSENSE_OWN" not in opened("config", "check", "x.toml", code=0)


def test_each_file_is_told_once(opened: Callable[..., str], here: Callable[[str], Path]) -> None:
    here("class W:\n    def choose(self, blocks): return 0\n", "rules.py")
    words = ["--set", "ftl.victims=rules.py:W", "--policies", "own.py:Tabulated,own.py:Asked:restart,two_step"]
    said = opened("compare", "x.toml", *words, "--out", "out", "--no-progress", code=0)
    assert sorted(line for line in said.splitlines() if line.startswith("runs")) == [
        "runs own.py, which the command line names",
        "runs rules.py, which the command line names",
    ]


def test_modules_are_told_before_their_packages_run(
    opened: Callable[..., str], here: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib/ladders").mkdir(parents=True)
    (tmp_path / "lib/ladders/__init__.py").write_text(SAYS)
    (tmp_path / "lib/ladders/fast.py").write_text(TWO_STEP)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    here("read.policy = 'ladders.fast:Asked'\n", "y.toml")
    monkeypatch.setenv("SOFTSENSE_OWN", "no")
    assert "RAN" not in opened("config", "check", "y.toml", code=2)
    monkeypatch.delenv("SOFTSENSE_OWN")
    told, ran, *_ = opened("config", "check", "y.toml", code=0).splitlines()
    assert told.endswith("lib/ladders/__init__.py, which read.policy of y.toml names")
    assert ran == "RAN"


def test_python_says_nothing(
    here: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    here(f"{TWO_STEP}# {tmp_path}\n")
    here(CONFIG, "x.toml")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert softsense.load_config("../x.toml").own_sources
    assert softsense.load_config("mlc-25nm", policy="../own.py:Asked").own_sources
    assert capfd.readouterr().err == ""


ELSEWHERE: dict[str, tuple[list[str], dict[str, str], str | None]] = {
    # Words of the command line, the first of which is the sweep; files; and what asks, None if nothing has to.
    "a config here": (["s.toml"], {"x.toml": CONFIG}, None),
    "a config below": (["s.toml"], {"s.toml": "config = 'a/b/x.toml'", "a/b/x.toml": CONFIG, "a/b/own.py": ""}, None),
    "a config there": (["s.toml"], {"s.toml": "config = '../there/x.toml'"}, "there/x.toml"),
    "a config beside a sweep there": (["../there/s.toml"], {"../there/s.toml": "config = 'x.toml'"}, "there/x.toml"),
    "a link to a config there": (["s.toml"], {"x.toml": "-> ../there/x.toml"}, "x.toml"),
    "a config that is named": (["s.toml", "../there/x.toml"], {"s.toml": "config = '../there/x.toml'"}, None),
    "a config that an option names": (
        ["s.toml", "--a=../there/x.toml"],
        {"s.toml": "config = '../there/x.toml'"},
        None,
    ),
    "a sweep there, by itself": (
        ["../there/s.toml"],
        {"../there/s.toml": "config = 'mlc-25nm'\npolicies = ['own.py:Asked']"},
        None,
    ),
    "a rule in a sweep there": (
        ["../there/s.toml"],
        {"../there/s.toml": "config = 'mlc-25nm'\n[grid]\n'ftl.victims' = ['own.py:Rule']"},
        None,
    ),
    "a file there, for a sweep here": (
        ["s.toml"],
        {"s.toml": "config = '../there/plain.toml'\npolicies = ['own.py:Asked']"},
        "there/plain.toml",
    ),
    "a file here, for a config there": (
        ["s.toml"],
        {"s.toml": "config = '../there/plain.toml'\npolicies = ['mine.py:Asked']", "mine.py": TWO_STEP},
        None,
    ),
    "a file here that a config there names": (
        ["s.toml"],
        {"s.toml": "config = '../there/y.toml'", "../there/y.toml": CONFIG.replace("own", "mine"), "mine.py": TWO_STEP},
        "there/y.toml",
    ),
    "a module that a config there names": (
        ["s.toml"],
        {"s.toml": "config = '../there/y.toml'", "../there/y.toml": CONFIG.replace("own.py", "json.tool")},
        "there/y.toml",
    ),
}


@pytest.mark.parametrize("case", ELSEWHERE)
@pytest.mark.parametrize("allowed", [None, "--allow-own", "SOFTSENSE_OWN"])
def test_configs_from_elsewhere_have_to_be_allowed(
    case: str, allowed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from softsense.sweep_file import Sweep

    words, files, asks = ELSEWHERE[case]
    rule = "class Rule:\n    def choose(self, blocks): return 0\n"
    known = {"s.toml": "config = 'x.toml'", "own.py": f"open('{tmp_path}/RAN', 'w').close()\n{TWO_STEP}{rule}"}
    there = {"../there/x.toml": CONFIG, "../there/own.py": known["own.py"], "../there/plain.toml": "\n".join(SMALL)}
    for name, text in (known | there | files).items():
        file = tmp_path / "here" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            file.symlink_to(text.removeprefix("-> "))
        else:
            file.write_text(text or known["own.py"])
    monkeypatch.chdir(tmp_path / "here")
    if allowed == "SOFTSENSE_OWN":
        monkeypatch.setenv(allowed, "allow")
    said: list[str] = []
    with own.commanded(words, said.append):
        if allowed == "--allow-own":
            own.allow()
        if asks and not allowed:
            with pytest.raises(own.RefusedError, match=f"{asks}, which is neither in this folder") as refused:
                points.Planned(Sweep.open(words[0]))
            assert "--allow-own" in str(refused.value)
            assert not said
            assert not (tmp_path / "RAN").exists()
        elif "module" in case:
            with pytest.raises(ConfigError, match="found no `Tabulated`"):
                points.Planned(Sweep.open(words[0]))
        else:
            points.Planned(Sweep.open(words[0]))
            assert len(said) == 1


def test_a_sweep_of_somebody_else_is_one_error(opened: Callable[..., str], tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    refused = opened("sweep", "../s.toml", code=2).splitlines()
    assert len(refused) == 1
    assert refused[0].startswith(
        "error: ../s.toml: config: read.policy: found `own.py:Tabulated` with ../x.toml, which"
    )
    assert not list(tmp_path.glob("here/**/*"))
    told, *_, worker = (
        line
        for line in opened("sweep", "../s.toml", "--allow-own", code=0).splitlines()
        if "own.py" in line or line == "RAN"
    )
    assert re.fullmatch(r"runs \.\./own.py, which read.policy of \.\./x.toml names", told)
    assert worker == "RAN", "the worker runs it, too, and does not say so"


@pytest.mark.parametrize("allowed", [False, True])
def test_pages_cannot_ask_for_code(allowed: bool, here: Callable[[str], Path], tmp_path: Path) -> None:
    here(f"open('RAN', 'w').close()\n{TWO_STEP}")
    with own.commanded(["explain", "--serve"], lambda _: None):
        if allowed:
            own.allow()
        for name in ("own.py:Asked", f"{tmp_path}/own.py:Asked", "this:Asked", "own:Asked", "two_step,own.py:Asked"):
            with pytest.raises(ConfigError):
                explain.explain("mlc-25nm", policies=name)
    assert not (tmp_path / "RAN").exists()
