"""The rule by which a claim of a paper is judged: the published number, the measured number, and the verdict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any, Literal

from softsense._core import student_t_quantile
from softsense.formats import as_share, listed

HOLDS = "holds"
UNDER_SOME = "holds under some assumptions"
IN_DIRECTION = "holds in direction"
SIGN_ONLY = "same sign only"
NOT = "does not hold"
UNDECIDED = "undecided"
NOT_MEASURED = "not measured"
VERDICTS = (HOLDS, UNDER_SOME, IN_DIRECTION, SIGN_ONLY, NOT, UNDECIDED, NOT_MEASURED)

TOLERANCE = 0.15
"""Largest distance of an interval from a published number that it meets, as a part of that number."""

FACTOR = 2.0
"""Largest ratio of an effect to the published one, or of the published one to it, at which the direction is met."""

LEAST_EFFECT = 0.02
"""Least difference of the means in an order, as a share of the greater mean: a smaller effect is not noticed."""

RULE = f"""A number has a 95 % interval: over seeds with Student's t, paired by seed where it is a ratio of two runs. It
*holds* if the interval meets the published number give or take {as_share(TOLERANCE, 0)} of it (for an increase, of the
increase; other tolerances are said). It *holds in direction* if not, but the whole interval lies on the published side
of no effect, and the effect is between half of the published one and twice as large; beyond that it has the *same sign
only*. A cost is a bound: "14 to 38 % more" is "at most 38 % more". A bound *holds* if the upper end of the interval
keeps it. If not, but what was measured is better than what the claim improves on, it holds *in direction* below twice
the bound, and has the *same sign only* beyond. A claim is *undecided* if its interval reaches from where it holds to
where it does not, and half of it is wider than the tolerance: few seeds prove nothing. An order of techniques *holds*
if the means over seeds are in that order in every workload, by at least {as_share(LEAST_EFFECT, 0)}; *in direction* if
those in the mean of workloads are; it has the *same sign only* if these differ by less. Anything else *does not hold*.
What the paper leaves open is assumed: where a claim was measured under several assumptions, the interval spans them
all, and the verdict is the weakest of theirs; a claim that holds under one of them but not under all *holds under some
assumptions*: such a setting was found to be compatible, and predicts nothing. What needs a workload that was not given,
or that the machine cannot serve, is *not measured*; nor is what an excerpt or a stand-in cannot have."""

Kind = Literal["measured", "arithmetic", "calibrated", "invented workload", "own check"]

KINDS: dict[Kind, str] = {
    "measured": "simulated or decoded, and could have come out otherwise",
    "arithmetic": "follows from inputs by an equation",
    "calibrated": "an input was chosen so that it is met",
    "invented workload": "measured on requests that were invented for want of the paper's",
    "own check": "not the paper's: it checks the simulator against an equation, or a set-up against its purpose",
}
"""Kinds of evidence that verdicts rest on; claims of each kind are counted apart."""


@dataclass(frozen=True)
class Number:
    """A measured number with the ends of its 95 % interval; both ends are the number itself where it has no error."""

    value: float
    lo: float
    hi: float

    @staticmethod
    def exact(value: float) -> Number:
        """A number without an error."""
        return Number(value, value, value)

    @staticmethod
    def of(values: Sequence[float]) -> Number:
        """The mean of independent values with Student's interval; a single value has no interval and is exact."""
        mean = fmean(values)
        if len(values) < 2:
            return Number.exact(mean)
        half = t_quantile(len(values) - 1) * stdev(values) / math.sqrt(len(values))
        return Number(mean, mean - half, mean + half)

    @staticmethod
    def ratio(above: Sequence[float], below: Sequence[float]) -> Number:
        """The mean of ratios, paired by seed."""
        return Number.of([a / b for a, b in zip(above, below, strict=True)])

    def plus(self, shift: float) -> Number:
        """The number and its interval, shifted."""
        return Number(self.value + shift, self.lo + shift, self.hi + shift)

    def spanning(self, others: Iterable[Number]) -> Number:
        """The number with an interval that spans its own interval and those of the others."""
        every = [self, *others]
        return Number(self.value, min(each.lo for each in every), max(each.hi for each in every))


