"""Measurements of a real drive under load: loads as jobs of fio, and rates and latencies of each job."""

from __future__ import annotations

import json
import math
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from softsense._core import ConfigError, read_text, read_toml
from softsense.api import load_config
from softsense.fio import Job, bins_of, job_of

KINDS = ("read", "write")
LATENCIES = ("p10_us", "p50_us", "p90_us", "p95_us", "p99_us", "p99.9_us")
"""Statistics of the latencies of a kind of requests of a job that may be measured."""
RATES = ("read_iops", "write_iops")
"""Rates that may be measured of all jobs together, or of one job, as `job.read_iops`."""
WRITE_AMPLIFICATION = "write_amplification"
_USUAL_BASE = "tlc-enterprise"
_REACHED = 0.985
_SAME = 0.1
_OF_MEMORY = 0.6
_SOONER = 2.0


@dataclass(frozen=True)
class Load:
    """Jobs that ran together, and their measured quantities.

    Attributes:
        name: name of the load in results.
        jobs: jobs of fio. Their runtimes and logs have no meaning here.
        measured: values by quantity: `job.read.p99_us`, `read_iops` and `write_iops` of all jobs or of one
            (`job.read_iops`), `write_amplification`.
        filled: the share of the drive that held data.
        held_out: whether the load is predicted, and not looked at.
    """

    name: str
    jobs: tuple[Job, ...]
    measured: Mapping[str, float]
    filled: float = 1.0
    held_out: bool = False

    @property
    def writes(self) -> bool:
        """Whether any of the jobs writes."""
        return any(job.read_share < 1 for job in self.jobs)

    @property
    def write_bytes(self) -> float:
        """Bytes of a write, in the mean over the jobs that write; 0 if none does."""
        sizes = [sum(size * share for size, share in job.sizes) for job in self.jobs if job.read_share < 1]
        return sum(sizes) / len(sizes) if sizes else 0.0

    def offered_iops(self, kind: str) -> float | None:
        """Requests a second that the jobs ask for; None if a job issues its next request when one is done."""
        offered = 0.0
        for job in self.jobs:
            if job.rate_iops is None:
                return None
            offered += job.numjobs * job.rate_iops * (job.read_share if kind == "read" else 1 - job.read_share)
        return offered

    def served_iops(self, kind: str) -> float | None:
        """Requests of a kind a second, as far as known: the measured rate, or else the offered one."""
        return self.measured.get(f"{kind}_iops") or self.offered_iops(kind)

    def reached(self) -> bool:
        """Whether the drive served the offered rates, as far as they were measured."""
        pairs = ((self.offered_iops(kind), self.measured.get(f"{kind}_iops")) for kind in KINDS)
        return all(got >= _REACHED * offered for offered, got in pairs if offered and got is not None)

    def as_issued(self) -> Load:
        """The load with jobs whose rate was not reached issuing each request when another is done.

        Such jobs do so in practice: fio and similar programs take the time of a request from its issue, and then have
        `iodepth` requests in flight.
        """
        return replace(self, jobs=tuple(self._as_issued(job) for job in self.jobs))

    def _as_issued(self, job: Job) -> Job:
        offered = _offered(job)
        if not offered:
            return job
        got = [self.measured.get(f"{job.name}.{kind}_iops") for kind in KINDS]
        missed = offered - sum(rate or 0.0 for rate in got) if any(got) else self._missed(job)
        return replace(job, rate_iops=None) if missed > (1 - _REACHED) * offered else job

    def _missed(self, job: Job) -> float:
        """Requests a second that a job was not served, if the jobs with the highest rates lack requests first."""
        missed = 0.0
        for kind in KINDS:
            offered, got = self.offered_iops(kind), self.measured.get(f"{kind}_iops")
            if offered is not None and got is not None:
                missed += max(0.0, offered - got)
        for other in sorted(self.jobs, key=_offered, reverse=True):
            if other is job:
                return min(missed, _offered(job))
            missed = max(0.0, missed - _offered(other))
        return 0.0


def _offered(job: Job) -> float:
    """Requests a second that a job asks for; 0 where it issues its next request when one is done."""
    return job.numjobs * (job.rate_iops or 0.0)


