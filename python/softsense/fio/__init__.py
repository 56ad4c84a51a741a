"""Jobs of fio on a simulated drive: their options, their job files, and results as fio writes them.

fio (Flexible I/O Tester) is a usual tool to measure drives. Jobs have its words here, and run in simulated time. Each
job, and each of its clones, is a tenant of the drive that sees all of it and keeps its number of requests in flight.
"""

from softsense.fio.bins import bins_of
from softsense.fio.jobs import OPTIONS, Job, job_of, jobs_of
from softsense.fio.running import FioResult, fio

__all__ = ["OPTIONS", "FioResult", "Job", "bins_of", "fio", "job_of", "jobs_of"]
