"""Counts what is hard to read once, and holds it to a budget that only falls: `make lint`.

    python docs/prose.py [--worst N] [--lower]

Sentences of pages, of comments and of docstrings are counted by folder: those of more than 35 words, and those that
begin with a pronoun or a relative and no noun ("What it ...", "Those of ..."). So are those with a word for which the
glossary has another, and cells of more than 25 words in tables of pages. docs/prose.toml has the budgets: the script
ends with 1 if a folder has more, and `--lower` writes what there is.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUDGETS = Path(__file__).with_suffix(".toml")
LONG = 35
"""Words of a sentence above which it is hard to read once."""
WIDE = 25
"""Words of a cell of a table above which it should be sentences beside the table."""
HEADLESS = re.compile(r"(What|Which|Where|That|This|Those|These|It|They|Of|As|The same|Such)\b", re.I)
"""Beginnings of a line of documentation whose noun the reader has to guess."""
GLOSSARY = Path(__file__).parent / "glossary.md"
_ROWS = GLOSSARY.read_text(encoding="utf-8").partition("## One word for one thing")[2].partition("|---|---|")[2]
_REPLACED = "|".join(re.findall(r"^\| (.+?) \|", _ROWS, re.MULTILINE))
BANNED = re.compile(rf"\b({_REPLACED})s?\b")
"""Words for which the glossary has another."""
FOLDERS = {
    "pages": ["README.md", "CONTRIBUTING.md", "DESIGN.md", "CHANGELOG.md", "docs/**/*.md"],
    "crates/base": ["crates/base/src/**/*.rs"],
    "crates/nand": ["crates/nand/src/**/*.rs"],
    "crates/ecc": ["crates/ecc/src/**/*.rs"],
    "crates/link": ["crates/link/src/**/*.rs"],
    "crates/requests": ["crates/requests/src/**/*.rs"],
    "crates/config": ["crates/config/src/**/*.rs"],
    "crates/ftl": ["crates/ftl/src/**/*.rs"],
    "crates/ssd": ["crates/ssd/src/**/*.rs"],
    "crates/drive": ["crates/drive/src/**/*.rs"],
    "crates/py": ["crates/py/src/**/*.rs"],
    "python": ["python/softsense/**/*.py", "python/softsense/**/*.pyi"],
}


@dataclass(frozen=True)
class Sentence:
    """A sentence, and where its paragraph begins; `begins` says whether the sentence does, too."""

    text: str
    file: Path
    line: int
    begins: bool

    @property
    def is_long(self) -> bool:
        """Whether it has more than `LONG` words."""
        return len(self.text.split()) > LONG

    @property
    def is_headless(self) -> bool:
        """Whether documentation of code begins with it, and it begins without a noun."""
        return self.begins and self.file.suffix != ".md" and bool(HEADLESS.match(self.text))


def paragraphs(file: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each paragraph of prose: no code, no tables, no headings; an item of a list is a paragraph."""
    kept: list[str] = []
    begun, fenced = 0, False
    for number, text in [*_prose(file), (0, "")]:
        is_fence = text.startswith(("```", "~~~"))
        item = re.match(r"([-*]|\d+\.|[a-z_, ]+:) (?=\S)", text)
        if fenced or is_fence or not text or item or text.startswith(("|", "#", ">>>", "![", "<")):
            if kept:
                yield begun, " ".join(kept)
            kept = []
            text = text[item.end() :] if item and not fenced else ""
        fenced ^= is_fence
        if text:
            begun = begun if kept else number
            kept.append(text)


def _prose(file: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line of prose, and an empty one where prose ends."""
    text = file.read_text(encoding="utf-8")
    if file.suffix in (".py", ".pyi"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                for line in (ast.get_docstring(node) or "").splitlines():
                    yield getattr(node, "lineno", 1), line.strip()
                yield 0, ""
    of_line = {".md": r"(?! {4,}(?![-*] |\d+\. ))(.*)", ".rs": r"\s*//[/!]? ?(.*)"}.get(file.suffix, r"\s*# (.*)")
    for number, line in enumerate(text.splitlines(), start=1):
        found = re.fullmatch(of_line, line)
        yield number, found[1].strip() if found else ""


def _plain(text: str) -> str:
    """Text in which code and formulas are a word each, and links are their words."""
    return re.sub(r"`[^`]*`|\$[^$]+\$|\[([^]]*)\]\([^)]*\)", lambda found: found[1] or "Code", text)


def wide_cells(file: Path) -> Iterator[Sentence]:
    """Cells of tables of a page that have more than `WIDE` words."""
    for line, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        for cell in text.split("|")[1:-1] if text.startswith("|") else []:
            if len(_plain(cell).split()) > WIDE:
                yield Sentence(cell.strip(), file, line, False)


def sentences(file: Path) -> Iterator[Sentence]:
    """All of a file."""
    for line, text in paragraphs(file):
        for number, each in enumerate(re.split(r"(?<=[.:;?!])\s+(?=[A-Z`*\"])", _plain(text))):
            yield Sentence(each, file, line, number == 0)


def main(worst: int, lower: bool) -> int:
    """Count, compare with the budgets, and say."""
    budgets = tomllib.loads(BUDGETS.read_text()) if BUDGETS.exists() else {}
    lines = [
        "# Sentences that are hard to read once, by folder: at most so many. `python docs/prose.py --lower` writes it."
    ]
    status = 0
    print(f"{'':12}  sentences  above 25  above {LONG}  without a noun")
    for name, patterns in FOLDERS.items():
        files = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))]
        found = [each for file in files for each in sentences(file)]
        hard = {
            "long": [each for each in found if each.is_long],
            "headless": [each for each in found if each.is_headless],
            "banned": [each for each in found if BANNED.search(each.text)],
        }
        if name == "pages":
            hard["cells"] = [cell for file in files for cell in wide_cells(file)]
        above = [sum(len(each.text.split()) > most for each in found) / len(found) for most in (25, LONG)]
        print(f"{name:12}  {len(found):9,}  {above[0]:8.1%}  {above[1]:8.1%}  {len(hard['headless']):14,}")
        lines += ["", f'["{name}"]', *(f"{kind} = {len(every)}" for kind, every in hard.items())]
        for kind, every in hard.items():
            most = budgets.get(name, {}).get(kind, 0)
            if len(every) > most and not lower:
                status = 1
                print(f"  found {len(every)} ({kind}), expected at most {most}: --worst 20 shows them")
            for each in sorted(every, key=lambda each: -len(each.text.split()))[:worst]:
                print(f"  {kind}: {each.file.relative_to(ROOT)}:{each.line}: {each.text}")
    if lower:
        BUDGETS.write_text("\n".join(lines) + "\n")
    return status


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main(int(words[words.index("--worst") + 1]) if "--worst" in words else 0, "--lower" in words))
