"""Differences between read policies in many cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softsense.colours import FAINT, RULE, of_runs
from softsense.plots.style import head, heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from softsense.across import Across

_ROW = 0.3
_ABOVE, _BELOW = 1.1, 0.65


def draw_cases(across: Across, title: str) -> Figure:
    """Draw the differences of policies to the reference, a line for each case, with 95 % intervals.

    A hollow point is a difference whose interval contains zero; a cross is a case that is counted nowhere.

    Returns a figure 11 inches wide.
    """
    from matplotlib.figure import Figure

    policies, cases = across.others, across.compared
    named = dict(zip([run.name for run in cases[0].seeds.first.runs], of_runs(cases[0].seeds.first.runs), strict=True))
    height = _ABOVE + _BELOW + _ROW * len(cases)
    figure = Figure(figsize=(11, height), dpi=110, facecolor="white")
    axes = figure.add_axes((0.34, _BELOW / height, 0.63, _ROW * len(cases) / height))
    for turn, policy in enumerate(policies):
        shift = 0.22 * (turn - (len(policies) - 1) / 2) if len(policies) > 1 else 0.0
        for row, one in enumerate(cases):
            found = across.verdict(one, policy)
            if found is None:
                continue
            at, half = 100 * found.difference, 100 * found.half_width
            is_clear = found.word != "alike" and not one.problems
            if found.is_measured:
                axes.plot([at - half, at + half], [row + shift] * 2, color=named[policy], lw=1.6, alpha=0.55)
            shape = "x" if one.problems else "o"
            fill = named[policy] if is_clear else "white"
            label = policy if row == 0 else None
            axes.plot(
                at, row + shift, shape, ms=5.5, mec=named[policy], mfc=fill, mew=1.3, label=label, color=named[policy]
            )
    axes.axvline(0.0, color=FAINT, lw=1)
    for row in range(0, len(cases), 2):
        axes.axhspan(row - 0.5, row + 0.5, color=RULE, alpha=0.25, lw=0)
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.set_yticks(range(len(cases)), [across.name(one.case) for one in cases])
    axes.set_xlabel(f"{across.by} of reads beside {across.reference}, %: faster to the left, slower to the right")
    head(axes, "")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(policies), frameon=False, fontsize=9)
    seeds = len(cases[0].seeds.comparisons)
    note = f"bars: 95 % over {seeds} seeds   " if seeds > 1 else "one seed: no intervals   "
    note += "hollow: not told apart   first line: the config as it is"
    heading(figure, title, note + ("   crosses: counted nowhere" if any(one.problems for one in cases) else ""))
    return figure
