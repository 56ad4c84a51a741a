"""Ways of reading on workloads, compared with one another, for the figures of several papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, Literal

import numpy as np
import polars as pl

from softsense.formats import as_share, listed
from softsense.papers import LEAST_EFFECT, Case, Evidence, Number, Plan, Runs, Workload, synthetic

Summary = dict[str, Any]

_PAGES_4K = (("format", "disksim"), ("size_unit", "4KiB"))
_EXCERPT = "real, an excerpt of 50,000 requests"
FINANCE1 = Workload("Finance1", _EXCERPT, "umass_Financial1_req3-50002.4Kpages.trace.zst", _PAGES_4K)
WEB_SEARCH = Workload("WebSearch", _EXCERPT, "umass_WebSearch1_first50k.4Kpages.trace.zst", _PAGES_4K)


@dataclass(frozen=True)
class Arm:
    """A way of reading, or a device, that is compared with others."""

    label: str
    policy: str
    overrides: tuple[str, ...] = ()

    def on(self, *overrides: str, label: str | None = None) -> Arm:
        """The arm with further overrides, such as another device."""
        return Arm(label or self.label, self.policy, (*self.overrides, *overrides))


@dataclass(frozen=True)
class Quantity:
    """A compared quantity: the name of its column, and its value in a summary."""

    column: str
    of: Callable[[Summary], float]

    def each(self, summaries: Sequence[Summary]) -> list[float]:
        """Values in some summaries."""
        return [self.of(summary) for summary in summaries]


def response(kind: str = "read") -> Quantity:
    """The mean response of `read`, `write` or `all` requests."""
    return Quantity("response_us", lambda summary: summary["response"][kind]["mean_us"])


def cases(plan: Plan, *arms: Arm) -> list[Case]:
    """Every arm on every workload with every seed."""
    return [
        Case(workload, arm.policy, arm.overrides, seed)
        for workload in plan.workloads
        for arm in arms
        for seed in plan.seeds
    ]


def summaries(plan: Plan, runs: Runs, workload: Workload, arm: Arm) -> list[Summary]:
    """Summaries of an arm on a workload, one for each seed."""
    return [runs[Case(workload, arm.policy, arm.overrides, seed)] for seed in plan.seeds]


def lone_reads(requests: int, **fields: Any) -> Workload:
    """A workload of 4 KiB reads one at a time, uniform over the device unless `[workload]` fields say otherwise."""
    workload = {
        "requests": requests,
        "read_fraction": 1.0,
        "sizes": [{"bytes": 4096, "share": 1.0}],
        "addresses": "uniform",
        "arrivals": "immediate",
    }
    one_at_a_time = "host.issue.closed_loop.queue_depth=1"
    return Workload(
        "lone reads", "one 4 KiB read at a time", overrides=(*synthetic(**workload, **fields), one_at_a_time)
    )


class Compared:
    """A quantity of arms divided by that of a reference arm, paired by seed, for each workload."""

    def __init__(
        self, plan: Plan, runs: Runs, arms: Sequence[Arm], reference: Arm, quantity: Quantity | None = None
    ) -> None:
        self.plan, self.runs, self.reference = plan, runs, reference
        self.arms = list(arms)
        self.quantity = quantity or response()
        self._ratios: dict[tuple[str, str], list[float]] = {}
        self._means: dict[tuple[str, str], float] = {}
        for workload in plan.workloads:
            below = self._values(workload, reference)
            for arm in arms:
                above = self._values(workload, arm)
                self._ratios[workload.name, arm.label] = [a / b for a, b in zip(above, below, strict=True)]
                self._means[workload.name, arm.label] = fmean(above)

    def _values(self, workload: Workload, arm: Arm) -> list[float]:
        return self.quantity.each(summaries(self.plan, self.runs, workload, arm))

    def ratios(self, workload: str, arm: Arm) -> list[float]:
        """The ratio on one workload, for each seed."""
        return self._ratios[workload, arm.label]

    def seed_means(self, arm: Arm, workloads: Sequence[str] = ()) -> list[float]:
        """The mean of some workloads, by default all, for each seed."""
        each = [self.ratios(name, arm) for name in workloads or self.workloads]
        return [fmean(of_seed) for of_seed in zip(*each, strict=True)]

    def number(self, workload: str, arm: Arm) -> Number:
        """The ratio on one workload."""
        return Number.of(self.ratios(workload, arm))

    def mean(self, arm: Arm) -> Number:
        """The mean of workloads."""
        return Number.of(self.seed_means(arm))

    @property
    def workloads(self) -> list[str]:
        """Names of the workloads."""
        return [workload.name for workload in self.plan.workloads]

    def worst(self, arm: Arm) -> str:
        """The workload on which the ratio is greatest."""
        return max(self.workloads, key=lambda name: self.number(name, arm).value)

    def saved(self, arm: Arm) -> str:
        """The range of ratios over workloads, as percentages saved."""
        saved = {name: 1 - self.number(name, arm).value for name in self.workloads}
        least, most = min(saved, key=lambda n: saved[n]), max(saved, key=lambda n: saved[n])
        return f"from {as_share(saved[least], 1)} ({least}) to {as_share(saved[most], 1)} ({most})"

    def order(self, arms: Sequence[Arm], number: Number, why: str) -> Evidence:
        """Evidence of an order: whether the quantity of each arm is larger than that of the next arm."""
        each = {name: falls([self.number(name, arm).value for arm in arms]) for name in self.workloads}
        return ordered(each, falls([self.mean(arm).value for arm in arms]), number, why)

    def frame(self) -> pl.DataFrame:
        """The ratios and means as a frame for `bar_sheet`."""
        rows = []
        for name in self.workloads:
            for arm in self.arms:
                number = self.number(name, arm)
                row = {"group": name, "bar": arm.label, "value": number.value, "lo": number.lo, "hi": number.hi}
                rows.append(row | {self.quantity.column: self._means[name, arm.label]})
        return pl.DataFrame(rows)


Fall = Literal["much", "little", "not"]
"""Fall of a series of numbers: each is less than the last by the least effect or more, each is less, or some is not."""


def falls(values: Sequence[float]) -> Fall:
    """The fall of a series of positive numbers, each to the next.

    >>> falls([1.0, 0.9, 0.5]), falls([1.0, 0.99]), falls([1.0, 0.9, 0.95])
    ('much', 'little', 'not')
    """
    pairs = list(pairwise(values))
    if all(b <= (1 - LEAST_EFFECT) * a for a, b in pairs):
        return "much"
    return "little" if all(b < a for a, b in pairs) else "not"


def ordered(each: Mapping[str, Fall], mean: Fall, number: Number | None, why: str) -> Evidence:
    """Evidence of an order, from its fall on each workload and in the mean of workloads."""
    wrong = [name for name, fall in each.items() if fall == "not"]
    little = [name for name, fall in each.items() if fall == "little"]
    why += f" Not so on {listed(wrong)}." if wrong else ""
    why += f" By less than {as_share(LEAST_EFFECT, 0)} on {listed(little)}." if little else ""
    return Evidence(number, why.strip(), in_all=not wrong and not little, in_mean=mean == "much", in_sign=mean != "not")


def saved(ratio: Number) -> Number:
    """By how much less a ratio is than 1."""
    return Number(1 - ratio.value, 1 - ratio.hi, 1 - ratio.lo)


def first_beyond(low: float, high: float, is_beyond: Callable[[float], bool]) -> float:
    """The point from which on a monotone condition holds; the end of the range if it holds nowhere."""
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_beyond(middle) else (middle, high)
    return high


def percent(share: Number) -> str:
    """A share, without its interval."""
    return as_share(share.value, 1)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation, for values without ties."""
    ranks = [np.argsort(np.argsort(values)) for values in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
