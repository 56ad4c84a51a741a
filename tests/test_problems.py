"""Does every command say first, and alike, that a load cannot be served, and only then?"""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

import softsense
from conftest import SMALL, Softsense
from softsense import _core, problems, retry_tables, tables

_FLOOD = [field.replace("2000", "2000000") if "poisson" in field else field for field in SMALL]
_FLOOD += ["workload.requests=6000"]


def test_run_compare_and_report_say_first_that_a_load_cannot_be_served(
    softsense_command: Softsense, tmp_path: Path
) -> None:
    fields = [word for field in _FLOOD for word in ("--set", field)]
    run = softsense_command("run", "mlc-25nm", *fields, "--policy", "two_step", "--out", str(tmp_path / "run"))
    compared = softsense_command(
        "compare", "mlc-25nm", *fields, "--policies", "two_step", "--out", str(tmp_path / "compare")
    )
    for done in (run, compared):
        assert done.returncode == 0, done.stderr
        said = done.stdout.index("The drive cannot serve the load with ")
        assert said < done.stdout.index("Response time")
    (told,) = json.loads((tmp_path / "run" / "summary.json").read_text())["problems"]
    assert told.startswith(f"{problems.OVERLOADED}: ")
    assert "cannot serve the load" in (tmp_path / "compare" / "report.html").read_text()


def test_a_load_that_is_served_a_burst_that_waits_and_a_closed_loop_are_not_told() -> None:
    calm = softsense.run("mlc-25nm", overrides=SMALL)
    states = "[{ requests_per_s = 100.0, mean_dwell_us = 50000.0 }, { requests_per_s = 1e5, mean_dwell_us = 2000.0 }]"
    bursts = softsense.run(
        "mlc-25nm", overrides=[*SMALL, f"workload.arrivals={{ markov_modulated.states = {states} }}"]
    )
    closed = softsense.run("mlc-25nm", overrides=[*_FLOOD, "host.issue={ closed_loop = { queue_depth = 256 } }"])
    assert bursts.summary["response"]["read"]["mean_us"] > 5 * calm.summary["response"]["read"]["mean_us"], "it waits"
    for result in (calm, bursts, closed):
        assert not [each for each in result.problems if each.reason == problems.OVERLOADED]
        assert "cannot serve" not in tables.warnings(softsense.Comparison([result]))


def test_a_load_somewhat_beyond_what_can_be_served_is_told_by_its_growth() -> None:
    plane = [
        "reliability=perfect",
        "geometry={ channels = 1, chips_per_channel = 1, dies_per_chip = 1, planes_per_die = 1 }",
        "geometry.blocks_per_plane=64",
        'flash.page_types=[{ name = "page", sense_us = 100.0 }]',
        "bus.transfer_us=0.0",
        "decoder.time.fixed_us=0.0",
        "workload.read_fraction=1.0",
        "workload.requests=20000",
        "workload.footprint_bytes=4194304",
        "workload.sizes=[{ bytes = 4096, share = 1.0 }]",
    ]

    def told(load: float) -> softsense.RunResult:
        arrivals = f"workload.arrivals.poisson.requests_per_s={load * 1e4}"
        return softsense.run("mlc-25nm", overrides=[*plane, arrivals])

    assert "growth" not in told(0.8).summary
    grown = told(1.05).summary["growth"]
    assert 0.03 < grown["rate"] < 0.07
    assert grown["waiting"] > 100


def test_soft_levels_around_misplaced_references_are_doubted_first(
    softsense_command: Softsense, tmp_path: Path
) -> None:
    """Year-old data at default references: the decode table loses nothing, real decodes lose a tenth (docs)."""
    cells = retry_tables.with_references("tlc-charge-trap", tracked=False)
    (tmp_path / "untracked.toml").write_text(cells.toml(8))
    small = ["geometry.blocks_per_plane=128", "geometry.pages_per_block=48", "workload.footprint_bytes=4194304"]
    age = ["precondition.retention_days=365", "workload.requests=1000", "workload.read_fraction=1.0"]
    untracked = ["read.references=cells", "reliability.table.rber.threshold_voltage=untracked.toml"]
    for fields, doubted in ((untracked, True), (untracked[:1], False), ([], False)):
        options = [word for field in (*small, *age, *fields) for word in ("--set", field)]
        done = softsense_command("run", "tlc-femu", *options, "--out", str(tmp_path / "out"))
        assert done.returncode == 0, done.stderr
        said = done.stdout.find("needed soft levels around references that do not follow the states")
        assert (said >= 0) == doubted, (fields, done.stdout)
        assert said < done.stdout.index("Response time")


def test_reads_of_what_holds_no_data_are_said_first(softsense_command: Softsense, tmp_path: Path) -> None:
    """They take a microsecond of the controller, so that a drive without data looks faster than its flash."""
    half = [*SMALL, "precondition.mapped_fraction=0.1", "precondition.layout=sequential", "workload.read_fraction=1"]
    fields = [word for field in half for word in ("--set", field)]
    for command in (("run", "mlc-25nm"), ("compare", "mlc-25nm", "--policies", "two_step,ideal")):
        out = tmp_path / command[0]
        done = softsense_command(*command, *fields, "--out", str(out))
        assert done.returncode == 0, done.stderr
        said = done.stdout.index("were never written, or were trimmed. No flash is read for them")
        assert said < done.stdout.index("Response time")
        assert "A codeword that was read from flash took" in done.stdout
        assert "were never written" in (out / "report.html").read_text()
    sweep = tmp_path / "half.toml"
    grid = '[grid]\n"precondition.mapped_fraction" = [0.1, 1.0]\n'
    fixed = [field for field in half if "mapped_fraction" not in field]
    sweep.write_text(f'config = "mlc-25nm"\npolicies = ["two_step"]\nset = {json.dumps(fixed)}\n{grid}')
    done = softsense_command("sweep", str(sweep), "--out", str(tmp_path / "sweep"), "--no-progress")
    assert done.returncode == 0, done.stderr
    assert "In 1 of 2 points some codewords that were read were never written, or were trimmed" in done.stdout
    assert "of those in point 1" in (tmp_path / "sweep" / "report.html").read_text()
    whole = softsense_command(
        "run", "mlc-25nm", *(w for f in SMALL for w in ("--set", f)), "--out", str(tmp_path / "o")
    )
    assert "never written" not in whole.stdout


