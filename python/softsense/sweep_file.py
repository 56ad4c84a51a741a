"""Sweep files: the simulations of a sweep, as TOML or from Python.

`Sweep.open` reads a file; errors name the line or the field, the value found and the values expected.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import ConfigError
from softsense.constraints import Constraint, parse, resolve
from softsense.latin_hypercube import LatinHypercube
from softsense.points import BATCH, LIFETIME_COLUMNS, SUMMARY_COLUMNS

if TYPE_CHECKING:
    from softsense.lifetime import Demand
    from softsense.search import Search
    from softsense.sweep_models import FrontierModel, TraceModel


@dataclass(frozen=True)
class TraceFile:
    """A trace to replay.

    Attributes:
        file: path of the file.
        name: its name in results.
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
    """A description of the simulations of a sweep.

    Attributes:
        config: a shipped configuration, or a file.
        name: name of the sweep.
        overrides: fields replaced in all points, each written as `workload.requests=20000`.
        grid: config fields, each with its values; all combinations are simulated.
        latin_hypercube: samples instead of a grid.
        search: designs that an optimiser asks for, instead of a grid.
        policies: read policies such as `two_step` or `two_step:restart`; none for that of the config.
        seeds: seeds; none for that of the config.
        traces: traces; none for the config's workload.
        beyond: treatment of addresses beyond the device: `reject` (the point fails), `wrap` or `scale`.
        pairs: pairs of columns of which frontiers are drawn.
        lifetime: the demand on reads, if lifetimes are wanted.
        equal_area: whether the decoders of every point have the parallelism that the decoder area of the config allows.
        constraints: constraints on designs.
        conditions: config fields under which each design is tried, each with its values; every combination has
            frontiers of its own.
        all_designs: whether designs that cannot be built, or have a problem, are on frontiers, too.
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
    constraints: tuple[Constraint, ...] = ()
    all_designs: bool = False
    search: Search | None = None
    conditions: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    @staticmethod
    def open(path: str | os.PathLike[str]) -> Sweep:
        """Read a sweep file; config and traces are looked for beside it.

        Raises:
            FileError: it cannot be read.
            ConfigError: the text is no sweep file; the message has a line for each fault, with its place.
        """
        file = Path(path)
        return Sweep.parse(_core.read_text(file), str(file))

    @staticmethod
    def parse(text: str, origin: str = "sweep.toml") -> Sweep:
        """Read the text of a sweep file; `origin` is its name, and config and traces are looked for beside it.

        Raises `ConfigError` or `FileError`.
        """
        return _Reader(text, origin).sweep()

    @property
    def fields(self) -> list[str]:
        """The config fields that are swept."""
        space = self.latin_hypercube or self.search
        return [*(space.fields if space else self.grid), *self.conditions]

    @property
    def columns(self) -> dict[str, str]:
        """The column of each swept field; a column with the name of a result is called `config.` and its name."""
        return _columns(self.fields)

    def settings(self) -> list[dict[str, Any]]:
        """The values of the swept fields, condition by condition.

        In a grid the last field changes fastest. Settings that a search asks for are not among them.
        """
        if self.search:
            return []
        designs = self.latin_hypercube.draw() if self.latin_hypercube else _combined(self.grid)
        return [design | condition for condition in self.settings_of_conditions() for design in designs]

    def settings_of_conditions(self) -> list[dict[str, Any]]:
        """The values of each condition; without `conditions` a single one without values."""
        return _combined(self.conditions)

    @property
    def size(self) -> int:
        """The number of points; for a search the largest number."""
        samples = math.prod(map(len, [*self.grid.values(), *self.conditions.values()]))
        policies = len(self.policies)
        if self.latin_hypercube:
            samples = self.latin_hypercube.samples * math.prod(map(len, self.conditions.values()))
        elif self.search:
            # The policy is a part of the design that a search asks for.
            samples, policies = self.search.designs, 1
        return samples * math.prod(max(1, many) for many in (policies, len(self.traces), len(self.seeds)))


def _combined(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations; the last field changes fastest."""
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def _are_numbers(values: Any) -> bool:
    """Whether the values of a swept field, a range or a list, are numbers."""
    listed = values if isinstance(values, Sequence) else ()
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in listed)


def _columns(fields: Iterable[str]) -> dict[str, str]:
    taken = {*SUMMARY_COLUMNS, *LIFETIME_COLUMNS, BATCH}
    return {name: f"config.{name}" if name in taken else name for name in fields}


