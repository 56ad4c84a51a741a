"""Running simulations from Python: `run`, `compare` and the configurations they take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from softsense import _core
from softsense._core import Config, ConfigError
from softsense.base import NO_SOFT_SENSING, Progress
from softsense.log_directory import LogDirectory
from softsense.own import opening
from softsense.read_policies import Policies, as_overrides, techniques_of, with_policy
from softsense.results import Comparison, RunResult
from softsense.simulating import Task, simulate_all
from softsense.traces import Trace

_MOST_JOBS = 4


def load_config(
    path: str | os.PathLike[str], overrides: Sequence[str] = (), *, seed: int | None = None, policy: str | None = None
) -> Config:
    """Read a configuration.

    Args:
        path: a TOML file, or the name of a shipped configuration, such as `mlc-25nm` or `tlc-femu`.
        overrides: fields to replace, each written as `ftl.over_provisioning=0.28`.
        seed: replaces the configuration's seed.
        policy: replaces the read policy, such as `two_step`, or policy and retry, such as `two_step:restart`.

    Raises:
        FileError: the file cannot be read.
        ConfigError: a field, or a combination of fields, is wrong.

    >>> load_config("tlc-femu").user_bytes // 2**30
    259
    >>> load_config("tlc-femu", ["ftl.over_provisioning=0.28"]).user_bytes // 2**30
    207
    >>> load_config("tlc-femu", ["ftl.over_provisioning=2"])
    Traceback (most recent call last):
    softsense.ConfigError: --set ftl.over_provisioning: ...
    """
    replaced = as_overrides(overrides, seed, policy)
    with opening(os.fspath(path), replaced):
        return Config.open(path, replaced)


def run(
    config: str | os.PathLike[str] | Config,
    trace: str | os.PathLike[str] | Trace | None = None,
    *,
    policy: str | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    beyond: str = "reject",
    log_requests: bool | str | os.PathLike[str] = False,
    timeline: str | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Simulate one read policy.

    Args:
        config: a TOML file or a `Config`.
        trace: a trace file, or a `Trace` if its format or units must be given; None for the config's `[workload]`.
        policy: replaces the config's read policy: a name (`two_step`), a name with its retry (`two_step:restart`), or
            one of your own (`my_policies.py:Ladder`, see `softsense.own`).
        overrides: config fields to replace, each written as `ftl.over_provisioning=0.28`.
        seed: replaces the config's seed. Equal seeds give equal results, whatever the machine.
        beyond: treatment of addresses beyond the device: `reject`, `wrap` or `scale`.
        log_requests: keep one row per request, in memory (True) or in this Parquet file. If the file cannot be written,
            the result is complete all the same, and its `log_error` says why.
        timeline: a window of simulated time, such as `10ms..12ms` (ns, us, ms or s). The result's `timeline` has every
            sensing, transfer, decode, program and erase in it, up to a million.
        progress: called now and then with name, completed requests and completed fraction.

    Raises:
        SoftsenseError: the configuration, the trace or a file is wrong; the message names the place.
        Interrupted: Ctrl-C; its `result` is what had been measured.
        Exception: whatever a policy or rule of your own raises.

    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=200"]
    >>> result = run("mlc-25nm", policy="look_ahead", overrides=small, log_requests=True)
    >>> result.table["requests"].item()
    200
    >>> result.requests.columns[:4]
    ['request', 'arrival_ns', 'kind', 'offset_bytes']
    """
    base = configured(config, overrides, seed, policy)
    name = policy or base.fields.read.policy
    if timeline is not None:
        _core.window(timeline)
    with LogDirectory(log_requests) as logs:
        task = Task(name, base, logs.log(name), timeline)
        simulate_all([task], _opened(trace), beyond, 1, progress, lambda: task.result)
        assert task.result is not None
        logs.join([task.result])
        return task.result


