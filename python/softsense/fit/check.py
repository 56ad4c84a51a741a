"""Comparison of the simulator that runs the fitted config with the drive: simulated latencies beside those of a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import Config, ConfigError
from softsense.fit import shifts
from softsense.fit.device import config_toml
from softsense.fit.histograms import Histogram, in_bins
from softsense.fit.model import page_types
from softsense.formats import as_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softsense.fit.drive import Fit

SHARES = (0.5, 0.9, 0.99, 0.999)
"""Shares of reads: their quantiles of latency are compared."""

MOST_DISTANCE = 0.02
"""Largest share of reads that the simulator may have in other bins than the fit, beyond the share by chance."""


def simulate(config: Config, reads: int, seed: int = 1) -> NDArray[np.float64]:
    """Response times of `reads` reads of a config's own workload, us (reads,)."""
    from softsense.api import run

    result = run(config, overrides=[f"workload.requests={reads}"], seed=seed, log_requests=True)
    assert result.requests is not None
    return result.requests["response_ns"].to_numpy() / 1e3


def distance(predicted: Histogram, simulated: Histogram) -> dict[str, float]:
    """The share of reads that the simulator has in other bins than the prediction, and what chance alone would give.

    The total variation of two distributions is sum |p - q| / 2. Between a distribution and a sample of it, the total
    variation is never 0: of N reads each bin is off by sqrt(2 q (1 - q) / (pi N)) in the mean.

    Returns `share`, the total variation, and `by_chance`, its mean for a sample of the prediction.
    """
    q = predicted.all_counts / predicted.reads
    share = 0.5 * float(np.abs(q - simulated.all_counts / simulated.reads).sum())
    by_chance = 0.5 * float(np.sqrt(2 * q * (1 - q) / (np.pi * simulated.reads)).sum())
    return {"share": share, "by_chance": by_chance}


def refuse_another(checks: Sequence[dict[str, Any]]) -> None:
    """Raises `ConfigError` if the simulator's distribution is not the fitted one, in any round of `compare`."""
    off = [(row["distance"]["share"] - row["distance"]["by_chance"], row) for row in checks]
    if not off:
        return
    most, row = max(off, key=lambda each: each[0])
    if most > MOST_DISTANCE:
        raise ConfigError(
            f"fit: found {as_share(most)} of the reads of round {row['round']:g} at other latencies in the "
            f"simulator than in the fit, expected at most {as_share(MOST_DISTANCE)}: the log has reads that a "
            "config cannot describe. No fitted.toml was written; `fit.fit_log` and `fit.to_dict` of the Python "
            "package give the fitted parameters"
        )


def compare(fit: Fit, of_round: float, reads: int = 500_000) -> dict[str, Any]:
    """Quantiles, peaks and slow reads of a round: in the log, in the fit's prediction, and in the simulation.

    Args:
        fit: the fit of the log.
        of_round: number of the round; held out or not.
        reads: number of reads to simulate.

    Returns a dict with

    - `quantiles`: a dict for each of `SHARES`, with `share`, `log_us`, `predicted_us` with its interval `low_us` to
      `high_us`, and `simulated_us`;
    - `distance`: the result of the function `distance`, and `log`, the distance of the log from the prediction;
    - `shift_us`: by how much longer all reads of the log took than predicted;
    - `growth`: the result of `Fit.grown`;
    - `peaks`: for each page type the bin with the most reads in the log, the prediction and the simulation, as the
      lower edge of the bin, us;
    - `slow`: the share of reads beyond 400 us, or beyond 1.5 medians where the bins of the log do not go beyond 400 us.
    """
    measured = next(each for each in fit.log.rounds if each.round == of_round)
    device = Config.from_toml(config_toml(fit, of_round), "fitted.toml")
    simulated = in_bins(simulate(device, reads), measured.edges_us, of_round)
    predicted = fit.predicted(of_round)
    intervals = fit.quantile_intervals(SHARES, of_round)
    quantiles = [
        {
            "share": share,
            "log_us": float(measured.quantile_us(share)[0]),
            "predicted_us": float(predicted.quantile_us(share)[0]),
            "low_us": float(intervals[1, i]),
            "high_us": float(intervals[2, i]),
            "simulated_us": float(simulated.quantile_us(share)[0]),
        }
        for i, share in enumerate(SHARES)
    ]
    bound = 400.0 if measured.edges_us[-1] > 400 else 1.5 * float(measured.quantile_us(0.5)[0])
    slow = {
        "bound_us": bound,
        "log": measured.share_beyond(bound),
        "predicted": predicted.share_beyond(bound),
        "simulated": simulated.share_beyond(bound),
    }
    return {
        "round": of_round,
        "quantiles": quantiles,
        "distance": distance(predicted, simulated) | {"log": distance(predicted, measured)["share"]},
        "shift_us": shifts.told_us(predicted, measured),
        "peaks": _peaks(fit, measured, predicted, simulated),
        "slow": slow,
        "growth": fit.grown(of_round),
    }


def _peaks(fit: Fit, *histograms: Histogram) -> list[dict[str, float]]:
    """The bin with the most reads about each page type, in each histogram: its lower edge, us."""
    p = fit.parameters()
    rows = []
    for k in page_types(fit.structure, p):
        reach = max(4.0, 2.5 * float(p.sigma_us[k]) + float(p.tail_us))
        row = {}
        for name, histogram in zip(("log_us", "predicted_us", "simulated_us"), histograms, strict=True):
            edges = histogram.edges_us
            near = np.flatnonzero((edges[:-1] >= p.at_us[k] - reach) & (edges[:-1] <= p.at_us[k] + reach))
            row[name] = float(edges[near[np.argmax(histogram.counts[near])]])
        rows.append(row)
    return rows
