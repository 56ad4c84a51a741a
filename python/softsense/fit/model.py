"""The distribution of the latency of one read with nothing else outstanding, as in the simulator.

A read is one of several *peaks*: the controller's memory (a hit), or a page type of the flash. Its latency is a sum of
independent parts, so that its characteristic function is a product::

    phi(w) = [sum_k share_k exp(i w at_k - sigma_k^2 w^2 / 2)   where a flash peak is multiplied by the ladder]
             x [(1 - shares that follow) / (1 - i w tail)         right skew of every read, exponential,
                + slow_share / (1 - i w slow)                     or a longer one of some,
                + pause_share / (1 - i w pause)                   or, rarely, a long wait,
                + busy_share (exp(i w busy) - 1) / (i w busy)]    or one for the rest of an operation of length `busy`
             x [1 - late_share + late_share exp(i w late)]        a fixed delay of some reads
    ladder(w) = p_0 + p_1 exp(i w step) + p_2 exp(2 i w step) + ...

One inverse FFT turns phi into probabilities of cells of time. Source: convolution theorem; the parts are those of
docs/model/fit.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS = 6
"""Number of rungs of the retry ladder: the simulator has seven levels."""

PAGE_TYPE_SHARE = 0.08
"""Least share of the flash reads of a page type; a peak with less is called a minor peak."""

MOST_REFERENCES = 3
"""Largest number of references of the fastest page type of a flash: TLC 2-3-2 or 1-2-4, QLC 4-3-4-4."""

SENSED = 0.5
"""Least share of sensing in the time of a page read after the overhead; transfer and decode are the rest."""

LEAST_SENSING_US = 17.0
"""Least sensing time at one reference, of TLC, QLC and MLC flash: 40 us for seven references in three pages are 17.1 us
each.
"""

_ASSUMED_OVERHEAD_US = 10.0
_LEAST = 1e-12


@dataclass(frozen=True)
class Structure:
    """The parts of the latency, and the elements of a vector of parameters.

    A vector has these elements in this order:

    - `at_us` of each peak; ln `sigma_us` of each; ln of each share over that of the last peak; ln `tail_us`;
    - for a ladder, ln `step_us`, logit P(first retry), logit P(second | first), logit P(further | second);
    - for slow reads, pauses, busy times and late reads, logit share and ln mean, length or delay.

    Attributes:
        peaks: number of peaks, ordered by time.
        hit: whether the first peak is the controller's memory, which never retries.
        ladder: whether flash reads may be retried.
        slow: whether some reads have a longer skew than others.
        pauses: whether there are rare long waits.
        busy: whether some reads find the drive busy with an operation of one length, and wait for the rest of it.
        late: whether some reads, hits too, take longer by one delay that is shorter than a retry.
    """

    peaks: int
    hit: bool
    ladder: bool
    slow: bool
    pauses: bool
    busy: bool = False
    late: bool = False

    @property
    def dimensions(self) -> int:
        """Number of elements of a vector."""
        return 3 * self.peaks + 4 * self.ladder + 2 * (self.slow + self.pauses + self.busy + self.late)

    def to_json(self) -> list[Any]:
        """The fields of the structure, in the order of the class."""
        return [self.peaks, self.hit, self.ladder, self.slow, self.pauses, self.busy, self.late]

    def names(self) -> list[str]:
        """Names of the elements of a vector, untransformed."""
        each = [f"{what}[{k}]" for what in ("at_us", "sigma_us") for k in range(self.peaks)]
        shares = [f"odds[{k}]" for k in range(self.peaks - 1)]
        ladder = ["step_us", "p_retry[0]", "p_retry[1]", "p_retry[2]"] if self.ladder else []
        slow = ["slow_share", "slow_us"] if self.slow else []
        pauses = ["pause_share", "pause_us"] if self.pauses else []
        busy = ["busy_share", "busy_us"] if self.busy else []
        late = ["late_share", "late_us"] if self.late else []
        return [*each, *shares, "tail_us", *ladder, *slow, *pauses, *busy, *late]


_MOST_OFTEN = 0.95


@dataclass(frozen=True)
class Parameters:
    """Parameters in their own units, of one vector or of many; several parameters of a kind are the last axis.

    Attributes:
        at_us: time of each peak: the latency of a read without spread, skew, retries and pauses.
        sigma_us: standard deviation of each peak.
        share: share of the reads in each peak; the sum is 1.
        tail_us: mean of the right skew.
        step_us: time from one rung of the ladder to the next; 0 without a ladder.
        p_retry: probability that a flash read is retried once, that a second retry follows the first, and that a
            further retry follows; zeros without a ladder.
        slow_share: share of reads that are skewed by `slow_us`, rather than by `tail_us`; 0 without slow reads.
        slow_us: mean of the longer skew.
        pause_share: share of reads that are paused; 0 without pauses.
        pause_us: mean length of a pause.
        busy_share: share of reads that meet an operation; 0 without busy times.
        busy_us: length of that operation. A wait is uniform between 0 and this length.
        late_share: share of reads that take `late_us` longer; 0 without late reads.
        late_us: delay of late reads.
    """

    at_us: NDArray[np.float64]
    sigma_us: NDArray[np.float64]
    share: NDArray[np.float64]
    tail_us: NDArray[np.float64]
    step_us: NDArray[np.float64]
    p_retry: NDArray[np.float64]
    slow_share: NDArray[np.float64]
    slow_us: NDArray[np.float64]
    pause_share: NDArray[np.float64]
    pause_us: NDArray[np.float64]
    busy_share: NDArray[np.float64] = field(default_factory=lambda: np.array(0.0))
    busy_us: NDArray[np.float64] = field(default_factory=lambda: np.array(1.0))
    late_share: NDArray[np.float64] = field(default_factory=lambda: np.array(0.0))
    late_us: NDArray[np.float64] = field(default_factory=lambda: np.array(1.0))

    @property
    def rungs(self) -> NDArray[np.float64]:
        """Shares of flash reads with 0, 1, ... `STEPS` retries, in the last axis."""
        return rungs(self.p_retry)

    def later(self, us: float) -> Parameters:
        """Parameters of a round all of whose reads take longer by `us`."""
        return replace(self, at_us=self.at_us + us)

    def with_tails(self, factor: float, bound_us: float) -> Parameters:
        """Parameters with first retries, waits and peaks beyond a bound `factor` times as often, at most 0.95."""
        p_retry = self.p_retry.copy()
        p_retry[..., 0] = np.minimum(p_retry[..., 0] * factor, _MOST_OFTEN)
        pauses = np.minimum(self.pause_share * factor, _MOST_OFTEN)
        busy = np.minimum(self.busy_share * factor, _MOST_OFTEN - pauses)
        slow = np.where(self.at_us > bound_us, self.share, 0.0)
        of_slow = slow.sum(axis=-1, keepdims=True)
        share = self.share
        if (of_slow > 0).all() and (of_slow < 1).all():
            grown = np.minimum(of_slow * factor, _MOST_OFTEN)
            share = slow * (grown / of_slow) + (self.share - slow) * ((1 - grown) / (1 - of_slow))
        return replace(self, p_retry=p_retry, pause_share=pauses, busy_share=busy, share=share)


def page_types(structure: Structure, p: Parameters) -> list[int]:
    """Peaks that count as page types: those with at least 8 % of the flash reads; the largest peak, if none has.

    A peak that follows the hits sooner than flash senses counts as hits, unless all peaks do.
    """
    flash = list(range(int(structure.hit), structure.peaks))
    if structure.hit:
        flash = [k for k in flash if p.at_us[k] - p.at_us[0] >= LEAST_SENSING_US] or flash
    least = PAGE_TYPE_SHARE * float(sum(p.share[k] for k in flash))
    return [k for k in flash if p.share[k] >= least] or [max(flash, key=lambda k: float(p.share[k]))]


def overhead_us(structure: Structure, p: Parameters) -> float:
    """Time of a read that needs no flash, us.

    The time of the hits is taken. Without hits a time is assumed: a tenth of the first peak, 10 us at most.
    """
    return float(p.at_us[0]) if structure.hit else min(_ASSUMED_OVERHEAD_US, float(np.min(p.at_us)) / 10)


def least_retry_us(structure: Structure, p: Parameters) -> float:
    """The least time of a retry, us: one sensing at one reference, as a retry senses again and transfers again.

    The larger of two bounds holds. Sensing is at least half of the time of the fastest page type after the overhead
    (`SENSED`), at no more than three references (`MOST_REFERENCES`). And no published flash but SLC flash senses faster
    than `LEAST_SENSING_US`: where the fastest page type has less than twice that, the bound is half of its time.

    Source: B. Tallis, "2021 NAND Flash Updates from ISSCC", AnandTech 2021: six 3D TLC flashes sense in 40 to 58 us in
    the mean. Two of seven references in three pages are then 34 to 50 us. That is 0.55 to 0.70 of sensing, the transfer
    of 16 KiB and 10 us of decoding. One reference is 0.27 of a read or more, where one sixth is taken here.
    """
    flash_us = max(0.0, float(p.at_us[page_types(structure, p)[0]]) - overhead_us(structure, p))
    return max(flash_us * SENSED / MOST_REFERENCES, min(LEAST_SENSING_US, flash_us * SENSED))


def rungs(p_retry: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares with 0, 1, ... `STEPS` retries, from conditional probabilities (..., 3).

    The last probability holds for all further retries.
    """
    reached = [np.ones(p_retry.shape[:-1])]
    for step in range(STEPS):
        reached.append(reached[-1] * p_retry[..., min(step, 2)])
    reach = np.stack([*reached, np.zeros_like(reached[0])], axis=-1)
    return reach[..., :-1] - reach[..., 1:]


