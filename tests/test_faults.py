"""What becomes of results, files and processes when the system, not the input, is in the way?

Full disks, closed pipes, links, vanished readers, Ctrl-C at any moment, and bugs of softsense itself.
"""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import softsense
from conftest import Softsense
from softsense import __main__ as entry_point
from softsense import _core, cli

SCRIPT = [sys.executable, "-m", "softsense"]


def started(*arguments: str | Path, cwd: Path, **options: object) -> subprocess.Popen[str]:
    """The command in a process of its own, as a shell starts it."""
    return subprocess.Popen(
        [*SCRIPT, *map(str, arguments)],
        cwd=cwd,
        text=True,
        stderr=subprocess.PIPE,
        **{"stdout": subprocess.PIPE, **options},  # type: ignore[call-overload]
    )


def test_ctrl_c_is_heard_while_python_makes_a_class(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python 3.11 wraps an interrupt in `__set_name__` of a `cached_property`; other errors stay what they are."""

    def wrapped() -> int:
        raise RuntimeError("Error calling __set_name__") from cause

    monkeypatch.setattr(cli, "main", wrapped)
    cause: BaseException = KeyboardInterrupt()
    assert entry_point.main() == 130
    assert "interrupted" in capsys.readouterr().err
    cause = ValueError()
    with pytest.raises(RuntimeError):
        entry_point.main()


def test_ctrl_c_ends_the_counting_of_published_curves(tmp_path: Path) -> None:
    """While it counts, in a thread of its own."""
    process = started("board", "published", "--only", "802.3an-2048", cwd=tmp_path)
    time.sleep(6.0)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
@pytest.mark.parametrize("later_s", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_ctrl_c_is_heard_from_the_beginning(tmp_path: Path, later_s: float) -> None:
    """From when the command begins to load, which takes longer than many a command."""
    process = started("trace", "generate", "mlc-25nm", "o", "--set", "workload.requests=1000000000", cwd=tmp_path)
    while "_core.abi3" not in Path(f"/proc/{process.pid}/maps").read_text():
        assert process.poll() is None
    time.sleep(later_s)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


LONG = [
    ("code", "bench", "flash-8/9", "--decoder", "sum-product", "--iterations", "100000", "--channel", "bsc:0.03"),
    ("trace", "generate", "mlc-25nm", "o", "--set", "workload.requests=1000000000"),
    ("code", "traps", "flash-8/9", "--bits", "10"),
    ("run", "mlc-25nm", "--set", "workload.requests=1000000000", "--set", "workload.footprint_bytes=1048576"),
]


@pytest.mark.alone
@pytest.mark.parametrize("command", LONG, ids=lambda command: command[0])
def test_ctrl_c_ends_long_work_soon(tmp_path: Path, command: tuple[str, ...]) -> None:
    process = started(*command, cwd=tmp_path)
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    asked = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    # Half a second to hear it, and what it takes to draw and write what was measured.
    assert time.monotonic() - asked < (5 if command[0] == "run" else 2)
    assert "Traceback" not in errors
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_nobody_reads_any_more(tmp_path: Path) -> None:
    """As in `softsense config show mlc-25nm | head -1`: no complaint."""
    process = started("config", "show", "mlc-25nm", cwd=tmp_path)
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    with process.stderr as errors:
        assert errors.read() == ""
    assert process.wait(timeout=60) == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_that_is_full_is_an_error(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = started("config", "show", "mlc-25nm", cwd=tmp_path, stdout=full)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert errors == "error: standard output: No space left on device\n"


def test_standard_output_that_is_closed_is_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *SCRIPT, "config", "show", "mlc-25nm"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr


def disk_is_full(*_: object, **__: object) -> None:
    """What writing does then."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_log_that_cannot_be_written_costs_the_log_alone(
    config: Path,
    set_small: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The disk is full from the first part of the log on: the results are there, the exit code says what is not."""
    import numpy as np

    monkeypatch.setattr(np, "savez", disk_is_full)
    out = tmp_path / "out"
    assert cli.main(["run", str(config), *set_small, "--requests-log", "--out", str(out)]) == 2
    said = capsys.readouterr()
    full = "cannot write: No space left on device; all other results are written"
    assert said.err == f"error: {out}/requests.parquet: {full}\n"
    assert sorted(path.name for path in out.iterdir()) == [
        "config.toml",
        "over-time.png",
        "report.html",
        "results.json",
        "run.png",
        "series.csv",
        "summary.json",
        "table.txt",
    ]
    result = softsense.run(config, overrides=set_small[1::2], log_requests=tmp_path / "log.parquet")
    assert result.summary["requests"] == 3000
    with pytest.raises(softsense.FileError, match="No space left"):
        _ = result.requests


def test_results_are_said_before_they_are_written(
    config: Path,
    set_small: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Path, "write_text", disk_is_full)
    assert cli.main(["run", str(config), *set_small, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert "requests" in said.out
    assert said.err.endswith("cannot write: No space left on device\n")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("command", [("trace", "generate", "mlc-25nm"), ("code", "export", "teaching-1/2")])
def test_links_are_followed_and_pipes_refused(softsense_process: Softsense, tmp_path: Path, command: list[str]) -> None:
    """What is no file is not replaced by one, and a link stays one, whoever writes."""
    small = ["--set", "workload.requests=100"] if command[0] == "trace" else ["--force"]
    suffix = "" if command[0] == "trace" else ".alist"
    pipe, link, file = (tmp_path / f"{name}{suffix}" for name in ("pipe", "link", "file"))
    os.mkfifo(pipe)
    done = softsense_process(*command, pipe, *small)
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected the path of a file that can be written" in done.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    file.write_text("before")
    link.symlink_to(file)
    assert softsense_process(*command, link, *small).returncode == 0
    assert link.is_symlink()
    assert len(file.read_text()) > 100


def test_a_bug_is_one_line_and_its_own_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of Python code and of the core: no traceback, unless it is asked for."""
    monkeypatch.setattr("softsense.load_config", lambda *_, **__: 1 / 0)
    assert cli.main(["config", "show", "mlc-25nm"]) == 70
    said = capsys.readouterr().err
    assert said.startswith("error: softsense has a bug: please report it")
    assert "ZeroDivisionError" in said
    assert "test_faults.py" in said
    assert said.count("\n") == 1
    monkeypatch.setenv("SOFTSENSE_TRACEBACK", "1")
    assert cli.main(["config", "show", "mlc-25nm"]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_names_that_are_not_text_are_no_traceback(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe")
    for command in (
        ["run", name],
        ["config", "show", name],
        ["trace", "stats", name],
        ["code", "show", name],
        ["trace", "generate", "mlc-25nm", name, "--set", "workload.requests=10"],
        ["table", "show", name],
        ["fer", name],
        ["run", "mlc-25nm", "--trace", name],
        ["code", "export", "teaching-1/2", name],
    ):
        done = subprocess.run([*SCRIPT, *command], cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode in (0, 2), (command, done.stderr)
        assert b"Traceback" not in done.stderr


def test_an_unknown_instruction_set_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SCRIPT, "policies"],
        cwd=tmp_path,
        env={**os.environ, "SOFTSENSE_SIMD": "sse9"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "error: SOFTSENSE_SIMD: found `sse9`, expected portable, avx2 or avx512\n",
    )
    assert _core.check_environment() is None


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
@pytest.mark.parametrize(
    "command",
    [("config", "check"), ("code", "show"), ("table", "show"), ("sweep",), ("fer", "teaching-1/2", "--traps")],
    ids=" ".join,
)
def test_what_has_no_end_is_not_read_to_its_end(softsense_process: Softsense, command: tuple[str, ...]) -> None:
    done = softsense_process(*command, "/dev/zero")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: /dev/zero: found more than 256 MiB, expected a text file")
    assert done.stderr.count("\n") == 1


DROPPED = """
import gc, signal, sys, time
from softsense import cli

class Cleared:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def slow(*_, **__):
    Cleared()
    gc.collect()
    time.sleep(30)

cli.cli.commands["policies"].callback = slow
sys.exit(cli.main(["policies"]))
"""


@pytest.mark.alone
def test_ctrl_c_in_a_destructor_is_not_lost(tmp_path: Path) -> None:
    """Python says that it ignores what is raised there, and goes on."""
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", DROPPED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert time.monotonic() - begun < 15
    assert done.returncode == 130
    assert done.stderr.strip() == "interrupted before anything was measured"


SWALLOWED = """
import signal, sys
from softsense import cli

def library(*_, **__):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass
    raise ValueError("invalid bounding box")

cli.cli.commands["policies"].callback = library
sys.exit(cli.main(["policies"]))
"""


def test_ctrl_c_that_a_library_makes_another_error_of_is_no_bug(tmp_path: Path) -> None:
    """As Matplotlib's C++ does, where it is heard in a conversion of an argument."""
    done = subprocess.run([sys.executable, "-c", SWALLOWED], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
def test_a_process_without_memory_ends_with_one_line(tmp_path: Path) -> None:
    """Ten million lists of free blocks, which are no map."""
    import resource

    planes = ["geometry.channels=1024", "geometry.chips_per_channel=64", "geometry.planes_per_die=8"]
    planes += ["geometry.blocks_per_plane=16", "geometry.pages_per_block=12", "ftl.over_provisioning=0.7"]
    limit = (1_200_000_000,) * 2
    process = started(
        *("run", "tlc-femu", "--out", "out"),
        *(word for text in planes for word in ("--set", text)),
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
    )
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert errors.startswith("error: ")
    assert "memory" in errors
    assert len(errors.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("after_s", [0.9, 1.1, 1.3])
def test_ctrl_c_ends_a_sweep_and_its_processes_in_silence(tmp_path: Path, after_s: float) -> None:
    """Threads that were given up must not come back into a Python that is ending, which aborts it."""
    small = ["geometry.channels=1", "geometry.chips_per_channel=1", "geometry.dies_per_chip=1"]
    small += ["geometry.blocks_per_plane=128", "workload.requests=4000000", "workload.footprint_bytes=1048576"]
    (tmp_path / "s.toml").write_text(f'config = "mlc-25nm"\nseeds = [1, 2, 3, 4]\nset = {small}\n')
    process = started("sweep", "s.toml", "--workers", "2", cwd=tmp_path)
    time.sleep(after_s)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "FATAL" not in errors
    # Where it is heard before anything runs, a blank line ends that of the terminal's ^C.
    assert errors.strip().startswith("interrupted")
    assert len(errors.strip().splitlines()) == 1


def test_runs_differ_in_nothing_but_what_is_of_the_machine(softsense_process: Softsense, tmp_path: Path) -> None:
    """The summary has it under one name; the table and the report in one column, named as what it is.

    When it was asked, and how, is in `results.json` alone.
    """
    from conftest import SMALL

    small = [word for text in SMALL for word in ("--set", text)]
    for out in ("a", "b"):
        done = softsense_process(["compare", "mlc-25nm", *small, "--out", out])
        assert done.returncode == 0, done.stderr

    def masked(path: Path) -> object:
        if path.name == "summary.json":
            summary = json.loads(path.read_text())
            for run in [*summary["policies"], summary["baseline"]]:
                assert run.pop("machine").keys() == {"wall_s", "setup_s", "requests_per_s", "peak_rss_bytes"}
            return summary
        if path.name == "results.json":
            manifest = json.loads(path.read_text())
            assert manifest.pop("date_utc")
            assert manifest.pop("command")[-1] == path.parent.name
            for name in ("summary.json", "table.txt", "report.html"):
                assert manifest["sha256"].pop(name)
            return manifest
        if path.name == "table.txt":
            assert "of wall clock" in path.read_text()
            return re.sub(r" +[\d,]+$", "", path.read_text(), flags=re.MULTILINE)
        if path.name == "report.html":
            return re.sub(r'data-key="\d{4,}\.0">[\d,]+<', "", path.read_text())
        return path.read_bytes()

    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
    for name in names:
        assert masked(tmp_path / "a" / name) == masked(tmp_path / "b" / name), name
