"""`softsense board`: the open board of flash codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from softsense import CodeError, ConfigError, Interrupted
from softsense.cli.options import example, force_option, no_progress_option, redundant_checks_option
from softsense.cli.output import check_suffix, check_writable, progress_bars
from softsense.cli.ranges import Real, Whole

_REFUSED = 1
_workers_option = click.option("--workers", default=1, type=Whole(1, 1024), help="Threads; default: 1.")


@click.group("board")
def board_group() -> None:
    """Compare codes for flash on one board, by one judge.

    A matrix goes in and an entry comes out: failure rates down to 1e-15 by two methods or not at all, absorbing sets,
    and the circuit. A folder of entries becomes a site. An entry can be measured again by everybody.
    """


@board_group.command(
    "measure", epilog=example("softsense board measure my.alist --budget 5 --out my.json --page my.html")
)
@click.argument("matrix", metavar="MATRIX", type=click.Path(path_type=Path))
@click.option("--decoder", default="min-sum", metavar="NAME", help="Decoder, as in `code bench`; default: min-sum.")
@click.option("--levels", default="1,3,7", metavar="LEVELS", help="Read levels, of 1, 3 and 7; default: 1,3,7.")
@click.option(
    "--budget", default=5.0, type=Real(0.01, 1e4), metavar="CORE_MINUTES", help="Core-minutes to spend; default: 5."
)
@_workers_option
@click.option(
    "--store", type=click.Path(path_type=Path), metavar="FILE", help="Keep all counts here, and go on from it."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the entry to this .json file.")
@click.option("--page", type=click.Path(path_type=Path), metavar="FILE", help="Also write its page to this .html file.")
@redundant_checks_option
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the entry as one JSON document.")
@no_progress_option
def board_measure(
    matrix: Path,
    levels: str,
    out: Path | None,
    page: Path | None,
    redundant_checks: bool,
    force: bool,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Measure the code in MATRIX, and write its entry.

    MATRIX is an alist, a base matrix (.qc), or a .bch file with the name of a BCH code. Frames and seeds follow from
    the matrix and the budget alone.
    """
    from softsense.board import load_matrix, measure_entry, save_entry
    from softsense.board.pages import entry_page
    from softsense.board.planning import LEVELS
    from softsense.board.telling import entry_text
    from softsense.campaign.options import parse_levels
    from softsense.files import replacing

    for file, suffix in ((out, ".json"), (page, ".html")):
        if file:
            check_suffix(file, suffix)
            check_writable(file, force)
    chosen = parse_levels(levels)
    if wrong := [level for level in chosen if level not in LEVELS]:
        raise ConfigError(f"--levels: found {wrong[0]}, expected levels of {', '.join(map(str, LEVELS))}")
    opened = load_matrix(matrix, redundant_checks)
    with progress_bars(no_progress, "frames") as report:
        try:
            entry = measure_entry(opened, levels=chosen, progress=report, **options)
        except Interrupted:
            raise click.Abort from None
    click.echo(json.dumps(entry, indent=2, allow_nan=False) if as_json else entry_text(entry))
    if out:
        save_entry(entry, out)
    if page:
        with replacing(page) as partial:
            partial.write_text(entry_page(entry), encoding="utf-8")
    if not as_json and (out or page):
        click.echo(f"\nwrote {', '.join(str(file) for file in (out, page) if file)}")


@board_group.command("check", epilog=example("softsense board check board --only qc-9216-w4"))
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="NAME", help="Judge this entry only; repeatable.")
@click.option("--no-measure", is_flag=True, help="Measure nothing again: only what follows from matrix and numbers.")
@click.option(
    "--patience",
    default=4.0,
    type=Real(0.1, 1000),
    help="Budgets times this may be spent, on a slow machine; default: 4.",
)
@_workers_option
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as one JSON document.")
@no_progress_option
def board_check(
    folder: Path,
    only: tuple[str, ...],
    no_measure: bool,
    as_json: bool,
    no_progress: bool,
    **options: Any,
) -> int:
    """Judge the entries of FOLDER, and measure them again.

    FOLDER has entries/*.json, and matrices/ for the matrices that softsense does not make itself. The exit code is 1 if
    any entry is refused.
    """
    from softsense.board import check_board

    with progress_bars(no_progress, "frames") as report:
        try:
            found = check_board(folder, only=only, measure=not no_measure, progress=report, **options)
        except Interrupted:
            raise click.Abort from None
    if as_json:
        click.echo(json.dumps([each.to_dict() for each in found], indent=2))
    else:
        for each in found:
            how = "measured again, equal" if each.measured else "follows from its matrix and its numbers"
            click.echo(f"{each.name}: {how if each.confirmed else 'refused'}")
            for why in each.refusals:
                click.echo(f"  {why}")
    return 0 if all(each.confirmed for each in found) else _REFUSED


