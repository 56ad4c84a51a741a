"""The published numbers of the paper, and the laws of wear through its four points."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from softsense import _core
from softsense.formats import as_share

PUBLISHED: dict[str, Any] = {
    "geometry": {"page_bytes": 8192, "unit_bytes": 4096, "oob_bytes_per_unit": 224, "pages_per_block": 256},
    "timing_us": {"read": 75.0, "program": 1200.0, "erase": 5000.0},
    "segment": [
        {"codeword_bytes": 512, "n": 4141, "k": 4096, "t": 15, "rber": 0.0003, "pe_cycles": 16000},
        {"codeword_bytes": 1024, "n": 8626, "k": 8192, "t": 31, "rber": 0.0008, "pe_cycles": 25000},
        {"codeword_bytes": 2048, "n": 17239, "k": 16384, "t": 57, "rber": 0.0012, "pe_cycles": 27000},
        {"codeword_bytes": 4096, "n": 34448, "k": 32768, "t": 105, "rber": 0.0015, "pe_cycles": 31000},
    ],
    "baseline_code": {"n": 34528, "k": 32800, "t": 108},
    "target": {"unit_bit_error_rate": 1e-15},
    "devices": {
        "small": {"capacity_gb": 0.9, "channels": 2, "dies_per_channel": 2, "traces": ["F1", "F2"]},
        "large": {"capacity_gb": 16.0, "channels": 4, "dies_per_channel": 4, "traces": ["MSR-src", "MSR-ts"]},
        "ecc_engines_per_channel": 1,
    },
    "late_stage": {
        "squeezed_unit_kb": [3.875, 3.75, 3.625, 3.5],
        "write_amplification_increase": [[0.032, 0.136], [0.067, 0.212], [0.110, 0.301], [0.142, 0.381]],
        "flash_reads_increase": [[0.096, 0.369], [0.101, 0.356], [0.207, 0.338], [0.112, 0.327]],
        "response_time_increase": [[0.128, 0.200], [0.170, 0.263], [0.230, 0.348], [0.277, 0.406]],
        "metadata_bytes_per_page": 24,
        "logical_units_per_physical_unit_max": 2,
    },
    "claims": {
        "read_latency_gain_over_worst_case_bch": [0.1167, 0.2304, 0.6342, 0.6165],
        "more_parallel_flash_gains_more": True,
    },
}
"""The published numbers, by the sections and names of `published/lae_ftl.toml`."""

GEOMETRY, LATE = PUBLISHED["geometry"], PUBLISHED["late_stage"]
UNIT: int = GEOMETRY["unit_bytes"]
OOB: int = GEOMETRY["oob_bytes_per_unit"]
SENSE_US: float = PUBLISHED["timing_us"]["read"]
UNITS_PER_PAGE: int = GEOMETRY["page_bytes"] // UNIT
LIMIT: float = PUBLISHED["target"]["unit_bit_error_rate"]
# Bytes for each unit: LUN, length and N-PUN of a squeezed unit take 24 B a page; the LUN alone otherwise.
METADATA: int = LATE["metadata_bytes_per_page"] // UNITS_PER_PAGE
LUN = 4
TRACES = (*PUBLISHED["devices"]["small"]["traces"], *PUBLISHED["devices"]["large"]["traces"])
"""The four workloads, in the order in which the paper names them and lists their numbers."""
CONFIG = "mlc-lae"
POLICY = "progressive:restart"
KIB = 1024
MIB = 1024 * KIB
EXACTLY = 0.005
WITHIN = 0.02

Criterion = Literal["unit_ber", "failure"]

KB = 1024.0

Law = Literal["power_law", "exponential"]
LAWS: tuple[Law, ...] = ("power_law", "exponential")
"""The paper says that raw bit error rates grow exponentially, and prints four of them, which both laws fit."""


@dataclass(frozen=True)
class Wear:
    """A law of wear through the paper's four raw bit error rates.

    Attributes:
        model: model of the raw bit error rate, as in a config.
        worst_factor: largest factor by which the law misses a point, 1 or more.
    """

    model: dict[str, Any]
    worst_factor: float

    def rber(self, pe_cycles: float) -> float:
        """The raw bit error rate after so many P/E cycles."""
        return _core.wear_law(json.dumps(self.model), [round(pe_cycles)], [], 0.0)[0][0]

    def pe_cycles(self, rber: float) -> float:
        """The P/E cycles after which the raw bit error rate is `rber`."""
        return float(_core.wear_law(json.dumps(self.model), [], [rber], 0.0)[1][0])

    @property
    def pe_exponent(self) -> float:
        """Exponent of the P/E cycles in the power law."""
        return float(self.model["power_law"]["pe_exponent"])


@cache
def wear(law: Law = "power_law") -> Wear:
    """The straight line through the logarithms of the paper's four raw bit error rates."""
    found = _core.fit_wear([(each["pe_cycles"], each["rber"]) for each in PUBLISHED["segment"]], law)
    return Wear(found["model"], found["worst_factor"])


def ranged(low: float, high: float) -> str:
    """A range of shares, for people."""
    return f"{100 * low:.1f} to {as_share(high, 1)}"
