"""Does `_core.pyi` say what the native module has: every name, parameter, order and default, and a sentence on each?

mypy's stubtest would need mypy, and asks less: it takes no notice of docstrings. Types are not compared, as the module
knows none; what the stub says of them is what the doctests and the other tests use.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import softsense
from softsense import _core

STUB = ast.parse((Path(softsense.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
CONSTRUCTORS = {"__init__", "__new__"}
"""What the stub calls one; a class that others derive from has the second, which they call."""
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}
METHODS = [
    (name, member) for name, node in CLASSES.items() for member in node.body if isinstance(member, ast.FunctionDef)
]
# PyO3 shows what is not a literal as an ellipsis.
UNKNOWN = "..."

Parameter = tuple[str, str, str | None]
"""Name, kind and default as Python would write it."""


def stub_parameters(node: ast.FunctionDef) -> list[Parameter]:
    """What the stub says, without `self`."""
    arguments = node.args
    assert not arguments.vararg
    assert not arguments.kwarg
    ordered = arguments.posonlyargs + arguments.args
    defaults: list[ast.expr | None] = [None] * (len(ordered) - len(arguments.defaults)) + list(arguments.defaults)
    found = [
        (argument.arg, "positional", None if default is None else ast.unparse(default))
        for argument, default in zip(ordered, defaults, strict=True)
    ]
    found += [
        (argument.arg, "keyword", None if default is None else ast.unparse(default))
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    return [each for each in found if each[0] not in ("self", "cls")]


def core_parameters(function: Any) -> list[Parameter]:
    """What the module says, without `self`."""
    empty = inspect.Parameter.empty
    return [
        (
            parameter.name,
            "keyword" if parameter.kind is inspect.Parameter.KEYWORD_ONLY else "positional",
            None if parameter.default is empty else UNKNOWN if parameter.default is ... else repr(parameter.default),
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]


def assert_equal(stub: list[Parameter], core: list[Parameter]) -> None:
    """Equal, but for defaults that the module does not tell."""
    told = [
        (name, kind, UNKNOWN if default is not None and theirs == UNKNOWN else default)
        for (name, kind, default), (_, _, theirs) in zip(stub, core, strict=True)
    ]
    assert told == core


def public(of: Any) -> set[str]:
    """Names that do not begin with an underscore."""
    return {name for name in vars(of) if not name.startswith("_")}


def test_the_stub_and_the_module_have_the_same_names() -> None:
    constants = [ast.unparse(node) for node in STUB.body if isinstance(node, ast.AnnAssign)]
    assert constants == ["__version__: str", "MAX_LEVEL: int", "MAX_STEPS: int", "MOST_DEPTH: int", "MOST_TOLD: int"]
    assert set(FUNCTIONS) | set(CLASSES) | {"MAX_LEVEL", "MAX_STEPS", "MOST_DEPTH", "MOST_TOLD"} == public(_core)
    assert not set(FUNCTIONS) & set(CLASSES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_the_same_parameters(name: str) -> None:
    assert_equal(stub_parameters(FUNCTIONS[name]), core_parameters(getattr(_core, name)))


@pytest.mark.parametrize("name", CLASSES)
def test_classes_have_the_same_members(name: str) -> None:
    node, of = CLASSES[name], getattr(_core, name)
    named = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
    methods = {name for name in named if not name.startswith("__")}
    attributes = {member.target.id for member in node.body if isinstance(member, ast.AnnAssign)}
    assert methods | attributes == public(of)
    assert not methods & attributes
    for attribute in attributes:
        assert inspect.isdatadescriptor(vars(of)[attribute]), f"{attribute} is no attribute"
    bases = [base.__name__ for base in of.__bases__ if base is not object]
    assert [ast.unparse(base) for base in node.bases] == bases


@pytest.mark.parametrize(("name", "node"), METHODS, ids=[f"{name}.{node.name}" for name, node in METHODS])
def test_methods_take_the_same_parameters(name: str, node: ast.FunctionDef) -> None:
    of = getattr(_core, name)
    if node.name in CONSTRUCTORS:
        assert_equal(stub_parameters(node), core_parameters(of))
        return
    static = any(ast.unparse(decorator) == "staticmethod" for decorator in node.decorator_list)
    assert static == isinstance(vars(of)[node.name], staticmethod)
    assert_equal(stub_parameters(node), core_parameters(getattr(of, node.name)))


@pytest.mark.parametrize("name", CLASSES)
def test_only_what_the_stub_lets_construct_can_be(name: str) -> None:
    has = any(isinstance(member, ast.FunctionDef) and member.name in CONSTRUCTORS for member in CLASSES[name].body)
    of = getattr(_core, name)
    if issubclass(of, Exception):
        assert not has
    elif not has:
        with pytest.raises(TypeError, match=name):
            of()


def test_everything_has_a_sentence_in_both() -> None:
    """`help()` shows the module's, editors the stub's; attributes may be told by the class."""
    missing = []
    for name, node in {**FUNCTIONS, **CLASSES}.items():
        missing += [name] * (not ast.get_docstring(node)) + [f"{name} in the module"] * (
            not getattr(_core, name).__doc__
        )
    for name, member in METHODS:
        if member.name in CONSTRUCTORS:
            continue
        of = getattr(getattr(_core, name), member.name)
        missing += [f"{name}.{member.name}"] * (not ast.get_docstring(member))
        missing += [f"{name}.{member.name} in the module"] * (not of.__doc__)
    for name in CLASSES:
        of = getattr(_core, name)
        attributes = [key for key, value in vars(of).items() if key in public(of) and inspect.isdatadescriptor(value)]
        missing += [f"{name}.{key} in the module" for key in attributes if not getattr(of, key).__doc__]
    assert not missing


@pytest.mark.parametrize("name", sorted(softsense.__all__))
def test_help_tells_of_every_public_name(name: str) -> None:
    found = getattr(softsense, name)
    if isinstance(found, str):
        return
    told = inspect.getdoc(found)
    assert told
    assert re.match(r"[A-Z`]", told)
    for member in [key for key in public(found) if callable(getattr(found, key))] if inspect.isclass(found) else []:
        assert inspect.getdoc(getattr(found, member)), f"{name}.{member}"
    # Where it says that it is from, it is.
    module = importlib.import_module(found.__module__)
    assert getattr(module, name) is found


def test_errors_cross_processes() -> None:
    """As workers of a pool or a cluster send them."""
    with pytest.raises(softsense.ConfigError) as caught:
        softsense.Config.open("mlc-25nm", ["geometry.wings=2"])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert type(copy) is type(caught.value)
    assert str(copy) == str(caught.value)
