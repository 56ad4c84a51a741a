"""Figures 3 and 10: failure of decoding by raw bit error rate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from softsense import codes
from softsense._core import MAX_LEVEL, Code, capacity
from softsense.campaign import THRESHOLD_TARGETS
from softsense.charts import Chart, Series, Sheet
from softsense.colours import FAINT, INK, LEVELS
from softsense.formats import as_share, level_name
from softsense.papers import (
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    markdown_table,
)
from softsense.papers.ldpc_in_ssd.published import AT_FAILURE, LALDPC_THRESHOLDS, PUBLISHED
from softsense.papers.ldpc_in_ssd.sampled import decode_table, threshold
from softsense.strata import MOST_EXTRAPOLATED


@cache
def _bch() -> Code:
    return Code.open("bch-4KB-t256")


def _bch_at(failure: float) -> float:
    return codes.raw_bit_error_rate(_bch().codeword_bits, _bch().correctable, failure)


def _over_bch(level: int) -> Number:
    found, bch = threshold(level, AT_FAILURE), _bch_at(AT_FAILURE)
    ends = [found[end] or found["rber"] for end in ("lo", "hi")]
    return Number(found["rber"] / bch, ends[0] / bch, ends[1] / bch)


def _limits(level: int) -> dict[str, float]:
    """Upper bounds of the raw bit error rate at a level: for any code of this rate, and for this code's decoders."""
    code = Code.open("flash-8/9")
    low, high = 1e-4, 0.2
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if capacity(middle, level) > code.rate else (low, middle)
    return {"capacity": low, "density_evolution": code.threshold("sum-product", levels=level)}


