"""Can what others have written steer the terminal? Every command prints hostile names and texts, and none of their
control characters.
"""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import select
import socket
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import softsense
from conftest import ROOT, SMALL, Softsense
from softsense import cli, terminal
from test_cli_errors import commands

pytestmark = pytest.mark.usefixtures("one_pixel")

HOSTILE = "a\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066\u2028\u200f\x08\x7f\rz"
# In a name of a file, too: it has a byte that is no text.
AS_NAME = HOSTILE + "\udcff"
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
MARK = re.compile(r"\\(u00|x)1b\]0;owned")
"""What is left of the first of them when it is printed. Click spells words of its own errors as Python does."""

QUICK = [word for field in [*SMALL, "workload.requests=50"] for word in ("--set", field)]
MQSIM = ["--format", "mqsim"]
OWN = "class Ladder:\n    def next(self, read):\n        return (1, 7, None)[read.attempts]\n"

Ran = Callable[..., str]


@pytest.fixture
def ran(softsense_command: Softsense, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Run a command in an empty folder; what it printed, in which nothing steers."""
    monkeypatch.setattr("softsense.cli.measuring._CONNECT_S", 0.2)

    def run(*arguments: str, code: int | None = None) -> str:
        done = softsense_command(*arguments)
        printed = done.stdout + done.stderr
        assert not STEERS.search(printed), (arguments, printed)
        assert code in (None, done.returncode), printed
        return printed

    return run


def nested(of: click.Command, path: str) -> click.Command:
    """A command by its path."""
    for word in path.split():
        assert isinstance(of, click.Group)
        of = of.commands[word]
    return of


def arguments_of(command: str) -> list[list[str]]:
    """A command with something hostile in the place of each argument, and of each option that takes a value."""
    parameters = nested(cli.cli, command).params
    lines = [[*command.split(), HOSTILE], [*command.split(), HOSTILE, HOSTILE], [*command.split(), "--", AS_NAME]]
    given = ["nowhere"] * sum(isinstance(each, click.Argument) and each.required for each in parameters)
    options = [each for each in parameters if isinstance(each, click.Option) and not (each.is_flag or each.count)]
    return lines + [[*command.split(), *given, option.opts[0], HOSTILE] for option in options]


# What is printed.


def test_what_steers_is_what_unicode_says_steers() -> None:
    marks = {"LEFT-TO-RIGHT MARK", "RIGHT-TO-LEFT MARK", "ARABIC LETTER MARK"}
    for number in range(0x20000):
        each = chr(number)
        steers = unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") and each not in "\n\t"
        steers |= unicodedata.bidirectional(each) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        steers |= unicodedata.name(each, "") in marks
        assert terminal.escaped(each) == (f"\\u{number:04x}" if steers else each)


def test_documents_are_what_they_were() -> None:
    text = "".join(map(chr, [*range(0x20, 0xD7FF), 0x10FFFF]))
    assert json.loads(terminal.escaped(json.dumps(text, ensure_ascii=False))) == text


def test_a_document_with_hostile_names_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name = HOSTILE.replace("\r", "")
    (tmp_path / f"{name}.toml").write_text("workload.requests = 10\n")
    assert cli.main(["config", "check", f"{name}.toml", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["file"] == f"{name}.toml"


def test_what_an_encoding_lacks_is_printed_as_an_escape(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    command = [sys.executable, "-m", "softsense", "config", "check", "é€.toml"]
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 2
    assert rb"\xe9\u20ac.toml: " in done.stderr
    (tmp_path / "é€.toml").write_text("workload.requests = 10\n")
    done = subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert rb"ok: \xe9\u20ac.toml" in done.stdout


@pytest.mark.parametrize("command", list(commands()))
def test_no_argument_steers(command: str, ran: Ran) -> None:
    told = [ran(*line) for line in arguments_of(command)]
    assert any(map(MARK.search, told))


def test_unknown_commands_do_not_steer(ran: Ran) -> None:
    for line in ([HOSTILE], ["code", HOSTILE], [f"--{HOSTILE}"], ["run", f"--{HOSTILE}"]):
        assert MARK.search(ran(*line, code=2))


@pytest.mark.parametrize(
    "line",
    [
        ["run", "CONFIG"],
        ["compare", "CONFIG"],
        ["fairness", "CONFIG"],
        ["fio", "CONFIG", "--runtime", "1"],
        ["config", "check", "CONFIG"],
        ["config", "show", "CONFIG"],
        ["config", "ages", "CONFIG"],
        ["lifetime", "CONFIG"],
        ["trace", "generate", "CONFIG", "out.csv"],
        ["serve", "CONFIG", "--socket", "drive.sock", "--size", "16MiB"],
        ["explain", "--config", "CONFIG"],
        ["sweep", "CONFIG"],
        ["serve", "tlc-femu", "--socket", "drive.sock", "--size", "16MiB", "--script", "CONFIG"],
        ["trace", "stats", "good.trace", "--format", "CONFIG"],
        ["flash", "show", "CONFIG"],
        ["table", "show", "CONFIG"],
    ],
    ids=" ".join,
)
def test_no_key_of_a_file_steers(line: list[str], ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "good.trace").write_bytes(b"0 0 0 8 1\n1000 0 8 8 1\n2000 0 16 8 0\n")
    escapes = json.dumps(HOSTILE).replace("\\u007f", "\\u007F")
    (tmp_path / "key.toml").write_text(f"{escapes} = 1\n")
    (tmp_path / "value.toml").write_text(f"read = {{ policy = {escapes} }}\nconfig = {escapes}\nname = {escapes}\n")
    (tmp_path / "broken.toml").write_text(f"a = {HOSTILE!s}\n", newline="")
    told = [
        ran(*(word.replace("CONFIG", f"./{file}.toml") for word in line), code=2) for file in ("key", "value", "broken")
    ]
    assert any(map(MARK.search, told))


# Pictures have no font for such names, and warn of it.
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_trace_steers(ran: Ran, tmp_path: Path) -> None:
    name = HOSTILE.replace("\r", "") + ".trace"
    (tmp_path / name).write_bytes(b"0 0 0 8 1\n1000 0 8 8 1\n2000 0 16 8 0\n")
    assert MARK.search(ran("trace", "stats", name, *MQSIM, code=0))
    for words in (["--out", "one"], ["--json", "--out", name.removesuffix(".trace")]):
        assert MARK.search(ran("run", "mlc-25nm", *QUICK, "--trace", name, *MQSIM, "--beyond", "wrap", *words, code=0))
    assert MARK.search(ran("trace", "convert", name, f"{HOSTILE}.csv", "--to", "csv", *MQSIM, code=0))
    (tmp_path / "bad.csv").write_text(f"time,op,bytes,lbn\n0,{HOSTILE},8,1\n0,{HOSTILE},8,1\n", newline="")
    ran("trace", "stats", "bad.csv", "--columns", "time,op,bytes,lbn", code=2)


def leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts of a document are."""
    if isinstance(document, str):
        yield path
    elif isinstance(document, dict | list):
        for key, each in document.items() if isinstance(document, dict) else enumerate(document):
            yield from leaves(each, (*path, key))


def test_no_manifest_steers(ran: Ran, tmp_path: Path) -> None:
    ran("run", "mlc-25nm", *QUICK, "--json", "--out", "one", code=0)
    ran("run", "mlc-25nm", *QUICK, "--json", "--out", f"kept/{AS_NAME}", code=0)
    manifest = json.loads((tmp_path / "one/results.json").read_text())
    told = [ran("results", "list", "kept")]
    for path in leaves(manifest):
        document = json.loads(json.dumps(manifest))
        at = document
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = HOSTILE
        (tmp_path / "one/results.json").write_text(json.dumps(document))
        told += [ran("results", *words) for words in (["list", "."], ["show", "one"], ["compare", "one", "one"])]
    assert sum(map(bool, map(MARK.search, told))) > 5


def test_no_progress_file_steers(ran: Ran, tmp_path: Path) -> None:
    told = {"what": HOSTILE, "name": HOSTILE, "state": "finished", "fraction": 0.5, "started_s": 1.0, "told_s": 2.0}
    told |= {"history": [], "process": 1, "doing": HOSTILE, "count": 1}
    (tmp_path / "study").mkdir()
    for changed in ({}, {"state": HOSTILE}, {HOSTILE: 1}):
        (tmp_path / "study/.progress.json").write_text(json.dumps(told | changed))
        assert MARK.search(ran("serve-results", ".", "--once", code=0))


def test_no_code_steers(ran: Ran, tmp_path: Path) -> None:
    name = HOSTILE.replace("\r", "")
    (tmp_path / f"{name}.qc").write_text(softsense.Code.open("teaching-1/2").to_qc())
    for command in (["code", "show"], ["code", "bench", "--errors", "2", "--frames", "10"], ["code", "hardware"]):
        assert MARK.search(ran(*command[:2], f"./{name}.qc", *command[2:]))
    (tmp_path / f"{name}.fer").write_bytes(b"SQLite format 3\x00")
    assert MARK.search(ran("fer", "teaching-1/2", "--rber", "0.01", "--store", f"{name}.fer", code=2))


def test_no_drive_steers(ran: Ran, tmp_path: Path) -> None:
    commands = [["status"], ["age", "--reads", "1"], ["scrub"], ["fault", "heal"]]

    def answer() -> None:
        for _ in commands:
            client, _ = heard.accept()
            with client:
                client.recv(1 << 16)
                client.sendall(json.dumps({"error": HOSTILE}).encode() + b"\n")

    with socket.socket(socket.AF_UNIX) as heard:
        heard.bind("drive.control")
        heard.listen()
        answers = threading.Thread(target=answer)
        answers.start()
        for command, *words in commands:
            assert MARK.search(ran(command, "drive.control", *words, code=2))
        answers.join()


@pytest.mark.parametrize(
    "raises",
    [
        f"raise ValueError({HOSTILE!r})",
        f"raise SystemExit({HOSTILE!r})",
        "raise SystemExit(1)",
        f"raise ImportError({HOSTILE!r})",
        f"def {HOSTILE!r}",
    ],
    ids=["error", "exit", "exit 1", "no module", "no Python"],
)
def test_no_error_of_ones_own_code_steers(raises: str, ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(f"{raises}\n{OWN}")
    told = ran("run", "mlc-25nm", *QUICK, "--policy", "own.py:Ladder", code=1)
    assert "own.py" in told
    assert "Traceback" in told or "SyntaxError" in told


def test_what_workers_print_does_not_steer(ran: Ran, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(f"print({HOSTILE!r})\n{OWN}")
    overrides = json.dumps([*SMALL, "workload.requests=50"])
    (tmp_path / "s.toml").write_text(
        f"config = 'mlc-25nm'\npolicies = ['own.py:Ladder']\nseeds = [1]\nset = {overrides}\n"
    )
    assert len(MARK.findall(ran("sweep", "s.toml", "--workers", "1", "--no-progress", code=0))) > 1


# On a terminal.


def on_a_terminal(*arguments: str, cwd: Path) -> str:
    """What a command sends to a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-m", "softsense", *arguments]
    process = subprocess.Popen(command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    sent = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            got = os.read(ours, 1 << 16)
        except OSError:
            break
        if not got:
            break
        sent += got
    os.close(ours)
    process.wait(60)
    return sent.decode()


def test_terminals_are_steered_by_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "key.toml").write_text(f"{json.dumps(HOSTILE)} = 1\n")
    told = on_a_terminal("config", "check", "key.toml", cwd=tmp_path)
    assert MARK.search(told)
    assert not STEERS.search(told.replace("\r\n", "\n"))


def test_progress_bars_steer_and_what_they_show_does_not(tmp_path: Path) -> None:
    name = HOSTILE.replace("\r", "")
    # What is printed while there are bars is printed above them.
    (tmp_path / "own.py").write_text(
        f"class Ladder:\n    tabulate = False\n    def next(self, read):\n        print({HOSTILE!r})\n"
        "        return (1, 7, None)[read.attempts]\n"
    )
    (tmp_path / f"{name}.trace").write_bytes(b"0 0 0 8 1\n1000 0 8 8 1\n2000 0 16 8 0\n")
    words = ["--trace", f"{name}.trace", *MQSIM, "--beyond", "wrap", "--policy", "own.py:Ladder", "--out", "out"]
    told = on_a_terminal("run", "mlc-25nm", *QUICK, *words, cwd=tmp_path)
    assert len(MARK.findall(told)) >= 3
    # Lines of bars are wound back and erased, in colours; nothing else.
    own = re.compile(r"\x1b\[(\d*(;\d+)*m|\d*[AK]|\?25[lh]|2K)|\r")
    assert "\x1b[?25l" in told
    assert not STEERS.search(own.sub("", told))


# And nothing goes past it.

PAST = {"sys.__stdout__", "sys.__stderr__", "sys.stdout.buffer", "sys.stderr.buffer", "sys.stdout.write", "os.write"}
STYLES = {"clear", "secho", "style", "echo_via_pager", "progressbar", "edit"}

LAST = STYLES | {name.rpartition(".")[2] for name in PAST}


def test_nothing_is_printed_past_it() -> None:
    package = Path(softsense.__file__).parent
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            place = f"{file.name}:{getattr(node, 'lineno', 0)}"
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name | ast.Attribute)
                and node.attr in LAST
            ):
                whole = ast.unparse(node)
                assert whole not in PAST, place
                assert whole.partition("click.")[2] not in STYLES, place
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                streams = [ast.unparse(each.value) for each in node.keywords if each.arg == "file"]
                if node.func.id == "print":
                    assert set(streams) <= {"sys.stderr"}, place
                elif node.func.id == "Console":
                    assert streams == ["raw(sys.stderr)"], place
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\x1b" in node.value:
                assert file.name in ("served.py", "watching.py"), place
    for file in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        code = file.read_text(encoding="utf-8").partition("mod tests")[0]
        printed = re.findall(r"\be?print(?:ln)?!|\bstd(?:out|err)\(\)", code)
        # Where memory has run out nothing can be escaped, and nothing but a fixed line is printed. Tests print, too.
        assert not printed or file.name in ("memory.rs", "tests.rs"), file
