"""Figure 8: hot data on two of eight SSDs."""

from __future__ import annotations

from statistics import fmean

import polars as pl

from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs
from softsense.papers.adaptive_rate_pool.decoders import (
    OF_CHIP,
    OF_DECODERS,
    PER_SSD,
    POOL,
    Decoders,
    by_seed,
    device_of,
    iops,
    kpe,
    saturated,
    scaled,
    with_seeds,
)
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.loads import HOT_SHARES, HOT_SSDS, hot
from softsense.papers.adaptive_rate_pool.looks import PE_AXIS, SERIES
from softsense.papers.adaptive_rate_pool.published import CHANNEL_US, CHANNELS, GEOMETRY, ITERATION_US
from softsense.papers.adaptive_rate_pool.settings import Arm, arm, elsewhere, in_all_settings
from softsense.papers.adaptive_rate_pool.wear import ages
from softsense.papers.drawing import Line, lines, point


def _hot_bound(decoders: Decoders, share: float, iterations: float) -> float:
    """Bound of codewords a second: hot SSDs' channels, and decoders of their own, have the share `share` of all
    reads.
    """
    of_channels = HOT_SSDS * GEOMETRY["channels_per_ssd"] / CHANNEL_US * 1e6 / share
    of_decoders = decoders.count / (ITERATION_US * iterations) * 1e6
    if decoders.where != "pool":
        of_decoders *= HOT_SSDS / GEOMETRY["ssds"] / share
    found: float = min(of_channels, of_decoders, CHANNELS / CHANNEL_US * 1e6)
    return found


def _fig08(plan: Plan, share: float, decoders: Decoders, age: int, buffers: str = "unbounded") -> list[Case]:
    aged = device_of(at(age), decoders, buffers=buffers)
    return with_seeds(plan, hot(plan.requests, share), aged)


def _cases_fig08(plan: Plan) -> list[Case]:
    oldest = ages(plan.full)[-1]
    found = saturated(plan, at(oldest), POOL)
    for share in HOT_SHARES:
        for decoders in (POOL, PER_SSD):
            found += [case for age in ages(plan.full) for case in _fig08(plan, share, decoders, age)]
            found += _fig08(plan, share, decoders, oldest, "bounded")
    return found + in_all_settings(*(hottest(plan, decoders) for decoders in (POOL, PER_SSD)))


def hottest(plan: Plan, decoders: Decoders) -> Arm:
    """The arm with the hottest data at the oldest age."""
    return arm(_fig08(plan, HOT_SHARES[-1], decoders, ages(plan.full)[-1]), decoders)


def _measure_fig08(plan: Plan, runs: Runs) -> Measured:
    keys = [(share, d, age) for share in HOT_SHARES for d in (POOL, PER_SSD) for age in ages(plan.full)]
    found = {key: by_seed(runs, _fig08(plan, *key), iops) for key in keys}
    bounds = {(share, d, age): _hot_bound(d, share, at(age).load) for share, d, age in keys}
    rows = [
        point(
            f"{as_plain_share(share)} of reads are of hot data",
            d.label,
            age / 1000,
            scaled(Number.of(values), 1e-3),
            bound_kiops=1e-3 * bounds[share, d, age],
        )
        for (share, d, age), values in found.items()
    ]
    gains = {
        (share, age): Number.ratio(found[share, POOL, age], found[share, PER_SSD, age])
        for share in HOT_SHARES
        for age in ages(plan.full)
    }
    # Decoders do not matter where the hot SSDs' channels are the bottleneck of both.
    told_apart = [(s, a) for s, a in gains if bounds[s, POOL, a] > bounds[s, PER_SSD, a]]
    oldest = ages(plan.full)[-1]
    each = [
        f"{gains[share, oldest].value:.2f} times with {as_plain_share(share)} of reads "
        f"({bounds[share, POOL, oldest] / bounds[share, PER_SSD, oldest]:.2f} by the bounds)"
        for share in HOT_SHARES
    ]
    alike = len(gains) - len(told_apart)
    uniform = by_seed(runs, saturated(plan, at(oldest), POOL), iops)
    kept = [
        f"{Number.ratio(found[share, d, oldest], uniform).value:.2f} ({d.label}, {as_plain_share(share)})"
        for share in HOT_SHARES
        for d in (POOL, PER_SSD)
    ]
    bounded = {
        (share, d): by_seed(runs, _fig08(plan, share, d, oldest, "bounded"), iops)
        for share in HOT_SHARES
        for d in (POOL, PER_SSD)
    }
    lost = [
        f"{d.label} then reaches {fmean(bounded[HOT_SHARES[-1], d]) / fmean(found[HOT_SHARES[-1], d, oldest]):.2f} of "
        f"its rate ({as_plain_share(HOT_SHARES[-1])})"
        for d in (POOL, PER_SSD)
    ]
    blocked = [
        f"{Number.ratio(bounded[share, POOL], bounded[share, PER_SSD]).value:.2f} times with {as_plain_share(share)}"
        for share in HOT_SHARES
    ]
    off = max(abs(fmean(values) / bounds[key] - 1) for key, values in found.items())
    evidence = {
        "pool_beats_dedicated": Evidence(
            gains[HOT_SHARES[-1], oldest],
            f"At {kpe(oldest)} kPE the pool gains {listed(each)}; on average over ages "
            + listed(
                [f"{fmean(gains[s, a].value for a in ages(plan.full)):.2f} ({as_plain_share(s)})" for s in HOT_SHARES]
            )
            + "."
            + (f" In {alike} of {len(gains)} cases hot channels are the bottleneck of both." if alike else "")
            + " How hot data is, and how it is queued, the paper does not say.",
            in_all=all(gains[key].value > 1 for key in told_apart),
            in_mean=fmean(gain.value for gain in gains.values()) > 1,
            **elsewhere(runs, hottest(plan, POOL), hottest(plan, PER_SSD), iops, order=1),
        )
    }
    note = (
        f"The first {HOT_SSDS} of {GEOMETRY['ssds']} SSDs have the hot data, which takes a quarter of the capacity. "
        f"Bounds (channels and decoders of the hot SSDs by their share of reads) are met within {as_share(off, 1)}. Of "
        f"the rate with uniform reads {listed(kept)} remain at {kpe(oldest)} kPE. Where {OF_CHIP} operations at most "
        f"wait for a chip and {OF_DECODERS} codewords for a decoder, and what finds no room blocks the host, the pool "
        f"gains {listed(blocked)} of reads: {listed(lost)}."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


FIGURES = (
    Figure(
        "8",
        "Figure 8: hot data on two of eight SSDs",
        _measure_fig08,
        lines(
            "Figure 8: data rate with hot data on two of eight SSDs",
            PE_AXIS,
            "KIOPS",
            {POOL.label: Line(SERIES[0]), PER_SSD.label: Line(SERIES[1])},
            "saturated",
        ),
        _cases_fig08,
    ),
)

CLAIMS = (
    Claim(
        "pool_beats_dedicated",
        "8",
        "with hot data on two SSDs a pool is faster than a decoder in each (80 % of reads, oldest age)",
        rule="order",
        source=("claims.pool_beats_dedicated_under_hot_data_on_two_of_eight_ssds",),
    ),
)
