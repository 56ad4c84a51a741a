"""Does every shipped config run, and does one show every field?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import softsense
from conftest import CONFIGS, ROOT

EVERY_PART = ROOT / "examples" / "configs" / "every-part.toml"


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.toml")), ids=lambda file: file.stem)
def test_config_runs_on_its_own_workload(file: Path) -> None:
    result = softsense.run(file, overrides=["workload.requests=2000"])
    assert result.summary["requests"] == 2000
    assert not result.interrupted


def test_there_are_configs() -> None:
    assert {"mlc-25nm", "mlc-laldpc", "tlc-femu"} <= {file.stem for file in CONFIGS.glob("*.toml")}


def every_part() -> dict[str, list[str]]:
    """The questions of the example, each with the fields behind `#` that follow it."""
    blocks = [block.splitlines() for block in EVERY_PART.read_text().split("\n\n")]
    parts = {block[0]: [line[1:] for line in block if re.match("#[a-z]", line)] for block in blocks}
    return {question.removeprefix("# "): fields for question, fields in parts.items() if fields}


@pytest.mark.parametrize("question", every_part())
def test_every_optional_part_goes_with_the_example(question: str) -> None:
    """Each of the fields behind `#` is taken, and the drive serves its requests."""
    fields = every_part()[question]
    assert question.endswith("?") or "? " in question
    loads = [] if any(field.startswith(("workload", "host.tenants")) for field in fields) else ["workload.requests=300"]
    plain = softsense.load_config(EVERY_PART, loads).fields
    config = softsense.load_config(EVERY_PART, [*fields, *loads])
    assert config.fields != plain
    assert softsense.run(config).summary["requests"] >= 300


def test_every_field_of_a_config_is_shown() -> None:
    """In a shipped config or an example. Cells and the columns of traces have files of their own."""
    schema = json.loads(Path(ROOT / "schema" / "config.schema.json").read_text())
    known = {"CellSpec", "TenantTrace"}

    def names(of: Any) -> Iterator[str]:
        if isinstance(of, list):
            for each in of:
                yield from names(each)
        elif isinstance(of, dict):
            yield from of.get("properties", {})
            part = of.get("$ref", "").rpartition("/")[2]
            if part and part not in known:
                known.add(part)
                yield from names(schema["$defs"][part])
            for key, each in of.items():
                if key != "$defs":
                    yield from names(each)

    files = [*CONFIGS.glob("*.toml"), *ROOT.glob("examples/**/*.toml")]
    shown = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    fields = set(names(schema))
    assert len(fields) > 300
    assert fields - shown == set()
