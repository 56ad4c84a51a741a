"""A Dask cluster on machines that are reached by SSH, for any command with --dask.

    pip install asyncssh
    python dask_ssh.py here.example node1.example node2.example

Starts a scheduler on the first machine and workers on the others, with the Python of this process, which has to have
the same path there; prints the address for `softsense ... --dask ADDRESS`; and ends them all with Ctrl-C. Keys must
open every machine without a password. Whoever reaches the address can run programs there: see SECURITY.md.
"""

from __future__ import annotations

import argparse
import signal

from distributed import SSHCluster

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="+", help="the first is the scheduler's")
    parser.add_argument("--processes", type=int, default=1, help="workers of each machine")
    asked = parser.parse_args()
    workers = {"n_workers": asked.processes, "nthreads": 1}
    with SSHCluster(asked.hosts, worker_options=workers) as cluster:
        print(f"softsense ... --dask {cluster.scheduler_address}", flush=True)
        signal.sigwait([signal.SIGINT, signal.SIGTERM])
