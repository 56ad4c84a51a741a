"""Pictures: of a comparison where reads spend their time, their tail, what soft sensing costs, and the levels; of an
LDPC code its base matrix and its Tanner graph; of frame error rates and decode tables their curves.
"""

from softsense.plots.by_age import draw_rber_by_age, draw_rber_by_reads, draw_reliability_by_age
from softsense.plots.comparisons import PANELS, draw, draw_panel
from softsense.plots.of_cells import draw_cells, voltages
from softsense.plots.of_codes import draw_code, draw_trap
from softsense.plots.of_rates import draw_fer
from softsense.plots.style import BIT_COLOURS, FAINT, INK, LEVEL_COLOURS, STATE_COLOURS, head

__all__ = [
    "BIT_COLOURS",
    "FAINT",
    "INK",
    "LEVEL_COLOURS",
    "PANELS",
    "STATE_COLOURS",
    "draw",
    "draw_cells",
    "draw_code",
    "draw_fer",
    "draw_panel",
    "draw_rber_by_age",
    "draw_rber_by_reads",
    "draw_reliability_by_age",
    "draw_trap",
    "head",
    "voltages",
]
