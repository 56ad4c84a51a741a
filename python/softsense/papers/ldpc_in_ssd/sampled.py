"""Codewords of the device at the start: raw bit error rates, failures, and predictions of the equations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import decode_tables
from softsense._core import Config
from softsense.papers import (
    Plan,
    Runs,
    Workload,
)
from softsense.papers.comparing import (
    summaries,
)
from softsense.papers.ldpc_in_ssd.arms import LOOK_AHEAD
from softsense.papers.ldpc_in_ssd.published import at_stated_age

if TYPE_CHECKING:
    from numpy.typing import NDArray

SAMPLED = 65_536


@cache
def decode_table() -> dict[str, Any]:
    """The decode table of the device's code."""
    return decode_tables.describe("flash-8-9")


def threshold(level: int, failure: float) -> dict[str, Any]:
    """The raw bit error rate at which a level has this failure probability; empty where no measured curve crosses
    it.
    """
    rows = {(row["level"], row["failure"]): row for row in decode_table()["thresholds"]}
    found: dict[str, Any] = rows.get((level, failure), {})
    return found


def codeword_sample(config: Config) -> dict[str, NDArray[Any]]:
    """Codewords of the preconditioned device, with `p_fail` of each at all levels."""
    sample = config.sample_codewords(SAMPLED)
    return {**sample, "p_fail": config.p_fail(sample["rber"]).T}


def hard_failure(*overrides: str) -> float:
    """The mean probability that hard decision fails, for codewords as they are at the start."""
    return float(codeword_sample(at_stated_age(overrides))["p_fail"][:, 0].mean())


class Lone:
    """Predictions of the equations for lone reads of the preconditioned device, from the failure probabilities of a
    sample.

    Means are over codewords, each with its page type's times and its own probabilities: slow pages fail more often.
    """

    def __init__(self, config: Config) -> None:
        document = config.fields
        sample = codeword_sample(config)
        pages = document["flash"]["page_types"]
        kinds = sample["page_type"]
        self._sense = np.array([page["sense_us"] for page in pages])[kinds]
        self._extra = np.array([page["sense_extra_level_us"] for page in pages])[kinds]
        self._transfer = document["bus"]["transfer_us"]
        self._transfer_extra = document["bus"]["transfer_extra_level_us"]
        self._decode = document["decoder"]["time"]["fixed_us"]
        self._levels = document["read"]["max_level"]
        self.p_fail = sample["p_fail"][:, : self._levels]

    def hard(self) -> float:
        """Mean time of a read without any failure, us."""
        return float((self._sense + self._transfer + self._decode).mean())

    def _soft(self) -> Any:
        """Sensing of all levels, us, and transfer of all levels, us."""
        more = self._levels - 1
        return self._sense + more * self._extra, self._transfer + more * self._transfer_extra

    def two_step(self) -> float:
        """Mean time of a two-step read by eq. 1, us."""
        sense, transfer = self._soft()
        retry = self.p_fail[:, 0] * (sense + transfer + self._decode)
        return float((self._sense + self._transfer + self._decode + retry).mean())

    def look_ahead(self) -> float:
        """Mean time of a look-ahead read by eq. 2, us; sensing all levels hides transfer and decode, unless those take
        longer.
        """
        sense, transfer = self._soft()
        first = self._transfer + self._decode
        p = self.p_fail[:, 0]
        failed = np.maximum(sense, first) + transfer + self._decode
        return float((self._sense + (1 - p) * first + p * failed).mean())

    def progressive(self) -> float:
        """Mean time of a progressive read by eq. 3, us, with the probabilities that attempts take place."""
        more = self.p_fail[:, : self._levels - 1].sum(axis=1)
        step = self._extra + self._transfer_extra + self._decode
        return float((self._sense + self._transfer + self._decode + more * step).mean())

    def attempts(self) -> float:
        """Mean further attempts of a read. A codeword that fails at a level has failed at all lower levels."""
        return float(self.p_fail[:, : self._levels - 1].sum(axis=1).mean())

    def eq_4(self) -> float:
        """P_ave of eq. 4 as printed, from the mean probabilities."""
        means = self.p_fail.mean(axis=0)
        products = np.cumprod(means[1 : self._levels - 1])
        return float(means[0] * (1 + products.sum()))

    def eq_3_with_4(self) -> float:
        """Mean time of a progressive read by eq. 3 with eq. 4 as printed, us."""
        step = float((self._extra + self._transfer_extra + self._decode).mean())
        return self.hard() + self.eq_4() * step


def codewords_read(summaries: Sequence[dict[str, Any]]) -> float:
    """Codewords read from flash for each read of the host."""
    return fmean(s["codeword_reads"]["count"] / max(1, s["reads"]) for s in summaries)


def share_ahead(plan: Plan, runs: Runs, workload: Workload) -> float:
    """Sensings ahead for each sensing that was not ahead, with look-ahead."""
    counts = [summary["operations"] for summary in summaries(plan, runs, workload, LOOK_AHEAD)]
    return fmean(c["look_ahead_senses"] / max(1, c["senses"] - c["look_ahead_senses"]) for c in counts)
