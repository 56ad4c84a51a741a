"""Area and power of a pool, and of decoders in SSDs or channels that serve the same load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense._core import Config
from softsense.codes import hardware
from softsense.formats import as_plain_share
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, inline, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import (
    DEDICATED,
    POOL,
    Decoders,
    Quantity,
    array_of,
    by_seed,
    device_of,
    iops,
    kpe,
    latency,
    loaded,
    most_of_smallest,
    scaled,
    with_seeds,
)
from softsense.papers.adaptive_rate_pool.decoding import at
from softsense.papers.adaptive_rate_pool.loads import HEAVY, HOT_SHARES, hot
from softsense.papers.adaptive_rate_pool.machine import CONFIG, DEVICE
from softsense.papers.adaptive_rate_pool.published import CODEWORD, ITERATION_US, RATES, WITHIN, table_of
from softsense.papers.adaptive_rate_pool.wear import ages, code
from softsense.papers.drawing import bar_sheet

if TYPE_CHECKING:
    from softsense.charts import Sheet

IDLE = (0.1, 0.3)
"""Power of an idle decoder, over that of one at work (assumed); the model of hardware leaves it out."""
LINK_PJ_PER_BIT = 5.0
"""Energy of links to a pool for a bit, pJ (assumed)."""
_IN_SSDS = tuple(each for each in DEDICATED if each.where == "per_ssd")
(_IN_CHANNELS,) = (each for each in DEDICATED if each.where == "per_channel")


@cache
def checks_per_cycle(rates: tuple[str, ...] = RATES) -> int:
    """The fewest checks a cycle with which an iteration of each of these codes takes the paper's time at most."""

    def is_fast(checks: int) -> bool:
        return all(_circuit(rate, checks)["us"] <= ITERATION_US for rate in rates)

    return next(checks for checks in range(1, 1 << 10) if is_fast(checks))


def _circuit(rate: str, checks: int) -> dict[str, float]:
    found: dict[str, float] = hardware(code(rate), iterations=1, checks_per_cycle=checks)["decoder"]
    return found


def iteration_nj(rate: str) -> float:
    """Energy of an iteration of a code, nJ, on a circuit with as many lanes as that of six codes."""
    return _circuit(rate, checks_per_cycle())["nj"]


@cache
def area(*rates: str) -> float:
    """Area of a decoder of these codes, mm2."""
    circuit = f"decoder.time={inline({'ldpc': {'checks_per_cycle': checks_per_cycle(rates)}})}"
    device = array_of(POOL) if rates == RATES else (f"reliability.table.file={table_of(rates[0])}",)
    found = Config.open(CONFIG).with_overrides([*DEVICE, *device, circuit]).decoder_hardware()
    assert found is not None
    mm2: float = found["mm2"]
    return mm2


def _busy(plan: Plan, decoders: Decoders) -> list[Case]:
    """Cases of the judged load: 80 % of the least rate of the pool, at the oldest age."""
    return loaded(plan, HEAVY * most_of_smallest(plan), device_of(at(ages(plan.full)[-1]), decoders))


def _hot(plan: Plan, decoders: Decoders) -> list[Case]:
    return with_seeds(plan, hot(plan.requests, HOT_SHARES[-1]), device_of(at(ages(plan.full)[-1]), decoders))


def _cases(plan: Plan) -> list[Case]:
    return [case for of in (_busy, _hot) for each in (POOL, *_IN_SSDS, _IN_CHANNELS) for case in of(plan, each)]


def _p99(summary: dict[str, Any]) -> float:
    found: float = summary["response"]["read"]["p99_us"]
    return found


def _fewest(
    plan: Plan, runs: Runs, of: Callable[[Plan, Decoders], list[Case]], quantity: Quantity, order: int
) -> Decoders:
    """The fewest decoders in SSDs that are as good as the pool within 2 %."""
    pooled = Number.of(by_seed(runs, of(plan, POOL), quantity)).value

    def is_as_good(each: Decoders) -> bool:
        ratio = Number.of(by_seed(runs, of(plan, each), quantity)).value / pooled
        return order * (ratio - 1) <= WITHIN

    return next((each for each in _IN_SSDS if is_as_good(each)), _IN_SSDS[-1])


def _watts(plan: Plan, runs: Runs, decoders: Decoders, *, idle: float = 0.0, links: bool = False) -> list[float]:
    """Power of decoding at the judged load, W, by seed."""
    each = at(ages(plan.full)[-1])
    nj = iteration_nj(each.rate)
    # Data crosses the links in any case; parity goes to a pool alone.
    parity_nj = 1e-3 * LINK_PJ_PER_BIT * (8 * CODEWORD - code(each.rate).data_bits)

    def watts_of(summary: dict[str, Any]) -> float:
        per_s = iops(summary)
        iterations = summary["codeword_reads"]["time_us"]["decode"] / ITERATION_US
        at_work = per_s * iterations * ITERATION_US * 1e-6
        of_decoders = (at_work + idle * (decoders.count - at_work)) * nj * 1e-9 / (ITERATION_US * 1e-6)
        watts: float = of_decoders + (per_s * parity_nj * 1e-9 if links and decoders.where == "pool" else 0.0)
        return watts

    return by_seed(runs, _busy(plan, decoders), watts_of)


