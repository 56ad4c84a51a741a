"""Runs of fio's jobs, and their results in fio's format."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from softsense._core import Config, ConfigError
from softsense.api import configured, run
from softsense.base import Progress
from softsense.fio.jobs import Job, overrides_of
from softsense.fio.logs import logs_of
from softsense.results import TENANT_KINDS, RunResult

PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)


@dataclass(frozen=True)
class FioResult:
    """The result of jobs of fio on a simulated drive.

    Attributes:
        jobs: the jobs as they were asked for.
        run: the simulation; each clone of a job is a tenant of it.
    """

    jobs: tuple[Job, ...]
    run: RunResult

    def _groups(self) -> Iterator[tuple[Job, list[int]]]:
        """The jobs that are reported, each with the numbers of its tenants."""
        clones = [replace(job, name=name) for job in self.jobs for name in job.clones]
        if any(job.group_reporting for job in self.jobs):
            yield self.jobs[0], list(range(len(clones)))
        else:
            yield from ((job, [number]) for number, job in enumerate(clones))

    def _direction(self, tenants: Iterable[int], kind: str) -> dict[str, Any]:
        """One direction of a job, with the names of fio's JSON."""
        counted: dict[int, int] = {}
        total = io_bytes = 0
        sum_ns, lasts_s = 0.0, 0.0
        for number in tenants:
            summary = self.run.summary["tenants"][number]
            values, fractions = self.run.tenant_distributions[number][kind]
            count = summary[kind]["count"]
            before = 0.0
            for value, fraction in zip(values, fractions, strict=True):
                nanoseconds = round(1000 * float(value))
                counted[nanoseconds] = counted.get(nanoseconds, 0) + round((float(fraction) - before) * count)
                before = float(fraction)
            total += count
            lasts_s = max(lasts_s, summary["span_s"], self.jobs[0].runtime_s or 0.0)
            io_bytes += round(1e6 * summary[f"{kind}_mb_per_s"] * summary["span_s"]) if count else 0
            sum_ns += 1000 * (summary[kind]["mean_us"] or 0.0) * count
        bins = dict(sorted(counted.items()))
        mean = sum_ns / total if total else 0.0
        variance = sum(n * (value - mean) ** 2 for value, n in bins.items()) / total if total else 0.0
        told = {
            "min": min(bins, default=0),
            "max": max(bins, default=0),
            "mean": mean,
            "stddev": math.sqrt(variance),
            "N": total,
        }
        per_s = (lambda amount: amount / lasts_s) if lasts_s else (lambda amount: 0.0)
        return {
            "io_bytes": io_bytes,
            "io_kbytes": io_bytes // 1024,
            "bw_bytes": round(per_s(io_bytes)),
            "bw": round(per_s(io_bytes) / 1024),
            "iops": per_s(total),
            "runtime": round(1000 * lasts_s),
            "total_ios": total,
            "short_ios": 0,
            "drop_ios": 0,
            "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
            "clat_ns": {
                **told,
                "percentile": _percentiles(bins, total),
                "bins": {str(ns): n for ns, n in bins.items()},
            },
            "lat_ns": told,
        }

    def to_dict(self, *, bins: bool = False) -> dict[str, Any]:
        """The result in the shape of fio's `--output-format=json`, or with `bins` of `json+`.

        `jobs` each have `read`, `write` and `trim`, with bytes, IOPS and latencies in ns. A latency is from the issue
        of a request to its completion; percentiles are off by 0.4 % at most.
        """
        jobs = []
        for job, tenants in self._groups():
            directions = {kind: self._direction(tenants, kind) for kind in TENANT_KINDS}
            for direction in directions.values():
                if not bins:
                    del direction["clat_ns"]["bins"]
            jobs.append({"jobname": job.name, "groupid": 0, "error": 0, "job options": _options(job), **directions})
        summary = self.run.summary
        return {
            "fio version": f"softsense {summary['softsense_version']}, model {summary['model_version']}",
            "jobs": jobs,
        }

    def logs(self) -> Iterator[tuple[str, str]]:
        """The logs that jobs ask for: names of files, and their texts."""
        yield from logs_of(self) if any(job.logs for job in self.jobs) else ()

    def text(self) -> str:
        """The result in the lines of fio."""
        lines = []
        totals: dict[str, list[dict[str, Any]]] = {kind: [] for kind in TENANT_KINDS}
        for job, tenants in self._groups():
            sizes = "/".join(_binary(size) for size, _ in job.sizes)
            lines.append(
                f"{job.name}: (groupid=0, jobs={len(tenants)}): rw={job.rw}, bs={sizes}, iodepth={job.iodepth}"
            )
            for kind in TENANT_KINDS:
                direction = self._direction(tenants, kind)
                if direction["total_ios"]:
                    totals[kind].append(direction)
                    lines += _lines(kind, direction)
        lines += ["", "Run status group 0 (all jobs):"]
        for kind, directions in totals.items():
            if directions:
                io_bytes, rate = (sum(each[key] for each in directions) for key in ("io_bytes", "bw_bytes"))
                lasts = max(each["runtime"] for each in directions)
                lines.append(f"{kind.upper():>8}: bw={_amounts(rate, '/s')}, io={_amounts(io_bytes)}, run={lasts}msec")
        return "\n".join(lines)


