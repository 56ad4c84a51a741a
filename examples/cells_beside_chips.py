"""Do the charge-trap cells behave as published chips? Raw bit error rates, retries and failures by age beside public
numbers, and what each source would be predicted to say by the others.

docs/model/threshold-voltage.md#cells-that-forget-when-they-are-young says where the numbers come from.
"""

import json
import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, least_squares

import softsense
from softsense import Cells, flash, retry_tables

CELLS = "tlc-charge-trap"
BORNE = 0.0085  # what a 4-KiB LDPC code bears (RiF, 2024)
FIRST_RETRY_DAYS = {0: 17, 200: 14, 500: 10}  # by P/E cycles (RiF)
WORST_TRACKED = (4000, 365, 6.0e-3)  # at most (AiF, 2025)
# Mean retries of two chips of 232 and 176 layers: a public table, by P/E cycles and days.
CHIPS = {
    3000: {30: (0.34, 2.83), 90: (2.57, 5.04), 180: (4.18, 6.13), 365: (5.83, 6.78)},
    6000: {30: (0.58, 3.88), 90: (3.45, 5.85), 180: (4.97, 6.50), 365: (5.98, 6.85)},
}
ASPLOS21 = {(0, 90): 3, (2000, 365): 19.9}  # mean retries: more than, and of 160 chips (PR2/AR2, 2021)
BY_FIT = [(200, 30), (500, 10), (1000, 90), (1000, 365), (2000, 30)]

spec: dict[str, Any] = json.loads(Cells.open(CELLS).spec_json)
table_v = np.array(spec["references"]["retry_table_v"])


def by_fit(pe_cycles: int, days: float) -> float:
    """The mean raw bit error rate of a published fit to a chip of 72 layers, without its term of reads."""
    found: float = 1.48e-3 + 3.90e-10 * pe_cycles**2.05 + 6.28e-5 * pe_cycles**0.14 * (24 * days) ** 0.54
    return found


def worst(cells: Cells) -> float:
    """The raw bit error rate of the worst page."""
    return float(max(cells.rber(page) for page in range(len(cells.pages))))


def retries(cells: Cells) -> float:
    """Entries of the retry table before one that the code bears, mean of pages; between entries in proportion."""
    logs = np.log(cells.rber_off(table_v) / BORNE)
    found = []
    for of_page in logs.T:
        first = int(np.argmax(of_page < 0))
        found.append(first if first == 0 else first - of_page[first] / (of_page[first] - of_page[first - 1]))
    return float(np.mean(found))


# What the four sources would say of one another -----------------------------------------------------------------------


def changed(loss: float, spread: float, wear: float) -> dict[str, Any]:
    """The cells with so many times the loss, its spread and what wear adds to both."""
    mechanism = dict(spec["measured"]["mechanisms"][0])
    mechanism["mean"] = [loss * each for each in mechanism["mean"]]
    mechanism["variance"] = [spread * each for each in mechanism["variance"]]
    for name in ("mean_wear_free", "variance_wear_free"):
        # At the cycles for which the coefficients hold, only the part that needs wear grows.
        free = mechanism[name]
        whole = free + wear * (1 - free)
        mechanism[name] = free / whole
        values = name.removesuffix("_wear_free")
        mechanism[values] = [whole * each for each in mechanism[values]]
    return spec | {"measured": spec["measured"] | {"mechanisms": [mechanism]}}


def at(cells: dict[str, Any], pe_cycles: int, days: float, references: str = "default") -> Cells:
    """Cells of an age."""
    return Cells.from_json(json.dumps(cells), pe_cycles, 24 * days).with_references(references)


def misses(cells: dict[str, Any]) -> dict[str, list[float]]:
    """How far the cells are from each source: logarithms of rates, and retries over half of what chips differ by."""
    pe_cycles, days, most = WORST_TRACKED
    chips = [
        (retries(at(cells, cycles, days)) - (low + high) / 2) / 1.2
        for cycles, by_age in CHIPS.items()
        for days, (low, high) in by_age.items()
    ]
    return {
        "first retries": [math.log(worst(at(cells, *age)) / BORNE) for age in FIRST_RETRY_DAYS.items()],
        "worst tracked page": [math.log(worst(at(cells, pe_cycles, days, "tracked")) / most)],
        "retries of two chips": chips,
        "fit of 72 layers": [math.log(at(cells, *age).rber() / by_fit(*age)) for age in BY_FIT],
    }


def told(cells: dict[str, Any], source: str) -> str:
    """The numbers of a source, as the cells have them."""
    if source == "first retries":
        found = [brentq(lambda d, c=c: worst(at(cells, c, d)) - BORNE, 1e-3, 1e5) for c in FIRST_RETRY_DAYS]
        return "days " + ", ".join(f"{each:.3g}" for each in found)
    if source == "worst tracked page":
        return f"{worst(at(cells, *WORST_TRACKED[:2], 'tracked')):.2g}"
    if source == "retries of two chips":
        return "3,000 cycles: " + ", ".join(f"{retries(at(cells, 3000, days)):.1f}" for days in CHIPS[3000])
    factors = [at(cells, *age).rber() / by_fit(*age) for age in BY_FIT]
    return f"{min(factors):.2f} to {max(factors):.2f} times"


