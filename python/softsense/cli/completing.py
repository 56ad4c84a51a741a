"""What shells complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

import softsense
from softsense import Cells, Code, _core

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Spelled out, as a shell waits for them: papers take a second to load. A test compares them with what there is.
PAPERS = (
    "ldpc-in-ssd",
    "laldpc",
    "adaptive-rate-pool",
    "lae-ftl",
    "rif",
    "sentinel",
    "pr2-ar2",
    "straw",
    "read-retry",
)

SHELLS = ("bash", "zsh", "fish")
FAULTS = ("kill-die", "kill-plane", "kill-block", "flip-bits", "drop-power", "heal")

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _completing(names: Callable[[], Iterable[str]], *, files: bool = False, several: bool = False) -> Completer:
    """Completes names, and files where they can stand instead; of `several`, with commas between, the last."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        words = [before + comma + name for name in names() if name.startswith(last)]
        # Bash forgets what it was told before it is told of files.
        return [CompletionItem(incomplete, type="file")] * files + [CompletionItem(word) for word in words]

    return complete


def one_of(*names: str) -> Completer:
    """Completes one of these names."""
    return _completing(lambda: names)


def named(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], str]:
    """A name of what comes with softsense, where it is written with another of `/`, `-` and `_`; all else as it is."""

    def spelled(name: str) -> str:
        return name.replace("/", "-").replace("_", "-")

    def known(_context: click.Context, _parameter: click.Parameter, given: str) -> str:
        found = [name for name in names() if spelled(name) == spelled(given)]
        return found[0] if len(found) == 1 and not Path(given).exists() else given

    return known


named_code = named(lambda: (name for name, _ in Code.entries()))

complete_config = _completing(lambda: (config["name"] for config in softsense.configs()), files=True)
complete_code = _completing(lambda: (name for name, _ in Code.entries()), files=True)
complete_cells = _completing(Cells.names, files=True)
complete_table = _completing(_core.decode_tables, files=True)
complete_tables = _completing(_core.decode_tables, several=True)
complete_policy = _completing(lambda: (policy["name"] for policy in softsense.policies()))
complete_policies = _completing(lambda: ("all", *(policy["name"] for policy in softsense.policies())), several=True)
complete_written = one_of("csv", "mqsim", "disksim")
complete_fault = one_of(*FAULTS)
complete_placement = one_of("mutual_information", "nested", "uniform")
