"""RiF (M. Chun et al., HPCA 2024): an on-die engine that retries before it transfers, and what it is compared with.

The device is that of the paper's table I, `configs/tlc-rif.toml`; its cells are not the paper's. All numbers of the
paper are at second hand, through notes of others, but for those of its abstract.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from softsense._core import Cells, Code, Config
from softsense.papers import (
    Case,
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Paper,
    Plan,
    Runs,
    Workload,
    inline,
    resting_on,
    shown,
    synthetic,
)
from softsense.papers.comparing import Arm, Summary, cases, first_beyond, percent
from softsense.papers.drawing import Line, draw_bars, lines, point
from softsense.papers.techniques import at_age, ladder, predictor, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from matplotlib.figure import Figure as Picture

# What the paper says -------------------------------------------------------------------------------------------------

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
"""The published numbers, by the names of `published/rif.toml`; methods are named there in words."""

_DEVICE = "tlc-rif"
_CELLS = "tlc-measured"
_PE_CYCLES = 2500
_REQUEST = 65_536
_PAGE_CHECKS = 4
_PRUNED = 1024
_CAPABILITY = PUBLISHED["code"]["capability_rber"]
_LOSS = PUBLISHED["flash"]["loss_with_one_ideal_retry"]
_GAIN = PUBLISHED["claims"]["bandwidth_gain_2k"]
# By P/E cycles; that at 2,000 is one of those.
_EARLIER = {
    stage: gain for stage, gain in PUBLISHED["claims"]["bandwidth_gain_over_sentinel"].items() if stage != "2000"
}

# Methods -------------------------------------------------------------------------------------------------------------


def methods(pe_cycles: int, retention_days: float) -> dict[str, Arm]:
    """The paper's methods on cells of an age, by the names of their arms."""
    swift = {"references": "share_of_ones"}
    overrides = {
        "no retry": (reading(references="cells"),),
        "one ideal retry": (reading(references="retry_table"), ladder(_CELLS, pe_cycles, retention_days, 1)),
        "Sentinel": (reading(references="sentinels"),),
        "Swift-Read": (reading(**swift),),
        "Swift-Read+": (reading(**swift, remembered="of_block"),),
        "RPSSD": (reading(**swift, predictor=predictor("controller", _CAPABILITY)),),
        "RiF": (reading(**swift, predictor=predictor("die", _CAPABILITY)),),
    }
    return {
        label: Arm(label, "progressive", (*at_age(pe_cycles, retention_days), *fields))
        for label, fields in overrides.items()
    }


_COLOURS = {
    "no retry": "#009e73",
    "one ideal retry": "#7f7f7f",
    "Sentinel": "#e69f00",
    "Swift-Read": "#56b4e9",
    "Swift-Read+": "#cc79a7",
    "RPSSD": "#d55e00",
    "RiF": "#0072b2",
}
_STYLES = {label: Line(colour) for label, colour in _COLOURS.items()} | {"published": Line("#000000", "none", "s")}
_RIVALS = {"Sentinel": "sentinel", "Swift-Read": "swift_read", "Swift-Read+": "swift_read_tracking"}

# Workloads and ages --------------------------------------------------------------------------------------------------


def _stand_in(read_share: float, requests: int) -> Workload:
    fields = synthetic(
        requests=requests,
        read_fraction=read_share,
        sizes=[{"bytes": _REQUEST, "share": 1.0}],
        addresses={"zipf": {"exponent": 0.9}},
        arrivals="immediate",
        footprint_bytes=1 << 36,
    )
    what = f"stand-in: {requests:,} requests of 64 KiB, {100 * read_share:.0f} % reads, 256 at once"
    return Workload(f"{100 * read_share:.0f} % reads", what, overrides=fields)


# The paper's eight have shares of reads from 0.27 to 0.96.
_READ_SHARES = (0.27, 0.37, 0.47, 0.57, 0.66, 0.76, 0.86, 0.96)


