"""Does softsense start at once? Plotting and data-frame libraries may only be imported by those who use them."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from softsense.cli.root import _MODULES

HEAVY = {"asyncio", "distributed", "matplotlib", "numpy", "polars", "rich", "scipy"}


def seconds(*code: str) -> float:
    """CPU time of a fresh interpreter, best of five: wall-clock time would measure what else the machine does."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *code], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


@pytest.mark.parametrize("module", ["softsense", "softsense.cli"])
def test_import_leaves_heavy_modules_alone(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not HEAVY & set(done.stdout.split())


def test_a_command_loads_no_other() -> None:
    """A deterministic part of how fast commands start: what none of them needs is not there."""
    code = "import sys; from softsense.cli import main; main(['policies']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    others = {f"softsense.cli.{place.partition(':')[0]}" for place in _MODULES.values()} - {"softsense.cli.run"}
    assert "softsense.cli.run" in loaded
    assert not others & loaded


@pytest.mark.alone
def test_import_takes_less_than_150_ms() -> None:
    assert seconds("-c", "import softsense") - seconds("-c", "pass") < 0.15


@pytest.mark.alone
def test_command_starts_in_less_than_300_ms() -> None:
    assert seconds("-c", "from softsense.cli import main; main(['--version'])") < 0.3
