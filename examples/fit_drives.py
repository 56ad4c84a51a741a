"""Fits drives on some rounds of their logs, predicts the others, and simulates the fitted drives:
docs/fitted-drives.md.

    python examples/fit_drives.py FOLDER [OUT]

FOLDER has a histogram `NAME_latency.csv.zst` for each drive, and perhaps `NAME_tails.csv.zst`.
"""

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softsense import Store, fit


def fitted(latency: Path, out: Path) -> None:
    """Fit one drive, and print its rows of the page."""
    name = latency.name.removesuffix("_latency.csv.zst")
    log = fit.open_log([latency])
    # Decided before any of them was fitted: every third round, counted from the last.
    held = fit.held_out(log, "third")
    tails = latency.with_name(f"{name}_tails.csv.zst")
    slow = fit.read_tails(tails, log, held) if tails.exists() else None
    out.mkdir(parents=True, exist_ok=True)
    with Store(out / f"{name}.store") as store:
        found = fit.fit_log(log, hold_out=held, tails=slow, store=store)
    if found is None:
        raise SystemExit(130)
    checks = [fit.compare(found, each) for each in held]
    fit.write(found, out / name, checks)
    print(f"== {name}\n{fit.table(found, checks)}\n")
    for check in checks:
        print(f"round {check['round']:g}, peaks: {check['peaks']}")
        print(f"round {check['round']:g}, beyond {check['slow']['bound_us']:g} us: {check['slow']}")
    if slow:
        predicted_by_round(fit.read_tails(tails), slow, found)


# Rounds and their shares of slow reads, by bound in us.
Slow = dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]]


def predicted_by_round(everything: Slow, seen: Slow, found: fit.Fit) -> None:
    """The share of held-out rounds whose slow reads are within a factor of 1.5 of what growth predicts, and the share
    of them that is so near to the median of its own fifty neighbours, which no prediction sees: rounds scatter.
    """
    bound = min(everything)
    rounds, shares = everything[bound]
    held = ~(rounds[:, None] == seen[bound][0][None, :]).any(axis=1)
    assert found.growth
    median, low, high = found.growth.interval(rounds[held])
    ratio = median / shares[held].clip(1e-9)
    near = _within(ratio).mean()
    inside = ((shares[held] >= low) & (shares[held] <= high)).mean()
    last = rounds[held] > seen[bound][0].max()
    beyond = _within(ratio)[last].mean() if last.any() else float("nan")
    beside = np.array(
        [np.median(np.r_[shares[max(0, i - 25) : i], shares[i + 1 : i + 26]]) for i in np.flatnonzero(held)]
    )
    alike = _within(beside / shares[held].clip(1e-9)).mean()
    print(
        f"beyond {bound:g} us, {held.sum()} held-out rounds: within 1.5 {near:.1%} (after the last fitted one "
        f"{beyond:.1%}), "
        f"in the 95 % interval {inside:.1%}, within 1.5 of its neighbours {alike:.1%}"
    )


def _within(ratio: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each is within a factor of 1.5 of one."""
    return (ratio < 1.5) & (ratio > 1 / 1.5)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("give the folder of the logs: python examples/fit_drives.py FOLDER [OUT]")
    for each in sorted(Path(sys.argv[1]).glob("*_latency.csv.zst")) if len(sys.argv) > 1 else []:
        fitted(each, Path(sys.argv[2]) if len(sys.argv) > 2 else Path("out/drives"))
