"""LaLDPC's four methods on the paper's machine and on ours, and the quantities taken from their summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense.formats import listed
from softsense.papers import Number, Plan, Runs, Workload, inline
from softsense.papers.comparing import Arm, Compared, Quantity, Summary, response, saved, summaries
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc.published import CACHE_BYTES, LEVEL_BITS_SHARE, PUBLISHED

if TYPE_CHECKING:
    from softsense.charts import Sheet

SERIAL = (
    "geometry.blocks_per_plane=2048",
    "flash.busy_unit=die",
    "flash.cache_register=false",
    "host.reads_first=false",
)
"""The paper's machine as DiskSim's SSD extension has it: each of eight packages does one operation at a time, first
come first served, without a cache register. Its 2,048 blocks make the printed 32 GB.
"""


@dataclass(frozen=True)
class Methods:
    """The paper's four methods on one device, all with the same mapping cache."""

    base: Arm
    ideal: Arm
    lru: Arm
    new: Arm

    @property
    def all(self) -> tuple[Arm, ...]:
        """The methods in order: LDPC-in-SSD, Ideal, LaLDPC-LRU, LaLDPC-new."""
        return self.base, self.ideal, self.lru, self.new


def methods(
    *device: str,
    cache_bytes: int = CACHE_BYTES,
    fixed_entries: int = PUBLISHED["fixed_entries"],
    policy: str = "progressive:restart",
    lru: Any = "lru",
    remember_translation_levels: bool = False,
    levels_take_room: bool = False,
) -> Methods:
    """The four methods on a device.

    Args:
        device: overrides for all of them.
        cache_bytes: size of the mapping cache.
        fixed_entries: number of entries that the new eviction spares.
        policy: read policy of all methods but Ideal.
        lru: eviction of the methods that do not have the new one.
        remember_translation_levels: whether LaLDPC remembers levels of translation pages, too.
        levels_take_room: whether the levels that LaLDPC remembers take their part of the cache. Otherwise they are in
            bits of entries that the others do not use.
    """

    def mapping(eviction: Any, remember: bool) -> str:
        taken = round(LEVEL_BITS_SHARE * cache_bytes) if levels_take_room and remember else 0
        demand = {"cache_bytes": cache_bytes - taken, "eviction": eviction, "remember_levels": remember}
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


MAIN = methods(*SERIAL)
"""The basic experiment on the paper's machine."""

OURS = methods()
"""The basic experiment on the shipped device, whose planes work apart and whose reads go first."""

COLOURS = {
    "LDPC-in-SSD": "#7f7f7f",
    "Ideal": "#009e73",
    "LaLDPC-LRU": "#56b4e9",
    "LaLDPC-new": "#0072b2",
    "published": "#7f7f7f",
    "measured": "#0072b2",
}

# The paper's flash read latency: sensing, transfer and decoding of all attempts, without waits, and without the
# translation pages that a miss reads.
FLASH_READ = Quantity("flash_read_us", lambda summary: summary["codeword_reads"]["service_us"])
READ = response("read")
SYSTEM = response("all")
GAINS = {"flash read latency": FLASH_READ, "read response": READ, "system response": SYSTEM}


def retries(summary: Summary) -> int:
    """Attempts after the first attempts, summed over codeword reads."""
    found: int = summary["codeword_reads"]["attempts"] - summary["codeword_reads"]["count"]
    return found


def soft_starts(summary: Summary) -> int:
    """Codeword reads that began above level 1."""
    found: int = summary["codeword_reads"]["soft_starts"]
    return found


def count(summary: Summary) -> int:
    """Codewords of the host that were read from flash."""
    found: int = summary["codeword_reads"]["count"]
    return found


def soft_share(summary: Summary) -> float:
    """The share of codeword reads that ended above level 1."""
    reads = summary["codeword_reads"]
    found: float = sum(reads["level_histogram"][1:]) / reads["count"]
    return found


def read_hits(summary: Summary) -> float:
    """The share of reads whose map entry was in the mapping cache."""
    found: float = summary["mapping"]["read_hit_ratio"]
    return found


def each_seed(plan: Plan, runs: Runs, workload: Workload, arm: Arm, of: Callable[[Summary], float]) -> list[float]:
    """Values of a quantity of an arm on a workload, one for each seed."""
    return [of(summary) for summary in summaries(plan, runs, workload, arm)]


def average(plan: Plan, runs: Runs, arm: Arm, of: Callable[[Summary], float]) -> float:
    """The mean of a quantity over workloads and seeds."""
    return fmean(value for workload in plan.workloads for value in each_seed(plan, runs, workload, arm, of))


def soft_ratio(plan: Plan, runs: Runs, workload: Workload, method: Methods = MAIN) -> float:
    """The soft read ratio of a workload. LDPC-in-SSD begins at level 1, so its levels are the ones that are needed."""
    return fmean(each_seed(plan, runs, workload, method.base, soft_share))


def having(plan: Plan, runs: Runs, arms: Iterable[Arm], of: Callable[[Summary], float]) -> tuple[Plan, str]:
    """The plan with the workloads on which `of` is above 0 for all arms and seeds, and a sentence on those left out."""
    arms = tuple(arms)
    kept: list[Workload] = []
    left: list[Workload] = []
    for workload in plan.workloads:
        some = all(value > 0 for arm in arms for value in each_seed(plan, runs, workload, arm, of))
        (kept if some else left).append(workload)
    told = f" Left out, as there are none on them: {listed([workload.name for workload in left])}." if left else ""
    return replace(plan, workloads=tuple(kept)), told


