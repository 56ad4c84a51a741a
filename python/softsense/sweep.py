"""Sweeps: a simulation for each combination of config fields, read policies, traces and seeds.

`sweep` is `softsense sweep`::

    from softsense.sweep import sweep

    result = sweep("over-provisioning.toml", out="out/over-provisioning")
    print(result.frame)  # a polars frame, a row for each point; also .failures, .frontiers, .plot()

A *point* is one simulation. Its identity follows from its resolved config and its trace, so a finished point is never
simulated again, neither after a kill nor when other parts of the sweep are changed. Workers and their order do not
change a byte of the result.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import SoftsenseError
from softsense.base import Interrupted, Progress, ShardDone, inline
from softsense.executing import Elsewhere, Flight, Workers, chosen_workers
from softsense.folders import Folder, opened_folder
from softsense.latin_hypercube import LatinHypercube, Range
from softsense.points import (
    BATCH,
    FAILED,
    LIFETIME_COLUMNS,
    NOT_SIMULATED,
    OK,
    SUMMARY_COLUMNS,
    WITHOUT_LIFETIME,
    Job,
    Kept,
    Outcome,
    Planned,
    Point,
    Processes,
    work,
    write_parquet,
)
from softsense.points.sharing import POINTS, Share
from softsense.search import Search
from softsense.shards import parse_part
from softsense.sweep_file import Pair, Sweep, TraceFile

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from softsense.designs import Frontier, Judged

__all__ = ["LatinHypercube", "Pair", "Planned", "Range", "Search", "Sweep", "SweepResult", "TraceFile", "sweep"]

# The most points whose numbers stay in memory: those of 100,000 are 150 MB.
_MOST_HELD = 10_000
_DIED = "the process that simulated it died, expected it to go on: out of memory? (fewer --workers need less)"


@dataclass
class SweepResult:
    """The results of a sweep.

    Attributes:
        planned: the sweep and its points; for a search those that it asked for.
        whole: the frame, or the file that has it.
        simulated: points that this call simulated; the others had been kept.
        folder: the folder of the results.
        written: the files that were written there.
        interrupted: whether it was stopped before its end. Then `not simulated` is a status, too, and no file is
            written.
    """

    planned: Planned
    whole: pl.DataFrame | Path
    simulated: int
    folder: Path
    written: list[Path] = field(default_factory=list)
    interrupted: bool = False

    @property
    def sweep(self) -> Sweep:
        """The sweep: the simulations that were asked for."""
        return self.planned.sweep

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each point in their order, as in `sweep.parquet`.

        Columns: `point`, `id`, the swept fields, `policy`, `trace`, `seed`, for a search its `batch`, `status` (`ok`,
        `failed` or `lifetime failed`), `error`, and the numbers of the summary. A frame of more than 10,000 points is
        read from `sweep.parquet` each time.
        """
        return self.select(*self.columns)

    @property
    def columns(self) -> list[str]:
        """The columns of the frame."""
        import polars as pl

        return list(pl.read_parquet_schema(self.whole)) if isinstance(self.whole, Path) else self.whole.columns

    def select(self, *columns: str) -> pl.DataFrame:
        """Some columns of the frame."""
        import polars as pl

        if isinstance(self.whole, Path):
            return pl.read_parquet(self.whole, columns=list(columns)).select(columns)
        return self.whole.select(columns)

    @property
    def failures(self) -> pl.DataFrame:
        """The points that failed, without their numbers, as in `failures.csv`."""
        batch = [BATCH] if self.sweep.search else []
        first = ["point", "id", *self.sweep.columns.values(), "policy", "trace", "seed", *batch, "status", "error"]
        found = self.select(*first)
        return found.filter(found["error"].is_not_null())

    @cached_property
    def frontiers(self) -> list[Frontier]:
        """The Pareto frontiers: of each trace, for each pair of columns."""
        from softsense.designs import frontiers

        return frontiers(self)

    @cached_property
    def judged(self) -> Judged:
        """All designs on each trace, with their problems."""
        from softsense.designs import Judged

        return Judged(self)

    @property
    def designs(self) -> pl.DataFrame:
        """A row for each design and trace, as in `designs.csv`.

        Columns: its setting, `seeds`, `can_be_built` (whether it can), and its `verdict` (`contender`, or its problem).
        Then the mean of each column of frontiers and constraints, with the half width of its 95 % interval over seeds
        (`.half_width`, null with one seed).
        """
        pairs = [column for pair in self.sweep.pairs for column in (pair.x, pair.y)]
        asked = [column for constraint in self.sweep.constraints for column in constraint.columns]
        shown = ["codeword_reads.uncorrectable", *(f"utilisation.{unit}" for unit in ("plane", "channel", "decoder"))]
        return self.judged.frame(dict.fromkeys([*pairs, *asked, *shown]))

    def count(self, *statuses: str) -> int:
        """The number of points with one of these statuses."""
        return int(self.select("status")["status"].is_in(statuses).sum())

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "sweep": self.sweep.name,
            "config": self.sweep.config,
            "folder": str(self.folder),
            "interrupted": self.interrupted,
            "points": len(self.planned.points),
            "constraints": [constraint.text for constraint in self.sweep.constraints],
            "ok": self.count(OK),
            "failed": self.count(FAILED, WITHOUT_LIFETIME),
            "frontiers": [frontier.to_dict() for frontier in self.frontiers],
            "designs": self.designs.to_dicts(),
            "failures": self.failures.to_dicts(),
            "rows": self.frame.to_dicts(),
        }

    def plot(self, *, style: str = "screen", columns: int | None = None) -> Figure:
        """Draw the frontiers; save the figure with its `savefig`.

        Args:
            style: `screen`, or `paper` for a picture as wide as one column of a paper (3.5 inches) or as two (7.16),
                with all text at 8 points.
            columns: columns of a paper that a picture for a paper spans: 1 or 2; default: 2.

        Raises `ValueError` for another style, or another number of columns.
        """
        from softsense.frontier import draw

        return draw(self, style, columns)


