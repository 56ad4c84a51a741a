"""Does the package have an order? Of any two modules one may need the other, and never each the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from conftest import ROOT

PYTHON = ROOT / "python"
MOST_LINES = 500
"""Of a module that is read in one sitting."""

MODULES = {
    ".".join(path.relative_to(PYTHON).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((PYTHON / "softsense").rglob("*.py"))
}


def imported(node: ast.AST, *, functions: bool) -> Iterator[str]:
    """Names of what a module imports when it is loaded, and with `functions` also when they run.

    What only type checkers import is never executed. That of the package itself counts: its names wait until they are
    asked for, and are asked for by whoever imports them from it.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports name the whole path"
            yield from (f"{child.module}.{name.name}" for name in child.names)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            yield from (name for other in child.orelse for name in imported(other, functions=functions))
        elif functions or not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from imported(child, functions=functions)


def needs(name: str, *, functions: bool) -> set[str]:
    """The modules of the package that one of them needs."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    if name == "softsense":
        tree = ast.parse(ast.unparse(tree).replace("if TYPE_CHECKING:", "if True:"))
    found = set()
    for each in imported(tree, functions=functions):
        if each == "softsense._core" or each.startswith("softsense._core."):
            continue
        module = each if each in MODULES else each.rpartition(".")[0]
        if module in MODULES:
            found.add(module)
            # Packages above a module are loaded before it, but those in which one is already.
            above = module.split(".")[:-1]
            found |= {
                package
                for i in range(2, len(above) + 1)
                if not f"{name}.".startswith(f"{(package := '.'.join(above[:i]))}.")
            }
    return found


@pytest.mark.parametrize("functions", [False, True], ids=["when loaded", "ever"])
def test_no_modules_need_one_another(functions: bool) -> None:
    needed = {name: needs(name, functions=functions) for name in MODULES}
    assert needed["softsense.api"] >= {"softsense.base", "softsense.results"}
    try:
        TopologicalSorter(needed).prepare()
    except CycleError as error:
        pytest.fail(f"modules need one another: {' <- '.join(error.args[1])}")


def test_the_base_needs_no_other_module() -> None:
    assert needs("softsense.base", functions=True) == set()


@pytest.mark.parametrize("path", [pytest.param(path, id=name) for name, path in MODULES.items()])
def test_modules_are_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