def origin(plan: Plan) -> str:
    """The number of stand-ins among the workloads, and the names of the real ones."""
    real = [workload.name for workload in plan.workloads if workload.file]
    stand_ins = len(plan.workloads) - len(real)
    return f"{listed(real)} real, {stand_ins} stand-ins" if real else f"{stand_ins} stand-ins"


def by_workload(compared: Compared) -> pl.DataFrame:
    """The numbers of workloads and their mean, for `draw_workloads`."""
    real = {workload.name: workload.file is not None for workload in compared.plan.workloads}
    frame = compared.frame().with_columns(pl.col("group").replace_strict(real, return_dtype=pl.Boolean).alias("real"))
    rows = []
    for arm in compared.arms:
        mean = compared.mean(arm)
        rows.append(
            {"group": "mean", "bar": arm.label, "value": mean.value, "lo": mean.lo, "hi": mean.hi, "real": False}
        )
    return pl.concat([frame, pl.DataFrame(rows)], how="diagonal")


def values_of(plan: Plan, runs: Runs, arms: Sequence[Arm], of: Callable[[Summary], float]) -> pl.DataFrame:
    """Values that are not ratios, by workload and their mean, for `draw_workloads`."""
    rows = []
    for arm in arms:
        each = {workload: each_seed(plan, runs, workload, arm, of) for workload in plan.workloads}
        for workload, values in each.items():
            number = Number.of(values)
            row = {"group": workload.name, "bar": arm.label, "value": number.value, "lo": number.lo, "hi": number.hi}
            rows.append(row | {"real": workload.file is not None})
        mean = Number.of([fmean(of_seed) for of_seed in zip(*each.values(), strict=True)])
        row = {"group": "mean", "bar": arm.label, "value": mean.value, "lo": mean.lo, "hi": mean.hi}
        rows.append(row | {"real": False})
    return pl.DataFrame(rows)


SHORT = "its requests hardly fill the mapping cache once, so that evictions and the size of the cache matter less"
"""Reason why quick runs, of 20,000 or 40,000 requests, are biased: the cache has 8,192 entries."""

OVER_BASE = "over LDPC-in-SSD"

REAL_NOTE = "* a real trace, or an excerpt of one; the others are stand-ins"


def draw_workloads(title: str, label: str, line: float | None = 1.0) -> Callable[[pl.DataFrame], Sheet]:
    """A function that draws numbers by workload."""

    def draw(frame: pl.DataFrame) -> Sheet:
        name = pl.when("real").then(pl.col("group") + "*").otherwise("group").alias("group")
        note = REAL_NOTE if frame["real"].any() else "all workloads are stand-ins"
        return bar_sheet(frame.with_columns(name), title, label, colours=COLOURS, line=line, note=note)

    return draw


# Judged quantities of LaLDPC-new --------------------------------------------------------------------------------------

HEADLINE = ("retries_removed", "latency_removed", "read_gain", "read_response_gain", "system_response_gain")
"""Claims that are one number each, a mean of workloads."""


def headline(plan: Plan, runs: Runs, method: Methods, arm: Arm | None = None) -> dict[str, Number]:
    """The numbers of `HEADLINE`, for LaLDPC-new or another arm."""
    arm = arm or method.new
    kept, _ = having(plan, runs, [method.base], retries)
    found = {"retries_removed": removed(kept, runs, method, arm, retries)}
    found["latency_removed"] = removed(kept, runs, method, arm, FLASH_READ.of)
    for id_, quantity in zip(HEADLINE[2:], GAINS.values(), strict=True):
        found[id_] = saved(Compared(plan, runs, [arm], method.base, quantity).mean(arm))
    return found


def removed_of(
    plan: Plan, runs: Runs, workload: Workload, method: Methods, arm: Arm, of: Callable[[Summary], float]
) -> list[float]:
    """The share of LDPC-in-SSD's excess over Ideal that an arm removes, for each seed."""
    base, ours, least = (each_seed(plan, runs, workload, a, of) for a in (method.base, arm, method.ideal))
    return [(b - o) / (b - i) for b, o, i in zip(base, ours, least, strict=True)]


def removed(plan: Plan, runs: Runs, method: Methods, arm: Arm, of: Callable[[Summary], float]) -> Number:
    """The share of LDPC-in-SSD's excess over Ideal that an arm removes, mean of workloads."""
    each = [removed_of(plan, runs, workload, method, arm, of) for workload in plan.workloads]
    return Number.of([fmean(of_seed) for of_seed in zip(*each, strict=True)])


def mean_number(plan: Plan, runs: Runs, arm: Arm, of: Callable[[Summary], float]) -> Number:
    """The mean of workloads, with its interval over seeds."""
    each = [each_seed(plan, runs, workload, arm, of) for workload in plan.workloads]
    return Number.of([fmean(of_seed) for of_seed in zip(*each, strict=True)])


def needs(level: int) -> str:
    """The override with which every codeword needs this level."""
    return f"reliability.fixed.p_fail={[1.0] * (level - 1) + [0.0]}"
