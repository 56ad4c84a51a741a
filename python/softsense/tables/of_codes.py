"""Codes, configurations, circuits, and designs of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from softsense.codes import MIN_SUM_RULE
from softsense.formats import as_number, as_rate
from softsense.tables.layout import listing, paneled

if TYPE_CHECKING:
    from softsense.design import Designed
    from softsense.lifetime import Lifetime


def codes(rows: Sequence[dict[str, Any]]) -> str:
    """The list of codes: name, kind, codeword_bits, data_bits, rate and description of each."""
    return listing(
        ("\ncode", [row["name"] for row in rows], str.ljust),
        ("\nkind", [row["kind"] for row in rows], str.ljust),
        ("codeword\nbits", [f"{row['codeword_bits']:,}" for row in rows], str.rjust),
        ("data\nbits", [f"{row['data_bits']:,}" for row in rows], str.rjust),
        ("\nrate", [f"{row['rate']:.4f}" for row in rows], str.rjust),
        ("\nwhat it is", [row["description"] for row in rows], str.ljust),
    )


def configs(rows: Sequence[dict[str, Any]]) -> str:
    """The list of configs: name, user_bytes, reliability and description of each, as `softsense.configs` has them."""
    return listing(
        ("\nconfig", [row["name"] for row in rows], str.ljust),
        ("for the\nuser", [f"{row['user_bytes'] / 2**30:,.1f} GiB" for row in rows], str.rjust),
        ("\nreliability", [row["reliability"] for row in rows], str.ljust),
        ("\nwhat it is", [row["description"] for row in rows], str.ljust),
    )


def hardware(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What `softsense.codes.hardware` says, as label and value rows."""
    rows = [
        ("code", f"{facts['code']}: {facts['kind'].upper()}, at {facts['node_nm']:g} nm and {facts['clock_mhz']:g} MHz")
    ]
    for name in ("decoder", "encoder"):
        of = facts[name]
        rows += [
            (name, f"{of['mm2']:.4f} mm2: {of['gates']:,.0f} gates, {of['memory_bits']:,.0f} bits of memory"),
            ("", f"{of['cycles']:,} cycles a codeword: {of['us']:.3f} us, {of['gbps']:.2f} Gb/s of data"),
            ("", f"{of['nj']:.2f} nJ a codeword: {of['pj_per_bit']:.3f} pJ a bit of data"),
        ]
    return rows


