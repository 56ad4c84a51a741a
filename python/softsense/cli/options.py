"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from softsense import Cells, _core
from softsense.cli.completing import (
    complete_cells,
    complete_code,
    complete_config,
    complete_placement,
    named,
    named_code,
    named_placement,
    one_of,
)
from softsense.cli.ranges import Days, Whole
from softsense.serve.units import in_days

# Defaults of `sampling.Goal`, whose module would load NumPy; a test compares them.
LEVELS = Whole(1, _core.MAX_LEVEL, f"1-{_core.MAX_LEVEL}")
MOST_FRAMES = 4_194_304
MOST_FLOOR_FRAMES = 131_072
JUDGE_RUNS = 8
LEAST_ASKED = 1e-17

# Listed here so that shells complete them quickly; a test compares them with the formats of the core.
TRACE_FORMATS = (
    *("msr", "spc", "disksim", "mqsim", "blkparse", "fio", "csv", "cloudphysics", "alibaba-2020", "tencent-cbs"),
    *("systor-17", "thesios", "tectonic", "oracle-general", "vscsi", "diskmon", "fiu"),
)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Decorator) -> Decorator:
    """Options and arguments as one decorator, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def example(command: str) -> str:
    """The epilog of a command's help: an example of a command line."""
    return f"\b\nExample:\n  {command}"


no_progress_option = click.option(
    "--no-progress", is_flag=True, help="Show no progress: no bars on a terminal, no lines elsewhere."
)


def picture_option(draws: str) -> Decorator:
    """An option `--picture FILE`; `draws` names what it draws."""
    return click.option(
        "--picture", type=click.Path(path_type=Path), metavar="FILE", help=f"Draw {draws}: .png, .svg or .pdf."
    )


def cells_argument(default: str) -> Decorator:
    """The argument for the cells of a command: a name or a file."""
    return click.argument(
        "name", metavar="[CELLS]", default=default, shell_complete=complete_cells, callback=named(Cells.names)
    )


def pe_cycles_option(default: int) -> Decorator:
    """The option for the P/E cycles of one age."""
    return click.option(
        "--pe-cycles",
        "--pe",
        "pe_cycles",
        default=default,
        type=Whole(0, 10**6),
        help=f"Program/erase cycles; default: {default}.",
    )


def retention_option(default: str, help_text: str) -> Decorator:
    """The option for the retention time, with a unit. A number alone is a number of days."""

    def with_unit(_context: click.Context, _parameter: click.Parameter, given: str) -> str:
        return f"{given}d" if given.replace(".", "", 1).isdecimal() else given

    return click.option(
        *("--retention", "--retention-days", "retention"),
        default=default,
        metavar="TIME",
        callback=with_unit,
        help=help_text,
    )


def retention_days_option(default: float) -> Decorator:
    """The option for the retention time, which the command gets in days."""
    return click.option(
        *("--retention", "--retention-days", "retention_days"),
        default=default,
        type=Days(0, 4e5),
        metavar="TIME",
        help=f"Time since the cells were written, such as 30d or 12h; a number alone is days; default: {default:g}.",
    )


def retention_list_option(default: str) -> Decorator:
    """The option for a list of retention times, which the command gets in days."""
    return click.option(
        *("--retention", "--retention-days", "retention_days"),
        default=default,
        metavar="LIST",
        callback=lambda _context, _parameter, given: in_days(given, "--retention"),
        help="Times since the cells were written, such as 12h,30d,365d; a number alone is days; default: "
        + (f"{default}." if default else "none."),
    )


shard_option = click.option(
    "--shard",
    metavar="PART/PARTS",
    help="Do one part of the work, such as 3/64, and keep it in a store beside --store; "
    "`softsense merge` adds the parts up.",
)

worker_options = together(
    click.option("--workers", type=Whole(1, 1024), help="Threads; default: one per CPU."),
    click.option(
        "--dask", metavar="ADDRESS", help="Work on the Dask cluster at this address instead, such as tcp://host:8786."
    ),
    click.option(
        "--store",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Keep all results in this file, and resume from it.",
    ),
    shard_option,
)

trace_options = together(
    click.option(
        "--format",
        metavar="FORMAT",
        shell_complete=one_of(*TRACE_FORMATS),
        help=f"Trace format: {', '.join(TRACE_FORMATS)}, or a .toml file of --save-columns; default: "
        "recognised from content.",
    ),
    click.option(
        "--columns",
        metavar="LIST",
        help="Columns of a text file, such as time:us,op,bytes,lbn:512B; - ignores a column, and "
        "time:us=ts finds a column by its header.",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        shell_complete=one_of("comma", "tab", "blank", "semicolon", "pipe"),
        help="What separates columns: comma, tab, blank, semicolon, pipe or a character; default: "
        "recognised from the first line.",
    ),
    click.option(
        "--skip-header", count=True, help="Skip a first line that is not recognised as a header; repeat for more lines."
    ),
    click.option(
        "--op", metavar="WORDS", help="Meaning of the words in column op, such as read=28/88,write=2a,skip=*."
    ),
    click.option(
        "--time-unit",
        metavar="UNIT",
        shell_complete=one_of("s", "ms", "us", "ns", "100ns"),
        help="Unit of arrival times: s, ms, us, ns or 100ns; default: the format's.",
    ),
    click.option(
        "--size-unit", metavar="SIZE", help="Unit of request sizes, such as 512B or 4KiB; default: the format's."
    ),
    click.option(
        "--devices",
        default="stack",
        metavar="HOW",
        shell_complete=one_of("stack", "merge", "only=", "map=", "sample="),
        help="How several devices of a trace share the simulated one: stack (one behind the other, "
        "default), merge (same addresses), only=3,7, map=3@0,7@10GiB or sample=0.1.",
    ),
    click.option(
        "--event",
        metavar="LETTER",
        shell_complete=one_of("Q", "I", "D", "C"),
        help="Which blkparse events are the requests: Q, I, D or C; default: the first of these in the trace.",
    ),
    click.option("--skip-outliers", is_flag=True, help="Skip the few requests whose times are far from all others."),
    click.option("--skip-flushes", is_flag=True, help="Skip flushes; writes with FUA become plain writes."),
)

