"""What goes wrong around softsense: kills, full disks, little memory, vanished files, closed pipes, two at one store.

`faults.py` runs small works of `fer` (all, and a shard), `table build`, `sweep` and `reproduce`, first undisturbed,
then disturbed so many times, and looks whether docs/when-things-go-wrong.md holds: the same bytes from what was killed,
a promised exit code with one line of complaint, and no file but whole ones. It prints a line for each kind of fault,
names what did not hold, and ends with 1 if there was any.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SOFTSENSE = [sys.executable, "-m", "softsense"]
SMALL = [
    "geometry.channels=1",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.blocks_per_plane=128",
    "workload.requests=20000",
    "workload.footprint_bytes=1048576",
]
SWEEP = f"""
config = "mlc-25nm"
policies = ["two_step", "progressive"]
set = {SMALL}
[grid]
"decoder.time.fixed_us" = [1.0, 8.0, 20.0]
"""
LONGEST_S = 120
KEPT = ("store", "store-1-of-2", "points")
"""What works go on from; the rest are results."""
TIMED = (".progress.json", "results.json")
"""Files that say when a command ran, and how far it is."""


@dataclass(frozen=True)
class Work:
    """A command that takes some seconds, and what it has to work on."""

    name: str
    command: list[str]
    inputs: dict[str, str] = field(default_factory=dict)

    def begin(self, folder: Path) -> None:
        """Put its inputs there."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.inputs.items():
            (folder / name).write_text(text)


MEASURE = ["teaching-1/2", "--levels", "1,2", "--relative-error", "0.1", "--frames", "50000", "--store", "store"]
WORKS = [
    Work("fer", ["fer", *MEASURE, "--rber", "0.02,0.04", "--picture", "curves.png", "--json"]),
    Work("table build", ["table", "build", "--force", *MEASURE, "--rber", "0.02,0.05", "--out", "table.toml"]),
    Work("shard", ["fer", *MEASURE, "--rber", "0.02,0.04", "--shard", "1/2"]),
    Work("sweep", ["sweep", "sweep.toml", "--out", "out", "--workers", "2"], {"sweep.toml": SWEEP}),
    Work("reproduce", ["reproduce", "lae-ftl", "--figure", "1,lone", "--out", "out"]),
]
RUN = Work("run", ["run", "mlc-25nm", *(word for text in SMALL for word in ("--set", text)), "--out", "out"])
OTHERS = [
    RUN,
    Work("trace generate", ["trace", "generate", "mlc-25nm", "new.csv", "--set", "workload.requests=200000"]),
    Work("code export", ["code", "export", "flash-8/9", "new.alist", "--force"]),
    Work("config show", ["config", "show", "tlc-femu"]),
]
"""Without what a killed one could go on from, and with wall-clock times among their results."""


def large(name: str, *settings: str) -> Work:
    """A run of few requests on a device that takes gigabytes."""
    settings = ("workload.requests=100", "workload.footprint_bytes=1048576", *settings)
    return Work(name, ["run", "tlc-femu", *(word for text in settings for word in ("--set", text)), "--out", "out"])


LARGE = [
    large("map", "geometry.blocks_per_plane=2800"),
    large("steady state", "geometry.blocks_per_plane=1400", 'precondition.layout="steady_state"'),
    large(
        "planes",
        *("geometry.channels=1024", "geometry.chips_per_channel=64", "geometry.planes_per_die=8"),
        *("geometry.blocks_per_plane=16", "geometry.pages_per_block=12", "ftl.over_provisioning=0.7"),
    ),
    large(
        "write buffer", "host.write_buffer_bytes=8589934592", "workload.read_fraction=0.0", "workload.requests=10000"
    ),
]


@dataclass
class Ended:
    """How a command ended."""

    code: int
    said: bytes
    complained: str


def start(work: Work, folder: Path, *, around: list[str] | None = None, **options: object) -> subprocess.Popen[bytes]:
    """The work in a process of its own, under the command `around` it."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([*(around or []), *SOFTSENSE, *work.command], cwd=folder, **pipes)  # type: ignore[call-overload, no-any-return]


def ended(process: subprocess.Popen[bytes]) -> Ended:
    """Wait for it; what hangs is killed, and told by the exit code of that."""
    try:
        said, complained = process.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        process.kill()
        said, complained = process.communicate()
    # How far it is, which it says on a busy machine that makes it take long, is no complaint.
    told = re.sub(r"^[^\n]*: \d+ %, [^\n]*\n?", "", (complained or b"").decode(errors="replace"), flags=re.MULTILINE)
    return Ended(process.returncode, said or b"", told)


def results(work: Work, folder: Path) -> dict[str, str]:
    """SHA-256 of each file that the work made and that is a result; those that tell the time are none."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.name not in work.inputs
        and not set(path.relative_to(folder).parts) & set(KEPT)
        and not path.name.endswith(TIMED)
    }


