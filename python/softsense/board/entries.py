"""Entries of the board as files: JSON that can be measured again, with a hash of all that time does not change."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from softsense._core import ConfigError
from softsense.files import read_json, replacing

FORMAT = "softsense board entry, version 1"
"""The format of an entry."""

TIMED = ("cost", "throughput", "softsense", "seal")
"""Fields that may differ from one measurement to the next."""

_FIELDS: dict[str, type | tuple[type, ...]] = {
    "format": str, "name": str, "matrix": dict, "code": dict, "sets": (dict, type(None)), "levels": dict,
    "limits": list, "circuit": (dict, type(None)), "plan": dict, "cost": dict, "softsense": dict, "seal": str,
}  # fmt: skip
_MOST_BYTES = 1 << 22
_WIDEST = 160


def sealed(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with `seal`, the SHA-256 of all its fields that do not depend on time. It finds slips, not forgers."""
    return {**entry, "seal": seal_of(entry)}


def seal_of(entry: dict[str, Any]) -> str:
    """The seal that an entry should have."""
    kept = {name: value for name, value in entry.items() if name not in TIMED}
    return hashlib.sha256(json.dumps(kept, sort_keys=True, allow_nan=False).encode()).hexdigest()


def save_entry(entry: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write an entry; whole or not at all. Raises `FileError`."""
    with replacing(Path(path)) as partial:
        partial.write_text(_lines(entry) + "\n", encoding="utf-8")


def _lines(value: Any, indent: str = "") -> str:
    """JSON in which whatever fits into a line has one."""
    short = json.dumps(value, allow_nan=False)
    if len(indent + short) <= _WIDEST or not isinstance(value, dict | list) or not value:
        return short
    inner = indent + " "
    if isinstance(value, dict):
        rows = [f"{inner}{json.dumps(key)}: {_lines(each, inner)}" for key, each in value.items()]
    else:
        rows = [inner + _lines(each, inner) for each in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return start + "\n" + ",\n".join(rows) + f"\n{indent}{end}"


def load_entry(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read an entry and check that it has the fields of one.

    Raises `FileError` for a file that cannot be read or is no JSON, `ConfigError` for one that is no entry of this
    version.
    """
    place = Path(path)
    entry = read_json(place, _MOST_BYTES)
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        found = entry.get("format") if isinstance(entry, dict) else type(entry).__name__
        raise ConfigError(f"{place}: format: found {found!r}, expected `{FORMAT}` (softsense board measure writes one)")
    for name, kind in _FIELDS.items():
        if name not in entry or not isinstance(entry[name], kind):
            raise ConfigError(
                f"{place}: {name}: found {type(entry.get(name)).__name__}, expected the field of an entry"
            )
    return entry


def entry_files(folder: str | os.PathLike[str]) -> list[Path]:
    """The files of entries in a folder of the board: `entries/*.json`, or `*.json` where there is no such folder.

    Raises `ConfigError` if there is none.
    """
    place = Path(folder)
    if not place.is_dir():
        raise ConfigError(f"{place}: found no such folder, expected a board, with entries/*.json")
    within = place / "entries"
    found = sorted((within if within.is_dir() else place).glob("*.json"))
    if not found:
        raise ConfigError(f"{place}: found no entry, expected entries/*.json (softsense board measure writes one)")
    return found
