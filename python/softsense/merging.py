"""Stores added up: shards of a campaign, or counts by several people of the same measurement.

A range of frames that several stores have counts once. Where two ranges overlap in part, neither can be cut, as only
the whole of each was counted. Of all ranges those are kept that do not overlap and hold the most frames. Frames of the
others are reported, to be counted anew. So the order of the stores changes nothing.

Stores are merged if they belong to the same plans, or to none; differences are reported by name.
"""

from __future__ import annotations

import bisect
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from softsense._core import FileError
from softsense.base import Progress
from softsense.counts import Counts, Place, Row
from softsense.parts import Merged, Part, check_plans, missing_parts
from softsense.points.sharing import merge_points
from softsense.store import Store


@dataclass(frozen=True)
class _Source:
    name: str
    tasks: dict[str, tuple[str, str, int]]
    rows: dict[Place, list[Row]]
    texts: dict[tuple[str, int], str]
    parts: list[Part]


def merge(
    out: str | os.PathLike[str], sources: Iterable[str | os.PathLike[str]], progress: Progress | None = None
) -> Merged:
    """Add stores up, in one that continues like any other; or unite the points of shards of a sweep.

    Args:
        out: the store into which they are merged, or the folder of the sweep; made if there is none. Its own content
            counts too.
        sources: stores, such as those of `softsense.Shard`, or folders of points, in any order; they stay unchanged.
        progress: called with a name, the stores read so far and their share of all.

    Returns the counts of the merge. The order of the stores changes nothing. `out` is written at once, or not at all.

    Raises:
        FileError: a file is no store, is damaged or in use; two of them are of different plans, or contradict each
            other; or `out` cannot be written. The message names the files.
    """
    paths = list(dict.fromkeys(Path(source) for source in sources))
    if not paths:
        raise FileError("merge: found no shards, expected at least one")
    if Path(out).is_dir() or any(path.is_dir() for path in paths):
        return merge_points(Path(out), paths, progress)
    found = []
    for number, path in enumerate(paths):
        if Path(out).exists() and path.exists() and path.samefile(out):
            raise FileError(
                f"{path}: found this store both as target and as source, expected a target that is none of the sources"
            )
        found.append(_read(path))
        if progress:
            progress("reading stores", number + 1, (number + 1) / len(paths))
    here = _read(Path(out)) if Path(out).exists() else _Source(str(out), {}, {}, {}, [])
    every = [here, *found]
    # The store of all may belong to other plans, too: the base of shards may have been measured for another goal.
    check_plans((source.name, source.parts) for source in found)
    _check_tasks(every)
    chosen = {place: _chosen(place, every) for place in dict.fromkeys(p for each in every for p in each.rows)}
    texts = _results(every)
    parts = {part for source in found for part in source.parts}
    ended = {part[:3] for part in parts if part.ended}
    with Store(out) as store, store.at_once():
        for place, (rows, *_) in chosen.items():
            had, wanted = set(here.rows.get(place, ())), set(rows)
            store.drop(place, had - wanted)
            of = next(source.tasks[place[0]] for source in every if place[0] in source.tasks)
            store.add_rows(place[0], of, place[1], [row for row in rows if row not in had])
        new = [(key, text) for key, text in texts.items() if key not in here.texts]
        for key, text in new:
            store.add_text(*key, text)
        for part in sorted(parts):
            store.note(part._replace(ended=part[:3] in ended))
    before = _frames(here.rows.values())
    frames = _frames(rows for rows, *_ in chosen.values())
    twice, left_out = sum(again for _, again, _ in chosen.values()), sum(across for *_, across in chosen.values())
    of_all, missing, unfinished = missing_parts(parts)
    held = len(paths), "frames", frames, frames - before, len(new), twice, left_out
    return Merged(Path(out), *held, of_all, missing, unfinished)


def _read(path: Path) -> _Source:
    if not path.exists():
        raise FileError(f"{path}: found no file, expected a store")
    with Store(path, read_only=True) as store:
        return _Source(str(path), store.known(), store.rows(), store.texts(), store.plans())


