"""Reads that retries, page types and hits do not explain: outside the model, though the fit may keep peaks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.fit.model import Parameters, Structure, least_retry_us, overhead_us, page_types, unpack
from softsense.formats import as_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from softsense.fit.drive import Fit

_LEAST_SHARE = 1e-4
_VARIES = 2.0
_VARIES_BY = 0.01
_GIVEN = 0.25
_SAME_GAP = 0.1
_SAME_GAP_US = 2.0


@dataclass(frozen=True)
class Outside:
    """A peak that is outside the model, or the late reads.

    Attributes:
        kind: one of

            - `one page type`: reads of one page type alone take longer in some rounds, and that type loses their share;
            - `long jump`: one step longer than a whole read of the slowest page type;
            - `comes and goes`: more reads in some rounds than in others;
            - `unexplained`.

        at_us: time of the peak; None for late reads, which every peak has.
        after_us: time after the page type before it; negative for a peak before all page types.
        page_type: number of that page type, or of the one that loses its reads; None for a peak before all.
        low, high: least and largest share among rounds: of flash reads, or of all reads for late reads.
        why: explanation in words.
    """

    kind: str
    at_us: float | None
    after_us: float
    page_type: int | None
    low: float
    high: float
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The peak as a dict for JSON."""
        return dict(self.__dict__)

    def __str__(self) -> str:
        share = as_share(self.high)
        if self.high > 1.2 * self.low:
            least = f"{as_share(self.low)} to" if self.low > _LEAST_SHARE else "up to"
            share = f"{least} {share}, by round,"
        where = "all reads" if self.at_us is None else f"flash reads at {self.at_us:.4g} us"
        return f"{share} of {where}: {self.why}"


def outside(fit: Fit) -> list[Outside]:
    """Peaks of flash reads that are neither page types nor retries, in order of time, after late reads if they vary.

    Shares are those of the most probable parameters of each round. A peak of a round counts as the peak of all rounds
    to which it is nearest.

    A peak *varies* if one round has twice as many of its reads as another, and 1 % of the flash reads more. A peak that
    varies belongs to one page type alone under two conditions. That page type loses what the peak gains from round to
    round, but for a quarter (in sums of squares). And no other peak that varies stands as long after another page type.
    """
    s, whole = fit.structure, unpack(fit.structure, fit.whole.mode)
    rounds = [unpack(s, each.mode) for each in fit.rounds]
    late = np.array([float(each.late_share) for each in rounds])
    found = _found(s, whole, np.array([_shares(s, whole, each) for each in rounds]))
    if s.late and _varies(late.min(), late.max()):
        by_us = float(whole.late_us)
        why = (
            f"{by_us:.3g} us later than their peak, less than a retry takes, and more often in some rounds than in "
            "others"
        )
        found.insert(0, Outside("comes and goes", None, by_us, None, float(late.min()), float(late.max()), why))
    return found


def _varies(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (high > _VARIES * low) & (high - low > _VARIES_BY)


def _shares(s: Structure, whole: Parameters, p: Parameters) -> NDArray[np.float64]:
    """Shares of a round's flash reads at each flash peak of all rounds; a peak of the round counts for the nearest
    peak.
    """
    flash, found = slice(int(s.hit), None), np.zeros(s.peaks - int(s.hit))
    nearest = np.argmin(np.abs(p.at_us[flash, None] - whole.at_us[None, flash]), axis=1)
    np.add.at(found, nearest, p.share[flash] / p.share[flash].sum())
    return found


def _found(s: Structure, p: Parameters, shares: NDArray[np.float64]) -> list[Outside]:
    """Peaks outside the model, from the shares of flash peaks by round (rounds, peaks)."""
    types = page_types(s, p)
    floor = least_retry_us(s, p)
    whole_read = float(p.at_us[types[-1]]) - overhead_us(s, p)
    low, high = shares.min(axis=0), shares.max(axis=0)
    varies = _varies(low, high)
    loses = {
        k: _shrinking_page_type(k - s.hit, shares, [each - s.hit for each in types]) for k in range(int(s.hit), s.peaks)
    }
    gaps = {
        k: float(p.at_us[k] - p.at_us[loses[k] + s.hit])  # type: ignore[operator]
        for k in loses
        if loses[k] is not None and varies[k - s.hit]
    }
    found = []
    for k in range(int(s.hit), s.peaks):
        i, at = k - int(s.hit), float(p.at_us[k])
        alone = k in gaps and not any(
            abs(gaps[k] - gap) < max(_SAME_GAP_US, _SAME_GAP * gap) for other, gap in gaps.items() if other != k
        )
        if (k in types and not (alone and k != types[0])) or high[i] < _LEAST_SHARE:
            continue
        before = [each for each in types if each < k]
        base = before[-1] if before else None
        after = at - float(p.at_us[types[0] if base is None else base])
        number = None if base is None else types.index(base)
        told = "less than a retry takes" if after < floor else "which may be retries of that page type alone"
        if alone and (k in types or varies[i]):
            number, after = types.index(loses[k] + s.hit), gaps[k]  # type: ignore[operator]
            kind = "one page type"
            why = f"reads of page type {number} alone that take {after:.3g} us longer, whose share it loses"
            why += ", as retries of one page type do" if after >= floor else f": {told}"
        elif base is None:
            kind, why = (
                "unexplained",
                "earlier than every page type, as reads of an SLC cache or of a part of a page are",
            )
        elif after > whole_read:
            kind = "long jump"
            why = (
                f"a single delay of {after:.4g} us after page type {number}, longer than a whole read of that page type"
            )
        else:
            kind = "comes and goes" if varies[i] else "unexplained"
            why = f"{after:.3g} us after page type {number}, {told}"
            why += ", more often in some rounds than in others" if varies[i] else ""
        found.append(Outside(kind, at, after, number, float(low[i]), float(high[i]), why))
    return found


def _shrinking_page_type(peak: int, shares: NDArray[np.float64], types: Sequence[int]) -> int | None:
    """The earlier page type that loses as much as a peak gains from round to round; None if no type does."""
    if len(shares) < 2:
        return None
    away = shares - shares.mean(axis=0)
    gained = float(away[:, peak] @ away[:, peak])
    left = {k: float(np.sum((away[:, peak] + away[:, k]) ** 2)) for k in types if k < peak}
    best = min(left, key=left.__getitem__, default=None)
    return best if best is not None and gained > 0 and left[best] < _GIVEN * gained else None
