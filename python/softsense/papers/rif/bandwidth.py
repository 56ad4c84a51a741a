"""Bandwidth, slowest reads, and use of the channel."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share
from softsense.papers import Evidence, Measured, Number, Plan, Runs
from softsense.papers.comparing import percent
from softsense.papers.drawing import point
from softsense.papers.rif.published import EARLIER, LOSS, PUBLISHED
from softsense.papers.rif.workloads import COLOURS, RIVALS, Aged, ages

if TYPE_CHECKING:
    from collections.abc import Callable

AXIS = "bandwidth that one ideal retry loses"


def bandwidth(plan: Plan, runs: Runs) -> Measured:
    """Bandwidth of each method by age and workload."""
    aged = Aged(plan, runs)

    def gain(label: str) -> Callable[[float, int], float]:
        return lambda days, seed: aged.bandwidth_ratio(days, "RiF", label, seed) - 1

    rows = aged.lines("all workloads", COLOURS, lambda label: aged.ratio(label, "no retry"))
    rows += aged.lines("RiF over others", RIVALS, gain)
    published = PUBLISHED["claims"]["bandwidth_gain_over_sentinel"]
    rows += [
        point("RiF over others", "published", LOSS[stage], Number.exact(more)) for stage, more in published.items()
    ]
    why = (
        "Both are read off where one ideal retry loses as much as is published for that wear, which is the one "
        "number that the "
        "age of the data is fitted to. Workloads are stand-ins."
    ) + aged.reached
    evidence = {}
    for stage in EARLIER:
        evidence[f"over_sentinel_{stage}"] = Evidence(aged.at_loss(LOSS[stage], gain("Sentinel")), why)
    at_2k, oldest = LOSS["2000"], ages(plan)[-1]
    for label, name in RIVALS.items():
        most = Number.of(
            [aged.bandwidth_ratio(oldest, "RiF", label, seed, aged.most_read) for seed in plan.seeds]
        ).plus(-1)
        told = f" Of the workload with the most reads it is {percent(most)} with the oldest data."
        evidence[f"gain_{name}"] = Evidence(aged.at_loss(at_2k, gain(label)), why + told)
    gap = aged.at_loss(at_2k, lambda days, seed: 1 - aged.bandwidth_ratio(days, "RiF", "no retry", seed))
    best_rival = aged.at_loss(at_2k, lambda days, seed: 1 - aged.bandwidth_ratio(days, "Swift-Read+", "no retry", seed))
    evidence["gap"] = Evidence(
        gap,
        "Each page that is retried is sensed twice, and what the retry decodes takes more iterations. The best "
        "of the others, Swift-Read "
        f"with what it remembers, lacks {percent(best_rival)}.",
        improves=gap.hi < best_rival.lo,
    )
    order = ["RiF", "Swift-Read+", "Swift-Read", "Sentinel"]
    means = {label: aged.at_loss(at_2k, aged.ratio(label, "no retry")).value for label in order}
    met = all(means[one] >= means[other] for one, other in pairwise(order))
    told = ", ".join(f"{label} {as_share(means[label], 1)}" for label in order)
    evidence["order"] = Evidence(None, f"Of the bandwidth without retries: {told}.", in_all=met, in_mean=met)
    return Measured(pl.DataFrame(rows), evidence)


def tail(plan: Plan, runs: Runs) -> Measured:
    """The slowest reads of each method."""
    aged = Aged(plan, runs)

    def p9999(days: float, label: str, seed: int) -> float:
        return float(aged.each(days, label, seed, aged.most_read)[0]["response"]["read"]["p9999_us"])

    rows = aged.lines("reads", COLOURS, lambda label: lambda days, seed: p9999(days, label, seed) / 1000)
    evidence = {}
    for label, name in RIVALS.items():

        def reduction(days: float, seed: int, label: str = label) -> float:
            return 1 - p9999(days, "RiF", seed) / p9999(days, label, seed)

        evidence[f"p9999_{name}"] = Evidence(
            aged.at_loss(LOSS["2000"], reduction),
            "Of reads that keep 256 requests under way; how the paper's trace arrives is not published in our "
            "sources, and a "
            "drive that falls behind its arrivals has a longer tail than one that is asked as fast as it serves.",
        )
    return Measured(pl.DataFrame(rows), evidence)


def channel(plan: Plan, runs: Runs) -> Measured:
    """Time of the channel that each method wastes, and retries of Sentinel."""
    aged = Aged(plan, runs)

    def wasted(label: str) -> Callable[[float, int], float]:
        return lambda days, seed: aged.each(days, label, seed, aged.most_read)[0]["utilisation"]["channel_wasted"]

    rows = aged.lines("channel", COLOURS, wasted)
    names = {"Swift-Read": "swift_read", "RiF": "rif_uncorrectable", "RPSSD": "controller_predictor_uncorrectable"}

    def idle(days: float, seed: int) -> float:
        return float(1 - aged.each(days, "Swift-Read", seed, aged.most_read)[0]["utilisation"]["channel"])

    waiting = aged.at_loss(LOSS["2000"], idle)
    why = {
        "Swift-Read": f"The published share may have the time in it that a channel waits for a decoder; here it "
        "is idle, or held, for "
        f"{percent(waiting)} of the time.",
        "RiF": "What the predictor lets pass and the decoder does not.",
        "RPSSD": "The controller predicts after the transfer, so that it wastes no less of the channel than others.",
    }
    evidence = {
        f"wasted_{name}": Evidence(aged.at_loss(LOSS["2000"], wasted(label)), why[label])
        for label, name in names.items()
    }

    def beyond_first(days: float, label: str, seed: int) -> int:
        reads = aged.each(days, label, seed, aged.most_read)[0]["codeword_reads"]
        return int(reads["attempts"] - reads["count"])

    def retries(days: float, seed: int) -> float:
        # The ideal retry has one retry for each codeword that needs any.
        return beyond_first(days, "Sentinel", seed) / max(1, beyond_first(days, "one ideal retry", seed))

    evidence["sentinel_retries"] = Evidence(
        aged.at_loss(LOSS["2000"], retries),
        "Retries of a codeword that its first hard decision did not decode; the extra read of known cells is "
        "none of them.",
    )
    return Measured(pl.DataFrame(rows), evidence)
