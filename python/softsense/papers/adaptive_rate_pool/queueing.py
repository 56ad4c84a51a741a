"""Saturation with fixed decode times, over its bound."""

from __future__ import annotations

import polars as pl

from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import (
    BUFFERS,
    OF_CHIP,
    OF_DECODERS,
    Decoders,
    by_seed,
    farthest,
    iops,
)
from softsense.papers.adaptive_rate_pool.loads import POLICY, round_robin
from softsense.papers.adaptive_rate_pool.looks import POOL_LINES
from softsense.papers.adaptive_rate_pool.published import ITERATION_US, WITHIN
from softsense.papers.drawing import lines, point

_FIXED = (1, 2, 4, 5, 8, 10)
_FIXED_POOLS = tuple(Decoders(count) for count in (8, 16, 64))


def _queueing(plan: Plan, decoders: Decoders, iterations: int, buffers: str) -> list[Case]:
    of_chips, of_decoders = BUFFERS[buffers]
    time = decoders.override({"fixed_us": ITERATION_US * iterations}, **of_decoders)
    # One seed, as nothing in the case is random.
    return [Case(round_robin(plan.requests), POLICY, ('reliability="perfect"', time, *of_chips), plan.seeds[0])]


def _every_queue() -> list[tuple[Decoders, int, str]]:
    return [(d, iterations, buffers) for d in _FIXED_POOLS for iterations in _FIXED for buffers in BUFFERS]


def _measure_queueing(plan: Plan, runs: Runs) -> Measured:
    found = {key: by_seed(runs, _queueing(plan, *key), iops)[0] for key in _every_queue()}
    met = {key: Number.exact(value / key[0].bound(key[1])) for key, value in found.items()}
    rows = [
        point(f"{buffers} queues", d.label, iterations, met[d, iterations, buffers], kiops=1e-3 * value)
        for (d, iterations, buffers), value in sorted(found.items(), key=lambda item: list(BUFFERS).index(item[0][2]))
    ]
    far = farthest(met)
    why = (
        f"The farthest of {len(met)}: {far[0].label}, {far[1]} iterations, {far[2]} queues, {1e-3 * found[far]:,.1f} "
        f"of {1e-3 * far[0].bound(far[1]):,.0f} KIOPS. What is missing is the beginning and the end of "
        f"{plan.requests:,} reads."
    )
    heads = ["iterations", *(f"{d.label}: bound, {', '.join(BUFFERS)}" for d in _FIXED_POOLS)]
    told = [
        [
            str(iterations),
            *(
                f"{1e-3 * d.bound(iterations):,.0f}, "
                + ", ".join(f"{1e-3 * found[d, iterations, buffers]:,.1f}" for buffers in BUFFERS)
                for d in _FIXED_POOLS
            ),
        ]
        for iterations in _FIXED
    ]
    note = (
        f"Every decode takes the same time. Bounded: {OF_CHIP} operations at most wait for a chip, {OF_DECODERS} "
        "codewords for a decoder, and what finds no room blocks the host, as in the paper's figure 2. KIOPS:\n\n"
        + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), {"bound_of_fixed_times": Evidence(met[far], why)}, (note,))


FIGURES = (
    Figure(
        "queueing",
        "Queueing: saturation over its bound",
        _measure_queueing,
        lines(
            "Queueing: saturation over min(64 / 40 us, N / (4 us E))",
            "iterations E, the same for each codeword",
            "measured over bound",
            POOL_LINES,
            low=1 - WITHIN,
        ),
        lambda plan: [case for key in _every_queue() for case in _queueing(plan, *key)],
    ),
)

CLAIMS = (
    Claim(
        "bound_of_fixed_times",
        "queueing",
        "with fixed decode times saturation is at that bound (within 2 %; not in the paper)",
        1.0,
        tolerance=WITHIN,
        kind="own check",
    ),
)
