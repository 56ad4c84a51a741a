"""`softsense explain --serve`: the life of one codeword as a page with sliders, from the same code as everywhere.

The page asks for `api/explain` with the values of its sliders, and shows the result of `softsense.explain.explain`. A
request chooses among offered values (`offers`), and nothing else of it is used: it can name no file and no code.
"""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from softsense import _core, api, colours, explain
from softsense._core import Cells, Code, ConfigError, SoftsenseError
from softsense.charts import Chart, Series
from softsense.live.server import MOST_SHOWN, Answer, Key, as_json, check_known
from softsense.report.charts import description
from softsense.report.pages import document

TECHNIQUES: dict[str, tuple[str, tuple[str, ...]]] = {
    "config": ("as the device does", ()),
    "retry_table": ("retry table", ('read.references="retry_table"',)),
    "retries_ahead": ("retry table, retries ahead", ('read.references="retry_table"', "read.retries_ahead=true")),
    "shorter": (
        "retry table, retries sensed for 75 % of the time",
        ('read.references="retry_table"', "read.retry_sensing_percent=75"),
    ),
    "sentinels": ("sentinels", ('read.references="sentinels"',)),
    "share_of_ones": ("share of ones", ('read.references="share_of_ones"',)),
    "controller": ("share of ones, predicted in the controller", ("read.predictor.place='controller'",)),
    "valley_search": ("search for valleys", ('read.references="valley_search"',)),
    "cells": ("references that track the age", ('read.references="cells"',)),
}
"""Ways to place references: words for people, and the overrides that choose each."""

RETENTIONS = (0, 1, 12, 24, 72, 168, 720, 2190, 4380, 8760, 17520, 43800)
"""The retention times at which the slider stops, hours."""

MOST_PE = 20_000
"""The number of P/E cycles at the end of the slider."""

_USUAL = {
    "pe": "10000",
    "hours": "8760",
    "page": "upper",
    "technique": "config",
    "code": "flash-8/9",
    "policies": "all",
    "seed": "1",
}
_VOLTAGES = 320
_KEPT = 256


class Explaining:
    """The page of a device and the answers to its requests.

    Raises `SoftsenseError`: there is no such device, or one whose reads cannot be explained.
    """

    def __init__(self, config: str) -> None:
        choices(config)
        self.config = config
        self.named = frozenset(api.load_config(config).own_sources)
        """Files and modules of the user's own that the device needs."""

    def answered(self, path: str, query: Mapping[str, str], _: Key) -> Answer | None:
        """The answer to a request of the page; None for an unknown path.

        Raises `SoftsenseError`: the query cannot be answered.
        """
        if path == "/":
            check_known(query, ())
            return Answer(page(self.config).encode(), by_itself=True)
        if path == "/api/choices":
            check_known(query, ("config",))
            return as_json(choices(_device(query, self.config)))
        if path == "/api/explain":
            started = time.perf_counter()
            text = _explained(tuple(asked(query, self.config).items()))
            took = f'{{"ms":{1000 * (time.perf_counter() - started):.1f},'
            return Answer((took + text[1:]).encode(), "application/json")
        return None


@functools.lru_cache(maxsize=64)
def choices(config: str) -> dict[str, Any]:
    """The choices for a device: its pages, techniques that it knows, codes of its codewords, policies.

    Raises `SoftsenseError`: there is no such device, or one whose reads cannot be explained.
    """
    device = api.load_config(config)
    resolved = device.fields
    policy = resolved["read"]["policy"]
    _core.LoneRead(device, 0)
    cells = device.cells(0, 0.0) or Cells.open("mlc")
    codeword_bytes = resolved["geometry"]["codeword_bytes"]
    codes = [name for name, _ in Code.entries() if _opened(name).data_bits == 8 * codeword_bytes]
    if not codes:
        raise ConfigError(f"geometry.codeword_bytes: found {codeword_bytes}, expected the data bytes of a shipped code")
    return {
        "config": config,
        "pages": list(cells.pages),
        "techniques": {name: words for name, (words, changes) in TECHNIQUES.items() if _is_known(config, changes)},
        "codes": codes,
        "policies": [each["name"] for each in _core.policies()],
        "policy": policy,
    }


@functools.lru_cache(maxsize=64)
def devices(first: str) -> list[str]:
    """A device, and the shipped ones whose reads can be explained."""
    found = [first]
    for entry in _core.configs():
        with contextlib.suppress(SoftsenseError):
            choices(entry["name"])
            found.append(entry["name"])
    return list(dict.fromkeys(found))


@functools.lru_cache(maxsize=64)
def _opened(code: str) -> Code:
    return Code.open(code)


def _is_known(config: str, changes: Sequence[str]) -> bool:
    try:
        _core.LoneRead(api.load_config(config, list(changes)), 0)
    except SoftsenseError:
        return False
    return True


