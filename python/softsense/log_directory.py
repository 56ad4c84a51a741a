"""The place where the runs of one call log their requests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from softsense._core import FileError, UnfinishedFile
from softsense.base import Interrupted
from softsense.files import blaming
from softsense.request_log import RequestLog
from softsense.results import Comparison, RunResult

if TYPE_CHECKING:
    pass


class LogDirectory:
    """The place where the runs of one call log their requests: none, memory, or part files beside the final file."""

    def __init__(self, log_requests: bool | str | os.PathLike[str]) -> None:
        self._wanted = bool(log_requests)
        self._file = None if isinstance(log_requests, bool) else Path(log_requests)
        self._whole: UnfinishedFile | None = None
        self._parts: Path | None = None
        self._logs: list[RequestLog] = []

    def __enter__(self) -> LogDirectory:
        if self._file:
            self._whole = UnfinishedFile(self._file)
            self._parts = Path(f"{self._whole.path}.parts")
            try:
                with blaming(self._file):
                    self._parts.mkdir()
            except BaseException:
                self._remove()
                raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, Interrupted) and error.result:
                runs = error.result.all_runs if isinstance(error.result, Comparison) else [error.result]
                self.join(runs)
        finally:
            try:
                self._remove()
            except KeyboardInterrupt:
                # Ctrl-C came while files were being removed: the others go, too.
                self._remove()
                raise

    def _remove(self) -> None:
        """Remove files that are not whole."""
        if self._whole and self._parts:
            shutil.rmtree(self._parts, ignore_errors=True)
            self._whole.discard()

    def log(self, name: str) -> RequestLog | None:
        """A log for one more run, if any is wanted."""
        if not self._wanted:
            return None
        log = RequestLog(self._file, self._parts, f"{len(self._logs):03}")
        self._logs.append(log)
        return log

    def join(self, results: Sequence[RunResult]) -> None:
        """Stream the part files of all runs into the one file asked for, with a policy column."""
        logs = {result.name: result._log for result in results if result._log}
        # Without the requests of one run the file would not be whole.
        if self._whole is None or any(log.error for log in logs.values()):
            return
        import polars as pl

        try:
            parts = {name: pl.scan_parquet(log.parquet_parts()) for name, log in logs.items()}
            frames = [rows.select(pl.lit(name).alias("policy"), pl.all()) for name, rows in parts.items()]
            assert self._whole.path is not None
            pl.concat(frames).sink_parquet(self._whole.path)
            self._whole.finish()
        except (OSError, FileError, pl.exceptions.PolarsError) as error:
            for log in logs.values():
                log.fail(error)
            return
        for log in logs.values():
            log.file = self._file
