"""The claims of a fit: parameters with intervals, parameters that are known only as a sum, and those that the log
cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.fit.model import STEPS, Parameters, page_types, unpack
from softsense.fit.sampling import Posterior

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from softsense.fit.drive import Fit

_TOLD = 0.34
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Claim:
    """A parameter with its interval.

    Attributes:
        name: name of the parameter, such as `page_types[0].base_us`.
        median, low, high: median of the posterior, and its 95 % interval. Of several rounds it is the mixture of their
            posteriors, so that the differences between rounds are in the interval.
        unit: `us`, or `share`.
        about: description of the parameter.
        is_told: whether the log tells the parameter: its posterior is at most a third as wide as its prior. A parameter
            that the log does not tell is not claimed.
    """

    name: str
    median: float
    low: float
    high: float
    unit: str
    about: str
    is_told: bool

    def to_dict(self) -> dict[str, Any]:
        """The claim as a dict for JSON."""
        return dict(self.__dict__)


def claims(fit: Fit) -> list[Claim]:
    """All parameters of the structure, in the order in which a read meets them."""
    samples = _mixed(fit.rounds)
    mode = unpack(fit.structure, fit.whole.mode)
    prior_width = dict(zip(fit.structure.names(), _prior_widths(fit), strict=True))
    spread = np.std(np.concatenate([_even(each.samples, len(fit.rounds)) for each in fit.rounds]), axis=0)
    told = {name: s < _TOLD * prior_width[name] for name, s in zip(fit.structure.names(), spread, strict=True)}
    return [
        Claim(name, *_quantiles(values), unit, about, all(told[each] for each in rests_on if each in told))
        for name, values, unit, about, rests_on in _rows(fit, samples, mode)
    ]


def unknown(fit: Fit) -> list[str]:
    """Parameters that no log of this kind tells, a sentence each."""
    found = [
        "the log tells only the sum of sensing, transfer, decode and overhead of a page type (`base_us`); only "
        "sensing differs between page types, so their differences are differences of `sense_us`",
        "the log does not tell the raw bit error rate, only how often reads are retried",
    ]
    if not fit.structure.hit:
        found.append(
            "no read was served from memory, so the overhead cannot be told from the time in flash, nor the "
            "jitter of software from that of pages"
        )
    if not fit.structure.ladder:
        found.append("no retries stand out, so how long a retry takes and how often there is a second one are unknown")
    if fit.growth is not None:
        found.append(
            "reads and time grow together from round to round, so read disturb cannot be told from retention "
            "loss; P/E cycles do not change at all"
        )
    else:
        found.append("growth by reads, retention and P/E cycles is unknown: there are fewer than three rounds")
    if fit.link is None:
        found.append(
            "the time on the link between host and drive is part of the overhead, where simultaneous reads do not "
            "wait for one another (--link gives the speed of the link)"
        )
    if fit.log.depth <= 1:
        taken = "" if fit.log.depth else " (the log does not show this; it is assumed)"
        found.append(
            f"with one read outstanding{taken} the log does not tell how many dies serve reads at once, nor how "
            "reads queue"
        )
    return found


def _rows(fit: Fit, p: Parameters, mode: Parameters) -> Iterator[tuple[str, NDArray[np.float64], str, str, list[str]]]:
    s = fit.structure
    flash = p.share[:, int(s.hit) :].sum(axis=1)
    if s.hit:
        yield "hits.at_us", p.at_us[:, 0], "us", "a read that memory serves: time of overhead and memory", ["at_us[0]"]
        yield "hits.share", p.share[:, 0], "share", "of all reads", ["odds[0]"]
        yield "hits.sigma_us", p.sigma_us[:, 0], "us", "spread of these reads: jitter of host and link", ["sigma_us[0]"]
    types = page_types(s, mode)
    minor = [k for k in range(int(s.hit), s.peaks) if k not in types]
    for kind, peaks in (("page_types", types), ("minor_peaks", minor)):
        for i, k in enumerate(peaks):
            name = f"{kind}[{i}]"
            odds = [f"odds[{k}]"] if k < s.peaks - 1 else []
            about = "overhead + sensing + transfer + decode" if kind == "page_types" else "where it stands"
            yield f"{name}.base_us", p.at_us[:, k], "us", about, [f"at_us[{k}]"]
            yield f"{name}.share", p.share[:, k] / flash, "share", "of flash reads", odds
            yield f"{name}.sigma_us", p.sigma_us[:, k], "us", "spread of its pages", [f"sigma_us[{k}]"]
            if kind == "page_types" and i:
                first = types[0]
                rests = [f"at_us[{k}]", f"at_us[{first}]"]
                yield (
                    f"{name}.sense_more_us",
                    p.at_us[:, k] - p.at_us[:, first],
                    "us",
                    "sensing beyond page_types[0]",
                    rests,
                )
    yield "tail_us", p.tail_us, "us", "mean of the right skew of every read", ["tail_us"]
    if s.ladder:
        yield "retry.step_us", p.step_us, "us", "from one retry to the next", ["step_us", "p_retry[0]"]
        yield "retry.p_first", p.p_retry[:, 0], "share", "of flash reads that are retried", ["p_retry[0]"]
        yield "retry.p_second", p.p_retry[:, 1], "share", "of retried reads that are retried again", ["p_retry[1]"]
        yield (
            "retry.p_further",
            p.p_retry[:, 2],
            "share",
            f"of these that are retried a third time, and so on, up to {STEPS}",
            ["p_retry[2]"],
        )
    if s.slow:
        yield "slow.share", p.slow_share, "share", "of reads with a larger skew", ["slow_share"]
        yield "slow.mean_us", p.slow_us, "us", "mean of that skew", ["slow_us", "slow_share"]
    if s.late:
        about = "of all reads that are late by one delay, shorter than a retry, such as of the host"
        yield "late.share", p.late_share, "share", about, ["late_share"]
        yield "late.by_us", p.late_us, "us", "that delay", ["late_us", "late_share"]
    if s.busy:
        about = "of reads that wait for the rest of an operation, at any point of it"
        yield "busy.share", p.busy_share, "share", about, ["busy_share"]
        yield "busy.longest_us", p.busy_us, "us", "how long that operation takes", ["busy_us", "busy_share"]
    if s.pauses:
        yield "pauses.share", p.pause_share, "share", "of reads that wait for a long operation", ["pause_share"]
        yield "pauses.mean_us", p.pause_us, "us", "mean of those waits", ["pause_us", "pause_share"]


def _prior_widths(fit: Fit) -> NDArray[np.float64]:
    from softsense.fit.model import Grid
    from softsense.fit.sampling import Prior

    return Prior.of(fit.structure, fit.whole.mode, Grid(fit.log.rounds[0].edges_us, fit.cell_us)).sigma


def _mixed(rounds: tuple[Posterior, ...]) -> Parameters:
    """Samples of all rounds, the same number of each."""
    return unpack(rounds[0].structure, np.concatenate([_even(each.samples, len(rounds)) for each in rounds]))


def _even(samples: NDArray[np.float64], rounds: int) -> NDArray[np.float64]:
    return samples[:: max(1, rounds // 2)]


def _quantiles(values: NDArray[np.float64]) -> tuple[float, float, float]:
    median, low, high = np.quantile(values, [0.5, *_INTERVAL])
    return float(median), float(low), float(high)
