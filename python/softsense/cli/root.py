"""The command itself, with all commands below it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

import softsense
from softsense.cli.completing import SHELLS
from softsense.cli.options import example

_MODULES = {
    "board": "board:board_group",
    "calibrate": "calibrate:calibrate_command",
    "code": "code:code_group",
    "compare": "run:compare",
    "config": "config:config_group",
    "design": "life:design_group",
    "drive": "served:drive_group",
    "explain": "explain:explain_command",
    "fairness": "fairness:fairness_command",
    "fer": "fer:fer",
    "fio": "fio:fio_command",
    "fit": "fit:fit_command",
    "flash": "flash:flash_group",
    "lifetime": "life:lifetime_command",
    "merge": "merge:merge_command",
    "policies": "run:policies_command",
    "reproduce": "reproduce:reproduce_command",
    "results": "results:results_group",
    "run": "run:run",
    "serve-results": "live:serve_results_command",
    "sweep": "sweep:sweep_command",
    "table": "table:table_group",
    "trace": "trace:trace",
}
"""For each command its module below `softsense.cli`, and the name of its function in that module."""

_SUBJECTS = {
    "Simulate": ("run", "compare", "sweep", "explain", "fairness", "fio", "config", "policies", "trace"),
    "Cells and codes": ("flash", "code", "fer", "board", "table", "lifetime", "design"),
    "Real drives": ("fit", "calibrate"),
    "A drive to mount": ("drive",),
    "Papers": ("reproduce",),
    "Results": ("results", "serve-results", "merge"),
    "Shell": ("completion",),
}
"""The commands in the order of the help: each stands under one subject."""

_OF_DRIVE = ("age", "fault", "scrub", "serve", "status")
"""Commands of `softsense drive` that also work without its name, as earlier versions had them."""


class _Commands(MutableMapping[str, click.Command]):
    """Commands by name, whose modules are loaded when they are used.

    Loading all of them takes longer than many a command runs.
    """

    def __init__(self) -> None:
        self._known: dict[str, click.Command | None] = dict.fromkeys(_MODULES)

    def __getitem__(self, name: str) -> click.Command:
        command = self._known[name]
        if command is None:
            module, _, attribute = _MODULES[name].partition(":")
            command = self._known[name] = getattr(import_module(f"softsense.cli.{module}"), attribute)
        return command

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class _Root(click.Group):
    """The command itself, whose help is ordered by subject."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _OF_DRIVE:
            return super().get_command(context, name)
        drive = self.commands["drive"]
        assert isinstance(drive, click.Group)
        return drive.get_command(context, name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        longest = max(len(name) for names in _SUBJECTS.values() for name in names)
        room = formatter.width - longest - 6
        for subject, names in _SUBJECTS.items():
            with formatter.section(subject):
                formatter.write_dl(
                    [(name.ljust(longest), self.commands[name].get_short_help_str(room)) for name in names]
                )


@click.group(
    cls=_Root,
    commands=_Commands(),
    epilog=example("softsense compare mlc-25nm"),
    # With `color` click drops no escape sequences in pipes: they are shown (`softsense.terminal`).
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "color": True},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, value: _say_version(context) if value else None,
    help="Show version, build and CPU features, and exit.",
)
def cli() -> None:
    """Simulate SSDs whose error correction is real.

    Real LDPC and BCH decoders run on the results of sensing worn flash cells. An event-driven SSD turns each decode
    into response time, energy and lifetime.
    """


def _say_version(context: click.Context) -> None:
    info = softsense.build_info()
    commit = f", commit {info['commit']}" if "commit" in info else ""
    click.echo(
        f"softsense {info['version']}, model {info['model_version']}, {info['profile']} build for {info['target']}, "
        f"codecs use {info['instruction_set']}{commit}"
    )
    context.exit()


@cli.command("completion", epilog=example("softsense completion bash"))
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print a script that completes commands in SHELL.

    SHELL is bash, zsh or fish. The script completes softsense's commands, options and names.

    For bash put `eval "$(softsense completion bash)"` into ~/.bashrc, for zsh the same with zsh into ~/.zshrc; for fish
    write it to ~/.config/fish/completions/softsense.fish.
    """
    from click.shell_completion import get_completion_class

    completes = get_completion_class(shell)
    assert completes is not None
    click.echo(completes(cli, {}, "softsense", "_SOFTSENSE_COMPLETE").source())
