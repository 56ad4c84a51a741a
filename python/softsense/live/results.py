"""`softsense serve-results`: runs of a folder as they go on (sweeps, campaigns, reproductions), and results."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from softsense import following
from softsense._core import FileError
from softsense.charts import Chart, Series
from softsense.folders import parquet
from softsense.formats import as_share
from softsense.live.server import FILES, Answer, Key, as_json, check_known
from softsense.manifests import MANIFEST, Signed
from softsense.report.charts import description
from softsense.report.pages import document

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".csv": "text/csv; charset=utf-8",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".toml": "text/plain; charset=utf-8",
    ".parquet": "application/octet-stream",
}
"""The files of a folder that are served, by suffix, and their types of content."""

_STOPPED = "stopped"
_MOST_POINTS = 2000
_MOST_RUNS = 40
_MOST_WORDS = 300
"""The most characters of a command that are shown."""


class Results:
    """A folder of results, or a folder of such folders; its content is read anew for each request.

    Raises:
        FileError: there is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise FileError(f"{folder}: found no such folder, expected a folder with results")
        self.folder = folder.resolve()

    def answered(self, path: str, query: Mapping[str, str], key: Key) -> Answer | None:
        """The answer to a request: for `/` the page, for `/api/state` the data that it shows.

        Paths below `/files/` get files of the folder, each of which has a key of its own.
        """
        check_known(query, ())
        if path == "/":
            return Answer(page(self.folder.name).encode(errors="replace"), by_itself=True)
        if path == "/api/state":
            state = self.state()
            for file in (file for run in state["runs"] for file in run["files"]):
                # The page is at /KEY/.
                file["address"] = f"../{key(FILES + unquote(file['path']))}{FILES}{file['path']}"
            return as_json(state)
        return self._file(path.removeprefix(FILES)) if path.startswith(FILES) else None

    def state(self) -> dict[str, Any]:
        """The state of all `runs`, and the lines about files that were `skipped`, as softsense has not written them.

        A run has the progress that `Following` wrote for it, its `state`, `left_s`, files, charts and points. Results
        whose progress nobody wrote, such as those of `compare`, have the same fields. Their `elapsed_s` is None, and
        their `doing` is their command.
        """
        skipped: list[str] = []
        told = self._told()
        found = [self._run(file, skipped) for file in told]
        found += [self._ended(folder, skipped) for folder in self._signed() if folder / following.NAME not in told]
        runs = sorted((run for run in found if run), key=lambda run: -run["started_s"])
        # Names need not be text.
        lines = [line.encode("utf-8", "replace").decode() for line in skipped[:_MOST_RUNS]]
        return {"folder": self.folder.name, "now_s": time.time(), "runs": runs[:_MOST_RUNS], "skipped": lines}

    def _told(self) -> list[Path]:
        found = [*self.folder.glob(f"*{following.NAME}"), *self.folder.glob(f"*/*{following.NAME}")]
        # A link to a folder elsewhere is not followed.
        return [file for file in found if Path(os.path.realpath(file)).is_relative_to(self.folder)]

    def _signed(self) -> list[Path]:
        found = [self.folder, *self.folder.glob("*")]
        return [
            each
            for each in found
            if os.path.lexists(each / MANIFEST) and Path(os.path.realpath(each)).is_relative_to(self.folder)
        ]

    def _ended(self, folder: Path, skipped: list[str]) -> dict[str, Any] | None:
        """The state of finished results, by their manifest."""
        try:
            signed = Signed.read(folder / MANIFEST)
            where = folder.relative_to(self.folder).as_posix().encode("utf-8").decode()
            files = self._files(folder)
        except (FileError, OSError, UnicodeError) as error:
            skipped.append(self._plain(folder / MANIFEST, error))
            return None
        try:
            ended_s = datetime.fromisoformat(signed.date_utc).timestamp()
        except (ValueError, OverflowError, OSError):
            ended_s = 0.0
        return {
            "what": signed.kind,
            "name": signed.config["name"] if signed.config else where,
            "state": following.INTERRUPTED if signed.interrupted else following.FINISHED,
            "started_s": ended_s,
            "doing": " ".join(signed.command)[:_MOST_WORDS],
            "count": 0,
            "fraction": 1.0,
            "elapsed_s": None,
            "left_s": None,
            "charts": {},
            "points": None,
            "where": where,
            "files": files,
        }

    def _run(self, file: Path, skipped: list[str]) -> dict[str, Any] | None:
        # A store has its results in itself; a folder in files, some of them while it goes on.
        own = file.name == following.NAME
        where = file.parent.relative_to(self.folder).as_posix() if own else file.name[: -len(following.NAME)]
        try:
            told = following.read_told(file)
            told |= {"elapsed_s": told["told_s"] - told["started_s"], "left_s": None, "charts": {}, "points": None}
            told |= {"where": where.encode("utf-8").decode(), "files": self._files(file.parent) if own else []}
        except (FileError, OSError, UnicodeError) as error:
            skipped.append(self._plain(file, error))
            return None
        running = following.is_running(told)
        if told["state"] == following.RUNNING and not running:
            told["state"] = _STOPPED
        if running:
            told["elapsed_s"] = time.time() - told["started_s"]
            if 0 < told["fraction"] < 1:
                told["left_s"] = told["elapsed_s"] * (1 - told["fraction"]) / told["fraction"]
        history = told.pop("history")
        if len(history) > 1:
            times, shares = [at for at, _ in history], [100 * share for _, share in history]
            chart = Chart("Progress", [Series(told["name"], times, shares)], "time since it began (s)", "complete (%)")
            told["charts"]["progress"] = description(chart)
        if own and os.path.lexists(file.parent / following.PLAN):
            try:
                self._add_points(file.parent, told)
            except (FileError, OSError) as error:
                skipped.append(self._plain(file.parent, error))
        return told

    def _plain(self, path: Path, error: Exception) -> str:
        """The message of an error of a path, without the folder's own path."""
        told = str(error) if isinstance(error, FileError) else f"{path}: {error}"
        return told.replace(f"{self.folder}/", "")

    def _files(self, folder: Path) -> list[dict[str, Any]]:
        files = [each for each in folder.iterdir() if each.is_file() and self._is_served(each)]
        files.sort(key=lambda each: (each.suffix != ".html", each.name))
        return [{"name": each.name, "path": quote(each.relative_to(self.folder).as_posix())} for each in files]

    def _add_points(self, folder: Path, told: dict[str, Any]) -> None:
        """Add the finished points of a sweep: a table, and a chart of its first pair of columns."""
        from softsense.frontier import label, of_policies

        plan = following.read_plan(folder / following.PLAN)
        parts = list((folder / "points").glob("*.parquet"))
        if not parts:
            return
        x, y = plan["pair"]
        names = list(dict.fromkeys(["response.read.mean_us", "response.read.p99_us", x, y]))
        asked = {point["id"] for point in plan["points"]}
        known: dict[str, dict[str, Any]] = {}
        for part in parts:
            # The sweep joins files now and then, so one may vanish while it is read.
            with contextlib.suppress(FileNotFoundError):
                content = part.read_bytes()
                if hashlib.sha256(content).hexdigest() != part.stem:
                    raise FileError(f"{part}: found a damaged file, expected one whose SHA-256 is its name")
                known |= _numbers(part, content, names, asked)
        done = [point | {"numbers": known[point["id"]]} for point in plan["points"] if point["id"] in known]
        columns = [name for name in names if any(point["numbers"].get(name) is not None for point in done)]
        swept = list(plan["fields"])
        told["points"] = {
            "columns": ["point", *swept, "policy", "trace", "seed", *columns],
            "rows": [
                [
                    point["point"],
                    *(point["setting"].get(name) for name in swept),
                    *(point[name] for name in ("policy", "trace", "seed")),
                    *(point["numbers"].get(name) for name in columns),
                ]
                for point in done[-_MOST_POINTS:]
            ],
            "finished": len(done),
            "planned": len(plan["points"]),
            "of": plan.get("of", len(plan["points"])),
        }
        policies = dict.fromkeys(point["policy"] for point in done)
        series = []
        shades = of_policies([policy for policy in dict.fromkeys(p["policy"] for p in plan["points"]) if policy])
        for policy in policies:
            of = [p for p in done if p["policy"] == policy and None not in (p["numbers"].get(x), p["numbers"].get(y))]
            labels = [", ".join(f"{name} {p['setting'].get(name)}" for name in swept) or "the config" for p in of]
            xs, ys = ([p["numbers"][name] for p in of] for name in (x, y))
            series.append(
                Series(policy or "points", xs, ys, "points", labels=labels, colour=shades.get(policy) or shades[None])
            )
        if any(each.x for each in series):
            told["charts"]["points"] = description(Chart("Finished points", series, label(x), label(y)))

    def _is_served(self, file: Path) -> bool:
        inside = file.resolve().is_relative_to(self.folder)
        hidden = any(part.startswith(".") for part in file.relative_to(self.folder).parts)
        return inside and not hidden and file.suffix in _KINDS and _is_text(file.relative_to(self.folder))

    def _file(self, name: str) -> Answer | None:
        if "\0" in name or "\\" in name or ".." in name.split("/"):
            return None
        file = self.folder / name
        try:
            if not (file.is_relative_to(self.folder) and file.is_file() and self._is_served(file)):
                return None
            content = file.read_bytes()
        except OSError:
            return None
        return Answer(content, _KINDS[file.suffix], scripts=file.suffix == ".html")


