"""Decode tables as files: TOML in the format of docs/model/decode-table.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from softsense._core import Code
from softsense.codes import describe as describe_code
from softsense.measured_part import HEADS, escaped

if TYPE_CHECKING:
    from softsense.counts import Counts

FORMAT = "softsense decode table, version 1"
CURVES = ("p_fail", "p_fail_lo", "p_fail_hi", "floor", "floor_at_most", "unlisted", "missing")
"""Curves of a level over raw bit error rates, from strata, direct frames and absorbing sets, without `frames`."""


def degrees(code: Code) -> dict[str, list[tuple[int, int]]]:
    """The degrees of the bits and checks of an LDPC code, each with the number of bits or checks that have it.

    >>> degrees(Code.open("flash-8/9"))
    {'bit_degrees': [(3, 512), (4, 36352)], 'check_degrees': [(35, 512), (36, 3584)]}
    """
    facts = describe_code(code, thresholds=False, cycles=False)
    names = ("bit_degrees", "check_degrees")
    return {name: [(row["degree"], row["count"]) for row in facts[name]] for name in names}


def code_line(code: Code) -> str:
    """The line in a table that identifies its code."""
    return f"{code.name}: {code.kind.upper()}, n = {code.codeword_bits}, k = {code.data_bits}"


def written(
    head: Mapping[str, str],
    grid: Sequence[float],
    levels: Sequence[Mapping[str, Sequence[float]]],
    limit: int | None,
    degrees: Mapping[str, Sequence[Sequence[int]]],
    iterations: Sequence[Sequence[Sequence[float]]] | None,
) -> str:
    """The text of a decode table.

    Args:
        head: the texts at its beginning, `format` first.
        grid: raw bit error rates.
        levels: for each read level its columns; columns that a level lacks are left out.
        limit: iterations after which the decoder gives up, if it counts them.
        degrees: degrees of an LDPC code, as `degrees` returns them.
        iterations: distributions for each read level and raw bit error rate, as `distribution` returns them.
    """
    lines = [f'{key} = "{escaped(value)}"' for key, value in head.items()]
    if limit is not None:
        lines.append(f"max_iterations = {limit}")
    for key, counts in degrees.items():
        pairs = ", ".join(f"[{degree}, {count}]" for degree, count in counts)
        lines.append(f"{key} = [{pairs}]")
    lines.append(f"rber = [{', '.join(map(number, grid))}]")
    for index, curves in enumerate(levels):
        lines += ["", "[[level]]"]
        lines += [
            f"{curve} = [{', '.join(map(number, curves[curve]))}]"
            for curve in (*CURVES, "splitting")
            if curve in curves
        ]
        if "frames" in curves:
            lines.append(f"frames = [{', '.join(map(str, curves['frames']))}]")
        if iterations is not None:
            lines.append("iterations = [")
            lines += [f"    [{', '.join(f'{share:.9f}' for share in row)}]," for row in iterations[index]]
            lines.append("]")
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """A number in the notation of tables: six digits, and always a float."""
    text = f"{value:.6g}"
    return text if "." in text or "e" in text else f"{text}.0"


def distribution(counts: Counts, limit: int) -> list[float]:
    """The shares of decoded frames that took 1, 2, ... iterations; a word that came right counts as one iteration."""
    if not any(counts.iterations):
        return [0.0] * (limit - 1) + [1.0]
    none, *some = counts.iterations
    some = some or [0]
    some[0] += none
    while not some[-1]:
        some.pop()
    return [n / sum(some) for n in some]


def monotone(levels: list[dict[str, list[Any]]]) -> tuple[list[dict[str, list[Any]]], float]:
    """Curves that do not fall along the grid nor rise with level, and the largest relative change of a rate."""
    change = 0.0
    for index, curves in enumerate(levels):
        before = list(curves["p_fail"])
        for curve in ("p_fail", "p_fail_lo", "p_fail_hi"):
            values = curves[curve]
            for i in range(len(values)):
                if i and values[i] < values[i - 1]:
                    values[i] = values[i - 1]
            if index:
                curves[curve] = [min(pair) for pair in zip(values, levels[index - 1][curve], strict=True)]
        # A rate that was not measured is a bound, whatever its value.
        moved = zip(before, curves["p_fail"], curves["frames"], strict=True)
        change = max([change, *(abs(new / old - 1) for old, new, frames in moved if frames and old)])
    return levels, change


def document_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `written`, without `levels`, that write a table as it was read."""
    iterations = [level["iterations"] for level in table["level"]] if "iterations" in table["level"][0] else None
    return {
        "head": {key: table[key] for key in HEADS if key in table},
        "grid": table["rber"],
        "limit": table.get("max_iterations"),
        "degrees": {key: table[key] for key in ("bit_degrees", "check_degrees") if key in table},
        "iterations": iterations,
    }
