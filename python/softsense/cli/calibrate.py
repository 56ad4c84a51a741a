"""`softsense calibrate`: a device config that behaves under load as a real drive does."""

from __future__ import annotations

import json
from pathlib import Path

import click

import softsense
from softsense.base import check_extra
from softsense.cli.exits import INTERRUPTED
from softsense.cli.options import example, no_progress_option
from softsense.cli.output import command_line, progress_bars
from softsense.cli.ranges import Whole


@click.command("calibrate", epilog=example("softsense calibrate drive/*.json --capacity 960GB"))
@click.argument("measured", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--capacity", metavar="SIZE", help="What the drive sells, such as 960GB; for files of fio.")
@click.option("--base", metavar="CONFIG", help="Config to begin with; default: tlc-enterprise, or the TOML file's.")
@click.option(
    "--hold-out",
    "hold_out",
    metavar="LOAD",
    multiple=True,
    help="Load to predict without fitting it, by its name, or by that of its JSON file; repeatable.",
)
@click.option("--seed", default=1, type=Whole(0, 2**32 - 1), help="Seed of all that is drawn; default: 1.")
@click.option("--workers", type=Whole(1, 1024), help="Threads; default: one per CPU.")
@click.option("--quick", is_flag=True, help="A fifth of the simulations: to see whether the files are right.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for results; default: out/calibrate-<file>.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document; draw nothing.")
@no_progress_option
def calibrate_command(
    measured: tuple[Path, ...],
    capacity: str | None,
    base: str | None,
    hold_out: tuple[str, ...],
    seed: int,
    workers: int | None,
    quick: bool,
    out: Path | None,
    as_json: bool,
    no_progress: bool,
) -> int:
    """Fit a device config to a real drive under load.

    FILE is a TOML file with loads and the measurements under each, or JSON files of fio (--output-format=json+), each
    of jobs that ran together. Fitted are reads that meet writes, write buffers, collection and saturation, by
    simulating the loads again and again. Simulations are kept: the same command continues where it was stopped. The
    folder holds calibrated.toml, calibration.json, calibration.png and calibration.store.
    """
    from softsense import calibration
    from softsense.folders import Folder, default_folder, stem
    from softsense.manifests import Manifest
    from softsense.serve.units import parse_size

    check_extra("calibrate", "fit")
    drive = calibration.read_measured(
        measured,
        user_bytes=None if capacity is None else parse_size(capacity, "--capacity"),
        base=base,
        hold_out=hold_out,
    )
    for note in drive.notes:
        click.echo(f"note: {note}", err=True)
    asked = {"files": [str(each.resolve()) for each in measured], "capacity": capacity, "base": base}
    manifest = Manifest("calibrate", command_line(), seeds=[seed], asked=asked | {"hold_out": list(hold_out)})
    path = out or default_folder(Path("out") / f"calibrate-{stem(measured[0])}", manifest)
    with Folder(path, manifest.identity) as folder, softsense.Store(folder.growing("calibration.store")) as store:
        with progress_bars(no_progress, "drives") as report:
            plan = calibration.QUICK if quick else None
            found = calibration.calibrate(drive, plan=plan, seed=seed, workers=workers, store=store, progress=report)
        if found is None:
            click.echo("interrupted: finished work is kept, and the same command continues it", err=True)
            return INTERRUPTED
        calibration.write(found, folder, draw=not as_json)
        folder.sign(manifest)
        if as_json:
            click.echo(json.dumps(calibration.to_dict(found), indent=2, allow_nan=False))
        else:
            click.echo(calibration.text(found))
            click.echo(f"\nwrote {', '.join(map(str, folder.written()[1:]))}")
    return 0
