"""Running simulations from Python: `run`, `compare` and the results they return."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import Config, ConfigError, FileError, StopFlag, UnfinishedFile
from softsense.background import GRACE_S
from softsense.files import blaming
from softsense.traces import Trace

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# polars and matplotlib take longer to import than everything else together, so they are imported where they are used.

NO_SOFT_SENSING = "no_soft_sensing"
"""Name of the run in which no read ever fails: what the device would do if hard sensing always sufficed."""

Progress = Callable[[str, int, float], None]
"""Called from the calling thread with a run's name, its completed requests and its completed fraction."""

_RESPONSE_KINDS = ("read", "write", "all")
_RESPONSE_STATS = ("mean", "p50", "p95", "p99", "p999", "p9999", "max")
_REQUEST_KINDS = ("read", "write", "trim")
_MOST_JOBS = 4
_CHUNK_S = 0.1
_RETRIES = ("restart", "incremental")
_MOST_LOGGED = 200_000


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run` or `compare`; `result` holds what had been measured until then, or None if nothing had."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result


@dataclass
class RunResult:
    """What one simulation measured.

    Attributes:
        name: the policy as it was asked for, such as `two_step` or `two_step:restart`.
        config: the resolved configuration that ran.
        summary: everything measured; times in us unless a name says otherwise, None where nothing was recorded.
        interrupted: whether the run was stopped before its last request.

    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
    >>> result = run("mlc-25nm", policy="two_step", overrides=small)
    >>> result.name, result.summary["requests"], result.interrupted
    ('two_step', 200, False)
    >>> result.distribution("read").columns
    ['response_us', 'fraction']
    """

    name: str
    config: Config
    summary: dict[str, Any]
    _distributions: dict[str, tuple[Any, Any]] = field(repr=False)
    _log: _RequestLog | None = field(default=None, repr=False)

    @property
    def interrupted(self) -> bool:
        """Whether the run was stopped before its last request."""
        return bool(self.summary["interrupted"])

    def distribution(self, kind: str = "read") -> pl.DataFrame:
        """Cumulative distribution of the response time of `read`, `write` or `all` requests.

        Returns columns `response_us` (f64, ascending) and `fraction` (f64, of requests at or below it).
        """
        import polars as pl

        response_us, fraction = self._distributions[kind]
        return pl.DataFrame({"response_us": response_us, "fraction": fraction})

    @property
    def log_error(self) -> str | None:
        """Why the Parquet file of requests could not be written, if it could not: all else is whole."""
        return self._log.error if self._log else None

    @cached_property
    def requests(self) -> pl.DataFrame:
        """One row per request in order of completion; needs `log_requests`.

        Columns: request (u64), arrival_ns (u64), kind (read, write, trim), offset_bytes (u64), bytes (u64),
        response_ns (u64), max_level (u8, the highest read level that any of its codewords needed, 0 if none was read),
        retries (u16), energy_uj (f64, of its own operations: without garbage collection and programs from the write
        buffer).
        """
        if self._log is None:
            raise ValueError("requests were not logged: pass log_requests=True, or a path to a Parquet file")
        if self._log.error:
            raise FileError(self._log.error)
        return self._log.frame(self.name)

    @property
    def table(self) -> pl.DataFrame:
        """The run as one row: see `Comparison.table`."""
        return Comparison([self]).table

    @property
    def responses(self) -> pl.DataFrame:
        """Response-time statistics in long form: see `Comparison.responses`."""
        return Comparison([self]).responses

    @property
    def time_split(self) -> pl.DataFrame:
        """Where a codeword read's time went: see `Comparison.time_split`."""
        return Comparison([self]).time_split

    @property
    def levels(self) -> pl.DataFrame:
        """Read levels at which codewords decoded: see `Comparison.levels`."""
        return Comparison([self]).levels

    def to_dict(self) -> dict[str, Any]:
        """The summary under the run's name, ready for JSON."""
        return {"name": self.name, **self.summary}

    def plot(self, title: str | None = None) -> Figure:
        """Draw the run; save the figure with its `savefig`. See `Comparison.plot`."""
        return Comparison([self]).plot(title)


@dataclass
class Comparison:
    """Several runs on the same codewords with the same random draws.

    Attributes:
        runs: one result per policy, in the order asked for.
        baseline: the run without soft sensing (nothing ever fails), or None when it was not asked for.

    Frames are polars frames; a run is found by its name.

    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
    >>> compared = compare("mlc-25nm", policies="two_step,look_ahead", overrides=small)
    >>> compared["look_ahead"].summary["response"]["read"]["count"] > 0
    True
    >>> compared.responses.columns
    ['policy', 'kind', 'stat', 'response_us', 'slowdown']
    >>> compared.levels["level"].unique().to_list()
    [1, 2, 3, 4, 5, 6, 7]
    """

    runs: list[RunResult]
    baseline: RunResult | None = None

    @property
    def all_runs(self) -> list[RunResult]:
        """The baseline, if there is one, and then the policies."""
        return ([self.baseline] if self.baseline else []) + self.runs

    @property
    def interrupted(self) -> bool:
        """Whether any run was stopped before its last request."""
        return any(r.interrupted for r in self.all_runs)

    def __getitem__(self, name: str) -> RunResult:
        """The run of that name."""
        for result in self.all_runs:
            if result.name == name:
                return result
        raise KeyError(f"{name}: this comparison holds {', '.join(r.name for r in self.all_runs)}")

    def slowdown(self, result: RunResult, stat: str = "mean", kind: str = "read") -> float | None:
        """Response time of `result` over that of the baseline; None without a baseline or without such requests.

        Args:
            result: one of the runs.
            stat: mean, p50, p95, p99, p999, p9999 or max.
            kind: read, write or all.
        """
        if self.baseline is None:
            return None
        ours = result.summary["response"][kind][f"{stat}_us"]
        theirs = self.baseline.summary["response"][kind][f"{stat}_us"]
        return ours / theirs if ours is not None and theirs else None

    @property
    def table(self) -> pl.DataFrame:
        """One row per run, the baseline first: the columns most questions need, response times in us."""
        rows = []
        for result in self.all_runs:
            s = result.summary
            row: dict[str, Any] = {"policy": result.name, "retry": s["retry"], "requests": s["requests"]}
            for kind in _RESPONSE_KINDS:
                for stat in _RESPONSE_STATS:
                    row[f"{kind}_{stat}_us"] = s["response"][kind][f"{stat}_us"]
            row["slowdown"] = self.slowdown(result)
            row["codeword_read_mean_us"] = s["codeword_reads"]["mean_us"]
            row["uncorrectable"] = s["codeword_reads"]["uncorrectable"]
            row["energy_read_mean_uj"] = s["energy"]["mean_read_uj"]
            row["energy_request_mean_uj"] = s["energy"]["mean_request_uj"]
            row["write_amplification"] = s["writes_detail"]["write_amplification"]
            row["gc_blocks_reclaimed"] = s["gc"]["blocks_reclaimed"]
            for unit, share in s["utilisation"].items():
                row[f"{unit}_utilisation"] = share
            row["requests_per_s"] = s["machine"]["requests_per_s"]
            rows.append(row)
        return _frame(rows)

    @property
    def responses(self) -> pl.DataFrame:
        """Long form: policy, kind (read, write, all), stat (as `slowdown` has it), response_us, slowdown."""
        return _frame(
            {
                "policy": result.name,
                "kind": kind,
                "stat": stat,
                "response_us": result.summary["response"][kind][f"{stat}_us"],
                "slowdown": self.slowdown(result, stat, kind),
            }
            for result in self.all_runs
            for kind in _RESPONSE_KINDS
            for stat in _RESPONSE_STATS
        )

    @property
    def time_split(self) -> pl.DataFrame:
        """Long form: policy, part, mean_us per codeword read. The parts add up to the mean (None without reads)."""
        return _frame(
            {"policy": result.name, "part": part, "mean_us": mean_us}
            for result in self.all_runs
            for part, mean_us in result.summary["codeword_reads"]["time_us"].items()
        )

    @property
    def levels(self) -> pl.DataFrame:
        """Long form: policy, level (1 = hard sensing), codewords decoded at it, their share (None without reads)."""
        rows = []
        for result in self.all_runs:
            counts = result.summary["codeword_reads"]["level_histogram"]
            total = sum(counts)
            rows += [
                {"policy": result.name, "level": level, "codewords": n, "share": n / total if total else None}
                for level, n in enumerate(counts, start=1)
            ]
        return _frame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Baseline and policies, each with its slowdown of reads against no soft sensing, ready for JSON."""
        policies = []
        for result in self.runs:
            slowdown = {stat: self.slowdown(result, stat) for stat in _RESPONSE_STATS}
            policies.append({**result.to_dict(), "slowdown": slowdown if self.baseline else None})
        return {"baseline": self.baseline.to_dict() if self.baseline else None, "policies": policies}

    def plot(self, title: str | None = None) -> Figure:
        """Draw the comparison; save the figure with its `savefig`.

        It is a matplotlib figure like any other: its axes bear labels, by which they are found and restyled.

        >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
        >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
        >>> figure = compare("mlc-25nm", policies="two_step", overrides=small).plot("a trial")
        >>> panels = {axes.get_label(): axes for axes in figure.axes}
        >>> list(panels)
        ['time_split', 'tail', 'slowdown', 'levels']
        >>> _ = panels["tail"].set_xlabel("response time of my drive")
        """
        from softsense.plots import draw

        return draw(self, title)

    def plot_panel(self, panel: str, axes: Axes) -> None:
        """Draw one panel into axes of your own.

        Args:
            panel: `time_split`, `tail`, `slowdown`, `responses` or `levels`.
            axes: matplotlib axes, of any figure.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure(figsize=(6, 4)).subplots()
        >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
        >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
        >>> compare("mlc-25nm", policies="two_step", overrides=small).plot_panel("tail", axes)
        >>> [text.get_text() for text in axes.legend().get_texts()]
        ['no soft sensing', 'two_step']
        """
        from softsense.plots import draw_panel

        draw_panel(self, panel, axes)

    def report(self, title: str | None = None) -> str:
        """The comparison as one HTML document, with charts, tables and what was run; write it to a file."""
        from softsense.report import of_comparison

        return of_comparison(self, title)


def inline(value: Any) -> str:
    """A value in the notation of overrides, inline TOML; fields that are None are left out."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(each)}" for key, each in value.items() if each is not None) + " }"
    # Numbers, strings and lists are written as in JSON.
    return f"[{', '.join(map(inline, value))}]" if isinstance(value, list) else json.dumps(value)


def load_config(
    path: str | os.PathLike[str], overrides: Sequence[str] = (), *, seed: int | None = None, policy: str | None = None
) -> Config:
    """Read a configuration.

    Args:
        path: a TOML file, or the name of a shipped configuration, such as `mlc-25nm` or `tlc-3d`.
        overrides: fields to replace, each written as `ftl.over_provisioning=0.28`.
        seed: replaces the configuration's seed.
        policy: replaces the read policy, such as `two_step`, or policy and retry, such as `two_step:restart`.

    Raises:
        FileError: the file cannot be read.
        ConfigError: a field, or a combination of fields, is wrong.

    >>> load_config("tlc-3d").user_bytes // 2**30
    259
    >>> load_config("tlc-3d", ["ftl.over_provisioning=0.28"]).user_bytes // 2**30
    207
    >>> load_config("tlc-3d", ["ftl.over_provisioning=2"])
    Traceback (most recent call last):
    softsense.ConfigError: --set ftl.over_provisioning: ...
    """
    return Config.open(path, _overrides(overrides, seed, policy))


def run(
    config: str | os.PathLike[str] | Config,
    trace: str | os.PathLike[str] | Trace | None = None,
    *,
    policy: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    beyond: str = "reject",
    log_requests: bool | str | os.PathLike[str] = False,
    progress: Progress | None = None,
) -> RunResult:
    """Simulate one read policy.

    Args:
        config: a TOML file or a `Config`.
        trace: a trace file, or a `Trace` where its format or units have to be said; None for the config's `[workload]`.
        policy: replaces the config's read policy: `two_step`, or with its retry `two_step:restart`; or one of your own,
            such as `my_policies.py:Ladder` (see `softsense.own`).
        overrides: config fields to replace, each written as `ftl.over_provisioning=0.28`.
        seed: replaces the config's seed. Equal seeds give equal results, whatever the machine.
        beyond: what becomes of addresses beyond the device: `reject`, `wrap` or `scale`.
        log_requests: keep one row per request, in memory (True) or in this Parquet file. If that cannot be written, the
            result has a `log_error`, and is whole otherwise.
        progress: called now and then with name, completed requests and completed fraction.

    Raises:
        SoftsenseError: the configuration, the trace or a file is wrong; the message names the place.
        Interrupted: Ctrl-C; its `result` holds what had been measured.
        Exception: whatever a policy or rule of your own raises.

    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
    >>> result = run("mlc-25nm", policy="look_ahead", overrides=small, log_requests=True)
    >>> result.table["requests"].item()
    200
    >>> result.requests.columns[:4]
    ['request', 'arrival_ns', 'kind', 'offset_bytes']
    """
    base = _configured(config, overrides, seed, policy)
    name = policy or json.loads(base.to_json())["read"]["policy"]
    with _LogDirectory(log_requests) as logs:
        task = _Task(name, base, logs.log(name))
        _simulate([task], _opened(trace), beyond, 1, progress, lambda: task.result)
        logs.join([task.result])
        return task.result


def compare(
    config: str | os.PathLike[str] | Config,
    trace: str | os.PathLike[str] | Trace | None = None,
    *,
    policies: Sequence[str] | str = "all",
    baseline: bool = True,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    beyond: str = "reject",
    jobs: int | None = None,
    log_requests: bool | str | os.PathLike[str] = False,
    progress: Progress | None = None,
) -> Comparison:
    """Simulate several read policies on the same codewords with the same random draws.

    Every run has the same seed, and a codeword's draw is fixed when it is written, so the policies differ in nothing
    but how they read. Results do not depend on `jobs`; only the wall-clock fields of the summaries do.

    Args:
        config: a TOML file or a `Config`.
        trace: a trace file, or a `Trace` where its format or units have to be said; None for the config's `[workload]`.
        policies: `all`, or names such as `two_step`, each optionally with its retry as in `two_step:restart`; or of
            your own, such as `my_policies.py:Ladder` (see `softsense.own`).
        baseline: also run `no_soft_sensing`, in which nothing ever fails, and report slowdowns against it; not with BCH
            codes, which are read by hard decisions alone.
        overrides: config fields to replace, each written as `ftl.over_provisioning=0.28`.
        seed: replaces the config's seed.
        beyond: what becomes of addresses beyond the device: `reject`, `wrap` or `scale`.
        jobs: simulations that run at once, each with the memory of a whole device; default: one per CPU, at most 4.
        log_requests: keep one row per request, in memory (True) or for all runs in this Parquet file.
        progress: called now and then with a run's name, its completed requests and completed fraction.

    Raises:
        SoftsenseError: the configuration, the trace, a policy or a file is wrong; the message names the place.
        Interrupted: Ctrl-C; its `result` holds what had been measured.

    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=500"]
    >>> compared = compare("mlc-25nm", policies="ideal,two_step", overrides=small)
    >>> compared.table["policy"].to_list()
    ['no_soft_sensing', 'ideal', 'two_step']
    >>> compared.slowdown(compared["ideal"]) < compared.slowdown(compared["two_step"])
    True
    """
    names = policy_names(policies)
    base = _configured(config, overrides, seed, None)
    with _LogDirectory(log_requests) as logs:
        tasks: list[_Task] = []
        # BCH codes are read by hard decisions alone, and the time of their decoders is that of errors.
        if baseline and "bch" not in json.loads(base.to_json())["reliability"]:
            # `ideal` knows that level 1 suffices, so the baseline never senses ahead in vain either.
            perfect = with_policy(base, "ideal").with_overrides(['reliability="perfect"'])
            tasks.append(_Task(NO_SOFT_SENSING, perfect, logs.log(NO_SOFT_SENSING)))
        first = len(tasks)
        tasks += [_Task(name, with_policy(base, name), logs.log(name)) for name in names]

        def measured() -> Comparison | None:
            runs = [task.result for task in tasks[first:] if task.result]
            return Comparison(runs, tasks[0].result if first else None) if runs else None

        _simulate(tasks, _opened(trace), beyond, jobs or default_jobs(), progress, measured)
        logs.join([task.result for task in tasks])
        return measured()


def default_jobs() -> int:
    """Simulations that run at once unless told otherwise: one per CPU, at most 4, as each holds a device's tables."""
    return min(_MOST_JOBS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def policy_names(policies: Sequence[str] | str) -> list[str]:
    """Resolve `all`, a comma-separated list or a sequence to policy names without repeats, each with any retry given.

    A policy of your own is named by its file or module and its class, and found when a configuration is made of it.

    Raises:
        ConfigError: a policy is not known, or none is named.

    >>> policy_names("two_step:restart, two_step:incremental, ideal")
    ['two_step:restart', 'two_step:incremental', 'ideal']
    """
    known = [policy["name"] for policy in _core.policies()]
    items = policies.split(",") if isinstance(policies, str) else list(policies)
    names: list[str] = []
    for item in (item.strip() for item in items):
        if item == "all":
            names += known
        elif split_policy(item)[0] in known or ":" in split_policy(item)[0]:
            names.append(item)
        else:
            raise ConfigError(
                f"policies: unknown policy '{item}', expected all or some of {', '.join(known)}, or one of your own, "
                "such as my_policies.py:Ladder"
            )
    if not names:
        raise ConfigError(f"policies: none named, expected all or some of {', '.join(known)}")
    return list(dict.fromkeys(names))


def split_policy(policy: str) -> tuple[str, str]:
    """A policy as it was asked for, taken apart into its name and its retry; "" where that is the configuration's.

    >>> split_policy("two_step:restart"), split_policy("ideal")
    (('two_step', 'restart'), ('ideal', ''))
    >>> split_policy("my_policies.py:Ladder"), split_policy("my_policies.py:Ladder:incremental")
    (('my_policies.py:Ladder', ''), ('my_policies.py:Ladder', 'incremental'))
    """
    name, _, retry = policy.rpartition(":")
    # One of your own has a colon in its name.
    if ":" in name or retry in _RETRIES or name in {known["name"] for known in _core.policies()}:
        return name, retry
    return policy, ""


def knows_level(policy: str) -> bool:
    """Whether a policy, with its retry or without, knows the least level that decodes, which no controller does.

    >>> knows_level("ideal:restart"), knows_level("progressive")
    (True, False)
    """
    return split_policy(policy)[0] in {known["name"] for known in _core.policies() if known["knows_level"]}


def with_policy(config: Config, policy: str) -> Config:
    """The same configuration with another read policy, such as `two_step`, or `two_step:restart` with its retry.

    Raises:
        ConfigError: the policy or its retry is not known.
    """
    return config.with_overrides(_overrides((), None, policy))


def parallelism_of(config: Config, reference: Config) -> list[str]:
    """Fields to replace, so that the decoders of `config` take the area of those of `reference`, and no more.

    Raises:
        ConfigError: decoders of either are no circuits, or those of `config` are too many for the area.
    """
    hardware = reference.decoder_hardware()
    if hardware is None:
        raise ConfigError(
            "decoder.time: the reference has decoders of unknown hardware, expected `bch` or `ldpc` to compare at "
            "equal area"
        )
    return config.parallelism_of_area(hardware["total_mm2"])


def _overrides(overrides: Iterable[str], seed: int | None, policy: str | None) -> list[str]:
    result = list(overrides)
    if seed is not None:
        result.append(f"seed={seed}")
    if policy is not None:
        name, retry = split_policy(policy_names([policy])[0])
        result.append(f"read.policy={json.dumps(name)}")
        if retry:
            result.append(f"read.retry={json.dumps(retry)}")
    return result


def _configured(
    config: str | os.PathLike[str] | Config, overrides: Sequence[str], seed: int | None, policy: str | None
) -> Config:
    if isinstance(config, Config):
        changes = _overrides(overrides, seed, policy)
        return config.with_overrides(changes) if changes else config
    return load_config(config, overrides, seed=seed, policy=policy)


def _opened(trace: str | os.PathLike[str] | Trace | None) -> Trace | None:
    return trace if trace is None or isinstance(trace, _core.Trace) else Trace(os.fspath(trace))


def _frame(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)


# Simulating ----------------------------------------------------------------------------------------------------------


@dataclass
class _Task:
    """One run to be done: filled in by a worker thread, watched by the calling one."""

    name: str
    config: Config
    log: _RequestLog | None
    requests: int = 0
    fraction: float = 0.0
    result: RunResult | None = None
    error: BaseException | None = None
    in_core: bool = False
    """Whether the core is at work: it ends with its next event, which may be a decode of many iterations."""

    def simulate(self, trace: Trace | None, beyond: str, stop: StopFlag) -> None:
        """Run to the end, or until `stop`; the core's own objects never leave this thread."""
        run = _core.Run(self.config, trace, beyond=beyond, log_requests=self.log is not None)
        chunk, more = 1000, True
        while more and not stop.is_set:
            started = time.perf_counter()
            self.in_core = True
            more = run.advance(chunk, stop)
            self.in_core = False
            if self.log:
                self.log.add(run.take_log())
            self.requests, self.fraction = run.requests, run.fraction
            # Chunks of about a tenth of a second: short enough for Ctrl-C, long enough to cost nothing.
            took = time.perf_counter() - started
            if took < _CHUNK_S / 2 and not (self.log and chunk >= _MOST_LOGGED):
                chunk *= 2
            elif took > _CHUNK_S * 2:
                chunk = max(1, chunk // 2)
        if more and not run.requests:
            return
        if self.log:
            self.log.close()
        kinds = {kind: run.distribution(kind) for kind in _RESPONSE_KINDS}
        self.result = RunResult(self.name, self.config, json.loads(run.summary_json(more)), kinds, self.log)
        self.fraction = self.fraction if more else 1.0


def _simulate(
    tasks: list[_Task],
    trace: Trace | None,
    beyond: str,
    jobs: int,
    progress: Progress | None,
    measured: Callable[[], Any],
) -> None:
    """Run the tasks in `jobs` threads; the core gives up the GIL while it simulates.

    Each task is a simulation of its own with its own random streams, so the number of threads changes no result.
    """
    waiting = list(reversed(tasks))
    stop = StopFlag()

    def work(ended: threading.Event) -> None:
        try:
            while not stop.is_set:
                try:
                    task = waiting.pop()
                except IndexError:
                    return
                try:
                    task.simulate(trace, beyond, stop)
                except BaseException as error:
                    task.error = error
                    stop.set()
        finally:
            ended.set()

    # Events, as Thread.join of Python 3.11 takes a thread for ended when Ctrl-C interrupts the waiting for it.
    ends = [threading.Event() for _ in range(max(1, min(jobs, len(tasks))))]
    for ended in ends:
        threading.Thread(target=work, args=(ended,), daemon=True).start()
    try:
        for ended in ends:
            while not ended.wait(_CHUNK_S):
                _report(tasks, progress)
    except BaseException as error:
        # Whatever `progress` has raised: a thread that is not in the core must not be there when Python ends.
        stop.set()
        given_up = time.monotonic() + GRACE_S
        for ended in ends:
            while not ended.wait(_CHUNK_S / 5) and not (
                time.monotonic() > given_up and any(task.in_core for task in tasks)
            ):
                pass
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(measured()) from None
        raise
    _report(tasks, progress)
    for task in tasks:
        if task.error:
            raise task.error


def _report(tasks: list[_Task], progress: Progress | None) -> None:
    if progress:
        for task in tasks:
            progress(task.name, task.requests, task.fraction)


# Request logs --------------------------------------------------------------------------------------------------------


class _RequestLog:
    """The requests of one run: columns gathered in memory, and flushed to part files where a folder is given.

    Worker threads write the parts with numpy: polars hears Ctrl-C in every thread and would give up half a file.
    """

    def __init__(self, file: Path | None, parts: Path | None, stem: str) -> None:
        self._file, self._parts, self._stem = file, parts, stem
        self._pending: list[dict[str, Any]] = []
        self._pending_rows = 0
        self._flushed: list[Path] = []
        self.file: Path | None = None
        self.error: str | None = None

    def fail(self, error: Exception) -> None:
        """The file cannot be written: the run goes on without."""
        told = f"{self._file}: cannot write: {getattr(error, 'strerror', None) or error}"
        self.error = str(error) if isinstance(error, FileError) else told
        self._pending, self._pending_rows = [], 0

    def add(self, columns: dict[str, Any]) -> None:
        rows = len(columns["request"])
        if rows and not self.error:
            self._pending.append(columns)
            self._pending_rows += rows
        if self._pending_rows >= _MOST_LOGGED:
            self._flush()

    def close(self) -> None:
        if self._pending:
            self._flush()

    def parquet_parts(self) -> list[Path]:
        """The part files as Parquet; for the calling thread."""
        import numpy as np

        parts = []
        for part in self._flushed:
            parts.append(part.with_suffix(".parquet"))
            with np.load(part) as columns:
                _request_frame([dict(columns)]).write_parquet(parts[-1])
            part.unlink()
        if not parts:
            parts.append(self._part(0).with_suffix(".parquet"))
            _request_frame([]).write_parquet(parts[-1])
        return parts

    def frame(self, name: str) -> pl.DataFrame:
        import polars as pl

        if self.file is None:
            return _request_frame(self._pending)
        return pl.scan_parquet(self.file).filter(pl.col("policy") == name).drop("policy").collect()

    def _part(self, i: int) -> Path:
        assert self._parts is not None
        return self._parts / f"{self._stem}-{i:08}.npz"

    def _flush(self) -> None:
        if self._parts is None:
            return
        import numpy as np

        part = self._part(len(self._flushed))
        try:
            np.savez(part, **{name: np.concatenate([c[name] for c in self._pending]) for name in self._pending[0]})
            self._flushed.append(part)
        except OSError as error:
            self.fail(error)
        self._pending, self._pending_rows = [], 0


def _request_frame(chunks: list[dict[str, Any]]) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    types = {
        "request": pl.UInt64,
        "arrival_ns": pl.UInt64,
        "kind": pl.Enum(_REQUEST_KINDS),
        "offset_bytes": pl.UInt64,
        "bytes": pl.UInt64,
        "response_ns": pl.UInt64,
        "max_level": pl.UInt8,
        "retries": pl.UInt16,
        "energy_uj": pl.Float64,
    }
    if not chunks:
        return pl.DataFrame(schema=types)
    columns = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in types}
    kinds = pl.Series(_REQUEST_KINDS).cast(types["kind"])
    return pl.DataFrame({**columns, "kind": kinds.gather(columns["kind"])}, schema=types)


class _LogDirectory:
    """Where the runs of one call log their requests: nowhere, in memory, or in part files beside the final file."""

    def __init__(self, log_requests: bool | str | os.PathLike[str]) -> None:
        self._wanted = bool(log_requests)
        self._file = None if isinstance(log_requests, bool) else Path(log_requests)
        self._whole: UnfinishedFile | None = None
        self._parts: Path | None = None
        self._logs: list[_RequestLog] = []

    def __enter__(self) -> _LogDirectory:
        if self._file:
            self._whole = UnfinishedFile(self._file)
            self._parts = Path(f"{self._whole.path}.parts")
            try:
                with blaming(self._file):
                    self._parts.mkdir()
            except BaseException:
                self._remove()
                raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            if isinstance(error, Interrupted) and error.result:
                runs = error.result.all_runs if isinstance(error.result, Comparison) else [error.result]
                self.join(runs)
        finally:
            try:
                self._remove()
            except KeyboardInterrupt:
                # It came while files were being removed: the others go, too.
                self._remove()
                raise

    def _remove(self) -> None:
        """Remove what is not whole."""
        if self._whole and self._parts:
            shutil.rmtree(self._parts, ignore_errors=True)
            self._whole.discard()

    def log(self, name: str) -> _RequestLog | None:
        if not self._wanted:
            return None
        log = _RequestLog(self._file, self._parts, f"{len(self._logs):03}")
        self._logs.append(log)
        return log

    def join(self, results: Sequence[RunResult]) -> None:
        """Stream the part files of all runs into the one file asked for, with a policy column."""
        logs = {result.name: result._log for result in results if result._log}
        # Without the requests of one run the file would not be whole.
        if self._whole is None or any(log.error for log in logs.values()):
            return
        import polars as pl

        try:
            parts = {name: pl.scan_parquet(log.parquet_parts()) for name, log in logs.items()}
            frames = [rows.select(pl.lit(name).alias("policy"), pl.all()) for name, rows in parts.items()]
            pl.concat(frames).sink_parquet(self._whole.path)
            self._whole.finish()
        except (OSError, FileError, pl.exceptions.PolarsError) as error:
            for log in logs.values():
                log.fail(error)
            return
        for log in logs.values():
            log.file = self._file
