"""The report of a sweep as one HTML document of at most a megabyte.

Up to 2,000 points it has all of them, if they fit. A report of a larger sweep has the same frontiers with a sample of
the other designs around them. It has charts of the columns of the frontiers over each swept field, and the beginnings
of long tables, which name the files with the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softsense._core import build_info
from softsense.base import by_lot
from softsense.charts import Chart, Series
from softsense.designs import Frontier, tally
from softsense.frontier import (
    MOST_PANELS,
    bounds,
    chart,
    describe,
    finding,
    key_of,
    label,
    rows_of,
    said,
    sentence,
    set_aside,
    short,
    shown,
    ties,
    title,
    why_none,
)
from softsense.points import BATCH
from softsense.report import Section, Table, html
from softsense.report.pages import without_folders

if TYPE_CHECKING:
    import polars as pl

    from softsense.sweep import SweepResult

MOST_BYTES = 1_000_000
"""The most bytes of a report."""

_MOST_POINTS = 2000
_FEWEST_DRAWN = 60
_MOST_LISTED = 600
_MOST_ROWS = 100
_MOST_VALUES = 20
_EVERYTHING = 10**9


def report(result: SweepResult) -> str:
    """The report of a sweep. Deterministic."""
    if len(result.planned.points) <= _MOST_POINTS:
        whole = _document(result, result.frontiers, _EVERYTHING)
        if len(whole.encode()) <= MOST_BYTES:
            return whole
    # The lists of all frontiers together must fit, whatever the number of frontiers.
    frontiers = result.frontiers[:MOST_PANELS]
    drawn = _MOST_POINTS
    while len((found := _document(result, frontiers, drawn)).encode()) > MOST_BYTES and drawn > _FEWEST_DRAWN:
        drawn //= 2
    return found


def _document(result: SweepResult, frontiers: Sequence[Frontier], most: int) -> str:
    """The report; of the designs off the frontiers it draws `most` in all charts together."""
    light = most < _EVERYTHING
    rows_shown = max(_MOST_ROWS // 5, _MOST_LISTED // max(1, len(frontiers))) if light else _EVERYTHING
    sections = []
    if words := set_aside(result):
        heads = ["why", "designs", "which"]
        cells = [[reason, f"{count:,}", which] for reason, count, which in tally(result.judged.groups, describe)]
        sections.append(Section("Designs that are no contenders", [words], [Table("", heads, cells)]))
    for frontier in frontiers:
        parts: list[Chart | Table] = []
        if frontier.best:
            parts.append(chart(result, frontier, most // len(frontiers) + len(frontier.best)))
            heads, rows = rows_of(result, frontier)
            parts.append(Table("On the frontier", heads, rows[:rows_shown], _cut(rows_shown, len(rows), "designs.csv")))
        told = said(frontier) if frontier.best else f"{sentence(why_none(frontier))}."
        sections.append(Section(title(frontier), [told, *ties(frontier), *bounds(frontier)], parts))
    if left := len(result.frontiers) - len(frontiers):
        told = (
            f"{left:,} more are not shown: `designs.csv` has their designs, and `softsense sweep --json` all of them."
        )
        sections.append(Section("Other frontiers", [told]))
    if light and (charts := marginals(result)):
        sections.append(Section("What each field does", [_MARGINALS], charts))
    sections.append(Section("All points", (), [_all_points(result, _MOST_ROWS if light else _EVERYTHING)]))
    if len(failures := result.failures):
        columns, some = failures.columns, _MOST_ROWS if light else _EVERYTHING
        rows = [
            [without_folders(shown(row[name])) if row[name] is not None else "" for name in columns]
            for row in failures.head(some).iter_rows(named=True)
        ]
        table = Table("", columns, rows, _cut(some, len(failures), "failures.csv"))
        sections.append(Section("Points that failed", (), [table]))
    build = build_info()
    provenance: dict[str, str] = {}
    for name, text in result.planned.describe():
        provenance[name] = f"{provenance[name]}\n{text}" if name in provenance else text
    provenance["softsense"] = f"{build['version']}, model {build['model_version']}"
    return html(f"Sweep: {result.sweep.name}", finding(result), sections, provenance)


def _cut(shown: int, of: int, file: str) -> str:
    """A sentence about a table that has only the first of its rows; empty if it has all."""
    if of <= shown:
        return ""
    return f'The first {shown:,} of {of:,}. All are in `{file}`, beside this report: `polars.read_csv("{file}")`.'


def _all_points(result: SweepResult, most: int) -> Table:
    """The points, or `most` of them by lot, with their swept fields and the columns of the frontiers."""
    swept = list(result.sweep.columns.values())
    told = [name for name in _columns(result) if name not in swept]
    batch = [BATCH] if result.sweep.search else []
    columns = ["point", *swept, "policy", "trace", "seed", *batch, "status", *told]
    names = short(swept)
    every = len(result.planned.points)
    rows = result.select(*columns)[by_lot(every, most)].to_dicts()
    # Columns with one value for all points are left out.
    columns = [name for name in columns if name == "point" or name in told or len({row[name] for row in rows}) > 1]
    cells = [[row[name] if isinstance(row[name], int | float) else row[name] or "" for name in columns] for row in rows]
    note, keys = "", None
    if every > most:
        note = f"{most:,} of {every:,} points, by lot. All are in `sweep.parquet`, beside this report: "
        note += '`polars.read_parquet("sweep.parquet")`.'
    else:
        keys = [key_of({name: row[name] for name in swept}, row["policy"]) for row in rows]
    return Table("", [names.get(name, name) for name in columns], cells, note, keys=keys)


def _columns(result: SweepResult) -> list[str]:
    """The columns of the frontiers that the sweep's frame has."""
    told = dict.fromkeys(name for pair in result.sweep.pairs for name in (pair.x, pair.y))
    return [name for name in told if name in result.columns]