def pack(structure: Structure, parameters: Parameters) -> NDArray[np.float64]:
    """The vector of one set of parameters."""
    p = parameters
    share = np.maximum(p.share, _LEAST)
    parts = [p.at_us, np.log(p.sigma_us), np.log(share[:-1] / share[-1]), [np.log(p.tail_us)]]
    if structure.ladder:
        parts += [[np.log(p.step_us)], _logit(p.p_retry)]
    if structure.slow:
        parts += [[_logit(p.slow_share)], [np.log(p.slow_us)]]
    if structure.pauses:
        parts += [[_logit(p.pause_share)], [np.log(p.pause_us)]]
    if structure.busy:
        parts += [[_logit(p.busy_share)], [np.log(p.busy_us)]]
    if structure.late:
        parts += [[_logit(p.late_share)], [np.log(p.late_us)]]
    return np.concatenate([np.atleast_1d(np.asarray(part, dtype=float)) for part in parts])


def unpack(structure: Structure, vectors: NDArray[np.float64]) -> Parameters:
    """Parameters of vectors (..., dimensions)."""
    k = structure.peaks
    odds = np.concatenate([vectors[..., 2 * k : 3 * k - 1], np.zeros((*vectors.shape[:-1], 1))], axis=-1)
    share = np.exp(odds - odds.max(axis=-1, keepdims=True))
    zero, at = np.zeros(vectors.shape[:-1]), 3 * k
    step, p_retry = zero, np.zeros((*vectors.shape[:-1], 3))
    slow_share, slow, pause_share, pause = zero, zero + 1.0, zero, zero + 1.0
    busy_share, busy, late_share, late = zero, zero + 1.0, zero, zero + 1.0
    if structure.ladder:
        step, p_retry, at = np.exp(vectors[..., at]), _logistic(vectors[..., at + 1 : at + 4]), at + 4
    if structure.slow:
        slow_share, slow, at = _logistic(vectors[..., at]), np.exp(vectors[..., at + 1]), at + 2
    if structure.pauses:
        pause_share, pause, at = _logistic(vectors[..., at]), np.exp(vectors[..., at + 1]), at + 2
    if structure.busy:
        busy_share, busy, at = _logistic(vectors[..., at]), np.exp(vectors[..., at + 1]), at + 2
    if structure.late:
        late_share, late = _logistic(vectors[..., at]), np.exp(vectors[..., at + 1])
    return Parameters(
        at_us=vectors[..., :k],
        sigma_us=np.exp(vectors[..., k : 2 * k]),
        share=share / share.sum(axis=-1, keepdims=True),
        tail_us=np.exp(vectors[..., 3 * k - 1]),
        step_us=step,
        p_retry=p_retry,
        slow_share=slow_share,
        slow_us=slow,
        pause_share=pause_share,
        pause_us=pause,
        busy_share=busy_share,
        busy_us=busy,
        late_share=late_share,
        late_us=late,
    )


