"""Files that are written whole or not at all, JSON of unknown origin, and folders that one process has for itself."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from softsense._core import FileError, UnfinishedFile

LOCK = ".lock"
"""The name of the file by which a process has a folder for itself."""

MOST_JSON_BYTES = 1 << 28
_MOST_LOCK_BYTES = 1 << 12
_MOST_WHOLE = 2**64
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextlib.contextmanager
def replacing(whole: Path) -> Iterator[Path]:
    """A temporary path with the file's suffix; it gets the final name when the block ends and its content is on disk.

    Raises `FileError` if it cannot be written; the earlier file then stays.
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
    """A context in which an error of the system is raised as a `FileError`: this path cannot be written."""
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


def opened(file: Path) -> BinaryIO:
    """A file that is open for reading. A pipe is opened at once, without waiting for a writer."""
    return open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb")


def read_json(file: Path, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """The JSON document in a file that anybody may have written.

    Raises `FileError` for anything but a file of at most `most_bytes` with one JSON document, which UTF-8, numbers of
    64 bits and Python's stack can hold.
    """
    try:
        with opened(file) as document:
            if not stat.S_ISREG(os.fstat(document.fileno()).st_mode):
                raise FileError(f"{file}: found a folder, a pipe or a device, expected a file")
            content = document.read(most_bytes + 1)
    except OSError as error:
        raise FileError(f"{file}: cannot read: {error.strerror or error}") from None
    if len(content) > most_bytes:
        raise FileError(f"{file}: found more than {most_bytes:,} bytes, expected at most that many")
    try:
        found = json.loads(content.decode("utf-8"), parse_int=_whole)
        # Values that cannot be written as JSON again are refused: NaN, infinities, and halves of surrogate pairs.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeError:
        raise FileError(f"{file}: found bytes or characters that are not UTF-8, expected JSON") from None
    except ValueError as error:
        raise FileError(f"{file}: found text that is not JSON ({error}), expected JSON") from None
    except RecursionError:
        raise FileError(
            f"{file}: found lists or objects that are nested too deep, expected JSON that softsense has written"
        ) from None
    return found


def _whole(digits: str) -> int:
    # Longer integers are no numbers to anything that would calculate with them.
    if len(digits) > len(str(_MOST_WHOLE)) or not -_MOST_WHOLE < (number := int(digits)) < _MOST_WHOLE:
        raise ValueError(f"found an integer of {len(digits)} digits, expected one of 64 bits")
    return number


class Lock:
    """A folder for one process at a time, until it is released, or the process ends in any way.

    The file `.lock` names the process. On a file system without locks nobody is refused.

    Args:
        folder: an existing folder.
        marks: further fields of the file, for a reader who finds it locked, or left by a process that was killed.

    Raises:
        FileError: another process, or another part of this one, has it; the message names the process.
    """

    def __init__(self, folder: Path, **marks: str) -> None:
        import platform

        self._path = folder / LOCK
        who = f"process {os.getpid()} on {platform.node() or 'this computer'}"
        with blaming(self._path):
            try:
                # The last owner may have removed the file meanwhile: locking a removed file locks nobody out.
                while not self._locked():
                    os.close(self._file)
            except BlockingIOError:
                os.close(self._file)
                other = (lock_of(folder) or {"process": "another process"})["process"]
                raise FileError(
                    f"{folder}: found {other} at work in this folder, expected a folder that no process uses (wait "
                    "for its end, or choose another folder)"
                ) from None
            try:
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, json.dumps({"softsense": "lock", "process": who, **marks}).encode(), 0)
            except BaseException:
                self.release()
                raise

    def release(self, *, leave: bool = False) -> None:
        """Let others have the folder. The file is removed, unless it is to `leave` the mark of unfinished work."""
        try:
            if not leave and self._is_there():
                with blaming(self._path):
                    self._path.unlink(missing_ok=True)
        finally:
            os.close(self._file)

    def _locked(self) -> bool:
        import fcntl

        # A link could lead to a file of somebody else.
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                raise
        return self._is_there()

    def _is_there(self) -> bool:
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self._file), os.stat(self._path, follow_symlinks=False))
        return False


def lock_of(folder: Path) -> dict[str, str] | None:
    """The content of a folder's lock, whether it is held or a killed process has left it; None if there is none."""
    with contextlib.suppress(FileError):
        found = read_json(folder / LOCK, _MOST_LOCK_BYTES)
        if isinstance(found, dict) and found.get("softsense") == "lock" and isinstance(found.get("process"), str):
            return {key: value for key, value in found.items() if isinstance(value, str)}
    return None
