"""How long do files survive on a drive without maintenance, and how much do soft reads, parity and refresh help?

Four drives are served, each with the same 200 files on an ext4 file system: LDPC with soft levels, or BCH with hard
decision; with parity across dies and a weekly refresh, or with neither. They wear and age in steps. After each step
the file system is copied out, unreadable sectors are skipped, and `sha256sum -c` counts the files that are still
intact. Every byte goes through a real code and real cells; the tools are Debian's.

    make mount-demo                 # or: python examples/mount_demo.py [--quick] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from softsense.serve.client import Drive

TOOLS = {
    "nbdcopy": "libnbd-bin",
    "qemu-img": "qemu-utils",
    "mke2fs": "e2fsprogs",
    "debugfs": "e2fsprogs",
    "sha256sum": "coreutils",
}
"""What is needed, and the Debian package that it is in."""

FILES = 200
CONFIG = "tlc-femu"
# All four drives have these cells, which the BCH code corrects while they are new.
CELLS = 'rber={threshold_voltage="tlc-measured"},variation={chip_sigma=0.1,block_sigma=0.1,page_sigma=0.1}'
LDPC = (f'reliability={{exact={{code="flash-8/9",{CELLS}}}}}',)
BCH = (
    f'reliability={{exact={{code="bch:m=16,t=40,k=32768",{CELLS}}}}}',
    "read.max_level=1",
    'read.soft_references="cells"',
    # The config's retry table was made for the LDPC code, and is too coarse for this one: it gets the best references.
    'read.references="cells"',
)
REFRESH = "7d"
STEP_PE_CYCLES = 500
STEP_DAYS = 90
"""So much each step wears all blocks, and so long data lies then."""

SOCKET_WAIT_S = 60.0


@dataclass
class Candidate:
    """A drive of the comparison, and its results.

    Attributes:
        name: as the picture has it.
        options: of `softsense drive serve`.
        alive: whole files after each step.
        rber: raw bit error rate of the reads of each step.
    """

    name: str
    options: list[str]
    alive: list[int] = field(default_factory=list)
    rber: list[float] = field(default_factory=list)
    recovered: int = 0


def main() -> int:
    """Run the tour; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="half of the data, and fewer steps")
    parser.add_argument("--out", type=Path, default=Path("out/mount-demo"), metavar="FOLDER")
    arguments = parser.parse_args()
    os.environ["PATH"] += f"{os.pathsep}/usr/sbin{os.pathsep}/sbin"
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        packages = " ".join(sorted({TOOLS[tool] for tool in missing}))
        print(f"error: found no {', '.join(missing)}, expected them: apt-get install {packages}", file=sys.stderr)
        return 2
    out, size_mib = arguments.out, 16 if arguments.quick else 32
    steps = [0, 2, 6] if arguments.quick else [0, 1, 2, 3, 4, 6, 8, 10, 12]
    # What an earlier run has left would be gone on with.
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    image = make_file_system(out, size_mib)
    guarded = ["--parity", "--refresh", REFRESH]
    candidates = [
        Candidate("LDPC, parity and refresh", [*guarded, *set_options(LDPC)]),
        Candidate("LDPC alone", ["--no-parity", *set_options(LDPC)]),
        Candidate("BCH, parity and refresh", [*guarded, *set_options(BCH)]),
        Candidate("BCH alone", ["--no-parity", *set_options(BCH)]),
    ]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        works = [threads.submit(grow_old, each, out, image, size_mib, steps) for each in candidates]
        for work in works:
            work.result()
    print(table(candidates, steps))
    draw(candidates, steps, out)
    return 0


def set_options(overrides: tuple[str, ...]) -> list[str]:
    """Overrides as options of the command."""
    return [word for override in overrides for word in ("--set", override)]


def make_file_system(out: Path, size_mib: int) -> Path:
    """An image of ext4 with the files, which fill about two thirds of it, and their checksums."""
    folder, image = out / "files", out / "files.img"
    folder.mkdir()
    draw_sizes = random.Random(1)
    mean_bytes = size_mib * (1 << 20) * 0.64 / FILES
    for number in range(FILES):
        data = draw_sizes.randbytes(int(mean_bytes * draw_sizes.uniform(0.2, 1.8)))
        (folder / f"{number:03}.bin").write_bytes(data)
    sums = run("sh", "-c", 'cd "$1" && sha256sum *.bin', "sh", str(folder)).stdout
    # Not on the drive: who loses data may not lose what tells it.
    (out / "SHA256SUMS").write_text(sums)
    with image.open("wb") as made:
        made.truncate(size_mib << 20)
    run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(folder), str(image))
    return image


