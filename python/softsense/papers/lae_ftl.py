"""LAE-FTL (S. Wang et al., 2017): BCH codes that grow as flash wears; its codes, figures and claims, measured.

The device is that of the paper's section IV, `configs/mlc-lae.toml`. What the paper leaves open, and what stands in for
workloads that are not to be had, is said in the report.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from softsense import _core, codes
from softsense._core import Config
from softsense.api import inline
from softsense.lifetime import ADAPTIVE, Demand, Lifetime, lifetime, write_amplification
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
    configured,
    laldpc,
    markdown_table,
    synthetic,
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
    response,
    saved,
    summaries,
)
from softsense.papers.drawing import Line, draw_bars, lines, point

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# What the paper says -------------------------------------------------------------------------------------------------

PUBLISHED: dict[str, Any] = {
    "geometry": {"page_bytes": 8192, "unit_bytes": 4096, "oob_bytes_per_unit": 224, "pages_per_block": 256},
    "timing_us": {"read": 75.0, "program": 1200.0, "erase": 5000.0},
    "segment": [
        {"codeword_bytes": 512, "n": 4141, "k": 4096, "t": 15, "rber": 0.0003, "pe_cycles": 16000},
        {"codeword_bytes": 1024, "n": 8626, "k": 8192, "t": 31, "rber": 0.0008, "pe_cycles": 25000},
        {"codeword_bytes": 2048, "n": 17239, "k": 16384, "t": 57, "rber": 0.0012, "pe_cycles": 27000},
        {"codeword_bytes": 4096, "n": 34448, "k": 32768, "t": 105, "rber": 0.0015, "pe_cycles": 31000},
    ],
    "baseline_code": {"n": 34528, "k": 32800, "t": 108},
    "target": {"unit_bit_error_rate": 1e-15},
    "devices": {
        "small": {"capacity_gb": 0.9, "channels": 2, "dies_per_channel": 2, "traces": ["F1", "F2"]},
        "large": {"capacity_gb": 16.0, "channels": 4, "dies_per_channel": 4, "traces": ["MSR-src", "MSR-ts"]},
        "ecc_engines_per_channel": 1,
    },
    "late_stage": {
        "squeezed_unit_kb": [3.875, 3.75, 3.625, 3.5],
        "write_amplification_increase": [[0.032, 0.136], [0.067, 0.212], [0.110, 0.301], [0.142, 0.381]],
        "flash_reads_increase": [[0.096, 0.369], [0.101, 0.356], [0.207, 0.338], [0.112, 0.327]],
        "response_time_increase": [[0.128, 0.200], [0.170, 0.263], [0.230, 0.348], [0.277, 0.406]],
        "metadata_bytes_per_page": 24,
        "logical_units_per_physical_unit_max": 2,
    },
    "claims": {
        "read_latency_gain_over_worst_case_bch": [0.1167, 0.2304, 0.6342, 0.6165],
        "more_parallel_flash_gains_more": True,
    },
}
"""The published numbers, by the sections and names of `published/lae_ftl.toml`."""

_GEOMETRY, _LATE = PUBLISHED["geometry"], PUBLISHED["late_stage"]
_UNIT: int = _GEOMETRY["unit_bytes"]
_OOB: int = _GEOMETRY["oob_bytes_per_unit"]
_SENSE_US: float = PUBLISHED["timing_us"]["read"]
_UNITS_PER_PAGE: int = _GEOMETRY["page_bytes"] // _UNIT
_LIMIT: float = PUBLISHED["target"]["unit_bit_error_rate"]
# Of a squeezed unit: LUN, length and N-PUN take 24 B a page; the LUN alone otherwise.
_METADATA: int = _LATE["metadata_bytes_per_page"] // _UNITS_PER_PAGE
_LUN = 4
TRACES = (*PUBLISHED["devices"]["small"]["traces"], *PUBLISHED["devices"]["large"]["traces"])
"""The four workloads, in the order in which the paper names them, and so its numbers."""
_CONFIG = "mlc-lae"
_POLICY = "progressive:restart"
_KIB = 1024
_MIB = 1024 * _KIB
_EXACTLY = 0.005
_WITHIN = 0.02

Criterion = Literal["unit_ber", "failure"]


# Wear ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wear:
    """A power law: RBER = scale (PE / 1000)^pe_exponent."""

    scale: float
    pe_exponent: float

    def rber(self, pe_cycles: float) -> float:
        """The raw bit error rate after so many P/E cycles."""
        return float(self.scale * (pe_cycles / 1000) ** self.pe_exponent)

    def pe_cycles(self, rber: float) -> float:
        """After how many P/E cycles there is such a raw bit error rate."""
        return float(1000 * (rber / self.scale) ** (1 / self.pe_exponent))

    @property
    def model(self) -> dict[str, Any]:
        """As a config has it."""
        return {"power_law": {"scale": self.scale, "pe_exponent": self.pe_exponent}}


@cache
def wear() -> Wear:
    """The straight line through the paper's four raw bit error rates over P/E cycles, both in logarithms."""
    points = np.log([[each["pe_cycles"] / 1000, each["rber"]] for each in PUBLISHED["segment"]])
    exponent, intercept = np.polyfit(points[:, 0], points[:, 1], 1)
    return Wear(float(np.exp(intercept)), float(exponent))


# Codes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitCode:
    """The code of a unit of 4 KiB.

    Attributes:
        codeword_bytes: data of a codeword; a unit has one or several.
        correctable: errors of a codeword that are corrected.
    """

    codeword_bytes: int
    correctable: int

    @property
    def parity(self) -> codes.BchParity:
        """Of a codeword."""
        return codes.bch_parity(8 * self.codeword_bytes, self.correctable)

    @property
    def codewords(self) -> int:
        """Of a unit."""
        return _UNIT // self.codeword_bytes

    @property
    def parity_bytes(self) -> int:
        """Of a unit, whole bytes for each codeword."""
        found = _core.bch_parity(8 * self.codeword_bytes, self.correctable)
        assert found is not None
        return self.codewords * int(found["parity_bytes"])

    @property
    def squeezed_bytes(self) -> int:
        """By which the data space of a unit is smaller than 4 KiB."""
        return int(_on_device(self)["squeezed_bytes"])

    @property
    def units_per_block(self) -> int:
        """Units that fit a block, packed across its pages."""
        return int(_on_device(self)["units_per_block"])

    @property
    def crossing(self) -> float:
        """The share of units that lie in two pages."""
        return float(_crossing(self))

    @property
    def size(self) -> str:
        """Data of a codeword, for people."""
        return f"{self.codeword_bytes} B" if self.codeword_bytes < _KIB else f"{self.codeword_bytes // _KIB} KB"

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.size}, t = {self.correctable}"

    @property
    def unit(self) -> str:
        """The data space of a unit, for people."""
        return f"{(_UNIT - self.squeezed_bytes) / _KIB:g} KB"

    def fails(self, rber: float) -> float:
        """The probability that a codeword of a unit has more errors than are corrected."""
        good = 1 - codes.failure_probability(_on_device(self)["codeword_bits"], self.correctable, rber)
        return float(1 - good**self.codewords)

    def failing_rber(self, failing: float) -> float:
        """The raw bit error rate at which so many units fail."""
        of_codeword = 1 - (1 - failing) ** (1 / self.codewords)
        return codes.raw_bit_error_rate(_on_device(self)["codeword_bits"], self.correctable, of_codeword)

    def limit(self, criterion: Criterion = "unit_ber") -> float:
        """The raw bit error rate up to which a codeword is as reliable as asked for."""
        allowed = _LIMIT * (8 * self.codeword_bytes if criterion == "unit_ber" else 1)
        return codes.raw_bit_error_rate(self.parity.codeword_bits, self.correctable, allowed)


