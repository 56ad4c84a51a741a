"""PR2 and AR2 (J. Park et al., ASPLOS 2021): retries that overlap, and that are sensed for less time.

The paper's chips and traces are not available. Reads are compared on a present drive, whose cells need as many retries
as the paper's. All published numbers except those of the abstract are taken from notes of others.
"""

from __future__ import annotations

from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softsense._core import Cells
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
    configured,
    inline,
    shown,
)
from softsense.papers.comparing import Arm, Compared, Quantity, cases, lone_reads, response, saved
from softsense.papers.drawing import Line, bar_sheet, lines, point
from softsense.papers.elsewhere import AS_SHIPPED, Headline, on_workload
from softsense.papers.stand_ins import stand_in
from softsense.papers.techniques import at_age, of_cells, reading
from softsense.read_policies import Technique
from softsense.retry_tables import with_references

if TYPE_CHECKING:
    from softsense.charts import Sheet

PUBLISHED: dict[str, Any] = {
    "mechanism": {"chips": 160, "steps_at_3_months_0_pe": 3},
    "claims": {"response_reduction_best": 0.315, "response_reduction_mean": 0.17},
}
"""The published numbers, by the names of `published/pr2_ar2.toml`, which tells the mechanism in words."""

_DEVICE = "tlc-femu"
_CELLS, _OTHER_CELLS = "tlc-charge-trap-asplos21", "tlc-charge-trap"
"""Cells that need as many retries as the paper's, and cells of the drive."""

# Lone reads ----------------------------------------------------------------------------------------------------------

_FAILING = (0, 1, 2, 4, 6, 8)
_PERCENT = 75
_SENSE_US, _MOVE_US = 80.0, 5.125 + 2.5
"""Sensing time of all pages, us; time of transfer and decode of a codeword of `tlc-femu`, us."""

_WAYS: dict[str, dict[str, Any]] = {
    "one after the other": {},
    "PR2": {"retries_ahead": True},
    "AR2": {"retry_sensing_percent": _PERCENT},
    "PR2 and AR2": {"retries_ahead": True, "retry_sensing_percent": _PERCENT},
}
_STYLES = {
    "one after the other": Line("#7f7f7f"),
    "PR2": Line("#0072b2"),
    "AR2": Line("#e69f00"),
    "PR2 and AR2": Line("#d55e00"),
    "published": Line("#000000", "none", "square"),
}


def in_closed_form_us(way: str, failing: int) -> float:
    """Time of a lone read whose first `failing` hard decisions fail, in closed form, us.

    With sensing for s, and transfer and decode for m, a read takes s + m. Each retry is sensed for f s and adds f s +
    m. With retries ahead the first retry follows its failure, and each further one adds the larger of f s and m.
    """
    fields, sense, move = _WAYS[way], _SENSE_US, _MOVE_US
    retry = sense * fields.get("retry_sensing_percent", 100) / 100
    if failing == 0:
        return sense + move
    if fields.get("retries_ahead"):
        return float(sense + move + retry + (failing - 1) * max(retry, move) + move)
    found: float = sense + move + failing * (retry + move)
    return found


def _failing_cells(failing: int) -> str:
    """Young cells for which the first `failing` entries of a retry table decode nothing, and the next one decodes
    all.
    """
    boundaries = len(Cells.open(_CELLS).references)
    rows = [[0.6] * boundaries] * failing + [[0.0] * boundaries]
    return of_cells(with_references(_CELLS, retry_table_v=rows))


def _lone_case(way: str, failing: int) -> Case:
    page = {"name": "page", "sense_us": _SENSE_US, "program_us": 2900.0}
    return Case(
        lone_reads(50),
        "progressive",
        (
            reading(references="retry_table", **_WAYS[way]),
            _failing_cells(failing),
            *at_age(0, 0.0),
            f"flash.page_types={inline([page])}",
            "flash.reset_us=0.0",
        ),
    )


def _lone_cases(plan: Plan) -> list[Case]:
    return [_lone_case(way, failing) for way in _WAYS for failing in _FAILING]


