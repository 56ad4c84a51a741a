"""A local web server for pages of this machine: one address, GET requests only."""

from __future__ import annotations

import errno
import ipaddress
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from softsense._core import ConfigError, SoftsenseError

_REPORT = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "sandbox allow-scripts allow-downloads allow-modals"
)
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Answer:
    """What a request gets.

    Attributes:
        content: bytes.
        kind: the type of the content.
        status: of HTTP.
        by_itself: a page of ours, which brings its own content security policy; any other loads nothing.
        scripts: a document whose own scripts may run, without knowing whose page it is.
    """

    content: bytes
    kind: str = "text/html; charset=utf-8"
    status: int = HTTPStatus.OK
    by_itself: bool = False
    scripts: bool = False


def as_json(document: Any, status: int = HTTPStatus.OK) -> Answer:
    """A document as JSON."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Answer(text.encode(), "application/json", status)


Asked = Callable[[str, Mapping[str, str]], Answer | None]
"""Answers a path, which begins with `/`, and its query; None if there is no such thing."""


class Server(ThreadingHTTPServer):
    """Listens at once; `serve_forever` answers.

    Args:
        answer: what is asked.
        host: the address to listen on.
        port: of TCP; 0 for any that is free.

    Raises:
        ConfigError: the address cannot be had.
    """

    daemon_threads = True
    # Two servers on one port would answer by turns.
    allow_reuse_port = False

    def __init__(self, answer: Asked, host: str = "127.0.0.1", port: int = 0) -> None:
        self.answer = answer
        self.host = host
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if taken:
                raise ConfigError(
                    f"--port: found {port} taken by another program, expected a free one (0 takes any)"
                ) from None
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise ConfigError(f"--host: found {host}, port {port}: cannot listen there: {why}") from None

    @property
    def address(self) -> str:
        """For a browser."""
        return f"http://{self.host}:{self.server_address[1]}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that disconnected before the answer is no error."""

    def knows(self, host: str) -> bool:
        """Whether a request means this server: a page elsewhere may have given its own name this address."""
        name = urlsplit(f"//{host}").hostname or ""
        return name in (*_LOCAL, self.host) or (self.host not in _LOCAL and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        self._send(self._found())

    def do_HEAD(self) -> None:
        self._send(self._found(), head=True)

    def _found(self) -> Answer:
        if not self.server.knows(self.headers.get("Host", "")):
            return as_json({"error": "found another host's name, expected this one's"}, HTTPStatus.FORBIDDEN)
        parts = urlsplit(self.path)
        try:
            found = self.server.answer(unquote(parts.path), dict(parse_qsl(parts.query)))
        except SoftsenseError as error:
            return as_json({"error": str(error)}, HTTPStatus.BAD_REQUEST)
        return found or as_json({"error": "found no such page"}, HTTPStatus.NOT_FOUND)

    def _send(self, answer: Answer, *, head: bool = False) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        if not answer.by_itself:
            self.send_header("Content-Security-Policy", _REPORT if answer.scripts else "default-src 'none'; sandbox")
        self.end_headers()
        if not head:
            self.wfile.write(answer.content)

    def version_string(self) -> str:
        """Says no version to strangers."""
        return "softsense"

    def log_message(self, *_: Any) -> None:
        """Requests are not told."""


def serve(server: Server, said: Callable[[str], None]) -> None:
    """Answer until Ctrl-C."""
    try:
        said(server.address)
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
