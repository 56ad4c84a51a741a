"""What a sweep is for: which designs nobody would leave for another one, as text, a picture and a report.

A *design* is a setting of the swept fields with a read policy; its numbers on a trace are means over seeds. It is on
the *Pareto frontier* of two columns if no other design is better in one of them and no worse in the other.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from softsense._core import build_info
from softsense.base import inline
from softsense.colours import INK, POLICIES, SERIES, SPARE
from softsense.points import LIFETIME_COLUMNS, NOT_SIMULATED, device

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softsense.report import Chart, Table
    from softsense.sweep import SweepResult
    from softsense.sweep_file import Pair

_LABELS = {
    "simulated_s": "simulated time (s)",
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
_WIDE = 30
_MOST_PANELS = 24
_INCHES = (7.6, 4.3)
_MOST_POINTS = 2000


@dataclass(frozen=True)
class Design:
    """A setting of the swept fields with a read policy, and its numbers.

    Attributes:
        setting: by column; of lifetimes, without what these take no notice of.
        policy: None where it does not matter.
        x: mean over seeds.
        y: mean over seeds.
        points: the numbers of the points that it is the mean of.
    """

    setting: Mapping[str, Any]
    policy: str | None
    x: float
    y: float
    points: tuple[int, ...]


@dataclass(frozen=True)
class Frontier:
    """The designs by two columns, on one trace.

    Attributes:
        pair: the columns, and what is better.
        trace: its name; None for the config's workload, or where traces do not matter.
        designs: all that have both numbers, in the order of the sweep.
        best: those on the frontier, by increasing x.
    """

    pair: Pair
    trace: str | None
    designs: tuple[Design, ...]
    best: tuple[Design, ...]

    def to_dict(self) -> dict[str, Any]:
        """The frontier, ready for JSON."""
        return {
            "x": self.pair.x,
            "y": self.pair.y,
            "better": list(self.pair.better),
            "trace": self.trace,
            "designs": len(self.designs),
            "frontier": [{**vars(design), "points": list(design.points)} for design in self.best],
        }


def pareto(places: Sequence[tuple[float, float]], better: tuple[str, str] = ("lower", "lower")) -> list[int]:
    """The indices of places that no other one dominates, from the best x on; equals are all among them.

    One dominates another if it is no worse in both coordinates and better in one.
    """
    signs = [1 if each == "lower" else -1 for each in better]
    keys = [(signs[0] * x, signs[1] * y) for x, y in places]
    found: list[int] = []
    for i in sorted(range(len(keys)), key=keys.__getitem__):
        if not found or keys[i][1] < keys[found[-1]][1] or keys[i] == keys[found[-1]]:
            found.append(i)
    return found


def frontiers(result: SweepResult) -> list[Frontier]:
    """The frontiers of a sweep: pair by pair, trace by trace."""
    traces: list[str | None] = [trace.name for trace in result.sweep.traces] or [None]
    found = []
    for pair in result.sweep.pairs:
        if {pair.x, pair.y} <= LIFETIME_COLUMNS.keys():
            found.append(_frontier(pair, None, _devices(result, pair)))
        else:
            found += [_frontier(pair, trace, _designs(result, pair, trace)) for trace in traces]
    return found


def _frontier(pair: Pair, trace: str | None, designs: Sequence[Design]) -> Frontier:
    best = [designs[i] for i in pareto([(design.x, design.y) for design in designs], pair.better)]
    return Frontier(pair, trace, tuple(designs), tuple(sorted(best, key=lambda design: design.x)))


def _designs(result: SweepResult, pair: Pair, trace: str | None) -> list[Design]:
    together: dict[str, list[dict[str, Any]]] = {}
    columns = list(result.sweep.columns.values())
    for row in _rows(result, pair):
        if row["trace"] == trace:
            together.setdefault(json.dumps([row["policy"], *(row[name] for name in columns)]), []).append(row)
    return [
        _mean(pair, {name: rows[0][name] for name in columns}, rows[0]["policy"], rows) for rows in together.values()
    ]


def _devices(result: SweepResult, pair: Pair) -> list[Design]:
    """Designs by what their lifetimes depend on: no policy, no load, and one number whatever the seeds."""
    columns = result.sweep.columns
    together: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for row in _rows(result, pair):
        point = result.planned.points[row["point"] - 1]
        setting = {columns[name]: row[columns[name]] for name in device(point.setting)}
        together.setdefault(str(point.lifetime_id), (setting, []))[1].append(row)
    return [_mean(pair, setting, None, rows) for setting, rows in together.values()]


def _rows(result: SweepResult, pair: Pair) -> list[dict[str, Any]]:
    frame = result.frame
    wanted = list(dict.fromkeys(["point", *result.sweep.columns.values(), "policy", "trace", pair.x, pair.y]))
    return frame.filter(frame[pair.x].is_not_null() & frame[pair.y].is_not_null()).select(wanted).to_dicts()


def _mean(pair: Pair, setting: Mapping[str, Any], policy: str | None, rows: Sequence[Mapping[str, Any]]) -> Design:
    x, y = (fmean(row[column] for row in rows) for column in (pair.x, pair.y))
    return Design(setting, policy, x, y, tuple(row["point"] for row in rows))


# As text -------------------------------------------------------------------------------------------------------------


def label(column: str) -> str:
    """A column as people read it, with its unit; its name where there is no other."""
    parts = column.split(".")
    if len(parts) == 3 and parts[0] == "response" and parts[2].removesuffix("_us") in _STATS:
        return f"response time of {_KINDS[parts[1]]}, {_STATS[parts[2].removesuffix('_us')]} (us)"
    return _LABELS.get(column, column)


def title(frontier: Frontier) -> str:
    """What a frontier is of."""
    what = f"{label(frontier.pair.x)}, and {label(frontier.pair.y)}"
    return f"{what[0].upper()}{what[1:]}{f' on {frontier.trace}' if frontier.trace else ''}"


def short(columns: Sequence[str]) -> dict[str, str]:
    """For each swept column the last part of its name, if that is enough to tell them apart."""
    last = Counter(column.rpartition(".")[2] for column in columns)
    return {column: bare if last[bare := column.rpartition(".")[2]] == 1 else column for column in columns}


def describe(design: Design) -> str:
    """A design in a few words."""
    names = short(list(design.setting))
    words = [design.policy] if design.policy else []
    words += [f"{names[column]} {shown(value)}" for column, value in design.setting.items()]
    return ", ".join(words) or "the config"


def shown(value: Any) -> str:
    """A value: numbers with four digits that count."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value if isinstance(value, str) else inline(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or not 1e-4 <= abs(value) < 1e15:
        return f"{value:.4g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def outcome(result: SweepResult) -> str:
    """How many points there are, in a sentence."""
    failed, missing = len(result.failures), result.count(NOT_SIMULATED)
    done = f"{len(result.frame) - failed - missing:,} of {len(result.frame):,} points are simulated"
    return f"{done}, {failed:,} failed." if failed else f"{done}."


