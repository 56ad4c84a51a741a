"""Section 3.3: interleaving only where chips are bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share
from softsense.papers import Case, Claim, Figure, Measured, Number, Plan, Runs
from softsense.papers.comparing import Compared, cases
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import TWO_STEP, interleaved

if TYPE_CHECKING:
    from softsense.charts import Sheet

# Threshold of a chip's factor. Of the pairs of chips 1 and 3, and 2 and 4, the second has a chip above it.
_ABOVE = 2.8
_ALL = interleaved(TWO_STEP, 2)
_SELECTIVE = _ALL.on(
    f"ftl.interleaving.groups={{ with_chip_factor_above = {_ABOVE} }}", label="2-way, where chips are bad"
)


def _cases(plan: Plan) -> list[Case]:
    return cases(plan, TWO_STEP, _ALL, _SELECTIVE)


def _measure(plan: Plan, runs: Runs) -> Measured:
    compared = Compared(plan, runs, [TWO_STEP, _ALL, _SELECTIVE], TWO_STEP)
    all_saved, some_saved = (1 - compared.mean(arm).value for arm in (_ALL, _SELECTIVE))
    kept = Number.ratio(
        [1 - left for left in compared.seed_means(_SELECTIVE)], [1 - left for left in compared.seed_means(_ALL)]
    )
    why = (
        f"Interleaving chips 2 and 4 alone, of which one fails most, saves {as_share(some_saved, 1)} of the mean read "
        f"response, interleaving 1 and 3 as well {as_share(all_saved, 1)} (mean of workloads). The paper proposes the "
        "choice and gives no numbers."
    )
    frame = Compared(plan, runs, [_ALL, _SELECTIVE], TWO_STEP).frame()
    return Measured(frame, {"selective_interleaving": compared.order([TWO_STEP, _SELECTIVE], kept, why)})


def _draw(frame: pl.DataFrame) -> Sheet:
    colours = {_ALL.label: "#56b4e9", _SELECTIVE.label: "#009e73"}
    return bar_sheet(frame, "Section 3.3: interleaving where chips are bad", "over the two-step read", colours=colours)


FIGURES = (Figure("3.3", "Section 3.3: interleaving where chips are bad", _measure, _draw, _cases),)

CLAIMS = (
    Claim(
        "selective_interleaving",
        "3.3",
        "interleaving only where chips are bad helps as well (saved, over what interleaving everywhere saves)",
        rule="order",
    ),
)