def _lone(plan: Plan, runs: Runs) -> Measured:
    rows, furthest = [], 0.0
    for way in _WAYS:
        for failing in _FAILING:
            measured = runs[_lone_case(way, failing)]["response"]["read"]["mean_us"]
            furthest = max(furthest, abs(measured - in_closed_form_us(way, failing)))
            rows.append(point("a read of one codeword", way, failing, Number.exact(measured)))
    note = (
        f"In closed form, of {len(rows)} reads, they are off by {1000 * furthest:.0f} ns at most. What is cut short by "
        "a RESET is `reset_us`, here 0, and delays no read that has been decoded."
    )
    return Measured(pl.DataFrame(rows), notes=(note,))


# Steps ---------------------------------------------------------------------------------------------------------------

_DAYS = (0.1, 1.0, 7.0, 30.0, 60.0, 90.0, 180.0, 365.0)
_WEAR = {0: "#0072b2", 1000: "#e69f00", 2000: "#d55e00"}


@cache
def _mean_retries(cells: str, pe_cycles: int, days: float, sensing_percent: int = 100) -> float:
    """Mean retries of a codeword of the drive that tries its references one after the other, by its decode table."""
    fields = reading(references="retry_table", retry_sensing_percent=sensing_percent)
    config = configured(_DEVICE, (fields, of_cells(Cells.open(cells)), *at_age(pe_cycles, days)))
    return float(np.mean(config.sample_codewords(2000)["mean_steps"])) - 1


def _steps(plan: Plan, runs: Runs) -> Measured:
    rows = [
        point("retries", f"{cycles:,} P/E cycles", days, Number.exact(_mean_retries(_CELLS, cycles, days)))
        for cycles in _WEAR
        for days in _DAYS
    ]
    rows.append(point("retries", "published", 90.0, Number.exact(PUBLISHED["mechanism"]["steps_at_3_months_0_pe"])))
    found, other = (_mean_retries(cells, 0, 90.0) for cells in (_CELLS, _OTHER_CELLS))
    why = (
        f"The mean over codewords; in the paper every read needs more. {_CELLS} was set by this number and by 19.9 "
        "retries after 2,000 cycles and a year. Cells of which the same group says that they need their first retry "
        "after 17 days need fewer."
    )
    under = {f"cells {_OTHER_CELLS}": Evidence(Number.exact(other))}
    return Measured(pl.DataFrame(rows), {"steps": Evidence(Number.exact(found), why, under=under)})


# Sensing for less time -----------------------------------------------------------------------------------------------

_AGES = ((0, 90.0), (1000, 180.0), (2000, 365.0))
_PERCENTS = tuple(range(50, 101, 5))


def _named(age: tuple[int, float]) -> str:
    return f"{age[0]:,} cycles, {age[1]:.0f} days"


@cache
def _mean_us(cells: str, age: tuple[int, float], sensing_percent: int) -> float:
    """Mean time of a lone read with PR2, us, as an offline profile of an age would tell it.

    PR2 hides all of a retry but its sensing.
    """
    sense = float(np.mean([page["sense_us"] for page in _device()["flash"]["page_types"]]))
    return sense + _MOVE_US + _mean_retries(cells, *age, sensing_percent) * sense * sensing_percent / 100


@cache
def _device() -> dict[str, Any]:
    return dict(configured(_DEVICE, ()).fields)


@cache
def best_percent(cells: str, age: tuple[int, float]) -> int:
    """The sensing time of retries that is fastest by the profile of an age, per cent of the full time."""
    return min(_PERCENTS, key=lambda percent: _mean_us(cells, age, percent))


def _profile(plan: Plan, runs: Runs) -> Measured:
    def of_whole(age: tuple[int, float], percent: int) -> float:
        return _mean_us(_CELLS, age, percent) / _mean_us(_CELLS, age, 100)

    rows = [
        point("mean of a lone read", _named(age), percent, Number.exact(of_whole(age, percent)))
        for age in _AGES
        for percent in _PERCENTS
    ]
    chosen = ", ".join(f"{best_percent(_CELLS, age)} % ({_named(age)})" for age in _AGES)
    note = (
        f"Chosen by the profile of each age: {chosen}. How errors grow as sensing is cut short is assumed "
        "(`shortened_sensing` of the cells): the paper's characterisation of 160 chips is not in our sources."
    )
    return Measured(pl.DataFrame(rows), notes=(note,))


# Responses -----------------------------------------------------------------------------------------------------------

