"""Does softsense behave in a shell: completion, `--json` wherever there are results, and nothing but text in a pipe?"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

import softsense
from conftest import ROOT, SMALL
from serving import serving
from softsense import _core, board, cli, judged_tables, measured_part, papers
from softsense.cli import completing, options, output
from softsense.sampling import Goal
from softsense.serve import faults
from test_cli_errors import commands

pytestmark = pytest.mark.usefixtures("one_pixel")

QUICK = [word for field in SMALL for word in ("--set", field)]
TRACE = "".join(f"{i * 50_000},0,{'read' if i % 3 else 'write'},{i * 8192},4096\n" for i in range(300))

MATRIX = board.parse_matrix("there.bch", "# Licence: MIT\nbch:m=10,t=5,k=512\n")
ENTRY = json.dumps(board.measure_entry(MATRIX, budget=0.1))

# Every command that has results, small.
RESULTS: dict[str, list[str]] = {
    "run": ["mlc-25nm", *QUICK],
    "compare": ["mlc-25nm", *QUICK, "--policies", "two_step"],
    "fairness": [str(ROOT / "examples" / "configs" / "tenants.toml")],
    "fio": ["mlc-25nm", *QUICK[:4], "--rw", "randread", "--runtime", "20ms"],
    "policies": [],
    "trace stats": ["small.csv"],
    "trace fit-arrivals": ["small.csv"],
    "trace convert": ["small.csv", "converted.trace", "--to", "mqsim"],
    "trace generate": ["mlc-25nm", "generated.trace", *QUICK],
    "config list": [],
    "config check": ["mlc-lae"],
    "config show": ["tlc-femu"],
    "config ages": ["tlc-femu", "--pe-cycles", "1000,3000", "--retention-days", "90", "--picture", "ages.png"],
    "code list": [],
    "code hardware": ["flash-8/9", "bch-4KB-t256", "--gbps", "8"],
    "code show": ["teaching-1/2", "--picture", "code.png"],
    "code import": ["./teaching.qc", "--out", "teaching.alist"],
    "code bench": ["teaching-1/2", "--errors", "2", "--frames", "100"],
    "code conform": ["softsense.backends:Cpu", "--code", "flash-8/9", "--decoder", "min-sum"],
    "code vectors": ["teaching-1/2", "--channel", "errors:2", "--frames", "2", "--steps", "--out", "vectors"],
    "code traps": [
        *("teaching-1/2", "--bits", "3", "--decoders", "min-sum,min-sum-f32", "--rber", "0.01", "--frames", "10"),
        *("--out", "traps.toml", "--picture", "traps.png"),
    ],
    "code design": [
        *("--data-bits", "1024", "--parity-bits", "256", "--fer", "1e-3", "--families", "regular", "--heaviest", "3"),
        *("--circulants", "32", "--profiles", "1", "--seeds", "1", "--measured", "0", "--bits", "3"),
        *("--out", "designed.qc", "--force"),
    ],
    "board measure": ["there.bch", "--budget", "0.1", "--out", "new.json", "--page", "new.html", "--force"],
    "board check": [".", "--no-measure"],
    "board page": [".", "--out", "site"],
    "board published": [
        *("--only", "802.16e-576-1-2", "--failures", "10", "--down-to", "0.05", "--out", "published.json", "--force"),
    ],
    "board codes": ["--only", "bch-1939-t29", "--out", "codes", "--force"],
    "fer": ["bch:m=10,t=5,k=512", "--rber", "0.001,0.002", "--picture", "fer.png"],
    "flash list": [],
    "flash show": ["mlc", "--picture", "cells.png"],
    "flash rber": ["tlc-measured", "--pe-cycles", "3000", "--retention-days", "0,90", "--picture", "rber.png"],
    "flash disturb": ["tlc-measured", "--reads", "0,1e5", "--picture", "disturb.png"],
    "flash measure": ["tlc-measured"],
    "flash references": ["tlc-measured", "--pe-cycles", "0,3000", "--retention-days", "0,365", "--out", "retries.toml"],
    "flash inference": [
        "tlc-measured",
        "--pe-cycles",
        "2000,3000",
        "--retention-days",
        "90,365",
        "--out",
        "known.toml",
    ],
    "flash fit": ["measured.csv", "--mapping", "mlc"],
    "flash bake": [],
    "flash calibrate": ["mlc-25nm", *QUICK, "--set", "geometry.chips_per_channel=2", "--p-fail", "0.1"],
    "merge": ["all.fer", "all-1-of-2.fer"],
    "explain": ["--policies", "two_step"],
    "lifetime": [
        *("tlc-femu", "--set", "geometry.blocks_per_plane=160", "--set", "geometry.pages_per_block=32"),
        *("--utilisation", "0.8", "--picture", "life.png"),
    ],
    "design ecc-by-age": ["mlc-lae", "--squeeze", "128", "--out", "designed.toml"],
    "table build": [
        *("bch:m=10,t=5,k=512", "--levels", "1", "--rber", "0.004,0.008", "--out", "new.toml", "--force"),
    ],
    "table judge": ["flash-8-9", "--judge", "2", "--down-to", "1e-3", "--out", "judged.toml", "--force"],
    "table list": [],
    "table show": ["flash-8-9"],
    "reproduce": ["--list"],
    "fit": ["latencies.csv", "--workers", "1", "--check-reads", "2000", "--out", "fitted"],
    "calibrate": ["loads.toml", "--quick", "--workers", "1", "--out", "calibrated"],
    "sweep": ["sweep.toml", "--workers", "1"],
    "results list": ["kept"],
    "results show": ["kept/one"],
    "results compare": ["kept/one", "kept/two", "--metric", "p99.9"],
    "results export": ["kept/one", "--out", "rows.csv", "--force"],
    "serve-results": [".", "--once"],
    "drive serve": ["tlc-femu", "--size", "16MiB", "--socket", "own.sock", "--script", "end.toml"],
    "drive age": ["drive.image", "--pe", "1"],
    "drive status": ["drive.image"],
    "drive fault": ["drive.image", "heal"],
    "drive scrub": ["drive.image"],
}
OF_DRIVES = {"drive age", "drive status", "drive fault", "drive scrub"}
"""They speak to a drive that is being served."""
# They print one thing, which is in a format of its own, or write a file.
WITHOUT_JSON = {
    "completion": ["bash"],
    "config schema": [],
    "code export": ["teaching-1/2", "exported.qc"],
    "flash grid": ["rates.csv"],
}


def completed(*words: str) -> list[str]:
    """What a shell is told that the last word may become."""
    shell = ShellComplete(cli.cli, {}, "softsense", "_SOFTSENSE_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1]) if item.type == "plain"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trace, a code and a sweep."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.csv").write_text("arrival_ns,device,kind,offset_bytes,bytes\n" + TRACE.replace(",0,", ",0,", 1))
    lines = [f"1000,{days},{state},{state},0.1" for days in (1, 9) for state in range(4)]
    (tmp_path / "measured.csv").write_text("\n".join(["pe_cycles,retention_days,state,mean,sigma", *lines]))
    (tmp_path / "rates.csv").write_text("pe_cycles,retention_days,rber\n0,0,1e-4\n0,30,2e-4\n")
    (tmp_path / "teaching.qc").write_text(softsense.Code.open("teaching-1/2").to_qc())
    heights = [max(0, 900 - 300 * abs(i - 8)) + max(0, 600 - 300 * abs(i - 14)) for i in range(30)]
    bins = "".join(f"{100 + 10 * i},{height}\n" for i, height in enumerate(heights))
    (tmp_path / "latencies.csv").write_text(f",0\n{bins}")
    overrides = ", ".join(json.dumps(field) for field in SMALL)
    grid = "[grid]\n'ftl.over_provisioning' = [0.2, 0.3]\n"
    (tmp_path / "there.bch").write_text("# Licence: MIT\nbch:m=10,t=5,k=512\n")
    (tmp_path / "entries").mkdir()
    (tmp_path / "entries" / "there.json").write_text(ENTRY)
    (tmp_path / "matrices").mkdir()
    (tmp_path / "matrices" / "there.bch").write_text("# Licence: MIT\nbch:m=10,t=5,k=512\n")
    with softsense.Shard(tmp_path / "all.fer", 1, 2) as shard:
        softsense.measure_fer("bch:m=10,t=5,k=512", [0.002], store=shard)
    (tmp_path / "loads.toml").write_text(
        "[drive]\nuser_bytes = 512_000_000_000\n[[load]]\nname = 'reads'\n"
        "jobs = [{ name = 'reader', rw = 'randread', iodepth = 4 }]\n"
        "measured = { reader = { read = { p50_us = 70, p99_us = 90 } } }\n"
    )
    (tmp_path / "end.toml").write_text('[[event]]\nat = "0s"\nstop = true\n')
    (tmp_path / "sweep.toml").write_text(f"config = 'mlc-25nm'\npolicies = ['two_step']\nset = [{overrides}]\n{grid}")
    # How far work has come is told every ten seconds, on slow machines alone.
    monkeypatch.setattr(output, "_BETWEEN_LINES_S", math.inf)
    return tmp_path


def test_every_command_is_here() -> None:
    assert set(RESULTS) | set(WITHOUT_JSON) == set(commands())


def keep_results(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Results for the commands that look at them."""
    if command.startswith("results "):
        for name, policy in (("one", "two_step"), ("two", "progressive")):
            assert cli.main(["run", "mlc-25nm", *QUICK, "--policy", policy, "--json", "--out", f"kept/{name}"]) == 0
        capfd.readouterr()


