"""Do the clients that people have work on a served drive, and is what was flushed there after the server was killed?

Each test skips where its client is missing. Nothing here knows NBD: the clients are libnbd's, QEMU's and fio's.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from serving import PATIENCE_S, SIZE, SIZE_BYTES, Served, asked, needs, run, served, serving

BLOCK = 4096
DEBIAN_PYTHON = "/usr/bin/python3"
"""The Python that Debian's bindings of libnbd are for."""


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A drive that the clients share, each of which writes what it reads."""
    with serving(tmp_path_factory.mktemp("clients")) as one:
        yield one


def noise(seed: int, size: int = SIZE_BYTES) -> bytes:
    """Bytes that nobody could guess."""
    return random.Random(seed).randbytes(size)


def needs_libnbd() -> None:
    """Skip where Python has no libnbd."""
    needs("nbdsh")
    if subprocess.run([DEBIAN_PYTHON, "-c", "import nbd"], capture_output=True, check=False).returncode:
        pytest.skip("no Python bindings of libnbd (Debian: python3-libnbd)")


# libnbd.


def test_nbdinfo_tells_what_is_served(drive: Served) -> None:
    needs("nbdinfo")
    (export,) = json.loads(run("nbdinfo", "--json", drive.address).stdout)["exports"]
    assert export["export-size"] == SIZE_BYTES
    assert not export["is_read_only"]
    for can in ("can_flush", "can_fua", "can_trim", "can_zero", "can_multi_conn"):
        assert export[can], can
    assert "base:allocation" in export["contexts"]
    assert export["block_size_minimum"] == 1
    assert run("nbdinfo", "--size", drive.address).stdout.strip() == str(SIZE_BYTES)
    listed = json.loads(run("nbdinfo", "--list", "--json", drive.address).stdout)["exports"]
    assert [each["export-size"] for each in listed] == [SIZE_BYTES]


def test_the_map_tells_what_was_written(tmp_path: Path) -> None:
    needs("nbdinfo", "qemu-io")
    with serving(tmp_path) as one:

        def extents() -> list[tuple[int, int, int]]:
            rows = json.loads(run("nbdinfo", "--map", "--json", one.address).stdout)
            return [(row["offset"], row["length"], row["type"]) for row in rows]

        assert [kind for _, _, kind in extents()] == [3]
        run("qemu-io", "-f", "raw", one.address, "-c", "write -P 7 1M 256k")
        assert extents() == [(0, 1 << 20, 3), (1 << 20, 256 << 10, 0), (1 << 20 | 256 << 10, SIZE_BYTES - (5 << 18), 3)]
        run("qemu-io", "-f", "raw", one.address, "-c", "discard 1M 256k")
        assert [kind for _, _, kind in extents()] == [3]


def test_nbdcopy_copies_there_and_back(drive: Served, tmp_path: Path) -> None:
    needs("nbdcopy")
    before, after = tmp_path / "before.img", tmp_path / "after.img"
    before.write_bytes(noise(1))
    run("nbdcopy", "--flush", before, drive.address)
    run("nbdcopy", drive.address, after)
    assert after.read_bytes() == before.read_bytes()


NBDSH = """
import os, sys
import nbd
h = nbd.NBD()
h.add_meta_context("base:allocation")
h.connect_uri(sys.argv[1])
assert h.get_structured_replies_negotiated()
assert h.can_meta_context("base:allocation")
data = os.urandom(65536)
h.pwrite(data, 131072, nbd.CMD_FLAG_FUA)
assert h.pread(65536, 131072) == data
# Structured replies come in pieces that together are the whole.
pieces = {}
def piece(part, offset, status, error):
    pieces[offset] = bytes(part)
h.pread_structured(65536, 131072, piece)
assert b"".join(pieces[offset] for offset in sorted(pieces)) == data
# Some bytes, across the border of two blocks.
h.pwrite(b"softsense", 135165)
assert h.pread(11, 135164) == data[4092:4093] + b"softsense" + data[4102:4103]
found = []
def extent(context, offset, entries, error):
    found.extend(zip(entries[::2], entries[1::2]))
h.block_status(65536, 131072, extent)
assert [flags for _, flags in found] == [0] and sum(length for length, _ in found) >= 65536, found
h.trim(65536, 131072, nbd.CMD_FLAG_FUA)
assert h.pread(65536, 131072) == bytes(65536)
h.pwrite(data, 131072)
h.zero(65536, 131072, nbd.CMD_FLAG_NO_HOLE)
assert h.pread(65536, 131072) == bytes(65536)
h.flush()
# Twenty writes at a time, and what was written last is there.
cookies = [h.aio_pwrite(bytes([i]) * 4096, i * 4096) for i in range(20)]
while h.aio_in_flight():
    h.poll(-1)
