"""Names that every module may import; this module imports none of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

NO_SOFT_SENSING = "no_soft_sensing"
"""Name of the baseline run, in which hard sensing always suffices and no read fails."""

Progress = Callable[[str, int, float], None]
"""Called in the calling thread with a name, the number of requests or frames done so far, and the completed fraction (0
to 1).
"""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a measurement; `result` is what had been measured until then, or None if nothing had."""

    def __init__(self, result: Any) -> None:
        super().__init__("interrupted")
        self.result = result


def inline(value: Any) -> str:
    """A value as inline TOML, the notation of overrides; fields that are None are left out."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(each)}" for key, each in value.items() if each is not None) + " }"
    # Numbers, strings and lists are written as in JSON.
    return f"[{', '.join(map(inline, value))}]" if isinstance(value, list) else json.dumps(value)
