"""The published numbers, and the device: cells, layers, and the limits at which they are reclaimed."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from softsense._core import Cells
from softsense.papers import inline
from softsense.papers.comparing import Arm, first_beyond
from softsense.papers.techniques import CAPABILITY_RBER, at_age, of_cells

PUBLISHED: dict[str, Any] = {
    "flash": {
        "adjacent_stress": 8.4,
        "reads_until_failure": {"one_neighbour_hammered": 54560, "uniform": 518420},
        "vpass_minus_5_percent_raises_tolerance": 0.591,
        "wordline_classes": ["best", "good", "bad", "worst"],
        "wordlines_per_block": 704,
        "qlc_176_layers": {"host_reads_tb": 30, "internal_writes_tb": 8.7},
    },
    "mechanism": {"rec_entries": 32},
    "claims": {
        "copies_reduction": {"0": 0.900, "1000": 0.922, "2000": 0.936},
        "p999_reduction": {"0": 0.652, "1000": 0.711, "2000": 0.756},
        "erasures_reduction_mixed": 0.536,
        "read_latency_overhead": 0.012,
    },
}
"""The published numbers, by the names of `published/straw.toml`, which tells mechanisms in words."""

FLASH, CLAIMED = PUBLISHED["flash"], PUBLISHED["claims"]
CELLS, QLC_CELLS = "tlc-charge-trap", "qlc-charge-trap"
WORDLINES = FLASH["wordlines_per_block"]

COMPRESSED = 50
"""Number of reads that each simulated read stands for."""

_LAYER_FACTORS = (0.74, 0.82, 0.88, 0.94, 1.0, 1.07, 1.17, 1.35)
"""Factors of layers on raw bit error rates [assumed]: eight layers, two of each class."""

_LAYERS = f"reliability.table.variation={inline({'layer_factors': list(_LAYER_FACTORS)})}"

_CLASSES = len(FLASH["wordline_classes"])

_BLOCKS = 40
"""Number of blocks of a plane."""


@cache
def _compressed(whole_table: bool = False) -> dict[str, Any]:
    """The cells, disturbed by each read as by many.

    Soft levels follow at once after the default references. The retry table, which is left out unless `whole_table`
    asks for it, goes down for data that has lost charge, and does not help where reads have raised the voltages.
    """
    spec: dict[str, Any] = json.loads(Cells.open(CELLS).spec_json)
    disturb, references = spec["read_disturb"], spec["references"]
    return spec | {
        "read_disturb": disturb | {"doubling_reads": disturb["doubling_reads"] / COMPRESSED},
        "references": references | {"retry_table_v": references["retry_table_v"][: None if whole_table else 1]},
    }


def stress() -> float:
    """Number of reads of other wordlines that a read of a neighbour counts as, for these cells."""
    return float(_compressed()["read_disturb"]["adjacent_stress"])


@cache
def limit(pe_cycles: int, layer_factor: float) -> float:
    """Effective reads after which the worst page of a layer is beyond the code, just written, with default
    references.
    """
    cells = Cells.from_json(json.dumps(_compressed()), pe_cycles, 0.0).with_references("default")

    def is_beyond(reads: float) -> bool:
        aged = cells.at(pe_cycles, 0.0, reads)
        return layer_factor * max(aged.rber(page) for page in range(len(aged.pages))) > CAPABILITY_RBER

    return first_beyond(0.0, 1e8 / COMPRESSED, is_beyond)


def _device(pe_cycles: int, *, disturbed: bool = True) -> tuple[str, ...]:
    spec = _compressed() if disturbed else {k: v for k, v in _compressed().items() if k != "read_disturb"}
    return (
        f"geometry.blocks_per_plane={_BLOCKS}",
        f"geometry.pages_per_block={3 * WORDLINES}",
        *("geometry.channels=2", "geometry.chips_per_channel=1", "geometry.dies_per_chip=1"),
        of_cells(Cells.from_json(json.dumps(spec))),
        _LAYERS,
        *("ftl.over_provisioning=0.3", "precondition.layout=sequential", "host.write_buffer_bytes=0"),
        *at_age(pe_cycles, 1.0),
    )


def on_two_dies() -> tuple[str, ...]:
    """Overrides with which a drive of any TLC has these cells, and so few blocks that a run reads them often enough."""
    return (
        *_device(0)[:5],
        of_cells(Cells.from_json(json.dumps(_compressed(whole_table=True)))),
        _LAYERS,
        *("ftl.over_provisioning=0.3", "ftl.slc_cache=none", "precondition.layout=sequential"),
    )


UNDISTURBED = "undisturbed cells"
"""An upper bound: cells that reads do not disturb, so that nothing has to be reclaimed."""


def _reclaims(pe_cycles: int) -> dict[str, dict[str, Any]]:
    """Settings of each way to reclaim: a block when its worst wordline might be lost, or a wordline when it is near
    that.
    """
    by_layer = [limit(pe_cycles, factor) for factor in _LAYER_FACTORS]
    each = len(_LAYER_FACTORS) // _CLASSES
    # The worst layer of each class, the best class first.
    limits = [min(by_layer[each * rank : each * (rank + 1)]) for rank in range(_CLASSES)]
    wordline = {"effective_reads": limits, "counters": PUBLISHED["mechanism"]["rec_entries"]}
    return {
        UNDISTURBED: {},
        "blocks": {"block": {"reads": int(min(by_layer) / stress())}},
        "wordlines": {"wordline": wordline},
        "STRAW": {"wordline": wordline | {"pass_through_reduction": 0.05}},
    }


def reclaim_at(reclaim: str, pe_cycles: int) -> str:
    """The override for a way of reclaiming with its limits at a stage of life."""
    return f"ftl.read_reclaim={inline(_reclaims(pe_cycles)[reclaim])}"


@cache
def arm_of(reclaim: str, pe_cycles: int) -> Arm:
    """The arm of a way of reclaiming at a stage of life."""
    how = _reclaims(pe_cycles)[reclaim]
    fields = (f"ftl.read_reclaim={inline(how)}",) if how else ()
    device = _device(pe_cycles, disturbed=reclaim != UNDISTURBED)
    return Arm(reclaim, "progressive", (*device, *fields))
