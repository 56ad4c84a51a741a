"""Comparisons of read policies across drives, ages, loads and codes: where a ranking holds, and where it turns."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from softsense import seeds
from softsense._core import Config, ConfigError, SoftsenseError
from softsense.api import load_config
from softsense.base import Interrupted, Progress
from softsense.folders import numbers
from softsense.intervals import paired, plus_minus
from softsense.problems import found_in, is_open_loop
from softsense.read_policies import Policies, is_bound, techniques_of
from softsense.seeds import SeededComparison, compare_seeds
from softsense.traces import Trace

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

AXES = ("drives", "ages", "loads", "codes", "seeds")
STATISTICS = {told: column for column, told in seeds.STATISTICS.items()}
"""The statistics of read response times that cases may be judged by, and their fields in summaries."""
_DRIVES = ("tlc-client", "tlc-client-pcie5", "tlc-enterprise", "tlc-enterprise-15tb", "qlc-client", "qlc-datacenter")
_AGES = ((50, 1.0), (1000, 90.0), (3000, 365.0))
_LOADS = (0.5, 1.0, 1.5)
_CODES = ("flash-64-69", "flash-8-9", "flash-64-73")
_SEEDS = 3

Age = tuple[int, float]
"""P/E cycles, and days since the data was written."""


@dataclass(frozen=True)
class Axes:
    """The axes of a comparison. A case has one value on each axis.

    The first case is the config as it is. Its own values are among the values of every axis.

    Attributes:
        drives: configs beside the first one: names of shipped ones, or TOML files. Each has its own workload.
        ages: ages of the flash and its data.
        loads: factors of the rate at which requests arrive.
        codes: decode tables.
        seeds: number of seeds with which each case is simulated.
    """

    drives: tuple[str, ...] = ()
    ages: tuple[Age, ...] = ()
    loads: tuple[float, ...] = ()
    codes: tuple[str, ...] = ()
    seeds: int = _SEEDS

    @staticmethod
    def parse(texts: Sequence[str]) -> Axes:
        """Parse axes from the command line: `ages=50:1,3000:365`, or a name alone for the axis's default values.

        Raises:
            ConfigError: an unknown axis, an axis that comes twice, or a malformed value.

        >>> Axes.parse(["ages=50:1,3000:365", "loads=0.5,2", "seeds=5"])
        Axes(drives=(), ages=((50, 1.0), (3000, 365.0)), loads=(0.5, 2.0), codes=(), seeds=5)
        """
        asked: dict[str, Any] = {}
        own = {"drives": _DRIVES, "ages": _AGES, "loads": _LOADS, "codes": _CODES, "seeds": _SEEDS}
        for text in texts:
            name, _, values = text.partition("=")
            if name not in AXES or name in asked:
                found = "it twice" if name in asked else f"`{name}`"
                raise ConfigError(f"--across: found {found}, expected {', '.join(AXES)}, each at most once")
            asked[name] = _values(name, values) if values else own[name]
        return Axes(**asked)


def _values(name: str, text: str) -> Any:
    """The values of an axis."""
    items = [item.strip() for item in text.split(",") if item.strip()]

    def fault(expected: str) -> ConfigError:
        return ConfigError(f"--across {name}: found `{text}`, expected {expected}")

    if name == "seeds":
        if not re.fullmatch(r"[0-9]+", text) or not 1 <= int(text) <= 1000:
            raise fault("a number of seeds from 1 to 1000")
        return int(text)
    if name == "ages":
        ages = [re.fullmatch(r"([0-9]+):([0-9]+(?:\.[0-9]+)?)", item) for item in items]
        if not ages or not all(ages):
            raise fault("P/E cycles and days, such as 500:30,3000:365")
        return tuple((int(age[1]), float(age[2])) for age in ages if age)
    if name == "loads":
        loads = [float(item) for item in items if re.fullmatch(r"[0-9]+(\.[0-9]+)?", item)]
        if not items or len(loads) < len(items) or min(loads) <= 0:
            raise fault("factors above 0 on the rate of requests, such as 0.5,2")
        return tuple(loads)
    if not items:
        raise fault("at least one name")
    return tuple(items)


@dataclass(frozen=True)
class Case:
    """A drive, at an age, under a load, with a code.

    Attributes:
        drive: the name of its config.
        age: age of its flash and data; None where its config has none.
        load: factor of its own rate of requests.
        code: its decode table; None where its config has none.
        config: the whole config of the case.
    """

    drive: str
    age: Age | None
    load: float
    code: str | None
    config: Config

    @property
    def told(self) -> dict[str, str]:
        """The values that the case has on all axes, in words."""
        age = f"{self.age[0]}:{self.age[1]:g}" if self.age else "-"
        return {"drive": self.drive, "age": age, "load": f"{self.load:g}", "code": self.code or "-"}


@dataclass(frozen=True)
class Verdict:
    """A policy's response times in a case, against those of the reference.

    Attributes:
        mean_us: the statistic of the policy, mean over seeds, us.
        difference: difference to the reference, seed by seed, as a share of the reference's mean; negative where the
            policy is faster.
        half_width: half of the 95 % interval of the difference, with the resolution of the buckets of percentiles.
        is_measured: whether seeds give an interval; with one seed the half width is that resolution alone.
    """

    mean_us: float
    difference: float
    half_width: float
    is_measured: bool

    @property
    def word(self) -> str:
        """`faster` or `slower`, where the interval says so; else `alike`."""
        if abs(self.difference) <= self.half_width:
            return "alike"
        return "faster" if self.difference < 0 else "slower"

    def percent(self, sign: int = 1) -> str:
        """The difference times `sign` with its interval, %; with more digits where it would read as zero and is not."""
        percent = 100 * sign * self.difference
        digits = 1 if percent == 0 or abs(percent) >= 0.05 else 3
        return plus_minus(percent, 100 * self.half_width if self.is_measured else None, digits)


@dataclass
class Compared:
    """A case that was simulated.

    Attributes:
        case: the case.
        seeds: the comparison of all policies, seed by seed.
        problems: for each policy whose runs lose data or cannot serve the load, its worst problem in words.
    """

    case: Case
    seeds: SeededComparison
    problems: dict[str, str] = field(default_factory=dict)


@dataclass
class Across:
    """A comparison of policies across cases.

    Attributes:
        planned: all cases; the first is the config as it is.
        by: the statistic of response times of reads by which cases are judged: `mean`, `p99` or `p99.9`.
        compared: the cases that have been simulated, in order; fewer than planned if interrupted.
    """

    planned: list[Case]
    by: str
    compared: list[Compared] = field(default_factory=list)

    @property
    def reference(self) -> str:
        """The policy with which others are compared: `two_step`, or the first one that a controller could have."""
        return self.compared[0].seeds.reference

    @property
    def others(self) -> list[str]:
        """The other policies that a controller could have."""
        runs = self.compared[0].seeds.first.runs
        return [run.name for run in runs if run.name != self.reference and not is_bound(run.summary)]

    def name(self, case: Case) -> str:
        """The values by which a case differs from the others, in words."""
        said = case.told | {"load": f"load {case.load:g}"}
        if case.age:
            days = "day" if case.age[1] == 1 else "days"
            said["age"] = f"{case.age[0]:,} cycles, {case.age[1]:g} {days}"
        return ", ".join(said[axis] for axis in self.varied) or case.drive

    @property
    def varied(self) -> list[str]:
        """The axes on which cases differ, and not for their drives alone."""
        alike = {case.drive: case.told for case in reversed(self.planned)}

        def varies(axis: str) -> bool:
            return any(case.told[axis] != alike[case.drive][axis] for case in self.planned)

        return [axis for axis in self.planned[0].told if (axis == "drive" and len(alike) > 1) or varies(axis)]

    def verdict(self, compared: Compared, policy: str) -> Verdict | None:
        """The verdict on a policy in a case; None where nothing was read."""
        column = STATISTICS[self.by]
        mine, theirs = (compared.seeds.values(name, "read", column) for name in (policy, self.reference))
        if not mine or len(mine) != len(theirs):
            return None
        off, half, left_open = paired(column, mine, theirs)
        # Equal buckets leave nothing open.
        left_open = 0.0 if off == 0.0 and not half else left_open
        beside = fmean(theirs)
        return Verdict(fmean(mine), off / beside, ((half or 0.0) + left_open) / beside, half is not None)

    @property
    def judged(self) -> list[Compared]:
        """Cases in which no policy loses data and the load can be served."""
        return [one for one in self.compared if not one.problems]

    @property
    def table(self) -> pl.DataFrame:
        """A row for each case and policy, the reference first.

        Columns: case (name), drive, age (P/E cycles:days), load, code, policy (str), seeds (i64), mean_us, difference,
        half_width (f64, shares of the reference's mean; null where nothing was read), verdict (str: `faster`, `alike`,
        `slower`, or the problem).
        """
        import polars as pl

        rows: list[dict[str, Any]] = []
        for one in self.compared:
            for policy in (self.reference, *self.others):
                found = self.verdict(one, policy)
                row: dict[str, Any] = {"case": self.name(one.case), **one.case.told, "policy": policy}
                row["seeds"] = len(one.seeds.comparisons)
                row |= {"mean_us": found and found.mean_us, "difference": found and found.difference}
                row |= {"half_width": found and found.half_width}
                problem = next(iter(one.problems.values()), None)
                rows.append(row | {"verdict": problem or (found.word if found else "nothing was read")})
        schema: dict[str, Any] = dict.fromkeys(("case", "drive", "age", "load", "code", "policy"), pl.String)
        schema |= {"seeds": pl.Int64} | dict.fromkeys(("mean_us", "difference", "half_width"), pl.Float64)
        return pl.DataFrame(rows, schema=schema | {"verdict": pl.String})

    def findings(self) -> Iterator[str]:
        """Sentences on each policy: in how many cases the first case's verdict holds, and in how many of each axis."""
        base = self.compared[0]
        for policy in self.others:
            first = self.verdict(base, policy)
            if base.problems or first is None:
                why = next(iter(base.problems.values()), "nothing is read")
                yield f"{policy}: the run of the unchanged config cannot be used ({why})."
                continue
            words = [(one, found.word) for one in self.judged if (found := self.verdict(one, policy))]
            rest = [(one, word) for one, word in words if one is not base]
            other = {"faster": "slower", "slower": "faster"}.get(first.word)
            held, turned = (sum(word == asked for _, word in rest) for asked in (first.word, other))
            said = f"{100 * abs(first.difference):.1f} % {first.word}"
            told = f"is {said} than {self.reference}" if other else f"cannot be told from {self.reference}"
            turns = (
                f"; the opposite holds in {turned}, and {len(rest) - held - turned} show no difference" if other else ""
            )
            yield (
                f"{policy} {told} in the unchanged config. The same holds in {held} of {len(rest)} other cases{turns}."
            )
            if held < len(rest):
                yield from (f"  {line}" for line in _by_axis(words, first.word, self.varied))

    def text(self, width: int = 150) -> str:
        """Problems, all cases and findings as blocks for the terminal."""
        from softsense.tables.layout import paneled

        blocks = []
        spoilt = [one for one in self.compared if one.problems]
        if spoilt:
            told = [f"  {self.name(one.case)}: {problem_of(one)}" for one in spoilt]
            head = f"{len(spoilt)} of {len(self.compared)} cases are not counted, because their runs cannot be used:"
            blocks.append("\n".join([head, *told]))
        names = [self.name(one.case) for one in self.compared]
        units = [(self.reference, "us"), *((policy, "%") for policy in self.others)]
        columns = [(f"{policy}\n{unit}", [self.cell(one, policy) for one in self.compared]) for policy, unit in units]
        count = len(self.compared[0].seeds.comparisons)
        title = f"Reads, {self.by}: time with {self.reference}, and differences to it"
        title += f" with their 95 % intervals over {count} seeds" if count > 1 else ", of one seed: without intervals"
        blocks.append(paneled(title, "case", names, columns, width) + "\n\n< faster   > slower   ! counted nowhere")
        blocks.append("\n".join(self.findings()))
        return "\n\n".join(blocks)

    def cell(self, one: Compared, policy: str) -> str:
        """The reference's time in a case, us, or a policy's difference to it, % with its interval and its sign."""
        found = self.verdict(one, policy)
        if found is None:
            return "-"
        if policy == self.reference:
            return f"{found.mean_us:,.1f}"
        mark = {"faster": " <", "slower": " >", "alike": "  "}[found.word]
        return found.percent() + (mark if not one.problems else " !")

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "by": self.by,
            "reference": self.reference,
            "planned": len(self.planned),
            "cases": self.table.to_dicts(),
            "findings": list(self.findings()),
        }

    def plot(self, title: str) -> Figure:
        """The differences of all cases as a picture."""
        from softsense.plots.of_cases import draw_cases

        return draw_cases(self.table, title, self.by)


