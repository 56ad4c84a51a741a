"""Test vectors for a decoder in hardware: received frames, their decisions, and the state of the decoder in between.

    softsense code vectors teaching-1/2 --channel bsc:0.06 --frames 20 --steps --out vectors

`vectors.json` has everything, with the base matrix and the arithmetic. The `.hex` files have the same numbers for
`$readmemh`. docs/decoders-in-hardware.md says how a test bench reads them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import Code, CodeError, FileError, build_info
from softsense.backends import Cpu, Decoded, check_decodable
from softsense.codes import bench
from softsense.files import blaming, replacing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FORMAT = 1
"""Format of `vectors.json` and the files beside it; another number is another format."""

MOST_BYTES = 1 << 30
"""The most bytes that are written: a longer export is refused before anything is decoded."""

_FILES = (
    *("vectors.json", "base.hex", "received.hex", "decided.hex", "verdicts.hex"),
    *("steps.hex", "posteriors.hex", "messages.hex"),
)
_NO_CIRCULANT = 0xFFFF  # In place of a shift.
_HELD = ("pass", "iteration", "syndrome_weight", "posteriors", "messages")


@dataclass(frozen=True)
class DecoderVectors:
    """Frames of a code, with the decisions and states of its decoder.

    Attributes:
        code: the code.
        decoder: name of the decoder, in integers.
        iterations: the most iterations of each pass.
        channel: the channel between encoding and decoding.
        seed: seed of data and noise: frame k is frame k of `softsense.bench` with this seed.
        received: packed hard decisions (uint8 of shape (frames, ceil(n / 8))) or LLRs (int8 of shape (frames, n)).
        decoded: the answers of the decoder, an array for each field.
        steps: the result of `Decoder.trace` for each frame; empty unless it was asked for.
        arithmetic: the result of `Decoder.arithmetic`.

    >>> vectors = decoder_vectors("teaching-1/2", "gaussian:0.04:3", frames=5)
    >>> vectors.is_soft, vectors.received.dtype.name, vectors.to_dict()["frames"][0]["received"][:6]
    (True, 'int8', '1e1e1e')
    """

    code: Code
    decoder: str
    iterations: int
    channel: str
    seed: int
    received: NDArray[Any]
    decoded: Decoded
    arithmetic: list[dict[str, Any]]
    steps: list[list[dict[str, Any]]] = field(default_factory=list)

    @property
    def is_soft(self) -> bool:
        """Whether frames are LLRs."""
        return bool(self.received.dtype.kind == "i")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it: bytes in hexadecimal digits, the first bit, LLR or message first."""
        base = self.code.base_matrix()
        assert base is not None
        decoded = self.decoded
        frames = [
            {
                "frame": index,
                "received": received.tobytes().hex(),
                "decided": decoded.word[index].tobytes().hex(),
                "converged": bool(decoded.converged[index]),
                "iterations": int(decoded.iterations[index]),
                "syndrome_weight": int(decoded.syndrome_weight[index]),
                **({"steps": [_as_json(step) for step in self.steps[index]]} if self.steps else {}),
            }
            for index, received in enumerate(self.received)
        ]
        return {
            "format": FORMAT,
            "softsense": build_info()["version"],
            "code": {
                "name": self.code.name,
                "codeword_bits": self.code.codeword_bits,
                "data_bits": self.code.data_bits,
                "circulant_size": self.code.circulant_size,
                "base_matrix": base.tolist(),
            },
            "decoder": self.decoder,
            "iterations": self.iterations,
            "arithmetic": self.arithmetic,
            "channel": self.channel,
            "seed": self.seed,
            "decisions": "soft" if self.is_soft else "hard",
            "frames": frames,
        }

    def write(self, folder: str | Path, force: bool = False) -> list[Path]:
        """Write `vectors.json` and the `.hex` files into a folder, which is made; returns the files.

        With `force` files of an earlier export are replaced, and those that this export does not have, such as steps,
        are removed.

        Raises `FileError` if one is there, unless `force`, or cannot be written.
        """
        folder = Path(folder)
        texts = {"vectors.json": json.dumps(self.to_dict(), indent=1) + "\n", **self._memories()}
        expect_free(folder, force)
        with blaming(folder):
            folder.mkdir(parents=True, exist_ok=True)
            for name in _FILES:
                # A test bench would read steps of other frames beside these.
                if name not in texts:
                    (folder / name).unlink(missing_ok=True)
        for name, text in texts.items():
            with replacing(folder / name) as path:
                path.write_text(text, encoding="utf-8")
        return [folder / name for name in texts]

    def _memories(self) -> dict[str, str]:
        """Texts for `$readmemh`: a word of memory has its first bit, LLR or message lowest."""
        import numpy as np

        base, count = self.code.base_matrix(), self.code.codeword_bits
        assert base is not None

        def bits(words: NDArray[np.uint8]) -> NDArray[np.uint8]:
            return np.packbits(np.unpackbits(words, axis=1, count=count), axis=1, bitorder="little")

        decoder = f"{self.decoder}, at most {self.iterations} iterations"
        what = f"{self.code.name}, {decoder}, {self.channel}, seed {self.seed}"
        rows = "row by row, ffff without a circulant"
        llrs = f"{count} LLRs of 8 bits, two's complement"
        verdicts = zip(self.decoded.converged, self.decoded.iterations, self.decoded.syndrome_weight, strict=True)
        texts = {
            "base.hex": _memory(what, f"shift of each block of the base matrix, {rows}", _words(base.ravel(), "<u2")),
            "received.hex": _memory(
                what,
                f"each frame as it comes: {llrs if self.is_soft else f'{count} hard decisions'}",
                self.received if self.is_soft else bits(self.received),
            ),
            "decided.hex": _memory(what, f"each frame as decided: {count} bits", bits(self.decoded.word)),
            "verdicts.hex": _memory(
                what, "of each frame: converged, iterations, violated checks", _words(np.array(list(verdicts)), "<u4")
            ),
        }
        if self.steps:
            steps = [(frame, step) for frame, steps in enumerate(self.steps) for step in steps]
            numbers = [(frame, *(step[name] for name in _HELD[:3])) for frame, step in steps]
            texts |= {
                "steps.hex": _memory(
                    what, "of each step: frame, pass, iteration, violated checks", _words(np.array(numbers), "<u4")
                ),
                "posteriors.hex": _memory(
                    what,
                    f"after each step: {count} a-posteriori values of 16 bits, two's complement",
                    [step["posteriors"].astype("<i2") for _, step in steps],
                ),
                "messages.hex": _memory(
                    what,
                    "after each step: the messages to the bits, 8 bits each, by circulant and check",
                    [step["messages"] for _, step in steps],
                ),
            }
        return texts


