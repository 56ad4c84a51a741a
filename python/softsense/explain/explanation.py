"""What is known of one codeword."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from softsense._core import Cells, Config

if TYPE_CHECKING:
    import polars as pl

RESOURCES = ("plane", "bus", "decoder")
"""What a read occupies, in the order in which it passes."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What `explain` found. Frames have a row for each state, reference, region, level, policy, sensing or span.

    Attributes:
        config: the device, with its overrides.
        config_name: the file or the name that it was opened by, or `config`.
        cells: the cells at their age.
        cells_name: what they were opened as.
        code: name of the code.
        decoder: name of its decoder; None for BCH codes, which have one.
        iterations: after how many it gives up; None for BCH codes.
        seed: of the data, of the other pages and of the cells.
        tried: how many codewords were looked at until there was one that needs as deep a level as was asked for.
        placement: where references are.
        page: name of the page.
        level: the level whose regions are shown in words and pictures.
        max_level: the deepest level that is read.
        codeword_bits: n, cells of the codeword.
        data_bits: k.
        rber: raw bit error rate of the page by the closed form.
        untracked_rber: the same, had the references stayed where they were when the page was written.
        hard_failure: the probability that decoding fails at level 1, by the decode table of the config; None if that is
            of another code or decoder.
        raw_errors: hard decisions of this codeword that are wrong.
        required_level: the least level at which this codeword decodes; None if none does.
        states: `state`, `bits` (of the pages, in their order), `bit` (of this page), `written_mean_v`, `mean_v`,
            `written_spread_v`, `spread_v` (standard deviations) and `p_wrong` (share of its cells that hard
            decision reads wrong).
        references: `level`, `reference_v`.
        regions: `level`, `region`, `from_v` and `to_v` (None at the ends), `p_given_0`, `p_given_1`, `llr` (natural
            logarithm, infinite where no cell of one bit is), `integer_llr` (what the decoder gets; at level 1 it gets
            bits, the signs), `cells_with_0`, `cells_with_1` (of this codeword).
        attempts: `level`, `sensings`, `bits_per_cell`, `information_bits` (of bit and region), `wrong_signs`,
            `converged`, `correct` (the word is the one that was written), `iterations`, `violated_checks`.
        predictor: what predicts failures counts the first `checks` of the code, and lets pass up to `threshold`
            violated ones; None without one.
        reads: `policy` as it was asked for, `retry`, `levels` (tried), `decoded`, `latency_us`, `sense_us`,
            `transfer_us`, `decode_us`, `hidden_us` (by which the three sum to more than the latency), `plane_us` (that
            the plane is taken, until the read ends), `wasted_us` (sensing ahead that was not needed).
        steps: the attempts of each policy and what is seen of them, a row for each sensing: `policy`, `step` (which
            attempt, from 1), `sent` (or it stays in the die, which senses again in the same step), `references` (where
            they stand: `cells`, `default`, `retry_entry:2`, `valleys`, or `inferred:-4`, so many steps off the default
            ones), `references_v` (those of the page), `level`, `known_cells` (nothing but they is read),
            `search_sensings` (of each boundary, before), `sensing_percent` and `sense_us` (of all sensings of the row,
            with a prediction in the die), `raw_errors` (at deeper levels wrong signs), `violated_checks` (by hard
            decisions; None at deeper levels), `iterations`, `decoded` (None where decoding is not tried),
            `predicted_violated` (checks, as the predictor counts them; None where it does not look), `errors_up` and
            `errors_down` (known cells of the lower state that read above, and of the upper one that read below),
            `difference` (the two as shares of a state's cells, or what the share of ones says of it) and
            `inferred_steps` (how far off the default ones references then belong).
        spans: `policy`, `resource` (plane, bus, decoder), `what` (sense, hold, transfer, decode, or predict where
            decoding is then not tried), `step`, `level`, `from_us`, `to_us`, `wasted`. `hold`: the plane is taken but
            does nothing. The last one ends at the latency.
    """

    config: Config
    config_name: str
    cells: Cells
    cells_name: str
    code: str
    decoder: str | None
    iterations: int | None
    seed: int
    tried: int
    placement: str
    page: str
    level: int
    max_level: int
    codeword_bits: int
    data_bits: int
    rber: float
    untracked_rber: float
    hard_failure: float | None
    raw_errors: int
    required_level: int | None
    states: pl.DataFrame
    references: pl.DataFrame
    regions: pl.DataFrame
    attempts: pl.DataFrame
    predictor: dict[str, float] | None
    reads: pl.DataFrame
    steps: pl.DataFrame
    spans: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: frames as lists of rows, LLRs that are infinite as None."""
        document: dict[str, Any] = {"pe_cycles": self.cells.pe_cycles, "retention_hours": self.cells.retention_hours}
        document["config_sha256"] = self.config.sha256
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "cells":
                document["cells"] = json.loads(value.spec_json)
            elif each.name != "config":
                document[each.name] = value.to_dicts() if hasattr(value, "to_dicts") else value
        for region in document["regions"]:
            region["llr"] = region["llr"] if math.isfinite(region["llr"]) else None
        return document
