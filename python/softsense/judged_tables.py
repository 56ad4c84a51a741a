"""Decode tables whose rarest rates splitting has measured.

Strata of error weight see few failures where these are rare. Most of such a rate is extrapolated, and below it the last
value is carried on as a bound. Splitting needs no extrapolation. For each level with such entries a ladder begins at
the lowest point of the grid at which a hundredth of the frames fails. It ends below the least rate that matters.

A ladder has one decoder. At a soft level its references and LLRs are made for the lowest rung b. So its rates S are
those of a controller that knows its channel only at b. Above b such a controller loses as if the raw bit error rate
were a little higher, the more the farther the rate is from b. With a stretch e, one for a whole level,

    P(r) = S(b + (1 - e) (r - b)),

where e is the value with which P is nearest to all rates that were measured otherwise. P is exact at b. On hard
decisions the decoder is the same at all rungs, and P is S. Intervals contain the error of the runs and the error of e.
As the losses need not grow linearly, they also contain three tenths of the correction ln(P / S).

Splitting cannot see failures of absorbing sets that its chains do not come upon. So the part of the listed sets is
measured as usual, and added.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense._core import (
    Code,
    ConfigError,
    DecodeTable,
    TableError,
    decode_table_check,
    placement_json,
    read_toml,
    student_t_quantile,
)
from softsense.base import Interrupted, Progress
from softsense.campaign import SHIPPED, Campaign, opened_traps
from softsense.executing import chosen_workers
from softsense.floors import Floor, floor_frames
from softsense.formats import as_share
from softsense.intervals import CONFIDENCE
from softsense.measured_part import LEAST, MOSTLY, is_measured, measured_share
from softsense.runner import Runner, all_of
from softsense.sampling import Goal
from softsense.store import opened_store
from softsense.strata import MOST_EXTRAPOLATED
from softsense.table_files import CURVES, code_line, document_of, monotone, written

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from softsense.splitting import SplitResult
    from softsense.store import Store
    from softsense.traps import Traps

RUNS = 8
"""Number of runs of splitting for each level that needs it."""

LADDER_FROM = 1e-2
"""The share of failing frames at the top of a ladder: it begins at the lowest point with this share."""

_WELL_MEASURED = 0.8
_MOST_UNSURE = 100
_NORMAL = 1.96
_MOST_STRETCH, _TRIED = 0.5, 2001
_SHAPE = 0.3
_LADDER = {"particles": 100, "steps": 15, "effective": 0.3}
_FITTED = 3
_LEAST_ERROR = 0.1
_MARGIN = 2.0
_NEEDED = (*CURVES, "frames")
_SAID = {"placement": r"--placement (\w+)", "seed": r"\bseed (\d+)"}
_SPLITTING_SAYS = " splitting is what "


def rungs_of(rber: Sequence[float], level: Mapping[str, Any], down_to: float) -> list[int]:
    """The points of the grid from the bottom of a level's ladder to its top.

    There are none where all rates are known, or no point fails often enough.
    """
    p_fail = level["p_fail"]
    shares = [measured_share(level, i) for i in range(len(rber))]
    if not any(share < MOSTLY and p > down_to for share, p in zip(shares, p_fail, strict=True)):
        return []
    tops = [i for i, p in enumerate(p_fail) if p >= LADDER_FROM and shares[i] >= _WELL_MEASURED]
    known = [i for i, p in enumerate(p_fail) if 0 < p < 0.5 and shares[i] >= MOSTLY]
    if not tops or len(known) < _FITTED:
        return []
    rates = np.array([rber[i] for i in known])
    logs = np.array([math.log(p_fail[i]) for i in known])
    # An interval may begin at 0, as that of a bound carried over from the level before.
    ends = [(level["p_fail_lo"][i] or p_fail[i], level["p_fail_hi"][i]) for i in known]
    certain = [1 / max(_LEAST_ERROR, math.log(hi / lo) / 4) for lo, hi in ends]
    fits = [np.polynomial.Polynomial.fit(rates, logs, degree, w=certain) for degree in (2, 1)]
    # ln P is concave in the rate: a fit that is not is noise.
    curve = next(fit for fit in fits if fit.degree() == 1 or fit.deriv(2)(rates[0]) < 0)
    aim = math.log(down_to) - _MARGIN
    below = [i for i in range(known[0]) if curve(rber[i]) <= aim]
    bottom = max(below, default=0)
    return list(range(bottom, tops[0] + 1))


def check_runs(runs: int) -> None:
    """Raise `ConfigError` for a single run, which has no spread."""
    if runs == 1:
        raise ConfigError(
            "judge: found 1, expected 0 or at least 2: the interval of a rate follows from the spread of several runs"
        )


@dataclass(frozen=True)
class Judgement:
    """The curves of a table after splitting, and the number of rates that come from splitting.

    Attributes:
        levels: the columns of each level.
        runs: number of runs of splitting, for each ladder.
        frames: frames that were decoded.
        entries: failure probabilities that come from splitting.
        compared: rates from splitting of which at least half was measured otherwise, too.
        apart: level and raw bit error rate of those whose 95 % intervals do not meet.
        interrupted: whether it was stopped before its end.
    """

    levels: list[dict[str, list[Any]]]
    runs: int
    frames: int
    entries: int
    compared: int
    apart: list[tuple[int, float]]
    interrupted: bool = False

    @property
    def source(self) -> str:
        """The sentences about splitting in the `source` of a table."""
        if not self.entries:
            return ""
        apart = ", ".join(f"level {level} at {rate:g}" for level, rate in self.apart)
        return (
            f"{_SPLITTING_SAYS}{self.runs} runs of splitting say, floor included, 0 where they were not asked. Where "
            f"more than {as_share(MOST_EXTRAPOLATED)} of a rate was missing, or its interval spanned more than a "
            f"factor of {_MOST_UNSURE}, p_fail is this: {self.entries} values; frames are then those of the level's "
            f"runs. Of {self.compared} rates at least half was measured otherwise, too; the 95 % intervals of both "
            f"meet {f'but for {apart}' if apart else 'everywhere'}."
        )


@dataclass(frozen=True)
class JudgedTable:
    """A decode table whose rarest rates come from splitting.

    Attributes:
        text: the table, in TOML.
        judgement: the curves after splitting, and counts of their rates.
    """

    text: str
    judgement: Judgement


def judge_curves(
    campaign: Campaign,
    grid: Sequence[float],
    levels: Sequence[Mapping[str, Sequence[Any]]],
    placement: str,
    runs: int,
    down_to: float,
    workers: int | Executor,
    progress: Progress | None = None,
) -> Judgement:
    """Replace the rates of which too little was measured by rates from splitting.

    Args:
        campaign: the code, decoder, goal, store and listed sets.
        grid: raw bit error rates (bit errors per bit), increasing.
        levels: for each read level, from 1 on, the columns of a table: `p_fail`, `p_fail_lo`, `p_fail_hi`, `missing`
            and `frames`, and others.
        placement: the placement of references, as `measure_fer` takes it.
        runs: number of runs of splitting for each level that needs it; their spread makes the intervals.
        down_to: the least rate that is measured; rarer failures are bounds that are carried on.
        workers: threads of this process, or an executor.
        progress: called now and then.

    The result does not depend on `workers`.
    """
    kept = (*_NEEDED, "splitting")
    judged = [{curve: list(level[curve]) for curve in kept if curve in level} for level in levels]
    result = Judgement(judged, runs, 0, 0, 0, [])

    def judge(depth: int, level: dict[str, list[Any]]) -> None:
        nonlocal result
        # A second ladder would be fitted to the rates of the first.
        if result.interrupted or any(level.get("splitting", ())):
            return
        level["splitting"] = [0.0] * len(grid)
        if not (rungs := rungs_of(grid, level, down_to)):
            return
        found = campaign.split([grid[i] for i in rungs], depth, placement, runs, workers, progress, **_LADDER)
        if found.interrupted:
            result = replace(result, interrupted=True)
            return
        said = _rates_at_rungs(found, grid, level, rungs, depth)
        wanted = [i for i in rungs if not _is_known(level, i)]
        floors = _floors(campaign, grid, depth, placement, said, wanted, workers, progress)
        if floors is None:
            result = replace(result, interrupted=True)
            return
        frames = sum(run["decoded"] for run in found.runs)
        compared, apart = _merge(level, said, floors, frames)
        _carry(level, rungs[0])
        result = replace(
            result,
            frames=result.frames + frames + sum(floor_frames(floor) for floor in floors.values() if floor),
            entries=result.entries + len(wanted),
            compared=result.compared + compared,
            apart=[*result.apart, *((depth, grid[i]) for i in apart)],
        )

    all_of(partial(judge, depth, level) for depth, level in enumerate(judged, start=1))
    return result


Said = dict[int, tuple[float, float, float]]
"""The rate at each point of the grid, and its 95 % interval."""


def _rates_at_rungs(
    found: SplitResult, grid: Sequence[float], level: Mapping[str, Sequence[Any]], rungs: Sequence[int], depth: int
) -> Said:
    """Rates at the rungs of a ladder, corrected for a decoder that expects the lowest rung."""
    points = found.points[::-1]
    curve = _Curve(np.array([p["rber"] for p in points]), np.log([p["fer"] for p in points]))
    stretch, doubt = _stretch(curve, grid, level, rungs) if depth > 1 else (0.0, 0.0)
    quantile = student_t_quantile(len(found.runs) - 1, CONFIDENCE)
    at = {point["rber"]: point for point in points}
    said = {}
    for i in rungs:
        rate, unlike = float(curve(grid[i], stretch)), float(curve(grid[i], 0.0))
        # Runs differ by factors, so that their error is that of a logarithm.
        point = at[grid[i]]
        own = max(math.sqrt(math.log1p(point["relative_error"] ** 2)), point["log_spread"] / math.sqrt(len(found.runs)))
        fitted = float(curve(grid[i], stretch - doubt) - curve(grid[i], stretch + doubt)) / 2
        factor = math.exp(math.hypot(quantile * own, _NORMAL * fitted, _SHAPE * (rate - unlike)))
        said[i] = (min(1.0, math.exp(rate)), math.exp(rate) / factor, min(1.0, math.exp(rate) * factor))
    return said


@dataclass(frozen=True)
class _Curve:
    """ln S of a ladder: linear between its rungs, and on beyond the highest."""

    rates: np.ndarray[Any, np.dtype[np.float64]]
    logs: np.ndarray[Any, np.dtype[np.float64]]

    def __call__(self, rate: ArrayLike, stretch: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The logarithm at raw bit error rates whose distances from the bottom are this share shorter."""
        bottom = self.rates[0]
        shorter = bottom + (np.asarray(rate) - bottom) * (1 - stretch)
        slope = (self.logs[-1] - self.logs[-2]) / (self.rates[-1] - self.rates[-2])
        beyond = np.maximum(shorter - self.rates[-1], 0.0)
        found: np.ndarray[Any, np.dtype[np.float64]] = np.interp(shorter, self.rates, self.logs) + beyond * slope
        return found


