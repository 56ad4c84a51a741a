"""Does every shipped config run?"""

from __future__ import annotations

from pathlib import Path

import pytest

import softsense
from conftest import CONFIGS


@pytest.mark.parametrize("file", sorted(CONFIGS.glob("*.toml")), ids=lambda file: file.stem)
def test_config_runs_on_its_own_workload(file: Path) -> None:
    result = softsense.run(file, overrides=["workload.requests=2000"])
    assert result.summary["requests"] == 2000
    assert not result.interrupted


def test_there_are_configs() -> None:
    assert {"mlc-25nm", "mlc-laldpc", "tlc-femu"} <= {file.stem for file in CONFIGS.glob("*.toml")}
