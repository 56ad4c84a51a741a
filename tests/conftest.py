"""What the tests share: small devices, workloads, and the command line in a process of its own."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from browser import BROWSERS, Browser
from softsense.board import planning
from softsense.charts import Chart
from softsense.cli import main

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "configs"
TRACES = ROOT.parent / "shared" / "traces"

ONE_PLANE = (
    "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1, blocks_per_plane = 64, "
    "pages_per_block = 96, codewords_per_page = 4, codeword_bytes = 4096 }"
)
"""An override that leaves one plane of 64 blocks of 96 pages."""
SMALL = [
    "geometry.channels=2",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=2",
    "geometry.blocks_per_plane=256",
    "workload.requests=3000",
    "workload.footprint_bytes=67108864",
    "workload.arrivals={poisson={requests_per_s=2000}}",
]
"""A device of a few hundred megabytes that is set up in no time, and a workload that does not saturate it."""

# A shell starts jobs in the background with interrupts ignored, and programs that a test interrupts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

Softsense = Callable[..., subprocess.CompletedProcess[str]]


class Folder:
    """Results in a folder, without the checks of the command line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> None:
        """As `papers.Folder`."""
        (self.path / name).write_text(text)

    @contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """As `papers.Folder`."""
        yield self.path / name


@contextmanager
def dask_cluster(workers: int = 1, *, threads: int = 1) -> Iterator[Any]:
    """A real Dask cluster, of processes on this machine, whose warnings are not ours; skips the test without Dask."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=workers, threads_per_worker=threads, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        yield cluster


@contextmanager
def dask_client(workers: int = 1, *, threads: int = 1) -> Iterator[Any]:
    """A client of such a cluster, for Python's interface."""
    with dask_cluster(workers, threads=threads) as cluster, cluster.get_client() as client:
        yield client


def judged(folder: Path) -> dict[str, dict[str, Any]]:
    """The claims of a reproduction by their ids."""
    return {claim["id"]: claim for claim in json.loads((folder / "claims.json").read_text())}


@pytest.fixture
def shared() -> Path:
    """The folder with real traces and published numbers; tests that need it skip where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"no shared folder at {folder}")
    return folder


@pytest.fixture(autouse=True)
def told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No chart that any test makes has one colour for two series."""
    begin = Chart.__init__

    def checked(chart: Chart, *given: Any, **named: Any) -> None:
        begin(chart, *given, **named)
        assert not chart.alike(), f"{chart.title}: series of one colour: {chart.alike()}"

    monkeypatch.setattr(Chart, "__init__", checked)


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8ffff3f0005fe02fea73581e00000000049454e44ae426082"
)
"""A picture of one white pixel, as a PNG file."""


@pytest.fixture
def one_pixel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are composed as ever, and painted with one pixel.

    Layout and painting are two thirds of the time of a command that writes a picture. Tests that ask for something else
    leave them out; `test_paper_pictures.py`, `test_examples.py` and those of every paper's figures paint.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    def paint(_figure: Figure, to: Any, **_how: Any) -> None:
        if hasattr(to, "write"):
            to.write(PIXEL)
        else:
            Path(to).write_bytes(PIXEL)

    monkeypatch.setattr(Figure, "savefig", paint)
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda _engine, _figure: {})


SMALL_PLANS = {"RUNS": 3, "PARTICLES": 30, "STEPS": 8, "TRIAL_RUNS": 2, "COUNTED": {1e-4: 60_000, 1e-6: 12_000_000}}
"""Sizes of plans of the board, for questions that do not ask how good a rate is."""


@pytest.fixture(scope="module")
def small_plans() -> Iterator[None]:
    """Plans of the board of these sizes."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in SMALL_PLANS.items():
            patched.setattr(planning, name, value)
        yield


@pytest.fixture
def few_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headlines of papers meet one drive of today, in a few requests."""
    from softsense.papers import elsewhere

    monkeypatch.setattr(elsewhere, "_QUICK_DRIVES", ("tlc-client",))
    monkeypatch.setattr(elsewhere, "_REQUESTS", {False: (40, 200), True: (40, 200)})


@pytest.fixture
def config() -> Path:
    """The config that the demo runs."""
    return CONFIGS / "mlc-25nm.toml"


def words_of(arguments: Sequence[str | Path | Sequence[str]]) -> list[str]:
    """The words of a command, some of which come in lists."""
    return [word for each in arguments for word in ([str(each)] if isinstance(each, str | Path) else each)]


@pytest.fixture
def softsense_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Softsense:
    """Run `softsense` in an empty folder and in the process of the tests, which has imported it already."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")

    def call(*arguments: str | Path | Sequence[str]) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        return subprocess.CompletedProcess(arguments, main(words_of(arguments)), *capfd.readouterr())

    return call


@pytest.fixture
def softsense_process(tmp_path: Path) -> Softsense:
    """Run `softsense` as a user would, in an empty folder and a process of its own."""

    def call(*arguments: str | Path | Sequence[str]) -> subprocess.CompletedProcess[str]:
        program = "import sys; from softsense.cli import main; sys.exit(main())"
        return subprocess.run(
            [sys.executable, "-c", program, *words_of(arguments)],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "150"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return call


@pytest.fixture
def set_small() -> list[str]:
    """The small device as command-line options."""
    return [word for field in SMALL for word in ("--set", field)]


@pytest.fixture
def small() -> list[str]:
    """The small device as overrides."""
    return list(SMALL)


@pytest.fixture
def trace_file(tmp_path: Path) -> Path:
    """2,000 requests of 4 KiB in MQSim's format: arrival (ns), device, first sector, sectors, 1 = read."""
    file = tmp_path / "small.trace"
    lines = (f"{i * 50_000} 0 {(i * 7919 % 4096) * 8} 8 {int(i % 10 < 7)}" for i in range(2000))
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser, where one is installed."""
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if not program:
        pytest.skip("no browser: install Chromium (apt-get install chromium) to test pages in it")
    running = Browser(program, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


def carried_on(name: str, least: float, file: Path) -> str:
    """A shipped table, in a file, whose levels above 1 were measured down to a failure probability alone.

    It is carried on below.
    """
    from softsense import decode_tables
    from softsense.table_files import document_of, written

    table = decode_tables.describe(name)
    for level in table["level"][1:]:
        lowest = next(i for i, p in enumerate(level["p_fail"]) if p > least)
        for i in range(lowest):
            level["p_fail"][i] = min(table["level"][0]["p_fail"][i], level["p_fail"][lowest])
            level["p_fail_lo"][i], level["frames"][i] = 0.0, 0
    levels = table["level"]
    for shallow, deep in itertools.pairwise(levels):
        deep["p_fail"] = [min(pair) for pair in zip(shallow["p_fail"], deep["p_fail"], strict=True)]
    file.write_text(written(levels=levels, **document_of(table)), encoding="utf-8")
    return str(file)
