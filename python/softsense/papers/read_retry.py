"""The bench of read retry: every technique on the same drives, codes, cells and workloads.

Each was published on a simulator of its own, with a table of error rates of its own. Here they are settings of one read
path, and can be combined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softsense.papers import Case, Figure, Measured, Number, Paper, Plan, Runs, Workload, configured, inline, synthetic
from softsense.papers.comparing import FINANCE1, WEB_SEARCH, Summary, listed
from softsense.papers.drawing import Line, draw_bars, heading, lines, point
from softsense.papers.techniques import CAPABILITY_RBER, at_age, of_cells, predictor, reading
from softsense.retry_tables import with_references

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# Drives and ages -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drive:
    """A shipped drive, its cells, and the P/E cycles of a fresh one, in the middle and at the end of its life."""

    config: str
    cells: str
    pe_cycles: tuple[int, int, int]


DRIVES = (Drive("tlc-3d", "tlc-measured", (0, 1500, 3000)), Drive("qlc-3d", "qlc-1-2-4-8", (0, 500, 1000)))
DAYS = {"3 hours": 0.125, "30 days": 30.0, "90 days": 90.0, "a year": 365.0}

# Techniques ----------------------------------------------------------------------------------------------------------

_TABLE: dict[str, Any] = {"references": "retry_table", "soft_references": "fewest_violated"}
_SENTINEL = {"references": "sentinels"}
_SWIFT = {"references": "share_of_ones"}
_RIF = {**_SWIFT, "predictor": predictor("die", CAPABILITY_RBER)}
_REMEMBERED = {"remembered": "of_block"}
_PR2 = {"retries_ahead": True}
_AR2 = {"retry_sensing_percent": 75}

TRACKED = "references tracked"
SOFT = "soft levels"
TECHNIQUES: dict[str, dict[str, Any]] = {
    TRACKED: {"references": "cells"},
    SOFT: {"references": "cells"},
    "soft levels ahead": {"references": "cells", "policy": "look_ahead_progressive"},
    "table": _TABLE,
    "table + remembered": _TABLE | _REMEMBERED,
    "table + PR2": _TABLE | _PR2,
    "table + AR2": _TABLE | _AR2,
    "table + PR2 + AR2": _TABLE | _PR2 | _AR2,
    "table + PR2 + AR2 + remembered": _TABLE | _PR2 | _AR2 | _REMEMBERED,
    "search for valleys": {"references": "valley_search"},
    "Sentinel": _SENTINEL,
    "Sentinel + remembered": _SENTINEL | _REMEMBERED,
    "Swift-Read": _SWIFT,
    "Swift-Read + remembered": _SWIFT | _REMEMBERED,
    "Swift-Read + controller predicts": _SWIFT | {"predictor": predictor("controller", CAPABILITY_RBER)},
    "RiF": _RIF,
    "RiF + remembered": _RIF | _REMEMBERED,
    "RiF + AR2 + remembered": _RIF | _AR2 | _REMEMBERED,
}
"""Settings of `[read]`. The first knows where states are, which no drive does: a bound. All end with soft levels."""

_FROM_DEFAULT = (SOFT, "soft levels ahead", "search for valleys")
"""Those that begin at the references of the cells, which are the chip's default ones for them."""


@dataclass(frozen=True)
class Condition:
    """A drive at an age."""

    drive: Drive
    stage: int
    age: str

    @property
    def pe_cycles(self) -> int:
        """Of all blocks."""
        return self.drive.pe_cycles[self.stage]


def overrides(technique: str, condition: Condition) -> tuple[str, ...]:
    """Of the drive, read by a technique, at an age."""
    cells: tuple[str, ...] = ()
    if technique in _FROM_DEFAULT:
        cells = (of_cells(with_references(condition.drive.cells, tracked=False)),)
    return (reading(**TECHNIQUES[technique]), *cells, *at_age(condition.pe_cycles, DAYS[condition.age]))


