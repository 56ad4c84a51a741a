"""Identities of the configs of a sweep, with as few of them as possible resolved by the core.

The core takes half a millisecond for a config, so that 100,000 of them would take a minute before anything is
simulated. Configs that differ in their seeds alone, or in a large sweep in numbers alone, have the same resolved text
but for these numbers. The text is then made from that of one of them, and hashed as the core hashes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from softsense import _core
from softsense._core import Config, ConfigError, DecodeTable, SoftsenseError
from softsense.problems import is_open_loop

MOST_CHECKED = 2000
"""The most settings of a sweep, each with each policy, that the core checks before anything is simulated.

Of more settings it checks one for each combination of all values that are no numbers. Workers then find out which
numbers do not go together.
"""

# The number of derived configs that are compared with those of the core.
_COMPARED = 50
# The range within which Python and the core write shortest decimals alike.
_LEAST, _MOST = 1e-4, 1e16
_HASHED_AT_ONCE = 64
_MOST_FRAMES = 64
_TAILS: dict[bytes, bytes] = {}


@dataclass(slots=True)
class Resolved:
    """The properties of a config that planning needs.

    Attributes:
        sha256: its identity; empty until `hashed` has found it from `content`.
        spelled: swept names that the config spells otherwise.
        policy: its read policy.
        seed: its seed.
        open_loop: whether requests come at given times: without a trace, and with one.
        idle: ages on which nothing depends.
        has_workload: whether it runs without a trace.
        own: code of the user's own that it names.
        content: the bytes that are hashed.
    """

    sha256: str
    spelled: Mapping[str, Any]
    policy: str
    seed: int
    open_loop: tuple[bool, bool]
    idle: tuple[str, ...]
    has_workload: bool
    own: tuple[tuple[str, str], ...]
    content: Sequence[bytes] = ()


class Resolving:
    """A resolver of the configs of a sweep.

    Args:
        opened: makes a config of overrides.
        derive: whether numbers of swept fields are put into the text of another config, too, and not seeds alone.
    """

    def __init__(self, opened: Callable[[Sequence[str]], Config], derive: bool) -> None:
        self._opened, self._derive = opened, derive
        self._frames: dict[tuple[Any, ...], _Frame] = {}
        # The last setting, and its common part with others.
        self._of: tuple[Mapping[str, Any], tuple[Any, ...]] = ({}, ())
        self._to_compare = _COMPARED

    def resolved(
        self, setting: Mapping[str, Any], policy: str | None, seed: int | None, overrides: Callable[[], Sequence[str]]
    ) -> Resolved:
        """A config: a setting with a policy and a seed (None for the config's own), which `overrides()` ask for.

        Raises the errors of the core, but not for a config that is derived from a right one. Deterministic: the result
        does not depend on earlier calls.
        """
        if setting is not self._of[0]:
            self._of = setting, tuple(self._kind(name, value) for name, value in setting.items())
        key = policy, seed is None, self._of[1]
        frame = self._frames.get(key)
        if frame and (found := frame.derived(setting, seed)):
            if self._to_compare:
                self._to_compare -= 1
                if hashed([found])[0].sha256 != self._opened(overrides()).sha256:
                    frame.text = None
                    return self.resolved(setting, policy, seed, overrides)
            return found
        config = self._opened(overrides())
        if not self._derive and len(self._frames) >= _MOST_FRAMES:
            # Frames of earlier settings are of no use for others.
            self._frames.clear()
        numbers = [name for name, value in setting.items() if self._derive and type(value) in (int, float)]
        frame = _Frame(config, setting, numbers if seed is None else [*numbers, "seed"])
        self._frames.setdefault(key, frame)
        return frame.itself

    def forget(self) -> None:
        """Forget the resolved configs, each of which holds the tables that it names."""
        self._frames.clear()

    def _kind(self, name: str, value: Any) -> Any:
        """The part of a value that configs of one frame share: for a number the kind of number only."""
        if not (self._derive and type(value) in (int, float)):
            return repr(value)
        # An age is idle or not depending on whether it is zero, and on whether it is the usual one.
        return type(value), value > 0, value < 0, name in _usual() and value == _usual()[name]


@cache
def _usual() -> dict[str, Any]:
    """The ages that a config has by default."""
    known = json.loads(_core.config_schema())["properties"]["precondition"]["default"]
    return {f"precondition.{name}": value for name, value in known.items() if type(value) in (int, float)}


class _Frame:
    """A config, from which configs are derived that differ in numbers alone."""

    def __init__(self, config: Config, setting: Mapping[str, Any], numbers: Sequence[str]) -> None:
        text = config.to_json()
        resolved = json.loads(text)
        self.itself = Resolved(
            config.sha256,
            {name: own for name, value in setting.items() if (own := _own_name(value, resolved, name)) != value},
            resolved["read"]["policy"],
            resolved["seed"],
            (is_open_loop(resolved, False), is_open_loop(resolved, True)),
            tuple(name for name in config.idle_ages if name in setting),
            config.has_workload,
            tuple(sorted(config.own_sources.items())),
        )
        self._config, self._numbers = config, numbers
        self.text: str | None = text

    @cached_property
    def _parts(self) -> tuple[list[tuple[str, str, bool]], str, bytes] | None:
        """Each number's field, the text before it, and whether it is a whole one; the text behind all of them.

        Then the bytes that are hashed behind the text. None if a number stands nowhere in the text, or if these bytes
        are not known.
        """
        if self.text is None or (tail := _tail(self._config, self.text)) is None:
            return None
        places = {name: _place(self.text, name) for name in self._numbers}
        parts, at = [], 0
        for name, place in sorted(places.items(), key=lambda each: each[1] or (0, 0)):
            if place is None:
                return None
            parts.append((name, self.text[at : place[0]], self.text[slice(*place)].isdigit()))
            at = place[1]
        return parts, self.text[at:], tail

    def derived(self, setting: Mapping[str, Any], seed: int | None) -> Resolved | None:
        """The config with other numbers; None if only the core knows it."""
        if self.text is None or self._parts is None:
            return None
        parts, end, tail = self._parts
        text = _head()
        for name, before, whole in parts:
            value = setting[name] if seed is None or name != "seed" else seed
            if (told := _written(value, whole)) is None:
                return None
            text += before + told
        one = self.itself
        rest = (one.open_loop, one.idle, one.has_workload, one.own)
        content = ((text + end).encode(), tail)
        return Resolved("", one.spelled, one.policy, one.seed if seed is None else seed, *rest, content)


def hashed(found: Sequence[Resolved]) -> Sequence[Resolved]:
    """The configs, all with identities, which are computed on all processors, as hashing long tables takes time."""
    waiting = [each for each in found if not each.sha256]
    if len(waiting) > _HASHED_AT_ONCE:
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            parts = [waiting[at : at + _HASHED_AT_ONCE] for at in range(0, len(waiting), _HASHED_AT_ONCE)]
            list(pool.map(_hash, parts))
    else:
        _hash(waiting)
    return found


def _hash(waiting: Sequence[Resolved]) -> None:
    for each in waiting:
        each.sha256, each.content = hashlib.sha256(b"".join(each.content)).hexdigest(), ()


@cache
def _head() -> str:
    return f"softsense model {_core.build_info()['model_version']}\n"


def _tail(config: Config, text: str) -> bytes | None:
    """The bytes that the core hashes behind the text of a config: its tables and cells; None if they are not known."""
    head = f"{_head()}{text}".encode()
    # Most configs of a sweep have the same bytes.
    for guess in itertools.chain(_TAILS, _guesses(config, text)):
        if hashlib.sha256(head + guess).hexdigest() == config.sha256:
            return _TAILS.setdefault(guess, guess)
    return None


def _guesses(config: Config, text: str) -> Iterator[bytes]:
    """Tables and cells that a config names, in the combinations in which they may be hashed."""
    tables, cells = [], ""
    with contextlib.suppress(SoftsenseError):
        tables.append(config.decode_table().text)
    with contextlib.suppress(SoftsenseError, LookupError, TypeError):
        rates = json.loads(text)["reliability"]["adaptive"]["rates"]
        tables = tables or [DecodeTable(each["file"]).text for each in rates]
    with contextlib.suppress(ConfigError):
        if found := config.cells():
            cells = found.toml(9)
    yield from (each.encode() for each in dict.fromkeys(("".join(tables) + cells, "".join(tables), cells, "")))


def _place(text: str, path: str) -> tuple[int, int] | None:
    """Beginning and end of a field's number in a text of JSON without spaces; None if it is no number."""
    decoder, at = json.JSONDecoder(), 0
    for step in path.split("."):
        found = next((begin for name, begin in _members(text, at, decoder) if name == step), None)
        if found is None:
            return None
        at = found
    value, end = decoder.raw_decode(text, at)
    return (at, end) if type(value) in (int, float) else None


def _members(text: str, at: int, decoder: json.JSONDecoder) -> Iterator[tuple[str, int]]:
    """The members of an object, each with the place where its value begins; none for anything but an object."""
    while text[at] in "{," and text[at + 1] == '"':
        name, at = decoder.raw_decode(text, at + 1)
        yield name, at + 1
        _, at = decoder.raw_decode(text, at + 1)


def _written(value: float, whole: bool) -> str | None:
    """A number as the core writes it; None if the core might write it otherwise."""
    if whole:
        return str(value) if type(value) is int and 0 <= value < 2**63 else None
    if value != 0 and not _LEAST <= abs(value) < _MOST:
        return None
    return repr(float(value))


def _own_name(value: Any, resolved: Any, path: str) -> Any:
    """A swept value as the config spells it: a name may be spelled in other ways."""
    for step in path.split("."):
        resolved = resolved.get(step) if isinstance(resolved, dict) else None
    same = isinstance(value, str) and isinstance(resolved, str) and _core.spelled_like(value, [resolved])
    return resolved if same else value
