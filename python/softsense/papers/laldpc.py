"""LaLDPC (Y. Du et al., MSST 2017): its figures, tables and claims, measured.

The device is that of the paper's section IV, `configs/mlc-laldpc.toml`. What the paper leaves open, and what stands in
for workloads that are not to be had, is said in the report.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense import decode_tables
from softsense._core import Cells
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Paper,
    Plan,
    Runs,
    Workload,
    inline,
    markdown_table,
    synthetic,
    t_quantile,
)
from softsense.papers.comparing import (
    Arm,
    Compared,
    Quantity,
    Summary,
    cases,
    listed,
    lone_reads,
    percent,
    rank_correlation,
    response,
    saved,
    summaries,
)
from softsense.papers.drawing import draw_bars, heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# What the paper says -------------------------------------------------------------------------------------------------

PUBLISHED: dict[str, Any] = {
    "redundant_retries_removed": 0.56,
    "read_performance_gain": 0.18,
    "system_response_gain": 0.24,
    "mapping_cache_mb": 64,
    "cache_sizes_mb": [32, 64, 128],
    "fixed_entries": 2000,
    "fixed_entry_lengths": [500, 2000, 5000],
    "pe_cycles": 10_000,
    "pe_stages": [8_000, 10_000, 12_000],
    "initial_retention_days": 365,
    "expected_levels": [3, 4],
    "cache_entry_bytes": 8,
}
"""The published numbers, by the names of `published/laldpc.toml`."""

RBER_BELOW = (0.005, 0.006, 0.008, 0.009, 0.010, 0.012, 0.013)
"""Table II: the raw bit error rates below which levels 1 to 7 suffice."""

LATENCY_US = (85, 109, 133, 157, 181, 205, 229)
"""Table II: what an attempt at levels 1 to 7 takes."""


@dataclass(frozen=True)
class Row:
    """A workload in tables III and IV.

    Attributes:
        name: of the workload.
        reads: as printed; of sectors, as figure `table3` finds.
        writes: as printed.
        read_ratio: as printed.
        days: how long it is.
        soft_read_ratio: the share of reads that need more than level 1.
    """

    name: str
    reads: int
    writes: int
    read_ratio: float
    days: float
    soft_read_ratio: float


WORKLOADS = (
    Row("wdev0", 5172477, 13153463, 0.28, 6.0, 0.36),
    Row("rsrch2", 1090912, 605720, 0.64, 6.6, 0.002),
    Row("proxy0", 545985, 4604603, 0.11, 0.5, 0.17),
    Row("prn1", 6966661, 18265525, 0.28, 1.3, 0.04),
    Row("prn0", 19136490, 5691238, 0.77, 0.7, 0.22),
    Row("ts0", 3976632, 14127647, 0.22, 4.7, 0.36),
    Row("rsrch1", 1110, 334365, 0.03, 5.7, 0.91),
    Row("F1", 6508016, 130648, 0.98, 0.5, 0.99),
    Row("F2", 4312858, 100684, 0.97, 0.5, 1.00),
    Row("hm0", 1167249, 1932058, 0.37, 0.4, 0.41),
    Row("hm1", 6444861, 775983, 0.89, 4.8, 0.21),
    Row("proj1", 773087, 5594270, 0.12, 0.1, 0.005),
    Row("proj3", 3471062, 65402, 0.98, 0.6, 0.58),
    Row("proj4", 1301436, 824502, 0.61, 3.9, 0.05),
    Row("web1", 7992543, 1422974, 0.85, 7.0, 0.46),
)
"""Tables III and IV, in their order."""

_ROWS = {row.name: row for row in WORKLOADS}
_DEVICE = "mlc-laldpc"
_SECTOR = 512
_PAGE = 4096
_DAY_S = 86_400.0
_KIB = 1024
_MIB = 1024 * _KIB
_GIB = 1024 * _MIB
# Read in KiB where the paper prints MB: see figure `cache`.
_CACHE = PUBLISHED["mapping_cache_mb"] * _KIB
_EXACTLY = 0.005
# A rank correlation of fewer says nothing.
_FEWEST_RANKED = 4


# Workloads -----------------------------------------------------------------------------------------------------------

# Assumed: the traces are public, and their addresses are in our sources for three only. Figure `assumed` has others.
_WRITTEN_BYTES = _GIB
_READ_BYTES = 4 * _GIB
_EXPONENT = 0.9


def stand_in(name: str, most: int, written_bytes: int = _WRITTEN_BYTES, read_bytes: int = _READ_BYTES) -> Workload:
    """A synthetic workload with the published statistics of one of the paper.

    Published are the numbers of sectors read and written, here eight a request, how long it is, and the share of reads
    that need soft sensing: those of data that it has not written itself.

    Args:
        name: as in table III.
        most: requests at most, the first ones.
        written_bytes: where writes go (assumed).
        read_bytes: where other reads go (assumed).
    """
    row = _ROWS[name]
    all_requests = (row.reads + row.writes) * _SECTOR // _PAGE
    requests, rate = min(most, all_requests), all_requests / (row.days * _DAY_S)
    fields = synthetic(
        requests=requests,
        read_fraction=row.reads / (row.reads + row.writes),
        sizes=[{"bytes": _PAGE, "share": 1.0}],
        addresses={"zipf": {"exponent": _EXPONENT}},
        arrivals={"poisson": {"requests_per_s": rate}},
        footprint_bytes=written_bytes + read_bytes,
        written_bytes=written_bytes,
        read_after_write=1.0 - row.soft_read_ratio,
    )
    some = (
        f"the first {requests:,} of {all_requests:,} requests" if requests < all_requests else f"{requests:,} requests"
    )
    what = f"stand-in: {some}, {100 * row.reads / (row.reads + row.writes):.3g} % reads, {rate:.3g} a second"
    return Workload(name, what, overrides=fields)


def _plan(full: bool) -> Plan:
    most = 1_000_000 if full else 60_000
    real = {
        "rsrch1": ("real, whole", "msr_rsrch_1.csv.zst", ()),
        "F1": (
            "real, an excerpt of 50,000 requests",
            "umass_Financial1_req3-50002.4Kpages.trace.zst",
            (("format", "disksim"), ("size_unit", "4KiB")),
        ),
        "hm0": ("real, an excerpt of 7,016 requests", "msr_hm_0_excerpt7016.csv.zst", ()),
    }
    workloads = []
    for row in WORKLOADS:
        workload = stand_in(row.name, most)
        if row.name in real:
            what, file, options = real[row.name]
            workload = Workload(row.name, what, file, options, stand_in=workload)
        workloads.append(workload)
    # Nothing but the time to set it up, and its capacity, changes with the number of blocks.
    overrides = () if full else ("geometry.blocks_per_plane=512",)
    return Plan(full, (1, 2, 3), tuple(workloads), 400_000 if full else 100_000, overrides=overrides)


_REPRESENTATIVE = ("prn0", "F2", "hm1", "proj3", "web1")
"""Much read, with few to only soft reads, so that there is something to gain."""


def _some(plan: Plan, names: Sequence[str] = _REPRESENTATIVE) -> Plan:
    """Only workloads of these names; all if there are none of them."""
    chosen = tuple(workload for workload in plan.workloads if workload.name in names)
    return replace(plan, workloads=chosen or plan.workloads)


# The four methods ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Methods:
    """The paper's four methods on one device, all with the same mapping cache."""

    base: Arm
    ideal: Arm
    lru: Arm
    new: Arm

    @property
    def all(self) -> tuple[Arm, ...]:
        """LDPC-in-SSD, Ideal, LaLDPC-LRU, LaLDPC-new."""
        return self.base, self.ideal, self.lru, self.new


