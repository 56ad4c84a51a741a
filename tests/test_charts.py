"""Is one description of a chart enough for its picture and for a page, and does each show what it says?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from softsense import colours, plots
from softsense.charts import Chart, Mark, Series, Sheet
from softsense.report.charts import description

LINE = Series("a", [1.0, 10.0, 100.0], [1e-3, None, 1e-1], lo=[5e-4, None, 5e-2], hi=[2e-3, None, 2e-1])
BARS = Series("b", ["x", "y"], [1.0, 2.0], "bar", [0.5, 1.5], [1.5, 2.5], printed=["one", "two"])


def drawn(chart: Chart) -> Any:
    """The axes of a chart's picture, after it was drawn for once."""
    figure = plots.draw_sheet(Sheet("title", [chart], "note", "foot"))
    figure.canvas.draw()
    return figure.axes[0]


def test_both_show_the_same_numbers() -> None:
    chart = Chart("t", [LINE], "age (days)", "rate", log_x=True, log_y=True, marks=[Mark(0.01, "limit")])
    axes, page = drawn(chart), description(chart)
    (line,) = [each for each in axes.lines if each.get_label() == "a"]
    for x, y, wanted_x, wanted_y in zip(*line.get_data(), page["series"][0]["x"], page["series"][0]["y"], strict=True):
        assert x == wanted_x
        assert math.isnan(y) if wanted_y is None else y == wanted_y
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (page["x"]["log"], page["y"]["log"]) == (True, True)
    assert (axes.get_xlabel(), axes.get_ylabel()) == (page["x"]["label"], page["y"]["label"]) == ("age (days)", "rate")
    assert page["marks"] == [{"value": 0.01, "text": "limit", "axis": "y"}]
    assert "limit" in [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("across", [False, True])
def test_bars_stand_or_lie(across: bool) -> None:
    chart = Chart("t", [BARS, Series("published", ["x"], [1.2], "range", [1.0], [1.4])], "", "us", across=across)
    axes = drawn(chart)
    (bars,) = [each for each in axes.containers if type(each).__name__ == "BarContainer"]
    assert [patch.get_width() if across else patch.get_height() for patch in bars] == [1.0, 2.0]
    names = axes.get_yticklabels() if across else axes.get_xticklabels()
    assert [name.get_text() for name in names] == ["x", "y"]
    assert {"one", "two"} <= {text.get_text() for text in axes.texts}
    assert (axes.get_xlabel() if across else axes.get_ylabel()) == "us"


def test_stacked_bars_end_where_their_parts_add_up_to() -> None:
    parts = [
        Series(name, ["x", "y"], values, "bar", printed=["1", "22"]) for name, values in (("p", [1, 2]), ("q", [3, 4]))
    ]
    axes = drawn(Chart("t", parts, "", "us", stacked=True, totals={"x": "four", "y": "six"}, own_key=True))
    ends = {text.get_text(): text.get_position()[0] for text in axes.texts}
    assert ends["four"] == pytest.approx(4, abs=0.1)
    assert ends["six"] == pytest.approx(6, abs=0.1)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["p", "q"]


def test_rows_have_a_point_for_each_category() -> None:
    axes = drawn(Chart("t", [BARS, Series("c", ["x", "y"], [3.0, 1000.0], "bar")], "", "us", rows=True))
    points = sorted((line.get_xdata()[0], line.get_marker()) for line in axes.lines if len(line.get_xdata()) == 1)
    assert points == [(1.0, "o"), (2.0, "D"), (3.0, "o"), (1000.0, "D")]
    assert [name.get_text() for name in axes.get_yticklabels()] == ["b", "c"]
    assert axes.get_xscale() == "log"


def test_points_that_are_not_whole_are_hollow() -> None:
    series = Series("a", [1, 2, 3], [1, 2, 3], "points", hollow=[True, False, True], marker="square")
    axes = drawn(Chart("t", [series], "x", "y"))
    faces = {str(line.get_markerfacecolor()): list(line.get_xdata()) for line in axes.lines}
    assert faces["none"] == [1, 3]
    assert description(Chart("t", [series], "x", "y"))["series"][0]["hollow"] == [True, False, True]


HALF = {
    "lo": [0.5, 1, 1.5, 2],
    "hi": [2, 3, 4, 5],
    "band": True,
    "marker": "circle",
    "hollow": [True, False, False, True],
}


@pytest.mark.parametrize("loose", [False, True])
def test_a_solid_line_leads_to_no_point_that_is_not_whole(loose: bool) -> None:
    """Dashes lead to a hollow point, or nothing: then it has whiskers of its own, and the legend says what it is."""
    chart = Chart("t", [Series("a", [1, 2, 3, 4], [1, 2, 3, 4], **HALF, loose=loose)], "x", "y", hollow="not whole")
    axes = drawn(chart)
    lines = [line for line in axes.lines if line.get_linestyle() != "None" and len(line.get_xdata()) == 4]
    joined = {line.get_linestyle(): np.isfinite(line.get_ydata()).tolist() for line in lines}
    dashes = {} if loose else {"--": [True] * 4}
    assert joined == {"-": [False, True, True, False], **dashes}
    (band,) = [each for each in axes.collections if type(each).__name__ == "FillBetweenPolyCollection"]
    assert [band.get_paths()[0].vertices[:, 0].min(), band.get_paths()[0].vertices[:, 0].max()] == (
        [2, 3] if loose else [1, 4]
    )
    whiskers = [each for each in axes.collections if type(each).__name__ == "LineCollection"]
    assert [part[0][0] for each in whiskers for part in each.get_segments()] == ([1, 4] if loose else [])
    legend = [text.get_text() for each in axes.figure.legends for text in each.get_texts()]
    assert legend == ["a", "not whole"]
    page = description(chart)
    assert (page["hollow"], page["series"][0].get("alone")) == ("not whole", HALF["hollow"] if loose else None)


def test_a_logarithmic_axis_has_a_place_for_zero() -> None:
    axes = drawn(Chart("t", [Series("a", [0, 1, 10], [1, 2, 3])], "days", "y", log_x=True, x_ticks=[0, 1, 10]))
    assert axes.get_xscale() == "symlog"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0", "1", "10"]


def test_an_empty_chart_says_why() -> None:
    axes = drawn(Chart("t", [], "x", "y", why_empty="no requests"))
    assert [text.get_text() for text in axes.texts] == ["no requests"]


def test_series_without_a_colour_get_ones_that_differ() -> None:
    own = Series("mine", [1], [1], colour=colours.SERIES[0])
    chart = Chart("t", [*(Series(f"{i}", [1], [1]) for i in range(11)), own], "x", "y")
    assert len(set(chart.colours())) == 12


def test_two_series_of_one_colour_are_noticed() -> None:
    def chart(*series: Series) -> list[tuple[str, str]]:
        object.__setattr__(found := Chart.__new__(Chart), "series", series)
        return found.alike()

    pink = colours.SERIES[3]
    one, other = (
        Series(name, [1], [1], "points", colour=pink, marker=how) for name, how in (("a", "square"), ("b", "diamond"))
    )
    assert chart(one, other) == [("a", "b")]
    solid, dashed = Series("a", [1], [1], colour=pink), Series("b", [1], [1], colour=pink, dashed=True)
    assert chart(solid, dashed) == []
    with pytest.raises(AssertionError, match="series of one colour"):
        Chart("t", [one, other], "x", "y")


def test_charts_share_the_axes_of_somebody_else() -> None:
    axes = Figure().subplots()
    for name in ("a", "b"):
        plots.draw_chart(axes, Chart("", [Series(name, [1, 2], [1, 2])], "x", "y"), with_key=True)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]
