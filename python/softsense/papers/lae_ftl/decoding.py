"""Figure 3: decoding times."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import (
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    markdown_table,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.units import ASSUMED, ENGINE, SEGMENTS, WORST_CASE, Hardware
from softsense.papers.lae_ftl.workloads import bar

if TYPE_CHECKING:
    from softsense.charts import Sheet

HARDWARE = {
    "as assumed": ASSUMED,
    "one engine for t = 108": ENGINE,
    "16 bits a cycle": Hardware(bits_per_cycle=16),
    "32 bits a cycle": Hardware(bits_per_cycle=32),
    "4 multipliers": Hardware(multipliers=4),
    "1 multiplier": Hardware(multipliers=1),
    # Enough multipliers for a step a cycle.
    "2,048 multipliers": Hardware(multipliers=2048),
}
"""Decoders with their assumed hardware, as the paper has no times."""

# The relative difference up to which times of units count as equal.
_ALIKE = 1.02
_OF_CODEWORD, _OF_UNIT = "a codeword", "all codewords of a unit"


def _measure_fig03(plan: Plan, runs: Runs) -> Measured:
    base = ASSUMED.decode_us(WORST_CASE)
    every = (*SEGMENTS, WORST_CASE)
    rows = [
        bar(code.label, name, Number.exact(count * ASSUMED.decode_us(code) / base), decode_us=ASSUMED.decode_us(code))
        for name in (_OF_CODEWORD, _OF_UNIT)
        for code in every
        for count in (1 if name == _OF_CODEWORD else code.codewords,)
    ]
    grows, told, alike = [], [], []
    for name, hardware in HARDWARE.items():
        each = [hardware.decode_us(code) for code in every]
        units = [code.codewords * us for code, us in zip(every, each, strict=True)]
        grows.append(all(short < long for short, long in pairwise(each)))
        if max(units) < _ALIKE * min(units):
            alike.append(name)
        told.append([name, *(f"{one:.1f}, {all_:.1f}" for one, all_ in zip(each, units, strict=True))])
    shortest = SEGMENTS[0]
    of_unit = shortest.codewords * ASSUMED.decode_us(shortest) / base
    within = f"within {as_share(_ALIKE - 1, 0)}"
    exception = f"; with {listed(alike)} units take as long with all codes, {within}" if alike else ""
    evidence = {
        "decoding_grows": Evidence(
            Number.exact(ASSUMED.decode_us(shortest) / base),
            f"A codeword of 512 B takes {ASSUMED.decode_us(shortest):.1f} us, that of the baseline {base:.1f}; the "
            f"eight of a unit, one after the other, {of_unit:.2f} of it. Syndromes and search go over all bits "
            "whatever the length: short codewords save the solving of the key equation, which grows with t^2, and "
            f"overlap of transfer and decoding. It is so with all decoders of the table{exception}.",
            in_all=all(grows),
            in_mean=grows[0],
        )
    }
    heads = ["decoder", *(code.label for code in every)]
    note = (
        "The caption of figure 3 takes its baseline, BCH(34528, 32800, 108), from another paper (DiffECC), scales it "
        "down for shorter codes, and gives no times. Assumed: "
        "200 MHz; syndromes and search of 8 bits a cycle; a key equation of t steps of 3 (t + 1) products on 16 "
        "multipliers. A codeword without errors ends with its syndromes. us of a codeword, and of all "
        f"codewords of a unit:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _draw_fig03(frame: pl.DataFrame) -> Sheet:
    return bar_sheet(
        frame,
        "Figure 3: decoding latency",
        f"over that of t = {WORST_CASE.correctable}",
        colours={_OF_CODEWORD: "#0072b2", _OF_UNIT: "#56b4e9"},
        note="assumed decoder: 200 MHz, 8 bits a cycle, 16 multipliers",
    )


FIGURES = (Figure("3", "Figure 3: decoding latency", _measure_fig03, _draw_fig03),)

CLAIMS = (
    Claim(
        "decoding_grows",
        "3",
        "a codeword's decoding latency grows with its length, and stays below the baseline (512 B over baseline)",
        rule="order",
        kind="arithmetic",
        source=("baseline_code.t",),
    ),
)
