"""Calibrates NVMe drives to some of the loads under which others measured them, and predicts the other loads:
docs/nvme-under-load.md.

    python examples/nvme_under_load.py FOLDER [OUT] [DRIVE ...]

FOLDER has `latency_under_load.csv`, `write_amplification.csv` and `samsung_980pro_fio.csv`, condensed from
gabriel-haas/ssdiq-pub and stonet-research/icpe24_io_scheduler_study_artifact. For each drive OUT gets its file of
measurements, as `softsense calibrate` reads it, and the results.

Fitted are, of the rates that a drive serves, every third one, counted from the lowest; of those that saturate it the
highest; of utilisations and of queue depths every second one, counted from the lowest. The others are held out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from softsense import Store, calibration

QUANTILES = ("p50", "p90", "p99")
REACHED = 0.985
FAR = 0.25
"""By which share a quantity is off that stands out in the tables."""
PROBE = "{ name = 'probe', rw = 'randrw', bs = '4k', iodepth = 64, rate_iops = 5000 }"
GIB = 2**30
NEW = ("precondition.pe_cycles=50", "precondition.retention_days=1.0")


@dataclass(frozen=True)
class Drive:
    """A drive, and the rows of the tables that are about it.

    Attributes:
        name, user_bytes, base: as in a file of measurements.
        latency: the device of `latency_under_load.csv`.
        amplified: the device of `write_amplification.csv`.
        settings: what is known of the drive.
        load: the load, of those that were measured, that a run of its config has without another one.
    """

    name: str
    user_bytes: int
    base: str = "tlc-enterprise"
    latency: str | None = None
    amplified: str | None = None
    settings: tuple[str, ...] = NEW
    load: str = "40,000 a second"


DRIVES = {
    "pm9a3-960": Drive("Samsung PM9A3, 960 GB", 960_197_124_096, latency="s0"),
    "p5520-1920": Drive("Solidigm D7-P5520, 1.92 TB", 1_920_383_410_176, latency="i0", load="60,000 a second"),
    "cm7-3840": Drive(
        "Kioxia CM7-R, 3.84 TB",
        3_840_755_982_336,
        latency="k4",
        settings=(*NEW, "host.link.speed.pcie={ generation = 5, lanes = 4 }"),
        load="150,000 a second",
    ),
    "7450-960": Drive("Micron 7450 PRO, 960 GB", 960_197_124_096, latency="m0", amplified="mp0"),
    # Reads alone, of data that was written long before: nothing tells of its cache.
    "980pro-1000": Drive(
        "Samsung 980 PRO, 1 TB", 1_000_204_886_016, "tlc-client", settings=(*NEW, "ftl.slc_cache=none"), load="QD 16"
    ),
}


def rates(tables: Path, device: str) -> Iterator[str]:
    """A probe of 10,000 requests a second, half of them reads, beside six threads that write at Poisson arrivals."""
    rows = pl.read_csv(tables / "latency_under_load.csv").filter(pl.col("device") == device, pl.col("poisson") == 0)
    means = pl.selectors.numeric().exclude("offered_iops").mean()
    told = [*rows.group_by("offered_iops").agg(means).sort("offered_iops").iter_rows(named=True)]
    served = [
        row for row in told if row["achieved_write_iops"] >= REACHED * (0.99 * (row["offered_iops"] - 5000) + 5000)
    ]
    beyond = told[len(served) :]
    for number, row in enumerate([*served, *beyond[:1], *beyond[1:][-1:]]):
        offered = row["offered_iops"]
        each = float(f"{(offered - 5000) / 6:.7g}")
        writers = (
            f"{{ name = 'writers', rw = 'randrw', bs = '4k', iodepth = 64, numjobs = 6, "
            f"rate_iops = '{0.01 * each:.10g},{0.99 * each:.10g}', rate_process = 'poisson' }}"
        )
        latencies = ", ".join(f"{kind} = {{ {_quantiles(row, kind)} }}" for kind in ("read", "write"))
        measured = f"write_iops = {row['achieved_write_iops']:.7g}, probe = {{ {latencies} }}"
        held = bool(number % 3) if row in served else row is not beyond[-1]
        yield _load(f"{offered:,} a second", held, [PROBE, writers], measured)


def _quantiles(row: dict[str, Any], kind: str) -> str:
    return ", ".join(f"{name}_us = {row[f'{kind}_{name}_us']:.6g}" for name in QUANTILES)


def utilisations(tables: Path, device: str, user_bytes: int) -> Iterator[str]:
    """Uniform writes of 4 KiB, 512 at a time, to a part of the drive: the last eighth of each run."""
    rows = pl.read_csv(tables / "write_amplification.csv").filter(
        pl.col("device") == device, pl.col("file") == "finalop02b", pl.col("pattern") == "uniform"
    )
    ends = rows.group_by("used_gib", maintain_order=True).last().sort("used_gib")
    for number, row in enumerate(ends.iter_rows(named=True)):
        filled = row["used_gib"] * GIB / user_bytes
        job = "{ name = 'writers', rw = 'randwrite', bs = '4k', iodepth = 128, numjobs = 4 }"
        measured = f"write_amplification = {row['write_amplification']:.5g}"
        yield _load(f"{row['used_gib']} GiB in use", bool(number % 2), [job], measured, f"filled = {filled:.6g}")


def depths(tables: Path) -> Iterator[str]:
    """Random reads of 4 KiB by one process without the kernel (SPDK), by queue depth."""
    rows = pl.read_csv(tables / "samsung_980pro_fio.csv").filter(
        pl.col("file").str.starts_with("bs_4_proc_1_qd_"), pl.col("file").str.ends_with("_spdk")
    )
    for number, row in enumerate(rows.sort("iodepth").iter_rows(named=True)):
        job = f"{{ name = 'reads', rw = 'randread', bs = '4k', iodepth = {row['iodepth']} }}"
        quantiles = ", ".join(f"{name}_us = {row[f'read_{name}_us']:.6g}" for name in QUANTILES)
        measured = f"read_iops = {row['read_iops']}, reads = {{ read = {{ {quantiles} }} }}"
        yield _load(f"QD {row['iodepth']}", bool(number % 2), [job], measured)


def _load(name: str, held: bool, jobs: list[str], measured: str, more: str = "") -> str:
    rows = ",\n".join(f"    {job}" for job in jobs)
    return "\n".join(
        [
            "[[load]]",
            f'name = "{name}"',
            f"held_out = {str(held).lower()}",
            *([more] if more else []),
            f"jobs = [\n{rows},\n]",
            f"measured = {{ {measured} }}",
            "",
        ]
    )


def measurements(drive: Drive, tables: Path) -> str:
    """The file of measurements of a drive."""
    head = ["[drive]", f'name = "{drive.name}"', f"user_bytes = {drive.user_bytes}", f'base = "{drive.base}"']
    loads = [*rates(tables, drive.latency)] if drive.latency else [*depths(tables)]
    if drive.amplified:
        loads += utilisations(tables, drive.amplified, drive.user_bytes)
    return "\n".join([*head, f"settings = {list(drive.settings)}", "", *loads])


def markdown(told: dict[str, Any]) -> str:
    """The tables of the page about a drive, from its `calibration.json`: its parameters, and its loads."""
    lines = ["| parameter | median | 95 % interval | unit |", "|---|---:|---|---|"]
    for row in told["parameters"]:
        name = row["name"] if row["is_told"] else f"{row['name']} (not told)"
        lines.append(f"| {name} | {row['median']:.4g} | {row['low']:.4g} to {row['high']:.4g} | {row['unit']} |")
    loads: dict[str, dict[str, dict[str, Any]]] = {}
    for row in told["quantities"]:
        loads.setdefault(row["load"], {})[row["quantity"]] = row
    for names in dict.fromkeys(tuple(of_load) for of_load in loads.values()):
        heads = [
            name.replace("probe.", "").replace("reads.", "").replace("_us", "").replace(".", " ") for name in names
        ]
        lines += ["", f"| load | {' | '.join(heads)} |", "|---|" + "---:|" * len(names)]
        for load, rows in loads.items():
            if tuple(rows) == names:
                held = next(iter(rows.values()))["held_out"]
                cells = " | ".join(_cell(rows[name]) for name in names)
                lines.append(f"| {load if held else f'{load}, fitted'} | {cells} |")
    return "\n".join(lines)


def shipped(drive: Drive, found: calibration.Calibration) -> str:
    """The config of a drive as it ships: it is run under one of the loads that were measured, as one stream."""
    [load] = (each for each in found.space.measured.loads if each.name == drive.load)
    rates = {kind: load.served_iops(kind) or 0.0 for kind in ("read", "write")}
    share, total = rates["read"] / sum(rates.values()), float(f"{sum(rates.values()):.4g}")
    stream = (
        f"read_fraction = {share:.3g}, requests = 500_000, arrivals = {{ poisson = {{ requests_per_s = {total} }} }}"
    )
    text = calibration.config_toml(found, [f"workload={{ {stream} }}"])
    about = f"# What was measured at {drive.load}, as one stream.\n[workload]"
    text = text.replace("\n[workload]", f"\n{about}")
    page = "# docs/nvme-under-load.md has what was measured, how near it comes, and what it misses.\n#\n"
    return "#:schema ../schema/config.schema.json\n" + text.replace("#\n", "#\n" + page, 1)


def _cell(row: dict[str, Any]) -> str:
    def short(value: float) -> str:
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

    off = row["off"]
    told = f"{short(row['measured'])} / {'-' if off is None else short(row['simulated'])}"
    return told if off is not None and abs(off) <= FAR else f"**{told}**"


def main(tables: Path, out: Path, names: list[str]) -> None:
    """Calibrate the drives with these names, and print their rows of the page."""
    for name in names:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "measured.toml"
        file.write_text(measurements(DRIVES[name], tables), encoding="utf-8")
        measured = calibration.read_measured([file])
        with Store(folder / "calibration.store") as store:
            found = calibration.calibrate(measured, store=store, progress=_say)
        if found is None:
            raise SystemExit(130)
        calibration.write(found, folder)
        (folder / f"{name}.toml").write_text(shipped(DRIVES[name], found), encoding="utf-8")
        print(f"\n== {name}\n{calibration.text(found)}\n\n{markdown(calibration.to_dict(found))}\n", flush=True)


def _say(what: str, _: int, share: float) -> None:
    print(f"\r{what}: {share:4.0%}   ", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("give the folder of the tables: python examples/nvme_under_load.py FOLDER [OUT] [DRIVE ...]")
    else:
        rest = sys.argv[2:]
        main(Path(sys.argv[1]), Path(rest[0] if rest else "out/nvme"), rest[1:] or list(DRIVES))
