"""One codeword: programmed, aged, sensed and decoded."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import Cells, Code, Decoder

if TYPE_CHECKING:
    from numpy.typing import NDArray


# The random streams of a seed.
DATA, OTHER_PAGES, QUANTILES = range(3)


@dataclass(frozen=True)
class Codeword:
    """A codeword in its cells: the stored data, and each cell's bit.

    Each state has its cells, from low to high voltage, and their quantiles among cells of the state.
    """

    word: NDArray[np.uint8]
    bits: NDArray[np.bool_]
    cells_by_state: list[NDArray[np.intp]]
    quantiles_by_state: list[NDArray[np.float64]]


@dataclass(eq=False)
class Readings:
    """The outcomes of reads of a codeword. The simulator's `LoneRead` asks for them; they are kept for the text."""

    codeword: Codeword
    page: int
    code: Code
    decoder_for: Callable[[dict[str, Any], int, float], Decoder]
    placement: str
    known: dict[tuple[str, int, int], dict[str, Any]] = field(default_factory=dict)
    predicted: dict[str, int] = field(default_factory=dict)

    def attempt(
        self, cells: Cells, references: str, level: int, sensing_percent: int
    ) -> tuple[bool, int, int, int | None]:
        """Whether the codeword decodes, iterations, wrong bits before decoding, and violated checks before it."""
        how = references, level, sensing_percent
        if how not in self.known:
            read = cells.sense(self.page, level, placement=self.placement)
            regions = regions_of(cells, self.codeword, read)
            decoder = self.decoder_for(read, level, cells.rber(self.page))
            self.known[how] = {
                **attempt_at(self.codeword, level, read, regions, decoder),
                "violated_checks": self._violated(read, regions, None) if level == 1 else None,
                "references_v": read["references"].tolist(),
            }
        row = self.known[how]
        return row["converged"], row["iterations"], row["wrong_signs"], row["violated_checks"]

    def violated(self, cells: Cells, references: str, checks: int) -> int:
        """The number of the first checks that hard decisions violate."""
        read = cells.sense(self.page, 1, placement=self.placement)
        self.predicted[references] = self._violated(read, regions_of(cells, self.codeword, read), checks)
        return self.predicted[references]

    def _violated(self, read: dict[str, Any], regions: NDArray[np.intp], checks: int | None) -> int:
        return int(self.code.syndrome_weight(np.packbits((read["llrs"] < 0)[regions]), checks))


def _draws(seed: int, stream: int, count: int) -> NDArray[np.uint64]:
    """Random numbers of a stream that are the same on every machine and with every version of NumPy.

    NumPy keeps the streams of bit generators, but not those of distributions.
    """
    return np.random.PCG64(np.random.SeedSequence([seed, stream])).random_raw(count)


