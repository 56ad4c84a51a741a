"""The four workloads, of which one is available in part, and the quantities that are counted in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import (
    Number,
    Plan,
    Workload,
    configured,
    synthetic,
)
from softsense.papers.comparing import Quantity, Summary, response
from softsense.papers.lae_ftl.devices import device_of
from softsense.papers.lae_ftl.published import CONFIG, KIB, LATE, MIB, TRACES, UNIT
from softsense.papers.lae_ftl.units import SEGMENTS

# Assumed. The traces are public, but their addresses are not in our sources.
_EXPONENT = 0.9
_ZIPF = {"zipf": {"exponent": _EXPONENT}}
# The end of the addresses of the excerpt, by `softsense trace stats`.
_F1_EXTENT = round(489.71 * MIB)
# Number of times that the host overwrites the device of a stand-in that collects, in quick (False) and full (True)
# runs.
_PASSES = {False: 0.1, True: 0.5}
# Passes that a comparison with a closed form needs. With fewer, the few collected blocks and the first pass, in which
# no plane collects, hide the closed form.
_PASSES_OF_CLOSED_FORM = 0.5
# The public Financial2, from memory: about 3.7 million requests in 11.4 hours, 82 % of them reads, mostly of one unit.
_F2_REQUESTS, _F2_READS, _F2_PER_S = 3_700_000, 0.82, 90.0
_F2_FOOTPRINT = 512 * MIB
# MSR-ts is ts0, with the statistics that LaLDPC prints: sectors read and written, and days; a unit a request.
_TS_READ_SECTORS, _TS_WRITTEN_SECTORS, _TS_DAYS = 3_976_632, 14_127_647, 4.7
_TS_FOOTPRINT = 2048 * MIB
_SECTORS_OF_A_UNIT, _DAY_S = 8, 86_400.0
# All of MSR-src is assumed: requests of one to sixteen units.
_SRC_READS, _SRC_PER_S = 0.5, 5.0
_UNPRINTED_PER_S = {"F2": _F2_PER_S, "MSR-src": _SRC_PER_S}
# Values of other readings. Rates are so low that nothing waits, so only a much greater rate could matter.
_EXPONENTS, _FASTER = (0.7, 1.1), 10.0
_SRC_SIZES = ((4, 0.4), (8, 0.2), (16, 0.2), (64, 0.2))


def f1_stand_in(most: int) -> Workload:
    """A stand-in with the counts of the public excerpt: 29,199 reads and 20,801 writes in 853 s, mostly of one or two
    units.
    """
    requests, reads, seconds = 50_000, 29_199, 853.4
    shares = ((4, 0.444), (8, 0.525), (16, 0.031))
    fields = synthetic(
        requests=min(most, requests),
        read_fraction=reads / requests,
        sizes=[{"bytes": kib * KIB, "share": share} for kib, share in shares],
        addresses=_ZIPF,
        arrivals={"poisson": {"requests_per_s": requests / seconds}},
        footprint_bytes=128 * MIB,
        # Requests begin at any sector, so that most touch one unit more than their length needs.
        align_bytes=512,
    )
    return Workload("F1", "stand-in: counts, sizes, rate and footprint of the excerpt; Zipf, Poisson", overrides=fields)


def src_stand_in(most: int, footprint_bytes: int = 4096 * MIB) -> Workload:
    """A stand-in, all of which is assumed."""
    sizes = [{"bytes": kib * KIB, "share": share} for kib, share in _SRC_SIZES]
    fields = synthetic(
        requests=most,
        read_fraction=_SRC_READS,
        sizes=sizes,
        addresses=_ZIPF,
        arrivals={"poisson": {"requests_per_s": _SRC_PER_S}},
        footprint_bytes=footprint_bytes,
    )
    told = listed([f"{kib} KiB ({as_plain_share(share)})" for kib, share in _SRC_SIZES])
    over = f"Zipf over {footprint_bytes / (KIB * MIB):g} GiB"
    what = f"stand-in, all assumed: {as_plain_share(_SRC_READS)} reads, {told}, {_SRC_PER_S:g} a second, {over}"
    return Workload("MSR-src", what, overrides=fields)


def f2_stand_in(most: int, footprint_bytes: int = _F2_FOOTPRINT) -> Workload:
    """A stand-in with the statistics of the public trace, from memory."""
    requests = min(most, _F2_REQUESTS)
    reads = f"{as_plain_share(_F2_READS)} reads of a unit, {_F2_PER_S:g} a second"
    what = f"stand-in, from memory of the public trace: {reads}"
    return Workload("F2", what, overrides=_of_units(requests, _F2_READS, _F2_PER_S, footprint_bytes))


def ts_stand_in(most: int, footprint_bytes: int = _TS_FOOTPRINT) -> Workload:
    """A stand-in with the published counts and length of ts0."""
    every = (_TS_READ_SECTORS + _TS_WRITTEN_SECTORS) // _SECTORS_OF_A_UNIT
    reads = _TS_READ_SECTORS / (_TS_READ_SECTORS + _TS_WRITTEN_SECTORS)
    per_s = every / (_TS_DAYS * _DAY_S)
    told = f"{as_share(reads, significant=3)} reads, {per_s:.3g} a second"
    what = f"stand-in: counts and mean rate of ts0, {told}; addresses assumed"
    return Workload("MSR-ts", what, overrides=_of_units(min(most, every), reads, per_s, footprint_bytes))


def _of_units(requests: int, reads: float, per_s: float, footprint_bytes: int) -> tuple[str, ...]:
    return synthetic(
        requests=requests,
        read_fraction=reads,
        sizes=[{"bytes": UNIT, "share": 1.0}],
        addresses=_ZIPF,
        arrivals={"poisson": {"requests_per_s": per_s}},
        footprint_bytes=footprint_bytes,
    )


def plan_of(full: bool) -> Plan:
    """The plan of a quick or a full run."""
    # The host of a full run fills about fifteen blocks of each die of the large device.
    most = 150_000 if full else 30_000
    financial = Workload(
        "F1",
        "real, an excerpt of 50,000 requests",
        "umass_Financial1_req3-50002.4Kpages.trace.zst",
        (("format", "disksim"), ("size_unit", "4KiB")),
        stand_in=placed(f1_stand_in(most)),
    )
    others = (
        f2_stand_in(2 * most),
        src_stand_in(most // 3),
        ts_stand_in(most),
    )
    workloads = tuple(placed(each) for each in (financial, *others))
    return Plan(full, (1, 2, 3), workloads, 100_000 if full else 20_000)


def placed(workload: Workload, share: float | None = None) -> Workload:
    """The workload on the device on which the paper runs it, with over-provisioning `share`."""
    return replace(workload, overrides=(*workload.overrides, *device_of(workload).overrides(share)))


def _touched_bytes(workload: Workload) -> int:
    """End of the addresses of a workload, bytes."""
    if workload.file:
        return _F1_EXTENT
    return int(configured(CONFIG, workload.overrides).fields["workload"]["footprint_bytes"])


def footprint(workload: Workload) -> float:
    """The share of the user's capacity up to which the addresses of a workload go."""
    return min(_touched_bytes(workload) / configured(CONFIG, workload.overrides).user_bytes, 1.0)


