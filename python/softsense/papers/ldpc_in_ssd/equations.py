"""Equations 1 to 4: lone reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, Workload
from softsense.papers.comparing import (
    lone_reads,
    response,
    summaries,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import LOOK_AHEAD, PROGRESSIVE, TWO_STEP
from softsense.papers.ldpc_in_ssd.published import at_stated_age
from softsense.papers.ldpc_in_ssd.sampled import Lone

if TYPE_CHECKING:
    from softsense.charts import Sheet

# Largest difference that sampling may cause between a mean and its equation.
_EQUATION = 0.005
_EQUATIONS = {"eq_1": TWO_STEP, "eq_2": LOOK_AHEAD, "eq_3": PROGRESSIVE}


def _lone(plan: Plan) -> Workload:
    return lone_reads(plan.requests)


def _cases_eqs(plan: Plan) -> list[Case]:
    return [Case(_lone(plan), arm.policy, arm.overrides, seed) for arm in _EQUATIONS.values() for seed in plan.seeds]


def _measure_eqs(plan: Plan, runs: Runs) -> Measured:
    lones = {id_: Lone(at_stated_age([*plan.overrides, *arm.overrides])) for id_, arm in _EQUATIONS.items()}
    says = {
        "eq_1": lones["eq_1"].two_step(),
        "eq_2": lones["eq_2"].look_ahead(),
        "eq_3": lones["eq_3"].progressive(),
    }
    rows, numbers = [], {}
    for id_, arm in _EQUATIONS.items():
        number = Number.of(response().each(summaries(plan, runs, _lone(plan), arm)))
        numbers[id_] = number
        row = {"equation": id_, "policy": arm.policy, "equation_us": says[id_], "measured_us": number.value}
        rows.append(row | {"lo": number.lo, "hi": number.hi})
    lone = lones["eq_3"]
    attempts = Number.of(
        [
            s["codeword_reads"]["attempts"] / s["codeword_reads"]["count"] - 1
            for s in summaries(plan, runs, _lone(plan), PROGRESSIVE)
        ]
    )
    row = {"equation": "eq_3 with eq. 4 as printed", "policy": PROGRESSIVE.policy, "equation_us": lone.eq_3_with_4()}
    rows.append(row | {"measured_us": rows[-1]["measured_us"], "lo": rows[-1]["lo"], "hi": rows[-1]["hi"]})
    frame = pl.DataFrame(rows).with_columns(
        further_attempts=pl.Series([None, None, attempts.value, attempts.value]),
        equation_attempts=pl.Series([None, None, lone.attempts(), lone.eq_4()]),
    )
    means = lone.p_fail.mean(axis=0)
    percent = listed([as_share(p, significant=2) for p in means])
    differ = {id_: 100 * (numbers[id_].value / says[id_] - 1) for id_ in says}
    why_4 = (
        f"Levels 1 to {len(means)} fail for {percent} of codewords in the mean; the deepest are upper bounds of the "
        "table, which saw hardly a frame fail there. Eq. 4 multiplies these as if failures "
        f"at successive levels were independent: {lone.eq_4():.4f} further attempts a read. But who fails at a level "
        "has failed at all below, so the probability of each further attempt is that of the failure before it, and "
        f"their sum is {lone.attempts():.4f}; measured {attempts.value:.4f}. With eq. 4, eq. 3 would say "
        f"{lone.eq_3_with_4():.1f} us."
    )
    evidence = {
        id_: Evidence(numbers[id_], f"Equation {says[id_]:.2f} us, measured {differ[id_]:+.2f} % from it.")
        for id_ in says
    }
    evidence["eq_4"] = Evidence(attempts.plus(0), why_4)
    evidence = {id_: Evidence(_relative(each, says.get(id_, lone.eq_4())), each.why) for id_, each in evidence.items()}
    note = (
        f"Hard decision alone would take {lones['eq_1'].hard():.1f} us. Measured with {plan.requests:,} reads for "
        "each seed, one at a time, uniform over the whole device."
    )
    return Measured(frame, evidence, (note,))


def _relative(evidence: Evidence, says: float) -> Number:
    number = evidence.number
    assert number
    return Number(number.value / says, number.lo / says, number.hi / says)


def _draw_eqs(frame: pl.DataFrame) -> Sheet:
    rows = []
    names = {"eq_1": "eq. 1\ntwo-step", "eq_2": "eq. 2\nlook-ahead", "eq_3": "eq. 3\nprogressive"}
    for row in frame.iter_rows(named=True):
        group = names.get(row["equation"], "eq. 3, eq. 4 as printed\nprogressive")
        says = row["equation_us"]
        rows.append({"group": group, "bar": "equation", "value": says, "lo": says, "hi": says})
        rows.append({"group": group, "bar": "measured", "value": row["measured_us"], "lo": row["lo"], "hi": row["hi"]})
    colours = {"equation": "#7f7f7f", "measured": "#0072b2"}
    title = "Equations 1 to 4: mean time of lone reads"
    return bar_sheet(pl.DataFrame(rows), title, "us", colours=colours, line=None, digits=1)


FIGURES = (Figure("eqs", "Equations 1 to 4: lone reads", _measure_eqs, _draw_eqs, _cases_eqs),)

CLAIMS = (
    Claim(
        "eq_1",
        "eqs",
        "eq. 1 is the mean of two-step reads: measured over equation",
        1.0,
        tolerance=_EQUATION,
        kind="own check",
    ),
    Claim("eq_2", "eqs", "eq. 2 is the mean of look-ahead reads", 1.0, tolerance=_EQUATION, kind="own check"),
    Claim(
        "eq_3",
        "eqs",
        "eq. 3, with conditional probabilities, is the mean of progressive reads",
        1.0,
        tolerance=_EQUATION,
        kind="own check",
    ),
    Claim(
        "eq_4", "eqs", "eq. 4 as printed is the number of further attempts", 1.0, tolerance=_EQUATION, kind="arithmetic"
    ),
)
