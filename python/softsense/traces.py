"""Traces: from files, pipes, Parquet and data frames.

Rust reads text. A frame is written as text to a file without a name, as data from a pipe is, so that all traces are
read in one way.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from softsense import _core
from softsense._core import ConfigError, FileError, TraceError

if TYPE_CHECKING:
    import polars as pl

OPTIONS: dict[str, type] = {
    **dict.fromkeys(("format", "columns", "delimiter"), str),
    "skip_header": int,
    **dict.fromkeys(("op", "time_unit", "size_unit", "event", "devices"), str),
    **dict.fromkeys(("skip_outliers", "skip_flushes"), bool),
}
"""The options of a trace and their types; the command line and sweep files have the same."""

_OWN = {"arrival_ns": "time:ns", "kind": "op", "offset_bytes": "offset", "bytes": "bytes"}
"""Names that softsense gives to the columns of requests, and their meanings in a description of columns."""


_OF_TEXT = ("delimiter", "skip_header", "content")
"""Options of text, which do not apply to a frame."""


class Trace(_core.Trace):
    r"""A block trace, recognised and scanned from start to end.

    Args:
        path: the file, plain or compressed with gzip or zstd; `-` is standard input; a pipe is read into a temporary
            file without a name. A file that ends in `.parquet` is read as `from_frame` reads a frame.
        format: its format, or a file of columns that ends in `.toml`; default: recognised from the content.
        columns: meanings of the columns of a text, from the left, such as `time:us,op,bytes,lbn:512B`; see
            docs/traces.md.
        delimiter: the text between columns; default: told from the first line.
        skip_header: lines to skip at the beginning; a header is recognised without.
        op: meanings of the words of the column `op`, such as `read=28,write=2a`.
        time_unit: unit of the time column: ns, 100ns, us, ms or s.
        size_unit: unit of the size column, such as `4KiB`.
        event: the event of blkparse that is a request: Q, I, D or C; default: the first of these that is there.
        devices: stack, merge, only=3,7, map=3@0,7@10GiB or sample=0.1.
        skip_outliers: leave out a few requests that are far from all others in time.
        skip_flushes: leave out flushes, and take writes with FUA for plain writes.
        content: a file that is read in place of `path`, which then is a name for messages.
        progress: called now and then with the fraction that was read.

    Raises:
        TraceError: a bad line, an empty or damaged file, a format that cannot be recognised.
        FileError: the file cannot be read.
        ConfigError: a bad option.

    >>> import json, pathlib
    >>> _ = pathlib.Path("mine.txt").write_text("5;28;4096;16\n6;2a;512;8\n")
    >>> trace = Trace("mine.txt", columns="time:us,op,bytes,lbn:512B", op="read=28,write=2a")
    >>> stats = json.loads(trace.stats_json())
    >>> stats["reads"], stats["writes"], stats["extent_bytes"]
    (1, 1, 12288)
    """

    def __new__(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Open and scan the trace."""
        name = os.fspath(path)
        if name.endswith(".parquet") and options.get("content") is None:
            return cls._of(_parquet(name), name, options)
        return super().__new__(cls, name, **options)

    @classmethod
    def from_frame(cls, frame: Any, columns: str | None = None, *, name: str = "frame", **options: Any) -> Self:
        """The trace in a data frame.

        Args:
            frame: a frame of polars or pandas, or an object with Arrow's `__arrow_c_stream__`, such as a PyArrow table.
            columns: meanings of its columns: by name, such as `time:us=ts,op=type,bytes=size,lbn=sector`, or from the
                left. Default: the names are the meanings, `time:us` for instance, or those of `RunResult.requests`.
                Dates may have any time zone.
            name: the name of the trace in messages and results.
            options: further options of `Trace`, such as `op`.

        Raises:
            TraceError: a row that is no request, by its line; line 1 has the names.
            ConfigError: no data frame, or a bad option.

        >>> import json, polars
        >>> frame = polars.DataFrame({"ts": [0.5, 0.75], "type": ["R", "W"], "at": [0, 8], "size": [4096, 512]})
        >>> trace = Trace.from_frame(frame, "time:s=ts,op=type,lbn=at,bytes=size")
        >>> json.loads(trace.stats_json())["span_s"]
        0.25
        """
        return cls._of(_polars(frame), name, {"columns": columns, **options})

    @classmethod
    def _of(cls, frame: pl.LazyFrame, name: str, options: dict[str, Any]) -> Self:
        import polars as pl
        import polars.selectors as cs

        for option in _OF_TEXT:
            if options.get(option):
                place = f"--{option.replace('_', '-')}"
                raise ConfigError(
                    f"{place}: found together with a data frame, expected only one of the two: columns of a data frame "
                    "have names"
                )
        names = frame.collect_schema().names()
        given = {option: value for option, value in options.items() if option not in _OF_TEXT}
        if given.get("columns") is None and given.get("format") is None:
            if set(_OWN) <= set(names):
                own = [f"{role}={column}" for column, role in _OWN.items()]
                given["columns"] = ",".join(own + (["device=device"] if "device" in names else []))
            else:
                given["columns"] = ",".join(names)
        if given.get("format") is None:
            # Columns that are not read may hold any text, or none. They keep their places, which messages name.
            kept = _asked_for(given["columns"], names)
            frame = frame.select(pl.col(each) if each in kept else pl.lit(None).alias(each) for each in names)
        utc = frame.with_columns(cs.datetime(time_zone="*").dt.convert_time_zone("UTC").dt.replace_time_zone(None))
        try:
            # Gone when it is closed, however the process ends; the trace keeps it open for itself.
            with tempfile.TemporaryFile() as file:
                utc.collect().write_csv(file, datetime_format="%Y-%m-%d %H:%M:%S%.9f", float_scientific=False)
                file.flush()
                content = f"/dev/fd/{file.fileno()}"
                return super().__new__(cls, name, delimiter="comma", skip_header=1, content=content, **given)
        except pl.exceptions.PolarsError as error:
            raise TraceError(f"{name}: found a frame that cannot be written as text ({_first_line(error)})") from None
        except OSError as error:
            raise FileError(f"{name}: cannot be kept in {tempfile.gettempdir()}: {error.strerror or error}") from None


