"""Does the page of `explain --serve` show what `explain` finds, for every place of its sliders, and at once?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

import page_server
from browser import Browser, View
from page_server import served
from softsense import explain
from softsense.live import explaining

QUICK_S = 0.1


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of the page."""
    with served(explaining.Explaining("mlc-25nm").answered) as server:
        yield server.address


def got(address: str, path: str, **query: Any) -> tuple[int, dict[str, Any]]:
    status, content = page_server.got(f"{address}{path}?{urlencode(query)}")
    return status, json.loads(content)


def test_an_answer_is_the_explanation(address: str) -> None:
    query = {"config": "tlc-femu", "pe": 3000, "hours": 720, "page": "centre", "technique": "sentinels", "seed": 3}
    status, answer = got(address, "api/explain", **query, policies="progressive")
    found = explain.explain(
        "tlc-femu",
        pe_cycles=3000,
        retention_hours=720,
        page="centre",
        seed=3,
        policies="progressive",
        overrides=['read.references="sentinels"'],
    )
    assert status == 200
    assert answer["explanation"] == json.loads(json.dumps(found.to_dict()))
    assert (answer["heading"], answer["told"]) == (explain.heading(found), explain.told(found))
    spans = sum(len(series["x"]) for series in answer["charts"]["reads"]["series"])
    assert spans == len(found.spans)
    wrong = {
        x: y for series in answer["charts"]["levels"]["series"] for x, y in zip(series["x"], series["y"], strict=True)
    }
    assert wrong == {str(row["level"]): row["wrong_signs"] for row in found.attempts.to_dicts()}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"config": "/etc/passwd"}, "config: found /etc/passwd, expected one of mlc-25nm, "),
        ({"code": "/etc/passwd"}, "code: found /etc/passwd, expected one of flash-8/9"),
        ({"pe": "many"}, "pe: found many, expected a whole number from 0 to 1000000"),
        ({"hours": "-1"}, "hours: found -1, expected"),
        ({"technique": "guess"}, "technique: found guess, expected one of config, cells"),
        ({"technique": "sentinels"}, "technique: found sentinels, expected one of config, cells"),
        ({"page": "middle"}, "page: found middle, expected one of lower, upper"),
        ({"policies": "none"}, "policies: found none, expected one of ideal, two_step, "),
        ({"colour": "red"}, "colour: found in the query, expected one of code, config"),
    ],
)
def test_what_cannot_be_explained_is_told(address: str, query: dict[str, str], told: str) -> None:
    status, answer = got(address, "api/explain", **query)
    assert status == 400
    assert told in answer["error"]


def test_every_technique_and_device_that_is_offered_is_explained(address: str) -> None:
    for device in explaining.devices("mlc-25nm"):
        offered = got(address, "api/choices", config=device)[1]
        assert offered["codes"]
        for technique in offered["techniques"]:
            query = {"config": device, "technique": technique, "page": offered["pages"][-1], "pe": 1000}
            status, answer = got(address, "api/explain", **query, code=offered["codes"][0], policies="progressive")
            assert status == 200, (device, technique, answer)


@pytest.mark.alone
def test_an_answer_takes_no_time() -> None:
    # CPU time: of a machine that does something else, too, the clock tells nothing.
    for device, page in (("mlc-25nm", "upper"), ("tlc-femu", "centre")):
        query = {"config": device, "page": page, "policies": "progressive"}
        answered = explaining.Explaining(device).answered
        answered("/api/explain", query, str)
        times = []
        for cycles in range(3000, 3005):
            started = time.process_time()
            answered("/api/explain", {**query, "pe": str(cycles)}, str)
            times.append(time.process_time() - started)
        assert min(times) < QUICK_S
        started = time.perf_counter()
        answered("/api/explain", {**query, "pe": "3004"}, str)
        assert time.perf_counter() - started < QUICK_S / 2, "an answer that was given before is kept"


@pytest.fixture(scope="module", params=[(1200, "light"), (390, "dark")], ids=str)
def view(request: pytest.FixtureRequest, browser: Browser, address: str) -> Iterator[View]:
    """The page on a desk by day, and on a phone by night."""
    width, scheme = request.param
    opened = View(browser, address, width, scheme)
    opened.until("document.body.dataset.answer")
    yield opened
    opened.close()


def moved(view: View, **values: Any) -> str:
    """Move controls as a reader does, and wait for what the server says of it."""
    for name, value in values.items():
        view.js(
            f"(f => {{ f.value = {json.dumps(str(value))}; for (const kind of ['input', 'change']) "
            f"f.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})(document.querySelector('[name={name}]'))"
        )
        if name == "config":
            view.until(f"document.body.dataset.answer.includes('config={value}&')")
    view.until(
        "document.body.dataset.answer === new URLSearchParams(Object.assign(Object.fromEntries(new FormData("
        "document.querySelector('form.controls'))), { hours: JSON.parse(document.getElementById('first')"
        ".textContent).retentions[document.querySelector('[name=hours]').value] })).toString()"
    )
    shown: str = view.js("document.getElementById('shown').innerText")
    return shown


def test_sliders_show_what_the_api_says(view: View) -> None:
    for cycles, place, seed in ((2000, 3, 1), (10000, 9, 7), (16000, 10, 2)):
        shown = moved(view, pe=cycles, hours=place, seed=seed, policies="progressive")
        hours = explaining.RETENTIONS[place]
        found = explain.explain("mlc-25nm", pe_cycles=cycles, retention_hours=hours, seed=seed, policies="progressive")
        assert f"{found.raw_errors:,} of {found.codeword_bits:,}" in shown
        assert explain.heading(found) in shown
        assert f"{found.reads['latency_us'][0]:,.5g} µs (progressive)" in shown
        rate = float(re.search(r"raw bit error rate\s+(\S+)", shown)[1])
        assert rate == pytest.approx(found.rber, rel=1e-3)
        bars = view.js("document.querySelectorAll('#chart-levels .plot .bar').length")
        assert bars == len(found.attempts)
        assert view.js("document.querySelectorAll('#chart-reads .plot .bar').length") == len(found.spans)
    assert view.complaints() == []


def test_a_device_brings_its_own_choices(view: View) -> None:
    shown = moved(view, config="tlc-femu", page="centre", technique="share_of_ones", pe=3000, hours=9, seed=1)
    assert "in the centre page of" in shown
    assert "inferred" in shown
    techniques = "[...document.querySelector('[name=technique]').options].map(o => o.value)"
    assert "sentinels" in view.js(techniques)
    shown = moved(view, config="mlc-25nm", page="upper", pe=10000)
    assert "in the upper page of mlc cells" in shown
    assert "sentinels" not in view.js(techniques)


def test_the_page_fits(view: View) -> None:
    assert view.js("document.documentElement.scrollWidth") <= view.width
    assert view.js("[...document.querySelectorAll('.plot svg')].length") == 3


def test_a_port_that_is_taken_is_told(address: str) -> None:
    port = str(urlsplit(address).port)
    command = [sys.executable, "-m", "softsense", "explain", "--serve", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        done.stderr
        == f"error: --port: found {port}, which another program uses, expected a free port (0 chooses one)\n"
    )
