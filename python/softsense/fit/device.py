"""A device config from fitted parameters, and from assumptions where the fit says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softsense._core import Config, ConfigError
from softsense.fit.model import SENSED, STEPS, Parameters, overhead_us, page_types

if TYPE_CHECKING:
    from softsense.fit.drive import Fit

MOST_SLOTS = 16
"""The largest number of page types of a device."""

_USUAL_BYTES = 16_384
_BUS_BYTES_PER_US = 800.0
_DECODE_BYTES_PER_US = 1638.4
_MEMORY_US = 1.0
_LEAST_SENSE_US = 10.0
_GROUP_SHARE = 0.01
_SEEN_SHARE = 0.01
_BUSY_PARTS = 16
_BUSY_SIGMA = 0.5
"""Standard deviation of each part of the wait, as a share of its width: such normal distributions add up to a level
density, to 1.5 %.
"""


@dataclass(frozen=True)
class Times:
    """The division of the sums that a log tells. Only the sums are known; the division is assumed.

    Attributes:
        overhead_us, memory_us, transfer_us, decode_us: parts of each read.
        link_us: time of each read on the link; 0 where no link is given.
        jitter_us: standard deviation that all reads have in common: that of the narrowest peak with 1 % of the reads.
        divides: the division in words.
    """

    overhead_us: float
    memory_us: float
    transfer_us: float
    decode_us: float
    link_us: float
    jitter_us: float
    divides: str


def divided(fit: Fit, p: Parameters) -> Times:
    """The times of a config, into which the fitted sums are divided.

    A hit is overhead, 1 us of memory and the link. A page takes a bus of 800 MB/s and a decoder of 13 Gb/s, but at
    most half of the time that is left. Raises `ConfigError` for a link that is slower than the fastest reads.
    """
    read_bytes = fit.log.read_bytes or _USUAL_BYTES
    # The least over minor peaks, too: a read faster than overhead, transfer and decode together cannot be simulated.
    least = min(float(p.at_us[k]) for k in range(int(fit.structure.hit), fit.structure.peaks))
    memory = _MEMORY_US
    link = fit.link.crossing_us(read_bytes) if fit.link else 0.0
    first = float(p.at_us[0])
    if fit.link and link + memory > first:
        raise ConfigError(
            f"--link: found {fit.link.name}, which takes {link:.1f} us to transfer {read_bytes:,} bytes, expected "
            f"a faster link: the fastest reads of the log take {first:.1f} us in all"
        )
    jitter = float(np.min(p.sigma_us[p.share >= _SEEN_SHARE]))
    if fit.structure.hit:
        overhead, how = (
            max(0.0, float(p.at_us[0]) - memory - link),
            f"hits say overhead + memory{' + link' if link else ''}, of which memory is 1 us [assumed]",
        )
    else:
        overhead, how = overhead_us(fit.structure, p), "overhead is assumed: no read was a hit"
    transfer, decode = read_bytes / _BUS_BYTES_PER_US, read_bytes / _DECODE_BYTES_PER_US
    # Transfer and decode take at most half of the time; sensing takes the rest.
    room = max(least - overhead - link - _LEAST_SENSE_US, 0.0)
    scale = min(1.0, (1 - SENSED) * room / (transfer + decode))
    return Times(overhead, memory, transfer * scale, decode * scale, link, jitter, how)


def slots(shares: np.ndarray, groups: list[list[int]]) -> list[list[tuple[int, float]]]:
    """Page types of equal frequency that together have the peaks in their shares.

    A device has pages of all types equally often, and 16 types at most. The number of types is the first that gives
    each group of peaks its share to 1 %, or the nearest. Where a group is no whole number of types, a type has pages of
    two groups.

    Args:
        shares: share of the reads of each peak.
        groups: peaks that belong together, a page type with its minor peaks, in order of time.

    Returns for each type its peaks and their shares within it, which add up to 1.
    """
    weights = np.array([shares[group].sum() for group in groups])
    weights = weights / weights.sum()
    errors = {n: float(np.abs(np.round(weights * n) / n - weights).max()) for n in range(len(groups), MOST_SLOTS + 1)}
    count = next((n for n, error in errors.items() if error < _GROUP_SHARE), min(errors, key=errors.__getitem__))
    total = float(shares[[k for group in groups for k in group]].sum())
    waiting = [[k, float(shares[k]) / total * count] for group in groups for k in group]
    found: list[list[tuple[int, float]]] = []
    for _ in range(count):
        room, slot = 1.0, []
        while room > 1e-9 and waiting:
            taken = min(room, waiting[0][1])
            slot.append((int(waiting[0][0]), taken))
            room -= taken
            waiting[0][1] -= taken
            if waiting[0][1] <= 1e-9:
                waiting.pop(0)
        whole = sum(share for _, share in slot)
        found.append([(k, share / whole) for k, share in slot if share > 1e-6])
    return found


def config_toml(
    fit: Fit, of_round: float | None = None, parameters: Parameters | None = None, dies: int | None = None
) -> str:
    """The config, as TOML with comments.

    Args:
        fit: the fit of the log.
        of_round: number of the round whose drive the config describes; default: the drive of all rounds together.
        parameters: parameters in place of the most probable ones, such as a sample of the posterior.
        dies: dies that serve reads at once, each on its own channel; default: 8 on 4 channels, as only a
            deep log tells how many.
    """
    p = fit.parameters(of_round) if parameters is None else parameters
    s, times = fit.structure, divided(fit, p)
    read_bytes = fit.log.read_bytes or _USUAL_BYTES
    types = page_types(s, p)
    groups: list[list[int]] = [[k] for k in types]
    for k in range(int(s.hit), s.peaks):
        if k not in types:
            nearest = int(np.argmin([abs(p.at_us[k] - p.at_us[each]) for each in types]))
            groups[nearest].append(k)
    layout = slots(p.share, groups)
    spent = times.overhead_us + times.transfer_us + times.decode_us + times.link_us
    step = float(p.step_us) if s.ladder else 0.0
    decode = min(times.decode_us, step) if s.ladder else times.decode_us
    # A retry decodes again. Where a decode would take longer than the whole step, the transfer gets the excess.
    transfer = times.transfer_us + times.decode_us - decode
    lines = [
        f"# A drive as `softsense fit` sees it in {fit.log.source}"
        + ("." if of_round is None else f", round {of_round:g}."),
        "# Known are sums and differences of times, shares, retries and spreads; how sums are divided, the "
        "geometry and what writes",
        f"# take are assumed [assumed]: {times.divides}. Times in us.",
        "",
        "seed = 1",
        "",
        f"[geometry]                          # [assumed] 16 GiB{'' if dies else ' on 8 dies'}",
        f"channels = {dies}                        # dies that serve reads at once, by --deep-log"
        if dies
        else "channels = 4",
        f"chips_per_channel = {1 if dies else 2}",
        "dies_per_chip = 1",
        "planes_per_die = 1",
        f"blocks_per_plane = {max(64, round_up(17_179_869_184, read_bytes * (dies or 8) * 48 * len(layout)))}",
        f"pages_per_block = {48 * len(layout)}",
        "codewords_per_page = 1",
        f"codeword_bytes = {read_bytes}",
        "",
        "[flash]",
        'busy_unit = "die"                   # [assumed]',
        "",
    ]
    for slot in layout:
        # A peak earlier than the fixed parts of a read is moved to their sum: such reads are rare, and no hits.
        at = {k: max(float(p.at_us[k]), spent) for k, _ in slot}
        first = min(at.values())
        largest = max(slot, key=lambda each: each[1])[0]
        name = next((f"type {i + 1}" for i, group in enumerate(groups) if largest in group), "page")
        parts = [
            f"{{ share = {share:.6f}, fixed_us = {at[k] - first:.4g}, "
            f"normal_us = {np.sqrt(max(0.0, float(p.sigma_us[k]) ** 2 - times.jitter_us**2)):.4g} }}"
            for k, share in _adding_up(slot)
        ]
        lines += [
            "[[flash.page_types]]",
            f'name = "{name}"',
            f"sense_us = {first - spent:.4f}",
            f"sense_extra_level_us = {max(0.0, step - decode):.4f}",
            "sense_spread = [",
            *(f"    {part}," for part in parts),
            "]",
            "program_us = 1000.0                 # [assumed]",
            "",
        ]
    retry = [float(x) for x in np.cumprod([p.p_retry[min(i, 2)] for i in range(STEPS)])] if s.ladder else []
    service = _service(fit, p, times.jitter_us)
    lines += [
        "[bus]",
        f"transfer_us = {transfer:.4f}               # [assumed]; with sensing and decode the sum is known",
        "transfer_extra_level_us = 0.0",
        "",
        "[decoder]",
        f"time.fixed_us = {decode:.4f}             # [assumed], as the transfer",
        "",
        *(
            [
                "[reliability.fixed]                 # retries: known",
                f"p_fail = [{', '.join(f'{x:.6g}' for x in retry)}, 0.0]",
            ]
            if retry
            else ["[reliability]                       # no retries were seen", "fixed.p_fail = [0.0]"]
        ),
        "",
        "[read]",
        'policy = "progressive"',
        'retry = "incremental"',
        f"max_level = {7 if retry else 1}",
        "",
        "[host]",
        "issue.closed_loop.queue_depth = 1",
        f"controller_memory_us = {times.memory_us:g}",
        *([f"link.speed.bandwidth_gb_per_s = {fit.link.gb_per_s:g}    # {fit.link.name}"] if fit.link else []),
        "",
        "[host.service]",
        f"overhead_us = {max(0.0, times.overhead_us + fit.shift_us(of_round)):.4f}",
        f"hit_fraction = {float(p.share[0]) if s.hit else 0.0:.6g}",
        "spread = [",
        *(f"    {part}," for part in service),
        "]",
        "",
        "[precondition]",
        'layout = "sequential"',
        "",
        "[workload]                          # what the log was of: reads anywhere, one at a time",
        "requests = 200_000",
        "read_fraction = 1.0",
        f"sizes = [{{ bytes = {read_bytes}, share = 1.0 }}]",
        'addresses = "uniform"',
        f"align_bytes = {read_bytes}",
        'arrivals = "immediate"',
        "",
    ]
    return "\n".join(lines)


def _service(fit: Fit, p: Parameters, jitter_us: float) -> list[str]:
    """Parts of the spread of all reads, as lines of TOML. The wait for the rest of an operation is sixteen parts of
    equal width.
    """
    s, part_us = fit.structure, float(p.busy_us) / _BUSY_PARTS
    waits: list[tuple[float, float, float, float]] = []
    if s.slow:
        waits.append((float(p.slow_share), 0.0, jitter_us, float(p.slow_us)))
    if s.pauses:
        waits.append((float(p.pause_share), 0.0, jitter_us, float(p.pause_us)))
    if s.busy:
        spread = float(np.hypot(jitter_us, part_us * _BUSY_SIGMA))
        waits += [(float(p.busy_share) / _BUSY_PARTS, (i + 0.5) * part_us, spread, 0.0) for i in range(_BUSY_PARTS)]
    waits.insert(0, (1 - sum(share for share, *_ in waits), 0.0, jitter_us, float(p.tail_us)))
    if s.late:
        late, by_us = float(p.late_share), float(p.late_us)
        waits = [(each[0] * (1 - late), *each[1:]) for each in waits] + [
            (share * late, fixed + by_us, normal, mean) for share, fixed, normal, mean in waits
        ]
    rest = 1 - sum(float(f"{share:.8f}") for share, *_ in waits[1:])
    return [
        f"{{ share = {share:.8f}, {f'fixed_us = {fixed:.4g}, ' if fixed else ''}normal_us = {normal:.4g}, "
        f"exponential_us = {mean:.4g} }}"
        for share, fixed, normal, mean in [(rest, *waits[0][1:]), *waits[1:]]
    ]


def _adding_up(slot: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Shares of six digits whose sum is 1: the largest share absorbs the rounding error."""
    rounded = [(k, float(f"{share:.6f}")) for k, share in slot]
    lost = 1 - sum(share for _, share in rounded)
    largest = max(range(len(slot)), key=lambda i: slot[i][1])
    return [(k, share + lost) if i == largest else (k, share) for i, (k, share) in enumerate(rounded)]


def round_up(whole: int, part: int) -> int:
    """The number of parts that cover a whole."""
    return -(-whole // part)


def config(fit: Fit, of_round: float | None = None) -> Config:
    """The config, parsed and checked."""
    return Config.from_toml(config_toml(fit, of_round), "fitted.toml")
