"""Decode tables: failure probabilities and iterations for each read level on a grid of raw bit error rates.

`build_table` is `softsense table build`: it measures a table with the package's own codecs, in the format of
docs/model/decode-table.md. `describe` reads one, shipped or from a file.
"""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import _core
from softsense._core import MAX_LEVEL, Code, Config, ConfigError, TableError
from softsense.api import load_config
from softsense.base import Interrupted, Progress
from softsense.campaign import (
    MOST_CONTINUED,
    SHIPPED,
    THRESHOLD_TARGETS,
    Campaign,
    FerResult,
    Place,
    can_be_continued,
    checked_levels,
    continued,
    numbers,
    opened_traps,
    parse_levels,
)
from softsense.executing import chosen_workers
from softsense.formats import as_share
from softsense.judged_tables import RUNS, check_runs, judge_curves
from softsense.measured_part import entries_of, escaped, is_measured
from softsense.own import RefusedError
from softsense.runner import Runner
from softsense.sampling import Goal, Plan, Request, Round
from softsense.store import opened_store
from softsense.strata import MOST_EXTRAPOLATED
from softsense.table_files import CURVES, FORMAT, code_line, degrees, distribution, monotone, number, written

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

    from softsense.counts import Counts
    from softsense.store import Store
    from softsense.traps import Traps

_STAND_IN = "flash-8-9"
_SAMPLED = 8192
_MARGIN = 1.5
"""Factor beyond the raw bit error rates of sampled codewords: a run wears and disturbs a little more."""
_BEYOND_STEP = 1.3
_ITERATION_UNITS = 4


@dataclass
class BuiltTable:
    """A decode table, with the measurements that it was made of.

    Attributes:
        text: the table, in TOML.
        rber: the raw bit error rates of the grid.
        points: the rates as they were measured, for each level.
        largest_change: the largest relative change of a measured rate that made the table monotone.
        frames: number of frames that were decoded.
    """

    text: str
    rber: list[float]
    points: list[list[dict[str, Any]]]
    largest_change: float
    frames: int


