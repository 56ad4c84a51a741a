"""Pictures of comparisons, codes and error rates.

A comparison has the split of read time, the tail, the cost of soft sensing, and the levels. An LDPC code has its base
matrix and its Tanner graph. Frame error rates and decode tables have their curves.
"""

from softsense.colours import FAINT, INK
from softsense.plots.by_age import draw_rber_by_age, draw_rber_by_reads, draw_reliability_by_age
from softsense.plots.comparisons import PANELS, draw, draw_over_time, draw_panel
from softsense.plots.of_cells import draw_cells, voltages
from softsense.plots.of_codes import draw_code, draw_trap
from softsense.plots.of_rates import draw_codes, draw_fer
from softsense.plots.printing import draw_chart, draw_sheet, png, settled
from softsense.plots.style import head, heading

__all__ = [
    "FAINT",
    "INK",
    "PANELS",
    "draw",
    "draw_cells",
    "draw_chart",
    "draw_code",
    "draw_codes",
    "draw_fer",
    "draw_over_time",
    "draw_panel",
    "draw_rber_by_age",
    "draw_rber_by_reads",
    "draw_reliability_by_age",
    "draw_sheet",
    "draw_trap",
    "head",
    "heading",
    "png",
    "settled",
    "voltages",
]