def problem_of(one: Compared) -> str:
    """The problems of a case in words, each once."""
    by_problem: dict[str, list[str]] = {}
    for policy, told in one.problems.items():
        by_problem.setdefault(told, []).append(policy)
    everywhere = len(one.problems) == len(one.seeds.first.runs)
    return "; ".join(
        told if everywhere and len(by_problem) == 1 else f"{', '.join(policies)}: {told}"
        for told, policies in by_problem.items()
    )


def _by_axis(words: Sequence[tuple[Compared, str]], expected: str, axes: Sequence[str]) -> Iterator[str]:
    """For each value of an axis, the number of cases in which a verdict is the expected one."""
    for axis in axes:
        values = dict.fromkeys(one.case.told[axis] for one, _ in words)
        counts = []
        for value in values:
            of_value = [word for one, word in words if one.case.told[axis] == value]
            counts.append(f"{value} {sum(word == expected for word in of_value)} of {len(of_value)}")
        yield f"{expected}, by {axis}: {'; '.join(counts)}"


def cases_of(configs: Sequence[tuple[str, Config]], axes: Axes, traced: bool) -> Iterator[Case]:
    """All combinations of axes; each config's own values come first, and equal cases come once."""
    for drive, config in configs:
        fields = config.fields
        start = fields.get("precondition") or {}
        # Configs that keep an age in another way, such as one for each die, have no such numbers.
        known = {"pe_cycles", "retention_days"} <= start.keys()
        age = (int(start["pe_cycles"]), float(start["retention_days"])) if known else None
        table = (fields["reliability"].get("table") if isinstance(fields["reliability"], dict) else None) or {}
        code = table.get("file")
        if axes.loads and not is_open_loop(fields, traced):
            raise ConfigError(
                f"--across loads: {drive}: found requests whose arrivals depend on the drive, expected arrivals at "
                "given times (`host.issue.open_loop`)"
            )
        if axes.codes and code is None:
            raise ConfigError(
                f"--across codes: {drive}: found no decode table, expected `reliability.table.file`, which each "
                "code replaces by its own table"
            )
        values = (
            dict.fromkeys([age, *axes.ages]),
            dict.fromkeys([1.0, *axes.loads]),
            dict.fromkeys([code, *axes.codes]),
        )
        for one_age, load, one_code in product(*values):
            changed = []
            if one_age and one_age != age:
                changed += [f"precondition.pe_cycles={one_age[0]}", f"precondition.retention_days={one_age[1]!r}"]
            if load != 1.0:
                scale = fields["host"]["issue"]["open_loop"]["time_scale"] / load
                changed.append(f"host.issue.open_loop.time_scale={scale!r}")
            if one_code != code:
                changed.append(f"reliability.table.file={one_code}")
            try:
                resolved = config.with_overrides(changed) if changed else config
            except SoftsenseError as error:
                raise ConfigError(f"--across: {drive}: {str(error).removeprefix('--set: ')}") from None
            yield Case(drive, one_age, load, one_code, resolved)