def sweep(
    spec: Sweep | Planned | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | Folder | None = None,
    shard: str | None = None,
    workers: int | Executor | Any | None = None,
    progress: Progress | None = None,
    on_batch: Callable[[Planned], None] | None = None,
) -> SweepResult:
    """Simulate the points of a sweep that are not finished yet, and write the results.

    Finished points are kept in the folder `points` at once; the same call goes on where another one was killed. Points
    that failed are tried again. Results are a function of the sweep, its config and its traces: the same bytes for any
    workers, order and interruptions.

    Args:
        spec: a sweep, or its file.
        out: folder for results; default: `out/` and the name of the sweep. Several sweeps may share the points in it,
            one after the other.
        shard: a part and the number of parts, such as `3/64`. Points that the folder lacks are dealt out to shards. The
            points of this shard are simulated, and kept in a folder beside `points`, which `softsense.merge` unites.
            Shards may run at the same time.
        workers: processes of this machine (default: one per CPU), each with the memory of a whole device; or any
            executor; or a Dask client, whose workers need the same softsense and see the same files.
        progress: called now and then with the current work, the finished points and the finished fraction.
        on_batch: called whenever a search has asked for more points.

    Processes are spawned: a script that calls this needs `if __name__ == "__main__":`.

    Raises:
        SoftsenseError: the sweep, its config, a trace, the folder or the workers are wrong; the message names it.
        Interrupted: Ctrl-C; its `result` has the points so far, and everything finished is kept.
        ShardDone: the shard has done its share; in a search, its share of the batch at hand.
    """
    from softsense.designs import Judged

    if isinstance(spec, Planned):
        planned = spec
    else:
        planned = Planned(spec if isinstance(spec, Sweep) else Sweep.open(spec), progress)
    share = Share(*parse_part(shard)) if shard else None
    out = Path("out") / planned.sweep.name if out is None else out
    with contextlib.ExitStack() as opened:
        # Shards share the folder of the sweep, which no one of them may have for itself.
        to = None if share else opened.enter_context(opened_folder(out))
        folder = to.path if to else out.path if isinstance(out, Folder) else Path(out)
        kept = opened.enter_context(Kept(share.folder(folder), folder / POINTS) if share else Kept(folder / POINTS))
        if share:
            share.note(folder, planned, ended=False)
        known = set(kept.ids)
        failures: dict[str, str] = {}
        count = chosen_workers(workers)
        by: Workers[Job]
        if isinstance(count, int):
            by = Processes(count)
        else:
            by = Elsewhere(count, lambda executor, job: executor.submit(work, job))
        try:
            while True:
                jobs = (*planned.jobs.values(), *planned.lifetimes.values())
                left = [job for job in jobs if job.id not in kept.ids and job.id not in failures]
                todo = [job for job in share.of(jobs, kept) if job.id not in failures] if share else left
                interrupted = _carry_out(planned, todo, kept, by, progress, failures)
                if share and not interrupted:
                    share.note(folder, planned, ended=True)
                    kept.merge()
                    if len(todo) < len(left):
                        raise ShardDone(share.told(folder))
                if interrupted or not planned.go_on(lambda: Judged(_result(planned, kept, failures, folder))):
                    break
                if on_batch:
                    on_batch(planned)
        finally:
            by.close(stop=False)
        kept.merge()
        simulated = len((kept.ids & planned.jobs.keys()) - known)
        # For 100,000 points these are megabytes, and the next steps take the most memory of all.
        del known, jobs, left, todo
        result = SweepResult(planned, _frame(planned, kept, failures), simulated, folder, interrupted=interrupted)
        if interrupted:
            raise Interrupted(result)
        if to:
            _write(result, to)
    return result


