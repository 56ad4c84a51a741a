"""Does the README show what the demo really prints?"""

import re
from pathlib import Path

import softsense
from softsense import tables

ROOT = Path(__file__).parents[1]


def test_the_readme_shows_what_the_demo_prints(config: Path) -> None:
    found = re.search(r"```text\n(.*?)\n```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert found, "the README has a block of output"
    shown = found.group(1)
    comparison = softsense.compare(config)
    printed = f"{tables.results(comparison, 150)}\n\n{tables.finding(comparison)}"
    table, finding = shown.rsplit("\n\n", 1)
    assert table in printed, "copy the table of `make demo` into the README"
    assert printed.endswith(finding)
