"""The judge of submissions: does an entry say what its matrix does, and can everything be measured again?

Three questions, the cheap ones first. Does the entry follow from its matrix: sizes, rank, seed, plan? Does it follow
from its own numbers: intervals, targets, verdicts? And do the same frames, decoded again, give the same rates? As all
frames follow from the matrix and the budget, the last comparison is one of equality, not of statistics.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softsense import _core, codes
from softsense._core import ConfigError, SoftsenseError
from softsense.base import Progress
from softsense.board import planning, verdicts
from softsense.board.entries import TIMED, entry_files, load_entry, seal_of
from softsense.board.matrices import SUFFIXES, Matrix, identity, invariant, load_matrix, made_matrix
from softsense.board.measuring import measure_entry, redundant_checks
from softsense.board.published import CONSTRUCTIONS, construction
from softsense.strata import CONFIDENCE

_MOST_TOLD = 6
_SAME = 1e-9
PATIENCE = 4.0
"""How much longer than its budget a check may take, on a machine that is slower than that of the entry."""


@dataclass
class Verdict:
    """The judge's answer about an entry.

    Attributes:
        name: the entry.
        refusals: why it is refused; empty if it is not.
        measured: whether it was measured again.
    """

    name: str
    refusals: list[str] = field(default_factory=list)
    measured: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether nothing speaks against the entry."""
        return not self.refusals

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {"name": self.name, "confirmed": self.confirmed, "measured": self.measured, "refusals": self.refusals}


def check_board(
    folder: str | os.PathLike[str],
    *,
    only: Sequence[str] = (),
    measure: bool = True,
    patience: float = PATIENCE,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Verdict]:
    """Judge the entries of a board: `entries/*.json`, with `matrices/` for all that softsense cannot make itself.

    Args:
        folder: the board.
        only: names of the entries to judge; default: all. All are looked at for duplicates.
        measure: whether to measure again.
        patience: how much longer than its budget a measurement may take.
        workers: threads.
        progress: called now and then.

    Raises `ConfigError` for a folder without entries, a file that is no entry, or an unknown name in `only`, and
    `FileError` for a file that cannot be read.
    """
    files = entry_files(folder)
    entries = {file.stem: load_entry(file) for file in files}
    for name in only:
        if name not in entries:
            raise ConfigError(f"--only: found `{name}`, expected an entry of {folder}: {', '.join(entries)}")
    matrices: dict[str, Matrix] = {}
    verdicts_of = {name: Verdict(name) for name in entries if not only or name in only}
    for name, verdict in verdicts_of.items():
        try:
            matrices[name] = _matrix_of(Path(folder), entries[name])
        except SoftsenseError as error:
            verdict.refusals.append(f"matrix: {error}")
    for name, verdict in verdicts_of.items():
        if name not in matrices:
            continue
        told: list[str] = []
        for part in (_of_matrix, _of_plan, _of_rates, _of_seal):
            told += part(name, entries[name], matrices[name])
        told += _duplicates(name, entries)
        if measure and not told:
            verdict.measured = True
            told += _measured_again(entries[name], matrices[name], patience, workers, progress)
        verdict.refusals += told
    return list(verdicts_of.values())


def _matrix_of(folder: Path, entry: dict[str, Any]) -> Matrix:
    file = str(entry["matrix"].get("file"))
    redundant = bool(entry["matrix"].get("redundant_checks"))
    if Path(file).name != file or not file.endswith(SUFFIXES):
        raise ConfigError(f"found file `{file}`, expected a name in matrices/ that ends in .qc, .alist or .bch")
    place = folder / "matrices" / file
    if place.exists():
        return load_matrix(place, redundant)
    if any(each.file == file for each in CONSTRUCTIONS):
        return made_matrix(construction(Path(file).name.removesuffix(Path(file).suffix)))
    raise ConfigError(f"found no {place}, expected the matrix of the entry, with a line `# Licence: ...`")


