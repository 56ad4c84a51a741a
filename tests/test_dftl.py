"""Is the map in flash what is asked for, and are its hits those of an independent computation?"""

from __future__ import annotations

import csv
from pathlib import Path

import softsense
from softsense import Trace

ENTRY_BYTES = 8
CODEWORD = 4096


def stack_distances(accesses: list[int]) -> list[int | None]:
    """How many different codewords were used since the last use of each, None for a first use (Mattson et al., 1970).

    Times of last uses stand in a binary indexed tree, so that counting those after a time takes O(log n).
    """
    tree = [0] * (len(accesses) + 1)

    def add(at: int, value: int) -> None:
        at += 1
        while at < len(tree):
            tree[at] += value
            at += at & -at

    def before(at: int) -> int:
        total = 0
        while at > 0:
            total += tree[at]
            at -= at & -at
        return total

    last: dict[int, int] = {}
    distances: list[int | None] = []
    for now, codeword in enumerate(accesses):
        used = last.get(codeword)
        distances.append(None if used is None else before(now) - before(used + 1))
        if used is not None:
            add(used, -1)
        add(now, 1)
        last[codeword] = now
    return distances


def test_stack_distances_of_a_known_sequence() -> None:
    assert stack_distances([1, 2, 3, 1, 1, 2]) == [None, None, None, 2, 0, 2]


def test_lru_hits_are_those_of_the_stack_distances(shared: Path, config: Path, tmp_path: Path) -> None:
    """On a real trace, one request at a time: an access hits if fewer codewords than entries were used since its last.

    Codewords of a request that share a translation page are looked up before any of them is brought in; that differs
    where a request drives out its own entries, in less than a hundredth of accesses.
    """
    trace = Trace(
        str(shared / "traces" / "umass_WebSearch1_first50k.4Kpages.trace.zst"), format="disksim", size_unit="4KiB"
    )
    trace.convert(str(tmp_path / "trace.csv"), "csv")
    accesses: list[int] = []
    with (tmp_path / "trace.csv").open() as file:
        for row in csv.DictReader(file):
            first, size = int(row["offset_bytes"]), int(row["bytes"])
            accesses += range(first // CODEWORD, (first + size - 1) // CODEWORD + 1)
    distances = stack_distances(accesses)
    for entries in (512, 8192, 65_536):
        expected = sum(d is not None and d < entries for d in distances) / len(distances)
        found = softsense.run(
            config,
            trace,
            overrides=[
                f"ftl.mapping.demand.cache_bytes={entries * ENTRY_BYTES}",
                "host.issue.closed_loop.queue_depth=1",
                'reliability="perfect"',
            ],
        ).summary["mapping"]
        assert found["hits"] + found["misses"] == len(accesses)
        assert abs(found["hit_ratio"] - expected) < 0.01, (entries, found["hit_ratio"], expected)


def test_eviction_by_level_keeps_what_is_slow_to_read(config: Path, small: list[str]) -> None:
    """With levels remembered, eviction by level has fewer hits, more of them on codewords that need soft sensing."""
    demand = "{ cache_bytes = 4096, remember_levels = true, eviction = %s }"
    lru, by_level = (
        softsense.run(
            config,
            policy="progressive:restart",
            overrides=[*small, "workload.requests=20000", f"ftl.mapping.demand={demand % eviction}"],
        ).summary
        for eviction in ('"lru"', "{ lowest_level = { fixed_entries = 64 } }")
    )
    assert by_level["codeword_reads"]["soft_starts"] > lru["codeword_reads"]["soft_starts"] > 0
    assert by_level["codeword_reads"]["attempts"] < lru["codeword_reads"]["attempts"]


def test_a_summary_without_a_mapping_cache_says_so(config: Path, small: list[str]) -> None:
    summary = softsense.run(config, overrides=[*small, "workload.requests=100"]).summary
    assert summary["mapping"] is None
    assert softsense.load_config(config).fields.ftl.mapping == "page"
