"""Results as text for people: aligned blocks, no line ever cut, and of a comparison the finding in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softsense.api import NO_SOFT_SENSING, Comparison, RunResult, knows_level
from softsense.codes import MIN_SUM_RULE

if TYPE_CHECKING:
    from softsense.design import Designed
    from softsense.lifetime import Lifetime

TIME_PARTS = {
    "wait_plane": "wait for plane",
    "sense": "sensing",
    "wait_bus": "wait for bus",
    "transfer": "transfer",
    "wait_decoder": "wait for decoder",
    "decode": "decoding",
    "retries": "retries",
}
"""What a codeword read's time is made of, in the order in which it passes, and how people read it."""

SATURATED = 0.95
"""Utilisation from which on a resource is called saturated."""

_GAP = "  "
_STATS = {"mean": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "max"}

Column = tuple[str, list[str]]
"""A header of one or two lines, and a cell for each row."""


@dataclass(frozen=True)
class Block:
    """A table of results: what it is about, its title, and beside the names of its rows its columns."""

    about: str
    title: str
    corner: str
    names: list[str]
    columns: list[Column]


_WAITS_FOR = {
    "host_reads": "wait for\nreads",
    "background_reads": "backgr.\nreads",
    "host_programs": "wait for\nprograms",
    "background_programs": "backgr.\nprograms",
    "erases": "wait for\nerases",
}
"""What a plane is taken by, while a read waits for it."""

_ENERGIES = {
    "sense": "hard\nsensing",
    "sense_extra_levels": "extra\nlevels",
    "transfer": "\ntransfer",
    "program": "\nprogram",
    "erase": "\nerase",
    "decode": "\ndecode",
}


def describe(rows: Sequence[tuple[str, str]], indent: str = "") -> str:
    """Label and value rows, aligned."""
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{indent}{label:<{width}}  {value}".rstrip() for label, value in rows)


def results(comparison: Comparison, width: int = 150) -> str:
    """The result blocks of a comparison, or of a single run.

    Args:
        comparison: what was measured.
        width: columns of the screen; a block that is wider continues below, with the policies' names repeated.
    """
    return "\n\n".join(
        paneled(block.title, block.corner, block.names, block.columns, width) for block in blocks(comparison)
    )