def offers(device: str, config: str) -> dict[str, Sequence[str] | range]:
    """The permitted values of each parameter of a query about a device, on a page that begins with `config`.

    There are no other parameters.
    """
    given = choices(device)
    return {
        "config": devices(config),
        "pe": range(10**6 + 1),
        "hours": range(10**6 + 1),
        "page": given["pages"],
        "technique": list(given["techniques"]),
        "code": given["codes"],
        "policies": [*given["policies"], "all"],
        "seed": range(2**64),
    }


def usual(offered: Mapping[str, Sequence[str] | range]) -> dict[str, str]:
    """The defaults of the parameters other than the device.

    A default is the usual value, or the first that is offered if a device does not have the usual one.
    """
    return {
        name: value if isinstance(among := offered[name], range) or value in among else among[0]
        for name, value in _USUAL.items()
    }


def asked(query: Mapping[str, str], config: str) -> dict[str, Any]:
    """The arguments of `explain.explain` for a query.

    Raises `ConfigError`.
    """
    device = _device(query, config)
    offered = offers(device, config)
    check_known(query, offered)
    values = {"config": device, **usual(offered), **query}
    chosen = {name: _checked(name, values[name], among) for name, among in offered.items()}
    return {
        "config": device,
        "pe_cycles": chosen["pe"],
        "retention_hours": float(chosen["hours"]),
        "page": chosen["page"],
        "code": chosen["code"],
        "policies": chosen["policies"],
        "seed": chosen["seed"],
        "overrides": TECHNIQUES[chosen["technique"]][1],
    }


def _device(query: Mapping[str, str], config: str) -> str:
    return str(_checked("config", query.get("config", config), devices(config)))


def _checked(name: str, found: str, offered: Sequence[str] | range) -> Any:
    """The value of a parameter, checked to be offered."""
    if isinstance(offered, range):
        number = int(found) if found.isascii() and found.isdecimal() and len(found) <= 20 else -1
        if number in offered:
            return number
        expected = f"a whole number from {offered[0]} to {offered.stop - 1}"
    else:
        if found in offered:
            return found
        expected = f"one of {', '.join(offered)}"
    raise ConfigError(f"{name}: found {found[:MOST_SHOWN]}, expected {expected}")


@functools.lru_cache(maxsize=_KEPT)
def _explained(arguments: tuple[tuple[str, Any], ...]) -> str:
    """An explanation as JSON, as `softsense explain --json` prints it, with charts."""
    found = explain.explain(**dict(arguments))
    shown = {
        "heading": explain.heading(found),
        "told": explain.told(found),
        "charts": {name: description(chart) for name, chart in charts(found).items()},
        "explanation": found.to_dict(),
    }
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def charts(found: explain.Explanation) -> dict[str, Chart]:
    """The charts of the page: cells, wrong bits by level, and the time of each read."""
    return {"cells": _cells(found), "levels": _levels(found), "reads": _reads(found)}


def _cells(found: explain.Explanation) -> Chart:
    rows = found.states.to_dicts()
    fresh = found.cells.at(found.cells.pe_cycles, 0.0)
    spread = [5 * max(row["spread_v"], row["written_spread_v"]) for row in rows]
    low = min(min(row["mean_v"], row["written_mean_v"]) - wide for row, wide in zip(rows, spread, strict=True))
    high = max(max(row["mean_v"], row["written_mean_v"]) + wide for row, wide in zip(rows, spread, strict=True))
    volts = np.linspace(low, high, _VOLTAGES)
    densities = [found.cells.density(row["state"], volts) for row in rows]
    top = max(float(density.max()) for density in densities)
    series = [_of_bit(bit, rows, volts, densities) for bit in (0, 1)]
    if found.cells.retention_hours:
        written = [fresh.density(row["state"], volts) for row in rows]
        series += [_of_bit(bit, rows, volts, written, dashed=True) for bit in (0, 1)]
    references = found.references.filter(found.references["level"] == found.level)["reference_v"].to_list()
    places = [place for reference in references for place in (reference, reference, reference)]
    heights = [height for _ in references for height in (0.0, top, None)]
    series.append(
        Series(f"references of level {found.level}", places, heights, colour=colours.INK, dashed=True, steps=True)
    )
    note = "Blue states hold 0 in this page, orange ones 1; dashed is where they were when they were written."
    return Chart("The cells", series, "threshold voltage (V)", "cells (share per V)", note=note)


def _of_bit(
    bit: int, rows: Sequence[Mapping[str, Any]], volts: Any, densities: Sequence[Any], *, dashed: bool = False
) -> Series:
    """The states that hold a bit in the page, one after the other, with a gap between them."""
    x: list[float] = []
    y: list[float | None] = []
    labels: list[str] = []
    for row, density in zip(rows, densities, strict=True):
        if row["bit"] == bit:
            there = density > 1e-4 * density.max()
            x += [*volts[there].tolist(), float(volts[-1])]
            y += [*density[there].tolist(), None]
            labels += [f"the state {row['bits']}"] * (int(there.sum()) + 1)
    name = f"states of a {bit}{', when written' if dashed else ''}"
    return Series(name, x, y, labels=labels, colour=colours.BITS[bit], dashed=dashed)


