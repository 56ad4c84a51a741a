"""Does a sweep of 100,000 points stay light: its plan, its memory, its report, its page and a comparison with another?

`.venv/bin/python tests/big_sweep.py`, some minutes. Nothing is simulated: made-up numbers are kept for all points, of a
grid and of a Latin hypercube, and `softsense sweep` finds them, so that it plans, judges and writes as at the end of
the real one. It prints what each step took, and ends with 1 if one took more than `BOUNDS` says.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softsense import points
from softsense.live.results import Results
from softsense.sweep import Planned, Sweep

SOFTSENSE = [sys.executable, "-m", "softsense"]
BOUNDS = {
    "planned in s": 10.0,
    "peak memory in MB": 500.0,
    "report.html in bytes": 1e6,
    "frontier.png in bytes": 1e6,
    "page in s": 1.0,
    "page in bytes": 1e6,
    "compared in s": 10.0,
    "comparison in bytes": 100e3,
}

HEAD = """
config = "tlc-femu"
set = ["workload.requests=20000"]
"""
GRID = """policies = ["progressive", "look_ahead_progressive"]
seeds = [1, 2, 3, 4, 5]

[grid]
"ftl.over_provisioning" = {shares}
"flash.busy_unit" = ["die", "plane"]
"precondition.pe_cycles" = [500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000]

[frontier]
lifetime = true
"""
SAMPLES = """policies = ["look_ahead_progressive"]
seeds = [1]

[latin_hypercube]
samples = {points}
"ftl.over_provisioning" = {{ from = 0.07, to = 0.4 }}
"precondition.pe_cycles" = {{ from = 500, to = 6000, whole = true }}
"workload.arrivals.poisson.requests_per_s" = {{ from = 1e3, to = 1e5, log = true }}
"decoder.placement" = [{{ per_channel = 1 }}, {{ pool = 4 }}]
"""


def main() -> int:
    """Plan, make up, sweep, serve, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=100_000, help="of each sweep; default: 100,000")
    parser.add_argument("--make-up", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make_up:
        sweep, out, seed = arguments.make_up
        print(json.dumps(made_up(Path(sweep), Path(out), int(seed))))
        return 0
    count = max(200, arguments.points // 200 * 200)
    shares = [round(0.05 + 0.35 * i / (count // 200), 6) for i in range(count // 200)]
    kinds = {"grid": GRID.format(shares=shares), "samples": SAMPLES.format(points=count)}
    broken = [f"{name}: {what}" for name, text in kinds.items() for what in measured(name, HEAD + text)]
    print("\n".join(["too much:", *broken]) if broken else "all within bounds")
    return 1 if broken else 0


def measured(name: str, text: str) -> list[str]:
    """What of a sweep is beyond its bound; all of it is printed."""
    with tempfile.TemporaryDirectory(prefix="softsense-") as told:
        folder = Path(told)
        (folder / "s.toml").write_text(text)
        found: dict[str, float] = {}
        for i, out in enumerate(("one", "other")):
            made = [sys.executable, __file__, "--make-up", "s.toml", out, str(i)]
            found |= json.loads(subprocess.run(made, cwd=folder, check=True, capture_output=True).stdout)
            took, memory = ran([*SOFTSENSE, "sweep", "s.toml", "--out", out, "--workers", "1"], folder, "swept.txt")
            found |= {"swept in s": took, "peak memory in MB": memory}
        for file in ("report.html", "frontier.png"):
            found[f"{file} in bytes"] = (folder / "one" / file).stat().st_size
        began = time.monotonic()
        state = Results(folder / "one").state()
        found |= {"page in s": time.monotonic() - began, "page in bytes": len(json.dumps(state))}
        compared, memory = ran([*SOFTSENSE, "results", "compare", "one", "other"], folder, "compared.txt")
        found |= {"compared in s": compared, "memory of that in MB": memory}
        found["comparison in bytes"] = (folder / "compared.txt").stat().st_size
    for what, value in found.items():
        print(f"{name}: {what}: {value:,.2f}", flush=True)
    return [f"{what}: {value:,.2f}" for what, value in found.items() if value > BOUNDS.get(what, math.inf)]


def made_up(file: Path, out: Path, seed: int) -> dict[str, float]:
    """Keep numbers for all points of a sweep; returns how long it took to plan it."""
    began = time.monotonic()
    planned = Planned(Sweep.open(file))
    took = time.monotonic() - began
    with points.Kept(out / "points") as kept:
        rows: list[dict[str, Any]] = []
        for row in _rows(planned, random.Random(seed)):
            rows.append(row)
            if len(rows) == 4096:
                kept.add(rows)
                rows = []
        kept.add(rows)
        kept.merge()
    return {"points": len(planned.points), "planned in s": took}


def _rows(planned: Planned, lot: random.Random) -> Iterator[dict[str, Any]]:
    """Of each simulation and each lifetime something that a device might do."""
    seen = set()
    for point in planned.points:
        if point.error or point.id in seen:
            continue
        seen.add(point.id)
        spare = float(point.setting["ftl.over_provisioning"])
        worn = float(point.setting["precondition.pe_cycles"]) / 6000
        slow = 100 * (1 + worn) / spare**0.5 * lot.uniform(0.98, 1.02)
        whole = {name: lot.randrange(1000) for name, kind in points.SUMMARY_COLUMNS.items() if kind is int}
        real = {name: lot.random() for name, kind in points.SUMMARY_COLUMNS.items() if kind is float}
        lost = dict.fromkeys((n for n in whole if "uncorrectable" in n or "undetected" in n or "refused" in n), 0)
        lost |= {"codeword_reads.uncorrectable": int(lot.random() < 0.1), points.FOLLOWS_AGE: 0, "requests": 20_000}
        lost["codeword_reads.unmapped"] = 0
        busy = {name: 0.9 * share for name, share in real.items() if name.startswith("utilisation.")}
        told = {"response.read.mean_us": slow, "energy.mean_request_uj": 30 + 400 * spare * lot.uniform(0.98, 1.02)}
        quick = {"response.all.mean_us": slow, "simulated_s": 5.0, "growth.rate": None, "growth.waiting": None}
        yield {"id": point.id, **whole, **real, **lost, **busy, **told, **quick}
    for identity in planned.lifetimes:
        yield {"id": identity, **{name: lot.randrange(1, 1000) for name in points.LIFETIME_COLUMNS}}


def ran(command: list[str], folder: Path, to: str) -> tuple[float, float]:
    """Run a command; returns the seconds that it took and the MB that it had at most."""
    began = time.monotonic()
    with (folder / to).open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[2:]}: ended with {process.returncode}")
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return time.monotonic() - began, usage.ru_maxrss * unit / 1e6


if __name__ == "__main__":
    sys.exit(main())
