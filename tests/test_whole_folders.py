"""Is a folder of results whole, or does it say that it is not, whenever the command that writes it is killed?

What a killed process leaves is what there was on disk at that moment. So each command runs once, into a folder with
results of other inputs, and the folder is looked at after every change of a file.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import softsense
from conftest import SMALL
from softsense import _core, cli, files, log_directory, papers
from softsense.files import LOCK
from softsense.folders import Folder, Results, default_folder, find
from softsense.manifests import MANIFEST, Manifest
from softsense.papers import plans
from test_papers import tiny_figure, tiny_paper
from test_tenants import DEVICE, TENANTS

pytestmark = pytest.mark.usefixtures("one_pixel")

QUICK = [word for field in [*SMALL, "workload.requests=300"] for word in ("--set", field)]
LIFE = ["tlc-femu", "--set", "geometry.blocks_per_plane=160", "--set", "geometry.pages_per_block=32"]
KILLS = int(os.environ.get("SOFTSENSE_KILLS", "2"))
"""How often a process is really killed."""

COMMANDS: dict[str, list[list[str]]] = {
    "run": [["run", "mlc-25nm", *QUICK, "--seed", seed, "--json"] for seed in ("1", "2")],
    "run with all files": [
        ["run", "mlc-25nm", *QUICK, "--seed", seed, "--requests-log", "--timeline", "0ms..1ms", "--no-progress"]
        for seed in ("1", "2")
    ],
    "run after a log": [
        ["run", "mlc-25nm", *QUICK, *log, "--seed", seed, "--json"]
        for seed, log in (("1", ["--requests-log", "--timeline", "0ms..1ms"]), ("2", []))
    ],
    "compare": [
        ["compare", "mlc-25nm", *QUICK, "--policies", policies, "--no-progress"]
        for policies in ("two_step", "progressive")
    ],
    "fairness": [["fairness", "two.toml", "--seed", seed, "--no-progress"] for seed in ("1", "2")],
    "fer": [["fer", "bch:m=10,t=5,k=512", "--rber", rber, "--no-progress"] for rber in ("0.001", "0.002")],
    "table build": [
        ["table", "build", "bch:m=10,t=5,k=512", "--levels", "1", "--rber", rber, "--no-progress"]
        for rber in ("0.004,0.008", "0.005,0.008")
    ],
    "lifetime": [["lifetime", *LIFE, "--utilisation", share, "--no-progress"] for share in ("0.8", "0.7")],
    "fit": [
        ["fit", "latencies.csv", "--workers", "1", "--check-reads", reads, "--no-progress"]
        for reads in ("2000", "2001")
    ],
    "sweep": [["sweep", name, "--workers", "1", "--no-progress"] for name in ("one.toml", "two-designs.toml")],
    "reproduce": [["reproduce", "tiny", "--figure", figure, "--no-progress"] for figure in ("1", "2")],
    "reproduce all": [["reproduce", "all", "--no-progress"]] * 2,
}
"""Each with other inputs, and then to be killed."""

QUICKLY_KILLED = ["run", "fer", "table build", "run after a log"]


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files and the papers that commands need."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.toml").write_text(DEVICE + TENANTS)
    heights = [max(0, 900 - 300 * abs(i - 8)) + max(0, 600 - 300 * abs(i - 14)) for i in range(30)]
    (tmp_path / "latencies.csv").write_text(",0\n" + "".join(f"{100 + 10 * i},{h}\n" for i, h in enumerate(heights)))
    for name, grid in (("one", "[0.2]"), ("two-designs", "[0.2, 0.3]")):
        overrides = json.dumps([*SMALL, "workload.requests=300"])
        text = f"config = 'mlc-25nm'\npolicies = ['two_step']\nset = {overrides}\n"
        (tmp_path / f"{name}.toml").write_text(f"{text}[grid]\n'ftl.over_provisioning' = {grid}\n")
    tiny = replace(tiny_paper([tiny_figure("1", 200), tiny_figure("2", 200)]), name="tiny")
    monkeypatch.setattr(plans, "papers", lambda: [tiny, replace(tiny, name="small")])
    monkeypatch.setattr(papers, "papers", lambda: [tiny, replace(tiny, name="small")])
    monkeypatch.setattr(papers, "paper", lambda name: tiny)


def done(command: list[str], out: Path | str = "out") -> int:
    """The exit code of a command that writes into a folder."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        return cli.main([*command, "--out", str(out)])


