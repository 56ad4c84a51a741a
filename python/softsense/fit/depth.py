"""How many units serve reads at once, from a log with several reads outstanding: found by simulating."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import Config, ConfigError
from softsense.fit.check import simulate
from softsense.fit.device import config_toml

if TYPE_CHECKING:
    from softsense.base import Progress
    from softsense.fit.clock import Queue
    from softsense.fit.drive import Fit
    from softsense.fit.histograms import Histogram

DIES = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of dies that are tried, on a channel each: those that serve reads at once."""

_CLASSES = 12
_READS = 20_000
_COUNTED = 2_000.0


@dataclass(frozen=True)
class Depth:
    """The posterior of how many dies serve reads at once.

    Attributes:
        depth: reads outstanding in the log.
        probabilities: of each of `DIES`, in sum 1.
        queue: from what `depth` is known; None where nothing said it.
    """

    depth: int
    probabilities: tuple[float, ...]
    queue: Queue | None = None

    @property
    def best(self) -> int:
        """The most probable number."""
        return DIES[int(np.argmax(self.probabilities))]

    def interval(self) -> tuple[int, int]:
        """The least and the largest of the values that together have 95 % of the probability."""
        order = np.argsort(-np.array(self.probabilities))
        enough = order[: int(np.searchsorted(np.cumsum(np.array(self.probabilities)[order]), 0.95)) + 1]
        return DIES[int(enough.min())], DIES[int(enough.max())]

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "depth": self.depth,
            "queue_depth": self.queue.to_dict() if self.queue else None,
            "dies": list(DIES),
            "probabilities": list(self.probabilities),
            "interval": list(self.interval()),
        }


def fit_depth(
    fit: Fit, deep: Histogram, depth: int, progress: Progress | None = None, queue: Queue | None = None
) -> Depth:
    """Compare a log with so many reads outstanding with simulations of the fitted drive on 1 to 64 dies.

    Latencies are counted in twelve classes between quantiles of the log. The likelihood of its counts, taken as 2,000
    reads at most since neighbours in a queue are alike, is Dirichlet-multinomial given the simulated ones; all numbers
    of dies are as probable before. What a drive has beside dies that queues, such as channels that several share, is
    taken for fewer dies.

    Args:
        fit: of a log with one read outstanding.
        deep: latencies with `depth` outstanding.
        depth: 2 or more.
        progress: called after each simulation.
        queue: from what the depth is known, to be told with the result.

    A function of its arguments. Raises `ConfigError` for a depth below 2.

    Source: S. Wood, "Statistical inference for noisy nonlinear ecological dynamic systems", 2010 (a likelihood from
    simulations), with counts in place of means.
    """
    if depth < 2:
        raise ConfigError(
            f"--deep-log: found a depth of {depth}, expected 2 or more (--depth says it where the log does not)"
        )
    edges = np.unique(deep.quantile_us(np.arange(1, _CLASSES) / _CLASSES))
    bounds = np.concatenate([[0.0], edges, [np.inf]])
    reached = np.interp(edges, deep.edges_us, np.concatenate([[0.0], np.cumsum(deep.counts)])) / deep.reads
    counts = np.diff(np.concatenate([[0.0], reached, [1.0]])) * min(_COUNTED, deep.reads)
    text = config_toml(fit)
    scores = []
    for done, dies in enumerate(DIES):
        overrides = [
            f"geometry.channels={dies}",
            "geometry.chips_per_channel=1",
            f"host.issue.closed_loop.queue_depth={depth}",
        ]
        latencies = simulate(Config.from_toml(text, "fitted.toml", overrides), _READS, fit.seed)
        scores.append(_log_likelihood(counts, np.histogram(latencies, bounds)[0] + 0.5))
        if progress:
            progress("simulating depths", done + 1, (done + 1) / len(DIES))
    weights = np.exp(np.array(scores) - max(scores))
    return Depth(depth, tuple(float(w) for w in weights / weights.sum()), queue)


def _log_likelihood(counts: np.ndarray, simulated: np.ndarray) -> float:
    from scipy.special import gammaln

    total = gammaln(simulated.sum()) - gammaln(simulated.sum() + counts.sum())
    return float(total + np.sum(gammaln(simulated + counts) - gammaln(simulated)))