class _Reader:
    """A reader of a sweep file, which notes all of its faults."""

    def __init__(self, text: str, origin: str) -> None:
        self._text, self._origin, self._folder = text, origin, Path(origin).parent
        self._faults: dict[tuple[tuple[str, ...], str], None] = {}
        self._table = _core.read_toml(text, origin)

    def sweep(self) -> Sweep:
        from softsense.sweep_models import MOST_POINTS, read

        said, faults = read(self._table)
        for place, message in faults:
            self._fault(place, message)
        sections = [name for name in ("grid", "latin_hypercube", "search") if name in self._table]
        if len(sections) > 1:
            told = " and ".join(f"[{name}]" for name in sections)
            self._fault((sections[1],), f"found both {told}, expected one of them")
        if said is None:
            # Fields that are right by themselves may still contradict others. Columns are known once the swept fields
            # are.
            wrong = {place[0] for place, _ in faults}
            rest = {key: value for key, value in self._table.items() if key not in wrong}
            if wrong.isdisjoint(("grid", "latin_hypercube", "search", "conditions", "frontier")):
                said, _ = read({"config": "unknown"} | rest)
            if said is None:
                raise self._error()
        for name in ("latin_hypercube", "search"):
            if (space := getattr(said, name)) and not space.fields:
                self._fault((name,), "found no fields, expected some, each with { from = ..., to = ... }, or a list")
        hypercube, search = said.hypercube(), said.searched()
        if search and said.conditions:
            self._fault(("conditions",), "found them beside [search], expected them beside a grid or a Latin hypercube")
        swept: dict[str, Any] = dict(said.grid)
        for space in (hypercube, search):
            swept |= space.fields if space else {}
        swept |= said.conditions
        # Only numbers can be compared, or drawn along an axis.
        fields = [name for name, values in swept.items() if _are_numbers(values)]
        self._named = {name for name in swept if name not in fields}
        demand, pairs = self._frontier(said.frontier, fields)
        sweep = Sweep(
            self._beside(said.config),
            Path(self._origin).stem,
            tuple(map(_replaced, said.set)),
            said.grid,
            hypercube,
            tuple(said.policies),
            tuple(said.seeds),
            self._traces(said.traces),
            said.beyond,
            pairs,
            demand,
            self._origin,
            said.equal_area,
            self._constraints(said.constraints, fields, demand is not None),
            said.frontier.all,
            search,
            said.conditions,
        )
        self._once(sweep)
        if sweep.size > MOST_POINTS:
            self._fault((), f"found {sweep.size:,} points, expected at most {MOST_POINTS:,}")
        if self._faults:
            raise self._error()
        return sweep

    def _error(self) -> ConfigError:
        told = [self._told(*fault) for fault in itertools.islice(self._faults, _core.MOST_TOLD)]
        return _core.config_error(told, len(self._faults) - len(told))

    def _fault(self, place: tuple[str, ...], message: str) -> None:
        """Note a fault at a place: a key, an element of a list, or one of both in these."""
        self._faults[place, message] = None

    def _told(self, place: tuple[str, ...], message: str) -> str:
        """A fault with the line of its place."""
        told = ""
        for i, part in enumerate(place):
            if part.isdecimal():
                told += f"[{part}]"
            elif (
                i == 1
                and place[0] in ("grid", "latin_hypercube", "search", "conditions")
                and part in self._fields(place[0])
            ):
                told += f": {part}"
            else:
                told += f".{part}" if told else part
        line = self._line(place)
        origin = f"{self._origin}:{line}" if line else self._origin
        return f"{origin}: {told}: {message}" if told else f"{origin}: {message}"

    def _fields(self, section: str) -> set[str]:
        """The config fields of a section, without the section's own keys."""
        own = {"latin_hypercube": {"samples", "seed"}, "search": {"designs", "batch", "seed", "sampler"}}
        return {part for place in self._places if place[0] == section for part in _joined(place[1:])} - own.get(
            section, set()
        )

    @cached_property
    def _places(self) -> dict[tuple[str, ...], int]:
        """The line of each key and each element in the file."""
        return {tuple(place): line for place, line in _core.toml_lines(self._text)}

    @cached_property
    def _lines(self) -> dict[tuple[str, ...], int]:
        """The line of each place, with the place in steps."""
        return {tuple(_split(place)): line for place, line in self._places.items()}

    def _line(self, place: tuple[str, ...]) -> int | None:
        """The line of a place, or of the nearest one around it that is in the file."""
        parts = _split(place)
        while parts:
            if (line := self._lines.get(tuple(parts))) is not None:
                return line
            parts = parts[:-1]
        return None

    def _beside(self, config: str) -> str:
        """A file beside the sweep, or else a name, which only the core knows."""
        file = self._folder / config
        return str(file) if file.is_file() or Path(config).suffix or "/" in config else config

    def _traces(self, said: Sequence[TraceModel]) -> tuple[TraceFile, ...]:
        traces: list[TraceFile] = []
        for i, each in enumerate(said):
            options = dict(each.options)
            if options.get("format", "").endswith(".toml"):  # It lies beside the sweep.
                options["format"] = os.fspath(self._folder / options["format"])
            trace = TraceFile(self._folder / each.file, each.name or each.file, tuple(options.items()))
            if not trace.file.is_file():
                self._fault(("traces", str(i)), f"{trace.file}: found no such file, expected a trace")
            if trace.name in (other.name for other in traces):
                self._fault(
                    ("traces", str(i)), f"found `{trace.name}`, expected every trace once, or a `name` for each"
                )
            traces.append(trace)
        return tuple(traces)

    def _constraints(self, said: Sequence[str], fields: Sequence[str], lifetime: bool) -> tuple[Constraint, ...]:
        columns = dict.fromkeys(_columns(fields).values(), float) | SUMMARY_COLUMNS
        columns |= LIFETIME_COLUMNS if lifetime else {}
        found = []
        for i, text in enumerate(said):
            column = re.split(r"[\s<=>]", text.strip())[0]
            if column in self._named:
                self._fault(
                    ("constraints", str(i)),
                    f"found `{column}`, whose values are no numbers, expected a column of numbers",
                )
                continue
            try:
                found.append(parse(text, columns))
            except ConfigError as error:
                more = "" if lifetime else " (columns of lifetimes need `lifetime = true` in [frontier])"
                self._fault(("constraints", str(i)), f"{error}{more if 'unknown' in str(error) else ''}")
        return tuple(found)

    def _frontier(self, said: FrontierModel, fields: Sequence[str]) -> tuple[Demand | None, tuple[Pair, ...]]:
        demand = None
        if said.lifetime is not None:
            from softsense.lifetime import Demand

            demand = Demand(**said.lifetime.model_dump(exclude_unset=True))
        known = [*_columns(fields).values(), *SUMMARY_COLUMNS, *(LIFETIME_COLUMNS if demand else ())]
        if said.pairs is None:
            return demand, (LATENCY_ENERGY, LIFETIME_CAPACITY) if demand else (LATENCY_ENERGY,)
        pairs = []
        for i, pair in enumerate(said.pairs):
            named: dict[str, str] = {}
            for axis in ("x", "y"):
                written = getattr(pair, axis)
                if written in self._named:
                    message = f"found `{written}`, whose values are no numbers, expected a column of numbers"
                    self._fault(("frontier", "pairs", str(i), axis), message)
                    continue
                try:
                    named[axis] = resolve(written, known)
                except ConfigError as error:
                    more = "" if demand else " (those of lifetimes need `lifetime = true`)"
                    hint = str(error).rpartition(": ")[2] if "did you mean" in str(error) else ""
                    expected = f"a column{more}: {', '.join(known)}{'; ' if hint else ''}{hint}"
                    self._fault(("frontier", "pairs", str(i), axis), f"found `{written}`, expected {expected}")
            if len(named) == 2:
                pairs.append(Pair(named["x"], named["y"], (pair.better[0], pair.better[1])))
        return demand, tuple(pairs)

    def _once(self, sweep: Sweep) -> None:
        """Check that no field is set in two ways, of which either might be meant."""
        places = {"seed": "seeds", "read.policy": "policies"}
        section = "latin_hypercube" if sweep.latin_hypercube else "search" if sweep.search else "grid"
        for name in sweep.fields:
            for reserved, key in places.items():
                if name == reserved or reserved.startswith(f"{name}."):
                    here = "conditions" if name in sweep.conditions else section
                    self._fault((here,), f"found `{name}`, expected `{key}` at the top of the file instead")
        swept = [(name, section) for name in sweep.fields if name not in sweep.conditions]
        swept += [(name, "conditions") for name in sweep.conditions]
        space = sweep.latin_hypercube or sweep.search
        for name in space.fields if space else sweep.grid:
            if name in sweep.conditions:
                self._fault((section,), f"found {name}, which is in conditions, too, expected it in one of them")
        swept += [("seed", "seeds")] if sweep.seeds else []
        swept += [("read.policy", "policies")] if sweep.policies else []
        swept += [("read.retry", "policies")] if any(":" in policy for policy in sweep.policies) else []
        fixed = [(text.partition("=")[0].strip(), "set") for text in sweep.overrides]
        # Fields that are set for all points come first, so that parts of them may still be swept.
        lost = [(one, other) for one in fixed for other in swept if f"{one[0]}.".startswith(f"{other[0]}.")]
        for one, other in itertools.permutations(swept, 2):
            if f"{one[0]}.".startswith(f"{other[0]}."):
                lost.append((one, other))
        for (inner, here), (outer, there) in lost:
            part = "" if inner == outer else f", a part of {outer}"
            self._fault((here,), f"found {inner}{part}, which is in {there}, too, expected it in one of them")


def _replaced(text: str) -> str:
    """An override, with the field's own name."""
    path, _, value = text.partition("=")
    return f"{_core.own_path(path.strip())}={value.strip()}"


def _split(place: Sequence[str]) -> list[str]:
    """A place in steps; dots of quoted keys separate steps, too."""
    return [_core.own_path(step) for part in place for step in part.split(".")]


def _joined(place: Sequence[str]) -> Iterator[str]:
    """All paths at the beginning of a place."""
    for end in range(1, len(place) + 1):
        yield _core.own_path(".".join(place[:end]))
