"""The points of a sweep, and the simulations that they need."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import Config, ConfigError, SoftsenseError
from softsense.base import Progress, by_lot, inline
from softsense.files import sha256_of
from softsense.own import RefusedError, opening
from softsense.points.kept import STORE_VERSION
from softsense.points.resolving import MOST_CHECKED, Resolved, Resolving, hashed
from softsense.read_policies import knows_level, split_policy
from softsense.traces import Trace

if TYPE_CHECKING:
    from softsense.designs import Group, Judged
    from softsense.lifetime import Demand
    from softsense.search import Searching, Told, Wanted
    from softsense.sweep_file import Sweep, TraceFile


_TAKEN_AT_ONCE = 4096
_MOST_TOLD = 2000


@dataclass(frozen=True, slots=True)
class Point:
    """One simulation of a sweep.

    Attributes:
        number: its place in the sweep, from 1.
        id: SHA-256 of all inputs of its numbers: resolved config with policy and seed, model, trace.
        setting: the values of the swept fields.
        policy: the policy as it was asked for, else that of the config; None if the config cannot be made.
        trace: the name of its trace; None for the config's workload.
        seed: the seed as it was asked for, else that of the config; None if the config cannot be made.
        lifetime_id: SHA-256 of all inputs of the lifetime of its device; None if none is wanted.
        open_loop: whether requests come at given times, however long earlier ones take.
        error: the reason why it cannot be simulated, if that is known.
        batch: in a search, the number of the batch in which it was asked for, from 1.
        idle: swept fields that are ages, and on which nothing depends.
    """

    number: int
    id: str
    setting: Mapping[str, Any]
    policy: str | None
    trace: str | None
    seed: int | None
    lifetime_id: str | None = None
    error: str | None = None
    open_loop: bool = False
    batch: int | None = None
    idle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A request to a worker: plain data, so that it can be sent anywhere. `own` has the sources of the user's code."""

    id: str
    text: str
    origin: str
    fixed: tuple[str, ...]
    setting: Mapping[str, Any]
    asked: tuple[str, ...]
    sha256: str
    trace: tuple[str, tuple[tuple[str, Any], ...], str] | None
    beyond: str
    demand: str | None = None
    own: tuple[tuple[str, str], ...] = ()

    @property
    def overrides(self) -> tuple[str, ...]:
        """The overrides of the config: those of the sweep, the swept fields, and those of its policy and seed.

        The texts are made when needed, as those of 100,000 points would take 50 MB.
        """
        return (*self.fixed, *(f"{name}={inline(value)}" for name, value in self.setting.items()), *self.asked)


@dataclass(slots=True)
class _Draft:
    """A point before its identity is known: its config, or the reason why it has none."""

    setting: Mapping[str, Any]
    named: Mapping[str, Any]
    policy: str | None
    trace: str | None
    seed: int | None
    asked: tuple[str, ...]
    config: Resolved | None
    lifetime_id: str | None
    error: str | None = None


