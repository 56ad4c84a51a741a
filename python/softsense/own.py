"""Read policies and rules of your own, which are found by name and called by the core.

A configuration names a class as `my_policies.py:Ladder` (a file beside the configuration, or in the working folder) or
as `my_policies:Ladder` (a module that Python can import). It does so in `read.policy`, `ftl.victims`,
`ftl.plane_choice`, `ftl.gc_pacing`, `host.read_buffer.admission` or `ftl.mapping.demand.admission`. `ReadSeen`,
`ReadStep`, `ClosedBlocks`, `WritePlanes`, `PacedPlane`, `MissedPage`, `MissedEntry` and `Device` document the arguments
and answers of these classes. docs/tutorials/your-own-read-policy.md and your-own-collection-and-caches.md have an
example of each. Decoders of your own (`softsense.backends`), which `code bench` and `code conform` take, are found in
the same way.

Opening such a configuration runs that file. Its text is part of the identity of a run, and is sent with the points of a
sweep to the processes that simulate them; modules that it imports are not.

`load` decides whose code runs. The environment variable SOFTSENSE_OWN refuses all of it unless it is unset, empty or
`allow`. A command says which file it runs before it runs it. It runs files that the command line names. It also runs
files that a config or a sweep names, if that config or sweep is in the working folder or below it, or on the command
line. Files that any other file names run where that is allowed (`--allow-own`, SOFTSENSE_OWN=allow). From Python all
files run, without a message.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import hashlib
import inspect
import linecache
import os
import re
import sys
import traceback
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import (
    MAX_STEPS,
    ClosedBlocks,
    ConfigError,
    Device,
    MissedEntry,
    MissedPage,
    PacedPlane,
    ReadSeen,
    ReadStep,
    WritePlanes,
)

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "ClosedBlocks",
    "Device",
    "MissedEntry",
    "MissedPage",
    "PacedPlane",
    "ReadSeen",
    "ReadStep",
    "WritePlanes",
    "compiled_read",
    "compiled_signature",
]

_METHODS = {
    "read.policy": "next",
    "ftl.victims": "choose",
    "ftl.plane_choice": "place",
    "ftl.gc_pacing": "pace",
    "host.read_buffer.admission": "admit",
    "ftl.mapping.demand.admission": "admit",
    "backend": "decode",
}

_NOTHING: Mapping[str, str] = types.MappingProxyType({})
_provided: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar("provided", default=_NOTHING)
_only: contextvars.ContextVar[Collection[str] | None] = contextvars.ContextVar("only", default=None)


_ALLOWED = "allow"


class RefusedError(ConfigError):
    """Code of the user's own that must not run."""


@dataclass
class _Command:
    """The command that runs.

    Attributes:
        words: words of its command line.
        say: prints a line for people.
        allows: whether code runs whatever file names it.
        told: files that were announced before they ran.
    """

    words: Sequence[str]
    say: Callable[[str], None]
    allows: bool = False
    told: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Opening:
    """The config that is being opened, with overrides, and the file that has the overrides, if one does."""

    config: str = ""
    overrides: Sequence[str] = ()
    overrides_of: str = ""


# A global of the process, as the threads of a command belong to it.
_command: _Command | None = None
_NO_CONFIG = _Opening()
_opening: contextvars.ContextVar[_Opening] = contextvars.ContextVar("opening", default=_NO_CONFIG)


@contextlib.contextmanager
def commanded(words: Sequence[str], say: Callable[[str], None]) -> Iterator[None]:
    """A context in which this process carries out a command line."""
    global _command
    before, _command = _command, _Command(words, say, os.environ.get("SOFTSENSE_OWN") == _ALLOWED)
    try:
        yield
    finally:
        _command = before


def allow() -> None:
    """Let the command run code whatever file names it: `--allow-own`."""
    if _command:
        _command.allows = True


@contextlib.contextmanager
def opening(config: str, overrides: Sequence[str] = (), overrides_of: str = "") -> Iterator[None]:
    """A context in which a config is opened.

    Args:
        config: its file, or its name.
        overrides: overrides of its fields.
        overrides_of: the file that has the overrides; empty where the caller gives them.
    """
    before = _opening.set(_Opening(config, overrides, overrides_of))
    try:
        yield
    finally:
        _opening.reset(before)


