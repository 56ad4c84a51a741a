"""Frame error rates and decode tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softsense.formats import as_number, as_rate
from softsense.tables.layout import aligned, describe, headed, joined


def fer(document: dict[str, Any]) -> str:
    """What `softsense.measure_fer` found: a block for each level, and where its curve crosses given failure rates."""
    iterations = "" if document["iterations"] is None else f", at most {document['iterations']} iterations"
    goal = document["goal"]
    rows = [
        ("code", f"{document['code']} (n = {document['codeword_bits']:,}, k = {document['data_bits']:,})"),
        ("decoder", f"{document['decoder'] or 'BCH'}{iterations}, seed {document['seed']}"),
        (
            "sought",
            f"relative error {goal['relative_error']:g} down to {goal['down_to']:g}, "
            f"at most {goal['frames']:,} frames a point",
        ),
        *_floor_lines(document),
    ]
    blocks = [describe(rows)]
    points = document["points"]
    blocks += [
        f"Level {level}{' (hard decision)' if level == 1 else ''}\n"
        + _points([point for point in points if point["level"] == level])
        for level in sorted({point["level"] for point in points})
    ]
    if thresholds := document["thresholds"]:
        blocks.append(f"Raw bit error rate at which decoding fails with\n{_thresholds(thresholds)}")
    if any(not point["complete"] for point in points):
        blocks.append(_INCOMPLETE)
    if any(map(_may_have_a_floor, thresholds)):
        blocks.append(_FLOOR_POSSIBLE)
    if unlike := [point for point in points if point["judged"] and not point["judged"]["agrees"]]:
        told = ", ".join(
            f"{p['fer']:.3g} against {p['judged']['fer']:.3g} at level {p['level']}, RBER {p['rber']:.4g}"
            for p in unlike
        )
        # Said first: the number is not to be trusted.
        blocks.insert(0, f"Splitting does not agree with the strata: {told}. Neither is to be trusted there.")
    return "\n\n".join(blocks)


def decode_table(document: dict[str, Any]) -> str:
    """What `softsense.decode_tables.describe` says of a decode table."""
    levels, rber = document["level"], document["rber"]
    rows = [
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
    blocks = [describe(rows)]
    if thresholds := document["thresholds"]:
        blocks.append(f"Raw bit error rate at which decoding fails with\n{_thresholds(thresholds)}")
        if any(map(_may_have_a_floor, thresholds)):
            blocks.append(_FLOOR_POSSIBLE)
    columns = [aligned(["", "RBER", *(f"{rate:.4g}" for rate in rber)], str.rjust)]
    for number, level in enumerate(levels, start=1):
        # Without frames, a value is a bound unless it is exact, which its interval says.
        least = level.get("p_fail_lo", [0.0] * len(rber))
        bounds = [
            frames == 0 and least[i] < level["p_fail"][i] for i, frames in enumerate(level.get("frames", []))
        ] or [False] * len(rber)
        cells = [as_rate(p) + ("*" if bound else " ") for p, bound in zip(level["p_fail"], bounds, strict=True)]
        columns.append(aligned(["level", str(number), *cells], str.rjust))
    blocks.append(f"Failure probability (* an upper bound)\n{joined(columns)}")
    return "\n\n".join(blocks)


def _points(points: Sequence[dict[str, Any]]) -> str:
    columns = []
    if "pe_cycles" in points[0]:
        columns.append(("P/E\ncycles", [f"{p['pe_cycles']:,}" for p in points]))
        columns.append(("retention\ndays", [f"{p['retention_days']:,g}" for p in points]))
    columns += [
        ("\nRBER", [f"{p['rber']:.4g}" for p in points]),
        ("frame error\nrate", [_told(p) for p in points]),
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
    return headed(columns)


_INCOMPLETE = "* incomplete: by extrapolation, more than 25 % is missing: frames with fewer errors than any that failed"
_FLOOR_POSSIBLE = "+ no listed set was seen to fail, but frames were too few to exclude that sets fail as often as this"


def _told(point: dict[str, Any]) -> str:
    """A frame error rate, or that the judge does not agree with it."""
    if point["judged"] and not point["judged"]["agrees"]:
        return "differs! "
    return as_rate(point["fer"]) + (" " if point["complete"] else "*")


def _floor_columns(points: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The parts of a rate, where the sets that make its floor are known, and what splitting says of it."""
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
    """Which absorbing sets the floors are those of."""
    if document["kind"] == "bch":
        return []
    if not (listed := document["traps"]):
        return [("floor", "not measured: no absorbing sets are listed (softsense code traps finds them)")]
    classes = ", ".join(f"{c['sets']:,} ({c['bits']}, {c['violated']})" for c in listed["classes"]) or "none"
    return [("floor", f"of the absorbing sets of up to {listed['most_bits']} bits: {classes}")]


def _share_missing(share: float) -> str:
    return f"{100 * share:.1f}" if share < 10 else f"{100 * share:.0e}"


def _thresholds(thresholds: Sequence[dict[str, Any]]) -> str:
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

    columns = [aligned(["", "level", *map(str, levels)], str.rjust)]
    columns += [
        aligned(
            [
                "" if target[0] is None else "UBER",
                f"{target[0] or target[1]:.0e}",
                *(say(level, target) for level in levels),
            ],
            str.ljust,
        )
        for target in targets
    ]
    return joined(columns)


def _may_have_a_floor(threshold: dict[str, Any]) -> bool:
    found: bool = (threshold["floor_at_most"] or 0.0) > threshold["failure"]
    return found