def build_table(
    code: Code | str | os.PathLike[str],
    rber: str | Sequence[float] | None = None,
    *,
    levels: str | Sequence[int] | None = None,
    name: str | None = None,
    placement: str = "mutual_information",
    decoder: str = "min-sum",
    iterations: int = 20,
    method: str = "auto",
    relative_error: float = 0.1,
    down_to: float = 1e-15,
    frames: int = Goal.frames,
    seed: int = 1,
    traps: Traps | str | os.PathLike[str] | None = SHIPPED,
    floor_frames: int = Goal.floor_frames,
    judge: int = RUNS,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    for_config: str | os.PathLike[str] | None = None,
) -> BuiltTable:
    """Measure a decode table of a code on one boundary between two Gaussian states.

    Each level is measured from the highest raw bit error rate downwards. Measurement ends at the first rate at which
    the level fails less than `down_to`, or at which too little was measured; below it the last value is carried on. The
    extrapolated part that is missing of a rate is added to it. Then rates are made not to fall as the raw bit error
    rate grows, nor to grow with the level. Iterations are those of frames as the channel makes them.

    Args:
        code: a code, or a name or file that `Code.open` takes.
        rber: the grid, from 0 to 0.5; default: round numbers across the waterfalls of all levels.
        levels: read levels from 1 on, such as `1-7`; default: all, or 1 for a BCH code.
        name: the name of the table; default: after the code.
        placement: the placement of references, as in `measure_fer`.
        decoder: the decoder, as `Code.decoder` takes it.
        iterations: number of iterations after which the decoder gives up.
        method: method of measuring a rate, as in `measure_fer`.
        relative_error: standard error over rate at which a rate is known.
        down_to: the least rate for which frames are sampled.
        frames: frames that a point may cost at most; hard decisions are measured for all points at once.
        seed: seed of data and noise.
        traps: the absorbing sets that make the error floor, as in `measure_fer`.
        floor_frames: frames that the error floor of a point may cost at most.
        judge: number of runs of splitting, at least 2, for each level that needs it. A level needs it if a rate above
            `down_to` is more than half extrapolated, or not measured at all. The runs then replace rates of which more
            than a quarter is extrapolated. 0: no runs, and such rates stay.
        workers: threads of this process (default: one per CPU), or any executor.
        store: a store or its file, which is made if there is none; default: nothing is kept.
        progress: called now and then with a name, the frames counted so far and the completed fraction.
        for_config: a config with `reliability.table`, by its name or file, whose reads the table is to cover. The
            default grid then extends to the least and the greatest raw bit error rate of its codewords, as they are at
            the start and freshly written, and levels to its `read.max_level`. Its own table need not exist.

    Raises:
        SoftsenseError: a code, option, store or worker is wrong, or the config has no use for a table of this code; the
            message names it.
        Interrupted: Ctrl-C. The store keeps every count.
    """
    opened = code if isinstance(code, Code) else Code.open(code)
    goal = Goal(relative_error, down_to, frames, method, floor_frames)
    check_runs(judge)
    bch = opened.kind == "bch"
    wanted = _asked_for(for_config, opened) if for_config is not None else None
    levels = levels or ("1" if bch else f"1-{wanted.levels if wanted else MAX_LEVEL}")
    chosen = parse_levels(levels) if isinstance(levels, str) else checked_levels(levels)
    if chosen != list(range(1, len(chosen) + 1)):
        raise ConfigError(
            f"levels: found {', '.join(map(str, chosen))}, expected all levels from 1 to the deepest, such as 1-7"
        )
    if bch and len(chosen) > 1:
        raise ConfigError(
            f"levels: found 1-{len(chosen)} for {opened.name}, expected 1: a BCH code takes only hard decisions"
        )
    if wanted and wanted.levels > len(chosen):
        raise ConfigError(
            f"levels: found 1-{len(chosen)}, expected 1-{wanted.levels}: read.max_level of {for_config} is "
            f"{wanted.levels}"
        )
    standing = json.loads(_core.placement_json(placement))
    with opened_store(store) as kept, ExitStack() as begun:
        campaign = Campaign(opened, decoder, iterations, seed, goal, kept, opened_traps(opened, traps))
        runner = Runner(kept, chosen_workers(workers), opened.name, progress)
        grid = numbers(rber, "rber", 0, 0.5) if rber is not None else None
        asked = {"levels": chosen, "rber": grid, "placement": placement, "judge": judge, "for": wanted and vars(wanted)}
        begun.enter_context(kept.doing(what="table", **campaign.plan(), **asked))
        if grid is None:
            grid = runner.run([campaign.grid(chosen, standing)])[0] or []
            grid = wanted.spanning(grid) if wanted and grid else grid
        measured: list[Any] = [None]
        if grid:
            measured = runner.run([_level(campaign, level, grid, standing) for level in chosen])
        if runner.interrupted or not all(measured):
            raise Interrupted(None)
        points = [points for points, _ in measured]
        curves, change = monotone([_carried(grid, of_level) for of_level in points])
        total = sum(_frames(of_level, list(zip(grid, units, strict=False))) for of_level, units in measured)
        splitting = ""
        if judge and not bch:
            judgement = judge_curves(campaign, grid, curves, placement, judge, down_to, runner.workers, progress)
            if judgement.interrupted:
                raise Interrupted(None)
            curves, _ = monotone(judgement.levels)
            splitting, total = judgement.source, total + judgement.frames
    options = [f"--levels 1-{len(chosen)}" if len(chosen) > 1 else "--levels 1"]
    given = {"placement": placement, "decoder": decoder, "iterations": iterations, "method": method}
    given |= {"relative_error": relative_error, "down_to": down_to, "frames": frames, "seed": seed}
    given |= {"floor_frames": floor_frames, "judge": judge}
    usual = inspect.signature(build_table).parameters
    options += [f"--{key.replace('_', '-')} {value}" for key, value in given.items() if value != usual[key].default]
    if rber is not None or wanted:
        options.append(f"--rber {rber if isinstance(rber, str) else ','.join(map(number, grid))}")
    source = _source(f"softsense table build {opened.name} {' '.join(options)}", seed, total, goal, change)
    text = written(
        {
            "format": FORMAT,
            "name": name or opened.name.replace("/", "-"),
            "code": code_line(opened),
            "decoder": "BCH, up to " + f"{opened.correctable} errors" if bch else f"{decoder}, {iterations} iterations",
            "source": source + splitting,
            "interpolation": "log",
        },
        grid,
        curves,
        None if bch else iterations,
        {} if bch or opened.punctured_bits else degrees(opened),
        None if bch else [[distribution(counts, iterations) for counts in units] for _, units in measured],
    )
    _core.decode_table_check(text, "the table that was built")
    return BuiltTable(text, grid, points, change, total)