@dataclass(frozen=True)
class Loaded:
    """A class or function of the user's own, with its source.

    Attributes:
        place: the file or module of the name.
        text: its source.
        thing: the class, or the compiled function.
    """

    place: str
    text: str
    thing: Any

    def make(self, device: Device) -> Any:
        """Make an instance for a run; a constructor that takes an argument is given the device."""
        if not inspect.isclass(self.thing):
            return self.thing
        made: Callable[..., Any] = self.thing
        # A class without a constructor inherits the one of `object`, whose signature says nothing.
        wants = self.thing.__init__ is not object.__init__ and len(inspect.signature(self.thing).parameters) > 0
        return made(device) if wants else made()


def load(path: str, name: str, directory: str) -> Loaded:
    """Find the class or function that a configuration names.

    Args:
        path: path of the field in the configuration, such as `read.policy`.
        name: file or module, a colon, and the name of a class in it.
        directory: folder of the configuration, which is searched before the working folder.

    Raises:
        ConfigError: there is no such file, module or class, or it lacks the method that the field needs.
        RefusedError: it must not run.
        Exception: whatever the file itself raises.
    """
    place, _, item = name.rpartition(":")
    if (setting := os.environ.get("SOFTSENSE_OWN", "")) not in ("", _ALLOWED):
        expected = (
            "expected the name of a shipped one (your own code runs without SOFTSENSE_OWN, or with "
            f"SOFTSENSE_OWN={_ALLOWED})"
        )
        raise RefusedError(f"{path}: found `{name}` with SOFTSENSE_OWN={setting}, {expected}")
    if (places := _only.get()) is not None and place not in places:
        raise RefusedError(
            f"{path}: found `{name}`, expected the name of a shipped one: a server runs only code that its command "
            "line names"
        )
    if (text := _provided.get().get(place)) is not None:
        module = _executed(place, text)
    elif place.endswith(".py"):
        beside = Path(directory) / place
        file = next((at for at in (beside, Path(place)) if at.is_file()), None)
        if file is None:
            raise ConfigError(
                f"{path}: found `{name}`, expected a file {place} beside the config or in this folder, where there is "
                "none"
            )
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise ConfigError(
                f"{path}: found `{name}`, whose file {file} cannot be read ({error}), expected a file that can be read"
            ) from None
        _ask(path, name, str(file), beside=file == beside)
        module = _executed(str(file), text)
    else:
        module, text = _imported(path, name, place)
    thing = getattr(module, item, None)
    method = _METHODS[path]
    if thing is None:
        known = [key for key, each in vars(module).items() if inspect.isclass(each) and hasattr(each, method)]
        expected = f"one of {', '.join(known)}" if known else f"a class with a method `{method}`"
        raise ConfigError(f"{path}: found no `{item}` in {place}, expected {expected}")
    compiled = path == "read.policy" and (hasattr(thing, "address") or hasattr(thing, "compiled"))
    if not compiled and not callable(getattr(thing, method, None)):
        raise ConfigError(f"{path}: found `{name}` without a method `{method}`, expected a class that has it")
    return Loaded(place, text, thing)


def _ask(path: str, name: str, file: str, *, beside: bool) -> None:
    """Announce that a file runs, once, or refuse to run it; `beside` is whether it was found beside the config.

    Raises `RefusedError`.
    """
    if _command is None or (real := os.path.realpath(file)) in _command.told:
        return
    opened, by = _opening.get(), ""
    if not _mentioned(name, _command.words):
        by = opened.overrides_of if _mentioned(name, opened.overrides) else opened.config
        if not by:
            # A page that the command serves may ask for anything.
            raise RefusedError(
                f"{path}: found `{name}`, which is not on the command line, expected the name of a shipped one"
            )
    for asks in filter(None, (by, opened.config if beside else "")):
        if not (_command.allows or _is_of_here(asks, _command.words)):
            found = f"found `{name}` with {asks}, which is neither in this folder nor on the command line"
            allowed = f"--allow-own, or SOFTSENSE_OWN={_ALLOWED}, runs {file}"
            raise RefusedError(f"{path}: {found}, expected the name of a shipped one ({allowed})")
    _command.told.add(real)
    _command.say(f"runs {file}, which {f'{path} of {by}' if by else 'the command line'} names")


def _mentioned(name: str, words: Sequence[str]) -> bool:
    whole = re.compile(rf"(?<![\w./:\\-]){re.escape(name)}(?![\w.-])")
    return any(whole.search(word) for word in words)


