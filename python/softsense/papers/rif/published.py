"""The published numbers of RiF."""

from __future__ import annotations

from typing import Any

PUBLISHED: dict[str, Any] = {
    "device": {
        "capacity_tib": 2,
        "channels": 8,
        "dies_per_channel": 4,
        "planes_per_die": 4,
        "blocks_per_plane": 1888,
        "pages_per_block": 576,
        "page_kib": 16,
        "sense_us": 40.0,
        "program_us": 400.0,
        "erase_us": 3500.0,
        "transfer_page_us": 13.0,
        "decode_us": [1.0, 20.0],
        "predict_us": 2.5,
        "host_gb_per_s": 8.0,
    },
    "code": {
        "codeword_kib": 4,
        "base_matrix": [4, 36],
        "capability_rber": 0.0085,
        "syndrome_threshold": 3830,
        "chunk_rber_spread": 0.045,
    },
    "flash": {
        "retry_needed_after_days": {"0": 17, "200": 14, "500": 10},
        "required_retention_days": 28,
        "loss_with_one_ideal_retry": {"0": 0.194, "1000": 0.349, "2000": 0.504},
        "ali_124_mb_per_s": {"no_retry": 6026, "one_ideal_retry": 2831},
        "read_256_kib_us": {"no_retry": 252, "one_ideal_retry": 418, "rif": 292},
    },
    "claims": {
        "bandwidth_gain_2k": {"sentinel": 0.721, "swift_read": 0.612, "swift_read_tracking": 0.500},
        "bandwidth_gain_over_sentinel": {"0": 0.238, "1000": 0.474, "2000": 0.721},
        "gap_to_no_retry_2k": 0.018,
        "p9999_reduction_ali_124_2k": {"sentinel": 0.918, "swift_read": 0.826, "swift_read_tracking": 0.563},
        "prediction_accuracy": {"full": 0.991, "pruned": 0.987, "at_capability": 0.503},
        "channel_wasted_ali_124_2k": {
            "swift_read": 0.544,
            "rif_uncorrectable": 0.018,
            "controller_predictor_uncorrectable": 0.199,
        },
        "sentinel_mean_retries": 1.2,
        "area_mm2": 0.012,
        "power_mw": 1.28,
        "energy_nj": {"predict": 3.2, "transfer_saved": 907},
    },
}
"""The published numbers, by the names of `published/rif.toml`, which names methods in words."""

DEVICE = "tlc-rif"
CELLS = "tlc-charge-trap"
PE_CYCLES = 1000
REQUEST = 65_536
PAGE_CHECKS = 4
PRUNED = 1024
CAPABILITY = PUBLISHED["code"]["capability_rber"]
LOSS = PUBLISHED["flash"]["loss_with_one_ideal_retry"]
GAIN = PUBLISHED["claims"]["bandwidth_gain_2k"]

# Gain over Sentinel by P/E cycles; the gain at 2,000 is in `GAIN`.
EARLIER = {
    stage: gain for stage, gain in PUBLISHED["claims"]["bandwidth_gain_over_sentinel"].items() if stage != "2000"
}