@dataclass(frozen=True)
class _TableRange:
    """The range that a config needs of a decode table: levels, and the least and the greatest raw bit error rate."""

    levels: int
    least: float
    greatest: float

    def spanning(self, grid: list[float]) -> list[float]:
        """The grid, with points added beyond it until it spans the range."""
        below = [grid[0]]
        while below[-1] > self.least:
            below.append(_rounded(below[-1] / _BEYOND_STEP))
        above = [grid[-1]]
        while above[-1] < min(self.greatest, 0.5):
            above.append(min(0.5, _rounded(above[-1] * _BEYOND_STEP)))
        return [*below[:0:-1], *grid, *above[1:]]


def _rounded(rber: float) -> float:
    return float(f"{rber:.2e}")


def _asked_for(config: str | os.PathLike[str], code: Code) -> _TableRange:
    """The range that a config needs of the table of a code. Raises `ConfigError` where it cannot use such a table."""
    # A shipped table stands in for the config's own, as one of the same code, so that all is checked before measuring.
    stand_in = _core.DecodeTable(_STAND_IN).text
    of_code = f'code = "{escaped(code_line(code))}"'
    stand_in = "\n".join(of_code if line.startswith("code = ") else line for line in stand_in.splitlines())
    with tempfile.TemporaryDirectory(prefix="softsense-") as folder:
        (file := Path(folder, "table-of-this-code.toml")).write_text(stand_in, encoding="utf-8")
        here = [f"reliability.table.file={json.dumps(str(file))}"]
        try:
            opened = _reading(config, here)
        except ConfigError as error:
            told = str(error).replace(str(file), code.name).removeprefix("--set ")
            raise type(error)(told if told.startswith(str(config)) else f"{config}: {told}") from None
        fields = opened.fields
        starts = [opened]
        if not fields["precondition"]["ssds"]:
            starts.append(opened.with_overrides(["precondition.retention_days=0.0"]))
        rates = np.concatenate([start.sample_codewords(_SAMPLED)["rber"] for start in starts])
    return _TableRange(fields["read"]["max_level"], float(rates.min()) / _MARGIN, float(rates.max()) * _MARGIN)


def _reading(config: str | os.PathLike[str], table: list[str]) -> Config:
    """The config with another table, which may be the first that fits it."""
    try:
        whole = load_config(config)
    except RefusedError:
        raise
    except (TableError, ConfigError):
        # The config's own table is still to be made, or is of another code; any other fault is reported again.
        return load_config(config, table)
    reliability = whole.fields.reliability
    if "table" not in reliability:
        found = reliability if isinstance(reliability, str) else next(iter(reliability))
        raise ConfigError(f"reliability: found `{found}`, expected `table`: only that reliability reads a decode table")
    return whole.with_overrides(table)