for i in range(20):
    assert h.pread(4096, i * 4096) == bytes([i]) * 4096
# What the library would not even send is refused by the server.
h.set_strict_mode(0)
for wrong in (lambda: h.pread(4096, h.get_size()), lambda: h.pwrite(bytes(4096), h.get_size() - 512)):
    try:
        wrong()
    except nbd.Error as error:
        assert error.errnum in (22, 28), error
    else:
        raise AssertionError("beyond the end")
assert h.pread(4096, 0) == bytes(4096)
h.shutdown()
print("all well")
"""


def test_libnbd_takes_its_liberties(drive: Served, tmp_path: Path) -> None:
    needs_libnbd()
    script = tmp_path / "script.py"
    script.write_text(NBDSH)
    assert run(DEBIAN_PYTHON, script, drive.address).stdout == "all well\n"
    run(
        "env",
        "PATH=/usr/bin:/bin",
        "nbdsh",
        "-u",
        drive.address,
        "-c",
        "assert h.pread(4096, 4096) == bytes([1]) * 4096",
    )


# QEMU and fio.


def test_qemu_reads_what_it_wrote(drive: Served, tmp_path: Path) -> None:
    needs("qemu-img", "qemu-io")
    known = json.loads(run("qemu-img", "info", "--output=json", "-f", "raw", drive.address).stdout)
    assert known["virtual-size"] == SIZE_BYTES
    commands = (
        "write -P 0xa5 64k 1M",
        "write -P 0x3c 65000 777",
        "flush",
        "read -P 0xa5 66k 900k",
        "read -P 0x3c 65000 777",
    )
    commands += ("write -z 128k 64k", "read -P 0 128k 64k", "discard 192k 64k", "read -P 0 192k 64k")
    done = run("qemu-io", "-f", "raw", drive.address, *(word for command in commands for word in ("-c", command)))
    assert "verification failed" not in done.stdout
    wrong = run("qemu-io", "-f", "raw", drive.address, "-c", "read -P 0x11 66k 4k", check=False)
    assert "verification failed" in wrong.stdout, "it would not see what is wrong"
    image = tmp_path / "disk.qcow2"
    run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", drive.address, image)
    assert "identical" in run("qemu-img", "compare", "-f", "raw", "-F", "qcow2", drive.address, image).stdout


def test_fio_verifies_what_it_wrote(drive: Served) -> None:
    needs("fio")
    if "nbd" not in run("fio", "--enghelp").stdout.split():
        pytest.skip("fio has no nbd engine")
    job = (
        "--name=job",
        "--verify_state_save=0",
        "--ioengine=nbd",
        f"--uri={drive.address}",
        "--rw=randrw",
        "--bs=512-64k",
        "--iodepth=8",
    )
    done = run(
        "fio",
        *job,
        "--size=6M",
        "--verify=crc32c",
        "--verify_state_save=0",
        "--verify_fatal=1",
        "--randseed=1",
        "--output-format=json",
    )
    (told,) = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
    assert told["error"] == 0
    assert told["read"]["total_ios"] > 50


def test_many_clients_at_once(drive: Served, tmp_path: Path) -> None:
    needs("qemu-io")
    failed = []

    def client(number: int) -> None:
        for turn in range(4):
            at, pattern = f"{number * 512 + turn * 64}k", 16 * number + turn
            commands = (f"write -P {pattern} {at} 64k", f"read -P {pattern} {at} 64k")
            done = run(
                "qemu-io",
                "-f",
                "raw",
                drive.address,
                *(word for each in commands for word in ("-c", each)),
                check=False,
            )
            if done.returncode or "failed" in done.stdout:
                failed.append(done.stdout + done.stderr)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# File systems.


def files(folder: Path, count: int = 60) -> None:
    """Files of many sizes, and their checksums."""
    folder.mkdir()
    draw = random.Random(4)
    for number in range(count):
        (folder / f"{number:03}.bin").write_bytes(draw.randbytes(draw.choice((10, 1000, 5000, 60_000))))
    sums = run("sh", "-c", f"cd '{folder}' && sha256sum *.bin").stdout
    (folder / "SHA256SUMS").write_text(sums)


def test_a_file_system_outlives_a_year_on_a_shelf(drive: Served, tmp_path: Path) -> None:
    needs("nbdcopy")
    if not (mke2fs := shutil.which("mke2fs", path="/usr/sbin:/sbin:" + os.environ["PATH"])):
        pytest.skip("no mke2fs (Debian: e2fsprogs)")
    files(tmp_path / "files")
    image, back, out = tmp_path / "fs.img", tmp_path / "back.img", tmp_path / "out"
    with image.open("wb") as made:
        made.truncate(SIZE_BYTES)
    run(mke2fs, "-q", "-t", "ext4", "-d", tmp_path / "files", image)
    run("nbdcopy", "--flush", image, drive.address)
    asked(drive.socket, {"age": {"retention_hours": 8760.0}})
    run("nbdcopy", drive.address, back)
    run("e2fsck", "-fn", back)
    out.mkdir()
    run("debugfs", "-R", f"rdump / {out}", back)
    assert run("sh", "-c", f"cd '{out}' && sha256sum --quiet -c SHA256SUMS").stdout == ""
    status = asked(drive.socket, {"status": {}})
    assert status["codewords"]["rber"] > 0
    assert status["host"]["read_errors"] == status["codewords"]["undetected"] == 0


@contextmanager
def mounted(command: list[str], where: Path, there: Path) -> Iterator[None]:
    """A FUSE file system whose program is in the foreground; skips where nothing can be mounted.

    Args:
        command: the program.
        where: where it mounts.
        there: a path that is there when it has.
    """
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 10
        while not (where.is_mount() and there.exists()):
            if process.poll() is not None or time.monotonic() > until:
                process.kill()
                pytest.skip(f"nothing can be mounted here: {process.communicate()[1].strip()}")
            time.sleep(0.05)
        try:
            yield
        finally:
            run("umount", where)
            process.communicate(timeout=20)


def test_sqlite_on_a_mounted_file_system(tmp_path: Path) -> None:
    """A database is written through nbdfuse and fuse2fs, and whole after a year and a loss of power."""
    needs("nbdfuse", "fuse2fs", "nbdcopy", "umount")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("no /dev/fuse that may be used")
    import sqlite3

    device, folder, image = tmp_path / "dev", tmp_path / "mnt", tmp_path / "back.img"
    device.mkdir()
    folder.mkdir()
    with serving(tmp_path) as one:
        with mounted(["nbdfuse", str(device / "disk"), one.address], device, device / "disk"):
            run("mke2fs", "-q", "-t", "ext4", device / "disk")
            fuse2fs = ["fuse2fs", "-f", "-o", "rw", str(device / "disk"), str(folder)]
            with mounted(fuse2fs, folder, folder / "lost+found"), closing(sqlite3.connect(folder / "base.db")) as base:
                base.execute("create table numbers (number integer primary key, noise blob)")
                for number in range(200):
                    with base:
                        base.execute("insert into numbers values (?, ?)", (number, noise(number, 5000)))
        asked(one.socket, {"age": {"retention_hours": 8760.0, "pe_cycles": 1000}})
        asked(one.socket, {"fault": {"drop_power": {}}})
        run("nbdcopy", one.address, image)
    run("e2fsck", "-fn", image)
    run("debugfs", "-R", f"dump /base.db {tmp_path / 'base.db'}", image)
    with closing(sqlite3.connect(tmp_path / "base.db")) as base:
        assert base.execute("pragma integrity_check").fetchall() == [("ok",)]
        assert base.execute("select count(*) from numbers").fetchall() == [(200,)]
        assert base.execute("select noise from numbers where number = 77").fetchone() == (noise(77, 5000),)


def test_a_database_on_dying_flash(tmp_path: Path) -> None:
    """The example that the tutorial offers to copy."""
    needs("nbdcopy", "qemu-img")
    example = Path(__file__).parents[1] / "examples" / "dying_flash.py"
    options = ("-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "tests"), "-c", os.devnull)
    assert "2 passed" in run(sys.executable, "-m", "pytest", *options, str(example)).stdout


# Killed in the middle.

WRITER = """
import os, random, sys
import nbd
address, seed, log = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "a")
draw = random.Random(seed)
h = nbd.NBD()
h.connect_uri(address)
blocks = h.get_size() // 4096 // 4
count = 0
try:
    while True:
        for _ in range(draw.randrange(1, 40)):
            block = draw.randrange(blocks)
            count += 1
            fua = draw.random() < 0.1
            # Of each block it is known what was written, and what is on the disk for sure.
            log.write(f"w {block} {seed} {count}\\n")
            log.flush()
            data = random.Random(seed * 1000003 + count).randbytes(4096)
            h.pwrite(data, block * 4096, nbd.CMD_FLAG_FUA if fua else 0)
            if fua:
                log.write(f"d {block} {seed} {count}\\n")
        h.flush()
        log.write("f\\n")
        log.flush()
