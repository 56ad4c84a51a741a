"""Is a drive served, aged, broken and watched as `softsense drive serve` and its companions promise?"""

from __future__ import annotations

import json
import signal
import socket as sockets
import threading
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from serving import CONFIG, SIZE, SIZE_BYTES, Served, asked, run, served, serving, softsense
from softsense import ConfigError, FileError, cli, load_config
from softsense.serve import client, events, faults, foreground, text, units
from softsense.serve.client import Drive
from softsense.serve.page import page

SCRIPT = '[[event]]\nat = "0s"\nage = { retention = "365d", pe_cycles = 1000 }\n[[event]]\nat = "0.3s"\nstop = true\n'


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A small drive that several tests share: none leaves it broken."""
    with serving(tmp_path_factory.mktemp("shared")) as one:
        yield one


# Words and scripts.


def test_the_folder_of_an_image_finds_the_drive_before_it_is_announced(tmp_path: Path) -> None:
    """Who reads the address that `drive serve` prints, and asks the image at once, is answered."""
    options = foreground.Options(size_bytes=SIZE_BYTES, socket=tmp_path / "disk.sock", port=None)
    server = foreground.opened(load_config(CONFIG), options)
    try:
        with Drive(options.folder) as drive:
            assert drive.status()["size_bytes"] == SIZE_BYTES
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("written", "meant"), [("64MiB", 64 << 20), ("2 GiB", 2 << 30), ("512", 512), ("4KB", 4000), ("1TiB", 1 << 40)]
)
def test_sizes_are_read_with_their_units(written: str, meant: int) -> None:
    assert units.parse_size(written, "--size") == meant


@pytest.mark.parametrize("written", ["", "big", "-1", "0", "1.5GiB", "2GiBs", "99999999999TiB", "１MiB"])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match=r"^--size: found .*, expected a size"):
        units.parse_size(written, "--size")


@pytest.mark.parametrize(
    ("written", "meant"), [("365d", 8760.0), ("12h", 12.0), ("90min", 1.5), ("36s", 0.01), ("1.5h", 1.5), ("0s", 0.0)]
)
def test_durations_are_read_with_their_units(written: str, meant: float) -> None:
    assert units.parse_hours(written, "--retention") == pytest.approx(meant)


@pytest.mark.parametrize("written", ["", "365", "a year", "-1d", "1e3d", "99999d", "inf", "1 day"])
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(ConfigError, match=r"^--retention: found"):
        units.parse_hours(written, "--retention")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "kill-die DIE"),
        ("explode", "found `explode`"),
        ("kill-die", "expected kill-die DIE"),
        ("kill-die 1 2", "expected kill-die DIE"),
        ("kill-die -1", "kill-die DIE: found -1"),
        ("kill-die three", "kill-die DIE: found three"),
        ("kill-block 0 1", "expected kill-block DIE PLANE BLOCK"),
        ("flip-bits 8 0", "flip-bits BITS: found 0"),
        ("heal now", "expected heal"),
    ],
)
def test_what_is_no_fault_is_refused(words: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        faults.from_words(words.split())
    assert says in str(refused.value)


def test_a_script_is_what_it_says() -> None:
    written = """