def _plan(full: bool) -> Plan:
    shares = _READ_SHARES if full else (_READ_SHARES[0], _READ_SHARES[4], _READ_SHARES[-1])
    requests = 10_000 if full else 4_000
    workloads = tuple(_stand_in(share, requests) for share in shares)
    # Nothing but the time to set it up, and its capacity, changes with the number of blocks.
    overrides = () if full else ("geometry.blocks_per_plane=256",)
    return Plan(full, (1, 2, 3) if full else (1, 2), workloads, 20_000 if full else 1_000, overrides=overrides)


def _ages(plan: Plan) -> Sequence[float]:
    """Days of retention, from where hardly anything is retried to beyond the paper's losses."""
    return (120.0, 160.0, 200.0, 250.0, 300.0, 400.0, 500.0) if plan.full else (160.0, 300.0, 500.0)


def _aged_cases(plan: Plan) -> list[Case]:
    return cases(plan, *(arm for days in _ages(plan) for arm in methods(_PE_CYCLES, days).values()))


class _Aged:
    """Every method on every workload by age, and what is read off at the losses that the paper prints."""

    def __init__(self, plan: Plan, runs: Runs) -> None:
        self.plan, self._runs = plan, runs
        self._methods = {days: methods(_PE_CYCLES, days) for days in _ages(plan)}

    def each(self, days: float, label: str, seed: int, workloads: Sequence[Workload] = ()) -> list[Summary]:
        """Summaries on some workloads, by default all."""
        arm = self._methods[days][label]
        of = workloads or self.plan.workloads
        return [self._runs[Case(workload, arm.policy, arm.overrides, seed)] for workload in of]

    def bandwidth_ratio(
        self, days: float, above: str, below: str, seed: int, workloads: Sequence[Workload] = ()
    ) -> float:
        """The mean over workloads of a ratio of bandwidths: requests are the same, so that times tell."""
        pairs = zip(self.each(days, above, seed, workloads), self.each(days, below, seed, workloads), strict=True)
        return fmean(other["simulated_s"] / one["simulated_s"] for one, other in pairs)

    def loss(self, days: float, seed: int) -> float:
        """What one ideal retry loses of the bandwidth without any."""
        return 1 - self.bandwidth_ratio(days, "one ideal retry", "no retry", seed)

    def at_loss(self, loss: float, of: Callable[[float, int], float]) -> Number:
        """A number by age and seed, between the ages whose losses are next to one that is published."""
        values = []
        for seed in self.plan.seeds:
            losses = [self.loss(days, seed) for days in _ages(self.plan)]
            values.append(float(np.interp(loss, losses, [of(days, seed) for days in _ages(self.plan)])))
        return Number.of(values)

    def mean_loss(self, days: float) -> float:
        """Over seeds."""
        return fmean(self.loss(days, seed) for seed in self.plan.seeds)

    def lines(
        self, panel: str, labels: Iterable[str], of: Callable[[str], Callable[[float, int], float]]
    ) -> list[dict[str, Any]]:
        """Rows of a figure: a number of some methods by what one ideal retry loses."""
        return [
            point(panel, label, self.mean_loss(days), Number.of([of(label)(days, seed) for seed in self.plan.seeds]))
            for label in labels
            for days in _ages(self.plan)
        ]

    def ratio(self, above: str, below: str) -> Callable[[float, int], float]:
        """A ratio of bandwidths by age and seed."""
        return lambda days, seed: self.bandwidth_ratio(days, above, below, seed)

    @property
    def reached(self) -> str:
        """A sentence where the paper's losses are beyond those of these ages."""
        most = max(self.mean_loss(days) for days in _ages(self.plan))
        if most >= _LOSS["2000"]:
            return ""
        return f" One ideal retry loses {100 * most:.1f} % at most here: beyond it stands what is so there."

    @property
    def most_read(self) -> list[Workload]:
        """What stands in for Ali_124 [assumed]: the workload with the most reads."""
        return [self.plan.workloads[-1]]


