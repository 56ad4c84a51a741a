"""LDPC-in-SSD (K. Zhao et al., FAST 2013): its figures, equations and claims, measured.

The module `machines` tells what is measured on the machine that the paper ran on, and what on softsense's own.
"""

from __future__ import annotations

from softsense.papers import Case, Paper, Plan, shown
from softsense.papers.elsewhere import Headline, on_workload, techniques_of
from softsense.papers.ldpc_in_ssd import (
    aging,
    decoding,
    energy,
    equations,
    failures,
    hot_data,
    interleaving,
    lookahead,
    parallelism,
    responses,
    selective,
    sensitivity,
)
from softsense.papers.ldpc_in_ssd.arms import BOTH, LOOK_AHEAD, PROGRESSIVE, TWO_STEP
from softsense.papers.ldpc_in_ssd.machines import GANGS
from softsense.papers.ldpc_in_ssd.published import DEVICE, INPUTS
from softsense.papers.ldpc_in_ssd.workloads import plan_of

_MODULES = (
    decoding,
    failures,
    aging,
    responses,
    lookahead,
    interleaving,
    selective,
    hot_data,
    parallelism,
    equations,
    energy,
    sensitivity,
)
_FIGURES = {figure.id: figure for module in _MODULES for figure in module.FIGURES}
_NUMBERED = ("3", "5", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17")
_ORDER = (*_NUMBERED, *(id_ for id_ in _FIGURES if id_ not in _NUMBERED))

_ARMS = (TWO_STEP, LOOK_AHEAD, PROGRESSIVE, BOTH)


def _own(plan: Plan) -> list[Case]:
    return [GANGS.case(case) for case in on_workload("Synthetic2", *_ARMS)(plan)]


_ELSEWHERE = Headline(
    "look-ahead and progressive reading together read faster than the two-step read",
    techniques_of(*_ARMS),
    _own,
    f"{GANGS.name}, Synthetic2",
    DEVICE,
    note="Retries and decode tables are the paper's; references are the drive's.",
)

PAPER = Paper(
    name="ldpc-in-ssd",
    title="LDPC-in-SSD, reproduced",
    published="K. Zhao, W. Zhao, H. Sun, T. Zhang, X. Zhang, N. Zheng, LDPC-in-SSD: Making Advanced Error Correction "
    "Codes Work Effectively in Solid State Drives, USENIX FAST 2013",
    intro="The plotted values of the paper's figures are not in its text, so claims are those of its prose. Figures 5, "
    "11 to 14, section 3.1 and the energy are judged on the paper's machine, DiskSim's synchronous gangs with the "
    "paper's timing and geometry, figures 15 to 17 on serial chips of the same geometry; beside them stands "
    "softsense's own device, `configs/mlc-25nm.toml`: flash after 10,000 P/E cycles and a month, four kinds of chip "
    "of which hard decision fails 28.8 % in the mean. Synthetic addresses are uniform, so that a few hot codewords "
    "decide nothing.",
    plan=plan_of,
    config=DEVICE,
    figures=(*(_FIGURES[id_] for id_ in _ORDER), _ELSEWHERE.figure),
    claims=tuple(claim for id_ in _ORDER for module in _MODULES for claim in module.CLAIMS if claim.figure == id_),
    inputs=INPUTS,
    headline=lambda found: (
        "On the paper's machine the two-step read makes Postmark respond "
        f"{shown(found['increase_postmark']['measured'], '+%')} later (25 % published) and Synthetic2 "
        f"{shown(found['increase_synthetic2']['measured'], '+%')} (120 %), and all three techniques leave "
        f"{shown(found['combined_below_20']['measured'], '+%')} in the worst case (below 20 %)."
    ),
)
