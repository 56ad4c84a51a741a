"""Lines of text files, plain, gzip or zstd, with their numbers for messages."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from softsense._core import FileError

_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP = b"\x1f\x8b"
_SURE, _MOST = 1 << 16, 1 << 30


class Lines:
    """The lines of a file, read once; iterating gives pairs of number, from 1, and text without its end.

    Raises `FileError` when a file cannot be read, is empty, or is no text.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return iter(enumerate(self.text.splitlines(), start=1))

    @cached_property
    def text(self) -> str:
        """The whole text."""
        try:
            data = self._bytes()
            if data.startswith(_GZIP):
                data = gzip.decompress(data)
            elif data.startswith(_ZSTD):
                data = _unpacked(self.path)
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or error
            raise FileError(f"{self.path}: cannot read: {reason}") from None
        if not data.strip():
            raise FileError(f"{self.path}: found an empty file, expected a latency log")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise FileError(f"{self.path}:{line}: found bytes that are not UTF-8, expected text") from None

    def _bytes(self) -> bytes:
        """The bytes of the file. Devices and pipes may have no end, but data that is not text shows within the first
        bytes.
        """
        with self.path.open("rb") as file:
            data = file.read(_SURE)
            if len(data) == _SURE:
                if b"\0" in data and not data.startswith((_GZIP, _ZSTD)):
                    raise FileError(f"{self.path}: found a binary file, expected the text of a latency log")
                data += file.read(_MOST - _SURE + 1)
        if len(data) > _MOST:
            raise FileError(f"{self.path}: found more than 1 GiB, expected a smaller log, or the same log compressed")
        return data

    def number(self, at: int, text: str, what: str) -> float:
        """The finite number in a text of this line; `FileError` if the text is not such a number."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise FileError(f"{self.path}:{at}: found {text[:40]!r}, expected {what}")
        return value


def _unpacked(path: Path) -> bytes:
    import polars as pl

    try:
        # The one reader of zstd that softsense has installed: each line is one column.
        frame = pl.read_csv(
            path, has_header=False, separator="\x01", quote_char=None, infer_schema=False, new_columns=["line"]
        )
    except pl.exceptions.PolarsError as error:
        raise FileError(f"{path}: found no whole zstd file with text: {str(error).splitlines()[0]}") from None
    return "\n".join(frame["line"].fill_null("").to_list()).encode()
