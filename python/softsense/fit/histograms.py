"""Contents of a latency log after it is read: counts of reads in bins of time, for each round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from softsense._core import ConfigError, FileError
from softsense.fit.clock import Queue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LEAST_READS = 1000
"""Least number of reads of a round: a round with fewer reads is not fitted."""

_BINS_TO_MEDIAN = 150
_MOST_BINS = 2000
_PLAUSIBLE_US = (3.0, 50_000.0)
_OTHER_BINS = 3.0


@dataclass(frozen=True)
class Histogram:
    """Latencies of the reads of a round.

    Attributes:
        round: number of the round: how often the data had been read whole, or the place of the log among several.
        edges_us: edges of the bins (n + 1,), increasing.
        counts: reads in each bin (n,); reads below the first edge are in the first bin.
        beyond: reads that took longer than the last edge.
    """

    round: float
    edges_us: NDArray[np.float64]
    counts: NDArray[np.float64]
    beyond: float = 0.0

    @property
    def reads(self) -> float:
        """Number of all reads."""
        return float(self.counts.sum() + self.beyond)

    @property
    def all_counts(self) -> NDArray[np.float64]:
        """Counts of the bins and of the reads beyond the last bin (n + 1,)."""
        return np.append(self.counts, self.beyond)

    def quantile_us(self, share: float | Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Latency that this share of reads does not exceed, us; infinite where it is beyond the last edge.

        Reads of a bin are taken as spread evenly over it.
        """
        return quantiles(self.edges_us, self.all_counts, np.atleast_1d(share))

    def share_beyond(self, bound_us: float) -> float:
        """Share of reads that took longer than a bound, which may not be beyond the last edge."""
        reached = np.concatenate([[0.0], np.cumsum(self.counts)])
        return 1.0 - float(np.interp(bound_us, self.edges_us, reached)) / self.reads


@dataclass(frozen=True)
class Log:
    """A latency log, read.

    Attributes:
        source: the files.
        format: `fio`, `fio-json`, `blkparse` or `histogram`.
        rounds: the rounds that are fitted, in order of their numbers.
        notes: remarks on what was left out and what was assumed, a sentence each.
        read_bytes: size of one read; 0 where the log does not say.
        depth: reads outstanding when a read is issued, that read included; the largest number in the log. 0 where the
            log does not say.
        latencies_us: latency of each read, us, where the log has them one by one.
        queues: number of outstanding requests of each file, with the source of the number.
        reads_known: whether the log tells numbers of reads, rather than shares from whose granularity they follow.
    """

    source: str
    format: str
    rounds: tuple[Histogram, ...]
    notes: tuple[str, ...] = ()
    read_bytes: int = 0
    depth: int = 0
    reads_known: bool = True
    latencies_us: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    queues: tuple[Queue, ...] = (Queue(),)

    def noting(self, *notes: str) -> Log:
        """The log with more notes."""
        return replace(self, notes=(*self.notes, *notes))


