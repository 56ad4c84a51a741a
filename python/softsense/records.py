"""Results and configurations as nested dicts whose keys are attributes, too: `summary.response.read.p99_us`.

The core says which fields there are, what each counts, and which may be left out. A type of the core that has fields is
a class here of the same name: `softsense.records.Summary`, `Config`, `Responses` and so on. Their fields are typed in
`records.pyi`, which `make schema` writes, so that an editor completes them and a type checker refuses misspelt ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from softsense import _core

Node = dict[str, Any]
"""A JSON schema."""


class Record(dict[str, Any]):
    """A dict of fields that are known by name.

    An attribute is the value of the key of this name, and None where the field was left out. All that a dict can do, a
    record can. A record is equal to the dict of the same items, and `json.dumps` writes it.

    >>> from softsense import load_config
    >>> fields = load_config("mlc-25nm").fields
    >>> fields.geometry.channels, fields["geometry"]["channels"], fields.ftl.parity
    (8, 8, None)
    >>> fields.geometry.chanels
    Traceback (most recent call last):
    ...
    AttributeError: GeometrySpec: found `chanels`, expected one of its fields; did you mean `channels`?
    """

    __slots__ = ()
    _fields: dict[str, Callable[[Any], Any]] = {}  # noqa: RUF012 - of each class its own

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name in self._fields:
            return None
        kind = type(self).__name__
        if name.startswith("__"):
            raise AttributeError(f"{kind} has no {name}")
        near = _core.nearest(name, [*self._fields])
        meant = f"; did you mean `{near}`?" if near else ""
        raise AttributeError(f"{kind}: found `{name}`, expected one of its fields{meant}")

    def __dir__(self) -> Iterator[str]:
        return iter({*super().__dir__(), *self._fields})

    def __reduce__(self) -> tuple[Any, ...]:
        return of, (type(self).__name__, dict(self))


def read(name: str, text: str) -> Record:
    """A record out of JSON.

    Args:
        name: the name of the record's class, such as `Summary`.
        text: an object in JSON, as the core writes it.
    """
    return of(name, json.loads(text))


def of(name: str, values: dict[str, Any]) -> Record:
    """A record of the class `name` out of a dict, whose own dicts become records as well."""
    kind = class_of(name)
    fields = kind._fields
    return kind({key: fields[key](value) if key in fields else value for key, value in values.items()})


@cache
def class_of(name: str) -> type[Record]:
    """The class of this name. Raises `KeyError` where the core has no such type."""
    described, properties, _ = parts(nodes()[name], name)
    fields = {field: _reader(node, name, field) for field, node in properties.items()}
    return type(name, (Record,), {"__slots__": (), "__doc__": described, "__module__": __name__, "_fields": fields})


@cache
def nodes() -> dict[str, Node]:
    """The schema of each type of the core, and of each nameless one under the name of its owner and of its field."""
    found: dict[str, Node] = json.loads(_core.written_schemas())

    def walk(node: Any, name: str) -> None:
        _, properties, _ = parts(node, name)
        for field, inner in properties.items():
            for nameless in _nameless(inner):
                within = name_within(name, field)
                assert found.setdefault(within, nameless) == nameless, f"two types are called {within}"
                walk(nameless, within)

    for name, node in list(found.items()):
        walk(node, name)
    return found


def parts(node: Node, name: str) -> tuple[str, dict[str, Node], set[str]]:
    """The description, the fields and the required fields of a type.

    One that is written in several ways has the fields of all of them, and requires those that each has.
    """
    ways = [way for way in alternatives(node) if "properties" in way]
    # The description of a way is that of its only field.
    properties = {
        field: {"description": way["description"], **inner} if way is not node and "description" in way else inner
        for way in ways
        for field, inner in way["properties"].items()
    }
    required = set.intersection(*(set(way.get("required", ())) for way in ways)) if ways else set()
    return node.get("description", f"Fields of a {name}."), properties, required


def alternatives(node: Node) -> list[Node]:
    """The ways in which a value may be written."""
    ways = node.get("oneOf") or node.get("anyOf")
    return [inner for way in ways for inner in alternatives(way)] if ways else [node]


def name_within(owner: str, field: str) -> str:
    """The name of the class of a field whose type has no name in the core."""
    return owner + "".join(word.capitalize() for word in field.split("_"))


def name_of(node: Node) -> str | None:
    """The name of the type that a schema refers to."""
    return node["$ref"].rpartition("/")[2] if "$ref" in node else None


def _nameless(node: Node) -> list[Node]:
    """The schema itself, or that of its items, where it has fields and no name."""
    if "items" in node:
        return _nameless(node["items"])
    return [node] if any("properties" in way for way in alternatives(node)) else []


def _classes(node: Node, owner: str, field: str) -> set[str]:
    """The names of the classes that a value may have."""
    if (name := name_of(node)) is not None:
        found = nodes()[name]
        return {name} if parts(found, name)[1] else _classes(found, owner, field)
    ways = alternatives(node)
    named = set().union(*(_classes(way, owner, field) for way in ways if way is not node))
    return named | ({name_within(owner, field)} if any("properties" in way for way in ways) else set())


def _reader(node: Node, owner: str, field: str) -> Callable[[Any], Any]:
    """The function that makes records of the dicts in a value."""
    if "items" in node:
        each = _reader(node["items"], owner, field)
        return lambda value: [each(item) for item in value] if isinstance(value, list) else value
    names = _classes(node, owner, field)
    if not names:
        values = node.get("additionalProperties")
        if isinstance(values, dict):
            each = _reader(values, owner, field)
            return lambda value: {key: each(item) for key, item in value.items()} if isinstance(value, dict) else value
        return lambda value: value
    (name,) = names
    return lambda value: of(name, value) if isinstance(value, dict) else value


def __getattr__(name: str) -> type[Record]:
    try:
        return class_of(name)
    except KeyError:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`") from None
