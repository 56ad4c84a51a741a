"""Matrices of published codes from their formulas: array codes, Euclidean-geometry circulants, AR4JA, 5G NR, PEG.

Each function returns the text of a file that `Code.parse_in_any_order` reads. All are functions of their arguments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

from softsense.board.published import ccsds, ieee, nr

_PUNCTURED_NR = 2
_PUNCTURED_AR4JA = 4
_NONE = -1

# Blocks of the AR4JA matrices: 0 is the identity, k > 0 the permutation of that number. Columns are those of rate 4/5;
# lower rates lack the first ones.
_AR4JA: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((), (), (), (), (), (), (), (), (0,), (), (0, 1)),
    ((21, 22, 23), (0,), (15, 16, 17), (0,), (9, 10, 11), (0,), (0,), (0,), (), (0,), (2, 3, 4)),
    ((0,), (24, 25, 26), (0,), (18, 19, 20), (0,), (12, 13, 14), (0,), (5, 6), (), (7, 8), (0,)),
)
_AR4JA_COLUMNS = {"1/2": 5, "2/3": 7, "4/5": 11}


def of_shifts(rows: Sequence[Sequence[int]], circulant_size: int, sent: Sequence[int] | None = None) -> str:
    """The text of a base matrix; `sent` says of each block column whether it is sent (1) or not (0)."""
    lines = [f"{len(rows[0])} {len(rows)} {circulant_size}", *(" ".join(map(str, row)) for row in rows)]
    if sent is not None:
        lines.append(" ".join(map(str, sent)))
    return "\n".join(lines) + "\n"


def wlan(bits: int, rate: str) -> str:
    """The matrix of IEEE 802.11n of 648, 1296 or 1944 bits; rates 1/2, 2/3, 3/4 and 5/6."""
    return of_shifts(_table(ieee.WLAN[bits, rate]), bits // 24)


def wimax(rate: str, circulant_size: int = 96) -> str:
    """The matrix of IEEE 802.16e of 24 circulants a row; rates 1/2, 2/3B and 3/4A.

    The standard scales the shifts for smaller circulants, and rounds down.
    """
    table = _table(ieee.WIMAX[rate])
    scaled = [[shift if shift == _NONE else shift * circulant_size // 96 for shift in row] for row in table]
    return of_shifts(scaled, circulant_size)


def _table(text: str) -> list[list[int]]:
    return [[_NONE if word == "-" else int(word) for word in line.split()] for line in text.split("\n") if line.strip()]


def new_radio(graph: int, rows: int, circulant_size: int = 384) -> str:
    """The first block rows of base graph 1 or 2 of 5G NR. The first two columns are not sent.

    With fewer block rows the rate is higher: the standard sends the first bits of the longest codeword.
    """
    table = (nr.GRAPH_1 if graph == 1 else nr.GRAPH_2)[:rows]
    columns = (22 if graph == 1 else 10) + rows
    shifts = [[_NONE] * columns for _ in table]
    for row, line in zip(shifts, table, strict=True):
        for word in line.split():
            column, shift = map(int, word.split(":"))
            row[column] = shift % circulant_size
    return of_shifts(shifts, circulant_size, [0] * _PUNCTURED_NR + [1] * (columns - _PUNCTURED_NR))


def ar4ja(rate: str, size: int) -> str:
    """The AR4JA code of CCSDS 131.0 with permutations of `size` x `size`; rates 1/2, 2/3 and 4/5.

    A permutation is made of circulants of a quarter of its size. The last quarter-columns, four, are not sent.
    """
    quarter, width = size // 4, _AR4JA_COLUMNS[rate]
    shifts = [[_NONE] * (4 * width) for _ in range(4 * len(_AR4JA))]
    for row, blocks in enumerate(_AR4JA):
        for column, block in enumerate(blocks[len(blocks) - width :]):
            for number in block:
                for j in range(4):
                    turned = (ccsds.THETA[number - 1] + j) % 4 if number else j
                    shift = int(ccsds.PHI[size][j].split()[number - 1]) if number else 0
                    assert shifts[4 * row + j][4 * column + turned] == _NONE
                    shifts[4 * row + j][4 * column + turned] = shift % quarter
    return of_shifts(shifts, quarter, [1] * (4 * width - _PUNCTURED_AR4JA) + [0] * _PUNCTURED_AR4JA)


def euclidean() -> str:
    """The (8176, 7156) code of CCSDS 131.0, whose circulants of 511 have two ones in each row, as alist."""
    size = 511
    rows: list[list[int]] = []
    for line in ccsds.EUCLIDEAN:
        ones = [size * block + int(one) for block, pair in enumerate(line.split()) for one in pair.split(":")]
        rows += [[one - one % size + (one % size + i) % size for one in ones] for i in range(size)]
    return alist(rows, 16 * size)


def array_code(prime: int, rows: int, columns: int) -> str:
    """The array code of a prime: circulant i, j is shifted by i j.

    Source: J. Fan, "Array codes as low-density parity-check codes", 2000.
    """
    return of_shifts([[i * j % prime for j in range(columns)] for i in range(rows)], prime)


def progressive_edges(bits: int, checks: int, weight: int, seed: int) -> str:
    """A code by progressive edge growth: each edge goes where it closes the longest cycle, as alist.

    The seed draws a check of the least weight, among those that are farthest from the bit or out of its reach.

    Source: X.-Y. Hu, E. Eleftheriou, D. Arnold, "Regular and irregular progressive edge-growth Tanner graphs", 2005.
    """
    draw = Random(seed)
    of_bit: list[list[int]] = [[] for _ in range(bits)]
    of_check: list[list[int]] = [[] for _ in range(checks)]
    for bit in range(bits):
        for _ in range(weight):
            candidates = _farthest(bit, of_bit, of_check)
            least = min(len(of_check[check]) for check in candidates)
            check = draw.choice([check for check in candidates if len(of_check[check]) == least])
            of_bit[bit].append(check)
            of_check[check].append(bit)
    return alist([sorted(row) for row in of_check], bits)


def _farthest(bit: int, of_bit: list[list[int]], of_check: list[list[int]]) -> list[int]:
    """The checks without a path to a bit; or, if there are none, those with the longest shortest path."""
    distance = [_NONE] * len(of_check)
    waiting = deque(of_bit[bit])
    for check in waiting:
        distance[check] = 0
    seen = {bit}
    while waiting:
        check = waiting.popleft()
        for other in of_check[check]:
            if other in seen:
                continue
            seen.add(other)
            for reached in of_bit[other]:
                if distance[reached] == _NONE:
                    distance[reached] = distance[check] + 1
                    waiting.append(reached)
    apart = [check for check, far in enumerate(distance) if far == _NONE]
    return apart or [check for check, far in enumerate(distance) if far == max(distance)]


def alist(rows: Sequence[Sequence[int]], columns: int) -> str:
    """The text of the alist file of a matrix, by the columns of the ones of each row, from 0.

    Source: D. MacKay, "Alist format", Encyclopedia of Sparse Graph Codes, 1999.
    """
    of_column: list[list[int]] = [[] for _ in range(columns)]
    for number, row in enumerate(rows):
        for column in row:
            of_column[column].append(number)
    widest, longest = max(map(len, of_column)), max(map(len, rows))
    lines = [f"{columns} {len(rows)}", f"{widest} {longest}"]
    lines += [" ".join(str(len(each)) for each in of_column), " ".join(str(len(each)) for each in rows)]
    for lists, width in ((of_column, widest), (rows, longest)):
        lines += [" ".join(map(str, [one + 1 for one in sorted(each)] + [0] * (width - len(each)))) for each in lists]
    return "\n".join(lines) + "\n"