except nbd.Error:
    pass
"""

READER = """
import random, sys
import nbd
def text(seed, count):
    return random.Random(seed * 1000003 + count).randbytes(4096) if seed else bytes(4096)
h = nbd.NBD()
h.connect_uri(sys.argv[1])
blocks = h.get_size() // 4096 // 4
durable, later = {}, {}
for line in open(sys.argv[2]):
    word, *rest = line.split()
    if word == "f":
        durable.update((block, writes[-1]) for block, writes in later.items() if writes)
        later = {}
        continue
    block, *write = map(int, rest)
    if word == "w":
        later.setdefault(block, []).append(tuple(write))
    else:
        # Written with FUA, or found after the last kill.
        durable[block], later[block] = tuple(write), []
wrong = 0
with open(sys.argv[2], "a") as log:
    for block in range(blocks):
        allowed = [durable.get(block, (0, 0)), *later.get(block, [])]
        texts = [text(*write) for write in allowed]
        found = h.pread(4096, block * 4096)
        if found not in texts:
            wrong += 1
        elif later.get(block):
            log.write(f"s {block} {allowed[texts.index(found)][0]} {allowed[texts.index(found)][1]}\\n")
h.flush()
print(len(durable), wrong)
"""


def killed(tmp_path: Path, points: int, *options: str) -> None:
    """Kill the server at random points under load; what was flushed must be there each time, and nothing made up."""
    needs_libnbd()
    writer, reader, log = tmp_path / "writer.py", tmp_path / "reader.py", tmp_path / "writes.log"
    writer.write_text(WRITER)
    reader.write_text(READER)
    draw = random.Random(points)
    durable = 0
    one = served(tmp_path, *options)
    try:
        for point in range(1, points + 1):
            load = subprocess.Popen([DEBIAN_PYTHON, writer, one.address, str(point), log])
            time.sleep(draw.uniform(0.05, 0.6))
            one.process.send_signal(signal.SIGKILL)
            one.process.wait()
            load.wait(PATIENCE_S)
            one = served(tmp_path, *options, size=None)
            known, wrong = map(int, run(DEBIAN_PYTHON, reader, one.address, log).stdout.split())
            assert wrong == 0, f"after kill {point}"
            assert known >= durable
            durable = known
        status = asked(one.socket, {"status": {}})
        assert status["codewords"]["undetected"] == status["lost_units"] == 0
        assert durable > 100, "hardly anything was flushed"
    finally:
        one.process.kill()
        one.process.wait()


@pytest.mark.parametrize("cache", ["protected", "volatile"])
def test_what_was_flushed_is_there_after_a_kill(tmp_path: Path, cache: str) -> None:
    killed(tmp_path, 10, "--write-cache", cache)


@pytest.mark.law
@pytest.mark.parametrize("cache", ["protected", "volatile"])
def test_what_was_flushed_is_there_after_a_hundred_kills(tmp_path: Path, cache: str) -> None:
    killed(tmp_path, 100, "--write-cache", cache)


@pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")
def test_ctrl_c_under_load_loses_nothing(tmp_path: Path) -> None:
    needs_libnbd()
    (tmp_path / "writer.py").write_text(WRITER)
    (tmp_path / "reader.py").write_text(READER)
    log = tmp_path / "writes.log"
    one = served(tmp_path)
    load = subprocess.Popen([DEBIAN_PYTHON, tmp_path / "writer.py", one.address, "1", log])
    time.sleep(1)
    assert one.ended(signal.SIGINT) == 130
    load.wait(PATIENCE_S)
    with serving(tmp_path, size=None) as again:
        durable, wrong = map(int, run(DEBIAN_PYTHON, tmp_path / "reader.py", again.address, log).stdout.split())
    assert durable > 20
    assert wrong == 0


def test_the_size_is_that_of_the_tests() -> None:
    assert int(SIZE.removesuffix("MiB")) << 20 == SIZE_BYTES
