"""Constraints on results, such as `p99.9 < 2 ms` or `uncorrectable = 0`: read, checked against columns, and judged.

A constraint is a column's name, an operator and a number, with a unit or without. Names are those of the results
(`response.read.p999_us`), or short for them: `p99.9`, `mean` and `max` are response times of reads, `write.p99` is one
of writes. For all other columns the last part of the name suffices where it is unique, such as `uncorrectable` or
`total_uj`.
"""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from softsense import _core
from softsense._core import ConfigError

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_GRAMMAR = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(<=|>=|==|=|<|>)\s*([+-]?[\d_.]+(?:[eE][+-]?\d+)?)\s*([^\s\d]+)?\s*")
_BYTES = {"B": 1.0} | {f"{p}iB": 1024.0**i for i, p in enumerate("KMGT", 1)} | {"kB": 1e3, "MB": 1e6, "GB": 1e9}
_UNITS: dict[str, dict[str, float]] = {
    "_us": {"ns": 1e-3, "us": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6},
    "_s": {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "_uj": {"nJ": 1e-3, "uJ": 1.0, "µJ": 1.0, "mJ": 1e3, "J": 1e6},
    "_bytes": _BYTES | {"TB": 1e12},
}
# The total of which a count is a share, for constraints in per cent.
_AMONG = {
    "codeword_reads": "codeword_reads.count",
    "writes_detail": "writes_detail.host_codewords",
    "operations": "codeword_reads.count",
}
_KINDS = ("read", "write", "all")


@dataclass(frozen=True)
class Constraint:
    """A condition that a column has to meet.

    Attributes:
        text: the constraint as it was written.
        column: the full name of its column.
        comparison: one of `<`, `<=`, `=`, `>=` and `>`.
        bound: the number in the unit of the column, or a share of `among` if that is given.
        among: for a count in per cent, the column of the total; None otherwise.
    """

    text: str
    column: str
    comparison: str
    bound: float
    among: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the constraint needs."""
        return (self.column, self.among) if self.among else (self.column,)

    def value(self, row: Mapping[str, Any]) -> float | None:
        """The value of a row, as the bound measures it; None if it was not measured."""
        found = row[self.column]
        if found is None or not self.among:
            return None if found is None else float(found)
        count = row[self.among]
        return found / count if count else 0.0

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a row meets the constraint; a row without the value does not."""
        value = self.value(row)
        return value is not None and _OPERATORS[self.comparison](value, self.bound)

    def excess(self, row: Mapping[str, Any]) -> float:
        """The amount by which a row misses the bound, as a share of the bound where that is not 0; infinite if not
        measured.
        """
        value = self.value(row)
        if value is None:
            return math.inf
        return abs(value - self.bound) / (abs(self.bound) or 1.0)


def parse(text: str, columns: Mapping[str, type] | Iterable[str]) -> Constraint:
    """Read a constraint.

    Args:
        text: a constraint such as `p99.9 < 2 ms`, `uncorrectable = 0`, `write.p99 <= 5000` or `uncorrectable < 0.1 %`.
        columns: the known names; in a mapping the type of counts is `int`.

    Raises:
        ConfigError: the text is no constraint, or its name or unit is unknown; the message lists the known ones.

    >>> parse("p99.9 < 2 ms", ["response.read.p999_us"])
    Constraint(text='p99.9 < 2 ms', column='response.read.p999_us', comparison='<', bound=2000.0, among=None)
    """
    found = _GRAMMAR.fullmatch(text)
    if not found:
        raise ConfigError(f"found `{text}`, expected a name, one of < <= = >= > and a number, such as `p99.9 < 2 ms`")
    name, comparison, number, unit = found.groups()
    try:
        bound = float(number)
    except ValueError:
        raise ConfigError(f"found `{number}` in `{text}`, expected a number") from None
    if not math.isfinite(bound):
        raise ConfigError(f"found `{number}` in `{text}`, expected a number that is finite")
    kinds = columns if isinstance(columns, Mapping) else dict.fromkeys(columns, float)
    column = resolve(name, kinds)
    among = None
    if unit == "%":
        bound /= 100
        # Energies and times are no shares of anything; a real number without a unit is a share itself.
        among = _among(column, kinds, text)
    elif unit is not None:
        bound *= _factor(column, unit, text)
    return Constraint(text.strip(), column, "=" if comparison == "==" else comparison, bound, among)


def resolve(name: str, columns: Iterable[str]) -> str:
    """The column that a full or a short name means.

    Raises:
        ConfigError: no column or several columns have the name.

    >>> resolve("read.p99.9", ["response.read.p999_us", "energy.total_uj"])
    'response.read.p999_us'
    """
    known = list(columns)
    if name in known:
        return name
    short = _short_names(known)
    spelled = _spelled(name.removeprefix("response."))
    if (column := short.get(name) or short.get(spelled)) is not None:
        return column
    # `-` stands for `_`, as in configs; no column has a `-`.
    if (other := _core.spelled_like(name, [*known, *short])) is not None:
        return short.get(other, other)
    several = [column for column in known if column.rpartition(".")[2] == name]
    if several:
        raise ConfigError(f"found `{name}`, which several columns end with, expected one of {', '.join(several)}")
    near = difflib.get_close_matches(spelled, [*short, *known], n=3, cutoff=0.6)
    hint = f"did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else "as in the columns of results"
    raise ConfigError(f"found unknown column `{name}`, expected one such as `p99.9` or `uncorrectable`: {hint}")


def _short_names(columns: list[str]) -> dict[str, str]:
    """Short names, and the column that each is short for."""
    last = Counter(column.rpartition(".")[2] for column in columns if not column.startswith("response."))
    found = {bare: column for column in columns if last[bare := column.rpartition(".")[2]] == 1}
    for column in columns:
        parts = column.split(".")
        if len(parts) == 3 and parts[0] == "response" and parts[1] in _KINDS:
            found[_spelled(f"{parts[1]}.{parts[2]}")] = column
            if parts[1] == "read":
                found[_spelled(parts[2])] = column
    return found


def _spelled(name: str) -> str:
    """A short name as people write it: `p99.9` for `p999_us`."""
    return re.sub(r"\bp99(9+)$", r"p99.\1", name.removesuffix("_us"))


def _among(column: str, kinds: Mapping[str, type], text: str) -> str | None:
    if kinds[column] is not int:
        if _unit_of(column):
            raise ConfigError(f"found % in `{text}`, expected {_expected(column)}")
        return None
    among = _AMONG.get(column.partition(".")[0])
    if among is None or among not in kinds:
        raise ConfigError(f"found % in `{text}`, expected a number: `{column}` is a share of nothing")
    return among


def _factor(column: str, unit: str, text: str) -> float:
    known = _UNITS.get(_unit_of(column) or "", {})
    if unit not in known:
        raise ConfigError(f"found the unit `{unit}` in `{text}`, expected {_expected(column)}")
    return known[unit]


def _unit_of(column: str) -> str | None:
    if column.endswith("per_s"):
        return None
    return next((suffix for suffix in _UNITS if any(part.endswith(suffix) for part in column.split("."))), None)


def _expected(column: str) -> str:
    suffix = _unit_of(column)
    return f"one of {', '.join(_UNITS[suffix])}" if suffix else f"none: `{column}` has no unit"
