"""The over-provisioning and the decoder hardware with which each published range of costs is met.

Both were chosen after the published numbers were known. The paper gives neither, so that agreement is no prediction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from softsense.formats import as_plain_share, as_share
from softsense.papers import (
    Case,
    Claim,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    markdown_table,
)
from softsense.papers.comparing import (
    Arm,
    Compared,
    cases,
    first_beyond,
)
from softsense.papers.drawing import bar_sheet
from softsense.papers.lae_ftl.devices import squeezed
from softsense.papers.lae_ftl.published import UNIT, ranged
from softsense.papers.lae_ftl.units import SQUEEZED, UNSQUEEZED, Hardware, UnitCode, uniform_amplification
from softsense.papers.lae_ftl.workloads import OVERHEADS, bar, fewer, spread

if TYPE_CHECKING:
    from softsense.charts import Sheet

_SHARES = {False: (0.255, 0.45), True: (0.255, 0.35, 0.45, 0.6)}
"""Over-provisioning, for quick (False) and full (True) runs; the shipped device has the first."""

_MULTIPLIERS = {False: (16, 80), True: (16, 80, 2048)}
"""Multipliers for the key equation; with 2,048 a step takes a cycle."""

_CLOSED = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_CODES = (UNSQUEEZED, *SQUEEZED)


def _plan(plan: Plan, share: float) -> Plan:
    """The plan with one seed and fewer requests, on devices with this over-provisioning and the same user capacity."""
    return replace(fewer(spread(plan, share), 40_000 if plan.full else 15_000), seeds=plan.seeds[:1])


def _arms(share: float, multipliers: int) -> list[Arm]:
    return [squeezed(code, share, Hardware(multipliers=multipliers).override) for code in _CODES]


def _grid(plan: Plan) -> list[tuple[float, int]]:
    return [(share, count) for share in _SHARES[plan.full] for count in _MULTIPLIERS[plan.full]]


def _cases(plan: Plan) -> list[Case]:
    return [case for share, count in _grid(plan) for case in cases(_plan(plan, share), *_arms(share, count))]


def _measure(plan: Plan, runs: Runs) -> Measured:
    rows, told, best = [], [], 0
    for share, count in _grid(plan):
        some, arms, cells, met = _plan(plan, share), _arms(share, count), [], 0
        for overhead in OVERHEADS:
            compared = Compared(some, runs, arms, arms[0], overhead.quantity)
            inside = []
            for arm, (low, high) in zip(arms[1:], overhead.ranges, strict=True):
                mean = compared.mean(arm).value - 1
                inside.append(low <= mean <= high)
                cells.append(f"{100 * mean:+.1f}{' *' if inside[-1] else ''}")
            met += sum(inside)
            name = f"{as_plain_share(share)}\n{count:,}"
            rows.append(bar(name, overhead.name, Number.exact(sum(inside)), over_provisioning=share, multipliers=count))
        best = max(best, met)
        told.append([as_plain_share(share), f"{count:,}", f"{met} of {len(cells)}", *cells])
    heads = ["over-provisioning", "multipliers", "ranges met"]
    heads += [f"{overhead.name}, {code.unit}" for overhead in OVERHEADS for code in SQUEEZED]
    published = ["published", "", "", *(ranged(*ends) for overhead in OVERHEADS for ends in overhead.ranges)]
    note = (
        "Increases over the unsqueezed device, per cent, in the mean of workloads on devices that are all mapped; with "
        "a star where they lie in the published range. At a point of the grid up to "
        f"{best} of {len(SQUEEZED) * len(OVERHEADS)} ranges are met at once. These are settings that are compatible "
        f"with what was published, found after it was seen.\n\n{markdown_table(heads, [published, *told])}"
    )
    return Measured(pl.DataFrame(rows), {}, (note, _note_of_uniform()))


def _growth(share: float, code: UnitCode) -> float:
    """Growth of write amplification by a squeeze, in closed form."""
    return uniform_amplification(code, 1 - share) / uniform_amplification(UNSQUEEZED, 1 - share) - 1


def _compatible(code: UnitCode, low: float, high: float) -> tuple[float, float]:
    """Range of over-provisioning in which the closed form of growth lies in a range: growth falls with
    over-provisioning.
    """
    least = code.squeezed_bytes / UNIT + 0.01

    def share_below(limit: float) -> float:
        return first_beyond(least, 0.999, lambda share: _growth(share, code) < limit)

    return share_below(high), share_below(low)


def _note_of_uniform() -> str:
    heads = ["over-provisioning", "write amplification", *(code.unit for code in SQUEEZED)]
    rows = [
        [
            as_plain_share(share),
            f"{uniform_amplification(UNSQUEEZED, 1 - share):.2f}",
            *(as_share(_growth(share, code), 1, signed=True) for code in SQUEEZED),
        ]
        for share in _CLOSED
    ]
    regions = [_compatible(code, *ends) for code, ends in zip(SQUEEZED, OVERHEADS[0].ranges, strict=True)]
    rows.append(["published", "", *(ranged(*ends) for ends in OVERHEADS[0].ranges)])
    rows.append(["compatible with it", "", *(f"{100 * a:.0f} to {as_share(b, 0)}" for a, b in regions)])
    low, high = max(low for low, _ in regions), min(high for _, high in regions)
    together = f"{100 * low:.0f} to {as_share(high, 0)}" if low <= high else "none"
    carried = 1 - 1 / uniform_amplification(UNSQUEEZED, 1 - low)
    third = first_beyond(0.01, 0.99, lambda share: uniform_amplification(UNSQUEEZED, 1 - share) < 1.5)
    return (
        "Write amplification in closed form, for endless uniform overwriting, room / (1 - delta) with utilisation = "
        f"(delta - 1) / ln delta, and by how much it grows. Over-provisioning with all four ranges: {together}. "
        f"Collection carries a third of all programs of the unsqueezed device or more up to {as_share(third, 1)} of "
        f"over-provisioning; with {as_share(low, 1)}, the least that meets all four ranges, it carries "
        f"{as_share(carried, 1)}.\n\n{markdown_table(heads, rows)}"
    )


def _draw(frame: pl.DataFrame) -> Sheet:
    colours = dict(zip((overhead.name for overhead in OVERHEADS), ("#0072b2", "#e69f00", "#009e73"), strict=True))
    return bar_sheet(
        frame,
        "Where the published ranges come out",
        f"of {len(SQUEEZED)} ranges, those met",
        colours=colours,
        line=float(len(SQUEEZED)),
        note="by over-provisioning, and below it multipliers of the key equation; a compatible region, no prediction",
        digits=0,
    )


FIGURES = (Figure("region", "Where the published ranges come out", _measure, _draw, _cases),)
CLAIMS: tuple[Claim, ...] = ()
