"""Bins of latencies in the JSON of fio (`--output-format=json+`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def bins_of(directions: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """The requests of several jobs by their latency in ns: bins of `clat_ns`, or of `lat_ns` where a job lacks those.

    Args:
        directions: the object `read` or `write` of each job.

    >>> bins_of([{"clat_ns": {"bins": {"100": 2}}}, {"lat_ns": {"bins": {"100": 1, "228": 3}}}])
    {100: 3, 228: 3}
    """
    total: dict[int, int] = {}
    for direction in directions:
        times = direction.get("clat_ns", {}) or direction.get("lat_ns", {})
        for ns, count in (times.get("bins") or {}).items():
            total[int(ns)] = total.get(int(ns), 0) + int(count)
    return total