class Faults:
    """All kinds of them, each a method that returns what did not hold."""

    def __init__(self, root: Path, seed: int) -> None:
        """Work in folders below `root`."""
        self.root = root
        self.draw = random.Random(seed)
        self.expected: dict[str, tuple[Ended, dict[str, str]]] = {}
        self.seconds: dict[str, float] = {}

    def undisturbed(self, works: list[Work]) -> None:
        """What these do if nothing is in their way."""
        for work in works:
            if work.name in self.expected:
                continue
            folder = self.folder(work)
            begun = time.monotonic()
            end = ended(start(work, folder))
            self.seconds[work.name] = time.monotonic() - begun
            if end.code != 0:
                raise SystemExit(f"{work.name}: ended with {end.code}, undisturbed: {end.complained}")
            self.expected[work.name] = (end, results(work, folder))
            shutil.rmtree(folder)

    def folder(self, work: Work) -> Path:
        """A new folder to work in."""
        folder = Path(tempfile.mkdtemp(dir=self.root))
        work.begin(folder)
        return folder

    def as_expected(self, work: Work, folder: Path, end: Ended) -> str | None:
        """Whether it ended well, with the bytes of an undisturbed one and nothing else."""
        expected, files = self.expected[work.name]
        if end.code != 0:
            return f"exit code {end.code}: {end.complained}"
        if work in WORKS and end.said != expected.said:
            return "printed something else"
        found = results(work, folder)
        if found.keys() != files.keys():
            return f"found the files {sorted(found)}, expected {sorted(files)}"
        if different := [name for name in files if work in WORKS and found[name] != files[name]]:
            return f"other bytes in {different}"
        return None

    def as_promised(self, work: Work, folder: Path | None, end: Ended, codes: set[int]) -> str | None:
        """Whether it ended with one of these codes, at most one line of complaint, and no file that is half written."""
        complaints = [line for line in end.complained.splitlines() if line.startswith("error: ")]
        if end.code not in codes or "Traceback" in end.complained:
            return f"exit code {end.code}: {end.complained[-600:]}"
        if end.code == 2 and (len(complaints) != 1 or end.complained.splitlines()[-1] != complaints[0]):
            return f"not one line: {end.complained}"
        if folder is None or work not in WORKS:
            return None
        files = self.expected[work.name][1]
        if broken := [name for name, found in results(work, folder).items() if files.get(name) != found]:
            return f"half written, or left: {broken} (exit code {end.code}: {end.complained})"
        return None

    def killed(self, work: Work) -> str | None:
        """Killed once to three times, at any moment, and then done to the end."""
        folder = self.folder(work)
        for _ in range(self.draw.randint(1, 3)):
            process = start(work, folder)
            time.sleep(self.draw.uniform(0, self.seconds[work.name]))
            process.kill()
            ended(process)
        return self.as_expected(work, folder, ended(start(work, folder)))

    def full_disk(self, work: Work) -> str | None:
        """A disk of some kilobytes or some files, full at any moment; then there is room, and the work goes on."""
        folder = self.folder(work)
        (folder / "disk").mkdir()
        room = f"size={4 << self.draw.randint(0, 8)}k"
        if self.draw.random() < 0.3:
            room = f"nr_inodes={self.draw.randint(3, 12)}"
        # A mount of its own that ends with it; what it leaves is looked at from outside.
        inputs = self.root / "inputs"
        shutil.rmtree(inputs, ignore_errors=True)
        work.begin(inputs)
        shell = (
            f"mount -t tmpfs -o {room} none disk && cp {inputs}/* disk/ 2>/dev/null; cd disk || exit 99\n"
            '"$@" >../said 2>../complained; echo $? >../code; tar cf ../left --exclude=.lock .\n'
            "mount -o remount,size=64m,nr_inodes=1000 . || exit 99\n"
            '"$@" >../said2 2>../complained2; echo $? >../code2; tar cf ../left2 .\n'
        )
        around = [*MOUNTS, "sh", "-c", shell, "sh"]
        if (code := ended(start(work, folder, around=around)).code) == 99:
            return f"found no room for a disk: {room}"
        if code < 0:
            return "it hung"
        found = []
        for number in ("", "2"):
            left = folder / f"left-{number}"
            left.mkdir()
            subprocess.run(["tar", "xf", folder / f"left{number}", "-C", left], check=True)
            said, complained = ((folder / f"{what}{number}").read_bytes() for what in ("said", "complained"))
            end = Ended(int((folder / f"code{number}").read_text()), said, complained.decode(errors="replace"))
            found.append((end, left))
        (first, left), (second, left2) = found
        wrong = self.as_promised(work, left, first, {0, 2}) or self.as_expected(work, left2, second)
        return wrong and f"{room}: {wrong}"

    def little_memory(self, work: Work) -> str | None:
        """An address space that ends somewhere, beyond what Python and its libraries take by themselves."""
        folder = self.folder(work)
        most = int(2 ** self.draw.uniform(30, 33))
        limit = (most, most)
        process = start(work, folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))
        wrong = self.as_promised(work, folder, ended(process), {0, 2})
        return wrong and f"{most >> 20} MB: {wrong}"

    def vanished(self, work: Work) -> str | None:
        """Whatever is in its folder goes away while it works."""
        folder = self.folder(work)
        process = start(work, folder)
        time.sleep(self.draw.uniform(0, self.seconds[work.name]))
        victims = sorted(folder.rglob("*"))
        what = self.draw.choice(victims) if victims else folder
        if what.is_dir():
            shutil.rmtree(what, ignore_errors=True)
        else:
            what.unlink(missing_ok=True)
        wrong = self.as_promised(work, None, ended(process), {0, 2})
        return wrong and f"without {what.relative_to(folder)}: {wrong}"

    def closed_pipe(self, work: Work) -> str | None:
        """Nobody reads its output, or no more of it than a few bytes."""
        folder = self.folder(work)
        process = start(work, folder)
        assert process.stdout
        process.stdout.read(self.draw.choice([0, 0, 1, 100]))
        process.stdout.close()
        process.stdout = None
        end = ended(process)
        if wrong := self.as_promised(work, folder, end, {0, 141}):
            return wrong
        return f"complained: {end.complained}" if end.complained else None

    def together(self, work: Work) -> str | None:
        """Two at once in one folder: each is done, or told that there is another one."""
        folder = self.folder(work)
        first = start(work, folder)
        time.sleep(self.draw.uniform(0, self.seconds[work.name] / 2))
        second = start(work, folder)
        ends: list[Ended] = []
        waiting = threading.Thread(target=lambda: ends.append(ended(first)))
        waiting.start()
        ends.append(ended(second))
        waiting.join()
        for end in ends:
            if wrong := self.as_promised(work, None, end, {0, 2}):
                return wrong
        if all(end.code for end in ends):
            return f"none was done: {[end.complained for end in ends]}"
        return self.as_expected(work, folder, ended(start(work, folder)))


