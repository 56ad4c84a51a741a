"""Jobs of fio: the meanings of their options, and the fields of a config that make them its load."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softsense._core import ConfigError, read_text

_READ_SHARE = {"read": 1.0, "randread": 1.0, "rw": None, "randrw": None} | dict.fromkeys(
    ("write", "randwrite", "trim", "randtrim"), 0.0
)
_SAME = {"readwrite": "rw", "blocksize": "bs"}
LOGS = ("bw", "iops", "lat")
"""The kinds of logs: bandwidth, rates of requests, latencies."""
OPTIONS = (
    *("name", "rw", "bs", "bssplit", "iodepth", "numjobs", "rwmixread", "rwmixwrite", "size", "runtime", "ramp_time"),
    *("time_based", "rate_iops", "rate_process", "random_distribution", "number_ios", "group_reporting"),
    *(f"write_{kind}_log" for kind in LOGS),
    "log_avg_msec",
)
"""The options of jobs that are simulated."""
_OF_THE_HOST = frozenset(
    (
        *("ioengine", "direct", "buffered", "filename", "directory", "thread", "fallocate", "unlink", "invalidate"),
        *("randrepeat", "allrandrepeat", "randseed", "norandommap", "refill_buffers", "scramble_buffers"),
        *("buffer_compress_percentage", "dedupe_percentage", "file_service_type", "create_serialize", "exitall"),
        *("cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "nice", "prio", "prioclass"),
        *("gtod_reduce", "gtod_cpu", "clat_percentiles", "lat_percentiles", "percentile_list"),
        *("disable_lat", "disable_clat", "disable_slat", "disable_bw", "kb_base", "unit_base", "description", "uri"),
        *("iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_low", "userspace_reap"),
        *("fixedbufs", "hipri", "registerfiles", "sqthread_poll", "nonvectored"),
    )
)
"""Options about how fio's own computer issues requests, which do not apply to a simulated one."""


@dataclass(frozen=True)
class Job:
    """A job of fio, as far as it is simulated.

    Attributes:
        name: its name in results.
        rw: `read`, `write`, `trim`, `rw`, or one of these with `rand` before it.
        sizes: sizes of requests, bytes, each with its share; the shares add up to 1.
        iodepth: number of its requests in flight.
        numjobs: number of its clones.
        rwmixread: reads of a mixed load, in per cent.
        size: the part of the drive that it uses, from the beginning of the drive: bytes, or a share of the drive up to
            1; None: the part that holds data when the run begins.
        runtime_s: simulated time that is measured; None: until as many bytes as `size` were asked for.
        ramp_s: simulated time before the measurement.
        rate_iops: requests a second, reads and writes together; None: the next one comes as soon as one is done.
        poisson: whether these come at random, and not evenly.
        zipf: exponent of Zipf's law of random addresses; None: all addresses are equally likely.
        number_ios: requests of a clone, in place of those of `size`.
        group_reporting: whether the results of all jobs are one.
        logs: names of files, by their contents: `bw`, `iops` or `lat`.
        log_avg_ms: the time over which a line of a log is a mean, ms; 0: each request has a line.
    """

    name: str
    rw: str = "read"
    sizes: tuple[tuple[int, float], ...] = ((4096, 1.0),)
    iodepth: int = 1
    numjobs: int = 1
    rwmixread: float = 50.0
    size: float | None = None
    runtime_s: float | None = None
    ramp_s: float = 0.0
    rate_iops: float | None = None
    poisson: bool = False
    zipf: float | None = None
    number_ios: int | None = None
    group_reporting: bool = False
    logs: tuple[tuple[str, str], ...] = ()
    log_avg_ms: int = 0

    @property
    def read_share(self) -> float:
        """The share of its requests that read, 0 to 1."""
        share = _READ_SHARE[self.rw]
        return self.rwmixread / 100 if share is None else share

    @property
    def trims(self) -> bool:
        """Whether its requests are trims."""
        return self.rw.endswith("trim")

    @property
    def clones(self) -> list[str]:
        """The names of its clones; the name of the job if there is one clone."""
        return [self.name] if self.numjobs == 1 else [f"{self.name} {number + 1}" for number in range(self.numjobs)]


