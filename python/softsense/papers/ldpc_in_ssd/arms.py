"""Ways of reading that figures compare."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from softsense.papers.comparing import (
    Arm,
)
from softsense.papers.drawing import bars
from softsense.papers.ldpc_in_ssd.published import PUBLISHED

if TYPE_CHECKING:
    pass


def in_ways(ways: int) -> str:
    """The override that divides each codeword among `ways` chips."""
    return f"ftl.interleaving.ways={ways}"


def interleaved(arm: Arm, ways: int, remainder: str = "plain") -> Arm:
    """The arm with data placement interleaving."""
    settings = in_ways(ways), f'ftl.interleaving.remainder="{remainder}"'
    return arm.on(*settings, label=f"{arm.label}, {ways}-way" if arm.label != "two-step" else f"{ways}-way")


# Retries that only add levels need references that contain those of the level before.
NESTED = "reliability.table.file=flash-8-9-nested"
NONE = Arm("no soft sensing", "ideal", ('reliability="perfect"',))
TWO_STEP = Arm("two-step", "two_step:restart")
LOOK_AHEAD = Arm("look-ahead", "look_ahead:restart")
PROGRESSIVE = Arm("progressive", "progressive:incremental", (NESTED,))
BOTH = Arm("both", "look_ahead_progressive:incremental", (NESTED,))
# The number of blocks is that of the paper, in quick runs too, as traces would not fit otherwise.
FEW_CHANNELS = (f"geometry.channels={PUBLISHED['low_parallelism_channels']}", "geometry.blocks_per_plane=2048")

COLOURS = {
    "no soft sensing": "#7f7f7f",
    "two-step": "#d55e00",
    "look-ahead": "#0072b2",
    "progressive": "#cc79a7",
    "both": "#e69f00",
    "2-way": "#56b4e9",
    "4-way": "#009e73",
    "both, 2-way": "#56b4e9",
    "both, 4-way": "#009e73",
}


drawn_bars = partial(bars, colours=COLOURS)


def by_ways(arm: Arm) -> list[Arm]:
    """The arm without interleaving, with two ways and with four ways."""
    return [arm, interleaved(arm, 2), interleaved(arm, 4)]
