"""The `softsense` command.

Whatever is wrong with the input ends in one line, `error: <place>: <what was found, what was expected>`, and exit
code 2; what is wrong with softsense itself in one line and 70; Ctrl-C writes what was measured and ends in 130. Results
go to standard output, progress to standard error.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import textwrap
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

import softsense
from softsense import (
    Cells,
    Code,
    CodeError,
    Comparison,
    Config,
    ConfigError,
    FileError,
    Interrupted,
    RunResult,
    SoftsenseError,
    Trace,
    _core,
)
from softsense.background import in_background
from softsense.files import blaming, replacing

if TYPE_CHECKING:
    from types import FrameType, ModuleType

    from click.shell_completion import CompletionItem
    from matplotlib.figure import Figure

    from softsense.design import Law

_PLAIN_WIDTH = 150
_BAD_INPUT = 2
_BUG = 70
_INTERRUPTED = 130
_NOBODY_READS = 141
_CONNECT_S = 5
_MOMENT_S = 0.01
# That of `sampling.Goal`, which would load NumPy; a test compares them.
_LEVELS = click.IntRange(1, _core.MAX_LEVEL)
_MOST_FRAMES = 4_194_304
_MOST_FLOOR_FRAMES = 131_072


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0; 2 for bad input; 70 for a bug of softsense; 130 for Ctrl-C; 141 where nobody reads standard output any more.
    """
    _core.keep_panics_quiet()
    said_before, sys.unraisablehook = sys.unraisablehook, _hear_ctrl_c
    with _noting_ctrl_c() as heard:
        try:
            code = _command(arguments)
            # Whoever closed it wants no output.
            if sys.stdout:
                sys.stdout.flush()
            return code
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Libraries make other errors of Ctrl-C where they hear it.
            if heard:
                print("interrupted", file=sys.stderr)
                return _INTERRUPTED
            return _failed(error)
        finally:
            sys.unraisablehook = said_before


def _failed(error: BaseException) -> int:
    """Say in one line what went wrong, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        _drop_output()
        return _NOBODY_READS
    if isinstance(error, OSError):
        if error.filename is None:
            _drop_output()
        return _complain(f"{error.filename or 'standard output'}: {error.strerror or error}")
    if isinstance(error, UnicodeError):
        return _complain("found a name or text that is not UTF-8, expected UTF-8")
    if isinstance(error, MemoryError):
        return _complain("found too little memory for this, expected a smaller device or fewer jobs")
    if isinstance(error, ImportError):
        # Nothing is imported that was not installed with softsense.
        return _complain(f"cannot load a library, for want of memory or of a whole installation: {error}")
    return _report_bug(error)


@contextlib.contextmanager
def _noting_ctrl_c() -> Iterator[list[int]]:
    """A list that is no longer empty after Ctrl-C, which is raised as ever; other threads hear nothing."""
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    # Whoever had it ignored, as shells do for what runs in the background, wants that.
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def _hear_ctrl_c(dropped: sys.UnraisableHookArgs) -> None:
    """Python drops what destructors and callbacks of weak references raise: Ctrl-C in one of them comes once more."""
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        # A moment later, or it would be dropped again, here; so would be another one, in the meantime.
        with contextlib.suppress(KeyboardInterrupt):
            threading.Timer(_MOMENT_S, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(dropped)


def _drop_output() -> None:
    """What is still to be written goes nowhere, or Python would complain of it at its end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_bug(error: BaseException) -> int:
    """Say in one line what is wrong with softsense itself; with SOFTSENSE_TRACEBACK set, how it came to it, too."""
    if os.environ.get("SOFTSENSE_TRACEBACK"):
        traceback.print_exception(error)
    # The exception of a panic has no class that could be imported.
    if not (what := _core.last_panic() if type(error).__name__ == "PanicException" else None):
        *_, last = traceback.extract_tb(error.__traceback__)
        what = f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
    _complain(f"softsense has a bug: please report it with this command, its input, and this line: {what}")
    return _BUG


def _command(arguments: list[str] | None) -> int:
    try:
        _core.check_environment()
        code = cli.main(arguments, prog_name="softsense", standalone_mode=False)
    except SoftsenseError as error:
        return _complain(str(error))
    except SystemExit as ended:
        # With 1 click ends where nobody reads.
        if ended.code == 1:
            _drop_output()
            return _NOBODY_READS
        raise
    except click.exceptions.NoArgsIsHelpError as asked:
        # Whoever names no command wants to know which there are.
        click.echo(asked.format_message())
        return 0
    except click.UsageError as error:
        hint = f" ({error.ctx.command_path} --help)" if error.ctx else ""
        return _complain(error.format_message().rstrip(".") + hint)
    except click.ClickException as error:
        return _complain(error.format_message())
    except click.Abort:
        print("interrupted before anything was measured", file=sys.stderr)
        return _INTERRUPTED
    return code if isinstance(code, int) else 0


def _complain(message: str) -> int:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    return _BAD_INPUT


# What shells complete ------------------------------------------------------------------------------------------------

# Spelled out, as a shell waits for them: papers take a second to load. A test compares them with what there is.
_PAPERS = (
    "ldpc-in-ssd",
    "laldpc",
    "adaptive-rate-pool",
    "lae-ftl",
    "rif",
    "sentinel",
    "pr2-ar2",
    "straw",
    "read-retry",
)
_SHELLS = ("bash", "zsh", "fish")
_FAULTS = ("kill-die", "kill-plane", "kill-block", "flip-bits", "drop-power", "heal")

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _completing(names: Callable[[], Iterable[str]], *, files: bool = False, several: bool = False) -> Completer:
    """Completes names, and files where they can stand instead; of `several`, with commas between, the last."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        words = [before + comma + name for name in names() if name.startswith(last)]
        # Bash forgets what it was told before it is told of files.
        return [CompletionItem(incomplete, type="file")] * files + [CompletionItem(word) for word in words]

    return complete


def _one_of(*names: str) -> Completer:
    return _completing(lambda: names)


_complete_config = _completing(lambda: (config["name"] for config in softsense.configs()), files=True)
_complete_code = _completing(lambda: (name for name, _ in Code.entries()), files=True)
_complete_cells = _completing(Cells.names, files=True)
_complete_table = _completing(_core.decode_tables, files=True)
_complete_tables = _completing(_core.decode_tables, several=True)
_complete_policy = _completing(lambda: (policy["name"] for policy in softsense.policies()))
_complete_policies = _completing(lambda: ("all", *(policy["name"] for policy in softsense.policies())), several=True)
_complete_written = _one_of("csv", "mqsim", "disksim")
_complete_fault = _one_of(*_FAULTS)
_complete_placement = _one_of("mutual_information", "nested", "uniform")


# Options that several commands share ---------------------------------------------------------------------------------

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _together(*options: Decorator) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


_no_progress = click.option("--no-progress", is_flag=True, help="Show no progress, even on a terminal.")
_worker_options = _together(
    click.option("--workers", type=click.IntRange(1, 1024), help="Threads; default: one per CPU."),
    click.option("--dask", metavar="ADDRESS", help="Work on a Dask cluster instead, such as tcp://host:8786."),
    click.option(
        "--store", type=click.Path(path_type=Path), metavar="FILE", help="Keep all results there, and resume from it."
    ),
)


_trace_options = _together(
    click.option(
        "--format",
        metavar="FORMAT",
        shell_complete=_one_of("msr", "spc", "disksim", "mqsim", "blkparse", "fio", "csv"),
        help="Trace format: msr, spc, disksim, mqsim, blkparse, fio or csv; default: recognised from content.",
    ),
    click.option(
        "--time-unit",
        metavar="UNIT",
        shell_complete=_one_of("s", "ms", "us", "ns", "100ns"),
        help="Unit of arrival times: s, ms, us, ns or 100ns; default: the format's.",
    ),
    click.option(
        "--size-unit", metavar="SIZE", help="Unit of request sizes, such as 512B or 4KiB; default: the format's."
    ),
    click.option(
        "--devices",
        default="stack",
        metavar="HOW",
        shell_complete=_one_of("stack", "merge", "only="),
        help="A trace of several devices: stack them one behind the other (default), merge their addresses, or only=N.",
    ),
)
_config_options = _together(
    click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Replace a config field; repeatable."),
    click.option("--seed", type=int, help="Replace the config's seed."),
)
_json_written = click.option("--json", "as_json", is_flag=True, help="Say what was written as one JSON document.")
_config_argument = click.argument("config", type=click.Path(path_type=Path), shell_complete=_complete_config)
_run_options = _together(
    _config_argument,
    click.option("--trace", "trace_file", type=click.Path(), help="Trace to replay; default: the config's [workload]."),
    _trace_options,
    click.option(
        "--beyond",
        metavar="HOW",
        default="reject",
        shell_complete=_one_of("reject", "wrap", "scale"),
        help="Addresses beyond the device: reject the trace (default), wrap around, or scale all addresses down.",
    ),
    _config_options,
    click.option(
        "--equal-area",
        metavar="CONFIG",
        shell_complete=_complete_config,
        help="Give decoders the parallelism that the decoder area of this config buys.",
    ),
    click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/<command>-<config>."),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON document; draw nothing."),
    click.option("--requests-log", is_flag=True, help="Also write every request to requests.parquet."),
    _no_progress,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, value: _say_version(context) if value else None,
    help="Show version, build and CPU features, and exit.",
)
def cli() -> None:
    """Simulate SSDs whose error correction is real."""


def _say_version(context: click.Context) -> None:
    info = softsense.build_info()
    commit = f", commit {info['commit']}" if "commit" in info else ""
    click.echo(
        f"softsense {info['version']}, model {info['model_version']}, {info['profile']} build for {info['target']}, "
        f"codecs use {info['instruction_set']}{commit}"
    )
    context.exit()


@cli.command("completion")
@click.argument("shell", metavar="SHELL", type=click.Choice(_SHELLS))
def completion_command(shell: str) -> None:
    """Print the script by which SHELL (bash, zsh or fish) completes softsense's commands, options and names.

    For bash put `eval "$(softsense completion bash)"` into ~/.bashrc, for zsh the same with zsh into ~/.zshrc; for fish
    write it to ~/.config/fish/completions/softsense.fish.
    """
    from click.shell_completion import get_completion_class

    completes = get_completion_class(shell)
    assert completes is not None
    click.echo(completes(cli, {}, "softsense", "_SOFTSENSE_COMPLETE").source())


@cli.command()
@_run_options
@click.option(
    "--policy",
    metavar="NAME[:RETRY]",
    shell_complete=_complete_policy,
    help="Replace the config's read policy, such as two_step:restart.",
)
def run(config: Path, out: Path | None, policy: str | None, as_json: bool, **options: Any) -> int:
    """Simulate one read policy on a trace, or on the workload of CONFIG."""
    resolved = softsense.load_config(config, options["overrides"], seed=options["seed"], policy=policy)
    resolved = _at_equal_area(resolved, options["equal_area"], as_json)

    def simulate(trace: Trace | None, log: Path | bool, progress: softsense.api.Progress) -> RunResult:
        return softsense.run(
            resolved, trace, beyond=options["beyond"], log_requests=log, progress=progress, policy=policy
        )

    return _measure("run", config, resolved, out, as_json, simulate, **options)


@cli.command()
@_run_options
@click.option(
    "--policies",
    default="all",
    metavar="NAMES",
    shell_complete=_complete_policies,
    help="Comma-separated read policies, such as look_ahead, or with a retry two_step:restart; default: all.",
)
@click.option("--no-baseline", is_flag=True, help="Do not run the device without soft sensing, nor report slowdowns.")
@click.option("--jobs", type=click.IntRange(min=1), help="Simulations at once; default: one per CPU, at most 4.")
def compare(
    config: Path, out: Path | None, policies: str, no_baseline: bool, jobs: int | None, as_json: bool, **options: Any
) -> int:
    """Compare read policies on the same codewords with the same random draws.

    Slowdowns are against a run in which nothing ever fails, so that hard sensing always suffices.
    """
    resolved = softsense.load_config(config, options["overrides"], seed=options["seed"])
    resolved = _at_equal_area(resolved, options["equal_area"], as_json)
    names = softsense.api.policy_names(policies)
    for name in names:
        # A retry that does not exist is told before anything is scanned or simulated.
        softsense.api.with_policy(resolved, name)

    def simulate(trace: Trace | None, log: Path | bool, progress: softsense.api.Progress) -> Comparison:
        return softsense.compare(
            resolved,
            trace,
            policies=names,
            baseline=not no_baseline,
            beyond=options["beyond"],
            jobs=jobs,
            log_requests=log,
            progress=progress,
        )

    return _measure("compare", config, resolved, out, as_json, simulate, **options)


@cli.command("policies")
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def policies_command(as_json: bool) -> None:
    """List the read policies."""
    from softsense import tables

    told = [(policy["name"], policy["description"]) for policy in softsense.policies()]
    _print_list(softsense.policies(), as_json, lambda _: tables.describe(told))


def _print_list(rows: list[dict[str, Any]], as_json: bool, told: Callable[[list[dict[str, Any]]], str]) -> None:
    click.echo(json.dumps(rows, indent=2) if as_json else told(rows))


@cli.group()
def trace() -> None:
    """Look at traces and convert them."""


@trace.command("stats")
@click.argument("file", type=click.Path())
@_trace_options
@click.option("--json", "as_json", is_flag=True, help="Print the statistics as one JSON document.")
@_no_progress
def trace_stats(file: str, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Show what a trace file was recognised as and what it holds."""
    from softsense import tables

    opened = _open_trace(file, no_progress, options)
    click.echo(json.dumps(json.loads(opened.stats_json()), indent=2) if as_json else tables.describe(opened.describe()))


