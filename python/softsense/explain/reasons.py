"""The reasons for the time that reads take, and the outcomes of their steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from softsense import read_policies
from softsense.explain.explanation import Explanation
from softsense.explain.phrases import list_of_levels
from softsense.formats import listed


def why(read: dict[str, Any]) -> str:
    """The steps of a policy's read, in one clause; `read` is a row of `reads`."""
    levels, last = read["levels"], read["levels"][-1]
    end = "decodes" if read["decoded"] else "fails, too: uncorrectable"
    if read_policies.knows_level(read["policy"]):
        return f"is told that level {last} is needed" if read["decoded"] else f"is told that only level {last} is left"
    if len(levels) == 1:
        said = f"level 1 {'decodes' if read['decoded'] else 'fails: uncorrectable'}"
    elif read["retry"] == "restart" or (read["retry"] == "restart_on_jumps" and last > levels[-2] + 1):
        said = f"{list_of_levels(levels[:-1])}; level {last}, from the start, {end}"
    else:
        added = f"{last - levels[-2]} more" if len(levels) == 2 else "one more each time"
        said = f"{list_of_levels(levels[:-1])}; with {added} level {last} {end}"
    return said + _ahead(read)


def _ahead(read: dict[str, Any]) -> str:
    """The time that sensing ahead hides, and the part of it that is wasted."""
    said = ""
    if read["hidden_us"] > 0:
        said += f"; {read['hidden_us']:,.1f} us of sensing are hidden"
    if read["wasted_us"] > 0:
        said += f"; {read['wasted_us']:,.1f} us are sensed in vain"
    return said


def steps_of(found: Explanation, read: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps of a read."""
    return found.steps.filter(found.steps["policy"] == read["policy"]).to_dicts()


def moves_references(steps: Sequence[dict[str, Any]]) -> bool:
    """Whether a read does more than sense levels with the references of the cells; `steps` are its rows."""
    return any(
        step["references"] != "cells" or step["sensing_percent"] < 100 or step["predicted_violated"] is not None
        for step in steps
    )


def why_steps(read: dict[str, Any], steps: Sequence[dict[str, Any]]) -> str:
    """The parts of a read that moves references; `read` is a row of `reads`, and `steps` are its rows."""

    def came(step: dict[str, Any]) -> str:
        if step["known_cells"]:
            return "known cells are read"
        if not step["sent"]:
            return f"the die {'predicts failure' if step['predicted_violated'] else 'counts ones'} at {where(step)}"
        return f"{_place(step)} " + ("is predicted to fail" if step["decoded"] is None else "decodes")

    clauses = []
    for failed, group in itertools.groupby(steps, lambda step: step["decoded"] is False):
        if failed:
            places = [_place(step) for step in group]
            clauses.append(f"{listed(places)} {'fails' if len(places) == 1 else 'fail'}")
        else:
            clauses += map(came, group)
    return "; ".join(clauses) + ("" if read["decoded"] else ": uncorrectable") + _ahead(read)


def _place(step: dict[str, Any]) -> str:
    """Level and references of a step, in few words."""
    return where(step) if step["level"] == 1 else f"level {step['level']} about {where(step)}"


def where(step: dict[str, Any]) -> str:
    """The place of the references of a step, in few words."""
    kind, _, number = step["references"].partition(":")
    if kind == "inferred":
        return f"inferred {int(number):+d}"
    found: str = {"retry_entry": f"entry {number}", "cells": "the cells' own"}.get(kind, kind)
    return found


def decodes_there(step: dict[str, Any]) -> str:
    """The outcome of decoding in a step."""
    if step["known_cells"] or not step["sent"]:
        return "-"
    return "not tried" if step["decoded"] is None else "yes" if step["decoded"] else "no"


def is_predicted_to_fail(step: dict[str, Any], found: Explanation) -> bool:
    """Whether the predictor expects a step to fail."""
    return found.predictor is not None and step["predicted_violated"] > found.predictor["threshold"]


def what_was_seen(step: dict[str, Any], found: Explanation) -> str:
    """The observations of a sensing beside the outcome of decoding, and their meaning."""
    seen = []
    if step["search_sensings"]:
        seen.append(f"{step['search_sensings']} sensings of each boundary, counted in the die, found its valley")
    if step["predicted_violated"] is not None and found.predictor:
        checks, most = int(found.predictor["checks"]), found.predictor["threshold"]
        fails = is_predicted_to_fail(step, found)
        seen.append(
            f"{step['predicted_violated']:,} of the first {checks:,} checks are violated, "
            f"{'more' if fails else 'not more'} than {most:,.1f}: predicted to {'fail' if fails else 'decode'}"
        )
    if step["difference"] is not None:
        what = "the share of ones says"
        if step["errors_up"] is not None:
            what = f"of known cells {step['errors_up']} read too high and {step['errors_down']} too low:"
        seen.append(
            f"{what} {step['difference']:+.3f} of a state, so references belong {step['inferred_steps']:+d} steps off "
            "the default ones"
        )
    return "; ".join(seen)


def converges(row: dict[str, Any], found: Explanation) -> str:
    """The course of decoding, in words."""
    if found.decoder is None:
        said = "corrects them"
    elif row["iterations"] == 0:
        said = "has nothing to do"
    else:
        said = f"converges in {row['iterations']} iteration{'s' if row['iterations'] > 1 else ''}"
    return said if row["correct"] else f"{said}, to another word than was written: an undetected error"


def outcome(row: dict[str, Any]) -> str:
    """The outcome of decoding, in a word."""
    return "no" if not row["converged"] else "yes" if row["correct"] else "wrongly"
