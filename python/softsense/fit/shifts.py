"""Shifts of rounds: all reads took longer, or less long, than those of a usual round, because of host or clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from softsense.fit.histograms import Histogram

LEAST_BINS = 0.5
"""Least shift in bins: peaks of a round may move by less without a shift."""

_ALIKE_BINS = 0.5
_ALIKE_PART = 0.2
_ALIKE_SHARE = 0.8
_FARTHEST = 0.05
_TRIES_A_BIN = 8
_PEAK_SHARE = 0.01
_HEIGHT = 0.02


def of_rounds(rounds: Sequence[Histogram]) -> list[float]:
    """How much longer all reads of each round took than those of the usual one, us: 0 where they did not.

    The round nearest to all together is compared with each, peak by peak (`between`). Shifts are told from the median
    of the shifts, which is that of the usual round. The order of the rounds does not matter.
    """
    if len(rounds) < 2:
        return [0.0] * len(rounds)
    shares = np.array([each.all_counts / each.reads for each in rounds])
    usual = rounds[int(np.argmin(np.abs(shares - shares.mean(axis=0)).sum(axis=1)))]
    moved = [between(usual, each) for each in rounds]
    known = sorted(each.us for each in moved if each.alike)
    if not known:
        return [0.0] * len(rounds)
    middle = known[(len(known) - 1) // 2]
    least = _least_us(usual)
    return [each.us - middle if each.alike and abs(each.us - middle) >= least else 0.0 for each in moved]


def told_us(usual: Histogram, other: Histogram) -> float:
    """How much longer all reads of the other round took, us; 0 where they did not, or by less than half a bin."""
    found = between(usual, other)
    return found.us if found.alike and abs(found.us) >= _least_us(usual) else 0.0


def _least_us(usual: Histogram) -> float:
    return LEAST_BINS * float(np.diff(usual.edges_us).min())


@dataclass(frozen=True)
class Shift:
    """The shift between two rounds.

    Attributes:
        us: the shift of all peaks together, us.
        alike: whether peaks with four fifths of the reads of all peaks have this shift, to half a bin or a fifth of it,
            and the shift is less than the largest one tried.
        peaks_us: shift of each peak, us.
    """

    us: float
    alike: bool
    peaks_us: tuple[float, ...]


def between(usual: Histogram, other: Histogram) -> Shift:
    """How much later the peaks of the other round are than those of the usual one.

    About each peak of the usual round, up to the valleys beside it, the other round's counts are compared with shifted
    shares of the usual round. The most likely shift is that of the peak, whatever its height. The most likely shift for
    all peaks together is that of the round. Shifts up to 5 % of the median are tried.
    """
    from scipy.interpolate import PchipInterpolator

    edges = usual.edges_us
    reached = PchipInterpolator(edges, np.concatenate([[0.0], np.cumsum(usual.counts)]) / usual.reads)
    bin_us = float(np.diff(edges).min())
    far = max(_FARTHEST * float(usual.quantile_us(0.5)[0]), 2 * bin_us)
    count = int(np.ceil(far / bin_us * _TRIES_A_BIN))
    tried = np.arange(-count, count + 1) * bin_us / _TRIES_A_BIN
    each_peak, weights = [], []
    for low, high in _windows(usual, far):
        counts = other.counts[low:high]
        moved = np.clip(edges[low : high + 1] - tried[:, None], edges[0], edges[-1])
        shares = np.maximum(np.diff(reached(moved), axis=1), 1e-9)
        each_peak.append(np.log(shares / shares.sum(axis=1, keepdims=True)) @ counts)
        weights.append(float(counts.sum()))
    if not each_peak:
        return Shift(0.0, False, ())
    peaks = tried[np.argmax(each_peak, axis=1)]
    whole = float(tried[int(np.argmax(np.sum(each_peak, axis=0)))])
    with_it = np.abs(peaks - whole) <= max(_ALIKE_BINS * bin_us, _ALIKE_PART * abs(whole))
    alike = float(np.sum(np.array(weights)[with_it])) >= _ALIKE_SHARE * sum(weights)
    return Shift(whole, alike and abs(whole) < float(tried[-1]), tuple(peaks.tolist()))


def _windows(usual: Histogram, far: float) -> list[tuple[int, int]]:
    """Bins of each peak, from valley to valley, but at most twice its width and the largest tried shift away from
    it.
    """
    from scipy.signal import find_peaks, peak_widths

    smooth = np.convolve(usual.counts / np.diff(usual.edges_us), [0.25, 0.5, 0.25], mode="same")
    height = _HEIGHT * float(smooth.max())
    tops, told = find_peaks(smooth, height=height, prominence=height)
    tops = tops[told["prominences"] >= 0.5 * smooth[tops]]
    if not len(tops):
        return []
    widths = peak_widths(smooth, tops)[0]
    valleys = [0, *(int(a + np.argmin(smooth[a:b])) for a, b in pairwise(tops)), len(smooth)]
    reach = np.ceil(2 * widths + far / float(np.diff(usual.edges_us).min())).astype(int)
    found = []
    for top, spread, (left, right) in zip(tops, reach, pairwise(valleys), strict=True):
        low, high = max(left, int(top - spread)), min(right, int(top + spread + 1))
        if usual.counts[low:high].sum() >= _PEAK_SHARE * usual.reads:
            found.append((low, high))
    return found


def earlier(histogram: Histogram, us: float) -> Histogram:
    """The histogram with its edges moved, as if all reads had taken `us` less."""
    return replace(histogram, edges_us=histogram.edges_us - us) if us else histogram


def together(rounds: Sequence[Histogram], edges_us: NDArray[np.float64]) -> Histogram:
    """All rounds in one histogram, in the given bins; within a bin reads are spread by interpolation between
    neighbours.
    """
    from scipy.interpolate import PchipInterpolator

    counts, beyond = np.zeros(len(edges_us) - 1), 0.0
    for each in rounds:
        reached = PchipInterpolator(each.edges_us, np.concatenate([[0.0], np.cumsum(each.counts)]))
        moved = np.diff(reached(np.clip(edges_us, each.edges_us[0], each.edges_us[-1])))
        counts += moved
        beyond += max(0.0, each.reads - float(moved.sum()))
    return replace(rounds[0], round=-1.0, edges_us=edges_us, counts=counts, beyond=beyond)
