"""Methods, workloads and ages."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.formats import as_share
from softsense.papers import Case, Number, Plan, Runs, Workload, synthetic
from softsense.papers.comparing import Arm, Summary, cases
from softsense.papers.drawing import Line, point
from softsense.papers.rif.published import CAPABILITY, CELLS, LOSS, PE_CYCLES, REQUEST
from softsense.papers.techniques import at_age, ladder, predictor, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def methods(pe_cycles: int, retention_days: float) -> dict[str, Arm]:
    """The paper's methods on cells of an age, by the names of their arms."""
    swift = {"references": "share_of_ones"}
    overrides = {
        "no retry": (reading(references="cells"),),
        "one ideal retry": (reading(references="retry_table"), ladder(CELLS, pe_cycles, retention_days, 1)),
        "Sentinel": (reading(references="sentinels"),),
        "Swift-Read": (reading(**swift),),
        "Swift-Read+": (reading(**swift, remembered="of_block"),),
        "RPSSD": (reading(**swift, predictor=predictor("controller", CAPABILITY)),),
        "RiF": (reading(**swift, predictor=predictor("die", CAPABILITY)),),
    }
    return {
        label: Arm(label, "progressive", (*at_age(pe_cycles, retention_days), *fields))
        for label, fields in overrides.items()
    }


COLOURS = {
    "no retry": "#009e73",
    "one ideal retry": "#7f7f7f",
    "Sentinel": "#e69f00",
    "Swift-Read": "#56b4e9",
    "Swift-Read+": "#cc79a7",
    "RPSSD": "#d55e00",
    "RiF": "#0072b2",
}

STYLES = {label: Line(colour) for label, colour in COLOURS.items()} | {"published": Line("#000000", "none", "square")}
RIVALS = {"Sentinel": "sentinel", "Swift-Read": "swift_read", "Swift-Read+": "swift_read_tracking"}


def _stand_in(read_share: float, requests: int) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=read_share,
        sizes=[{"bytes": REQUEST, "share": 1.0}],
        addresses={"zipf": {"exponent": 0.9}},
        arrivals="immediate",
        footprint_bytes=1 << 36,
    )
    what = f"stand-in: {requests:,} requests of 64 KiB, {as_share(read_share, 0)} reads, 256 at once"
    return Workload(f"{as_share(read_share, 0)} reads", what, overrides=fields)


# The shares of reads of the paper's eight workloads are 0.27 to 0.96.
_READ_SHARES = (0.27, 0.37, 0.47, 0.57, 0.66, 0.76, 0.86, 0.96)


SATURATING = (*_stand_in(_READ_SHARES[-1], 1).overrides, "host.issue.closed_loop.queue_depth=256")
"""Overrides for the workload with the most reads, on any drive; without its number of requests."""


def plan_of(full: bool) -> Plan:
    """The plan of a quick or a full run."""
    shares = _READ_SHARES if full else (_READ_SHARES[0], _READ_SHARES[4], _READ_SHARES[-1])
    requests = 10_000 if full else 4_000
    workloads = tuple(_stand_in(share, requests) for share in shares)
    # The number of blocks changes nothing but the capacity and the time to set it up.
    overrides = () if full else ("geometry.blocks_per_plane=256",)
    return Plan(full, (1, 2, 3) if full else (1, 2), workloads, 20_000 if full else 1_000, overrides=overrides)


def ages(plan: Plan) -> Sequence[float]:
    """Days of retention, from where hardly anything is retried to beyond the paper's losses."""
    return (5.0, 10.0, 18.0, 28.0, 45.0, 90.0, 180.0) if plan.full else (10.0, 28.0, 90.0)


def aged_cases(plan: Plan) -> list[Case]:
    """Simulations of all methods at all ages."""
    return cases(plan, *(arm for days in ages(plan) for arm in methods(PE_CYCLES, days).values()))


class Aged:
    """Every method on every workload by age, and interpolations at the losses that the paper prints."""

    def __init__(self, plan: Plan, runs: Runs) -> None:
        self.plan, self._runs = plan, runs
        self._methods = {days: methods(PE_CYCLES, days) for days in ages(plan)}

    def each(self, days: float, label: str, seed: int, workloads: Sequence[Workload] = ()) -> list[Summary]:
        """Summaries on some workloads, by default all."""
        arm = self._methods[days][label]
        of = workloads or self.plan.workloads
        return [self._runs[Case(workload, arm.policy, arm.overrides, seed)] for workload in of]

    def bandwidth_ratio(
        self, days: float, above: str, below: str, seed: int, workloads: Sequence[Workload] = ()
    ) -> float:
        """Ratio of the bandwidths of two methods, mean of workloads. Requests are the same, so it is the inverse ratio
        of times.
        """
        pairs = zip(self.each(days, above, seed, workloads), self.each(days, below, seed, workloads), strict=True)
        return fmean(other["simulated_s"] / one["simulated_s"] for one, other in pairs)

    def loss(self, days: float, seed: int) -> float:
        """The share of the bandwidth without retries that one ideal retry loses."""
        return 1 - self.bandwidth_ratio(days, "one ideal retry", "no retry", seed)

    def at_loss(self, loss: float, of: Callable[[float, int], float]) -> Number:
        """A number by age and seed, interpolated between ages to the one with a published loss."""
        values = []
        for seed in self.plan.seeds:
            losses = [self.loss(days, seed) for days in ages(self.plan)]
            values.append(float(np.interp(loss, losses, [of(days, seed) for days in ages(self.plan)])))
        return Number.of(values)

    def mean_loss(self, days: float) -> float:
        """The loss by one ideal retry, mean of seeds."""
        return fmean(self.loss(days, seed) for seed in self.plan.seeds)

    def lines(
        self, panel: str, labels: Iterable[str], of: Callable[[str], Callable[[float, int], float]]
    ) -> list[dict[str, Any]]:
        """Rows of a figure: values of some methods by the loss of one ideal retry."""
        return [
            point(panel, label, self.mean_loss(days), Number.of([of(label)(days, seed) for seed in self.plan.seeds]))
            for label in labels
            for days in ages(self.plan)
        ]

    def ratio(self, above: str, below: str) -> Callable[[float, int], float]:
        """A function that gives a ratio of bandwidths by age and seed."""
        return lambda days, seed: self.bandwidth_ratio(days, above, below, seed)

    @property
    def reached(self) -> str:
        """A sentence on losses that these ages do not reach, if the paper's are larger; else empty."""
        most = max(self.mean_loss(days) for days in ages(self.plan))
        if most >= LOSS["2000"]:
            return ""
        return f" One ideal retry loses {as_share(most, 1)} at most here: beyond it stands what is so there."

    @property
    def most_read(self) -> list[Workload]:
        """The workload with the most reads, which stands in for Ali_124 [assumed]."""
        return [self.plan.workloads[-1]]
