"""The designs of a sweep: the problems of each, and the Pareto frontier of those without problems.

A *design* is a setting of the swept fields with a read policy; its numbers on a trace are means over seeds. It is on
the *Pareto frontier* of two columns if no other design is better in one of them and no worse in the other. Designs that
cannot be built, that lose data, that cannot serve the load or that break a constraint of the sweep are no contenders,
unless the sweep asks for all.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import takewhile
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from softsense.formats import as_share
from softsense.intervals import interval, interval_of, resolution
from softsense.points import BATCH, FOLLOWS_AGE, LIFETIME_COLUMNS, NOT_SIMULATED, device
from softsense.problems import ALLOWED_WITH, LOSES_DATA, OVERLOADED, Problem, found_in
from softsense.read_policies import knows_level

if TYPE_CHECKING:
    import polars as pl

    from softsense.constraints import Constraint
    from softsense.sweep import SweepResult
    from softsense.sweep_file import Pair


@dataclass(frozen=True, slots=True)
class Design:
    """A setting of the swept fields with a read policy, and its numbers.

    Attributes:
        setting: values of the swept fields by column; for lifetimes, without fields that do not matter to them.
        policy: the read policy; None where it does not matter.
        x: mean over seeds of the first column.
        y: mean over seeds of the second column.
        points: numbers of the points over which the means are taken.
        problems: reasons for which it is no contender; empty if it is one.
        buildable: whether a controller could read like that.
        half_widths: half widths of the 95 % intervals of x and y over seeds; None with one seed.
        by_seed: each seed with its x and y.
    """

    setting: Mapping[str, Any]
    policy: str | None
    x: float
    y: float
    points: tuple[int, ...]
    problems: tuple[Problem, ...] = ()
    buildable: bool = True
    half_widths: tuple[float | None, float | None] = (None, None)
    by_seed: tuple[tuple[int, float, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The design, ready for JSON."""
        told = [f"{problem.reason}: {problem.told}" for problem in self.problems]
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "by_seed"}
        return {**own, "points": list(self.points), "problems": told, "half_widths": list(self.half_widths)}


@dataclass(frozen=True)
class Frontier:
    """The designs by two columns, on one trace, in one condition.

    Attributes:
        pair: the columns, and for each whether lower or higher is better.
        trace: its name; None for the config's workload, or where traces do not matter.
        condition: values of the fields of `[conditions]`, by column; empty where there are none, or none matters.
        designs: all designs that have both numbers, in the order of the sweep.
        contenders: designs that can be built and have no problem, or all.
        best: designs on the frontier, by increasing x.
        ties: contenders off the frontier that seeds do not tell from designs on it.
    """

    pair: Pair
    trace: str | None
    condition: Mapping[str, Any]
    designs: tuple[Design, ...]
    contenders: tuple[Design, ...]
    best: tuple[Design, ...]
    ties: tuple[Design, ...] = ()

    @property
    def bounds(self) -> list[Design]:
        """Designs that cannot be built; they bound the others and are not on the frontier."""
        return [design for design in self._others if not design.buildable]

    @property
    def aside(self) -> list[Design]:
        """Designs that could be built and are no contenders."""
        return [design for design in self._others if design.buildable]

    @cached_property
    def _others(self) -> list[Design]:
        ranked = set(map(id, self.contenders))
        return [design for design in self.designs if id(design) not in ranked]

    def to_dict(self) -> dict[str, Any]:
        """The frontier, ready for JSON."""
        return {
            "x": self.pair.x,
            "y": self.pair.y,
            "better": list(self.pair.better),
            "trace": self.trace,
            "condition": dict(self.condition),
            "designs": len(self.designs),
            "contenders": len(self.contenders),
            "frontier": [design.to_dict() for design in self.best],
            "within_seeds": [design.to_dict() for design in self.ties],
            "cannot_be_built": [design.to_dict() for design in self.bounds],
            "set_aside": [design.to_dict() for design in self.aside],
        }


def pareto(places: Sequence[tuple[float, float]], better: tuple[str, str] = ("lower", "lower")) -> list[int]:
    """The indices of places that no other one dominates, from the best x on; equal places are all among them.

    One dominates another if it is no worse in both coordinates and better in one.
    """
    signs = [1 if each == "lower" else -1 for each in better]
    keys = [(signs[0] * x, signs[1] * y) for x, y in places]
    found: list[int] = []
    for i in sorted(range(len(keys)), key=keys.__getitem__):
        if not found or keys[i][1] < keys[found[-1]][1] or keys[i] == keys[found[-1]]:
            found.append(i)
    return found


