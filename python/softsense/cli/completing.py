"""Completion of names in shells, and the spellings of names that options accept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import softsense
from softsense import Cells, Code, _core

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# Listed here, since a shell waits for them and loading the papers takes a second. A test compares the lists.
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

PLACEMENTS = ("mutual_information", "nested", "uniform")
SHELLS = ("bash", "zsh", "fish")
FAULTS = ("kill-die", "kill-plane", "kill-block", "flip-bits", "drop-power", "heal")

Completer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def _completing(names: Callable[[], Iterable[str]], *, files: bool = False, several: bool = False) -> Completer:
    """Complete names, and files where `files` is set; with `several`, the last name of a comma-separated list."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        words = [before + comma + name for name in names() if name.startswith(last)]
        # Bash forgets the items that come before the one for files, so it comes first.
        return [CompletionItem(incomplete, type="file")] * files + [CompletionItem(word) for word in words]

    return complete


def one_of(*names: str) -> Completer:
    """Complete one of these names."""
    return _completing(lambda: names)


def named(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """A callback that gives a shipped name its own spelling, and leaves files and all other text as they are."""

    def known(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
        if given is None:
            return None
        found = _core.spelled_like(given, list(names()))
        return found if found and not Path(given).exists() else given

    return known


def named_in_list(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], str]:
    """A callback like that of `named`, for a comma-separated list of names."""
    one = named(names)

    def known(context: click.Context, parameter: click.Parameter, given: str) -> str:
        # `bch:m=15,t=57` is cut at its comma, too, which does no harm: neither part is like a shipped name.
        return ",".join(one(context, parameter, word.strip()) for word in given.split(","))

    return known


class Name(click.Choice[str]):
    """A choice of names whose spelling may differ in case and separators."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the choice in its own spelling."""
        return super().convert(_core.spelled_like(value, list(self.choices)) or value, param, ctx)


named_code = named(lambda: (name for name, _ in Code.entries()))

named_cells = named(Cells.names)
named_placement = named(lambda: PLACEMENTS)
named_tables = named_in_list(_core.decode_tables)

complete_config = _completing(lambda: (config["name"] for config in softsense.configs()), files=True)
complete_code = _completing(lambda: (name for name, _ in Code.entries()), files=True)
complete_cells = _completing(Cells.names, files=True)
complete_table = _completing(_core.decode_tables, files=True)
complete_tables = _completing(_core.decode_tables, several=True)
complete_policy = _completing(lambda: (policy["name"] for policy in softsense.policies()))
complete_policies = _completing(lambda: ("all", *(policy["name"] for policy in softsense.policies())), several=True)
complete_written = one_of("csv", "mqsim", "disksim")
complete_fault = one_of(*FAULTS)
complete_placement = one_of(*PLACEMENTS)
