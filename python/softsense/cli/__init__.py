"""The `softsense` command.

Faults of the input end in one line, `error: <place>: <what was found, what was expected>`, and exit code 2. Faults of
softsense itself end in one line and exit code 70. After Ctrl-C the results so far are written, and the exit code is
130. Results go to standard output, progress to standard error.

`entry` has the function that is called, `root` the command with all below it; each group of commands has a module.
"""

from softsense.cli.entry import main
from softsense.cli.root import cli

__all__ = ["cli", "main"]
