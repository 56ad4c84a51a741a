"""Timelines of a window of a run: spans of busy resources, and the requests that were under way."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from softsense import _core
from softsense.request_log import request_kinds

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class RunTimeline:
    """The work of planes, buses, decoders and encoders in a window of a run, and its owners.

    >>> from softsense import run
    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
    >>> timeline = run("mlc-25nm", policy="two_step", overrides=small, timeline="1ms..2ms").timeline
    >>> timeline.window_ns
    (1000000, 2000000)
    >>> timeline.spans.columns[:5]
    ['resource', 'index', 'action', 'owner', 'request']
    """

    _recording: _core.Recording

    @property
    def window_ns(self) -> tuple[int, int]:
        """Beginning and end of the window, in ns of simulated time."""
        return self._recording.window_ns

    @cached_property
    def spans(self) -> pl.DataFrame:
        """One row for each span, in the order in which they begin; none is empty.

        Columns: resource, index (u32, its number among its kind in the device), action, owner, request (u64, its
        number; null for the background, and for several), attempt and level (u8, 0 where nothing is read), ahead
        (whether it began before the outcome of the attempt before was known), from_ns and to_ns (u64), cut (whether it
        began before the window, or ended after it).

        A resource is a `plane` (a die where its planes take turns), a `bus` of a channel, a `decoder`, an `encoder`,
        `suspended` (a program or erase that waits to go on), or a `set` whose data is moved. An owner is `host_read`,
        `host_write`, `write_buffer`, or another cause of work of planes: `garbage_collection`, `read_reclaim`,
        `folding`, `translation`, `read_ahead` and so on.
        """
        import polars as pl

        return pl.DataFrame(self._recording.spans(), schema_overrides={"request": pl.UInt64})

    @cached_property
    def requests(self) -> pl.DataFrame:
        """One row for each request that was under way in the window, in the order of their numbers.

        Columns: those of `RunResult.requests`, admitted_ns (u64, the time when the device let it in),
        uncorrectable_codewords (u32), and completed (whether it had completed when the window ended). For requests that
        had not completed, the other columns are as of that time.
        """
        import polars as pl

        frame = pl.DataFrame(self._recording.requests())
        return frame.with_columns(request_kinds(frame["kind"]).alias("kind"))

    @property
    def note(self) -> str | None:
        """A sentence that says that the timeline is empty or ended early; None otherwise."""
        begin, end = self.window_ns
        simulated = self._recording.simulated_ns
        if self._recording.ended_early:
            return f"the timeline ends at {end * 1e-06:,.6g} ms, after a million spans: choose a narrower window"
        if simulated < begin:
            return (
                f"the timeline is empty: the run ends after {simulated * 1e-06:,.6g} ms, before the window begins "
                f"at {begin * 1e-06:,.6g} ms"
            )
        return None

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write trace events in JSON, which ui.perfetto.dev and chrome://tracing open. Raises `FileError`."""
        self._recording.write(path)
