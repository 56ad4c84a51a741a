"""Sensitivity to assumptions: differences of chips and pages, and the writes of interleaving."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense import flash
from softsense._core import Cells
from softsense.formats import as_share, listed
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    Workload,
    markdown_table,
    synthetic,
)
from softsense.papers.comparing import (
    Compared,
    cases,
    response,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import BOTH, COLOURS, NONE, TWO_STEP, in_ways, interleaved
from softsense.papers.ldpc_in_ssd.published import CHIP_ORDER, CHIPS, PROTOCOL, PUBLISHED, at_stated_age
from softsense.papers.ldpc_in_ssd.sampled import hard_failure

if TYPE_CHECKING:
    from softsense.charts import Sheet

_SPREADS = (0.05, 0.1, 0.2, 0.4)
_SHIPPED_SPREAD = 0.2
_SENSITIVE = (NONE, TWO_STEP, interleaved(TWO_STEP, 4), BOTH, interleaved(BOTH, 4))
# A device small enough to be overwritten, with enough chips for four ways.
_SMALL = (
    "geometry.channels=4",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=2",
    "geometry.blocks_per_plane=128",
    'precondition.layout="steady_state"',
)


def spread_factors(sigma: float, *overrides: str) -> list[float]:
    """Factors of chips 1, 3, 2 and 4 whose logarithms are normal quantiles, scaled to the published failure."""
    quantiles = [NormalDist().inv_cdf((chip - 0.5) / CHIPS) for chip in CHIP_ORDER]
    factors = [math.exp(sigma * quantile) for quantile in quantiles]
    config = at_stated_age([*overrides, f"reliability.table.variation.chip_factors={factors}"])
    return flash.calibrate(config, PUBLISHED["hard_decision_failure_at_10k_pe"])


def _pages(factors: Sequence[float]) -> str:
    """The override that gives page types these factors of the raw bit error rate."""
    pages = at_stated_age().fields.flash.page_types
    rows = [{**page, "rber_factor": factor} for page, factor in zip(pages, factors, strict=True)]
    texts = [", ".join(f"{key} = {json.dumps(value)}" for key, value in row.items()) for row in rows]
    return "flash.page_types=[" + ", ".join(f"{{ {text} }}" for text in texts) + "]"


@cache
def _devices(full: bool, device: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Overrides of the devices that are compared: chips that differ more or less, unlike pages, and data that ages."""
    devices: dict[str, tuple[str, ...]] = {}
    for sigma in _SPREADS if full else _SPREADS[1:]:
        spread = f"reliability.table.variation.chip_factors={spread_factors(sigma, *device)}"
        devices[f"sigma {sigma:g}"] = () if sigma == _SHIPPED_SPREAD else (spread,)
    cells = Cells.open("mlc", PUBLISHED["pe_cycles"], 24 * PROTOCOL["retention_days"])
    unlike = _pages([round(cells.rber(page) / cells.rber(), 4) for page in range(len(cells.pages))])
    live = "reliability.table.rber={ threshold_voltage = {} }"
    for name, overrides in (("unlike pages", (unlike,)), ("live voltages", (live,))):
        factors = spread_factors(_SHIPPED_SPREAD, *device, *overrides)
        devices[name] = (*overrides, f"reliability.table.variation.chip_factors={factors}")
    return devices


def _sensitive(plan: Plan) -> Plan:
    """The plan with up to four workloads and the first seeds, as differences are far larger than the intervals."""
    names = ("Postmark", "WebSearch", "Synthetic1", "Synthetic2") if plan.full else ("Postmark", "Synthetic2")
    chosen = tuple(w for w in plan.workloads if w.name in names) or plan.workloads[-1:]
    return replace(plan, seeds=plan.seeds[:3], workloads=chosen)


def _overwriting(plan: Plan) -> Workload:
    requests = synthetic(
        requests=60_000 if plan.full else 20_000,
        read_fraction=0.1,
        sizes=[{"bytes": 4096 << i, "share": share} for i, share in enumerate((0.5, 0.3, 0.2))],
        addresses="uniform",
        arrivals="immediate",
    )
    closed = (*requests, "host.issue.closed_loop.queue_depth=8")
    return Workload("overwriting", "90 % writes, a small device in the steady state", overrides=closed)


_WRITERS = (
    TWO_STEP,
    *(interleaved(TWO_STEP, ways, remainder) for ways in (2, 4) for remainder in ("plain", "pad")),
)


def _cases_sensitivity(plan: Plan) -> list[Case]:
    some = _sensitive(plan)
    on_devices = [
        case
        for device in _devices(plan.full, plan.overrides).values()
        for case in cases(some, *(arm.on(*device) if arm is not NONE else arm for arm in _SENSITIVE))
    ]
    return on_devices + [
        Case(_overwriting(plan), arm.policy, (*arm.overrides, *_SMALL), seed) for arm in _WRITERS for seed in plan.seeds
    ]


