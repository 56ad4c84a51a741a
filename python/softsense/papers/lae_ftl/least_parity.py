"""Figure 1: the least parity over life."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from softsense import codes
from softsense.formats import as_share
from softsense.papers import (
    Claim,
    Evidence,
    Figure,
    Measured,
    Number,
    Plan,
    Runs,
    markdown_table,
    resting_on,
)
from softsense.papers.drawing import Line, lines, point
from softsense.papers.lae_ftl.published import LAWS, LIMIT, LUN, OOB, PUBLISHED, Criterion, Law, wear
from softsense.papers.lae_ftl.units import SEGMENTS, UnitCode
from softsense.papers.lae_ftl.workloads import GREY, SERIES

_PE_STEP, _PE_TO = 500, 40_000


def least_code(codeword_bytes: int, rber: float, criterion: Criterion = "unit_ber") -> UnitCode:
    """The least code of a length that is as reliable as the paper asks for, at a raw bit error rate."""
    found = codes.minimum_correctable(8 * codeword_bytes, rber, limit=LIMIT, criterion=criterion)
    return UnitCode(codeword_bytes, found.correctable)


def _measure_fig01(plan: Plan, runs: Runs) -> Measured:
    law, rows, told, evidence = wear(), [], [], {}
    ages = range(2 * _PE_STEP, _PE_TO + 1, _PE_STEP)
    parity, rate = "parity of a unit of 4 KB", "raw bit error rate"
    for code in SEGMENTS:
        for age in ages:
            least = least_code(code.codeword_bytes, law.rber(age))
            rows.append(point(parity, code.size, age / 1000, Number.exact(least.parity_bytes), t=least.correctable))
    rows += [point(parity, f"OOB, {OOB} B", age / 1000, Number.exact(OOB)) for age in (ages[0], ages[-1])]
    for code, each in zip(SEGMENTS, PUBLISHED["segment"], strict=True):
        least, age = least_code(code.codeword_bytes, each["rber"]), each["pe_cycles"]
        strict = least_code(code.codeword_bytes, each["rber"], "failure")
        rows.append(
            point(parity, "at the four rates", age / 1000, Number.exact(least.parity_bytes), t=least.correctable)
        )
        failing = [
            codes.failure_probability(c.codeword_bits, c.correctable, each["rber"]) / each["k"]
            for c in (least.parity, codes.bch_parity(each["k"], least.correctable - 1))
        ]
        evidence[f"t_{code.codeword_bytes}"] = Evidence(
            Number.exact(least.correctable),
            f"P(i > t) / k is {failing[0]:.2g} with it and {failing[1]:.2g} with one less. By P(i > t) alone, without "
            f"the division by k, it would be {strict.correctable}.",
        )
        n = least.parity.codeword_bits
        why = f"{each['k']:,} bits of data and {least.correctable} x {least.parity.field_bits} of parity."
        if n != each["n"]:
            why += f" The printed {each['n']:,} leaves {each['n'] - each['k']} bits of parity: a misprint of the paper."
        evidence[f"n_{code.codeword_bytes}"] = Evidence(Number.exact(n), why)
        cells = [f"{law.rber(age):.2e}", f"{law.pe_cycles(each['rber']):,.0f}", f"{least.correctable}"]
        told.append(
            [f"{age:,}", f"{each['rber']:.1e}", *cells, f"{strict.correctable}", f"{least.parity_bytes} B", code.size]
        )
    for age in ages:
        for name in LAWS:
            rows.append(point(rate, _law(name), age / 1000, Number.exact(1000 * wear(name).rber(age))))
    for each in PUBLISHED["segment"]:
        rows.append(point(rate, "at the four rates", each["pe_cycles"] / 1000, Number.exact(1000 * each["rber"])))
    heads = [
        "P/E cycles",
        "RBER",
        "by the law",
        "cycles by the law",
        "least t",
        "by failures",
        "parity a unit",
        "length",
    ]
    note = (
        f"{_laws()} Its figure has a measured curve that is not in its text. A unit of 4 KB has eight, four, two "
        f"or one codeword. Beside the parity an OOB of {OOB} B has a LUN of {LUN} B:\n\n{markdown_table(heads, told)}"
    )
    return Measured(pl.DataFrame(rows, infer_schema_length=None), evidence, (note,))


def _law(name: Law) -> str:
    return name.replace("_", " ")


def _laws() -> str:
    power, exponential = (wear(name) for name in LAWS)
    curve = exponential.model["exponential"]
    return (
        f"RBER = {power.model['power_law']['scale']:.3g} (PE / 1000)^{power.pe_exponent:.2f} is off the paper's four "
        f"rates by up to {as_share(power.worst_factor - 1, 0)}, {curve['scale']:.3g} exp(PE / "
        f"{curve['e_folding_pe_cycles']:,.0f}) by {as_share(exponential.worst_factor - 1, 0)}: lines of least "
        "squares through their logarithms. The paper says that rates grow exponentially."
    )


_FIG01_LINES = {
    **{code.size: Line(colour, marker="none") for code, colour in zip(SEGMENTS, SERIES, strict=False)},
    f"OOB, {OOB} B": Line(GREY, "--", "none"),
    "power law": Line("#222222", marker="none"),
    "exponential": Line("#222222", "--", "none"),
    "at the four rates": Line("#d55e00", "none"),
}


FIGURES = (
    Figure(
        "1",
        "Figure 1: the least parity over life",
        _measure_fig01,
        lines(
            "Figure 1: the least parity over life",
            "P/E cycles (1,000)",
            ("bytes", "1e-3"),
            _FIG01_LINES,
            "unit bit error rate of 1e-15 (eq. 1); raw bit error rates by two laws through four points",
        ),
    ),
)

# Claims about the printed numbers of each segment's code, by their symbols.
_PRINTED: dict[str, Callable[[dict[str, Any], UnitCode], str]] = {
    "t": lambda each, code: f"at an RBER of {each['rber']:g} codewords of {code.size} need t = {each['t']} (eq. 1)",
    "n": lambda each, code: f"they have n = {each['n']} bits ({code.size})",
}

CLAIMS = resting_on(
    "arithmetic",
    *(
        Claim(
            f"{name}_{each['codeword_bytes']}",
            "1",
            claim(each, code),
            float(each[name]),
            tolerance=0.0,
            unit="",
            source=(f"segment[{index}].{name}",),
        )
        for name, claim in _PRINTED.items()
        for index, (each, code) in enumerate(zip(PUBLISHED["segment"], SEGMENTS, strict=True))
    ),
)