def frontiers(result: SweepResult) -> list[Frontier]:
    """The frontiers of a sweep: pair by pair, trace by trace, condition by condition."""
    judged, columns = result.judged, result.sweep.columns
    traces: list[str | None] = [*(trace.name for trace in result.sweep.traces)] or [None]
    asked = [columns[name] for name in result.sweep.conditions]
    # Conditions in their order in the sweep.
    there = [{column: group.setting[column] for column in asked} for group in judged.groups]
    conditions = _distinct(there) or [{}]
    found = []
    for pair in result.sweep.pairs:
        if {pair.x, pair.y} <= LIFETIME_COLUMNS.keys():
            matters = {columns[name] for name in device(dict.fromkeys(result.sweep.conditions))}
            devices = _devices(result, pair, judged)
            mattering = _distinct(_selected(each, matters) for each in conditions)
            found += [_frontier(result, pair, None, condition, devices) for condition in mattering]
            continue
        for trace in traces:
            designs = _designs(pair, trace, judged)
            found += [_frontier(result, pair, trace, condition, designs) for condition in conditions]
    return found


def _distinct(settings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list({json.dumps(each): each for each in settings}.values())


def _selected(setting: Mapping[str, Any], columns: Iterable[str]) -> dict[str, Any]:
    return {column: setting[column] for column in setting if column in columns}


def _frontier(
    result: SweepResult, pair: Pair, trace: str | None, condition: Mapping[str, Any], designs: Sequence[Design]
) -> Frontier:
    """The frontier of the designs in a condition, whose fields are left out of their settings."""
    here = list(designs)
    if condition:
        here = [
            replace(design, setting={name: value for name, value in design.setting.items() if name not in condition})
            for design in designs
            if _selected(design.setting, condition) == condition
        ]
    contenders = [d for d in here if result.sweep.all_designs or (d.buildable and not d.problems)]
    signs = [1 if each == "lower" else -1 for each in pair.better]

    def no_worse(than: Design) -> Iterator[Design]:
        """The designs on the frontier that are no worse in both means."""
        end = bisect_right(best, signs[0] * than.x, key=lambda each: signs[0] * each.x)
        return takewhile(lambda each: signs[1] * each.y <= signs[1] * than.y, reversed(best[:end]))

    on = pareto([(design.x, design.y) for design in contenders], pair.better)
    best, off = [contenders[i] for i in on], set(range(len(contenders))).difference(on)
    ties = [
        contenders[i]
        for i in sorted(off)
        if not any(_dominates(b, contenders[i], pair) for b in no_worse(contenders[i]))
    ]
    by_x = sorted(best, key=lambda each: each.x)
    return Frontier(pair, trace, condition, tuple(here), tuple(contenders), tuple(by_x), tuple(ties))


def _dominates(one: Design, other: Design, pair: Pair) -> bool:
    """Whether one design beats another: no worse in both means, and better in one of them by more than chance explains.

    The gain has to exceed half of the 95 % interval of differences seed by seed, with the resolution of the column.
    """
    signs = [1 if better == "lower" else -1 for better in pair.better]
    ends = [((one.x, one.y)[axis], (other.x, other.y)[axis]) for axis in (0, 1)]
    gains = [sign * (theirs - ours) for sign, (ours, theirs) in zip(signs, ends, strict=True)]
    if min(gains) < 0:
        return False
    seeds = {seed: numbers for seed, *numbers in one.by_seed}
    both = [(seeds[seed], numbers) for seed, *numbers in other.by_seed if seed in seeds]
    for axis, column in enumerate((pair.x, pair.y)):
        differences = [signs[axis] * (theirs[axis] - ours[axis]) for ours, theirs in both]
        half = (interval(differences)[1] or 0.0) if differences else 0.0
        if gains[axis] > half + sum(resolution(column, mean) for mean in ends[axis]) * (len(both) > 1):
            return True
    return False


def _designs(pair: Pair, trace: str | None, judged: Judged) -> list[Design]:
    found = []
    for group in judged.groups:
        rows = [row for row in group.rows if row[pair.x] is not None and row[pair.y] is not None]
        if group.trace != trace or not rows:
            continue
        by_seed = tuple((row["seed"], float(row[pair.x]), float(row[pair.y])) for row in rows)
        x, x_half = interval_of(pair.x, [x for _, x, _ in by_seed])
        y, y_half = interval_of(pair.y, [y for _, _, y in by_seed])
        points = tuple(sorted(row["point"] for row in rows))
        first = (group.setting, group.policy, x, y, points, group.problems, group.buildable)
        found.append(Design(*first, (x_half, y_half), by_seed))
    return found


def _devices(result: SweepResult, pair: Pair, judged: Judged) -> list[Design]:
    """Designs by the fields on which their lifetimes depend: no policy, no load, and one number for all seeds.

    A device counts with the best way to read it, on the trace that is worst for that way.
    """
    columns = result.sweep.columns
    together: dict[str, tuple[dict[str, Any], list[tuple[int, float, float]], dict[str, list[Problem]]]] = {}
    asked = [columns[name] for name in device(dict.fromkeys(result.sweep.fields))]
    for group in judged.groups:
        setting = {name: group.setting[name] for name in asked}
        for row in group.rows:
            if row[pair.x] is None or row[pair.y] is None:
                continue
            point = result.planned.points[row["point"] - 1]
            _, rows, ways = together.setdefault(str(point.lifetime_id), (setting, [], {}))
            rows.append((row["point"], row[pair.x], row[pair.y]))
            # A policy that knows the level in advance says nothing about designs that can be built.
            if group.buildable:
                way = ways.setdefault(json.dumps([group.policy, *group.setting.values()]), [])
                way += [problem for problem in group.problems if problem not in way]
    found = []
    for setting, rows, ways in together.values():
        problems = min(ways.values(), key=len, default=[])
        x, y = (fmean(row[i] for row in rows) for i in (1, 2))
        points = tuple(sorted(point for point, _, _ in rows))
        found.append(Design(setting, None, x, y, points, tuple(problems)))
    return found


# Problems ------------------------------------------------------------------------------------------------------------


class _Columns:
    """The columns of a sweep's frame that have been read so far."""

    def __init__(self, result: SweepResult) -> None:
        self.names, self._select = result.columns, result.select
        self._known: dict[str, tuple[Any, Any]] = {}

    def at(self, column: str, i: int) -> Any:
        """A value, None where there is none. Raises `KeyError` where there is no such column."""
        if column not in self._known:
            if column not in self.names:
                raise KeyError(column)
            values = self._select(column)[column]
            if values.dtype.is_numeric():
                # Arrays take eight bytes a number, where lists have objects.
                there = values.is_not_null().to_numpy() if values.null_count() else None
                self._known[column] = values.fill_null(0).to_numpy().item, there
            else:
                self._known[column] = values.to_list().__getitem__, None
        item, there = self._known[column]
        return item(i) if there is None or there[i] else None


class _Row(Mapping[str, Any]):
    """A row of a sweep's frame."""

    __slots__ = ("_columns", "_i")

    def __init__(self, columns: _Columns, i: int) -> None:
        self._columns, self._i = columns, i

    def __getitem__(self, column: str) -> Any:
        return self._columns.at(column, self._i)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.names)

    def __len__(self) -> int:
        return len(self._columns.names)