def quantiles(
    edges_us: NDArray[np.float64], weights: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Quantiles of counts of the bins and of the reads beyond the last bin (n + 1,), us; infinite beyond the last
    edge.
    """
    reached = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    found = np.interp(shares, reached[:-1], edges_us)
    return np.where(shares > reached[-2], np.inf, found)


def in_bins(latencies_us: NDArray[np.float64], edges_us: NDArray[np.float64], number: float = 0) -> Histogram:
    """Latencies one by one, counted in bins."""
    counts, _ = np.histogram(latencies_us, edges_us)
    return Histogram(number, edges_us, counts.astype(float), float(np.sum(latencies_us > edges_us[-1])))


def of_latencies(latencies_us: NDArray[np.float64], place: str) -> Histogram:
    """A histogram of latencies: about 150 bins up to the median, and bins up to a quarter beyond the 99.9 % quantile.

    The width of the bins is a power of two of us. Raises `FileError` for fewer than `LEAST_READS`, and for times that
    no drive has, which are in another unit.
    """
    if len(latencies_us) < LEAST_READS:
        raise FileError(f"{place}: found {len(latencies_us)} reads, expected at least {LEAST_READS:,} to fit anything")
    check_unit(float(np.median(latencies_us)), place)
    high = 1.25 * float(np.quantile(latencies_us, 0.999))
    width = 2.0 ** np.floor(np.log2(np.median(latencies_us) / _BINS_TO_MEDIAN))
    while high / width > _MOST_BINS:
        width *= 2
    edges = width * np.arange(int(np.ceil(high / width)) + 1)
    return in_bins(latencies_us, edges)


def check_unit(median_us: float, place: str) -> None:
    """Raises `FileError` where the median latency is shorter than that of any drive, or longer."""
    low, high = _PLAUSIBLE_US
    if not low <= median_us <= high:
        raise FileError(
            f"{place}: found a median latency of {median_us:.3g} us, expected {low:g} to {high:,g} us: the unit "
            "may be wrong (--unit ns, us or ms)"
        )


def check_held_out(log: Log, hold_out: Sequence[float]) -> None:
    """Raises `ConfigError` for held-out rounds that the log lacks, and where none would be left to fit."""
    known = [each.round for each in log.rounds]
    if missing := [number for number in hold_out if number not in known]:
        expected = ", ".join(f"{number:g}" for number in known)
        raise ConfigError(f"--hold-out: found round {missing[0]:g}, expected one of {expected}")
    if set(known) <= set(hold_out):
        raise ConfigError(
            "--hold-out: found all rounds of the log, expected at least one round that is left for the fit"
        )


def usable(log: Log) -> Log:
    """Leaves out rounds that cannot be fitted, with a note: empty rounds, and rounds whose bins have another width.

    Raises `FileError` if nothing is left.
    """
    notes, kept = [], []
    for each in log.rounds:
        if each.reads < LEAST_READS:
            notes.append(
                f"round {each.round:g} is left out: it has {each.reads:,.0f} reads, fewer than {LEAST_READS:,}"
            )
        else:
            kept.append(each)
    if not kept:
        raise FileError(f"{log.source}: found no round with {LEAST_READS:,} reads, expected at least one")
    medians = np.array([float(each.quantile_us(0.5)[0]) for each in kept])
    usual = float(np.median(medians))
    for each, median in zip(list(kept), medians, strict=True):
        if not usual / _OTHER_BINS <= median <= usual * _OTHER_BINS:
            notes.append(
                f"round {each.round:g} is left out: its median is {median:.4g} us, and medians of other rounds are "
                f"about {usual:.4g} us, as if its bins had another width"
            )
            kept.remove(each)
    beyond = [each.beyond / each.reads for each in kept]
    if max(beyond) > 0:
        told = f"{beyond[0]:.4%}" if len(kept) == 1 else f"{min(beyond):.4%} to {max(beyond):.4%}"
        last = kept[0].edges_us[-1]
        notes.append(f"{told} of the reads of a round are in no bin: the fit takes them as longer than {last:g} us")
    return replace(log, rounds=tuple(kept)).noting(*notes)


def one_size(
    reads: np.ndarray, column: int, wanted: int | None, place: str, notes: list[str]
) -> tuple[np.ndarray, int]:
    """The reads of one size; `FileError` if there are several sizes and none was chosen, or no reads of the chosen
    size.
    """
    sizes, counts = np.unique(reads[:, column], return_counts=True)
    if wanted is None and len(sizes) > 1:
        found = ", ".join(f"{int(s):,} ({c:,} reads)" for s, c in list(zip(sizes, counts, strict=True))[:6])
        raise FileError(
            f"{place}: found reads of several sizes, {found} bytes, expected one size (--read-bytes chooses one)"
        )
    size = int(sizes[0]) if wanted is None else wanted
    kept = reads[reads[:, column] == size]
    if len(kept) == 0:
        raise FileError(
            f"{place}: found no read of {size:,} bytes, expected one of {', '.join(f'{int(s):,}' for s in sizes)}"
        )
    if len(kept) < len(reads):
        notes.append(f"{len(reads) - len(kept):,} reads of other sizes than {size:,} bytes are left out")
    return kept, size
