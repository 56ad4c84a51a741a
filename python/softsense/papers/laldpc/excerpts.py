"""Real traces and excerpts of them, on the shipped device and on the paper's machine."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense.formats import as_share
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.comparing import Compared, cases, percent, saved
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc.methods import (
    FLASH_READ,
    GAINS,
    MAIN,
    OURS,
    average,
    removed_of,
    retries,
    soft_ratio,
)
from softsense.papers.laldpc.published import PUBLISHED
from softsense.papers.laldpc.workloads import WDEV3

if TYPE_CHECKING:
    from softsense.charts import Sheet

_MACHINES = {"ours": OURS, "serial": MAIN}


def _plan(plan: Plan) -> Plan:
    """The plan with the real workloads among the paper's and wdev_3, or with all stand-ins where no trace is given.

    The plan has one seed, as a trace and its fates are the same with each seed.
    """
    real = tuple(workload for workload in plan.workloads if workload.file)
    return replace(plan, workloads=(*real, WDEV3) if real else plan.workloads, seeds=plan.seeds[:1])


def _cases(plan: Plan) -> list[Case]:
    return [case for machine in _MACHINES.values() for case in cases(_plan(plan), *machine.all)]


def _measure_excerpts(plan: Plan, runs: Runs) -> Measured:
    mine = _plan(plan)
    rows: list[dict[str, Any]] = []
    told = []
    for machine, method in _MACHINES.items():
        for workload in mine.workloads:
            one = replace(mine, workloads=(workload,))
            cells = [f"{workload.name}, {machine}", as_share(soft_ratio(one, runs, workload, method), 1)]
            numbers: dict[str, list[Number]] = {}
            some = average(one, runs, method.base, retries) > 0
            gone = [removed_of(one, runs, workload, method, arm, retries)[0] if some else 0.0 for arm in method.all[1:]]
            cells.append(", ".join(as_share(each, 1) for each in gone[1:]) if some else "none")
            for measure, quantity in GAINS.items():
                compared = Compared(one, runs, method.all[1:], method.base, quantity)
                numbers[measure] = [saved(compared.mean(arm)) for arm in compared.arms]
                cells.append(", ".join(percent(number) for number in numbers[measure]))
            for arm, share in zip(method.all[1:], gone, strict=True):
                index = method.all.index(arm) - 1
                row = {"workload": workload.name, "machine": machine, "method": arm.label, "retries_removed": share}
                rows.append(row | {measure: found[index].value for measure, found in numbers.items()})
            told.append(cells)
    heads = [
        "",
        "soft reads",
        "retries removed: LRU, new",
        *(f"gain, {measure}: Ideal, LRU, new" for measure in GAINS),
    ]
    note = (
        "Real arrivals, sizes and addresses, on the shipped device and on the paper's machine; wdev_3 is not among "
        f"the paper's workloads.\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows), _evidence(plan, runs), (note,))


def _evidence(plan: Plan, runs: Runs) -> dict[str, Evidence]:
    """Evidence whether the real workloads that are printed with much soft sensing gain much."""
    soft = tuple(workload for workload in plan.workloads if workload.file and workload.name in ("rsrch1", "F1"))
    if not soft:
        return {}
    mine = replace(plan, workloads=soft, seeds=plan.seeds[:1])
    compared = Compared(mine, runs, [MAIN.new], MAIN.base, FLASH_READ)
    gains = {name: saved(compared.number(name, MAIN.new)) for name in compared.workloads}
    enough = PUBLISHED["read_performance_gain"] / 2
    why = (
        f"Flash read latency saved: {', '.join(f'{percent(gain)} on {name}' for name, gain in gains.items())}. "
        f"Significant is taken as {as_share(enough, 0)}, half of the published mean. rsrch1 has no such reads here: "
        "see table IV."
    )
    found = [gain.value for gain in gains.values()]
    mean = Number.exact(fmean(found))
    return {
        "much_soft_gains": Evidence(
            mean,
            why,
            in_all=min(found) >= enough,
            in_mean=mean.value >= enough,
            unlike="F1 is here an excerpt of another trace than the printed one: see tables III and IV.",
        ),
    }


def _draw_excerpts(frame: pl.DataFrame) -> Sheet:
    rows = [
        {"group": f"{row['workload']}\n{row['machine']}", "bar": measure, "value": 100 * row[measure]}
        for row in frame.filter(pl.col("method") == "LaLDPC-new").iter_rows(named=True)
        for measure in GAINS
    ]
    values = pl.DataFrame(rows).with_columns(lo="value", hi="value")
    colours = dict(zip(GAINS, ("#0072b2", "#56b4e9", "#e69f00"), strict=True))
    title = "Real traces and excerpts: gains of LaLDPC-new"
    return bar_sheet(values, title, "%", colours=colours, line=0.0, note="over LDPC-in-SSD", digits=1)


FIGURES = (Figure("excerpts", "Real traces and excerpts", _measure_excerpts, _draw_excerpts, _cases),)

CLAIMS = (
    Claim(
        "much_soft_gains",
        "excerpts",
        "flash reads of workloads with much soft sensing, as rsrch1 and F1, gain significantly (mean of both)",
        rule="order",
        unit="%",
    ),
)
