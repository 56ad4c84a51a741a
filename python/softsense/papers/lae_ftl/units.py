"""Codes of a unit of 4 KiB, the decoder, and closed forms of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from softsense import _core, codes
from softsense.base import inline
from softsense.papers import (
    configured,
)
from softsense.papers.lae_ftl.published import CONFIG, KIB, LATE, LIMIT, METADATA, OOB, PUBLISHED, UNIT, Criterion


@dataclass(frozen=True)
class UnitCode:
    """The code of a unit of 4 KiB.

    Attributes:
        codeword_bytes: data of a codeword; a unit has one or several.
        correctable: errors of a codeword that are corrected.
    """

    codeword_bytes: int
    correctable: int

    @property
    def parity(self) -> codes.BchParity:
        """Size of the parity of a codeword."""
        return codes.bch_parity(8 * self.codeword_bytes, self.correctable)

    @property
    def codewords(self) -> int:
        """Number of codewords of a unit."""
        return UNIT // self.codeword_bytes

    @property
    def parity_bytes(self) -> int:
        """Parity of a unit, bytes; each codeword has whole bytes."""
        found = _core.bch_parity(8 * self.codeword_bytes, self.correctable)
        assert found is not None
        return self.codewords * int(found["parity_bytes"])

    @property
    def squeezed_bytes(self) -> int:
        """Bytes by which the data space of a unit is smaller than 4 KiB."""
        return int(on_device(self)["squeezed_bytes"])

    @property
    def units_per_block(self) -> int:
        """Number of units that fit a block, packed across its pages."""
        return int(on_device(self)["units_per_block"])

    @property
    def crossing(self) -> float:
        """The share of units that lie in two pages."""
        return float(crossing_share(self))

    @property
    def size(self) -> str:
        """Data of a codeword, for people."""
        return f"{self.codeword_bytes} B" if self.codeword_bytes < KIB else f"{self.codeword_bytes // KIB} KB"

    @property
    def label(self) -> str:
        """Name of the code, for people."""
        return f"{self.size}, t = {self.correctable}"

    @property
    def unit(self) -> str:
        """The data space of a unit, for people."""
        return f"{(UNIT - self.squeezed_bytes) / KIB:g} KB"

    def fails(self, rber: float) -> float:
        """The probability that a codeword of a unit has more errors than are corrected."""
        good = 1 - codes.failure_probability(on_device(self)["codeword_bits"], self.correctable, rber)
        return float(1 - good**self.codewords)

    def failing_rber(self, failing: float) -> float:
        """The raw bit error rate at which the share `failing` of units fails."""
        of_codeword = 1 - (1 - failing) ** (1 / self.codewords)
        return codes.raw_bit_error_rate(on_device(self)["codeword_bits"], self.correctable, of_codeword)

    def limit(self, criterion: Criterion = "unit_ber") -> float:
        """The raw bit error rate up to which a codeword is as reliable as the paper asks for."""
        allowed = LIMIT * (8 * self.codeword_bytes if criterion == "unit_ber" else 1)
        return codes.raw_bit_error_rate(self.parity.codeword_bits, self.correctable, allowed)


def filling(oob_bytes: int, metadata_bytes: int) -> UnitCode:
    """The strongest code of 4 KiB whose parity fits the OOB of a unit beside metadata."""
    field_bits = codes.bch_parity(8 * UNIT, 1).field_bits
    return UnitCode(UNIT, 8 * (oob_bytes - metadata_bytes) // field_bits)


SEGMENTS = tuple(UnitCode(each["codeword_bytes"], each["t"]) for each in PUBLISHED["segment"])
"""The codes of the early stage."""

WORST_CASE = UnitCode(UNIT, PUBLISHED["baseline_code"]["t"])
"""The baseline of reads, with 4,096 B of data; the paper's codeword has 4 B more, as much as a LUN."""

UNSQUEEZED = SEGMENTS[-1]
"""The baseline of the late stage."""

SQUEEZED = tuple(filling(OOB + UNIT - round(KIB * size), METADATA) for size in LATE["squeezed_unit_kb"])
"""The codes of the late stage, by increasing strength."""

EVERY_LIFE = (*SEGMENTS, *SQUEEZED)
"""All codes in the order in which they follow one another."""

