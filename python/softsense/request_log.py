"""Logs of requests: columns in memory, or a Parquet file that is either complete or absent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import FileError

if TYPE_CHECKING:
    import polars as pl

_REQUEST_KINDS = ("read", "write", "trim", "flush", "fua_write")
MOST_LOGGED = 200_000


class RequestLog:
    """The requests of one run: columns gathered in memory, and flushed to part files where a folder is given.

    Worker threads write the parts with numpy: polars hears Ctrl-C in every thread and would give up half a file.
    """

    def __init__(self, file: Path | None, parts: Path | None, stem: str) -> None:
        self._file, self._parts, self._stem = file, parts, stem
        self._pending: list[dict[str, Any]] = []
        self._pending_rows = 0
        self._flushed: list[Path] = []
        self.file: Path | None = None
        self.error: str | None = None

    def fail(self, error: Exception) -> None:
        """Note that the file cannot be written; the run continues without it."""
        told = f"{self._file}: cannot write: {getattr(error, 'strerror', None) or error}"
        self.error = str(error) if isinstance(error, FileError) else told
        self._pending, self._pending_rows = [], 0

    def add(self, columns: dict[str, Any]) -> None:
        """Add requests that have completed."""
        rows = len(columns["request"])
        if rows and not self.error:
            self._pending.append(columns)
            self._pending_rows += rows
        if self._pending_rows >= MOST_LOGGED:
            self._flush()

    def close(self) -> None:
        """End the log, and write pending requests to a part file, if there are part files."""
        if self._pending:
            self._flush()

    def parquet_parts(self) -> list[Path]:
        """The part files as Parquet; for the calling thread."""
        import numpy as np

        parts = []
        for part in self._flushed:
            parts.append(part.with_suffix(".parquet"))
            with np.load(part) as columns:
                _request_frame([dict(columns)]).write_parquet(parts[-1])
            part.unlink()
        if not parts:
            parts.append(self._part(0).with_suffix(".parquet"))
            _request_frame([]).write_parquet(parts[-1])
        return parts

    def frame(self, name: str) -> pl.DataFrame:
        """The requests of the run of that name; see `RunResult.requests`."""
        import polars as pl

        if self.file is None:
            return _request_frame(self._pending)
        return pl.scan_parquet(self.file).filter(pl.col("policy") == name).drop("policy").collect()

    def _part(self, i: int) -> Path:
        assert self._parts is not None
        return self._parts / f"{self._stem}-{i:08}.npz"

    def _flush(self) -> None:
        if self._parts is None:
            return
        import numpy as np

        part = self._part(len(self._flushed))
        try:
            columns: dict[str, Any] = {n: np.concatenate([c[n] for c in self._pending]) for n in self._pending[0]}
            np.savez(part, **columns)
            self._flushed.append(part)
        except OSError as error:
            self.fail(error)
        self._pending, self._pending_rows = [], 0


def request_kinds(numbers: Any) -> pl.Series:
    """Names of kinds of requests, from the numbers of the core."""
    import polars as pl

    return pl.Series(_REQUEST_KINDS).cast(pl.Enum(_REQUEST_KINDS)).gather(numbers)


def _request_frame(chunks: list[dict[str, Any]]) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    kinds = pl.Enum(_REQUEST_KINDS)
    types: dict[str, Any] = {
        "request": pl.UInt64,
        "arrival_ns": pl.UInt64,
        "kind": kinds,
        "offset_bytes": pl.UInt64,
        "bytes": pl.UInt64,
        "response_ns": pl.UInt64,
        "max_level": pl.UInt8,
        "retries": pl.UInt16,
        "energy_uj": pl.Float64,
    }
    if chunks and "tenant" in chunks[0]:
        types["tenant"] = pl.UInt16
    if not chunks:
        return pl.DataFrame(schema=types)
    columns = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in types}
    return pl.DataFrame({**columns, "kind": request_kinds(columns["kind"])}, schema=types)