def grow_old(candidate: Candidate, out: Path, image: Path, size_mib: int, steps: list[int]) -> None:
    """Put the file system on the drive, and let it grow old."""
    folder = out / candidate.name.replace(", ", "-").replace(" ", "-")
    folder.mkdir()
    powered = "--refresh" in candidate.options
    with served(folder, [f"--size={size_mib}MiB", *candidate.options]) as (address, drive):
        run("nbdcopy", "--flush", str(image), address)
        before, counted = 0, drive.status()["codewords"]
        for step in steps:
            for _ in range(before, step):
                drive.age(retention_hours=24.0 * STEP_DAYS, pe_cycles=STEP_PE_CYCLES, powered=powered)
            before = step
            if candidate.alive and not candidate.alive[-1]:
                # What is lost does not come back, and to try every sector again takes long.
                candidate.alive.append(0)
                continue
            candidate.alive.append(whole_files(address, folder, out / "SHA256SUMS"))
            now = drive.status()["codewords"]
            bits = now["bits_read"] - counted["bits_read"]
            candidate.rber.append((now["raw_bit_errors"] - counted["raw_bit_errors"]) / bits if bits else 0.0)
            counted = now
            print(
                f"{candidate.name}, {step * STEP_PE_CYCLES:,} P/E cycles: {candidate.alive[-1]} of {FILES} files, ",
                end="",
                flush=True,
            )
            print(f"RBER {candidate.rber[-1]:.1e}, {now['uncorrectable']:,} uncorrectable", flush=True)
        candidate.recovered = counted["recovered_by_parity"]


@contextmanager
def served(folder: Path, options: list[str]) -> Iterator[tuple[str, Drive]]:
    """A drive that `softsense drive serve` serves: its address, and a client for it."""
    command = [sys.executable, "-m", "softsense", "serve", CONFIG, "--socket", str(folder / "d.sock"), "--json"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        told = ""
        until = time.monotonic() + SOCKET_WAIT_S
        while not told.endswith("}\n") and time.monotonic() < until and (line := server.stdout.readline()):
            told += line
        if not told:
            raise SystemExit(2)
        try:
            with Drive(folder / "d.sock") as drive:
                yield json.loads(told)["address"], drive
        finally:
            server.send_signal(signal.SIGTERM)


def whole_files(address: str, folder: Path, sums: Path) -> int:
    """The number of files that can be read back intact."""
    copy, files = folder / "copy.img", folder / "files"
    shutil.rmtree(files, ignore_errors=True)
    files.mkdir()
    # What cannot be read is zeros in the copy; nbdcopy would end there.
    run("qemu-img", "convert", "--salvage", "-f", "raw", "-O", "raw", address, str(copy))
    run("debugfs", "-c", "-R", f'rdump / "{files}"', str(copy), check=False)
    checked = run("sh", "-c", 'cd "$1" && sha256sum -c "$2"', "sh", str(files), str(sums.absolute()), check=False)
    copy.unlink()
    shutil.rmtree(files, ignore_errors=True)
    return checked.stdout.count(": OK\n")


def run(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a tool; with `check` it has to succeed."""
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if check and done.returncode:
        print(f"error: {' '.join(words)}: {done.stderr.strip()}", file=sys.stderr)
        raise SystemExit(2)
    return done


def table(candidates: list[Candidate], steps: list[int]) -> str:
    """Whole files of each drive after each step."""
    from softsense import tables

    columns = [
        (f"{step * STEP_PE_CYCLES:,}", [str(each.alive[i]) for each in candidates]) for i, step in enumerate(steps)
    ]
    columns.append(("by parity", [f"{each.recovered:,}" for each in candidates]))
    title = f"\nFiles of {FILES} that are whole, after so many P/E cycles, {STEP_DAYS} days for {STEP_PE_CYCLES}"
    return tables.paneled(title, "drive", [each.name for each in candidates], columns, 150)


def draw(candidates: list[Candidate], steps: list[int], out: Path) -> None:
    """Draw files alive over age, as SVG and PNG."""
    import polars as pl

    from softsense import colours
    from softsense.papers import Number, drawing
    from softsense.plots.printing import draw_sheet

    styles = {
        each.name: drawing.Line(
            colours.SERIES[i // 2], "-" if i % 2 == 0 else "--", "circle" if i % 2 == 0 else "square"
        )
        for i, each in enumerate(candidates)
    }
    rows = []
    for each in candidates:
        ages = [step * STEP_PE_CYCLES for step in steps]
        for age, alive in zip(ages, each.alive, strict=True):
            rows.append(drawing.point(f"of {FILES} files", each.name, age, Number.exact(alive)))
        # Of a drive that has lost everything nothing more is read.
        for age, rber in zip(ages, each.rber, strict=False):
            rows.append(drawing.point("raw bit error rate, %", each.name, age, Number.exact(100 * rber)))
    frame = pl.DataFrame(sorted(rows, key=lambda row: row["panel"]))
    note = f"{CONFIG}, {STEP_DAYS} days at 40 C for each {STEP_PE_CYCLES} P/E cycles; refresh after {REFRESH}"
    sheet = drawing.lines(
        "Files that are still whole",
        "P/E cycles since they were written",
        ["files that are whole", "RBER as read, %"],
        styles,
        note,
    )(frame)
    figure = draw_sheet(sheet)
    for suffix in ("svg", "png"):
        figure.savefig(out / f"files-alive.{suffix}")
        print(f"wrote {out / f'files-alive.{suffix}'}")


if __name__ == "__main__":
    sys.exit(main())
