"""Figures 11 and 12: flash reads, responses of reads, and of all requests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from statistics import fmean

from softsense.formats import as_share
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    markdown_table,
    t_quantile,
)
from softsense.papers.comparing import Compared, Quantity, cases, percent, rank_correlation, saved
from softsense.papers.laldpc.assumed import ordered_by_readings, reading_cases, spanning
from softsense.papers.laldpc.methods import (
    FLASH_READ,
    GAINS,
    MAIN,
    OURS,
    OVER_BASE,
    READ,
    SHORT,
    SYSTEM,
    Methods,
    average,
    by_workload,
    draw_workloads,
    each_seed,
    having,
    origin,
    read_hits,
    removed,
    removed_of,
    retries,
    soft_ratio,
)
from softsense.papers.laldpc.published import LATENCY_US, PUBLISHED

# Least number of workloads of which a rank correlation has a meaning.
FEWEST_RANKED = 4


def _cases_main(plan: Plan) -> list[Case]:
    return [*cases(plan, *MAIN.all, *OURS.all), *reading_cases(plan)]


def _measure_fig11a(plan: Plan, runs: Runs) -> Measured:
    arms = MAIN.all[1:]
    compared = Compared(plan, runs, arms, MAIN.base, FLASH_READ)
    gains = {arm: saved(compared.mean(arm)) for arm in arms}
    soft = {workload.name: soft_ratio(plan, runs, workload) for workload in plan.workloads}
    evidence = {**_redundant(plan, runs)}
    evidence["read_gain"] = spanning(
        plan,
        runs,
        "read_gain",
        f"Ideal would save {percent(gains[MAIN.ideal])} (mean of workloads, {origin(plan)}), as "
        f"{as_share(fmean(soft.values()), 0)} of reads are soft, and all of these need one level, for which Table II "
        f"has retries of {sum(LATENCY_US[:2])} us before {LATENCY_US[2]} us. LaLDPC-LRU saves "
        f"{percent(gains[MAIN.lru])}, LaLDPC-new {percent(gains[MAIN.new])}: "
        f"{gains[MAIN.new].value / gains[MAIN.ideal].value:.2f} of what can be saved. The published "
        f"{as_share(PUBLISHED['redundant_retries_removed'], 0)} of it would be "
        f"{100 * PUBLISHED['redundant_retries_removed'] * gains[MAIN.ideal].value:.1f} %. How much it is hangs on how "
        f"often entries are at hand, and so on addresses, which stand-ins assume. By workload: "
        f"{compared.saved(MAIN.new)}.",
    )
    lru_first = Compared(plan, runs, [MAIN.lru, MAIN.new], MAIN.lru, FLASH_READ)
    if any(workload.name != "F2" for workload in plan.workloads):
        evidence["new_beats_lru"] = ordered_by_readings(plan, runs, partial(_new_beats_lru, runs))
    if "F2" in lru_first.workloads:
        evidence["f2_exception"] = _f2(plan, runs, lru_first.number("F2", MAIN.new))
    if len(soft) >= FEWEST_RANKED:
        evidence["gain_by_soft_reads"] = _by_soft_reads(compared, soft)
    return Measured(by_workload(compared), evidence, (_main_table(plan, runs),))


def _new_beats_lru(runs: Runs, plan: Plan, methods: Methods) -> Evidence:
    others = replace(plan, workloads=tuple(w for w in plan.workloads if w.name != "F2"))
    compared = Compared(others, runs, [methods.lru, methods.new], methods.lru, FLASH_READ)
    why = f"Mean of {len(others.workloads)} workloads; the new eviction saves {compared.saved(methods.new)} of LRU's."
    return compared.order([methods.lru, methods.new], compared.mean(methods.new), why)


def _redundant(plan: Plan, runs: Runs) -> dict[str, Evidence]:
    """The shares of retries, and of latency beyond Ideal, that LaLDPC-new removes."""
    kept, left = having(plan, runs, [MAIN.base], retries)
    evidence = {}
    for id_, of in (("retries_removed", retries), ("latency_removed", FLASH_READ.of)):
        told = {w.name: fmean(removed_of(kept, runs, w, MAIN, MAIN.new, of)) for w in kept.workloads}
        least_of, most_of = min(told, key=lambda n: told[n]), max(told, key=lambda n: told[n])
        why = (
            f"Mean of {len(kept.workloads)} workloads ({origin(kept)}), from {as_share(told[least_of], 0)} "
            f"({least_of}) to {as_share(told[most_of], 0)} ({most_of}); with LRU "
            f"{percent(removed(kept, runs, MAIN, MAIN.lru, of))}.{left} A retry is removed if the entry is still at "
            "hand since the last read of the codeword, so this is the share of soft reads that hit an entry with a "
            "level; the first read of a codeword never does."
        )
        evidence[id_] = spanning(plan, runs, id_, why)
    return evidence


def _f2(plan: Plan, runs: Runs, number: Number) -> Evidence:
    workload = next(w for w in plan.workloads if w.name == "F2")
    hits = [fmean(each_seed(plan, runs, workload, arm, read_hits)) for arm in (MAIN.lru, MAIN.new)]
    why = (
        "New over LRU in flash read latency. Nearly every "
        f"entry there has the same level, so that the two evictions hardly differ: {as_share(hits[0], 1)} of reads hit "
        f"with LRU, {as_share(hits[1], 1)} with the new one. The claim holds unless the new one is shown to be faster: "
        "if the interval reaches 1."
    )
    unlike = (
        "" if workload.file else "The paper suspects a special pattern of access of F2, which its stand-in has not."
    )
    return Evidence(number, why, in_all=number.hi >= 1.0, unlike=unlike)


def _by_soft_reads(compared: Compared, soft: Mapping[str, float]) -> Evidence:
    gains = {name: 1 - compared.number(name, MAIN.new).value for name in compared.workloads}
    rho = rank_correlation([soft[name] for name in gains], list(gains.values()))
    degrees = len(gains) - 2
    significant = rho >= 1 or rho * math.sqrt(degrees / (1 - rho * rho)) > t_quantile(degrees)
    why = (
        f"Spearman's rank correlation of the soft read ratio and LaLDPC-new's gain in flash read latency over "
        f"{len(gains)} workloads. It holds if it is above zero at a level of 5 %."
    )
    return Evidence(Number.exact(rho), why, in_all=significant, in_mean=rho > 0)


def _main_table(plan: Plan, runs: Runs) -> str:
    """Means over workloads of all quantities of the four methods, as a table."""
    rows = [
        [
            arm.label,
            *(f"{average(plan, runs, arm, each.of):,.0f}" for each in GAINS.values()),
            f"{average(plan, runs, arm, lambda s: s['response']['write']['mean_us']):,.0f}",
            as_share(average(plan, runs, arm, read_hits), 1),
            f"{average(plan, runs, arm, lambda s: s['mapping']['translation_reads'] / s['requests']):.2f}",
        ]
        for arm in MAIN.all
    ]
    heads = [
        "",
        *(f"{name}, us" for name in GAINS),
        "write response, us",
        "read hits",
        "translation pages read a request",
    ]
    return f"Means of workloads:\n\n{markdown_table(heads, rows)}"


def _measure_response(plan: Plan, runs: Runs, id_: str, quantity: Quantity) -> Measured:
    arms = MAIN.all[1:]
    compared, flash = (Compared(plan, runs, arms, MAIN.base, each) for each in (quantity, FLASH_READ))
    gains = {arm: saved(compared.mean(arm)) for arm in arms}
    base = {name: average(plan, runs, MAIN.base, each.of) for name, each in GAINS.items()}
    reads = average(plan, runs, MAIN.base, lambda s: s["reads"] / s["requests"])
    why = (
        f"LaLDPC-new saves {percent(gains[MAIN.new])}, LaLDPC-LRU {percent(gains[MAIN.lru])}, Ideal "
        f"{percent(gains[MAIN.ideal])} (mean of workloads, {origin(plan)}), where flash reads alone gain "
        f"{percent(saved(flash.mean(MAIN.new)))}, {percent(saved(flash.mean(MAIN.lru)))} and "
        f"{percent(saved(flash.mean(MAIN.ideal)))}. A flash read takes {base['flash read latency']:.0f} us with "
        f"LDPC-in-SSD, but a read responds after {base['read response']:.0f} us: a miss waits for its translation "
        "page, which is as old as the data, needs its level, and is read from level 1 on by all but Ideal."
    )
    if quantity is SYSTEM:
        why += (
            f" Of requests {as_share(1 - reads, 0)} are writes in the mean, which take "
            f"{average(plan, runs, MAIN.base, lambda s: s['response']['write']['mean_us']):,.0f} us, mostly their own "
            "program. At the published rates hardly anything waits for anything else, so that faster reads help no "
            "other request."
        )
        if gains[MAIN.ideal].value < PUBLISHED["system_response_gain"]:
            why += (
                " Where requests do not wait for one another not even Ideal gains what is published; in bursts they do."
            )
    return Measured(by_workload(compared), {id_: spanning(plan, runs, id_, why)})


FIGURES = (
    Figure(
        "11a",
        "Figure 11(a): flash read latency",
        _measure_fig11a,
        draw_workloads("Figure 11(a): flash read latency", OVER_BASE),
        _cases_main,
    ),
    Figure(
        "11b",
        "Figure 11(b): read response",
        lambda plan, runs: _measure_response(plan, runs, "read_response_gain", READ),
        draw_workloads("Figure 11(b): mean read response", OVER_BASE),
        _cases_main,
    ),
    Figure(
        "12",
        "Figure 12: system response",
        lambda plan, runs: _measure_response(plan, runs, "system_response_gain", SYSTEM),
        draw_workloads("Figure 12: mean response of reads and writes", OVER_BASE),
        _cases_main,
    ),
)

CLAIMS = (
    Claim(
        "retries_removed",
        "11a",
        "LaLDPC-new removes 56 % of redundant retries, mean of workloads",
        PUBLISHED["redundant_retries_removed"],
        no_effect=0.0,
        unit="%",
        source=("claims.redundant_retries_removed",),
        kind="invented workload",
    ),
    Claim(
        "latency_removed",
        "11a",
        "the same of redundant latency: what LDPC-in-SSD takes beyond Ideal",
        PUBLISHED["redundant_retries_removed"],
        no_effect=0.0,
        unit="%",
        kind="invented workload",
    ),
    Claim(
        "read_gain",
        "11a",
        "LaLDPC-new improves read performance by 18 %: flash read latency",
        PUBLISHED["read_performance_gain"],
        no_effect=0.0,
        unit="%",
        source=("claims.read_performance_gain",),
        kind="invented workload",
    ),
    Claim(
        "new_beats_lru",
        "11a",
        "flash reads are faster with the new eviction than with LRU, but for F2 (new over LRU)",
        rule="order",
        quick_bias=SHORT,
        kind="invented workload",
    ),
    Claim(
        "f2_exception",
        "11a",
        "on F2 the new eviction is no better than LRU (new over LRU)",
        rule="order",
        source=("claims.f2_new_not_better_than_lru",),
        kind="invented workload",
    ),
    Claim(
        "gain_by_soft_reads",
        "11a",
        "the more soft reads, the more LaLDPC gains (rank correlation)",
        rule="order",
        unit="",
        kind="invented workload",
    ),
    Claim(
        "web1_gain",
        "11a",
        "of wdev0, ts0, hm0 and web1, the last has the greatest gain in flash read latency",
        rule="order",
        kind="invented workload",
    ),
    Claim(
        "read_response_gain",
        "11b",
        "LaLDPC-new improves read performance by 18 %: read response",
        PUBLISHED["read_performance_gain"],
        no_effect=0.0,
        unit="%",
        kind="invented workload",
    ),
    Claim(
        "read_ratio_helps",
        "11b",
        "of workloads of similar soft read and hit ratios those of more reads, wdev0 and hm0, gain more read "
        "response than ts0",
        rule="order",
        kind="invented workload",
    ),
    Claim(
        "system_response_gain",
        "12",
        "LaLDPC-new improves system response by 24 %, mean of workloads",
        PUBLISHED["system_response_gain"],
        no_effect=0.0,
        unit="%",
        source=("claims.system_response_gain",),
        kind="invented workload",
    ),
    Claim(
        "system_new_beats_lru",
        "12",
        "on ts0 and hm1 the new eviction has the faster system response",
        rule="order",
        kind="invented workload",
    ),
)