@trace.command("fit-arrivals")
@click.argument("file", type=click.Path())
@_trace_options
@click.option("--json", "as_json", is_flag=True, help="Print the fit as one JSON document.")
@_no_progress
def trace_fit_arrivals(file: str, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Fit bursts to the arrivals of trace FILE, and print them as the [workload] section of a config.

    The fit is a Markov-modulated Poisson process of two states. Statistics of the trace stand beside those of the fit.
    """
    from softsense import tables

    fit, rows, toml = _open_trace(file, no_progress, options).fit_arrivals()
    if as_json:
        click.echo(json.dumps(json.loads(fit), indent=2))
        return
    commented = "\n".join(f"# {line}" for line in tables.describe(rows).splitlines())
    click.echo(f"{commented}\n\n{toml}", nl=False)


@trace.command("convert")
@click.argument("file", type=click.Path())
@click.argument("to", metavar="OUT", type=click.Path())
@_trace_options
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    default="csv",
    shell_complete=_complete_written,
    help="Format to write: csv (default), mqsim or disksim.",
)
@_json_written
@_no_progress
def trace_convert(file: str, to: str, to_format: str, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Write trace FILE to OUT in another format."""
    from softsense import tables

    opened = _open_trace(file, no_progress, options)
    click.echo(tables.describe(opened.describe()), err=as_json)
    with _progress(no_progress) as report:
        written = opened.convert(to, to_format, progress=lambda fraction: report(f"writing {to}", 0, fraction))
    _say_written(to, to_format, written, as_json)


@trace.command("generate")
@_config_argument
@click.argument("to", metavar="OUT", type=click.Path())
@_config_options
@click.option(
    "--to",
    "to_format",
    metavar="FORMAT",
    default="mqsim",
    shell_complete=_complete_written,
    help="Format to write: mqsim (default), csv or disksim.",
)
@_no_progress
@_json_written
def trace_generate(
    config: Path,
    to: str,
    to_format: str,
    overrides: tuple[str, ...],
    seed: int | None,
    no_progress: bool,
    as_json: bool,
) -> None:
    """Write the synthetic [workload] of CONFIG to the trace file OUT."""
    opened = softsense.load_config(config, overrides, seed=seed)
    with _progress(no_progress) as report:
        written = opened.write_workload(to, to_format, lambda fraction: report("writing", 0, fraction))
    _say_written(to, to_format, written, as_json)


def _say_written(to: str, to_format: str, requests: int, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"file": to, "format": to_format, "requests": requests}, indent=2))
    else:
        click.echo(f"wrote {requests:,} requests to {to} as {to_format}")


@cli.group("config")
def config_group() -> None:
    """List, check and show configurations.

    A configuration is the name of a shipped one, or a TOML file.
    """


@config_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def config_list(as_json: bool) -> None:
    """List the shipped configurations."""
    from softsense import tables

    _print_list(softsense.configs(), as_json, tables.configs)