clock = "drive"
[[event]]
at = "400d"
kill_block = { die = 0, plane = 1, block = 17 }
[[event]]
at = "10s"
age = { retention = "365d", temperature_c = 55, pe_cycles = 3000, powered = true }
[[event]]
at = "10s"
flip_bits = { lba = 8, bits = 40 }
[[event]]
at = "401d"
stop = true
"""
    script = events.parse(written, "script.toml")
    assert script.clock == "drive"
    assert [event.at_s for event in script.events] == [10.0, 10.0, 400 * 86400.0, 401 * 86400.0]
    assert [event.request for event in script.events] == [
        {"age": {"retention_hours": 8760.0, "temperature_c": 55.0, "pe_cycles": 3000, "reads": 0, "powered": True}},
        {"fault": {"flip_bits": {"lba": 8, "bits": 40}}},
        {"fault": {"kill_block": {"die": 0, "plane": 1, "block": 17}}},
        {"stop": {}},
    ]


WRONG_SCRIPTS = [
    ("[[event]", "script.toml:1:"),
    ("[[event]]\nat = ", "script.toml:2:"),
    ("", "script.toml: found no [[event]]"),
    ("event = 3", "script.toml: found no [[event]]"),
    ("wings = 2", "unknown field `wings`"),
    ('clock = "sun"\n[[event]]\nat = "1s"\nheal = true', "clock: found sun"),
    ("[[event]]\nheal = true", "event 1: at: found nothing"),
    ("[[event]]\nat = 3\nheal = true", "event 1: at: found 3"),
    ('[[event]]\nat = "soon"\nheal = true', "event 1: at: found `soon`"),
    ('[[event]]\nat = "1s"', "event 1: found nothing that happens"),
    ('[[event]]\nat = "1s"\nexplode = true', "event 1: found explode"),
    ('[[event]]\nat = "1s"\nheal = true\nscrub = true', "event 1: found heal, scrub"),
    ('[[event]]\nat = "1s"\nheal = true\n[[event]]\nat = "2s"\nscrub = 3', "event 2: scrub: found 3"),
    ('[[event]]\nat = "1s"\nkill_die = -1', "event 1: kill-die DIE: found -1"),
    ('[[event]]\nat = "1s"\nkill_die = true', "event 1: kill-die DIE: found True"),
    ('[[event]]\nat = "1s"\nkill_block = 3', "event 1: kill_block: found 3"),
    ('[[event]]\nat = "1s"\nage = { wings = 2 }', "event 1: age: found"),
    ('[[event]]\nat = "1s"\nage = { retention = 365 }', "event 1: age.retention: found 365"),
    ('[[event]]\nat = "1s"\nage = { retention = "365" }', "event 1: age.retention: found `365`"),
    ('[[event]]\nat = "1s"\nage = { pe_cycles = -1 }', "event 1: age.pe_cycles: found -1"),
    ('[[event]]\nat = "1s"\nage = { temperature_c = nan }', "event 1: age.temperature_c: found nan"),
    ('[[event]]\nat = "1s"\nage = { powered = 1 }', "event 1: age.powered: found 1"),
]


@pytest.mark.parametrize(("written", "says"), WRONG_SCRIPTS)
def test_a_wrong_script_is_one_error_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], written: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.toml").write_text(written)
    assert cli.main(["serve", CONFIG, "--size", SIZE, "--socket", "disk.sock", "--script", "script.toml"]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: script.toml")
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["script.toml"]


# What cannot be served.


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--socket", "disk.sock"], ["--size"]),
        (["--size", "big", "--socket", "disk.sock"], ["--size", "big"]),
        (["--size", "5000", "--socket", "disk.sock"], ["--size", "5000"]),
        (["--size", SIZE], ["--socket", "neither"]),
        (["--size", SIZE, "--socket", "disk.sock", "--port", "10809"], ["--socket", "both"]),
        (["--size", SIZE, "--port", "10809"], ["--image"]),
        (["--size", SIZE, "--port", "0", "--image", "i"], ["--port", "0"]),
        (["--size", SIZE, "--socket", "nowhere/disk.sock", "--image", "i"], ["nowhere/disk.sock"]),
        (["--size", SIZE, "--socket", f"{'long' * 30}.sock", "--image", "i"], ["long"]),
        (["--size", SIZE, "--socket", "disk.sock", "--refresh", "monthly"], ["--refresh", "monthly"]),
        (["--size", SIZE, "--socket", "disk.sock", "--write-cache", "warm"], ["--write-cache", "warm", "protected"]),
        (["--size", SIZE, "--socket", "disk.sock", "--page", "page.txt"], ["page.txt", ".html"]),
        (["--size", SIZE, "--socket", "disk.sock", "--page", "nowhere/page.html"], ["nowhere/page.html"]),
        (["--size", SIZE, "--socket", "disk.sock", "--set", "geometry.wings=2"], ["geometry", "wings"]),
        (["--size", SIZE, "--socket", "disk.sock", "--set", "read.policy='ideal'"], ["ideal"]),
        (["--size", SIZE, "--socket", "disk.sock", "--image", "file"], ["file"]),
        (["--size", SIZE, "--socket", "disk.sock", "--image", "full"], ["full"]),
    ],
)
def test_what_cannot_be_served_is_one_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: list[str],
    says: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("in the way")
    Path("full").mkdir()
    Path("full/other").write_text("in the way")
    # What is served in spite of all ends at once.
    Path("end.toml").write_text('[[event]]\nat = "0s"\nstop = true\n')
    before = sorted(tmp_path.rglob("*"))
    assert cli.main(["serve", CONFIG, *words, "--script", "end.toml"]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    for word in says:
        assert word in printed.err
    assert sorted(tmp_path.rglob("*")) == before, "something was left behind"


def test_a_socket_in_use_is_refused(tmp_path: Path, drive: Served) -> None:
    done = softsense(
        *("serve", CONFIG, "--size", SIZE, "--socket", drive.socket, "--image", tmp_path / "other"), check=False
    )
    assert done.returncode == 2
    assert "disk.sock" in done.stderr
    assert drive.process.poll() is None
    with drive.drive() as one:
        assert one.status()["state"] == "ok"


def test_an_image_has_one_server(tmp_path: Path, drive: Served) -> None:
    words = ("serve", CONFIG, "--size", SIZE, "--socket", tmp_path / "second.sock", "--image", drive.image)
    done = softsense(*words, check=False)
    assert done.returncode == 2
    assert "disk.image" in done.stderr
    assert not (tmp_path / "second.sock").exists()


def test_another_size_than_that_of_the_image_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path):
        pass
    done = softsense(*("serve", CONFIG, "--size", "32MiB", "--socket", tmp_path / "disk.sock"), check=False)
    assert done.returncode == 2
    assert "--size" in done.stderr


# A drive that is served.


def test_a_drive_answers_by_all_its_names(drive: Served) -> None:
    for name in (drive.socket, drive.control, drive.image):
        with Drive(name) as one:
            assert one.status()["size_bytes"] == SIZE_BYTES
    assert drive.address.startswith("nbd+unix:///")
    assert drive.address.endswith(f"?socket={drive.socket}")


def test_a_drive_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    left = sockets.socket(sockets.AF_UNIX)
    left.bind(str(tmp_path / "left.sock.control"))
    left.close()
    for name in ("nowhere.sock", "folder", "left.sock"):
        with pytest.raises(FileError, match="found no drive that is being served"):
            Drive(tmp_path / name)
    with pytest.raises(FileError, match="at most 107"):
        Drive(tmp_path / ("long" * 40))


def test_what_answers_something_else_is_one_error(tmp_path: Path) -> None:
    listening = sockets.socket(sockets.AF_UNIX)
    listening.bind(str(tmp_path / "odd.sock.control"))
    listening.listen()

    def answer() -> None:
        for said in (b"hello\n", b'{"ok": {}', b'{"error": "a: found b, expected c"}\n'):
            connection, _ = listening.accept()
            connection.recv(1000)
            connection.sendall(said)
            connection.close()

    threading.Thread(target=answer, daemon=True).start()
    for kind, says in (
        (FileError, "that no drive gives"),
        (FileError, "ended the connection"),
        (ConfigError, "^a: found b"),
    ):
        with pytest.raises(kind, match=says), Drive(tmp_path / "odd.sock") as one:
            one.status()
    listening.close()


def test_a_connection_that_was_silent_for_long_is_made_anew(drive: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with drive.drive() as one:
        one.status()
        monkeypatch.setattr(client, "_IDLE_S", -1.0)
        # As the drive does after a minute.
        one._socket.shutdown(sockets.SHUT_RDWR)
        assert one.status()["state"] == "ok"


STATUS = {
    "model": None,
    "size_bytes": None,
    "image": None,
    "clock_s": None,
    "temperature_c": None,
    "ages": {"pe_cycles_mean", "pe_cycles_max", "retention_hours_max", "reads_max"},
    "host": {"reads", "read_bytes", "writes", "written_bytes", "flushes", "trims", "read_errors", "undetected"},
    "codewords": {
        *("read", "raw_bit_errors", "bits_read", "rber", "retried", "steps", "by_level", "decoded", "uncorrectable"),
        *("recovered_by_parity", "undetected"),
    },
    "background": {"refreshed", "reclaimed"},
    "write_amplification": None,
    "free_superblocks": None,
    "bad_blocks": None,
    "mapped_units": None,
    "lost_units": None,
    "unreadable_units": None,
    "buffered_bytes": None,
    "why": None,
    "read_latency_us": None,
    "last_errors": None,
    "smart": None,
    "state": None,
    "superblocks": None,
}


def test_the_status_is_complete(drive: Served) -> None:
    status = json.loads(softsense("status", drive.socket, "--json").stdout)
    assert set(STATUS) - set(status) == set()
    for name, fields in STATUS.items():
        assert (fields or set()) - set(status[name] if fields else ()) == set(), name
    assert len(status["codewords"]["by_level"]) == 7
    assert status["superblocks"]
    for superblock in status["superblocks"]:
        assert {"index", "pe_cycles", "age_hours", "valid_share", "reads", "state"} <= set(superblock)


def test_what_is_wrong_with_a_request_is_told_and_the_drive_goes_on(drive: Served) -> None:
    requests: list[Any] = [
        *({}, {"dance": {}}, {"status": {}, "scrub": {}}, [], 3, "status", {"age": 3}, {"age": {"wings": 2}}),
        *({"fault": {}}, {"fault": {"kill_die": 10**6}}, {"fault": {"flip_bits": {"lba": 10**12, "bits": 1}}}),
        {"age": {"retention_hours": -1}},
    ]
    connection = sockets.socket(sockets.AF_UNIX)
    connection.connect(str(drive.control))
    with connection, connection.makefile("rwb") as lines:
        for request in requests:
            lines.write(json.dumps(request).encode() + b"\n")
            lines.flush()
            answer = json.loads(lines.readline())
            assert set(answer) == {"error"}, request
            assert ": " in answer["error"], request
        lines.write(b"no JSON\n")
        lines.flush()
        assert "error" in json.loads(lines.readline())
        lines.write(b'{"status": {}}\n')
        lines.flush()
        assert json.loads(lines.readline())["ok"]["state"] == "ok"


def test_time_and_wear_go_by(tmp_path: Path) -> None:
    with serving(tmp_path) as one:
        before = asked(one.socket, {"status": {}})
        told = softsense("age", one.socket, "--retention", "365d", "--temperature", "55", "--pe", "3000", "--json")
        aged = json.loads(told.stdout)
        after = asked(one.socket, {"status": {}})
        assert aged["clock_s"] - before["clock_s"] == pytest.approx(365 * 86400, abs=60)
        assert after["ages"]["pe_cycles_mean"] - before["ages"]["pe_cycles_mean"] == pytest.approx(3000)
        assert "P/E cycles" in softsense("age", one.socket, "--reads", "1000").stdout


@pytest.mark.parametrize(
    "words", [[], ["--pe", "-1"], ["--retention", "old"], ["--retention", "1d", "--temperature", "nan"], ["--pe", "x"]]
)
def test_what_is_no_age_is_refused(drive: Served, words: list[str]) -> None:
    done = softsense("age", drive.socket, *words, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert (words or ["--retention"])[-2 if words else 0] in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_the_image_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as one:
        asked(one.socket, {"age": {"retention_hours": 8760.0, "pe_cycles": 500}})
        before = asked(one.socket, {"status": {}})
        assert one.ended(number) == (130 if number == signal.SIGINT else 0)
        assert (tmp_path / "disk.err").read_text() == ""
        assert not one.socket.exists()
        assert not one.control.exists()
        assert not (one.image / client.LINK).is_symlink()
    with serving(tmp_path, size=None) as again:
        after = asked(again.socket, {"status": {}})
        assert after["size_bytes"] == SIZE_BYTES
        assert after["ages"]["pe_cycles_mean"] == before["ages"]["pe_cycles_mean"]
        assert after["clock_s"] >= before["clock_s"]


@pytest.mark.parametrize("harm", ["socket", "control", "folder"])
def test_it_ends_whatever_has_become_of_its_sockets(tmp_path: Path, harm: str) -> None:
    run_in = tmp_path / "run"
    run_in.mkdir()
    one = served(run_in)
    try:
        if harm == "folder":
            run_in.rename(tmp_path / "moved")
        else:
            (one.socket if harm == "socket" else one.control).unlink()
        one.process.send_signal(signal.SIGTERM)
        # The second signal comes while the drive ends, or when it has, and only Python is left to end.
        assert one.ended() in (0, -signal.SIGTERM)
    finally:
        one.process.kill()
        one.process.wait()
    with serving(tmp_path / "moved" if harm == "folder" else run_in, size=None) as again:
        assert asked(again.socket, {"status": {}})["state"] == "ok"


def test_whoever_asks_it_to_stop_ends_it(tmp_path: Path) -> None:
    one = served(tmp_path)
    asked(one.socket, {"stop": {}})
    assert one.process.wait(20) == 0


def test_a_port_is_served(tmp_path: Path) -> None:
    with sockets.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    words = ("serve", CONFIG, "--size", SIZE, "--port", str(port), "--image", tmp_path / "i", "--script", script)
    done = softsense(*words)
    assert f"nbd://127.0.0.1:{port}" in done.stdout


def test_a_script_is_carried_out(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text(SCRIPT)
    html = tmp_path / "page.html"
    words = ("serve", CONFIG, "--size", SIZE, "--socket", tmp_path / "d.sock", "--script", script, "--page", html)
    done = softsense(*words)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "nbdinfo" in done.stdout
    assert "at 0 s: age retention 365d, pe_cycles 1000" in done.stdout
    assert "at 0.3 s: stop" in done.stdout
    # It is the page of the end: the year is in it, and it does not load itself again.
    assert "365 d" in html.read_text()
    assert 'http-equiv="refresh"' not in html.read_text()


def test_a_script_that_the_drive_refuses_ends_it(tmp_path: Path) -> None:
    script = tmp_path / "script.toml"
    script.write_text('[[event]]\nat = "0s"\nkill_die = 1000000\n')
    done = softsense(
        *("serve", CONFIG, "--size", SIZE, "--socket", tmp_path / "d.sock", "--script", script), check=False
    )
    assert done.returncode == 2
    assert "--script: at 0 s: kill die 1000000" in done.stderr
    with serving(tmp_path, size=None, name="d"):
        pass


# What is shown.


def a_status(**changes: Any) -> dict[str, Any]:
    """A status with everything in it, changed."""
    superblocks = [
        {"index": i, "pe_cycles": 10 * i, "age_hours": float(i), "valid_share": 0.5, "reads": i, "state": "closed"}
        for i in range(changes.pop("superblocks", 40))
    ]
    status: dict[str, Any] = {
        "model": "LDPC, n = 36864, k = 32768, min-sum",
        "size_bytes": SIZE_BYTES,
        "image": "/a/disk.image",
        "clock_s": 3600.0,
        "state": "ok",
        "temperature_c": 40.0,
        "write_amplification": None,
        "spare_blocks": 3,
        "free_superblocks": 4,
        "bad_blocks": 0,
        "ages": {"pe_cycles_mean": 10.5, "pe_cycles_max": 12, "retention_hours_max": 8760.0, "reads_max": 7},
        "host": {"reads": 1, "read_bytes": 4096, "writes": 2, "written_bytes": 8192, "flushes": 3, "trims": 4},
        "codewords": {"read": 100, "rber": None, "retried": 7, "by_level": [90, 0, 0, 0, 0, 3, 7]},
        "background": {"refreshed": 3, "reclaimed": 0},
        "read_latency_us": {"mean_us": 80.0, "p50_us": None, "p99_us": 1.0, "p999_us": 2.0, "max_us": 3.0},
        "lost_units": 0,
        "last_errors": [],
        "smart": [{"name": "percentage_used", "value": 3}],
        "superblocks": superblocks,
    }
    for name, change in changes.items():
        status[name] = status[name] | change if isinstance(change, dict) else change
    return status


ERROR = {"clock_s": 3.0, "lba": 8, "what": "<uncorrectable>", "rber": 0.02, "page": "upper", "pe_cycles": 3, "steps": 7}
BROKEN = {"codewords": {"uncorrectable": 5, "undetected": 2, "recovered_by_parity": 1}, "host": {"read_errors": 4}}


def test_what_is_lost_is_said_first() -> None:
    told = text.told(a_status(**BROKEN, last_errors=[ERROR], state="read_only")).splitlines()
    assert told[0].startswith("! the drive is read only")
    assert told[1].startswith("! 2 undetected")
    assert told[2].startswith("! 5 codewords uncorrectable, 1 of them recovered")
    assert told[3].startswith("! 4 requests")
    assert any("<uncorrectable>" in line for line in told)
    assert not text.told(a_status()).startswith("!")
    assert "undetected 2, uncorrectable 5, I/O errors 4" in text.line(a_status(**BROKEN))


def test_what_does_not_age_is_said() -> None:
    assert "12 KiB, which do not age" in text.told(a_status(buffered_bytes=12 << 10))
    told = text.told(a_status(state="host_full", why="a.bin: found the disk full", unreadable_units=7)).splitlines()
    assert told[0] == "! the drive is host full: a.bin: found the disk full"
    assert told[1].startswith("! 7 units of data cannot be read")
    aged = text.aged({"units_programmed": 96, "buffered_bytes": 4096, "ages": {}})
    assert "units programmed first  96" in aged
    assert "4 KiB, which do not age" in aged


def test_a_status_of_which_little_is_known_is_shown() -> None:
    assert "raw bit error rate  -" in text.told({})
    assert "<h1>" in page({})
    assert text.line({}).startswith("clock 0 s")


class Checked(HTMLParser):
    """Whether elements are closed as they were opened, and what a page loads."""

    VOID = frozenset({"meta", "path", "rect", "br", "img", "link"})

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attributes if name in ("src", "href", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """It closes itself."""
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """It must be the last one that was opened."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """What is read."""
        if "style" not in self.open:
            self.text += data


@pytest.mark.parametrize("superblocks", [0, 1, 40, 768, 769, 20_000])
def test_the_page_is_whole_small_and_alone(superblocks: int) -> None:
    document = page(a_status(**BROKEN, last_errors=[ERROR] * 20, superblocks=superblocks), address="nbd://h:1")
    assert document.startswith("<!doctype html>")
    checked = Checked(document)
    assert checked.open == []
    assert checked.loads == []
    assert "script" not in checked.tags
    assert "url(" not in document
    assert len(document.encode()) < 60_000
    assert 'http-equiv="refresh"' in document
    for said in ("<uncorrectable>", "2 undetected", "5 codewords uncorrectable", "percentage used", "nbd://h:1"):
        assert said in checked.text


def test_colours_of_the_page_tell_wear() -> None:
    status = a_status(superblocks=8)
    status["superblocks"][3]["state"] = "retired"
    document = page(status)
    for colour in ("c0", "c2", "c4", "c5", "c6", "c7", "bad"):
        assert f'<path class="{colour}"' in document
    assert '<path class="c3"' not in document.partition("Age of the data")[0].partition('<figure class="grid">')[2]


def test_the_page_names_the_config_and_says_how_bars_are_long() -> None:
    """Which of several drives is it? Readers of the terminal and of the page know; no share is a power of ten."""
    status = a_status(config="tlc-femu", codewords={"by_level": [9986, 14, 0, 0, 0, 0, 0]})
    document = page(status)
    for element in ("title", "h1"):
        assert f"<{element}>tlc-femu: ok" in document
    assert "<dt>config</dt><dd>tlc-femu</dd>" in document
    assert "<dt>code</dt><dd>LDPC, n = 36864, k = 32768, min-sum</dd>" in document
    assert "<figcaption>Lengths of bars are logarithmic.</figcaption>" in document
    assert "9,986 (99.9 %)" in document
    assert "<dd>- us</dd>" not in document
    assert text.told(status).splitlines()[2].split() == ["config", "tlc-femu"]
    assert "config" not in text.told(a_status())


def test_the_page_is_kept_up_to_date(tmp_path: Path) -> None:
    html = tmp_path / "page.html"
    with serving(tmp_path, "--page", str(html)) as one:
        until = time.monotonic() + 20
        while not html.exists() and time.monotonic() < until:
            time.sleep(0.05)
        first = html.read_text()
        assert 'http-equiv="refresh"' in first
        assert f"<title>{CONFIG}: ok" in first
        softsense("status", one.socket, "--page", tmp_path / "asked.html")
        assert f"<title>{CONFIG}: ok" in (tmp_path / "asked.html").read_text()
        asked(one.socket, {"age": {"retention_hours": 8760.0}})
        while html.read_text() == first and time.monotonic() < until:
            time.sleep(0.05)
        assert "365 d" in html.read_text()
    made = softsense("status", tmp_path / "disk.sock", "--page", tmp_path / "late.html", check=False)
    assert made.returncode == 2
    assert not (tmp_path / "late.html").exists()


def test_the_page_is_drawn_by_a_browser(tmp_path: Path) -> None:
    from serving import needs

    needs("chromium")
    (tmp_path / "page.html").write_text(page(a_status(**BROKEN), live=False))
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync")
    options += ("--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path / 'user'}")
    # Whether a phone would have to scroll sideways, which the script of a test may ask.
    asks = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script></body>"
    framed = (tmp_path / "page.html").read_text().replace("</body>", asks)
    (tmp_path / "asks.html").write_text(framed)
    done = run("chromium", *options, "--window-size=500,900", "--dump-dom", (tmp_path / "asks.html").as_uri())
    title = done.stdout.partition("<title>")[2].partition("</title>")[0]
    wide, _, inner = title.partition(" of ")
    assert int(wide) <= int(inner), title
