"""Writes the types of configurations and of results for type checkers and editors: `python/softsense/records.pyi`.

`python schema/records.py > python/softsense/records.pyi`; `make schema` does so, and `make lint` compares.
"""

from __future__ import annotations

import textwrap
from typing import Any

from softsense import records

HEAD = '''"""Types of the fields of configurations and of results, written by `make schema` from what the core says."""

from typing import Any, Literal, overload

class Record(dict[str, Any]): ...

@overload
def read(name: Literal["Config"], text: str) -> Config: ...
@overload
def read(name: Literal["Summary"], text: str) -> Summary: ...
@overload
def of(name: Literal["Config"], values: dict[str, Any]) -> Config: ...
@overload
def of(name: Literal["Summary"], values: dict[str, Any]) -> Summary: ...
'''
PLAIN = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}


def type_of(node: Any, owner: str, field: str) -> str:
    """The type of a value, as Python writes it."""
    if not isinstance(node, dict) or not node.keys() - {"description", "default", "title"}:
        return "Any"
    if (name := records.name_of(node)) is not None:
        return name if records.parts(records.nodes()[name], name)[1] else type_of(records.nodes()[name], owner, field)
    ways = records.alternatives(node)
    if len(ways) > 1 or ways[0] is not node:
        return union(way_of(way, owner, field) for way in ways)
    return way_of(node, owner, field)


def way_of(node: dict[str, Any], owner: str, field: str) -> str:
    """The type of a value that is written in this one way."""
    if "$ref" in node:
        return type_of(node, owner, field)
    if "const" in node:
        return f"Literal[{quoted(node['const'])}]" if node["const"] is not None else "None"
    if "enum" in node:
        values = ", ".join(quoted(value) for value in node["enum"] if value is not None)
        return union([f"Literal[{values}]", *(["None"] if None in node["enum"] else [])])
    if "properties" in node:
        return records.name_within(owner, field)
    kinds = node.get("type", [])
    return union(kind_of(kind, node, owner, field) for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "Any"


def kind_of(kind: str, node: dict[str, Any], owner: str, field: str) -> str:
    """The type of a value of this kind of JSON."""
    if kind == "array":
        items = node.get("prefixItems") or [node.get("items", {})]
        return f"list[{union(type_of(item, owner, field) for item in items)}]"
    if kind == "object":
        values = node.get("additionalProperties")
        return f"dict[str, {type_of(values, owner, field)}]" if values else "dict[str, Any]"
    return PLAIN[kind]


def union(types: Any) -> str:
    """Several types as one, each once, with None at the end."""
    found = list(dict.fromkeys(part for one in types for part in one.split(" | ") if one))
    return " | ".join([*(one for one in found if one != "None"), *(["None"] if "None" in found else [])])


def quoted(value: Any) -> str:
    """A constant in double quotes."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def documented(text: str, indent: str) -> str:
    """A text as a docstring."""
    wrapped = textwrap.fill(" ".join(text.split()), 116 - len(indent)).splitlines()
    lines = wrapped if len(wrapped) == 1 and len(wrapped[0]) < 112 else [*wrapped, ""]
    return f'{indent}"""' + f"\n{indent}".join(lines) + '"""\n'


def class_text(name: str) -> str:
    """A class with its documented fields."""
    described, properties, required = records.parts(records.nodes()[name], name)
    found = f"\nclass {name}(Record):\n{documented(described, '    ')}"
    for field, node in properties.items():
        kind = type_of(node, name, field)
        found += f"    {field}: {kind if field in required else union([kind, 'None'])}\n"
        if isinstance(node, dict) and node.get("description"):
            found += documented(node["description"], "    ")
    return found


if __name__ == "__main__":
    classes = [name for name, node in records.nodes().items() if records.parts(node, name)[1]]
    print(HEAD + "".join(class_text(name) for name in sorted(classes)), end="")
