"""Figure 13: cache sizes, fixed entries and stages of life."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.comparing import Arm, Compared, Fall, cases, falls, ordered, percent, saved
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc.methods import (
    COLOURS,
    FLASH_READ,
    MAIN,
    READ,
    SERIAL,
    SHORT,
    Methods,
    methods,
    soft_ratio,
)
from softsense.papers.laldpc.published import KIB, PUBLISHED
from softsense.papers.laldpc.workloads import as_stand_ins, names, some

if TYPE_CHECKING:
    from softsense.charts import Sheet


@dataclass(frozen=True)
class _Setting:
    """A value of one of the three parameters."""

    parameter: str
    value: int
    label: str
    methods: Methods


def _settings() -> list[_Setting]:
    found = [
        _Setting("cache", size, f"cache\n{size} KB", methods(*SERIAL, cache_bytes=size * KIB))
        for size in PUBLISHED["cache_sizes_mb"]
    ]
    found += [
        _Setting("fixed entries", entries, f"fixed\n{entries:,}", methods(*SERIAL, fixed_entries=entries))
        for entries in PUBLISHED["fixed_entry_lengths"]
    ]
    for pe_cycles in PUBLISHED["pe_stages"]:
        # The value of the basic experiment has the same overrides, so that it is not run again.
        worn = () if pe_cycles == PUBLISHED["pe_cycles"] else (f"precondition.pe_cycles={pe_cycles}",)
        found.append(_Setting("P/E cycles", pe_cycles, f"P/E\n{pe_cycles:,}", methods(*SERIAL, *worn)))
    return found


def _fig13(plan: Plan) -> Plan:
    """A third of the workloads, all stand-ins, as real traces differ in kind."""
    return as_stand_ins(some(plan))


def _cases_fig13(plan: Plan) -> list[Case]:
    return [case for setting in _settings() for case in cases(_fig13(plan), *setting.methods.all)]


def _measure_fig13(plan: Plan, runs: Runs) -> Measured:
    some = _fig13(plan)
    rows, told = [], []
    found: dict[tuple[str, int], Compared] = {}
    for setting in _settings():
        arms, base = setting.methods.all[1:], setting.methods.base
        flash, answers = (Compared(some, runs, arms, base, quantity) for quantity in (FLASH_READ, READ))
        found[setting.parameter, setting.value] = flash
        for arm in arms:
            mean, read = flash.mean(arm), answers.mean(arm)
            row = {"group": setting.label, "bar": arm.label, "value": mean.value, "lo": mean.lo, "hi": mean.hi}
            rows.append(row | {"read_response": read.value, "read_response_lo": read.lo, "read_response_hi": read.hi})
        cells = [f"{flash.mean(arm).value:.3f}" for arm in arms] + [f"{answers.mean(arm).value:.3f}" for arm in arms]
        soft = fmean(soft_ratio(some, runs, workload, setting.methods) for workload in some.workloads)
        told.append([setting.label.replace("\n", " "), as_share(soft, 0), *cells])
    labels = [arm.label for arm in MAIN.all[1:]]
    heads = [
        "",
        "soft reads",
        *(f"{label}, flash read" for label in labels),
        *(f"{label}, response" for label in labels),
    ]
    note = (
        f"Over LDPC-in-SSD on the same device, mean of {listed(names(some))}. Cache sizes are KB where the paper "
        f"has MB (see figure `assumed`):\n\n{markdown_table(heads, told)}"
    )
    evidence = {
        "larger_cache_helps": _monotone(found, "cache", rising=False),
        "fixed_entries_lower_gain": _monotone(found, "fixed entries", rising=True),
        "later_life_helps": _monotone(found, "P/E cycles", rising=False),
        "life_matters_most": _life_matters_most(found),
    }
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _new(compared: Compared) -> Arm:
    return compared.arms[-1]


def _monotone(found: Mapping[tuple[str, int], Compared], parameter: str, rising: bool) -> Evidence:
    """Evidence whether LaLDPC-new's ratio to LDPC-in-SSD rises, or falls, with a parameter: on all workloads, in their
    mean.
    """
    mine = {value: compared for (name, value), compared in found.items() if name == parameter}

    def met(ratios: Sequence[float]) -> Fall:
        return falls(ratios[::-1] if rising else ratios)

    first, last = (mine[value] for value in (min(mine), max(mine)))
    each = {
        name: met([compared.number(name, _new(compared)).value for compared in mine.values()])
        for name in first.workloads
    }
    means = [compared.mean(_new(compared)) for compared in mine.values()]
    gains = listed([f"{percent(saved(mean))} at {value:,}" for value, mean in zip(mine, means, strict=True)])
    why = f"LaLDPC-new's gain in flash read latency, mean of workloads: {gains}."
    number = Number.ratio(last.seed_means(_new(last)), first.seed_means(_new(first)))
    return ordered(each, met([mean.value for mean in means]), number, why)


def _life_matters_most(found: Mapping[tuple[str, int], Compared]) -> Evidence:
    workloads = next(iter(found.values())).workloads
    parameters = list(dict.fromkeys(parameter for parameter, _ in found))

    def spread(parameter: str, of: Callable[[Compared], float]) -> float:
        values = [of(compared) for (name, _), compared in found.items() if name == parameter]
        return max(values) - min(values)

    means = {parameter: spread(parameter, lambda c: c.mean(_new(c)).value) for parameter in parameters}
    wrong = []
    for workload in workloads:
        of = partial(_ratio_on, workload)
        if max(parameters, key=lambda parameter: spread(parameter, of)) != "P/E cycles":
            wrong.append(workload)
    why = "From the least to the greatest value LaLDPC-new's ratio to LDPC-in-SSD changes by " + listed(
        [f"{value:.3f} with {parameter}" for parameter, value in means.items()]
    )
    why += f" (mean of workloads). Not most with P/E cycles on {listed(wrong)}." if wrong else " (mean of workloads)."
    return Evidence(
        Number.exact(means["P/E cycles"]),
        why,
        in_all=not wrong,
        in_mean=max(means, key=lambda p: means[p]) == "P/E cycles",
    )


def _ratio_on(workload: str, compared: Compared) -> float:
    return compared.number(workload, _new(compared)).value


def _draw_fig13(frame: pl.DataFrame) -> Sheet:
    title = "Figure 13: flash read latency, by cache, fixed entries and life"
    return bar_sheet(
        frame, title, "over LDPC-in-SSD", colours=COLOURS, note="mean of workloads, each over the same device's"
    )


FIGURES = (Figure("13", "Figure 13: cache, fixed entries, life", _measure_fig13, _draw_fig13, _cases_fig13),)

CLAIMS = (
    Claim(
        "larger_cache_helps",
        "13",
        "the larger the cache, the more LaLDPC-new gains (its ratio with the largest over the smallest)",
        rule="order",
        quick_bias=SHORT,
        source=("claims.larger_cache_helps",),
    ),
    Claim(
        "fixed_entries_lower_gain",
        "13",
        "the more fixed entries, the less it gains (its ratio with the most over the fewest)",
        rule="order",
        source=("claims.more_fixed_entries_lower_the_gain",),
    ),
    Claim(
        "later_life_helps",
        "13",
        "the later in life, the more it gains (its ratio with the most P/E cycles over the fewest)",
        rule="order",
    ),
    Claim(
        "life_matters_most",
        "13",
        "it is more sensitive to life than to the other two (change of its ratio)",
        rule="order",
        unit="",
        source=("claims.later_life_helps_most",),
    ),
)
