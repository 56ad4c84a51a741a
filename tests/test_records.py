"""Do names of fields complete in an editor, are misspelt ones refused, and do values have the types that are stated?"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import softsense
from conftest import CONFIGS, SMALL
from softsense import load_config, records
from softsense.records import Record

FEW = [*SMALL[:-3], "workload.requests=300", "workload.footprint_bytes=8388608"]
PARTS = {
    "plain": ("mlc-25nm", FEW),
    "growth": ("mlc-25nm", [*SMALL, "workload.arrivals='immediate'"]),
    "SLC cache": ("qlc-3d-cached", ["workload.requests=300", "workload.footprint_bytes=8388608"]),
    "parity": ("tlc-client", ["workload.requests=2000", "ftl.parity={ data_pages = 3 }"]),
    "adaptive": ("pool-array", ["workload.requests=300"]),
    "memory": ("tlc-enterprise", ["workload.requests=300", "host.dram={ speed = { bandwidth_gb_per_s = 12.8 } }"]),
}
SCRIPT = """
import softsense
from softsense.records import Responses

result: softsense.FerResult = softsense.measure_fer("flash-8/9", "0.008")
print(result.points)
run = softsense.run("mlc-25nm")
config = softsense.load_config("mlc-25nm")
responses: Responses = run.summary.response
p99: float | None = run.summary.response.read.p99_us
channels: int = config.fields.geometry.channels
policy: str = config.fields.read.policy
if run.summary.parity is not None:
    print(run.summary.parity.recovered)
"""


def told(values: Any, at: str) -> None:
    """Fails where a value is not what the class of its owner states."""
    if isinstance(values, Record):
        _, properties, required = records.parts(records.nodes()[type(values).__name__], at)
        assert required <= set(values), at
        for name, value in values.items():
            assert name in properties, f"{at}.{name} is not known"
            told(value, f"{at}.{name}")
    elif isinstance(values, list):
        for value in values:
            told(value, at)
    elif isinstance(values, dict):
        for name, value in values.items():
            assert at.endswith((".source", "_us", ".references")) or isinstance(value, Record), f"{at}.{name}"


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIGS.glob("*.toml")))
def test_each_field_of_a_config_is_known(name: str) -> None:
    config = load_config(name)
    assert config.fields == json.loads(config.to_json())
    told(config.fields, name)


@pytest.mark.parametrize("part", PARTS)
def test_each_field_of_a_summary_is_known(part: str) -> None:
    name, overrides = PARTS[part]
    told(softsense.run(name, overrides=overrides).summary, part)


def test_an_attribute_is_the_value_of_its_key() -> None:
    summary = softsense.run("mlc-25nm", overrides=FEW).summary
    assert summary.response.read.p99_us == summary["response"]["read"]["p99_us"] > 0
    assert summary.parity is None
    assert "parity" not in summary
    assert {"response", "parity"} <= set(dir(summary))
    assert type(summary.response).__doc__ == "Response times, from arrival to completion."
    for twin in (pickle.loads(pickle.dumps(summary)), copy.deepcopy(summary)):
        assert (type(twin), twin, type(twin.response)) == (type(summary), summary, records.Responses)
    with pytest.raises(AttributeError, match=r"^Responses: found `reed`, .* did you mean `read`\?$"):
        _ = summary.response.reed


def test_no_field_is_hidden_by_what_a_dict_can_do() -> None:
    for name, node in records.nodes().items():
        _, properties, _ = records.parts(node, name)
        assert not set(properties) & set(dir(dict)), name


def mypy(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A script under `mypy --strict`."""
    pytest.importorskip("mypy")
    (folder / "script.py").write_text(script)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent", "script.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_misspelt_names_of_a_script_are_errors(tmp_path: Path) -> None:
    """Each of six, and none without them; misspelt ones stand for real ones, so that nothing else can be wrong."""
    wrong = {
        "measure_fer(": "mesure_fer(",
        "result.points": "result.point",
        "import Responses": "import Response",
        "read.p99_us": "reed.p99_us",
        "geometry.channels": "geometry.chanels",
        "parity.recovered": "parity.recoverd",
    }
    fine = mypy(SCRIPT, tmp_path)
    assert fine.returncode == 0, fine.stdout
    script = SCRIPT
    for name, misspelt in wrong.items():
        assert name in script
        script = script.replace(name, misspelt)
    lines = {line.split(":")[1] for line in mypy(script, tmp_path).stdout.splitlines() if ": error: " in line}
    pairs = zip(SCRIPT.splitlines(), script.splitlines(), strict=True)
    expected = {str(number) for number, (right, wrong_) in enumerate(pairs, 1) if right != wrong_}
    assert len(expected) == 6
    assert expected <= lines


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("softsense.run('mlc-25nm').summary.response.read.p9", {"p95_us", "p99_us", "p999_us"}),
        ("softsense.load_config('mlc-25nm').fields.geometry.ch", {"channels", "chips_per_channel"}),
        ("softsense.compare('mlc-25nm').runs[0].summary.slc", {"slc_cache"}),
    ],
)
def test_an_editor_completes_names(code: str, names: set[str]) -> None:
    jedi = pytest.importorskip("jedi")
    text = f"import softsense\n{code}"
    found = {completion.name for completion in jedi.Script(text).complete(2, len(code))}
    assert names <= found


def test_editors_and_python_have_the_same_public_names() -> None:
    """Does `__init__.pyi` have each of them under its own name, from the module that really has it?"""
    stub = ast.parse(Path(softsense.__file__).with_name("__init__.pyi").read_text(encoding="utf-8"))
    imported = [(node.module, name) for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert sorted(name.name for _, name in imported) == sorted(softsense.__all__)
    for module, name in imported:
        assert name.asname == name.name
        assert getattr(importlib.import_module(str(module)), name.name) is getattr(softsense, name.name)
