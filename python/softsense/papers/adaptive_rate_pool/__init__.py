"""A pool of adaptive-rate decoders (S. Korkotsides, T. Antonakopoulos, 2017): figures, table II and claims, measured.

The device is that of the paper's table I and figure 2, with fewer blocks. Flash wears by a power law, fitted to one of
the six printed endurances. Codes, their failures and iterations are the shipped, measured ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softsense.formats import as_plain_share
from softsense.papers import Case, Paper, Plan
from softsense.papers.adaptive_rate_pool import (
    accelerators,
    equal_area,
    hot_data,
    inner_code,
    io_rate,
    iterations,
    life,
    mixed_ages,
    pool_hardware,
    queueing,
    scenario_1,
    scenario_2,
    table2,
)
from softsense.papers.adaptive_rate_pool.decoders import PER_SSD, POOL
from softsense.papers.adaptive_rate_pool.loads import HOT_SHARES, array_of_any, planned
from softsense.papers.adaptive_rate_pool.machine import CONFIG
from softsense.papers.adaptive_rate_pool.published import GEOMETRY, INPUTS
from softsense.papers.elsewhere import Headline
from softsense.read_policies import Technique

_PARTS = (
    *(iterations, io_rate, table2, scenario_1, hot_data, scenario_2),
    *(accelerators, inner_code, pool_hardware, mixed_ages, life, equal_area, queueing),
)


def _headline(claims: Mapping[str, Mapping[str, Any]]) -> str:
    doubled = claims["almost_doubles"]
    gain, mean = doubled["measured"], doubled["under"]["over the mean of single rates"]["measured"]
    hot, ages = claims["pool_beats_dedicated"]["measured"], claims["mixed_ages_rate"]["measured"]
    return (
        f"Adaptive rates write {gain:.2f} times what the best single rate does and {mean:.2f} times the mean of single "
        f"rates; a pool reads {hot:.1f} times as much as decoders in the SSDs where two of eight are hot, and "
        f"{ages:.1f} times where SSDs differ in age, and costs a few microseconds of links."
    )


_OF_EACH = 16
"""Decoders of each drive of an array of drives of today: those of `tlc-client`."""


def _own(plan: Plan) -> list[Case]:
    return [hot_data.hottest(plan, decoders).cases[0] for decoders in (PER_SSD, POOL)]


_ELSEWHERE = Headline(
    "where two of eight drives are hot, a pool of decoders reads faster than as many in the drives",
    (
        Technique("in each drive", "progressive", (f"decoder.placement={{ per_ssd = {_OF_EACH} }}",)),
        Technique("pool", "progressive", (f"decoder.placement={{ pool = {_OF_EACH * GEOMETRY['ssds']} }}",)),
    ),
    _own,
    f"the paper's array, {as_plain_share(HOT_SHARES[-1])} of reads hot",
    CONFIG,
    load=array_of_any(HOT_SHARES[-1]),
    note=f"Each is an array of {GEOMETRY['ssds']} such drives with {_OF_EACH} decoders for each drive, saturated: the "
    "mean response is the inverse of the rate. Links take no time.",
)

PAPER = Paper(
    name="adaptive-rate-pool",
    title="A pool of adaptive-rate decoders, reproduced",
    published="S. Korkotsides, T. Antonakopoulos, The Effect of Using Multiple Code Rates on NVM-based Storage "
    "Systems, 2017",
    config=CONFIG,
    intro="The plotted values of the paper's figures are not in its text, so claims are those of its prose and of "
    "table II. The device has table I's 8 SSDs of 8 channels of 4 chips, and pages of two codewords of 8 KiB; 40 us of "
    "sensing, 40 us of transfer for a codeword, 4 us an iteration. It has 16 blocks a chip, not 16,384: reads do not "
    "depend on how many there are. An I/O is the read of one codeword of 8 KiB, parity and all, as in the paper; data "
    "in it is what the rate leaves. Codes are the shipped ones, of the paper's lengths and rates, with at most 10 "
    "iterations; how many a decode takes is drawn from their measured decode tables. Codewords without errors need no "
    "decoder. An age is a device all of whose blocks have that many P/E cycles, read with the rate that an adaptive "
    "device uses then. What the paper leaves open is said at each figure.",
    plan=planned,
    figures=(*(figure for part in _PARTS for figure in part.FIGURES), _ELSEWHERE.figure),
    inputs=INPUTS,
    headline=_headline,
    claims=tuple(claim for part in _PARTS for claim in part.CLAIMS),
)
