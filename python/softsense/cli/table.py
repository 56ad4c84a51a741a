"""`softsense table`: decode tables."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import softsense
from softsense import Interrupted, _core
from softsense.cli.completing import complete_code, complete_config, complete_table, named
from softsense.cli.measuring import asked, measuring
from softsense.cli.options import (
    JUDGE_RUNS,
    LEAST_ASKED,
    Decorator,
    code_argument,
    example,
    floor_options,
    force_option,
    json_written_option,
    no_progress_option,
    picture_option,
    redundant_checks_option,
    sampling_options,
    worker_options,
)
from softsense.cli.output import check_picture, check_suffix, check_writable, command_line, print_list, save_picture
from softsense.cli.ranges import Whole
from softsense.files import replacing
from softsense.formats import as_share

if TYPE_CHECKING:
    from softsense.decode_tables import BuiltTable
    from softsense.folders import Folder
    from softsense.manifests import Manifest


def _out_option(help_text: str) -> Decorator:
    """The option `--out PATH`, which a command that makes a table requires."""
    return click.option("--out", "to", required=True, type=click.Path(path_type=Path), metavar="PATH", help=help_text)


@click.group("table")
def table_group() -> None:
    """Build, judge, list and show decode tables."""


@table_group.command("build", epilog=example("softsense table build flash-8/9 --levels 1-3 --out mine.toml"))
@code_argument
@_out_option("File for the table, which ends in .toml, or folder for results with a report.")
@click.option(
    "--for",
    "for_config",
    metavar="CONFIG",
    shell_complete=complete_config,
    help="A config that will use the table: its levels, and from its least to its greatest raw bit error rate.",
)
@sampling_options
@click.option(
    "--judge",
    default=JUDGE_RUNS,
    type=Whole(0, 1000),
    metavar="RUNS",
    help=f"Runs of splitting that say the rates of which much would be extrapolated; 0: none; default: {JUDGE_RUNS}.",
)
@force_option
@json_written_option
@no_progress_option
def table_build(name: str, to: Path, force: bool, as_json: bool, no_progress: bool, **options: Any) -> None:
    """Measure a decode table of CODE.

    A decode table has the failure probability and the iterations of a decoder for each read level and raw bit error
    rate. Levels go from 1 to at most 7 (default). With --store the measurement can be stopped and resumed. With --for
    the table covers all reads of a config.
    """
    import numpy as np

    from softsense.folders import Folder
    from softsense.manifests import Manifest

    is_folder = not to.suffix
    file = to / f"{to.name}.toml" if is_folder else to
    check_suffix(file, ".toml")
    if not is_folder:
        check_writable(file, force)
    manifest = Manifest("table", command_line(), seeds=[options["seed"]], asked={"code": name} | asked(options))
    with Folder(to) if is_folder else contextlib.nullcontext() as folder:
        with measuring(name, no_progress, options) as (code, running):
            try:
                built = softsense.build_table(code, name=file.stem, **running)
            except Interrupted:
                raise click.Abort from None
        if folder:
            _write(folder, file.name, built, manifest)
        else:
            with replacing(file) as path:
                path.write_text(built.text, encoding="utf-8")
    below, above = (bool(told) for told in _core.DecodeTable(str(file)).reaches(np.array([0.0, 0.5])))
    if as_json:
        made = {"file": str(file), "levels": len(built.points), "rber": built.rber, "frames": built.frames}
        made["reaches"] = {"below": below, "above": above}
        click.echo(json.dumps({**made, "largest_change": built.largest_change}, indent=2))
        return
    click.echo(f"wrote {file}: levels 1 to {len(built.points)}, {len(built.rber)} raw bit error rates, ", nl=False)
    click.echo(f"{built.frames:,} frames; made monotone, by at most {as_share(built.largest_change)}")
    if not (below and above):
        beyond = " and ".join([f"below {built.rber[0]:g}"] * (not below) + [f"above {built.rber[-1]:g}"] * (not above))
        click.echo(
            f"it has no failure probabilities {beyond}: --for CONFIG makes a table whose range has all rates of a "
            "config"
        )
    if folder:
        click.echo(f"wrote {', '.join(str(path) for path in folder.written() if path != file)}")


@table_group.command("judge", epilog=example("softsense table judge mine.toml --out judged.toml"))
@click.argument("name", metavar="TABLE", shell_complete=complete_table, callback=named(_core.decode_tables))
@_out_option("File for the new table, which ends in .toml.")
@click.option(
    "--code",
    "code_name",
    metavar="CODE",
    shell_complete=complete_code,
    help="The code; default: that which TABLE names.",
)
@redundant_checks_option
@click.option(
    "--judge",
    "runs",
    default=JUDGE_RUNS,
    type=Whole(2, 1000),
    metavar="RUNS",
    help=f"Runs of splitting for each level; default: {JUDGE_RUNS}.",
)
@click.option(
    "--down-to",
    default=LEAST_ASKED,
    type=float,
    metavar="RATE",
    help=f"Rarer failures are bounds that are carried on; default: {LEAST_ASKED:g}.",
)
@floor_options
@worker_options
@force_option
@json_written_option
@no_progress_option
def table_judge(
    name: str, to: Path, code_name: str | None, force: bool, as_json: bool, no_progress: bool, **options: Any
) -> None:
    """Measure the rarest rates of TABLE by splitting.

    Splitting carries failing frames from frequent to rare failures and extrapolates nothing. It replaces failure
    probabilities of which more than a quarter was extrapolated, or that are upper bounds. It reports where other
    probabilities differ from its own. `table build` does the same for the tables that it makes.
    """
    from softsense.judged_tables import judge_table

    check_suffix(to, ".toml")
    check_writable(to, force)
    with measuring(code_name or _code_of(name), no_progress, options) as (code, running):
        try:
            judged = judge_table(name, code=code, name=to.stem, **running)
        except Interrupted:
            raise click.Abort from None
    with replacing(to) as path:
        path.write_text(judged.text, encoding="utf-8")
    done = judged.judgement
    if as_json:
        apart = [{"level": level, "rber": rate} for level, rate in done.apart]
        made = {"file": str(to), "entries": done.entries, "compared": done.compared, "apart": apart}
        click.echo(json.dumps({**made, "frames": done.frames}, indent=2))
        return
    click.echo(f"wrote {to}: {done.entries} failure probabilities by splitting, {done.frames:,} frames; ", nl=False)
    where = ", ".join(f"level {level} at {rate:g}" for level, rate in done.apart)
    click.echo(
        f"of {done.compared} other probabilities that were measured by both methods, {len(done.apart)} "
        f"differ{(f': {where}' if where else '')}"
    )


def _code_of(table: str) -> str:
    """The name of the shipped code that a table names."""
    name: str = _core.read_toml(_core.DecodeTable(table).text, table)["code"].split(":")[0]
    if name not in {shipped for shipped, _ in softsense.Code.entries()}:
        raise softsense.TableError(
            f"{table}: code: found `{name}`, which is no shipped code, expected the file of the code: --code FILE"
        )
    return name


def _write(folder: Folder, name: str, built: BuiltTable, manifest: Manifest) -> None:
    """Write the table, its content as JSON, as text and as a report, and the manifest into a folder."""
    from softsense import decode_tables, tables
    from softsense.report import of_decode_table

    folder.write(name, built.text)
    document = decode_tables.describe(folder.path / name)
    folder.write("table.json", json.dumps(document, indent=2, allow_nan=False) + "\n")
    folder.write("table.txt", tables.decode_table(document) + "\n")
    folder.write("report.html", of_decode_table(document, decode_tables.as_result(document)))
    folder.sign(manifest)


@table_group.command("list", epilog=example("softsense table list"))
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def table_list(as_json: bool) -> None:
    """List the shipped decode tables, and how much of each was measured."""
    from softsense import decode_tables, tables

    print_list(decode_tables.listed(), as_json, tables.decode_tables)


@table_group.command("show", epilog=example("softsense table show flash-8-9"))
@click.argument("name", metavar="TABLE", shell_complete=complete_table, callback=named(_core.decode_tables))
@picture_option("the curves")
@click.option("--json", "as_json", is_flag=True, help="Print the table as one JSON document.")
def table_show(name: str, picture: Path | None, as_json: bool) -> None:
    """Show a decode table, and the error rates that its levels correct.

    TABLE is the name of a shipped decode table, or a file.
    """
    from softsense import decode_tables, tables

    if picture:
        check_picture(picture)
    document = decode_tables.describe(name)
    click.echo(json.dumps(document, indent=2, allow_nan=False) if as_json else tables.decode_table(document))
    if picture:
        save_picture(picture, decode_tables.draw(document), as_json)
