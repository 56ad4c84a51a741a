"""Requests that no browser would send, to the servers of pages: `soak.py` runs this.

`explain --serve` and `serve-results` run as they do for a user, in a folder with a file of code that tells if it was
executed. They get requests whose methods, addresses, queries, headers and bytes are right, odd or wrong, mostly with
the right key, from several clients at once. Each must be answered without blaming the server (5xx), or its connection
be closed, at once; and at the end both servers must have said nothing, have executed nothing, and still answer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from commands import mutated

from softsense import following

PATIENCE_S = 60
CLIENTS = 2
"""Of each server, at once."""
LEAST_READ = 8192
"""So long a request is read whatever it says; of a longer one the connection may be reset before the answer is read."""
MOST_TOLD = 2000
"""Bytes of an answer that refuses something."""

EVIL = "open('executed', 'w')\nclass X:\n    def next(self, read):\n        return None\n"
METHODS = [
    *["GET"] * 60,
    *("HEAD", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "CONNECT", "get", "G\0T", "__init__", "ü", ""),
]
VERSIONS = [
    *["HTTP/1.1"] * 20,
    *("HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.1.1", "HTTP/x", "HTTP/²", "http/1.1", "", "x y"),
]
OFFERED = {
    "config": ["mlc-25nm", "tlc-femu"],
    "pe": ["0", "3000", "10000", "20000", "1000000"],
    "hours": ["0", "1", "720", "8760", "1000000"],
    "page": ["upper", "lower", "centre"],
    "technique": ["config", "retry_table", "sentinels", "controller"],
    "code": ["flash-8/9", "irregular-8/9"],
    "policies": ["two_step", "progressive", "all"],
    "seed": ["0", "1", "2", str(2**64 - 1)],
}
ODD = [
    *("evil.py:X", "this:X", "this", ":", "a:b:c", "two_step,evil.py:X", "/etc/passwd", "../../etc/passwd", "evil.py"),
    *("..", "\0", "\x1b]0;x\a", "a\r\nX: y", "ü", "１２", "-1", "1e3", "nan", "", " ", "\u202e"),
    *("x" * 3000, "9" * 30, str(2**64)),
]
PATHS = ["", "api/explain", "api/choices", "api/state", "files/", "files/run/a.txt", "api/", "x", "api/x/", "API/STATE"]
ODD_PATHS = ["/etc/passwd", "../", "files/../../evil.py", "%2e%2e/", "%00", "%ff", "//", "\\", "x" * 9000, ";"]
HOSTS = ["evil.example", "[::1", "a[b]c", "", "127.0.0.1:x", "@", "0.0.0.0", "127.0.0.1, x", "x" * 1000, "\xff"]
HEADERS = [
    *("Origin: http://evil.example", "Origin: null", "Origin:", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: x"),
    *("Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none", "Connection: close", "Connection: keep-alive"),
    *("Content-Length: 0", "Content-Length: -1", "Content-Length: x", "Content-Length: 99999999999", "Host: x"),
    *("Transfer-Encoding: chunked", "Expect: 100-continue", "Upgrade: websocket", "Content-Type: multipart/mixed"),
    *("no header", " folded", ": empty", "Name : value", "Cookie: a=b", "X: \0", "\xff: \xfe", "X: " + "y" * 5000),
]


@dataclass
class Served:
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int
    key: str
    files: list[str] = field(default_factory=list)
    """Addresses of files, from the port on."""


@dataclass
class Found:
    """What became of requests."""

    codes: Counter[int] = field(default_factory=Counter)
    longest_s: float = 0.0
    failures: list[str] = field(default_factory=list)


class Unkept(Exception):  # noqa: N818
    """A promise that was not kept."""


def request(draw: random.Random, served: Served) -> tuple[bytes, bool]:
    """The bytes of a request, and whether it is one: that an answer is due, after which another may follow."""
    path = draw.choice(PATHS[:4] * 4 + PATHS) if draw.random() < 0.9 else draw.choice(ODD_PATHS)
    key = served.key if draw.random() < 0.9 else draw.choice(["", "x", served.key[:-1], served.key + "0", "0" * 32])
    target = f"/{key}/{path}"
    if draw.random() < 0.1:
        target = draw.choice(
            [*served.files, *served.files, "/", "*", "//", "", "http://[::1/", f"http://x{target}", f"{target}#x"]
        )
    if draw.random() < 0.7:
        names = [
            draw.choice([*OFFERED, *ODD] if draw.random() < 0.03 else [*OFFERED]) for _ in range(draw.randrange(5))
        ]
        pairs = [(name, draw.choice(OFFERED.get(name, ODD) if draw.random() < 0.8 else ODD)) for name in names]
        query = "&".join(f"{quote(name)}={quote(value)}" for name, value in pairs)
        target += "?" + (query if draw.random() < 0.97 else draw.choice(["&", "=", "%", "?", "x" * 9000, "a=1&" * 100]))
    host = f"127.0.0.1:{served.port}" if draw.random() < 0.93 else draw.choice(HOSTS)
    method, version = draw.choice(METHODS), draw.choice(VERSIONS)
    lines = [f"{method} {target} {version}", f"Host: {host}"]
    lines += [draw.choice(HEADERS) for _ in range(draw.choice([0, 0, 0, 1, 1, 3, 120 if draw.random() < 0.05 else 2]))]
    sent = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", errors="replace")
    match draw.randrange(20):
        case 0 | 1 | 2:
            return mutated(draw, sent), False
        case 3:
            return sent + draw.randbytes(draw.randrange(200)), False
        case 4:
            return sent * draw.randrange(2, 5), False
        case 5:
            return sent[: draw.randrange(len(sent))], False
        case 6:
            return draw.randbytes(draw.choice([1, 10, 100, 10_000])), False
    return sent, "HTTP/1.1" in version


class Client:
    """A client of a server, which keeps its connection where it can."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: socket.socket | None = None

    def ask(self, sent: bytes) -> int:
        """The status of the answer to a request; 0 if the connection was closed instead."""
        connection = self._connected()
        found = b""
        try:
            connection.sendall(sent)
            while b"\r\n\r\n" not in found and (some := connection.recv(1 << 16)):
                found += some
            head, _, body = found.partition(b"\r\n\r\n")
            length = re.search(rb"^Content-Length: (\d+)", head, re.MULTILINE)
            left = int(length[1]) - len(body) if length and not sent.startswith(b"HEAD ") else 0
            while left > 0 and (some := connection.recv(min(left, 1 << 16))):
                body += some
                left -= len(some)
        except (ConnectionResetError, BrokenPipeError):
            left = 0
        if b"\nConnection: close" in found or not found or found.startswith(b"HTTP/1.1 100"):
            self.close()
        if not found and len(sent) > LEAST_READ:
            return 0
        if left or not found.startswith(b"HTTP/1.1 "):
            raise Unkept(f"no whole answer: {found[:200]!r}")
        return judged(found)

    def throw(self, sent: bytes, *, reset: bool) -> list[int]:
        """The statuses of all answers to some bytes, after which nothing comes."""
        self.close()
        connection = self._connected()
        found = b""
        try:
            connection.sendall(sent)
            if reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            else:
                connection.shutdown(socket.SHUT_WR)
                while some := connection.recv(1 << 16):
                    found += some
        except TimeoutError:
            raise Unkept(f"neither answered nor closed: {found[:200]!r}") from None
        except OSError:
            # The server may end the connection at any time.
            pass
        self.close()
        if found and not found.startswith(b"HTTP/1.1 "):
            raise Unkept(f"no answer of HTTP: {found[:200]!r}")
        answers = re.split(rb"(?=^HTTP/1\.1 \d{3} )", found, flags=re.MULTILINE)
        return [judged(answer) for answer in answers if answer] or [0]

    def close(self) -> None:
        """The connection."""
        if self._connection:
            self._connection.close()
            self._connection = None

    def _connected(self) -> socket.socket:
        # What the server has closed meanwhile is readable.
        if self._connection and select.select([self._connection], [], [], 0)[0]:
            self.close()
        if not self._connection:
            self._connection = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S)
        return self._connection


