"""Quantities of each run, and the techniques on the frontier."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from softsense.papers import Plan, Runs
from softsense.papers.comparing import Summary
from softsense.papers.read_retry.runs import READS, SATURATED, case_of, conditions
from softsense.papers.read_retry.techniques import (
    TECHNIQUES,
    TRACKED,
    Condition,
    Drive,
    in_flash,
    metadata_bytes,
    p_uncorrectable,
)

METRICS: dict[str, tuple[str, str, bool]] = {
    "retries": ("retries", "", False),
    "mean_us": ("mean, us", READS, False),
    "p99_us": ("p99, us", READS, False),
    "p9999_us": ("p99.99, us", READS, False),
    "gb_per_s": ("GB/s", SATURATED, True),
    "channel_wasted": ("channel wasted", SATURATED, False),
    "read_uj": ("uJ a read", READS, False),
}
"""For each quantity: its label, the workload on which it is measured, and whether more is better."""


def _of(summary: Summary, saturated: Summary) -> dict[str, float]:
    reads, response = summary["codeword_reads"], summary["response"]["read"]
    return {
        "retries": reads["attempts"] / reads["count"] - 1,
        "mean_us": response["mean_us"],
        "p99_us": response["p99_us"],
        "p9999_us": response["p9999_us"],
        "gb_per_s": 65_536 * saturated["reads"] / saturated["simulated_s"] / 1e9,
        "channel_wasted": saturated["utilisation"]["channel_wasted"],
        "read_uj": summary["energy"]["mean_read_uj"],
    }


def _row(plan: Plan, runs: Runs, technique: str, condition: Condition) -> dict[str, Any]:
    """A technique on a drive at an age: means over seeds."""
    by_name = {
        workload.name: [runs[case_of(workload, technique, condition, seed)] for seed in plan.seeds]
        for workload in plan.workloads
    }
    each = [_of(*pair) for pair in zip(by_name[READS], by_name[SATURATED], strict=True)]
    traces = {
        f"{name}_mean_us": fmean(summary["response"]["read"]["mean_us"] for summary in summaries)
        for name, summaries in by_name.items()
        if name not in (READS, SATURATED)
    }
    return {
        "technique": technique,
        "pe_cycles": condition.pe_cycles,
        "age": condition.age,
        **{metric: fmean(of_seed[metric] for of_seed in each) for metric in METRICS},
        **traces,
        "codewords": sum(summary["codeword_reads"]["count"] for summaries in by_name.values() for summary in summaries),
        "uncorrectable": sum(
            summary["codeword_reads"]["uncorrectable"] for summaries in by_name.values() for summary in summaries
        ),
        "p_uncorrectable": p_uncorrectable(technique, condition, plan.overrides),
        "metadata_bytes": metadata_bytes(technique, condition.drive),
        "in_flash": in_flash(technique, condition.drive),
    }


def rows_of(plan: Plan, runs: Runs, some: Sequence[Condition]) -> list[dict[str, Any]]:
    """A row for each technique and condition."""
    return [_row(plan, runs, technique, condition) for condition in some for technique in TECHNIQUES]


def rows_at_the_end(plan: Plan, runs: Runs, drive: Drive) -> list[dict[str, Any]]:
    """Rows of a drive at the end of its life, from the simulations."""
    some = [condition for condition in conditions(plan, drive) if condition.pe_cycles == drive.pe_cycles[-1]]
    return rows_of(plan, runs, some)


def at_the_end(rows: Iterable[dict[str, Any]], drive: Drive) -> list[dict[str, Any]]:
    """Rows of a drive at the end of its life, out of all rows."""
    return [row for row in rows if row["pe_cycles"] == drive.pe_cycles[-1]]


def over_ages(rows: Sequence[dict[str, Any]], metric: str) -> dict[str, float]:
    """For each technique a quantity over that of tracked references, mean of ages."""
    of = {(row["technique"], row["age"]): row[metric] for row in rows}
    ages = list(dict.fromkeys(row["age"] for row in rows))
    return {technique: fmean(of[technique, age] / of[TRACKED, age] for age in ages) for technique in TECHNIQUES}


_LOST = 1e-11
"""Largest share of codewords of 4 KiB that nothing decodes: an uncorrectable bit error rate of 3e-16."""

JUDGED_BY = ("mean_us", "p9999_us", "gb_per_s", "read_uj")


def scores_of(rows: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """The scores of each technique, relative to tracked references: less is better."""
    each = [over_ages(rows, metric) for metric in JUDGED_BY]
    return {
        technique: [
            1 / score[technique] if METRICS[metric][2] else score[technique]
            for metric, score in zip(JUDGED_BY, each, strict=True)
        ]
        for technique in TECHNIQUES
    }


def _broken(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Techniques that lose data at some age: in a run, or with too large a probability."""
    lossy = {row["technique"] for row in rows if row["uncorrectable"] or row["p_uncorrectable"] > _LOST}
    return [name for name in TECHNIQUES if name in lossy]


def on_the_frontier(scores: dict[str, list[float]]) -> list[str]:
    """The techniques on the Pareto frontier, where less is better.

    For a technique on the frontier, no other one is at least as good in all scores and better in one.
    """

    def beats(one: list[float], other: list[float]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    return [name for name, score in scores.items() if not any(beats(other, score) for other in scores.values())]


def frontier_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The techniques on the frontier that a drive can have and that lose no data."""
    out = {TRACKED, *_broken(rows)}
    return on_the_frontier({technique: score for technique, score in scores_of(rows).items() if technique not in out})
