"""Shards of a sweep: each simulates every n-th point in a folder of its own; `softsense merge` unites them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from softsense._core import FileError
from softsense.base import Progress
from softsense.files import read_json, replacing
from softsense.parts import Merged, Part, check_plans, missing_parts, plan_text, share_told
from softsense.points.kept import Kept
from softsense.points.planned import Job, Planned
from softsense.shapes import Between, misfit

POINTS = "points"
"""The folder of all finished points, in the folder of a sweep."""

_RECORD = "shard.json"
_SHAPE = {"plan": dict, "part": Between(1, 10**6), "parts": Between(1, 10**6), "ended": bool}


@dataclass(frozen=True)
class Share:
    """A shard of a sweep: its number, from 1, and the number of shards."""

    part: int
    parts: int

    def folder(self, out: Path) -> Path:
        """The folder for the shard's points, in the folder of the sweep."""
        return out / f"{POINTS}-{self.part}-of-{self.parts}"

    def of(self, jobs: Iterable[Job], kept: Kept) -> list[Job]:
        """The jobs that this shard does: every n-th of those that the base lacks, without those it has done."""
        missing = [job for job in jobs if job.id not in kept.base_ids]
        return [job for job in missing[self.part - 1 :: self.parts] if job.id not in kept.ids]

    def note(self, out: Path, planned: Planned, *, ended: bool) -> None:
        """Note the plan of the shard, and whether it has done its share.

        Raises `FileError` where it belongs to another plan.
        """
        folder = self.folder(out)
        plan = plan_of(planned)
        if before := _noted(folder):
            check_plans([(str(folder), [before]), ("this sweep", [Part(plan, self.part, self.parts, ended=True)])])
        document = {"plan": json.loads(plan), "part": self.part, "parts": self.parts, "ended": ended}
        with replacing(folder / _RECORD) as partial:
            partial.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    def told(self, out: Path) -> str:
        """A message: the shard has done its share, and the command that merges all of them."""
        return share_told(self.part, self.parts, self.folder(out), out, out / f"{POINTS}-*-of-{self.parts}")


def plan_of(planned: Planned) -> str:
    """The inputs of the points of a sweep, as JSON: the same wherever its files lie."""
    apart = ("origin", "config", "traces", "pairs", "constraints", "all_designs")
    told = {name: value for name, value in vars(planned.sweep).items() if name not in apart}
    traces = [{"content": trace["sha256"], "options": trace["options"]} for trace in planned.traces]
    return plan_text({**told, "config": planned.config, "traces": traces})


def _noted(folder: Path) -> Part | None:
    """The part of a plan that a folder of points belongs to, by its record; None without a record."""
    if not (file := folder / _RECORD).exists():
        return None
    found = read_json(file)
    if wrong := misfit(found, _SHAPE):
        raise FileError(f"{file}: {wrong}")
    return Part(json.dumps(found["plan"], sort_keys=True), found["part"], found["parts"], found["ended"])


def merge_points(out: Path, sources: Sequence[Path], progress: Progress | None = None) -> Merged:
    """Unite folders of points in the folder of their sweep, as `softsense.merge` does.

    Raises:
        FileError: a folder has no points, one of its files is damaged, or its points are of another plan; or two
            folders contradict each other. The message names them.
    """
    import polars as pl

    noted: list[tuple[str, list[Part]]] = []
    frames: list[tuple[Path, pl.DataFrame]] = []
    for number, folder in enumerate(sources):
        part = _noted(folder)
        if part is None and not any(folder.glob("*.parquet")):
            raise FileError(
                f"{folder}: found no results of a shard, expected a folder such as {out / f'{POINTS}-1-of-4'}"
            )
        noted.append((str(folder), [part] if part else []))
        with Kept(folder) as kept:
            frames.append((folder, kept.frame()))
        if progress:
            progress("reading folders", number + 1, (number + 1) / len(sources))
    check_plans(noted)
    with Kept(out / POINTS) as kept:
        before = set(kept.ids)
        known, twice = kept.frame(), 0
        for folder, frame in frames:
            both = frame.join(known, on="id", how="semi").sort("id")
            if not both.equals(known.join(both, on="id", how="semi").sort("id")):
                raise FileError(
                    f"{folder}: found a point with other numbers than in another shard, expected the same numbers: the "
                    "shards may be of different versions"
                )
            twice += len(both)
            known = pl.concat([known, frame.join(known, on="id", how="anti")])
        new = known.filter(~pl.col("id").is_in(list(before)))
        kept.add_frame(new)
        kept.merge()
        held = len(kept.ids)
    parts, missing, unfinished = missing_parts([part for _, of in noted for part in of])
    return Merged(out, len(sources), "points", held, held - len(before), 0, twice, 0, parts, missing, unfinished)
