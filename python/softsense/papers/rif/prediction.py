"""Accuracy of the predictor of failures."""

from __future__ import annotations

import json
from functools import cache
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl

from softsense._core import Cells, Code, DecodeTable
from softsense.formats import as_share
from softsense.papers import Case, Evidence, Measured, Number, Plan, Runs, Workload, inline, synthetic
from softsense.papers.comparing import first_beyond, percent
from softsense.papers.drawing import point
from softsense.papers.rif.published import CAPABILITY, CELLS, PAGE_CHECKS, PE_CYCLES, PRUNED, PUBLISHED
from softsense.papers.techniques import at_age, predictor, reading

_TARGETS = (0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.010, 0.011, 0.012, 0.013)
OWN, PRUNED_OWN, PRUNED_PRINTED = "all checks", "1,024 checks", "1,024 checks, threshold of the paper"


@cache
def _cells_at(rber: float) -> tuple[dict[str, Any], float]:
    """Cells of one bit, with the reference off by so much that their raw bit error rate is about `rber`; and that
    rate.
    """
    spec = json.loads(Cells.open("pslc:" + CELLS).spec_json)

    def rate(offset_v: float) -> float:
        moved = spec | {"references": spec["references"] | {"offset_v": offset_v}}
        return float(Cells.from_json(json.dumps(moved), PE_CYCLES, 24.0).rber(0))

    offset_v = round(first_beyond(0.0, 3.0, lambda offset_v: rate(offset_v) >= rber), 6)
    return spec | {"references": spec["references"] | {"offset_v": offset_v}}, rate(offset_v)


def _predicted(rber: float, line: str, requests: int) -> tuple[Workload, tuple[str, ...]]:
    spec, _ = _cells_at(rber)
    checks = None if line == OWN else PRUNED
    threshold_rber = CAPABILITY if line == PRUNED_PRINTED else _capability()
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
        *at_age(PE_CYCLES, 1.0),
    )


def _prediction_points() -> list[tuple[float, str]]:
    return [(rber, line) for line in (OWN, PRUNED_OWN, PRUNED_PRINTED) for rber in sorted((*_TARGETS, _capability()))]


def prediction_cases(plan: Plan) -> list[Case]:
    """Simulations at each raw bit error rate."""
    predicted = [_predicted(rber, line, plan.requests) for rber, line in _prediction_points()]
    return [Case(workload, "progressive", overrides, plan.seeds[0]) for workload, overrides in predicted]


def _hard_failure(rber: float) -> float:
    return float(DecodeTable("flash-8-9").p_fail(np.array([rber]), 1)[0, 0])


@cache
def _capability() -> float:
    """The raw bit error rate at which hard decisions of flash-8/9 fail half of the time, by its decode table."""
    return first_beyond(0.005, 0.02, lambda rber: _hard_failure(rber) >= 0.5)


def prediction(plan: Plan, runs: Runs) -> Measured:
    """Share of right predictions, by raw bit error rate."""
    rows, accuracy = [], {}
    for case, (rber, line) in zip(prediction_cases(plan), _prediction_points(), strict=True):
        operations = runs[case]["operations"]
        n, wrong = operations["predictions"], operations["mispredictions"]
        share = 1 - wrong / n
        half = 1.96 * (max(share * (1 - share), 1 / n) / n) ** 0.5
        accuracy[rber, line] = Number(share, max(0.0, share - half), min(1.0, share + half))
        rows.append(point("accuracy", line, _cells_at(rber)[1], accuracy[rber, line]))
    published = PUBLISHED["claims"]["prediction_accuracy"]
    rows.append(point("accuracy", "published", CAPABILITY, Number.exact(published["at_capability"])))
    capability = _capability()
    threshold_rber = CAPABILITY
    code = Code.open("flash-8/9")
    weight = PAGE_CHECKS * code.syndrome_weights(threshold_rber)[0]

    def mean(line: str) -> Number:
        numbers = [accuracy[rber, line] for rber in _TARGETS]
        return Number(*(fmean(getattr(number, end) for number in numbers) for end in ("value", "lo", "hi")))

    where = (
        f"The mean over {len(_TARGETS)} raw bit error rates from {_TARGETS[0]} to {_TARGETS[-1]}, by the "
        "threshold of this code; over which rates the "
        "paper takes it is not in our sources. It depends on how many of them are near the capability."
    )
    printed = accuracy[0.009, PRUNED_PRINTED]
    evidence = {
        "accuracy_full": Evidence(mean(OWN), where),
        "accuracy_pruned": Evidence(mean(PRUNED_OWN), where),
        "accuracy_at_capability": Evidence(
            accuracy[capability, PRUNED_OWN],
            f"At {capability:.5f}, where half of the words fail: violated checks tell little more of a word "
            "there than a coin. With the "
            f"paper's threshold it is {percent(printed)} at 0.009, as flash-8/9 still decodes most of what is "
            "taken for lost.",
        ),
        "capability": Evidence(
            Number.exact(capability),
            "Where hard decision with 20 iterations fails half of all words, by the decode table. At "
            f"{threshold_rber} it fails "
            f"{as_share(_hard_failure(threshold_rber), significant=2)} of them.",
        ),
        "threshold": Evidence(
            Number.exact(weight),
            "The mean number of checks of four codewords of flash-8/9 that are violated at a raw bit error rate "
            f"of {threshold_rber}; "
            f"at its own capability, {capability:.5f}, it is "
            f"{PAGE_CHECKS * code.syndrome_weights(capability)[0]:,.0f}.",
        ),
    }
    return Measured(pl.DataFrame(rows), evidence)
