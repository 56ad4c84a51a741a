"""The explanation of one codeword, as data."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from softsense._core import Cells, Config

if TYPE_CHECKING:
    import polars as pl

RESOURCES = ("plane", "bus", "decoder")
"""The resources of a read, in the order in which it passes them."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """An explanation of the life of one codeword.

    Frames have a row for each state, reference, region, level, policy, sensing or span.

    Attributes:
        config: the device, with its overrides.
        config_name: the file or the name by which it was opened, or `config`.
        cells: the cells at their age.
        cells_name: the name by which the cells were opened.
        code: name of the code.
        decoder: name of its decoder; None for BCH codes, which have one.
        iterations: number of iterations after which it gives up; None for BCH codes.
        seed: seed of the data, of the other pages and of the cells.
        tried: number of codewords that were tried until one needed the requested level.
        placement: the placement of references.
        page: name of the page.
        level: the level whose regions are shown in words and pictures.
        max_level: the deepest level that is read.
        codeword_bits: n, cells of the codeword.
        data_bits: k.
        rber: raw bit error rate of the page by the closed form.
        untracked_rber: raw bit error rate with the references where they were when the page was written.
        hard_failure: the probability that decoding fails at level 1, by the decode table of the config; None if that is
            a table of another code or decoder.
        raw_errors: wrong hard decisions of this codeword.
        required_level: the least level at which this codeword decodes; None if none does.
        states: `state`, `bits` (of the pages, in their order), `bit` (of this page), `written_mean_v`, `mean_v`,
            `written_spread_v`, `spread_v` (standard deviations) and `p_wrong` (share of its cells that hard decision
            reads wrong).
        references: `level`, `reference_v`.
        regions: `level`, `region`, `from_v` and `to_v` (None at the ends), `p_given_0`, `p_given_1`, `llr` (natural
            logarithm, infinite if no cell of one bit is there), `integer_llr`, and `cells_with_0` and `cells_with_1`
            (of this codeword). The decoder gets `integer_llr`; at level 1 it gets bits, the signs.
        attempts: `level`, `sensings`, `bits_per_cell`, `information_bits` (between bit and region), `wrong_signs`,
            `converged`, `correct` (the word is the one that was written), `iterations`, `violated_checks`.
        predictor: the predictor of failures: it counts the first `checks` of the code, and lets pass up to `threshold`
            violated ones; None without a predictor.
        reads: `policy` as it was asked for, `retry`, `levels` (tried), `decoded`, `latency_us`, `sense_us`,
            `transfer_us` and `decode_us`. `hidden_us` is the sum of these three above the latency. `plane_us` is the
            time that the plane is taken, until the read ends. `wasted_us` is sensing ahead that was not needed.
        steps: the attempts of each policy and their observations, a row for each sensing. The columns begin with
            `policy` and `step`, the number of the attempt, from 1. If `sent` is False, the data stays in the die, which
            senses again in the same step. The place of the `references` is one of `cells`, `default`,
            `retry_entry:2`, `valleys`, or `inferred:-4`: -4 steps off the default ones. The voltages of this page are
            `references_v`. Then come `level` and `known_cells` (whether nothing but known cells is read). Before the
            sensing there are `search_sensings` of each boundary. The time of all sensings of the row, with a prediction
            in the die, is `sense_us`; they take `sensing_percent` of the usual time.

            Wrong hard decisions are `raw_errors`, at deeper levels wrong signs. Checks that hard decisions violate are
            `violated_checks`; None at deeper levels. Decoding takes `iterations`, and `decoded` is None where it is not
            tried. Violated checks as the predictor counts them are `predicted_violated`; None where it does not look.
            Known cells of the lower state that read above are `errors_up`, those of the upper one that read below
            `errors_down`. The `difference` is the two as shares of a state's cells, or the value by the share of ones.
            References then belong `inferred_steps` off the default ones.
        spans: `policy`, `resource` (plane, bus, decoder), `what` (sense, hold, transfer, decode, or predict where
            decoding is then not tried), `step`, `level`, `from_us`, `to_us`, `wasted`. In `hold` the plane is taken but
            does nothing. The last span ends at the latency.
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
        """Everything, ready for JSON: frames as lists of rows, infinite LLRs as None."""
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
