"""Is it told of a sweep's designs first what is wrong with them, and is nothing called best that is no good?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from conftest import SMALL, Softsense
from softsense import ConfigError, designs
from softsense.constraints import parse, resolve
from softsense.frontier import table
from softsense.intervals import interval, plus_minus
from softsense.points import LIFETIME_COLUMNS, SUMMARY_COLUMNS
from softsense.sweep import Pair, Sweep, SweepResult, sweep

pytestmark = pytest.mark.usefixtures("one_pixel")

COLUMNS = SUMMARY_COLUMNS | LIFETIME_COLUMNS

# Constraints.


@pytest.mark.parametrize(
    ("text", "column", "comparison", "bound"),
    [
        ("p99.9 < 2 ms", "response.read.p999_us", "<", 2000.0),
        ("p99.9 < 2000", "response.read.p999_us", "<", 2000.0),
        ("p99.99<=0.5s", "response.read.p9999_us", "<=", 500_000.0),
        ("read.p99.9_us < 1e3 us", "response.read.p999_us", "<", 1000.0),
        ("write.p99 < 5 ms", "response.write.p99_us", "<", 5000.0),
        ("response.all.mean_us > 7", "response.all.mean_us", ">", 7.0),
        ("uncorrectable = 0", "codeword_reads.uncorrectable", "=", 0.0),
        ("uncorrectable == 0", "codeword_reads.uncorrectable", "=", 0.0),
        ("user_capacity >= 70 %", "lifetime.user_capacity", ">=", 0.7),
        ("user_bytes >= 3 GiB", "user_bytes", ">=", 3.0 * 2**30),
        ("mean_request_uj < 1 mJ", "energy.mean_request_uj", "<", 1000.0),
        ("utilisation.plane < 0.8", "utilisation.plane", "<", 0.8),
    ],
)
def test_constraints_are_names_or_short_ones_with_units(text: str, column: str, comparison: str, bound: float) -> None:
    found = parse(text, COLUMNS)
    assert (found.column, found.comparison, found.bound, found.among) == (column, comparison, bound, None)


def test_a_count_in_per_cent_is_a_share_of_what_it_is_counted_among() -> None:
    found = parse("uncorrectable < 0.1 %", COLUMNS)
    assert found.columns == ("codeword_reads.uncorrectable", "codeword_reads.count")
    row = {"codeword_reads.uncorrectable": 9, "codeword_reads.count": 10_000}
    assert found.holds(row)
    assert not found.holds(row | {"codeword_reads.uncorrectable": 11})
    assert not found.holds(row | {"codeword_reads.uncorrectable": None}), "what was not measured meets nothing"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("p99.9", ["`p99.9`", "number"]),
        ("p99.9 < fast", ["`p99.9 < fast`", "2 ms"]),
        ("p99.9 < 1.2.3", ["`1.2.3`", "number"]),
        ("p99.9 < 1e999", ["1e999", "finite"]),
        ("p99.9 < 2 J", ["unit `J`", "ms"]),
        ("p99.9 < 2 %", ["%", "ms"]),
        ("uncorrectable < 2 ms", ["unit `ms`", "no unit"]),
        ("requests < 5 %", ["share of nothing"]),
        ("uncorectable = 0", ["unknown column `uncorectable`", "did you mean `uncorrectable`"]),
        ("p98 < 2", ["unknown column `p98`", "`p99`"]),
        ("write_amplification < 3", ["several", "writes_detail.write_amplification", "lifetime.write_amplification"]),
        ("p99.9 < 2; import os", ["expected a name"]),
    ],
)
def test_what_is_no_constraint_is_told_with_what_was_meant(text: str, says: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        parse(text, COLUMNS)
    for word in says:
        assert word in str(error.value)


def test_every_full_name_means_itself() -> None:
    assert {name: resolve(name, COLUMNS) for name in COLUMNS} == {name: name for name in COLUMNS}


def test_intervals_are_student_s() -> None:
    mean, half = interval([10.0, 12.0, 11.0, 13.0])
    # Of tables: 3.182 for three degrees of freedom.
    assert (mean, half) == (11.5, pytest.approx(3.18245 * 1.2909944 / 2, rel=1e-5))
    assert plus_minus(mean, half) == "11.5 ± 2.1"


# Designs.

AGES = f"""
config = "mlc-25nm"
policies = "all"
seeds = [1, 2]
set = {json.dumps(SMALL)}
[grid]
"read.max_level" = [7, 1]
"""


def swept(folder: Path, text: str, name: str = "s.toml") -> SweepResult:
    file = folder / name
    file.write_text(text)
    return sweep(file, out=folder / "out", workers=2)


CONDITIONS = """
config = "tlc-femu"
policies = ["two_step", "progressive"]
seeds = [1, 2, 3]
set = ["geometry.channels=2", "geometry.chips_per_channel=1", "geometry.blocks_per_plane=160", SET
       "geometry.pages_per_block=24", "workload.requests=600", "workload.arrivals.poisson.requests_per_s=500.0",
       "workload.footprint_bytes=67108864"]
