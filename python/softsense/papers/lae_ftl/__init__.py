"""LAE-FTL (S. Wang et al., 2017): BCH codes that grow as flash wears; its codes, figures and claims, measured.

The device is that of the paper's section IV, `configs/mlc-lae.toml`. The report names the assumptions that the paper
leaves open, and the stand-ins for workloads that are not available. Each module has a figure, or a group of them, with
its claims.
"""

from collections.abc import Mapping
from typing import Any

from softsense.formats import as_share
from softsense.papers import Paper
from softsense.papers.lae_ftl import (
    assumed,
    decoding,
    early_reads,
    failing,
    least_parity,
    life,
    lone,
    oob,
    parallel,
    region,
    squeezing,
    stages,
)
from softsense.papers.lae_ftl.published import CONFIG, PUBLISHED, TRACES, wear
from softsense.papers.lae_ftl.workloads import plan_of

__all__ = ["PAPER", "PUBLISHED", "TRACES", "wear"]

_MODULES = (
    least_parity,
    decoding,
    early_reads,
    parallel,
    squeezing,
    oob,
    lone,
    failing,
    life,
    stages,
    assumed,
    region,
)

_INPUTS = {
    "geometry.page_bytes": "two units of `mlc-lae: geometry.codeword_bytes`",
    "geometry.unit_bytes": "mlc-lae: geometry.codeword_bytes",
    "geometry.oob_bytes_per_unit": "mlc-lae: reliability.bch.oob_bytes",
    "geometry.pages_per_block": "mlc-lae: geometry.pages_per_block",
    "timing_us.read": "mlc-lae: flash.page_types[0].sense_us",
    "timing_us.program": "mlc-lae: flash.page_types[0].program_us",
    "timing_us.erase": "mlc-lae: flash.erase_us",
    "segment[0].codeword_bytes": "mlc-lae: reliability.bch.codes[0].codeword_bytes",
    "segment[1].codeword_bytes": "mlc-lae: reliability.bch.codes[1].codeword_bytes",
    "segment[2].codeword_bytes": "mlc-lae: reliability.bch.codes[2].codeword_bytes",
    "segment[3].codeword_bytes": "mlc-lae: reliability.bch.codes[3].codeword_bytes",
    **{f"segment[{i}].k": "eight bits for each of the bytes of a codeword" for i in range(4)},
    **{f"segment[{i}].rber": "the rate at which figure 6a reads the segment" for i in range(4)},
    **{f"segment[{i}].pe_cycles": "a point of the laws of wear, of figure 1" for i in range(3)},
    "baseline_code.n": "the baseline here has 4,096 bytes of data a codeword, the paper's four more",
    "baseline_code.k": "the baseline here has 4,096 bytes of data a codeword, the paper's four more",
    "devices.small.capacity_gb": "what `mlc-lae` leaves the user",
    "devices.small.channels": "mlc-lae: geometry.channels",
    "devices.small.dies_per_channel": "mlc-lae: geometry.dies_per_chip",
    "devices.small.traces": "workloads on the small device",
    "devices.large.capacity_gb": "the capacity of the large device",
    "devices.large.channels": "the channels of the large device",
    "devices.large.dies_per_channel": "the dies of the large device",
    "devices.large.traces": "workloads on the large device",
    "devices.ecc_engines_per_channel": "mlc-lae: decoder.placement.per_channel",
}


def _headline(claims: Mapping[str, Mapping[str, Any]]) -> str:
    gains = [claims[f"gain_{name}"]["measured"] for name in ("F1", "F2", "MSR-src", "MSR-ts")]
    told = ", ".join(f"{100 * float(str(gain)):.0f}" for gain in gains)
    late = claims["amplification_3584"]
    room, collects = (as_share(each["measured"], 0) for each in (late, late["under"][squeezing.COLLECTS]))
    return (
        f"On equal decoder hardware short codewords save {told} % of read latency on the four workloads (published 12, "
        f"23, 63 and 62 %); the smallest units cost {room} more write amplification where hardly anything is "
        f"collected, {collects} where collection carries at least a third of programs (published: at most 38 %)."
    )


PAPER = Paper(
    name="lae-ftl",
    title="LAE-FTL, reproduced",
    published="S. Wang, F. Wu, Z. Lu, Y. Zhou, Q. Xiong, M. Zhang, C. Xie, Lifetime Adaptive ECC in NAND Flash Page "
    "Management, 2017",
    config=CONFIG,
    intro="The plotted values of the paper's figures are not in its text, so claims are those of its prose. The device "
    "is `configs/mlc-lae.toml`: 8 KB pages of two units of 4 KB, 256 pages a block, 75 us, 1.2 ms and 5 ms to "
    "read, program and erase; 2 channels of 2 dies with 0.9 GB for F1 and F2, 4 of 4 with 16 GB for the MSR "
    "traces. The paper's machine has one ECC engine a channel, of the same hardware whatever the code, and a "
    "capacity by the logical space of the traces, of which only what they have to do with was written; ours, the "
    "shipped device, decodes one codeword at a time and was overwritten all over. As the first hardly collects, the "
    "costs of squeezing are measured on a machine that collects, too. Assumed, as the paper is "
    "silent: a bus of 200 MB/s, the decoder's times (figure 3), over-provisioning, buffers, and addresses, sizes "
    "and loads of the stand-ins. Figures `assumed` and `region` say how results depend on them. Units are packed "
    "across the pages of a block. The paper's N-PUN may point anywhere: figures `lone` and 6 also have units that go "
    "on at the next chip, in blocks that are collected together, so that a unit's code and its collection are defined.",
    plan=plan_of,
    figures=tuple(figure for module in _MODULES for figure in module.FIGURES),
    claims=tuple(claim for module in _MODULES for claim in module.CLAIMS),
    inputs=_INPUTS,
    headline=_headline,
    not_elsewhere="its codes are read by one hard decision, and those that save latency correct fewer errors than new "
    "pages of drives of today have at the chip's default references, and than pages in the middle of life have at the "
    "best ones",
)
