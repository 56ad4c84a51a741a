"""Flash cells at an age: their properties, how pages are read, and how long a chip is baked to age like that."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from softsense._core import (
    MAX_LEVEL,
    Cells,
    Code,
    Config,
    ConfigError,
    recovery_bake_minutes,
    retention_bake_minutes,
)
from softsense.measured_part import of_what_was_measured

_CALIBRATION_CODEWORDS = 65_536
_STARTING_CODEWORDS = 8192


def page_number(cells: Cells, page: str) -> int:
    """The number of the page that `page` names or numbers.

    Raises `ConfigError`.

    >>> page_number(Cells.open("mlc"), "upper")
    1
    """
    if page in cells.pages:
        return cells.pages.index(page)
    if page.isdecimal() and int(page) < len(cells.pages):
        return int(page)
    raise ConfigError(f"page: found `{page}`, expected {', '.join(cells.pages)}, or 0 to {len(cells.pages) - 1}")


def listed() -> list[dict[str, Any]]:
    """The shipped models of cells, a dict each, ready for JSON.

    `name`, `bits` (of a cell), `pages` (of a wordline), `retry_entries` (of the chip's retry table), `reads_disturb`,
    and `voltages`: `by age` (means and spreads), or `by equations` of noise and retention.

    >>> [row["bits"] for row in listed() if row["name"] == "qlc-charge-trap"]
    [4]
    """
    rows = []
    for cells, name in ((Cells.open(name, 0, 0.0), name) for name in Cells.names()):
        spec, row = json.loads(cells.spec_json), {"name": name, "bits": len(cells.pages), "pages": list(cells.pages)}
        row["retry_entries"] = len(spec["references"].get("retry_table_v", []))
        row["reads_disturb"] = cells.adjacent_stress is not None
        rows.append(row | {"voltages": "by age" if "measured" in spec else "by equations"})
    return rows


def describe(cells: Cells, level: int = MAX_LEVEL, placement: str = "mutual_information") -> dict[str, Any]:
    """The properties of cells at their age, as numbers ready for JSON.

    Args:
        cells: the cells.
        level: the read level that is described beside hard decision, 1 to 7.
        placement: the placement of references: `mutual_information`, `nested` or `uniform`.

    Raises `ConfigError`.

    >>> facts = describe(Cells.open("mlc", pe_cycles=10_000, retention_hours=8760), level=3)
    >>> [(page["name"], page["bits"], len(page["llrs"])) for page in facts["pages"]]
    [('lower', '1100', 4), ('upper', '1001', 7)]
    """
    pages = []
    default, tracked = cells.with_references("default"), cells.with_references("tracked")
    for page, name in enumerate(cells.pages):
        read = cells.sense(page, level, placement=placement)
        hard = cells.sense(page, 1)
        pages.append(
            {
                "name": name,
                "bits": "".join(str(int(cells.bit(page, state))) for state in range(cells.states)),
                "rber": cells.rber(page),
                "default_references_rber": default.rber(page),
                "tracked_references_rber": tracked.rber(page),
                "hard_references_v": cells.hard_references(page).tolist(),
                "hard_information_bits": hard["information"],
                "hard_sensings": hard["sensings"],
                "references_v": read["references"].tolist(),
                "llrs": read["llrs"].tolist(),
                "integer_llrs": read["integer_llrs"].tolist(),
                "probabilities": read["probabilities"].tolist(),
                "information_bits": read["information"],
                "sensings": read["sensings"],
                "bits_per_cell": read["bits_per_cell"],
            }
        )
    return {
        "pe_cycles": cells.pe_cycles,
        "retention_days": cells.retention_hours / 24,
        "effective_reads": cells.effective_reads,
        "states": cells.states,
        "means_v": cells.means_and_spreads()[:, 0].tolist(),
        "spreads_v": cells.means_and_spreads()[:, 1].tolist(),
        "level": level,
        "placement": placement,
        "rber": cells.rber(),
        "pages": pages,
        "cells": json.loads(cells.spec_json),
    }


def rber_by_age(
    name: str,
    pe_cycles: Sequence[int],
    retention_days: Sequence[float],
    *,
    levels: Sequence[int] = (),
    retention_temperature_c: float | None = None,
) -> list[dict[str, Any]]:
    """Raw bit error rates of cells by age, with the chip's default references and with references that track the age.

    Args:
        name: a shipped model or a TOML file.
        pe_cycles: program/erase cycles.
        retention_days: days since the cells were written.
        levels: read levels, 1 to 7, for which to compute the mutual information.
        retention_temperature_c: temperature at which data rests, in degrees Celsius; default: the model's.

    Returns a dict for each age: `pe_cycles` and `retention_days`. `default` and `tracked` are mean raw bit error rates
    of the pages, `default_pages` and `tracked_pages` the rates of each page. `information` is the mean mutual
    information over the pages, by level, in bits, with references that track the age.

    Raises `ConfigError`.

    >>> (row,) = rber_by_age("tlc-measured", [3000], [90])
    >>> row["default"] > 1.5 * row["tracked"]
    True
    """
    rows = []
    for cycles in pe_cycles:
        for days in retention_days:
            cells = Cells.open(name, cycles, days * 24, "default", retention_temperature_c)
            tracked, pages = cells.with_references("tracked"), range(len(cells.pages))
            information = {
                level: sum(tracked.sense(page, level)["information"] for page in pages) / len(pages) for level in levels
            }
            rows.append(
                {
                    "pe_cycles": cycles,
                    "retention_days": days,
                    "default": cells.rber(),
                    "tracked": tracked.rber(),
                    "default_pages": {page: cells.rber(number) for number, page in enumerate(cells.pages)},
                    "tracked_pages": {page: tracked.rber(number) for number, page in enumerate(cells.pages)},
                    "information": information,
                }
            )
    return rows


def rber_by_reads(
    name: str,
    reads: Sequence[float],
    *,
    pe_cycles: int = 1000,
    retention_days: float = 0.0,
    wordlines_per_block: int = 256,
) -> list[dict[str, Any]]:
    """Raw bit error rates of cells after reads of one adjacent wordline, or of the whole block evenly.

    Args:
        name: a shipped model or a TOML file of cells with `read_disturb`.
        reads: numbers of reads of the block since the cells were written.
        pe_cycles: program/erase cycles.
        retention_days: days since the cells were written.
        wordlines_per_block: wordlines per block, 3 or more.

    Returns a dict for each number of reads and way to read (`pattern`: `one_neighbour` or `even`), with `reads` and
    `effective_reads`. `default` and `best` are mean raw bit error rates of the pages with the chip's default
    references, and with the best ones. `default_worst` and `best_worst` are those of the worst page.

    Raises `ConfigError`.

    >>> hammered, even = rber_by_reads("tlc-measured", [300_000])
    >>> hammered["default"] > 4 * even["default"], hammered["best"] < hammered["default"]
    (True, True)
    """
    fresh = Cells.open(name)
    stress = fresh.adjacent_stress
    if stress is None:
        raise ConfigError(f"{name}: found cells without `read_disturb`, expected cells that reads disturb")
    rows = []
    for count in reads:
        even = fresh.effective_reads_if_even(count, wordlines_per_block)
        for pattern, effective in (("one_neighbour", count * stress), ("even", even)):
            cells = Cells.open(name, pe_cycles, retention_days * 24, "default", effective_reads=effective)
            row = {"reads": count, "pattern": pattern, "effective_reads": cells.effective_reads}
            for references, placed in (("default", cells), ("best", cells.with_references("tracked"))):
                pages = [placed.rber(page) for page in range(len(cells.pages))]
                row |= {references: sum(pages) / len(pages), f"{references}_worst": max(pages)}
            rows.append(row)
    return rows


def measures(
    name: str,
    code: str = "flash-8/9",
    *,
    pe_cycles: int = 3000,
    retention_days: float = 90.0,
    cells: int = 147_456,
    known_share: float = 0.002,
) -> list[dict[str, Any]]:
    """Measures that a controller can take of the pages of a wordline, and how well each shows misplaced references.

    Args:
        name: a shipped model or a TOML file; a search for valleys needs `references.valley_search`.
        code: the LDPC code of the codewords.
        pe_cycles: program/erase cycles.
        retention_days: days since the write.
        cells: cells per page, 1 to 10,000,000.
        known_share: the share of cells whose state is known, 0 to 1; half of them in either state about a boundary.

    Returns a dict for each page and measure: `page` and `measure`. Measures are `violated_checks` of a codeword, `ones`
    of a page, `known_errors` (of the upper state less those of the lower state, at the page's boundary that has moved
    furthest), or `valley_search`. `default` and `best` are means of the measure with the chip's default references and
    with the best ones; for a search the raw bit error rates after it, and with the best references. `sigma` is the
    standard deviation of one measurement with default references; None for a search. `sensings` counts sensings of the
    wordline at one reference, `transferred_bits` the bits that leave the chip, `of` the bits, checks or cells.

    Raises `ConfigError` or `CodeError`. The result is a function of the arguments, without random numbers.

    >>> rows = measures("tlc-measured", retention_days=365)
    >>> checks = next(row for row in rows if (row["page"], row["measure"]) == ("centre", "violated_checks"))
    >>> checks["default"] - checks["best"] > 4 * checks["sigma"]
    True
    """
    default = Cells.open(name, pe_cycles, retention_days * 24, "default")
    best = default.with_references("tracked")
    opened = Code.open(code)
    rows = []
    for number, page in enumerate(default.pages):
        for measure, measured in _measures_of_page(default, best, number, opened, cells, known_share).items():
            rows.append({"page": page, "measure": measure, **measured})
    return rows


def _measures_of_page(
    default: Cells, best: Cells, page: int, code: Code, cells: int, known_share: float
) -> dict[str, dict[str, Any]]:
    boundaries = default.boundaries(page)
    moved = np.abs(best.references - default.references)
    furthest = max(boundaries, key=lambda boundary: moved[boundary])
    both = (default, best)

    def measured(found: Sequence[float], sigma: float | None, sensings: int, bits: int, of: int) -> dict[str, Any]:
        means = {"default": float(found[0]), "best": float(found[1]), "sigma": sigma}
        return {**means, "sensings": sensings, "transferred_bits": bits, "of": of}

    (weight, weight_sigma), (least, _) = (code.syndrome_weights(each.rber(page)) for each in both)
    ones = [float(each.shares_of_ones[page]) for each in both]
    ones_sigma = math.sqrt(cells * ones[0] * (1 - ones[0]))
    half = known_share * cells / 2
    errors = [each.known_errors[furthest] for each in both]
    known_sigma = math.sqrt(half * float(sum(share * (1 - share) for share in errors[0])))
    differ = [half * float(down - up) for up, down in errors]
    # The die counts ones, as in a search, and sends only a counter of 32 bits.
    rows = {
        "violated_checks": measured((weight, least), weight_sigma, len(boundaries), code.codeword_bits, code.checks),
        "ones": measured([cells * share for share in ones], ones_sigma, len(boundaries), 32, cells),
        "known_errors": measured(differ, known_sigma, 1, round(2 * half), round(2 * half)),
    }
    with contextlib.suppress(ConfigError):
        search = default.search_valleys()
        sensings = (len(search["offsets_v"]) + 1) * len(boundaries)
        rows["valley_search"] = measured((search["rber"][page], best.rber(page)), None, sensings, 0, cells)
    return rows


def starting_reliability(config: Config) -> list[dict[str, Any]]:
    """Error rates of a config's codewords at the start of a run: a row for each page type, and one for all of them.

    Args:
        config: a config whose `reliability` has raw bit error rates.

    Returns `page_type` (its name, or `all`), `rber` (mean raw bit error rate), `p_fail_hard` and `p_fail`. The last two
    are mean probabilities that decoding fails with hard decision, and at the deepest level (NaN with
    `reliability.exact`). Means are over 8,192 of its codewords. The result is a function of the config.

    Raises `ConfigError`.

    >>> [row["page_type"] for row in starting_reliability(Config.open("tlc-femu"))]
    ['lower', 'centre', 'upper', 'all']
    """
    sample = config.sample_codewords(_STARTING_CODEWORDS)
    names = [page_type["name"] for page_type in config.fields.flash.page_types]
    rows = []
    for number, name in [*enumerate(names), (None, "all")]:
        chosen = slice(None) if number is None else sample["page_type"] == number
        means = {
            column: float(sample[column][chosen].mean()) if sample[column][chosen].size else float("nan")
            for column in ("rber", "p_fail_hard", "p_fail")
        }
        rows.append({"page_type": name, **means})
    return rows


def reliability_by_age(
    config: Config, pe_cycles: Sequence[int], retention_days: Sequence[float]
) -> list[dict[str, Any]]:
    """Error rates, retries and uncorrectable reads of a config over the life of its flash, without a simulation.

    Args:
        config: a config whose `reliability` has raw bit error rates, and a decode table or a formula.
        pe_cycles: program/erase cycles.
        retention_days: days since the data was written.

    Returns a dict for each age: `pe_cycles`, `retention_days`, `rber` (mean raw bit error rate) and `p_fail_hard` (mean
    probability that hard decision fails). `references` of both are `tracked`, the best of that age, or `default`;
    `None` without threshold voltages. `retries` is the mean number of steps after the first, beginning where
    `read.references` says. `p_uncorrectable` is the mean probability that every step of the policy fails, `uber` that
    probability per bit of data. `not_measured` is the share of both that the decode table did not measure:
    extrapolated, or an upper bound that was carried on. It is None without a decode table. Means are over 8,192
    codewords. The result is a function of the arguments.

    Raises `ConfigError`.

    >>> young, old = reliability_by_age(Config.open("tlc-femu"), [1000, 9000], [90])
    >>> young["uber"] < 1e-16 < old["uber"], young["retries"] < old["retries"]
    (True, True)
    """
    unit_bits = 8 * config.fields.geometry.codeword_bytes
    cells = config.cells()
    tracked = cells is not None and json.loads(cells.spec_json)["references"]["tracked"]
    references = None if cells is None else "tracked" if tracked else "default"
    rows = []
    with of_what_was_measured(config) as measured:
        for days, cycles in itertools.product(retention_days, pe_cycles):
            start = {"pe_cycles": cycles, "retention_days": float(days), "ssds": []}
            age = [f"precondition.{field}={value}" for field, value in start.items()]
            aged = config.with_overrides(age)
            sample = aged.sample_codewords(_STARTING_CODEWORDS)
            codes = aged.bch_codes()
            of_age = next((code for code in codes if cycles <= code["to_pe_cycles"]), codes[-1]) if codes else {}
            mean = {name: float(sample[name].mean()) for name in ("rber", "p_fail_hard", "p_uncorrectable")}
            if np.isnan(mean["p_uncorrectable"]):
                message = "found `exact`, expected `reliability.table`: failures are looked up in a decode table"
                raise ConfigError(f"reliability.exact: {message}")
            row = {"pe_cycles": cycles, "retention_days": days, **mean, "references": references, "not_measured": None}
            row["retries"] = float(sample["mean_steps"].mean()) - 1
            row["uber"] = mean["p_uncorrectable"] * of_age.get("codewords_per_unit", 1) / unit_bits
            if measured and mean["p_uncorrectable"]:
                known = measured.with_overrides(age).sample_codewords(_STARTING_CODEWORDS)["p_uncorrectable"]
                row["not_measured"] = max(0.0, 1 - float(known.mean()) / mean["p_uncorrectable"])
            rows.append(row)
    return rows


def bake_minutes(
    *,
    bake_c: float,
    operating_c: float,
    retention_days: float,
    cycling_c: float,
    cycling_days: float,
    activation_energy_ev: float,
    recovery_constant: float,
) -> dict[str, float]:
    """The two baking times of an aging protocol, `recovery_bake_minutes` and `retention_bake_minutes`.

    Args:
        bake_c: temperature of the oven, in degrees Celsius like all others.
        operating_c: temperature at which the data would rest.
        retention_days: days for which the data would rest.
        cycling_c: temperature at which blocks would be cycled.
        cycling_days: days over which blocks would be cycled.
        activation_energy_ev: activation energy of the failure mechanism, in eV.
        recovery_constant: the constant A of the technology.

    Raises `ConfigError`.

    Source: K. Zhao et al., "LDPC-in-SSD", 2013, eqs. 5 and 6.

    >>> times = bake_minutes(
    ...     bake_c=105, operating_c=40, retention_days=30, cycling_c=40, cycling_days=400,
    ...     activation_energy_ev=1.1, recovery_constant=0.022,
    ... )
    >>> {name: round(minutes, 1) for name, minutes in times.items()}
    {'recovery_bake_minutes': 11.5, 'retention_bake_minutes': 39.1}
    """
    for name, celsius in (("bake_c", bake_c), ("operating_c", operating_c), ("cycling_c", cycling_c)):
        if not -273 < celsius <= 1000:
            raise ConfigError(f"{name}: found {celsius:g}, expected degrees Celsius above -273")
    positive = {
        "retention_days": retention_days,
        "cycling_days": cycling_days,
        "activation_energy_ev": activation_energy_ev,
        "recovery_constant": recovery_constant,
    }
    for name, value in positive.items():
        if not 0 <= value <= 1e6:
            raise ConfigError(f"{name}: found {value:g}, expected 0 to 1e6")
    return {
        "recovery_bake_minutes": recovery_bake_minutes(
            recovery_constant, cycling_days * 24, cycling_c, bake_c, activation_energy_ev
        ),
        "retention_bake_minutes": retention_bake_minutes(
            retention_days * 24, operating_c, bake_c, activation_energy_ev
        ),
    }


def calibrate(config: Config, p_fail: float, level: int = 1) -> list[float]:
    """The `chip_factors` of a config, scaled to a given mean probability of decoding failure.

    The device is in its initial state: at the wear and the age of `precondition`, with its page types and its blocks.
    65,536 of its codewords are sampled, and their failure probabilities are taken from the decode table. Bisection then
    finds one factor on all raw bit error rates. The ratios of the chip factors stay.

    Args:
        config: a config with `reliability.table` and `variation.chip_factors`, and without overdispersion or
            interleaving.
        p_fail: the mean probability that decoding fails, above 0 and below 1.
        level: the read level of that probability, 1 to 7.

    Returns factors with four digits after the point, in the order of the config. They are a function of the arguments.

    Raises `ConfigError`.

    >>> config = Config.open("mlc-25nm", ["geometry.blocks_per_plane=256", "workload.footprint_bytes=67108864"])
    >>> factors = calibrate(config, p_fail=0.1)
    >>> len(factors), all(factor > 0 for factor in factors)
    (4, True)
    """
    variation = _known_chips(config)
    if variation["overdispersion"]:
        raise ConfigError(
            "reliability.table.variation.overdispersion: found overdispersion, expected 0: all raw bit error "
            "rates have to scale together"
        )
    if not 0 < p_fail < 1:
        raise ConfigError(f"p_fail: found {p_fail:g}, expected a probability above 0 and below 1")
    rber = config.sample_codewords(_CALIBRATION_CODEWORDS)["rber"]
    low, high = 0.0, 0.5 / rber.min()
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        fails = config.p_fail(np.minimum(middle * rber, 0.5), level)[-1].mean()
        low, high = (low, middle) if fails > p_fail else (middle, high)
    scale = float(low + high) / 2
    return [round(factor * scale, 4) for factor in variation["chip_factors"]]


def chip_failures(config: Config, level: int = 1) -> list[dict[str, float]]:
    """Error rates of known chips in a device at its start: a row for each of its `chip_factors`.

    Args:
        config: a config with `reliability.table` and `variation.chip_factors`.
        level: the read level of `p_fail`.

    Returns `factor`, `rber` (mean raw bit error rate of the chip's codewords) and `p_fail` (mean probability that
    decoding them fails), over 65,536 codewords of the device. The result is a function of the arguments.

    Raises `ConfigError`.

    >>> config = Config.open("mlc-25nm", ["geometry.blocks_per_plane=256", "workload.footprint_bytes=67108864"])
    >>> chips = chip_failures(config)
    >>> sorted(chips, key=lambda chip: chip["factor"]) == sorted(chips, key=lambda chip: chip["p_fail"])
    True
    """
    factors = _known_chips(config)["chip_factors"]
    sample = config.sample_codewords(_CALIBRATION_CODEWORDS)
    fails = config.p_fail(sample["rber"], level)[-1]
    rows = []
    if (chips := int(sample["chip"].max()) + 1) < len(factors):
        raise ConfigError(
            f"reliability.table.variation.chip_factors: found {len(factors)} factors for {chips} "
            f"chip{'s' * (chips != 1)}, expected no more factors than chips"
        )
    for index, factor in enumerate(factors):
        chosen = sample["chip"] % len(factors) == index
        rows.append(
            {"factor": factor, "rber": float(sample["rber"][chosen].mean()), "p_fail": float(fails[chosen].mean())}
        )
    return rows


def _known_chips(config: Config) -> dict[str, Any]:
    """The variation of a config with a decode table and known chips."""
    reliability = config.fields.reliability
    if not isinstance(reliability, dict) or "table" not in reliability:
        raise ConfigError("reliability: found a reliability without a decode table, expected `reliability.table`")
    variation: dict[str, Any] = reliability["table"]["variation"]
    if not variation["chip_factors"]:
        raise ConfigError(
            "reliability.table.variation.chip_factors: found no factors, expected the factors of known chips"
        )
    return variation
