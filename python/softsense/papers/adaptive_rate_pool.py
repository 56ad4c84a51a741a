"""A pool of adaptive-rate decoders (S. Korkotsides, T. Antonakopoulos, 2017): figures, table II and claims, measured.

The device is that of the paper's table I and figure 2, with fewer blocks. Flash wears by a power law, fitted to one of
the six printed endurances. Codes, their failures and iterations are the shipped, measured ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softsense import decode_tables
from softsense._core import Code, Config
from softsense.lifetime import CodeLife, Demand, Lifetime, lifetime, write_amplification
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
    inline,
    lae_ftl,
    markdown_table,
    synthetic,
)
from softsense.papers.comparing import listed
from softsense.papers.drawing import Line, draw_bars, lines, point

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# What the paper says -------------------------------------------------------------------------------------------------

PUBLISHED: dict[str, dict[str, Any]] = {
    "geometry": {
        "chip_gbit": 512,
        "page_bytes": 16384,
        "pages_per_block": 256,
        "chips_per_channel": 4,
        "channels_per_ssd": 8,
        "ssds": 8,
        "total_tb_table": 32,
    },
    "code": {"codeword_bytes": 8192, "max_iterations": 10, "target_uber": 1e-14},
    "timing_us": {"chip_access": 80.0, "channel_access_seen_by_host": 40.0, "decode_per_iteration": 4.0},
    "lifetime": {
        "rates": ["5/6", "3/4", "2/3", "1/2", "1/3", "1/4", "adaptive"],
        "years": [0.92, 1.15, 1.16, 1.50, 1.31, 1.20, 2.30],
        "endurance_kpe": [10, 14, 17, 25, 34, 43, 43],
        "normalized_data_rate_gbps": [2.6, 3.1, 3.6, 3.6, 5.3, 8.0, 8.4],
    },
    "scenario_1": {"ssd_channels_total": 64},
    "scenario_2": {"decoders": 8, "t_dat_us": 40.0},
}
"""The published numbers, by the sections and names of `published/adaptive_rate_pool.toml`."""

ADAPTIVE = PUBLISHED["lifetime"]["rates"][-1]
RATES = tuple(PUBLISHED["lifetime"]["rates"][:-1])
"""The code rates as they are called, the weakest code first."""

_YEARS = dict(zip(PUBLISHED["lifetime"]["rates"], PUBLISHED["lifetime"]["years"], strict=True))
_ENDURANCE = dict(zip(PUBLISHED["lifetime"]["rates"], PUBLISHED["lifetime"]["endurance_kpe"], strict=True))
_GEOMETRY, _TIMES = PUBLISHED["geometry"], PUBLISHED["timing_us"]
_CODEWORD = PUBLISHED["code"]["codeword_bytes"]
_CHANNELS = PUBLISHED["scenario_1"]["ssd_channels_total"]
_CHANNEL_US = _TIMES["channel_access_seen_by_host"]
_ITERATION_US = _TIMES["decode_per_iteration"]
_SMALLEST_POOL = PUBLISHED["scenario_2"]["decoders"]


def printed_lifetime(scheme: str) -> float:
    """Endurance times rate, in 1,000 bytes written for each byte of flash, as table II has them; a sum if adaptive."""
    if scheme != ADAPTIVE:
        return _ENDURANCE[scheme] * _nominal(scheme)
    edges = [0, *(_ENDURANCE[rate] for rate in RATES)]
    return sum((to - since) * _nominal(rate) for rate, (since, to) in zip(RATES, pairwise(edges), strict=True))


def _nominal(rate: str) -> float:
    above, below = rate.split("/")
    return int(above) / int(below)


def _table(rate: str) -> str:
    """The shipped decode table of a rate, which is also the name of its code but for the last hyphen."""
    return f"adaptive-{rate.replace('/', '-')}"


# Wear ----------------------------------------------------------------------------------------------------------------

PE_EXPONENT = 1.57
"""Of raw bit error rates by P/E cycles, as of the repository's MLC (docs/model/reliability.md): the paper has none."""

# Others that were fitted to flash, for comparison: the published one of 72-layer TLC (docs/model/reliability.md).
_TLC_EXPONENT = 2.05
FITTED = "1/2"
"""The rate whose printed endurance fixes the scale."""

_DEMAND = Demand(uber=PUBLISHED["code"]["target_uber"])
# What `describe` says of tables, and next to the demand: 1.6e-10 to 5e-10 of decodes may fail.
_NEAR_DEMAND = 1e-10
# What is simulated of table I: reads do not depend on how many blocks there are.
DEVICE = (
    "geometry="
    + inline(
        {
            "ssds": _GEOMETRY["ssds"],
            "channels": _GEOMETRY["channels_per_ssd"],
            "chips_per_channel": _GEOMETRY["chips_per_channel"],
            "dies_per_chip": 1,
            "planes_per_die": 1,
            "blocks_per_plane": 16,
            "pages_per_block": _GEOMETRY["pages_per_block"],
            "codewords_per_page": _GEOMETRY["page_bytes"] // _CODEWORD,
            "codeword_bytes": _CODEWORD,
        }
    ),
    # Programs play no part.
    "flash.page_types="
    + inline([{"name": "page", "sense_us": _TIMES["chip_access"] - _CHANNEL_US, "program_us": 1000.0}]),
    "bus=" + inline({"transfer_us": _CHANNEL_US, "transfer_extra_level_us": 0.0}),
    "read.max_level=1",
    "ftl.mapping=page",
    "ftl.over_provisioning=0.5",
    "precondition.retention_days=0.0",
)
"""Of all simulations."""

# The same flash, all blocks alike, as large as it takes to collect garbage.
_LIFETIME_DEVICE = (
    *DEVICE,
    "geometry.ssds=1",
    "geometry.channels=1",
    "geometry.chips_per_channel=1",
    "geometry.blocks_per_plane=256",
    "ftl.over_provisioning=0.2",
)
_CONFIG = "mlc-25nm"
UTILISATIONS = (0.7, 0.8, 0.9)
"""Shares of the data capacity that the user has, at which write amplification is measured."""
# A capacity that stays for life, as a share of the flash: what every rate can offer.
_FIXED_CAPACITY = 0.2


def _reliability(file: str, scale: float, exponent: float) -> str:
    law = {"scale": scale, "pe_exponent": exponent}
    return f"reliability={inline({'table': {'file': file, 'rber': {'power_law': law}}})}"


@cache
def _reader(rate: str) -> Config:
    """A config with the decode table of a rate; how flash wears in it is not looked at."""
    return Config.open(_CONFIG).with_overrides([*_LIFETIME_DEVICE, _reliability(_table(rate), 1e-4, PE_EXPONENT)])


@cache
def code(rate: str) -> Code:
    """The shipped code of a rate."""
    return Code.open(decode_tables.describe(_table(rate))["code"].split(":")[0])


@cache
def limit(rate: str) -> float:
    """The raw bit error rate up to which a rate meets the demand, by bisection in its table."""
    grid = decode_tables.describe(_table(rate))["rber"]
    low, high = grid[0], grid[-1]
    while high - low > 1e-12:
        middle = (low + high) / 2
        failing = float(_reader(rate).p_fail(np.array([middle]), 1)[0, 0])
        low, high = (middle, high) if failing / code(rate).data_bits <= _DEMAND.uber else (low, middle)
    return low


def fit(rate: str = FITTED, exponent: float = PE_EXPONENT) -> float:
    """The scale with which a rate lasts as long as is printed: that of RBER = scale (PE / 1000)^exponent."""
    return limit(rate) / _ENDURANCE[rate] ** exponent


def predicted(rate: str, scale: float, exponent: float = PE_EXPONENT) -> float:
    """The endurance of a rate in 1,000 P/E cycles."""
    return (limit(rate) / scale) ** (1 / exponent)


@cache
def _worn() -> Config:
    """Flash that wears as is fitted."""
    law = _reliability(_table(FITTED), fit(), PE_EXPONENT)
    return Config.open(_CONFIG).with_overrides([*_LIFETIME_DEVICE, law])


@cache
def life() -> Lifetime:
    """Endurances and stages of the six rates, and write amplification."""
    return lifetime(_worn(), [_table(rate) for rate in RATES], utilisations=UTILISATIONS, demand=_DEMAND)


@cache
def _lives() -> dict[str, CodeLife]:
    found = {each.table: each for each in life().codes}
    return {rate: found[_table(rate)] for rate in RATES}


