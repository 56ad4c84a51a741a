"""Descriptions of charts as plain data: `plots.draw_sheet` draws them as a picture, `report.charts` puts them on a
page.

A description says what the chart shows and which parts belong together. The renderer chooses line widths and the place
of the legend.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from softsense.colours import SERIES, SPARE

Kind = Literal["line", "bar", "points", "span", "range"]
Marker = Literal["circle", "square", "diamond", "triangle", "down", "cross", "none"]
Range = tuple[float | None, float | None]


@dataclass(frozen=True)
class Series:
    """Numbers under one name in the legend.

    Attributes:
        name: its name in the legend.
        x: numbers, or the names of categories.
        y: a number for each x; None leaves a gap.
        kind: a `line`, a `bar`, `points`, a `span` or a `range`. A `span` is a bar from `lo` to y in a chart with
            stacked bars. A `range` goes from `lo` to `hi` over the whole width of a category, as for published values.
        lo: lower ends of intervals of y, drawn as whiskers.
        hi: upper ends of intervals.
        labels: an additional line of text for each point, shown under the pointer.
        colour: a colour such as `#0072b2`; default: the next one of `colours.SERIES`.
        dashed: whether the line is dashed, as a bound or a reference.
        steps: whether the line is constant from each point to the next one.
        keys: the thing that each point stands for: a selection in one chart selects it in all charts and tables of the
            document.
        band: whether intervals are drawn as a band around the line instead of as whiskers.
        marker: the marker of points, and of a line with few points; default: a circle.
        hollow: whether points are drawn as outlines, all of them or each: not measured to the end, or no contender.
            Dashes lead to such points of a line.
        loose: whether hollow points stand alone: no line leads to them, and they have whiskers in place of a band.
        pale: whether the line, or the points, lie behind all others.
        printed: text beside each value in a picture; a page shows the value under the pointer.
        named: whether the legend has the series; a series that belongs to another one is left out.
    """

    name: str
    x: Sequence[float | str]
    y: Sequence[float | None]
    kind: Kind = "line"
    lo: Sequence[float | None] | None = None
    hi: Sequence[float | None] | None = None
    labels: Sequence[str] | None = None
    colour: str = ""
    dashed: bool = False
    steps: bool = False
    keys: Sequence[str] | None = None
    band: bool = False
    marker: Marker | None = None
    hollow: bool | Sequence[bool] = False
    loose: bool = False
    pale: bool = False
    printed: Sequence[str] | None = None
    named: bool = True

    def is_hollow(self, i: int) -> bool:
        """Whether a point is drawn as an outline."""
        return self.hollow if isinstance(self.hollow, bool) else self.hollow[i]

    def stands_alone(self, i: int) -> bool:
        """Whether a point has no line to its neighbours: it is loose, or all of its neighbours are."""

        def is_loose(at: int) -> bool:
            return self.y[at] is None or (self.loose and self.is_hollow(at))

        return is_loose(i) or all(is_loose(at) for at in (i - 1, i + 1) if 0 <= at < len(self.x))


@dataclass(frozen=True)
class Mark:
    """A reference line, such as the one for no change: its position on the vertical axis or, with `axis` `x`, on the
    horizontal one, and its label. In a chart with horizontal bars, `y` is still the axis of values.
    """

    value: float
    text: str = ""
    axis: Literal["x", "y"] = "y"


@dataclass(frozen=True)
class Chart:
    """A chart; the label of an axis has the unit.

    Attributes:
        title: the title above the chart; may be empty if the section has the title.
        series: the data; bars of several series stand side by side in their order.
        x_label: quantity and unit.
        y_label: quantity and unit.
        log_x: whether the horizontal axis is logarithmic at first; the reader can switch each axis that allows it.
        log_y: whether the vertical axis is logarithmic at first.
        note: a line of text below the chart.
        stacked: whether bars of a category lie end to end, from left to right; they never have a logarithmic axis.
        across: whether names of categories stand on the vertical axis, as in charts with stacked bars.
        marks: reference lines.
        hollow: the meaning of hollow points, for the legend of a chart that has such points.
        names: the order of categories; default: the order in which series name them.
        x_range: initial ends of the horizontal axis; None where the values determine them.
        y_range: initial ends of the vertical axis; None where the values determine them.
        x_ticks: the numbers at which a picture's horizontal axis is marked.
        exclusive: whether each bar stands alone in the middle of its category, as no other series has a bar there.
        linked: a name: charts with the same one zoom together along the horizontal axis.
        rows: whether a picture shows bars as rows of points, a row for each series and a point for each category.
        name_colours: colours of the names of some categories.
        totals: text at the ends of stacked bars, by the name of the category.
        own_key: whether the legend of this chart stands at the chart itself, in a picture of several charts.
        beside: lines of text at the right of a chart in a picture; a page has a table instead.
        corner: a few words above the chart at its right, in a picture.
        why_empty: the text in place of a chart without series.
    """

    title: str
    series: Sequence[Series]
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    note: str = ""
    stacked: bool = False
    across: bool = False
    marks: Sequence[Mark] = ()
    hollow: str = ""
    names: Sequence[str] = ()
    x_range: Range = (None, None)
    y_range: Range = (None, None)
    x_ticks: Sequence[float] = ()
    exclusive: bool = False
    linked: str = ""
    rows: bool = False
    name_colours: Mapping[str, str] = field(default_factory=dict)
    totals: Mapping[str, str] = field(default_factory=dict)
    own_key: bool = False
    beside: Sequence[str] = ()
    corner: str = ""
    why_empty: str = "nothing to show"

    @property
    def lies_across(self) -> bool:
        """Whether categories stand on the vertical axis."""
        return self.stacked or self.across

    @property
    def tells_hollow(self) -> bool:
        """Whether the chart has hollow points, and a text about their meaning."""
        return bool(self.hollow) and any(each.is_hollow(i) for each in self.series for i in range(len(each.x)))

    def categories(self) -> list[str]:
        """The names of categories in their order."""
        told = list(dict.fromkeys(x for each in self.series for x in each.x if isinstance(x, str)))
        return [
            *(name for name in dict.fromkeys(self.names) if name in told),
            *(x for x in told if x not in self.names),
        ]

    def colours(self) -> list[str]:
        """The colour of each series: its own, or the next one that no other series has."""
        own = {series.colour for series in self.series}
        every = list(dict.fromkeys([*SERIES, *SPARE]))
        left = [colour for colour in every if colour not in own] or every
        spare = iter(left * (1 + len(self.series) // len(left)))
        return [series.colour or next(spare) for series in self.series]

    def alike(self) -> list[tuple[str, str]]:
        """Pairs of series in the legend that a reader may confuse, since they have the same colour.

        Lines with different markers can be told apart, and so can dashed and solid ones.
        """
        found = []
        first: dict[tuple[str, ...], str] = {}
        for series, colour in zip(self.series, self.colours(), strict=True):
            if not series.named or not len(series.x):
                continue
            look = colour, (series.marker or "") if series.kind == "line" else "", str(series.dashed)
            if look in first:
                found.append((first[look], series.name))
            first.setdefault(look, series.name)
        return found


@dataclass(frozen=True)
class Sheet:
    """Charts that make one picture.

    Attributes:
        title: title of the picture.
        charts: the charts, row by row.
        note: a line of text below the title.
        foot: a line of text below the charts.
        columns: number of charts in a row; default: all of them.
        panel: width and height of a chart in inches, including the labels of its axes.
        dpi: dots per inch.
    """

    title: str
    charts: Sequence[Chart]
    note: str = ""
    foot: str = ""
    columns: int = 0
    panel: tuple[float, float] = (10.0, 4.0)
    dpi: int = 110
