"""Tables III and IV: the workloads, and their soft reads."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import Claim, Evidence, Figure, Measured, Number, Plan, Runs, Workload, markdown_table, resting_on
from softsense.papers.comparing import Summary, cases, summaries
from softsense.papers.drawing import bar_sheet
from softsense.papers.laldpc.methods import OURS, REAL_NOTE, draw_workloads, soft_ratio, soft_share, values_of
from softsense.papers.laldpc.published import EXACTLY
from softsense.papers.stand_ins import DAY_S, PAGE_BYTES, ROWS, SECTOR_BYTES

if TYPE_CHECKING:
    from softsense.charts import Sheet


def _sectors(summary: Summary) -> tuple[int, int]:
    """Sectors that were read and written."""
    trace = summary["source"].get("trace")
    if trace:
        return trace["bytes_read"] // SECTOR_BYTES, trace["bytes_written"] // SECTOR_BYTES
    return summary["reads"] * PAGE_BYTES // SECTOR_BYTES, summary["writes"] * PAGE_BYTES // SECTOR_BYTES


def _measure_table3(plan: Plan, runs: Runs) -> Measured:
    rows = []
    for workload in plan.workloads:
        row, summary = ROWS[workload.name], summaries(plan, runs, workload, OURS.base)[0]
        read, written = _sectors(summary)
        rows.append(
            {
                "workload": row.name,
                "real": workload.file is not None,
                "published_reads": row.reads,
                "published_writes": row.writes,
                "published_read_ratio": row.read_ratio,
                "published_reads_of_both": row.reads / (row.reads + row.writes),
                "published_days": row.days,
                "requests": summary["requests"],
                "reads": summary["reads"],
                "writes": summary["writes"],
                "sectors_read": read,
                "sectors_written": written,
                "sectors_read_of_both": read / (read + written),
                "days": summary["simulated_s"] / DAY_S,
            }
        )
    frame = pl.DataFrame(rows)
    heads = ["workload", "reads", "writes", "read ratio", "days", "requests run", "sectors read", "written", "of both"]
    told = [
        [
            row["workload"] + ("*" if row["real"] else ""),
            f"{row['published_reads']:,}",
            f"{row['published_writes']:,}",
            as_share(row["published_read_ratio"], 0),
            f"{row['published_days']:g}",
            f"{row['requests']:,}",
            f"{row['sectors_read']:,}",
            f"{row['sectors_written']:,}",
            as_share(row["sectors_read_of_both"], 1),
        ]
        for row in rows
    ]
    differ = [
        f"{row['workload']} ({as_share(row['published_read_ratio'], 0)} printed, "
        f"{as_share(row['published_reads_of_both'], 1)} by its counts)"
        for row in rows
        if abs(row["published_read_ratio"] - row["published_reads_of_both"]) > 0.015
    ]
    notes = [f"Printed, and what was run (* real):\n\n{markdown_table(heads, told)}"]
    if differ:
        notes.append(f"Printed read ratios that are not reads over reads and writes: {listed(differ)}.")
    evidence = {}
    whole = next((row for row in rows if row["workload"] == "rsrch1" and row["real"]), None)
    if whole:
        printed, found = (whole[f"{kind}reads"] + whole[f"{kind}writes"] for kind in ("published_", ""))
        sectors = whole["sectors_read"] + whole["sectors_written"]
        why = (
            f"rsrch1 is here whole. It reads {whole['sectors_read']:,} sectors and writes "
            f"{whole['sectors_written']:,}, printed are {whole['published_reads']:,} and "
            f"{whole['published_writes']:,}; its requests are {whole['reads']:,} and {whole['writes']:,}, "
            f"{found / printed:.2f} of what is printed. So table III counts sectors of 512 bytes, and a stand-in has "
            "one request of 4 KiB for eight of them."
        )
        evidence["counts_sectors"] = Evidence(Number.exact(sectors / printed), why)
    excerpt = next((row for row in rows if row["workload"] == "F1" and row["real"]), None)
    if excerpt:
        notes.append(
            f"F1 is printed with {as_share(excerpt['published_read_ratio'], 0)} of reads; of the sectors of the "
            f"excerpt of Financial1 {as_share(excerpt['sectors_read_of_both'], 0)} are read, and "
            f"{100 * excerpt['reads'] / excerpt['requests']:.0f} % of its requests. The public trace is not the "
            "printed one."
        )
    return Measured(frame, evidence, tuple(notes))


def _draw_table3(frame: pl.DataFrame) -> Sheet:
    bars = {
        "printed": "published_read_ratio",
        "by the printed counts": "published_reads_of_both",
        "of the sectors run": "sectors_read_of_both",
    }
    rows = [
        {"group": row["workload"] + ("*" if row["real"] else ""), "bar": bar, "value": row[column]}
        for row in frame.iter_rows(named=True)
        for bar, column in bars.items()
    ]
    values = pl.DataFrame(rows).with_columns(lo="value", hi="value")
    colours = dict(zip(bars, ("#7f7f7f", "#56b4e9", "#0072b2"), strict=True))
    note = REAL_NOTE if frame["real"].any() else "all workloads are stand-ins"
    return bar_sheet(values, "Table III: share of reads", "share", colours=colours, line=None, note=note)


def _measure_table4(plan: Plan, runs: Runs) -> Measured:
    frame = values_of(plan, runs, [replace(OURS.base, label="measured")], soft_share)
    frame = frame.filter(pl.col("group") != "mean")
    published = pl.DataFrame(
        {"group": name, "bar": "published", "value": ROWS[name].soft_read_ratio, "real": real}
        for name, real in frame.select("group", "real").iter_rows()
    ).with_columns(lo="value", hi="value")
    evidence = {}
    for workload in plan.workloads:
        if workload.file:
            evidence[f"soft_{workload.name}"] = _soft_evidence(plan, runs, workload)
    off = [
        abs(soft_ratio(plan, runs, workload) - ROWS[workload.name].soft_read_ratio)
        for workload in plan.workloads
        if not workload.file
    ]
    note = (
        "A soft read is one that needs a level above 1, here by codewords that the host read from flash. Stand-ins "
        f"are made to have the published ratios, and miss them by {as_share(max(off), 1)} of reads at most: this is a "
        "check of the stand-ins, not of the paper."
        if off
        else "A soft read is one that needs a level above 1."
    )
    return Measured(pl.concat([published.select(frame.columns), frame]), evidence, (note,))


def _soft_evidence(plan: Plan, runs: Runs, workload: Workload) -> Evidence:
    found = summaries(plan, runs, workload, OURS.base)
    reads = [summary["codeword_reads"] for summary in found]
    merged = fmean(summary["writes_detail"]["read_modify_writes"] for summary in found)
    count, soft = (
        fmean(each) for each in ([r["count"] for r in reads], [sum(r["level_histogram"][1:]) for r in reads])
    )
    ratio = Number.of([soft_share(summary) for summary in found])
    why = (
        f"The trace is {workload.what}. Of {count:,.0f} codewords that it reads from flash {soft:,.0f} are of data "
        "that it has not written before."
    )
    under = {}
    if merged:
        why += f" Writes that cover a codeword in part read another {merged:,.0f} first."
        with_merged = [_soft_with_merged(summary) for summary in found]
        under = {"reads before partial writes count, and are all soft": Evidence(Number.of(with_merged))}
    unlike = "An excerpt has written less before it reads than the whole." if "excerpt" in workload.what else ""
    return Evidence(ratio, why, unlike=unlike, under=under)


def _soft_with_merged(summary: Summary) -> float:
    """The share of soft reads if the reads before partial writes count, and are all soft."""
    reads, merged = summary["codeword_reads"], summary["writes_detail"]["read_modify_writes"]
    soft: int = sum(reads["level_histogram"][1:])
    share: float = (soft + merged) / (reads["count"] + merged)
    return share


FIGURES = (
    Figure("table3", "Table III: the workloads", _measure_table3, _draw_table3, lambda plan: cases(plan, OURS.base)),
    Figure(
        "table4",
        "Table IV: soft reads",
        _measure_table4,
        draw_workloads("Table IV: share of reads that need soft sensing", "share of reads", None),
        lambda plan: cases(plan, OURS.base),
    ),
)

CLAIMS = (
    *resting_on(
        "own check",
        Claim(
            "counts_sectors",
            "table3",
            "table III's reads and writes are sectors: those of rsrch1's trace over the printed ones",
            1.0,
            tolerance=EXACTLY,
        ),
    ),
    *(
        Claim(
            f"soft_{name}",
            "table4",
            f"{as_share(ROWS[name].soft_read_ratio, 0)} of {name}'s reads need soft sensing",
            ROWS[name].soft_read_ratio,
            unit="%",
        )
        for name in ("rsrch1", "F1", "hm0")
    ),
)
