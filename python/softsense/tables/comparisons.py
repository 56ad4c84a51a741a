"""The tables of a comparison, or of a single run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softsense.formats import as_count, as_number, as_percent, as_rate, as_ratio, as_us, run_name
from softsense.tables.layout import Column, paneled

if TYPE_CHECKING:
    from softsense.results import Comparison

TIME_PARTS = {
    "wait_plane": "wait for plane",
    "sense": "sensing",
    "wait_bus": "wait for bus",
    "transfer": "transfer",
    "wait_decoder": "wait for decoder",
    "decode": "decoding",
    "retries": "retries",
}
"""The parts of a codeword read's time in the order in which they pass, with their labels."""

_STATS = {"mean": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "max"}


@dataclass(frozen=True)
class Block:
    """A table of results: its key, its title, the names of its rows, and its columns."""

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
"""The operations that occupy a plane while a read waits for it."""

CAUSES = {
    "translation": "translation pages",
    "garbage_collection": "garbage collection",
    "wear_levelling": "wear levelling",
    "read_reclaim": "read reclaim",
    "refresh": "refresh",
    "scrub": "patrol scrub",
    "folding": "SLC folding",
    "parity": "parity",
    "recovery": "recovery",
    "read_ahead": "read-ahead",
    "bad_block": "out of bad blocks",
}
"""Causes of work of planes beside the host, in the order of a summary, and their names for people."""

_ENERGIES = {
    "sense": "hard\nsensing",
    "sense_extra_levels": "extra\nlevels",
    "transfer": "\ntransfer",
    "program": "\nprogram",
    "erase": "\nerase",
    "decode": "\ndecode",
}


def results(comparison: Comparison, width: int = 150) -> str:
    """The result blocks of a comparison, or of a single run.

    Args:
        comparison: the runs.
        width: columns of the screen; a block that is wider continues below, with the policies' names repeated.
    """
    return "\n\n".join(
        paneled(block.title, block.corner, block.names, block.columns, width) for block in blocks(comparison)
    )