MOUNTS = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
KINDS: dict[str, tuple[Callable[[Faults, Work], str | None], list[Work]]] = {
    "killed": (Faults.killed, [*WORKS, RUN]),
    "full-disk": (Faults.full_disk, [*WORKS, *OTHERS]),
    "little-memory": (Faults.little_memory, LARGE),
    "vanished": (Faults.vanished, [*WORKS, *OTHERS]),
    "closed-pipe": (Faults.closed_pipe, [*WORKS, *OTHERS]),
    "together": (Faults.together, [*WORKS, RUN]),
}


def main() -> int:
    """Disturb, look, tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; default: all")
    parser.add_argument("--times", type=int, default=200, help="how often each; default: 200")
    parser.add_argument("--seed", type=int, default=1, help="of all moments and sizes; default: 1")
    arguments = parser.parse_args()
    if unknown := set(arguments.kinds) - KINDS.keys():
        parser.error(f"found {', '.join(sorted(unknown))}, expected some of {', '.join(KINDS)}")
    failures = 0
    with tempfile.TemporaryDirectory(prefix="softsense-") as name:
        faults = Faults(Path(name), arguments.seed)
        for kind in arguments.kinds or KINDS:
            if kind == "full-disk" and subprocess.run([*MOUNTS, "true"], check=False, capture_output=True).returncode:
                print(f"{kind:14} skipped: this system lets nobody mount a disk here", flush=True)
                continue
            disturb, works = KINDS[kind]
            faults.undisturbed(works)
            begun = time.monotonic()
            wrong = []
            for number in range(arguments.times):
                work = works[number % len(works)]
                if found := disturb(faults, work):
                    wrong.append(f"    {number}: {work.name}: {found}")
                    print(wrong[-1], flush=True)
                for left in Path(name).iterdir():
                    shutil.rmtree(left)
            verdict = f"{len(wrong)} FAILED" if wrong else "ok"
            print(f"{kind:14} {arguments.times} times  {time.monotonic() - begun:6.0f} s  {verdict}", flush=True)
            failures += len(wrong)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