def _stretch(
    curve: _Curve, grid: Sequence[float], level: Mapping[str, Sequence[Any]], rungs: Sequence[int]
) -> tuple[float, float]:
    """The stretch with which a ladder is nearest to the rates measured otherwise, and its standard deviation."""
    known = [i for i in rungs[1:] if measured_share(level, i) >= MOSTLY and level["p_fail_lo"][i] > 0]
    rates = np.array([grid[i] for i in known])
    logs = np.log([level["p_fail"][i] for i in known])
    errors = np.log([level["p_fail_hi"][i] / level["p_fail_lo"][i] for i in known]) / (2 * _NORMAL)
    tried = np.linspace(-_MOST_STRETCH, _MOST_STRETCH, _TRIED)
    misfits = np.array([np.sum(((logs - curve(rates, stretch)) / errors) ** 2) for stretch in tried])
    likely = np.exp((misfits.min() - misfits) / 2)
    likely /= likely.sum()
    mean = float(likely @ tried)
    return mean, math.sqrt(float(likely @ (tried - mean) ** 2))


def _floors(
    campaign: Campaign,
    grid: Sequence[float],
    depth: int,
    placement: str,
    said: Said,
    wanted: Sequence[int],
    workers: int | Executor,
    progress: Progress | None,
) -> dict[int, Floor | None] | None:
    """The floors of the listed absorbing sets at the wanted points; None after Ctrl-C."""
    standing = json.loads(placement_json(placement))
    runner = Runner(campaign.store, workers, campaign.code.name, progress)
    plans = [campaign.floor(campaign.gaussian(depth, grid[i], standing), said[i][0]) for i in wanted]
    floors = runner.run(plans)
    return None if runner.interrupted else dict(zip(wanted, floors, strict=True))