def blocks(comparison: Comparison) -> list[Block]:
    """The tables of a comparison, or of a single run: response, time split, slowest reads, levels, energy, device."""
    runs = comparison.all_runs
    names = [run_name(r.name) for r in runs]
    summaries = [r.summary for r in runs]
    kinds = [kind for kind in ("read", "write", "all") if any(s["response"][kind]["count"] for s in summaries)]

    def column(header: str, say: Callable[[Any], str], *path: str) -> Column:
        return header, [say(_at(s, *path)) for s in summaries]

    def part(name: str, title: str, *columns: tuple[str, Callable[[Any], str], str]) -> None:
        """Add the table of a part of the device, where there is one; each column has a field of its summary."""
        if any(s.get(name) for s in summaries):
            told = [column(header, say, name, field) for header, say, field in columns]
            found.append(Block(name, title, "policy", names, told))

    title = "Response time of requests (us)"
    if len(runs) == 1:
        response = [summaries[0]["response"][kind] for kind in kinds]
        served = [summaries[0]["throughput"][("" if kind == "all" else f"{kind}_") + "iops"] for kind in kinds]
        moved = [summaries[0]["throughput"][("" if kind == "all" else f"{kind}_") + "mb_per_s"] for kind in kinds]
        columns = [
            ("requests", [f"{r['count']:,}" for r in response]),
            ("per s", [as_number(iops, 0) for iops in served]),
            ("MB/s", [as_number(mb_per_s, 1) for mb_per_s in moved]),
        ]
        columns += [(label, [as_us(r[f"{stat}_us"]) for r in response]) for stat, label in _STATS.items()]
        found = [Block("response", title, "kind", kinds, columns)]
    else:
        columns = []
        for kind in kinds:
            # Policies differ in their reads; two numbers show whether other requests suffer.
            stats = _STATS if kind == kinds[0] else {"mean": "mean", "p99": "p99"}
            columns += [
                column(f"{kind}\n{label}", as_us, "response", kind, f"{stat}_us") for stat, label in stats.items()
            ]
            if kind == "read" and comparison.baseline:
                columns.append(("slow-\ndown", [as_ratio(comparison.slowdown(r)) for r in runs]))
        found = [Block("response", title, "policy", names, columns)]

    reads = [s["codeword_reads"] for s in summaries]
    if any(r["count"] for r in reads):
        columns = [
            column("\n".join(label.rsplit(" ", 1)), as_us, "codeword_reads", "time_us", part)
            for part, label in TIME_PARTS.items()
        ]
        columns.append(column("in\nall", as_us, "codeword_reads", "mean_us"))
        found.append(Block("time split", "Where a codeword read's time goes (mean, us)", "policy", names, columns))

        slowest = [next((s for s in r["slowest"] if s["share"] == 0.01), None) for r in reads]

        def of_slowest(header: str, *path: str) -> Column:
            return header, [as_us(_at(s, *path)) if s else "-" for s in slowest]

        columns = [of_slowest(label, "wait_plane_for_us", what) for what, label in _WAITS_FOR.items()]
        causes = [{w["cause"]: w["us"] for w in s.get("wait_plane_by_cause", [])} if s else {} for s in slowest]
        if any(set(waits) - {"garbage_collection"} for waits in causes):
            columns += [
                ("\n".join(f"of that {label}".rsplit(" ", 1)), [as_us(waits.get(cause, 0.0)) for waits in causes])
                for cause, label in CAUSES.items()
                if any(cause in waits for waits in causes)
            ]
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
            (f"level\n{level}", [as_percent(_share(r["level_histogram"], level - 1)) for r in reads])
            for level in range(1, deepest + 1)
        ]
        columns += [
            ("attempts\nper read", [as_number(r["attempts"] / r["count"] if r["count"] else None, 3) for r in reads]),
            column("uncor-\nrectable", as_count, "codeword_reads", "uncorrectable"),
            column("codewords\nread", as_count, "codeword_reads", "count"),
        ]
        title = "Read level at which codewords decoded (% of codeword reads)"
        found.append(Block("levels", title, "policy", names, columns))

    def energy(uj: float | None) -> str:
        return as_number(uj, 2)

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
        column("write\namplif.", lambda v: as_number(v, 3), "writes_detail", "write_amplification"),
        column("GC\nblocks", as_count, "gc", "blocks_reclaimed"),
        column("planes\nbusy %", as_percent, "utilisation", "plane"),
        column("channels\nbusy %", as_percent, "utilisation", "channel"),
        column("decoders\nbusy %", as_percent, "utilisation", "decoder"),
        column("requests\nserved", as_count, "requests"),
        column("simulated\nseconds", lambda v: as_number(v, 3), "simulated_s"),
        column("requests per s\nof wall clock", as_count, "machine", "requests_per_s"),
    ]
    found.append(Block("device", "Device", "policy", names, columns))

    found += _background(names, summaries, len(runs) == 1)

    tenants = [(name, tenant) for name, s in zip(names, summaries, strict=True) for tenant in s.get("tenants", [])]
    if tenants:
        labels = [tenant["name"] if len(runs) == 1 else f"{name}, {tenant['name']}" for name, tenant in tenants]
        found.append(
            Block("tenants", "Tenants (response in us)", "tenant", labels, _of_tenants([t for _, t in tenants]))
        )

    if any(s.get("scheduling") for s in summaries):
        columns = [
            column("chosen\nafter a wait", as_count, "scheduling", "chosen"),
            column("had waited\nenough", as_count, "scheduling", "had_waited_enough"),
            column("most\npassed over", as_count, "scheduling", "most_passed_over"),
        ]
        if any((s.get("scheduling") or {}).get("missed_deadlines") is not None for s in summaries):
            columns += [
                column("near their\ndeadline", as_count, "scheduling", "near_deadline"),
                column("missed\ndeadlines", as_count, "scheduling", "missed_deadlines"),
            ]
        if any((s.get("scheduling") or {}).get("bus") for s in summaries):
            columns += [
                column("transfers\nchosen", as_count, "scheduling", "bus", "chosen"),
                column("had waited\nenough", as_count, "scheduling", "bus", "had_waited_enough"),
                column("most\npassed over", as_count, "scheduling", "bus", "most_passed_over"),
            ]
        found.append(
            Block("scheduling", "Scheduling of planes (operations, and reads) and buses", "policy", names, columns)
        )

    if any((s.get("wear") or {}).get("levelled_to") is not None for s in summaries):
        columns = [
            column("least", as_count, "wear", "least_pe_cycles"),
            column("mean", lambda v: as_number(v, 1), "wear", "mean_pe_cycles"),
            column("most", as_count, "wear", "most_pe_cycles"),
            column("widest spread\nof a plane", as_count, "wear", "widest_plane_spread"),
            column("levelled\nto", as_count, "wear", "levelled_to"),
            column("blocks collected\nfor that", as_count, "gc", "blocks_to_level_wear"),
        ]
        found.append(Block("wear", "P/E cycles of blocks", "policy", names, columns))

    part(
        "read_reclaim",
        "Read reclaim",
        ("blocks\nreclaimed", as_count, "blocks"),
        ("wordlines\nreclaimed", as_count, "wordlines"),
        ("codewords\nmoved", as_count, "codewords"),
        ("counters,\nbytes a block", as_count, "counter_bytes_per_block"),
    )

    part(
        "power_loss",
        "Losses of power",
        ("losses", as_count, "losses"),
        ("codewords\nlost", as_count, "lost_codewords"),
        ("away,\nmean us", as_us, "mean_away_us"),
        ("at most\nus", as_us, "longest_away_us"),
        ("programs\nanew", as_count, "programs_again"),
        ("erases\nanew", as_count, "erases_again"),
        ("pages\nsaved", as_count, "saved_pages"),
        ("pages\nscanned", as_count, "scanned_pages"),
    )

    part(
        "bad_blocks",
        "Bad blocks",
        ("from the\nfactory", as_count, "factory"),
        ("grown", as_count, "grown"),
        ("by\nprograms", as_count, "grown_by_programs"),
        ("to be\nreplaced", as_count, "to_be_replaced"),
        ("programs\nfailed", as_count, "failed_programs"),
        ("spares\nleft", as_count, "spares_left"),
        ("fewest of\na plane", as_count, "fewest_spares_of_plane"),
        ("without a spare:\nretired", as_count, "retired"),
    )

    part(
        "copyback",
        "Copyback",
        ("pages\ncopied", as_count, "pages"),
        ("of pages\nmoved %", as_percent, "share"),
    )

    maintained = [(name, s) for name, s in zip(names, summaries, strict=True) if s.get("refresh")]
    if maintained:
        refreshes = [s["refresh"] for _, s in maintained]
        columns = [
            ("blocks\nrefreshed", [as_count(r["blocks"]) for r in refreshes]),
            ("after their\nage limit", [as_count(r["blocks_late"]) for r in refreshes]),
            ("found by\nscrub", [as_count(r["blocks_for_scrub"]) for r in refreshes]),
            ("codewords\nmoved", [as_count(r["codewords"]) for r in refreshes]),
        ]
        scrubs = [s.get("scrub") for _, s in maintained]
        if any(scrubs):
            counts = {
                "pages": "pages\nscrubbed",
                "codewords": "codewords\nscrubbed",
                "codewords_above": "above the\nlimit",
                "codewords_recovered": "rebuilt by\nparity",
                "codewords_uncorrectable": "uncor-\nrectable",
            }
            if not any(s.get("parity") for _, s in maintained):
                del counts["codewords_recovered"]
            columns += [(label, [as_count(s[field] if s else None) for s in scrubs]) for field, label in counts.items()]
            columns += [
                ("rounds\ndue", [as_number(s["rounds"] if s else None, 3) for s in scrubs]),
                ("behind\n%", [as_percent(s["behind"] if s else None) for s in scrubs]),
            ]
        found.append(Block("maintenance", "Refresh and patrol scrub", "policy", [n for n, _ in maintained], columns))

    part(
        "slc_cache",
        "SLC cache",
        ("writes\ncached %", as_percent, "cached_share"),
        ("codewords\nfolded", as_count, "folded_codewords"),
        ("amplif. by\nthe host", lambda v: as_number(v, 3), "host_write_amplification"),
        ("by\nfolding", lambda v: as_number(v, 3), "fold_write_amplification"),
        ("by\nGC", lambda v: as_number(v, 3), "gc_write_amplification"),
        ("reads\nfrom it %", as_percent, "read_share"),
        ("blocks\nfolded", as_count, "blocks_folded"),
        ("in idle\ntime", as_count, "blocks_folded_in_idle_time"),
    )

    if any(s.get("parity") for s in summaries):
        columns = [
            column("codewords\nrebuilt", as_count, "parity", "recovered"),
            column("in the\nbackground", as_count, "parity", "recovered_in_background"),
            column("lost in\nspite of it", as_count, "codeword_reads", "uncorrectable"),
            column("pages read\nfor that", as_count, "parity", "recovery_reads"),
            column("parity pages\nprogrammed", as_count, "parity", "programs"),
            column("UBER expected\nby the code", as_rate, "parity", "expected_uber_by_code"),
            column("with\nparity", as_rate, "parity", "expected_uber"),
        ]
        found.append(Block("parity", "Parity across dies", "policy", names, columns))
    if any(s.get("read_ahead") or s.get("dram") for s in summaries):
        columns = []
        if any(s.get("read_ahead") for s in summaries):
            columns += [
                column("pages\nread ahead", as_count, "read_ahead", "pages"),
                column("of them\nused", as_count, "read_ahead", "used_pages"),
                column("wasted", as_count, "read_ahead", "wasted_pages"),
                column("codewords\nlate", as_count, "read_ahead", "late_codewords"),
                column("by\n(us)", as_us, "read_ahead", "mean_late_us"),
            ]
        if any(s.get("dram") for s in summaries):
            columns += [
                column("DRAM\nbusy %", as_percent, "dram", "utilisation"),
                column("bytes\nof the host", as_count, "dram", "host_bytes"),
                column("of flash", as_count, "dram", "flash_bytes"),
                column("of the map", as_count, "dram", "map_bytes"),
            ]
        found.append(Block("memory", "The controller's memory", "policy", names, columns))

    if any(s["mapping"] for s in summaries):
        columns = [
            column("hit\nratio", lambda v: as_number(v, 3), "mapping", "hit_ratio"),
            column("evicted\nentries", as_count, "mapping", "evictions"),
            column("of them\nchanged", as_count, "mapping", "dirty_evictions"),
            column("pages\nread", as_count, "mapping", "translation_reads"),
            column("pages\nprogrammed", as_count, "mapping", "translation_programs"),
            column("soft\nstarts", as_count, "codeword_reads", "soft_starts"),
        ]
        found.append(Block("mapping", "Mapping cache and translation pages", "policy", names, columns))
    return found