class Planned:
    """The points of a sweep, with their configs checked and their traces scanned.

    If there are more than `resolving.MOST_CHECKED` settings, each with each policy, workers check the configs that
    differ in numbers alone when they simulate them.

    For a search these are the points of the first batch, until the optimiser gets their results.

    Args:
        sweep: the sweep.
        progress: called now and then with the current work, 0, and the completed fraction.

    Raises:
        ConfigError: no point at all can be simulated, in a search none of its first batch; the message has the reason
            for the first one. Or there is no optimiser for a search.
        SoftsenseError: the config or a trace cannot be read.
    """

    def __init__(self, sweep: Sweep, progress: Progress | None = None) -> None:
        self.sweep = sweep
        try:
            with opening(sweep.config):
                base = Config.open(sweep.config)
        except SoftsenseError as error:
            told = (f"{sweep.origin}: config: {fault}" for fault in str(error).splitlines())
            raise type(error)("\n".join(told)) from None
        self._text = base.to_toml()
        # Files that a config names are beside it; those of a shipped config are beside the sweep. Workers may be in
        # another folder.
        self._area: float | None = None
        self._got: list[str] = []
        if sweep.equal_area:
            with opening(sweep.config, sweep.overrides, sweep.origin):
                reference = base.with_overrides(list(sweep.overrides)).decoder_hardware()
            if reference is None:
                raise ConfigError(
                    f"{sweep.origin}: equal_area: found decoders whose area is unknown in the config, expected "
                    "`decoder.time.bch` or `decoder.time.ldpc`, which describe a circuit"
                )
            self._area = reference["total_mm2"]
        file = Path(sweep.config)
        self._origin = os.path.abspath(file if file.is_file() else Path(sweep.origin).parent / file.name)
        self._traces: dict[str, tuple[str, tuple[tuple[str, Any], ...], str]] = {}
        # The texts about traces that are part of identities.
        self._replays: dict[int, str] = {}
        self._described: list[tuple[str, str]] = []
        for i, trace in enumerate(sweep.traces):
            self._scan(i, trace, progress)
        self.jobs: dict[str, Job] = {}
        """Simulations to be done, by identity; points with equal identities are simulated once."""
        self.lifetimes: dict[str, Job] = {}
        """Devices whose lifetime is to be found, by identity."""
        self.points: list[Point] = []
        """All points, in order."""
        settings = sweep.settings()
        many = len(settings) * max(1, len(sweep.policies)) > MOST_CHECKED
        self._resolving = Resolving(self._config, many)
        self._drafts: list[_Draft] = []
        self._devices: dict[str, str] = {}
        self._batches = 0
        self._batch: list[tuple[Wanted, list[int]]] = []
        self._searching = self._search() if sweep.search else None
        self._next_batch()
        with _unwatched():
            for setting in settings:
                self._add(setting, sweep.policies or (None,))
            self._take()
        self._resolving.forget()
        if all(point.error for point in self.points):
            first = self.points[0].error
            raise ConfigError(
                f"{sweep.origin}: found no point that can be simulated, expected at least one; the error of point 1 "
                f"is: {first}"
            )

    @property
    def size(self) -> int:
        """The number of points that there are, or will be in the end."""
        if not self._searching:
            return len(self.points)
        return self._searching.designs * max(1, len(self.sweep.traces)) * max(1, len(self.sweep.seeds))

    def go_on(self, judged: Callable[[], Judged]) -> bool:
        """Tell a search the results of its last batch, and add the points of the next one; whether there are any.

        Args:
            judged: the designs so far, judged.
        """
        if not self._searching:
            return False
        from softsense.search import hopeless, objectives, told

        wanted, _ = objectives(self.sweep)
        groups: dict[int, Group] = {row["point"]: group for group in judged().groups for row in group.rows}
        came: dict[str, Told] = {}
        for design, numbers in self._batch:
            # A design without the results of all its seeds does not guide the search.
            whole = all(number in groups for number in numbers)
            found = list({id(groups[number]): groups[number] for number in numbers if whole}.values())
            came[design.key] = told(found, wanted, self.sweep.all_designs) if whole else hopeless()
        self._searching.tell(came)
        return self._next_batch()

    def _search(self) -> Searching:
        from softsense.search import Searching, objectives

        sweep = self.sweep
        assert sweep.search
        # A policy that knows the level in advance is on no frontier.
        policies = [each for each in sweep.policies if sweep.all_designs or not knows_level(each)]
        if sweep.policies and not policies:
            message = (
                f"found only {', '.join(sweep.policies)}, which cannot be built, expected at least one other policy "
                "for a search"
            )
            raise ConfigError(f"{sweep.origin}: policies: {message}")
        _, better = objectives(sweep)
        return Searching(sweep.search, policies, better)

    def _next_batch(self) -> bool:
        self._batch = []
        for wanted in self._searching.ask() if self._searching else ():
            before = len(self.points)
            self._batches += not self._batch
            self._add(wanted.setting, (wanted.policy,))
            self._take()
            self._batch.append((wanted, [point.number for point in self.points[before:]]))
        return bool(self._batch)

    def describe(self) -> list[tuple[str, str]]:
        """Rows of label and value for people: numbers of points, swept fields, and the recognised formats of traces."""
        sweep = self.sweep
        if sweep.search:
            designs = self._searching.designs if self._searching else 0
            parts = [f"{designs:,} designs by a search of {', '.join(sweep.fields)}, {sweep.search.batch} at a time"]
        elif sweep.latin_hypercube:
            parts = [f"{sweep.latin_hypercube.samples:,} samples of {', '.join(sweep.fields)}"]
        else:
            parts = [f"{len(values)} x {name}" for name, values in sweep.grid.items()]
        parts += [f"{len(values)} conditions of {name}" for name, values in sweep.conditions.items()]
        for many, one in ((sweep.policies, "policies"), (sweep.traces, "traces"), (sweep.seeds, "seeds")):
            parts += [f"{len(many)} {one}"] if len(many) > 1 else []
        searched = sweep.policies if sweep.search else ()
        rows = [
            ("sweep", f"{sweep.origin}: {self.size:,} points{': ' if parts else ''}{', '.join(parts)}"),
            ("config", sweep.config),
            *(("set", text) for text in sweep.overrides),
            ("policies", ", ".join(dict.fromkeys((*searched, *(p.policy for p in self.points if p.policy))))),
        ]
        if self._area is not None:
            got = "; ".join(dict.fromkeys(self._got))
            rows.append(("equal area", f"{self._area:.3f} mm2 of decoders: {got}"))
        if not sweep.traces:
            rows.append(("workload", "that of the config"))
        return rows + self._described

    @property
    def config(self) -> dict[str, str]:
        """The config before anything is set or swept, as an entry of `softsense.manifests.Manifest`."""
        return {"name": self.sweep.config, "sha256": hashlib.sha256(self._text.encode()).hexdigest()}

    @property
    def traces(self) -> list[dict[str, Any]]:
        """File, content and options of each trace, as entries of `softsense.manifests.Manifest`."""
        beyond = {"beyond": self.sweep.beyond}
        return [
            {"file": path, "sha256": content, "options": dict(options) | beyond}
            for path, options, content in self._traces.values()
        ]

    def to_dict(self) -> dict[str, Any]:
        """The plan, ready for JSON: `fields`, the first `pair` of columns, and `points` by identity.

        If there are more than 2,000 points it has a thousand by lot, the same each time; `of` is the number of all.
        """
        columns = self.sweep.columns
        many = len(self.points)
        taken = by_lot(many, many if many <= _MOST_TOLD else _MOST_TOLD // 2)
        pair = self.sweep.pairs[0]
        points = [
            {
                "point": point.number,
                "id": point.id,
                "setting": {
                    columns[name]: value if isinstance(value, int | float | str) else inline(value)
                    for name, value in point.setting.items()
                },
                "policy": point.policy,
                "trace": point.trace,
                "seed": point.seed,
            }
            for point in map(self.points.__getitem__, taken)
        ]
        return {"fields": list(columns.values()), "pair": [pair.x, pair.y], "of": many, "points": points}

    def _scan(self, i: int, trace: TraceFile, progress: Progress | None) -> None:
        def report(fraction: float) -> None:
            if progress:
                progress(f"scanning {trace.name}", 0, fraction)

        try:
            opened = Trace(os.fspath(trace.file), progress=report, **dict(trace.options))
            content = sha256_of(trace.file)
        except SoftsenseError as error:
            raise type(error)(f"{self.sweep.origin}: traces[{i}]: {error}") from None
        options = dict(trace.options)
        if str(options.get("format", "")).endswith(".toml"):
            # The content of a file of columns affects the numbers, its place does not.
            del options["format"]
            options |= _core.read_toml(opened.columns_toml() or "", trace.name)
        found = self._traces[trace.name] = (str(trace.file.resolve()), tuple(options.items()), content)
        self._replays[id(found)] = json.dumps([content, sorted(options.items()), self.sweep.beyond])
        told = ("file", "warning", "format", "columns", "units", "requests", "span", "footprint")
        rows: dict[str, str] = {}
        for key, value in opened.describe():
            rows[key] = f"{rows[key]}; {value}" if key in rows else value
        self._described.append(("trace", ", ".join(f"{key} {rows[key]}" for key in told if key in rows)))

    def _add(self, setting: Mapping[str, Any], policies: Sequence[str | None]) -> None:
        """Add the points of one setting: policies, then traces, then seeds, which change fastest."""
        sweep = self.sweep
        traces: list[str | None] = [trace.name for trace in sweep.traces] or [None]
        lifetime_id: str | None = None
        known: dict[tuple[str | None, int | None], tuple[Resolved, tuple[str, ...]]] = {}
        named: Mapping[str, Any] = setting
        for policy, trace, seed in itertools.product(policies, traces, sweep.seeds or (None,)):
            asked = _asked_for(policy, seed)
            try:
                if (policy, seed) not in known:
                    if self._area is not None:
                        asked = (
                            *asked,
                            *self._equal_area_overrides(self._config(self._overrides(setting, asked)), setting),
                        )
                    overrides = functools.partial(self._overrides, setting, asked)
                    known[policy, seed] = self._resolving.resolved(setting, policy, seed, overrides), asked
                config, asked = known[policy, seed]
                if trace is None and not config.has_workload:
                    raise ConfigError(
                        "workload: found no requests, expected a [workload] section in the config, or `traces` in the "
                        "sweep file"
                    )
            except RefusedError:
                raise
            except SoftsenseError as error:
                why = self.plain(str(error))
                self._drafts.append(_Draft(setting, setting, policy, trace, seed, asked, None, None, why))
                continue
            if sweep.lifetime and lifetime_id is None:
                lifetime_id = self._lifetime(setting, sweep.lifetime)
            if config.spelled and named is setting:
                named = {**setting, **config.spelled}
            self._drafts.append(_Draft(setting, named, policy, trace, seed, asked, config, lifetime_id))
        if len(self._drafts) >= _TAKEN_AT_ONCE:
            self._take()

    def _overrides(self, setting: Mapping[str, Any], asked: tuple[str, ...]) -> tuple[str, ...]:
        return Job("", "", "", self.sweep.overrides, setting, asked, "", None, "").overrides

    def _take(self) -> None:
        """Make points and jobs of drafts, in their order."""
        hashed([draft.config for draft in self._drafts if draft.config])
        batch = self._batches or None
        for draft in self._drafts:
            number, config, trace = len(self.points) + 1, draft.config, draft.trace
            if config is None:
                overrides = self._overrides(draft.setting, draft.asked)
                identity = _identity("failed", self._text, *overrides, *map(str, (draft.policy, trace, draft.seed)))
                first = (number, identity, draft.setting, draft.policy, trace, draft.seed)
                self.points.append(Point(*first, error=draft.error, batch=batch))
                continue
            replayed = self._traces[trace] if trace else None
            identity = self._job(self.jobs, config, draft.setting, draft.asked, replayed, None)
            told = (draft.policy or config.policy, trace, config.seed, draft.lifetime_id)
            open_loop = config.open_loop[trace is not None]
            self.points.append(
                Point(number, identity, draft.named, *told, open_loop=open_loop, batch=batch, idle=config.idle)
            )
        self._drafts = []

    def _equal_area_overrides(self, config: Config, setting: Mapping[str, Any]) -> list[str]:
        """The overrides that give decoders the area of the config's decoders."""
        bought = config.parallelism_of_area(self._area or 0.0)
        for text in bought:
            name = text.partition("=")[0]
            if name in setting:
                raise ConfigError(
                    f"{name}: found a swept field whose value follows from `equal_area`, expected another field, "
                    "or no `equal_area`"
                )
        self._got.append(", ".join(bought))
        return bought

    def config_of(self, job: Job) -> str:
        """The identity of a job's config, by the core and not by derivation."""
        return self._config(job.overrides).sha256

    def _config(self, overrides: Sequence[str]) -> Config:
        with opening(self.sweep.config, overrides, self.sweep.origin):
            return Config.from_toml(self._text, self._origin, list(overrides))

    def _lifetime(self, setting: Mapping[str, Any], demand: Demand) -> str:
        """The identity of the lifetime of a device, which does not depend on its reads, its load or its age."""
        own = device(setting)
        key = json.dumps(list(own.values()))
        if key in self._devices:
            return self._devices[key]
        seed = next(iter(self.sweep.seeds), None)
        fixes = _asked_for(None, seed)
        overrides = self._overrides(own, fixes)
        asked = json.dumps(vars(demand), sort_keys=True)
        try:
            found = hashed([self._resolving.resolved(own, None, seed, lambda: overrides)])[0]
            identity = self._job(self.lifetimes, found, own, fixes, None, asked)
        except SoftsenseError:
            # Without the fields that do not matter it may be no config any more; workers report that.
            identity = _identity("lifetime", self._text, *overrides, asked)
            first = (identity, self._text, self._origin, self.sweep.overrides, own, fixes)
            self.lifetimes[identity] = Job(*first, "", None, "", asked)
        self._devices[key] = identity
        return identity

    def _job(
        self,
        jobs: dict[str, Job],
        config: Resolved,
        setting: Mapping[str, Any],
        asked: tuple[str, ...],
        trace: tuple[str, tuple[tuple[str, Any], ...], str] | None,
        demand: str | None,
    ) -> str:
        replayed = self._replays.get(id(trace), "")
        identity = _identity(config.sha256, replayed, demand or "")
        first = (identity, self._text, self._origin, self.sweep.overrides, setting, asked, config.sha256)
        jobs[identity] = Job(*first, trace, self.sweep.beyond, demand, config.own)
        return identity

    def plain(self, message: str) -> str:
        """The reason why a point fails, without the folders of config and traces, which are not part of a result."""
        message = re.sub(rf"^({re.escape(self._origin)}(:\d+)?: |--set:? )", "", message, flags=re.MULTILINE)
        message = "; ".join(message.splitlines())
        for name, (path, _, _) in self._traces.items():
            message = message.replace(path, name)
        return message.replace("--beyond wrap or --beyond scale", 'beyond = "wrap" or "scale"')


@contextlib.contextmanager
def _unwatched() -> Iterator[None]:
    """A context without garbage collection, which would look again and again at points that stay."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def device(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The values of swept fields on which a lifetime depends: all but those that `softsense.lifetime` sets itself."""
    apart = ("workload", "energy", "read", "decoder", "host.issue", "host.write_buffer_bytes", "precondition.pe_cycles")
    return {name: each for name, each in setting.items() if not any(f"{name}.".startswith(f"{a}.") for a in apart)}


@functools.cache
def _asked_for(policy: str | None, seed: int | None) -> tuple[str, ...]:
    name, retry = split_policy(policy or "")
    wanted = [("read.policy", name), ("read.retry", retry)]
    fields = [f"{path}={json.dumps(value)}" for path, value in wanted if value]
    return (*fields, *([] if seed is None else [f"seed={seed}"]))


def _identity(*parts: str) -> str:
    told = ", ".join(map(_quoted, parts))
    return hashlib.sha256(f'["softsense sweep", {STORE_VERSION}, {told}]'.encode()).hexdigest()


def _quoted(part: str) -> str:
    # A fast path for hashes, which most parts are: JSON escapes none of their letters.
    return f'"{part}"' if part.isalnum() and part.isascii() else json.dumps(part)
