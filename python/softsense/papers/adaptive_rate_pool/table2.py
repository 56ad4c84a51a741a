"""Table II: endurance and lifetime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from softsense.formats import as_plain_share, as_share, listed
from softsense.papers import Claim, Evidence, Figure, Measured, Number, Plan, Runs, resting_on
from softsense.papers.adaptive_rate_pool import lifetime_notes
from softsense.papers.adaptive_rate_pool.lifetimes import (
    FIXED_CAPACITY,
    Scheme,
    assumed,
    measured,
    printed,
    raw_rates,
    with_fixed_capacity,
    years,
)
from softsense.papers.adaptive_rate_pool.published import ADAPTIVE, ENDURANCE, PUBLISHED, RATES, YEARS, nominal
from softsense.papers.adaptive_rate_pool.wear import FITTED, life, lives
from softsense.papers.drawing import bar_sheet

if TYPE_CHECKING:
    from softsense.charts import Sheet

_OTHERS = tuple(rate for rate in RATES if rate != FITTED)
_RAW = dict(zip((*RATES, ADAPTIVE), PUBLISHED["lifetime"]["normalized_data_rate_gbps"], strict=True))


def _id(what: str, scheme: str) -> str:
    return f"{what}_{scheme.replace('/', '_')}"


def _measure(plan: Plan, runs: Runs) -> Measured:
    ours, others, in_print = measured(), assumed(), printed()
    fixed = with_fixed_capacity()
    by = {
        "printed years": YEARS,
        "printed endurance x rate": {scheme: in_print.written(scheme) for scheme in YEARS},
        "measured": {scheme: ours.written(scheme) for scheme in YEARS},
        f"measured, the user has {as_plain_share(FIXED_CAPACITY)} of the flash": {s: fixed.written(s) for s in YEARS},
    }
    last = max(code.endurance_pe for code in life().codes) / 1000
    rows = [
        {
            "group": scheme,
            "bar": bar,
            "value": values[scheme] / values[RATES[0]],
            "endurance_kpe": last if scheme == ADAPTIVE else ours.endurance[scheme],
            "lifetime": values[scheme],
        }
        for scheme in YEARS
        for bar, values in by.items()
    ]
    frame = pl.DataFrame(rows).with_columns(lo="value", hi="value")
    evidence = _endurances(ours, others) | _gains(ours, others, in_print, fixed) | _times(ours, others, in_print)
    notes = (lifetime_notes.of_fits(), lifetime_notes.of_years(), lifetime_notes.of_amplification())
    return Measured(frame, evidence, notes)


def _endurances(ours: Scheme, others: dict[str, Scheme]) -> dict[str, Evidence]:
    evidence = {}
    for rate in _OTHERS:
        near = ours.endurance[rate] / ENDURANCE[rate] - 1
        evidence[_id("endurance", rate)] = Evidence(
            Number.exact(ours.endurance[rate]),
            f"It is predicted from the {ENDURANCE[FITTED]} kPE of rate {FITTED} and the measured code, which delivers "
            f"1e-14 at an RBER of {lives()[rate].rber:.4f}; {as_share(abs(near), 0)} {'more' if near > 0 else 'less'} "
            "than printed. The paper's codes and its flash are not published.",
            under={name: Evidence(Number.exact(scheme.endurance[rate])) for name, scheme in others.items()},
        )
    second = sorted(ours.written(rate) for rate in RATES)[-2]

    def best(scheme: Scheme) -> dict[str, Any]:
        return {"in_all": scheme.best == in_print, "in_mean": scheme.best == in_print}

    in_print = max(RATES, key=lambda rate: YEARS[rate])
    evidence["best_fixed"] = Evidence(
        Number.exact(ours.written(ours.best) / second),
        f"The best single rate is {ours.best} here and {in_print} in print. Its own endurance is fitted, those of the "
        "others are not.",
        **best(ours),
        under={name: Evidence(None, **best(scheme)) for name, scheme in others.items()},
    )
    return evidence


def _gains(ours: Scheme, others: dict[str, Scheme], in_print: Scheme, fixed: Scheme) -> dict[str, Evidence]:
    every = {"": ours, **others}
    real = [f"{ours.share[rate]:g} ({rate})" for rate in RATES if ours.share[rate] < nominal(rate)]
    mean_of_years = YEARS[ADAPTIVE] / (sum(YEARS[rate] for rate in RATES) / len(RATES))
    over_best = {name: Evidence(Number.exact(scheme.over_best)) for name, scheme in others.items()}
    capacity, over_fixed = f"{as_plain_share(FIXED_CAPACITY)} of the flash", Evidence(Number.exact(fixed.over_best))
    over_mean = {
        f"over the mean of single rates{', ' * bool(name)}{name}": Evidence(Number.exact(scheme.over_mean))
        for name, scheme in every.items()
    }
    return {
        "almost_doubles": Evidence(
            Number.exact(ours.over_best),
            "By endurance times data for each bit of flash, over the best single rate. The printed endurances and "
            f"rates make {in_print.over_best:.2f} of it and the printed years "
            f"{YEARS[ADAPTIVE] / max(YEARS[rate] for rate in RATES):.2f}; over the mean of single rates these make "
            f"{in_print.over_mean:.2f} and {mean_of_years:.2f}: the reading which the paper's own numbers meet. Write "
            "amplification at the same utilisation is the same for all schemes and cancels; where the user's capacity "
            f"is the same for life, {capacity}, weak codes leave more room and write less. Here whole blocks of 512 "
            f"bytes fit a codeword, so that some rates are lower than they are called, {listed(real)}; and the last "
            f"rate lasts {ours.endurance[RATES[-1]]:.1f} kPE, not {ENDURANCE[RATES[-1]]}.",
            under={**over_best, f"the user has {capacity} for life": over_fixed, **over_mean},
        ),
        "switches_below_ten": Evidence(
            Number.exact(max(stage.life.mean_iterations or 0.0 for stage in life().stages)),
            "Errors ask for a stronger code long before the mean is at ten: decoders stop after ten, so that a mean "
            "near it fails much. The paper draws means (figure 3); no decode takes more than ten here.",
            improves=True,
        ),
    }


def _times(ours: Scheme, others: dict[str, Scheme], in_print: Scheme) -> dict[str, Evidence]:
    found, under = years(ours), {name: years(scheme) for name, scheme in others.items()}
    evidence = {
        _id("years", scheme): Evidence(
            Number.exact(found[scheme]),
            under={name: Evidence(Number.exact(each[scheme])) for name, each in under.items()},
        )
        for scheme in (*_OTHERS, ADAPTIVE)
    }
    raw = raw_rates(in_print, YEARS)
    for scheme, value in raw.items():
        evidence[_id("normalized_rate", scheme)] = Evidence(Number.exact(value))
    return evidence


def _draw(frame: pl.DataFrame) -> Sheet:
    bars = frame["bar"].unique(maintain_order=True).to_list()
    colours = dict(zip(bars, ("#7f7f7f", "#bdbdbd", "#0072b2", "#56b4e9"), strict=True))
    return bar_sheet(frame, "Table II: lifetime capacity", f"over that of rate {RATES[0]}", colours=colours)


FIGURES = (Figure("table2", "Table II: endurance and lifetime", _measure, _draw),)

CLAIMS = (
    *(
        Claim(
            _id("endurance", rate),
            "table2",
            f"rate {rate} lasts {ENDURANCE[rate]} kPE (rate {FITTED} is fitted)",
            float(ENDURANCE[rate]),
            unit="",
            source=("lifetime.endurance_kpe",),
        )
        for rate in _OTHERS
    ),
    Claim(
        "almost_doubles",
        "table2",
        "adaptive rates almost double lifetime capacity (over the best single rate)",
        2.0,
        no_effect=1.0,
        source=("claims.adaptive_almost_doubles_lifetime", "lifetime.endurance_kpe", "lifetime.years"),
    ),
    Claim(
        "best_fixed",
        "table2",
        f"rate {FITTED} is the best single rate (the best over the second best)",
        rule="order",
        source=("lifetime.years",),
    ),
    Claim(
        "switches_below_ten",
        "table2",
        "the mean number of iterations at which a rate is left is ten at most",
        float(PUBLISHED["code"]["max_iterations"]),
        rule="at most",
        unit="",
        source=("code.max_iterations",),
    ),
    *resting_on(
        "arithmetic",
        *(
            Claim(
                _id("years", scheme),
                "table2",
                f"{scheme} lasts {YEARS[scheme]:.2f} years, by its measured endurance (the rate of writing is that of "
                f"rate {FITTED}'s)",
                YEARS[scheme],
                unit="",
                source=("lifetime.years",),
            )
            for scheme in (*_OTHERS, ADAPTIVE)
        ),
        *(
            Claim(
                _id("normalized_rate", scheme),
                "table2",
                f"normalised data rate, {scheme}: endurance x 8 TB / years, GB/s, of the printed",
                value,
                unit="",
                source=("lifetime.normalized_data_rate_gbps",),
            )
            for scheme, value in _RAW.items()
        ),
    ),
)
