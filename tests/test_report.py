"""Does a report hold all that it shows, show what was measured, and work in a real browser on a desk and on a phone?"""

from __future__ import annotations

import base64
import fcntl
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
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
from softsense.papers.charts import charts_of
from softsense.papers.drawing import Line, draw_bars, lines, point
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
        """What plotly.js is given."""
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
    named = {trace["name"] for chart in page.charts for trace in chart["data"]}
    assert {"no soft sensing", *(run.name for run in comparison.runs), "retries", "program"} <= named


def test_curves_are_the_distributions(comparison: softsense.Comparison, compared: str) -> None:
    done, tail = Page(compared).charts[:2]
    for trace, longer, run in zip(done["data"], tail["data"], comparison.all_runs, strict=True):
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
        assert all(trace["x"] for chart in Page(text).charts for trace in chart["data"])


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
    assert sum(len(trace["x"]) for trace in ratios["data"]) == 2
    assert first["data"][0]["name"] == second["data"][0]["name"] == "two-step"
    assert sum(load.startswith("data:image/png") for load in page.loads) == 2
    (attached, _) = [link for link in page.links if link.startswith("data:text/csv")]
    assert base64.b64decode(attached.partition(",")[2]).startswith(b"group,bar,value,lo,hi")


def test_bars_of_a_picture_become_a_chart() -> None:
    rows = [
        {"group": group, "bar": bar, "value": value, "lo": value - 0.5, "hi": value + 0.25}
        for group, bar, value in (("a", "x", 1.0), ("a", "y", 2.0), ("b", "x", 3.0))
    ]
    frame = pl.DataFrame(rows)
    colours = {"x": "#0072b2", "y": "#d55e00"}
    picture = draw_bars(frame, "title", "us", colours=colours, note="so", published={"b": (2.0, 4.0)})
    (chart,) = charts_of(picture, frame)
    assert (chart.y_label, chart.note, chart.level) == ("us", "so", 1.0)
    x, y, published = chart.series
    assert (x.name, x.x, x.y, x.colour) == ("x", ["a", "b"], [1.0, 3.0], "#0072b2")
    assert x.lo == pytest.approx([0.5, 2.5])
    assert x.hi == pytest.approx([1.25, 3.25])
    assert (y.name, y.x) == ("y", ["a"])
    assert (published.name, published.x, published.lo, published.hi) == ("published", ["b"], [2.0], [4.0])


def test_lines_of_a_picture_become_charts() -> None:
    number = papers.Number(2.0, 1.0, 4.0)
    rows = [point(panel, line, x, number) for panel in ("p", "q") for line in ("a", "b") for x in (1.0, 10.0)]
    frame = pl.DataFrame(rows)
    styles = {"a": Line("#0072b2"), "b": Line("#d55e00", "none")}
    picture = lines("title", "age", ("us", "%"), styles, "so", at=(1, 10))(frame)
    charts = charts_of(picture, frame)
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
    assert charts_of(picture, pl.DataFrame({"a": [1]})) == []
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
    assert page.tags.count("script") == len(page.scripts) == 3
    assert page.tags.count("img") == 1
    assert all(load.startswith("data:") for load in page.loads)
    assert page.text.count("window.pwned = 1") > 10
    assert "<script>window" not in document


def test_equal_arguments_give_equal_documents(comparison: softsense.Comparison, compared: str) -> None:
    assert comparison.report() == compared


def test_a_report_is_small_and_made_in_no_time(comparison: softsense.Comparison, compared: str) -> None:
    assert len(compared.encode()) < 6e6
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
    assert chart["data"][0]["y"] == [1.0, None, None]
    assert chart["data"][1]["y"] == [10, 123456789, None]
    assert chart["data"][1]["error_y"]["array"][0] == 1.0


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
        ("an order", None),
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


# In a browser.

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-pipe",
)
# The browser reads commands from file descriptor 3 and answers on 4.
_LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)


