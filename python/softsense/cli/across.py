"""`softsense compare --across`: cases in which the ranking of read policies holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from softsense import ConfigError, Interrupted
from softsense.cli.exits import INTERRUPTED
from softsense.cli.measuring import opened_trace, trace_name
from softsense.cli.output import command_line, progress_bars, width
from softsense.read_policies import policy_names
from softsense.traces import OPTIONS as TRACE_OPTIONS


def compare_across(
    config: Path,
    out: Path | None,
    policies: str,
    jobs: int | None,
    seeds: int | None,
    texts: tuple[str, ...],
    by: str,
    as_json: bool,
    *,
    beyond: str,
    trace_file: str | None,
    requests_log: bool,
    equal_area: str | None,
    overrides: Any,
    seed: int | None,
    no_progress: bool,
    **options: Any,
) -> int:
    """Compare in all cases; print and write the table, the findings and the picture."""
    from dataclasses import replace

    import softsense
    from softsense import folders, manifests
    from softsense.across import STATISTICS, Axes, across

    for name, given in (("--requests-log", requests_log), ("--equal-area", equal_area)):
        if given:
            raise ConfigError(
                f"{name}: found together with --across, expected only one of the two: {name} is for a single config"
            )
    if by not in STATISTICS:
        raise ConfigError(f"--by: found `{by}`, expected one of {', '.join(STATISTICS)}")
    axes = Axes.parse(texts)
    if seeds and any(text.startswith("seeds") for text in texts):
        raise ConfigError("--seeds: found together with --across seeds, expected only one of the two")
    axes = replace(axes, seeds=seeds or axes.seeds)
    of_trace = {name: options[name] for name in TRACE_OPTIONS}
    resolved = softsense.load_config(config, overrides, seed=seed)
    first = resolved.fields.seed
    folders.check_folder(out or Path("out"))
    opened = opened_trace(trace_file, no_progress, of_trace) if trace_file else None
    traces = [manifests.of_trace(trace_file, opened, of_trace, beyond)] if trace_file and opened else []
    asked = {
        "policies": policy_names(policies),
        "across": list(texts),
        "by": by,
        "overrides": list(overrides),
        # Another drive of the same name is another result.
        "drives": [softsense.load_config(drive, overrides, seed=seed).sha256 for drive in axes.drives],
    }
    described = manifests.of_config(config, resolved)
    manifest = manifests.Manifest("across", command_line(), described, traces, range(first, first + axes.seeds), asked)
    name = f"across-{config.stem}" + (f"-{folders.stem(trace_name(trace_file))}" if trace_file else "")
    where = out or folders.default_folder(Path("out") / name, manifest)
    with folders.Folder(where, manifest.identity) as folder:
        interrupted = False
        try:
            with progress_bars(no_progress) as report:
                found = across(
                    str(config),
                    opened,
                    axes=axes,
                    by=by,
                    policies=policies,
                    overrides=overrides,
                    seed=seed,
                    beyond=beyond,
                    jobs=jobs,
                    progress=report,
                )
        except Interrupted as interruption:
            if interruption.result is None:
                raise
            interrupted, found = True, interruption.result
        document = json.dumps(found.to_dict(), indent=2, allow_nan=False)
        click.echo(document if as_json else f"{found.text(width())}\n")
        folder.write("summary.json", document + "\n")
        folder.write("table.txt", f"{found.text(150)}\n")
        folder.write("cases.csv", found.table.write_csv())
        if not as_json:
            title = f"Does the ranking hold? {config.stem} and {len(found.compared) - 1} other cases"
            with folder.replacing("cases.png") as path:
                found.plot(title).savefig(path)
        else:
            folder.remove("cases.png")
        folder.sign(manifest, interrupted=interrupted)
        if not as_json:
            click.echo(f"wrote {', '.join(str(path) for path in folder.written())}")
        if interrupted:
            told = f"{len(found.compared)} of {len(found.planned)} cases"
            click.echo(f"interrupted: the results that are shown and written cover {told}", err=True)
        return INTERRUPTED if interrupted else 0
