"""LaLDPC (Y. Du et al., MSST 2017): its figures, tables and claims, measured.

The paper's machine is `configs/mlc-laldpc.toml` with packages that do one operation at a time (`methods.SERIAL`). Our
machine is that configuration unchanged. The paper leaves details open; `assumed` and `setups` vary them.
"""

from __future__ import annotations

from softsense.papers import Paper, shown
from softsense.papers.elsewhere import Headline, on_workload, techniques_of
from softsense.papers.laldpc import (
    assumed,
    collection,
    equation,
    excerpts,
    hits,
    levels,
    methods,
    reads,
    sensitivity,
    setups,
    tables,
)
from softsense.papers.laldpc.published import DEVICE, INPUTS, MIB, PUBLISHED
from softsense.papers.laldpc.workloads import plan

_PRINTED = methods.methods(cache_bytes=PUBLISHED["mapping_cache_mb"] * MIB)
_ELSEWHERE = Headline(
    "levels remembered in the mapping cache make reads faster than those of LDPC-in-SSD",
    techniques_of(_PRINTED.base, _PRINTED.new),
    on_workload("prn0", methods.MAIN.base, methods.MAIN.new),
    "serial packages, prn0",
    DEVICE,
    note=f"The mapping cache has the printed {PUBLISHED['mapping_cache_mb']} MB, as that of a drive without DRAM has; "
    "references are the drive's.",
)

PAPER = Paper(
    name="laldpc",
    title="LaLDPC, reproduced",
    published="Y. Du, D. Zou, Q. Li, L. Shi, H. Jin, C. J. Xue, LaLDPC: Latency-aware LDPC for Read Performance "
    "Improvement of Solid State Drives, MSST 2017",
    config=DEVICE,
    intro="The plotted values of the paper's figures are not in its text, so claims are those of its prose and tables. "
    "The device is `configs/mlc-laldpc.toml`: table I's times, table II's levels, data a year old after 10,000 P/E "
    "cycles, and a map in flash with a mapping cache of 64 KB, where the paper prints 64 MB. The paper's machine is "
    "that with packages as DiskSim's SSD extension has them: one operation at a time, first come first served, no "
    "cache register, and 2,048 blocks in each plane, which make the printed 32 GB. Most of "
    "its traces are not to be had. A stand-in has the published number of sectors read and written, eight to a "
    "request, their share of reads, mean rate (Poisson), and share of reads that need soft sensing, as reads of what "
    "the workload wrote before need none. Assumed are its addresses: Zipf with an exponent of 0.9, writes over 1 GiB, "
    "reads of old data over 4 GiB. Figures `assumed` and `setups` have others, and claims span them.",
    plan=plan,
    figures=(
        *tables.FIGURES,
        *levels.FIGURES,
        *hits.FIGURES,
        *reads.FIGURES,
        *sensitivity.FIGURES,
        *collection.FIGURES,
        *equation.FIGURES,
        *excerpts.FIGURES,
        *assumed.FIGURES,
        *setups.FIGURES,
        _ELSEWHERE.figure,
    ),
    claims=(
        *tables.CLAIMS,
        *levels.CLAIMS,
        *hits.CLAIMS,
        *reads.CLAIMS,
        *sensitivity.CLAIMS,
        *collection.CLAIMS,
        *equation.CLAIMS,
        *excerpts.CLAIMS,
    ),
    inputs=INPUTS,
    headline=lambda found: (
        f"LaLDPC-new removes {shown(found['retries_removed']['measured'], '%')} of redundant retries (56 % "
        f"published) and saves {shown(found['read_gain']['measured'], '%')} of flash read latency (18 %) and "
        f"{shown(found['system_response_gain']['measured'], '%')} of system response (24 %); the exponent of "
        "addresses, which is assumed, moves the first from hardly anything to more than is published, and the last "
        "takes waiting."
    ),
)