# Bandwidth -----------------------------------------------------------------------------------------------------------

_AXIS = "bandwidth that one ideal retry loses"


def _bandwidth(plan: Plan, runs: Runs) -> Measured:
    aged = _Aged(plan, runs)

    def gain(label: str) -> Callable[[float, int], float]:
        return lambda days, seed: aged.bandwidth_ratio(days, "RiF", label, seed) - 1

    rows = aged.lines("all workloads", _COLOURS, lambda label: aged.ratio(label, "no retry"))
    rows += aged.lines("RiF over others", _RIVALS, gain)
    published = PUBLISHED["claims"]["bandwidth_gain_over_sentinel"]
    rows += [
        point("RiF over others", "published", _LOSS[stage], Number.exact(more)) for stage, more in published.items()
    ]
    why = (
        "Both are read off where one ideal retry loses as much as is published for that wear, which is the one "
        "number that the "
        "age of these cells is fitted to: they keep data longer than the paper's. Workloads are stand-ins."
    ) + aged.reached
    evidence = {}
    for stage in _EARLIER:
        evidence[f"over_sentinel_{stage}"] = Evidence(aged.at_loss(_LOSS[stage], gain("Sentinel")), why)
    at_2k, oldest = _LOSS["2000"], _ages(plan)[-1]
    for label, name in _RIVALS.items():
        most = Number.of(
            [aged.bandwidth_ratio(oldest, "RiF", label, seed, aged.most_read) for seed in plan.seeds]
        ).plus(-1)
        told = f" Of the workload with the most reads it is {percent(most)} with the oldest data."
        evidence[f"gain_{name}"] = Evidence(aged.at_loss(at_2k, gain(label)), why + told)
    gap = aged.at_loss(at_2k, lambda days, seed: 1 - aged.bandwidth_ratio(days, "RiF", "no retry", seed))
    best_rival = aged.at_loss(at_2k, lambda days, seed: 1 - aged.bandwidth_ratio(days, "Swift-Read+", "no retry", seed))
    evidence["gap"] = Evidence(
        gap,
        "Each page that is retried is sensed twice, and what the retry decodes takes more iterations. The best "
        "of the others, Swift-Read "
        f"with what it remembers, lacks {percent(best_rival)}.",
        improves=gap.hi < best_rival.lo,
    )
    order = ["RiF", "Swift-Read+", "Swift-Read", "Sentinel"]
    means = {label: aged.at_loss(at_2k, aged.ratio(label, "no retry")).value for label in order}
    met = all(means[one] >= means[other] for one, other in pairwise(order))
    told = ", ".join(f"{label} {100 * means[label]:.1f} %" for label in order)
    evidence["order"] = Evidence(None, f"Of the bandwidth without retries: {told}.", in_all=met, in_mean=met)
    return Measured(pl.DataFrame(rows), evidence)


# The tail, and the channel -------------------------------------------------------------------------------------------


def _tail(plan: Plan, runs: Runs) -> Measured:
    aged = _Aged(plan, runs)

    def p9999(days: float, label: str, seed: int) -> float:
        return float(aged.each(days, label, seed, aged.most_read)[0]["response"]["read"]["p9999_us"])

    rows = aged.lines("reads", _COLOURS, lambda label: lambda days, seed: p9999(days, label, seed) / 1000)
    evidence = {}
    for label, name in _RIVALS.items():

        def reduction(days: float, seed: int, label: str = label) -> float:
            return 1 - p9999(days, "RiF", seed) / p9999(days, label, seed)

        evidence[f"p9999_{name}"] = Evidence(
            aged.at_loss(_LOSS["2000"], reduction),
            "Of reads that keep 256 requests under way; how the paper's trace arrives is not published in our "
            "sources, and a "
            "drive that falls behind its arrivals has a longer tail than one that is asked as fast as it serves.",
        )
    return Measured(pl.DataFrame(rows), evidence)


