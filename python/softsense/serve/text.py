"""The status of a served drive as text: what is lost first, then how hard it was to read the rest."""

from __future__ import annotations

from typing import Any

from softsense.serve import units

Rows = list[tuple[str, str]]

_MOST_ERRORS = 8
_BAR = 24
_UNKNOWN = "-"


def alarms(status: dict[str, Any]) -> list[str]:
    """A sentence for everything that a user of the drive has to know at once; none of a drive that is well."""
    host, codewords = status.get("host", {}), status.get("codewords", {})
    found = []
    if state := _STATES.get(status.get("state", "")):
        found.append(f"the drive is {status['state'].replace('_', ' ')}: {state}")
    if undetected := codewords.get("undetected", 0) or host.get("undetected", 0):
        found.append(f"{undetected:,} undetected: decoded to wrong data that was taken for right")
    if uncorrectable := codewords.get("uncorrectable", 0):
        recovered = codewords.get("recovered_by_parity", 0)
        found.append(
            f"{uncorrectable:,} codewords uncorrectable, {recovered:,} of them recovered by parity across dies"
        )
    if errors := host.get("read_errors", 0):
        found.append(f"{errors:,} requests were answered with an I/O error")
    if lost := status.get("lost_units", 0):
        found.append(f"{lost:,} units of data are lost")
    if damaged := codewords.get("damaged_in_image", 0):
        found.append(f"{damaged:,} codewords are not as they were programmed: the image is damaged, not the flash")
    return found


def sections(status: dict[str, Any]) -> list[tuple[str, Rows]]:
    """What is known of a drive, under headings: also what the page shows."""
    host, codewords, ages = status.get("host", {}), status.get("codewords", {}), status.get("ages", {})
    latency, background = status.get("read_latency_us", {}), status.get("background", {})
    drive: Rows = [
        ("state", str(status.get("state", _UNKNOWN)).replace("_", " ")),
        ("device", f"{units.size(status.get('size_bytes', 0))}, {status.get('model', _UNKNOWN)}"),
        ("its clock", f"{units.seconds(status.get('clock_s', 0.0))} at {_number(status.get('temperature_c'))} C"),
        ("spare superblocks", count(status.get("spare_superblocks", status.get("spare_blocks")))),
        ("free superblocks", count(status.get("free_superblocks"))),
        ("broken blocks", count(status.get("bad_blocks"))),
    ]
    reading: Rows = [
        ("codewords read", count(codewords.get("read"))),
        ("raw bit error rate", units.rate(codewords.get("rber"))),
        ("retried", f"{count(codewords.get('retried'))}{_share(codewords.get('retried'), codewords.get('read'))}"),
        ("uncorrectable", count(codewords.get("uncorrectable"))),
        ("by parity", count(codewords.get("recovered_by_parity"))),
        ("undetected", count(codewords.get("undetected"))),
        *((f"read latency {name}", f"{_number(latency.get(key))} us") for key, name in _LATENCIES.items()),
    ]
    wear: Rows = [
        ("P/E cycles, mean", _number(ages.get("pe_cycles_mean"))),
        ("P/E cycles, most", count(ages.get("pe_cycles_max"))),
        ("oldest data", units.hours(ages.get("retention_hours_max") or 0.0)),
        ("most reads of a block", count(ages.get("reads_max"))),
        ("write amplification", _number(status.get("write_amplification"))),
        *((key.replace("_", " "), count(value)) for key, value in background.items() if value),
    ]
    requests: Rows = [
        ("reads", f"{count(host.get('reads'))}, {units.size(host.get('read_bytes') or 0)}"),
        ("writes", f"{count(host.get('writes'))}, {units.size(host.get('written_bytes') or 0)}"),
        ("flushes, trims", f"{count(host.get('flushes'))}, {count(host.get('trims'))}"),
        ("I/O errors", count(host.get("read_errors"))),
    ]
    return [("Drive", drive), ("Reading", reading), ("Wear", wear), ("Requests", requests)]


def levels(status: dict[str, Any]) -> list[tuple[int, int, float]]:
    """For each read level how many codewords were decoded at it, and their share."""
    counts = status.get("codewords", {}).get("by_level", [])
    total = sum(counts)
    return [(level, n, n / total if total else 0.0) for level, n in enumerate(counts, 1)]


