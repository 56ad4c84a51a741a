"""Does the page of `serve-results` follow runs as they go on, show what they found, and give away nothing else?"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest

from browser import Browser, View
from conftest import SMALL, Softsense
from page_server import addresses_of_files, finished_run, got, served
from softsense import FileError, Interrupted, following
from softsense.live.results import Results, text
from softsense.live.server import as_json

SOFTSENSE = [sys.executable, "-m", "softsense"]


def swept(folder: Path, requests: int = 3000) -> Path:
    """The file of a sweep of six points."""
    overrides = ", ".join(json.dumps(field) for field in [*SMALL, f"workload.requests={requests}"])
    grid = "[grid]\n'ftl.over_provisioning' = [0.2, 0.25, 0.3]\n"
    file = folder / "s.toml"
    file.write_text(f"config = 'mlc-25nm'\npolicies = ['two_step', 'progressive']\nset = [{overrides}]\n{grid}")
    return file


def test_a_running_sweep_is_followed_to_its_end(browser: Browser, tmp_path: Path) -> None:
    command = [*SOFTSENSE, "sweep", str(swept(tmp_path, 300_000)), "--workers", "1", "--out", str(tmp_path / "out")]
    (tmp_path / "out").mkdir()
    with served(Results(tmp_path / "out").answered) as server:
        view = View(browser, server.address, 1200)
        assert "No run has said anything" in view.until(
            "document.getElementById('told').textContent.length > 3 &&document.getElementById('told').textContent"
        )
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        shown = "document.body.innerText"
        view.until(f"{shown}.includes('running')", 90)
        partial = view.until("(m => m && Number(m[1]))(document.body.innerText.match(/([0-9]+) of 6 points/))", 120)
        assert 1 <= partial <= 6
        assert process.wait(300) == 0
        view.until(f"{shown}.includes('✓ finished') && {shown}.includes('6 of 6 points are finished')", 30)
        frame = pl.read_parquet(tmp_path / "out" / "sweep.parquet")
        rows = view.js("[...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        heads = view.js("[...document.querySelectorAll('thead th')].map(c => c.textContent)")
        mean = heads.index("response.read.mean_us")
        for row in rows:
            number = float(row[mean].replace(",", ""))
            assert number == pytest.approx(frame["response.read.mean_us"][int(row[0]) - 1], rel=1e-4)
        assert sorted(int(row[0]) for row in rows) == [1, 2, 3, 4, 5, 6]
        assert view.until("document.querySelectorAll('.plot .point').length") >= 6
        links = view.js("[...document.querySelectorAll('.files a')].map(a => a.href)")
        (of_report,) = (link for link in links if link.endswith("/files/report.html"))
        assert view.until("[...document.images].filter(i => i.complete && i.naturalWidth).length") == 1
        assert view.complaints() == []
        view.close()
        phone = View(browser, server.address, 390, "dark")
        phone.until("document.querySelectorAll('tbody tr').length === 6")
        assert phone.js("document.documentElement.scrollWidth") <= 390
        phone.close()
        report = View(browser, of_report, 1200)
        assert report.js("document.querySelectorAll('.plot svg').length") > 0
        report.close()


def told(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Results(folder).state()["runs"]
    return found


def test_every_end_of_a_run_is_told(tmp_path: Path) -> None:
    def run(name: str, error: BaseException | None = None) -> None:
        (tmp_path / name).mkdir()
        with following.following(tmp_path / name / following.NAME, "sweep", name, lambda *_: None) as followed:
            followed("simulating", 3, 0.5)
            if error:
                raise error

    run("whole")
    for name, error in (("bug", ValueError("x")), ("typed", KeyboardInterrupt()), ("told", Interrupted(None))):
        with pytest.raises(type(error)):
            run(name, error)
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    (tmp_path / "killed").mkdir()
    going = json.loads((tmp_path / "whole" / following.NAME).read_text()) | {"state": "running", "fraction": 0.25}
    (tmp_path / "killed" / following.NAME).write_text(json.dumps(going | {"process": killed.pid}))
    (tmp_path / "going").mkdir()
    (tmp_path / "going" / following.NAME).write_text(
        json.dumps(going | {"process": os.getpid(), "started_s": time.time() - 10})
    )
    found = {run["where"]: run for run in told(tmp_path)}
    assert {where: run["state"] for where, run in found.items()} == {
        "whole": "finished",
        "bug": "failed",
        "typed": "interrupted",
        "told": "interrupted",
        "killed": "stopped",
        "going": "running",
    }
    assert found["whole"]["fraction"] == 1
    assert found["going"]["left_s"] == pytest.approx(30, rel=0.1)
    assert "going: sweep whole, running, 25.0 % complete" in text(Results(tmp_path).state())


def test_results_without_progress_are_shown(softsense_command: Softsense, set_small: list[str], tmp_path: Path) -> None:
    """A comparison and a run tell nobody how far they are, and are results as all others are."""
    for words in (["compare", "mlc-25nm", "--policies", "two_step,ideal"], ["run", "mlc-25nm"]):
        done = softsense_command(*words, *set_small, "--out", f"all/{words[0]}")
        assert done.returncode == 0, done.stderr
    swept_ = softsense_command("sweep", str(swept(tmp_path, 1000)), "--out", "all/sweep")
    assert swept_.returncode == 0, swept_.stderr
    (tmp_path / "all" / "strange").mkdir()
    (tmp_path / "all" / "strange" / "results.json").write_text('{"kind": 3}')
    state = Results(tmp_path / "all").state()
    found = {run["where"]: run for run in state["runs"]}
    assert sorted(found) == ["compare", "run", "sweep"]
    assert {run["state"] for run in found.values()} == {"finished"}
    assert found["compare"]["doing"].startswith("softsense compare mlc-25nm --policies two_step,ideal")
    assert "report.html" in {file["name"] for file in found["compare"]["files"]}
    assert found["sweep"]["elapsed_s"] is not None, "its progress says more"
    (skipped,) = state["skipped"]
    assert "strange/results.json" in skipped
    assert "compare: compare mlc-25nm, finished" in text(state)


def test_files_that_are_none_of_ours_are_passed_over(tmp_path: Path) -> None:
    """Each with one line; what comes after them is shown all the same."""
    with following.following(tmp_path / following.NAME, "sweep", "good", lambda *_: None) as followed:
        followed("simulating", 3, 0.5)
    good = json.loads((tmp_path / following.NAME).read_text())
    strange = {
        "a": ("not json", "a/.progress.json: found text that is not JSON"),
        "b": ("[]", "b/.progress.json: found a list, expected an object"),
        "c": ('{"state": "running"}', "c/.progress.json: found no `what`"),
        "d": (json.dumps(good | {"history": 5}), "`history`: found `5`, expected a list"),
        "e": (json.dumps(good | {"history": [1, 2, 3]}), "`history[0]`: found `1`, expected a list of 2"),
        "f": (json.dumps(good | {"fraction": float("nan")}), "found text that is not JSON"),
        "g": ("[" * 100_000, "nested too deep"),
        "h": (json.dumps(good | {"count": 10**400}), "an integer of 401 digits"),
        "i": (json.dumps(good | {"name": "\ud800"}), "not UTF-8"),
        "j": (json.dumps(good | {"process": 0}), "`process`: found `0`, expected a number from 1"),
        "k": (json.dumps(good | {"started_s": 1e308, "told_s": -1e308}), "`started_s`"),
    }
    for name, (content, _) in strange.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / following.NAME).write_text(content)
    os.mkfifo(tmp_path / f"pipe{following.NAME}")
    (tmp_path / f"loop{following.NAME}").symlink_to(f"loop{following.NAME}")
    state = Results(tmp_path).state()
    assert [run["name"] for run in state["runs"]] == ["good"]
    assert len(state["skipped"]) == len(strange) + 2
    for _, says in strange.values():
        assert any(says in line for line in state["skipped"]), says
    assert text(state).count("skipped ") == len(strange) + 2
    done = subprocess.run(
        [*SOFTSENSE, "serve-results", tmp_path, "--once"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == text(state) + "\n"
    with pytest.raises(FileError, match="found no such folder"):
        Results(tmp_path / "nowhere")


def test_the_page_names_what_it_skips(browser: Browser, tmp_path: Path) -> None:
    for name, content in (("good", None), ("<b>bad</b>", '{"state": "running"}')):
        (tmp_path / name.replace("/", "")).mkdir()
        file = tmp_path / name.replace("/", "") / following.NAME
        with following.following(file, "sweep", name, lambda *_: None) as followed:
            followed("simulating", 3, 0.5)
        if content:
            file.write_text(content)
    with served(Results(tmp_path).answered) as server:
        view = View(browser, server.address, 1200)
        skipped = view.until("document.getElementById('skipped').textContent")
        assert skipped == f"skipped <b>bad<b>/{following.NAME}: found no `what`"
        assert view.until("document.body.innerText.includes('sweep: good')")
        assert view.complaints() == []
        view.close()


def test_strange_plans_and_points_cost_the_points_alone(tmp_path: Path) -> None:
    with following.following(tmp_path / following.NAME, "sweep", "good", lambda *_: None) as followed:
        followed("simulating", 3, 0.5)
        point = {"point": 1, "id": "one", "setting": {"f": 0.5}, "policy": "two_step", "trace": None, "seed": 1}
        plan: dict[str, Any] = {"fields": ["f"], "pair": ["response.read.mean_us", "x"], "points": [point]}
    (tmp_path / "points").mkdir()

    def state(document: object, frame: pl.DataFrame | bytes, name: str = "") -> dict[str, Any]:
        (tmp_path / following.PLAN).write_text(json.dumps(document))
        for left in (tmp_path / "points").iterdir():
            left.unlink()
        buffer = io.BytesIO()
        if isinstance(frame, pl.DataFrame):
            frame.write_parquet(buffer)
        else:
            buffer.write(frame)
        name = name or hashlib.sha256(buffer.getvalue()).hexdigest()
        (tmp_path / "points" / f"{name}.parquet").write_bytes(buffer.getvalue())
        found = Results(tmp_path).state()
        as_json(found)
        assert [run["name"] for run in found["runs"]] == ["good"]
        return found

    good = pl.DataFrame({"id": ["one"], "response.read.mean_us": [3.0], "x": [1]})
    found = state(plan, good)
    assert found["skipped"] == []
    assert found["runs"][0]["points"]["rows"] == [[1, 0.5, "two_step", None, 1, 3.0, 1]]
    strange: list[tuple[object, pl.DataFrame | bytes, str]] = [
        ([], good, "found a list"),
        (plan | {"pair": ["x"]}, good, "`pair`"),
        (plan | {"points": [point | {"policy": ["two_step"]}]}, good, "`points[0].policy`"),
        (plan, good.drop("id"), "no column `id`"),
        (plan, good.with_columns(id=1), "no column `id`"),
        (plan, b"PAR1 but not much of it", "expected Parquet"),
    ]
    for document, frame, says in strange:
        found = state(document, frame)
        assert says in found["skipped"][0], found["skipped"]
        assert found["runs"][0]["points"] is None
    assert "SHA-256" in state(plan, good, "other")["skipped"][0]
    # Numbers that are none are no points, and columns that are not numbers are none.
    odd = pl.DataFrame({"id": ["one"], "response.read.mean_us": [float("nan")], "x": ["text"]})
    assert state(plan | {"pair": ["response.x.mean_us", ""]}, odd)["skipped"] == []
    assert state(plan | {"fields": ["other"], "points": [point | {"policy": ""}]}, good)["skipped"] == []


def test_a_campaign_and_a_reproduction_say_how_far_they_are(tmp_path: Path) -> None:
    fer = ["fer", "teaching-1/2", "--rber", "0.05", "--frames", "2000", "--levels", "1", "--workers", "1"]
    subprocess.run([*SOFTSENSE, *fer, "--store", str(tmp_path / "t.fer")], check=True, capture_output=True)
    reproduce = ["reproduce", "adaptive-rate-pool", "--figure", "3", "--out", str(tmp_path / "pool")]
    subprocess.run([*SOFTSENSE, *reproduce], check=True, capture_output=True)
    found = {run["where"]: run for run in told(tmp_path)}
    assert found["t.fer"]["what"] == "frames"
    assert found["t.fer"]["name"] == "teaching-1/2"
    assert found["pool"]["what"] == "reproduce"
    assert {run["state"] for run in found.values()} == {"finished"}
    assert "report.html" in [file["name"] for file in found["pool"]["files"]]


def test_nothing_outside_the_folder_is_served(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (folder / ".hidden").mkdir(parents=True)
    for place in (tmp_path / "secret.txt", folder / ".hidden" / "a.txt", folder / ".a.txt", folder / "a.py"):
        place.write_text("secret")
    (folder / "a.txt").write_text("result")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "linked").symlink_to(tmp_path)
    with served(Results(folder).answered) as server:

        def found(path: str) -> int:
            """With the right key: nobody but the server makes one."""
            key = server.key(f"/{unquote(path)}")
            return got(f"{server.origin}/{key}/{path}")[0]

        assert found("files/a.txt") == 200
        for path in (
            "files/../secret.txt",
            "files/%2e%2e/secret.txt",
            "files/..%2fsecret.txt",
            f"files/{tmp_path}/secret.txt",
            f"files/%2f{str(tmp_path)[1:]}/secret.txt",
            "files/link.txt",
            "files/linked/secret.txt",
            "files/.hidden/a.txt",
            "files/.a.txt",
            "files/a.py",
            "files/",
            "files/%00",
            f"files/{'x' * 1000}",
            "secret.txt",
        ):
            assert found(path) == 404, path


def test_names_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    files = {"a.txt": b"", "ü €.txt": b"", os.fsdecode(b"\xff.txt"): b"", "a?b#c%20.txt": b"", "<img>\n.txt": b""}
    finished_run(tmp_path, files)
    (tmp_path / "run").rename(tmp_path / os.fsdecode(b"\xfe"))
    finished_run(tmp_path, files)
    with served(Results(tmp_path).answered) as server:
        addresses = addresses_of_files(server)
        assert set(addresses) == set(files) - {os.fsdecode(b"\xff.txt")}
        assert {got(address)[0] for address in addresses.values()} == {200}
