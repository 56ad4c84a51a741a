"""The grammar of sweep files as models: all faults of a file are found at once, and reported with their lines.

`schema` turns the models into a JSON schema for editors. Checks that involve several parts of a file (existing columns,
fields that are set twice) are in `softsense.sweep_file`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    WrapValidator,
    field_validator,
)
from pydantic_core import PydanticCustomError

from softsense import _core
from softsense._core import MAX_LEVEL, ConfigError, build_info
from softsense.base import inline
from softsense.latin_hypercube import LatinHypercube, Range
from softsense.read_policies import policy_names
from softsense.search import SAMPLERS, Search
from softsense.traces import OPTIONS

MOST_POINTS = 1_000_000

_FIELD = re.compile(r"\w[\w-]*(\.\w[\w-]*)*")
_A_FIELD = "a field to replace, such as workload.requests=20000"
_A_LIST = "a list of values, such as [0.1, 0.2]"


def _wrong(found: Any, expected: str) -> PydanticCustomError:
    # Braces of the text are no places for values.
    return PydanticCustomError("wrong", "{said}", {"said": f"found {shown(found)}, expected {expected}"})


def _expected(what: str) -> WrapValidator:
    """Replaces all errors within a value by one sentence that says what was expected."""

    def checked(value: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(value)
        except ValidationError:
            raise _wrong(value, what) from None

    return WrapValidator(checked)


def _one_of(*names: str) -> BeforeValidator:
    """Takes another spelling of a name for the name."""
    return BeforeValidator(lambda value: _core.spelled_like(value, list(names)) or value if _is_text(value) else value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _each_once(values: list[int]) -> list[int]:
    if len(set(values)) < len(values):
        raise ValueError("twice")
    return values


def _policies(value: Any) -> Any:
    if value != "all" and not (isinstance(value, list) and all(map(_is_text, value))):
        raise _wrong(value, '"all", or a list of read policies, such as two_step or two_step:restart')
    try:
        return policy_names(value)
    except ConfigError as error:
        raise PydanticCustomError("wrong", "{said}", {"said": str(error).removeprefix("policies: ")}) from None


def _flattened_fields(is_leaf: Callable[[Any], bool]) -> BeforeValidator:
    """The fields of a table: with quotes around them or without, when TOML takes their dots for tables."""

    def walk(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for key, value in table.items():
            if is_leaf(value):
                yield prefix + key, value
            else:
                yield from walk(f"{prefix}{key}.", value)

    def flat(table: Any) -> Any:
        if not isinstance(table, dict):
            return table
        found: dict[str, Any] = {}
        for written, value in walk("", table):
            if not _FIELD.fullmatch(written):
                raise _wrong(written, 'a config field, such as "ftl.over_provisioning"')
            if (name := _core.own_path(written)) in found:
                raise _wrong(name, "every field once")
            found[name] = value
        return found

    return BeforeValidator(flat)


def _plain(value: Any) -> Any:
    """A value that may stand in a config."""
    fine = isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    if isinstance(value, dict):
        for each in value.values():
            _plain(each)
    elif isinstance(value, list):
        for each in value:
            _plain(each)
    elif not fine:
        raise _wrong(value, "a number, text, true or false, or a list or table of these")
    return value


def _nonempty_list(values: Any) -> Any:
    if not isinstance(values, list) or not values:
        raise _wrong(values, _A_LIST)
    return values


Value = Annotated[
    Any, AfterValidator(_plain), WithJsonSchema({"type": ["number", "string", "boolean", "array", "object"]})
]
Values = Annotated[list[Value], Field(min_length=1), BeforeValidator(_nonempty_list)]
Truth = Annotated[bool, _expected("true or false")]
Text = Annotated[str, Field(min_length=1), _expected("text")]
Count = Annotated[int, Field(ge=0, lt=2**32), _expected("a whole number from 0")]
Number = Annotated[int | FiniteFloat, _expected("a number")]
Positive = Annotated[int | FiniteFloat, Field(gt=0), _expected("a number above 0")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class TraceModel(_Model):
    """A trace to replay."""

    file: Annotated[str, Field(min_length=1), _expected("a file")]
    """Beside the sweep file."""
    name: Text | None = None
    """What results call it; default: the file."""
    format: Text | None = None
    """As `--format`."""
    columns: Text | None = None
    """As `--columns`."""
    delimiter: Text | None = None
    """As `--delimiter`."""
    skip_header: Count | None = None
    """First lines to skip."""
    op: Text | None = None
    """As `--op`."""
    time_unit: Text | None = None
    """As `--time-unit`."""
    size_unit: Text | None = None
    """As `--size-unit`."""
    event: Text | None = None
    """As `--event`."""
    devices: Text | None = None
    """As `--devices`."""
    skip_outliers: Truth | None = None
    """Whether to leave out a few requests that are far from all others in time."""
    skip_flushes: Truth | None = None
    """Whether to leave out flushes, and to take writes with FUA for plain writes."""

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        """The options that say how the trace is read, if they are given."""
        said = self.model_fields_set
        return tuple((key, getattr(self, key)) for key in OPTIONS if key in said)


def _trace(value: Any) -> Any:
    if isinstance(value, str):
        return {"file": value}
    if not isinstance(value, dict) or "file" not in value:
        raise _wrong(value, "a file, or a table with file")
    return value


class RangeModel(_Model):
    """Values between two ends."""

    log: Truth = False
    """Whether values are evenly spread in their logarithm."""
    whole: Truth = False
    """Whether they are whole numbers."""
    low: Annotated[int | FiniteFloat, Field(alias="from"), _expected("a number")]
    """The lower end."""
    high: Annotated[int | FiniteFloat, Field(alias="to"), _expected("a number")]
    """The upper end; with `whole` itself among the values."""

    @field_validator("low", "high")
    @classmethod
    def _fits(cls, end: float, info: ValidationInfo) -> float:
        """The end of a range, after a check that it fits the other end."""
        if info.data.get("whole") and not isinstance(end, int):
            raise _wrong(end, "whole numbers for `from` and `to`, as values are to be whole")
        if info.field_name == "low" and info.data.get("log") and end <= 0:
            raise _wrong(end, "more than 0, as it is logarithmic")
        if info.field_name == "high" and "low" in info.data and not info.data["low"] < end:
            raise _wrong(end, f"more than {info.data['low']}, which `from` is")
        return end


def _range(value: Any) -> Range:
    if not isinstance(value, dict):
        raise _wrong(value, "{ from = ..., to = ... }, or a list of values")
    found = RangeModel.model_validate(value)
    return Range(found.low, found.high, found.log, found.whole)


def _swept(value: Any) -> Any:
    """A range, or a list of values."""
    return _nonempty_list(value) and [_plain(each) for each in value] if isinstance(value, list) else _range(value)


_SWEPT_SCHEMA = {
    "anyOf": [{"type": "array", "minItems": 1}, RangeModel.model_json_schema()],
    "description": "Values between two ends, or a list of values.",
}
Swept = Annotated[Any, BeforeValidator(_swept), WithJsonSchema(_SWEPT_SCHEMA)]


class _FieldSpace(_Model):
    """Config fields with ranges or lists of values, beside keys of its own."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, use_attribute_docstrings=True)
    __pydantic_extra__: dict[str, Swept] = Field(init=False)

    @property
    def fields(self) -> dict[str, Range | Sequence[Any]]:
        """The config fields."""
        return dict(self.__pydantic_extra__)


