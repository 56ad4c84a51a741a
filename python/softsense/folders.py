"""Folders of results: how they are written, found and read, and the rows by which several are compared.

A folder is whole, or says that it is not: its manifest is removed before the first file is replaced, is written last,
and has the SHA-256 of all files.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import ConfigError, FileError
from softsense.files import LOCK, Lock, blaming, lock_of, read_json, replacing, sha256_of
from softsense.manifests import MANIFEST, Manifest, Signed

if TYPE_CHECKING:
    import polars as pl

_FOLDER_LETTERS = 8
_DEPTH = 4
_GLANCED_BYTES = 1 << 22


class Folder:
    """A folder for results, into which one process at a time writes.

    The folder is checked to be writable before anything is measured. Its content stays whole until the first new file
    takes its place; from then on the folder has no manifest, until `sign` writes it.

    Args:
        path: the folder, which is made if there is none.
        identity: identity of the inputs, by which `default_folder` recognises what a killed process has left.
        within: the folder of which this one is a part; its manifest has the files of this one, too.

    Raises:
        FileError: it cannot be written, or another process is at work in it.
    """

    def __init__(self, path: Path, identity: str = "", within: Folder | None = None) -> None:
        self.path = path
        self._identity, self._within = identity, within
        self._made: list[Path] = []
        self._files: dict[str, str | None] = {}
        self._is_begun = self._is_signed = False

    def __enter__(self) -> Folder:
        with blaming(self.path):
            self._made = list(itertools.takewhile(lambda each: not each.exists(), (self.path, *self.path.parents)))
            self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock = Lock(self.path, identity=self._identity)
        except BaseException:
            self._remove_empty()
            raise
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._lock.release(leave=kind is not None and self._is_begun and not self._is_signed)
        self._remove_empty()

    def growing(self, name: str) -> Path:
        """The path of a file that checks itself and grows, such as a store: the manifest has only its name."""
        self._note(name, None)
        return self.path / name

    def write(self, name: str, text: str) -> None:
        """Write a text file."""
        with self.replacing(name) as path:
            path.write_text(text, encoding="utf-8")

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """A temporary path that takes the name when the block ends."""
        with replacing(self.path / name) as partial:
            yield partial
            self._note(name, sha256_of(partial))
            self._begin()

    def remove(self, name: str) -> None:
        """Remove a file of an earlier run, which would be taken for one of this run."""
        if (self.path / name).exists():
            self._begin()
            with blaming(self.path / name):
                (self.path / name).unlink(missing_ok=True)

    def sign(self, manifest: Manifest, *, interrupted: bool = False) -> None:
        """Write the manifest, as the last file: from now on the folder is whole."""
        self.write(MANIFEST, manifest.signed(self._files, interrupted=interrupted))
        self._is_signed = True

    def written(self) -> list[Path]:
        """The files, in the order written."""
        return [path for name in self._files if (path := self.path / name).exists()]

    def _note(self, name: str, sha256: str | None) -> None:
        self._files[name] = sha256
        if self._within:
            self._within._note(f"{self.path.name}/{name}", sha256)

    def _begin(self) -> None:
        """Remove the manifest, on disk, too, before the first file is replaced."""
        if self._within:
            self._within._begin()
        if not self._is_begun:
            self._is_begun = True
            with blaming(self.path / MANIFEST):
                (self.path / MANIFEST).unlink(missing_ok=True)
                folder = os.open(self.path, os.O_RDONLY)
                try:
                    # If folders cannot be synchronised the order of changes is that of the file system.
                    with contextlib.suppress(OSError):
                        os.fsync(folder)
                finally:
                    os.close(folder)

    def _remove_empty(self) -> None:
        # A run that never began leaves no empty folders behind; rmdir refuses any other.
        with contextlib.suppress(OSError):
            for made in self._made:
                made.rmdir()


def check_folder(path: Path) -> None:
    """Refuse a folder in which no file could be made. Raises `FileError`."""
    with blaming(path):
        there = next(each for each in (path, *path.parents) if each.exists())
        tempfile.TemporaryFile(dir=there).close()


@contextlib.contextmanager
def opened_folder(folder: Folder | str | os.PathLike[str]) -> Iterator[Folder]:
    """A folder as it is, or locked and released if it is a path."""
    if isinstance(folder, Folder):
        yield folder
    else:
        with Folder(Path(folder)) as opened:
            yield opened


def default_folder(base: Path, manifest: Manifest) -> Path:
    """The default folder of results: `base`, or `base` with a suffix.

    The suffix is added if `base` holds results of other inputs, whole or in the making. Results replace earlier results
    of the same inputs; nothing else is ever overwritten.
    """
    identity = manifest.identity
    try:
        kept = Signed.read(base / MANIFEST).identity if os.path.lexists(base / MANIFEST) else None
    except FileError:
        kept = ""
    if kept is None:
        kept = (lock_of(base) or {}).get("identity", identity)
    return base if kept == identity else base.with_name(f"{base.name}-{identity[:_FOLDER_LETTERS]}")


def stem(file: str | os.PathLike[str]) -> str:
    """A file's name up to its first dot, for names of folders."""
    return Path(file).name.partition(".")[0].replace(" ", "-") or "trace"


