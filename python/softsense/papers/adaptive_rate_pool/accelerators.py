"""Decoders that have several codewords in work at once, as the paper's accelerators do."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import polars as pl

from softsense.formats import as_plain_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs
from softsense.papers.adaptive_rate_pool.decoders import (
    PER_SSD,
    POOL,
    Decoders,
    Quantity,
    by_seed,
    device_of,
    iops,
    kpe,
    latency,
    loaded,
    most_of_smallest,
    scaled,
    with_seeds,
)
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.loads import HEAVY, LIGHT, round_robin
from softsense.papers.adaptive_rate_pool.looks import SERIES
from softsense.papers.adaptive_rate_pool.published import ITERATION_US
from softsense.papers.adaptive_rate_pool.settings import Arm, arm, elsewhere, in_all_settings
from softsense.papers.adaptive_rate_pool.wear import ages
from softsense.papers.drawing import Line, lines, point

AT_ONCE = (1, 2, 4, 8)
"""Codewords that a decoder has in work; the paper does not give the number."""
_FEWEST, _MOST = AT_ONCE[0], AT_ONCE[-1]
_SLOWER = "an iteration takes as many times as long as the root of the codewords at once"
_LOADS = {"saturated": None, f"{as_plain_share(LIGHT)} load": LIGHT, f"{as_plain_share(HEAVY)} load": HEAVY}


def _runs(plan: Plan, load: float | None, decoders: Decoders, at_once: int, *, slower: bool = False) -> list[Case]:
    """Runs at the oldest age: saturated, or at a share of the rate of the smallest pool with one codeword at a time."""
    iteration_us = ITERATION_US * (math.sqrt(at_once) if slower else 1)
    more: dict[str, Any] = {"codewords_at_once": at_once} if at_once > 1 else {}
    device = device_of(at(ages(plan.full)[-1]), decoders, iteration_us, **more)
    if load is None:
        return with_seeds(plan, round_robin(plan.requests), device)
    return loaded(plan, load * most_of_smallest(plan), device)


_LINES = {POOL.label: (POOL, False), f"{POOL.label}, slower": (POOL, True), PER_SSD.label: (PER_SSD, False)}


def _cases(plan: Plan) -> list[Case]:
    every = [
        case
        for load in _LOADS.values()
        for decoders, slower in _LINES.values()
        for at_once in AT_ONCE
        for case in _runs(plan, load, decoders, at_once, slower=slower)
    ]
    arms = (_arm(plan, load, at_once) for load in (None, HEAVY) for at_once in (_FEWEST, _MOST))
    return every + in_all_settings(*arms)


def _arm(plan: Plan, load: float | None, at_once: int) -> Arm:
    return arm(_runs(plan, load, POOL, at_once), POOL)


def _measure(plan: Plan, runs: Runs) -> Measured:
    rows, found = [], {}
    for panel, load in _LOADS.items():
        quantity = iops if load is None else latency
        for line, (decoders, slower) in _LINES.items():
            for at_once in AT_ONCE:
                values = by_seed(runs, _runs(plan, load, decoders, at_once, slower=slower), quantity)
                found[load, line, at_once] = values
                rows.append(point(panel, line, at_once, scaled(Number.of(values), 1e-3 if load is None else 1.0)))

    def ratio(load: float | None, line: str) -> Number:
        return Number.ratio(found[load, line, _MOST], found[load, line, _FEWEST])

    def evidence(load: float | None, of: Quantity, order: int, why: str) -> Evidence:
        means = [Number.of(found[load, POOL.label, at_once]).value for at_once in AT_ONCE]
        steps = [order * (after - before) for before, after in pairwise(means)]
        met = elsewhere(runs, _arm(plan, load, _MOST), _arm(plan, load, _FEWEST), of, order=order)
        slower = ratio(load, f"{POOL.label}, slower")
        turns = order * (slower.value - 1) > 0
        met["under"] |= {_SLOWER: Evidence(slower, in_all=turns, in_mean=turns)}
        in_all, in_mean = min(steps) >= 0, order * (means[-1] - means[0]) > 0
        return Evidence(ratio(load, POOL.label), why, in_all=in_all, in_mean=in_mean, **met)

    oldest = ages(plan.full)[-1]
    told = [f"{1e-3 * Number.of(found[None, POOL.label, n]).value:,.0f} ({n} at once)" for n in AT_ONCE]
    light = Number.ratio(found[LIGHT, POOL.label, _MOST], found[LIGHT, POOL.label, _FEWEST])
    return Measured(
        pl.DataFrame(rows),
        {
            "at_once_rate": evidence(
                None,
                iops,
                1,
                f"At {kpe(oldest)} kPE a {POOL.label} reaches {listed(told)} KIOPS: as much as a pool of as many "
                "decoders as have codewords in work, until channels are the limit.",
            ),
            "at_once_latency": evidence(
                HEAVY,
                latency,
                -1,
                f"Less waits for a decoder. Under light load nothing waits: {light.value:.3f} times the latency.",
            ),
        },
        (
            'A decoder of several codewords at once takes as long for each as for one alone; "slower" has iterations '
            "that take as many times as long as the root of their number. Loads are shares of what eight decoders of "
            f"one codeword at a time can do at the worst age; all reads are at {kpe(oldest)} kPE.",
        ),
    )


_LOOKS = {line: Line(colour) for line, colour in zip(_LINES, SERIES, strict=False)}
# Points without a line: where decoders in SSDs do as well as a pool, they lie on the line of the pool.
_LOOKS[PER_SSD.label] = Line(SERIES[len(_LINES) - 1], "none", "square")

FIGURES = (
    Figure(
        "accelerators",
        "Accelerators: decoders of several codewords at once",
        _measure,
        lines(
            "Accelerators that decode several codewords at once",
            "codewords at once",
            ("KIOPS", "latency, us", "latency, us"),
            _LOOKS,
            "load: share of what a pool of 8 can do at the worst age, one codeword at a time",
        ),
        _cases,
    ),
)

CLAIMS = (
    Claim(
        "at_once_rate",
        "accelerators",
        f"accelerators decode several codewords at once to increase throughput ({_MOST} over {_FEWEST}, oldest age)",
        rule="order",
    ),
    Claim(
        "at_once_latency",
        "accelerators",
        f"and they lower latency at {as_plain_share(HEAVY)} load ({_MOST} over {_FEWEST} at once; not in the paper)",
        rule="order",
        kind="invented workload",
    ),
)
