"""Is a log of means, or of several reads outstanding, taken for single reads? `fit.open_log` and the clock of a log.

One drive, whose page types take 68, 88 and 118 us and which retries 1 % of its reads by 200 us, measured in many ways.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from softsense import FileError, cli, fit

READS = 8_000


def drive(reads: int = READS, seed: int = 4) -> np.ndarray:
    """Latencies, ns."""
    random = np.random.default_rng(seed)
    us = random.choice([60, 80, 110], reads) + random.normal(8, 1, reads) + 200 * (random.random(reads) < 0.01)
    return np.round(us * 1000).astype(np.int64)


def outstanding(depth: int, reads: int = READS, seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Times of completion and latencies, ns, in order of time: each of so many goes on when its last is complete."""
    each = [drive(reads // depth, seed * 100 + i) for i in range(depth)]
    done, ns = np.concatenate([np.cumsum(one) for one in each]), np.concatenate(each)
    order = np.argsort(done, kind="stable")
    return done[order], ns[order]


def lines(done: np.ndarray, ns: np.ndarray, size: int = 16384, tick: int = 10**6) -> str:
    """As fio writes them."""
    return "".join(f"{time}, {each}, 0, {size}, 0\n" for time, each in zip(done // tick, ns, strict=True))


def windows(ms: int, of: Callable[[np.ndarray], float], size: int = 0) -> str:
    """As fio does with `log_avg_msec`: a line as a read completes after the end of a window, for all since the last."""
    ns = drive(1200 * ms * 11)
    done = np.cumsum(ns) // 10**6
    begins = np.flatnonzero(np.diff(done // ms)) + 1
    values = [round(float(of(part))) for part in np.split(ns, begins + 1)[:-1]]
    return "".join(f"{done[at]}, {value}, 0, {size}, 0\n" for at, value in zip(begins, values, strict=True))


def alone(gap_ns: int = 0, each: int = 1, tick: int = 10**6, begin_ns: int = 0) -> str:
    """One read at a time, with a gap after each so many."""
    ns = drive()
    return lines(begin_ns + np.cumsum(ns) + gap_ns * (np.arange(READS) // each), ns, tick=tick)


def thinned(by: int) -> str:
    ns = drive(1200 * by)
    return lines(np.cumsum(ns)[::by], ns[::by])


def appended(jobs: int) -> str:
    return "".join(lines(np.cumsum(ns), ns) for ns in (drive(READS // 2, seed) for seed in range(jobs)))


def kept(name: str) -> str:
    """Windows whose lines have a block size, as another program may write them."""
    ms, of = {"10": (10, np.mean), "100": (100, np.mean), "1": (1, np.mean), "max": (10, np.max)}[name]
    return windows(ms, of, 16384)


def idle(share: str) -> tuple[int, str]:
    return 1, f"{share} of the time no read was outstanding"


# What is written; options; what is found: a depth, perhaps with a note, or the words of an error.
TABLE: dict[str, tuple[Callable[[], str], dict[str, object], tuple[int, str] | list[str]]] = {
    "one at a time": (alone, {}, (1, "")),
    "one at a time, as claimed": (alone, {"depth": 1}, (1, "")),
    "one at a time, 4 claimed": (alone, {"depth": 4}, ["found a depth of 1 ", "expected 4", "--clock none"]),
    "since 1970": (lambda: alone(begin_ns=1_700_000_000 * 10**9), {}, (1, "")),
    "5 us between reads": (lambda: alone(gap_ns=5_000), {}, (1, "")),
    "mean of 10 ms": (lambda: windows(10, np.mean), {}, [":1: found a block size of 0", "log_avg_msec"]),
    "mean of 100 ms": (lambda: windows(100, np.mean), {}, [":1: found a block size of 0", "log_avg_msec"]),
    "maximum of 10 ms": (lambda: windows(10, np.max), {}, [":1: found a block size of 0", "maximum"]),
    "mean of 1 ms, with size": (lambda: kept("1"), {}, ["a line every 1 ms", "means", "log_avg_msec"]),
    "mean of 10 ms, with size": (lambda: kept("10"), {}, ["a line every 10 ms", "means", "log_avg_msec"]),
    "mean of 100 ms, with size": (lambda: kept("100"), {}, ["a line every 100 ms", "means", "log_avg_msec"]),
    "maximum of 10 ms, with size": (lambda: kept("max"), {}, ["a line every 10 ms", "maxima", "log_avg_msec"]),
    "mean and maximum": (
        lambda: "".join(f"{10 * i}, 92000, 310000, 0, 0, 0\n" for i in range(2000)),
        {},
        [":1: ", "log_window_value"],
    ),
    "2 outstanding": (lambda: lines(*outstanding(2)), {}, ["found a depth of 2 ", "expected one", "--depth 2"]),
    "4 outstanding": (lambda: lines(*outstanding(4)), {}, ["found a depth of 4 ", "expected one", "--deep-log"]),
    "32 outstanding": (lambda: lines(*outstanding(32)), {}, ["found a depth of 31 ", "expected one", "--depth 31"]),
    "32 outstanding, as claimed": (lambda: lines(*outstanding(32)), {"depth": 32}, (32, "")),
    "32 outstanding, 16 claimed": (
        lambda: lines(*outstanding(32)),
        {"depth": 16},
        ["found a depth of 31 ", "expected 16"],
    ),
    "32 outstanding, a deep log": (lambda: lines(*outstanding(32)), {"deep": True}, (31, "")),
    "first one, then 4": (
        lambda: alone() + lines(*(a + b for a, b in zip(outstanding(4), (10**9, 0), strict=True))),
        {},
        ["found a depth of 4 ", "expected one"],
    ),
    "4 outstanding, gaps of 10 s": (
        lambda: lines(outstanding(4)[0] + 10**10 * (np.arange(READS) // 2000), outstanding(4)[1]),
        {},
        ["found a depth of 4 ", "expected one"],
    ),
    "2 jobs, one after another in the file": (lambda: appended(2), {}, [":4001: found a time of 0", "2 jobs"]),
    "4 jobs, one after another in the file": (lambda: appended(4), {}, [":4001: found a time of 0", "4 jobs"]),
    "4 jobs, 4 claimed": (lambda: appended(4), {"depth": 4}, (4, "")),
    "4 runs, each alone": (lambda: appended(4), {"depth": 1}, (1, "")),
    "4 jobs, 16 claimed": (lambda: appended(4), {"depth": 16}, ["found a depth of 4 ", "expected 16"]),
    "2 jobs by time": (lambda: lines(*outstanding(2, seed=9)), {}, ["found a depth of 2 ", "expected one"]),
    "gaps of 10 s": (lambda: alone(gap_ns=10**10, each=2000), {}, idle("97.6%")),
    "1 ms between reads": (lambda: alone(gap_ns=10**6), {}, idle("91.5%")),
    "10 ms between reads": (lambda: alone(gap_ns=10**7), {}, idle("99.1%")),
    "a read each 10 ms by a timer": (
        lambda: lines(10**7 * np.arange(READS) + drive(), drive()),
        {},
        ["a line every 10 ms", "--clock none if each line is one read"],
    ),
    "a read each 10 ms, said": (lambda: lines(10**7 * np.arange(READS) + drive(), drive()), {"clock": "none"}, (0, "")),
    "every tenth read": (lambda: thinned(10), {}, idle("90.0%")),
    "every hundredth read": (lambda: thinned(100), {}, idle("99.0%")),
    "every thousandth read": (lambda: thinned(1000), {}, idle("99.9%")),
    "clock in us": (lambda: alone(tick=1000), {}, ["these fit times in us", "--clock us"]),
    "clock in ns": (lambda: alone(tick=1), {}, ["these fit times in ns", "--clock ns"]),
    "clock in us, said": (lambda: alone(tick=1000), {"clock": "us"}, (1, "")),
    "clock in ns, said": (lambda: alone(tick=1), {"clock": "ns"}, (1, "")),
    "clock in us, 8 outstanding": (lambda: lines(*outstanding(8), tick=1000), {}, idle("99.2%")),
    "clock in us, 8 outstanding, said": (
        lambda: lines(*outstanding(8), tick=1000),
        {"clock": "us"},
        ["found a depth of 8 ", "expected one"],
    ),
    "clock in s": (lambda: alone(tick=10**9), {}, ["found a depth of 745 ", "--clock if times"]),
    "no clock": (lambda: lines(np.zeros(READS, int), drive()), {}, ["found a depth of 745 ", "--clock if times"]),
    "no clock, said": (lambda: lines(np.zeros(READS, int), drive()), {"clock": "none"}, (0, "")),
    "latencies of ns taken for us": (
        lambda: lines(np.cumsum(drive() // 3), drive() // 3),
        {"unit": "us"},
        ["found a depth of 1,002 ", "--unit if latencies"],
    ),
    "block size 0, whatever is said": (
        lambda: lines(np.cumsum(drive()), drive(), size=0),
        {"clock": "none", "depth": 1},
        ["found a block size of 0"],
    ),
    "writes between": (
        lambda: "".join(
            line.replace(", 0, 16384", ", 1, 16384") if i % 3 else line
            for i, line in enumerate(alone().splitlines(True))
        ),
        {},
        (1, "5,333 writes"),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_no_log_is_taken_for_another(name: str, tmp_path: Path) -> None:
    text, options, expected = TABLE[name]
    path = tmp_path / "lat.log"
    path.write_text(text())
    if isinstance(expected, list):
        with pytest.raises(FileError) as raised:
            fit.open_log([path], **options)  # type: ignore[arg-type]
        assert all(word in str(raised.value) for word in (str(path), *expected)), raised.value
        return
    depth, note = expected
    log = fit.open_log([path], **options)  # type: ignore[arg-type]
    assert log.depth == depth, log
    assert len(log.notes) == bool(note), log.notes
    assert all(note in each for each in log.notes)
    queue = log.queues[0]
    assert (queue.mean is None) == (options.get("clock") == "none")
    if depth and not note:
        assert queue.mean == pytest.approx(1 if options.get("depth") == 1 else depth, rel=0.06)


def test_jobs_of_json_are_counted_by_what_they_took(tmp_path: Path) -> None:
    """10,000 reads of 100 us in a second are one at a time, whatever `iodepth` says of an engine that waits."""
    path = tmp_path / "fio.json"

    def opened(iodepth: int, reads: int = 10_000, jobs: int = 1, **options: object) -> fit.Log:
        read = {"total_ios": reads, "runtime": 1000, "lat_ns": {"mean": 1e5}, "clat_ns": {"bins": {"99000": reads}}}
        job = {"groupid": 0, "job options": {"bs": "4k", "iodepth": str(iodepth)}, "read": read}
        path.write_text(json.dumps({"jobs": [job] * jobs}))
        return fit.open_log([path], **options)  # type: ignore[arg-type]

    assert (opened(1).depth, opened(1).queues[0].mean) == (1, pytest.approx(1))
    assert opened(16, 155_000, deep=True).depth == 16
    assert opened(64, depth=1).depth == 1
    assert opened(64, clock="none").depth == 64
    assert "70.0% of the time no read was outstanding" in opened(1, 3_000).notes[0]
    for told, says in (
        (lambda: opened(64), ["found a depth of 1 ", "expected 64, as iodepth", "--depth"]),
        (lambda: opened(1, jobs=4), ["found a depth of 4 ", "expected 1, as iodepth"]),
        (lambda: opened(16, 155_000, depth=4), ["found a depth of 15.5 ", "expected 4, as --depth"]),
    ):
        with pytest.raises(FileError) as raised:
            told()
        assert all(word in str(raised.value) for word in (str(path), *says)), raised.value


def test_events_say_how_many_are_outstanding(tmp_path: Path) -> None:
    done, ns = outstanding(2, 4000)
    events = sorted(
        (at, f"{at / 1e9:.9f} 7 {kind} R {8 * i} + 8")
        for i, (end, took) in enumerate(zip(done, ns, strict=True))
        for at, kind in ((end - took, "Q"), (end, "C"))
    )
    path = tmp_path / "trace.txt"
    path.write_text("".join(f"8,0 1 1 {text} [fio]\n" for _, text in events))
    log = fit.open_log([path], deep=True)
    assert log.depth == 2
    assert log.queues[0].mean == pytest.approx(2, rel=0.01)
    with pytest.raises(FileError, match=r"found a depth of 2 .events Q and C.*expected 16"):
        fit.open_log([path], deep=True, depth=16)


def test_a_histogram_does_not_say_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(",0\n" + "".join(f"{60 + 2 * i},{100 + i}\n" for i in range(20)))
    assert str(fit.open_log([path]).queues[0]) == "not known from this file"
    assert str(fit.open_log([path], depth=4).queues[0]) == "4, as --depth says, not known from this file"


def test_logs_named_as_jobs_of_one_run_are_said_to_be(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a_lat.1.log", "a_lat.2.log", "b_lat.1.log")]
    for path in paths:
        path.write_text(alone())
    (note,) = fit.open_log(paths).notes
    assert note.startswith("2 logs have names of jobs of one run, a_lat:")
    assert not fit.open_log(paths[1:]).notes


def test_the_depth_that_is_said_beside_a_deep_log_is_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, deep = tmp_path / "lat.log", tmp_path / "deep.log"
    path.write_text(alone())
    deep.write_text(lines(*outstanding(4)))
    monkeypatch.setattr(fit, "fit_log", lambda *_, **__: None)
    command = ["fit", str(path), "--deep-log", str(deep), "--out", str(tmp_path / "out"), "--no-progress"]
    assert cli.main(command) == cli.main([*command, "--depth", "4"]) == 130
    assert cli.main([*command, "--depth", "16"]) == 2
    assert f"error: {deep}: found a depth of 4 " in capfd.readouterr().err
    assert cli.main(["fit", str(deep), "--deep-log", str(path), "--depth", "4"]) == 2
    assert f"error: {deep}: found a depth of 4 " in capfd.readouterr().err


def test_idle_time_is_said_before_the_fit(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lat.log"
    path.write_text(thinned(10))
    # As if it was stopped at once.
    monkeypatch.setattr(fit, "fit_log", lambda *_, **__: None)
    assert cli.main(["fit", str(path), "--out", str(tmp_path / "out"), "--no-progress"]) == 130
    assert capfd.readouterr().err.startswith(
        "note: 90.0% of the time no read was outstanding: gaps between reads, or reads"
    )
