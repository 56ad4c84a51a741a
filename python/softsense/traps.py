"""Absorbing sets of LDPC codes: small sets of bits whose errors hold one another in place, and so make error floors.

`find_traps` is `softsense code traps`::

    traps = softsense.find_traps("flash-8/9", most_bits=8)
    print(traps.classes)  # bits, violated checks, orbits and sets of each class

There are two independent ways to find sets: an exhaustive search that grows short cycles (`_core.AbsorbingSetSearch`),
and *impulses*, strong errors on a random short cycle that a decoder has to correct. Sets that one of them finds and the
other misses show how far each can be trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import _core
from softsense._core import AbsorbingSets, AbsorbingSetSearch, Code, CodeError, FrameTask, SoftsenseError, StopFlag
from softsense.background import in_background
from softsense.base import Interrupted, Progress
from softsense.counts import Counts, whole_blocks
from softsense.executing import chosen_workers
from softsense.files import replacing
from softsense.floors import MOST_RIGHT
from softsense.runner import Runner, run_units
from softsense.sampling import Plan, Request, Round
from softsense.store import Store, opened_store
from softsense.strata import CONFIDENCE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMAT = "softsense absorbing sets, version 1"
"""The format line of a file of absorbing sets."""

USUAL_BITS = 8
"""The default for the bits of the largest sets that are searched for."""

_SHIPPED = Path(__file__).parent / "absorbing_sets"
USUAL_IMPULSE_DECODER = "gallager"
"""Gallager's bit-flipping decoder, which falls into many sets, and so finds them."""

IMPULSES_A_UNIT = 8192
"""Number of impulses of a unit of work."""

MOST_IMPULSES = 2**32
"""The most impulses that may be asked for at once: units of more would not fit into memory."""

_IMPULSES_AT_ONCE = 256
_ALL_VIOLATED = 2**16
_LARGEST_RESIDUE = 20
"""The most bits of a small set: a decoder that leaves more has not ended in one."""


@dataclass(frozen=True)
class Trap:
    """An absorbing set.

    Attributes:
        bits: the bits of one set of its orbit, ascending.
        violated: checks that have an odd number of these bits.
        multiplicity: number of sets in its orbit under the rotations of the code's circulants.
    """

    bits: tuple[int, ...]
    violated: int
    multiplicity: int


_Orbit = list[list[int]]  # `list` is within `Traps` what its sets are.
_Rows = list[dict[str, int]]