def _of_matrix(name: str, entry: dict[str, Any], matrix: Matrix) -> Iterator[str]:
    """Differences between the matrix and the facts that the entry has about it."""
    if not entry["name"] == name == matrix.name:
        yield f"name: found `{entry['name']}` in {name}.json with {matrix.file}, expected one name for all three"
    if not matrix.licence:
        yield f"licence: found no note in {matrix.file}, expected a line such as `# Licence: CC-BY-4.0`"
    elif entry["matrix"].get("licence") != matrix.licence:
        yield _differs("matrix.licence", entry["matrix"].get("licence"), matrix.licence)
    if entry["matrix"].get("identity") != identity(matrix.code):
        yield f"matrix.identity: found that of another matrix, expected that of {matrix.file}"
    redundant = redundant_checks(matrix.code)
    if entry["matrix"].get("redundant_checks") != redundant:
        yield _differs("matrix.redundant_checks", entry["matrix"].get("redundant_checks"), redundant)
    if entry["matrix"].get("invariant") != invariant(matrix.code):
        yield "matrix.invariant: found another than that of the matrix"
    facts = codes.describe(matrix.code, thresholds=False, cycles=True)
    facts.pop("name")
    told = json.loads(json.dumps(facts))
    for key, value in told.items():
        if entry["code"].get(key) != value:
            yield _differs(f"code.{key}", entry["code"].get(key), value)


def _of_plan(_: str, entry: dict[str, Any], matrix: Matrix) -> Iterator[str]:
    """The plan has to be the one that follows from matrix, decoder and budget: nobody chooses seeds or frames."""
    told = entry["plan"]
    if short := entry["cost"].get("short"):
        yield (
            f"cost.short: found that the budget did not reach {short[0]}, expected a budget that does: nobody may "
            "choose what is left out"
        )
    try:
        levels = tuple(int(level) for level in told["levels"])
        plan = planning.plan_of(
            matrix.code, matrix.seed, float(told["budget_core_minutes"]), str(told["decoder"]), levels
        )
        if matrix.code.kind == "ldpc":
            matrix.code.decoder(plan.decoder, plan.iterations)
    except SoftsenseError as error:
        yield f"plan: {error}"
        return
    except (KeyError, TypeError, ValueError):
        yield "plan: found no plan of this version, expected that of `softsense board measure`"
        return
    expected = json.loads(json.dumps(plan.to_dict()))
    for key, value in expected.items():
        if told.get(key) != value:
            why = "it follows from the matrix" if key == "seed" else "it follows from matrix, decoder and budget"
            yield f"{_differs(f'plan.{key}', told.get(key), value)}: {why}"
    if sorted(entry["levels"]) != sorted(map(str, levels)):
        yield _differs("levels", sorted(entry["levels"]), sorted(map(str, levels)))


def _of_rates(_: str, entry: dict[str, Any], matrix: Matrix) -> Iterator[str]:
    """Targets have to follow from what the methods say, and intervals from counts."""
    for level, found in entry["levels"].items():
        targets = found.get("targets") if isinstance(found, dict) else None
        if not isinstance(targets, list) or [_failure(told) for told in targets] != list(planning.TARGETS):
            yield f"levels.{level}.targets: found others than those of `softsense board measure`"
            continue
        limit = codes.rber_at_capacity(matrix.code.rate, int(level))
        for told in targets:
            place = f"levels.{level}, target {told['failure']:g}"
            try:
                expected = verdicts.again(told)
                for method in told["methods"]:
                    yield from _of_method(place, method)
                    if method["fer"] < 0.5 and told["measured_rber"] > limit:
                        yield f"{place}: found a rate beyond the capacity of level {level}, expected at most {limit:g}"
            except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
                yield f"{place}: found no rate of this version, expected that of `softsense board measure`"
                continue
            if any(_differences("", told, expected)):
                yield (
                    f"{place}: found {_short(told)}, expected {_short(expected)}, which follows from the methods: "
                    f"nothing is extrapolated beyond a factor of {verdicts.NEAREST:g}"
                )


