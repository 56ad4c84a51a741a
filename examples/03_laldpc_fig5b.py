"""LaLDPC, fig. 5(b): the read level that a page needs, against retention, at 8,000, 10,000 and 12,000 P/E cycles.

    python examples/03_laldpc_fig5b.py --out FOLDER

The raw bit error rate is that of the paper's threshold-voltage model (its eq. 1; verify voltages and references that
follow the distributions are assumptions, see docs/model/threshold-voltage.md). The level that it needs is found twice:
with the paper's thresholds (table II, which it read off a figure of another code), and with those of the shipped decode
table `flash-8-9`, at the same failure probability of 1e-15.
"""

from __future__ import annotations

import argparse
from bisect import bisect_right
from itertools import groupby
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from softsense import Cells, decode_tables

PE_CYCLES = [8_000, 10_000, 12_000]
DAYS = np.arange(1, 501)
PUBLISHED = [0.005, 0.006, 0.008, 0.009, 0.010, 0.012, 0.013]
FAILURE = 1e-15
COLOURS = {8_000: "#9ecae1", 10_000: "#4292c6", 12_000: "#08519c"}


def needed_levels(thresholds: list[float], pe_cycles: int) -> list[int]:
    """The least level whose threshold is above the raw bit error rate, on each day."""
    fresh = Cells.open("mlc", pe_cycles)
    return [bisect_right(thresholds, fresh.at(pe_cycles, 24.0 * float(day)).rber()) + 1 for day in DAYS]


def main() -> None:
    """Print how long each level lasts; write `fig5b.csv` and `fig5b.png`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/laldpc-fig5b"), help="folder for results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    table = decode_tables.describe("flash-8-9")
    told = {row["level"]: row["rber"] for row in table["thresholds"] if row["failure"] == FAILURE}
    measured = []
    for level, curve in enumerate(table["level"], start=1):
        # Where the table does not reach down to that probability, the lowest rate at which it shows any failures.
        shown = [rber for rber, frames in zip(table["rber"], curve["frames"], strict=True) if frames]
        measured.append(told.get(level, shown[0]))
    sources = {"table II of the paper": PUBLISHED, "the shipped table flash-8-9": measured}
    rows = []
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, constrained_layout=True)
    for axis, (source, thresholds) in zip(axes, sources.items(), strict=True):
        print(f"Levels needed with {source}, and for how many days")
        for pe_cycles in PE_CYCLES:
            levels = needed_levels(thresholds, pe_cycles)
            spans = [(level, len(list(days))) for level, days in groupby(levels)]
            print(f"  {pe_cycles:,} P/E:", ", ".join(f"level {level} {days} d" for level, days in spans))
            axis.step(DAYS, levels, color=COLOURS[pe_cycles], linewidth=2, label=f"{pe_cycles:,} P/E cycles")
            rows += [
                {"thresholds": source, "pe_cycles": pe_cycles, "day": int(day), "level": level}
                for day, level in zip(DAYS, levels, strict=True)
            ]
        axis.set_title(f"Thresholds of {source}", loc="left", fontsize=11)
        axis.set_xlabel("retention (days)")
        axis.set_yticks(range(1, 8))
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="0.92")
    axes[0].set_ylabel("read level for a failure probability of 1e-15")
    axes[0].legend(frameon=False)
    pl.DataFrame(rows).write_csv(arguments.out / "fig5b.csv")
    figure.savefig(arguments.out / "fig5b.png", dpi=110)


if __name__ == "__main__":
    main()
