"""Figures 6 and 7: latency and data rate by number and place of decoders."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean

import polars as pl

from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import (
    DEDICATED,
    PER_SSD,
    POOL,
    POOLS,
    Decoders,
    by_seed,
    device_of,
    farthest,
    iops,
    kpe,
    latency,
    loaded,
    most_of_smallest,
    saturated,
    scaled,
    with_seeds,
)
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.loads import HEAVY, LIGHT, QUEUE_DEPTH, QUEUE_DEPTHS, crowded
from softsense.papers.adaptive_rate_pool.looks import LINES_BY_PLACE, PE_AXIS
from softsense.papers.adaptive_rate_pool.published import CHANNEL_US, CHANNELS, ITERATION_US, TIMES, WITHIN
from softsense.papers.adaptive_rate_pool.settings import Arm, arm, elsewhere, in_all_settings
from softsense.papers.adaptive_rate_pool.wear import adapted, ages
from softsense.papers.drawing import lines, point

_EVERY = (*POOLS, *DEDICATED)


def _fig06(plan: Plan, load: float, decoders: Decoders, age: int) -> list[Case]:
    return loaded(plan, load * most_of_smallest(plan), device_of(at(age), decoders))


def _cases_fig06(plan: Plan) -> list[Case]:
    return [
        case
        for load in (LIGHT, HEAVY)
        for decoders in _EVERY
        for age in ages(plan.full)
        for case in _fig06(plan, load, decoders, age)
    ] + in_all_settings(*(_light(plan, decoders) for decoders in (POOL, PER_SSD, POOLS[-1])))


def _light(plan: Plan, decoders: Decoders) -> Arm:
    """The arm with light load at the oldest age."""
    return arm(_fig06(plan, LIGHT, decoders, ages(plan.full)[-1]), decoders)


def _measure_fig06(plan: Plan, runs: Runs) -> Measured:
    every = [(load, d, age) for load in (LIGHT, HEAVY) for d in _EVERY for age in ages(plan.full)]
    found = {key: by_seed(runs, _fig06(plan, *key), latency) for key in every}
    rows = [
        point(f"{as_plain_share(load)} load", d.label, age / 1000, Number.of(values))
        for (load, d, age), values in found.items()
    ]

    def over(load: float, above: Decoders, below: Decoders, age: int) -> Number:
        return Number.ratio(found[load, above, age], found[load, below, age])

    counts = {(d, age): over(LIGHT, d, POOLS[-1], age) for d in POOLS[:-1] for age in ages(plan.full)}
    places = {(d, age): over(LIGHT, d, Decoders(d.count), age) for d in DEDICATED for age in ages(plan.full)}
    oldest = ages(plan.full)[-1]
    least, worst = farthest(counts), farthest(places)
    heavy = [over(HEAVY, each, POOLS[-1], oldest).value for each in (POOL, PER_SSD)]
    evidence = {
        "latency_independent_of_count": Evidence(
            counts[least],
            f"The farthest of {len(counts)}: {least[0].label} over {POOLS[-1].label} at {kpe(least[1])} kPE. It is so "
            f"as long as nothing waits. At {as_plain_share(HEAVY)} of what the smallest pool can do it takes "
            f"{heavy[0]:.2f} times as long with a {POOL.label} as with a {POOLS[-1].label}, at {kpe(oldest)} kPE.",
            **elsewhere(runs, _light(plan, POOL), _light(plan, POOLS[-1]), latency),
        ),
        "latency_independent_of_position": Evidence(
            places[worst],
            f"The farthest of {len(places)}: {worst[0].label} over a pool of as many at {kpe(worst[1])} kPE. At "
            f"{as_plain_share(HEAVY)} of what eight decoders can do reads take {heavy[1]:.2f} times as long with "
            f"{PER_SSD.label} as with a {POOLS[-1].label}, and {heavy[1] / heavy[0]:.2f} times as long as with a "
            f"{POOL.label}: a pool is a shared queue. With links a pool is farther away than decoders in SSDs.",
            **elsewhere(runs, _light(plan, PER_SSD), _light(plan, POOL), latency),
        ),
    }
    mean = {age: fmean(fmean(found[LIGHT, d, age]) for d in _EVERY) for age in ages(plan.full)}
    drops = [f"{kpe(old)} kPE ({adapted(old)})" for young, old in pairwise(mean) if mean[young] >= mean[old]]
    evidence["latency_grows_with_age"] = Evidence(
        Number.exact(mean[oldest] / mean[ages(plan.full)[0]]),
        f"From {mean[ages(plan.full)[0]]:.1f} us at {kpe(ages(plan.full)[0])} kPE to {mean[oldest]:.1f} us at "
        f"{kpe(oldest)}." + (f" It falls with a stronger code, at {listed(drops)}: fewer iterations." if drops else ""),
        in_all=not drops,
        in_mean=mean[oldest] > mean[ages(plan.full)[0]],
    )
    rate = most_of_smallest(plan)
    off = max(
        abs(fmean(found[LIGHT, POOLS[-1], age]) / (TIMES["chip_access"] + ITERATION_US * at(age).load) - 1)
        for age in ages(plan.full)
    )
    note = (
        f"Reads arrive at {1e-3 * LIGHT * rate:.1f} and {1e-3 * HEAVY * rate:.0f} thousand a second: {100 * LIGHT:g} "
        f"and {as_plain_share(HEAVY)} of the {1e-3 * rate:.0f} that {POOL.count} decoders can do at the worst age; the "
        f"paper does not say its load. {TIMES['chip_access']:g} us and {ITERATION_US:g} us an iteration, without any "
        f"wait, is {as_share(off, 1)} off the {POOLS[-1].label} under light load at most."
    )
    return Measured(pl.DataFrame(rows), evidence, (note, _note_of_ages(plan)))


def _note_of_ages(plan: Plan) -> str:
    heads = ["kPE", "rate", "RBER", "iterations", "without errors", "iterations of a decoder for each read"]
    rows = []
    for age in ages(plan.full):
        each = at(age)
        cells = [f"{each.rber:.2e}", f"{each.mean:.2f}", as_share(each.error_free, 1)]
        rows.append([kpe(age), each.rate, *cells, f"{each.load:.2f}"])
    table = markdown_table(heads, rows)
    return f"The ages of all scenarios, and the rate that an adaptive device uses then:\n\n{table}"


def _crowded(plan: Plan, decoders: Decoders, queue_depth: int) -> list[Case]:
    oldest = at(ages(plan.full)[-1])
    return with_seeds(plan, crowded(plan.requests, queue_depth), device_of(oldest, decoders))


def _cases_fig07(plan: Plan) -> list[Case]:
    in_turn = [case for d in _EVERY for age in ages(plan.full) for case in saturated(plan, at(age), d)]
    in_turn += in_all_settings(*(_full(plan, decoders) for decoders in (POOL, PER_SSD, POOLS[-1])))
    return in_turn + [case for d in (POOL, PER_SSD) for depth in QUEUE_DEPTHS for case in _crowded(plan, d, depth)]


def _full(plan: Plan, decoders: Decoders) -> Arm:
    """The arm with saturation at the oldest age."""
    return arm(saturated(plan, at(ages(plan.full)[-1]), decoders), decoders)


def _measure_fig07(plan: Plan, runs: Runs) -> Measured:
    found = {(d, age): by_seed(runs, saturated(plan, at(age), d), iops) for d in _EVERY for age in ages(plan.full)}
    bounds = {(d, age): d.bound(at(age).load) for d, age in found}
    met = {key: Number.of([value / bounds[key] for value in values]) for key, values in found.items()}
    rows = [
        point("saturated", d.label, age / 1000, scaled(Number.of(values), 1e-3), bound_kiops=1e-3 * bounds[d, age])
        for (d, age), values in found.items()
    ]
    places = {
        (d, age): Number.ratio(found[d, age], found[Decoders(d.count), age])
        for d in DEDICATED
        for age in ages(plan.full)
    }
    worst, far = farthest(places), farthest(met)
    # Steps where channels are the bottleneck of both pools are left out, as decoders do not matter there.
    steps = [
        (found[small, age], found[large, age])
        for small, large in pairwise(POOLS)
        for age in ages(plan.full)
        if bounds[small, age] < bounds[large, age]
    ]
    oldest = ages(plan.full)[-1]
    ends = [f"{1e-3 * fmean(found[d, oldest]):,.0f} ({d.count})" for d in POOLS]
    random = []
    for depth in QUEUE_DEPTHS:
        dedicated, pooled = (by_seed(runs, _crowded(plan, d, depth), iops) for d in (PER_SSD, POOL))
        random.append(f"{Number.ratio(dedicated, pooled).value:.3f} ({depth:,} at a time)")
    channel = sum(bounds[POOLS[-1], age] >= CHANNELS / CHANNEL_US * 1e6 for age in ages(plan.full))
    evidence = {
        "rate_depends_on_count": Evidence(
            Number.ratio(found[POOLS[-1], oldest], found[POOL, oldest]),
            f"At {kpe(oldest)} kPE pools reach {listed(ends)} KIOPS. With {POOLS[-1].count} decoders, one for each "
            f"channel, the channels are the bottleneck at {channel} of {len(ages(plan.full))} ages.",
            in_all=all(fmean(less) < fmean(more) for less, more in steps),
            in_mean=fmean(fmean(less) / fmean(more) for less, more in steps) < 1,
            **elsewhere(runs, _full(plan, POOLS[-1]), _full(plan, POOL), iops, order=1),
        ),
        "position_does_not_matter": Evidence(
            places[worst],
            f"The farthest of {len(places)}: {worst[0].label} over a pool of as many at {kpe(worst[1])} kPE. Reads go "
            f"to all SSDs and channels in turn. At random places {PER_SSD.label} reads {listed(random)} of what a "
            f"{POOL.label} reads, at {kpe(oldest)} kPE: with few under way some SSDs have none.",
            **elsewhere(runs, _full(plan, PER_SSD), _full(plan, POOL), iops),
        ),
        "bound": Evidence(
            met[far],
            f"The farthest of {len(met)}: {far[0].label} at {kpe(far[1])} kPE, {1e-3 * fmean(found[far]):,.0f} of "
            f"{1e-3 * bounds[far]:,.0f} KIOPS. The bound is min(64 / 40 us, N / (4 us E)), E the mean "
            f"iterations less one for each codeword without errors; {QUEUE_DEPTH:,} reads are under way.",
        ),
    }
    return Measured(pl.DataFrame(rows), evidence)


FIGURES = (
    Figure(
        "6",
        "Figure 6: latency by number and place of decoders",
        _measure_fig06,
        lines(
            "Figure 6: latency",
            PE_AXIS,
            "us",
            LINES_BY_PLACE,
            "load: share of what a pool of 8 can do at the worst age",
        ),
        _cases_fig06,
    ),
    Figure(
        "7",
        "Figure 7: data rate by number and place of decoders",
        _measure_fig07,
        lines("Figure 7: data rate, data read uniformly", PE_AXIS, "KIOPS", LINES_BY_PLACE),
        _cases_fig07,
    ),
)

CLAIMS = (
    Claim(
        "latency_independent_of_count",
        "6",
        "the number of decoders does not affect latency (within 2 %)",
        1.0,
        tolerance=WITHIN,
        source=("claims.latency_independent_of_decoder_count",),
    ),
    Claim(
        "latency_independent_of_position",
        "6",
        "nor does their place (within 2 %)",
        1.0,
        tolerance=WITHIN,
    ),
    Claim("latency_grows_with_age", "6", "latency grows with age (oldest over youngest)", rule="order"),
    Claim(
        "rate_depends_on_count",
        "7",
        "the data rate depends on the number of decoders (64 over 8, oldest age)",
        rule="order",
        source=("claims.data_rate_depends_on_decoder_count",),
    ),
    Claim(
        "position_does_not_matter",
        "7",
        "decoders in SSDs or channels are as good as a pool of as many (within 2 %)",
        1.0,
        tolerance=WITHIN,
        source=("claims.pool_position_does_not_matter_under_uniform_load",),
    ),
    Claim(
        "bound",
        "7",
        "saturation is at min(64 / 40 us, N / (4 us E)) (within 2 %; not in the paper)",
        1.0,
        tolerance=WITHIN,
        kind="own check",
    ),
)
