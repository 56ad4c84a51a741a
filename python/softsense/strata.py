"""Frame error rates from strata: frames with exactly so many raw bit errors each.

Most frames have few raw bit errors and decode, so at low error rates the frames that fail are those with unusually
many. With w raw bit errors in n bits,

    FER(p) = sum over w of Binomial(w; n, p) F(w),      F(w) = P(decoding fails | w errors),

where F is measured if possible. On hard decisions F is the same for every p, so one series of strata gives the whole
curve; deeper read levels have a series for each p.

- Between strata the normal quantile of F is interpolated linearly in w.
- The measured part begins at the lowest stratum from which on every stratum saw failures. Below it, F is at most the
  smallest upper end of any stratum at or above w, as F is assumed not to fall with w. The sum of these bounds is
  `unlisted` in results, which is no part of the rate or its interval.
- Every stratum has its exact (Clopper-Pearson) interval, at a confidence (Sidak's) at which all of them hold together
  with 95 %. As FER grows with every F(w), the sums of all lower and of all upper ends enclose the measured part of the
  whole curve.

Source: C. Clopper, E. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
1934; Z. Sidak, "Rectangular confidence regions for the means of multivariate normal distributions", 1967.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from softsense import _core
from softsense.counts import Counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CONFIDENCE = 0.95
"""Confidence of every interval."""

MOST_EXTRAPOLATED = 0.25
"""The largest share of a complete rate that may lie below the measured strata, by extrapolation."""

_NORMAL = NormalDist()
_TRUSTED_FAILURES = 3
_FITTED_STRATA = 4


@functools.cache
def _log_factorials(bits: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, bits + 1)))])


@functools.lru_cache(maxsize=128)
def binomial_weights(bits: int, rber: float) -> Floats:
    """The probabilities of 0, 1, ... `bits` errors in so many bits (float64, read-only)."""
    wrong = np.arange(bits + 1)
    if rber > 0:
        log_factorials = _log_factorials(bits)
        choices = log_factorials[bits] - log_factorials - log_factorials[::-1]
        weights = np.exp(choices + wrong * math.log(rber) + (bits - wrong) * math.log1p(-rber))
    else:
        weights = np.equal(wrong, 0).astype(np.float64)
    weights.flags.writeable = False
    found: Floats = weights
    return found


def ladder(bits: int, every: bool = False) -> list[int]:
    """The numbers of errors at which strata may stand: from 0 to half of the bits, sqrt(w) / 3 apart, or all."""
    weights = [0]
    while weights[-1] < bits // 2:
        weights.append(weights[-1] + (1 if every else max(1, round(math.sqrt(weights[-1]) / 3))))
    return weights


@dataclass(frozen=True)
class Estimate:
    """A frame error rate, as far as it was measured.

    Attributes:
        fer: the rate of the measured strata.
        lo: lower end of the interval of the measured part.
        hi: upper end of the interval of the measured part.
        relative_error: standard error over the rate; None if the rate is 0.
        unlisted: upper bound of the part of strata without failures.
        missing: ratio of that part to the rate, if the normal quantile of F continues there as a line.
    """

    fer: float
    lo: float
    hi: float
    relative_error: float | None
    unlisted: float
    missing: float

    @property
    def complete(self) -> bool:
        """Whether the strata that matter were measured."""
        return self.missing <= MOST_EXTRAPOLATED


class Strata:
    """Failures by error weight, and the rates that follow.

    Args:
        bits: bits of a codeword.
        counts: the counts of frames of each weight.
        rungs: numbers of errors at which strata may stand, in increasing order.
    """

    def __init__(self, bits: int, counts: dict[int, Counts], rungs: Sequence[int]) -> None:
        known = sorted((weight, c) for weight, c in counts.items() if c.frames)
        self.bits = bits
        self.frames = sum(c.frames for _, c in known)
        self.failures = sum(c.failures for _, c in known)
        self.undetected = sum(c.undetected for _, c in known)
        self.weights = np.array([weight for weight, _ in known], dtype=np.int64)
        self.sampled = np.array([c.frames for _, c in known], dtype=np.float64)
        self.failed = np.array([c.failures for _, c in known], dtype=np.float64)
        self.rungs = np.array(rungs, dtype=np.int64)
        self.places = np.union1d(self.rungs, self.weights)
        """The numbers of errors at which strata are or may stand."""
        confidence = CONFIDENCE ** (1 / max(1, len(known)))
        ends = [_core.binomial_interval(c.failures, c.frames, confidence) for _, c in known]
        self.lower = np.array([lower for lower, _ in ends])
        self.upper = np.array([upper for _, upper in ends])
        barren = np.flatnonzero(self.failed == 0)
        self.first = int(barren[-1]) + 1 if len(barren) else 0
        """Index of the lowest stratum from which on all have failures; the number of strata if there is none."""
        mixed = np.flatnonzero(self.failed < self.sampled)
        self.last = min(int(mixed[-1]) + 1 if len(mixed) else 0, len(known) - 1)
        """Index of the stratum from which on all always failed, or of the highest."""
        if self.measured:
            rates = self.failed / self.sampled
            # A stratum that always failed says no more than that F is about one.
            self._capped = np.minimum(rates, 1 - 0.5 / self.sampled)
            self._rate = self._curve(rates, self._capped)
            self._lower = self._curve(self.lower, self.lower)
            self._upper = self._curve(self.upper, np.minimum(self.upper, 1 - 1e-15))
            self._slopes = self._slopes_at(self._capped)
        self._ceilings = np.minimum.accumulate(self.upper[::-1])[::-1] if known else np.ones(0)

    @property
    def measured(self) -> bool:
        """Whether there is a measured part: the highest stratum saw failures."""
        return self.first < len(self.weights)

    @property
    def lowest(self) -> int:
        """Errors of the lowest measured stratum."""
        return int(self.weights[self.first])

    @property
    def highest(self) -> int:
        """Errors of the lowest stratum from which on all always failed, or of the highest."""
        return int(self.weights[self.last])

    @property
    def saturated(self) -> bool:
        """Whether the highest strata always failed."""
        return bool(self.failed[self.last] == self.sampled[self.last])

    def floor(self, count: int) -> Floats:
        """Upper bounds of F at 0 to `count` - 1 errors (float64): the smallest upper end at or above each."""
        ceilings = np.append(self._ceilings, 1.0)
        return ceilings[np.searchsorted(self.weights, np.arange(count), "left")]

    def estimate(self, probabilities: Floats) -> Estimate:
        """The frame error rate where numbers of errors have these `probabilities` (float64, from 0 to all bits)."""
        if not self.measured:
            end = len(probabilities)
            return Estimate(0.0, 0.0, 0.0, None, min(1.0, float(probabilities @ self.floor(end))), math.inf)
        low, high = self.lowest, self.highest + 1
        inside, above = probabilities[low:high], float(probabilities[high:].sum())
        top = self._rate[-1]
        fer = float(inside @ self._rate) + above * top
        lo = float(inside @ self._lower) + above * float(self.lower[self.last])
        hi = float(inside @ self._upper) + above
        unlisted = float(probabilities[:low] @ self.floor(low))
        if fer == 0:
            return Estimate(0.0, 0.0, min(1.0, hi), None, min(1.0, unlisted), math.inf)
        share = inside @ self._slopes
        share[-1] += above
        failed, sampled = self.failed[self.first : self.last + 1], self.sampled[self.first : self.last + 1]
        variance = float((share**2 * failed * (sampled - failed) / sampled**3).sum())
        missing = float(probabilities[:low] @ self.planned(low)) + self._skipped(probabilities)
        missing = float(missing / fer)
        error = math.sqrt(variance) / float(fer)
        return Estimate(min(1.0, float(fer)), min(1.0, lo), min(1.0, hi), error, min(1.0, unlisted), missing)

    def planned(self, count: int) -> Floats:
        """F at 0 to `count` - 1 errors, for planning alone (float64): below, the quantile continues as a line."""
        planned = np.ones(count)
        low, high = self.lowest, self.highest + 1
        planned[low:high] = self._rate[: max(0, count - low)]
        if count > low:
            planned[high:] = max(self._rate[-1], 0.5)
        first = self.first
        fitted = slice(first, min(first + _FITTED_STRATA, self.last + 1))
        weights, failed = self.weights[fitted], self.failed[fitted]
        quantiles = np.array([_NORMAL.inv_cdf(rate) for rate in self._capped[fitted]])
        slope, height = 0.0, float(quantiles[0])
        if len(weights) > 1:
            # Few failures say little, and many shall not drown the lower strata, which are nearer.
            slope, height = np.polyfit(weights, quantiles, 1, w=np.sqrt(np.minimum(failed, 10)))
        if slope <= 0:
            slope, height = 0.0, float(quantiles[0])
            if first:
                # The slope is the one that the stratum without failures makes likely.
                below = first - 1
                unseen = _NORMAL.inv_cdf(0.5 / self.sampled[below])
                slope = max(0.0, height - unseen) / float(weights[0] - self.weights[below])
            height -= slope * float(weights[0])
        trusted = np.flatnonzero(self.failed[first:] >= _TRUSTED_FAILURES)
        end = min(count, int(self.weights[first + trusted[0]]) if len(trusted) else low)
        line = [_normal_cdf(height + slope * errors) for errors in range(end)]
        planned[:end] = np.minimum(line, self.floor(end))
        return planned

    def expected(self, probabilities: Floats) -> float:
        """The rate for planning: the measured part, and the rest by extrapolation."""
        return self.shares(probabilities, self.planned(self.highest + 1))[0] if self.measured else 0.0

    def shares(self, probabilities: Floats, planned: Floats) -> tuple[float, Floats]:
        """The rate for planning, and the share of it for which each of `places` stands (float64)."""
        terms = probabilities[: len(planned)] * planned
        total = float(terms.sum() + probabilities[len(planned) :].sum())
        weights = np.arange(len(terms))
        left = np.clip(np.searchsorted(self.places, weights, "right") - 1, 0, len(self.places) - 2)
        fraction = np.clip((weights - self.places[left]) / (self.places[left + 1] - self.places[left]), 0, 1)
        shares = np.bincount(left, terms * (1 - fraction), len(self.places))
        shares += np.bincount(left + 1, terms * fraction, len(self.places))
        return total, shares / (total or 1.0)

    def _skipped(self, probabilities: Floats) -> float:
        """The part of the rate for which unmeasured rungs between measured strata stand."""
        skipped = np.setdiff1d(self.rungs, self.weights)
        skipped = skipped[(skipped > self.lowest) & (skipped < self.highest)]
        if not len(skipped):
            return 0.0
        planned = self.planned(self.highest + 1)
        total, shares = self.shares(probabilities, planned)
        return total * float(shares[np.isin(self.places, skipped)].sum())

    def _curve(self, at_strata: Floats, capped: Floats) -> Floats:
        """F from the lowest measured stratum to the highest, given its value at each."""
        curve = np.empty(self.highest + 1 - self.lowest)
        for i in range(self.first, self.last + 1):
            at = self.weights[i] - self.lowest
            curve[at] = at_strata[i]
            if i < self.last:
                count = int(self.weights[i + 1] - self.weights[i])
                curve[at + 1 : at + count] = _probabilities_between(capped[i], capped[i + 1], count)
        return np.minimum(curve, 1.0)

    def _slopes_at(self, rates: Floats) -> Floats:
        """The derivative of F at each number of errors by F of each stratum (float64, errors x measured strata)."""
        slopes = np.zeros((self.highest + 1 - self.lowest, self.last + 1 - self.first))
        quantiles = [_NORMAL.inv_cdf(rate) for rate in rates[self.first : self.last + 1]]
        starts = (self.weights[self.first : self.last + 1] - self.lowest).tolist()
        for i, at in enumerate(starts):
            slopes[at, i] = 1.0
            for step in range(1, starts[i + 1] - at if i + 1 < len(starts) else 1):
                a = step / (starts[i + 1] - at)
                z = (1 - a) * quantiles[i] + a * quantiles[i + 1]
                slopes[at + step, i] = (1 - a) * math.exp((quantiles[i] ** 2 - z * z) / 2)
                slopes[at + step, i + 1] = a * math.exp((quantiles[i + 1] ** 2 - z * z) / 2)
        return slopes


def _probabilities_between(low: float, high: float, count: int) -> list[float]:
    """Probabilities at the `count` - 1 steps between two, linear in the normal quantile."""
    if count == 1:
        return []
    first, last = _NORMAL.inv_cdf(low), _NORMAL.inv_cdf(high)
    return [_normal_cdf(first + (last - first) * i / count) for i in range(1, count)]


def _normal_cdf(quantile: float) -> float:
    return 0.5 * math.erfc(-quantile / math.sqrt(2))


def direct_estimate(counts: Counts) -> Estimate:
    """The frame error rate of frames that the channel made."""
    lo, hi = _core.binomial_interval(counts.failures, counts.frames, CONFIDENCE)
    fer = counts.failures / counts.frames
    error = math.sqrt((1 - fer) / counts.failures) if counts.failures else None
    return Estimate(fer, lo, hi, error, 0.0, 0.0 if counts.failures else math.inf)