def methods(
    *device: str,
    cache_bytes: int = _CACHE,
    fixed_entries: int = PUBLISHED["fixed_entries"],
    policy: str = "progressive:restart",
    lru: Any = "lru",
    remember_translation_levels: bool = False,
) -> Methods:
    """The four methods.

    Args:
        device: overrides for all of them.
        cache_bytes: of the mapping cache.
        fixed_entries: that the new eviction spares.
        policy: how all but Ideal read.
        lru: how entries are evicted where the eviction is not the new one.
        remember_translation_levels: whether LaLDPC remembers levels of translation pages, too.
    """

    def mapping(eviction: Any, remember: bool) -> str:
        demand = {"cache_bytes": cache_bytes, "eviction": eviction, "remember_levels": remember}
        if remember and remember_translation_levels:
            demand["remember_translation_levels"] = True
        return f"ftl.mapping={inline({'demand': demand})}"

    by_level = {"lowest_level": {"fixed_entries": fixed_entries}}
    return Methods(
        Arm("LDPC-in-SSD", policy, (mapping(lru, False), *device)),
        Arm("Ideal", "ideal", (mapping(lru, False), *device)),
        Arm("LaLDPC-LRU", policy, (mapping(lru, True), *device)),
        Arm("LaLDPC-new", policy, (mapping(by_level, True), *device)),
    )


MAIN = methods()
"""The basic experiment."""

_COLOURS = {
    "LDPC-in-SSD": "#7f7f7f",
    "Ideal": "#009e73",
    "LaLDPC-LRU": "#56b4e9",
    "LaLDPC-new": "#0072b2",
    "published": "#7f7f7f",
    "measured": "#0072b2",
}

# What the paper calls flash read latency: sensing, transfer and decoding of all attempts, without waits, and without
# the translation pages that a miss reads.
FLASH_READ = Quantity("flash_read_us", lambda summary: summary["codeword_reads"]["service_us"])
READ = response("read")
SYSTEM = response("all")
_GAINS = {"flash read latency": FLASH_READ, "read response": READ, "system response": SYSTEM}


def _retries(summary: Summary) -> int:
    return summary["codeword_reads"]["attempts"] - summary["codeword_reads"]["count"]


def _soft_starts(summary: Summary) -> int:
    return summary["codeword_reads"]["soft_starts"]


def _soft_share(summary: Summary) -> float:
    """The share of codeword reads that ended above level 1."""
    reads = summary["codeword_reads"]
    return sum(reads["level_histogram"][1:]) / reads["count"]


def _read_hits(summary: Summary) -> float:
    return summary["mapping"]["read_hit_ratio"]


def _each(plan: Plan, runs: Runs, workload: Workload, arm: Arm, of: Callable[[Summary], float]) -> list[float]:
    """A number of an arm on a workload, for each seed."""
    return [of(summary) for summary in summaries(plan, runs, workload, arm)]


def _average(plan: Plan, runs: Runs, arm: Arm, of: Callable[[Summary], float]) -> float:
    """The mean of workloads and seeds."""
    return fmean(value for workload in plan.workloads for value in _each(plan, runs, workload, arm, of))


def _soft(plan: Plan, runs: Runs, workload: Workload, method: Methods = MAIN) -> float:
    """The soft read ratio of a workload: as LDPC-in-SSD reads, which begins at level 1, levels are those needed."""
    return fmean(_each(plan, runs, workload, method.base, _soft_share))


def _with(plan: Plan, runs: Runs, arms: Iterable[Arm], of: Callable[[Summary], float]) -> tuple[Plan, str]:
    """The plan with the workloads where all arms have some of that with each seed, and which were left out."""
    arms = tuple(arms)
    kept, left = [], []
    for workload in plan.workloads:
        some = all(value > 0 for arm in arms for value in _each(plan, runs, workload, arm, of))
        (kept if some else left).append(workload)
    told = f" Left out, as there are none on them: {listed([workload.name for workload in left])}." if left else ""
    return replace(plan, workloads=tuple(kept)), told


def _origin(plan: Plan) -> str:
    """How many of the workloads are real."""
    real = [workload.name for workload in plan.workloads if workload.file]
    stand_ins = len(plan.workloads) - len(real)
    return f"{listed(real)} real, {stand_ins} stand-ins" if real else f"{stand_ins} stand-ins"


def _by_workload(compared: Compared) -> pl.DataFrame:
    """The numbers of workloads and their mean, for `_draw_workloads`."""
    real = {workload.name: workload.file is not None for workload in compared.plan.workloads}
    frame = compared.frame().with_columns(pl.col("group").replace_strict(real, return_dtype=pl.Boolean).alias("real"))
    rows = []
    for arm in compared.arms:
        mean = compared.mean(arm)
        rows.append(
            {"group": "mean", "bar": arm.label, "value": mean.value, "lo": mean.lo, "hi": mean.hi, "real": False}
        )
    return pl.concat([frame, pl.DataFrame(rows)], how="diagonal")


def _values(plan: Plan, runs: Runs, arms: Sequence[Arm], of: Callable[[Summary], float]) -> pl.DataFrame:
    """Numbers that are not ratios, by workload and their mean, for `_draw_workloads`."""
    rows = []
    for arm in arms:
        each = {workload: _each(plan, runs, workload, arm, of) for workload in plan.workloads}
        for workload, values in each.items():
            number = Number.of(values)
            row = {"group": workload.name, "bar": arm.label, "value": number.value, "lo": number.lo, "hi": number.hi}
            rows.append(row | {"real": workload.file is not None})
        mean = Number.of([fmean(of_seed) for of_seed in zip(*each.values(), strict=True)])
        row = {"group": "mean", "bar": arm.label, "value": mean.value, "lo": mean.lo, "hi": mean.hi}
        rows.append(row | {"real": False})
    return pl.DataFrame(rows)


_REAL = "* a real trace, or an excerpt of one; the others are stand-ins"


def _draw_workloads(title: str, label: str, line: float | None = 1.0) -> Callable[[pl.DataFrame], Picture]:
    def draw(frame: pl.DataFrame) -> Picture:
        name = pl.when("real").then(pl.col("group") + "*").otherwise("group").alias("group")
        note = _REAL if frame["real"].any() else "all workloads are stand-ins"
        return draw_bars(frame.with_columns(name), title, label, colours=_COLOURS, line=line, note=note)

    return draw


# Tables III and IV: workloads ----------------------------------------------------------------------------------------


def _sectors(summary: Summary) -> tuple[int, int]:
    """Sectors that were read and written."""
    trace = summary["source"].get("trace")
    if trace:
        return trace["bytes_read"] // _SECTOR, trace["bytes_written"] // _SECTOR
    return summary["reads"] * _PAGE // _SECTOR, summary["writes"] * _PAGE // _SECTOR


def _measure_table3(plan: Plan, runs: Runs) -> Measured:
    rows = []
    for workload in plan.workloads:
        row, summary = _ROWS[workload.name], summaries(plan, runs, workload, MAIN.base)[0]
        read, written = _sectors(summary)
        rows.append(
            {
                "workload": row.name,
                "real": workload.file is not None,
                "published_reads": row.reads,
                "published_writes": row.writes,
                "published_read_ratio": row.read_ratio,
                "published_reads_of_both": row.reads / (row.reads + row.writes),
                "published_days": row.days,
                "requests": summary["requests"],
                "reads": summary["reads"],
                "writes": summary["writes"],
                "sectors_read": read,
                "sectors_written": written,
                "sectors_read_of_both": read / (read + written),
                "days": summary["simulated_s"] / _DAY_S,
            }
        )
    frame = pl.DataFrame(rows)
    heads = ["workload", "reads", "writes", "read ratio", "days", "requests run", "sectors read", "written", "of both"]
    told = [
        [
            row["workload"] + ("*" if row["real"] else ""),
            f"{row['published_reads']:,}",
            f"{row['published_writes']:,}",
            f"{100 * row['published_read_ratio']:.0f} %",
            f"{row['published_days']:g}",
            f"{row['requests']:,}",
            f"{row['sectors_read']:,}",
            f"{row['sectors_written']:,}",
            f"{100 * row['sectors_read_of_both']:.1f} %",
        ]
        for row in rows
    ]
    differ = [
        f"{row['workload']} ({100 * row['published_read_ratio']:.0f} % printed, "
        f"{100 * row['published_reads_of_both']:.1f} % by its counts)"
        for row in rows
        if abs(row["published_read_ratio"] - row["published_reads_of_both"]) > 0.015
    ]
    notes = [f"Printed, and what was run (* real):\n\n{markdown_table(heads, told)}"]
    if differ:
        notes.append(f"Printed read ratios that are not reads over reads and writes: {listed(differ)}.")
    evidence = {}
    whole = next((row for row in rows if row["workload"] == "rsrch1" and row["real"]), None)
    if whole:
        printed, found = (whole[f"{kind}reads"] + whole[f"{kind}writes"] for kind in ("published_", ""))
        sectors = whole["sectors_read"] + whole["sectors_written"]
        why = (
            f"rsrch1 is here whole. It reads {whole['sectors_read']:,} sectors and writes "
            f"{whole['sectors_written']:,}, printed are {whole['published_reads']:,} and "
            f"{whole['published_writes']:,}; its requests are {whole['reads']:,} and {whole['writes']:,}, "
            f"{found / printed:.2f} of what is printed. So table III counts sectors of 512 bytes, and a stand-in has "
            "one request of 4 KiB for eight of them."
        )
        evidence["counts_sectors"] = Evidence(Number.exact(sectors / printed), why)
    excerpt = next((row for row in rows if row["workload"] == "F1" and row["real"]), None)
    if excerpt:
        notes.append(
            f"F1 is printed with {100 * excerpt['published_read_ratio']:.0f} % of reads; of the sectors of the excerpt "
            f"of Financial1 {100 * excerpt['sectors_read_of_both']:.0f} % are read, and "
            f"{100 * excerpt['reads'] / excerpt['requests']:.0f} % of its requests. The public trace is not the "
            "printed one."
        )
    return Measured(frame, evidence, tuple(notes))