class _PersistentWorkers:
    """Workers that stay when the jobs of a batch are done: the next one may come."""

    def __init__(self, workers: Workers[Job]) -> None:
        self.here, self._workers, self.submit = workers.here, workers, workers.submit

    @property
    def most(self) -> int:
        """The number of jobs in flight, as in `Workers`."""
        return self._workers.most

    def close(self, *, stop: bool) -> None:
        """End the workers if `stop`."""
        if stop:
            self._workers.close(stop=True)


def _carry_out(
    planned: Planned,
    todo: Sequence[Job],
    kept: Kept,
    workers: Workers[Job],
    progress: Progress | None,
    failures: dict[str, str],
) -> bool:
    """Do jobs, and note why some failed, by identity; returns whether it was interrupted."""
    flight = Flight(_PersistentWorkers(workers), todo)
    # Points that a search has not asked for yet are counted, too.
    coming = planned.size - len(planned.points)
    # Jobs in flight when a process died, one of which killed it: each is tried again by itself.
    suspected: set[str] = set()

    def report() -> None:
        if progress:
            here = len(planned.jobs) + len(planned.lifetimes)
            done = here - len(flight.waiting) - len(flight.running)
            progress(f"sweeping {planned.sweep.name}", done, done / max(1, here + coming))

    def outcome(job: Job, future: Future[Any]) -> Outcome | None:
        """The outcome of a job; None if it is to be tried again."""
        try:
            found: Outcome | None = future.result()
            return found
        except Exception as error:
            broken = not isinstance(workers, Elsewhere) and isinstance(error, BrokenProcessPool)
            if broken and job.id not in suspected:
                suspected.add(job.id)
                flight.waiting.appendleft(job)
                return None
            # `KilledWorker` is Dask's error for a process that died.
            if broken or type(error).__name__ == "KilledWorker":
                return Outcome(job.sha256, error=_DIED)
            again: Outcome = flight.result(future)
            return again

    def keep(ended: Iterable[tuple[Job, Future[Any]]]) -> None:
        rows: list[dict[str, Any]] = []
        try:
            for job, future in ended:
                if (found := outcome(job, future)) is None:
                    continue
                suspected.discard(job.id)
                if job.sha256 != found.sha256 and job.sha256 and planned.config_of(job) != found.sha256:
                    message = "found another version of softsense there, expected the one that runs here"
                    raise SoftsenseError(f"workers: {message}")
                if found.numbers is not None:
                    rows.append({"id": job.id, **found.numbers})
                elif found.error is not None:
                    failures[job.id] = planned.plain(found.error)
        finally:
            if rows:
                kept.add(rows)

    def feed() -> None:
        flight.one_at_a_time = bool(suspected)

    # A second Ctrl-C, or one that polars received.
    with contextlib.suppress(KeyboardInterrupt):
        flight.carry_out(keep, report, feed=feed)
    return any(job.id not in kept.ids and job.id not in failures for job in todo)


