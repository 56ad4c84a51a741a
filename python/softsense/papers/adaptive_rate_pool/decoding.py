"""Iterations of decodes with a rate at an age, as the measured tables have them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from softsense import decode_tables
from softsense.papers.adaptive_rate_pool.published import CODEWORD, PUBLISHED, RATES, table_of
from softsense.papers.adaptive_rate_pool.wear import PE_EXPONENT, adapted, ages_within, fit


@dataclass(frozen=True)
class Decoding:
    """Decodes with a rate at an age, as its table has them.

    Attributes:
        rate: rate of the code.
        pe_cycles: the age.
        rber: raw bit error rate at that age.
        shares: shares of decodes that take 1, 2, ... iterations; a word without errors counts as one.
    """

    rate: str
    pe_cycles: int
    rber: float
    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean number of iterations."""
        return float(np.dot(np.arange(1, len(self.shares) + 1), self.shares))

    @property
    def spread(self) -> float:
        """Standard deviation of the number of iterations."""
        return math.sqrt(np.dot((np.arange(1, len(self.shares) + 1) - self.mean) ** 2, self.shares))

    @property
    def error_free(self) -> float:
        """The share of codewords without errors, which need no decoder."""
        return float((1 - self.rber) ** (8 * CODEWORD))

    @property
    def load(self) -> float:
        """Mean iterations of a decoder for each codeword that is read, bypassed codewords included."""
        return self.mean - self.error_free


@cache
def decoding(rate: str, pe_cycles: int) -> Decoding:
    """Decoding with a rate at an age; iterations are a mixture of those at the two neighbouring points of the table."""
    table = decode_tables.describe(table_of(rate))
    rber = fit() * (pe_cycles / 1000) ** PE_EXPONENT
    measured = np.zeros((len(table["rber"]), PUBLISHED["code"]["max_iterations"]))
    for row, shares in zip(measured, table["level"][0]["iterations"], strict=True):
        row[: len(shares)] = shares
    mixed = [float(np.interp(rber, table["rber"], column)) for column in measured.T]
    return Decoding(rate, pe_cycles, rber, tuple(mixed))


def at(pe_cycles: int) -> Decoding:
    """Decoding with the adaptive device's rate at an age."""
    return decoding(adapted(pe_cycles), pe_cycles)


def at_all(full: bool) -> list[Decoding]:
    """Decoding with each rate at each age within its life."""
    return [decoding(rate, age) for rate in RATES for age in ages_within(rate, full)]


@cache
def iterations_at(rate: str, rber: float) -> float:
    """The mean number of iterations of a rate's code at a raw bit error rate."""
    table = decode_tables.describe(table_of(rate))
    means = [np.dot(np.arange(1, len(shares) + 1), shares) for shares in table["level"][0]["iterations"]]
    return float(np.interp(rber, table["rber"], means))
