"""The command itself, with all commands below it."""

from __future__ import annotations

import click

import softsense
from softsense.cli.code import code_group
from softsense.cli.completing import SHELLS
from softsense.cli.config import config_group
from softsense.cli.conform import code_conform
from softsense.cli.explain import explain_command
from softsense.cli.fairness import fairness_command
from softsense.cli.fer import fer
from softsense.cli.fit import fit_command
from softsense.cli.flash import flash_group
from softsense.cli.life import design_group, lifetime_command
from softsense.cli.live import serve_results_command
from softsense.cli.options import example
from softsense.cli.reproduce import reproduce_command
from softsense.cli.results import results_group
from softsense.cli.run import compare, policies_command, run
from softsense.cli.served import age_command, fault_command, scrub_command, serve_command, status_command
from softsense.cli.sweep import sweep_command
from softsense.cli.table import table_group
from softsense.cli.trace import trace


@click.group(
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

    Real LDPC and BCH decoders run on what sensing worn flash cells returns; an event-driven SSD turns each decode into
    response time, energy and lifetime.
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


for _command in (
    run,
    compare,
    fairness_command,
    policies_command,
    trace,
    config_group,
    code_group,
    fer,
    flash_group,
    explain_command,
    lifetime_command,
    design_group,
    table_group,
    reproduce_command,
    fit_command,
    sweep_command,
    results_group,
    serve_results_command,
    serve_command,
    age_command,
    status_command,
    fault_command,
    scrub_command,
):
    cli.add_command(_command)
code_group.add_command(code_conform)