def programmed(cells: Cells, page: int, code: Code, seed: int) -> Codeword:
    """A codeword of random data in a page of cells whose other pages hold random data, too."""
    data_bytes = -(-code.data_bits // 8)
    data = _draws(seed, DATA, -(-data_bytes // 8)).astype("<u8").view(np.uint8)[:data_bytes]
    data[-1] &= 0xFF << -code.data_bits % 8 & 0xFF
    word = code.encode(data)
    n = code.codeword_bits
    bits = np.unpackbits(word, count=n).astype(bool)
    draws = _draws(seed, OTHER_PAGES, n) >> np.uint64(32)
    states = np.empty(n, dtype=np.intp)
    for bit in (False, True):
        holding = np.array([state for state in range(cells.states) if cells.bit(page, state) == bit])
        chosen = bits == bit
        states[chosen] = holding[(draws[chosen] * np.uint64(len(holding)) >> np.uint64(32)).astype(np.intp)]
    quantiles: NDArray[np.float64] = (_draws(seed, QUANTILES, n) >> np.uint64(11)) * np.float64(2.0**-53)
    cells_by_state = []
    for state in range(cells.states):
        its_cells = np.flatnonzero(states == state)
        cells_by_state.append(its_cells[np.argsort(quantiles[its_cells])])
    return Codeword(word, bits, cells_by_state, [quantiles[its_cells] for its_cells in cells_by_state])


def counts_of(cells: Cells, codeword: Codeword, read: dict[str, Any]) -> NDArray[np.intp]:
    """The number of cells of each state (rows) in each region (columns).

    A voltage is below a reference if its quantile is below that of the reference. Quantiles are compared, so that no
    voltage has to be computed.
    """
    counts = []
    for state, quantiles in enumerate(codeword.quantiles_by_state):
        below = np.searchsorted(quantiles, cells.cdf(state, read["references"]))
        counts.append(np.diff([0, *below, len(quantiles)]))
    return np.array(counts)


def regions_of(cells: Cells, codeword: Codeword, read: dict[str, Any]) -> NDArray[np.intp]:
    """The region of each cell: the number of references at or below its voltage."""
    regions = np.empty(len(codeword.bits), dtype=np.intp)
    for its_cells, counts in zip(codeword.cells_by_state, counts_of(cells, codeword, read), strict=True):
        regions[its_cells] = np.repeat(np.arange(len(counts)), counts)
    return regions


def step_of(read: dict[str, Any], level: int, rber: float, code: Code) -> float:
    """The natural logarithm for which one step of the decoder's integers stands."""
    if level > 1:
        return float(read["llr_step"])
    # The LLR of a hard decision is kept finite even if none is wrong.
    rber = min(max(rber, 0.5 / code.codeword_bits), 0.499)
    return math.log((1 - rber) / rber)


def attempt_at(
    codeword: Codeword, level: int, read: dict[str, Any], regions: NDArray[np.intp], decoder: Decoder
) -> dict[str, Any]:
    """The decoder's input from a sensing, and the result of decoding it.

    The input is hard decisions at level 1, LLRs at other levels.
    """
    ones = (read["llrs"] < 0)[regions]
    result = decoder.decode(np.packbits(ones) if level == 1 else read["integer_llrs"][regions])
    return {
        "level": level,
        "sensings": read["sensings"],
        "bits_per_cell": read["bits_per_cell"],
        "information_bits": read["information"],
        "wrong_signs": int(np.count_nonzero(ones != codeword.bits)),
        "converged": bool(result.converged),
        "correct": bool((result.word == codeword.word).all()),
        "iterations": int(result.iterations),
        "violated_checks": int(result.syndrome_weight),
    }


def region_rows(cells: Cells, page: int, sensed: dict[int, dict[str, Any]], codeword: Codeword) -> list[dict[str, Any]]:
    """The bounds and contents of each region of each level, row by row."""
    rows = []
    bits = np.array([cells.bit(page, state) for state in range(cells.states)])
    for level, read in sensed.items():
        ends = [None, *read["references"].tolist(), None]
        counts = counts_of(cells, codeword, read)
        held = [counts[bits == bit].sum(axis=0) for bit in (False, True)]
        for region, (zero, one) in enumerate(read["probabilities"].tolist()):
            rows.append(
                {
                    "level": level,
                    "region": region,
                    "from_v": ends[region],
                    "to_v": ends[region + 1],
                    "p_given_0": zero,
                    "p_given_1": one,
                    "llr": float(read["llrs"][region]),
                    "integer_llr": int(read["integer_llrs"][region]),
                    "cells_with_0": int(held[0][region]),
                    "cells_with_1": int(held[1][region]),
                }
            )
    return rows


def states_of(cells: Cells, page: int, hard: dict[str, Any]) -> list[dict[str, Any]]:
    """Each state of the cells: its mean voltage and spread, and the share of its cells that are read wrongly."""
    moments = [each.means_and_spreads() for each in (cells.at(cells.pe_cycles, 0.0), cells)]
    rows = []
    for state in range(cells.states):
        bit = cells.bit(page, state)
        below = np.concatenate([[0.0], cells.cdf(state, hard["references"]), [1.0]])
        (written, written_spread), (now, spread) = (each[state].tolist() for each in moments)
        rows.append(
            {
                "state": state,
                "bits": "".join(str(int(cells.bit(each, state))) for each in range(len(cells.pages))),
                "bit": int(bit),
                "written_mean_v": written,
                "mean_v": now,
                "written_spread_v": written_spread,
                "spread_v": spread,
                "p_wrong": float(np.diff(below)[(hard["llrs"] < 0) != bit].sum()),
            }
        )
    return rows
