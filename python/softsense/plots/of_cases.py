"""Differences between read policies in many cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softsense.colours import FAINT, RULE, of_techniques
from softsense.plots.style import head, heading

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

_ROW = 0.3
_ABOVE, _BELOW = 1.1, 0.65
_TOLD_APART = ("faster", "slower")
_JUDGED = (*_TOLD_APART, "alike")


def draw_cases(table: pl.DataFrame, title: str, by: str, first: str = "the config as it is") -> Figure:
    """Draw the differences of policies to the reference, a line for each case, with 95 % intervals.

    A hollow point is a difference whose interval contains zero; a cross is a case that is counted nowhere.

    Args:
        table: the rows of `softsense.across.Across.table`, those of the reference first in each case.
        title: title of the picture.
        by: the statistic of reads that is compared.
        first: the first case in words.

    Returns a figure 11 inches wide.
    """
    from matplotlib.figure import Figure

    rows = table.drop_nulls("difference").to_dicts()
    cases = {name: at for at, name in enumerate(dict.fromkeys(table["case"]))}
    reference, *policies = dict.fromkeys(table["policy"])
    named = dict(zip((reference, *policies), of_techniques((reference, *policies)), strict=True))
    height = _ABOVE + _BELOW + _ROW * len(cases)
    figure = Figure(figsize=(11, height), dpi=110, facecolor="white")
    axes = figure.add_axes((0.34, _BELOW / height, 0.63, _ROW * len(cases) / height))
    for turn, policy in enumerate(policies):
        shift = 0.22 * (turn - (len(policies) - 1) / 2) if len(policies) > 1 else 0.0
        label: str | None = policy
        for row in rows:
            if row["policy"] != policy:
                continue
            at, half = 100 * row["difference"], 100 * row["half_width"]
            y = cases[row["case"]] + shift
            if row["seeds"] > 1:
                axes.plot([at - half, at + half], [y] * 2, color=named[policy], lw=1.6, alpha=0.55)
            shape = "o" if row["verdict"] in _JUDGED else "x"
            fill = named[policy] if row["verdict"] in _TOLD_APART else "white"
            axes.plot(at, y, shape, ms=5.5, mec=named[policy], mfc=fill, mew=1.3, label=label, color=named[policy])
            label = None
    axes.axvline(0.0, color=FAINT, lw=1)
    for at in range(0, len(cases), 2):
        axes.axhspan(at - 0.5, at + 0.5, color=RULE, alpha=0.25, lw=0)
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.set_yticks(range(len(cases)), list(cases))
    axes.set_xlabel(f"{by} of reads beside {reference}, %: faster to the left, slower to the right")
    head(axes, "")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(policies), frameon=False, fontsize=9)
    seeds = max(table["seeds"].to_list())
    note = f"bars: 95 % over {seeds} seeds   " if seeds != 1 else "one seed: no intervals   "
    note += f"hollow: not told apart   first line: {first}"
    heading(figure, title, note + ("   crosses: counted nowhere" if {r["verdict"] for r in rows} - {*_JUDGED} else ""))
    return figure