@dataclass
class Traps:
    """Absorbing sets of a code, and how far they were searched for.

    Attributes:
        code: the code.
        sets: the listed sets, for tasks.
        most_bits: the largest sets of the exhaustive search, in bits; 0 if there was none.
        most_violated: the most checks that a listed set may violate.
        longest_cycle: the longest cycles from which the search grew sets, in bits.
        impulses: words with impulses that were decoded.
        impulse_decoder: the decoder of the impulses.
        hits: the number of impulses that ended in each listed set.
        stray: the sets, not absorbing, in which impulses ended: (bits, violated checks) and how often.
        only_impulses: the listed sets that impulses alone found.

    >>> import softsense
    >>> traps = softsense.find_traps("teaching-1/2", most_bits=3)
    >>> traps.list[0]
    Trap(bits=(0, 79, 93), violated=3, multiplicity=8)
    >>> traps.rotations(traps.list[0])[:2]
    [[0, 79, 93], [1, 72, 94]]
    """

    code: Code
    sets: AbsorbingSets
    most_bits: int = 0
    most_violated: int = 0
    longest_cycle: int = 0
    impulses: int = 0
    impulse_decoder: str | None = None
    hits: dict[tuple[int, ...], int] = field(default_factory=dict)
    stray: dict[tuple[int, int], int] = field(default_factory=dict)
    only_impulses: list[Trap] = field(default_factory=list)

    @property
    def list(self) -> list[Trap]:
        """The sets, one of each orbit, by size, violated checks and bits."""
        return [Trap(tuple(bits), violated, count) for bits, violated, count in self.sets.sets]

    def rotations(self, trap: Trap) -> _Orbit:
        """All sets of an orbit, each ascending; for a matrix that is not quasi-cyclic the one set."""
        return self.sets.rotations(list(trap.bits))

    @property
    def classes(self) -> _Rows:
        """For each class its `bits`, `violated` checks, `orbits` and `sets`."""
        orbits: Counter[tuple[int, int]] = Counter()
        sets: Counter[tuple[int, int]] = Counter()
        for trap in self.list:
            key = (len(trap.bits), trap.violated)
            orbits[key] += 1
            sets[key] += trap.multiplicity
        return [
            {"bits": bits, "violated": violated, "orbits": orbits[bits, violated], "sets": sets[bits, violated]}
            for bits, violated in sorted(orbits)
        ]

    def compared(self) -> _Rows:
        """For each class the numbers of orbits that the search found, that impulses found, and that both found."""
        rows = {(c["bits"], c["violated"]): {**c, "search": 0, "impulses": 0, "both": 0} for c in self.classes}
        alone = {trap.bits for trap in self.only_impulses}
        for trap in self.list:
            row = rows[len(trap.bits), trap.violated]
            row["search"] += trap.bits not in alone
            row["impulses"] += trap.bits in self.hits
            row["both"] += trap.bits in self.hits and trap.bits not in alone
        return list(rows.values())

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "code": self.code.name,
            "codeword_bits": self.code.codeword_bits,
            "matrix": matrix_identity(self.code),
            "most_bits": self.most_bits,
            "most_violated": self.most_violated,
            "longest_cycle": self.longest_cycle,
            "impulses": self.impulses,
            "impulse_decoder": self.impulse_decoder,
            "classes": self.compared(),
            "stray": [{"bits": a, "violated": b, "hits": n} for (a, b), n in sorted(self.stray.items())],
            "sets": [
                {
                    "bits": list(trap.bits),
                    "violated": trap.violated,
                    "multiplicity": trap.multiplicity,
                    "hits": self.hits.get(trap.bits, 0),
                }
                for trap in self.list
            ],
        }

    def text(self) -> str:
        """The file of these sets, in TOML."""
        lines = [f'format = "{FORMAT}"', f'code = "{self.code.name}"', f'matrix = "{matrix_identity(self.code)}"']
        lines += [f"most_bits = {self.most_bits}", f"most_violated = {self.most_violated}"]
        lines += [f"longest_cycle = {self.longest_cycle}", f"impulses = {self.impulses}"]
        lines += ["sets = [", *(f"    [{', '.join(map(str, trap.bits))}]," for trap in self.list), "]"]
        return "\n".join(lines) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sets to a file that `load_traps` reads."""
        with replacing(Path(path)) as partial:
            partial.write_text(self.text(), encoding="utf-8")

    def plot(self, trap: Trap | None = None, *, style: str = "screen", columns: int | None = None) -> Figure:
        """Draw the graph of a set, by default the first; save the figure with its `savefig`.

        `style` and `columns` are those of `Comparison.plot`.
        """
        from softsense import plots

        chosen = trap or next(iter(self.list), None)
        if chosen is None:
            raise CodeError(f"{self.code.name}: found no absorbing set, expected at least one to draw")
        return plots.draw_trap(self.code, chosen, style, columns)


def matrix_identity(code: Code) -> str:
    """SHA-256 of a code's matrix, in hexadecimal."""
    text = code.to_qc() if code.punctured_bits else code.to_alist()
    return hashlib.sha256(text.encode()).hexdigest()


