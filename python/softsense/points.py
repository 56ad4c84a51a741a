"""The points of a sweep: what each simulates, how a worker does it, and where its numbers are kept.

A point's identity is a hash of all that its numbers depend on, so numbers that are kept never have to be found again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import MAX_LEVEL, Config, ConfigError, FileError, SoftsenseError, Trace, TraceError
from softsense.api import Progress, inline, run
from softsense.files import blaming, replacing

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

    import polars as pl

    from softsense.lifetime import Demand
    from softsense.sweep_file import Sweep, TraceFile

OK = "ok"
FAILED = "failed"
WITHOUT_LIFETIME = "lifetime failed"
"""The status of a point that was simulated, and whose device's lifetime could not be found."""
NOT_SIMULATED = "not simulated"
"""The status of what an interrupted sweep had not reached; never in a file."""

STORE_VERSION = 4
"""Part of every identity: to be raised whenever other numbers of a summary are kept."""

_TIMES = ("mean_us", "p50_us", "p95_us", "p99_us", "p999_us", "p9999_us", "max_us")
_NUMBERS: dict[str, tuple[str, ...]] = {
    "": ("requests:n", "reads:n", "writes:n", "trims:n", "simulated_s"),
    **{f"response.{kind}": ("count:n", *_TIMES) for kind in ("read", "write", "all")},
    "codeword_reads": (
        *("count:n", "mean_us", "service_us", "attempts:n", "soft_starts:n", "uncorrectable:n", "undetected:n"),
        *(
            "beyond_table:n",
            "uncorrectable_in_background:n",
            "interleaved:n",
            "crossing:n",
            "from_controller:n",
            "unmapped:n",
        ),
    ),
    "codeword_reads.time_us": ("wait_plane", "sense", "wait_bus", "transfer", "wait_decoder", "decode", "retries"),
    "writes_detail": (
        *("host_codewords:n", "coalesced_codewords:n", "gc_codewords:n", "translation_codewords:n"),
        *("padding_codewords:n", "write_amplification", "read_modify_writes:n", "refused_codewords:n"),
        *("read_only_from_s", "left_in_buffer_codewords:n", "data_capacity_bytes:n"),
    ),
    "operations": (
        *(
            "senses:n",
            "extra_levels_sensed:n",
            "search_sensings:n",
            "look_ahead_senses:n",
            "look_ahead_wasted:n",
            "resets:n",
        ),
        *("predictions:n", "predicted_failures:n", "mispredictions:n", "known_cell_reads:n"),
        *("transfers:n", "decodes:n", "programs:n", "erases:n", "suspensions:n"),
    ),
    "energy": (
        *("sense_uj", "sense_extra_levels_uj", "transfer_uj", "program_uj", "erase_uj", "decode_uj", "total_uj"),
        *("cut_short_uj", "background_uj", "mean_read_uj", "mean_write_uj", "mean_request_uj"),
    ),
    "gc": (
        *("blocks_reclaimed:n", "mean_valid_fraction", "blocks_to_level_wear:n", "least_erases:n", "most_erases:n"),
        "most_block_reads:n",
    ),
    "read_reclaim": ("blocks:n", "wordlines:n", "codewords:n", "counter_bytes_per_block:n"),
    "mapping": (
        *("hit_ratio", "read_hit_ratio", "evictions:n", "dirty_evictions:n", "translation_reads:n"),
        "translation_programs:n",
    ),
    "utilisation": ("plane", "channel", "channel_wasted", "decoder"),
}
_LIFETIME = ("endurance_pe:n", "user_share", "user_capacity", "write_amplification", "lifetime_capacity")


def _columns(groups: Mapping[str, Sequence[str]]) -> dict[str, type]:
    columns: dict[str, type] = {}
    for group, names in groups.items():
        for name in names:
            bare, _, whole = name.partition(":")
            columns[f"{group}.{bare}" if group else bare] = int if whole else float
    return columns


SUMMARY_COLUMNS: dict[str, type] = (
    {"user_bytes": int}
    | _columns(_NUMBERS)
    | {f"codeword_reads.level_{level}": int for level in range(1, MAX_LEVEL + 1)}
)
"""What is kept of a simulation: names as in its summary, and whether each is a count or a real number.

`user_bytes` is what the user can address; `codeword_reads.level_1` and so on are `codeword_reads.level_histogram`.
"""

LIFETIME_COLUMNS: dict[str, type] = _columns({"lifetime": _LIFETIME})
"""What is kept of `softsense.lifetime.lifetime`: of the adaptive scheme, where there are several codes."""

_MOST_PARTS = 64


