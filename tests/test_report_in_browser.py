"""Does a report work in a real browser: on a desk and on a phone, in light and in the dark, by mouse and by keys?"""

from __future__ import annotations

import base64
import csv
import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import softsense
from browser import Browser, View
from conftest import CONFIGS, SMALL, Folder
from softsense import papers, report
from softsense.report import Attachment, Chart, Picture, Section, Series, Table
from test_papers import tiny_figure, tiny_paper, tiny_plan
from test_report import EVIL, PNG

WIDTHS = (1200, 390, 360)
SIZES = [
    (name, px, scheme) for name in ("compared", "reproduced", "worst") for px in WIDTHS for scheme in ("light", "dark")
]
INK = {"light": "rgb(34, 34, 34)", "dark": "rgb(232, 232, 232)"}
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 27)"}


@pytest.fixture(scope="module")
def comparison() -> softsense.Comparison:
    """All policies on the small device."""
    return softsense.compare(CONFIGS / "mlc-25nm.toml", overrides=SMALL)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory, comparison: softsense.Comparison) -> dict[str, Path]:
    """Reports as files: of a comparison, of two figures of a paper, of designs, and of everything at its worst."""
    folder = tmp_path_factory.mktemp("reports")
    paper = tiny_paper([tiny_figure("1", 200), tiny_figure("extra", 200)])
    papers.reproduce(paper, paper.figures, tiny_plan(), Folder(folder))
    wide = Table("wide", [f"column {i}" for i in range(30)], [[EVIL, *range(29)] for _ in range(60)], "note " * 50)
    long = "a_name_without_any_place_to_break_that_is_longer_than_any_screen_of_a_phone_" * 3
    charts = [
        Chart("stacked", [Series(long, [long, "b"], [1, 2], "bar") for _ in range(12)], "x", "y", stacked=True),
        Chart(EVIL, [Series(EVIL, [EVIL, "b"], [-1, 2], "bar", [-2, 1], [0, 3], [EVIL, EVIL])], EVIL, EVIL),
        Chart(
            "tiny",
            [Series("p", [1, 2], [1e-15, 1e-9], lo=[0, 0], hi=[1e-9, 1])],
            "x",
            "p",
            True,
            True,
            x_range=(0.5, None),
        ),
        Chart("none", [Series("nothing", [], [])], "x", "y"),
        Chart("one", [Series("alone", [3], [0.0], "points")], "x", "y"),
    ]
    parts = [*charts, wide, Table("empty", ["a"], []), Picture("a", PNG, folded=True), Attachment("a.csv", "1"), long]
    worst = report.html(long, EVIL, [Section(EVIL, [long], parts)] * 2, {long: long, "b": "c\n" * 300})
    names = [f"design {i}" for i in range(20)]
    shown = [
        Chart("one pair", [Series("d", list(range(20)), list(range(20)), "points", keys=names)], "a", "b"),
        Chart(
            "other pair", [Series("d", list(range(20)), [20 - i for i in range(20)], "points", keys=names)], "a", "c"
        ),
        Table("designs", ["design", "a"], [[name, i] for i, name in enumerate(names)], keys=names),
    ]
    texts = {
        "compared": comparison.report(),
        "reproduced": (folder / "report.html").read_text(),
        "worst": worst,
        "designs": report.html("Designs", "All.", [Section("Two", parts=shown)], {"seed": "1"}),
    }
    files = {name: folder / f"{name}.html" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text)
    return files


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: "-".join(map(str, size)))
def view(request: pytest.FixtureRequest, browser: Browser, documents: dict[str, Path]) -> Iterator[View]:
    """A document at the width of a desk, or of a phone, by day or by night."""
    name, width, scheme = request.param
    opened = View(browser, documents[name], width, scheme)
    opened.scheme, opened.name = scheme, name
    yield opened
    opened.close()


