"""Counts of decoded frames, and results of other work, in one file: a campaign can be stopped, resumed and added to.

Work is divided into units, each a pure function of its task and number, so units in the store are never computed
again::

    with softsense.Store("flash.fer") as store:
        softsense.measure_fer("flash-8/9", "0.006:0.008:0.0005", store=store)

The file is an SQLite database. It may hold the counts of any number of tasks, and belongs to one process at a time.
Results other than counts, such as the absorbing sets that a unit of a search found, are kept as JSON by identity and
unit.

Ranges of units that meet within a block (`softsense.counts`) are joined, so that stores of equal counts have equal
rows. A store also knows its *plans*: what was to be measured, by which build, and for a shard (`softsense.shards`)
which part of it. By these `softsense merge` tells whether two stores belong together.
"""

from __future__ import annotations

import bisect
import contextlib
import json
import math
import os
import sqlite3
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import FileError
from softsense.base import ShardDone
from softsense.counts import CHANNEL_ERRORS, Counts, Place, Row, block_start, gaps, place_of
from softsense.files import opened, replacing
from softsense.parts import Part, plan_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import AbstractContextManager

    from softsense._core import FrameTask
    from softsense.sampling import Request

APPLICATION_ID = 0x736F6674
"""The number that marks an SQLite file as a store: `soft`, in ASCII."""

VERSION = 3
"""Version of the layout. A file of a newer version is refused; one of version 2, which lacks `plans`, gets it."""