def load_traps(source: str | os.PathLike[str], code: Code) -> Traps:
    """Read absorbing sets from a file and check that they are sets of `code`.

    Raises:
        CodeError: a file that cannot be read, is malformed, or is of another code.
    """
    place = str(source)
    try:
        found = _core.read_toml(_core.read_text(Path(source)), place)
    except SoftsenseError as error:
        raise CodeError(str(error)) from None
    if found.get("format") != FORMAT:
        raise CodeError(f"{place}: format: found {found.get('format')!r}, expected `{FORMAT}`")
    whole = {"most_bits", "most_violated", "longest_cycle", "impulses"}
    kinds: dict[str, type] = dict.fromkeys(whole, int) | {"code": str, "matrix": str, "sets": list}
    for key, kind in kinds.items():
        if type(found.get(key)) is not kind:
            raise CodeError(f"{place}: {key}: found {found.get(key)!r}, expected {kind.__name__}")
    for key in sorted(whole):
        _check(f"{place}: {key}", found[key], 0, 2**63 - 1)
    if found["matrix"] != matrix_identity(code):
        raise CodeError(
            f"{place}: matrix: found sets of {found['code']!r}, whose matrix differs from that of {code.name}, "
            "expected sets of this code"
        )
    sets = found["sets"]
    if not all(type(bits) is list and all(type(bit) is int and 0 <= bit < 2**32 for bit in bits) for bits in sets):
        raise CodeError(f"{place}: sets: expected lists of bit numbers")
    try:
        listed = AbsorbingSets(code, sets)
    except CodeError as error:
        raise CodeError(f"{place}: {error}") from None
    return Traps(code, listed, **{key: found[key] for key in whole})


def shipped_traps(code: Code) -> Traps | None:
    """The absorbing sets that are shipped with a code, or None."""
    path = _SHIPPED / f"{code.name.replace('/', '-')}.toml"
    named = any(code.name == name for name, _ in Code.entries())
    return load_traps(path, code) if named and path.exists() else None


