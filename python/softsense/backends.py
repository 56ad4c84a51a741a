"""Decoders of users' own, which decode frames in batches: on a GPU, an FPGA, or wherever.

A *backend* is a class that is made for a code, an algorithm and a limit of iterations, and decodes batches: `Backend`.
It is found by name as `my_decoder.py:Decoder` (a file) or `my_decoder:Decoder` (a module that Python can import).
`Cpu` is the reference: `softsense.conform` compares a backend with it, bit for bit. `softsense.bench` measures a
backend on the frames on which it would measure the CPU. docs/accelerators.md tells how to write one.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import re
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from softsense._core import Code, CodeError, ConfigError
from softsense.own import load, mark_own, own_traceback

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALGORITHMS = ("min-sum", "min-sum-8bit", "min-sum-16bit")
"""The algorithms that `softsense.conform` asks for unless others are named."""

BATCH_FRAMES = 1024
"""Frames that a measurement gives a backend at once, unless the backend has `batch_frames`."""

# Algorithms that compute with integers alone, so that their results are the same everywhere.
_EXACT = re.compile(r"min-sum|min-sum-8bit(:\d+)?|min-sum-16bit|rcq:\d+(:\d+)?")


class Decoded(NamedTuple):
    """The answer of a backend to a batch of frames: the fields of `softsense.DecodeResult` that are compared.

    Attributes:
        word: the decided words, packed as `numpy.packbits` does: uint8 of shape (frames, ceil(codeword_bits / 8)).
        converged: True for each decided word that is a codeword: bool of shape (frames,).
        iterations: iterations begun, of both passes where there are two: uint32 of shape (frames,).
        syndrome_weight: checks that each decided word violates: uint32 of shape (frames,).
    """

    word: NDArray[np.uint8]
    converged: NDArray[np.bool_]
    iterations: NDArray[np.uint32]
    syndrome_weight: NDArray[np.uint32]


class Backend(Protocol):
    """A decoder of batches.

    `batch_frames`, an optional attribute, is the number of frames that a measurement gives it at once (default: 1,024).
    The backend has to take batches of any size all the same, also an empty one.
    """

    def __init__(self, code: Code, algorithm: str, iterations: int) -> None:
        """Prepare to decode.

        Args:
            code: an LDPC code with a base matrix (`code.base_matrix()`, `code.circulant_size`); of the rest of
                it, `code.rate` chooses the factors of min-sum.
            algorithm: `min-sum`, `min-sum-8bit`, `min-sum-8bit:LARGEST`, `min-sum-16bit` or `rcq:BITS[:POSTERIOR]`.
            iterations: the most iterations of each pass, from 1.

        Raises `NotImplementedError`, with a reason, if it does not decode such a code or algorithm.
        """

    def decode(self, received: NDArray[Any], /) -> Any:
        """Decode a batch; earlier batches make no difference.

        Args:
            received: C-contiguous, and not to be changed. Packed hard decisions: uint8 of shape (frames,
                ceil(codeword_bits / 8)), where the bits behind the last are zero. Or log-likelihood ratios, positive
                where 0 is the more likely bit: int8 of shape (frames, codeword_bits), where -128 is read as -127.

        Returns an object with the fields of `Decoded`.
        """


class Cpu:
    """The reference backend: the decoders that ship.

    >>> import numpy as np
    >>> from softsense import Code
    >>> decoder = Cpu(Code.open("flash-8/9"), "min-sum", 20)
    >>> decoded = decoder.decode(np.zeros((2, 4608), dtype=np.uint8))
    >>> decoded.converged.tolist(), decoded.iterations.tolist()
    ([True, True], [0, 0])
    """

    def __init__(self, code: Code, algorithm: str, iterations: int) -> None:
        self._decoder = code.decoder(algorithm, iterations)

    def decode(self, received: NDArray[Any], /) -> Decoded:
        """Decode a batch."""
        result = self._decoder.decode(received)
        return Decoded(*(getattr(result, name) for name in Decoded._fields))


def check_decodable(code: Code, algorithm: str) -> None:
    """Raise CodeError unless decoders in integers, whose results are the same everywhere, decode this code so."""
    size = code.circulant_size if code.kind == "ldpc" else None
    if size is None or code.punctured_bits:
        kind = "a BCH code" if code.kind != "ldpc" else "punctured columns" if size else "no base matrix"
        raise CodeError(
            f"backend: found {kind} ({code.name}), expected an LDPC code with a base matrix, all of it sent"
        )
    if not _EXACT.fullmatch(algorithm):
        expected = "min-sum, min-sum-8bit[:LARGEST], min-sum-16bit or rcq:BITS[:POSTERIOR], which compute with integers"
        raise CodeError(f"decoder: found {algorithm} for a backend, expected {expected}")
    code.decoder(algorithm)


@dataclass(frozen=True)
class Opened:
    """A backend that was found by its name.

    Attributes:
        name: file or module, a colon, and the class in it.
        sha256: SHA-256 of the text of that file or module; None for a class that was given itself.
        made: the class.
    """

    name: str
    sha256: str | None
    made: type[Backend]


def open_backend(backend: str | type[Backend]) -> Opened:
    """Find a backend by its name, or take a class as one.

    Raises:
        ConfigError: there is no such file, module or class, it has no method `decode`, or it must not run
            (`softsense.own`).
        Exception: whatever the file itself raises.

    >>> open_backend("softsense.backends:Cpu").made.__name__
    'Cpu'
    """
    if not isinstance(backend, str):
        if not inspect.isclass(backend) or not callable(getattr(backend, "decode", None)):
            raise ConfigError(f"backend: found {backend!r}, expected a class with a method `decode`")
        return Opened(backend.__qualname__, None, backend)
    place, colon, item = backend.rpartition(":")
    if not (place and colon and item):
        raise ConfigError(f"backend: found `{backend}`, expected FILE.py:CLASS or MODULE:CLASS")
    found = load("backend", backend, "")
    if not inspect.isclass(found.thing):
        raise ConfigError(f"backend: found `{backend}`, which is no class, expected a class with a method `decode`")
    name = f"{Path(place).name}:{item}"
    return Opened(name, hashlib.sha256(found.text.encode()).hexdigest(), cast("type[Backend]", found.thing))


class FormError(Exception):
    """An error: the answer of a backend does not have the required form.

    Attributes:
        field: the field of `Decoded`, or `answer`.
        expected: the required form.
        found: the form of the answer.
    """

    def __init__(self, field: str, expected: str, found: str) -> None:
        super().__init__(f"{field}: found {found}, expected {expected}")
        self.field, self.expected, self.found = field, expected, found


def checked_form(code: Code, frames: int, answer: Any) -> Decoded:
    """The answer of a backend to a batch, its arrays C-contiguous. Raises FormError."""
    import numpy as np

    shapes = {"word": (frames, -(-code.codeword_bits // 8))}
    dtypes = {"word": np.uint8, "converged": np.bool_}
    arrays = []
    for name in Decoded._fields:
        shape, dtype = shapes.get(name, (frames,)), np.dtype(dtypes.get(name, np.uint32))
        expected = f"a NumPy array of {dtype} of shape {shape}"
        array = getattr(answer, name, None)
        if array is None:
            raise FormError(name, expected, f"no such field in {type(answer).__name__}")
        if not isinstance(array, np.ndarray):
            raise FormError(name, expected, f"{type(array).__name__}")
        if array.dtype != dtype or array.shape != shape:
            raise FormError(name, expected, f"{array.dtype} of shape {array.shape}")
        arrays.append(np.ascontiguousarray(array))
    return Decoded(*arrays)


@dataclass(frozen=True)
class Differing:
    """The first frame of a batch in which a backend and the CPU differ, its first field that differs, and the number of
    such frames.
    """

    frame: int
    field: str
    expected: str
    found: str
    frames: int


def first_difference(expected: Decoded, found: Decoded) -> Differing | None:
    """The first difference of an answer from that of the CPU: by frame, and within a frame in the order of fields."""
    import numpy as np

    pairs = [(np.asarray(ours), np.asarray(theirs)) for ours, theirs in zip(expected, found, strict=True)]
    unequal = [ours != theirs for ours, theirs in pairs]
    unequal[0] = unequal[0].any(axis=1)
    frames = np.flatnonzero(np.logical_or.reduce(unequal))
    if not len(frames):
        return None
    frame = int(frames[0])
    which = next(index for index, each in enumerate(unequal) if each[frame])
    ours, theirs = (array[frame] for array in pairs[which])
    if which == 0:
        ours, theirs = np.unpackbits(ours), np.unpackbits(theirs)
        bits = np.flatnonzero(ours != theirs)
        told = f"bit {bits[0]} = {{}}" + (f", the first of {len(bits):,} that differ" if len(bits) > 1 else "")
        return Differing(frame, "word", told.format(ours[bits[0]]), f"{theirs[bits[0]]}", len(frames))
    return Differing(frame, Decoded._fields[which], str(ours), str(theirs), len(frames))


@contextlib.contextmanager
def users_own(name: str) -> Iterator[None]:
    """A context whose errors are those of the user's own code."""
    try:
        yield
    except Exception as error:
        mark_own(error, name)
        raise