[grid]
"ftl.over_provisioning" = [0.15, 0.3]
[frontier]
pairs = [{ x = "mean", y = "energy.mean_request_uj" },
         { x = "user_capacity", y = "lifetime_capacity", better = ["higher", "higher"] }]
lifetime = true
"""


def test_each_condition_has_the_frontier_that_a_sweep_of_it_alone_has(tmp_path: Path) -> None:
    """Young and worn flash: in one grid the worn one is on no frontier. Lifetimes go through all ages, and have one."""
    ages = "[conditions]\n'precondition.pe_cycles' = [500, 4500]\n"
    result = swept(tmp_path, CONDITIONS.replace("SET", "") + ages)
    assert [dict(each.condition) for each in result.frontiers] == [
        {"precondition.pe_cycles": 500},
        {"precondition.pe_cycles": 4500},
        {},
    ]
    assert result.planned.size == len(result.frame) == 24
    page = (result.folder / "report.html").read_text()
    latency = []
    for frontier in result.frontiers[:2]:
        age = frontier.condition["precondition.pe_cycles"]
        alone = swept(tmp_path, CONDITIONS.replace("SET", f'"precondition.pe_cycles={age}",'), f"at-{age}.toml")
        assert alone.simulated == 0, "the same points, wherever they are said"
        there = alone.frontiers[0]
        for found, expected in ((frontier.best, there.best), (frontier.ties, there.ties)):
            assert [(d.policy, d.setting, d.x, d.y, d.half_widths) for d in found] == [
                (d.policy, d.setting, d.x, d.y, d.half_widths) for d in expected
            ]
        latency.append(min(design.x for design in frontier.best))
    assert latency[1] > 1.1 * latency[0]
    told = table(result)
    for age in ("500", "4,500"):
        assert f"energy of a request, mean (uJ) at pe_cycles {age}: " in told
    assert " ± " in told
    document = json.loads(json.dumps(result.to_dict()))
    assert document["frontiers"][0]["condition"] == {"precondition.pe_cycles": 500}
    assert "at pe_cycles 4,500" in page
    assert " ± " in page


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("[conditions]\nftl.over_provisioning = [0.2]\n", "found ftl.over_provisioning, which is in conditions, too"),
        ("[conditions]\nseed = [1]\n", "conditions: found `seed`, expected `seeds` at the top"),
        ("[conditions]\nprecondition.pe_cycles = 3\n", "conditions: precondition.pe_cycles: found 3, expected"),
    ],
)
def test_bad_conditions_are_named(more: str, says: str) -> None:
    with pytest.raises(ConfigError) as error:
        Sweep.parse(CONDITIONS.replace("SET", "") + more)
    assert says in str(error.value)


def test_a_search_has_no_conditions() -> None:
    text = "config = 'mlc-25nm'\n[search]\ndesigns = 3\n'read.max_level' = [1, 7]\n[conditions]\n'seed2' = [1]\n"
    with pytest.raises(ConfigError, match=r"conditions: found them beside \[search\]"):
        Sweep.parse(text)


def test_what_seeds_do_not_tell_is_no_winner() -> None:
    """Paired by seed: a small difference that all seeds have is one, a large one that comes and goes is none."""
    mean, percentile = Pair("response.read.mean_us", "energy.total_uj"), Pair("response.read.p99_us", "energy.total_uj")

    def design(*x: float) -> designs.Design:
        by_seed = tuple((seed, value, 1.0) for seed, value in enumerate(x))
        return designs.Design({}, None, sum(x) / len(x), 1.0, (), by_seed=by_seed)

    base = design(100.0, 140.0, 90.0)
    steady, lucky, twin = design(101.0, 141.2, 90.9), design(95.0, 160.0, 80.0), design(100.0, 140.0, 90.0)
    assert designs._dominates(base, steady, mean)
    assert not designs._dominates(steady, base, mean)
    assert not designs._dominates(base, lucky, mean)
    assert not designs._dominates(base, twin, mean)
    # Percentiles are middles of buckets, which are as wide as these differ.
    assert not designs._dominates(base, steady, percentile)
    assert designs._dominates(base, design(110.0, 154.0, 99.0), percentile)
    # With one seed there is nothing but the numbers.
    assert designs._dominates(design(100.0), design(100.1), percentile)


@pytest.fixture(scope="module")
def ages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SweepResult]:
    folder = tmp_path_factory.mktemp("ages")
    return folder, swept(folder, AGES)


def test_designs_that_lose_data_and_ideal_are_on_no_frontier(ages: tuple[Path, SweepResult]) -> None:
    _, result = ages
    (frontier,) = result.frontiers
    assert len(frontier.designs) == 10
    assert {design.policy for design in frontier.bounds} == {"ideal"}
    assert [(d.policy, d.setting["read.max_level"]) for d in frontier.contenders] == [
        (policy, 7) for policy in ("two_step", "look_ahead", "progressive", "look_ahead_progressive")
    ]
    assert all(design in frontier.contenders for design in frontier.best)
    lost = [design for design in frontier.aside if design.policy == "two_step"]
    frame = result.frame.filter(pl.col("point").is_in(list(lost[0].points)))
    share = 100 * frame["codeword_reads.uncorrectable"].sum() / frame["codeword_reads.count"].sum()
    assert share > 1
    assert lost[0].problems[0].reason == designs.LOSES_DATA
    assert f"{share:.1f} % of codeword reads were uncorrectable" in lost[0].problems[0].told


def test_it_is_said_first(softsense_command: Softsense, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(AGES)
    told = softsense_command("sweep", "s.toml").stdout
    said = told.index("Of 8 designs 4 are no contenders (4 lose data)")
    assert said < told.index("% of codeword reads were uncorrectable") < told.index("on the frontier")
    assert "bounds of what can be built: ideal, max_level 7" in told
    all_of_them = softsense_command("sweep", "s.toml", "--all", "--json")
    document = json.loads(all_of_them.stdout)
    assert document["frontiers"][0]["contenders"] == document["frontiers"][0]["designs"] == 10
    told = softsense_command("sweep", "s.toml", "--all").stdout
    assert "4 are no contenders (4 lose data): they are ranked with the others, as --all or `all = true` asks" in told


def test_losing_some_data_may_be_allowed(ages: tuple[Path, SweepResult]) -> None:
    folder, _ = ages
    result = swept(folder, f'constraints = ["uncorrectable <= 100 %"]\n{AGES}', "allowed.toml")
    assert len(result.frontiers[0].contenders) == 8
    result = swept(folder, f'constraints = ["uncorrectable <= 1 %"]\n{AGES}', "some.toml")
    assert len(result.frontiers[0].contenders) == 4
    assert result.frontiers[0].aside[0].problems[0].reason == "break uncorrectable <= 1 %"
    assert result.simulated == 0, "constraints are no part of what is simulated"


def test_each_seed_has_to_meet_a_constraint_and_designs_csv_says_which_broke_it(
    ages: tuple[Path, SweepResult],
) -> None:
    folder, first = ages
    rows = first.frame.filter((pl.col("policy") == "two_step") & (pl.col("read.max_level") == 7))
    less, more = sorted(rows["response.read.mean_us"])
    assert less < more
    result = swept(folder, f'constraints = ["mean < {(less + more) / 2}"]\n{AGES}', "mean.toml")
    (design,) = [d for d in result.frontiers[0].designs if d.points == tuple(rows["point"])]
    assert [problem.reason for problem in design.problems] == [f"break mean < {(less + more) / 2}"]
    assert design.problems[0].told == f"{more:,.6g} in 1 of 2 seeds"
    frame = pl.read_csv(folder / "out" / "designs.csv")
    assert len(frame) == 10
    row = frame.filter((pl.col("policy") == "two_step") & (pl.col("read.max_level") == 7)).to_dicts()[0]
    assert row["verdict"].startswith("break mean < ")
    assert row["response.read.mean_us"] == pytest.approx((less + more) / 2)
    assert row["response.read.mean_us.half_width"] == pytest.approx(12.7062 * (more - less) / 2, rel=1e-4)


def test_a_sweep_without_contenders_says_why_and_how_near_the_nearest_is(ages: tuple[Path, SweepResult]) -> None:
    folder, _ = ages
    result = swept(folder, f'constraints = ["mean < 1 us"]\n{AGES}', "none.toml")
    assert not result.frontiers[0].contenders
    groups = [group for group in result.judged.groups if group.buildable]
    least = min(max(row["response.read.mean_us"] for row in group.rows) for group in groups)
    assert "\nnone of 10 designs is a contender: 4 lose data" in table(result)
    assert f"8 break mean < 1 us (at best {least:,.6g} in 2 of 2 seeds: " in table(result)
    assert "and 2 cannot be built; --all ranks these designs, too" in table(result)


def test_a_load_that_cannot_be_served_is_told_and_a_closed_loop_is_none(tmp_path: Path) -> None:
    text = """
    config = "mlc-25nm"
    policies = ["two_step"]
    set = {}
    [grid]
    "workload.requests" = [3000, 6000]
    """
    flood = [
        field.replace("2000", "2000000") if "poisson" in field else field for field in SMALL if "requests=" not in field
    ]
    result = swept(tmp_path, text.format(json.dumps(flood)), "flood.toml")
    problems = [problem for design in result.frontiers[0].designs for problem in design.problems]
    assert {problem.reason for problem in problems} == {designs.OVERLOADED}
    assert not result.frontiers[0].best
    closed = [*flood, "host.issue={ closed_loop = { queue_depth = 256 } }"]
    result = swept(tmp_path, text.format(json.dumps(closed)), "closed.toml")
    assert len(result.frontiers[0].contenders) == 2


LIVES = """
config = "tlc-femu"
policies = ["ideal", "progressive"]
constraints = ["mean > 1 s"]
set = ["geometry.channels=2", "geometry.chips_per_channel=1", "geometry.blocks_per_plane=160",
       "geometry.pages_per_block=24", "workload.requests=500", "workload.arrivals.poisson.requests_per_s=500.0",
       "workload.footprint_bytes=67108864"]
