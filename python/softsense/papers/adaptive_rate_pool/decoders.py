"""Decoders and their placement, devices of an age with them, and the quantities that are taken from their runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from softsense.papers import Case, Number, Plan, Runs, Workload, inline
from softsense.papers.adaptive_rate_pool.decoding import Decoding, at
from softsense.papers.adaptive_rate_pool.loads import POLICY, round_robin, scattered
from softsense.papers.adaptive_rate_pool.machine import DEVICE, WRITE_BUFFER
from softsense.papers.adaptive_rate_pool.published import (
    CHANNEL_US,
    CHANNELS,
    CODEWORD,
    GEOMETRY,
    ITERATION_US,
    RATES,
    SMALLEST_POOL,
    table_of,
)
from softsense.papers.adaptive_rate_pool.wear import PE_EXPONENT, UNIT, ages, fit, lives, reliability, units

Quantity = Callable[[dict[str, Any]], float]
"""A function that takes a quantity from a summary."""


@dataclass(frozen=True)
class Decoders:
    """Decoders: their number, and their placement, `pool`, `per_ssd` or `per_channel`."""

    count: int
    where: str = "pool"

    @property
    def label(self) -> str:
        """Name of the decoders, for people."""
        if self.where == "pool":
            return f"pool of {self.count}"
        return f"{self.each} in each {'SSD' if self.where == 'per_ssd' else 'channel'}"

    @property
    def each(self) -> int:
        """Number of decoders of an SSD, of a channel, or of the pool."""
        found: int = self.count // {"pool": 1, "per_ssd": GEOMETRY["ssds"], "per_channel": CHANNELS}[self.where]
        return found

    def bound(self, iterations: float, iteration_us: float = ITERATION_US) -> float:
        """Largest number of codewords a second that channels bring and decoders decode."""
        found: float = min(CHANNELS / CHANNEL_US, self.count / (iteration_us * iterations)) * 1e6
        return found

    def override(self, time: Mapping[str, float], **more: Any) -> str:
        """The `[decoder]` of a config."""
        return f"decoder={inline({'placement': {self.where: self.each}, 'time': dict(time), **more})}"


BYPASS = {"errors": 0, "codeword_bits": 8 * CODEWORD}
"""The bypass: codewords that are free of errors need no decoder."""
POOL, PER_SSD = Decoders(SMALLEST_POOL), Decoders(GEOMETRY["ssds"], "per_ssd")
POOLS = tuple(Decoders(count) for count in (8, 16, 32, 64))
DEDICATED = (*(Decoders(count, "per_ssd") for count in (8, 16, 32, 64)), Decoders(64, "per_channel"))


OF_CHIP, OF_DECODERS = 8, 16
BUFFERS: dict[str, tuple[tuple[str, ...], dict[str, int]]] = {
    "unbounded": ((), {}),
    "bounded": ((f"flash.unit_queue={OF_CHIP}",), {"buffer_codewords": OF_DECODERS}),
}
"""Limits of the operations that wait for a chip, and of the codewords that wait for a decoder; the paper gives none."""


def device_of(
    of: Decoding,
    decoders: Decoders,
    iteration_us: float = ITERATION_US,
    buffers: str = "unbounded",
    **decoder: Any,
) -> tuple[str, ...]:
    """A device of an age, which is read with one code only.

    Args:
        of: the code and the age.
        decoders: the decoders and their placement.
        iteration_us: duration of an iteration, us.
        buffers: one of `BUFFERS`.
        decoder: further fields of `[decoder]`, or replacements of the fields here.
    """
    of_chips, of_decoders = BUFFERS[buffers]
    return (
        reliability(table_of(of.rate), fit(), PE_EXPONENT),
        f"precondition.pe_cycles={of.pe_cycles}",
        decoders.override({"per_iteration_us": iteration_us}, **{"bypass": BYPASS, **of_decoders, **decoder}),
        *of_chips,
    )


def array_of(decoders: Decoders) -> tuple[str, ...]:
    """A device whose blocks each have the code of their age, in pages of two codewords."""
    of_page = GEOMETRY["page_bytes"] // CODEWORD
    adaptive = {
        "codewords_per_page": of_page,
        "rates": [
            {"file": table_of(rate), "units": units(rate), "to_pe_cycles": lives()[rate].endurance_pe} for rate in RATES
        ],
        "rber": {"power_law": {"scale": fit(), "pe_exponent": PE_EXPONENT}},
    }
    return (
        f"geometry.codewords_per_page={of_page * units(RATES[0])}",
        f"geometry.codeword_bytes={UNIT}",
        f"reliability={inline({'adaptive': adaptive})}",
        decoders.override({"per_iteration_us": ITERATION_US}, bypass=BYPASS),
        "host.spread=round_robin",
    )


def by_name() -> tuple[str, ...]:
    """Overrides that make the shipped `pool-array` of `CONFIG`: the judged array, with table I's blocks, a write buffer
    and an age.
    """
    blocks = f"geometry.blocks_per_plane={GEOMETRY['blocks']}"
    return (*DEVICE, *array_of(POOL), blocks, WRITE_BUFFER, "precondition.pe_cycles=8000")


def with_seeds(plan: Plan, workload: Workload, overrides: tuple[str, ...]) -> list[Case]:
    """Cases of a device on a workload, one for each seed."""
    return [Case(workload, POLICY, overrides, seed) for seed in plan.seeds]


def by_seed(runs: Runs, cases: Iterable[Case], of: Quantity) -> list[float]:
    """Values of a quantity, one for each case."""
    return [of(runs[case]) for case in cases]


def iops(summary: dict[str, Any]) -> float:
    """Codewords read per second."""
    found: float = summary["requests"] / summary["simulated_s"]
    return found


def latency(summary: dict[str, Any]) -> float:
    """The mean response of reads, us."""
    found: float = summary["response"]["read"]["mean_us"]
    return found


def farthest(numbers: Mapping[Any, Number]) -> Any:
    """Key of the number that is farthest from 1."""
    return max(numbers, key=lambda key: abs(numbers[key].value - 1))


def scaled(number: Number, by: float) -> Number:
    """A number and its interval, multiplied by `by`."""
    return Number(number.value * by, number.lo * by, number.hi * by)


def kpe(pe_cycles: float) -> str:
    """P/E cycles in thousands, as text."""
    return f"{pe_cycles / 1000:g}"


def saturated(plan: Plan, of: Decoding, decoders: Decoders, iteration_us: float = ITERATION_US) -> list[Case]:
    """Cases of reads in turn from all channels, as fast as they go."""
    return with_seeds(plan, round_robin(plan.requests), device_of(of, decoders, iteration_us))


def most_of_smallest(plan: Plan) -> float:
    """The least bound of the smallest pool over all ages, codewords a second."""
    return min(POOL.bound(at(age).load) for age in ages(plan.full))


def loaded(plan: Plan, per_s: float, overrides: tuple[str, ...]) -> list[Case]:
    """Cases of `per_s` reads a second at random places."""
    arrivals = f"workload.arrivals={inline({'poisson': {'requests_per_s': float(round(per_s))}})}"
    return with_seeds(plan, scattered(plan.requests), (arrivals, *overrides))
