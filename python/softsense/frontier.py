"""Frontiers of a sweep as text and picture: which designs are set aside and why, and which others are best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from softsense.base import by_lot, inline
from softsense.charts import Chart, Kind, Series, Sheet
from softsense.colours import BASELINE, INK, POLICIES, SERIES, SPARE
from softsense.designs import Design, Frontier, Group, nearest, pareto, tally
from softsense.formats import as_share, as_significant, listed
from softsense.points import BATCH, NOT_SIMULATED
from softsense.problems import READ, UNWRITTEN, unwritten_shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from softsense.sweep import SweepResult

_LABELS = {
    "simulated_s": "simulated time (s)",
    "throughput.iops": "requests a second",
    "throughput.read_iops": "reads a second",
    "throughput.write_iops": "writes a second",
    "throughput.mb_per_s": "data read and written (MB/s)",
    "throughput.read_mb_per_s": "data read (MB/s)",
    "throughput.write_mb_per_s": "data written (MB/s)",
    "user_bytes": "capacity for the user (bytes)",
    "codeword_reads.mean_us": "time of a codeword read, mean (us)",
    "writes_detail.write_amplification": "write amplification",
    "energy.total_uj": "energy of the run (uJ)",
    "energy.mean_request_uj": "energy of a request, mean (uJ)",
    "energy.mean_read_uj": "energy of a read, mean (uJ)",
    "energy.mean_write_uj": "energy of a write, mean (uJ)",
    "lifetime.endurance_pe": "endurance (P/E cycles)",
    "lifetime.user_capacity": "capacity for the user (share of the flash)",
    "lifetime.lifetime_capacity": "lifetime capacity (bytes written for each byte of flash)",
    "lifetime.write_amplification": "write amplification of uniform overwriting",
}
_KINDS = {"read": "reads", "write": "writes", "all": "requests"}
_STATS = {"mean": "mean", "p50": "p50", "p95": "p95", "p99": "p99", "p999": "p99.9", "max": "maximum"}
_MOST_LISTED = 12
_MOST_ROWS = 12
_MOST_FAILURES = 10
_MOST_BOUNDS = 3
_MOST_SAID = 4
_WIDE = 30
MOST_PANELS = 24
_INCHES = (7.6, 4.1)

MOST_DRAWN = 2000
"""The most designs of a frontier that are drawn: those on it, and others by lot."""


# As text -------------------------------------------------------------------------------------------------------------


def label(column: str) -> str:
    """The label of a column with its unit; the column's name if it has no label."""
    parts = column.split(".")
    if len(parts) == 3 and parts[0] == "response" and parts[1] in _KINDS and parts[2].removesuffix("_us") in _STATS:
        return f"response time of {_KINDS[parts[1]]}, {_STATS[parts[2].removesuffix('_us')]} (us)"
    return _LABELS.get(column, column)


def title(frontier: Frontier) -> str:
    """The title of a frontier."""
    return f"{sentence(f'{label(frontier.pair.x)}, and {label(frontier.pair.y)}')}{where(frontier)}"


def where(frontier: Frontier) -> str:
    """Trace and condition of a frontier, in words that follow others; empty if there is but one of each."""
    on = f" on {frontier.trace}" if frontier.trace else ""
    names = short(list(frontier.condition))
    told = [f"{names[column]} {shown(value)}" for column, value in frontier.condition.items()]
    return f"{on} at {listed(told)}" if told else on


def sentence(text: str) -> str:
    """A text that begins with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"


def short(columns: Sequence[str]) -> dict[str, str]:
    """The last part of each swept column's name, or the whole name where several share that part."""
    last = Counter(column.rpartition(".")[2] for column in columns)
    return {column: bare if last[bare := column.rpartition(".")[2]] == 1 else column for column in columns}


def describe(design: Design | Group) -> str:
    """A design in a few words."""
    names = short(list(design.setting))
    words = [design.policy] if design.policy else []
    words += [f"{names[column]} {shown(value)}" for column, value in design.setting.items()]
    return ", ".join(words) or "the config"