def judged(answer: bytes) -> int:
    """The status of an answer, if it is one that may be given."""
    status = int(answer.split(b" ", 2)[1])
    if status >= 500 or b"Traceback" in answer:
        raise Unkept(f"the server failed: {answer[:2000]!r}")
    if status >= 400 and len(answer) > MOST_TOLD:
        raise Unkept(f"{len(answer)} bytes to refuse something: {answer[:2000]!r}")
    return status


@contextlib.contextmanager
def serving(command: list[str], folder: Path) -> Iterator[Served]:
    """A server, which must have said nothing when it is interrupted."""
    process = subprocess.Popen(
        [sys.executable, "-m", "softsense", *command, "--port", "0"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        told = re.match(r"http://127\.0\.0\.1:(\d+)/(\w+)/", process.stdout.readline())
        assert told, process.communicate()
        yield Served(process, int(told[1]), told[2])
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)
    if (process.returncode, *said) != (130, "", ""):
        raise Unkept(f"{command[0]}: ended with {process.returncode} and said {said}")


def peak_mb(served: Served) -> int:
    """The most memory that a server has had."""
    with contextlib.suppress(OSError):
        told = Path(f"/proc/{served.process.pid}/status").read_text()
        return int(re.findall(r"^VmHWM:\s+(\d+) kB", told, re.MULTILINE)[0]) // 1024
    return 0


def made(folder: Path) -> None:
    """A folder of results of one run, and code of nobody."""
    (folder / "evil.py").write_text(EVIL)
    (folder / "out" / "run").mkdir(parents=True)
    with following.following(folder / "out" / "run" / following.NAME, "sweep", "s", lambda *_: None) as told:
        told("simulating", 3, 0.5)
    for name in ("report.html", "a.txt", "b.png"):
        (folder / "out" / "run" / name).write_text("result")


def sent_by_one(served: Served, numbers: range, found: Found, told: Callable[[int], None]) -> None:
    """Send the requests with these numbers."""
    client = Client(served.port)
    for number in numbers:
        told(number)
        draw = random.Random(number)
        sent, whole = request(draw, served)
        begun = time.monotonic()
        try:
            codes = [client.ask(sent)] if whole else client.throw(sent, reset=draw.random() < 0.1)
            found.codes.update(codes)
        except (Unkept, OSError) as error:
            found.failures.append(f"{number}: {sent[:500]!r}: {error}")
            client.close()
        found.longest_s = max(found.longest_s, time.monotonic() - begun)
    client.close()


def fuzzed(first: int, count: int, told: Callable[[int], None]) -> dict[str, Any]:
    """Send some requests; what became of them."""
    found = [Found() for _ in range(2 * CLIENTS)]
    peaks, failures = [0], []
    with tempfile.TemporaryDirectory(prefix="softsense-") as name:
        folder = Path(name)
        made(folder)
        try:
            with (
                serving(["explain", "--serve"], folder) as explain,
                serving(["serve-results", "out"], folder) as results,
            ):
                both = (explain, results)
                with contextlib.closing(
                    socket.create_connection(("127.0.0.1", results.port), timeout=PATIENCE_S)
                ) as one:
                    one.sendall(f"GET /{results.key}/api/state HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
                    state = b"".join(iter(lambda: one.recv(1 << 16), b""))
                results.files = [f"/{address}" for address in re.findall(r'"address":"\.\./([^"]+)"', state.decode())]
                assert results.files
                threads = []
                for i, each in enumerate(found):
                    numbers = range(first + i, first + count, len(found))
                    threads.append(threading.Thread(target=sent_by_one, args=(both[i % 2], numbers, each, told)))
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                peaks = [peak_mb(each) for each in both]
                for each in both:
                    last = f"GET /{each.key}/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
                    if (code := Client(each.port).ask(last)) != 200:
                        raise Unkept(f"{each.process.args}: answers {code} at the end")
        except (Unkept, OSError, subprocess.TimeoutExpired) as error:
            failures.append(str(error))
        if (folder / "executed").exists():
            failures.append("a file was executed")
    codes = sum((each.codes for each in found), Counter())
    return {
        "done": count,
        "codes": dict(sorted(codes.items())),
        "longest_s": max(each.longest_s for each in found),
        "peak_mb": max(peaks),
        "failures": [*failures, *(failure for each in found for failure in each.failures)],
    }


def main() -> int:
    """Send some requests; say, as JSON, how many, and which broke a promise."""
    # A shell starts jobs in the background with interrupts ignored; servers would inherit that, and never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    arguments = parser.parse_args()
    print(
        json.dumps(
            fuzzed(arguments.first, arguments.count, lambda number: print(json.dumps({"number": number}), flush=True))
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
