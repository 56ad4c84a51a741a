"""Colours and lines that figures share."""

from __future__ import annotations

from softsense import colours
from softsense.papers.adaptive_rate_pool.decoders import DEDICATED, POOLS
from softsense.papers.adaptive_rate_pool.published import RATES
from softsense.papers.drawing import Line

PE_AXIS = "P/E cycles (1,000)"
SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
RATE_COLOURS = dict(zip(RATES, SERIES, strict=True))
DARK = "#222222"
LINES_BY_RATE = {rate: Line(colour) for rate, colour in RATE_COLOURS.items()}
POOL_LINES = {d.label: Line(colour) for d, colour in zip(POOLS, colours.SERIES, strict=False)}
_DEDICATED_LINES = {
    d.label: Line(colour, "none", "square" if d.where == "per_ssd" else "diamond")
    for d, colour in zip(DEDICATED, colours.SERIES[len(POOLS) :], strict=False)
}
LINES_BY_PLACE = POOL_LINES | _DEDICATED_LINES