@dataclass(frozen=True, slots=True)
class Group:
    """The simulated points of a design on a trace, which differ in their seeds, and their problems.

    Attributes:
        setting: values of the swept fields, by column.
        policy: the policy as it was asked for.
        trace: the name of the trace; None for the config's workload.
        places: places of its rows in the frame of its columns.
        columns: columns of the sweep's frame.
        problems: problems of the design; none if it is a contender.
        buildable: whether a controller could read like that.
    """

    setting: Mapping[str, Any]
    policy: str | None
    trace: str | None
    places: tuple[int, ...]
    columns: _Columns
    problems: tuple[Problem, ...]
    buildable: bool

    @property
    def rows(self) -> list[Mapping[str, Any]]:
        """The rows of the sweep's frame, one for each seed."""
        return [_Row(self.columns, i) for i in self.places]


_Judged = TypeVar("_Judged", Design, Group)


class Judged:
    """All designs of a sweep on each trace, in its order, judged."""

    def __init__(self, result: SweepResult) -> None:
        columns = _Columns(result)
        swept = list(result.sweep.columns.values())
        frame = result.select("status", "requests", "policy", "trace", *swept)
        there = (frame["status"] != NOT_SIMULATED) & frame["requests"].is_not_null()
        # A design is a policy, a trace and a setting; its rows stand at these places.
        together: dict[tuple[Any, ...], list[int]] = {}
        for i, ended, *key in zip(
            range(len(frame)), there, *(frame[name] for name in ("policy", "trace", *swept)), strict=True
        ):
            if ended:
                together.setdefault(tuple(key), []).append(i)
        self.groups: list[Group] = []
        for (policy, trace, *values), places in together.items():
            rows = [_Row(columns, i) for i in places]
            open_loop = result.planned.points[places[0]].open_loop
            problems = tuple(_problems(rows, result.sweep.constraints, open_loop))
            buildable = not ((policy and knows_level(policy)) or rows[0][FOLLOWS_AGE])
            setting = dict(zip(swept, values, strict=True))
            self.groups.append(Group(setting, policy, trace, tuple(places), columns, problems, buildable))

    def frame(self, columns: Iterable[str]) -> pl.DataFrame:
        """A row for each design and trace: setting, verdict, and the mean of each column with the half width of its
        95 % interval over seeds (null with one seed).
        """
        import polars as pl

        groups = self.groups
        told: dict[str, list[Any]] = {"policy": [group.policy for group in groups]}
        told["trace"] = [group.trace for group in groups]
        told |= {name: [group.setting[name] for group in groups] for name in (groups[0].setting if groups else ())}
        told["seeds"] = [len(group.places) for group in groups]
        if groups and BATCH in groups[0].columns.names:
            told[BATCH] = [group.rows[0][BATCH] for group in groups]
        told["can_be_built"] = [group.buildable for group in groups]
        told["verdict"] = ["; ".join(f"{p.reason}: {p.told}" for p in g.problems) or "contender" for g in groups]
        # A column at a time, as lists of numbers take four times the room.
        found = {name: pl.Series(name, values, strict=False) for name, values in told.items()}
        for column in columns:
            means, halves = [], []
            for group in groups:
                values = [float(value) for row in group.rows if (value := row[column]) is not None]
                mean, half = interval_of(column, values) if values else (None, None)
                means.append(mean)
                halves.append(half)
            found |= {column: pl.Series(means), f"{column}.half_width": pl.Series(halves)}
        return pl.DataFrame(found if groups else {})