def blocks(comparison: Comparison) -> list[Block]:
    """The tables of a comparison, or of a single run: response, time split, slowest reads, levels, energy, device."""
    runs = comparison.all_runs
    names = [r.name.replace("_", " ") if r.name == NO_SOFT_SENSING else r.name for r in runs]
    summaries = [r.summary for r in runs]
    kinds = [kind for kind in ("read", "write", "all") if any(s["response"][kind]["count"] for s in summaries)]

    def column(header: str, say: Callable[[Any], str], *path: str) -> Column:
        return header, [say(_at(s, *path)) for s in summaries]

    title = "Response time of requests (us)"
    if len(runs) == 1:
        response = [summaries[0]["response"][kind] for kind in kinds]
        columns = [("requests", [f"{r['count']:,}" for r in response])]
        columns += [(label, [_us(r[f"{stat}_us"]) for r in response]) for stat, label in _STATS.items()]
        found = [Block("response", title, "kind", kinds, columns)]
    else:
        columns = []
        for kind in kinds:
            # Policies differ in their reads; of other requests, two numbers say whether those suffer.
            stats = _STATS if kind == kinds[0] else {"mean": "mean", "p99": "p99"}
            columns += [
                column(f"{kind}\n{label}", _us, "response", kind, f"{stat}_us") for stat, label in stats.items()
            ]
            if kind == "read" and comparison.baseline:
                columns.append(("slow-\ndown", [_ratio(comparison.slowdown(r)) for r in runs]))
        found = [Block("response", title, "policy", names, columns)]

    reads = [s["codeword_reads"] for s in summaries]
    if any(r["count"] for r in reads):
        columns = [
            column("\n".join(label.rsplit(" ", 1)), _us, "codeword_reads", "time_us", part)
            for part, label in TIME_PARTS.items()
        ]
        columns.append(column("in\nall", _us, "codeword_reads", "mean_us"))
        found.append(Block("time split", "Where a codeword read's time goes (mean, us)", "policy", names, columns))

        slowest = [next((s for s in r["slowest"] if s["share"] == 0.01), None) for r in reads]

        def of_slowest(header: str, *path: str) -> Column:
            return header, [_us(_at(s, *path)) if s else "-" for s in slowest]

        columns = [of_slowest(label, "wait_plane_for_us", what) for what, label in _WAITS_FOR.items()]
        columns += [
            of_slowest("\n".join(label.rsplit(" ", 1)), "time_us", part)
            for part, label in TIME_PARTS.items()
            if part != "wait_plane"
        ]
        columns += [of_slowest("in\nall", "mean_us"), of_slowest("from", "from_us")]
        title = "Where the time of the slowest 1 % of codeword reads goes (mean, us)"
        found.append(Block("slowest", title, "policy", names, columns))

        deepest = max(level for r in reads for level, n in enumerate(r["level_histogram"], 1) if n or level == 1)
        columns = [
            (f"level\n{level}", [_percent(_share(r["level_histogram"], level - 1)) for r in reads])
            for level in range(1, deepest + 1)
        ]
        columns += [
            ("attempts\nper read", [_number(r["attempts"] / r["count"] if r["count"] else None, 3) for r in reads]),
            column("uncor-\nrectable", _count, "codeword_reads", "uncorrectable"),
            column("codewords\nread", _count, "codeword_reads", "count"),
        ]
        title = "Read level at which codewords decoded (% of codeword reads)"
        found.append(Block("levels", title, "policy", names, columns))

    def energy(uj: float | None) -> str:
        return _number(uj, 2)

    served = [max(s["requests"], 1) for s in summaries]
    columns = [
        (label, [energy(s["energy"][f"{what}_uj"] / n) for s, n in zip(summaries, served, strict=True)])
        for what, label in _ENERGIES.items()
    ]
    columns += [
        column("in\nall", energy, "energy", "mean_request_uj"),
        column("a\nread", energy, "energy", "mean_read_uj"),
        column("a\nwrite", energy, "energy", "mean_write_uj"),
    ]
    found.append(Block("energy", "Energy of a request (mean, uJ)", "policy", names, columns))

    columns = [
        column("write\namplif.", lambda v: _number(v, 3), "writes_detail", "write_amplification"),
        column("GC\nblocks", _count, "gc", "blocks_reclaimed"),
        column("planes\nbusy %", _percent, "utilisation", "plane"),
        column("channels\nbusy %", _percent, "utilisation", "channel"),
        column("decoders\nbusy %", _percent, "utilisation", "decoder"),
        column("requests\nserved", _count, "requests"),
        column("simulated\nseconds", lambda v: _number(v, 3), "simulated_s"),
        column("requests per s\nof wall clock", _count, "machine", "requests_per_s"),
    ]
    found.append(Block("device", "Device", "policy", names, columns))

    if any(s["read_reclaim"] for s in summaries):
        columns = [
            column("blocks\nreclaimed", _count, "read_reclaim", "blocks"),
            column("wordlines\nreclaimed", _count, "read_reclaim", "wordlines"),
            column("codewords\nmoved", _count, "read_reclaim", "codewords"),
            column("counters,\nbytes a block", _count, "read_reclaim", "counter_bytes_per_block"),
        ]
        found.append(Block("read_reclaim", "Read reclaim", "policy", names, columns))

    if any(s["mapping"] for s in summaries):
        columns = [
            column("hit\nratio", lambda v: _number(v, 3), "mapping", "hit_ratio"),
            column("evicted\nentries", _count, "mapping", "evictions"),
            column("of them\nchanged", _count, "mapping", "dirty_evictions"),
            column("pages\nread", _count, "mapping", "translation_reads"),
            column("pages\nprogrammed", _count, "mapping", "translation_programs"),
            column("soft\nstarts", _count, "codeword_reads", "soft_starts"),
        ]
        found.append(Block("mapping", "Mapping cache and translation pages", "policy", names, columns))
    return found


def chips(rows: Sequence[dict[str, float]]) -> str:
    """Known chips: their factors, raw bit error rates, and how often decoding fails."""
    names = [str(number) for number in range(len(rows))] + ["mean"]
    columns = []
    for key, digits, label in (("factor", 4, "\nfactor"), ("rber", 5, "\nRBER"), ("p_fail", 3, "decoding\nfails")):
        values = [row[key] for row in rows]
        columns.append((label, [_number(value, digits) for value in [*values, sum(values) / len(values)]]))
    return paneled("Chips in the order of the stripe", "chip", names, columns, 150)