def only_footprints(plan: Plan) -> Plan:
    """The plan on devices of whose user capacity only the footprint of a workload was ever written."""

    def of(workload: Workload) -> Workload:
        mapped = f"precondition.mapped_fraction={footprint(workload):.6f}"
        return replace(workload, overrides=(*workload.overrides, mapped))

    return replace(plan, workloads=tuple(of(workload) for workload in plan.workloads))


def collecting(plan: Plan, least_passes: float = 0.0) -> Plan:
    """The plan on devices that collect: the logical space of a workload is the user's whole capacity.

    Each device keeps all but its number of blocks, and begins in the steady state of uniform overwriting. Addresses of
    stand-ins go over all of it. Their requests are as many as overwrite it `_PASSES` times, or `least_passes` if that
    is more; a trace is unchanged.
    """

    def of(workload: Workload) -> Workload:
        # The logical space of F1 is that of the excerpt, for its stand-in, too.
        logical_bytes = _F1_EXTENT if workload.name == "F1" else _touched_bytes(workload)
        device = replace(device_of(workload), user_bytes=logical_bytes).overrides()
        overrides = (*workload.overrides, *device)
        config = configured(CONFIG, overrides)
        if not workload.file:
            fields = config.fields["workload"]
            of_request = (1 - fields["read_fraction"]) * sum(each["bytes"] * each["share"] for each in fields["sizes"])
            requests = round(max(_PASSES[plan.full], least_passes) * config.user_bytes / of_request)
            overrides += f"workload.footprint_bytes={config.user_bytes}", f"workload.requests={requests}"
        return replace(workload, overrides=overrides)

    return replace(plan, workloads=tuple(of(workload) for workload in plan.workloads))


def collecting_uniformly(plan: Plan) -> Plan:
    """The plan with stand-ins on devices that collect, at uniform addresses, as closed forms assume; one seed."""
    stand_ins = [workload for workload in collecting(plan, _PASSES_OF_CLOSED_FORM).workloads if not workload.file]
    workloads = (replace(w, overrides=(*w.overrides, "workload.addresses=uniform")) for w in stand_ins)
    return replace(plan, seeds=plan.seeds[:1], workloads=tuple(workloads))


