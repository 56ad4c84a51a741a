"""Problems of a run that make its other numbers meaningless: lost data, and a load that cannot be served.

All commands use the same rules: `run` and `compare` print problems first, summaries list them, and sweeps set designs
with problems aside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from softsense.formats import as_share

if TYPE_CHECKING:
    import polars as pl

LOSES_DATA = "lose data"
OVERLOADED = "cannot serve the load"

_BUSY = 0.95
# Limits of a queue that grows with the run: the mean share of the run's requests that wait at once, and their least
# number.
_WAITING_SHARE, _WAITING = 0.05, 100
UNWRITTEN = 0.005
"""The share of codewords read that were never written, or were trimmed, from which on it is reported."""
READ = tuple(f"codeword_reads.{name}" for name in ("unmapped", "count", "from_controller"))
"""Counts of codewords that the host read: without data, from flash, and from the controller."""

_UNITS = {
    "utilisation.plane": "planes are",
    "utilisation.channel": "channels are",
    "utilisation.decoder": "decoders are",
    "write_pacing.utilisation": "the pacing of writes (host.write_pacing) is",
    "host_link.to_device": "the link to the device is",
    "host_link.to_host": "the link to the host is",
    "host_link.commands": "the device's end of the link, which takes commands, is",
}
_LOST = {
    "codeword_reads.uncorrectable": "of codeword reads were uncorrectable",
    "codeword_reads.undetected": "of codeword reads were decoded to wrong data without being noticed",
}
_LOST_IN_BACKGROUND = "codeword_reads.uncorrectable_in_background"
_REFUSED = "writes_detail.refused_codewords"
ALLOWED_WITH = {"codeword_reads.uncorrectable": _LOST_IN_BACKGROUND}
"""For a constraint that allows some of the first column, a second column that it also allows."""


@dataclass(frozen=True)
class Problem:
    """A problem of runs.

    Attributes:
        reason: `lose data`, `cannot serve the load`, or `break` and a constraint.
        told: the problem in words, with its size.
        amount: the size of the problem, larger for worse ones.
    """

    reason: str
    told: str
    amount: float


def is_open_loop(config: Mapping[str, Any], traced: bool) -> bool:
    """Whether requests arrive at given times, however long earlier ones take; with tenants, those of any tenant.

    Args:
        config: the resolved config, as `Config.to_json` has it.
        traced: whether the requests are from a trace, and not from the config's workload.
    """
    host = config["host"]
    users = host.get("tenants") or [{"workload": None if traced else config["workload"]}]
    issued = [
        (user.get("issue") or host["issue"], (user.get("workload") or {}).get("arrivals", "recorded")) for user in users
    ]
    return any("open_loop" in issue and arrivals != "immediate" for issue, arrivals in issued)


def found_in(
    rows: Sequence[Mapping[str, Any]], open_loop: bool, allowed: Collection[str] = frozenset()
) -> Iterator[Problem]:
    """The problems of the runs of a design, the worst first.

    Args:
        rows: the summary of each run, seed by seed, with nested names joined by dots.
        open_loop: whether requests arrive at given times.
        allowed: columns of lost data that are judged elsewhere.
    """

    def total(column: str) -> float:
        return sum(row.get(column) or 0 for row in rows)

    for column, said in _LOST.items():
        if column not in allowed and (lost := total(column)):
            share = lost / max(1, total("codeword_reads.count"))
            yield Problem(LOSES_DATA, f"{as_share(share)} {said}", share)
    if _LOST_IN_BACKGROUND not in allowed and (lost := total(_LOST_IN_BACKGROUND)):
        yield Problem(LOSES_DATA, f"{lost:,.0f} codewords were uncorrectable when the drive moved them", 1e-12 * lost)
    if _REFUSED not in allowed and (refused := total(_REFUSED)):
        share = refused / max(1, total("writes_detail.host_codewords"))
        yield Problem(
            OVERLOADED, f"{as_share(share)} of codewords written were refused, as there was no free space", share
        )
    if open_loop and (told := _overload(rows)):
        yield told


def unwritten(row: Mapping[str, Any]) -> float:
    """The share of codewords read by the host that were never written, or were trimmed.

    No flash is read for them, so they make mean responses shorter.

    Args:
        row: the summary of a run, with nested names joined by dots.
    """
    parts = [row.get(name) or 0 for name in READ]
    return float(parts[0] / max(1, sum(parts)))


def unwritten_shares(frame: pl.DataFrame) -> pl.Series:
    """The share of codewords without data (`unwritten`) for each row of a frame of runs."""
    first, *rest = (frame[name].fill_null(0) for name in READ)
    return first / sum(rest, first).clip(lower_bound=1)


def _overload(rows: Sequence[Mapping[str, Any]]) -> Problem | None:
    """The problem that requests arrive faster than they are served, or None."""
    busiest = max(_UNITS, key=lambda unit: _mean(rows, unit))
    busy = _mean(rows, busiest)
    if busy >= _BUSY:
        return Problem(OVERLOADED, f"{_UNITS[busiest]} {as_share(busy)} busy", busy)
    # Rust judges whether queues grow.
    if all(row.get("growth.rate") for row in rows):
        rate, waiting = _mean(rows, "growth.rate"), _mean(rows, "growth.waiting")
        told = (
            f"response times grow by {as_share(rate)} of the time that passes, and {waiting:,.0f} requests wait at the "
            "end"
        )
        return Problem(OVERLOADED, told, rate)
    # Little's law: the mean number of waiting requests is the arrival rate times the mean response time.
    shares = [
        1e-6 * row["response.all.mean_us"] / row["simulated_s"]
        for row in rows
        if row["response.all.mean_us"] and row["simulated_s"]
    ]
    share, requests = (fmean(shares) if shares else 0.0), _mean(rows, "requests")
    if share >= _WAITING_SHARE and share * requests >= _WAITING:
        told = f"{share * requests:,.0f} of {requests:,.0f} requests wait at once on average: the queue grows"
        return Problem(OVERLOADED, told, share)
    return None


def _mean(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    return fmean(row.get(column) or 0.0 for row in rows)