def _is_of_here(file: str, words: Sequence[str]) -> bool:
    """Whether a file is in the working folder or below it, or a word of the command line names the file."""
    real = os.path.realpath(file)
    named = (word.removeprefix(option) for word in words for option in ("", f"{word.partition('=')[0]}="))
    return Path(real).is_relative_to(os.path.realpath(".")) or real in map(os.path.realpath, named)


@contextlib.contextmanager
def provided(sources: Mapping[str, str]) -> Iterator[None]:
    """A context in which configurations that this thread opens take files and modules from `sources`, by place."""
    before = _provided.set(sources)
    try:
        yield
    finally:
        _provided.reset(before)


@contextlib.contextmanager
def only(places: Collection[str]) -> Iterator[None]:
    """A context in which this thread loads nothing but files and modules of `places`."""
    before = _only.set(places)
    try:
        yield
    finally:
        _only.reset(before)


def own_error(error: BaseException) -> tuple[str, str] | None:
    """Name or file of the user's own code that raised an error, and the place there; None for any other error."""
    name = getattr(error, "softsense_own", None)
    if name is None:
        return None
    frames = traceback.extract_tb(own_traceback(error))
    return name, f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else name


def own_traceback(error: BaseException) -> types.TracebackType | None:
    """The traceback of an error in code of the user's own, without the frames of softsense that lead there."""
    trace = last = error.__traceback__
    here = str(Path(__file__).parent)
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith(here):
            last = trace.tb_next
        trace = trace.tb_next
    return last


@functools.lru_cache(maxsize=64)
def _executed(file: str, text: str) -> types.ModuleType:
    """A file as a module; its text is executed once."""
    module = types.ModuleType(f"softsense_own_{hashlib.sha256(f'{file}:{text}'.encode()).hexdigest()[:16]}")
    module.__file__ = file
    # Dataclasses and pickles look there; tracebacks show the text that has run, even if the file changes later.
    sys.modules[module.__name__] = module
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    beside = str(Path(file).resolve().parent)
    sys.path.insert(0, beside)
    try:
        exec(compile(text, file, "exec"), vars(module))
    except BaseException as error:
        del sys.modules[module.__name__]
        mark_own(error, file)
        raise
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(beside)
    return module


def _imported(path: str, name: str, place: str) -> tuple[types.ModuleType, str]:
    import importlib.util

    try:
        # Finding a module in a package runs the package; a module of softsense is nobody's own.
        above = place.partition(".")[0]
        if above != "softsense" and (package := importlib.util.find_spec(above)):
            _ask(path, name, package.origin or place, beside=False)
        spec = importlib.util.find_spec(place)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin or not os.path.isfile(spec.origin) or not spec.origin.endswith(".py"):
        raise ConfigError(
            f"{path}: found `{name}`, but Python has no module `{place}`, expected an installed module, or a file "
            f"such as {place}.py"
        )
    text = Path(spec.origin).read_text(encoding="utf-8")
    try:
        return importlib.import_module(place), text
    except Exception as error:
        mark_own(error, place)
        raise


def mark_own(error: BaseException, name: str) -> None:
    """Mark an error as one of the user's own code, so that it is not reported as a bug of softsense."""
    with contextlib.suppress(Exception):
        error.softsense_own = name  # type: ignore[attr-defined]


def compiled_read() -> np.dtype[Any]:
    """The NumPy record to which a compiled policy is given a pointer.

    `attempts` counts failed attempts. `page_type`, `pe_cycles`, `block` and `remembered_level` are 0 where they are not
    observed. `max_level` is the deepest level. Each attempt has its `step`, as it was answered, and its
    `syndrome_weight`.
    """
    import numpy as np

    fields = ("attempts", "page_type", "pe_cycles", "block", "remembered_level", "max_level")
    lists = [("step", np.int32, (MAX_STEPS,)), ("syndrome_weight", np.uint32, (MAX_STEPS,))]
    return np.dtype([*((field, np.uint32) for field in fields), *lists], align=True)


def compiled_signature() -> Any:
    """The signature of a compiled policy, for `numba.cfunc`; needs Numba.

    The function takes a pointer to `compiled_read()` and returns an int32: 0 where nothing is left to try, else the
    level, read as `[read]` of the config says. A number added to the level selects references: 256 the chip's default
    ones, 512 those that a search finds, 768 those of the cells. 4096 selects the first entry of the retry table, and
    each further entry is 256 more.
    """
    import numba

    types: Any = numba.types
    return types.int32(types.CPointer(numba.from_dtype(compiled_read())))
