"""Names that every module may import; this module imports none of them but the core."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from softsense._core import MOST_DEPTH, ConfigError

NO_SOFT_SENSING = "no_soft_sensing"
"""Name of the baseline run, in which hard sensing always suffices and no read fails."""

Progress = Callable[[str, int, float], None]
"""Called in the calling thread with a name, the number of requests or frames done so far, and the completed fraction.

The fraction goes from 0 to 1.
"""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a measurement; `result` has what was measured until then, or is None if nothing was."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result


class ShardDone(Exception):  # noqa: N818 - as StopIteration, it is no error
    """A shard has done its share. `softsense.merge` puts all shards together, and then the result is known.

    Attributes:
        what: a sentence for people about what was done.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


_EXTRAS = {"dask": ["distributed"], "fit": ["cmaes", "emcee", "scipy"], "search": ["optuna"]}


def check_extra(what: str, extra: str) -> None:
    """Raise `ConfigError` if a module that `what` needs, and that an extra of softsense brings, is not installed."""
    for name in _EXTRAS[extra]:
        if find_spec(name) is None:
            raise ConfigError(
                f"{what}: found no package {name}, expected an installation with it: pip install 'softsense[{extra}]'"
            )


def by_lot(of: int, most: int) -> list[int]:
    """At most `most` of the numbers from 0 below `of`, chosen by lot: the same ones each time, ascending.

    >>> by_lot(2, 5), by_lot(100_000, 3)
    ([0, 1], [88484, 91415, 96635])
    """
    if of <= most:
        return list(range(of))
    return sorted(sorted(range(of), key=lambda i: hashlib.sha256(str(i).encode()).digest())[:most])


def inline(value: Any) -> str:
    """A value as inline TOML, the notation of overrides; fields that are None are left out.

    Raises `ConfigError` for a value that is nested deeper than TOML may be, such as one that contains itself.
    """
    return _inline(value, MOST_DEPTH)


def _inline(value: Any, depth: int) -> str:
    if isinstance(value, dict | list) and not depth:
        raise ConfigError(f"found lists and tables in more than {MOST_DEPTH} others, expected at most {MOST_DEPTH}")
    if isinstance(value, dict):
        fields = (f"{key} = {_inline(each, depth - 1)}" for key, each in value.items() if each is not None)
        return "{ " + ", ".join(fields) + " }"
    if type(value) is int or (type(value) is float and math.isfinite(value)):
        return repr(value)
    # Numbers, strings and lists are written as in JSON.
    return (
        f"[{', '.join(_inline(each, depth - 1) for each in value)}]" if isinstance(value, list) else json.dumps(value)
    )
