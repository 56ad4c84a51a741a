"""Explaining the life of one codeword."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

from softsense import _core, read_policies
from softsense._core import Cells, Config, ConfigError, Decoder
from softsense.explain.asking import (
    code_for,
    deepest_level,
    device_for,
    name_of_cells,
    page_type_of,
    rate_of_hard_failure,
)
from softsense.explain.codewords import (
    Codeword,
    Readings,
    attempt_at,
    programmed,
    region_rows,
    regions_of,
    states_of,
    step_of,
)
from softsense.explain.explanation import Explanation
from softsense.explain.timelines import in_us, steps_in, summed
from softsense.flash import page_number

_MOST_TRIED = 1000
_SEEDS = 1 << 64


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
    """Program one codeword, let it age, read it at every level, and work out the steps and times of the config's reads.

    The read is real: random data is encoded, and every cell has a quantile in the distribution of its state. Each
    level's references sort cells into regions, and the decoder gets the values of these. Steps and times are those of
    the simulator on a device that does nothing else, with the config's `read`. Whenever a read senses with other
    references, deeper or for less time, the simulator gets the outcome for this codeword. As with the simulator's real
    decodes, a level deeper than the required one may fail, which is rare.

    Args:
        config: the device: a TOML file, the name of a shipped one, or a `Config`. Its times and its `read` count; its
            own codewords, ages and workload do not matter. The device remembers nothing of other reads.
        cells: the cells: a shipped model (`Cells.names`), or a TOML file; default: those of the config, or `mlc` if it
            has none with threshold voltages.
        pe_cycles: program/erase cycles of the cells.
        retention_hours: hours since the codeword was written.
        page: the page of the codeword, by name or number.
        level: the level whose regions are shown, 1 to 7; default: the required one, or the deepest if none decodes.
        max_level: the deepest level that is read, 1 to 7; default: that of the config, and 1 for BCH codes and
            bit-flipping, which take hard decisions.
        code: a code, as `Code.open` takes it, with as much data as a codeword of the config.
        decoder: the decoder, as `Code.decoder` takes it; BCH codes ignore it and `iterations`.
        iterations: number of iterations after which the decoder gives up.
        placement: the placement of references: `mutual_information`, `nested` or `uniform`.
        policies: `all`, or read policies such as `two_step`, each optionally with its retry as in `two_step:restart`.
        seed: seed of data, other pages and cells, and of counts of known cells, ones and valleys. Equal seeds give the
            same codeword at any age.
        needs: the least required level of the codeword. Seeds are tried from `seed` on, until a codeword needs a level
            so deep, or does not decode. So a codeword on which hard decision fails is found where that is rare.
        overrides: config fields to replace, each written as `read.retry="incremental"`.

    Returns the explanation: a function of the arguments.

    Raises `ConfigError`, `CodeError` or `FileError`: an argument is wrong, reads need facts that cells or code do not
    have, or the device has codes by age or interleaved codewords, which are not supported.

    Source: K. Zhao et al., "LDPC-in-SSD", 2013, figs. 4, 6, 7 and 14 (the policies). Cells, references and LLRs are
    those of docs/model/threshold-voltage.md and sensing.md.
    """
    import polars as pl

    device = device_for(config, overrides, max_level)
    resolved = device.fields
    # Faults of a policy are reported before anything is read.
    devices = {name: read_policies.with_policy(device, name) for name in read_policies.policy_names(policies)}
    opened_code = code_for(code, resolved["geometry"]["codeword_bytes"])
    if iterations < 1:
        raise ConfigError(f"iterations: found {iterations}, expected at least 1")
    # Compiled once where steps do not matter: a page of `explain --serve` has to answer at once.
    of_any_step = opened_code.decoder(decoder, iterations)
    deepest = deepest_level(resolved["read"]["max_level"], max_level, opened_code, decoder, of_any_step.max_level)
    if level is not None and not 1 <= level <= deepest:
        raise ConfigError(f"level: found {level}, expected 1 to {deepest}")
    if not 0 <= seed < _SEEDS:
        raise ConfigError(f"seed: found {seed}, expected 0 to {_SEEDS - 1}")
    opened = device.cells(pe_cycles, retention_hours) if cells is None else None
    if opened is None:
        opened = Cells.open(os.fspath(cells or "mlc"), pe_cycles, retention_hours)
    number = page_number(opened, str(page))
    page_type = page_type_of(resolved, opened, number)
    lone_reads = {name: _core.LoneRead(each, page_type) for name, each in devices.items()}
    sensed = {each: opened.sense(number, each, placement=placement) for each in range(1, deepest + 1)}

    if not 1 <= needs <= deepest:
        raise ConfigError(f"needs: found {needs}, expected 1 to {deepest}")

    @functools.cache
    def decoder_of_step(llr_step: float) -> Decoder:
        return opened_code.decoder(decoder, iterations, llr_step=llr_step)

    def decoder_for(read: dict[str, Any], level: int, rber: float) -> Decoder:
        if not of_any_step.uses_llr_step:
            return of_any_step
        return decoder_of_step(step_of(read, level, rber, opened_code))

    rber = opened.rber(number)

    def attempt(codeword: Codeword, each: int) -> dict[str, Any]:
        read = sensed[each]
        return attempt_at(codeword, each, read, regions_of(opened, codeword, read), decoder_for(read, each, rber))

    for own_seed in range(seed, min(seed + _MOST_TRIED, _SEEDS)):
        codeword = programmed(opened, number, opened_code, own_seed)
        if not any(attempt(codeword, each)["converged"] for each in range(1, needs)):
            break
    else:
        raise ConfigError(
            f"needs: found no codeword that needs level {needs} among {_MOST_TRIED:,}, expected at least one: more "
            f"P/E cycles or longer retention raise the raw bit error rate, which is {rber:.2g} here"
        )
    attempts = [attempt(codeword, each) for each in sensed]
    required = next((row["level"] for row in attempts if row["converged"]), None)

    readings = Readings(codeword, number, opened_code, decoder_for, placement)
    hard_sense_us = resolved["flash"]["page_types"][page_type]["sense_us"]
    reads, steps, spans = [], [], []
    for name, lone_read in lone_reads.items():
        read = lone_read.timeline(readings, opened, opened_code, levels=deepest, seed=own_seed)
        retry = devices[name].fields.read.retry
        reads.append({"policy": name, "retry": retry, **summed(read)})
        steps += [{"policy": name, **row} for row in steps_in(read, readings, hard_sense_us)]
        spans += [{"policy": name, **in_us(span)} for span in read["spans"]]
    return Explanation(
        config=device,
        config_name="config" if isinstance(config, Config) else os.fspath(config),
        cells=opened,
        cells_name=name_of_cells(cells, resolved),
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
        rber=rber,
        untracked_rber=opened.with_references("default").rber(number),
        hard_failure=rate_of_hard_failure(device, resolved, opened_code, decoder, iterations, rber),
        raw_errors=attempts[0]["wrong_signs"],
        required_level=required,
        states=pl.DataFrame(states_of(opened, number, sensed[1])),
        references=pl.DataFrame(
            [
                {"level": each, "reference_v": float(reference)}
                for each, read in sensed.items()
                for reference in read["references"]
            ]
        ),
        regions=pl.DataFrame(region_rows(opened, number, sensed, codeword), infer_schema_length=None),
        attempts=pl.DataFrame(attempts),
        predictor=dict(zip(("checks", "threshold"), read["predictor"], strict=True)) if read["predictor"] else None,
        reads=pl.DataFrame(reads),
        steps=pl.DataFrame(steps, infer_schema_length=None),
        spans=pl.DataFrame(spans),
    )