def job_of(options: Mapping[str, str | None], where: str = "fio") -> tuple[Job, list[str]]:
    """A job from options, by their names in fio, and the names of options that do not apply to a simulated drive.

    Args:
        options: names and values as in a job file; a flag has None or 1.
        where: the beginning of error messages.

    Raises:
        ConfigError: an option that is not simulated, or a malformed value; the message names the option.
    """
    given = {_SAME.get(name, name): value for name, value in ((n.replace("-", "_"), v) for n, v in options.items())}
    ignored = sorted(name for name in given if name in _OF_THE_HOST)

    def fault(name: str, expected: str, found: str | None = None) -> ConfigError:
        return ConfigError(f"{where}: {name}: found {found or given.get(name) or 'no value'}, expected {expected}")

    for name in given:
        if name in OPTIONS or name in _OF_THE_HOST:
            continue
        expected = f"one of {', '.join(OPTIONS)}"
        if name.startswith("verify"):
            expected = (
                "no verify: a simulated drive holds no data (`softsense drive serve` does, and fio can verify it)"
            )
        elif name in ("stonewall", "wait_for", "startdelay", "new_group"):
            expected = "jobs that begin together"
        raise fault(name, expected, f"`{name}`")

    def number(name: str, default: float, low: float, high: float = math.inf) -> float:
        text = given.get(name)
        if name not in given:
            return default
        value = float(text) if text and re.fullmatch(r"\d+(\.\d+)?", text) else math.nan
        if not low <= value <= high:
            ends = f"from {low:g} to {high:g}" if high < math.inf else f"of at least {low:g}"
            raise fault(name, f"a number {ends}")
        return value

    def time_s(name: str) -> float | None:
        if name not in given:
            return None
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms|s|m|h|d)?", given[name] or "")
        units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
        seconds = float(found[1]) * units[found[2] or "s"] if found else 0.0
        if seconds <= 0:
            raise fault(name, "a time above 0, such as 10, 500ms or 2m")
        return seconds

    rw = given.get("rw") or "read"
    rw = _SAME.get(rw, rw)
    if rw not in _READ_SHARE:
        raise fault("rw", f"one of {', '.join(_READ_SHARE)}")
    size = None
    if share := re.fullmatch(r"(\d+(?:\.\d+)?)%", given.get("size") or ""):
        size = float(share[1]) / 100
        if not 0 < size <= 1:
            raise fault("size", "a share of the drive above 0 and up to 100%")
    elif "size" in given:
        size = float(_bytes(given["size"], lambda: fault("size", "bytes, such as 1g, or a share of the drive: 50%")))
    process = given.get("rate_process") or "linear"
    if process not in ("linear", "poisson"):
        raise fault("rate_process", "linear or poisson")
    distribution = given.get("random_distribution") or "random"
    zipf = re.fullmatch(r"zipf:(\d+(?:\.\d+)?)", distribution)
    if distribution != "random" and not zipf:
        raise fault("random_distribution", "random, or zipf and its exponent, such as zipf:1.1")
    runtime_s = time_s("runtime")
    if runtime_s is None and not {"size", "number_ios"} & given.keys():
        raise ConfigError(
            f"{where}: found neither runtime nor size, expected at least one of the two: a job has to end"
        )
    if runtime_s is None and "time_based" in given:
        raise fault("time_based", "it with runtime", "it without runtime")
    read_share = _READ_SHARE[rw]
    mixed = number("rwmixread", 100 - number("rwmixwrite", 50, 0, 100), 0, 100)
    rate = None
    if "rate_iops" in given:
        rates = _rates(
            given["rate_iops"],
            lambda: fault("rate_iops", "requests a second, or those of reads and of writes: 900,100"),
        )
        # Reads and writes have a rate each, which determine the mix.
        rate = float(f"{sum(rates):.10g}") if read_share is None else rates[0 if read_share else 1]
        mixed = float(f"{100 * rates[0] / sum(rates):.10g}")
    job = Job(
        name=given.get("name") or "job",
        rw=rw,
        sizes=_sizes(given, fault),
        iodepth=int(number("iodepth", 1, 1, 65536)),
        numjobs=int(number("numjobs", 1, 1, 128)),
        rwmixread=mixed,
        size=size,
        runtime_s=runtime_s,
        ramp_s=time_s("ramp_time") or 0.0,
        rate_iops=rate,
        poisson=process == "poisson",
        zipf=float(zipf[1]) if zipf else None,
        number_ios=int(number("number_ios", 0, 1)) or None,
        group_reporting="group_reporting" in given,
        logs=tuple(
            # Without a name a log has that of its job, as with fio.
            (kind, given[option] or given.get("name") or "job")
            for kind in LOGS
            if (option := f"write_{kind}_log") in given
        ),
        log_avg_ms=int(number("log_avg_msec", 0, 0)),
    )
    return job, ignored


def _bytes(text: str | None, fault: Any) -> int:
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", (text or "").lower())
    if not found or not int(found[1]):
        raise fault()
    return int(int(found[1]) * 1024 ** " kmgt".index(found[2] or " "))


def _rates(text: str | None, fault: Any) -> tuple[float, float]:
    """Rates of reads and of writes; a single number is the rate of each. A rate of one kind alone is refused."""
    parts = (text or "").split(",")
    if not all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts) or len(parts) > 2:
        raise fault()
    read, write = (float(part) for part in (parts * 2)[:2])
    if min(read, write) <= 0 or max(read, write) < 1:
        raise fault()
    return read, write


def _sizes(given: Mapping[str, str | None], fault: Any) -> tuple[tuple[int, float], ...]:
    if "bssplit" not in given:
        expected = "bytes, such as 4k, for reads and writes alike"
        return ((_bytes(given.get("bs") or "4k", lambda: fault("bs", expected)), 1.0),)
    if "bs" in given:
        raise fault("bs", "one of bs and bssplit", "it with bssplit")

    def wrong() -> ConfigError:
        error: ConfigError = fault("bssplit", "sizes and their shares in per cent, such as 4k/60:16k/40")
        return error

    parts = [re.fullmatch(r"([^/]+)/(\d+)", part) for part in (given["bssplit"] or "").split(":")]
    shares = [(_bytes(part[1], wrong), int(part[2]) / 100) for part in parts if part]
    if len(shares) < len(parts) or abs(sum(share for _, share in shares) - 1) > 1e-9:
        raise wrong()
    return tuple(shares)


