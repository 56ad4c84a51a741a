"""Details that the paper leaves open, each varied alone: addresses, arrivals, translation pages, cache, run length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense.formats import as_share
from softsense.papers import Case, Evidence, Figure, Measured, Plan, Runs, inline, markdown_table
from softsense.papers.comparing import cases, percent
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc.methods import (
    GAINS,
    HEADLINE,
    MAIN,
    OURS,
    SERIAL,
    Methods,
    average,
    headline,
    methods,
    read_hits,
    soft_ratio,
)
from softsense.papers.laldpc.published import CACHE_BYTES, MIB, PUBLISHED
from softsense.papers.laldpc.workloads import as_stand_ins
from softsense.papers.stand_ins import EXPONENT, READ_BYTES, ROWS, WRITTEN_BYTES, stand_in

if TYPE_CHECKING:
    from softsense.charts import Sheet

EXPONENTS = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
FRESH = "precondition.translation_pages=fresh"
# Requests of the longest runs, over those of other runs.
_LONGER = 5


@dataclass(frozen=True)
class Reading:
    """One interpretation of details that the paper leaves open, on stand-ins of all workloads, with the first seed.

    Attributes:
        name: name in tables.
        methods: the four methods.
        exponent: exponent of the Zipf distribution of addresses.
        kind: kind of `stand_ins.arrivals`.
        times: number of requests, over that of other readings.
        longer: length of bursts, as for `stand_ins.arrivals`.
        spread: bytes that are written and read, over those of other readings.
        evicts: whether the mapping cache ever evicts an entry.
    """

    name: str
    methods: Methods = MAIN
    exponent: float = EXPONENT
    kind: str = "poisson"
    times: int = 1
    longer: float = 1.0
    spread: float = 1.0
    evicts: bool = True

    def plan(self, plan: Plan) -> Plan:
        """The plan with this reading's workloads, and one seed, as results vary less by seed than by reading."""
        most = self.times * plan.requests
        workloads = tuple(
            stand_in(
                w.name, most, *_room(plan, self.spread), exponent=self.exponent, kind=self.kind, longer=self.longer
            )
            for w in as_stand_ins(plan).workloads
            if w.name in ROWS
        )
        return replace(plan, workloads=workloads, seeds=plan.seeds[:1])

    def cases(self, plan: Plan) -> list[Case]:
        """Simulations of this reading."""
        return cases(self.plan(plan), *self.methods.all)


def _room(plan: Plan, spread: float) -> tuple[int, int]:
    """Bytes that are written and read; a plan that makes the device small has a 64th of them."""
    part = 1 if not any("blocks_per_plane" in override for override in plan.overrides) else 64
    return round(spread * WRITTEN_BYTES) // part, round(spread * READ_BYTES) // part


LOAD = 8_000
"""Requests per second on all workloads, where some tens are published. The busiest workload keeps the serial packages
busy for nine tenths of the time.
"""

LOADED = f"workload.arrivals={inline({'poisson': {'requests_per_s': float(LOAD)}})}"

EIGHTFOLD = 8.0
"""Length of bursts, over those fitted to hm_0, with which counts in 60 ms are as dispersed as in its excerpt."""

ASSUMED = Reading("as assumed")

OF_EXPONENTS = tuple(
    replace(ASSUMED, name=f"Zipf {exponent}", exponent=exponent) if exponent != EXPONENT else ASSUMED
    for exponent in EXPONENTS
)

READINGS = (
    ASSUMED,
    *(each for each in OF_EXPONENTS if each is not ASSUMED),
    Reading("a quarter of the bytes", spread=0.25),
    Reading("twice the bytes", spread=2.0),
    Reading("hm0's bursts, slower", kind="bursts"),
    Reading("hm0's bursts", kind="batches"),
    Reading("eightfold bursts", kind="batches", longer=EIGHTFOLD),
    Reading("fresh pages", methods(*SERIAL, FRESH)),
    Reading("levels of pages", methods(*SERIAL, remember_translation_levels=True)),
    Reading("16,384 entries", methods(*SERIAL, cache_bytes=2 * CACHE_BYTES)),
    Reading("levels take room", methods(*SERIAL, levels_take_room=True)),
    Reading("64 MB", methods(*SERIAL, cache_bytes=PUBLISHED["mapping_cache_mb"] * MIB), evicts=False),
)
"""The readings; each differs from `ASSUMED` in one detail."""

FITTED = Reading("found to fit", methods(*SERIAL, LOADED, remember_translation_levels=True), exponent=1.1)
"""The reading that meets most published numbers, from figure `setups`. It is not among the readings under which a claim
may hold, since the published numbers selected it.
"""


def readings(plan: Plan) -> tuple[Reading, ...]:
    """The readings of a plan; a full run has a longer one, too."""
    longer = Reading(f"{_LONGER} times as many requests", times=_LONGER)
    return (*READINGS, longer) if plan.full else READINGS


def reading_cases(plan: Plan) -> list[Case]:
    """Simulations of all readings."""
    return [case for reading in readings(plan) for case in reading.cases(plan)]


def spanning(plan: Plan, runs: Runs, id_: str, why: str) -> Evidence:
    """Evidence for a claim of `HEADLINE`: on the given workloads and the paper's machine, under all readings, and on
    ours.
    """
    under = {each.name: headline(each.plan(plan), runs, each.methods)[id_] for each in readings(plan)}
    least, most = (pick(under, key=lambda name: under[name].value) for pick in (min, max))
    why += (
        " With stand-ins of all workloads, and one thing assumed otherwise at a time, it is from "
        f"{percent(under[least])} ({least}) to {percent(under[most])} ({most})."
    )
    ours = Evidence(headline(plan, runs, OURS)[id_])
    each = {name: Evidence(number) for name, number in under.items()}
    return Evidence(headline(plan, runs, MAIN)[id_], why, under=each, on_ours=ours)