@cache
def _uncorrectable(technique: str, condition: Condition, of_plan: tuple[str, ...]) -> float:
    """The probability that nothing decodes a codeword of the drive as it starts."""
    config = configured(condition.drive.config, (*of_plan, *overrides(technique, condition)))
    return float(np.mean(config.sample_codewords(2000)["p_uncorrectable"]))


@cache
def _metadata_bytes(technique: str, drive: Drive) -> int:
    """What a controller keeps: a byte for each block whose references it remembers."""
    if TECHNIQUES[technique].get("remembered") is None:
        return 0
    geometry = json.loads(configured(drive.config, ()).to_json())["geometry"]
    parts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    return int(np.prod([geometry[part] for part in parts]))


def _in_flash(technique: str, drive: Drive) -> str:
    """What is needed of the flash beside its commands of today."""
    read = TECHNIQUES[technique]
    if read["references"] == "sentinels":
        return "0.2 % of the cells of a page, known"
    if read.get("predictor", {}).get("place") == "die":
        return "a predictor of 0.012 mm2 a die (as RiF says), and counting of ones"
    return {
        "share_of_ones": "counting of ones on command",
        "valley_search": "counting between references on command",
    }.get(read["references"], "shorter sensing on command" if "retry_sensing_percent" in read else "")


# Runs ----------------------------------------------------------------------------------------------------------------


def _saturating(requests: int) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=1.0,
        sizes=[{"bytes": 65_536, "share": 1.0}],
        addresses="uniform",
        arrivals="immediate",
    )
    what = f"{requests:,} reads of 64 KiB, uniform, 256 under way, of data that lies sequentially"
    more = ("host.issue.closed_loop.queue_depth=256", "precondition.layout=sequential")
    return Workload(_SATURATED, what, overrides=(*fields, *more))


def _reads(requests: int) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=1.0,
        sizes=[{"bytes": 4096, "share": 0.6}, {"bytes": 16_384, "share": 0.4}],
        addresses={"zipf": {"exponent": 0.9}},
        arrivals={"poisson": {"requests_per_s": 5_000.0}},
        footprint_bytes=1 << 34,
    )
    what = f"{requests:,} reads of 4 and 16 KiB, Zipf over 16 GiB, 5,000 a second"
    return Workload(_READS, what, overrides=fields)


_SATURATED, _READS = "saturated", "reads"
_TRACES = (
    WEB_SEARCH,
    FINANCE1,
    Workload("hm_0", "real, an excerpt of 7,016 requests", "msr_hm_0_excerpt7016.csv.zst"),
)


