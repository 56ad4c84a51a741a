"""Codes, configurations, circuits, and designs of codes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from softsense.codes import MIN_SUM_RULE
from softsense.formats import as_count, as_number, as_plain_share, as_rate, as_share
from softsense.measured_part import MOSTLY
from softsense.tables.layout import columns, listing, paneled

if TYPE_CHECKING:
    from softsense.conformance import Conformance
    from softsense.design import Designed
    from softsense.lifetime import Lifetime


def codes(rows: Sequence[dict[str, Any]]) -> str:
    """The list of codes: name, kind, codeword_bits, data_bits, rate and description of each."""
    return listing(
        rows,
        ("\ncode", "name", str),
        ("\nkind", "kind", str),
        ("codeword\nbits", "codeword_bits", as_count),
        ("data\nbits", "data_bits", as_count),
        ("\nrate", "rate", _four),
        ("\nwhat it is", "description", str),
    )


def decode_tables(rows: Sequence[dict[str, Any]]) -> str:
    """The list of decode tables, the result of `softsense.decode_tables.listed`."""
    return listing(
        rows,
        ("\ntable", "name", str),
        ("\nlevels", "levels", as_count),
        ("least\nRBER", "least_rber", as_rate),
        ("greatest\nRBER", "greatest_rber", as_rate),
        ("entries\n> 1e-17", "entries", as_count),
        ("most not\nmeasured", "not_measured", as_count),
        ("\ndecoder", "decoder", str),
        ("\ncode", "code", str),
    )


def configs(rows: Sequence[dict[str, Any]]) -> str:
    """The list of configs: name, user_bytes, reliability and description of each, from `softsense.configs`."""
    return listing(
        rows,
        ("\nconfig", "name", str),
        ("for the\nuser", "user_bytes", lambda size: f"{as_number(size / 2**30, 1)} GiB"),
        ("\nreliability", "reliability", str),
        ("\nwhat it is", "description", str),
    )


def _four(value: float) -> str:
    return as_number(value, 4)


def hardware(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The result of `softsense.codes.hardware`, as label and value rows."""
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


def _parallel(facts: dict[str, Any]) -> str:
    if facts["kind"] == "ldpc":
        return f"{facts['checks_per_cycle']:,} checks"
    return f"{facts['search_bits_per_cycle']:,} bits, {facts['key_equation_multipliers']:,} multipliers"


def equal_rate(rows: list[dict[str, Any]]) -> str:
    """The result of `softsense.codes.hardware_at_equal_rate`, a line for each code."""
    found = [{**row, "parallel": _parallel(row)} for row in rows]
    reached = f"decoders that reach {rows[0]['gbps_asked']:.4g} Gb/s of data, at {rows[0]['node_nm']:g} nm"
    return f"{reached}, in the least area\n\n" + listing(
        found,
        ("\ncode", "code", str),
        ("\nMHz", "clock_mhz", lambda mhz: f"{mhz:g}"),
        ("\ndecoders", "decoders", as_count),
        ("each,\na cycle", "parallel", str),
        ("\nGb/s", "gbps", lambda gbps: f"{gbps:.2f}"),
        ("\nmm2", "mm2", lambda mm2: f"{mm2:.3f}"),
        ("us a\ncodeword", "us", lambda us: f"{us:.3f}"),
        ("pJ a bit\nof data", "pj_per_bit", lambda pj: f"{pj:.3f}"),
    )


def _in_runs(numbers: Sequence[int]) -> str:
    """Numbers from 0 as numbers from 1, with ranges for consecutive ones."""
    breaks = [at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1] + 1]
    runs = [numbers[start:end] for start, end in pairwise([0, *breaks, len(numbers)])]
    return ", ".join(f"{run[0] + 1}-{run[-1] + 1}" if len(run) > 1 else str(run[0] + 1) for run in runs)


