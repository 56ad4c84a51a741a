"""The points of a sweep: what each simulates, how a worker does it, and where its numbers are kept.

A point's identity is a hash of all that its numbers depend on, so numbers that are kept never have to be found again.
"""

from softsense.points.columns import (
    BATCH,
    FAILED,
    FOLLOWS_AGE,
    LIFETIME_COLUMNS,
    NOT_SIMULATED,
    OK,
    SUMMARY_COLUMNS,
    WITHOUT_LIFETIME,
)
from softsense.points.kept import STORE_VERSION, Kept, write_parquet
from softsense.points.planned import Job, Planned, Point, device
from softsense.points.working import Outcome, Processes, flat, work

__all__ = [
    "BATCH",
    "FAILED",
    "FOLLOWS_AGE",
    "LIFETIME_COLUMNS",
    "NOT_SIMULATED",
    "OK",
    "STORE_VERSION",
    "SUMMARY_COLUMNS",
    "WITHOUT_LIFETIME",
    "Job",
    "Kept",
    "Outcome",
    "Planned",
    "Point",
    "Processes",
    "device",
    "flat",
    "work",
    "write_parquet",
]
