"""A browser without a window for tests of pages, by its DevTools protocol: nothing but Chromium is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
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
    """A document, or a page of a server, in a tab of some width, of a phone if that is narrow."""

    def __init__(self, browser: Browser, place: Path | str, width: int, scheme: str = "light") -> None:
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
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=place if isinstance(place, str) else place.as_uri())
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

    def until(self, expression: str, seconds: float = 20.0) -> Any:
        """The value of an expression, once it is one; fails if it never is."""
        end = time.monotonic() + seconds
        while not (value := self._js_of_now(expression)):
            assert time.monotonic() < end, f"{expression}: still {value!r} after {seconds} s"
            time.sleep(0.02)
        return value

    def _js_of_now(self, expression: str) -> Any:
        """The value of an expression; none while one page takes the place of another."""
        try:
            return self.js(expression)
        except AssertionError as error:
            if "navigated or closed" not in str(error) and "context was destroyed" not in str(error):
                raise
            return None

    def picture(self, *, whole: bool = False) -> bytes:
        """What is seen, or the whole page, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def close(self) -> None:
        """The tab."""
        self.call("Page.close")
