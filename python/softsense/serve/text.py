"""The status of a served drive as text: lost data first, then the effort of reading the rest."""

from __future__ import annotations

from typing import Any

from softsense.formats import NONE, as_bytes, as_count, as_duration, as_rate, as_share, as_significant

Rows = list[tuple[str, str]]

_MOST_ERRORS = 8
_BAR = 24


def alarms(status: dict[str, Any]) -> list[str]:
    """A sentence for each fact that a user of the drive has to know at once; none for a healthy drive."""
    host, codewords = status.get("host", {}), status.get("codewords", {})
    found = []
    if state := _STATES.get(status.get("state", "")):
        found.append(f"the drive is {status['state'].replace('_', ' ')}: {status.get('why') or state}")
    if undetected := codewords.get("undetected", 0) or host.get("undetected", 0):
        found.append(
            f"{undetected:,} undetected errors: codewords were decoded to wrong data, which was taken for right"
        )
    if uncorrectable := codewords.get("uncorrectable", 0):
        recovered = codewords.get("recovered_by_parity", 0)
        found.append(
            f"{uncorrectable:,} codewords uncorrectable, {recovered:,} of them recovered by parity across dies"
        )
    if errors := host.get("read_errors", 0):
        found.append(f"{errors:,} requests were answered with an I/O error")
    if lost := status.get("lost_units", 0):
        found.append(f"{lost:,} units of data are lost")
    if unreadable := status.get("unreadable_units", 0):
        found.append(f"{unreadable:,} units of data cannot be read: their blocks are broken")
    if damaged := codewords.get("damaged_in_image", 0):
        found.append(f"{damaged:,} codewords are not as they were programmed: the image is damaged, not the flash")
    return found


def sections(status: dict[str, Any]) -> list[tuple[str, Rows]]:
    """The status of a drive, under headings, which the page shows, too."""
    host, codewords, ages = status.get("host", {}), status.get("codewords", {}), status.get("ages", {})
    latency, background = status.get("read_latency_us", {}), status.get("background", {})
    drive: Rows = [
        ("state", str(status.get("state", NONE)).replace("_", " ")),
        *([("config", str(status["config"]))] if status.get("config") else []),
        ("size", as_bytes(status.get("size_bytes", 0))),
        ("code", str(status.get("model", NONE))),
        ("its clock", f"{as_duration(status.get('clock_s', 0.0))} at {_number(status.get('temperature_c'))} C"),
        ("write buffer", _buffered(status)),
        ("spare superblocks", as_count(status.get("spare_superblocks", status.get("spare_blocks")))),
        ("free superblocks", as_count(status.get("free_superblocks"))),
        ("broken blocks", as_count(status.get("bad_blocks"))),
    ]
    reading: Rows = [
        ("codewords read", as_count(codewords.get("read"))),
        ("raw bit error rate", as_rate(codewords.get("rber"))),
        ("retried", f"{as_count(codewords.get('retried'))}{_share(codewords.get('retried'), codewords.get('read'))}"),
        ("uncorrectable", as_count(codewords.get("uncorrectable"))),
        ("by parity", as_count(codewords.get("recovered_by_parity"))),
        ("undetected", as_count(codewords.get("undetected"))),
        *((f"read latency {name}", _microseconds(latency.get(key))) for key, name in _LATENCIES.items()),
    ]
    wear: Rows = [
        ("P/E cycles, mean", _number(ages.get("pe_cycles_mean"))),
        ("P/E cycles, most", as_count(ages.get("pe_cycles_max"))),
        ("oldest data", as_duration(3600 * (ages.get("retention_hours_max") or 0.0))),
        ("most reads of a block", as_count(ages.get("reads_max"))),
        ("write amplification", _number(status.get("write_amplification"))),
        *((key.replace("_", " "), as_count(value)) for key, value in background.items() if value),
    ]
    requests: Rows = [
        ("reads", f"{as_count(host.get('reads'))}, {as_bytes(host.get('read_bytes') or 0)}"),
        ("writes", f"{as_count(host.get('writes'))}, {as_bytes(host.get('written_bytes') or 0)}"),
        ("flushes, trims", f"{as_count(host.get('flushes'))}, {as_count(host.get('trims'))}"),
        ("I/O errors", as_count(host.get("read_errors"))),
    ]
    return [("Drive", drive), ("Reading", reading), ("Wear", wear), ("Requests", requests)]