def _up_to(most: int) -> str:
    return f"a whole number from 1 to {most:,}"


class LatinHypercubeModel(_FieldSpace):
    """Samples of several fields at once, such that each field meets each part of its range."""

    samples: Annotated[int, Field(ge=1, le=MOST_POINTS), _expected(_up_to(MOST_POINTS))]
    """How many."""
    seed: Annotated[int, _expected("a whole number")] = 1
    """Of the samples."""


class SearchModel(_FieldSpace):
    """Designs that an optimiser proposes, near the frontier of the designs simulated so far."""

    designs: Annotated[int, Field(ge=1, le=10_000), _expected(_up_to(10_000))]
    """How many are tried, each with all traces and seeds."""
    batch: Annotated[int, Field(ge=1, le=1000), _expected(_up_to(1000))] = 4
    """Designs that are asked for at once, and may be simulated at a time."""
    seed: Annotated[int, Field(ge=0, lt=2**64), _expected("a whole number from 0")] = 1
    """Of the optimiser."""
    sampler: Annotated[Literal["tpe", "nsga2"], _expected(f"one of {', '.join(SAMPLERS)}"), _one_of(*SAMPLERS)] = "tpe"
    """The optimiser: tree-structured Parzen estimators, or a genetic algorithm."""


_of_space = _flattened_fields(lambda value: not isinstance(value, dict) or bool(value.keys() & {"from", "to"}))


