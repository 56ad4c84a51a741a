"""What if files that carry our names are somebody else's: manifests, progress, plans, points, locks and stores?

`SOFTSENSE_EXAMPLES=100000 pytest tests/test_foreign_files.py` draws more of them; always the same ones.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from softsense import FileError, Store, cli, following
from softsense.files import LOCK, lock_of
from softsense.folders import Folder, default_folder, find
from softsense.live.results import Results, text
from softsense.live.server import as_json
from softsense.manifests import MANIFEST, Manifest
from softsense.shapes import Between, misfit

EXAMPLES = int(os.environ.get("SOFTSENSE_EXAMPLES", "150"))
many = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 2, -1, 2**63, 2**64, 10**400, -(10**19)])
    | st.floats()
    | st.sampled_from([0.5, 1e11, 1e308, 1e-320, float("nan"), float("inf")])
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "\ud800", "\0", "../x", "/etc/passwd", "\x1b[2J", "run", "sweep", "fer", "running", "x" * 999]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NOISE = st.binary(max_size=200) | st.sampled_from(
    [b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b"\xff", b"", b"null"]
)


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value of a document."""
    if at:
        yield at
    below = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in below:
        yield from places(value, (*at, key))


@st.composite
def spoiled(draw: st.DrawFn, good: Any) -> bytes:
    """A document that is right but for some values, keys, elements or bytes; or noise."""
    if draw(st.integers(0, 9)) == 0:
        return draw(NOISE)
    document = copy.deepcopy(good)
    for _ in range(draw(st.integers(0, 3))):
        if not (known := list(places(document))):
            break
        *way, last = draw(st.sampled_from(known))
        inside = document
        for key in way:
            inside = inside[key]
        match draw(st.integers(0, 3)):
            case 0:
                del inside[last]
            case 1 if isinstance(inside, list):
                inside.insert(last, draw(VALUES))
            case 1:
                inside[draw(st.text(max_size=6))] = draw(VALUES)
            case _:
                inside[last] = draw(VALUES)
    content = bytearray(json.dumps(document).encode())
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        at = draw(st.integers(0, max(0, len(content) - 1)))
        content[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(content)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that all examples share, as making folders takes longer than reading files."""
    name = tempfile.mkdtemp(prefix="softsense-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    yield Path(name)
    shutil.rmtree(name)


def run(*words: str | Path) -> tuple[int, str, list[str]]:
    """The exit code of a command, what it says, and its lines of complaint; all of it is text that can be written."""
    said, complained = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = cli.main([str(word) for word in words])
    out, err = (each.buffer.getvalue().decode() for each in (said, complained))  # type: ignore[attr-defined]
    return code, out, err.splitlines()


SUMMARY = {"name": "two_step", "seed": 1, "response": {"read": {"mean_us": 3.0, "p99_us": 7.0}}, "requests": 5}
SIGNED = json.loads(
    Manifest(
        "run",
        ["softsense", "run", "a.toml"],
        {"name": "a.toml", "sha256": "0" * 64},
        [{"file": "a.trace", "sha256": "1" * 64, "options": {"beyond": "wrap"}}],
        [1, 2, 3],
        {"policies": ["two_step"]},
    ).signed({"summary.json": None, "table.txt": "2" * 64})
)


@many
@given(manifest=spoiled(SIGNED), summary=spoiled(SUMMARY), kind=st.sampled_from(["run", "fer", "table", "reproduce"]))
def test_any_manifest_is_read_or_skipped(folder: Path, manifest: bytes, summary: bytes, kind: str) -> None:
    """And so are the numbers beside it."""
    strange, good = folder / "all" / "strange", folder / "all" / "good"
    strange.mkdir(parents=True, exist_ok=True)
    if not good.exists():
        with Folder(good) as whole:
            whole.write("summary.json", json.dumps(SUMMARY))
            whole.sign(Manifest("run", seeds=[1]))
    (strange / MANIFEST).write_bytes(manifest.replace(b'"kind": "run"', f'"kind": "{kind}"'.encode()))
    for name in ("summary", "fer", "table", "claims"):
        (strange / f"{name}.json").write_bytes(summary)
    found = find(folder / "all")
    assert len(found.results) + len(found.skipped) == 2
    code, said, complained = run("results", "list", folder / "all")
    assert code == 0
    assert f"{good} " in said
    assert len(complained) == len(found.skipped)
    assert len(json.loads(run("results", "list", folder / "all", "--json")[1])) == len(found.results)
    own = default_folder(strange, Manifest("run"))
    assert own.name.startswith("strange-")
    commands: list[list[str | Path]] = [["show", strange]]
    if not found.skipped:
        commands += [["show", strange, "--json"], ["compare", strange, good], ["compare", good, strange, "--all"]]
        exported = [folder / f"export.{suffix}" for suffix in ("json", "csv", "parquet")]
        commands += [["export", strange, "--out", file, "--force"] for file in exported]
    for words in commands:
        code, said, complained = run("results", *words)
        assert code in (0, 2), (words, complained)
        assert len(complained) == (code == 2), (words, complained)
        assert code == 2 or not found.skipped


TOLD = {
    "what": "sweep",
    "name": "s",
    "state": "running",
    "process": os.getpid(),
    "started_s": 1.7e9,
    "told_s": 1.7e9 + 5,
    "doing": "sweeping",
    "count": 3,
    "fraction": 0.5,
    "history": [[0.0, 0.0], [1.0, 0.25], [2.0, 0.5]],
}
POINT = {"point": 1, "id": "one", "setting": {"f.g": 0.5}, "policy": "two_step", "trace": None, "seed": 1}
PLAN = {"fields": ["f.g"], "pair": ["response.read.mean_us", "lifetime.tbw"], "points": [POINT, POINT | {"id": "two"}]}


def parquet(columns: dict[str, list[Any]]) -> bytes:
    """A file of points."""
    buffer = io.BytesIO()
    pl.DataFrame(columns, strict=False).write_parquet(buffer)
    return buffer.getvalue()


PARTS = [
    parquet({"id": ["one", "two"], "response.read.mean_us": [1.0, None], "lifetime.tbw": [2, 3]}),
    parquet({"id": ["one"], "response.read.mean_us": [float("inf")], "lifetime.tbw": ["text"]}),
    parquet({"id": [1], "response.read.mean_us": [1.0]}),
    parquet({"id": ["one", "one"], "response.read.mean_us": [[1.0], [2.0]], "lifetime.tbw": [True, None]}),
    parquet({}),
]


@many
@given(
    told=spoiled(TOLD), plan=spoiled(PLAN), part=st.sampled_from(PARTS), at=st.integers(0), change=st.binary(max_size=2)
)
def test_any_progress_is_shown_or_skipped(
    folder: Path, told: bytes, plan: bytes, part: bytes, at: int, change: bytes
) -> None:
    """The page goes on with all other runs."""
    top = folder / "followed"
    (top / "strange" / "points").mkdir(parents=True, exist_ok=True)
    (top / "good").mkdir(exist_ok=True)
    (top / "good" / following.NAME).write_text(json.dumps(TOLD))
    (top / "strange" / following.NAME).write_bytes(told)
    (top / "strange" / following.PLAN).write_bytes(plan)
    for left in (top / "strange" / "points").iterdir():
        left.unlink()
    if change:
        at %= len(part)
        part = part[:at] + change + part[at + len(change) :]
    (top / "strange" / "points" / f"{hashlib.sha256(part).hexdigest()}.parquet").write_bytes(part)
    state = Results(top).state()
    as_json(state)
    json.dumps(state, allow_nan=False).encode()
    assert "good" in [found["where"] for found in state["runs"]]
    assert len(state["runs"]) == 2 or len(state["skipped"]) == 1
    assert all("\n" not in line for line in state["skipped"])
    assert text(state).encode()
    if len(state["skipped"]) == 1:
        code, said, complained = run("serve-results", top, "--once")
        assert (code, complained) == (0, [])
        assert "skipped " in said


@many
@given(content=spoiled({"softsense": "lock", "process": "process 7 on moon", "identity": "abc"}))
def test_any_lock_is_told_or_passed_over(folder: Path, content: bytes) -> None:
    made = folder / "locked"
    made.mkdir(exist_ok=True)
    (made / LOCK).write_bytes(content)
    told = lock_of(made)
    found = find(made)
    assert len(found.unfinished) <= 1
    if told is None:
        assert not found.unfinished
    code, said, _ = run("results", "list", made)
    assert code == 0
    assert said
    with Folder(made):
        pass
    assert list(made.iterdir()) == []


def crc(*values: Any) -> int:
    """As a store has it."""
    return zlib.crc32("|".join(map(str, values)).encode())


ROWS = st.tuples(
    st.sampled_from(["a", "b"]) | SCALARS.filter(lambda value: isinstance(value, str)),
    *[st.integers(-2, 8) | st.sampled_from([2**63 - 1, -(2**63)])] * 6,
    st.sampled_from(
        ["[0, 8]", "[8]", "[]", "5", "{}", "[[1]]", '["x"]', "[1e999]", "NaN", "[" * 5000, '{"a": 1}', "\0"]
    ),
)
STATEMENTS = [
    "DROP TABLE results",
    "ALTER TABLE counts ADD COLUMN more INTEGER",
    "CREATE TABLE other (a)",
    "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM results; END",
    "DROP TABLE tasks",
    "PRAGMA user_version = 9",
    "PRAGMA application_id = 9",
    "DROP TABLE counts; CREATE VIEW counts AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT i AS identity, i AS errors, i AS first_unit FROM n",
]


@many
@given(
    rows=st.lists(ROWS, max_size=3),
    results=st.lists(
        st.tuples(st.sampled_from(["r", ""]), st.integers(0, 3), VALUES.map(json.dumps) | st.text()), max_size=3
    ),
    spec=st.sampled_from(["{}", "5", "not json", "[" * 5000]),
    statement=st.sampled_from([""] * 8 + STATEMENTS),
    changes=st.lists(st.tuples(st.integers(0), st.binary(min_size=1, max_size=8)), max_size=2),
)
def test_any_store_is_opened_or_refused(
    folder: Path, rows: list[Any], results: list[Any], spec: str, statement: str, changes: list[tuple[int, bytes]]
) -> None:
    """Rows whose checksums fit, tables that are none of ours, and bytes that were changed."""
    file = folder / "store"
    file.unlink(missing_ok=True)
    Store(file).close()
    with contextlib.closing(sqlite3.connect(file)) as base:
        base.execute("PRAGMA synchronous = OFF")
        base.execute("INSERT INTO tasks VALUES ('a', 'code', ?, 8)", (spec,))
        for row in {row[:3]: row for row in rows}.values():
            with contextlib.suppress(UnicodeEncodeError):
                base.execute(f"INSERT INTO counts VALUES ({', '.join('?' * 9)})", (*row, crc(*row)))
        for each in {each[:2]: each for each in results}.values():
            with contextlib.suppress(UnicodeEncodeError):
                base.execute("INSERT INTO results VALUES (?, ?, ?, ?)", (*each, crc(*each)))
        base.commit()
        base.executescript(statement)
    content = bytearray(file.read_bytes())
    for at, change in changes:
        at %= len(content)
        content[at : at + len(change)] = change
    file.write_bytes(content)
    try:
        with Store(file) as store:
            store.tasks()
            for identity, unit, _ in results:
                with contextlib.suppress(FileError):
                    json.dumps(store.result(identity, unit))
    except FileError as error:
        refused = str(error)
    else:
        refused = f"{file}: "
    assert refused.startswith(f"{file}: ")
    assert "\n" not in refused
    for left in folder.glob("store-*"):
        left.unlink()


@pytest.mark.parametrize("statement", STATEMENTS[:5] + STATEMENTS[7:])
def test_tables_of_others_are_no_store(tmp_path: Path, statement: str) -> None:
    """Not even one without end is read."""
    Store(tmp_path / "store").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "store")) as base:
        base.executescript(statement)
    with pytest.raises(FileError, match=r"store: found .*, expected the tables of a store"):
        Store(tmp_path / "store")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="pipe: found a file that is no SQLite database"):
        Store(tmp_path / "pipe")


def test_shapes_say_where_a_document_does_not_fit() -> None:
    shape = {"a": [int], "b?": (str, float | None), "c?": {"*": Between(0, 1)}, "d?": frozenset(("x", "y"))}
    assert misfit({"a": [1, 2], "b": ["x", None], "c": {"k": 0.5}, "d": "x", "more": []}, shape) is None
    for wrong, says in (
        ({}, "found no `a`"),
        ([], "found a list, expected an object"),
        ({"a": [1, True]}, "`a[1]`: found `True`, expected a whole number"),
        ({"a": [1.5]}, "`a[0]`: found `1.5`, expected a whole number"),
        ({"a": [], "b": ["x"]}, "`b`: found a list, expected a list of 2"),
        ({"a": [], "b": ["x", "y"]}, "`b[1]`: found `y`, expected a number or null"),
        ({"a": [], "c": {"k": 2}}, "`c.k`: found `2`, expected a number from 0 to 1"),
        ({"a": [], "d": "z"}, "`d`: found `z`, expected one of x, y"),
        ({"a": [], "d": ["x"]}, "`d`: found a list, expected one of x, y"),
    ):
        assert misfit(wrong, shape) == says
