"""Is where data lies before a run the luck of a seed, which intervals cover, and not that of a capacity?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softsense

DEVICE = ("geometry.blocks_per_plane=64", "geometry.pages_per_block=96", "precondition.retention_days=0")
READS = 5000


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reads of 64 KiB, now and then: how fast they are is on how many dies 16 neighbouring codewords lie."""
    random = np.random.default_rng(7)
    sectors = random.choice(4_000_000, READS) // 128 * 128
    times = np.cumsum(random.exponential(1_000_000, READS)).astype(int)
    file = tmp_path_factory.mktemp("reads") / "reads.trace"
    file.write_text("".join(f"{time} 0 {sector} 128 1\n" for time, sector in zip(times, sectors, strict=True)))
    return file


def mean_us(trace: Path, over_provisioning: float, seed: int) -> float:
    fields = (*DEVICE, f"ftl.over_provisioning={over_provisioning:.4f}", f"seed={seed}")
    summary = softsense.run("tlc-femu", softsense.Trace(trace, format="mqsim"), overrides=fields).summary
    mean: float = summary["response"]["read"]["mean_us"]
    return mean


def test_a_little_more_room_changes_no_more_than_a_seed_does(reads: Path) -> None:
    """Twelve of each: the standard deviations of twelve draws alike differ threefold once in 2,000 times."""
    of_seeds = [mean_us(reads, 0.2, seed) for seed in range(1, 13)]
    of_rooms = [mean_us(reads, 0.2 + 0.0002 * step, 1) for step in range(12)]
    assert 1 / 3 < np.std(of_rooms, ddof=1) / np.std(of_seeds, ddof=1) < 3, (of_seeds, of_rooms)
    assert abs(np.mean(of_rooms) / np.mean(of_seeds) - 1) < 0.01