def _draw_table3(frame: pl.DataFrame) -> Picture:
    bars = {
        "printed": "published_read_ratio",
        "by the printed counts": "published_reads_of_both",
        "of the sectors run": "sectors_read_of_both",
    }
    rows = [
        {"group": row["workload"] + ("*" if row["real"] else ""), "bar": bar, "value": row[column]}
        for row in frame.iter_rows(named=True)
        for bar, column in bars.items()
    ]
    values = pl.DataFrame(rows).with_columns(lo="value", hi="value")
    colours = dict(zip(bars, ("#7f7f7f", "#56b4e9", "#0072b2"), strict=True))
    note = _REAL if frame["real"].any() else "all workloads are stand-ins"
    return draw_bars(values, "Table III: share of reads", "share", colours=colours, line=None, note=note)


def _measure_table4(plan: Plan, runs: Runs) -> Measured:
    frame = _values(plan, runs, [replace(MAIN.base, label="measured")], _soft_share)
    frame = frame.filter(pl.col("group") != "mean")
    published = pl.DataFrame(
        {"group": name, "bar": "published", "value": _ROWS[name].soft_read_ratio, "real": real}
        for name, real in frame.select("group", "real").iter_rows()
    ).with_columns(lo="value", hi="value")
    evidence = {}
    for workload in plan.workloads:
        if workload.file:
            evidence[f"soft_{workload.name}"] = _soft_evidence(plan, runs, workload)
    off = [
        abs(_soft(plan, runs, workload) - _ROWS[workload.name].soft_read_ratio)
        for workload in plan.workloads
        if not workload.file
    ]
    note = (
        "A soft read is one that needs a level above 1, here by codewords that the host read from flash. Stand-ins are "
        f"made to have the published ratios, and miss them by {100 * max(off):.1f} % of reads at most: this is a check "
        "of the stand-ins, not of the paper."
        if off
        else "A soft read is one that needs a level above 1."
    )
    return Measured(pl.concat([published.select(frame.columns), frame]), evidence, (note,))


def _soft_evidence(plan: Plan, runs: Runs, workload: Workload) -> Evidence:
    found = summaries(plan, runs, workload, MAIN.base)
    reads = [summary["codeword_reads"] for summary in found]
    merged = fmean(summary["writes_detail"]["read_modify_writes"] for summary in found)
    count, soft = (
        fmean(each) for each in ([r["count"] for r in reads], [sum(r["level_histogram"][1:]) for r in reads])
    )
    why = (
        f"The trace is {workload.what}. Of {count:,.0f} codewords that it reads from flash {soft:,.0f} are of data "
        "that it has not written before."
    )
    if "excerpt" in workload.what:
        why += " An excerpt has written less before it reads than the whole."
    if merged:
        why += (
            f" Writes that cover a codeword in part read another {merged:,.0f} first; if those counted as reads, and "
            f"were all soft, it would be {100 * (soft + merged) / (count + merged):.0f} %."
        )
    return Evidence(Number.of([_soft_share(summary) for summary in found]), why)


# Figure 5: why retries are slow, and why levels last -----------------------------------------------------------------

_ALONE = 200


def _needs(level: int) -> str:
    """Every codeword needs this level."""
    return f"reliability.fixed.p_fail={[1.0] * (level - 1) + [0.0]}"


_READERS = {"one level after another": "progressive:restart", "level known": "ideal"}


def _cases_fig05a(plan: Plan) -> list[Case]:
    return [
        Case(lone_reads(_ALONE), policy, (_needs(level), "ftl.mapping=page"), plan.seeds[0])
        for level in range(1, len(LATENCY_US) + 1)
        for policy in _READERS.values()
    ]


def _measure_fig05a(plan: Plan, runs: Runs) -> Measured:
    found = {case: READ.of(runs[case]) for case in _cases_fig05a(plan)}
    rows = []
    for case, measured in found.items():
        level = 1 + case.overrides[0].count("1.0")
        reader = next(reader for reader, policy in _READERS.items() if policy == case.policy)
        says = LATENCY_US[level - 1] if case.policy == "ideal" else sum(LATENCY_US[:level])
        rows.append({"reader": reader, "level": level, "table_ii_us": says, "measured_us": measured})
    frame = pl.DataFrame(rows)
    last = frame.filter(pl.col("level") == len(LATENCY_US))
    evidence = {}
    for id_, reader in (("cumulative_latency", "one level after another"), ("known_latency", "level known")):
        row = last.row(by_predicate=pl.col("reader") == reader, named=True)
        why = (
            f"Table II adds up to {row['table_ii_us']} us; a read on an idle device takes {row['measured_us']:.2f} us."
        )
        evidence[id_] = Evidence(Number.exact(row["measured_us"]), why)
    note = f"One 4 KiB read at a time, {_ALONE} for each level, on the device with its map in memory."
    return Measured(frame, evidence, (note,))


def _draw_fig05a(frame: pl.DataFrame) -> Picture:
    colours = dict(zip(_READERS, ("#7f7f7f", "#009e73"), strict=True))
    bars = frame.select(
        pl.format("level {}", "level").alias("group"),
        pl.col("reader").alias("bar"),
        *(pl.col("measured_us").alias(name) for name in ("value", "lo", "hi")),
    )
    title, note = "Figure 5(a): a read that needs a level", "measured, one read at a time"
    return draw_bars(bars, title, "us", colours=colours, line=None, note=note, digits=0)


_DAYS = range(1, 501)
_HOURS = 24.0
_AT_FAILURE = 1e-15
_SEVERAL_DAYS = 3
_MONTHS_DAYS = 60
_TABLE_II, _REAL_CODE = "table II", "the shipped table flash-8-9"
_LIFE_COLOURS = ("#9ecae1", "#4292c6", "#08519c")


def _real_thresholds() -> list[float]:
    """The raw bit error rates at which the levels of the shipped code fail as often as the paper asks for."""
    table = decode_tables.describe("flash-8-9")
    told = {row["level"]: row["rber"] for row in table["thresholds"] if row["failure"] == _AT_FAILURE}
    found = []
    for level, curve in enumerate(table["level"], start=1):
        # Where the table does not reach down to that probability, the lowest rate at which it shows any failures.
        shown = next(rber for rber, frames in zip(table["rber"], curve["frames"], strict=True) if frames)
        found.append(told.get(level, shown))
    return found


def _level(thresholds: Sequence[float], rber: float) -> int:
    """The least level whose threshold is above the raw bit error rate."""
    return bisect_right(thresholds, rber) + 1


