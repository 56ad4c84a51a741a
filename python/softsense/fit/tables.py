"""Histogram files: comma-separated, a row for each bin, a column for each round; and shares beyond bounds by round."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softsense._core import ConfigError, FileError
from softsense.fit.histograms import LEAST_READS, Histogram, Log, check_held_out, check_unit
from softsense.fit.lines import Lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TO_US = {"ns": 1e-3, "us": 1.0, "ms": 1e3}
_PERCENT_SUMS = (98.0, 100.2)


def read_histogram(lines: Lines, unit: str = "us") -> Log:
    """Read a histogram file.

    The first row has, after an empty cell, the number of each round. The first column has the lower edge of each bin,
    in `unit`; bins have equal widths. The other columns are counts of reads, or per cent of them. Values are per cent
    where most columns sum to 98 to 100.2. The per cent that a column then lacks of 100 are reads longer than the last
    edge. The number of reads is then inferred: the smallest difference between shares is one read.

    Raises `FileError` for text that is not a number, negative numbers, missing columns, and bins that do not follow one
    another.
    """
    numbers, edges, columns = _cells(lines)
    edges_us = edges * _TO_US[unit]
    widths = np.diff(edges_us)
    if len(edges) < 10 or not np.allclose(widths, widths[0], rtol=1e-6) or widths[0] <= 0:
        raise FileError(
            f"{lines.path}: found bins from {edges[0]:g} to {edges[-1]:g} that are not of one width, expected "
            "lower edges "
            "of 10 bins or more that follow one another"
        )
    edges_us = np.append(edges_us, edges_us[-1] + widths[0])
    sums = columns.sum(axis=0)
    filled = sums > 0
    if not filled.any():
        raise FileError(f"{lines.path}: found only empty rounds, expected at least one round with reads")
    # Many reads of a worn drive may take longer than the last edge, so a sum may be small; no sum exceeds all reads.
    whole = (sums >= _PERCENT_SUMS[0]) & (sums <= _PERCENT_SUMS[1])
    percent = bool(np.sum(whole[filled]) >= 0.5 * np.sum(filled) and sums.max() <= _PERCENT_SUMS[1])
    if not percent and (not np.allclose(columns, np.round(columns)) or sums.max() < LEAST_READS):
        place = int(np.flatnonzero(filled & ~whole)[0])
        raise FileError(
            f"{lines.path}: found a sum of {sums[place]:g} in the column of round {numbers[place]:g}, expected "
            "counts of "
            f"{LEAST_READS:,} reads or more, or per cent whose sum is {_PERCENT_SUMS[0]:g} to {_PERCENT_SUMS[1]:g}"
        )
    notes, rounds = [], []
    if percent:
        reads = [_inferred_reads(columns[:, i]) for i in range(len(numbers))]
        told = sorted(reads[i] for i in range(len(numbers)) if filled[i])
        notes.append(
            f"shares are per cent; their granularity says that rounds have about {told[len(told) // 2]:,.0f} reads each"
        )
    for index, number in enumerate(numbers):
        factor = reads[index] / 100 if percent else 1.0
        beyond = max(0.0, 100 - sums[index]) * factor if percent and filled[index] else 0.0
        rounds.append(Histogram(number, edges_us, columns[:, index] * factor, beyond))
    medians = [float(r.quantile_us(0.5)[0]) for r in rounds if r.reads]
    check_unit(float(np.median(medians)), str(lines.path))
    rounds.sort(key=lambda r: r.round)
    return Log(str(lines.path), "histogram", tuple(rounds), tuple(notes), reads_known=not percent)


def _inferred_reads(percent: NDArray[np.float64]) -> float:
    """Number of reads that shares of this granularity come from: 100 % over their least positive difference, rounding
    aside.
    """
    values = np.unique(np.round(percent[percent > 0], 9))
    if len(values) == 0:
        return 0.0
    steps = np.append(np.diff(values), values[0])
    least = float(steps[steps > 4e-6].min(initial=values.max()))
    # Shares are rounded: the average of many small multiples of one read tells its share better than one multiple does.
    small = values[values < 50 * least]
    if len(small) == 0:
        return 100.0 / least
    return 100.0 * float(np.round(small / least).sum() / small.sum())


def _cells(lines: Lines) -> tuple[list[float], NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of rounds, lower edges, and values (bins, rounds)."""
    first, header = next(((n, line) for n, line in lines if line.strip(",; ")), (1, ""))
    titles = [title.strip() for title in header.lstrip("\ufeff").split(",")]
    while titles and not titles[-1]:
        titles.pop()
    if len(titles) < 2:
        raise FileError(
            f"{lines.path}:{first}: found {header[:40]!r}, expected the numbers of rounds after an empty cell"
        )
    numbers = [lines.number(first, title, "the number of a round") for title in titles[1:]]
    if len(set(numbers)) < len(numbers):
        raise FileError(f"{lines.path}:{first}: found a round twice, expected each once")
    edges, rows = [], []
    for at, line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        if at <= first or not any(cells):
            continue
        if len(cells) < len(titles):
            raise FileError(f"{lines.path}:{at}: found {len(cells)} cells, expected {len(titles)}")
        edges.append(lines.number(at, cells[0], "the lower edge of a bin"))
        rows.append([lines.number(at, cell, "reads or per cent") if cell else 0.0 for cell in cells[1 : len(titles)]])
        if min(rows[-1]) < 0:
            raise FileError(f"{lines.path}:{at}: found {min(rows[-1]):g}, expected no negative share or count")
    if not rows:
        raise FileError(f"{lines.path}: found no bins, expected 10 or more")
    return numbers, np.array(edges), np.array(rows)