def finding(result: SweepResult) -> str:
    """What came of a sweep: how many points there are, and what its first frontier says."""
    first = next((frontier for frontier in result.frontiers if frontier.best), None)
    return f"{outcome(result)} {_said(first)}" if first else outcome(result)


def _said(frontier: Frontier) -> str:
    """What a frontier says, in a sentence."""
    best, pair = frontier.best, frontier.pair
    where = f" on {frontier.trace}" if frontier.trace else ""
    many = f"{len(best)} of {len(frontier.designs)} designs are on the frontier"
    ends = f"from {describe(best[0])} to {describe(best[-1])}" if len(best) > 1 else describe(best[0])
    return f"By {label(pair.x)} and {label(pair.y)}{where}, {many}: {ends}."


def table(result: SweepResult) -> str:
    """The frontiers as blocks for the terminal, what failed, and how many points there are."""
    blocks = []
    for frontier in result.frontiers:
        if not frontier.best:
            blocks += [] if result.interrupted else [f"{title(frontier)}\nno design has both numbers"]
            continue
        heads, rows = _listed(frontier)
        left = len(rows) - _MOST_ROWS
        lines = _aligned([heads, *rows[:_MOST_ROWS]])
        more = [f"and {left:,} more"] if left > 0 else []
        head = f"{title(frontier)}: {len(frontier.best)} of {len(frontier.designs)} designs on the frontier"
        blocks.append("\n".join([head, *lines, *more]))
    if failures := result.failures.to_dicts():
        lines = [f"{row['point']:>6,}  {row['error']}" for row in failures[:_MOST_FAILURES]]
        left = len(failures) - _MOST_FAILURES
        more = [f"and {left:,} more, in failures.csv"] if left > 0 else []
        blocks.append("\n".join([f"Points that failed: {len(failures):,}", *lines, *more]))
    return "\n\n".join([*blocks, outcome(result)])


