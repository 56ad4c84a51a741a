"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from softsense._core import FileError, UnfinishedFile


@contextlib.contextmanager
def replacing(whole: Path) -> Iterator[Path]:
    """A temporary path with the file's suffix; it takes the name when the block ends and what it holds is on disk.

    Raises `FileError` if it cannot be written; what was there before stays.
    """
    unfinished = UnfinishedFile(whole)
    with blaming(whole):
        try:
            assert unfinished.path is not None
            yield Path(unfinished.path)
            unfinished.finish()
        finally:
            unfinished.discard()


@contextlib.contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Says of what the system refuses that this path cannot be written, as a `FileError`."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{path}: cannot write: {error.strerror or error}") from None


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal digits. Raises `FileError` if it is no file, or cannot be read."""
    if file.exists() and not file.is_file():
        raise FileError(f"{file}: found a folder, a pipe or a device, expected a file")
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{file}: cannot read: {error.strerror or error}") from None
