"""Figures 3 and 4: iterations over life, and their distribution."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense import decode_tables
from softsense.formats import listed
from softsense.papers import Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import kpe
from softsense.papers.adaptive_rate_pool.decoding import Decoding, decoding
from softsense.papers.adaptive_rate_pool.looks import DARK, LINES_BY_RATE, PE_AXIS, SERIES
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE, PUBLISHED, RATES, table_of
from softsense.papers.adaptive_rate_pool.wear import PE_EXPONENT, adapted, ages, ages_within, fit, life, lives
from softsense.papers.drawing import Line, lines, point

if TYPE_CHECKING:
    from softsense.charts import Sheet


def _curve(rate: str, since: int, to: int) -> list[Decoding]:
    """Decoding with a rate at two ages, and at the ages of its table's points between them."""
    scale = fit()
    points = [
        round(1000 * (rber / scale) ** (1 / PE_EXPONENT)) for rber in decode_tables.describe(table_of(rate))["rber"]
    ]
    # A point's iterations hold one cycle after its age.
    return [decoding(rate, age) for age in sorted({*(age + 1 for age in points if since < age < to), since, to})]


def _measure_fig03(plan: Plan, runs: Runs) -> Measured:
    youngest = min(ages(plan.full))
    curves = {rate: _curve(rate, youngest, lives()[rate].endurance_pe) for rate in RATES}
    path = [each for stage in life().stages for each in _curve(adapted(stage.to_pe), stage.from_pe, stage.to_pe)]
    rows = [
        point("each rate up to its endurance", line, each.pe_cycles / 1000, Number.exact(each.mean))
        | {"rate": each.rate, "rber": each.rber, "standard_deviation": each.spread}
        for line, decodings in {**curves, ADAPTIVE: path}.items()
        for each in decodings
    ]
    means = {rate: [each.mean for each in curve] for rate, curve in curves.items()}
    ratios = [each[-1] / each[0] for each in means.values()]
    ends = [f"{each[-1]:.1f} ({rate})" for rate, each in means.items()]
    evidence = {
        "iterations_grow": Evidence(
            Number.exact(min(ratios)),
            f"From {kpe(youngest)} kPE to its end each rate's iterations grow {min(ratios):.1f} to {max(ratios):.1f} "
            f"times. At their ends they are {listed(ends)}: each life ends while the mean is below the limit of "
            f"{PUBLISHED['code']['max_iterations']}.",
            in_all=all(young <= old for each in means.values() for young, old in pairwise(each)) and min(ratios) > 1,
            in_mean=min(ratios) > 1,
        )
    }
    switches = [
        (decoding(adapted(before.to_pe), before.to_pe), decoding(adapted(after.to_pe), before.to_pe))
        for before, after in pairwise(life().stages)
    ]
    falls = [after.mean / before.mean for before, after in switches]
    told = [f"{b.mean:.1f} to {a.mean:.1f} at {b.pe_cycles / 1000:.1f} kPE" for b, a in switches]
    evidence["switch_lowers_iterations"] = Evidence(
        Number.exact(fmean(falls)),
        f"At the switches they fall from {listed(told)}.",
        in_all=max(falls) < 1,
        in_mean=fmean(falls) < 1,
    )
    note = (
        "Means of the shipped tables, which were measured by decoding. Each rate is used until UBER, failed decodes "
        "for each bit of data, is 1e-14 by its table."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


_DISTRIBUTION_OF = RATES[-1]


def _measure_fig04(plan: Plan, runs: Runs) -> Measured:
    of = [decoding(_DISTRIBUTION_OF, age) for age in ages_within(_DISTRIBUTION_OF, plan.full)]
    few = list(dict.fromkeys(of[round(i * (len(of) - 1) / 5)] for i in range(6)))
    rows = [
        point(f"rate {_DISTRIBUTION_OF}", f"{each.pe_cycles / 1000:.1f} kPE", iterations, Number.exact(100 * share))
        for each in few
        for iterations, share in enumerate(each.shares, 1)
    ]
    ends = [decoding(rate, lives()[rate].endurance_pe) for rate in RATES]
    heads = ["rate", "kPE", "RBER", "iterations, mean", "standard deviation", "fewest", "most"]
    told = []
    for each in ends:
        seen = [i for i, share in enumerate(each.shares, 1) if share > 0]
        told.append(
            [
                each.rate,
                f"{each.pe_cycles / 1000:.1f}",
                f"{each.rber:.4f}",
                f"{each.mean:.2f}",
                f"{each.spread:.2f}",
                f"{seen[0]}",
                f"{seen[-1]}",
            ]
        )
    note = (
        "Long codes: a codeword of 65,536 bits takes nearly the same number of iterations as the next one. The paper "
        'says that distributions are "similar for all used LDPC codes". At the end of each life:\n\n'
        + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), {}, (note,))


def _draw_fig04(frame: pl.DataFrame) -> Sheet:
    ages_of = frame["line"].unique(maintain_order=True)
    styles = {line: Line(colour) for line, colour in zip(ages_of, SERIES, strict=False)}
    title = "Figure 4: how many iterations decodes take"
    return lines(title, "iterations", "% of decodes", styles, "measured")(frame)


FIGURES = (
    Figure(
        "3",
        "Figure 3: iterations over life",
        _measure_fig03,
        lines(
            "Figure 3: decoding iterations",
            PE_AXIS,
            "mean iterations",
            {**LINES_BY_RATE, ADAPTIVE: Line(DARK, "--", "none")},
            "codewords of 65,536 bits, min-sum; dotted: the adaptive device's path",
        ),
    ),
    Figure("4", "Figure 4: how iterations are distributed", _measure_fig04, _draw_fig04),
)

CLAIMS = (
    Claim(
        "iterations_grow",
        "3",
        "iterations grow with age for each rate (the least growth over a rate's life)",
        rule="order",
    ),
    Claim(
        "switch_lowers_iterations",
        "3",
        "switching to the next rate lowers iterations (after over before, mean of switches)",
        rule="order",
    ),
)