def _measure_fig05b(plan: Plan, runs: Runs) -> Measured:
    stages = PUBLISHED["pe_stages"]
    rber = {}
    for pe_cycles in stages:
        fresh = Cells.open("mlc", pe_cycles)
        rber[pe_cycles] = [fresh.at(pe_cycles, _HOURS * day).rber() for day in _DAYS]
    rows, spans = [], {}
    for source, thresholds in ((_TABLE_II, RBER_BELOW), (_REAL_CODE, _real_thresholds())):
        for pe_cycles in stages:
            levels = [_level(thresholds, each) for each in rber[pe_cycles]]
            spans[source, pe_cycles] = [(level, len(list(days))) for level, days in groupby(levels)]
            rows += [
                {"thresholds": source, "pe_cycles": pe_cycles, "day": day, "rber": at, "level": level}
                for day, at, level in zip(_DAYS, rber[pe_cycles], levels, strict=True)
            ]
    told = [
        [source, f"{pe_cycles:,}", ", ".join(f"level {level} {days} d" for level, days in found)]
        for (source, pe_cycles), found in spans.items()
    ]
    heads = ["thresholds", "P/E cycles", "levels, and for how many days"]
    # The last one goes on beyond what is studied.
    whole = [days for pe_cycles in stages for _, days in spans[_TABLE_II, pe_cycles][:-1]]
    why = (
        f"With table II's thresholds the {len(whole)} levels that end within {_DAYS[-1]} days last {min(whole)} to "
        f"{max(whole)} days, {median(whole):.0f} in the median. Several days are taken as {_SEVERAL_DAYS} at least, "
        f"months as {_MONTHS_DAYS} days. Verify voltages, and references that follow the distributions, are assumed."
    )
    evidence = {
        "levels_last": Evidence(
            Number.exact(min(whole)),
            why,
            in_all=min(whole) >= _SEVERAL_DAYS and max(whole) >= _MONTHS_DAYS,
            in_mean=fmean(whole) >= _SEVERAL_DAYS,
        )
    }
    at = PUBLISHED["initial_retention_days"] - 1
    now = {pe_cycles: _level(RBER_BELOW, rber[pe_cycles][at]) for pe_cycles in stages}
    expected, found = PUBLISHED["expected_levels"], now[PUBLISHED["pe_cycles"]]
    after = listed([f"{rber[pe][at]:.2e} and level {now[pe]} after {pe:,} cycles" for pe in stages])
    why = (
        f"A year old, data has a raw bit error rate of {after}: one level for all old data at a time. The paper's "
        "model leaves verify voltages and references open, and its data may have two levels at once."
    )
    evidence["levels_3_to_4"] = Evidence(
        Number.exact(found),
        why,
        in_all=expected[0] <= found <= expected[1],
        in_mean=expected[0] - 1 <= found <= expected[1] + 1,
    )
    return Measured(pl.DataFrame(rows), evidence, (markdown_table(heads, told),))


def _draw_fig05b(frame: pl.DataFrame) -> Picture:
    from matplotlib.figure import Figure as Picture

    from softsense import plots

    picture = Picture(figsize=(11, 4.6), dpi=110, facecolor="white")
    for i, ((source,), half) in enumerate(frame.group_by(["thresholds"], maintain_order=True)):
        axes = picture.add_axes((0.06 + 0.48 * i, 0.12, 0.44, 0.68))
        plots.head(axes, "")
        for colour, ((pe_cycles,), line) in zip(
            _LIFE_COLOURS, half.group_by(["pe_cycles"], maintain_order=True), strict=False
        ):
            axes.step(line["day"], line["level"], color=colour, linewidth=2, label=f"{pe_cycles:,} P/E cycles")
        axes.set_title(f"thresholds of {source}", loc="left", fontsize=10, color=plots.INK)
        axes.set(xlabel="retention (days)", ylim=(0.7, len(LATENCY_US) + 0.3), yticks=range(1, len(LATENCY_US) + 1))
        axes.grid(color="#e6e6e6", linewidth=0.7)
        if i == 0:
            axes.set_ylabel("read level")
            axes.legend(frameon=False, fontsize=9, labelcolor=plots.INK)
    heading(picture, "Figure 5(b): the level that a page needs", "for a failure probability of 1e-15")
    return picture


# Figures 9 and 10: soft starts and hits ------------------------------------------------------------------------------


def _measure_fig09(plan: Plan, runs: Runs) -> Measured:
    kept, left = _with(plan, runs, [MAIN.lru], _soft_starts)
    shares = {
        arm: _average(kept, runs, arm, _soft_starts)
        / _average(kept, runs, MAIN.base, lambda s: _soft_share(s) * _count(s))
        for arm in (MAIN.lru, MAIN.new)
    }
    compared = Compared(kept, runs, [MAIN.lru, MAIN.new], MAIN.lru, Quantity("soft_starts", _soft_starts))
    why = (
        f"With LRU {100 * shares[MAIN.lru]:.0f} % of soft reads begin at a soft level, with the new eviction "
        f"{100 * shares[MAIN.new]:.0f} % (all reads of all workloads, {_origin(kept)}).{left}"
    )
    evidence = {"more_soft_starts": compared.order([MAIN.new, MAIN.lru], compared.mean(MAIN.new), why)}
    return Measured(_by_workload(compared), evidence)


def _count(summary: Summary) -> int:
    return summary["codeword_reads"]["count"]


def _measure_fig10(plan: Plan, runs: Runs) -> Measured:
    kept, left = _with(plan, runs, [MAIN.lru], _read_hits)
    compared = Compared(kept, runs, [MAIN.lru, MAIN.new], MAIN.lru, Quantity("read_hit_ratio", _read_hits))
    hits = [_average(kept, runs, arm, _read_hits) for arm in (MAIN.lru, MAIN.new)]
    why = (
        f"Reads find their entry for {100 * hits[0]:.1f} % of codewords with LRU, {100 * hits[1]:.1f} % with the new "
        f"eviction (mean of workloads, {_origin(kept)}).{left} Entries of what was just written have level 1 and go "
        "first: that costs hits on what is read soon after it was written, and leaves room for entries of old data."
    )
    evidence = {"lower_hit_ratio": compared.order([MAIN.lru, MAIN.new], compared.mean(MAIN.new), why)}
    return Measured(_values(plan, runs, [MAIN.lru, MAIN.new], _read_hits), evidence)


# Figure 11: reads ----------------------------------------------------------------------------------------------------


def _cases_main(plan: Plan) -> list[Case]:
    return cases(plan, *MAIN.all)


def _measure_fig11a(plan: Plan, runs: Runs) -> Measured:
    arms = MAIN.all[1:]
    compared = Compared(plan, runs, arms, MAIN.base, FLASH_READ)
    gains = {arm: saved(compared.mean(arm)) for arm in arms}
    soft = {workload.name: _soft(plan, runs, workload) for workload in plan.workloads}
    evidence = {**_redundant(plan, runs)}
    evidence["read_gain"] = Evidence(
        gains[MAIN.new],
        f"Ideal would save {percent(gains[MAIN.ideal])} (mean of workloads, {_origin(plan)}), as "
        f"{100 * fmean(soft.values()):.0f} % of reads are soft, and all of these need one level, for which Table II "
        f"has retries of {sum(LATENCY_US[:2])} us before {LATENCY_US[2]} us. LaLDPC-LRU saves "
        f"{percent(gains[MAIN.lru])}, LaLDPC-new {percent(gains[MAIN.new])}: "
        f"{gains[MAIN.new].value / gains[MAIN.ideal].value:.2f} of what can be saved. The published "
        f"{100 * PUBLISHED['redundant_retries_removed']:.0f} % of it would be "
        f"{100 * PUBLISHED['redundant_retries_removed'] * gains[MAIN.ideal].value:.1f} %. How much it is hangs on how "
        f"often entries are at hand, and so on addresses, which stand-ins assume. By workload: "
        f"{compared.saved(MAIN.new)}.",
    )
    lru_first = Compared(plan, runs, [MAIN.lru, MAIN.new], MAIN.lru, FLASH_READ)
    others = replace(plan, workloads=tuple(w for w in plan.workloads if w.name != "F2"))
    if others.workloads:
        without = Compared(others, runs, [MAIN.lru, MAIN.new], MAIN.lru, FLASH_READ)
        why = f"Mean of {len(others.workloads)} workloads; the new eviction saves {without.saved(MAIN.new)} of LRU's."
        evidence["new_beats_lru"] = without.order([MAIN.lru, MAIN.new], without.mean(MAIN.new), why)
    if "F2" in lru_first.workloads:
        evidence["f2_exception"] = _f2(plan, runs, lru_first.number("F2", MAIN.new))
    if len(soft) >= _FEWEST_RANKED:
        evidence["gain_by_soft_reads"] = _by_soft_reads(compared, soft)
    return Measured(_by_workload(compared), evidence, (_main_table(plan, runs),))