# Points --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """One simulation of a sweep.

    Attributes:
        number: its place in the sweep, from 1.
        id: SHA-256 of all that its numbers depend on: resolved config with policy and seed, model, trace.
        setting: the values of the swept fields.
        policy: as it was asked for; that of the config if none was, None if the config cannot be.
        trace: the name of its trace; None for the config's workload.
        seed: likewise.
        lifetime_id: the same for the lifetime of its device; None if none is wanted.
        error: why it cannot be simulated, if that is known.
    """

    number: int
    id: str
    setting: Mapping[str, Any]
    policy: str | None
    trace: str | None
    seed: int | None
    lifetime_id: str | None = None
    error: str | None = None


@dataclass(frozen=True)
class Job:
    """What a worker is asked for: plain data, so that it can be sent anywhere."""

    id: str
    text: str
    origin: str
    overrides: tuple[str, ...]
    sha256: str
    trace: tuple[str, tuple[tuple[str, str], ...], str] | None
    beyond: str
    demand: str | None = None


class Planned:
    """The points of a sweep, with their configs checked and their traces scanned.

    Args:
        sweep: what is to be simulated.
        progress: called now and then with what is being done, 0, and the completed fraction.

    Raises:
        ConfigError: no point at all can be simulated; the message says why not the first one.
        SoftsenseError: the config or a trace cannot be read.
    """

    def __init__(self, sweep: Sweep, progress: Progress | None = None) -> None:
        self.sweep = sweep
        try:
            base = Config.open(sweep.config)
        except SoftsenseError as error:
            raise type(error)(f"{sweep.origin}: config: {error}") from None
        self._text = base.to_toml()
        # Files that a config names are beside it, those that a shipped config is given beside the sweep. Workers may be
        # in another folder.
        self._area: float | None = None
        self._got: list[str] = []
        if sweep.equal_area:
            reference = base.with_overrides(list(sweep.overrides)).decoder_hardware()
            if reference is None:
                raise ConfigError(
                    f"{sweep.origin}: equal_area: found decoders of unknown hardware in the config, expected "
                    "`decoder.time` with `bch` or `ldpc`"
                )
            self._area = reference["total_mm2"]
        file = Path(sweep.config)
        self._origin = str((file if file.is_file() else Path(sweep.origin).parent / file.name).resolve())
        self._traces: dict[str, tuple[str, tuple[tuple[str, str], ...], str]] = {}
        self._described: list[tuple[str, str]] = []
        for i, trace in enumerate(sweep.traces):
            self._scan(i, trace, progress)
        self.jobs: dict[str, Job] = {}
        """What is to be simulated, by identity; points that come to the same are simulated once."""
        self.lifetimes: dict[str, Job] = {}
        """Devices whose lifetime is to be found, likewise."""
        self.points: list[Point] = []
        """All of them, in order."""
        for setting in sweep.settings():
            self._add(setting)
        if all(point.error for point in self.points):
            first = self.points[0].error
            raise ConfigError(f"{sweep.origin}: found no point that can be simulated, expected some; point 1: {first}")

    def describe(self) -> list[tuple[str, str]]:
        """Label and value rows for people: how many points of what, and what traces were recognised as."""
        sweep = self.sweep
        if sweep.latin_hypercube:
            parts = [f"{sweep.latin_hypercube.samples:,} samples of {', '.join(sweep.fields)}"]
        else:
            parts = [f"{len(values)} x {name}" for name, values in sweep.grid.items()]
        for many, one in ((sweep.policies, "policies"), (sweep.traces, "traces"), (sweep.seeds, "seeds")):
            parts += [f"{len(many)} {one}"] if len(many) > 1 else []
        rows = [
            ("sweep", f"{sweep.origin}: {len(self.points):,} points{': ' if parts else ''}{', '.join(parts)}"),
            ("config", sweep.config),
            *(("set", text) for text in sweep.overrides),
            ("policies", ", ".join(dict.fromkeys(point.policy for point in self.points if point.policy))),
        ]
        if self._area is not None:
            got = "; ".join(dict.fromkeys(self._got))
            rows.append(("equal area", f"{self._area:.3f} mm2 of decoders: {got}"))
        if not sweep.traces:
            rows.append(("workload", "that of the config"))
        return rows + self._described

    def to_dict(self) -> dict[str, Any]:
        """What is to be simulated, ready for JSON: `fields`, the first `pair` of columns, and `points` by identity."""
        columns = self.sweep.columns
        pair = self.sweep.pairs[0]
        points = [
            {
                "point": point.number,
                "id": point.id,
                "setting": {
                    columns[name]: value if isinstance(value, int | float | str) else inline(value)
                    for name, value in point.setting.items()
                },
                "policy": point.policy,
                "trace": point.trace,
                "seed": point.seed,
            }
            for point in self.points
        ]
        return {"fields": list(columns.values()), "pair": [pair.x, pair.y], "points": points}

    def _scan(self, i: int, trace: TraceFile, progress: Progress | None) -> None:
        def report(fraction: float) -> None:
            if progress:
                progress(f"scanning {trace.name}", 0, fraction)

        try:
            opened = Trace(os.fspath(trace.file), progress=report, **dict(trace.options))
            content = _sha256_of(trace.file)
        except SoftsenseError as error:
            raise type(error)(f"{self.sweep.origin}: traces[{i}]: {error}") from None
        self._traces[trace.name] = (str(trace.file.resolve()), trace.options, content)
        told = ("file", "format", "units", "requests", "span", "footprint")
        rows = dict(opened.describe())
        self._described.append(("trace", ", ".join(f"{key} {rows[key]}" for key in told if key in rows)))

    def _add(self, setting: Mapping[str, Any]) -> None:
        """The points of one setting: policies, then traces, then seeds, which change fastest."""
        sweep = self.sweep
        fields = tuple(f"{name}={inline(value)}" for name, value in setting.items())
        traces = [trace.name for trace in sweep.traces] or [None]
        lifetime_id: str | None = None
        for policy, trace, seed in itertools.product(sweep.policies or (None,), traces, sweep.seeds or (None,)):
            number = len(self.points) + 1
            overrides = (*sweep.overrides, *fields, *_asked_for(policy, seed))
            try:
                config = self._config(overrides)
                if self._area is not None:
                    overrides = (*overrides, *self._bought(config, setting))
                    config = self._config(overrides)
                if trace is None and not config.has_workload:
                    raise ConfigError("workload: found none, expected a [workload] in the config, or traces")
            except SoftsenseError as error:
                identity = _identity("failed", self._text, *overrides, *map(str, (policy, trace, seed)))
                why = self.plain(str(error))
                self.points.append(Point(number, identity, setting, policy, trace, seed, error=why))
                continue
            identity = self._job(self.jobs, config, overrides, trace and self._traces[trace], None)
            if sweep.lifetime and lifetime_id is None:
                lifetime_id = self._lifetime(setting, sweep.lifetime)
            resolved = json.loads(config.to_json())
            told = policy or resolved["read"]["policy"]
            self.points.append(Point(number, identity, setting, told, trace, resolved["seed"], lifetime_id))

    def _bought(self, config: Config, setting: Mapping[str, Any]) -> list[str]:
        """What decoders get for the area of those of the config."""
        bought = config.parallelism_of_area(self._area or 0.0)
        for text in bought:
            name = text.partition("=")[0]
            if name in setting:
                raise ConfigError(
                    f"{name}: found swept with `equal_area`, expected another field: the area says what it is"
                )
        self._got.append(", ".join(bought))
        return bought

    def _config(self, overrides: Sequence[str]) -> Config:
        return Config.from_toml(self._text, self._origin, list(overrides))

    def _lifetime(self, setting: Mapping[str, Any], demand: Demand) -> str:
        """The lifetime of a device, which takes no notice of how it is read, of its load, nor of how old it is."""
        fields = tuple(f"{name}={inline(value)}" for name, value in device(setting).items())
        overrides = (*self.sweep.overrides, *fields, *_asked_for(None, next(iter(self.sweep.seeds), None)))
        asked = json.dumps(vars(demand), sort_keys=True)
        try:
            return self._job(self.lifetimes, self._config(overrides), overrides, None, asked)
        except SoftsenseError:
            # Without what it takes no notice of it may be no config any more; workers say so.
            identity = _identity("lifetime", self._text, *overrides, asked)
            self.lifetimes[identity] = Job(identity, self._text, self._origin, overrides, "", None, "", asked)
            return identity

    def _job(
        self,
        jobs: dict[str, Job],
        config: Config,
        overrides: tuple[str, ...],
        trace: tuple[str, tuple[tuple[str, str], ...], str] | None,
        demand: str | None,
    ) -> str:
        beyond = self.sweep.beyond
        replayed = "" if trace is None else json.dumps([trace[2], sorted(trace[1]), beyond])
        identity = _identity(config.sha256, replayed, demand or "")
        jobs[identity] = Job(identity, self._text, self._origin, overrides, config.sha256, trace, beyond, demand)
        return identity

    def plain(self, message: str) -> str:
        """Why a point fails, the same wherever config and traces lie: their paths are no part of a result."""
        message = re.sub(rf"^({re.escape(self._origin)}(:\d+)?: |--set:? )", "", message)
        for name, (path, _, _) in self._traces.items():
            message = message.replace(path, name)
        return message.replace("--beyond wrap or --beyond scale", 'beyond = "wrap" or "scale"')


def device(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Of the values of swept fields, what a lifetime depends on: not what `softsense.lifetime` sets by itself."""
    apart = ("workload", "energy", "read", "decoder", "host.issue", "host.write_buffer_bytes", "precondition.pe_cycles")
    return {name: each for name, each in setting.items() if not any(f"{name}.".startswith(f"{a}.") for a in apart)}