def short(plan: Plan) -> Plan:
    """The plan with as few requests of stand-ins as reads need, which wait for no collection."""
    return fewer(plan, 15_000 if plan.full else 5_000)


def fewer(plan: Plan, most: int) -> Plan:
    """The plan with at most `most` requests of each stand-in."""

    def of(workload: Workload) -> Workload:
        if workload.file:
            return workload
        fields = configured(CONFIG, workload.overrides)
        fewer = min(most, fields.fields["workload"]["requests"])
        return replace(workload, overrides=(*workload.overrides, f"workload.requests={fewer}"))

    return replace(plan, workloads=tuple(of(workload) for workload in plan.workloads))


def read_otherwise(plan: Plan) -> dict[str, Plan]:
    """Plans with other addresses and rates of stand-ins, which nobody printed, by name.

    Each plan has one seed, as readings differ by more than seeds do.
    """

    def with_fields(fields: Mapping[str, str]) -> Plan:
        """The plan with a further field for stand-ins of these names."""
        workloads = (
            replace(w, overrides=(*w.overrides, fields[w.name])) if not w.file and w.name in fields else w
            for w in plan.workloads
        )
        return replace(plan, seeds=plan.seeds[:1], workloads=tuple(workloads))

    exponents = {f"stand-ins of Zipf {each}": f"workload.addresses.zipf.exponent={each}" for each in _EXPONENTS}
    rates = {
        name: f"workload.arrivals.poisson.requests_per_s={_FASTER * per_s}" for name, per_s in _UNPRINTED_PER_S.items()
    }
    return {
        **{name: with_fields(dict.fromkeys(TRACES, field)) for name, field in exponents.items()},
        f"F2 and MSR-src {_FASTER:g} times as fast": with_fields(rates),
    }


def spread(plan: Plan, share: float | None) -> Plan:
    """The plan on devices with over-provisioning `share` and the same user capacity."""
    if share is None:
        return plan
    return replace(plan, workloads=tuple(placed(workload, share) for workload in plan.workloads))


def stands(plan: Plan) -> str:
    """A list of the real workloads, for people."""
    real = [workload.name for workload in plan.workloads if workload.file]
    return f"{listed(real)} real, the others stand-ins" if real else "all stand-ins"


# Quantities of a run

PARTS = ("sense", "wait_bus", "transfer", "wait_decoder", "decode")


def _read_latency(summary: Summary) -> float:
    time_us = summary["codeword_reads"]["time_us"]
    return float(sum(time_us[part] for part in PARTS))


READ_LATENCY = Quantity("read_latency_us", _read_latency)
"""The paper's read latency: flash read, transfer and decoding with their waits; not the wait for the die."""


def _collected(summary: Summary) -> int:
    """Pages that garbage collection programmed."""
    return sum(each["programs"] for each in summary["background"] if each["cause"] == "garbage_collection")


READ, SYSTEM = response("read"), response("all")
AMPLIFICATION = Quantity("write_amplification", lambda summary: summary["writes_detail"]["write_amplification"])
COLLECTION = Quantity("collection_share", lambda summary: _collected(summary) / summary["operations"]["programs"])
"""The share of all page programs that garbage collection carries."""

SENSES = Quantity("flash_reads", lambda summary: summary["operations"]["senses"])


@dataclass(frozen=True)
class Overhead:
    """A cost of squeezing.

    Attributes:
        figure: id of the figure.
        stem: beginning of the ids of its claims.
        name: name of the quantity, for people.
        published: name of the published ranges.
        quantity: quantity of a summary.
    """

    figure: str
    stem: str
    name: str
    published: str
    quantity: Quantity

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """Published ranges for each squeezed unit, from the least to the most of the four workloads."""
        return [(low, high) for low, high in LATE[self.published]]


OVERHEADS = (
    Overhead("6b", "amplification", "write amplification", "write_amplification_increase", AMPLIFICATION),
    Overhead("6c", "flash_reads", "flash page reads", "flash_reads_increase", SENSES),
    Overhead("6d", "response", "response time", "response_time_increase", SYSTEM),
)

SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#5e4fa2", "#8c6d31")
WORKLOAD_COLOURS = dict(zip(TRACES, SERIES, strict=False))
SEGMENT_COLOURS = dict(
    zip((code.label for code in SEGMENTS), ("#0b3c5d", "#0072b2", "#56b4e9", "#a6d4ee"), strict=True)
)
GREY = "#7f7f7f"


def bar(group: str, bar: str, number: Number, by: float = 1.0, **more: Any) -> dict[str, Any]:
    """A row for `bar_sheet`."""
    return {"group": group, "bar": bar, "value": by * number.value, "lo": by * number.lo, "hi": by * number.hi, **more}