def failures_on_sets(
    traps: Traps,
    decoders: Sequence[str],
    *,
    rber: float = 0.0,
    frames: int = 1000,
    iterations: int = 20,
    seed: int = 1,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Failures of decoders on frames with a given number of wrong bits in one listed set.

    Args:
        traps: the sets.
        decoders: decoders, as `Code.decoder` takes them.
        rber: the probability that a hard decision elsewhere is wrong.
        frames: the least number of frames for each decoder, class of sets and number of wrong bits.
        iterations: number of iterations after which a decoder gives up.
        seed: seed of data and noise.
        workers: threads of this process (default: one per CPU), or any executor.
        store: a store or its file.
        progress: called now and then with a name, the frames counted so far and the completed fraction.

    Returns a row for each decoder, class and number of wrong bits, from all bits of a set down to all but two. Columns
    are `decoder`, `bits`, `violated`, `wrong`, `rber`, `frames`, `failures`, and the exact 95 % interval `lo` to `hi`
    of their share.

    Raises:
        SoftsenseError: a decoder or option is wrong; the message names it.
        Interrupted: Ctrl-C. The store keeps every count.
    """
    _check("rber", rber, 0, 0.5)
    _check("frames", frames, 1, 2**62)
    rows: list[dict[str, Any]] = []
    tasks = []
    for decoder in decoders:
        spec = {"decoder": decoder, "iterations": iterations, "seed": seed, "channel": {"hard": {"rber": rber}}}
        for found in traps.classes:
            bits, violated = found["bits"], found["violated"]
            for wrong in range(bits, max(0, bits - MOST_RIGHT - 1), -1):
                condition = {"bits": bits, "violated": violated, "wrong": wrong, "listed": traps.sets.identity}
                tasks.append(FrameTask(traps.code, json.dumps({**spec, "condition": condition}), traps.sets))
                rows.append({"decoder": decoder, "bits": bits, "violated": violated, "wrong": wrong, "rber": rber})
    if not tasks:
        return []
    asked = {"decoders": decoders, "rber": rber, "frames": frames, "iterations": iterations, "seed": seed}
    with opened_store(store) as kept, kept.doing(what="failures on sets", sets=traps.sets.identity, **asked):

        def plan() -> Plan[list[Counts]]:
            units = [whole_blocks(-(-frames // task.unit_frames)) for task in tasks]
            yield Round([Request(task, None, count) for task, count in zip(tasks, units, strict=True)])
            return [kept.counts(task, None, count) for task, count in zip(tasks, units, strict=True)]

        runner = Runner(kept, chosen_workers(workers), traps.code.name, progress)
        counted = runner.run([plan()])[0]
        if runner.interrupted or counted is None:
            raise Interrupted(None)
    for row, counts in zip(rows, counted, strict=True):
        lo, hi = _core.binomial_interval(counts.failures, counts.frames, CONFIDENCE)
        row |= {"frames": counts.frames, "failures": counts.failures, "lo": lo, "hi": hi}
    return rows


class SearchTask:
    """The exhaustive search of a code, in units that can be done anywhere and in any order."""

    def __init__(self, code: Code, most_bits: int, most_violated: int) -> None:
        self._of = (code, most_bits, most_violated)
        self._search: AbsorbingSetSearch | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[SearchTask], tuple[Code, int, int]]:
        return SearchTask, self._of

    @property
    def identity(self) -> str:
        """A hash of all inputs on which the results depend."""
        code, *limits = self._of
        return _digest("absorbing sets", 1, matrix_identity(code), *limits)

    def prepared(self, stop: StopFlag | None = None) -> AbsorbingSetSearch:
        """The search, prepared once in a process."""
        with self._lock:
            if self._search is None:
                self._search = AbsorbingSetSearch(*self._of, stop)
            return self._search

    def run(self, unit: int, stop: StopFlag | None = None) -> list[Any] | None:
        """The sets that a unit finds, each as its bits; None if `stop` was set meanwhile."""
        found = self.prepared(stop).search(unit, stop)
        return None if found is None else [bits for bits, _, _ in found]


class ImpulseTask:
    """Impulses through a decoder, in units that can be done anywhere and in any order.

    A few bits on short cycles are wrong, all others right. The decoder corrects them, or ends in a set of errors that
    it cannot leave.
    """

    def __init__(self, code: Code, decoder: str, iterations: int, seed: int) -> None:
        self._of = (code, decoder, iterations, seed)
        self._decoder = None if decoder == USUAL_IMPULSE_DECODER else code.decoder(decoder, iterations)

    def __reduce__(self) -> tuple[type[ImpulseTask], tuple[Code, str, int, int]]:
        return ImpulseTask, self._of

    @property
    def identity(self) -> str:
        """A hash of all inputs on which the results depend."""
        code, *rest = self._of
        return _digest("impulses", 1, matrix_identity(code), *rest)

    def run(self, unit: int, stop: StopFlag | None = None) -> dict[str, Any]:
        """The ends of a unit's impulses: `sets`, absorbing, and `stray`, others, each with how often."""
        code, _, _, seed = self._of
        drawn = _core.impulses(code, seed, unit * IMPULSES_A_UNIT, IMPULSES_A_UNIT, self._decoder is None)
        left = drawn if self._decoder is None else self._decoded(drawn)
        residues = Counter(tuple(bits) for bits in left if 0 < len(bits) <= _LARGEST_RESIDUE)
        sets: Counter[tuple[int, ...]] = Counter()
        stray: Counter[tuple[int, int]] = Counter()
        of = _core.bit_sets(code, [list(bits) for bits in residues])
        for bits, (first, violated, _, absorbing) in zip(residues, of, strict=True):
            if absorbing:
                sets[tuple(first)] += residues[bits]
            else:
                stray[len(first), violated] += residues[bits]
        return {"sets": sorted(sets.items()), "stray": sorted(stray.items())}

    def _decoded(self, drawn: list[list[int]]) -> list[list[int]]:
        assert self._decoder is not None
        left = []
        for start in range(0, len(drawn), _IMPULSES_AT_ONCE):
            some = drawn[start : start + _IMPULSES_AT_ONCE]
            words = np.zeros((len(some), self._of[0].codeword_bits), dtype=np.uint8)
            for word, bits in zip(words, some, strict=True):
                word[bits] = 1
            decided = np.unpackbits(self._decoder.decode(np.packbits(words, axis=1)).word, axis=1)
            left += [np.flatnonzero(word).tolist() for word in decided]
        return left


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise CodeError(f"{name}: found {value}, expected {least} to {most}")


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def find_traps(
    code: Code | str | os.PathLike[str],
    *,
    most_bits: int = USUAL_BITS,
    most_violated: int | None = None,
    impulses: int = 0,
    impulse_decoder: str = USUAL_IMPULSE_DECODER,
    iterations: int = 20,
    seed: int = 1,
    workers: int | Executor | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Traps:
    """Find the small absorbing sets of an LDPC code.

    The search is exhaustive for elementary sets of up to `most_bits` bits (docs/model/error-floors.md says which) and
    takes one cycle of each orbit of a quasi-cyclic matrix. Impulses serve any matrix, and find the sets in which a
    decoder ends. Results do not depend on workers.

    Args:
        code: an LDPC code, or a name or file that `Code.open` takes.
        most_bits: the most bits of a set, 3 to 14; 0 for no search.
        most_violated: the most violated checks of a listed set; default: no limit.
        impulses: the least number of words with an impulse that are decoded (rounded up to a multiple of 8,192).
        impulse_decoder: the decoder of impulses: `gallager` or any that `Code.decoder` takes, on hard decisions.
        iterations: number of iterations after which it gives up.
        seed: seed of impulses.
        workers: threads of this process (default: one per CPU), or any executor.
        store: a store or its file: results of the search are kept there and not computed again.
        progress: called now and then with a name, the units done so far and the completed fraction.

    Raises:
        SoftsenseError: a code, option, store or worker is wrong; the message names it.
        Interrupted: Ctrl-C. The store keeps every unit.

    >>> import softsense
    >>> traps = softsense.find_traps("teaching-1/2", most_bits=4)
    >>> traps.classes
    [{'bits': 3, 'violated': 3, 'orbits': 7, 'sets': 56}]
    """
    opened = code if isinstance(code, Code) else Code.open(code)
    most_violated = _ALL_VIOLATED if most_violated is None else most_violated
    _check("most_bits", most_bits, 0, 2**31)
    _check("most_violated", most_violated, 0, _ALL_VIOLATED)
    _check("impulses", impulses, 0, MOST_IMPULSES)
    _check("seed", seed, 0, 2**64 - 1)
    if not most_bits and not impulses:
        raise CodeError("most_bits: found neither a search (--bits above 0) nor impulses, expected one of the two")
    known: set[tuple[int, ...]] = set()
    hits, stray = Counter[tuple[int, ...]](), Counter[tuple[int, int]]()
    longest, workers = 0, chosen_workers(workers)
    # A decoder that does not exist is reported before the search.
    pushing = ImpulseTask(opened, impulse_decoder, iterations, seed) if impulses else None
    asked = {"sets": [most_bits, most_violated], "impulses": impulses, "seed": seed, "code": opened.name}
    asked |= {"decoder": impulse_decoder, "iterations": iterations, "matrix": matrix_identity(opened)}
    with opened_store(store) as kept, kept.doing(what="absorbing sets", **asked):

        def run(task: Any, units: int, what: str) -> list[Any]:
            found = run_units(kept, workers, task, units, f"{what} of {opened.name}", progress)
            if found is None:
                raise Interrupted(None)
            return found

        if most_bits:
            search = SearchTask(opened, most_bits, most_violated)
            stop = StopFlag()
            try:
                prepared = in_background(lambda: search.prepared(stop), stop)
            except KeyboardInterrupt:
                stop.set()
            if stop.is_set:
                raise Interrupted(None)
            longest = prepared.longest_cycle
            for sets in run(search, prepared.units, "absorbing sets"):
                known.update(map(tuple, sets))
        searched = set(known)
        if pushing:
            for found in run(pushing, -(-impulses // IMPULSES_A_UNIT), "impulses"):
                hits.update({tuple(bits): times for bits, times in found["sets"]})
                stray.update({tuple(size): times for size, times in found["stray"]})
            found = _core.bit_sets(opened, [list(bits) for bits in hits])
            known.update(tuple(bits) for bits, violated, _, _ in found if violated <= most_violated)
    listed = AbsorbingSets(opened, [list(bits) for bits in sorted(known)])
    traps = Traps(
        opened,
        listed,
        most_bits,
        most_violated if most_bits else 0,
        longest,
        -(-impulses // IMPULSES_A_UNIT) * IMPULSES_A_UNIT,
        impulse_decoder if impulses else None,
        dict(hits),
        dict(stray),
    )
    traps.only_impulses = [trap for trap in traps.list if trap.bits not in searched]
    return traps