_RBERS = {
    "constant": "{ constant = { rber = 0.0075 } }",
    "wear alone": "{ power_law = { scale = 4.4e-4, pe_exponent = 1.2 } }",
    "wear and time": "{ power_law = { scale = 2.16e-6, pe_exponent = 1.57, retention_exponent = 1.98 } }",
    "a floor alone": "{ power_law = { floor = 0.0075, scale = 0.0, pe_exponent = 1.0 } }",
    "exponential": "{ exponential = { scale = 2.6e-3, e_folding_pe_cycles = 9000 } }",
    "a grid of wear": "{ grid = { pe_cycles = [0, 20000], retention_days = [0.0], rber = [[0.001], [0.02]] } }",
    "cells": "{ threshold_voltage = 'mlc' }",
}
_RELIABILITIES = {
    "perfect": "reliability='perfect'",
    "fixed": "reliability={ fixed = { p_fail = [0.3, 0.0] } }",
    **{
        name: f"reliability={{ table = {{ file = 'flash-8-9', most_beyond = 1.0, rber = {rber} }} }}"
        for name, rber in _RBERS.items()
    },
}
_OTHER_AGES = {"pe_cycles": (11_000, 17_000), "retention_days": (200.0, 900.0), "block_reads": (1e5, 9e5)}


@pytest.mark.parametrize("name", _RELIABILITIES)
def test_an_age_is_idle_exactly_where_other_ages_give_the_same_numbers(name: str) -> None:
    old = ["precondition.pe_cycles=11000", "precondition.retention_days=200"]
    base = [*SMALL, _RELIABILITIES[name], *old, "workload.requests=1500", "read.policy=progressive"]
    for field, ages in _OTHER_AGES.items():
        path = f"precondition.{field}"
        runs = [softsense.run("mlc-25nm", overrides=[*base, f"{path}={age}"]) for age in ages]
        first, second = ({key: run.summary[key] for key in ("response", "codeword_reads")} for run in runs)
        idle = [path in run.config.idle_ages for run in runs]
        assert idle == [first == second] * 2, field
        assert [path in run.summary.get("idle_ages", []) for run in runs] == idle
    said = tables.warnings(softsense.Comparison([runs[0]]))
    assert ("No result depends on " in said) == bool(runs[0].config.idle_ages)
    assert ("100,000 reads of a block" in said) == any(idle)


def test_no_shipped_config_has_an_idle_age() -> None:
    for name in (row["name"] for row in _core.configs()):
        assert not softsense.Config.open(name).idle_ages, name


def test_a_sweep_over_an_age_that_nothing_depends_on_says_so_first(
    softsense_command: Softsense, tmp_path: Path
) -> None:
    overrides = [*SMALL, "workload.requests=300", _RELIABILITIES["constant"]]
    lines = [f"set = {json.dumps(overrides)}", "[grid]", '"precondition.pe_cycles" = [0, 3000, 10000]']
    (tmp_path / "s.toml").write_text("\n".join(['config = "mlc-25nm"', *lines]))
    done = softsense_command("sweep", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "In 2 of 3 points no result depends on the swept precondition.pe_cycles" in " ".join(done.stdout.split())


def test_the_device_of_ldpc_in_ssd_grows_old(softsense_command: Softsense) -> None:
    means = {}
    for cycles in (0, 3_000, 8_000, 10_000):
        sets = ["--set", f"precondition.pe_cycles={cycles}", "--set", "workload.requests=100000"]
        done = softsense_command("run", "mlc-25nm", sets, "--json")
        assert done.returncode == 0, done.stderr
        means[cycles] = json.loads(done.stdout)["response"]["read"]["mean_us"]
    # Hard decision suffices to some 6,945 cycles (figure 9).
    assert means[0] == means[3_000]
    assert means[10_000] > 1.2 * means[8_000] > 1.2 * 1.05 * means[3_000]


def test_one_busy_unit_is_told_where_the_mean_hides_it() -> None:
    """A few planes are asked for everything: is it said that they are saturated, though most are idle?"""
    count = 2_000
    frame = polars.DataFrame(
        {
            "ts": [100.0 * index for index in range(count)],
            "op": ["R"] * count,
            "size": [4096] * count,
            "lbn": [index % 8 * 8 * 16384 for index in range(count)],
        }
    )
    trace = softsense.Trace.from_frame(frame, "time:us=ts,op=op,bytes=size,lbn=lbn")
    issue = "host.issue={ closed_loop = { queue_depth = 32 } }"
    result = softsense.compare("tlc-femu", trace=trace, policies=["progressive"], overrides=[issue])
    shares = result.runs[0].summary["utilisation"]
    assert shares["plane"] < 0.3
    assert shares["idlest"]["plane"] == 0
    assert shares["busiest"]["plane"] > 0.95
    told = tables.finding(result)
    assert "The busiest plane is 100 % busy, where all are " in told
    assert "response times there are mostly queueing" in told
    # Nothing is collected.
    few = ["workload.requests=2000", "precondition.layout=sequential"]
    even = softsense.compare("tlc-femu", policies=["progressive"], overrides=few)
    assert "busiest" not in tables.finding(even)
