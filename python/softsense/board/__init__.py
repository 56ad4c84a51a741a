"""The open board of flash codes: a matrix goes in, an entry comes out, and every number of it can be measured again.

`measure_entry` is `softsense board measure`, `check_board` is `board check`, `write_site` is `board page`, and
`softsense.board.published` has the codes with which the board begins.
"""

from softsense.board.checking import Verdict, check_board
from softsense.board.entries import entry_files, load_entry, save_entry
from softsense.board.matrices import Matrix, load_matrix, made_matrix, parse_matrix
from softsense.board.measuring import measure_entry
from softsense.board.pages import entry_page, write_site

__all__ = [
    "Matrix",
    "Verdict",
    "check_board",
    "entry_files",
    "entry_page",
    "load_entry",
    "load_matrix",
    "made_matrix",
    "measure_entry",
    "parse_matrix",
    "save_entry",
    "write_site",
]
