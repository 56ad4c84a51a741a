"""The machine of table I, as far as it is simulated."""

from __future__ import annotations

from softsense.papers import inline
from softsense.papers.adaptive_rate_pool.published import CHANNEL_US, CODEWORD, GEOMETRY, TIMES

PROGRAM_US = 1000.0
"""Time of a page program, us; the paper has no writes in its figures."""

# The simulated part of table I: reads do not depend on the number of blocks.
DEVICE = (
    "geometry="
    + inline(
        {
            "ssds": GEOMETRY["ssds"],
            "channels": GEOMETRY["channels_per_ssd"],
            "chips_per_channel": GEOMETRY["chips_per_channel"],
            "dies_per_chip": 1,
            "planes_per_die": 1,
            "blocks_per_plane": 16,
            "pages_per_block": GEOMETRY["pages_per_block"],
            "codewords_per_page": GEOMETRY["page_bytes"] // CODEWORD,
            "codeword_bytes": CODEWORD,
        }
    ),
    "flash.page_types="
    + inline([{"name": "page", "sense_us": TIMES["chip_access"] - CHANNEL_US, "program_us": PROGRAM_US}]),
    "bus=" + inline({"transfer_us": CHANNEL_US, "transfer_extra_level_us": 0.0}),
    "read.max_level=1",
    # A code of codewords of this size; cases set the rates at which they read.
    "reliability.table.file=adaptive-1-2",
    "ftl.mapping=page",
    "ftl.over_provisioning=0.5",
    "precondition.retention_days=0.0",
)
"""Overrides of the device in all simulations."""


CONFIG = "mlc-25nm"

WRITE_BUFFER = f"host.write_buffer_bytes={1024 * CODEWORD}"
"""Override of cases that write."""