@dataclass(frozen=True)
class Measured:
    """A drive, and the loads under which it was measured.

    Attributes:
        name: name of the drive.
        user_bytes: capacity that the drive sells.
        base: the base config: a shipped one, or a file.
        settings: fields to replace in it, each written as `host.link.latency_us=1.5`: known facts about the drive.
        loads: the loads, in order.
        notes: oddities of the measurements.
    """

    name: str
    user_bytes: int
    base: str
    settings: tuple[str, ...]
    loads: tuple[Load, ...]
    notes: tuple[str, ...] = ()

    @property
    def fitted(self) -> tuple[Load, ...]:
        """The loads that are fitted."""
        return tuple(load for load in self.loads if not load.held_out)


def read_measured(
    paths: Sequence[str | os.PathLike[str]],
    *,
    user_bytes: int | None = None,
    base: str | None = None,
    hold_out: Sequence[str] = (),
) -> Measured:
    """Read the measurements of a drive: one TOML file, or JSON files of fio, each of jobs that ran together.

    Args:
        paths: the file, or files.
        user_bytes: capacity that the drive sells, for files of fio, which do not know it.
        base: the base config; default: that of the TOML file, or `tlc-enterprise`.
        hold_out: names of loads to predict, beside those of the TOML file. A load of a JSON file has the file's name.

    Raises:
        FileError: a file cannot be read.
        ConfigError: something in a file, or the base config, is missing or wrong, with file and place.
    """
    if len(paths) == 1 and Path(paths[0]).suffix == ".toml":
        found = _of_toml(Path(paths[0]))
    elif user_bytes is None:
        raise ConfigError(
            f"{paths[0]}: found JSON of fio, which does not have the capacity of the drive, expected --capacity "
            "with it, such as --capacity 960GB"
        )
    else:
        loads = tuple(_of_fio(Path(path)) for path in paths)
        found = Measured(Path(paths[0]).parent.name or "drive", user_bytes, _USUAL_BASE, (), loads)
    names = [load.name for load in found.loads]
    for name in hold_out:
        if name not in names:
            raise ConfigError(f"hold_out: found `{name}`, expected some of: {', '.join(names)}")
    loads = tuple(replace(load, held_out=load.held_out or load.name in hold_out) for load in found.loads)
    if all(load.held_out for load in loads):
        raise ConfigError(f"{paths[0]}: found only loads that are held out, expected at least one load for the fit")
    found = replace(found, base=base or found.base, loads=loads, notes=tuple(_odd(loads)))
    load_config(found.base, found.settings)
    return found


def _of_toml(path: Path) -> Measured:
    told = read_toml(read_text(path), str(path))
    _only(told, ("drive", "load"), f"{path}")
    drive, loads = told.get("drive"), told.get("load")
    if not isinstance(drive, dict) or not isinstance(loads, list) or not loads:
        raise ConfigError(f"{path}: expected a section [drive], and a [[load]] for each load that was measured")
    _only(drive, ("name", "user_bytes", "base", "settings"), f"{path}: drive")
    user_bytes = _value(drive, "user_bytes", int, f"{path}: drive", "the bytes that the drive sells")
    read = tuple(_load(each, f"{path}: load {number}") for number, each in enumerate(loads, start=1))
    names = [load.name for load in read]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{path}: found two loads with the name `{name}`, expected another name for each")
    settings = drive.get("settings", [])
    if not isinstance(settings, list) or not all(isinstance(each, str) for each in settings):
        raise ConfigError(f"{path}: drive.settings: expected texts, such as 'host.link.latency_us=1.5'")
    return Measured(drive.get("name", path.stem), user_bytes, drive.get("base", _USUAL_BASE), tuple(settings), read)


