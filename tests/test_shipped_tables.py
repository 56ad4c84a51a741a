"""Do the shipped decode tables say what their codes do?"""

import json
from pathlib import Path

import pytest

from softsense import Code, codes, decode_tables
from softsense._core import FrameTask, binomial_interval
from softsense._core import decode_tables as shipped_tables

MEASURED = [name for name in shipped_tables() if name != "laldpc-thresholds"]
LDPC = [name for name in MEASURED if not name.startswith("bch-")]
MET_AT_ONCE = {"flash-8-9", "irregular-8-9", "adaptive-1-2"}
"""The others are met again by `make laws`."""


def code_of(table: dict[str, object]) -> Code:
    return Code.open(str(table["code"]).split(":")[0])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.law] * (name not in MET_AT_ONCE)) for name in LDPC]
)
def test_measured_tables_are_met_again(name: str) -> None:
    """Frames of another seed, at the point of each level where nearest to half of them fail.

    A table that is off by a quarter of its probability is seen with power above 0.9; intervals of 99.99 % are disjoint
    by chance in fewer than one of a thousand runs.
    """
    table = decode_tables.describe(name)
    code = code_of(table)
    for number, level in enumerate(table["level"], start=1):
        at = min(range(len(table["rber"])), key=lambda i: abs(level["p_fail"][i] - 0.5))
        placement = "nested" if name.endswith("-nested") else "mutual_information"
        channel = {"gaussian": {"rber": table["rber"][at], "level": number, "placement": placement}}
        spec = {"decoder": "min-sum", "iterations": table["max_iterations"], "seed": 12345, "channel": channel}
        counts = FrameTask(code, json.dumps(spec)).count(None, 0, 1)
        assert counts
        low, high = binomial_interval(counts["failures"], counts["frames"], 0.9999)
        assert low <= level["p_fail_hi"][at], (number, table["rber"][at])
        assert high >= level["p_fail_lo"][at], (number, table["rber"][at])


@pytest.mark.parametrize("name", sorted(set(MEASURED) - set(LDPC)))
def test_bch_tables_are_the_binomial_tail(name: str) -> None:
    table = decode_tables.describe(name)
    code = code_of(table)
    for rber, p_fail in zip(table["rber"], table["level"][0]["p_fail"], strict=True):
        expected = codes.failure_probability(code.codeword_bits, code.correctable, rber)
        assert p_fail == pytest.approx(expected, rel=1e-7)


def test_every_code_has_its_table() -> None:
    of_codes = {name.replace("/", "-") for name, _ in Code.entries() if name != "teaching-1/2"}
    assert set(MEASURED) == of_codes | {"flash-8-9-nested"}


def test_nested_references_fail_no_less() -> None:
    """Levels 1 and 7 are the same either way, but for sampling; between, references that must stay cost something."""
    free, nested = (decode_tables.describe(name) for name in ("flash-8-9", "flash-8-9-nested"))
    assert free["rber"] == nested["rber"]
    for level, (ours, theirs) in enumerate(zip(nested["level"], free["level"], strict=True), start=1):
        for lowest, highest in zip(theirs["p_fail_lo"], ours["p_fail_hi"], strict=True):
            assert highest >= lowest, level
    at = free["rber"].index(0.013)
    assert nested["level"][1]["p_fail"][at] > 100 * free["level"][1]["p_fail"][at]


def test_the_files_are_the_tables() -> None:
    folder = Path(__file__).parents[1] / "crates" / "link" / "tables"
    assert {file.stem for file in folder.glob("*.toml")} == {"laldpc-thresholds", *LDPC}
