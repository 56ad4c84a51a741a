"""What the tests of served drives share: `softsense drive serve` in a process of its own, and what is asked of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from softsense.serve.client import Drive

CONFIG = "tlc-femu"
SIZE = "16MiB"
SIZE_BYTES = 16 << 20
COMMAND = [sys.executable, "-m", "softsense"]
PATIENCE_S = 60


@dataclass
class Served:
    """A drive that is being served.

    Attributes:
        process: `softsense drive serve`.
        address: of the block device, an NBD URI.
        control: its control socket.
        image: the folder of its image.
        socket: its NBD socket, where it has one.
    """

    process: subprocess.Popen[str]
    address: str
    control: Path
    image: Path
    socket: Path

    def drive(self) -> Drive:
        """Somebody who speaks to it."""
        return Drive(self.socket)

    def ended(self, number: int = signal.SIGTERM) -> int:
        """Its exit code after a signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)


def served(folder: Path, *options: str, size: str | None = SIZE, name: str = "disk") -> Served:
    """Serve a drive in a folder; what it says goes to `disk.log` and `disk.err` there."""
    socket = folder / f"{name}.sock"
    words = [*COMMAND, "serve", CONFIG, "--socket", str(socket), "--json", *options]
    words += ["--size", size] if size else []
    log, err = folder / f"{name}.log", folder / f"{name}.err"
    with log.open("w") as out, err.open("w") as errors:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, text=True)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            told = json.loads(log.read_text())
        except ValueError:
            if process.poll() is not None:
                break
            time.sleep(0.02)
        else:
            return Served(process, told["address"], Path(told["control"]), Path(told["image"]), socket)
    process.kill()
    process.wait()
    raise AssertionError(f"it was not served: {err.read_text()}")


@contextmanager
def serving(folder: Path, *options: str, size: str | None = SIZE, name: str = "disk") -> Iterator[Served]:
    """A served drive, which ends with the block."""
    one = served(folder, *options, size=size, name=name)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.send_signal(signal.SIGTERM)
            try:
                one.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                one.process.kill()
                one.process.wait()


def needs(*programs: str) -> None:
    """Skip, and say so, where a program is missing."""
    if missing := [program for program in programs if shutil.which(program) is None]:
        pytest.skip(f"no {', '.join(missing)} (Debian: libnbd-bin nbdfuse qemu-utils fio e2fsprogs python3-libnbd)")


def run(*words: str | Path, check: bool = True, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """Run a program; with `check` it has to end well."""
    path = f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin"
    given: Sequence[str] = [str(word) for word in words]
    done = subprocess.run(
        given, capture_output=True, text=True, timeout=timeout, check=False, env={**os.environ, "PATH": path}
    )
    assert not check or done.returncode == 0, f"{' '.join(given)}: {done.stdout}{done.stderr}"
    return done


def softsense(*words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command of softsense."""
    return run(*COMMAND, *words, check=check)


def asked(drive: str | Path, request: dict[str, Any]) -> dict[str, Any]:
    """What a drive answers."""
    with Drive(drive) as one:
        return one.ask(request)
