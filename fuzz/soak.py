"""Fuzz softsense: `make soak` until every target has had its runs, `make fuzz` for a minute, always in the same way.

Builds the targets of this folder with stable Rust and runs each on its seeds in processes that die of a panic, of 20 s
for one input and of 2 GB. A soak has libFuzzer's coverage, and goes on from what earlier ones kept in `out/fuzz`; with
`--quick` only the targets themselves have it, and what they test is built as for tests. Prints how many inputs each
target had. `commands` are command lines instead (commands.py), `pages` requests to servers of pages (pages.py), and
`deep` texts that are deep or long for the Python API (deep.py), under the same limits. Ends with 1 if any failed; the
input is then kept as `out/fuzz/TARGET/crash-...`, which `BINARY FILE` shows again, or it is in the log.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
OUT = ROOT / "out" / "fuzz"
# What cargo-fuzz asks for, without the sanitizers, which need nightly Rust, and without comparisons, which make
# simulations several times as slow and of which dictionaries know more.
COVERAGE = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "--cfg=fuzzing",
]
MORE_SEEDS = {"config": ["configs"]}
# Of the inputs asked for: what simulates takes longer than what reads.
SHARE = {"run": 0.1, "commands": 0.01, "pages": 0.01, "deep": 0.01}
A_PROCESS = {"commands": 500, "pages": 20_000, "deep": 5000}
"""Inputs of programs in Python, which begin anew after so many."""
LONGEST_S = 20
MOST_MB = 2048


@dataclass
class Soaked:
    """What became of a target."""

    target: str
    inputs: int
    seconds: float
    peak_mb: int
    failed: bool
    log: Path


def build(*, quick: bool) -> Path:
    """Compile all targets; the folder of their binaries."""
    package = ["--locked", "--package", "softsense-fuzz", "--profile"]
    if quick:
        for target in (FUZZ / "targets").glob("*.rs"):
            command = ["cargo", "rustc", *package, "dev", "--bin", target.stem, "--", *COVERAGE]
            subprocess.run(command, cwd=ROOT, check=True)
        return ROOT / "target" / "debug"
    environment = {**os.environ, "RUSTFLAGS": " ".join(COVERAGE)}
    told = subprocess.run(["rustc", "--version", "--verbose"], capture_output=True, text=True, check=True).stdout
    host = told.partition("host: ")[2].split()[0]
    # With a target that is named, build scripts and macros are compiled without coverage.
    command = ["cargo", "build", *package, "fuzz", "--target", host, "--target-dir", "target/fuzz"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return ROOT / "target" / "fuzz" / host / "fuzz"


def dictionary(target: str) -> Path | None:
    """Words that inputs of a target are likely to have; those of configs are in their schema."""
    path = FUZZ / "dictionaries" / target
    if target != "config":
        return path if path.exists() else None
    schema = (ROOT / "schema" / "config.schema.json").read_text()
    words = {f"{word} = " for word in re.findall(r'^ *"([a-z_]+)": \{$', schema, re.MULTILINE)}
    words |= {f'\\"{word}\\"' for word in re.findall(r'^ *"const": "(\w+)"', schema, re.MULTILINE)}
    path = OUT / target / "dictionary"
    path.write_text("".join(f'"{word}"\n' for word in sorted(words)))
    return path


def soak(binaries: Path, target: str, inputs: int, seed: int, *, quick: bool) -> Soaked:
    """Feed a target so many inputs; what covers something new is kept for the next time."""
    folder = OUT / target
    # The first folder takes what is found; the quick ones forget.
    kept = folder / ("found" if quick else "corpus")
    if quick:
        shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True, exist_ok=True)
    # The target that reads files writes them where that costs nothing.
    memory = {"TMPDIR": "/dev/shm"} if Path("/dev/shm").is_dir() else {}
    command = [
        str(binaries / target),
        f"-runs={inputs}",
        f"-seed={seed}",
        f"-timeout={LONGEST_S}",
        f"-rss_limit_mb={MOST_MB}",
        "-max_len=2048",
        "-print_final_stats=1",
        f"-artifact_prefix={folder}/",
        *([f"-dict={words}"] if (words := dictionary(target)) else []),
        "-keep_seed=1",
        str(kept),
        str(FUZZ / "seeds" / target),
        *(str(ROOT / seeds) for seeds in MORE_SEEDS.get(target, [])),
    ]
    log = folder / "log"
    begun = time.monotonic()
    with log.open("w") as output:
        code = subprocess.run(
            command, cwd=folder, env={**os.environ, **memory}, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    statistics = dict(re.findall(r"^stat::(\w+):\s+(\d+)", log.read_text(errors="replace"), re.MULTILINE))
    return Soaked(
        target,
        int(statistics.get("number_of_executed_units", 0)),
        time.monotonic() - begun,
        int(statistics.get("peak_rss_mb", 0)),
        code != 0,
        log,
    )


def soak_program(target: str, inputs: int, seed: int) -> Soaked:
    """Have a program of this folder try so many inputs, in processes of some hundreds or thousands."""
    folder = OUT / target
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    begun = time.monotonic()
    done = peak_mb = 0
    failed = False
    with log.open("w") as output:
        for first in range(0, inputs, A_PROCESS[target]):
            count = min(A_PROCESS[target], inputs - first)
            program = str(FUZZ / f"{target}.py")
            command = [sys.executable, program, str((seed - 1) * 1_000_000_000 + first), str(count)]
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=output, bufsize=0)
            assert process.stdout
            waiting = selectors.DefaultSelector()
            waiting.register(process.stdout, selectors.EVENT_READ)
            last = b""
            # An input is told before it is tried: silence is a hang. Programs judge themselves how long an answer
            # takes; they also start and stop servers, beside other targets.
            while waiting.select(LONGEST_S + 60) and (text := process.stdout.readline()):
                last = text
            process.kill()
            process.wait()
            found = json.loads(last or b"{}")
            done += found.get("done", 0)
            peak_mb = max(peak_mb, found.get("peak_mb", 0))
            if "done" not in found:
                output.write(f"hung or died: {last.decode()}\n")
            output.writelines(f"{failure}\n" for failure in found.get("failures", ()))
            failed |= "done" not in found or bool(found["failures"]) or found["peak_mb"] > MOST_MB
    return Soaked(target, done, time.monotonic() - begun, peak_mb, failed, log)


def main() -> int:
    """Build, soak, tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", help="default: all")
    parser.add_argument("--without", action="append", default=[], metavar="TARGET", help="all but this one")
    parser.add_argument("--inputs", type=int, default=10_000_000, help="for each target; fewer where they are slow")
    parser.add_argument("--seed", type=int, default=1, help="of libFuzzer; default: 1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets at once; default: one per CPU")
    parser.add_argument("--quick", action="store_true", help="coverage of targets alone, nothing of earlier soaks")
    arguments = parser.parse_args()
    known = sorted([*(path.stem for path in (FUZZ / "targets").glob("*.rs")), *A_PROCESS])
    if unknown := {*arguments.targets, *arguments.without} - set(known):
        parser.error(f"found {', '.join(sorted(unknown))}, expected some of {', '.join(known)}")
    # The longest first.
    targets = sorted(
        set(arguments.targets or known) - set(arguments.without),
        key=lambda target: (target not in ("commands", "pages", "deep", "run", "trace"), target),
    )
    binaries = build(quick=arguments.quick) if set(targets) - set(A_PROCESS) else FUZZ
    failed = False
    with ThreadPoolExecutor(arguments.jobs) as pool:

        def one(target: str) -> Soaked:
            inputs = max(1, int(SHARE.get(target, 1) * arguments.inputs))
            if target in A_PROCESS:
                return soak_program(target, inputs, arguments.seed)
            return soak(binaries, target, inputs, arguments.seed, quick=arguments.quick)

        for found in pool.map(one, targets):
            speed = found.inputs / max(found.seconds, 1e-3)
            print(
                f"{found.target:8} {found.inputs:12,} inputs  {found.seconds:8.0f} s  {speed:8,.0f} a second"
                f"  {found.peak_mb:6,} MB  {f'FAILED: {found.log}' if found.failed else 'ok'}",
                flush=True,
            )
            failed |= found.failed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
