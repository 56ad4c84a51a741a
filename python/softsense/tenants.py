"""The effect of tenants of one device on one another: the runs of each tenant beside the others, and alone."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import Config, ConfigError
from softsense.api import configured, default_jobs
from softsense.base import Progress
from softsense.results import RunResult
from softsense.simulating import Task, simulate_all

if TYPE_CHECKING:
    import polars as pl

TOGETHER = "together"
"""Name of the run in which all tenants issue requests."""


@dataclass
class Fairness:
    """The run of all tenants together, and the run of each tenant alone on the same device.

    Attributes:
        together: the run of all tenants.
        alone: for each tenant, by its name, the run in which no other one issues requests.
    """

    together: RunResult
    alone: dict[str, RunResult]

    @property
    def interrupted(self) -> bool:
        """Whether a run was stopped before its last request."""
        return any(run.interrupted for run in (self.together, *self.alone.values()))

    @cached_property
    def _measured(self) -> dict[str, Any]:
        means = [(_of(run, name)["all"]["mean_us"], self._shared(name)["all"]["mean_us"]) for name, run in self._pairs]
        if missing := [name for (name, _), pair in zip(self._pairs, means, strict=True) if None in pair]:
            raise ConfigError(
                f"host.tenants: found no completed request of {missing[0]!r}, expected at least one: simulate more "
                "requests"
            )
        found: dict[str, Any] = json.loads(_core.fairness_json(*map(list, zip(*means, strict=True))))
        return found

    @property
    def _pairs(self) -> list[tuple[str, RunResult]]:
        return list(self.alone.items())

    def _shared(self, name: str) -> dict[str, Any]:
        return _of(self.together, name)

    @property
    def slowdowns(self) -> dict[str, float]:
        """Mean response of each tenant beside the others over its mean response alone."""
        return dict(zip(self.alone, self._measured["slowdowns"], strict=True))

    @property
    def fairness(self) -> float:
        """The least slowdown over the largest: 1 where all tenants are slowed equally."""
        return float(self._measured["fairness"])

    @property
    def max_slowdown(self) -> float:
        """The largest slowdown."""
        return float(self._measured["max_slowdown"])

    @property
    def weighted_speedup(self) -> float:
        """The sum of the inverse slowdowns, up to the number of tenants."""
        return float(self._measured["weighted_speedup"])

    @property
    def harmonic_speedup(self) -> float:
        """The number of tenants over the sum of slowdowns, up to 1."""
        return float(self._measured["harmonic_speedup"])

    @property
    def table(self) -> pl.DataFrame:
        """A row for each tenant: `tenant`, `slowdown`; mean and p99 of its responses and IOPS, alone and together."""
        import polars as pl

        rows = []
        for name, run in self._pairs:
            row: dict[str, Any] = {"tenant": name, "slowdown": self.slowdowns[name]}
            for where, got in (("alone", _of(run, name)), (TOGETHER, self._shared(name))):
                row |= {f"{where}_{stat}": got["all"][stat] for stat in ("mean_us", "p99_us")}
                row[f"{where}_iops"] = got["iops"]
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "slowdowns": self.slowdowns,
            **{key: value for key, value in self._measured.items() if key != "slowdowns"},
            TOGETHER: self.together.to_dict(),
            "alone": {name: run.to_dict() for name, run in self._pairs},
        }


def fairness(
    config: str | os.PathLike[str] | Config,
    *,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Fairness:
    r"""Simulate the tenants of a configuration together, and each of them alone with the same requests.

    Slowdown, fairness and weighted speedup are those of Tavakkol et al., FLIN (ISCA 2018) and MQSim (FAST 2018), by
    mean response; harmonic speedup is that of Luo et al. (ISPASS 2001). Results do not depend on `jobs`.

    Args:
        config: a TOML file or a `Config`, with at least two tenants that issue requests.
        overrides: config fields to replace, each written as `host.arbitration.burst=4`.
        seed: replaces the config's seed.
        jobs: simulations that run at once; default: one per CPU, at most 4.
        progress: called now and then with a run's name, its completed requests and completed fraction.

    Raises:
        SoftsenseError: the configuration or a trace is wrong; the message names the place.
        Interrupted: Ctrl-C; its `result` is None, or what all runs had measured.

    >>> from softsense import Config, fairness
    >>> workload = 'workload = {{ requests = 300, read_fraction = {}, arrivals = "immediate" }}'
    >>> tenant = 'name = "{}"\n' + workload
    >>> two = [tenant.format(name, share) for name, share in (("reader", 1.0), ("writer", 0.0))]
    >>> toml = "".join(f"[[host.tenants]]\n{each}\n" for each in two)
    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> found = fairness(Config.from_toml(toml, "two.toml", small))
    >>> found.slowdowns["writer"] > found.slowdowns["reader"] > 1
    True
    >>> found.table.columns[:3]
    ['tenant', 'slowdown', 'alone_mean_us']
    """
    base = configured(config, overrides, seed, None)
    active = to_be_compared(base)
    tasks = [Task(TOGETHER, base, None)]
    for number, name in active.items():
        others = [f"host.tenants[{other}].idle=true" for other in active if other != number]
        tasks.append(Task(name, base.with_overrides(others), None))

    def measured() -> Fairness | None:
        together, *alone = [task.result for task in tasks]
        if together is None or not all(alone):
            return None
        return Fairness(together, {run.name: run for run in alone if run})

    simulate_all(tasks, None, "reject", jobs or default_jobs(), progress, measured)
    found = measured()
    assert found is not None
    return found


def to_be_compared(config: Config) -> dict[int, str]:
    """The tenants of a config that issue requests: their names by their numbers.

    Raises:
        ConfigError: there are fewer than two.
    """
    tenants = config.fields.host.get("tenants", [])
    active = {number: tenant["name"] for number, tenant in enumerate(tenants) if not tenant.get("idle")}
    if len(active) < 2:
        message = f"host.tenants: found {len(active)} tenants that issue requests, expected at least two to compare"
        raise ConfigError(message)
    return active


def _of(run: RunResult, name: str) -> dict[str, Any]:
    """The measurements of a tenant in a run."""
    found: dict[str, Any] = next(tenant for tenant in run.summary["tenants"] if tenant["name"] == name)
    return found
