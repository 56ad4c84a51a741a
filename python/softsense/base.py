"""What every module may need, and which needs none of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

NO_SOFT_SENSING = "no_soft_sensing"
"""Name of the run in which no read ever fails: what the device would do if hard sensing always sufficed."""

Progress = Callable[[str, int, float], None]
"""Called from the calling thread with a name, what is done so far (requests, frames) and the completed fraction."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `run` or `compare`; `result` holds what had been measured until then, or None if nothing had."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result


def inline(value: Any) -> str:
    """A value in the notation of overrides, inline TOML; fields that are None are left out."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(each)}" for key, each in value.items() if each is not None) + " }"
    # Numbers, strings and lists are written as in JSON.
    return f"[{', '.join(map(inline, value))}]" if isinstance(value, list) else json.dumps(value)
