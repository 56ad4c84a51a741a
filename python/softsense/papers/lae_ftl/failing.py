"""Failures against the binomial tail."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import polars as pl

from softsense.formats import as_plain_share, listed
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    resting_on,
)
from softsense.papers.comparing import Arm, cases, lone_reads
from softsense.papers.drawing import Line, lines, point
from softsense.papers.lae_ftl.devices import squeezed
from softsense.papers.lae_ftl.lone import farthest, over
from softsense.papers.lae_ftl.published import POLICY, WITHIN
from softsense.papers.lae_ftl.units import EVERY_LIFE, FOR_LIFE, UnitCode, bch_of, constant
from softsense.papers.lae_ftl.workloads import SERIES

_FAILING = (0.03, 0.1, 0.5)
# Real decodes take a while. For a given effort, the share is known best where half of units fail. The 96,000 units of a
# full run give it to 0.3 %, so that the interval of its three seeds is within 2 %. Where a tenth fails, nine times as
# many units would be needed.
_DECODED, _DECODED_FAILING = 0.04, 0.5


def _failures(plan: Plan, code: UnitCode, failing: float, exact: bool) -> list[Case]:
    reads = lone_reads(round(plan.requests * (_DECODED if exact else 1)))
    worn = bch_of({code: FOR_LIFE}, constant(code.failing_rber(failing)), exact)
    arm = Arm(code.label, POLICY, (worn, *squeezed(code).overrides[1:]))
    return cases(replace(plan, workloads=(reads,)), arm)


def _every_failure() -> list[tuple[UnitCode, float, bool]]:
    drawn = [(code, failing, False) for code in EVERY_LIFE for failing in _FAILING]
    return drawn + [(code, _DECODED_FAILING, True) for code in EVERY_LIFE]


def _measure_failures(plan: Plan, runs: Runs) -> Measured:
    found: dict[tuple[UnitCode, float, bool], list[float]] = {}
    undetected, rows = 0, []
    for code, failing, exact in _every_failure():
        each = [runs[case]["codeword_reads"] for case in _failures(plan, code, failing, exact)]
        shares = [(reads["uncorrectable"] + (reads["undetected"] or 0)) / reads["count"] for reads in each]
        found[code, failing, exact] = [share / failing for share in shares]
        undetected += sum(reads["undetected"] or 0 for reads in each)
        line = f"{code.label}, {'decoded' if exact else 'counted'}"
        rows.append(point("units that fail", line, 1000 * code.failing_rber(failing), over(Number.of(shares), 0.01)))
    for code in EVERY_LIFE:
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
        far = farthest(some)
        of_seeds = zip(*(ratios for key, ratios in found.items() if key[2] == exact), strict=True)
        evidence[id_] = Evidence(
            Number.of([fmean(ratios) for ratios in of_seeds]),
            f"{how} The mean of {len(some)} measured shares over those of the tail; the farthest is {far[0].label} "
            f"with {as_plain_share(far[1])} failing, {some[far].value:.3f} ({some[far].lo:.3f} to {some[far].hi:.3f}).",
        )
    told = listed([f"{100 * each:g}" for each in _FAILING])
    note = (
        f"Lone reads at raw bit error rates at which {told} % of units have a codeword with more than t errors, "
        "against the binomial tail, on which the limits of 1e-15 rest."
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


def _failure_lines() -> dict[str, Line]:
    styles = {}
    for code, colour in zip(EVERY_LIFE, SERIES, strict=True):
        styles[code.label] = Line(colour, marker="none")
        styles[f"{code.label}, counted"] = Line(colour, "none", named=False)
        styles[f"{code.label}, decoded"] = Line(colour, "none", "square", named=False)
    return styles


FIGURES = (
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
)

CLAIMS = resting_on(
    "own check",
    Claim(
        "failures_drawn",
        "failures",
        "units fail as the binomial tail says (within 2 %)",
        1.0,
        tolerance=WITHIN,
    ),
    Claim(
        "failures_decoded",
        "failures",
        "so they do when every codeword is decoded (within 2 %)",
        1.0,
        tolerance=WITHIN,
    ),
)
