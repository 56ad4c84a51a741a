"""Section 3.3: hot data on good chips, which the paper names as the ideal and does not measure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from softsense.formats import as_share
from softsense.papers import Case, Claim, Figure, Measured, Plan, Runs, Workload, inline
from softsense.papers.comparing import Compared, cases
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import TWO_STEP, interleaved
from softsense.papers.ldpc_in_ssd.interleaving import hard_failures
from softsense.papers.ldpc_in_ssd.machines import CHIPS_THAT_DIFFER
from softsense.papers.ldpc_in_ssd.published import CHIPS
from softsense.papers.ldpc_in_ssd.workloads import SYNTHETIC_PER_S, single

if TYPE_CHECKING:
    from softsense._core import Device, WritePlanes
    from softsense.charts import Sheet

_CODEWORD = 4096
_FOOTPRINT_BYTES = 64 << 20
_HOT_FRACTION = 0.2
_HOT_SHARE = 0.8
_RATES = (1_000, SYNTHETIC_PER_S, 20_000)
"""Requests a second: hot data has a quarter of the chips, which a high rate fills."""


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
        """The next plane in turn among those for hot, or for cold, codewords."""
        hot = planes.codeword < self.hot_codewords
        wanted = self._planes[hot]
        self._turns[hot] += 1
        return int(wanted[self._turns[hot] % len(wanted)])


_ANYWHERE = TWO_STEP.on(*CHIPS_THAT_DIFFER.overrides)
_HOT_ON_GOOD = _ANYWHERE.on(
    f"ftl.plane_choice={inline(f'{__name__}:{OnGoodChips.__name__}')}", label="hot data on good chips"
)
_FOUR_WAYS = interleaved(_ANYWHERE, CHIPS)


def _plan(plan: Plan) -> Plan:
    """The plan with a workload for each rate. Data is overwritten often, so that the placement has an effect."""
    addresses = {"hot_cold": {"hot_fraction": _HOT_FRACTION, "hot_share": _HOT_SHARE}}

    def workload(rate: float) -> Workload:
        requests = single(2 * plan.requests, 0.5, rate, _FOOTPRINT_BYTES, addresses)
        return Workload(_named(rate), "invented", overrides=requests)

    return replace(plan, workloads=tuple(map(workload, _RATES)), left_out=())


def _cases(plan: Plan) -> list[Case]:
    return cases(_plan(plan), _ANYWHERE, _HOT_ON_GOOD, _FOUR_WAYS)


def _measure(plan: Plan, runs: Runs) -> Measured:
    mine, arms = _plan(plan), [_HOT_ON_GOOD, _FOUR_WAYS]
    compared = Compared(mine, runs, arms, _ANYWHERE)
    anywhere, on_good, in_four = hard_failures(mine, runs, [_ANYWHERE, *arms])
    told = ", ".join(
        f"{compared.number(name, _HOT_ON_GOOD).value:.3f} and {compared.number(name, _FOUR_WAYS).value:.3f} at {name}"
        for name in compared.workloads
    )
    why = (
        f"Hard decision fails for {anywhere} of codewords read where data lie anywhere, for {on_good} with "
        f"hot data on the best kind of chip, and for {in_four} with four-way interleaving. Reads respond in "
        f"{told} (hot data on good chips, interleaving; over neither). The placement knows what is hot: "
        f"{as_share(_HOT_SHARE, 0)} of requests go to {as_share(_HOT_FRACTION, 0)} of {_FOOTPRINT_BYTES >> 20} MiB, "
        "all invented; half of the requests are writes. The paper names this placement and gives no numbers."
    )
    each = {}
    for workload in mine.workloads:
        order = [_ANYWHERE, _HOT_ON_GOOD]
        alone = Compared(replace(mine, workloads=(workload,)), runs, order, _ANYWHERE)
        each[workload.name] = alone.order(order, alone.mean(_HOT_ON_GOOD), "")
    judged = each.pop(_named(SYNTHETIC_PER_S))
    evidence = {"hot_on_good_chips": replace(judged, why=why, under=each)}
    return Measured(compared.frame(), evidence)


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
