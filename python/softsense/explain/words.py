"""An explanation in words."""

from __future__ import annotations

import math
from typing import Any

from softsense import read_policies
from softsense.explain.explanation import Explanation
from softsense.explain.phrases import (
    bit_of,
    filled,
    for_decoder,
    list_of_levels,
    odds_of,
    references_of,
    shown,
    table_of,
)
from softsense.explain.reasons import (
    converges,
    decodes_there,
    moves_references,
    outcome,
    steps_of,
    what_was_seen,
    where,
    why,
    why_steps,
)
from softsense.formats import as_age, as_count, as_few, as_number, as_share, listed


def text(found: Explanation) -> str:
    """The whole story for a terminal: plain sentences of at most 100 columns, and tables."""
    return "\n\n".join(
        [
            heading(found),
            *_about_cells(found),
            *_about_regions(found),
            *_about_attempts(found),
            *_about_policies(found),
            *_about_steps(found),
        ]
    )


def heading(found: Explanation) -> str:
    """The codeword, its page, cells and age, in a line."""
    return (
        f"One codeword of {found.code} in the {found.page} page of {found.cells_name} cells, "
        f"after {found.cells.pe_cycles:,} P/E cycles and {as_age(found.cells.retention_hours)}"
    )


def _about_cells(found: Explanation) -> list[str]:
    states = found.states
    pages = found.cells.pages
    said = f"1. Cells. Each holds {len(pages)} bits, one of each page, as one of {found.cells.states} states."
    if len(pages) == 1:
        said = f"1. Cells. Each holds a bit as one of {found.cells.states} states."
    fallen = max((states["written_mean_v"] - states["mean_v"]).to_list())
    if found.cells.retention_hours > 0:
        said += (
            f" Cycles have widened the states; in {as_age(found.cells.retention_hours)} they have come down "
            f"by up to {fallen:.3f} V."
        )
    columns = [(f"\n{page}", [bits[number] for bits in states["bits"]]) for number, page in enumerate(pages)]
    columns += [
        ("V when\nwritten", [f"{volts:.3f}" for volts in states["written_mean_v"]]),
        ("V\nnow", [f"{volts:.3f}" for volts in states["mean_v"]]),
        ("spread\nnow, V", [f"{volts:.3f}" for volts in states["spread_v"]]),
        ("cells read\nwrong", [as_share(share) for share in states["p_wrong"]]),
    ]
    n = found.codeword_bits
    expected, spread = n * found.rber, math.sqrt(n * found.rber * (1 - found.rber))
    hard = found.references.filter(found.references["level"] == 1)["reference_v"]
    reading = (
        f"2. Raw bit errors. Hard decision compares with {listed([f'{volts:.3f}' for volts in hard])} V, where "
        f"neighbouring states cross. A bit of this page is wrong with probability {found.rber:.2e}: "
        f"of {n:,} bits {as_few(expected)} in the mean, give or take {as_few(spread)}. "
        f"This codeword has {found.raw_errors:,}."
    )
    if found.untracked_rber > 1.05 * found.rber:
        reading += (
            f" Had the references stayed as they were on the first day, that would be {found.untracked_rber:.2g}."
        )
    return [filled(said), table_of("state", states["state"], columns), filled(reading)]