def _level(
    campaign: Campaign, level: int, grid: Sequence[float], placement: str | dict[str, Any]
) -> Plan[tuple[list[dict[str, Any]], list[Counts]] | None]:
    """Rates of a level from the highest raw bit error rate down, and frames as the channel makes them at each."""
    places = [campaign.gaussian(level, rate, placement) for rate in reversed(grid)]
    if level == 1 and campaign.goal.method != "direct":
        points = yield from campaign.hard_points(places)
    else:
        points = yield from campaign.descent(places)
    units: list[Counts] = []
    if campaign.code.kind == "ldpc":
        units = yield from _iterations(campaign, places)
        if len(units) < len(places):
            return None
    return points, units[::-1]


def _iterations(campaign: Campaign, places: Sequence[Place]) -> Plan[list[Counts]]:
    """Frames as the channel makes them, for the distribution of iterations; next to none where all failed."""
    yield Round([Request(place.task, None, 1) for place in places])
    units = [_ITERATION_UNITS if any(campaign.view(place.task, None, 1).iterations) else 1 for place in places]
    yield Round([Request(place.task, None, count) for place, count in zip(places, units, strict=True)])
    found = [campaign.view(place.task, None, count) for place, count in zip(places, units, strict=True)]
    return [counts for counts in found if counts.frames]


def _frames(points: Sequence[dict[str, Any]], units: Sequence[tuple[float, Counts]]) -> int:
    """Frames decoded for a level."""
    weighed = [point["frames"] for point in points if point["method"] == "weight"]
    # All points of level 1 share their strata.
    total = sum(weighed) if points[0]["level"] > 1 else max(weighed, default=0)
    # Frames for the distribution of iterations are the first ones of those counted directly.
    direct = {point["rber"]: point["frames"] for point in points if point["method"] == "direct"}
    found: int = total + sum(max(direct.get(rate, 0), counts.frames) for rate, counts in units)
    return found


def _carried(grid: Sequence[float], points: Sequence[dict[str, Any]]) -> dict[str, list[float]]:
    """A level's curves on the grid, with missing parts added; below the lowest point the last value is carried on."""
    at = {point["rber"]: point for point in points if can_be_continued(point)}
    curves: dict[str, list[float]] = {curve: [] for curve in (*CURVES, "frames")}
    # A level that was never seen to fail is bounded by its highest point.
    highest = max(points, key=lambda point: point["rber"])
    bound = 1.0 if at else min(1.0, highest["hi"] + (highest["floor_at_most"] or 0.0) + highest["unlisted"])
    last = dict.fromkeys(CURVES, 0.0) | {"p_fail": bound, "p_fail_hi": bound}
    carrying = False
    for rate in reversed(grid):
        point = at.get(rate)
        carrying = carrying or (point is None and rate < max(at, default=1.0)) or last["p_fail"] == 0
        if point and not carrying:
            missing = point["missing"]
            last = {"p_fail": continued(point), "p_fail_lo": point["lo"], "p_fail_hi": continued(point, "hi")}
            last |= {"floor": point["floor"] or 0.0, "floor_at_most": point["floor_at_most"] or 0.0}
            last |= {"unlisted": point["unlisted"], "missing": missing}
        else:
            last = last | {"p_fail_lo": 0.0}
        for curve in CURVES:
            curves[curve].insert(0, min(1.0, last[curve]) if curve != "missing" else last[curve])
        curves["frames"].insert(0, point["frames"] if point and not carrying else 0)
    return curves


def _source(command: str, seed: int, frames: int, goal: Goal, change: float) -> str:
    if not frames:
        return f"{command}, softsense {_core.__version__}: the binomial tail"
    return (
        f"measured: {command}, softsense {_core.__version__}, seed {seed}, {frames:,} frames. p_fail contains "
        f"missing, its share by extrapolation over what was measured; p_fail_lo to p_fail_hi is the 95 % interval, the "
        f"upper end likewise; floor is what listed absorbing sets add, a part of p_fail; floor_at_most is what they "
        f"could, those that never failed included; unlisted is what else could come on top. Where frames is 0, p_fail "
        f"is carried on from a higher rber, where it is no less. Made monotone in rber and level, which changed p_fail "
        f"by at most {as_share(change, significant=2)}."
    )


