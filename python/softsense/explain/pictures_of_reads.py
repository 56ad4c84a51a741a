"""Timelines of reads, and their steps, as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from softsense.colours import BAD, BITS, GOOD, POLICIES, SPANS
from softsense.explain.drawing import WIDE, draw_key
from softsense.explain.explanation import RESOURCES, Explanation
from softsense.explain.reasons import is_predicted_to_fail, moves_references, steps_of, where

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_steps(panels: list[Axes], found: Explanation, policy: str, steps: list[dict[str, Any]]) -> None:
    """Draw the places of the references of each step over the states, and the outcome of each step.

    Each boundary has a panel.
    """
    from matplotlib.ticker import MaxNLocator

    from softsense import plots

    rows = len(steps)
    colours = [GOOD if step["decoded"] else plots.FAINT if step["decoded"] is None else BAD for step in steps]
    for boundary, axes in enumerate(panels):
        plots.head(axes, f"Steps of the read ({policy}): references over the states" if not boundary else "")
        standing = [
            volts[boundary * step["level"] : (boundary + 1) * step["level"]] if (volts := step["references_v"]) else []
            for step in steps
        ]
        low, high = min(map(min, filter(None, standing))), max(map(max, filter(None, standing)))
        volts = np.linspace(low - 0.5 * (high - low) - 0.1, high + 0.5 * (high - low) + 0.1, 600)
        densities = [found.cells.density(state, volts) for state in range(found.cells.states)]
        top = max(density.max() for density in densities)
        for row, density in zip(found.states.iter_rows(named=True), densities, strict=True):
            colour = BITS[row["bit"]]
            axes.fill_between(
                volts, rows - 0.4, rows - 0.4 - density / top * rows, color=colour, alpha=0.2, linewidth=0
            )
        for place, (step, references) in enumerate(zip(steps, standing, strict=True)):
            wide = 2.0 if step["level"] == 1 else 0.9
            axes.vlines(references, place - 0.36, place + 0.36, color=colours[place], linewidth=wide, zorder=3)
        axes.set_ylim(rows - 0.4, -0.6)
        axes.set_xlim(volts[0], volts[-1])
        axes.set_yticks([])
        axes.xaxis.set_major_locator(MaxNLocator(max(2, 6 // len(panels)), prune="both"))
        axes.spines["left"].set_visible(False)
    panels[0].set_xlabel("threshold voltage (V)")
    beside: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "va": "center",
        "fontsize": 9,
    }
    for place, (step, colour) in enumerate(zip(steps, colours, strict=True)):
        name = "known cells" if step["known_cells"] else where(step)
        name += f", level {step['level']}" if step["level"] > 1 else "" if step["sent"] else ", not sent"
        panels[0].annotate(f"step {step['step']}: {name}", (0, place), (-6, 0), ha="right", color=plots.INK, **beside)
        said = [] if step["raw_errors"] is None else [f"{step['raw_errors']:,} wrong"]
        if step["predicted_violated"] is not None:
            said.append(f"predicted to {'fail' if is_predicted_to_fail(step, found) else 'decode'}")
        if step["inferred_steps"] is not None:
            said.append(f"says {step['inferred_steps']:+d}")
        if step["decoded"] is not None:
            said.append("decodes" if step["decoded"] else "fails")
        panels[-1].annotate(", ".join(said), (1, place), (6, 0), ha="left", color=colour, **beside)


def draw_timelines(axes: Axes, found: Explanation) -> None:
    """Draw the times of the parts of each policy's read."""
    from matplotlib.patches import Patch

    from softsense import plots

    plots.head(axes, "What each policy's read costs, when nobody is in its way")
    longest = max(found.reads["latency_us"].to_list())
    right = (1.13 if found.reads["decoded"].all() else 1.3) * longest
    inches = axes.get_position().width * WIDE
    group = 3.9
    for place, read in enumerate(found.reads.iter_rows(named=True)):
        first = place * group
        spans = found.spans.filter(found.spans["policy"] == read["policy"])
        by_level = not moves_references(steps_of(found, read))
        name = read["policy"].partition(":")[0]
        colour = POLICIES.get(name, plots.INK)
        for lane, resource in enumerate(RESOURCES):
            axes.axhspan(first + lane - 0.4, first + lane + 0.4, color="#f6f6f6", linewidth=0, zorder=0)
            beside: dict[str, Any] = {
                "xycoords": ("axes fraction", "data"),
                "textcoords": "offset points",
                "va": "center",
            }
            axes.annotate(resource, (0, first + lane), (-5, 0), fontsize=8, color=plots.FAINT, ha="right", **beside)
        axes.annotate(
            read["policy"].replace(":", "\n"),
            (0, first + 1),
            (-52, 0),
            fontsize=9,
            weight="bold",
            color=colour,
            ha="right",
            **beside,
        )
        for span in spans.iter_rows(named=True):
            lane, width = RESOURCES.index(span["resource"]), span["to_us"] - span["from_us"]
            bar = {"left": span["from_us"], "height": 0.8, "linewidth": 0.8, "zorder": 2}
            if span["wasted"] and span["what"] == "sense":
                axes.barh(first + lane, width, facecolor="white", edgecolor=SPANS["sense"][1], hatch="/////", **bar)
            else:
                shade = BAD if span["what"] == "decode" and _is_failed(span, read) else SPANS[span["what"]][1]
                axes.barh(first + lane, width, color=shade, edgecolor="white", **bar)
            label = _fitting(span, width / right * inches, by_level=by_level)
            if label and not (span["wasted"] or span["what"] == "hold"):
                middle = (span["from_us"] + span["to_us"]) / 2
                text_style: dict[str, Any] = {
                    "ha": "center",
                    "va": "center",
                    "fontsize": 8.5,
                    "color": "white",
                    "zorder": 3,
                }
                axes.text(middle, first + lane, label, **text_style)
        ends = read["latency_us"]
        axes.plot([ends] * 2, [first - 0.5, first + 2.5], color=plots.INK, linewidth=1.1, zorder=4)
        axes.annotate(
            f"{ends:,.5g} µs" + ("" if read["decoded"] else ", uncorrectable"),
            (ends, first + 0.5),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=10,
            weight="bold",
            color=plots.INK,
        )
    axes.set_xlim(0, right)
    axes.set_ylim(found.reads.height * group - 1.2, -0.7)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("time since the read was asked for (µs)")
    axes.grid(axis="x", color="#e6e6e6", linewidth=0.7)
    there = set(found.spans["what"]) | {"decode"}
    keys = [(Patch(color=colour, linewidth=0), said) for what, (said, colour) in SPANS.items() if what in there]
    if max(found.reads["wasted_us"].to_list()) > 0:
        vain = Patch(facecolor="white", edgecolor=SPANS["sense"][1], hatch="/////", linewidth=0)
        keys.insert(1, (vain, "sensed in vain"))
    reads = {read["policy"]: read for read in found.reads.iter_rows(named=True)}
    decodes = found.spans.filter(found.spans["what"] == "decode").to_dicts()
    failed = [_is_failed(span, reads[span["policy"]]) for span in decodes]
    if all(failed):
        del keys[-1]
    if any(failed):
        keys.append((Patch(color=BAD, linewidth=0), "decoding that fails"))
    draw_key(axes, keys, "")


def _is_failed(span: dict[str, Any], read: dict[str, Any]) -> bool:
    """Whether the step of a span failed: every step but the last, and the last one, too, if no step decodes."""
    return span["step"] < len(read["levels"]) or not read["decoded"]


def _fitting(span: dict[str, Any], inches: float, *, by_level: bool) -> str:
    """The longest label that has room in a bar."""
    us = f"{span['to_us'] - span['from_us']:,.5g}"
    of = f"level {span['level']}" if by_level else f"step {span['step']}"
    labels = [f"sense {of}: {us} µs", f"{of}: {us}", us]
    if span["what"] != "sense":
        labels = [f"{us} µs", us]
    return next((label for label in labels if 0.07 * len(label) + 0.06 < inches), "")
