"""Figures 9 and 10: reads that start at a soft level, and hits of the mapping cache."""

from __future__ import annotations

from functools import partial

from softsense.formats import as_share
from softsense.papers import Claim, Evidence, Figure, Measured, Plan, Runs
from softsense.papers.comparing import Compared, Quantity, cases
from softsense.papers.laldpc.assumed import ordered_by_readings, reading_cases
from softsense.papers.laldpc.methods import (
    MAIN,
    SHORT,
    Methods,
    average,
    by_workload,
    count,
    draw_workloads,
    having,
    origin,
    read_hits,
    soft_share,
    soft_starts,
    values_of,
)


def _measure_fig09(plan: Plan, runs: Runs) -> Measured:
    kept, _ = having(plan, runs, [MAIN.lru], soft_starts)
    compared = Compared(kept, runs, [MAIN.lru, MAIN.new], MAIN.lru, Quantity("soft_starts", soft_starts))
    evidence = {"more_soft_starts": ordered_by_readings(plan, runs, partial(_more_soft_starts, runs))}
    return Measured(by_workload(compared), evidence)


def _more_soft_starts(runs: Runs, plan: Plan, methods: Methods) -> Evidence:
    kept, left = having(plan, runs, [methods.lru], soft_starts)
    shares = {
        arm: average(kept, runs, arm, soft_starts)
        / average(kept, runs, methods.base, lambda s: soft_share(s) * count(s))
        for arm in (methods.lru, methods.new)
    }
    compared = Compared(kept, runs, [methods.lru, methods.new], methods.lru, Quantity("soft_starts", soft_starts))
    why = (
        f"With LRU {as_share(shares[methods.lru], 0)} of soft reads begin at a soft level, with the new eviction "
        f"{as_share(shares[methods.new], 0)} (all reads of all workloads, {origin(kept)}).{left}"
    )
    return compared.order([methods.new, methods.lru], compared.mean(methods.new), why)


def _measure_fig10(plan: Plan, runs: Runs) -> Measured:
    evidence = {"lower_hit_ratio": ordered_by_readings(plan, runs, partial(_lower_hit_ratio, runs))}
    return Measured(values_of(plan, runs, [MAIN.lru, MAIN.new], read_hits), evidence)


def _lower_hit_ratio(runs: Runs, plan: Plan, methods: Methods) -> Evidence:
    kept, left = having(plan, runs, [methods.lru], read_hits)
    compared = Compared(kept, runs, [methods.lru, methods.new], methods.lru, Quantity("read_hit_ratio", read_hits))
    hits = [average(kept, runs, arm, read_hits) for arm in (methods.lru, methods.new)]
    why = (
        f"Reads find their entry for {as_share(hits[0], 1)} of codewords with LRU, {as_share(hits[1], 1)} with the new "
        f"eviction (mean of workloads, {origin(kept)}).{left} Entries of what was just written have level 1 and go "
        "first: that costs hits on what is read soon after it was written, and leaves room for entries of old data."
    )
    return compared.order([methods.lru, methods.new], compared.mean(methods.new), why)


FIGURES = (
    Figure(
        "9",
        "Figure 9: reads that start at a soft level",
        _measure_fig09,
        draw_workloads("Figure 9: reads that start at a soft level", "over LaLDPC-LRU"),
        lambda plan: [*cases(plan, MAIN.base, MAIN.lru, MAIN.new), *reading_cases(plan)],
    ),
    Figure(
        "10",
        "Figure 10: hits of the mapping cache",
        _measure_fig10,
        draw_workloads("Figure 10: reads whose entry is in the mapping cache", "share of reads", None),
        lambda plan: [*cases(plan, MAIN.lru, MAIN.new), *reading_cases(plan)],
    ),
)

CLAIMS = (
    Claim(
        "more_soft_starts",
        "9",
        "more reads start at a soft level with the new eviction than with LRU (new over LRU)",
        rule="order",
        quick_bias=SHORT,
        kind="invented workload",
    ),
    Claim(
        "lower_hit_ratio",
        "10",
        "the new eviction lowers the hit ratio of reads (new over LRU)",
        rule="order",
        source=("claims.new_lowers_hit_ratio",),
        kind="invented workload",
    ),
    Claim(
        "web1_hits",
        "10",
        "of wdev0, ts0, hm0 and web1, which have similar soft read ratios, web1 has the highest hit ratio",
        rule="order",
        kind="invented workload",
    ),
)
