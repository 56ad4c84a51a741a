"""Section 3.3: hot data on good chips, which the paper names as the ideal and does not measure."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from softsense.formats import as_share
from softsense.papers import Case, Claim, Figure, Measured, Plan, Runs, Workload, inline, synthetic
from softsense.papers.comparing import Arm, Compared, cases, summaries
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import TWO_STEP, interleaved
from softsense.papers.ldpc_in_ssd.machines import CHIPS_THAT_DIFFER
from softsense.papers.ldpc_in_ssd.published import CHIPS
from softsense.papers.ldpc_in_ssd.workloads import SYNTHETIC_PER_S

if TYPE_CHECKING:
    from softsense._core import Device, WritePlanes
    from softsense.charts import Sheet

_CODEWORD = 4096
_FOOTPRINT_BYTES = 64 << 20
_HOT_FRACTION = 0.2
_HOT_SHARE = 0.8
_RATES = (1_000, SYNTHETIC_PER_S, 20_000)
"""Requests a second: hot data have a quarter of the chips, which a high rate fills."""


def _named(rate: float) -> str:
    return f"{rate:,.0f} a second"


class OnGoodChips:
    """A placement that knows which codewords are hot, and writes them to the chips of the least raw bit error rate.

    Chips of four kinds stand in the stripe in turn, the best first. Cold codewords go to the other three kinds.
    """

    hot_codewords = int(_HOT_FRACTION * _FOOTPRINT_BYTES) // _CODEWORD

    def __init__(self, device: Device) -> None:
        positions = np.arange(device.planes)
        good = positions % CHIPS == 0
        self._planes = {True: positions[good], False: positions[~good]}
        self._turns = {True: 0, False: 0}

    def place(self, planes: WritePlanes) -> int:
        """The next plane in turn of the kind that the codeword wants."""
        hot = planes.codeword < self.hot_codewords
        wanted = self._planes[hot]
        self._turns[hot] += 1
        return int(wanted[self._turns[hot] % len(wanted)])


_HOT_ON_GOOD = TWO_STEP.on(
    f"ftl.plane_choice={inline(f'{__name__}:{OnGoodChips.__name__}')}", label="hot data on good chips"
)
_FOUR_WAYS = interleaved(TWO_STEP, CHIPS)
_ARMS = (_HOT_ON_GOOD, _FOUR_WAYS)


def _plan(plan: Plan) -> Plan:
    """The plan with a workload for each rate: everything is overwritten often, so that the placement has its say."""

    def workload(rate: float) -> Workload:
        requests = synthetic(
            requests=2 * plan.requests,
            read_fraction=0.5,
            sizes=[{"bytes": _CODEWORD, "share": 1.0}],
            addresses={"hot_cold": {"hot_fraction": _HOT_FRACTION, "hot_share": _HOT_SHARE}},
            arrivals={"poisson": {"requests_per_s": float(rate)}},
            footprint_bytes=_FOOTPRINT_BYTES,
        )
        return Workload(_named(rate), "invented", overrides=requests)

    return replace(plan, workloads=tuple(map(workload, _RATES)), left_out=())


def _on_chips(arm: Arm) -> Arm:
    return replace(arm, overrides=(*CHIPS_THAT_DIFFER.overrides, *arm.overrides))


def _cases(plan: Plan) -> list[Case]:
    return cases(_plan(plan), *map(_on_chips, (TWO_STEP, *_ARMS)))


def _measure(plan: Plan, runs: Runs) -> Measured:
    mine = _plan(plan)
    base, *arms = map(_on_chips, (TWO_STEP, *_ARMS))
    compared = Compared(mine, runs, [base, *arms], base)
    hot, four = arms

    def failing(arm: Arm) -> str:
        found = [
            1 - s["codeword_reads"]["level_histogram"][0] / s["codeword_reads"]["count"]
            for workload in mine.workloads
            for s in summaries(mine, runs, workload, arm)
        ]
        return as_share(fmean(found), 1)

    told = ", ".join(
        f"{compared.number(name, hot).value:.3f} and {compared.number(name, four).value:.3f} at {name}"
        for name in compared.workloads
    )
    why = (
        f"Hard decision fails for {failing(base)} of codewords read where data lie anywhere, for {failing(hot)} with "
        f"hot data on the best kind of chip, and for {failing(four)} with four-way interleaving. Reads respond in "
        f"{told} (hot data on good chips, interleaving; over neither). The placement knows what is hot: "
        f"{as_share(_HOT_SHARE, 0)} of requests go to {as_share(_HOT_FRACTION, 0)} of {_FOOTPRINT_BYTES >> 20} MiB, "
        "all invented; half of the requests are writes. The paper names this placement and gives no numbers."
    )
    each = {}
    for workload in mine.workloads:
        alone = Compared(replace(mine, workloads=(workload,)), runs, [base, hot], base)
        each[workload.name] = alone.order([base, hot], alone.mean(hot), "")
    judged = each.pop(_named(SYNTHETIC_PER_S))
    evidence = {"hot_on_good_chips": replace(judged, why=why, under=each)}
    return Measured(Compared(mine, runs, arms, base).frame(), evidence)


def _draw(frame: pl.DataFrame) -> Sheet:
    colours = {_HOT_ON_GOOD.label: "#0072b2", _FOUR_WAYS.label: "#009e73"}
    title = "Section 3.3: hot data on good chips, or interleaving"
    return bar_sheet(frame, title, "over the two-step read", colours=colours, note="mean read response")


FIGURES = (Figure("hot", "Section 3.3: hot data on good chips", _measure, _draw, _cases),)

CLAIMS = (
    Claim(
        "hot_on_good_chips",
        "hot",
        "hot data on the chips of high reliability reduce the read response (over data anywhere)",
        rule="order",
        kind="invented workload",
    ),
)