_COMMIT_S = 1.0
_WAIT_S = 5.0
_MOST_SHOWN = 60
_FORGET = "DELETE FROM counts WHERE identity = ? AND errors = ? AND first_unit = ?"
_MAGIC = b"SQLite format 3\0"
_PLANS = """CREATE TABLE plans (
    plan TEXT NOT NULL, part INTEGER NOT NULL, parts INTEGER NOT NULL, ended INTEGER NOT NULL,
    PRIMARY KEY (plan, part, parts)
) STRICT, WITHOUT ROWID"""
_SCHEMA = f"""
CREATE TABLE tasks (
    identity TEXT PRIMARY KEY, code TEXT NOT NULL, spec TEXT NOT NULL, unit_frames INTEGER NOT NULL
) STRICT;
CREATE TABLE counts (
    identity TEXT NOT NULL REFERENCES tasks, errors INTEGER NOT NULL, first_unit INTEGER NOT NULL,
    units INTEGER NOT NULL, frames INTEGER NOT NULL, failures INTEGER NOT NULL, undetected INTEGER NOT NULL,
    iterations TEXT NOT NULL, crc32 INTEGER NOT NULL,
    PRIMARY KEY (identity, errors, first_unit)
) STRICT, WITHOUT ROWID;
CREATE TABLE results (
    identity TEXT NOT NULL, unit INTEGER NOT NULL, result TEXT NOT NULL, crc32 INTEGER NOT NULL,
    PRIMARY KEY (identity, unit)
) STRICT, WITHOUT ROWID;
{_PLANS};
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""


class Store:
    """Counts of frames by task, number of raw bit errors and unit.

    Args:
        path: the file, which is created if it does not exist; None keeps the counts in memory.
        read_only: whether the file is only read, as any number of processes may do at once. It has to exist then.

    Raises:
        FileError: the file is not a store, is damaged, is of a newer version, or is in use; it is left as it was.
    """

    in_turn = False
    """Whether plans are carried out one after the other, not at once."""

    def __init__(self, path: str | os.PathLike[str] | None = None, *, read_only: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self._rows: dict[Place, list[Row]] = {}
        self._tasks: dict[str, tuple[str, str, int]] = {}
        self._results: dict[tuple[str, int], str] = {}
        self._plans: dict[tuple[str, int, int], bool] = {}
        self._doing = False
        self._committed = time.monotonic()
        with self._blaming():
            if self.path is None:
                self._base = sqlite3.connect(":memory:", isolation_level=None)
                self._base.executescript(_SCHEMA)
                return
            if not read_only and (not self.path.exists() or (self.path.is_file() and self.path.stat().st_size == 0)):
                _make(self.path)
            version = self._check_header()
            # A store of a process that was killed while it wrote has to be repaired first, even for reading.
            self._base = sqlite3.connect(self.path, timeout=_WAIT_S if read_only else 0, isolation_level=None)
        try:
            with self._blaming():
                if not read_only:
                    # The lock outlasts the transaction, and ends when the process ends in any way.
                    self._base.executescript("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;")
                self._load(version)
                if version < VERSION and not read_only:
                    self._base.executescript(f"BEGIN; {_PLANS}; PRAGMA user_version = {VERSION}; COMMIT;")
        except BaseException:
            self._base.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write everything that is pending, and release the file for other processes."""
        self.commit()
        self._base.close()

    def commit(self) -> None:
        """Write everything that is pending."""
        with self._blaming():
            if self._base.in_transaction:
                self._base.execute("COMMIT")
        self._committed = time.monotonic()

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """A context whose changes are written together at the end; after an exception none of them is."""
        self.commit()
        self._committed = math.inf
        try:
            yield
        except BaseException:
            with self._blaming():
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
            raise
        self.commit()

    def tasks(self) -> list[dict[str, Any]]:
        """Every task: its `identity`, `code`, `spec` and `unit_frames`, and the `frames` counted."""
        found = []
        for identity, (code, spec, unit_frames) in self._tasks.items():
            frames = sum(row.counts.frames for (of, _), rows in self._rows.items() if of == identity for row in rows)
            found.append(
                {
                    "identity": identity,
                    "code": code,
                    "spec": json.loads(spec),
                    "unit_frames": unit_frames,
                    "frames": frames,
                }
            )
        return found

    def rows(self) -> dict[Place, list[Row]]:
        """All counts by their place, in increasing order."""
        return {place: list(rows) for place, rows in self._rows.items() if rows}

    def counts(self, task: FrameTask, errors: int | None, units: int) -> Counts:
        """Counts of those of the first `units` units, whole blocks, that are in the store.

        With `errors` None the channel draws errors.
        """
        return sum((row.counts for row in self._of(task, errors) if row.end <= units), Counts())

    def missing(self, task: FrameTask, errors: int | None, first_unit: int, units: int) -> list[tuple[int, int]]:
        """The gaps in a range of units, each as its first unit and its number of units."""
        found = gaps(self._of(task, errors), first_unit, first_unit + units)
        return [(start, end - start) for start, end in found]

    def ask(self, request: Request) -> list[tuple[int, int]]:
        """The gaps to be counted before a plan with this request goes on, each as its first unit and its end."""
        return gaps(self._of(request.task, request.errors), 0, request.units)

    def promised(self) -> list[tuple[FrameTask, int | None, int, int]] | None:
        """Ranges that a shard is to count (task, errors, first unit, end), as plans went on without; None otherwise."""
        return None

    def to_do(self, works: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """The units of work other than counting, by identity and number, that are to be done here."""
        return [work for work in works if work not in self._results]

    def whole(self, number: int, of: str) -> AbstractContextManager[bool]:
        """A context for step `number` of several, known as `of`, that one shard does; yields whether it does it."""
        return contextlib.nullcontext(True)

    def told(self) -> str:
        """A message about what was done here; for a shard, that it has done its share."""
        return self._name

    @contextlib.contextmanager
    def doing(self, **plan: Any) -> Iterator[None]:
        """A context in which the store belongs to this plan, which is plain data; an inner plan is part of the outer.

        Raises `FileError` where a shard is of another plan, or the file cannot be written.
        """
        if self._doing:
            yield
            return
        self._doing = True
        try:
            self._begin(plan_text(plan))
            yield
        except ShardDone:
            self._end()
            raise
        else:
            self._end()
        finally:
            self._doing = False

    def _begin(self, plan: str) -> None:
        self.note(Part(plan, 1, 1, ended=True))

    def _end(self) -> None:
        """Note that a shard has done its share."""

    def note(self, part: Part) -> None:
        """Note that the store holds this part of a plan, or that the part has ended."""
        if self._plans.get(part[:3]) != part.ended:
            self._plans[part[:3]] = part.ended
            self._execute("INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?)", part)
            if self._committed < math.inf:
                self.commit()

    def plans(self) -> list[Part]:
        """The plans of the store, and the parts of them that it holds."""
        return [Part(*part, ended) for part, ended in self._plans.items()]

    def add(
        self, task: FrameTask, code: str, errors: int | None, first_unit: int, units: int, counts: dict[str, Any]
    ) -> None:
        """Keep the counts that `FrameTask.count` gave for a range of units; the file is written about once a second.

        Raises:
            FileError: units that are here already, counts that cannot be, or a file that cannot be written.
        """
        row = Row(first_unit, units, Counts(**{**counts, "iterations": tuple(counts["iterations"])}))
        self.add_rows(task.identity, (code, task.spec_json, task.unit_frames), errors, [row])

    def add_rows(self, identity: str, of: tuple[str, str, int], errors: int | None, rows: Iterable[Row]) -> None:
        """Keep counts of several ranges; `of` has the name of the code, the task's `spec_json` and `unit_frames`."""
        place = (identity, CHANNEL_ERRORS if errors is None else errors)
        if identity not in self._tasks:
            self._tasks[identity] = of
            self._execute("INSERT INTO tasks VALUES (?, ?, ?, ?)", (identity, *of))
        for row in rows:
            added = self._joined(place, self._keep(place, row))
            values = _values(*place, added)
            self._execute(f"INSERT INTO counts VALUES ({', '.join('?' * 9)})", (*values, _crc(values)))
        self._commit_soon()

    def drop(self, place: Place, rows: Iterable[Row]) -> None:
        """Forget counts."""
        for row in rows:
            self._rows[place].remove(row)
            self._execute(_FORGET, (*place, row.first_unit))

    def result(self, identity: str, unit: int) -> Any:
        """The result of a unit of the work `identity`, as JSON has it; None if it is not in the store."""
        found = self._text(identity, unit)
        with self._blaming():
            return None if found is None else json.loads(found)

    def _text(self, identity: str, unit: int) -> str | None:
        return self._results.get((identity, unit))

    def add_result(self, identity: str, unit: int, result: Any) -> None:
        """Keep the result of a unit of work other than counting; the file is written about once a second.

        Raises:
            FileError: a file that cannot be written.
        """
        self.add_text(identity, unit, json.dumps(result, allow_nan=False))

    def add_text(self, identity: str, unit: int, text: str) -> None:
        """Keep a result that is JSON already."""
        values = (identity, unit, text)
        self._execute("INSERT INTO results VALUES (?, ?, ?, ?)", (*values, _crc(values)))
        self._results[identity, unit] = text
        self._commit_soon()

    def texts(self) -> dict[tuple[str, int], str]:
        """All results of work other than counting, as JSON, by identity and unit."""
        return dict(self._results)

    def known(self) -> dict[str, tuple[str, str, int]]:
        """The name of its code, `spec_json` and `unit_frames` of each task, by its identity."""
        return dict(self._tasks)

    def _execute(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._blaming():
            if not self._base.in_transaction:
                self._base.execute("BEGIN")
            self._base.execute(statement, values)

    def _commit_soon(self) -> None:
        if time.monotonic() - self._committed > _COMMIT_S:
            self.commit()

    def _of(self, task: FrameTask, errors: int | None) -> list[Row]:
        known = self._tasks.get(task.identity)
        if known and known[1:] != (task.spec_json, task.unit_frames):
            self._refuse(
                f"task {task.identity[:12]}: found {known[1]} in units of {known[2]} frames, "
                f"expected {task.spec_json} in units of {task.unit_frames}"
            )
        return self._rows.get(place_of(task, errors), [])

    def _keep(self, of: Place, row: Row) -> int:
        """Put a row in its place, if it is possible and counts nothing twice; returns the place."""
        identity, errors = of
        unit_frames = self._tasks[identity][2]
        counts = row.counts
        place = f"task {identity[:12]}, errors {errors}, units {row.first_unit} to {row.end - 1}"
        if row.first_unit < 0 or row.units < 1 or counts.frames != row.units * unit_frames:
            self._refuse(
                f"{place}: found {counts.frames} frames in {row.units} units, expected {unit_frames} in each unit"
            )
        converged = sum(counts.iterations)
        if not (
            min(counts.failures, counts.undetected, *counts.iterations, 0) == 0
            and counts.undetected <= counts.failures <= counts.frames
            and counts.frames - counts.failures <= converged <= counts.frames
        ):
            self._refuse(
                f"{place}: found {counts.failures} failures, {counts.undetected} of them undetected, and "
                f"{converged} converged of {counts.frames} frames, expected counts that fit together"
            )
        rows = self._rows.setdefault(of, [])
        at = bisect.bisect(rows, row.first_unit, key=lambda each: each.first_unit)
        if (at and rows[at - 1].end > row.first_unit) or (at < len(rows) and row.end > rows[at].first_unit):
            self._refuse(f"{place}: found units that are counted already, expected each unit once")
        rows.insert(at, row)
        return at

    def _joined(self, place: Place, at: int) -> Row:
        """Join a row with those that it meets within its block, which are forgotten; returns the joined row."""
        rows, row = self._rows[place], self._rows[place][at]
        first, last = at, at + 1
        if (
            at
            and rows[at - 1].end == row.first_unit != block_start(row.first_unit)
            and self._joins(place, rows[at - 1])
        ):
            first -= 1
        if last < len(rows) and rows[last].first_unit == row.end != block_start(row.end):
            last += self._joins(place, rows[last])
        met = rows[first:last]
        joined = Row(met[0].first_unit, met[-1].end - met[0].first_unit, sum((each.counts for each in met), Counts()))
        for each in met:
            if each is not row:
                self._execute(_FORGET, (*place, each.first_unit))
        rows[first:last] = [joined]
        return joined

    def _joins(self, place: Place, row: Row) -> bool:
        """Whether a row may be joined with others."""
        return True

    def _load(self, version: int) -> None:
        tables = self._base.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql").fetchall()
        # Views and triggers of somebody else would run whenever a table is read or written.
        if tables != (expected := _tables(version)):
            found = ", ".join(" ".join(str(sql).split())[:_MOST_SHOWN] for (sql,) in tables if (sql,) not in expected)
            self._refuse(f"found {found or 'too few tables'}, expected the tables of a store")
        if (state := self._base.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            self._refuse(f"found a damaged database ({' '.join(state.split())}), expected an undamaged one")
        for identity, *task in self._base.execute("SELECT identity, code, spec, unit_frames FROM tasks"):
            self._tasks[identity] = (task[0], task[1], task[2])
            json.loads(task[1])
        for *values, crc in self._base.execute("SELECT * FROM counts ORDER BY identity, errors, first_unit"):
            identity, errors, first_unit, units, frames, failures, undetected, iterations = values
            place = f"task {identity[:12]}, errors {errors}, unit {first_unit}"
            if _crc(values) != crc:
                self._refuse(f"{place}: found a damaged row, expected one that fits its checksum {crc:#010x}")
            if identity not in self._tasks:
                self._refuse(
                    f"{place}: found counts of an unknown task, expected only counts of the tasks of this store"
                )
            counts = Counts(frames, failures, undetected, tuple(json.loads(iterations)))
            self._keep((identity, errors), Row(first_unit, units, counts))

        for *values, crc in self._base.execute("SELECT * FROM results ORDER BY identity, unit"):
            identity, unit, text = values
            if _crc(values) != crc:
                self._refuse(
                    f"result {identity[:12]}, unit {unit}: found a damaged row, expected one that fits its checksum "
                    f"{crc:#010x}"
                )
            self._results[identity, unit] = text
        if version == VERSION:
            for plan, part, parts, ended in self._base.execute("SELECT * FROM plans"):
                json.loads(plan)
                self._plans[plan, part, parts] = bool(ended)

    def _check_header(self) -> int:
        """Refuse a foreign file before SQLite touches it."""
        assert self.path is not None
        with opened(self.path) as file:
            header = file.read(100) or b""
        if len(header) < 100 or not header.startswith(_MAGIC):
            self._refuse("found a file that is no SQLite database, expected a store of softsense")
        application, version = int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big")
        if application != APPLICATION_ID:
            self._refuse(f"found an SQLite database of application {application:#010x}, expected a store of softsense")
        if not VERSION - 1 <= version <= VERSION:
            self._refuse(f"found a store of version {version}, expected {VERSION}")
        return version

    def _refuse(self, message: str) -> None:
        # Names of tasks are text of the file, which may have line breaks.
        raise FileError(f"{self._name}: {_in_one_line(message)}")

    @property
    def _name(self) -> str:
        return "store in memory" if self.path is None else str(self.path)

    def _blaming(self) -> _Blaming:
        return _Blaming(self._name)


def _in_one_line(text: str) -> str:
    """A text in which characters that cannot be printed, such as line breaks, are escapes."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


@contextlib.contextmanager
def opened_store(store: Store | str | os.PathLike[str] | None) -> Iterator[Store]:
    """A store as it is, or opened and closed if it is a file or None."""
    if isinstance(store, Store):
        yield store
    else:
        with Store(store) as opened:
            yield opened


class _Blaming:
    """A context that turns errors of SQLite and of the operating system into one error that names the file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise FileError(
                f"{self._name}: found a store that another process uses, expected a store that no process uses: wait "
                "for its end, or choose another store"
            ) from None
        if isinstance(error, sqlite3.Error | ValueError | TypeError | RecursionError):
            # SQLite's message may quote a table's definition.
            raise FileError(f"{self._name}: cannot use as a store: {_in_one_line(str(error))}") from None
        if isinstance(error, OSError):
            raise FileError(f"{self._name}: cannot use as a store: {error.strerror or error}") from None


def _make(path: Path) -> None:
    """Make an empty store under another name first, so that there is never half a one."""
    with replacing(path) as partial:
        base = sqlite3.connect(partial, isolation_level=None)
        try:
            base.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        finally:
            base.close()


def _tables(version: int) -> list[tuple[str]]:
    """The definitions that SQLite keeps of the tables of a store."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.executescript(_SCHEMA if version == VERSION else _SCHEMA.replace(f"{_PLANS};", ""))
        return base.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql").fetchall()


def _values(identity: str, errors: int, row: Row) -> tuple[Any, ...]:
    counts = row.counts
    numbers = (counts.frames, counts.failures, counts.undetected)
    return (identity, errors, row.first_unit, row.units, *numbers, json.dumps(counts.iterations))


def _crc(values: Iterable[Any]) -> int:
    return zlib.crc32("|".join(map(str, values)).encode())
