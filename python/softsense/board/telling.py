"""Entries of the board in words: for a terminal, and for pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softsense.formats import NONE, as_rate, as_significant, level_name


def entry_text(entry: dict[str, Any]) -> str:
    """An entry as text: facts, a table of targets for each level, and the cost."""
    from softsense.tables.layout import describe, listing

    lines = [describe(facts(entry))]
    for level in entry["levels"]:
        rows = [
            {"failure": f"{told['failure']:g}", "rber": rate(told), "methods": methods(told), "verdict": verdict(told)}
            for told in entry["levels"][level]["targets"]
        ]
        asked = [
            ("frame error\nrate", "failure", str),
            ("\nRBER", "rber", str),
            ("\nby", "methods", str),
            ("\nverdict", "verdict", str),
        ]
        lines += ["", f"{level_name(int(level)).capitalize()}", listing(rows, *asked)]
    return "\n".join(lines)


def facts(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Label and value rows of an entry."""
    code, cost, plan = entry["code"], entry["cost"], entry["plan"]
    rows = [
        (
            "code",
            f"{entry['name']} (n = {code['codeword_bits']:,}, k = {code['data_bits']:,}, rate {code['rate']:.4f})",
        ),
        ("licence", entry["matrix"]["licence"] or NONE),
        ("decoder", decoder(entry)),
    ]
    if code["kind"] == "ldpc":
        sizes = [f"{degree['count']:,} of {degree['degree']}" for degree in code["bit_degrees"]]
        checks = [f"{degree['count']:,} of {degree['degree']}" for degree in code["check_degrees"]]
        rows += [
            ("column weights", ", ".join(sizes)),
            ("row weights", ", ".join(checks)),
            ("girth", str(code["girth"] or NONE)),
            ("absorbing sets", sets(entry)),
        ]
        if code["punctured_bits"]:
            rows.append(("bits not sent", f"{code['punctured_bits']:,}, which are not counted in n"))
        if entry["matrix"]["redundant_checks"]:
            rows.append(("redundant checks", f"{entry['matrix']['redundant_checks']:,}"))
    rows += circuit(entry)
    speed = entry.get("throughput")
    if speed:
        rows.append(
            (
                "throughput",
                f"{speed['mbps']:,.0f} Mb/s of data, one thread ({speed['channel']}, {speed['instruction_set']})",
            )
        )
    spent = f"{cost['core_minutes']:g} of {plan['budget_core_minutes']:g} core-minutes"
    short = f"; not done within it: {', '.join(cost['short'])}" if cost["short"] else ""
    rows.append(("cost", spent + short))
    return rows


def decoder(entry: dict[str, Any]) -> str:
    """The decoder of an entry."""
    plan = entry["plan"]
    return "BCH" if plan["decoder"] == "BCH" else f"{plan['decoder']}, at most {plan['iterations']} iterations"


def circuit(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows about the circuit of an entry."""
    found = entry["circuit"]
    if not found or "why_not" in found:
        return [("circuit", f"none: {found['why_not']}" if found else NONE)]
    gates = f"{found['gates']:,.0f} gates and {found['memory_bits']:,.0f} bits of memory"
    area = f"{found['mm2']:.3g} mm2 at {found['node_nm']:g} nm for {found['gbps_asked']:g} Gb/s"
    return [("circuit", f"{gates}, {area}, {found['pj_per_bit']:.3g} pJ a bit of data")]


def sets(entry: dict[str, Any]) -> str:
    """The smallest absorbing sets of an entry."""
    found = entry["sets"]
    if not found or not found["searched_to_bits"]:
        return "not searched for"
    classes: Sequence[dict[str, Any]] = found["classes"]
    told = ", ".join(f"{each['sets']:,} ({each['bits']}, {each['violated']})" for each in classes[:3])
    more = ", ..." if len(classes) > 3 else ""
    return (
        f"{told}{more} (up to {found['searched_to_bits']} bits)"
        if told
        else f"none up to {found['searched_to_bits']} bits"
    )


def rate(target: dict[str, Any]) -> str:
    """The raw bit error rate of a target with its interval; a plus where sets could fail as often."""
    if target["rber"] is None:
        return NONE
    plus = "+" if target["sets"] == "not excluded" else ""
    ends = [target["lo"], target["hi"]]
    interval = f" ({' to '.join(as_rate(end) if end else '?' for end in ends)})" if any(ends) else ""
    return f"{as_significant(target['rber'])}{plus}{interval}"


def verdict(target: dict[str, Any]) -> str:
    """Whether a target is proved, and if not, why."""
    return "proved" if target["proved"] else f"not proved: {target['why_not']}"


def methods(target: dict[str, Any]) -> str:
    """The answers of all methods about a target, at the raw bit error rate at which they measured."""
    told = ", ".join(
        f"{each['method']} {as_rate(each['fer']) if each['hi'] else 'above ' + as_rate(each['lo'])}"
        for each in target["methods"]
        if each["fer"]
    )
    return f"{told} at {as_rate(target['measured_rber'])}" if told else NONE


def codes_text(rows: Sequence[dict[str, Any]]) -> str:
    """The list of published codes."""
    from softsense.tables.layout import listing

    count = "{:,}".format
    asked = (
        ("\nname", "name", str),
        ("\nn", "codeword_bits", count),
        ("\nk", "data_bits", count),
        ("\ncode", "title", str),
    )
    return listing(rows, *asked)
