"""Frame error rates of several codes in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softsense.formats import as_rate, level_name
from softsense.tables.layout import Column, aligned, headed, joined
from softsense.tables.of_rates import THRESHOLDS, fer_disagreement, fer_notes, threshold_columns, told

if TYPE_CHECKING:
    from softsense.code_comparison import CodeComparison

_WIDE = 150
_GROUP = 3  # Columns of a code.
_ALIKE = 1.005  # Rates that differ by less take as good as the same flash.
_UNEQUAL = "The codes differ in rate and are not of equal cost: the lower the rate, the more flash holds the same data."
_LENGTHS = "The codes differ in length: a frame of a longer code holds more data, and its loss is the larger loss."


def compared(found: CodeComparison) -> str:
    """The result of `softsense.compare_codes` as blocks of text.

    The blocks are the codes, a table for each level with a group of columns for each code, and the raw bit error rates
    at which their curves cross given failure rates.
    """
    blocks = [_left(compared_rows(found))]
    for title, columns in compared_levels(found):
        blocks.append(_grouped(title, columns))
    if columns := compared_thresholds(found):
        blocks.append(f"{THRESHOLDS}\n{_left(columns)}")
    blocks += compared_notes(found)
    unlike = [
        f"{label}: {said}"
        for label, result in zip(found.labels, found.results, strict=True)
        if (said := fer_disagreement(result.points))
    ]
    return "\n\n".join([*unlike, *blocks])


def compared_rows(found: CodeComparison) -> list[Column]:
    """The properties of each code, and the method of its measurement: a row each."""
    named = [result.description for result in found.results]
    limits = [f"{each['shannon_limit']:.5f}" if each.get("shannon_limit") else "-" for each in named]
    decoders = [
        "BCH" if each["decoder"] is None else f"{each['decoder']}, at most {each['iterations']} iterations"
        for each in named
    ]
    return [
        ("\ncode", found.labels),
        ("\nn", [f"{each['codeword_bits']:,}" for each in named]),
        ("\nk", [f"{each['data_bits']:,}" for each in named]),
        ("\nrate", [f"{result.rate:.4f}" for result in found.results]),
        ("capacity at\nthat rate", limits),
        ("\ndecoder", decoders),
    ]


def compared_levels(found: CodeComparison) -> list[tuple[str, list[Column]]]:
    """A table for each level: its title, columns of the places, and three columns for each code.

    Dashes stand where nothing was measured.
    """
    tables = []
    for level in found.levels:
        places = found.places(level)
        columns: list[Column] = []
        if "pe_cycles" in places[0]:
            columns.append(("P/E\ncycles", [f"{place['pe_cycles']:,}" for place in places]))
            columns.append(("retention\ndays", [f"{place['retention_days']:,g}" for place in places]))
        columns.append(("\nRBER", [f"{place['rber']:.4g}" for place in places]))
        for label, result in zip(found.labels, found.results, strict=True):
            points = [found.point(result, place) for place in places]
            columns += [
                (f"{label}\nrate", [told(point) if point else "- " for point in points]),
                ("95 %\nfrom", [as_rate(point["lo"]) if point else "-" for point in points]),
                ("\nto", [as_rate(point["hi"]) if point else "-" for point in points]),
            ]
        tables.append((level_name(level).capitalize(), columns))
    return tables


def compared_thresholds(found: CodeComparison) -> list[Column]:
    """The raw bit error rates at which codes fail with given rates: a row for each code and level; none without any."""
    told_of = [(label, result.thresholds) for label, result in zip(found.labels, found.results, strict=True)]
    rows = [(label, dict(threshold_columns(thresholds))) for label, thresholds in told_of if thresholds]
    heads = list(dict.fromkeys(head for _, columns in rows for head in columns if head != "\nlevel"))
    # Failure probabilities stand before uncorrectable bit error rates, each from often to seldom.
    heads.sort(key=lambda head: (bool(head.partition("\n")[0]), -float(head.partition("\n")[2])))
    levels = [(label, level, columns, i) for label, columns in rows for i, level in enumerate(columns["\nlevel"])]
    if not levels:
        return []
    return [
        ("\ncode", [label for label, *_ in levels]),
        ("\nlevel", [level for _, level, *_ in levels]),
        *((head, [columns[head][i] if head in columns else "-" for *_, columns, i in levels]) for head in heads),
    ]


def compared_notes(found: CodeComparison) -> list[str]:
    """The meaning of marks beside numbers, and differences of the codes that the rates do not show."""
    points = [point for result in found.results for point in result.points]
    thresholds = [each for result in found.results for each in result.thresholds]
    named = [result.description for result in found.results]
    notes = fer_notes(points, thresholds)
    rates = [result.rate for result in found.results]
    notes += [_UNEQUAL] if max(rates) > _ALIKE * min(rates) else []
    return [*notes, *([_LENGTHS] if len({each["data_bits"] for each in named}) > 1 else [])]


def _grouped(title: str, columns: list[Column]) -> str:
    """A table whose groups of columns are never divided: as many groups beside one another as there is room for."""
    first = next(i for i, (head, _) in enumerate(columns) if head == "\nRBER") + 1
    places, groups = columns[:first], [columns[at : at + _GROUP] for at in range(first, len(columns), _GROUP)]
    panels = [list(places)]
    for group in groups:
        wider = [*panels[-1], *group]
        if len(panels[-1]) > first and len(headed(wider).splitlines()[-1]) > _WIDE:
            panels.append([*places, *group])
        else:
            panels[-1] = wider
    return "\n\n".join([f"{title}\n{headed(panels[0])}", *map(headed, panels[1:])])


def _left(columns: list[Column]) -> str:
    """Columns of words, aligned to the left."""
    return joined([aligned([*head.split("\n"), *cells], str.ljust) for head, cells in columns])