RBER: tuple[float, ...] = tuple(each["rber"] for each in PUBLISHED["segment"])
TO_PE: tuple[int, ...] = tuple(each["pe_cycles"] for each in PUBLISHED["segment"])
# P/E cycles in the middle of each segment, so that erases of a run change no code.
AGES = tuple((since + to) // 2 for since, to in pairwise((0, *TO_PE)))
# P/E cycles beyond any age.
FOR_LIFE = 1_000_000


@dataclass(frozen=True)
class Hardware:
    """A BCH decoder; all of its numbers are assumed.

    Attributes:
        bits_per_cycle: bits that syndromes, and the search for roots, take in a cycle.
        multipliers: multipliers of the solver of the key equation.
        clock_mhz: clock of the whole decoder.
        engine: errors of the code for which the hardware is built; codewords of weaker codes share that hardware. For
            None the hardware grows with the code, and a codeword takes all of it.
    """

    bits_per_cycle: int = 8
    multipliers: int = 16
    clock_mhz: float = 200.0
    engine: int | None = None

    def decode_us(self, code: UnitCode, errors: bool = True) -> float:
        """Decoding time of a codeword, us; without errors it ends when the syndromes are known."""
        return float(on_device(code, self)["decode_us" if errors else "decode_without_errors_us"])

    @property
    def override(self) -> str:
        """The override that gives a config this decoder."""
        bch = {
            "clock_mhz": self.clock_mhz,
            "syndrome_bits_per_cycle": self.bits_per_cycle,
            "key_equation_multipliers": self.multipliers,
            "search_bits_per_cycle": self.bits_per_cycle,
            "engine_correctable": self.engine,
        }
        return f"decoder.time={inline({'bch': bch})}"


ASSUMED = Hardware()
"""The decoder of the shipped device."""

ENGINE = Hardware(engine=WORST_CASE.correctable)
"""The decoder of the shipped device, built once for the worst-case code."""


def bch_of(each: Mapping[UnitCode, int], rber: Mapping[str, Any], exact: bool = False) -> str:
    """The override for a device whose blocks have these codes, each up to its number of P/E cycles."""
    of_age = [
        {"codeword_bytes": code.codeword_bytes, "correctable": code.correctable, "to_pe_cycles": to_pe}
        for code, to_pe in each.items()
    ]
    bch = {"oob_bytes": OOB, "exact": exact, "rber": dict(rber), "variation": {}, "codes": of_age}
    return f"reliability={inline({'bch': bch})}"


def constant(rber: float) -> dict[str, Any]:
    """A constant raw bit error rate at every age, as a config has it."""
    return {"constant": {"rber": rber}}


@cache
def on_device(code: UnitCode, hardware: Hardware = ASSUMED) -> dict[str, Any]:
    """Parity, room and times of a code on the shipped device, from the simulator."""
    overrides = [bch_of({code: FOR_LIFE}, constant(RBER[-1])), hardware.override]
    [found] = configured(CONFIG, overrides).bch_codes()
    return found


def uniform_amplification(code: UnitCode, unsqueezed_use: float) -> float:
    """Write amplification of greedy collection under endless uniform overwriting, in closed form.

    Args:
        code: code of all units; programs that squeezing makes smaller are counted at their full size.
        unsqueezed_use: the share of unsqueezed places of closed blocks that user data takes. There are fewer squeezed
            places.

    Source: `softsense.lifetime`; P. Desnoyers, "Analytic models of SSD write performance", ACM TOS 10(2), 2014.
    """
    room = UNIT / (UNIT - code.squeezed_bytes)
    return room * _core.uniform_write_amplification(unsqueezed_use * room)


def crossing_share(code: UnitCode) -> Fraction:
    """The share of units that lie in two pages."""
    return Fraction(on_device(code)["crossing_per_block"], code.units_per_block)


def last_decode_us(codewords: int, transfer_us: float, clean_us: float, decode_us: float, p_clean: float) -> float:
    """The mean time from the first transfer of a unit to the end of its last decode, on an idle device.

    Codewords are transferred one after the other. A decoder takes each when its transfer and the decode before are
    done. A codeword has no error with probability `p_clean`.
    """
    # Distribution of the time that the decoder goes on after a transfer has ended.
    behind = {0.0: 1.0}
    for _ in range(codewords):
        after: dict[float, float] = {}
        for lag, share in behind.items():
            for took, likely in ((clean_us, p_clean), (decode_us, 1 - p_clean)):
                end = round(max(lag - transfer_us, 0.0) + took, 6)
                after[end] = after.get(end, 0.0) + share * likely
        behind = after
    return codewords * transfer_us + sum(lag * share for lag, share in behind.items())
