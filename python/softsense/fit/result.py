"""The result of a fit: tables for people, JSON, a picture, and the files of a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.fit import device, identified
from softsense.fit.model import least_retry_us, page_types, unpack
from softsense.fit.outside import outside
from softsense.formats import as_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from softsense.fit.depth import Depth
    from softsense.fit.drive import Fit
    from softsense.fit.histograms import Histogram
    from softsense.folders import Folder

_REFERENCE_TABLE = "flash-8-9"
_OFF_LAW = 0.1


def to_dict(fit: Fit, checks: Sequence[dict[str, Any]] = (), deep: Depth | None = None) -> dict[str, Any]:
    """The whole fit, ready for JSON."""
    return {
        "log": fit.log.source,
        "format": fit.log.format,
        "read_bytes": fit.log.read_bytes,
        "depth": fit.log.depth,
        "queue_depth": [each.to_dict() for each in fit.log.queues],
        "rounds": [each.round for each in fit.rounds],
        "held_out": list(fit.held_out),
        "seed": fit.seed,
        "parameters": [claim.to_dict() for claim in identified.claims(fit)],
        "not_told": identified.unknown(fit),
        "outside": [each.to_dict() for each in outside(fit)],
        "shifts": [{"round": number, "shift_us": us} for number, us in fit.shifts.items()],
        "least_retry_us": least_retry_us(fit.structure, unpack(fit.structure, fit.whole.mode)),
        "growth": growth_rows(fit),
        "notes": list(fit.notes),
        "checks": _finite(list(checks)),
        "link": fit.link.to_dict() if fit.link else None,
        "dies": deep.to_dict() if deep else None,
    }


def _finite(value: Any) -> Any:
    """The value with None in place of numbers that are not finite, as JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def growth_rows(fit: Fit) -> list[dict[str, Any]]:
    """For each round its shift, its shares of retried and of slow reads, and a corresponding raw bit error rate.

    The share of retried reads is None where no retries stand out. `rber_if_flash_8_9` is the raw bit error rate at
    which hard decision of the shipped code flash-8/9 fails as often as reads are retried. Retries tell a raw bit error
    rate only with an assumed code and decoder.
    """
    rows: list[dict[str, Any]] = []
    for each in fit.rounds:
        row: dict[str, Any] = {"round": each.round, "shift_us": fit.shift_us(each.round)}
        row |= dict.fromkeys(("p_retry", "p_retry_low", "p_retry_high", "rber_if_flash_8_9"))
        if fit.structure.ladder:
            median, low, high = np.quantile(each.parameters().p_retry[:, 0], [0.5, 0.025, 0.975]).tolist()
            row |= {"p_retry": median, "p_retry_low": low, "p_retry_high": high}
            row["rber_if_flash_8_9"] = _equivalent_rber(median)
        if fit.growth is not None:
            of_law = fit.growth.interval(each.round)[:, 0]
            row |= {"slow": float(of_law[0]), "slow_low": float(of_law[1]), "slow_high": float(of_law[2])}
        rows.append(row)
    return rows


def _equivalent_rber(p_fail: float) -> float | None:
    from softsense._core import DecodeTable

    rates = np.linspace(0.004, 0.012, 801)
    fails = np.maximum.accumulate(DecodeTable(_REFERENCE_TABLE).p_fail(rates, 1)[0])
    if not fails[0] < p_fail < fails[-1]:
        return None
    return float(np.interp(np.log(p_fail), np.log(np.maximum(fails, 1e-300)), rates))