def adapted(pe_cycles: int) -> str:
    """The rate that an adaptive device uses at an age."""
    table = next(stage.life.table for stage in life().stages if pe_cycles <= stage.to_pe)
    return next(rate for rate in RATES if _table(rate) == table)


_AGES = (100, 2_000, 8_000, 12_000, 18_000, 24_000, 33_000, 38_000)
_MORE_AGES = (500, 1_000, 4_000, 6_000, 10_000, 14_000, 16_000, 21_000, 27_000, 30_000, 36_000)


def ages(full: bool) -> list[int]:
    """P/E cycles that are simulated, within the life of the adaptive device."""
    end = life().stages[-1].to_pe
    return sorted(age for age in (*_AGES, *(_MORE_AGES if full else ())) if age <= end)


def _ages_of(rate: str, full: bool) -> list[int]:
    """Those within the life of a rate, and its end."""
    end = _lives()[rate].endurance_pe
    return sorted({end, *(age for age in ages(full) if age <= end)})


# Iterations ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decoding:
    """Decodes with a rate at an age, as its table has them.

    Attributes:
        rate: of the code.
        pe_cycles: the age.
        rber: then.
        shares: of decodes that take 1, 2, ... iterations; a word without errors counts as one.
    """

    rate: str
    pe_cycles: int
    rber: float
    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Iterations in the mean."""
        return float(np.dot(np.arange(1, len(self.shares) + 1), self.shares))

    @property
    def spread(self) -> float:
        """Their standard deviation."""
        return math.sqrt(np.dot((np.arange(1, len(self.shares) + 1) - self.mean) ** 2, self.shares))

    @property
    def error_free(self) -> float:
        """The share of codewords without errors, which need no decoder."""
        return float((1 - self.rber) ** (8 * _CODEWORD))

    @property
    def load(self) -> float:
        """Iterations of a decoder for each codeword that is read."""
        return self.mean - self.error_free


@cache
def decoding(rate: str, pe_cycles: int) -> Decoding:
    """With a rate at an age; iterations are a mixture of those at the points of its table around it."""
    table = decode_tables.describe(_table(rate))
    rber = fit() * (pe_cycles / 1000) ** PE_EXPONENT
    measured = np.zeros((len(table["rber"]), PUBLISHED["code"]["max_iterations"]))
    for row, shares in zip(measured, table["level"][0]["iterations"], strict=True):
        row[: len(shares)] = shares
    mixed = [float(np.interp(rber, table["rber"], column)) for column in measured.T]
    return Decoding(rate, pe_cycles, rber, tuple(mixed))


def at(pe_cycles: int) -> Decoding:
    """With the adaptive device's rate at an age."""
    return decoding(adapted(pe_cycles), pe_cycles)


def _at_all(full: bool) -> list[Decoding]:
    """With each rate at each age within its life."""
    return [decoding(rate, age) for rate in RATES for age in _ages_of(rate, full)]


# Devices and loads ---------------------------------------------------------------------------------------------------

_POLICY = "two_step:restart"
_QUEUE_DEPTH = 2048
_SATURATED = f"host.issue={inline({'closed_loop': {'queue_depth': _QUEUE_DEPTH}})}"
_OPEN = f"host.issue={inline({'open_loop': {'time_scale': 1.0}})}"
LIGHT, HEAVY = 0.05, 0.8
"""Loads, as shares of what the smallest pool can do with the most iterations."""
QUEUE_DEPTHS = (64, 256, _QUEUE_DEPTH)
"""Reads at random places that are under way at a time."""
HOT_SHARES = (0.5, 0.8)
"""Shares of reads that go to hot data: the paper does not say."""
HOT_SSDS = 2


def _workload(name: str, what: str, requests: int, addresses: Any, *overrides: str) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=1.0,
        sizes=[{"bytes": _CODEWORD, "share": 1.0}],
        align_bytes=_CODEWORD,
        addresses=addresses,
        arrivals="immediate",
    )
    return Workload(name, what, overrides=(*fields, *overrides))


def round_robin(requests: int) -> Workload:
    """Saturation: every SSD and channel in turn."""
    what = f"{requests:,} reads of a codeword in turn from all SSDs and channels, {_QUEUE_DEPTH:,} at a time"
    return _workload("round robin", what, requests, "sequential", _SATURATED, "host.spread=round_robin")


def scattered(requests: int) -> Workload:
    """A load below saturation, at random places; cases say how fast reads arrive."""
    what = f"{requests:,} reads of a codeword at random places, Poisson"
    return _workload("scattered", what, requests, "uniform", _OPEN, "host.spread=round_robin")


def crowded(requests: int, queue_depth: int) -> Workload:
    """Saturation at random places, with so many reads under way."""
    what = f"{requests:,} reads of a codeword at random places, {queue_depth:,} at a time"
    saturated = f"host.issue={inline({'closed_loop': {'queue_depth': queue_depth}})}"
    return _workload(f"crowded {queue_depth}", what, requests, "uniform", saturated, "host.spread=round_robin")


def hot(requests: int, share: float) -> Workload:
    """Saturation, and two SSDs have the hot data."""
    what = f"{requests:,} reads of a codeword, {100 * share:g} % of them from two SSDs, {_QUEUE_DEPTH:,} at a time"
    addresses = {"hot_cold": {"hot_fraction": HOT_SSDS / _GEOMETRY["ssds"], "hot_share": share}}
    return _workload(f"hot {share:g}", what, requests, addresses, _SATURATED, "host.spread=address")


def _plan(full: bool) -> Plan:
    requests = 100_000 if full else 20_000
    some = (crowded(requests, depth) for depth in QUEUE_DEPTHS)
    every = (round_robin(requests), scattered(requests), *some, *(hot(requests, share) for share in HOT_SHARES))
    return Plan(full, (1, 2, 3), every, requests, overrides=DEVICE)


@dataclass(frozen=True)
class Decoders:
    """So many decoders, and where they are: `pool`, `per_ssd` or `per_channel`."""

    count: int
    where: str = "pool"

    @property
    def label(self) -> str:
        """For people."""
        if self.where == "pool":
            return f"pool of {self.count}"
        return f"{self.each} in each {'SSD' if self.where == 'per_ssd' else 'channel'}"

    @property
    def each(self) -> int:
        """Decoders of an SSD, a channel, or the pool."""
        return self.count // {"pool": 1, "per_ssd": _GEOMETRY["ssds"], "per_channel": _CHANNELS}[self.where]

    def bound(self, iterations: float, iteration_us: float = _ITERATION_US) -> float:
        """Codewords a second that channels bring and decoders decode, at most."""
        return min(_CHANNELS / _CHANNEL_US, self.count / (iteration_us * iterations)) * 1e6

    def override(self, time: Mapping[str, float], **more: Any) -> str:
        """The `[decoder]` of a config."""
        return f"decoder={inline({'placement': {self.where: self.each}, 'time': dict(time), **more})}"


POOL, PER_SSD = Decoders(_SMALLEST_POOL), Decoders(_GEOMETRY["ssds"], "per_ssd")
POOLS = tuple(Decoders(count) for count in (8, 16, 32, 64))
DEDICATED = (*(Decoders(count, "per_ssd") for count in (8, 16, 32, 64)), Decoders(64, "per_channel"))


_OF_CHIP, _OF_DECODERS = 8, 16
BUFFERS: dict[str, tuple[tuple[str, ...], dict[str, int]]] = {
    "unbounded": ((), {}),
    "bounded": ((f"flash.unit_queue={_OF_CHIP}",), {"buffer_codewords": _OF_DECODERS}),
}
"""Operations that may wait for a chip, and codewords that may wait for a decoder: the paper does not say how many."""


def _aged(
    of: Decoding,
    decoders: Decoders,
    iteration_us: float = _ITERATION_US,
    buffers: str = "unbounded",
) -> tuple[str, ...]:
    """A device of an age, all of it read with one code."""
    of_chips, of_decoders = BUFFERS[buffers]
    bypass = {"errors": 0, "codeword_bits": 8 * _CODEWORD}
    return (
        _reliability(_table(of.rate), fit(), PE_EXPONENT),
        f"precondition.pe_cycles={of.pe_cycles}",
        decoders.override({"per_iteration_us": iteration_us}, bypass=bypass, **of_decoders),
        *of_chips,
    )


def _seeds(plan: Plan, workload: Workload, overrides: tuple[str, ...]) -> list[Case]:
    return [Case(workload, _POLICY, overrides, seed) for seed in plan.seeds]