def _asked_for(policy: str | None, seed: int | None) -> tuple[str, ...]:
    name, _, retry = (policy or "").partition(":")
    wanted = [("read.policy", name), ("read.retry", retry)]
    fields = [f"{path}={json.dumps(value)}" for path, value in wanted if value]
    return (*fields, *([] if seed is None else [f"seed={seed}"]))


def _identity(*parts: str) -> str:
    return hashlib.sha256(json.dumps(["softsense sweep", STORE_VERSION, *parts]).encode()).hexdigest()


def _sha256_of(file: Path) -> str:
    if file.exists() and not file.is_file():
        raise FileError(f"{file}: found a folder, a pipe or a device, expected a file")
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{file}: cannot read: {error.strerror or error}") from None


# What workers do -----------------------------------------------------------------------------------------------------


class _StopError(Exception):
    """Ends a simulation that nobody waits for any more."""


@dataclass(frozen=True)
class Outcome:
    """What came of a job.

    Attributes:
        sha256: of the config that the worker made.
        numbers: by column; None if it failed.
        error: why it failed.
        stopped: whether it was stopped.
    """

    sha256: str
    numbers: dict[str, float | None] | None = None
    error: str | None = None
    stopped: bool = False


_stop: Event | None = None


def work(job: Job) -> Outcome:
    """Simulate a point, or find a lifetime, in whatever process this is. What is wrong with the job is an outcome."""
    sha256 = job.sha256
    try:
        _go_on()
        config = Config.from_toml(job.text, job.origin, list(job.overrides))
        sha256 = config.sha256
        numbers = _numbers(config, job) if job.demand is None else _lifetime_numbers(config, job.demand)
    except _StopError:
        return Outcome(sha256, stopped=True)
    except SoftsenseError as error:
        return Outcome(sha256, error=" ".join(str(error).split()))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # Panics of the core, too, which are no Exception: a bug in one point is not to cost the others.
        return Outcome(sha256, error=" ".join(f"{type(error).__name__}: {error}".split()))
    return Outcome(sha256, numbers)


