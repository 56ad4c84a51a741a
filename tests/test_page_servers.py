"""Can anybody but the user make the servers of pages say, compute or run anything; and can a request break them?"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest

from conftest import ROOT
from page_server import SECRET, Client, Counted, addresses_of_files, got, noting_refusals, served, servers
from softsense import ConfigError, api, own
from softsense.api import default_jobs
from softsense.live import explaining, results
from softsense.live import server as live
from softsense.live.server import Answer

__all__ = ["noting_refusals", "servers"]

UNKNOWN = ["colour", "overrides", "set", "cells", "decoder", "placement", "x:y", "/etc/passwd", "%00", ""]


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file in the working folder that tells if it is executed."""
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "executed"
    file = tmp_path / "evil.py"
    file.write_text(f"open({str(mark)!r}, 'w')\nclass X:\n    def next(self, read):\n        return None\n")
    assert "this" not in sys.modules
    yield file
    assert not mark.exists()
    assert "this" not in sys.modules


def hostile(evil: Path) -> list[str]:
    """Values of parameters that are no choice, quoted: files, modules, places, and what is no text."""
    texts = [
        *(f"{evil}:X", "evil.py:X", "./evil.py:X", "evil:X", f"{evil}", "this:X", "this", "this:", ":", "::", "a:b:c"),
        *("mlc-25nm,this:X", "two_step,evil.py:X", "all,this:X", "all,", "two_step:restart", "two_step:this:X"),
        *(
            "/etc/passwd",
            "/etc/nowhere",
            "../../etc/passwd",
            "./mlc-25nm",
            "configs/mlc-25nm.toml",
            "mlc-25nm.toml",
            "..",
        ),
        *("file:///etc/passwd", "http://127.0.0.1/", "~", "$HOME", "*", "", " ", "mlc-25nm ", "MLC-25nm", "mlc-25nm\0"),
        *(
            "\0",
            "\x1b[2J",
            "a\r\nX: y",
            "\u202e",
            "ü",
            "１２",
            "𝔘",
            "x" * 20_000,
            "9" * 5000,
            "-1",
            "1e3",
            "0x10",
            "nan",
        ),
        *("null", "[]", "{}", "1.5", str(2**64), "+1", "1_0"),
    ]
    return [*map(quote, texts), "%00", "%ff", "%ed%a0%80", "%", "%zz", "%2e%2e%2f", "%25%30%30", ":", "/etc/passwd"]


def test_a_request_names_no_file_and_no_code(servers: dict[str, Counted], evil: Path) -> None:
    explain, folder = servers["explain"], servers["serve-results"]
    files = addresses_of_files(folder)
    offered = explaining.offers("mlc-25nm", "mlc-25nm")
    assert set(offered) == {"config", *explaining.usual(offered)}, "what is offered is all that can be asked"
    asked = [f"{explain.address}{path}" for path in ("", "api/choices", "api/explain")]
    asked += [folder.address, f"{folder.address}api/state", files["report.html"]]
    for address in asked:
        origin, path = re.fullmatch("(http://[^/]*)(.*)", address).groups()
        with contextlib.closing(Client(origin)) as client:
            for name in (*offered, *map(quote, UNKNOWN)):
                for value in hostile(evil):
                    status, content = client.got(f"{path}?{name}={value}")
                    assert status == 400, (address, name, value[:100], content)
                    assert len(json.loads(content)["error"]) <= 1000
        for query in (
            "config=mlc-25nm&config=mlc-25nm",
            "policies=all&policies=this:X",
            "&",
            "=",
            "config",
            "x&" * 200,
        ):
            assert got(f"{address}?{query}")[0] == 400, (address, query)


def test_what_a_request_is_told_does_not_depend_on_files(servers: dict[str, Counted], evil: Path) -> None:
    address = f"{servers['explain'].address}api/explain"
    for name in explaining.offers("mlc-25nm", "mlc-25nm"):
        there, nowhere = (got(f"{address}?{name}={quote(place)}")[1] for place in (str(evil), "/nowhere"))
        assert there.replace(str(evil)[: live.MOST_SHOWN].encode(), b"") == nowhere.replace(b"/nowhere", b"")


def test_each_value_that_is_offered_is_answered(servers: dict[str, Counted]) -> None:
    address = f"{servers['explain'].address}api/explain?config=mlc-25nm"
    for name, among in explaining.offers("mlc-25nm", "mlc-25nm").items():
        for value in (among[0], among.stop - 1) if isinstance(among, range) else among:
            if name != "config":
                query = f"{name}={quote(str(value))}" + ("" if name == "policies" else "&policies=two_step")
                status, content = got(f"{address}&{query}")
                # Cells that are that old have no states.
                assert status == 200 or value == 10**6, (name, value, content)