def across(
    config: str | os.PathLike[str] | Config,
    trace: str | os.PathLike[str] | Trace | None = None,
    *,
    axes: Axes,
    by: str = "p99",
    policies: Policies = "all",
    overrides: Sequence[str] = (),
    seed: int | None = None,
    beyond: str = "reject",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Across:
    """Compare read policies in all combinations of drives, ages, loads and codes: does a ranking hold there?

    Args:
        config: a TOML file, the name of a shipped config, or a `Config`: the first case.
        trace: a trace, as for `softsense.compare`, for all drives; None for the workload of each.
        axes: the axes of the comparison.
        by: the statistic by which cases are judged: `mean`, `p99` or `p99.9` of the response times of reads.
        policies: read policies or techniques, as for `softsense.compare`.
        overrides: config fields to replace, for all drives.
        seed: the first seed of all drives; default: each config's own.
        beyond: treatment of addresses beyond the device, as for `softsense.compare`.
        jobs: number of simulations at once.
        progress: called now and then with the case, its completed requests and the completed fraction of all cases.

    Results depend on all arguments but `jobs`.

    Raises:
        SoftsenseError: a config, a trace, a policy or an axis is wrong; the message names the place. Nothing is
            simulated then.
        Interrupted: Ctrl-C; its `result` has the cases that were complete, and is None if none was.

    >>> small = ["geometry.channels=1", "geometry.blocks_per_plane=256"]
    >>> small += ["workload.footprint_bytes=67108864", "workload.requests=500"]
    >>> ages = Axes(ages=((1000, 1.0),), seeds=2)
    >>> found = across("mlc-25nm", axes=ages, policies="two_step,progressive", overrides=small)
    >>> [one.case.told["age"] for one in found.compared], found.others
    (['10000:30', '1000:1'], ['progressive'])
    """
    if by not in STATISTICS:
        raise ConfigError(f"by: found `{by}`, expected one of {', '.join(STATISTICS)}")
    techniques = techniques_of(policies)
    if len(techniques) < 2:
        raise ConfigError(f"policies: found only {techniques[0].name}, expected at least two policies to compare")
    first = "the config" if isinstance(config, Config) else os.fspath(config)
    changes = [*overrides, *([] if seed is None else [f"seed={seed}"])]
    base = config.with_overrides(changes) if isinstance(config, Config) else load_config(first, overrides, seed=seed)
    others = dict.fromkeys(drive for drive in axes.drives if drive != first)
    configs = [(_stem(first), base), *((_stem(drive), load_config(drive, overrides, seed=seed)) for drive in others)]
    opened = trace if trace is None or isinstance(trace, Trace) else Trace(os.fspath(trace))
    found = Across(list(cases_of(configs, axes, opened is not None)), by)
    for done, case in enumerate(found.planned):

        def report(name: str, count: int, fraction: float, done: int = done, case: Case = case) -> None:
            if progress:
                progress(found.name(case), count, (done + fraction) / len(found.planned))

        try:
            compared = compare_seeds(
                case.config,
                opened,
                seeds=axes.seeds,
                policies=techniques,
                baseline=False,
                beyond=beyond,
                jobs=jobs,
                progress=report,
            )
        except Interrupted:
            raise Interrupted(found if found.compared else None) from None
        found.compared.append(Compared(case, compared, dict(problems_of(compared, case, opened is not None))))
    return found


def _stem(drive: str) -> str:
    return os.path.basename(drive).removesuffix(".toml")


def problems_of(compared: SeededComparison, case: Case, traced: bool) -> Iterator[tuple[str, str]]:
    """Policies that lose data or cannot serve the load, each with its worst problem."""
    open_loop = is_open_loop(case.config.fields, traced)
    for run in compared.first.runs:
        rows = [dict(numbers(comparison[run.name].summary)) for comparison in compared.comparisons]
        worst = next(iter(found_in(rows, open_loop)), None)
        if worst:
            yield run.name, worst.told
