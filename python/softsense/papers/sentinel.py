"""Sentinel (Q. Li et al., MICRO 2020): cells that are known tell where references belong.

The paper's chips, traces and simulator are not available. Wordlines are sampled here, cell by cell, from cells of
another chip, and reads are compared on a present drive. All published numbers except those of the abstract are taken
from notes of others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softsense._core import Cells, binomial_interval
from softsense.formats import as_share
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Paper,
    Plan,
    Runs,
    shown,
)
from softsense.papers.comparing import Arm, Compared, Summary, cases, percent, saved, summaries
from softsense.papers.drawing import Line, lines, point
from softsense.papers.elsewhere import AS_SHIPPED, Headline, on_workload
from softsense.papers.stand_ins import stand_in
from softsense.papers.techniques import at_age, ladder, reading
from softsense.read_policies import Technique

if TYPE_CHECKING:
    from numpy.typing import NDArray

PUBLISHED: dict[str, Any] = {
    "mechanism": {"sentinel_cells_share": 0.002},
    "claims": {
        "optimal_by_inference": 0.83,
        "optimal_after_calibration": 0.94,
        "retry_reduction": 0.82,
        "read_performance_gain": 0.74,
    },
}
"""The published numbers, by the names of `published/sentinel.toml`, which tells the mechanism in words."""

_CLAIMED = PUBLISHED["claims"]

# Wordlines -----------------------------------------------------------------------------------------------------------

_AGES = {"tlc-charge-trap": (3000, 365.0), "qlc-charge-trap": (1000, 365.0)}
"""P/E cycles and days at the end of life, a year after the write. What the known cells tell is fitted up to these ages.
The paper's TLC has 5,000 P/E cycles.
"""

_MARGINS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2)
_AT_THE_BEST = 0.05
"""Largest excess of errors with which a wordline counts as read with the best references [assumed]."""

_SIGMA = 0.17
"""Standard deviation of the logarithm of a wordline's raw bit error rate: chip, block and page of `tlc-femu` together.
"""


def _wordline_ages(name: str, wordlines: int) -> list[Cells]:
    """Cells of wordlines, older or younger than their block, so that their raw bit error rates differ from that of the
    block.
    """
    pe_cycles, days = _AGES[name]
    nominal = Cells.open(name, pe_cycles, days * 24, "default")
    rates = nominal.rber() * np.exp(_SIGMA * np.random.default_rng(1).standard_normal(wordlines))
    hours = np.geomspace(days, days * 24 * 30, 61)
    known = np.maximum.accumulate([nominal.at(pe_cycles, each).rber() for each in hours])
    found = np.exp(np.interp(np.log(rates), np.log(known), np.log(hours)))
    return [nominal.at(pe_cycles, float(each)) for each in found]


def _above(volts: NDArray[np.float64], reference: float) -> int:
    """Number of sorted voltages that are above a reference."""
    return len(volts) - int(np.searchsorted(volts, reference, side="right"))


class _Wordline:
    """One wordline, each cell of which has a voltage."""

    def __init__(self, cells: Cells, seed: int) -> None:
        self._cells = cells
        self._inference = json.loads(cells.spec_json)["references"]["inference"]
        of_a_state = self._inference["counted_cells"] // cells.states
        voltages = [cells.sample(state, of_a_state, seed * cells.states + state) for state in range(cells.states)]
        boundary, known = self._inference["boundary"], self._inference["sentinels"] // 2
        # Samples are in no order, so the first cells can be the known ones.
        self._known = [np.sort(voltages[state][:known]) for state in (boundary, boundary + 1)]
        self._sorted = [np.sort(each) for each in voltages]

    def _errors(self, offsets_v: NDArray[np.float64]) -> NDArray[np.int64]:
        """Number of cells on the wrong side of each boundary, with the default references moved by these offsets."""
        at = zip(self._cells.references + offsets_v, pairwise(self._sorted), strict=True)
        return np.array([_above(low, volts) + len(high) - _above(high, volts) for volts, (low, high) in at])

    def _difference(self, steps: int) -> float:
        """Errors of known cells of the lower state less those of the upper state, over the number of known cells of a
        state.

        A cell of the lower state errs if it reads above the reference, a cell of the upper state if it reads below.
        """
        volts = self._cells.references[self._inference["boundary"]] + steps * self._inference["step_v"]
        low, high = self._known
        return (_above(low, volts) - (len(high) - _above(high, volts))) / len(low)

    def _least_errors(self) -> int:
        """Number of errors with the best reference at each boundary, in steps of the inferred references."""
        step_v, most, boundaries = self._inference["step_v"], 2 * self._inference["steps"], len(self._cells.references)
        each = [self._errors(np.full(boundaries, step * step_v)) for step in range(-most, most + 1)]
        return int(np.min(each, axis=0).sum())

    def read(self) -> tuple[float, float, float]:
        """Excess of errors over those at the best references, as a share of them.

        The three numbers are for default references, inferred ones, and inferred ones that were then calibrated.
        """
        least, steps = self._least_errors(), self._cells.inferred_steps(self._difference(0))
        moved = self._cells.calibrated_steps(steps, self._difference(steps))
        offsets = [np.zeros(len(self._cells.references)), *map(self._cells.inferred_offsets_v, (steps, moved))]
        default, inferred, calibrated = (float(self._errors(each).sum()) / least - 1 for each in offsets)
        return default, inferred, min(inferred, calibrated)


_LINES = {
    "default": Line("#7f7f7f"),
    "inferred": Line("#0072b2"),
    "calibrated": Line("#d55e00"),
    "published": Line("#000000", "none", "square"),
}


def _wordline_count(plan: Plan) -> int:
    return 400 if plan.full else 50


def _wordlines(plan: Plan, runs: Runs) -> Measured:
    wordlines = _wordline_count(plan)
    rows, at_the_best = [], {}
    for name in _AGES:
        more = np.array([_Wordline(cells, seed).read() for seed, cells in enumerate(_wordline_ages(name, wordlines))])
        for line, each in zip(("default", "inferred", "calibrated"), more.T, strict=True):
            for margin in _MARGINS:
                reached = int((each <= margin).sum())
                number = Number(reached / wordlines, *binomial_interval(reached, wordlines, 0.95))
                rows.append(point(name, line, margin, number))
                if margin == _AT_THE_BEST:
                    at_the_best[name, line] = number
        published = (_CLAIMED[f"optimal_{how}"] for how in ("by_inference", "after_calibration"))
        rows += [point(name, "published", _AT_THE_BEST, Number.exact(share)) for share in published]
    tlc, qlc = _AGES
    evidence = {}
    for line, id_ in (("inferred", "optimal_by_inference"), ("calibrated", "optimal_after_calibration")):
        evidence[id_] = Evidence(
            at_the_best[tlc, line],
            f"Of {wordlines:,} sampled wordlines of {tlc} after {_AGES[tlc][0]:,} P/E cycles and a year those with at "
            f"most {as_share(_AT_THE_BEST, 0)} more errors than with the best reference at every boundary; by default "
            f"references {percent(at_the_best[tlc, 'default'])}. Of {qlc} it is {percent(at_the_best[qlc, line])}. "
            "What "
            "the paper takes for the best is not in our sources, and the share depends on it: see the picture. Real "
            "wordlines also differ in how their states have moved, not only in how far.",
        )
    return Measured(pl.DataFrame(rows), evidence)


# Reads ---------------------------------------------------------------------------------------------------------------

_VOLUMES = ("wdev0", "rsrch2", "prn0", "ts0", "hm0", "proj3", "proj4", "web1")
_RETRIES = (4, 8, 12)
_JUDGED = 8
"""Entries of the table of the baseline [assumed]; figure `reads` has other tables, too."""
_CELLS = "tlc-charge-trap"
_SENTINEL = Arm("Sentinel", "progressive", (reading(references="sentinels"), *at_age(*_AGES[_CELLS])))


def _table(retries: int) -> Arm:
    fields = (reading(references="retry_table"), ladder(_CELLS, *_AGES[_CELLS], retries), *at_age(*_AGES[_CELLS]))
    return Arm(f"table of {retries}", "progressive", fields)


_TABLES = {retries: _table(retries) for retries in _RETRIES}


def _plan(full: bool) -> Plan:
    most = 60_000 if full else 8_000
    overrides = () if full else ("geometry.blocks_per_plane=128",)
    volumes = _VOLUMES if full else _VOLUMES[2:6]
    return Plan(full, (1, 2, 3), tuple(stand_in(name, most) for name in volumes), most, overrides=overrides)


def _read_cases(plan: Plan) -> list[Case]:
    return cases(plan, _SENTINEL, *_TABLES.values())


def _retries(summary: Summary) -> float:
    """Mean retries of a codeword. Reads of known cells alone are no retries."""
    reads = summary["codeword_reads"]
    return float(reads["attempts"] / reads["count"] - 1)


def _by_table(numbers: Mapping[int, Number]) -> dict[str, Evidence]:
    return {f"a table of {n} entries": Evidence(number) for n, number in numbers.items() if n != _JUDGED}


def _reads(plan: Plan, runs: Runs) -> Measured:
    def retries_of(arm: Arm) -> list[float]:
        """Retries of all workloads together, for each seed."""
        by_workload = (map(_retries, summaries(plan, runs, workload, arm)) for workload in plan.workloads)
        return [sum(of_seed) for of_seed in zip(*by_workload, strict=True)]

    rows, reduction, gain = [], {}, {}
    for retries, table in _TABLES.items():
        reduction[retries] = saved(Number.ratio(retries_of(_SENTINEL), retries_of(table)))
        gain[retries] = saved(Compared(plan, runs, [_SENTINEL], table).mean(_SENTINEL))
        rows.append(point("fewer retries", "measured", retries, reduction[retries]))
        rows.append(point("shorter response of reads", "measured", retries, gain[retries]))
    rows.append(point("fewer retries", "published", _JUDGED, Number.exact(_CLAIMED["retry_reduction"])))
    rows.append(
        point("shorter response of reads", "published", _JUDGED, Number.exact(_CLAIMED["read_performance_gain"]))
    )
    mean = {
        arm.label: fmean(_retries(each) for workload in plan.workloads for each in summaries(plan, runs, workload, arm))
        for arm in (_SENTINEL, _TABLES[_JUDGED])
    }
    told = (
        f"Against a table whose {_JUDGED} entries go in equal steps to the best references of this age, one after the "
        "other: which table the paper's chips have is not in our sources, and both numbers depend on how long it is. "
    )
    evidence = {
        "retry_reduction": Evidence(
            reduction[_JUDGED],
            told + f"Retries of a codeword: {mean['Sentinel']:.2f} for {mean[_TABLES[_JUDGED].label]:.2f}. Codewords "
            "that were written in the run need none.",
            under=_by_table(reduction),
        ),
        "read_performance_gain": Evidence(
            gain[_JUDGED],
            told
            + "Taken as the part of the mean response of reads that is saved. Reads that need no retry, and those that "
            "wait for programs of up to 5.7 ms, save nothing.",
            under=_by_table(gain),
        ),
    }
    return Measured(pl.DataFrame(rows), evidence)


_CLAIMS = (
    Claim(
        "optimal_by_inference",
        "wordlines",
        "Share of wordlines that inference reads with the best references",
        _CLAIMED["optimal_by_inference"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "optimal_after_calibration",
        "wordlines",
        "The same after calibration, with at most two retries",
        _CLAIMED["optimal_after_calibration"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "retry_reduction",
        "reads",
        "Share of the retries of a retry table that Sentinel saves",
        _CLAIMED["retry_reduction"],
        no_effect=0.0,
        unit="%",
        kind="invented workload",
    ),
    Claim(
        "read_performance_gain",
        "reads",
        "Part of the mean response of reads that Sentinel saves",
        _CLAIMED["read_performance_gain"],
        no_effect=0.0,
        unit="%",
        kind="invented workload",
    ),
)

_ELSEWHERE = Headline(
    "references that known cells tell read faster than a retry table",
    (
        Technique("retry table", "progressive", ("read.references=retry_table",)),
        Technique("Sentinel", "progressive", ("read.references=sentinels",)),
    ),
    on_workload("prn0", _TABLES[_JUDGED], _SENTINEL),
    "tlc-femu, prn0",
    "tlc-femu",
    note=AS_SHIPPED,
)

PAPER = Paper(
    name="sentinel",
    title="Sentinel: cells that are known tell where references belong",
    published="Q. Li, M. Ye, Y. Cui, L. Shi, X. Li, T. Kuo, C. J. Xue, MICRO 2020",
    figures=(
        Figure(
            "wordlines",
            "Wordlines that are read with the best references",
            _wordlines,
            lines(
                "Wordlines that are read with the best references",
                "errors more than with the best references, at most",
                "share of wordlines",
                _LINES,
                "each cell sampled, 294 of them known; a year after the write, at the end of life; squares: published",
            ),
        ),
        Figure(
            "reads",
            "Reads by known cells against a retry table",
            _reads,
            lines(
                "Reads by known cells against a retry table",
                "entries of the table",
                "part saved",
                {"measured": Line("#0072b2"), "published": Line("#000000", "none", "square")},
                "tlc-femu after 3,000 P/E cycles and a year; mean of workloads",
            ),
            _read_cases,
        ),
        _ELSEWHERE.figure,
    ),
    claims=_CLAIMS,
    plan=_plan,
    config="tlc-femu",
    headline=lambda found: (
        f"Known cells save {shown(found['retry_reduction']['measured'], '%')} of the retries of a table "
        f"({shown(_CLAIMED['retry_reduction'], '%')} published), and how much that shortens reads is a matter of the "
        "table's length and of what reads wait for."
    ),
    intro=(
        "All published numbers but those of the abstract are at second hand, through notes of others. The paper's "
        "chips, and the traces on its simulator, are not to be had: cells are `tlc-charge-trap` after 3,000 P/E cycles "
        "and a year (the paper: 5,000 and a year), polynomial and lines are fitted to them, the drive is "
        "`tlc-femu`, and workloads are stand-ins with published shares and rates of MSR volumes, whose own writes need "
        "no retry."
    ),
)