def test_while_a_server_answers_nothing_of_a_request_is_loaded(evil: Path) -> None:
    def careless(path: str, query: object, key: object) -> Answer:
        """As a mistake in a page would be."""
        api.load_config("mlc-25nm", [f"read.policy={path[1:]!r}"])
        return Answer(b"loaded")

    with served(careless, named=("good.py",)) as server:
        for name in ("evil.py:X", "this:X", f"{evil}:X"):
            status, content = got(f"{server.address}{quote(name)}")
            assert (status, "a server runs only code that its command line names" in content.decode()) == (400, True)
        evil.with_name("good.py").write_text("class X:\n    def next(self, read):\n        return None\n")
        assert got(f"{server.address}good.py:X") == (200, b"loaded")
    with own.only(()), pytest.raises(ConfigError, match="a server runs"):
        own.load("read.policy", "this:X", ".")


def test_a_device_of_the_command_line_may_have_code_of_its_own(tmp_path: Path, evil: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Ladder:\n    def next(self, read):\n        return (1, 7, None)[read.attempts]\n"
    )
    shipped = (ROOT / "configs" / "mlc-25nm.toml").read_text()
    (tmp_path / "mine.toml").write_text(shipped.replace('policy = "two_step"', 'policy = "mine.py:Ladder"'))
    explained = explaining.Explaining(str(tmp_path / "mine.toml"))
    assert explained.named == {"mine.py"}
    with served(explained.answered, explained.named) as server:
        assert got(server.address)[0] == 200
        status, content = got(f"{server.address}api/explain?policies=two_step&technique=cells")
        assert status == 200, content
        assert [read["policy"] for read in json.loads(content)["explanation"]["reads"]] == ["two_step"]
        assert got(f"{server.address}api/explain?policies=mine.py:Ladder")[0] == 400
    with served(explained.answered) as server:
        status, content = got(f"{server.address}api/explain?policies=two_step&technique=cells&seed=2")
        assert (status, b"mine.py:Ladder`, expected the name of a shipped one" in content) == (400, True)


FOREIGN = [
    *(
        {"Origin": f"{origin}"}
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", "")
    ),
    *({"Sec_Fetch_Site": site} for site in ("cross-site", "same-site", "", "nothing", "none, none", "cross-site none")),
    *(
        {"Host": host}
        for host in (
            *(
                "evil.example",
                "127.0.0.1.evil.example",
                "evil.example:80",
                "[::1",
                "a[b]c",
                "::1]",
                "",
                ":",
                "@",
                "127.0.0.1@x",
            ),
            *(
                "127.0.0.1:99999999",
                "127.0.0.1:x",
                "[evil]",
                "[]",
                "127.0.0.1/",
                "10.0.0.1",
                "0.0.0.0",
                "x" * 10_000,
                "ü",
            ),
        )
    ),
]


@pytest.mark.usefixtures("noting_refusals")
def test_pages_of_others_get_nothing(servers: dict[str, Counted]) -> None:
    files = addresses_of_files(servers["serve-results"])
    asked = [f"{servers['explain'].address}{path}" for path in ("", "api/choices", "api/explain", "nothing")]
    asked += [f"{servers['serve-results'].address}{path}" for path in ("", "api/state", "files/run/a.txt")]
    asked += [*files.values()]
    for server in servers.values():
        server.answered.clear()
    for address in asked:
        for headers in FOREIGN:
            status, content = got(address, **headers)
            assert status == 403, (address, headers, content)
            assert len(content) < 200
            assert b"evil" not in content
        port = address.split("/")[2].split(":")[1]
        for headers in ({"Origin": f"http://localhost:{port}"}, {"Origin": f"https://127.0.0.1:{port}"}):
            assert got(address, **headers)[0] == 403
        assert got(address, Origin=f"http://127.0.0.1:{port}", Sec_Fetch_Site="none, same-origin")[0] == 403
    assert all(not server.answered for server in servers.values())
    for address in (servers["explain"].address, servers["serve-results"].address, *files.values()):
        port = address.split("/")[2].split(":")[1]
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "LocalHost", "[::1]:80"):
            for site in ("same-origin", "none"):
                assert got(address, Host=host, Origin=f"http://{host}", Sec_Fetch_Site=site)[0] == 200, (address, host)