def _channel(plan: Plan, runs: Runs) -> Measured:
    aged = _Aged(plan, runs)

    def wasted(label: str) -> Callable[[float, int], float]:
        return lambda days, seed: aged.each(days, label, seed, aged.most_read)[0]["utilisation"]["channel_wasted"]

    rows = aged.lines("channel", _COLOURS, wasted)
    names = {"Swift-Read": "swift_read", "RiF": "rif_uncorrectable", "RPSSD": "controller_predictor_uncorrectable"}

    def idle(days: float, seed: int) -> float:
        return float(1 - aged.each(days, "Swift-Read", seed, aged.most_read)[0]["utilisation"]["channel"])

    waiting = aged.at_loss(_LOSS["2000"], idle)
    why = {
        "Swift-Read": f"The published share may have the time in it that a channel waits for a decoder; here it "
        "is idle, or held, for "
        f"{percent(waiting)} of the time.",
        "RiF": "What the predictor lets pass and the decoder does not.",
        "RPSSD": "The controller predicts after the transfer, so that it wastes no less of the channel than others.",
    }
    evidence = {
        f"wasted_{name}": Evidence(aged.at_loss(_LOSS["2000"], wasted(label)), why[label])
        for label, name in names.items()
    }

    def beyondfirst_beyond(days: float, label: str, seed: int) -> int:
        reads = aged.each(days, label, seed, aged.most_read)[0]["codeword_reads"]
        return int(reads["attempts"] - reads["count"])

    def retries(days: float, seed: int) -> float:
        # An ideal retry is one for each codeword that needs any.
        return beyondfirst_beyond(days, "Sentinel", seed) / max(1, beyondfirst_beyond(days, "one ideal retry", seed))

    evidence["sentinel_retries"] = Evidence(
        aged.at_loss(_LOSS["2000"], retries),
        "Retries of a codeword that its first hard decision did not decode; the extra read of known cells is "
        "none of them.",
    )
    return Measured(pl.DataFrame(rows), evidence)


# A lone read ---------------------------------------------------------------------------------------------------------

_LONE = Workload(
    "256 KiB",
    "reads of 256 KiB, one at a time, of 16 planes on one channel",
    overrides=(
        *synthetic(
            requests=200,
            read_fraction=1.0,
            sizes=[{"bytes": 1 << 18, "share": 1.0}],
            addresses="sequential",
            arrivals="immediate",
        ),
        "host.issue.closed_loop.queue_depth=1",
        "geometry.channels=1",
        "reliability.table.variation={}",
    ),
)
_LONE_AGE = (3000, 365.0)
_YOUNG = "precondition.retention_days=0.1"
_LONE_METHODS = {"no retry": "no_retry", "one ideal retry": "one_ideal_retry", "RiF": "rif"}


def _lone_cases(plan: Plan) -> list[Case]:
    arms = methods(*_LONE_AGE)
    # What needs no retry decodes in few iterations.
    arms["no retry"] = arms["no retry"].on(_YOUNG)
    return [Case(_LONE, arms[label].policy, arms[label].overrides, plan.seeds[0]) for label in _LONE_METHODS]


def _lone(plan: Plan, runs: Runs) -> Measured:
    published = PUBLISHED["flash"]["read_256_kib_us"]
    rows, evidence = [], {}
    for case, (label, name) in zip(_lone_cases(plan), _LONE_METHODS.items(), strict=True):
        number = Number.exact(runs[case]["response"]["read"]["mean_us"])
        for bar, value in (("published", Number.exact(published[name])), ("measured", number)):
            rows.append({"group": label, "bar": bar, "value": value.value, "lo": value.lo, "hi": value.hi})
        why = {
            "no_retry": "40 us of sensing and 16 transfers of 13 us are 248; the rest is the last page's decoding.",
            "one_ideal_retry": "Here all sixteen pages are retried: a failed decode takes 20 us a page, longer "
            "than the transfer of the next one, and then there are 16 "
            "transfers more. The published number has no room for those: not every page of the paper's read can "
            "have been retried.",
            "rif": "All sixteen pages are sensed twice, at once: 40 us and a prediction more than without retries.",
        }[name]
        evidence[f"read_{name}"] = Evidence(number, why)
    return Measured(pl.DataFrame(rows), evidence)


