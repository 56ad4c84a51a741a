"""The points of a sweep, and the simulations that they need."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import _core
from softsense._core import Config, ConfigError, SoftsenseError
from softsense.base import Progress, inline
from softsense.files import sha256_of
from softsense.own import RefusedError, opening
from softsense.points.kept import STORE_VERSION
from softsense.problems import is_open_loop
from softsense.read_policies import knows_level, split_policy
from softsense.traces import Trace

if TYPE_CHECKING:
    from softsense.designs import Group, Judged
    from softsense.lifetime import Demand
    from softsense.search import Searching, Told, Wanted
    from softsense.sweep_file import Sweep, TraceFile


@dataclass(frozen=True)
class Point:
    """One simulation of a sweep.

    Attributes:
        number: its place in the sweep, from 1.
        id: SHA-256 of all that its numbers depend on: resolved config with policy and seed, model, trace.
        setting: the values of the swept fields.
        policy: as it was asked for; that of the config if none was, None if the config cannot be.
        trace: the name of its trace; None for the config's workload.
        seed: likewise.
        lifetime_id: the same for the lifetime of its device; None if none is wanted.
        open_loop: whether requests come at times of their own, however long earlier ones take.
        error: why it cannot be simulated, if that is known.
        batch: of a search, in which of its batches it was asked for, from 1.
        idle: those of the swept fields that are ages, and that nothing depends on.
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


@dataclass(frozen=True)
class Job:
    """What a worker is asked for: plain data, so that it can be sent anywhere. `own` has the sources of the user's."""

    id: str
    text: str
    origin: str
    overrides: tuple[str, ...]
    sha256: str
    trace: tuple[str, tuple[tuple[str, Any], ...], str] | None
    beyond: str
    demand: str | None = None
    own: tuple[tuple[str, str], ...] = ()


