"""`softsense results`: list, show, compare and export folders of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from softsense import ConfigError
from softsense.cli.options import example, force_option
from softsense.cli.output import check_suffix, check_writable, print_list
from softsense.files import replacing

if TYPE_CHECKING:
    from softsense.manifests import Signed

_folder = click.argument("folder", type=click.Path(path_type=Path))


@click.group("results")
def results_group() -> None:
    """List, show, compare and export folders of results."""


@results_group.command("list", epilog=example("softsense results list"))
@click.argument("folder", type=click.Path(path_type=Path), default="out", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def results_list(folder: Path, as_json: bool) -> None:
    """List the folders of results in FOLDER (default: out), newest first.

    A folder whose files are not all those of its run is marked as changed, and a folder whose run has not ended as
    unfinished.
    """
    from softsense import folders

    found = folders.find(folder)
    for why in found.skipped:
        click.echo(f"skipped {why}", err=True)
    rows = [{"folder": str(each.folder), "state": each.state, **each.manifest.document} for each in found.results]
    left: dict[str, Any] = {"state": "unfinished", "kind": None, "date_utc": None}
    rows += [{"folder": str(path), **left, "process": process} for path, process in found.unfinished]

    def told(rows: list[dict[str, Any]]) -> str:
        if not rows:
            return f"no results in {folder}"
        cells = [
            [
                str(each.folder),
                each.manifest.kind,
                each.manifest.date_utc,
                *_inputs_in_words(each.manifest),
                row["state"],
            ]
            for each, row in zip(found.results, rows, strict=False)
        ]
        cells += [[str(path), *["-"] * 5, f"unfinished: {process}"] for path, process in found.unfinished]
        heads = ["folder", "kind", "date", "config", "traces", "seeds", "state"]
        widths = [max(len(row[i]) for row in [heads, *cells]) for i in range(len(heads))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in [heads, *cells]]
        return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])

    print_list(rows, as_json, told)


@results_group.command("show", epilog=example("softsense results show out/run-mlc-25nm"))
@_folder
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def results_show(folder: Path, as_json: bool) -> None:
    """Show the content of a folder of results.

    Shows the command, the version and the date of FOLDER, its config, traces and seeds, its tables, and files that do
    not belong to it.
    """
    from softsense import folders, tables
    from softsense._core import read_text

    found = folders.Results.open(folder)
    manifest, strange = found.manifest, found.strange()
    if as_json:
        told = {"folder": str(found.folder), "state": found.state, "strange": strange, **manifest.document}
        click.echo(json.dumps({**told, "rows": found.rows()}, indent=2))
        return
    config, traces, seeds = _inputs_in_words(manifest)
    version = manifest.version
    rows = [
        ("kind", manifest.kind + (" (interrupted)" if manifest.interrupted else "")),
        ("command", " ".join(manifest.command)),
        ("date", manifest.date_utc),
        ("softsense", f"{version['version']}, model {version['model_version']}"),
        ("config", f"{config}, SHA-256 {manifest.config['sha256']}" if manifest.config else config),
        *((f"trace {i}", f"{each['file']}, SHA-256 {each.get('sha256')}") for i, each in enumerate(manifest.traces, 1)),
        *([("trace", traces)] if not manifest.traces else []),
        ("seeds", seeds),
        *((key, json.dumps(value)) for key, value in manifest.asked.items()),
        ("files", ", ".join(manifest.files)),
        *((state, name) for name, state in strange.items()),
        *(
            [("unchecked", "an older version of softsense wrote no SHA-256 of files")]
            if manifest.sha256 is None
            else []
        ),
    ]
    click.echo(tables.describe(rows))
    if "table.txt" not in strange and (table := found.folder / "table.txt").is_file():
        click.echo(f"\n{read_text(table).rstrip()}")


@results_group.command("compare", epilog=example("softsense results compare out/first out/second --metric p99.9"))
@click.argument("folders", metavar="FOLDER FOLDER...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Metric to compare, such as p99.9 or uncorrectable; repeatable.",
)
@click.option("--all", "everything", is_flag=True, help="Compare all metrics, not the usual ones only.")
@click.option("--json", "as_json", is_flag=True, help="Print it as one JSON document.")
def results_compare(folders: tuple[Path, ...], metrics: tuple[str, ...], everything: bool, as_json: bool) -> None:
    """Compare folders of results side by side.

    Shows differences in config, trace, seeds and version, and the metrics of each folder with their ratios to the first
    FOLDER. If two folders have the same seeds, a difference within its 95 % interval is marked.
    """
    from softsense.folders import Results
    from softsense.results_compared import compare_results

    if len(folders) < 2:
        raise ConfigError(f"results compare: found {len(folders) or 'no'} folder(s), expected at least two")
    try:
        compared = compare_results([Results.open(each) for each in folders], metrics, everything)
    except ConfigError as error:
        raise ConfigError(f"results compare: {error}") from None
    click.echo(json.dumps(compared.to_dict(), indent=2) if as_json else compared.text())


@results_group.command("export", epilog=example("softsense results export out/first --out first.csv"))
@_folder
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="Write the table: .csv, .parquet or .json.",
)
@force_option
@click.option("--json", "as_json", is_flag=True, help="Report what was written as one JSON document.")
def results_export(folder: Path, out: Path, force: bool, as_json: bool) -> None:
    """Write the numbers of FOLDER as one table.

    The table has a row for each run, point, claim or parameter.
    """
    import polars as pl

    from softsense import folders
    from softsense.points import write_parquet

    check_suffix(out, ".csv", ".parquet", ".json")
    found = folders.Results.open(folder)
    rows = found.rows()
    check_writable(out, force)
    frame = pl.DataFrame(rows, infer_schema_length=None, strict=False)
    with replacing(out) as path:
        if out.suffix == ".csv":
            frame.write_csv(path)
        elif out.suffix == ".parquet":
            write_parquet(frame, path)
        else:
            path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    told = {"file": str(out), "rows": len(frame), "columns": frame.columns}
    click.echo(
        json.dumps(told, indent=2) if as_json else f"wrote {out}: {len(frame):,} rows of {frame.width:,} columns"
    )


def _inputs_in_words(manifest: Signed) -> tuple[str, str, str]:
    """Config, traces and seeds of a manifest, in words."""
    config = manifest.config["name"] if manifest.config else "-"
    simulated = manifest.kind in ("run", "compare", "sweep")
    names = [Path(trace["file"]).name for trace in manifest.traces]
    traces = ", ".join(names) or ("own workload" if simulated else "-")
    seeds = list(manifest.seeds)
    run = len(seeds) > 2 and seeds == [seeds[0] + i for i in range(len(seeds))]
    return config, traces, f"{seeds[0]}-{seeds[-1]}" if run else ", ".join(map(str, seeds)) or "-"
