"""`softsense fit`: a model of a real drive, fitted to its logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import softsense
from softsense import ConfigError
from softsense.base import check_extra
from softsense.cli.completing import one_of
from softsense.cli.exits import INTERRUPTED
from softsense.cli.options import example, no_progress_option
from softsense.cli.output import command_line, progress_bars
from softsense.cli.ranges import Whole


@click.command("fit", epilog=example("softsense fit lat_0.log lat_1.log lat_2.log"))
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "log_format",
    metavar="FORMAT",
    shell_complete=one_of("fio", "fio-json", "blkparse", "histogram"),
    help="Format of the logs: fio, fio-json, blkparse or histogram; default: recognised from content.",
)
@click.option(
    "--unit",
    metavar="UNIT",
    shell_complete=one_of("ns", "us", "ms"),
    help="Unit of latencies: ns, us or ms; default: the format's.",
)
@click.option("--read-bytes", type=Whole(512), help="Use only reads of this size, where a log has several.")
@click.option("--depth", type=Whole(1, 65_536), help="Number of outstanding reads, of the --deep-log if there is one.")
@click.option(
    "--clock",
    metavar="UNIT",
    shell_complete=one_of("ns", "us", "ms", "s", "none"),
    help="Unit of times of fio's lines: ns, us, ms or s, default ms; none: not to judge by them.",
)
@click.option(
    "--tails",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV file with the share of reads beyond latency bounds, by round.",
)
@click.option(
    "--hold-out",
    metavar="LIST",
    help="Rounds to predict without fitting them; third: every third one, counted from the last.",
)
@click.option(
    "--round",
    "number",
    type=float,
    help="Round whose state the written config describes; default: all rounds together.",
)
@click.option(
    "--deep-log",
    "deep_logs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    multiple=True,
    help="Log of the same drive with several outstanding reads; repeatable, for several depths.",
)
@click.option(
    "--link",
    metavar="SPEED",
    shell_complete=one_of("sata-1.5", "sata-3", "sata-6"),
    help="Link between host and drive: sata-1.5, sata-3, sata-6 (Gb/s), or such as 3.5GB/s; default: in the overhead.",
)
@click.option(
    "--check-reads",
    default=500_000,
    type=Whole(1_000, 10**8),
    help="Reads to simulate for the comparison; default: 500,000.",
)
@click.option("--seed", default=1, type=Whole(0, 2**64 - 1), help="Seed of the samplers; default: 1.")
@click.option("--workers", type=Whole(1, 1024), help="Threads; default: one per CPU.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/fit-<log>.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document; draw nothing.")
@no_progress_option
def fit_command(
    logs: tuple[Path, ...],
    tails: Path | None,
    hold_out: str | None,
    number: float | None,
    deep_logs: tuple[Path, ...],
    depth: int | None,
    link: str | None,
    check_reads: int,
    seed: int,
    workers: int | None,
    out: Path | None,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """Fit a device config to a real drive's read latencies.

    LOG is a log of fio (write_lat_log, or --output-format=json+), blkparse events, or a histogram with a column for
    each round; several logs are rounds 0, 1, ... The result has intervals, and says what the logs cannot tell. The
    fitted config is simulated and compared with the rounds that were held out, or with the last round if none was.
    Finished rounds are kept: the same command continues where it was stopped. The folder holds fitted.toml, fit.json,
    fit.png and fit.store.
    """
    from softsense import fit
    from softsense.folders import Folder, default_folder, stem
    from softsense.manifests import Manifest

    check_extra("fit", "fit")
    if depth is not None and len(deep_logs) > 1:
        raise ConfigError(
            f"--depth: found {depth} together with {len(deep_logs)} deep logs, expected no --depth: each deep log "
            "has its own depth, which its clock or its JSON tells"
        )
    log = fit.open_log(logs, **options, depth=None if deep_logs else depth)
    held = fit.held_out(log, hold_out)
    across = fit.Link.parse(link) if link else None
    shares = fit.read_tails(tails, log, held) if tails else None
    deep = []
    for file in deep_logs:
        opened = fit.open_log([file], **options, depth=depth, deep=True)
        deep.append(fit.Deep(opened.rounds[0], opened.depth, opened.queues[0], str(file)))
    for note in dict.fromkeys(each for queue in log.queues for each in queue.notes):
        click.echo(f"note: {note}", err=True)
    # Finished rounds are reused, whatever other options the same logs are fitted with.
    asked = {"logs": [str(each.resolve()) for each in logs]}
    manifest = Manifest("fit", command_line(), seeds=[seed], asked=asked | {"hold_out": hold_out}, known_by=asked)
    path = out or default_folder(Path("out") / f"fit-{stem(logs[0])}", manifest)
    with Folder(path, manifest.identity) as folder, softsense.Store(folder.growing("fit.store")) as store:
        with progress_bars(no_progress, "units") as report:
            fitted = fit.fit_log(
                log,
                hold_out=held,
                tails=shares,
                seed=seed,
                workers=workers,
                store=store,
                progress=report,
                link=across,
            )
            if fitted is None:
                click.echo("interrupted: finished work is kept, and the same command continues it", err=True)
                return INTERRUPTED
            checked = held or (fitted.rounds[-1].round,)
            checks = []
            for done, each in enumerate(checked, start=1):
                checks.append(fit.compare(fitted, each, check_reads))
                report("simulating rounds", done, done / len(checked))
            dies = fit.fit_depth(fitted, deep, report) if deep else None
        fit.refuse_another(checks)
        fit.write(fitted, folder, checks, dies, draw=not as_json, number=number)
        folder.sign(manifest)
        if as_json:
            click.echo(json.dumps(fit.to_dict(fitted, checks, dies), indent=2, allow_nan=False))
        else:
            click.echo(fit.table(fitted, checks, dies))
            click.echo(f"\nwrote {', '.join(map(str, folder.written()[1:]))}")
    return 0