@board_group.command("page", epilog=example("softsense board page board --out site"))
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--out",
    default="site",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of the site; default: site.",
)
@click.option("--json", "as_json", is_flag=True, help="Report what was written as one JSON document.")
def board_page(folder: Path, out: Path, as_json: bool) -> None:
    """Write the entries of FOLDER as a site of pages.

    The site is a table to sort and filter, pictures of what is best, the flash league, and a page for each code. It
    loads nothing from a network.
    """
    from softsense.board.pages import write_site

    written = write_site(folder, out)
    if as_json:
        click.echo(json.dumps({"folder": str(out), "files": [file.name for file in written]}, indent=2))
    else:
        click.echo(f"wrote {len(written)} pages to {out}: begin with {out / 'index.html'}")


@board_group.command("published", epilog=example("softsense board published --only 802.16e-576-1-2"))
@click.option("--only", multiple=True, metavar="NAME", help="Curves of this code only; repeatable.")
@click.option("--failures", default=100, type=Whole(10, 10**6), help="Failures to count at a point; default: 100.")
@click.option(
    "--down-to", default=1e-6, type=float, metavar="RATE", help="Least published frame error rate; default: 1e-6."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the rows to this .json file.")
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the rows as one JSON document.")
@no_progress_option
def board_published(
    only: tuple[str, ...], out: Path | None, force: bool, as_json: bool, no_progress: bool, **options: Any
) -> int:
    """Count published curves anew, with the same decoders and channels.

    The exit code is 1 if the intervals of a point do not overlap. A board with the file `published.json` shows the
    rows on its site.
    """
    from softsense.board import comparing
    from softsense.files import replacing
    from softsense.tables.layout import listing

    if out:
        check_suffix(out, ".json")
        check_writable(out, force)
    with progress_bars(no_progress, "points") as report:
        try:
            rows = comparing.compare_published(only, progress=report, **options)
        except Interrupted:
            raise click.Abort from None
    if as_json:
        click.echo(json.dumps({"rows": rows}, indent=2))
    else:
        heads = comparing.HEADS
        cells = [dict(zip(heads, row, strict=True)) for row in comparing.table_of(rows)]
        click.echo(listing(cells, *((f"\n{head}", head, str) for head in heads)))
    if out:
        with replacing(out) as partial:
            partial.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
        if not as_json:
            click.echo(f"\nwrote {out}")
    return 0 if all(row["agrees"] for row in rows) else _REFUSED


@board_group.command("codes", epilog=example("softsense board codes --out matrices --only margulis-2640"))
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="Write the matrices to this folder.")
@click.option("--only", multiple=True, metavar="NAME", help="This code only; repeatable.")
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
def board_codes(out: Path | None, only: tuple[str, ...], force: bool, as_json: bool) -> None:
    """List the published codes of the board, or write their matrices.

    The matrices are made from formulas, or from the tables of standards.
    """
    from softsense.board.published import CONSTRUCTIONS, construction
    from softsense.board.telling import codes_text
    from softsense.cli.output import print_list
    from softsense.files import blaming, replacing

    chosen = [construction(name) for name in only] if only else list(CONSTRUCTIONS)
    if out:
        if out.exists() and not out.is_dir():
            raise CodeError(f"{out}: found a file, expected a folder (--out names the folder of the matrices)")
        with blaming(out):
            out.mkdir(parents=True, exist_ok=True)
        for each in chosen:
            check_writable(out / each.file, force)
        for each in chosen:
            with replacing(out / each.file) as partial:
                partial.write_text(each.text(), encoding="utf-8")
    rows = [
        {"name": each.name, "file": each.file, "codeword_bits": each.bits, "data_bits": each.data_bits,
         "title": each.title, "source": each.source, "licence": each.licence}
        for each in chosen
    ]  # fmt: skip
    print_list(rows, as_json, codes_text)
    if out and not as_json:
        click.echo(f"\nwrote {len(chosen)} matrices to {out}")