def _is_known(level: Mapping[str, Sequence[Any]], i: int) -> bool:
    """Whether little of a rate is missing, and its interval is narrow enough to be useful."""
    is_sure = level["p_fail_hi"][i] <= _MOST_UNSURE * level["p_fail_lo"][i]
    return is_measured(level, i) and level["missing"][i] <= MOST_EXTRAPOLATED and is_sure


def _merge(
    level: dict[str, list[Any]], said: Said, floors: Mapping[int, Floor | None], frames: int
) -> tuple[int, list[int]]:
    """Write rates from splitting into a level.

    Returns the number of points at which both kinds of measurement exist, and the points at which they disagree. A rate
    that was not known becomes that of splitting. Where the intervals do not meet, the greater rate is taken, and the
    interval spans both.
    """
    compared, apart = 0, []
    for i, (waterfall, waterfall_lo, waterfall_hi) in said.items():
        floor = floors.get(i)
        known = _is_known(level, i)
        # A known rate has a floor of its own.
        added, added_lo, added_hi = (floor.rate, floor.lo, floor.hi) if floor else (level["floor"][i] * known,) * 3
        rate, lo, hi = min(1.0, waterfall + added), waterfall_lo + added_lo, min(1.0, waterfall_hi + added_hi)
        level["splitting"][i] = rate
        # A rate that is mostly extrapolated is nothing to compare with.
        if measured_share(level, i) >= MOSTLY:
            compared += 1
            if lo > level["p_fail_hi"][i] or hi < level["p_fail_lo"][i]:
                apart.append(i)
        if known:
            continue
        if apart[-1:] == [i]:
            rate = max(rate, level["p_fail"][i])
            lo, hi = min(lo, level["p_fail_lo"][i]), max(hi, level["p_fail_hi"][i])
        level["p_fail"][i], level["p_fail_lo"][i], level["p_fail_hi"][i] = rate, lo, hi
        level["floor"][i], level["floor_at_most"][i] = added, floor.at_most if floor else 0.0
        level["unlisted"][i], level["missing"][i], level["frames"][i] = 0.0, 0.0, frames
    return compared, apart


