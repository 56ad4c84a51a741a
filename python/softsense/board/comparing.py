"""Published curves beside what softsense counts: the same matrix, channel, decoding rule and iterations.

Published points have failures and frames, so both rates have intervals. Rates that are too low to be counted here are
compared on hard decisions, where splitting goes down to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from softsense import codes
from softsense._core import Code, ConfigError, binomial_interval, read_toml
from softsense.base import Interrupted, Progress
from softsense.board import verdicts
from softsense.board.matrices import made_matrix
from softsense.board.published import construction
from softsense.files import read_json
from softsense.formats import as_rate
from softsense.splitting import split
from softsense.strata import CONFIDENCE

FAILURES = 100
"""Failures to count at a point."""

MOST_FRAMES = 30_000
"""Frames of a point, at most; a point with which fewer than ten of them would fail is not counted."""

DOWN_TO = 1e-6
"""The least published frame error rate that is measured."""

_FEWEST = 10
_RUNS, _PARTICLES, _STEPS = 8, 50, 20
_SEED = 1
_AT = {"awgn": "Eb/N0 {:g} dB", "bsc": "RBER {:g}"}


def literature() -> dict[str, list[dict[str, Any]]]:
    """Published numbers about codes of the board, as the file of the package has them: `published` and `curve`."""
    text = files("softsense.board").joinpath("literature.toml").read_text(encoding="utf-8")
    found: dict[str, list[dict[str, Any]]] = read_toml(text, "literature.toml")
    return found


def compare_published(
    only: Sequence[str] = (),
    *,
    failures: int = FAILURES,
    down_to: float = DOWN_TO,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Measure the points of published curves, and return a row for each.

    Args:
        only: names of codes; default: all that have a published curve.
        failures: failures to count at each point, 10 or more, as far as `MOST_FRAMES` go.
        down_to: the least published frame error rate to measure.
        progress: called after each point.

    Returns rows with `entry`, `decoder`, `iterations`, `channel`, `at` (Eb/N0 in dB, or raw bit error rate),
    `published` and `measured` (each `fer`, `lo`, `hi`; `method` of the measured), their `ratio`, whether they
    `agrees` (95 % intervals overlap), and `file`, where the curve was published.

    Raises:
        ConfigError: an unknown code, too few failures, or a rate that is not above 0 and below 1.
        Interrupted: Ctrl-C; `result` has the rows so far.
    """
    if failures < _FEWEST:
        raise ConfigError(f"failures: found {failures}, expected at least {_FEWEST}: fewer say little about a ratio")
    if not 0 < down_to < 1:
        raise ConfigError(f"down_to: found {down_to:g}, expected a frame error rate above 0 and below 1")
    curves = literature()["curve"]
    known = list(dict.fromkeys(curve["entry"] for curve in curves))
    for name in only:
        if name not in known:
            raise ConfigError(f"only: found `{name}`, expected a code with a published curve: {', '.join(known)}")
    wanted = [
        (curve, at, published)
        for curve in curves
        if not only or curve["entry"] in only
        for at, published in _published(curve).items()
        if published["fer"] >= down_to and (_countable(published["fer"]) or curve["channel"] == "bsc")
    ]
    rows: list[dict[str, Any]] = []
    made = {name: made_matrix(construction(name)).code for name in {curve["entry"] for curve, _, _ in wanted}}
    try:
        for curve, at, published in wanted:
            measured = _measured(made[curve["entry"]], curve, at, published["fer"], failures)
            kept = {name: curve[name] for name in ("entry", "decoder", "iterations", "channel", "file")}
            told = {"at": at, "published": published, "measured": measured}
            agrees = measured["lo"] <= published["hi"] and published["lo"] <= measured["hi"]
            rows.append({**kept, **told, "ratio": measured["fer"] / published["fer"], "agrees": agrees})
            if progress:
                progress("published points", len(rows), len(rows) / len(wanted))
    except KeyboardInterrupt:
        raise Interrupted(rows) from None
    return rows


def place(row: dict[str, Any]) -> str:
    """The condition of a row in words."""
    return _AT[row["channel"]].format(row["at"])


def _published(curve: dict[str, Any]) -> dict[float, dict[str, Any]]:
    found = {}
    for at, failures, frames in curve["points"]:
        low, high = binomial_interval(int(failures), int(frames), CONFIDENCE)
        found[float(at)] = {"fer": failures / frames, "lo": low, "hi": high}
    return found


def _countable(fer: float) -> bool:
    return fer * MOST_FRAMES >= _FEWEST


def _measured(code: Code, curve: dict[str, Any], at: float, fer: float, failures: int) -> dict[str, Any]:
    """The rate at a point: counted, or on hard decisions by splitting."""
    decoder, iterations = curve["decoder"], curve["iterations"]
    if _countable(fer):
        told = codes.bench(
            code, f"{curve['channel']}:{at:g}", decoder=decoder, iterations=iterations,
            frames=min(math.ceil(failures / fer), MOST_FRAMES), seed=_SEED,
        )  # fmt: skip
        return {"method": "counted", "fer": told["fer"], "lo": told["fer_lo"], "hi": told["fer_hi"]}
    start = max(rber for rber, rate in _published(curve).items() if rate["fer"] < 0.1)
    found = split(
        code, [start, at], runs=_RUNS, particles=_PARTICLES, steps=_STEPS, decoder=decoder, iterations=iterations,
        seed=_SEED, workers=1,
    )  # fmt: skip
    if found.interrupted:
        raise KeyboardInterrupt
    last = found.points[-1]
    told = verdicts.by_splitting(last["fer"], last["relative_error"], _RUNS)
    return {name: told[name] for name in ("method", "fer", "lo", "hi")}


def load_rows(path: Path) -> list[dict[str, Any]]:
    """The rows in a file that `softsense board published --out` wrote.

    Raises `FileError` for a file that cannot be read or is no JSON, `ConfigError` for one without such rows.
    """
    try:
        rows: list[dict[str, Any]] = read_json(path)["rows"]
        table_of(rows)
        if not all(row["file"] and row["agrees"] in (True, False) and float(row["ratio"]) > 0 for row in rows):
            raise ValueError
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise ConfigError(
            f"{path}: found no rows of published curves, expected a file of `softsense board published --out`"
        ) from None
    return rows


def table_of(rows: Sequence[dict[str, Any]]) -> list[list[str]]:
    """The cells of a table: code, decoder, place, published rate, measured rate, ratio and verdict."""
    return [
        [
            row["entry"], f"{row['decoder']}, {row['iterations']} iterations", place(row), _rate(row["published"]),
            f"{_rate(row['measured'])}, {row['measured']['method']}", f"{row['ratio']:.2f}",
            "agree" if row["agrees"] else "differ",
        ]
        for row in rows
    ]  # fmt: skip


HEADS = ("code", "decoder", "at", "published", "here", "ratio", "intervals")
"""The heads of that table."""


def _rate(told: dict[str, Any]) -> str:
    return f"{as_rate(told['fer'])} ({as_rate(told['lo'])} to {as_rate(told['hi'])})"