def shown(value: Any) -> str:
    """A value in words; numbers have four significant digits."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value if isinstance(value, str) else inline(value)
    return as_significant(value)


def outcome(result: SweepResult) -> str:
    """A sentence with the number of points, and for a search another one about how they were chosen."""
    failed, missing = len(result.failures), result.count(NOT_SIMULATED)
    every = len(result.planned.points)
    done = f"{every - failed - missing:,} of {every:,} points are simulated"
    told = f"{done}, {failed:,} failed." if failed else f"{done}."
    return f"{told} {_searched(result)}" if result.sweep.search else told


def _searched(result: SweepResult) -> str:
    """A sentence about the batches of a search."""
    frame = result.select("point", BATCH)
    batches = frame[BATCH]
    best = {number for frontier in result.frontiers for design in frontier.best for number in design.points}
    late = batches.filter(frame["point"].is_in(sorted(best))).n_unique()
    return f"A search chose the points in {batches.n_unique():,} batches; {late:,} batches have a design on a frontier."


def finding(result: SweepResult) -> str:
    """The main result of a sweep: the number of points, and the frontiers of its first pair, a sentence each."""
    first = [frontier for frontier in result.frontiers if frontier.best and frontier.pair == result.sweep.pairs[0]]
    first = first or [frontier for frontier in result.frontiers if frontier.best][:1]
    told = [said(frontier) for frontier in first[:_MOST_SAID]]
    sentences = [_idle(result), _unwritten(result), outcome(result), set_aside(result), *told]
    return " ".join(filter(None, sentences))


def _idle(result: SweepResult) -> str:
    """A sentence about swept ages that nothing depends on; empty if all matter."""
    points = result.planned.points
    fields = list(dict.fromkeys(name for point in points for name in point.idle))
    if not fields:
        return ""
    idle = sum(bool(point.idle) for point in points)
    return (
        f"In {idle:,} of {len(points):,} points no result depends on the swept {listed(fields)}: the error rates "
        "of their `reliability` do not change with age. These points differ only by their other fields and their "
        "seeds."
    )


def _unwritten(result: SweepResult) -> str:
    """A sentence about points whose reads meet places that hold no data; empty if there are none."""
    shares = unwritten_shares(result.select(*READ))
    some = (shares >= UNWRITTEN).sum()
    if not some:
        return ""
    most = shares.arg_max() or 0
    return (
        f"In {some:,} of {len(shares):,} points some codewords that were read were never written, or were trimmed "
        f"({as_share(shares[most])} of those in point {most + 1}, the most of any). No flash is read for them, "
        "which makes response times shorter."
    )


def set_aside(result: SweepResult) -> str:
    """A sentence about the designs that are no contenders: how many, and why; empty if all are contenders."""
    groups = [group for group in result.judged.groups if group.buildable]
    aside = [group for group in groups if group.problems]
    if not aside:
        return ""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count, _ in tally(groups, describe))
    on_traces = " on their traces" if len(result.sweep.traces) > 1 else ""
    on_traces += " in their conditions" if result.sweep.conditions else ""
    rest = (
        "they are ranked with the others, as --all or `all = true` asks"
        if result.sweep.all_designs
        else "they are on no frontier"
    )
    return f"Of {len(groups):,} designs{on_traces} {len(aside):,} are no contenders ({reasons}): {rest}."


def problems(result: SweepResult) -> str:
    """The designs that are no contenders, as a block of text; empty if all are contenders."""
    if not (first := set_aside(result)):
        return ""

    def told(group: Group) -> str:
        return f"{describe(group)}{f' on {group.trace}' if len(result.sweep.traces) > 1 else ''}"

    lines = [f"  {reason} ({count:,}): {words}" for reason, count, words in tally(result.judged.groups, told)]
    return "\n".join([first, *lines])


def said(frontier: Frontier) -> str:
    """A frontier in a sentence."""
    best, pair = frontier.best, frontier.pair
    many = f"{len(best):,} of {len(frontier.contenders):,} designs {'is' if len(best) == 1 else 'are'} on the frontier"
    ends = [f"{describe(each)} ({' and '.join(_numbers_of(each))})" for each in (best[0], best[-1])]
    told = f"from {ends[0]} to {ends[1]}" if len(best) > 1 else ends[0]
    ties = f" The seeds do not tell {len(frontier.ties):,} more designs from these." if frontier.ties else ""
    return f"By {label(pair.x)} and {label(pair.y)}{where(frontier)}, {many}: {told}.{ties}"


def _numbers_of(design: Design) -> list[str]:
    """Mean x and y of a design, with the half widths of their intervals where several seeds give them."""
    ends = zip((design.x, design.y), design.half_widths, strict=True)
    return [f"{shown(value)} ± {shown(half)}" if half else shown(value) for value, half in ends]


def table(result: SweepResult) -> str:
    """The frontiers as blocks of text, the points that failed, and the number of points."""
    blocks = list(filter(None, (_idle(result), _unwritten(result), problems(result))))
    for frontier in result.frontiers:
        if not frontier.best:
            blocks += [] if result.interrupted else [f"{title(frontier)}\n{why_none(frontier)}"]
            continue
        heads, rows = rows_of(result, frontier)
        left = len(rows) - _MOST_ROWS
        lines = _aligned([heads, *rows[:_MOST_ROWS]])
        more = [f"and {left:,} more"] if left > 0 else []
        head = f"{title(frontier)}: {len(frontier.best):,} of {len(frontier.contenders):,} designs on the frontier"
        blocks.append("\n".join([head, *lines, *more, *ties(frontier), *bounds(frontier)]))
    if failures := _failures(result):
        lines = [f"  {_numbers(numbers)}: {error}" for error, numbers in failures[:_MOST_FAILURES]]
        left = sum(len(numbers) for _, numbers in failures[_MOST_FAILURES:])
        more = [f"and {left:,} more, in failures.csv"] if left > 0 else []
        blocks.append("\n".join([f"Points that failed: {len(result.failures):,}", *lines, *more]))
    return "\n\n".join([*blocks, outcome(result)])


def _failures(result: SweepResult) -> list[tuple[str, list[int]]]:
    """The points that failed, grouped by reason."""
    together: dict[str, list[int]] = {}
    for row in result.failures.iter_rows(named=True):
        together.setdefault(row["error"], []).append(row["point"])
    return list(together.items())


def why_none(frontier: Frontier) -> str:
    """The reason why a frontier has no designs."""
    if not frontier.designs:
        return "no design has numbers for both axes"
    reasons = nearest(frontier.designs, describe)
    if bounds := frontier.bounds:
        reasons.append(f"{len(bounds):,} cannot be built")
    return (
        f"none of {len(frontier.designs):,} designs is a contender: {listed(reasons)}; --all ranks these designs, too"
    )


def ties(frontier: Frontier) -> list[str]:
    """A line with the designs that seeds do not tell from those on the frontier; none without such designs."""
    told = [f"{describe(each)}: {' and '.join(_numbers_of(each))}" for each in frontier.ties[:_MOST_BOUNDS]]
    left = len(frontier.ties) - len(told)
    more = f"; and {left:,} more" if left > 0 else ""
    return [f"not told from these by the seeds: {'; '.join(told)}{more}"] if told else []


def bounds(frontier: Frontier) -> list[str]:
    """A line with the designs that cannot be built, which bound the others; none without such designs."""
    bounds = [design for design in frontier.bounds if not design.problems]
    best = [bounds[i] for i in pareto([(each.x, each.y) for each in bounds], frontier.pair.better)]
    told = [f"{describe(each)}: {shown(each.x)} and {shown(each.y)}" for each in best[:_MOST_BOUNDS]]
    return [f"bounds of what can be built: {'; '.join(told)}"] if told else []


def rows_of(result: SweepResult, frontier: Frontier) -> tuple[list[str], list[list[str]]]:
    """The frontier as heads and cells; for a search with the batches in which its designs were asked for."""
    searched = result.sweep.search is not None
    names = short(list(frontier.best[0].setting))
    policy = frontier.best[0].policy is not None
    heads = [
        *(["policy"] if policy else []),
        *names.values(),
        frontier.pair.x,
        frontier.pair.y,
        *([BATCH] if searched else []),
        "points",
    ]
    rows = []
    for design in frontier.best:
        cells = [design.policy or ""] if policy else []
        cells += [shown(value) for value in design.setting.values()]
        batches = sorted({result.planned.points[number - 1].batch or 0 for number in design.points})
        cells += [*_numbers_of(design), *([_numbers(batches)] if searched else [])]
        rows.append([*cells, _numbers(design.points)])
    return heads, rows


def _numbers(points: Sequence[int]) -> str:
    """Numbers of points, with ranges for consecutive ones."""
    runs: list[list[int]] = []
    for point in points:
        if runs and runs[-1][-1] + 1 == point:
            runs[-1].append(point)
        else:
            runs.append([point])
    told = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return ", ".join(told) if len(told) <= 3 else f"{', '.join(told[:3])}, ..."


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    # Numbers are aligned to the right; a column has numbers if its last cell is one.
    right = [cell[:1].isdigit() for cell in rows[-1]]
    lines = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


# As a picture --------------------------------------------------------------------------------------------------------


def draw(result: SweepResult, style: str = "screen", columns: int | None = None) -> Figure:
    """Draw the frontiers: a column for each pair, a row for each trace; save the figure with its `savefig`.

    Points are designs, coloured by policy. Those on the frontier are joined by a line, numbered, and listed beside it.
    """
    from softsense.plots import draw_sheet

    drawn = result.frontiers[:MOST_PANELS]
    note = f"{len(result.planned.points):,} points"
    if len(result.sweep.seeds) > 1:
        note += f", means over {len(result.sweep.seeds)} seeds with their 95 % intervals"
    if any(len(each.designs) > MOST_DRAWN for each in drawn):
        note += f"; of each frontier at most {MOST_DRAWN:,} designs are drawn, those that are not on it by lot"
    if more := len(result.frontiers) - len(drawn):
        note += f"; {more} more frontiers are not drawn"
    charts = [replace(chart(result, frontier), title=where(frontier).strip().removeprefix("on ")) for frontier in drawn]
    sheet = Sheet(f"Frontiers of {result.sweep.name}", charts, note, columns=min(len(charts), 2), panel=_INCHES)
    return draw_sheet(sheet, style, columns)


def chart(result: SweepResult, frontier: Frontier, most: int = MOST_DRAWN) -> Chart:
    """A frontier as a chart, with all other designs around it; of more than `most` designs a sample (`sample`)."""
    pair = frontier.pair
    every, frontier = frontier, sample(frontier, most)
    note = f"Better are {pair.better[0]} values of the horizontal axis and {pair.better[1]} ones of the other."
    if frontier is not every:
        drawn = f"{len(frontier.designs):,} of {len(every.designs):,} designs are drawn"
        note += f" {drawn}: those on the frontier, and others chosen by lot, the same ones each time."
    policies = list(dict.fromkeys(point.policy for point in result.planned.points if point.policy))
    colours = of_policies(policies)
    # A lifetime covers several designs, where it does not depend on some fields.
    columns = list(result.sweep.columns.values())
    whole = bool(frontier.best) and {*frontier.best[0].setting, *frontier.condition} == set(columns)
    whole = whole and frontier is every and (frontier.best[0].policy is not None or not policies)
    series = []
    for policy in dict.fromkeys(design.policy for design in frontier.contenders):
        some = [design for design in frontier.contenders if design.policy == policy]
        settings = [{**design.setting, **frontier.condition} for design in some]
        keys = [key_of({name: each[name] for name in columns}, policy) for each in settings] if whole else None
        series.append(_points(policy or "devices", some, colour=colours[policy], keys=keys))
    listed = _evenly_spaced(frontier.best)
    if frontier.best:
        numbers = _numbered(frontier.best, listed)
        series.append(_points("frontier", frontier.best, kind="line", colour=INK, marker="none", printed=numbers))
    aside: dict[str, Any] = {"colour": BASELINE, "marker": "cross", "pale": True}
    bounds: dict[str, Any] = {"colour": POLICIES["ideal"], "marker": "diamond", "hollow": True}
    for name, those, look in (("set aside", frontier.aside, aside), ("cannot be built", frontier.bounds, bounds)):
        why = [f"{describe(each)}: {'; '.join(p.told for p in each.problems) or name}" for each in those]
        series += [_points(name, those, labels=why, **look)] if those else []
    across, down = (pair.better[0] == "lower", pair.better[1] == "lower")
    told = [f"{number:>2}  {describe(design)}" for number, design in enumerate(listed, start=1)]
    if (between := len(frontier.best) - len(listed)) > 0:
        told.append(f"and {between} between them")
    heads = [f"on the frontier ({len(every.best):,} of {len(every.contenders):,}):", ""] if every.designs else []
    return Chart(
        "All designs" if result.sweep.all_designs else "Designs",
        series,
        label(pair.x),
        label(pair.y),
        log_x=_wide([design.x for design in every.designs]),
        log_y=_wide([design.y for design in every.designs]),
        note=note,
        corner=f"better: towards the {'bottom' if down else 'top'} {'left' if across else 'right'}",
        beside=_wrapped([*heads, *told], 46),
        why_empty="no design has numbers for both axes",
    )


def sample(frontier: Frontier, most: int) -> Frontier:
    """The frontier with all designs that are on it, and enough of the others to make `most`.

    The others are chosen by lot, as a function of their number. A frontier with no more designs is returned as it is.
    """
    if len(frontier.designs) <= most:
        return frontier
    on = set(map(id, frontier.best))
    others = [design for design in frontier.designs if id(design) not in on]
    taken = on | {id(others[i]) for i in by_lot(len(others), max(0, most - len(on)))}
    designs, contenders = (
        tuple(design for design in those if id(design) in taken) for those in (frontier.designs, frontier.contenders)
    )
    return replace(frontier, designs=designs, contenders=contenders)


def key_of(setting: Mapping[str, Any], policy: str | None) -> str:
    """A key that identifies a design in all charts and tables."""
    return ", ".join([policy or "", *(f"{column} {shown(value)}" for column, value in setting.items())])


def _points(name: str, designs: Sequence[Design], *, kind: Kind = "points", **look: Any) -> Series:
    look.setdefault("labels", [describe(design) for design in designs])
    if kind == "points" and any(design.half_widths[1] for design in designs):
        look["lo"] = [design.y - (design.half_widths[1] or 0.0) for design in designs]
        look["hi"] = [design.y + (design.half_widths[1] or 0.0) for design in designs]
    return Series(name, [design.x for design in designs], [design.y for design in designs], kind, **look)


def _numbered(best: Sequence[Design], listed: Sequence[Design]) -> list[str]:
    """The numbers of designs on a frontier; designs at the same place share one label."""
    at: dict[tuple[float, float], list[int]] = {}
    for number, design in enumerate(listed, start=1):
        at.setdefault((design.x, design.y), []).append(number)
    return [_numbers(at.pop((design.x, design.y), [])) for design in best]


def _wide(values: Sequence[float]) -> bool:
    return bool(values) and min(values) > 0 and max(values) > _WIDE * min(values)


def _evenly_spaced(designs: Sequence[Design]) -> list[Design]:
    """The designs at both ends, and others that are evenly spaced between them."""
    if len(designs) <= _MOST_LISTED:
        return list(designs)
    return [designs[round(i * (len(designs) - 1) / (_MOST_LISTED - 1))] for i in range(_MOST_LISTED)]


def _wrapped(lines: Sequence[str], width: int) -> list[str]:
    import textwrap

    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="    ") or [""]]


def of_policies(policies: Sequence[str]) -> dict[str | None, str]:
    """A colour for each policy, the same as in all pictures; blue where policies do not matter."""
    spare = iter(SPARE * (1 + len(policies) // len(SPARE)))
    found: dict[str | None, str] = {}
    for policy in policies:
        colour = POLICIES.get(policy.partition(":")[0], "")
        found[policy] = next(spare) if not colour or colour in found.values() else colour
    return found | {None: SERIES[0]}