def _of_tenants(tenants: Sequence[dict[str, Any]]) -> list[Column]:
    columns = [("\nrequests", [as_count(tenant["requests"]) for tenant in tenants])]
    for kind in ("read", "write"):
        if any(tenant[kind]["count"] for tenant in tenants):
            columns += [
                (f"{kind}\n{label}", [as_us(tenant[kind][f"{stat}_us"]) for tenant in tenants])
                for stat, label in (("mean", "mean"), ("p99", "p99"), ("p999", "p99.9"))
            ]
    missed: list[Column] = []
    if any(tenant.get("missed_deadlines") is not None for tenant in tenants):
        missed = [("missed\ndeadlines", [as_count(tenant.get("missed_deadlines")) for tenant in tenants])]
    return [
        *columns,
        ("requests\nper s", [as_number(tenant["iops"], 0) for tenant in tenants]),
        ("read\nMB/s", [as_number(tenant["read_mb_per_s"], 1) for tenant in tenants]),
        ("written\nMB/s", [as_number(tenant["write_mb_per_s"], 1) for tenant in tenants]),
        ("uncor-\nrectable", [as_count(tenant["uncorrectable"]) for tenant in tenants]),
        ("found\nqueue full", [as_count(tenant["found_queue_full"]) for tenant in tenants]),
        *missed,
    ]


