"""Searches: an optimiser asks for designs, batch by batch, near the frontier of the designs that it knows.

The optimiser is Optuna's, with a seed. It proposes a whole batch, and gets the results in the order of its proposals.
So the designs that are simulated are a function of the sweep and of their results, whoever simulates them. A search
that was stopped proposes the same designs again, and results that were kept are not simulated again.

Source: S. Watanabe, "Tree-structured Parzen estimator: understanding its algorithm components and their roles for
better empirical performance", arXiv:2304.11127, 2023 (`tpe`); K. Deb et al., "A fast and elitist multiobjective genetic
algorithm: NSGA-II", IEEE Trans. Evol. Comput. 6(2), 2002 (`nsga2`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from softsense._core import ConfigError
from softsense.base import check_extra
from softsense.latin_hypercube import LatinHypercube, Range

if TYPE_CHECKING:
    import optuna

    from softsense.designs import Group
    from softsense.sweep_file import Sweep

SAMPLERS = ("tpe", "nsga2")
"""The optimisers."""

POLICY = "policy"
"""Name of the read policy among the parameters of the optimiser. No config field has that name."""

# A design that cannot be simulated counts as farther from every frontier than one that breaks a constraint.
_HOPELESS = 1e6
_MOST_TRIES = 50
_MOST_LISTED = 100_000


@dataclass(frozen=True)
class Search:
    """The number of designs that an optimiser may try, and the space of designs.

    Attributes:
        designs: number of designs, each with all traces and seeds.
        fields: for each config field its range, or a list of values.
        batch: designs per batch, which can be simulated at the same time.
        seed: seed of the optimiser.
        sampler: `tpe` or `nsga2`.
    """

    designs: int
    fields: Mapping[str, Range | Sequence[Any]]
    batch: int = 4
    seed: int = 1
    sampler: str = "tpe"


@dataclass(frozen=True)
class Wanted:
    """A design that is asked for: a setting of the swept fields, and a read policy (None for the config's)."""

    setting: Mapping[str, Any]
    policy: str | None

    @property
    def key(self) -> str:
        """A key that identifies the design."""
        return json.dumps([self.setting, self.policy])


@dataclass(frozen=True)
class Told:
    """The results of a design, as the optimiser gets them.

    Attributes:
        values: values by objective; None where an objective has no number.
        violation: the size of its problems; 0 for a contender.
    """

    values: tuple[float, ...] | None
    violation: float


class Searching:
    """A search under way.

    Args:
        search: the space of designs, and the number of designs.
        policies: read policies to choose from; empty for the config's policy.
        better: for each objective `lower` or `higher`.

    Raises:
        ConfigError: Optuna is not installed.
    """

    def __init__(self, search: Search, policies: Sequence[str], better: Sequence[str]) -> None:
        self._space: dict[str, Range | Sequence[Any]] = dict(search.fields)
        if policies:
            self._space[POLICY] = list(policies)
        self._search, self._told = search, dict[str, Told]()
        self._left, self._better = search.designs, better
        if (size := self._size()) is not None:
            self._left = min(self._left, size)
        found = _optuna()
        self._distributions = {name: _distribution(found, values) for name, values in self._space.items()}
        self._failed, self._complete = found.trial.TrialState.FAIL, found.trial.TrialState.COMPLETE
        # The designs that the optimiser needs before it begins to learn are spread out evenly, and not drawn at random.
        start = min(self._left, max(search.batch, search.designs // 5))
        self._study = self._begun(found, start)
        for sample in LatinHypercube(start, _shares(self._space), search.seed).draw():
            self._study.enqueue_trial({name: self._inner(name, sample[name]) for name in self._space})
        self._trials: dict[str, optuna.trial.Trial] = {}

    @property
    def designs(self) -> int:
        """The number of designs that it tries in total, at most the number of all designs."""
        return self._left + len(self._told) + len(self._trials)

    def ask(self) -> list[Wanted]:
        """The next batch of new designs; empty when all permitted ones have been asked for."""
        batch: list[Wanted] = []
        while self._left and len(batch) < self._search.batch:
            if (wanted := self._next()) is None:
                self._left = 0
                break
            batch.append(wanted)
            self._left -= 1
        return batch

    def tell(self, told: Mapping[str, Told]) -> None:
        """Take the results of the last batch, by key."""
        for key, trial in self._trials.items():
            self._told[key] = told[key]
            self._end(trial, told[key])
        self._trials.clear()

    def _next(self) -> Wanted | None:
        for _ in range(_MOST_TRIES):
            trial = self._study.ask(self._distributions)
            wanted = self._wanted(trial.params)
            if wanted.key in self._trials:
                self._study.tell(trial, state=self._failed)
            elif wanted.key in self._told:
                # A design that is known already is reported again, so that the optimiser proposes others.
                self._end(trial, self._told[wanted.key])
            else:
                self._trials[wanted.key] = trial
                return wanted
        for params in self._all():
            wanted = self._wanted(params)
            if wanted.key not in self._told and wanted.key not in self._trials:
                self._study.enqueue_trial(params)
                self._trials[wanted.key] = self._study.ask(self._distributions)
                return wanted
        return None

    def _end(self, trial: optuna.trial.Trial, told: Told) -> None:
        trial.set_constraint("problems", told.violation)
        values = told.values
        if values is None:
            # No values are known; the violation says how bad the design is.
            known = [each.values for each in self._told.values() if each.values is not None]
            pick = [max if better == "lower" else min for better in self._better]
            columns = zip(*known, strict=True) if known else itertools.repeat((0.0,), len(pick))
            values = tuple(worst(column) for worst, column in zip(pick, columns, strict=True))
        self._study.tell(trial, list(values), state=self._complete)

    def _begun(self, found: Any, start: int) -> optuna.Study:
        seed = self._search.seed
        if seed >= 2**32:
            # The optimiser takes 32 bits.
            seed = int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4], "big")
        with warnings.catch_warnings():
            # Features that Optuna calls experimental have not changed for years.
            warnings.simplefilter("ignore", found.exceptions.ExperimentalWarning)
            if self._search.sampler == "tpe":
                known: dict[str, Any] = {"multivariate": True, "constant_liar": True}
                sampler = found.samplers.TPESampler(n_startup_trials=start, seed=seed, **known)
            else:
                population = max(4, min(50, self._search.designs // 4))
                sampler = found.samplers.NSGAIISampler(population_size=population, seed=seed)
        directions = ["minimize" if better == "lower" else "maximize" for better in self._better]
        study: optuna.Study = found.create_study(sampler=sampler, directions=directions)
        return study

    def _wanted(self, params: Mapping[str, Any]) -> Wanted:
        setting = {name: _value(self._space[name], params[name]) for name in self._space}
        policy = setting.pop(POLICY, None)
        return Wanted(setting, policy)

    def _inner(self, name: str, share: float) -> Any:
        """The optimiser's value for a position in a field's range."""
        values = self._space[name]
        return values.at(share) if isinstance(values, Range) else min(int(share * len(values)), len(values) - 1)

    def _size(self) -> int | None:
        """The number of all designs; None if it is not finite."""
        sizes = [_many(values) for values in self._space.values()]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    def _all(self) -> Iterator[dict[str, Any]]:
        """All designs in a shuffled order; none if there are too many."""
        size = self._size()
        if size is None or size > _MOST_LISTED:
            return
        choices = [
            range(int(v.low), int(v.high) + 1) if isinstance(v, Range) else range(len(v)) for v in self._space.values()
        ]
        every = [dict(zip(self._space, chosen, strict=True)) for chosen in itertools.product(*choices)]
        shares = LatinHypercube(size, {}, self._search.seed).shares(POLICY)
        yield from (every[int(share * size)] for share in shares)


def violation(groups: Iterable[Group]) -> float:
    """The size of a design's problems on all its traces."""
    amounts = [problem.amount for group in groups for problem in group.problems]
    return sum(min(max(amount, 1e-9), _HOPELESS) for amount in amounts)


def hopeless() -> Told:
    """The result of a design that could not be simulated."""
    return Told(None, 2 * _HOPELESS)


def told(groups: Sequence[Group], objectives: Sequence[tuple[str, str | None]], every: bool) -> Told:
    """The results of a design, as the optimiser gets them.

    Args:
        groups: its points on each trace; none if it could not be simulated.
        objectives: columns, each on a trace.
        every: whether designs with problems are contenders, too.
    """
    by_trace = {group.trace: group for group in groups}
    values = []
    for column, trace in objectives:
        rows = by_trace[trace].rows if trace in by_trace else ()
        numbers = [row[column] for row in rows]
        if not numbers or None in numbers:
            return hopeless()
        values.append(fmean(numbers))
    return Told(tuple(values), 0.0 if every else violation(groups))


def objectives(sweep: Sweep) -> tuple[list[tuple[str, str | None]], list[str]]:
    """The objectives of a search: each column of the frontiers on each trace.

    For each of them the second list says whether `lower` or `higher` is better.

    Raises:
        ConfigError: a column that is to be lower in one frontier and higher in another.
    """
    better: dict[str, str] = {}
    for pair in sweep.pairs:
        for column, which in zip((pair.x, pair.y), pair.better, strict=True):
            if better.setdefault(column, which) != which:
                message = (
                    f"frontier.pairs: found {column} as better lower and as better higher, expected one direction for "
                    "a search"
                )
                raise ConfigError(f"{sweep.origin}: {message}")
    traces: list[str | None] = [trace.name for trace in sweep.traces] or [None]
    wanted = [(column, trace, which) for column, which in better.items() for trace in traces]
    return [(column, trace) for column, trace, _ in wanted], [which for _, _, which in wanted]


def _shares(space: Mapping[str, Any]) -> dict[str, Range | Sequence[Any]]:
    return dict.fromkeys(space, Range(0.0, 1.0))


def _many(values: Range | Sequence[Any]) -> int | None:
    if isinstance(values, Range):
        return int(values.high - values.low) + 1 if values.whole else None
    return len(values)


def _value(values: Range | Sequence[Any], inner: Any) -> Any:
    if isinstance(values, Range):
        # The value has as many digits as a Latin hypercube gives.
        return int(inner) if values.whole else float(f"{inner:.12g}")
    return values[int(inner)]


def _distribution(optuna: Any, values: Range | Sequence[Any]) -> Any:
    if isinstance(values, Range):
        kind = optuna.distributions.IntDistribution if values.whole else optuna.distributions.FloatDistribution
        return kind(values.low, values.high, log=values.log)
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    # Between numbers in their order there is a nearer and a farther.
    if len(values) > 2 and numbers == list(values) == sorted(numbers):
        return optuna.distributions.IntDistribution(0, len(values) - 1)
    return optuna.distributions.CategoricalDistribution(range(len(values)))


def _optuna() -> Any:
    check_extra("[search]", "search")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