def fio(
    config: str | os.PathLike[str] | Config,
    jobs: Sequence[Job],
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    progress: Progress | None = None,
) -> FioResult:
    """Run jobs of fio together on a simulated drive.

    Args:
        config: a TOML file, the name of a shipped config, or a `Config`; its own load does not run.
        jobs: the jobs, at least one.
        overrides: config fields to replace, each written as `ftl.over_provisioning=0.28`.
        seed: replaces the config's seed. Equal seeds give equal results.
        progress: called now and then with name, completed requests and completed fraction.

    Raises:
        SoftsenseError: the config, or a job, is wrong; the message names the place.
        Interrupted: Ctrl-C; its `result` is the run so far.

    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> job = Job("reads", rw="randread", iodepth=4, runtime_s=0.05)
    >>> result = fio("mlc-25nm", [job], overrides=small)
    >>> result.to_dict()["jobs"][0]["read"]["iops"] > 1000
    True
    """
    if not jobs:
        raise ConfigError("fio: found no job, expected at least one")
    base = configured(config, overrides, seed, None)
    held = base.fields.precondition.mapped_fraction
    resolved = base.with_overrides(overrides_of(jobs, base.user_bytes, held))
    logged = any(job.logs for job in jobs)
    return FioResult(tuple(jobs), run(resolved, log_requests=logged, progress=progress))


def _options(job: Job) -> dict[str, str]:
    """Options of a job as fio's JSON has them, in text."""
    told = {"name": job.name, "rw": job.rw, "iodepth": f"{job.iodepth}", "numjobs": f"{job.numjobs}"}
    told["bs"] = "/".join(f"{size}" for size, _ in job.sizes)
    if job.rw in ("rw", "randrw"):
        told["rwmixread"] = f"{100 * job.read_share:g}"
    if job.runtime_s is not None:
        told["runtime"] = f"{job.runtime_s:g}"
    return told


def _percentiles(bins: Mapping[int, int], total: int) -> dict[str, int]:
    found, seen = {}, 0
    values = iter(bins.items())
    value = 0
    for percentile in PERCENTILES if total else ():
        rank = math.ceil(percentile / 100 * total)
        while seen < rank:
            value, count = next(values)
            seen += count
        found[f"{percentile:.6f}"] = value
    return found


def _lines(kind: str, direction: Mapping[str, Any]) -> list[str]:
    clat = direction["clat_ns"]
    unit, per = next(
        (u, p) for u, p, most in (("nsec", 1, 1e4), ("usec", 1e3, 1e7), ("msec", 1e6, math.inf)) if clat["max"] < most
    )
    told = ", ".join(f"{name}={clat[key] / per:.2f}" for name, key in (("avg", "mean"), ("stdev", "stddev")))
    rate, io_bytes = _amounts(direction["bw_bytes"], "/s"), _amounts(direction["io_bytes"])
    lines = [
        f"  {kind}: IOPS={_decimal(direction['iops'])}, BW={rate}({io_bytes}/{direction['runtime']}msec)",
        f"    clat ({unit}): min={clat['min'] / per:.0f}, max={clat['max'] / per:.0f}, {told}",
        f"    clat percentiles ({unit}):",
    ]
    cells = [f"{float(at):5.2f}th=[{ns / per:5.0f}]" for at, ns in clat["percentile"].items()]
    rows = [", ".join(cells[at : at + 4]) for at in range(0, len(cells), 4)]
    return [*lines, *(f"     | {row}{',' if row is not rows[-1] else ''}" for row in rows)]


def _decimal(value: float) -> str:
    for unit, per in (("M", 1e6), ("k", 1e3)):
        if value >= per:
            return f"{value / per:.4g}{unit}"
    return f"{value:.0f}"


def _binary(value: float) -> str:
    power = min(4, int(math.log(max(value, 1), 1024)))
    return f"{value / 1024**power:.4g}{('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _amounts(value: float, per: str = "") -> str:
    power = min(4, int(math.log(max(value, 1), 1000)))
    decimal = f"{value / 1000**power:.3g}{('B', 'kB', 'MB', 'GB', 'TB')[power]}"
    return f"{_binary(value)}{per} ({decimal}{per})"