@pytest.mark.parametrize("command", [*RESULTS, *WITHOUT_JSON])
def test_pipes_take_nothing_but_text(folder: Path, capfd: pytest.CaptureFixture[str], command: str) -> None:
    keep_results(command, capfd)
    with serving(folder, name="drive") if command in OF_DRIVES else nullcontext():
        assert cli.main([*command.split(), *(RESULTS | WITHOUT_JSON)[command]]) == 0
    printed = capfd.readouterr()
    assert printed.out.strip()
    for text in (printed.out, printed.err):
        # Scripts for shells spell out escapes, and no text has the characters themselves.
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    if command != "reproduce":
        assert printed.err == ""


@pytest.mark.parametrize("command", RESULTS)
def test_json_is_all_of_standard_output(folder: Path, capfd: pytest.CaptureFixture[str], command: str) -> None:
    keep_results(command, capfd)
    with serving(folder, name="drive") if command in OF_DRIVES else nullcontext():
        assert cli.main([*command.split(), *RESULTS[command], "--json"]) == 0
    printed = capfd.readouterr()
    assert json.loads(printed.out)
    assert "NaN" not in printed.out
    assert "\x1b" not in printed.err


@pytest.mark.parametrize("command", [command for command in commands() if command not in RESULTS])
def test_commands_without_json_say_so(capfd: pytest.CaptureFixture[str], command: str) -> None:
    assert cli.main([*command.split(), "--json"]) == 2
    assert "--json" in capfd.readouterr().err


