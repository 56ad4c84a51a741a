"""Types of options that take a number of a range.

Help names the kind of number, and the text of the option names the range, as most bounds only refuse mistyped numbers.
An error names what was found and what was expected, as everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from softsense import ConfigError
from softsense.serve.units import in_days

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    # Older releases of click have no generic types.
    _Type = click.ParamType


class _Range(_Type):
    """A number from `low` to `high`, either of which may be missing; help shows `name`, by default its kind."""

    kind: _Type

    def __init__(self, low: float | None = None, high: float | None = None, name: str | None = None) -> None:
        self.low, self.high = low, high
        self.name = name or self.kind.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; a usage error if it is none, or out of the range."""
        number = self.kind.convert(value, param, ctx)
        # The comparison is written so that NaN, too, is refused.
        if not ((self.low is None or number >= self.low) and (self.high is None or number <= self.high)):
            self.fail(f"found {value}, expected {self._expected()}", param, ctx)
        return number

    def _expected(self) -> str:
        low, high = (None if end is None else self._text(end) for end in (self.low, self.high))
        if high is None:
            return f"at least {low}"
        return f"at most {high}" if low is None else f"{low} to {high}"

    def _text(self, end: float) -> str:
        return f"{end:,}"


class Whole(_Range):
    """A whole number of a range."""

    kind = click.INT


class Real(_Range):
    """A real number of a range."""

    kind = click.FLOAT

    def _text(self, end: float) -> str:
        return f"{end:g}"


class Days(Real):
    """A time of a range of days: a number of days, or one with a unit, such as 12h."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The time in days; a usage error if it is no time, or out of the range."""
        return super().convert(in_days(value, "--retention") if isinstance(value, str) else value, param, ctx)


def whole_numbers(option: str, text: str, example: str) -> list[int]:
    """Whole numbers with commas between them. For any other text the error names the option and shows `example`.

    Raises:
        ConfigError: `text` is something else.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not all(word.isascii() and word.isdigit() for word in words):
        raise ConfigError(f"{option}: found {text}, expected whole numbers such as {example}")
    return [int(word) for word in words]
