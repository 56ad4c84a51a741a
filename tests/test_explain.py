"""Is an explained read a real one, do its timelines equal a whole run's, and is what it says true of its cells?"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softsense
from conftest import ROOT, Softsense
from softsense import Cells, CodeError, ConfigError, SoftsenseError, _core, campaign
from softsense.explain import Explanation, draw, explain, parse_retention, text

YEAR_HOURS = 365 * 24.0
POLICIES = [policy["name"] for policy in softsense.policies()]
BOTH_RETRIES = [f"{name}:{retry}" for name in POLICIES for retry in ("restart", "incremental")]
UPPER = '{ name = "upper", sense_us = 55.0, sense_extra_level_us = 14.0, program_us = 1450.0 }'

# One read at a time of a small device all of whose pages are upper ones.
LONE = [
    f"flash.page_types=[{UPPER}]",
    "geometry.channels=2",
    "geometry.chips_per_channel=1",
    "geometry.dies_per_chip=1",
    "geometry.planes_per_die=2",
    "geometry.blocks_per_plane=64",
    "host.issue={ closed_loop = { queue_depth = 1 } }",
    'workload={ requests = 20, read_fraction = 1.0, sizes = [{ bytes = 4096, share = 1.0 }], addresses = "uniform", '
    'arrivals = "immediate" }',
]
PLANES, CHANNELS = 4, 2


@pytest.fixture(scope="module")
def unlucky() -> Explanation:
    """A codeword that hard decision does not decode."""
    return explain(needs=2)


def needing(level: int | None) -> Explanation:
    """A codeword that needs a level up to 3, or that none decodes, and what every policy makes of it."""
    if level is None:
        found = explain(pe_cycles=20_000, max_level=3, policies=BOTH_RETRIES)
    else:
        found = explain(pe_cycles=(10_000, 13_000, 17_500)[level - 1], needs=level, policies=BOTH_RETRIES)
    assert found.required_level == level
    return found


def assert_simulated(read: dict, *overrides: str) -> None:
    """Lone reads respond after exactly its latency, and take plane, bus and decoder for as long as the row says.

    Utilisation counts to the last event, the end of a sensing that may have been cut short: only ratios are compared.
    """
    result = softsense.run("mlc-25nm", policy=read["policy"], overrides=[*LONE, *overrides], log_requests=True)
    assert result.requests["response_ns"].to_list() == [round(read["latency_us"] * 1e3)] * 20, read["policy"]
    busy = result.summary["utilisation"]
    of_bus = busy["channel"] * CHANNELS / read["transfer_us"]
    assert busy["plane"] * PLANES / of_bus == pytest.approx(read["plane_us"], rel=1e-9), read["policy"]
    assert busy["decoder"] * CHANNELS / of_bus == pytest.approx(read["decode_us"], rel=1e-9), read["policy"]


@pytest.mark.parametrize("level", [1, 2, 3, None])
def test_timelines_are_those_of_the_simulator(level: int | None) -> None:
    """Response to the nanosecond, and the time that plane, bus and decoder are taken, of every policy and retry."""
    found = needing(level)
    fails = [1.0] * 3 if level is None else [1.0] * (level - 1) + [0.0]
    for read in found.reads.iter_rows(named=True):
        forced = [f"reliability={{ fixed = {{ p_fail = {fails} }} }}", f"read.max_level={found.max_level}"]
        assert_simulated(read, *forced)
        assert read["decoded"] == (level is not None)


def test_timelines_are_those_summed_up_by_hand() -> None:
    """An upper page: 55 us of sensing and 14 an extra level, 20 and 10 on the bus, 8 of decoding; level 2 decodes."""
    latencies = {
        "ideal": (107, 107),
        "two_step": (83 + 139 + 80 + 8, 83 + 84 + 60 + 8),
        "look_ahead": (55 + 139 + 80 + 8, 55 + 84 + 60 + 8),
        "progressive": (83 + 69 + 30 + 8, 83 + 14 + 10 + 8),
        # Incremental sensing, 14 us, is over before the hard decision has failed.
        "look_ahead_progressive": (55 + 69 + 30 + 8, 83 + 10 + 8),
    }
    found = needing(2).reads
    for row in found.iter_rows(named=True):
        policy, _, retry = row["policy"].partition(":")
        assert row["latency_us"] == latencies[policy][retry == "incremental"], row["policy"]


def test_timelines_count_the_iterations_of_this_codeword() -> None:
    found = explain(needs=2, policies="progressive", overrides=["decoder.time={ per_iteration_us = 1.7 }"])
    decodes = found.spans.filter(found.spans["what"] == "decode")
    expected = [1.7 * iterations for iterations in found.attempts["iterations"][:2]]
    assert (decodes["to_us"] - decodes["from_us"]).to_list() == pytest.approx(expected)


def test_codewords_with_few_errors_need_no_decoder() -> None:
    bypass = "decoder.bypass={ errors = 50, codeword_bits = 36864 }"
    found = explain(pe_cycles=0, retention_hours=0.0, policies="two_step,look_ahead", overrides=[bypass])
    assert found.raw_errors <= 50
    for read in found.reads.iter_rows(named=True):
        assert (read["latency_us"], read["decode_us"]) == (75.0, 0.0)


def test_spans_are_consistent(unlucky: Explanation) -> None:
    """No resource does two things at once, what a read occupies is its spans, and the last one ends at its latency."""
    for read in unlucky.reads.iter_rows(named=True):
        spans = unlucky.spans.filter(unlucky.spans["policy"] == read["policy"])
        assert spans["to_us"].max() == read["latency_us"]
        assert (spans["to_us"] > spans["from_us"]).all()
        for resource, total in (("plane", "plane_us"), ("bus", "transfer_us"), ("decoder", "decode_us")):
            own = spans.filter(spans["resource"] == resource).sort("from_us")
            assert (own["from_us"][1:] >= own["to_us"][:-1]).all()
            assert (own["to_us"] - own["from_us"]).sum() == pytest.approx(read[total])
        parts = read["sense_us"] + read["transfer_us"] + read["decode_us"] - read["hidden_us"]
        assert parts == pytest.approx(read["latency_us"])
        assert (read["wasted_us"] > 0) == (read["policy"] == "look_ahead_progressive")


# Physics.


def test_states_are_those_of_the_closed_form() -> None:
    """docs/model/threshold-voltage.md: the mean of the step less mu, and the three spreads; 0.5 mV."""
    found = explain(max_level=1, pe_cycles=10_000, retention_hours=YEAR_HOURS)
    noise = 0.00025 * 10_000**0.5
    for row in found.states.iter_rows(named=True):
        if row["state"] == 0:
            assert (row["mean_v"], row["spread_v"]) == pytest.approx((1.4, 0.35), abs=5e-4)
            continue
        middle = (2.55, 3.15, 3.75)[row["state"] - 1] + 0.19
        lost = 0.333 * (middle - 1.4) * math.log(1 + YEAR_HOURS)
        variance = 0.38**2 / 12 + 2 * noise**2
        assert (row["written_mean_v"], row["written_spread_v"]) == pytest.approx((middle, variance**0.5), abs=5e-4)
        variance += lost * 2e-6 * 10_000**0.6
        expected = (middle - lost * 4e-4 * 10_000**0.5, variance**0.5)
        assert (row["mean_v"], row["spread_v"]) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("config", "cells"), [("mlc-25nm", "mlc"), ("tlc-femu", "tlc-2-3-2"), ("tlc-femu", "tlc-1-2-4")]
)
def test_regions_and_error_rates_are_those_of_the_cells(config: str, cells: str) -> None:
    opened = Cells.open(cells, 3000, 720.0)
    for number, page in enumerate(opened.pages):
        found = explain(
            config,
            cells=cells,
            pe_cycles=3000,
            retention_hours=720.0,
            page=page,
            max_level=3,
            overrides=['read.references="cells"'],
        )
        assert found.rber == opened.rber(number)
        assert found.states["p_wrong"].mean() == pytest.approx(found.rber, rel=1e-9)
        for (_,), level in found.regions.group_by("level"):
            assert level["p_given_0"].sum() == pytest.approx(1)
            assert level["p_given_1"].sum() == pytest.approx(1)
            ratios = np.log(level["p_given_0"].to_numpy() / level["p_given_1"].to_numpy())
            assert level["llr"].to_numpy() == pytest.approx(ratios, rel=1e-6)
        hard = found.regions.filter(found.regions["level"] == 1)
        wrong = hard.select((hard["llr"] < 0) * hard["p_given_0"] + (hard["llr"] >= 0) * hard["p_given_1"]).sum()
        assert wrong.item() / 2 == pytest.approx(found.rber, rel=1e-9)


def test_references_that_do_not_follow_are_as_documented(unlucky: Explanation) -> None:
    """docs/model/threshold-voltage.md: the upper page after 10,000 cycles and a year."""
    assert unlucky.rber == pytest.approx(8.36e-3, rel=2e-3)
    assert unlucky.untracked_rber == pytest.approx(0.166, rel=5e-3)


def test_what_the_decoder_gets_is_what_the_cells_are(unlucky: Explanation) -> None:
    for row in unlucky.attempts.iter_rows(named=True):
        regions = unlucky.regions.filter(unlucky.regions["level"] == row["level"])
        assert regions["cells_with_0"].sum() + regions["cells_with_1"].sum() == unlucky.codeword_bits
        wrong = regions.select((regions["llr"] < 0) * regions["cells_with_0"]).sum().item()
        wrong += regions.select((regions["llr"] >= 0) * regions["cells_with_1"]).sum().item()
        assert wrong == row["wrong_signs"]
    first = unlucky.attempts.row(0, named=True)
    assert (unlucky.raw_errors, first["converged"], first["iterations"]) == (first["wrong_signs"], False, 20)
    assert first["violated_checks"] > 0


def test_errors_and_failures_are_those_of_the_page() -> None:
    """100 codewords at an age at which two thirds of the hard decisions fail.

    Of their 3.7 million bits so many are wrong that five standard deviations are 2.7 % of the rate: cells of one state
    left out, or the wrong quantiles, would show. As many fail as of the frames of `softsense fer --cells`, within five
    standard errors, 0.25: a rate of errors that is 4 % off would show, too.
    """
    age = {"pe_cycles": 11_000, "retention_hours": YEAR_HOURS}
    reads = [explain(**age, max_level=1, policies="two_step", seed=seed) for seed in range(100, 200)]
    rber, bits = reads[0].rber, 100 * reads[0].codeword_bits
    errors = sum(read.raw_errors for read in reads)
    assert abs(errors - bits * rber) < 5 * (bits * rber * (1 - rber)) ** 0.5
    held = np.sum([read.regions["cells_with_0"].to_numpy() for read in reads], axis=0)
    expected = reads[0].regions["p_given_0"].to_numpy() * held.sum()
    assert (np.abs(held - expected) < 5 * expected**0.5).all()
    cells = {"cells": "mlc", "pe_cycles": "11000", "retention_days": "365", "page": "upper"}
    frames = campaign.measure_fer("flash-8/9", **cells, method="direct", frames=1000, down_to=0.1, workers=1)
    failed = np.mean([read.required_level is None for read in reads])
    assert abs(failed - frames.points[0]["fer"]) < 0.25


def test_a_seed_is_a_codeword_whatever_the_machine(unlucky: Explanation) -> None:
    """The same arguments give the same numbers, and those that they gave when this was written."""
    again = explain(needs=2)
    assert again.to_dict() == unlucky.to_dict()
    assert (unlucky.seed, unlucky.tried, unlucky.raw_errors, unlucky.required_level) == (6, 6, 338, 2)
    assert explain(seed=6).to_dict() == unlucky.to_dict() | {"tried": 1}
    younger = explain(seed=6, retention_hours=24.0)
    assert younger.regions["cells_with_0"][:3].sum() == unlucky.regions["cells_with_0"][:3].sum()
    assert younger.raw_errors < unlucky.raw_errors
    other = explain(seed=7, max_level=1)
    assert other.regions["cells_with_0"].sum() != unlucky.regions["cells_with_0"][:3].sum()


# Techniques of read retry.

# An upper page of tlc-femu takes 106 us to sense, 5.125 on the bus, 2.5 to decode. Centre pages have the known cells.
ATTEMPT_US = 106 + 5.125 + 2.5
KNOWN_CELLS_US = 77.5 + 0.046
DIE = "{ place = 'die', predict_us = 2.5, threshold_rber = 0.0085, checks = 1024 }"
AHEAD = ["read.retries_ahead=true", "read.retry_sensing_percent=75"]


def old(*overrides: str, config: str = "tlc-femu", page: str = "upper", **options: Any) -> Explanation:
    """A codeword of planar TLC that hard decision does not decode at default references, and at better ones does."""
    age = {"pe_cycles": 3000, "retention_hours": YEAR_HOURS}
    options = {"cells": "tlc-measured"} | options
    return explain(config, **age, page=page, policies="progressive", overrides=overrides, **options)


@pytest.mark.parametrize(
    ("overrides", "steps", "latency_us"),
    [
        ([], ["retry_entry:0", "retry_entry:1"], 2 * ATTEMPT_US),
        # The first retry is never sensed ahead.
        (AHEAD, ["retry_entry:0", "retry_entry:1"], 2 * ATTEMPT_US - 0.25 * 106),
        (['read.references="sentinels"'], ["default", "default", "inferred:13"], 2 * ATTEMPT_US + KNOWN_CELLS_US),
        (['read.references="share_of_ones"'], ["default", "default", "inferred:12"], 2 * ATTEMPT_US + 106),
        (
            ['read.references="share_of_ones"', f"read.predictor={DIE}"],
            ["default", "inferred:12"],
            106 + 2.5 + ATTEMPT_US,
        ),
        (['read.references="cells"'], ["cells"], ATTEMPT_US),
    ],
    ids=["retry table", "for less time", "sentinels", "share of ones", "predicted in the die", "tracked"],
)
def test_techniques_take_their_steps(overrides: list[str], steps: list[str], latency_us: float) -> None:
    """docs/model/read-policies.md has the closed forms."""
    found = old(*overrides)
    assert found.steps["references"].to_list() == steps
    read = found.reads.row(0, named=True)
    assert read["latency_us"] == pytest.approx(latency_us, abs=1e-3)
    first, last = found.steps.row(0, named=True), found.steps.row(-1, named=True)
    assert (last["decoded"], read["decoded"]) == (True, True)
    if steps != ["cells"]:
        assert first["raw_errors"] > 1.5 * last["raw_errors"]
        assert not first["decoded"]
    assert found.steps["sense_us"].sum() == pytest.approx(read["sense_us"])


def test_retries_ahead_are_pipelined() -> None:
    """Five sensings, of which the centre page's last is of two levels: from the second on one follows another."""
    one_by_one, ahead = old(page="centre"), old("read.retries_ahead=true", page="centre")
    attempt = 77.5 + 5.125 + 2.5
    last = 77.5 + 14 + 5.125 + 2.5625 + 2.5
    assert one_by_one.reads["levels"].to_list() == ahead.reads["levels"].to_list() == [[1, 1, 1, 1, 2]]
    assert one_by_one.reads["latency_us"].item() == pytest.approx(4 * attempt + last, abs=1e-3)
    assert ahead.reads["latency_us"].item() == pytest.approx(attempt + 3 * 77.5 + last, abs=1e-3)
    senses = ahead.spans.filter((ahead.spans["what"] == "sense") & ~ahead.spans["wasted"])
    assert senses["step"].to_list() == [1, 2, 3, 4, 5]
    assert senses["from_us"][2:].to_list() == senses["to_us"][1:-1].to_list()
    # What is sensed beyond the last step is in vain.
    assert ahead.spans.filter(ahead.spans["wasted"])["step"].unique().to_list() == [6]