# Effects of swept fields ---------------------------------------------------------------------------------------------

_MARGINALS = (
    "All points that were simulated, by one field after another, whatever their other fields: their median, and the "
    f"band from 10 % to 90 % of them. A field with more than {_MOST_VALUES} numbers is cut into {_MOST_VALUES} ranges "
    "of as many points each, and stands at their medians."
)


def marginals(result: SweepResult) -> list[Chart]:
    """The columns of the frontiers against each swept field: medians with bands from the 10th to the 90th percentile.

    Deterministic.
    """
    swept = list(result.sweep.columns.values())
    fields = [*swept, *(["policy"] if len(result.sweep.policies) > 1 else [])]
    pairs = [(field, column) for column in _columns(result) if column not in swept for field in fields]
    found = (_marginal(result.select(field, column), field, column) for field, column in pairs[:MOST_PANELS])
    return [each for each in found if each]


def _marginal(frame: pl.DataFrame, field: str, column: str) -> Chart | None:
    """A column by a field; None if the field has one value only."""
    import polars as pl

    frame = frame.drop_nulls().rename({field: "value", column: "number"}).sort("value", maintain_order=True)
    numeric = frame["value"].dtype.is_numeric()
    many = numeric and frame["value"].n_unique() > _MOST_VALUES
    part = pl.int_range(pl.len()) * _MOST_VALUES // pl.len() if many else pl.col("value")
    number = pl.col("number")
    told = frame.group_by(part.alias("part"), maintain_order=True).agg(
        pl.col("value").median() if numeric else pl.col("value").first(),
        number.median().alias("half"),
        number.quantile(0.1, "linear").alias("low"),
        number.quantile(0.9, "linear").alias("high"),
    )
    if len(told) < 2:
        return None
    low, half, high = (told[name].to_list() for name in ("low", "half", "high"))
    values = told["value"].to_list() if numeric else [shown(value) for value in told["value"]]
    name = f"{sentence(label(column))}, by {field}"
    series = Series("median", values, half, "line" if numeric else "bar", low, high, band=numeric)
    return Chart(name, [series], field, label(column))
