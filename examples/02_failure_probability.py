"""LDPC-in-SSD, figs. 3 and 10, and LaLDPC, table II: failure probability against raw bit error rate, level by level.

    python examples/02_failure_probability.py --out FOLDER

Draws what was measured for the shipped decode table `flash-8-9` (levels 1 to 7) and what a BCH code with as much parity
can do, finds the raw bit error rates at which each fails with 1e-2, 1e-6, 1e-10 and 1e-15, and sets them beside the
thresholds that LaLDPC read off fig. 10 of LDPC-in-SSD, beside the capacity at that read level and beside density
evolution. The two claims of LDPC-in-SSD about this figure are judged.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import softsense
from softsense import codes, decode_tables
from softsense._core import capacity
from softsense.strata import MOST_EXTRAPOLATED

TARGETS = decode_tables.THRESHOLD_TARGETS
LEVELS = range(1, 8)
# LaLDPC, table II: raw bit error rates below which levels 1 to 7 decode with a failure probability under 1e-15.
PUBLISHED = [0.005, 0.006, 0.008, 0.009, 0.010, 0.012, 0.013]
PUBLISHED_FAILURE = 1e-15
# LDPC-in-SSD, section 2.2: six extra levels tolerate "about 3x" what BCH does, hard decision "slightly" more than it.
SOFT_OVER_BCH = 3.0
COLOURS = plt.get_cmap("viridis")(np.linspace(0, 0.88, len(LEVELS)))


def limits(code: softsense.Code, level: int) -> dict[str, float]:
    """Raw bit error rates that no code, and no decoder of this code, gets beyond."""
    low, high = 1e-4, 0.2
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if capacity(middle, level) > code.rate else (low, middle)
    return {"capacity": low, "density_evolution": code.threshold("sum-product", levels=level)}


def main() -> None:
    """Print the thresholds and the verdicts; write `thresholds.csv`, `claims.json` and `failure-probability.png`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/failure-probability"), help="folder for results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)

    code, bch = softsense.Code.open("flash-8/9"), softsense.Code.open("bch-4KB-t256")
    table = decode_tables.describe("flash-8-9")
    measured = {(row["level"], row["failure"]): row for row in table["thresholds"]}
    bch_at = {target: codes.raw_bit_error_rate(bch.codeword_bits, bch.correctable, target) for target in TARGETS}
    rows: list[dict[str, Any]] = [{"reader": "BCH, t = 256", **{f"{target:.0e}": bch_at[target] for target in TARGETS}}]
    for level in LEVELS:
        row: dict[str, Any] = {"reader": f"level {level}"}
        for target in TARGETS:
            found = measured.get((level, target), {})
            row |= {f"{target:.0e}": found.get("rber"), f"{target:.0e} lo": found.get("lo")}
            row |= {f"{target:.0e} hi": found.get("hi")}
        rows.append(row | {"published": PUBLISHED[level - 1], **limits(code, level)})
    thresholds = pl.DataFrame(rows, infer_schema_length=None)
    thresholds.write_csv(arguments.out / "thresholds.csv", float_precision=6)
    shown = ["reader", *(f"{target:.0e}" for target in TARGETS), "published", "capacity", "density_evolution"]
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=5
    ):
        print(thresholds.select(shown))

    claims = judge(measured, bch_at[PUBLISHED_FAILURE])
    for claim in claims:
        interval = f"{claim['lo']:.2f} to {claim['hi']:.2f}"
        print(f"{claim['claim']}: {claim['measured']:.2f}x ({interval}): {claim['verdict']}")
    (arguments.out / "claims.json").write_text(json.dumps(claims, indent=2) + "\n")
    draw(table, bch).savefig(arguments.out / "failure-probability.png", dpi=110)


def judge(measured: dict[tuple[int, float], dict[str, Any]], bch: float) -> list[dict[str, Any]]:
    """The paper's claims at 1e-15: they hold within 15 % of what it says, and else in direction, or not at all."""
    claims = []
    for level, words, published in (
        (1, "hard-decision LDPC over BCH, published as slightly above 1", 1.0),
        (7, "seven levels over BCH, published as about 3", SOFT_OVER_BCH),
    ):
        found = measured[level, PUBLISHED_FAILURE]
        ratio = found["rber"] / bch
        close = abs(ratio / published - 1) <= 0.15
        verdict = "does not hold" if ratio <= 1 else "holds" if close else "holds in direction"
        ends = {end: found[end] / bch if found[end] else ratio for end in ("lo", "hi")}
        claims.append({"claim": words, "published": published, "measured": ratio, **ends, "verdict": verdict})
    return claims


def draw(table: dict[str, Any], bch: softsense.Code) -> plt.Figure:
    """The curves, with the published thresholds of each level as marks at 1e-15."""
    figure, axis = plt.subplots(figsize=(10, 6.6), constrained_layout=True)
    rates = np.linspace(0.003, 0.0085, 150)
    axis.plot(
        rates,
        [codes.failure_probability(bch.codeword_bits, bch.correctable, rate) for rate in rates],
        color="0.35",
        linestyle="--",
        label="BCH, t = 256 (exact)",
    )
    grid = np.array(table["rber"])
    for level, colour in zip(LEVELS, COLOURS, strict=True):
        curve = table["level"][level - 1]
        known = np.array(curve["frames"]) > 0
        p_fail, low, high = (np.array(curve[name])[known] for name in ("p_fail", "p_fail_lo", "p_fail_hi"))
        axis.fill_between(grid[known], np.maximum(low, 1e-18), high, color=colour, alpha=0.2, linewidth=0)
        label = "level 1 (hard decision)" if level == 1 else f"level {level}"
        axis.plot(grid[known], p_fail, color=colour, label=label)
        measured = np.array(curve["missing"])[known] <= MOST_EXTRAPOLATED
        for points, face in ((measured, colour), (~measured, "white")):
            axis.plot(grid[known][points], p_fail[points], "o", color=colour, markersize=4, markerfacecolor=face)
        axis.plot(PUBLISHED[level - 1], PUBLISHED_FAILURE, marker="v", color=colour, markersize=9, markeredgecolor="k")
    axis.plot([], [], marker="v", color="white", markeredgecolor="k", linestyle="", label="published, at 1e-15")
    axis.plot([], [], "o", color="0.3", markerfacecolor="white", markersize=4, label="partly extrapolated")
    axis.set(yscale="log", ylim=(1e-16, 2), xlim=(0.003, 0.022))
    axis.set_xlabel("raw bit error rate of hard decisions")
    axis.set_ylabel("probability that decoding fails")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color="0.92")
    axis.legend(frameon=False, loc="lower right", fontsize=9)
    axis.set_title("LDPC-in-SSD, figs. 3 and 10: rate 8/9, 4 KB of data", loc="left", weight="bold")
    return figure


if __name__ == "__main__":
    main()
