"""A decoder of one's own: the `min-sum` decoders of softsense once more, vectorised over a batch of frames in NumPy.

It follows docs/model/ldpc-decoding.md, shares nothing with the decoder that ships, and is the template of a decoder for
an accelerator (docs/accelerators.md). Arrays have the frames last. The checks of a block row have no bit in common, so
that each line of `_layered` is done for all of them and for all frames at once: what is an array here can be a kernel
on a GPU.

    softsense code conform examples/numpy_decoder.py:Decoder
    softsense code bench flash-8/9 --errors 264 --frames 256 --backend examples/numpy_decoder.py:Decoder
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softsense import Code
from softsense.backends import Decoded

Array = NDArray[Any]

LARGEST = 127  # of the magnitudes that a check compares, and of messages of 16-bit passes
TRAPPED_CHECKS = 64
HEAVIEST_NARROW_COLUMN = 16


class Pass(NamedTuple):
    """A pass over a word."""

    channel: int
    """The magnitude of a hard decision, and the largest of an LLR."""
    limit: int
    """The largest message."""
    bits: int
    """Of a-posteriori values, which saturate."""


class Decoder:
    """Decodes batches of frames of `code` with `min-sum`, `min-sum-8bit` or `min-sum-16bit`."""

    batch_frames = 64

    def __init__(self, code: Code, algorithm: str, iterations: int) -> None:
        base, size = code.base_matrix(), code.circulant_size
        if base is None or size is None:
            raise NotImplementedError(f"{code.name}: expected a base matrix")
        self.bits, self.iterations = code.codeword_bits, iterations
        # Of each block row the bits of its checks: circulants x checks. No bit is twice in a block row.
        self.rows = [
            np.stack([column * size + (np.arange(size) + row[column]) % size for column in np.flatnonzero(row >= 0)])
            for row in base
        ]
        factors = (9, 11, 13) if code.rate < 0.4 else (8, 10, 12) if code.rate < 0.7 else (8, 10, 12, 12, 12, 11)
        self.factors, self.soft_factors = factors, [min(factor, factors[-1]) for factor in factors]
        # Passes over hard decisions and over LLRs, the second over words that the first does not decode.
        heaviest = int((base >= 0).sum(axis=0).max())
        eight, sixteen = Pass(22, (126 - 22) // heaviest, 8), Pass(16, LARGEST, 16)
        soft_eight, soft_sixteen = Pass(64, 40, 8), Pass(LARGEST, LARGEST, 16)
        self.counts_both = heaviest == 4
        stand_in = 10 * base.shape[0] <= 3 * base.shape[1] and heaviest <= HEAVIEST_NARROW_COLUMN
        if algorithm == "min-sum":
            first = [eight] if heaviest == 4 else [Pass(16, 40, 8)] if stand_in else []
            self.hard, self.soft = [*first, sixteen], [soft_eight, soft_sixteen] if stand_in else [soft_sixteen]
        elif algorithm == "min-sum-8bit":
            self.hard, self.soft = [eight], [soft_eight]
        elif algorithm == "min-sum-16bit":
            self.hard, self.soft = [sixteen], [soft_sixteen]
        else:
            raise NotImplementedError(f"found {algorithm}, expected min-sum, min-sum-8bit or min-sum-16bit")

    def decode(self, received: Array) -> Decoded:
        """Decode packed hard decisions (uint8) or LLRs (int8), frames x bytes or frames x bits."""
        if received.dtype == np.int8:
            return self._passes(received.T.astype(np.int16), self.soft, self.soft_factors, counts_both=False)
        signs = 1 - 2 * np.unpackbits(received, axis=1, count=self.bits).T.astype(np.int16)
        return self._passes(signs * np.int16(LARGEST), self.hard, self.factors, counts_both=self.counts_both)

    def _passes(self, llrs: Array, passes: Sequence[Pass], factors: Sequence[int], *, counts_both: bool) -> Decoded:
        first, *second = passes
        totals, iterations = self._layered(llrs, first, factors)
        if second:
            violated = self._violated(totals)
            # Where only the second pass counts it is for all words that the first does not decode.
            again = np.flatnonzero((violated > 0) & ((violated <= TRAPPED_CHECKS) | (not counts_both)))
            totals[:, again], more = self._layered(llrs[:, again], second[0], factors)
            iterations[again] = more + (iterations[again] if counts_both else 0)
        decoded = self._finished(totals, iterations)
        # The word of zeros is a codeword, but nobody sent it where nothing was received.
        return decoded._replace(converged=decoded.converged & llrs.any(axis=0))

    def _layered(self, llrs: Array, of: Pass, factors: Sequence[int]) -> tuple[Array, Array]:
        """A-posteriori values at the end, bits x frames, and the iterations that each frame took."""
        totals = np.clip(llrs, -of.channel, of.channel)
        lowest, largest = -(1 << (of.bits - 1)), (1 << (of.bits - 1)) - 1
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
                extrinsic = np.clip(totals[row] - messages[number - 1], lowest, largest)
                messages[number - 1] = _answers(extrinsic, factor, of.limit)
                totals[row] = np.clip(extrinsic + messages[number - 1], lowest, largest)
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
