"""The result of a calibration: a table for people, JSON, a config, and a picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.calibration.as_toml import as_toml
from softsense.calibration.measured import KINDS
from softsense.calibration.target import FREEDOM, GROUPS, group_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softsense._core import Config
    from softsense.calibration.calibrating import Calibration
    from softsense.calibration.measured import Load
    from softsense.folders import Folder

_INTERVAL = (0.025, 0.5, 0.975)
_TOLD = 0.5
"""Largest share of its prior that the interval of a parameter may have if the measurements tell the parameter."""
_COLOURS = {"p50_us": "#2a6f97", "p90_us": "#8a5a9e", "p99_us": "#d9593d"}


def parameter_rows(found: Calibration) -> list[dict[str, Any]]:
    """A dict for each parameter.

    Its fields are `name`, `unit`, `about`, `low`, `median` and `high` of the 95 % interval, `best`, the value in the
    config, `prior`, and `is_told`: whether the interval is shorter than half of the prior.
    """
    low, median, high = (found.space.values(each) for each in np.quantile(found.samples, _INTERVAL, axis=0))
    best = found.space.values(found.best)
    spans = np.quantile(found.samples, _INTERVAL[2], axis=0) - np.quantile(found.samples, _INTERVAL[0], axis=0)
    return [
        {
            "name": each.name,
            "unit": each.unit,
            "about": each.about,
            "low": low[each.name],
            "median": median[each.name],
            "high": high[each.name],
            "best": best[each.name],
            "prior": [each.low, each.high],
            "is_told": bool(span < _TOLD),
        }
        for each, span in zip(found.space.parameters, spans, strict=True)
    ]


def quantity_rows(found: Calibration) -> list[dict[str, Any]]:
    """A dict for each quantity of each load.

    Its fields are `load`, `held_out`, `quantity`, `measured`, `simulated` at the best point (None if it has none),
    `off` (simulated over measured, less 1), and `low` and `high` of the predicted 95 % interval.
    """
    random = np.random.default_rng([found.seed, 50])
    rows = []
    for load, simulated in zip(found.space.measured.loads, found.simulated, strict=True):
        for name, measured in load.measured.items():
            best, drawn = simulated[name]["best"], simulated[name]["drawn"]
            row = {"load": load.name, "held_out": load.held_out, "quantity": name, "measured": measured}
            row |= {"simulated": best, "off": None if best is None else best / measured - 1, "low": None, "high": None}
            if drawn:
                # The model may be off here by as much as for other quantities of the group.
                errors = random.choice(found.errors[:, group_of(name)], 2000)
                logs = np.log(random.choice(drawn, 2000)) + errors * random.standard_t(FREEDOM, 2000)
                row["low"], row["high"] = (float(np.exp(np.quantile(logs, at))) for at in (_INTERVAL[0], _INTERVAL[2]))
            rows.append(row)
    return rows


def errors(found: Calibration) -> dict[str, float]:
    """Error of the model in each group of quantities that was measured: median of the standard deviation of a
    logarithm.
    """
    seen = {group_of(name) for load in found.space.measured.fitted for name in load.measured}
    return {GROUPS[number]: float(np.median(found.errors[:, number])) for number in sorted(seen)}


def to_dict(found: Calibration) -> dict[str, Any]:
    """The whole calibration, ready for JSON."""
    measured = found.space.measured
    return {
        "drive": measured.name,
        "user_bytes": measured.user_bytes,
        "base": measured.base,
        "settings": list(measured.settings),
        "parameters": parameter_rows(found),
        "quantities": quantity_rows(found),
        "model_is_off_by": errors(found),
        "emulator_is_off_by": found.emulator_off,
        "points": found.points,
        "seed": found.seed,
        "notes": list(measured.notes),
    }


def text(found: Calibration) -> str:
    """The calibration as tables: the parameters, then every load as measured and as simulated."""
    rows = parameter_rows(found)
    width = max(len(row["name"]) for row in rows)
    lines = [f"note: {each}" for each in found.space.measured.notes]
    lines += [""] if lines else []
    lines += [f"{'parameter':{width}}  {'median':>10}  {'95 % interval':>23}  unit", "-" * (width + 46)]
    lines += [
        f"{row['name']:{width}}  {row['median']:>10.4g}  {row['low']:>10.4g} to {row['high']:>9.4g}  {row['unit']:6} "
        f"{row['about']}"
        for row in rows
        if row["is_told"]
    ]
    if vague := [row["name"] for row in rows if not row["is_told"]]:
        lines += ["", f"Not told by these loads: {', '.join(vague)}"]
    told = ", ".join(f"{name} {off:.0%}" for name, off in errors(found).items())
    lines += ["", f"The model is off by (standard deviation): {told}."]
    by_load: dict[str, list[dict[str, Any]]] = {}
    for row in quantity_rows(found):
        by_load.setdefault(row["load"], []).append(row)
    for load in found.space.measured.loads:
        held = " (held out)" if load.held_out else ""
        lines += [
            "",
            f"{load.name}{held}",
            f"{'':30}  {'measured':>10}  {'simulated':>10}  {'off':>6}  predicted, 95 %",
        ]
        for row in by_load[load.name]:
            lines.append(f"{row['quantity']:30}  {row['measured']:>10.6g}  {_told(row)}")
    return "\n".join(lines)


def _told(row: dict[str, Any]) -> str:
    if row["simulated"] is None:
        return "      none"
    interval = "" if row["low"] is None else f"  {row['low']:.4g} to {row['high']:.4g}"
    return f"{row['simulated']:>10.6g}  {row['off']:>+6.0%}{interval}"


def config(found: Calibration) -> Config:
    """The config of the most probable drive that was simulated, with blocks of their true size.

    Raises:
        ConfigError: the device would be too large for the simulator.
    """
    return found.space.device(found.space.values(found.best), whole=True)


def config_toml(found: Calibration, overrides: Sequence[str] = ()) -> str:
    """The config of the best drive as TOML, with the intervals of fitted parameters; fields at their defaults are left
    out.

    Args:
        found: the calibration.
        overrides: fields to replace, such as a workload, each written as `workload.requests=1000`.
    """
    return as_toml(found, config(found).with_overrides([*overrides]), parameter_rows(found))


def picture(found: Calibration) -> Figure:
    """Quantiles of the latency of reads and writes by the rate of all requests, measured and simulated.

    Held-out loads are drawn as hollow points.
    """
    from matplotlib.figure import Figure

    from softsense.plots import settled

    rows = {(row["load"], row["quantity"]): row for row in quantity_rows(found)}
    kinds = [kind for kind in KINDS if any(True for _ in _series(found, kind))]
    figure = Figure(figsize=(5.2 * max(1, len(kinds)), 4.6), layout="constrained")
    for axes, kind in zip(np.atleast_1d(figure.subplots(1, max(1, len(kinds)), sharey=True)), kinds, strict=False):
        _draw(axes, found, kind, rows)
    figure.suptitle("Lines: simulated. Points: measured, hollow ones held out.", fontsize="medium")
    return settled(figure)


def _series(found: Calibration, kind: str) -> Iterator[tuple[str, str]]:
    """Jobs and statistics of this kind of requests whose latencies were measured."""
    names = dict.fromkeys(name for load in found.space.measured.loads for name in load.measured)
    for name in names:
        job, _, rest = name.partition(".")
        if rest.startswith(f"{kind}.") and rest.partition(".")[2] in _COLOURS:
            yield job, rest.partition(".")[2]


def _rate(load: Load) -> float:
    return sum(load.served_iops(kind) or 0.0 for kind in KINDS)


def _draw(axes: Axes, found: Calibration, kind: str, rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    for job, statistic in _series(found, kind):
        name, colour = f"{job}.{kind}.{statistic}", _COLOURS[statistic]
        seen = sorted(
            (
                (_rate(load), load, rows[load.name, name])
                for load in found.space.measured.loads
                if name in load.measured
            ),
            key=lambda each: each[0],
        )
        axes.plot(
            [rate for rate, *_ in seen],
            [row["simulated"] or np.nan for *_, row in seen],
            color=colour,
            linewidth=1.4,
            label=statistic.removesuffix("_us"),
        )
        for rate, load, row in seen:
            axes.plot(
                rate,
                row["measured"],
                "o",
                color=colour,
                markerfacecolor="none" if load.held_out else colour,
                markersize=5,
            )
    axes.set(
        xlabel="requests a second",
        yscale="log",
        title=f"{kind}s",
    )
    axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:,.0f}")
    axes.set_ylabel("latency, us")
    axes.legend(frameon=False)


def write(found: Calibration, folder: Folder | Path, *, draw: bool = True) -> list[Path]:
    """Write `calibrated.toml`, `calibration.json`, and with `draw` `calibration.png` into a folder.

    Each file is written whole or not at all.
    """
    from softsense.folders import opened_folder

    told = json.dumps(to_dict(found), indent=2, allow_nan=False) + "\n"
    with opened_folder(folder) as opened:
        opened.write("calibrated.toml", config_toml(found))
        opened.write("calibration.json", told)
        if draw:
            with opened.replacing("calibration.png") as unfinished:
                picture(found).savefig(unfinished, dpi=120)
        else:
            opened.remove("calibration.png")
        return opened.written()
