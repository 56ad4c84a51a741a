"""The board as a site: a table to sort and search, pictures of what is best, the flash league, a page for each code.

Pages are documents of `softsense.report`: each is complete in one file and loads nothing from a network.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Literal

from softsense import codes
from softsense._core import ConfigError, FileError
from softsense.board import comparing, league, planning
from softsense.board.entries import entry_files, load_entry
from softsense.board.telling import facts, methods, rate, sets
from softsense.charts import Chart, Mark, Series
from softsense.colours import LEVELS
from softsense.files import blaming, replacing
from softsense.formats import NONE, as_rate, level_name
from softsense.report import Section, Table, html
from softsense.report.marking import breakable

INDEX = "index.html"
PUBLISHED = "published.json"
"""The file of a board in which `softsense board published` leaves its rows."""
_AXES = ("code rate k / n", "raw bit error rate that is corrected")
_LENGTHS = (2048, 36864)
_RATES = [0.3 + 0.02 * i for i in range(33)]
_LOWEST = 1e-17


def write_site(folder: str | os.PathLike[str], out: str | os.PathLike[str]) -> list[Path]:
    """Write the site of a board, and return its files, the index first.

    Args:
        folder: the board, with `entries/*.json`, and `published.json` if published curves were compared.
        out: folder of the site, which is made if there is none.

    Raises `ConfigError` for a folder without entries, `FileError` for one that cannot be written.
    """
    entries = [load_entry(file) for file in entry_files(folder)]
    names = [entry["name"] for entry in entries]
    for name in names:
        if not name or Path(name).name != name or name.startswith(".") or f"{name}.html" == INDEX:
            raise ConfigError(f"{folder}: name: found `{name}`, expected a name that may be that of a file")
    place = Path(out)
    if place.exists() and not place.is_dir():
        raise FileError(f"{place}: found a file, expected a folder, or none")
    compared = comparing.load_rows(file) if (file := Path(folder) / PUBLISHED).exists() else []
    pages = {INDEX: index_page(entries, compared)} | {
        f"{entry['name']}.html": entry_page(entry, within=True) for entry in entries
    }
    with blaming(place):
        place.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        with replacing(place / name) as partial:
            partial.write_text(text, encoding="utf-8")
    return [place / name for name in pages]


def index_page(entries: Sequence[dict[str, Any]], compared: Sequence[dict[str, Any]] = ()) -> str:
    """The page of the whole board: a function of its entries, and of rows of `compare_published`."""
    targets = [target for entry in entries for found in entry["levels"].values() for target in found["targets"]]
    proved = sum(target["proved"] for target in targets)
    alone = sum(target["rber"] is not None for target in targets) - proved
    cost = sum(entry["cost"]["core_minutes"] for entry in entries)
    finding = (
        f"{len(entries)} codes, measured by one judge in {cost / 60:.2f} core-hours. Of {len(targets)} rates, {proved} "
        f"are proved by two methods that agree, and {alone} are said by one method alone. The others are not known."
    )
    sections = [
        Section("The board", [_OF_BOARD], [_board_table(entries)]),
        Section("Against the limits of theory", parts=[_of_rate(entries, target) for target in (1e-4, 1e-10, 1e-15)]),
        Section("Against the area of the decoder", parts=[_of_area(entries)]),
        Section("The flash league", _LEAGUE, [_league_table(entries), _endurance_table(entries), _cells_table()]),
        Section(
            "What is published",
            _PUBLISHED,
            [*([_curves_table(compared)] if compared else []), _published_table(entries)],
        ),
    ]
    told = {"entries": ", ".join(entry["name"] for entry in entries), "softsense": _versions(entries)}
    page = html("The open board of flash codes", finding, sections, told)
    for entry in entries:
        cell = f'<span class="name">{breakable(entry["name"])}</span>'
        link = f'<a class="name" href="{escape(entry["name"])}.html">{breakable(entry["name"])}</a>'
        page = page.replace(cell, link)
    return page


def entry_page(entry: dict[str, Any], *, within: bool = False) -> str:
    """The page of one code; `within` a site it leads back to the index."""
    hard = entry["levels"]["1"]["targets"]
    best = [target for target in hard if target["proved"]]
    at = [f"{target['failure']:g} at {as_rate(target['rber'])}" for target in best]
    finding = (
        f"Hard decision fails with a proved rate of {', '.join(at)}." if at else "No rate is proved within this budget."
    )
    parts: list[Chart | Table | str] = [_curves(entry)]
    for level, found in entry["levels"].items():
        rows = [
            [f"{target['failure']:g}", rate(target), methods(target), "proved" if target["proved"] else "not proved",
             "" if target["proved"] else target["why_not"]]
            for target in found["targets"]
        ]  # fmt: skip
        heads = ["frame error rate", "raw bit error rate", "by", "verdict", "why"]
        parts.append(Table(level_name(int(level)).capitalize(), heads, rows))
    sections = [
        Section("What it corrects", parts=parts),
        Section("Its graph", parts=[_facts_table(entry), *_spectrum(entry)]),
        Section("In a drive", _usage(entry)),
    ]
    told = {
        "matrix": f"{entry['matrix']['file']}, identity {entry['matrix']['identity']}",
        "seed": f"{entry['plan']['seed']}, which follows from the matrix",
        "measure again": _command(entry),
        "softsense": _versions([entry]),
        "seal": entry["seal"],
    }
    page = html(entry["name"], finding, sections, told)
    if within:
        back = f'<p><a href="{INDEX}">The open board of flash codes</a></p>\n<p class="finding">'
        page = page.replace('<p class="finding">', back, 1)
    return page


def _versions(entries: Sequence[dict[str, Any]]) -> str:
    return ", ".join(sorted({f"{e['softsense']['version']}, model {e['softsense']['model_version']}" for e in entries}))


def _target(entry: dict[str, Any], level: int, failure: float) -> dict[str, Any] | None:
    found = entry["levels"].get(str(level))
    return next((target for target in found["targets"] if target["failure"] == failure), None) if found else None


def _told(entry: dict[str, Any], level: int, failure: float) -> str | None:
    """The cell of a target: a rate where it is proved, in brackets where one method says it."""
    target = _target(entry, level, failure)
    if target is None or not target["methods"]:
        return None
    if target["rber"] is None:
        return "methods differ" if target["why_not"].startswith("methods differ") else NONE
    told = f"{target['rber']:.4g}{'+' if target['sets'] == 'not excluded' else ''}"
    return told if target["proved"] else f"({told})"


def _board_table(entries: Sequence[dict[str, Any]]) -> Table:
    heads = ["code", "n", "k", "rate", "1e-4, hard", "1e-6", "1e-10", "1e-15", "1e-4, 3 levels", "1e-4, 7 levels",
             "of the limit", "mm2", "pJ a bit", "Mb/s here", "girth", "smallest sets", "core-minutes"]  # fmt: skip
    rows = []
    for entry in entries:
        code, found = entry["code"], entry["circuit"] or {}
        speed = entry.get("throughput")
        rows.append(
            [
                entry["name"], code["codeword_bits"], code["data_bits"], code["rate"],
                *(_told(entry, 1, target) for target in planning.TARGETS), _told(entry, 3, 1e-4), _told(entry, 7, 1e-4),
                _of_limit(entry), found.get("mm2"), found.get("pj_per_bit"), f"{speed['mbps']:,.0f}" if speed else None,
                code.get("girth"), sets(entry) if code["kind"] == "ldpc" else None, entry["cost"]["core_minutes"],
            ]
        )  # fmt: skip
    note = (
        "`of the limit`: the raw bit error rate at 1e-4 on hard decision, over that of the best possible code of this "
        f"n and k. Circuits reach {planning.GBPS:g} Gb/s of data at {planning.NODE_NM:g} nm."
    )
    return Table("", heads, rows, note)


def _of_limit(entry: dict[str, Any]) -> str | None:
    target = _target(entry, 1, 1e-4)
    limit = entry["limits"][0]["normal_approximation"].get("0.0001") if entry["limits"] else None
    return f"{100 * target['rber'] / limit:.0f} %" if target and target["rber"] and limit else None


def _points(entries: Sequence[dict[str, Any]], level: int, failure: float, across: str) -> Series | None:
    """A series of the entries at a target; those that are not proved are hollow."""
    x, y, names, hollow = [], [], [], []
    for entry in entries:
        target = _target(entry, level, failure)
        place = entry["code"]["rate"] if across == "rate" else (entry["circuit"] or {}).get(across)
        if target and target["rber"] and place:
            x.append(place)
            y.append(target["rber"])
            names.append(f"{entry['name']}{'' if target['proved'] else ', not proved'}")
            hollow.append(not target["proved"])
    if not x:
        return None
    keys = [name.partition(",")[0] for name in names]
    return Series(level_name(level), x, y, "points", labels=names, keys=keys, colour=LEVELS[level - 1], hollow=hollow)


def _of_rate(entries: Sequence[dict[str, Any]], failure: float) -> Chart:
    found = [series for level in planning.LEVELS if (series := _points(entries, level, failure, "rate"))]
    limits = []
    for length, style in zip(_LENGTHS, ("#8a8a8a", "#444444"), strict=True):
        known = [codes.limit(length, round(length * at), fer=failure, level=1) for at in _RATES]
        limits.append(
            Series(
                f"limit of {length:,} bits, hard", _RATES, known, colour=style, dashed=True, marker="none", pale=True
            )
        )
    known = [codes.rber_at_capacity(at) for at in _RATES]
    limits.append(Series("capacity, hard", _RATES, known, colour="#000000", marker="none", pale=True))
    title = f"A frame error rate of {failure:g}"
    return Chart(title, [*found, *limits], *_AXES, log_y=True, hollow="not proved")


def _of_area(entries: Sequence[dict[str, Any]]) -> Chart:
    found = [series for level in planning.LEVELS if (series := _points(entries, level, 1e-4, "gates"))]
    x_label = f"gates of decoders that reach {planning.GBPS:g} Gb/s of data"
    note = "Memories are not in the gates; the table has the area with them."
    title = "A frame error rate of 0.0001"
    return Chart(title, found, x_label, _AXES[1], log_x=True, log_y=True, hollow="not proved", note=note)


def _curves(entry: dict[str, Any]) -> Chart:
    series = []
    lowest = 1e-4
    for level, found in entry["levels"].items():
        if found["curve"]:
            x, y = [list(each) for each in zip(*found["curve"], strict=True)]
            lowest = min(lowest, *y)
            colour = LEVELS[int(level) - 1]
            name = "binomial tail" if entry["code"]["kind"] == "bch" else "splitting"
            series.append(Series(f"{level_name(int(level))}, {name}", x, y, colour=colour, marker="none"))
        for name, marker in _MARKERS:
            told = [
                (target["measured_rber"], method)
                for target in found["targets"]
                for method in target["methods"]
                if method["method"] == name and method["fer"] and method["hi"]
            ]
            if told:
                series.append(
                    Series(
                        f"{name}, level {level}", [rber for rber, _ in told], [m["fer"] for _, m in told], "points",
                        lo=[m["lo"] or None for _, m in told], hi=[m["hi"] for _, m in told],
                        colour=_SHADES[name, level], marker=marker,
                    )
                )  # fmt: skip
    limit = entry["limits"][0]["capacity_rber"]
    marks = [Mark(limit, f"capacity of hard decisions: {limit:.5f}", "x")]
    if not series:
        return Chart("", [], "raw bit error rate", "probability that decoding fails", why_empty="no rate was measured")
    return Chart(
        "", series, "raw bit error rate", "probability that decoding fails", log_y=True,
        y_range=(max(_LOWEST, lowest / 30), 2), marks=marks,
    )  # fmt: skip


_MARKERS: tuple[tuple[str, Literal["square", "circle"]], ...] = (("counted", "square"), ("weight", "circle"))
_SHADES = {
    ("weight", "1"): "#111111", ("weight", "3"): "#555555", ("weight", "7"): "#999999",
    ("counted", "1"): "#7a3b00", ("counted", "3"): "#a86432", ("counted", "7"): "#c99a73",
}  # fmt: skip


def _facts_table(entry: dict[str, Any]) -> Table:
    return Table("", ["", "value"], [list(row) for row in facts(entry)])


def _spectrum(entry: dict[str, Any]) -> list[Table]:
    code, found = entry["code"], entry["sets"]
    tables = []
    if code.get("cycles"):
        rows = [[int(length), count] for length, count in code["cycles"].items()]
        tables.append(Table("Cycles", ["edges of a cycle", "cycles"], rows))
    if found and found["classes"]:
        classes = [[each["bits"], each["violated"], each["sets"]] for each in found["classes"]]
        tables.append(Table("Absorbing sets", ["bits", "violated checks", "sets"], classes))
    return tables


def _command(entry: dict[str, Any]) -> str:
    plan = entry["plan"]
    redundant = " --redundant-checks" if entry["matrix"]["redundant_checks"] else ""
    decoder = "" if plan["decoder"] in ("BCH", "min-sum") else f" --decoder {plan['decoder']}"
    budget = f"--budget {plan['budget_core_minutes']:g}"
    return f"softsense board measure {entry['matrix']['file']} {budget}{decoder}{redundant}"


def _usage(entry: dict[str, Any]) -> list[str]:
    file = entry["matrix"]["file"]
    if entry["code"]["kind"] == "bch":
        return [f"{file} holds the name of the code: `softsense fer` takes it, and `reliability.bch` of a config."]
    made = f"softsense board codes --out matrices --only {entry['name']}"
    return [
        f"The matrix: `{made}` for a code that softsense makes, else the folder `matrices` of the board.",
        f"As a table of a drive: `softsense table build {file} --out mine.toml`, then `softsense run mlc-25nm --set "
        "reliability.table.file=mine.toml`.",
        "With a decoder in every read: `reliability.exact` in a config, which takes codes that ship with softsense.",
    ]


_OF_BOARD = (
    "Numbers are raw bit error rates that a code corrects: proved by two methods, or in brackets where one method "
    "alone says them. After a plus, absorbing sets could fail as often."
)
_LEAGUE = [
    "A field is the data of a codeword and the spare bytes that its parity may take. Limits are those of the best "
    "possible codes at a failure rate of 1e-10. Codes of the board whose parity fits stand beside them."
]
_PUBLISHED = [
    "Published numbers stand beside what was measured here, and are never taken for it. Public curves are of other "
    "decoders, most of them on another channel. So they were counted anew with these decoders and channels."
]


def _league_table(entries: Sequence[dict[str, Any]]) -> Table:
    rows = []
    for field in league.FIELDS:
        limit = league.limits(field)
        players = [entry["name"] for entry in entries if field.takes(entry)]
        row = [field.name, field.bits, field.data_bits, *(as_rate(limit[level]) for level in league.LEVELS)]
        rows.append([*row, ", ".join(players) or NONE])
    heads = ["field", "n, at most", "k", "limit, hard", "limit, 3 levels", "limit, 7 levels", "codes of the board"]
    return Table("Fields", heads, rows)


def _endurance_table(entries: Sequence[dict[str, Any]]) -> Table:
    """The age to which each code of the league reads cells, by level: its raw bit error rate against theirs."""
    rows = []
    for entry in entries:
        if not any(field.takes(entry) for field in league.FIELDS):
            continue
        row = [entry["name"]]
        for cells in league.AGEING:
            for level in league.LEVELS:
                target = _target(entry, level, league.TARGET)
                cycles = league.endurance(target["rber"], cells) if target and target["rber"] else None
                told = NONE if cycles is None else f"{cycles:,}"
                row.append(told if cycles is None or (target and target["proved"]) else f"({told})")
        rows.append(row)
    heads = ["code", *(f"{cells}, {level_name(level)}" for cells in league.AGEING for level in league.LEVELS)]
    note = (
        f"Program/erase cycles up to which a frame error rate of {league.TARGET:g} is kept {league.DAYS:g} days after "
        f"the write, with references that track the age; {league.LAST:,} is the last age that was asked for."
    )
    return Table("Endurance", heads, rows, note)


def _cells_table() -> Table:
    rows = [
        [each["cells"], each["pe_cycles"], each["retention_days"], as_rate(each["rber"])]
        for each in league.cell_rates()
    ]
    heads = ["cells", "P/E cycles", "days", "raw bit error rate"]
    note = "With references that track the age. A code has to correct this rate to be read at once at that age."
    return Table("Cells of the league", heads, rows, note)


def _curves_table(rows: Sequence[dict[str, Any]]) -> Table:
    apart = sum(not row["agrees"] for row in rows)
    note = (
        f"Frame error rates with 95 % intervals; those of {apart} points of {len(rows)} do not overlap. Decoders "
        "have the published rules and iterations, in floating point."
    )
    return Table("Curves", list(comparing.HEADS), comparing.table_of(rows), note)


def _published_table(entries: Sequence[dict[str, Any]]) -> Table:
    known = {entry["name"]: entry for entry in entries}
    rows = []
    for each in comparing.literature()["published"]:
        entry = known.get(each["entry"])
        if each["what"] == "sets":
            told = f"{each['sets']:,} ({each['bits']}, {each['violated']}) sets"
            measured = _measured_sets(entry, each)
        elif each["what"] == "threshold":
            told, measured = f"threshold {each['rber']:g} of {each['of']}", "by density evolution: see the tests"
        else:
            told, measured = f"rank {each['rank']:,}", "equal: asserted by a test"
        rows.append([each["entry"], told, measured, each["sure"], each["source"]])
    return Table("", ["code", "published", "here", "how sure", "source"], rows)


def _measured_sets(entry: dict[str, Any] | None, each: dict[str, Any]) -> str:
    if entry is None or not entry["sets"]:
        return "asserted by a test; no entry on the board"
    if entry["sets"]["searched_to_bits"] < each["bits"]:
        return f"asserted by a test; the entry was searched up to {entry['sets']['searched_to_bits']} bits"
    same = [c for c in entry["sets"]["classes"] if (c["bits"], c["violated"]) == (each["bits"], each["violated"])]
    return f"{same[0]['sets']:,} sets" if same else "none"