def _redundant(plan: Plan, runs: Runs) -> dict[str, Evidence]:
    """What LaLDPC-new removes of retries, and of latency beyond that of Ideal."""
    kept, left = _with(plan, runs, [MAIN.base], _retries)
    evidence, each = {}, {}
    for id_, of in (("retries_removed", _retries), ("latency_removed", FLASH_READ.of)):
        for arm in (MAIN.lru, MAIN.new):
            ratios = []
            for workload in kept.workloads:
                base, ours, least = (_each(kept, runs, workload, a, of) for a in (MAIN.base, arm, MAIN.ideal))
                ratios.append([(b - o) / (b - i) for b, o, i in zip(base, ours, least, strict=True)])
            each[id_, arm] = Number.of([fmean(of_seed) for of_seed in zip(*ratios, strict=True)])
            if arm is MAIN.new:
                told = {w.name: fmean(r) for w, r in zip(kept.workloads, ratios, strict=True)}
                least_of, most_of = min(told, key=lambda n: told[n]), max(told, key=lambda n: told[n])
        why = (
            f"Mean of {len(kept.workloads)} workloads ({_origin(kept)}), from {100 * told[least_of]:.0f} % "
            f"({least_of}) to {100 * told[most_of]:.0f} % ({most_of}); with LRU "
            f"{percent(each[id_, MAIN.lru])}.{left} A retry is removed if the entry is still at hand since the last "
            "read of the codeword, so this is the share of soft reads that hit an entry with a level; the first read "
            "of a codeword never does."
        )
        evidence[id_] = Evidence(each[id_, MAIN.new], why)
    return evidence


def _f2(plan: Plan, runs: Runs, number: Number) -> Evidence:
    workload = next(w for w in plan.workloads if w.name == "F2")
    hits = [fmean(_each(plan, runs, workload, arm, _read_hits)) for arm in (MAIN.lru, MAIN.new)]
    why = (
        f"New over LRU in flash read latency, on {'the real F2' if workload.file else 'a stand-in'}. Nearly every "
        f"entry there has the same level, so that the two evictions hardly differ: {100 * hits[0]:.1f} % of reads hit "
        f"with LRU, {100 * hits[1]:.1f} % with the new one. The claim holds unless the new one is shown to be faster: "
        "if the interval reaches 1. The paper suspects a special pattern of access, which a stand-in has not."
    )
    return Evidence(number, why, in_all=number.hi >= 1.0, in_mean=False)


def _by_soft_reads(compared: Compared, soft: Mapping[str, float]) -> Evidence:
    gains = {name: 1 - compared.number(name, MAIN.new).value for name in compared.workloads}
    rho = rank_correlation([soft[name] for name in gains], list(gains.values()))
    degrees = len(gains) - 2
    significant = rho >= 1 or rho * math.sqrt(degrees / (1 - rho * rho)) > t_quantile(degrees)
    why = (
        f"Spearman's rank correlation of the soft read ratio and LaLDPC-new's gain in flash read latency over "
        f"{len(gains)} workloads. It holds if it is above zero at a level of 5 %."
    )
    return Evidence(Number.exact(rho), why, in_all=significant, in_mean=rho > 0)


def _main_table(plan: Plan, runs: Runs) -> str:
    """Means of workloads of all that was measured of the four methods."""
    rows = [
        [
            arm.label,
            *(f"{_average(plan, runs, arm, each.of):,.0f}" for each in _GAINS.values()),
            f"{_average(plan, runs, arm, lambda s: s['response']['write']['mean_us']):,.0f}",
            f"{100 * _average(plan, runs, arm, _read_hits):.1f} %",
            f"{_average(plan, runs, arm, lambda s: s['mapping']['translation_reads'] / s['requests']):.2f}",
        ]
        for arm in MAIN.all
    ]
    heads = [
        "",
        *(f"{name}, us" for name in _GAINS),
        "write response, us",
        "read hits",
        "translation pages read a request",
    ]
    return f"Means of workloads:\n\n{markdown_table(heads, rows)}"


def _measure_response(plan: Plan, runs: Runs, id_: str, quantity: Quantity) -> Measured:
    arms = MAIN.all[1:]
    compared, flash = (Compared(plan, runs, arms, MAIN.base, each) for each in (quantity, FLASH_READ))
    gains = {arm: saved(compared.mean(arm)) for arm in arms}
    base = {name: _average(plan, runs, MAIN.base, each.of) for name, each in _GAINS.items()}
    reads = _average(plan, runs, MAIN.base, lambda s: s["reads"] / s["requests"])
    why = (
        f"LaLDPC-new saves {percent(gains[MAIN.new])}, LaLDPC-LRU {percent(gains[MAIN.lru])}, Ideal "
        f"{percent(gains[MAIN.ideal])} (mean of workloads, {_origin(plan)}), where flash reads alone gain "
        f"{percent(saved(flash.mean(MAIN.new)))}, {percent(saved(flash.mean(MAIN.lru)))} and "
        f"{percent(saved(flash.mean(MAIN.ideal)))}. A flash read takes {base['flash read latency']:.0f} us with "
        f"LDPC-in-SSD, but a read responds after {base['read response']:.0f} us: a miss waits for its translation "
        "page, which is as old as the data, needs its level, and is read from level 1 on by all but Ideal."
    )
    if quantity is SYSTEM:
        why += (
            f" Of requests {100 * (1 - reads):.0f} % are writes in the mean, which take "
            f"{_average(plan, runs, MAIN.base, lambda s: s['response']['write']['mean_us']):,.0f} us, mostly their own "
            "program. At the published rates hardly anything waits for anything else, so that faster reads help no "
            "other request."
        )
        if gains[MAIN.ideal].value < PUBLISHED["system_response_gain"]:
            why += " Of these workloads not even Ideal gains what is published."
    return Measured(_by_workload(compared), {id_: Evidence(gains[MAIN.new], why)})


# Figure 13: cache, fixed entries, life -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Setting:
    """A value of one of the three parameters."""

    parameter: str
    value: int
    label: str
    methods: Methods


def _settings() -> list[_Setting]:
    found = [
        _Setting("cache", size, f"cache\n{size} KB", methods(cache_bytes=size * _KIB))
        for size in PUBLISHED["cache_sizes_mb"]
    ]
    found += [
        _Setting("fixed entries", entries, f"fixed\n{entries:,}", methods(fixed_entries=entries))
        for entries in PUBLISHED["fixed_entry_lengths"]
    ]
    for pe_cycles in PUBLISHED["pe_stages"]:
        # The basic experiment as it is, so that it is not run again.
        worn = () if pe_cycles == PUBLISHED["pe_cycles"] else (f"precondition.pe_cycles={pe_cycles}",)
        found.append(_Setting("P/E cycles", pe_cycles, f"P/E\n{pe_cycles:,}", methods(*worn)))
    return found


def _fig13(plan: Plan) -> Plan:
    """All workloads in a full run, a third of them in a quick one."""
    return plan if plan.full else _some(plan)


def _cases_fig13(plan: Plan) -> list[Case]:
    return [case for setting in _settings() for case in cases(_fig13(plan), *setting.methods.all)]


