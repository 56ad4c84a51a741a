"""Pictures that papers share: grouped bars and titles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure as Picture


def bars(title: str, label: str, *, colours: Mapping[str, str], note: str = "") -> Callable[[pl.DataFrame], Picture]:
    """How a figure draws its numbers as `draw_bars` does."""

    def draw(frame: pl.DataFrame) -> Picture:
        return draw_bars(frame, title, label, colours=colours, note=note)

    return draw


def draw_bars(
    frame: pl.DataFrame,
    title: str,
    label: str,
    *,
    colours: Mapping[str, str],
    line: float | None = 1.0,
    note: str = "",
    digits: int = 2,
) -> Picture:
    """Grouped bars with their intervals.

    Args:
        frame: columns group, bar, value, lo, hi; groups and bars are drawn in the order in which they first stand.
        title: of the figure.
        label: of the values.
        colours: of bars by their names.
        line: a level to be marked, such as that of no change.
        note: a line below the title.
        digits: of values, which are printed where there are few bars.
    """
    from matplotlib.figure import Figure as Picture

    from softsense import plots

    groups = frame["group"].unique(maintain_order=True).to_list()
    bars = frame["bar"].unique(maintain_order=True).to_list()
    # Inches: bars are wide enough for their intervals, and names of groups stand apart.
    longest = max(len(line) for group in groups for line in group.split("\n"))
    across = max(10.0, 0.24 * len(groups) * len(bars), 0.085 * len(groups) * longest)
    picture = Picture(figsize=(across, 4.6), dpi=110, facecolor="white")
    axes = picture.add_axes((0.75 / across, 0.08, 0.99 - 0.75 / across, 0.71))
    plots.head(axes, "")
    width = 0.8 / len(bars)
    few = len(groups) * len(bars) <= 28
    values = {(row["group"], row["bar"]): row for row in frame.iter_rows(named=True)}
    top = max(row["hi"] for row in values.values())
    for i, bar in enumerate(bars):
        rows = [(place, values[group, bar]) for place, group in enumerate(groups) if (group, bar) in values]
        at = [place + width * (i - (len(bars) - 1) / 2) for place, _ in rows]
        heights = [row["value"] for _, row in rows]
        errors = [[row["value"] - row["lo"] for _, row in rows], [row["hi"] - row["value"] for _, row in rows]]
        axes.bar(at, heights, 0.92 * width, color=colours[bar], label=bar)
        if any(map(any, errors)):
            axes.errorbar(at, heights, errors, fmt="none", ecolor=plots.INK, elinewidth=0.9, capsize=2)
        for x, (_, row) in zip(at, rows, strict=True):
            if few:
                place = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "va": "bottom"}
                # So that the line of no change does not strike numbers out.
                place["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85}
                text = f"{row['value']:.{digits}f}"
                axes.annotate(text, (x, max(row["hi"], 0.0)), **place, fontsize=7.5, color=plots.INK)
    if line is not None:
        axes.axhline(line, color=plots.FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.set_ylim(min(0.0, *(row["lo"] for row in values.values())), 1.1 * max(top, line or 0.0))
    axes.set_xlim(-0.55, len(groups) - 0.45)
    axes.set_xticks(range(len(groups)), groups, fontsize=9.5, color=plots.INK)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(label)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    heading(picture, title, note)
    handles, labels = axes.get_legend_handles_labels()
    style = {"frameon": False, "fontsize": 9, "labelcolor": plots.INK, "handlelength": 1.0, "columnspacing": 1.4}
    picture.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.65 / across, 0.885), ncols=len(bars), **style)
    return picture


def heading(picture: Picture, title: str, note: str = "") -> None:
    """The title of a picture and a line below it, in the house's type."""
    from softsense import plots

    across, height = picture.get_size_inches()
    picture.text(0.15 / across, 1 - 0.22 / height, title, fontsize=12.5, weight="bold", color=plots.INK, va="center")
    if note:
        picture.text(0.15 / across, 1 - 0.47 / height, note, fontsize=9, color=plots.FAINT, va="center")