def _carry(level: dict[str, list[Any]], bottom: int) -> None:
    """Carry the rate of the lowest rung on as a bound below it, where there was no measurement."""
    for i in range(bottom):
        if not _is_known(level, i):
            for values in level.values():
                values[i] = values[bottom]
            level["p_fail_lo"][i], level["splitting"][i], level["frames"][i] = 0.0, 0.0, 0


def judge_table(
    table: str | os.PathLike[str],
    *,
    code: Code | str | os.PathLike[str] | None = None,
    name: str | None = None,
    runs: int = RUNS,
    down_to: float = LEAST,
    traps: Traps | str | os.PathLike[str] | None = SHIPPED,
    floor_frames: int = Goal.floor_frames,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> JudgedTable:
    """Replace the rates of a decode table of which too little was measured by rates from splitting.

    Levels that have rates from splitting already stay. Seed and placement of references are those that the table's
    `source` names.

    Args:
        table: a shipped table by its name, or a file.
        code: the code of the table; default: the one that it names.
        name: name of the new table; default: that of the old one.
        runs: number of runs of splitting for each level that needs it.
        down_to: the least rate that is measured; rarer failures are bounds that are carried on.
        traps: the absorbing sets that make the error floor, as in `measure_fer`.
        floor_frames: frames that the error floor of a rate may cost at most.
        workers: threads of this process (default: one per CPU), or any executor.
        store: a store or its file, which is made if there is none; default: nothing is kept.
        progress: called now and then with a name, the work done so far and the completed fraction.

    The result does not depend on `workers`.

    Raises:
        SoftsenseError: the table has no frames and no intervals, so that its measured part is not known; or a code,
            option or store is wrong.
        Interrupted: Ctrl-C. The store keeps all counts.
    """
    check_runs(runs)
    document = read_toml(DecodeTable(os.fspath(table)).text, os.fspath(table))
    missing = [column for column in _NEEDED if any(column not in level for level in document["level"])]
    found = re.fullmatch(r"(.+), (\d+) iterations", document["decoder"])
    if missing or not found:
        what = f"no {missing[0]}" if missing else f"the decoder `{document['decoder']}`"
        raise TableError(
            f"{os.fspath(table)}: found {what}, expected a table that `softsense table build` has made of an LDPC code"
        )
    opened = code if isinstance(code, Code) else Code.open(code or document["code"].split(":")[0])
    if document["code"].partition(":")[2] != code_line(opened).partition(":")[2]:
        raise TableError(
            f"{os.fspath(table)}: code: found `{document['code']}`, expected that of `{code_line(opened)}`"
        )
    said = {key: re.search(pattern, document["source"]) for key, pattern in _SAID.items()}
    placement = said["placement"][1] if said["placement"] else "mutual_information"
    seed = int(said["seed"][1]) if said["seed"] else 1
    goal = Goal(down_to=down_to, floor_frames=floor_frames)
    with opened_store(store) as kept:
        campaign = Campaign(opened, found[1], int(found[2]), seed, goal, kept, opened_traps(opened, traps))
        grid, by = document["rber"], chosen_workers(workers)
        with kept.doing(what="table judge", **campaign.plan(), table=document, runs=runs):
            judgement = judge_curves(campaign, grid, document["level"], placement, runs, down_to, by, progress)
    if judgement.interrupted:
        raise Interrupted(None)
    levels, _ = monotone(judgement.levels)
    parts = document_of(document)
    source = document["source"] + judgement.source
    parts["head"] |= {"source": source} | ({"name": name} if name else {})
    text = written(levels=levels, **parts)
    decode_table_check(text, "the table that was judged")
    return JudgedTable(text, judgement)
