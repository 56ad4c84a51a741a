"""A campaign whose workers are jobs of a batch system, which come, go and are replaced.

    pip install dask-jobqueue
    python dask_slurm.py --jobs 10 --cores 16 --walltime 04:00:00

Runs where `sbatch` runs (other batch systems: the other clusters of dask_jobqueue), in a terminal that stays open or
as a small job. Only this process opens the store; when it ends, the same call goes on.
"""

from __future__ import annotations

import argparse

from dask_jobqueue import SLURMCluster
from distributed import Client

import softsense

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--cores", type=int, default=16, help="of a job")
    parser.add_argument("--memory", default="16GB", help="of a job")
    parser.add_argument("--walltime", default="04:00:00")
    parser.add_argument("--queue", help="sinfo lists yours")
    parser.add_argument("--relative-error", type=float, default=0.05)
    asked = parser.parse_args()
    cluster = SLURMCluster(
        queue=asked.queue,
        cores=asked.cores,
        processes=asked.cores,  # A job of a campaign is one thread.
        memory=asked.memory,
        walltime=asked.walltime,
    )
    cluster.scale(jobs=asked.jobs)
    with Client(cluster) as client:
        result = softsense.measure_fer(
            "flash-8/9",
            "0.0066,0.0072",
            relative_error=asked.relative_error,
            workers=client,
            store="flash.fer",
            progress=lambda doing, frames, fraction: print(f"\r{doing}: {frames:,} frames, {fraction:.0%}", end=""),
        )
    print()
    print(result.table.select("rber", "fer", "lo", "hi", "frames"))
