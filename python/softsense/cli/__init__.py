"""The `softsense` command.

Whatever is wrong with the input ends in one line, `error: <place>: <what was found, what was expected>`, and exit
code 2; what is wrong with softsense itself in one line and 70; Ctrl-C writes what was measured and ends in 130. Results
go to standard output, progress to standard error.

`entry` has what is called, `root` the command with all below it; each group of commands has a module.
"""

from softsense.cli.entry import main
from softsense.cli.root import cli

__all__ = ["cli", "main"]
