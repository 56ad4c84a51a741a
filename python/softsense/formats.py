"""Numbers as people read them, in tables, pictures and sentences."""

from __future__ import annotations

from collections.abc import Sequence

from softsense.base import NO_SOFT_SENSING


def as_count(value: float) -> str:
    """A whole number, with commas."""
    return f"{value:,.0f}"


def as_us(value: float | None) -> str:
    """A time in us; a dash where there is none."""
    return "-" if value is None else f"{value:,.1f}"


def as_ratio(value: float | None) -> str:
    """How many times; a dash where it is not known."""
    return "-" if value is None else f"{value:,.2f}x"


def as_number(value: float | None, digits: int) -> str:
    """A number with so many digits after the point; a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def as_percent(share: float | None) -> str:
    """A share as a percentage; small ones keep two significant digits, so that a rare level does not read as none."""
    if share is None:
        return "-"
    percent = 100 * share
    if percent == 0 or percent >= 0.1:
        return f"{percent:.1f}"
    return f"{percent:.2g}" if percent >= 1e-3 else f"{percent:.0e}"


def as_rate(value: float | None) -> str:
    """A rate to three digits that count; a dash where there is none."""
    return "-" if value is None else f"{value:.3g}"


def listed(words: Sequence[str]) -> str:
    """Words as they stand in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def run_name(name: str) -> str:
    """The name of a run, such as `two_step:restart`; that of no policy is words."""
    return name.replace("_", " ") if name == NO_SOFT_SENSING else name
