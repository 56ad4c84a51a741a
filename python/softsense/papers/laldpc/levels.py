"""Figure 5: the cost of retries, and the time during which a level suffices."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from statistics import fmean, median

import polars as pl

from softsense import decode_tables
from softsense._core import Cells
from softsense.charts import Chart, Series, Sheet
from softsense.formats import listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table, resting_on
from softsense.papers.comparing import lone_reads
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc.methods import READ, needs
from softsense.papers.laldpc.published import EXACTLY, LATENCY_US, PUBLISHED, RBER_BELOW

_ALONE = 200


_READERS = {"one level after another": "progressive:restart", "level known": "ideal"}


def _cases_fig05a(plan: Plan) -> list[Case]:
    return [
        Case(lone_reads(_ALONE), policy, (needs(level), "ftl.mapping=page"), plan.seeds[0])
        for level in range(1, len(LATENCY_US) + 1)
        for policy in _READERS.values()
    ]


def _measure_fig05a(plan: Plan, runs: Runs) -> Measured:
    found = {case: READ.of(runs[case]) for case in _cases_fig05a(plan)}
    rows = []
    for case, measured in found.items():
        level = 1 + case.overrides[0].count("1.0")
        reader = next(reader for reader, policy in _READERS.items() if policy == case.policy)
        says = LATENCY_US[level - 1] if case.policy == "ideal" else sum(LATENCY_US[:level])
        rows.append({"reader": reader, "level": level, "table_ii_us": says, "measured_us": measured})
    frame = pl.DataFrame(rows)
    last = frame.filter(pl.col("level") == len(LATENCY_US))
    evidence = {}
    for id_, reader in (("cumulative_latency", "one level after another"), ("known_latency", "level known")):
        row = last.row(by_predicate=pl.col("reader") == reader, named=True)
        why = (
            f"Table II adds up to {row['table_ii_us']} us; a read on an idle device takes {row['measured_us']:.2f} us."
        )
        evidence[id_] = Evidence(Number.exact(row["measured_us"]), why)
    note = f"One 4 KiB read at a time, {_ALONE} for each level, on the device with its map in memory."
    return Measured(frame, evidence, (note,))


def _draw_fig05a(frame: pl.DataFrame) -> Sheet:
    colours = dict(zip(_READERS, ("#7f7f7f", "#009e73"), strict=True))
    bars = frame.select(
        pl.format("level {}", "level").alias("group"),
        pl.col("reader").alias("bar"),
        *(pl.col("measured_us").alias(name) for name in ("value", "lo", "hi")),
    )
    title, note = "Figure 5(a): a read that needs a level", "measured, one read at a time"
    return bar_sheet(bars, title, "us", colours=colours, line=None, note=note, digits=0)


_DAYS = range(1, 501)
_HOURS = 24.0
_AT_FAILURE = 1e-15
_SEVERAL_DAYS = 3
_MONTHS_DAYS = 60
_TABLE_II, _REAL_CODE = "table II", "the shipped table flash-8-9"
_LIFE_COLOURS = ("#9ecae1", "#4292c6", "#08519c")


def _real_thresholds() -> list[float]:
    """The raw bit error rates at which the levels of the shipped code fail as often as the paper asks for."""
    table = decode_tables.describe("flash-8-9")
    told = {row["level"]: row["rber"] for row in table["thresholds"] if row["failure"] == _AT_FAILURE}
    found = []
    for level, curve in enumerate(table["level"], start=1):
        # If the table does not reach down to that probability, the lowest rate at which it shows any failures is taken.
        shown = next(rber for rber, frames in zip(table["rber"], curve["frames"], strict=True) if frames)
        found.append(told.get(level, shown))
    return found


def _level(thresholds: Sequence[float], rber: float) -> int:
    """The least level whose threshold is above the raw bit error rate."""
    return bisect_right(thresholds, rber) + 1


def _measure_fig05b(plan: Plan, runs: Runs) -> Measured:
    stages = PUBLISHED["pe_stages"]
    rber = {}
    for pe_cycles in stages:
        fresh = Cells.open("mlc", pe_cycles)
        rber[pe_cycles] = [fresh.at(pe_cycles, _HOURS * day).rber() for day in _DAYS]
    rows, spans = [], {}
    for source, thresholds in ((_TABLE_II, RBER_BELOW), (_REAL_CODE, _real_thresholds())):
        for pe_cycles in stages:
            levels = [_level(thresholds, each) for each in rber[pe_cycles]]
            spans[source, pe_cycles] = [(level, len(list(days))) for level, days in groupby(levels)]
            rows += [
                {"thresholds": source, "pe_cycles": pe_cycles, "day": day, "rber": at, "level": level}
                for day, at, level in zip(_DAYS, rber[pe_cycles], levels, strict=True)
            ]
    told = [
        [source, f"{pe_cycles:,}", ", ".join(f"level {level} {days} d" for level, days in found)]
        for (source, pe_cycles), found in spans.items()
    ]
    heads = ["thresholds", "P/E cycles", "levels, and for how many days"]
    # The last level lasts beyond the studied range, and is left out.
    whole = [days for pe_cycles in stages for _, days in spans[_TABLE_II, pe_cycles][:-1]]
    why = (
        f"With table II's thresholds the {len(whole)} levels that end within {_DAYS[-1]} days last {min(whole)} to "
        f"{max(whole)} days, {median(whole):.0f} in the median. Several days are taken as {_SEVERAL_DAYS} at least, "
        f"months as {_MONTHS_DAYS} days. Verify voltages, and references that follow the distributions, are assumed."
    )
    evidence = {
        "levels_last": Evidence(
            Number.exact(min(whole)),
            why,
            in_all=min(whole) >= _SEVERAL_DAYS and max(whole) >= _MONTHS_DAYS,
            in_mean=fmean(whole) >= _SEVERAL_DAYS,
        )
    }
    at = PUBLISHED["initial_retention_days"] - 1
    now = {pe_cycles: _level(RBER_BELOW, rber[pe_cycles][at]) for pe_cycles in stages}
    expected, found = PUBLISHED["expected_levels"], now[PUBLISHED["pe_cycles"]]
    after = listed([f"{rber[pe][at]:.2e} and level {now[pe]} after {pe:,} cycles" for pe in stages])
    why = (
        f"A year old, data has a raw bit error rate of {after}: one level for all old data at a time. The paper's "
        "model leaves verify voltages and references open, and its data may have two levels at once."
    )
    evidence["levels_3_to_4"] = Evidence(
        Number.exact(found),
        why,
        in_all=expected[0] <= found <= expected[1],
        in_mean=expected[0] - 1 <= found <= expected[1] + 1,
    )
    return Measured(pl.DataFrame(rows), evidence, (markdown_table(heads, told),))


def _draw_fig05b(frame: pl.DataFrame) -> Sheet:
    charts = []
    for (source,), half in frame.group_by(["thresholds"], maintain_order=True):
        lives = half.group_by(["pe_cycles"], maintain_order=True)
        series = [
            Series(f"{pe:,} P/E cycles", of["day"].to_list(), of["level"].to_list(), colour=colour, steps=True)
            for colour, ((pe,), of) in zip(_LIFE_COLOURS, lives, strict=False)
        ]
        levels = (0.7, len(LATENCY_US) + 0.3)
        charts.append(Chart(f"thresholds of {source}", series, "retention (days)", "read level", y_range=levels))
    note = "for a failure probability of 1e-15"
    return Sheet("Figure 5(b): the level that a page needs", charts, note, panel=(5.5, 3.8))


FIGURES = (
    Figure("5a", "Figure 5(a): what retries cost", _measure_fig05a, _draw_fig05a, _cases_fig05a),
    Figure("5b", "Figure 5(b): how long a level lasts", _measure_fig05b, _draw_fig05b),
)

CLAIMS = (
    *resting_on(
        "arithmetic",
        Claim(
            "cumulative_latency",
            "5a",
            f"with level after level, a read that needs level 7 takes {sum(LATENCY_US):,} us (sum of table II)",
            float(sum(LATENCY_US)),
            tolerance=EXACTLY,
            unit="us",
        ),
        Claim(
            "known_latency",
            "5a",
            f"with its level known it takes {LATENCY_US[-1]} us",
            float(LATENCY_US[-1]),
            tolerance=EXACTLY,
            unit="us",
        ),
    ),
    Claim(
        "levels_last",
        "5b",
        "a level lasts from several days to several months (the shortest, days)",
        rule="order",
        unit="",
    ),
    *resting_on(
        "calibrated",
        Claim(
            "levels_3_to_4",
            "5b",
            "after 10,000 P/E cycles and a year, reads need levels around 3 and 4 (the level)",
            rule="order",
            unit="",
            source=("basic_experiment.expected_levels",),
        ),
    ),
)