def _measure_sensitivity(plan: Plan, runs: Runs) -> Measured:
    some = _sensitive(plan)
    rows, told = [], []
    for name, device in _devices(plan.full, plan.overrides).items():
        arms = [arm.on(*device) for arm in _SENSITIVE[1:]]
        over_none = Compared(some, runs, arms, NONE)
        over_two = Compared(some, runs, arms, arms[0])
        for workload in over_none.workloads:
            for arm in arms:
                number, relative = over_none.number(workload, arm), over_two.number(workload, arm)
                row = {"device": name, "workload": workload, "reading": arm.label, "over_none": number.value}
                row |= {"lo": number.lo, "hi": number.hi, "over_two_step": relative.value}
                rows.append(row | {"over_two_step_lo": relative.lo, "over_two_step_hi": relative.hi})
        means = [over_none.mean(arm).value for arm in arms]
        fails = [hard_failure(*plan.overrides, *device, in_ways(ways)) for ways in (1, CHIPS)]
        cells = [name, *(as_share(p, 1) for p in fails), *(f"{mean:.3f}" for mean in means)]
        told.append(cells)
    heads = ["device", "hard decision fails", "with four ways", *(arm.label for arm in _SENSITIVE[1:])]
    spread = (
        f"Mean read response over no soft sensing, mean of {listed([w.name for w in some.workloads])}. Chips "
        "differ by sigma of the logarithm of their raw bit error rate (0.2 is shipped), and are scaled to 28.8 % "
        "of failure each time. Unlike pages: upper ones have more errors than lower ones, as the voltage model "
        "says. Live voltages: the voltage model itself, so that what is written during the run is fresh. "
        f"Failures are those of the data of the start:\n\n{markdown_table(heads, told)}"
    )
    amplified, lines = {}, []
    for arm in _WRITERS:
        found = [runs[Case(_overwriting(plan), arm.policy, (*arm.overrides, *_SMALL), s)] for s in plan.seeds]
        remainder = "pad" if any("pad" in text for text in arm.overrides) else "plain"
        label = f"{arm.label}, {remainder}" if arm is not TWO_STEP else "off"
        details = [summary["writes_detail"] for summary in found]
        amplified[label] = [detail["write_amplification"] for detail in details]
        number = Number.of(amplified[label])
        padding = fmean(detail["padding_codewords"] / detail["host_codewords"] for detail in details)
        moved = fmean(detail["gc_codewords"] / detail["host_codewords"] for detail in details)
        write_us = Number.of(response("write").each(found))
        row = {
            "device": "overwriting",
            "workload": "overwriting",
            "reading": label,
            "write_amplification": number.value,
        }
        row |= {"write_amplification_lo": number.lo, "write_amplification_hi": number.hi, "padding": padding}
        rows.append(row | {"collected": moved, "write_us": write_us.value})
        amplification = f"{number.value:.2f} ({number.lo:.2f} to {number.hi:.2f})"
        lines.append([label, amplification, f"{padding:.2f}", f"{moved:.2f}", f"{write_us.value:,.0f}"])
    heads = ["interleaving, remainder", "write amplification", "padding", "moved by collection", "mean write (us)"]
    writes = (
        "Overwriting a small device in its steady state (uniform writes of one, two and four codewords, eight "
        f"requests at once), per codeword written by the host:\n\n{markdown_table(heads, lines)}"
    )
    ratios = {label: Number.ratio(values, amplified["off"]) for label, values in amplified.items() if label != "off"}
    worst = ratios["4-way, pad"]
    why = (
        f"Four ways amplify {worst.value:.2f} times as much as no interleaving if groups are padded, and "
        f"{ratios['4-way, plain'].value:.2f} times if what does not fill a group is written plainly. The paper "
        "expects more amplification and does not measure it."
    )
    more = [number.value > 1 for number in ratios.values()]
    evidence = {
        "interleaving_amplifies": Evidence(
            worst, why, in_all=all(more), in_mean=fmean(n.value for n in ratios.values()) > 1
        )
    }
    return Measured(pl.DataFrame(rows, infer_schema_length=None), evidence, (spread, writes))


def _draw_sensitivity(frame: pl.DataFrame) -> Sheet:
    rows = frame.filter(pl.col("over_none").is_not_null())
    means = rows.group_by("device", "reading", maintain_order=True).agg(pl.col("over_none", "lo", "hi").mean())
    bars = means.select(group="device", bar="reading", value="over_none", lo="lo", hi="hi")
    title = "How much the chips differ: mean read response"
    note = "mean of workloads; hard decision fails for 28.8 % at the start, without interleaving, on every device"
    return bar_sheet(bars, title, "over no soft sensing", colours={**COLOURS, "4-way": "#56b4e9"}, note=note)


FIGURES = (
    Figure(
        "sensitivity",
        "What was assumed: chips, data, remainders",
        _measure_sensitivity,
        _draw_sensitivity,
        _cases_sensitivity,
    ),
)

CLAIMS = (
    Claim(
        "interleaving_amplifies",
        "sensitivity",
        "interleaving amplifies writes (four ways, padded, over none)",
        rule="order",
        kind="invented workload",
    ),
)