def errors(status: dict[str, Any]) -> list[list[str]]:
    """The last errors, the newest first, as rows of `ERROR_COLUMNS`."""
    return [
        [
            units.seconds(error.get("clock_s", 0.0)),
            count(error.get("lba")),
            str(error.get("what", _UNKNOWN)),
            units.rate(error.get("rber")),
            str(error.get("page", _UNKNOWN)),
            count(error.get("pe_cycles")),
            units.hours(error.get("retention_hours") or 0.0),
            count(error.get("steps", error.get("levels"))),
        ]
        for error in reversed(status.get("last_errors", []))
    ]


ERROR_COLUMNS = ("clock", "LBA", "what", "RBER", "page", "P/E", "age", "steps")
"""The heads of `errors`."""


def told(status: dict[str, Any]) -> str:
    """The whole status as text, aligned, for a terminal or a pipe."""
    from softsense import tables

    blocks = []
    if found := alarms(status):
        blocks.append("\n".join(f"! {sentence}" for sentence in found))
    for title, rows in sections(status):
        blocks.append(f"{title}\n{tables.describe(rows, indent='  ')}")
        if title == "Reading":
            blocks.append("Level at which codewords were decoded\n" + "\n".join(_level_lines(status)))
    if last := errors(status)[:_MOST_ERRORS]:
        blocks.append("Last errors\n" + _table([list(ERROR_COLUMNS), *last]))
    if rows := smart(status):
        blocks.append(f"SMART\n{tables.describe(rows, indent='  ')}")
    return "\n\n".join(blocks)


def smart(status: dict[str, Any]) -> Rows:
    """Counters as SMART has them, by name."""
    values = status.get("smart", [])
    return [(str(each.get("name", "")).replace("_", " "), _number(each.get("value"))) for each in values]


def line(status: dict[str, Any]) -> str:
    """The status in one line."""
    host, codewords = status.get("host", {}), status.get("codewords", {})
    parts = [f"clock {units.seconds(status.get('clock_s', 0.0))}"]
    for name, number in (
        ("undetected", codewords.get("undetected", 0)),
        ("uncorrectable", codewords.get("uncorrectable", 0)),
        ("I/O errors", host.get("read_errors", 0)),
    ):
        parts += [f"{name} {number:,}"] if number else []
    parts += [
        f"RBER {units.rate(codewords.get('rber'))}",
        f"retried {count(codewords.get('retried'))}",
        f"read {units.size(host.get('read_bytes') or 0)}",
        f"written {units.size(host.get('written_bytes') or 0)}",
    ]
    return ", ".join(parts) if status.get("state", "ok") == "ok" else ", ".join([str(status["state"]), *parts])


def aged(answer: dict[str, Any]) -> str:
    """What a drive answers to `age`."""
    from softsense import tables

    ages = answer.get("ages", {})
    rows = [
        ("its clock", units.seconds(answer.get("clock_s") or 0.0)),
        ("P/E cycles, mean", _number(ages.get("pe_cycles_mean"))),
        ("P/E cycles, most", count(ages.get("pe_cycles_max"))),
        ("oldest data", units.hours(ages.get("retention_hours_max") or 0.0)),
        ("most reads of a block", count(ages.get("reads_max"))),
    ]
    return tables.describe(rows)


def answer(found: dict[str, Any]) -> str:
    """What a drive answers, numbers alone; `done` where it answers nothing."""
    from softsense import tables

    rows = [
        (key.replace("_", " "), _number(value)) for key, value in found.items() if not isinstance(value, dict | list)
    ]
    return tables.describe(rows) or "done"


def count(value: float | None) -> str:
    """A count with commas; a dash where nothing is known."""
    return _UNKNOWN if value is None else f"{value:,.0f}"


_LATENCIES = {"mean_us": "mean", "p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9", "max_us": "max"}
_STATES = {
    "read_only": "writes are refused",
    "failed": "nothing can be read or written",
    "degraded": "data is lost, or blocks are broken",
}


def _level_lines(status: dict[str, Any]) -> list[str]:
    return [
        f"  {level}  {'#' * max(round(_BAR * share), int(n > 0)):<{_BAR}}  {n:>12,}  {100 * share:6.2f} %"
        for level, n, share in levels(status)
    ]


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def _share(part: float | None, whole: float | None) -> str:
    return f" ({100 * part / whole:.2g} %)" if part and whole else ""


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _UNKNOWN if value is None else str(value)
    return f"{value:,.4g}" if abs(value) < 1000 and value != int(value) else f"{value:,.0f}"
