"""The parts of the reference that are generated from the code when the site is built."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import click

import softsense
from softsense.cli import cli


def commands() -> str:
    """Every command with its arguments and options, as Markdown."""
    return "\n\n".join(_command(cli, click.Context(cli, info_name="softsense")))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    path = context.command_path
    if context.parent:
        yield f"(cli-{path.replace(' ', '-')})=\n{'##' if context.parent.parent is None else '###'} {path}"
    yield _escaped(inspect.cleandoc(command.help or "").replace("\b", ""))
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{path} {usage}\n```"
    if command.epilog:
        *_, example = command.epilog.splitlines()
        yield f"```sh\n{example.strip()}\n```"
    if isinstance(command, click.Group):
        children = [
            (name, child) for name in command.list_commands(context) if (child := command.get_command(context, name))
        ]
        rows = [
            f"| [`{path} {name}`](#cli-{path.replace(' ', '-')}-{name}) | {_escaped(child.get_short_help_str(200))} |"
            for name, child in children
            if not child.hidden
        ]
        yield "\n".join(["| command | |", "|---|---|", *rows])
        for name, child in children:
            if not child.hidden:
                yield from _command(child, click.Context(child, info_name=name, parent=context))
        return
    options = [
        record
        for option in command.params
        if isinstance(option, click.Option) and (record := option.get_help_record(context))
    ]
    if not options:
        return
    rows = [f"| `{name}` | {_escaped(' '.join(text.split()))} |" for name, text in options]
    yield "\n".join(["| option | |", "|---|---|", *rows])


def _escaped(text: str) -> str:
    """Help text as Markdown: code stays code, and nothing else is markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>|*\[\]_])", r"\\\1", part) for part in parts)


def config() -> str:
    """Every field of a config, from the JSON schema, as Markdown."""
    return "\n\n".join(_Fields(json.loads(softsense.config_schema())).sections())


def _word(choice: dict[str, Any]) -> str:
    """What a config says for a choice without fields; one that has no word of its own is the name of a user's code."""
    return f"`{choice['const']}`" if "const" in choice else "`file.py:name`"