def test_everything_fits_and_nothing_is_in_the_console(view: View) -> None:
    wide, high, plots = view.js(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight, "
        "[...document.querySelectorAll('.plot')].map(p => [...p.querySelectorAll('svg')].map("
        "s => { const b = s.getBoundingClientRect(); return [b.left, b.right, b.height]; }))]"
    )
    # Not `innerWidth`, which on a phone grows with what is too wide.
    assert wide <= view.width, "the page scrolls sideways"
    assert high > 800
    assert plots
    for svgs in plots:
        assert len(svgs) == 1, "a chart was not drawn"
        for left, right, height in svgs:
            assert left >= 0
            assert right <= view.width
            assert height >= 150
    assert "NaN" not in view.js("[...document.querySelectorAll('.plot')].map(p => p.innerHTML).join('')")
    assert view.js("window.pwned === undefined")
    assert view.complaints() == []
    assert all(url.startswith(("file:", "data:")) for url in view.requests())


def test_what_is_drawn_can_be_seen_by_day_and_by_night(view: View) -> None:
    style = "getComputedStyle(document.body).{0}"
    assert view.js(style.format("color")) == INK[view.scheme]
    assert view.js(style.format("backgroundColor")) == PAPER[view.scheme]
    # Of lines and bars with what is behind them, by the formula of WCAG; pale parts of bars have a rim on white.
    worst = view.js(
        "(() => { const lum = c => { const n = c.match(/\\w\\w/g).map(h => parseInt(h, 16) / 255)"
        ".map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);"
        "return 0.2126 * n[0] + 0.7152 * n[1] + 0.0722 * n[2]; };"
        "const paper = lum(Charts.palette().paper.slice(1));"
        "const all = [...document.querySelectorAll('.plot .line, .plot .point')]"
        ".map(e => e.getAttribute(e.matches('.line') ? 'stroke' : 'fill').slice(1)).map(lum);"
        "return Math.min(99, ...all.map(l => (Math.max(l, paper) + 0.05) / (Math.min(l, paper) + 0.05))); })()"
    )
    assert worst >= (3 if view.scheme == "dark" else 2.2)


def test_contents_stay_in_sight(view: View) -> None:
    view.js("window.scrollTo(0, document.documentElement.scrollHeight / 2)")
    top, bottom = view.js(
        "(() => { const b = document.querySelector('nav').getBoundingClientRect(); return [b.top, b.bottom]; })()"
    )
    assert top == pytest.approx(0, abs=1)
    assert bottom > 20
    assert view.js("document.querySelector('nav details').open") == (view.width > 1000)
    assert view.until("document.querySelectorAll('nav a[aria-current]').length") == 1


def test_verdicts_are_seen_without_scrolling_sideways(view: View) -> None:
    if view.name != "reproduced":
        return
    for left, right, sign in view.js(
        "[...document.querySelectorAll('.mark')].map(m => { const b = m.getBoundingClientRect(); "
        "return [b.left, b.right, getComputedStyle(m, '::before').content]; })"
    ):
        assert 0 <= left < right <= view.width
        assert sign not in ("", "none", "normal"), "a verdict is told by colour and words alone"


def test_tables_scroll_by_themselves_and_keep_their_heads(view: View) -> None:
    for right, fits, overflow in view.js(
        "[...document.querySelectorAll('.scroll')].map(s => "
        "[s.getBoundingClientRect().right, s.classList.contains('fits'), getComputedStyle(s).overflowX])"
    ):
        assert right <= view.width
        assert fits or overflow in ("auto", "visible")
    assert view.js("getComputedStyle(document.querySelector('thead th')).position") == "sticky"