class Browser:
    """A browser without a window, driven by its DevTools protocol over a pipe."""

    def __init__(self, program: str, profile: Path) -> None:
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        command = [sys.executable, "-c", _LAUNCH, *map(str, theirs), program, *_FLAGS, f"--user-data-dir={profile}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=theirs, **quiet)
        for end in (theirs_in, theirs_out, *theirs):
            os.close(end)
        self._calls, self._unread = 0, b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Do something and return what comes of it."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        unsent = json.dumps(message).encode() + b"\0"
        while unsent:
            unsent = unsent[os.write(self._to, unsent) :]
        while (answer := self._read()).get("id") != self._calls:
            self.events.append(answer)
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def wait(self, event: str) -> None:
        """Until that has happened."""
        while not any(each.get("method") == event for each in self.events):
            self.events.append(self._read())

    def close(self) -> None:
        """End it."""
        self.call("Browser.close")
        self._process.wait(30)
        os.close(self._to)
        os.close(self._from)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            some = os.read(self._from, 1 << 20)
            assert some, "the browser has ended"
            self._unread += some
        whole, _, self._unread = self._unread.partition(b"\0")
        message: dict[str, Any] = json.loads(whole)
        return message


class View:
    """A document in a tab of some width, of a phone if that is narrow."""

    def __init__(self, browser: Browser, file: Path, width: int) -> None:
        self._browser, self.width = browser, width
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        phone = width < 600
        size = {"width": width, "height": 800, "deviceScaleFactor": 2 if phone else 1}
        self.call("Emulation.setDeviceMetricsOverride", **size, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call("Page.navigate", url=file.as_uri())
        browser.wait("Page.loadEventFired")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do something in this tab."""
        return self._browser.call(method, self._session, **parameters)

    def js(self, expression: str) -> Any:
        """The value of an expression."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def complaints(self) -> list[Any]:
        """What stands in the console."""
        told = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [event["params"] for event in self._browser.events if event.get("method") in told]

    def requests(self) -> list[str]:
        """The addresses that were asked for."""
        sent = [event["params"] for event in self._browser.events if event.get("method") == "Network.requestWillBeSent"]
        return [each["request"]["url"] for each in sent]

    def middle(self, element: str) -> dict[str, float]:
        """Of an element, given by an expression, once it is in view."""
        x, y = self.js(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}}); "
            "const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        return {"x": x, "y": y}

    def click(self, element: str, times: int = 1) -> None:
        """As a mouse does."""
        at = self.middle(element)
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, **at, button="left", clickCount=count)

    def press(self, element: str, key: str, text: str) -> None:
        """A key, where the element has the focus."""
        self.js(f"{element}.focus()")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text, windowsVirtualKeyCode=13)

    def close(self) -> None:
        """The tab."""
        self.call("Page.close")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser, where one is installed."""
    program = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if not program:
        pytest.skip("no browser: install Chromium (apt-get install chromium) to test reports in it")
    running = Browser(program, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory, compared: str, reproduced: str) -> dict[str, Path]:
    """The reports as files, and one of everything at its worst."""
    folder = tmp_path_factory.mktemp("reports")
    wide = Table("wide", [f"column {i}" for i in range(30)], [[EVIL, *range(29)] for _ in range(60)], "note " * 50)
    long = "a_name_without_any_place_to_break_that_is_longer_than_any_screen_of_a_phone_" * 3
    charts = [
        Chart("stacked", [Series(long, [long, "b"], [1, 2], "bar") for _ in range(12)], "x", "y", stacked=True),
        Chart(EVIL, [Series(EVIL, [EVIL, "b"], [-1, 2], "bar", [-2, 1], [0, 3], [EVIL, EVIL])], EVIL, EVIL),
        Chart("tiny", [Series("p", [1, 2], [1e-15, 1e-9], lo=[0, 0], hi=[1e-9, 1])], "x", "p", True, True, x_from=0.5),
        Chart("none", [Series("nothing", [], [])], "x", "y"),
    ]
    parts = [*charts, wide, Table("empty", ["a"], []), Picture("a", PNG, folded=True), Attachment("a.csv", "1"), long]
    worst = report.html(long, EVIL, [Section(EVIL, [long], parts)] * 2, {long: long, "b": "c\n" * 300})
    files = {}
    for name, text in (("compared", compared), ("reproduced", reproduced), ("worst", worst)):
        files[name] = folder / f"{name}.html"
        files[name].write_text(text)
    return files


@pytest.fixture(
    scope="module", params=[(name, px) for name in ("compared", "reproduced", "worst") for px in (1200, 360)], ids=str
)
def view(request: pytest.FixtureRequest, browser: Browser, documents: dict[str, Path]) -> Iterator[View]:
    """A document at the width of a desk, or of a phone."""
    name, width = request.param
    opened = View(browser, documents[name], width)
    yield opened
    opened.close()


def test_everything_fits_and_nothing_is_in_the_console(view: View) -> None:
    wide, high, plots = view.js(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight, "
        "[...document.querySelectorAll('.plot')].map(p => [...p.querySelectorAll('svg.main-svg')].map("
        "s => { const b = s.getBoundingClientRect(); return [b.left, b.right, b.height]; }))]"
    )
    # Not `innerWidth`, which on a phone grows with what is too wide.
    assert wide <= view.width, "the page scrolls sideways"
    assert high > 800
    assert plots
    for svgs in plots:
        assert svgs, "a chart was not drawn"
        for left, right, height in svgs:
            assert left >= 0
            assert right <= view.width
            assert height > 150
    assert view.js("window.pwned === undefined")
    assert view.complaints() == []
    assert all(url.startswith(("file:", "data:")) for url in view.requests())


def test_tables_scroll_by_themselves_and_keep_their_heads(view: View) -> None:
    for right, fits, overflow in view.js(
        "[...document.querySelectorAll('.scroll')].map(s => "
        "[s.getBoundingClientRect().right, s.classList.contains('fits'), getComputedStyle(s).overflowX])"
    ):
        assert right <= view.width
        assert fits or overflow == "auto"
    assert view.js("getComputedStyle(document.querySelector('thead th')).position") == "sticky"


def test_paper_gets_everything(view: View) -> None:
    view.js("window.dispatchEvent(new Event('beforeprint'))")
    widest = "Math.max(...[...document.querySelectorAll('.main-svg')].map(s => s.getBoundingClientRect().width))"
    assert view.js(widest) == 680
    assert view.js("document.querySelectorAll('details:not([open]):not(.picture)').length") == 0
    view.js("window.dispatchEvent(new Event('afterprint'))")
    assert view.js(widest) <= view.width
    assert view.js("document.querySelectorAll('details[open]').length") == 0
    if view.width > 600:
        pdf = base64.b64decode(view.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert pdf.startswith(b"%PDF")
    assert view.complaints() == []


@pytest.fixture(scope="module")
def desk(browser: Browser, documents: dict[str, Path]) -> Iterator[View]:
    """The report of a comparison on a desk."""
    opened = View(browser, documents["compared"], 1200)
    yield opened
    opened.close()


def column(view: View, index: int) -> list[str]:
    found: list[str] = view.js(
        f"[...document.querySelector('table').tBodies[0].rows].map(row => row.cells[{index}].textContent)"
    )
    return found


def test_tables_sort_by_mouse_and_keyboard(desk: View, comparison: softsense.Comparison) -> None:
    head = "document.querySelectorAll('thead th')[{0}].firstElementChild"
    state = "[...document.querySelector('thead tr').cells].map(cell => cell.ariaSort)"
    means = [run.summary["response"]["read"]["mean_us"] for run in comparison.all_runs]
    shown = [f"{mean:,.1f}" for mean in sorted(means)]
    before = column(desk, 1)
    assert before != shown
    desk.click(head.format(1))
    assert column(desk, 1) == shown
    assert desk.js(state)[:3] == ["none", "ascending", "none"]
    desk.press(head.format(1), "Enter", "\r")
    assert column(desk, 1) == shown[::-1]
    assert desk.js(state)[:3] == ["none", "descending", "none"]
    desk.click(head.format(0))
    assert column(desk, 0) == sorted(column(desk, 0))
    assert desk.js(state)[:3] == ["ascending", "none", "none"]


def test_names_toggle_series(desk: View, comparison: softsense.Comparison) -> None:
    key = "document.querySelectorAll('.keys')[0].children[{0}]"
    drawn = "document.querySelectorAll('.plot')[0].querySelectorAll('.scatterlayer .trace').length"
    many = len(comparison.all_runs)
    assert desk.js(drawn) == many
    desk.click(key.format(1))
    assert desk.js(drawn) == many - 1
    assert desk.js(f"{key.format(1)}.ariaPressed") == "false"
    desk.press(key.format(1), "Enter", "\r")
    assert desk.js(drawn) == many
    desk.click(key.format(2), times=2)
    assert desk.js(drawn) == 1
    desk.click(key.format(2), times=2)
    assert desk.js(drawn) == many


def test_axes_switch(desk: View) -> None:
    switch = "document.querySelectorAll('.scales button')[0]"
    axis = "document.querySelectorAll('.plot')[0].layout.xaxis"
    first = desk.js(f"{axis}.range")
    assert desk.js(f"[{axis}.type, {switch}.ariaPressed]") == ["log", "true"]
    desk.click(switch)
    assert desk.js(f"[{axis}.type, {switch}.ariaPressed]") == ["linear", "false"]
    assert desk.js(f"{axis}.range")[1] > 10 ** first[1] / 2
    desk.click(switch)
    assert desk.js(f"[{axis}.type, {switch}.ariaPressed]") == ["log", "true"]
    assert desk.js(f"{axis}.range") == pytest.approx(first)


def test_values_show_under_the_pointer_with_their_unit(desk: View, comparison: softsense.Comparison) -> None:
    bar = "document.querySelectorAll('.plot')[2].querySelector('.trace.bars .point path')"
    desk.call("Input.dispatchMouseEvent", type="mouseMoved", **desk.middle(bar))
    text = "document.querySelectorAll('.plot')[2].querySelector('.hovertext')?.textContent ?? ''"
    until = time.monotonic() + 10
    while not (shown := desk.js(text)):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert "no soft sensing" in shown
    assert "response time (µs)" in shown
    assert f"{comparison.all_runs[0].summary['response']['read']['mean_us']:.2f}"[:4] in shown
    assert desk.complaints() == []
