"""The part of a decode table that was measured, and not extrapolated or carried on as an upper bound.

Simulations look up all of a table. A computation that depends on the rarest failures, such as a lifetime, also needs
the measured part, on which its answer rests.
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
"""The unmeasured share of an error rate above which the rate is called an upper bound."""


LEAST = 1e-17
"""The failure probability below which failures do not matter."""


def escaped(text: str) -> str:
    """A text as it stands between quotes in TOML."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def is_measured(level: Mapping[str, Any], point: int) -> bool:
    """Whether a value of a level is no carried bound. A value without frames is one, unless it is exact."""
    lo = level["p_fail_lo"][point] if "p_fail_lo" in level else None
    return "frames" not in level or level["frames"][point] > 0 or lo == level["p_fail"][point]


def measured_share(level: Mapping[str, Any], point: int) -> float:
    """The share of a failure probability of a level that was measured: 0 for a carried value."""
    missing = level["missing"][point] if "missing" in level else 0.0
    return 1 / (1 + missing) if is_measured(level, point) else 0.0


def entries_of(table: Mapping[str, Any]) -> tuple[int, int]:
    """The number of failure probabilities of a table above `LEAST`, and how many of them were mostly not measured."""
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
        levels: number of levels.
        measured: whether the table has the measured part alone: carried values are 0 then, and the missing part of
            others is subtracted from them.
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
    """The config with a decode table of the measured part of its own, which fails less often.

    None if it has no decode table. The table lies in a file until the context ends.
    """
    reliability = config.fields.reliability
    if not isinstance(reliability, dict) or "table" not in reliability:
        yield None
        return
    table = DecodeTable(reliability["table"]["file"])
    with tempfile.TemporaryDirectory(prefix="softsense-") as folder:
        file = Path(folder, "measured.toml")
        file.write_text(first_levels(read_toml(table.text, file.name), measured=True), encoding="utf-8")
        # Nothing is simulated, so times do not matter, and the config's own times may need iterations.
        times = "decoder={ time = { fixed_us = 1.0 } }"
        yield config.with_overrides([f"reliability.table.file={json.dumps(str(file))}", times])
