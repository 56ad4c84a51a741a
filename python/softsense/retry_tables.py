"""Retry tables: few sets of reference voltages, one of which decodes wherever the best references would."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softsense._core import Cells, ConfigError, DecodeTable

PE_CYCLES = tuple(range(0, 3001, 300))
_WORTH_AN_ENTRY = 1e-6
RETENTION_DAYS = (0.0, 0.1, 1.0, 3.0, 7.0, 14.0, 30.0, 60.0, 90.0, 180.0, 365.0)


@dataclass(frozen=True)
class RetryTable:
    """A retry table, and how many codewords it decodes.

    Attributes:
        cells_json: the cells with the table, as JSON.
        toml: the cells with the table as TOML, which `Cells.open` reads from a file.
        offsets_v: a row for each entry: offsets of the default references at each boundary, in volts; the first is 0.
        made_for: the age, in P/E cycles and days, at which each entry is the best.
        decoded: the share of codewords that one of the first 1, 2, ... entries decodes in hard decision, of those that
            the best references decode, over all ages and pages alike.
        worst: the least of these shares after the last entry, at one age and page: `pe_cycles`, `retention_days`,
            `page` and `decoded`.
    """

    cells_json: str
    toml: str
    offsets_v: list[list[float]]
    made_for: list[tuple[int, float]]
    decoded: list[float]
    worst: dict[str, Any]


def make(
    name: str,
    *,
    table: str = "flash-8-9",
    entries: int = 12,
    step_v: float = 0.0125,
    pe_cycles: Sequence[int] = PE_CYCLES,
    retention_days: Sequence[float] = RETENTION_DAYS,
    goal: float = 0.99999,
) -> RetryTable:
    """Choose the entries of a retry table for cells.

    Candidates are the best references of each age. The default references come first. Then the candidate that decodes
    the most remaining codewords is added. This ends when the table decodes a share `goal` of the codewords that the
    best references decode, when no candidate adds anything, or when there are `entries` entries.

    Args:
        name: cells, a shipped model or a TOML file.
        table: the decode table whose level 1 has the failure probability at a raw bit error rate.
        entries: largest number of entries, 1 to 100, including the first one, the chip's default references.
        step_v: step of the offsets of references from the default ones, in volts.
        pe_cycles: program/erase cycles of the ages.
        retention_days: days since the write of the ages.
        goal: the share of codewords at which the entries suffice.

    Returns the table, a function of the arguments.

    Raises `ConfigError`.

    >>> table = make("tlc-measured", pe_cycles=[0, 3000], retention_days=[0, 365])
    >>> table.offsets_v[0], table.decoded[0] < table.decoded[-1]
    ([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], True)
    """
    if not 1 <= entries <= 100:
        raise ConfigError(f"entries: found {entries}, expected 1 to 100")
    if not 1e-6 <= step_v <= 1:
        raise ConfigError(f"step_v: found {step_v:g}, expected 1e-06 to 1")
    ages, aged, best = by_age(name, pe_cycles, retention_days)
    moved = [tracked.references - cells.references for cells, tracked in zip(aged, best, strict=True)]
    offsets = np.array([np.zeros_like(moved[0]), *(np.round(each / step_v) * step_v for each in moved)])
    offsets, first = np.unique(offsets, axis=0, return_index=True)
    order = np.argsort(first)
    # The default references come first; each candidate is of the first age that has it.
    offsets, made_for = offsets[order], [ages[max(0, index - 1)] for index in first[order]]

    hard = DecodeTable(table)
    rates = np.array([cells.rber_off(offsets) for cells in aged])
    fails = hard.p_fail(rates.ravel(), 1)[0].reshape(rates.shape)
    best_rates = np.array([[cells.rber(page) for page in range(len(cells.pages))] for cells in best])
    best_decodes = 1 - hard.p_fail(best_rates.ravel(), 1)[0].reshape(best_rates.shape)
    # A codeword that fails with one entry fails with all that are as bad, so the best entry determines what is left.
    chosen, left = [0], fails[:, 0, :]
    decoded = [_share(left, best_decodes)]
    while len(chosen) < entries and decoded[-1] < goal:
        after = np.minimum(fails, left[:, None, :])
        following = int(np.argmin(after.sum(axis=(0, 2))))
        if (share := _share(after[:, following, :], best_decodes)) < decoded[-1] + _WORTH_AN_ENTRY:
            break
        chosen.append(following)
        left = after[:, following, :]
        decoded.append(share)
    # If even the best references decode next to nothing there is no share to speak of.
    shares = np.where(best_decodes > 1e-3, np.minimum(1 - left, best_decodes) / np.maximum(best_decodes, 1e-3), 1.0)
    age, page = np.unravel_index(int(np.argmin(shares)), shares.shape)
    worst = {
        "pe_cycles": ages[age][0],
        "retention_days": ages[age][1],
        "page": aged[0].pages[page],
        "decoded": float(shares[age, page]),
    }
    rows = np.round(offsets[chosen] + 0.0, 9).tolist()
    made = with_references(name, retry_table_v=rows)
    return RetryTable(made.spec_json, made.toml(4), rows, [made_for[index] for index in chosen], decoded, worst)


def by_age(
    name: str, pe_cycles: Sequence[int], retention_days: Sequence[float]
) -> tuple[list[tuple[int, float]], list[Cells], list[Cells]]:
    """Ages (P/E cycles and days since the write), and the cells there, with default and with the best references.

    Raises `ConfigError`.
    """
    ages = [(cycles, days) for cycles in pe_cycles for days in retention_days]
    aged = [Cells.open(name, cycles, days * 24, "default") for cycles, days in ages]
    return ages, aged, [cells.with_references("tracked") for cells in aged]


def with_references(name: str, **fields: Any) -> Cells:
    """Cells with some fields of their `references` replaced.

    Raises `ConfigError`.
    """
    spec = json.loads(Cells.open(name).spec_json)
    spec["references"] |= fields
    return Cells.from_json(json.dumps(spec))


def _share(left: np.ndarray[Any, np.dtype[np.float64]], best_decodes: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    # An entry may decode some codewords that the references which are best for the mean of a page do not.
    return float(np.minimum(1 - left, best_decodes).sum() / best_decodes.sum())