def _each(runs: Runs, cases: Iterable[Case], of: Callable[[dict[str, Any]], float]) -> list[float]:
    """A number for each seed."""
    return [of(runs[case]) for case in cases]


def _iops(summary: dict[str, Any]) -> float:
    """Codewords a second."""
    return summary["requests"] / summary["simulated_s"]


def _latency(summary: dict[str, Any]) -> float:
    return summary["response"]["read"]["mean_us"]


def _farthest(numbers: Mapping[Any, Number]) -> Any:
    """The one that is farthest from 1."""
    return max(numbers, key=lambda key: abs(numbers[key].value - 1))


def _times(number: Number, by: float) -> Number:
    return Number(number.value * by, number.lo * by, number.hi * by)


def _kpe(pe_cycles: float) -> str:
    return f"{pe_cycles / 1000:g}"


_PE = "P/E cycles (1,000)"
_SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_RATE_COLOURS = dict(zip(RATES, _SERIES, strict=True))
_DARK = "#222222"


# Figures 3 and 4: iterations -----------------------------------------------------------------------------------------


def _curve(rate: str, since: int, to: int) -> list[Decoding]:
    """With a rate at the ages of its table's points between two ages, and at these."""
    scale = fit()
    points = [
        round(1000 * (rber / scale) ** (1 / PE_EXPONENT)) for rber in decode_tables.describe(_table(rate))["rber"]
    ]
    # One cycle on, a codeword has the iterations of the point.
    return [decoding(rate, age) for age in sorted({*(age + 1 for age in points if since < age < to), since, to})]


def _measure_fig03(plan: Plan, runs: Runs) -> Measured:
    youngest = min(ages(plan.full))
    curves = {rate: _curve(rate, youngest, _lives()[rate].endurance_pe) for rate in RATES}
    path = [each for stage in life().stages for each in _curve(adapted(stage.to_pe), stage.from_pe, stage.to_pe)]
    rows = [
        point("each rate up to its endurance", line, each.pe_cycles / 1000, Number.exact(each.mean))
        | {"rate": each.rate, "rber": each.rber, "standard_deviation": each.spread}
        for line, decodings in {**curves, ADAPTIVE: path}.items()
        for each in decodings
    ]
    means = {rate: [each.mean for each in curve] for rate, curve in curves.items()}
    ratios = [each[-1] / each[0] for each in means.values()]
    ends = [f"{each[-1]:.1f} ({rate})" for rate, each in means.items()]
    evidence = {
        "iterations_grow": Evidence(
            Number.exact(min(ratios)),
            f"From {_kpe(youngest)} kPE to its end each rate's iterations grow {min(ratios):.1f} to {max(ratios):.1f} "
            f"times. At their ends they are {listed(ends)}: each life ends while the mean is below the limit of "
            f"{PUBLISHED['code']['max_iterations']}.",
            in_all=all(young <= old for each in means.values() for young, old in pairwise(each)) and min(ratios) > 1,
            in_mean=min(ratios) > 1,
        )
    }
    switches = [
        (decoding(adapted(before.to_pe), before.to_pe), decoding(adapted(after.to_pe), before.to_pe))
        for before, after in pairwise(life().stages)
    ]
    falls = [after.mean / before.mean for before, after in switches]
    told = [f"{b.mean:.1f} to {a.mean:.1f} at {b.pe_cycles / 1000:.1f} kPE" for b, a in switches]
    evidence["switch_lowers_iterations"] = Evidence(
        Number.exact(fmean(falls)),
        f"At the switches they fall from {listed(told)}.",
        in_all=max(falls) < 1,
        in_mean=fmean(falls) < 1,
    )
    note = (
        "Means of the shipped tables, which were measured by decoding. Each rate is used until UBER, failed decodes "
        "for each bit of data, is 1e-14 by its table."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


_LINES_BY_RATE = {rate: Line(colour) for rate, colour in _RATE_COLOURS.items()}
_DISTRIBUTION_OF = RATES[-1]


def _measure_fig04(plan: Plan, runs: Runs) -> Measured:
    of = [decoding(_DISTRIBUTION_OF, age) for age in _ages_of(_DISTRIBUTION_OF, plan.full)]
    few = list(dict.fromkeys(of[round(i * (len(of) - 1) / 5)] for i in range(6)))
    rows = [
        point(f"rate {_DISTRIBUTION_OF}", f"{each.pe_cycles / 1000:.1f} kPE", iterations, Number.exact(100 * share))
        for each in few
        for iterations, share in enumerate(each.shares, 1)
    ]
    ends = [decoding(rate, _lives()[rate].endurance_pe) for rate in RATES]
    heads = ["rate", "kPE", "RBER", "iterations, mean", "standard deviation", "fewest", "most"]
    told = []
    for each in ends:
        seen = [i for i, share in enumerate(each.shares, 1) if share > 0]
        told.append(
            [
                each.rate,
                f"{each.pe_cycles / 1000:.1f}",
                f"{each.rber:.4f}",
                f"{each.mean:.2f}",
                f"{each.spread:.2f}",
                f"{seen[0]}",
                f"{seen[-1]}",
            ]
        )
    note = (
        "Long codes: a codeword of 65,536 bits takes nearly the same number of iterations as the next one. The paper "
        'says that distributions are "similar for all used LDPC codes". At the end of each life:\n\n'
        + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), {}, (note,))


def _draw_fig04(frame: pl.DataFrame) -> Picture:
    ages_of = frame["line"].unique(maintain_order=True)
    styles = {line: Line(colour) for line, colour in zip(ages_of, _SERIES, strict=False)}
    title = "Figure 4: how many iterations decodes take"
    return lines(title, "iterations", "% of decodes", styles, "measured")(frame)


# Figure 5: the I/O rate of each code ---------------------------------------------------------------------------------


def _cases_fig05(plan: Plan) -> list[Case]:
    return [case for each in _at_all(plan.full) for case in _saturated(plan, each, POOL)]


def _saturated(plan: Plan, of: Decoding, decoders: Decoders, iteration_us: float = _ITERATION_US) -> list[Case]:
    return _seeds(plan, round_robin(plan.requests), _aged(of, decoders, iteration_us))


# By what part bounds have to differ for measurements to be compared.
_TOLD_APART = 0.005


def _measure_fig05(plan: Plan, runs: Runs) -> Measured:
    every = _at_all(plan.full)
    found = {(d.rate, d.pe_cycles): Number.of(_each(runs, _saturated(plan, d, POOL), _iops)) for d in every}
    codewords, data = "codewords", "user data"
    rows = []
    for (rate, age), number in found.items():
        rows.append(point(codewords, rate, age / 1000, _times(number, 1e-3)))
    for (rate, age), number in found.items():
        rows.append(point(data, rate, age / 1000, _times(number, code(rate).data_bits / 8 / 1e9)))
    evidence, ratios, falls = {}, {}, {}
    for rate in RATES:
        values = [number.value for (of, _), number in found.items() if of == rate]
        # Where channels are the bottleneck, or a table has no point between two ages, theory has no difference.
        bounds = [POOL.bound(d.load) for d in every if d.rate == rate]
        falls[rate] = all(
            young > old
            for (young, old), (could, can) in zip(pairwise(values), pairwise(bounds), strict=True)
            if could > (1 + _TOLD_APART) * can
        )
        ratios[rate] = values[-1] / values[0]
    ends = [f"{1e-3 * found[rate, _lives()[rate].endurance_pe].value:.0f} ({rate})" for rate in RATES]
    evidence["rate_falls_with_age"] = Evidence(
        Number.exact(max(ratios.values())),
        f"The most is {1e-3 * max(n.value for n in found.values()):,.0f} of the {1e3 * _CHANNELS / _CHANNEL_US:,.0f} "
        f"KIOPS that channels bring; at the end of their lives rates reach {listed(ends)}. Ages whose bounds differ by "
        f"less than {100 * _TOLD_APART:g} % are not compared.",
        in_all=all(falls.values()),
        in_mean=all(ratio < 1 for ratio in ratios.values()),
    )
    gains, of_data = [], []
    for before, after in pairwise(life().stages):
        weak, strong = adapted(before.to_pe), adapted(after.to_pe)
        age = max(a for a in ages(plan.full) if a <= before.to_pe)
        gain = found[strong, age].value / found[weak, age].value
        gains.append(gain)
        of_data.append(gain * code(strong).data_bits / code(weak).data_bits)
    told = [f"{gain:.2f}" for gain in gains]
    evidence["switch_raises_rate"] = Evidence(
        Number.exact(fmean(gains)),
        f"At the last age that was simulated before each switch the next code decodes {listed(told)} times as many "
        f"codewords a second; of user data it is {min(of_data):.2f} to {max(of_data):.2f} times as much.",
        in_all=min(gains) > 1,
        in_mean=fmean(gains) > 1,
    )
    note = (
        f"A pool of {POOL.count} decoders, saturated. The paper does not say how many it has in this figure, nor "
        "whether an I/O is a codeword or user data: both are shown."
    )
    return Measured(pl.DataFrame(rows), evidence, (note, _note_of_limits()))


