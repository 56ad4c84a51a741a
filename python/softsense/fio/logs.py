"""Logs of bandwidth, rates and latencies, in the format of fio."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from softsense.fio.running import FioResult

_DIRECTIONS = {"read": 0, "write": 1, "fua_write": 1, "trim": 2}


def logs_of(result: FioResult) -> Iterator[tuple[str, str]]:
    """The logs that jobs ask for, one for each clone: the name of its file, and its text.

    A line has the time of completion since the start of the measurement (ms), the value, the direction (0 for reads, 1
    for writes, 2 for trims), the bytes of a request, and 0. Values are KiB a second, requests a second, and ns. With
    `log_avg_ms` a line covers all requests that completed in a window of that time, up to its end; a shorter last
    window has no line.
    """
    import polars as pl

    measured = result.run.summary["measurement"] or {}
    start_ns = round(1e9 * (measured.get("warmup_s") or 0.0))
    done = result.run.requests.filter(pl.col("kind").is_in(list(_DIRECTIONS))).select(
        "tenant",
        (pl.col("arrival_ns") + pl.col("response_ns") - start_ns).alias("at_ns"),
        pl.col("kind").replace_strict(_DIRECTIONS).alias("direction"),
        "bytes",
        "response_ns",
    )
    number = 0
    for job in result.jobs:
        for _ in job.clones:
            of_clone = done.filter(pl.col("tenant") == number).sort("at_ns", maintain_order=True)
            number += 1
            for kind, name in job.logs:
                lines = _windows(of_clone, kind, job.log_avg_ms) if job.log_avg_ms else _each(of_clone, kind)
                text = "".join(f"{line}\n" for line in lines)
                # The whole latency counts as both, as no time is spent on submission.
                for logged in ("lat", "clat") if kind == "lat" else (kind,):
                    yield f"{name}_{logged}.{number}.log", text


def _each(done: pl.DataFrame, kind: str) -> pl.Series:
    """A line for each request: its own bandwidth, 1 request, or its latency."""
    import polars as pl

    values = {
        "bw": pl.col("bytes") * 1_000_000_000 // (1024 * pl.col("response_ns").clip(1)),
        "iops": pl.lit(1),
        "lat": pl.col("response_ns"),
    }
    line = pl.format("{}, {}, {}, {}, 0", pl.col("at_ns") // 1_000_000, values[kind], "direction", "bytes")
    return done.select(line.alias("line"))["line"]


def _windows(done: pl.DataFrame, kind: str, window_ms: int) -> pl.Series:
    """A line for each window of time, and for each direction in it."""
    import polars as pl

    window_ns = 1_000_000 * window_ms
    whole = int(done["at_ns"][-1]) // window_ns if done.height else 0
    values = {
        "bw": pl.col("bytes").sum() * 1000 // (1024 * window_ms),
        "iops": pl.len() * 1000 // window_ms,
        "lat": pl.col("response_ns").mean().round().cast(pl.UInt64),
    }
    parts = (
        done.with_columns(part=pl.col("at_ns") // window_ns)
        .filter(pl.col("part") < whole)
        .group_by("part", "direction")
        .agg(value=values[kind])
        .sort("part", "direction")
    )
    line = pl.format("{}, {}, {}, 0, 0", (pl.col("part") + 1) * window_ms, "value", "direction")
    return parts.select(line.alias("line"))["line"]
