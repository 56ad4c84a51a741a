"""Parts of plans that stores and folders of points hold, and the outcome of putting them together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from softsense._core import FileError, build_info

_MOST_NAMED = 12


class Part(NamedTuple):
    """A part of a plan (JSON) that a store holds: `part` of `parts`, from 1, and whether it has ended.

    Part 1 of 1 is the whole plan.
    """

    plan: str
    part: int
    parts: int
    ended: bool


@dataclass(frozen=True)
class Merged:
    """The outcome of a merge.

    Attributes:
        out: the store, or the folder of a sweep.
        sources: number of stores, or folders of points, that were merged into it.
        unit: the kind of things counted: `frames`, or `points` of a sweep.
        held: number of frames or points that it holds now.
        new: number of frames or points that it did not hold before.
        results: results of work other than counting that it did not hold before.
        twice: number of frames or points that several sources had, and that count once.
        left_out: frames of ranges that overlap others in part, to be counted anew.
        parts: number of all shards of a plan, as the sources say.
        missing: shards that are not among the sources.
        unfinished: shards that have not done their share.
    """

    out: Path
    sources: int
    unit: str
    held: int
    new: int
    results: int
    twice: int
    left_out: int
    parts: int
    missing: tuple[int, ...]
    unfinished: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {**vars(self), "out": str(self.out)}


def plan_text(plan: Mapping[str, Any]) -> str:
    """A plan as JSON, with the versions on which its counts depend: equal plans are equal texts.

    >>> json.loads(plan_text({"what": "fer"})).keys() == {"what", "softsense_version", "model_version"}
    True
    """
    build = build_info()
    versions = {"softsense_version": build["version"], "model_version": build["model_version"]}
    return json.dumps({**plan, **versions}, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else vars(value) if hasattr(value, "__dict__") else str(value)


def share_told(part: int, parts: int, kept: object, of_all: object, others: object) -> str:
    """A message: a shard has done its share, where its store is, and the command that merges all shards."""
    return (
        f"shard {part} of {parts} is complete: {kept}\nwhen all shards are complete: softsense merge {of_all} {others}"
    )


def missing_parts(parts: Iterable[Part]) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The number of all shards of a plan, the shards that are missing, and those that have not done their share."""
    shards = [part for part in parts if part.parts > 1]
    of_all = max((part.parts for part in shards), default=1)
    there = {part.part for part in shards if part.parts == of_all}
    ended = {part[:3] for part in shards if part.ended}
    missing = tuple(sorted(set(range(1, of_all + 1)) - there)) if shards else ()
    return of_all, missing, tuple(sorted({part.part for part in shards if part[:3] not in ended}))


def check_plans(sources: Iterable[tuple[str, Sequence[Part]]]) -> None:
    """Raise `FileError` unless all sources, by their names, are of the same plans, or of none."""
    plans = [(name, {part.plan for part in parts}) for name, parts in sources]
    most, expected = max(plans, key=lambda each: len(each[1]))
    for name, of in plans:
        if other := sorted(of - expected):
            nearest = min(sorted(expected), key=lambda plan: len(_differences(other[0], plan)))
            raise FileError(
                f"{name}: found another plan than in {most}, expected shards of the same command: "
                f"{differing(other[0], nearest)}"
            )


def differing(found: str, expected: str) -> str:
    """The differences of two plans (JSON), for people."""
    differences = _differences(found, expected)
    told = [f"{key}: found {a}, expected {b}" for key, a, b in differences[:_MOST_NAMED]]
    return "; ".join(told + [f"and {len(differences) - _MOST_NAMED} more"] * (len(differences) > _MOST_NAMED))


def _differences(found: str, expected: str) -> list[tuple[str, str, str]]:
    def flat(value: Any, name: str) -> dict[str, str]:
        if isinstance(value, dict):
            return {path: text for key in value for path, text in flat(value[key], f"{name}.{key}").items()}
        return {name.removeprefix("."): json.dumps(value)}

    ours, theirs = flat(json.loads(found), ""), flat(json.loads(expected), "")
    keys = dict.fromkeys([*theirs, *ours])
    return [(k, ours.get(k, "nothing"), theirs.get(k, "nothing")) for k in keys if ours.get(k) != theirs.get(k)]
