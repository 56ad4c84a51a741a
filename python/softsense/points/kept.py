"""The numbers of finished points, which are kept in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import FileError
from softsense.files import Lock, blaming, replacing
from softsense.points.columns import LIFETIME_COLUMNS, SUMMARY_COLUMNS

if TYPE_CHECKING:
    import polars as pl

STORE_VERSION = 5
"""A version that is part of every identity: to be raised whenever other numbers of a summary are kept."""

_MOST_PARTS = 64
# Files with more rows are read when they are needed, some columns at a time: 100,000 points have 130 MB of numbers.
_MOST_HELD, _READ_AT_ONCE = 10_000, 4


class Kept:
    """The numbers of finished points, by identity, in a folder that belongs to one process at a time.

    Points that ended together are a Parquet file. It is written under another name first and then named by the SHA-256
    of its content: a file is never half written, and a changed one is noticed. Now and then files are joined.

    Args:
        folder: the folder, which is made if there is none.
        base: for a shard, the folder of all points, which is read, if it exists, and never written.

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
            self._parts: dict[Path, pl.DataFrame | None] = {}
            if base:
                self._load(base)
            self.base_ids = self._ids()
            """The ids of points that the base has."""
            # Files of a process that was killed while it wrote are removed, as this process alone has the folder now.
            with blaming(folder):
                for left in folder.glob(".softsense-*"):
                    left.unlink()
            self._load(folder)
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
        return self._ids()

    def _ids(self) -> set[str]:
        return {identity for path in self._parts for identity in self._read(path, ["id"])["id"]}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep numbers by column, each row with its `id`."""
        import polars as pl

        # Whole numbers among real ones are converted.
        columns = {
            name: [row.get(name) if kind != pl.Float64 or row.get(name) is None else float(row[name]) for row in rows]
            for name, kind in self._schema.items()
        }
        self.add_frame(pl.DataFrame(columns, schema=self._schema))
        if len(self._parts) > _MOST_PARTS:
            self.merge()

    def add_frame(self, frame: pl.DataFrame) -> None:
        """Keep numbers from a frame as `frame` returns it."""
        if len(frame):
            self._write(frame)
            self.ids.update(frame["id"])

    def merge(self) -> None:
        """Join all files into one, but for those of a base."""
        old = [path for path in self._parts if path.parent == self._folder]
        if len(old) > 1:
            new = self._write(self._frame(old))
            for path in old:
                if path != new:
                    path.unlink(missing_ok=True)
                    del self._parts[path]

    def frame(self) -> pl.DataFrame:
        """All points: `id` and the numbers, by increasing id."""
        return self._frame(list(self._parts))

    def _frame(self, paths: Sequence[Path]) -> pl.DataFrame:
        ids = self._places(paths)["id"].sort()
        return ids.to_frame().hstack(self._numbers(paths, ids, [name for name in self._schema if name != "id"]))

    def numbers(self, ids: pl.Series, columns: Sequence[str]) -> pl.DataFrame:
        """The numbers of these ids, in their order, in these columns; null where there are none."""
        return self._numbers(list(self._parts), ids, columns)

    def _numbers(self, paths: Sequence[Path], ids: pl.Series, columns: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        wanted = pl.DataFrame({"id": ids})
        places = wanted.join(self._places(paths), on="id", how="left", maintain_order="left")["place"]
        found: list[pl.Series] = []
        for at in range(0, len(columns), _READ_AT_ONCE):
            some = columns[at : at + _READ_AT_ONCE]
            parts = [self._read(path, some) for path in paths]
            whole = pl.concat(parts or [pl.DataFrame(schema={name: self._schema[name] for name in some})])
            found += whole.select(pl.all().gather(places)).get_columns()
        return pl.DataFrame(found)

    def _places(self, paths: Sequence[Path]) -> pl.DataFrame:
        """Each `id` with its `place` among the rows of some files."""
        import polars as pl

        parts = [self._read(path, ["id"]) for path in paths] or [pl.DataFrame(schema={"id": pl.String})]
        return pl.concat(parts).with_row_index("place").unique("id", keep="first", maintain_order=True)

    def _read(self, path: Path, columns: Sequence[str]) -> pl.DataFrame:
        """Columns of a file, which was whole when it was opened or written."""
        import polars as pl

        if (part := self._parts[path]) is not None:
            return part.select(columns)
        return pl.read_parquet(path, columns=list(columns))

    def _load(self, folder: Path) -> None:
        import io

        import polars as pl

        with blaming(folder):
            for path in sorted(folder.glob("*.parquet")):
                content = path.read_bytes()
                if hashlib.sha256(content).hexdigest() != path.stem:
                    raise FileError(
                        f"{path}: found a damaged file, expected one whose SHA-256 is its name (remove it, and its "
                        "points are simulated again)"
                    )
                buffer = io.BytesIO(content)
                # Another version of softsense keeps other numbers, of points with other identities.
                if pl.read_parquet_schema(buffer) == self._schema:
                    rows = pl.read_parquet(buffer, columns=["id"]).height
                    self._parts[path] = pl.read_parquet(buffer) if rows <= _MOST_HELD else None

    def _write(self, part: pl.DataFrame) -> Path:
        import io

        buffer = io.BytesIO()
        write_parquet(part, buffer)
        path = self._folder / f"{hashlib.sha256(buffer.getbuffer()).hexdigest()}.parquet"
        with replacing(path) as partial, partial.open("wb") as file:
            file.write(buffer.getbuffer())
        self._parts[path] = part if len(part) <= _MOST_HELD else None
        return path


def write_parquet(frame: pl.DataFrame, to: Any) -> None:
    """Write a frame so that equal frames are equal bytes, with one version of polars."""
    frame.rechunk().write_parquet(
        to, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 16, data_page_size=1 << 20
    )
