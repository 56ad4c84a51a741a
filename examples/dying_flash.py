"""Does my database notice when its flash dies? A pytest fixture that serves a drive, and tests of SQLite on it.

Copy the fixture, and put your own database in place of SQLite. The file of the database goes to the drive and comes
back by nbdcopy and qemu-img, so neither FUSE nor root is needed; without those programs the tests are skipped.

    pytest -rs examples/dying_flash.py
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from softsense.serve.client import Drive

NEEDED = {"nbdcopy": "libnbd-bin", "qemu-img": "qemu-utils"}
"""Programs, and the Debian packages that they are in."""


@dataclass
class Flash:
    """A drive that is being served.

    Attributes:
        address: of the block device, for NBD clients.
        control: to age it, break it and ask how it is.
        size_bytes: of the device.
    """

    address: str
    control: Drive
    size_bytes: int

    def write(self, file: Path) -> None:
        """Put a file on the device, from its first byte on."""
        image = file.with_suffix(".image")
        shutil.copyfile(file, image)
        with image.open("r+b") as grown:
            grown.truncate(self.size_bytes)
        _run("nbdcopy", "--flush", str(image), self.address)

    def read(self, file: Path) -> Path:
        """Copy the device to a file; what cannot be read is zeros there, as a tool that saves data leaves it."""
        _run("qemu-img", "convert", "--salvage", "-f", "raw", "-O", "raw", self.address, str(file))
        return file


@pytest.fixture
def drive() -> Iterator[Flash]:
    """A new drive of 16 MiB for each test, in a folder whose name is short: paths of sockets may have 107 bytes."""
    if missing := [program for program in NEEDED if not shutil.which(program)]:
        pytest.skip(f"no {', '.join(missing)} (Debian: {' '.join(NEEDED[program] for program in missing)})")
    command = [sys.executable, "-m", "softsense", "serve", "tlc-femu", "--size", "16MiB", "--json", "--socket"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([*command, f"{folder}/disk.sock"], stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            told = ""
            while not told.endswith("}\n"):
                line = server.stdout.readline() if server.stdout else ""
                assert line, "it is not served"
                told += line
            with Drive(f"{folder}/disk.sock") as control:
                yield Flash(json.loads(told)["address"], control, 16 << 20)
        finally:
            server.terminate()


# The database, which yours takes the place of.

ROWS = 400


def fill(file: Path) -> None:
    """A database of some MiB."""
    with closing(sqlite3.connect(file)) as base, base:
        base.execute("create table notes (number integer primary key, text blob)")
        base.executemany("insert into notes values (?, randomblob(4000))", ((number,) for number in range(ROWS)))


def is_whole(file: Path) -> bool:
    """Whether the database says that nothing is wrong with it."""
    try:
        with closing(sqlite3.connect(file)) as base:
            (count,) = base.execute("select count(*) from notes").fetchone()
            return base.execute("pragma integrity_check").fetchall() == [("ok",)] and count == ROWS
    except sqlite3.DatabaseError:
        return False


# The tests.


def test_my_database_survives_a_die(drive: Flash, tmp_path: Path) -> None:
    """A year on a shelf, wear, and one die of four: error correction and parity make all of it good."""
    base = tmp_path / "base.db"
    fill(base)
    drive.write(base)
    drive.control.age(retention_hours=8760, pe_cycles=1000)
    drive.control.fault({"kill_die": 1})
    assert is_whole(drive.read(tmp_path / "back.db"))
    codewords = drive.control.status()["codewords"]
    # Flash was read, was wrong, and was made good: else this test would mean nothing.
    assert codewords["raw_bit_errors"] > 0
    assert codewords["recovered_by_parity"] > 0


def test_my_database_notices_that_it_is_lost(drive: Flash, tmp_path: Path) -> None:
    """Two dies are more than parity makes good, and the database must not call that whole."""
    base = tmp_path / "base.db"
    fill(base)
    drive.write(base)
    for die in (1, 2):
        drive.control.fault({"kill_die": die})
    assert not is_whole(drive.read(tmp_path / "back.db"))
    assert drive.control.status()["host"]["read_errors"] > 0


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