def test_paper_gets_everything_in_light_colours(view: View) -> None:
    view.js("window.dispatchEvent(new Event('beforeprint'))")
    widest = "Math.max(...[...document.querySelectorAll('.plot svg')].map(s => Number(s.getAttribute('width'))))"
    assert view.js(widest) == 680
    assert view.js("document.querySelector('.plot svg').getAttribute('fill')") == view.js("Charts.LIGHT.faint")
    assert view.js("document.querySelectorAll('main details:not([open]):not(.picture)').length") == 0
    view.js("window.dispatchEvent(new Event('afterprint'))")
    assert view.js(widest) <= view.width
    assert view.js("document.querySelectorAll('main details[open]').length") == 0
    if view.width > 600:
        pdf = base64.b64decode(view.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert pdf.startswith(b"%PDF")
    assert view.complaints() == []


def test_no_line_leads_to_a_point_that_is_not_whole(browser: Browser, tmp_path: Path) -> None:
    """On a page as in a picture: whiskers in place of a line and a band, and what a hollow point means."""
    ends = {"lo": [0.5, 1, 1.5, 2], "hi": [2, 3, 4, 5], "band": True, "marker": "circle"}
    hollow = [True, False, False, True]
    charts = [
        Chart(f"loose {loose}", [Series("a", [1, 2, 3, 4], [1, 2, 3, 4], **ends, hollow=hollow, loose=loose)], "x", "y",
              hollow="not whole")
        for loose in (True, False)
    ]  # fmt: skip
    file = tmp_path / "hollow.html"
    file.write_text(report.html("t", "f", [Section("s", parts=charts)], {}))
    view = View(browser, file, 1200)
    count = "[...document.querySelectorAll('.plot')].map(p => p.querySelectorAll('{0}').length)"
    assert view.until("document.querySelectorAll('.plot svg').length") == 2
    assert view.js(count.format(".whisker")) == [2, 0]
    assert view.js(count.format(".line[stroke-dasharray]")) == [0, 1]
    solid = "[...document.querySelectorAll('.plot .line:not([stroke-dasharray])')]"
    # Of four points two are joined.
    assert [path.count("L") for path in view.js(f"{solid}.map(line => line.getAttribute('d'))")] == [1, 1]
    keys = view.js("[...document.querySelectorAll('.keys')].map(k => k.innerText.trim().split(/\\s*\\n\\s*/))")
    assert keys == [["a", "not whole"]] * 2
    view.click("document.querySelector('.keys button')")
    assert view.js(count.format(".line")) == [0, 2]
    assert view.complaints() == []
    view.close()


@pytest.fixture
def desk(browser: Browser, documents: dict[str, Path]) -> Iterator[View]:
    """The report of a comparison on a desk."""
    opened = View(browser, documents["compared"], 1200)
    yield opened
    opened.close()


@pytest.fixture
def designs(browser: Browser, documents: dict[str, Path]) -> Iterator[View]:
    """Two charts and a table of the same designs."""
    opened = View(browser, documents["designs"], 1200)
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
    drawn = "document.querySelectorAll('.plot')[0].querySelectorAll('.series').length"
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
    switch = "document.querySelector('.tools [data-axis=x]')"
    axis = "document.querySelectorAll('.plot')[0].plot.scales.x"
    first = desk.js(f"{axis}.range")
    assert desk.js(f"[{axis}.type, {switch}.ariaPressed]") == ["log", "true"]
    desk.click(switch)
    assert desk.js(f"[{axis}.type, {switch}.ariaPressed]") == ["linear", "false"]
    assert desk.js(f"{axis}.range")[1] > first[1] / 2
    desk.click(switch)
    assert desk.js(f"[{axis}.type, {switch}.ariaPressed]") == ["log", "true"]
    assert desk.js(f"{axis}.range") == pytest.approx(first)


def test_values_show_under_the_pointer_with_their_unit(desk: View, comparison: softsense.Comparison) -> None:
    bar = "document.querySelectorAll('.plot')[2].querySelector('.bar')"
    desk.call("Input.dispatchMouseEvent", type="mouseMoved", **desk.middle(bar))
    shown = desk.until(
        "(t => t.hidden ? '' : t.textContent)(document.querySelectorAll('.plot')[2].querySelector('.tip'))"
    )
    assert "no soft sensing" in shown
    assert "response time (µs)" in shown
    assert f"{comparison.all_runs[0].summary['response']['read']['mean_us']:.2f}"[:4] in shown
    assert desk.complaints() == []


def test_values_are_reached_by_keys(desk: View) -> None:
    plot = "document.querySelectorAll('.plot')[2]"
    told = f"{plot}.querySelector('.tip').textContent"
    desk.press(plot, "ArrowRight", "")
    assert "mean" in desk.js(told)
    desk.press(plot, "ArrowRight", "")
    assert "p50" in desk.js(told)
    first = desk.js(f"{plot}.querySelector('.tip b').textContent")
    desk.press(plot, "ArrowDown", "")
    assert desk.js(f"{plot}.querySelector('.tip b').textContent") != first
    assert "p50" in desk.js(told)


def drag(view: View, element: str, across: tuple[float, float], down: tuple[float, float]) -> None:
    """With the mouse over parts of an element's box, from its left to its right and from its top to its bottom."""
    view.middle(element)
    box = view.js(f"(b => [b.left, b.top, b.width, b.height])({element}.getBoundingClientRect())")
    places = [(box[0] + x * box[2], box[1] + y * box[3]) for x, y in zip(across, down, strict=True)]
    for kind, (x, y) in zip(
        ("mousePressed", "mouseMoved", "mouseReleased"), (places[0], places[1], places[1]), strict=True
    ):
        view.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)


