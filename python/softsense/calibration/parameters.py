"""The parameters that decide how a drive behaves under load, their priors, and the config that has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.api import load_config

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from softsense._core import Config
    from softsense.calibration.measured import Measured

_WORDLINES = 11
"""Wordlines of a block of the drive that is simulated for a fit: it comes to its steady state within 0.1 GB."""
_WATERMARK = 4
_LOAD_US = 1.0
_MB_PER_S = 1e6
_FULL = 0.95
_NEAR, _FAR = (0.9, 1.4), (1.0, 8.0)
"""Prior of the drive's rate of writes, over the highest rate that was served: for a saturated drive, and for others."""


@dataclass(frozen=True)
class Parameter:
    """A number that is fitted.

    Attributes:
        name: name of the parameter; that of a config field where it is one.
        unit: unit of the number.
        low, high: ends of the prior, which is even in the logarithm.
        about: description of the parameter.
        writes: whether only writes can tell the parameter.
    """

    name: str
    unit: str
    low: float
    high: float
    about: str
    writes: bool = False


PARAMETERS = (
    Parameter("host.service.overhead_us", "us", 0.5, 40, "firmware and host, of each request"),
    Parameter("sense_us", "us", 15, 150, "sensing, mean of the page types"),
    Parameter("sense_ratio", "", 1, 4, "sensing of the slowest page type over that of the fastest"),
    Parameter("dies", "", 4, 512, "arrays that read and program by themselves, of 16 KiB a page"),
    Parameter("bus.transfer_us", "us", 0.6, 12, "a codeword of 4 KiB on its channel"),
    Parameter("host.link.command_us", "us", 0.2, 4, "time of a command at the drive's end of the link"),
    Parameter(
        "steady_write_mb_per_s", "MB/s", 1, 1, "random writes of a full drive, as closed forms have it", writes=True
    ),
    Parameter("spare", "", 0.03, 0.6, "flash beyond the sold capacity, as a share of that capacity", writes=True),
    Parameter(
        "flash.suspend.program_us", "us", 5, 500, "from the arrival of a read until a program is suspended", writes=True
    ),
    Parameter("flash.suspend.spread", "us", 1, 400, "additional time until suspension, in the mean", writes=True),
    Parameter("flash.suspend.while_writes_wait", "", 0.02, 1, "suspensions that happen while writes wait", writes=True),
    Parameter(
        "flash.suspend.least_run_us",
        "us",
        5,
        1000,
        "time that a program runs before it is suspended again",
        writes=True,
    ),
    Parameter("host.write_buffer_bytes", "bytes", 2**18, 2**26, "the write buffer", writes=True),
    Parameter(
        "host.link.write_command_us", "us", 0.2, 20, "time of a write command at that end of the link", writes=True
    ),
    Parameter("write_pace", "", 0.85, 1.3, "pace of writes, over steady_write_mb_per_s", writes=True),
    Parameter(
        "host.write_pacing.burst_bytes",
        "bytes",
        2**10,
        2**18,
        "of writes that may run ahead of their pace",
        writes=True,
    ),
    Parameter("host.max_outstanding", "", 16, 2048, "most requests that are in the drive at once", writes=True),
)
"""All parameters."""


@dataclass(frozen=True)
class Space:
    """The parameters that measurements may tell, and the measured drive.

    Attributes:
        measured: the drive and its loads.
        parameters: the parameters in the order of a vector.
    """

    measured: Measured
    parameters: tuple[Parameter, ...]

    @staticmethod
    def of(measured: Measured) -> Space:
        """The space of the parameters, without parameters of writes where nothing was written."""
        writes = any(load.writes for load in measured.fitted)
        told = tuple(each for each in PARAMETERS if writes or not each.writes)
        return Space(measured, tuple(_ranged_by_served_rate(each, measured) for each in told))

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.parameters)

    def values(self, unit: NDArray[np.float64]) -> dict[str, float]:
        """Values of the parameters at a point of the unit cube (size,), rounded to six digits."""
        found = {
            each.name: each.low * (each.high / each.low) ** float(share)
            for each, share in zip(self.parameters, unit, strict=True)
        }
        # Rounded, as the last digits of powers differ between machines.
        return {name: float(f"{value:.6g}") for name, value in found.items()}

    def device(self, values: Mapping[str, float], *, whole: bool) -> Config:
        """The config of a drive with these parameters.

        Args:
            values: values by the names of the parameters.
            whole: whether blocks have their true size. Without it blocks have eleven wordlines, and there are as many
                blocks as before. Shares of free and spare flash are then unchanged, and a steady state is near.

        Raises:
            ConfigError: no such drive exists, such as one whose buffer is larger than its flash.
        """
        base = load_config(self.measured.base, self.measured.settings)
        told = base.fields
        return load_config(
            self.measured.base, [*self.measured.settings, *_overrides(told, self.measured, values, whole)]
        )


