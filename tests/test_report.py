"""Does a report hold all that it shows, and show what was measured?"""

from __future__ import annotations

import base64
import json
import math
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import softsense
from conftest import CONFIGS, SMALL, Folder
from softsense import papers, report, tables
from softsense.papers import pages
from softsense.papers.drawing import Line, bar_sheet, lines, point
from softsense.report import Attachment, Chart, Picture, Section, Series, Table
from softsense.report.cells import _sort_key
from softsense.report.marking import marked_up
from test_papers import tiny_figure, tiny_paper, tiny_plan

EVIL = "</script><script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'>%{x}"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Page(HTMLParser):
    """What a document loads, its scripts, and its text outside them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Of attributes those that make a browser load something."""
        self.tags.append(tag)
        self._inside = tag
        for name, value in attributes:
            if name == "href" and tag == "a":
                self.links.append(value or "")
            elif name in ("src", "href", "srcset", "poster", "action", "background"):
                self.loads.append(value or "")
            elif name == "style":
                self.loads += re.findall(r"url\(([^)]*)\)", value or "")
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        """Nothing is inside an element that has ended."""
        self._inside = ""

    def handle_data(self, data: str) -> None:
        """Text, scripts and styles."""
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "style":
            self.loads += re.findall(r"url\(([^)]*)\)|@import", data)
        else:
            self.text += data

    @property
    def charts(self) -> list[dict[str, Any]]:
        """What is drawn."""
        found: list[dict[str, Any]] = json.loads(self.scripts[0])
        return found


@pytest.fixture(scope="module")
def comparison() -> softsense.Comparison:
    """All policies on the small device."""
    return softsense.compare(CONFIGS / "mlc-25nm.toml", overrides=SMALL)