def lifetime(found: Lifetime) -> str:
    """Codes and how long they last; lifetime capacities."""
    codes = found.codes
    columns = [
        ("data for\na bit", [f"{code.user_share:.4f}" for code in codes]),
        ("endurance\n(P/E)", [f"{code.endurance_pe:,}" for code in codes]),
        ("RBER\nthen", [f"{code.rber:.3g}" for code in codes]),
        ("UBER\nthen", [f"{code.uber:.2g}" for code in codes]),
        ("iterations\nthen", [_number(code.mean_iterations, 2) for code in codes]),
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


_WARNINGS = {
    "beyond_table": "were at raw bit error rates that the decode table does not reach: their fate is a guess",
    "uncorrectable": "stayed uncorrectable at the last level",
}


def finding(comparison: Comparison) -> str:
    """The main result in a sentence or two."""
    sentences = [_interrupted(comparison)] if comparison.interrupted else []
    kind = next((k for k in ("read", "write") if any(_mean(r, k) is not None for r in comparison.runs)), None)
    if kind is None:
        return " ".join([*sentences, "Nothing was read or written."])
    timed = [(r, _mean(r, kind)) for r in comparison.runs]
    # What knows the level in advance is a bound, not a contender.
    contenders = [(r, mean) for r, mean in timed if mean is not None and not knows_level(r.summary["policy"])]
    best, fastest = min(contenders or [(r, mean) for r, mean in timed if mean is not None], key=lambda pair: pair[1])
    sentence = f"{best.name} {kind}s in {_us(fastest)} us on average"
    if kind == "write":
        sentence = f"No requests read; {sentence}"
    others = [(r, mean) for r, mean in contenders if r is not best]
    if others:
        reference, slower = next(
            (pair for pair in others if pair[0].name == "two_step"), max(others, key=lambda pair: pair[1])
        )
        gain = 1 - fastest / slower
        if gain < 0.005:
            sentence += f", within half a percent of {reference.name}"
        else:
            sentence += f", {100 * gain:.{0 if gain >= 0.1 else 1}f} % faster than {reference.name} ({_us(slower)} us)"
    bounds = [f"{_us(mean)} us if the level were known in advance" for r, mean in timed if mean and r.name == "ideal"]
    if comparison.baseline and (mean := _mean(comparison.baseline, kind)) is not None:
        bounds.append(f"{_us(mean)} us if hard sensing always sufficed")
    if bounds and best.name != "ideal":
        sentence += f"; it would be {' and '.join(bounds)}"
    sentences.append(sentence + ".")
    for unit, share in best.summary["utilisation"].items():
        if share is not None and share >= SATURATED:
            sentences.append(f"The {unit}s are {100 * share:.0f} % busy: response times are mostly queueing.")
    return " ".join(sentences)


def warnings(comparison: Comparison) -> str:
    """What has to be known before the numbers are read, a line each: lost data, guesses, a device that is full."""
    sentences = []
    for key, said in _WARNINGS.items():
        counted = [
            (run.summary["codeword_reads"][key] or 0, run.summary["codeword_reads"]["count"], run)
            for run in comparison.all_runs
        ]
        if sentence := _worst(counted, "codeword reads", said):
            sentences.append(sentence)
    writes = [(run, run.summary["writes_detail"]) for run in comparison.all_runs]
    refused = [(detail["refused_codewords"], detail["host_codewords"], run) for run, detail in writes]
    if sentence := _worst(refused, "codewords written", "were refused: there was no room left"):
        first = min(detail["read_only_from_s"] for _, detail in writes if detail["read_only_from_s"] is not None)
        sentences.append(f"{sentence[:-1]}, after {first:,.3g} s at the earliest.")
    return "\n".join(sentences)


def own_costs(comparison: Comparison) -> list[str]:
    """What asking policies and rules of the user's own has cost, a sentence each."""
    told = []
    for run in comparison.all_runs:
        for own in run.summary["machine"].get("own", []):
            if own["tabulated"] is not None:
                said = f"{own['tabulated']:,} decisions tabulated before the run, none asked for during it"
            else:
                took = f" in {own['calls_s']:.2f} of {run.summary['machine']['wall_s']:.2f} s" if own["calls_s"] else ""
                said = f"asked {own['calls']:,} times{took}"
            told.append(f"{run.name}: {said}" if run.name == own["name"] else f"{run.name}, {own['name']}: {said}")
    return told


def _worst(counted: Sequence[tuple[int, int, RunResult]], among: str, said: str) -> str | None:
    """What happened to some of so many, in the run where it did to the greatest share; nothing if it never did."""
    some, count, run = max(counted, key=lambda found: found[0] / max(1, found[1]))
    most = f" with {run.name}, the most of any policy" if len(counted) > 1 else ""
    share = 100 * some / max(1, count)
    return f"{some:,} of {count:,} {among} ({share:.3g} %){most} {said}." if some else None


def codes(rows: Sequence[dict[str, Any]]) -> str:
    """The list of codes: name, kind, codeword_bits, data_bits, rate and description of each."""
    return _listing(
        ("\ncode", [row["name"] for row in rows], str.ljust),
        ("\nkind", [row["kind"] for row in rows], str.ljust),
        ("codeword\nbits", [f"{row['codeword_bits']:,}" for row in rows], str.rjust),
        ("data\nbits", [f"{row['data_bits']:,}" for row in rows], str.rjust),
        ("\nrate", [f"{row['rate']:.4f}" for row in rows], str.rjust),
        ("\nwhat it is", [row["description"] for row in rows], str.ljust),
    )


def configs(rows: Sequence[dict[str, Any]]) -> str:
    """The list of configs: name, user_bytes, reliability and description of each, as `softsense.configs` has them."""
    return _listing(
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
        ("decoding", f"{_number(result['user_mbps'], 1)} Mb/s of user data"),
        ("encoding", f"{_number(result['encode_mbps'], 1)} Mb/s of user data"),
        (
            "frame error rate",
            f"{_rate(result['fer'])} ({result['frame_errors']:,} frames; "
            f"95 %: {_rate(result['fer_lo'])} to {_rate(result['fer_hi'])})",
        ),
        ("undetected", f"{result['undetected']:,} frames"),
        ("bit error rate", f"{_rate(result['bit_error_rate'])} of the data, after decoding"),
    ]
    if result["iterations"] is not None:
        rows.append(("iterations", f"{_number(result['mean_iterations'], 2)} on average"))
    return rows


def fer(document: dict[str, Any]) -> str:
    """What `softsense.measure_fer` found: a block for each level, and where its curve crosses given failure rates."""
    iterations = "" if document["iterations"] is None else f", at most {document['iterations']} iterations"
    goal = document["goal"]
    rows = [
        ("code", f"{document['code']} (n = {document['codeword_bits']:,}, k = {document['data_bits']:,})"),
        ("decoder", f"{document['decoder'] or 'BCH'}{iterations}, seed {document['seed']}"),
        (
            "sought",
            f"relative error {goal['relative_error']:g} down to {goal['down_to']:g}, "
            f"at most {goal['frames']:,} frames a point",
        ),
        *_floor_lines(document),
    ]
    blocks = [describe(rows)]
    points = document["points"]
    blocks += [
        f"Level {level}{' (hard decision)' if level == 1 else ''}\n"
        + _points([point for point in points if point["level"] == level])
        for level in sorted({point["level"] for point in points})
    ]
    if thresholds := document["thresholds"]:
        blocks.append(f"Raw bit error rate at which decoding fails with\n{_thresholds(thresholds)}")
    if any(not point["complete"] for point in points):
        blocks.append(_INCOMPLETE)
    if any(map(_may_have_a_floor, thresholds)):
        blocks.append(_FLOOR_POSSIBLE)
    if unlike := [point for point in points if point["judged"] and not point["judged"]["agrees"]]:
        told = ", ".join(
            f"{p['fer']:.3g} against {p['judged']['fer']:.3g} at level {p['level']}, RBER {p['rber']:.4g}"
            for p in unlike
        )
        # Said first: the number is not to be trusted.
        blocks.insert(0, f"Splitting does not agree with the strata: {told}. Neither is to be trusted there.")
    return "\n\n".join(blocks)


def decode_table(document: dict[str, Any]) -> str:
    """What `softsense.decode_tables.describe` says of a decode table."""
    levels, rber = document["level"], document["rber"]
    rows = [
        ("table", document["name"]),
        ("code", document["code"]),
        ("decoder", document["decoder"]),
        ("source", document["source"]),
        (
            "grid",
            f"{len(rber)} raw bit error rates from {rber[0]:g} to {rber[-1]:g}, "
            f"{'interpolated in ln P_fail' if document['interpolation'] == 'log' else 'as steps'}",
        ),
        ("levels", f"1 to {len(levels)}, {'with' if 'iterations' in levels[0] else 'without'} iterations"),
    ]
    blocks = [describe(rows)]
    if thresholds := document["thresholds"]:
        blocks.append(f"Raw bit error rate at which decoding fails with\n{_thresholds(thresholds)}")
        if any(map(_may_have_a_floor, thresholds)):
            blocks.append(_FLOOR_POSSIBLE)
    columns = [_aligned(["", "RBER", *(f"{rate:.4g}" for rate in rber)], str.rjust)]
    for number, level in enumerate(levels, start=1):
        # Without frames, a value is a bound unless it is exact, which its interval says.
        least = level.get("p_fail_lo", [0.0] * len(rber))
        bounds = [
            frames == 0 and least[i] < level["p_fail"][i] for i, frames in enumerate(level.get("frames", []))
        ] or [False] * len(rber)
        cells = [_rate(p) + ("*" if bound else " ") for p, bound in zip(level["p_fail"], bounds, strict=True)]
        columns.append(_aligned(["level", str(number), *cells], str.rjust))
    blocks.append(f"Failure probability (* an upper bound)\n{_panel(columns)}")
    return "\n\n".join(blocks)


def cells(facts: dict[str, Any]) -> str:
    """What `softsense.flash.describe` says of cells."""
    rows = [
        ("cells", f"{facts['states']} states, {len(facts['pages'])} pages a wordline"),
        (
            "age",
            f"{facts['pe_cycles']:,} P/E cycles, {facts['retention_days']:,g} days"
            + (f", {facts['effective_reads']:,g} effective reads" if facts["effective_reads"] else ""),
        ),
        ("raw bit error rate", f"{_rate(facts['rber'])}, the mean of the pages"),
        ("level", f"{facts['level']}, references by {facts['placement'].replace('_', ' ')}"),
    ]
    pages = facts["pages"]
    columns = [
        ("page", [page["name"] for page in pages], str.ljust),
        ("bits of the states", [page["bits"] for page in pages], str.ljust),
        ("RBER", [_rate(page["rber"]) for page in pages], str.rjust),
        ("default references", [_rate(page["default_references_rber"]) for page in pages], str.rjust),
        ("tracked", [_rate(page["tracked_references_rber"]) for page in pages], str.rjust),
        ("hard references (V)", [" ".join(f"{v:.3f}" for v in page["hard_references_v"]) for page in pages], str.ljust),
        ("information, hard", [f"{page['hard_information_bits']:.4f}" for page in pages], str.rjust),
        (f"at level {facts['level']}", [f"{page['information_bits']:.4f}" for page in pages], str.rjust),
        ("sensings", [str(page["sensings"]) for page in pages], str.rjust),
        ("bits a cell", [str(page["bits_per_cell"]) for page in pages], str.rjust),
    ]
    states = [
        ("state", [str(state) for state in range(facts["states"])]),
        ("mean (V)", [f"{mean:.3f}" for mean in facts["means_v"]]),
        ("spread (V)", [f"{spread:.3f}" for spread in facts["spreads_v"]]),
    ]
    blocks = [
        describe(rows),
        _panel([_aligned(["", title, *shown], str.rjust) for title, shown in states]),
        _panel([_aligned(["", title, *shown], align) for title, shown, align in columns]),
    ]
    for page in pages:
        ends = ["", *(f"{reference:.3f}" for reference in page["references_v"]), ""]
        regions = [
            ("from (V)", ends[:-1]),
            ("to (V)", ends[1:]),
            ("P(region | 0)", [_rate(zero) for zero, _ in page["probabilities"]]),
            ("P(region | 1)", [_rate(one) for _, one in page["probabilities"]]),
            ("LLR", [f"{llr:+.2f}" for llr in page["llrs"]]),
            ("integer", [f"{llr:+d}" for llr in page["integer_llrs"]]),
        ]
        table = _panel([_aligned(["", title, *shown], str.rjust) for title, shown in regions])
        blocks.append(f"Regions of the {page['name']} page\n{table}")
    return "\n\n".join(blocks)


def rber_by_age(rows: list[dict[str, Any]]) -> str:
    """What `softsense.flash.rber_by_age` says."""
    pages = list(rows[0]["default_pages"])
    columns = [
        ("P/E\ncycles", [f"{row['pe_cycles']:,}" for row in rows]),
        ("retention\ndays", [f"{row['retention_days']:,g}" for row in rows]),
    ]
    for references in ("default", "tracked"):
        columns.append((f"RBER\n{references}", [_rate(row[references]) for row in rows]))
        columns += [(f"\n{page}", [_rate(row[f"{references}_pages"][page]) for row in rows]) for page in pages]
    columns += [
        (f"bits at\nlevel {level}", [f"{row['information'][level]:.4f}" for row in rows])
        for level in rows[0]["information"]
    ]
    return _headed(columns)


def rber_by_reads(rows: list[dict[str, Any]]) -> str:
    """What `softsense.flash.rber_by_reads` says."""
    columns = [("\nreads", [f"{row['reads']:,.0f}" for row in rows if row["pattern"] == "even"])]
    for pattern, title in (("one_neighbour", "all of a wordline\nbeside"), ("even", "spread evenly\n")):
        of = [row for row in rows if row["pattern"] == pattern]
        head, line = title.split("\n")
        columns.append((f"{head}\n{line} effective".rstrip(), [f"{row['effective_reads']:,.0f}" for row in of]))
        columns += [
            (f"RBER\n{references}", [_rate(row[references]) for row in of]) for references in ("default", "best")
        ]
    return _headed(columns)


_MEASURES = {
    "violated_checks": "violated checks of a codeword",
    "ones": "ones of a page",
    "known_errors": "errors of known cells, upper less lower",
    "valley_search": "search for valleys: RBER after it",
}


def measures(rows: list[dict[str, Any]]) -> str:
    """What `softsense.flash.measures` says."""

    def searches(row: dict[str, Any]) -> bool:
        return row["measure"] == "valley_search"

    def number(row: dict[str, Any], value: float) -> str:
        return _rate(value) if searches(row) else f"{value:,.1f}"

    def apart(row: dict[str, Any]) -> str:
        return f"{abs(row['default'] - row['best']) / row['sigma']:.1f}" if row["sigma"] else ""

    return _headed(
        [
            ("\npage", [row["page"] for row in rows]),
            ("\nmeasure", [_MEASURES[row["measure"]] for row in rows]),
            ("\nof", [f"{row['of']:,}" for row in rows]),
            ("default\nreferences", ["" if searches(row) else number(row, row["default"]) for row in rows]),
            ("best\nones", [number(row, row["best"]) for row in rows]),
            ("\nsearched", [number(row, row["default"]) if searches(row) else "" for row in rows]),
            ("\nspread", [number(row, row["sigma"]) if row["sigma"] else "" for row in rows]),
            ("apart,\nspreads", [apart(row) for row in rows]),
            ("sensings at\none reference", [f"{row['sensings']:,}" for row in rows]),
            ("bits off\nthe chip", [f"{row['transferred_bits']:,}" for row in rows]),
        ]
    )


def reliability_by_age(rows: list[dict[str, Any]]) -> str:
    """What `softsense.flash.reliability_by_age` says."""
    return _headed(
        [
            ("retention\ndays", [f"{row['retention_days']:,g}" for row in rows]),
            ("P/E\ncycles", [f"{row['pe_cycles']:,}" for row in rows]),
            ("\nmean RBER", [_rate(row["rber"]) for row in rows]),
            ("P_fail,\nhard", [_rate(row["p_fail_hard"]) for row in rows]),
            ("retries,\nmean", [f"{row['retries']:.3f}" for row in rows]),
            ("P, no step\ndecodes", [_rate(row["p_uncorrectable"]) for row in rows]),
            ("\nUBER", [_rate(row["uber"]) for row in rows]),
        ]
    )


def starting_reliability(rows: list[dict[str, Any]]) -> str:
    """What `softsense.flash.starting_reliability` says."""
    columns = [
        ("at the start", [row["page_type"] for row in rows]),
        ("mean RBER", [_rate(row["rber"]) for row in rows]),
        ("P_fail, hard", [_rate(row["p_fail_hard"]) for row in rows]),
        ("P_fail, deepest level", [_rate(row["p_fail"]) for row in rows]),
    ]
    return _panel([_aligned(["", title, *shown], str.rjust) for title, shown in columns])


def cell_fit(rows: list[dict[str, Any]]) -> str:
    """What `softsense.measured_cells.fit` says of how near it comes: the largest differences of each age."""

    def largest(rows: list[dict[str, Any]], column: str) -> str:
        values = [abs(row[column]) for row in rows if row[column] is not None]
        return f"{max(values):.2f}" if values else "-"

    ages = list(dict.fromkeys((row["pe_cycles"], row["retention_days"]) for row in rows))
    programmed, erased = (
        [
            [row for row in rows if (row["pe_cycles"], row["retention_days"]) == age and keep(row["state"])]
            for age in ages
        ]
        for keep in (lambda state: state > 0, lambda state: state == 0)
    )
    columns = [
        ("P/E\ncycles", [f"{cycles:,}" for cycles, _ in ages]),
        ("retention\ndays", [f"{days:,g}" for _, days in ages]),
    ]
    for title, column in (("fitted", ""), ("left out", "left_out_")):
        columns += [
            (f"{title}:\nmeans", [largest(each, f"{column}mean_off") for each in programmed]),
            ("\nspreads", [largest(each, f"{column}sigma_off") for each in programmed]),
            ("erased\nmean", [largest(each, f"{column}mean_off") for each in erased]),
            ("\nspread", [largest(each, f"{column}sigma_off") for each in erased]),
        ]
    return _headed(columns)


def retry_table(offsets_v: list[list[float]], made_for: list[tuple[int, float]], decoded: list[float]) -> str:
    """What `softsense.retry_tables.make` chose."""
    columns = [
        ("\nentry", [str(entry) for entry in range(len(offsets_v))]),
        ("best at\nP/E cycles", ["default", *(f"{cycles:,}" for cycles, _ in made_for[1:])]),
        ("\ndays", ["", *(f"{days:g}" for _, days in made_for[1:])]),
        *(
            (f"offset of\nboundary {at} (V)" if at == 0 else f"\n{at}", [f"{row[at]:+.4f}" for row in offsets_v])
            for at in range(len(offsets_v[0]))
        ),
        ("decoded up to it,\nof what is at best", [f"{100 * share:.4f} %" for share in decoded]),
    ]
    return _headed(columns)


def inference(boundaries: list[dict[str, Any]]) -> str:
    """What `softsense.inference.make` found of each boundary, the best first."""
    rows = sorted(boundaries, key=lambda row: row["sentinels"][1])
    columns = [("measured\nboundary", [str(row["boundary"]) for row in rows])]
    for title, measured in (("exactly", "exactly"), ("sentinels", "sentinels"), ("share of ones", "share_of_ones")):
        columns += [
            (f"{title}:\nRBER / best", [f"{row[measured][0]:.3f}" for row in rows]),
            ("\nfail", [f"{100 * row[measured][1]:.1f} %" for row in rows]),
        ]
    return _headed(columns)


def bake(times: dict[str, float]) -> list[tuple[str, str]]:
    """What `softsense.flash.bake_minutes` says."""
    return [
        ("recovery", f"{times['recovery_bake_minutes']:.1f} minutes, after cycling"),
        ("retention", f"{times['retention_bake_minutes']:.1f} minutes, after writing"),
    ]


def _points(points: Sequence[dict[str, Any]]) -> str:
    columns = []
    if "pe_cycles" in points[0]:
        columns.append(("P/E\ncycles", [f"{p['pe_cycles']:,}" for p in points]))
        columns.append(("retention\ndays", [f"{p['retention_days']:,g}" for p in points]))
    columns += [
        ("\nRBER", [f"{p['rber']:.4g}" for p in points]),
        ("frame error\nrate", [_told(p) for p in points]),
        ("95 %\nfrom", [_rate(p["lo"]) for p in points]),
        ("\nto", [_rate(p["hi"]) for p in points]),
        ("relative\nerror", [_rate(p["relative_error"]) for p in points]),
        *_floor_columns(points),
        ("missing\n%", ["-" if p["missing"] is None else _share_missing(p["missing"]) for p in points]),
        ("unlisted\nat most", [_rate(p["unlisted"]) for p in points]),
        ("\nmethod", [p["method"] for p in points]),
        ("frames\ndecoded", [f"{p['frames']:,}" for p in points]),
        ("\nfailures", [f"{p['failures']:,}" for p in points]),
        ("mean\niterations", [_number(p["mean_iterations"], 2) for p in points]),
    ]
    return _headed(columns)


_INCOMPLETE = "* incomplete: by extrapolation, more than 25 % is missing: frames with fewer errors than any that failed"
_FLOOR_POSSIBLE = "+ no listed set was seen to fail, but frames were too few to exclude that sets fail as often as this"
_MOST_SETS = 6
_MOST_STRAY = 5


def _told(point: dict[str, Any]) -> str:
    """A frame error rate, or that the judge does not agree with it."""
    if point["judged"] and not point["judged"]["agrees"]:
        return "differs! "
    return _rate(point["fer"]) + (" " if point["complete"] else "*")


def _floor_columns(points: Sequence[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """The parts of a rate, where the sets that make its floor are known, and what splitting says of it."""
    columns = []
    if any(p["floor"] is not None for p in points):
        columns += [
            ("of that\nfloor", ["-" if p["floor"] is None else _rate(p["floor"]) for p in points]),
            ("\nat most", ["-" if p["floor"] is None else _rate(p["floor_at_most"]) for p in points]),
        ]
    if any(p["judged"] for p in points):
        columns.append(("by\nsplitting", [_rate(p["judged"]["fer"]) if p["judged"] else "-" for p in points]))
    return columns


def _floor_lines(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Which absorbing sets the floors are those of."""
    if document["kind"] == "bch":
        return []
    if not (listed := document["traps"]):
        return [("floor", "not measured: no absorbing sets are listed (softsense code traps finds them)")]
    classes = ", ".join(f"{c['sets']:,} ({c['bits']}, {c['violated']})" for c in listed["classes"]) or "none"
    return [("floor", f"of the absorbing sets of up to {listed['most_bits']} bits: {classes}")]


def traps(document: dict[str, Any]) -> str:
    """What `softsense.find_traps` found, and how often decoders fail on it."""
    searched = "not searched"
    if document["most_bits"]:
        searched = (
            f"all elementary sets of up to {document['most_bits']} bits, from cycles of up to "
            f"{document['longest_cycle']} bits"
        )
    rows = [("code", f"{document['code']} (n = {document['codeword_bits']:,})"), ("search", searched)]
    if document["impulses"]:
        rows.append(("impulses", f"{document['impulses']:,} through {document['impulse_decoder']}"))
    blocks = [describe(rows)]
    if classes := document["classes"]:
        columns = [
            ("\nbits", [str(c["bits"]) for c in classes]),
            ("violated\nchecks", [str(c["violated"]) for c in classes]),
            ("\norbits", [f"{c['orbits']:,}" for c in classes]),
            ("\nsets", [f"{c['sets']:,}" for c in classes]),
        ]
        if document["impulses"]:
            columns += [
                ("orbits found by\nsearch", [f"{c['search']:,}" for c in classes]),
                ("\nimpulses", [f"{c['impulses']:,}" for c in classes]),
                ("\nboth", [f"{c['both']:,}" for c in classes]),
            ]
        blocks.append("Absorbing sets\n" + _headed(columns))
    else:
        blocks.append("Absorbing sets: none found")
    if stray := document["stray"]:
        seen = sorted(stray, key=lambda s: -s["hits"])[:_MOST_STRAY]
        told = ", ".join(f"({s['bits']}, {s['violated']}) {s['hits']:,} times" for s in seen)
        more = ", ..." if len(stray) > len(seen) else ""
        blocks.append(f"Impulses also ended in sets that are not absorbing\n{told}{more}")
    for trap in document["sets"][:_MOST_SETS]:
        bits = " ".join(map(str, trap["bits"]))
        blocks.append(f"({len(trap['bits'])}, {trap['violated']}), one of {trap['multiplicity']}: {bits}")
    if len(document["sets"]) > _MOST_SETS:
        blocks.append(f"... and {len(document['sets']) - _MOST_SETS:,} more orbits (--out FILE writes all)")
    if failing := document.get("decoders"):
        columns = [
            ("\ndecoder", [f["decoder"] for f in failing]),
            ("\nset", [f"({f['bits']}, {f['violated']})" for f in failing]),
            ("wrong\nbits", [str(f["wrong"]) for f in failing]),
            ("frames\ndecoded", [f"{f['frames']:,}" for f in failing]),
            ("\nfailures", [f"{f['failures']:,}" for f in failing]),
            ("share that\nfails", [_rate(f["failures"] / f["frames"]) for f in failing]),
            ("95 %\nfrom", [_rate(f["lo"]) for f in failing]),
            ("\nto", [_rate(f["hi"]) for f in failing]),
        ]
        rber = failing[0]["rber"]
        blocks.append(f"Frames with wrong bits in one set, elsewhere at RBER {rber:g}\n" + _headed(columns))
    return "\n\n".join(blocks)


def _headed(columns: Sequence[tuple[str, list[str]]]) -> str:
    return _panel([_aligned([*header.split("\n"), *cells], str.rjust) for header, cells in columns])


def _share_missing(share: float) -> str:
    return f"{100 * share:.1f}" if share < 10 else f"{100 * share:.0e}"


def _thresholds(thresholds: Sequence[dict[str, Any]]) -> str:
    levels = sorted({found["level"] for found in thresholds})
    by_target = {(found.get("uber"), found["failure"]) for found in thresholds}
    targets = sorted(by_target, key=lambda target: (target[0] is not None, -(target[0] or target[1])))
    at = {(found["level"], (found.get("uber"), found["failure"])): found for found in thresholds}

    def say(level: int, target: tuple[float | None, float]) -> str:
        if not (found := at.get((level, target))):
            return "-"
        ends = ["?" if end is None else f"{end:.5f}" for end in (found["lo"], found["hi"])]
        interval = "" if ends[0] == ends[1] else f" ({' to '.join(ends)})"
        marks = ("" if found["complete"] else "*") + ("+" if _may_have_a_floor(found) else "")
        return f"{found['rber']:.5f}{marks or ' '}{interval}"

    columns = [_aligned(["", "level", *map(str, levels)], str.rjust)]
    columns += [
        _aligned(
            [
                "" if target[0] is None else "UBER",
                f"{target[0] or target[1]:.0e}",
                *(say(level, target) for level in levels),
            ],
            str.ljust,
        )
        for target in targets
    ]
    return _panel(columns)


def _may_have_a_floor(threshold: dict[str, Any]) -> bool:
    return (threshold["floor_at_most"] or 0.0) > threshold["failure"]


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _interrupted(comparison: Comparison) -> str:
    if len(comparison.all_runs) == 1:
        return "Interrupted: these are the requests served until then."
    return "Interrupted: the policies served different numbers of requests, so their rows do not compare."


def _mean(result: RunResult, kind: str) -> float | None:
    return result.summary["response"][kind]["mean_us"]


def paneled(title: str, corner: str, names: Sequence[str], columns: Sequence[Column], width: int) -> str:
    """A table under a title: names at the left, columns beside them, in several panels where the width asks for it."""
    first = _aligned(["", corner, *names], str.ljust)
    panels = [[first]]
    used = len(first[0])
    for header, cells in columns:
        above, _, below = header.rpartition("\n")
        text = _aligned([above, below, *cells], str.rjust)
        needed = len(_GAP) + len(text[0])
        if used + needed > width and len(panels[-1]) > 1:
            panels.append([first])
            used = len(first[0])
        panels[-1].append(text)
        used += needed
    return title + "\n" + "\n\n".join(_panel(panel) for panel in panels)


def _listing(*columns: tuple[str, list[str], Callable[[str, int], str]]) -> str:
    """What there is, one a line: headers of two lines, cells, and the side to which they are aligned."""
    return _panel([_aligned([*header.split("\n"), *cells], align) for header, cells, align in columns])


def _panel(columns: list[list[str]]) -> str:
    above, below, *body = [_GAP.join(cells).rstrip() for cells in zip(*columns, strict=True)]
    rule = "-" * len(_GAP.join(column[0] for column in columns))
    return "\n".join([*([above] if above else []), below, rule, *body])


def _aligned(cells: list[str], align: Callable[[str, int], str]) -> list[str]:
    width = max(map(len, cells))
    return [align(cell, width) for cell in cells]


def _at(summary: dict[str, Any], *path: str) -> Any:
    for key in path:
        summary = summary[key]
    return summary


def _share(counts: Sequence[int], index: int) -> float | None:
    total = sum(counts)
    return counts[index] / total if total else None


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _us(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}x"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _percent(share: float | None) -> str:
    """A share as a percentage; small ones keep two significant digits, so that a rare level does not read as none."""
    if share is None:
        return "-"
    percent = 100 * share
    if percent == 0 or percent >= 0.1:
        return f"{percent:.1f}"
    return f"{percent:.2g}" if percent >= 1e-3 else f"{percent:.0e}"