# Mean iterations at which a device might switch: the paper has a "predetermined limit".
_LIMITS = (4.0, 5.0, 6.0)


@cache
def _limited(iterations: float) -> Lifetime:
    """Lives that end where the mean is at a limit, or errors ask for it."""
    demand = Demand(uber=_DEMAND.uber, mean_iterations=iterations)
    return lifetime(_worn(), [_table(rate) for rate in RATES], utilisations=UTILISATIONS[:1], demand=demand)


def _note_of_limits() -> str:
    def row(label: str, found: Lifetime) -> list[str]:
        ends = {stage.life.table: f"{stage.to_pe / 1000:.1f}" for stage in found.stages}
        written = sum((stage.to_pe - stage.from_pe) / 1000 * stage.life.user_share for stage in found.stages)
        return [label, *(ends.get(_table(rate), "-") for rate in RATES), f"{written:.1f}"]

    heads = ["at most", *(f"{rate} until" for rate in RATES), "1,000 bytes for each byte of flash"]
    rows = [row(f"{limit:g} iterations", _limited(limit)) for limit in _LIMITS]
    return (
        "The paper switches when iterations pass a limit, which it does not say; here errors alone decide. A limit on "
        "the mean means switching earlier, less capacity, and a shorter life; in 1,000 P/E cycles:\n\n"
        + markdown_table(heads, [*rows, row("UBER alone", life())])
    )


# Table II: lifetime --------------------------------------------------------------------------------------------------


def _sum(stages: Iterable[tuple[str, float]]) -> float:
    """1,000 bytes written for each byte of flash."""
    return sum(pe_cycles / 1000 * _lives()[rate].user_share for rate, pe_cycles in stages)


def _stages() -> list[tuple[str, float]]:
    return [(adapted(stage.to_pe), stage.to_pe - stage.from_pe) for stage in life().stages]


@cache
def _amplification(rate: str) -> float:
    """Write amplification of a rate where the user has the same capacity whatever the rate."""
    return write_amplification(_reader(rate), _FIXED_CAPACITY / _lives()[rate].user_share)


def _measure_table2(plan: Plan, runs: Runs) -> Measured:
    ours = {rate: _sum([(rate, _lives()[rate].endurance_pe)]) for rate in RATES} | {ADAPTIVE: _sum(_stages())}
    fixed = {rate: _sum([(rate, _lives()[rate].endurance_pe)]) / _amplification(rate) for rate in RATES} | {
        ADAPTIVE: sum(_sum([stage]) / _amplification(stage[0]) for stage in _stages())
    }
    printed = {scheme: printed_lifetime(scheme) for scheme in ours}
    by = {
        "printed years": _YEARS,
        "printed endurance x rate": printed,
        "measured": ours,
        f"measured, the user has {100 * _FIXED_CAPACITY:g} % of the flash": fixed,
    }
    first = RATES[0]
    rows = [
        {
            "group": scheme,
            "bar": bar,
            "value": values[scheme] / values[first],
            "endurance_kpe": max(e.endurance_pe for e in life().codes) / 1000
            if scheme == ADAPTIVE
            else _lives()[scheme].endurance_pe / 1000,
            "lifetime": values[scheme],
        }
        for scheme in ours
        for bar, values in by.items()
    ]
    frame = pl.DataFrame(rows).with_columns(lo="value", hi="value")
    evidence = {}
    for rate in RATES:
        if rate != FITTED:
            found = _lives()[rate]
            near = found.endurance_pe / 1000 / _ENDURANCE[rate] - 1
            evidence[f"endurance_{rate.replace('/', '_')}"] = Evidence(
                Number.exact(found.endurance_pe / 1000),
                f"It is predicted from the {_ENDURANCE[FITTED]} kPE of rate {FITTED} and the measured code, which "
                f"delivers 1e-14 at an RBER of {found.rber:.4f}; {100 * abs(near):.0f} % "
                f"{'more' if near > 0 else 'less'} than printed. The paper's codes and its flash are not published.",
            )
    best = max(RATES, key=lambda rate: ours[rate])
    printed_best = max(RATES, key=lambda rate: _YEARS[rate])
    gain = ours[ADAPTIVE] / ours[best]
    evidence |= _gains(gain, fixed, printed)
    second = sorted(ours[rate] for rate in RATES)[-2]
    evidence["best_fixed"] = Evidence(
        Number.exact(ours[best] / second),
        f"The best single rate is {best} here and {printed_best} in print. Its own endurance is fitted, those of the "
        "others are not.",
        in_all=best == printed_best,
        in_mean=ours[printed_best] >= second,
    )
    return Measured(frame, evidence, (_note_of_fits(), _note_of_years(), _note_of_amplification(fixed)))


def _gains(gain: float, fixed: Mapping[str, float], printed: Mapping[str, float]) -> dict[str, Evidence]:
    best_printed = max(RATES, key=lambda rate: printed[rate])
    of_print = printed[ADAPTIVE] / printed[best_printed]
    ratio = _YEARS[ADAPTIVE] / max(_YEARS[rate] for rate in RATES)
    measured = Number.exact(gain)
    kept = fixed[ADAPTIVE] / max(fixed[rate] for rate in RATES)
    real = [f"{_lives()[rate].user_share:g} ({rate})" for rate in RATES if _lives()[rate].user_share < _nominal(rate)]
    last = _lives()[RATES[-1]].endurance_pe / 1000
    return {
        "almost_doubles": Evidence(
            measured,
            f"Adaptive over the best single rate, by endurance times data for each bit of flash. The printed numbers "
            f"make {of_print:.2f} of it, and the printed years {ratio:.2f}: almost double is more than either.",
        ),
        "sum_of_printed": Evidence(
            measured,
            f"The printed endurances and rates make {printed[ADAPTIVE]:.1f} over {printed[best_printed]:.1f}. Here "
            "whole blocks of 512 bytes fit a codeword, so that some rates are lower than they are called, "
            f"{listed(real)}; and the last rate lasts {last:.1f} kPE, not {_ENDURANCE[RATES[-1]]}.",
        ),
        "printed_years": Evidence(
            measured,
            f"The printed years are {_YEARS[ADAPTIVE]:.2f} and {max(_YEARS[rate] for rate in RATES):.2f}. Write "
            "amplification at the same utilisation is the same for all schemes and cancels. Where the user's capacity "
            f"is the same for life, {100 * _FIXED_CAPACITY:g} % of the flash, weak codes leave more room and write "
            f"less: then it is {kept:.2f}.",
        ),
    }


def _note_of_fits() -> str:
    heads = ["fitted to", *RATES, "adaptive over the best rate"]

    def row(label: str, rate: str, exponent: float) -> list[str]:
        scale = fit(rate, exponent)
        lasts = {each: predicted(each, scale, exponent) for each in RATES}
        # Each from where a weaker one ends; some may have nothing left to do.
        edges, written = 0.0, 0.0
        for each in RATES:
            written += max(lasts[each] - edges, 0.0) * _lives()[each].user_share
            edges = max(edges, lasts[each])
        gain = written / max(lasts[each] * _lives()[each].user_share for each in RATES)
        cells = [f"{lasts[each]:.1f}{' (fitted)' * (each == rate)}" for each in RATES]
        return [label, *cells, f"{gain:.2f}"]

    printed = ["printed", *(f"{_ENDURANCE[rate]}" for rate in RATES), f"{_printed_gain():.2f}"]
    rows = [printed, *(row(f"rate {rate}", rate, PE_EXPONENT) for rate in RATES)]
    others = {"72-layer TLC": _TLC_EXPONENT, "LAE-FTL's chip": lae_ftl.wear().pe_exponent}
    rows += [row(f"rate {FITTED}, exponent {e:.2f} ({name})", FITTED, e) for name, e in others.items()]
    limits = [f"{limit(rate):.4f} ({rate})" for rate in RATES]
    near = {rate: _threshold(rate) for rate in RATES}
    wide = max((row["hi"] / row["lo"]) ** (1 / PE_EXPONENT) - 1 for row in near.values())
    partly = [rate for rate, row in near.items() if not row["complete"]]
    known = f" For {listed(partly)} failures as rare as that are in part extrapolated." if partly else ""
    return (
        f"RBER = scale (PE / 1000)^{PE_EXPONENT}; the scale of {fit():.3g} is fitted, so that rate {FITTED} lasts "
        f"{_ENDURANCE[FITTED]} kPE. Codes deliver 1e-14 up to an RBER of {listed(limits)}; 95 % intervals of the "
        f"tables there are {100 * wide:.1f} % of an endurance wide at most.{known} Endurances in kPE, with what else "
        "might have been fitted, and other exponents:\n\n" + markdown_table(heads, rows)
    )


