"""The published numbers of LaLDPC, and where those are used that no claim judges."""

from __future__ import annotations

from typing import Any

DEVICE = "mlc-laldpc"

PUBLISHED: dict[str, Any] = {
    "redundant_retries_removed": 0.56,
    "read_performance_gain": 0.18,
    "system_response_gain": 0.24,
    "mapping_cache_mb": 64,
    "cache_sizes_mb": [32, 64, 128],
    "fixed_entries": 2000,
    "fixed_entry_lengths": [500, 2000, 5000],
    "pe_cycles": 10_000,
    "pe_stages": [8_000, 10_000, 12_000],
    "initial_retention_days": 365,
    "expected_levels": [3, 4],
    "cache_entry_bytes": 8,
    "level_bits": 4,
}
"""The published numbers, by the names of `published/laldpc.toml`."""

RBER_BELOW = (0.005, 0.006, 0.008, 0.009, 0.010, 0.012, 0.013)
"""Table II: the raw bit error rates below which levels 1 to 7 suffice."""

LATENCY_US = (85, 109, 133, 157, 181, 205, 229)
"""Table II: the time of an attempt at levels 1 to 7, us."""

EXACTLY = 0.005
"""The tolerance of numbers that follow from inputs by an equation."""

KIB = 1024
MIB = 1024 * KIB

CACHE_BYTES = PUBLISHED["mapping_cache_mb"] * KIB
"""Size of the mapping cache, bytes. The printed MB are read as KiB: see figure `assumed`."""

LEVEL_BITS_SHARE = PUBLISHED["level_bits"] / (8 * PUBLISHED["cache_entry_bytes"])
"""The part of the mapping cache that remembered levels take, by section III-E."""

_KEPT = "mlc-laldpc: "
_WHOLE = "a row of `stand_ins.WORKLOADS`, by which stand-ins are made; claims judge what of it is real"
_VTH = "the constant of the paper's eq. 1, which `reliability.table.rber.threshold_voltage` has as its default"

INPUTS: dict[str, str] = {
    "timing_us.sense_first_level": _KEPT + "flash.page_types[0].sense_us",
    "timing_us.sense_extra_level": _KEPT + "flash.page_types[0].sense_extra_level_us",
    "timing_us.transfer_first_level": _KEPT + "bus.transfer_us",
    "timing_us.transfer_extra_level": _KEPT + "bus.transfer_extra_level_us",
    "timing_us.decode": _KEPT + "decoder.time.fixed_us",
    "timing_us.program": _KEPT + "flash.page_types[0].program_us",
    "timing_us.erase": _KEPT + "flash.erase_us",
    **{f"read_level[{i}].level": "the number of the level, by its place in the list" for i in range(7)},
    **{f"read_level[{i}].rber_below": "a threshold of the table `laldpc-thresholds`" for i in range(7)},
    **{f"read_level[{i}].latency_us": "the sum of table I's times, which figure 5(a) meets" for i in range(7)},
    "geometry.capacity_gb": "32 GB are 2,048 blocks a plane, as the paper's machine has; printed are 1,024, half of it",
    "geometry.over_provisioning": _KEPT + "ftl.over_provisioning",
    "geometry.packages": _KEPT + "geometry.channels",
    "geometry.planes_per_package": _KEPT + "geometry.planes_per_die",
    "geometry.blocks_per_plane": _KEPT + "geometry.blocks_per_plane",
    "geometry.pages_per_block": _KEPT + "geometry.pages_per_block",
    "geometry.page_bytes": _KEPT + "geometry.codeword_bytes",
    **{f"vth_model.{name}": _VTH for name in ("k0", "k1", "k2", "x0")},
    "vth_model.program_step_v": _KEPT + "reliability.table.rber.threshold_voltage.program_step_v",
    "basic_experiment.mapping_cache_mb": "read as 64 KiB, `ftl.mapping.demand.cache_bytes`: 64 MB would hold the "
    "whole map",
    "basic_experiment.cache_sizes_mb": "the cache sizes of figure 13, in KiB",
    "basic_experiment.fixed_entries": _KEPT + "ftl.mapping.demand.eviction.lowest_level.fixed_entries",
    "basic_experiment.fixed_entry_lengths": "the fixed lengths of figure 13",
    "basic_experiment.pe_cycles": _KEPT + "precondition.pe_cycles",
    "basic_experiment.pe_stages": "the stages of life of figures 5(b) and 13",
    "basic_experiment.initial_retention_days": _KEPT + "precondition.retention_days",
    "basic_experiment.cache_entry_bytes": _KEPT + "ftl.mapping.demand.entry_bytes",
    "basic_experiment.methods": "the four methods, by these names",
    "workloads.columns": "the fields of `stand_ins.Row`",
    "workloads.rows": _WHOLE,
}
"""The use of each published number that no claim judges."""