@dataclass(frozen=True)
class Results:
    """A folder of results.

    Attributes:
        folder: the path of the folder.
        manifest: the content of `results.json`.
    """

    folder: Path
    manifest: Signed

    @staticmethod
    def open(folder: str | os.PathLike[str]) -> Results:
        """Open a folder of results. Raises `FileError` if the folder holds no results, or none that are whole."""
        path = Path(folder)
        if os.path.lexists(path / MANIFEST):
            return Results(path, Signed.read(path / MANIFEST))
        found = f"found no {MANIFEST}" if path.is_dir() else "found no such folder"
        if left := _unfinished(path):
            found = f"found unfinished results of {left['process']}, which still runs or was killed"
        raise FileError(f"{path}: {found}, expected a folder of results (`softsense results list` shows them)")

    @property
    def state(self) -> str:
        """`whole`, `interrupted`, `changed` (a file is missing or differs) or `unchecked` (no SHA-256 of files).

        Folders of old versions have no SHA-256 of files. Files of more than 4 MiB are checked for existence only.
        """
        if self.manifest.strange(self.folder, most_bytes=_GLANCED_BYTES):
            return "changed"
        if self.manifest.interrupted:
            return "interrupted"
        return "unchecked" if self.manifest.sha256 is None else "whole"

    def strange(self) -> dict[str, str]:
        """The files that do not fit these results: `missing`, `changed`, or `foreign`.

        A foreign file lies beside the results without being one of them.
        """
        known = {MANIFEST, *self.manifest.files}
        beside = [path.name for path in sorted(self.folder.iterdir()) if path.is_file()]
        foreign = [name for name in beside if name not in known and not name.startswith(".")]
        return self.manifest.strange(self.folder) | dict.fromkeys(foreign, "foreign")

    @property
    def labels(self) -> list[str]:
        """The columns of `rows` that identify a row, apart from its seed."""
        return _LABELS.get(self.manifest.kind, [])

    def rows(self) -> list[dict[str, Any]]:
        """The numbers, a row for each run, point, claim or parameter; nested names are joined by dots.

        Raises `FileError` if the file that had them is missing, changed or damaged.
        """
        kind = self.manifest.kind
        if kind not in _LABELS:
            known = ", ".join(_LABELS)
            raise FileError(f"{self.folder / MANIFEST}: found results of kind `{kind}`, expected one of {known}")
        if kind == "sweep":
            return self.points().to_dicts()
        path = self._checked_path(_DOCUMENTS.get(kind, f"{kind}.json"))
        document = read_json(path)
        try:
            return list(_ROWS[kind](document))
        except (LookupError, TypeError, AttributeError, RecursionError):
            raise FileError(
                f"{path}: found other content than `softsense {kind}` writes, expected its results"
            ) from None

    def points(self, wanted: Callable[[str], bool] = lambda _: True) -> pl.DataFrame:
        """The wanted columns of a sweep's frame. Raises `FileError` as `rows` does."""
        path = self._checked_path("sweep.parquet")
        try:
            return parquet(path, path.read_bytes(), wanted)
        except OSError as error:
            raise FileError(f"{path}: cannot read: {error.strerror or error}") from None

    def config(self) -> dict[str, Any]:
        """The fields of the resolved config, by dotted path; empty where no config was written."""
        if not (self.folder / "config.toml").is_file():
            return {}
        path = self._checked_path("config.toml")
        try:
            return dict(_fields(_core.read_toml(_core.read_text(path), str(path))))
        except ConfigError as error:
            raise FileError(str(error)) from None

    def _checked_path(self, name: str) -> Path:
        """The path of a file, after a check that it is the one of these results."""
        path = self.folder / name
        if self.manifest.strange(self.folder, [name]).get(name) == "changed":
            raise FileError(
                f"{path}: found a file that differs from the one in {MANIFEST}, expected the file with its SHA-256 "
                "(the same command writes both again)"
            )
        return path