print("published, by the shipped cells, and by cells that are fitted to the three other sources")
SAID = {
    "first retries": "days 17, 14, 10",
    "worst tracked page": "at most 0.006",
    "retries of two chips": "3,000 cycles: 0.3-2.8, 2.6-5.0, 4.2-6.1, 5.8-6.8",
    "fit of 72 layers": "1",
}
for source, said in SAID.items():

    def others(parameters: NDArray[np.float64], without: str = source) -> NDArray[np.float64]:
        """Misses of all sources but one, each source with the same weight."""
        found = misses(changed(*np.exp(parameters)))
        return np.concatenate(
            [np.array(each) / math.sqrt(len(each)) for name, each in found.items() if name != without]
        )

    found = np.exp(least_squares(others, np.zeros(3), bounds=(-2, 2), diff_step=1e-3).x)
    times = "loss {:.2f}, spread {:.2f}, wear {:.2f} times".format(*found)
    print(f"{source}: {said} | {told(spec, source)} | {told(changed(*found), source)} ({times})")

# The picture ----------------------------------------------------------------------------------------------------------

DAYS = np.geomspace(1 / 24, 730, 10)
CYCLES = {0: "#0072b2", 1000: "#009e73", 3000: "#e69f00", 5000: "#d55e00"}
figure, (rates, steps, fails) = plt.subplots(ncols=3, figsize=(15, 5), layout="constrained")
for cycles, colour in CYCLES.items():
    for references, style in (("default", "-"), ("tracked", "--")):
        values = [worst(at(spec, cycles, days, references)) for days in DAYS]
        rates.loglog(DAYS, values, style, color=colour, label=f"{cycles:,} P/E cycles" if style == "-" else None)
for cycles, days in FIRST_RETRY_DAYS.items():
    rates.plot(days, BORNE, "ks", markersize=5)
    beside = {0: (5, -4), 200: (-7, 6), 500: (-22, -4)}[cycles]
    rates.annotate(f"{cycles}", (days, BORNE), textcoords="offset points", xytext=beside, fontsize=8)
rates.plot(*WORST_TRACKED[1:], "kv", markersize=6)
rates.annotate("4,000, at most", WORST_TRACKED[1:], textcoords="offset points", xytext=(-75, 4), fontsize=8)
rates.set(
    title="Raw bit error rate of the worst page",
    xlabel="days since the write",
    ylabel="default (solid), tracked references",
)

SMALL = [
    *("geometry.blocks_per_plane=128", "geometry.pages_per_block=192", "workload.footprint_bytes=1073741824"),
    *("workload.read_fraction=1.0", "workload.requests=10000", "workload.arrivals.poisson.requests_per_s=1000"),
]
untracked = retry_tables.with_references(CELLS, tracked=False)
Path("untracked.toml").write_text(untracked.toml(8))
config = softsense.Config.open("tlc-femu", SMALL)
unaware = softsense.Config.open("tlc-femu", [*SMALL, "reliability.table.rber.threshold_voltage=untracked.toml"])


def remembered(cycles: int, days: float) -> float:
    """Mean retries of reads that begin with the references with which their block was last decoded."""
    age = [f"precondition.pe_cycles={cycles}", f"precondition.retention_days={days}", "read.remembered=of_block"]
    reads = softsense.run(config.with_overrides(age)).summary["codeword_reads"]
    return float(reads["attempts"] / reads["count"] - 1)


for cycles, colour in CYCLES.items():
    in_order = flash.reliability_by_age(config, [cycles], list(DAYS))
    by_default = flash.reliability_by_age(unaware, [cycles], list(DAYS))
    steps.semilogx(DAYS, [row["retries"] for row in in_order], color=colour)
    steps.semilogx(DAYS, [remembered(cycles, days) for days in DAYS], ":", color=colour)
    fails.loglog(DAYS, [max(row["p_fail_hard"], 1e-20) for row in by_default], color=colour)
    fails.loglog(DAYS, [max(row["p_fail_hard"], 1e-20) for row in in_order], "--", color=colour)
for days, (low, high) in CHIPS[3000].items():
    label = "two chips, 3,000" if days == 30 else None
    steps.plot([days, days], [low, high], "k_-", markersize=8, linewidth=1, label=label)
for (cycles, days), found in ASPLOS21.items():
    label = "PR2/AR2: 0 (more than), 2,000" if cycles == 0 else None
    steps.plot(days, found, "k*", markersize=8, label=label)
steps.set(
    title="Retries of a codeword of tlc-femu",
    xlabel="days since the write",
    ylabel="table in order (solid), remembered",
)
fails.set(
    title="Hard decision fails",
    xlabel="days since the write",
    ylabel="default (solid), tracked references",
    ylim=(1e-20, 2),
)
rates.legend(fontsize=8)
steps.legend(fontsize=8)
figure.savefig("cells-beside-chips.png", dpi=100)
print("drawn into cells-beside-chips.png")
