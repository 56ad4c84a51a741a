"""The main result of a comparison in a sentence or two, and the warnings that come before its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softsense.formats import as_share, as_us, listed
from softsense.problems import OVERLOADED, UNWRITTEN, unwritten
from softsense.read_policies import follows_age, is_bound

if TYPE_CHECKING:
    from softsense.results import Comparison, RunResult

SATURATED = 0.95
"""Utilisation from which on a resource is called saturated."""

_BEHIND, _SOFT = 1.5, 0.01
"""Raw bit error rate over the best one, and share of codewords, from which on soft levels are doubted."""

_AGES = {
    "pe_cycles": "{:,.0f} P/E cycles",
    "retention_days": "{:g} days of retention",
    "block_reads": "{:,.0f} reads of a block",
}

_WARNINGS = {
    "beyond_table": "were at raw bit error rates outside the range of the decode table: their outcomes are guesses. "
    "`softsense table build CODE --for CONFIG` makes a table whose range has all rates",
    "uncorrectable": "stayed uncorrectable at the last level",
}


def finding(comparison: Comparison) -> str:
    """The main result in a sentence or two."""
    sentences = [_interrupted(comparison)] if comparison.interrupted else []
    kind = next((k for k in ("read", "write") if any(_mean(r, k) is not None for r in comparison.runs)), None)
    if kind is None:
        return " ".join([*sentences, "Nothing was read or written."])
    timed = [(r, _mean(r, kind)) for r in comparison.runs]
    # A policy that knows the level or the age in advance is a bound, not a contender.
    contenders = [(r, mean) for r, mean in timed if mean is not None and not is_bound(r.summary)]
    best, fastest = min(contenders or [(r, mean) for r, mean in timed if mean is not None], key=lambda pair: pair[1])
    sentence = f"{best.name} {kind}s in {as_us(fastest)} us on average"
    if kind == "write":
        sentence = f"No requests read; {sentence}"
    others = [(r, mean) for r, mean in contenders if r is not best]
    if others:
        reference, slower = next(
            (pair for pair in others if pair[0].name == "two_step"), max(others, key=lambda pair: pair[1])
        )
        gain = 1 - fastest / slower
        if gain < 0.005:
            sentence += f", within half a percent of {reference.name}"
        else:
            sentence += f", {as_share(gain, 0 if gain >= 0.1 else 1)} faster than {reference.name} ({as_us(slower)} us)"
    bounds = [f"{as_us(mean)} us if the level were known in advance" for r, mean in timed if mean and r.name == "ideal"]
    if comparison.baseline and (mean := _mean(comparison.baseline, kind)) is not None:
        bounds.append(f"{as_us(mean)} us if hard sensing always sufficed")
    if bounds and best.name != "ideal":
        sentence += f"; it would be {' and '.join(bounds)}"
    sentences.append(sentence + ".")
    overloaded = any(problem.reason == OVERLOADED for problem in best.problems)
    shares = best.summary["utilisation"]
    # Results of earlier versions have means alone.
    means = {unit: shares[unit] for unit in ("plane", "channel", "decoder")}
    for unit, busiest in shares.get("busiest", means).items():
        if overloaded or busiest < SATURATED:
            continue
        if shares[unit] >= SATURATED:
            sentences.append(f"The {unit}s are {as_share(shares[unit], 0)} busy: response times are mostly queueing.")
        else:
            hidden = f"{as_share(shares[unit], 0)} in the mean and the idlest {as_share(shares['idlest'][unit], 0)}"
            sentences.append(
                f"The busiest {unit} is {as_share(busiest, 0)} busy, where all are {hidden}: response times there are "
                "mostly queueing."
            )
    return " ".join(sentences)


def warnings(comparison: Comparison) -> str:
    """Warnings about the numbers, a line each: lost data, guesses, a full device."""
    overloaded = [
        (problem, run)
        for run in comparison.all_runs
        for problem in run.problems
        if problem.reason == OVERLOADED and not run.summary["writes_detail"]["refused_codewords"]
    ]
    sentences = [
        f"{run.name} reads at references that follow the true age of the data, which no controller knows. Its "
        "times are a bound for policies that read as [read] of the config says."
        for run in comparison.all_runs
        if follows_age(run.summary)
    ]
    sentences += _idle_ages(comparison)
    if overloaded:
        problem, run = max(overloaded, key=lambda found: found[0].amount)
        others = len({each.name for _, each in overloaded}) - 1
        and_others = f", nor with {others} more" if others else ""
        sentences.append(
            f"The drive cannot serve the load with {run.name}{and_others}: {problem.told}. Its response times are "
            "mostly waiting, and grow with the length of the run. Lower the rate of requests, or simulate a "
            "faster drive."
        )
    sentences += _not_steady(comparison)
    for key, said in _WARNINGS.items():
        counted = [
            (run.summary["codeword_reads"][key] or 0, run.summary["codeword_reads"]["count"], run)
            for run in comparison.all_runs
        ]
        if sentence := _worst(counted, "codeword reads", said):
            sentences.append(sentence)
    behind = [(found, run) for run in comparison.all_runs if (found := _misplaced_references(run)) is not None]
    if behind:
        (share, times), run = max(behind, key=lambda each: each[0][0])
        sentences.append(
            f"{as_share(share)} of codewords with {run.name} needed soft levels around references that do not "
            f"follow the states: at the start the raw bit error rate is {times:.1f} times the rate at the best "
            "references. Decode tables assume better soft levels, so more data may be lost than is reported. "
            "`reliability.exact` decodes each codeword, and has no such error."
        )
    emptiest = max(comparison.all_runs, key=_unwritten)
    if (share := _unwritten(emptiest)) >= UNWRITTEN:
        sentences.append(_unwritten_reads(emptiest, share, alone=len(comparison.all_runs) == 1))
    writes = [(run, run.summary["writes_detail"]) for run in comparison.all_runs]
    refused = [(detail["refused_codewords"], detail["host_codewords"], run) for run, detail in writes]
    if sentence := _worst(refused, "codewords written", "were refused, as there was no free space"):
        first = min(detail["read_only_from_s"] for _, detail in writes if detail["read_only_from_s"] is not None)
        sentences.append(f"{sentence[:-1]}, after {first:,.3g} s at the earliest.")
    lost = [
        (run.summary["power_loss"]["lost_codewords"], detail["host_codewords"], run)
        for run, detail in writes
        if "power_loss" in run.summary
    ]
    said = "were acknowledged before any flush, and were lost with the power"
    if lost and (sentence := _worst(lost, "codewords written", said)):
        sentences.append(sentence)
    return "\n".join(sentences)


def _idle_ages(comparison: Comparison) -> list[str]:
    """A sentence about initial ages on which nothing depends, if there are any."""
    run = comparison.runs[0]
    ages = run.config.idle_ages
    if not ages:
        return []
    start = run.config.fields.precondition
    # Several SSDs have an age each.
    if not start["ssds"]:
        fields = [path.rpartition(".")[2] for path in ages]
        ages = [_AGES[name].format(start[name]) for name in fields]
    return [
        f"No result depends on {listed(ages)} at the start: the error rates of this `reliability` do not change "
        "with age. Cells of `threshold_voltage` age."
    ]


def _not_steady(comparison: Comparison) -> list[str]:
    """Sentences about a warm-up that did not end, or not in a steady state, and about room that writes used up."""
    told = []
    for run in comparison.all_runs:
        measurement = run.summary.get("measurement") or {"warmed_up": True, "steady": None}
        if not measurement["warmed_up"]:
            told.append(
                "The run ended during its warm-up: all numbers are of the warm-up. Simulate more requests, or shorten "
                "`measurement.warmup`."
            )
        elif measurement["steady"] is False:
            warmup = f"{measurement['warmup_requests']:,} requests of warm-up"
            told.append(
                f"{run.name} was not in a steady state after {warmup}: its numbers may still change in a longer run."
            )
        elif (gc := run.summary["gc"]).get("used_up_room"):
            told.append(
                f"The drive was not in its steady state with {run.name}: of {gc['free_blocks_at_start']:,} free blocks "
                f"{gc['free_blocks_at_end']:,} were left at the end. Once they are used up, writes are slower and cost "
                'more programs. `measurement.warmup = "until_steady"` measures from there on.'
            )
    return told[:1]


def _misplaced_references(run: RunResult) -> tuple[float, float] | None:
    """The share of codewords that soft levels around misplaced references were to decode, by a decode table.

    The second number is their raw bit error rate over the best one. None where that does not matter.
    """
    config, reads = run.config.fields, run.summary["codeword_reads"]
    by_table = {"table", "adaptive"} & config["reliability"].keys() if isinstance(config["reliability"], dict) else ()
    if config["read"]["references"] != "cells" or not by_table or not reads["count"]:
        return None
    share = (sum(reads["level_histogram"][1:]) + reads["uncorrectable"]) / reads["count"]
    start = config["precondition"]
    cells = run.config.cells(start["pe_cycles"], 24 * start["retention_days"]) if share >= _SOFT else None
    times = cells.rber() / cells.with_references("tracked").rber() if cells is not None else 0.0
    return (share, times) if times >= _BEHIND else None


def _unwritten(run: RunResult) -> float:
    from softsense.folders import numbers

    return unwritten(dict(numbers(run.summary)))


def _unwritten_reads(run: RunResult, share: float, *, alone: bool) -> str:
    """A sentence about reads of places that hold no data."""
    reads = run.summary["codeword_reads"]
    among = reads["unmapped"] + reads["count"] + reads["from_controller"]
    told = f"{reads['unmapped']:,} of {among:,} codewords read ({as_share(share)})"
    told += "" if alone else f" with {run.name}, the most of any policy,"
    told += (
        "were never written, or were trimmed. No flash is read for them, which makes response times shorter. "
        "`precondition.mapped_fraction` says how much data the drive holds at the start."
    )
    mean = reads["mean_us"]
    return told if mean is None else f"{told} A codeword that was read from flash took {as_us(mean)} us on average."


def own_costs(comparison: Comparison) -> list[str]:
    """The cost of calling policies and rules of the user's own, a sentence each."""
    told = []
    for run in comparison.all_runs:
        for own in run.summary["machine"].get("own", []):
            if own["tabulated"] is not None:
                said = f"{own['tabulated']:,} decisions tabulated before the run, none asked for during it"
            else:
                took = f" in {own['calls_s']:.2f} of {run.summary['machine']['wall_s']:.2f} s" if own["calls_s"] else ""
                said = f"asked {own['calls']:,} times{took}"
            told.append(f"{run.name}: {said}" if run.name == own["name"] else f"{run.name}, {own['name']}: {said}")
    return told


def _worst(counted: Sequence[tuple[int, int, RunResult]], among: str, said: str) -> str | None:
    """A sentence about the run in which this happened to the largest share; None if it never happened."""
    some, count, run = max(counted, key=lambda found: found[0] / max(1, found[1]))
    most = f" with {run.name}, the most of any policy" if len(counted) > 1 else ""
    share = 100 * some / max(1, count)
    return f"{some:,} of {count:,} {among} ({share:.3g} %){most} {said}." if some else None


def _interrupted(comparison: Comparison) -> str:
    if len(comparison.all_runs) == 1:
        return "Interrupted: the numbers are of the requests that were served until then."
    return "Interrupted: the policies served different numbers of requests, so their rows do not compare."


def _mean(result: RunResult, kind: str) -> float | None:
    found: float | None = result.summary["response"][kind]["mean_us"]
    return found
