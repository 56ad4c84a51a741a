"""A decoder of one's own: the `min-sum` decoders of softsense once more, vectorised over a batch of frames in NumPy.

It follows docs/model/ldpc-decoding.md, shares nothing with the decoder that ships, and is the template of a decoder for
an accelerator (docs/accelerators.md). Arrays have the frames last. The checks of a block row have no bit in common, so
that each line of `_layered` is done for all of them and for all frames at once: what is an array here can be a kernel
on a GPU.

    softsense code conform examples/numpy_decoder.py:Decoder
    softsense code bench flash-8/9 --errors 264 --frames 256 --backend examples/numpy_decoder.py:Decoder
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softsense import Code
from softsense.backends import Decoded

Array = NDArray[Any]

LARGEST = 127  # of the magnitudes that a check compares, and of messages of 16-bit passes
TRAPPED_CHECKS = 64


class Decoder:
    """Decodes batches of frames of `code` with `min-sum`, `min-sum-8bit` or `min-sum-16bit`."""

    batch_frames = 64

    def __init__(self, code: Code, algorithm: str, iterations: int) -> None:
        base, size = code.base_matrix(), code.circulant_size
        if base is None or size is None or size % 16:
            raise NotImplementedError(f"{code.name}: expected circulants of a multiple of 16 bits")
        self.bits, self.iterations = code.codeword_bits, iterations
        # Of each block row the bits of its checks: circulants x checks. No bit is twice in a block row.
        self.rows = [
            np.stack([column * size + (np.arange(size) + row[column]) % size for column in np.flatnonzero(row >= 0)])
            for row in base
        ]
        factors = (9, 11, 13) if code.rate < 0.4 else (8, 10, 12) if code.rate < 0.7 else (8, 10, 12, 12, 12, 11)
        self.factors, self.soft_factors = factors, [min(factor, factors[-1]) for factor in factors]
        # Passes over hard decisions: what a decision is worth, and the largest message.
        heaviest = int((base >= 0).sum(axis=0).max())
        narrow, wide = (22, (126 - 22) // heaviest), (16, LARGEST)
        if algorithm == "min-sum":
            self.passes = [narrow, wide] if heaviest == 4 else [wide]
        elif algorithm == "min-sum-8bit":
            self.passes = [narrow]
        elif algorithm == "min-sum-16bit":
            self.passes = [wide]
        else:
            raise NotImplementedError(f"found {algorithm}, expected min-sum, min-sum-8bit or min-sum-16bit")

    def decode(self, received: Array) -> Decoded:
        """Decode packed hard decisions (uint8) or LLRs (int8), frames x bytes or frames x bits."""
        if received.dtype == np.int8:
            llrs = np.maximum(received.T.astype(np.int16), -LARGEST)
            return self._finished(*self._layered(llrs, LARGEST, self.soft_factors))
        (worth, limit), *second = self.passes
        signs = 1 - 2 * np.unpackbits(received, axis=1, count=self.bits).T.astype(np.int16)
        totals, iterations = self._layered(signs * worth, limit, self.factors)
        if second:
            violated = self._violated(totals)
            again = np.flatnonzero((violated > 0) & (violated <= TRAPPED_CHECKS))
            (worth, limit) = second[0]
            totals[:, again], more = self._layered(signs[:, again] * worth, limit, self.factors)
            iterations[again] += more
        return self._finished(totals, iterations)

    def _layered(self, totals: Array, limit: int, factors: Sequence[int]) -> tuple[Array, Array]:
        """A-posteriori values at the end, bits x frames, and the iterations that each frame took."""
        frames = totals.shape[1]
        ended, iterations = totals.copy(), np.zeros(frames, np.uint32)
        quarter = -(-len(self.rows) // 4)
        active = np.flatnonzero(self._violated(totals))
        totals = totals[:, active]
        messages = [np.zeros((*row.shape, len(active)), np.int16) for row in self.rows]
        for iteration in range(self.iterations):
            iterations[active] += 1
            factor = factors[min(iteration, len(factors) - 1)]
            for number, row in enumerate(self.rows, start=1):
                if not len(active):
                    return ended, iterations
                extrinsic = totals[row] - messages[number - 1]
                messages[number - 1] = _answers(extrinsic, factor, limit)
                totals[row] = extrinsic + messages[number - 1]
                if number == len(self.rows) or (iteration > 0 and number % quarter == 0):
                    left = self._violated(totals) > 0
                    if not left.all():
                        ended[:, active[~left]] = totals[:, ~left]
                        active, totals = active[left], totals[:, left]
                        messages = [message[..., left] for message in messages]
        ended[:, active] = totals
        return ended, iterations

    def _violated(self, totals: Array) -> Array:
        """How many checks the decisions of each frame violate; a value of 0 decides for bit 0."""
        ones = totals < 0
        odd = [np.logical_xor.reduce(ones[row]).sum(axis=0) for row in self.rows]
        violated: Array = np.array(odd).sum(axis=0, dtype=np.uint32)
        return violated

    def _finished(self, totals: Array, iterations: Array) -> Decoded:
        violated = self._violated(totals)
        return Decoded(np.packbits(totals.T < 0, axis=1), violated == 0, iterations, violated)


def _answers(extrinsic: Array, factor: int, limit: int) -> Array:
    """What checks say to each of their bits: the least of what the others say, times a factor, with their sign."""
    magnitudes = np.minimum(np.abs(extrinsic), LARGEST)
    least = magnitudes.min(axis=0)
    is_least = magnitudes == least
    second = np.where(is_least, LARGEST, magnitudes).min(axis=0)
    second = np.where(is_least.sum(axis=0) > 1, least, second)
    sizes = np.minimum((factor * np.where(is_least, second, least) + 8) >> 4, limit)
    negative = extrinsic < 0
    answers: Array = np.where(negative ^ np.logical_xor.reduce(negative), -sizes, sizes)
    return answers.astype(np.int16)
