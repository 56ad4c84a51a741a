"""Cells and chips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softsense.formats import as_number, as_rate, as_share
from softsense.measured_part import MOSTLY
from softsense.tables.layout import aligned, describe, headed, joined, listing, paneled


def chips(rows: Sequence[dict[str, float]]) -> str:
    """Known chips: their factors, raw bit error rates, and how often decoding fails."""
    names = [str(number) for number in range(len(rows))] + ["mean"]
    columns = []
    for key, digits, label in (("factor", 4, "\nfactor"), ("rber", 5, "\nRBER"), ("p_fail", 3, "decoding\nfails")):
        values = [row[key] for row in rows]
        columns.append((label, [as_number(value, digits) for value in [*values, sum(values) / len(values)]]))
    return paneled("Chips in the order of the stripe", "chip", names, columns, 150)


def cells(facts: dict[str, Any]) -> str:
    """The result of `softsense.flash.describe` as text."""
    rows = [
        ("cells", f"{facts['states']} states, {len(facts['pages'])} pages a wordline"),
        (
            "age",
            f"{facts['pe_cycles']:,} P/E cycles, {facts['retention_days']:,g} days"
            + (f", {facts['effective_reads']:,g} effective reads" if facts["effective_reads"] else ""),
        ),
        ("raw bit error rate", f"{as_rate(facts['rber'])}, the mean of the pages"),
        ("level", f"{facts['level']}, references by {facts['placement'].replace('_', ' ')}"),
    ]
    pages = facts["pages"]
    columns = [
        ("page", [page["name"] for page in pages], str.ljust),
        ("bits of the states", [page["bits"] for page in pages], str.ljust),
        ("RBER", [as_rate(page["rber"]) for page in pages], str.rjust),
        ("default references", [as_rate(page["default_references_rber"]) for page in pages], str.rjust),
        ("tracked", [as_rate(page["tracked_references_rber"]) for page in pages], str.rjust),
        ("hard references (V)", [" ".join(f"{v:.3f}" for v in page["hard_references_v"]) for page in pages], str.ljust),
        ("information, hard", [f"{page['hard_information_bits']:.4f}" for page in pages], str.rjust),
        (f"at level {facts['level']}", [f"{page['information_bits']:.4f}" for page in pages], str.rjust),
        ("sensings", [str(page["sensings"]) for page in pages], str.rjust),
        ("bits a cell", [str(page["bits_per_cell"]) for page in pages], str.rjust),
    ]
    states = [
        ("state", [str(state) for state in range(facts["states"])]),
        ("mean (V)", [f"{mean:.3f}" for mean in facts["means_v"]]),
        ("spread (V)", [f"{spread:.3f}" for spread in facts["spreads_v"]]),
    ]
    blocks = [
        describe(rows),
        joined([aligned(["", title, *shown], str.rjust) for title, shown in states]),
        joined([aligned(["", title, *shown], align) for title, shown, align in columns]),
    ]
    for page in pages:
        ends = ["", *(f"{reference:.3f}" for reference in page["references_v"]), ""]
        regions = [
            ("from (V)", ends[:-1]),
            ("to (V)", ends[1:]),
            ("P(region | 0)", [as_rate(zero) for zero, _ in page["probabilities"]]),
            ("P(region | 1)", [as_rate(one) for _, one in page["probabilities"]]),
            ("LLR", [f"{llr:+.2f}" for llr in page["llrs"]]),
            ("integer", [f"{llr:+d}" for llr in page["integer_llrs"]]),
        ]
        table = joined([aligned(["", title, *shown], str.rjust) for title, shown in regions])
        blocks.append(f"Regions of the {page['name']} page\n{table}")
    return "\n\n".join(blocks)


def rber_by_age(rows: list[dict[str, Any]]) -> str:
    """The result of `softsense.flash.rber_by_age` as a table."""
    pages = list(rows[0]["default_pages"])
    columns = [
        ("P/E\ncycles", [f"{row['pe_cycles']:,}" for row in rows]),
        ("retention\ndays", [f"{row['retention_days']:,g}" for row in rows]),
    ]
    for references in ("default", "tracked"):
        columns.append((f"RBER\n{references}", [as_rate(row[references]) for row in rows]))
        columns += [(f"\n{page}", [as_rate(row[f"{references}_pages"][page]) for row in rows]) for page in pages]
    columns += [
        (f"bits at\nlevel {level}", [f"{row['information'][level]:.4f}" for row in rows])
        for level in rows[0]["information"]
    ]
    return headed(columns)


def rber_by_reads(rows: list[dict[str, Any]]) -> str:
    """The result of `softsense.flash.rber_by_reads` as a table."""
    columns = [("\nreads", [f"{row['reads']:,.0f}" for row in rows if row["pattern"] == "even"])]
    for pattern, title in (("one_neighbour", "all of a wordline\nbeside"), ("even", "spread evenly\n")):
        of = [row for row in rows if row["pattern"] == pattern]
        head, line = title.split("\n")
        columns.append((f"{head}\n{line} effective".rstrip(), [f"{row['effective_reads']:,.0f}" for row in of]))
        columns += [
            (f"RBER\n{references}", [as_rate(row[references]) for row in of]) for references in ("default", "best")
        ]
    return headed(columns)


_MEASURES = {
    "violated_checks": "violated checks of a codeword",
    "ones": "ones of a page",
    "known_errors": "errors of known cells, upper less lower",
    "valley_search": "search for valleys: RBER after it",
}


def measures(rows: list[dict[str, Any]]) -> str:
    """The result of `softsense.flash.measures` as a table."""

    def searches(row: dict[str, Any]) -> bool:
        found: bool = row["measure"] == "valley_search"
        return found

    def number(row: dict[str, Any], value: float) -> str:
        return as_rate(value) if searches(row) else f"{value:,.1f}"

    def apart(row: dict[str, Any]) -> str:
        return f"{abs(row['default'] - row['best']) / row['sigma']:.1f}" if row["sigma"] else ""

    return headed(
        [
            ("\npage", [row["page"] for row in rows]),
            ("\nmeasure", [_MEASURES[row["measure"]] for row in rows]),
            ("\nof", [f"{row['of']:,}" for row in rows]),
            ("default\nreferences", ["" if searches(row) else number(row, row["default"]) for row in rows]),
            ("best\nones", [number(row, row["best"]) for row in rows]),
            ("\nsearched", [number(row, row["default"]) if searches(row) else "" for row in rows]),
            ("\nspread", [number(row, row["sigma"]) if row["sigma"] else "" for row in rows]),
            ("apart,\nspreads", [apart(row) for row in rows]),
            ("sensings at\none reference", [f"{row['sensings']:,}" for row in rows]),
            ("bits off\nthe chip", [f"{row['transferred_bits']:,}" for row in rows]),
        ]
    )


def cell_models(rows: list[dict[str, Any]]) -> str:
    """The list of cells, the result of `softsense.flash.listed`."""
    return listing(
        rows,
        ("\ncells", "name", str),
        ("bits\na cell", "bits", lambda bits: f"{bits}"),
        ("retry\nentries", "retry_entries", lambda entries: f"{entries}" if entries else "-"),
        ("reads\ndisturb", "reads_disturb", lambda disturb: "yes" if disturb else "-"),
        ("\nvoltages", "voltages", str),
        ("\npages", "pages", lambda pages: ", ".join(pages)),
    )


def reliability_by_age(rows: list[dict[str, Any]]) -> str:
    """The result of `softsense.flash.reliability_by_age` as a table."""
    of = {"tracked": "\nbest references", "default": "\ndefault references"}.get(rows[0]["references"] or "", "\nhard")
    bound = [(row["not_measured"] or 0.0) > MOSTLY for row in rows]
    marks = [("*" if star else " ") if any(bound) else "" for star in bound]
    said = "* an upper bound: most of it was not measured, but extrapolated or carried on (`softsense table show`)"
    told = headed(
        [
            ("retention\ndays", [f"{row['retention_days']:,g}" for row in rows]),
            ("P/E\ncycles", [f"{row['pe_cycles']:,}" for row in rows]),
            ("\nmean RBER", [as_rate(row["rber"]) for row in rows]),
            (f"P_fail,{of}", [as_rate(row["p_fail_hard"]) for row in rows]),
            ("retries,\nmean", [f"{row['retries']:.3f}" for row in rows]),
            ("P, no step\ndecodes", [as_rate(row["p_uncorrectable"]) for row in rows]),
            ("\nUBER", [as_rate(row["uber"]) + mark for row, mark in zip(rows, marks, strict=True)]),
        ]
    )
    return f"{told}\n\n{said}" if any(bound) else told


def starting_reliability(rows: list[dict[str, Any]]) -> str:
    """The result of `softsense.flash.starting_reliability` as a table."""
    columns = [
        ("at the start", [row["page_type"] for row in rows]),
        ("mean RBER", [as_rate(row["rber"]) for row in rows]),
        ("P_fail, hard", [as_rate(row["p_fail_hard"]) for row in rows]),
        ("P_fail, deepest level", [as_rate(row["p_fail"]) for row in rows]),
    ]
    return joined([aligned(["", title, *shown], str.rjust) for title, shown in columns])


def cell_fit(rows: list[dict[str, Any]]) -> str:
    """The errors of a fit by `softsense.measured_cells.fit`: the largest differences at each age."""

    def largest(rows: list[dict[str, Any]], column: str) -> str:
        values = [abs(row[column]) for row in rows if row[column] is not None]
        return f"{max(values):.2f}" if values else "-"

    ages = list(dict.fromkeys((row["pe_cycles"], row["retention_days"]) for row in rows))
    programmed, erased = (
        [
            [
                row
                for row in rows
                if (row["pe_cycles"], row["retention_days"]) == age and (row["state"] > 0) == is_programmed
            ]
            for age in ages
        ]
        for is_programmed in (True, False)
    )
    columns = [
        ("P/E\ncycles", [f"{cycles:,}" for cycles, _ in ages]),
        ("retention\ndays", [f"{days:,g}" for _, days in ages]),
    ]
    for title, column in (("fitted", ""), ("left out", "left_out_")):
        columns += [
            (f"{title}:\nmeans", [largest(each, f"{column}mean_off") for each in programmed]),
            ("\nspreads", [largest(each, f"{column}sigma_off") for each in programmed]),
            ("erased\nmean", [largest(each, f"{column}mean_off") for each in erased]),
            ("\nspread", [largest(each, f"{column}sigma_off") for each in erased]),
        ]
    return headed(columns)


def retry_table(offsets_v: list[list[float]], made_for: list[tuple[int, float]], decoded: list[float]) -> str:
    """The entries that `softsense.retry_tables.make` chose, as a table."""
    columns = [
        ("\nentry", [str(entry) for entry in range(len(offsets_v))]),
        ("best at\nP/E cycles", ["default", *(f"{cycles:,}" for cycles, _ in made_for[1:])]),
        ("\ndays", ["", *(f"{days:g}" for _, days in made_for[1:])]),
        *(
            (f"offset of\nboundary {at} (V)" if at == 0 else f"\n{at}", [f"{row[at]:+.4f}" for row in offsets_v])
            for at in range(len(offsets_v[0]))
        ),
        ("decoded up to it,\nof what is at best", [as_share(share, 4) for share in decoded]),
    ]
    return headed(columns)


def inference(boundaries: list[dict[str, Any]]) -> str:
    """The result of `softsense.inference.make` for each boundary, the best first."""
    rows = sorted(boundaries, key=lambda row: row["sentinels"][1])
    columns = [("measured\nboundary", [str(row["boundary"]) for row in rows])]
    for title, measured in (("exactly", "exactly"), ("sentinels", "sentinels"), ("share of ones", "share_of_ones")):
        columns += [
            (f"{title}:\nRBER / best", [f"{row[measured][0]:.3f}" for row in rows]),
            ("\nfail", [as_share(row[measured][1], 1) for row in rows]),
        ]
    return headed(columns)


def bake(times: dict[str, float]) -> list[tuple[str, str]]:
    """The result of `softsense.flash.bake_minutes`, as label and value rows."""
    return [
        ("recovery", f"{times['recovery_bake_minutes']:.1f} minutes, after cycling"),
        ("retention", f"{times['retention_bake_minutes']:.1f} minutes, after writing"),
    ]