def own_lines(error: BaseException) -> str:
    """The traceback of an error in code of the user's own, without the frames of softsense."""
    return "".join(traceback.format_exception(type(error), error, own_traceback(error)))


@dataclass
class Measured:
    """A backend as `bench` measures it: its answers are checked and timed, and its first batch compared with the CPU.

    Attributes:
        compared: frames that were compared.
        differing: frames in which the two differed.
    """

    opened: Opened
    code: Code
    algorithm: str
    iterations: int
    batch_frames: int = field(init=False)
    compared: int = field(init=False, default=0)
    differing: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        check_decodable(self.code, self.algorithm)
        if self.iterations < 1:
            raise CodeError(f"iterations: found {self.iterations}, expected at least 1 for a backend")
        try:
            with users_own(self.opened.name):
                self._backend = self.opened.made(self.code, self.algorithm, self.iterations)
        except NotImplementedError as error:
            raise CodeError(
                f"backend: {self.opened.name} refuses {self.algorithm} of {self.code.name}: {error}"
            ) from None
        self.batch_frames = getattr(self._backend, "batch_frames", BATCH_FRAMES)
        if not isinstance(self.batch_frames, int) or not 1 <= self.batch_frames <= 1 << 20:
            expected = "a whole number from 1 to 1,048,576"
            raise ConfigError(f"backend: found batch_frames = {self.batch_frames!r}, expected {expected}")

    def decode(self, received: NDArray[Any]) -> tuple[float, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Decode a batch; returns the seconds that decoding took, and the fields of `Decoded`."""
        start = time.perf_counter()
        with users_own(self.opened.name):
            answer = self._backend.decode(received)
        seconds = time.perf_counter() - start
        try:
            found = checked_form(self.code, len(received), answer)
        except FormError as mistake:
            raise CodeError(f"backend: {self.opened.name}: {mistake}") from None
        if not self.compared:
            differing = first_difference(Cpu(self.code, self.algorithm, self.iterations).decode(received), found)
            self.compared, self.differing = len(received), differing.frames if differing else 0
        return (seconds, *found)

    def told(self) -> dict[str, Any]:
        """The fields of a measurement's result that are about its backend, ready for JSON."""
        return {
            "name": self.opened.name,
            "sha256": self.opened.sha256,
            "batch_frames": self.batch_frames,
            "compared": self.compared,
            "differing": self.differing,
        }