def test_soft_levels_stand_about_the_entry_with_the_fewest_violated_checks() -> None:
    steps = old(page="centre").steps
    hard = steps.filter(steps["level"] == 1)
    best = hard.row(int(hard["violated_checks"].arg_min()), named=True)
    assert steps["references"][-1] == best["references"]
    around = np.asarray(steps["references_v"][-1]).reshape(3, 2)
    assert ((around[:, 0] < best["references_v"]) & (around[:, 1] > best["references_v"])).all()


def test_what_is_seen_is_what_cells_and_code_say() -> None:
    """Wrong bits within five standard deviations of the closed form at each entry, and checks of the code's mean."""
    found = old(page="centre")
    spec = json.loads(found.cells.spec_json)["references"]
    offsets = np.asarray(spec["retry_table_v"])
    default = found.cells.with_references("default")
    rber = default.rber_off(offsets)[:, 1]
    code, n = softsense.Code.open("flash-8/9"), found.codeword_bits
    for step, expected in zip(found.steps.iter_rows(named=True), rber, strict=False):
        assert step["references_v"] == pytest.approx(
            (default.references + offsets[int(step["references"][-1])])[default.boundaries(1)], abs=1e-9
        )
        assert abs(step["raw_errors"] - n * expected) < 5 * (n * expected) ** 0.5
        mean, spread = code.syndrome_weights(step["raw_errors"] / n)
        assert abs(step["violated_checks"] - mean) < 5 * spread
    blurred = old(*AHEAD, page="centre").steps
    assert blurred["raw_errors"][0] == found.steps["raw_errors"][0]
    assert (blurred["raw_errors"][1:4] > found.steps["raw_errors"][1:4]).sum() >= 2