def test_two_of_a_header_are_refused(servers: dict[str, Counted]) -> None:
    server = servers["explain"]
    path = "/" + server.address.split("/", 3)[3]
    own_host = "Host: 127.0.0.1"
    for lines in (
        [own_host, own_host],
        [own_host, "Host: evil.example"],
        [],
        [own_host, "Origin: http://127.0.0.1", "Origin: http://evil.example"],
        [own_host, "Sec-Fetch-Site: none", "Sec-Fetch-Site: cross-site"],
        # What follows a line that is no header is none either, for this parser.
        [own_host, "no header", "Origin: http://evil.example"],
        [own_host, "Origin : http://evil.example"],
        [own_host, "Content-Length: 5"],
        [own_host, "Transfer-Encoding: chunked"],
    ):
        said = exchanged(server, "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        assert said.startswith(b"HTTP/1.1 403 "), (lines, said)
    assert server.answered == []


def test_nothing_is_told_without_the_key(servers: dict[str, Counted]) -> None:
    files = addresses_of_files(servers["serve-results"])
    for server in servers.values():
        server.answered.clear()
        key = server.address.split("/")[3]
        assert re.fullmatch("[0-9a-f]{32}", key)
        others = [each.address.split("/")[3] for name, each in servers.items() if each is not server]
        of_file = files["a.txt"].split("/")[3]
        said = set()
        for wrong in (
            "",
            key[:-1],
            key + "0",
            key[:-1] + ("0" if key[-1] != "0" else "1"),
            key.upper() + "x",
            of_file,
            *others,
        ):
            for path in (
                "",
                "/",
                "/api/state",
                "/api/explain",
                "/api/choices",
                "/nothing",
                "/files/run/a.txt",
                "/files/x",
            ):
                if (wrong, path) == (of_file, "/files/run/a.txt"):
                    continue
                status, content = got(f"{server.origin}/{wrong}{path}")
                assert status == 403, (wrong, path)
                said.add(content)
        assert len(said) == 1, "an answer without the key is the same, whatever there is"
        for path in ("", "/", "/api/state", "/api/explain", "/favicon.ico", "//", "/?x=1", f"/?{key}"):
            assert got(f"{server.origin}{path}")[0] == 403
        assert server.answered == []


def test_a_file_has_a_key_of_its_own(servers: dict[str, Counted], tmp_path: Path) -> None:
    server = servers["serve-results"]
    files = addresses_of_files(server)
    page = server.address.split("/")[3]
    keys = {name: address.split("/")[3] for name, address in files.items()}
    assert len({page, *keys.values()}) == 3
    for name, address in files.items():
        assert got(address) == (200, SECRET)
        assert page not in address
        assert got(f"{server.origin}/{page}/files/run/{name}")[0] == 403
        for path in (
            "",
            "api/state",
            "files/",
            "files/run/",
            "files/run/b.txt",
            f"files/run/../run/{name}",
            f"x/{name}",
        ):
            assert got(f"{server.origin}/{keys[name]}/{path}")[0] == 403, path
    other = {"a.txt": "report.html", "report.html": "a.txt"}
    for name, key in keys.items():
        assert got(f"{server.origin}/{key}/files/run/{other[name]}")[0] == 403
    # What was shown may since have become a link that leads elsewhere.
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "out" / "run" / "a.txt").unlink()
    assert got(files["a.txt"])[0] == 404
    (tmp_path / "out" / "run" / "a.txt").symlink_to(tmp_path / "secret.txt")
    assert got(files["a.txt"])[0] == 404
    with served(results.Results(tmp_path / "out").answered) as again:
        assert not {again.address.split("/")[3], *addresses_of_files(again)} & {page, *keys.values()}


def exchanged(server: Counted, sent: bytes) -> bytes:
    """All that a server says to some bytes, after which nothing comes."""
    with socket.create_connection(server.at, timeout=20) as connection:
        connection.sendall(sent)
        found = b""
        try:
            # A server that answers before it has read all may be gone by now.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
            while some := connection.recv(1 << 16):
                found += some
        except ConnectionResetError:
            pass
        return found


