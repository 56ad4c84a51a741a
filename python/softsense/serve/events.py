"""Scripts of events for a served drive, and their times.

    clock = "wall"              # or "drive": the drive's own clock

    [[event]]
    at = "10s"
    age = { retention = "365d", temperature_c = 40, pe_cycles = 3000, reads = 0, powered = false }

    [[event]]
    at = "20s"
    kill_die = 3

An event has one of `age`, `scrub`, `flush`, `stop` and the faults of `softsense drive fault`. The whole script is
checked before the drive starts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from softsense._core import ConfigError, config_error, read_text, read_toml
from softsense.serve import faults, units

CLOCKS = ("wall", "drive")
_PLAIN = ("scrub", "flush", "stop")
_FAULTS = tuple(name.replace("-", "_") for name in faults.FAULTS)
_KINDS = ("age", *_PLAIN, *_FAULTS)
_AGE = ("retention", "temperature_c", "pe_cycles", "reads", "powered")
_MOST = 10**12


@dataclass(frozen=True)
class Event:
    """An event in the life of a drive.

    Attributes:
        at_s: its time, in seconds of the script's clock.
        request: the request to the drive.
        text: its line in the log.
    """

    at_s: float
    request: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Script:
    """Events in order of time.

    Attributes:
        clock: `wall`, seconds since the drive was served, or `drive`, seconds of the drive's own clock.
        events: the events; those of the same moment are in the order in which they are written.
    """

    clock: str
    events: tuple[Event, ...]

    @staticmethod
    def open(file: Path) -> Script:
        """Read a script.

        Raises `FileError` if it cannot be read, and `ConfigError` with file and line, or file and event, if it is
        wrong.
        """
        return parse(read_text(file), str(file))


def parse(text: str, origin: str) -> Script:
    r"""The script in a text; `origin` names it in messages. Raises `ConfigError`.

    >>> parse('[[event]]\nat = "10s"\nkill_die = 3', "script.toml").events[0].request
    {'fault': {'kill_die': 3}}
    """
    document = read_toml(text, origin)
    if unknown := set(document) - {"clock", "event"}:
        raise config_error([f"{origin}: found unknown field `{min(unknown)}`, expected clock and [[event]]"])
    clock = document.get("clock", "wall")
    if clock not in CLOCKS:
        raise ConfigError(f"{origin}: clock: found {clock}, expected {' or '.join(CLOCKS)}")
    tables = document.get("event")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ConfigError(f"{origin}: found no [[event]], expected at least one")
    events = [_event(table, f"{origin}: event {number}") for number, table in enumerate(tables, 1)]
    return Script(clock, tuple(sorted(events, key=lambda event: event.at_s)))


def _event(table: dict[str, Any], place: str) -> Event:
    at = table.get("at")
    if not isinstance(at, str):
        _wrong(place, "at", at, 'a time such as "10s" or "365d"')
    at_s = units.parse_seconds(at, f"{place}: at")
    kinds = [key for key in table if key != "at"]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        found = ", ".join(kinds) or "nothing that happens"
        raise ConfigError(f"{place}: found {found}, expected one of {', '.join(_KINDS)}")
    kind = kinds[0]
    return Event(at_s, _request(kind, table[kind], place), _told(kind, table[kind]))


def _request(kind: str, value: Any, place: str) -> dict[str, Any]:
    if kind == "age":
        return {"age": _age(value, place)}
    if kind in _FAULTS:
        return {"fault": faults.from_field(kind, value, place)}
    if value is not True:
        _wrong(place, kind, value, "true")
    return {kind: {}}


def _age(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not value or set(value) - set(_AGE):
        _wrong(place, "age", value, f"a table of {', '.join(_AGE)}")
    retention, powered = value.get("retention", "0s"), value.get("powered", False)
    if not isinstance(retention, str):
        _wrong(place, "age.retention", retention, 'a duration such as "365d"')
    if not isinstance(powered, bool):
        _wrong(place, "age.powered", powered, "true or false")
    temperature = value.get("temperature_c", 40.0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not math.isfinite(temperature):
        _wrong(place, "age.temperature_c", temperature, "degrees Celsius")
    counts = {}
    for key in ("pe_cycles", "reads"):
        counts[key] = count = value.get(key, 0)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST:
            _wrong(place, f"age.{key}", count, f"a whole number from 0 to {_MOST}")
    hours = units.parse_hours(retention, f"{place}: age.retention")
    return {"retention_hours": hours, "temperature_c": float(temperature), **counts, "powered": powered}


def _told(kind: str, value: Any) -> str:
    if value is True:
        return kind.replace("_", " ")
    if isinstance(value, dict):
        value = ", ".join(f"{key} {each}" for key, each in value.items())
    return f"{kind.replace('_', ' ')} {value}"


def _wrong(place: str, field: str, found: Any, expected: str) -> NoReturn:
    raise ConfigError(f"{place}: {field}: found {'nothing' if found is None else found}, expected {expected}")
