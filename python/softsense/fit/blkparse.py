"""Latencies of blktrace, as blkparse prints them: from Q, a request is queued, to C, it completes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from softsense._core import FileError
from softsense.fit.clock import told
from softsense.fit.histograms import LEAST_READS, Log, of_latencies, one_size

if TYPE_CHECKING:
    from softsense.fit.lines import Lines

_SECTOR = 512


def is_event(line: str) -> bool:
    """Whether a line looks like an event: `8,0 3 1 0.000000000 697 Q R 223490 + 8 [fio]`."""
    words = line.split()
    return len(words) >= 7 and words[0].replace(",", "").isdigit() and "," in words[0] and words[5].isalpha()


def read(lines: Lines, read_bytes: int | None, deep: bool = False, claimed: int | None = None) -> Log:
    """Read the latencies of reads: the time from Q to the C of the same device, sector and length.

    Only reads that were queued while nothing else was outstanding are taken; with `deep` all reads are taken. The
    largest number of outstanding requests is the depth of the log. A request that is merged or split has no pair, and
    is left out. Raises `FileError` for times that run backwards, for a file without pairs, and where `claimed` is
    another depth.
    """
    waiting: dict[tuple[str, str, str], tuple[float, bool, int]] = {}
    outstanding, unpaired, others, before = 0, 0, 0, 0.0
    rows: list[tuple[float, float, float]] = []
    busy, begin = 0.0, math.inf
    for at, line in lines:
        if not is_event(line):
            continue
        words = line.split()
        action, kind = words[5], words[6]
        if action not in ("Q", "C"):
            continue
        if len(words) < 10 or words[8] != "+":
            continue
        now = lines.number(at, words[3], "a time in seconds")
        if now < before - 1.0:
            raise FileError(
                f"{lines.path}:{at}: found a time of {now:g} s after {before:g} s, expected events in order"
            )
        before = max(before, now)
        key = (words[0], words[7], words[9])
        if action == "Q":
            outstanding += 1
            waiting[key] = (now, "R" in kind and "W" not in kind, outstanding)
        elif (queued := waiting.pop(key, None)) is None:
            unpaired += 1
        else:
            outstanding -= 1
            busy, begin = busy + now - queued[0], min(begin, queued[0])
            if not queued[1]:
                others += 1
                continue
            rows.append(((now - queued[0]) * 1e6, lines.number(at, words[9], "sectors") * _SECTOR, queued[2]))
    if not rows:
        found = f"{others:,} requests that are no reads" if others else "no pair of Q and C"
        raise FileError(f"{lines.path}: found {found}, expected Q and C events of reads")
    notes = [f"{others:,} requests other than reads are left out"] if others else []
    if missing := unpaired + len(waiting):
        notes.append(f"{missing:,} Q or C events without their counterpart (merged, split, or cut off) are left out")
    table, size = one_size(np.array(rows), 1, read_bytes, str(lines.path), notes)
    alone = table if deep else table[table[:, 2] == 1]
    if len(alone) < LEAST_READS:
        raise FileError(
            f"{lines.path}: found {len(alone)} reads of {len(table):,} that were outstanding alone, expected at "
            f"least {LEAST_READS:,}: only the latency of a single outstanding read has no waits in it"
        )
    if len(alone) < len(table):
        notes.append(f"{len(table) - len(alone):,} reads that were queued behind others are left out of the latencies")
    us, histogram = alone[:, 0], of_latencies(alone[:, 0], str(lines.path))
    deepest = int(table[:, 2].max())
    mean = busy / (before - begin) if before > begin else None
    queue = told(str(lines.path), deepest, f"events Q and C, at most {deepest}", claimed, mean)
    return Log(
        str(lines.path), "blkparse", (histogram,), tuple(notes), size, queue.depth, latencies_us=us, queues=(queue,)
    )