def test_what_is_no_request_is_told_so(servers: dict[str, Counted]) -> None:
    server = servers["explain"]
    path = "/" + server.address.split("/", 3)[3]
    tail = "Host: 127.0.0.1\r\n\r\n"
    for sent, status in (
        (f"POST {path} HTTP/1.1\r\n{tail}", 405),
        (f"DELETE {path} HTTP/1.1\r\n{tail}", 405),
        (f"get {path} HTTP/1.1\r\n{tail}", 405),
        (f"__class__ {path} HTTP/1.1\r\n{tail}", 405),
        (f"GET {path} HTTP/2.0\r\n{tail}", 400),
        (f"GET {path} HTTP/1.1 x\r\n{tail}", 400),
        (f"GET {path} HTTP/²\r\n{tail}", 400),
        (f"GET http://[::1/ HTTP/1.1\r\n{tail}", 403),
        (f"GET * HTTP/1.1\r\n{tail}", 403),
        (f"GET {path}{'x' * 70_000} HTTP/1.1\r\n{tail}", 414),
        (f"GET {path} HTTP/1.1\r\n{'a: b' * 20_000}\r\n{tail}", 431),
        (f"GET {path} HTTP/1.1\r\n" + "a: b\r\n" * 200 + tail, 431),
        (f"GET {path}\r\n\r\n", 403),
        ("\0\1\2\r\n\r\n", 400),
    ):
        said = exchanged(server, sent.encode())
        assert re.match(rb"HTTP/1.1 %d .*\r\nConnection: close\r\n" % status, said, re.DOTALL), (sent[:80], said[:300])
    assert exchanged(server, b"\r\n") == b""
    assert server.answered == []
    # A page can put a request into a body, as if it were the user's.
    whole = f"GET {path} HTTP/1.1\r\n{tail}"
    answers = exchanged(server, f"POST /x HTTP/1.1\r\nContent-Length: {len(whole)}\r\n{tail}{whole}".encode())
    assert answers.count(b"HTTP/1.1 ") == 1
    answers = exchanged(server, f"GET {path} HTTP/1.1\r\nContent-Length: {len(whole)}\r\n{tail}{whole}".encode())
    assert answers.count(b"HTTP/1.1 ") == 1
    assert server.answered == []
    assert exchanged(server, f"GET {path} HTTP/1.1\r\n{tail}{whole}".encode()).count(b"HTTP/1.1 200 ") == 2
    status, content = got(server.address, "HEAD")
    assert (status, content) == (200, b"")


def test_an_answer_that_fails_is_an_answer(capfd: pytest.CaptureFixture[str]) -> None:
    def failing(path: str, query: object, key: object) -> Answer:
        raise KeyError("secret")

    with served(failing) as server:
        status, content = got(server.address)
        assert status == 500
        assert b"the answer failed" in content
        assert b"secret" not in content
    assert "KeyError: 'secret'" in capfd.readouterr().err


def test_answers_at_once_are_bounded() -> None:
    now = most = 0
    lock = threading.Lock()

    def slow(path: str, query: object, key: object) -> Answer:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return Answer(b"done")

    with served(slow) as server:
        found: list[int] = []
        threads = [threading.Thread(target=lambda: found.append(got(server.address)[0])) for _ in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [200] * 60
    assert most <= default_jobs() <= (os.cpu_count() or 1)


def test_many_may_come_at_once() -> None:
    # Before anything is accepted they wait.
    server = Counted(lambda path, query, key: Answer(b"done"))
    with contextlib.closing(server.socket), ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(socket.create_connection(server.at, timeout=0.5))


def test_connections_that_say_nothing_are_bounded_and_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (live._MOST_CONNECTIONS, live._Handler.timeout) == (512, 30)
    monkeypatch.setattr(live, "_MOST_CONNECTIONS", 20)
    monkeypatch.setattr(live._Handler, "timeout", 5)
    with served(lambda path, query, key: Answer(b"done")) as server, ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(server.at, timeout=20)) for _ in range(20)]
        with socket.create_connection(server.at, timeout=2) as more:
            assert more.recv(1) == b"", "one more is closed at once"
        assert [each.recv(1) for each in silent] == [b""] * 20
        assert got(server.address) == (200, b"done")


@pytest.mark.parametrize("command", ["explain --serve", "serve-results ."])
def test_the_address_that_is_printed_opens_the_page(command: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "softsense", *command.split(), "--port", "0"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        found = re.match(r"(http://127\.0\.0\.1:\d+/)([0-9a-f]{32})/ \(Ctrl-C ends it\)\n", process.stdout.readline())
        assert found
        assert got(f"{found[1]}{found[2]}/")[0] == 200
        assert got(found[1])[0] == 403
    finally:
        process.send_signal(2)
        said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, ("", ""))


def test_some_requests_of_the_fuzzer() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "fuzz/pages.py", "0", "600"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failures"] == []
    assert found["done"] == 600
    assert {"200", "400", "403", "404", "405"} <= set(found["codes"])
