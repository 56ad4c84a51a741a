"""The config of a calibrated drive as TOML for people: fields not at their defaults, with intervals of fitted ones."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from softsense._core import Config, ConfigError

if TYPE_CHECKING:
    from softsense.calibration.calibrating import Calibration

_WIDTH = 118
_WITHOUT_DEFAULTS = "reliability = 'perfect'"
_PLACES = {
    "dies": "geometry",
    "spare": "geometry",
    "sense_us": "flash",
    "sense_ratio": "flash",
    "steady_write_mb_per_s": "flash",
    "write_pace": "host",
}
"""Config section of each parameter that is no field; other parameters stand in the section of their field."""


def as_toml(found: Calibration, config: Config, rows: list[dict[str, Any]]) -> str:
    """Write TOML that gives this config.

    Args:
        found: the calibration.
        config: its config.
        rows: rows of `parameter_rows`; their intervals stand above the sections that they decide.
    """
    measured = found.space.measured
    told = config.fields
    usual = Config.from_toml(_WITHOUT_DEFAULTS, "defaults").fields
    fitted = len(measured.fitted)
    writes = "" if any(load.writes for load in measured.fitted) else ", as are writes: none were measured"
    lines = [
        f"# {measured.name}, calibrated to what it did under load.",
        "#",
        *_comment(
            f"`softsense calibrate` fitted it to {fitted} of {len(measured.loads)} loads that were measured. Fitted "
            "numbers stand above what they decide, with their 95 % intervals. Numbers that the loads hardly tell are "
            f"marked. All else is that of {measured.base}{writes}. Times in us."
        ),
        "",
        f"seed = {told.pop('seed')}",
    ]
    for section, value in _differing(told, usual).items():
        lines += ["", *_comment(_intervals(section, rows)), *_section(section, value)]
    text = "\n".join(lines) + "\n"
    # Some base configs need fields to be written although they are at their defaults.
    return text if _is_text_of(text, config) else config.to_toml()


def _is_text_of(text: str, config: Config) -> bool:
    try:
        return Config.from_toml(text, "calibrated.toml").to_json() == config.to_json()
    except ConfigError:
        return False


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH)]


def _intervals(section: str, rows: list[dict[str, Any]]) -> str:
    of_section = (row for row in rows if _PLACES.get(row["name"], row["name"].partition(".")[0]) == section)
    each = (
        f"{row['name'].removeprefix(f'{section}.')} {_short(row['best'])} "
        f"({_short(row['low'])} to {_short(row['high'])}{'' if row['is_told'] else ', hardly told'})"
        for row in of_section
    )
    told = "; ".join(each)
    return f"Fitted: {told}." if told else ""


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _differing(value: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a table that are not at their defaults."""
    found = {}
    for name, inner in value.items():
        default = usual.get(name)
        if _is_nothing(inner) or inner == default:
            continue
        found[name] = _differing(inner, default) if isinstance(inner, dict) and isinstance(default, dict) else inner
    return found


def _is_nothing(value: Any) -> bool:
    return value is None or value == []


def _section(path: str, value: Mapping[str, Any]) -> Iterator[str]:
    """A table under its header. Tables in it that do not fit a line, and lists of tables, have headers of their own."""
    here, apart = [], []
    for name, inner in value.items():
        written = f"{name} = {_inline(inner)}"
        tables = isinstance(inner, dict) or (isinstance(inner, list) and inner and isinstance(inner[0], dict))
        if tables and len(written) > _WIDTH:
            apart.append((name, inner))
        elif not _is_nothing(inner):
            here += textwrap.wrap(written, _WIDTH, subsequent_indent="    ", break_long_words=False)
    yield from [f"[{path}]", *here] if here else []
    for number, (name, inner) in enumerate(apart):
        yield from [""] if here or number else []
        if isinstance(inner, dict):
            yield from _section(f"{path}.{name}", inner)
            continue
        for row_number, row in enumerate(inner):
            yield from [""] if row_number else []
            yield f"[[{path}.{name}]]"
            yield from (f"{key} = {_inline(each)}" for key, each in row.items() if not _is_nothing(each))


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        each = (f"{name} = {_inline(inner)}" for name, inner in value.items() if not _is_nothing(inner))
        return "{ " + ", ".join(each) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(each) for each in value) + "]"
    # Texts, numbers and truth values of JSON are those of TOML.
    return json.dumps(value)