def _threshold(rate: str) -> dict[str, Any]:
    """The raw bit error rate at which decoding fails about as often as the demand allows."""
    return next(row for row in decode_tables.describe(_table(rate))["thresholds"] if row["failure"] == _NEAR_DEMAND)


def _printed_gain() -> float:
    return printed_lifetime(ADAPTIVE) / max(printed_lifetime(rate) for rate in RATES)


def _note_of_years() -> str:
    rates = {scheme: _YEARS[scheme] / printed_lifetime(scheme) for scheme in PUBLISHED["lifetime"]["rates"]}
    least, most = min(rates, key=lambda s: rates[s]), max(rates, key=lambda s: rates[s])
    year_s, text_tb = 365.25 * 86_400, 8
    chips = _GEOMETRY["ssds"] * _GEOMETRY["channels_per_ssd"] * _GEOMETRY["chips_per_channel"]
    capacity = chips * _GEOMETRY["chip_gbit"] / 8 / 1024

    def speed(scheme: str, terabytes: float) -> str:
        return f"{1000 * printed_lifetime(scheme) * terabytes * 1e12 / (_YEARS[scheme] * year_s) / 1e9:.1f}"

    return (
        f"Printed years over printed endurance x rate are {rates[least]:.3f} ({least}) to {rates[most]:.3f} ({most}): "
        f"about one rate of writing for all, {speed(most, text_tb)} to {speed(least, text_tb)} GB/s into the "
        f"{text_tb} TB of the text without write amplification. The capacity is {text_tb} TB in the text and "
        f"{_GEOMETRY['total_tb_table']} TB in table I, whose {chips} chips of {_GEOMETRY['chip_gbit']} Gbit are "
        f"{capacity:g} TB. How the printed data rates, {PUBLISHED['lifetime']['normalized_data_rate_gbps'][0]} to "
        f"{PUBLISHED['lifetime']['normalized_data_rate_gbps'][-1]} GB/s, are normalised is not said; they are not "
        "judged."
    )


def _note_of_amplification(fixed: Mapping[str, float]) -> str:
    found = life()
    heads = ["scheme", *(f"{100 * u:g} % used, WA {wa:.2f}" for u, wa in found.write_amplification.items())]
    heads.append(f"{100 * _FIXED_CAPACITY:g} % of the flash for life: WA, lifetime")
    rows = []
    for scheme in (*RATES, ADAPTIVE):
        name = _table(scheme) if scheme != ADAPTIVE else ADAPTIVE
        cells = found.frame.filter(pl.col("scheme") == name)["lifetime_capacity"].to_list()
        own = "-" if scheme == ADAPTIVE else f"{_amplification(scheme):.2f}"
        rows.append([scheme, *(f"{cell:,.0f}" for cell in cells), f"{own}, {1000 * fixed[scheme]:,.0f}"])
    return (
        "Bytes that the host can write for each byte of flash, with write amplification measured under uniform "
        "overwriting: with a share of the data capacity that follows the rate, or with the same capacity for life:\n\n"
        + markdown_table(heads, rows)
    )


def _draw_table2(frame: pl.DataFrame) -> Picture:
    bars = frame["bar"].unique(maintain_order=True).to_list()
    colours = dict(zip(bars, ("#7f7f7f", "#bdbdbd", "#0072b2", "#56b4e9"), strict=True))
    return draw_bars(frame, "Table II: lifetime capacity", f"over that of rate {RATES[0]}", colours=colours)


# Figures 6 and 7: scenario 1, latency and data rate ------------------------------------------------------------------

_EVERY = (*POOLS, *DEDICATED)
_POOL_LINES = {d.label: Line(colour) for d, colour in zip(POOLS, _SERIES, strict=False)}
_DEDICATED_LINES = {
    d.label: Line(_POOL_LINES[Decoders(d.count).label].colour, "none", "s" if d.where == "per_ssd" else "D")
    for d in DEDICATED
}
_LINES_BY_PLACE = _POOL_LINES | _DEDICATED_LINES


def _most(plan: Plan) -> float:
    """What the smallest pool can do at any age, at least."""
    return min(POOL.bound(at(age).load) for age in ages(plan.full))


def _loaded(plan: Plan, per_s: float, overrides: tuple[str, ...]) -> list[Case]:
    arrivals = f"workload.arrivals={inline({'poisson': {'requests_per_s': float(round(per_s))}})}"
    return _seeds(plan, scattered(plan.requests), (arrivals, *overrides))


def _fig06(plan: Plan, load: float, decoders: Decoders, age: int) -> list[Case]:
    return _loaded(plan, load * _most(plan), _aged(at(age), decoders))


def _cases_fig06(plan: Plan) -> list[Case]:
    return [
        case
        for load in (LIGHT, HEAVY)
        for decoders in _EVERY
        for age in ages(plan.full)
        for case in _fig06(plan, load, decoders, age)
    ]


def _measure_fig06(plan: Plan, runs: Runs) -> Measured:
    every = [(load, d, age) for load in (LIGHT, HEAVY) for d in _EVERY for age in ages(plan.full)]
    found = {key: _each(runs, _fig06(plan, *key), _latency) for key in every}
    rows = [
        point(f"{100 * load:g} % load", d.label, age / 1000, Number.of(values))
        for (load, d, age), values in found.items()
    ]

    def over(load: float, above: Decoders, below: Decoders, age: int) -> Number:
        return Number.ratio(found[load, above, age], found[load, below, age])

    counts = {(d, age): over(LIGHT, d, POOLS[-1], age) for d in POOLS[:-1] for age in ages(plan.full)}
    places = {(d, age): over(LIGHT, d, Decoders(d.count), age) for d in DEDICATED for age in ages(plan.full)}
    oldest = ages(plan.full)[-1]
    least, worst = _farthest(counts), _farthest(places)
    heavy = [over(HEAVY, each, POOLS[-1], oldest).value for each in (POOL, PER_SSD)]
    evidence = {
        "latency_independent_of_count": Evidence(
            counts[least],
            f"The farthest of {len(counts)}: {least[0].label} over {POOLS[-1].label} at {_kpe(least[1])} kPE. It is so "
            f"as long as nothing waits. At {100 * HEAVY:g} % of what the smallest pool can do it takes {heavy[0]:.2f} "
            f"times as long with a {POOL.label} as with a {POOLS[-1].label}, at {_kpe(oldest)} kPE.",
        ),
        "latency_independent_of_position": Evidence(
            places[worst],
            f"The farthest of {len(places)}: {worst[0].label} over a pool of as many at {_kpe(worst[1])} kPE. At "
            f"{100 * HEAVY:g} % of what eight decoders can do reads take {heavy[1]:.2f} times as long with "
            f"{PER_SSD.label} as with a {POOLS[-1].label}, and {heavy[1] / heavy[0]:.2f} times as long as with a "
            f"{POOL.label}: a pool is a shared queue.",
        ),
    }
    mean = {age: fmean(fmean(found[LIGHT, d, age]) for d in _EVERY) for age in ages(plan.full)}
    drops = [f"{_kpe(old)} kPE ({adapted(old)})" for young, old in pairwise(mean) if mean[young] >= mean[old]]
    evidence["latency_grows_with_age"] = Evidence(
        Number.exact(mean[oldest] / mean[ages(plan.full)[0]]),
        f"From {mean[ages(plan.full)[0]]:.1f} us at {_kpe(ages(plan.full)[0])} kPE to {mean[oldest]:.1f} us at "
        f"{_kpe(oldest)}."
        + (f" It falls with a stronger code, at {listed(drops)}: fewer iterations." if drops else ""),
        in_all=not drops,
        in_mean=mean[oldest] > mean[ages(plan.full)[0]],
    )
    rate = _most(plan)
    off = max(
        abs(fmean(found[LIGHT, POOLS[-1], age]) / (_TIMES["chip_access"] + _ITERATION_US * at(age).load) - 1)
        for age in ages(plan.full)
    )
    note = (
        f"Reads arrive at {1e-3 * LIGHT * rate:.1f} and {1e-3 * HEAVY * rate:.0f} thousand a second: {100 * LIGHT:g} "
        f"and {100 * HEAVY:g} % of the {1e-3 * rate:.0f} that {POOL.count} decoders can do at the worst age; the paper "
        f"does not say its load. {_TIMES['chip_access']:g} us and {_ITERATION_US:g} us an iteration, without any wait, "
        f"is {100 * off:.1f} % off the {POOLS[-1].label} under light load at most."
    )
    return Measured(pl.DataFrame(rows), evidence, (note, _note_of_ages(plan)))


