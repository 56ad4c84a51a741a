"""Do the shipped configs and tables carry the published numbers, and does fig. 5 of LDPC-in-SSD come out?

The published numbers are read from the shared folder; without it these tests skip, saying so.
"""

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import softsense
from softsense import flash, papers

ROOT = Path(__file__).parents[1]
MLC_25NM = ROOT / "configs" / "mlc-25nm.toml"


@pytest.fixture
def published(shared: Path) -> Callable[[str], dict[str, Any]]:
    def read(name: str) -> dict[str, Any]:
        return tomllib.loads((shared / "published" / name).read_text())

    return read


def test_the_laldpc_table_is_table_ii(published: Callable[[str], dict[str, Any]]) -> None:
    table = tomllib.loads((ROOT / "crates/link/tables/laldpc-thresholds.toml").read_text())
    for row in published("laldpc.toml")["read_level"]:
        p_fail = table["level"][row["level"] - 1]["p_fail"]
        fails = [rber for rber, p in zip(table["rber"], p_fail, strict=True) if p == 1.0]
        assert min(fails) == row["rber_below"]


def test_mlc_25nm_has_the_paper_s_timing_and_geometry(published: Callable[[str], dict[str, Any]]) -> None:
    paper = published("ldpc_in_ssd.toml")
    config = softsense.load_config(MLC_25NM).fields
    timing, (lower, upper) = paper["timing_us"], config["flash"]["page_types"]
    assert (lower["sense_us"], upper["sense_us"]) == (timing["sense_hard_lower"], timing["sense_hard_upper"])
    assert (lower["program_us"], upper["program_us"]) == (timing["program_lower"], timing["program_upper"])
    assert lower["sense_us"] + 6 * lower["sense_extra_level_us"] == timing["sense_seven_levels_lower"]
    bus = config["bus"]
    assert bus["transfer_us"] + 6 * bus["transfer_extra_level_us"] == timing["transfer_seven_levels"]
    assert config["decoder"]["time"]["fixed_us"] == timing["decode"]
    assert config["flash"]["erase_us"] == timing["erase"]
    energy, published_energy = config["energy"], paper["energy_uj"]
    assert (energy["sense_uj"], energy["transfer_uj"]) == (
        published_energy["sense_hard"],
        published_energy["transfer_hard"],
    )
    for field in ("sense_extra_level", "program", "decode"):
        assert energy[f"{field}_uj"] == published_energy[field]
    chips = flash.chip_failures(softsense.load_config(MLC_25NM))
    assert len(chips) == paper["aging_protocol"]["chips"]
    mean = sum(chip["p_fail"] for chip in chips) / len(chips)
    assert mean == pytest.approx(paper["claims"]["hard_decision_failure_at_10k_pe"], rel=0.002)
    assert config["precondition"]["pe_cycles"] == paper["claims"]["pe_cycles"]
    assert config["precondition"]["retention_days"] == paper["aging_protocol"]["retention_days"]
    for field in ("channels", "dies_per_chip", "planes_per_die", "blocks_per_plane", "pages_per_block"):
        assert config["geometry"][field] == paper["geometry"][field]


def test_mlc_laldpc_has_table_i(published: Callable[[str], dict[str, Any]]) -> None:
    timing = published("laldpc.toml")["timing_us"]
    config = softsense.load_config(ROOT / "configs" / "mlc-laldpc.toml").fields
    (page,) = config["flash"]["page_types"]
    found = [page["sense_us"], page["sense_extra_level_us"], page["program_us"], config["flash"]["erase_us"]]
    assert found == [timing[name] for name in ("sense_first_level", "sense_extra_level", "program", "erase")]
    bus = config["bus"]
    assert [bus["transfer_us"], bus["transfer_extra_level_us"]] == [
        timing["transfer_first_level"],
        timing["transfer_extra_level"],
    ]
    assert config["decoder"]["time"]["fixed_us"] == timing["decode"]
    mapping, paper = config["ftl"]["mapping"]["demand"], published("laldpc.toml")["basic_experiment"]
    assert mapping["cache_bytes"] == paper["mapping_cache_mb"] * 1024, "read in KiB"
    assert mapping["entry_bytes"] == paper["cache_entry_bytes"]
    assert mapping["eviction"] == {"lowest_level": {"fixed_entries": paper["fixed_entries"]}}


