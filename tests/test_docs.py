"""Does the documentation name commands, options, fields and pages that there are?"""

import ast
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import softsense
from softsense.cli import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _commands(page: Path) -> Iterator[list[str]]:
    """The words of each `softsense` command in the page's blocks of console input."""
    for block in _BLOCK.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            text = line.removeprefix("$ ").strip()
            if re.match(r"(\.venv/bin/)?softsense ", text):
                yield re.split(r"\s(?=[|>&])", shlex.join(shlex.split(text, comments=True)))[0].split()


def _complaint(words: list[str]) -> str | None:
    """What is wrong with a command, or nothing."""
    command: click.Command = cli
    rest = words[1:]
    while isinstance(command, click.Group):
        if not rest or rest[0].startswith("-"):
            break
        context = click.Context(command)
        following = command.get_command(context, rest[0])
        if following is None:
            return f"there is no command `{rest[0]}`"
        command, rest = following, rest[1:]
    options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    options |= {"--help", "-h"}
    for word in rest:
        name = word.partition("=")[0]
        if name.startswith("--") and name not in options:
            return f"there is no option `{name}`"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_the_documentation_exist(page: Path) -> None:
    wrong = {" ".join(words): complaint for words in _commands(page) if (complaint := _complaint(words))}
    assert not wrong


def test_the_check_of_commands_sees_what_is_wrong() -> None:
    assert _complaint(["softsense", "compare", "mlc-25nm", "--policies", "all"]) is None
    assert _complaint(["softsense", "code", "bench", "teaching-1/2", "--chanel"]) == "there is no option `--chanel`"
    assert _complaint(["softsense", "code", "bensh", "flash-8/9"]) == "there is no command `bensh`"
    assert sum(1 for page in PAGES for _ in _commands(page)) > 50


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = runpy.run_path(str(DOCS / "conf.py"))["navigation"]()
    listed = [page for entry, pages in navigation.items() for page in (entry, *pages)]
    there = {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")} - {"index", "README"}
    assert sorted(listed) == sorted(there)


def test_names_of_the_glossary_exist() -> None:
    rows = [line.rstrip(" |").split(" | ") for line in (DOCS / "glossary.md").read_text().splitlines()]
    names = {
        name for row in rows if len(row) == 3 for quoted in re.findall("`(.+?)`", row[2]) for name in _words(quoted)
    }
    files = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/**/*.py")]
    there = {word for file in files for word in (*_words(file.read_text()), *_words(file.name))}
    assert len(names) > 80
    assert names - there == set()


def test_pages_show_the_model_version_of_today() -> None:
    output = re.compile(r"^ *softsense [\d.]+, model (\d+), ", re.MULTILINE)
    shown = {page.name: output.findall(page.read_text()) for page in PAGES}
    assert {name: found for name, found in shown.items() if found} == {
        "installing.md": [softsense.build_info()["model_version"]]
    }


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_of_the_documentation_parses(page: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        ast.parse(block)


MODEL = [page for page in PAGES if page.parent.name == "model" and page.name != "README.md"]
LIMITS = {"Validity", "Limits", "What it leaves out"}


@pytest.mark.parametrize("page", MODEL, ids=lambda page: page.name)
def test_a_page_of_the_model_begins_with_its_question_and_ends_with_its_symbols(page: Path) -> None:
    text = re.sub(r"^```(?!math)\w.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    question = text.split("\n\n")[1]
    assert "?" in question
    assert "```math" not in question
    sections = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert LIMITS & set(sections)
    if "Symbols" in sections:
        assert sections[-1] == "Symbols"
        assert text.rstrip().splitlines()[-1].startswith("|")
        assert "```math" not in text.partition("\n## Symbols")[2]
    else:
        assert "```math" not in text
