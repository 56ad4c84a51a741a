"""The parts of the time of each read, and its steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from softsense.explain.codewords import Readings


def summed(read: dict[str, Any]) -> dict[str, Any]:
    """A row of `reads`, made from a read of the simulator."""

    def total(*, wasted: bool = False, **wanted: str) -> int:
        chosen = (s for s in read["spans"] if all(s[name] == value for name, value in wanted.items()))
        return sum(s["to_ns"] - s["from_ns"] for s in chosen if not wasted or s["wasted"])

    in_vain = total(what="sense", wasted=True)
    sense, transfer, decode = total(what="sense") - in_vain, total(resource="bus"), total(resource="decoder")
    return {
        "levels": [step["level"] for step in read["steps"]],
        "decoded": read["decoded"],
        "latency_us": read["latency_ns"] / 1e3,
        "sense_us": sense / 1e3,
        "transfer_us": transfer / 1e3,
        "decode_us": decode / 1e3,
        "hidden_us": (sense + transfer + decode - read["latency_ns"]) / 1e3,
        "plane_us": total(resource="plane") / 1e3,
        "wasted_us": in_vain / 1e3,
    }


def in_us(span: dict[str, Any]) -> dict[str, Any]:
    """A row of `spans`, made from a span of the simulator."""
    named = {name: span[name] for name in ("resource", "what", "step", "level", "wasted")}
    return {**named, "from_us": span["from_ns"] / 1e3, "to_us": span["to_ns"] / 1e3}


def steps_in(read: dict[str, Any], readings: Readings, hard_sense_us: float) -> Iterator[dict[str, Any]]:
    """Rows of `steps`, made from a read of the simulator and the outcomes that it was given."""
    steps, measured = read["steps"], read["measured"]

    def row(number: int, step: dict[str, Any], *, sent: bool, sense_us: float) -> dict[str, Any]:
        tried = sent and not step["known_cells"]
        # A read of known cells on another page shows nothing of this page.
        nothing = dict.fromkeys(("references_v", "wrong_signs", "violated_checks"))
        how = step["references"], step["level"], step["sensing_percent"]
        found = nothing if step["known_cells"] else readings.known[how]
        # The first hard decision of a read is predicted, in the die before it is sent.
        predicted = readings.predicted.get(step["references"]) if number == 1 and step["level"] == 1 else None
        if predicted is not None and sent and read["predictor"] and not step["predictions"]:
            tried = predicted <= read["predictor"][1]
        told = measured.get(step["references"]) if step["level"] == 1 else None
        if told and sent != (told["errors"] is not None):
            told = None
        # If known cells are read in a step of their own, that step has the measurement.
        if told and number < len(steps) and steps[number]["known_cells"]:
            told = None
        up, down = (told and told["errors"]) or (None, None)
        return {
            "step": number,
            "sent": sent,
            "references": step["references"],
            "references_v": found["references_v"],
            "level": step["level"],
            "known_cells": step["known_cells"],
            "search_sensings": step["search_sensings"],
            "sensing_percent": step["sensing_percent"],
            "sense_us": sense_us,
            "raw_errors": found["wrong_signs"],
            "violated_checks": found["violated_checks"],
            "iterations": found["iterations"] if tried else None,
            "decoded": found["converged"] if tried else None,
            "predicted_violated": predicted,
            "errors_up": up,
            "errors_down": down,
            "difference": told and told["difference"],
            "inferred_steps": told and told["steps"],
        }

    for number, step in enumerate(steps, 1):
        sensing = [span for span in read["spans"] if (span["step"], span["what"]) == (number, "sense")]
        sense_us = sum(span["to_ns"] - span["from_ns"] for span in sensing) / 1e3
        if step["unsent_sensings"]:
            # The die counts ones with default references, and keeps the data of that sensing.
            unsent = {**step, "references": "default", "sensing_percent": 100}
            sent_us = hard_sense_us * step["sensing_percent"] / 100
            yield row(number, unsent, sent=False, sense_us=sense_us - sent_us)
            sense_us = sent_us
        yield row(number, step, sent=True, sense_us=sense_us)
