"""Do results, tables, logs and `softsense fairness` say what each tenant got?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import softsense
from conftest import ROOT, Softsense
from softsense import Config, ConfigError, tables

DEVICE = """
reliability = "perfect"
[geometry]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 2
blocks_per_plane = 64
[ftl]
over_provisioning = 0.2
"""
TENANTS = """
[host]
issue.open_loop.time_scale = 1.0
[[host.tenants]]
name = "light"
workload = { requests = 400, arrivals = { poisson = { requests_per_s = 2000 } } }
[[host.tenants]]
name = "heavy"
issue.closed_loop.queue_depth = 16
workload = { requests = 600, read_fraction = 0.0, sizes = [{ bytes = 32768, share = 1.0 }] }
"""


def config(tenants: str = TENANTS, origin: str = "two.toml") -> Config:
    return Config.from_toml(DEVICE + tenants, origin)


def test_results_say_what_each_tenant_got() -> None:
    result = softsense.run(config(), log_requests=True)
    light, heavy = result.summary["tenants"]
    assert (light["name"], light["requests"], heavy["name"], heavy["requests"]) == ("light", 400, "heavy", 600)
    assert light["requests"] == light["read"]["count"] + light["write"]["count"] + light["trims"]
    assert heavy["write_mb_per_s"] == pytest.approx(heavy["iops"] * 32768e-6)
    assert [tenant["name"] for tenant in result.summary["source"]["tenants"]] == ["light", "heavy"]
    rows = result.requests
    for number, tenant in enumerate((light, heavy)):
        of_tenant = rows.filter(rows["tenant"] == number)
        assert len(of_tenant) == tenant["requests"]
        assert of_tenant["response_ns"].mean() == pytest.approx(tenant["all"]["mean_us"] * 1e3)
    compared = softsense.compare(config(), policies="two_step,ideal")
    (block,) = (block for block in tables.blocks(compared) if block.about == "tenants")
    assert block.names[:3] == ["no soft sensing, light", "no soft sensing, heavy", "two_step, light"]


def test_the_example_fits() -> None:
    example = softsense.load_config(ROOT / "examples" / "configs" / "tenants.toml")
    assert [label for label, _ in example.describe_workload()] == ["tenant database", "tenant backup"]


def test_a_config_without_tenants_has_none() -> None:
    small = ["workload.requests=50", "workload.footprint_bytes=1048576"]
    result = softsense.run(Config.from_toml(DEVICE, "none.toml", small), log_requests=True)
    assert "tenants" not in result.summary
    assert "tenant" not in result.requests.columns


def test_fairness_is_that_of_lone_runs() -> None:
    found = softsense.fairness(config(), jobs=2)
    for name, alone in found.alone.items():
        (lone,) = (tenant for tenant in alone.summary["tenants"] if tenant["requests"])
        (shared,) = (tenant for tenant in found.together.summary["tenants"] if tenant["name"] == name)
        assert (lone["name"], lone["requests"]) == (name, shared["requests"])
        assert found.slowdowns[name] == pytest.approx(shared["all"]["mean_us"] / lone["all"]["mean_us"])
    slowdowns = found.slowdowns.values()
    assert found.slowdowns["light"] > 2 > found.slowdowns["heavy"] > 1
    assert found.fairness == pytest.approx(min(slowdowns) / max(slowdowns))
    assert found.weighted_speedup == pytest.approx(sum(1 / slowdown for slowdown in slowdowns))
    assert found.harmonic_speedup == pytest.approx(2 / sum(slowdowns))
    assert softsense.fairness(config(), jobs=1).table.equals(found.table)


def test_a_tenant_replays_a_trace_beside_the_config(tmp_path: Path) -> None:
    rows = [f"{i * 100_000},0,{'read' if i % 2 else 'write'},{i * 4096},4096" for i in range(100)]
    (tmp_path / "trace.csv").write_text("\n".join(["arrival_ns,device,kind,offset_bytes,bytes", *rows]) + "\n")
    tenants = (
        TENANTS + '[[host.tenants]]\nname = "replayed"\ntrace = { path = "trace.csv" }\nnamespace.bytes = 1048576\n'
    )
    result = softsense.run(config(tenants, str(tmp_path / "three.toml")))
    assert result.summary["tenants"][2]["read"]["count"] == 50
    assert result.summary["source"]["tenants"][2]["source"]["trace"]["requests"] == 100
    small = tenants.replace("1048576", "65536")
    with pytest.raises(softsense.TraceError, match="expected"):
        softsense.run(config(small, str(tmp_path / "three.toml")))
    with pytest.raises(ConfigError, match=r"host.tenants: found together with a trace to replay"):
        softsense.run(config(), tmp_path / "trace.csv")


def test_fairness_wants_two() -> None:
    one = TENANTS.replace('name = "heavy"', 'name = "heavy"\nidle = true')
    with pytest.raises(ConfigError, match=r"host.tenants: found 1 tenants that issue requests, expected at least two"):
        softsense.fairness(config(one))


def test_the_command_writes_what_it_says(tmp_path: Path, softsense_command: Softsense) -> None:
    file = tmp_path / "two.toml"
    file.write_text(DEVICE + TENANTS)
    done = softsense_command("fairness", file, "--out", "out", "--no-progress")
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in ("fairness", "light", "weighted speedup", "wrote"))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert set(summary["slowdowns"]) == {"light", "heavy"}
    assert all((tmp_path / "out" / name).is_file() for name in ("results.json", "config.toml", "table.txt"))
    done = softsense_command("fairness", file, "--json", "--no-progress")
    assert json.loads(done.stdout)["slowdowns"] == summary["slowdowns"]
    done = softsense_command("run", file, "--out", "run", "--no-progress")
    assert "tenant light" in done.stdout
    assert "Tenants (response in us)" in done.stdout
    done = softsense_command("fairness", file, "--set", "host.tenants[0].weight=0")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "weight: found 0" in done.stderr


def test_results_say_what_scheduling_has_chosen_and_which_deadlines_were_missed() -> None:
    rule = "[scheduling]\nbus = true\ndeadlines = { read_us = 200.0, margin_us = 50.0 }\n"
    result = softsense.run(Config.from_toml(DEVICE + TENANTS + rule, "scheduled.toml"))
    told, tenants = result.summary["scheduling"], result.summary["tenants"]
    assert told["chosen"] > 0
    assert 0 < told["missed_deadlines"] == sum(tenant["missed_deadlines"] for tenant in tenants)
    blocks = {block.about: block for block in tables.blocks(softsense.Comparison([result]))}
    assert told["bus"]["chosen"] > 0
    assert "transfers\nchosen" in [header for header, _ in blocks["scheduling"].columns]
    assert "missed\ndeadlines" in [header for header, _ in blocks["tenants"].columns]
    plain = softsense.run(config())
    assert "scheduling" not in plain.summary
    assert "missed_deadlines" not in plain.summary["tenants"][0]


def test_fairness_is_refused_before_anything_is_described(softsense_command: Softsense, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(DEVICE + TENANTS.split('[[host.tenants]]\nname = "heavy"')[0])
    done = softsense_command("fairness", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected at least two" in done.stderr