def _measure(plan: Plan, runs: Runs) -> Measured:
    dedicated = _fewest(plan, runs, _busy, latency, 1)
    by_tail, by_hot = _fewest(plan, runs, _busy, _p99, 1), _fewest(plan, runs, _hot, iops, -1)
    pool_mm2, single = POOL.count * area(*RATES), area(RATES[0])

    def over(count: int, mm2: float = 0.0) -> Evidence:
        number = Number.exact(pool_mm2 / (count * (mm2 or area(*RATES))))
        return Evidence(number, in_all=number.value < 1, in_mean=number.value < 1)

    def power(than: Decoders, **of: Any) -> Evidence:
        number = Number.ratio(_watts(plan, runs, POOL, **of), _watts(plan, runs, than, **of))
        # Seeds are paired: a difference by rounding alone is no order.
        met = number.value < 1 and number.hi < 1
        return Evidence(number, in_all=met, in_mean=met)

    us = {each: Number.of(by_seed(runs, _busy(plan, each), latency)).value for each in (POOL, *_IN_SSDS, _IN_CHANNELS)}
    rows, told = [], []
    for each in (POOL, *_IN_SSDS, _IN_CHANNELS):
        watts = [Number.of(_watts(plan, runs, each, idle=idle)) for idle in (0.0, *IDLE)]
        mm2 = Number.exact(each.count * area(*RATES))
        rows += [
            {"group": group, "bar": each.label, "value": number.value, "lo": number.lo, "hi": number.hi}
            for group, number in (("area, mm2", mm2), ("power, mW", scaled(watts[1], 1e3)))
        ]
        told.append([each.label, f"{mm2.value:.0f}", *(f"{1e3 * w.value:.0f}" for w in watts), f"{us[each]:.1f}"])
    evidence = {
        "pool_area": replace(
            over(dedicated.count),
            why=f"A decoder of six codes takes {area(*RATES):.2f} mm2 at 28 nm. In SSDs it takes {dedicated.count} to "
            f"read as fast as with the {POOL.label} at {as_plain_share(HEAVY)} load, {kpe(ages(plan.full)[-1])} kPE.",
            under={
                "as low a 99th percentile": over(by_tail.count),
                f"{as_plain_share(HOT_SHARES[-1])} of reads of hot data": over(by_hot.count),
                "a decoder in each channel": over(_IN_CHANNELS.count),
                f"a decoder of rate {RATES[0]} alone in each channel": over(_IN_CHANNELS.count, single),
                "a decoder in each SSD, however slow": over(_IN_SSDS[0].count),
            },
        ),
        "pool_power": replace(
            power(dedicated),
            why="A decode takes the same energy wherever it happens. What a pool saves is what decoders without work "
            "take, of which the model knows nothing; what it costs is the parity that crosses links.",
            under={
                **{
                    f"a decoder without work takes {as_plain_share(idle)}": power(dedicated, idle=idle) for idle in IDLE
                },
                f"a decoder in each channel, without work {as_plain_share(IDLE[0])}": power(_IN_CHANNELS, idle=IDLE[0]),
                f"links take {LINK_PJ_PER_BIT:g} pJ a bit": power(dedicated, links=True),
                f"both, without work {as_plain_share(IDLE[-1])}": power(dedicated, idle=IDLE[-1], links=True),
            },
        ),
    }
    powers = [f"mW, without work {as_plain_share(idle)}" for idle in (0.0, *IDLE)]
    heads = ["decoders", "mm2", *powers, "mean read, us"]
    note = (
        f"{checks_per_cycle()} checks a cycle at 400 MHz and 28 nm are the fewest with which an iteration of any of "
        f"the six codes takes {ITERATION_US:g} us at most. Power is that of decoding at {as_plain_share(HEAVY)} of "
        f"what the {POOL.label} can do; a decoder without work takes the named share of one at work (assumed).\n\n"
        + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), evidence, (note,))


_COLOURS = ("#0072b2", "#f5c26b", "#e69f00", "#b87a00", "#7a5200", "#009e73")


def _draw(frame: pl.DataFrame) -> Sheet:
    arms = (POOL, *_IN_SSDS, _IN_CHANNELS)
    return bar_sheet(
        frame,
        f"Decoders of six codes: area, and power at {as_plain_share(HEAVY)} of what a pool of 8 can do",
        "",
        colours={each.label: colour for each, colour in zip(arms, _COLOURS, strict=True)},
        line=None,
        note=f"28 nm; a decoder without work takes {as_plain_share(IDLE[0])} of one at work (assumed)",
        digits=0,
    )


FIGURES = (
    Figure(
        "hardware",
        "Area and power of a pool and of dedicated decoders",
        _measure,
        _draw,
        _cases,
    ),
)

CLAIMS = (
    Claim(
        "pool_area",
        "hardware",
        "a pool lowers complexity (area of its decoders over those in SSDs that read as fast)",
        rule="order",
    ),
    Claim(
        "pool_power",
        "hardware",
        "a pool decreases power consumption (of decoding, over those in SSDs that read as fast)",
        rule="order",
    ),
)
