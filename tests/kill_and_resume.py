"""Is a sweep of 200 points that is killed twice and resumed the same to the byte, here and on a Dask cluster?

Too long for the tests, which do the same with 12 points: `.venv/bin/python tests/kill_and_resume.py`, some minutes on
two cores. It sweeps undisturbed first, then once on each backend, killing the command with SIGKILL at a third and two
thirds of its points, and then on the cluster while two of its workers are killed. It prints what it did, and ends with
1 if any two results differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parent.parent
SOFTSENSE = Path(sys.executable).parent / "softsense"
DASK = Path(sys.executable).parent / "dask"
POINTS = 200

SWEEP = """
config = "tlc-femu"
policies = ["progressive", "look_ahead_progressive"]
seeds = [1, 2]
set = [
    "geometry.channels=4",
    "geometry.chips_per_channel=1",
    "geometry.blocks_per_plane=160",
    "geometry.pages_per_block=96",
    "workload.requests=100000",
    "workload.footprint_bytes=2147483648",
]

[latin_hypercube]
samples = 50
"ftl.over_provisioning" = { from = 0.05, to = 0.4 }
"precondition.pe_cycles" = { from = 500, to = 6000, whole = true }
"workload.arrivals.poisson.requests_per_s" = { from = 200, to = 2000, log = true }
"decoder.placement" = [{ per_channel = 1 }, { pool = 1 }]
"""


def main() -> int:
    """Sweep, kill, resume, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="local processes; default: 2")
    parser.add_argument("--dask-workers", type=int, default=4, help="worker processes of the cluster; default: 4")
    arguments = parser.parse_args()
    local = ["--workers", str(arguments.workers)]
    found = {}
    with tempfile.TemporaryDirectory(prefix="softsense-") as name:
        folder = Path(name)
        (folder / "s.toml").write_text(SWEEP)
        found["undisturbed"] = swept(folder, "undisturbed", local, kills=0)
        found["local"] = swept(folder, "local", local, kills=2)
        with cluster(folder, arguments.dask_workers) as (address, workers):
            found["dask"] = swept(folder, "dask", ["--dask", address], kills=2)
            workers[0].kill()
            found["dask, a worker less"] = swept(folder, "dask-less", ["--dask", address], kills=0, worker=workers[1])
    same = len(set(found.values())) == 1
    print("the same bytes" if same else "the results differ")
    return 0 if same else 1


def swept(
    folder: Path, name: str, backend: list[str], kills: int, worker: subprocess.Popen[bytes] | None = None
) -> str:
    """Run the sweep to its end, killed on the way; returns the SHA-256 of its result."""
    out = folder / name
    command = [str(SOFTSENSE), "sweep", "s.toml", "--out", name, *backend]
    started = time.monotonic()
    for kill in range(1, kills + 1):
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
        wait_for(out, POINTS * kill // (kills + 1), process)
        process.kill()
        process.wait()
        print(f"  {name}: killed with {finished(out)} of {POINTS} points finished", flush=True)
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    if worker:
        wait_for(out, POINTS // 2, process)
        worker.kill()
        print(f"  {name}: a worker of the cluster was killed with {finished(out)} points finished", flush=True)
    if process.wait() != 0:
        raise SystemExit(f"{name}: ended with {process.returncode}")
    frame = pl.read_parquet(out / "sweep.parquet")
    sha256 = hashlib.sha256((out / "sweep.parquet").read_bytes()).hexdigest()
    told = ", ".join(f"{count} {status}" for status, count in frame["status"].value_counts(sort=True).iter_rows())
    print(f"{name}: {told}, {time.monotonic() - started:.0f} s, sweep.parquet {sha256}", flush=True)
    return sha256


def wait_for(out: Path, points: int, process: subprocess.Popen[bytes]) -> None:
    """Until so many points are kept."""
    while finished(out) < points:
        if process.poll() is not None:
            raise SystemExit(f"{out.name}: ended with {process.returncode} before it was killed")
        time.sleep(0.05)


def finished(out: Path) -> int:
    """Points that are kept; as good as none while files are made one."""
    try:
        return sum(len(pl.read_parquet(part)) for part in (out / "points").glob("[0-9a-f]*.parquet"))
    except FileNotFoundError:
        return 0


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and its workers, as on so many machines; its address, and the workers."""
    from distributed import Client

    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    where = folder / "scheduler.json"
    scheduler = [DASK, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", where]
    worker = [DASK, "worker", "--no-nanny", "--nthreads", "1", "--no-dashboard", "--scheduler-file", where]
    begun = [subprocess.Popen(scheduler, **quiet)]
    try:
        while not where.exists():
            time.sleep(0.1)
        begun += [subprocess.Popen(worker, **quiet) for _ in range(workers)]
        address = json.loads(where.read_text())["address"]
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=120)
        yield address, begun[1:]
    finally:
        for process in begun:
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
