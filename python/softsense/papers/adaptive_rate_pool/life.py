"""A life under load: blocks change their rate within a run, by P/E cycles or by observations."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import Case, Claim, Evidence, Figure, Measured, Number, Plan, Runs, markdown_table
from softsense.papers.adaptive_rate_pool.decoders import by_seed
from softsense.papers.adaptive_rate_pool.lifetimes import printed
from softsense.papers.adaptive_rate_pool.living import (
    BLOCK_SIGMA,
    BLOCKS,
    CAPACITY,
    CHANNELS_PER_SSD,
    ITERATION_US,
    PAGES,
    PLANES,
    REQUESTS_PER_S,
    SSDS,
    USED,
    Living,
    cycles_per_erase,
)
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE, CODEWORD
from softsense.papers.adaptive_rate_pool.settings import WIDE
from softsense.papers.adaptive_rate_pool.wear import UNIT, units
from softsense.papers.drawing import bar_sheet

if TYPE_CHECKING:
    from softsense.charts import Sheet

PLANNED = Living()
BY_ITERATIONS, BY_ERRORS = Living(switch="mean_iterations"), Living(switch="corrected_errors")
OBSERVED = (BY_ITERATIONS, BY_ERRORS)
DEDICATED, FIRST = Living(placement="per_ssd"), Living(host_first=True)
LINKED = Living(link_gb_per_s=WIDE.link_gb_per_s)
SINGLE = (Living("2/3"), Living("1/2"))
_EVERY = (PLANNED, *OBSERVED, DEDICATED, FIRST, LINKED, *SINGLE)


def runs_of(plan: Plan, living: Living) -> list[Case]:
    """Runs of a life. Each has millions of requests, of which hundreds of thousands wait; seeds hardly differ."""
    return [living.case(plan, seed) for seed in plan.seeds[: len(plan.seeds) if plan.full else 1]]


def _cases(plan: Plan) -> list[Case]:
    return [case for living in _EVERY for case in runs_of(plan, living)]


def _written(summary: dict[str, Any]) -> float:
    """Bytes that the host wrote for each byte of flash."""
    detail = summary["writes_detail"]
    units = detail["host_codewords"] - detail["refused_codewords"]
    found: float = units * UNIT / (PLANES * BLOCKS * PAGES * 2 * CODEWORD)
    return found


def _erases(summary: dict[str, Any]) -> float:
    """Mean number of erases of a block."""
    found: float = summary["operations"]["erases"] / (PLANES * BLOCKS)
    return found


def p99(summary: dict[str, Any]) -> float:
    """99th percentile of the response of reads, us."""
    found: float = summary["response"]["read"]["p99_us"]
    return found


def mean(summary: dict[str, Any]) -> float:
    """Mean response of reads, us."""
    found: float = summary["response"]["read"]["mean_us"]
    return found


def failed(summary: dict[str, Any]) -> float:
    """Codewords that were not decoded, in reads of the host and in the background."""
    reads = summary["codeword_reads"]
    found: float = reads["uncorrectable"] + reads["uncorrectable_in_background"]
    return found


def _each_cycle(summary: dict[str, Any]) -> float:
    """Bytes that the host wrote for each byte of flash and each erase."""
    return _written(summary) / _erases(summary)


def _to_the_end(plan: Plan, of: Living, summary: dict[str, Any]) -> float:
    """Data written, and data that the last rate would write in the remaining erases, in bytes for each byte of
    flash.
    """
    left = of.to_erases(of.rates[-1], plan) - _erases(summary)
    each = units(of.rates[-1]) * UNIT / CODEWORD / summary["writes_detail"]["write_amplification"]
    found: float = _written(summary) + left * each
    return found


def gain(plan: Plan, runs: Runs, living: Living) -> Number:
    """The data written in a life over that of the better of two single rates, each to the end of its last rate."""

    def lifetime(of: Living) -> list[float]:
        return by_seed(runs, runs_of(plan, of), lambda summary: _to_the_end(plan, of, summary))

    best = max((lifetime(replace(single, lanes=living.lanes)) for single in SINGLE), key=fmean)
    return Number.ratio(lifetime(living), best)


def _measure(plan: Plan, runs: Runs) -> Measured:
    rows, told = [], []
    for living in _EVERY:
        cases = runs_of(plan, living)
        for bar, of in (("mean", "mean_us"), ("p99", "p99_us")):
            number = Number.of([float(runs[case]["response"]["read"][of]) for case in cases])
            rows.append(
                {"group": living.label.replace(", ", "\n", 1), "bar": bar, "value": number.value}
                | {"lo": number.lo, "hi": number.hi}
            )
        first = runs[cases[0]]
        codes, links = first["code_rates"], first["interconnect"]
        switched = f"{codes['to_stronger']:,} and {codes['to_weaker']:,}" if codes["to_stronger"] is not None else "-"
        told.append(
            [
                living.label,
                f"{_written(first):.1f}",
                f"{_erases(first):.1f} of {living.to_erases(living.rates[-1], plan)}",
                " ".join(str(count) for count in codes["blocks"]),
                switched,
                f"{first['writes_detail']['write_amplification']:.2f}",
                f"{failed(first):,.0f}",
                f"{fmean(by_seed(runs, cases, mean)):.0f}, {fmean(by_seed(runs, cases, p99)):.0f}",
                f"{as_share(first['utilisation']['decoder'], 0)}, {as_share(links['link_from_ssds'], 1)}"
                if links
                else as_share(first["utilisation"]["decoder"], 0),
            ]
        )
    heads = ["", "written", "erases", "blocks by rate at the end", "to stronger, to weaker", "WA", "not decoded"]
    heads += ["read, us: mean, p99", "decoders (and links) busy"]
    note = (
        f"{SSDS} SSDs of {CHANNELS_PER_SSD} channels of a chip of {BLOCKS} blocks of {PAGES} pages of two codewords. "
        f"An erase stands for {cycles_per_erase(plan):,} P/E cycles, by the same power law; the user has "
        f"{as_plain_share(CAPACITY)} of the flash for life, and overwrites it with {REQUESTS_PER_S:,.0f} requests of 4 "
        f"KiB a second, half of them reads; blocks differ ({as_plain_share(BLOCK_SIGMA)} in RBER); an iteration takes "
        f"{ITERATION_US:g} us. Each life is run for {as_plain_share(USED)} of what it could write without write "
        "amplification. All have as many decoders and encoders as one another.\n\n" + markdown_table(heads, told)
    )
    return Measured(pl.DataFrame(rows), _evidence(plan, runs), (note,))


def _evidence(plan: Plan, runs: Runs) -> dict[str, Evidence]:
    def tail(above: Living, below: Living) -> Number:
        return Number.ratio(*(by_seed(runs, runs_of(plan, living), p99) for living in (above, below)))

    others = (*OBSERVED, LINKED)
    gains = {living.label: gain(plan, runs, living) for living in others}
    undecoded = [f"{failed(runs[runs_of(plan, living)[0]]):,.0f} ({living.label})" for living in (PLANNED, *OBSERVED)]
    pooled, first = tail(DEDICATED, PLANNED), tail(FIRST, PLANNED)
    each = {
        living.label: Number.ratio(
            by_seed(runs, runs_of(plan, living), _each_cycle), by_seed(runs, runs_of(plan, PLANNED), _each_cycle)
        )
        for living in OBSERVED
    }
    farthest = max(each.values(), key=lambda number: abs(number.value - 1))
    met: dict[str, Any] = {"in_all": pooled.lo > 1, "in_mean": pooled.value > 1}
    return {
        "life_gain": Evidence(
            gain(plan, runs, PLANNED),
            "In a run the user's capacity stays, and what a weak code leaves beyond it lowers write amplification; at "
            "the last rates it is high.",
            under={name: Evidence(number) for name, number in gains.items()},
        ),
        "life_observed": Evidence(
            farthest,
            "What blocks do by what is observed of them over what they do by P/E cycles, in bytes for each erase; the "
            f"farther of two. Codewords that were not decoded: {listed(undecoded)}"
            ". Limits are what codes show at three quarters of the raw bit error rate that they are made for, as a "
            "block is looked at once for each erase.",
        ),
        "life_pool_p99": Evidence(
            pooled,
            "The 99th percentile of reads over a whole life with a decoder in each SSD, over that with a pool of as "
            "many: reads also wait for programs and erases of their chip, which no pool shortens.",
            **met,
        ),
        "life_host_first": Evidence(
            first,
            "The same with decoders and encoders that take what the host waits for before collection, over first come, "
            "first served.",
            in_all=first.hi < 1,
            in_mean=first.value < 1,
        ),
    }


def _draw(frame: pl.DataFrame) -> Sheet:
    colours = {"mean": "#0072b2", "p99": "#e69f00"}
    return bar_sheet(frame, "A life under load: response of reads", "us", colours=colours, digits=0, line=None)


FIGURES = (
    Figure(
        "life",
        "A life under load: mean and 99th percentile of reads",
        _measure,
        _draw,
        _cases,
    ),
)

CLAIMS = (
    Claim(
        "life_gain",
        "life",
        "adaptive rates over the better of two single rates, in runs through all stages, by the printed endurances",
        printed().over_best,
        no_effect=1.0,
        kind="invented workload",
    ),
    Claim(
        "life_observed",
        "life",
        f"{ADAPTIVE} rates that follow iterations or errors write as much as those by P/E cycles (not in the paper)",
        1.0,
        kind="invented workload",
    ),
    Claim(
        "life_pool_p99",
        "life",
        "a pool lowers the 99th percentile of reads (1 in each SSD over a pool, a whole life)",
        rule="order",
        kind="invented workload",
    ),
    Claim(
        "life_host_first",
        "life",
        "decoders that serve the host first lower the 99th percentile of reads (not in the paper)",
        rule="order",
        kind="invented workload",
    ),
)
