"""Drives drawn at random, whose configs a calibration does not see, under loads of reads and writes.

    python tests/hidden_loads.py COUNT [FIRST]

Calibrates as many of them, tells which share of the 95 % intervals of what is told holds the truth, and how far the
loads that were held out are from their predictions.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np

from softsense.calibration import (
    Effort,
    Load,
    Measured,
    Plan,
    Space,
    calibrate,
    parameter_rows,
    quantity_rows,
    simulate,
)
from softsense.fio import job_of

USER_BYTES = 128 * 10**9
SATURATED = 4
"""The load that takes all writes that a drive does."""
EFFORT = Effort(seen=1_000, most=30_000)
CAREFUL = Effort(seen=8_000, most=200_000, rounds=12.0)
"""The effort of the runs that stand for the measurements of a hidden drive."""
PROBE_WRITES = 2_500
"""Writes a second of the probe."""
PLAN = Plan(96, assimilations=4, ensemble=56, generations=8, batches=2, batch=40, drawn=8, effort=EFFORT)
RANGES = {
    "host.service.overhead_us": (3, 15),
    "sense_us": (30, 90),
    "sense_ratio": (1.1, 2.2),
    "dies": (8, 32),
    "bus.transfer_us": (1, 6),
    "host.link.command_us": (0.4, 1.6),
    "steady_write_mb_per_s": (150, 500),
    "spare": (0.1, 0.4),
    "flash.suspend.program_us": (10, 80),
    "flash.suspend.spread": (5, 80),
    "flash.suspend.while_writes_wait": (0.05, 1),
    "flash.suspend.least_run_us": (30, 300),
    "host.write_buffer_bytes": (2**19, 2**23),
    "host.link.write_command_us": (0.5, 6),
    "write_pace": (0.88, 1.25),
    "host.write_pacing.burst_bytes": (2**11, 2**17),
    "host.max_outstanding": (48, 400),
}
"""Of the drives, within the priors."""


@dataclass(frozen=True)
class Hidden:
    """A drive, by its parameters, and what was measured of it."""

    truth: dict[str, float]
    measured: Measured


def _loads(write_iops: float) -> list[Load]:
    probe, _ = job_of(
        {"name": "probe", "rw": "randrw", "bs": "4k", "iodepth": "64", "rate_iops": "5000", "runtime": "1"}
    )
    rows = []
    for share in (0.1, 0.45, 0.65, 0.85, 3.0):
        rate = f"{max(1000.0, share * write_iops - PROBE_WRITES) / 4:.6g}"
        writers, _ = job_of(
            {
                "name": "writers",
                "rw": "randwrite",
                "bs": "4k",
                "iodepth": "64",
                "numjobs": "4",
                "rate_iops": rate,
                "rate_process": "poisson",
                "runtime": "1",
            }
        )
        jobs = tuple(replace(job, runtime_s=None) for job in (probe, writers))
        names = [f"probe.{kind}.{p}_us" for kind in ("read", "write") for p in ("p50", "p90", "p99")]
        wanted = dict.fromkeys([*names, "write_iops"], 1.0)
        if share > 1:
            jobs = (jobs[0], replace(jobs[1], rate_iops=None))
            # A probe that is not served waits as long as it is measured: no latencies.
            wanted = {"write_iops": 1.0, "write_amplification": 1.0}
        rows.append(Load(f"{share:g} of what it writes", jobs, wanted, held_out=share == 0.65))
    reads, _ = job_of({"name": "reads", "rw": "randread", "bs": "4k", "iodepth": "128", "runtime": "1"})
    reads = replace(reads, runtime_s=None)
    rows.append(Load("reads", (reads,), {"read_iops": 1.0, "reads.read.p50_us": 1.0, "reads.read.p99_us": 1.0}))
    return rows


def draw(number: int) -> Hidden:
    """A drive, measured more carefully than it will be fitted, with other draws."""
    random = np.random.default_rng([60, number])
    truth = {name: float(low * (high / low) ** random.random()) for name, (low, high) in RANGES.items()}
    truth["dies"] = 8.0 * max(1, round(truth["dies"] / 8))
    settings = ("precondition.pe_cycles=50", "precondition.retention_days=1.0")

    def measured(load: Load, write_iops: float) -> Load:
        # A load is as long as what was measured of it says.
        guessed = replace(load, measured=load.measured | _guess(load, write_iops))
        got = simulate(device, guessed, CAREFUL, 1000 + number)
        assert got is not None
        offered = load.offered_iops("write")
        # Over minutes a rate is the one that was asked for, if it was reached; over a second chance has 2 % of it.
        if offered and got["write_iops"] > 0.96 * offered:
            got["write_iops"] = offered
        return replace(load, measured=got)

    write_iops = truth["steady_write_mb_per_s"] * 1e6 / 4096
    of_drive = Measured(f"hidden {number}", USER_BYTES, "tlc-enterprise", settings, tuple(_loads(write_iops)))
    device = Space.of(of_drive).device(truth, whole=False)
    # A drive that keeps blocks free, and a pace, writes less than the closed form says: shares are of what it does.
    for _ in range(3):
        write_iops = measured(_loads(write_iops)[SATURATED], write_iops).measured["write_iops"]
    return Hidden(truth, replace(of_drive, loads=tuple(measured(load, write_iops) for load in _loads(write_iops))))


def _guess(load: Load, write_iops: float) -> dict[str, float]:
    if load.writes:
        return {"write_iops": min(load.offered_iops("write") or 1e9, write_iops)}
    return {"read_iops": 400_000.0}


def main(count: int, first: int = 0) -> None:
    """Calibrate, and tell."""
    held = told = 0
    off: list[float] = []
    for number in range(first, first + count):
        hidden = draw(number)
        found = calibrate(hidden.measured, plan=PLAN, seed=number)
        assert found is not None
        inside = {row["name"]: row["low"] <= hidden.truth[row["name"]] <= row["high"] for row in _told(found)}
        held, told = held + sum(inside.values()), told + len(inside)
        off += [abs(np.log1p(row["off"])) for row in quantity_rows(found) if row["held_out"] and row["off"] is not None]
        missed = ", ".join(name for name, holds in inside.items() if not holds)
        print(
            f"drive {number}: {sum(inside.values())} of {len(inside)} intervals hold; all {held / told:.1%}; "
            f"held-out quantities within 25 %: {np.mean(np.array(off) < np.log(1.25)):.1%}"
            + (f"; missed {missed}" if missed else ""),
            flush=True,
        )


def _told(found: object) -> list[dict[str, object]]:
    return [row for row in parameter_rows(found) if row["is_told"]]  # type: ignore[arg-type]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