def _note_of_ages(plan: Plan) -> str:
    heads = ["kPE", "rate", "RBER", "iterations", "without errors", "iterations of a decoder for each read"]
    rows = []
    for age in ages(plan.full):
        each = at(age)
        cells = [f"{each.rber:.2e}", f"{each.mean:.2f}", f"{100 * each.error_free:.1f} %"]
        rows.append([_kpe(age), each.rate, *cells, f"{each.load:.2f}"])
    table = markdown_table(heads, rows)
    return f"The ages of all scenarios, and the rate that an adaptive device uses then:\n\n{table}"


def _crowded(plan: Plan, decoders: Decoders, queue_depth: int) -> list[Case]:
    oldest = at(ages(plan.full)[-1])
    return _seeds(plan, crowded(plan.requests, queue_depth), _aged(oldest, decoders))


def _cases_fig07(plan: Plan) -> list[Case]:
    in_turn = [case for d in _EVERY for age in ages(plan.full) for case in _saturated(plan, at(age), d)]
    return in_turn + [case for d in (POOL, PER_SSD) for depth in QUEUE_DEPTHS for case in _crowded(plan, d, depth)]


def _measure_fig07(plan: Plan, runs: Runs) -> Measured:
    found = {(d, age): _each(runs, _saturated(plan, at(age), d), _iops) for d in _EVERY for age in ages(plan.full)}
    bounds = {(d, age): d.bound(at(age).load) for d, age in found}
    met = {key: Number.of([value / bounds[key] for value in values]) for key, values in found.items()}
    rows = [
        point("saturated", d.label, age / 1000, _times(Number.of(values), 1e-3), bound_kiops=1e-3 * bounds[d, age])
        for (d, age), values in found.items()
    ]
    places = {
        (d, age): Number.ratio(found[d, age], found[Decoders(d.count), age])
        for d in DEDICATED
        for age in ages(plan.full)
    }
    worst, far = _farthest(places), _farthest(met)
    # Where channels are the bottleneck of both, nothing depends on decoders.
    steps = [
        (found[small, age], found[large, age])
        for small, large in pairwise(POOLS)
        for age in ages(plan.full)
        if bounds[small, age] < bounds[large, age]
    ]
    oldest = ages(plan.full)[-1]
    ends = [f"{1e-3 * fmean(found[d, oldest]):,.0f} ({d.count})" for d in POOLS]
    random = []
    for depth in QUEUE_DEPTHS:
        dedicated, pooled = (_each(runs, _crowded(plan, d, depth), _iops) for d in (PER_SSD, POOL))
        random.append(f"{Number.ratio(dedicated, pooled).value:.3f} ({depth:,} at a time)")
    channel = sum(bounds[POOLS[-1], age] >= _CHANNELS / _CHANNEL_US * 1e6 for age in ages(plan.full))
    evidence = {
        "rate_depends_on_count": Evidence(
            Number.ratio(found[POOLS[-1], oldest], found[POOL, oldest]),
            f"At {_kpe(oldest)} kPE pools reach {listed(ends)} KIOPS. With {POOLS[-1].count} decoders, one for each "
            f"channel, the channels are the bottleneck at {channel} of {len(ages(plan.full))} ages.",
            in_all=all(fmean(less) < fmean(more) for less, more in steps),
            in_mean=fmean(fmean(less) / fmean(more) for less, more in steps) < 1,
        ),
        "position_does_not_matter": Evidence(
            places[worst],
            f"The farthest of {len(places)}: {worst[0].label} over a pool of as many at {_kpe(worst[1])} kPE. Reads go "
            f"to all SSDs and channels in turn. At random places {PER_SSD.label} reads {listed(random)} of what a "
            f"{POOL.label} reads, at {_kpe(oldest)} kPE: with few under way some SSDs have none.",
        ),
        "bound": Evidence(
            met[far],
            f"The farthest of {len(met)}: {far[0].label} at {_kpe(far[1])} kPE, {1e-3 * fmean(found[far]):,.0f} of "
            f"{1e-3 * bounds[far]:,.0f} KIOPS. The bound is min(64 / 40 us, N / (4 us E)), E the mean "
            f"iterations less one for each codeword without errors; {_QUEUE_DEPTH:,} reads are under way.",
        ),
    }
    return Measured(pl.DataFrame(rows), evidence)


# Figure 8: hot data --------------------------------------------------------------------------------------------------


def _hot_bound(decoders: Decoders, share: float, iterations: float) -> float:
    """Codewords a second: the hot SSDs' channels, and decoders if they are their own, have that share of all."""
    of_channels = HOT_SSDS * _GEOMETRY["channels_per_ssd"] / _CHANNEL_US * 1e6 / share
    of_decoders = decoders.count / (_ITERATION_US * iterations) * 1e6
    if decoders.where != "pool":
        of_decoders *= HOT_SSDS / _GEOMETRY["ssds"] / share
    return min(of_channels, of_decoders, _CHANNELS / _CHANNEL_US * 1e6)


def _fig08(plan: Plan, share: float, decoders: Decoders, age: int, buffers: str = "unbounded") -> list[Case]:
    aged = _aged(at(age), decoders, buffers=buffers)
    return _seeds(plan, hot(plan.requests, share), aged)


def _cases_fig08(plan: Plan) -> list[Case]:
    oldest = ages(plan.full)[-1]
    found = _saturated(plan, at(oldest), POOL)
    for share in HOT_SHARES:
        for decoders in (POOL, PER_SSD):
            found += [case for age in ages(plan.full) for case in _fig08(plan, share, decoders, age)]
            found += _fig08(plan, share, decoders, oldest, "bounded")
    return found