def test_what_is_spelled_out_for_completion_is_what_there_is() -> None:
    assert list(completing.PAPERS) == [paper.name for paper in papers.papers()]
    with pytest.raises(softsense.SoftsenseError) as refused:
        softsense.Trace("small.csv", format="?")
    assert list(completing.FAULTS) == list(faults.FAULTS)
    assert Goal.frames == options.MOST_FRAMES
    assert Goal.floor_frames == options.MOST_FLOOR_FRAMES
    assert judged_tables.RUNS == options.JUDGE_RUNS
    assert measured_part.LEAST == options.LEAST_ASKED
    formats = completed("trace", "stats", "x", "--format", "")
    names = str(refused.value).partition("expected ")[2].partition(" or columns")[0]
    assert set(formats) == set(names.split(", "))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["com"], ["compare", "completion"]),
        (["run", "tlc-f"], ["tlc-femu"]),
        (
            ["config", "check", "mlc-la"],
            ["mlc-lae", "mlc-lae-unsqueezed", "mlc-lae-worst-case", "mlc-laldpc", "mlc-laldpc-serial"],
        ),
        (["explain", "--config", "tlc-e"], ["tlc-enterprise", "tlc-enterprise-15tb"]),
        (["code", "show", "flash"], [name for name, _ in softsense.Code.entries() if name.startswith("flash")]),
        (["code", "traps", "teach"], ["teaching-1/2"]),
        (["explain", "--code", "teach"], ["teaching-1/2"]),
        (["table", "show", "flash"], [name for name in _core.decode_tables() if name.startswith("flash")]),
        (["lifetime", "tlc-femu", "--tables", "adaptive-5-6,adaptive-1-2"], ["adaptive-5-6,adaptive-1-2"]),
        (["compare", "tlc-femu", "--policies", "two_step,prog"], ["two_step,progressive"]),
        (["compare", "tlc-femu", "--policies", "a"], ["all"]),
        (["run", "tlc-femu", "--policy", "look_ahead_"], ["look_ahead_progressive"]),
        (["flash", "show", "tlc-m"], ["tlc-measured"]),
        (["reproduce", "l"], ["ldpc-in-ssd", "laldpc", "lae-ftl"]),
        (["trace", "convert", "a", "b", "--to", "m"], ["mqsim"]),
        (["fer", "flash-8/9", "--method", "d"], ["direct"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["serve", "tlc-femu", "--write-cache", "v"], ["volatile"]),
        (["fault", "d.sock", "kill-"], ["kill-die", "kill-plane", "kill-block"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_names_are_completed(words: list[str], expected: list[str]) -> None:
    assert sorted(completed(*words)) == sorted(expected)


def test_files_are_completed_where_they_can_stand() -> None:
    shell = ShellComplete(cli.cli, {}, "softsense", "_SOFTSENSE_COMPLETE")
    for words in (["run"], ["run", "x", "--trace"], ["code", "show"], ["table", "show"], ["flash", "show"], ["sweep"]):
        kinds = [item.type for item in shell.get_completions(words, "m")]
        assert kinds[0] == "file", words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_for_their_shells(capfd: pytest.CaptureFixture[str], shell: str) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capfd.readouterr().out
    assert f"_SOFTSENSE_COMPLETE={shell}_complete" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_bash_completes(tmp_path: Path) -> None:
    """As a user has it: the script, and the command that it calls, with nothing on standard error."""
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("no bash")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ask = 'eval "$(softsense completion bash)"; COMP_WORDS=(softsense run tlc-f); COMP_CWORD=2; COMPREPLY=(); '
    ask += "compopt() { :; }; _softsense_completion softsense; echo ${COMPREPLY[@]}"
    run = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run([bash, "-c", ask], cwd=tmp_path, env={**os.environ, "PATH": path}, **run)
    assert done.stdout.split() == ["tlc-femu"]
    assert done.stderr == ""


def test_version_tells_build_and_cpu(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    told, info = capfd.readouterr().out, softsense.build_info()
    assert told.count("\n") == 1
    assert told.startswith(f"softsense {softsense.__version__}, model {info['model_version']}, ")
    for part in ("profile", "target", "instruction_set"):
        assert info[part] in told
    assert ("commit" in told) == ("commit" in info)


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["code", "show", "flash-8-9"], ["code", "show", "flash-8/9"]),
        (["table", "show", "flash-8/9"], ["table", "show", "flash-8-9"]),
        (["flash", "show", "tlc_2_3_2"], ["flash", "show", "tlc-2-3-2"]),
        (["flash", "show", "mlc", "--pe", "3000"], ["flash", "show", "mlc", "--pe-cycles", "3000"]),
        (["explain", "--pe-cycles", "3000", "--json"], ["explain", "--pe", "3000", "--json"]),
    ],
    ids=lambda words: " ".join(words),
)
def test_names_that_people_mix_up_are_one(capfd: pytest.CaptureFixture[str], words: list[str], same: list[str]) -> None:
    told = []
    for each in (words, same):
        assert cli.main(each) == 0
        told.append(capfd.readouterr().out)
    assert told[0] == told[1]


def test_pipes_have_a_line_of_progress_now_and_then(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 3.0, 10.5, 12.0, 21.0, 40.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    with output.progress_bars(False, "runs") as report:
        for count, fraction in ((1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4), (5, 1.0)):
            report("sweeping", count, fraction)
    assert capfd.readouterr().err == "sweeping: 20 %, 2 runs\nsweeping: 40 %, 4 runs\n"
    with output.progress_bars(True) as report:
        report("sweeping", 1, 0.5)
    assert capfd.readouterr().err == ""


def test_the_help_of_each_command_has_an_example_that_it_takes() -> None:
    for name in commands():
        command: click.Command = cli.cli
        for word in name.split():
            assert isinstance(command, click.Group)
            command = command.commands[word]
        *_, line = (command.epilog or "").splitlines()
        words = shlex.split(line.partition(">")[0])
        path = ["softsense", *name.split()]
        assert words[: len(path)] == path, name
        command.make_context(name, words[len(path) :])


def test_the_list_of_commands_fits_a_terminal_of_80_columns() -> None:
    groups = [(name, group) for name, group in cli.cli.commands.items() if isinstance(group, click.Group)]
    for name, group in [("softsense", cli.cli), *groups]:
        told = group.get_help(click.Context(group, info_name=name, terminal_width=80))
        assert "..." not in told.partition("Options:")[2], name


def test_the_help_lists_every_command_once_and_old_names_still_work(capfd: pytest.CaptureFixture[str]) -> None:
    told = cli.cli.get_help(click.Context(cli.cli, info_name="softsense", terminal_width=80))
    listed = re.findall(r"^  ([a-z][a-z-]*)  +[A-Z]", told, flags=re.MULTILINE)
    assert sorted(listed) == sorted(cli.cli.commands)
    for name in ("serve", "age", "fault", "scrub", "status"):
        assert cli.main(["drive", name, "--help"]) == cli.main([name, "--help"]) == 0
        of_drive, alone = capfd.readouterr().out.split("Usage: ")[1:]
        assert of_drive.removeprefix(f"softsense drive {name}") == alone.removeprefix(f"softsense {name}")