def test_known_cells_and_ones_say_where_references_belong() -> None:
    steps = old('read.references="sentinels"').steps
    known = steps.row(1, named=True)
    assert (known["known_cells"], known["raw_errors"], known["decoded"]) == (True, None, None)
    # Of 294 sentinels 147 are in each state.
    assert known["difference"] == pytest.approx((known["errors_up"] - known["errors_down"]) / 147)
    assert steps["references"][2] == f"inferred:{known['inferred_steps']}"
    # A centre page shows them itself.
    shown = old('read.references="sentinels"', page="centre").steps
    assert not shown["known_cells"].any()
    assert shown["inferred_steps"][0] is not None
    counted = old('read.references="share_of_ones"').steps
    assert counted["sent"].to_list() == [True, False, True]
    assert (counted["errors_up"][1], counted["difference"][1] > 0) == (None, True)


@pytest.mark.parametrize("place", ["die", "controller"])
def test_predicted_failures_are_not_tried(place: str) -> None:
    """tlc-rif: 40 us of sensing and 3.25 on the bus; a decode takes 1 us an iteration, a prediction 2.5."""
    found = old(f"read.predictor.place='{place}'", config="tlc-rif")
    assert found.predictor is not None
    first, last = found.steps.row(0, named=True), found.steps.row(-1, named=True)
    assert found.predictor["checks"] == 1024
    assert found.predictor["threshold"] < first["predicted_violated"] < first["violated_checks"]
    assert (first["decoded"], first["sent"]) == (None, place == "controller")
    told = first["predicted_violated"] / 1024, first["violated_checks"] / 4096
    assert told[0] == pytest.approx(told[1], rel=0.2)
    sent = 40 + 3.25
    expected = sent + 2.5 + 40 if place == "controller" else 40 + 2.5
    assert ("predict" in set(found.spans["what"])) == (place == "controller")
    assert len(draw(found).axes) == 6
    assert found.reads["latency_us"].item() == pytest.approx(expected + sent + last["iterations"])