@dataclass
class Found:
    """The results in a folder and its subfolders.

    Attributes:
        results: folders of results, newest first.
        unfinished: folders that a process has not finished, or was killed in, each with that process.
        skipped: for each manifest that is none of softsense's, the reason.
    """

    results: list[Results] = field(default_factory=list)
    unfinished: list[tuple[Path, str]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def find(root: str | os.PathLike[str]) -> Found:
    """The folders of results in a folder, itself among them.

    Raises `FileError` if there is no such folder.
    """
    top = Path(root)
    if not top.is_dir():
        raise FileError(f"{top}: found no such folder, expected a folder with results")
    found = Found()
    for path in (top, *(path for depth in range(1, _DEPTH + 1) for path in top.glob("/".join("*" * depth)))):
        # Anything but a folder has no such files, either.
        if os.path.lexists(path / MANIFEST):
            try:
                found.results.append(Results(path, Signed.read(path / MANIFEST)))
            except FileError as error:
                found.skipped.append(str(error))
        elif left := _unfinished(path):
            found.unfinished.append((path, left["process"]))
    found.results.sort(key=lambda each: (each.manifest.date_utc, str(each.folder)), reverse=True)
    return found


def _unfinished(folder: Path) -> dict[str, str] | None:
    """The content of the lock of a folder of results without a manifest; None without such a lock."""
    told = lock_of(folder) if os.path.lexists(folder / LOCK) else None
    return told if told and "identity" in told else None


def parquet(path: Path, content: bytes, wanted: Callable[[str], bool] = lambda _: True) -> pl.DataFrame:
    """The wanted columns of a Parquet file that anybody may have written. Raises `FileError`."""
    import io

    import polars as pl

    try:
        return pl.read_parquet(content, columns=list(filter(wanted, pl.read_parquet_schema(io.BytesIO(content)))))
    except BaseException as error:
        # Polars has panics, too, whose class nobody can import.
        if isinstance(error, pl.exceptions.PolarsError) or type(error).__name__ == "PanicException":
            said = next(iter(str(error).splitlines()), "")
            raise FileError(f"{path}: found a damaged file, expected Parquet: {said}") from None
        raise


# Contents of results -------------------------------------------------------------------------------------------------

_DOCUMENTS = {
    **dict.fromkeys(("run", "compare", "across"), "summary.json"),
    "reproduce": "claims.json",
    "fit": "fit.json",
}
_LABELS = {
    "run": ["policy"],
    "compare": ["policy"],
    "across": ["drive", "age", "load", "code", "policy"],
    "sweep": ["policy", "trace"],
    "reproduce": ["paper", "id"],
    "fit": ["name"],
    "fer": ["code", "level", "rber"],
    "table": ["level", "rber"],
    "lifetime": ["scheme", "utilisation"],
}


def numbers(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers and text of nested tables; lists and values that depend on the machine are left out."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            if key not in ("machine", "source"):
                yield from numbers(value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float | None):
            yield prefix + key, value


def _fields(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _fields(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _run_row(summary: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(numbers(summary))
    # `name` is the policy as it was asked for, with its retry.
    return {"policy": row.pop("name", row.get("policy")), "seed": row.pop("seed", None)} | {
        key: value for key, value in row.items() if key not in ("policy", "seed")
    }


def _comparison_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for each in document.get("comparisons", [document]):
        runs = [*([each["baseline"]] if each.get("baseline") else []), *each["policies"]]
        yield from map(_run_row, runs)


def _claim_rows(document: Any) -> Iterator[dict[str, Any]]:
    papers = document if isinstance(document, dict) else {"": document}
    for paper, claims in papers.items():
        for claim in claims:
            yield {"paper": paper, **dict(numbers(claim))}


def _fit_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _plain_rows(document["parameters"])


def _table_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each level of a decode table at each raw bit error rate."""
    for level, curves in enumerate(document["level"], start=1):
        for i, rber in enumerate(document["rber"]):
            told = {name: values[i] for name, values in curves.items() if name != "iterations"}
            yield {"level": level, "rber": rber, **told}


def _fer_rows(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The points of a code; for several codes each with the label and the rate of its code."""
    if "codes" not in document:
        yield from _plain_rows(document["points"])
    for code in document.get("codes", ()):
        for row in _plain_rows(code["points"]):
            yield {"code": code["label"], "rate": code["rate"], **row}


def _plain_rows(document: Any) -> Iterator[dict[str, Any]]:
    """The rows of a list of tables, or of a table."""
    for row in document if isinstance(document, list) else [document]:
        yield dict(numbers(row))


_ROWS: dict[str, Any] = {
    "run": lambda document: [_run_row(document)],
    "compare": _comparison_rows,
    "across": lambda document: _plain_rows(document["cases"]),
    "reproduce": _claim_rows,
    "fit": _fit_rows,
    "fer": _fer_rows,
    "table": _table_rows,
    "lifetime": lambda document: _plain_rows(document["schemes"]),
}
