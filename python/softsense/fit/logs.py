"""Latency logs of fio and blktrace, and which reader a file is for."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import ConfigError, FileError
from softsense.fio.bins import bins_of
from softsense.fit import blkparse, tables
from softsense.fit.clock import CLOCKS, Stamped, judge, of_jobs, unjudged
from softsense.fit.histograms import LEAST_READS, Histogram, Log, check_unit, in_bins, of_latencies, one_size, usable
from softsense.fit.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("fio", "fio-json", "blkparse", "histogram")
UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3}


def open_log(
    files: Sequence[str | Path],
    *,
    log_format: str | None = None,
    unit: str | None = None,
    read_bytes: int | None = None,
    depth: int | None = None,
    deep: bool = False,
    clock: str | None = None,
) -> Log:
    """Read a latency log, or several, each a round.

    Args:
        files: logs; several are rounds 0, 1, ... in this order.
        log_format: one of `FORMATS`; default: recognised from the content.
        unit: unit of latencies, `ns`, `us` or `ms`; default: that of the format (fio ns, histograms us).
        read_bytes: size of the reads that are taken; needed where a log has several sizes.
        depth: reads outstanding; a log that tells the number has to confirm it.
        deep: whether the log has several reads outstanding. Then all reads of blkparse are taken, not only those that
            were queued alone.
        clock: unit of the times of fio's lines, `ns`, `us`, `ms` or `s`, by default ms. With `none`, neither these
            times nor those of fio's JSON are judged.

    Returns the part of the log that can be fitted. Raises `FileError` and `ConfigError` naming file and line.
    """
    if not files:
        raise ConfigError("LOG: found no file, expected at least one")
    if log_format is not None and log_format not in FORMATS:
        raise ConfigError(f"--format: found {log_format!r}, expected {', '.join(FORMATS)}")
    if unit is not None and unit not in UNITS:
        raise ConfigError(f"--unit: found {unit!r}, expected {', '.join(UNITS)}")
    if clock is not None and clock not in CLOCKS:
        raise ConfigError(f"--clock: found {clock!r}, expected {', '.join(CLOCKS)}")
    opened = [_open(Lines(Path(file)), log_format, unit, read_bytes, depth, deep, clock) for file in files]
    if len(opened) == 1:
        log = opened[0]
    else:
        if odd := next((o for o in opened if len(o.rounds) > 1), None):
            raise FileError(
                f"{odd.source}: found {len(odd.rounds)} rounds in one of several logs, expected one in each"
            )
        if len({o.read_bytes for o in opened}) > 1:
            sizes = ", ".join(f"{o.source}: {o.read_bytes:,}" for o in opened)
            raise FileError(
                f"{opened[1].source}: found reads of another size than in {opened[0].source} ({sizes}), expected "
                "the same size in all logs"
            )
        rounds = _together(opened)
        notes = tuple(dict.fromkeys([*_jobs_of_one_run(files), *(note for o in opened for note in o.notes)]))
        log = replace(
            opened[0],
            source=", ".join(o.source for o in opened),
            rounds=rounds,
            notes=notes,
            depth=max(o.depth for o in opened),
            queues=tuple(queue for o in opened for queue in o.queues),
        )
    return usable(log)


def _jobs_of_one_run(files: Sequence[str | Path]) -> list[str]:
    """A note where the names of files say that they are jobs of one run, whose reads may have waited for one
    another.
    """
    names = [Path(file).name for file in files]
    runs = [name.partition("lat.")[0] for name in names if _OF_A_JOB.search(name)]
    return [
        f"{runs.count(run)} logs have names of jobs of one run, {run}lat: the fit takes each log for a round. If "
        "the jobs ran at once, their reads waited for one another"
        for run in dict.fromkeys(runs)
        if runs.count(run) > 1
    ]


def _together(logs: Sequence[Log]) -> tuple[Histogram, ...]:
    """The round of each log, all in the same bins."""
    one_by_one = [log.latencies_us for log in logs if log.latencies_us is not None]
    if len(one_by_one) == len(logs):
        edges = of_latencies(np.concatenate(one_by_one), logs[0].source).edges_us
        return tuple(in_bins(each, edges, float(i)) for i, each in enumerate(one_by_one))
    first = logs[0].rounds[0]
    for log in logs:
        if not np.array_equal(log.rounds[0].edges_us, first.edges_us):
            raise FileError(f"{log.source}: found other bins than in {logs[0].source}, expected the same in all logs")
    return tuple(replace(log.rounds[0], round=float(i)) for i, log in enumerate(logs))


def _open(
    lines: Lines,
    log_format: str | None,
    unit: str | None,
    read_bytes: int | None,
    depth: int | None,
    deep: bool,
    clock: str | None,
) -> Log:
    recognised = log_format or _recognise(lines)
    match recognised:
        case "fio":
            log = _fio_log(lines, unit or "ns", read_bytes, depth, deep, clock)
        case "fio-json":
            log = _fio_json(lines, depth, clock)
        case "blkparse":
            log = blkparse.read(lines, read_bytes, deep, depth)
        case _:
            log = replace(tables.read_histogram(lines, unit or "us"), depth=depth or 0, queues=(unjudged(depth),))
    return log if read_bytes is None else replace(log, read_bytes=read_bytes)


def _recognise(lines: Lines) -> str:
    if lines.text.lstrip("\ufeff \r\n").startswith("{"):
        return "fio-json"
    at, first = next(((n, line.lstrip("\ufeff")) for n, line in lines if line.strip(", ")), (1, ""))
    if blkparse.is_event(first):
        return "blkparse"
    cells = [cell.strip() for cell in first.split(",")]
    if not cells[0] and len(cells) > 1:
        return "histogram"
    if 4 <= len(cells) <= _MOST_COLUMNS and all(cell and set(cell) <= _NUMERAL for cell in cells[:4]):
        return "fio"
    if len(cells) > _MOST_COLUMNS and all(set(cell) <= _NUMERAL for cell in cells):
        raise FileError(
            f"{lines.path}:{at}: found {len(cells)} numbers, as in fio's log of histograms (write_hist_log), "
            "expected a latency log: write_lat_log writes each read, and --output-format=json+ the histogram of a "
            "whole job"
        )
    raise FileError(
        f"{lines.path}:{at}: found {first[:60]!r}, expected a latency log of fio, its JSON, events of blkparse or "
        "a histogram "
        "(--format says which)"
    )


def _fio_log(lines: Lines, unit: str, read_bytes: int | None, depth: int | None, deep: bool, clock: str | None) -> Log:
    """A log of `write_lat_log`: time (ms), latency (ns since fio 3), direction (0 is read), block size."""
    rows, place = [], str(lines.path)
    for at, line in lines:
        if not line.strip():
            continue
        cells = line.split(",")
        if len(cells) < 4:
            raise FileError(f"{place}:{at}: found {line[:60]!r}, expected time, latency, direction and block size")
        time, latency, direction, block = (
            lines.number(at, cell.strip(), what) for cell, what in zip(cells, _FIO, strict=False)
        )
        if direction >= latency > 0 and block in (0, 1, 2) and len(cells) > 5:
            raise FileError(
                f"{place}:{at}: found {line[:60]!r}, expected a line for each read: two numbers before the "
                f"direction are mean and maximum of many reads (log_window_value; {_EACH})"
            )
        if latency < 0 or direction not in (0, 1, 2):
            raise FileError(f"{place}:{at}: found {line[:60]!r}, expected {_FIO[1]}, and 0, 1 or 2 for the direction")
        if block == 0:
            raise FileError(
                f"{place}:{at}: found a block size of 0, expected the size of a read: fio writes 0 where a line is "
                f"the mean or the maximum of many reads (log_avg_msec; {_EACH})"
            )
        rows.append((time, latency, direction, block, at))
    table = np.array(rows)
    reads = table[table[:, 2] == 0]
    notes: list[str] = []
    if len(reads) < len(table):
        if len(reads) == 0:
            raise FileError(f"{place}: found {len(table):,} writes and trims and no read, expected a log with reads")
        notes.append(f"{len(table) - len(reads):,} writes and trims are left out")
    reads, size = one_size(reads, 3, read_bytes, place, notes)
    us = reads[:, 1] * UNITS[unit]
    histogram = of_latencies(us, place)
    stamped = Stamped(place, table[:, 4].astype(int), table[:, 0], table[:, 1] * UNITS[unit], table[:, 2] == 0)
    queue = judge(stamped, clock, depth, deep)
    return Log(place, "fio", (histogram,), (*queue.notes, *notes), size, queue.depth, latencies_us=us, queues=(queue,))


_OF_A_JOB = re.compile(r"lat\.\d+\.log(\.gz|\.zst)?$")
_NUMERAL = set("0123456789.-+e")
_FIO = ("a time", "a latency of 0 or more", "a direction", "a block size")
_EACH = "log_avg_msec=0 writes each read"
# Most columns of a line of `write_lat_log`: with a priority and columns that fio may add.
_MOST_COLUMNS = 8


def _fio_json(lines: Lines, claimed: int | None, clock: str | None) -> Log:
    """A log of fio's json+: `bins` of `clat_ns`, named by the middle of their latencies; widths double every octave."""
    place = str(lines.path)
    try:
        document: Any = json.loads(lines.text.lstrip("\ufeff"))
    except json.JSONDecodeError as error:
        raise FileError(f"{place}:{error.lineno}: found broken JSON ({error.msg}), expected fio's json+") from None
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list) or not jobs:
        raise FileError(f"{place}: found no `jobs`, expected the json+ output of fio")
    options: list[dict[str, Any]] = [document.get("global options", {})]
    written = 0
    for job in jobs:
        options.append(job.get("job options", {}))
        written += job.get("write", {}).get("total_ios", 0)
    total = bins_of(job.get("read", {}) for job in jobs)
    if not total:
        found = f"{written:,} writes and no read" if written else "no bins of reads"
        raise FileError(f"{place}: found {found}, expected `bins` of reads: fio writes them with --output-format=json+")
    said = {key: value for each in options for key, value in each.items()}
    sizes = {_bytes(each["bs"], place) for each in options if "bs" in each}
    if len(sizes) > 1 or "bsrange" in said or "bssplit" in said:
        raise FileError(
            f"{place}: found jobs of several block sizes, expected one size: the bins of a job do not tell the sizes "
            "apart"
        )
    if sum(total.values()) < LEAST_READS:
        raise FileError(
            f"{place}: found {sum(total.values())} reads, expected at least {LEAST_READS:,} to fit anything"
        )
    edges, counts = _of_fio_bins(total)
    histogram = Histogram(0.0, edges, counts)
    check_unit(float(histogram.quantile_us(0.5)[0]), place)
    notes = (f"{written:,} writes are left out",) if written else ()
    queue = of_jobs(place, jobs, int(said.get("iodepth", 1)) * int(said.get("numjobs", 1)), claimed, clock)
    return Log(
        place, "fio-json", (histogram,), (*queue.notes, *notes), next(iter(sizes), 0), queue.depth, queues=(queue,)
    )


