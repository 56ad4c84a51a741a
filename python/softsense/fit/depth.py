"""How many units serve reads at once, from logs with several reads outstanding: found by simulating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import Config, ConfigError
from softsense.fit.check import simulate
from softsense.fit.device import config_toml
from softsense.formats import listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softsense.base import Progress
    from softsense.fit.clock import Queue
    from softsense.fit.drive import Fit
    from softsense.fit.histograms import Histogram

DIES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of dies that are tried, each die on its own channel. The last number stands for more dies, too."""

_CLASSES = 12
_READS = 20_000
_COUNTED = 2_000.0


@dataclass(frozen=True)
class Deep:
    """A log with several reads outstanding.

    Attributes:
        latencies: latencies of its reads.
        depth: reads outstanding, 2 or more.
        queue: source of `depth`; None where nothing said it.
        source: the name of the log in messages.

    Raises `ConfigError` for a depth below 2.
    """

    latencies: Histogram
    depth: int
    queue: Queue | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if self.depth < 2:
            where = f" in {self.source}" if self.source else ""
            raise ConfigError(
                f"--deep-log: found a depth of {self.depth}{where}, expected 2 or more (--depth gives the depth "
                "where the log does not have it)"
            )


@dataclass(frozen=True)
class Depth:
    """The posterior of the number of dies that serve reads at once.

    Attributes:
        logs: the logs from which it is known.
        probabilities: probability of each of `DIES` by all logs together; their sum is 1.
        alone: probabilities of `DIES` by each log alone.
        misfit: deviance of the logs from the most probable drive, over its degrees of freedom; 1 at least.
    """

    logs: tuple[Deep, ...]
    probabilities: tuple[float, ...]
    alone: tuple[tuple[float, ...], ...]
    misfit: float

    @property
    def best(self) -> int:
        """The most probable number of dies; the last of `DIES` stands for more, too."""
        return _best(self.probabilities)

    def interval(self) -> tuple[int, int]:
        """The least and the largest number of dies among those that together have 95 % of the probability."""
        order = np.argsort(-np.array(self.probabilities))
        enough = order[: int(np.searchsorted(np.cumsum(np.array(self.probabilities)[order]), 0.95)) + 1]
        return DIES[int(enough.min())], DIES[int(enough.max())]

    def to_dict(self) -> dict[str, Any]:
        """The posterior as a dict for JSON."""
        return {
            "depths": [log.depth for log in self.logs],
            "queue_depth": [log.queue.to_dict() if log.queue else None for log in self.logs],
            "dies": list(DIES),
            "probabilities": list(self.probabilities),
            "alone": [list(each) for each in self.alone],
            "misfit": self.misfit,
            "interval": list(self.interval()),
        }

    def told(self) -> list[str]:
        """The posterior in lines of text."""
        low, high = self.interval()
        lines = [f"Queue depth of the deep log: {log.queue}" for log in self.logs if log.queue]
        by = listed([str(log.depth) for log in self.logs])
        lines.append(
            f"Dies that serve reads at once, by {by} outstanding: {_named(self.best)} (95 %: {low} to {_named(high)})"
        )
        if len(self.logs) > 1:
            each = [f"{_named(_best(p))} by {log.depth}" for p, log in zip(self.alone, self.logs, strict=True)]
            lines.append(f"By each log alone: {listed(each)}.")
        if self.misfit > _POOR:
            lines.append(
                f"No number of dies explains the logs: they are {self.misfit:.1f} times as far from the simulated "
                "drive as chance allows, and the interval is wider because of it. Requests in such a drive also "
                "wait elsewhere."
            )
        return lines


_POOR = 2.0


def _best(probabilities: Sequence[float]) -> int:
    return DIES[int(np.argmax(probabilities))]


def _named(dies: int) -> str:
    return f"{dies} or more" if dies == DIES[-1] else str(dies)


def fit_depth(fit: Fit, logs: Sequence[Deep], progress: Progress | None = None) -> Depth:
    """Compare logs with several reads outstanding with simulations of the fitted drive on 1 to 128 dies.

    Latencies are counted in twelve classes between quantiles of a log. The likelihood of the counts is
    Dirichlet-multinomial given the simulated counts, and all numbers of dies are equally probable before. Neighbours in
    a queue are alike, so a log counts as 2,000 reads at most. Logs of one drive have one number of dies, and their
    likelihoods are multiplied.

    The model lacks something if even the most probable number leaves a deviance above its degrees of freedom. The
    logarithm of the likelihood is then divided by their ratio, so that the interval does not claim more than the
    simulated drive can know. A drive may have other queues beside those of dies, such as channels that several dies
    share; they make the number of dies look smaller.

    Args:
        fit: the fit of a log with one read outstanding.
        logs: deep logs of the same drive, one at least.
        progress: called after each simulation.

    The result depends on the arguments alone. Raises `ConfigError` for no log.

    Source: S. Wood, "Statistical inference for noisy nonlinear ecological dynamic systems", 2010 (a likelihood from
    simulations), with counts in place of means; P. McCullagh, J. Nelder, "Generalized Linear Models", 1989, section 4.5
    (a deviance that divides the likelihood).
    """
    if not logs:
        raise ConfigError("--deep-log: found no log, expected at least one log with several reads outstanding")
    devices = [config_toml(fit, dies=dies) for dies in DIES]
    scores, deviances = np.zeros((2, len(logs), len(DIES)))
    freedom = np.zeros(len(logs))
    done, every = 0, len(logs) * len(DIES)
    for i, log in enumerate(logs):
        bounds, counts = _classes(log.latencies)
        freedom[i] = len(counts) - 1
        overrides = [f"host.issue.closed_loop.queue_depth={log.depth}"]
        # The largest log-likelihood that a simulation of this many reads could give.
        most = _log_likelihood(counts, counts / counts.sum() * _READS + 0.5)
        for j, text in enumerate(devices):
            latencies = simulate(Config.from_toml(text, "fitted.toml", overrides), _READS, fit.seed)
            scores[i, j] = _log_likelihood(counts, np.histogram(latencies, bounds)[0] + 0.5)
            deviances[i, j] = 2 * (most - scores[i, j])
            done += 1
            if progress:
                progress("simulating depths", done, done / every)

    def posterior(chosen: list[int]) -> tuple[tuple[float, ...], float]:
        misfit = max(1.0, float(deviances[chosen].sum(axis=0).min() / max(freedom[chosen].sum() - 1, 1)))
        total = scores[chosen].sum(axis=0) / misfit
        weights = np.exp(total - total.max())
        return tuple(float(w) for w in weights / weights.sum()), misfit

    together, misfit = posterior(list(range(len(logs))))
    return Depth(tuple(logs), together, tuple(posterior([i])[0] for i in range(len(logs))), misfit)


def _classes(deep: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Classes between quantiles of a log, and its counts in the classes."""
    edges = np.unique(deep.quantile_us(np.arange(1, _CLASSES) / _CLASSES))
    reached = np.interp(edges, deep.edges_us, np.concatenate([[0.0], np.cumsum(deep.counts)])) / deep.reads
    counts = np.diff(np.concatenate([[0.0], reached, [1.0]])) * min(_COUNTED, deep.reads)
    return np.concatenate([[0.0], edges, [np.inf]]), counts


def _log_likelihood(counts: NDArray[np.float64], simulated: NDArray[np.float64]) -> float:
    from scipy.special import gammaln

    total = gammaln(simulated.sum()) - gammaln(simulated.sum() + counts.sum())
    return float(total + np.sum(gammaln(simulated + counts) - gammaln(simulated)))
