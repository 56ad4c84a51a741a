"""The reports of frame error rates that were measured, and of decode tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from softsense.formats import as_rate, as_significant, listed
from softsense.rate_charts import codes_chart, fer_chart
from softsense.report.pages import html, versions
from softsense.report.parts import Section, Table

if TYPE_CHECKING:
    from softsense.campaign import FerResult
    from softsense.code_comparison import CodeComparison

# Failure probabilities of the first sentences: a frequent one, and roughly that of a drive's data sheet.
_TOLD = (1e-2, 1e-15)


def of_fer(result: FerResult) -> str:
    """The report of frame error rates: curves, tables of their points, thresholds, and the inputs.

    Deterministic: equal results give equal documents.
    """
    from softsense.tables import fer_disagreement, fer_levels, fer_notes, fer_rows

    document = result.to_dict()
    points, thresholds = document["points"], document["thresholds"]
    warnings = [fer_disagreement(points), "Interrupted: the measurement is incomplete." if result.interrupted else None]
    tables = [Table.of_columns(title, columns) for title, columns in fer_levels(points)]
    sections = [
        Section("Frame error rates", parts=[fer_chart(result), *tables, *fer_notes(points, thresholds)]),
        *_thresholds(thresholds),
    ]
    return html(
        f"Frame error rates of {document['code']}",
        " ".join([*filter(None, warnings), _finding(thresholds)]),
        sections,
        dict(fer_rows(document)) | {"versions": versions()},
    )


def of_codes(compared: CodeComparison) -> str:
    """The report of several codes: their curves in one chart, their properties, a table for each level, and thresholds.

    Deterministic: equal results give equal documents.
    """
    from softsense.tables import (
        THRESHOLDS,
        compared_levels,
        compared_notes,
        compared_rows,
        compared_thresholds,
        fer_disagreement,
        fer_rows,
    )

    unlike = [fer_disagreement(result.points) for result in compared.results]
    found = [f"{label}: {told}" for label, told in zip(compared.labels, unlike, strict=True) if told]
    said = [*found, *(["Interrupted: the measurement is incomplete."] if compared.interrupted else [])]
    thresholds = [result.thresholds for result in compared.results]
    for label, of_code in zip(compared.labels, thresholds, strict=True):
        said.append(f"{label}: {_finding(of_code)}")
    tables = [Table.of_columns(title, columns) for title, columns in compared_levels(compared)]
    about = Table.of_columns("", compared_rows(compared))
    sections = [
        Section("Frame error rates", parts=[codes_chart(compared), about, *tables, *compared_notes(compared)]),
        *([Section("What each code corrects", parts=[Table.of_columns(THRESHOLDS, columns)])]
          if (columns := compared_thresholds(compared)) else []),
    ]  # fmt: skip
    told = {
        f"{label}: {name}": value
        for label, result in zip(compared.labels, compared.results, strict=True)
        for name, value in fer_rows(result.to_dict())
    }
    return html(
        f"Frame error rates of {listed(compared.labels)}", " ".join(said), sections, told | {"versions": versions()}
    )


def of_decode_table(document: dict[str, Any], curves: FerResult) -> str:
    """The report of a decode table: its description by `decode_tables.describe`, and its curves by `as_result`."""
    from softsense.tables import FAILURES, decode_table_columns, decode_table_rows, threshold_notes

    thresholds = document["thresholds"]
    chart = fer_chart(curves)
    sections = [
        Section("Failure probability", parts=[chart, Table.of_columns(FAILURES, decode_table_columns(document))]),
        *_thresholds(thresholds, threshold_notes(thresholds)),
    ]
    told = dict(decode_table_rows(document)) | {"versions": versions()}
    return html(f"Decode table {document['name']}", _finding(thresholds), sections, told)


def _finding(thresholds: Sequence[Mapping[str, Any]]) -> str:
    """The raw bit error rates at which frames fail with given rates: at the first level, and at the deepest one."""
    sentences = []
    for failure in _TOLD:
        crossed = [found for found in thresholds if found.get("uber") is None and found["failure"] == failure]
        ends = crossed if len(crossed) < 3 else [crossed[0], crossed[-1]]
        rates = [f"{as_significant(found['rber'])} (level {found['level']})" for found in ends]
        if rates:
            sentences.append(
                f"A frame fails with probability {as_rate(failure)} at a raw bit error rate of {listed(rates)}."
            )
    return " ".join(sentences) or "No curve crosses a failure probability for which thresholds are given."


def _thresholds(thresholds: Sequence[dict[str, Any]], notes: Sequence[str] = ()) -> list[Section]:
    from softsense.tables import THRESHOLDS, threshold_columns

    if not thresholds:
        return []
    table = Table.of_columns(THRESHOLDS, threshold_columns(thresholds))
    return [Section("What each level corrects", parts=[table, *notes])]