class PairModel(_Model):
    """Two columns of the result against each other."""

    x: Annotated[str, _expected("a column")]
    """A column, or short for one."""
    y: Annotated[str, _expected("a column")]
    """Another."""
    better: Annotated[
        list[Literal["lower", "higher"]],
        Field(min_length=2, max_length=2),
        _expected("two of lower and higher, for x and y"),
    ] = ["lower", "lower"]
    """Which values are better, of `x` and of `y`."""


def _pair(value: Any) -> Any:
    if not isinstance(value, dict) or not {"x", "y"} <= value.keys():
        raise _wrong(value, "{ x = ..., y = ..., better = [...] }")
    return value


class DemandModel(_Model):
    """What is asked of reads until the end of a lifetime."""

    uber: Positive | None = None
    """Uncorrectable bit error rate, at most."""
    mean_iterations: Positive | None = None
    """Mean iterations of a decode, at most."""
    level: Annotated[int, Field(ge=1, le=MAX_LEVEL), _expected(f"a level from 1 to {MAX_LEVEL}")] | None = None
    """The deepest read level; default: `read.max_level`."""


def _demand(value: Any) -> Any:
    if not isinstance(value, bool | dict):
        raise _wrong(value, "true, false, or a table of uber, mean_iterations and level")
    return {} if value is True else None if value is False else value


class FrontierModel(_Model):
    """What frontiers are of."""

    pairs: (
        Annotated[
            list[Annotated[PairModel, BeforeValidator(_pair)]],
            BeforeValidator(lambda value: _listed(value, "{ x = ..., y = ..., better = [...] }")),
        ]
        | None
    ) = None
    """Pairs of columns; default: read latency and energy of a request."""
    lifetime: Annotated[DemandModel | None, BeforeValidator(_demand, json_schema_input_type=bool | DemandModel)] = None
    """`true`, or what is asked of reads: adds the columns of lifetimes."""
    all: Truth = False
    """Whether designs that are no contenders are ranked, too."""


def _listed(value: Any, what: str) -> Any:
    if not isinstance(value, list):
        raise _wrong(value, f"a list of {what}")
    return value


