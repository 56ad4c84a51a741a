"""A life under load with decoders of equal area; a decoder of six codes spends more area on memory than others."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import by_seed
from softsense.papers.adaptive_rate_pool.life import failed, gain, mean, p99, runs_of
from softsense.papers.adaptive_rate_pool.lifetimes import printed
from softsense.papers.adaptive_rate_pool.living import DECODERS, Living
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE
from softsense.papers.drawing import bar_sheet

if TYPE_CHECKING:
    from softsense.charts import Sheet

SLOW, FAST = 4, 64
"""Checks that a decoder of six codes handles in a cycle: as slow as T = 2 with rate 1/2, and the default of
circuits.
"""
_SCHEMES = (ADAPTIVE, "2/3", "1/2")


def _of(lanes: int) -> list[Living]:
    return [Living(scheme, lanes=lanes) for scheme in _SCHEMES]


def _cases(plan: Plan) -> list[Case]:
    return [case for lanes in (SLOW, FAST) for living in _of(lanes) for case in runs_of(plan, living)]


def _name(living: Living) -> str:
    return "six codes" if living.scheme == ADAPTIVE else living.label


def _decoder(living: Living, plan: Plan) -> tuple[float, int]:
    """Area of a decoder, mm2, and the number of checks that it handles in a cycle."""
    config = living.config(plan)
    hardware = config.decoder_hardware()
    assert hardware is not None
    return hardware["mm2"], config.fields.decoder.time["ldpc"]["checks_per_cycle"]


def _measure(plan: Plan, runs: Runs) -> Measured:
    rows, told = [], []
    for lanes in (SLOW, FAST):
        for living in _of(lanes):
            cases, (mm2, checks) = runs_of(plan, living), _decoder(living, plan)
            means, tails = (Number.of(by_seed(runs, cases, of)) for of in (mean, p99))
            group = f"{_name(living)}\n{checks} checks a cycle"
            rows += [
                {"group": group, "bar": bar, "value": number.value, "lo": number.lo, "hi": number.hi}
                for bar, number in (("mean", means), ("p99", tails))
            ]
            first = runs[cases[0]]
            busy = as_share(first["utilisation"]["decoder"], 1)
            read = [f"{means.value:,.0f}", f"{tails.value:,.0f}"]
            told.append([f"{_name(living)}", f"{mm2:.2f}", f"{checks}", busy, *read, f"{failed(first):,.0f}"])
    heads = ["", "mm2 a decoder", "checks a cycle", "decoders busy", "read, us: mean", "p99", "not decoded"]
    note = (
        f"The lives of the figure before, with {DECODERS} decoders that are circuits at 28 nm and 400 MHz. A decoder "
        "of six codes has lanes as wide as the checks of the weakest, and memory for those of the strongest. Decoders "
        "of one code have the area of that one, and as many more lanes as it buys.\n\n" + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), _evidence(plan, runs), (note,))


def _tail(plan: Plan, runs: Runs, lanes: int) -> Number:
    """The 99th percentile of reads with six codes, over the lower one of the two single codes."""
    six, *single = ([*by_seed(runs, runs_of(plan, living), p99)] for living in _of(lanes))
    return Number.ratio(six, min(single, key=fmean))


def _evidence(plan: Plan, runs: Runs) -> dict[str, Evidence]:
    gains = {lanes: gain(plan, runs, Living(lanes=lanes)) for lanes in (SLOW, FAST)}
    tails = {lanes: _tail(plan, runs, lanes) for lanes in (SLOW, FAST)}
    fast = f"a decoder of {FAST} checks a cycle"
    return {
        "area_gain": Evidence(
            gains[SLOW],
            "What is written does not depend on how fast decoders are.",
            under={fast: Evidence(gains[FAST])},
        ),
        "area_tail": Evidence(
            tails[SLOW],
            f"{tails[SLOW].value:.2f} times with slow decoders, {tails[FAST].value:.2f} times with fast ones: a "
            "decoder of a single code spends the memory that it does not need on lanes, and its device ends its life "
            "before errors, and with them iterations and what collection moves, are as many.",
            under={fast: Evidence(tails[FAST])},
        ),
    }


def _draw(frame: pl.DataFrame) -> Sheet:
    colours = {"mean": "#0072b2", "p99": "#e69f00"}
    title = "A life under load, decoders of equal area: response of reads"
    return bar_sheet(frame, title, "us", colours=colours, digits=0, line=None)


FIGURES = (
    Figure(
        "area",
        "A life under load with decoders of equal area: mean and 99th percentile of reads",
        _measure,
        _draw,
        _cases,
    ),
)

CLAIMS = (
    Claim(
        "area_gain",
        "area",
        "adaptive rates over the better of two single rates, decoders of equal area, by the printed endurances",
        printed().over_best,
        no_effect=1.0,
        kind="invented workload",
    ),
    Claim(
        "area_tail",
        "area",
        "reads of a device of six codes have the 99th percentile of the better single code's at equal area (not in the "
        "paper)",
        1.0,
        kind="invented workload",
    ),
)