def held_out(log: Log, text: str | None) -> tuple[float, ...]:
    """Rounds that are held out: numbers with commas between, or `third`, every third counted from the last.

    Raises `ConfigError` if the text is neither, if the log lacks such rounds, and if no round would be left to fit.
    """
    if text is None:
        return ()
    if text == "third":
        return tuple(each.round for each in log.rounds[::-1][::3])
    try:
        numbers = tuple(float(word) for word in text.split(","))
    except ValueError:
        raise ConfigError(
            f"--hold-out: found {text!r}, expected numbers of rounds with commas between, or `third`"
        ) from None
    check_held_out(log, numbers)
    return numbers


def read_tails(
    path: Path, log: Log | None = None, hold_out: tuple[float, ...] = ()
) -> dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Shares of reads beyond bounds, by round.

    The header says `over 400us` or `over 1ms` for each column after the first, which has the round; a row of title may
    stand before it. Values are per cent; rows without values are left out. Rounds nearer to a held-out round of `log`
    than to a fitted one are left out, too, so that held-out data is not looked at.

    Returns rounds and shares (0 to 1) by bound in us. Raises `FileError` where there is no such header or a value is no
    number.
    """
    lines = Lines(path)
    bounds: list[float] = []
    rows: list[list[float]] = []
    for at, line in lines:
        cells = [cell.strip() for cell in line.lstrip("\ufeff").split(",")]
        if not bounds:
            named = [cell.removeprefix("over ") for cell in cells if cell.startswith("over ")]
            bounds = [_bound(lines, at, cell) for cell in named]
            continue
        if len(cells) > 1 and cells[0] and cells[1]:
            rows.append(
                [lines.number(at, cell, "a round or per cent") if cell else np.nan for cell in cells[: len(bounds) + 1]]
            )
    if not bounds or not rows:
        raise FileError(f"{path}: found no column such as `over 400us` with values, expected at least one")
    table = np.array(rows)
    if log is not None and hold_out:
        known = np.array([each.round for each in log.rounds])
        nearest = known[np.argmin(np.abs(table[:, :1] - known), axis=1)]
        table = table[~np.isin(nearest, hold_out)]
        if len(table) == 0:
            raise FileError(f"{path}: found only rounds near held-out rounds, expected some near other rounds")
    return {bound: (table[:, 0], table[:, i + 1] / 100) for i, bound in enumerate(bounds)}


def _bound(lines: Lines, at: int, text: str) -> float:
    for unit, factor in _TO_US.items():
        if text.endswith(unit):
            return lines.number(at, text.removesuffix(unit), "a bound") * factor
    raise FileError(f"{lines.path}:{at}: found a bound of {text!r}, expected one in ns, us or ms")
