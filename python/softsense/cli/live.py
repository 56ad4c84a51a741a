"""`softsense serve-results`: a page that follows runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from softsense.cli.exits import INTERRUPTED
from softsense.cli.options import example, server_options
from softsense.cli.output import say_address


@click.command("serve-results", epilog=example("softsense serve-results out"))
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="Print the state of the runs once, and serve nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the state once as one JSON document.")
@server_options
def serve_results_command(folder: Path, once: bool, as_json: bool, host: str, port: int) -> int:
    """Serve a page that follows the runs in FOLDER, until Ctrl-C.

    The page shows sweeps, reproductions and measurements of frame error rates while they run, and all other results
    with their files. FOLDER is a folder of results, or a folder that contains folders of results and stores of `fer`.
    Nothing outside of FOLDER is served. Only a client that knows the printed address gets an answer, and only this
    machine can connect unless --host says otherwise.
    """
    from softsense.live import results, server

    found = results.Results(folder)
    if once or as_json:
        state = found.state()
        click.echo(json.dumps(state, indent=2, allow_nan=False) if as_json else results.text(state))
        return 0
    server.serve(server.Server(found.answered, host, port), say_address)
    return INTERRUPTED
