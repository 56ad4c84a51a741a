"""Measuring frame error rates."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import Cells, Code, ConfigError
from softsense.base import Interrupted, Progress
from softsense.campaign.curves import FerResult
from softsense.campaign.options import checked_levels, numbers, parse_levels
from softsense.campaign.plans import HOURS_PER_DAY, Campaign
from softsense.executing import chosen_workers
from softsense.flash import page_number
from softsense.runner import Runner
from softsense.sampling import Goal
from softsense.store import Store, opened_store

if TYPE_CHECKING:
    from softsense.traps import Traps

SHIPPED = "shipped"
"""The absorbing sets that come with a shipped code."""


def measure_fer(
    code: Code | str | os.PathLike[str],
    rber: str | Sequence[float] | None = None,
    *,
    levels: str | Sequence[int] | None = None,
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
    floor_down_to: float | None = None,
    judge: int = 0,
    cells: str | os.PathLike[str] | None = None,
    pe_cycles: str | Sequence[int] = (),
    retention_days: str | Sequence[float] = (),
    page: str = "mean",
    llrs_for: tuple[int, float] | None = None,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> FerResult:
    """Measure frame error rates of a code against raw bit error rate, or against the age of cells.

    Counts depend on the code, the decoder, the channel and the seed alone. Which frames are counted depends on these
    and on the goal. So results are the same for any workers, and for a campaign that was stopped and resumed from its
    store.

    Args:
        code: a code, or a name or file that `Code.open` takes.
        rber: raw bit error rates from 0 to 0.5 (bit errors per bit), as numbers or as `0.004:0.012:0.0005`; default: of
            each level, round numbers across its waterfall.
        levels: read levels, 1 (hard decision, the default) to 7, as numbers or as `1-7`.
        placement: placement of references: `mutual_information`, `nested`, `uniform`, or `uniform:STEP_V` (V).
        decoder: a decoder as `Code.decoder` takes it; BCH codes ignore it and `iterations`.
        iterations: number of iterations after which a decoder gives up.
        method: `weight` samples frames with given numbers of errors (see `softsense.strata`), `direct` frames as they
            come; `analytic` is the binomial tail of a BCH code on hard decisions; `auto` takes the cheapest.
        relative_error: standard error over rate at which a rate is known.
        down_to: least rate that is sampled for.
        frames: frames that a point may cost at most; hard decisions are measured for all points at once.
        seed: seed of data and noise.
        traps: the absorbing sets that make the error floor, as `find_traps` or `softsense code traps` has them, or
            their file; default: those that are shipped with the code; None: no floor is measured.
        floor_frames: frames that the error floor of a point may cost at most.
        floor_down_to: error floors are sampled until they are known, or bounded below this rate; default: below a tenth
            of the rate without them, or of `down_to`.
        judge: number of runs of splitting (see `softsense.splitting`), which judge the rates of hard decisions. Of each
            soft level they judge the lowest rate that is not below `down_to`, if the level has a point that fails once
            in 300 reads or more to start from. Soft levels of cells are not judged. Default: none.
        cells: instead of `rber`: a shipped model of cells or a TOML file, at each of `pe_cycles` and `retention_days`.
        pe_cycles: program/erase cycles, as numbers or as text like that of `rber`.
        retention_days: days since the page was written, in the form of `pe_cycles`.
        page: the name or number of the page; `mean` is a codeword spread over all of them.
        llrs_for: program/erase cycles and days for which references and LLRs are made; default: those of the cells.
        workers: threads of this process (default: one per CPU), or any executor, such as a pool of processes or that
            of a Dask client (`client.get_executor()`).
        store: a store or its file, which is made if there is none; default: nothing is kept.
        progress: called now and then with a name, the frames counted so far and the completed fraction.

    Raises:
        SoftsenseError: a code, option, store or worker is wrong; the message names it.
        Interrupted: Ctrl-C; its `result` is what had been measured, or None. The store keeps every count.

    The rate of a BCH code is a sum; rates of other codes are measured:

    >>> import softsense
    >>> result = softsense.measure_fer("bch:m=10,t=5,k=512", [0.001, 0.002])
    >>> [f"{point['fer']:.3g}" for point in result.points]
    ['2.65e-05', '0.00106']
    >>> result.table["method"].to_list()
    ['analytic', 'analytic']
    >>> measured = softsense.measure_fer("teaching-1/2", [0.05], relative_error=0.3, frames=5000)
    >>> 0.01 < measured.points[0]["fer"] < 0.2
    True
    """
    opened = code if isinstance(code, Code) else Code.open(code)
    goal = Goal(relative_error, down_to, frames, method, floor_frames, floor_down_to)
    listed = opened_traps(opened, traps)
    chosen = parse_levels(levels) if isinstance(levels, str) else checked_levels(levels or [1])
    standing = json.loads(_core.placement_json(placement))
    if (cells is None) != (not pe_cycles and not retention_days) or (cells is not None and rber is not None):
        raise ConfigError(
            "cells: found another combination of arguments, expected either rber, or cells with pe_cycles and "
            "retention_days"
        )
    with opened_store(store) as kept, ExitStack() as begun:
        campaign = Campaign(opened, decoder, iterations, seed, goal, kept, listed)
        channel: dict[str, Any] = {"placement": standing}
        rates: list[float] | None = None
        if cells is not None:
            cycles = [int(n) for n in numbers(pe_cycles, "pe_cycles", 0, 10**7)]
            days = numbers(retention_days, "retention_days", 0, 400_000)
            reading = _reading(cells, page, llrs_for) | channel
            channel = reading | {"pe_cycles": cycles, "retention_days": days}
            places = [campaign.aged(level, n, day, reading) for level in chosen for n in cycles for day in days]
            plans = campaign.plans(places)
        elif rber is not None:
            rates = numbers(rber, "rber", 0, 0.5)
            plans = campaign.plans([campaign.gaussian(level, rate, standing) for level in chosen for rate in rates])
        else:
            plans = campaign.automatic_plans(chosen, standing)
        begun.enter_context(
            kept.doing(what="fer", **campaign.plan(), levels=chosen, rber=rates, judge=judge, **channel)
        )
        runner = Runner(kept, chosen_workers(workers), opened.name, progress)
        found = runner.run(plans)
        order = ("level", "pe_cycles", "retention_days", "rber")
        points = sorted(
            (p for part in found if part for p in part), key=lambda p: [p[name] for name in order if name in p]
        )
        if judge and not runner.interrupted:
            from softsense.campaign.judge import judge_points

            runner.interrupted = judge_points(campaign, points, placement, judge, runner.workers, progress)
    result = FerResult(campaign.describe() | {"channel": channel}, points, runner.interrupted)
    if runner.interrupted:
        raise Interrupted(result if points else None)
    return result


def _reading(cells: str | os.PathLike[str], page: str, llrs_for: tuple[int, float] | None) -> dict[str, Any]:
    """Cells, page and age of the LLRs, as a task has them."""
    opened = Cells.open(os.fspath(cells))
    age = None
    if llrs_for:
        age = {"pe_cycles": llrs_for[0], "retention_hours": HOURS_PER_DAY * llrs_for[1]}
    number = None if page == "mean" else page_number(opened, page)
    named = os.fspath(cells) in Cells.names()
    return {"cells": os.fspath(cells) if named else json.loads(opened.spec_json), "page": number, "llrs_for": age}


def opened_traps(code: Code, traps: Traps | str | os.PathLike[str] | None) -> Traps | None:
    """The absorbing sets for a code: the given ones, from a file, those shipped with the code (`SHIPPED`), or None."""
    from softsense.traps import Traps, load_traps, matrix_identity, shipped_traps

    if traps is None or code.kind == "bch":
        return None
    if isinstance(traps, Traps):
        if matrix_identity(traps.code) != matrix_identity(code):
            raise ConfigError(
                f"traps: found absorbing sets of {traps.code.name}, which has another matrix, expected absorbing "
                f"sets of {code.name}"
            )
        return traps
    return shipped_traps(code) if traps == SHIPPED else load_traps(traps, code)
