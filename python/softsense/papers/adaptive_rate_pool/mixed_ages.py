"""An array of SSDs of different ages: the gain of a pool where no data is hot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean
from typing import Any

import polars as pl

from softsense.formats import as_plain_share
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, Workload, inline, synthetic
from softsense.papers.adaptive_rate_pool.decoders import (
    PER_SSD,
    POOL,
    Decoders,
    Quantity,
    array_of,
    by_seed,
    iops,
    kpe,
    with_seeds,
)
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.loads import QUEUE_DEPTH
from softsense.papers.adaptive_rate_pool.settings import NARROW, WIDE, Setting
from softsense.papers.adaptive_rate_pool.wear import UNIT, life
from softsense.papers.drawing import bars

AGES = (100, 2_000, 8_000, 12_000, 18_000, 24_000, 33_000, 38_000)
"""P/E cycles of the eight SSDs."""
# Load, as a share of the rate of decoders in the SSDs together.
_LOAD = 0.8


def _device(decoders: Decoders) -> tuple[str, ...]:
    """Overrides for adaptive rates, and an age for each SSD."""
    ages = [{"pe_cycles": age, "retention_days": 0.0} for age in _ages()]
    return (*array_of(decoders), f"precondition.ssds={inline(ages)}")


def _ages() -> list[int]:
    """The ages of the SSDs, within the life of the adaptive device."""
    end = life().stages[-1].to_pe
    return [min(age, end) for age in AGES]


def _reads(plan: Plan, arrivals: object, *overrides: str) -> Workload:
    """Reads of 512 bytes, each of one codeword."""
    fields = synthetic(
        requests=plan.requests,
        read_fraction=1.0,
        sizes=[{"bytes": UNIT, "share": 1.0}],
        align_bytes=UNIT,
        addresses="uniform",
        arrivals=arrivals,
    )
    what = f"{plan.requests:,} reads of a codeword at random places"
    return Workload("mixed ages", what, overrides=(*fields, *overrides))


def _saturated(plan: Plan, decoders: Decoders) -> list[Case]:
    issue = f"host.issue={inline({'closed_loop': {'queue_depth': QUEUE_DEPTH}})}"
    return with_seeds(plan, _reads(plan, "immediate", issue), _device(decoders))


def _loaded(plan: Plan, decoders: Decoders) -> list[Case]:
    per_s = float(round(_LOAD * PER_SSD.bound(max(at(age).load for age in _ages()))))
    issue = f"host.issue={inline({'open_loop': {'time_scale': 1.0}})}"
    return with_seeds(plan, _reads(plan, {"poisson": {"requests_per_s": per_s}}, issue), _device(decoders))


_FREE = Setting("links that take no time")
_SETTINGS = (_FREE, WIDE, NARROW)


def _cases(plan: Plan) -> list[Case]:
    return [
        case
        for setting in _SETTINGS
        for decoders in (POOL, PER_SSD)
        for of in (_saturated, _loaded)
        for case in setting.of(of(plan, decoders), decoders)
    ]


def _p99(summary: dict[str, Any]) -> float:
    found: float = summary["response"]["read"]["p99_us"]
    return found


def _measure(plan: Plan, runs: Runs) -> Measured:
    def ratio(
        setting: Setting, of: Callable[[Plan, Decoders], list[Case]], quantity: Quantity, *arms: Decoders
    ) -> Number:
        return Number.ratio(*(by_seed(runs, setting.of(of(plan, d), d), quantity) for d in arms))

    rows = []
    for setting in _SETTINGS:
        for decoders in (POOL, PER_SSD):
            if decoders == PER_SSD and setting != _FREE:
                continue
            for group, of, quantity in (
                ("saturated, KIOPS", _saturated, lambda summary: 1e-3 * iops(summary)),
                (f"{as_plain_share(_LOAD)} load, p99, us", _loaded, _p99),
            ):
                number = Number.of(by_seed(runs, setting.of(of(plan, decoders), decoders), quantity))
                bar = decoders.label + ("" if setting == _FREE else f", {setting.name}")
                rows.append({"group": group, "bar": bar, "value": number.value, "lo": number.lo, "hi": number.hi})
    loads = [at(age).load for age in _ages()]
    evidence = {}
    for id_, of, quantity, above, below, why in (
        (
            "mixed_ages_rate",
            _saturated,
            iops,
            POOL,
            PER_SSD,
            f"The oldest SSD's decoder is the bottleneck where data is spread evenly: by the bounds a pool gains "
            f"{max(loads) / fmean(loads):.2f} times. SSDs have {', '.join(kpe(age) for age in _ages())} kPE.",
        ),
        (
            "mixed_ages_p99",
            _loaded,
            _p99,
            PER_SSD,
            POOL,
            f"At {as_plain_share(_LOAD)} of what decoders in the SSDs can do.",
        ),
    ):
        numbers = {setting.name: ratio(setting, of, quantity, above, below) for setting in _SETTINGS}
        each = {name: Evidence(n, in_all=n.lo > 1, in_mean=n.value > 1) for name, n in numbers.items()}
        evidence[id_] = replace(
            each[_FREE.name], why=why, under={name: found for name, found in each.items() if name != _FREE.name}
        )
    return Measured(pl.DataFrame(rows), evidence)


FIGURES = (
    Figure(
        "ages",
        "SSDs of different ages: a pool and a decoder in each",
        _measure,
        bars(
            "SSDs of 100 to 38,000 P/E cycles in one array",
            "",
            colours={
                POOL.label: "#0072b2",
                PER_SSD.label: "#e69f00",
                f"{POOL.label}, {WIDE.name}": "#56b4e9",
                f"{POOL.label}, {NARROW.name}": "#009e73",
            },
        ),
        _cases,
    ),
)

CLAIMS = (
    Claim(
        "mixed_ages_rate",
        "ages",
        "with SSDs of different ages and even load a pool reads more than a decoder in each (not in the paper)",
        rule="order",
        kind="invented workload",
    ),
    Claim(
        "mixed_ages_p99",
        "ages",
        "and its 99th percentile is lower (1 in each SSD over a pool; not in the paper)",
        rule="order",
        kind="invented workload",
    ),
)
