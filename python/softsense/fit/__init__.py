"""Fit a real drive: from a log of read latencies to a device config, with intervals.

    log = open_log(["drive.csv"])
    fit = fit_log(log, seed=1)
    print(table(fit))
    open("drive.toml", "w").write(config_toml(fit))

See docs/fitting-a-drive.md, and docs/model/fit.md for the parts of a latency.
"""

from softsense.fit.check import compare, refuse_another
from softsense.fit.depth import Deep, Depth, fit_depth
from softsense.fit.device import config, config_toml
from softsense.fit.drive import Fit, fit_log
from softsense.fit.growth import Growth
from softsense.fit.histograms import Histogram, Log
from softsense.fit.identified import Claim, claims, unknown
from softsense.fit.link import Link
from softsense.fit.logs import open_log
from softsense.fit.model import Grid, Parameters, Structure
from softsense.fit.outside import Outside, outside
from softsense.fit.result import picture, table, to_dict, write
from softsense.fit.sampling import Posterior
from softsense.fit.tables import held_out, read_tails

__all__ = [
    "Claim",
    "Deep",
    "Depth",
    "Fit",
    "Grid",
    "Growth",
    "Histogram",
    "Link",
    "Log",
    "Outside",
    "Parameters",
    "Posterior",
    "Structure",
    "claims",
    "compare",
    "config",
    "config_toml",
    "fit_depth",
    "fit_log",
    "held_out",
    "open_log",
    "outside",
    "picture",
    "read_tails",
    "refuse_another",
    "table",
    "to_dict",
    "unknown",
    "write",
]
