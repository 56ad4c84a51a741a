"""Cells from measurements: a model of threshold voltages that follows means and spreads of states by age."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softsense._core import Cells, ConfigError, read_text

COLUMNS = ("pe_cycles", "retention_days", "state", "mean", "sigma")
"""Columns of a file of measurements: a line for each age and state, where 0 is the erased state; sigma may be empty."""

VALLEY_COLUMNS = ("pe_cycles", "retention_days", "boundary", "reference", "rber")
"""Columns of a file of valleys: a line for each age, boundary between states (0 is the lowest) and reference.
`rber` is the share of all cells that the reference puts on the wrong side."""

GRID_COLUMNS = ("pe_cycles", "retention_days", "rber")
"""Columns of a file of raw bit error rates: a line for each age of a full grid."""

_Measurement = tuple[int, float, list[float], list[float] | None]


@dataclass(frozen=True)
class CellFit:
    """Cells fitted to measurements, and the errors of the fit, in units of the measurements.

    Attributes:
        toml: the cells, as `Cells.open` reads them from a file.
        rows: a dict for each age and state: `pe_cycles`, `retention_days`, `state`, and the measured `mean` and `sigma`
            (None where it was not measured). `mean_off` and `sigma_off` are fitted less measured values.
            `left_out_mean_off` and `left_out_sigma_off` are those of a fit without this age (None where it cannot be
            made).
    """

    toml: str
    rows: list[dict[str, Any]]


def fit(file: str | os.PathLike[str], mapping: str, *, unit_v: float = 1.0, temperature_c: float = 40.0) -> CellFit:
    """Fit cells to a file of means and spreads, or of valleys, by age.

    Args:
        file: CSV with the columns `COLUMNS`; means and spreads in any unit. Or with `VALLEY_COLUMNS`: raw bit error
            rates by reference, from which means and spreads of each age are found first.
        mapping: mapping of states to bits:  `slc`, `mlc`, `tlc_2_3_2`, `tlc_1_2_4`, `qlc_1_2_4_8`, `qlc_4_3_4_4`,
            `qlc_2_3_5_5`.
        unit_v: volts per unit of means and spreads.
        temperature_c: temperature of the measurement, in degrees Celsius.

    Raises `ConfigError` with the file and the line, for a mapping of another number of states, or for too few ages.
    A function of its arguments. See docs/model/threshold-voltage.md for the model.
    """
    measurements = _read_valleys(Path(file)) if _is_of_valleys(Path(file)) else _read(Path(file))

    def fitted(some: list[_Measurement]) -> str:
        return Cells.fit_json(some, mapping, unit_v, temperature_c)

    try:
        whole = fitted(measurements)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None
    rows = []
    for number, measured in enumerate(measurements):
        pe_cycles, retention_hours, means, sigmas = measured
        off = _differences(whole, measured, unit_v)
        try:
            left_out = _differences(fitted(measurements[:number] + measurements[number + 1 :]), measured, unit_v)
        except ConfigError:
            left_out = [(None, None)] * len(means)
        rows += [
            {
                "pe_cycles": pe_cycles,
                "retention_days": retention_hours / 24,
                "state": state,
                "mean": means[state],
                "sigma": sigmas[state] if sigmas else None,
                "mean_off": off[state][0],
                "sigma_off": off[state][1],
                "left_out_mean_off": left_out[state][0],
                "left_out_sigma_off": left_out[state][1],
            }
            for state in range(len(means))
        ]
    return CellFit(Cells.from_json(whole).toml(), rows)


def _differences(spec: str, measured: _Measurement, unit_v: float) -> list[tuple[float | None, float | None]]:
    """Differences of means and spreads of a model from those measured at an age, in the unit of the measurements."""
    pe_cycles, retention_hours, means, sigmas = measured
    found = Cells.from_json(spec, pe_cycles, retention_hours).means_and_spreads() / unit_v
    spreads = np.subtract(found[:, 1], sigmas).tolist() if sigmas else [None] * len(means)
    return list(zip(np.subtract(found[:, 0], means).tolist(), spreads, strict=True))


def rber_grid(file: str | os.PathLike[str]) -> str:
    """Raw bit error rates measured on a grid of ages, as TOML: the value of `rber` in a config's `reliability`.

    Args:
        file: CSV with the columns `GRID_COLUMNS`, a line for each number of P/E cycles and retention, in any order.

    Raises `ConfigError` with the file and the line; and for a grid with gaps. A function of its argument.
    """
    file = Path(file)
    rates: dict[tuple[int, float], float] = {}
    for where, row in _lines(file, GRID_COLUMNS):
        cycles, days, rber = (_number(where, name, text) for name, text in zip(GRID_COLUMNS, row, strict=True))
        if (int(cycles), days) in rates:
            raise ConfigError(
                f"{where}: found {cycles:g} P/E cycles and {days:g} days a second time, expected each age once"
            )
        rates[int(cycles), days] = rber
    if not rates:
        raise ConfigError(f"{file}: found no rates, expected a line for each age")
    pe_cycles, retention_days = sorted({cycles for cycles, _ in rates}), sorted({days for _, days in rates})
    for wear in pe_cycles:
        for days in retention_days:
            if (wear, days) not in rates:
                raise ConfigError(
                    f"{file}: found no rate at {wear} P/E cycles and {days:g} days, expected a full grid: a rate at "
                    "every P/E cycles for every number of days"
                )
    rows = ",\n".join(
        "    [" + ", ".join(f"{rates[wear, days]:g}" for days in retention_days) + "]" for wear in pe_cycles
    )
    at = ", ".join(f"{days!r}" for days in retention_days)
    return f"[grid]\npe_cycles = {pe_cycles}\nretention_days = [{at}]\nrber = [\n{rows},\n]\n"


def _columns(lines: Iterator[list[str]]) -> tuple[str, ...]:
    return tuple(name.strip() for name in next(lines, []))


def _is_of_valleys(file: Path) -> bool:
    return _columns(csv.reader(read_text(file).splitlines())) == VALLEY_COLUMNS


def _lines(file: Path, columns: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """The lines of a CSV file with these columns, each with its file and line number."""
    lines = csv.reader(read_text(file).splitlines())
    header = _columns(lines)
    if header != columns:
        raise ConfigError(f"{file}:1: found the columns `{','.join(header)[:60]}`, expected `{','.join(columns)}`")
    for number, row in enumerate(lines, start=2):
        if row and len(row) != len(columns):
            raise ConfigError(f"{file}:{number}: found {len(row)} columns, expected {len(columns)}")
        if row:
            yield f"{file}:{number}", row


def _read(file: Path) -> list[_Measurement]:
    ages: dict[tuple[int, float], dict[int, tuple[float, float | None]]] = {}
    for where, row in _lines(file, COLUMNS):
        pe_cycles, days, state, mean = (
            _number(where, name, text) for name, text in zip(COLUMNS[:-1], row[:-1], strict=True)
        )
        sigma = _number(where, "sigma", row[-1]) if row[-1].strip() else None
        of_age = ages.setdefault((int(pe_cycles), days), {})
        if int(state) in of_age:
            raise ConfigError(f"{where}: found state {int(state)} of this age a second time, expected each state once")
        of_age[int(state)] = (mean, sigma)
    measurements: list[_Measurement] = []
    for (cycles, days), states in ages.items():
        if sorted(states) != list(range(len(states))):
            where = f"{cycles} P/E cycles and {days:g} days"
            raise ConfigError(f"{file}: found states {sorted(states)} at {where}, expected all states from 0 on")
        values = [states[state] for state in range(len(states))]
        sigmas = [sigma for _, sigma in values if sigma is not None]
        if len(sigmas) not in (0, len(values)):
            where = f"{cycles} P/E cycles and {days:g} days"
            raise ConfigError(
                f"{file}: found spreads of some states at {where}, expected spreads of all states or of none"
            )
        measurements.append((cycles, days * 24, [mean for mean, _ in values], sigmas or None))
    if not measurements:
        raise ConfigError(f"{file}: found no measurements, expected a line for each age and state")
    return measurements


def _read_valleys(file: Path) -> list[_Measurement]:
    ages: dict[tuple[int, float], list[tuple[int, float, float]]] = {}
    for where, row in _lines(file, VALLEY_COLUMNS):
        pe_cycles, days, boundary, reference, rber = (
            _number(where, name, text) for name, text in zip(VALLEY_COLUMNS, row, strict=True)
        )
        ages.setdefault((int(pe_cycles), days), []).append((int(boundary), reference, rber))
    if not ages:
        raise ConfigError(f"{file}: found no valleys, expected a line for each reference at each boundary")
    measurements: list[_Measurement] = []
    for (cycles, days), points in ages.items():
        try:
            states = Cells.states_of_valleys(points, 2 + max(boundary for boundary, *_ in points))
        except ConfigError as error:
            raise ConfigError(f"{file}: at {cycles} P/E cycles and {days:g} days: {error}") from None
        measurements.append((cycles, days * 24, [mean for mean, _ in states], [sigma for _, sigma in states]))
    return measurements


_RANGES = {
    "pe_cycles": (0, 10**6),
    "retention_days": (0.0, 4e5),
    "state": (0, 15),
    "mean": (-1e6, 1e6),
    "sigma": (1e-6, 1e6),
    "boundary": (0, 14),
    "reference": (-1e6, 1e6),
    "rber": (0.0, 0.5),
}


def _number(where: str, name: str, text: str) -> float:
    low, high = _RANGES[name]
    whole = isinstance(low, int)
    with contextlib.suppress(ValueError):
        value = float(text)
        if low <= value <= high and not (whole and value != int(value)):
            return value
    kind = "a whole number" if whole else "a number"
    raise ConfigError(f"{where}: {name}: found `{text.strip()[:30]}`, expected {kind} from {low:g} to {high:g}")
