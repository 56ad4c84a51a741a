"""Means with their 95 % intervals, of runs that differ in their seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

CONFIDENCE = 0.95


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean of independent numbers, and the half width of its 95 % interval by Student's t; None with one number.

    >>> interval([1.0, 2.0, 3.0])
    (2.0, 2.4841377117503)
    >>> interval([5.0])
    (5.0, None)
    """
    if len(values) < 2:
        return fmean(values), None
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2))
    return fmean(values), float(f"{quantile * stdev(values) / math.sqrt(len(values)):.14g}")


def plus_minus(mean: float, half: float | None, digits: int = 1) -> str:
    """A mean with its interval in words.

    >>> plus_minus(157.61, 3.04), plus_minus(157.61, None)
    ('157.6 ± 3.0', '157.6')
    """
    told = f"{mean:,.{digits}f}"
    return told if half is None else f"{told} ± {half:,.{digits}f}"
