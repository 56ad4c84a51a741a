"""Comparisons of read policies with several seeds: means and differences with their intervals."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from softsense._core import Config, ConfigError
from softsense.api import compare, load_config
from softsense.base import Interrupted, Progress
from softsense.intervals import interval_of, paired, plus_minus
from softsense.read_policies import is_bound
from softsense.results import Comparison, RunResult
from softsense.traces import Trace

if TYPE_CHECKING:
    import polars as pl

STATISTICS = {"mean_us": "mean", "p99_us": "p99", "p999_us": "p99.9"}
"""Statistics of response times: their fields in summaries, and their names."""
_KINDS = ("read", "write")
_REFERENCE = "two_step"


@dataclass
class SeededComparison:
    """Results of several comparisons that differ only in their seeds.

    Attributes:
        seeds: the seeds in order.
        comparisons: one for each seed; fewer if it was interrupted.
    """

    seeds: list[int]
    comparisons: list[Comparison] = field(default_factory=list)

    @property
    def interrupted(self) -> bool:
        """Whether seeds are missing."""
        return len(self.comparisons) < len(self.seeds)

    @property
    def first(self) -> Comparison:
        """The comparison with the first seed."""
        return self.comparisons[0]

    @property
    def reference(self) -> str:
        """The policy with which others are compared: `two_step`, or the first one that can be built."""
        names = [run.name for run in self.first.runs]
        able = [run.name for run in self.first.runs if not is_bound(run.summary)] or names
        return next((name for name in able if name.partition(":")[0] == _REFERENCE), able[0])

    @cached_property
    def table(self) -> pl.DataFrame:
        """A row for each policy, kind of request and statistic.

        Columns: policy, kind (`read`, `write`), stat (`mean`, `p99`, `p99.9`), seeds (i64). mean_us and half_width_us
        (f64) are the mean over seeds of the statistic, and half of its 95 % interval by Student's t; null with one
        seed. difference_us and difference_half_width_us (f64) are those of the difference to `reference`, seed by seed.
        """
        import polars as pl

        rows: list[dict[str, Any]] = []
        for kind in _KINDS:
            for stat, told in STATISTICS.items():
                reference = self.values(self.reference, kind, stat)
                for run in self.first.all_runs:
                    values = self.values(run.name, kind, stat)
                    if not values or len(values) != len(reference):
                        continue
                    mean, half = interval_of(stat, values)
                    off, off_half, left_open = paired(stat, values, reference)
                    if off_half is not None and run.name != self.reference:
                        off_half += left_open
                    row = {"policy": run.name, "kind": kind, "stat": told, "seeds": len(values)}
                    row |= {"mean_us": mean, "half_width_us": half}
                    rows.append(row | {"difference_us": off, "difference_half_width_us": off_half})
        schema: dict[str, Any] = {"policy": pl.String, "kind": pl.String, "stat": pl.String, "seeds": pl.Int64}
        numbers = ("mean_us", "half_width_us", "difference_us", "difference_half_width_us")
        return pl.DataFrame(rows, schema=schema | dict.fromkeys(numbers, pl.Float64))

    def values(self, name: str, kind: str, stat: str) -> list[float]:
        """A statistic of a policy's responses, seed by seed; seeds without such requests are left out."""
        found = []
        for comparison in self.comparisons:
            run = next(run for run in comparison.all_runs if run.name == name)
            value = run.summary["response"][kind][stat]
            found += [] if value is None else [float(value)]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "seeds": self.seeds,
            "interrupted": self.interrupted,
            "reference": self.reference,
            "intervals": self.table.to_dicts(),
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
        }

    def text(self, width: int = 150) -> str:
        """The means, and the differences to `reference`, as blocks for the terminal."""
        from softsense.tables import paneled

        rows = self.table.to_dicts()
        names = list(dict.fromkeys(row["policy"] for row in rows))
        heads = list(dict.fromkeys((row["kind"], row["stat"]) for row in rows))
        by = {(row["policy"], row["kind"], row["stat"]): row for row in rows}

        def cells(those: Sequence[str], mean: str, half: str) -> list[tuple[str, list[str]]]:
            columns = []
            for kind, stat in heads:
                found = [by.get((name, kind, stat)) for name in those]
                told = [plus_minus(row[mean], row[half]) if row else "-" for row in found]
                columns.append((f"{kind}\n{stat}", told))
            return columns

        shown = [name.replace("_", " ") if name == "no_soft_sensing" else name for name in names]
        count = len(self.comparisons)
        title = f"Response time of requests over {count} seeds, mean and 95 % interval (us)"
        blocks = [paneled(title, "policy", shown, cells(names, "mean_us", "half_width_us"), width)]
        others = [name for name in names if name != self.reference]
        if others and count > 1:
            title = f"Difference to {self.reference}, seed by seed (us)"
            shown = [name.replace("_", " ") if name == "no_soft_sensing" else name for name in others]
            columns = cells(others, "difference_us", "difference_half_width_us")
            blocks.append(paneled(title, "policy", shown, columns, width))
        return "\n\n".join(blocks)

    def finding(self) -> str:
        """A sentence: whether the fastest policy reads faster than the reference by more than seeds differ."""
        rows = self.table.filter((self.table["kind"] == "read") & (self.table["stat"] == "mean")).to_dicts()
        contenders = {run.name for run in self.first.runs if not is_bound(run.summary)}
        rows = [row for row in rows if row["policy"] in contenders]
        if not rows:
            return "Nothing was read."
        best = min(rows, key=lambda row: float(row["mean_us"]))
        count = len(self.comparisons)
        told = f"Over {count} seeds {best['policy']} reads in {plus_minus(best['mean_us'], best['half_width_us'])} us"
        if best["policy"] == self.reference:
            return f"{told}."
        less, half = -best["difference_us"], best["difference_half_width_us"]
        if half is None:
            return f"{told}, {less:,.1f} us less than {self.reference}."
        if less <= half:
            return (
                f"{told}; these seeds do not show that {best['policy']} is faster than {self.reference} "
                f"(difference {plus_minus(less, half)} us)."
            )
        return f"{told}, {plus_minus(less, half)} us less than {self.reference}."