def _draw_lone(frame: pl.DataFrame) -> Picture:
    colours = {"published": "#7f7f7f", "measured": "#0072b2"}
    note = "sixteen planes of one channel; of these cells every page needs a retry"
    return draw_bars(frame, "A read of 256 KiB", "us", colours=colours, line=None, note=note, digits=0)


# Prediction ----------------------------------------------------------------------------------------------------------

_TARGETS = (0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.010, 0.011, 0.012, 0.013)
_OWN, _PRUNED_OWN, _PRUNED_PRINTED = "all checks", "1,024 checks", "1,024 checks, threshold of the paper"


@cache
def _cells_at(rber: float) -> tuple[dict[str, Any], float]:
    """Cells of one bit whose reference is off by so much that their raw bit error rate is near one, and that rate."""
    spec = json.loads(Cells.open("pslc:" + _CELLS).spec_json)

    def rate(offset_v: float) -> float:
        moved = spec | {"references": spec["references"] | {"offset_v": offset_v}}
        return float(Cells.from_json(json.dumps(moved), _PE_CYCLES, 24.0).rber(0))

    offset_v = round(first_beyond(0.0, 3.0, lambda offset_v: rate(offset_v) >= rber), 6)
    return spec | {"references": spec["references"] | {"offset_v": offset_v}}, rate(offset_v)


def _predicted(rber: float, line: str, requests: int) -> tuple[Workload, tuple[str, ...]]:
    spec, _ = _cells_at(rber)
    checks = None if line == _OWN else _PRUNED
    threshold_rber = _CAPABILITY if line == _PRUNED_PRINTED else _capability()
    exact = {"code": "flash-8/9", "decoder": "min-sum", "max_iterations": 20, "rber": {"threshold_voltage": spec}}
    workload = Workload(
        "real decodes",
        "4 KiB reads of sampled cells, each really decoded",
        overrides=synthetic(
            requests=requests,
            read_fraction=1.0,
            sizes=[{"bytes": 4096, "share": 1.0}],
            addresses="uniform",
            arrivals="immediate",
        ),
    )
    return workload, (
        f"reliability={inline({'exact': exact})}",
        reading(references="cells", max_level=1, predictor=predictor("controller", threshold_rber, checks)),
        *at_age(_PE_CYCLES, 1.0),
    )


def _prediction_points() -> list[tuple[float, str]]:
    return [
        (rber, line) for line in (_OWN, _PRUNED_OWN, _PRUNED_PRINTED) for rber in sorted((*_TARGETS, _capability()))
    ]


def _prediction_cases(plan: Plan) -> list[Case]:
    predicted = [_predicted(rber, line, plan.requests) for rber, line in _prediction_points()]
    return [Case(workload, "progressive", overrides, plan.seeds[0]) for workload, overrides in predicted]


def _hard_failure(rber: float) -> float:
    hard = Config.open("mlc-25nm", ["reliability.table.file=flash-8-9"])
    return float(hard.p_fail(np.array([rber]), 1)[0, 0])


@cache
def _capability() -> float:
    """The raw bit error rate at which hard decisions of flash-8/9 fail half of the time, by its decode table."""
    return first_beyond(0.005, 0.02, lambda rber: _hard_failure(rber) >= 0.5)