def _asked_for(columns: str, names: Sequence[str]) -> set[str]:
    """The columns of a frame that a description of columns reads: by name, or from the left."""
    described = columns.split(",")
    if "=" in columns:
        return {each.partition("=")[2].strip() for each in described}
    return {name for name, each in zip(names, described, strict=False) if each.strip() != "-"}


def _polars(frame: Any) -> pl.LazyFrame:
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        return frame
    if isinstance(frame, pl.DataFrame):
        return frame.lazy()
    attempts: list[Callable[[], Any]] = []
    if hasattr(frame, "__arrow_c_stream__"):
        attempts.append(lambda: pl.DataFrame(frame))
    if hasattr(frame, "columns") and hasattr(frame, "__getitem__"):
        # pandas without PyArrow has NumPy columns alone.
        attempts.append(lambda: pl.DataFrame({str(name): frame[name].to_numpy() for name in frame.columns}))
    for attempt in attempts:
        try:
            found: pl.LazyFrame = attempt().lazy()
            return found
        except (ImportError, AttributeError, TypeError, ValueError, pl.exceptions.PolarsError):
            continue
    raise ConfigError(
        f"frame: found {type(frame).__name__}, expected a data frame of polars or pandas, or an Arrow table"
    )


def _parquet(path: str) -> pl.LazyFrame:
    import polars as pl

    try:
        with open(path, "rb"):
            pass
        frame = pl.scan_parquet(path, glob=False)
        frame.collect_schema()
        return frame
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except pl.exceptions.PolarsError as error:
        raise TraceError(
            f"{path}: found a file that is not Parquet ({_first_line(error)}), expected a Parquet file"
        ) from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