def levels(status: dict[str, Any]) -> list[tuple[int, int, float]]:
    """For each read level the number of codewords that were decoded at it, and their share."""
    counts = status.get("codewords", {}).get("by_level", [])
    total = sum(counts)
    return [(level, n, n / total if total else 0.0) for level, n in enumerate(counts, 1)]


def errors(status: dict[str, Any]) -> list[list[str]]:
    """The last errors, the newest first, as rows of `ERROR_COLUMNS`."""
    return [
        [
            as_duration(error.get("clock_s", 0.0)),
            as_count(error.get("lba")),
            str(error.get("what", NONE)),
            as_rate(error.get("rber")),
            str(error.get("page", NONE)),
            as_count(error.get("pe_cycles")),
            as_duration(3600 * (error.get("retention_hours") or 0.0)),
            as_count(error.get("steps", error.get("levels"))),
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
    """Counters with the names of SMART."""
    values = status.get("smart", [])
    return [(str(each.get("name", "")).replace("_", " "), _number(each.get("value"))) for each in values]


def line(status: dict[str, Any]) -> str:
    """The status in one line."""
    host, codewords = status.get("host", {}), status.get("codewords", {})
    parts = [f"clock {as_duration(status.get('clock_s', 0.0))}"]
    for name, number in (
        ("undetected", codewords.get("undetected", 0)),
        ("uncorrectable", codewords.get("uncorrectable", 0)),
        ("I/O errors", host.get("read_errors", 0)),
    ):
        parts += [f"{name} {number:,}"] if number else []
    parts += [
        f"RBER {as_rate(codewords.get('rber'))}",
        f"retried {as_count(codewords.get('retried'))}",
        f"read {as_bytes(host.get('read_bytes') or 0)}",
        f"written {as_bytes(host.get('written_bytes') or 0)}",
    ]
    return ", ".join(parts) if status.get("state", "ok") == "ok" else ", ".join([str(status["state"]), *parts])


def aged(answer: dict[str, Any]) -> str:
    """The answer of a drive to `age`, as text."""
    from softsense import tables

    ages = answer.get("ages", {})
    rows = [
        ("its clock", as_duration(answer.get("clock_s") or 0.0)),
        ("P/E cycles, mean", _number(ages.get("pe_cycles_mean"))),
        ("P/E cycles, most", as_count(ages.get("pe_cycles_max"))),
        ("oldest data", as_duration(3600 * (ages.get("retention_hours_max") or 0.0))),
        ("most reads of a block", as_count(ages.get("reads_max"))),
        ("units programmed first", as_count(answer.get("units_programmed"))),
        ("write buffer", _buffered(answer)),
    ]
    return tables.describe(rows)


def answer(found: dict[str, Any]) -> str:
    """The answer of a drive, with plain numbers; `done` if it has no content."""
    from softsense import tables

    rows = [
        (key.replace("_", " "), _number(value)) for key, value in found.items() if not isinstance(value, dict | list)
    ]
    return tables.describe(rows) or "done"


_LATENCIES = {"mean_us": "mean", "p50_us": "p50", "p99_us": "p99", "p999_us": "p99.9", "max_us": "max"}
_STATES = {
    "read_only": "writes are refused",
    "failed": "its image cannot be read or written",
    "host_full": "writes wait for room on the disk that holds its image",
    "degraded": "data is lost, or blocks are broken",
}


def _level_lines(status: dict[str, Any]) -> list[str]:
    return [
        f"  {level}  {'#' * max(round(_BAR * share), int(n > 0)):<{_BAR}}  {n:>12,}  {as_share(share, 2):>8}"
        for level, n, share in levels(status)
    ]


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows
    )


def _buffered(told: dict[str, Any]) -> str:
    """The amount of data that is in no cell yet, in words."""
    held = told.get("buffered_bytes", 0)
    return f"{as_bytes(held)}, which do not age" if held else "empty"


def _share(part: float | None, whole: float | None) -> str:
    return f" ({as_share(part / whole)})" if part and whole else ""


def _microseconds(value: float | None) -> str:
    return NONE if value is None else f"{_number(value)} us"


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return NONE if value is None else str(value)
    return as_significant(value)
