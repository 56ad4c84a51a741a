"""Means with their 95 % intervals, of runs that differ in their seeds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from statistics import fmean, stdev

from softsense._core import student_t_quantile

CONFIDENCE = 0.95


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean of independent numbers, and the half width of its 95 % interval by Student's t; None with one number.

    >>> interval([1.0, 2.0, 3.0])
    (2.0, 2.4841377118)
    >>> interval([5.0])
    (5.0, None)
    """
    if len(values) < 2:
        return fmean(values), None
    quantile = student_t_quantile(len(values) - 1, CONFIDENCE)
    return fmean(values), float(f"{quantile * stdev(values) / math.sqrt(len(values)):.11g}")


_BUCKETS = 128
_PERCENTILE = re.compile(r"p\d+(_us)?")


def resolution(column: str, value: float) -> float:
    """Half the width of the values that a column cannot tell apart, in its unit.

    Percentiles of response times are middles of buckets, whose ends differ by 1/128 (docs/model/host.md).

    >>> resolution("response.read.p99_us", 256.0), resolution("response.read.mean_us", 256.0)
    (1.0, 0.0)
    """
    is_percentile = _PERCENTILE.fullmatch(column.rpartition(".")[2])
    return abs(value) / (2 * _BUCKETS) if is_percentile else 0.0


def interval_of(column: str, values: Sequence[float]) -> tuple[float, float | None]:
    """The mean of a column and the half width of its interval, with its resolution; None with one number.

    >>> interval_of("response.read.p99_us", [256.0, 256.0])
    (256.0, 1.0)
    """
    mean, half = interval(values)
    return mean, None if half is None else half + resolution(column, mean)


def paired(column: str, ones: Sequence[float], others: Sequence[float]) -> tuple[float, float | None, float]:
    """The mean difference of a column pair by pair, half of its 95 % interval (None with one pair), and its resolution.

    >>> paired("p99_us", [256.0, 258.0], [256.0, 258.0])
    (0.0, 0.0, 2.0078125)
    """
    off, half = interval([one - other for one, other in zip(ones, others, strict=True)])
    return off, half, resolution(column, fmean(ones)) + resolution(column, fmean(others))


def plus_minus(mean: float, half: float | None, digits: int = 1) -> str:
    """A mean with its interval in words.

    >>> plus_minus(157.61, 3.04), plus_minus(157.61, None)
    ('157.6 ± 3.0', '157.6')
    """
    told = f"{mean:,.{digits}f}"
    return told if half is None else f"{told} ± {half:,.{digits}f}"