def whole_or_not(folder: Path) -> str:
    """How a folder is: `whole`, `unfinished` or `nothing`; any folder that is neither breaks the law."""
    found = find(folder) if folder.is_dir() else find(folder.parent)
    assert not found.skipped
    for results in found.results:
        # Within a folder that says that it is unfinished parts may be whole.
        strange = {name: how for name, how in results.strange().items() if how != "foreign"}
        assert strange == {}, f"{results.folder} is of {' '.join(results.manifest.command)}, but {strange}"
        assert results.manifest.sha256
        assert not results.labels or results.rows()
    if any(results.folder == folder for results in found.results):
        return "whole"
    ours = [path for path in folder.iterdir() if not path.name.startswith(".") and path.suffix != ".store"]
    assert not ours or folder in [path for path, _ in found.unfinished], f"nothing tells of {ours}"
    with pytest.raises(softsense.FileError):
        Results.open(folder)
    return "unfinished" if ours else "nothing"


@pytest.fixture
def every_change(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have a function called before and after each change of a file's name."""

    def watch(look: Callable[[], None]) -> None:
        class Watched:
            def __init__(self, whole: Path) -> None:
                self._file = _core.UnfinishedFile(whole)

            @property
            def path(self) -> Path | None:
                return self._file.path

            def finish(self) -> None:
                look()
                self._file.finish()
                look()

            def discard(self) -> None:
                self._file.discard()

        unlink = Path.unlink

        def unlinked(path: Path, missing_ok: bool = False) -> None:
            look()
            unlink(path, missing_ok)
            look()

        monkeypatch.setattr(files, "UnfinishedFile", Watched)
        monkeypatch.setattr(log_directory, "UnfinishedFile", Watched)
        monkeypatch.setattr(Path, "unlink", unlinked)

    return watch


@pytest.mark.parametrize("name", COMMANDS)
def test_whenever_it_is_killed_a_folder_is_whole_or_says_that_it_is_not(
    name: str, tmp_path: Path, every_change: Callable[[Callable[[], None]], None]
) -> None:
    before, command = COMMANDS[name]
    out = tmp_path / "out"
    assert done(before) == 0
    assert whole_or_not(out) == "whole"
    states: list[str] = []
    every_change(lambda: states.append(whole_or_not(out)))
    assert done(command) == 0
    assert whole_or_not(out) == "whole"
    # Whole as it was, then not, then whole as it is now.
    assert [state for state, _ in itertools.groupby(states)] == ["whole", "unfinished", "whole"]
    assert Results.open(out).manifest.command[1:] == [*command, "--out", "out"]
    assert not [path for path in out.rglob("*") if path.name == LOCK or path.name.startswith(".softsense-")]
    foreign = {name for name, how in Results.open(out).strange().items() if how == "foreign"}
    # Figures of a paper that were not asked for again may stay.
    assert foreign <= {"fig01.csv", "fig01.png"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_in_which_another_process_is_at_work_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with Folder(out) as other:
        other.write("file", "text")
        assert done(COMMANDS[name][0]) == 2
        said = capsys.readouterr().err
        assert f"error: out: found process {os.getpid()} on " in said
        assert sorted(path.name for path in out.iterdir()) == [LOCK, "file"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("name", ["run", "fer", "reproduce"])
def test_what_goes_wrong_at_any_file_is_told_by_the_folder(
    name: str, error: BaseException, tmp_path: Path, every_change: Callable[[Callable[[], None]], None]
) -> None:
    before, command = COMMANDS[name]
    out = tmp_path / "out"
    assert done(before) == 0
    left = 0

    def fail() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise error

    every_change(fail)
    seen = []
    for nth in itertools.count(1, 3):
        left = nth
        code = done(command)
        state = whole_or_not(out)
        seen.append(state)
        if left > 0:
            break
        # Where the file is none of the folder, such as that of its progress, nothing was lost.
        assert code in (0, 2, 130)
        assert code or state == "whole"
    assert (code, state) == (0, "whole")
    assert "unfinished" in seen


def test_a_failure_before_anything_is_measured_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert done(COMMANDS["run"][0]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for command in (
        ["run", "mlc-25nm", *QUICK, "--trace", "nowhere.trace"],
        ["run", "mlc-25nm", *QUICK, "--set", "ftl.over_provisioning=0.0001"],
        ["fer", "bch:m=10,t=5,k=512", "--rber", "2"],
        ["table", "build", "bch:m=10,t=5,k=512", "--rber", "x"],
        ["lifetime", "tlc-femu", "--tables", "nowhere"],
        ["sweep", "nowhere.toml"],
        ["fit", "nowhere.log"],
        ["reproduce", "tiny", "--figure", "9"],
    ):
        assert done(command) == 2, command
        assert {path.name: path.read_bytes() for path in out.iterdir()} == before, command


@pytest.fixture
def killed(tmp_path: Path) -> Callable[[list[str], int], subprocess.Popen[bytes]]:
    """Run a command in a process that kills itself after so many files; the process."""
    program = tmp_path / "killing.py"
    program.write_text(KILLING)

    def kill(command: list[str], nth: int) -> subprocess.Popen[bytes]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen([sys.executable, program, str(nth), *command, "--out", "out"], **quiet)
        process.wait(timeout=120)
        return process

    return kill


KILLING = """
import os, signal, sys
from softsense import _core, cli, files, log_directory

class Killing:
    left = int(sys.argv[1])

    def __init__(self, whole):
        self._file = _core.UnfinishedFile(whole)
        self.discard = self._file.discard

    path = property(lambda self: self._file.path)

    def finish(self):
        self._file.finish()
        Killing.left -= 1
        if not Killing.left:
            os.kill(os.getpid(), signal.SIGKILL)

files.UnfinishedFile = log_directory.UnfinishedFile = Killing
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.mark.parametrize("nth", range(1, KILLS + 1))
def test_what_a_killed_process_leaves_is_told_and_taken_by_the_next(
    nth: int, tmp_path: Path, killed: Callable[[list[str], int], subprocess.Popen[bytes]]
) -> None:
    """The same with real processes and `kill -9`."""
    before, command = COMMANDS[QUICKLY_KILLED[nth % len(QUICKLY_KILLED)]]
    assert done(before) == 0
    process = killed(command, 1 + nth // len(QUICKLY_KILLED) % 3)
    assert process.returncode == -signal.SIGKILL
    out = tmp_path / "out"
    assert whole_or_not(out) == "unfinished"
    ((path, who),) = find(tmp_path).unfinished
    assert path == out
    assert f"process {process.pid} on " in who
    assert done(command) == 0
    assert whole_or_not(out) == "whole"
    assert not (out / LOCK).exists()


def test_a_lock_ends_with_its_process_and_is_no_trap(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    program = "import sys, time; from pathlib import Path; from softsense.folders import Folder\n"
    program += "with Folder(Path('out')): print('has it', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout
    assert process.stdout.readline() == b"has it\n"
    with pytest.raises(softsense.FileError, match=rf"out: found process {process.pid} on .* at work in this folder"):
        Folder(tmp_path / "out").__enter__()
    process.kill()
    process.communicate()
    with Folder(tmp_path / "out"):
        pass
    assert list((tmp_path / "out").iterdir()) == []
    # A link that somebody has put there leads nowhere.
    (tmp_path / "precious").write_text("text")
    (tmp_path / "out" / LOCK).symlink_to(tmp_path / "precious")
    with pytest.raises(softsense.FileError, match=r"out/\.lock: cannot write"):
        Folder(tmp_path / "out").__enter__()
    assert (tmp_path / "precious").read_text() == "text"


def test_many_at_one_folder_never_meet(tmp_path: Path) -> None:
    """Each has it alone, although each removes the lock's file: a counter that is read, and written later, counts."""
    program = """
import sys, time
from pathlib import Path
import softsense
from softsense.files import Lock
counter, left = Path("counter"), 30
while left:
    try:
        lock = Lock(Path("out"))
    except softsense.FileError:
        continue
    count = int(counter.read_text())
    time.sleep(0.0005)
    counter.write_text(str(count + 1))
    lock.release()
    left -= 1
"""
    (tmp_path / "out").mkdir()
    (tmp_path / "counter").write_text("0")
    processes = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(4)]
    assert [process.wait(timeout=60) for process in processes] == [0] * 4
    assert (tmp_path / "counter").read_text() == "120"


def test_results_in_the_making_keep_their_folder(tmp_path: Path) -> None:
    """What a killed process has left is taken by the same inputs, and by no others, as a whole folder is."""
    ours, other = Manifest("run", seeds=[1]), Manifest("run", seeds=[2])
    base = tmp_path / "run"
    for left in (False, True):
        with contextlib.suppress(ValueError), Folder(base, ours.identity) as folder:
            folder.write("summary.json", "{}")
            assert default_folder(base, ours) == base
            assert default_folder(base, other) != base
            if left:
                raise ValueError
            folder.sign(ours)
        assert default_folder(base, ours) == base
        assert default_folder(base, other) != base
    shutil.rmtree(base)
    assert default_folder(base, other) == base
    # What is somebody else's is not taken.
    base.mkdir()
    (base / MANIFEST).write_text('{"kind": "benchmark"}')
    assert default_folder(base, other) != base


def test_what_does_not_belong_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, command in zip(("a", "b"), COMMANDS["run"], strict=True):
        assert done(command, name) == 0

    def told(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(["results", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    def states() -> list[str]:
        return [line.split()[-1] for line in told("list", ".")[1].splitlines()[2:]]

    assert states() == ["whole", "whole"]
    assert told("compare", "a", "b")[0] == 0
    # The summary of one run under the manifest of another.
    shutil.copy("b/summary.json", "a/summary.json")
    Path("a/notes.txt").write_text("mine")
    assert sorted(states()) == ["changed", "whole"]
    _, shown, _ = told("show", "a")
    assert "changed    summary.json" in shown
    assert "foreign    notes.txt" in shown
    for words in (["compare", "a", "b"], ["compare", "b", "a"], ["export", "a", "--out", "a.csv"]):
        code, said, complained = told(*words)
        assert (code, said) == (2, "")
        assert complained.startswith("error: a/summary.json: found a file that differs from the one in results.json")
    assert not Path("a.csv").exists()
    Path("a/summary.json").unlink()
    assert "missing    summary.json" in told("show", "a")[1]
    # Manifests of older versions have nothing to compare with.
    document = json.loads(Path("b/results.json").read_text())
    del document["sha256"]
    Path("b/results.json").write_text(json.dumps(document | {"schema": 1}))
    assert sorted(states()) == ["changed", "unchecked"]
    assert told("export", "b", "--out", "b.csv")[0] == 0
    assert "unchecked  an older version of softsense" in told("show", "b")[1]


def test_one_foreign_manifest_costs_nothing_but_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert done(COMMANDS["fer"][0], "all/good") == 0
    strange: dict[str, Any] = {
        "of-another-tool": '{"kind": "benchmark", "score": 5}',
        "newer": json.dumps({"schema": 3, "kind": "run", "softsense": {"version": "9", "model_version": "99"}}),
        "elsewhere": Path("all/good/results.json").read_text().replace("fer.json", "../../../etc/passwd"),
        "typed": Path("all/good/results.json").read_text().replace('"traces": []', '"traces": [7]'),
        "deep": "[" * 100_000,
        "nan": '{"schema": NaN}',
        "list": "[]",
        "binary": "\0\x01",
        "empty": "",
    }
    for name, content in strange.items():
        Path("all", name).mkdir()
        Path("all", name, MANIFEST).write_text(content)
    Path("all/pipe").mkdir()
    os.mkfifo(f"all/pipe/{MANIFEST}")
    Path("all/loop").mkdir()
    Path("all/loop", MANIFEST).symlink_to(MANIFEST)
    Path("all/directory", MANIFEST).mkdir(parents=True)
    names = [*strange, "pipe", "loop", "directory"]
    capsys.readouterr()
    assert cli.main(["results", "list", "all"]) == 0
    said = capsys.readouterr()
    assert "all/good" in said.out
    assert len(said.out.splitlines()) == 3
    for name in names:
        assert sum(line.startswith(f"skipped all/{name}/results.json: ") for line in said.err.splitlines()) == 1, name
    assert len(said.err.splitlines()) == len(names)
    # What is right, but larger than memory, is told.
    far = json.loads(Path("all/good/results.json").read_text()) | {"seeds": [1, 2, 2**63]}
    Path("all/good/results.json").write_text(json.dumps(far))
    assert cli.main(["results", "list", "all/good"]) == 0
    assert f"1, 2, {2**63}" in capsys.readouterr().out
    for name in names:
        for command in ("show", "export"):
            more = ["--out", "x.csv"] if command == "export" else []
            assert cli.main(["results", command, f"all/{name}", *more]) == 2
            complained = capsys.readouterr().err
            assert complained.startswith(f"error: all/{name}/results.json: ")
            assert len(complained.splitlines()) == 1