def _prediction(plan: Plan, runs: Runs) -> Measured:
    rows, accuracy = [], {}
    for case, (rber, line) in zip(_prediction_cases(plan), _prediction_points(), strict=True):
        operations = runs[case]["operations"]
        n, wrong = operations["predictions"], operations["mispredictions"]
        share = 1 - wrong / n
        half = 1.96 * (max(share * (1 - share), 1 / n) / n) ** 0.5
        accuracy[rber, line] = Number(share, max(0.0, share - half), min(1.0, share + half))
        rows.append(point("accuracy", line, _cells_at(rber)[1], accuracy[rber, line]))
    published = PUBLISHED["claims"]["prediction_accuracy"]
    rows.append(point("accuracy", "published", _CAPABILITY, Number.exact(published["at_capability"])))
    capability = _capability()
    threshold_rber = _CAPABILITY
    code = Code.open("flash-8/9")
    weight = _PAGE_CHECKS * code.syndrome_weights(threshold_rber)[0]

    def mean(line: str) -> Number:
        numbers = [accuracy[rber, line] for rber in _TARGETS]
        return Number(*(fmean(getattr(number, end) for number in numbers) for end in ("value", "lo", "hi")))

    where = (
        f"The mean over {len(_TARGETS)} raw bit error rates from {_TARGETS[0]} to {_TARGETS[-1]}, by the "
        "threshold of this code; over which rates the "
        "paper takes it is not in our sources. It depends on how many of them are near the capability."
    )
    printed = accuracy[0.009, _PRUNED_PRINTED]
    evidence = {
        "accuracy_full": Evidence(mean(_OWN), where),
        "accuracy_pruned": Evidence(mean(_PRUNED_OWN), where),
        "accuracy_at_capability": Evidence(
            accuracy[capability, _PRUNED_OWN],
            f"At {capability:.5f}, where half of the words fail: violated checks tell little more of a word "
            "there than a coin. With the "
            f"paper's threshold it is {percent(printed)} at 0.009, as flash-8/9 still decodes most of what is "
            "taken for lost.",
        ),
        "capability": Evidence(
            Number.exact(capability),
            "Where hard decision with 20 iterations fails half of all words, by the decode table. At "
            f"{threshold_rber} it fails "
            f"{100 * _hard_failure(threshold_rber):.2g} % of them.",
        ),
        "threshold": Evidence(
            Number.exact(weight),
            "The mean number of checks of four codewords of flash-8/9 that are violated at a raw bit error rate "
            f"of {threshold_rber}; "
            f"at its own capability, {capability:.5f}, it is "
            f"{_PAGE_CHECKS * code.syndrome_weights(capability)[0]:,.0f}.",
        ),
    }
    return Measured(pl.DataFrame(rows), evidence)


# Cells ---------------------------------------------------------------------------------------------------------------


def _retry_days(pe_cycles: int) -> float:
    """Days after which the worst page is beyond the capability with default references; ten years if never."""

    def is_beyond(days: float) -> bool:
        cells = Cells.open(_CELLS, pe_cycles, days * 24, "default")
        return max(cells.rber(page) for page in range(len(cells.pages))) > _CAPABILITY

    return first_beyond(0.0, 3650.0, is_beyond)


def _cells(plan: Plan, runs: Runs) -> Measured:
    published = PUBLISHED["flash"]["retry_needed_after_days"]
    rows = [
        {"pe_cycles": cycles, "published_days": published.get(str(cycles)), "measured_days": _retry_days(cycles)}
        for cycles in (0, 200, 500, 1000, 1500, 2000, 2500, 3000)
    ]
    evidence = {}
    for row in rows:
        if row["published_days"] is not None:
            days = row["measured_days"]
            told = "never within ten years" if days > 3640 else f"after {days:.0f} days"
            evidence[f"days_{row['pe_cycles']}"] = Evidence(
                Number.exact(days),
                f"By default references the worst page of {_CELLS} is beyond a raw bit error rate of 0.0085 "
                f"{told}: they are other chips, "
                "whose voltages were published, and their default references are placed for data of a day. The "
                "ages of the other figures are those "
                "at which one ideal retry loses as much as in the paper.",
            )
    return Measured(pl.DataFrame(rows), evidence)


