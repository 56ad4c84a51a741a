"""Colours of policies, parts of a read's time and other series: the same in pictures and in reports.

The palette is that of Okabe and Ito, which colour-blind readers can tell apart, and a few more colours:
tests/test_colours.py checks all of them as people who lack one kind of cone see them.
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
"""Colours of read policies, in every panel of every picture."""

BASELINE = "#7f7f7f"
"""Colour of the run without soft sensing."""

SPARE = ["#56b4e9", "#000000", "#7818e0", "#603000", "#000090", "#900060"]
"""Colours of further policies, or of a policy with another retry."""

SERIES = [
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7818e0", "#603000", "#000000", "#7f7f7f"),
]
"""Colours of series of any kind, in this order."""

PARTS = {
    "wait_plane": "#8fc7ea",
    "sense": "#0072b2",
    "wait_bus": "#d3efb0",
    "transfer": "#009e73",
    "wait_decoder": "#f0cfe0",
    "decode": "#b5588d",
    "retries": "#d55e00",
}
"""Colours of the parts of a read's time: waiting is pale, work is dark, retries stand out."""

ENERGIES = {
    "sense": ("hard sensing", "#0072b2"),
    "sense_extra_levels": ("extra levels", "#d55e00"),
    "transfer": ("transfer", "#009e73"),
    "program": ("program", "#e69f00"),
    "erase": ("erase", "#56b4e9"),
    "decode": ("decode", "#cc79a7"),
}
"""Names and colours of the operations that take energy."""

SPANS = {
    "command": ("command", PARTS["wait_bus"]),
    "sense": ("sensing", PARTS["sense"]),
    "hold": ("plane kept", PARTS["wait_plane"]),
    "transfer": ("transfer", PARTS["transfer"]),
    "predict": ("predicted to fail", "#e69f00"),
    "decode": ("decoding", PARTS["decode"]),
}
"""Names and colours of the steps of a lone read."""

GOOD, BAD = "#009e73", "#d55e00"
"""Colours of what decodes, and of what fails."""

KINDS = {"read": "#0072b2", "write": "#d55e00", "all": "#7f7f7f"}
"""Colours of kinds of requests."""

BITS = ("#0072b2", "#d55e00")
"""Colours of the two values of a bit."""

STATES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#603000", "#7818e0")
"""Colours of the states of a cell, from the erased one up, and again from the first one where there are more."""

LEVELS = ("#d55e00", "#e69f00", "#009e73", "#56b4e9", "#0072b2", "#7818e0", "#000000")
"""Colours of read levels, from hard decisions to the deepest one."""

_AGES = ("#9bd93c", "#2cb17e", "#277e8e", "#3f4788", "#440154")

INK, FAINT, RULE = "#222222", "#6b6b6b", "#e6e6e6"
"""Colours of text, bounds, frontiers and published values; of secondary parts; of grids. Dark paper has others in their
place."""


def of_runs(runs: Sequence[RunResult]) -> list[str]:
    """A colour for each run: its policy's, or a spare one where that is taken or not known."""
    return _distinct_colours(
        [BASELINE if run.name == NO_SOFT_SENSING else POLICIES.get(run.summary["policy"], "") for run in runs]
    )


def of_techniques(names: Sequence[str]) -> list[str]:
    """A colour for each technique by its name: its policy's if it is named by that, or a spare one."""
    return _distinct_colours([POLICIES.get(name.partition(":")[0], "") for name in names])


def _distinct_colours(wanted: Sequence[str]) -> list[str]:
    spare = iter(SPARE * (1 + len(wanted) // len(SPARE)))
    taken: set[str] = set()
    colours = []
    for colour in wanted:
        # A policy that is shown again with another retry gets a colour of its own.
        found = next(spare) if not colour or colour in taken else colour
        taken.add(found)
        colours.append(found)
    return colours


def of_ages(count: int) -> list[str]:
    """`count` colours, from light to dark, for one quantity at ages from young to old."""
    found = []
    for i in range(count):
        place = (i / (count - 1) if count > 1 else 0.5) * (len(_AGES) - 1)
        low = min(int(place), len(_AGES) - 2)
        ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in _AGES[low : low + 2]]
        mixed = [round(a + (place - low) * (b - a)) for a, b in zip(*ends, strict=True)]
        found.append("#" + "".join(f"{channel:02x}" for channel in mixed))
    return found
