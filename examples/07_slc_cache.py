"""Why does a new drive write fast for a while, and slowly after that? Because it first writes one bit to each cell.
docs/model/slc-cache.md has the arithmetic of the picture.
"""

from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import softsense

MIB, GIB = 2**20, 2**30
# A small drive of QLC, half full, to which 32 requests are written at a time: 3 GiB, and after a pause as many again.
DRIVE = [
    *("geometry.blocks_per_plane=96", "geometry.pages_per_block=192", "host.max_outstanding=32"),
    *("precondition.layout=sequential", "precondition.mapped_fraction=0.5", "ftl.over_provisioning=0.3"),
]
CACHES = {
    "no cache": "",
    "static": "{ size = { static = { blocks = 16 } } }",
    "dynamic": "{ size = { dynamic = { most_blocks = 40 } } }",
    "static, waited for": "{ size = { static = { blocks = 16 } }, when_full = 'fold' }",
}
BURST, PAUSE_S, REQUEST = 3 * GIB, 40, 128 * 2**10

number = np.arange(2 * BURST // REQUEST)
second = number >= BURST // REQUEST
pl.DataFrame(
    {
        "arrival_ns": second * PAUSE_S * 10**9,
        "device": 0,
        "kind": "write",
        "offset_bytes": number * REQUEST,
        "bytes": REQUEST,
    }
).write_csv(Path("bursts.csv"))
trace = softsense.Trace("bursts.csv")


def bandwidth(requests: pl.DataFrame, step: int) -> tuple[list[float], list[float]]:
    """Completed bytes a second over the bytes written so far, for each `step` bytes; the pause is left out."""
    ends = (requests["arrival_ns"] + requests["response_ns"]).sort().to_numpy() * 1e-9
    per_step = step // REQUEST
    bursts = [ends[ends < PAUSE_S], ends[ends >= PAUSE_S] - PAUSE_S]
    written, rates = [], []
    for first, of_burst in enumerate(bursts):
        marks = np.concatenate([[0.0], of_burst[per_step - 1 :: per_step]])
        rates += [step / (end - start) / 1e9 for start, end in pairwise(marks)]
        written += [(first * BURST + (index + 1) * step) / GIB for index in range(len(marks) - 1)]
    return written, rates


figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
for name, cache in CACHES.items():
    overrides = [*DRIVE, f"ftl.slc_cache={cache}"] if cache else DRIVE
    result = softsense.run("qlc-3d", trace, overrides=overrides, log_requests=True)
    axes.plot(*bandwidth(result.requests, 128 * MIB), label=name, drawstyle="steps-pre")
    done = result.summary
    print(f"{name:18} write amplification {done['writes_detail']['write_amplification']:.2f}", end="")
    if found := done.get("slc_cache"):
        folded = found["folded_codewords"] * 4096 / GIB
        print(f", {found['cached_share']:.0%} of the writes cached, {folded:.2f} GiB folded")
    else:
        print()
axes.axvline(BURST / GIB, color="grey", linestyle=":")
top = (BURST / GIB, axes.get_ylim()[1])
axes.annotate(f"{PAUSE_S} s pause", top, (4, -12), textcoords="offset points", color="grey")
axes.set_title("Sequential writing, 32 requests at a time")
axes.set(xlabel="written (GiB)", ylabel="bandwidth (GB/s)", ylim=(0, None))
figure.legend(loc="outside lower center", ncols=len(CACHES))
figure.savefig("slc-cache.png", dpi=150)
print("drawn into slc-cache.png")
