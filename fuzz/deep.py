"""Texts that are far deeper or longer than anybody would write, given to all that reads text: `soak.py` runs this.

Each text is some part, written up to 100,000 times between a beginning and an end, or several such. Whatever reads it
must answer within some seconds, with a result or with the one error that softsense has for bad input. A text that
overflows the stack ends the process: what it was stands in the last line of output.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import softsense
from softsense import SoftsenseError, _core
from softsense.base import inline
from softsense.constraints import parse as constraint
from softsense.read_policies import policy_names
from softsense.serve import events
from softsense.sweep_file import Sweep

PARTS = [
    *("a.", "a[0]", "[", "[[", "{a=", "{ a.b = ", ".", "..", "]", "}", '"', "'", '"""', "é.", "ftl.", "a-", "-", "_"),
    *("[a]\n", "[[a]]\n", "[a.b]\n", "a=1\n", "a = [\n", "9", "0x", "f", "1e", "0.", "pslc:", "two_step:", "two_step,"),
    *(" ", "\n", "\t", "#", "# a\n", "(", "not ", "1,", "1 ", "-1 ", "\\", "{", "\\u0000", "=", "x,", "\0", "𝔸.", "0:"),
]
BEGINNINGS = [
    *(
        "",
        "",
        "a=",
        "x = ",
        "seed=",
        "seed = ",
        "[",
        "reliability.",
        "set = [",
        "grid.",
        "4 2\n",
        "3 2 5\n",
        "[[event]]\n",
    ),
    *("flash.page_types[", "reliability.table.rber.threshold_voltage=", "config = 'mlc-25nm'\nset = ['", "at = "),
]
ENDS = ["", "", "=1", " = 1", "]", "}", "']", "\n", "]=1", "\nseed = 1\n"]
MOST_TIMES = 100_000
LONGEST_S = 10.0
"""For one text, of at most half a megabyte, on a busy computer."""


def text(draw: random.Random) -> str:
    """Something deep or long."""
    pieces = []
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        part, times = draw.choice(PARTS), int(math.exp(draw.uniform(0, math.log(MOST_TIMES))))
        closing = {"[": "]", "{a=": "}", "{ a.b = ": "}", "a = [\n": "]"}.get(part, "")
        pieces.append(draw.choice(BEGINNINGS) + part * times)
        if closing and draw.random() < 0.5:
            pieces.append("1" + closing * times)
        pieces.append(draw.choice(ENDS))
    return "".join(pieces)


def nested(draw: random.Random) -> Any:
    """Lists and dicts in one another, or in themselves."""
    value: Any = 1
    for _ in range(int(math.exp(draw.uniform(0, math.log(MOST_TIMES))))):
        value = [value] if draw.random() < 0.5 else {"a": value}
    if draw.random() < 0.2:
        ring: list[Any] = [value]
        ring.append(ring)
        return ring
    return value


def doors(folder: Path) -> dict[str, Callable[[str], object]]:
    """All that reads text, by name."""
    trace = folder / "trace"
    trace.write_text("1 2 3 4 5\n")
    config = softsense.load_config("mlc-25nm")
    cells = "reliability.table.rber.threshold_voltage"
    return {
        "an override": lambda said: config.with_overrides([said]),
        "several": lambda said: config.with_overrides(said.split("\n")),
        "a path": _core.own_path,
        "a config": lambda said: softsense.Config.from_toml(said, "deep.toml"),
        "cells": lambda said: config.with_overrides([f"{cells}={json.dumps(said)}"]),
        "TOML": lambda said: _core.read_toml(said, "deep.toml"),
        "lines": _core.toml_lines,
        "a sweep": lambda said: Sweep.parse(said, "deep.toml"),
        "what it sets": lambda said: Sweep.parse(f'config = "mlc-25nm"\nset = [{json.dumps(said)}]', "deep.toml"),
        "what it sweeps": lambda said: Sweep.parse(
            f'config = "mlc-25nm"\n[grid]\n{json.dumps(said)} = [1]', "deep.toml"
        ),
        "a script": lambda said: events.parse(said, "deep.toml"),
        "policies": policy_names,
        "a constraint": lambda said: constraint(said, {"p99_us": float}),
        "an alist": lambda said: softsense.Code.parse("deep.alist", said),
        "a base matrix": lambda said: softsense.Code.parse("deep.qc", said),
        "a code": softsense.Code.open,
        "columns": lambda said: softsense.Trace(trace, columns=said),
        "operations": lambda said: softsense.Trace(trace, columns="time:us,op,bytes,lbn:512B,-", op=said),
    }


def main() -> int:
    """Read some texts; say, as JSON, how many, and which broke a promise."""
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    arguments = parser.parse_args()
    failures: list[str] = []
    longest, answers = 0.0, {"read": 0, "refused": 0}
    with tempfile.TemporaryDirectory(prefix="softsense-") as made:
        known = list(doors(Path(made)).items())
        for number in range(arguments.first, arguments.first + arguments.count):
            draw = random.Random(number)
            name, door = draw.choice(known)
            # What kills this process is this text.
            print(json.dumps({"number": number, "door": name}), flush=True)
            begun = time.monotonic()
            try:
                if draw.random() < 0.05:
                    inline(nested(draw))
                else:
                    door(text(draw))
                answers["read"] += 1
            except SoftsenseError:
                answers["refused"] += 1
            except Exception as error:
                failures.append(f"{number}: {name}: {type(error).__name__}: {str(error)[:300]}")
            seconds = time.monotonic() - begun
            longest = max(longest, seconds)
            if seconds > LONGEST_S:
                failures.append(f"{number}: {name}: {seconds:.1f} s")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    told = {"done": arguments.count, "answers": answers, "longest_s": longest, "peak_mb": peak_mb, "failures": failures}
    print(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