[grid]
"ftl.over_provisioning" = [0.15, 0.3]
[frontier]
pairs = [{ x = "user_capacity", y = "lifetime_capacity", better = ["higher", "higher"] }]
lifetime = true
"""


def test_a_device_is_as_good_as_the_best_way_to_read_it(tmp_path: Path) -> None:
    """`ideal` would not save it, and where nothing is wrong it is a contender."""
    result = swept(tmp_path, LIVES)
    assert [len(d.problems) for d in result.frontiers[0].designs] == [1, 1]
    result = swept(tmp_path, LIVES.replace("> 1 s", "> 1 us"))
    assert len(result.frontiers[0].best) == 2


def test_any_two_columns_are_a_frontier(tmp_path: Path) -> None:
    """Columns are those that the program's own message lists, swept fields too; pairs are drawn at random."""
    grid = '"decoder.codewords_at_once" = [1, 2]\n"ftl.over_provisioning" = [0.1, 0.3]'
    text = f'config = "mlc-25nm"\npolicies = ["two_step"]\nset = {json.dumps(SMALL)}\n[grid]\n{grid}\n[frontier]\n'
    with pytest.raises(ConfigError) as unknown:
        Sweep.parse(text + 'pairs = [{ x = "speed", y = "reads" }]')
    columns = str(unknown.value).rpartition(": ")[2].split("; ")[0].split(", ")
    assert {"decoder.codewords_at_once", "ftl.over_provisioning", "energy.total_uj"} <= set(columns)
    random = np.random.default_rng(3)
    decoders = "decoder.codewords_at_once"
    pairs = [(decoders, "ftl.over_provisioning"), ("response.read.mean_us", decoders)]
    pairs += [tuple(random.choice(columns, 2, replace=False)) for _ in range(10)]
    rows = ", ".join(f'{{ x = "{x}", y = "{y}" }}' for x, y in pairs)
    result = swept(tmp_path, f"{text}pairs = [{rows}]")
    assert result.count("ok") == 4
    assert [(each.pair.x, each.pair.y) for each in result.frontiers] == pairs
    assert (result.folder / "report.html").is_file()
    # Few codewords at once are cheap, and many are fast: either may be on the frontier.
    assert result.frontiers[1].best


@pytest.mark.parametrize(
    "asked", ['constraints = ["ftl.victims < 3"]\n', '[frontier]\npairs = [{ x = "ftl.victims", y = "reads" }]\n']
)
def test_a_field_of_names_is_no_number(asked: str) -> None:
    grid = '[grid]\n"ftl.victims" = ["greedy", "fifo"]\n"read.max_level" = [2, 7]\n'
    constraint = asked.startswith("constraints")
    text = f'config = "mlc-25nm"\n{asked if constraint else ""}{grid}{"" if constraint else asked}'
    with pytest.raises(ConfigError, match=r"found `ftl\.victims`, whose values are no numbers, expected"):
        Sweep.parse(text)


def test_pairs_and_all_are_read_from_the_file() -> None:
    text = 'config = "mlc-25nm"\n[frontier]\nall = true\npairs = [{ x = "p99.9", y = "user_bytes" }]'
    spec = Sweep.parse(text)
    assert spec.all_designs
    assert spec.pairs[0].x == "response.read.p999_us"