def _plan(full: bool) -> Plan:
    requests = 100_000 if full else 10_000
    workloads = (_saturating(requests // 20), _reads(requests), *(_TRACES if full else ()))
    # Nothing but the time to set it up, and its capacity, changes with the number of blocks.
    return Plan(full, (1,), workloads, requests, overrides=("geometry.blocks_per_plane=128",))


def conditions(plan: Plan, drive: Drive) -> list[Condition]:
    """The ages of a drive: a quick look takes the end of its life."""
    stages, ages = ((0, 1, 2), DAYS) if plan.full else ((2,), tuple(DAYS)[1:])
    return [Condition(drive, stage, age) for stage, age in product(stages, ages)]


def _case(workload: Workload, technique: str, condition: Condition, seed: int) -> Case:
    policy = TECHNIQUES[technique].get("policy", "progressive")
    return Case(workload, policy, overrides(technique, condition), seed, condition.drive.config)


def _cases_of(*drives: Drive) -> Callable[[Plan], list[Case]]:
    def of(plan: Plan) -> list[Case]:
        return [
            _case(workload, technique, condition, seed)
            for drive in drives
            for condition in conditions(plan, drive)
            for technique in TECHNIQUES
            for workload in plan.workloads
            for seed in plan.seeds
        ]

    return of


# What is measured ----------------------------------------------------------------------------------------------------

_METRICS: dict[str, tuple[str, str, bool]] = {
    "retries": ("retries", "", False),
    "mean_us": ("mean, us", _READS, False),
    "p99_us": ("p99, us", _READS, False),
    "p9999_us": ("p99.99, us", _READS, False),
    "gb_per_s": ("GB/s", _SATURATED, True),
    "channel_wasted": ("channel wasted", _SATURATED, False),
    "read_uj": ("uJ a read", _READS, False),
}
"""Columns: label, the workload that tells it, and whether more is better."""


def _of(summary: Summary, saturated: Summary) -> dict[str, float]:
    reads, response = summary["codeword_reads"], summary["response"]["read"]
    return {
        "retries": reads["attempts"] / reads["count"] - 1,
        "mean_us": response["mean_us"],
        "p99_us": response["p99_us"],
        "p9999_us": response["p9999_us"],
        "gb_per_s": 65_536 * saturated["reads"] / saturated["simulated_s"] / 1e9,
        "channel_wasted": saturated["utilisation"]["channel_wasted"],
        "read_uj": summary["energy"]["mean_read_uj"],
    }


def _row(plan: Plan, runs: Runs, technique: str, condition: Condition) -> dict[str, Any]:
    """A technique on a drive at an age: means over seeds."""
    by_name = {
        workload.name: [runs[_case(workload, technique, condition, seed)] for seed in plan.seeds]
        for workload in plan.workloads
    }
    each = [_of(*pair) for pair in zip(by_name[_READS], by_name[_SATURATED], strict=True)]
    traces = {
        f"{name}_mean_us": fmean(summary["response"]["read"]["mean_us"] for summary in summaries)
        for name, summaries in by_name.items()
        if name not in (_READS, _SATURATED)
    }
    return {
        "technique": technique,
        "pe_cycles": condition.pe_cycles,
        "age": condition.age,
        **{metric: fmean(of_seed[metric] for of_seed in each) for metric in _METRICS},
        **traces,
        "codewords": sum(summary["codeword_reads"]["count"] for summaries in by_name.values() for summary in summaries),
        "uncorrectable": sum(
            summary["codeword_reads"]["uncorrectable"] for summaries in by_name.values() for summary in summaries
        ),
        "p_uncorrectable": _uncorrectable(technique, condition, plan.overrides),
        "metadata_bytes": _metadata_bytes(technique, condition.drive),
        "in_flash": _in_flash(technique, condition.drive),
    }


def _rows(plan: Plan, runs: Runs, some: Sequence[Condition]) -> list[dict[str, Any]]:
    return [_row(plan, runs, technique, condition) for condition in some for technique in TECHNIQUES]


def _rows_at_the_end(plan: Plan, runs: Runs, drive: Drive) -> list[dict[str, Any]]:
    """Those of the end of its life alone."""
    some = [condition for condition in conditions(plan, drive) if condition.pe_cycles == drive.pe_cycles[-1]]
    return _rows(plan, runs, some)


def _at_the_end(rows: Iterable[dict[str, Any]], drive: Drive) -> list[dict[str, Any]]:
    return [row for row in rows if row["pe_cycles"] == drive.pe_cycles[-1]]


def _over_ages(rows: Sequence[dict[str, Any]], metric: str) -> dict[str, float]:
    """By technique a number over that of tracked references, in the mean of ages."""
    of = {(row["technique"], row["age"]): row[metric] for row in rows}
    ages = list(dict.fromkeys(row["age"] for row in rows))
    return {technique: fmean(of[technique, age] / of[TRACKED, age] for age in ages) for technique in TECHNIQUES}


_LOST = 1e-11
"""Of codewords of 4 KiB that nothing decodes: an uncorrectable bit error rate of 3e-16."""
_JUDGED_BY = ("mean_us", "p9999_us", "gb_per_s", "read_uj")


def _scores(rows: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """By technique what it is judged by, over tracked references: less is better."""
    each = [_over_ages(rows, metric) for metric in _JUDGED_BY]
    return {
        technique: [
            1 / score[technique] if _METRICS[metric][2] else score[technique]
            for metric, score in zip(_JUDGED_BY, each, strict=True)
        ]
        for technique in TECHNIQUES
    }


def _broken(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Techniques that lose data at some age: in a run, or too probably."""
    lossy = {row["technique"] for row in rows if row["uncorrectable"] or row["p_uncorrectable"] > _LOST}
    return [name for name in TECHNIQUES if name in lossy]


def on_the_frontier(scores: dict[str, list[float]]) -> list[str]:
    """Those than which no other is better in one number and no worse in the others; less is better."""

    def beats(one: list[float], other: list[float]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    return [name for name, score in scores.items() if not any(beats(other, score) for other in scores.values())]


def _frontier_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What a drive can do without losing data."""
    out = {TRACKED, *_broken(rows)}
    return on_the_frontier({technique: score for technique, score in _scores(rows).items() if technique not in out})


def _drive(drive: Drive) -> Callable[[Plan, Runs], Measured]:
    def measure(plan: Plan, runs: Runs) -> Measured:
        rows = _rows(plan, runs, conditions(plan, drive))
        end = _at_the_end(rows, drive)
        soft = {(row["pe_cycles"], row["age"]): row["mean_us"] for row in rows if row["technique"] == SOFT}
        slower = {
            technique: sum(
                row["mean_us"] > 1.01 * soft[row["pe_cycles"], row["age"]]
                for row in rows
                if row["technique"] == technique
            )
            for technique in TECHNIQUES
        }
        lost = [row for row in rows if row["uncorrectable"]]
        worst = max(rows, key=lambda row: row["p_uncorrectable"])
        frontier = listed([f"*{name}*" for name in _frontier_of(end)])
        losing = listed([f"*{name}* ({n})" for name, n in slower.items() if n]) if any(slower.values()) else "none"
        notes = (
            f"On the frontier after {drive.pe_cycles[-1]:,} P/E cycles: {frontier}. In the mean of ages, no other that "
            "loses no data is better in one of mean, p99.99, bandwidth and energy without being worse in another.",
            f"Of {len(soft)} ages so many have a mean response more than 1 % above that of soft levels about the "
            f"default references: {losing}.",
            (f"Not decoded by anything: {listed([_told_lost(row) for row in lost])}" if lost else "All was decoded")
            + f". A codeword is lost with a probability of {worst['p_uncorrectable']:.1e} at most, in the mean of "
            f"2,000 of the drive (*{worst['technique']}*, {worst['pe_cycles']:,} P/E cycles, {worst['age']}).",
        )
        return Measured(pl.DataFrame(rows), notes=notes)

    return measure


def _told_lost(row: dict[str, Any]) -> str:
    age = f"{row['pe_cycles']:,} P/E cycles, {row['age']}"
    return f"{row['uncorrectable']:,} of {row['codewords']:,} codewords with *{row['technique']}* ({age})"


def _draw_drive(drive: Drive) -> Callable[[pl.DataFrame], Picture]:
    def draw(frame: pl.DataFrame) -> Picture:
        from matplotlib.figure import Figure as Picture

        from softsense import plots

        rows = _at_the_end(frame.to_dicts(), drive)
        ages = list(dict.fromkeys(row["age"] for row in rows))
        of = {(row["technique"], row["age"]): row for row in rows}
        names = list(TECHNIQUES)
        wide = 2.6 + 0.52 * len(ages) * len(_METRICS)
        high = 1.25 + 0.29 * len(names)
        picture = Picture(figsize=(wide, high), dpi=110, facecolor="white")
        for at, (metric, (label, _, more)) in enumerate(_METRICS.items()):
            left = (2.35 + at * (0.52 * len(ages) + 0.03)) / wide
            axes = picture.add_axes((left, 0.02, 0.52 * len(ages) / wide - 0.004, 1 - 1.2 / high))
            values = np.array([[of[name, age][metric] for age in ages] for name in names])
            bound = np.maximum(values[names.index(TRACKED)], 1e-9)
            with np.errstate(divide="ignore"):
                ratio = np.log2(np.maximum(values, 1e-9) / bound) * (-1 if more else 1)
            if metric in ("retries", "channel_wasted"):
                ratio = 2 * values / max(values.max(), 1e-9)
            axes.imshow(ratio, cmap="RdYlGn_r", vmin=-2, vmax=2, aspect="auto", alpha=0.75)
            for (y, x), value in np.ndenumerate(values):
                axes.text(x, y, _short(float(value)), ha="center", va="center", fontsize=7, color=plots.INK)
            axes.set_xticks(range(len(ages)), ages, fontsize=6.5, color=plots.FAINT)
            axes.xaxis.tick_top()
            axes.set_yticks(range(len(names)), names if at == 0 else [], fontsize=8.5, color=plots.INK)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            picture.text(left, 1 - 0.78 / high, label, fontsize=9, color=plots.INK, va="center")
        note = (
            "colours: beside references tracked, which no drive can do; retries, channel wasted and GB/s of the drive "
        )
        heading(picture, f"Read retry on {drive.config} after {drive.pe_cycles[-1]:,} P/E cycles", note + "saturated")
        return picture

    return draw


def _short(value: float) -> str:
    """Three digits at most."""
    if value == 0:
        return "0"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2g}"


# What composes -------------------------------------------------------------------------------------------------------

_ADDED = (
    (SOFT, "soft levels ahead"),
    ("table", "table + remembered"),
    ("table", "table + PR2"),
    ("table", "table + AR2"),
    ("table + PR2", "table + PR2 + AR2"),
    ("table + PR2 + AR2", "table + PR2 + AR2 + remembered"),
    ("Sentinel", "Sentinel + remembered"),
    ("Swift-Read", "Swift-Read + remembered"),
    ("Swift-Read", "Swift-Read + controller predicts"),
    ("Swift-Read", "RiF"),
    ("RiF", "RiF + remembered"),
    ("RiF + remembered", "RiF + AR2 + remembered"),
)
"""What is added to what: the second of each pair has one setting more."""


def _composed(plan: Plan, runs: Runs) -> Measured:
    rows = []
    for drive in DRIVES:
        mean = _over_ages(_rows_at_the_end(plan, runs, drive), "mean_us")
        for before, after in _ADDED:
            value = 1 - mean[after] / mean[before]
            rows.append({"before": before, "after": after, "drive": drive.config, "saved": value})
    return Measured(pl.DataFrame(rows))


_COLOURS = {"tlc-3d": "#0072b2", "qlc-3d": "#d55e00"}


def _draw_composed(frame: pl.DataFrame) -> Picture:
    from matplotlib.figure import Figure as Picture

    from softsense import plots

    picture = Picture(figsize=(10, 5.2), dpi=110, facecolor="white")
    axes = picture.add_axes((0.4, 0.1, 0.57, 0.75))
    plots.head(axes, "")
    for i, drive in enumerate(DRIVES):
        of_drive = frame.filter(pl.col("drive") == drive.config)
        at = [place + 0.4 * (i - 0.5) for place in range(len(_ADDED))]
        axes.barh(at, of_drive["saved"], 0.36, color=_COLOURS[drive.config], label=drive.config)
    axes.set_yticks(range(len(_ADDED)), [f"{before}  \u2192  {after}" for before, after in _ADDED], fontsize=8.5)
    axes.invert_yaxis()
    axes.axvline(0, color=plots.FAINT, linewidth=0.9)
    axes.set_xlabel("part of the mean response of reads that is saved")
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    axes.tick_params(axis="y", length=0, labelcolor=plots.INK)
    heading(
        picture,
        "What one setting more saves",
        "at the end of life, mean of ages; reads that leave the drive idle for most of the time",
    )
    axes.legend(frameon=False, fontsize=9, labelcolor=plots.INK)
    return picture


# The frontier --------------------------------------------------------------------------------------------------------


def _frontier(plan: Plan, runs: Runs) -> Measured:
    rows = []
    for drive in DRIVES:
        end = _rows_at_the_end(plan, runs, drive)
        frontier = _frontier_of(end)
        for technique, score in _scores(end).items():
            if technique != TRACKED:
                numbers = dict(zip(_JUDGED_BY, score, strict=True))
                rows.append({"drive": drive.config, "technique": technique, **numbers})
                rows[-1]["on_the_frontier"] = technique in frontier
    return Measured(pl.DataFrame(rows))


def _draw_frontier(frame: pl.DataFrame) -> Picture:
    from matplotlib.figure import Figure as Picture

    from softsense import plots

    picture = Picture(figsize=(12, 5.6), dpi=110, facecolor="white")
    names = [technique for technique in TECHNIQUES if technique != TRACKED]
    labels = {"mean_us": "mean", "p9999_us": "p99.99", "gb_per_s": "time of a saturating load", "read_uj": "energy"}
    for i, (metric, label) in enumerate(labels.items()):
        axes = picture.add_axes((0.2 + 0.2 * i, 0.06, 0.18, 0.76))
        plots.head(axes, "")
        for drive in DRIVES:
            of_drive = frame.filter(pl.col("drive") == drive.config)
            for place, row in enumerate(of_drive.to_dicts()):
                filled = _COLOURS[drive.config] if row["on_the_frontier"] else "white"
                look = {"color": _COLOURS[drive.config], "markerfacecolor": filled, "markersize": 6.5, "zorder": 3}
                axes.plot(row[metric], place, "o", **look, label=None if place else drive.config)
        axes.set_yticks(range(len(names)), names if i == 0 else [], fontsize=8.5)
        axes.invert_yaxis()
        axes.set_xlim(left=0.9)
        axes.set_title(label, loc="left", fontsize=10, color=plots.INK)
        axes.grid(color="#e6e6e6", linewidth=0.7)
        axes.tick_params(axis="y", length=0, labelcolor=plots.INK)
        if i == 0:
            handles, _ = axes.get_legend_handles_labels()
    note = (
        "over references tracked, at the end of life, mean of ages; filled: no data is lost, and nothing is better in "
    )
    heading(picture, "The frontier", note + "one of the four without being worse in another")
    known = [drive.config for drive in DRIVES]
    picture.legend(handles, known, loc="upper right", frameon=False, fontsize=9, labelcolor=plots.INK, ncols=2)
    return picture


# What a soft level costs ---------------------------------------------------------------------------------------------

_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
_COMPARED = (SOFT, "table + remembered", "Sentinel + remembered", "RiF + remembered")
_OLD = {drive.config: Condition(drive, 2, "a year") for drive in DRIVES}


def _dear_case(plan: Plan, drive: Drive, share: float, technique: str, seed: int) -> Case:
    page_types = json.loads(configured(drive.config, ()).to_json())["flash"]["page_types"]
    dear = [page | {"sense_extra_level_us": round(share * page["sense_us"], 3)} for page in page_types]
    case = _case(plan.workloads[1], technique, _OLD[drive.config], seed)
    return replace(case, overrides=(*case.overrides, f"flash.page_types={inline(dear)}"))


def _dear_cases(plan: Plan) -> list[Case]:
    each = product(DRIVES, _SHARES, _COMPARED, plan.seeds)
    return [_dear_case(plan, drive, share, technique, seed) for drive, share, technique, seed in each]


def _dear(plan: Plan, runs: Runs) -> Measured:
    rows = []
    for drive, technique, share in product(DRIVES, _COMPARED, _SHARES):
        each = [
            runs[_dear_case(plan, drive, share, technique, seed)]["response"]["read"]["mean_us"] for seed in plan.seeds
        ]
        rows.append(point(drive.config, technique, share, Number.exact(fmean(each))))
    note = (
        "The drives sense an extra level in 14 us, as MLC of one boundary does [assumed]. A page with more boundaries "
        "needs two sensings at each of them: what soft levels save depends on that time more than on anything else."
    )
    return Measured(pl.DataFrame(rows), notes=(note,))


# Real decodes --------------------------------------------------------------------------------------------------------

_FIDELITIES = ("decode table", "real decodes")


def _real_case(plan: Plan, drive: Drive, technique: str, fidelity: str, seed: int) -> Case:
    case = _case(_reads(3000 if plan.full else 600), technique, _OLD[drive.config], seed)
    if fidelity == _FIDELITIES[0]:
        return case
    of_table = json.loads(configured(drive.config, case.overrides).to_json())["reliability"]["table"]
    exact = {"code": "flash-8/9", "decoder": "min-sum", "max_iterations": 20}
    exact |= {name: of_table[name] for name in ("rber", "variation")}
    return replace(case, overrides=(*case.overrides, f"reliability={inline({'exact': exact})}"))


def _real_cases(plan: Plan) -> list[Case]:
    each = product(DRIVES, _COMPARED, _FIDELITIES, plan.seeds)
    return [_real_case(plan, drive, technique, fidelity, seed) for drive, technique, fidelity, seed in each]


def _real(plan: Plan, runs: Runs) -> Measured:
    rows, lost = [], {}
    for drive, technique, fidelity in product(DRIVES, _COMPARED, _FIDELITIES):
        summaries = [runs[_real_case(plan, drive, technique, fidelity, seed)] for seed in plan.seeds]
        mean = fmean(summary["response"]["read"]["mean_us"] for summary in summaries)
        reads = [summary["codeword_reads"] for summary in summaries]
        count, uncorrectable = (sum(each[name] for each in reads) for name in ("count", "uncorrectable"))
        lost[drive.config, technique, fidelity] = uncorrectable, count
        rows.append({"group": f"{technique}\n{drive.config}", "bar": fidelity, "value": mean, "lo": mean, "hi": mean})
        rows[-1] |= {"codewords": count, "uncorrectable": uncorrectable}
    by_table, by_decodes = _FIDELITIES
    failing = [
        f"*{technique}* on {config} {there:,} of {count:,} codewords ({lost[config, technique, by_table][0]:,} by the "
        "decode table)"
        for (config, technique, fidelity), (there, count) in lost.items()
        if fidelity == by_decodes and there
    ]
    told = listed(failing) if failing else "none"
    note = (
        "The same reads with each codeword's cells sensed and decoded. Not decoded by anything there: "
        f"{told}. Soft levels about references that are far off tell the decoder less than the decode table supposes."
    )
    return Measured(pl.DataFrame(rows), notes=(note,))


def _draw_real(frame: pl.DataFrame) -> Picture:
    colours = dict(zip(_FIDELITIES, ("#56b4e9", "#0072b2"), strict=True))
    note = "mean response, after a year at the end of life"
    return draw_bars(frame, "Real decodes", "us", colours=colours, line=None, note=note, digits=0)


PAPER = Paper(
    name="read-retry",
    title="Read retry: every technique on the same drives",
    published="A comparison of softsense's own",
    figures=(
        *(
            Figure(
                drive.config,
                f"Read retry on {drive.config}",
                _drive(drive),
                _draw_drive(drive),
                _cases_of(drive),
            )
            for drive in DRIVES
        ),
        Figure("composed", "What one setting more saves", _composed, _draw_composed, _cases_of(*DRIVES)),
        Figure("frontier", "The frontier", _frontier, _draw_frontier, _cases_of(*DRIVES)),
        Figure(
            "soft",
            "What a soft level costs",
            _dear,
            lines(
                "What a soft level costs",
                "time of an extra level, over that of a sensing",
                "mean response of reads, us",
                {
                    SOFT: Line("#7f7f7f"),
                    "table + remembered": Line("#e69f00"),
                    "Sentinel + remembered": Line("#d55e00"),
                    "RiF + remembered": Line("#0072b2"),
                },
                "after a year, at the end of life",
            ),
            _dear_cases,
        ),
        Figure("real", "Real decodes", _real, _draw_real, _real_cases),
    ),
    claims=(),
    plan=_plan,
    config=DRIVES[0].config,
    intro=(
        "Every technique reads the same codewords of the same cells with the same code, and all end with soft levels. "
        "Retries are decodes after the first one of a codeword; what a die senses again before it transfers is none. "
        "Metadata is a byte for each block whose references are remembered; what the flash needs beside its commands "
        "of today is in the CSV. Sentinels, predictors and retry tables are as fitted for these cells, and 0.0085 is "
        "the raw bit error rate beyond which a read is taken for lost. AR2 senses retries for 75 % of their time."
    ),
)
