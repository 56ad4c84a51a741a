"""More parallel flash: the same reads on both devices, the worst-case code and short ones on equal hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import fmean

import polars as pl

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
)
from softsense.papers.comparing import Arm, cases, lone_reads, percent, saved
from softsense.papers.drawing import Line, lines, point
from softsense.papers.lae_ftl.devices import Device, adaptive, baseline, sizes
from softsense.papers.lae_ftl.units import ENGINE
from softsense.papers.lae_ftl.workloads import READ, READ_LATENCY, SERIES

PER_DIE = (0.25, 1.0, 2.0, 4.0)
"""Numbers of outstanding reads for each die."""

_NAMES = ("2 x 2 dies", "4 x 4 dies")
_ENGINE, _ALONE = "on one engine", "one codeword at a time"


def _devices() -> dict[str, Device]:
    return dict(zip(_NAMES, sizes(), strict=True))


def _arms() -> dict[str, Arm]:
    return {_ENGINE: adaptive(0, ENGINE.override), _ALONE: adaptive(0)}


def _deep_reads(plan: Plan, device: Device, per_die: float) -> Workload:
    """A workload of reads of a unit at random places, `per_die` outstanding for each die."""
    some, depth = lone_reads(plan.requests // 2), max(round(per_die * device.dies), 1)
    overrides = *some.overrides, f"host.issue.closed_loop.queue_depth={depth}", *device.overrides()
    return Workload(f"{depth} at a time", f"reads of 4 KiB, {depth} at a time", overrides=overrides)


def _deep(plan: Plan, arm: Arm, device: Device, per_die: float) -> list[Case]:
    return cases(replace(plan, workloads=(_deep_reads(plan, device, per_die),)), arm)


def _cases_parallel(plan: Plan) -> list[Case]:
    return [
        case
        for device in _devices().values()
        for per_die in PER_DIE
        for arm in (baseline(0), *_arms().values())
        for case in _deep(plan, arm, device, per_die)
    ]


_AS_PRINTED, _AS_SEEN = "read latency, as the paper counts it", "read response"
_Gains = Mapping[tuple[str, str, str, float], Number]


def _measure_parallel(plan: Plan, runs: Runs) -> Measured:
    devices, told, rows = _devices(), [], []
    gains: dict[tuple[str, str, str, float], Number] = {}
    for name, device in devices.items():
        for per_die in PER_DIE:
            base = [runs[case] for case in _deep(plan, baseline(0), device, per_die)]
            busy = fmean(summary["utilisation"]["decoder"] for summary in base)
            cells = [name, f"{per_die:g}", as_share(busy, 0)]
            for counted, quantity in ((_AS_PRINTED, READ_LATENCY), (_AS_SEEN, READ)):
                cells.append(f"{fmean(quantity.each(base)):.1f}")
                for how, arm in _arms().items():
                    mine = [runs[case] for case in _deep(plan, arm, device, per_die)]
                    gain = saved(Number.ratio(quantity.each(mine), quantity.each(base)))
                    gains[counted, how, name, per_die] = gain
                    cells.append(percent(gain))
                    if how == _ENGINE:
                        rows.append(point(counted, name, per_die, gain))
            told.append(cells)
    frame = pl.DataFrame(rows).with_columns(pl.col("value", "lo", "hi") * 100).sort("panel", maintain_order=True)
    evidence = {
        "parallel_same": _same_reads(
            gains,
            _AS_PRINTED,
            "Where short codewords leave the dies as the bottleneck, what waits for them is not in the paper's list.",
        ),
        "parallel_response": _same_reads(gains, _AS_SEEN, "What counts is how many dies feed one engine."),
    }
    heads = ["device", "reads for each die", "decoders busy, worst case", "latency: worst case, us"]
    heads += [f"saved {_ENGINE}", f"saved, {_ALONE}", "response: worst case, us", f"saved {_ENGINE}"]
    heads += [f"saved, {_ALONE}"]
    note = (
        "Reads of 4 KiB at random places, the same on both devices, in the first segment and with the worst-case "
        "code, each decoded by one engine a channel: as large as the worst-case code needs, on which short codewords "
        f"are decoded several at once, or one codeword at a time:\n\n{markdown_table(heads, told)}"
    )
    return Measured(frame, evidence, (note,))


def _same_reads(gains: _Gains, counted: str, why: str) -> Evidence:
    """Evidence whether the larger device gains more than the smaller on the same reads, equally many for each die."""
    alone = _order(gains, counted, _ALONE)
    mine = _order(gains, counted, _ENGINE)
    pairs = {each: tuple(gains[counted, _ENGINE, name, each] for name in _NAMES) for each in PER_DIE}
    of_die = [f"{percent(a)} and {percent(b)} with {each:g} for each die" for each, (a, b) in pairs.items()]
    told = f"On 2 x 2 and 4 x 4 dies they gain {listed(of_die)}. {why}"
    return replace(mine, why=told, under={_ALONE: alone}, on_ours=alone)


def _order(gains: _Gains, counted: str, how: str) -> Evidence:
    ratios = [
        gains[counted, how, _NAMES[1], each].value / gains[counted, how, _NAMES[0], each].value for each in PER_DIE
    ]
    return Evidence(Number.exact(fmean(ratios)), in_all=min(ratios) > 1, in_mean=fmean(ratios) > 1)


FIGURES = (
    Figure(
        "parallel",
        "More parallel flash",
        _measure_parallel,
        lines(
            "More parallel flash: what reads gain in the first segment",
            "reads under way for each die",
            "% saved",
            {name: Line(colour) for name, colour in zip(_NAMES, SERIES, strict=False)},
            "reads of 4 KB at random places, the same on both devices, on equal hardware",
            at=PER_DIE,
        ),
        _cases_parallel,
    ),
)

CLAIMS = (
    Claim(
        "parallel_same",
        "parallel",
        "so do the same reads, as many for each die (4 x 4 over 2 x 2 dies): read latency",
        rule="order",
        source=("claims.more_parallel_flash_gains_more",),
    ),
    Claim(
        "parallel_response",
        "parallel",
        "so do the same reads: read response",
        rule="order",
        source=("claims.more_parallel_flash_gains_more",),
    ),
)
