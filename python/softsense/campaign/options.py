"""Numbers, levels and ages as people write them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation

from softsense._core import MAX_LEVEL, ConfigError

_MOST_POINTS = 1000


def parse_list(text: str, name: str, least: float, most: float) -> list[float]:
    """Numbers in increasing order from `0.004,0.005` or `0.004:0.012:0.0005` (start, stop and step, both ends
    included).

    Raises:
        ConfigError: not such a list, more than 1000 numbers, or one outside `least` to `most`.
    """
    numbers: set[Decimal] = set()
    for part in text.split(","):
        try:
            first, *rest = (Decimal(word.strip()) for word in part.split(":"))
            if not all(number.is_finite() for number in (first, *rest)) or len(rest) not in (0, 2):
                raise InvalidOperation
            stop, step = rest or (first, Decimal(1))
            if step <= 0 or stop < first or (stop - first) / step >= _MOST_POINTS:
                raise InvalidOperation
        except InvalidOperation:
            raise ConfigError(
                f"{name}: found `{part}`, expected numbers such as 0.004,0.005, or start:stop:step such as "
                f"0.004:0.012:0.0005, at most {_MOST_POINTS} of them"
            ) from None
        numbers.update(first + i * step for i in range(int((stop - first) / step) + 1))
    return checked_numbers(map(float, sorted(numbers)), name, least, most)


def checked_numbers(numbers: Iterable[float], name: str, least: float, most: float) -> list[float]:
    """The numbers in increasing order without repeats.

    Raises:
        ConfigError: none, too many, or one outside `least` to `most`.
    """
    found = sorted(set(numbers))
    if not 0 < len(found) <= _MOST_POINTS:
        raise ConfigError(f"{name}: found {len(found)} numbers, expected 1 to {_MOST_POINTS}")
    for number in found:
        if not least <= number <= most:
            raise ConfigError(f"{name}: found {number:g}, expected {least:g} to {most:g}")
    return found


def parse_levels(text: str) -> list[int]:
    """Read levels from `1`, `1-7` or `1,3,7`.

    Raises:
        ConfigError: not such a list, or a level outside 1 to 7.
    """
    levels: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)):
            raise ConfigError(f"levels: found `{part}`, expected levels such as 1, 1-7 or 1,3,7")
        end = int(last or first)
        levels.update(range(int(first), end + 1) if end <= MAX_LEVEL else [end])
    return checked_levels(levels)


def checked_levels(levels: Iterable[int]) -> list[int]:
    """The levels in increasing order without repeats.

    Raises:
        ConfigError: none, or one outside 1 to 7.
    """
    found = sorted(set(levels))
    wrong = [level for level in found if not 1 <= level <= MAX_LEVEL]
    if wrong or not found:
        raise ConfigError(f"levels: found {wrong[0] if wrong else 'none'}, expected levels from 1 to {MAX_LEVEL}")
    return found


def parse_age(text: str) -> tuple[int, float]:
    """Program/erase cycles and days from `10000:30`.

    Raises:
        ConfigError: the text is not an age.
    """
    cycles, _, days = text.partition(":")
    with contextlib.suppress(ValueError):
        return int(cycles), float(days)
    raise ConfigError(f"llrs_for: found `{text}`, expected program/erase cycles and days, such as 10000:30")


def numbers(values: str | Sequence[float], name: str, least: float, most: float) -> list[float]:
    """Checked numbers from text or a sequence; see `parse_list`."""
    if isinstance(values, str):
        return parse_list(values, name, least, most)
    return checked_numbers(values, name, least, most)
