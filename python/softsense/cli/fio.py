"""`softsense fio`: jobs of fio on a simulated drive."""

from __future__ import annotations

import json
from pathlib import Path

import click

import softsense
from softsense import Comparison, ConfigError, Interrupted
from softsense.cli.exits import INTERRUPTED
from softsense.cli.options import config_argument, config_options, example, no_progress_option
from softsense.cli.output import progress_bars
from softsense.files import replacing

_WORDS = {
    "--rw": "read, write, randread, randwrite, rw or randrw.",
    "--bs": "Size of requests, such as 4k; default: 4k.",
    "--bssplit": "Sizes of requests and their shares in per cent, such as 4k/60:16k/40.",
    "--iodepth": "Requests in flight; default: 1.",
    "--numjobs": "Clones of the job; default: 1.",
    "--rwmixread": "Reads of a mixed load, in per cent; default: 50.",
    "--size": "How much of the drive is asked for, such as 1g or 50%; default: as much as holds data.",
    "--runtime": "Simulated time that is measured, such as 10, 500ms or 2m.",
    "--ramp_time": "Simulated time before that.",
    "--rate_iops": "Requests a second; default: as many as the drive serves.",
    "--rate_process": "linear or poisson: how these arrive; default: linear.",
    "--random_distribution": "random, or zipf and its exponent, such as zipf:1.1; default: random.",
    "--number_ios": "Requests of a clone, in place of a runtime.",
    "--name": "What results call the job.",
    "--write_bw_log": "Write the bandwidth of each clone over time to VALUE_bw.N.log.",
    "--write_iops_log": "Write its rate of requests to VALUE_iops.N.log.",
    "--write_lat_log": "Write its latencies to VALUE_lat.N.log and VALUE_clat.N.log.",
    "--log_avg_msec": "Time that a line of a log is the mean of, ms; default: each request has a line.",
}


def _job_options(function: click.decorators.FC) -> click.decorators.FC:
    for name, text in reversed(_WORDS.items()):
        function = click.option(name, metavar="VALUE", help=text)(function)
    flags = (("--time_based", "Taken for granted with --runtime."), ("--group_reporting", "Tell all jobs as one."))
    for name, text in flags:
        function = click.option(name, is_flag=True, help=text)(function)
    return function


@click.command(
    "fio",
    epilog=example("softsense fio tlc-client --rw randread --iodepth 32 --runtime 1"),
)
@config_argument
@click.argument("job_files", metavar="[JOBFILE]...", nargs=-1, type=click.Path(path_type=Path))
@_job_options
@click.option(
    "--output-format",
    type=click.Choice(["normal", "json", "json+"]),
    default="normal",
    help="Lines as of fio, or its JSON, json+ with all latencies; default: normal.",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
@config_options
@no_progress_option
def fio_command(
    config: Path,
    job_files: tuple[Path, ...],
    overrides: tuple[str, ...],
    seed: int | None,
    output_format: str,
    as_json: bool,
    no_progress: bool,
    **words: str | bool | None,
) -> int:
    """Run jobs of fio on a simulated drive.

    Jobs come from options with fio's names, or from its job files. CONFIG is the name of a shipped configuration
    (`softsense config list`) or a TOML file; its own load does not run. Times are simulated.
    """
    from softsense import tables
    from softsense.fio import FioResult, Job, fio, job_of, jobs_of

    options = {
        name: None if value is True else str(value) for name, value in words.items() if value not in (None, False)
    }
    if job_files and options:
        raise ConfigError(
            f"--{next(iter(options))}: found together with a job file, expected only one of the two: write the "
            "option into the job file"
        )
    jobs: list[Job] = []
    ignored: list[str] = []
    for each in job_files:
        more, others = jobs_of(each)
        jobs, ignored = [*jobs, *more], [*ignored, *others]
    if not job_files:
        job, ignored = job_of(options)
        jobs = [job]
    if ignored:
        told = ", ".join(sorted(set(ignored)))
        click.echo(
            f"ignored: {told} (options of the computer that runs fio, which a simulated drive does not have)", err=True
        )
    for job in jobs:
        for kind, prefix in job.logs:
            if not Path(prefix).parent.is_dir():
                raise ConfigError(
                    f"write_{kind}_log: found `{prefix}`, whose folder does not exist, expected a name in an existing "
                    "folder"
                )
    resolved = softsense.load_config(config, overrides, seed=seed)
    interrupted = False
    try:
        with progress_bars(no_progress) as report:
            found = fio(resolved, jobs, progress=report)
    except Interrupted as interruption:
        if interruption.result is None:
            raise
        interrupted, found = True, FioResult(tuple(jobs), interruption.result)
    warnings = tables.warnings(Comparison([found.run]))
    if output_format == "normal" and not as_json:
        click.echo(f"{warnings}\n\n{found.text()}" if warnings else found.text())
    else:
        if warnings:
            click.echo(warnings, err=True)
        click.echo(json.dumps(found.to_dict(bins=output_format == "json+"), indent=2, allow_nan=False))
    for log, text in found.logs():
        with replacing(Path(log)) as path:
            path.write_text(text, encoding="ascii")
        click.echo(f"wrote {log}", err=True)
    if interrupted:
        click.echo(
            "interrupted: the results that are shown cover the requests that were simulated until then", err=True
        )
    return INTERRUPTED if interrupted else 0
