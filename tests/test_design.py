"""Are codes by age those of the paper, fit for the pages that they are for, and ready to run?"""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from softsense import Config, ConfigError, api
from softsense.design import ecc_by_age

LAE = Config.open("mlc-lae")
POINTS = [(16_000, 3e-4), (25_000, 8e-4), (27_000, 1.2e-3), (31_000, 1.5e-3)]


def test_the_papers_rates_give_its_codes() -> None:
    found = ecc_by_age(LAE, points=POINTS)
    assert [stage["correctable"] for stage in found.stages] == [15, 31, 57, 105]
    assert [stage["codeword_bytes"] for stage in found.stages] == [512, 1024, 2048, 4096]
    assert [stage["to_pe_cycles"] for stage in found.stages] == [pe for pe, _ in POINTS]
    codes = found.config.fields.reliability.bch.codes
    assert [code["correctable"] for code in codes] == [15, 31, 57, 105]


def test_by_room_codes_are_those_of_the_shipped_device_but_for_what_the_paper_left_unused() -> None:
    """Of 512 bytes t = 16 fits, of 2 KB 58 and of 4 KB 110: the paper has what its rates need."""
    found = ecc_by_age(LAE, squeezes=[128, 256, 384, 512])
    assert [stage["correctable"] for stage in found.stages] == [16, 31, 58, 110, 170, 234, 298, 362]
    device = found.config.bch_codes()
    for stage, code in zip(found.stages, device, strict=True):
        assert stage["squeezed_bytes"] == code["squeezed_bytes"]
        assert stage["parity_bytes"] == code["codewords_per_unit"] * code["parity_bytes"]
        assert stage["parity_bytes"] + stage["metadata_bytes"] <= 224 + stage["squeezed_bytes"]


@pytest.mark.parametrize("law", ["power_law", "exponential"])
def test_a_law_is_laid_through_the_points(law: Literal["power_law", "exponential"]) -> None:
    found = ecc_by_age(LAE, points=POINTS, law=law, stages="room", squeezes=[512])
    assert list(found.rber) == [law]
    assert found.worst_factor is not None
    assert found.worst_factor < 1.16
    assert found.measured_to == 31_000
    # What is extrapolated hangs on the law.
    last = {"power_law": (55_000, 57_000), "exponential": (42_000, 45_000)}[law]
    assert last[0] < found.stages[-1]["to_pe_cycles"] < last[1]


@pytest.mark.parametrize("arguments", [{"points": POINTS}, {"code": "ldpc", "uber": 1e-14}])
def test_what_is_designed_runs(arguments: dict[str, Any]) -> None:
    found = ecc_by_age(LAE, **arguments)
    small = ["geometry.blocks_per_plane=40", "workload.requests=200", "workload.footprint_bytes=4194304"]
    summary = api.run(found.config.with_overrides(small)).summary
    assert summary["requests"] == 200
    assert summary["codeword_reads"]["uncorrectable"] == 0
    assert found.section.count("\n") + 1 == len(found.overrides)
    json.dumps(found.to_dict(), allow_nan=False)


def test_measured_codes_leave_less_and_less_data() -> None:
    found = ecc_by_age(LAE, code="ldpc", uber=1e-14)
    units = [stage["units"] for stage in found.stages]
    assert units == sorted(units, reverse=True) == [13, 12, 10, 8, 5, 4]
    ages = [stage["to_pe_cycles"] for stage in found.stages]
    assert ages == sorted(ages)


def test_designs_without_rates_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"rber: found no raw bit error rates"):
        ecc_by_age(LAE.with_overrides(["reliability=perfect", "decoder.time={ fixed_us = 1.0 }"]), oob_bytes=224)