def filling(oob_bytes: int, metadata_bytes: int) -> UnitCode:
    """The strongest code of 4 KiB whose parity fits the OOB of a unit beside metadata."""
    field_bits = codes.bch_parity(8 * _UNIT, 1).field_bits
    return UnitCode(_UNIT, 8 * (oob_bytes - metadata_bytes) // field_bits)


SEGMENTS = tuple(UnitCode(each["codeword_bytes"], each["t"]) for each in PUBLISHED["segment"])
"""The codes of the early stage."""

WORST_CASE = UnitCode(_UNIT, PUBLISHED["baseline_code"]["t"])
"""The baseline of reads, with 4,096 B of data; the paper's codeword has 4 B more, as much as a LUN."""

UNSQUEEZED = SEGMENTS[-1]
"""The baseline of the late stage."""

SQUEEZED = tuple(filling(_OOB + _UNIT - round(_KIB * size), _METADATA) for size in _LATE["squeezed_unit_kb"])
"""The codes of the late stage."""

_RBER: tuple[float, ...] = tuple(each["rber"] for each in PUBLISHED["segment"])
_TO_PE: tuple[int, ...] = tuple(each["pe_cycles"] for each in PUBLISHED["segment"])
# In the middle of each segment, so that what is erased in a run changes no code.
_AGES = tuple((since + to) // 2 for since, to in pairwise((0, *_TO_PE)))
# Beyond any age.
_FOR_LIFE = 1_000_000


@dataclass(frozen=True)
class Hardware:
    """A BCH decoder; all of it is assumed.

    Attributes:
        bits_per_cycle: that syndromes, and the search for roots, take in.
        multipliers: of the solver of the key equation.
        clock_mhz: of all of it.
    """

    bits_per_cycle: int = 8
    multipliers: int = 16
    clock_mhz: float = 200.0

    def decode_us(self, code: UnitCode, errors: bool = True) -> float:
        """What a codeword takes; without errors it is done when its syndromes are."""
        return float(_on_device(code, self)["decode_us" if errors else "decode_without_errors_us"])

    @property
    def override(self) -> str:
        """Its time in a config."""
        bch = {
            "clock_mhz": self.clock_mhz,
            "syndrome_bits_per_cycle": self.bits_per_cycle,
            "key_equation_multipliers": self.multipliers,
            "search_bits_per_cycle": self.bits_per_cycle,
        }
        return f"decoder.time={inline({'bch': bch})}"


ASSUMED = Hardware()
"""That of the shipped device."""


@cache
def _on_device(code: UnitCode, hardware: Hardware = ASSUMED) -> dict[str, Any]:
    """What the simulator has of a code on the shipped device: parity, room and times."""
    overrides = [_bch({code: _FOR_LIFE}, _constant(_RBER[-1])), hardware.override]
    [found] = configured(_CONFIG, overrides).bch_codes()
    return found


def _crossing(code: UnitCode) -> Fraction:
    """The share of units that lie in two pages."""
    return Fraction(_on_device(code)["crossing_per_block"], code.units_per_block)


def last_decode_us(codewords: int, transfer_us: float, clean_us: float, decode_us: float, p_clean: float) -> float:
    """The mean time from the first transfer of a unit to the end of its last decode, with nothing else about.

    Codewords are transferred one after the other; a decoder takes each when it is there and the one before is done.
    A codeword has no error with probability `p_clean`.
    """
    # How long the decoder goes on after a transfer has ended: its distribution.
    behind = {0.0: 1.0}
    for _ in range(codewords):
        after: dict[float, float] = {}
        for lag, share in behind.items():
            for took, likely in ((clean_us, p_clean), (decode_us, 1 - p_clean)):
                end = round(max(lag - transfer_us, 0.0) + took, 6)
                after[end] = after.get(end, 0.0) + share * likely
        behind = after
    return codewords * transfer_us + sum(lag * share for lag, share in behind.items())


# Devices -------------------------------------------------------------------------------------------------------------


@cache
def _shipped() -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(Config.open(_CONFIG).to_json())
    return fields


def over_provisioning() -> float:
    """Of the shipped device, unsqueezed; the paper does not say."""
    return float(_shipped()["ftl"]["over_provisioning"])


@dataclass(frozen=True)
class Device:
    """A size of device: channels, dies of each, and bytes of the user."""

    channels: int
    dies_per_channel: int
    user_bytes: int

    @staticmethod
    def of(published: Mapping[str, Any]) -> Device:
        """As the paper has it."""
        user_bytes = round(1e9 * published["capacity_gb"])
        return Device(published["channels"], published["dies_per_channel"], user_bytes)

    @property
    def dies(self) -> int:
        """Of all channels."""
        return self.channels * self.dies_per_channel

    def overrides(self, share: float | None = None) -> tuple[str, ...]:
        """As config fields, with so much over-provisioning where nothing is squeezed; default: the shipped one."""
        share = over_provisioning() if share is None else share
        block_bytes = _UNIT * UNSQUEEZED.units_per_block
        blocks = round(self.user_bytes / (1 - share) / block_bytes / self.dies)
        return (
            f"geometry.channels={self.channels}",
            f"geometry.dies_per_chip={self.dies_per_channel}",
            f"geometry.blocks_per_plane={blocks}",
            f"ftl.over_provisioning={share}",
        )


SMALL, LARGE = (Device.of(PUBLISHED["devices"][name]) for name in ("small", "large"))


def _device(workload: Workload) -> Device:
    """The one that the paper runs a workload on."""
    return SMALL if workload.name in PUBLISHED["devices"]["small"]["traces"] else LARGE


def _bch(each: Mapping[UnitCode, int], rber: Mapping[str, Any], exact: bool = False) -> str:
    """The reliability of a device whose blocks have these codes, each up to so many P/E cycles."""
    of_age = [
        {"codeword_bytes": code.codeword_bytes, "correctable": code.correctable, "to_pe_cycles": to_pe}
        for code, to_pe in each.items()
    ]
    bch = {"oob_bytes": _OOB, "exact": exact, "rber": dict(rber), "variation": {}, "codes": of_age}
    return f"reliability={inline({'bch': bch})}"


def _constant(rber: float) -> dict[str, Any]:
    return {"constant": {"rber": rber}}


def fixed(code: UnitCode, rber: float, *overrides: str, label: str = "", exact: bool = False) -> Arm:
    """A device with one code for life."""
    return Arm(label or code.label, _POLICY, (_bch({code: _FOR_LIFE}, _constant(rber), exact), *overrides))


def adaptive(segment: int, *overrides: str) -> Arm:
    """The shipped device in the middle of a segment of its early stage."""
    aged = f"reliability.bch.rber={inline(_constant(_RBER[segment]))}", f"precondition.pe_cycles={_AGES[segment]}"
    return Arm(SEGMENTS[segment].label, _POLICY, (*aged, *overrides))


def squeezed(code: UnitCode, share: float | None = None, *overrides: str) -> Arm:
    """A device whose user keeps the capacity of the unsqueezed one, which has so much over-provisioning.

    All are read at the rate of the last early segment, which every code of them corrects.
    """
    share = over_provisioning() if share is None else share
    left = 1 - (1 - share) * UNSQUEEZED.units_per_block / code.units_per_block
    # So that what is short of steady state at the start, free blocks beyond the low watermark, counts for nobody.
    at_once = f"ftl.gc_low_watermark_blocks={_shipped()['ftl']['gc_high_watermark_blocks']}"
    return fixed(code, _RBER[-1], f"ftl.over_provisioning={left}", at_once, *overrides, label=code.unit)


# Workloads -----------------------------------------------------------------------------------------------------------

# Assumed: the traces are public, and their addresses are not in our sources.
_EXPONENT = 0.9
_ZIPF = {"zipf": {"exponent": _EXPONENT}}
# So that they fit the small device.
_F2_WRITTEN, _F2_READ = 256 * _MIB, 512 * _MIB
# All of it assumed: requests of one to sixteen units.
_SRC_READS, _SRC_PER_S = 0.5, 5.0
_SRC_SIZES = ((4, 0.4), (8, 0.2), (16, 0.2), (64, 0.2))


def _f1_stand_in(most: int) -> Workload:
    """With the counts of the public excerpt: 29,199 reads and 20,801 writes in 853 s, mostly of one or two units."""
    requests, reads, seconds = 50_000, 29_199, 853.4
    shares = ((4, 0.444), (8, 0.525), (16, 0.031))
    fields = synthetic(
        requests=min(most, requests),
        read_fraction=reads / requests,
        sizes=[{"bytes": kib * _KIB, "share": share} for kib, share in shares],
        addresses=_ZIPF,
        arrivals={"poisson": {"requests_per_s": requests / seconds}},
        footprint_bytes=128 * _MIB,
        # It begins at any sector, so that most requests touch a unit more than they are long.
        align_bytes=512,
    )
    return Workload("F1", "stand-in: counts, sizes, rate and footprint of the excerpt; Zipf, Poisson", overrides=fields)


def _src_stand_in(most: int, footprint_bytes: int = 4096 * _MIB) -> Workload:
    sizes = [{"bytes": kib * _KIB, "share": share} for kib, share in _SRC_SIZES]
    fields = synthetic(
        requests=most,
        read_fraction=_SRC_READS,
        sizes=sizes,
        addresses=_ZIPF,
        arrivals={"poisson": {"requests_per_s": _SRC_PER_S}},
        footprint_bytes=footprint_bytes,
    )
    told = listed([f"{kib} KiB ({100 * share:g} %)" for kib, share in _SRC_SIZES])
    over = f"Zipf over {footprint_bytes / (_KIB * _MIB):g} GiB"
    what = f"stand-in, all assumed: {100 * _SRC_READS:g} % reads, {told}, {_SRC_PER_S:g} a second, {over}"
    return Workload("MSR-src", what, overrides=fields)


def _plan(full: bool) -> Plan:
    # So many that each die of the large device collects tens of blocks.
    most = 600_000 if full else 40_000
    financial = Workload(
        "F1",
        "real, an excerpt of 50,000 requests",
        "umass_Financial1_req3-50002.4Kpages.trace.zst",
        (("format", "disksim"), ("size_unit", "4KiB")),
        stand_in=_placed(_f1_stand_in(most)),
    )
    others = (
        # It hardly writes: as much of it as there is.
        laldpc.stand_in("F2", 3 * most, _F2_WRITTEN, _F2_READ),
        _src_stand_in(most // 3),
        replace(laldpc.stand_in("ts0", most), name="MSR-ts"),
    )
    workloads = tuple(_placed(each) for each in (financial, *others))
    return Plan(full, (1, 2, 3) if full else (1, 2), workloads, 100_000 if full else 20_000)


def _placed(workload: Workload, share: float | None = None) -> Workload:
    """The workload on the device that the paper runs it on, with so much over-provisioning."""
    return replace(workload, overrides=(*workload.overrides, *_device(workload).overrides(share)))


def _short(plan: Plan) -> Plan:
    """The plan with fewer requests of stand-ins: enough for reads, which need no collection."""
    most = 50_000 if plan.full else 10_000

    def of(workload: Workload) -> Workload:
        if workload.file or workload.name == "F1":
            return workload
        fields = configured(_CONFIG, workload.overrides)
        fewer = min(most, json.loads(fields.to_json())["workload"]["requests"])
        return replace(workload, overrides=(*workload.overrides, f"workload.requests={fewer}"))

    return replace(plan, workloads=tuple(of(workload) for workload in plan.workloads))


def _spread(plan: Plan, share: float | None) -> Plan:
    """The plan on devices with so much over-provisioning, and as much for the user."""
    if share is None:
        return plan
    return replace(plan, workloads=tuple(_placed(workload, share) for workload in plan.workloads))


def _stands(plan: Plan) -> str:
    """Which workloads are real."""
    real = [workload.name for workload in plan.workloads if workload.file]
    return f"{listed(real)} real, the others stand-ins" if real else "all stand-ins"


# What is measured ----------------------------------------------------------------------------------------------------

_PARTS = ("sense", "wait_bus", "transfer", "wait_decoder", "decode")


def _read_latency(summary: Summary) -> float:
    time_us = summary["codeword_reads"]["time_us"]
    return float(sum(time_us[part] for part in _PARTS))


READ_LATENCY = Quantity("read_latency_us", _read_latency)
"""The paper's: flash read, waits for transfer and decoding, and both of these; not the wait for the die."""

READ, SYSTEM = response("read"), response("all")
AMPLIFICATION = Quantity("write_amplification", lambda summary: summary["writes_detail"]["write_amplification"])
SENSES = Quantity("flash_reads", lambda summary: summary["operations"]["senses"])


@dataclass(frozen=True)
class Overhead:
    """A cost of squeezing.

    Attributes:
        figure: id.
        stem: of ids of claims.
        name: of what is counted.
        published: name of its ranges.
        quantity: how it is measured.
    """

    figure: str
    stem: str
    name: str
    published: str
    quantity: Quantity

    @property
    def ranges(self) -> list[tuple[float, float]]:
        """From the least to the most of the four workloads, for each squeezed unit."""
        return [(low, high) for low, high in _LATE[self.published]]


OVERHEADS = (
    Overhead("6b", "amplification", "write amplification", "write_amplification_increase", AMPLIFICATION),
    Overhead("6c", "flash_reads", "flash page reads", "flash_reads_increase", SENSES),
    Overhead("6d", "response", "response time", "response_time_increase", SYSTEM),
)

_SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#5e4fa2", "#8c6d31")
_WORKLOAD_COLOURS = dict(zip(TRACES, _SERIES, strict=False))
_SEGMENT_COLOURS = dict(
    zip((code.label for code in SEGMENTS), ("#0b3c5d", "#0072b2", "#56b4e9", "#a6d4ee"), strict=True)
)
_GREY = "#7f7f7f"


def _range(low: float, high: float) -> str:
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _bar(group: str, bar: str, number: Number, by: float = 1.0, **more: Any) -> dict[str, Any]:
    """A row of `draw_bars`."""
    return {"group": group, "bar": bar, "value": by * number.value, "lo": by * number.lo, "hi": by * number.hi, **more}


# Figure 1: the least parity ------------------------------------------------------------------------------------------

_PE_STEP, _PE_TO = 500, 40_000


def _least(codeword_bytes: int, rber: float, criterion: Criterion = "unit_ber") -> UnitCode:
    found = codes.minimum_correctable(8 * codeword_bytes, rber, limit=_LIMIT, criterion=criterion)
    return UnitCode(codeword_bytes, found.correctable)


def _measure_fig01(plan: Plan, runs: Runs) -> Measured:
    law, rows, told, evidence = wear(), [], [], {}
    ages = range(2 * _PE_STEP, _PE_TO + 1, _PE_STEP)
    parity, rate = "parity of a unit of 4 KB", "raw bit error rate"
    for code in SEGMENTS:
        for age in ages:
            least = _least(code.codeword_bytes, law.rber(age))
            rows.append(point(parity, code.size, age / 1000, Number.exact(least.parity_bytes), t=least.correctable))
    rows += [point(parity, f"OOB, {_OOB} B", age / 1000, Number.exact(_OOB)) for age in (ages[0], ages[-1])]
    for code, each in zip(SEGMENTS, PUBLISHED["segment"], strict=True):
        least, age = _least(code.codeword_bytes, each["rber"]), each["pe_cycles"]
        strict = _least(code.codeword_bytes, each["rber"], "failure")
        rows.append(
            point(parity, "at the four rates", age / 1000, Number.exact(least.parity_bytes), t=least.correctable)
        )
        failing = [
            codes.failure_probability(c.codeword_bits, c.correctable, each["rber"]) / each["k"]
            for c in (least.parity, codes.bch_parity(each["k"], least.correctable - 1))
        ]
        evidence[f"t_{code.codeword_bytes}"] = Evidence(
            Number.exact(least.correctable),
            f"P(i > t) / k is {failing[0]:.2g} with it and {failing[1]:.2g} with one less. By P(i > t) alone, without "
            f"the division by k, it would be {strict.correctable}.",
        )
        n = least.parity.codeword_bits
        why = f"{each['k']:,} bits of data and {least.correctable} x {least.parity.field_bits} of parity."
        if n != each["n"]:
            why += f" The printed {each['n']:,} leaves {each['n'] - each['k']} bits of parity: a misprint of the paper."
        evidence[f"n_{code.codeword_bytes}"] = Evidence(Number.exact(n), why)
        cells = [f"{law.rber(age):.2e}", f"{law.pe_cycles(each['rber']):,.0f}", f"{least.correctable}"]
        told.append(
            [f"{age:,}", f"{each['rber']:.1e}", *cells, f"{strict.correctable}", f"{least.parity_bytes} B", code.size]
        )
    for age in ages:
        rows.append(point(rate, "power law", age / 1000, Number.exact(1000 * law.rber(age))))
    for each in PUBLISHED["segment"]:
        rows.append(point(rate, "at the four rates", each["pe_cycles"] / 1000, Number.exact(1000 * each["rber"])))
    heads = [
        "P/E cycles",
        "RBER",
        "by the law",
        "cycles by the law",
        "least t",
        "by failures",
        "parity a unit",
        "length",
    ]
    note = (
        f"RBER = {law.scale:.3g} (PE / 1000)^{law.pe_exponent:.2f}, the straight line through the paper's four rates "
        "in logarithms; its figure has a measured curve that is not in its text. A unit of 4 KB has eight, four, two "
        f"or one codeword. Beside the parity an OOB of {_OOB} B has a LUN of {_LUN} B:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows, infer_schema_length=None), evidence, (note,))


_FIG01_LINES = {
    **{code.size: Line(colour, marker="") for code, colour in zip(SEGMENTS, _SERIES, strict=False)},
    f"OOB, {_OOB} B": Line(_GREY, "--", "", 1.2),
    "power law": Line("#222222", marker=""),
    "at the four rates": Line("#d55e00", "none"),
}


# Figure 3: how long decoding takes -----------------------------------------------------------------------------------

_HARDWARE = {
    "as assumed": ASSUMED,
    "16 bits a cycle": Hardware(bits_per_cycle=16),
    "32 bits a cycle": Hardware(bits_per_cycle=32),
    "4 multipliers": Hardware(multipliers=4),
    "1 multiplier": Hardware(multipliers=1),
    # Enough for a step a cycle.
    "2,048 multipliers": Hardware(multipliers=2048),
}
"""Decoders. The paper names its baseline, BCH(34528, 32800, 108) of another paper, which it scales down for shorter
codes (fig. 3), and no times."""

# By what part units differ where they take as long.
_ALIKE = 1.02
_OF_CODEWORD, _OF_UNIT = "a codeword", "all codewords of a unit"


def _measure_fig03(plan: Plan, runs: Runs) -> Measured:
    base = ASSUMED.decode_us(WORST_CASE)
    every = (*SEGMENTS, WORST_CASE)
    rows = [
        _bar(code.label, bar, Number.exact(count * ASSUMED.decode_us(code) / base), decode_us=ASSUMED.decode_us(code))
        for bar in (_OF_CODEWORD, _OF_UNIT)
        for code in every
        for count in (1 if bar == _OF_CODEWORD else code.codewords,)
    ]
    grows, told, alike = [], [], []
    for name, hardware in _HARDWARE.items():
        each = [hardware.decode_us(code) for code in every]
        units = [code.codewords * us for code, us in zip(every, each, strict=True)]
        grows.append(all(short < long for short, long in pairwise(each)))
        if max(units) < _ALIKE * min(units):
            alike.append(name)
        told.append([name, *(f"{one:.1f}, {all_:.1f}" for one, all_ in zip(each, units, strict=True))])
    shortest = SEGMENTS[0]
    of_unit = shortest.codewords * ASSUMED.decode_us(shortest) / base
    within = f"within {100 * (_ALIKE - 1):.0f} %"
    exception = f"; with {listed(alike)} units take as long with all codes, {within}" if alike else ""
    evidence = {
        "decoding_grows": Evidence(
            Number.exact(ASSUMED.decode_us(shortest) / base),
            f"A codeword of 512 B takes {ASSUMED.decode_us(shortest):.1f} us, that of the baseline {base:.1f}; the "
            f"eight of a unit, one after the other, {of_unit:.2f} of it. Syndromes and search go over all bits "
            "whatever the length: short codewords save the solving of the key equation, which grows with t^2, and "
            f"overlap of transfer and decoding. It is so with all decoders of the table{exception}.",
            in_all=all(grows),
            in_mean=grows[0],
        )
    }
    heads = ["decoder", *(code.label for code in every)]
    note = (
        "The paper names a baseline, BCH(34528, 32800, 108) of another paper, scaled down, and no times. Assumed: "
        "200 MHz; syndromes and search of 8 bits a cycle; a key equation of t steps of 3 (t + 1) products on 16 "
        "multipliers. A codeword without errors ends with its syndromes. us of a codeword, and of all "
        f"codewords of a unit:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _draw_fig03(frame: pl.DataFrame) -> Picture:
    return draw_bars(
        frame,
        "Figure 3: decoding latency",
        f"over that of t = {WORST_CASE.correctable}",
        colours={_OF_CODEWORD: "#0072b2", _OF_UNIT: "#56b4e9"},
        note="assumed decoder: 200 MHz, 8 bits a cycle, 16 multipliers",
    )


# Figure 6(a): reads in the early stage -------------------------------------------------------------------------------


def _baseline(segment: int, *overrides: str) -> Arm:
    """The worst-case code at the rate of a segment."""
    return fixed(WORST_CASE, _RBER[segment], *overrides, label="worst case")


def _cases_fig06a(plan: Plan) -> list[Case]:
    return [case for i in range(len(SEGMENTS)) for case in cases(_short(plan), adaptive(i), _baseline(i))]


def _compared(plan: Plan, runs: Runs, quantity: Quantity) -> list[Compared]:
    """LAE-FTL over the worst case, in each segment."""
    return [Compared(plan, runs, [adaptive(i)], _baseline(i), quantity) for i in range(len(SEGMENTS))]


def _gain(compared: Compared, workload: str) -> Number:
    return saved(compared.number(workload, compared.arms[0]))


def _mean_gain(each: Sequence[Compared], workload: str) -> Number:
    """The mean of segments."""
    of_seeds = zip(*(compared.ratios(workload, compared.arms[0]) for compared in each), strict=True)
    return saved(Number.of([fmean(ratios) for ratios in of_seeds]))


def _split(plan: Plan, runs: Runs, workload: Workload, arm: Arm) -> dict[str, float]:
    """Where the time of its reads goes, us."""
    each = [summary["codeword_reads"]["time_us"] for summary in summaries(plan, runs, workload, arm)]
    return {part: fmean(time_us[part] for time_us in each) for part in _PARTS}


def _measure_fig06a(whole_plan: Plan, runs: Runs) -> Measured:
    plan = _short(whole_plan)
    latency, whole = (_compared(plan, runs, quantity) for quantity in (READ_LATENCY, READ))
    published = dict(zip(TRACES, PUBLISHED["claims"]["read_latency_gain_over_worst_case_bch"], strict=True))
    rows, told, evidence, best = [], [], {}, {}
    for workload in plan.workloads:
        name = workload.name
        gains = [_gain(compared, name) for compared in latency]
        for code, gain, of_response in zip(SEGMENTS, gains, whole, strict=True):
            rows.append(_bar(name, code.label, gain, 100, read_response_gain=100 * _gain(of_response, name).value))
        at = max(range(len(gains)), key=lambda i: gains[i].value)
        best[name], mean = gains[at], _mean_gain(latency, name)
        base = _split(plan, runs, workload, _baseline(at))
        mine = _split(plan, runs, workload, adaptive(at))
        takes, waits = sum(base.values()), base["wait_bus"] + base["wait_decoder"]
        if name in published:
            beyond = published[name] > 1 - _SENSE_US / takes
            evidence[f"gain_{name}"] = Evidence(
                best[name],
                f"The largest of the segments, {SEGMENTS[at].label}; the mean of segments is {percent(mean)}. A unit "
                f"takes {takes:.1f} us with the worst-case code, {waits:.1f} us of them waits for bus and decoder, and "
                f"{sum(mine.values()):.1f} us with short codewords. Sensing stays, so that no decoder could save more "
                f"than {100 * (1 - _SENSE_US / takes):.1f} % at this load"
                + (": what is published needs longer waits, or a slower decoder, than are assumed." if beyond else "."),
            )
        busy = fmean(s["utilisation"]["decoder"] for s in summaries(plan, runs, workload, _baseline(at)))
        ratio = 1 - best[name].value
        cells = [*gains, mean]
        told.append(
            [
                name,
                *(percent(gain) for gain in cells),
                f"{100 * (1 / ratio - 1):.1f} %",
                f"{percent(_gain(whole[at], name))}",
                f"{takes:.1f}",
                f"{waits:.1f}",
                f"{100 * busy:.2g} %",
            ]
        )
    evidence |= _by_parallelism(best)
    heads = ["workload", *(code.label for code in SEGMENTS), "mean", "largest, as base / new - 1", "read response"]
    heads += ["worst case, us", "its waits, us", "its decoders busy"]
    note = (
        "Read latency saved by LAE-FTL: sensing, waits for bus and decoder, transfer and decoding of a unit, as the "
        "paper lists them; the wait for the die is not among them. Each segment is the shipped device in its middle, "
        f"{listed([f'{age:,}' for age in _AGES])} P/E cycles, at the segment's raw bit error rate; the worst case is a "
        f"fixed code of t = {WORST_CASE.correctable} at the same rate. The text has one number a trace, the abstract "
        '"up to 63.42 %": the largest of the segments is judged. By the mean, and as a ratio of speeds:\n\n'
        + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), evidence, (note, _NUMBERING))


_NUMBERING = "The text calls its results figure 6, the caption that lists them figure 5: they are one picture."


def _by_parallelism(best: Mapping[str, Number]) -> dict[str, Evidence]:
    """Whether the traces of the large device gain more than those of the small one."""
    of = {
        size: {name: best[name] for name in PUBLISHED["devices"][size]["traces"] if name in best}
        for size in ("small", "large")
    }
    if not all(of.values()):
        return {}
    least, most = min(n.value for n in of["large"].values()), max(n.value for n in of["small"].values())
    large, small = (fmean(number.value for number in of[size].values()) for size in ("large", "small"))
    told = listed([f"{percent(number)} ({name})" for name, number in best.items()])
    return {
        "parallel_traces": Evidence(
            Number.exact(large / small),
            f"The largest gains are {told}. The paper's four traces differ in more than the device: figure `parallel` "
            "reads the same on both.",
            in_all=least > most,
            in_mean=large > small,
        )
    }


def _draw_fig06a(frame: pl.DataFrame) -> Picture:
    gains = PUBLISHED["claims"]["read_latency_gain_over_worst_case_bch"]
    return draw_bars(
        frame,
        "Figure 6(a): read latency saved in four segments",
        "%",
        colours=_SEGMENT_COLOURS,
        line=None,
        note=f"over a fixed code of t = {WORST_CASE.correctable}; without the wait for the die",
        digits=1,
        published={name: (100 * gain, 100 * gain) for name, gain in zip(TRACES, gains, strict=True)},
    )


# More parallel flash -------------------------------------------------------------------------------------------------

DEPTHS = (1, 4, 16, 64)
"""Reads that are under way at a time."""

_NAMES = ("2 x 2 dies", "4 x 4 dies")


def _devices() -> dict[str, Device]:
    return dict(zip(_NAMES, (SMALL, LARGE), strict=True))


def _deep_reads(plan: Plan, device: Device, depth: int) -> Workload:
    """Reads of a unit at random places, so many at a time."""
    some = lone_reads(plan.requests)
    overrides = *some.overrides, f"host.issue.closed_loop.queue_depth={depth}", *device.overrides()
    return Workload(f"{depth} at a time", f"reads of 4 KiB, {depth} at a time", overrides=overrides)


def _deep(plan: Plan, arm: Arm, device: Device, depth: int) -> list[Case]:
    return cases(replace(plan, workloads=(_deep_reads(plan, device, depth),)), arm)


def _cases_parallel(plan: Plan) -> list[Case]:
    return [
        case
        for device in _devices().values()
        for depth in DEPTHS
        for arm in (adaptive(0), _baseline(0))
        for case in _deep(plan, arm, device, depth)
    ]


_AS_PRINTED, _AS_SEEN = "read latency, as the paper counts it", "read response"


def _measure_parallel(plan: Plan, runs: Runs) -> Measured:
    devices, told, rows = _devices(), [], []
    gains: dict[tuple[str, str, int], Number] = {}
    for name, device in devices.items():
        for depth in DEPTHS:
            mine, base = (
                [runs[case] for case in _deep(plan, arm, device, depth)] for arm in (adaptive(0), _baseline(0))
            )
            busy = fmean(summary["utilisation"]["decoder"] for summary in base)
            cells = [name, f"{depth}", f"{depth / device.dies:g}", f"{100 * busy:.0f} %"]
            for counted, quantity in ((_AS_PRINTED, READ_LATENCY), (_AS_SEEN, READ)):
                gain = saved(Number.ratio(quantity.each(mine), quantity.each(base)))
                gains[counted, name, depth] = gain
                rows.append(point(counted, name, depth / device.dies, gain, under_way=depth))
                cells += [f"{fmean(quantity.each(base)):.1f}", f"{fmean(quantity.each(mine)):.1f}", percent(gain)]
            told.append(cells)
    frame = pl.DataFrame(rows).with_columns(pl.col("value", "lo", "hi") * 100).sort("panel", maintain_order=True)
    evidence = {
        id_: _same_reads(gains, counted, devices, why)
        for id_, counted, why in (
            (
                "parallel_same",
                _AS_PRINTED,
                "With many under way short codewords leave the dies of the small device as the bottleneck, and what "
                "waits for them is not in the paper's list.",
            ),
            ("parallel_response", _AS_SEEN, "What counts is how many dies feed one decoder."),
        )
    }
    heads = ["device", "under way", "for each die", "decoders busy", "latency: worst case, us", f"{SEGMENTS[0].label}"]
    heads += ["saved", "response: worst case, us", f"{SEGMENTS[0].label}", "saved"]
    note = (
        "Reads of 4 KiB at random places, the same on both devices, in the first segment and with the worst-case "
        f"code:\n\n{markdown_table(heads, told)}"
    )
    return Measured(frame, evidence, (note,))


def _same_reads(
    gains: Mapping[tuple[str, str, int], Number], counted: str, devices: Mapping[str, Device], why: str
) -> Evidence:
    """Whether the larger device gains more of the same reads, as many for each die."""
    small, large = devices
    pairs = {
        few / devices[small].dies: (gains[counted, small, few], gains[counted, large, many])
        for few in DEPTHS
        for many in DEPTHS
        if few / devices[small].dies == many / devices[large].dies
    }
    of_die = [f"{percent(a)} and {percent(b)} with {each:g} for each die" for each, (a, b) in pairs.items()]
    in_all = [f"{percent(gains[counted, small, d])} and {percent(gains[counted, large, d])} with {d}" for d in DEPTHS]
    ratios = [b.value / a.value for a, b in pairs.values()]
    return Evidence(
        Number.exact(fmean(ratios)),
        f"On 2 x 2 and 4 x 4 dies they gain {listed(of_die)}; with as many in all, {listed(in_all)}. {why}",
        in_all=min(ratios) > 1,
        in_mean=fmean(ratios) > 1,
    )


# Figure 6(b) to (d): what squeezing costs ----------------------------------------------------------------------------

_LATE_CODES = (UNSQUEEZED, *SQUEEZED)


def _cases_late(plan: Plan) -> list[Case]:
    return cases(plan, *(squeezed(code) for code in _LATE_CODES))


def _late_claim(overhead: Overhead, code: UnitCode) -> str:
    return f"{overhead.stem}_{_UNIT - code.squeezed_bytes}"


def _measure_late(overhead: Overhead, plan: Plan, runs: Runs) -> Measured:
    arms = [squeezed(code) for code in _LATE_CODES]
    compared = Compared(plan, runs, arms, arms[0], overhead.quantity)
    rows, told, evidence = [], [], {}
    for code, arm, (low, high) in zip(SQUEEZED, arms[1:], overhead.ranges, strict=True):
        each = {name: compared.number(name, arm).plus(-1) for name in compared.workloads}
        rows += [_bar(code.unit, name, number, 100) for name, number in each.items()]
        inside = [name for name, number in each.items() if number.lo <= high and number.hi >= low]
        evidence[_late_claim(overhead, code)] = Evidence(
            compared.mean(arm).plus(-1),
            f"{listed([f'{100 * number.value:+.1f} % ({name})' for name, number in each.items()])}: "
            f"{len(inside)} of {len(each)} lie in the published range.",
        )
        told.append([code.unit, _range(low, high), *(f"{100 * number.value:+.1f} %" for number in each.values())])
    evidence |= _grows(overhead, compared)
    heads = ["data space of a unit", "published", *(f"{name}" for name in compared.workloads)]
    note = f"{_WHY_LATE[overhead.stem]}\n\n{markdown_table(heads, told)}"
    more = (_squeezing_note(plan, runs), _NUMBERING) if overhead is OVERHEADS[0] else (_NUMBERING,)
    return Measured(pl.DataFrame(rows), evidence, (note, *more))


def _grows(overhead: Overhead, compared: Compared) -> dict[str, Evidence]:
    """Whether it grows with every squeeze; flash reads are not said to."""
    if overhead.quantity is SENSES:
        return {}
    falling = list(reversed(compared.arms))
    most = compared.mean(falling[0])
    worst = compared.worst(falling[0])
    why = f"From the unsqueezed unit to {SQUEEZED[-1].unit} it grows most on {worst}."
    return {f"{overhead.stem}_grows": compared.order(falling, most, why)}


def _of_crossing() -> str:
    """The published maxima of flash reads over what lone reads of packed units need."""
    maxima = [high for _, high in OVERHEADS[1].ranges]
    return listed([f"{high / code.crossing:.2f}" for high, code in zip(maxima, SQUEEZED, strict=True)])


_WHY_LATE = {
    "amplification": "Page programs, each of two units, over units that the host writes, beside those of the "
    "unsqueezed device. A squeezed page has room for less than two units, and the user keeps its capacity, so that "
    "less over-provisioning is left and collection moves more.",
    "flash_reads": "All sensings, those of collection too. A unit that lies in two pages takes two. The published "
    f"maxima are {_of_crossing()} of the shares that lie in two pages, as if three quarters of all were reads of one "
    "unit.",
    "response": "Of reads and writes. Writes end in the buffer unless it is full, so that this is mostly that of "
    "reads: second sensings, and codes that are decoded for longer.",
}


def _squeezing_note(plan: Plan, runs: Runs) -> str:
    rows = []
    for code in _LATE_CODES:
        arm = squeezed(code)
        left = 1 - (1 - over_provisioning()) * UNSQUEEZED.units_per_block / code.units_per_block
        each = {w.name: fmean(AMPLIFICATION.each(summaries(plan, runs, w, arm))) for w in plan.workloads}
        rows.append(
            [
                code.unit,
                f"{code.correctable}",
                f"{100 * code.crossing:.1f} %",
                f"{100 * (_UNIT / (_UNIT - code.squeezed_bytes) - 1):.1f} %",
                f"{100 * left:.1f} %",
                *(f"{value:.2f}" for value in each.values()),
            ]
        )
    heads = ["data space of a unit", "t", "units in two pages", "room lost", "over-provisioning left"]
    heads += [f"WA, {workload.name}" for workload in plan.workloads]
    return (
        "The published minima of write amplification, 3.2, 6.7, 11.0 and 14.2 %, are about 4 KB over the data space "
        "less one, 3.2, 6.7, 10.3 and 14.3 %: the loss of room alone, as where nothing is collected. A claim "
        f"holds if the mean of workloads meets the published range ({_stands(plan)}).\n\n{markdown_table(heads, rows)}"
    )


def _draw_late(overhead: Overhead, frame: pl.DataFrame) -> Picture:
    ranges = {code.unit: (100 * low, 100 * high) for code, (low, high) in zip(SQUEEZED, overhead.ranges, strict=True)}
    return draw_bars(
        frame,
        f"Figure {overhead.figure[0]}({overhead.figure[1]}): {overhead.name}",
        "increase over unsqueezed, %",
        colours=_WORKLOAD_COLOURS,
        line=None,
        note="by data space of a unit; band: published, from the least to the most of four workloads",
        digits=1,
        published=ranges,
    )


# What the OOB holds --------------------------------------------------------------------------------------------------

_OOBS = (_OOB, *(_OOB + code.squeezed_bytes for code in SQUEEZED))
_CRITERIA: tuple[Criterion, Criterion] = ("unit_ber", "failure")
_HOW = {
    (0, "unit_ber"): "all parity, P / k",
    (0, "failure"): "all parity, P",
    (_METADATA, "unit_ber"): f"{_METADATA} B of metadata, P / k",
    (_METADATA, "failure"): f"{_METADATA} B of metadata, P",
}


def _measure_oob(plan: Plan, runs: Runs) -> Measured:
    rows, told, limits = [], [], []
    for oob in _OOBS:
        cells = []
        for metadata in (0, _METADATA):
            code = filling(oob, metadata)
            each = {criterion: code.limit(criterion) for criterion in _CRITERIA}
            ages = {criterion: wear().pe_cycles(rber) for criterion, rber in each.items()}
            for criterion, rber in each.items():
                bar = _HOW[metadata, criterion]
                more = {"correctable": code.correctable, "pe_cycles": ages[criterion]}
                rows.append(_bar(f"{oob} B", bar, Number.exact(1000 * rber), **more))
            told_limits = [f"{rber:.2e}" for rber in each.values()]
            cells += [f"{code.correctable}", *told_limits, f"{ages['unit_ber']:,.0f}"]
        limits.append(filling(oob, _METADATA).limit())
        told.append([f"{oob} B", *cells])
    cycles = [wear().pe_cycles(rber) for rber in limits]
    evidence = {
        "reliability_grows": Evidence(
            Number.exact(limits[-1] / limits[0]),
            f"With {_METADATA} B of metadata a unit, from {limits[0]:.2e} with {_OOBS[0]} B to {limits[-1]:.2e} with "
            f"{_OOBS[-1]} B; by the power law from {cycles[0]:,.0f} to {cycles[-1]:,.0f} P/E cycles, "
            f"{cycles[-1] / cycles[0]:.2f} times as many. Metadata costs 6 of t, "
            f"{100 * (1 - limits[0] / filling(_OOBS[0], 0).limit()):.0f} to "
            f"{100 * (1 - limits[-1] / filling(_OOBS[-1], 0).limit()):.0f} % of the limit.",
            in_all=all(a < b for a, b in pairwise(limits)),
            in_mean=limits[-1] > limits[0],
        )
    }
    heads = ["OOB of a unit", "t, all parity", "P / k = 1e-15 at", "P = 1e-15 at", "P/E cycles (P / k)"]
    heads += [f"t, {_METADATA} B of metadata", "P / k = 1e-15 at", "P = 1e-15 at", "P/E cycles (P / k)"]
    note = (
        "Two criteria are in use: the probability P that a codeword fails, and P / k, failures for each bit of data, "
        f"which the paper calls unit bit error rate and data sheets UBER. LUN, length and N-PUN take {_METADATA} B a "
        f"unit, so that t = {', '.join(str(filling(oob, _METADATA).correctable) for oob in _OOBS)} are left; where "
        f"nothing is squeezed, the LUN alone leaves {filling(_OOB, _LUN).correctable}. Parity is m t bits. Raw bit "
        f"error rates, and P/E cycles by the power law:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _draw_oob(frame: pl.DataFrame) -> Picture:
    colours = dict(zip(_HOW.values(), ("#0072b2", "#56b4e9", "#e69f00", "#f3cf8a"), strict=True))
    title = "What the OOB holds: raw bit error rate at 1e-15"
    return draw_bars(
        frame, title, "RBER, 1e-3", colours=colours, line=None, note="P: that a codeword of 4 KB fails; k: its bits"
    )


# Lone reads ----------------------------------------------------------------------------------------------------------

_EVERY_CODE = (*SEGMENTS, WORST_CASE, *SQUEEZED)


def _rber(code: UnitCode) -> float:
    """At which a code is read: that of its segment; later, that of the last."""
    return _RBER[SEGMENTS.index(code)] if code in SEGMENTS else _RBER[-1]


def _lone(plan: Plan, code: UnitCode) -> list[Case]:
    reads = lone_reads(plan.requests)
    return cases(replace(plan, workloads=(reads,)), replace(squeezed(code), overrides=_lone_overrides(code)))


def _lone_overrides(code: UnitCode) -> tuple[str, ...]:
    return _bch({code: _FOR_LIFE}, _constant(_rber(code))), *squeezed(code).overrides[1:]


def lone_read_us(code: UnitCode, rber: float) -> float:
    """The mean read of a unit with nothing else about, in closed form.

    Of a unit in two pages the first part, and the parity, cross the bus while the second page is sensed. The second
    part is half of a unit in the mean.
    """
    device = _on_device(code)
    transfer_us: float = device["transfer_us"]
    byte_us = transfer_us / (device["codeword_bytes"] + device["parity_bytes"])
    p_clean = (1 - rber) ** device["codeword_bits"]
    times = ASSUMED.decode_us(code, errors=False), ASSUMED.decode_us(code), p_clean
    in_one = _SENSE_US + last_decode_us(code.codewords, transfer_us, *times)
    in_two = 2 * _SENSE_US + last_decode_us(1, byte_us * _UNIT / 2, *times)
    return (1 - code.crossing) * in_one + code.crossing * in_two


def _sequential_writes(plan: Plan) -> Workload:
    """Into empty flash, so little that nothing is collected."""
    fields = synthetic(
        requests=plan.requests,
        read_fraction=0.0,
        sizes=[{"bytes": _UNIT, "share": 1.0}],
        addresses="sequential",
        arrivals="immediate",
    )
    empty = "precondition={ mapped_fraction = 0.0 }", "host.issue.closed_loop.queue_depth=64"
    return Workload("sequential", "writes of 4 KiB into empty flash", overrides=(*fields, *empty))


def _room(plan: Plan, code: UnitCode) -> list[Case]:
    return cases(replace(plan, workloads=(_sequential_writes(plan),), seeds=plan.seeds[:1]), squeezed(code))


def _cases_lone(plan: Plan) -> list[Case]:
    lone = [case for code in _EVERY_CODE for case in _lone(plan, code)]
    return lone + [case for code in SQUEEZED for case in _room(plan, code)]


def _farthest(numbers: Mapping[Any, Number]) -> Any:
    """The one that is farthest from 1."""
    return max(numbers, key=lambda key: abs(numbers[key].value - 1))


def _measure_lone(plan: Plan, runs: Runs) -> Measured:
    rows, told, latency, shares, senses = [], [], {}, {}, {}
    for code in _EVERY_CODE:
        each = [runs[case] for case in _lone(plan, code)]
        says = lone_read_us(code, _rber(code))
        took = Number.of(READ.each(each))
        latency[code] = Number.of([us / says for us in READ.each(each)])
        crossing = Number.of([s["codeword_reads"]["crossing"] / s["codeword_reads"]["count"] for s in each])
        sensed = Number.of([s["operations"]["senses"] / s["codeword_reads"]["count"] for s in each])
        if code.squeezed_bytes:
            shares[code] = _over(crossing, code.crossing)
            senses[code] = _over(sensed, 1 + code.crossing)
        name = f"{code.label}" if not code.squeezed_bytes else f"{code.unit}\nt = {code.correctable}"
        rows.append(_bar(name, "closed form", Number.exact(says)))
        rows.append(_bar(name, "measured", took, crossing=crossing.value, senses=sensed.value))
        cells = [f"{code.crossing:.4f}", f"{crossing.value:.4f}", f"{sensed.value:.4f}"]
        told.append([code.label, code.unit, *cells, f"{says:.2f}", f"{took.value:.2f}"])
    rooms = {code: Number.of([AMPLIFICATION.of(runs[case]) for case in _room(plan, code)]) for code in SQUEEZED}
    lost = {code: _over(wa, _UNIT / (_UNIT - code.squeezed_bytes)) for code, wa in rooms.items()}
    far = {name: _farthest(each) for name, each in (("us", latency), ("two", shares), ("sense", senses), ("wa", lost))}
    parts = listed([str(_crossing(code)) for code in SQUEEZED])
    evidence = {
        "crossing": Evidence(
            shares[far["two"]],
            f"{parts} of units lie in two pages. The farthest of four: {far['two'].unit}. Sensings of a read are "
            f"within {100 * abs(senses[far['sense']].value - 1):.2g} % of one and that share.",
        ),
        "lone_latency": Evidence(
            latency[far["us"]],
            f"The farthest of {len(latency)}: {far['us'].label}. Sensing, once or twice, and the pipeline of transfers "
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
    return Measured(pl.DataFrame(rows, infer_schema_length=None), evidence, (note,))


def _over(number: Number, by: float) -> Number:
    return Number(number.value / by, number.lo / by, number.hi / by)


def _draw_lone(frame: pl.DataFrame) -> Picture:
    colours = {"closed form": _GREY, "measured": "#0072b2"}
    note = "early stage and worst case by code; late stage by data space of a unit"
    return draw_bars(frame, "Lone reads of 4 KB", "us", colours=colours, line=None, note=note, digits=1)


# Failures ------------------------------------------------------------------------------------------------------------

_FAILING = (0.03, 0.1, 0.5)
_EVERY_LIFE = (*SEGMENTS, *SQUEEZED)
# Real decodes take a while.
_DECODED = 0.1


def _failures(plan: Plan, code: UnitCode, failing: float, exact: bool) -> list[Case]:
    reads = lone_reads(round(plan.requests * (_DECODED if exact else 1)))
    worn = _bch({code: _FOR_LIFE}, _constant(code.failing_rber(failing)), exact)
    arm = Arm(code.label, _POLICY, (worn, *squeezed(code).overrides[1:]))
    return cases(replace(plan, workloads=(reads,)), arm)


def _every_failure() -> list[tuple[UnitCode, float, bool]]:
    drawn = [(code, failing, False) for code in _EVERY_LIFE for failing in _FAILING]
    return drawn + [(code, _FAILING[1], True) for code in _EVERY_LIFE]


def _measure_failures(plan: Plan, runs: Runs) -> Measured:
    found: dict[tuple[UnitCode, float, bool], list[float]] = {}
    undetected, rows = 0, []
    for code, failing, exact in _every_failure():
        each = [runs[case]["codeword_reads"] for case in _failures(plan, code, failing, exact)]
        shares = [(reads["uncorrectable"] + (reads["undetected"] or 0)) / reads["count"] for reads in each]
        found[code, failing, exact] = [share / failing for share in shares]
        undetected += sum(reads["undetected"] or 0 for reads in each)
        line = f"{code.label}, {'decoded' if exact else 'counted'}"
        rows.append(point("units that fail", line, 1000 * code.failing_rber(failing), _over(Number.of(shares), 0.01)))
    for code in _EVERY_LIFE:
        ends = [code.failing_rber(each) for each in (1e-4, 0.99)]
        rows += [
            point("units that fail", code.label, 1000 * rber, Number.exact(100 * code.fails(rber)))
            for rber in np.linspace(ends[0], ends[1], 40)
        ]
    evidence = {}
    for id_, exact, how in (
        ("failures_drawn", False, "Errors are counted, not decoded."),
        (
            "failures_decoded",
            True,
            f"Every codeword is encoded, gets its errors and is decoded. {undetected:,} units were taken for right and "
            "were not.",
        ),
    ):
        some = {key: Number.of(ratios) for key, ratios in found.items() if key[2] == exact}
        far = _farthest(some)
        of_seeds = zip(*(ratios for key, ratios in found.items() if key[2] == exact), strict=True)
        evidence[id_] = Evidence(
            Number.of([fmean(ratios) for ratios in of_seeds]),
            f"{how} The mean of {len(some)} measured shares over those of the tail; the farthest is {far[0].label} "
            f"with {100 * far[1]:g} % failing, {some[far].value:.3f} ({some[far].lo:.3f} to {some[far].hi:.3f}).",
        )
    told = listed([f"{100 * each:g}" for each in _FAILING])
    note = (
        f"Lone reads at raw bit error rates at which {told} % of units have a codeword with more than t errors, "
        "against the binomial tail, on which the limits of 1e-15 rest."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _failure_lines() -> dict[str, Line]:
    styles = {}
    for code, colour in zip(_EVERY_LIFE, _SERIES, strict=True):
        styles[code.label] = Line(colour, marker="")
        styles[f"{code.label}, counted"] = Line(colour, "none", named=False)
        styles[f"{code.label}, decoded"] = Line(colour, "none", "s", named=False)
    return styles


# Lifetime ------------------------------------------------------------------------------------------------------------

_DEMAND = Demand(uber=_LIMIT)
_LDPC, _EQUAL_BCH = "flash-8-9", "bch-4KB-t256"


def _scheme(code: UnitCode) -> str:
    """As `lifetime` calls it."""
    return f"{code.codeword_bytes}B-t{code.correctable}"


@cache
def life(*of: UnitCode) -> Lifetime:
    """Endurances of codes on flash that wears by the power law, each alone and one after the other."""
    # In the order in which they follow one another; where one ends is found anew.
    ends = {code: round(wear().pe_cycles(code.limit())) for code in of}
    return lifetime(configured(_CONFIG, [_bch(ends, wear().model)]), demand=_DEMAND)


@cache
def ldpc_life() -> Lifetime:
    """Those of LDPC and BCH with the same parity, by their decode tables."""
    table = {"file": _LDPC, "rber": wear().model}
    decoder = {"placement": {"per_channel": 1}, "time": {"fixed_us": 1.0}}
    worn = configured(_CONFIG, [f"reliability={inline({'table': table})}", f"decoder={inline(decoder)}"])
    return lifetime(worn, [_LDPC, _EQUAL_BCH], demand=_DEMAND)


@cache
def _kept_amplification(units_per_block: int) -> float:
    """Write amplification where the user has what leaves the shipped over-provisioning to the unsqueezed device."""
    utilisation = (1 - over_provisioning()) * UNSQUEEZED.units_per_block / units_per_block
    return write_amplification(Config.open(_CONFIG), utilisation)


_SHRINKS, _STAYS = "capacity shrinks with the room", "capacity stays"


def _lifetimes() -> dict[str, dict[str, float]]:
    """1,000 bytes written for each byte of flash, by scheme."""
    of = {_scheme(code): code for code in (WORST_CASE, *_EVERY_LIFE)}
    mine, base = life(*_EVERY_LIFE), life(WORST_CASE)
    stages = {code.table: [(code, code.endurance_pe)] for code in (*base.codes, *mine.codes)}
    stages[ADAPTIVE] = [(stage.life, stage.to_pe - stage.from_pe) for stage in mine.stages]
    stays = {
        scheme: sum(
            cycles * each.user_share / _kept_amplification(of[each.table].units_per_block) for each, cycles in parts
        )
        for scheme, parts in stages.items()
    }
    rows = [row for found in (base, mine) for row in found.frame.iter_rows(named=True)]
    return {
        row["scheme"]: {_SHRINKS: row["lifetime_capacity"] / 1000, _STAYS: stays[row["scheme"]] / 1000} for row in rows
    }


def _measure_lifetime(plan: Plan, runs: Runs) -> Measured:
    ends = {
        scheme: end
        for each in (life(WORST_CASE), life(*_EVERY_LIFE))
        for scheme, end in each.frame.select("scheme", "endurance_pe").iter_rows()
    }
    found, names, rows = _lifetimes(), {_scheme(code): code for code in (WORST_CASE, *_EVERY_LIFE)}, []
    for scheme, written in found.items():
        code = names.get(scheme)
        group = f"{'worst case' if code == WORST_CASE else code.size}\nt = {code.correctable}" if code else "LAE-FTL"
        for how, bytes_ in written.items():
            rows.append(_bar(group, how, Number.exact(bytes_), endurance_pe=ends[scheme]))
    mine, base = found[ADAPTIVE], found[_scheme(WORST_CASE)]
    single = {scheme: written for scheme, written in found.items() if scheme != ADAPTIVE}
    best = {how: max(single, key=lambda scheme: single[scheme][how]) for how in mine}
    told = [
        f"{mine[how] / base[how]:.2f} times as much as the worst-case code if the user's {how}, the best single code "
        f"({names[best[how]].label}) {single[best[how]][how] / base[how]:.2f} times"
        for how in mine
    ]
    evidence = {
        "life_grows": Evidence(
            Number.exact(mine[_SHRINKS] / base[_SHRINKS]),
            f"It ends at {ends[ADAPTIVE]:,} P/E cycles, not {ends[_scheme(WORST_CASE)]:,}, and writes {'; '.join(told)}"
            ". The paper says that lifetime is prolonged, and not by how much.",
            in_all=all(mine[how] > single[best[how]][how] for how in mine),
            in_mean=mine[_SHRINKS] > base[_SHRINKS],
        )
    }
    return Measured(pl.DataFrame(rows), evidence, (_note_of_stages(), _note_of_ldpc()))


def _note_of_stages() -> str:
    heads = ["code", "from P/E cycles", "to", "RBER then", "data for each bit of flash", "write amplification"]
    heads.append("the same, capacity stays")
    of, mine = {_scheme(code): code for code in _EVERY_LIFE}, life(*_EVERY_LIFE)
    (amplification,) = mine.write_amplification.values()
    rows = [
        [
            of[stage.life.table].label,
            f"{stage.from_pe:,}",
            f"{stage.to_pe:,}",
            f"{stage.life.rber:.2e}",
            f"{stage.life.user_share:.4f}",
            f"{amplification:.2f}",
            f"{_kept_amplification(of[stage.life.table].units_per_block):.2f}",
        ]
        for stage in mine.stages
    ]
    return (
        "Flash that wears by the power law of figure 1, until P / k is 1e-15. Lifetime capacity is bytes that the host "
        "can write for each byte of flash, parity and all. With a user whose capacity shrinks with the room write "
        "amplification is that of the shipped over-provisioning; with one who keeps what it has, as in figure 6, it "
        f"grows. LAE-FTL's stages:\n\n{markdown_table(heads, rows)}"
    )


def _note_of_ldpc() -> str:
    found = {each.table: each for each in ldpc_life().codes}
    heads = ["code", "parity bits", "P/E cycles", "RBER then"]
    told = [
        [
            name,
            f"{round(each.data_bits / each.user_share - each.data_bits):,}",
            f"{each.endurance_pe:,}",
            f"{each.rber:.2e}",
        ]
        for name, each in found.items()
    ]
    more = found[_LDPC].endurance_pe / found[_EQUAL_BCH].endurance_pe
    return (
        f"LDPC with as much parity, on the same flash, hard decision alone: `{_LDPC}` lasts {more:.2f} times as long "
        f"as a BCH code of t = 256, and soft decisions would come on top.\n\n{markdown_table(heads, told)}"
    )


def _draw_lifetime(frame: pl.DataFrame) -> Picture:
    colours = {_SHRINKS: "#0072b2", _STAYS: "#56b4e9"}
    title = "Lifetime capacity of single codes and of LAE-FTL"
    note = "RBER by the power law, P / k = 1e-15 at the end"
    return draw_bars(frame, title, "1,000 bytes for each of flash", colours=colours, line=None, note=note, digits=1)


# What was assumed ----------------------------------------------------------------------------------------------------


def _early_assumptions() -> dict[str, tuple[str, ...]]:
    """What reads might have been measured with instead."""
    found: dict[str, tuple[str, ...]] = {"as assumed": ()}
    found |= {name: (each.override,) for name, each in _HARDWARE.items() if each != ASSUMED}
    for engines in (2, 4):
        found[f"{engines} engines a channel"] = (f"decoder.placement={inline({'per_channel': engines})}",)
    found["bus 400 MB/s"] = (f"bus.transfer_us={_shipped()['bus']['transfer_us'] / 2}",)
    for faster in (10, 100):
        found[f"{faster} x the load"] = (f"host.issue={inline({'open_loop': {'time_scale': 1 / faster}})}",)
    for depth in DEPTHS[1:]:
        found[f"{depth} at a time"] = (f"host.issue={inline({'closed_loop': {'queue_depth': depth}})}",)
    return found


def _early_arms(overrides: tuple[str, ...]) -> tuple[Arm, Arm]:
    return adaptive(0, *overrides), _baseline(0, *overrides)


def _cases_assumed(plan: Plan) -> list[Case]:
    short = _short(plan)
    return [case for overrides in _early_assumptions().values() for case in cases(short, *_early_arms(overrides))]


def _measure_assumed(whole_plan: Plan, runs: Runs) -> Measured:
    plan = _short(whole_plan)
    rows, told = [], []
    for name, overrides in _early_assumptions().items():
        mine, base = _early_arms(overrides)
        compared, whole = (Compared(plan, runs, [mine], base, quantity) for quantity in (READ_LATENCY, READ))
        gains = {w.name: _gain(compared, w.name) for w in plan.workloads}
        rows += [_bar(_folded(name), workload, gain, 100) for workload, gain in gains.items()]
        each = {w.name: summaries(plan, runs, w, base) for w in plan.workloads}
        busy = [f"{100 * fmean(s['utilisation']['decoder'] for s in of):.2g}" for of in each.values()]
        takes = [f"{fmean(READ_LATENCY.each(of)):.0f}" for of in each.values()]
        both = [f"{100 * gain.value:.1f}, {percent(_gain(whole, workload))}" for workload, gain in gains.items()]
        told.append([name, *both, ", ".join(takes), ", ".join(busy)])
    heads = ["", *(w.name for w in plan.workloads), "worst case, us", "its decoders busy, %"]
    note = (
        "Read latency, and read response, saved in the first segment, as each of these is assumed instead of the "
        "device of figure 6(a); the last columns are of the four workloads with the worst-case code. A load of ten "
        "times has requests arrive ten times as fast; so many at a time is a closed loop, as fast as the device can: "
        "where the wait goes over from decoders to dies, read latency counts it as saved. Writes then hold more of the "
        "places, which makes reads respond sooner: F2 with 64. None "
        f"of them was chosen for what comes out; the published gains are {listed(_published_gains())}."
        f"\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), {}, (note,))


def _published_gains() -> list[str]:
    return [f"{100 * gain:.2f} %" for gain in PUBLISHED["claims"]["read_latency_gain_over_worst_case_bch"]]


def _folded(name: str) -> str:
    """A name in short lines."""
    return textwrap.fill(name, 11, break_long_words=False, break_on_hyphens=False)


def _draw_assumed(frame: pl.DataFrame) -> Picture:
    title = "What was assumed: read latency saved in the first segment"
    return draw_bars(frame, title, "%", colours=_WORKLOAD_COLOURS, line=None, note="over the worst-case code", digits=0)


@dataclass(frozen=True)
class _Late:
    """What squeezing might have been measured with instead."""

    share: float | None = None
    overrides: tuple[str, ...] = ()


_SHARES = (0.2, 0.3, 0.4, 0.5)
_LATE_SHOWN = (UNSQUEEZED, SQUEEZED[0], SQUEEZED[-1])


def _late_assumptions() -> dict[str, _Late]:
    found = {"as assumed": _Late()}
    for share in _SHARES:
        if abs(share - over_provisioning()) > 1e-9:
            found[f"{100 * share:g} % over-provisioning"] = _Late(share)
    found["data in sequence"] = _Late(overrides=("precondition.layout=sequential",))
    found["16 at a time"] = _Late(overrides=(f"host.issue={inline({'closed_loop': {'queue_depth': 16}})}",))
    found["2,048 multipliers"] = _Late(overrides=(_HARDWARE["2,048 multipliers"].override,))
    # As if strong codes were decoded as fast as the unsqueezed one.
    as_fast = {"fixed_us": ASSUMED.decode_us(UNSQUEEZED)}
    found["equal decoding"] = _Late(overrides=(f"decoder.time={inline(as_fast)}",))
    return found


def _late_arms(late: _Late) -> list[Arm]:
    return [squeezed(code, late.share, *late.overrides) for code in _LATE_SHOWN]


def _cases_overhead(plan: Plan) -> list[Case]:
    return [
        case for late in _late_assumptions().values() for case in cases(_spread(plan, late.share), *_late_arms(late))
    ]


def _measure_overhead(plan: Plan, runs: Runs) -> Measured:
    rows, told = [], []
    for name, late in _late_assumptions().items():
        some, arms, cells = _spread(plan, late.share), _late_arms(late), []
        for overhead in OVERHEADS:
            compared = Compared(some, runs, arms, arms[0], overhead.quantity)
            rows.append(_bar(_folded(name), overhead.name, compared.mean(arms[-1]).plus(-1), 100))
            for arm in arms[1:]:
                each = [compared.number(w, arm).value - 1 for w in compared.workloads]
                cells.append(_range(min(each), max(each)))
        told.append([name, *cells])
    published = [_range(*overhead.ranges[i]) for overhead in OVERHEADS for i in (0, -1)]
    units = [code.unit for code in _LATE_SHOWN[1:]]
    heads = ["", *(f"{overhead.name}, {unit}" for overhead in OVERHEADS for unit in units)]
    note = (
        "Increases over the unsqueezed device under the same assumption, from the least to the most of the four "
        "workloads. Over-provisioning is that of the unsqueezed device; the user has as much with any of them. "
        "2,048 multipliers: the key equation takes a cycle a step. "
        "Equal decoding: a codeword takes as long with every code as with the unsqueezed one."
        f"\n\n{markdown_table(heads, [['published', *published], *told])}"
    )
    return Measured(pl.DataFrame(rows), {}, (note, _note_of_uniform()))


def uniform_amplification(utilisation: float) -> float:
    """Write amplification of greedy collection under endless uniform overwriting of large blocks.

    Source: P. Desnoyers, "Analytic models of SSD write performance", 2014 (docs/model/ftl.md).
    """
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if (middle - 1) / math.log(middle) < utilisation else (low, middle)
    return 1 / (1 - low)


def _note_of_uniform() -> str:
    heads = ["over-provisioning", "write amplification", *(code.unit for code in SQUEEZED)]
    rows = []
    for share in (*_SHARES, 0.6, 0.7):
        base, cells = uniform_amplification(1 - share), []
        for code in SQUEEZED:
            room = _UNIT / (_UNIT - code.squeezed_bytes)
            used = (1 - share) * room
            cells.append(f"{100 * (room * uniform_amplification(used) / base - 1):+.1f} %")
        rows.append([f"{100 * share:g} %", f"{base:.2f}", *cells])
    return (
        "The same in closed form, for endless uniform overwriting: room / (1 - delta), where utilisation = (delta - 1) "
        f"/ ln delta. By how much write amplification grows:\n\n{markdown_table(heads, rows)}"
    )


def _draw_overhead(frame: pl.DataFrame) -> Picture:
    colours = dict(zip((overhead.name for overhead in OVERHEADS), ("#0072b2", "#e69f00", "#009e73"), strict=True))
    title = f"What was assumed: overhead at {SQUEEZED[-1].unit}"
    return draw_bars(
        frame, title, "increase over unsqueezed, %", colours=colours, line=None, note="mean of four workloads", digits=0
    )


# The paper -----------------------------------------------------------------------------------------------------------


def _range_claim(overhead: Overhead, code: UnitCode, low: float, high: float) -> Claim:
    """Holds if the mean of workloads meets the published range."""
    middle = (low + high) / 2
    return Claim(
        _late_claim(overhead, code),
        overhead.figure,
        f"{overhead.name}: {_range(low, high)} more at {code.unit} (mean of workloads, any of the range)",
        middle,
        no_effect=0.0,
        tolerance=(high - low) / 2 / middle,
        unit="+%",
    )


def _growth_claim(overhead: Overhead) -> Claim:
    text = f"{overhead.name} grows with every squeeze ({SQUEEZED[-1].unit} over unsqueezed)"
    return Claim(f"{overhead.stem}_grows", overhead.figure, text, rule="order")


# What is printed of each segment's code, by its symbol.
_PRINTED: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "t": lambda each, code: f"at an RBER of {each['rber']:g} codewords of {code.size} need t = {each['t']} (eq. 1)",
    "n": lambda each, code: f"they have n = {each['n']} bits ({code.size})",
}

PAPER = Paper(
    name="lae-ftl",
    title="LAE-FTL, reproduced",
    published="S. Wang, F. Wu, Z. Lu, Y. Zhou, Q. Xiong, M. Zhang, C. Xie, Lifetime Adaptive ECC in NAND Flash Page "
    "Management, 2017",
    config=_CONFIG,
    intro="The plotted values of the paper's figures are not in its text, so claims are those of its prose. The device "
    "is `configs/mlc-lae.toml`: 8 KB pages of two units of 4 KB, 256 pages a block, 75 us, 1.2 ms and 5 ms to read, "
    "program and erase; 2 channels of 2 dies with 0.9 GB for F1 and F2, 4 of 4 with 16 GB for the MSR traces. Assumed, "
    "as the paper is silent: a bus of 200 MB/s, the decoder (figure 3), over-provisioning, the write buffer, a device "
    "full and in the steady state of collection, and addresses, sizes and loads of the stand-ins. Figures `assumed` "
    "and `overhead` say how results depend on them. Units are packed across the pages of a block; the paper's N-PUN "
    "may point anywhere, but within the block the code of a unit and its collection stay defined.",
    plan=_plan,
    figures=(
        Figure(
            "1",
            "Figure 1: the least parity over life",
            _measure_fig01,
            lines(
                "Figure 1: the least parity over life",
                "P/E cycles (1,000)",
                ("bytes", "1e-3"),
                _FIG01_LINES,
                "unit bit error rate of 1e-15 (eq. 1); raw bit error rate by a power law through four points",
            ),
        ),
        Figure("3", "Figure 3: decoding latency", _measure_fig03, _draw_fig03),
        Figure("6a", "Figure 6(a): read latency in four segments", _measure_fig06a, _draw_fig06a, _cases_fig06a),
        Figure(
            "parallel",
            "More parallel flash",
            _measure_parallel,
            lines(
                "More parallel flash: what reads gain in the first segment",
                "reads under way for each die",
                "% saved",
                {name: Line(colour) for name, colour in zip(_NAMES, _SERIES, strict=False)},
                "reads of 4 KB at random places, the same on both devices",
                at=(0.0625, 0.25, 1, 4, 16),
            ),
            _cases_parallel,
        ),
        *(
            Figure(
                overhead.figure,
                f"Figure {overhead.figure[0]}({overhead.figure[1]}): {overhead.name} of squeezed units",
                partial(_measure_late, overhead),
                partial(_draw_late, overhead),
                _cases_late,
            )
            for overhead in OVERHEADS
        ),
        Figure("oob", "What the OOB holds", _measure_oob, _draw_oob),
        Figure("lone", "Lone reads, and room, in closed form", _measure_lone, _draw_lone, _cases_lone),
        Figure(
            "failures",
            "Failures against the binomial",
            _measure_failures,
            lines(
                "Failures against the binomial tail",
                "raw bit error rate (1e-3)",
                "% of units",
                _failure_lines(),
                "lines: the tail; circles: errors counted; squares: codewords decoded",
            ),
            lambda plan: [case for key in _every_failure() for case in _failures(plan, *key)],
        ),
        Figure("lifetime", "Lifetime", _measure_lifetime, _draw_lifetime),
        Figure("assumed", "What was assumed: reads", _measure_assumed, _draw_assumed, _cases_assumed),
        Figure("overhead", "What was assumed: squeezing", _measure_overhead, _draw_overhead, _cases_overhead),
    ),
    claims=(
        *(
            Claim(f"{name}_{each['codeword_bytes']}", "1", claim(each, code), float(each[name]), tolerance=0.0, unit="")
            for name, claim in _PRINTED.items()
            for each, code in zip(PUBLISHED["segment"], SEGMENTS, strict=True)
        ),
        Claim(
            "decoding_grows",
            "3",
            "a codeword's decoding latency grows with its length, and stays below the baseline (512 B over baseline)",
            rule="order",
        ),
        *(
            Claim(
                f"gain_{name}",
                "6a",
                f"{name}: read latency improves by {100 * gain:.2f} % (the largest of the segments)",
                gain,
                no_effect=0.0,
                unit="%",
            )
            for name, gain in zip(TRACES, PUBLISHED["claims"]["read_latency_gain_over_worst_case_bch"], strict=True)
        ),
        Claim(
            "parallel_traces",
            "6a",
            "traces on more parallel flash gain more (mean of MSR over mean of F)",
            rule="order",
        ),
        Claim(
            "parallel_same",
            "parallel",
            "so do the same reads, as many for each die (4 x 4 over 2 x 2 dies): read latency",
            rule="order",
        ),
        Claim("parallel_response", "parallel", "so do the same reads: read response", rule="order"),
        *(
            claim
            for overhead in OVERHEADS
            for claim in (
                *(
                    _range_claim(overhead, code, low, high)
                    for code, (low, high) in zip(SQUEEZED, overhead.ranges, strict=True)
                ),
                *([_growth_claim(overhead)] if overhead.quantity is not SENSES else []),
            )
        ),
        Claim(
            "reliability_grows",
            "oob",
            f"squeezing improves reliability (RBER limit with {_OOBS[-1]} B of OOB over {_OOBS[0]} B)",
            rule="order",
        ),
        Claim(
            "crossing",
            "lone",
            f"{listed([str(_crossing(code)) for code in SQUEEZED])} of units lie in two pages (not in the paper)",
            1.0,
            tolerance=_EXACTLY,
        ),
        Claim(
            "lone_latency",
            "lone",
            "lone reads take what sensing and the pipeline of codewords take (not in the paper)",
            1.0,
            tolerance=_EXACTLY,
        ),
        Claim(
            "lost_room",
            "lone",
            "without collection write amplification is 4 KB over the data space (not in the paper)",
            1.0,
            tolerance=_EXACTLY,
        ),
        Claim(
            "failures_drawn",
            "failures",
            "units fail as the binomial tail says (not in the paper; within 2 %)",
            1.0,
            tolerance=_WITHIN,
        ),
        Claim(
            "failures_decoded",
            "failures",
            "so they do when every codeword is decoded (not in the paper; within 2 %)",
            1.0,
            tolerance=_WITHIN,
        ),
        Claim(
            "life_grows",
            "lifetime",
            "LAE-FTL prolongs lifetime (its lifetime capacity over that of the worst-case code)",
            rule="order",
        ),
    ),
)
