"""The wear of flash, the life of each code in it, and the code that an adaptive device uses at an age."""

from __future__ import annotations

from functools import cache

import numpy as np

from softsense import decode_tables
from softsense._core import Code, Config, DecodeTable
from softsense.lifetime import CodeLife, Demand, Lifetime, lifetime
from softsense.papers import inline
from softsense.papers.adaptive_rate_pool.machine import CONFIG, DEVICE
from softsense.papers.adaptive_rate_pool.published import CODEWORD, ENDURANCE, PUBLISHED, RATES, table_of

PE_EXPONENT = 1.57
"""Exponent of raw bit error rates by P/E cycles, that of the repository's MLC (docs/model/reliability.md). The paper
has none.
"""

OTHER_EXPONENTS = {"exponent 2.05 (72-layer TLC)": 2.05, "exponent 2.47 (LAE-FTL's chip)": 2.47}
"""Other exponents that were fitted to flash: the published one of 72-layer TLC (docs/model/reliability.md), and that of
the four raw bit error rates of LAE-FTL (docs/lae-ftl.md).
"""

UNIT = 512
"""Block of data that a dataword is made of, bytes."""

FITTED = "1/2"
"""The rate whose printed endurance fixes the scale of the wear."""

DEMAND = Demand(uber=PUBLISHED["code"]["target_uber"])
# A device of this flash with equal blocks, just large enough to collect garbage.
LIFETIME_DEVICE = (
    *DEVICE,
    "geometry.ssds=1",
    "geometry.channels=1",
    "geometry.chips_per_channel=1",
    "geometry.blocks_per_plane=256",
    "ftl.over_provisioning=0.2",
)
UTILISATIONS = (0.7, 0.8, 0.9)
"""Shares of the data capacity that the user has, at which write amplification is measured."""


def reliability(file: str, scale: float, exponent: float) -> str:
    """The override for the decode table and the power law of all blocks."""
    law = {"scale": scale, "pe_exponent": exponent}
    return f"reliability={inline({'table': {'file': file, 'rber': {'power_law': law}}})}"


@cache
def code(rate: str) -> Code:
    """The shipped code of a rate."""
    return Code.open(decode_tables.describe(table_of(rate))["code"].split(":")[0])


@cache
def limit(rate: str) -> float:
    """The raw bit error rate up to which a rate meets the demand, by bisection in its table."""
    grid = decode_tables.describe(table_of(rate))["rber"]
    low, high = grid[0], grid[-1]
    table = DecodeTable(table_of(rate))
    while high - low > 1e-12:
        middle = (low + high) / 2
        failing = float(table.p_fail(np.array([middle]), 1)[0, 0])
        low, high = (middle, high) if failing / code(rate).data_bits <= DEMAND.uber else (low, middle)
    found: float = low
    return found


def fit(rate: str = FITTED, exponent: float = PE_EXPONENT) -> float:
    """The scale of RBER = scale (PE / 1000)^exponent with which a rate has its printed endurance."""
    found: float = limit(rate) / ENDURANCE[rate] ** exponent
    return found


def predicted(rate: str, scale: float, exponent: float = PE_EXPONENT) -> float:
    """The endurance of a rate in 1,000 P/E cycles."""
    found: float = (limit(rate) / scale) ** (1 / exponent)
    return found


@cache
def worn() -> Config:
    """The config of flash with the fitted wear."""
    law = reliability(table_of(FITTED), fit(), PE_EXPONENT)
    return Config.open(CONFIG).with_overrides([*LIFETIME_DEVICE, law])


@cache
def life() -> Lifetime:
    """Endurances and stages of the six rates, and write amplification."""
    return lifetime(worn(), [table_of(rate) for rate in RATES], utilisations=UTILISATIONS, demand=DEMAND)


@cache
def lives() -> dict[str, CodeLife]:
    """Lives of the six codes, by rate."""
    found = {each.table: each for each in life().codes}
    return {rate: found[table_of(rate)] for rate in RATES}


def units(rate: str) -> int:
    """Units of data in a codeword."""
    found: int = round(lives()[rate].user_share * CODEWORD / UNIT)
    return found


def adapted(pe_cycles: int) -> str:
    """The rate that an adaptive device uses at an age."""
    table = next(stage.life.table for stage in life().stages if pe_cycles <= stage.to_pe)
    found: str = next(rate for rate in RATES if table_of(rate) == table)
    return found


AGES = (100, 2_000, 8_000, 12_000, 18_000, 24_000, 33_000, 38_000)
_MORE_AGES = (500, 1_000, 4_000, 6_000, 10_000, 14_000, 16_000, 21_000, 27_000, 30_000, 36_000)


def ages(full: bool) -> list[int]:
    """Simulated ages in P/E cycles, within the life of the adaptive device."""
    end = life().stages[-1].to_pe
    return sorted(age for age in (*AGES, *(_MORE_AGES if full else ())) if age <= end)


def ages_within(rate: str, full: bool) -> list[int]:
    """Simulated ages within the life of a rate, and the end of that life."""
    end = lives()[rate].endurance_pe
    return sorted({end, *(age for age in ages(full) if age <= end)})
