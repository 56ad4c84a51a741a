"""Settings that the paper mentions and does not measure: links that take time, and writes that are encoded.

Claims of figures 6 to 10 are measured with each of these settings, too, at the oldest age.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from softsense.formats import as_plain_share
from softsense.papers import Case, Evidence, Number, Runs, inline
from softsense.papers.adaptive_rate_pool.decoders import Decoders, Quantity, by_seed
from softsense.papers.adaptive_rate_pool.machine import WRITE_BUFFER
from softsense.papers.adaptive_rate_pool.published import CODEWORD

SWITCH_GB_PER_S = 15.75
"""Bandwidth of PCIe 3.0 with 16 lanes, 10^9 bytes a second."""
LINK_LATENCY_US, SWITCH_LATENCY_US = 0.25, 0.15
ENCODE_US = 4.0
"""Time to encode a codeword, us: that of an iteration of a decoder."""
WRITE_SHARE = 0.3


@dataclass(frozen=True)
class Setting:
    """A setting: the bandwidth of the links of SSDs, or the share of requests that write."""

    name: str
    link_gb_per_s: float | None = None
    writes: float = 0.0

    def overrides(self, decoders: Decoders) -> tuple[str, ...]:
        """Overrides of a device: links matter to a pool alone, and encoders are as many as decoders, at the same
        places.
        """
        found: list[str] = []
        if self.link_gb_per_s is not None and decoders.where == "pool":
            found.append(interconnect(self.link_gb_per_s))
        if self.writes:
            encoder = {"placement": {decoders.where: decoders.each}, "time_us": ENCODE_US}
            found += [
                f"workload.read_fraction={1 - self.writes}",
                f"encoder={inline(encoder)}",
                WRITE_BUFFER,
                "precondition.layout=steady_state",
            ]
        return tuple(found)

    def of(self, cases: Iterable[Case], decoders: Decoders) -> list[Case]:
        """The cases in this setting."""
        return [replace(case, overrides=(*case.overrides, *self.overrides(decoders))) for case in cases]


def interconnect(link_gb_per_s: float) -> str:
    """The override for links of a bandwidth and the switch."""
    fields = {
        "codeword_bytes": CODEWORD,
        "ssd_link": {"bandwidth_gb_per_s": link_gb_per_s, "latency_us": LINK_LATENCY_US},
        "switch": {"bandwidth_gb_per_s": SWITCH_GB_PER_S, "latency_us": SWITCH_LATENCY_US},
    }
    return f"interconnect={inline(fields)}"


WIDE = Setting("links of 3.94 GB/s (PCIe 3.0 x4)", link_gb_per_s=3.94)
NARROW = Setting("links of 0.985 GB/s (PCIe 3.0 x1)", link_gb_per_s=0.985)
WRITES = Setting(f"{as_plain_share(WRITE_SHARE)} writes, encoders beside decoders", writes=WRITE_SHARE)
OURS = Setting(f"{as_plain_share(WRITE_SHARE)} writes and links of 3.94 GB/s", link_gb_per_s=3.94, writes=WRITE_SHARE)
"""The setting of softsense's own array, beside the paper's."""
SETTINGS = (WIDE, NARROW, WRITES, OURS)


@dataclass(frozen=True)
class Arm:
    """Cases, one for each seed, and the decoders of their device."""

    cases: tuple[Case, ...]
    decoders: Decoders


def arm(cases: Iterable[Case], decoders: Decoders) -> Arm:
    """The arm of cases of a device with the given decoders."""
    return Arm(tuple(cases), decoders)


def in_all_settings(*arms: Arm) -> list[Case]:
    """The simulations of `elsewhere`."""
    return [case for setting in SETTINGS for each in arms for case in setting.of(each.cases, each.decoders)]


def elsewhere(runs: Runs, above: Arm, below: Arm, of: Quantity, *, order: float = 0.0) -> dict[str, Any]:
    """A ratio of two arms in each setting, paired by seed, as `under` and `on_ours` of its evidence.

    Args:
        runs: simulations, with those of `in_all_settings`.
        above: arm whose quantity is the numerator.
        below: arm whose quantity is the denominator.
        of: the quantity.
        order: direction of a claimed order: 1 if the ratio has to be above 1, -1 if below, 0 for other claims.
    """
    found = {}
    for setting in SETTINGS:
        values = (by_seed(runs, setting.of(each.cases, each.decoders), of) for each in (above, below))
        number = Number.ratio(*values)
        met = order * (number.value - 1) > 0
        found[setting.name] = Evidence(number, in_all=met, in_mean=met)
    return {"on_ours": found.pop(OURS.name), "under": found}
