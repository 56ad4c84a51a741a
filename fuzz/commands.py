"""Command lines that nobody would write, and files for them that are broken in every way: `soak.py` runs this.

A line is a command of softsense with arguments and options that its help names, their values right, odd, or wrong. It
runs in a folder with files of every kind, whole and broken, and hears Ctrl-C if it takes longer than a moment. It must
end as docs/when-things-go-wrong.md promises: with exit code 0, 2 or 130, at most one complaint, and no file
that is half written.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import click

# Beside this file.
import deep

from softsense import cli, following

SMALL = [
    "geometry.channels=1",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.blocks_per_plane=128",
    "workload.requests=200",
    "workload.footprint_bytes=1048576",
]
PROMISED = {0, 2, 130}
PATIENCE_S = 0.25
"""After so long at most a command hears Ctrl-C."""

KEPT = {".lock", following.NAME, following.PLAN}
"""Hidden files that stay beside results."""

SWEEP = """
config = "mlc-25nm"
policies = ["two_step", "progressive"]
set = [%s]
[grid]
"decoder.time.fixed_us" = [1.0, 8.0]
""" % ", ".join(f'"{text}"' for text in SMALL)  # noqa: UP031

FILES: dict[str, bytes] = {
    "config.toml": b"[workload]\nrequests = 100\nread_fraction = 0.5\nsizes = [{ bytes = 4096, share = 1.0 }]\n"
    b'addresses = "uniform"\narrivals.poisson.requests_per_s = 1e4\nfootprint_bytes = 1048576\n'
    b"[geometry]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nblocks_per_plane = 128\n",
    "sweep.toml": SWEEP.encode(),
    "disksim.trace": b"0.5 0 0 8 1\n1.5 0 8 8 1\n2.5 0 16 8 0\n",
    "own.csv": b"arrival_ns,device,kind,offset_bytes,bytes\n0,0,read,4096,8192\n152000,1,trim,0,65536\n",
    "small.qc": b"2 4 4\n0 1 2 -1\n3 -1 0 0\n",
    "hamming.alist": b"7 3\n3 4\n1 1 2 1 2 2 3\n4 4 4\n1 0 0\n2 0 0\n1 2 0\n3 0 0\n1 3 0\n2 3 0\n1 2 3\n"
    b"1 3 5 7\n2 3 6 7\n4 5 6 7\n",
    "cells.toml": b'mapping = "mlc"\n',
    "table.toml": b'format = "softsense decode table, version 1"\nname = "t"\ncode = "c"\ndecoder = "d"\nsource = "s"\n'
    b'interpolation = "log"\nrber = [0.001, 0.02]\n[[level]]\np_fail = [1e-8, 1.0]\n',
    "binary": bytes(range(256)) * 4,
    "empty": b"",
}
MADE = [
    ["code", "traps", "teaching-1/2", "--bits", "4", "--out", "traps.toml"],
    [*("fer", "teaching-1/2", "--levels", "1,2", "--rber", "0.03", "--frames", "2000"), "--store", "store"],
]
"""Commands that make the other files."""
WORDS = [
    *("flash-8/9", "teaching-1/2", "adaptive-5/6", "bch-4KB-t105", "bch:m=9,t=3,k=64", "min-sum", "bit-flipping"),
    *(
        "sum-product",
        "min-sum-8bit:12",
        "mlc",
        "tlc-2-3-2",
        "lower",
        "mlc-25nm",
        "tlc-femu",
        "mlc-laldpc",
        "ldpc-in-ssd",
    ),
    *("laldpc", "two_step", "progressive", "all", "flash-8-9", "laldpc-thresholds", "bsc:0.01", "gaussian:0.01:3"),
    *("awgn:3", "errors:7", "nested", "uniform:0.1", "0.004:0.006:0.001", "1-7", "1,3", "0.005", "3000:30", "1e-15"),
    *("none", "read", "4KiB", "only=1", "merge", "p99", "1e309", "nan", "-1", "", " ", "x" * 300, "../.."),
    *("\udcff", "ü", "=", ","),
]
RIGHT = {
    "code": ["teaching-1/2", "flash-8/9", "small.qc", "hamming.alist", "bch:m=9,t=3,k=64"],
    "fer": ["teaching-1/2", "hamming.alist", "bch:m=9,t=3,k=64"],
    "table build": ["teaching-1/2", "hamming.alist"],
    "table show": ["table.toml", "laldpc-thresholds", "flash-8-9"],
    "trace": ["disksim.trace", "own.csv", "new.csv", "config.toml"],
    "sweep": ["sweep.toml"],
    "run": ["config.toml", "mlc-25nm", "tlc-femu"],
    "compare": ["config.toml", "mlc-25nm"],
    "config": ["config.toml", "mlc-lae"],
    "lifetime": ["tlc-femu", "mlc-lae", "config.toml"],
}
"""What arguments of commands should be."""
FOR_MINUTES = {"board published"}
"""Commands that count for minutes whatever they are told; tests/test_faults.py interrupts them."""
RIGHT_OPTIONS = {"store": "store", "traps": "traps.toml"}
NAMES = ["mlc-25nm", "flash-8/9", "teaching-1/2", "new.toml", "new.csv", "new.png", "new", "folder", "/dev/full"]
NUMBERS = ["0", "1", "2", "3", "7", "10", "100", "0.5", "0.01", "1e-9", "-1", "1e300", f"{2**63}", "nan", "x", ""]


def mutated(draw: random.Random, content: bytes) -> bytes:
    """The content with some bits, bytes, lines or numbers changed."""
    content = bytearray(content)
    for _ in range(draw.choice([0, 1, 1, 2, 4])):
        at = draw.randrange(len(content) + 1)
        match draw.randrange(8):
            case 0 if content:
                content[min(at, len(content) - 1)] ^= 1 << draw.randrange(8)
            case 1:
                content[at:at] = draw.randbytes(draw.randrange(1, 5))
            case 2:
                del content[at : at + draw.randrange(1, 30)]
            case 3:
                content[at:at] = content[at : at + draw.randrange(1, 200)]
            case 4:
                lines = bytes(content).split(b"\n")
                draw.shuffle(lines)
                content = bytearray(b"\n".join(lines))
            case 5:
                content[at : at + draw.randrange(4)] = draw.choice(NUMBERS).encode()
            case 6:
                content = content[:at]
            case 7:
                content[at:at] = deep.text(draw).encode()
    return bytes(content)


def commands() -> list[tuple[list[str], click.Command]]:
    """Every command, with the words that call it."""
    found: list[tuple[list[str], click.Command]] = []

    def walk(words: list[str], command: click.Command) -> None:
        if isinstance(command, click.Group):
            for name, below in command.commands.items():
                walk([*words, name], below)
        elif " ".join(words) not in FOR_MINUTES:
            found.append((words, command))

    walk([], cli.cli)
    return found


def value(draw: random.Random, words: list[str], parameter: click.Parameter) -> str:
    """A value of an option or argument of a command: mostly of its kind."""
    kind = parameter.type
    if isinstance(parameter, click.Argument) and draw.random() < 0.7:
        key = next((key for key in (" ".join(words), words[0]) if key in RIGHT), None)
        if key and not isinstance(kind, click.Choice):
            return draw.choice(RIGHT[key])
    if draw.random() < 0.1:
        return draw.choice([*WORDS, *NUMBERS, *FILES])
    if draw.random() < 0.02:
        # The system takes no longer words, and none with a zero.
        return deep.text(draw)[:30_000].replace("\0", "")
    if parameter.name in RIGHT_OPTIONS and draw.random() < 0.7:
        return RIGHT_OPTIONS[parameter.name]
    if isinstance(kind, click.Choice):
        return str(draw.choice(list(kind.choices)))
    if isinstance(kind, click.types.IntParamType):
        return draw.choice(["1", "2", "3", "7", "10", "100"] if draw.random() < 0.8 else NUMBERS)
    if isinstance(kind, click.types.FloatParamType):
        return draw.choice(["0.5", "0.01", "1e-9", "2", "10"] if draw.random() < 0.8 else NUMBERS)
    if isinstance(kind, click.Path) or parameter.name in ("file", "trace", "name", "config"):
        return draw.choice([*FILES, *NAMES])
    if parameter.name == "overrides":
        return draw.choice([*SMALL, f"seed={draw.choice(NUMBERS)}", f"ftl.over_provisioning={draw.choice(NUMBERS)}"])
    return draw.choice(WORDS)


def line(draw: random.Random, known: list[tuple[list[str], click.Command]]) -> list[str]:
    """A command line."""
    words, command = draw.choice(known)
    options: list[str] = []
    positional: list[str] = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            if draw.random() < 0.97:
                positional.append(value(draw, words, parameter))
        elif draw.random() < min(0.5, 3 / len(command.params)):
            assert isinstance(parameter, click.Option)
            options.append(draw.choice(parameter.opts))
            if not parameter.is_flag:
                options.append(value(draw, words, parameter))
        if parameter.name == "overrides" and draw.random() < 0.9:
            options += [word for text in SMALL for word in ("--set", text)]
    rest = [*positional, *options]
    if draw.random() < 0.05:
        draw.shuffle(rest)
    return [*words, *rest]


def run(words: list[str], patience_s: float) -> tuple[int, str]:
    """The exit code of a command line that hears Ctrl-C after so long, and what it complained of."""
    said, complained = io.StringIO(), io.StringIO()
    code = 130
    try:
        signal.setitimer(signal.ITIMER_REAL, patience_s, 0.5)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            try:
                code = cli.main(words)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
    except KeyboardInterrupt:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return code, complained.getvalue()


def broken(code: int, complained: str, folder: Path) -> str | None:
    """Which promise was not kept."""
    if code not in PROMISED:
        return f"exit code {code}: {complained[-500:]}"
    if "Traceback" in complained:
        return complained
    lines = complained.rstrip().splitlines()
    errors = [at for at, text in enumerate(lines) if text.startswith("error: ")]
    # A line for each fault, of which all but the first are indented.
    if code == 2 and (len(errors) != 1 or not all(text.startswith("       ") for text in lines[errors[0] + 1 :])):
        return f"not one complaint: {complained!r}"
    hidden = (path.name for path in folder.rglob("*") if path.name.startswith("."))
    if left := [name for name in hidden if name not in KEPT]:
        return f"left behind: {left}"
    return None


def main() -> int:
    """Run some lines; say, as JSON, how many, and which broke a promise."""
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--show", action="store_true", help="print each line and its exit code")
    arguments = parser.parse_args()
    # Ctrl-C in the middle of an import leaves half a module, which is the end of a process, but not of this one.
    for name in ("dask.distributed", "matplotlib.pyplot", "polars", "softsense.papers"):
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="softsense-") as made, contextlib.chdir(made):
        for command in MADE:
            with contextlib.redirect_stdout(io.StringIO()):
                assert cli.main(command) == 0
        FILES.update((path.name, path.read_bytes()) for path in Path(made).iterdir())
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    known = commands()
    failures: list[str] = []
    codes: dict[int, int] = {}
    longest = 0.0
    home = Path.cwd()
    os.environ["COLUMNS"] = "100"
    for number in range(arguments.first, arguments.first + arguments.count):
        draw = random.Random(number)
        folder = Path(tempfile.mkdtemp(prefix="softsense-"))
        for name, content in FILES.items():
            (folder / name).write_bytes(mutated(draw, content) if draw.random() < 0.5 else content)
        (folder / "folder").mkdir()
        os.chdir(folder)
        words = line(draw, known)
        # What kills this process is this line.
        print(json.dumps({"number": number, "line": words}), flush=True)
        begun = time.monotonic()
        code, complained = run(words, draw.uniform(0.01, PATIENCE_S))
        seconds = time.monotonic() - begun
        longest = max(longest, seconds)
        codes[code] = codes.get(code, 0) + 1
        if arguments.show:
            print(f"{code} {seconds:.2f} s  {' '.join(words)}\n    {complained.strip()[:300]}", flush=True)
        if wrong := broken(code, complained, folder):
            failures.append(f"{number}: softsense {' '.join(words)}: {wrong}")
        os.chdir(home)
        shutil.rmtree(folder)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        json.dumps(
            {"done": arguments.count, "codes": codes, "longest_s": longest, "peak_mb": peak_mb, "failures": failures}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