def _of_fio_bins(bins: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Edges (us) and counts of all bins, empty ones included: fio has 64 bins for each octave, named by their
    middles.
    """
    high = max(bins)
    # The value of `at` is in ns.
    edges, counts, at = [0], [], 0
    while at <= high:
        width = max(1, (1 << max(0, at.bit_length() - 1)) >> 6)
        inside = (
            [n for n in range(at, at + width) if n in bins]
            if width < 4096
            else [n for n in bins if at <= n < at + width]
        )
        counts.append(sum(bins[n] for n in inside))
        at += width
        edges.append(at)
    return _merged(np.array(edges) / 1e3, np.array(counts, dtype=float))


def _merged(edges: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bins joined until each is as wide as those about the median, and cut at twice the 99.9 % quantile."""
    reached = np.cumsum(counts) / counts.sum()
    median = int(np.searchsorted(reached, 0.5))
    width, end = edges[median + 1] - edges[median], 2 * edges[int(np.searchsorted(reached, 0.999)) + 1]
    keep = [0]
    for i in range(1, len(edges)):
        if edges[i] - edges[keep[-1]] >= width * 0.999 and edges[i] <= end:
            keep.append(i)
    if keep[-1] < len(edges) - 1:
        keep.append(len(edges) - 1)
    return edges[keep], np.add.reduceat(counts, keep[:-1])


def _bytes(text: str, place: str) -> int:
    for suffix, factor in (("kib", 1024), ("k", 1024), ("mib", 1 << 20), ("m", 1 << 20), ("b", 1)):
        if str(text).lower().endswith(suffix):
            text, scale = str(text)[: -len(suffix)], factor
            break
    else:
        scale = 1
    if not str(text).isdigit():
        raise FileError(f"{place}: found a block size of {text!r}, expected one such as 16k")
    return int(text) * scale
