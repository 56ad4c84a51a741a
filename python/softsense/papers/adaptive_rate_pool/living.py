"""Devices that live through all their code rates in a run: an erase stands for many P/E cycles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from softsense._core import Config
from softsense.api import parallelism_of
from softsense.formats import as_plain_share
from softsense.papers import Case, Plan, Workload, inline, synthetic
from softsense.papers.adaptive_rate_pool.decoding import iterations_at
from softsense.papers.adaptive_rate_pool.loads import POLICY
from softsense.papers.adaptive_rate_pool.machine import CONFIG
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE, CODEWORD, RATES, table_of
from softsense.papers.adaptive_rate_pool.settings import ENCODE_US, interconnect
from softsense.papers.adaptive_rate_pool.wear import PE_EXPONENT, UNIT, fit, limit, lives, units

SSDS, CHANNELS_PER_SSD, BLOCKS, PAGES = 2, 4, 32, 16
PLANES = SSDS * CHANNELS_PER_SSD
DECODERS = 2
ITERATION_US = 20.0
"""Iterations at T = 2, the slowest decoders of scenario 2."""
CAPACITY = 0.15
"""Capacity of the user for life, as a share of the flash."""
REQUEST_BYTES = 4096
READ_SHARE = 0.5
REQUESTS_PER_S = 4000.0
BLOCK_SIGMA = 0.1
"""Standard deviation of the logarithm of the factors of blocks on the raw bit error rate."""
USED = 0.9
"""Length of a run, as a share of what the life could write without write amplification."""
MARGIN = 0.75
"""Share of the raw bit error rate that a code is made for, at which a block leaves the code's rate.