@pytest.mark.parametrize("p_fail", [0.01, 0.10, 0.30])
def test_lone_codeword_reads_grow_as_equation_1_says(p_fail: float) -> None:
    """Fig. 5 at light load: half lower, half upper pages; 40,000 reads, so 2 % is four standard errors."""
    overrides = [
        "workload.requests=40000",
        "workload.read_fraction=1.0",
        "workload.sizes=[{ bytes = 4096, share = 1.0 }]",
        "workload.addresses=uniform",
        "workload.arrivals.poisson.requests_per_s=1000.0",
    ]
    means = []
    for p in (0.0, p_fail):
        fixed = f"reliability.fixed.p_fail=[{p}, 0.0]"
        result = softsense.run(MLC_25NM, policy="two_step:restart", overrides=[*overrides, fixed])
        means.append(result.summary["response"]["read"]["mean_us"])
    hard = 48.0 + 20.0 + 8.0
    soft = (48.0 + 6 * 14.0) + 80.0 + 8.0
    assert means[1] / means[0] == pytest.approx(1 + p_fail * soft / hard, rel=0.02)


def test_reads_suffer_and_writes_hardly_do(shared: Path) -> None:
    """Fig. 5 and the write claim on Postmark, the one real workload of the paper that is whole here."""
    trace = softsense.Trace(str(shared / "traces" / "postmark.disksim.trace.zst"))
    reads, writes = [], []
    for p in (0.0, 0.01, 0.10, 0.30):
        fixed = f"reliability.fixed.p_fail=[{p}, 0.0]"
        response = softsense.run(MLC_25NM, trace, policy="two_step:restart", overrides=[fixed]).summary["response"]
        reads.append(response["read"]["mean_us"])
        writes.append(response["write"]["mean_us"])
    assert reads == sorted(reads)
    assert writes[-1] / writes[0] - 1 < 0.1 * (reads[-1] / reads[0] - 1)


@pytest.mark.parametrize("name", ["mlc-lae", "mlc-lae-worst-case", "mlc-lae-unsqueezed"])
def test_mlc_lae_has_the_paper_s_device_and_codes(published: Callable[[str], dict[str, Any]], name: str) -> None:
    paper = published("lae_ftl.toml")
    config = softsense.Config.open(name).fields
    (page,) = config["flash"]["page_types"]
    timing, geometry = paper["timing_us"], config["geometry"]
    found = [page["sense_us"], page["program_us"], config["flash"]["erase_us"]]
    assert found == [timing[key] for key in ("read", "program", "erase")]
    small, pages = paper["devices"]["small"], paper["geometry"]
    assert geometry["channels"] == small["channels"]
    assert geometry["chips_per_channel"] * geometry["dies_per_chip"] == small["dies_per_channel"]
    assert geometry["codeword_bytes"] == pages["unit_bytes"]
    assert geometry["codewords_per_page"] * geometry["codeword_bytes"] == pages["page_bytes"]
    assert geometry["pages_per_block"] == pages["pages_per_block"]
    assert config["decoder"]["placement"] == {"per_channel": paper["devices"]["ecc_engines_per_channel"]}
    bch = config["reliability"]["bch"]
    assert bch["oob_bytes"] == pages["oob_bytes_per_unit"]
    codes = [(code["codeword_bytes"], code["correctable"]) for code in bch["codes"]]
    if name == "mlc-lae":
        assert codes[:4] == [(segment["codeword_bytes"], segment["t"]) for segment in paper["segment"]]
    else:
        t = paper["baseline_code"]["t"] if name == "mlc-lae-worst-case" else paper["segment"][-1]["t"]
        assert codes == [(pages["unit_bytes"], t)]


def leaves(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers of a TOML document by their keys: `segment[0].t`; a list of plain values is one."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from leaves(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for i, each in enumerate(value):
                yield from leaves(each, f"{name}[{i}].")
        else:
            yield name, value


def at(config: dict[str, Any], path: str) -> Any:
    """A field of a config, such as `flash.page_types[0].sense_us`."""
    found: Any = config
    for part in re.findall(r"[^.\[\]]+", path):
        found = found[int(part) if part.isdecimal() else part]
    return found


@pytest.mark.parametrize("paper", papers.papers()[:4], ids=lambda paper: paper.name)
def test_every_published_number_is_judged_or_is_an_input(
    paper: papers.Paper, published: Callable[[str], dict[str, Any]]
) -> None:
    numbers = dict(leaves(published(f"{paper.name.replace('-', '_')}.toml")))
    if not paper.inputs:
        pytest.skip(f"{paper.name} does not say yet where its published numbers go")
    judged = {key for claim in paper.claims for key in claim.source}
    assert judged <= set(numbers)
    assert judged.isdisjoint(paper.inputs)
    assert judged | set(paper.inputs) == set(numbers)
    for key, where in paper.inputs.items():
        name, _, field = where.partition(": ")
        if re.fullmatch(r"[a-z0-9-]+", name) and re.fullmatch(r"[a-z0-9_.\[\]]+", field):
            config = softsense.Config.open(name).fields
            assert at(config, field) == numbers[key], f"{key}: {where}"
