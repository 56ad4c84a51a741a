"""How much of a frontier do 60 designs find that are chosen by a search, by a Latin hypercube, or at random?

All 400 designs of examples/search-design.toml are simulated once, some five minutes; then each way chooses 60 of them,
with ten seeds, and their results are looked up. The numbers are those of real searches, which simulate the designs that
they choose.

    python examples/search_compared.py
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from softsense.base import inline
from softsense.designs import pareto
from softsense.latin_hypercube import Range
from softsense.search import Search, Searching, Told, objectives, told
from softsense.sweep import LatinHypercube, Sweep, SweepResult, sweep

BETTER = ("lower", "higher")
SEEDS = range(1, 11)


def key(setting: Mapping[str, object], policy: str | None) -> str:
    """The key of a design, the same for all ways to choose it."""
    return json.dumps([policy, *(inline(value) if isinstance(value, dict) else value for value in setting.values())])


def known(result: SweepResult) -> dict[str, Told]:
    """The results of all designs."""
    wanted, _ = objectives(result.sweep)
    return {key(group.setting, group.policy): told([group], wanted, False) for group in result.judged.groups}


class Compared:
    """Ways to choose designs, judged by the frontier of all."""

    def __init__(self, spec: Sweep, designs: Mapping[str, Told]) -> None:
        assert spec.search
        self._space, self._policies, self._many = spec.search.fields, spec.policies, spec.search.designs
        self._designs = designs
        places = self._contenders(list(designs))
        # What a volume is measured from: the worst of all contenders.
        self._corner = max(x for x, _ in places), min(y for _, y in places)
        self._best = {places[i] for i in pareto(places, BETTER)}
        self._whole = self._volume(places)

    def search(self, seed: int, sampler: str, batch: int) -> list[str]:
        """Choose by an optimiser."""
        found: list[str] = []
        search = Searching(Search(self._many, self._space, batch, seed, sampler), self._policies, BETTER)
        while batch_of := search.ask():
            keys = {wanted.key: key(wanted.setting, wanted.policy) for wanted in batch_of}
            search.tell({each: self._designs[known] for each, known in keys.items()})
            found += keys.values()
        return found

    def latin_hypercube(self, seed: int) -> list[str]:
        """Choose each value of each field equally often."""
        samples = LatinHypercube(self._many, {**self._space, "policy": self._policies}, seed).draw()
        return [key(sample, sample.pop("policy")) for sample in samples]

    def by_lot(self, seed: int) -> list[str]:
        """Choose at random, each design at most once."""
        return random.Random(seed).sample(sorted(self._designs), self._many)

    def score(self, chosen: Sequence[str]) -> tuple[float, float]:
        """The share of the places on the frontier that were found, and of its hypervolume."""
        places = self._contenders(chosen)
        return len(self._best & set(places)) / len(self._best), self._volume(places) / self._whole

    def _contenders(self, chosen: Sequence[str]) -> list[tuple[float, float]]:
        told = [self._designs[each] for each in chosen]
        return [(each.values[0], each.values[1]) for each in told if each.values and not each.violation]

    def _volume(self, places: Sequence[tuple[float, float]]) -> float:
        """The hypervolume between a frontier and the corner."""
        best = sorted({places[i] for i in pareto(places, BETTER)})
        rights = [*(x for x, _ in best[1:]), self._corner[0]]
        return sum((right - x) * (y - self._corner[1]) for (x, y), right in zip(best, rights, strict=True))


def main() -> None:
    """Print the table of docs/sweeps.md."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/search-compared"), metavar="FOLDER")
    parser.add_argument("--workers", type=int, default=None)
    asked = parser.parse_args()
    spec = Sweep.open(Path(__file__).parent / "search-design.toml")
    assert spec.search
    every = {}
    for name, values in spec.search.fields.items():
        assert not isinstance(values, Range), name
        every[name] = list(values)
    grid = replace(spec, search=None, grid=every)
    compared = Compared(spec, known(sweep(grid, out=asked.out, workers=asked.workers)))
    ways: dict[str, Callable[[int], list[str]]] = {
        "by lot": compared.by_lot,
        "Latin hypercube": compared.latin_hypercube,
        "search, `nsga2`, 4 at a time": lambda seed: compared.search(seed, "nsga2", 4),
        "search, `tpe`, 16 at a time": lambda seed: compared.search(seed, "tpe", 16),
        "search, `tpe`, 8 at a time": lambda seed: compared.search(seed, "tpe", 8),
        "search, `tpe`, 4 at a time (default)": lambda seed: compared.search(seed, "tpe", 4),
    }
    print("| way | share of the frontier: mean (least to most) | of its hypervolume: mean (least) |\n|---|---|---|")
    for name, way in ways.items():
        shares, volumes = zip(*(compared.score(way(seed)) for seed in SEEDS), strict=True)
        told = f"{fmean(shares):.0%} ({min(shares):.0%} to {max(shares):.0%})"
        print(f"| {name} | {told} | {fmean(volumes):.1%} ({min(volumes):.1%}) |")


if __name__ == "__main__":
    main()
