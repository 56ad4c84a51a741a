"""Counts of decoded frames, and results of other work, in one file: a campaign can be stopped, resumed and added to.

Work is divided into units, each a pure function of its task and number, so units in the store are never computed
again::

    with softsense.Store("flash.fer") as store:
        softsense.measure_fer("flash-8/9", "0.006:0.008:0.0005", store=store)

The file is an SQLite database. It may hold the counts of any number of tasks, and belongs to one process at a time.
Results other than counts, such as the absorbing sets that a unit of a search found, are kept as JSON by identity and
unit.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import FileError
from softsense.files import opened, replacing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from softsense._core import FrameTask

APPLICATION_ID = 0x736F6674
"""The number that marks an SQLite file as a store: `soft`, in ASCII."""

VERSION = 2
"""Version of the layout; files of a newer version are refused."""

CHANNEL_ERRORS = -1
"""Stands in the file for frames whose number of raw bit errors the channel draws."""

_COMMIT_S = 1.0
_MOST_SHOWN = 60
_MAGIC = b"SQLite format 3\0"
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
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Counts:
    """Outcomes of a number of frames.

    Attributes:
        frames: frames decoded.
        failures: frames that the decoder gave up or decided wrongly.
        undetected: frames that were reported as decoded but are wrong; part of the failures.
        iterations: frames that converged after 0, 1, 2, ... iterations.
    """

    frames: int = 0
    failures: int = 0
    undetected: int = 0
    iterations: tuple[int, ...] = ()

    def __add__(self, other: Counts) -> Counts:
        longer, shorter = sorted((self.iterations, other.iterations), key=len, reverse=True)
        iterations = tuple(n + (shorter[i] if i < len(shorter) else 0) for i, n in enumerate(longer))
        return Counts(
            self.frames + other.frames,
            self.failures + other.failures,
            self.undetected + other.undetected,
            iterations,
        )


@dataclass(frozen=True)
class _Row:
    first_unit: int
    units: int
    counts: Counts


class Store:
    """Counts of frames by task, number of raw bit errors and unit.

    Args:
        path: the file, which is created if it does not exist; None keeps the counts in memory.

    Raises:
        FileError: the file is not a store, is damaged, is of a newer version, or is in use; it is left as it was.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._rows: dict[tuple[str, int], list[_Row]] = {}
        self._tasks: dict[str, tuple[str, str, int]] = {}
        self._results: dict[tuple[str, int], str] = {}
        self._committed = time.monotonic()
        with self._blaming():
            if self.path is None:
                self._base = sqlite3.connect(":memory:", isolation_level=None)
                self._base.executescript(_SCHEMA)
                return
            if not self.path.exists() or (self.path.is_file() and self.path.stat().st_size == 0):
                _make(self.path)
            self._check_header()
            self._base = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        try:
            with self._blaming():
                # The lock outlasts the transaction, and ends when the process ends in any way.
                self._base.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._base.execute("BEGIN EXCLUSIVE")
                self._base.execute("COMMIT")
                self._load()
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

    def counts(self, task: FrameTask, errors: int | None, units: int) -> Counts:
        """Counts of those of the first `units` units that are in the store; with `errors` None the channel draws
        errors.
        """
        return sum((row.counts for row in self._of(task, errors) if row.first_unit < units), Counts())

    def missing(self, task: FrameTask, errors: int | None, first_unit: int, units: int) -> list[tuple[int, int]]:
        """The gaps in a range of units, each as its first unit and its number of units."""
        gaps = []
        start, end = first_unit, first_unit + units
        for row in self._of(task, errors):
            if row.first_unit + row.units <= start:
                continue
            if row.first_unit >= end:
                break
            if row.first_unit > start:
                gaps.append((start, row.first_unit - start))
            start = row.first_unit + row.units
        if start < end:
            gaps.append((start, end - start))
        return gaps

    def add(
        self, task: FrameTask, code: str, errors: int | None, first_unit: int, units: int, counts: dict[str, Any]
    ) -> None:
        """Keep what `FrameTask.count` said of a range of units; about once a second it is written for good.

        Raises:
            FileError: units that are here already, counts that cannot be, or a file that cannot be written.
        """
        weight = CHANNEL_ERRORS if errors is None else errors
        row = _Row(first_unit, units, Counts(**{**counts, "iterations": tuple(counts["iterations"])}))
        with self._blaming():
            if not self._base.in_transaction:
                self._base.execute("BEGIN")
            if task.identity not in self._tasks:
                self._tasks[task.identity] = (code, task.spec_json, task.unit_frames)
                self._base.execute(
                    "INSERT INTO tasks VALUES (?, ?, ?, ?)", (task.identity, *self._tasks[task.identity])
                )
            self._keep(task.identity, weight, row)
            values = _values(task.identity, weight, row)
            self._base.execute(f"INSERT INTO counts VALUES ({', '.join('?' * 9)})", (*values, _crc(values)))
        if time.monotonic() - self._committed > _COMMIT_S:
            self.commit()

    def result(self, identity: str, unit: int) -> Any:
        """The result of a unit of the work `identity`, as JSON has it; None if it is not in the store."""
        found = self._results.get((identity, unit))
        with self._blaming():
            return None if found is None else json.loads(found)

    def add_result(self, identity: str, unit: int, result: Any) -> None:
        """Keep what a unit of other work than counting came to; about once a second it is written for good.

        Raises:
            FileError: a file that cannot be written.
        """
        text = json.dumps(result, allow_nan=False)
        with self._blaming():
            if not self._base.in_transaction:
                self._base.execute("BEGIN")
            values = (identity, unit, text)
            self._base.execute("INSERT INTO results VALUES (?, ?, ?, ?)", (*values, _crc(values)))
        self._results[identity, unit] = text
        if time.monotonic() - self._committed > _COMMIT_S:
            self.commit()

    def _of(self, task: FrameTask, errors: int | None) -> list[_Row]:
        known = self._tasks.get(task.identity)
        if known and known[1:] != (task.spec_json, task.unit_frames):
            self._refuse(
                f"task {task.identity[:12]}: found {known[1]} in units of {known[2]} frames, "
                f"expected {task.spec_json} in units of {task.unit_frames}"
            )
        return self._rows.get((task.identity, CHANNEL_ERRORS if errors is None else errors), [])

    def _keep(self, identity: str, errors: int, row: _Row) -> None:
        """Put a row in its place, if it can be true and counts nothing twice."""
        unit_frames = self._tasks[identity][2]
        counts = row.counts
        place = f"task {identity[:12]}, errors {errors}, units {row.first_unit} to {row.first_unit + row.units - 1}"
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
                f"{place}: found {counts.failures} failures, {counts.undetected} of them undetected, and {converged} "
                f"converged of {counts.frames} frames, expected parts of a whole"
            )
        rows = self._rows.setdefault((identity, errors), [])
        at = len(rows)
        while at and rows[at - 1].first_unit > row.first_unit:
            at -= 1
        before = rows[at - 1] if at else None
        after = rows[at] if at < len(rows) else None
        if (before and before.first_unit + before.units > row.first_unit) or (
            after and row.first_unit + row.units > after.first_unit
        ):
            self._refuse(f"{place}: found units that are counted already, expected each once")
        rows.insert(at, row)

    def _load(self) -> None:
        tables = self._base.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql").fetchall()
        # Views and triggers of somebody else would run whenever a table is read or written.
        if tables != (expected := _tables()):
            found = ", ".join(" ".join(str(sql).split())[:_MOST_SHOWN] for (sql,) in tables if (sql,) not in expected)
            self._refuse(f"found {found or 'too few tables'}, expected those of a store")
        if (state := self._base.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            self._refuse(f"found a damaged database ({' '.join(state.split())}), expected a whole one")
        for identity, *task in self._base.execute("SELECT identity, code, spec, unit_frames FROM tasks"):
            self._tasks[identity] = (task[0], task[1], task[2])
            json.loads(task[1])
        for *values, crc in self._base.execute("SELECT * FROM counts ORDER BY identity, errors, first_unit"):
            identity, errors, first_unit, units, frames, failures, undetected, iterations = values
            place = f"task {identity[:12]}, errors {errors}, unit {first_unit}"
            if _crc(values) != crc:
                self._refuse(f"{place}: found a damaged row, expected one that fits its checksum {crc:#010x}")
            if identity not in self._tasks:
                self._refuse(f"{place}: found counts of an unknown task, expected it among the tasks")
            self._keep(
                identity,
                errors,
                _Row(first_unit, units, Counts(frames, failures, undetected, tuple(json.loads(iterations)))),
            )

        for *values, crc in self._base.execute("SELECT * FROM results ORDER BY identity, unit"):
            identity, unit, text = values
            if _crc(values) != crc:
                self._refuse(
                    f"result {identity[:12]}, unit {unit}: found a damaged row, expected one that fits its checksum "
                    f"{crc:#010x}"
                )
            self._results[identity, unit] = text

    def _check_header(self) -> None:
        """Refuse a foreign file before SQLite touches it."""
        assert self.path is not None
        with opened(self.path) as file:
            header = file.read(100) or b""
        if len(header) < 100 or not header.startswith(_MAGIC):
            self._refuse("found a file that is no SQLite database, expected a store of softsense")
        application, version = int.from_bytes(header[68:72], "big"), int.from_bytes(header[60:64], "big")
        if application != APPLICATION_ID:
            self._refuse(f"found an SQLite database of application {application:#010x}, expected a store of softsense")
        if version != VERSION:
            self._refuse(f"found a store of version {version}, expected {VERSION}")

    def _refuse(self, message: str) -> None:
        # Names of tasks are text of the file, which may have lines.
        raise FileError(f"{self._name}: {_in_one_line(message)}")

    @property
    def _name(self) -> str:
        return "store in memory" if self.path is None else str(self.path)

    def _blaming(self) -> _Blaming:
        return _Blaming(self._name)


def _in_one_line(text: str) -> str:
    """A text in which what cannot be printed, as ends of lines, is an escape."""
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
    """Turns what SQLite and the operating system say into one error that names the file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise FileError(f"{self._name}: found a store that another process uses, expected it to be free") from None
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


def _tables() -> list[tuple[str]]:
    """What SQLite says of the tables of a store."""
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.executescript(_SCHEMA)
        return base.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY sql").fetchall()


def _values(identity: str, errors: int, row: _Row) -> tuple[Any, ...]:
    counts = row.counts
    numbers = (counts.frames, counts.failures, counts.undetected)
    return (identity, errors, row.first_unit, row.units, *numbers, json.dumps(counts.iterations))


def _crc(values: Iterable[Any]) -> int:
    return zlib.crc32("|".join(map(str, values)).encode())
