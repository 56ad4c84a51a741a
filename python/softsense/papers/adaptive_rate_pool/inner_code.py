"""The inner BCH code, which keeps codewords with few errors from the LDPC decoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl

from softsense._core import Code
from softsense.codes import hardware
from softsense.formats import as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import (
    BYPASS,
    POOL,
    by_seed,
    device_of,
    farthest,
    kpe,
    latency,
    loaded,
    most_of_smallest,
    scaled,
)
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.loads import LIGHT
from softsense.papers.adaptive_rate_pool.looks import PE_AXIS, SERIES
from softsense.papers.adaptive_rate_pool.pool_hardware import iteration_nj
from softsense.papers.adaptive_rate_pool.published import CODEWORD, ITERATION_US, WITHIN
from softsense.papers.adaptive_rate_pool.wear import ages
from softsense.papers.drawing import Line, lines, point

CORRECTS = 8
"""Errors in a codeword of 8 KiB, of the "small number" that the paper's inner code corrects: 16 bytes of parity."""
OTHERS = (4, 16)
_NONE = 0
_EVERY = (_NONE, *sorted((CORRECTS, *OTHERS)))
_BITS_PER_CYCLE = 64
_LAST_OF_YOUNG = 4_000


def _ages(plan: Plan) -> list[int]:
    """Young ages, and the oldest age."""
    *younger, oldest = ages(plan.full)
    return [*(age for age in younger if age <= _LAST_OF_YOUNG), oldest]


def _runs(plan: Plan, corrects: int, age: int) -> list[Case]:
    """Runs under light load, with a pool; without an inner code, codewords free of errors bypass the decoders."""
    device = device_of(at(age), POOL, bypass=BYPASS | {"errors": corrects})
    return loaded(plan, LIGHT * most_of_smallest(plan), device)


def _past(summary: dict[str, Any]) -> float:
    """The share of codewords that need no LDPC decoder."""
    operations = summary["operations"]
    found: float = operations["bypasses"] / (operations["bypasses"] + operations["decodes"])
    return found


def _decoded(summary: dict[str, Any]) -> float:
    return 1 - _past(summary)


def _iterations(summary: dict[str, Any]) -> float:
    """Iterations of the LDPC decoders, for each codeword that is read."""
    found: float = summary["codeword_reads"]["time_us"]["decode"] / ITERATION_US
    return found