def test_cells_are_those_of_the_config_unless_others_are_named() -> None:
    """MLC in full, with a retry table of its own, read from the first entry on."""
    cells = "{ references = { tracked = false, retry_table_v = [[0.0, 0.0, 0.0], [-0.15, -0.2, -0.25]] } }"
    table = f"reliability={{ table = {{ file = 'flash-8-9', rber.threshold_voltage = {cells} }} }}"
    found = explain(overrides=[table, 'read.references="retry_table"'], policies="two_step", page="lower")
    assert found.cells_name == "the config's"
    assert found.steps["references"][:2].to_list() == ["retry_entry:0", "retry_entry:1"]
    assert found.steps["raw_errors"][1] < found.steps["raw_errors"][0]
    assert "page of the config's cells" in text(found)
    named, unnamed = (old(cells=cells, page="centre") for cells in ("tlc-charge-trap", None))
    assert named.to_dict() == unnamed.to_dict()
    assert explain(max_level=1, policies="two_step").cells_name == "mlc"


@pytest.mark.parametrize(
    "overrides",
    [[], AHEAD, ['read.references="sentinels"'], ['read.references="share_of_ones"', f"read.predictor={DIE}"]],
    ids=["retry table", "for less time", "sentinels", "predicted in the die"],
)
@pytest.mark.parametrize("page", ["centre", "upper"])
def test_techniques_can_be_told_and_drawn(overrides: list[str], page: str) -> None:
    found = old(*overrides, page=page)
    told = text(found)
    assert "\n\n6. Steps of the read (progressive)." in told
    assert max(map(len, told.partition("\n6.")[2].splitlines())) <= 100
    assert len(draw(found).axes) == 4 + len(found.cells.boundaries(found.cells.pages.index(page)))
    document = found.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_a_search_for_valleys_is_told() -> None:
    """References of the cells that are off by 0.25 V, then as many sensings of each boundary as the cells say."""
    cells = json.loads(Cells.open("tlc-measured").spec_json)
    cells["references"] |= {"offset_v": 0.25}
    toml = re.sub(r'"(\w+)":', r"\1 =", json.dumps(cells)).replace(" =", "=")
    own = f"reliability.table.rber.threshold_voltage={toml}"
    found = old(own, 'read.references="valley_search"', cells=None)
    assert found.steps["references"].to_list()[:2] == ["cells", "valleys"]
    search = found.steps.row(1, named=True)
    assert (search["search_sensings"], search["decoded"]) == (11, True)
    assert search["sense_us"] == pytest.approx(106 + 11 * 14)
    assert "11 sensings of each boundary, counted in the die, found its valley" in text(found)


