"""Text of documents: paragraphs with marks, and names that may be broken."""

from __future__ import annotations

import re
from html import escape


def marked_up(text: str) -> str:
    """A paragraph with `code`, *emphasis* and **strong** words; all other text is shown unchanged."""
    found = []
    # Text between backticks is code, in which nothing else is marked.
    for i, part in enumerate(re.split(r"`([^`\n]+)`", text)):
        safe = escape(part, quote=False)
        if i % 2:
            found.append(f"<code>{safe}</code>")
            continue
        safe = re.sub(r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])", r"<strong>\1</strong>", safe)
        found.append(re.sub(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=[^\s*])\*(?![\w*])", r"<em>\1</em>", safe))
    return "".join(found)


def breakable(text: str) -> str:
    """A text with places at which a long name, such as a config field, may be broken."""
    return re.sub(r"(?<=\w[_.])(?=[^\W\d])", "<wbr>", escape(text))


def with_micro(text: str) -> str:
    """A text with the micro sign, which not every terminal has."""
    return re.sub(r"\bu([sJ])\b", r"µ\1", text)
