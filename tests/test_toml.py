"""TOML, which only the core reads: does it say what Python's reader says, where a text is wrong, and all in time?"""

from __future__ import annotations

import contextlib
import json
import random
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import softsense
from softsense import _core, folders, manifests, traps
from softsense.base import inline
from softsense.serve import events
from softsense.sweep_file import Sweep

ROOT = Path(__file__).parent.parent
SOURCES = Path(softsense.__file__).parent


def test_there_is_one_reader() -> None:
    """Does nothing of the package read TOML by itself?"""
    assert not [path for path in SOURCES.rglob("*.py") if "tomllib" in path.read_text(encoding="utf-8")]


def test_files_say_the_same() -> None:
    """Does every file of TOML in the repository say what it says to Python, in the same order?"""
    files = [path for folder in ("configs", "crates", "examples", "python") for path in (ROOT / folder).rglob("*.toml")]
    assert len(files) > 20
    for path in files:
        text = path.read_text(encoding="utf-8")
        expected = tomllib.loads(text)
        assert json.dumps(_core.read_toml(text, path.name)) == json.dumps(expected), path


def drawn(draw: random.Random, depth: int) -> tuple[str, Any]:
    """A value as TOML, and what it is."""
    kind = draw.randrange(8 if depth else 5)
    if kind == 0:
        number = draw.choice([0, -1, 2**31, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, draw.getrandbits(40)])
        return draw.choice([str(number), f"+{number}" if number >= 0 else str(number), f"{number:_}"]), number
    if kind == 1:
        number = draw.choice([0, 255, 2**64 - 1])
        return draw.choice([f"0x{number:x}", f"0b{number:b}", f"0o{number:o}"]), number
    if kind == 2:
        value = draw.choice([0.0, -0.0, 1e-300, 1.5, -2.25e17, 5e-324, draw.random()])
        return repr(value) if "." in repr(value) or "e" in repr(value) else f"{value!r}.0", value
    if kind == 3:
        text = "".join(draw.choices('ab"\\\n\tä𝔸\u202e.[]{}#=', k=draw.randrange(8)))
        return json.dumps(text, ensure_ascii=draw.random() < 0.5 and text.isascii()), text
    if kind == 4:
        return draw.choice([("true", True), ("false", False)])
    values = [drawn(draw, depth - 1) for _ in range(draw.randrange(4))]
    if kind < 7:
        return f"[{', '.join(text for text, _ in values)}]", [value for _, value in values]
    keys = draw.sample(["a", "b-c", "1", "_", '"x.y"', '""'], len(values))
    fields = zip(keys, values, strict=True)
    return (
        "{ " + ", ".join(f"{key} = {text}" for key, (text, _) in fields) + " }",
        {key.strip('"'): value for key, (_, value) in zip(keys, values, strict=True)},
    )


def test_texts_say_the_same() -> None:
    """And does any text, numbers to 2^64 - 1 exact? Python's reader is asked, too."""
    draw = random.Random(5)
    for _ in range(2000):
        (text, value), header = drawn(draw, 4), draw.choice(["", "[t]\n", "[[t]]\n[t.u]\n"])
        whole = f"{header}key.sub = {text} # [\n"
        expected = {"key": {"sub": value}}
        expected = {"": expected, "[t]\n": {"t": expected}}.get(header, {"t": [{"u": expected}]})
        found = _core.read_toml(whole, "t.toml")
        assert json.dumps(found) == json.dumps(expected) == json.dumps(tomllib.loads(whole)), whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\na = 2", "t.toml:2: duplicate key, expected TOML"),
        ("a = ", "t.toml:1: "),
        ("a = 1\n[b", "t.toml:2: "),
        (
            "a = 1\n\nb = [1, 18446744073709551616]",
            "t.toml:3: found 18446744073709551616, expected a whole number from",
        ),
        ("a = -9223372036854775809", "t.toml:1: found -9223372036854775809, expected a whole number from"),
        ("\na = 1e999", "t.toml:2: found 1e999, expected a number from"),
        ("\na = 2026-01-01", "t.toml:2: found 2026-01-01, expected text, a number, true, false, a list or a table"),
        ("\n" + "a." * 64 + "a = 1", "t.toml:2: found a value in more than 64 tables and lists, expected at most 64"),
    ],
)
def test_errors_name_the_line(text: str, expected: str) -> None:
    """Is what is wrong told at its line, with what was found and expected?"""
    with pytest.raises(softsense.ConfigError) as raised:
        _core.read_toml(text, "t.toml")
    assert str(raised.value).startswith(expected)