def _problems(
    rows: Sequence[Mapping[str, Any]], constraints: Sequence[Constraint], open_loop: bool
) -> Iterable[Problem]:
    asked = {constraint.column for constraint in constraints}
    asked |= {ALLOWED_WITH[column] for column in asked if column in ALLOWED_WITH}
    yield from found_in(rows, open_loop, allowed=asked)
    for constraint in constraints:
        broken = [row for row in rows if not constraint.holds(row)]
        if broken:
            worst = max(broken, key=constraint.excess)
            among = f" in {len(broken)} of {len(rows)} seeds" if len(rows) > 1 else ""
            yield Problem(f"break {constraint.text}", f"{_value(constraint, worst)}{among}", constraint.excess(worst))


def _value(constraint: Constraint, row: Mapping[str, Any]) -> str:
    value = constraint.value(row)
    if value is None:
        return "not measured"
    return as_share(value) if constraint.among else f"{value:,.6g}"


def tally(groups: Iterable[Group], describe: Callable[[Group], str]) -> list[tuple[str, int, str]]:
    """For each reason the number of designs with it, and in words the designs with the least and the most of it."""
    found = []
    for reason, those in _by_reason(groups):
        least, slightest = those[0]
        most, worst = max(those, key=lambda each: each[0].amount)
        told = f"{most.told} ({describe(worst)})"
        if slightest is not worst:
            told = f"from {least.told} ({describe(slightest)}) to {told}"
        found.append((reason, len(those), told))
    return found


def nearest(designs: Iterable[Design], describe: Callable[[Design], str]) -> list[str]:
    """For each reason the number of designs with it, and the design with the least of it, in words."""
    return [
        f"{len(those):,} {reason} (at best {those[0][0].told}: {describe(those[0][1])})"
        for reason, those in _by_reason(designs)
    ]


def _by_reason(designs: Iterable[_Judged]) -> list[tuple[str, list[tuple[Problem, _Judged]]]]:
    """The designs that could be built, by each reason for which they are no contenders, the slightest problem first."""
    by_reason: dict[str, list[tuple[Problem, _Judged]]] = {}
    for design in designs:
        if not design.buildable:
            continue
        worst: dict[str, Problem] = {}
        for problem in design.problems:
            if problem.reason not in worst or problem.amount > worst[problem.reason].amount:
                worst[problem.reason] = problem
        for reason, problem in worst.items():
            by_reason.setdefault(reason, []).append((problem, design))
    for those in by_reason.values():
        those.sort(key=lambda each: each[0].amount)
    return sorted(by_reason.items(), key=lambda each: _rank(each[0]))


def _rank(reason: str) -> int:
    return (LOSES_DATA, OVERLOADED).index(reason) if reason in (LOSES_DATA, OVERLOADED) else 2
