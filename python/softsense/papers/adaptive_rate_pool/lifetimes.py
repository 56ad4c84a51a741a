"""The lifetime of each scheme and the data that it writes: measured, published, and under assumptions that the paper
leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from softsense.codes import rber_at_capacity
from softsense.lifetime import write_amplification
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE, ENDURANCE, RATES, YEARS, nominal, printed_lifetime
from softsense.papers.adaptive_rate_pool.wear import FITTED, OTHER_EXPONENTS, PE_EXPONENT, limit, lives, worn

FIXED_CAPACITY = 0.2
"""A user capacity that stays for life, as a share of the flash; every rate can offer it."""
CAPACITY_TB = 8
"""Capacity in the text, TB; table I has 32, and its chips make 16."""
YEAR_S = 365.25 * 86_400


@dataclass(frozen=True)
class Scheme:
    """Endurances in 1,000 P/E cycles and data for each bit of flash, by rate."""

    endurance: Mapping[str, float]
    share: Mapping[str, float]

    def written(self, scheme: str) -> float:
        """Thousands of bytes written for each byte of flash, with one rate or with all one after the other."""
        if scheme != ADAPTIVE:
            return self.endurance[scheme] * self.share[scheme]
        # Each rate begins where a weaker one ends; some may have no range left.
        edge, total = 0.0, 0.0
        for rate in RATES:
            total += max(self.endurance[rate] - edge, 0.0) * self.share[rate]
            edge = max(edge, self.endurance[rate])
        return total

    @property
    def best(self) -> str:
        """The rate that writes most by itself."""
        found: str = max(RATES, key=self.written)
        return found

    @property
    def over_best(self) -> float:
        """The data that adaptive rates write over that of the best single rate."""
        return self.written(ADAPTIVE) / self.written(self.best)

    @property
    def over_mean(self) -> float:
        """The data that adaptive rates write over the mean of single rates."""
        return self.written(ADAPTIVE) / (sum(map(self.written, RATES)) / len(RATES))


def measured() -> Scheme:
    """The scheme of the shipped codes, in whole P/E cycles of a device."""
    found = lives()
    return Scheme(
        {rate: found[rate].endurance_pe / 1000 for rate in RATES}, {rate: found[rate].user_share for rate in RATES}
    )


def printed() -> Scheme:
    """The scheme of table II."""
    return Scheme({rate: float(ENDURANCE[rate]) for rate in RATES}, {rate: nominal(rate) for rate in RATES})


def worn_by(exponent: float, fitted: str = FITTED, limits: Mapping[str, float] | None = None) -> dict[str, float]:
    """Endurances where raw bit error rates grow with a power of P/E cycles, and one rate has its printed endurance.

    Args:
        exponent: exponent of the power law.
        fitted: the rate that has its printed endurance.
        limits: raw bit error rates up to which each rate meets the demand; by default those of the shipped codes.
    """
    limits = limits or {rate: limit(rate) for rate in RATES}
    return {rate: ENDURANCE[fitted] * (limits[rate] / limits[fitted]) ** (1 / exponent) for rate in RATES}


@cache
def nominal_limits() -> dict[str, float]:
    """Limits of raw bit error rates of codes of the printed rates, all as efficient as that of 1/2.

    A code's efficiency is its limit over the raw bit error rate at which the capacity of hard decisions is its rate.
    Shipped codes hold whole blocks of 512 bytes, so that some of their rates are lower than they are called, and differ
    in efficiency.
    """
    efficiency = limit(FITTED) / rber_at_capacity(nominal(FITTED))
    return {rate: efficiency * rber_at_capacity(nominal(rate)) for rate in RATES}


def assumed() -> dict[str, Scheme]:
    """The schemes under each assumption about what the paper leaves open."""
    share = measured().share
    found = {name: Scheme(worn_by(exponent), share) for name, exponent in OTHER_EXPONENTS.items()}
    nominal_shares = {rate: nominal(rate) for rate in RATES}
    of_nominal = worn_by(PE_EXPONENT, limits=nominal_limits())
    found["codes of the printed rates, all as efficient"] = Scheme(of_nominal, nominal_shares)
    return found


def years(scheme: Scheme) -> dict[str, float]:
    """Lifetimes at a constant rate of writing, with which rate 1/2 has its printed lifetime, years."""
    each = YEARS[FITTED] / scheme.written(FITTED)
    return {name: each * scheme.written(name) for name in (*RATES, ADAPTIVE)}


def raw_rates(scheme: Scheme, lifetimes: Mapping[str, float]) -> dict[str, float]:
    """GB/s that are written to the flash over each lifetime: endurance times 8 TB over years."""
    last = {ADAPTIVE: max(scheme.endurance.values()), **scheme.endurance}
    return {name: 1e3 * last[name] * CAPACITY_TB * 1e3 / (lifetimes[name] * YEAR_S) for name in (*RATES, ADAPTIVE)}


def user_rate(scheme: str) -> float:
    """GB/s of user data over the printed years, by the printed endurances and rates."""
    found: float = 1e3 * printed_lifetime(scheme) * CAPACITY_TB * 1e3 / (YEARS[scheme] * YEAR_S)
    return found


@cache
def amplification(rate: str) -> float:
    """Write amplification of a rate where the user has the same capacity whatever the rate."""
    return write_amplification(worn(), FIXED_CAPACITY / lives()[rate].user_share)


def with_fixed_capacity() -> Scheme:
    """The measured scheme where the user's capacity stays for life."""
    found = measured()
    return Scheme(found.endurance, {rate: found.share[rate] / amplification(rate) for rate in RATES})
