"""Do the recipes for clusters run, and come to what one process comes to?"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import yaml

import softsense
from conftest import ROOT, Softsense, dask_client
from test_campaign import COMMAND

CLUSTERS = ROOT / "examples" / "clusters"
CAMPAIGN = ["fer", "bch:m=8,t=5,k=215", "--rber", "0.007", "--method", "direct", "--relative-error", "0.06"]
SBATCH = r"""#!/bin/bash
# As sbatch does, but at once and one after the other: each job's commands, those of an array for each of its numbers.
for word in "$@"; do
    case $word in
        --array=1-*) last=${word#--array=1-} ;;
        --output=*) output=${word#--output=} ;;
        --wrap=*) wrapped=${word#--wrap=} ;;
        --dependency=afterany:*) [ -e "ran-${word#--dependency=afterany:}" ] || exit 3 ;;
    esac
done
id=$(($(ls | grep -c '^ran-') + 1))
for ((number = 1; number <= ${last:-1}; number++)); do
    # The third is lost, in each pass.
    [ "${last:-1}" -gt 1 ] && [ $number = 3 ] && continue
    SLURM_ARRAY_TASK_ID=$number SLURM_CPUS_PER_TASK=1 sh -c "$wrapped" >"${output:-job-$id-$number.txt}" 2>&1
done
touch "ran-$id"
echo "$id"
"""


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH with `softsense`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    words = " ".join(f"'{word}'" for word in COMMAND)
    (folder / "softsense").write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    (folder / "softsense").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_job_arrays_of_slurm_come_to_what_one_process_does(
    softsense_process: Softsense, commands: Path, tmp_path: Path
) -> None:
    """The script's arrays, merges and last job, by a stand-in of `sbatch` that loses a shard."""
    expected = softsense_process(CAMPAIGN)
    (commands / "sbatch").write_text(SBATCH)
    (commands / "sbatch").chmod(0o755)
    script = ["bash", str(CLUSTERS / "slurm.sh"), "all.fer", "softsense", *CAMPAIGN]
    done = subprocess.run(
        script, cwd=tmp_path, env={**os.environ, "PARTS": "4"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "job 5 writes all.txt" in done.stdout
    assert (tmp_path / "all.txt").read_text() == expected.stdout
    merges = [(tmp_path / f"job-{number}-1.txt").read_text() for number in (2, 4)]
    assert all("missing: shard 3 of 4" in text for text in merges)


@pytest.mark.law
def test_an_array_on_slurm_that_is_killed_twice_comes_to_what_one_process_does(
    softsense_process: Softsense, commands: Path, tmp_path: Path
) -> None:
    """A real Slurm, where there is one that runs: sixteen shards, of which two are killed in the middle."""
    if not shutil.which("sinfo") or subprocess.run(["sinfo"], capture_output=True, check=False).returncode:
        pytest.skip("there is no Slurm that runs")
    long = ["fer", "flash-8/9", "--rber", "0.0066,0.0072", "--relative-error", "0.12", "--frames", "262144"]
    expected = softsense_process(long)
    script = ["bash", str(CLUSTERS / "slurm.sh"), "all.fer", "softsense", *long]
    subprocess.run(script, cwd=tmp_path, env={**os.environ, "PARTS": "16"}, check=True)
    killed: set[str] = set()
    begun = time.monotonic()
    while not (tmp_path / "all.txt").exists() or subprocess.run(["squeue", "-h"], capture_output=True).stdout.strip():
        running = subprocess.run(
            ["squeue", "-h", "-t", "R", "-o", "%i", "-n", "shards-1"], capture_output=True, text=True, check=True
        ).stdout.split()
        if len(killed) < 2 and running and running[-1] not in killed:
            time.sleep(3)
            subprocess.run(["scancel", "--signal=KILL", "--full", running[-1]], check=False)
            killed.add(running[-1])
        time.sleep(1)
        assert time.monotonic() - begun < 900
    assert len(killed) == 2
    assert (tmp_path / "all.txt").read_text() == expected.stdout


def test_each_pod_of_the_indexed_job_does_a_shard(softsense_process: Softsense, commands: Path, tmp_path: Path) -> None:
    """The pods' command, run here with their indices and a shorter campaign."""
    job = yaml.safe_load((CLUSTERS / "kubernetes.yaml").read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    parts = job["completions"]
    (line,) = container["args"]
    assert container["command"] == ["sh", "-c"]
    assert (job["completionMode"], f"/{parts} " in line) == ("Indexed", True)
    campaign = " ".join(f"'{word}'" for word in CAMPAIGN)
    line = line.replace("fer flash-8/9 --relative-error 0.05", campaign).replace("/data/", "").replace("/64 ", "/3 ")
    for index in ("2", "0", "1"):
        subprocess.run(["sh", "-c", line], cwd=tmp_path, env={**os.environ, "JOB_COMPLETION_INDEX": index}, check=True)
    merged = softsense_process("merge", "flash.fer", *(f"flash-{part}-of-3.fer" for part in (1, 2, 3)))
    assert merged.returncode == 0, merged.stderr
    assert softsense_process(CAMPAIGN, "--store", "flash.fer").stdout == softsense_process(CAMPAIGN).stdout


@pytest.mark.law
@pytest.mark.filterwarnings("ignore")
def test_a_campaign_goes_on_without_a_worker_that_was_killed(tmp_path: Path) -> None:
    """One of three processes of a Dask cluster is killed while it counts: others count its frames."""
    asked = {"rber": [0.0072], "relative_error": 0.1, "frames": 300_000}
    expected = softsense.measure_fer("flash-8/9", workers=2, **asked).to_dict()
    with dask_client(3) as client:
        killed = []

        def watch(_: str, frames: int, fraction: float) -> None:
            if frames and not killed:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], 9)

        found = softsense.measure_fer("flash-8/9", workers=client, store=tmp_path / "s.fer", progress=watch, **asked)
        assert killed
        assert found.to_dict() == expected
