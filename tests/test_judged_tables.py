"""Does splitting say the rarest rates of a decode table rightly, and does a table say which they are?"""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from conftest import Softsense
from softsense import Code, ConfigError, TableError, _core, codes, decode_tables
from softsense.campaign import Campaign
from softsense.judged_tables import judge_curves, judge_table, rungs_of
from softsense.measured_part import LEAST, measured_share
from softsense.sampling import Goal
from softsense.splitting import split
from softsense.store import opened_store
from test_cli import assert_bad_input

COUNTED = [
    ("flash-8-9", 3, 0.0155, 4.2e-7, 9.7e-7),
    ("flash-8-9", 7, 0.018, 6.4e-7, 1.3e-6),
    ("irregular-8-9", 3, 0.0165, 1.7e-5, 2.3e-5),
    ("irregular-8-9", 7, 0.0185, 1.0e-5, 1.5e-5),
]
"""Table, level and raw bit error rate, and the 95 % interval of what an independent decoder has counted on a GPU, among
9 to 37 million frames (docs/frame-error-rates.md)."""

SMALL = ("--levels", "1-2", "--relative-error", "0.3", "--frames", "20000", "--floor-frames", "2000", "--no-progress")


@pytest.fixture(scope="module")
def unjudged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of a small code, of whose level 2 much was extrapolated."""
    file = tmp_path_factory.mktemp("unjudged") / "small.toml"
    numbers: dict[str, Any] = {"levels": "1-2", "relative_error": 0.3, "frames": 20_000, "floor_frames": 2_000}
    built = decode_tables.build_table("teaching-1/2", "0.01:0.06:0.01", judge=0, **numbers)
    file.write_text(built.text)
    return file


def carried(rber: list[float], p_fail: list[float], lowest: int) -> dict[str, list[Any]]:
    """Columns of a level that was measured from a point of the grid on, and carried on as a bound below it."""
    n = len(rber)
    held = [p_fail[max(i, lowest)] for i in range(n)]
    zeros = [0.0] * n
    columns = {"floor": zeros, "floor_at_most": zeros, "unlisted": zeros, "missing": zeros}
    ends = {"p_fail_lo": [0.9 * p * (i >= lowest) for i, p in enumerate(held)], "p_fail_hi": [1.1 * p for p in held]}
    return {"p_fail": held, **ends, **columns, "frames": [1000 * (i >= lowest) for i in range(n)]}


def test_the_rates_of_a_bch_code_are_its_binomial_tail() -> None:
    """A truth in closed form: bounds of 1e-4 become rates down to 1e-13, whose intervals hold it."""
    code = Code.open("bch:m=10,t=5,k=512")
    grid = [0.00004 * 1.4**i for i in range(16)]
    truth = [codes.failure_probability(code.codeword_bits, code.correctable, rate) for rate in grid]
    lowest = next(i for i, p in enumerate(truth) if p > 1e-4)
    with opened_store(None) as store:
        campaign = Campaign(code, "min-sum", 20, 1, Goal(), store)
        level = carried(grid, truth, lowest)
        judged = judge_curves(campaign, grid, [level], "mutual_information", 8, 1e-12, 2)
        # A column of zeros says that splitting was not asked, and so it is.
        unasked = judge_curves(
            campaign, grid, [{**level, "splitting": [0.0] * len(grid)}], "mutual_information", 8, 1e-12, 2
        )
    assert unasked == judged
    rungs = rungs_of(grid, level, 1e-12)
    assert truth[rungs[0]] < 1e-12
    (curves,) = judged.levels
    assert judged.entries == lowest - rungs[0]
    assert judged.apart == []
    for i in range(rungs[0], lowest):
        assert curves["p_fail_lo"][i] < truth[i] < curves["p_fail_hi"][i]
        assert curves["p_fail_hi"][i] < 10 * curves["p_fail_lo"][i]
        assert measured_share(curves, i) == 1
    # What was measured stays, and below the ladder there is a bound.
    assert curves["p_fail"][lowest:] == level["p_fail"][lowest:]
    assert set(curves["p_fail"][: rungs[0] + 1]) == {curves["p_fail"][rungs[0]]}
    assert not any(curves["frames"][: rungs[0]])


def test_a_judged_level_meets_frames_that_were_counted(unjudged: Path) -> None:
    """Frames of another seed, where strata and what they lack say five times as much."""
    text = judge_table(unjudged, floor_frames=2_000, workers=1).text
    table, before = _core.read_toml(text, "judged"), decode_tables.describe(unjudged)
    code = Code.open("teaching-1/2")
    at = table["rber"].index(0.02)
    assert before["level"][1]["missing"][at] > 0.25
    channel = {"gaussian": {"rber": 0.02, "level": 2, "placement": "mutual_information"}}
    spec = {"decoder": "min-sum", "iterations": 20, "seed": 77, "channel": channel}
    task = _core.FrameTask(code, json.dumps(spec))
    counts = task.count(None, 0, 1_000_000 // task.unit_frames)
    assert counts
    assert counts["failures"] > 20
    low, high = _core.binomial_interval(counts["failures"], counts["frames"], 0.9999)
    level = table["level"][1]
    assert level["p_fail_lo"][at] <= high
    assert level["p_fail_hi"][at] >= low
    assert level["splitting"][at] == level["p_fail"][at]
    # The level that needed nothing is as it was, and so are all iterations.
    assert not any(table["level"][0]["splitting"])
    assert table["level"][0]["p_fail"] == before["level"][0]["p_fail"]
    assert [level["iterations"] for level in table["level"]] == [level["iterations"] for level in before["level"]]
    assert "rates at least half was measured otherwise" in table["source"]


def test_building_and_judging_say_the_same(unjudged: Path, softsense_process: Softsense, tmp_path: Path) -> None:
    """`table build` does at once what `table judge` does later, whatever the number of workers."""
    rber = ("--rber", "0.01:0.06:0.01")
    built = softsense_process("table", "build", "teaching-1/2", "--out", "built.toml", *SMALL, *rber)
    assert built.returncode == 0, built.stderr
    judging = ("table", "judge", str(unjudged), "--floor-frames", "2000", "--no-progress", "--down-to", "1e-15")
    done = softsense_process(*judging, "--out", "judged.toml", "--workers", "1", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["entries"] >= 2
    assert told["apart"] == []
    first, second = (decode_tables.describe(tmp_path / name) for name in ("built.toml", "judged.toml"))
    # A file has six digits, from which the ladder's correction begins.
    for one, other in zip(first["level"], second["level"], strict=True):
        assert one.keys() == other.keys()
        assert one["p_fail"] == pytest.approx(other["p_fail"], rel=1e-5)
    # What was judged has nothing left to judge.
    again = softsense_process("table", "judge", "judged.toml", *judging[3:], "--out", "again.toml", "--workers", "2")
    assert again.returncode == 0, again.stderr
    assert "0 failure probabilities by splitting, 0 frames" in again.stdout
    third = decode_tables.describe(tmp_path / "again.toml")
    assert third == {**second, "name": "again"}


def test_what_cannot_be_judged_is_refused(softsense_command: Softsense, tmp_path: Path, unjudged: Path) -> None:
    judge = ("table", "judge")
    thresholds = softsense_command(*judge, "laldpc-thresholds", "--out", "a.toml")
    assert_bad_input(thresholds, "laldpc-thresholds: code:", "is no shipped code", "--code FILE")
    assert_bad_input(softsense_command(*judge, "bch-2KB-t57", "--out", "a.toml"), "bch-2KB-t57: found no p_fail_lo")
    other = softsense_command(*judge, str(unjudged), "--code", "flash-8/9", "--out", "a.toml")
    assert_bad_input(other, "code: found `teaching-1/2:", "expected that of `flash-8/9:")
    assert_bad_input(softsense_command(*judge, str(unjudged), "--out", "a.toml", "--judge", "1"), "--judge", "found 1")
    one = softsense_command("table", "build", "teaching-1/2", *SMALL, "--out", "a.toml", "--judge", "1")
    assert_bad_input(one, "judge: found 1, expected")
    assert not list(tmp_path.glob("a.toml*"))
    with pytest.raises(ConfigError, match="judge: found 1, expected 0 or at least 2"):
        judge_table(unjudged, runs=1)
    with pytest.raises(TableError, match="found no p_fail_lo"):
        judge_table("bch-2KB-t57")


def test_shipped_tables_leave_nothing_to_extrapolation() -> None:
    """Of failure probabilities that anybody asks for none is mostly extrapolated.

    Bounds that are carried on from where a ladder ended are hardly above what anybody asks for, or they are a floor
    that was measured at a higher rate.
    """
    for name in _core.decode_tables():
        table = decode_tables.describe(name)
        for number, level in enumerate(table["level"], start=1):
            for i, p_fail in enumerate(level["p_fail"]):
                if p_fail > 2 * LEAST and measured_share(level, i) < 0.5:
                    assert measured_share({**level, "frames": [1] * len(level["p_fail"])}, i) == 1, (name, number, i)
                    assert level["floor"][i] > 0.5 * p_fail, (name, number, table["rber"][i])


def test_shipped_curves_fall_smoothly() -> None:
    """No curve has a cliff or a step: from point to point the slope of ln P grows or keeps.

    As far as their errors allow: of three neighbours the middle one lies above the line through the others, or its
    interval does.
    """
    for name in _core.decode_tables():
        table = decode_tables.describe(name)
        if table["interpolation"] == "step":
            continue
        for number, level in enumerate(table["level"], start=1):
            for i, j, k in zip(*(range(start, len(table["rber"]) - 2 + start) for start in range(3)), strict=True):
                low, middle, high = (level["p_fail"][at] for at in (i, j, k))
                if low < LEAST or high > 0.1 or "frames" not in level or not level["frames"][i]:
                    continue
                # A floor is where a curve turns.
                if any(level["floor"][at] > 0.1 * level["p_fail"][at] for at in (i, j, k)):
                    continue
                rates = [table["rber"][at] for at in (i, j, k)]
                part = (rates[1] - rates[0]) / (rates[2] - rates[0])
                chord = (1 - part) * math.log(low) + part * math.log(high)
                ends = [math.log(level["p_fail_hi"][at] / level["p_fail"][at]) for at in (i, j, k)]
                doubt = math.hypot((1 - part) * ends[0], ends[1], part * ends[2])
                assert math.log(middle) > chord - 1.5 * doubt, (name, number, rates)


@pytest.mark.parametrize(("name", "number", "rber", "low", "high"), COUNTED)
def test_splitting_meets_what_was_counted_on_a_gpu(
    name: str, number: int, rber: float, low: float, high: float
) -> None:
    """Another decoder, another source of frames, and no splitting."""
    table = decode_tables.describe(name)
    at = table["rber"].index(rber)
    level = table["level"][number - 1]
    # An interval of splitting is told where it is the table's; where it is not, a factor of two is.
    said = level["splitting"][at]
    assert low / 2 < said < high * 2
    assert level["p_fail_lo"][at] < high
    assert level["p_fail_hi"][at] > low


@pytest.mark.law
@pytest.mark.parametrize(
    ("name", "number", "rber", "top"),
    [
        ("flash-8-9", 3, 0.0145, 0.0175),
        ("flash-8-9", 7, 0.0165, 0.02),
        ("irregular-8-9", 3, 0.0145, 0.018),
        ("flash-64-73", 4, 0.0175, 0.021),
    ],
)
def test_law_a_ladder_of_its_own_says_the_same(name: str, number: int, rber: float, top: float) -> None:
    """A ladder serves a whole level, with references of its lowest rung; one that ends here has those of this rate."""
    table = decode_tables.describe(name)
    level, at = table["level"][number - 1], table["rber"].index(rber)
    code = Code.open(table["code"].split(":")[0])
    kept = {"particles": 100, "steps": 15, "effective": 0.3, "runs": 16, "seed": 2}
    (*_, last) = split(code, [top, rber], level=number, **kept).points
    factor = math.exp(2.1 * max(last["relative_error"], last["log_spread"] / 4))
    assert level["p_fail_lo"][at] < last["fer"] * factor
    assert level["p_fail_hi"][at] > last["fer"] / factor


def test_ladders_end_where_nobody_asks() -> None:
    """From the lowest point at which a hundredth fails to the first that a parabola through the known calls rare."""
    grid = [0.001 * i for i in range(1, 31)]
    truth = [math.exp(-1000 * (0.03 - rate) - 60_000 * (0.03 - rate) ** 2) for rate in grid]
    level = carried(grid, truth, 20)
    rungs = rungs_of(grid, level, 1e-17)
    assert truth[rungs[0]] < 1e-17
    assert rungs == list(range(rungs[0], rungs[-1] + 1))
    assert truth[rungs[-1] - 1] < 1e-2 <= truth[rungs[-1]]
    # Nothing to be known, nothing to begin with.
    assert rungs_of(grid, carried(grid, truth, 0), 1e-17) == []
    assert rungs_of(grid[:10], {key: values[:10] for key, values in level.items()}, 1e-17) == []
