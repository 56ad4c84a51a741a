"""Published codes from their formulas, or from the tables of their standards; and softsense's own, for comparison.

`CONSTRUCTIONS` has a recipe for each entry with which the board begins. A matrix goes through a file, as that of a
stranger does: `softsense board codes` writes all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from softsense._core import Code, ConfigError
from softsense.board.published import formulas

OWN_LICENCE = "MIT OR Apache-2.0"
"""The licence of softsense's own matrices."""

FACTS = "facts of a published standard or formula"
"""The licence note of matrices that a standard or a formula determines."""


@dataclass(frozen=True)
class Construction:
    """A recipe of a matrix.

    Attributes:
        name: its name on the board.
        title: a few words about it.
        source: the publication of the formula or the table.
        make: makes the text of the file; for a BCH code its name.
        suffix: `.qc`, `.alist`, or `.bch` for the name of a BCH code.
        bits: n, the bits that are sent.
        data_bits: k.
        girth: the girth of the graph; None for a BCH code.
        redundant: number of checks that follow from others.
        licence: the licence note of the file.
    """

    name: str
    title: str
    source: str
    make: Callable[[], str]
    suffix: str
    bits: int
    data_bits: int
    girth: int | None
    redundant: int = 0
    licence: str = FACTS

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}{self.suffix}"

    def text(self) -> str:
        """The file: a head of comments, and the matrix."""
        head = [self.title, f"Source: {self.source}", f"Licence: {self.licence}"]
        return "".join(f"# {line}\n" for line in head) + self.make()


def construction(name: str) -> Construction:
    """The recipe of a name. Raises `ConfigError` if there is none."""
    for each in CONSTRUCTIONS:
        if each.name == name:
            return each
    raise ConfigError(f"construction: found `{name}`, expected one of {', '.join(each.name for each in CONSTRUCTIONS)}")


def _shipped(name: str) -> str:
    return Code.open(name).to_qc()


def _literature(name: str) -> str:
    return Code.open(f"literature:{name}").to_alist()


def _weights(weight: int) -> str:
    return Code.construct(f"qc-9216-w{weight}", 128, 8, [weight] * 72, seed=1).to_qc()


def _bch(name: str) -> str:
    return f"{name}\n"


_WLAN = "IEEE Std 802.11n-2009, annex R"
_WIMAX = "IEEE Std 802.16e-2005, 8.4.9.2.5"
_CCSDS = "CCSDS 131.0-B-3, 2017"
_NR = "3GPP TS 38.212, 5.3.2"
_BCH = "R. Bose, D. Ray-Chaudhuri, 1960; A. Hocquenghem, 1959"
_MARGULIS = "G. Margulis, 1982; J. Rosenthal, P. Vontobel, 2000"
_SHARES = {"1/2": (1, 2), "2/3": (2, 3), "3/4": (3, 4), "5/6": (5, 6)}
# Three of the matrices of IEEE 802.11n have cycles of four edges, as printed.
_GIRTH_4 = ((648, "3/4"), (1296, "2/3"), (1944, "2/3"))