By P/E cycles, blocks differ: the worst of a hundred errs 1.26 times as much as the middle one. By observations, a block
is judged once an erase, and errs more at the next one.
"""
# Share of the limit for a stronger code below which a block goes back.
_BACK = 0.5


def cycles_per_erase(plan: Plan) -> int:
    """Number of P/E cycles that an erase stands for."""
    return 500 if plan.full else 1000


@dataclass(frozen=True)
class Living:
    """A device that lives through its code rates in a run.

    Attributes:
        scheme: `adaptive`, or one rate.
        switch: quantity by which a block changes its rate: `pe_cycles`, `mean_iterations` or `corrected_errors`.
        placement: placement of decoders and encoders.
        host_first: whether decoders and encoders serve the host's requests first.
        link_gb_per_s: bandwidth of the links to a pool; None if they take no time.
        lanes: checks that a decoder of all six codes handles in a cycle. The decoders of this device have the area of
            that decoder, whatever they decode. For None an iteration takes `ITERATION_US`, and areas are not compared.
    """

    scheme: str = ADAPTIVE
    switch: str = "pe_cycles"
    placement: str = "pool"
    host_first: bool = False
    link_gb_per_s: float | None = None
    lanes: int | None = None

    @property
    def label(self) -> str:
        """Name of the life, for people."""
        if self.scheme != ADAPTIVE:
            return f"rate {self.scheme} alone"
        parts = [
            {"pe_cycles": "by P/E", "mean_iterations": "by iterations", "corrected_errors": "by errors"}[self.switch]
        ]
        parts.append(f"pool of {DECODERS}" if self.placement == "pool" else "1 in each SSD")
        parts += ["host first"] * self.host_first
        if self.link_gb_per_s:
            parts.append(f"links of {self.link_gb_per_s:g} GB/s")
        return ", ".join(parts)

    @property
    def rates(self) -> tuple[str, ...]:
        """The rates that the device goes through."""
        return RATES if self.scheme == ADAPTIVE else (self.scheme,)

    def to_erases(self, rate: str, plan: Plan) -> int:
        """The number of erases up to which a block uses a rate."""
        found: int = round(lives()[rate].endurance_pe * MARGIN ** (1 / PE_EXPONENT) / cycles_per_erase(plan))
        return found

    def could_write(self, plan: Plan) -> float:
        """Bytes for each byte of flash over a life, without write amplification."""
        edge, total = 0, 0.0
        for rate in self.rates:
            total += (self.to_erases(rate, plan) - edge) * units(rate) * UNIT / CODEWORD
            edge = self.to_erases(rate, plan)
        return total

    def case(self, plan: Plan, seed: int) -> Case:
        """The run of the life with a seed."""
        flash = PLANES * BLOCKS * PAGES * 2 * CODEWORD
        writes = USED * self.could_write(plan) * flash / REQUEST_BYTES
        requests = round(writes / (1 - READ_SHARE))
        return Case(_load(requests), POLICY, self._overrides(plan), seed)

    def _overrides(self, plan: Plan) -> tuple[str, ...]:
        most = units(self.rates[0])
        adaptive: dict[str, Any] = {
            "codewords_per_page": 2,
            "most_beyond": 1.0,
            "rates": [
                {"file": table_of(rate), "units": units(rate), "to_pe_cycles": self.to_erases(rate, plan)}
                for rate in self.rates
            ],
            "rber": {"grid": _wear(cycles_per_erase(plan))},
            "variation": {"block_sigma": BLOCK_SIGMA},
        }
        if self.switch != "pe_cycles":
            adaptive["switch"] = {"observed": _observed(self.switch)}
        geometry = {
            "ssds": SSDS,
            "channels": CHANNELS_PER_SSD,
            "chips_per_channel": 1,
            "dies_per_chip": 1,
            "planes_per_die": 1,
            "blocks_per_plane": BLOCKS,
            "pages_per_block": PAGES,
            "codewords_per_page": 2 * most,
            "codeword_bytes": UNIT,
        }
        place = {self.placement: DECODERS if self.placement == "pool" else DECODERS // SSDS}
        encoder = {"placement": place, "time_us": ENCODE_US, "host_first": self.host_first}
        links = [interconnect(self.link_gb_per_s)] if self.link_gb_per_s else []
        time = {"per_iteration_us": ITERATION_US} if self.lanes is None else {"ldpc": {"checks_per_cycle": self.lanes}}
        decoder = {"placement": place, "time": time, "host_first": self.host_first}
        overrides = (
            f"geometry={inline(geometry)}",
            f"reliability={inline({'adaptive': adaptive})}",
            f"decoder={inline(decoder)}",
            f"encoder={inline(encoder)}",
            *links,
            f"ftl.over_provisioning={1 - CAPACITY * CODEWORD / UNIT / most}",
            "ftl.wear_levelling_spread=2",
            f"host.write_buffer_bytes={64 * 2 * most * UNIT}",
            "host.spread=round_robin",
            "precondition.pe_cycles=0",
        )
        if self.lanes is None or self.scheme == ADAPTIVE:
            return overrides
        return (*overrides, *parallelism_of(_config(plan, overrides), Living(lanes=self.lanes).config(plan)))

    def config(self, plan: Plan) -> Config:
        """The config of the device."""
        return _config(plan, self._overrides(plan))


def _config(plan: Plan, overrides: tuple[str, ...]) -> Config:
    return Config.open(CONFIG).with_overrides([*plan.overrides, *overrides])


def _load(requests: int) -> Workload:
    what = f"requests of {REQUEST_BYTES:,} bytes at random places, {as_plain_share(READ_SHARE)} reads, Poisson"
    fields = synthetic(
        requests=requests,
        read_fraction=READ_SHARE,
        sizes=[{"bytes": REQUEST_BYTES, "share": 1.0}],
        align_bytes=UNIT,
        addresses="uniform",
        arrivals={"poisson": {"requests_per_s": REQUESTS_PER_S}},
    )
    return Workload("life", what, overrides=(*fields, f"host.issue={inline({'open_loop': {'time_scale': 1.0}})}"))


@cache
def _wear(each: int) -> dict[str, Any]:
    """The power law by erases that stand for `each` P/E cycles, a little beyond the last rate."""
    erases = range(50_000 // each + 1)
    rber = [[min(fit() * (each * count / 1000) ** PE_EXPONENT, 0.5)] for count in erases]
    return {"pe_cycles": list(erases), "retention_days": [0.0], "rber": rber}


@cache
def _observed(by: str) -> dict[str, Any]:
    """Limits of the observations: the value that each code shows at a fraction of its largest raw bit error rate."""
    limits = {rate: MARGIN * limit(rate) for rate in RATES}
    # A block goes back below a part of the limit that sent it here, by the values that the stronger code shows then.
    back = {after: _BACK * limits[before] for before, after in pairwise(RATES)}
    if by == "mean_iterations":
        stronger = [iterations_at(rate, limits[rate]) for rate in RATES[:-1]]
        weaker = [min(iterations_at(rate, back[rate]), 0.95 * s) for rate, s in zip(RATES[1:], stronger, strict=True)]
        return {"by": by, "stronger_above": _rounded(stronger), "weaker_below": _rounded(weaker)}
    bits = 8 * CODEWORD
    return {
        "by": {by: {"codeword_bits": bits}},
        "stronger_above": _rounded([bits * limits[rate] for rate in RATES[:-1]]),
        "weaker_below": _rounded([bits * back[rate] for rate in RATES[1:]]),
    }


def _rounded(values: list[float]) -> list[float]:
    return [float(np.round(value, 3)) for value in values]
