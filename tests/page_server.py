"""Servers of pages for tests: each in a thread, with all that reached it counted."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from softsense import following
from softsense.live import explaining, results
from softsense.live import server as live
from softsense.live.server import Answer, Asked, Key, Server

SECRET = b"<p>only for the user</p>"


class Counted(Server):
    """A server that notes what it answered and what it refused, by path and query."""

    def __init__(self, answer: Asked, named: Collection[str] = ()) -> None:
        self.answered: list[str] = []
        self.refused: list[str] = []
        super().__init__(self._noting(answer), named=named)

    @property
    def at(self) -> tuple[str, int]:
        """Where it listens."""
        return self.host, self.server_address[1]

    @property
    def origin(self) -> str:
        """Of its pages."""
        return "http://{}:{}".format(*self.at)

    def _noting(self, answer: Asked) -> Asked:
        def noted(path: str, query: Mapping[str, str], key: Key) -> Answer | None:
            self.answered.append(path)
            return answer(path, query, key)

        return noted


@contextmanager
def served(answer: Asked, named: Collection[str] = ()) -> Iterator[Counted]:
    """A server that answers."""
    server = Counted(answer, named)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def noting_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """What servers refuse is noted, too."""
    send = live._Handler._send

    def noted(handler: live._Handler, answer: Answer, *, head: bool = False) -> None:
        if answer.status in (HTTPStatus.FORBIDDEN, HTTPStatus.METHOD_NOT_ALLOWED):
            handler.server.refused.append(handler.path)
        send(handler, answer, head=head)

    monkeypatch.setattr(live._Handler, "_send", noted)


class Client:
    """A program that asks a server, on one connection for as long as that is kept."""

    def __init__(self, origin: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(origin).netloc, timeout=30)

    def got(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
        """Status and content of a path; headers are those of a program that is no browser, and others, with `_` for
        `-`.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, headers=named)
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def close(self) -> None:
        """The connection."""
        self._connection.close()


def got(address: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    """Status and content of an address, on a connection of its own."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    with contextlib.closing(Client(origin)) as client:
        return client.got(address.removeprefix(origin), method, **headers)


def finished_run(folder: Path, files: Mapping[str, bytes]) -> None:
    """A run in a folder, which is over and has left some files."""
    (folder / "run").mkdir(parents=True)
    with following.following(folder / "run" / following.NAME, "sweep", "s", lambda *_: None) as told:
        told("simulating", 3, 0.5)
    for name, content in files.items():
        (folder / "run" / name).write_bytes(content)


def addresses_of_files(server: Server) -> dict[str, str]:
    """Of the files that the page of a folder shows, by name."""
    state = json.loads(got(f"{server.address}api/state")[1])
    origin = "/".join(server.address.split("/")[:3])
    return {
        file["name"]: f"{origin}/{file['address'].removeprefix('../')}"
        for run in state["runs"]
        for file in run["files"]
    }


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[dict[str, Counted]]:
    """Both, by their command."""
    finished_run(tmp_path / "out", {"report.html": SECRET, "a.txt": SECRET})
    explained = explaining.Explaining("mlc-25nm")
    with (
        served(explained.answered, explained.named) as explain,
        served(results.Results(tmp_path / "out").answered) as of,
    ):
        yield {"explain": explain, "serve-results": of}