def test_charts_of_one_axis_zoom_together(desk: View) -> None:
    ranges = "[0, 1, 2].map(i => document.querySelectorAll('.plot')[i].plot.scales.x.range)"
    before = desk.js(ranges)
    drag(desk, "document.querySelectorAll('.plot')[0]", (0.4, 0.6), (0.5, 0.51))
    done, tail, bars = desk.js(ranges)
    assert before[0][0] < done[0] < done[1] < before[0][1]
    assert tail == done
    assert bars is None
    desk.click("document.querySelectorAll('.plot')[0]", times=2)
    assert desk.js(ranges)[0] == pytest.approx(before[0])
    assert desk.js(ranges)[1] == pytest.approx(before[1])


def test_what_is_selected_in_a_chart_is_so_in_all_and_in_the_table(designs: View) -> None:
    faded = "[...document.querySelectorAll('.plot')].map(p => p.querySelectorAll('.point[opacity]').length)"
    rows = "[...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => r.dataset.row)"
    assert designs.js(faded) == [0, 0]
    assert len(designs.js(rows)) == 20
    designs.click("document.querySelector('[data-select]')")
    drag(designs, "document.querySelector('.plot')", (0.05, 0.5), (0.02, 0.95))
    chosen = designs.js(rows)
    assert 5 < len(chosen) < 15
    assert chosen == [f"design {i}" for i in range(len(chosen))]
    assert designs.js(faded) == [20 - len(chosen)] * 2
    designs.click("document.querySelector('[data-select]')")
    assert designs.js(faded) == [0, 0]
    assert len(designs.js(rows)) == 20


def test_rows_are_found_by_words(designs: View) -> None:
    designs.js(
        "(i => { i.value = 'DESIGN 1'; i.dispatchEvent(new Event('input')); })(document.querySelector('.filter'))"
    )
    assert designs.js("[...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).length") == 11
    assert designs.js("document.querySelector('.count').textContent") == "11 of 20 rows"


def test_night_and_day_can_be_chosen(desk: View) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "document.querySelector('.plot svg').getAttribute('fill')"
    by_day = desk.js(ink)
    desk.click("document.getElementById('theme')")
    assert desk.js(ground) == PAPER["dark"]
    assert desk.js(ink) != by_day
    desk.click("document.getElementById('theme')")
    assert desk.js(ground) == PAPER["light"]
    assert desk.js(ink) == by_day


def test_pictures_and_numbers_are_saved(browser: Browser, documents: dict[str, Path], tmp_path: Path) -> None:
    view = View(browser, documents["compared"], 1200, "dark")
    view.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    for kind in ("csv", "svg", "png"):
        view.click(f"document.querySelectorAll('.chart')[2].querySelector('[data-save={kind}]')")
    view.click("document.querySelector('.table [data-save=csv]')")
    end = time.monotonic() + 20
    while len(found := [file for file in tmp_path.iterdir() if file.suffix in (".csv", ".svg", ".png")]) < 4:
        assert time.monotonic() < end, found
        time.sleep(0.05)
    time.sleep(0.2)
    table = tmp_path / "response-time-of-requests-s.csv"
    (png,), (svg,) = (list(tmp_path.glob(f"*.{kind}")) for kind in ("png", "svg"))
    (numbers,) = set(tmp_path.glob("*.csv")) - {table}
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert "no soft sensing" in text
    assert "#ffffff" in text
    rows = list(csv.DictReader(io.StringIO(numbers.read_text())))
    value = view.js("document.querySelectorAll('.plot')[2].plot.chart.series[0].y[0]")
    assert float(rows[0]["response time (µs)"]) == value
    assert len(table.read_text().splitlines()) == view.js("document.querySelector('table').rows.length")
    assert view.complaints() == []
    view.close()