def _numbers(config: Config, job: Job) -> dict[str, float | None]:
    trace = None if job.trace is None else _opened(*job.trace)
    return flat(config, run(config, trace, beyond=job.beyond, progress=_go_on).summary)


def _go_on(*_: object) -> None:
    """Called now and then by what is being simulated."""
    if _stop and _stop.is_set():
        raise _StopError


def flat(config: Config, summary: Mapping[str, Any]) -> dict[str, float | None]:
    """The columns of a summary; None where it has no number."""
    numbers: dict[str, float | None] = {"user_bytes": config.user_bytes}
    for column in SUMMARY_COLUMNS:
        found: Any = summary
        for key in column.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        numbers.setdefault(column, found)
    levels = summary["codeword_reads"]["level_histogram"]
    return numbers | {f"codeword_reads.level_{level}": count for level, count in enumerate(levels[:MAX_LEVEL], start=1)}


def _lifetime_numbers(config: Config, demand: str) -> dict[str, float | None]:
    from softsense.lifetime import Demand, lifetime

    # The adaptive scheme comes last; with one code there is none.
    found = lifetime(config, demand=Demand(**json.loads(demand))).frame.to_dicts()[-1]
    return {column: found[column.removeprefix("lifetime.")] for column in LIFETIME_COLUMNS}


@functools.lru_cache(maxsize=8)
def _opened(path: str, options: tuple[tuple[str, str], ...], sha256: str) -> Trace:
    """A trace, scanned once in each process."""
    if _sha256_of(Path(path)) != sha256:
        raise TraceError(f"{path}: found another content than when the sweep was started, expected the same")
    return Trace(path, **dict(options))