def _levels(found: explain.Explanation) -> Chart:
    rows = found.attempts.to_dicts()
    series = []
    for name, converged, colour in (("decodes", True, colours.GOOD), ("fails", False, colours.BAD)):
        of = [row for row in rows if row["converged"] == converged]
        labels = [
            f"{row['iterations']} iterations\n{row['violated_checks']:,} checks violated\n"
            f"{row['information_bits']:.4f} bits of information"
            for row in of
        ]
        levels = [str(row["level"]) for row in of]
        series.append(Series(name, levels, [row["wrong_signs"] for row in of], "bar", labels=labels, colour=colour))
    names = [str(row["level"]) for row in rows]
    label = "wrong signs of the codeword"
    return Chart(
        "Decoding, level by level", series, "read level (1 = hard decision)", label, names=names, exclusive=True
    )


def _reads(found: explain.Explanation) -> Chart:
    reads = {read["policy"]: read for read in found.reads.to_dicts()}
    spans = found.spans.to_dicts()
    rows: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for span in spans:
        rows.setdefault((span["what"], span["wasted"]), []).append(span)
    series = []
    for what, (word, colour) in colours.SPANS.items():
        for wasted in (False, True):
            of = rows.get((what, wasted), [])
            if of:
                series.append(
                    Series(
                        f"{word} in vain" if wasted else word,
                        [_lane(span) for span in of],
                        [span["to_us"] for span in of],
                        "span",
                        lo=[span["from_us"] for span in of],
                        labels=[f"step {span['step']}, level {span['level']}" for span in of],
                        colour=colour,
                        dashed=wasted,
                    )
                )
    names = [f"{policy}: {resource}" for policy in reads for resource in explain.RESOURCES]
    return Chart("The read, by policy", series, "", "time (µs)", stacked=True, names=names)


def _lane(span: Mapping[str, Any]) -> str:
    return f"{span['policy']}: {span['resource']}"


# The page -------------------------------------------------------------------------------------------------------------


def page(config: str) -> str:
    """The page of `explain --serve`, which begins with a device."""
    given = choices(config)
    first = usual(offers(config, config))
    data = {"retentions": RETENTIONS}
    controls = [
        _select("config", "device", {name: name for name in devices(config)}, config),
        _slider("pe", "P/E cycles", 0, MOST_PE, 50, int(first["pe"])),
        _slider("hours", "retention", 0, len(RETENTIONS) - 1, 1, RETENTIONS.index(int(first["hours"]))),
        _select("page", "page", {name: name for name in given["pages"]}, first["page"]),
        _select("technique", "references", given["techniques"], first["technique"]),
        _select("code", "code", {name: name for name in given["codes"]}, first["code"]),
        _select(
            "policies",
            "policy",
            {**{name: name for name in given["policies"]}, "all": "all policies"},
            given["policy"],
        ),
        _slider("seed", "codeword (seed)", 1, 100, 1, int(first["seed"])),
    ]
    plots = "".join(
        f'<figure class="chart" id="chart-{name}"><figcaption class="above"><h3></h3></figcaption><div class="keys">'
        f'</div><p class="y-label"></p><div class="plot" role="group" aria-label="{label}"></div>'
        f'<p class="note"></p></figure>'
        for name, label in (("cells", "The cells"), ("levels", "Decoding"), ("reads", "The read"))
    )
    return document(
        "The life of one codeword",
        ['<p class="finding" id="told" aria-live="polite">…</p>'],
        [
            f'<form class="controls" aria-label="What is read">{"".join(controls)}'
            '<p class="hint"><span id="took"></span> <button type="button" class="quiet" id="save">JSON</button></p>'
            "</form>",
            '<p class="failure" id="failure" role="alert" hidden></p>',
            '<section id="shown"><h2 id="heading"></h2><dl class="numbers" id="numbers"></dl>',
            plots,
            '<h3>Regions</h3><div class="scroll" tabindex="0"><table id="regions"></table></div>',
            '<h3>Steps of the read</h3><div class="scroll" tabindex="0"><table id="steps"></table></div></section>',
        ],
        data=f'<script type="application/json" id="first">{json.dumps(data).replace("<", chr(92) + "u003c")}</script>',
        scripts=("explain.js",),
        served=True,
    )


def _select(name: str, label: str, options: Mapping[str, str], chosen: str) -> str:
    items = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(words)}</option>'
        for value, words in options.items()
    )
    return f'<label>{escape(label)}<select name="{name}">{items}</select></label>'


def _slider(name: str, label: str, low: int, high: int, step: int, value: int) -> str:
    return (
        f'<label>{escape(label)} <output id="{name}-is"></output>'
        f'<input type="range" name="{name}" min="{low}" max="{high}" step="{step}" value="{value}"></label>'
    )