def _measure_fig13(plan: Plan, runs: Runs) -> Measured:
    some = _fig13(plan)
    rows, told = [], []
    found: dict[tuple[str, int], Compared] = {}
    for setting in _settings():
        arms, base = setting.methods.all[1:], setting.methods.base
        flash, answers = (Compared(some, runs, arms, base, quantity) for quantity in (FLASH_READ, READ))
        found[setting.parameter, setting.value] = flash
        for arm in arms:
            mean, read = flash.mean(arm), answers.mean(arm)
            row = {"group": setting.label, "bar": arm.label, "value": mean.value, "lo": mean.lo, "hi": mean.hi}
            rows.append(row | {"read_response": read.value, "read_response_lo": read.lo, "read_response_hi": read.hi})
        cells = [f"{flash.mean(arm).value:.3f}" for arm in arms] + [f"{answers.mean(arm).value:.3f}" for arm in arms]
        soft = fmean(_soft(some, runs, workload, setting.methods) for workload in some.workloads)
        told.append([setting.label.replace("\n", " "), f"{100 * soft:.0f} %", *cells])
    labels = [arm.label for arm in MAIN.all[1:]]
    heads = [
        "",
        "soft reads",
        *(f"{label}, flash read" for label in labels),
        *(f"{label}, response" for label in labels),
    ]
    note = (
        f"Over LDPC-in-SSD on the same device, mean of {listed(_names(some))}. Cache sizes are KB where the paper "
        f"has MB (see figure `cache`):\n\n{markdown_table(heads, told)}"
    )
    evidence = {
        "larger_cache_helps": _monotone(found, "cache", rising=False),
        "fixed_entries_lower_gain": _monotone(found, "fixed entries", rising=True),
        "later_life_helps": _monotone(found, "P/E cycles", rising=False),
        "life_matters_most": _life_matters_most(found),
    }
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _names(plan: Plan) -> list[str]:
    """The names of the workloads."""
    return [workload.name for workload in plan.workloads]


def _new(compared: Compared) -> Arm:
    return compared.arms[-1]


def _monotone(found: Mapping[tuple[str, int], Compared], parameter: str, rising: bool) -> Evidence:
    """Whether LaLDPC-new's ratio to LDPC-in-SSD rises, or falls, with a parameter: on all workloads, in their mean."""
    mine = {value: compared for (name, value), compared in found.items() if name == parameter}

    def met(ratios: Sequence[float]) -> bool:
        return all(a < b if rising else a > b for a, b in pairwise(ratios))

    first, last = (mine[value] for value in (min(mine), max(mine)))
    each = {
        name: met([compared.number(name, _new(compared)).value for compared in mine.values()])
        for name in first.workloads
    }
    means = [compared.mean(_new(compared)) for compared in mine.values()]
    wrong = [name for name, good in each.items() if not good]
    gains = listed([f"{percent(saved(mean))} at {value:,}" for value, mean in zip(mine, means, strict=True)])
    why = f"LaLDPC-new's gain in flash read latency, mean of workloads: {gains}."
    why += f" Not so on {listed(wrong)}." if wrong else ""
    number = Number.ratio(last.seed_means(_new(last)), first.seed_means(_new(first)))
    return Evidence(number, why, in_all=not wrong, in_mean=met([mean.value for mean in means]))


def _life_matters_most(found: Mapping[tuple[str, int], Compared]) -> Evidence:
    workloads = next(iter(found.values())).workloads
    parameters = list(dict.fromkeys(parameter for parameter, _ in found))

    def spread(parameter: str, of: Callable[[Compared], float]) -> float:
        values = [of(compared) for (name, _), compared in found.items() if name == parameter]
        return max(values) - min(values)

    means = {parameter: spread(parameter, lambda c: c.mean(_new(c)).value) for parameter in parameters}
    wrong = []
    for workload in workloads:
        of = partial(_ratio_on, workload)
        if max(parameters, key=lambda parameter: spread(parameter, of)) != "P/E cycles":
            wrong.append(workload)
    why = "From the least to the greatest value LaLDPC-new's ratio to LDPC-in-SSD changes by " + listed(
        [f"{value:.3f} with {parameter}" for parameter, value in means.items()]
    )
    why += f" (mean of workloads). Not most with P/E cycles on {listed(wrong)}." if wrong else " (mean of workloads)."
    return Evidence(
        Number.exact(means["P/E cycles"]),
        why,
        in_all=not wrong,
        in_mean=max(means, key=lambda p: means[p]) == "P/E cycles",
    )


def _ratio_on(workload: str, compared: Compared) -> float:
    return compared.number(workload, _new(compared)).value


def _draw_fig13(frame: pl.DataFrame) -> Picture:
    title = "Figure 13: flash read latency, by cache, fixed entries and life"
    return draw_bars(
        frame, title, "over LDPC-in-SSD", colours=_COLOURS, note="mean of workloads, each over the same device's"
    )


# How large the cache is ----------------------------------------------------------------------------------------------

_READINGS = {"64 KB": MAIN, "64 MB": methods(cache_bytes=PUBLISHED["mapping_cache_mb"] * _MIB)}


def _cases_cache(plan: Plan) -> list[Case]:
    return [case for reading in _READINGS.values() for case in cases(plan, *reading.all)]


def _measure_cache(plan: Plan, runs: Runs) -> Measured:
    rows, told = [], []
    for name, reading in _READINGS.items():
        gains = {
            each: Compared(plan, runs, reading.all[1:], reading.base, quantity) for each, quantity in _GAINS.items()
        }
        for arm in reading.all[1:]:
            cells = {}
            if arm is not reading.ideal:
                kept, _ = _with(plan, runs, [reading.base], _retries)
                cells["read hits"] = _mean_number(plan, runs, arm, _read_hits)
                cells["soft starts"] = _soft_started(kept, runs, reading.base, arm)
            cells |= {f"gain in {each}": saved(compared.mean(arm)) for each, compared in gains.items()}
            for measure, number in cells.items():
                row = {"cache": name, "method": arm.label, "measure": measure}
                rows.append(row | {"value": number.value, "lo": number.lo, "hi": number.hi})
            evicted = _average(plan, runs, arm, lambda s: s["mapping"]["evictions"])
            told.append(
                [
                    f"{name}, {arm.label}",
                    f"{_average(plan, runs, arm, lambda s: s['mapping']['entries']):,.0f}",
                    f"{evicted:,.0f}",
                    *(percent(cells[each]) if each in cells else "" for each in ("read hits", "soft starts")),
                    *(percent(cells[f"gain in {each}"]) for each in _GAINS),
                ]
            )
    heads = [
        "cache, method",
        "entries",
        "evictions",
        "read hits",
        "soft reads that start soft",
        *(f"gain, {g}" for g in _GAINS),
    ]
    large = _READINGS["64 MB"]
    evictions = _average(plan, runs, large.lru, lambda s: s["mapping"]["evictions"])
    entries = PUBLISHED["mapping_cache_mb"] * _MIB // PUBLISHED["cache_entry_bytes"]
    note = (
        f"The paper's cache of {PUBLISHED['mapping_cache_mb']} MB would hold {entries:,} entries of "
        f"{PUBLISHED['cache_entry_bytes']} bytes. That is all of a 32 GB device's map: "
        f"{evictions:,.0f} entries are evicted in the mean of workloads, so that nothing depends on which. Then the "
        "two LaLDPC methods are one, and figures 9, 10 and 13 could not come out as they are told. "
        f"{PUBLISHED['mapping_cache_mb']} KB hold {_CACHE // PUBLISHED['cache_entry_bytes']:,} entries, which fits the "
        "fixed lengths of 500 to 5,000, and is what is meant everywhere else here.\n\n" + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), {}, (note,))


def _mean_number(plan: Plan, runs: Runs, arm: Arm, of: Callable[[Summary], float]) -> Number:
    """The mean of workloads, over seeds."""
    each = [_each(plan, runs, workload, arm, of) for workload in plan.workloads]
    return Number.of([fmean(of_seed) for of_seed in zip(*each, strict=True)])


