"""The devices of the paper, and the codes that are compared on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from softsense._core import Config
from softsense.base import inline
from softsense.papers import (
    Workload,
)
from softsense.papers.comparing import (
    Arm,
)
from softsense.papers.lae_ftl.published import CONFIG, POLICY, PUBLISHED, UNIT
from softsense.papers.lae_ftl.units import (
    AGES,
    FOR_LIFE,
    RBER,
    SEGMENTS,
    UNSQUEEZED,
    WORST_CASE,
    UnitCode,
    bch_of,
    constant,
)


@cache
def shipped() -> dict[str, Any]:
    """The fields of the shipped config."""
    fields: dict[str, Any] = Config.open(CONFIG).fields
    return fields


def over_provisioning() -> float:
    """Over-provisioning of the shipped device, unsqueezed; the paper does not give it."""
    return float(shipped()["ftl"]["over_provisioning"])


@dataclass(frozen=True)
class Device:
    """A size of device: channels, dies of each channel, and bytes of the user."""

    channels: int
    dies_per_channel: int
    user_bytes: int

    @staticmethod
    def of(published: Mapping[str, Any]) -> Device:
        """The device with the paper's numbers."""
        user_bytes = round(1e9 * published["capacity_gb"])
        return Device(published["channels"], published["dies_per_channel"], user_bytes)

    @property
    def dies(self) -> int:
        """Number of dies of all channels."""
        return self.channels * self.dies_per_channel

    def overrides(self, share: float | None = None) -> tuple[str, ...]:
        """Overrides that give this device, with over-provisioning `share` where nothing is squeezed; default: the
        shipped one.
        """
        share = over_provisioning() if share is None else share
        block_bytes = UNIT * UNSQUEEZED.units_per_block
        blocks = round(self.user_bytes / (1 - share) / block_bytes / self.dies)
        return (
            f"geometry.channels={self.channels}",
            f"geometry.dies_per_chip={self.dies_per_channel}",
            f"geometry.blocks_per_plane={blocks}",
            f"ftl.over_provisioning={share}",
        )


def at_the_next_chip(device: Device) -> str:
    """The override with which units that the end of a page cuts go on at the chip of the next channel.

    Blocks of one die of each channel are written in turn, page by page, and collected together.
    """
    return f"ftl.interleaving={inline({'ways': device.channels, 'groups': 'none'})}"


SMALL, LARGE = (Device.of(PUBLISHED["devices"][name]) for name in ("small", "large"))


def sizes() -> tuple[Device, Device]:
    """The small and the large device."""
    return SMALL, LARGE


def device_of(workload: Workload) -> Device:
    """The device on which the paper runs a workload."""
    return SMALL if workload.name in PUBLISHED["devices"]["small"]["traces"] else LARGE


def fixed(code: UnitCode, rber: float, *overrides: str, label: str = "", exact: bool = False) -> Arm:
    """A device with one code for life."""
    return Arm(label or code.label, POLICY, (bch_of({code: FOR_LIFE}, constant(rber), exact), *overrides))


def baseline(segment: int, *overrides: str) -> Arm:
    """The worst-case code at the rate of a segment."""
    return fixed(WORST_CASE, RBER[segment], *overrides, label="worst case")


def adaptive(segment: int, *overrides: str) -> Arm:
    """The shipped device in the middle of a segment of its early stage."""
    aged = f"reliability.bch.rber={inline(constant(RBER[segment]))}", f"precondition.pe_cycles={AGES[segment]}"
    return Arm(SEGMENTS[segment].label, POLICY, (*aged, *overrides))


def squeezed(code: UnitCode, share: float | None = None, *overrides: str) -> Arm:
    """A device whose user keeps the capacity of the unsqueezed one, which has over-provisioning `share`.

    All are read at the rate of the last early segment, which every code of them corrects.
    """
    share = over_provisioning() if share is None else share
    left = 1 - (1 - share) * UNSQUEEZED.units_per_block / code.units_per_block
    # Equal watermarks: free blocks beyond the low one, by which the start differs from the steady state, would count.
    at_once = f"ftl.gc_low_watermark_blocks={shipped()['ftl']['gc_high_watermark_blocks']}"
    return fixed(code, RBER[-1], f"ftl.over_provisioning={left}", at_once, *overrides, label=code.unit)