config_options = together(
    click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Replace a config field; repeatable."),
    click.option("--seed", type=int, help="Replace the config's seed."),
)

json_written_option = click.option(
    "--json", "as_json", is_flag=True, help="Report what was written as one JSON document."
)
jobs_option = click.option(
    "--workers", "--jobs", "jobs", type=Whole(1), help="Simulations at once; default: one per CPU, at most 4."
)
folder_option = click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Also write a folder of results."
)
config_argument = click.argument("config", type=click.Path(path_type=Path), shell_complete=complete_config)

run_options = together(
    config_argument,
    click.option("--trace", "trace_file", type=click.Path(), help="Trace to replay; default: the config's [workload]."),
    trace_options,
    click.option(
        "--beyond",
        metavar="HOW",
        default="reject",
        shell_complete=one_of("reject", "wrap", "scale"),
        help="Addresses beyond the device: reject the trace (default), wrap around, or scale all addresses down.",
    ),
    config_options,
    click.option(
        "--equal-area",
        metavar="CONFIG",
        shell_complete=complete_config,
        help="Give decoders the parallelism that the decoder area of this config buys.",
    ),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        help="Folder for results; default: out/<command>-<config>-<trace>, with a suffix if that "
        "folder has results of other inputs.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON document; draw nothing."),
    click.option("--requests-log", is_flag=True, help="Also write every request to requests.parquet."),
    no_progress_option,
)

server_options = together(
    click.option(
        "--port",
        default=8765,
        type=Whole(0, 65535),
        help="TCP port of the page; 0 for any free one; default: 8765.",
    ),
    click.option(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="Address to listen on; default: 127.0.0.1, for this machine only. The page is not encrypted.",
    ),
)

code_argument = click.argument("name", metavar="CODE", shell_complete=complete_code, callback=named_code)

codes_argument = click.argument(
    "names",
    metavar="CODE...",
    nargs=-1,
    required=True,
    shell_complete=complete_code,
    callback=lambda context, parameter, given: [named_code(context, parameter, name) for name in given],
)

redundant_checks_option = click.option(
    "--redundant-checks", is_flag=True, help="Accept linearly dependent checks; each one adds a data bit."
)

cycles_option = click.option("--cycles", is_flag=True, help="Count short cycles even where it takes long.")
force_option = click.option("--force", is_flag=True, help="Replace an existing file.")

placement_option = click.option(
    "--placement",
    default="mutual_information",
    metavar="HOW",
    shell_complete=complete_placement,
    callback=named_placement,
    help="How references are placed: mutual_information (default), nested or uniform.",
)

floor_options = together(
    click.option(
        "--traps",
        metavar="FILE",
        help="Absorbing sets that make the error floor: a file of `code traps --out`, or none; "
        "default: the shipped ones.",
    ),
    click.option(
        "--floor-frames",
        default=MOST_FLOOR_FRAMES,
        type=Whole(1, 2**62),
        help=f"Most frames for the error floor of each point; default: {MOST_FLOOR_FRAMES:,}.",
    ),
)

sampling_options = together(
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
        shell_complete=complete_placement,
        callback=named_placement,
        help="How references are placed: mutual_information (default), nested, uniform or uniform:STEP_V.",
    ),
    click.option("--decoder", default="min-sum", metavar="NAME", help="Decoder of LDPC codes, as in `code bench`."),
    click.option(
        "--iterations",
        default=20,
        type=Whole(1, 10**6),
        help="Most iterations of an LDPC decoder; default: 20.",
    ),
    click.option(
        "--method",
        default="auto",
        metavar="METHOD",
        shell_complete=one_of("auto", "weight", "direct", "analytic"),
        help="How to measure: weight (frames with given numbers of errors), direct, analytic (BCH), "
        "or auto (default): the cheapest.",
    ),
    click.option(
        "--relative-error",
        default=0.1,
        help="Measure until the standard error is this share of the rate; default: 0.1.",
    ),
    click.option("--down-to", default=1e-15, help="Do not sample for rates below this one; default: 1e-15."),
    click.option(
        "--frames",
        default=MOST_FRAMES,
        type=Whole(1, 2**62),
        help=f"Most frames per point; hard decision is measured for all points at once; default: {MOST_FRAMES:,}.",
    ),
    click.option("--seed", default=1, type=Whole(0, 2**64 - 1), help="Seed of data and noise; default: 1."),
    floor_options,
    worker_options,
    redundant_checks_option,
)