HOSTILE = {
    "brackets": "a = " + "[" * 100_000,
    "tables": "a = " + "{a=" * 100_000,
    "digits": "seed = " + "7" * 5_000_000,
    "a key of many parts": "a." * 100_000 + "a = 1",
    "a header of many parts": "[" + "a." * 100_000 + "a]",
    # Each in its own bounds, and all together far beyond.
    "keys in tables": "a = " + ("{ " + "a." * 70 + "a = ") * 70 + "1" + " }" * 70,
    "many tables": "".join(f"[t{i}]\na = 1\n" for i in range(50_000)),
    "a list of tables": "[[event]]\n" * 50_000,
    "a long name": "a" * 5_000_000 + " = 1",
}


def _folder(tmp_path: Path, text: str) -> object:
    with folders.Folder(tmp_path) as folder:
        folder.write("config.toml", text)
        folder.sign(manifests.Manifest("run"))
    return folders.Results.open(tmp_path).config()


def _traps(tmp_path: Path, text: str) -> object:
    (tmp_path / "traps.toml").write_text(text)
    return traps.load_traps(tmp_path / "traps.toml", softsense.Code.open("teaching-1/2"))


DOORS: dict[str, Callable[[Path, str], object]] = {
    "a config": lambda _, text: softsense.Config.from_toml(text, "t.toml"),
    "a sweep": lambda _, text: Sweep.parse(text, "t.toml"),
    "a script": lambda _, text: events.parse(text, "t.toml"),
    "a folder of results": _folder,
    "traps": _traps,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_texts(kind: str, door: str, tmp_path: Path) -> None:
    """Is a text that is deep, long or wrong in many places refused in time that grows with its length, in few lines?

    A reader that goes over all lines for each line would take minutes.
    """
    begun = time.process_time()
    # A folder of results may have any config, and these texts are TOML.
    fine = door == "a folder of results" and kind in ("many tables", "a list of tables", "a long name")
    with contextlib.nullcontext() if fine else pytest.raises(softsense.SoftsenseError) as raised:
        DOORS[door](tmp_path, HOSTILE[kind])
    if raised:
        assert len(str(raised.value).splitlines()) <= _core.MOST_TOLD + 1
        assert len(str(raised.value)) < 200_000
    assert time.process_time() - begun < 15


def test_faults_are_counted() -> None:
    """Of what is wrong are twenty told, each with its line, and the rest counted: also of one kind, and of several?"""
    text = "".join(f"[t{i:06}]\na = 1\n" for i in range(100_000))
    for read in (Sweep.parse, softsense.Config.from_toml):
        with pytest.raises(softsense.ConfigError) as raised:
            read(text, "t.toml")
        lines = str(raised.value).splitlines()
        assert len(lines) == _core.MOST_TOLD + 1
        told = lines if read is softsense.Config.from_toml else lines[1:]
        assert told[0].startswith("t.toml:1: t000000: ")
        assert told[18].startswith("t.toml:37: t000018: ")
        # A sweep lacks a config, too.
        assert lines[-1] == ("and 99980 more" if told is lines else "and 99981 more")


def test_values_that_hold_themselves() -> None:
    """Is a value of Python as deep as TOML may be written, and a deeper one, or one without an end, refused?"""
    ring: list[Any] = []
    ring.append({"a": ring})
    deep: Any = 1
    for _ in range(64):
        deep = [deep]
    assert inline(deep) == "[" * 64 + "1" + "]" * 64
    for value in (ring, [deep], {"a": deep}):
        with pytest.raises(softsense.ConfigError, match="found lists and tables in more than 64 others"):
            inline(value)