class _Fields:
    """Walks the schema: a section for each table of fields and for each choice that has fields.

    What is used in several places has one section, at the end, to which they link.
    """

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema
        self.definitions = schema["$defs"]
        self.shared = self._shared()

    def _shared(self) -> set[str]:
        used = Counter(re.findall(r"#/\$defs/(\w+)", json.dumps(self.schema)))
        return {name for name, times in used.items() if times > 1 and self._has_section(self.definitions[name])}

    def _has_section(self, schema: dict[str, Any]) -> bool:
        return "properties" in schema or any("properties" in choice for choice in schema.get("oneOf", []))

    def sections(self) -> Iterator[str]:
        rows = (self._field("", name, field) for name, field in self.schema["properties"].items())
        yield "\n".join([*_HEAD, *rows])
        for name, field in self.schema["properties"].items():
            yield from self._sections(name, field, 2)
        yield "## Used in several places"
        for name in sorted(self.shared):
            yield from self._section(name, self.definitions[name], 3)

    def _sections(self, path: str, field: dict[str, Any], depth: int) -> Iterator[str]:
        name, schema = self._resolved(field)
        if name not in self.shared and self._has_section(schema):
            yield from self._section(path, schema, depth)

    def _section(self, path: str, schema: dict[str, Any], depth: int) -> Iterator[str]:
        yield f"(config-{_slug(path)})=\n{'#' * min(depth, 4)} `{path}`"
        yield self._text(schema)
        if "properties" in schema:
            yield from self._table(path, schema, depth)
            return
        yield "One of:"
        inner = []
        lines = ["| choice | |", "|---|---|"]
        for choice in schema["oneOf"]:
            if "properties" not in choice:
                lines.append(f"| {_word(choice)} | {_cell(choice.get('description', ''))} |")
                continue
            (key, field), *_ = choice["properties"].items()
            lines.append(f"| `{key}`: {self._type(f'{path}.{key}', field)} | {_cell(choice.get('description', ''))} |")
            inner.append((key, field))
        yield "\n".join(lines)
        for key, field in inner:
            yield from self._sections(f"{path}.{key}", field, depth + 1)

    def _table(self, path: str, schema: dict[str, Any], depth: int) -> Iterator[str]:
        required = schema.get("required", [])
        fields = schema["properties"].items()
        rows = [self._field(path, name, field, required=name in required) for name, field in fields]
        yield "\n".join([*_HEAD, *rows])
        for name, field in fields:
            inner = field.get("items", field)
            yield from self._sections(f"{path}.{name}" + ("[]" if "items" in field else ""), inner, depth + 1)

    def _field(self, path: str, name: str, field: dict[str, Any], *, required: bool = False) -> str:
        whole = f"{path}.{name}" if path else name
        default = "required" if required else self._default(field)
        return f"| `{name}` | {self._type(whole, field)} | {default} | {_cell(field.get('description', ''))} |"

    def _default(self, field: dict[str, Any]) -> str:
        if "default" not in field:
            return "none"
        value = field["default"]
        if value is None or value == []:
            return "none"
        if "properties" in self._resolved(field.get("items", field))[1]:
            return ""  # Its fields say theirs.
        text = json.dumps(value, ensure_ascii=False)
        return f"`{next(iter(value))}`" if isinstance(value, dict) and len(text) > _LONGEST else f"`{text}`"

    def _type(self, path: str, field: dict[str, Any]) -> str:
        if field.get("type") in ("array", ["array", "null"]):
            return f"list of {self._type(f'{path}[]', field['items'])}"
        name, schema = self._resolved(field)
        if self._has_section(schema):
            kind = "table" if "properties" in schema else "choice"
            return f"[{kind}](#config-{_slug(name if name in self.shared else path)})"
        if "oneOf" in schema:
            return ", ".join(map(_word, schema["oneOf"]))
        if "enum" in schema:
            return ", ".join(f"`{choice}`" for choice in schema["enum"])
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return " or ".join(_KINDS.get(kind, kind) for kind in kinds if kind != "null") + _range(schema)

    def _resolved(self, field: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The name and the schema of what a field holds."""
        if "anyOf" in field:
            choices = [choice for choice in field["anyOf"] if choice.get("type") != "null"]
            # Of a name or fields, the fields.
            field = next((choice for choice in choices if "$ref" in choice), choices[0])
        if "$ref" in field:
            name = field["$ref"].removeprefix("#/$defs/")
            schema = self.definitions[name]
            return self._resolved(schema) if "anyOf" in schema else (name, schema)
        return "", field

    def _text(self, schema: dict[str, Any]) -> str:
        return schema.get("description", "")


_HEAD = ("| field | type | default | |", "|---|---|---|---|")
_LONGEST = 40
_KINDS = {"integer": "whole number", "string": "text", "boolean": "`true`, `false`"}


def _range(schema: dict[str, Any]) -> str:
    """The range of a number, as words that follow its type; nothing where only the type bounds it."""
    whole = "integer" in schema["type"]
    ends = []
    for name, word in [
        ("exclusiveMinimum", "above"),
        ("minimum", "from"),
        ("maximum", "to"),
        ("exclusiveMaximum", "and below"),
    ]:
        end = schema.get(name)
        # Whole numbers begin at 0.
        if end is not None and not (whole and end == 0):
            ends.append(f"{word} {_number(end)}")
    if whole and ends == [f"to {_number(schema.get('maximum', 0))}"]:
        ends = ["from 0", *ends]
    unit = f", a multiple of {schema['multipleOf']}" if "multipleOf" in schema else ""
    return "".join(f" {end}" for end in ends) + unit


def _number(value: float) -> str:
    if abs(value) < _LARGE and value == int(value):
        return f"{value:,.0f}"
    if value == int(value) and (power := int(value).bit_length() - 1) and value == 2**power:
        return f"2^{power}"
    return re.sub(r"e([+-])0*", lambda sign: "e" + sign[1].strip("+"), f"{value:g}")


_LARGE = 1e8


def _slug(path: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-")


def _cell(text: str) -> str:
    return re.sub(r"\n\n", "<br>", text).replace("\n", " ").replace("|", "\\|")


_OBJECTS = {
    "Running": ["run", "compare", "RunResult", "RunTimeline", "Comparison", "Interrupted", "NO_SOFT_SENSING"],
    "Configurations and traces": ["load_config", "Config", "config_schema", "configs", "policies", "Trace"],
    "Codes": ["Code", "Decoder", "DecodeResult", "bench"],
    "Frame error rates and decode tables": [
        *("measure_fer", "FerResult", "Store", "build_table", "BuiltTable", "judge_table", "JudgedTable")
    ],
    "Flash": ["Cells"],
    "Errors and versions": [
        "SoftsenseError",
        "ConfigError",
        "TraceError",
        "TableError",
        "CodeError",
        "FileError",
        "build_info",
    ],
}


def python() -> str:
    """Every public name of the package, from its docstrings."""
    listed = {name for names in _OBJECTS.values() for name in names}
    others = sorted(set(softsense.__all__) - listed - {"__version__"})
    groups = {**_OBJECTS, **({"More": others} if others else {})}
    sections = []
    for title, names in groups.items():
        blocks = "\n\n".join(_directive(name) for name in names if name in softsense.__all__)
        sections.append(f"## {title}\n\n```{{eval-rst}}\n{blocks}\n```")
    return "\n\n".join(sections)


def _directive(name: str) -> str:
    value = getattr(softsense, name)
    if inspect.isclass(value) and issubclass(value, BaseException):
        return f".. autoexception:: softsense.{name}"
    if inspect.isclass(value):
        # What a class has from the native module is part of it.
        inherited = "\n   :inherited-members:" if value.__base__ in vars(softsense._core).values() else ""
        return f".. autoclass:: softsense.{name}\n   :members:{inherited}"
    return f".. {'autofunction' if callable(value) else 'autodata'}:: softsense.{name}"


GENERATED: dict[str, Callable[[], str]] = {
    "reference/cli": commands,
    "reference/config": config,
    "reference/python": python,
}
"""The pages whose text is written by hand at the top and generated below it."""
