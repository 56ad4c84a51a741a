"""The manifest of a folder of results: the inputs of the results, and the files that belong to them.

Every command that leaves a folder writes `results.json` into it, as its last file: kind, version, command line, date,
config, traces, seeds, and SHA-256 of all files. No other file has the date and the command line, so equal inputs give
the same bytes in all others.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from softsense._core import Config, FileError, Trace, build_info
from softsense.files import read_json, sha256_of
from softsense.shapes import Between, misfit

MANIFEST = "results.json"
SCHEMA = 2
"""The version of the format that is written. Version 1 had no SHA-256 of files."""

_MOST_BYTES = 1 << 24
_SHAPE = {
    "schema": Between(1, SCHEMA),
    "kind": str,
    "softsense": {"version": str, "model_version": str, "commit?": str},
    "identity?": str,
    "date_utc?": str,
    "command?": [str],
    "config?": {"name": str, "sha256": str},
    "traces?": [{"file": str, "sha256?": str | None}],
    "seeds?": [int],
    "asked?": {},
    "interrupted?": bool,
    "files?": [str],
    "sha256?": {"*": str},
}


@dataclass(frozen=True)
class Manifest:
    """The inputs and the kind of a folder of results.

    Attributes:
        kind: the command: `run`, `compare`, `fairness`, `sweep`, `reproduce`, `fit`, `fer`, `table` or `lifetime`;
            `across` is `compare --across`.
        command: the words of the command line.
        config: `name` and `sha256` of the resolved config; None where there is none.
        traces: a dict of `of_trace` for each trace; empty if the config's workload ran.
        seeds: the seeds that ran.
        asked: all other options on which the results depend, such as policies.
        known_by: the inputs that identify the results, if not all of the above do. A sweep is identified by its file,
            as each of its points has an identity.
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

    def signed(self, files: Mapping[str, str | None], *, interrupted: bool = False) -> str:
        """The text of `results.json`, with the files of the folder and their SHA-256; None for a file that may grow."""
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
            "files": sorted(files),
            "sha256": {name: sha256 for name, sha256 in sorted(files.items()) if sha256},
        }
        # Bytes of names that are not UTF-8 are replaced, as JSON cannot have them.
        text = json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False)
        return text.encode("utf-8", "replace").decode("utf-8") + "\n"


@dataclass(frozen=True)
class Signed:
    """A manifest as a folder has it.

    Attributes:
        document: the whole manifest, as it was read.
        kind: the command.
        identity: identity of the inputs; empty if the manifest does not say it.
        version: `version`, `model_version` and, where it is known, `commit` of the softsense that wrote it.
        date_utc: time of writing; empty if the manifest does not say it.
        command: the words of the command line.
        config: `name` and `sha256` of the resolved config, or None.
        traces: entries of the traces, each with its `file`.
        seeds: the seeds that ran.
        asked: other options.
        interrupted: whether Ctrl-C ended the command early.
        files: the other files of the folder, by name.
        sha256: SHA-256 of the files that do not grow; None in a manifest that is older than these hashes.
    """

    document: Mapping[str, Any] = field(repr=False)
    kind: str
    identity: str
    version: Mapping[str, Any]
    date_utc: str
    command: Sequence[str]
    config: Mapping[str, str] | None
    traces: Sequence[Mapping[str, Any]]
    seeds: Sequence[int]
    asked: Mapping[str, Any]
    interrupted: bool
    files: Sequence[str]
    sha256: Mapping[str, str] | None

    @staticmethod
    def read(path: Path) -> Signed:
        """Read a manifest. Raises `FileError`, with the reason, for a file that softsense has not written."""
        found = read_json(path, _MOST_BYTES)
        # A missing config is written as null.
        shape = _SHAPE | ({"config?": type(None)} if isinstance(found, dict) and found.get("config") is None else {})
        wrong = misfit(found, shape)
        if wrong is None:
            names = [*found.get("files", ()), *found.get("sha256", ())]
            outside = (name for name in names if not _is_inside(name))
            wrong = next((f"`files`: found `{name}`, expected files of the folder" for name in outside), None)
        if wrong:
            raise FileError(f"{path}: {wrong}; expected a manifest written by softsense")
        return Signed(
            document=found,
            kind=found["kind"],
            identity=found.get("identity", ""),
            version=found["softsense"],
            date_utc=found.get("date_utc", ""),
            command=found.get("command", []),
            config=found.get("config"),
            traces=found.get("traces", []),
            seeds=found.get("seeds", []),
            asked=found.get("asked", {}),
            interrupted=found.get("interrupted", False),
            files=found.get("files", []),
            sha256=found.get("sha256"),
        )

    def strange(
        self, folder: Path, names: Sequence[str] | None = None, most_bytes: int | None = None
    ) -> dict[str, str]:
        """The files among `names`, by default all, that are `missing` or `changed` since the manifest was written.

        Files of more than `most_bytes`, if given, are checked for existence only.
        """
        found = {}
        for name in self.files if names is None else names:
            path, sha256 = folder / name, (self.sha256 or {}).get(name)
            try:
                size = path.stat().st_size
                if sha256 and (most_bytes is None or size <= most_bytes) and sha256_of(path) != sha256:
                    found[name] = "changed"
            except FileNotFoundError:
                found[name] = "missing"
            except (OSError, FileError):
                found[name] = "changed"
        return found


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


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
        # Traces from pipes can be told apart by these fields only.
        **{key: rows.get(key) for key in ("requests", "span", "footprint")},
        "options": told | {"beyond": beyond},
    }
