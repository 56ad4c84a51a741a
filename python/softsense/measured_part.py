"""What of a decode table was measured, and what is extrapolated or an upper bound that was carried on.

Simulations look up all of it. Whoever asks for the rarest failures, as a lifetime does, has to know on which part the
answer rests.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from softsense._core import Config, DecodeTable, read_toml

HEADS = ("format", "name", "code", "decoder", "source", "interpolation", "soft_levels")

MOSTLY = 0.5
"""The share of an error rate that was not measured above which the rate is called an upper bound."""


LEAST = 1e-17
"""A failure probability below which nobody asks."""


def escaped(text: str) -> str:
    """A text as it stands between quotes in TOML."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def is_measured(level: Mapping[str, Any], point: int) -> bool:
    """Whether a value of a level is no bound that was carried on: without frames it is one, unless it is exact."""
    lo = level["p_fail_lo"][point] if "p_fail_lo" in level else None
    return "frames" not in level or level["frames"][point] > 0 or lo == level["p_fail"][point]


def measured_share(level: Mapping[str, Any], point: int) -> float:
    """The share of a failure probability of a level that was measured: 0 of one that was carried on."""
    missing = level["missing"][point] if "missing" in level else 0.0
    return 1 / (1 + missing) if is_measured(level, point) else 0.0


def entries_of(table: Mapping[str, Any]) -> tuple[int, int]:
    """How many failure probabilities of a table are above `LEAST`, and of how many of them most was not measured."""
    parts = [
        measured_share(level, i)
        for level in table["level"]
        for i, p_fail in enumerate(level["p_fail"])
        if p_fail > LEAST
    ]
    return len(parts), sum(1 - part > MOSTLY for part in parts)


def first_levels(table: Mapping[str, Any], levels: int | None = None, *, measured: bool = False) -> str:
    """A decode table, in TOML, of the first levels of `table`, by default all; without iterations.

    Args:
        table: the fields of the file.
        levels: how many.
        measured: whether it has what was measured alone: values that are carried on are 0 then, and what is missing of
            others is taken from them.
    """
    lines = [f'{key} = "{escaped(table[key])}"' for key in HEADS if key in table]
    lines += [f"{key} = {json.dumps(table[key])}" for key in ("bit_degrees", "check_degrees") if key in table]
    lines.append(f"rber = [{', '.join(map(repr, table['rber']))}]")
    least = [1.0] * len(table["rber"])
    for level in table["level"][:levels]:
        p_fail = level["p_fail"]
        if measured:
            parts = [p * measured_share(level, i) for i, p in enumerate(p_fail)]
            p_fail = [min(pair) for pair in zip(least, itertools.accumulate(parts, max), strict=True)]
            least = p_fail
        lines += ["", "[[level]]", f"p_fail = [{', '.join(map(repr, p_fail))}]"]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def of_what_was_measured(config: Config) -> Iterator[Config | None]:
    """The config with a decode table of what of its own was measured alone, which fails less often.

    None if it has no decode table. The table stands in a file until the context ends.
    """
    reliability = json.loads(config.to_json())["reliability"]
    if not isinstance(reliability, dict) or "table" not in reliability:
        yield None
        return
    table = DecodeTable(reliability["table"]["file"])
    with tempfile.TemporaryDirectory(prefix="softsense-") as folder:
        file = Path(folder, "measured.toml")
        file.write_text(first_levels(read_toml(table.text, file.name), measured=True), encoding="utf-8")
        # Nothing is simulated, so that times are nobody's concern, and they may need iterations.
        times = "decoder={ time = { fixed_us = 1.0 } }"
        yield config.with_overrides([f"reliability.table.file={json.dumps(str(file))}", times])
