"""Sizes and durations in people's notation, which are parsed; `softsense.formats` writes them."""

from __future__ import annotations

import re

from softsense._core import ConfigError

_BYTES = {
    "": 1,
    "B": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
    "KB": 10**3,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_HOUR_S = 3600.0
_MOST_YEARS = 100


def parse_size(text: str, place: str) -> int:
    """Bytes from a size such as `512`, `64MiB`, `2 GiB` or `4KB` (4000 bytes).

    Args:
        text: the text to parse.
        place: the option or field of the text, for the message.

    Raises `ConfigError`.

    >>> parse_size("64MiB", "--size")
    67108864
    """
    found = re.fullmatch(r"\s*(\d+)\s*([A-Za-z]*)\s*", text, re.ASCII)
    if not found or found[2] not in _BYTES:
        raise ConfigError(f"{place}: found `{text}`, expected a size such as 64MiB, 2GiB or 4GB (4000000000 bytes)")
    size = int(found[1]) * _BYTES[found[2]]
    if not 0 < size < 2**63:
        raise ConfigError(f"{place}: found `{text}`, expected a size from 1 to below 2^63 bytes")
    return size


def parse_seconds(text: str, place: str) -> float:
    """Seconds from a duration such as `365d`, `12h`, `90min`, `10s` or `250ms`.

    Args:
        text: the text to parse.
        place: the option or field of the text, for the message.

    Raises `ConfigError`.

    >>> parse_seconds("90min", "--retention")
    5400.0
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)\s*", text, re.ASCII)
    if not found:
        raise ConfigError(f"{place}: found `{text}`, expected a duration such as 365d, 12h, 90min or 10s")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if not seconds <= _MOST_YEARS * 365.25 * _SECONDS["d"]:
        raise ConfigError(f"{place}: found `{text}`, expected at most {_MOST_YEARS} years")
    return seconds


def parse_hours(text: str, place: str) -> float:
    """Hours from a duration, as `parse_seconds` takes it.

    >>> parse_hours("365d", "--retention")
    8760.0
    """
    return parse_seconds(text, place) / _HOUR_S


def in_days(text: str, place: str) -> str:
    """The text with each time that has a unit as a number of days; numbers alone stay.

    Args:
        text: the text, such as a list of times.
        place: the option of the text, for the message.

    Raises `ConfigError`.

    >>> in_days("90min,12h,30,365d", "--retention")
    '0.0625,0.5,30,365'
    """
    times = r"\d+(?:\.\d+)?\s*(?:ms|s|min|h|d)\b"
    return re.sub(times, lambda found: f"{parse_hours(found[0], place) / 24:.15g}", text, flags=re.ASCII)
