"""What is kept of points that are done."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import FileError
from softsense.files import Lock, blaming, replacing
from softsense.points.columns import LIFETIME_COLUMNS, SUMMARY_COLUMNS

if TYPE_CHECKING:
    import polars as pl

STORE_VERSION = 5
"""Part of every identity: to be raised whenever other numbers of a summary are kept."""

_MOST_PARTS = 64


class Kept:
    """The numbers of finished points, by identity, in a folder that belongs to one process at a time.

    Whatever has ended together is a Parquet file, written under another name first and then named by the SHA-256 of its
    content: there is never half of one, and one that was changed is found out. Now and then files are made one.

    Args:
        folder: made if there is none.
        base: of a shard, the folder of all points, which is looked at, if it is there, and never written.

    Raises:
        FileError: it cannot be written, another sweep uses it, or a file in it is damaged.
    """

    def __init__(self, folder: Path, base: Path | None = None) -> None:
        import polars as pl

        self._folder = folder
        types = {int: pl.Int64, float: pl.Float64}
        columns = SUMMARY_COLUMNS | LIFETIME_COLUMNS
        self._schema = pl.Schema({"id": pl.String, **{name: types[kind] for name, kind in columns.items()}})
        with blaming(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = Lock(folder)
        try:
            # Of a process that was killed while it wrote, as the folder is now this one's alone.
            with blaming(folder):
                for left in folder.glob(".softsense-*"):
                    left.unlink()
            self._parts = self._read(folder)
            self._base = self._read(base) if base else {}
            self.base_ids = _ids(self._base.values())
            """The ids of points that the base has."""
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have the folder."""
        self._lock.release()

    @cached_property
    def ids(self) -> set[str]:
        """The ids of finished points."""
        return _ids(self._parts.values()) | self.base_ids

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep numbers by column, each row with its `id`."""
        import polars as pl

        # Whole numbers where real ones are meant are no less numbers.
        columns = {
            name: [row.get(name) if kind != pl.Float64 or row.get(name) is None else float(row[name]) for row in rows]
            for name, kind in self._schema.items()
        }
        self.add_frame(pl.DataFrame(columns, schema=self._schema))
        if len(self._parts) > _MOST_PARTS:
            self.merge()

    def add_frame(self, frame: pl.DataFrame) -> None:
        """The same, of a frame as `frame` gives it."""
        if len(frame):
            self._write(frame)
            self.ids.update(frame["id"])

    def merge(self) -> None:
        """Make all files one."""
        if len(self._parts) > 1:
            old, whole = list(self._parts), self._one(self._parts.values())
            new = self._write(whole)
            for path in old:
                if path != new:
                    path.unlink(missing_ok=True)
                    del self._parts[path]

    def frame(self) -> pl.DataFrame:
        """Everything: `id` and the numbers, by increasing id."""
        return self._one([*self._base.values(), *self._parts.values()])

    def _one(self, parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
        import polars as pl

        return pl.concat([pl.DataFrame(schema=self._schema), *parts]).unique("id", keep="any").sort("id")

    def _read(self, folder: Path) -> dict[Path, pl.DataFrame]:
        import io

        import polars as pl

        found = {}
        with blaming(folder):
            for path in sorted(folder.glob("*.parquet")):
                content = path.read_bytes()
                if hashlib.sha256(content).hexdigest() != path.stem:
                    raise FileError(
                        f"{path}: found a damaged file, expected one whose SHA-256 is its name "
                        "(without it, its points are simulated again)"
                    )
                part = pl.read_parquet(io.BytesIO(content))
                # Another version of softsense keeps other numbers, of points with other identities.
                if part.schema == self._schema:
                    found[path] = part
        return found

    def _write(self, part: pl.DataFrame) -> Path:
        import io

        buffer = io.BytesIO()
        write_parquet(part, buffer)
        path = self._folder / f"{hashlib.sha256(buffer.getvalue()).hexdigest()}.parquet"
        with replacing(path) as partial, partial.open("wb") as file:
            file.write(buffer.getvalue())
        self._parts[path] = part
        return path


def _ids(parts: Iterable[pl.DataFrame]) -> set[str]:
    return {identity for part in parts for identity in part["id"]}


def write_parquet(frame: pl.DataFrame, to: Any) -> None:
    """Write a frame so that equal frames are equal bytes, with one version of polars."""
    frame.rechunk().write_parquet(
        to, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 16, data_page_size=1 << 20
    )
