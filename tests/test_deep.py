"""Is what is deeper or longer than anybody would write refused by all that reads text, and never the end of a process?

`fuzz/deep.py` makes such texts; `python fuzz/soak.py deep` tries many.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import softsense

FUZZ = Path(__file__).parent.parent / "fuzz"


def test_deep_texts() -> None:
    """The first some hundred."""
    command = [sys.executable, str(FUZZ / "deep.py"), "0", "300"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    last = ended.stdout.splitlines()[-1]
    assert ended.returncode == 0, (last, ended.stderr[-2000:])
    found = json.loads(last)
    assert not found["failures"]
    assert min(found["answers"].values()) > 10


DEEP = {
    "a path": ".".join(["a"] * 12_000) + "=1",
    "a path with an index": "flash.page_types" + "[0]" * 12_000 + "=1",
    "cells": f'reliability.table.rber.threshold_voltage="{"pslc:" * 25_000}mlc"',
    "tables in tables": "a=" + ("{ " + "a." * 70 + "a = ") * 70 + "1" + " }" * 70,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_overrides_in_a_thread(text: str) -> None:
    """Also in a thread, whose stack may be small."""
    told: list[str] = []

    def read() -> None:
        try:
            told.append(softsense.load_config("tlc-femu", [text]).to_toml())
        except softsense.ConfigError as error:
            told.append(str(error))

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert len(told) == 1
    assert "expected" in told[0] or 'threshold_voltage = "' in told[0]