def compare(
    config: str | os.PathLike[str] | Config,
    trace: str | os.PathLike[str] | Trace | None = None,
    *,
    policies: Policies = "all",
    baseline: bool = True,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    beyond: str = "reject",
    jobs: int | None = None,
    log_requests: bool | str | os.PathLike[str] = False,
    progress: Progress | None = None,
) -> Comparison:
    """Simulate several read policies on the same codewords with the same random draws.

    Every run has the same seed, and the random draw of a codeword is fixed when it is written, so runs differ only in
    how they read. Results do not depend on `jobs`, except for the wall-clock fields of the summaries.

    Args:
        config: a TOML file or a `Config`.
        trace: a trace file, or a `Trace` if its format or units must be given; None for the config's `[workload]`.
        policies: `all`, or names such as `two_step`, each optionally with its retry as in `two_step:restart`; or of
            your own, such as `my_policies.py:Ladder` (see `softsense.own`); or techniques, which have overrides of
            their own (see `softsense.read_policies.Technique`).
        baseline: also run `no_soft_sensing`, in which every read succeeds with hard sensing, and report slowdowns
            relative to it. Without effect with BCH codes, which use hard decisions only.
        overrides: config fields to replace, each written as `ftl.over_provisioning=0.28`.
        seed: replaces the config's seed.
        beyond: treatment of addresses beyond the device: `reject`, `wrap` or `scale`.
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
    techniques = techniques_of(policies)
    base = configured(config, overrides, seed, None)
    with LogDirectory(log_requests) as logs:
        tasks: list[Task] = []
        fields = base.fields
        # BCH codes use hard decisions only, and the time of their decoders depends on the errors.
        if baseline and "bch" not in fields["reliability"]:
            # `ideal` knows that level 1 suffices, so the baseline never senses ahead in vain either.
            perfect = with_policy(base, "ideal").with_overrides([_without_errors(fields)])
            tasks.append(Task(NO_SOFT_SENSING, perfect, logs.log(NO_SOFT_SENSING)))
        first = len(tasks)
        tasks += [Task(each.name, each.of(base), logs.log(each.name)) for each in techniques]

        def measured() -> Comparison | None:
            runs = [task.result for task in tasks[first:] if task.result]
            return Comparison(runs, tasks[0].result if first else None) if runs else None

        simulate_all(tasks, _opened(trace), beyond, jobs or default_jobs(), progress, measured)
        found = measured()
        assert found is not None
        logs.join(found.all_runs)
        return found


def _without_errors(fields: dict[str, Any]) -> str:
    """The override that makes every decode of a config succeed at once.

    If the code says how much data one codeword holds, or error-free codewords bypass the decoder, that stays so.
    """
    for kind, applies in (("adaptive", True), ("table", fields["decoder"]["bypass"] is not None)):
        if kind in fields["reliability"] and applies:
            return f"reliability.{kind}.rber={{ constant = {{ rber = 0.0 }} }}"
    return 'reliability="perfect"'


def default_jobs() -> int:
    """The default number of simulations at once: one per CPU, at most 4, as each holds the tables of a whole device."""
    return min(_MOST_JOBS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def parallelism_of(config: Config, reference: Config) -> list[str]:
    """Overrides that give the decoders of `config` as much parallelism as fits the decoder area of `reference`.

    Raises:
        ConfigError: one of the configs does not describe decoders as circuits, or the decoders of `config` are too many
            for the area.
    """
    hardware = reference.decoder_hardware()
    if hardware is None:
        raise ConfigError(
            "decoder.time: found decoders whose area is unknown in the reference config, expected "
            "`decoder.time.bch` or `decoder.time.ldpc`, which describe a circuit, for a comparison at equal area"
        )
    return config.parallelism_of_area(hardware["total_mm2"])


def configured(
    config: str | os.PathLike[str] | Config, overrides: Sequence[str], seed: int | None, policy: str | None
) -> Config:
    """A configuration from a file or a `Config`, with fields, seed and policy replaced."""
    if isinstance(config, Config):
        changes = as_overrides(overrides, seed, policy)
        return config.with_overrides(changes) if changes else config
    return load_config(config, overrides, seed=seed, policy=policy)


def _opened(trace: str | os.PathLike[str] | Trace | None) -> Trace | None:
    return trace if trace is None or isinstance(trace, _core.Trace) else Trace(os.fspath(trace))
