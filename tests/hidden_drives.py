"""Drives drawn at random, whose configs a fit does not see: what it has to find, and logs of their reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import softsense
from softsense import fit

BUS_US, DECODE_US = 20.0, 10.0


@dataclass(frozen=True)
class Hidden:
    """A drive: its config, and the true values of what a log tells, by the names of `fit.claims`."""

    config: softsense.Config
    truth: dict[str, float]


def draw(seed: int) -> Hidden:
    """A drive with two to four page types, and mostly with hits, retries and pauses."""
    random = np.random.default_rng([26, seed])
    types = int(random.integers(2, 5))
    overhead = random.uniform(20, 60)
    sense = random.uniform(60, 110) + np.concatenate([[0], np.cumsum(random.uniform(14, 60, types - 1))])
    jitter, sigma = random.uniform(0.8, 1.3), random.uniform(1.4, 4.0, types)
    tail = random.uniform(0.6, 3.0)
    hit = random.uniform(0.005, 0.05) if random.random() < 0.7 else 0.0
    base = overhead + sense + BUS_US + DECODE_US
    truth = {"tail_us": tail}
    for k in range(types):
        truth[f"page_types[{k}].base_us"] = base[k]
        truth[f"page_types[{k}].share"] = 1 / types
        truth[f"page_types[{k}].sigma_us"] = sigma[k]
        if k:
            truth[f"page_types[{k}].sense_more_us"] = sense[k] - sense[0]
    if hit:
        truth |= {"hits.at_us": overhead + 1.0, "hits.share": hit, "hits.sigma_us": jitter}
    p_fail, step = [0.0], 0.0
    if random.random() < 0.8:
        step = random.uniform(30, 110)
        first, again = np.exp(random.uniform(np.log(0.004), np.log(0.15))), random.uniform(0.1, 0.5, 2)
        p_fail = [float(x) for x in np.cumprod([first, again[0], *[again[1]] * 4])]
        truth |= {
            "retry.step_us": step,
            "retry.p_first": first,
            "retry.p_second": again[0],
            "retry.p_further": again[1],
        }
    pauses = 0.0
    waits = f"{{ share = 1.0, normal_us = {jitter}, exponential_us = {tail} }}"
    if random.random() < 0.5:
        pauses, mean = np.exp(random.uniform(np.log(5e-4), np.log(5e-3))), random.uniform(80, 300)
        truth |= {"pauses.share": pauses, "pauses.mean_us": mean}
        waits = (
            f"{{ share = {1 - pauses}, normal_us = {jitter}, exponential_us = {tail} }}, "
            f"{{ share = {pauses}, normal_us = {jitter}, exponential_us = {mean} }}"
        )
    pages = "".join(
        f"[[flash.page_types]]\nsense_us = {sense[k]}\nsense_extra_level_us = {max(0.0, step - DECODE_US)}\n"
        f"sense_spread = [{{ share = 1.0, normal_us = {np.sqrt(sigma[k] ** 2 - jitter**2)} }}]\n"
        for k in range(types)
    )
    text = f"""
seed = {seed + 1}
[geometry]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 256
pages_per_block = 1200
codewords_per_page = 1
codeword_bytes = 16384
{pages}
[bus]
transfer_us = {BUS_US}
transfer_extra_level_us = 0.0
[decoder]
time.fixed_us = {DECODE_US}
[reliability.fixed]
p_fail = {[*p_fail, 0.0] if len(p_fail) == 6 else [0.0]}
[read]
policy = "progressive"
retry = "incremental"
max_level = {7 if len(p_fail) == 6 else 1}
[host]
issue.closed_loop.queue_depth = 1
controller_memory_us = 1.0
[host.service]
overhead_us = {overhead}
hit_fraction = {hit}
spread = [{waits}]
[workload]
requests = 100_000
read_fraction = 1.0
sizes = [{{ bytes = 16384, share = 1.0 }}]
addresses = "uniform"
align_bytes = 16384
arrivals = "immediate"
"""
    return Hidden(softsense.Config.from_toml(text, f"hidden-{seed}.toml"), {k: float(v) for k, v in truth.items()})


def latencies_ns(config: softsense.Config, reads: int) -> np.ndarray:
    """Of so many reads."""
    result = softsense.run(config, overrides=[f"workload.requests={reads}"], log_requests=True)
    assert result.requests is not None
    return result.requests["response_ns"].to_numpy()


def write_fio_log(path: Path, ns: np.ndarray, kind: int = 0, size: int = 16384) -> Path:
    """As `write_lat_log` does, of one read after another."""
    lines = (
        f"{ms}, {int(each)}, {kind}, {size}, 0, 0"
        for ms, each in zip(np.cumsum(ns, dtype=np.int64) // 10**6, ns, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def judged(fitted: fit.Fit, truth: dict[str, float]) -> tuple[int, int, list[str]]:
    """How many parameters are claimed, how many of them have the truth in their intervals, and which do not."""
    claimed = [claim for claim in fit.claims(fitted) if claim.is_told]
    missed = [
        f"{c.name} {c.median:.4g} ({c.low:.4g} to {c.high:.4g}), true {truth.get(c.name, float('nan')):.4g}"
        for c in claimed
        if not c.low <= truth.get(c.name, np.nan) <= c.high
    ]
    return len(claimed), len(claimed) - len(missed), missed