def _soft_started(plan: Plan, runs: Runs, base: Arm, arm: Arm) -> Number:
    """Soft starts over soft reads, mean of workloads."""
    ratios = []
    for workload in plan.workloads:
        soft = _each(plan, runs, workload, base, lambda s: _soft_share(s) * _count(s))
        ratios.append([a / b for a, b in zip(_each(plan, runs, workload, arm, _soft_starts), soft, strict=True)])
    return Number.of([fmean(of_seed) for of_seed in zip(*ratios, strict=True)])


def _draw_cache(frame: pl.DataFrame) -> Picture:
    rows = frame.filter(pl.col("method") != "Ideal").select(
        pl.col("measure").str.replace("gain in ", "gain in\n").alias("group"),
        (pl.col("method") + ", " + pl.col("cache")).alias("bar"),
        *(pl.col(name) * 100 for name in ("value", "lo", "hi")),
    )
    names = rows["bar"].unique(maintain_order=True).to_list()
    colours = dict(zip(names, ("#56b4e9", "#0072b2", "#f0b27a", "#d55e00"), strict=False))
    title, note = "How large the mapping cache is", "mean of workloads; gains over LDPC-in-SSD with the same cache"
    return draw_bars(rows, title, "%", colours=colours, line=None, note=note, digits=0)


# Section III-E: the equation -----------------------------------------------------------------------------------------

_PAGES = 1024
_CACHED = (256, 512, 768)
_NEEDED = (3, 4, 7)


def _uniform(plan: Plan) -> Workload:
    return lone_reads(plan.requests, footprint_bytes=_PAGES * _PAGE)


def _cases_eq(plan: Plan) -> list[Case]:
    return [case for level in _NEEDED for entries in _CACHED for case in _eq_cases(plan, level, entries)]


def _eq_cases(plan: Plan, level: int, entries: int) -> list[Case]:
    """One for each seed."""
    arm = methods(_needs(level), cache_bytes=entries * PUBLISHED["cache_entry_bytes"]).lru
    return [Case(_uniform(plan), arm.policy, arm.overrides, seed) for seed in plan.seeds]


def _measure_eq(plan: Plan, runs: Runs) -> Measured:
    rows, ratios = [], {}
    for level in _NEEDED:
        for entries in _CACHED:
            found = [runs[case] for case in _eq_cases(plan, level, entries)]
            r = entries / _PAGES
            says = r * LATENCY_US[level - 1] + (1 - r) * sum(LATENCY_US[:level])
            number, hits = Number.of(FLASH_READ.each(found)), Number.of([_read_hits(summary) for summary in found])
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
        f"{off:.4f} at most from C / N as the cache begins empty, the equation is met within {100 * exact:.2g} %. It "
        "leaves the read of the translation page out, as the paper's flash read latency does."
    )
    note = (
        f"T = r T_L + (1 - r) (T_1 + ... + T_L): {plan.requests:,} reads of one page with each seed, one at a time, "
        f"uniform over N = {_PAGES:,} pages that all need level L, {listed([f'{c}' for c in _CACHED])} entries, LRU, "
        "so that r = C / N. Levels that rise between two reads (L0 < L1) are not in this."
    )
    return Measured(frame, {"equation": Evidence(ratios[level, entries], why)}, (note,))


def _draw_eq(frame: pl.DataFrame) -> Picture:
    rows = []
    for row in frame.iter_rows(named=True):
        group = f"level {row['level']}\nr = {row['entries_of_pages']:g}"
        says = row["equation_us"]
        rows.append({"group": group, "bar": "equation", "value": says, "lo": says, "hi": says})
        rows.append({"group": group, "bar": "measured", "value": row["measured_us"], "lo": row["lo"], "hi": row["hi"]})
    colours = {"equation": "#7f7f7f", "measured": "#0072b2"}
    title = "Section III-E: flash read latency with a hit ratio of r"
    return draw_bars(pl.DataFrame(rows), title, "us", colours=colours, line=None, digits=0)


# What was assumed ----------------------------------------------------------------------------------------------------

_PROTECTED = 0.8
# Requests a second; published are some tens at most. Below saturation, where queues would grow with the run.
_LOADS = (10_000, 40_000)


def _assumptions() -> dict[str, Methods]:
    """The four methods under what might have been assumed instead, or goes beyond the paper."""
    protected = int(_PROTECTED * _CACHE / PUBLISHED["cache_entry_bytes"])
    found = {"as assumed": MAIN}
    for exponent in (0.7, 1.1):
        found[f"Zipf {exponent}"] = methods(f"workload.addresses={inline({'zipf': {'exponent': exponent}})}")
    found["denser\nreads"] = methods(f"workload.footprint_bytes={_WRITTEN_BYTES + _READ_BYTES // 4}")
    for rate in _LOADS:
        arrivals = inline({"poisson": {"requests_per_s": float(rate)}})
        found[f"{rate:,}\na second"] = methods(f"workload.arrivals={arrivals}")
    for pe_cycles in (PUBLISHED["pe_cycles"], max(PUBLISHED["pe_stages"])):
        real = "reliability.table.file=flash-8-9", f"precondition.pe_cycles={pe_cycles}"
        found[f"flash-8-9\n{pe_cycles:,} P/E"] = methods(*real)
    found["incremental\nretries"] = methods(policy="progressive:incremental")
    found["segmented\nLRU"] = methods(lru={"segmented_lru": {"protected_entries": protected}})
    found["levels of\ntranslation"] = methods(remember_translation_levels=True)
    return found


def _stand_ins(plan: Plan) -> Plan:
    """A few stand-ins, as their addresses and rates are what is assumed."""
    some = _some(plan)
    stand_ins = tuple(workload.stand_in or workload for workload in some.workloads)
    return replace(some, workloads=tuple(workload for workload in stand_ins if not workload.file))


def _cases_assumed(plan: Plan) -> list[Case]:
    return [case for each in _assumptions().values() for case in cases(_stand_ins(plan), *each.all)]