@cache
def _inner(corrects: int) -> tuple[float, float]:
    """A decode of the inner code as a circuit: us after its syndromes, and nJ.

    The syndromes are done when the codeword is there. GF(2^16) ends a bit before the codeword.
    """
    code = Code.open(f"bch:m=16,t={corrects},k={(1 << 16) - 1 - 16 * corrects}")
    found = hardware(code, syndrome_bits_per_cycle=_BITS_PER_CYCLE, search_bits_per_cycle=_BITS_PER_CYCLE)
    of_syndromes = -(-8 * CODEWORD // _BITS_PER_CYCLE) / found["clock_mhz"]
    return found["decoder"]["us"] - of_syndromes, found["decoder"]["nj"]


def _energy(plan: Plan, runs: Runs, corrects: int, age: int) -> list[float]:
    """Energy of decoding for each codeword that is read, nJ, by seed.

    The inner code takes the same energy without errors as with them.
    """
    ldpc = [each * iteration_nj(at(age).rate) for each in by_seed(runs, _runs(plan, corrects, age), _iterations)]
    return [each + (_inner(corrects)[1] if corrects else 0.0) for each in ldpc]


def _measure(plan: Plan, runs: Runs) -> Measured:
    every = _ages(plan)
    rows, told = [], []
    energies = {(t, age): _energy(plan, runs, t, age) for t in _EVERY for age in every}
    delays = {(t, age): by_seed(runs, _runs(plan, t, age), latency) for t in _EVERY for age in every}
    past = {(t, age): by_seed(runs, _runs(plan, t, age), _past) for t in _EVERY for age in every}
    for panel, of, by in (
        ("past LDPC decoders", past, 100),
        ("latency, 5 % load", delays, 1),
        ("energy of decoding", energies, 1),
    ):
        # The oldest age is in the table alone.
        young = every[:-1]
        rows += [point(panel, _name(t), age / 1000, scaled(Number.of(of[t, age]), by)) for t in _EVERY for age in young]
    for age in every:
        shares = [as_share(Number.of(past[t, age]).value, 1) for t in _EVERY]
        energy = [f"{Number.of(energies[t, age]).value:.0f}" for t in (_NONE, CORRECTS)]
        delay = [f"{Number.of(delays[t, age]).value:.1f}" for t in (_NONE, CORRECTS)]
        told.append([kpe(age), f"{8 * CODEWORD * at(age).rber:,.1f}", *shares, ", ".join(delay), ", ".join(energy)])

    def delayed(t: int, age: int, *, takes_time: bool = False) -> Number:
        """Latency with the inner code over that without."""
        alone = _inner(t)[0] * (1 - at(age).error_free) if takes_time else 0.0
        return Number.ratio([each + alone for each in delays[t, age]], delays[_NONE, age])

    def relieved(t: int) -> Evidence:
        return _less(*(by_seed(runs, _runs(plan, each, every[0]), _decoded) for each in (t, _NONE)))

    def saved(t: int) -> Evidence:
        return _less(energies[t, every[0]], energies[_NONE, every[0]])

    def left_out(t: int, *, takes_time: bool = False) -> tuple[int, Number]:
        each = {age: delayed(t, age, takes_time=takes_time) for age in every}
        age = farthest(each)
        return age, each[age]

    age, most = left_out(CORRECTS)
    us, nj = _inner(CORRECTS)
    costs = [kpe(a) for a in every if Number.ratio(energies[CORRECTS, a], energies[_NONE, a]).value > 1]
    readings = {_name(t): Evidence(left_out(t)[1]) for t in OTHERS}
    readings[f"its decoder takes {us:.1f} us after the transfer"] = Evidence(left_out(CORRECTS, takes_time=True)[1])
    evidence = {
        "inner_relieves": _with(relieved, f"At {kpe(every[0])} kPE. Codewords have {told[0][1]} errors then."),
        "inner_left_out": Evidence(
            most,
            f"The farthest of {len(every)} ages: {kpe(age)} kPE. Later nearly no codeword has so few errors.",
            under=readings,
        ),
        "inner_energy": _with(
            saved,
            f"A decode of the inner code takes {nj:.0f} nJ, an iteration of the LDPC decoder "
            f"{iteration_nj(at(every[0]).rate):.0f}. At {', '.join(costs) or 'no'} kPE it costs more than it saves.",
        ),
    }
    heads = ["kPE", "errors", *(f"past decoders, {_name(t)}" for t in _EVERY)]
    heads += [f"latency, us: {_name(_NONE)}, {_name(CORRECTS)}", f"nJ a codeword: {_name(_NONE)}, {_name(CORRECTS)}"]
    note = (
        f"The inner code corrects {CORRECTS} errors of a codeword of 8 KiB (assumed; also "
        f"{listed([str(t) for t in OTHERS])}). It takes neither time nor room; its decoder, {_BITS_PER_CYCLE} bits a "
        "cycle, takes energy for each "
        "codeword.\n\n" + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _less(above: Sequence[float], below: Sequence[float]) -> Evidence:
    """Evidence of an order: a quantity is less than another one, paired by seed."""
    number = Number.ratio(above, below)
    return Evidence(number, in_all=number.hi < 1, in_mean=number.value < 1)


def _with(of: Callable[[int], Evidence], why: str) -> Evidence:
    """Evidence for the inner code, and under it that for codes that correct more errors or fewer."""
    return replace(of(CORRECTS), why=why, under={_name(t): of(t) for t in OTHERS})


def _name(corrects: int) -> str:
    return f"t = {corrects}" if corrects else "no inner code"


FIGURES = (
    Figure(
        "inner",
        "The inner BCH code: codewords that need no LDPC decoder",
        _measure,
        lines(
            "An inner BCH code that corrects t errors of a codeword",
            PE_AXIS,
            ("% of codewords", "us", "nJ a codeword"),
            {_name(t): Line(colour) for t, colour in zip(_EVERY, SERIES, strict=False)},
        ),
        lambda plan: [case for t in _EVERY for age in _ages(plan) for case in _runs(plan, t, age)],
    ),
)

CLAIMS = (
    Claim(
        "inner_relieves",
        "inner",
        "an inner BCH code corrects a small number of errors (codewords left to LDPC, with over without, youngest age)",
        rule="order",
    ),
    Claim(
        "inner_left_out",
        "inner",
        "LDPC alone determines performance: the inner code can be left out (latency with it over without, within 2 %)",
        1.0,
        tolerance=WITHIN,
    ),
    Claim(
        "inner_energy",
        "inner",
        "and it saves energy of decoding (with it over without, youngest age; not in the paper)",
        rule="order",
        kind="arithmetic",
    ),
)
