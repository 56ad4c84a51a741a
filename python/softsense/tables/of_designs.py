"""Designed codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from softsense.formats import as_column_weights, as_rate
from softsense.tables.layout import describe, headed

if TYPE_CHECKING:
    from softsense.code_design import CodeDesign

_MOST_CLASSES = 3

LARGE_SHARE = 0.15
"""The share of its largest sets in a floor. With a smaller share, predictions were within a factor of three.

See docs/model/error-floors.md.
"""


def code_design(design: CodeDesign) -> str:
    """The result of `softsense.design_code` as text."""
    asked, candidates = design.asked, design.candidates
    data, parity = asked["data_bits"], asked["parity_bits"]
    rows = [
        ("asked", f"n = {data + parity:,}, k = {data:,}, rate {data / (data + parity):.4f}"),
        ("decoder", f"{asked['decoder']}, level {asked['level']}, at most {asked['iterations']} iterations"),
        ("target", f"frame error rate {asked['fer']:g}" + _shares(asked.get("shares", []))),
        ("limit", f"RBER {design.limit:.5f}, of the best codes of these lengths, by the normal approximation"),
    ]
    target = "the target" if "shares" in asked else f"{asked['fer']:g}"
    blocks = [describe(rows)]
    profiles = design.profiles
    columns = [
        ("\nfamily", [p["family"] for p in profiles]),
        ("\nbase matrix", [_shape(p) for p in profiles]),
        ("column\nweights", [as_column_weights(p["column_weights"], p["memory"], p["punctured"]) for p in profiles]),
        ("\nthreshold", [f"{p['threshold']:.5f}" for p in profiles]),
        (f"predicted RBER\nat {target}", [f"{p['rber']:.5f}" for p in profiles]),
        *([("limiting\nlevel", [str(p["limiting_level"]) for p in profiles])] if "shares" in asked else []),
    ]
    blocks.append("Best column weights of each family, by density evolution\n" + headed(columns))
    columns = [
        ("\n", [str(i) for i in range(1, len(candidates) + 1)]),
        ("\nbase matrix", [_shape(c) for c in candidates]),
        ("column\nweights", [as_column_weights(c["column_weights"], c["memory"], c["punctured"]) for c in candidates]),
        ("\nseed", [str(c["seed"]) for c in candidates]),
        ("6-\ncycles", [f"{c['six_cycles']:,}" for c in candidates]),
        ("absorbing\nsets", [_sets(c) for c in candidates]),
        (f"RBER at {target}\npredicted", [f"{c['rber']:.5f}" for c in candidates]),
        ("\nas measured", [_known(c["measured_rber"], "{:.5f}") for c in candidates]),
        ("floor\nthere", [_known(c["floor"]) for c in candidates]),
        ("at\nmost", [_known(c["floor_at_most"]) for c in candidates]),
        ("\nmm2", [f"{c['mm2']:.2f}" for c in candidates]),
        ("\ncycles", [f"{c['cycles']:,}" for c in candidates]),
    ]
    blocks.append("Candidates, the best first\n" + headed(columns))
    blocks += [
        f"Candidate {i}: sets of {c['searched_bits']} bits, the largest of the search, make "
        f"{100 * c['floor_of_largest']:.0f} % of its floor. Larger sets may add as much: search with a larger "
        "--bits."
        for i, c in enumerate(candidates, 1)
        if c["floor_of_largest"] > LARGE_SHARE
    ]
    points = [(i, point) for i, c in enumerate(candidates, 1) for point in c["points"] or []]
    if points:
        columns = [
            ("\n", [str(i) for i, _ in points]),
            ("\nlevel", [str(p["level"]) for _, p in points]),
            ("\nRBER", [f"{p['rber']:g}" for _, p in points]),
            ("FER\npredicted", [as_rate(p["predicted"]) for _, p in points]),
            ("\nmeasured", [as_rate(p["fer"]) for _, p in points]),
            ("95 %\nfrom", [as_rate(p["lo"]) for _, p in points]),
            ("\nto", [as_rate(p["hi"]) for _, p in points]),
        ]
        blocks.append("Frame error rates of the measured candidates\n" + headed(columns))
    return "\n\n".join(blocks)


def _shares(shares: list[str]) -> str:
    told = (share.split(":") for share in shares)
    return "".join(f", of level {level} {share}" for level, share in told)


def _shape(row: dict[str, Any]) -> str:
    return f"{row['rows']} x {row['columns']} of {row['circulant_size']}"


def _sets(row: dict[str, Any]) -> str:
    """The smallest classes."""
    classes = [f"{c['sets']:,} ({c['bits']}, {c['violated']})" for c in row["sets"][:_MOST_CLASSES]]
    more = ["..."] if len(row["sets"]) > _MOST_CLASSES else []
    return ", ".join([*classes, *more]) or f"none up to {row['searched_bits']} bits"


def _known(value: float | None, form: str | None = None) -> str:
    if value is None:
        return ""
    return form.format(value) if form else as_rate(value)
