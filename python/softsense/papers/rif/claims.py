"""Figures and claims about RiF."""

from __future__ import annotations

from softsense.papers import Claim, Figure
from softsense.papers.drawing import Line, lines
from softsense.papers.rif.bandwidth import AXIS, bandwidth, channel, tail
from softsense.papers.rif.cells import draw_cells, measure_cells
from softsense.papers.rif.lone import LONE_METHODS, draw_lone, lone, lone_cases
from softsense.papers.rif.prediction import OWN, PRUNED_OWN, PRUNED_PRINTED, prediction, prediction_cases
from softsense.papers.rif.published import EARLIER, GAIN, PUBLISHED
from softsense.papers.rif.workloads import STYLES, aged_cases

FIGURES = (
    Figure(
        "bandwidth",
        "Bandwidth, by what retries cost",
        bandwidth,
        lines(
            "Bandwidth, by what one ideal retry loses",
            AXIS,
            ("of that without retries", "more bandwidth"),
            STYLES,
            "means of workloads, 256 requests under way; squares: RiF over Sentinel as published, at 0, 1,000 "
            "and 2,000 P/E cycles",
        ),
        aged_cases,
    ),
    Figure(
        "tail",
        "The slowest read in ten thousand",
        tail,
        lines(
            "The slowest read in ten thousand",
            AXIS,
            "p99.99 of reads (ms)",
            STYLES,
            "the workload with the most reads",
        ),
        aged_cases,
    ),
    Figure(
        "channel",
        "Channel time for what is not decoded",
        channel,
        lines(
            "Channel time for codewords that are not decoded",
            AXIS,
            "share of time",
            STYLES,
            "the workload with the most reads",
        ),
        aged_cases,
    ),
    Figure("lone", "A read of 256 KiB", lone, draw_lone, lone_cases),
    Figure(
        "prediction",
        "How often violated checks predict right",
        prediction,
        lines(
            "How often violated checks predict right",
            "raw bit error rate",
            "share of predictions",
            {
                OWN: Line("#0072b2"),
                PRUNED_OWN: Line("#d55e00"),
                PRUNED_PRINTED: Line("#cc79a7"),
                "published": Line("#000000", "none", "square"),
            },
            "flash-8/9, sampled cells, each codeword really decoded; square: published at the capability",
        ),
        prediction_cases,
    ),
    Figure("cells", "When cells need a retry", measure_cells, draw_cells),
)

_P9999 = PUBLISHED["claims"]["p9999_reduction_ali_124_2k"]
_WASTED = PUBLISHED["claims"]["channel_wasted_ali_124_2k"]
_ACCURACY = PUBLISHED["claims"]["prediction_accuracy"]

_LONG = {
    "sentinel": "Sentinel",
    "swift_read": "Swift-Read",
    "swift_read_tracking": "Swift-Read with tracked references",
}

ON_WORKLOADS = (
    *(
        Claim(
            f"gain_{name}",
            "bandwidth",
            f"Bandwidth that RiF gains over {_LONG[name]} at 2,000 P/E cycles, mean of workloads",
            gain,
            no_effect=0.0,
            unit="+%",
        )
        for name, gain in GAIN.items()
    ),
    *(
        Claim(
            f"over_sentinel_{stage}",
            "bandwidth",
            f"Bandwidth that RiF gains over Sentinel at {int(stage):,} P/E cycles",
            gain,
            no_effect=0.0,
            unit="+%",
        )
        for stage, gain in EARLIER.items()
    ),
    Claim(
        "gap",
        "bandwidth",
        "Share of the bandwidth without retries that RiF loses at 2,000 P/E cycles",
        PUBLISHED["claims"]["gap_to_no_retry_2k"],
        rule="at most",
        unit="%",
    ),
    Claim(
        "order",
        "bandwidth",
        "Bandwidth falls in the order RiF, Swift-Read with tracked references, Swift-Read, Sentinel",
        rule="order",
    ),
    *(
        Claim(
            f"p9999_{name}",
            "tail",
            f"Part of the p99.99 of reads of Ali_124 that RiF saves against {_LONG[name]} at 2,000 P/E cycles",
            share,
            no_effect=0.0,
            unit="%",
        )
        for name, share in _P9999.items()
    ),
    Claim(
        "wasted_swift_read",
        "channel",
        "Share of the channel's time that Swift-Read wastes on Ali_124 at 2,000 P/E cycles",
        _WASTED["swift_read"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "wasted_rif_uncorrectable",
        "channel",
        "Share of the channel's time that RiF spends on uncorrectable pages",
        _WASTED["rif_uncorrectable"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "wasted_controller_predictor_uncorrectable",
        "channel",
        "Share of the channel's time spent on uncorrectable pages with the predictor in the controller",
        _WASTED["controller_predictor_uncorrectable"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "sentinel_retries",
        "channel",
        "Mean retries of a read with Sentinel",
        PUBLISHED["claims"]["sentinel_mean_retries"],
        no_effect=1.0,
        unit="",
    ),
)

# The number of decoders, four a channel, was chosen for these times.
LONE_CLAIMS = (
    *(
        Claim(
            f"read_{name}",
            "lone",
            f"Time of a read of 256 KiB: {label}",
            float(PUBLISHED["flash"]["read_256_kib_us"][name]),
            unit="us",
        )
        for label, name in LONE_METHODS.items()
    ),
)

OF_CELLS = (
    Claim(
        "accuracy_full",
        "prediction",
        "Share of right predictions with all checks",
        _ACCURACY["full"],
        no_effect=0.5,
        unit="%",
        tolerance=0.01,
    ),
    Claim(
        "accuracy_pruned",
        "prediction",
        "Share of right predictions with 1,024 checks of one codeword",
        _ACCURACY["pruned"],
        no_effect=0.5,
        unit="%",
        tolerance=0.01,
    ),
    Claim(
        "accuracy_at_capability",
        "prediction",
        "Share of right predictions at the code's capability, where it is smallest",
        _ACCURACY["at_capability"],
        unit="%",
    ),
    Claim("capability", "prediction", "The code's capability is a raw bit error rate of 0.0085", 0.0085, unit="rber"),
    Claim(
        "threshold",
        "prediction",
        "Checks that a page violates there, of 16,384",
        3830.0,
        unit="",
        tolerance=0.02,
    ),
    *(
        Claim(
            f"days_{cycles}",
            "cells",
            f"Days after which default references need a retry, at {int(cycles):,} P/E cycles",
            float(days),
            unit="",
            kind="calibrated",
        )
        for cycles, days in PUBLISHED["flash"]["retry_needed_after_days"].items()
    ),
)
