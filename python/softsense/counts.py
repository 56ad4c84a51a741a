"""Counts of decoded frames, by ranges of units.

Frames are counted in *units*, each a pure function of its task and number. Units belong to *blocks*. A range that is
kept lies in one block, and a plan asks for whole blocks, from unit 0 on. So equal counts can be made equal rows,
however the work was cut, and whoever did it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softsense._core import FrameTask

CHANNEL_ERRORS = -1
"""Stands in the file for frames whose number of raw bit errors the channel draws."""

Place = tuple[str, int]
"""Where counts belong: identity of their task, and number of raw bit errors or `CHANNEL_ERRORS`."""

_BLOCK_UNITS = 16
_LONG_BLOCKS_FROM = 512


@dataclass(frozen=True)
class Counts:
    """Outcomes of a number of frames.

    Attributes:
        frames: frames decoded.
        failures: frames that the decoder gave up or decided wrongly.
        undetected: frames that were reported as decoded but are wrong; part of the failures.
        iterations: frames that converged after 0, 1, 2, ... iterations.
    """

    frames: int = 0
    failures: int = 0
    undetected: int = 0
    iterations: tuple[int, ...] = ()

    def __add__(self, other: Counts) -> Counts:
        longer, shorter = sorted((self.iterations, other.iterations), key=len, reverse=True)
        iterations = tuple(n + (shorter[i] if i < len(shorter) else 0) for i, n in enumerate(longer))
        return Counts(
            self.frames + other.frames,
            self.failures + other.failures,
            self.undetected + other.undetected,
            iterations,
        )


@dataclass(frozen=True)
class Row:
    """The counts of `units` units from `first_unit` on."""

    first_unit: int
    units: int
    counts: Counts

    @property
    def end(self) -> int:
        """The unit behind the last one."""
        return self.first_unit + self.units


def place_of(task: FrameTask, errors: int | None) -> Place:
    """The place to which counts of a task belong; with `errors` None the channel draws errors."""
    return task.identity, CHANNEL_ERRORS if errors is None else errors


def block_end(unit: int) -> int:
    """The end of the block of units that a unit belongs to.

    Blocks end at 1, 2, 4, 8, 16, then every 16, and from 512 units on there are 16 to each doubling. So even 1e13
    frames are some hundred rows.
    """
    if unit < _BLOCK_UNITS:
        return 1 << unit.bit_length()
    return unit - unit % _block_length(unit) + _block_length(unit)


def _block_length(unit: int) -> int:
    """The length of the block that a unit beyond the first 16 belongs to."""
    return _BLOCK_UNITS if unit < _LONG_BLOCKS_FROM else 1 << unit.bit_length() - 5


def block_start(unit: int) -> int:
    """The first unit of the block that a unit belongs to."""
    if unit < _BLOCK_UNITS:
        return 1 << unit.bit_length() - 1 if unit else 0
    return unit - unit % _block_length(unit)


def whole_blocks(units: int) -> int:
    """The least units in whole blocks that are no fewer than `units`."""
    return block_end(units - 1) if units > 0 else 0


def blocks_within(units: int) -> int:
    """The most units in whole blocks that are no more than `units`."""
    return units if units <= 0 or block_end(units - 1) == units else block_start(units)


def gaps(rows: Iterable[Row], first_unit: int, end: int) -> list[tuple[int, int]]:
    """The ranges from `first_unit` to before `end` that no row covers, each as its first unit and its end."""
    found, start = [], first_unit
    for row in rows:
        if row.end <= start:
            continue
        if row.first_unit >= end:
            break
        if row.first_unit > start:
            found.append((start, row.first_unit))
        start = row.end
    return [*found, (start, end)] if start < end else found


def cut(first_unit: int, end: int) -> Iterator[tuple[int, int]]:
    """A range of units in pieces of one block each, as pairs of first unit and end."""
    while first_unit < end:
        yield first_unit, min(block_end(first_unit), end)
        first_unit = block_end(first_unit)