@pytest.fixture(scope="module")
def compared(comparison: softsense.Comparison) -> str:
    """The report of that."""
    return comparison.report()


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of a reproduction of two figures."""
    folder = tmp_path_factory.mktemp("tiny")
    paper = tiny_paper([tiny_figure("1", 200), tiny_figure("extra", 200)])
    papers.reproduce(paper, paper.figures, tiny_plan(), Folder(folder))
    return (folder / "report.html").read_text()


# What is in it.


def test_nothing_is_loaded_from_anywhere(compared: str, reproduced: str) -> None:
    for document in (compared, reproduced):
        page = Page(document)
        assert page.loads
        assert all(load.startswith("data:") for load in page.loads)
        assert all(link.startswith(("#", "data:")) for link in page.links)
        assert not {"iframe", "object", "embed", "base"} & set(page.tags)


def test_a_comparison_shows_what_was_measured_and_run(comparison: softsense.Comparison, compared: str) -> None:
    page = Page(compared)
    assert tables.finding(comparison).replace(" us", " µs") in page.text
    for block in tables.blocks(comparison):
        for _, cells in block.columns:
            assert all(cell in page.text for cell in cells)
    first = comparison.runs[0]
    told = [first.config.to_toml(), first.summary["config_sha256"], softsense.__version__, "Poisson, 2,000 requests/s"]
    for text in (*told, *(run.name for run in comparison.runs), "model", "seed"):
        assert text in page.text
    named = {series["name"] for chart in page.charts for series in chart["series"]}
    assert {"no soft sensing", *(run.name for run in comparison.runs), "retries", "program"} <= named


def test_curves_are_the_distributions(comparison: softsense.Comparison, compared: str) -> None:
    done, tail = Page(compared).charts[:2]
    for trace, longer, run in zip(done["series"], tail["series"], comparison.all_runs, strict=True):
        frame = run.distribution("read")
        assert trace["x"][1:] == pytest.approx(frame["response_us"].to_list(), rel=1e-6)
        assert trace["y"][1:] == pytest.approx([100 * share for share in frame["fraction"]], rel=1e-6)
        assert longer["y"] == pytest.approx([100 - percent for percent in trace["y"]], abs=1e-4)


def test_a_trace_is_told_from_others(trace_file: Path, config: Path, small: list[str]) -> None:
    trace = softsense.Trace(str(trace_file), format="mqsim")
    run = softsense.run(config, trace, overrides=small)
    text = Page(report.of_comparison(softsense.Comparison([run]))).text
    for told in ("small.trace", "mqsim", "2,000", f"{1400 * 4096:,} B", f"{600 * 4096:,} B"):
        assert told in text


@pytest.mark.parametrize("changed", ["workload.read_fraction=1.0", "workload.read_fraction=0.0", "workload.requests=1"])
def test_comparisons_of_all_shapes_have_a_report(config: Path, small: list[str], changed: str) -> None:
    options: dict[str, Any] = {"overrides": [*small, "workload.requests=300", changed], "policies": "two_step"}
    for baseline in (True, False):
        text = softsense.compare(config, baseline=baseline, **options).report()
        assert all(series["x"] for chart in Page(text).charts for series in chart["series"])


def test_frame_error_rates_have_a_report() -> None:
    """Its chart has the points of every level, its tables each level, its first sentence the thresholds."""
    result = softsense.measure_fer("teaching-1/2", [0.02, 0.05, 0.08], levels="1-2", relative_error=0.3, frames=20_000)
    page = Page(result.report())
    assert all(load.startswith("data:") for load in page.loads)
    curves = [series for series in page.charts[0]["series"] if not series.get("dashed")]
    for level, curve in enumerate(curves, start=1):
        at = dict(zip(curve["x"], curve["y"], strict=True))
        told = {point["rber"]: point["fer"] for point in result.curve(level)}
        assert all(told[rber] == pytest.approx(fer, rel=1e-6) for rber, fer in at.items())
        assert len(at) > 1
        assert f"Level {level}" in page.text
    crossing = next(found for found in result.thresholds if found["failure"] == 1e-2 and found["level"] == 1)
    assert f"{crossing['rber']:.4g} (level 1)" in page.text
    result.interrupted = True
    assert "Interrupted" in Page(result.report()).text


def test_a_reproduction_shows_published_beside_measured(reproduced: str) -> None:
    page = Page(reproduced)
    for text in (
        "Tiny, reproduced",
        "Of 2 measured claims",
        "reads take 100 us",
        "100.0 us",
        "For this reason.",
        "fig01.csv",
    ):
        assert text in page.text
    for text in ("a few requests", "seeds", "1, 2", "quick", "channels = 4", softsense.__version__):
        assert text in page.text
    assert re.search(r'class="mark (good|fair|bad)">(holds|holds in direction|does not hold)<', reproduced)
    ratios, first, second = page.charts
    assert sum(len(series["x"]) for series in ratios["series"]) == 2
    assert first["series"][0]["name"] == second["series"][0]["name"] == "two-step"
    assert sum(load.startswith("data:image/png") for load in page.loads) == 2
    (attached, _) = [link for link in page.links if link.startswith("data:text/csv")]
    assert base64.b64decode(attached.partition(",")[2]).startswith(b"group,bar,value,lo,hi")


def test_bars_of_a_paper_are_a_chart() -> None:
    rows = [
        {"group": group, "bar": bar, "value": value, "lo": value - 0.5, "hi": value + 0.25}
        for group, bar, value in (("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 3.0))
    ]
    frame = pl.DataFrame(rows)
    colours = {"x": "#0072b2", "y": "#d55e00"}
    sheet = bar_sheet(frame, "title", "us", colours=colours, note="so", published={"b": (2.0, 4.0)})
    (chart,) = sheet.charts
    assert (sheet.title, sheet.note, chart.y_label) == ("title", "so", "us")
    assert [mark.value for mark in chart.marks] == [1.0]
    x, y, published = chart.series
    assert (x.name, x.x, x.y, x.colour) == ("x", ["a", "b"], [1.0, 3.0], "#0072b2")
    assert x.lo == [0.5, 2.5]
    assert x.hi == [1.25, 3.25]
    assert (y.name, y.x) == ("y", ["a"])
    assert (published.kind, published.x, published.lo, published.hi) == ("range", ["b"], [2.0], [4.0])


def test_lines_of_a_paper_are_charts() -> None:
    number = papers.Number(2.0, 1.0, 4.0)
    rows = [point(panel, line, x, number) for panel in ("p", "q") for line in ("a", "b") for x in (1.0, 10.0)]
    frame = pl.DataFrame(rows)
    styles = {"a": Line("#0072b2"), "b": Line("#d55e00", "none")}
    charts = lines("title", "age", ("us", "%"), styles, "so", at=(1, 10))(frame).charts
    assert [(chart.title, chart.y_label, chart.log_x) for chart in charts] == [("p", "us", True), ("q", "%", True)]
    assert [(s.name, s.kind, s.colour) for s in charts[0].series] == [
        ("a", "line", "#0072b2"),
        ("b", "points", "#d55e00"),
    ]
    assert (charts[0].series[0].lo, charts[0].series[0].hi) == ([1.0, 1.0], [4.0, 4.0])


def test_other_pictures_stay_pictures() -> None:
    from matplotlib.figure import Figure

    picture = Figure()
    picture.subplots().bar([0.1, 0.2], [1, 2])
    figure = tiny_figure("1", 200)
    paper = tiny_paper([replace(figure, draw=lambda frame: picture)])
    result = papers.Reproduction(paper, tiny_plan(), figures=[(paper.figures[0], papers.Measured(pl.DataFrame()))])
    text = pages.of_reproduction(result)
    assert sum(load.startswith("data:image/png") for load in Page(text).loads) == 1
    assert "<details" not in text[text.index("<main") : text.index('id="run"')]


def test_text_cannot_do_anything() -> None:
    charts = [
        Chart(EVIL, [Series(EVIL, [EVIL, "b"], [1, 2], kind, labels=[EVIL, EVIL])], EVIL, EVIL, note=EVIL)
        for kind in ("bar", "line", "points")
    ]
    parts = [*charts, Table(EVIL, [EVIL], [[EVIL], [None]], EVIL), Picture(EVIL, PNG), Attachment(EVIL, EVIL), EVIL]
    document = report.html(EVIL, EVIL, [Section(EVIL, [EVIL], parts)], {EVIL: EVIL, "long": EVIL + "\n"})
    page = Page(document)
    assert page.tags.count("script") == len(page.scripts) == 2
    assert page.tags.count("img") == 1
    assert all(load.startswith("data:") for load in page.loads)
    assert page.text.count("window.pwned = 1") > 10
    assert "<script>window" not in document


def test_equal_arguments_give_equal_documents(comparison: softsense.Comparison, compared: str) -> None:
    assert comparison.report() == compared


@pytest.mark.alone
def test_a_report_is_small_and_made_in_no_time(comparison: softsense.Comparison, compared: str) -> None:
    assert len(compared.encode()) < 600_000
    times = []
    for _ in range(3):
        started = time.process_time()
        comparison.report()
        times.append(time.process_time() - started)
    assert min(times) < 1


def test_numbers_that_json_lacks_leave_gaps() -> None:
    series = [
        Series("numpy", np.array([1.0, 2.0, 3.0]), np.array([1.0, math.nan, math.inf])),
        Series("whole", [1, 2, 3], [10, 123456789, None], lo=[None, 1.0, 2.0], hi=[11.0, 2e8, None]),
    ]
    chart = Page(report.html("t", "f", [Section("s", parts=[Chart("c", series, "x", "y")])], {})).charts[0]
    assert chart["series"][0]["y"] == [1.0, None, None]
    assert chart["series"][1]["y"] == [10, 123456789, None]
    assert chart["series"][1]["lo"] == [None, 1.0, 2.0]


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (3, 3.0),
        (1.5, 1.5),
        ("1,282.0", 1282.0),
        ("1.00x", 1.0),
        ("25.9 %", 25.9),
        ("+10.8 % (+4.6 % to +17.0 %)", 10.8),
        ("-7.3 %", -7.3),
        ("at most 20.0 %", 20.0),
        ("1e-03", 1e-3),
        ("an ordering", None),
        ("512 B", None),
        ("16 bits a cycle", None),
        ("-", None),
        ("", None),
        (None, None),
        (math.nan, None),
    ],
)
def test_cells_sort_by_their_number(cell: Any, number: float | None) -> None:
    assert _sort_key(cell) == number


def test_marks_of_markdown() -> None:
    shown = marked_up("*holds*, **not** `a*b*c` <b>, F1*, F2* and 2 * 3 * 4")
    assert shown == "<em>holds</em>, <strong>not</strong> <code>a*b*c</code> &lt;b&gt;, F1*, F2* and 2 * 3 * 4"
    text, table = pages._of_markdown("Some\ntext.\n\n| a | **b** |\n|---|---|\n| 1 | `2` |")
    assert text == "Some text."
    assert table == Table("", ["a", "b"], [["1", "2"]], marks=pages.MARKS)