def expect_free(folder: Path, force: bool) -> None:
    """Raise `FileError` if a folder has vectors that may not be replaced."""
    there = next((folder / name for name in _FILES if (folder / name).exists()), None)
    if there and not force:
        raise FileError(f"{there}: found a file, expected none (--force replaces it)")


def _as_json(step: dict[str, Any]) -> dict[str, Any]:
    posteriors, messages = step["posteriors"].astype(">i2"), step["messages"]
    return {**step, "posteriors": posteriors.tobytes().hex(), "messages": messages.tobytes().hex()}


def _words(numbers: NDArray[Any], dtype: str) -> NDArray[Any]:
    import numpy as np

    return np.asarray(numbers).astype(dtype).reshape(-1, 1)


def _memory(what: str, of: str, words: Iterable[NDArray[Any]]) -> str:
    """A text with a word of memory on each line, its first byte last."""
    lines = (word.tobytes()[::-1].hex() for word in words)
    return f"// {what}\n// {of}\n" + "".join(f"{line}\n" for line in lines)


def decoder_vectors(
    code: Code | str | Path,
    channel: str,
    *,
    decoder: str = "min-sum-8bit",
    iterations: int = 20,
    frames: int = 10,
    seed: int = 1,
    steps: bool = False,
) -> DecoderVectors:
    """Frames of a code that went through a channel, and bit for bit what a decoder in integers decides on them.

    Args:
        code: an LDPC code with a base matrix, all of it sent, or a name or file that `Code.open` takes.
        channel: `bsc:P`, `errors:W` (hard decisions), `awgn:EBN0_DB` or `gaussian:RBER:LEVELS` (LLRs).
        decoder: `min-sum`, `min-sum-8bit[:LARGEST]`, `min-sum-16bit` or `rcq:BITS[:POSTERIOR]`.
        iterations: the most iterations of each pass over a frame, from 1.
        frames: number of frames, from 1.
        seed: seed of data and noise, 0 to 2^64 - 1; frame k is frame k of `softsense.bench`.
        steps: whether to keep the state of the decoder as each frame comes and after each of its iterations.

    Raises `CodeError`: another code, decoder or channel, circulants whose shifts have more than 16 bits, or more than
    1 GiB to write.

    >>> vectors = decoder_vectors("teaching-1/2", "errors:4", frames=3, steps=True)
    >>> vectors.received.shape, vectors.decoded.converged.tolist()
    ((3, 12), [True, True, True])
    >>> [(step["iteration"], step["syndrome_weight"]) for step in vectors.steps[0]]
    [(0, 10), (1, 4), (2, 0)]
    """
    import numpy as np

    opened = code if isinstance(code, Code) else Code.open(code)
    check_decodable(opened, decoder)
    if frames < 1:
        raise CodeError(f"frames: found {frames}, expected at least 1")
    if (size := opened.circulant_size or 0) > _NO_CIRCULANT:
        raise CodeError(f"code: found circulants of {size} bits ({opened.name}), expected at most {_NO_CIRCULANT}")
    compiled = opened.decoder(decoder, iterations)
    arithmetic = compiled.arithmetic()
    rounds = iterations * max(each["pass"] for each in arithmetic) if steps else None
    if (most := frames * _most_bytes(opened, rounds)) > MOST_BYTES:
        what = f"{frames} frames of up to {rounds or iterations} iterations of {opened.name}"
        raise CodeError(f"frames: found {what}, {most / 2**30:.3g} GiB, expected at most {MOST_BYTES / 2**30:.0f} GiB")
    batches: list[NDArray[Any]] = []
    answers: list[Decoded] = []

    class Recorder(Cpu):
        """The shipped decoder, which also keeps its inputs and answers."""

        def decode(self, received: NDArray[Any]) -> Decoded:
            batches.append(received.copy())
            answers.append(super().decode(received))
            return answers[-1]

    bench(opened, channel, decoder=decoder, iterations=iterations, frames=frames, seed=seed, backend=Recorder)
    received = np.concatenate(batches)[:frames]
    return DecoderVectors(
        opened,
        decoder,
        iterations,
        channel,
        seed,
        received,
        Decoded(*(np.concatenate(field)[:frames] for field in zip(*answers, strict=True))),
        arithmetic,
        [compiled.trace(frame) for frame in received] if steps else [],
    )


def _most_bytes(code: Code, rounds: int | None) -> int:
    """The most bytes of a frame in all files, with steps of `rounds` iterations in all passes.

    JSON and hexadecimal digits have each byte twice.
    """
    import numpy as np

    bits = code.codeword_bits
    messages = int((np.asarray(code.base_matrix()) >= 0).sum()) * (code.circulant_size or 0)
    # Names, brackets and ends of lines are 60 bytes of a step and 100 of a frame, in these units. A second pass has a
    # step for the word as it comes, too.
    steps = (rounds + 2) * (2 * bits + messages + 60) if rounds is not None else 0
    return 4 * (bits + bits // 8 + 100 + steps)