def t_quantile(degrees: int) -> float:
    """The two-sided 95 % quantile of Student's t."""
    return student_t_quantile(degrees, 0.95)


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and the rule by which it is judged.

    Attributes:
        id: name of the claim in `claims.json`.
        figure: id of the figure that measures it.
        claim: the claim in words.
        published: the published number, or the bound; None for an ordering.
        rule: `near` a number, `at most` a bound, as every cost is, or an `order` of techniques.
        no_effect: value of the number without the effect; None where there is no such value.
        tolerance: part of itself by which a published number may be missed.
        unit: unit in which numbers are printed: `x` a ratio, `%` a share, `+%` an increase, `us`, `min`, `rber` or
            none.
        all_workloads: whether the claim is about all workloads of the paper, and not measured if one was left out.
        kind: kind of evidence on which the verdict rests, one of `KINDS`.
        quick_bias: reason why a quick run, whose requests are few, may have another verdict than a full one, whatever
            the seeds; empty where a quick run is only less precise.
        source: keys of the judged numbers in the file of published numbers, such as `claims.pe_cycles` or
            `segment[0].t`.
    """

    id: str
    figure: str
    claim: str
    published: float | None = None
    rule: Literal["near", "at most", "order"] = "near"
    no_effect: float | None = None
    tolerance: float = TOLERANCE
    unit: Literal["x", "%", "+%", "us", "min", "rber", ""] = "x"
    all_workloads: bool = False
    kind: Kind = "measured"
    quick_bias: str = ""
    source: tuple[str, ...] = ()


def resting_on(kind: Kind, *claims: Claim) -> tuple[Claim, ...]:
    """Claims whose verdicts all rest on the same kind of evidence."""
    return tuple(replace(claim, kind=kind) for claim in claims)


@dataclass(frozen=True)
class Evidence:
    """The measurement for a claim.

    Attributes:
        number: measured number with its interval over seeds; None for an ordering without a number.
        why: one paragraph on why the measured number differs from the published one.
        improves: for a bound, whether the number is better than the number that the claim improves on.
        in_all: for an ordering, whether it is met in every workload.
        in_mean: for an ordering, whether it is met in the mean of workloads.
        in_sign: for an ordering, whether the means of workloads are in that order, if by less than the least effect.
        left_out: workloads that were not measured, by their names, with the reasons.
        unlike: reason why the measurement is not about the subject of the claim, such as an excerpt of its trace; else
            empty.
        under: evidence of the claim under other assumptions that the paper leaves open, by their names.
        on_ours: evidence of the claim on softsense's own device, where the rest is of the paper's machine.
    """

    number: Number | None
    why: str = ""
    improves: bool = False
    in_all: bool = False
    in_mean: bool = False
    in_sign: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    unlike: str = ""
    under: Mapping[str, Evidence] = field(default_factory=dict)
    on_ours: Evidence | None = None

    @property
    def spanned(self) -> Number | None:
        """The number with an interval over seeds and over all assumptions."""
        if self.number is None:
            return None
        return self.number.spanning(each.number for each in self.under.values() if each.number and not each.unlike)


def verdict(claim: Claim, evidence: Evidence) -> str:
    """Judge a claim by `RULE`."""
    alone = _verdict(claim, evidence)
    each = {alone, *(_verdict(claim, other) for other in evidence.under.values())} - {NOT_MEASURED}
    if alone == NOT_MEASURED:
        return alone
    # The verdict over all assumptions is the weakest one.
    return UNDER_SOME if HOLDS in each and len(each) > 1 else max(each, key=VERDICTS.index)


def _verdict(claim: Claim, evidence: Evidence) -> str:
    number, published = evidence.number, claim.published
    if evidence.unlike or (claim.all_workloads and evidence.left_out):
        return NOT_MEASURED
    if claim.rule == "order":
        is_met = evidence.in_all or evidence.in_mean
        if is_met and claim.unit == "x" and number and abs(number.value - 1) < LEAST_EFFECT:
            return SIGN_ONLY
        if is_met:
            return HOLDS if evidence.in_all else IN_DIRECTION
        return SIGN_ONLY if evidence.in_sign else NOT
    assert number is not None
    assert published is not None
    is_wide = 0.5 * (number.hi - number.lo) > claim.tolerance * abs(published)
    if claim.rule == "at most":
        if number.hi <= published:
            return HOLDS
        if is_wide and number.lo <= published:
            return UNDECIDED
        if not evidence.improves:
            return NOT
        return IN_DIRECTION if number.value <= FACTOR * published else SIGN_ONLY
    margin = claim.tolerance * abs(published)
    none = claim.no_effect
    # A number that is published as hardly above no effect counts as above.
    below = none is not None and published < none
    beyond = none is not None and (number.hi < none if below else number.lo > none)
    if none is not None and published == none:
        # A number near no effect is not enough: the claim says on which side.
        return NOT if not beyond else HOLDS if number.lo <= none + margin else SIGN_ONLY
    if number.lo <= published + margin and number.hi >= published - margin:
        # An interval inside the tolerance holds, however wide the interval is.
        within = published - margin <= number.lo and number.hi <= published + margin
        return UNDECIDED if is_wide and not within else HOLDS
    if none is None or not beyond:
        return NOT
    ratio = (number.value - none) / (published - none)
    return IN_DIRECTION if 1 / FACTOR <= ratio <= FACTOR else SIGN_ONLY


def judged(claim: Claim, evidence: Evidence | None) -> dict[str, Any]:
    """A row of `claims.json`; without evidence the claim was not measured."""
    found = verdict(claim, evidence) if evidence else NOT_MEASURED
    spanned = evidence.spanned if evidence and found != NOT_MEASURED else None
    why = evidence.why if evidence else "It needs a workload that was not given."
    if evidence and evidence.unlike:
        why = f"{evidence.unlike} {_told(evidence.number)}{evidence.why}".strip()
    elif evidence and found == NOT_MEASURED:
        left = "; ".join(f"{name}: {reason}" for name, reason in evidence.left_out.items())
        why = f"It speaks of all workloads, of which some were left out ({left}). {evidence.why}".strip()
    elif evidence:
        why = f"{why} {_depends(claim, evidence)}".strip()
    return {
        "id": claim.id,
        "figure": claim.figure,
        "claim": claim.claim,
        "kind": claim.kind,
        "published": claim.published,
        **_interval(spanned),
        "verdict": found,
        "under": {name: _alone(claim, each) for name, each in evidence.under.items()} if evidence else {},
        "on_ours": _alone(claim, evidence.on_ours) if evidence and evidence.on_ours else None,
        "left_out": dict(evidence.left_out) if evidence else {},
        "why": why,
    }


def _depends(claim: Claim, evidence: Evidence) -> str:
    """The assumptions that turn the verdict."""
    alone = _verdict(claim, evidence)
    each = {name: _verdict(claim, other) for name, other in evidence.under.items()}
    turned = [f"{name} ({found})" for name, found in each.items() if found not in (alone, NOT_MEASURED)]
    return f"As first assumed it is judged: {alone}. Otherwise with {listed(turned)}." if turned else ""


def _told(number: Number | None) -> str:
    """A sentence with the number of a measurement that is not about the subject of the claim."""
    return f"There it is {number.value:.4g}. " if number else ""


def _interval(number: Number | None) -> dict[str, float | None]:
    ends = (number.value, number.lo, number.hi) if number else (None, None, None)
    return dict(zip(("measured", "lo", "hi"), ends, strict=True))


def _alone(claim: Claim, evidence: Evidence) -> dict[str, Any]:
    return {**_interval(evidence.number), "verdict": _verdict(claim, evidence)}


def counted(found: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Number of claims by kind and verdict, both in their order, without zeros."""
    counts = Counter((row["kind"], row["verdict"]) for row in found)
    rows = {kind: {word: counts[kind, word] for word in VERDICTS if counts[kind, word]} for kind in KINDS}
    return {kind: row for kind, row in rows.items() if row}
