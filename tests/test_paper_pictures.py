"""Can pictures be printed at the width of one column of a paper, or of two, with no text cut off or hidden?"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable

import pytest
from matplotlib.figure import Figure

import softsense
from conftest import CONFIGS, SMALL
from softsense import decode_tables, plots
from softsense.charts import Chart, Mark, Series, Sheet
from softsense.lifetime import draw, lifetime
from softsense.plots.paper import texts_of
from softsense.sweep import sweep
from softsense.traps import shipped_traps

SWEEP = f"""
config = "mlc-25nm"
policies = ["two_step", "progressive"]
set = {json.dumps(SMALL)}

[grid]
"ftl.over_provisioning" = [0.15, 0.2, 0.25]
"""


@pytest.fixture(scope="module")
def comparison() -> softsense.Comparison:
    """All policies on the small device."""
    return softsense.compare(CONFIGS / "mlc-25nm.toml", overrides=SMALL)


@pytest.fixture(scope="module")
def printed(comparison: softsense.Comparison) -> Callable[[int], Figure]:
    """The picture of all policies for a paper, for a number of columns; each takes seconds, and is drawn once."""
    return functools.cache(lambda columns: comparison.plot("a trial", style="paper", columns=columns))


@pytest.fixture(scope="module")
def pictures(
    comparison: softsense.Comparison,
    printed: Callable[[int], Figure],
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Callable[[int], Figure]]:
    """Something of each kind that is drawn, for a number of columns."""
    rates = softsense.measure_fer("teaching-1/2", [0.03, 0.05, 0.07], levels="1-3", relative_error=0.3, frames=20_000)
    rates.points[0] |= {"complete": False, "missing": 3.84}
    codes = softsense.compare_codes(["bch-4KB-t105", "bch-4KB-t256"], "0.001:0.008:0.0005")
    table = decode_tables.describe("flash-8-9")
    days, cycles = (0, 1, 10, 30, 100, 365), (0, 1500, 3000, 6000)
    by_age = [
        {
            "retention_days": d,
            "pe_cycles": n,
            "default": 1e-3 * (1 + d / 50) * (1 + n / 3000),
            "tracked": 1e-3 + n / 1e7,
        }
        for d in days
        for n in cycles
    ]
    reads = [
        {
            "retention_days": d,
            "pe_cycles": n,
            "rber": 1e-3 + n / 1e6,
            "retries": n / 3000,
            "uber": 10.0 ** (n / 300 - 24),
        }
        for d in days[3:]
        for n in cycles
    ]
    cells = softsense.Cells.open("tlc-measured").at(3000, 24 * 90.0)
    traps = shipped_traps(softsense.Code.open("flash-8/9"))
    assert traps is not None
    file = tmp_path_factory.mktemp("sweep") / "s.toml"
    file.write_text(SWEEP)
    swept = sweep(file, out=tmp_path_factory.mktemp("swept"), workers=1)
    life = lifetime(softsense.load_config("mlc-25nm"), ["adaptive-5-6", "adaptive-1-2"], utilisations=[0.7, 0.9])
    crowded = [
        Chart("a title of a panel that is far longer than any panel of a paper is wide", [
            Series(f"a name of a series that is long, number {i}", [f"category {n}" for n in range(12)], [10.0**i] * 12,
                   "bar", printed=["1,234,567 us"] * 12) for i in range(4)
        ], "of a long label below all of the categories, of which there are twelve", "a long label upright (us)",
            log_y=True, own_key=True, marks=[Mark(10.0, "one limit"), Mark(11.0, "another")], corner="in the corner"),
        Chart("", [Series("points", [1, 2, 2.01], [1, 2, 2.01], "points", printed=["1", "2", "3"])], "x", "y",
              beside=["a list:", "", " 1  a design that is described in as many", "    words as it takes"]),
        Chart("nothing", [], "x", "y", why_empty="nothing was measured, for a reason that takes a sentence to say"),
    ]  # fmt: skip
    sheet = Sheet("a title of a picture that is far longer than one column", crowded, "a note " * 9, "a foot " * 9)
    return {
        "comparison": printed,
        "run": lambda columns: comparison.all_runs[-1].plot(style="paper", columns=columns),
        "rates": lambda columns: rates.plot(style="paper", columns=columns),
        "codes": lambda columns: codes.plot(style="paper", columns=columns),
        "table": lambda columns: decode_tables.draw(table, "paper", columns),
        "rber by age": lambda columns: plots.draw_rber_by_age(by_age, "cells", "paper", columns),
        "reads by age": lambda columns: plots.draw_reliability_by_age(reads, "a drive", "paper", columns),
        "cells": lambda columns: plots.draw_cells(cells, 1, 7, style="paper", columns=columns),
        "absorbing set": lambda columns: traps.plot(style="paper", columns=columns),
        "sweep": lambda columns: swept.plot(style="paper", columns=columns),
        "lifetime": lambda columns: draw(life, "paper", columns),
        "crowded": lambda columns: plots.draw_sheet(sheet, "paper", columns),
    }


KINDS = (
    "comparison",
    "run",
    "rates",
    "codes",
    "table",
    "rber by age",
    "reads by age",
    "sweep",
    "lifetime",
    "crowded",
    "cells",
    "absorbing set",
)


def faults(figure: Figure) -> list[tuple[str, ...]]:
    """Texts that leave the figure, and pairs of texts that overlap; a pixel does not count."""
    figure.draw_without_rendering()
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts_of(figure)]
    whole = figure.bbox.padded(1)
    found: list[tuple[str, ...]] = [
        (text,) for text, box in boxes if not all(whole.contains(x, y) for x, y in box.get_points())
    ]
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1:
            found.append((one, other))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("columns", "inches"), [(1, 3.5), (2, 7.16)])
def test_text_of_a_paper_is_whole_and_apart(
    pictures: dict[str, Callable[[int], Figure]], kind: str, columns: int, inches: float
) -> None:
    figure = pictures[kind](columns)
    assert figure.get_size_inches()[0] == inches
    assert {text.get_fontsize() for text in texts_of(figure)} == {8}
    assert faults(figure) == []
    # A picture of four panels fits a page.
    assert figure.get_size_inches()[1] < 10.5


@pytest.mark.parametrize("columns", [1, 2])
def test_long_names_and_titles_of_ones_own_are_whole(columns: int) -> None:
    """Names of files were cut off in legends, words in titles, and the lines of a title stood on one another."""
    found = softsense.compare_codes(["bch:m=7,t=6,k=64", "bch:m=7,t=5,k=64"], [0.02, 0.05])
    found.labels[0] = "a_file_of_a_code_whose_name_says_all_that_its_author_ever_knew_about_it_and_more_v7.qc"
    for title in (None, "two\nlines", "a_word_" * 20):
        figure = found.plot(title, style="paper", columns=columns)
        assert faults(figure) == []
        said = "".join(text.get_text() for text in texts_of(figure)).replace("\n", "")
        assert found.labels[0] in said
        assert (title or "").replace("\n", "") in said


def test_a_figure_of_a_paper_says_what_that_of_a_screen_says(
    comparison: softsense.Comparison, printed: Callable[[int], Figure]
) -> None:
    """All names, titles and labels are there; of values those that have room."""
    screen, paper = comparison.plot("a trial"), printed(1)
    assert [axes.get_label() for axes in paper.axes] == [axes.get_label() for axes in screen.axes]

    def told(figure: Figure) -> set[str]:
        of_axes = [axes.get_title(loc="left") for axes in figure.axes] + [axes.get_xlabel() for axes in figure.axes]
        legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()))]
        names = [text.get_text() for legend in legends for text in legend.get_texts()]
        return {text.replace("\n", " ") for text in (*of_axes, *names)}

    assert told(paper) == told(screen)
    said = " ".join(text.get_text() for text in paper.texts)
    assert all(text.get_text() in said for text in screen.texts)


def test_names_beside_lines_are_all_there(pictures: dict[str, Callable[[int], Figure]]) -> None:
    """They are in no legend: where there is no room at one side of a point, there is at another."""
    for columns in (1, 2):
        figure = pictures["lifetime"](columns)
        inner = figure.axes[0].get_window_extent()
        beside = {text.get_text(): text for text in figure.axes[0].texts if text.get_text() and text.get_visible()}
        assert list(beside) == ["adaptive-5/6", "adaptive-1/2"]
        assert all(text.get_window_extent().x1 <= inner.x1 for text in beside.values())


def test_equal_results_make_equal_pictures_of_a_paper(
    comparison: softsense.Comparison, printed: Callable[[int], Figure]
) -> None:
    again = comparison.plot("a trial", style="paper", columns=1)
    assert plots.png(printed(1)) == plots.png(again)


@pytest.mark.parametrize("style", ["screen", "paper"])
@pytest.mark.parametrize("panels", [("time_split", "slowdown"), ("tail", "levels"), ("responses",)])
def test_panels_in_a_small_figure_are_whole(
    comparison: softsense.Comparison, panels: tuple[str, ...], style: str
) -> None:
    """Titles, legends and names of a figure of 7.16 x 2.6 inches were cut off."""
    figure = Figure(figsize=(7.16, 2.6))
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        comparison.plot_panel(panel, axes, style=style)
    assert faults(figure) == []
    assert style == "screen" or {text.get_fontsize() for text in texts_of(figure)} == {8}


def test_another_style_is_refused(comparison: softsense.Comparison) -> None:
    with pytest.raises(ValueError, match=r"style: found `print`, expected `screen` or `paper`"):
        comparison.plot(style="print")
    with pytest.raises(ValueError, match=r"columns: found 3, expected 1 or 2"):
        comparison.plot(style="paper", columns=3)
    with pytest.raises(ValueError, match=r"columns: found 1 with style `screen`, expected it with style `paper` alone"):
        comparison.plot(columns=1)
    rates = softsense.measure_fer("bch:m=7,t=6,k=64", [0.02])
    for more in ({"style": "paper"}, {"style": "print"}, {"columns": 1}):
        with pytest.raises(ValueError, match=r"found .* with axes of your own, expected"):
            rates.plot(axes=Figure().subplots(), **more)
    with pytest.raises(ValueError, match=r"style: found `print`"):
        comparison.plot_panel("tail", Figure().subplots(), style="print")
