"""Fitting a drive: its structure, a posterior for each round and one for all together, and the growth of slow reads."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import StopFlag, __version__
from softsense.base import Progress, check_extra
from softsense.executing import chosen_workers
from softsense.fit import growth, sampling, search, shifts
from softsense.fit.growth import Growth
from softsense.fit.histograms import Histogram, Log, check_held_out
from softsense.fit.link import Link
from softsense.fit.model import Grid, Parameters, Structure, unpack
from softsense.fit.sampling import Posterior, Prior
from softsense.runner import run_units
from softsense.store import Store

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import NDArray

_MODEL = 7
_ROUND_BINS = 3.0
_ODD_FACTOR = 5.0
_LEAST_ROUNDS = 3
_SLOW_SHARE = 0.002
_MOST_DOUBLINGS = 6.0
_BISECTIONS = 12


@dataclass(frozen=True)
class Fit:
    """The structure, posteriors and growth that a log tells of a drive.

    Attributes:
        log: the log that was fitted, held-out rounds included.
        structure: the parts of its latencies.
        rounds: the posterior of each round that was fitted.
        whole: the posterior of all rounds together; that of the round, if there is one.
        growth: the law of the growth of slow reads; None for one or two rounds.
        held_out: numbers of rounds that were not looked at.
        notes: omissions with their reasons, and assumptions.
        seed: seed of the samplers.
        cell_us: width of the cells of the grid of time, us.
        link: link between host and drive; without one its time is in the overhead.
        shifts: how much longer all reads of a fitted round took than those of a usual one, us, by number of the round;
            only rounds that are shifted. Parameters and posteriors are those of a usual round.
    """

    log: Log
    structure: Structure
    rounds: tuple[Posterior, ...]
    whole: Posterior
    growth: Growth | None
    held_out: tuple[float, ...]
    notes: tuple[str, ...]
    seed: int
    cell_us: float
    link: Link | None = None
    shifts: dict[float, float] = field(default_factory=dict)

    def shift_us(self, of_round: float | None) -> float:
        """How much longer all reads of a round took than those of a usual one, us.

        For rounds that were not fitted, and for all together, the mean of the fitted rounds.
        """
        if of_round in {each.round for each in self.rounds}:
            return self.shifts.get(of_round, 0.0)
        return sum(self.shifts.values()) / len(self.rounds)

    def parameters(self, of_round: float | None = None) -> Parameters:
        """The most probable parameters: of all rounds together, or as they are predicted for one round.

        With a law of growth, the frequencies of retries, waits and peaks of slow reads are multiplied by one factor, so
        that the share of slow reads is that of the law.
        """
        whole = unpack(self.structure, self.whole.mode)
        if self.growth is None:
            return whole
        rounds = np.array([each.round for each in self.rounds]) if of_round is None else np.array([of_round])
        return self._slowed(whole, self._law(rounds))

    def _law(self, rounds: NDArray[np.float64]) -> float:
        """The share of reads beyond the bound by the law of growth: the mean over the rounds, median of the samples."""
        assert self.growth is not None
        return float(np.median(self.growth.at(rounds).mean(axis=1)))

    def _slowed(self, p: Parameters, share: float) -> Parameters:
        """The parameters, with retries, waits and slow peaks so frequent that the share beyond the bound is `share`, or
        as near as possible.
        """
        assert self.growth is not None
        low, high, bound = -_MOST_DOUBLINGS, _MOST_DOUBLINGS, self._bound_us
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            slow = self._share_beyond(p.with_tails(2.0**middle, bound))
            low, high = (middle, high) if slow < share else (low, middle)
        return p.with_tails(2.0 ** ((low + high) / 2), bound)

    @property
    def _bound_us(self) -> float:
        """The latency beyond which the law of growth counts reads, us; at most the last edge of the log."""
        assert self.growth is not None
        return min(self.growth.bound_us, float(self.log.rounds[0].edges_us[-1]))

    def _share_beyond(self, p: Parameters) -> float:
        grid = Grid(np.array([0.0, self._bound_us]), self.cell_us, float(self.log.rounds[0].edges_us[-1]))
        return float(grid.probabilities(self.structure, p)[-1])

    def grown(self, of_round: float) -> dict[str, float] | None:
        """The share of slow reads of a round by the law of growth, beside that of the parameters for this round.

        Returns `bound_us`, beyond which reads are slow, and two shares, `law` and `parameters`; None without a law. The
        shares differ where no part of the fit can become as frequent as the law says.
        """
        if self.growth is None:
            return None
        law = self._law(np.array([of_round]))
        return {"bound_us": self._bound_us, "law": law, "parameters": self._share_beyond(self.parameters(of_round))}

    def predicted(self, of_round: float | None = None, edges_us: NDArray[np.float64] | None = None) -> Histogram:
        """The prediction of the most probable parameters for a round: shares of its bins, whose sum is 1."""
        grid = Grid(self.log.rounds[0].edges_us if edges_us is None else edges_us, self.cell_us)
        shares = grid.probabilities(self.structure, self.parameters(of_round).later(self.shift_us(of_round)))
        return Histogram(-1.0 if of_round is None else of_round, grid.edges_us, shares[:-1], float(shares[-1]))

    def quantile_intervals(self, shares: Sequence[float], of_round: float, draws: int = 200) -> NDArray[np.float64]:
        """Median and 95 % interval of quantiles of a round, us (3, shares).

        Draws are of the rounds, since rounds differ, and of the posterior of each. A round that was not fitted may be
        shifted like any fitted round, and may be further from the fitted rounds than they are from one another.
        """
        random = np.random.default_rng([self.seed, 30])
        grid = Grid(self.log.rounds[0].edges_us, self.cell_us)
        slow = None if self.growth is None else self.growth.at(of_round, scattered=True)[:, 0]
        fitted, found, drawn_of = {each.round for each in self.rounds}, [], []
        for _ in range(draws):
            drawn_of.append(int(random.integers(len(self.rounds))))
            each = self.rounds[drawn_of[-1]]
            drawn = unpack(self.structure, each.samples[random.integers(len(each.samples))])
            if slow is not None:
                drawn = self._slowed(drawn, float(slow[random.integers(len(slow))]))
            moved = of_round if of_round in fitted else each.round
            weights = grid.probabilities(self.structure, drawn.later(self.shift_us(moved)))
            found.append(Histogram(of_round, grid.edges_us, weights[:-1], float(weights[-1])).quantile_us(shares))
        # Latencies beyond the last edge are taken as twice the last edge.
        most = 2 * grid.edges_us[-1]
        values = np.log(np.nan_to_num(np.array(found), posinf=most))
        if of_round not in fitted:
            values = of_a_new_round(values, np.array(drawn_of), random)
            order = np.argsort(shares)
            values[:, order] = np.minimum(np.maximum.accumulate(values[:, order], axis=1), np.log(most))
        return np.asarray(np.exp(np.quantile(values, [0.5, 0.025, 0.975], axis=0)))


def of_a_new_round(
    values: NDArray[np.float64], rounds: NDArray[np.int_], random: np.random.Generator
) -> NDArray[np.float64]:
    """Draws of a round that was not seen, from draws of rounds that were.

    Args:
        values: draws (n, quantities).
        rounds: number of the round of each draw (n,).
        random: source of the departures.

    A new round scatters about the mean of the m known rounds as their own means do. Its departure is Student's t with
    m - 1 degrees of freedom, times the standard deviation of the means, times sqrt(1 + 1 / m). Draws of one round
    scatter about it as before. One round alone tells nothing about others, and its draws are returned unchanged.
    Source: prediction of one more normal value, such as A. Gelman et al., "Bayesian data analysis", 2013, section 3.2.
    """
    known, index = np.unique(rounds, return_inverse=True)
    m = len(known)
    if m < 2:
        return values
    means = np.array([values[index == k].mean(axis=0) for k in range(m)])
    apart = means.std(axis=0, ddof=1) * np.sqrt(1 + 1 / m)
    return np.asarray(means.mean(axis=0) + (values - means[index]) + apart * random.standard_t(m - 1, (len(values), 1)))


def fit_log(
    log: Log,
    *,
    hold_out: Sequence[float] = (),
    tails: dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]] | None = None,
    seed: int = 1,
    workers: int | Executor | None = None,
    store: Store | None = None,
    progress: Progress | None = None,
    link: Link | None = None,
) -> Fit | None:
    """Fit the latencies of a log.

    Args:
        log: a log of `open_log`.
        hold_out: numbers of rounds that are not looked at, so that they can be predicted.
        tails: rounds and shares beyond bounds (us), from `read_tails`, for the growth of slow reads. The caller leaves
            out held-out rounds. Without `tails` the rounds of the log are taken.
        seed: seed of the samplers; the same seed gives the same posterior, on any number of workers.
        workers: threads, or an executor; default: a thread for each CPU.
        store: keeps finished work; a fit goes on from it.
        progress: called with a name, units done, and their fraction.
        link: link between host and drive, which the config will have; default: its time is in the overhead.

    Returns the fit, or None after Ctrl-C; the store then has the finished work. Raises `ConfigError` for held-out
    rounds that the log lacks, for nothing left to fit, and without SciPy and emcee, which `softsense[fit]` brings.
    """
    check_extra("fit", "fit")
    store = store or Store()
    workers = chosen_workers(workers)
    chosen, notes = _chosen(log, hold_out)
    moved = shifts.of_rounds(chosen)
    notes += [
        f"all reads of round {each.round:g} took {abs(us):.3g} us {('longer' if us > 0 else 'less')} than those of "
        "a usual round: the fit takes this for a shift of the host or the clock, not for retries"
        for each, us in zip(chosen, moved, strict=True)
        if us
    ]
    chosen = [shifts.earlier(each, us) for each, us in zip(chosen, moved, strict=True)]
    pooled = chosen[0] if len(chosen) == 1 else shifts.together(chosen, log.rounds[0].edges_us)
    cell = float(np.diff(pooled.edges_us).min()) / 2
    shape = run_units(store, 1, _Shape(pooled, cell), 1, "looking for peaks", progress)
    if shape is None:
        return None
    structure, start = Structure(*shape[0]["structure"]), np.array(shape[0]["vector"])
    # The first target is all rounds together.
    targets = chosen if len(chosen) == 1 else [pooled, *chosen]
    work = _Rounds(structure, start, tuple(targets), cell, seed)
    done = run_units(store, workers, work, len(targets), "sampling posteriors", progress)
    if done is None:
        return None
    posteriors = [sampling.from_json(kept) for kept in done]
    rounds = posteriors if len(chosen) == 1 else posteriors[1:]
    grown = _growth(chosen, pooled, tails, seed)
    worst = max(each.model_error for each in rounds)
    if worst > 0:
        notes.append(
            f"the model differs from the log by up to {worst:.0%} of the reads of a usual bin, beyond chance: so "
            "many reads show that the model simplifies. Each read has less weight because of this, and intervals "
            "are wider"
        )
    if log.depth > 1 and log.format != "blkparse":
        notes.append(
            f"{log.depth} reads were outstanding: latencies contain waits for other reads, and peaks may not be "
            "page types. A log with one read outstanding (iodepth=1) has no such waits"
        )
    every = (*log.notes, *notes)
    by_round = {each.round: us for each, us in zip(chosen, moved, strict=True) if us}
    return Fit(log, structure, tuple(rounds), posteriors[0], grown, tuple(hold_out), every, seed, cell, link, by_round)


def _chosen(log: Log, hold_out: Sequence[float]) -> tuple[list[Histogram], list[str]]:
    """The rounds that are fitted, and notes: not held-out rounds, nor a first round unlike all others."""
    check_held_out(log, hold_out)
    known = [each.round for each in log.rounds]
    chosen = [each for each in log.rounds if each.round not in hold_out]
    notes: list[str] = []
    if len(chosen) > _LEAST_ROUNDS:
        bound = float(shifts.together(chosen, chosen[0].edges_us).quantile_us(1 - _SLOW_SHARE)[0])
        bound = min(bound, float(chosen[0].edges_us[-1]))
        slow = np.array([each.share_beyond(bound) for each in chosen])
        for each, share in zip(list(chosen), slow, strict=True):
            others = float(np.median(slow[[other is not each for other in chosen]]))
            if share > _ODD_FACTOR * others and each.round == min(known) and len(chosen) > _LEAST_ROUNDS:
                notes.append(
                    f"round {each.round:g} is left out: {share:.2%} of its reads take longer than {bound:g} us, "
                    f"compared with {others:.3%} in a usual round. The first round differs from all later ones"
                )
                chosen.remove(each)
                break
    return chosen, notes


def _growth(
    chosen: Sequence[Histogram],
    pooled: Histogram,
    tails: dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]] | None,
    seed: int,
) -> Growth | None:
    if tails:
        bound = min(tails)
        return growth.fit(bound, *tails[bound], seed)
    if len(chosen) < _LEAST_ROUNDS:
        return None
    bound = float(pooled.quantile_us(1 - _SLOW_SHARE)[0])
    edges = pooled.edges_us
    bound = float(edges[min(int(np.searchsorted(edges, bound)), len(edges) - 1)])
    shares = np.array([each.share_beyond(bound) for each in chosen])
    return growth.fit(bound, np.array([each.round for each in chosen]), shares, seed)


class _Work(ABC):
    """Work of `run_units`: it can be pickled, and a hash of all inputs of its results identifies it."""

    @abstractmethod
    def _depends_on(self) -> list[Any]:
        """Inputs of the results, as JSON has them."""

    @property
    def identity(self) -> str:
        """A hash of all inputs of the fit."""
        told = json.dumps([type(self).__name__, _MODEL, __version__, self._depends_on()])
        return hashlib.sha256(told.encode()).hexdigest()


def _told(histogram: Histogram) -> list[Any]:
    return [histogram.round, histogram.edges_us.tolist(), histogram.all_counts.tolist()]


@dataclass(frozen=True)
class _Shape(_Work):
    histogram: Histogram
    cell_us: float

    def _depends_on(self) -> list[Any]:
        return [_told(self.histogram), self.cell_us]

    def run(self, unit: int, stop: StopFlag | None = None) -> Any:
        """The structure and its vector; None if stopped."""
        assert unit == 0
        stopped = (lambda: stop.is_set) if stop else (lambda: False)
        grid = Grid(self.histogram.edges_us, self.cell_us)
        found = search.find_structure(self.histogram, grid, stopped)
        if found is None:
            return None
        s, vector = found
        return {"structure": s.to_json(), "vector": vector.tolist()}


@dataclass(frozen=True)
class _Rounds(_Work):
    structure: Structure
    start: NDArray[np.float64]
    histograms: tuple[Histogram, ...]
    cell_us: float
    seed: int

    def _depends_on(self) -> list[Any]:
        return [
            self.structure.to_json(),
            self.start.tolist(),
            [_told(each) for each in self.histograms],
            self.cell_us,
            self.seed,
        ]

    def run(self, unit: int, stop: StopFlag | None = None) -> Any:
        """The posterior of a round; None if stopped."""
        histogram = self.histograms[unit]
        grid = Grid(histogram.edges_us, self.cell_us)
        prior = Prior.of(self.structure, self.start, grid)
        if len(self.histograms) > 1:
            # The peaks of a round are close to those of all rounds together; otherwise they could not be assigned to
            # one another.
            k = self.structure.peaks
            sigma = prior.sigma.copy()
            sigma[:k] = _ROUND_BINS * float(np.diff(histogram.edges_us).min())
            prior = replace(prior, mean=np.append(self.start[:k], prior.mean[k:]), sigma=sigma)
        stopped = (lambda: stop.is_set) if stop else (lambda: False)
        found = sampling.sample(self.structure, grid, histogram, prior, self.start, self.seed, stopped)
        return None if found is None else sampling.to_json(found)
