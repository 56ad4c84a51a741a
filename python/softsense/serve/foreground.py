"""`softsense drive serve`: a drive served in the foreground, until Ctrl-C, SIGTERM, or somebody's `stop`."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import Config, ConfigError, SoftsenseError
from softsense.background import in_background
from softsense.formats import as_duration
from softsense.serve import client, text
from softsense.serve.watching import write_page

if TYPE_CHECKING:
    from types import FrameType

    from softsense._core import DriveServer
    from softsense.serve.events import Event, Script

_WAIT_S = 0.1
_REFRESH_S = 2.0
_LINE_S = 30.0
_SOCKET = ".sock"
_IMAGE = ".image"
_WRITE_CACHES = ("protected", "volatile")


@dataclass(frozen=True)
class Options:
    """The options with which a drive is served.

    Attributes:
        size_bytes: size of the block device; None for the size of an existing image.
        socket: path of the unix socket; None with a port.
        port: TCP port on 127.0.0.1; None with a socket.
        image: the folder that holds the flash; default: beside the socket, `disk.sock` and `disk.image`.
        real_time: whether requests take as long as the drive would.
        parity: whether a stripe of superpages has one of parity, so that a die can be lost.
        refresh_hours: age at which data is written anew; None for the config's, or never.
        write_cache: `protected` by capacitors, or `volatile`: lost with the power unless it was flushed.
        seed: seed of the flash; None for the config's.
        read_only: whether writes are refused.
        config: name of the drive's config, for its status.
    """

    size_bytes: int | None
    socket: Path | None
    port: int | None
    image: Path | None = None
    real_time: bool = False
    parity: bool = True
    refresh_hours: float | None = None
    write_cache: str = "protected"
    seed: int | None = None
    read_only: bool = False
    config: str | None = None

    @property
    def folder(self) -> Path:
        """The folder of the image."""
        if self.image:
            return self.image
        assert self.socket
        return self.socket.with_suffix(_IMAGE) if self.socket.suffix == _SOCKET else Path(f"{self.socket}{_IMAGE}")

    def check(self) -> None:
        """Refuse missing, wrong and contradictory options. Raises `ConfigError`."""
        if (self.socket is None) == (self.port is None):
            found = "neither --socket nor --port" if self.socket is None else "both --socket and --port"
            raise ConfigError(f"--socket: found {found}, expected exactly one of the two, such as --socket disk.sock")
        if self.image is None and self.port is not None:
            raise ConfigError(
                "--image: found --port without --image, expected --image with the folder of the image, such as "
                "disk.image"
            )
        if self.socket is not None:
            longest = len(os.fsencode(self.socket.absolute())) + len(client.CONTROL)
            if longest > client.MOST_PATH_BYTES:
                expected = f"expected at most {client.MOST_PATH_BYTES}, the longest that a socket may have"
                raise ConfigError(f"--socket: {self.socket}: found {longest} bytes with {client.CONTROL}, {expected}")
            if not self.socket.absolute().parent.is_dir():
                raise ConfigError(
                    f"--socket: {self.socket}: found no folder with this name, expected a path in an existing folder"
                )
        if self.write_cache not in _WRITE_CACHES:
            raise ConfigError(f"--write-cache: found {self.write_cache}, expected {' or '.join(_WRITE_CACHES)}")

    def to_json(self) -> str:
        """The options as JSON, as the core takes them."""
        return json.dumps(
            {
                "image": str(self.folder),
                "size_bytes": self.size_bytes,
                "socket": str(self.socket) if self.socket else None,
                "port": self.port,
                "real_time": self.real_time,
                "parity": self.parity,
                "refresh_hours": self.refresh_hours,
                "write_cache": self.write_cache,
                "seed": self.seed,
                "read_only": self.read_only,
                "config": self.config,
            }
        )


def opened(config: Config, options: Options) -> DriveServer:
    """A drive that is served from now on, its image opened or made; who has the folder of the image finds the drive.

    Args:
        config: the device.
        options: the options with which it is served.

    Raises `SoftsenseError`.
    """
    options.check()
    server = in_background(lambda: _core.DriveServer(config, options.to_json()))
    client.link_control(options.folder, str(server.control))
    return server


def serve(
    server: DriveServer,
    folder: Path,
    script: Script | None,
    page_file: Path | None,
    *,
    say: Callable[[str], None],
) -> bool:
    """Watch a served drive until it ends, and carry out the events of a script.

    Args:
        server: the drive; it is stopped at the end, whatever happens.
        folder: the folder of its image.
        script: the events that happen to it.
        page_file: a file that is kept up to date with a page of its status.
        say: prints a line for people.

    Returns whether Ctrl-C ended it. Raises `SoftsenseError` if an event of the script is refused, or the page cannot be
    written.
    """
    last: dict[str, Any] = {}
    # A second signal does not keep the drive from ending properly, either.
    with _asked_to_end() as asked:
        try:
            started = time.monotonic()
            events = list(script.events if script else ())
            showing = _StatusDisplay(server, page_file, say)
            while server.running() and not asked.event.is_set():
                last = showing.show()
                if events:
                    clock_s = last["clock_s"] if script and script.clock == "drive" else time.monotonic() - started
                    while events and events[0].at_s <= clock_s and server.running() and not asked.event.is_set():
                        _carry_out(server, events.pop(0), say)
                asked.event.wait(_WAIT_S)
            last = _status(server) or last
        finally:
            client.unlink_control(folder, str(server.control))
            server.stop()
            if last and page_file:
                write_page(page_file, last, address=server.address, live=False)
    return asked.by_ctrl_c


class _StatusDisplay:
    """The status of a drive, on a page and as a line, shown often, but not more often than somebody could read."""

    def __init__(self, server: DriveServer, file: Path | None, say: Callable[[str], None]) -> None:
        self._server, self._file, self._say = server, file, say
        self._in_place = sys.stdout.isatty()
        self._shown_at = self._said_at = -_LINE_S
        self._said = ""
        self._status: dict[str, Any] = {}

    def show(self) -> dict[str, Any]:
        """Return the status, and show it if the next time to show it has come."""
        now = time.monotonic()
        self._status = _status(self._server) or self._status
        if not self._status:
            return {"clock_s": 0.0}
        if now - self._shown_at >= _REFRESH_S:
            self._shown_at = now
            if self._file:
                write_page(self._file, self._status, address=self._server.address)
        if now - self._said_at >= (_REFRESH_S if self._in_place else _LINE_S):
            said, self._said_at = text.line(self._status), now
            # An idle drive prints nothing.
            if said.partition(",")[2] != self._said:
                self._said = said.partition(",")[2]
                self._say(said)
        return self._status


def _status(server: DriveServer) -> dict[str, Any] | None:
    """The status; None for a drive that has just ended."""
    try:
        return client.answered(server.ask('{"status": {}}'), str(server.control))
    except SoftsenseError:
        if server.running():
            raise
        return None


def _carry_out(server: DriveServer, event: Event, say: Callable[[str], None]) -> None:
    try:
        answer = in_background(lambda: client.answered(server.ask(json.dumps(event.request)), str(server.control)))
    except SoftsenseError as error:
        raise ConfigError(f"--script: at {as_duration(event.at_s)}: {event.text}: {error}") from None
    plain = {key: value for key, value in answer.items() if not isinstance(value, dict | list)}
    told = ", ".join(f"{key.replace('_', ' ')} {value:g}" for key, value in plain.items() if _is_number(value))
    say(f"at {as_duration(event.at_s)}: {event.text}" + (f": {told}" if told else ""))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _EndRequest:
    """A request to end the drive: whether it has come, and whether by Ctrl-C."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.by_ctrl_c = False

    def hear(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal; a further signal changes nothing, so that the drive always ends properly."""
        self.by_ctrl_c = self.by_ctrl_c or number == signal.SIGINT
        self.event.set()


@contextlib.contextmanager
def _asked_to_end() -> Iterator[_EndRequest]:
    """A context in which Ctrl-C and SIGTERM end the drive between two checks of its status, not within an operation."""
    asked = _EndRequest()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        # A signal that was ignored before, as shells do for background jobs, stays ignored.
        if handler is not signal.SIG_IGN:
            signal.signal(number, asked.hear)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def introduction(config: str, server: _core.DriveServer, folder: Path) -> str:
    """The config of a drive, what of it has no effect, the address, and first commands with the usual tools."""
    from softsense import tables

    quoted = shlex.quote(server.address)
    rows = [
        ("config", config),
        ("serving", server.address),
        ("image", str(folder)),
        ("inspect", f"nbdinfo {quoted}"),
        ("copy in", f"nbdcopy disk.img {quoted}"),
        ("mount as file", f"mkdir -p drive && nbdfuse drive/disk {quoted} &"),
        ("age", f"softsense drive age {shlex.quote(str(folder))} --retention 365d --pe 1000"),
        ("show status", f"softsense drive status {shlex.quote(str(folder))}"),
        ("end", "Ctrl-C, SIGTERM"),
    ]
    if server.without_effect:
        rows.insert(1, ("no effect", ", ".join(server.without_effect)))
    return tables.describe(rows)