# Reading -------------------------------------------------------------------------------------------------------------


def describe(name: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a decode table, ready for JSON: a shipped one by its name, or a file.

    Besides the fields of the file, `thresholds` has the raw bit error rates at which each level fails with 1e-2, 1e-6,
    1e-10, 1e-15 and 1e-17. Ends of their intervals are None where the table has none. Raises `TableError`.
    """
    table = _core.read_toml(_core.DecodeTable(str(name)).text, str(name))
    result = as_result(table)
    if table["interpolation"] == "log":
        thresholds = result.thresholds
    else:
        thresholds = [
            {
                "level": level,
                "failure": target,
                "rber": above[0],
                "lo": None,
                "hi": None,
                "complete": True,
                "floor_at_most": None,
            }
            for level in result.levels
            for target in THRESHOLD_TARGETS
            if (above := [p["rber"] for p in result.curve(level) if p["fer"] > target])
        ]
    return {**table, "thresholds": thresholds}


def listed() -> list[dict[str, Any]]:
    """The shipped decode tables, a dict each, ready for JSON.

    `name`, `code`, `decoder`, `levels`, `least_rber` and `greatest_rber` of the grid, `entries` (failure probabilities
    above 1e-17) and `not_measured` (entries that are mostly extrapolated, or upper bounds that are carried on).

    >>> [(row["levels"], row["not_measured"]) for row in listed() if row["name"] == "bch-4KB-t256"]
    [(1, 0)]
    """
    rows = []
    for name in _core.decode_tables():
        table = _core.read_toml(_core.DecodeTable(name).text, name)
        entries, not_measured = entries_of(table)
        row = {"name": name, "code": table["code"].split(":")[0], "decoder": table["decoder"]}
        row |= {"levels": len(table["level"]), "least_rber": table["rber"][0], "greatest_rber": table["rber"][-1]}
        rows.append(row | {"entries": entries, "not_measured": not_measured})
    return rows


def draw(table: dict[str, Any], style: str = "screen", columns: int | None = None) -> Figure:
    """Draw what `describe` returns: failure probability against raw bit error rate; save it with its `savefig`.

    `style` and `columns` are those of `softsense.plots.draw_sheet`.
    """
    return as_result(table).plot(f"decode table {table['name']}", style=style, columns=columns)


def as_result(table: Mapping[str, Any]) -> FerResult:
    """The curves of a decode table as frame error rates, to draw them and to find thresholds.

    The rates of a table contain the part that is missing of a measured rate, so nothing is left to be added.
    """
    points = []
    for depth, level in enumerate(table["level"], start=1):
        for i, rate in enumerate(table["rber"]):
            p_fail = level["p_fail"][i]
            lo, hi = (level[end][i] if end in level else None for end in ("p_fail_lo", "p_fail_hi"))
            # A carried value is no measurement: it is not where a curve crosses a failure probability.
            measured = is_measured(level, i)
            missing = level["missing"][i] if "missing" in level else 0.0
            points.append(
                {
                    "level": depth,
                    "rber": rate,
                    "fer": p_fail,
                    "lo": lo,
                    "hi": hi,
                    "floor": None,
                    "floor_at_most": level["floor_at_most"][i] if "floor_at_most" in level else None,
                    "unlisted": level["unlisted"][i] if "unlisted" in level else 0.0,
                    "missing": 0.0 if measured and missing < MOST_CONTINUED else None,
                    "complete": measured and missing <= MOST_EXTRAPOLATED,
                }
            )
    return FerResult({key: table[key] for key in ("name", "code", "decoder", "interpolation")}, points)
