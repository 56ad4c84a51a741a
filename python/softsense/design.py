"""Design of error correction by the age of blocks: which codes, of what strength, where their parity lies, until when.

The input is raw bit error rates over P/E cycles, the pages of a device and a target. The algorithm is that of LAE-FTL.
While parity fits the out-of-band area, it takes the shortest codeword that is strong enough; then codewords of a whole
unit, whose parity takes room of the data. Of measured LDPC codes it takes the one that leaves most data.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from softsense import _core
from softsense._core import Config, ConfigError
from softsense.base import inline

Law = Literal["power_law", "exponential"]

# The bytes of a unit in the map of a device with measured codes.
_BLOCK_BYTES = 512
# Time of an iteration of decoders of measured codes, whose hardware a config for BCH codes does not describe.
_PER_ITERATION_US = 4.0


@dataclass(frozen=True)
class Designed:
    """The codes that `ecc_by_age` found.

    Attributes:
        code: `bch` or `ldpc`.
        stages: stages in order, each with `to_pe_cycles`, `rber` at their end, `rber_limit` (at which the code just
            meets the target) and the code. A BCH code has `codeword_bytes`, `field_bits`, `correctable`, and for a unit
            `parity_bytes`, `metadata_bytes` and `squeezed_bytes`, by which its data space shrinks. A measured code has
            `table`, `codeword_bits`, `data_bits` and `units` of 512 bytes in a page.
        rber: the law of wear, as a config has it.
        worst_factor: the largest factor, above 1, by which a point is off that law; None where no points were given.
        measured_to: P/E cycles of the last point; later stages are extrapolated. None where no points were given.
        overrides: overrides of the base config that make it the device with these codes.
        config: the config of that device.
    """

    code: Literal["bch", "ldpc"]
    stages: list[dict[str, Any]]
    rber: dict[str, Any]
    worst_factor: float | None
    measured_to: int | None
    overrides: list[str]
    config: Config = field(repr=False)

    @property
    def section(self) -> str:
        """The overrides as the text of a config."""
        return "\n".join(line.replace("=", " = ", 1) for line in self.overrides)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        keys = ("code", "stages", "rber", "worst_factor", "measured_to", "overrides")
        return {key: getattr(self, key) for key in keys}


def ecc_by_age(
    config: Config,
    *,
    points: Sequence[tuple[int, float]] = (),
    law: Law = "power_law",
    stages: Literal["points", "room"] | None = None,
    squeezes: Sequence[int] = (),
    oob_bytes: int | None = None,
    uber: float = 1e-15,
    code: Literal["bch", "ldpc"] = "bch",
    tables: Sequence[str] = (),
    level: int = 1,
) -> Designed:
    """Choose codes for the life of flash.

    Args:
        config: the config with the pages and, without `points`, with the raw bit error rates.
        points: pairs of P/E cycles and raw bit error rate, at least two, both growing.
        law: the law that is fitted to the points.
        stages: `points` (the default where there are any): a stage ends at each point, and has the least code that the
            point needs. `room`: each stage has the strongest code for which there is room, and lasts as long as that
            code does.
        squeezes: for stages by room, bytes by which the data space of a unit may shrink, growing.
        oob_bytes: out-of-band area of a unit; default: that of `reliability.bch` of the config.
        uber: failed codewords for each bit of data read, at most: P(more errors than are corrected) / k.
        code: `bch`, or `ldpc` for measured codes.
        tables: for `ldpc`, decode tables to choose from; default: the shipped `adaptive-*`.
        level: for `ldpc`, the read level: 1 is hard decision.

    A function of its arguments. Raises `ConfigError`, `TableError` or `CodeError`.

    Source: S. Wang et al., "Lifetime Adaptive ECC in NAND Flash Page Management", DATE 2017, section III.

    The paper's raw bit error rates give its codes:

    >>> points = [(16_000, 3e-4), (25_000, 8e-4), (27_000, 1.2e-3), (31_000, 1.5e-3)]
    >>> found = ecc_by_age(Config.open("mlc-lae"), points=points)
    >>> [(stage["codeword_bytes"], stage["correctable"]) for stage in found.stages]
    [(512, 15), (1024, 31), (2048, 57), (4096, 105)]
    """
    fields = config.fields
    geometry = fields["geometry"]
    kind, of_kind = _reliability(fields["reliability"])
    oob = _oob(oob_bytes, of_kind if kind == "bch" else {})
    stages = stages or ("points" if points else "room")
    if stages == "points" and not points:
        raise ConfigError(
            "rber: found stages by points without points, expected raw bit error rates, or stages by room"
        )
    if stages == "points" and squeezes:
        raise ConfigError(
            f"squeeze: found {list(squeezes)} together with stages by points, expected stages by room, or no squeeze"
        )
    fitted = _core.fit_wear(list(points), law) if points else None
    rber = fitted["model"] if fitted else of_kind.get("rber")
    if rber is None:
        raise ConfigError(
            "rber: found no raw bit error rates, expected points, or a config whose reliability has raw bit error rates"
        )
    unit, units = geometry["codeword_bytes"], geometry["codewords_per_page"]
    asked: dict[str, Any] = {"uber": uber}
    if stages == "points":
        asked["points"] = list(points)
    else:
        hours = 24.0 * fields["precondition"]["retention_days"]
        asked |= {"model": json.dumps(rber), "retention_hours": hours, "squeezes": list(squeezes)}
    variation = {} if points else _varied(of_kind.get("variation", {}))
    if code == "bch":
        if tables:
            raise ConfigError(
                f"tables: found {', '.join(tables)} together with BCH codes, expected no tables, or LDPC codes"
            )
        found = _core.design_by_age(unit_bytes=unit, units_per_page=units, oob_bytes=oob, **asked)
        overrides = _of_bch(found, rber, variation, oob)
    else:
        page, spare = unit * units, oob * units
        chosen = list(tables) or [name for name in _core.decode_tables() if name.startswith("adaptive-")]
        blocks = page // _BLOCK_BYTES
        found = _core.design_by_age(
            unit_bytes=_BLOCK_BYTES,
            units_per_page=blocks,
            oob_bytes=max(spare // blocks, 1),
            tables=chosen,
            level=level,
            **asked,
        )
        overrides = _of_tables(found, rber, variation, fields, level)
    last = points[-1][0] if points else None
    off = fitted["worst_factor"] if fitted else None
    return Designed(code, found, rber, off, last, overrides, config.with_overrides(overrides))


def _reliability(reliability: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(reliability, dict):
        return str(reliability), {}
    ((kind, fields),) = reliability.items()
    return kind, fields


def _varied(variation: dict[str, Any]) -> dict[str, Any]:
    """The fields of a variation by which chips, blocks or pages differ; fields that do nothing are left out."""
    return {key: value for key, value in variation.items() if value not in (0.0, 1, [])}


def _oob(given: int | None, bch: dict[str, Any]) -> int:
    oob = given if given is not None else bch.get("oob_bytes")
    if oob is None:
        raise ConfigError(
            "oob_bytes: found no value, expected the bytes of the out-of-band area of a unit, or a config with "
            "`reliability.bch`"
        )
    return int(oob)


def _of_bch(found: list[dict[str, Any]], rber: Any, variation: Any, oob: int) -> list[str]:
    codes = [{key: stage[key] for key in ("codeword_bytes", "correctable", "to_pe_cycles")} for stage in found]
    bch = {"oob_bytes": oob, "rber": rber, "variation": variation or None, "codes": codes}
    return [f"reliability={inline({'bch': bch})}"]


def _of_tables(found: list[dict[str, Any]], rber: Any, variation: Any, fields: dict[str, Any], level: int) -> list[str]:
    rates = [
        {"file": stage["table"], "units": stage["units"], "to_pe_cycles": stage["to_pe_cycles"]} for stage in found
    ]
    adaptive = {"rates": rates, "rber": rber, "variation": variation or None}
    overrides = [
        f"geometry.codeword_bytes={_BLOCK_BYTES}",
        f"geometry.codewords_per_page={max(stage['units'] for stage in found)}",
        f"reliability={inline({'adaptive': adaptive})}",
        f"read.max_level={level}",
        # A page is one codeword, and crosses the bus as a whole.
        f"bus.transfer_us={fields['bus']['transfer_us'] * fields['geometry']['codewords_per_page']}",
    ]
    if "bch" in fields["decoder"]["time"]:
        overrides.append(f"decoder.time={inline({'per_iteration_us': _PER_ITERATION_US})}")
    return overrides
