"""Assumptions about reads in the early stage, and results with other ones."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.base import inline
from softsense.formats import as_share, listed
from softsense.papers import (
    Case,
    Claim,
    Figure,
    Measured,
    Plan,
    Runs,
    markdown_table,
)
from softsense.papers.comparing import Arm, Compared, cases, percent, summaries
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.decoding import HARDWARE
from softsense.papers.lae_ftl.devices import adaptive, baseline, shipped
from softsense.papers.lae_ftl.early_reads import gain_of
from softsense.papers.lae_ftl.published import PUBLISHED
from softsense.papers.lae_ftl.units import ASSUMED
from softsense.papers.lae_ftl.workloads import READ, READ_LATENCY, WORKLOAD_COLOURS, bar, short

if TYPE_CHECKING:
    from softsense.charts import Sheet

DEPTHS = (4, 16, 64)
"""Numbers of requests that are outstanding."""


def _early_assumptions() -> dict[str, tuple[str, ...]]:
    """Overrides of other assumptions with which reads might have been measured, by name."""
    found: dict[str, tuple[str, ...]] = {"as assumed": ()}
    found |= {name: (each.override,) for name, each in HARDWARE.items() if each != ASSUMED}
    for engines in (2, 4):
        found[f"{engines} engines a channel"] = (f"decoder.placement={inline({'per_channel': engines})}",)
    found["bus 400 MB/s"] = (f"bus.transfer_us={shipped()['bus']['transfer_us'] / 2}",)
    for faster in (10, 100):
        found[f"{faster} x the load"] = (f"host.issue={inline({'open_loop': {'time_scale': 1 / faster}})}",)
    for depth in DEPTHS:
        found[f"{depth} at a time"] = (f"host.issue={inline({'closed_loop': {'queue_depth': depth}})}",)
    return found


def _once(plan: Plan) -> Plan:
    """The plan with one seed: many assumptions are shown, and none is judged."""
    return replace(short(plan), seeds=plan.seeds[:1])


def _early_arms(overrides: tuple[str, ...]) -> tuple[Arm, Arm]:
    return adaptive(0, *overrides), baseline(0, *overrides)


def _cases_assumed(plan: Plan) -> list[Case]:
    some = _once(plan)
    return [case for overrides in _early_assumptions().values() for case in cases(some, *_early_arms(overrides))]


def _measure_assumed(whole_plan: Plan, runs: Runs) -> Measured:
    plan = _once(whole_plan)
    rows, told = [], []
    for name, overrides in _early_assumptions().items():
        mine, base = _early_arms(overrides)
        compared, whole = (Compared(plan, runs, [mine], base, quantity) for quantity in (READ_LATENCY, READ))
        gains = {w.name: gain_of(compared, w.name) for w in plan.workloads}
        rows += [bar(folded(name), workload, gain, 100) for workload, gain in gains.items()]
        each = {w.name: summaries(plan, runs, w, base) for w in plan.workloads}
        busy = [f"{100 * fmean(s['utilisation']['decoder'] for s in of):.2g}" for of in each.values()]
        takes = [f"{fmean(READ_LATENCY.each(of)):.0f}" for of in each.values()]
        both = [f"{100 * gain.value:.1f}, {percent(gain_of(whole, workload))}" for workload, gain in gains.items()]
        told.append([name, *both, ", ".join(takes), ", ".join(busy)])
    heads = ["", *(w.name for w in plan.workloads), "worst case, us", "its decoders busy, %"]
    note = (
        "Read latency, and read response, saved in the first segment, as each of these is assumed instead of the "
        "device of figure 6(a); the last columns are of the four workloads with the worst-case code. A load of ten "
        "times has requests arrive ten times as fast; so many at a time is a closed loop, as fast as the device can: "
        "where the wait goes over from decoders to dies, read latency counts it as saved. Writes then hold more of the "
        "places, which makes reads respond sooner: F2 with 64. None "
        f"of them was chosen for what comes out; the published gains are {listed(_published_gains())}."
        f"\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), {}, (note,))


def _published_gains() -> list[str]:
    return [as_share(gain, 2) for gain in PUBLISHED["claims"]["read_latency_gain_over_worst_case_bch"]]


def folded(name: str) -> str:
    """A name in lines of 11 characters or fewer."""
    return textwrap.fill(name, 11, break_long_words=False, break_on_hyphens=False)


def _draw_assumed(frame: pl.DataFrame) -> Sheet:
    title = "What was assumed: read latency saved in the first segment"
    return bar_sheet(frame, title, "%", colours=WORKLOAD_COLOURS, line=None, note="over the worst-case code", digits=0)


FIGURES = (Figure("assumed", "What was assumed: reads", _measure_assumed, _draw_assumed, _cases_assumed),)
CLAIMS: tuple[Claim, ...] = ()
