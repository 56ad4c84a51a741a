"""Drives of today beside published numbers of real ones (docs/a-drive-of-today.md).

    python examples/beside_data_sheets.py [--quick] [CONFIG ...]

Runs each job of `published/data_sheets.toml` on its shipped config, and prints a table in Markdown: what is published,
what the simulated drive does, and whether that was fitted or is a prediction. Ends with 1 if a number is off by more
than a fifth and nothing explains it. `--quick` leaves out the jobs that take long: drives in their steady state, and
past their caches.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softsense.fio import fio, job_of

SHEETS = Path(__file__).with_name("published") / "data_sheets.toml"
NEAR = 0.20
HEAD = "| job | published | softsense | off | it is | source |\n|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Compared:
    """A job on a simulated drive, beside what is published.

    Attributes:
        config: the shipped config.
        row: the entry of `data_sheets.toml`.
        simulated: iops, MB/s or us, as `row["number"]` says.
        longest_us: the longest time of a request.
    """

    config: str
    row: dict[str, Any]
    simulated: float
    longest_us: float

    @property
    def off(self) -> float:
        """How far off it is, as a share of what is published, or of the nearer end of a range.

        It is 0 within the range, or where nothing is published.
        """
        published = self.row.get("published")
        if published is None:
            return 0.0
        low, high = published if isinstance(published, list) else (published, published)
        nearest = float(min(max(self.simulated, low), high))
        return self.simulated / nearest - 1


def compared(config: str, row: dict[str, Any], fresh: list[str]) -> Compared:
    """Run a job."""
    options = {name: str(value) for name, value in row["job"].items()}
    job, _ = job_of({"name": config, **options})
    done = fio(config, [job], overrides=[*fresh, *row.get("set", [])]).to_dict()["jobs"][0]
    sides = [done[side] for side in ("read", "write") if done[side]["iops"] > 0]
    numbers = {
        "iops": sum(side["iops"] for side in sides),
        "mb_per_s": sum(side["bw_bytes"] for side in sides) / 1e6,
        "mean_us": sides[0]["clat_ns"]["mean"] / 1e3,
    }
    return Compared(config, row, numbers[row["number"]], max(side["clat_ns"]["max"] for side in sides) / 1e3)


def rows(configs: list[str], *, quick: bool) -> Iterator[tuple[str, str, dict[str, Any], list[str]]]:
    """Config, what it is like, entry and settings of each job that is asked for."""
    sheets = tomllib.loads(SHEETS.read_text(encoding="utf-8"))
    for drive in sheets["drive"]:
        for row in drive["row"]:
            if (not configs or drive["config"] in configs) and not (quick and row.get("slow")):
                yield drive["config"], drive["like"], row, sheets["fresh"]


def told(number: float | list[float] | None) -> str:
    """A number, or a range."""
    if number is None:
        return "none found"
    return " to ".join(f"{end:,.0f}" for end in (number if isinstance(number, list) else [number]))


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("configs", nargs="*", metavar="CONFIG", help="default: all of data_sheets.toml")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long")
    arguments = parser.parse_args()
    unexplained, last = 0, ""
    for config, like, row, fresh in rows(arguments.configs, quick=arguments.quick):
        if config != last:
            print(f"\n`{config}` beside {like}\n\n{HEAD}")
            last = config
        one = compared(config, row, fresh)
        unit = {"iops": "a second", "mb_per_s": "MB/s", "mean_us": "us"}[row["number"]]
        off = "" if row.get("published") is None else f"{100 * one.off:+.0f} %"
        source = row.get("source", "") + (f". {row['because']}" if row.get("because") and abs(one.off) > NEAR else "")
        cells = (f"{row['says']}, {unit}", told(row.get("published")), f"{one.simulated:,.0f}", off, row["is"], source)
        print(f"| {' | '.join(cells)} |", flush=True)
        unexplained += abs(one.off) > NEAR and "because" not in row
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