def _listed(frontier: Frontier) -> tuple[list[str], list[list[str]]]:
    """The frontier as heads and cells."""
    names = short(list(frontier.best[0].setting))
    policy = frontier.best[0].policy is not None
    heads = [*(["policy"] if policy else []), *names.values(), frontier.pair.x, frontier.pair.y, "points"]
    rows = []
    for design in frontier.best:
        cells = [design.policy or ""] if policy else []
        cells += [shown(value) for value in design.setting.values()]
        rows.append([*cells, shown(design.x), shown(design.y), _numbers(design.points)])
    return heads, rows


def _numbers(points: Sequence[int]) -> str:
    """Numbers of points, runs of them as such."""
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
    # Numbers to the right; a column is one of numbers if its last cell is.
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


def draw(result: SweepResult) -> Figure:
    """Draw the frontiers: a column for each pair, a row for each trace; save the figure with its `savefig`.

    Points are designs, coloured by policy; those on the frontier are joined by a line, numbered, and listed beside it.
    """
    from matplotlib.figure import Figure

    from softsense import plots
    from softsense.papers.drawing import heading

    shown_ones = result.frontiers[:_MOST_PANELS]
    columns = min(len(shown_ones), 2)
    rows = math.ceil(len(shown_ones) / columns)
    across, height = _INCHES[0] * columns, _INCHES[1] * rows + 0.8
    figure = Figure(figsize=(across, height), dpi=110, facecolor="white")
    policies = list(dict.fromkeys(point.policy for point in result.planned.points if point.policy))
    colours = of_policies(policies)
    for i, frontier in enumerate(shown_ones):
        left, bottom = _INCHES[0] * (i % columns) + 0.9, height - 0.8 - _INCHES[1] * (i // columns + 1) + 0.6
        box = (left / across, bottom / height, 3.9 / across, (_INCHES[1] - 1.0) / height)
        _panel(figure.add_axes(box), frontier, colours)
    note = f"{len(result.frame):,} points"
    if len(result.sweep.seeds) > 1:
        note += f", means over {len(result.sweep.seeds)} seeds"
    if more := len(result.frontiers) - len(shown_ones):
        note += f"; {more} more frontiers are not drawn"
    heading(figure, f"Frontiers of {result.sweep.name}", note)
    used = [policy for policy in policies if any(d.policy == policy for f in shown_ones for d in f.designs)]
    if used:
        style: dict[str, Any] = {
            "frameon": False,
            "fontsize": 9,
            "labelcolor": plots.INK,
            "handletextpad": 0.1,
            "columnspacing": 1.2,
        }
        marks = [figure.axes[0].plot([], [], "o", color=colours[policy], markersize=6)[0] for policy in used]
        place: dict[str, Any] = {
            "loc": "upper left",
            "bbox_to_anchor": (0.05 / across, 1 - 0.52 / height),
            "ncols": len(used),
        }
        figure.legend(marks, used, **place, **style)
    return figure


def _panel(axes: Axes, frontier: Frontier, colours: Mapping[str | None, str]) -> None:
    from matplotlib.ticker import FuncFormatter

    from softsense import plots

    plots.head(axes, "")
    axes.set_title(frontier.trace or "", loc="left", fontsize=10, color=plots.INK)
    left = "left" if frontier.pair.better[0] == "lower" else "right"
    down = "bottom" if frontier.pair.better[1] == "lower" else "top"
    axes.set_title(f"better: towards the {down} {left}", loc="right", fontsize=8, color=plots.FAINT)
    axes.set(xlabel=label(frontier.pair.x), ylabel="\n".join(_wrapped([label(frontier.pair.y)], 44)))
    if not frontier.designs:
        axes.text(0.5, 0.5, "no design has both numbers", transform=axes.transAxes, ha="center", color=plots.FAINT)
        return
    for design in frontier.designs:
        style: dict[str, Any] = {"markersize": 5, "markeredgewidth": 0, "alpha": 0.55}
        axes.plot(design.x, design.y, "o", color=colours[design.policy], **style)
    axes.plot([d.x for d in frontier.best], [d.y for d in frontier.best], color=plots.INK, linewidth=1, zorder=3)
    for axis, values in (("x", [d.x for d in frontier.designs]), ("y", [d.y for d in frontier.designs])):
        if min(values) > 0 and max(values) > _WIDE * min(values):
            axes.set(**{f"{axis}scale": "log"})
        getattr(axes, f"{axis}axis").set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    listed = _some(frontier.best)
    lines = [f"on the frontier ({len(frontier.best)} of {len(frontier.designs)}):", ""]
    numbers: dict[tuple[float, float], list[int]] = {}
    for number, design in enumerate(listed, start=1):
        axes.plot(design.x, design.y, "o", color=colours[design.policy], markeredgecolor=plots.INK, zorder=4)
        numbers.setdefault((design.x, design.y), []).append(number)
        lines.append(f"{number:>2}  {describe(design)}")
    for place, those in numbers.items():
        above: dict[str, Any] = {
            "textcoords": "offset points",
            "xytext": (5, 5),
            "fontsize": 8,
            "color": plots.INK,
            "zorder": 5,
        }
        axes.annotate(_numbers(those), place, **above)
    if (between := len(frontier.best) - len(listed)) > 0:
        lines.append(f"and {between} between them")
    axes.grid(color="#e6e6e6", linewidth=0.7)
    axes.text(
        1.04,
        1.0,
        "\n".join(_wrapped(lines, 46)),
        transform=axes.transAxes,
        va="top",
        fontsize=7.5,
        color=plots.INK,
        linespacing=1.35,
        parse_math=False,
    )


def _some(designs: Sequence[Design]) -> list[Design]:
    """Both ends, and what is evenly between them."""
    if len(designs) <= _MOST_LISTED:
        return list(designs)
    return [designs[round(i * (len(designs) - 1) / (_MOST_LISTED - 1))] for i in range(_MOST_LISTED)]


def _wrapped(lines: Sequence[str], width: int) -> list[str]:
    import textwrap

    return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="    ") or [""]]