_VOLUMES = (*("wdev0", "rsrch2", "proxy0", "prn1", "prn0", "ts0", "hm0", "hm1", "proj1", "proj3", "proj4", "web1"),)
_JUDGED = "begins where the layer was decoded last"
_REMEMBERED = {"remembered": "of_layer"}
_BASELINES: dict[str, tuple[str, dict[str, str]]] = {
    "table in order": (_CELLS, {}),
    _JUDGED: (_CELLS, _REMEMBERED),
    f"cells {_OTHER_CELLS}": (_OTHER_CELLS, _REMEMBERED),
}
"""Cells, and settings of reading, of each baseline."""

_ARMS = ("baseline", "PR2", "AR2", "PR2 and AR2")


def _arm(baseline: str, way: str, age: tuple[int, float]) -> Arm:
    cells, remembered = _BASELINES[baseline]
    fields: dict[str, Any] = dict(remembered)
    if "PR2" in way:
        fields["retries_ahead"] = True
    if "AR2" in way:
        fields["retry_sensing_percent"] = best_percent(cells, age)
    read = reading(references="retry_table", **fields)
    return Arm(f"{baseline}: {way}", "progressive", (read, of_cells(Cells.open(cells)), *at_age(*age)))


def _plan(full: bool) -> Plan:
    most = 30_000 if full else 4_000
    overrides = () if full else ("geometry.blocks_per_plane=128",)
    volumes = _VOLUMES if full else _VOLUMES[4:8]
    return Plan(full, (1, 2, 3), tuple(stand_in(name, most) for name in volumes), most, overrides=overrides)


def _ages(plan: Plan) -> tuple[tuple[int, float], ...]:
    return _AGES if plan.full else _AGES[::2]


def _response_cases(plan: Plan) -> list[Case]:
    arms = [_arm(baseline, way, age) for age in _ages(plan) for baseline in _BASELINES for way in _ARMS]
    return cases(plan, *arms)


def _responses(plan: Plan, runs: Runs) -> Measured:
    rows: list[dict[str, Any]] = []
    mean: dict[str, Number] = {}
    best: dict[str, tuple[str, Number]] = {}
    reads: Quantity = response("all")
    for baseline in _BASELINES:
        by_age, by_workload = [], {}
        for age in _ages(plan):
            arms = {way: _arm(baseline, way, age) for way in _ARMS}
            compared = Compared(plan, runs, [arms[way] for way in _ARMS[1:]], arms["baseline"], reads)
            for way in _ARMS[1:]:
                of_seeds = [1 - each for each in compared.seed_means(arms[way])]
                rows.append({"baseline": baseline, "age": _named(age), "way": way, "mean": Number.of(of_seeds)})
            by_age.append(of_seeds)
            for workload in compared.workloads:
                by_workload[f"{workload}, {_named(age)}"] = saved(compared.number(workload, arms[_ARMS[-1]]))
        mean[baseline] = Number.of([fmean(each) for each in zip(*by_age, strict=True)])
        best[baseline] = max(by_workload.items(), key=lambda named: named[1].value)
    others = [baseline for baseline in _BASELINES if baseline != _JUDGED]
    why = (
        f"Baseline: a retry table that {_JUDGED}; which entry the paper begins with is not in our sources. "
        f"PR2 hides a transfer and a decode, here {_MOVE_US:g} us, behind a sensing of 80 in the mean; the times of "
        "the paper's drive are not in our sources. "
    )
    frame = pl.DataFrame(
        [
            {
                "group": f"{row['baseline']}\n{row['age']}",
                "bar": row["way"],
                "value": row["mean"].value,
                "lo": row["mean"].lo,
                "hi": row["mean"].hi,
            }
            for row in rows
        ]
    )
    evidence = {
        "mean": Evidence(
            mean[_JUDGED],
            why + "The mean over ages and workloads, writes and all; those with many writes, and "
            "those that read what they have written, save little.",
            under={baseline: Evidence(mean[baseline]) for baseline in others},
        ),
        "best": Evidence(
            best[_JUDGED][1],
            why + f"The most is saved on {best[_JUDGED][0]}.",
            under={baseline: Evidence(best[baseline][1]) for baseline in others},
        ),
    }
    return Measured(frame, evidence)