def test_what_a_codeword_raises_is_raised() -> None:
    class Broken:
        def attempt(self, *_: object) -> None:
            raise KeyError("broken")

    lone = _core.LoneRead(softsense.Config.open("mlc-25nm"), 0)
    asked = Broken(), Cells.open("mlc"), softsense.Code.open("flash-8/9")
    with pytest.raises(KeyError, match="broken"):
        lone.timeline(*asked, levels=7)
    with pytest.raises(ConfigError, match="levels: found 8, expected 1 to 7"):
        lone.timeline(*asked, levels=8)


# Words and pictures.


@pytest.mark.parametrize(
    "arguments",
    [
        {"pe_cycles": 20_000, "max_level": 2},
        {"code": "bch-4KB-t105", "pe_cycles": 3000, "retention_hours": 1.0},
        {"code": "bch-4KB-t105"},
        {"decoder": "bit-flipping", "page": 0},
        {"decoder": "sum-product", "placement": "nested", "policies": "progressive:incremental", "level": 5},
        {"pe_cycles": 0, "retention_hours": 0.0, "page": "lower"},
        {"config": "tlc-femu", "cells": "tlc-1-2-4", "level": 7, "overrides": ['read.references="cells"']},
    ],
    ids=["none decodes", "BCH", "BCH fails", "bit flipping", "one policy", "fresh", "many regions"],
)
def test_everything_can_be_told_and_drawn(arguments: dict) -> None:
    found = explain(**arguments)
    told = text(found)
    assert re.findall(r"^(\d)\. ([A-Z]\w+)", told, re.MULTILINE) == [
        ("1", "Cells"),
        ("2", "Raw"),
        ("3", "Regions"),
        ("4", "Decoding"),
        ("5", "Reading"),
    ]
    # Names of policies with their retries make the last table wider.
    assert max(map(len, told.partition("\n5.")[0].splitlines())) <= 100
    assert len(draw(found).axes) == 4
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_guide_shows_what_is_printed() -> None:
    """docs/explain.md."""
    guide = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    shown = guide.split("```text\n")[1].split("\n```")[0]
    assert "--pe 10000 --retention 365d --page upper --needs 2" in guide
    assert shown == text(explain(pe_cycles=10_000, retention_hours=YEAR_HOURS, page="upper", needs=2))
    shown = guide.split("```text\n")[2].split("\n```")[0]
    age = "--config tlc-femu --pe 3000 --retention 365d --page centre"
    assert f"""{age} --policies progressive --set 'read.references="sentinels"'""" in guide
    told = text(old('read.references="sentinels"', cells=None, page="centre"))
    assert shown == told[told.index("5. Reading") :]