def of_policies(policies: Sequence[str]) -> dict[str | None, str]:
    """A colour for each policy, the same as in all pictures; where none matters, blue."""
    spare = iter(SPARE * (1 + len(policies) // len(SPARE)))
    found: dict[str | None, str] = {}
    for policy in policies:
        colour = POLICIES.get(policy.partition(":")[0], "")
        found[policy] = next(spare) if not colour or colour in found.values() else colour
    return found | {None: SERIES[0]}


# As a report ---------------------------------------------------------------------------------------------------------


def report(result: SweepResult) -> str:
    """The report of a sweep as one HTML document."""
    from softsense.report import Chart, Section, Series, Table, html
    from softsense.report.pages import without_folders

    sections = []
    colours = of_policies(list(dict.fromkeys(point.policy for point in result.planned.points if point.policy)))
    for frontier in result.frontiers:
        pair = frontier.pair
        parts: list[Chart | Table] = []
        if frontier.best:
            policies = dict.fromkeys(design.policy for design in frontier.designs)
            # A lifetime is of several designs, where it takes no notice of some fields.
            whole = set(frontier.best[0].setting) == set(result.sweep.columns.values())
            whole = whole and (frontier.best[0].policy is not None or not any(colours.keys() - {None}))
            series = []
            for policy in policies:
                some = [design for design in frontier.designs if design.policy == policy]
                labels = [describe(design) for design in some]
                xs, ys = [design.x for design in some], [design.y for design in some]
                name, colour = policy or "devices", colours[policy]
                keys = [_key(design.setting, design.policy) for design in some] if whole else None
                series.append(Series(name, xs, ys, kind="points", labels=labels, colour=colour, keys=keys))
            labels = [describe(design) for design in frontier.best]
            xs, ys = [design.x for design in frontier.best], [design.y for design in frontier.best]
            series.append(Series("frontier", xs, ys, kind="line", labels=labels, colour=INK))
            note = f"Better are {pair.better[0]} values of the horizontal axis and {pair.better[1]} ones of the other."
            parts.append(Chart("All designs", series, label(pair.x), label(pair.y), note=note))
            heads, rows = _listed(frontier)
            parts.append(Table("On the frontier", heads, rows))
        said = _said(frontier) if frontier.best else "No design has both numbers."
        sections.append(Section(title(frontier), [said], parts))
    sections.append(Section("All points", (), [_all_points(result)]))
    if failures := result.failures.to_dicts():
        columns = list(failures[0])
        rows = [
            [without_folders(shown(row[name])) if row[name] is not None else "" for name in columns] for row in failures
        ]
        sections.append(Section("Points that failed", (), [Table("", columns, rows)]))
    build = build_info()
    provenance: dict[str, str] = {}
    for name, text in result.planned.describe():
        provenance[name] = f"{provenance[name]}\n{text}" if name in provenance else text
    provenance["softsense"] = f"{build['version']}, model {build['model_version']}"
    return html(f"Sweep: {result.sweep.name}", finding(result), sections, provenance)


def _key(setting: Mapping[str, Any], policy: str | None) -> str:
    """By which a design is the same in all charts and tables."""
    return ", ".join([policy or "", *(f"{column} {shown(value)}" for column, value in setting.items())])


def _all_points(result: SweepResult) -> Table:
    """Every point with what was swept and what frontiers are about."""
    from softsense.report import Table

    swept = list(result.sweep.columns.values())
    told = list(dict.fromkeys(name for each in result.frontiers for name in (each.pair.x, each.pair.y)))
    told = [name for name in told if name in result.frame.columns]
    columns = ["point", *swept, "policy", "trace", "seed", "status", *told]
    names = short(swept)
    rows = result.frame.head(_MOST_POINTS).select(columns).to_dicts()
    # What is the same everywhere tells nothing.
    columns = [name for name in columns if name == "point" or name in told or len({row[name] for row in rows}) > 1]
    cells = [[row[name] if isinstance(row[name], int | float) else row[name] or "" for name in columns] for row in rows]
    note = ""
    if len(result.frame) > _MOST_POINTS:
        note = f"The first {_MOST_POINTS:,} of {len(result.frame):,} points: all are in `sweep.parquet`."
    keys = [_key({name: row[name] for name in swept}, row["policy"]) for row in rows]
    return Table("", [names.get(name, name) for name in columns], cells, note, keys=keys)