def ordered_by_readings(plan: Plan, runs: Runs, order: Callable[[Plan, Methods], Evidence]) -> Evidence:
    """Evidence for an order of the two evictions on the given workloads, and under all readings.

    Args:
        plan: plan of the figure.
        runs: all simulations.
        order: function that gives the evidence for a plan and methods.
    """

    def under(reading: Reading) -> Evidence:
        unlike = "" if reading.evicts else "Nothing is evicted, so that both evictions are one."
        return replace(order(reading.plan(plan), reading.methods), why="", unlike=unlike)

    return replace(order(plan, MAIN), under={reading.name: under(reading) for reading in readings(plan)})


# Beyond the paper ----------------------------------------------------------------------------------------------------

_PROTECTED = 0.8


def _beyond() -> tuple[Reading, ...]:
    """Variants beyond the paper, which are no interpretations of its text."""
    protected = int(_PROTECTED * CACHE_BYTES / PUBLISHED["cache_entry_bytes"])
    code = "reliability.table.file=flash-8-9"
    worn = f"precondition.pe_cycles={max(PUBLISHED['pe_stages'])}"
    return (
        Reading("flash-8-9, worn", methods(*SERIAL, code, worn)),
        Reading("incremental retries", methods(*SERIAL, policy="progressive:incremental")),
        Reading("segmented LRU", methods(*SERIAL, lru={"segmented_lru": {"protected_entries": protected}})),
        Reading("planes work apart", OURS),
        FITTED,
    )


def _cases_assumed(plan: Plan) -> list[Case]:
    return [case for each in (*readings(plan), *_beyond()) for case in each.cases(plan)]


def _measure_assumed(plan: Plan, runs: Runs) -> Measured:
    rows: list[dict[str, Any]] = []
    told = []
    for each in (*readings(plan), *_beyond()):
        mine = each.plan(plan)
        found = {arm.label: headline(mine, runs, each.methods, arm) for arm in each.methods.all[1:]}
        for label, numbers in found.items():
            rows += [
                {"assumption": each.name, "measure": id_, "method": label, "value": n.value, "lo": n.lo, "hi": n.hi}
                for id_, n in numbers.items()
            ]
        soft = fmean(soft_ratio(mine, runs, workload, each.methods) for workload in mine.workloads)
        hits = [average(mine, runs, arm, read_hits) for arm in (each.methods.lru, each.methods.new)]
        told.append(
            [
                each.name,
                as_share(soft, 0),
                f"{100 * hits[0]:.0f}, {as_share(hits[1], 0)}",
                *(
                    ", ".join(percent(numbers[id_]) for numbers in found.values())
                    for id_ in HEADLINE
                    if id_ != "latency_removed"
                ),
            ]
        )
    heads = ["", "soft reads", "read hits: LRU, new", "retries removed", *(f"gain, {measure}" for measure in GAINS)]
    note = (
        "Of Ideal, LaLDPC-LRU and LaLDPC-new over LDPC-in-SSD under the same assumption, mean of stand-ins of all "
        f"workloads with {plan.requests:,} requests at most, one seed. hm0's bursts are those fitted to its excerpt, "
        "with silences that keep the workload's mean rate; slower ones have all of time stretched instead. Eightfold "
        "bursts have eight times as many requests, so that counts in 60 ms are as dispersed as the excerpt's. Fresh "
        "pages: translation pages need no soft sensing at first. Levels of pages: LaLDPC remembers those of "
        "translation pages, too. Levels take room: the remembered levels take 6.25 % of LaLDPC's "
        "cache, which has so many entries fewer than that of the others. "
        "64 MB: nothing is evicted, so that both evictions are one. Found to fit: Zipf 1.1, "
        f"{LOAD:,} requests a second on all workloads, levels of pages; see figure `setups`. "
        "`flash-8-9`: the shipped code's measured failures after 12,000 cycles instead of table II. Incremental "
        "retries: a retry senses and transfers one level more, not all again, with table II's thresholds. Segmented "
        f"LRU: entries used again are kept, in {as_share(_PROTECTED, 0)} of the cache, by all but LaLDPC-new. Planes "
        f"work apart: the shipped device.\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), {}, (note,))


_DRAWN = dict(zip(("retries_removed", *HEADLINE[2:]), ("retries removed", *GAINS), strict=True))


def _draw_assumed(frame: pl.DataFrame) -> Sheet:
    rows = frame.filter((pl.col("method") == "LaLDPC-new") & pl.col("measure").is_in(list(_DRAWN))).select(
        pl.col("assumption").map_elements(_broken, return_dtype=pl.String).alias("group"),
        pl.col("measure").replace(_DRAWN).alias("bar"),
        *(pl.col(name) * 100 for name in ("value", "lo", "hi")),
    )
    colours = dict(zip(_DRAWN.values(), ("#7f7f7f", "#0072b2", "#56b4e9", "#e69f00"), strict=True))
    title, note = "What was assumed: LaLDPC-new", "mean of stand-ins, over LDPC-in-SSD under the same assumption"
    return bar_sheet(rows, title, "%", colours=colours, line=None, note=note, digits=0)


def _broken(name: str, most: int = 14) -> str:
    """A name in lines that fit below a group of bars."""
    lines: Sequence[str] = [""]
    for word in name.split():
        fits = len(lines[-1]) + len(word) < most
        lines = [*lines[:-1], f"{lines[-1]} {word}".strip()] if fits or not lines[-1] else [*lines, word]
    return "\n".join(lines)


FIGURES = (
    Figure("assumed", "What was assumed, and what goes beyond", _measure_assumed, _draw_assumed, _cases_assumed),
)
