"""Figure 6(b) to (d): the cost of squeezing, on the paper's machine and on ours.

The paper sizes a device by the logical space of a trace. On its machine only the footprint of a trace was ever written;
on ours the whole capacity was overwritten endlessly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING

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
from softsense.papers.comparing import Arm, Compared, cases, summaries
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.devices import at_the_next_chip, device_of, over_provisioning, squeezed
from softsense.papers.lae_ftl.early_reads import NUMBERING
from softsense.papers.lae_ftl.published import MIB, UNIT, ranged
from softsense.papers.lae_ftl.units import SQUEEZED, UNSQUEEZED, Hardware, UnitCode
from softsense.papers.lae_ftl.workloads import (
    AMPLIFICATION,
    OVERHEADS,
    SENSES,
    WORKLOAD_COLOURS,
    Overhead,
    bar,
    footprint,
    only_footprints,
    read_otherwise,
)

if TYPE_CHECKING:
    from softsense.charts import Sheet

LATE_CODES = (UNSQUEEZED, *SQUEEZED)

_ON_ENGINE = f"the footprint, on one engine for t = {SQUEEZED[-1].correctable}"
_ELSEWHERE = "the footprint, units go on at the next chip"
_FOOTPRINT, _ALL, _BUFFERS = "only the footprint mapped", "all mapped", "the footprint, with buffers as in fig. 4"
# Assumed; the paper has both buffers, and no sizes.
_BUFFER_BYTES = 4 * MIB
_AS_IN_FIG_4 = (
    f"host.read_buffer={{ bytes = {_BUFFER_BYTES} }}",
    f"host.write_buffer_bytes={_BUFFER_BYTES}",
    "host.write_buffer_replacement=lru",
)


@dataclass(frozen=True)
class _Machine:
    """Workloads on their devices, with further fields of these devices."""

    plan: Plan
    overrides: tuple[str, ...] = ()

    @property
    def arms(self) -> list[Arm]:
        """One for each code."""
        return [squeezed(code, None, *self.overrides) for code in LATE_CODES]


def _machines(plan: Plan) -> dict[str, _Machine]:
    mapped = only_footprints(plan)
    once = replace(mapped, seeds=plan.seeds[:1])
    engine = Hardware(engine=SQUEEZED[-1].correctable)
    return {
        _FOOTPRINT: _Machine(mapped),
        _ALL: _Machine(plan),
        _BUFFERS: _Machine(once, _AS_IN_FIG_4),
        _ON_ENGINE: _Machine(once, (engine.override,)),
        _ELSEWHERE: _Machine(_going_on_elsewhere(once)),
        **{f"the footprint, {name}": _Machine(each) for name, each in read_otherwise(mapped).items()},
    }


def _going_on_elsewhere(plan: Plan) -> Plan:
    """The plan on devices where units that the end of a page cuts go on at the next chip."""

    def of(workload: Workload) -> Workload:
        return replace(workload, overrides=(*workload.overrides, at_the_next_chip(device_of(workload))))

    return replace(plan, workloads=tuple(of(workload) for workload in plan.workloads))


def _cases_late(plan: Plan) -> list[Case]:
    return [case for machine in _machines(plan).values() for case in cases(machine.plan, *machine.arms)]


def _late_claim(overhead: Overhead, code: UnitCode) -> str:
    return f"{overhead.stem}_{UNIT - code.squeezed_bytes}"


def _measure_late(overhead: Overhead, plan: Plan, runs: Runs) -> Measured:
    machines, found = _machines(plan), {}
    for how, machine in machines.items():
        found[how] = Compared(machine.plan, runs, machine.arms, machine.arms[0], overhead.quantity)
    rows, told, evidence = [], [], {}
    for at, (code, (low, high)) in enumerate(zip(SQUEEZED, overhead.ranges, strict=True), 1):
        increases = {how: _increases(compared, at) for how, compared in found.items()}
        rows += [bar(code.unit, name, number, 100) for name, number in increases[_FOOTPRINT].items()]
        worst = {how: Evidence(max(each.values(), key=lambda n: n.value)) for how, each in increases.items()}
        mine = increases[_FOOTPRINT]
        why = f"{listed([f'{as_share(number.value, 1, signed=True)} ({name})' for name, number in mine.items()])}."
        others = {how: each for how, each in worst.items() if how != _FOOTPRINT}
        evidence[_late_claim(overhead, code)] = replace(worst[_FOOTPRINT], why=why, under=others, on_ours=worst[_ALL])
        for how, each in increases.items():
            told.append(
                [code.unit, how, ranged(low, high), *(as_share(n.value, 1, signed=True) for n in each.values())]
            )
    evidence |= _grows(overhead, found[_FOOTPRINT], found[_ALL])
    heads = ["data space of a unit", "device", "published", *found[_ALL].workloads]
    notes = [f"{_WHY_LATE[overhead.stem]}\n\n{markdown_table(heads, told)}"]
    if overhead is OVERHEADS[0]:
        notes.append(_note_of_room(machines, runs))
    if overhead is OVERHEADS[1]:
        notes.append(_note_of_reads(machines, runs))
    return Measured(pl.DataFrame(rows), evidence, (*notes, NUMBERING))


def _increases(compared: Compared, at: int) -> dict[str, Number]:
    """By how much more it is with a squeezed code than with the unsqueezed one, by workload."""
    return {name: compared.number(name, compared.arms[at]).plus(-1) for name in compared.workloads}


def _grows(overhead: Overhead, compared: Compared, on_ours: Compared) -> dict[str, Evidence]:
    """Whether it grows with every squeeze; flash reads are not said to."""
    if overhead.quantity is SENSES:
        return {}

    def order(each: Compared) -> Evidence:
        falling = list(reversed(each.arms))
        why = f"From the unsqueezed unit to {SQUEEZED[-1].unit} it grows most on {each.worst(falling[0])}."
        return each.order(falling, each.mean(falling[0]), why)

    return {f"{overhead.stem}_grows": replace(order(compared), on_ours=order(on_ours))}


def _of_crossing() -> str:
    """The published maxima of flash reads over the sensings that lone reads of packed units need."""
    maxima = [high for _, high in OVERHEADS[1].ranges]
    return listed([f"{high / code.crossing:.2f}" for high, code in zip(maxima, SQUEEZED, strict=True)])


_WHY_LATE = {
    "amplification": "Page programs, each of two units, over units that the host writes, beside those of the "
    "unsqueezed device. A squeezed page has room for less than two units, and the user keeps its capacity, so that "
    "less over-provisioning is left and collection moves more. A cost is a bound: the worst workload is judged by the "
    "upper end of the published range.",
    "flash_reads": "All sensings, those of collection and of what writes cover in part, too. A unit that lies in two "
    f"pages takes two. The published maxima are {_of_crossing()} of the shares that lie in two pages, as if three "
    "quarters of all were reads of one unit.",
    "response": "Of reads and writes: second sensings, codes that are decoded for longer, and waits behind programs. A "
    "write ends in the buffer unless that is full, or it covers a unit in part, which has to be read first.",
}


def _note_of_room(machines: Mapping[str, _Machine], runs: Runs) -> str:
    rows = []
    for at, code in enumerate(LATE_CODES):
        left = 1 - (1 - over_provisioning()) * UNSQUEEZED.units_per_block / code.units_per_block
        cells = []
        for how in (_FOOTPRINT, _ALL):
            machine = machines[how]
            for workload in machine.plan.workloads:
                each = summaries(machine.plan, runs, workload, machine.arms[at])
                cells.append(f"{fmean(AMPLIFICATION.each(each)):.2f}")
        room = as_share(UNIT / (UNIT - code.squeezed_bytes) - 1, 1)
        rows.append([code.unit, f"{code.correctable}", as_share(code.crossing, 1), room, as_share(left, 1), *cells])
    heads = ["data space of a unit", "t", "units in two pages", "room lost", "over-provisioning left"]
    names = [workload.name for workload in machines[_ALL].plan.workloads]
    heads += [f"WA, {name}, {how}" for how in (_FOOTPRINT, _ALL) for name in names]
    shares = [f"{as_share(footprint(workload), 0)} ({workload.name})" for workload in machines[_ALL].plan.workloads]
    return (
        "The published minima of write amplification, 3.2, 6.7, 11.0 and 14.2 %, are about 4 KB over the data space "
        "less one, 3.2, 6.7, 10.3 and 14.3 %: the loss of room alone, as where collection moves nothing. Of the user's "
        f"capacity workloads have to do with {listed(shares)}.\n\n{markdown_table(heads, rows)}"
    )


def _note_of_reads(machines: Mapping[str, _Machine], runs: Runs) -> str:
    """A note on the purposes of sensings, and on hits of the read buffer."""
    rows = []
    for how in (_FOOTPRINT, _BUFFERS):
        machine = machines[how]
        for workload in machine.plan.workloads:
            for at in (0, len(SQUEEZED)):
                each = summaries(machine.plan, runs, workload, machine.arms[at])
                sensed = fmean(SENSES.each(each))
                modified = fmean(s["writes_detail"]["read_modify_writes"] for s in each)
                read, moved = (
                    fmean(values)
                    for values in (
                        [s["codeword_reads"]["count"] for s in each],
                        [s["writes_detail"]["gc_codewords"] for s in each],
                    )
                )
                hits = [s["read_buffer"]["hit_ratio"] for s in each if s.get("read_buffer")]
                modify = [s["read_buffer"]["modify_hits"] for s in each if s.get("read_buffer")]
                told = f"{as_share(fmean(hits), 0)}, {fmean(modify):,.0f}" if hits else ""
                writes, reads = (fmean(s["response"][kind]["mean_us"] for s in each) for kind in ("write", "read"))
                counts = [f"{number:,.0f}" for number in (sensed, read, modified, moved)]
                rows.append([workload.name, how, LATE_CODES[at].unit, *counts, told, f"{reads:.0f}", f"{writes:.0f}"])
    heads = ["workload", "device", "data space", "sensings", "units read", "read-modify-writes", "units moved"]
    heads += ["read buffer hits: of reads, read-modify-writes", "read, us", "write, us"]
    return (
        f"What the sensings are for. With buffers as in the paper's figure 4, of {_BUFFER_BYTES // MIB} MiB each "
        "(assumed), pages that were read stay in the controller, and what is written stays until the buffer is full, "
        f"least recently written first out:\n\n{markdown_table(heads, rows)}"
    )


def _draw_late(overhead: Overhead, frame: pl.DataFrame) -> Sheet:
    ranges = {code.unit: (100 * low, 100 * high) for code, (low, high) in zip(SQUEEZED, overhead.ranges, strict=True)}
    return bar_sheet(
        frame,
        f"Figure {overhead.figure[0]}({overhead.figure[1]}): {overhead.name}",
        "increase over unsqueezed, %",
        colours=WORKLOAD_COLOURS,
        line=None,
        note="by data space of a unit, only the footprint mapped; band: published, least to most of four workloads",
        digits=1,
        published=ranges,
    )


FIGURES = tuple(
    Figure(
        overhead.figure,
        f"Figure {overhead.figure[0]}({overhead.figure[1]}): {overhead.name} of squeezed units",
        partial(_measure_late, overhead),
        partial(_draw_late, overhead),
        _cases_late,
    )
    for overhead in OVERHEADS
)


def _bound(overhead: Overhead, code: UnitCode, low: float, high: float) -> Claim:
    """A cost: the worst workload may reach the upper end of the published range."""
    return Claim(
        _late_claim(overhead, code),
        overhead.figure,
        f"{overhead.name}: {ranged(low, high)} more at {code.unit} (the worst workload)",
        high,
        rule="at most",
        unit="+%",
        kind="invented workload",
        source=(f"late_stage.{overhead.published}", "late_stage.squeezed_unit_kb"),
    )


def _growth(overhead: Overhead) -> Claim:
    text = f"{overhead.name} grows with every squeeze ({SQUEEZED[-1].unit} over unsqueezed)"
    return Claim(f"{overhead.stem}_grows", overhead.figure, text, rule="order", kind="invented workload")


CLAIMS = tuple(
    claim
    for overhead in OVERHEADS
    for claim in (
        *(_bound(overhead, code, *ends) for code, ends in zip(SQUEEZED, overhead.ranges, strict=True)),
        *([_growth(overhead)] if overhead.quantity is not SENSES else []),
    )
)