def _load(told: Any, where: str) -> Load:
    if not isinstance(told, dict):
        raise ConfigError(f"{where}: expected a table with name, jobs and measured")
    _only(told, ("name", "jobs", "measured", "filled", "held_out"), where)
    name = _value(told, "name", str, where, "a text")
    where = f"{where} ({name})"
    rows = told.get("jobs")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ConfigError(f"{where}: jobs: expected at least one, such as {{ name = 'probe', rw = 'randread' }}")
    jobs = tuple(_job({key: str(value) for key, value in row.items()}, where) for row in rows)
    filled = told.get("filled", 1.0)
    if not isinstance(filled, int | float) or not 0 < filled <= 1:
        raise ConfigError(f"{where}: filled: found {filled!r}, expected a share of the drive above 0 and up to 1")
    measured = dict(_quantities(told.get("measured"), [job.name for job in jobs], where))
    if not measured:
        raise ConfigError(
            f"{where}: measured: found an empty table, expected at least one measured number, such as write_iops"
        )
    return Load(name, jobs, measured, float(filled), bool(told.get("held_out", False)))


def _job(options: Mapping[str, str], where: str) -> Job:
    # The runtime of a job has no meaning here, but `job_of` requires one.
    job, _ = job_of({"runtime": "1", **options}, where)
    if any(job.name == kind for kind in KINDS) or "." in job.name:
        raise ConfigError(
            f"{where}: found a job with the name `{job.name}`, expected a name without a dot that is not read or write"
        )
    return replace(job, runtime_s=None, ramp_s=0.0, logs=(), group_reporting=False)


def _quantities(told: Any, jobs: Sequence[str], where: str) -> Iterator[tuple[str, float]]:
    """Each number of `measured = { write_iops, probe = { read = { p50_us } } }`, by the name of its quantity."""
    where = f"{where}: measured"
    if not isinstance(told, dict):
        raise ConfigError(f"{where}: expected a table, such as {{ write_iops = 70000 }}")
    _only(told, (*RATES, WRITE_AMPLIFICATION, *jobs), where)
    for key, value in told.items():
        if key not in jobs:
            yield key, _number(value, f"{where}.{key}")
            continue
        if not isinstance(value, dict):
            raise ConfigError(f"{where}.{key}: expected a table, such as {{ read = {{ p50_us = 70 }} }}")
        _only(value, (*KINDS, *RATES), f"{where}.{key}")
        for kind, inner in value.items():
            if kind in RATES:
                yield f"{key}.{kind}", _number(inner, f"{where}.{key}.{kind}")
                continue
            if not isinstance(inner, dict):
                raise ConfigError(f"{where}.{key}.{kind}: expected a table, such as {{ p50_us = 70 }}")
            _only(inner, LATENCIES, f"{where}.{key}.{kind}")
            yield from (
                (f"{key}.{kind}.{name}", _number(us, f"{where}.{key}.{kind}.{name}")) for name, us in inner.items()
            )


def _of_fio(path: Path) -> Load:
    try:
        told = json.loads(read_text(path))
        shared, rows = told.get("global options", {}), told["jobs"]
    except (ValueError, KeyError, AttributeError):
        raise ConfigError(f"{path}: expected the JSON of fio: --output-format=json+ --output={path.name}") from None
    named: dict[str, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows, start=1):
        named.setdefault(str(row.get("jobname", f"job{number}")).replace(".", "_"), []).append(row)
    measured, jobs = dict[str, float](), list[Job]()
    for name, clones in named.items():
        options = {**shared, **clones[0].get("job options", {}), "name": name}
        # Each clone has its own row, unless clones report as a group.
        if options.get("group_reporting", "0") == "0":
            options["numjobs"] = len(clones)
        jobs.append(_job({key: str(value) for key, value in options.items()}, f"{path}: {name}"))
        for kind in KINDS:
            directions = [each for row in clones if (each := row.get(kind) or {}).get("total_ios")]
            if not directions:
                continue
            measured[f"{name}.{kind}_iops"] = sum(float(each["iops"]) for each in directions)
            measured[f"{kind}_iops"] = measured.get(f"{kind}_iops", 0.0) + measured[f"{name}.{kind}_iops"]
            for share, us in _quantiles_of_fio(directions, f"{path}: {name}: {kind}"):
                measured[f"{name}.{kind}.p{share:g}_us"] = us
    if not measured:
        raise ConfigError(f"{path}: found no requests, expected jobs that read or write")
    return Load(path.stem, tuple(jobs), measured)


