"""Sweep files: which simulations a sweep is made of, as TOML or from Python.

`Sweep.open` reads a file; whatever is wrong with it names its line or its field, what was found and what was expected.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from softsense import _core
from softsense._core import MAX_LEVEL, ConfigError, FileError
from softsense.base import inline
from softsense.points import LIFETIME_COLUMNS, SUMMARY_COLUMNS
from softsense.read_policies import policy_names
from softsense.traces import OPTIONS

if TYPE_CHECKING:
    from softsense.lifetime import Demand

_BEYOND = ("reject", "wrap", "scale")
_KINDS = {str: "text", int: "a whole number from 0", bool: "true or false"}
_BETTER = ("lower", "higher")
_MOST_POINTS = 1_000_000


@dataclass(frozen=True)
class Range:
    """Values between two ends, for a Latin hypercube.

    Attributes:
        low: the lower end.
        high: the upper end; with `whole` itself among the values.
        log: whether values are evenly spread in their logarithm.
        whole: whether they are whole numbers.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def at(self, share: float) -> float:
        """The value at a share of the way, 0 to 1."""
        top = self.high + 1 if self.whole else self.high
        value = self.low * (top / self.low) ** share if self.log else self.low + share * (top - self.low)
        if self.whole:
            return min(math.floor(value), int(self.high))
        # Fewer digits than the machine has, as the last ones of powers differ between machines.
        return float(f"{value:.12g}")


@dataclass(frozen=True)
class LatinHypercube:
    """Samples of several fields at once: each field's range is cut into as many strata, and each stratum is met once.

    Attributes:
        samples: how many.
        fields: for each config field its range, or a list of values that share the strata evenly.
        seed: of the samples. They are a function of it and of `samples`, for each field by itself.
    """

    samples: int
    fields: Mapping[str, Range | Sequence[Any]]
    seed: int = 1

    def draw(self) -> list[dict[str, Any]]:
        """The samples, each a value for every field."""
        columns = {name: self._column(name, values) for name, values in self.fields.items()}
        return [{name: column[i] for name, column in columns.items()} for i in range(self.samples)]

    def shares(self, name: str) -> list[float]:
        """Where in the range of a field each sample is, 0 to 1: each somewhere in a stratum of its own."""

        def lot(purpose: str, i: int) -> int:
            text = f"{self.seed} {name} {purpose} {i}"
            return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")

        strata = sorted(range(self.samples), key=lambda i: lot("order", i))
        # Thousandths, off the edges: rounding never takes a sample into the next stratum.
        return [(stratum + (lot("place", i) % 1000 + 0.5) / 1000) / self.samples for i, stratum in enumerate(strata)]

    def _column(self, name: str, values: Range | Sequence[Any]) -> list[Any]:
        shares = self.shares(name)
        if isinstance(values, Range):
            return [values.at(share) for share in shares]
        return [values[int(share * len(values))] for share in shares]