def _draw_cells(frame: pl.DataFrame) -> Picture:
    shown = frame.filter(pl.col("measured_days") < 3640)
    rows = [point("days", "measured", row["pe_cycles"], Number.exact(row["measured_days"])) for row in shown.to_dicts()]
    published = frame.drop_nulls("published_days").to_dicts()
    rows += [point("days", "published", row["pe_cycles"], Number.exact(row["published_days"])) for row in published]
    styles = {"measured": Line("#0072b2"), "published": Line("#000000", "none", "s")}
    title = "After how many days default references need a retry"
    note = f"worst page beyond a raw bit error rate of 0.0085; cells: {_CELLS}"
    return lines(title, "P/E cycles", "days", styles, note)(pl.DataFrame(rows))


# Claims --------------------------------------------------------------------------------------------------------------

_FIGURES = (
    Figure(
        "bandwidth",
        "Bandwidth, by what retries cost",
        _bandwidth,
        lines(
            "Bandwidth, by what one ideal retry loses",
            _AXIS,
            ("of that without retries", "more bandwidth"),
            _STYLES,
            "means of workloads, 256 requests under way; squares: RiF over Sentinel as published, at 0, 1,000 "
            "and 2,000 P/E cycles",
        ),
        _aged_cases,
    ),
    Figure(
        "tail",
        "The slowest read in ten thousand",
        _tail,
        lines(
            "The slowest read in ten thousand",
            _AXIS,
            "p99.99 of reads (ms)",
            _STYLES,
            "the workload with the most reads",
        ),
        _aged_cases,
    ),
    Figure(
        "channel",
        "Channel time for what is not decoded",
        _channel,
        lines(
            "Channel time for codewords that are not decoded",
            _AXIS,
            "share of time",
            _STYLES,
            "the workload with the most reads",
        ),
        _aged_cases,
    ),
    Figure("lone", "A read of 256 KiB", _lone, _draw_lone, _lone_cases),
    Figure(
        "prediction",
        "How often violated checks predict right",
        _prediction,
        lines(
            "How often violated checks predict right",
            "raw bit error rate",
            "share of predictions",
            {
                _OWN: Line("#0072b2"),
                _PRUNED_OWN: Line("#d55e00"),
                _PRUNED_PRINTED: Line("#cc79a7"),
                "published": Line("#000000", "none", "s"),
            },
            "flash-8/9, sampled cells, each codeword really decoded; square: published at the capability",
        ),
        _prediction_cases,
    ),
    Figure("cells", "When cells need a retry", _cells, _draw_cells),
)

_P9999 = PUBLISHED["claims"]["p9999_reduction_ali_124_2k"]
_WASTED = PUBLISHED["claims"]["channel_wasted_ali_124_2k"]
_ACCURACY = PUBLISHED["claims"]["prediction_accuracy"]
_LONG = {
    "sentinel": "Sentinel",
    "swift_read": "Swift-Read",
    "swift_read_tracking": "Swift-Read with tracked references",
}