def _failure(told: Any) -> Any:
    return told.get("failure") if isinstance(told, dict) else None


def _of_method(place: str, method: dict[str, Any]) -> Iterator[str]:
    """Differences between the interval of a method and its counts."""
    name, fer, lo, hi = (method[key] for key in ("method", "fer", "lo", "hi"))
    if not lo <= fer <= (math.inf if hi is None else hi):
        yield f"{place}: {name}: found {fer:g} outside of its interval {lo:g} to {hi:g}"
    if name != "analytic" and lo == hi:
        yield f"{place}: {name}: found an interval of length zero"
    expected = method
    if name == "counted":
        failures, frames = method["failures"], method["frames"]
        low, high = _core.binomial_interval(failures, frames, CONFIDENCE)
        expected = method | {"fer": failures / frames, "lo": low, "hi": high}
    if name == "splitting":
        expected = verdicts.by_splitting(fer, method["relative_error"], method["runs"])
    if any(_differences("", method, expected)):
        yield f"{place}: {name}: found {fer:g} ({lo:g} to {hi:g}), expected what follows from its frames or runs"


def _of_seal(_: str, entry: dict[str, Any], __: Matrix) -> Iterator[str]:
    if entry["seal"] != seal_of(entry):
        yield "seal: found another than that of the fields: the entry was edited by hand"


def _duplicates(name: str, entries: dict[str, dict[str, Any]]) -> Iterator[str]:
    mine = entries[name]
    for other, entry in entries.items():
        same = entry["matrix"].get("invariant") == mine["matrix"].get("invariant")
        if other != name and same and entry["plan"].get("decoder") == mine["plan"].get("decoder"):
            yield (
                f"matrix: found the graph of `{other}` under another name, expected a matrix that differs by more than "
                "the order of its rows and columns"
            )


def _measured_again(
    entry: dict[str, Any], matrix: Matrix, patience: float, workers: int, progress: Progress | None
) -> Iterator[str]:
    plan = entry["plan"]
    again = measure_entry(
        matrix,
        decoder=plan["decoder"] if matrix.code.kind == "ldpc" else "min-sum",
        budget=plan["budget_core_minutes"],
        patience=patience,
        levels=[int(level) for level in plan["levels"]],
        workers=workers,
        progress=progress,
    )
    if again["cost"]["short"]:
        yield (
            f"cost: found that {again['cost']['core_minutes']:g} core-minutes did not suffice for "
            f"{again['cost']['short'][0]}, expected to confirm all of it (--patience gives more)"
        )
        return
    told = list(_differences("", _untimed(entry), _untimed(json.loads(json.dumps(again)))))
    for place, found, expected in told[:_MOST_TOLD]:
        yield f"{_differs(place, found, expected)}, as measured again"
    if len(told) > _MOST_TOLD:
        yield f"and {len(told) - _MOST_TOLD} more fields differ from what was measured again"


def _untimed(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in TIMED}


def _differences(place: str, found: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            yield from _differences(f"{place}.{key}".lstrip("."), found.get(key), expected.get(key))
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from _differences(f"{place}[{i}]", one, other)
    elif isinstance(found, list) and isinstance(expected, list):
        yield place, f"{len(found)} elements", f"{len(expected)}"
    elif not _equal(found, expected):
        yield place, found, expected


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        # Sums of logarithms may differ in their last digits between mathematical libraries.
        return math.isclose(found, expected, rel_tol=_SAME, abs_tol=0.0)
    return bool(found == expected)


def _short(target: Any) -> str:
    if not isinstance(target, dict):
        return repr(target)[:60]
    rber = "no rate" if target.get("rber") is None else f"{target['rber']:.6g}"
    return f"{rber} ({'proved' if target.get('proved') else 'not proved'})"


def _differs(place: str, found: Any, expected: Any) -> str:
    def shown(value: Any) -> str:
        text = json.dumps(value) if not isinstance(value, str) else value
        return text if len(text) <= 80 else f"{text[:77]}..."

    return f"{place}: found {shown(found)}, expected {shown(expected)}"
