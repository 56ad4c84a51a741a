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

# That of `sampling.Goal`, which would load NumPy; a test compares them.
LEVELS = click.IntRange(1, _core.MAX_LEVEL)
MOST_FRAMES = 4_194_304
MOST_FLOOR_FRAMES = 131_072

# Spelled out for shells; a test compares them with what there is.
TRACE_FORMATS = (
    *("msr", "spc", "disksim", "mqsim", "blkparse", "fio", "csv", "cloudphysics", "alibaba-2020", "tencent-cbs"),
    *("systor-17", "thesios", "tectonic", "oracle-general", "diskmon", "fiu"),
)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Decorator) -> Decorator:
    """Options and arguments as one decorator, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


no_progress_option = click.option(
    "--no-progress", is_flag=True, help="Show no progress: no bars on a terminal, no lines elsewhere."
)


def cells_argument(default: str) -> Decorator:
    """The cells that a command looks at: a name or a file."""
    return click.argument(
        "name", metavar="[CELLS]", default=default, shell_complete=complete_cells, callback=named(Cells.names)
    )


def pe_cycles_option(default: int, *names: str) -> Decorator:
    """One age; `names` where the help has another first than `--pe-cycles`."""
    return click.option(
        *(names or ("--pe-cycles", "--pe")),
        "pe_cycles",
        default=default,
        type=click.IntRange(0, 10**6),
        help=f"Program/erase cycles; default: {default}.",
    )


def retention_option(default: str, help_text: str) -> Decorator:
    """How long data lies. Elsewhere it is a number of days, by either name here, too."""

    def in_days(_context: click.Context, _parameter: click.Parameter, given: str) -> str:
        return f"{given}d" if given.replace(".", "", 1).isdecimal() else given

    return click.option(
        "--retention",
        "--retention-days",
        "retention",
        default=default,
        metavar="TIME",
        callback=in_days,
        help=help_text,
    )


worker_options = together(
    click.option("--workers", type=click.IntRange(1, 1024), help="Threads; default: one per CPU."),
    click.option("--dask", metavar="ADDRESS", help="Work on a Dask cluster instead, such as tcp://host:8786."),
    click.option(
        "--store", type=click.Path(path_type=Path), metavar="FILE", help="Keep all results there, and resume from it."
    ),
)

trace_options = together(
    click.option(
        "--format",
        metavar="FORMAT",
        shell_complete=one_of(*TRACE_FORMATS),
        help=f"Trace format: {', '.join(TRACE_FORMATS)}, or a file of --columns that ends in .toml; default: "
        "recognised from content.",
    ),
    click.option(
        "--columns",
        metavar="LIST",
        help="What the columns of a text are, such as time:us,op,bytes,lbn:512B; - is one to ignore, and time:us=ts "
        "finds one by its header.",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        shell_complete=one_of("comma", "tab", "blank", "semicolon", "pipe"),
        help="Between columns: comma, tab, blank, semicolon, pipe or a character; default: told from the first line.",
    ),
    click.option(
        "--skip-header", count=True, help="Skip a first line that is not recognised as a header; repeat for more lines."
    ),
    click.option("--op", metavar="WORDS", help="What words of the column op mean, such as read=28/88,write=2a,skip=*."),
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
        help="A trace of several devices: stack them one behind the other (default), merge their addresses, only=3,7, "
        "map=3@0,7@10GiB or sample=0.1.",
    ),
    click.option(
        "--event",
        metavar="LETTER",
        shell_complete=one_of("Q", "I", "D", "C"),
        help="Event of blkparse that is a request: Q, I, D or C; default: the first of these that is there.",
    ),
    click.option(
        "--skip-outliers", is_flag=True, help="Leave out a few requests that are far from all others in time."
    ),
)

config_options = together(
    click.option("--set", "overrides", multiple=True, metavar="PATH=VALUE", help="Replace a config field; repeatable."),
    click.option("--seed", type=int, help="Replace the config's seed."),
)

json_written_option = click.option("--json", "as_json", is_flag=True, help="Say what was written as one JSON document.")
folder_option = click.option(
    "--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Also write a folder of results there."
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
        help="Folder for results; default: out/<command>-<config>-<trace>, never that of other inputs.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON document; draw nothing."),
    click.option("--requests-log", is_flag=True, help="Also write every request to requests.parquet."),
    no_progress_option,
)

server_options = together(
    click.option(
        "--port", default=8765, type=click.IntRange(0, 65535), help="Of the page; 0 for any free one; default: 8765."
    ),
    click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="To listen on; default: this machine alone."),
)

code_argument = click.argument("name", metavar="CODE", shell_complete=complete_code, callback=named_code)

redundant_checks_option = click.option(
    "--redundant-checks", is_flag=True, help="Accept checks that follow from others: each is one more data bit."
)

cycles_option = click.option("--cycles", is_flag=True, help="Count short cycles however long it takes.")
force_option = click.option("--force", is_flag=True, help="Replace a file that is there.")

placement_option = click.option(
    "--placement",
    default="mutual_information",
    metavar="HOW",
    shell_complete=complete_placement,
    callback=named_placement,
    help="mutual_information (default), nested or uniform.",
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
        shell_complete=one_of("auto", "weight", "direct", "analytic"),
        help="weight (frames with given numbers of errors), direct, analytic (BCH), or auto (default): the cheapest.",
    ),
    click.option("--relative-error", default=0.1, help="Standard error over rate at which it is known; default: 0.1."),
    click.option("--down-to", default=1e-15, help="Rates below are not sampled for; default: 1e-15."),
    click.option(
        "--frames",
        default=MOST_FRAMES,
        type=click.IntRange(1, 2**62),
        help=f"At most, for each point; hard decisions are measured for all points at once; default: {MOST_FRAMES:,}.",
    ),
    click.option("--seed", default=1, type=click.IntRange(0, 2**64 - 1), help="Of data and noise; default: 1."),
    click.option(
        "--traps",
        metavar="FILE",
        help="Absorbing sets that make the error floor, from `code traps --out`; or none; default: the shipped ones.",
    ),
    click.option(
        "--floor-frames",
        default=MOST_FLOOR_FRAMES,
        type=click.IntRange(1, 2**62),
        help=f"At most, for the error floor of each point; default: {MOST_FLOOR_FRAMES:,}.",
    ),
    worker_options,
    redundant_checks_option,
)
