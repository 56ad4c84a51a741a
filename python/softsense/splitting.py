"""Frame error rates by splitting: error patterns that fail are carried from high raw bit error rates to low ones.

A run counts frames at the highest raw bit error rate until enough have failed, and carries these down a ladder of
rates. The channel says of each bit that it is wrong or right, or at a soft level one of a few regions. Let w_r of the n
bits of a pattern be in region r, which has the probability P_r. Then from p to p'

    FER(p') / FER(p) = mean of the product over r of (P_r(p') / P_r(p))^w_r, over the patterns that fail at p,

Patterns are then drawn anew by these weights and moved by a Markov chain (`crates/link/src/splitting.rs`). The decoder
has the same parameters at all rungs. At a soft level its references and LLRs are made for the lowest rung, so that only
the rate there is that of a controller that knows its channel.

Unlike strata of error weight, splitting assumes nothing about the errors that fail: it can judge those strata. It
cannot see a way of failing that none of the patterns at the first rung has, and that its chains do not come upon.

Runs are independent. A run's rate at each rung is right on average, as is N - 1 over M - 1 where the Nth failure came
with frame M. So the rate is the mean over R runs, and its relative standard error is

    sqrt(sum over runs of (F - mean)^2 / (R (R - 1))) / mean,

The jackknife's estimate is the same. Two runs may agree by chance, so the error is never less than what the first rung
alone leaves: 1 / sqrt(R N) of the R N frames that failed there. The error is reliable while runs differ by a small
factor: `log_spread`, the standard deviation of ln F, should be below one.

Source: S. Au, J. Beck, "Estimation of small failure probabilities in high dimensions by subset simulation", 2001;
P. Del Moral, A. Doucet, A. Jasra, "Sequential Monte Carlo samplers", 2006.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import Code, ConfigError, FrameTask, StopFlag, placement_json
from softsense.base import Progress
from softsense.executing import chosen_workers
from softsense.runner import run_units
from softsense.store import Store, opened_store

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LEAST_EFFECTIVE = 0.5
"""The least share of the patterns that weights leave from rung to rung, if they spread as all patterns do."""


def ladder(task: FrameTask, rbers: Iterable[float], effective: float = LEAST_EFFECTIVE) -> list[float]:
    """The rungs from the highest of `rbers` to the lowest, through all of them.

    The weight of a pattern is a product over its bits. If its logarithm is normal with standard deviation s, the
    effective sample size falls to exp(-s^2) of all. Patterns as the channel makes them at p have an s^2 of n times the
    variance of ln(P_r(p') / P_r(p)) over the regions r of a bit. On hard decisions s is sqrt(n p (1 - p)) times ln of
    the ratio of the odds. Patterns that fail spread less: with this s a share `effective` is left, or more.

    Args:
        task: the code and the way of reading: hard decisions, or a level of one Gaussian boundary.
        rbers: raw bit error rates (bit errors per bit).
        effective: the share of the patterns that weights leave from rung to rung, between 0 and 1.

    Returns raw bit error rates, falling.

    >>> spec = '{"decoder": "min-sum", "iterations": 20, "seed": 1, "channel": {"hard": {"rber": null}}}'
    >>> [round(rber, 4) for rber in ladder(FrameTask(Code.open("flash-8/9"), spec), [0.008, 0.007])]
    [0.008, 0.0077, 0.0073, 0.007]

    Raises:
        ConfigError: fewer than two rates, one outside 1e-12 (of a soft level 1e-9) to 0.499, an `effective` that is not
            between 0 and 1, or a soft level of cells with an age.
    """
    wanted = sorted(set(rbers), reverse=True)
    if len(wanted) < 2:
        raise ConfigError(
            f"rber: found {len(wanted)} raw bit error rates, expected at least two: the first rate, and lower rates "
            "after it"
        )
    if not 0 < effective < 1:
        raise ConfigError(f"effective: found {effective:g}, expected between 0 and 1")
    laws = [task.region_probabilities(rber) for rber in wanted]
    rungs = [wanted[0]]
    for (high, above), (low, below) in itertools.pairwise(zip(wanted, laws, strict=True)):
        # A region that is impossible at one of both rates has no part in patterns.
        said = (above > 0) & (below > 0)
        logs, shares = np.log(below[said] / above[said]), above[said] / above[said].sum()
        deviation = math.sqrt(task.codeword_bits * float(shares @ (logs - shares @ logs) ** 2))
        # If few bits are rare, patterns that fail differ by little, and the change by one bit suffices.
        deviation = max(deviation, float(np.ptp(logs)))
        count = math.ceil(deviation / math.sqrt(-math.log(effective)) - 1e-9)
        rungs += [high * (low / high) ** (step / count) for step in range(1, count)] + [low]
    return rungs


@dataclass(frozen=True)
class Split:
    """The parameters of each run.

    Attributes:
        ladder: raw bit error rates, falling.
        particles: patterns that are carried down.
        steps: proposals for each pattern at each rung.
        redraw: the probability with which a proposal redraws a bit; None: each run finds the best one.
    """

    ladder: list[float]
    particles: int = 200
    steps: int = 60
    redraw: float | None = None


@dataclass
class SplitResult:
    """Frame error rates by splitting.

    Attributes:
        description: the inputs of the measurement, ready for JSON.
        split: the parameters of each run.
        runs: the result of each run in the order of numbers, ready for JSON, the same wherever it was computed.
        interrupted: whether it was stopped before its end.
    """

    description: dict[str, Any]
    split: Split
    runs: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False

    def rates(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The frame error rates (float64, runs x rungs)."""
        firsts = [math.log((self.split.particles - 1) / max(1, run["frames"] - 1)) for run in self.runs]
        logs = [[rung["log_ratio"] for rung in run["rungs"]] for run in self.runs]
        found: np.ndarray[Any, np.dtype[np.float64]] = np.exp(
            np.reshape(firsts, (-1, 1)) + np.array(logs).reshape(len(self.runs), -1)
        )
        return found

    @property
    def points(self) -> list[dict[str, Any]]:
        """The rungs, ready for JSON; at a soft level with the references and LLRs of the lowest rung.

        `fer` is the mean of the runs. `relative_error` is its relative standard error, at least that of the frames that
        failed at the first rung. `log_spread` is the standard deviation of ln FER from run to run. Both are None for
        fewer than two runs. `floor_like` and `undetected` are shares of the rate: of failures with 1 to 64 violated
        checks, and of wrong words reported as decoded. `mean_errors` is weighted by the rates of runs, too. `effective`
        and `ancestors` are shares of the patterns, the least of any run. `acceptance`, `moved` and `redraw` are means;
        `least_errors` is the fewest of any.
        """
        return [self._point(index) for index in range(len(self.split.ladder))] if self.runs else []

    def _point(self, index: int) -> dict[str, Any]:
        rates = self.rates()[:, index]
        rungs = [run["rungs"][index] for run in self.runs]
        fer, several = float(rates.mean()), len(rates) > 1
        shares, particles = rates / rates.sum(), self.split.particles

        def each(name: str) -> Any:
            return np.array([rung[name] for rung in rungs], dtype=np.float64)

        return {
            "rber": self.split.ladder[index],
            "fer": fer,
            "relative_error": float(max(rates.std(ddof=1) / fer, particles**-0.5) / math.sqrt(len(rates)))
            if several
            else None,
            "log_spread": float(np.log(rates).std(ddof=1)) if several else None,
            "floor_like": float(shares @ each("floor_like")) / particles,
            "undetected": float(shares @ each("undetected")) / particles,
            "mean_errors": float(shares @ each("mean_errors")),
            "least_errors": int(each("least_errors").min()),
            "effective": float(each("effective").min()),
            "ancestors": float(each("ancestors").min()) / particles,
            "acceptance": float(each("acceptance").mean()),
            "moved": float(each("moved").mean()),
            "redraw": float(each("redraw").mean()),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            **self.description,
            "split": asdict(self.split),
            "interrupted": self.interrupted,
            "frames": sum(run["decoded"] for run in self.runs),
            "points": self.points,
            "runs": self.runs,
        }


class SplitWork:
    """Runs of one task, in units that can be done anywhere and in any order."""

    def __init__(self, task: FrameTask, what: Split) -> None:
        self._task, self._what = task, what

    def __reduce__(self) -> tuple[type[SplitWork], tuple[FrameTask, Split]]:
        return SplitWork, (self._task, self._what)

    @property
    def identity(self) -> str:
        """A hash of all inputs on which runs depend."""
        text = json.dumps(["splitting", 1, self._task.identity, asdict(self._what)])
        return hashlib.sha256(text.encode()).hexdigest()

    def run(self, unit: int, stop: StopFlag | None = None) -> dict[str, Any] | None:
        """Carry out run number `unit`; its result, ready for JSON, or None if it was stopped."""
        what = self._what
        found = self._task.split(what.ladder, what.particles, what.steps, unit, what.redraw, stop=stop)
        return None if found is None else {"unit": unit, **found}


def split(
    code: Code | str,
    rber: Sequence[float],
    *,
    level: int = 1,
    placement: str = "mutual_information",
    runs: int = 8,
    particles: int = 200,
    steps: int = 60,
    redraw: float | None = None,
    effective: float = LEAST_EFFECTIVE,
    decoder: str = "min-sum",
    iterations: int = 20,
    seed: int = 1,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> SplitResult:
    """Find frame error rates by splitting: on hard decisions, or at a level of one Gaussian boundary.

    Args:
        code: a code, or the name of one as `Code.open` takes it.
        rber: raw bit error rates (bit errors per bit). At the highest one frames are decoded until `particles` fail;
            all others are reached from there. At a soft level references and LLRs are made for the lowest rate, so only
            the result at that rate is that of `measure_fer`.
        level: the read level, 1 (hard decision) to 7.
        placement: the placement of references, as `measure_fer` takes it; ignored at level 1.
        runs: number of independent runs, numbered from 0.
        particles: patterns that a run carries down.
        steps: proposals for each pattern at each rung.
        redraw: the probability with which a proposal redraws a bit; None: found by each run.
        effective: the share of the patterns that weights leave between rungs; see `ladder`.
        decoder: the decoder, as `Code.decoder` takes it.
        iterations: iterations after which the decoder gives up.
        seed: seed of data, noise and moves.
        workers: threads, or an executor; default: a thread for each CPU.
        store: a store or its file: runs are kept there and not done again.
        progress: called now and then.

    Returns the rates; after Ctrl-C those of the runs that had ended. They do not depend on `workers`.

    For a BCH code the rate is known: 2.65e-05 at 0.001.

    >>> result = split("bch:m=10,t=5,k=512", [0.003, 0.001], runs=8, particles=100, steps=10, workers=1)
    >>> 2.2e-5 < result.points[-1]["fer"] < 3.2e-5
    True

    Raises:
        ConfigError: an argument out of range, or too few failures at the highest rate.
        CodeError: the code or the decoder does not exist.
    """
    if runs < 1:
        raise ConfigError(f"runs: found {runs}, expected at least 1")
    opened = code if isinstance(code, Code) else Code.open(code)
    channel: dict[str, Any] = {"hard": {"rber": None}}
    if level != 1 and rber:
        standing = json.loads(placement_json(placement))
        channel = {"gaussian": {"rber": min(rber), "level": level, "placement": standing}}
    spec = {"decoder": decoder, "iterations": iterations, "seed": seed, "channel": channel}
    task = FrameTask(opened, json.dumps(spec))
    what = Split(ladder(task, rber, effective), particles, steps, redraw)
    work = SplitWork(task, what)
    count = chosen_workers(workers)
    with opened_store(store) as kept, kept.doing(what="splitting", identity=work.identity, runs=runs, **spec):
        every = run_units(kept, count, work, runs, "splitting", progress)
        done = [run for unit in range(runs) if (run := kept.result(work.identity, unit)) is not None]
    description = {"code": opened.name, "codeword_bits": opened.codeword_bits, **spec, "identity": task.identity}
    return SplitResult(description, what, done, every is None)


def rate_from_time(listed_rate: float, present: ArrayLike) -> tuple[float, float]:
    """The rate of failures among which a chain walks, from that of listed sets, and its relative standard error.

    Suppose errors as the channel makes them are in an event, and fail, with probability `listed_rate`. A chain walks
    among all failures, and is in the event for a share of its time. Then the failures among which it walks have the
    rate `listed_rate` over that share. Where events overlap, both may be sums over them: the expected number of listed
    sets that are all wrong, with failure, and the mean number of sets present.

    Args:
        listed_rate: P(all bits of a listed set are wrong, and decoding fails), summed over the sets.
        present: number of sets present (chains x records), as `FrameTask.walk` returns it, without the first records,
            in which the chains still depend on their starts.

    The error is that of the time alone, from the spread over chains.

    >>> rate, error = rate_from_time(1e-12, [[1, 1, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1]])
    >>> f"{rate:.2e} {error:.2f}"
    '1.20e-12 0.10'

    Raises:
        ConfigError: fewer than two chains, or none of the sets ever present.
    """
    times = np.asarray(present, dtype=np.float64)
    if times.ndim != 2 or len(times) < 2 or not times.any():
        raise ConfigError("present: found too few chains, expected at least two chains with sets that are present")
    of_chains = times.mean(axis=1)
    share = float(of_chains.mean())
    return listed_rate / share, float(of_chains.std(ddof=1)) / math.sqrt(len(of_chains)) / share
