"""Figures 9 and 10: faster decoders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any

import polars as pl

from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs
from softsense.papers.adaptive_rate_pool.decoders import (
    POOL,
    by_seed,
    device_of,
    iops,
    kpe,
    latency,
    loaded,
    saturated,
    scaled,
)
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.loads import LIGHT
from softsense.papers.adaptive_rate_pool.looks import PE_AXIS, SERIES
from softsense.papers.adaptive_rate_pool.published import CHANNEL_US, CHANNELS, PUBLISHED, TIMES
from softsense.papers.adaptive_rate_pool.settings import Arm, arm, elsewhere, in_all_settings
from softsense.papers.adaptive_rate_pool.wear import ages
from softsense.papers.drawing import Line, lines, point

T_RATIOS = (2, 5, 10, 20, 40)
"""Ratios T = t_dat / t_iter."""


def _iteration_us(ratio: int) -> float:
    found: float = PUBLISHED["scenario_2"]["t_dat_us"] / ratio
    return found


def _slowest(plan: Plan) -> float:
    """The least rate of eight decoders over all ages, with the slowest iterations, codewords a second."""
    return min(POOL.bound(at(age).load, _iteration_us(min(T_RATIOS))) for age in ages(plan.full))


def _fig09(plan: Plan, ratio: int, age: int) -> list[Case]:
    aged = device_of(at(age), POOL, _iteration_us(ratio))
    return loaded(plan, LIGHT * _slowest(plan), aged)


def _fig10(plan: Plan, ratio: int, age: int) -> list[Case]:
    return saturated(plan, at(age), POOL, _iteration_us(ratio))


def _cases_by_t(of: Callable[[Plan, int, int], list[Case]], plan: Plan) -> list[Case]:
    found = [case for ratio in T_RATIOS for age in ages(plan.full) for case in of(plan, ratio, age)]
    return found + in_all_settings(*(_oldest(of, plan, ratio) for ratio in (T_RATIOS[0], T_RATIOS[-1])))


def _oldest(of: Callable[[Plan, int, int], list[Case]], plan: Plan, ratio: int) -> Arm:
    return arm(of(plan, ratio, ages(plan.full)[-1]), POOL)


_LINES_BY_T = {f"T = {ratio}": Line(colour) for ratio, colour in zip(T_RATIOS, SERIES, strict=False)}


def _by_t(
    plan: Plan, runs: Runs, of: Callable[[Plan, int, int], list[Case]], quantity: Callable[[dict[str, Any]], float]
) -> dict[tuple[int, int], Number]:
    return {
        (ratio, age): Number.of(by_seed(runs, of(plan, ratio, age), quantity))
        for ratio in T_RATIOS
        for age in ages(plan.full)
    }


def _measure_fig09(plan: Plan, runs: Runs) -> Measured:
    found = _by_t(plan, runs, _fig09, latency)
    rows = [point("5 % load", f"T = {ratio}", age / 1000, number) for (ratio, age), number in found.items()]
    oldest = ages(plan.full)[-1]
    falls = {
        age: all(found[a, age].value > found[b, age].value for a, b in pairwise(T_RATIOS)) for age in ages(plan.full)
    }
    ends = [f"{found[ratio, oldest].value:.0f} us (T = {ratio})" for ratio in T_RATIOS]
    first, last = T_RATIOS[0], T_RATIOS[-1]
    evidence = {
        "latency_falls_with_t": Evidence(
            Number.exact(found[last, oldest].value / found[first, oldest].value),
            f"At {kpe(oldest)} kPE reads take {listed(ends)}; the {TIMES['chip_access']:g} us of the flash are the "
            "floor.",
            in_all=all(falls.values()),
            in_mean=all(
                fmean(found[a, age].value for age in falls) > fmean(found[b, age].value for age in falls)
                for a, b in pairwise(T_RATIOS)
            ),
            **elsewhere(runs, _oldest(_fig09, plan, last), _oldest(_fig09, plan, first), latency, order=-1),
        )
    }
    note = (
        f"{1e-3 * LIGHT * _slowest(plan):.2f} thousand reads a second, {as_plain_share(LIGHT)} of what {POOL.count} "
        f"decoders can do at T = {min(T_RATIOS)} and the worst age. The paper has t_dat = 80 us where it begins, and "
        "40 us here."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _measure_fig10(plan: Plan, runs: Runs) -> Measured:
    found = _by_t(plan, runs, _fig10, iops)
    bounds = {(ratio, age): POOL.bound(at(age).load, _iteration_us(ratio)) for ratio, age in found}
    rows = [
        point(
            "saturated",
            f"T = {ratio}",
            age / 1000,
            scaled(number, 1e-3),
            bound_kiops=1e-3 * bounds[ratio, age],
        )
        for (ratio, age), number in found.items()
    ]
    steps = [
        (found[slow, age].value, found[fast, age].value)
        for slow, fast in pairwise(T_RATIOS)
        for age in ages(plan.full)
        if bounds[slow, age] < bounds[fast, age]
    ]
    oldest = ages(plan.full)[-1]
    ends = [f"{1e-3 * found[ratio, oldest].value:,.0f} (T = {ratio})" for ratio in T_RATIOS]
    off = max(abs(number.value / bounds[key] - 1) for key, number in found.items())
    evidence = {
        "rate_grows_with_t": Evidence(
            Number.exact(found[T_RATIOS[-1], oldest].value / found[T_RATIOS[0], oldest].value),
            f"At {kpe(oldest)} kPE {POOL.count} decoders reach {listed(ends)} KIOPS; channels bring "
            f"{1e3 * CHANNELS / CHANNEL_US:,.0f} at most.",
            in_all=all(slow < fast for slow, fast in steps),
            in_mean=fmean(slow / fast for slow, fast in steps) < 1,
            **elsewhere(runs, _oldest(_fig10, plan, T_RATIOS[-1]), _oldest(_fig10, plan, T_RATIOS[0]), iops, order=1),
        )
    }
    note = f"A pool of {POOL.count} decoders, saturated. The bound of figure 7 is met within {as_share(off, 1)}."
    return Measured(pl.DataFrame(rows), evidence, (note,))


FIGURES = (
    Figure(
        "9",
        "Figure 9: latency by the time of an iteration",
        _measure_fig09,
        lines("Figure 9: latency with a pool of 8", PE_AXIS, "us", _LINES_BY_T, "T = 40 us / time of an iteration"),
        partial(_cases_by_t, _fig09),
    ),
    Figure(
        "10",
        "Figure 10: data rate by the time of an iteration",
        _measure_fig10,
        lines(
            "Figure 10: data rate with a pool of 8", PE_AXIS, "KIOPS", _LINES_BY_T, "T = 40 us / time of an iteration"
        ),
        partial(_cases_by_t, _fig10),
    ),
)

CLAIMS = (
    Claim(
        "latency_falls_with_t",
        "9",
        "the faster an iteration, the lower latency (T = 40 over T = 2, oldest age)",
        rule="order",
    ),
    Claim(
        "rate_grows_with_t",
        "10",
        "the faster an iteration, the higher the data rate (T = 40 over T = 2, oldest age)",
        rule="order",
    ),
)