def _ranged_by_served_rate(parameter: Parameter, measured: Measured) -> Parameter:
    """The parameter; that of the rate of writes has its range about the highest rate that was served.

    The range is near that rate where a load saturates the drive, and goes up to eight times that rate where none does.
    """
    if parameter.name != "steady_write_mb_per_s":
        return parameter
    served = [(load.measured.get("write_iops", 0.0) * load.write_bytes, load) for load in measured.fitted]
    most = max(rate for rate, _ in served) / _MB_PER_S
    saturated = any(
        rate and (not load.reached() or load.offered_iops("write") is None) and load.filled > _FULL
        for rate, load in served
    )
    low, high = _NEAR if saturated else _FAR
    return replace(parameter, low=low * most, high=high * most)


def greedy_write_amplification(spare: float) -> float:
    """Write amplification of greedy collection under uniform random writes to a full drive.

    Args:
        spare: flash beyond what the drive sells, as a share of it.

    Source: P. Desnoyers, "Analytic models of SSD write performance", ACM Trans. Storage 10(2), 2014, eq. 13: a / (a +
    W(-a exp(-a))) with a = 1 + spare and the principal branch of Lambert's function.
    """
    a = 1 + spare
    # W = -a (1 - 1 / amplification): by iteration, as x = -a exp(-a) exp(-W) converges from 0.
    w = 0.0
    for _ in range(200):
        w = -a * math.exp(-a - w)
    return a / (a + w)


def _overrides(told: Mapping[str, Any], measured: Measured, values: Mapping[str, float], whole: bool) -> list[str]:
    """Overrides of the config `told` that give a drive with these parameters."""
    geometry, types = told["geometry"], told["flash"]["page_types"]
    channels = geometry["channels"]
    dies = max(1, round(values["dies"] / channels))
    page_bytes = geometry["codewords_per_page"] * geometry["codeword_bytes"]
    spare = values.get("spare")
    spare = told["ftl"]["over_provisioning"] / (1 - told["ftl"]["over_provisioning"]) if spare is None else spare
    pages = geometry["pages_per_block"] - geometry["pages_per_block"] % len(types)
    blocks = max(32, round(measured.user_bytes * (1 + spare) / (channels * dies * pages * page_bytes)))
    small = pages if whole else min(pages, _WORDLINES * len(types))
    fields: dict[str, float | int | str] = {
        "geometry.chips_per_channel": 1,
        "geometry.dies_per_chip": dies,
        "geometry.planes_per_die": 1,
        "geometry.blocks_per_plane": blocks,
        "geometry.pages_per_block": small,
        "ftl.over_provisioning": float(f"{spare / (1 + spare):.6g}"),
        "precondition.mapped_fraction": max(load.filled for load in measured.loads),
        # An erase takes the same share of a die's time, however small the blocks.
        "flash.erase_us": told["flash"]["erase_us"] * small / pages,
    }
    for number, sense_us in enumerate(_sensings(values, len(types))):
        fields[f"flash.page_types[{number}].sense_us"] = sense_us
    for name in ("host.service.overhead_us", "bus.transfer_us", "host.link.command_us"):
        fields[name] = values[name]
    if "steady_write_mb_per_s" in values:
        # Pages of a wordline are programmed at once: they are loaded, and the last one takes the time.
        programmed = values["steady_write_mb_per_s"] * greedy_write_amplification(spare)
        wordline_us = channels * dies * len(types) * page_bytes / programmed * 1e6 / _MB_PER_S
        for number in range(len(types)):
            last = number == len(types) - 1
            us = max(_LOAD_US, wordline_us - _LOAD_US * (len(types) - 1)) if last else _LOAD_US
            fields[f"flash.page_types[{number}].program_us"] = float(f"{us:.6g}")
        rest = values["flash.suspend.program_us"]
        least, waits = values["flash.suspend.least_run_us"], values["flash.suspend.while_writes_wait"]
        spread = f"[{{ share = 1.0, exponential_us = {values['flash.suspend.spread']!r} }}]"
        suspend = f"program_us = {rest!r}, erase_us = {rest!r}, spread = {spread}, least_run_us = {least!r}"
        fields["flash.suspend"] = f"{{ {suspend}, while_writes_wait = {waits!r}, resume_us = 10.0 }}"
        fields["host.max_outstanding"] = max(1, math.floor(values["host.max_outstanding"]))
        fields["host.link.write_command_us"] = values["host.link.write_command_us"]
        # The config's pace counts programs. Collection takes the same share of the pace as of the steady rate.
        pace = float(f"{values['write_pace'] * programmed:.6g}")
        burst = int(values["host.write_pacing.burst_bytes"])
        fields["host.write_pacing"] = f"{{ mb_per_s = {pace!r}, burst_bytes = {burst} }}"
        fields["host.write_buffer_bytes"] = int(values["host.write_buffer_bytes"]) // page_bytes * page_bytes
        fields["ftl.gc_low_watermark_blocks"] = fields["ftl.gc_high_watermark_blocks"] = _WATERMARK
    return [f"{name}={value}" for name, value in fields.items()]


def _sensings(values: Mapping[str, float], types: int) -> list[float]:
    """Sensing time of each page type, us: evenly spaced, with the given mean and ratio."""
    mean, ratio = values["sense_us"], values["sense_ratio"]
    half = (ratio - 1) / (ratio + 1) if types > 1 else 0.0
    shares: Sequence[float] = np.linspace(-half, half, types).tolist()
    return [float(f"{mean * (1 + share):.6g}") for share in shares]