def _about_regions(found: Explanation) -> list[str]:
    regions = shown(found)
    many = found.references.filter(found.references["level"] == found.level).height
    boundaries = found.references.filter(found.references["level"] == 1).height
    said = (
        f"3. Regions. Level {found.level} has {found.level} reference{'s' if found.level > 1 else ''} at each of the "
        f"page's {boundaries} boundaries"
        if boundaries > 1
        else f"3. Regions. Level {found.level} has {many} reference{'s' if many > 1 else ''}"
    )
    said += (
        f"; the {many + 1} regions between them are all that the decoder learns of a cell, as the LLR "
        "ln(P(region | 0) / P(region | 1)): positive says 0."
    )
    columns = [
        ("from\nV", [as_number(volts, 3, "") for volts in regions["from_v"]]),
        ("to\nV", [as_number(volts, 3, "") for volts in regions["to_v"]]),
        ("P(region\n| 0)", [f"{p:.3g}" for p in regions["p_given_0"]]),
        ("P(region\n| 1)", [f"{p:.3g}" for p in regions["p_given_1"]]),
        ("\nLLR", [f"{llr:+.2f}" for llr in regions["llr"]]),
        (
            "read\nas" if found.level == 1 else "for the\ndecoder",
            [for_decoder(row) for row in regions.iter_rows(named=True)],
        ),
        ("cells\nwith 0", [f"{count:,}" for count in regions["cells_with_0"]]),
        ("cells\nwith 1", [f"{count:,}" for count in regions["cells_with_1"]]),
    ]
    rows = regions.to_dicts()
    surest, vaguest = (choose(rows, key=lambda row: abs(row["llr"])) for choose in (max, min))
    odds = f"Region {surest['region']} says {bit_of(surest)} with odds of {odds_of(surest)}"
    odds += f", region {vaguest['region']} says {bit_of(vaguest)} with {odds_of(vaguest)}."
    wrong = [(abs(row["llr"]), row["cells_with_1"] if bit_of(row) == 0 else row["cells_with_0"]) for row in rows]
    unsure = sum(count for llr, count in wrong if llr < math.log(10))
    if unsure and len(rows) > boundaries + 1:
        odds += f" Of {sum(count for _, count in wrong):,} wrong signs {unsure:,} are said with odds below 10 to 1."
    return [filled(said), table_of("region", regions["region"], columns), filled(odds)]


def _about_attempts(found: Explanation) -> list[str]:
    how = "" if found.decoder is None else f" ({found.decoder}, at most {found.iterations} iterations)"
    attempts = found.attempts
    columns = [
        ("\nsensings", [str(count) for count in attempts["sensings"]]),
        ("bits\na cell", [str(count) for count in attempts["bits_per_cell"]]),
        ("information\nbits a bit", [f"{bits:.4f}" for bits in attempts["information_bits"]]),
        ("wrong\nsigns", [f"{count:,}" for count in attempts["wrong_signs"]]),
        ("\niterations", ["-" if found.decoder is None else str(count) for count in attempts["iterations"]]),
        ("violated\nchecks", [f"{count:,}" for count in attempts["violated_checks"]]),
        ("\ndecodes", [outcome(row) for row in attempts.iter_rows(named=True)]),
    ]
    blocks = [filled(f"4. Decoding{how}. {told(found)}")]
    blocks.append(table_of("level", attempts["level"], columns))
    rate, information = found.data_bits / found.codeword_bits, attempts["information_bits"]
    said = f"No code of this rate can do with less than {rate:.3f} bits of information; hard decision has "
    said += f"{information[0]:.3f}"
    said += f", level {found.level} {information[found.level - 1]:.3f}." if found.level > 1 else "."
    if found.hard_failure is not None:
        member = "this is one of them" if not attempts["converged"][0] else "this is none of them"
        said += (
            f" By the decode table of the config hard decision fails for {as_share(found.hard_failure)} of codewords "
            f"at this raw bit error rate: {member}."
        )
    if found.tried > 1:
        said += f" It was looked for: {found.tried:,} codewords were tried, this one has seed {found.seed}."
    if found.required_level and not attempts["converged"][found.required_level - 1 :].all():
        said += " A deeper level fails where this one decodes, which is rare."
    return [*blocks, filled(said)]


def told(found: Explanation) -> str:
    """The course of decoding, in a sentence or two."""
    rows = found.attempts.to_dicts()
    hard = rows[0]
    wrong = f"Hard decision: {hard['wrong_signs']:,} of {found.codeword_bits:,} bits are wrong, "
    if hard["converged"]:
        return wrong + f"and the decoder {converges(hard, found)}."
    said = wrong + "and the decoder gives up" + (f" after {hard['iterations']} iterations." if found.decoder else ".")
    if found.required_level is None:
        return said + (f" No level up to {found.max_level} decodes." if found.max_level > 1 else "")
    row = rows[found.required_level - 1]
    extra = found.required_level - 1
    failed = f" {list_of_levels(range(2, extra + 1)).capitalize()} too." if extra > 1 else ""
    boundary = "each boundary" if len(references_of(found, 1)) > 1 else "the boundary"
    more = f"{extra} more reference{'s' if extra > 1 else ''} at {boundary}"
    return said + f"{failed} With {more} it {converges(row, found)}."