def _quantiles_of_fio(directions: Sequence[Mapping[str, Any]], where: str) -> Iterator[tuple[float, float]]:
    """Per cents and latencies in us of the requests of clones, by the bins of their completion latencies."""
    bins = bins_of(directions)
    if not bins:
        raise ConfigError(f"{where}: found no bins of latencies, expected those of --output-format=json+")
    at = sorted(bins)
    up_to = list(accumulate(bins[ns] for ns in at))
    for share in (50.0, 90.0, 99.0):
        yield share, at[min(bisect_left(up_to, share / 100 * up_to[-1]), len(at) - 1)] / 1000


def _odd(loads: Sequence[Load]) -> Iterator[str]:
    """Oddities of the measurements that a reader has to know first."""
    for load in loads:
        if not load.reached():
            got = ", ".join(
                f"{load.measured[f'{kind}_iops']:,.0f} of {offered:,.0f} {kind}s a second"
                for kind in KINDS
                if (offered := load.offered_iops(kind)) and f"{kind}_iops" in load.measured
            )
            yield (
                f"{load.name}: the drive served {got}: it did not reach the offered rate, so this load measures where "
                "the drive saturates"
            )
        for job in load.jobs:
            low, middle = (load.measured.get(f"{job.name}.read.{p}") for p in ("p10_us", "p50_us"))
            if low and middle and low < _OF_MEMORY * middle:
                yield (
                    f"{load.name}: one read in ten of {job.name} took {low:g} us or less, and half of the reads "
                    f"took {middle:g} us or more: some reads may have come from a cache, which the model does not "
                    "have"
                )
    for i, load in enumerate(loads):
        for other in loads[:i]:
            if (load.jobs, load.filled) == (other.jobs, other.filled):
                yield from _odd_repeats(load, other)
            elif _without_rates(load) == _without_rates(other):
                light, heavy = sorted((load, other), key=_asked)
                yield from _odd_rise(light, heavy)


def _odd_repeats(load: Load, other: Load) -> Iterator[str]:
    for name in RATES:
        if name in load.measured and name in other.measured:
            apart = abs(math.log(load.measured[name] / other.measured[name]))
            if apart > _SAME:
                yield (
                    f"{load.name} and {other.name} are the same load, and {name} differs by "
                    f"{math.expm1(apart):.0%}: the drive may have been throttled, or not in a steady state"
                )


def _odd_rise(light: Load, heavy: Load) -> Iterator[str]:
    """Sentences about a heavier load of the same jobs with fewer requests, or with much shorter latencies."""
    for name, before in light.measured.items():
        after = heavy.measured.get(name)
        if after is None:
            continue
        if name in RATES and math.log(before / after) > _SAME:
            yield (
                f"{heavy.name} is a heavier load than {light.name}, but {name} falls from {before:,.0f} to "
                f"{after:,.0f}: the drive may have been throttled, or not in a steady state"
            )
        if name.endswith(".p50_us") and before > _SOONER * after:
            yield (
                f"{heavy.name} is a heavier load than {light.name}, but {name} falls from {before:,.0f} us to "
                f"{after:,.0f} us: the drive works in another way there, and one set of parameters cannot describe "
                "both loads"
            )


def _without_rates(load: Load) -> tuple[tuple[Job, ...], float]:
    """The jobs of a load without their rates, and the share of the drive that it fills."""
    jobs = (replace(job, rate_iops=None, poisson=False, rwmixread=round(job.rwmixread, 3)) for job in load.jobs)
    return tuple(jobs), load.filled


def _asked(load: Load) -> float:
    """Requests a second that a load asks for; infinite where a job issues its next request when one is done."""
    return math.inf if any(job.rate_iops is None for job in load.jobs) else sum(_offered(job) for job in load.jobs)


def _only(told: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in told:
        if key not in known:
            raise ConfigError(f"{where}: found `{key}`, expected one of {', '.join(known)}")


def _value(told: Mapping[str, Any], key: str, kind: Callable[..., Any], where: str, expected: str) -> Any:
    value = told.get(key)
    if not isinstance(value, kind) or isinstance(value, bool) or not value:  # type: ignore[arg-type]
        raise ConfigError(f"{where}: {key}: found {'nothing' if value is None else repr(value)}, expected {expected}")
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigError(f"{where}: found {value!r}, expected a number above 0")
    return float(value)
