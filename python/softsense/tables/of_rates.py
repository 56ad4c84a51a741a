"""Frame error rates and decode tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softsense.formats import as_number, as_rate, level_name
from softsense.tables.layout import Column, aligned, describe, headed, joined


def fer(document: dict[str, Any]) -> str:
    """The result of `softsense.measure_fer`: a block for each level, and thresholds for given failure rates."""
    blocks = [describe(fer_rows(document))]
    points = document["points"]
    blocks += [f"{title}\n{headed(columns)}" for title, columns in fer_levels(points)]
    thresholds = document["thresholds"]
    if thresholds:
        blocks.append(f"{THRESHOLDS}\n{_aligned_thresholds(thresholds)}")
    blocks += fer_notes(points, thresholds)
    if unlike := fer_disagreement(points):
        # The disagreement comes first: the number is not to be trusted.
        blocks.insert(0, unlike)
    return "\n\n".join(blocks)


def fer_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The measurement and its parameters: label and value."""
    iterations = "" if document["iterations"] is None else f", at most {document['iterations']} iterations"
    goal = document["goal"]
    return [
        ("code", f"{document['code']} (n = {document['codeword_bits']:,}, k = {document['data_bits']:,})"),
        ("decoder", f"{document['decoder'] or 'BCH'}{iterations}, seed {document['seed']}"),
        (
            "sought",
            f"relative error {goal['relative_error']:g} down to {goal['down_to']:g}, "
            f"at most {goal['frames']:,} frames a point",
        ),
        *_floor_lines(document),
    ]


def fer_levels(points: Sequence[dict[str, Any]]) -> list[tuple[str, list[Column]]]:
    """A table for each level: its title, and its columns."""
    return [
        (
            level_name(level).capitalize(),
            _of_points([point for point in points if point["level"] == level]),
        )
        for level in sorted({point["level"] for point in points})
    ]


def fer_notes(points: Sequence[dict[str, Any]], thresholds: Sequence[dict[str, Any]]) -> list[str]:
    """The meaning of the marks beside numbers, if there are any."""
    incomplete = any(not point["complete"] for point in points)
    return [*([_INCOMPLETE] if incomplete else []), *threshold_notes(thresholds)]


def threshold_notes(thresholds: Sequence[dict[str, Any]]) -> list[str]:
    """The meaning of the mark beside a threshold, if there is one."""
    return [_FLOOR_POSSIBLE] if any(map(_may_have_a_floor, thresholds)) else []


def fer_disagreement(points: Sequence[dict[str, Any]]) -> str | None:
    """A sentence about rates on which splitting and the strata disagree; None if there are none."""
    unlike = [point for point in points if point["judged"] and not point["judged"]["agrees"]]
    said = ", ".join(
        f"{as_rate(p['fer'])} against {as_rate(p['judged']['fer'])} at level {p['level']}, RBER {p['rber']:.4g}"
        for p in unlike
    )
    advice = "Both rates are unreliable there: measure them with more frames or runs."
    return f"Splitting and the strata disagree: {said}. {advice}" if unlike else None


def decode_table(document: dict[str, Any]) -> str:
    """The result of `softsense.decode_tables.describe` as text."""
    blocks = [describe(decode_table_rows(document))]
    if thresholds := document["thresholds"]:
        blocks.append(f"{THRESHOLDS}\n{_aligned_thresholds(thresholds)}")
    blocks += threshold_notes(thresholds)
    blocks.append(f"{FAILURES}\n{headed(decode_table_columns(document))}")
    return "\n\n".join(blocks)


