"""Figure 5: the I/O rate of each code."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from statistics import fmean

import polars as pl

from softsense.formats import as_plain_share, listed
from softsense.lifetime import Demand, Lifetime, lifetime
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import POOL, by_seed, iops, saturated, scaled
from softsense.papers.adaptive_rate_pool.decoding import at_all
from softsense.papers.adaptive_rate_pool.looks import LINES_BY_RATE, PE_AXIS
from softsense.papers.adaptive_rate_pool.published import CHANNEL_US, CHANNELS, RATES, table_of
from softsense.papers.adaptive_rate_pool.wear import DEMAND, UTILISATIONS, adapted, ages, code, life, lives, worn
from softsense.papers.drawing import lines, point


def _cases_fig05(plan: Plan) -> list[Case]:
    return [case for each in at_all(plan.full) for case in saturated(plan, each, POOL)]


# Least relative difference of bounds at which measurements are compared.
_TOLD_APART = 0.005


def _measure_fig05(plan: Plan, runs: Runs) -> Measured:
    every = at_all(plan.full)
    found = {(d.rate, d.pe_cycles): Number.of(by_seed(runs, saturated(plan, d, POOL), iops)) for d in every}
    codewords, data = "codewords", "user data"
    rows = []
    for (rate, age), number in found.items():
        rows.append(point(codewords, rate, age / 1000, scaled(number, 1e-3)))
    for (rate, age), number in found.items():
        rows.append(point(data, rate, age / 1000, scaled(number, code(rate).data_bits / 8 / 1e9)))
    evidence, ratios, falls = {}, {}, {}
    for rate in RATES:
        values = [number.value for (of, _), number in found.items() if of == rate]
        # Bounds are equal where channels are the bottleneck, or where a table has no point between two ages.
        bounds = [POOL.bound(d.load) for d in every if d.rate == rate]
        falls[rate] = all(
            young > old
            for (young, old), (could, can) in zip(pairwise(values), pairwise(bounds), strict=True)
            if could > (1 + _TOLD_APART) * can
        )
        ratios[rate] = values[-1] / values[0]
    ends = [f"{1e-3 * found[rate, lives()[rate].endurance_pe].value:.0f} ({rate})" for rate in RATES]
    evidence["rate_falls_with_age"] = Evidence(
        Number.exact(max(ratios.values())),
        f"The most is {1e-3 * max(n.value for n in found.values()):,.0f} of the {1e3 * CHANNELS / CHANNEL_US:,.0f} "
        f"KIOPS that channels bring; at the end of their lives rates reach {listed(ends)}. Ages whose bounds differ by "
        f"less than {as_plain_share(_TOLD_APART)} are not compared.",
        in_all=all(falls.values()),
        in_mean=all(ratio < 1 for ratio in ratios.values()),
    )
    gains, of_data = [], []
    for before, after in pairwise(life().stages):
        weak, strong = adapted(before.to_pe), adapted(after.to_pe)
        age = max(a for a in ages(plan.full) if a <= before.to_pe)
        gain = found[strong, age].value / found[weak, age].value
        gains.append(gain)
        of_data.append(gain * code(strong).data_bits / code(weak).data_bits)
    told = [f"{gain:.2f}" for gain in gains]
    evidence["switch_raises_rate"] = Evidence(
        Number.exact(fmean(gains)),
        f"At the last age that was simulated before each switch the next code decodes {listed(told)} times as many "
        f"codewords a second; of user data it is {min(of_data):.2f} to {max(of_data):.2f} times as much.",
        in_all=min(gains) > 1,
        in_mean=fmean(gains) > 1,
    )
    note = (
        f"A pool of {POOL.count} decoders, saturated. The paper does not say how many it has in this figure, nor "
        "whether an I/O is a codeword or user data: both are shown."
    )
    return Measured(pl.DataFrame(rows), evidence, (note, _note_of_limits()))


# Mean iterations at which a device might switch: the paper has a "predetermined limit" without a value.
_LIMITS = (4.0, 5.0, 6.0)


@cache
def _limited(iterations: float) -> Lifetime:
    """Lives that end where the mean number of iterations is at a limit, or errors require it."""
    demand = Demand(uber=DEMAND.uber, mean_iterations=iterations)
    return lifetime(worn(), [table_of(rate) for rate in RATES], utilisations=UTILISATIONS[:1], demand=demand)


def _note_of_limits() -> str:
    def row(label: str, found: Lifetime) -> list[str]:
        ends = {stage.life.table: f"{stage.to_pe / 1000:.1f}" for stage in found.stages}
        written = sum((stage.to_pe - stage.from_pe) / 1000 * stage.life.user_share for stage in found.stages)
        return [label, *(ends.get(table_of(rate), "-") for rate in RATES), f"{written:.1f}"]

    heads = ["at most", *(f"{rate} until" for rate in RATES), "1,000 bytes for each byte of flash"]
    rows = [row(f"{limit:g} iterations", _limited(limit)) for limit in _LIMITS]
    return (
        "The paper switches when iterations pass a limit, which it does not say; here errors alone decide. A limit on "
        "the mean means switching earlier, less capacity, and a shorter life; in 1,000 P/E cycles:\n\n"
        + markdown_table(heads, [*rows, row("UBER alone", life())])
    )


FIGURES = (
    Figure(
        "5",
        "Figure 5: I/O rate of each code",
        _measure_fig05,
        lines(
            "Figure 5: I/O rate by code",
            PE_AXIS,
            ("1,000 codewords a second", "GB of user data a second"),
            LINES_BY_RATE,
            f"saturated, a {POOL.label}",
        ),
        _cases_fig05,
    ),
)

CLAIMS = (
    Claim(
        "rate_falls_with_age",
        "5",
        "the performance of each code falls with age (end of its life over the youngest age, the most)",
        rule="order",
    ),
    Claim(
        "switch_raises_rate",
        "5",
        "switching to a stronger code keeps performance high (codewords a second, after over before)",
        rule="order",
    ),
)