def _traces(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        raise _wrong(value, "a list of files, or [[traces]] tables with file")
    return value


def _table(section: str, what: str = " of config fields") -> BeforeValidator:
    def checked(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong(value, f"a table [{section}]{what}")
        return value

    return BeforeValidator(checked)


class SweepModel(_Model):
    """A sweep: a simulation for each combination of config fields, read policies, traces and seeds."""

    model_config = ConfigDict(title="softsense sweep")

    config: Annotated[
        str, Field(min_length=1), _expected("the name of a shipped configuration, or a file beside this one")
    ]
    """A shipped configuration, or a file beside the sweep file."""
    policies: Annotated[list[str], BeforeValidator(_policies, json_schema_input_type=Literal["all"] | list[str])] = []
    """Read policies, such as `two_step` or `two_step:restart`, or `all`; default: that of the config."""
    seeds: Annotated[
        list[Annotated[int, Field(ge=0, lt=2**64)]],
        Field(min_length=1),
        AfterValidator(_each_once),
        _expected("a list of whole numbers from 0, each once"),
    ] = []
    """Whole numbers; default: that of the config."""
    traces: Annotated[
        list[Annotated[TraceModel, BeforeValidator(_trace, json_schema_input_type=str | TraceModel)]],
        Field(min_length=1),
        BeforeValidator(_traces),
    ] = []
    """Files beside the sweep file; default: the workload of the config."""
    beyond: Annotated[
        Literal["reject", "wrap", "scale"], _expected("one of reject, wrap, scale"), _one_of("reject", "wrap", "scale")
    ] = "reject"
    """What becomes of addresses beyond the device."""
    equal_area: Truth = False
    """Whether decoders of every point have the parallelism that the decoder area of the config buys."""
    set: Annotated[
        list[Annotated[str, Field(pattern=r"(?s)^\s*[\w.\[\]-]+\s*=.*"), _expected(_A_FIELD)]],
        BeforeValidator(lambda value: _listed(value, "fields to replace, such as workload.requests=20000")),
    ] = []
    """Fields for all points, written as for `--set`."""
    constraints: Annotated[
        list[Annotated[str, _expected("a condition, such as `p99.9 < 2 ms`")]],
        BeforeValidator(lambda value: _listed(value, "conditions, such as `p99.9 < 2 ms`")),
    ] = []
    """What a design has to meet, such as `p99.9 < 2 ms`."""
    grid: Annotated[
        dict[str, Values], _flattened_fields(lambda value: not isinstance(value, dict)), _table("grid")
    ] = {}
    """For each config field a list of values; all combinations are simulated."""
    conditions: Annotated[
        dict[str, Values], _flattened_fields(lambda value: not isinstance(value, dict)), _table("conditions")
    ] = {}
    """For each config field, such as an age, a list of values: designs are tried under all of them, and each has a
    frontier.
    """
    latin_hypercube: Annotated[LatinHypercubeModel, _of_space, _table("latin_hypercube")] | None = None
    """Samples instead of a grid."""
    search: Annotated[SearchModel, _of_space, _table("search")] | None = None
    """Designs that an optimiser asks for, instead of a grid."""
    frontier: Annotated[FrontierModel, _table("frontier", "")] = FrontierModel()
    """What frontiers are of."""

    def hypercube(self) -> LatinHypercube | None:
        """The samples."""
        asked = self.latin_hypercube
        return LatinHypercube(asked.samples, asked.fields, asked.seed) if asked else None

    def searched(self) -> Search | None:
        """The search."""
        asked = self.search
        return Search(asked.designs, asked.fields, asked.batch, asked.seed, asked.sampler) if asked else None


def read(table: Mapping[str, Any]) -> tuple[SweepModel | None, list[tuple[tuple[str, ...], str]]]:
    """The content of a file; or all of its faults, each with the place in the file and the message."""
    try:
        return SweepModel.model_validate(table, by_alias=True), []
    except ValidationError as error:
        found = error.errors(include_url=False)
        # Messages of faults beyond those that are listed are not needed.
        faults = [_fault(each) for each in found[: _core.MOST_TOLD]]
        return None, faults + [(_place(each), "is wrong, too") for each in found[_core.MOST_TOLD :]]


def _place(error: Any) -> tuple[str, ...]:
    return tuple(map(str, error["loc"]))


def _fault(error: Any) -> tuple[tuple[str, ...], str]:
    place, kind = _place(error), error["type"]
    if kind == "extra_forbidden":
        known = _known(place[:-1])
        near = _core.nearest(place[-1], known)
        hint = f"; did you mean `{near}`?" if near else ""
        return place, f"found unknown field `{place[-1]}`, expected one of {', '.join(sorted(known))}{hint}"
    if kind == "missing":
        return place, f"found nothing, expected {_MISSING.get(place[-1], 'something')}"
    if kind == "wrong":
        return place, error["msg"]
    return place, f"found {shown(error['input'])}: {error['msg'][0].lower()}{error['msg'][1:]}"


_MISSING = {
    "config": "the name of a shipped configuration, or a file beside this one",
    "samples": _up_to(MOST_POINTS),
    "designs": _up_to(10_000),
    "from": "a number",
    "to": "a number",
    "file": "a file",
}


def _known(place: Sequence[str]) -> list[str]:
    """The fields of the model at a place."""
    models: dict[str, type[BaseModel]] = {"traces": TraceModel, "frontier": FrontierModel}
    if not place:
        model: type[BaseModel] = SweepModel
    elif place[:2] == ("frontier", "pairs"):
        model = PairModel
    elif place[:2] == ("frontier", "lifetime"):
        model = DemandModel
    else:
        model = models.get(place[0], RangeModel)
    return [field.alias or name for name, field in model.model_fields.items()]


def shown(value: Any) -> str:
    """A value of a sweep file, in the notation of TOML."""
    with contextlib.suppress(TypeError):
        text = inline(value) if not isinstance(value, str) else f"`{value}`"
        return text if len(text) <= 200 else f"{text[:200]}..."
    return str(value)


@functools.cache
def schema() -> str:
    """The JSON schema of sweep files. Its `$id` has the version: a field may be added with each."""
    found: dict[str, JsonValue] = SweepModel.model_json_schema(by_alias=True)
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    head["$id"] = f"urn:softsense:sweep:{build_info()['version']}"
    return json.dumps(head | found, indent=2) + "\n"
