"""A local web server for pages of this machine, which answers clients that know the address that the command prints.

The first part of an address is its key. One key opens the page and its requests. Each file has a key of its own, so
that a report, whose scripts know their own address, learns of nothing but itself. Keys are derived from a secret that a
server draws when it begins, and cannot be guessed. Requests from other sites, and host names of others that lead here,
are refused even with a key (`_Handler._fault`).
"""

from __future__ import annotations

import errno
import hmac
import ipaddress
import json
import re
import secrets
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote

from softsense import own
from softsense._core import ConfigError, SoftsenseError
from softsense.api import default_jobs

FILES = "/files/"
"""The beginning of paths of files."""

MOST_SHOWN = 40
"""The most characters of a request that an error repeats."""

_REPORT = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "sandbox allow-scripts allow-downloads allow-modals"
)
_LOCAL = ("localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_MOST_TOLD = 1000
_MOST_PARAMETERS = 20
_MOST_CONNECTIONS = 512
_BY_THEMSELVES = ("same-origin", "none")
"""The values by which browsers mark requests of our own pages, and of addresses that were typed or pasted."""


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    Attributes:
        content: the content, as bytes.
        kind: the type of the content.
        status: the status of HTTP.
        by_itself: whether it is a page of ours, which brings its own content security policy; others load nothing.
        scripts: whether it is a document whose own scripts may run, without knowing whose page it is.
    """

    content: bytes
    kind: str = "text/html; charset=utf-8"
    status: int = HTTPStatus.OK
    by_itself: bool = False
    scripts: bool = False


def as_json(document: Any, status: int = HTTPStatus.OK) -> Answer:
    """A document as JSON."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # Names of files may hold bytes that are no text.
    return Answer(text.encode(errors="replace"), "application/json", status)


def check_known(query: Mapping[str, str], known: Collection[str]) -> None:
    """Raise `ConfigError` where a query has a parameter that is not known."""
    if unknown := sorted(set(query) - set(known)):
        expected = f"one of {', '.join(sorted(known))}" if known else "no query"
        raise ConfigError(f"{unknown[0][:MOST_SHOWN]}: found in the query, expected {expected}")


Key = Callable[[str], str]
"""The key that opens a path (`Server.key`)."""

Asked = Callable[[str, Mapping[str, str], Key], Answer | None]
"""A function that answers a path, which begins with `/`, and its query; None if there is no such thing.

The answer may contain keys of other paths.
"""


class Server(ThreadingHTTPServer):
    """A server, which listens at once; `serve_forever` answers.

    Args:
        answer: the function that answers requests.
        host: the address to listen on.
        port: TCP port; 0 for any that is free.
        named: files and modules of the user's own that answers may run, as the command line names them.

    Raises:
        ConfigError: the address cannot be had.
    """

    daemon_threads = True
    # Two servers on one port would answer by turns.
    allow_reuse_port = False
    request_queue_size = 128

    def __init__(self, answer: Asked, host: str = "127.0.0.1", port: int = 0, named: Collection[str] = ()) -> None:
        self.answer, self.host, self.named = answer, host, named
        self.at_work = threading.BoundedSemaphore(default_jobs())
        """A limit for answers at once: more would take memory for each, and time from each other."""
        self._secret = secrets.token_bytes(32)
        self._open: set[Any] = set()
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            if taken:
                raise ConfigError(
                    f"--port: found {port}, which another program uses, expected a free port (0 chooses one)"
                ) from None
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise ConfigError(f"--host: found {host}, port {port}: cannot listen there: {why}") from None

    @property
    def address(self) -> str:
        """The address for a browser, and for nobody else: whoever knows it may ask everything."""
        return f"http://{self.host}:{self.server_address[1]}/{self.key('/')}/"

    def key(self, path: str) -> str:
        """The key before a path in its address: for a file its own key, for all else the key of the page."""
        opened = path if path.startswith(FILES) else "/"
        return hmac.digest(self._secret, opened.encode(), "sha256").hex()[:32]

    def knows(self, host: str) -> bool:
        """Whether a request means this server: a page elsewhere may have given its own host name this address."""
        found = _HOST.fullmatch(host)
        name = (found[1] or found[2]).lower() if found else ""
        return name in (*_LOCAL, self.host.lower()) or (self.host not in _LOCAL and _is_address(name))

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for one more connection: silent connections must not take all room."""
        room = len(self._open) < _MOST_CONNECTIONS
        if room:
            self._open.add(request)
        return room

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that disconnected before the answer."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


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
    # Head and content are two packets; with Nagle's algorithm the second would wait for a client that waits for it.
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._send(self._found())

    def do_HEAD(self) -> None:
        self._send(self._found(), head=True)

    def _found(self) -> Answer:
        target, _, query = self.path.partition("?")
        key, _, rest = target.removeprefix("/").partition("/")
        path = f"/{unquote(rest)}"
        if fault := self._fault(key, path):
            # Further data on this connection may be no request.
            self.close_connection = True
            return as_json({"error": fault}, HTTPStatus.FORBIDDEN)
        try:
            with self.server.at_work, own.only(self.server.named):
                found = self.server.answer(path, _parameters(query), self.server.key)
        except SoftsenseError as error:
            return as_json({"error": str(error)[:_MOST_TOLD]}, HTTPStatus.BAD_REQUEST)
        except Exception:
            self.server.handle_error(self.request, self.client_address)
            said = (
                "the answer failed, by a bug or an error in your own code: the terminal of the server has the message"
            )
            return as_json({"error": said}, HTTPStatus.INTERNAL_SERVER_ERROR)
        return found or as_json({"error": "found no such page"}, HTTPStatus.NOT_FOUND)

    def _fault(self, key: str, path: str) -> str | None:
        """The reason why a request is not answered; the same whether or not there is something at its path.

        An address that is opened by itself, by typing, pasting or a program other than a browser, has no origin. It is
        answered, and so is a link on a page of ours. Links and other requests of other sites are refused, as the key
        may have become known.
        """
        headers = self.headers
        if headers.defects or headers.get_payload() or self._has_body():
            return "found a malformed header or a body, expected well-formed headers and no body"
        hosts = headers.get_all("Host", [])
        if len(hosts) != 1 or not self.server.knows(hosts[0]):
            return "Host: found another name, expected this server's"
        others = [origin for origin in headers.get_all("Origin", []) if origin != f"http://{hosts[0]}"]
        others += [site for site in headers.get_all("Sec-Fetch-Site", []) if site not in _BY_THEMSELVES]
        if others:
            return (
                "found a request of another page, expected a request of this page: paste its address into the address "
                "bar"
            )
        if not hmac.compare_digest(key.encode(), self.server.key(path).encode()):
            return "found another address, expected the address that the command has printed"
        return None

    def _has_body(self) -> bool:
        return self.headers.get_all("Content-Length", ["0"]) != ["0"] or "Transfer-Encoding" in self.headers

    def _send(self, answer: Answer, *, head: bool = False) -> None:
        # Whatever version a request names, or none: its answer has a status.
        self.request_version = self.protocol_version
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        if answer.status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        if self.close_connection:
            self.send_header("Connection", "close")
        if not answer.by_itself:
            self.send_header("Content-Security-Policy", _REPORT if answer.scripts else "default-src 'none'; sandbox")
        self.end_headers()
        if not head:
            self.wfile.write(answer.content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that could not be read with its fault, without repeating its content."""
        self.close_connection = True
        # A request for something unknown is no failure of the server.
        codes = {
            HTTPStatus.NOT_IMPLEMENTED: HTTPStatus.METHOD_NOT_ALLOWED,
            HTTPStatus.HTTP_VERSION_NOT_SUPPORTED: HTTPStatus.BAD_REQUEST,
        }
        status = codes.get(HTTPStatus(code), HTTPStatus(code))
        self._send(as_json({"error": f"{status.phrase}: expected GET or HEAD of HTTP/1.1"}, status))

    def version_string(self) -> str:
        """Return a name without a version, which is nobody else's business."""
        return "softsense"

    def log_message(self, *_: Any) -> None:
        """Log no requests."""


def _parameters(query: str) -> dict[str, str]:
    """The parameters of a query, each of which may be given once.

    Raises `ConfigError`.
    """
    if not query:
        return {}
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        raise ConfigError(
            f"query: found another form, expected NAME=VALUE&... with at most {_MOST_PARAMETERS} parameters"
        ) from None
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ConfigError("query: found a parameter twice, expected it once")
    return found


def serve(server: Server, said: Callable[[str], None]) -> None:
    """Answer until Ctrl-C."""
    try:
        said(server.address)
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