def code(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What `softsense.codes.describe` says, as label and value rows."""
    n, k = facts["codeword_bits"], facts["data_bits"]
    rows = [
        ("code", f"{facts['name']}: {facts['kind'].upper()}"),
        ("codeword", f"n = {n:,} bits, of which k = {k:,} are data (rate {facts['rate']:.4f})"),
    ]
    return rows + (_ldpc(facts) if facts["kind"] == "ldpc" else _bch(facts))


def _ldpc(facts: dict[str, Any]) -> list[tuple[str, str]]:
    n, k, checks = facts["codeword_bits"], facts["data_bits"], facts["checks"]
    redundant = checks - (n - k)
    shape = f"{checks:,} x {n:,}, {facts['edges']:,} ones"
    if redundant:
        shape += f"; {redundant:,} of the checks follow from others"
    rows = [("parity checks", shape)]
    if facts["circulant_size"]:
        rows.append(
            (
                "base matrix",
                f"{facts['block_rows']} x {facts['block_columns']} circulants of size {facts['circulant_size']:,}",
            )
        )
    how = "structured" if facts["encoding"] == "structured" else "by elimination, with a dense matrix"
    order = "data bits, then parity bits" if facts["data_first"] else "data and parity bits mixed"
    rows.append(("encoding", f"{how}; {order}"))
    for label, name in (("bits", "bit_degrees"), ("checks", "check_degrees")):
        degrees = ", ".join(
            f"{row['degree']} ({row['count']:,}: {100 * row['edge_fraction']:.1f} % of edges)"
            for row in facts[name]
            if row["degree"]
        )
        rows.append((f"degrees of {label}", degrees))
    if facts["cycles"] is None:
        rows.append(("girth, cycles", "not counted: many edges and no base matrix (--cycles counts them)"))
    else:
        rows.append(("girth", "none: no cycles" if facts["girth"] is None else str(facts["girth"])))
        rows += [(f"cycles of {length} edges", f"{count:,}") for length, count in facts["cycles"].items()]
        least = next(
            ((length, ace) for length, ace in facts["least_extrinsic_degree"].items() if ace is not None), None
        )
        if least:
            rows.append(("minimum ACE", f"{least[1]}, of the cycles of {least[0]} edges"))
    if "threshold_sum_product" in facts:
        rows += [
            (
                "threshold",
                f"{facts['threshold_sum_product']:.5f} sum-product (density evolution, binary symmetric channel)",
            ),
            ("", f"{facts['threshold_min_sum']:.5f} {MIN_SUM_RULE.replace(':', ' x ')}"),
        ]
    rows.append(("Shannon limit", f"{facts['shannon_limit']:.5f}"))
    return rows


def _bch(facts: dict[str, Any]) -> list[tuple[str, str]]:
    m, t = facts["field_bits"], facts["correctable"]
    rows = [
        ("field", f"m = {m}: GF(2^{m}), shortened from {2**m - 1:,} bits"),
        ("corrects", f"any t = {t:,} errors"),
        ("parity", f"{facts['parity_bits']:,} bits"),
        ("generator", f"of degree {facts['generator_degree']:,}, with {facts['generator_weight']:,} terms"),
    ]
    label = "raw bit error rate"
    for target, rate in facts["raw_bit_error_rate"].items():
        rows.append((label, f"{rate:.3e} at failure rate {target}"))
        label = ""
    rows.append(("Shannon limit", f"{facts['shannon_limit']:.5f}"))
    return rows


def bench(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What `softsense.bench` measured, as label and value rows."""
    iterations = "" if result["iterations"] is None else f", at most {result['iterations']} iterations"
    rows = [
        ("code", f"{result['code']} (n = {result['codeword_bits']:,}, k = {result['data_bits']:,})"),
        ("channel", f"{result['channel']}, seed {result['seed']}"),
        ("decoder", f"{result['decoder']}{iterations}, {result['instruction_set']}, threads: {result['threads']}"),
        ("frames", f"{result['frames']:,} in {result['seconds']:.1f} s"),
        ("decoding", f"{as_number(result['user_mbps'], 1)} Mb/s of user data"),
        ("encoding", f"{as_number(result['encode_mbps'], 1)} Mb/s of user data"),
        (
            "frame error rate",
            f"{as_rate(result['fer'])} ({result['frame_errors']:,} frames; "
            f"95 %: {as_rate(result['fer_lo'])} to {as_rate(result['fer_hi'])})",
        ),
        ("undetected", f"{result['undetected']:,} frames"),
        ("bit error rate", f"{as_rate(result['bit_error_rate'])} of the data, after decoding"),
    ]
    if result["iterations"] is not None:
        rows.append(("iterations", f"{as_number(result['mean_iterations'], 2)} on average"))
    return rows


def lifetime(found: Lifetime) -> str:
    """Codes and how long they last; lifetime capacities."""
    codes = found.codes
    columns = [
        ("data for\na bit", [f"{code.user_share:.4f}" for code in codes]),
        ("endurance\n(P/E)", [f"{code.endurance_pe:,}" for code in codes]),
        ("RBER\nthen", [f"{code.rber:.3g}" for code in codes]),
        ("UBER\nthen", [f"{code.uber:.2g}" for code in codes]),
        ("iterations\nthen", [as_number(code.mean_iterations, 2) for code in codes]),
    ]
    blocks = [paneled("How long codes last", "table", [code.table for code in codes], columns, 150)]
    rows = found.frame.to_dicts()
    schemes = list(dict.fromkeys(row["scheme"] for row in rows))
    columns = [("endurance\n(P/E)", [f"{row['endurance_pe']:,}" for row in rows[:: len(found.write_amplification)]])]
    for share, factor in found.write_amplification.items():
        values = [row["lifetime_capacity"] for row in rows if row["utilisation"] == share]
        columns.append((f"{100 * share:g} % used,\nWA {factor:.2f}", [f"{value:,.0f}" for value in values]))
    title = "Lifetime capacity (bytes that the host can write for each byte of flash)"
    blocks.append(paneled(title, "scheme", schemes, columns, 150))
    return "\n\n".join(blocks)


def design(found: Designed) -> str:
    """Codes by age, and the section of a config that has them."""
    stages = found.stages
    columns = [
        ("up to\n(P/E)", [f"{stage['to_pe_cycles']:,}" for stage in stages]),
        ("RBER\nthen", [f"{stage['rber']:.3g}" for stage in stages]),
        ("RBER\ncorrected", [f"{stage['rber_limit']:.3g}" for stage in stages]),
    ]
    if found.code == "bch":
        names = [f"{stage['codeword_bytes']} B, t = {stage['correctable']}" for stage in stages]
        columns += [
            ("parity of a\nunit (B)", [f"{stage['parity_bytes']}" for stage in stages]),
            ("metadata\n(B)", [f"{stage['metadata_bytes']}" for stage in stages]),
            ("of the data\n(B)", [f"{stage['squeezed_bytes']}" for stage in stages]),
        ]
    else:
        names = [stage["table"] for stage in stages]
        columns += [
            ("codeword\n(bits)", [f"{stage['codeword_bits']:,}" for stage in stages]),
            ("data\n(bits)", [f"{stage['data_bits']:,}" for stage in stages]),
            ("512 B units\nof a page", [f"{stage['units']}" for stage in stages]),
        ]
    parts = [paneled("Codes by the age of a block", "code", names, columns, 150)]
    ((law, fields),) = found.rber.items()
    parts.append(f"Wear: {law}, {', '.join(f'{name} {value:.6g}' for name, value in fields.items())}.")
    if found.worst_factor:
        parts[-1] += f" The points are off it by a factor of {found.worst_factor:.3g} at most."
    if found.measured_to and stages[-1]["to_pe_cycles"] > found.measured_to:
        parts[-1] += f" What is beyond {found.measured_to:,} P/E cycles is extrapolated."
    return "\n\n".join([*parts, found.section])
