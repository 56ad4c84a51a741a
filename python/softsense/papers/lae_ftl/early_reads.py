"""Figure 6(a): the time of reads that short codewords save.

The worst-case code and short ones are compared on equal hardware: an engine for the worst-case code, which decodes as
many short codewords at once as its hardware has room for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    Workload,
    markdown_table,
)
from softsense.papers.comparing import Arm, Compared, Quantity, cases, percent, saved, summaries
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.devices import adaptive, baseline
from softsense.papers.lae_ftl.published import PUBLISHED, SENSE_US, TRACES
from softsense.papers.lae_ftl.units import AGES, ENGINE, SEGMENTS, WORST_CASE
from softsense.papers.lae_ftl.workloads import (
    PARTS,
    READ,
    READ_LATENCY,
    SEGMENT_COLOURS,
    bar,
    read_otherwise,
    short,
)

if TYPE_CHECKING:
    from softsense.charts import Sheet

NUMBERING = "The text calls its results figure 6, the caption that lists them figure 5: they are one picture."

_PUBLISHED: dict[str, float] = dict(
    zip(TRACES, PUBLISHED["claims"]["read_latency_gain_over_worst_case_bch"], strict=True)
)
_ONE_AT_A_TIME = "one codeword at a time"


def on_engine(segment: int, *overrides: str) -> Arm:
    """The short codewords of a segment on the engine of the worst-case code."""
    return adaptive(segment, ENGINE.override, *overrides)


def _cases_fig06a(plan: Plan) -> list[Case]:
    arms = [arm for i in range(len(SEGMENTS)) for arm in (on_engine(i), adaptive(i), baseline(i))]
    segments = range(len(SEGMENTS))
    engines = [arm for i in segments for arm in (on_engine(i), baseline(i))]
    others = [case for each in read_otherwise(short(plan)).values() for case in cases(each, *engines)]
    return cases(short(plan), *arms) + others


def _compared(plan: Plan, runs: Runs, arm: Callable[[int], Arm], quantity: Quantity) -> list[Compared]:
    """Short codewords over the worst case, in each segment."""
    return [Compared(plan, runs, [arm(i)], baseline(i), quantity) for i in range(len(SEGMENTS))]


def gain_of(compared: Compared, workload: str) -> Number:
    """The share of the quantity that the first arm of a comparison saves on a workload."""
    return saved(compared.number(workload, compared.arms[0]))


def _mean_gain(each: Sequence[Compared], workload: str) -> Number:
    """The saved share, mean of segments."""
    of_seeds = zip(*(compared.ratios(workload, compared.arms[0]) for compared in each), strict=True)
    return saved(Number.of([fmean(ratios) for ratios in of_seeds]))


def _split(plan: Plan, runs: Runs, workload: Workload, arm: Arm) -> dict[str, float]:
    """Mean time of the parts of a workload's reads, us."""
    each = [summary["codeword_reads"]["time_us"] for summary in summaries(plan, runs, workload, arm)]
    return {part: fmean(time_us[part] for time_us in each) for part in PARTS}


@dataclass(frozen=True)
class _Gains:
    """The gains of a workload in each segment, for each way of counting."""

    engine: list[Number]
    mean: Number
    response: list[Number]
    one_at_a_time: list[Number]
    otherwise: Mapping[str, list[Number]]

    @property
    def at(self) -> int:
        """The segment that gains most on the engine."""
        return max(range(len(self.engine)), key=lambda i: self.engine[i].value)

    @property
    def under(self) -> dict[str, Evidence]:
        """The largest gain, with other ways of counting or decoding."""

        def largest(numbers: Sequence[Number]) -> Evidence:
            return Evidence(max(numbers, key=lambda number: number.value))

        return {
            _ONE_AT_A_TIME: largest(self.one_at_a_time),
            "with the wait for the die": largest(self.response),
            "the mean of segments": Evidence(self.mean),
            **{name: largest(numbers) for name, numbers in self.otherwise.items()},
        }


def _gains(plan: Plan, runs: Runs) -> dict[str, _Gains]:
    on, whole = (_compared(plan, runs, on_engine, quantity) for quantity in (READ_LATENCY, READ))
    alone = _compared(plan, runs, adaptive, READ_LATENCY)
    otherwise = {how: _compared(each, runs, on_engine, READ_LATENCY) for how, each in read_otherwise(plan).items()}

    def of(workload: Workload) -> _Gains:
        name = workload.name
        return _Gains(
            [gain_of(each, name) for each in on],
            _mean_gain(on, name),
            [gain_of(each, name) for each in whole],
            [gain_of(each, name) for each in alone],
            {how: [gain_of(each, name) for each in found] for how, found in otherwise.items() if not workload.file},
        )

    return {workload.name: of(workload) for workload in plan.workloads}


