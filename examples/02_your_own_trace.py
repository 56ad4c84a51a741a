"""How do I replay my own requests, and how do I get the result of each of them?

A trace is a file; softsense's own CSV is easily written. See docs/traces.md for other formats.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl

import softsense

# 5,000 requests: 90 % reads, four times out of five of a hot tenth of 64 MiB, at random times.
random = np.random.default_rng(7)
count, pages = 5000, 16384
hot = random.random(count) < 0.8
page = np.where(hot, random.integers(0, pages // 10, count), random.integers(0, pages, count))
requests = pl.DataFrame(
    {
        "arrival_ns": random.integers(0, 2_500_000_000, count),
        "device": 0,
        "kind": np.where(random.random(count) < 0.9, "read", "write"),
        "offset_bytes": page * 4096,
        "bytes": 4096,
    }
).sort("arrival_ns")
requests.write_csv(Path("mine.csv"))

trace = softsense.Trace("mine.csv")
stats = json.loads(trace.stats_json())
print(f"recognised as {stats['format']}: {stats['requests']} requests, {stats['reads']} of them reads")

result = softsense.run(
    "mlc-25nm",
    trace,
    policy="look_ahead_progressive",
    overrides=["geometry.channels=2", "geometry.blocks_per_plane=256"],
    log_requests=True,
)
# Every request with its response time and the deepest read level that it needed.
by_level = (
    result.requests.filter(kind="read")
    .group_by("max_level")
    .agg(pl.len().alias("reads"), (pl.col("response_ns").mean() / 1000).alias("mean_us"))
    .sort("max_level")
)
print("reads by the level that they needed (0: served by the write buffer)")
print(by_level)
