"""One codeword's life as pictures and words: its cells, what sensing tells, how decoding goes, what reading it costs.

A codeword is programmed with random data, its cells age, every level is sensed, and the decoder gets what the regions
say. What each read policy makes of that, with the config's technique of read retry, is worked out step by step and span
by span, for a device that does nothing else::

    from softsense import explain

    found = explain.explain("mlc-25nm", pe_cycles=10_000, retention_hours=365 * 24, page="upper")
    print(explain.text(found))
    explain.draw(found).savefig("upper.png")
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import _core, api
from softsense._core import MAX_LEVEL, Cells, Code, Config, ConfigError, Decoder
from softsense.flash import page_number

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

RESOURCES = ("plane", "bus", "decoder")
"""What a read occupies, in the order in which it passes."""

# The streams of a seed.
_DATA, _OTHER_PAGES, _QUANTILES = range(3)

_HOURS = {"d": 24.0, "h": 1.0}
_WIDTH = 100
_MOST_TRIED = 1000
_SEEDS = 1 << 64


@dataclass(frozen=True, eq=False)
class Explanation:
    """What `explain` found. Frames have a row for each state, reference, region, level, policy, sensing or span.

    Attributes:
        config: the device, with its overrides.
        config_name: the file or the name that it was opened by, or `config`.
        cells: the cells at their age.
        cells_name: what they were opened as.
        code: name of the code.
        decoder: name of its decoder; None for BCH codes, which have one.
        iterations: after how many it gives up; None for BCH codes.
        seed: of the data, of the other pages and of the cells.
        tried: how many codewords were looked at until there was one that needs as deep a level as was asked for.
        placement: where references are.
        page: name of the page.
        level: the level whose regions are shown in words and pictures.
        max_level: the deepest level that is read.
        codeword_bits: n, cells of the codeword.
        data_bits: k.
        rber: raw bit error rate of the page by the closed form.
        untracked_rber: the same, had the references stayed where they were when the page was written.
        hard_failure: the probability that decoding fails at level 1, by the decode table of the config; None if that is
            of another code or decoder.
        raw_errors: hard decisions of this codeword that are wrong.
        required_level: the least level at which this codeword decodes; None if none does.
        states: `state`, `bits` (of the pages, in their order), `bit` (of this page), `written_mean_v`, `mean_v`,
            `written_spread_v`, `spread_v` (standard deviations) and `p_wrong` (share of its cells that hard
            decision reads wrong).
        references: `level`, `reference_v`.
        regions: `level`, `region`, `from_v` and `to_v` (None at the ends), `p_given_0`, `p_given_1`, `llr` (natural
            logarithm, infinite where no cell of one bit is), `integer_llr` (what the decoder gets; at level 1 it gets
            bits, the signs), `cells_with_0`, `cells_with_1` (of this codeword).
        attempts: `level`, `sensings`, `bits_per_cell`, `information_bits` (of bit and region), `wrong_signs`,
            `converged`, `correct` (the word is the one that was written), `iterations`, `violated_checks`.
        predictor: what predicts failures counts the first `checks` of the code, and lets pass up to `threshold`
            violated ones; None without one.
        reads: `policy` as it was asked for, `retry`, `levels` (tried), `decoded`, `latency_us`, `sense_us`,
            `transfer_us`, `decode_us`, `hidden_us` (by which the three sum to more than the latency), `plane_us` (that
            the plane is taken, until the read ends), `wasted_us` (sensing ahead that was not needed).
        steps: the attempts of each policy and what is seen of them, a row for each sensing: `policy`, `step` (which
            attempt, from 1), `sent` (or it stays in the die, which senses again in the same step), `references` (where
            they stand: `cells`, `default`, `retry_entry:2`, `valleys`, or `inferred:-4`, so many steps off the default
            ones), `references_v` (those of the page), `level`, `known_cells` (nothing but they is read),
            `search_sensings` (of each boundary, before), `sensing_percent` and `sense_us` (of all sensings of the row,
            with a prediction in the die), `raw_errors` (at deeper levels wrong signs), `violated_checks` (by hard
            decisions; None at deeper levels), `iterations`, `decoded` (None where decoding is not tried),
            `predicted_violated` (checks, as the predictor counts them; None where it does not look), `errors_up` and
            `errors_down` (known cells of the lower state that read above, and of the upper one that read below),
            `difference` (the two as shares of a state's cells, or what the share of ones says of it) and
            `inferred_steps` (how far off the default ones references then belong).
        spans: `policy`, `resource` (plane, bus, decoder), `what` (sense, hold, transfer, decode, or predict where
            decoding is then not tried), `step`, `level`, `from_us`, `to_us`, `wasted`. `hold`: the plane is taken but
            does nothing. The last one ends at the latency.
    """

    config: Config
    config_name: str
    cells: Cells
    cells_name: str
    code: str
    decoder: str | None
    iterations: int | None
    seed: int
    tried: int
    placement: str
    page: str
    level: int
    max_level: int
    codeword_bits: int
    data_bits: int
    rber: float
    untracked_rber: float
    hard_failure: float | None
    raw_errors: int
    required_level: int | None
    states: pl.DataFrame
    references: pl.DataFrame
    regions: pl.DataFrame
    attempts: pl.DataFrame
    predictor: dict[str, float] | None
    reads: pl.DataFrame
    steps: pl.DataFrame
    spans: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: frames as lists of rows, LLRs that are infinite as None."""
        document: dict[str, Any] = {"pe_cycles": self.cells.pe_cycles, "retention_hours": self.cells.retention_hours}
        document["config_sha256"] = self.config.sha256
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "cells":
                document["cells"] = json.loads(value.spec_json)
            elif each.name != "config":
                document[each.name] = value.to_dicts() if hasattr(value, "to_dicts") else value
        for region in document["regions"]:
            region["llr"] = region["llr"] if math.isfinite(region["llr"]) else None
        return document


@dataclass(frozen=True)
class _Codeword:
    """A codeword in its cells: what is stored, and each cell's bit, state, and quantile among cells of that state."""

    word: NDArray[np.uint8]
    bits: NDArray[np.bool_]
    states: NDArray[np.intp]
    quantiles: NDArray[np.float64]


@dataclass(eq=False)
class _Readings:
    """What reads of a codeword come to: the simulator's `LoneRead` asks, and what it was told is kept for the text."""

    codeword: _Codeword
    page: int
    code: Code
    decoder_for: Callable[[dict[str, Any], int, float], Decoder]
    placement: str
    known: dict[tuple[str, int, int], dict[str, Any]] = field(default_factory=dict)
    predicted: dict[str, int] = field(default_factory=dict)

    def attempt(
        self, cells: Cells, references: str, level: int, sensing_percent: int
    ) -> tuple[bool, int, int, int | None]:
        """Whether it decodes, after how many iterations, and how many bits were wrong and checks violated before."""
        how = references, level, sensing_percent
        if how not in self.known:
            read = cells.sense(self.page, level, placement=self.placement)
            regions = _regions_of(cells, self.codeword, read)
            decoder = self.decoder_for(read, level, cells.rber(self.page))
            self.known[how] = {
                **_attempt(self.codeword, level, read, regions, decoder),
                "violated_checks": self._violated(read, regions, None) if level == 1 else None,
                "references_v": read["references"].tolist(),
            }
        row = self.known[how]
        return row["converged"], row["iterations"], row["wrong_signs"], row["violated_checks"]

    def violated(self, cells: Cells, references: str, checks: int) -> int:
        """How many of the first checks hard decisions violate."""
        read = cells.sense(self.page, 1, placement=self.placement)
        self.predicted[references] = self._violated(read, _regions_of(cells, self.codeword, read), checks)
        return self.predicted[references]

    def _violated(self, read: dict[str, Any], regions: NDArray[np.intp], checks: int | None) -> int:
        return int(self.code.syndrome_weight(np.packbits((read["llrs"] < 0)[regions]), checks))


def explain(
    config: str | os.PathLike[str] | Config = "mlc-25nm",
    *,
    cells: str | os.PathLike[str] | None = None,
    pe_cycles: int = 10_000,
    retention_hours: float = 8760.0,
    page: str | int = "upper",
    level: int | None = None,
    max_level: int | None = None,
    code: str | os.PathLike[str] = "flash-8/9",
    decoder: str = "min-sum",
    iterations: int = 20,
    placement: str = "mutual_information",
    policies: Sequence[str] | str = "all",
    seed: int = 1,
    needs: int = 1,
    overrides: Sequence[str] = (),
) -> Explanation:
    """Program one codeword, let it age, read it at every level, and say what reads of the config do, and take, for it.

    The read is real: random data is encoded, every cell has a quantile in the distribution of its state, each level's
    references sort cells into regions, and the decoder gets what these say. Reads are the simulator's, on a device that
    does nothing else, as the config's `read` says: whenever one senses with other references, deeper or for less time,
    it is told what comes of that with this codeword. As with the simulator's real decodes, a level deeper than the
    required one may fail, which is rare.

    Args:
        config: the device: a TOML file, the name of a shipped one, or a `Config`. Its times and its `read` count; its
            own codewords, ages and workload do not matter. Nothing is remembered of other reads.
        cells: the cells: a shipped model (`Cells.names`), or a TOML file; default: those of the config, or `mlc` if it
            has none with threshold voltages.
        pe_cycles: program/erase cycles of the cells.
        retention_hours: hours since the codeword was written.
        page: the page that the codeword is in: its name or number.
        level: the level whose regions are shown, 1 to 7; default: the required one, or the deepest if none decodes.
        max_level: the deepest level that is read, 1 to 7; default: that of the config, and 1 for BCH codes and
            bit-flipping, which take hard decisions.
        code: a code of as much data as a codeword of the config has, as `Code.open` takes it.
        decoder: as `Code.decoder` takes it; of this and of `iterations` BCH codes take no notice.
        iterations: after how many the decoder gives up.
        placement: where references are: `mutual_information`, `nested` or `uniform`.
        policies: `all`, or read policies such as `two_step`, each optionally with its retry as in `two_step:restart`.
        seed: of data, other pages and cells, and of what is counted of known cells, ones and valleys. The same seed is
            the same codeword at any age.
        needs: the first codeword is taken, of this seed, the next one and so on, whose required level is so deep, or
            that does not decode: how a codeword is seen that hard decision fails, where that is rare.
        overrides: config fields to replace, each written as `read.retry="incremental"`.

    Returns what was found: a function of the arguments.

    Raises `ConfigError`, `CodeError` or `FileError`: an argument is wrong, reads want what cells or code do not know,
    or the device has codes by age or interleaved codewords, of which this knows nothing.

    Source: K. Zhao et al., "LDPC-in-SSD", 2013, figs. 4, 6, 7 and 14 (the policies). Cells, references and LLRs are
    those of docs/model/threshold-voltage.md and sensing.md.
    """
    import polars as pl

    device = _device(config, overrides, max_level)
    resolved = json.loads(device.to_json())
    # What is wrong with a policy is told before anything is read.
    devices = {name: api.with_policy(device, name) for name in api.policy_names(policies)}
    opened_code = _opened_code(code, resolved["geometry"]["codeword_bytes"])
    if iterations < 1:
        raise ConfigError(f"iterations: found {iterations}, expected at least 1")
    deepest = _deepest(resolved["read"]["max_level"], max_level, opened_code, decoder, iterations)
    if level is not None and not 1 <= level <= deepest:
        raise ConfigError(f"level: found {level}, expected 1 to {deepest}")
    if not 0 <= seed < _SEEDS:
        raise ConfigError(f"seed: found {seed}, expected 0 to {_SEEDS - 1}")
    opened = device.cells(pe_cycles, retention_hours) if cells is None else None
    if opened is None:
        opened = Cells.open(os.fspath(cells or "mlc"), pe_cycles, retention_hours)
    number = page_number(opened, str(page))
    page_type = _page_type(resolved, opened, number)
    lone_reads = {name: _core.LoneRead(each, page_type) for name, each in devices.items()}
    sensed = {each: opened.sense(number, each, placement=placement) for each in range(1, deepest + 1)}

    if not 1 <= needs <= deepest:
        raise ConfigError(f"needs: found {needs}, expected 1 to {deepest}")

    def decoder_for(read: dict[str, Any], level: int, rber: float) -> Decoder:
        return opened_code.decoder(decoder, iterations, llr_step=_step(read, level, rber, opened_code))

    decoders = {each: decoder_for(read, each, opened.rber(number)) for each, read in sensed.items()}

    def attempt(codeword: _Codeword, each: int) -> dict[str, Any]:
        return _attempt(codeword, each, sensed[each], _regions_of(opened, codeword, sensed[each]), decoders[each])

    for own_seed in range(seed, min(seed + _MOST_TRIED, _SEEDS)):
        codeword = _programmed(opened, number, opened_code, own_seed)
        if not any(attempt(codeword, each)["converged"] for each in range(1, needs)):
            break
    else:
        raise ConfigError(f"needs: found no codeword that needs level {needs} among {_MOST_TRIED:,}, expected one")
    attempts = [attempt(codeword, each) for each in sensed]
    required = next((row["level"] for row in attempts if row["converged"]), None)

    readings = _Readings(codeword, number, opened_code, decoder_for, placement)
    hard_sense_us = resolved["flash"]["page_types"][page_type]["sense_us"]
    reads, steps, spans = [], [], []
    for name, lone_read in lone_reads.items():
        read = lone_read.timeline(readings, opened, opened_code, levels=deepest, seed=own_seed)
        retry = json.loads(devices[name].to_json())["read"]["retry"]
        reads.append({"policy": name, "retry": retry, **_summed(read)})
        steps += [{"policy": name, **row} for row in _steps(read, readings, hard_sense_us)]
        spans += [{"policy": name, **_us(span)} for span in read["spans"]]
    return Explanation(
        config=device,
        config_name="config" if isinstance(config, Config) else os.fspath(config),
        cells=opened,
        cells_name=_cells_name(cells, resolved),
        code=opened_code.name,
        decoder=None if opened_code.kind == "bch" else decoder,
        iterations=None if opened_code.kind == "bch" else iterations,
        seed=own_seed,
        tried=own_seed - seed + 1,
        placement=placement,
        page=opened.pages[number],
        level=level or required or deepest,
        max_level=deepest,
        codeword_bits=opened_code.codeword_bits,
        data_bits=opened_code.data_bits,
        rber=opened.rber(number),
        untracked_rber=opened.with_references("default").rber(number),
        hard_failure=_hard_failure(device, resolved, opened_code, decoder, iterations, opened.rber(number)),
        raw_errors=attempts[0]["wrong_signs"],
        required_level=required,
        states=pl.DataFrame(_states(opened, number, sensed[1])),
        references=pl.DataFrame(
            [
                {"level": each, "reference_v": float(reference)}
                for each, read in sensed.items()
                for reference in read["references"]
            ]
        ),
        regions=pl.DataFrame(_region_rows(opened, sensed, codeword), infer_schema_length=None),
        attempts=pl.DataFrame(attempts),
        predictor=dict(zip(("checks", "threshold"), read["predictor"], strict=True)) if read["predictor"] else None,
        reads=pl.DataFrame(reads),
        steps=pl.DataFrame(steps, infer_schema_length=None),
        spans=pl.DataFrame(spans),
    )


def parse_retention(text: str) -> float:
    """Hours from a time such as `365d` or `12h`.

    Raises `ConfigError`.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([dh])", text)
    if not found:
        raise ConfigError(f"--retention: found {text}, expected a time such as 365d or 12h")
    return float(found[1]) * _HOURS[found[2]]


# What is checked, and where it comes from -----------------------------------------------------------------------------


def _device(config: str | os.PathLike[str] | Config, overrides: Sequence[str], max_level: int | None) -> Config:
    """The device."""
    changes = list(overrides)
    if max_level is not None:
        if not 1 <= max_level <= MAX_LEVEL:
            raise ConfigError(f"max_level: found {max_level}, expected 1 to {MAX_LEVEL}")
        changes.append(f"read.max_level={max_level}")
    if isinstance(config, Config):
        device = config.with_overrides(changes) if changes else config
    else:
        device = api.load_config(config, changes)
    return device


def _opened_code(code: str | os.PathLike[str], codeword_bytes: int) -> Code:
    opened = Code.open(code)
    if opened.data_bits != 8 * codeword_bytes:
        found = f"{opened.data_bits / 8:,.10g} bytes of data in {opened.name}"
        raise ConfigError(f"code: found {found}, expected {codeword_bytes:,} (geometry.codeword_bytes)")
    return opened


def _deepest(of_config: int, asked: int | None, code: Code, decoder: str, iterations: int) -> int:
    of_decoder = code.decoder(decoder, iterations).max_level
    if asked is not None and asked > of_decoder:
        who = "BCH codes take" if code.kind == "bch" else f"{decoder} takes"
        raise ConfigError(f"max_level: found {asked}, expected {of_decoder}: {who} hard decisions")
    return min(of_config, of_decoder)


def _hard_failure(
    device: Config, resolved: dict[str, Any], code: Code, decoder: str, iterations: int, rber: float
) -> float | None:
    """By the decode table of a config, if it is a shipped one of this code and decoder."""
    reliability = resolved["reliability"]
    if not isinstance(reliability, dict) or reliability.get("table", {}).get("file") not in _core.decode_tables():
        return None
    # What it is of stands before the numbers.
    table = tomllib.loads(_core.decode_table_text(reliability["table"]["file"]).partition("[[level]]")[0])
    of_decoder = code.kind == "bch" or table["decoder"] == f"{decoder}, {iterations} iterations"
    if not (table["code"].startswith(f"{code.name}:") and of_decoder):
        return None
    return float(device.p_fail(np.array([rber]), 1)[0, 0])


def _cells_name(cells: str | os.PathLike[str] | None, resolved: dict[str, Any]) -> str:
    """What cells were opened as."""
    if cells is not None:
        return os.fspath(cells)
    reliability = resolved["reliability"]
    rber = next(iter(reliability.values())).get("rber", {}) if isinstance(reliability, dict) else {}
    named = rber.get("threshold_voltage", "mlc") if isinstance(rber, dict) else "mlc"
    return named if isinstance(named, str) else "the config's"


def _page_type(resolved: dict[str, Any], cells: Cells, page: int) -> int:
    """The number of the page type that a page of the cells has on the device."""
    types = resolved["flash"]["page_types"]
    if len(types) not in (1, len(cells.pages)):
        found, expected = ", ".join(kind["name"] for kind in types), ", ".join(cells.pages)
        raise ConfigError(f"flash.page_types: found {found}, expected one, or those of the cells: {expected}")
    return page if len(types) > 1 else 0


# The read -------------------------------------------------------------------------------------------------------------


def _draws(seed: int, stream: int, count: int) -> NDArray[np.uint64]:
    """The same on every machine and with every NumPy: it keeps the streams of bit generators, not of distributions."""
    return np.random.PCG64(np.random.SeedSequence([seed, stream])).random_raw(count)


def _programmed(cells: Cells, page: int, code: Code, seed: int) -> _Codeword:
    """A codeword of random data in a page of cells whose other pages hold random data, too."""
    data_bytes = -(-code.data_bits // 8)
    data = _draws(seed, _DATA, -(-data_bytes // 8)).astype("<u8").view(np.uint8)[:data_bytes]
    word = code.encode(data)
    n = code.codeword_bits
    bits = np.unpackbits(word, count=n).astype(bool)
    draws = _draws(seed, _OTHER_PAGES, n) >> np.uint64(32)
    states = np.empty(n, dtype=np.intp)
    for bit in (False, True):
        holding = np.array([state for state in range(cells.states) if cells.bit(page, state) == bit])
        chosen = bits == bit
        states[chosen] = holding[(draws[chosen] * np.uint64(len(holding)) >> np.uint64(32)).astype(np.intp)]
    quantiles = (_draws(seed, _QUANTILES, n) >> np.uint64(11)) * 2.0**-53
    return _Codeword(word, bits, states, quantiles)


def _regions_of(cells: Cells, codeword: _Codeword, read: dict[str, Any]) -> NDArray[np.intp]:
    """The region of each cell: how many references are at or below the voltage that its quantile is at.

    A voltage is below a reference if its quantile is below that of the reference, which is what is compared: no voltage
    has to be found.
    """
    regions = np.empty(len(codeword.bits), dtype=np.intp)
    for state in range(cells.states):
        chosen = codeword.states == state
        regions[chosen] = np.searchsorted(
            cells.cdf(state, read["references"]), codeword.quantiles[chosen], side="right"
        )
    return regions


def _step(read: dict[str, Any], level: int, rber: float, code: Code) -> float:
    """The natural logarithm that a step of what the decoder gets stands for."""
    if level > 1:
        return float(read["llr_step"])
    # The LLR of a hard decision: finite where none is wrong.
    rber = min(max(rber, 0.5 / code.codeword_bits), 0.499)
    return math.log((1 - rber) / rber)


def _attempt(
    codeword: _Codeword, level: int, read: dict[str, Any], regions: NDArray[np.intp], decoder: Decoder
) -> dict[str, Any]:
    """What sensing tells the decoder, and what it makes of it: hard decisions at level 1, LLRs at others."""
    ones = (read["llrs"] < 0)[regions]
    result = decoder.decode(np.packbits(ones) if level == 1 else read["integer_llrs"][regions])
    return {
        "level": level,
        "sensings": read["sensings"],
        "bits_per_cell": read["bits_per_cell"],
        "information_bits": read["information"],
        "wrong_signs": int(np.count_nonzero(ones != codeword.bits)),
        "converged": bool(result.converged),
        "correct": bool((result.word == codeword.word).all()),
        "iterations": int(result.iterations),
        "violated_checks": int(result.syndrome_weight),
    }


def _region_rows(cells: Cells, sensed: dict[int, dict[str, Any]], codeword: _Codeword) -> list[dict[str, Any]]:
    rows = []
    for level, read in sensed.items():
        ends = [None, *read["references"].tolist(), None]
        regions = _regions_of(cells, codeword, read)
        held = [np.bincount(regions[codeword.bits == bit], minlength=len(read["llrs"])) for bit in (False, True)]
        for region, (zero, one) in enumerate(read["probabilities"].tolist()):
            rows.append(
                {
                    "level": level,
                    "region": region,
                    "from_v": ends[region],
                    "to_v": ends[region + 1],
                    "p_given_0": zero,
                    "p_given_1": one,
                    "llr": float(read["llrs"][region]),
                    "integer_llr": int(read["integer_llrs"][region]),
                    "cells_with_0": int(held[0][region]),
                    "cells_with_1": int(held[1][region]),
                }
            )
    return rows


def _states(cells: Cells, page: int, hard: dict[str, Any]) -> list[dict[str, Any]]:
    moments = [each.means_and_spreads() for each in (cells.at(cells.pe_cycles, 0.0), cells)]
    rows = []
    for state in range(cells.states):
        bit = cells.bit(page, state)
        below = np.concatenate([[0.0], cells.cdf(state, hard["references"]), [1.0]])
        (written, written_spread), (now, spread) = (each[state].tolist() for each in moments)
        rows.append(
            {
                "state": state,
                "bits": "".join(str(int(cells.bit(each, state))) for each in range(len(cells.pages))),
                "bit": int(bit),
                "written_mean_v": written,
                "mean_v": now,
                "written_spread_v": written_spread,
                "spread_v": spread,
                "p_wrong": float(np.diff(below)[(hard["llrs"] < 0) != bit].sum()),
            }
        )
    return rows


# Timelines ------------------------------------------------------------------------------------------------------------


def _summed(read: dict[str, Any]) -> dict[str, Any]:
    """A row of `reads`, from what the simulator's read is."""

    def total(*, wasted: bool = False, **wanted: str) -> int:
        chosen = (s for s in read["spans"] if all(s[name] == value for name, value in wanted.items()))
        return sum(s["to_ns"] - s["from_ns"] for s in chosen if not wasted or s["wasted"])

    in_vain = total(what="sense", wasted=True)
    sense, transfer, decode = total(what="sense") - in_vain, total(what="transfer"), total(resource="decoder")
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


def _us(span: dict[str, Any]) -> dict[str, Any]:
    """A row of `spans`."""
    named = {name: span[name] for name in ("resource", "what", "step", "level", "wasted")}
    return {**named, "from_us": span["from_ns"] / 1e3, "to_us": span["to_ns"] / 1e3}


def _steps(read: dict[str, Any], readings: _Readings, hard_sense_us: float) -> Iterator[dict[str, Any]]:
    """Rows of `steps`, from what the simulator's read is, and what it was told."""
    steps, measured = read["steps"], read["measured"]

    def row(number: int, step: dict[str, Any], *, sent: bool, sense_us: float) -> dict[str, Any]:
        tried = sent and not step["known_cells"]
        # Nothing is seen of the page where known cells are read of another.
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
        # Where known cells take a read of their own, it is that which tells.
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
            # The die counts ones with default references, and keeps what it has sensed so.
            unsent = {**step, "references": "default", "sensing_percent": 100}
            sent_us = hard_sense_us * step["sensing_percent"] / 100
            yield row(number, unsent, sent=False, sense_us=sense_us - sent_us)
            sense_us = sent_us
        yield row(number, step, sent=True, sense_us=sense_us)


# Words ----------------------------------------------------------------------------------------------------------------


def text(found: Explanation) -> str:
    """The whole story for a terminal: plain sentences of at most 100 columns, and tables."""
    return "\n\n".join(
        [
            heading(found),
            *_about_cells(found),
            *_about_regions(found),
            *_about_attempts(found),
            *_about_policies(found),
            *_about_steps(found),
        ]
    )


def heading(found: Explanation) -> str:
    """What codeword this is, in a line."""
    return (
        f"One codeword of {found.code} in the {found.page} page of {found.cells_name} cells, "
        f"after {found.cells.pe_cycles:,} P/E cycles and {_age(found.cells.retention_hours)}"
    )


def _about_cells(found: Explanation) -> list[str]:
    states = found.states
    pages = found.cells.pages
    said = f"1. Cells. Each holds {len(pages)} bits, one of each page, as one of {found.cells.states} states."
    if len(pages) == 1:
        said = f"1. Cells. Each holds a bit as one of {found.cells.states} states."
    fallen = (states["written_mean_v"] - states["mean_v"]).max()
    if found.cells.retention_hours > 0:
        said += (
            f" Cycles have widened the states; in {_age(found.cells.retention_hours)} they have come down "
            f"by up to {fallen:.3f} V."
        )
    columns = [(f"\n{page}", [bits[number] for bits in states["bits"]]) for number, page in enumerate(pages)]
    columns += [
        ("V when\nwritten", [f"{volts:.3f}" for volts in states["written_mean_v"]]),
        ("V\nnow", [f"{volts:.3f}" for volts in states["mean_v"]]),
        ("spread\nnow, V", [f"{volts:.3f}" for volts in states["spread_v"]]),
        ("cells read\nwrong", [_percent(share) for share in states["p_wrong"]]),
    ]
    n = found.codeword_bits
    expected, spread = n * found.rber, math.sqrt(n * found.rber * (1 - found.rber))
    hard = found.references.filter(found.references["level"] == 1)["reference_v"]
    reading = (
        f"2. Raw bit errors. Hard decision compares with {_listed([f'{volts:.3f}' for volts in hard])} V, where "
        f"neighbouring states cross. A bit of this page is wrong with probability {found.rber:.2e}: "
        f"of {n:,} bits {_few(expected)} in the mean, give or take {_few(spread)}. "
        f"This codeword has {found.raw_errors:,}."
    )
    if found.untracked_rber > 1.05 * found.rber:
        reading += (
            f" Had the references stayed as they were on the first day, that would be {found.untracked_rber:.2g}."
        )
    return [_filled(said), _table("state", states["state"], columns), _filled(reading)]


def _about_regions(found: Explanation) -> list[str]:
    regions = _shown(found)
    many = found.references.filter(found.references["level"] == found.level).height
    boundaries = found.references.filter(found.references["level"] == 1).height
    said = (
        f"3. Regions. Level {found.level} has {found.level} reference{'s' if found.level > 1 else ''} at each of the "
        f"page's {boundaries} boundaries"
        if boundaries > 1
        else f"3. Regions. Level {found.level} has {many} reference{'s' if many > 1 else ''}"
    )
    said += (
        f"; the {many + 1} regions between them are all that the decoder learns of a cell, as the LLR "
        "ln(P(region | 0) / P(region | 1)): positive says 0."
    )
    columns = [
        ("from\nV", [_volts(volts) for volts in regions["from_v"]]),
        ("to\nV", [_volts(volts) for volts in regions["to_v"]]),
        ("P(region\n| 0)", [f"{p:.3g}" for p in regions["p_given_0"]]),
        ("P(region\n| 1)", [f"{p:.3g}" for p in regions["p_given_1"]]),
        ("\nLLR", [f"{llr:+.2f}" for llr in regions["llr"]]),
        (
            "read\nas" if found.level == 1 else "for the\ndecoder",
            [_for_decoder(row) for row in regions.iter_rows(named=True)],
        ),
        ("cells\nwith 0", [f"{count:,}" for count in regions["cells_with_0"]]),
        ("cells\nwith 1", [f"{count:,}" for count in regions["cells_with_1"]]),
    ]
    rows = regions.to_dicts()
    surest, vaguest = (choose(rows, key=lambda row: abs(row["llr"])) for choose in (max, min))
    odds = f"Region {surest['region']} says {_bit(surest)} with odds of {_odds(surest)}"
    odds += f", region {vaguest['region']} says {_bit(vaguest)} with {_odds(vaguest)}."
    wrong = [(abs(row["llr"]), row["cells_with_1"] if _bit(row) == 0 else row["cells_with_0"]) for row in rows]
    unsure = sum(count for llr, count in wrong if llr < math.log(10))
    if unsure and len(rows) > boundaries + 1:
        odds += f" Of {sum(count for _, count in wrong):,} wrong signs {unsure:,} are said with odds below 10 to 1."
    return [_filled(said), _table("region", regions["region"], columns), _filled(odds)]


def _about_attempts(found: Explanation) -> list[str]:
    how = "" if found.decoder is None else f" ({found.decoder}, at most {found.iterations} iterations)"
    attempts = found.attempts
    columns = [
        ("\nsensings", [str(count) for count in attempts["sensings"]]),
        ("bits\na cell", [str(count) for count in attempts["bits_per_cell"]]),
        ("information\nbits a bit", [f"{bits:.4f}" for bits in attempts["information_bits"]]),
        ("wrong\nsigns", [f"{count:,}" for count in attempts["wrong_signs"]]),
        ("\niterations", ["-" if found.decoder is None else str(count) for count in attempts["iterations"]]),
        ("violated\nchecks", [f"{count:,}" for count in attempts["violated_checks"]]),
        ("\ndecodes", [_outcome(row) for row in attempts.iter_rows(named=True)]),
    ]
    blocks = [_filled(f"4. Decoding{how}. {told(found)}")]
    blocks.append(_table("level", attempts["level"], columns))
    rate, information = found.data_bits / found.codeword_bits, attempts["information_bits"]
    said = f"No code of this rate can do with less than {rate:.3f} bits of information; hard decision has "
    said += f"{information[0]:.3f}"
    said += f", level {found.level} {information[found.level - 1]:.3f}." if found.level > 1 else "."
    if found.hard_failure is not None:
        member = "this is one of them" if not attempts["converged"][0] else "this is none of them"
        said += (
            f" By the decode table of the config hard decision fails for {_percent(found.hard_failure)} of codewords "
            f"at this raw bit error rate: {member}."
        )
    if found.tried > 1:
        said += f" It was looked for: {found.tried:,} codewords were tried, this one has seed {found.seed}."
    if found.required_level and not attempts["converged"][found.required_level - 1 :].all():
        said += " A deeper level fails where this one decodes, which is rare."
    return [*blocks, _filled(said)]


def told(found: Explanation) -> str:
    """How decoding went, in a sentence or two."""
    rows = found.attempts.to_dicts()
    hard = rows[0]
    wrong = f"Hard decision: {hard['wrong_signs']:,} of {found.codeword_bits:,} bits are wrong, "
    if hard["converged"]:
        return wrong + f"and the decoder {_converges(hard, found)}."
    said = wrong + "and the decoder gives up" + (f" after {hard['iterations']} iterations." if found.decoder else ".")
    if found.required_level is None:
        return said + (f" No level up to {found.max_level} decodes." if found.max_level > 1 else "")
    row = rows[found.required_level - 1]
    extra = found.required_level - 1
    failed = f" {_levels(range(2, extra + 1)).capitalize()} too." if extra > 1 else ""
    boundary = "each boundary" if len(_references(found, 1)) > 1 else "the boundary"
    more = f"{extra} more reference{'s' if extra > 1 else ''} at {boundary}"
    return said + f"{failed} With {more} it {_converges(row, found)}."


def _about_policies(found: Explanation) -> list[str]:
    reads = found.reads.to_dicts()
    retries = {read["retry"] for read in reads}
    said = (
        f"5. Reading it with {found.config_name}, which does nothing else meanwhile. Hidden is time in which two parts "
        "of the read go on at once. Policies that look ahead keep the plane until the outcome is known."
    )
    if "incremental" in retries and found.placement != "nested":
        said += " Incremental retries keep what has been sensed, which presumes nested references: these are not."
    columns = [
        ("levels\ntried", [" ".join(map(str, read["levels"])) for read in reads]),
        *[
            (label, [f"{read[name]:,.1f}" for read in reads])
            for label, name in [
                ("sensing\nus", "sense_us"),
                ("transfer\nus", "transfer_us"),
                ("decoding\nus", "decode_us"),
                ("hidden\nus", "hidden_us"),
                ("read\ntakes us", "latency_us"),
                ("plane\ntaken us", "plane_us"),
                ("sensed in\nvain us", "wasted_us"),
            ]
        ],
    ]
    table = _table("policy", [read["policy"] for read in reads], columns)
    widest = max(len(read["policy"]) for read in reads)
    said_why = {
        read["policy"]: why(read) if not moves_references(steps := _steps_of(found, read)) else why_steps(read, steps)
        for read in reads
    }
    whys = "\n".join(_filled(f"{name:<{widest}}  {said}", widest + 2) for name, said in said_why.items())
    contenders = [read for read in reads if not api.knows_level(read["policy"])]
    ending = []
    if len(contenders) > 1:
        best, worst = (choose(contenders, key=lambda read: read["latency_us"]) for choose in (min, max))
        least = [read["policy"] for read in contenders if read["latency_us"] == best["latency_us"]]
        if len(least) == len(contenders):
            ending = [f"All of them take {best['latency_us']:,.1f} us."]
        else:
            verb = "is" if len(least) == 1 else "are"
            ending = [
                _filled(
                    f"Of what a controller can do {_listed(least)} {verb} the quickest, {best['latency_us']:,.1f} us; "
                    f"{worst['policy']} takes {worst['latency_us'] / best['latency_us']:.2f} times as long."
                )
            ]
    return [_filled(said), table, whys, *ending]


def why(read: dict[str, Any]) -> str:
    """What a policy's read consists of, in one clause; `read` is a row of `reads`."""
    levels, last = read["levels"], read["levels"][-1]
    end = "decodes" if read["decoded"] else "fails, too: uncorrectable"
    if api.knows_level(read["policy"]):
        return f"is told that level {last} is needed" if read["decoded"] else f"is told that only level {last} is left"
    if len(levels) == 1:
        said = f"level 1 {'decodes' if read['decoded'] else 'fails: uncorrectable'}"
    elif read["retry"] == "restart":
        said = f"{_levels(levels[:-1])}; level {last}, from the start, {end}"
    else:
        added = f"{last - levels[-2]} more" if len(levels) == 2 else "one more each time"
        said = f"{_levels(levels[:-1])}; with {added} level {last} {end}"
    return said + _ahead(read)


def _ahead(read: dict[str, Any]) -> str:
    """What sensing ahead hides, and what of it is in vain."""
    said = ""
    if read["hidden_us"] > 0:
        said += f"; {read['hidden_us']:,.1f} us of sensing are hidden"
    if read["wasted_us"] > 0:
        said += f"; {read['wasted_us']:,.1f} us are sensed in vain"
    return said


def _steps_of(found: Explanation, read: dict[str, Any]) -> list[dict[str, Any]]:
    return found.steps.filter(found.steps["policy"] == read["policy"]).to_dicts()


def moves_references(steps: Sequence[dict[str, Any]]) -> bool:
    """Whether a read is more than levels with the references of the cells; `steps` are its rows."""
    return any(
        step["references"] != "cells" or step["sensing_percent"] < 100 or step["predicted_violated"] is not None
        for step in steps
    )


def why_steps(read: dict[str, Any], steps: Sequence[dict[str, Any]]) -> str:
    """What a read consists of that moves references; `read` is a row of `reads`, and `steps` are its rows."""

    def came(step: dict[str, Any]) -> str:
        if step["known_cells"]:
            return "known cells are read"
        if not step["sent"]:
            return f"the die {'predicts failure' if step['predicted_violated'] else 'counts ones'} at {_where(step)}"
        return f"{_place(step)} " + ("is predicted to fail" if step["decoded"] is None else "decodes")

    clauses = []
    for failed, group in itertools.groupby(steps, lambda step: step["decoded"] is False):
        if failed:
            places = [_place(step) for step in group]
            clauses.append(f"{_listed(places)} {'fails' if len(places) == 1 else 'fail'}")
        else:
            clauses += map(came, group)
    return "; ".join(clauses) + ("" if read["decoded"] else ": uncorrectable") + _ahead(read)


def _place(step: dict[str, Any]) -> str:
    """Level and references of a step, in few words."""
    return _where(step) if step["level"] == 1 else f"level {step['level']} about {_where(step)}"


def _where(step: dict[str, Any]) -> str:
    """Where the references of a step stand, in few words."""
    kind, _, number = step["references"].partition(":")
    if kind == "inferred":
        return f"inferred {int(number):+d}"
    return {"retry_entry": f"entry {number}", "cells": "the cells' own"}.get(kind, kind)


def told_policy(found: Explanation) -> dict[str, Any]:
    """The row of `reads` whose steps are shown: that of the config's own policy, or the first."""
    rows = found.reads.to_dicts()
    own = json.loads(found.config.to_json())["read"]["policy"]
    return next((row for row in rows if row["policy"].partition(":")[0] == own), rows[0])


def _about_steps(found: Explanation) -> list[str]:
    read = told_policy(found)
    steps = _steps_of(found, read)
    if not moves_references(steps):
        return []
    said = (
        f"6. Steps of the read ({read['policy']}). What is read above has references that are the cells' own; this "
        "read moves them as a drive does. Checks are those that hard decisions violate before they are decoded."
    )
    hard = [step["references_v"] if step["level"] == 1 and step["references_v"] else [] for step in steps]
    whole = [f" ({step['sensing_percent']} %)" if step["sensing_percent"] < 100 else "" for step in steps]
    columns = [
        ("\nreferences", [_where(step) for step in steps]),
        ("\nlevel", ["known" if step["known_cells"] else str(step["level"]) for step in steps]),
        ("hard references\nV", [" ".join(map(_volts, volts)) for volts in hard]),
        ("sensed\nfor us", [f"{step['sense_us']:,.1f}{share}" for step, share in zip(steps, whole, strict=True)]),
        ("wrong\nbits", [_counted(step["raw_errors"]) for step in steps]),
        ("violated\nchecks", [_counted(step["violated_checks"]) for step in steps]),
        ("\ndecodes", [_decodes(step) for step in steps]),
    ]
    table = _table("step", [step["step"] for step in steps], columns)
    seen = [(step["step"], _seen(step, found)) for step in steps]
    lines = [_filled(f"step {number}  {words}", 8) for number, words in seen if words]
    return [_filled(said), table, *(["\n".join(lines)] if lines else [])]


def _counted(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _decodes(step: dict[str, Any]) -> str:
    if step["known_cells"] or not step["sent"]:
        return "-"
    return "not tried" if step["decoded"] is None else "yes" if step["decoded"] else "no"


def _is_predicted_to_fail(step: dict[str, Any], found: Explanation) -> bool:
    return found.predictor is not None and step["predicted_violated"] > found.predictor["threshold"]


def _seen(step: dict[str, Any], found: Explanation) -> str:
    """What is observed of a sensing beside the outcome of decoding, and what that says."""
    seen = []
    if step["search_sensings"]:
        seen.append(f"{step['search_sensings']} sensings of each boundary, counted in the die, found its valley")
    if step["predicted_violated"] is not None and found.predictor:
        checks, most = int(found.predictor["checks"]), found.predictor["threshold"]
        fails = _is_predicted_to_fail(step, found)
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


def _shown(found: Explanation) -> pl.DataFrame:
    return found.regions.filter(found.regions["level"] == found.level)


def _converges(row: dict[str, Any], found: Explanation) -> str:
    if found.decoder is None:
        said = "corrects them"
    elif row["iterations"] == 0:
        said = "has nothing to do"
    else:
        said = f"converges in {row['iterations']} iteration{'s' if row['iterations'] > 1 else ''}"
    return said if row["correct"] else f"{said}, to another word than was written: an undetected error"


def _outcome(row: dict[str, Any]) -> str:
    return "no" if not row["converged"] else "yes" if row["correct"] else "wrongly"


def _bit(region: dict[str, Any]) -> int:
    return int(region["llr"] < 0)


def _for_decoder(region: dict[str, Any]) -> str:
    """What a region is to the decoder: a bit at level 1, an integer at others."""
    return str(_bit(region)) if region["level"] == 1 else f"{region['integer_llr']:+d}"


def _odds(region: dict[str, Any]) -> str:
    llr = abs(region["llr"])
    if llr > math.log(1e6):
        return "more than a million to 1"
    odds = math.exp(llr)
    return f"{odds:,.0f} to 1" if odds >= 10 else f"{odds:.1f} to 1"


def _levels(levels: Sequence[int]) -> str:
    """That they fail."""
    if len(levels) == 1:
        return f"level {levels[0]} fails"
    return f"levels {levels[0]} {'and' if len(levels) == 2 else 'to'} {levels[-1]} fail"


def _age(hours: float) -> str:
    if hours >= 48:
        return f"{hours / 24:,.4g} days"
    return f"{hours:,.4g} hour{'s' if hours != 1 else ''}"


def _few(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _volts(volts: float | None) -> str:
    return "" if volts is None else f"{volts:.3f}"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.1f} %" if percent >= 1 else f"{percent:.2g} %" if percent >= 1e-12 else "0 %"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _filled(paragraph: str, indent: int = 0) -> str:
    options = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": " " * indent}
    return textwrap.fill(paragraph, _WIDTH, **options)


def _table(corner: str, names: Sequence[Any], columns: list[tuple[str, list[str]]]) -> str:
    """A table, however wide."""
    from softsense import tables

    return tables.paneled("", corner, [str(name) for name in names], columns, 1000).lstrip("\n")


# Pictures -------------------------------------------------------------------------------------------------------------

_WIDE = 11.0
_FAILED, _DECODED = "#d9593d", "#009e73"
_WHATS = {
    "sense": "sensing",
    "hold": "plane kept",
    "transfer": "transfer",
    "predict": "predicted to fail",
    "decode": "decoding",
}
_SPAN_COLOURS = {
    "sense": "#1f6fad",
    "hold": "#bcd7ee",
    "transfer": "#3f9448",
    "predict": "#c8a400",
    "decode": "#7a5ba8",
}


def draw(found: Explanation) -> Figure:
    """Draw the same: states and regions, LLRs, attempts level by level, the steps of a read that moves references, and
    a timeline for each policy.

    Returns a figure 11 inches wide at 150 dpi; save it with its `savefig`.
    """
    from matplotlib.figure import Figure

    from softsense import plots

    lanes = 0.72 * found.reads.height
    read = told_policy(found)
    steps = _steps_of(found, read)
    steps_high = 0.8 + 0.4 * len(steps) if moves_references(steps) else 0.0
    # A panel of its own, with its title and what is below it.
    steps_take = steps_high + 1.35 if steps_high else 0.0
    height = 7.95 + steps_take + lanes + 0.75
    figure = Figure(figsize=(_WIDE, height), dpi=150, facecolor="white")

    def panel(left: float, width: float, top: float, high: float) -> Axes:
        return figure.add_axes((left / _WIDE, 1 - (top + high) / height, width / _WIDE, high / height))

    said = told(found)
    size = min(10.0, 10.0 * 140 / len(said))
    title = min(13.0, 13.0 * 96 / len(heading(found)))
    figure.text(
        0.3 / _WIDE, 1 - 0.3 / height, heading(found), fontsize=title, weight="bold", color=plots.INK, va="center"
    )
    figure.text(0.3 / _WIDE, 1 - 0.58 / height, said, fontsize=size, color=plots.FAINT, va="center")
    _draw_states(panel(0.75, 9.95, 1.35, 2.15), found)
    _draw_llrs(panel(0.75, 5.55, 4.5, 2.1), found)
    _draw_attempts(panel(7.35, 3.35, 4.5, 2.1), found)
    if steps_high:
        boundaries = len(_references(found, 1))
        wide = 6.5 / boundaries
        panels = [panel(2.1 + wide * boundary, wide - 0.12, 7.95, steps_high) for boundary in range(boundaries)]
        _draw_steps(panels, found, read["policy"], steps)
    _draw_timelines(panel(2.75, 7.95, 7.95 + steps_take, lanes), found)
    note = f"{found.config_name}   seed {found.seed}   softsense {_core.__version__}"
    figure.text(0.3 / _WIDE, 0.17 / height, note, fontsize=8.5, color=plots.FAINT, va="center")
    return figure


def _shade(llr: float, most: float) -> tuple[str, float]:
    """The colour of the bit that a region says, and how strong it is."""
    from softsense import plots

    return plots.BIT_COLOURS[0 if llr > 0 else 1], 0.04 + 0.26 * min(abs(llr) / most, 1.0)


def _largest(regions: pl.DataFrame) -> float:
    """The largest LLR that is finite."""
    return max((abs(llr) for llr in regions["llr"] if math.isfinite(llr)), default=1.0)


def _draw_states(axes: Axes, found: Explanation) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from softsense import plots

    volts = plots.voltages(found.cells)
    fresh = found.cells.at(found.cells.pe_cycles, 0.0)
    regions = _shown(found)
    plots.head(axes, f"The cells: raw bit error rate {found.rber:.2e}, read at level {found.level}")
    densities = [found.cells.density(state, volts) for state in range(found.cells.states)]
    top = 1.32 * max(density.max() for density in densities)
    for row, density in zip(found.states.iter_rows(named=True), densities, strict=True):
        colour = plots.BIT_COLOURS[row["bit"]]
        axes.fill_between(volts, density, color=colour, alpha=0.4, linewidth=0, zorder=2)
        axes.plot(volts, density, color=colour, linewidth=1.6, zorder=3)
        axes.plot(volts, fresh.density(row["state"], volts), color=colour, linewidth=1.1, linestyle=":", zorder=3)
        axes.annotate(
            row["bits"],
            (row["mean_v"], density.max()),
            (0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=10.5,
            weight="bold",
            color=colour,
            zorder=5,
        )
    largest = _largest(regions)
    for row in regions.iter_rows(named=True):
        low = volts[0] if row["from_v"] is None else row["from_v"]
        high = volts[-1] if row["to_v"] is None else row["to_v"]
        colour, strength = _shade(row["llr"], largest)
        axes.axvspan(low, high, color=colour, alpha=strength, linewidth=0, zorder=0)
    for reference in _references(found, found.level):
        axes.axvline(reference, color=plots.INK, linewidth=0.8, zorder=4)
    for reference in _references(found, 1):
        axes.axvline(reference, color=plots.INK, linewidth=1.2, linestyle=(0, (3, 2)), zorder=4)
        at = (reference, top)
        label = f"{reference:.3f} V"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
        place = {"textcoords": "offset points", "ha": "center", "va": "top", "zorder": 6, "bbox": box}
        axes.annotate(label, at, (0, -3), fontsize=9, color=plots.INK, **place)
    axes.set_ylim(0, top)
    axes.set_xlim(volts[0], volts[-1])
    axes.set_ylabel("density (1/V)")
    axes.set_xlabel("threshold voltage (V)")
    keys = [
        (Patch(color=plots.BIT_COLOURS[1], alpha=0.6, linewidth=0), f"1 in the {found.page} page"),
        (Patch(color=plots.BIT_COLOURS[0], alpha=0.6, linewidth=0), "0"),
        (Line2D([], [], color=plots.FAINT, linestyle=":", linewidth=1.3), "as written"),
        (Line2D([], [], color=plots.INK, linestyle=(0, (3, 2)), linewidth=1.2), "hard references"),
        (Line2D([], [], color=plots.INK, linewidth=0.8), f"references of level {found.level}"),
    ]
    bits = f"bits of the states: {', '.join(found.cells.pages)}" if len(found.cells.pages) > 1 else ""
    _key(axes, keys if found.level > 1 else keys[:-1], bits)


def _draw_llrs(axes: Axes, found: Explanation) -> None:
    from softsense import plots

    regions = _shown(found)
    largest = _largest(regions)
    plots.head(axes, f"What each of its {regions.height} regions says")
    size = 9.0 if regions.height <= 16 else 7.5 if regions.height <= 22 else 6.5
    for row in regions.iter_rows(named=True):
        llr = max(-largest, min(largest, row["llr"]))
        colour = plots.BIT_COLOURS[0 if row["llr"] > 0 else 1]
        axes.bar(row["region"], llr, width=0.94, color=colour, alpha=0.75, linewidth=0)
        # The number stands outside the bar.
        up = row["llr"] > 0
        axes.annotate(
            _for_decoder(row),
            (row["region"], llr),
            (0, 2 if up else -2),
            textcoords="offset points",
            ha="center",
            va="bottom" if up else "top",
            fontsize=size,
            color=plots.INK,
        )
    axes.axhline(0, color="#888888", linewidth=0.8)
    axes.set_ylim(-1.25 * largest, 1.25 * largest)
    axes.set_xlim(-0.5, regions.height - 0.5)
    references = _references(found, found.level)
    axes.set_xticks(np.arange(len(references)) + 0.5, [f"{volts:.3f}" for volts in references])
    if len(references) > 8:
        axes.tick_params(axis="x", rotation=90, labelsize=size)
    axes.set_ylabel("LLR")
    axes.set_xlabel("references between the regions (V)")
    _key(axes, [], "bars: ln(P(region | 0) / P(region | 1))   numbers: as the decoder gets it")


def _draw_attempts(axes: Axes, found: Explanation) -> None:
    from softsense import plots

    rows = found.attempts.to_dicts()
    # A BCH decoder has no iterations: its bar says whether it decodes.
    heights = [1 if found.decoder is None else row["iterations"] for row in rows]
    top = max(*heights, 1)
    plots.head(axes, "How decoding goes, level by level")
    for row, height in zip(rows, heights, strict=True):
        right = row["converged"] and row["correct"]
        beyond = found.required_level is not None and row["level"] > found.required_level
        colour = _DECODED if right else _FAILED
        axes.bar(row["level"], height, width=0.72, color=colour, alpha=0.4 if beyond else 1.0, linewidth=0)
        if found.decoder is not None:
            bold = "normal" if beyond else "bold"
            place = {"ha": "center", "va": "bottom", "fontsize": 9, "color": plots.INK, "weight": bold}
            axes.text(row["level"], height + 0.03 * top, str(height), **place)
        said = "gives up" if not row["converged"] else "wrong" if not right else "corrects"
        if said != "corrects" or found.decoder is None:
            inside = {"rotation": 90, "ha": "center", "va": "bottom", "fontsize": 9, "color": "white"}
            axes.text(row["level"], 0.06 * top, said, weight="bold", **inside)
    axes.set_ylim(0, 1.18 * top)
    axes.set_xlim(0.4, max(len(rows), 2) + 0.6)
    labels = [f"{row['level']}\n{row['wrong_signs']:,}\n{row['information_bits']:.3f}" for row in rows]
    axes.set_xticks(range(1, len(rows) + 1), labels, fontsize=8.5)
    axes.tick_params(axis="x", length=0)
    names = "level\nwrong signs\ninformation"
    below = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right", "va": "top"}
    axes.annotate(names, (0, 0), (-4, -3), fontsize=8.5, color=plots.FAINT, linespacing=1.2, **below)
    if found.decoder is None:
        axes.set_yticks([])
    else:
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_ylabel("iterations")
    deeper = found.required_level is not None and found.required_level < found.max_level
    rate = f"information needed: {found.data_bits / found.codeword_bits:.3f}"
    _key(axes, [], f"{rate}   pale: not needed" if deeper else rate)


def _draw_steps(panels: list[Axes], found: Explanation, policy: str, steps: list[dict[str, Any]]) -> None:
    """Where the references of each step stand over the states, a panel for each boundary, and what came of it."""
    from matplotlib.ticker import MaxNLocator

    from softsense import plots

    rows = len(steps)
    colours = [_DECODED if step["decoded"] else plots.FAINT if step["decoded"] is None else _FAILED for step in steps]
    for boundary, axes in enumerate(panels):
        plots.head(axes, f"Steps of the read ({policy}): references over the states" if not boundary else "")
        standing = [
            volts[boundary * step["level"] : (boundary + 1) * step["level"]] if (volts := step["references_v"]) else []
            for step in steps
        ]
        low, high = min(map(min, filter(None, standing))), max(map(max, filter(None, standing)))
        volts = np.linspace(low - 0.5 * (high - low) - 0.1, high + 0.5 * (high - low) + 0.1, 600)
        densities = [found.cells.density(state, volts) for state in range(found.cells.states)]
        top = max(density.max() for density in densities)
        for row, density in zip(found.states.iter_rows(named=True), densities, strict=True):
            colour = plots.BIT_COLOURS[row["bit"]]
            axes.fill_between(
                volts, rows - 0.4, rows - 0.4 - density / top * rows, color=colour, alpha=0.2, linewidth=0
            )
        for place, (step, references) in enumerate(zip(steps, standing, strict=True)):
            wide = 2.0 if step["level"] == 1 else 0.9
            axes.vlines(references, place - 0.36, place + 0.36, color=colours[place], linewidth=wide, zorder=3)
        axes.set_ylim(rows - 0.4, -0.6)
        axes.set_xlim(volts[0], volts[-1])
        axes.set_yticks([])
        axes.xaxis.set_major_locator(MaxNLocator(max(2, 6 // len(panels)), prune="both"))
        axes.spines["left"].set_visible(False)
    panels[0].set_xlabel("threshold voltage (V)")
    beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center", "fontsize": 9}
    for place, (step, colour) in enumerate(zip(steps, colours, strict=True)):
        name = "known cells" if step["known_cells"] else _where(step)
        name += f", level {step['level']}" if step["level"] > 1 else "" if step["sent"] else ", not sent"
        panels[0].annotate(f"step {step['step']}: {name}", (0, place), (-6, 0), ha="right", color=plots.INK, **beside)
        said = [] if step["raw_errors"] is None else [f"{step['raw_errors']:,} wrong"]
        if step["predicted_violated"] is not None:
            said.append(f"predicted to {'fail' if _is_predicted_to_fail(step, found) else 'decode'}")
        if step["inferred_steps"] is not None:
            said.append(f"says {step['inferred_steps']:+d}")
        if step["decoded"] is not None:
            said.append("decodes" if step["decoded"] else "fails")
        panels[-1].annotate(", ".join(said), (1, place), (6, 0), ha="left", color=colour, **beside)


def _draw_timelines(axes: Axes, found: Explanation) -> None:
    from matplotlib.patches import Patch

    from softsense import colours, plots

    plots.head(axes, "What each policy's read costs, when nobody is in its way")
    longest = found.reads["latency_us"].max()
    right = (1.13 if found.reads["decoded"].all() else 1.3) * longest
    inches = axes.get_position().width * _WIDE
    group = 3.9
    for place, read in enumerate(found.reads.iter_rows(named=True)):
        first = place * group
        spans = found.spans.filter(found.spans["policy"] == read["policy"])
        by_level = not moves_references(_steps_of(found, read))
        name = read["policy"].partition(":")[0]
        colour = colours.POLICIES.get(name, plots.INK)
        for lane, resource in enumerate(RESOURCES):
            axes.axhspan(first + lane - 0.4, first + lane + 0.4, color="#f6f6f6", linewidth=0, zorder=0)
            beside = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
            axes.annotate(resource, (0, first + lane), (-5, 0), fontsize=8, color=plots.FAINT, ha="right", **beside)
        axes.annotate(
            read["policy"].replace(":", "\n"),
            (0, first + 1),
            (-52, 0),
            fontsize=9,
            weight="bold",
            color=colour,
            ha="right",
            **beside,
        )
        for span in spans.iter_rows(named=True):
            lane, width = RESOURCES.index(span["resource"]), span["to_us"] - span["from_us"]
            bar = {"left": span["from_us"], "height": 0.8, "linewidth": 0.8, "zorder": 2}
            if span["wasted"] and span["what"] == "sense":
                axes.barh(
                    first + lane, width, facecolor="white", edgecolor=_SPAN_COLOURS["sense"], hatch="/////", **bar
                )
            else:
                shade = _FAILED if span["what"] == "decode" and _is_failed(span, read) else _SPAN_COLOURS[span["what"]]
                axes.barh(first + lane, width, color=shade, edgecolor="white", **bar)
            label = _fitting(span, width / right * inches, by_level=by_level)
            if label and not (span["wasted"] or span["what"] == "hold"):
                middle = (span["from_us"] + span["to_us"]) / 2
                text_style = {"ha": "center", "va": "center", "fontsize": 8.5, "color": "white", "zorder": 3}
                axes.text(middle, first + lane, label, **text_style)
        ends = read["latency_us"]
        axes.plot([ends] * 2, [first - 0.5, first + 2.5], color=plots.INK, linewidth=1.1, zorder=4)
        axes.annotate(
            f"{ends:,.5g} µs" + ("" if read["decoded"] else ", uncorrectable"),
            (ends, first + 0.5),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
            weight="bold",
            color=plots.INK,
        )
    axes.set_xlim(0, right)
    axes.set_ylim(found.reads.height * group - 1.2, -0.7)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("time since the read was asked for (µs)")
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    there = set(found.spans["what"]) | {"decode"}
    keys = [(Patch(color=_SPAN_COLOURS[what], linewidth=0), said) for what, said in _WHATS.items() if what in there]
    if found.reads["wasted_us"].max() > 0:
        vain = Patch(facecolor="white", edgecolor=_SPAN_COLOURS["sense"], hatch="/////", linewidth=0)
        keys.insert(1, (vain, "sensed in vain"))
    reads = {read["policy"]: read for read in found.reads.iter_rows(named=True)}
    decodes = found.spans.filter(found.spans["what"] == "decode").to_dicts()
    failed = [_is_failed(span, reads[span["policy"]]) for span in decodes]
    if all(failed):
        del keys[-1]
    if any(failed):
        keys.append((Patch(color=_FAILED, linewidth=0), "decoding that fails"))
    _key(axes, keys, "")


def _is_failed(span: dict[str, Any], read: dict[str, Any]) -> bool:
    """Whether what a span is for came to nothing: every step of a read but the last, and that where none decodes."""
    return span["step"] < len(read["levels"]) or not read["decoded"]


def _fitting(span: dict[str, Any], inches: float, *, by_level: bool) -> str:
    """The longest label that has room in a bar."""
    us = f"{span['to_us'] - span['from_us']:,.5g}"
    of = f"level {span['level']}" if by_level else f"step {span['step']}"
    labels = [f"sense {of}: {us} µs", f"{of}: {us}", us]
    if span["what"] != "sense":
        labels = [f"{us} µs", us]
    return next((label for label in labels if 0.07 * len(label) + 0.06 < inches), "")


def _key(axes: Axes, entries: list[tuple[Any, str]], said: str) -> None:
    """One row between the head of a panel and its data: keys at the left, words at the right, or alone at the left."""
    from softsense import plots

    if entries:
        handles, labels = zip(*entries, strict=True)
        axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(-0.005, 0.995),
            ncols=len(entries),
            frameon=False,
            fontsize=9,
            labelcolor=plots.INK,
            borderaxespad=0,
            handlelength=1.4,
            handletextpad=0.5,
            columnspacing=1.3,
        )
    at, side = ((1, 0), "right") if entries else ((0, 0), "left")
    place = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": side, "va": "bottom"}
    axes.annotate(said, (at[0], 1), (0, 6), fontsize=9, color=plots.FAINT, **place)


def _references(found: Explanation, level: int) -> list[float]:
    return found.references.filter(found.references["level"] == level)["reference_v"].to_list()