def table(fit: Fit, checks: Sequence[dict[str, Any]] = (), deep: Depth | None = None) -> str:
    """The fit as tables: parameters with their intervals, parameters that the log does not tell, growth, and checks."""
    rows = identified.claims(fit)
    told = [row for row in rows if row.is_told]
    width = max(len(row.name) for row in rows)
    queues = dict.fromkeys(str(each) for each in fit.log.queues)
    lines = [*(f"Queue depth: {each}" for each in queues), ""]
    lines += [f"{'parameter':{width}}  {'median':>10}  {'95 % interval':>23}  unit", "-" * (width + 46)]
    lines += [
        f"{row.name:{width}}  {row.median:>10.5g}  {row.low:>10.5g} to {row.high:>9.5g}  {row.unit:6} {row.about}"
        for row in told
    ]
    vague = [row.name for row in rows if not row.is_told]
    lines += ["", "Not told by this log:", *(f"  - {text}" for text in identified.unknown(fit))]
    if vague:
        lines.append(f"- the log has too few reads that show {', '.join(vague)}")
    if fit.growth is not None:
        lines += [
            "",
            f"Reads beyond {fit.growth.bound_us:g} us by round (law, 95 % of rounds), and retries",
            "round     slow      95 % of rounds       retried",
        ]
        for each in growth_rows(fit):
            retried = "not told" if each["p_retry"] is None else f"{each['p_retry']:.3%}"
            lines.append(
                f"{each['round']:>5g} {each['slow']:>8.3%}  {each['slow_low']:>8.3%} to {each['slow_high']:>8.3%} "
                f" {retried:>8}"
            )
    if found := outside(fit):
        least = least_retry_us(fit.structure, unpack(fit.structure, fit.whole.mode))
        lines += ["", f"Outside the model (a retry takes {least:.3g} us at least):"]
        lines += [f"  - {each}" for each in found]
    for check in checks:
        held = " (held out)" if check["round"] in fit.held_out else ""
        lines += [
            "",
            f"Round {check['round']:g}{held}, latency in us",
            "share    log   fitted      95 % interval   simulated",
        ]
        for q in check["quantiles"]:
            lines.append(
                f"{q['share']:>5.1%} {q['log_us']:>6.1f} {q['predicted_us']:>8.1f} {q['low_us']:>9.1f} to "
                f"{q['high_us']:>6.1f}  {q['simulated_us']:>10.1f}"
            )
        off = check["distance"]
        lines.append(
            f"{as_share(off['share'])} of reads have other latencies in the simulator than in the fit "
            f"({as_share(off['by_chance'])} by chance), and {as_share(off['log'])} in the log."
        )
        if check["shift_us"]:
            lines.append(
                f"All reads of this round took {abs(check['shift_us']):.3g} us "
                f"{'longer' if check['shift_us'] > 0 else 'less'} than the fit has them."
            )
        if (grown := check["growth"]) and abs(grown["parameters"] / grown["law"] - 1) > _OFF_LAW:
            lines.append(
                f"The law of growth has {as_share(grown['law'])} of reads beyond {grown['bound_us']:g} us, and the "
                f"config has {as_share(grown['parameters'])}: the fit has no retries, pauses or slow peaks that "
                "could grow like this."
            )
    if deep:
        lines += ["", *deep.told()]
    lines += ["", *(f"note: {note}" for note in fit.notes)]
    return "\n".join(lines)


def picture(fit: Fit, style: str = "screen", columns: int | None = None) -> Figure:
    """The latencies of the fitted rounds, the fitted distribution, and its peaks.

    `style` and `columns` are those of `Comparison.plot`. Raises `ValueError` for other values.
    """
    from matplotlib.figure import Figure

    from softsense.plots import settled
    from softsense.plots.paper import Part, columns_of, draw_parts_on_paper

    spanned = columns_of(style, columns)
    if spanned is not None:
        parts = [Part(lambda axes: _draw_density(axes, fit), 1.6), Part(lambda axes: _draw_slower(axes, fit), 1.7)]
        return draw_parts_on_paper("", parts, spanned)
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    _draw_density(above, fit)
    _draw_slower(below, fit)
    return settled(figure)


def _draw_logs(axes: Axes, fit: Fit, values: Callable[[Histogram], NDArray[np.float64]]) -> None:
    fitted = [each for each in fit.log.rounds if each.round in {posterior.round for posterior in fit.rounds}]
    label = f"log, {len(fitted)} rounds" if len(fitted) > 1 else "log"
    for each in fitted:
        named = label if each is fitted[0] else None
        axes.stairs(values(each), each.edges_us, color="0.6", linewidth=0.7, label=named)


def _draw_density(axes: Axes, fit: Fit) -> None:
    _draw_logs(axes, fit, lambda each: 100 * each.counts / each.reads / np.diff(each.edges_us))
    model = fit.predicted()
    density = 100 * model.counts / np.diff(model.edges_us)
    axes.stairs(density, model.edges_us, color="#d9593d", linewidth=1.2, label="fit, all rounds")
    p = unpack(fit.structure, fit.whole.mode)
    for i, k in enumerate(page_types(fit.structure, p)):
        label = "page types" if i == 0 else None
        axes.axvline(float(p.at_us[k]), color="#2a6f97", linestyle=":", linewidth=1, label=label)
    axes.set(ylabel="reads, % per us", xlim=(0, float(model.edges_us[-1])))
    axes.legend(frameon=False)


def _draw_slower(axes: Axes, fit: Fit) -> None:
    _draw_logs(axes, fit, lambda each: 1 - np.cumsum(each.counts) / each.reads)
    model = fit.predicted()
    axes.stairs(1 - np.cumsum(model.counts), model.edges_us, color="#d9593d", linewidth=1.2)
    labels = {"xlabel": "latency, us", "ylabel": "share of slower reads"}
    axes.set(**labels, yscale="log", ylim=(1e-5, 1), xlim=(0, float(model.edges_us[-1])))


def write(
    fit: Fit,
    folder: Folder | Path,
    checks: Sequence[dict[str, Any]] = (),
    deep: Depth | None = None,
    *,
    draw: bool = True,
    number: float | None = None,
) -> list[Path]:
    """Write `fitted.toml`, `fit.json`, and with `draw` `fit.png` into a folder; each file whole or not at all."""
    from softsense.folders import opened_folder

    told = json.dumps(to_dict(fit, checks, deep), indent=2, allow_nan=False) + "\n"
    with opened_folder(folder) as opened:
        opened.write("fitted.toml", device.config_toml(fit, number, dies=deep.best if deep else None))
        opened.write("fit.json", told)
        if draw:
            with opened.replacing("fit.png") as unfinished:
                picture(fit).savefig(unfinished, dpi=120)
        else:
            opened.remove("fit.png")
        return opened.written()