def _begin(stop: Event) -> None:
    """Make a process a worker, which is gone when the sweep is gone."""
    global _stop
    _stop = stop
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A pool's processes wait for work for ever if the one that would give it to them is killed.
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that are begun here never hear Ctrl-C, which terminals send to all: the sweep hears it for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Processes:
    """A pool of processes on this machine that is replaced when one of them dies."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, job: Job) -> Future[Any]:
        """Hand a job to a process."""
        with _deaf_to_ctrl_c():
            try:
                return self._started().submit(work, job)
            except BrokenProcessPool:
                self.close(stop=False)
                return self._started().submit(work, job)

    def close(self, stop: bool = True) -> None:
        """End the processes, if `stop` even where they are at work."""
        # What this imports, processes have no use for.
        from softsense.runner import hearing_ctrl_c

        if stop:
            self._stop.set()
        # A process that still starts asks for what the pool has: Ctrl-C shall not drop that meanwhile.
        with hearing_ctrl_c():
            if self._pool:
                self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, self._context, initializer=_begin, initargs=(self._stop,))
        return self._pool


# What is kept --------------------------------------------------------------------------------------------------------


class Kept:
    """The numbers of finished points, by identity, in a folder that belongs to one process at a time.

    Whatever has ended together is a Parquet file, written under another name first and then named by the SHA-256 of its
    content: there is never half of one, and one that was changed is found out. Now and then files are made one.

    Args:
        folder: made if there is none.

    Raises:
        FileError: it cannot be written, another sweep uses it, or a file in it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        import fcntl

        import polars as pl

        self._folder = folder
        types = {int: pl.Int64, float: pl.Float64}
        columns = SUMMARY_COLUMNS | LIFETIME_COLUMNS
        self._schema = pl.Schema({"id": pl.String, **{name: types[kind] for name, kind in columns.items()}})
        with blaming(folder):
            folder.mkdir(parents=True, exist_ok=True)
            # Held until the process ends, however that ends.
            self._lock = (folder / ".lock").open("w")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._lock.close()
                raise FileError(f"{folder}: found a sweep at work here, expected the folder to be free") from None
        try:
            self._parts: dict[Path, pl.DataFrame] = {}
            self._load()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let others have the folder."""
        self._lock.close()

    @cached_property
    def ids(self) -> set[str]:
        """Of what is finished."""
        return {identity for part in self._parts.values() for identity in part["id"]}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep numbers by column, each row with its `id`."""
        import polars as pl

        # Whole numbers where real ones are meant are no less numbers.
        columns = {
            name: [row.get(name) if kind != pl.Float64 or row.get(name) is None else float(row[name]) for row in rows]
            for name, kind in self._schema.items()
        }
        self._write(pl.DataFrame(columns, schema=self._schema))
        self.ids.update(columns["id"])
        if len(self._parts) > _MOST_PARTS:
            self.merge()

    def merge(self) -> None:
        """Make all files one."""
        if len(self._parts) > 1:
            old, whole = list(self._parts), self.frame()
            new = self._write(whole)
            for path in old:
                if path != new:
                    path.unlink(missing_ok=True)
                    del self._parts[path]

    def frame(self) -> pl.DataFrame:
        """Everything: `id` and the numbers, by increasing id."""
        import polars as pl

        parts = list(self._parts.values()) or [pl.DataFrame(schema=self._schema)]
        return pl.concat(parts).unique("id", keep="any").sort("id")

    def _load(self) -> None:
        import io

        import polars as pl

        with blaming(self._folder):
            # Of a process that was killed while it wrote, as the folder is now this one's alone.
            for left in self._folder.glob(".softsense-*"):
                left.unlink()
            for path in sorted(self._folder.glob("*.parquet")):
                content = path.read_bytes()
                if hashlib.sha256(content).hexdigest() != path.stem:
                    raise FileError(
                        f"{path}: found a damaged file, expected one whose SHA-256 is its name "
                        "(without it, its points are simulated again)"
                    )
                part = pl.read_parquet(io.BytesIO(content))
                # Another version of softsense keeps other numbers, of points with other identities.
                if part.schema == self._schema:
                    self._parts[path] = part

    def _write(self, part: pl.DataFrame) -> Path:
        import io

        buffer = io.BytesIO()
        write_parquet(part, buffer)
        path = self._folder / f"{hashlib.sha256(buffer.getvalue()).hexdigest()}.parquet"
        with replacing(path) as partial, partial.open("wb") as file:
            file.write(buffer.getvalue())
        self._parts[path] = part
        return path


def write_parquet(frame: pl.DataFrame, to: Any) -> None:
    """Write a frame so that equal frames are equal bytes, with one version of polars."""
    frame.rechunk().write_parquet(
        to, compression="zstd", compression_level=3, statistics=True, row_group_size=1 << 16, data_page_size=1 << 20
    )
