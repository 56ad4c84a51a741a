"""Does the simulator with the fitted config reproduce the drive? Simulated latencies beside those of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import Config
from softsense.fit.device import config_toml
from softsense.fit.histograms import Histogram, in_bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softsense.fit.drive import Fit

SHARES = (0.5, 0.9, 0.99, 0.999)
"""Of reads, whose latencies are compared."""


def simulate(config: Config, reads: int, seed: int = 1) -> NDArray[np.float64]:
    """Response times of so many reads of a config's own workload, us (reads,)."""
    from softsense.api import run

    result = run(config, overrides=[f"workload.requests={reads}"], seed=seed, log_requests=True)
    assert result.requests is not None
    return result.requests["response_ns"].to_numpy() / 1e3


def compare(fit: Fit, of_round: float, reads: int = 200_000) -> dict[str, Any]:
    """Quantiles, peaks and slow reads of a round: of the log, as the fit predicts them, and as the simulator has them.

    Args:
        fit: what was fitted.
        of_round: its number; held out or not.
        reads: to simulate.

    Returns `quantiles` (a dict for each of `SHARES`: `share`, `log_us`, `predicted_us` with `low_us` and `high_us`,
    `simulated_us`), `peaks` (for each page type where the log, the prediction and the simulation have most reads, lower
    edge of the bin in us), and `slow` (share beyond 400 us, or beyond 1.5 medians of faster and slower drives).
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
        "peaks": _peaks(fit, measured, predicted, simulated),
        "slow": slow,
    }


def _peaks(fit: Fit, *histograms: Histogram) -> list[dict[str, float]]:
    """Where each histogram has most about each page type: a bin's lower edge."""
    from softsense.fit.identified import page_types

    p = fit.parameters()
    rows = []
    for k in page_types(fit, p):
        reach = max(4.0, 2.5 * float(p.sigma_us[k]) + float(p.tail_us))
        row = {}
        for name, histogram in zip(("log_us", "predicted_us", "simulated_us"), histograms, strict=True):
            edges = histogram.edges_us
            near = np.flatnonzero((edges[:-1] >= p.at_us[k] - reach) & (edges[:-1] <= p.at_us[k] + reach))
            row[name] = float(edges[near[np.argmax(histogram.counts[near])]])
        rows.append(row)
    return rows
