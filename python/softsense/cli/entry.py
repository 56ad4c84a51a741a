"""The entry of the command: an exception becomes one line and an exit code, and Ctrl-C is never lost."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from softsense import SoftsenseError, _core
from softsense.base import ShardDone
from softsense.cli.exits import INTERRUPTED, NOBODY_READS, complain, drop_output, failed
from softsense.cli.root import cli
from softsense.own import commanded
from softsense.terminal import escaping

if TYPE_CHECKING:
    from types import FrameType

_MOMENT_S = 0.01
_AGAIN_S = 0.5


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    The exit code is 0 for success, 1 for an error in the user's own code, and 2 for bad input. A bug of softsense gives
    70, and Ctrl-C 130. If the reader of standard output has closed it, the code is 141.
    """
    _core.keep_panics_quiet()
    said_before, over = sys.unraisablehook, threading.Event()
    with escaping(), _ctrl_c_noted() as heard:
        sys.unraisablehook = functools.partial(_resend_dropped_ctrl_c, heard, over)
        try:
            code = _command(arguments)
            # A program that was started with standard output closed wants no output.
            if sys.stdout:
                sys.stdout.flush()
            return code
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Some libraries turn the KeyboardInterrupt of Ctrl-C into another exception.
            if heard:
                print("interrupted", file=sys.stderr)
                return INTERRUPTED
            return failed(error)
        finally:
            over.set()
            sys.unraisablehook = said_before


@contextlib.contextmanager
def _ctrl_c_noted() -> Iterator[list[int]]:
    """Give a list that is no longer empty after Ctrl-C. KeyboardInterrupt is raised as usual.

    Outside of the main thread nothing is noted.
    """
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def hear(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    # If SIGINT is ignored, as shells set it for jobs in the background, it stays ignored.
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, hear)
    try:
        yield heard
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def _resend_dropped_ctrl_c(heard: list[int], over: threading.Event, dropped: sys.UnraisableHookArgs) -> None:
    """Send Ctrl-C once more if a destructor or a weak reference's callback received it.

    Python drops the exceptions of these.

    Args:
        heard: grows when Ctrl-C is heard.
        over: set when the command has ended.
        dropped: the exception that Python drops, and where.
    """
    if not isinstance(dropped.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    count = len(heard)

    def send() -> None:
        # Sent at once, the signal would be dropped again within the hook; so would another Ctrl-C that comes meanwhile.
        # A call that begins to wait just as the signal comes hears no more than the next one.
        pause_s = _MOMENT_S
        while not over.wait(pause_s) and len(heard) == count:
            os.kill(os.getpid(), signal.SIGINT)
            pause_s = _AGAIN_S

    with contextlib.suppress(KeyboardInterrupt):
        threading.Thread(target=send, daemon=True).start()


def _command(arguments: list[str] | None) -> int:
    try:
        _core.check_environment()
        words = sys.argv[1:] if arguments is None else arguments
        with commanded(words, lambda line: click.echo(line, err=True)):
            code = cli.main(arguments, prog_name="softsense", standalone_mode=False, obj=["softsense", *words])
    except ShardDone as done:
        click.echo(done.what, err="--json" in words)
        return 0
    except SoftsenseError as error:
        return complain(*str(error).splitlines())
    except SystemExit as ended:
        if hasattr(ended, "softsense_own"):
            return failed(ended)
        # Click exits with 1 where the reader of standard output has closed it.
        if ended.code == 1:
            drop_output()
            return NOBODY_READS
        raise
    except click.exceptions.NoArgsIsHelpError as asked:
        # A command line without a command asks for the list of commands.
        click.echo(asked.format_message())
        return 0
    except click.UsageError as error:
        hint = f" ({error.ctx.command_path} --help)" if error.ctx else ""
        return complain(error.format_message().rstrip(".") + hint)
    except click.ClickException as error:
        return complain(error.format_message())
    except click.Abort:
        print("interrupted before anything was measured", file=sys.stderr)
        return INTERRUPTED
    return code if isinstance(code, int) else 0
