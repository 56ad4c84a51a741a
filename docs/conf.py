"""Builds the documentation site with Sphinx: `make docs`.

The pages are plain Markdown, so that they read the same in a repository browser. What only the site has is added here:
the navigation, the generated references, and pages with the files that are linked to.

Sphinx, because Material for MkDocs ends in May 2027, MkDocs itself has had no release since 2024, and their successor
Zensical is a beta that runs no plugins but its own.
"""

from __future__ import annotations

import html
import os
import posixpath
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent


def _repository() -> str:
    """Where the repository is on the web, by pyproject.toml or by the workflow that builds the site; else nothing."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
    here = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(os.environ) if "GITHUB_REPOSITORY" in os.environ else ""
    return str(told.get("Repository", here))


REPOSITORY = _repository()

# The entries of the navigation, in their order. A group is folded: the list on its page is what is in it.
_GROUPS = ["tutorials/README", "guides", "papers", "model/README", "reference/README", "about"]
ENTRIES = ["installing", *_GROUPS]

# Pages that stand in the root of the repository; the site shows them under About.
FROM_ROOT = {"design": "DESIGN.md", "changelog": "CHANGELOG.md", "security": "SECURITY.md"}

project = "softsense"
author = "The softsense authors"
copyright = author  # noqa: A001
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["images", "README.md"]  # The front page includes README.md.
suppress_warnings = ["misc.highlighting_failure"]  # Excerpts have dots where something was left out.
default_role = "literal"  # Docstrings write code as `code`.

myst_heading_anchors = 4
# `$...$` and fences of ```math, as repository browsers show them. On the site they are MathML, which needs no script.
myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False
myst_fence_as_directive = ["math"]
myst_update_mathjax = False
html_math_renderer = "mathml"

html_theme = "furo"
html_title = "softsense"
html_css_files = ["site.css"]
html_static_path = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6cb6e0", "color-brand-content": "#6cb6e0"},
    "top_of_page_buttons": [],
}
if REPOSITORY:
    html_theme_options |= {
        "source_repository": REPOSITORY,
        "source_branch": "main",
        "source_directory": "docs/",
        "footer_icons": [{"name": "Repository", "url": REPOSITORY, "html": "Repository", "class": ""}],
    }
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_use_ivar = True

sys.path.insert(0, str(DOCS))


def navigation() -> dict[str, list[str]]:
    """The pages that each entry of the navigation lists, in their order: those with which items of its list begin."""

    def listed(entry: str) -> Iterator[str]:
        for link in re.findall(r"^- \[[^]]+\]\(([^)#]+)\.md\)", (DOCS / f"{entry}.md").read_text(), re.MULTILINE):
            yield posixpath.normpath(PurePosixPath(entry).parent / link)

    return {entry: list(listed(entry)) if entry in _GROUPS else [] for entry in ENTRIES}


def _toctree(pages: Iterable[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", "", *(f"/{page}" for page in pages), "```", ""])


def _from_root(name: str) -> str:
    """A page of the root, its links as seen from docs/."""

    def seen_from_docs(link: re.Match[str]) -> str:
        target = link.group(1)
        return f"]({target.removeprefix('docs/') if target.startswith('docs/') else f'../{target}'})"

    return re.sub(r"\]\((?!https?:|#|\))([^)]+)\)", seen_from_docs, (ROOT / name).read_text())


def _complete_source(_app: Any, page: str, source: list[str]) -> None:
    """Adds what is not written by hand."""
    import reference

    if page == root_doc:
        source[0] += _toctree(ENTRIES)
    elif page in _GROUPS:
        source[0] += _toctree(navigation()[page])
    elif page in FROM_ROOT:
        source[0] = _from_root(FROM_ROOT[page])
    elif page in reference.GENERATED:
        source[0] += "\n" + reference.GENERATED[page]() + "\n"


# Files of the repository that pages link to, and where each stands on the site.
_linked: set[str] = set()


def _link_files(app: Any, doctree: Any) -> None:
    """Turns links to files outside docs/ into links to a page that shows them."""
    from docutils import nodes
    from sphinx import addnodes
    from sphinx.util import logging
    from sphinx.util.osutil import relative_uri

    page = app.env.docname
    for node in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        path = (DOCS / PurePosixPath(page).parent / node.get("reftarget", "").partition("#")[0]).resolve()
        if isinstance(node, addnodes.pending_xref) and (path.is_relative_to(DOCS) or not path.is_dir()):
            continue  # A page, or something for Sphinx to complain about.
        if not path.is_relative_to(ROOT) or not path.exists():
            logging.getLogger(__name__).warning("no such file: %s", node["reftarget"], location=node)
            continue
        name = path.relative_to(ROOT).as_posix()
        at_root = {file: shown for shown, file in FROM_ROOT.items()}
        if name in at_root:
            target = at_root[name]
        else:
            target = f"source/{name}"
            _linked.add(name)
        link = nodes.reference("", "", *[child.deepcopy() for child in node.children], internal=True)
        link["refuri"] = relative_uri(f"{page}.html", f"{target}.html")
        node.replace_self(link)


def _file_pages(_app: Any) -> Iterator[tuple[str, dict[str, str], str]]:
    """A page for each file that is linked to."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import TextLexer, get_lexer_for_filename
    from pygments.util import ClassNotFound

    for name in sorted(_linked):
        path = ROOT / name
        if path.is_dir():
            listed = "".join(f"<li><code>{html.escape(file.name)}</code></li>" for file in sorted(path.iterdir()))
            body = f"<ul>{listed}</ul>"
        else:
            try:
                lexer = get_lexer_for_filename(name)
            except ClassNotFound:
                lexer = TextLexer()
            body = highlight(path.read_text(), lexer, HtmlFormatter(cssclass="highlight"))
        title = html.escape(name)
        if REPOSITORY:
            kind = "tree" if path.is_dir() else "blob"
            body = f'<p><a href="{REPOSITORY}/{kind}/main/{name}">In the repository</a></p>\n{body}'
        yield f"source/{name}", {"title": title, "body": f"<h1>{title}</h1>\n{body}"}, "page.html"


def _mathml(node: Any, *, block: bool) -> str:
    """A formula as MathML; what cannot be shown is a warning, which `make docs` makes an error."""
    from math_core import LatexError, LatexToMathML
    from sphinx.util import logging

    try:
        return LatexToMathML(fancy_error=False).convert_with_local_state(node.astext().strip(), displaystyle=block)
    except LatexError as error:
        logging.getLogger(__name__).warning("%s in the formula %s", error, node.astext(), location=node)
        return f"<code>{html.escape(node.astext())}</code>"


def _visit_math(writer: Any, node: Any) -> None:
    from docutils import nodes

    writer.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def _visit_math_block(writer: Any, node: Any) -> None:
    from docutils import nodes

    writer.body.append(f'<div class="math">{_mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
    app.connect("source-read", _complete_source)
    app.connect("doctree-read", _link_files, priority=100)
    app.connect("html-collect-pages", _file_pages)
