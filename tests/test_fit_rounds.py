"""Does a fit tell retries from what is none: shifts of a round, peaks that follow too soon, waits, single jumps?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hidden_drives
import softsense
from softsense import fit
from softsense.fit import sampling, search, shifts
from softsense.fit.check import distance, simulate
from softsense.fit.drive import of_a_new_round
from softsense.fit.histograms import Histogram, in_bins
from softsense.fit.model import STEPS, Grid, Parameters, Structure, least_retry_us, pack, rungs, unpack

EDGES = np.arange(0, 603, 3.0)
NONE = np.array(0.0)


def drive(at_us: Sequence[float], share: Sequence[float], **others: Any) -> Parameters:
    """Peaks, hits first, that spread by 2.5 us, and whatever else is given."""
    plain = dict.fromkeys(("step_us", "slow_share", "pause_share", "busy_share"), 0.0)
    plain |= {"tail_us": 1.0, "slow_us": 1.0, "pause_us": 1.0, "busy_us": 1.0, "p_retry": np.zeros(3)}
    peaks = {"at_us": at_us, "sigma_us": np.full(len(at_us), 2.5), "share": np.array(share) / sum(share)}
    return Parameters(**{name: np.asarray(value, dtype=float) for name, value in (plain | peaks | others).items()})


DRIVE = drive((60, 180, 212, 266), (0.03, 0.33, 0.33, 0.31), step_us=75.0, p_retry=(0.02, 0.2, 0.3))


def counted(p: Parameters, reads: int, seed: int, number: float = 0.0, edges: np.ndarray = EDGES) -> Histogram:
    """The reads of a drive, drawn part by part, in bins."""
    random = np.random.default_rng([77, seed])
    kind = random.choice(len(p.share), reads, p=p.share)
    us = p.at_us[kind] + p.sigma_us[kind] * random.standard_normal(reads)
    us += np.where(kind > 0, random.choice(STEPS + 1, reads, p=rungs(p.p_retry)) * float(p.step_us), 0.0)
    busy = random.random(reads) < p.busy_share
    us += np.where(busy, random.uniform(0, float(p.busy_us), reads), random.exponential(float(p.tail_us), reads))
    return in_bins(us, edges, number)


def log_of(*rounds: Histogram) -> fit.Log:
    return fit.Log("drawn", "histogram", rounds)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """One way to begin the search, and few samples: modes are what these tests are about."""
    monkeypatch.setattr(search, "_HEIGHTS", (0.06,))
    monkeypatch.setattr(sampling, "_STEPS", 30)
    monkeypatch.setattr(sampling, "_BURN_IN", 10)


def fitted(*rounds: Histogram) -> fit.Fit:
    found = fit.fit_log(log_of(*rounds), workers=1)
    assert found is not None
    return found


def modes(found: fit.Fit) -> Parameters:
    """Most probable parameters of each round, in the first axis."""
    return unpack(found.structure, np.array([each.mode for each in found.rounds]))


# ---- A retry takes a sensing at least ----


def test_no_retry_is_shorter_than_one_sensing_of_the_fastest_page_type() -> None:
    """A third of half of what is left after the overhead, or 17 us, but no more than that half; and less than published
    sensing.
    """
    four = Structure(4, hit=True, ladder=False, slow=False, pauses=False)
    assert least_retry_us(four, DRIVE) == pytest.approx((180 - 60) / 6)
    assert least_retry_us(four, replace(DRIVE, at_us=2 * DRIVE.at_us)) == pytest.approx(2 * (180 - 60) / 6)
    # Without hits a tenth, or 10 us, is overhead: of a drive of 61 us, and of one of SLC flash of 20 us.
    two = Structure(2, hit=False, ladder=False, slow=False, pauses=False)
    assert least_retry_us(two, drive((61, 67.5), (0.5, 0.5))) == 17
    assert least_retry_us(two, drive((20, 24), (0.5, 0.5))) == pytest.approx((20 - 2) / 2)
    # A second peak of hits is no page type.
    five = Structure(5, hit=True, ladder=False, slow=False, pauses=False)
    assert least_retry_us(five, drive((56, 60, 160, 190, 212), (0.1, 0.1, 0.2, 0.3, 0.3))) == pytest.approx(
        (160 - 56) / 6
    )
    # Mean sensing (us) and GB/s of the channel of 3D TLC flash, ISSCC 2018 to 2021: 16 KiB and 10 us of decoding.
    for sensing, speed in ((40, 2.0), (45, 1.2), (50, 1.6), (50, 2.0), (56, 1.066), (58, 0.533)):
        for references in (1, 2):
            sensed = sensing * references * 3 / 7
            base = 50 + sensed + 16.384 / speed + 10
            assert least_retry_us(two, drive((base, 1.5 * base), (0.5, 0.5))) < sensed / references + 0.01


@pytest.mark.usefixtures("hurried")
def test_peaks_that_follow_sooner_than_a_sensing_are_no_retries() -> None:
    """A ladder with a step of 10.6 us, as the fit of an 860 QVO had, where a retry takes 32 us or more."""
    near = drive((55, 248, 279), (0.04, 0.3, 0.66), step_us=10.6, p_retry=(0.12, 0.3, 0.3))
    found = fitted(counted(near, 60_000, 1))
    assert not found.structure.ladder or modes(found).step_us[0] > 32
    # The first rung is a delay of some reads, those of the second one are peaks that nothing explains.
    assert modes(found).late_us[0] == pytest.approx(10.6, abs=0.5)
    assert modes(found).late_share[0] == pytest.approx(0.084, abs=0.02)
    assert {"late.share", "late.by_us"} <= {each.name for each in fit.claims(found) if each.is_told}
    told = [each for each in fit.outside(found) if "less than a retry takes" in each.why]
    assert any(each.at_us == pytest.approx(300.2, abs=2) and 0.01 < each.high < 0.03 for each in told), told
    assert "\nOutside the model (a retry takes 32." in fit.table(found)
    off = distance(found.predicted(), in_bins(simulate(fit.config(found), 100_000), EDGES))
    assert off["share"] < off["by_chance"] + 0.005
    assert {each["kind"] for each in fit.to_dict(found)["outside"]} >= {"unexplained"}


@pytest.mark.usefixtures("hurried")
def test_retries_that_take_a_sensing_are_found() -> None:
    found = fitted(counted(replace(DRIVE, step_us=np.array(26.0)), 60_000, 2))
    assert modes(found).step_us[0] == pytest.approx(26, abs=0.5)
    assert modes(found).p_retry[0, 0] == pytest.approx(0.02, rel=0.25)


# ---- All reads of a round took longer ----


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("shift", [4.4, -3.1])
def test_a_round_that_is_shifted_is_no_round_of_retries(shift: float) -> None:
    """Of the drive with 99 % of its reads retried in one round, whose peaks are all 4 us later."""
    rounds = [counted(DRIVE.later(shift if i == 2 else 0), 60_000, i, 400.0 * i) for i in range(4)]
    found = fitted(*rounds)
    assert set(found.shifts) == {800.0}
    assert found.shifts[800.0] == pytest.approx(shift, abs=1)
    retried = modes(found).p_retry[:, 0]
    assert retried[2] == pytest.approx(np.median(retried), rel=0.3)
    assert modes(found).at_us[2] == pytest.approx(modes(found).at_us[0], abs=1)
    # Growth does not see it: as much is slow as in any round, beyond the same part of the peaks.
    shares = np.exp(found.growth.points.ln_shares)  # type: ignore[union-attr]
    assert shares[2] == pytest.approx(np.median(shares), rel=0.5)
    assert any(
        note.startswith(f"all reads of round 800 took {abs(found.shifts[800.0]):.3g} us") for note in found.notes
    )
    # The config of that round has it, and that of another has not.
    for number in (800.0, 400.0):
        made = softsense.Config.from_toml(fit.config_toml(found, number), "fitted.toml")
        off = distance(found.predicted(number), in_bins(simulate(made, 60_000), EDGES))
        assert off["share"] < off["by_chance"] + 0.01, number
    medians = [float(found.predicted(number).quantile_us(0.5)[0]) for number in (800.0, 400.0)]
    assert medians[0] - medians[1] == pytest.approx(shift, abs=1)


def test_peaks_that_move_alone_are_no_shift() -> None:
    other = replace(DRIVE, at_us=DRIVE.at_us + np.array([0, 0, 4, 0]))
    rounds = [counted(other if i == 2 else DRIVE, 60_000, i, float(i)) for i in range(4)]
    assert shifts.of_rounds(rounds) == [0, 0, 0, 0]
    assert not shifts.between(rounds[0], rounds[2]).alike


def test_rounds_in_another_order_have_the_same_shifts() -> None:
    rounds = [counted(DRIVE.later(each), 60_000, i, float(i)) for i, each in enumerate((0, 2.6, -4.1, 0.2, 5.0))]
    found = shifts.of_rounds(rounds)
    assert found == pytest.approx([0, 2.6, -4.1, 0, 5.0], abs=0.5)
    order = [3, 1, 4, 0, 2]
    assert shifts.of_rounds([rounds[i] for i in order]) == [found[i] for i in order]
    # Of two rounds one is the usual one, whichever comes first.
    assert shifts.of_rounds(rounds[:2]) == shifts.of_rounds(rounds[1::-1])[::-1]


def test_shifted_rounds_together_have_the_peaks_of_one() -> None:
    rounds = [counted(DRIVE.later(each), 60_000, i) for i, each in enumerate((0.0, 3.0, -5.0))]
    aligned = [shifts.earlier(each, us) for each, us in zip(rounds, shifts.of_rounds(rounds), strict=True)]
    whole = shifts.together(aligned, EDGES)
    assert whole.reads == pytest.approx(180_000)
    once = counted(DRIVE, 180_000, 9)
    assert 0.5 * np.abs(whole.counts / whole.reads - once.counts / once.reads).sum() < 0.03


def test_intervals_of_a_round_that_was_not_seen_have_it() -> None:
    """Of four rounds least and largest value have a fifth one in 60 % of all cases."""
    random, inside = np.random.default_rng(12), 0
    rounds = np.arange(400) % 4
    for _ in range(1000):
        means, new = random.standard_normal(4), random.standard_normal()
        values = (means[rounds] + 0.05 * random.standard_normal(400))[:, None]
        low, high = np.quantile(of_a_new_round(values, rounds, random), [0.025, 0.975])
        inside += low <= new <= high
    assert 920 <= inside <= 975
    alone = random.standard_normal((50, 2))
    assert np.array_equal(of_a_new_round(alone, np.zeros(50, dtype=int), random), alone)


# ---- A model that is off ----


def test_a_model_that_lacks_small_peaks_keeps_the_large_ones() -> None:
    """Ten million reads, 2 % of them in twenty peaks that the model has not, whose bins are more than those of the two
    page types: weights by the relative error of usual bins gave up a page type for them.
    """
    structure = Structure(2, hit=False, ladder=False, slow=True, pauses=True)
    small = [(150 + 20 * i, 0.001) for i in range(20)]
    at, share = zip((235, 0.75), (421, 0.23), *small, strict=True)
    whole = drive(at, share, tail_us=2.0)
    log = counted(whole, 1_000_000, 8)
    log = replace(log, counts=10 * log.counts, beyond=10 * log.beyond)
    start = pack(
        structure, replace(drive((235, 421), (0.75, 0.25)), pause_share=np.array(0.01), pause_us=np.array(90.0))
    )
    grid = Grid(EDGES)
    found = sampling.sample(structure, grid, log, sampling.Prior.of(structure, start, grid), start, 1)
    assert found is not None
    assert found.model_error > 0.2
    shares = found.parameters().share
    assert np.median(shares[:, 1]) == pytest.approx(0.23 / 0.98, rel=0.05)
    fitted_shares = grid.probabilities(structure, unpack(structure, found.mode))
    assert distance(Histogram(0, EDGES, fitted_shares[:-1], fitted_shares[-1]), log)["share"] < 0.06


# ---- What else is no retry ----


@pytest.mark.usefixtures("hurried")
def test_waits_of_even_length_are_a_part_and_are_simulated() -> None:
    """1.6 % of reads meet an operation of 250 us, as of a drive that does something else now and then."""
    found = fitted(counted(replace(DRIVE, busy_share=np.array(0.016), busy_us=np.array(250.0)), 200_000, 3))
    assert found.structure.busy
    assert modes(found).busy_us[0] == pytest.approx(250, rel=0.05)
    assert modes(found).busy_share[0] == pytest.approx(0.016, rel=0.15)
    off = distance(found.predicted(), in_bins(simulate(fit.config(found), 100_000), EDGES))
    assert off["share"] < off["by_chance"] + 0.003
    assert {"busy.share", "busy.longest_us"} <= {each.name for each in fit.claims(found)}


def by_round(*rounds: Parameters) -> fit.Fit:
    return fitted(*(counted(p, 60_000, i, 400.0 * i) for i, p in enumerate(rounds)))


@pytest.mark.usefixtures("hurried")
def test_retries_of_one_page_type_are_told_and_so_is_a_single_long_jump() -> None:
    """The slowest of three page types is retried from round to round more often, 30 us; 0.4 % take 250 us more."""
    at, plain = (60, 180, 212, 266, 296, 516), (0.03, 0.33, 0.33, 0.306, 0.0, 0.004)
    moved = [np.array(plain) + np.array([0, 0, 0, -each, each, 0]) for each in (0.01, 0.02, 0.05, 0.1)]
    told = {each.kind: each for each in fit.outside(by_round(*(drive(at, share) for share in moved)))}
    one = told["one page type"]
    assert (one.page_type, one.after_us) == (2, pytest.approx(30, abs=1.5))
    assert (one.low, one.high) == (pytest.approx(0.01, abs=0.005), pytest.approx(0.103, abs=0.015))
    assert "as retries of one page type do" in one.why
    jump = told["long jump"]
    assert jump.after_us == pytest.approx(250, abs=3)
    assert jump.high == pytest.approx(0.004, abs=0.0015)


@pytest.mark.usefixtures("hurried")
def test_satellites_that_come_and_go_are_told() -> None:
    """Of each page type reads are 14 us later, in some rounds: no retries, as that is sooner than a sensing. Reads
    10 us before the second page type come and go, too.
    """
    at = (60, 180, 194, 242, 252, 266)
    rounds = [
        drive(at, (0.03, 0.48 * (1 - x), 0.48 * x, y, 0.49 * (1 - x) - y, 0.49 * x))
        for x, y in ((0.02, 0.04), (0.12, 0.01), (0.03, 0.035), (0.1, 0.012))
    ]
    found = by_round(*rounds)
    assert not found.structure.ladder
    told = [each for each in fit.outside(found) if each.kind == "comes and goes"]
    late = told[0]
    assert (late.at_us, late.after_us) == (None, pytest.approx(14, abs=0.5))
    assert (late.low, late.high) == (pytest.approx(0.02, abs=0.01), pytest.approx(0.12, abs=0.02))
    assert "of all reads: 14" in str(late)
    assert str(late).endswith(
        "us later than their peak, less than a retry takes, and more often in some rounds than in others"
    )
    assert any(each.at_us == pytest.approx(242, abs=1.5) for each in told), told


# ---- The same log told otherwise ----


@pytest.mark.usefixtures("hurried")
def test_times_twice_as_long_give_a_fit_twice_as_long() -> None:
    once = counted(DRIVE, 100_000, 4)
    found, twice = fitted(once), fitted(replace(once, edges_us=2 * once.edges_us))
    assert found.structure.peaks == twice.structure.peaks
    one, two = modes(found), modes(twice)
    assert two.at_us[0] == pytest.approx(2 * one.at_us[0], rel=0.005)
    assert two.step_us[0] == pytest.approx(2 * one.step_us[0], rel=0.01)
    assert two.p_retry[0, 0] == pytest.approx(one.p_retry[0, 0], rel=0.05)
    assert two.share[0] == pytest.approx(one.share[0], abs=0.005)


@pytest.mark.usefixtures("hurried")
def test_halves_of_a_log_and_their_order_give_the_fit_of_the_whole() -> None:
    halves = [counted(DRIVE, 50_000, seed, float(i)) for i, seed in enumerate((5, 6))]
    whole = fitted(replace(halves[0], counts=halves[0].counts + halves[1].counts))
    turned = fitted(replace(halves[1], round=0.0), replace(halves[0], round=1.0))
    both = fitted(*halves)
    assert both.structure == turned.structure == whole.structure
    assert both.shifts == turned.shifts == {}
    assert np.array_equal(both.whole.mode, turned.whole.mode)
    assert unpack(both.structure, both.whole.mode).at_us == pytest.approx(modes(whole).at_us[0], abs=0.5)
    intervals = {each.name: (each.low, each.high) for each in fit.claims(both)}
    missed = [
        each.name
        for each in fit.claims(whole)
        if not intervals[each.name][0] <= each.high or not each.low <= intervals[each.name][1]
    ]
    assert missed == []


def test_hidden_drives_retry_no_sooner_than_a_sensing() -> None:
    """What the fifty drives of the law are drawn from is inside the model."""
    for seed in range(50):
        truth = hidden_drives.draw(seed).truth
        if "retry.step_us" in truth:
            overhead = truth.get("hits.at_us", 10.0)
            assert truth["retry.step_us"] > max(17, (truth["page_types[0].base_us"] - overhead) / 6)
