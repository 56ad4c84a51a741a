"""Section III-D: garbage collection reads the data that it moves at remembered levels."""

from __future__ import annotations

from dataclasses import replace

from softsense.papers import Case, Claim, Figure, Measured, Plan, Runs
from softsense.papers.comparing import Compared, Quantity, Summary, cases
from softsense.papers.drawing import bars
from softsense.papers.laldpc.assumed import FRESH
from softsense.papers.laldpc.methods import COLOURS, OVER_BASE, SERIAL, average, methods
from softsense.papers.laldpc.published import MIB, PUBLISHED
from softsense.papers.laldpc.workloads import as_stand_ins, names, some

_DEVICE = (
    *SERIAL,
    FRESH,
    "geometry.blocks_per_plane=512",
    'precondition.layout="steady_state"',
    "ftl.over_provisioning=0.25",
)
_COLLECTED = methods(*_DEVICE)
_WHOLE_MAP = methods(*_DEVICE, cache_bytes=PUBLISHED["mapping_cache_mb"] * MIB)
_WRITERS = ("wdev0", "proxy0", "prn1", "ts0", "proj4")


def _plan(plan: Plan) -> Plan:
    """The plan with workloads that write much, as stand-ins."""
    return as_stand_ins(some(plan, _WRITERS))


def _cases(plan: Plan) -> list[Case]:
    return cases(_plan(plan), *_COLLECTED.all, _WHOLE_MAP.base, _WHOLE_MAP.new)


def _attempts(summary: Summary) -> float:
    """Attempts for a codeword that collection moves: all decodes that are neither the host's nor of translation pages.

    Translation pages are fresh here, so that each read of one is one attempt.
    """
    host, read = summary["codeword_reads"]["attempts"], summary["mapping"]["translation_reads"]
    found: float = (summary["operations"]["decodes"] - host - read) / summary["writes_detail"]["gc_codewords"]
    return found


def _measure_gc(plan: Plan, runs: Runs) -> Measured:
    mine = _plan(plan)
    arms = _COLLECTED.all[1:]
    compared = Compared(mine, runs, arms, _COLLECTED.base, Quantity("attempts", _attempts))
    told = [f"{average(mine, runs, arm, _attempts):.3f} with {arm.label}" for arm in _COLLECTED.all]
    moved = average(mine, runs, _COLLECTED.base, lambda s: s["writes_detail"]["gc_codewords"])
    why = (
        f"Attempts at a codeword that collection moves, mean of {', '.join(names(mine))} (stand-ins) on a device in "
        f"its steady state, {moved:,.0f} codewords moved: {', '.join(told)}. What is collected has mostly not been "
        "read for long, or never, so that its entry is seldom at hand, and with it no level."
    )
    found = {}
    for name, method in (("64 KB", _COLLECTED), ("64 MB", _WHOLE_MAP)):
        both = Compared(mine, runs, [method.base, method.new], method.base, Quantity("attempts", _attempts))
        found[name] = both.order([method.base, method.new], both.mean(method.new), why)
    whole = found.pop("64 MB")
    evidence = replace(found["64 KB"], under={"64 MB of cache, all of the map": replace(whole, why="")})
    return Measured(compared.frame(), {"collection_faster": evidence})


FIGURES = (
    Figure(
        "gc",
        "Section III-D: what garbage collection reads",
        _measure_gc,
        bars("Section III-D: attempts at a codeword that collection moves", OVER_BASE, colours=COLOURS),
        _cases,
    ),
)

CLAIMS = (
    Claim(
        "collection_faster",
        "gc",
        "collection reads what it moves in fewer attempts (LaLDPC-new over LDPC-in-SSD)",
        rule="order",
        kind="invented workload",
    ),
)