def _measure_fig06a(whole_plan: Plan, runs: Runs) -> Measured:
    plan = short(whole_plan)
    found, rows, told, evidence = _gains(plan, runs), [], [], {}
    for workload in plan.workloads:
        name, gains = workload.name, found[workload.name]
        for code, gain, of_response in zip(SEGMENTS, gains.engine, gains.response, strict=True):
            rows.append(bar(name, code.label, gain, 100, read_response_gain=100 * of_response.value))
        base, mine = (_split(plan, runs, workload, arm(gains.at)) for arm in (baseline, on_engine))
        takes, waits = sum(base.values()), base["wait_bus"] + base["wait_decoder"]
        if name in _PUBLISHED:
            evidence[f"gain_{name}"] = Evidence(
                gains.engine[gains.at],
                f"The largest of the segments, {SEGMENTS[gains.at].label}. A unit takes {takes:.1f} us with the "
                f"worst-case code, {waits:.1f} us of them waits for bus and decoder, and {sum(mine.values()):.1f} us "
                f"with short codewords. Sensing stays, so that no decoder saves more than "
                f"{as_share(1 - SENSE_US / takes, 1)} at this load.",
                under=gains.under,
                on_ours=gains.under[_ONE_AT_A_TIME],
            )
        ours = summaries(plan, runs, workload, baseline(gains.at))
        cells = [*gains.engine, gains.mean, gains.response[gains.at], max(gains.one_at_a_time, key=lambda n: n.value)]
        times = [
            f"{takes:.1f}",
            f"{waits:.1f}",
            as_share(fmean(s["utilisation"]["decoder"] for s in ours), significant=2),
        ]
        told.append([name, *(percent(cell) for cell in cells), *times])
    evidence |= _by_parallelism({name: gains.engine[gains.at] for name, gains in found.items()})
    heads = ["workload", *(code.label for code in SEGMENTS), "mean", "with the wait for the die", _ONE_AT_A_TIME]
    heads += ["worst case, us", "its waits, us", "its decoders busy"]
    note = (
        "Read latency saved by LAE-FTL: sensing, waits for bus and decoder, transfer and decoding of a unit, as the "
        "paper lists them; the wait for the die is not among them, and has a column of its own. Each segment is the "
        f"device in its middle, {listed([f'{age:,}' for age in AGES])} P/E cycles, at the segment's raw bit error "
        f"rate; the worst case is a fixed code of t = {WORST_CASE.correctable} at the same rate. Both have the same "
        "engine: what decodes one codeword of the worst case decodes several short ones at once, which share its "
        'multipliers. The text has one number a trace, the abstract "up to 63.42 %": the largest of the segments is '
        f"judged.\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), evidence, (note, NUMBERING))


def _by_parallelism(best: Mapping[str, Number]) -> dict[str, Evidence]:
    """Evidence whether the traces of the large device gain more than those of the small one."""
    of = {
        size: {name: best[name] for name in PUBLISHED["devices"][size]["traces"] if name in best}
        for size in ("small", "large")
    }
    if not all(of.values()):
        return {}
    least, most = min(n.value for n in of["large"].values()), max(n.value for n in of["small"].values())
    large, small = (fmean(number.value for number in of[size].values()) for size in ("large", "small"))
    told = listed([f"{percent(number)} ({name})" for name, number in best.items()])
    return {
        "parallel_traces": Evidence(
            Number.exact(large / small),
            f"The largest gains are {told}. The paper's four traces differ in more than the device: figure `parallel` "
            "reads the same on both.",
            in_all=least > most,
            in_mean=large > small,
        )
    }


def _draw_fig06a(frame: pl.DataFrame) -> Sheet:
    return bar_sheet(
        frame,
        "Figure 6(a): read latency saved in four segments",
        "%",
        colours=SEGMENT_COLOURS,
        line=None,
        note=f"over a fixed code of t = {WORST_CASE.correctable} on the same engine; without the wait for the die",
        digits=1,
        published={name: (100 * gain, 100 * gain) for name, gain in _PUBLISHED.items()},
    )


FIGURES = (Figure("6a", "Figure 6(a): read latency in four segments", _measure_fig06a, _draw_fig06a, _cases_fig06a),)

CLAIMS = (
    *(
        Claim(
            f"gain_{name}",
            "6a",
            f"{name}: read latency improves by {as_share(gain, 2)} (the largest of the segments)",
            gain,
            no_effect=0.0,
            unit="%",
            kind="measured" if name == "F1" else "invented workload",
            source=("claims.read_latency_gain_over_worst_case_bch",),
        )
        for name, gain in _PUBLISHED.items()
    ),
    Claim(
        "parallel_traces",
        "6a",
        "traces on more parallel flash gain more (mean of MSR over mean of F)",
        rule="order",
        kind="invented workload",
        source=("claims.more_parallel_flash_gains_more",),
    ),
)