def _numbers(part: Path, content: bytes, names: Sequence[str], asked: Collection[str]) -> dict[str, dict[str, Any]]:
    """The requested points that a file has, with its columns of numbers, by id."""
    import polars as pl

    frame = parquet(part, content, lambda name: name == "id" or name in names)
    kinds = frame.schema
    if kinds.get("id") != pl.String:
        raise FileError(f"{part}: found no column `id` of text, expected those of points")
    there = [name for name in names if name in kinds and (kinds[name].is_float() or kinds[name].is_integer())]
    rows = frame.filter(pl.col("id").is_in(sorted(asked))).select("id", *there).to_dicts()
    return {
        str(row["id"]): {
            name: row[name] if row[name] is not None and math.isfinite(row[name]) else None for name in there
        }
        for row in rows
    }


def _is_text(path: Path) -> bool:
    """Whether a path is text, so that an address can name it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def page(name: str) -> str:
    """The page of the results, which requests the rest."""
    return document(
        f"Results in {name}",
        ['<p class="finding" id="told" aria-live="polite">…</p>'],
        ['<div id="runs"></div>', '<ul class="note" id="skipped"></ul>'],
        scripts=("live.js",),
        served=True,
    )


def text(state: Mapping[str, Any]) -> str:
    """The state of all runs, a line each."""
    lines = []
    for run in state["runs"]:
        line = f"{run['where']}: {run['what']} {run['name']}, {run['state']}, {as_share(run['fraction'], 1)} complete"
        if run["elapsed_s"] is not None:
            line += f", {run['elapsed_s']:.0f} s" + (f", about {run['left_s']:.0f} s left" if run["left_s"] else "")
        lines.append(line)
    lines += [f"skipped {line}" for line in state["skipped"]]
    return "\n".join(lines) or "no run has written its progress here yet"