class Planned:
    """The points of a sweep, with their configs checked and their traces scanned.

    For a search these are the points of the first batch, until the optimiser is told their results.

    Args:
        sweep: what is to be simulated.
        progress: called now and then with what is being done, 0, and the completed fraction.

    Raises:
        ConfigError: no point at all can be simulated, of a search none of its first batch; the message says why not the
            first one. Or there is no optimiser for a search.
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
        # Files that a config names are beside it, those that a shipped config is given beside the sweep. Workers may be
        # in another folder.
        self._area: float | None = None
        self._got: list[str] = []
        if sweep.equal_area:
            with opening(sweep.config, sweep.overrides, sweep.origin):
                reference = base.with_overrides(list(sweep.overrides)).decoder_hardware()
            if reference is None:
                raise ConfigError(
                    f"{sweep.origin}: equal_area: found decoders of unknown hardware in the config, expected "
                    "`decoder.time` with `bch` or `ldpc`"
                )
            self._area = reference["total_mm2"]
        file = Path(sweep.config)
        self._origin = os.path.abspath(file if file.is_file() else Path(sweep.origin).parent / file.name)
        self._traces: dict[str, tuple[str, tuple[tuple[str, Any], ...], str]] = {}
        self._described: list[tuple[str, str]] = []
        for i, trace in enumerate(sweep.traces):
            self._scan(i, trace, progress)
        self.jobs: dict[str, Job] = {}
        """What is to be simulated, by identity; points that come to the same are simulated once."""
        self.lifetimes: dict[str, Job] = {}
        """Devices whose lifetime is to be found, likewise."""
        self.points: list[Point] = []
        """All of them, in order."""
        self._batches = 0
        self._batch: list[tuple[Wanted, list[int]]] = []
        self._searching = self._search() if sweep.search else None
        self._next_batch()
        for setting in sweep.settings():
            self._add(setting, sweep.policies or (None,))
        if all(point.error for point in self.points):
            first = self.points[0].error
            raise ConfigError(f"{sweep.origin}: found no point that can be simulated, expected some; point 1: {first}")

    @property
    def size(self) -> int:
        """How many points there are, or will be in the end."""
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
            # One that lost a seed is none to go by.
            whole = all(number in groups for number in numbers)
            found = list({id(groups[number]): groups[number] for number in numbers if whole}.values())
            came[design.key] = told(found, wanted, self.sweep.all_designs) if whole else hopeless()
        self._searching.tell(came)
        return self._next_batch()

    def _search(self) -> Searching:
        from softsense.search import Searching, objectives

        sweep = self.sweep
        assert sweep.search
        # Who knows the level in advance is on no frontier.
        policies = [each for each in sweep.policies if sweep.all_designs or not knows_level(each)]
        if sweep.policies and not policies:
            message = f"found {', '.join(sweep.policies)} alone, which cannot be built, expected others for a search"
            raise ConfigError(f"{sweep.origin}: policies: {message}")
        _, better = objectives(sweep)
        return Searching(sweep.search, policies, better)

    def _next_batch(self) -> bool:
        self._batch = []
        for wanted in self._searching.ask() if self._searching else ():
            before = len(self.points)
            self._batches += not self._batch
            self._add(wanted.setting, (wanted.policy,))
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
        """The config before anything is set or swept, as `softsense.manifests.Manifest` has it."""
        return {"name": self.sweep.config, "sha256": hashlib.sha256(self._text.encode()).hexdigest()}

    @property
    def traces(self) -> list[dict[str, Any]]:
        """Of each trace its file, content and how it is read, as `softsense.manifests.Manifest` has them."""
        beyond = {"beyond": self.sweep.beyond}
        return [
            {"file": path, "sha256": content, "options": dict(options) | beyond}
            for path, options, content in self._traces.values()
        ]

    def to_dict(self) -> dict[str, Any]:
        """What is to be simulated, ready for JSON: `fields`, the first `pair` of columns, and `points` by identity."""
        columns = self.sweep.columns
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
            for point in self.points
        ]
        return {"fields": list(columns.values()), "pair": [pair.x, pair.y], "points": points}

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
            # What a file of columns says makes numbers, not where it lies.
            del options["format"]
            options |= _core.read_toml(opened.columns_toml() or "", trace.name)
        self._traces[trace.name] = (str(trace.file.resolve()), tuple(options.items()), content)
        told = ("file", "warning", "format", "columns", "units", "requests", "span", "footprint")
        rows: dict[str, str] = {}
        for key, value in opened.describe():
            rows[key] = f"{rows[key]}; {value}" if key in rows else value
        self._described.append(("trace", ", ".join(f"{key} {rows[key]}" for key in told if key in rows)))

    def _add(self, setting: Mapping[str, Any], policies: Sequence[str | None]) -> None:
        """The points of one setting: policies, then traces, then seeds, which change fastest."""
        sweep = self.sweep
        batch = self._batches or None
        fields = tuple(f"{name}={inline(value)}" for name, value in setting.items())
        traces: list[str | None] = [trace.name for trace in sweep.traces] or [None]
        lifetime_id: str | None = None
        for policy, trace, seed in itertools.product(policies, traces, sweep.seeds or (None,)):
            number = len(self.points) + 1
            overrides = (*sweep.overrides, *fields, *_asked_for(policy, seed))
            try:
                config = self._config(overrides)
                if self._area is not None:
                    overrides = (*overrides, *self._bought(config, setting))
                    config = self._config(overrides)
                if trace is None and not config.has_workload:
                    raise ConfigError("workload: found none, expected a [workload] in the config, or traces")
            except RefusedError:
                raise
            except SoftsenseError as error:
                identity = _identity("failed", self._text, *overrides, *map(str, (policy, trace, seed)))
                why = self.plain(str(error))
                self.points.append(Point(number, identity, setting, policy, trace, seed, error=why, batch=batch))
                continue
            identity = self._job(self.jobs, config, overrides, self._traces[trace] if trace else None, None)
            if sweep.lifetime and lifetime_id is None:
                lifetime_id = self._lifetime(setting, sweep.lifetime)
            resolved = json.loads(config.to_json())
            named = {name: _own_name(value, resolved, name) for name, value in setting.items()}
            told = policy or resolved["read"]["policy"]
            open_loop = is_open_loop(resolved, trace is not None)
            idle = tuple(name for name in config.idle_ages if name in setting)
            first = (number, identity, named, told, trace, resolved["seed"], lifetime_id)
            self.points.append(Point(*first, open_loop=open_loop, batch=batch, idle=idle))

    def _bought(self, config: Config, setting: Mapping[str, Any]) -> list[str]:
        """The overrides that give decoders the area of the config's decoders."""
        bought = config.parallelism_of_area(self._area or 0.0)
        for text in bought:
            name = text.partition("=")[0]
            if name in setting:
                raise ConfigError(
                    f"{name}: found swept with `equal_area`, expected another field: the area says what it is"
                )
        self._got.append(", ".join(bought))
        return bought

    def _config(self, overrides: Sequence[str]) -> Config:
        with opening(self.sweep.config, overrides, self.sweep.origin):
            return Config.from_toml(self._text, self._origin, list(overrides))

    def _lifetime(self, setting: Mapping[str, Any], demand: Demand) -> str:
        """The lifetime of a device, which takes no notice of how it is read, of its load, nor of how old it is."""
        fields = tuple(f"{name}={inline(value)}" for name, value in device(setting).items())
        overrides = (*self.sweep.overrides, *fields, *_asked_for(None, next(iter(self.sweep.seeds), None)))
        asked = json.dumps(vars(demand), sort_keys=True)
        try:
            return self._job(self.lifetimes, self._config(overrides), overrides, None, asked)
        except SoftsenseError:
            # Without what it takes no notice of it may be no config any more; workers say so.
            identity = _identity("lifetime", self._text, *overrides, asked)
            self.lifetimes[identity] = Job(identity, self._text, self._origin, overrides, "", None, "", asked)
            return identity

    def _job(
        self,
        jobs: dict[str, Job],
        config: Config,
        overrides: tuple[str, ...],
        trace: tuple[str, tuple[tuple[str, Any], ...], str] | None,
        demand: str | None,
    ) -> str:
        beyond = self.sweep.beyond
        replayed = "" if trace is None else json.dumps([trace[2], sorted(trace[1]), beyond])
        identity = _identity(config.sha256, replayed, demand or "")
        own = tuple(sorted(config.own_sources.items()))
        jobs[identity] = Job(identity, self._text, self._origin, overrides, config.sha256, trace, beyond, demand, own)
        return identity

    def plain(self, message: str) -> str:
        """The reason why a point fails, without the folders of config and traces, which are not part of a result."""
        message = re.sub(rf"^({re.escape(self._origin)}(:\d+)?: |--set:? )", "", message, flags=re.MULTILINE)
        message = "; ".join(message.splitlines())
        for name, (path, _, _) in self._traces.items():
            message = message.replace(path, name)
        return message.replace("--beyond wrap or --beyond scale", 'beyond = "wrap" or "scale"')


def _own_name(value: Any, resolved: Any, path: str) -> Any:
    """A swept value as the config calls it: a name may be spelled in other ways."""
    for step in path.split("."):
        resolved = resolved.get(step) if isinstance(resolved, dict) else None
    same = isinstance(value, str) and isinstance(resolved, str) and _core.spelled_like(value, [resolved])
    return resolved if same else value


def device(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The values of swept fields on which a lifetime depends: all but those that `softsense.lifetime` sets itself."""
    apart = ("workload", "energy", "read", "decoder", "host.issue", "host.write_buffer_bytes", "precondition.pe_cycles")
    return {name: each for name, each in setting.items() if not any(f"{name}.".startswith(f"{a}.") for a in apart)}


def _asked_for(policy: str | None, seed: int | None) -> tuple[str, ...]:
    name, retry = split_policy(policy or "")
    wanted = [("read.policy", name), ("read.retry", retry)]
    fields = [f"{path}={json.dumps(value)}" for path, value in wanted if value]
    return (*fields, *([] if seed is None else [f"seed={seed}"]))


def _identity(*parts: str) -> str:
    return hashlib.sha256(json.dumps(["softsense sweep", STORE_VERSION, *parts]).encode()).hexdigest()