@config_group.command("check")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=_complete_config)
@_config_options
@click.option("--json", "as_json", is_flag=True, help="Print what it describes as one JSON document.")
def config_check(file: Path, overrides: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Check a configuration and say what device it describes."""
    from softsense import tables

    config = softsense.load_config(file, overrides, seed=seed)
    rows = _config_rows(config, True)
    if as_json:
        known = {"file": str(file), "sha256": config.sha256, "user_bytes": config.user_bytes}
        click.echo(json.dumps({**known, "description": dict(rows)}, indent=2))
        return
    click.echo(f"ok: {file}")
    click.echo(tables.describe(rows, indent="  "))
    if start := _starting_reliability(config):
        click.echo("\n" + start)


@config_group.command("show")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=_complete_config)
@_config_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of TOML.")
def config_show(file: Path, overrides: tuple[str, ...], seed: int | None, as_json: bool) -> None:
    """Print a configuration with every default filled in, and the error rates that its run starts with."""
    config = softsense.load_config(file, overrides, seed=seed)
    click.echo(json.dumps(json.loads(config.to_json()), indent=2) if as_json else config.to_toml(), nl=as_json)
    if not as_json and (start := _starting_reliability(config)):
        click.echo("\n" + textwrap.indent(start, "# "))


@config_group.command("ages")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=_complete_config)
@_config_options
@click.option("--pe-cycles", default="0:5000:500", metavar="LIST", help="Default: 0:5000:500.")
@click.option("--retention-days", default="0,7,30,90,365", metavar="LIST", help="Default: 0,7,30,90,365.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def config_ages(
    file: Path,
    overrides: tuple[str, ...],
    seed: int | None,
    pe_cycles: str,
    retention_days: str,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show error rates, retries and uncorrectable reads of a configuration over the life of its flash.

    Nothing is simulated: means over codewords of the device at each age, read as the policy reads. UBER is the
    probability of an uncorrectable read for each bit of data; JESD218 allows a client drive 1e-15, an enterprise one
    1e-16.
    """
    from softsense import flash, tables
    from softsense.campaign import parse_list

    rows = flash.reliability_by_age(
        softsense.load_config(file, overrides, seed=seed),
        [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        parse_list(retention_days, "--retention-days", 0, 36_500),
    )
    _show_rows(
        rows, tables.reliability_by_age, as_json, picture, lambda plots: plots.draw_reliability_by_age(rows, file.stem)
    )


@config_group.command("schema")
def config_schema() -> None:
    """Print the JSON schema of configurations."""
    click.echo(softsense.config_schema().rstrip("\n"))


_code_argument = click.argument("name", metavar="CODE", shell_complete=_complete_code)
_redundant_checks = click.option(
    "--redundant-checks", is_flag=True, help="Accept checks that follow from others: each is one more data bit."
)
_cycles_option = click.option("--cycles", is_flag=True, help="Count short cycles however long it takes.")
_force_option = click.option("--force", is_flag=True, help="Replace a file that is there.")


@cli.group("code")
def code_group() -> None:
    """List, show, convert and measure error-correcting codes.

    A code is the name of a shipped one, any BCH code in the form bch:m=15,t=57,k=31912, a code of the literature
    (literature:margulis-2640, literature:ethernet-2048), or the file of an LDPC code: alist, or a base matrix (.qc).
    """


@code_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def code_list(as_json: bool) -> None:
    """List the shipped codes."""
    from softsense import tables

    rows = []
    for name, description in Code.entries():
        code = Code.open(name)
        rows.append(
            {
                "name": name,
                "kind": code.kind,
                "codeword_bits": code.codeword_bits,
                "data_bits": code.data_bits,
                "rate": code.rate,
                "description": description,
            }
        )
    _print_list(rows, as_json, tables.codes)


@code_group.command("show")
@_code_argument
@_redundant_checks
@_cycles_option
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: base matrix, Tanner graph.")
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def code_show(name: str, redundant_checks: bool, cycles: bool, picture: Path | None, as_json: bool) -> None:
    """Show what CODE is and what it can do."""
    from softsense import codes, tables

    code = Code.open(name, redundant_checks)
    drawn = None
    if picture:
        _check_picture(picture)
        from softsense import plots

        drawn = plots.draw_code(code)
    facts = in_background(lambda: codes.describe(code, cycles=cycles or None))
    if drawn and picture:
        with replacing(picture) as path:
            drawn.savefig(path)
    click.echo(json.dumps(facts, indent=2) if as_json else tables.describe(tables.code(facts)))
    if picture and not as_json:
        click.echo(f"wrote {picture}")


@code_group.command("hardware")
@_code_argument
@_redundant_checks
@click.option("--node-nm", type=float, default=28.0, show_default=True, help="Technology node, 28 to 130 nm.")
@click.option("--clock-mhz", type=float, help="Clock; default: 400 (LDPC) or 200 (BCH).")
@click.option("--iterations", type=int, default=5, show_default=True, help="Of an LDPC decoder.")
@click.option("--checks-per-cycle", type=int, help="Of an LDPC decoder; default: 64.")
@click.option("--message-bits", type=int, help="Of an LDPC decoder; default: 5.")
@click.option("--syndrome-bits-per-cycle", type=int, help="Of a BCH decoder; default: 8.")
@click.option("--key-equation-multipliers", type=int, help="Of a BCH decoder; default: 16.")
@click.option("--search-bits-per-cycle", type=int, help="Of a BCH decoder; default: 8.")
@click.option("--encoder-bits-per-cycle", type=int, default=32, show_default=True, help="Data that an encoder takes.")
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def code_hardware(name: str, redundant_checks: bool, as_json: bool, **circuit: Any) -> None:
    """Show what a decoder and an encoder of CODE take as circuits: gates, area, cycles, energy."""
    from softsense import codes, tables

    try:
        facts = codes.hardware(Code.open(name, redundant_checks), **circuit)
    except ConfigError as error:
        # Named as a field; here it is an option.
        field, _, rest = str(error).partition(": ")
        raise ConfigError(f"--{field.replace('_', '-')}: {rest}") from None
    click.echo(json.dumps(facts, indent=2) if as_json else tables.describe(tables.hardware(facts)))


@code_group.command("export")
@_code_argument
@click.argument("to", metavar="FILE", type=click.Path(path_type=Path))
@_redundant_checks
@_force_option
def code_export(name: str, to: Path, redundant_checks: bool, force: bool) -> None:
    """Write the matrix of LDPC code CODE to FILE: its base matrix (.qc) or all of it (.alist)."""
    _check_suffix(to, ".alist", ".qc")
    _write_code(Code.open(name, redundant_checks), to, force)


@code_group.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", "to", type=click.Path(path_type=Path), metavar="FILE", help="Also write it: .alist or .qc.")
@_redundant_checks
@_cycles_option
@_force_option
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def code_import(file: Path, to: Path | None, redundant_checks: bool, cycles: bool, force: bool, as_json: bool) -> None:
    """Read and check the LDPC code in FILE, say what it is and how it encodes, and convert it."""
    from softsense import codes, tables

    if to:
        _check_suffix(to, ".alist", ".qc")
        _check_writable(to, force)
    named = any(str(file) == name for name, _ in Code.entries()) or str(file).startswith("bch:")
    # With a folder in front it is a file whatever its name.
    code = Code.open(f"./{file}" if named else file, redundant_checks)
    facts = in_background(lambda: codes.describe(code, thresholds=False, cycles=cycles or None))
    if as_json:
        click.echo(json.dumps(facts, indent=2))
    else:
        click.echo(f"ok: {file}")
        click.echo(tables.describe(tables.code(facts), indent="  "))
    if to:
        _write_code(code, to, force, quiet=as_json)


@code_group.command("bench")
@_code_argument
@click.option(
    "--channel",
    metavar="CHANNEL",
    help="bsc:P (error rate), errors:W (errors a word), awgn:EBN0_DB, or gaussian:RBER:LEVELS.",
)
@click.option("--errors", type=click.IntRange(min=0), help="That many errors in each word, instead of --channel.")
@click.option(
    "--decoder",
    default="min-sum",
    metavar="NAME",
    help="Of LDPC codes: min-sum (default), min-sum-8bit[:LARGEST], min-sum-16bit, bit-flipping, or "
    "[layered-|flooding-]RULE[-f32|-f64] with the rules sum-product, min-sum[:FACTOR] and offset-min-sum[:OFFSET].",
)
@click.option("--iterations", default=20, type=click.IntRange(1, 10**6), help="Of LDPC codes, at most; default: 20.")
@click.option("--threads", default=1, type=click.IntRange(1, 1024), help="Threads that decode; default: 1.")
@click.option("--seconds", type=float, help="How long; default: 10.")
@click.option("--frames", type=click.IntRange(1, 2**63 - 1), help="How many frames, instead of --seconds.")
@click.option("--seed", default=1, type=click.IntRange(0, 2**64 - 1), help="Of data and noise; default: 1.")
@_redundant_checks
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@_no_progress
def code_bench(
    name: str,
    channel: str | None,
    errors: int | None,
    decoder: str,
    seconds: float | None,
    frames: int | None,
    redundant_checks: bool,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """Measure speed and error rate of CODE: random data, encoded, sent through a channel, decoded and compared."""
    from softsense import tables

    if (channel is None) == (errors is None):
        found = "neither --channel nor --errors" if channel is None else "both --channel and --errors"
        raise CodeError(f"--channel: found {found}, expected one, such as --channel bsc:0.0075")
    if seconds is not None and frames is not None:
        raise CodeError("--frames: found both --seconds and --frames, expected one")
    code = Code.open(name, redundant_checks)
    interrupted = False
    try:
        with _progress(no_progress, "frames") as report:
            result = softsense.bench(
                code,
                f"errors:{errors}" if channel is None else channel,
                decoder=decoder,
                seconds=10.0 if seconds is None else seconds,
                frames=frames,
                progress=lambda fraction, done: report(f"decoding {name}", done, fraction),
                **options,
            )
    except Interrupted as interruption:
        interrupted, result = True, interruption.result
    click.echo(json.dumps(result, indent=2, allow_nan=False) if as_json else tables.describe(tables.bench(result)))
    if interrupted:
        click.echo("interrupted: what is shown covers what had been decoded", err=True)
    return _INTERRUPTED if interrupted else 0


@code_group.command("traps")
@_code_argument
@click.option(
    "--bits",
    "most_bits",
    default=8,
    type=click.IntRange(0, 14),
    help="Search for sets of up to so many bits; default: 8; 0: no search.",
)
@click.option(
    "--violated",
    "most_violated",
    type=click.IntRange(0, 2**16),
    help="List sets that violate up to so many checks; default: all.",
)
@click.option("--impulses", default=0, type=click.IntRange(0, 2**32), help="Also decode so many impulses; default: 0.")
@click.option(
    "--impulse-decoder",
    default="gallager",
    metavar="NAME",
    help="By gallager (default) or any decoder of `code bench`.",
)
@click.option(
    "--decoders",
    default="",
    metavar="NAMES",
    help="Also measure how often these fail on the sets, such as min-sum,min-sum-8bit.",
)
@click.option("--rber", default=0.0, type=click.FloatRange(0, 0.5), help="Of the bits elsewhere, for that; default: 0.")
@click.option(
    "--frames", default=1000, type=click.IntRange(1, 2**40), help="Frames of each row of that; default: 1000."
)
@click.option("--iterations", default=20, type=click.IntRange(1, 10**6), help="Of decoders, at most; default: 20.")
@click.option("--seed", default=1, type=click.IntRange(0, 2**63 - 1), help="Of impulses, data and noise; default: 1.")
@_worker_options
@click.option("--out", "to", type=click.Path(path_type=Path), metavar="FILE", help="Write the sets there, for `fer`.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the smallest set's graph.")
@_redundant_checks
@_force_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@_no_progress
def code_traps(
    name: str,
    decoders: str,
    rber: float,
    frames: int,
    to: Path | None,
    picture: Path | None,
    force: bool,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Find the small absorbing sets of LDPC code CODE, which make its error floor.

    Sets of bits whose errors hold one another in place: every bit has more satisfied checks than violated ones.
    """
    from softsense import tables
    from softsense import traps as finding
    from softsense.store import opened_store

    if picture:
        _check_picture(picture)
    if to:
        _check_suffix(to, ".toml")
        _check_writable(to, force)
    names = [word.strip() for word in decoders.split(",") if word.strip()]
    with _measuring(name, no_progress, {**options, "what": "units"}) as (code, running):
        for decoder in names:
            code.decoder(decoder)
        if not 0 <= rber <= 0.5:  # NaN is in every range of click's.
            raise ConfigError(f"--rber: found {rber}, expected 0 to 0.5")
        shared = {key: running[key] for key in ("iterations", "seed", "workers", "progress")}
        with opened_store(running.pop("store")) as store:
            try:
                found = finding.find_traps(code, store=store, **running)
                failing = finding.failures_on_sets(found, names, rber=rber, frames=frames, store=store, **shared)
            except Interrupted:
                raise click.Abort from None
    document = found.to_dict() | {"decoders": failing}
    if to:
        found.save(to)
    drawn = picture if picture and found.list else None
    if drawn:
        with replacing(drawn) as path:
            found.plot().savefig(path)
    click.echo(json.dumps(document, indent=2) if as_json else tables.traps(document))
    for written in (to, drawn):
        if written and not as_json:
            click.echo(f"\nwrote {written}")


_placement_option = click.option(
    "--placement",
    default="mutual_information",
    metavar="HOW",
    shell_complete=_complete_placement,
    help="mutual_information (default), nested or uniform.",
)
_sampling_options = _together(
    click.option("--levels", metavar="LEVELS", help="Read levels, such as 1-7 or 1,3,7; 1 is hard decision."),
    click.option(
        "--rber",
        metavar="LIST",
        help="Raw bit error rates, such as 0.004,0.005 or 0.004:0.012:0.0005; default: across the waterfall.",
    ),
    click.option(
        "--placement",
        default="mutual_information",
        metavar="HOW",
        shell_complete=_complete_placement,
        help="Where references stand: mutual_information (default), nested, uniform or uniform:STEP_V.",
    ),
    click.option("--decoder", default="min-sum", metavar="NAME", help="Of LDPC codes, as in `code bench`."),
    click.option(
        "--iterations", default=20, type=click.IntRange(1, 10**6), help="Of LDPC codes, at most; default: 20."
    ),
    click.option(
        "--method",
        default="auto",
        metavar="METHOD",
        shell_complete=_one_of("auto", "weight", "direct", "analytic"),
        help="weight (frames with given numbers of errors), direct, analytic (BCH), or auto (default): the cheapest.",
    ),
    click.option("--relative-error", default=0.1, help="Standard error over rate at which it is known; default: 0.1."),
    click.option("--down-to", default=1e-15, help="Rates below are not sampled for; default: 1e-15."),
    click.option(
        "--frames",
        default=_MOST_FRAMES,
        type=click.IntRange(1, 2**62),
        help=f"At most, for each point; hard decisions are measured for all points at once; default: {_MOST_FRAMES:,}.",
    ),
    click.option("--seed", default=1, type=click.IntRange(0, 2**64 - 1), help="Of data and noise; default: 1."),
    click.option(
        "--traps",
        metavar="FILE",
        help="Absorbing sets that make the error floor, from `code traps --out`; or none; default: the shipped ones.",
    ),
    click.option(
        "--floor-frames",
        default=_MOST_FLOOR_FRAMES,
        type=click.IntRange(1, 2**62),
        help=f"At most, for the error floor of each point; default: {_MOST_FLOOR_FRAMES:,}.",
    ),
    _worker_options,
    _redundant_checks,
)


@cli.command("fer")
@_code_argument
@_sampling_options
@click.option(
    "--floor-down-to",
    type=float,
    metavar="RATE",
    help="The error floor is sampled until it is known or below this; default: a tenth of the rate or of --down-to.",
)
@click.option(
    "--judge",
    default=0,
    type=click.IntRange(0, 1000),
    metavar="RUNS",
    help="Runs of splitting that judge rates: of level 1 all, of each deeper level the lowest; default: 0.",
)
@click.option(
    "--cells",
    metavar="NAME",
    shell_complete=_complete_cells,
    help="Read cells, a shipped model or a TOML file, instead of at --rber.",
)
@click.option("--pe-cycles", default="", metavar="LIST", help="Program/erase cycles of the cells.")
@click.option("--retention-days", default="", metavar="LIST", help="Days since the cells were written.")
@click.option("--page", default="mean", metavar="PAGE", help="Which page: its name or number, or mean (default).")
@click.option(
    "--llrs-for", metavar="PE:DAYS", help="The age references and LLRs are made for; default: the cells' own."
)
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the curves: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document.")
@_no_progress
def fer(name: str, llrs_for: str | None, picture: Path | None, as_json: bool, no_progress: bool, **options: Any) -> int:
    """Measure frame error rates of CODE against raw bit error rate or age, down to 1e-15.

    Rates too low to be seen directly are put together from frames with given numbers of errors. Nothing is
    extrapolated: what was not seen is bounded, and the bound is stated apart.
    """
    from softsense import tables

    if picture:
        _check_picture(picture)
    if llrs_for is not None:
        from softsense.campaign import parse_age

        options["llrs_for"] = parse_age(llrs_for)
    with _measuring(name, no_progress, options) as (code, running):
        interrupted = False
        try:
            result = softsense.measure_fer(code, **running)
        except Interrupted as interruption:
            interrupted, result = True, interruption.result
            if result is None:
                raise click.Abort from None
    document = result.to_dict()
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else tables.fer(document))
    if picture:
        with replacing(picture) as path:
            result.plot().savefig(path)
        if not as_json:
            click.echo(f"\nwrote {picture}")
    if interrupted:
        click.echo("interrupted: what is shown covers what had been decoded", err=True)
    return _INTERRUPTED if interrupted else 0


_temperature_option = click.option(
    "--temperature",
    type=float,
    metavar="C",
    help="Of data at rest, degrees Celsius, in measured cells; default: theirs.",
)


@cli.group("flash")
def flash_group() -> None:
    """Look at flash cells at an age, and at how chips are aged in an oven."""


@flash_group.command("show")
@click.argument("name", metavar="[CELLS]", default="mlc", shell_complete=_complete_cells)
@click.option(
    "--pe-cycles", default=10_000, type=click.IntRange(0, 10**6), help="Program/erase cycles; default: 10000."
)
@click.option("--retention-days", default=365.0, type=float, help="Days since the cells were written; default: 365.")
@click.option(
    "--level",
    default=_core.MAX_LEVEL,
    type=_LEVELS,
    help=f"Read level shown beside hard decision; default: {_core.MAX_LEVEL}.",
)
@_placement_option
@_temperature_option
@click.option(
    "--references",
    type=click.Choice(["default", "tracked"]),
    help="Where hard references stand: the chip's default, or where they are best at this age; default: the model's.",
)
@click.option(
    "--effective-reads",
    default=0.0,
    type=click.FloatRange(0, 1e12),
    metavar="N",
    help="Reads of other wordlines of the block since the write; of those beside, each counts for several.",
)
@click.option("--page", default="0", metavar="PAGE", help="Page that is drawn: its name or number; default: the first.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw how a page is read.")
@click.option("--json", "as_json", is_flag=True, help="Print what is known as one JSON document.")
def flash_show(
    name: str,
    pe_cycles: int,
    retention_days: float,
    level: int,
    placement: str,
    temperature: float | None,
    references: str | None,
    effective_reads: float,
    page: str,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show cells at an age, a shipped model (mlc, tlc-2-3-2, tlc-measured, ...) or a TOML file.

    Error rates, reference voltages, the regions between them and their log-likelihood ratios.
    """
    from softsense import flash, tables

    cells = Cells.open(name, pe_cycles, retention_days * 24, references, temperature, effective_reads)
    if effective_reads and cells.adjacent_stress is None:
        raise ConfigError(f"--effective-reads: found {effective_reads:g} for {name}, whose cells reads do not disturb")
    drawn, number = None, flash.page_number(cells, page)
    if picture:
        _check_picture(picture)
        from softsense import plots

        drawn = plots.draw_cells(cells, number, level, placement)
    facts = flash.describe(cells, level, placement)
    if drawn and picture:
        with replacing(picture) as path:
            drawn.savefig(path)
    click.echo(json.dumps(facts, indent=2) if as_json else tables.cells(facts))
    if picture and not as_json:
        click.echo(f"wrote {picture}")


@flash_group.command("rber")
@click.argument("name", metavar="[CELLS]", default="tlc-measured", shell_complete=_complete_cells)
@click.option("--pe-cycles", default="0,1000,2000,3000", metavar="LIST", help="Default: 0,1000,2000,3000.")
@click.option("--retention-days", default="0,1,7,30,90,365", metavar="LIST", help="Default: 0,1,7,30,90,365.")
@click.option(
    "--levels", default="", metavar="LIST", help="Read levels whose mutual information is told, such as 1,2,7."
)
@_temperature_option
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the rates as one JSON document.")
def flash_rber(
    name: str,
    pe_cycles: str,
    retention_days: str,
    levels: str,
    temperature: float | None,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show raw bit error rates of cells by age, with default references and with ones that track the age."""
    from softsense import flash, tables
    from softsense.campaign import parse_levels, parse_list

    rows = flash.rber_by_age(
        name,
        [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        parse_list(retention_days, "--retention-days", 0, 4e5),
        levels=parse_levels(levels) if levels else [],
        retention_temperature_c=temperature,
    )
    _show_rows(rows, tables.rber_by_age, as_json, picture, lambda plots: plots.draw_rber_by_age(rows, name))


@flash_group.command("disturb")
@click.argument("name", metavar="[CELLS]", default="tlc-measured", shell_complete=_complete_cells)
@click.option(
    "--reads",
    default="0,1e4,3e4,1e5,2e5,3e5,5e5,7e5,1e6",
    metavar="LIST",
    help="Of the block; default: 0,1e4,3e4,1e5,2e5,3e5,5e5,7e5,1e6.",
)
@click.option("--pe-cycles", default=1000, type=click.IntRange(0, 10**6), help="Program/erase cycles; default: 1000.")
@click.option("--retention-days", default=0.0, type=click.FloatRange(0, 4e5), help="Days since the write; default: 0.")
@click.option("--wordlines", default=256, type=click.IntRange(3, 10**6), help="Of a block; default: 256.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the rates as one JSON document.")
def flash_disturb(
    name: str,
    reads: str,
    pe_cycles: int,
    retention_days: float,
    wordlines: int,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Show what reads do to cells: of one wordline beside them, and of their whole block evenly."""
    from softsense import flash, tables
    from softsense.campaign import parse_list

    rows = flash.rber_by_reads(
        name,
        parse_list(reads, "--reads", 0, 1e9),
        pe_cycles=pe_cycles,
        retention_days=retention_days,
        wordlines_per_block=wordlines,
    )
    _show_rows(rows, tables.rber_by_reads, as_json, picture, lambda plots: plots.draw_rber_by_reads(rows, name))


@flash_group.command("measure")
@click.argument("name", metavar="[CELLS]", default="tlc-measured", shell_complete=_complete_cells)
@click.option("--code", default="flash-8/9", metavar="CODE", help="Whose checks are counted; default: flash-8/9.")
@click.option("--pe-cycles", default=3000, type=click.IntRange(0, 10**6), help="Program/erase cycles; default: 3000.")
@click.option(
    "--retention-days", default=90.0, type=click.FloatRange(0, 4e5), help="Days since the write; default: 90."
)
@click.option("--cells", default=147_456, type=click.IntRange(1, 10**7), help="Of a page; default: 147,456.")
@click.option("--known", default=0.002, type=click.FloatRange(0, 1), help="Share of known cells; default: 0.002.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as one JSON document.")
def flash_measure(
    name: str, code: str, pe_cycles: int, retention_days: float, cells: int, known: float, as_json: bool
) -> None:
    """Show what a controller can measure of a page: how it tells that references are misplaced, and what that costs.

    Violated checks of a codeword, the share of ones, errors of cells that are known, and a search for the valleys
    between states: each with default references and with the best, with its spread, sensings and transfers.
    """
    from softsense import flash, tables

    rows = flash.measures(
        name, code, pe_cycles=pe_cycles, retention_days=retention_days, cells=cells, known_share=known
    )
    click.echo(json.dumps(rows, indent=2) if as_json else tables.measures(rows))


# What is made for cells by age, and stands in their file.
_placing_options = _together(
    click.argument("name", metavar="[CELLS]", default="tlc-measured", shell_complete=_complete_cells),
    click.option("--table", default="flash-8-9", metavar="TABLE", help="Decode table of the code; default: flash-8-9."),
    click.option(
        "--step-v", default=0.0125, help="References stand at multiples of it off the default; default: 0.0125."
    ),
    click.option("--pe-cycles", default="0:3000:300", metavar="LIST", help="Ages it is for; default: 0:3000:300."),
    click.option("--retention-days", default="0,0.1,1,3,7,14,30,60,90,180,365", metavar="LIST", help="Up to a year."),
    click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the cells with it: .toml."),
    _force_option,
    click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document."),
)


def _ages(pe_cycles: str, retention_days: str) -> dict[str, Any]:
    """The ages that were asked for, as what is made for them takes them."""
    from softsense.campaign import parse_list

    return {
        "pe_cycles": [round(cycles) for cycles in parse_list(pe_cycles, "--pe-cycles", 0, 10**6)],
        "retention_days": parse_list(retention_days, "--retention-days", 0, 4e5),
    }


@flash_group.command("references")
@_placing_options
@click.option("--entries", default=12, type=click.IntRange(1, 100), help="At most, the default references among them.")
def flash_references(
    name: str,
    table: str,
    entries: int,
    step_v: float,
    pe_cycles: str,
    retention_days: str,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Make a retry table for cells: few sets of references, one of which decodes wherever the best ones would.

    Written into the cells' file it is tried by runs with read.references = "retry_table".
    """
    from softsense import retry_tables, tables

    if out:
        _check_suffix(out, ".toml")
        _check_writable(out, force)
    made = retry_tables.make(
        name,
        table=table,
        entries=entries,
        step_v=step_v,
        **_ages(pe_cycles, retention_days),
    )
    if out:
        with replacing(out) as path:
            path.write_text(made.toml)
    if as_json:
        known = {"retry_table_v": made.offsets_v, "made_for": made.made_for}
        click.echo(json.dumps({**known, "decoded": made.decoded, "worst": made.worst}, indent=2))
        return
    click.echo(tables.retry_table(made.offsets_v, made.made_for, made.decoded))
    worst = made.worst
    age = f"{worst['pe_cycles']:,} P/E cycles and {worst['retention_days']:g} days"
    click.echo(f"\nThe least is {100 * worst['decoded']:.2f} %, of the {worst['page']} page after {age}.")
    if out:
        click.echo(f"wrote {out}")


@flash_group.command("inference")
@_placing_options
@click.option("--boundary", type=int, help="That is measured, from 0; default: the one by which sentinels fail least.")
@click.option("--known", default=0.002, type=click.FloatRange(0, 1), help="Share of known cells; default: 0.002.")
@click.option("--cells", default=147_456, type=click.IntRange(1, 10**7), help="Of a page; default: 147,456.")
def flash_inference(
    name: str,
    table: str,
    boundary: int | None,
    step_v: float,
    known: float,
    cells: int,
    pe_cycles: str,
    retention_days: str,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Fit how references are inferred from a measurement at one boundary: known cells, or the share of ones.

    Written into the cells' file it is used by runs with read.references = "sentinels" or "share_of_ones".
    """
    from softsense import inference, tables

    if out:
        _check_suffix(out, ".toml")
        _check_writable(out, force)
    made = inference.make(
        name,
        table=table,
        boundary=boundary,
        step_v=step_v,
        known_share=known,
        counted_cells=cells,
        **_ages(pe_cycles, retention_days),
    )
    if out:
        with replacing(out) as path:
            path.write_text(made.toml)
    if as_json:
        rest = {"boundaries": made.boundaries, "default_fails": made.default_fails, "best_fails": made.best_fails}
        click.echo(json.dumps({"inference": made.fields, **rest}, indent=2))
        return
    click.echo(tables.inference(made.boundaries))
    fails = f"{100 * made.default_fails:.1f} % of codewords, the best ones {100 * made.best_fails:.1f} %"
    click.echo(f"\nWhere reads are retried the default references fail {fails}.")
    fields = made.fields
    sentinels = f"{fields['sentinels']} sentinels and {fields['counted_cells']:,} counted cells"
    click.echo(
        f"Boundary {fields['boundary']}, {sentinels}, at most {fields['steps']} steps of {fields['step_v']:g} V."
    )
    if out:
        click.echo(f"wrote {out}")


@flash_group.command("fit")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mapping", required=True, metavar="NAME", help="Of states to bits, such as tlc_2_3_2.")
@click.option("--unit-v", default=1.0, help="What a unit of the means and spreads is, in volts; default: 1.")
@click.option("--temperature", default=40.0, help="At which they were measured, in degrees Celsius; default: 40.")
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the cells: .toml.")
@_force_option
@click.option("--json", "as_json", is_flag=True, help="Print how near the fit comes as one JSON document.")
def flash_fit(
    file: Path, mapping: str, unit_v: float, temperature: float, out: Path | None, force: bool, as_json: bool
) -> None:
    """Fit cells to measured means and spreads by age: a CSV file with pe_cycles,retention_days,state,mean,sigma.

    Or to measured valleys, raw bit error rates by where a reference stands, with the columns
    pe_cycles,retention_days,boundary,reference,rber, where rber is the share of all cells on the wrong side.

    Shows how far the fit is from each age, and how far a fit without that age is: what it would have predicted.
    """
    from softsense import measured_cells, tables

    if out:
        _check_suffix(out, ".toml")
        _check_writable(out, force)
    found = measured_cells.fit(file, mapping, unit_v=unit_v, temperature_c=temperature)
    if out:
        with replacing(out) as path:
            path.write_text(found.toml)
    click.echo(json.dumps(found.rows, indent=2) if as_json else tables.cell_fit(found.rows))
    if not as_json:
        click.echo(f"\nwrote {out}" if out else f"\n{found.toml}", nl=bool(out))


@flash_group.command("grid")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write it: .toml.")
@_force_option
def flash_grid(file: Path, out: Path | None, force: bool) -> None:
    """Make a grid of raw bit error rates for configs: from a CSV file with pe_cycles,retention_days,rber.

    What is printed is the value of rber in a config: under [reliability.table.rber.grid], say. `softsense config ages`
    draws what a drive makes of it.
    """
    from softsense import measured_cells

    if out:
        _check_suffix(out, ".toml")
        _check_writable(out, force)
    found = measured_cells.rber_grid(file)
    if out:
        with replacing(out) as path:
            path.write_text(found)
    click.echo(f"wrote {out}" if out else found, nl=bool(out))


@flash_group.command("bake")
@click.option("--bake-c", default=105.0, help="Temperature of the oven; default: 105.")
@click.option("--operating-c", default=40.0, help="Temperature at which data would rest; default: 40.")
@click.option("--retention-days", default=30.0, help="For how long; default: 30.")
@click.option("--cycling-c", default=40.0, help="Temperature at which blocks would be cycled; default: 40.")
@click.option("--cycling-days", default=400.0, help="Over how many days; default: 400.")
@click.option("--activation-energy-ev", default=1.1, help="By the failure mechanism; default: 1.1.")
@click.option("--recovery-constant", default=0.022, help="A, by the technology; default: 0.022.")
@click.option("--json", "as_json", is_flag=True, help="Print the times as one JSON document.")
def flash_bake(as_json: bool, **protocol: float) -> None:
    """Say for how long a cycled and then written chip is baked to be like one that took its time (Arrhenius' law).

    Cycled in a hurry, it is baked to recover as between cycles that are days apart; then written, and baked to age.
    """
    from softsense import flash, tables

    times = flash.bake_minutes(**protocol)
    click.echo(json.dumps(times, indent=2) if as_json else tables.describe(tables.bake(times)))


@flash_group.command("calibrate")
@_config_argument
@click.option("--p-fail", required=True, type=float, metavar="P", help="The mean probability that decoding fails.")
@click.option("--level", default=1, type=_LEVELS, help="The read level at which it does; default: 1, hard decision.")
@_config_options
@click.option("--json", "as_json", is_flag=True, help="Print the factors as one JSON document.")
def flash_calibrate(
    config: Path, p_fail: float, level: int, overrides: tuple[str, ...], seed: int | None, as_json: bool
) -> None:
    """Scale the chip_factors of CONFIG so that decoding fails with probability P in the mean over its codewords.

    The device is taken as it starts, with its decode table: at the wear and age that [precondition] gives its SSDs.
    """
    from softsense import flash, tables

    resolved = softsense.load_config(config, overrides, seed=seed)
    factors = flash.calibrate(resolved, p_fail, level)
    chips = flash.chip_failures(resolved.with_overrides([f"reliability.table.variation.chip_factors={factors}"]), level)
    if as_json:
        click.echo(json.dumps({"chip_factors": factors, "chips": chips}, indent=2))
        return
    click.echo(f"chip_factors = {factors}\n")
    click.echo(tables.chips(chips))


@cli.command("explain")
@click.option(
    "--config",
    default="mlc-25nm",
    type=click.Path(path_type=Path),
    metavar="CONFIG",
    shell_complete=_complete_config,
    help="The device whose times and reads count: a shipped one or a TOML file; default: mlc-25nm.",
)
@click.option(
    "--cells",
    metavar="NAME",
    shell_complete=_complete_cells,
    help="A shipped model or a TOML file; default: those of the config, or mlc.",
)
@click.option(
    "--pe", "pe_cycles", default=10_000, type=click.IntRange(0, 10**6), help="Program/erase cycles; default: 10000."
)
@click.option(
    "--retention", default="365d", metavar="TIME", help="Since the codeword was written, such as 365d (default) or 12h."
)
@click.option("--page", default="upper", metavar="PAGE", help="The page it is in: its name or number; default: upper.")
@click.option(
    "--code", default="flash-8/9", metavar="CODE", shell_complete=_complete_code, help="Its code; default: flash-8/9."
)
@click.option("--decoder", default="min-sum", metavar="NAME", help="Of LDPC codes, as in `code bench`.")
@click.option("--iterations", default=20, type=click.IntRange(1, 10**6), help="Of LDPC codes, at most; default: 20.")
@click.option("--level", type=_LEVELS, help="Whose regions are shown; default: the first level that decodes.")
@click.option("--max-level", type=_LEVELS, help="The deepest level that is read; default: the config's.")
@_placement_option
@click.option(
    "--policies",
    default="all",
    metavar="NAMES",
    shell_complete=_complete_policies,
    help="Read policies, as in `compare`, such as two_step,look_ahead.",
)
@click.option(
    "--needs",
    default=1,
    type=_LEVELS,
    help="Take the first codeword, from --seed on, that needs this level or a deeper one; default: 1, any.",
)
@click.option("--seed", default=1, type=click.IntRange(0, 2**64 - 1), help="Which codeword in which cells; default: 1.")
@click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Replace a config field; repeatable.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print all numbers as one JSON document.")
def explain_command(config: Path, retention: str, picture: Path | None, as_json: bool, **options: Any) -> None:
    """Explain the life of one codeword: its cells, what sensing tells, how decoding goes, and what its read costs.

    The codeword is programmed, aged, sensed and decoded really, level by level; each read policy's time is that of a
    device that does nothing else. Reads that move references are shown step by step, such as with
    --set 'read.references="sentinels"'.
    """
    from softsense import explain

    if picture:
        _check_picture(picture)
    found = explain.explain(config, retention_hours=explain.parse_retention(retention), **options)
    click.echo(json.dumps(found.to_dict(), indent=2, allow_nan=False) if as_json else explain.text(found))
    if picture:
        with replacing(picture) as path:
            explain.draw(found).savefig(path)
        if not as_json:
            click.echo(f"\nwrote {picture}")


@cli.command("lifetime")
@_config_argument
@click.option(
    "--tables",
    metavar="LIST",
    default="",
    shell_complete=_complete_tables,
    help="Decode tables, one for each code; default: that of the config.",
)
@click.option(
    "--utilisation",
    "utilisations",
    metavar="LIST",
    default="",
    help="Shares of the data capacity that the user has, such as 0.7,0.9; default: that of the config.",
)
@click.option("--uber", default=1e-14, help="Failed decodes for each data bit read, at most; default: 1e-14.")
@click.option("--mean-iterations", type=float, help="Decoding iterations in the mean, at most; default: any number.")
@click.option("--level", default=1, type=_LEVELS, help="The read level; default: 1, hard decision.")
@_config_options
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
@_no_progress
def lifetime_command(
    config: Path,
    tables: str,
    utilisations: str,
    uber: float,
    mean_iterations: float | None,
    level: int,
    overrides: tuple[str, ...],
    seed: int | None,
    picture: Path | None,
    as_json: bool,
    no_progress: bool,
) -> None:
    """How much can be written to CONFIG's flash until its code gives up, or several codes, one after the other.

    The raw bit error rate by wear, and the age of data, are those of the config; how often decoding fails is in decode
    tables; write amplification is simulated. With `reliability.bch` the codes are CONFIG's.
    """
    from softsense import lifetime
    from softsense import tables as texts

    if picture:
        _check_picture(picture)
    resolved = softsense.load_config(config, overrides, seed=seed)
    try:
        shares = [float(word) for word in utilisations.split(",") if word.strip()]
    except ValueError:
        raise ConfigError(f"--utilisation: found {utilisations}, expected numbers such as 0.7,0.9") from None
    with _progress(no_progress, "steps") as report:
        found = lifetime.lifetime(
            resolved,
            # Not where a BCH code goes on, as in bch:m=15,t=57,k=31912.
            [word.strip() for word in re.split(r",(?![mtk]=)", tables) if word.strip()],
            utilisations=shares,
            demand=lifetime.Demand(uber, mean_iterations, level),
            progress=report,
        )
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else texts.lifetime(found))
    if picture:
        with replacing(picture) as path:
            lifetime.draw(found).savefig(path)
        if not as_json:
            click.echo(f"\nwrote {picture}")


@cli.group("design")
def design_group() -> None:
    """Design error correction."""


@design_group.command("ecc-by-age")
@_config_argument
@click.option(
    "--rber",
    "points",
    metavar="LIST",
    default="",
    help="Raw bit error rates after so many P/E cycles, such as 16000:3e-4,25000:8e-4; default: those of CONFIG.",
)
@click.option(
    "--law",
    default="power_law",
    type=click.Choice(["power_law", "exponential"]),
    help="What is laid through the points: power_law (default) or exponential.",
)
@click.option(
    "--stages",
    type=click.Choice(["points", "room"]),
    help="A stage ends at each of the points (default with --rber), or lasts as long as the strongest code that fits.",
)
@click.option(
    "--squeeze",
    "squeezes",
    metavar="LIST",
    default="",
    help="Bytes by which the data of a unit may shrink for parity, such as 128,256; default: none, or as points need.",
)
@click.option("--oob-bytes", type=int, help="Out-of-band area of a unit, bytes; default: that of CONFIG.")
@click.option("--uber", default=1e-15, help="Failed codewords for each bit of data read, at most; default: 1e-15.")
@click.option(
    "--code", default="bch", type=click.Choice(["bch", "ldpc"]), help="bch (default), or measured LDPC codes."
)
@click.option(
    "--tables",
    metavar="LIST",
    default="",
    shell_complete=_complete_tables,
    help="Of LDPC codes, decode tables to choose from; default: the shipped adaptive-*.",
)
@click.option("--level", default=1, type=_LEVELS, help="Of LDPC codes, the read level; default: 1, hard decision.")
@_config_options
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the whole config, ready to run.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def design_ecc_by_age(
    config: Path,
    points: str,
    law: Law,
    stages: Literal["points", "room"] | None,
    squeezes: str,
    oob_bytes: int | None,
    uber: float,
    code: Literal["bch", "ldpc"],
    tables: str,
    level: int,
    overrides: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Choose codes for the life of the pages of CONFIG: of what strength, where their parity lies, until when.

    Young blocks have the shortest codewords whose parity fits the out-of-band area, old ones codewords of a whole unit
    whose parity takes room of the data. What is printed is a section of a config; --out writes all of it.
    """
    from softsense import design
    from softsense import tables as texts

    found = design.ecc_by_age(
        softsense.load_config(config, overrides, seed=seed),
        points=_wear_points(points),
        law=law,
        stages=stages,
        squeezes=_whole_numbers("--squeeze", squeezes),
        oob_bytes=oob_bytes,
        uber=uber,
        code=code,
        tables=[word.strip() for word in tables.split(",") if word.strip()],
        level=level,
    )
    if out:
        with replacing(out) as path:
            path.write_text(found.config.to_toml(), encoding="utf-8")
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else texts.design(found))
    if out and not as_json:
        click.echo(f"\nwrote {out}: softsense run {out}")


def _wear_points(text: str) -> list[tuple[int, float]]:
    """P/E cycles and raw bit error rates of an option."""
    pairs = [word.split(":") for word in text.split(",") if word.strip()]
    try:
        return [(int(pe_cycles), float(rber)) for pe_cycles, rber in pairs]
    except ValueError:
        raise ConfigError(
            f"--rber: found {text}, expected P/E cycles and rates such as 16000:3e-4,25000:8e-4"
        ) from None


def _whole_numbers(option: str, text: str) -> list[int]:
    try:
        found = [int(word) for word in text.split(",") if word.strip()]
    except ValueError:
        found = [-1]
    if any(number < 0 for number in found):
        raise ConfigError(f"{option}: found {text}, expected whole numbers such as 128,256")
    return found


@cli.group("table")
def table_group() -> None:
    """Build and show decode tables, on which the simulator runs."""


@table_group.command("build")
@_code_argument
@click.option("--out", "to", required=True, type=click.Path(path_type=Path), metavar="FILE", help="Write it there.")
@_sampling_options
@_force_option
@_json_written
@_no_progress
def table_build(name: str, to: Path, force: bool, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Measure a decode table of CODE: failure probability and iterations for each level and raw bit error rate.

    Levels go from 1 to at most 7 (default). A store lets it be stopped and resumed.
    """
    _check_suffix(to, ".toml")
    _check_writable(to, force)
    with _measuring(name, no_progress, options) as (code, running):
        try:
            built = softsense.build_table(code, name=to.stem, **running)
        except Interrupted:
            raise click.Abort from None
    with replacing(to) as path:
        path.write_text(built.text, encoding="utf-8")
    if as_json:
        made = {"file": str(to), "levels": len(built.points), "rber": built.rber, "frames": built.frames}
        click.echo(json.dumps({**made, "largest_change": built.largest_change}, indent=2))
        return
    click.echo(f"wrote {to}: levels 1 to {len(built.points)}, {len(built.rber)} raw bit error rates, ", nl=False)
    click.echo(f"{built.frames:,} frames; made monotone, by at most {100 * built.largest_change:.2g} %")


@table_group.command("show")
@click.argument("name", metavar="TABLE", shell_complete=_complete_table)
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Draw the curves: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as one JSON document.")
def table_show(name: str, picture: Path | None, as_json: bool) -> None:
    """Show what decode table TABLE is, a shipped one or a file, and what its levels can do."""
    from softsense import decode_tables, tables

    if picture:
        _check_picture(picture)
    document = decode_tables.describe(name)
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else tables.decode_table(document))
    if picture:
        with replacing(picture) as path:
            decode_tables.draw(document).savefig(path)
        if not as_json:
            click.echo(f"\nwrote {picture}")


@cli.command("reproduce")
@click.argument("name", metavar="[PAPER|all]", required=False, shell_complete=_one_of(*_PAPERS, "all"))
@click.option("--list", "listing", is_flag=True, help="List the papers and their figures.")
@click.option(
    "--figure", "figures", multiple=True, metavar="N[,N...]", help="Only these figures; repeatable; default: all."
)
@click.option("--quick", is_flag=True, help="Few seeds, a look within minutes (default).")
@click.option("--full", is_flag=True, help="The seeds and grids of the documentation.")
@click.option(
    "--traces", type=click.Path(path_type=Path), metavar="FOLDER", help="Real traces; without them stand-ins, or none."
)
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/<paper>.")
@click.option("--jobs", type=click.IntRange(min=1), help="Simulations at once; default: one per CPU, at most 4.")
@click.option("--dask", metavar="ADDRESS", help="Simulate on a Dask cluster instead, such as tcp://host:8786.")
@click.option(
    "--store", type=click.Path(path_type=Path), metavar="FILE", help="Keep all simulations there, and resume from it."
)
@click.option("--json", "as_json", is_flag=True, help="Print claims, or the list, as one JSON document.")
@_no_progress
def reproduce_command(
    name: str | None,
    listing: bool,
    figures: tuple[str, ...],
    quick: bool,
    full: bool,
    traces: Path | None,
    out: Path | None,
    jobs: int | None,
    dask: str | None,
    store: Path | None,
    as_json: bool,
    no_progress: bool,
) -> int:
    """Reproduce the figures of PAPER and judge its claims; `all` stands for every paper.

    One folder takes a picture and a CSV for each figure, claims.json, and two reports, which set what was measured
    beside what was published: report.md, and report.html for a browser. Of all papers each has a folder within it,
    beside a page of all claims.
    """
    from softsense import papers, tables

    if (listing or name is None) and as_json:
        listed = [
            {
                "name": paper.name,
                "published": paper.published,
                "figures": [{"id": figure.id, "title": figure.title} for figure in paper.figures],
            }
            for paper in papers.papers()
        ]
        click.echo(json.dumps(listed, indent=2))
        return 0
    if listing or name is None:
        for paper in papers.papers():
            click.echo(f"{paper.name}: {paper.published}")
            rows = [(figure.id, figure.title) for figure in paper.figures]
            click.echo(tables.describe(rows, indent="  "))
        return 0
    if quick and full:
        raise ConfigError("--full: found both --quick and --full, expected one")
    everything = name == "all"
    if everything and figures:
        raise ConfigError("--figure: found figures of all papers, expected the name of one paper")
    chosen = papers.papers() if everything else [papers.paper(name)]
    parts = [part.strip() for text in figures for part in text.split(",")]
    # What is wrong is said before anything runs.
    todo = [(paper, paper.chosen(parts), papers.with_traces(paper.plan(full), traces)) for paper in chosen]
    out = out or Path("out") / name
    results: list[papers.Reproduction] = []
    written: list[Path] = []
    with (
        _Folder(out) as folder,
        _executor(dask) as executor,
        softsense.Store(store) if store else contextlib.nullcontext() as kept,
    ):
        for paper, of_paper, plan in todo:
            if plan.left_out:
                left = ", ".join(workload.name for workload in plan.left_out)
                of = f"{paper.name}: " if everything else ""
                said = f"{of}left out, as --traces was not given: {left}"
                click.echo(said + ("" if as_json or everything else "\n"), err=as_json or everything)
            with (
                _Folder(out / paper.name) if everything else contextlib.nullcontext(folder) as of_its_own,
                _progress(no_progress, f"runs of {paper.name}" if everything else "runs") as report,
            ):
                result = papers.reproduce(
                    paper,
                    of_paper,
                    plan,
                    of_its_own,
                    traces=traces,
                    jobs=executor or jobs or softsense.api.default_jobs(),
                    store=kept,
                    progress=report,
                )
                written += of_its_own.written()
            if result.figures:
                results.append(result)
            if result.interrupted:
                break
        if not results:
            raise click.Abort
        interrupted = results[-1].interrupted or len(results) < len(todo)
        if everything:
            from softsense.report import of_reproductions

            rows = {result.paper.name: result.claims for result in results}
            folder.write("claims.json", json.dumps(rows, indent=2, allow_nan=False) + "\n")
            folder.write("report.md", papers.overview(results))
            folder.write("report.html", of_reproductions(results))
            written += folder.written()
    if as_json:
        each = [
            {
                "paper": result.paper.name,
                "interrupted": result.interrupted,
                "claims": result.claims,
                "counted": papers.counted(result.claims),
            }
            for result in results
        ]
        told = {"papers": each, "interrupted": interrupted} if everything else each[0]
        click.echo(json.dumps({**told, "written": [str(path) for path in written]}, indent=2, allow_nan=False))
    elif everything:
        click.echo(papers.summary_table(results))
        click.echo(f"\nwrote {', '.join(map(str, folder.written()))}, and a folder for each paper")
    else:
        click.echo(papers.table(results[0]))
        click.echo(f"\nwrote {', '.join(map(str, written))}")
    if interrupted:
        click.echo("interrupted: what is shown and written covers the figures that were complete", err=True)
    return _INTERRUPTED if interrupted else 0


@cli.command("fit")
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "log_format",
    metavar="FORMAT",
    shell_complete=_one_of("fio", "fio-json", "blkparse", "histogram"),
    help="Of the logs: fio, fio-json, blkparse or histogram; default: recognised from content.",
)
@click.option(
    "--unit",
    metavar="UNIT",
    shell_complete=_one_of("ns", "us", "ms"),
    help="Of latencies; default: the format's.",
)
@click.option("--read-bytes", type=click.IntRange(min=512), help="Reads of this size alone, where a log has several.")
@click.option("--depth", type=click.IntRange(1, 65_536), help="Reads outstanding, where the log does not say.")
@click.option("--tails", type=click.Path(path_type=Path), metavar="FILE", help="Shares beyond bounds, by round.")
@click.option(
    "--hold-out",
    metavar="LIST",
    help="Rounds to predict unseen; `third`: every third, from the last on.",
)
@click.option("--round", "number", type=float, help="The round whose drive the config is; default: all together.")
@click.option("--deep-log", type=click.Path(path_type=Path), metavar="FILE", help="One with several reads outstanding.")
@click.option("--check-reads", default=200_000, type=click.IntRange(1_000, 10**8), help="To simulate; default: 200000.")
@click.option("--seed", default=1, type=click.IntRange(0, 2**63 - 1), help="Of the samplers; default: 1.")
@click.option("--workers", type=click.IntRange(1, 1024), help="Threads; default: one per CPU.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/fit-<log>.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document; draw nothing.")
@_no_progress
def fit_command(
    logs: tuple[Path, ...],
    tails: Path | None,
    hold_out: str | None,
    number: float | None,
    deep_log: Path | None,
    check_reads: int,
    seed: int,
    workers: int | None,
    out: Path | None,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """Fit a real drive's read latencies: a device config, with intervals, and what the logs cannot tell.

    LOG is what fio writes (write_lat_log, or --output-format=json+), events of blkparse, or a histogram with a column
    for each round; several logs are rounds 0, 1, ... The fitted config is simulated, and compared with the held-out
    rounds, or else with the last one. Finished rounds are kept: the same command goes on where it was stopped. One
    folder takes fitted.toml, fit.json, fit.png and fit.store.
    """
    from softsense import fit

    log = fit.open_log(logs, **options)
    held = fit.held_out(log, hold_out)
    shares = fit.read_tails(tails, log, held) if tails else None
    deep = fit.open_log([deep_log], **options, deep=True) if deep_log else None
    if deep and deep.depth < 2:
        raise ConfigError(
            f"--deep-log: found a depth of {deep.depth}, expected 2 or more (--depth says it where no log does)"
        )
    path = out or Path("out") / f"fit-{logs[0].name.split('.')[0]}"
    with _Folder(path) as folder, softsense.Store(folder.file("fit.store")) as store:
        with _progress(no_progress, "units") as report:
            fitted = fit.fit_log(
                log, hold_out=held, tails=shares, seed=seed, workers=workers, store=store, progress=report
            )
            if fitted is None:
                click.echo("interrupted: what is finished is kept, and the same command goes on", err=True)
                return _INTERRUPTED
            checked = held or (fitted.rounds[-1].round,)
            checks = []
            for done, each in enumerate(checked, start=1):
                checks.append(fit.compare(fitted, each, check_reads))
                report("simulating rounds", done, done / len(checked))
            dies = fit.fit_depth(fitted, deep.rounds[0], deep.depth, report) if deep else None
        written = fit.write(fitted, path, checks, dies, draw=not as_json, number=number)
        if as_json:
            click.echo(json.dumps(fit.to_dict(fitted, checks, dies), indent=2, allow_nan=False))
        else:
            click.echo(fit.table(fitted, checks, dies))
            click.echo(f"\nwrote {', '.join(str(each) for each in written)}")
    return 0


@cli.command("sweep")
@click.argument("file", metavar="SWEEP.toml", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/<sweep>.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Simulations at once, each a process with the memory of a whole device; default: one per CPU.",
)
@click.option("--dask", metavar="ADDRESS", help="Simulate on a Dask cluster instead, such as tcp://host:8786.")
@click.option("--json", "as_json", is_flag=True, help="Print the result, every point of it, as one JSON document.")
@_no_progress
def sweep_command(
    file: Path, out: Path | None, workers: int | None, dask: str | None, as_json: bool, no_progress: bool
) -> int:
    """Simulate a grid or a Latin hypercube of config fields, read policies, traces and seeds.

    Finished points are kept at once: the same command goes on where it was stopped or killed, to the same bytes on any
    workers. Points that fail are listed at the end. One folder takes sweep.parquet, failures.csv, frontier.png and
    report.html.
    """
    from softsense import frontier, points, sweep, tables

    spec = sweep.Sweep.open(file)
    path = out or Path("out") / spec.name
    with _Folder(path), _executor(dask) as executor:
        with _progress(no_progress) as report:
            planned = points.Planned(spec, report)
        # What traces were recognised as is always shown, so that a wrong guess is seen before anything runs.
        click.echo(tables.describe(planned.describe()) + ("" if as_json else "\n"), err=as_json)
        interrupted = False
        try:
            with _progress(no_progress, "simulations") as report:
                result = sweep.sweep(planned, out=path, workers=executor or workers, progress=report)
        except Interrupted as interruption:
            interrupted, result = True, interruption.result
        if as_json:
            click.echo(json.dumps(result.to_dict(), indent=2, allow_nan=False))
        else:
            click.echo(frontier.table(result))
        if interrupted:
            click.echo("interrupted: what is finished is kept, and the same command goes on", err=True)
            return _INTERRUPTED
        if not as_json:
            click.echo(f"\nwrote {', '.join(str(path) for path in result.written)}")
        if not result.count(points.OK, points.WITHOUT_LIFETIME):
            return _complain(f"{file}: found no point that could be simulated; point 1: {result.failures['error'][0]}")
        return 0


_drive_argument = click.argument("drive", metavar="DRIVE", type=click.Path(path_type=Path))
_page_option = click.option(
    "--page", "page_file", type=click.Path(path_type=Path), metavar="FILE", help="Keep a page with its status: .html."
)


@cli.command("serve")
@_config_argument
@click.option("--size", metavar="SIZE", help="Of a new drive, such as 2GiB; one that is there knows its own.")
@click.option("--socket", type=click.Path(path_type=Path), metavar="FILE", help="Listen on a unix socket.")
@click.option("--port", type=click.IntRange(1, 65_535), help="Listen on this TCP port of 127.0.0.1 instead.")
@click.option(
    "--image",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where the flash is kept, made if it is not there; default: disk.image for the socket disk.sock.",
)
@click.option("--real-time", is_flag=True, help="Requests take as long as the drive would take.")
@click.option("--parity/--no-parity", default=True, help="Keep parity across dies, or none; default: parity.")
@click.option("--refresh", metavar="TIME", help="Write data anew after so long, such as 30d; default: never.")
@click.option(
    "--write-cache",
    default="protected",
    metavar="KIND",
    shell_complete=_one_of("protected", "volatile"),
    help="protected (default) by capacitors, or volatile: what was not flushed is lost with the power.",
)
@click.option("--read-only", is_flag=True, help="Refuse writes.")
@_page_option
@click.option("--script", type=click.Path(path_type=Path), metavar="FILE", help="What happens to it, and when: TOML.")
@_config_options
@click.option("--json", "as_json", is_flag=True, help="Say where it is as one JSON document, and nothing else.")
def serve_command(
    config: Path,
    size: str | None,
    refresh: str | None,
    page_file: Path | None,
    script: Path | None,
    overrides: tuple[str, ...],
    seed: int | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Serve a drive with the flash and the error correction of CONFIG as an NBD block device, until Ctrl-C.

    What is written is scrambled, encoded and programmed into cells that age; what is read is sensed and decoded really.
    `softsense age` makes it old, `fault` breaks it, `status` tells how it is. The image keeps everything: the same
    command goes on with it.
    """
    from softsense.serve import foreground, units
    from softsense.serve.events import Script

    resolved = softsense.load_config(config, overrides, seed=seed)
    hours = None if refresh is None else units.parse_hours(refresh, "--refresh")
    size_bytes = None if size is None else units.parse_size(size, "--size")
    served = foreground.Options(size_bytes=size_bytes, refresh_hours=hours, seed=seed, **options)
    served.check()
    events = Script.open(script) if script else None
    _check_page(page_file)
    server = foreground.opened(resolved, served)
    if as_json:
        known = {
            "address": server.address,
            "control": os.path.abspath(server.control),
            "image": str(served.folder.absolute()),
        }
        click.echo(json.dumps(known, indent=2))
    else:
        click.echo(foreground.introduction(server.address, served.folder))
    sys.stdout.flush()
    say = _say_in_place() if sys.stdout.isatty() else click.echo
    ended = foreground.serve(server, served.folder, events, page_file, say=(lambda _: None) if as_json else say)
    return _INTERRUPTED if ended else 0


@cli.command("age")
@_drive_argument
@click.option("--retention", metavar="TIME", default="0s", help="So long its data lies, such as 365d or 12h.")
@click.option("--temperature", default=40.0, metavar="C", help="Meanwhile, degrees Celsius; default: 40.")
@click.option("--pe", "pe_cycles", default=0, type=click.IntRange(0, 10**6), help="More P/E cycles of every block.")
@click.option("--reads", default=0, type=click.IntRange(0, 10**12), help="More reads of every block.")
@click.option("--powered", is_flag=True, help="It refreshes and reclaims meanwhile; default: it lies on a shelf.")
@click.option("--json", "as_json", is_flag=True, help="Print its ages as one JSON document.")
def age_command(
    drive: Path, retention: str, temperature: float, pe_cycles: int, reads: int, powered: bool, as_json: bool
) -> None:
    """Make a served DRIVE older: time, wear and reads go by at once.

    DRIVE is the socket of `softsense serve`, or the folder of its image.
    """
    from softsense.serve import text, units

    hours = units.parse_hours(retention, "--retention")
    if not (hours or pe_cycles or reads):
        raise ConfigError("--retention: found nothing that ages the drive, expected --retention, --pe or --reads")
    if not -273.15 < temperature < 1000:
        raise ConfigError(f"--temperature: found {temperature:g}, expected degrees Celsius")
    aged = {"retention_hours": hours, "temperature_c": temperature, "pe_cycles": pe_cycles, "reads": reads}
    _print_answer(_asked(drive, {"age": {**aged, "powered": powered}}), as_json, text.aged)


@cli.command("status")
@_drive_argument
@click.option("--watch", is_flag=True, help="Show it again every two seconds, until Ctrl-C.")
@_page_option
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def status_command(drive: Path, watch: bool, page_file: Path | None, as_json: bool) -> None:
    """Show how a served DRIVE is: what is lost, how hard it is to read, how worn it is.

    DRIVE is the socket of `softsense serve`, or the folder of its image.
    """
    from softsense.serve import client, text, watching

    if watch and as_json:
        raise ConfigError("--json: found --watch, too, expected one of them: --json is one document")
    _check_page(page_file)
    with client.Drive(drive) as asked:
        if watch:
            watching.watch(asked, page_file)
            return
        status = in_background(asked.status)
    if page_file:
        watching.write_page(page_file, status, live=False)
    _print_answer(status, as_json, text.told)
    if page_file and not as_json:
        click.echo(f"\nwrote {page_file}")


@cli.command("fault")
@_drive_argument
@click.argument("words", metavar="FAULT [N]...", nargs=-1, shell_complete=_complete_fault)
@click.option("--json", "as_json", is_flag=True, help="Print what the drive answers as one JSON document.")
def fault_command(drive: Path, words: tuple[str, ...], as_json: bool) -> None:
    """Break something in a served DRIVE.

    FAULT is kill-die DIE, kill-plane PLANE, kill-block DIE PLANE BLOCK, flip-bits LBA BITS, drop-power or heal.
    drop-power takes the power away and gives it back; heal mends dies, planes and blocks that were killed. DRIVE is
    the socket of `softsense serve`, or the folder of its image.
    """
    from softsense.serve import faults, text

    fault = {"fault": faults.from_words(words, "FAULT")}
    answer = _asked(drive, fault)
    _print_answer({**fault, **answer}, as_json, lambda _: text.answer(answer))


@cli.command("scrub")
@_drive_argument
@click.option("--json", "as_json", is_flag=True, help="Print what was counted as one JSON document.")
def scrub_command(drive: Path, as_json: bool) -> None:
    """Read all data of a served DRIVE through its error correction, and write anew what is weak.

    DRIVE is the socket of `softsense serve`, or the folder of its image.
    """
    from softsense.serve import text

    _print_answer(_asked(drive, {"scrub": {}}), as_json, text.answer)


def _asked(drive: Path, request: dict[str, Any]) -> dict[str, Any]:
    from softsense.serve import client

    with client.Drive(drive) as asked:
        # Ageing and scrubbing may take long.
        return in_background(lambda: asked.ask(request))


def _print_answer(answer: dict[str, Any], as_json: bool, told: Callable[[dict[str, Any]], str]) -> None:
    click.echo(json.dumps(answer, indent=2, allow_nan=False) if as_json else told(answer))


def _check_page(file: Path | None) -> None:
    if file:
        _check_suffix(file, ".html")
        _check_writable(file, force=True)


def _say_in_place() -> Callable[[str], None]:
    """Says a line in place of the last one, as wide as the terminal."""

    def say(line: str) -> None:
        click.echo(f"\r\x1b[K{line[: _width() - 1]}", nl=False)

    return say


@contextlib.contextmanager
def _measuring(name: str, no_progress: bool, options: dict[str, Any]) -> Iterator[tuple[Code, dict[str, Any]]]:
    """What `fer` and `table build` share: the code, and the options of Python, with workers and progress."""
    given = dict(options)
    code = Code.open(name, given.pop("redundant_checks"))
    address, workers = given.pop("dask"), given.pop("workers")
    if "traps" in given:
        chosen = given.pop("traps")
        given |= {} if chosen is None else {"traps": None if chosen == "none" else chosen}
    with _executor(address) as executor, _progress(no_progress, given.pop("what", "frames")) as report:
        yield code, {**given, "workers": executor or workers, "progress": report}


@contextlib.contextmanager
def _executor(address: str | None) -> Iterator[Any]:
    """The executor of a Dask cluster; None without an address."""
    if address is None:
        yield None
        return
    import asyncio

    try:
        from distributed import Client
        from distributed.core import connect
    except ImportError:
        raise ConfigError("--dask: found no Dask, expected it: pip install 'softsense[dask]'") from None

    async def reach() -> None:
        connection = await connect(address, timeout=_CONNECT_S)
        await connection.close()

    try:
        # A client that finds no scheduler prints tracebacks.
        asyncio.run(reach())
    except (OSError, ValueError) as error:
        raise ConfigError(f"--dask: {address}: cannot connect: {error}") from None
    with Client(address, set_as_default=False) as client:
        yield client.get_executor()


def _show_rows(
    rows: list[dict[str, Any]],
    table: Callable[[list[dict[str, Any]]], str],
    as_json: bool,
    picture: Path | None,
    draw: Callable[[ModuleType], Figure],
) -> None:
    """Prints rows as a table or as JSON, and draws them if there is a picture to write; `draw` is handed `plots`."""
    if picture:
        _check_picture(picture)
        from softsense import plots

        drawn = draw(plots)
        with replacing(picture) as path:
            drawn.savefig(path)
    click.echo(json.dumps(rows, indent=2) if as_json else table(rows))
    if picture and not as_json:
        click.echo(f"\nwrote {picture}")


def _check_picture(file: Path) -> None:
    _check_suffix(file, ".png", ".svg", ".pdf")
    _check_writable(file, force=True)


def _check_suffix(file: Path, *known: str) -> None:
    if file.suffix not in known:
        expected = " or ".join(filter(None, (", ".join(known[:-1]), known[-1])))
        raise CodeError(f"{file}: found suffix `{file.suffix}`, expected {expected}")


def _check_writable(file: Path, force: bool) -> None:
    """Refuses a file that could not be written, before anything is measured for it."""
    if file.exists() and not force:
        raise FileError(f"{file}: found a file, expected none (--force replaces it)")
    with blaming(file):
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        tempfile.TemporaryFile(dir=file.parent).close()


def _write_code(code: Code, to: Path, force: bool, quiet: bool = False) -> None:
    text = code.to_qc() if to.suffix == ".qc" else code.to_alist()
    _check_writable(to, force)
    with replacing(to) as path:
        path.write_text(text, encoding="utf-8")
    if not quiet:
        click.echo(f"wrote {to}")


# Measuring -----------------------------------------------------------------------------------------------------------


def _at_equal_area(config: Config, reference: str | None, as_json: bool) -> Config:
    """The config with decoders as large as those of the reference, if there is one, said in a line."""
    if reference is None:
        return config
    opened = softsense.load_config(reference)
    bought = softsense.api.parallelism_of(config, opened)
    resized = config.with_overrides(bought)
    (theirs, ours) = (opened.decoder_hardware() or {}, resized.decoder_hardware() or {})
    click.echo(
        f"equal area: {', '.join(bought)}: {ours['count']} x {ours['mm2']:.3f} mm2 at {ours['node_nm']:g} nm, "
        f"where {reference} has {theirs['count']} x {theirs['mm2']:.3f} mm2 at {theirs['node_nm']:g} nm",
        err=as_json,
    )
    return resized


def _measure(
    command: str,
    file: Path,
    config: Config,
    out: Path | None,
    as_json: bool,
    simulate: Callable[[Trace | None, Path | bool, softsense.api.Progress], RunResult | Comparison],
    *,
    trace_file: str | None,
    requests_log: bool,
    no_progress: bool,
    format: str | None,  # noqa: A002
    time_unit: str | None,
    size_unit: str | None,
    devices: str,
    **_: Any,
) -> int:
    """What `run` and `compare` share: say what will run, run it, print and write what came of it."""
    from softsense import tables

    with _Folder(out or Path("out") / f"{command}-{file.stem}") as folder:
        options = {"format": format, "time_unit": time_unit, "size_unit": size_unit, "devices": devices}
        opened = _open_trace(trace_file, no_progress, options) if trace_file else None
        # The recognised format and units are always shown, so that a wrong guess is seen before anything runs.
        rows = [("config", str(file)), *_config_rows(config, opened is None), *(opened.describe() if opened else [])]
        description = tables.describe(rows)
        click.echo(description + ("" if as_json else "\n"), err=as_json)
        interrupted = False
        try:
            with _progress(no_progress) as report:
                result = simulate(opened, folder.file("requests.parquet") if requests_log else False, report)
        except Interrupted as interruption:
            interrupted = True
            result = interruption.result
            if result is None:
                raise
        comparison = result if isinstance(result, Comparison) else Comparison([result])
        summary = json.dumps(result.to_dict(), indent=2, allow_nan=False)
        found, warnings = tables.finding(comparison), tables.warnings(comparison)
        first = f"{warnings}\n\n" if warnings else ""
        workload = Path(trace_file).name if trace_file else "its own workload"
        # Said first: the disk may be full.
        click.echo(summary if as_json else f"{first}{tables.results(comparison, _width())}\n\n{found}\n")
        folder.write("config.toml", config.to_toml())
        folder.write("summary.json", summary + "\n")
        folder.write("table.txt", f"{description}\n\n{first}{tables.results(comparison)}\n\n{found}\n")
        picture = "comparison.png" if command == "compare" else "run.png"
        title = f"{workload} on {file.stem}" if trace_file else f"{file.stem}, {workload}"
        if as_json:
            # Loading what draws takes longer than most simulations.
            folder.remove(picture)
        else:
            with folder.replacing(picture) as path:
                comparison.plot(title).savefig(path)
        if command == "compare":
            folder.write("report.html", comparison.report(title))
        if not as_json:
            click.echo(f"wrote {', '.join(str(path) for path in folder.written())}")
        if log_error := next((each.log_error for each in comparison.all_runs if each.log_error), None):
            return _complain(f"{log_error}; all else is written")
        if interrupted:
            click.echo("interrupted: what is shown and written covers what had been simulated", err=True)
        return _INTERRUPTED if interrupted else 0


def _starting_reliability(config: Config) -> str:
    """A table of what codewords are like at the start; nothing where no raw bit error rates are known."""
    from softsense import flash, tables

    if not config.knows_rber:
        return ""
    return tables.starting_reliability(flash.starting_reliability(config))


def _config_rows(config: Config, workload: bool) -> list[tuple[str, str]]:
    return config.describe() + (config.describe_workload() if workload and config.has_workload else [])


def _open_trace(file: str, no_progress: bool, options: dict[str, Any]) -> Trace:
    with _progress(no_progress) as report:
        return Trace(file, progress=lambda fraction: report(f"scanning {Path(file).name}", 0, fraction), **options)


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PLAIN_WIDTH


class _Folder:
    """The folder of results: proved writable before anything runs, and never holding half a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: list[Path] = []
        self._written: list[str] = []

    def __enter__(self) -> _Folder:
        with blaming(self._path):
            self._made = list(itertools.takewhile(lambda each: not each.exists(), (self._path, *self._path.parents)))
            self._path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self._path) as probe:
                probe.write(b"softsense")
        return self

    def __exit__(self, *_: object) -> None:
        # A run that never began leaves no empty folders behind; rmdir refuses any other.
        with contextlib.suppress(OSError):
            for made in self._made:
                made.rmdir()

    def file(self, name: str) -> Path:
        """Where a file that somebody else writes whole will be."""
        self._written.append(name)
        return self._path / name

    def write(self, name: str, text: str) -> None:
        """Write a text file."""
        with self.replacing(name) as path:
            path.write_text(text, encoding="utf-8")

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """A temporary path that takes the name when the block ends."""
        with replacing(self.file(name)) as partial:
            yield partial

    def remove(self, name: str) -> None:
        """Remove what an earlier run left under a name: it would be taken for this one's."""
        (self._path / name).unlink(missing_ok=True)

    def written(self) -> list[Path]:
        """The files, in the order written."""
        return [path for name in self._written if (path := self._path / name).exists()]


@contextlib.contextmanager
def _progress(off: bool, unit: str = "requests") -> Iterator[softsense.api.Progress]:
    """Bars with an estimate of the time left, on a terminal; nothing at all elsewhere."""
    if off or not sys.stderr.isatty():
        yield lambda name, count, fraction: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[done]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(name: str, count: int, fraction: float) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=1.0, done="", start=False)
            done = f"{count:,} {unit}" if count else ""
            # The estimate must not count the time spent waiting for a free CPU.
            if fraction > 0 and not bars.tasks[tasks[name]].started:
                bars.start_task(tasks[name])
            bars.update(tasks[name], completed=fraction, done=done)

        yield report
