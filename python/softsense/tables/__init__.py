"""Results as text for people: aligned blocks, no line ever cut, and of a comparison the finding in one sentence."""

from softsense.tables.comparisons import TIME_PARTS, Block, blocks, results
from softsense.tables.findings import SATURATED, finding, own_costs, warnings
from softsense.tables.layout import Column, describe, paneled
from softsense.tables.of_cells import (
    bake,
    cell_fit,
    cells,
    chips,
    inference,
    measures,
    rber_by_age,
    rber_by_reads,
    reliability_by_age,
    retry_table,
    starting_reliability,
)
from softsense.tables.of_codes import bench, code, codes, configs, conformance, design, hardware, lifetime
from softsense.tables.of_designs import code_design
from softsense.tables.of_rates import (
    FAILURES,
    THRESHOLDS,
    decode_table,
    decode_table_columns,
    decode_table_rows,
    fer,
    fer_disagreement,
    fer_levels,
    fer_notes,
    fer_rows,
    threshold_columns,
    threshold_notes,
)
from softsense.tables.of_tenants import fairness
from softsense.tables.of_traps import traps

__all__ = [
    "FAILURES",
    "SATURATED",
    "THRESHOLDS",
    "TIME_PARTS",
    "Block",
    "Column",
    "bake",
    "bench",
    "blocks",
    "cell_fit",
    "cells",
    "chips",
    "code",
    "code_design",
    "codes",
    "configs",
    "conformance",
    "decode_table",
    "decode_table_columns",
    "decode_table_rows",
    "describe",
    "design",
    "fairness",
    "fer",
    "fer_disagreement",
    "fer_levels",
    "fer_notes",
    "fer_rows",
    "finding",
    "hardware",
    "inference",
    "lifetime",
    "measures",
    "own_costs",
    "paneled",
    "rber_by_age",
    "rber_by_reads",
    "reliability_by_age",
    "results",
    "retry_table",
    "starting_reliability",
    "threshold_columns",
    "threshold_notes",
    "traps",
    "warnings",
]
