"""What is wrong with a run, before its numbers are read: data that is lost, a load that cannot be served.

One judgement for every command: `run` and `compare` tell it first, summaries have it, and sweeps set designs aside
by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from softsense.formats import as_share

LOSES_DATA = "lose data"
OVERLOADED = "cannot serve the load"

_BUSY = 0.95
# Of the requests of a run, and of how many at least, that wait at once in the mean: a queue that grows with the run.
_WAITING_SHARE, _WAITING = 0.05, 100
_UNITS = {"plane": "planes", "channel": "channels", "decoder": "decoders"}
_LOST = {
    "codeword_reads.uncorrectable": "of codeword reads were uncorrectable",
    "codeword_reads.undetected": "of codeword reads were decoded to wrong data that nobody noticed",
}
_LOST_IN_BACKGROUND = "codeword_reads.uncorrectable_in_background"
_REFUSED = "writes_detail.refused_codewords"
ALLOWED_WITH = {"codeword_reads.uncorrectable": _LOST_IN_BACKGROUND}
"""Who allows some of the first allows the second."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with runs.

    Attributes:
        reason: `lose data`, `cannot serve the load`, or `break` and a constraint.
        told: how bad it is, in words.
        amount: how bad it is, as a number that grows with it.
    """

    reason: str
    told: str
    amount: float


def is_open_loop(config: Mapping[str, Any], traced: bool) -> bool:
    """Whether requests come at times of their own, however long earlier ones take; of any tenant where there are some.

    Args:
        config: the resolved config, as `Config.to_json` has it.
        traced: whether they are those of a trace, and not of the config's workload.
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
    """What is wrong with the runs of a design, the worst first.

    Args:
        rows: of a run each, for seed after seed; summaries whose nested names are joined by dots.
        open_loop: whether requests come at times of their own.
        allowed: columns of lost data that are judged elsewhere.
    """

    def total(column: str) -> float:
        return sum(row.get(column) or 0 for row in rows)

    for column, said in _LOST.items():
        if column not in allowed and (lost := total(column)):
            share = lost / max(1, total("codeword_reads.count"))
            yield Problem(LOSES_DATA, f"{as_share(share)} {said}", share)
    if _LOST_IN_BACKGROUND not in allowed and (lost := total(_LOST_IN_BACKGROUND)):
        yield Problem(LOSES_DATA, f"{lost:,.0f} codewords that were moved were uncorrectable", 1e-12 * lost)
    if _REFUSED not in allowed and (refused := total(_REFUSED)):
        share = refused / max(1, total("writes_detail.host_codewords"))
        yield Problem(OVERLOADED, f"{as_share(share)} of codewords written were refused, as there was no room", share)
    if open_loop and (told := _overload(rows)):
        yield told


def _overload(rows: Sequence[Mapping[str, Any]]) -> Problem | None:
    """What says that requests come faster than they are served, if anything does."""
    busiest = max(_UNITS, key=lambda unit: _mean(rows, f"utilisation.{unit}"))
    busy = _mean(rows, f"utilisation.{busiest}")
    if busy >= _BUSY:
        return Problem(OVERLOADED, f"{_UNITS[busiest]} are {as_share(busy)} busy", busy)
    # Little's law: as many requests wait in the mean as arrive while one is served.
    shares = [
        1e-6 * row["response.all.mean_us"] / row["simulated_s"]
        for row in rows
        if row["response.all.mean_us"] and row["simulated_s"]
    ]
    share, requests = (fmean(shares) if shares else 0.0), _mean(rows, "requests")
    if share >= _WAITING_SHARE and share * requests >= _WAITING:
        told = f"{share * requests:,.0f} of {requests:,.0f} requests wait at once in the mean: the queue grows"
        return Problem(OVERLOADED, told, share)
    return None


def _mean(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    return fmean(row[column] or 0.0 for row in rows)
