"""Figure 6(b) to (d): the cost of squeezing, on the paper's machine and on ours.

The paper sizes a device by the logical space of a trace. On its machine only the footprint of a trace was ever written;
on ours the whole capacity was overwritten endlessly. Hardly anything is collected on the first machine. So a further
reading takes the paper literally: on a machine that collects, the logical space of a trace is the whole capacity.
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
    configured,
    markdown_table,
    resting_on,
)
from softsense.papers.comparing import Arm, Compared, Quantity, cases, summaries
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.devices import at_the_next_chip, device_of, over_provisioning, squeezed
from softsense.papers.lae_ftl.early_reads import NUMBERING
from softsense.papers.lae_ftl.published import CONFIG, MIB, UNIT, ranged
from softsense.papers.lae_ftl.units import SQUEEZED, UNSQUEEZED, Hardware, UnitCode, uniform_amplification
from softsense.papers.lae_ftl.workloads import (
    AMPLIFICATION,
    COLLECTION,
    OVERHEADS,
    SENSES,
    WORKLOAD_COLOURS,
    Overhead,
    bar,
    collecting,
    collecting_uniformly,
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
COLLECTS = "a machine that collects"
"""The reading that takes the paper literally: see `workloads.collecting`."""

# Least share of collection in all programs of that machine, in every arm: less says nothing of write amplification.
_LEAST_COLLECTED = 1 / 3
# Largest error of a closed form that holds for large blocks.
_OFF_CLOSED_FORM = 0.05
# Assumed sizes; the paper has both buffers, and gives no sizes.
_BUFFER_BYTES = 4 * MIB
_AS_IN_FIG_4 = (
    f"host.read_buffer={{ bytes = {_BUFFER_BYTES}, takes = 'whole_pages' }}",
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
        """Arms of the machine, one for each code."""
        return [squeezed(code, None, *self.overrides) for code in LATE_CODES]

    def each(self, quantity: Quantity, runs: Runs, workload: Workload, at: int) -> list[float]:
        """Values of a quantity on a workload with code number `at`, for each seed."""
        return quantity.each(summaries(self.plan, runs, workload, self.arms[at]))

    def closed_form(self, workload: Workload, at: int) -> float:
        """Write amplification if the mapped units were overwritten uniformly for ever, in closed form.

        Free blocks, and halves of the two that are open, hold no data.
        """
        config = configured(CONFIG, [*workload.overrides, *self.arms[0].overrides])
        fields = config.fields
        idle = fields["ftl"]["gc_high_watermark_blocks"] + 1
        closed = fields["geometry"]["blocks_per_plane"] - idle
        units = fields["precondition"]["mapped_fraction"] * config.user_bytes / UNIT
        places = device_of(workload).dies * closed * UNSQUEEZED.units_per_block
        return uniform_amplification(LATE_CODES[at], units / places)


def _machines(plan: Plan) -> dict[str, _Machine]:
    mapped = only_footprints(plan)
    once = replace(mapped, seeds=plan.seeds[:1])
    engine = Hardware(engine=SQUEEZED[-1].correctable)
    return {
        _FOOTPRINT: _Machine(mapped),
        _ALL: _Machine(plan),
        COLLECTS: _Machine(collecting(plan)),
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


def _at_uniform_addresses(plan: Plan) -> _Machine:
    """The machine that collects, overwritten at uniform addresses, as closed forms assume."""
    return _Machine(collecting_uniformly(plan))


def _cases_late(plan: Plan) -> list[Case]:
    machines = [*_machines(plan).values(), _at_uniform_addresses(plan)]
    return [case for machine in machines for case in cases(machine.plan, *machine.arms)]


def _late_claim(overhead: Overhead, code: UnitCode) -> str:
    return f"{overhead.stem}_{UNIT - code.squeezed_bytes}"


def _measure_late(overhead: Overhead, plan: Plan, runs: Runs) -> Measured:
    machines, found = _machines(plan), {}
    for how, machine in machines.items():
        found[how] = Compared(machine.plan, runs, machine.arms, machine.arms[0], overhead.quantity)
    rows, told, evidence = [], [], {}
    for at, (code, (low, high)) in enumerate(zip(SQUEEZED, overhead.ranges, strict=True), 1):
        increases = {how: _increases(compared, at) for how, compared in found.items()}
        for how, machine in machines.items():
            for workload in machine.plan.workloads:
                collected = [fmean(machine.each(COLLECTION, runs, workload, i)) for i in (at, 0)]
                more = {"machine": how, "collection_share": collected[0], "collection_share_unsqueezed": collected[1]}
                rows.append(bar(code.unit, workload.name, increases[how][workload.name], 100, **more))
        worst = {how: Evidence(max(each.values(), key=lambda n: n.value)) for how, each in increases.items()}
        mine = increases[_FOOTPRINT]
        why = f"{listed([f'{as_share(number.value, 1, signed=True)} ({name})' for name, number in mine.items()])}."
        others = {how: each for how, each in worst.items() if how != _FOOTPRINT}
        evidence[_late_claim(overhead, code)] = replace(worst[_FOOTPRINT], why=why, under=others, on_ours=worst[_ALL])
        for how, each in increases.items():
            told.append(
                [code.unit, how, ranged(low, high), *(as_share(n.value, 1, signed=True) for n in each.values())]
            )
    evidence |= _grows(overhead, found)
    heads = ["data space of a unit", "device", "published", *found[_ALL].workloads]
    notes = [f"{_WHY_LATE[overhead.stem]}\n\n{markdown_table(heads, told)}"]
    if overhead is OVERHEADS[0]:
        at_uniform = _at_uniform_addresses(plan)
        evidence |= _of_collection(machines[COLLECTS], at_uniform, runs)
        notes += [_note_of_room(plan), _note_of_collection(machines, at_uniform, runs)]
    if overhead is OVERHEADS[1]:
        notes.append(_note_of_reads(machines, runs))
    return Measured(pl.DataFrame(rows), evidence, (*notes, NUMBERING))


def _increases(compared: Compared, at: int) -> dict[str, Number]:
    """Increases of the quantity with a squeezed code over the unsqueezed one, by workload."""
    return {name: compared.number(name, compared.arms[at]).plus(-1) for name in compared.workloads}


def _grows(overhead: Overhead, found: Mapping[str, Compared]) -> dict[str, Evidence]:
    """Evidence whether the quantity grows with every squeeze; the paper does not claim this of flash reads."""
    if overhead.quantity is SENSES:
        return {}

    def order(how: str) -> Evidence:
        each = found[how]
        falling = list(reversed(each.arms))
        why = f"From the unsqueezed unit to {SQUEEZED[-1].unit} it grows most on {each.worst(falling[0])}."
        return each.order(falling, each.mean(falling[0]), why)

    under = {COLLECTS: order(COLLECTS)}
    return {f"{overhead.stem}_grows": replace(order(_FOOTPRINT), under=under, on_ours=order(_ALL))}


def _of_collection(machine: _Machine, at_uniform: _Machine, runs: Runs) -> dict[str, Evidence]:
    """Evidence whether the machine that collects does so in every arm, and whether it does as the closed form says."""
    own = {
        (workload.name, code.unit): 1 - min(machine.each(COLLECTION, runs, workload, at))
        for workload in machine.plan.workloads
        for at, code in enumerate(LATE_CODES)
    }
    most = max(own, key=lambda arm: own[arm])
    over = {
        (workload.name, code.unit): fmean(at_uniform.each(AMPLIFICATION, runs, workload, at))
        / at_uniform.closed_form(workload, at)
        for workload in at_uniform.plan.workloads
        for at, code in enumerate(LATE_CODES)
    }
    far = max(over, key=lambda arm: abs(over[arm] - 1))
    return {
        "collects": Evidence(
            Number.exact(own[most]),
            f"The most of {len(own)} arms, with every seed: {' at '.join(most)}. The least is "
            f"{as_share(min(own.values()), 1)}.",
        ),
        "uniform_amplification": Evidence(
            Number.exact(over[far]),
            f"The farthest of {len(over)} arms: {' at '.join(far)}. Free blocks, and halves of the two that are open "
            "in each plane, count as room that holds no data.",
        ),
    }


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


def _note_of_room(plan: Plan) -> str:
    rows = []
    for code in LATE_CODES:
        left = 1 - (1 - over_provisioning()) * UNSQUEEZED.units_per_block / code.units_per_block
        room = as_share(UNIT / (UNIT - code.squeezed_bytes) - 1, 1)
        rows.append([code.unit, f"{code.correctable}", as_share(code.crossing, 1), room, as_share(left, 1)])
    heads = ["data space of a unit", "t", "units in two pages", "room lost", "over-provisioning left"]
    shares = [f"{as_share(footprint(workload), 0)} ({workload.name})" for workload in plan.workloads]
    return (
        "The published minima of write amplification, 3.2, 6.7, 11.0 and 14.2 %, are about 4 KB over the data space "
        "less one, 3.2, 6.7, 10.3 and 14.3 %: the loss of room alone, as where collection moves nothing. Of the user's "
        f"capacity workloads have to do with {listed(shares)}.\n\n{markdown_table(heads, rows)}"
    )


def _note_of_collection(machines: Mapping[str, _Machine], at_uniform: _Machine, runs: Runs) -> str:
    """A note on the collection in each arm, beside the closed form."""
    told = {how: machines[how] for how in (_FOOTPRINT, _ALL, COLLECTS)}
    told[f"{COLLECTS}, uniform addresses"] = at_uniform
    names = [workload.name for workload in machines[_ALL].plan.workloads]
    rows = []
    for how, machine in told.items():
        for at, code in enumerate(LATE_CODES):
            cells = dict.fromkeys(names, "")
            for workload in machine.plan.workloads:
                amplification, collected = (
                    fmean(machine.each(quantity, runs, workload, at)) for quantity in (AMPLIFICATION, COLLECTION)
                )
                numbers = f"{amplification:.2f}, {as_share(collected, 0)}, {machine.closed_form(workload, at):.2f}"
                cells[workload.name] = numbers
            rows.append([how, code.unit, *cells.values()])
    logical = [
        f"{configured(CONFIG, workload.overrides).user_bytes / MIB:,.0f} MiB ({workload.name})"
        for workload in machines[COLLECTS].plan.workloads
    ]
    return (
        'The paper configures capacities "according to the logical space of traces". A machine that collects takes '
        "that at its word: the user's capacity is the space up to which addresses of a workload go, "
        f"{listed(logical)}, on as many channels and dies as there, with fewer blocks. It begins in the steady state "
        "of uniform overwriting; stand-ins overwrite it, at addresses over all of it. Nothing of it was chosen by what "
        f"comes out. Each of its arms has to spend at least {as_share(_LEAST_COLLECTED, 0)} of its page programs on "
        "collection, without which write amplification would be the loss of room alone; a claim of our own holds it to "
        "that. Each cell has write amplification, the share of all page programs that collection carries, and write "
        "amplification in closed form if as much were mapped and overwritten uniformly for ever. Where much less is "
        "mapped than there is, it says that nothing is ever collected, however long a workload goes on."
        f"\n\n{markdown_table(['device', 'data space of a unit', *names], rows)}"
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
    sheets = {
        how: bar_sheet(
            frame.filter(pl.col("machine") == how),
            f"Figure {overhead.figure[0]}({overhead.figure[1]}): {overhead.name}",
            "increase over unsqueezed, %",
            colours=WORKLOAD_COLOURS,
            line=None,
            note="by data space of a unit; band: published, least to most of four workloads",
            digits=1,
            published=ranges,
        )
        for how in (_FOOTPRINT, COLLECTS)
    }
    charts = [replace(sheet.charts[0], title=how) for how, sheet in sheets.items()]
    return replace(sheets[_FOOTPRINT], charts=charts, columns=1)


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
    """A claim about a cost: the worst workload may reach the upper end of the published range."""
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


_ON_COLLECTION = resting_on(
    "own check",
    Claim(
        "collects",
        "6b",
        f"on {COLLECTS} programs of the host's own data are at most two thirds of all, in every arm",
        1 - _LEAST_COLLECTED,
        rule="at most",
        unit="%",
    ),
    Claim(
        "uniform_amplification",
        "6b",
        "there, at uniform addresses, write amplification is that of the closed form (within "
        f"{as_share(_OFF_CLOSED_FORM, 0)})",
        1.0,
        tolerance=_OFF_CLOSED_FORM,
    ),
)

CLAIMS = tuple(
    claim
    for overhead in OVERHEADS
    for claim in (
        *(_bound(overhead, code, *ends) for code, ends in zip(SQUEEZED, overhead.ranges, strict=True)),
        *([_growth(overhead)] if overhead.quantity is not SENSES else []),
        *(_ON_COLLECTION if overhead is OVERHEADS[0] else []),
    )
)
