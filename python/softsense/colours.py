"""Colours of policies and of what a read's time is made of: the same in pictures and in reports.

The palette is that of Okabe and Ito, which colour-blind readers can tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softsense.base import NO_SOFT_SENSING

if TYPE_CHECKING:
    from softsense.results import RunResult

POLICIES = {
    "ideal": "#009e73",
    "two_step": "#d55e00",
    "look_ahead": "#0072b2",
    "progressive": "#cc79a7",
    "look_ahead_progressive": "#e69f00",
}
"""Of read policies, in every panel of every picture."""

BASELINE = "#7f7f7f"
"""Of the run without soft sensing."""

SPARE = ["#56b4e9", "#000000", "#8c6d31", "#5e4fa2", "#a6761d", "#1b7837"]
"""Of further policies, or the same with another retry."""

SERIES = [
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#5e4fa2", "#000000", "#7f7f7f"),
]
"""Of series of any kind, in this order."""

PARTS = {
    "wait_plane": "#bcd7ee",
    "sense": "#1f6fad",
    "wait_bus": "#c9e5c5",
    "transfer": "#3f9448",
    "wait_decoder": "#dcd3ea",
    "decode": "#7a5ba8",
    "retries": "#d9593d",
}
"""Of the parts of a read's time: waiting is pale, work is dark, retries stand out."""


def of_runs(runs: Sequence[RunResult]) -> list[str]:
    """A colour for each run: its policy's, or a spare one where that is taken or not known."""
    spare = iter(SPARE * (1 + len(runs) // len(SPARE)))
    taken: set[str] = set()
    colours = []
    for result in runs:
        colour = BASELINE if result.name == NO_SOFT_SENSING else POLICIES.get(result.summary["policy"], "")
        # The same policy with another retry gets a colour of its own.
        if not colour or colour in taken:
            colour = next(spare)
        taken.add(colour)
        colours.append(colour)
    return colours
