"""The design of a code, from a target to a matrix."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import Code, CodeError
from softsense.base import Progress
from softsense.code_design.steps import (
    FEWEST_ROWS,
    Reading,
    Work,
    lifted,
    made_of,
    measure,
    profile_row,
    ranked,
    shapes_of,
)
from softsense.executing import chosen_workers
from softsense.files import replacing
from softsense.formats import as_column_weights
from softsense.runner import all_of
from softsense.store import Store, opened_store

if TYPE_CHECKING:
    import polars as pl

FAMILIES = ("regular", "two_weights", "three_weights")
"""The families that are tried by default: all but chains and punctured ones."""


@dataclass
class CodeDesign:
    """A designed code, and the candidates that it was chosen from.

    Attributes:
        asked: the arguments of the design; ready for JSON.
        limit: raw bit error rate at which the best possible codes of these lengths would have the target's frame error
            rate, by `softsense.codes.limit`.
        profiles: predictions of the best column weights of each family and shape, ready for JSON:

            - `circulant_size`, `rows`, `columns`, `family`, `column_weights`;
            - `memory`: memory of a chain, in block rows;
            - `punctured`: number of block columns, the last ones, that are not sent. These columns, and as many block
              rows, are not in `columns` and `rows`;
            - `threshold`;
            - `rber`: highest raw bit error rate at which no level is predicted to fail more often than it may;
            - `limiting_level`: the level that fails as often as it may there.
        candidates: matrices, the best first, ready for JSON. The fields are those of `profiles`, and:

            - `seed`, `girth`, `six_cycles`, `eight_cycles`, and absorbing `sets` by class;
            - `floor_bound`: failures per codeword at `rber` if each set failed whenever all of its bits are wrong;
            - `floor`: failures per codeword at `rber`, by decoding frames with wrong sets;
            - `floor_at_most`: the rate that the number of these frames cannot exclude;
            - `floor_of_largest`: the share of the largest sets that were searched for in `floor` when the matrix was
              chosen. Where it is large, larger sets may add as much;
            - `mm2` and `cycles` of a decoder;
            - `points`: for measured candidates (`level`, `rber`, `fer`, 95 % interval `lo` to `hi`, `predicted`), else
              None;
            - `measured_rber`: for measured candidates the prediction, moved to agree with the measurement, else None.
        code: the best code.
        text: the `.qc` file of the best code.

    >>> import softsense
    >>> design = softsense.design_code(1024, 256, fer=1e-4, families=["regular"], seeds=1, measured=0)
    >>> design.table["column_weights"].to_list()
    ['3 x 40', '3 x 80']
    >>> design.text.splitlines()[0]
    '# n = 1280, k = 1024'
    """

    asked: dict[str, Any]
    limit: float
    profiles: list[dict[str, Any]]
    candidates: list[dict[str, Any]]
    code: Code
    text: str

    @property
    def table(self) -> pl.DataFrame:
        """The candidates, a row each, without their points and sets."""
        import polars as pl

        nested = ("points", "sets", "column_weights", "memory", "punctured")
        rows = [{key: value for key, value in c.items() if key not in nested} for c in self.candidates]
        weights = [as_column_weights(c["column_weights"], c["memory"], c["punctured"]) for c in self.candidates]
        return pl.DataFrame(rows, infer_schema_length=None).insert_column(0, pl.Series("column_weights", weights))

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; `matrix` is the text of the `.qc` file."""
        of = {"asked": self.asked, "limit": self.limit, "profiles": self.profiles, "candidates": self.candidates}
        return of | {"matrix": self.text}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the best matrix, with a header that says how it was made, to a `.qc` file."""
        with replacing(Path(path)) as partial:
            partial.write_text(self.text, encoding="utf-8")


def parity_of_rate(data_bits: int, rate: float) -> int:
    """Number of parity bits that gives a rate nearly, in whole circulants, as large as fit.

    >>> parity_of_rate(32768, 8 / 9)
    4096
    """
    if not 0 < rate < 1 or data_bits < 1:
        raise CodeError(f"rate: found {rate} for {data_bits} data bits, expected a number between 0 and 1")
    wanted = data_bits * (1 / rate - 1)
    for size in (1 << k for k in range(9, 3, -1)):
        rows = round(wanted / size)
        if data_bits % size == 0 and rows >= FEWEST_ROWS:
            return rows * size
    raise CodeError(f"rate: found {rate} for {data_bits} data bits, expected a multiple of 16 bits and more parity")


def parse_shares(text: str) -> dict[int, float]:
    """Read levels and the shares of reads that they may fail, as in `1:0.1,3:0.001`.

    >>> parse_shares("1:0.1,3:0.001")
    {1: 0.1, 3: 0.001}
    """
    found: dict[int, float] = {}
    for part in text.split(",") if text else []:
        level, _, share = part.partition(":")
        try:
            found[int(level)] = float(share)
        except ValueError:
            raise CodeError(f"shares: found {part!r}, expected levels and shares, such as 1:0.1,3:0.001") from None
    return found


def design_code(
    data_bits: int,
    parity_bits: int,
    *,
    fer: float = 1e-10,
    level: int = 1,
    shares: Mapping[int, float] | None = None,
    decoder: str = "min-sum",
    iterations: int = 20,
    circulant_sizes: Sequence[int] | None = None,
    lightest: int = 3,
    heaviest: int = 8,
    families: Sequence[str] = FAMILIES,
    profiles: int = 4,
    seeds: int = 4,
    measured: int = 3,
    most_bits: int = 6,
    frames: int = 20_000,
    seed: int = 1,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> CodeDesign:
    """Design a quasi-cyclic LDPC code.

    The result depends on the arguments alone: not on workers, nor on whether it was stopped and resumed.

    Args:
        data_bits: number of data bits, k.
        parity_bits: number of parity bits.
        fer: target frame error rate, 1e-15 to 0.1.
        level: read level, 1 (hard decision) to 7.
        shares: for each shallower level, the share of reads that may fail and be read again more deeply, 1e-15 to 0.5,
            such as `{1: 0.1, 3: 1e-3}`; default: any.
        decoder: decoder with which candidates are measured, as `Code.decoder` takes it, such as `rcq:4` for messages of
            four bits. Predictions are those of `min-sum`.
        iterations: number of iterations after which the decoder gives up, 1 to 1,000.
        circulant_sizes: sizes that the hardware allows, powers of two; default: the two largest of 16 to 1,024 that
            leave six block rows or more, or the largest that fits.
        lightest: the least column weight, 3 to 16. With 4 there are fewer small absorbing sets.
        heaviest: the largest column weight, 3 to 16.
        families: some of `regular`, `two_weights`, `three_weights`, `punctured` (with one or two columns that are not
            sent) and `coupled` (terminated chains; they need many small circulants and long codewords).
        profiles: number of the best column weights that are lifted, at most one of each family and shape.
        seeds: number of matrices that are made of each.
        measured: number of the best candidates that are measured; 0: none is.
        most_bits: largest number of bits, and of violated checks, of the absorbing sets that are searched for; 3 to 10.
        frames: largest number of frames that are decoded for a point.
        seed: seed of the first matrix; the next numbers are those of the others. Also the seed of data and noise.
        workers: threads of this process (default: one per CPU), or any executor.
        store: a store or its file: finished work is kept there and not done again.
        progress: called now and then with a name, the units done so far and the completed fraction.

    Raises:
        SoftsenseError: no shape fits, an option is wrong, or no matrix can be made; the message names it.
        Interrupted: Ctrl-C. The store keeps the finished work.

    >>> import softsense
    >>> design = softsense.design_code(1024, 256, fer=1e-4, families=["regular"], seeds=1, measured=0)
    >>> design.code.codeword_bits, design.code.data_bits, design.candidates[0]["column_weights"]
    (1280, 1024, [[3, 40]])
    """
    within = {
        "fer": (fer, 1e-15, 0.1),
        "iterations": (iterations, 1, 1000),
        "lightest": (lightest, 3, 16),
        "heaviest": (heaviest, 3, 16),
        "profiles": (profiles, 1, 100),
        "seeds": (seeds, 1, 1000),
        "measured": (measured, 0, 100),
        "most_bits": (most_bits, 3, 10),
        "frames": (frames, 1, 2**40),
        "seed": (seed, 0, 2**64 - seeds),
        "level": (level, 1, _core.MAX_LEVEL),
    }
    for name, (value, least, most) in within.items():
        if not least <= value <= most:
            raise CodeError(f"{name}: found {value}, expected {least:,} to {most:,}")
    targets = {int(of): float(share) for of, share in (shares or {}).items()} | {level: fer}
    for of, share in targets.items():
        if of > level or not (of >= 1 and 1e-15 <= share <= 0.5):
            expected = f"expected shares from 1e-15 to 0.5 of levels below {level}"
            raise CodeError(f"shares: found {share:g} of level {of}, {expected}")
    # A decoder that does not exist, or cannot decode the level, is refused before hours of work.
    if Code.construct("any", 16, 4, [3] * 8).decoder(decoder, iterations).max_level < level:
        raise CodeError(
            f"decoder: found {decoder}, which takes only hard decisions, for level {level}, expected another decoder, "
            "or level 1"
        )
    reading = Reading(targets, decoder, iterations)
    shapes = shapes_of(data_bits, parity_bits, circulant_sizes)
    workers = chosen_workers(workers)
    options = {name: value for name, (value, _, _) in within.items()}
    asked = {"data_bits": data_bits, "parity_bits": parity_bits, "families": list(families)}
    asked |= {"circulant_sizes": [size for size, _, _ in shapes], "decoder": decoder, **options}
    if shares:
        asked["shares"] = [f"{of}:{share:g}" for of, share in sorted(targets.items()) if of < level]
    with opened_store(store) as kept, kept.doing(what="design", **asked):
        work = Work(kept, workers, progress)
        best_of = ranked(work, shapes, families, (lightest, heaviest), reading)
        chosen = best_of[:profiles]
        made = all_of(partial(made_of, work, profile, seed, seeds) for profile in chosen)
        steps = (
            partial(lifted, work, number, profile, of, seed, most_bits, reading)
            for number, (profile, of) in enumerate(zip(chosen, made, strict=True))
        )
        found = [candidate for candidate in all_of(steps) if candidate]
        if not found:
            raise CodeError(
                "column weights: found no column weights that make a matrix, expected other limits of the column "
                "weights, or smaller circulants"
            )
        found.sort(key=lambda candidate: -candidate.profile.rber)
        if measured:
            measure(work, found[:measured], reading, frames, seed)
    rows = [candidate.row(reading) for candidate in found]
    order = sorted(range(len(rows)), key=lambda i: _rank(rows[i], fer))
    best = found[order[0]]
    rows = [rows[i] for i in order]
    text = _header(asked, rows[0]) + best.text
    limit = _core.normal_approximation(data_bits + parity_bits, data_bits, level, fer)
    profiled = [profile_row(profile) for profile in best_of]
    return CodeDesign(asked, limit, profiled, rows, Code.parse("designed", text), text)


def _rank(row: dict[str, Any], fer: float) -> tuple[bool, bool, float]:
    """Sort key: measured candidates first, then those whose floor is not above the target, then the higher rate."""
    measured = row["measured_rber"]
    return measured is None, row["floor"] > fer, -(measured or row["rber"])


def _header(asked: dict[str, Any], row: dict[str, Any]) -> str:
    """The origin of a matrix, as comments of its file."""
    size, columns, rows, punctured = row["circulant_size"], row["columns"], row["rows"], row["punctured"]
    kind = "" if row["memory"] is None else f"memory {row['memory']}, "
    kind += f"punctured {punctured}, " if punctured else ""
    weights = as_column_weights(row["column_weights"])
    lines = [
        f"n = {columns * size}, k = {(columns - rows) * size}",
        f"Made by softsense {_core.__version__}, design_code: "
        + ", ".join(f"{name} {_told(value)}" for name, value in asked.items()),
        f"Construction: circulant_size {size}, rows {rows + punctured}, {kind}column_weights {weights}, "
        f"seed {row['seed']}",
        f"Girth {row['girth']}; cycles of 6, 8 edges: {row['six_cycles']}, {row['eight_cycles']}",
        f"Absorbing sets of up to {row['searched_bits']} bits: "
        + (", ".join(f"{c['sets']} ({c['bits']}, {c['violated']})" for c in row["sets"]) or "none found"),
        f"Predicted: threshold {row['threshold']:.5f}, frame error rate {asked['fer']:g} at {row['rber']:.5f}",
    ]
    lines += [
        f"Measured: frame error rate {p['fer']:.2e} (95 %: {p['lo']:.2e} to {p['hi']:.2e}) at {p['rber']:g}"
        for p in row["points"] or []
    ]
    return "".join(f"# {line}\n" for line in lines)


def _told(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
