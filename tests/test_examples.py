"""Do the examples run: those in docstrings, and the scripts and notebooks in examples/?

Notebooks are run as plain Python, cell after cell in one namespace, which shows that they run; a kernel (nbclient and
ipykernel) would add thirty packages to show the same.
"""

from __future__ import annotations

import contextlib
import doctest
import inspect
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import softsense
import softsense.board.measuring
import softsense.flash
import softsense.lifetime
import softsense.splitting
import softsense.tenants
import softsense.traps
from conftest import ROOT
from softsense import _core, read_policies, results
from softsense.serve import events, faults, units

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("[0-9]*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
MODULES = (
    *(
        softsense.api,
        softsense.board.measuring,
        read_policies,
        results,
        softsense.campaign,
        softsense.codes,
        softsense.flash,
        softsense.lifetime,
        softsense.splitting,
    ),
    softsense.tenants,
    softsense.traps,
    *(events, faults, units),
    _core,
)
# Errors and results, which others raise and return, and what takes long.
WITHOUT_EXAMPLE = {
    *("BuiltTable", "Fairness", "FerResult", "Interrupted", "JudgedTable", "Merged", "ShardDone", "Store"),
    *("build_table", "judge_table", "merge"),
    *("CodeError", "ConfigError", "FileError", "SoftsenseError", "TableError", "TraceError"),
}


def documented(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The functions and classes of a module, and the members of its classes."""
    for name, value in vars(module).items():
        of = _core if module is _core else inspect.getmodule(value)
        if name.startswith("_") or of is not module or not callable(value):
            continue
        yield name, value
        if inspect.isclass(value):
            for key, member in vars(value).items():
                if not key.startswith("_") and inspect.getdoc(member):
                    yield f"{name}.{key}", member


TESTS = [
    test
    for module in MODULES
    for name, value in documented(module)
    if (
        test := doctest.DocTestParser().get_doctest(
            inspect.getdoc(value) or "", dict(vars(module)), f"{module.__name__}.{name}", None, None
        )
    ).examples
]


@pytest.mark.parametrize("test", TESTS, ids=[test.name for test in TESTS])
def test_docstrings_say_what_happens(test: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed = doctest.DocTestRunner(optionflags=options, verbose=False).run(test, out=said.write).failed
    assert not failed, said.getvalue()


@pytest.mark.parametrize("name", sorted(set(softsense.__all__) - WITHOUT_EXAMPLE))
def test_public_names_have_an_example(name: str) -> None:
    value = getattr(softsense, name)
    if not callable(value):
        return
    assert ">>> " in (inspect.getdoc(value) or ""), f"help(softsense.{name}) shows no example"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts_run(script: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) > 3, "nothing worth reading"
    source = script.read_text(encoding="utf-8")
    assert "?" in (inspect.cleandoc(source.split('"""')[1]).splitlines()[0]), "its head asks no question"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.name)
def test_notebooks_run(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = json.loads(notebook.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 2
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for number, cell in enumerate(cells, 1):
            assert not cell["outputs"], f"cell {number}: outputs are not kept: clear them"
            assert cell["execution_count"] is None
            exec(compile("".join(cell["source"]), f"{notebook.name}, cell {number}", "exec"), names)


def test_there_are_examples() -> None:
    assert len(SCRIPTS) >= 5
    assert [script.name[:3] for script in SCRIPTS] == [f"{i:02}_" for i in range(1, len(SCRIPTS) + 1)]
    assert len(NOTEBOOKS) == 2
