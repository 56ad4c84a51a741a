"""Verdicts about failure rates: what each method says at one raw bit error rate, and whether two of them prove it.

Methods are error weights with the floor of listed sets (`weight`), frames that are counted as they come (`counted`),
splitting (`splitting`), and for BCH codes the binomial tail (`analytic`). Each says a rate with its 95 % interval, all
of one target at the same raw bit error rate. A rate is proved if two intervals or more are narrow, and none are apart.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from softsense._core import student_t_quantile
from softsense.campaign.curves import continued
from softsense.strata import CONFIDENCE

WIDEST = 4.0
"""The largest `hi` over `lo` of an interval that proves something: a factor of two to both sides."""

NEAREST = 10.0
"""The largest factor between a target and the failure rate that was measured, along which the curve's slope leads."""

TOO_SMALL = "the budget is too small for it"
NOT_REACHED = "the trial of splitting did not reach it"
ENDED = "the budget ended before it"

_FIRM = NormalDist().inv_cdf(0.9995) / NormalDist().inv_cdf(0.975)

Method = dict[str, Any]


def by_splitting(fer: float, relative_error: float, runs: int) -> Method:
    """A rate by splitting, with an interval of Student's t for so many runs."""
    half = student_t_quantile(runs - 1, CONFIDENCE) * relative_error
    ends = {"fer": fer, "lo": fer * math.exp(-half), "hi": fer * math.exp(half)}
    return {"method": "splitting", **ends, "relative_error": relative_error, "runs": runs}


def by_counting(point: dict[str, Any]) -> Method:
    """A rate of frames that were counted as they come."""
    kept = ("fer", "lo", "hi", "frames", "failures", "undetected", "mean_iterations")
    return {"method": "counted", **{name: point[name] for name in kept}}


def by_weight(point: dict[str, Any]) -> Method:
    """A rate by error weight and sets. `hi` has the missing part; it is None if that part is more than a little."""
    kept = ("frames", "failures", "missing", "floor", "floor_at_most")
    ends = {"fer": point["fer"], "lo": point["lo"], "hi": continued(point, "hi") if point["complete"] else None}
    return {"method": "weight", **ends, **{name: point[name] for name in kept}}


def by_analysis(fer: float) -> Method:
    """A rate that is a sum of known terms."""
    return {"method": "analytic", "fer": fer, "lo": fer, "hi": fer}


def verdict(target: float, measured_rber: float, slope: float, methods: Sequence[Method]) -> dict[str, Any]:
    """The raw bit error rate at which a code fails as often as a target, and whether that is proved.

    Args:
        target: frame error rate.
        measured_rber: raw bit error rate (bit errors per bit) at which all methods measured.
        slope: d ln FER / d ln RBER there.
        methods: rates that methods found.

    Returns `failure` (the target), `measured_rber`, `slope`, `methods`; `rber` with its interval `lo` to `hi`, from the
    narrowest method by the slope, None if methods differ or none is within a factor of `NEAREST` of the target;
    `proved` and `why_not`; and `sets`: whether the listed sets could fail as often as the target (`excluded`, `not
    excluded`, None if no sets were tried).
    """
    known = [method for method in methods if method["fer"]]
    bounds = [method["floor_at_most"] for method in methods if method.get("floor_at_most") is not None]
    found: dict[str, Any] = {
        "failure": target, "measured_rber": measured_rber, "slope": slope, "rber": None, "lo": None, "hi": None,
        "proved": False, "sets": None if not bounds else "excluded" if max(bounds) <= target else "not excluded",
        "methods": list(methods),
    }  # fmt: skip
    if apart := [pair for pair in itertools.combinations(known, 2) if _differ(*pair)]:
        one, other = apart[0]
        return {**found, "why_not": f"methods differ: {one['method']} and {other['method']}"}
    best = min(known, key=_width, default=None)
    if best is None or abs(math.log(best["fer"] / target)) > math.log(NEAREST):
        return {**found, "why_not": f"measured farther than a factor of {NEAREST:g} away"}

    def at(fer: float | None) -> float | None:
        return measured_rber * (target / fer) ** (1 / slope) if fer else None

    found |= {"rber": at(best["fer"]), "lo": at(best["hi"]), "hi": at(best["lo"])}
    narrow = [method for method in known if _width(method) <= WIDEST]
    if len(narrow) >= 2:
        return {**found, "proved": True, "why_not": None}
    told = [f"{method['method']} alone" for method in narrow]
    told += [
        f"{each['method']} {'incomplete' if each['hi'] is None else 'too wide'}" for each in known if each not in narrow
    ]
    return {**found, "why_not": ", ".join(told)}


def unmeasured(target: float, why_not: str) -> dict[str, Any]:
    """The verdict about a target at which nothing was measured, for one of the reasons of this module."""
    none = dict.fromkeys(("measured_rber", "slope", "rber", "lo", "hi", "sets"))
    return {"failure": target, **none, "proved": False, "methods": [], "why_not": why_not}


def again(told: dict[str, Any]) -> dict[str, Any]:
    """The verdict that follows from the methods of another. Raises `KeyError`, `TypeError` or `ValueError`."""
    if told["measured_rber"] is None:
        if told["why_not"] not in (TOO_SMALL, NOT_REACHED, ENDED):
            raise ValueError(told["why_not"])
        return unmeasured(told["failure"], told["why_not"])
    return verdict(told["failure"], told["measured_rber"], told["slope"], told["methods"])


def _differ(one: Method, other: Method) -> bool:
    """Whether intervals of 99.9 % do not overlap: a board has hundreds of pairs, and one in forty would at 95 %."""
    ends = [(_firm(each, "lo"), _firm(each, "hi")) for each in (one, other)]
    return any(first[1] < second[0] for first, second in (ends, ends[::-1]))


def _firm(method: Method, end: str) -> float:
    """An end of the interval of 99.9 %, as if the logarithm of a rate were normal; unbounded where it is not known."""
    if not method[end]:
        return 0.0 if end == "lo" else math.inf
    return float(method["fer"] * (method[end] / method["fer"]) ** _FIRM)


def _width(method: Method) -> float:
    return float(method["hi"] / method["lo"]) if method["hi"] and method["lo"] else math.inf
