"""Does a decoder of a user's own decide as the one that ships? The suite that `softsense code conform` runs.

The cases are a fixed list of codes, algorithms, limits of iterations and batches of frames, which depend on nothing but
this file and the shipped codes. The backend and the CPU decode each of them, and all fields of their answers are
compared bit for bit.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from softsense._core import Code, CodeError
from softsense.backends import (
    ALGORITHMS,
    Backend,
    Cpu,
    Decoded,
    FormError,
    Opened,
    check_decodable,
    checked_form,
    first_difference,
    open_backend,
    own_lines,
    users_own,
)
from softsense.base import Interrupted, Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VERSION = 3
"""Version of the list of cases: two backends that pass the same version have decoded the same frames."""

ITERATIONS = (1, 2, 20)
"""The limits of iterations of each code and algorithm."""

SHIPPED = ("flash-8/9", "flash-64/69", "adaptive-5/6", "adaptive-1/4")

# Circulant size, block rows, block columns and column weights, which are repeated. Each column has its rows and shifts
# by chance, but the first circulant of column c is in row c mod rows. The list covers circulants of 1 to 256 bits, and
# codewords of no whole bytes; 1 to 40 block rows, so that quarters of them are even and odd; rows of weight 1 and
# columns of weight 0; heaviest columns of weight 4, which make a second pass; rates 0.4 and 0.7, where factors change.
_RANDOM: dict[str, tuple[int, int, int, tuple[int, ...]]] = {
    "one row": (16, 1, 2, (1,)),
    "light rows": (32, 4, 6, (1,)),
    "rate 7/10": (16, 3, 10, (2, 3, 1)),
    "rate 2/5": (32, 3, 5, (3, 2)),
    "weight 4, size 48": (48, 4, 12, (4,)),
    "weight 4, size 64": (64, 6, 16, (3, 4, 4)),
    "weight 4, empty column": (16, 5, 9, (1, 4, 0, 4)),
    "weight 5, size 80": (80, 5, 8, (2, 5, 3)),
    "rate 2/9": (112, 7, 9, (2, 3, 1)),
    "weight 9, size 128": (128, 9, 40, (3, 4, 9, 3)),
    "weight 4, size 256": (256, 8, 32, (4,)),
    "rate 7/10, 30 columns": (16, 9, 30, (3, 5, 3)),
    "rate 2/3, 30 columns": (16, 10, 30, (3, 5, 3)),
    "weight 4, size 27": (27, 4, 11, (3, 4, 4)),
    "rate 3/4, size 81": (81, 5, 20, (3, 4, 3, 5)),
    "single bits": (1, 40, 99, (3, 3, 2)),
    "weight 16": (32, 18, 64, (3, 3, 16, 2, 3, 3)),
    "weight 17": (32, 18, 64, (3, 3, 17, 2, 3, 3)),
    "weight 30": (32, 30, 36, (3, 3, 30, 2, 3, 3)),
    # Words of short codes converge within an iteration and leave it again, which shows when a decoder checks them.
    **{f"short, {rows} rows": (16, rows, rows + 3 + rows % 4, (3, 2, 4, 2, 1, 3)) for rows in range(5, 12, 2)},
    **{f"short, {rows} light rows": (16, rows, rows + 1 + rows % 3, (2, 3, 2, 1)) for rows in range(5, 18)},
}

_SHORT, _LONG = 600, 4_000
"""Codewords of at most so many bits get more frames, and codewords of more than the second number fewer."""

_FEW = 7
"""Frames of the batch of middle size, between a single frame and all of them."""

_REPEATED = 6
"""Factor by which short codes get more frames."""


class _Draws:
    """Random bytes by their name, which no version of Python or NumPy changes."""

    def __init__(self, name: str) -> None:
        self._name, self._drawn = name, 0

    def bytes(self, *shape: int) -> NDArray[np.uint8]:
        """Bytes of a shape."""
        import numpy as np

        self._drawn += 1
        drawn = hashlib.shake_256(f"{self._name}: {self._drawn}".encode()).digest(math.prod(shape))
        return np.frombuffer(drawn, np.uint8).reshape(shape)

    def below(self, limit: int) -> int:
        """A whole number below a limit."""
        return int(self.bytes(4).view("<u4")[0]) % limit

    def chosen(self, count: int, of: int) -> NDArray[np.intp]:
        """`count` of the first `of` whole numbers, in any order."""
        import numpy as np

        return np.argsort(self.bytes(of, 4).view("<u4").ravel(), kind="stable")[:count]


def _random_code(name: str) -> Code:
    size, rows, columns, weights = _RANDOM[name]
    rng = _Draws(f"base matrix: {name}")
    shifts = [[-1] * columns for _ in range(rows)]
    for column in range(columns):
        others = [(column + 1 + int(row)) % rows for row in rng.chosen(rows - 1, rows - 1)]
        for row in [column % rows, *others][: weights[column % len(weights)]]:
            shifts[row][column] = rng.below(size)
    return _parsed(name, size, shifts)


def _special_codes() -> Iterator[Code]:
    rng = _Draws("special codes")
    # Two equal block rows: the rate, which chooses the factors, is 7/10, not 6/10.
    row = [rng.below(32) if column % 3 else -1 for column in range(10)]
    others = [[rng.below(32) if (column + at) % 3 else -1 for column in range(10)] for at in (1, 2)]
    yield _parsed("two equal rows", 32, [row, row, *others])
    # One bit has 257 checks, the most that there may be: its a-posteriori value needs all of 16 bits.
    heavy = [[-1] * 259 for _ in range(257)]
    for at, row in enumerate(heavy):
        row[257], row[at], row[(at + 1) % 257] = rng.below(16), 0, rng.below(16)
    heavy[0][258] = heavy[100][258] = 3
    yield _parsed("weight 257", 16, heavy)


def _parsed(name: str, size: int, shifts: Sequence[Sequence[int]]) -> Code:
    rows = "\n".join(" ".join(map(str, row)) for row in shifts)
    return Code.parse(name, f"{len(shifts[0])} {len(shifts)} {size}\n{rows}\n", redundant_checks=True)


@cache
def suite_codes() -> tuple[Code, ...]:
    """The codes of the suite: random and special ones, which are short, then shipped ones."""
    return (*map(_random_code, _RANDOM), *_special_codes(), *map(Code.open, SHIPPED))


@dataclass(frozen=True)
class Case:
    """A batch of frames for one code, algorithm and limit of iterations.

    Attributes:
        code: the code.
        algorithm: the algorithm, as `Code.decoder` takes it.
        iterations: the limit of iterations.
        labels: a description of each frame.
        received: the batch, as `Backend.decode` takes it.
    """

    code: Code
    algorithm: str
    iterations: int
    labels: tuple[str, ...]
    received: NDArray[Any]

    @property
    def decisions(self) -> str:
        """`hard` or `soft`."""
        return "hard" if self.received.dtype == "uint8" else "soft"

    def __str__(self) -> str:
        frames = f"{len(self.labels):,} frame{'' if len(self.labels) == 1 else 's'}"
        limit = f"{self.iterations} iteration{'' if self.iterations == 1 else 's'}"
        return f"{self.code.name}, {self.algorithm}, at most {limit}, {self.decisions} decisions, {frames}"


def cases(codes: Sequence[Code] | None = None, algorithms: Sequence[str] = ALGORITHMS) -> Iterator[Case]:
    """The cases of the suite, or the same kinds of frames for other codes, in their order.

    Cases of one code, algorithm and limit of iterations follow one another: one instance of the backend decodes all of
    them. An algorithm that the CPU does not have for a code is left out.

    >>> first = next(cases())
    >>> first.code, first.algorithm, first.iterations, first.received.shape
    (<softsense.Code one row: n=32, k=16>, 'min-sum', 1, (0, 4))
    """
    for code in suite_codes() if codes is None else codes:
        batches = _batches(code)
        for algorithm in algorithms:
            if codes is None and not _decodes(code, algorithm):
                continue
            for iterations in ITERATIONS:
                for labels, received in batches:
                    yield Case(code, algorithm, iterations, labels, received)


def _decodes(code: Code, algorithm: str) -> bool:
    try:
        code.decoder(algorithm)
    except CodeError:
        return False
    return True


def _batches(code: Code) -> list[tuple[tuple[str, ...], NDArray[Any]]]:
    """Batches of frames of a code: none, one, an odd number and many, of hard decisions and of LLRs."""
    import numpy as np

    batches: list[tuple[tuple[str, ...], NDArray[Any]]] = []
    for frames in (list(_hard_frames(code)), list(_soft_frames(code))):
        labels, received = tuple(label for label, _ in frames), np.stack([frame for _, frame in frames])
        order = _Draws(f"order: {code.name}").chosen(len(frames), len(frames))
        parts = (order[:0], order[:1], order[1 : 1 + _FEW], order)
        batches += [(tuple(labels[index] for index in part), np.ascontiguousarray(received[part])) for part in parts]
    return batches


def _codewords(code: Code, rng: _Draws, count: int) -> NDArray[np.uint8]:
    data = rng.bytes(count, -(-code.data_bits // 8)).copy()
    data[:, -1] &= 0xFF << -code.data_bits % 8 & 0xFF
    return code.encode(data)


def _hard_frames(code: Code) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    import numpy as np

    from softsense.traps import shipped_traps

    rng = _Draws(f"hard decisions: {code.name}")
    size, long = -(-code.codeword_bits // 8), code.codeword_bits > _LONG

    def flipped(bits: NDArray[np.intp] | Sequence[int]) -> NDArray[np.uint8]:
        flips = np.zeros(code.codeword_bits, np.uint8)
        flips[bits] = 1
        word: NDArray[np.uint8] = _codewords(code, rng, 1)[0] ^ np.packbits(flips)
        return word

    def unpadded(word: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return np.packbits(np.unpackbits(word, count=code.codeword_bits))

    for label, byte in (("all zeros", 0), ("all ones", 0xFF), ("alternating bits", 0x55)):
        yield label, unpadded(np.full(size, byte, np.uint8))
    yield "random bits", unpadded(rng.bytes(1, size)[0])
    yield "a codeword", flipped([])
    for errors in (1, 2, 3) if long else (1, 1, 2, 2, 3, 3, 4, 5):
        yield f"{errors} wrong", flipped(rng.chosen(errors, code.codeword_bits))
    # Error rates from nearly always corrected ones, over the waterfall, to hopeless ones.
    shares = [0.3, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 1.2] if long else [step / 60 for step in range(6, 72)]
    for share in shares * (_REPEATED if code.codeword_bits <= _SHORT else 1):
        errors = max(1, round(share * code.shannon_limit * code.codeword_bits))
        yield f"{errors} wrong", flipped(rng.chosen(errors, code.codeword_bits))
    traps = shipped_traps(code)
    for trap in traps.list[:4] if traps else ():
        rotations = traps.rotations(trap) if traps else []
        yield f"an absorbing set of {len(trap.bits)} bits wrong", flipped(rotations[rng.below(len(rotations))])


def _soft_frames(code: Code) -> Iterator[tuple[str, NDArray[np.int8]]]:
    import numpy as np

    rng = _Draws(f"LLRs: {code.name}")
    count, long = code.codeword_bits, code.codeword_bits > _LONG

    def signs() -> NDArray[np.int16]:
        return 1 - 2 * np.unpackbits(_codewords(code, rng, 1)[0], count=count).astype(np.int16)

    for llr in (0, 1, 127, -127, -128):
        yield f"all LLRs {llr}", np.full(count, llr, np.int8)
    yield "random LLRs", rng.bytes(count).view(np.int8)
    yield "random LLRs of -1, 0 and 1", (rng.bytes(count) % 3).astype(np.int8) - np.int8(1)
    for magnitude, share in ((1, 0.6), (24, 0.6), (127, 0.1), (127, 0.6)):
        wrong = np.zeros(count, bool)
        wrong[rng.chosen(max(1, round(share * code.shannon_limit * count)), count)] = True
        yield (
            f"LLRs of {magnitude}, {wrong.sum()} wrong",
            (magnitude * np.where(wrong, -1, 1) * signs()).astype(np.int8),
        )
    erased = np.zeros(count, bool)
    erased[rng.chosen(round(0.5 * (1 - code.rate) * count), count)] = True
    yield f"{erased.sum()} erasures", np.where(erased, 0, 24 * signs()).astype(np.int8)
    # A Gaussian channel, nearly: the sum of four bytes, less its mean.
    shares = [0.8, 1.1, 1.4] if long else [step / 20 for step in range(10, 40)]
    for share in shares * (_REPEATED if code.codeword_bits <= _SHORT else 1):
        rate = min(0.45, share * code.shannon_limit)
        spread = round(1e6 * NormalDist().inv_cdf(1 - rate))
        noise = rng.bytes(count, 4).astype(np.int64).sum(axis=1) - 510
        # In units in which the standard deviation, 148, is 1e6 / spread of the mean.
        value = signs() * np.int64(148_000_000) + noise * np.int64(1_000_000) * 1_000_000 // max(spread, 1)
        for levels, step in ((1, 0), (3, 30_000_000), (7, 15_000_000), (255, 0)):
            if levels == 255:
                llrs = np.clip(value // 6_000_000, -127, 127)
            else:
                regions = np.minimum(np.abs(value) // step if step else 0, levels // 2) + 1
                llrs = np.where(value < 0, -1, 1) * (8 * regions if step else 24)
            yield f"{levels} levels, {rate:.4f} wrong", llrs.astype(np.int8)


@dataclass(frozen=True)
class Difference:
    """A case that a backend did not pass, and the first frame in which it differs.

    Attributes:
        case: number of the case, from 1.
        of: code, algorithm, limit of iterations, kind of decisions and number of frames of the case.
        frame: the first frame that differs, from 0; None for a mistake of the whole batch.
        label: the description of that frame.
        field: the field of `Decoded`, `received`, or `exception`.
        expected: the value of the CPU, or the required form.
        found: the value of the backend.
        frames: number of frames of the case in which the two differ.
        traceback: the traceback of an exception, in the user's own code.
    """

    case: int
    of: str
    frame: int | None
    label: str | None
    field: str
    expected: str
    found: str
    frames: int
    traceback: str | None = None


@dataclass
class Conformance:
    """The result of the suite for a backend.

    Attributes:
        backend: its name.
        sha256: SHA-256 of its file or module.
        algorithms: the algorithms that were asked for.
        codes: names of the codes.
        cases: number of cases that were decoded or refused.
        frames: number of frames in these cases.
        passed: cases in which all is as on the CPU.
        refused: codes and algorithms that the backend refuses, each with the reason and the number of cases.
        differences: the cases that differ, in order.
        digest: SHA-256 of all frames that the backend was given.
        complete: False after Ctrl-C.
        backend_seconds: time that the backend took to decode all cases.
        cpu_seconds: time that the CPU took.

    >>> from softsense import Code, conform
    >>> found = conform("softsense.backends:Cpu", codes=[Code.open("flash-8/9")], algorithms=["min-sum-16bit"])
    >>> found.passed, found.refused, found.differences, found.to_dict()["conforms"]
    (24, [], [], True)
    """

    backend: str
    sha256: str | None
    algorithms: list[str]
    codes: list[str]
    version: int = VERSION
    cases: int = 0
    frames: int = 0
    passed: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    digest: str = ""
    complete: bool = False
    backend_seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def conforms(self) -> bool:
        """Whether all cases were decoded with the results of the CPU."""
        return self.complete and self.passed == self.cases > 0

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {"conforms": self.conforms, **asdict(self)}


def conform(
    backend: str | type[Backend],
    *,
    codes: Sequence[Code] | None = None,
    algorithms: Sequence[str] = ALGORITHMS,
    progress: Progress | None = None,
) -> Conformance:
    """Compare a backend with the CPU, bit for bit, in every case of the suite.

    Args:
        backend: a class (`softsense.backends.Backend`), or its name, such as `my_decoder.py:Decoder`.
        codes: codes to use in place of the suite's own, with the kinds of frames of the suite.
        algorithms: `min-sum`, `min-sum-8bit[:LARGEST]`, `min-sum-16bit` or `rcq:BITS[:POSTERIOR]`.
        progress: called with the name, the frames so far and the fraction done.

    An exception of the backend, or an answer in the wrong form, is a difference like any other. Codes and algorithms
    that the backend refuses, by NotImplementedError in its constructor, are listed, and not passed. The result is the
    same each time, if the backend's answers are.

    Raises:
        ConfigError: there is no such backend.
        CodeError: a code without a base matrix, or an algorithm that computes with more than integers.
        Interrupted: Ctrl-C; its `result` has the cases so far.
        Exception: what the file of the backend itself raises.

    >>> from softsense import Code
    >>> found = conform("softsense.backends:Cpu", codes=[Code.open("flash-8/9")], algorithms=["min-sum"])
    >>> found.conforms, found.passed, found.cases
    (True, 24, 24)
    """
    opened = open_backend(backend)
    for code in codes or ():
        for algorithm in algorithms:
            check_decodable(code, algorithm)
    for algorithm in algorithms:
        check_decodable(Code.open("flash-8/9"), algorithm)
    names = [code.name for code in (suite_codes() if codes is None else codes)]
    result = Conformance(opened.name, opened.sha256, list(algorithms), names)
    total = len(names) * len(algorithms)
    digest = hashlib.sha256()
    made: _BackendUnderTest | None = None
    groups: dict[tuple[str, str], int] = {}
    try:
        for case in cases(codes, algorithms):
            if made is None or not made.serves(case):
                groups.setdefault((case.code.name, case.algorithm), len(groups))
                made = _BackendUnderTest(opened, case)
            result.cases += 1
            result.frames += len(case.labels)
            digest.update(f"{case}: {case.code.to_qc() if not len(case.labels) else ''}".encode())
            digest.update(case.received.tobytes())
            made.judge(case, result)
            if progress:
                progress(opened.name, result.frames, (len(groups) - 1) / total)
    except KeyboardInterrupt:
        raise Interrupted(result) from None
    result.digest, result.complete = digest.hexdigest(), True
    return result


class _BackendUnderTest:
    """An instance of the backend, beside the CPU."""

    def __init__(self, opened: Opened, case: Case) -> None:
        self._opened, self._of = opened, (case.code, case.algorithm, case.iterations)
        self._cpu = Cpu(*self._of)
        self._raised: Exception | None = None
        try:
            with users_own(opened.name):
                self._backend = opened.made(*self._of)
        except Exception as error:
            self._raised = error

    def serves(self, case: Case) -> bool:
        return self._of == (case.code, case.algorithm, case.iterations)

    def judge(self, case: Case, result: Conformance) -> None:
        """Count a case as passed, refused or differing."""
        if isinstance(self._raised, NotImplementedError):
            what = {"code": case.code.name, "algorithm": case.algorithm, "reason": str(self._raised)}
            if not result.refused or {**result.refused[-1], "cases": 0} != {**what, "cases": 0}:
                result.refused.append({**what, "cases": 0})
            result.refused[-1]["cases"] += 1
            return
        difference = self._difference(case, result)
        if difference is None:
            result.passed += 1
        else:
            result.differences.append(difference)

    def _difference(self, case: Case, result: Conformance) -> Difference | None:
        def differs(field: str, expected: str, found: str, **more: Any) -> Difference:
            where = {"frame": None, "label": None, "frames": len(case.labels), **more}
            return Difference(result.cases, str(case), field=field, expected=expected, found=found, **where)

        expected = _timed(lambda: self._cpu.decode(case.received), result, "cpu_seconds")
        given = case.received.copy()
        try:
            if self._raised:
                raise self._raised
            with users_own(self._opened.name):
                answer = _timed(lambda: self._backend.decode(given), result, "backend_seconds")
            found = checked_form(case.code, len(case.labels), answer)
        except FormError as mistake:
            return differs(mistake.field, mistake.expected, mistake.found)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            return differs("exception", "none", told, traceback=own_lines(error))
        if (given != case.received).any():
            return differs("received", "what was received, left as it is", "it has been written to")
        differing = first_difference(expected, found)
        if differing is None:
            return None
        where = {"frame": differing.frame, "label": case.labels[differing.frame], "frames": differing.frames}
        return differs(differing.field, differing.expected, differing.found, **where)


def _timed(work: Callable[[], Any], result: Conformance, of: str) -> Any:
    start = time.perf_counter()
    try:
        return work()
    finally:
        setattr(result, of, getattr(result, of) + time.perf_counter() - start)


__all__ = ["Case", "Conformance", "Decoded", "Difference", "cases", "conform", "suite_codes"]
