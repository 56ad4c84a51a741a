"""Faults of a drive, as words of a command and as fields of a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softsense._core import ConfigError

FAULTS: dict[str, tuple[str, ...]] = {
    "kill-die": ("die",),
    "kill-plane": ("plane",),
    "kill-block": ("die", "plane", "block"),
    "flip-bits": ("lba", "bits"),
    "drop-power": (),
    "heal": (),
}
"""The faults, and the arguments of each."""

_MOST = 2**63


def usage() -> str:
    """All faults with their arguments, for messages."""
    *first, last = (" ".join([name, *(each.upper() for each in names)]) for name, names in FAULTS.items())
    return f"{', '.join(first)} or {last}"


def from_words(words: Sequence[str], place: str = "fault") -> dict[str, Any]:
    """The fault of a request, from words such as `kill-block 0 1 17`.

    Raises `ConfigError`.

    >>> from_words(["kill-block", "0", "1", "17"])
    {'kill_block': {'die': 0, 'plane': 1, 'block': 17}}
    """
    name, given = (words[0], words[1:]) if words else ("", ())
    if name not in FAULTS:
        raise ConfigError(f"{place}: found `{' '.join(words)}`, expected {usage()}")
    names = FAULTS[name]
    if len(given) != len(names):
        expected = " ".join([name, *(each.upper() for each in names)])
        raise ConfigError(f"{place}: found `{' '.join(words)}`, expected {expected}")
    return _fault(name, dict(zip(names, given, strict=True)), place)


def from_field(key: str, value: Any, place: str) -> dict[str, Any]:
    """The fault of a request, from a field of a script such as `kill_die = 3` or `heal = true`.

    Raises `ConfigError`.
    """
    name = key.replace("_", "-")
    names = FAULTS[name]
    if not names:
        if value is not True:
            raise ConfigError(f"{place}: {key}: found {value}, expected true")
        return {key: {}}
    given = {names[0]: value} if len(names) == 1 else value
    if not isinstance(given, dict) or set(given) != set(names):
        expected = ", ".join(f"{each} = N" for each in names)
        raise ConfigError(f"{place}: {key}: found {value}, expected {{ {expected} }}")
    return _fault(name, given, place)


def _fault(name: str, given: dict[str, Any], place: str) -> dict[str, Any]:
    numbers = {key: _number(value, f"{place}: {name} {key.upper()}") for key, value in given.items()}
    if name == "flip-bits" and numbers["bits"] == 0:
        raise ConfigError(f"{place}: {name} BITS: found 0, expected 1 or more")
    key = name.replace("-", "_")
    if len(numbers) == 1:
        return {key: next(iter(numbers.values()))}
    return {key: numbers}


def _number(value: Any, place: str) -> int:
    text = str(value) if not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdigit() and int(text) < _MOST):
        raise ConfigError(f"{place}: found {value}, expected a whole number from 0 on")
    return int(text)
