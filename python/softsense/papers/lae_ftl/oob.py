"""The contents of the out-of-band area."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share
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
from softsense.papers.lae_ftl.published import LAWS, LUN, METADATA, OOB, Criterion, wear
from softsense.papers.lae_ftl.units import SQUEEZED, filling
from softsense.papers.lae_ftl.workloads import bar

if TYPE_CHECKING:
    from softsense.charts import Sheet

_OOBS = (OOB, *(OOB + code.squeezed_bytes for code in SQUEEZED))
_CRITERIA: tuple[Criterion, Criterion] = ("unit_ber", "failure")
_HOW = {
    (0, "unit_ber"): "all parity, P / k",
    (0, "failure"): "all parity, P",
    (METADATA, "unit_ber"): f"{METADATA} B of metadata, P / k",
    (METADATA, "failure"): f"{METADATA} B of metadata, P",
}


def _measure_oob(plan: Plan, runs: Runs) -> Measured:
    rows, told, limits = [], [], []
    for oob in _OOBS:
        cells = []
        for metadata in (0, METADATA):
            code = filling(oob, metadata)
            each = {criterion: code.limit(criterion) for criterion in _CRITERIA}
            ages = {criterion: wear().pe_cycles(rber) for criterion, rber in each.items()}
            for criterion, rber in each.items():
                name = _HOW[metadata, criterion]
                more = {"correctable": code.correctable, "pe_cycles": ages[criterion]}
                rows.append(bar(f"{oob} B", name, Number.exact(1000 * rber), **more))
            told_limits = [f"{rber:.2e}" for rber in each.values()]
            cells += [f"{code.correctable}", *told_limits, f"{ages['unit_ber']:,.0f}"]
        limits.append(filling(oob, METADATA).limit())
        told.append([f"{oob} B", *cells])
    cycles = [[wear(law).pe_cycles(rber) for rber in (limits[0], limits[-1])] for law in LAWS]
    evidence = {
        "reliability_grows": Evidence(
            Number.exact(limits[-1] / limits[0]),
            f"With {METADATA} B of metadata a unit, from {limits[0]:.2e} with {_OOBS[0]} B to {limits[-1]:.2e} with "
            f"{_OOBS[-1]} B; P/E cycles grow {cycles[0][1] / cycles[0][0]:.2f} times by the power law, and "
            f"{cycles[1][1] / cycles[1][0]:.2f} times by the exponential. Metadata costs 6 of t, "
            f"{100 * (1 - limits[0] / filling(_OOBS[0], 0).limit()):.0f} to "
            f"{as_share(1 - limits[-1] / filling(_OOBS[-1], 0).limit(), 0)} of the limit.",
            in_all=all(a < b for a, b in pairwise(limits)),
            in_mean=limits[-1] > limits[0],
        )
    }
    heads = ["OOB of a unit", "t, all parity", "P / k = 1e-15 at", "P = 1e-15 at", "P/E cycles (P / k)"]
    heads += [f"t, {METADATA} B of metadata", "P / k = 1e-15 at", "P = 1e-15 at", "P/E cycles (P / k)"]
    note = (
        "Two criteria are in use: the probability P that a codeword fails, and P / k, failures for each bit of data, "
        f"which the paper calls unit bit error rate and data sheets UBER. LUN, length and N-PUN take {METADATA} B a "
        f"unit, so that t = {', '.join(str(filling(oob, METADATA).correctable) for oob in _OOBS)} are left; where "
        f"nothing is squeezed, the LUN alone leaves {filling(OOB, LUN).correctable}. Parity is m t bits. Raw bit "
        f"error rates, and P/E cycles by the power law:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _draw_oob(frame: pl.DataFrame) -> Sheet:
    colours = dict(zip(_HOW.values(), ("#0072b2", "#56b4e9", "#e69f00", "#f3cf8a"), strict=True))
    title = "What the OOB holds: raw bit error rate at 1e-15"
    return bar_sheet(
        frame, title, "RBER, 1e-3", colours=colours, line=None, note="P: that a codeword of 4 KB fails; k: its bits"
    )


FIGURES = (Figure("oob", "What the OOB holds", _measure_oob, _draw_oob),)

CLAIMS = (
    Claim(
        "reliability_grows",
        "oob",
        f"squeezing improves reliability (RBER limit with {_OOBS[-1]} B of OOB over {_OOBS[0]} B)",
        rule="order",
        kind="arithmetic",
        source=("target.unit_bit_error_rate", "late_stage.metadata_bytes_per_page"),
    ),
)
