"""Folders of results: the manifest of each, and the rows by which several are compared.

Every command that leaves a folder writes `results.json` into it: kind, version, command line, date, config, traces,
seeds and files. No other file has the date and the command line, so equal inputs give the same bytes in all others.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softsense._core import Config, FileError, Trace, build_info
from softsense.files import blaming, replacing, sha256_of

MANIFEST = "results.json"
SCHEMA = 1
_FOLDER_LETTERS = 8
_DEPTH = 4


@dataclass(frozen=True)
class Manifest:
    """The description of a folder of results.

    Attributes:
        kind: the command: `run`, `compare`, `fairness`, `sweep`, `reproduce`, `fit`, `fer`, `table` or `lifetime`.
        command: the words of the command line.
        config: `name` and `sha256` of the resolved config; None where there is none.
        traces: a dict of `of_trace` for each trace; empty if the config's workload ran.
        seeds: the seeds that ran.
        asked: whatever else the results depend on, such as policies.
        known_by: the inputs that identify the results, if not all of the above do; a sweep, each of whose points has an
            identity, is identified by its file.
    """

    kind: str
    command: Sequence[str] = ()
    config: Mapping[str, str] | None = None
    traces: Sequence[Mapping[str, Any]] = ()
    seeds: Sequence[int] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    known_by: Mapping[str, Any] | None = None

    @property
    def identity(self) -> str:
        """SHA-256 of the inputs that identify the results, without version, names of files, dates and command line."""
        config = self.config and self.config["sha256"]
        traces = [{key: value for key, value in trace.items() if key != "file"} for trace in self.traces]
        parts: Any = [config, traces, list(self.seeds), self.asked] if self.known_by is None else self.known_by
        text = json.dumps([self.kind, parts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def write(self, folder: Path, files: Sequence[Path], *, interrupted: bool = False) -> Path:
        """Write the manifest, as the last file of a folder; returns its path. Raises `FileError`."""
        build = build_info()
        now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        told = {
            "schema": SCHEMA,
            "kind": self.kind,
            "identity": self.identity,
            "softsense": {key: build[key] for key in ("version", "model_version", "commit") if key in build},
            "date_utc": now.isoformat().replace("+00:00", "Z"),
            "command": list(self.command),
            "config": self.config,
            "traces": list(self.traces),
            "seeds": list(self.seeds),
            "asked": self.asked,
            "interrupted": interrupted,
            "files": sorted({os.path.relpath(file, folder) for file in files if file.exists()}),
        }
        path = folder / MANIFEST
        with replacing(path) as partial:
            partial.write_text(json.dumps(told, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        return path


def of_config(name: str | os.PathLike[str], config: Config) -> dict[str, str]:
    """The entry of a config in a manifest."""
    return {"name": os.fspath(name), "sha256": config.sha256}


def of_trace(file: str | os.PathLike[str], trace: Trace, options: Mapping[str, Any], beyond: str) -> dict[str, Any]:
    """The entry of a trace in a manifest: file, content, how it was read, and how many requests were found."""
    path = Path(file)
    rows = dict(trace.describe())
    told = {key: value for key, value in options.items() if value is not None}
    return {
        "file": str(path),
        "sha256": sha256_of(path) if path.is_file() else None,
        # Traces from pipes can be told apart only by this.
        **{key: rows.get(key) for key in ("requests", "span", "footprint")},
        "options": told | {"beyond": beyond},
    }


def default_folder(base: Path, manifest: Manifest) -> Path:
    """The default folder of results: `base`, or `base` with a suffix if it holds results of other inputs. Results
    replace earlier results of the same inputs; nothing else is ever overwritten.
    """
    kept = _read(base / MANIFEST)
    if kept is None or kept.get("identity") == manifest.identity:
        return base
    return base.with_name(f"{base.name}-{manifest.identity[:_FOLDER_LETTERS]}")


def stem(file: str | os.PathLike[str]) -> str:
    """A file's name up to its first dot, for names of folders."""
    return Path(file).name.partition(".")[0].replace(" ", "-") or "trace"


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "kind" in found else None


