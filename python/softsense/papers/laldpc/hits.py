"""Figures 9 and 10: reads that start at a soft level, and hits of the mapping cache."""

from __future__ import annotations

from softsense.formats import as_share
from softsense.papers import Claim, Figure, Measured, Plan, Runs
from softsense.papers.comparing import Compared, Quantity, cases
from softsense.papers.laldpc.methods import (
    MAIN,
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
    kept, left = having(plan, runs, [MAIN.lru], soft_starts)
    shares = {
        arm: average(kept, runs, arm, soft_starts) / average(kept, runs, MAIN.base, lambda s: soft_share(s) * count(s))
        for arm in (MAIN.lru, MAIN.new)
    }
    compared = Compared(kept, runs, [MAIN.lru, MAIN.new], MAIN.lru, Quantity("soft_starts", soft_starts))
    why = (
        f"With LRU {as_share(shares[MAIN.lru], 0)} of soft reads begin at a soft level, with the new eviction "
        f"{as_share(shares[MAIN.new], 0)} (all reads of all workloads, {origin(kept)}).{left}"
    )
    evidence = {"more_soft_starts": compared.order([MAIN.new, MAIN.lru], compared.mean(MAIN.new), why)}
    return Measured(by_workload(compared), evidence)


def _measure_fig10(plan: Plan, runs: Runs) -> Measured:
    kept, left = having(plan, runs, [MAIN.lru], read_hits)
    compared = Compared(kept, runs, [MAIN.lru, MAIN.new], MAIN.lru, Quantity("read_hit_ratio", read_hits))
    hits = [average(kept, runs, arm, read_hits) for arm in (MAIN.lru, MAIN.new)]
    why = (
        f"Reads find their entry for {as_share(hits[0], 1)} of codewords with LRU, {as_share(hits[1], 1)} with the new "
        f"eviction (mean of workloads, {origin(kept)}).{left} Entries of what was just written have level 1 and go "
        "first: that costs hits on what is read soon after it was written, and leaves room for entries of old data."
    )
    evidence = {"lower_hit_ratio": compared.order([MAIN.lru, MAIN.new], compared.mean(MAIN.new), why)}
    return Measured(values_of(plan, runs, [MAIN.lru, MAIN.new], read_hits), evidence)


FIGURES = (
    Figure(
        "9",
        "Figure 9: reads that start at a soft level",
        _measure_fig09,
        draw_workloads("Figure 9: reads that start at a soft level", "over LaLDPC-LRU"),
        lambda plan: cases(plan, MAIN.base, MAIN.lru, MAIN.new),
    ),
    Figure(
        "10",
        "Figure 10: hits of the mapping cache",
        _measure_fig10,
        draw_workloads("Figure 10: reads whose entry is in the mapping cache", "share of reads", None),
        lambda plan: cases(plan, MAIN.lru, MAIN.new),
    ),
)

CLAIMS = (
    Claim(
        "more_soft_starts",
        "9",
        "more reads start at a soft level with the new eviction than with LRU (new over LRU)",
        rule="order",
    ),
    Claim(
        "lower_hit_ratio",
        "10",
        "the new eviction lowers the hit ratio of reads (new over LRU)",
        rule="order",
        source=("claims.new_lowers_hit_ratio",),
    ),
    Claim(
        "web1_hits",
        "10",
        "of wdev0, ts0, hm0 and web1, which have similar soft read ratios, web1 has the highest hit ratio",
        rule="order",
        kind="invented workload",
    ),
)