def _measure_fig08(plan: Plan, runs: Runs) -> Measured:
    keys = [(share, d, age) for share in HOT_SHARES for d in (POOL, PER_SSD) for age in ages(plan.full)]
    found = {key: _each(runs, _fig08(plan, *key), _iops) for key in keys}
    bounds = {(share, d, age): _hot_bound(d, share, at(age).load) for share, d, age in keys}
    rows = [
        point(
            f"{100 * share:g} % of reads are of hot data",
            d.label,
            age / 1000,
            _times(Number.of(values), 1e-3),
            bound_kiops=1e-3 * bounds[share, d, age],
        )
        for (share, d, age), values in found.items()
    ]
    gains = {
        (share, age): Number.ratio(found[share, POOL, age], found[share, PER_SSD, age])
        for share in HOT_SHARES
        for age in ages(plan.full)
    }
    # Where the hot SSDs' channels are the bottleneck of both, decoders do not matter.
    told_apart = [(s, a) for s, a in gains if bounds[s, POOL, a] > bounds[s, PER_SSD, a]]
    oldest = ages(plan.full)[-1]
    each = [
        f"{gains[share, oldest].value:.2f} times with {100 * share:g} % of reads "
        f"({bounds[share, POOL, oldest] / bounds[share, PER_SSD, oldest]:.2f} by the bounds)"
        for share in HOT_SHARES
    ]
    alike = len(gains) - len(told_apart)
    uniform = _each(runs, _saturated(plan, at(oldest), POOL), _iops)
    kept = [
        f"{Number.ratio(found[share, d, oldest], uniform).value:.2f} ({d.label}, {100 * share:g} %)"
        for share in HOT_SHARES
        for d in (POOL, PER_SSD)
    ]
    bounded = {
        (share, d): _each(runs, _fig08(plan, share, d, oldest, "bounded"), _iops)
        for share in HOT_SHARES
        for d in (POOL, PER_SSD)
    }
    lost = [
        f"{d.label} then reaches {fmean(bounded[HOT_SHARES[-1], d]) / fmean(found[HOT_SHARES[-1], d, oldest]):.2f} of "
        f"its rate ({100 * HOT_SHARES[-1]:g} %)"
        for d in (POOL, PER_SSD)
    ]
    blocked = [
        f"{Number.ratio(bounded[share, POOL], bounded[share, PER_SSD]).value:.2f} times with {100 * share:g} %"
        for share in HOT_SHARES
    ]
    off = max(abs(fmean(values) / bounds[key] - 1) for key, values in found.items())
    evidence = {
        "pool_beats_dedicated": Evidence(
            gains[HOT_SHARES[-1], oldest],
            f"At {_kpe(oldest)} kPE the pool gains {listed(each)}; on average over ages "
            + listed([f"{fmean(gains[s, a].value for a in ages(plan.full)):.2f} ({100 * s:g} %)" for s in HOT_SHARES])
            + "."
            + (f" In {alike} of {len(gains)} cases hot channels are the bottleneck of both." if alike else "")
            + " How hot data is, and how it is queued, the paper does not say.",
            in_all=all(gains[key].value > 1 for key in told_apart),
            in_mean=fmean(gain.value for gain in gains.values()) > 1,
        )
    }
    note = (
        f"The first {HOT_SSDS} of {_GEOMETRY['ssds']} SSDs have the hot data, which takes a quarter of the capacity. "
        f"Bounds (channels and decoders of the hot SSDs by their share of reads) are met within {100 * off:.1f} %. Of "
        f"the rate with uniform reads {listed(kept)} remain at {_kpe(oldest)} kPE. Where {_OF_CHIP} operations at most "
        f"wait for a chip and {_OF_DECODERS} codewords for a decoder, and what finds no room blocks the host, the pool "
        f"gains {listed(blocked)} of reads: {listed(lost)}."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


# Figures 9 and 10: scenario 2, faster decoders -----------------------------------------------------------------------

T_RATIOS = (2, 5, 10, 20, 40)
"""T = t_dat / t_iter."""


def _iteration_us(ratio: int) -> float:
    return PUBLISHED["scenario_2"]["t_dat_us"] / ratio


def _slowest(plan: Plan) -> float:
    """What eight decoders can do at any age, at least, with the slowest iterations."""
    return min(POOL.bound(at(age).load, _iteration_us(min(T_RATIOS))) for age in ages(plan.full))


def _fig09(plan: Plan, ratio: int, age: int) -> list[Case]:
    aged = _aged(at(age), POOL, _iteration_us(ratio))
    return _loaded(plan, LIGHT * _slowest(plan), aged)


def _fig10(plan: Plan, ratio: int, age: int) -> list[Case]:
    return _saturated(plan, at(age), POOL, _iteration_us(ratio))


def _cases_by_t(of: Callable[[Plan, int, int], list[Case]], plan: Plan) -> list[Case]:
    return [case for ratio in T_RATIOS for age in ages(plan.full) for case in of(plan, ratio, age)]


_LINES_BY_T = {f"T = {ratio}": Line(colour) for ratio, colour in zip(T_RATIOS, _SERIES, strict=False)}


def _by_t(
    plan: Plan, runs: Runs, of: Callable[[Plan, int, int], list[Case]], quantity: Callable[[dict[str, Any]], float]
) -> dict[tuple[int, int], Number]:
    return {
        (ratio, age): Number.of(_each(runs, of(plan, ratio, age), quantity))
        for ratio in T_RATIOS
        for age in ages(plan.full)
    }


def _measure_fig09(plan: Plan, runs: Runs) -> Measured:
    found = _by_t(plan, runs, _fig09, _latency)
    rows = [point("5 % load", f"T = {ratio}", age / 1000, number) for (ratio, age), number in found.items()]
    oldest = ages(plan.full)[-1]
    falls = {
        age: all(found[a, age].value > found[b, age].value for a, b in pairwise(T_RATIOS)) for age in ages(plan.full)
    }
    ends = [f"{found[ratio, oldest].value:.0f} us (T = {ratio})" for ratio in T_RATIOS]
    first, last = T_RATIOS[0], T_RATIOS[-1]
    evidence = {
        "latency_falls_with_t": Evidence(
            Number.exact(found[last, oldest].value / found[first, oldest].value),
            f"At {_kpe(oldest)} kPE reads take {listed(ends)}; the {_TIMES['chip_access']:g} us of the flash are the "
            "floor.",
            in_all=all(falls.values()),
            in_mean=all(
                fmean(found[a, age].value for age in falls) > fmean(found[b, age].value for age in falls)
                for a, b in pairwise(T_RATIOS)
            ),
        )
    }
    note = (
        f"{1e-3 * LIGHT * _slowest(plan):.2f} thousand reads a second, {100 * LIGHT:g} % of what {POOL.count} decoders "
        f"can do at T = {min(T_RATIOS)} and the worst age. The paper has t_dat = 80 us where it begins, and 40 us here."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _measure_fig10(plan: Plan, runs: Runs) -> Measured:
    found = _by_t(plan, runs, _fig10, _iops)
    bounds = {(ratio, age): POOL.bound(at(age).load, _iteration_us(ratio)) for ratio, age in found}
    rows = [
        point(
            "saturated",
            f"T = {ratio}",
            age / 1000,
            _times(number, 1e-3),
            bound_kiops=1e-3 * bounds[ratio, age],
        )
        for (ratio, age), number in found.items()
    ]
    steps = [
        (found[slow, age].value, found[fast, age].value)
        for slow, fast in pairwise(T_RATIOS)
        for age in ages(plan.full)
        if bounds[slow, age] < bounds[fast, age]
    ]
    oldest = ages(plan.full)[-1]
    ends = [f"{1e-3 * found[ratio, oldest].value:,.0f} (T = {ratio})" for ratio in T_RATIOS]
    off = max(abs(number.value / bounds[key] - 1) for key, number in found.items())
    evidence = {
        "rate_grows_with_t": Evidence(
            Number.exact(found[T_RATIOS[-1], oldest].value / found[T_RATIOS[0], oldest].value),
            f"At {_kpe(oldest)} kPE {POOL.count} decoders reach {listed(ends)} KIOPS; channels bring "
            f"{1e3 * _CHANNELS / _CHANNEL_US:,.0f} at most.",
            in_all=all(slow < fast for slow, fast in steps),
            in_mean=fmean(slow / fast for slow, fast in steps) < 1,
        )
    }
    note = f"A pool of {POOL.count} decoders, saturated. The bound of figure 7 is met within {100 * off:.1f} %."
    return Measured(pl.DataFrame(rows), evidence, (note,))


# Queueing: fixed decode times ----------------------------------------------------------------------------------------

_FIXED = (1, 2, 4, 5, 8, 10)
_FIXED_POOLS = tuple(Decoders(count) for count in (8, 16, 64))


def _queueing(plan: Plan, decoders: Decoders, iterations: int, buffers: str) -> list[Case]:
    of_chips, of_decoders = BUFFERS[buffers]
    time = decoders.override({"fixed_us": _ITERATION_US * iterations}, **of_decoders)
    # Nothing in it is random.
    return [Case(round_robin(plan.requests), _POLICY, ('reliability="perfect"', time, *of_chips), plan.seeds[0])]


def _every_queue() -> list[tuple[Decoders, int, str]]:
    return [(d, iterations, buffers) for d in _FIXED_POOLS for iterations in _FIXED for buffers in BUFFERS]


def _measure_queueing(plan: Plan, runs: Runs) -> Measured:
    found = {key: _each(runs, _queueing(plan, *key), _iops)[0] for key in _every_queue()}
    met = {key: Number.exact(value / key[0].bound(key[1])) for key, value in found.items()}
    rows = [
        point(f"{buffers} queues", d.label, iterations, met[d, iterations, buffers], kiops=1e-3 * value)
        for (d, iterations, buffers), value in sorted(found.items(), key=lambda item: list(BUFFERS).index(item[0][2]))
    ]
    far = _farthest(met)
    why = (
        f"The farthest of {len(met)}: {far[0].label}, {far[1]} iterations, {far[2]} queues, {1e-3 * found[far]:,.1f} "
        f"of {1e-3 * far[0].bound(far[1]):,.0f} KIOPS. What is missing is the beginning and the end of "
        f"{plan.requests:,} reads."
    )
    heads = ["iterations", *(f"{d.label}: bound, {', '.join(BUFFERS)}" for d in _FIXED_POOLS)]
    told = [
        [
            str(iterations),
            *(
                f"{1e-3 * d.bound(iterations):,.0f}, "
                + ", ".join(f"{1e-3 * found[d, iterations, buffers]:,.1f}" for buffers in BUFFERS)
                for d in _FIXED_POOLS
            ),
        ]
        for iterations in _FIXED
    ]
    note = (
        f"Every decode takes the same time. Bounded: {_OF_CHIP} operations at most wait for a chip, {_OF_DECODERS} "
        "codewords for a decoder, and what finds no room blocks the host, as in the paper's figure 2. KIOPS:\n\n"
        + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), {"bound_of_fixed_times": Evidence(met[far], why)}, (note,))


# The paper -----------------------------------------------------------------------------------------------------------

_WITHIN = 0.02
_DOUBLE = 2.0

PAPER = Paper(
    name="adaptive-rate-pool",
    title="A pool of adaptive-rate decoders, reproduced",
    published="S. Korkotsides, T. Antonakopoulos, The Effect of Using Multiple Code Rates on NVM-based Storage "
    "Systems, 2017",
    config=_CONFIG,
    intro="The plotted values of the paper's figures are not in its text, so claims are those of its prose and of "
    "table II. The device has table I's 8 SSDs of 8 channels of 4 chips, and pages of two codewords of 8 KiB; 40 us of "
    "sensing, 40 us of transfer for a codeword, 4 us an iteration. It has 16 blocks a chip, not 16,384: reads do not "
    "depend on how many there are. An I/O is the read of one codeword of 8 KiB, parity and all, as in the paper; data "
    "in it is what the rate leaves. Codes are the shipped ones, of the paper's lengths and rates, with at most 10 "
    "iterations; how many a decode takes is drawn from their measured decode tables. Codewords without errors need no "
    "decoder. An age is a device all of whose blocks have that many P/E cycles, read with the rate that an adaptive "
    "device uses then. What the paper leaves open is said at each figure.",
    plan=_plan,
    figures=(
        Figure(
            "3",
            "Figure 3: iterations over life",
            _measure_fig03,
            lines(
                "Figure 3: decoding iterations",
                _PE,
                "mean iterations",
                {**_LINES_BY_RATE, ADAPTIVE: Line(_DARK, ":", "", 2.4)},
                "codewords of 65,536 bits, min-sum; dotted: the adaptive device's path",
            ),
        ),
        Figure("4", "Figure 4: how iterations are distributed", _measure_fig04, _draw_fig04),
        Figure(
            "5",
            "Figure 5: I/O rate of each code",
            _measure_fig05,
            lines(
                "Figure 5: I/O rate by code",
                _PE,
                ("1,000 codewords a second", "GB of user data a second"),
                _LINES_BY_RATE,
                f"saturated, a {POOL.label}",
            ),
            _cases_fig05,
        ),
        Figure("table2", "Table II: endurance and lifetime", _measure_table2, _draw_table2),
        Figure(
            "6",
            "Figure 6: latency by number and place of decoders",
            _measure_fig06,
            lines(
                "Figure 6: latency",
                _PE,
                "us",
                _LINES_BY_PLACE,
                "load: share of what a pool of 8 can do at the worst age",
            ),
            _cases_fig06,
        ),
        Figure(
            "7",
            "Figure 7: data rate by number and place of decoders",
            _measure_fig07,
            lines("Figure 7: data rate, data read uniformly", _PE, "KIOPS", _LINES_BY_PLACE),
            _cases_fig07,
        ),
        Figure(
            "8",
            "Figure 8: hot data on two of eight SSDs",
            _measure_fig08,
            lines(
                "Figure 8: data rate with hot data on two of eight SSDs",
                _PE,
                "KIOPS",
                {POOL.label: Line(_SERIES[0]), PER_SSD.label: Line(_SERIES[1])},
                "saturated",
            ),
            _cases_fig08,
        ),
        Figure(
            "9",
            "Figure 9: latency by the time of an iteration",
            _measure_fig09,
            lines("Figure 9: latency with a pool of 8", _PE, "us", _LINES_BY_T, "T = 40 us / time of an iteration"),
            partial(_cases_by_t, _fig09),
        ),
        Figure(
            "10",
            "Figure 10: data rate by the time of an iteration",
            _measure_fig10,
            lines(
                "Figure 10: data rate with a pool of 8", _PE, "KIOPS", _LINES_BY_T, "T = 40 us / time of an iteration"
            ),
            partial(_cases_by_t, _fig10),
        ),
        Figure(
            "queueing",
            "Queueing: saturation over its bound",
            _measure_queueing,
            lines(
                "Queueing: saturation over min(64 / 40 us, N / (4 us E))",
                "iterations E, the same for each codeword",
                "measured over bound",
                _POOL_LINES,
                low=1 - _WITHIN,
            ),
            lambda plan: [case for key in _every_queue() for case in _queueing(plan, *key)],
        ),
    ),
    claims=(
        Claim(
            "iterations_grow",
            "3",
            "iterations grow with age for each rate (the least growth over a rate's life)",
            rule="order",
        ),
        Claim(
            "switch_lowers_iterations",
            "3",
            "switching to the next rate lowers iterations (after over before, mean of switches)",
            rule="order",
        ),
        Claim(
            "rate_falls_with_age",
            "5",
            "the performance of each code falls with age (end of its life over the youngest age, the most)",
            rule="order",
        ),
        Claim(
            "switch_raises_rate",
            "5",
            "switching to a stronger code keeps performance high (codewords a second, after over before)",
            rule="order",
        ),
        *(
            Claim(
                f"endurance_{rate.replace('/', '_')}",
                "table2",
                f"rate {rate} lasts {_ENDURANCE[rate]} kPE (rate {FITTED} is fitted)",
                float(_ENDURANCE[rate]),
                unit="",
            )
            for rate in RATES
            if rate != FITTED
        ),
        Claim(
            "almost_doubles",
            "table2",
            "adaptive rates almost double lifetime capacity (over the best single rate)",
            _DOUBLE,
            no_effect=1.0,
        ),
        Claim(
            "sum_of_printed",
            "table2",
            "the same, by the printed endurances and rates",
            _printed_gain(),
            no_effect=1.0,
        ),
        Claim(
            "printed_years",
            "table2",
            "the same, by the printed years",
            _YEARS[ADAPTIVE] / max(_YEARS[rate] for rate in RATES),
            no_effect=1.0,
        ),
        Claim(
            "best_fixed",
            "table2",
            f"rate {FITTED} is the best single rate (the best over the second best)",
            rule="order",
        ),
        Claim(
            "latency_independent_of_count",
            "6",
            "the number of decoders does not affect latency (within 2 %)",
            1.0,
            tolerance=_WITHIN,
        ),
        Claim(
            "latency_independent_of_position",
            "6",
            "nor does their place (within 2 %)",
            1.0,
            tolerance=_WITHIN,
        ),
        Claim("latency_grows_with_age", "6", "latency grows with age (oldest over youngest)", rule="order"),
        Claim(
            "rate_depends_on_count",
            "7",
            "the data rate depends on the number of decoders (64 over 8, oldest age)",
            rule="order",
        ),
        Claim(
            "position_does_not_matter",
            "7",
            "decoders in SSDs or channels are as good as a pool of as many (within 2 %)",
            1.0,
            tolerance=_WITHIN,
        ),
        Claim(
            "bound",
            "7",
            "saturation is at min(64 / 40 us, N / (4 us E)) (within 2 %; not in the paper)",
            1.0,
            tolerance=_WITHIN,
        ),
        Claim(
            "pool_beats_dedicated",
            "8",
            "with hot data on two SSDs a pool is faster than a decoder in each (80 % of reads, oldest age)",
            rule="order",
        ),
        Claim(
            "latency_falls_with_t",
            "9",
            "the faster an iteration, the lower latency (T = 40 over T = 2, oldest age)",
            rule="order",
        ),
        Claim(
            "rate_grows_with_t",
            "10",
            "the faster an iteration, the higher the data rate (T = 40 over T = 2, oldest age)",
            rule="order",
        ),
        Claim(
            "bound_of_fixed_times",
            "queueing",
            "with fixed decode times saturation is at that bound (within 2 %; not in the paper)",
            1.0,
            tolerance=_WITHIN,
        ),
    ),
)