@dataclass(frozen=True)
class TraceFile:
    """A trace to replay.

    Attributes:
        file: where it is.
        name: what results call it.
        options: keyword arguments of `softsense.Trace`: those of `softsense.traces.OPTIONS`.
    """

    file: Path
    name: str
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two columns of the result against each other, and for each whether `lower` or `higher` is better."""

    x: str
    y: str
    better: tuple[str, str] = ("lower", "lower")


LATENCY_ENERGY = Pair("response.read.mean_us", "energy.mean_request_uj")
LIFETIME_CAPACITY = Pair("lifetime.user_capacity", "lifetime.lifetime_capacity", ("higher", "higher"))


@dataclass(frozen=True)
class Sweep:
    """What is to be simulated.

    Attributes:
        config: a shipped configuration, or a file.
        name: of the sweep.
        overrides: fields replaced in all points, each written as `workload.requests=20000`.
        grid: config fields, each with its values; all combinations are simulated.
        latin_hypercube: samples instead of a grid.
        policies: read policies such as `two_step` or `two_step:restart`; none for that of the config.
        seeds: none for that of the config.
        traces: none for the config's workload.
        beyond: what becomes of addresses beyond the device: `reject` (the point fails), `wrap` or `scale`.
        pairs: what frontiers are drawn of.
        lifetime: what is asked of reads, if lifetimes are wanted.
        equal_area: whether the decoders of every point have the parallelism that the decoder area of the config buys.
        origin: the sweep file, for messages.
    """

    config: str
    name: str = "sweep"
    overrides: tuple[str, ...] = ()
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    latin_hypercube: LatinHypercube | None = None
    policies: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    traces: tuple[TraceFile, ...] = ()
    beyond: str = "reject"
    pairs: tuple[Pair, ...] = (LATENCY_ENERGY,)
    lifetime: Demand | None = None
    origin: str = "sweep"
    equal_area: bool = False

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Sweep:
        """Read a sweep file; config and traces are looked for beside it.

        Raises:
            FileError: it cannot be read.
            ConfigError: it is not what a sweep file can be; the message names the line or the field.
        """
        file = Path(path)
        return Sweep.parse(_core.read_text(file), str(file))

    @staticmethod
    def parse(text: str, origin: str = "sweep.toml") -> Sweep:
        """Read the text of a sweep file; `origin` is its name, and config and traces are looked for beside it.

        Raises `ConfigError` or `FileError`.
        """
        return _Parser(text, origin).sweep()

    @property
    def fields(self) -> list[str]:
        """The config fields that are swept."""
        return list(self.latin_hypercube.fields if self.latin_hypercube else self.grid)

    @property
    def columns(self) -> dict[str, str]:
        """For each swept field its column; one that has the name of a result is called `config.` and its name."""
        return _columns(self.fields)

    def settings(self) -> list[dict[str, Any]]:
        """The values of the swept fields: of the grid, the last field changes fastest."""
        if self.latin_hypercube:
            return self.latin_hypercube.draw()
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]

    @property
    def size(self) -> int:
        """The number of points."""
        samples = self.latin_hypercube.samples if self.latin_hypercube else math.prod(map(len, self.grid.values()))
        return samples * math.prod(max(1, len(each)) for each in (self.policies, self.traces, self.seeds))


def _columns(fields: Iterable[str]) -> dict[str, str]:
    taken = {*SUMMARY_COLUMNS, *LIFETIME_COLUMNS}
    return {name: f"config.{name}" if name in taken else name for name in fields}


class _Parser:
    """Reads a sweep file; whatever is wrong with it names its place, what was found and what was expected."""

    def __init__(self, text: str, origin: str) -> None:
        import tomllib

        self._origin, self._folder = origin, Path(origin).parent
        try:
            self._all: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", str(error))
            what, line = (found[1], found[2] or text.count("\n") + 1) if found else (str(error), 1)
            raise ConfigError(f"{origin}:{line}: {what}, expected TOML") from None

    def sweep(self) -> Sweep:
        known = {
            "config",
            "policies",
            "seeds",
            "traces",
            "beyond",
            "set",
            "grid",
            "latin_hypercube",
            "frontier",
            "equal_area",
        }
        self._known(self._all, known, "")
        config = self._all.get("config")
        if not isinstance(config, str) or not config:
            self._wrong("config", config, "the name of a shipped configuration, or a file beside this one")
        overrides = self._strings("set", "fields to replace, such as workload.requests=20000")
        for i, text in enumerate(overrides):
            if not re.fullmatch(r"\s*[\w.]+\s*=.*", text, re.DOTALL):
                self._wrong(f"set[{i}]", text, "a field to replace, such as workload.requests=20000")
        policies = self._policies()
        seeds = self._seeds()
        beyond = self._all.get("beyond", "reject")
        if beyond not in _BEYOND:
            self._wrong("beyond", beyond, f"one of {', '.join(_BEYOND)}")
        equal_area = self._all.get("equal_area", False)
        if type(equal_area) is not bool:
            self._wrong("equal_area", equal_area, "true or false")
        if "grid" in self._all and "latin_hypercube" in self._all:
            raise self._error("grid", "found both [grid] and [latin_hypercube], expected one of them")
        grid, hypercube = self._grid(), self._latin_hypercube()
        demand, pairs = self._frontier([*grid, *(hypercube.fields if hypercube else ())])
        sweep = Sweep(
            self._beside(config),
            Path(self._origin).stem,
            tuple(overrides),
            grid,
            hypercube,
            tuple(policies),
            tuple(seeds),
            self._traces(),
            beyond,
            pairs,
            demand,
            self._origin,
            equal_area,
        )
        self._once(sweep)
        if sweep.size > _MOST_POINTS:
            raise self._error("", f"found {sweep.size:,} points, expected at most {_MOST_POINTS:,}")
        return sweep

    def _error(self, place: str, message: str) -> ConfigError:
        return ConfigError(f"{self._origin}: {place}: {message}" if place else f"{self._origin}: {message}")

    def _wrong(self, place: str, found: Any, expected: str) -> NoReturn:
        raise self._error(place, f"found {'nothing' if found is None else _shown(found)}, expected {expected}")

    def _known(self, table: Mapping[str, Any], known: Iterable[str], place: str) -> None:
        for key in table:
            if key not in known:
                raise self._error(place, f"found unknown field `{key}`, expected one of {', '.join(sorted(known))}")

    def _beside(self, config: str) -> str:
        """A file beside the sweep, or else a name, which only the core knows."""
        file = self._folder / config
        return str(file) if file.is_file() or Path(config).suffix or "/" in config else config

    def _strings(self, key: str, expected: str) -> list[str]:
        values = self._all.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            self._wrong(key, values, f"a list of {expected}")
        return values

    def _policies(self) -> list[str]:
        if "policies" not in self._all:
            return []
        try:
            return policy_names(self._strings("policies", "read policies, such as two_step or two_step:restart"))
        except ConfigError as error:
            raise ConfigError(f"{self._origin}: {error}") from None

    def _seeds(self) -> list[int]:
        seeds = self._all.get("seeds", [])
        good = isinstance(seeds, list) and all(type(seed) is int and 0 <= seed < 2**63 for seed in seeds)
        if not good or ("seeds" in self._all and not seeds) or len(set(seeds)) < len(seeds):
            self._wrong("seeds", seeds, "a list of whole numbers from 0, each once")
        found: list[int] = seeds
        return found

    def _traces(self) -> tuple[TraceFile, ...]:
        entries = self._all.get("traces", [])
        if not isinstance(entries, list) or ("traces" in self._all and not entries):
            self._wrong("traces", entries, "a list of files, or [[traces]] tables with file")
        traces: list[TraceFile] = []
        for i, entry in enumerate(entries):
            place = f"traces[{i}]"
            table = {"file": entry} if isinstance(entry, str) else entry
            if not isinstance(table, dict) or "file" not in table:
                self._wrong(place, entry, "a file, or a table with file")
            self._known(table, ("file", "name", *OPTIONS), place)
            for key, value in table.items():
                kind = OPTIONS.get(key, str)
                if type(value) is not kind or value == "" or (isinstance(value, int) and not 0 <= value < 2**32):
                    self._wrong(f"{place}.{key}", value, _KINDS[kind])
            options = tuple((key, self._trace_option(key, table[key])) for key in OPTIONS if key in table)
            trace = TraceFile(self._folder / table["file"], str(table.get("name", table["file"])), options)
            if not trace.file.is_file():
                raise FileError(f"{self._origin}: {place}: {trace.file}: found no such file, expected a trace")
            if trace.name in (other.name for other in traces):
                self._wrong(place, trace.name, "every trace once, or a `name` for each")
            traces.append(trace)
        return tuple(traces)

    def _trace_option(self, key: str, value: Any) -> Any:
        """Files that a sweep names lie beside it."""
        return os.fspath(self._folder / value) if key == "format" and value.endswith(".toml") else value

    def _grid(self) -> dict[str, list[Any]]:
        grid: dict[str, list[Any]] = {}
        for name, values in self._leaves("grid", lambda value: not isinstance(value, dict)):
            self._values(f"grid: {name}", values)
            grid[name] = values
        return grid

    def _values(self, place: str, values: Any) -> None:
        if not isinstance(values, list) or not values:
            self._wrong(place, values, "a list of values, such as [0.1, 0.2]")
        for i, value in enumerate(values):
            if not _plain(value):
                self._wrong(f"{place}[{i}]", value, "a number, text, true or false, or a list or table of these")

    def _latin_hypercube(self) -> LatinHypercube | None:
        if "latin_hypercube" not in self._all:
            return None
        leaves = dict(self._leaves("latin_hypercube", lambda v: not isinstance(v, dict) or "from" in v or "to" in v))
        samples, seed = leaves.pop("samples", None), leaves.pop("seed", 1)
        if type(samples) is not int or not 1 <= samples <= _MOST_POINTS:
            self._wrong("latin_hypercube.samples", samples, f"a whole number from 1 to {_MOST_POINTS:,}")
        if type(seed) is not int:
            self._wrong("latin_hypercube.seed", seed, "a whole number")
        if not leaves:
            raise self._error("latin_hypercube", "found no fields, expected some, each with { from = ..., to = ... }")
        fields: dict[str, Range | Sequence[Any]] = {}
        for name, value in leaves.items():
            place = f"latin_hypercube: {name}"
            if isinstance(value, list):
                self._values(place, value)
                fields[name] = value
            else:
                fields[name] = self._range(place, value)
        return LatinHypercube(samples, fields, seed)

    def _range(self, place: str, value: Any) -> Range:
        if not isinstance(value, dict):
            self._wrong(place, value, "{ from = ..., to = ... }, or a list of values")
        self._known(value, ("from", "to", "log", "whole"), place)
        ends: list[Any] = [value.get(key) for key in ("from", "to")]
        for key, end in zip(("from", "to"), ends, strict=True):
            if type(end) not in (int, float) or not math.isfinite(end):
                self._wrong(f"{place}.{key}", end, "a number")
        log, whole = value.get("log", False), value.get("whole", False)
        for key, chosen in (("log", log), ("whole", whole)):
            if type(chosen) is not bool:
                self._wrong(f"{place}.{key}", chosen, "true or false")
        low, high = ends
        if not low < high:
            self._wrong(f"{place}.to", high, f"more than {low}, which `from` is")
        if log and low <= 0:
            self._wrong(f"{place}.from", low, "more than 0, as it is logarithmic")
        if whole and not all(type(end) is int for end in ends):
            self._wrong(place, value, "whole numbers for `from` and `to`, as values are to be whole")
        return Range(low, high, log, whole)

    def _leaves(self, section: str, is_leaf: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
        """The fields of a section: with quotes around them or without, when TOML takes their dots for tables."""
        table = self._all.get(section, {})
        if not isinstance(table, dict):
            self._wrong(section, table, f"a table [{section}] of config fields")

        def walk(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
            for key, value in table.items():
                if is_leaf(value):
                    yield prefix + key, value
                else:
                    yield from walk(f"{prefix}{key}.", value)

        found: set[str] = set()
        for name, value in walk("", table):
            if not re.fullmatch(r"\w+(\.\w+)*", name):
                self._wrong(section, name, 'a config field, such as "ftl.over_provisioning"')
            if name in found:
                self._wrong(section, name, "every field once")
            found.add(name)
            yield name, value

    def _frontier(self, fields: Sequence[str]) -> tuple[Demand | None, tuple[Pair, ...]]:
        table = self._all.get("frontier", {})
        if not isinstance(table, dict):
            self._wrong("frontier", table, "a table [frontier]")
        self._known(table, ("pairs", "lifetime"), "frontier")
        demand = self._demand(table.get("lifetime", False))
        known = [*_columns(fields).values(), *SUMMARY_COLUMNS]
        known += LIFETIME_COLUMNS if demand else ()
        if "pairs" not in table:
            return demand, (LATENCY_ENERGY, LIFETIME_CAPACITY) if demand else (LATENCY_ENERGY,)
        entries = table["pairs"]
        if not isinstance(entries, list):
            self._wrong("frontier.pairs", entries, "a list of { x = ..., y = ..., better = [...] }")
        pairs = []
        for i, entry in enumerate(entries):
            place = f"frontier.pairs[{i}]"
            if not isinstance(entry, dict) or not {"x", "y"} <= entry.keys():
                self._wrong(place, entry, "{ x = ..., y = ..., better = [...] }")
            self._known(entry, ("x", "y", "better"), place)
            for axis in ("x", "y"):
                if entry[axis] not in known:
                    more = "" if demand else " (those of lifetimes need `lifetime = true`)"
                    self._wrong(f"{place}.{axis}", entry[axis], f"a column{more}: {', '.join(known)}")
            better = entry.get("better", ["lower", "lower"])
            if not isinstance(better, list) or len(better) != 2 or not all(each in _BETTER for each in better):
                self._wrong(f"{place}.better", better, "two of lower and higher, for x and y")
            pairs.append(Pair(entry["x"], entry["y"], (better[0], better[1])))
        return demand, tuple(pairs)

    def _demand(self, lifetime: Any) -> Demand | None:
        if lifetime is False:
            return None
        from softsense.lifetime import Demand

        if lifetime is True:
            return Demand()
        place = "frontier.lifetime"
        if not isinstance(lifetime, dict):
            self._wrong(place, lifetime, "true, false, or a table of uber, mean_iterations and level")
        self._known(lifetime, ("uber", "mean_iterations", "level"), place)
        for key, value in lifetime.items():
            good = type(value) is int and 1 <= value <= MAX_LEVEL if key == "level" else type(value) in (int, float)
            if not good or not value > 0:
                expected = f"a level from 1 to {MAX_LEVEL}" if key == "level" else "a number above 0"
                self._wrong(f"{place}.{key}", value, expected)
        return Demand(**lifetime)

    def _once(self, sweep: Sweep) -> None:
        """No field may be set in two ways: which of them would count is anybody's guess."""
        places = {"seed": "seeds", "read.policy": "policies"}
        section = "latin_hypercube" if sweep.latin_hypercube else "grid"
        for name in sweep.fields:
            for reserved, key in places.items():
                if name == reserved or reserved.startswith(f"{name}."):
                    self._wrong(section, name, f"`{key}` at the top of the file instead")
        swept = [(name, section) for name in sweep.fields]
        swept += [("seed", "seeds")] if sweep.seeds else []
        swept += [("read.policy", "policies")] if sweep.policies else []
        swept += [("read.retry", "policies")] if any(":" in policy for policy in sweep.policies) else []
        fixed = [(text.partition("=")[0].strip(), "set") for text in sweep.overrides]
        # What is set in all points comes first, so that a part of it may still be swept.
        lost = [(one, other) for one in fixed for other in swept if f"{one[0]}.".startswith(f"{other[0]}.")]
        for one, other in itertools.permutations(swept, 2):
            if f"{one[0]}.".startswith(f"{other[0]}."):
                lost.append((one, other))
        for (inner, here), (outer, there) in lost:
            part = "" if inner == outer else f", a part of {outer}"
            raise self._error(here, f"found {inner}{part}, which is in {there}, too, expected it in one of them")


def _shown(value: Any) -> str:
    """A value of a sweep file, as people would write it."""
    with contextlib.suppress(TypeError):
        text = inline(value) if not isinstance(value, str) else f"`{value}`"
        return text if len(text) <= 200 else f"{text[:200]}..."
    return str(value)


def _plain(value: Any) -> bool:
    """Whether a value may stand in a config."""
    if isinstance(value, dict):
        return all(map(_plain, value.values()))
    if isinstance(value, list):
        return all(map(_plain, value))
    return isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
