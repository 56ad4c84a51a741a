"""Lone reads, and room, against closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd
from statistics import fmean
from typing import TYPE_CHECKING, Any

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
    resting_on,
    synthetic,
)
from softsense.papers.comparing import cases, lone_reads
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.devices import SMALL, at_the_next_chip, squeezed
from softsense.papers.lae_ftl.published import EXACTLY, SENSE_US, UNIT
from softsense.papers.lae_ftl.units import (
    ASSUMED,
    FOR_LIFE,
    RBER,
    SEGMENTS,
    SQUEEZED,
    UNSQUEEZED,
    WORST_CASE,
    UnitCode,
    bch_of,
    constant,
    crossing_share,
    last_decode_us,
    on_device,
)
from softsense.papers.lae_ftl.workloads import AMPLIFICATION, GREY, READ, bar

if TYPE_CHECKING:
    from softsense.charts import Sheet

_EVERY_CODE = (*SEGMENTS, WORST_CASE, *SQUEEZED)


def _rber(code: UnitCode) -> float:
    """The raw bit error rate at which a code is read: that of its segment, or of the last segment for later codes."""
    return RBER[SEGMENTS.index(code)] if code in SEGMENTS else RBER[-1]


def _lone(plan: Plan, code: UnitCode, *, anywhere: bool = False) -> list[Case]:
    reads = lone_reads(plan.requests)
    arm = replace(squeezed(code), overrides=_lone_overrides(code, anywhere))
    return cases(replace(plan, workloads=(reads,)), arm)


def _lone_overrides(code: UnitCode, anywhere: bool) -> tuple[str, ...]:
    where = (at_the_next_chip(SMALL),) if anywhere else ()
    return bch_of({code: FOR_LIFE}, constant(_rber(code))), *squeezed(code).overrides[1:], *where


def lone_read_us(code: UnitCode, rber: float, *, anywhere: bool = False) -> float:
    """The mean time of a read of a unit on an idle device, in closed form, us.

    If a unit lies in two pages of a block, the first part and the parity cross the bus while the second page is sensed.
    The second part is half of a unit in the mean. If the second part is `anywhere`, on a die of another channel, both
    pages are sensed at once. Both parts then cross their buses at once, the first with the parity.
    """
    device = on_device(code)
    transfer_us: float = device["transfer_us"]
    byte_us = transfer_us / (device["codeword_bytes"] + device["parity_bytes"])
    p_clean = (1 - rber) ** device["codeword_bits"]
    times = ASSUMED.decode_us(code, errors=False), ASSUMED.decode_us(code), p_clean
    in_one = SENSE_US + last_decode_us(code.codewords, transfer_us, *times)
    if anywhere:
        in_two = SENSE_US + last_decode_us(1, byte_us * _longer_part(code), *times)
    else:
        in_two = 2 * SENSE_US + last_decode_us(1, byte_us * UNIT / 2, *times)
    return (1 - code.crossing) * in_one + code.crossing * in_two


def _longer_part(code: UnitCode) -> float:
    """Mean bytes of the longer part of a unit in two pages, the first part with the parity.

    Pages of D bytes cut units of 4,096 bytes at all multiples of their greatest common divisor, each equally often.
    """
    parity: int = on_device(code)["parity_bytes"]
    step = gcd(2 * (UNIT - code.squeezed_bytes), UNIT)
    return fmean(max(UNIT - rest + parity, rest) for rest in range(step, UNIT, step)) if step < UNIT else UNIT + parity


def _sequential_writes(plan: Plan) -> Workload:
    """Sequential writes into empty flash, so few that nothing is collected."""
    fields = synthetic(
        requests=plan.requests,
        read_fraction=0.0,
        sizes=[{"bytes": UNIT, "share": 1.0}],
        addresses="sequential",
        arrivals="immediate",
    )
    empty = "precondition={ mapped_fraction = 0.0 }", "host.issue.closed_loop.queue_depth=64"
    return Workload("sequential", "writes of 4 KiB into empty flash", overrides=(*fields, *empty))


def _room(plan: Plan, code: UnitCode) -> list[Case]:
    return cases(replace(plan, workloads=(_sequential_writes(plan),), seeds=plan.seeds[:1]), squeezed(code))


def _cases_lone(plan: Plan) -> list[Case]:
    lone = [case for code in _EVERY_CODE for case in _lone(plan, code)]
    lone += [case for code in SQUEEZED for case in _lone(plan, code, anywhere=True)]
    return lone + [case for code in SQUEEZED for case in _room(plan, code)]


def farthest(numbers: Mapping[Any, Number]) -> Any:
    """Key of the number that is farthest from 1."""
    return max(numbers, key=lambda key: abs(numbers[key].value - 1))


def _measure_lone(plan: Plan, runs: Runs) -> Measured:
    rows, told, latency, shares, senses = [], [], {}, {}, {}
    for code in _EVERY_CODE:
        each = [runs[case] for case in _lone(plan, code)]
        says = lone_read_us(code, _rber(code))
        took = Number.of(READ.each(each))
        latency[code.label] = Number.of([us / says for us in READ.each(each)])
        crossing = Number.of([s["codeword_reads"]["crossing"] / s["codeword_reads"]["count"] for s in each])
        sensed = Number.of([s["operations"]["senses"] / s["codeword_reads"]["count"] for s in each])
        if code.squeezed_bytes:
            shares[code] = over(crossing, code.crossing)
            senses[code] = over(sensed, 1 + code.crossing)
        name = f"{code.label}" if not code.squeezed_bytes else f"{code.unit}\nt = {code.correctable}"
        rows.append(bar(name, "closed form", Number.exact(says)))
        rows.append(bar(name, "measured", took, crossing=crossing.value, senses=sensed.value))
        cells = [f"{code.crossing:.4f}", f"{crossing.value:.4f}", f"{sensed.value:.4f}"]
        told.append([code.label, code.unit, *cells, f"{says:.2f}", f"{took.value:.2f}"])
    elsewhere = {
        code: Number.of(READ.each([runs[case] for case in _lone(plan, code, anywhere=True)])) for code in SQUEEZED
    }
    for code, took in elsewhere.items():
        latency[f"{code.label}, at the next chip"] = over(took, lone_read_us(code, _rber(code), anywhere=True))
    rooms = {code: Number.of([AMPLIFICATION.of(runs[case]) for case in _room(plan, code)]) for code in SQUEEZED}
    lost = {code: over(wa, UNIT / (UNIT - code.squeezed_bytes)) for code, wa in rooms.items()}
    far = {name: farthest(each) for name, each in (("us", latency), ("two", shares), ("sense", senses), ("wa", lost))}
    parts = listed([str(crossing_share(code)) for code in SQUEEZED])
    evidence = {
        "crossing": Evidence(
            shares[far["two"]],
            f"{parts} of units lie in two pages. The farthest of four: {far['two'].unit}. Sensings of a read are "
            f"within {as_share(abs(senses[far['sense']].value - 1), significant=2)} of one and that share.",
        ),
        "lone_latency": Evidence(
            latency[far["us"]],
            f"The farthest of {len(latency)}: {far['us']}. Sensing, once or twice, and the pipeline of transfers "
            "and decodes, with the share of codewords that have no error.",
        ),
        "lost_room": Evidence(
            lost[far["wa"]],
            f"The farthest of four: {far['wa'].unit}. Nothing is collected: pages are full, and hold less.",
        ),
    }
    heads = ["code", "data space of a unit", "in two pages: closed form", "measured", "sensings", "us, closed form"]
    heads.append("us, measured")
    note = (
        "Reads of 4 KiB at random places of the small device, one at a time. D bytes of data in a page and units of "
        "4,096 B begin together again after lcm(D, 4,096) bytes; each boundary of pages before that cuts one "
        f"unit:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows, infer_schema_length=None), evidence, (note, _note_of_anywhere(elsewhere)))


def _note_of_anywhere(elsewhere: Mapping[UnitCode, Number]) -> str:
    base, rows = lone_read_us(UNSQUEEZED, RBER[-1]), []
    for code in SQUEEZED:
        both = [lone_read_us(code, RBER[-1], anywhere=anywhere) for anywhere in (False, True)]
        decode_us = ASSUMED.decode_us(code) - ASSUMED.decode_us(UNSQUEEZED)
        rows.append(
            [
                code.unit,
                str(crossing_share(code)),
                *(f"{us:.1f}" for us in both),
                f"{elsewhere[code].value:.1f}",
                *(as_share(us / base - 1, 1, signed=True) for us in both),
                *(as_share((us - decode_us) / base - 1, 1, signed=True) for us in both),
            ]
        )
    heads = ["data space of a unit", "cross", "in the block, us", "anywhere, us", "measured, us"]
    heads += ["more, in the block", "anywhere"]
    heads += ["with equal decoding, in the block", "anywhere"]
    return (
        "The paper's N-PUN may point anywhere, so that the next page that is programmed, on another die, takes the "
        "rest of a unit. Which code a unit has whose parts lie in blocks of two ages, and what becomes of it when one "
        "of them is collected, the paper does not say. Here blocks of a die of each channel wear and are collected "
        "together, as a superblock, through whose pages units follow one another. As many units cross, and need as "
        "many sensings; but both pages are sensed at once, so that a lone read costs one sensing less. "
        f"Lone reads beside the unsqueezed {base:.1f} us:\n\n{markdown_table(heads, rows)}"
    )


def over(number: Number, by: float) -> Number:
    """A number and its interval, divided by `by`."""
    return Number(number.value / by, number.lo / by, number.hi / by)


def _draw_lone(frame: pl.DataFrame) -> Sheet:
    colours = {"closed form": GREY, "measured": "#0072b2"}
    note = "early stage and worst case by code; late stage by data space of a unit"
    return bar_sheet(frame, "Lone reads of 4 KB", "us", colours=colours, line=None, note=note, digits=1)


FIGURES = (Figure("lone", "Lone reads, and room, in closed form", _measure_lone, _draw_lone, _cases_lone),)

CLAIMS = resting_on(
    "own check",
    Claim(
        "crossing",
        "lone",
        f"{listed([str(crossing_share(code)) for code in SQUEEZED])} of units lie in two pages",
        1.0,
        tolerance=EXACTLY,
        source=("late_stage.logical_units_per_physical_unit_max",),
    ),
    Claim(
        "lone_latency",
        "lone",
        "lone reads take what sensing and the pipeline of codewords take",
        1.0,
        tolerance=EXACTLY,
    ),
    Claim(
        "lost_room",
        "lone",
        "without collection write amplification is 4 KB over the data space",
        1.0,
        tolerance=EXACTLY,
    ),
)
