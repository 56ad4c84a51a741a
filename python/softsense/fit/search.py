"""The search for the parts of a latency: the number of peaks, whether flash retries, whether there are pauses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from softsense.fit.histograms import Histogram
from softsense.fit.model import Grid, Parameters, Structure, least_retry_us, pack, unpack
from softsense.fit.sampling import Mode, Prior, find_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

MOST_PEAKS = 12
"""Largest number of peaks of a structure."""

MOST_READS = 200_000
"""Largest number of reads that decides about the structure: ten million reads would ask for more than any model has."""

HIT_SHARE = 0.2
"""Largest share of reads of a hit; a first peak with more is no hit."""

HIT_AT = 0.65
"""Latest time of a hit, as a part of the time of the first peak with a tenth of the reads."""

_HEIGHTS = (0.35, 0.06)
_ABOVE_LEAST = 1.05
_LESS_SLOW = 0.2
_BUSY_US = (80.0, 3000.0)
_QUICK = 25
_ADDED_PEAKS = 8


def find_structure(
    histogram: Histogram, grid: Grid, stopped: Callable[[], bool] = lambda: False
) -> tuple[Structure, NDArray[np.float64]] | None:
    """Search for the structure of the least BIC, and its most probable vector.

    The search begins with the visible peaks: those of at least 0.35 of the height of the highest, and once more those
    of 0.06. To these it adds a ladder, for which all spacings are tried; pauses; and one by one further peaks where the
    model has too few reads. Parts are added as long as BIC falls.

    Args:
        histogram: the counts, such as those of all rounds together.
        grid: grid of its bins.
        stopped: asked now and then whether to give up.

    Returns the structure and the vector; None if stopped. Otherwise the result depends on the arguments alone.

    Source: G. Schwarz, "Estimating the dimension of a model", 1978.
    """
    scaled = _at_most(histogram, MOST_READS)
    found: list[tuple[float, Structure, NDArray[np.float64]]] = []
    for height in _HEIGHTS:
        state = _Search(scaled, grid)
        state.begin(height)
        state.try_pauses()
        state.try_busy()
        state.try_late()
        state.try_ladder()
        state.try_pauses()
        for _ in range(_ADDED_PEAKS):
            if stopped():
                return None
            if not state.try_peak():
                break
        state.drop_no_retries()
        state.try_late()
        if not state.structure.ladder:
            state.try_ladder()
            state.drop_no_retries()
        state.try_pauses()
        state.drop_useless()
        found.append((state.bic, state.structure, state.mode.vector))
    _, structure, vector = min(found, key=lambda each: each[0])
    return structure, vector


def _at_most(histogram: Histogram, reads: float) -> Histogram:
    factor = min(1.0, reads / histogram.reads)
    return replace(histogram, counts=histogram.counts * factor, beyond=histogram.beyond * factor)


class _Search:
    """A structure that grows as long as it pays."""

    structure: Structure
    mode: Mode

    def __init__(self, histogram: Histogram, grid: Grid) -> None:
        self._histogram, self._grid = histogram, grid

    @property
    def bic(self) -> float:
        return self._bic(self.mode)

    def _bic(self, mode: Mode) -> float:
        return mode.deviance + len(mode.vector) * float(np.log(self._histogram.reads))

    def begin(self, height: float) -> None:
        """Start with the peaks that reach this part of the highest one, and with a first peak that looks like a hit."""
        from scipy.signal import find_peaks

        edges = self._grid.edges_us
        widths = np.diff(edges)
        density = self._histogram.counts / widths
        smooth = np.convolve(density, [0.25, 0.5, 0.25], mode="same")
        found, _ = find_peaks(smooth, height=height * smooth.max(), prominence=0.25 * height * smooth.max())
        small, _ = find_peaks(smooth, height=0.01 * smooth.max(), prominence=0.006 * smooth.max())
        chosen = sorted({*found[np.argsort(-smooth[found])][: MOST_PEAKS - 1], *small[:1]})
        at = (edges[chosen] + edges[1:][chosen]) / 2
        sigma = max(1.5 * self._grid.least_sigma_us, float(np.median(widths)), 0.01 * float(at[-1]))
        share = smooth[chosen] / smooth[chosen].sum()
        p = _plain(at - sigma / 2, np.full(len(at), sigma), share, sigma / 2)
        self.structure = Structure(len(at), is_hit(p), ladder=False, slow=False, pauses=False)
        self.mode = self._fit(self.structure, pack(self.structure, p))
        self._settle_hit()

    def try_ladder(self) -> bool:
        """Try all spacings at some frequencies, and go on from the five most likely starts that differ."""
        s, p = self.structure, unpack(self.structure, self.mode.vector)
        if s.ladder or not s.peaks - s.hit:
            return False
        grown = replace(s, ladder=True)
        bins = float(np.median(np.diff(self._grid.edges_us)))
        least = max(6 * bins, _ABOVE_LEAST * least_retry_us(s, p))
        spacings = np.arange(least, 0.98 * self._grid.most_step_us, bins)
        starts = []
        for often in (0.003, 0.02, 0.1):
            for again in (0.15, 0.5):
                for spacing in spacings:
                    retry = np.array([often, again, again])
                    starts.append(pack(grown, replace(p, step_us=np.array(spacing), p_retry=retry)))
        vectors = np.array(starts)
        scores = np.concatenate(
            [self._log_likelihood(grown, part) for part in np.array_split(vectors, max(1, len(vectors) // 64))]
        )
        order = np.argsort(-scores)
        # The five best starts whose spacings are more than a few bins apart.
        chosen: list[int] = []
        at = 3 * s.peaks
        for index in order:
            if all(abs(np.exp(vectors[index][at]) - np.exp(vectors[other][at])) > 4 * bins for other in chosen):
                chosen.append(int(index))
            if len(chosen) == 5:
                break
        return self._take_best(grown, [vectors[index] for index in chosen])

    def drop_no_retries(self) -> None:
        """Remove a ladder whose steps are as short as a retry can be: the reads that it explains are no retries."""
        s, p = self.structure, unpack(self.structure, self.mode.vector)
        if not s.ladder or float(p.step_us) > _ABOVE_LEAST * least_retry_us(s, p):
            return
        self.structure = replace(s, ladder=False)
        self.mode = self._fit(self.structure, pack(self.structure, p))
        for _ in range(_ADDED_PEAKS):
            if not self.try_peak():
                break

    def drop_useless(self) -> None:
        """Remove each part that no longer lowers BIC: peaks that were added later may explain its reads."""
        for part in ("ladder", "late", "busy", "pauses", "slow"):
            if not getattr(self.structure, part):
                continue
            less = replace(self.structure, **{part: False})
            mode = self._fit(less, pack(less, unpack(self.structure, self.mode.vector)))
            if self._bic(mode) < self.bic:
                self.structure, self.mode = less, mode

    def try_pauses(self) -> bool:
        """Try short and long pauses, and then a longer skew of some reads."""
        taken = False
        if not self.structure.pauses:
            grown, p = replace(self.structure, pauses=True), unpack(self.structure, self.mode.vector)
            starts = [
                pack(grown, replace(p, pause_share=np.array(share), pause_us=np.array(mean)))
                for share, mean in ((0.003, 70.0), (0.001, 400.0))
            ]
            taken = self._take_best(grown, starts)
        if not self.structure.slow:
            grown, p = replace(self.structure, slow=True), unpack(self.structure, self.mode.vector)
            starts = [
                pack(grown, replace(p, slow_share=np.array(share), slow_us=np.array(mean)))
                for share, mean in ((0.2, 8.0), (0.02, 25.0))
            ]
            taken |= self._take_best(grown, starts)
        return taken

    def try_busy(self) -> bool:
        """Try waits for the rest of an operation, of all lengths, beside pauses or in place of most of them."""
        if self.structure.busy or self._grid.edges_us[-1] < _BUSY_US[0]:
            return False
        grown, p = replace(self.structure, busy=True), unpack(self.structure, self.mode.vector)
        lengths = np.geomspace(*_BUSY_US, 40)
        starts = [
            pack(
                grown,
                replace(
                    p,
                    busy_share=np.array(share),
                    busy_us=np.array(length),
                    pause_share=p.pause_share * kept,
                ),
            )
            for share in (0.001, 0.01)
            for kept in (1.0, 0.1)
            for length in lengths[lengths < 0.95 * self._grid.edges_us[-1]]
        ]
        return self._take_likeliest(grown, starts, 2)

    def try_late(self) -> bool:
        """Try delays that are shorter than a retry."""
        s, p = self.structure, unpack(self.structure, self.mode.vector)
        bins = float(np.median(np.diff(self._grid.edges_us)))
        delays = np.arange(3 * bins, least_retry_us(s, p), bins / 2)
        if s.late or not len(delays):
            return False
        grown = replace(s, late=True)
        starts = [
            pack(grown, replace(p, late_share=np.array(share), late_us=np.array(delay), slow_share=p.slow_share * kept))
            for share in (0.01, 0.05, 0.15)
            for kept in ((1.0, _LESS_SLOW) if s.slow else (1.0,))
            for delay in delays
        ]
        return self._take_likeliest(grown, starts, 3)

    def try_peak(self) -> bool:
        """Try one more peak where most reads are missing.

        If the peak does not pay, try it with fewer slow reads, which may stand for peaks.
        """
        p = unpack(self.structure, self.mode.vector)
        return self._try_peak_beside(p) or (
            self.structure.slow and self._try_peak_beside(replace(p, slow_share=_LESS_SLOW * p.slow_share))
        )

    def _try_peak_beside(self, p: Parameters) -> bool:
        """Try one more peak where the given parameters have too few reads."""
        s = self.structure
        if s.peaks == MOST_PEAKS:
            return False
        counts, reads = self._histogram.counts, self._histogram.reads
        expected = reads * self._grid.probabilities(s, p)[:-1]
        window = np.ones(3) / np.sqrt(3)
        lacking = np.convolve((counts - expected) / np.sqrt(expected + 1), window, mode="same")
        starts = []
        for _ in range(2):
            bin_at = int(np.argmax(lacking))
            if lacking[bin_at] <= 3:
                break
            low, high = max(0, bin_at - 2), bin_at + 3
            missing = max(float((counts - expected)[low:high].sum()) / reads, 1e-4)
            at = float(self._grid.edges_us[bin_at : bin_at + 2].mean())
            sigma = max(float(np.exp(np.median(np.log(p.sigma_us)))), 1.5 * self._grid.least_sigma_us)
            place = int(np.searchsorted(p.at_us, at))
            hit = s.hit or (place == 0 and missing < HIT_SHARE and at < HIT_AT * _first_large(p))
            if place == 0 and s.hit:
                hit = True
            grown = replace(s, peaks=s.peaks + 1, hit=hit)
            started = replace(
                p,
                at_us=np.insert(p.at_us, place, at),
                sigma_us=np.insert(p.sigma_us, place, sigma),
                share=np.insert(p.share * (1 - missing), place, missing),
            )
            starts.append((grown, pack(grown, started)))
            lacking[max(0, bin_at - 5) : bin_at + 6] = 0
        before = self.bic
        for grown, start in starts:
            if self._take_best(grown, [start]):
                break
        if self.bic < before:
            self._settle_hit()
            return True
        return False

    def _take_best(self, grown: Structure, starts: list[NDArray[np.float64]]) -> bool:
        if not starts:
            return False
        best = min((self._fit(grown, start) for start in starts), key=self._bic)
        if self._bic(best) >= self.bic:
            return False
        self.structure, self.mode = grown, best
        self._order()
        return True

    def _take_likeliest(self, grown: Structure, starts: Sequence[NDArray[np.float64]], most: int) -> bool:
        """Take the best result from the `most` starts by which the counts are most likely."""
        scores = self._log_likelihood(grown, np.array(starts))
        return self._take_best(grown, [starts[index] for index in np.argsort(-scores)[:most]])

    def _order(self) -> None:
        """Sort the peaks by their times."""
        p = unpack(self.structure, self.mode.vector)
        order = np.argsort(p.at_us, kind="stable")
        if np.any(np.diff(order) < 0):
            ordered = replace(p, at_us=p.at_us[order], sigma_us=p.sigma_us[order], share=p.share[order])
            self.mode = self._fit(self.structure, pack(self.structure, ordered))

    def _settle_hit(self) -> None:
        """Decide from the fitted parameters whether the first peak is a hit."""
        hit = is_hit(unpack(self.structure, self.mode.vector))
        if hit != self.structure.hit:
            self.structure = replace(self.structure, hit=hit)
            self.mode = self._fit(self.structure, self.mode.vector)

    def _fit(self, structure: Structure, start: NDArray[np.float64]) -> Mode:
        return find_mode(structure, self._grid, self._histogram, Prior.of(structure, start, self._grid), start, _QUICK)

    def _log_likelihood(self, structure: Structure, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.log(self._grid.probabilities(structure, unpack(structure, vectors))) @ self._histogram.all_counts


def is_hit(p: Parameters) -> bool:
    """Whether the first peak looks like reads that need no flash: rare, and much sooner than the others."""
    return len(p.at_us) > 1 and bool(p.share[0] < HIT_SHARE and p.at_us[0] < HIT_AT * _first_large(p))


def _first_large(p: Parameters) -> float:
    """Time of the first peak after peak 0 that has a tenth of the reads, or else of the largest peak."""
    large = [k for k in range(1, len(p.at_us)) if p.share[k] >= 0.1]
    return float(p.at_us[large[0]] if large else p.at_us[int(np.argmax(p.share))])


def _plain(
    at_us: NDArray[np.float64], sigma_us: NDArray[np.float64], share: NDArray[np.float64], tail_us: float
) -> Parameters:
    """Parameters of peaks alone, without ladder and pauses."""
    zero, one = np.array(0.0), np.array(1.0)
    return Parameters(at_us, sigma_us, share, np.array(tail_us), zero, np.zeros(3), zero, one, zero, one)
