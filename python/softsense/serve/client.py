"""A client of a drive that is being served, over its control socket.

A request is one JSON object on a line, and so is the answer: `{"ok": ...}` or `{"error": "place: found, expected"}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from pathlib import Path
from typing import Any

from softsense._core import ConfigError, FileError

CONTROL = ".control"
"""The suffix that makes the name of a control socket from that of the NBD socket."""

LINK = "control"
"""The link in an image's folder to the control socket of the process that serves it."""

MOST_PATH_BYTES = 107
"""The longest path of a unix socket, in bytes."""

_OF_TCP = "control.sock"
_READ_BYTES = 1 << 16
_IDLE_S = 20.0


class Drive:
    """A drive that `softsense drive serve` serves.

    Args:
        path: its NBD socket, its control socket, or the folder of its image.

    Raises `FileError` if no drive answers.

    For example, a test that needs a drive a year old, with a die gone::

        with Drive("disk.sock") as drive:
            drive.age(retention_hours=8760, pe_cycles=3000)
            drive.fault({"kill_die": 3})
            print(drive.status()["codewords"]["rber"])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._rest = b""
        self._socket = _connected(self.path)
        self._used_at = time.monotonic()

    def __enter__(self) -> Drive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the drive keeps running."""
        self._socket.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request, such as `{"scrub": {}}`, and return the answer of the drive.

        Raises `ConfigError` with the drive's own words where it refuses, and `FileError` where it is gone.
        """
        if time.monotonic() - self._used_at > _IDLE_S:
            # The drive ends connections that are silent for long.
            self._socket.close()
            self._socket, self._rest = _connected(self.path), b""
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
            answer = self._line()
        except OSError as error:
            raise FileError(
                f"{self.path}: the drive does not answer ({error.strerror or error}): check that `softsense drive "
                "serve` still runs"
            ) from None
        self._used_at = time.monotonic()
        return answered(answer, str(self.path))

    def status(self) -> dict[str, Any]:
        """The status of the drive; docs/reference/drive.md names the fields."""
        return self.ask({"status": {}})

    def age(
        self,
        *,
        retention_hours: float = 0.0,
        temperature_c: float = 40.0,
        pe_cycles: int = 0,
        reads: int = 0,
        powered: bool = False,
    ) -> dict[str, Any]:
        """Let time pass, and add wear and reads; returns the drive's clock, and the ages of its flash.

        The content of the write buffer is programmed first, so that it ages, too: `units_programmed` counts its units,
        `buffered_bytes` the bytes for which no flash was found.

        Args:
            retention_hours: hours that all data rests.
            temperature_c: temperature in that time, in degrees Celsius.
            pe_cycles: additional program/erase cycles of every block.
            reads: additional reads of every block.
            powered: whether the drive refreshes and reclaims in that time; otherwise it lies on a shelf.
        """
        age = {"retention_hours": retention_hours, "temperature_c": temperature_c, "pe_cycles": pe_cycles}
        return self.ask({"age": {**age, "reads": reads, "powered": powered}})

    def fault(self, fault: dict[str, Any]) -> dict[str, Any]:
        """Inject a fault, such as `{"kill_die": 3}`; `{"heal": {}}` repairs dies and planes that were killed."""
        return self.ask({"fault": fault})

    def scrub(self) -> dict[str, Any]:
        """Read all data through error correction and rewrite weak data; returns the counts."""
        return self.ask({"scrub": {}})

    def flush(self) -> dict[str, Any]:
        """Put all data on the disk, as FLUSH does: into flash where the write cache is volatile."""
        return self.ask({"flush": {}})

    def stop(self) -> dict[str, Any]:
        """End the server, as Ctrl-C does."""
        return self.ask({"stop": {}})

    def _line(self) -> bytes:
        while b"\n" not in self._rest:
            received = self._socket.recv(_READ_BYTES)
            if not received:
                raise OSError("the drive ended the connection")
            self._rest += received
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def answered(line: bytes | str, place: str) -> dict[str, Any]:
    """The content of an answer. Raises `ConfigError` with the drive's words if the answer is an error."""
    try:
        answer = json.loads(line)
        if "error" in answer:
            raise ConfigError(str(answer["error"]))
        found = answer["ok"]
    except (ValueError, TypeError, KeyError):
        raise FileError(f"{place}: found an answer that no drive gives, expected JSON with ok or error") from None
    return found if isinstance(found, dict) else {}


def _connected(path: Path) -> socket.socket:
    """A connection to the control socket that belongs to a path."""
    refused: OSError | None = None
    for control in _controls(path):
        if len(os.fsencode(control)) > MOST_PATH_BYTES:
            what = f"found a path of {len(os.fsencode(control))} bytes, expected at most {MOST_PATH_BYTES}"
            raise FileError(f"{control}: {what}, the longest that a socket may have")
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(os.fspath(control))
        except OSError as error:
            connection.close()
            # "A socket without a listener" is a more useful message than "the next socket does not exist".
            if refused is None or isinstance(refused, FileNotFoundError):
                refused = error
        else:
            return connection
    why = f" ({refused.strerror})" if refused and not isinstance(refused, FileNotFoundError) else ""
    expected = "expected the socket or the image of a running `softsense drive serve`"
    raise FileError(f"{path}: found no drive that is being served{why}, {expected}")


def _controls(path: Path) -> list[Path]:
    """Paths where the control socket may be, likeliest first."""
    if path.is_dir():
        return [path / LINK, path / _OF_TCP]
    if path.name.endswith((CONTROL, _OF_TCP)):
        return [path]
    return [path.with_name(path.name + CONTROL)] if path.name else []


def link_control(image: Path, control: str) -> None:
    """Leave a link to the control socket in an image's folder, so that the folder names the drive as well."""
    control = os.path.abspath(control)
    if Path(control).parent == image.absolute():
        return
    with contextlib.suppress(OSError):
        if (image / LINK).is_symlink():
            (image / LINK).unlink()
        (image / LINK).symlink_to(control)


def unlink_control(image: Path, control: str) -> None:
    """Remove the link that `link_control` made; a link that another image has put there stays."""
    with contextlib.suppress(OSError):
        if (image / LINK).readlink() == Path(os.path.abspath(control)):
            (image / LINK).unlink()