def _of_wlan(bits: int, rate: str) -> Construction:
    above, below = _SHARES[rate]
    title = f"IEEE 802.11n and ac, {bits} bits, rate {rate}"
    name = f"802.11n-{bits}-{rate.replace('/', '-')}"
    girth = 4 if (bits, rate) in _GIRTH_4 else 6
    make = partial(formulas.wlan, bits, rate)
    return Construction(name, title, _WLAN, make, ".qc", bits, bits * above // below, girth)


def _of_wimax(bits: int, rate: str, data_bits: int, girth: int) -> Construction:
    title = f"IEEE 802.16e, {bits} bits, rate {rate}"
    name = f"802.16e-{bits}-{rate.replace('/', '-')}"
    return Construction(name, title, _WIMAX, partial(formulas.wimax, rate, bits // 24), ".qc", bits, data_bits, girth)


def _of_ar4ja(rate: str, size: int, bits: int, data_bits: int, girth: int) -> Construction:
    title = f"CCSDS AR4JA, {data_bits} data bits, rate {rate}"
    name = f"ar4ja-{data_bits}-{rate.replace('/', '-')}"
    return Construction(name, title, _CCSDS, partial(formulas.ar4ja, rate, size), ".qc", bits, data_bits, girth)


def _of_nr(graph: int, rows: int) -> Construction:
    data = 22 if graph == 1 else 10
    sent = data + rows - 2
    title = f"5G NR base graph {graph}, circulants of 384, {data} of {sent} columns are data"
    name = f"5g-bg{graph}-384-{data}-{sent}"
    make = partial(formulas.new_radio, graph, rows)
    return Construction(name, title, _NR, make, ".qc", 384 * sent, 384 * data, 8)


def _of_weight(weight: int) -> Construction:
    title = f"quasi-cyclic, column weight {weight}, 1 KiB of data, circulants of 128, seed 1"
    source = "softsense's construction: progressive edge growth of circulants, shifts by ACE"
    make = partial(_weights, weight)
    return Construction(f"qc-9216-w{weight}", title, source, make, ".qc", 9216, 8192, 6, licence=OWN_LICENCE)


def _of_bch(field_bits: int, correctable: int, bits: int, data_bits: int) -> Construction:
    name = f"bch:m={field_bits},t={correctable},k={data_bits}"
    title = f"BCH, {data_bits} data bits, corrects {correctable}"
    return Construction(f"bch-{bits}-t{correctable}", title, _BCH, partial(_bch, name), ".bch", bits, data_bits, None)


def _of_own(name: str, what: str, bits: int, data_bits: int, girth: int) -> Construction:
    return Construction(
        name.replace("/", "-"), f"softsense {name}: {what}", "softsense", partial(_shipped, name), ".qc", bits,
        data_bits, girth, licence=OWN_LICENCE,
    )  # fmt: skip


CONSTRUCTIONS: tuple[Construction, ...] = (
    *(_of_wlan(bits, rate) for bits in (648, 1296, 1944) for rate in _SHARES),
    _of_wimax(576, "1/2", 288, 6),
    _of_wimax(2304, "1/2", 1152, 6),
    _of_wimax(2304, "2/3B", 1536, 6),
    _of_wimax(2304, "3/4A", 1728, 4),
    _of_nr(1, 5),
    _of_nr(1, 12),
    _of_nr(2, 12),
    _of_ar4ja("1/2", 512, 2048, 1024, 6),
    _of_ar4ja("2/3", 256, 1536, 1024, 4),
    _of_ar4ja("4/5", 128, 1280, 1024, 4),
    _of_ar4ja("4/5", 512, 5120, 4096, 4),
    _of_ar4ja("4/5", 2048, 20480, 16384, 4),
    Construction(
        "ccsds-8176-7156", "CCSDS (8176, 7156), Euclidean geometry", _CCSDS, formulas.euclidean, ".alist", 8176, 7156,
        6, redundant=2,
    ),
    Construction(
        "802.3an-2048", "IEEE 802.3an, (2048, 1723), from a Reed-Solomon code",
        "I. Djurdjevic, J. Xu, K. Abdel-Ghaffar, S. Lin, 2003", partial(_literature, "ethernet-2048"), ".alist", 2048,
        1723, 6, redundant=59,
    ),
    Construction(
        "margulis-2640", "Margulis (2640, 1320) over SL(2, 11)", _MARGULIS, partial(_literature, "margulis-2640"),
        ".alist", 2640, 1320, 8,
    ),
    Construction(
        "array-47-4-24", "array code of the prime 47, 4 x 24 circulants", "J. Fan, 2000",
        partial(formulas.array_code, 47, 4, 24), ".qc", 1128, 943, 6, redundant=3,
    ),
    Construction(
        "array-61-3-30", "array code of the prime 61, 3 x 30 circulants", "J. Fan, 2000",
        partial(formulas.array_code, 61, 3, 30), ".qc", 1830, 1649, 6, redundant=2,
    ),
    Construction(
        "peg-1008-504", "progressive edge growth, column weight 3, seed 1", "X.-Y. Hu, E. Eleftheriou, D. Arnold, 2005",
        partial(formulas.progressive_edges, 1008, 504, 3, 1), ".alist", 1008, 504, 8,
    ),
    *map(_of_weight, (4, 5, 6)),
    _of_own("flash-8/9", "hard decision, column weight 4", 36864, 32768, 8),
    _of_own("irregular-8/9", "designed for hard decision", 36864, 32768, 6),
    _of_own("adaptive-5/6", "a rate by age", 65536, 53248, 6),
    _of_bch(11, 29, 1939, 1620),
    _of_bch(14, 73, 9207, 8192),
    _of_bch(16, 256, 36856, 32768),
)  # fmt: skip
"""The codes with which the board begins."""