def _curves(levels: Sequence[int]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for rber in np.linspace(0.003, 0.0085, 111).tolist():
        p_fail = codes.failure_probability(_bch().codeword_bits, _bch().correctable, rber)
        rows.append({"reader": "BCH, t = 256", "level": 0, "rber": rber, "p_fail": p_fail, "lo": p_fail, "hi": p_fail})
    table = decode_table()
    for level in levels:
        curve = table["level"][level - 1]
        for i, rber in enumerate(table["rber"]):
            if curve["frames"][i]:
                row = {"reader": f"level {level}", "level": level, "rber": rber, "p_fail": curve["p_fail"][i]}
                row |= {"lo": curve["p_fail_lo"][i], "hi": curve["p_fail_hi"][i], "missing": curve["missing"][i]}
                rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _measure_fig03(plan: Plan, runs: Runs) -> Measured:
    hard, soft = _over_bch(1), _over_bch(MAX_LEVEL)
    published, ours = LALDPC_THRESHOLDS, [threshold(level, AT_FAILURE).get("rber") for level in (1, MAX_LEVEL)]
    limit = _limits(MAX_LEVEL)["density_evolution"]
    why_soft = (
        f"Seven levels decode up to {ours[1]:.4f}, BCH up to {_bch_at(AT_FAILURE):.5f}. LaLDPC read {published[-1]} "
        f"off the paper's curve; density evolution of sum-product for a code of these degrees allows {limit:.4f}, so "
        "the published curve is that of a weaker code or decoder, which are not stated. The last decades of ours are "
        "partly extrapolated, and an error floor below what was sampled is not excluded."
    )
    why_hard = (
        f"Hard decision decodes up to {ours[0]:.5f} where BCH does up to {_bch_at(AT_FAILURE):.5f}; LaLDPC read "
        f"{published[0]} off the paper's curve, which would be {published[0] / _bch_at(AT_FAILURE):.2f} times BCH."
    )
    evidence = {"soft_over_bch": Evidence(soft, why_soft), "hard_over_bch": Evidence(hard, why_hard)}
    return Measured(_curves([1, MAX_LEVEL]), evidence)


def _measure_fig10(plan: Plan, runs: Runs) -> Measured:
    levels = range(1, MAX_LEVEL + 1)
    # The lowest failure probability at which all levels were measured.
    at = 1e-6
    rber = [threshold(level, at)["rber"] for level in levels]
    steps = [b / a for a, b in pairwise(rber)]
    graceful = all(step > 1 for step in steps)
    rows = []
    for level in levels:
        limits = _limits(level)
        cells = [f"level {level}"]
        for target in THRESHOLD_TARGETS:
            found = threshold(level, target)
            cells.append(f"{found['rber']:.5f}{'' if found['complete'] else '*'}" if found else "")
        cells.append(f"{LALDPC_THRESHOLDS[level - 1]:.3f}")
        cells += [f"{limit:.5f}" for limit in limits.values()]
        rows.append(cells)
    targets = [f"{target:.0e}" for target in THRESHOLD_TARGETS]
    heads = ["reader", *targets, "LaLDPC's reading, 1e-15", "capacity", "density evolution"]
    bch = [f"{_bch_at(target):.5f}" for target in THRESHOLD_TARGETS]
    note = (
        "Raw bit error rates at which decoding fails with a given probability; a star says partly extrapolated, an "
        "empty cell that too little was measured:\n\n"
        + markdown_table(heads, [["BCH, t = 256", *bch, "", "", ""], *rows])
    )
    why = (
        f"At a failure probability of {at:.0e} each level tolerates a higher raw bit error rate than the one before. "
        f"The first extra level brings {as_share(steps[0] - 1, 0)}, the other five together "
        f"{as_share(rber[-1] / rber[1] - 1, 0)}: the trade-off is there, but with this code most of it is the first "
        "step."
    )
    number = Number.exact(rber[-1] / rber[0])
    evidence = {"levels_graceful": Evidence(number, why, in_all=graceful, in_mean=rber[-1] > rber[0])}
    return Measured(_curves(levels), evidence, (note,))


def _draw_curves(frame: pl.DataFrame, title: str) -> Sheet:
    series, thresholds = [], []
    for (level,), curve in frame.group_by(["level"], maintain_order=True):
        assert isinstance(level, int)
        rber, p_fail = curve["rber"].to_list(), curve["p_fail"].to_list()
        if level == 0:
            series.append(Series("BCH, t = 256 (exact)", rber, p_fail, colour=FAINT, dashed=True))
            continue
        extrapolated = [missing > MOST_EXTRAPOLATED for missing in curve["missing"]]
        low = [max(lo, 1e-18) for lo in curve["lo"]]
        look: dict[str, Any] = {"colour": LEVELS[level - 1], "hollow": extrapolated, "marker": "circle"}
        series.append(Series(level_name(level), rber, p_fail, "line", low, curve["hi"].to_list(), band=True, **look))
        thresholds.append(LALDPC_THRESHOLDS[level - 1])
    if thresholds:
        at = [AT_FAILURE] * len(thresholds)
        series.append(Series("published (by LaLDPC)", thresholds, at, "points", colour=INK, marker="down"))
    labels = "raw bit error rate of hard decisions", "probability that decoding fails"
    ranges: dict[str, Any] = {"x_range": (0.003, 0.0225), "y_range": (1e-16, 2)}
    chart = Chart("", series, *labels, log_y=True, hollow="partly extrapolated", **ranges)
    note = "rate 8/9, 4 KB of data; bands: 95 %"
    return Sheet(title, [chart], note, panel=(10, 5.0))


FIGURES = (
    Figure(
        "3",
        "Figure 3: failure of hard decision, seven levels and BCH",
        _measure_fig03,
        lambda frame: _draw_curves(frame, "Figure 3: hard decision, seven levels, and BCH"),
    ),
    Figure(
        "10",
        "Figure 10: failure, level by level",
        _measure_fig10,
        lambda frame: _draw_curves(frame, "Figure 10: all levels, and BCH"),
    ),
)

CLAIMS = (
    Claim(
        "soft_over_bch",
        "3",
        "at 1e-15 seven levels tolerate about three times the raw bit error rate that BCH does",
        PUBLISHED["soft_vs_bch_rber_ratio"],
        no_effect=1.0,
        source=("claims.soft_vs_bch_rber_ratio",),
    ),
    Claim(
        "hard_over_bch",
        "3",
        "at 1e-15 hard decision tolerates slightly more than BCH",
        1.0,
        no_effect=1.0,
        source=("claims.hard_slightly_above_bch",),
    ),
    Claim(
        "levels_graceful",
        "10",
        "each extra level tolerates a higher raw bit error rate (level 7 over level 1, at 1e-6)",
        rule="order",
    ),
)
