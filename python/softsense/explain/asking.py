"""The arguments of `explain`: their checks, and the values that follow from the config."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from softsense import _core
from softsense._core import MAX_LEVEL, Cells, Code, Config, ConfigError
from softsense.api import load_config

_HOURS = {"d": 24.0, "h": 1.0}


def parse_retention(text: str) -> float:
    """Hours from a time such as `365d` or `12h`.

    Raises `ConfigError`.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([dh])", text)
    if not found:
        raise ConfigError(f"--retention: found {text}, expected a time such as 365d or 12h")
    return float(found[1]) * _HOURS[found[2]]


def device_for(config: str | os.PathLike[str] | Config, overrides: Sequence[str], max_level: int | None) -> Config:
    """The device, with overrides and the deepest level."""
    changes = list(overrides)
    if max_level is not None:
        if not 1 <= max_level <= MAX_LEVEL:
            raise ConfigError(f"max_level: found {max_level}, expected 1 to {MAX_LEVEL}")
        changes.append(f"read.max_level={max_level}")
    if isinstance(config, Config):
        device = config.with_overrides(changes) if changes else config
    else:
        device = load_config(config, changes)
    return device


def code_for(code: str | os.PathLike[str], codeword_bytes: int) -> Code:
    """The requested code, which must fill a codeword of the device."""
    opened = Code.open(code)
    if opened.data_bits != 8 * codeword_bytes:
        found = f"{opened.data_bits / 8:,.10g} bytes of data in {opened.name}"
        raise ConfigError(f"code: found {found}, expected {codeword_bytes:,} (geometry.codeword_bytes)")
    return opened


def deepest_level(of_config: int, asked: int | None, code: Code, decoder: str, of_decoder: int) -> int:
    """The deepest level that is read, where a decoder gains nothing beyond level `of_decoder`."""
    if asked is not None and asked > of_decoder:
        who = "BCH codes take" if code.kind == "bch" else f"{decoder} takes"
        raise ConfigError(f"max_level: found {asked}, expected {of_decoder}: {who} only hard decisions")
    return min(of_config, of_decoder)


def rate_of_hard_failure(
    device: Config, resolved: dict[str, Any], code: Code, decoder: str, iterations: int, rber: float
) -> float | None:
    """The probability that hard decision fails, by a config's decode table; None unless it is a shipped one of this
    code and decoder.
    """
    reliability = resolved["reliability"]
    if not isinstance(reliability, dict) or reliability.get("table", {}).get("file") not in _core.decode_tables():
        return None
    # The code and decoder of a table stand before its numbers.
    name = reliability["table"]["file"]
    table = _core.read_toml(_core.DecodeTable(name).text.partition("[[level]]")[0], name)
    of_decoder = code.kind == "bch" or table["decoder"] == f"{decoder}, {iterations} iterations"
    if not (table["code"].startswith(f"{code.name}:") and of_decoder):
        return None
    return float(device.p_fail(np.array([rber]), 1)[0, 0])


def name_of_cells(cells: str | os.PathLike[str] | None, resolved: dict[str, Any]) -> str:
    """The name by which cells were opened."""
    if cells is not None:
        return os.fspath(cells)
    reliability = resolved["reliability"]
    rber = next(iter(reliability.values())).get("rber", {}) if isinstance(reliability, dict) else {}
    named = rber.get("threshold_voltage", "mlc") if isinstance(rber, dict) else "mlc"
    return named if isinstance(named, str) else "the config's"


def page_type_of(resolved: dict[str, Any], cells: Cells, page: int) -> int:
    """The number of the page type that a page of the cells has on the device."""
    types = resolved["flash"]["page_types"]
    if len(types) not in (1, len(cells.pages)):
        found, expected = ", ".join(kind["name"] for kind in types), ", ".join(cells.pages)
        raise ConfigError(
            f"flash.page_types: found {found}, expected one page type, or one for each page of the cells: {expected}"
        )
    return page if len(types) > 1 else 0
