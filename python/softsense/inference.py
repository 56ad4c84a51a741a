"""Inference of references: a measurement at one boundary between states gives the offsets of all boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import ConfigError, DecodeTable
from softsense.retry_tables import PE_CYCLES, RETENTION_DAYS, by_age, with_references

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DEGREE = 5
_DRAWS = [NormalDist().inv_cdf((index + 0.5) / 21) for index in range(21)]
_EVERY_AGE = 1e-3
_RETRIED = 1e-2


@dataclass(frozen=True)
class Inference:
    """Parameters of an inference of references, and how well it works.

    Attributes:
        cells_json: the cells with `references.inference`, as JSON.
        toml: the cells with `references.inference` as TOML, which `Cells.open` reads from a file.
        fields: `references.inference`.
        boundaries: a dict for each boundary that might be measured: `boundary`, and a pair of numbers for each kind of
            measurement, `exactly`, by `sentinels` and by `share_of_ones`. The first number is the factor by which
            inferred references err more than the best ones (geometric mean). The second is the share of codewords that
            they fail in hard decision. Means are over ages and pages, ages weighted by how often they are retried.
        default_fails: the share of codewords that the default references fail.
        best_fails: the share of codewords that the best references fail.
    """

    cells_json: str
    toml: str
    fields: dict[str, Any]
    boundaries: list[dict[str, Any]]
    default_fails: float
    best_fails: float


def make(
    name: str,
    *,
    table: str = "flash-8-9",
    boundary: int | None = None,
    step_v: float = 0.0125,
    known_share: float = 0.002,
    counted_cells: int = 147_456,
    pe_cycles: Sequence[int] = PE_CYCLES,
    retention_days: Sequence[float] = RETENTION_DAYS,
) -> Inference:
    """Fit the inference of references of cells from a measurement at one boundary.

    The measurement is the difference d with default references: the share of cells of the lower state that read as the
    upper one, less the share of cells of the upper state that read as the lower one. The best offset of the boundary is
    fitted by a polynomial of degree 5 in d, and the offsets of the others by lines over that offset. Fits are least
    squares over all ages, each weighted by how often hard decisions fail there by default.

    Args:
        name: cells, a shipped model or a TOML file.
        table: the decode table whose level 1 has the failure probability at a raw bit error rate.
        boundary: the measured boundary, i between states i and i + 1; default: the one by which sentinels fail least.
        step_v: step of the offsets of references from the default ones, in volts.
        known_share: sentinels, as a share of a page's cells.
        counted_cells: cells of a page, whose share below the boundary is counted.
        pe_cycles: program/erase cycles of the ages.
        retention_days: days since the write of the ages.

    Returns the fitted inference, a function of the arguments.

    Raises `ConfigError`.

    Source: Q. Li et al., "Shaving Retries with Sentinels for Fast Read over High-Density 3D Flash", 2020, through notes
    of others: the polynomial and the lines. The weights, and the choice of the boundary, are ours.
    """
    if not 1e-4 <= step_v <= 1:
        raise ConfigError(f"step_v: found {step_v:g}, expected 0.0001 to 1")
    if not 2 <= known_share * counted_cells <= counted_cells:
        raise ConfigError(f"known_share: found {known_share:g} of {counted_cells:,} cells, expected 2 cells to all")
    _, aged, best = by_age(name, pe_cycles, retention_days)
    states = aged[0].states
    if boundary is not None and not 0 <= boundary < states - 1:
        raise ConfigError(f"boundary: found {boundary}, expected 0 to {states - 2}")
    hard = DecodeTable(table)

    def fails(rates: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = hard.p_fail(rates.ravel(), 1)[0].reshape(rates.shape)
        return found

    pages = range(len(aged[0].pages))
    by_default = np.array([[cells.rber(page) for page in pages] for cells in aged])
    by_best = np.array([[cells.rber(page) for page in pages] for cells in best])
    offsets = np.array([there.references - here.references for here, there in zip(aged, best, strict=True)])
    errors = np.array([cells.known_errors for cells in aged])
    weights = fails(by_default).mean(axis=1)
    retried = weights > _RETRIED
    if not retried.any():
        raise ConfigError(
            "pe_cycles: found no age at which default references fail 1 % of codewords, expected at least one: cover "
            "more P/E cycles"
        )

    known, rows, candidates = int(known_share * counted_cells) // 2 * 2, [], {}
    for at in range(states - 1) if boundary is None else [boundary]:
        differences = errors[:, at, 0] - errors[:, at, 1]
        fit = _fit(differences, offsets, at, np.sqrt(weights + _EVERY_AGE))
        within = [float(differences[retried].min()), float(differences[retried].max())]
        below = (at + 1) / states
        spreads = {
            "exactly": np.zeros_like(differences),
            "sentinels": np.sqrt((errors[:, at] * (1 - errors[:, at])).sum(axis=1) / (known / 2)),
            "share_of_ones": np.full_like(differences, states * np.sqrt(below * (1 - below) / counted_cells)),
        }
        row: dict[str, Any] = {"boundary": at}
        for measured, spread in spreads.items():
            off, failed = [], []
            for age in np.flatnonzero(retried):
                seen = np.clip(differences[age] + spread[age] * np.array(_DRAWS), within[0], within[1])
                moved = np.round(np.polynomial.polynomial.polyval(seen, fit[0]) / step_v) * step_v
                rates = aged[age].rber_off(fit[1][0] + moved[:, None] * fit[1][1])
                off.append(np.log(rates / by_best[age]).mean())
                failed.append(fails(rates).mean())
            mean = [float(np.average(each, weights=weights[retried])) for each in (off, failed)]
            row[measured] = (float(np.exp(mean[0])), mean[1])
        rows.append(row)
        furthest = np.abs(np.polynomial.polynomial.polyval(np.linspace(within[0], within[1], 1001), fit[0])).max()
        candidates[at] = {
            "boundary": at,
            "step_v": step_v,
            "steps": int(min(100, np.ceil(furthest / step_v) + 2)),
            "offset_v": [float(coefficient) for coefficient in fit[0]],
            "differences": within,
            "follow": [[float(start), float(slope)] for start, slope in fit[1].T],
            "sentinels": known,
            "calibration_steps": 1,
            "counted_cells": counted_cells,
        }
    chosen = candidates[min(rows, key=lambda row: row["sentinels"][1])["boundary"]]
    made = with_references(name, inference=chosen)

    def mean_failing(rates: NDArray[np.float64]) -> float:
        return float(np.average(fails(rates).mean(axis=1)[retried], weights=weights[retried]))

    return Inference(made.spec_json, made.toml(6), chosen, rows, mean_failing(by_default), mean_failing(by_best))


def _fit(
    differences: NDArray[np.float64], offsets: NDArray[np.float64], boundary: int, weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients of the polynomial, and offset and slope of each line."""
    # Differences are scaled, so that their fifth powers are as well told apart as the first ones.
    scale = np.abs(differences).max()
    powers = np.vander(differences / scale, _DEGREE + 1, increasing=True)
    polynomial = np.linalg.lstsq(powers * weights[:, None], offsets[:, boundary] * weights)[0]
    line = np.stack([np.ones(len(offsets)), offsets[:, boundary]], axis=1)
    lines = np.linalg.lstsq(line * weights[:, None], offsets * weights[:, None])[0].astype(np.float64, copy=False)
    scaled = (polynomial / scale ** np.arange(_DEGREE + 1)).astype(np.float64, copy=False)
    return scaled, lines
