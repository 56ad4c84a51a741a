"""Section III-E: the equation of a flash read's latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, Workload, resting_on
from softsense.papers.comparing import lone_reads
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc.methods import FLASH_READ, methods, needs, read_hits
from softsense.papers.laldpc.published import (
    CACHE_BYTES,
    EXACTLY,
    KIB,
    LATENCY_US,
    LEVEL_BITS_SHARE,
    PUBLISHED,
)
from softsense.papers.stand_ins import PAGE_BYTES

if TYPE_CHECKING:
    from softsense.charts import Sheet

_READS = 200_000
_PAGES = 1024
_CACHED = (256, 512, 768)
_NEEDED = (3, 4, 7)


def _uniform() -> Workload:
    return lone_reads(_READS, footprint_bytes=_PAGES * PAGE_BYTES)


def _cases_eq(plan: Plan) -> list[Case]:
    return [case for level in _NEEDED for entries in _CACHED for case in _eq_cases(plan, level, entries)]


def _eq_cases(plan: Plan, level: int, entries: int) -> list[Case]:
    """Simulations of a level and a number of cached entries, one for each seed."""
    arm = methods(needs(level), cache_bytes=entries * PUBLISHED["cache_entry_bytes"]).lru
    return [Case(_uniform(), arm.policy, arm.overrides, seed) for seed in plan.seeds]


def _measure_eq(plan: Plan, runs: Runs) -> Measured:
    rows, ratios = [], {}
    for level in _NEEDED:
        for entries in _CACHED:
            found = [runs[case] for case in _eq_cases(plan, level, entries)]
            r = entries / _PAGES
            says = r * LATENCY_US[level - 1] + (1 - r) * sum(LATENCY_US[:level])
            number, hits = Number.of(FLASH_READ.each(found)), Number.of([read_hits(summary) for summary in found])
            ratios[level, entries] = Number(number.value / says, number.lo / says, number.hi / says)
            row = {"level": level, "entries_of_pages": r, "equation_us": says, "measured_us": number.value}
            row |= {"lo": number.lo, "hi": number.hi, "read_hit_ratio": hits.value}
            of_hits = hits.value * LATENCY_US[level - 1] + (1 - hits.value) * sum(LATENCY_US[:level])
            rows.append(row | {"equation_of_measured_hits_us": of_hits})
    level, entries = max(ratios, key=lambda key: abs(ratios[key].value - 1))
    frame = pl.DataFrame(rows)
    off = max(abs(row["read_hit_ratio"] - row["entries_of_pages"]) for row in rows)
    exact = max(abs(row["measured_us"] / row["equation_of_measured_hits_us"] - 1) for row in rows)
    why = (
        f"The worst of {len(rows)}: level {level}, r = {entries / _PAGES:g}. With the hits that were measured, "
        f"{off:.4f} at most from C / N as the cache begins empty, the equation is met within "
        f"{as_share(exact, significant=2)}. It leaves the read of the translation page out, as the paper's flash read "
        "latency does."
    )
    note = (
        f"T = r T_L + (1 - r) (T_1 + ... + T_L): {_READS:,} reads of one page with each seed, one at a time, "
        f"uniform over N = {_PAGES:,} pages that all need level L, {listed([f'{c}' for c in _CACHED])} entries, LRU, "
        "so that r = C / N. Levels that rise between two reads (L0 < L1) are not in this."
    )
    taken = (
        f"Four bits of an entry of eight bytes: {CACHE_BYTES // KIB} KiB hold "
        f"{CACHE_BYTES // PUBLISHED['cache_entry_bytes']:,} entries, and "
        f"{round((1 - LEVEL_BITS_SHARE) * CACHE_BYTES) // PUBLISHED['cache_entry_bytes']:,} where levels take room of "
        "their own. What that costs is a reading of the claims about gains: `levels take room` in figure `assumed`."
    )
    evidence = {
        "equation": Evidence(ratios[level, entries], why),
        "level_bits": Evidence(Number.exact(LEVEL_BITS_SHARE), taken),
    }
    return Measured(frame, evidence, (note,))


def _draw_eq(frame: pl.DataFrame) -> Sheet:
    rows = []
    for row in frame.iter_rows(named=True):
        group = f"level {row['level']}\nr = {row['entries_of_pages']:g}"
        says = row["equation_us"]
        rows.append({"group": group, "bar": "equation", "value": says, "lo": says, "hi": says})
        rows.append({"group": group, "bar": "measured", "value": row["measured_us"], "lo": row["lo"], "hi": row["hi"]})
    colours = {"equation": "#7f7f7f", "measured": "#0072b2"}
    title = "Section III-E: flash read latency with a hit ratio of r"
    return bar_sheet(pl.DataFrame(rows), title, "us", colours=colours, line=None, digits=0)


FIGURES = (Figure("eq", "Section III-E: the equation", _measure_eq, _draw_eq, _cases_eq),)

CLAIMS = resting_on(
    "arithmetic",
    Claim(
        "equation",
        "eq",
        "section III-E's equation is the mean of flash reads: measured over equation",
        1.0,
        tolerance=EXACTLY,
    ),
    Claim(
        "level_bits",
        "eq",
        "remembered levels take 6.25 % of the mapping cache",
        0.0625,
        tolerance=EXACTLY,
        unit="%",
        source=("basic_experiment.level_bits",),
    ),
)