class Grid:
    """Probabilities of bins of latency.

    Args:
        edges_us: increasing edges of the bins (n + 1,).
        cell_us: width of the cells of the grid of time on which the FFT works; default: half the narrowest bin. Peaks
            have to spread by one cell or more.
        end_us: time up to which latencies are distinguished; default: the last edge.
    """

    def __init__(
        self, edges_us: NDArray[np.float64], cell_us: float | None = None, end_us: float | None = None
    ) -> None:
        self.edges_us = edges_us
        self.cell_us = cell_us or float(np.diff(edges_us).min()) / 2
        self._end_us = max(float(edges_us[-1]), end_us or 0.0)
        # Latencies beyond the end of the grid come back at its beginning: there is room for six retries beyond the last
        # edge.
        self._cells = 1 << int(np.ceil(np.log2(2.2 * self._end_us / self.cell_us)))
        self._omega = 2 * np.pi * np.fft.rfftfreq(self._cells, self.cell_us)
        self._box = np.sinc(self._omega * self.cell_us / (2 * np.pi))
        # Cell i is centred on (i + 1/2) cells.
        self._centre = np.exp(1j * self._omega * self.cell_us / 2)

    @property
    def least_sigma_us(self) -> float:
        """The narrowest peak that the grid has room for, us."""
        return self.cell_us

    @property
    def most_step_us(self) -> float:
        """The longest step of the ladder of which six in a row do not come back at the beginning of the grid, us."""
        return float(self._cells * self.cell_us - self._end_us) / (STEPS + 1)

    def probabilities(self, structure: Structure, parameters: Parameters) -> NDArray[np.float64]:
        """Probabilities of each bin, and of latencies beyond the last bin: (..., n + 1).

        Latencies below the first edge are in the first bin.
        """
        p = parameters
        cut = min(len(self._omega), int(np.searchsorted(self._omega, 7.0 / float(np.min(p.sigma_us)))) + 2)
        w = self._omega[:cut]
        ladder: NDArray[Any] | float = 1.0
        if structure.ladder:
            turn = np.exp(1j * w * p.step_us[..., None])
            shares = p.rungs
            ladder = shares[..., STEPS, None] * turn
            for step in range(STEPS - 1, 0, -1):
                ladder = (ladder + shares[..., step, None]) * turn
            ladder = ladder + shares[..., 0, None]
        hits: NDArray[np.complex128] | float = 0.0
        flash: NDArray[np.complex128] | float = 0.0
        for k in range(structure.peaks):
            exponent = 1j * w * p.at_us[..., k, None] - 0.5 * (w * p.sigma_us[..., k, None]) ** 2
            peak = p.share[..., k, None] * np.exp(exponent)
            if structure.hit and k == 0:
                hits = peak
            else:
                flash = flash + peak
        rest = 1 - p.slow_share - p.pause_share - p.busy_share
        skew: NDArray[Any] | float = 0.0
        if structure.slow:
            skew = p.slow_share[..., None] / (1 - 1j * w * p.slow_us[..., None])
        mass = np.ones(p.tail_us.shape)
        if structure.pauses:
            # Cut off beyond the last edge, so that nothing wraps around.
            rate, end = 1 / p.pause_us[..., None], self._end_us
            kept = 1 - np.exp((1j * w - rate) * end)
            skew = skew + p.pause_share[..., None] * kept / (1 - 1j * w * p.pause_us[..., None])
            mass = mass - p.pause_share * np.exp(-end / p.pause_us)
        if structure.busy:
            half = w * p.busy_us[..., None] / 2
            skew = skew + p.busy_share[..., None] * np.exp(1j * half) * np.sinc(half / np.pi)
        skew = skew + rest[..., None] / (1 - 1j * w * p.tail_us[..., None])
        if structure.late:
            skew = skew * (1 + p.late_share[..., None] * (np.exp(1j * w * p.late_us[..., None]) - 1))
        phi: NDArray[np.complex128] = np.asarray((hits + flash * ladder) * skew)
        whole = np.zeros((*phi.shape[:-1], len(self._omega)), dtype=np.complex128)
        whole[..., :cut] = np.conj(phi * self._box[:cut]) * self._centre[:cut]
        cells = np.maximum(np.fft.irfft(whole, self._cells, axis=-1), 0)
        cells *= (mass / cells.sum(axis=-1))[..., None]
        return self._binned(np.cumsum(cells, axis=-1))

    def _binned(self, reached: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of bins from the cumulative probabilities at the ends of cells."""
        position = self.edges_us / self.cell_us
        position = np.maximum(position, 0.0)
        low = np.minimum(position.astype(int), self._cells - 1)
        reach = np.concatenate([np.zeros((*reached.shape[:-1], 1)), reached], axis=-1)
        at_edges = reach[..., low] + (position - low) * (reach[..., low + 1] - reach[..., low])
        at_edges[..., 0] = 0.0
        ends = np.concatenate([at_edges[..., 1:], np.ones((*reached.shape[:-1], 1))], axis=-1)
        found: NDArray[np.float64] = np.maximum(ends - at_edges, _LEAST)
        return found


def _logit(p: NDArray[np.float64] | float) -> NDArray[np.float64]:
    p = np.clip(np.asarray(p, dtype=float), _LEAST, 1 - _LEAST)
    return np.log(p / (1 - p))


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(x, -700, 700)))
