r"""Output of commands, on its way to a terminal or a pipe.

Names of configs, traces, policies and folders, and errors of users' own code, may contain anything. Some characters
steer a terminal: they clear it, rename its window, or let text run backwards. Such a character is printed as its
escape, `\u001b`, which JSON and TOML read as the character. `main` puts standard output and standard error behind
`escaping`, so that all text passes here. Codes that the commands themselves send to steer the terminal go past it, by
`steer` and `raw`.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

# C0 but tab and newline, DEL, C1; marks, embeddings and isolates of bidirectional text; separators of lines and
# paragraphs; halves of surrogate pairs, which stand for bytes of file names that are no text.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    r"""The text with escapes for characters that steer a terminal.

    >>> escaped("a\x1b[2J\tb\r\n")
    'a\\u001b[2J\tb\\u000d\n'
    """
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class _Escaping:
    """A text stream that writes escapes; it has no stream of bytes beneath."""

    def __init__(self, behind: TextIO) -> None:
        self.behind = behind

    def write(self, text: str | bytes) -> int:
        """Write text, with escapes also for what the encoding of the stream lacks; bytes are UTF-8."""
        if isinstance(text, bytes):
            text = text.decode(errors="surrogateescape")
        encoding = self.behind.encoding or "utf-8"
        self.behind.write(escaped(text).encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach"):
            raise AttributeError(name)
        return getattr(self.behind, name)


def escape_output() -> None:
    """Escape all that this process prints from now on."""
    # A program that was started with a stream closed has none.
    sys.stdout, sys.stderr = (cast("TextIO", each and _Escaping(each)) for each in (sys.stdout, sys.stderr))


@contextlib.contextmanager
def escaping() -> Iterator[None]:
    """A context in which all that is printed is escaped."""
    before = sys.stdout, sys.stderr
    escape_output()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def raw(stream: TextIO) -> TextIO:
    """The stream behind the escapes, for callers that escape their texts themselves."""
    return stream.behind if isinstance(stream, _Escaping) else stream


def steer(codes: str) -> None:
    """Send codes of our own to the terminal at standard output."""
    raw(sys.stdout).write(codes)
