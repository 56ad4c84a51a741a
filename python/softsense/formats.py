"""Formats of numbers for tables, pictures, pages and sentences.

`as_...` functions take a number, or None for a missing one, and return text. Functions whose text has a unit choose the
unit that suits the number. Columns of tables have the unit in their heads and use functions without one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from softsense.base import NO_SOFT_SENSING

NONE = "-"
"""The text in place of a missing number."""

_SECONDS = (("s", 1.0, 600.0), ("min", 60.0, 7200.0), ("h", 3600.0, 172_800.0), ("d", 86_400.0, math.inf))


def as_count(value: float | None, none: str = NONE) -> str:
    """A whole number, with commas."""
    return none if value is None else f"{value:,.0f}"


def as_number(value: float | None, digits: int, none: str = NONE) -> str:
    """A number with `digits` digits after the point."""
    return none if value is None else f"{value:,.{digits}f}"


def as_significant(value: float | None, digits: int = 4) -> str:
    """A number with `digits` significant digits, without trailing zeros.

    >>> as_significant(1234567), as_significant(0.0123456), as_significant(1.2e-9)
    ('1,234,567', '0.01235', '1.2e-09')
    """
    if value is None:
        return NONE
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or not math.isfinite(value) or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def as_plain(value: float) -> str:
    """A number at an axis, with all its digits.

    >>> as_plain(10000.0), as_plain(0.001), as_plain(1e-9)
    ('10,000', '0.001', '1e-09')
    """
    return f"{value:,.10g}" if value == 0 or abs(value) >= 1e-5 else f"{value:.4g}"


def as_few(value: float) -> str:
    """A mean count: whole, or with two digits where it is small."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def as_us(value: float | None) -> str:
    """A time in us."""
    return as_number(value, 1)


def as_time(us: float | None) -> str:
    """A time given in us, with its unit: from 10 ms on in ms, from 10 s on in s.

    >>> as_time(75), as_time(1234.5), as_time(12_345_678)
    ('75.0 µs', '1,234 µs', '12.35 s')
    """
    if us is None:
        return NONE
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= 9_999.5 * size / 1e3:
            return f"{us / size:,.4g} {unit}"
    return f"{us:,.0f} µs" if us >= 1000 else f"{us:.1f} µs"


def as_duration(seconds: float) -> str:
    """A time given in seconds, with its unit, from seconds to days.

    >>> as_duration(5400), as_duration(86400 * 400)
    ('90 min', '400 d')
    """
    unit, size, _ = next(each for each in _SECONDS if seconds < each[2])
    value = seconds / size
    return f"{value:.3g} {unit}" if unit != "d" else f"{value:,.0f} d" if value >= 10 else f"{value:.1f} d"


def as_age(hours: float) -> str:
    """A retention time in words.

    >>> as_age(1), as_age(8760)
    ('1 hour', '365 days')
    """
    return f"{hours / 24:,.4g} days" if hours >= 48 else f"{hours:,.4g} hour{'s' if hours != 1 else ''}"


def as_bytes(value: float) -> str:
    """A size in binary units.

    >>> as_bytes(1536)
    '1.5 KiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.4g} {unit}"
        value /= 1024
    return f"{value:.4g} TiB"


def as_ratio(value: float | None) -> str:
    """A ratio, such as 1.23x.

    >>> as_ratio(1.234), as_ratio(12.34), as_ratio(1234.5)
    ('1.23x', '12.3x', '1,234x')
    """
    if value is None:
        return NONE
    return f"{value:.2f}x" if value < 10 else f"{value:.1f}x" if value < 1000 else f"{value:,.0f}x"


def as_percent(share: float | None) -> str:
    """A share as a percentage; below 1 % it has two significant digits, so that a small share does not read as zero.

    >>> as_percent(0.123), as_percent(0.00123), as_percent(1.2e-7)
    ('12.3', '0.12', '1e-05')
    """
    if share is None:
        return NONE
    percent = 100 * share
    if percent == 0 or abs(percent) >= 1:
        return f"{percent:.1f}"
    return f"{percent:.2g}" if abs(percent) >= 9.5e-5 else f"{percent:.0e}"


def as_share(
    share: float | None, digits: int | None = None, *, significant: int | None = None, signed: bool = False
) -> str:
    """A share as a percentage with its sign.

    The text has `digits` digits after the point, or `significant` significant digits, or the digits of `as_percent`.
    With `signed`, positive shares have a plus.

    >>> as_share(0.123), as_share(0.123, 0), as_share(0.00123, significant=2), as_share(0.123, signed=True)
    ('12.3 %', '12 %', '0.12 %', '+12.3 %')
    >>> as_share(0.9986, significant=2)
    '99.9 %'
    """
    if share is None:
        return NONE
    sign = "+" if signed else ""
    if digits is not None:
        return f"{100 * share:{sign}.{digits}f} %"
    # Rounding 99.9 to so many significant digits would make it a hundred, written `1e+02`.
    if significant is not None and round(abs(100 * share), 1) < 10**significant - 1:
        return f"{100 * share:{sign}.{significant}g} %"
    return f"{sign if share >= 0 else ''}{as_percent(share)} %"


def as_plain_share(share: float) -> str:
    """A share that was chosen, such as a load, as a percentage with all its digits.

    >>> as_plain_share(0.3), as_plain_share(0.125)
    ('30 %', '12.5 %')
    """
    return f"{100 * share:g} %"


def as_rate(value: float | None) -> str:
    """A rate or a probability with three significant digits.

    >>> as_rate(0.0012345), as_rate(1.2345e-9)
    ('0.00123', '1.23e-09')
    """
    return NONE if value is None or not math.isfinite(value) else f"{value:.3g}"


def as_interval(low: float | None, high: float | None, say: Callable[[float | None], str]) -> str:
    """An interval, with each end formatted by `say`."""
    return f"{say(low)} to {say(high)}"


def listed(words: Sequence[str]) -> str:
    """A list of words in a sentence, such as `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def level_name(level: int) -> str:
    """The name of a read level.

    >>> level_name(1), level_name(3)
    ('level 1 (hard decision)', 'level 3')
    """
    return "level 1 (hard decision)" if level == 1 else f"level {level}"


def run_name(name: str) -> str:
    """The name of a run, such as `two_step:restart`; the baseline's name is in words."""
    return name.replace("_", " ") if name == NO_SOFT_SENSING else name


def as_column_weights(runs: Sequence[Sequence[int]], memory: int | None = None, punctured: int = 0) -> str:
    """Column weights of a code (weight x block columns), the memory of a chain, and the number of punctured columns.

    >>> as_column_weights([(6, 8), (3, 64)])
    '6 x 8, 3 x 64'
    >>> as_column_weights([(4, 576)], 3)
    '4 x 576, memory 3'
    >>> as_column_weights([(3, 72), (9, 1)], None, 1)
    '3 x 72, 9 x 1, 1 punctured'
    """
    parts = [f"{weight} x {count}" for weight, count in runs]
    parts += [] if memory is None else [f"memory {memory}"]
    return ", ".join(parts + ([f"{punctured} punctured"] if punctured else []))
