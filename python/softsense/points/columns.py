"""The columns of a point: its status and its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from softsense._core import MAX_LEVEL

OK = "ok"
FAILED = "failed"

WITHOUT_LIFETIME = "lifetime failed"
"""The status of a point that was simulated, but whose device's lifetime could not be found."""

NOT_SIMULATED = "not simulated"
"""The status of a point that an interrupted sweep has not reached; never in a file."""

BATCH = "batch"
"""The column of a search with the number of the batch in which a point was asked for."""

FOLLOWS_AGE = "follows_age"
"""The column that has 1 where a policy of one's own reads at references that no controller knows, and 0 elsewhere."""

_TIMES = ("mean_us", "p50_us", "p95_us", "p99_us", "p999_us", "p9999_us", "max_us")

_NUMBERS: dict[str, tuple[str, ...]] = {
    "": ("requests:n", "reads:n", "writes:n", "trims:n", "simulated_s"),
    "throughput": (
        *("span_s", "iops", "read_iops", "write_iops", "mb_per_s", "read_mb_per_s", "write_mb_per_s", "in_flight"),
    ),
    **{f"response.{kind}": ("count:n", *_TIMES) for kind in ("read", "write", "all")},
    "growth": ("rate", "waiting"),
    "codeword_reads": (
        *("count:n", "mean_us", "service_us", "attempts:n", "soft_starts:n", "uncorrectable:n", "undetected:n"),
        *(
            "beyond_table:n",
            "uncorrectable_in_background:n",
            "interleaved:n",
            "crossing:n",
            "from_controller:n",
            "unmapped:n",
        ),
    ),
    "codeword_reads.time_us": ("wait_plane", "sense", "wait_bus", "transfer", "wait_decoder", "decode", "retries"),
    "writes_detail": (
        *("host_codewords:n", "coalesced_codewords:n", "gc_codewords:n", "translation_codewords:n"),
        *("padding_codewords:n", "write_amplification", "read_modify_writes:n", "refused_codewords:n"),
        *("read_only_from_s", "left_in_buffer_codewords:n", "data_capacity_bytes:n"),
    ),
    "operations": (
        *(
            "senses:n",
            "extra_levels_sensed:n",
            "search_sensings:n",
            "look_ahead_senses:n",
            "look_ahead_wasted:n",
            "resets:n",
        ),
        *("predictions:n", "predicted_failures:n", "mispredictions:n", "known_cell_reads:n"),
        *("transfers:n", "decodes:n", "programs:n", "erases:n", "suspensions:n"),
    ),
    "energy": (
        *("sense_uj", "sense_extra_levels_uj", "transfer_uj", "program_uj", "erase_uj", "decode_uj", "total_uj"),
        *("cut_short_uj", "background_uj", "mean_read_uj", "mean_write_uj", "mean_request_uj"),
    ),
    "gc": (
        *("blocks_reclaimed:n", "mean_valid_fraction", "blocks_to_level_wear:n", "least_erases:n", "most_erases:n"),
        "most_block_reads:n",
    ),
    "wear": ("least_pe_cycles:n", "mean_pe_cycles", "most_pe_cycles:n", "widest_plane_spread:n", "levelled_to:n"),
    "bad_blocks": (
        *("factory:n", "grown:n", "grown_by_programs:n", "to_be_replaced:n", "failed_programs:n"),
        *("codewords_programmed_again:n", "spares_left:n", "fewest_spares_of_plane:n", "retired:n"),
    ),
    "copyback": ("pages:n", "share"),
    "power_loss": (
        *("losses:n", "lost_codewords:n", "mean_away_us", "longest_away_us", "programs_again:n", "erases_again:n"),
        *("saved_pages:n", "map_pages:n", "scanned_pages:n"),
    ),
    "read_reclaim": ("blocks:n", "wordlines:n", "codewords:n", "counter_bytes_per_block:n"),
    "refresh": ("blocks:n", "blocks_for_scrub:n", "blocks_late:n", "codewords:n", "write_amplification"),
    "scrub": (
        *("pages:n", "codewords:n", "codewords_above:n", "codewords_recovered:n", "codewords_uncorrectable:n"),
        *("blocks_found:n", "rounds", "behind"),
    ),
    "slc_cache": (
        *("cached_codewords:n", "direct_codewords:n", "folded_codewords:n", "cached_share", "host_write_amplification"),
        *("fold_write_amplification", "gc_write_amplification", "codewords_read:n", "read_share", "blocks_folded:n"),
        *("blocks_folded_in_idle_time:n", "capacity_bytes:n", "valid_bytes:n"),
    ),
    "parity": (
        *("data_pages:n", "recovered:n", "recovered_in_background:n", "recovery_reads:n", "programs:n"),
        *("xor_buffer_bytes:n", "expected_uber_by_code", "expected_uber"),
    ),
    "mapping": (
        *("hit_ratio", "read_hit_ratio", "evictions:n", "dirty_evictions:n", "translation_reads:n"),
        "translation_programs:n",
    ),
    "utilisation": ("plane", "channel", "channel_wasted", "decoder"),
    "utilisation.busiest": ("plane", "channel", "decoder"),
    "utilisation.idlest": ("plane", "channel", "decoder"),
}

_LIFETIME = ("endurance_pe:n", "user_share", "user_capacity", "write_amplification", "lifetime_capacity")


def _columns(groups: Mapping[str, Sequence[str]]) -> dict[str, type]:
    columns: dict[str, type] = {}
    for group, names in groups.items():
        for name in names:
            bare, _, whole = name.partition(":")
            columns[f"{group}.{bare}" if group else bare] = int if whole else float
    return columns


SUMMARY_COLUMNS: dict[str, type] = (
    {"user_bytes": int}
    | _columns(_NUMBERS)
    | {f"codeword_reads.level_{level}": int for level in range(1, MAX_LEVEL + 1)}
    | {FOLLOWS_AGE: int}
)
"""Numbers that are kept of a simulation: names as in its summary, and whether each is a count or a real number.

`user_bytes` is the capacity that the user can address. `codeword_reads.level_1` and so on are
`codeword_reads.level_histogram`. `FOLLOWS_AGE` is `read_policies.follows_age`.
"""

LIFETIME_COLUMNS: dict[str, type] = _columns({"lifetime": _LIFETIME})
"""Numbers that are kept of `softsense.lifetime.lifetime`; of the adaptive scheme, where there are several codes."""
