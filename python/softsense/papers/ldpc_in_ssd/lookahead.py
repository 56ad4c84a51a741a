"""Section 3.1: the gain of look-ahead by failure probability, and its cost on success."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_plain_share, as_share
from softsense.papers import Case, Claim, Evidence, Measured, Number, Plan, Runs
from softsense.papers.comparing import Arm, Compared, cases
from softsense.papers.drawing import bar_sheet
from softsense.papers.ldpc_in_ssd.arms import LOOK_AHEAD, TWO_STEP
from softsense.papers.ldpc_in_ssd.machines import GANGS, figure_on, read_otherwise
from softsense.papers.ldpc_in_ssd.published import PUBLISHED

if TYPE_CHECKING:
    from softsense.charts import Sheet

_PROBABILITIES = (0.0, *PUBLISHED["hard_failure_probabilities_fig5"])


def _at(arm: Arm, p_fail: float) -> Arm:
    return arm.on(f"reliability.fixed.p_fail=[{p_fail}, 0.0]", label=f"{arm.label}, {as_plain_share(p_fail)}")


def _some(plan: Plan) -> Plan:
    """The plan with a real workload and the synthetic ones, whose reads are one codeword."""
    chosen = tuple(w for w in plan.workloads if w.name in ("Finance1", "Synthetic1", "Synthetic2"))
    return replace(plan, workloads=chosen or plan.workloads)


def cases_lookahead(plan: Plan) -> list[Case]:
    """Two-step reads and look-ahead, at each failure probability."""
    return cases(_some(plan), *(_at(arm, p_fail) for arm in (TWO_STEP, LOOK_AHEAD) for p_fail in _PROBABILITIES))


def measure_lookahead(plan: Plan, runs: Runs) -> Measured:
    """The response with look-ahead over that of the two-step read, by failure probability of hard decision."""
    compared = {p: Compared(_some(plan), runs, [_at(LOOK_AHEAD, p)], _at(TWO_STEP, p)) for p in _PROBABILITIES}
    left = {p: each.mean(each.arms[0]) for p, each in compared.items()}
    by_workload = {
        name: [each.number(name, each.arms[0]).value for each in compared.values()] for name in compared[0.0].workloads
    }
    failing = list(left)[1:]
    grows = [all(a > b for a, b in pairwise(row[1:])) for row in by_workload.values()]
    told = ", ".join(f"{as_share(1 - left[p].value, 2)} at {as_plain_share(p)}" for p in failing)
    why = f"It saves {told} of failure (mean of workloads)."
    mean = all(left[a].value > left[b].value for a, b in pairwise(failing))
    at_most = max(row[0] for row in by_workload.values())
    success = (
        f"Where nothing fails, responses are {left[0.0].value:.5f} of the two-step read's, at worst {at_most:.5f}: "
        "sensing ahead begins where nobody waits, but who comes before its end waits until it is cut short."
    )
    frame = pl.concat(each.frame().with_columns(pl.lit(p).alias("p_fail")) for p, each in compared.items())
    saved = Number.ratio(
        [1 - x for x in compared[failing[-1]].seed_means(compared[failing[-1]].arms[0])],
        [1 - x for x in compared[failing[1]].seed_means(compared[failing[1]].arms[0])],
    )
    return Measured(
        frame,
        {
            "look_ahead_grows": Evidence(saved, why, in_all=all(grows), in_mean=mean),
            "look_ahead_on_success": Evidence(left[0.0], success),
        },
    )


def draw_lookahead(frame: pl.DataFrame) -> Sheet:
    """A bar for each failure probability."""
    title = "Section 3.1: what look-ahead leaves of the two-step read's response"
    shades = ("#c6dbef", "#6baed6", "#2171b5", "#08306b")
    colours = {_at(LOOK_AHEAD, p).label: shade for p, shade in zip(_PROBABILITIES, shades, strict=True)}
    return bar_sheet(frame, title, "over the two-step read at the same failure rate", colours=colours)


FIGURES = (
    figure_on(
        "3.1",
        "Section 3.1: look-ahead as failures grow",
        measure_lookahead,
        draw_lookahead,
        cases_lookahead,
        GANGS,
        read_otherwise(GANGS),
    ),
)

CLAIMS = (
    Claim(
        "look_ahead_grows",
        "3.1",
        "look-ahead saves more as failures grow (saved at 30 % over saved at 10 %)",
        rule="order",
    ),
    Claim(
        "look_ahead_on_success",
        "3.1",
        "look-ahead adds no latency where hard decision succeeds (over the two-step read, nothing failing)",
        1.0,
        tolerance=0.005,
    ),
)