def _frames(rows: Iterable[Iterable[Row]]) -> int:
    return sum(row.counts.frames for each in rows for row in each)


def _check_tasks(sources: Sequence[_Source]) -> None:
    tasks: dict[str, tuple[str, _Source]] = {}
    for source in sources:
        for identity, task in source.tasks.items():
            told, first = tasks.setdefault(identity, (json.dumps(task[1:]), source))
            if told != json.dumps(task[1:]):
                raise FileError(
                    f"{source.name}: task {identity[:12]}: found {task[1]} in units of {task[2]} frames, expected "
                    f"the same as in {first.name}"
                )


def _chosen(place: Place, sources: Sequence[_Source]) -> tuple[list[Row], int, int]:
    """The rows of all sources that do not overlap and have the most units.

    Also the number of frames that several sources have, and of those that are left out.
    """
    by_range: dict[tuple[int, int], tuple[Row, _Source]] = {}
    twice = 0
    for source in sources:
        for row in source.rows.get(place, ()):
            known, first = by_range.setdefault((row.first_unit, row.end), (row, source))
            if known is not row:
                twice += row.counts.frames
                _check_within(place, (row, source), (known, first))
                _check_within(place, (known, first), (row, source))
    rows = [row for row, _ in by_range.values()]
    rows.sort(key=lambda row: (row.end, row.first_unit))
    # Rows by their end: the most units in the first ones, and the last row that is taken for them.
    most, ends = [0], [row.end for row in rows]
    for index, row in enumerate(rows):
        before = bisect.bisect_right(ends, row.first_unit, hi=index)
        most.append(max(most[index], most[before] + row.units))
    chosen: list[Row] = []
    index = len(rows)
    while index:
        if most[index] == most[index - 1]:
            index -= 1
            continue
        chosen.append(rows[index - 1])
        index = bisect.bisect_right(ends, rows[index - 1].first_unit, hi=index - 1)
    chosen.reverse()
    across, taken, starts = 0, set(chosen), [row.first_unit for row in chosen]
    for row in rows:
        if row in taken:
            continue
        around = chosen[max(0, bisect.bisect_right(starts, row.first_unit) - 1)]
        if around.first_unit <= row.first_unit and row.end <= around.end:
            twice += row.counts.frames
            _check_within(place, by_range[row.first_unit, row.end], by_range[around.first_unit, around.end])
        else:
            across += row.counts.frames
    return chosen, twice, across


def _check_within(place: Place, inner: tuple[Row, _Source], outer: tuple[Row, _Source]) -> None:
    """Raise `FileError` if a part of some frames has more of any count than all of them have."""

    def numbers(counts: Counts) -> list[int]:
        return [counts.failures, counts.undetected, *counts.iterations]

    (row, source), (whole, first) = inner, outer
    pairs = [numbers(row.counts), numbers(whole.counts)]
    length = max(map(len, pairs))
    ours, theirs = ([*each, *[0] * (length - len(each))] for each in pairs)
    if any(a > b for a, b in zip(ours, theirs, strict=True)):
        raise FileError(
            f"{source.name}: task {place[0][:12]}, errors {place[1]}, units {row.first_unit} to {row.end - 1}: "
            f"found {row.counts.failures} failures, expected the same as in {first.name}, which has "
            f"{whole.counts.failures} in units {whole.first_unit} to {whole.end - 1}"
        )


def _results(sources: Sequence[_Source]) -> dict[tuple[str, int], str]:
    """Results of work other than counting, each once."""
    known: dict[tuple[str, int], tuple[str, _Source]] = {}
    for source in sources:
        for key, text in sorted(source.texts.items()):
            before, first = known.setdefault(key, (text, source))
            if before != text:
                raise FileError(
                    f"{source.name}: result {key[0][:12]}, unit {key[1]}: found another result than in "
                    f"{first.name}, expected the same"
                )
    return {key: text for key, (text, _) in known.items()}