def _draw_responses(frame: pl.DataFrame) -> Sheet:
    return bar_sheet(
        frame,
        "Response time that overlapping and shorter retries save",
        "part saved",
        colours={way: _STYLES[way].colour for way in _ARMS[1:]},
        line=None,
        note="all requests, mean of workloads, against the baseline named below",
    )


_CLAIMED = PUBLISHED["claims"]
_OF_TABLE = "read.references=retry_table"
_BOTH = (_OF_TABLE, "read.retries_ahead=true", f"read.retry_sensing_percent={_PERCENT}")
_ELSEWHERE = Headline(
    "retries that overlap, and that are sensed for less time, read faster than those of a table one after the other",
    (Technique("retry table", "progressive", (_OF_TABLE,)), Technique("PR2 and AR2", "progressive", _BOTH)),
    on_workload("prn0", *(_arm(_JUDGED, way, _AGES[-1]) for way in ("baseline", "PR2 and AR2"))),
    f"{_DEVICE}, prn0",
    _DEVICE,
    note=f"Retries are sensed for {_PERCENT} % of their time at every age. {AS_SHIPPED}",
)

PAPER = Paper(
    name="pr2-ar2",
    title="PR2 and AR2: retries that overlap, and are sensed for less time",
    published="J. Park, M. Kim, M. Chun, L. Orosa, J. Kim, O. Mutlu, ASPLOS 2021",
    figures=(
        Figure(
            "lone",
            "A lone read by how many attempts fail",
            _lone,
            lines(
                "A lone read by how many attempts fail",
                "hard decisions that fail first",
                "us",
                _STYLES,
                f"sensing {_SENSE_US:g} us, transfer and decode {_MOVE_US:g} us; AR2 senses retries for "
                f"{_PERCENT} % of the time",
            ),
            _lone_cases,
        ),
        Figure(
            "steps",
            "Retries by age",
            _steps,
            lines(
                "Retries by age",
                "days since the write",
                "retries of a codeword",
                {f"{cycles:,} P/E cycles": Line(colour) for cycles, colour in _WEAR.items()}
                | {"published": _STYLES["published"]},
                f"mean of tlc-femu with {_CELLS}, its table in order; square: every read of new chips needs more",
                at=_DAYS,
            ),
        ),
        Figure(
            "profile",
            "Retries sensed for less time",
            _profile,
            lines(
                "Retries sensed for less time",
                "sensing time of retries, per cent",
                "time of a lone read, over that at 100 %",
                {_named(age): Line(colour) for age, colour in zip(_AGES, _WEAR.values(), strict=False)},
                "PR2; by the decode table, without waiting",
                low=0.8,
            ),
        ),
        Figure("responses", "Response times", _responses, _draw_responses, _response_cases),
        _ELSEWHERE.figure,
    ),
    claims=(
        Claim(
            "steps",
            "steps",
            "Retries that reads of new chips need after three months (published: more than)",
            float(PUBLISHED["mechanism"]["steps_at_3_months_0_pe"]),
            no_effect=0.0,
            unit="",
            kind="calibrated",
        ),
        Claim(
            "best",
            "responses",
            "Part of the response time that PR2 and AR2 save, at best",
            _CLAIMED["response_reduction_best"],
            no_effect=0.0,
            unit="%",
            kind="invented workload",
        ),
        Claim(
            "mean",
            "responses",
            "Part of the response time that they save, mean of workloads",
            _CLAIMED["response_reduction_mean"],
            no_effect=0.0,
            unit="%",
            kind="invented workload",
        ),
    ),
    plan=_plan,
    config=_DEVICE,
    headline=lambda found: (
        f"PR2 and AR2 shorten responses by {shown(found['mean']['measured'], '%')} in the mean "
        f"({shown(_CLAIMED['response_reduction_mean'], '%')} published), as an attempt here has only {_MOVE_US:g} us "
        "of transfer and decode to hide."
    ),
    intro=(
        "All published numbers but those of the abstract are at second hand, through notes of others. The paper's 160 "
        "chips, its drive and its traces are not to be had: the drive is `tlc-femu`, read progressively, with cells "
        f"that need as many retries as the paper's (`{_CELLS}`), and workloads are stand-ins with published shares and "
        "rates of MSR volumes, whose own writes need no retry."
    ),
)