def jobs_of(path: str | os.PathLike[str]) -> tuple[list[Job], list[str]]:
    """The jobs of a job file of fio, and the names of options that do not apply to a simulated drive.

    Raises:
        FileError: the file cannot be read.
        ConfigError: a line, or an option, with file and line.
    """
    shared: dict[str, str | None] = {}
    sections: list[tuple[int, str, dict[str, str | None]]] = []
    current = None
    for number, raw in enumerate(read_text(path).splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in ";#":
            continue
        if section := re.fullmatch(r"\[(.+)\]", line):
            current = shared if section[1] == "global" else dict(shared)
            if current is not shared:
                sections.append((number, section[1], current))
        elif current is None or line.startswith("include "):
            raise ConfigError(f"{path}:{number}: found `{line}`, expected options below [global] or the name of a job")
        else:
            name, equals, value = line.partition("=")
            current[name.strip()] = value.strip() if equals else None
    if not sections:
        raise ConfigError(f"{path}: found no job, expected a section with its name, such as [random-reads]")
    jobs, ignored = [], set[str]()
    for number, name, options in sections:
        job, others = job_of({"name": name, **options}, f"{path}:{number}: [{name}]")
        jobs.append(job)
        ignored.update(others)
    return jobs, sorted(ignored)


def overrides_of(jobs: Sequence[Job], user_bytes: int, held: float = 1.0) -> list[str]:
    """The fields of a config that make these jobs its load.

    Args:
        jobs: jobs that run together.
        user_bytes: capacity of the drive for the user.
        held: the share of this capacity that holds data when the run begins.

    Raises:
        ConfigError: jobs that end or begin to be measured at different times, or that go beyond the drive.
    """
    for field, name in (("runtime_s", "runtime"), ("ramp_s", "ramp_time")):
        if len(times := {getattr(job, field) for job in jobs}) > 1:
            told = " and ".join("none" if each is None else f"{each:g} s" for each in sorted(times, key=str))
            raise ConfigError(
                f"fio: {name}: found {told}, expected the same value for all jobs: all jobs are measured together"
            )
    tenants, in_flight = [], 0
    for job in jobs:
        share = (held or 1.0) if job.size is None else job.size
        size = int(share * user_bytes) if share <= 1 else int(share)
        largest = max(bytes_ for bytes_, _ in job.sizes)
        align = math.gcd(*(bytes_ for bytes_, _ in job.sizes))
        size -= size % align
        if not largest <= size <= user_bytes:
            expected = f"from a request of {largest:,} bytes to the {user_bytes:,} bytes of the drive"
            raise ConfigError(f"fio: {job.name}: size: found {size:,} bytes, expected {expected}")
        mean = sum(bytes_ * share for bytes_, share in job.sizes)
        requests = job.number_ios or max(1, int(size / mean))
        sizes = ", ".join(f"{{ bytes = {bytes_}, share = {share!r} }}" for bytes_, share in job.sizes)
        addresses = "'uniform'" if job.zipf is None else f"{{ zipf = {{ exponent = {job.zipf!r} }} }}"
        addresses = addresses if job.rw.startswith("rand") else "'sequential'"
        process = "poisson" if job.poisson else "fixed"
        arrivals = "'immediate'"
        rate = job.rate_iops and f"{{ {process} = {{ requests_per_s = {float(job.rate_iops)!r} }} }}"
        workload = (
            f"requests = {requests}, read_fraction = {job.read_share!r}, trim_fraction = {float(job.trims)!r}, "
            f"sizes = [{sizes}], addresses = {addresses}, arrivals = {rate or arrivals}, "
            f"footprint_bytes = {size}, align_bytes = {align}"
        )
        issue = "open_loop = { time_scale = 1.0 }" if rate else f"closed_loop = {{ queue_depth = {job.iodepth} }}"
        for name in job.clones:
            tenants.append(
                f"{{ name = {json.dumps(name)}, "
                f"namespace = 'whole', issue = {{ {issue} }}, fetched_commands = {job.iodepth}, "
                f"workload = {{ {workload} }} }}"
            )
            in_flight += job.iodepth
    measured = [f"warmup = {{ seconds = {jobs[0].ramp_s!r} }}"] if jobs[0].ramp_s else []
    measured += [f"seconds = {jobs[0].runtime_s!r}"] if jobs[0].runtime_s is not None else []
    return [
        "workload=none",
        f"host.tenants=[{', '.join(tenants)}]",
        f"host.arbitration={{ fetched_commands = {max(in_flight, 1024)} }}",
        *([f"measurement={{ {', '.join(measured)} }}"] if measured else []),
    ]