@dataclass(frozen=True)
class Results:
    """A folder of results.

    Attributes:
        folder: where it is.
        manifest: the content of `results.json`.
    """

    folder: Path
    manifest: Mapping[str, Any]

    @staticmethod
    def open(folder: str | os.PathLike[str]) -> Results:
        """Open a folder of results. Raises `FileError` if the folder holds no results."""
        path = Path(folder)
        if not (path / MANIFEST).is_file():
            found = f"found no {MANIFEST}" if path.is_dir() else "found no such folder"
            raise FileError(f"{path}: {found}, expected a folder of results (`softsense results list` shows them)")
        manifest = _read(path / MANIFEST)
        if manifest is None:
            raise FileError(f"{path / MANIFEST}: found a damaged file, expected a manifest written by softsense")
        return Results(path, manifest)

    @property
    def labels(self) -> list[str]:
        """The columns of `rows` that identify a row, apart from its seed."""
        return _LABELS.get(str(self.manifest["kind"]), [])

    def rows(self) -> list[dict[str, Any]]:
        """The numbers, a row for each run, point, claim or parameter; nested names are joined by dots.

        Raises `FileError` if the file that had them is missing or damaged.
        """
        kind = str(self.manifest["kind"])
        if kind not in _LABELS:
            known = ", ".join(_LABELS)
            raise FileError(f"{self.folder / MANIFEST}: found results of kind `{kind}`, expected one of {known}")
        if kind == "sweep":
            import polars as pl

            path = self.folder / "sweep.parquet"
            with blaming(path):
                if not path.is_file():
                    raise FileError(f"{path}: found no such file, expected the points of a sweep")
                return pl.read_parquet(path).to_dicts()
        document = self._document(_DOCUMENTS.get(kind, f"{kind}.json"))
        try:
            return list(_ROWS[kind](document))
        except (KeyError, TypeError, AttributeError):
            path = self.folder / _DOCUMENTS.get(kind, f"{kind}.json")
            raise FileError(
                f"{path}: found other content than `softsense {kind}` writes, expected its results"
            ) from None

    def config(self) -> dict[str, Any]:
        """The fields of the resolved config, by dotted path; empty where no config was written."""
        import tomllib

        path = self.folder / "config.toml"
        if not path.is_file():
            return {}
        try:
            return dict(_fields(tomllib.loads(path.read_text(encoding="utf-8"))))
        except ValueError as error:
            raise FileError(f"{path}: {error}, expected TOML") from None

    def _document(self, name: str) -> Any:
        path = self.folder / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(f"{path}: cannot read: {error.strerror or error}") from None
        except ValueError as error:
            raise FileError(f"{path}: {error}, expected JSON") from None


def find(root: str | os.PathLike[str]) -> list[Results]:
    """The folders of results in a folder, itself among them, newest first.

    Raises `FileError` if there is no such folder.
    """
    top = Path(root)
    if not top.is_dir():
        raise FileError(f"{top}: found no such folder, expected one with results")
    below = [path for depth in range(1, _DEPTH + 1) for path in top.glob("/".join("*" * depth)) if path.is_dir()]
    found = [Results(path, manifest) for path in (top, *below) if (manifest := _read(path / MANIFEST)) is not None]
    return sorted(found, key=lambda each: (str(each.manifest.get("date_utc")), str(each.folder)), reverse=True)


# What is in them -----------------------------------------------------------------------------------------------------

_DOCUMENTS = {"run": "summary.json", "compare": "summary.json", "reproduce": "claims.json", "fit": "fit.json"}
_LABELS = {
    "run": ["policy"],
    "compare": ["policy"],
    "sweep": ["policy", "trace"],
    "reproduce": ["paper", "id"],
    "fit": ["name"],
    "fer": ["level", "rber"],
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
    """Each level of a decode table at each raw bit error rate."""
    for level, curves in enumerate(document["level"], start=1):
        for i, rber in enumerate(document["rber"]):
            told = {name: values[i] for name, values in curves.items() if name != "iterations"}
            yield {"level": level, "rber": rber, **told}


def _plain_rows(document: Any) -> Iterator[dict[str, Any]]:
    """The rows of a list of tables, or of a table."""
    for row in document if isinstance(document, list) else [document]:
        yield dict(numbers(row))


_ROWS: dict[str, Any] = {
    "run": lambda document: [_run_row(document)],
    "compare": _comparison_rows,
    "reproduce": _claim_rows,
    "fit": _fit_rows,
    "fer": lambda document: _plain_rows(document["points"]),
    "table": _table_rows,
    "lifetime": lambda document: _plain_rows(document["schemes"]),
}
