"""Can a page of somebody else, in the user's browser, make a server of pages do anything, even if it knows where?"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from browser import Browser, View
from page_server import SECRET, Counted, addresses_of_files, finished_run, noting_refusals, served, servers
from softsense.live.results import Results

__all__ = ["noting_refusals", "servers"]

WAYS = {
    "fetch": "fetch(URL)",
    "fetch-no-cors": "fetch(URL, { mode: 'no-cors' })",
    "fetch-with-credentials": "fetch(URL, { credentials: 'include' })",
    "fetch-that-is-asked-before": "fetch(URL, { headers: { 'X-Some': 'thing' } })",
    "fetch-post": "fetch(URL, { method: 'POST', mode: 'no-cors', body: 'x' })",
    "fetch-that-stays": "fetch(URL, { mode: 'no-cors', keepalive: true })",
    "request": "(r => { r.open('GET', URL); r.send(); })(new XMLHttpRequest())",
    "img": "add('img', { src: URL })",
    "script": "add('script', { src: URL })",
    "module": "add('script', { src: URL, type: 'module' })",
    "import": "import(URL)",
    "style": "add('link', { rel: 'stylesheet', href: URL })",
    "preload": "add('link', { rel: 'preload', as: 'fetch', href: URL })",
    "prefetch": "add('link', { rel: 'prefetch', href: URL })",
    "iframe": "add('iframe', { src: URL })",
    "sandboxed-iframe": "add('iframe', { src: URL, sandbox: 'allow-scripts allow-forms' })",
    "iframe-of-nobody": "add('iframe', { srcdoc: `<script>fetch('${URL}', { mode: 'no-cors' })</script>` })",
    "iframe-of-data": "add('iframe', { src: `data:text/html,<img src='${encodeURI(URL)}'>` })",
    "object": "add('object', { data: URL, type: 'text/html' })",
    "embed": "add('embed', { src: URL, type: 'text/html' })",
    "video": "add('video', { src: URL, preload: 'auto' }).load()",
    "background": "add('p', { style: `background: url('${URL}')`, textContent: 'x' })",
    "events": "new EventSource(URL)",
    "socket": "new WebSocket(URL.replace('http', 'ws'))",
    "beacon": "navigator.sendBeacon(URL, 'x')",
    "worker": "new Worker(window.URL.createObjectURL(new Blob([`fetch('${URL}', { mode: 'no-cors' })`])))",
    "worker-script": "new Worker(window.URL.createObjectURL(new Blob([`importScripts('${URL}')`])))",
    "form": "(add('iframe', { name: 'f' }), add('form', { action: URL, target: 'f' }, ['from', WAY]).submit())",
    "form-post": "(add('iframe', { name: 'p' }), add('form', { action: URL, target: 'p', method: 'post' }).submit())",
    "redirect": "fetch('/leads?to=' + encodeURIComponent(URL), { mode: 'no-cors' })",
    "iframe-redirect": "add('iframe', { src: '/leads?to=' + encodeURIComponent(URL) })",
}
"""What a page can do to have an address asked for, whose query tells the way; `add` adds an element."""

ADD = """(tag, more, [name, value] = []) => {
  const made = Object.assign(document.createElement(tag), more);
  if (name) made.append(Object.assign(document.createElement('input'), { name, value }));
  document.body.append(made);
  return made;
}"""


OPEN = """document.body.innerHTML = '<button>x</button>';
document.querySelector('button').onclick = () => open('%s?from=open');"""
LINK = """document.body.innerHTML = `<a href="%s?from=link" ping="%s?from=ping">x</a>`;"""

REPORT = """<body>all <script>
  document.title = JSON.stringify([
    location.href, document.referrer, document.baseURI, performance.getEntries().map(e => e.name), window.origin
  ]);
  for (const to of ['../../..', 'a.txt', '../../api/state', '/']) {
    fetch(to).catch(() => 0);
    new Image().src = to;
  }
</script>"""


class Elsewhere(BaseHTTPRequestHandler):
    """A page of somebody else, which can also lead away."""

    def do_GET(self) -> None:
        to = parse_qs(urlsplit(self.path).query).get("to")
        self.send_response(302 if to else 200)
        if to:
            self.send_header("Location", to[0])
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """The port of somebody else's pages on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def wait_for(server: Counted, ways: set[str]) -> None:
    """Until requests have come in all these ways: before it is not known that none was answered."""
    end = time.monotonic() + 60
    while missing := ways - {way for path in server.refused for way in parse_qs(urlsplit(path).query)["from"]}:
        assert time.monotonic() < end, missing
        time.sleep(0.05)


@pytest.mark.usefixtures("noting_refusals")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_that_knows_the_address_gets_nothing(
    servers: dict[str, Counted], browser: Browser, elsewhere: int, host: str
) -> None:
    folder = servers["serve-results"]
    addresses = [(servers["explain"], f"{servers['explain'].address}{path}") for path in ("", "api/explain")]
    addresses += [(folder, f"{folder.address}{path}") for path in ("", "api/state")]
    addresses += [(folder, address) for address in addresses_of_files(folder).values()]
    if host == "localhost":
        # Files are refused by either name as pages are.
        addresses = addresses[:4]
    folder.answered.clear()
    for server, address in addresses:
        server.refused.clear()
        view = View(browser, f"http://{host}:{elsewhere}/", 1200)
        for way, done in WAYS.items():
            view.js(
                f"((URL, WAY, add) => {{ try {{ void ({done}); }} catch (error) {{}} }})"
                f"('{address}?from={way}', '{way}', {ADD})"
            )
        wait_for(server, {*WAYS})
        # What needs a hand: a new window, and another page in place of this one.
        view.js(OPEN % address)
        view.click("document.querySelector('button')")
        wait_for(server, {"open"})
        view.js(LINK % (address, address))
        view.click("document.querySelector('a')")
        wait_for(server, {"link", "ping"})
        view.until("document.body?.innerText.includes('paste its address into the address bar')")
        view.close()
        assert server.answered == [], address
    # The user, who opens the same address, gets the page, and the page what it asks for.
    for server, path in ((servers["explain"], "/api/explain"), (folder, "/api/state")):
        server.refused.clear()
        view = View(browser, server.address, 1200)
        view.until("document.body?.dataset.answer || document.body?.dataset.asked")
        assert view.complaints() == []
        assert {"/", path} <= set(server.answered)
        assert server.refused == []
        view.close()


@pytest.mark.usefixtures("noting_refusals")
def test_a_report_learns_of_nothing_but_itself(browser: Browser, tmp_path: Path) -> None:
    finished_run(tmp_path / "out", {"report.html": REPORT.encode(), "a.txt": SECRET})
    with served(Results(tmp_path / "out").answered) as server:
        view = View(browser, server.address, 1200)
        view.until("document.querySelectorAll('.files a').length")
        key = server.address.split("/")[3]
        assert key in view.js("location.href")
        view.click("[...document.querySelectorAll('.files a')].find(a => a.textContent === 'report.html')")
        told = view.until("document.title.startsWith('[') && document.title")
        address, referrer, *_, origin = json.loads(told)
        assert address.endswith("/files/run/report.html")
        assert (referrer, origin) == ("", "null")
        assert key not in told
        answered = list(server.answered)
        assert answered[-1] == "/files/run/report.html"
        time.sleep(0.5)
        assert server.answered == answered
        # And back to the page, which goes on.
        view.js("setTimeout(() => history.back()) && 0")
        view.until("document.querySelectorAll('.files a').length")
        assert server.answered[-1] == "/api/state"
        view.close()
