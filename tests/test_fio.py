"""Do jobs of fio mean here what they mean to fio, and are results what the simulation counts?"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import softsense
from conftest import Softsense
from softsense import ConfigError
from softsense.fio import Job, fio, job_of, jobs_of
from softsense.fit.logs import open_log

SMALL = [
    "geometry.channels=2",
    "geometry.blocks_per_plane=64",
    "ftl.over_provisioning=0.2",
    "precondition.layout='sequential'",
]
SETS = [word for field in SMALL for word in ("--set", field)]

JOBS = """; a database and its log
[global]
ioengine=libaio
direct=1
runtime=50ms
ramp_time=10ms
time_based

[database]
rw=randrw
rwmixread=70
bssplit=4k/60:16k/40
random_distribution=zipf:0.9
iodepth=8
numjobs=2

# sequential
[log]
rw=write
bs=64k
rate_iops=200
size=25%
"""


def test_reads_and_writes_have_a_rate_each() -> None:
    """As fio 3.35 issues them: a mixed job of `rate_iops=1000` reads and writes a thousand times a second, whatever its
    mix.
    """
    mixed = {"rw": "randrw", "runtime": "1", "rwmixread": "90"}
    for rate, total, mix in (("1000", 2000, 50), ("900,100", 1000, 90), ("10,30", 40, 25)):
        job, _ = job_of({**mixed, "rate_iops": rate})
        assert (job.rate_iops, job.rwmixread) == (total, mix)
    for rw, rate, total in (("randread", "900,100", 900), ("randwrite", "900,100", 100), ("write", "200", 200)):
        assert job_of({"rw": rw, "runtime": "1", "rate_iops": rate})[0].rate_iops == total
    for rate in ("0", "1000,", "1,2,3", "fast", ""):
        with pytest.raises(ConfigError, match="rate_iops"):
            job_of({**mixed, "rate_iops": rate})


def test_options_are_those_of_fio() -> None:
    words = {"rw": "randrw", "rwmixread": "70", "bs": "16k", "iodepth": "32", "runtime": "2m", "size": "1g"}
    job, ignored = job_of({"name": "a", **words, "ramp-time": "500ms", "ioengine": "libaio"})
    assert job == Job("a", "randrw", ((16384, 1.0),), 32, 1, 70.0, 2.0**30, 120.0, 0.5)
    assert ignored == ["ioengine"]
    assert job_of({"rw": "readwrite", "runtime": "1"})[0].read_share == 0.5
    assert job_of({"rw": "write", "rwmixread": "70", "runtime": "1"})[0].read_share == 0.0


def test_trims_are_reported_and_leave_collection_less_to_move() -> None:
    """Does a job of trims do nothing but trims, and does a drive that is overwritten move less beside it?"""
    full = [*SMALL, "precondition.mapped_fraction=1.0", "precondition.layout='steady_state'"]
    writes = Job("writes", rw="randwrite", iodepth=8, runtime_s=0.5)
    trims = Job("trims", rw="randtrim", runtime_s=0.5, rate_iops=400_000.0)
    alone, beside = fio("mlc-25nm", [writes], overrides=full), fio("mlc-25nm", [writes, trims], overrides=full)
    told = beside.to_dict()["jobs"]
    assert [[job[kind]["total_ios"] > 0 for kind in ("read", "write", "trim")] for job in told] == [
        [False, True, False],
        [False, False, True],
    ]
    assert abs(told[1]["trim"]["iops"] / 400_000 - 1) < 0.01
    assert told[1]["trim"]["io_bytes"] == 4096 * told[1]["trim"]["total_ios"] > 0
    assert "  trim: IOPS=400k, BW=" in beside.text()
    assert "    TRIM: bw=" in beside.text()
    moved = [each.run.summary["writes_detail"]["write_amplification"] for each in (alone, beside)]
    assert moved[1] < 0.9 * moved[0]


def test_a_job_file_is_read_as_fio_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "jobs.fio"
    file.write_text(JOBS)
    (database, log), ignored = jobs_of(file)
    assert ignored == ["direct", "ioengine"]
    assert (database.name, database.numjobs, database.sizes) == ("database", 2, ((4096, 0.6), (16384, 0.4)))
    assert (database.zipf, database.runtime_s, database.ramp_s, database.read_share) == (0.9, 0.05, 0.01, 0.7)
    assert (log.rw, log.rate_iops, log.size, log.iodepth) == ("write", 200.0, 0.25, 1)
    if shutil.which("fio"):
        # What fio takes for a job file, with the same sections.
        shown = subprocess.run(["fio", "--parse-only", str(file)], capture_output=True, text=True, check=False)
        assert shown.returncode == 0, shown.stderr


def test_examples_of_fio_are_read_or_refused_by_the_name_of_an_option() -> None:
    """Does each job file of fio run, or have an error that names an option? Twelve of 107 run (fio 3.42)."""
    files = sorted(Path(os.environ.get("FIO_EXAMPLES", "/usr/share/doc/fio/examples")).glob("*.fio"))
    if not files:
        pytest.skip("there are no examples of fio: their folder is /usr/share/doc/fio/examples, or $FIO_EXAMPLES")
    refused = {}
    for file in files:
        try:
            assert jobs_of(file)[0]
        except ConfigError as error:
            refused[file] = str(error)
    for file, error in refused.items():
        # A job without an end lacks an option; all others have one that is not simulated.
        named = re.escape(f"{file}:") + r"\d+: \[.+\]: (\w+: found .+, expected|found neither runtime nor size)"
        assert re.match(named, error), error
    assert len(refused) < 0.95 * len(files)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rw=read", "jobs.fio:1: found `rw=read`, expected options below"),
        ("[global]\nrw=read", "jobs.fio: found no job"),
        ("[a]\nrw=trimwrite\nruntime=1", "jobs.fio:1: [a]: rw: found trimwrite, expected one of read"),
        ("[a]\nverify=crc32c\nruntime=1", "`softsense drive serve` does"),
        ("[a]\nruntime=1\n\n[b]\nstonewall\nruntime=1", "jobs.fio:4: [b]: stonewall: found `stonewall`, expected jobs"),
        ("[a]\nzonemode=zbd\nruntime=1", "zonemode: found `zonemode`, expected one of name, rw, bs"),
        ("[a]\nbs=4k,8k\nruntime=1", "bs: found 4k,8k, expected bytes, such as 4k, for reads and writes alike"),
        ("[a]\nbssplit=4k/60:8k/30\nruntime=1", "bssplit: found 4k/60:8k/30, expected sizes and their shares"),
        ("[a]\nrandom_distribution=pareto:0.9\nruntime=1", "random_distribution: found pareto:0.9"),
    ],
)
def test_what_is_not_simulated_is_refused_by_its_name(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "jobs.fio").write_text(text)
    with pytest.raises(ConfigError) as error:
        jobs_of(tmp_path / "jobs.fio")
    assert message in str(error.value)


def test_jobs_are_measured_together() -> None:
    jobs = [Job("a", runtime_s=0.1), Job("b", runtime_s=0.2)]
    with pytest.raises(ConfigError, match=r"runtime: found 0.1 s and 0.2 s, expected the same"):
        fio("mlc-25nm", jobs, overrides=SMALL)


@pytest.mark.parametrize("depth", [1, 16])
def test_a_job_is_the_load_that_its_words_say(depth: int) -> None:
    """The same load as a config of its own: other draws of addresses, and so nearly the same rates and latencies."""
    found = fio("tlc-femu", [Job("a", "randread", iodepth=depth, runtime_s=1.0)], overrides=SMALL)
    read = found.to_dict(bins=True)["jobs"][0]["read"]
    load = "workload={ read_fraction = 1.0, arrivals = 'immediate' }"
    issue = f"host.issue={{ closed_loop = {{ queue_depth = {depth} }} }}"
    plain = softsense.run("tlc-femu", overrides=[*SMALL, load, issue, "measurement.seconds=1.0"])
    assert read["iops"] == pytest.approx(plain.summary["throughput"]["read_iops"], rel=0.02)
    assert read["clat_ns"]["mean"] == pytest.approx(1000 * plain.summary["response"]["read"]["mean_us"], rel=0.02)
    # Little's law, and what makes the rest of the numbers.
    assert read["iops"] * read["clat_ns"]["mean"] * 1e-9 == pytest.approx(depth, rel=0.02)
    assert read["bw_bytes"] == pytest.approx(4096 * read["iops"], rel=1e-6)
    bins = {int(ns): n for ns, n in read["clat_ns"]["bins"].items()}
    assert sum(bins.values()) == read["total_ios"] == read["clat_ns"]["N"]
    mean = sum(ns * n for ns, n in bins.items()) / read["total_ios"]
    assert mean == pytest.approx(read["clat_ns"]["mean"], rel=0.004)
    p99 = plain.summary["response"]["read"]["p99_us"]
    assert read["clat_ns"]["percentile"]["99.000000"] == pytest.approx(1000 * p99, rel=0.05)


def test_clones_and_jobs_are_tenants_and_may_be_told_as_one(softsense_command: Softsense, tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text(JOBS)
    done = softsense_command("fio", "tlc-femu", "jobs.fio", *SETS, "--no-progress")
    assert done.returncode == 0, done.stderr
    assert "ignored: direct, ioengine (options of the computer that runs fio" in done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines() if "(groupid" in line] == [
        "database 1",
        "database 2",
        "log",
    ]
    told = softsense_command("fio", "tlc-femu", "jobs.fio", *SETS, "--output-format", "json+", "--no-progress")
    jobs = json.loads(told.stdout)["jobs"]
    assert jobs[2]["write"]["iops"] == pytest.approx(200, rel=0.1)
    (tmp_path / "jobs.fio").write_text(JOBS.replace("time_based", "time_based\ngroup_reporting"))
    told = softsense_command("fio", "tlc-femu", "jobs.fio", *SETS, "--json", "--no-progress")
    (one,) = json.loads(told.stdout)["jobs"]
    for kind in ("read", "write"):
        assert one[kind]["total_ios"] == sum(job[kind]["total_ios"] for job in jobs)
    assert math.isclose(one["write"]["io_bytes"], sum(job["write"]["io_bytes"] for job in jobs), rel_tol=1e-6)


def test_without_a_runtime_a_job_ends_by_its_size() -> None:
    found = fio("tlc-femu", [Job("a", "write", ((65536, 1.0),), iodepth=4, size=2.0**24)], overrides=SMALL)
    write = found.to_dict()["jobs"][0]["write"]
    assert (write["total_ios"], write["io_bytes"]) == (256, 2**24)


def test_logs_add_up_to_the_results_and_a_fit_reads_them(softsense_command: Softsense, tmp_path: Path) -> None:
    """A line for each request has its latency; lines of windows have what completed in them."""
    words = (
        "fio",
        "mlc-25nm",
        "--rw",
        "randrw",
        "--rwmixread",
        "70",
        "--iodepth",
        "4",
        "--numjobs",
        "2",
        "--seed",
        "3",
    )
    words += ("--ramp_time", "50ms", "--runtime", "300ms", "--json", "--no-progress")
    logs = ("--write_lat_log", "a", "--write_bw_log", "a", "--write_iops_log", "a")
    done = softsense_command(*words, *logs)
    assert done.returncode == 0, done.stderr
    each = softsense_command(
        *words, *(word.replace("a", "w") if word == "a" else word for word in logs), "--log_avg_msec", "60"
    )
    jobs = json.loads(done.stdout)["jobs"]
    # Logs change nothing.
    assert jobs == json.loads(each.stdout)["jobs"] == json.loads(softsense_command(*words).stdout)["jobs"]

    def lines(name: str) -> list[list[int]]:
        return [[int(word) for word in line.split(", ")] for line in (tmp_path / name).read_text().splitlines()]

    for number, job in enumerate(jobs, start=1):
        for direction, kind in enumerate(("read", "write")):
            of_kind = [line for line in lines(f"a_lat.{number}.log") if line[2] == direction]
            assert len(of_kind) == job[kind]["total_ios"]
            assert {line[3] for line in of_kind} == {4096}
            assert all(0 <= line[0] < 320 for line in of_kind)
            mean = sum(line[1] for line in of_kind) / len(of_kind)
            assert mean == pytest.approx(job[kind]["clat_ns"]["mean"], rel=1e-6)
            windows = [line for line in lines(f"w_iops.{number}.log") if line[2] == direction]
            assert [line[0] for line in windows] == [60, 120, 180, 240, 300]
            # Completed requests a second, rounded down, in windows of 60 ms.
            in_first = sum(line[0] < 60 for line in of_kind)
            assert windows[0][1] == in_first * 1000 // 60
            rates = [line for line in lines(f"w_bw.{number}.log") if line[2] == direction]
            assert rates[0][1] == in_first * 4 * 1000 // 60
            means = [line for line in lines(f"w_clat.{number}.log") if line[2] == direction]
            assert means[0][1] == pytest.approx(sum(line[1] for line in of_kind if line[0] < 60) / in_first, abs=1)
    log = open_log([tmp_path / "a_clat.1.log"], deep=True)
    assert log.latencies_us is not None
    assert len(log.latencies_us) == jobs[0]["read"]["total_ios"]
