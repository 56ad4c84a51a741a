"""Does a fit find what made a latency log, say what it cannot, and refuse what is no log? `softsense fit`."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hidden_drives
import softsense
from softsense import ConfigError, FileError, Store, cli, fit
from softsense.fit import growth, sampling
from softsense.fit.check import distance, simulate
from softsense.fit.clock import Queue
from softsense.fit.depth import DIES
from softsense.fit.device import slots
from softsense.fit.histograms import Histogram, in_bins
from softsense.fit.model import Grid, Parameters, Structure, pack, unpack
from softsense.fit.result import picture
from softsense.fit.tables import read_tails
from test_paper_pictures import faults

STRUCTURE = Structure(4, hit=True, ladder=True, slow=True, pauses=True)
PARAMETERS = Parameters(
    at_us=np.array([60.0, 180.0, 212.0, 266.0]),
    sigma_us=np.array([1.5, 3.0, 3.0, 4.0]),
    share=np.array([0.02, 0.33, 0.33, 0.32]),
    tail_us=np.array(2.0),
    step_us=np.array(75.0),
    p_retry=np.array([0.02, 0.2, 0.3]),
    slow_share=np.array(0.05),
    slow_us=np.array(12.0),
    pause_share=np.array(0.001),
    pause_us=np.array(150.0),
)


def sampled(reads: int, seed: int) -> np.ndarray:
    """Latencies of `PARAMETERS`, drawn part by part, us."""
    p, random = PARAMETERS, np.random.default_rng(seed)
    kind = random.choice(4, reads, p=p.share)
    us = p.at_us[kind] + p.sigma_us[kind] * random.standard_normal(reads)
    us += np.where(kind > 0, random.choice(7, reads, p=p.rungs) * p.step_us, 0)
    mean = random.choice([2.0, 12.0, 150.0], reads, p=[0.949, 0.05, 0.001])
    return us + random.exponential(mean)


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> tuple[hidden_drives.Hidden, Path, fit.Fit]:
    """A hidden drive, the log of its reads, and the fit."""
    drawn = hidden_drives.draw(0)
    path = tmp_path_factory.mktemp("fit") / "lat.log"
    hidden_drives.write_fio_log(path, hidden_drives.latencies_ns(drawn.config, 100_000))
    fitted = fit.fit_log(fit.open_log([path]), workers=1)
    assert fitted is not None
    return drawn, path, fitted


# ---- The model of latencies ----


def test_bins_have_the_probabilities_of_the_parts_added_up() -> None:
    """A million draws, chi-square of all bins with five reads or more: five standard deviations are allowed."""
    grid = Grid(np.arange(0, 802, 2.0))
    probabilities = grid.probabilities(STRUCTURE, PARAMETERS)
    counts, _ = np.histogram(sampled(1_000_000, 1), np.append(grid.edges_us, np.inf))
    expected = 1e6 * probabilities
    many = expected > 5
    chi_square = np.sum((counts - expected)[many] ** 2 / expected[many])
    assert abs(chi_square - many.sum()) < 5 * np.sqrt(2 * many.sum())
    assert probabilities.sum() == pytest.approx(1, abs=1e-9)


def test_vectors_hold_all_parameters() -> None:
    back = unpack(STRUCTURE, pack(STRUCTURE, PARAMETERS))
    for name in PARAMETERS.__dataclass_fields__:
        assert getattr(back, name) == pytest.approx(getattr(PARAMETERS, name), rel=1e-9)
    assert len(STRUCTURE.names()) == STRUCTURE.dimensions == len(pack(STRUCTURE, PARAMETERS))


def test_page_types_of_equal_frequency_have_the_peaks_in_their_shares() -> None:
    shares = np.array([0.02, 0.31, 0.05, 0.45, 0.17])
    found = slots(shares, [[1, 2], [3], [4]])
    total = np.zeros(5)
    for slot in found:
        assert sum(share for _, share in slot) == pytest.approx(1)
        for k, share in slot:
            total[k] += share / len(found)
    assert total[1:] == pytest.approx(shares[1:] / shares[1:].sum(), abs=1e-4)
    assert len(found) <= 16


# ---- Recovery ----


@pytest.mark.parametrize(("columns", "inches"), [(1, 3.5), (2, 7.16)])
def test_a_fit_is_drawn_for_a_paper(
    hidden: tuple[hidden_drives.Hidden, Path, fit.Fit], columns: int, inches: float
) -> None:
    figure = picture(hidden[2], "paper", columns)
    assert figure.get_size_inches()[0] == inches
    assert faults(figure) == []
    screen = [axes.get_ylabel() for axes in picture(hidden[2]).axes]
    assert [axes.get_ylabel().replace("\n", " ") for axes in figure.axes] == screen


def test_a_hidden_drive_is_found(hidden: tuple[hidden_drives.Hidden, Path, fit.Fit]) -> None:
    drawn, _, fitted = hidden
    claimed, covered, missed = hidden_drives.judged(fitted, drawn.truth)
    assert claimed >= 15
    assert covered >= 0.85 * claimed, missed
    assert any("only the sum of sensing" in text for text in fit.unknown(fitted))
    (queue,) = fit.to_dict(fitted)["queue_depth"]
    assert (queue["depth"], queue["from"]) == (1, "sum of latencies over the time of the log's clock")
    assert queue["mean"] == pytest.approx(1, abs=0.01)
    assert fit.table(fitted).startswith("Queue depth: 1 on average (")
    names = {claim.name for claim in fit.claims(fitted)}
    assert not any("transfer" in name or "decode" in name or "overhead" in name or "rber" in name for name in names)


def test_the_fitted_config_does_in_the_simulator_what_the_hidden_drive_does(
    hidden: tuple[hidden_drives.Hidden, Path, fit.Fit],
) -> None:
    """Quantiles of reads of the hidden drive, of another seed, beside those of the fitted one: 1 % and half a bin."""
    drawn, _, fitted = hidden
    other = softsense.run(drawn.config, overrides=["workload.requests=100000"], seed=9, log_requests=True)
    assert other.requests is not None
    true = other.requests["response_ns"].to_numpy() / 1e3
    mine = hidden_drives.latencies_ns(fit.config(fitted), 100_000) / 1e3
    for share in (0.01, 0.1, 0.5, 0.9, 0.99):
        assert np.quantile(mine, share) == pytest.approx(np.quantile(true, share), rel=0.01, abs=0.5)


@pytest.mark.parametrize("minor_us", [86.0, 120.0, 400.0])
def test_what_is_simulated_is_what_was_fitted_wherever_minor_peaks_are(
    minor_us: float, hidden: tuple[hidden_drives.Hidden, Path, fit.Fit]
) -> None:
    """7 % of reads in a minor peak between hits and page types: the simulator had them 30 us later."""
    order = np.argsort(at_us := np.array([60.0, minor_us, 200.0, 216.0]))
    minor = replace(PARAMETERS, at_us=at_us[order], share=np.array([0.02, 0.07, 0.46, 0.45])[order])
    drive = replace(hidden[2], structure=STRUCTURE)
    config = softsense.Config.from_toml(fit.config_toml(drive, parameters=minor), "fitted.toml")
    grid = Grid(np.arange(0, 1002, 2.0))
    shares = grid.probabilities(STRUCTURE, minor)
    fitted = Histogram(0, grid.edges_us, shares[:-1], shares[-1])
    off = distance(fitted, in_bins(simulate(config, 200_000), grid.edges_us))
    assert off["share"] < off["by_chance"] + 0.005, off


def test_a_config_that_has_reads_elsewhere_than_the_fit_is_refused() -> None:
    rows = [{"round": 3.0, "distance": {"share": share, "by_chance": 0.006}} for share in (0.01, 0.025)]
    fit.refuse_another(rows)
    rows[0]["distance"]["share"] = 0.08
    with pytest.raises(ConfigError, match=r"7.4 % of the reads of round 3 at other latencies.*expected at most 2.0 %"):
        fit.refuse_another(rows)


def test_the_same_seed_gives_the_same_posterior_and_a_store_goes_on(
    hidden: tuple[hidden_drives.Hidden, Path, fit.Fit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path, fitted = hidden
    log = fit.open_log([path])
    grid = Grid(log.rounds[0].edges_us, fitted.cell_us)
    prior = sampling.Prior.of(fitted.structure, fitted.whole.mode, grid)
    monkeypatch.setattr(sampling, "_STEPS", 20)
    monkeypatch.setattr(sampling, "_BURN_IN", 5)
    draws = [
        sampling.sample(fitted.structure, grid, log.rounds[0], prior, fitted.whole.mode, seed) for seed in (1, 1, 2)
    ]
    assert all(each is not None for each in draws)
    samples = [each.samples for each in draws if each]
    assert np.array_equal(samples[0], samples[1])
    assert not np.array_equal(samples[0], samples[2])
    kept = json.loads(json.dumps(sampling.to_json(draws[0])))  # type: ignore[arg-type]
    assert np.array_equal(sampling.from_json(kept).samples, samples[0])


def test_a_fit_that_was_stopped_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = np.arange(0, 602, 4.0)
    rounds = []
    for i in range(3):
        counts, _ = np.histogram(sampled(20_000, i), edges)
        rounds.append(fit.Histogram(float(i), edges, counts.astype(float)))
    log = fit.Log("drawn", "histogram", tuple(rounds))
    monkeypatch.setattr(sampling, "_STEPS", 20)
    monkeypatch.setattr(sampling, "_BURN_IN", 5)
    begun: list[float] = []
    sample = sampling.sample

    def counting(*arguments: Any) -> Any:
        begun.append(arguments[2].round)
        # What Ctrl-C leaves: the second unit ends with nothing.
        return None if len(begun) == 2 else sample(*arguments)

    monkeypatch.setattr(sampling, "sample", counting)
    with Store(tmp_path / "fit.store") as store:
        assert fit.fit_log(log, workers=1, store=store) is None
        before = len(begun)
        again = fit.fit_log(log, workers=2, store=store)
        assert again is not None
        assert len(begun) - before == 1
        monkeypatch.setattr(sampling, "sample", sample)
    whole = fit.fit_log(log, workers=1)
    assert whole is not None
    for one, other in zip(again.rounds, whole.rounds, strict=True):
        assert np.array_equal(one.samples, other.samples)


@pytest.mark.law
def test_intervals_have_the_truth_of_nine_in_ten_parameters_of_fifty_drives(tmp_path: Path) -> None:
    """Logs of 100,000 reads each. Were intervals right, 95 % would have it. A peak that is not there counts, too."""
    claimed = covered = 0
    for seed in range(50):
        drawn = hidden_drives.draw(seed)
        path = hidden_drives.write_fio_log(tmp_path / "lat.log", hidden_drives.latencies_ns(drawn.config, 100_000))
        fitted = fit.fit_log(fit.open_log([path]))
        assert fitted is not None
        of_drive, right, missed = hidden_drives.judged(fitted, drawn.truth)
        claimed, covered = claimed + of_drive, covered + right
        print(f"drive {seed}: {right} of {of_drive}{''.join('; ' + each for each in missed)}")
    print(f"all: {covered} of {claimed}, {covered / claimed:.1%}")
    assert covered >= 0.9 * claimed


# ---- Growth ----


def test_growth_is_found_and_predicted_beyond_what_was_seen() -> None:
    random = np.random.default_rng(3)
    rounds = np.arange(1500.0)
    law = 1e-3 * (1 + (rounds / 800) ** 1.5)
    grown = growth.fit(400.0, rounds, law * np.exp(0.2 * random.standard_t(4, len(rounds))), 1)
    median, low, high = grown.interval(2000.0)[:, 0]
    truth = 1e-3 * (1 + (2000 / 800) ** 1.5)
    assert low < truth < high
    assert median == pytest.approx(truth, rel=0.15)


def test_growth_from_neighbour_to_neighbour_has_the_density_of_all_points_at_once() -> None:
    """Law, departure and scatter together are one normal distribution of all points, whose density is known."""
    random = np.random.default_rng(5)
    rounds = np.sort(random.choice(500, 40, replace=False)).astype(float)
    points = growth.Points(rounds, random.standard_normal(40) - 7, random.uniform(0.2, 1, 40))
    samples = np.array([[-7.0, 6.0, 0.2, -1.0, 3.0, -2.0], [-6.5, 5.0, -0.3, 0.0, 5.0, -0.5]])
    found = growth.log_likelihood(samples, points)
    asked = np.array([3.0, 250.0, 250.5, 700.0])
    smoothed = growth.Growth(400.0, samples, points).at(asked)
    for i, (floor, scale, exponent, wander, memory, scatter) in enumerate(samples):

        def law(r: np.ndarray, floor: float = floor, scale: float = scale, exponent: float = exponent) -> np.ndarray:
            return floor + np.log1p(((r + 1) / np.exp(scale)) ** np.exp(exponent))

        def likeness(a: np.ndarray, b: np.ndarray, wander: float = wander, memory: float = memory) -> np.ndarray:
            return np.exp(2 * wander - np.abs(a[:, None] - b[None, :]) / np.exp(memory))

        covariance = likeness(rounds, rounds) + np.diag(np.exp(2 * scatter) * points.variances)
        off = points.ln_shares - law(rounds)
        solved = np.linalg.solve(covariance, off)
        assert found[i] == pytest.approx(-0.5 * (off @ solved + np.linalg.slogdet(covariance)[1]), rel=1e-9)
        expected = law(asked) + likeness(asked, rounds) @ solved
        assert np.log(smoothed[i]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.law
def test_growth_that_wanders_is_followed_and_its_intervals_have_the_rounds_held_out() -> None:
    """Of the rounds in gaps and after the end 95 % should be in their intervals: as their departures are alike, of six
    drives together 90 to 99 % may be. What a law without departure says of the gaps is further off.
    """
    inside, nearer = [], []
    for seed in range(6):
        random = np.random.default_rng([9, seed])
        rounds = np.arange(1600.0)
        departure = np.zeros(1600)
        for r in range(1, 1600):
            departure[r] = departure[r - 1] * np.exp(-1 / 120) + 0.3 * np.sqrt(1 - np.exp(-2 / 120)) * (
                random.standard_normal()
            )
        level = np.log(1e-3 * (1 + (rounds / 900) ** 1.5)) + departure
        shares = np.exp(level + 0.15 * random.standard_t(4, 1600))
        held = ((rounds > 500) & (rounds < 650)) | (rounds > 1400)
        grown = growth.fit(400.0, rounds[~held], shares[~held], seed)
        _, low, high = grown.interval(rounds[held])
        inside.append(np.mean((shares[held] >= low) & (shares[held] <= high)))
        # At the edges of the gap, where the departure is known.
        edge = (rounds > 500) & (rounds < 520)
        law = np.exp(np.median(growth._law(grown.samples, rounds[edge]), axis=0))
        off = np.abs(np.log(grown.interval(rounds[edge])[0]) - level[edge])
        nearer.append(np.mean(off) / np.mean(np.abs(np.log(law) - level[edge])))
    assert 0.9 <= np.mean(inside) <= 0.99, inside
    assert np.mean(nearer) < 0.8, nearer


@pytest.mark.parametrize("share", [0.0011, 0.011, 0.059, 0.248, 0.6])
def test_a_round_follows_its_law_where_slow_reads_are_peaks(
    hidden: tuple[hidden_drives.Hidden, Path, fit.Fit], share: float
) -> None:
    """A drive whose slow reads are a peak of their own, without retries and pauses, as some worn drives are."""
    _, _, fitted = hidden
    end = float(fitted.log.rounds[0].edges_us[-1])
    none, no_retry = np.array(0.0), np.zeros(3)
    peaks = np.array([100.0, 130.0, 0.8 * end]), np.array([2.0, 2.0, 2.0]), np.array([0.5, 0.44, 0.06])
    p = fit.Parameters(*peaks, np.array(1.0), none, no_retry, none, none, none, none)
    law = SimpleNamespace(bound_us=0.5 * end, at=lambda rounds: np.full((9, len(rounds)), share))
    grown = replace(fitted, structure=fit.Structure(3, False, False, False, False), growth=law)  # type: ignore[arg-type]
    found = grown._slowed(p, share)
    assert found.share.sum() == pytest.approx(1)
    assert found.share[2] == pytest.approx(share, rel=0.02)
    assert found.share[0] / found.share[1] == pytest.approx(0.5 / 0.44)


def deep_log(fitted: fit.Fit, depth: int, *overrides: str, queue: Queue | None = None) -> fit.Deep:
    """Latencies of the fitted drive with so many reads outstanding, on other hardware."""
    given = [*overrides, f"host.issue.closed_loop.queue_depth={depth}", "workload.requests=20000"]
    requests = softsense.run(fit.config(fitted), overrides=given, seed=5, log_requests=True).requests
    assert requests is not None
    edges = np.arange(0, 8000, 4.0)
    counts, _ = np.histogram(requests["response_ns"].to_numpy() / 1e3, edges)
    return fit.Deep(fit.Histogram(0.0, edges, counts.astype(float)), depth, queue)


FOUR_DIES = ("geometry.channels=4", "geometry.chips_per_channel=1")


def test_depth_tells_how_many_dies_serve_reads(
    hidden: tuple[hidden_drives.Hidden, Path, fit.Fit], tmp_path: Path
) -> None:
    _, _, fitted = hidden
    queue = Queue(16, 15.8, "the clock")
    logs = [deep_log(fitted, 16, *FOUR_DIES, queue=queue), deep_log(fitted, 4, *FOUR_DIES)]
    found = fit.fit_depth(fitted, logs)
    assert found.to_dict()["queue_depth"] == [queue.to_dict(), None]
    told = fit.table(fitted, deep=found)
    said = "Queue depth of the deep log: 15.8 on average (the clock)\nDies that serve reads at once, by 16 and 4 "
    assert said in told
    assert "By each log alone: 4 by 16 and 4 by 4." in told
    assert found.best == 4
    assert found.interval() == (4, 4)
    assert found.misfit < 2
    for probabilities in (found.probabilities, *found.alone):
        assert sum(probabilities) == pytest.approx(1)
        assert len(probabilities) == len(DIES)
    # The config is of the drive that was found, and queues as it does; that without the logs, of eight dies, does not.
    outstanding = ["host.issue.closed_loop.queue_depth=16"]
    fit.write(fitted, tmp_path, deep=found, draw=False)
    config = softsense.load_config(tmp_path / "fitted.toml", outstanding)
    assert config.fields.geometry.channels == 4
    eight = fit.config(fitted).with_overrides(outstanding)
    assert np.median(fit.check.simulate(eight, 20_000, 9)) < 0.75 * logs[0].latencies.quantile_us(np.array([0.5]))
    simulated = np.quantile(fit.check.simulate(config, 20_000, 9), (0.5, 0.9))
    assert simulated == pytest.approx(logs[0].latencies.quantile_us(np.array([0.5, 0.9])), rel=0.08)


def test_a_drive_that_queues_elsewhere_says_that_no_number_of_dies_explains_it(
    hidden: tuple[hidden_drives.Hidden, Path, fit.Fit],
) -> None:
    """Behind a slow link, reads wait for it and not for dies: depths tell other numbers, and none of them for sure."""
    _, _, fitted = hidden
    link = "host.link={ speed = { bandwidth_gb_per_s = 0.25 } }"
    logs = [deep_log(fitted, depth, "geometry.channels=32", "geometry.chips_per_channel=1", link) for depth in (4, 32)]
    found = fit.fit_depth(fitted, logs)
    assert found.misfit > 2
    assert "No number of dies explains the logs" in fit.table(fitted, deep=found)


def test_more_dies_than_were_tried_are_so_many_or_more(hidden: tuple[hidden_drives.Hidden, Path, fit.Fit]) -> None:
    _, _, fitted = hidden
    logs = (deep_log(fitted, 4, *FOUR_DIES),)
    sure = tuple(float(dies == DIES[-1]) for dies in DIES)
    found = fit.Depth(logs, sure, (sure,), 1.0)
    assert found.told() == ["Dies that serve reads at once, by 4 outstanding: 128 or more (95 %: 128 to 128 or more)"]


@pytest.mark.parametrize(
    ("text", "gb_per_s"), [("sata-1.5", 0.15), ("sata-3", 0.3), ("sata-6", 0.6), ("540MB/s", 0.54), ("3.5 GB/s", 3.5)]
)
def test_links_are_read(text: str, gb_per_s: float) -> None:
    assert fit.Link.parse(text).gb_per_s == pytest.approx(gb_per_s)


@pytest.mark.parametrize("text", ["sata-4", "fast", "0GB/s", "540", "-1GB/s", "1e3GB/s", ""])
def test_other_links_are_refused(text: str) -> None:
    with pytest.raises(softsense.ConfigError, match=r"^--link: found"):
        fit.Link.parse(text)


def test_a_link_takes_its_time_of_a_lone_read_and_bounds_many(
    hidden: tuple[hidden_drives.Hidden, Path, fit.Fit],
) -> None:
    """The same latencies one at a time; at depth 64, no more bytes than cross it."""
    _, _, fitted = hidden
    linked = replace(fitted, link=fit.Link.parse("1GB/s"))
    checked = fit.compare(linked, fitted.rounds[-1].round, 200_000)
    assert checked["distance"]["share"] < checked["distance"]["by_chance"] + 0.005
    many = ["host.issue.closed_loop.queue_depth=64", "workload.requests=20000"]
    served = [
        softsense.run(softsense.Config.from_toml(fit.config_toml(each, dies=128), "x", many)).summary["throughput"]
        for each in (linked, fitted)
    ]
    assert served[0]["read_mb_per_s"] == pytest.approx(1000, rel=0.02)
    assert served[1]["read_mb_per_s"] > 1500
    with pytest.raises(softsense.ConfigError, match="expected a faster link"):
        fit.config_toml(replace(fitted, link=fit.Link.parse("1MB/s")))


# ---- Logs ----


def test_every_format_says_the_same_of_the_same_reads(tmp_path: Path) -> None:
    us = np.maximum(sampled(5000, 4), 10)
    ns = np.round(us * 1000).astype(int)
    plain = hidden_drives.write_fio_log(tmp_path / "lat.log", ns)
    packed = tmp_path / "lat.log.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    trace = tmp_path / "trace.txt"
    lines, now = [], 0.0
    for i, each in enumerate(ns):
        for action, at in (("Q", now), ("C", now + each / 1e9)):
            lines.append(f"  8,0    3 {i:8d} {at:14.9f}   697  {action}   R {i * 64} + 32 [fio]")
        now += each / 1e9 + 1e-6
    trace.write_text("\n".join(lines))
    counts, edges = np.histogram(us, np.arange(0, 1200, 2.0))
    table = tmp_path / "table.csv"
    table.write_text(",0\n" + "".join(f"{low:g},{count}\n" for low, count in zip(edges, counts, strict=False)))
    bins: dict[str, int] = {}
    for each in ns:
        width = max(1, 1 << max(0, int(each).bit_length() - 7))
        name = str(int(each) // width * width + width // 2)
        bins[name] = bins.get(name, 0) + 1
    document = tmp_path / "fio.json"
    job = {"job options": {"bs": "16k", "iodepth": "1"}, "read": {"clat_ns": {"bins": bins}}}
    document.write_text(json.dumps({"fio version": "fio-3.36", "jobs": [job]}))
    expected = np.quantile(us, [0.1, 0.5, 0.9])
    for path, name, size in (
        (plain, "fio", 16384),
        (packed, "fio", 16384),
        (trace, "blkparse", 16384),
        (table, "histogram", 0),
        (document, "fio-json", 16384),
    ):
        log = fit.open_log([path])
        assert (log.format, log.read_bytes) == (name, size)
        assert log.rounds[0].reads == pytest.approx(5000)
        assert log.rounds[0].quantile_us([0.1, 0.5, 0.9]) == pytest.approx(expected, abs=2.5)
        assert log.depth == (0 if name == "histogram" else 1)


def rows(count: int = 2000, latency: float = 200_000, kind: int = 0, size: int = 4096, begin: int = 0) -> str:
    """Lines of fio, one after another."""
    each = int(latency)
    return "".join(f"{begin + i * each // 10**6}, {each + i % 50}, {kind}, {size}, 0\n" for i in range(count))


def histogram(rounds: str = "0,400", values: str = "50,50", bins: int = 20, width: int = 2) -> str:
    """A histogram, all in two bins."""
    middle = bins // 2
    return f",{rounds}\n" + "".join(
        f"{100 + i * width},{values if i in (middle, middle + 1) else '0,0'}\n" for i in range(bins)
    )


BAD: dict[str, tuple[str, list[str]]] = {
    "empty": ("", ["empty file"]),
    "histograms of fio": (
        f"1000, 0, 4096, {', '.join(['0'] * 1856)}\n",
        ["bad.log:1", "1859 numbers", "write_hist_log", "--output-format=json+"],
    ),
    "prose": ("once upon a time\n", ["bad.log:1", "expected a latency log"]),
    "unit": (rows(latency=200), ["median latency of 0.2", "--unit"]),
    "milliseconds": (rows(latency=2e11), ["median latency", "--unit"]),
    "writes": (rows(kind=1), ["2,000 writes", "expected a log with reads"]),
    "sizes": (rows() + rows(size=8192, begin=400), ["4,096 (2,000 reads)", "8,192", "--read-bytes"]),
    "letters": (rows() + "5, eight, 0, 4096, 0\n", ["bad.log:2001", "eight", "latency"]),
    "direction": (rows() + "5, 200000, 7, 4096, 0\n", ["bad.log:2001", "direction"]),
    "short": (rows(20), ["20 reads", "1,000"]),
    "torn": (rows() + "5, 200000\n", ["bad.log:2001", "block size"]),
    "sum": (histogram(values="30,30"), ["sum of 60", "per cent"]),
    "negative": (histogram(values="-50,50"), ["bad.log:12", "-50"]),
    "cells": (",0,400\n100,1\n", ["bad.log:2", "found 2 cells", "expected 3"]),
    "widths": (histogram() + "500,0,0\n", ["not of one width"]),
    "twice": (histogram(rounds="0,0"), ["bad.log:1", "round twice"]),
    "no rounds": (histogram(values="0,0"), ["only empty rounds"]),
    "json": ("{broken", ["bad.log:1", "broken JSON"]),
    "json+": ('{"jobs": [{"read": {"clat_ns": {"mean": 3}}}]}', ["no bins of reads", "json+"]),
    "json writes": ('{"jobs": [{"write": {"total_ios": 7}}]}', ["7 writes and no read"]),
    "unpaired": ("8,0 1 1 0.0 7 Q R 0 + 8 [fio]\n", ["no pair of Q and C"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_log_is_one_error(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text, says = BAD[name]
    path = tmp_path / "bad.log"
    path.write_text(text)
    out = tmp_path / "out"
    assert cli.main(["fit", str(path), "--out", str(out)]) == 2
    printed = capfd.readouterr()
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("error: ")
    assert all(word in printed.err for word in (str(path), *says)), printed.err
    assert not out.exists()


def test_rounds_of_a_worn_drive_have_reads_beyond_the_last_bin(tmp_path: Path) -> None:
    """One column of three with 80.8 % of its reads in bins was a refusal of the file that blamed another column."""
    shares = [(10 + 0.01 * i, 8.08 + 0.01 * i) for i in (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)] + [(0, 0), (0, 0)]
    rows_of = [f"{100 * i},{young},{young},{worn:.2f}" for i, (young, worn) in enumerate(shares)]
    path = tmp_path / "worn.csv"
    path.write_text("\n".join([",0,100,500", *rows_of]) + "\n")
    log = fit.open_log([path])
    assert [each.beyond / each.reads for each in log.rounds] == pytest.approx([0, 0, 0.192])
    assert any("19.2" in note for note in log.notes), log.notes


def test_coarse_shares_have_a_number_of_reads(tmp_path: Path) -> None:
    """Bins of which none has fewer than 50 times the least difference of shares made NaN reads."""
    shares = (1.25, 2.10, 11.31, 14.02, 19.87, 19.88, 14.03, 11.32, 4.12, 2.10)
    path = tmp_path / "coarse.csv"
    path.write_text("\n".join([",0", *(f"{50 * i},{share}" for i, share in enumerate(shares))]) + "\n")
    (only,) = fit.open_log([path]).rounds
    assert only.reads == pytest.approx(10_000, rel=0.01)
    assert 200 < only.quantile_us(0.5)[0] < 300


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.log"
    mixed.write_text(rows() + rows(300, kind=1, begin=400))
    assert any("300 writes" in note for note in fit.open_log([mixed]).notes)
    sizes = tmp_path / "sizes.log"
    sizes.write_text(rows() + rows(500, size=8192, begin=400))
    assert any("500 reads of other sizes" in note for note in fit.open_log([sizes], read_bytes=4096).notes)
    edges = [100 + 2 * i for i in range(200)]
    shares = {150: "4950,0,10,4950", 151: "4950,0,10,4950", 2: "0,0,9990,0"}
    table = tmp_path / "table.csv"
    table.write_text(",0,1,2,3\n" + "".join(f"{e},{shares.get(i, '0,0,0,0')}\n" for i, e in enumerate(edges)))
    log = fit.open_log([table])
    assert [each.round for each in log.rounds] == [0, 3]
    for words in ("round 1 is left out: it has 0 reads", "round 2 is left out: its median"):
        assert any(words in note for note in log.notes)
    both = fit.open_log([mixed, mixed])
    assert [each.round for each in both.rounds] == [0, 1]
    assert np.array_equal(both.rounds[0].edges_us, both.rounds[1].edges_us)
    odd = tmp_path / "other.log"
    odd.write_text(rows(size=8192))
    with pytest.raises(FileError, match="another size"):
        fit.open_log([mixed, odd])


def test_tails_near_held_out_rounds_are_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "tails.csv"
    path.write_text("overflow,,\n,over 400us,over 1ms\n" + "".join(f"{i},0.1,0.01\n" for i in range(1000)) + "1000,,\n")
    empty = np.array([0.0])
    log = fit.Log("t", "histogram", tuple(fit.Histogram(r, empty, empty) for r in (0.0, 400.0, 800.0)))
    found = read_tails(path, log, (400.0,))
    assert set(found) == {400.0, 1000.0}
    kept, shares = found[400.0]
    assert shares == pytest.approx(0.001)
    # At 200 and 600 both rounds are as near, and the first one is taken.
    assert set(kept) == {*range(201), *range(601, 1000)}


def test_real_drives_are_read(shared: Path) -> None:
    """Their peaks are those of the folder's README; the column that was binned otherwise is left out, and said."""
    log = fit.open_log([shared / "drives" / "adata_su630_qlc_latency.csv.zst"])
    assert [each.round for each in log.rounds] == [400, 800, 1200, 1600, 2000]
    assert any("round 0 is left out" in note for note in log.notes)
    last = log.rounds[-1]
    assert last.edges_us[np.argmax(last.counts)] == 234
    assert any("are in no bin" in note for note in log.notes)


def test_a_device_without_end_is_no_log(capfd: pytest.CaptureFixture[str]) -> None:
    """Reading all of it first would never end."""
    assert cli.main(["fit", "/dev/zero"]) == 2
    assert capfd.readouterr().err == "error: /dev/zero: found a binary file, expected the text of a latency log\n"