def _about_policies(found: Explanation) -> list[str]:
    reads = found.reads.to_dicts()
    retries = {read["retry"] for read in reads}
    said = (
        f"5. Reading it with {found.config_name}, which does nothing else meanwhile. Hidden is time in which two parts "
        "of the read go on at once. Policies that look ahead keep the plane until the outcome is known."
    )
    if retries - {"restart"} and found.placement != "nested":
        said += " Retries that keep what has been sensed presume nested references: these are not."
    columns = [
        ("levels\ntried", [" ".join(map(str, read["levels"])) for read in reads]),
        *[
            (label, [f"{read[name]:,.1f}" for read in reads])
            for label, name in [
                ("sensing\nus", "sense_us"),
                ("transfer\nus", "transfer_us"),
                ("decoding\nus", "decode_us"),
                ("hidden\nus", "hidden_us"),
                ("read\ntakes us", "latency_us"),
                ("plane\ntaken us", "plane_us"),
                ("sensed in\nvain us", "wasted_us"),
            ]
        ],
    ]
    table = table_of("policy", [read["policy"] for read in reads], columns)
    widest = max(len(read["policy"]) for read in reads)
    said_why = {
        read["policy"]: why(read) if not moves_references(steps := steps_of(found, read)) else why_steps(read, steps)
        for read in reads
    }
    whys = "\n".join(filled(f"{name:<{widest}}  {said}", widest + 2) for name, said in said_why.items())
    contenders = [read for read in reads if not read_policies.knows_level(read["policy"])]
    ending = []
    if len(contenders) > 1:
        best, worst = (choose(contenders, key=lambda read: read["latency_us"]) for choose in (min, max))
        least = [read["policy"] for read in contenders if read["latency_us"] == best["latency_us"]]
        if len(least) == len(contenders):
            ending = [f"All of them take {best['latency_us']:,.1f} us."]
        else:
            verb = "is" if len(least) == 1 else "are"
            ending = [
                filled(
                    f"Of what a controller can do {listed(least)} {verb} the quickest, {best['latency_us']:,.1f} us; "
                    f"{worst['policy']} takes {worst['latency_us'] / best['latency_us']:.2f} times as long."
                )
            ]
    return [filled(said), table, whys, *ending]


def told_policy(found: Explanation) -> dict[str, Any]:
    """The row of `reads` whose steps are shown: the row of the config's own policy, or the first row."""
    rows = found.reads.to_dicts()
    own = found.config.fields.read.policy
    return next((row for row in rows if row["policy"].partition(":")[0] == own), rows[0])


def _about_steps(found: Explanation) -> list[str]:
    read = told_policy(found)
    steps = steps_of(found, read)
    if not moves_references(steps):
        return []
    said = (
        f"6. Steps of the read ({read['policy']}). What is read above has references that are the cells' own; this "
        "read moves them as a drive does. Checks are those that hard decisions violate before they are decoded."
    )
    hard = [step["references_v"] if step["level"] == 1 and step["references_v"] else [] for step in steps]
    whole = [f" ({step['sensing_percent']} %)" if step["sensing_percent"] < 100 else "" for step in steps]
    columns = [
        ("\nreferences", [where(step) for step in steps]),
        ("\nlevel", ["known" if step["known_cells"] else str(step["level"]) for step in steps]),
        ("hard references\nV", [" ".join(as_number(at, 3) for at in volts) for volts in hard]),
        ("sensed\nfor us", [f"{step['sense_us']:,.1f}{share}" for step, share in zip(steps, whole, strict=True)]),
        ("wrong\nbits", [as_count(step["raw_errors"], "") for step in steps]),
        ("violated\nchecks", [as_count(step["violated_checks"], "") for step in steps]),
        ("\ndecodes", [decodes_there(step) for step in steps]),
    ]
    table = table_of("step", [step["step"] for step in steps], columns)
    seen = [(step["step"], what_was_seen(step, found)) for step in steps]
    lines = [filled(f"step {number}  {words}", 8) for number, words in seen if words]
    return [filled(said), table, *(["\n".join(lines)] if lines else [])]