_ON_WORKLOADS = (
    *(
        Claim(
            f"gain_{name}",
            "bandwidth",
            f"At 2,000 P/E cycles RiF has so much more bandwidth than {_LONG[name]}, in the mean of workloads",
            gain,
            no_effect=0.0,
            unit="+%",
        )
        for name, gain in _GAIN.items()
    ),
    *(
        Claim(
            f"over_sentinel_{stage}",
            "bandwidth",
            f"At {int(stage):,} P/E cycles RiF has so much more bandwidth than Sentinel",
            gain,
            no_effect=0.0,
            unit="+%",
        )
        for stage, gain in _EARLIER.items()
    ),
    Claim(
        "gap",
        "bandwidth",
        "At 2,000 P/E cycles RiF loses at most so much of the bandwidth without retries",
        PUBLISHED["claims"]["gap_to_no_retry_2k"],
        rule="at most",
        unit="%",
    ),
    Claim(
        "order",
        "bandwidth",
        "RiF, Swift-Read with tracked references, Swift-Read, Sentinel: in this order",
        rule="order",
    ),
    *(
        Claim(
            f"p9999_{name}",
            "tail",
            f"At 2,000 P/E cycles RiF shortens the p99.99 of reads of Ali_124 by so much against {_LONG[name]}",
            share,
            no_effect=0.0,
            unit="%",
        )
        for name, share in _P9999.items()
    ),
    Claim(
        "wasted_swift_read",
        "channel",
        "Swift-Read wastes so much of the channel's time on Ali_124 at 2,000 P/E cycles",
        _WASTED["swift_read"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "wasted_rif_uncorrectable",
        "channel",
        "RiF spends so much of it on uncorrectable pages",
        _WASTED["rif_uncorrectable"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "wasted_controller_predictor_uncorrectable",
        "channel",
        "With the predictor in the controller so much goes to uncorrectable pages",
        _WASTED["controller_predictor_uncorrectable"],
        no_effect=0.0,
        unit="%",
    ),
    Claim(
        "sentinel_retries",
        "channel",
        "Sentinel needs so many retries in the mean",
        PUBLISHED["claims"]["sentinel_mean_retries"],
        no_effect=1.0,
        unit="",
    ),
)
# Four decoders a channel were chosen for it.
_LONE_CLAIMS = (
    *(
        Claim(
            f"read_{name}",
            "lone",
            f"A read of 256 KiB takes so long: {label}",
            float(PUBLISHED["flash"]["read_256_kib_us"][name]),
            unit="us",
        )
        for label, name in _LONE_METHODS.items()
    ),
)
_OF_CELLS = (
    Claim(
        "accuracy_full",
        "prediction",
        "All checks predict right so often",
        _ACCURACY["full"],
        no_effect=0.5,
        unit="%",
        tolerance=0.01,
    ),
    Claim(
        "accuracy_pruned",
        "prediction",
        "Of one codeword 1,024 checks predict right so often",
        _ACCURACY["pruned"],
        no_effect=0.5,
        unit="%",
        tolerance=0.01,
    ),
    Claim(
        "accuracy_at_capability",
        "prediction",
        "At the capability, where they do worst, they predict right so often",
        _ACCURACY["at_capability"],
        unit="%",
    ),
    Claim("capability", "prediction", "The code's capability is a raw bit error rate of 0.0085", 0.0085, unit="rber"),
    Claim(
        "threshold",
        "prediction",
        "There a page violates so many of its 16,384 checks",
        3830.0,
        unit="",
        tolerance=0.02,
    ),
    *(
        Claim(
            f"days_{cycles}",
            "cells",
            f"At {int(cycles):,} P/E cycles default references need a retry after so many days",
            float(days),
            unit="",
        )
        for cycles, days in PUBLISHED["flash"]["retry_needed_after_days"].items()
    ),
)

PAPER = Paper(
    name="rif",
    title="RiF: retrying inside the die",
    published="M. Chun, J. Lee, M. Kim, J. Park, J. Kim, HPCA 2024",
    figures=_FIGURES,
    claims=(
        *resting_on("invented workload", *_ON_WORKLOADS),
        *resting_on("calibrated", *_LONE_CLAIMS),
        *_OF_CELLS,
    ),
    plan=_plan,
    config=_DEVICE,
    headline=lambda found: (
        f"RiF has {shown(found['gain_sentinel']['measured'], '+%')} bandwidth over Sentinel at the end of life "
        f"({shown(_GAIN['sentinel'], '+%')} published), and over Swift-Read with tracked references "
        f"{shown(found['gain_swift_read_tracking']['measured'], '+%')} "
        f"({shown(_GAIN['swift_read_tracking'], '+%')} published)."
    ),
    intro=(
        "All published numbers are at second hand, through notes of others, but for those of the abstract. The "
        "paper's chips and traces are not to be "
        "had: cells are `tlc-measured`, whose age is set by one published number, what one ideal retry loses at "
        "each wear; workloads are "
        "stand-ins with the published shares of reads, and requests of 64 KiB, 256 at once (assumed). The host's "
        "link of 8 GB/s is not "
        "modelled. Area and power of the predictor are the paper's, and judged by nothing here."
    ),
)
