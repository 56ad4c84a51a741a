"""Matrices as they come to the board: a file, its code, its licence note, and what stays when it is renamed.

Two hashes tell matrices apart. `identity` is that of the ones of the matrix: it changes with the order of rows and
columns. `invariant` does not: it is made of sizes, degrees, the degrees around each bit and check, and the cycles of 4,
6 and 8 edges by their extrinsic degree. A matrix with permuted rows and columns, or with relabelled circulants, has the
same. Different graphs with equal invariants are possible, and then refused; softsense's own entries have none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softsense._core import Code, CodeError, read_text
from softsense.board.published import Construction

SUFFIXES = (".qc", ".alist", ".bch")
"""Suffixes of the files of matrices; `.bch` holds the name of a BCH code."""

_LICENCE = re.compile(r"^#\s*Licen[cs]e:\s*(\S.*?)\s*$", re.MULTILINE)
_ROUNDS = 4
_SEED_DIGITS = 12


@dataclass(frozen=True)
class Matrix:
    """A matrix of the board.

    Attributes:
        file: the name of its file, without folders.
        text: the text of the file.
        code: its code.
        licence: the licence note, a comment `# Licence: ...` in the file; None without one.
        redundant: whether checks that follow from others were accepted.
    """

    file: str
    text: str
    code: Code
    licence: str | None
    redundant: bool

    @property
    def name(self) -> str:
        """The name of the file without its suffix: that of the entry."""
        return self.file.removesuffix(Path(self.file).suffix)

    @property
    def identity(self) -> str:
        """SHA-256 of the ones of the matrix, in hexadecimal; of a BCH code, of its parameters."""
        return identity(self.code)

    @property
    def seed(self) -> int:
        """The seed of all frames: it follows from the matrix, so nobody can choose a lucky one."""
        return int(self.identity[:_SEED_DIGITS], 16)


def load_matrix(path: str | os.PathLike[str], redundant: bool = False) -> Matrix:
    """The matrix in a file: a base matrix, an alist, or the name of a BCH code.

    Args:
        path: the file; its suffix is one of `SUFFIXES`.
        redundant: whether checks may follow from others.

    Raises `CodeError` or `FileError`.
    """
    place = Path(path)
    if place.suffix not in SUFFIXES:
        raise CodeError(f"{place}: found suffix `{place.suffix}`, expected .qc, .alist or .bch")
    return parse_matrix(str(place), read_text(place), redundant)


def parse_matrix(place: str, text: str, redundant: bool = False) -> Matrix:
    """The matrix in the text of a file; `place` names the file in errors. Raises `CodeError`."""
    found = _LICENCE.search(text)
    if place.endswith(".bch"):
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        if len(lines) != 1 or not lines[0].startswith("bch:"):
            raise CodeError(
                f"{place}: found {len(lines)} lines, expected the name of a BCH code, such as bch:m=10,t=5,k=512"
            )
        code = Code.open(lines[0])
    else:
        code, _ = Code.parse_in_any_order(place, text, redundant)
    return Matrix(Path(place).name, text, code, found[1] if found else None, redundant)


def made_matrix(construction: Construction) -> Matrix:
    """The matrix of a recipe, by way of the text of its file."""
    return parse_matrix(construction.file, construction.text(), construction.redundant > 0)


def identity(code: Code) -> str:
    """SHA-256 of the sizes and the sorted ones of a matrix, whatever its name or the format of its file."""
    if code.kind == "bch":
        return _digest(["bch", code.codeword_bits, code.data_bits, code.correctable])
    rows, columns = code.edges()
    hashed = hashlib.sha256(_digest(_sizes(code)).encode())
    ones = sorted(zip(rows.tolist(), columns.tolist(), strict=True))
    hashed.update(json.dumps(ones, separators=(",", ":")).encode())
    return hashed.hexdigest()


def invariant(code: Code) -> str:
    """A hash that no order of bits and checks changes. Counting cycles takes up to a minute for a large alist."""
    if code.kind == "bch":
        return identity(code)
    girth, spectra = code.cycles()
    return _digest([_sizes(code), code.data_bits, girth, spectra, _colours(code)])


def _sizes(code: Code) -> list[int]:
    return [code.codeword_bits, code.checks, code.punctured_bits]


def _colours(code: Code) -> str:
    """A hash of the colours of bits and checks after a few rounds, in which each adds those of its neighbours."""
    import numpy as np

    rows, columns = (each.astype(np.int64) for each in code.edges())
    whole = code.codeword_bits + code.punctured_bits
    bits = np.zeros(whole, dtype=np.uint64)
    bits[code.codeword_bits :] = 1
    checks = np.zeros(code.checks, dtype=np.uint64)
    for _ in range(_ROUNDS):
        of_bits, of_checks = np.zeros_like(bits), np.zeros_like(checks)
        np.add.at(of_checks, rows, _mixed(bits)[columns])
        np.add.at(of_bits, columns, _mixed(checks)[rows])
        bits, checks = _mixed(bits) + of_bits, _mixed(checks + np.uint64(7)) + of_checks
    return hashlib.sha256(np.sort(bits).tobytes() + np.sort(checks).tobytes()).hexdigest()


def _mixed(values: Any) -> Any:
    """Scattered 64-bit numbers. Source: S. Vigna, "SplitMix64", 2015."""
    import numpy as np

    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _digest(of: Any) -> str:
    return hashlib.sha256(json.dumps(of, separators=(",", ":")).encode()).hexdigest()
