"""Shards: parts of a campaign that are measured without knowing of each other, and added up by `softsense merge`.

Each of n shards is given the same command, and maybe the same *base*: a store into which earlier shards were merged. A
plan decides round by round what is counted next, from all of its counts, which no shard has. So each shard counts what
is quickly counted, as the others do. Beyond that it foresees: a plan goes on with as many failures as it expects
itself. The ranges of units that it then asks for are dealt out in n equal parts, and each shard counts its own. All
shards foresee the same, as that is a function of the base and of the counts that all of them make.

Foreseen failures determine only which frames are counted, not the counts. With the shards merged a plan meets real
counts. Where these differ from the foreseen ones it asks for more, as the base of further shards or in one process. The
result is that of one process that counts everything.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from softsense._core import ConfigError
from softsense.counts import Counts, Place, Row, gaps, place_of
from softsense.parts import Part, differing, share_told
from softsense.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from softsense._core import FrameTask
    from softsense.sampling import Request

_PILOT_UNITS = 4
"""The most units of a range that every shard counts; of a longer range it foresees the failures."""


def parse_part(text: str) -> tuple[int, int]:
    """The part and the number of parts in a text such as `3/64`.

    >>> parse_part("3/64")
    (3, 64)

    Raises `ConfigError` for any other text.
    """
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
    part, parts = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= part <= parts:
        raise ConfigError(f"--shard: found `{text}`, expected PART/PARTS from 1/PARTS to PARTS/PARTS, such as 3/64")
    return part, parts


def beside(store: str | os.PathLike[str], part: int, parts: int) -> Path:
    """The file of a shard of a store, beside that of all: `flash-3-of-64.fer` for `flash.fer`."""
    whole = Path(store)
    return whole.with_name(f"{whole.stem}-{part}-of-{parts}{whole.suffix}")


class Shard(Store):
    """The store of one shard, which counts its own part of what a plan is expected to need.

    Any measurement takes it as its `store`, in processes that need not know of each other, anywhere, at any time:

    >>> import pathlib, tempfile, softsense
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> asked = {"rber": [0.007], "method": "direct", "relative_error": 0.02}
    >>> for part in (1, 2):
    ...     with softsense.Shard(folder / "all.fer", part, 2) as shard:
    ...         try:
    ...             softsense.measure_fer("bch:m=8,t=5,k=215", store=shard, **asked)
    ...         except softsense.ShardDone:
    ...             print("shard", part)
    shard 1
    shard 2
    >>> merged = softsense.merge(folder / "all.fer", folder.glob("all-*-of-2.fer"))
    >>> result = softsense.measure_fer("bch:m=8,t=5,k=215", store=folder / "all.fer", **asked)
    >>> result.points == softsense.measure_fer("bch:m=8,t=5,k=215", **asked).points
    True

    A measurement ends with `ShardDone` when its share is done. A shard that was stopped goes on. Where the store of all
    has everything, the measurement returns its result as usual.

    Args:
        whole: the file of the store of all. If it exists it is the base, which is read and never written. The shard's
            own file is beside it (`beside`), and is made if there is none.
        part: the number of the shard, from 1.
        parts: the number of shards.

    Raises:
        ConfigError: there is no such part.
        FileError: a file is not a store, is damaged or in use.
    """

    def __init__(self, whole: str | os.PathLike[str], part: int, parts: int) -> None:
        if not 1 <= part <= parts:
            raise ConfigError(f"shard: found part {part} of {parts}, expected from 1 to {parts}")
        self.part, self.parts, self._of_all = part, parts, Path(whole)
        self._base_rows: dict[Place, list[Row]] = {}
        self._base_texts: dict[tuple[str, int], str] = {}
        if self._of_all.exists():
            with Store(self._of_all, read_only=True) as base:
                self._base_rows, self._base_texts = base.rows(), base.texts()
        super().__init__(beside(whole, part, parts))
        self.in_turn = True
        self._plan = ""
        self._planned: Counter[Place] = Counter()
        self._pilots: dict[Place, list[tuple[int, int]]] = {}
        self._foreseen: dict[Place, list[tuple[int, int, float]]] = {}
        self._share: list[tuple[FrameTask, int | None, int, int]] = []
        self._foresaw = False
        self._dealt = 0
        self._fresh: set[tuple[Place, int]] = set()
        self._alone = False
        # Counts made with another base may overlap ranges of this one in part, which could not be merged: drop them.
        for place, rows in self.rows().items():
            of_base = self._base_rows.get(place, [])
            self.drop(place, [row for row in rows if _is_counted_in_part(gaps(of_base, row.first_unit, row.end), row)])

    @contextlib.contextmanager
    def whole(self, number: int, of: str) -> Iterator[bool]:
        """Enter a step as `Store.whole` does, and keep that it is done, so that all shards know it from the base."""
        done = self.result(of, 0) is not None
        if not done and number % self.parts != self.part - 1:
            yield False
            return
        self._alone = True
        try:
            yield True
        finally:
            self._alone = False
        if not done:
            self.add_result(of, 0, True)

    def ask(self, request: Request) -> list[tuple[int, int]]:
        """Ask as `Store.ask` does; a range of more than a few units is foreseen, and the shard's part promised."""
        place, task = request.place, request.task
        base, planned = self._base_rows.get(place, []), self._planned[place]
        if self._alone:
            own = self._of(task, request.errors)
            return [gap for piece in gaps(base, 0, request.units) for gap in gaps(own, *piece)]
        if request.units > planned:
            self._planned[place] = request.units
            missing = gaps(base, planned, request.units)
            if sum(end - start for start, end in missing) <= _PILOT_UNITS:
                self._pilots.setdefault(place, []).extend(missing)
            else:
                self._promise(request, missing)
        own = self._of(task, request.errors)
        return [gap for start, end in self._pilots.get(place, ()) for gap in gaps(own, start, min(end, request.units))]

    def _promise(self, request: Request, missing: list[tuple[int, int]]) -> None:
        self._foresaw = True
        failing = request.failing
        if failing is None:
            known = self.counts(request.task, request.errors, self._planned[request.place])
            failing = (known.failures + 0.5) / (known.frames + 1)
        for start, end in missing:
            self._foreseen.setdefault(request.place, []).append((start, end, failing))
            first, last = self._range_of_part(end - start)
            own = self._of(request.task, request.errors)
            for piece in gaps(own, start + first, start + last):
                self._share.append((request.task, request.errors, *piece))

    def _range_of_part(self, units: int) -> tuple[int, int]:
        """The shard's part of so many units; the remainder goes to one shard after the other."""
        each, rest = divmod(units, self.parts)
        with_one_more = [(self._dealt + i) % self.parts for i in range(rest)]
        self._dealt = (self._dealt + rest) % self.parts
        index = self.part - 1
        first = index * each + sum(lucky < index for lucky in with_one_more)
        return first, first + each + (index in with_one_more)

    def counts(self, task: FrameTask, errors: int | None, units: int) -> Counts:
        """Counts as `Store.counts` gives them, with the failures that are foreseen."""
        place = place_of(task, errors)
        base, own = self._base_rows.get(place, []), self._of(task, errors)
        pilots = self._pilots.get(place, [])
        real = [row for row in base if row.end <= units]
        if self._alone:
            pilots = gaps(base, 0, units)
        real += [row for row in own if row.end <= units and any(a <= row.first_unit < b for a, b in pilots)]
        counts = sum((row.counts for row in real), Counts())
        for start, end, failing in () if self._alone else self._foreseen.get(place, ()):
            if frames := max(0, min(end, units) - start) * task.unit_frames:
                counts += Counts(frames, round(failing * frames))
                self._foresaw = True
        return counts

    def _joined(self, place: Place, at: int) -> Row:
        row = super()._joined(place, at)
        self._fresh.add((place, row.first_unit))
        return row

    def _joins(self, place: Place, row: Row) -> bool:
        # In the store of all, rows of an earlier share may be joined to those of others; a row joined here would then
        # overlap them in part.
        return (place, row.first_unit) in self._fresh

    def promised(self) -> list[tuple[FrameTask, int | None, int, int]] | None:
        """The ranges that this shard is to count, each told once; None if nothing was foreseen since the last call."""
        foresaw, self._foresaw = self._foresaw, False
        share, self._share = self._share, []
        return share if foresaw else None

    def to_do(self, works: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Units that the base lacks and that are dealt to this shard, without those that are done."""
        missing = [work for work in works if work not in self._base_texts]
        if self._alone:
            return super().to_do(missing)
        mine = missing[(self.part - 1 - self._dealt) % self.parts :: self.parts]
        self._dealt = (self._dealt + len(missing)) % self.parts
        return super().to_do(mine)

    def _text(self, identity: str, unit: int) -> str | None:
        return self._base_texts.get((identity, unit)) or super()._text(identity, unit)

    def _begin(self, plan: str) -> None:
        self._plan = plan
        for part in self.plans():
            if part.plan != plan:
                self._refuse(
                    f"found a shard of another command, expected a shard of this command: {differing(part.plan, plan)}"
                )
        self.note(Part(plan, self.part, self.parts, ended=False))

    def _end(self) -> None:
        if self._plan:
            self.note(Part(self._plan, self.part, self.parts, ended=True))

    def told(self) -> str:
        """A message: this shard has done its share, and the command that merges all of them."""
        others = self._of_all.with_name(f"{self._of_all.stem}-*-of-{self.parts}{self._of_all.suffix}")
        return share_told(self.part, self.parts, self._name, self._of_all, others)


def _is_counted_in_part(missing: list[tuple[int, int]], row: Row) -> bool:
    """Whether a base has a part of a row, and not all of it."""
    return bool(missing) and missing != [(row.first_unit, row.end)]