def decode_table_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The properties of a decode table, and how it was made: label and value."""
    levels, rber = document["level"], document["rber"]
    return [
        ("table", document["name"]),
        ("code", document["code"]),
        ("decoder", document["decoder"]),
        ("source", document["source"]),
        (
            "grid",
            f"{len(rber)} raw bit error rates from {rber[0]:g} to {rber[-1]:g}, "
            f"{'interpolated in ln P_fail' if document['interpolation'] == 'log' else 'as steps'}",
        ),
        ("levels", f"1 to {len(levels)}, {'with' if 'iterations' in levels[0] else 'without'} iterations"),
    ]


def decode_table_columns(document: dict[str, Any]) -> list[Column]:
    """Failure probabilities of a decode table: a column for each level."""
    rber = document["rber"]
    columns = [("\nRBER", [f"{rate:.4g}" for rate in rber])]
    for number, level in enumerate(document["level"], start=1):
        # Without frames, a value is a bound unless it is exact, which its interval says.
        least = level.get("p_fail_lo", [0.0] * len(rber))
        bounds = [
            frames == 0 and least[i] < level["p_fail"][i] for i, frames in enumerate(level.get("frames", []))
        ] or [False] * len(rber)
        cells = [as_rate(p) + ("*" if bound else " ") for p, bound in zip(level["p_fail"], bounds, strict=True)]
        columns.append((f"level\n{number}", cells))
    return columns


def _of_points(points: Sequence[dict[str, Any]]) -> list[Column]:
    columns = []
    if "pe_cycles" in points[0]:
        columns.append(("P/E\ncycles", [f"{p['pe_cycles']:,}" for p in points]))
        columns.append(("retention\ndays", [f"{p['retention_days']:,g}" for p in points]))
    columns += [
        ("\nRBER", [f"{p['rber']:.4g}" for p in points]),
        ("frame error\nrate", [told(p) for p in points]),
        ("95 %\nfrom", [as_rate(p["lo"]) for p in points]),
        ("\nto", [as_rate(p["hi"]) for p in points]),
        ("relative\nerror", [as_rate(p["relative_error"]) for p in points]),
        *_floor_columns(points),
        ("missing\n%", ["-" if p["missing"] is None else _share_missing(p["missing"]) for p in points]),
        ("unlisted\nat most", [as_rate(p["unlisted"]) for p in points]),
        ("\nmethod", [p["method"] for p in points]),
        ("frames\ndecoded", [f"{p['frames']:,}" for p in points]),
        ("\nfailures", [f"{p['failures']:,}" for p in points]),
        ("mean\niterations", [as_number(p["mean_iterations"], 2) for p in points]),
    ]
    return columns


THRESHOLDS = "Raw bit error rate at which decoding fails with"
"""The title of a table of thresholds."""

FAILURES = "Failure probability (* an upper bound)"
"""The title of the table of failure probabilities, level by level."""

_INCOMPLETE = (
    "* incomplete: an extrapolation says that more than 25 % of the rate is missing, from frames with fewer errors "
    "than any frame that failed"
)
_FLOOR_POSSIBLE = "+ no listed set failed, but there were too few frames to exclude that sets fail this often"


def told(point: dict[str, Any]) -> str:
    """A frame error rate, or a note that splitting disagrees with it."""
    if point["judged"] and not point["judged"]["agrees"]:
        return "differs! "
    return as_rate(point["fer"]) + (" " if point["complete"] else "*")


def _floor_columns(points: Sequence[dict[str, Any]]) -> list[Column]:
    """The parts of a rate, if the sets that make its floor are known, and its value by splitting."""
    columns = []
    if any(p["floor"] is not None for p in points):
        columns += [
            ("of that\nfloor", ["-" if p["floor"] is None else as_rate(p["floor"]) for p in points]),
            ("\nat most", ["-" if p["floor"] is None else as_rate(p["floor_at_most"]) for p in points]),
        ]
    if any(p["judged"] for p in points):
        columns.append(("by\nsplitting", [as_rate(p["judged"]["fer"]) if p["judged"] else "-" for p in points]))
    return columns


def _floor_lines(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The absorbing sets that make the floors."""
    if document["kind"] == "bch":
        return []
    if not (listed := document["traps"]):
        return [("floor", "not measured: no absorbing sets are listed (softsense code traps finds them)")]
    classes = ", ".join(f"{c['sets']:,} ({c['bits']}, {c['violated']})" for c in listed["classes"]) or "none"
    return [("floor", f"of the absorbing sets of up to {listed['most_bits']} bits: {classes}")]


def _share_missing(share: float) -> str:
    return f"{100 * share:.1f}" if share < 10 else f"{100 * share:.0e}"


def threshold_columns(thresholds: Sequence[dict[str, Any]]) -> list[Column]:
    """Thresholds: a row for each level, a column for each failure probability or uncorrectable bit error rate."""
    levels = sorted({found["level"] for found in thresholds})
    by_target = {(found.get("uber"), found["failure"]) for found in thresholds}
    targets = sorted(by_target, key=lambda target: (target[0] is not None, -(target[0] or target[1])))
    at = {(found["level"], (found.get("uber"), found["failure"])): found for found in thresholds}

    def say(level: int, target: tuple[float | None, float]) -> str:
        if not (found := at.get((level, target))):
            return "-"
        ends = ["?" if end is None else f"{end:.5f}" for end in (found["lo"], found["hi"])]
        interval = "" if ends[0] == ends[1] else f" ({' to '.join(ends)})"
        marks = ("" if found["complete"] else "*") + ("+" if _may_have_a_floor(found) else "")
        return f"{found['rber']:.5f}{marks or ' '}{interval}"

    return [
        ("\nlevel", [str(level) for level in levels]),
        *(
            (
                f"{'' if target[0] is None else 'UBER'}\n{target[0] or target[1]:.0e}",
                [say(level, target) for level in levels],
            )
            for target in targets
        ),
    ]


def _aligned_thresholds(thresholds: Sequence[dict[str, Any]]) -> str:
    (head, levels), *columns = threshold_columns(thresholds)
    told = [aligned([*head.split("\n"), *levels], str.rjust)]
    return joined(told + [aligned([*head.split("\n"), *cells], str.ljust) for head, cells in columns])


def _may_have_a_floor(threshold: dict[str, Any]) -> bool:
    found: bool = (threshold["floor_at_most"] or 0.0) > threshold["failure"]
    return found