def code(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The result of `softsense.codes.describe`, as label and value rows."""
    n, k = facts["codeword_bits"], facts["data_bits"]
    rows = [
        ("code", f"{facts['name']}: {facts['kind'].upper()}"),
        ("codeword", f"n = {n:,} bits, of which k = {k:,} are data (rate {facts['rate']:.4f})"),
    ]
    return rows + (_ldpc(facts) if facts["kind"] == "ldpc" else _bch(facts))


def _ldpc(facts: dict[str, Any]) -> list[tuple[str, str]]:
    n, k, checks = facts["codeword_bits"], facts["data_bits"], facts["checks"]
    punctured = facts["punctured_bits"]
    redundant = checks - (n + punctured - k)
    shape = f"{checks:,} x {n + punctured:,}, {facts['edges']:,} ones"
    if redundant:
        shape += f"; {redundant:,} of the checks follow from others"
    rows = [("parity checks", shape)]
    if punctured:
        rows.append(("punctured", f"the last {punctured:,} bits: computed, but not sent"))
    if facts["circulant_size"]:
        rows.append(
            (
                "base matrix",
                f"{facts['block_rows']} x {facts['block_columns']} circulants of size {facts['circulant_size']:,}",
            )
        )
    if facts.get("columns_from"):
        rows.append(("block columns", f"in another order: {_in_runs(facts['columns_from'])} of the file"))
    how = "structured" if facts["encoding"] == "structured" else "by elimination, with a dense matrix"
    order = "data bits, then parity bits" if facts["data_first"] else "data and parity bits mixed"
    rows.append(("encoding", f"{how}; {order}"))
    for label, name in (("bits", "bit_degrees"), ("checks", "check_degrees")):
        degrees = ", ".join(
            f"{row['degree']} ({row['count']:,}: {as_share(row['edge_fraction'], 1)} of edges)"
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
    """The result of `softsense.bench`, as label and value rows."""
    rows = [
        ("code", f"{result['code']} (n = {result['codeword_bits']:,}, k = {result['data_bits']:,})"),
        ("channel", f"{result['channel']}, seed {result['seed']}"),
        *_decoder(result),
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


def _decoder(result: dict[str, Any]) -> list[tuple[str, str]]:
    iterations = "" if result["iterations"] is None else f", at most {result['iterations']} iterations"
    if (backend := result["backend"]) is None:
        told = f"{result['decoder']}{iterations}, {result['instruction_set']}, threads: {result['threads']}"
        return [("decoder", told)]
    alike, compared = backend["compared"] - backend["differing"], backend["compared"]
    return [
        ("decoder", f"{result['decoder']}{iterations}"),
        ("backend", f"{backend['name']}, given {as_count(backend['batch_frames'])} frames at once"),
        ("", f"as the CPU in {alike:,} of {compared:,} frames that were compared"),
    ]


def conformance(found: Conformance) -> list[tuple[str, str]]:
    """The result of `softsense.conform`, as label and value rows."""
    decoded = f"{found.cases:,} cases, {found.frames:,} frames, codes: {len(found.codes)}"
    rows = [
        ("backend", found.backend),
        ("suite", f"version {found.version}: {decoded}"),
        ("algorithms", ", ".join(found.algorithms)),
        ("passed", f"{found.passed:,} of {found.cases:,} cases"),
    ]
    label = "refused"
    for reason in dict.fromkeys((each["algorithm"], each["reason"]) for each in found.refused):
        cases = sum(each["cases"] for each in found.refused if (each["algorithm"], each["reason"]) == reason)
        rows.append((label, f"{cases:,} cases of {reason[0]}: {reason[1]}"))
        label = ""
    if found.differences:
        first = found.differences[0]
        rows.append(
            ("differs", f"in {len(found.differences):,} cases, the first of them case {first.case}: {first.of}")
        )
        if first.frame is not None:
            others = f", the first of {first.frames:,} that differ" if first.frames > 1 else ""
            rows.append(("", f"frame {first.frame} ({first.label}){others}"))
        rows.append(("", f"{first.field}: expected {first.expected}, found {first.found}"))
    if found.conforms:
        rows.append(("conforms", "bit for bit, in all of them"))
    return rows


def lifetime(found: Lifetime) -> str:
    """Codes and their lifetimes; lifetime capacities."""
    codes = [vars(code) for code in found.codes]
    told = columns(
        codes,
        ("read\nlevel", "level", str),
        ("data for\na bit", "user_share", _four),
        ("endurance\n(P/E)", "endurance_pe", as_count),
        ("RBER\nthen", "rber", as_rate),
        ("UBER\nthen", "uber", as_rate),
        ("iterations\nthen", "mean_iterations", lambda mean: as_number(mean, 2)),
    )
    names = [code.table for code in found.codes]
    bounds = [code for code in found.codes if code.not_measured > MOSTLY]
    if bounds:
        told += columns(codes, ("of the UBER\nnot measured", "not_measured", lambda share: as_share(share, 0)))
    blocks = [paneled("How long codes last", "table", names, told, 150)]
    blocks += [
        f"{code.table}: its endurance is a lower bound, as {as_share(code.not_measured, 0)} of the UBER at this "
        f"age is an upper bound or extrapolated. `softsense table show {code.table}` lists these rates."
        for code in bounds
    ]
    rows = found.frame.to_dicts()
    schemes = list(dict.fromkeys(row["scheme"] for row in rows))
    told = columns(rows[:: len(found.write_amplification)], ("endurance\n(P/E)", "endurance_pe", as_count))
    for share, factor in found.write_amplification.items():
        of_share = [row for row in rows if row["utilisation"] == share]
        told += columns(of_share, (f"{as_plain_share(share)} used,\nWA {factor:.2f}", "lifetime_capacity", as_count))
    title = "Lifetime capacity (bytes that the host can write for each byte of flash)"
    blocks.append(paneled(title, "scheme", schemes, told, 150))
    return "\n\n".join(blocks)


def design(found: Designed) -> str:
    """Codes by age, and the section of a config with them."""
    stages = found.stages
    told = columns(
        stages,
        ("up to\n(P/E)", "to_pe_cycles", as_count),
        ("RBER\nthen", "rber", as_rate),
        ("RBER\ncorrected", "rber_limit", as_rate),
    )
    if found.code == "bch":
        names = [f"{stage['codeword_bytes']} B, t = {stage['correctable']}" for stage in stages]
        told += columns(
            stages,
            ("parity of a\nunit (B)", "parity_bytes", str),
            ("metadata\n(B)", "metadata_bytes", str),
            ("of the data\n(B)", "squeezed_bytes", str),
        )
    else:
        names = [stage["table"] for stage in stages]
        told += columns(
            stages,
            ("codeword\n(bits)", "codeword_bits", as_count),
            ("data\n(bits)", "data_bits", as_count),
            ("512 B units\nof a page", "units", str),
        )
    parts = [paneled("Codes by the age of a block", "code", names, told, 150)]
    ((law, fields),) = found.rber.items()
    parts.append(f"Wear: {law}, {', '.join(f'{name} {value:.6g}' for name, value in fields.items())}.")
    if found.worst_factor:
        parts[-1] += f" The points differ from it by a factor of {found.worst_factor:.3g} at most."
    if found.measured_to and stages[-1]["to_pe_cycles"] > found.measured_to:
        parts[-1] += f" Rates beyond {found.measured_to:,} P/E cycles are extrapolated."
    return "\n\n".join([*parts, found.section])
