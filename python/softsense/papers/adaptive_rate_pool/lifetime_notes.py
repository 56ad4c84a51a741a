"""Notes of the report below table II."""

from __future__ import annotations

from typing import Any

import polars as pl

from softsense import decode_tables
from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import markdown_table
from softsense.papers.adaptive_rate_pool.lifetimes import (
    CAPACITY_TB,
    FIXED_CAPACITY,
    Scheme,
    amplification,
    assumed,
    measured,
    nominal_limits,
    printed,
    raw_rates,
    user_rate,
    with_fixed_capacity,
    worn_by,
)
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE, GEOMETRY, PUBLISHED, RATES, YEARS, table_of
from softsense.papers.adaptive_rate_pool.wear import FITTED, PE_EXPONENT, fit, life, limit

# Tabulated failure probability next to the demand, by which 1.6e-10 to 5e-10 of decodes may fail.
_NEAR_DEMAND = 1e-10


def of_fits() -> str:
    """A note on other printed endurances to which the wear might have been fitted."""
    heads = ["fitted to", *RATES, "adaptive over the best rate", "over their mean"]

    def row(label: str, scheme: Scheme, fitted: str = "") -> list[str]:
        cells = [f"{scheme.endurance[rate]:.1f}{' (fitted)' * (rate == fitted)}" for rate in RATES]
        return [label, *cells, f"{scheme.over_best:.2f}", f"{scheme.over_mean:.2f}"]

    share = measured().share
    rows = [row("printed", printed())]
    rows += [row(f"rate {rate}", Scheme(worn_by(PE_EXPONENT, rate), share), rate) for rate in RATES]
    rows += [row(f"rate {FITTED}, {name}", scheme, FITTED) for name, scheme in assumed().items()]
    limits = [f"{limit(rate):.4f} ({rate})" for rate in RATES]
    near = {rate: _threshold(rate) for rate in RATES}
    wide = max((row["hi"] / row["lo"]) ** (1 / PE_EXPONENT) - 1 for row in near.values())
    partly = [rate for rate, row in near.items() if not row["complete"]]
    known = f" For {listed(partly)} failures as rare as that are in part extrapolated." if partly else ""
    others = [f"{nominal_limits()[rate]:.4f} ({rate})" for rate in RATES]
    return (
        f"RBER = scale (PE / 1000)^{PE_EXPONENT}; the scale of {fit():.3g} is fitted, so that rate {FITTED} lasts "
        f"{printed().endurance[FITTED]:g} kPE. Codes deliver 1e-14 up to an RBER of {listed(limits)}; 95 % intervals "
        f"of the tables there are {as_share(wide, 1)} of an endurance wide at most.{known} Codes of the printed rates, "
        f"all as close to the capacity of hard decisions as that of {FITTED}, would up to {listed(others)}. "
        "Endurances in kPE, with what else might have been fitted, and other assumptions:\n\n"
        + markdown_table(heads, rows)
    )


def _threshold(rate: str) -> dict[str, Any]:
    """The raw bit error rate at which decoding fails about as often as the demand allows."""
    return next(row for row in decode_tables.describe(table_of(rate))["thresholds"] if row["failure"] == _NEAR_DEMAND)


def of_years() -> str:
    """A note on the meaning of the printed years and data rates."""
    speeds = {scheme: user_rate(scheme) for scheme in PUBLISHED["lifetime"]["rates"]}
    least, most = min(speeds, key=lambda s: speeds[s]), max(speeds, key=lambda s: speeds[s])
    chips = GEOMETRY["ssds"] * GEOMETRY["channels_per_ssd"] * GEOMETRY["chips_per_channel"]
    capacity = chips * GEOMETRY["chip_gbit"] / 8 / 1024
    raw = raw_rates(printed(), YEARS)
    printed_raw = PUBLISHED["lifetime"]["normalized_data_rate_gbps"]
    heads = ["", *PUBLISHED["lifetime"]["rates"]]
    rows = [
        ["printed, GB/s", *(f"{value:.1f}" for value in printed_raw)],
        [f"printed endurance x {CAPACITY_TB} TB / printed years", *(f"{raw[s]:.1f}" for s in speeds)],
        ["the same x rate: user data", *(f"{speeds[s]:.1f}" for s in speeds)],
    ]
    return (
        f"Printed endurance x rate x {CAPACITY_TB} TB over printed years is {speeds[least]:.1f} ({least}) to "
        f"{speeds[most]:.1f} GB/s ({most}): about one rate of writing for all. The capacity is {CAPACITY_TB} TB in the "
        f"text and {GEOMETRY['total_tb_table']} TB in table I, whose {chips} chips of {GEOMETRY['chip_gbit']} Gbit are "
        f"{capacity:g} TB. The normalised data rates are that before the code takes its share, within "
        f"{as_share(max(abs(raw[s] / value - 1) for s, value in zip(RATES, printed_raw, strict=False)), 0)} for fixed "
        f"rates; the adaptive one, {printed_raw[-1]}, is not ({raw[ADAPTIVE]:.1f}), unless it is that of the last "
        f"rate:\n\n" + markdown_table(heads, rows)
    )


def of_amplification() -> str:
    """A note on the bytes that the host can write, with write amplification."""
    found, fixed = life(), with_fixed_capacity()
    heads = ["scheme", *(f"{as_plain_share(u)} used, WA {wa:.2f}" for u, wa in found.write_amplification.items())]
    heads.append(f"{as_plain_share(FIXED_CAPACITY)} of the flash for life: WA, lifetime")
    rows = []
    for scheme in (*RATES, ADAPTIVE):
        name = table_of(scheme) if scheme != ADAPTIVE else ADAPTIVE
        cells = found.frame.filter(pl.col("scheme") == name)["lifetime_capacity"].to_list()
        own = "-" if scheme == ADAPTIVE else f"{amplification(scheme):.2f}"
        rows.append([scheme, *(f"{cell:,.0f}" for cell in cells), f"{own}, {1000 * fixed.written(scheme):,.0f}"])
    return (
        "Bytes that the host can write for each byte of flash, with write amplification measured under uniform "
        "overwriting: with a share of the data capacity that follows the rate, or with the same capacity for life:\n\n"
        + markdown_table(heads, rows)
    )