def _at(summary: dict[str, Any], *path: str) -> Any:
    for key in path:
        summary = summary[key]
    return summary


def _share(counts: Sequence[int], index: int) -> float | None:
    total = sum(counts)
    return counts[index] / total if total else None


def _background(names: Sequence[str], summaries: Sequence[dict[str, Any]], is_alone: bool) -> list[Block]:
    """Work of planes for each cause beside the host; no block without such work."""
    rows = [(name, work) for name, s in zip(names, summaries, strict=True) for work in s.get("background", [])]
    if not rows:
        return []
    labels = [CAUSES[work["cause"]] if is_alone else f"{name}, {CAUSES[work['cause']]}" for name, work in rows]
    work = [work for _, work in rows]
    columns = [
        ("pages\nread", [as_count(w["page_reads"]) for w in work]),
        ("pages\nprogrammed", [as_count(w["programs"]) for w in work]),
        ("codewords\nprogrammed", [as_count(w["codewords"]) for w in work]),
        ("blocks\nerased", [as_count(w["erases"]) for w in work]),
        ("plane\ntime, s", [as_number(w["array_s"], 3) for w in work]),
        ("of its busy\ntime %", [as_percent(w["array_share"]) for w in work]),
        ("write\namplif.", [as_number(w["write_amplification"], 3) for w in work]),
    ]
    return [Block("background", "Work in the background", "cause", labels, columns)]
