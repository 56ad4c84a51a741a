"""Pictures that papers share: grouped bars, lines with intervals, and titles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense.papers import Number

if TYPE_CHECKING:
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
    published: Mapping[str, tuple[float, float]] | None = None,
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
        published: from where to where values of a group are published; the same number twice is marked as a line.
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
    ranges = {group: ends for group, ends in (published or {}).items() if group in groups}
    top = max([*(row["hi"] for row in values.values()), *(high for _, high in ranges.values())])
    for i, (group, (low, high)) in enumerate(ranges.items()):
        ends = [groups.index(group) - 0.46, groups.index(group) + 0.46]
        look: dict[str, Any] = {"facecolor": "#dedede", "edgecolor": plots.FAINT, "linewidth": 1.1}
        axes.fill_between(ends, low, high, **look, label=None if i else "published")
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
                place: dict[str, Any] = {
                    "xytext": (0, 3),
                    "textcoords": "offset points",
                    "ha": "center",
                    "va": "bottom",
                }
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
    picture.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.65 / across, 0.885), ncols=len(labels), **style)
    return picture


def point(panel: str, line: str, x: float, number: Number, **more: Any) -> dict[str, Any]:
    """A point of `lines`."""
    return {"panel": panel, "line": line, "x": x, "value": number.value, "lo": number.lo, "hi": number.hi, **more}


@dataclass(frozen=True)
class Line:
    """How a line is drawn, and whether the legend names it."""

    colour: str
    style: str = "-"
    marker: str = "o"
    width: float = 1.8
    named: bool = True


def lines(
    title: str,
    x: str,
    y: str | Sequence[str],
    styles: Mapping[str, Line],
    note: str = "",
    *,
    low: float = 0.0,
    at: Sequence[float] = (),
) -> Callable[[pl.DataFrame], Picture]:
    """How a figure draws lines, panel by panel, whose points have an interval.

    Args:
        title: of the figure.
        x: label of all panels.
        y: labels of the panels, or one for all.
        styles: of lines by their names.
        note: a line below the title.
        low: what the vertical axes begin with, or below.
        at: ticks of a horizontal axis in logarithms; none for one that is linear.

    Its frame has rows of `point`.
    """

    def draw(frame: pl.DataFrame) -> Picture:
        from matplotlib.figure import Figure as Picture
        from matplotlib.ticker import NullLocator

        from softsense import plots

        panels = frame["panel"].unique(maintain_order=True).to_list()
        labels = [y] * len(panels) if isinstance(y, str) else list(y)
        picture = Picture(figsize=(11, 4.8), dpi=110, facecolor="white")
        width = (0.985 - 0.08 * len(panels)) / len(panels)
        handles: dict[str, Any] = {}
        for i, panel in enumerate(panels):
            axes = picture.add_axes((0.075 + i * (width + 0.08), 0.11, width, 0.62))
            plots.head(axes, "")
            of_panel = frame.filter(pl.col("panel") == panel)
            for (line,), points in of_panel.group_by(["line"], maintain_order=True):
                style = styles[line]
                errors = [points["value"] - points["lo"], points["hi"] - points["value"]]
                known = any(each.max() for each in errors)
                look: dict[str, Any] = {"color": style.colour, "linestyle": style.style, "linewidth": style.width}
                look |= {"marker": style.marker, "markersize": 4.5, "elinewidth": 0.9, "capsize": 2}
                if style.style == "none":
                    look |= {"markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.2}
                handle, *_ = axes.errorbar(points["x"], points["value"], errors if known else None, **look)
                if style.named:
                    handles[line] = handle
            most = max(of_panel["hi"].drop_nulls().to_list())
            axes.set_ylim(min([low, *of_panel["lo"].drop_nulls()]), most + 0.08 * (most - low))
            axes.set(xlabel=x, ylabel=labels[i])
            if at:
                axes.set_xscale("log")
                axes.set_xticks(at, [f"{tick:g}" for tick in at])
                axes.xaxis.set_minor_locator(NullLocator())
            axes.set_title(panel, loc="left", fontsize=10, color=plots.INK)
            axes.grid(color="#e6e6e6", linewidth=0.7)
        heading(picture, title, note)
        look = {"frameon": False, "fontsize": 8.5, "labelcolor": plots.INK, "columnspacing": 1.2, "handlelength": 1.8}
        place: dict[str, Any] = {
            "loc": "upper left",
            "bbox_to_anchor": (0.065, 0.895),
            "ncols": 5 if len(handles) > 7 else 7,
        }
        picture.legend(handles.values(), handles.keys(), **place, **look)
        return picture

    return draw


def heading(picture: Picture, title: str, note: str = "") -> None:
    """The title of a picture and a line below it, in the house's type."""
    from softsense import plots

    across, height = picture.get_size_inches()
    picture.text(0.15 / across, 1 - 0.22 / height, title, fontsize=12.5, weight="bold", color=plots.INK, va="center")
    if note:
        picture.text(0.15 / across, 1 - 0.47 / height, note, fontsize=9, color=plots.FAINT, va="center")