def compare_seeds(
    config: str | os.PathLike[str] | Config,
    trace: str | os.PathLike[str] | Trace | None = None,
    *,
    seeds: int | Sequence[int],
    progress: Progress | None = None,
    **options: Any,
) -> SeededComparison:
    """Simulate several read policies with several seeds, each policy with the same ones.

    With one seed all policies read the same codewords with the same random draws. So differences are taken seed by
    seed, and effects of the seed on both policies cancel.

    Args:
        config: a TOML file or a `Config`.
        trace: a trace, as for `softsense.compare`.
        seeds: the seeds, or their number, counted from the seed of the config.
        progress: called now and then with a run's name and seed, its completed requests and completed fraction.
        **options: options of `softsense.compare`, without `seed` and `log_requests`.

    A function of its arguments, whatever `jobs` is. Raises as `softsense.compare` does; the `result` of `Interrupted`
    has the seeds that were complete, and is None if none was.
    """
    overrides = options.pop("overrides", ())
    base = config if isinstance(config, Config) else load_config(config)
    base = base.with_overrides(list(overrides)) if overrides else base
    if isinstance(seeds, int):
        first = base.fields.seed
        seeds = range(first, first + seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ConfigError(f"seeds: found {list(seeds)}, expected at least one seed, and each seed once")
    opened = trace if trace is None or isinstance(trace, Trace) else Trace(os.fspath(trace))
    result = SeededComparison(list(seeds))
    for done, seed in enumerate(seeds):

        def report(name: str, count: int, fraction: float, done: int = done) -> None:
            if progress:
                progress(name, count, (done + fraction) / len(result.seeds))

        try:
            result.comparisons.append(compare(base, opened, seed=seed, progress=report, **options))
        except Interrupted:
            raise Interrupted(result if result.comparisons else None) from None
    return result


def worst(seeded: SeededComparison) -> Comparison:
    """The run of each policy that lost the largest share of its codeword reads, for warnings."""

    def lost(run: RunResult) -> float:
        reads = run.summary["codeword_reads"]
        return float((reads["uncorrectable"] or 0) / max(1, reads["count"])) if reads["count"] else -math.inf

    runs = [max((each[run.name] for each in seeded.comparisons), key=lost) for run in seeded.first.runs]
    return Comparison(runs, seeded.first.baseline)