def test_command_prints_draws_and_answers_in_json(
    softsense_command: Softsense, tmp_path: Path, unlucky: Explanation
) -> None:
    options = ["--pe", "10000", "--retention", "365d", "--page", "upper", "--needs", "2"]
    done = softsense_command("explain", options, "--picture", "out.png")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{text(unlucky)}\n\nwrote out.png\n"
    assert (tmp_path / "out.png").stat().st_size > 50_000
    done = softsense_command("explain", options, "--json")
    assert json.loads(done.stdout) == unlucky.to_dict()


def test_bad_options_are_one_error(softsense_command: Softsense) -> None:
    for options, says in [
        (["--retention", "x"], "error: --retention: found x, expected a time such as 365d or 12h\n"),
        (["--page", "top"], "error: page: found `top`, expected lower, upper, or 0 to 1\n"),
        (["--picture", "out.gif"], "error: out.gif: found suffix `.gif`, expected .png, .svg or .pdf\n"),
    ]:
        done = softsense_command("explain", options)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", says)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cells": "qlc"}, "qlc: No such file"),
        ({"config": "nowhere.toml"}, "nowhere.toml: No such file"),
        ({"policies": "guess"}, "policies: unknown policy 'guess'"),
        ({"policies": "two_step:never"}, "read.retry"),
        ({"code": "adaptive-5/6"}, "code: found 6,656 bytes of data in adaptive-5/6, expected 4,096"),
        ({"decoder": "turbo"}, "turbo"),
        ({"placement": "best"}, "placement: found `best`"),
        ({"level": 4, "max_level": 3}, "level: found 4, expected 1 to 3"),
        ({"max_level": 8}, "max_level: found 8, expected 1 to 7"),
        ({"max_level": 2, "decoder": "bit-flipping"}, "max_level: found 2, expected 1: bit-flipping takes"),
        ({"max_level": 2, "code": "bch-4KB-t105"}, "max_level: found 2, expected 1: BCH codes take"),
        ({"needs": 2, "max_level": 1}, "needs: found 2, expected 1 to 1"),
        ({"iterations": 0}, "iterations: found 0, expected at least 1"),
        ({"seed": -1}, "seed: found -1, expected 0 to 18446744073709551615"),
        ({"config": "tlc-femu", "cells": "mlc"}, "flash.page_types: found lower, centre, upper, expected one"),
        (
            {"config": "tlc-femu", "cells": "tlc-1-2-4"},
            "read.references: found `retry_table` with cells that have no retry table, expected cells",
        ),
        (
            {"config": "tlc-rif", "code": "bch-4KB-t105"},
            "read.predictor: found a predictor with a `reliability` that has no numbers",
        ),
        ({"overrides": ['read.references="sentinels"']}, "read.references: found inferred references with cells"),
        ({"config": "mlc-lae"}, "reliability.bch: found codes that change with age"),
        ({"overrides": ["ftl.interleaving.ways=2"]}, "ftl.interleaving.ways: found 2, expected 1"),
        ({"overrides": ["flash.cache_register=false"]}, "flash.cache_register"),
        ({"overrides": ["read.wings=2"]}, "wings"),
    ],
)
def test_what_is_wrong_is_named(arguments: dict, message: str) -> None:
    with pytest.raises(SoftsenseError) as raised:
        explain(**arguments)
    assert message in str(raised.value)
    assert isinstance(raised.value, (ConfigError, CodeError, softsense.FileError))


def test_times_have_units() -> None:
    assert [parse_retention(text) for text in ("365d", "12h", "0.5d", "0h")] == [8760.0, 12.0, 12.0, 0.0]
    for wrong in ("365", "d", "-1d", "1e3d", "1 d", "1w", ""):
        with pytest.raises(ConfigError, match="expected a time such as 365d or 12h"):
            parse_retention(wrong)


def test_a_search_in_vain_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("softsense.explain.explaining._MOST_TRIED", 3)
    with pytest.raises(ConfigError, match="needs: found no codeword that needs level 2 among 3, expected at least one"):
        explain(pe_cycles=0, retention_hours=0.0, needs=2)
    with pytest.raises(ConfigError, match="needs: found no codeword"):
        explain(pe_cycles=0, retention_hours=0.0, needs=2, seed=2**64 - 1)