def _measure_assumed(plan: Plan, runs: Runs) -> Measured:
    some = _stand_ins(plan)
    rows, told = [], []
    for name, each in _assumptions().items():
        cells = []
        for measure, quantity in _GAINS.items():
            compared = Compared(some, runs, each.all[1:], each.base, quantity)
            for arm in compared.arms:
                gain = saved(compared.mean(arm))
                row = {"assumption": name.replace("\n", " "), "measure": measure, "method": arm.label}
                rows.append(row | {"value": gain.value, "lo": gain.lo, "hi": gain.hi})
                cells.append(percent(gain))
        busy = _average(some, runs, each.base, lambda s: s["utilisation"]["channel"])
        soft = fmean(_soft(some, runs, workload, each) for workload in some.workloads)
        hits = [_average(some, runs, arm, _read_hits) for arm in (each.lru, each.new)]
        told.append(
            [
                name.replace("\n", " "),
                f"{100 * soft:.0f} %",
                f"{100 * hits[0]:.0f}, {100 * hits[1]:.0f} %",
                f"{100 * busy:.2g} %",
                *(", ".join(cells[i : i + 3]) for i in range(0, len(cells), 3)),
            ]
        )
    heads = ["", "soft reads", "read hits: LRU, new", "channels busy", *(f"gain, {measure}" for measure in _GAINS)]
    labels = listed([arm.label for arm in MAIN.all[1:]])
    note = (
        f"Gains of {labels} over LDPC-in-SSD under the same assumption, mean of {listed(_names(some))} "
        "(stand-ins). Denser reads: of old data over a quarter of the bytes. A second: requests arrive so fast, "
        "on all of them. `flash-8-9`: the shipped code's measured failures instead of table II. Incremental retries: a "
        "retry senses and transfers one level more, not all again, with table II's thresholds. Segmented LRU: entries "
        f"used again are kept, in {100 * _PROTECTED:.0f} % of the cache, by all but LaLDPC-new. Levels of translation: "
        f"LaLDPC remembers those of translation pages, too.\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), {}, (note,))


def _draw_assumed(frame: pl.DataFrame) -> Picture:
    rows = frame.filter(pl.col("method") == "LaLDPC-new").select(
        pl.col("assumption").str.replace(" ", "\n").alias("group"),
        pl.col("measure").alias("bar"),
        *(pl.col(name) * 100 for name in ("value", "lo", "hi")),
    )
    colours = dict(zip(_GAINS, ("#0072b2", "#56b4e9", "#e69f00"), strict=True))
    title, note = (
        "What was assumed: gains of LaLDPC-new",
        "mean of a few stand-ins, over LDPC-in-SSD under the same assumption",
    )
    return draw_bars(rows, title, "%", colours=colours, line=None, note=note, digits=0)


# The paper -----------------------------------------------------------------------------------------------------------

_OVER_BASE = "over LDPC-in-SSD"

PAPER = Paper(
    name="laldpc",
    title="LaLDPC, reproduced",
    published="Y. Du, D. Zou, Q. Li, L. Shi, H. Jin, C. J. Xue, LaLDPC: Latency-aware LDPC for Read Performance "
    "Improvement of Solid State Drives, MSST 2017",
    config=_DEVICE,
    intro="The plotted values of the paper's figures are not in its text, so claims are those of its prose and tables. "
    "The device is `configs/mlc-laldpc.toml`: table I's times, table II's levels, data a year old after 10,000 P/E "
    "cycles, and a map in flash with a mapping cache of 64 KB, where the paper prints 64 MB (figure `cache`). Most of "
    "its traces are not to be had. A stand-in has the published number of sectors read and written, eight to a "
    "request, their share of reads, mean rate (Poisson), and share of reads that need soft sensing, as reads of what "
    "the workload wrote before need none. Assumed are its addresses: Zipf with an exponent of 0.9, writes over 1 GiB, "
    "reads of old data over 4 GiB (figure `assumed` has others).",
    plan=_plan,
    figures=(
        Figure(
            "table3",
            "Table III: the workloads",
            _measure_table3,
            _draw_table3,
            lambda plan: cases(plan, MAIN.base),
        ),
        Figure(
            "table4",
            "Table IV: soft reads",
            _measure_table4,
            _draw_workloads("Table IV: share of reads that need soft sensing", "share of reads", None),
            lambda plan: cases(plan, MAIN.base),
        ),
        Figure("5a", "Figure 5(a): what retries cost", _measure_fig05a, _draw_fig05a, _cases_fig05a),
        Figure("5b", "Figure 5(b): how long a level lasts", _measure_fig05b, _draw_fig05b),
        Figure(
            "9",
            "Figure 9: reads that start at a soft level",
            _measure_fig09,
            _draw_workloads("Figure 9: reads that start at a soft level", "over LaLDPC-LRU"),
            lambda plan: cases(plan, MAIN.base, MAIN.lru, MAIN.new),
        ),
        Figure(
            "10",
            "Figure 10: hits of the mapping cache",
            _measure_fig10,
            _draw_workloads("Figure 10: reads whose entry is in the mapping cache", "share of reads", None),
            lambda plan: cases(plan, MAIN.lru, MAIN.new),
        ),
        Figure(
            "11a",
            "Figure 11(a): flash read latency",
            _measure_fig11a,
            _draw_workloads("Figure 11(a): flash read latency", _OVER_BASE),
            _cases_main,
        ),
        Figure(
            "11b",
            "Figure 11(b): read response",
            lambda plan, runs: _measure_response(plan, runs, "read_response_gain", READ),
            _draw_workloads("Figure 11(b): mean read response", _OVER_BASE),
            _cases_main,
        ),
        Figure(
            "12",
            "Figure 12: system response",
            lambda plan, runs: _measure_response(plan, runs, "system_response_gain", SYSTEM),
            _draw_workloads("Figure 12: mean response of reads and writes", _OVER_BASE),
            _cases_main,
        ),
        Figure("13", "Figure 13: cache, fixed entries, life", _measure_fig13, _draw_fig13, _cases_fig13),
        Figure("cache", "How large the mapping cache is", _measure_cache, _draw_cache, _cases_cache),
        Figure("eq", "Section III-E: the equation", _measure_eq, _draw_eq, _cases_eq),
        Figure("assumed", "What was assumed, and what goes beyond", _measure_assumed, _draw_assumed, _cases_assumed),
    ),
    claims=(
        Claim(
            "counts_sectors",
            "table3",
            "table III's reads and writes are sectors: those of rsrch1's trace over the printed ones",
            1.0,
            tolerance=_EXACTLY,
        ),
        *(
            Claim(
                f"soft_{name}",
                "table4",
                f"{100 * _ROWS[name].soft_read_ratio:.0f} % of {name}'s reads need soft sensing",
                _ROWS[name].soft_read_ratio,
                unit="%",
            )
            for name in ("rsrch1", "F1", "hm0")
        ),
        Claim(
            "cumulative_latency",
            "5a",
            f"with level after level, a read that needs level 7 takes {sum(LATENCY_US):,} us (sum of table II)",
            float(sum(LATENCY_US)),
            tolerance=_EXACTLY,
            unit="us",
        ),
        Claim(
            "known_latency",
            "5a",
            f"with its level known it takes {LATENCY_US[-1]} us",
            float(LATENCY_US[-1]),
            tolerance=_EXACTLY,
            unit="us",
        ),
        Claim(
            "levels_last",
            "5b",
            "a level lasts from several days to several months (the shortest, days)",
            rule="order",
            unit="",
        ),
        Claim(
            "levels_3_to_4",
            "5b",
            "after 10,000 P/E cycles and a year, reads need levels around 3 and 4 (the level)",
            rule="order",
            unit="",
        ),
        Claim(
            "more_soft_starts",
            "9",
            "more reads start at a soft level with the new eviction than with LRU (new over LRU)",
            rule="order",
        ),
        Claim("lower_hit_ratio", "10", "the new eviction lowers the hit ratio of reads (new over LRU)", rule="order"),
        Claim(
            "retries_removed",
            "11a",
            "LaLDPC-new removes 56 % of redundant retries, mean of workloads",
            PUBLISHED["redundant_retries_removed"],
            no_effect=0.0,
            unit="%",
        ),
        Claim(
            "latency_removed",
            "11a",
            "the same of redundant latency: what LDPC-in-SSD takes beyond Ideal",
            PUBLISHED["redundant_retries_removed"],
            no_effect=0.0,
            unit="%",
        ),
        Claim(
            "read_gain",
            "11a",
            "LaLDPC-new improves read performance by 18 %: flash read latency",
            PUBLISHED["read_performance_gain"],
            no_effect=0.0,
            unit="%",
        ),
        Claim(
            "new_beats_lru",
            "11a",
            "flash reads are faster with the new eviction than with LRU, but for F2 (new over LRU)",
            rule="order",
        ),
        Claim("f2_exception", "11a", "on F2 the new eviction is no better than LRU (new over LRU)", rule="order"),
        Claim(
            "gain_by_soft_reads",
            "11a",
            "the more soft reads, the more LaLDPC gains (rank correlation)",
            rule="order",
            unit="",
        ),
        Claim(
            "read_response_gain",
            "11b",
            "LaLDPC-new improves read performance by 18 %: read response",
            PUBLISHED["read_performance_gain"],
            no_effect=0.0,
            unit="%",
        ),
        Claim(
            "system_response_gain",
            "12",
            "LaLDPC-new improves system response by 24 %, mean of workloads",
            PUBLISHED["system_response_gain"],
            no_effect=0.0,
            unit="%",
        ),
        Claim(
            "larger_cache_helps",
            "13",
            "the larger the cache, the more LaLDPC-new gains (its ratio with the largest over the smallest)",
            rule="order",
        ),
        Claim(
            "fixed_entries_lower_gain",
            "13",
            "the more fixed entries, the less it gains (its ratio with the most over the fewest)",
            rule="order",
        ),
        Claim(
            "later_life_helps",
            "13",
            "the later in life, the more it gains (its ratio with the most P/E cycles over the fewest)",
            rule="order",
        ),
        Claim(
            "life_matters_most",
            "13",
            "it is more sensitive to life than to the other two (change of its ratio)",
            rule="order",
            unit="",
        ),
        Claim(
            "equation",
            "eq",
            "section III-E's equation is the mean of flash reads: measured over equation",
            1.0,
            tolerance=_EXACTLY,
        ),
    ),
)