def _result(planned: Planned, kept: Kept, failures: Mapping[str, str], folder: Path) -> SweepResult:
    """The result so far."""
    return SweepResult(planned, _frame(planned, kept, failures), 0, folder)


def _frame(planned: Planned, kept: Kept, failures: Mapping[str, str]) -> pl.DataFrame:
    """A row for each point, in their order."""
    import polars as pl

    sweep, points = planned.sweep, planned.points
    columns: dict[str, pl.Series] = {
        "point": pl.Series([point.number for point in points], dtype=pl.Int64),
        "id": pl.Series([point.id for point in points], dtype=pl.String),
    }
    for name, column in sweep.columns.items():
        columns[column] = _swept([point.setting[name] for point in points])
    columns["policy"] = pl.Series([point.policy for point in points], dtype=pl.String)
    columns["trace"] = pl.Series([point.trace for point in points], dtype=pl.String)
    columns["seed"] = pl.Series([point.seed for point in points], dtype=pl.UInt64)
    if sweep.search:
        columns[BATCH] = pl.Series([point.batch for point in points], dtype=pl.Int64)

    def ended(point: Point) -> tuple[str, str | None]:
        if error := point.error or failures.get(point.id):
            return FAILED, error
        if point.id not in kept.ids:
            return NOT_SIMULATED, None
        if error := failures.get(point.lifetime_id or ""):
            return WITHOUT_LIFETIME, f"lifetime: {error}"
        return OK, None

    ends = [ended(point) for point in points]
    columns["status"] = pl.Series([status for status, _ in ends], dtype=pl.String)
    columns["error"] = pl.Series([error for _, error in ends], dtype=pl.String)
    numbers = kept.numbers(columns["id"], list(SUMMARY_COLUMNS))
    frame = pl.DataFrame(columns).hstack(numbers)
    if sweep.lifetime:
        devices = pl.Series([point.lifetime_id for point in points], dtype=pl.String)
        frame = frame.hstack(kept.numbers(devices, list(LIFETIME_COLUMNS)))
    return frame


def _swept(values: Sequence[Any]) -> pl.Series:
    """The values of a swept field: numbers, truth values and text as they are; other values as in a config."""
    import polars as pl

    kinds = {type(value) for value in values}
    if kinds <= {int, float}:
        return pl.Series(values, dtype=pl.Float64 if float in kinds else pl.Int64, strict=False)
    if kinds == {bool}:
        return pl.Series(values, dtype=pl.Boolean)
    return pl.Series([value if isinstance(value, str) else inline(value) for value in values], dtype=pl.String)


def _write(result: SweepResult, folder: Folder) -> None:
    """Write the files of a finished sweep, each whole, and remove files of an earlier run that are not written any
    more.
    """
    from softsense.sweep_report import report

    with folder.replacing("sweep.parquet") as path:
        write_parquet(result.frame, path)
    if len(result.planned.points) > _MOST_HELD:
        # Later steps read few columns.
        result.whole = folder.path / "sweep.parquet"
    with folder.replacing("failures.csv") as path:
        result.failures.write_csv(path)
    with folder.replacing("designs.csv") as path:
        result.designs.write_csv(path)
    if any(each.designs for each in result.frontiers):
        with folder.replacing("frontier.png") as path:
            result.plot().savefig(path)
    else:
        folder.remove("frontier.png")
    folder.write("report.html", report(result))
    result.written = folder.written()
