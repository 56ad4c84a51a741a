"""Curves of frame error rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from softsense.charts import Sheet
from softsense.formats import listed
from softsense.plots.printing import draw_chart, draw_sheet
from softsense.rate_charts import codes_chart, fer_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from softsense.campaign import FerResult
    from softsense.code_comparison import CodeComparison


def draw_fer(
    result: FerResult,
    title: str | None = None,
    axes: Axes | None = None,
    style: str = "screen",
    columns: int | None = None,
) -> Figure:
    """Draw frame error rates, or the failure probabilities of a decode table, against raw bit error rate.

    A line is a level, with the band of its intervals. Points that are incomplete are hollow, and no line leads to them.
    Dashes lead to incomplete points of a decode table, which contain the missing part. The pale dashed line is an upper
    bound of the failures that no method saw. A vertical line marks the capacity of hard decisions at the code's rate.

    Returns a figure of 13 x 8 inches at 150 dpi, or as wide as `draw_sheet` says for the style `paper`; save it with
    its `savefig`. With `axes`, which may show other results already, the curves are drawn into them, under the title if
    there is one, and their figure is returned. Style and columns apply to a new figure only.

    Raises `ValueError` for another style or number of columns, or for either with axes.
    """
    named = result.description
    chart = fer_chart(result, title or "")
    if axes is not None:
        if (style, columns) != ("screen", None):
            found = f"style: found `{style}`" if style != "screen" else f"columns: found {columns}"
            raise ValueError(f"{found} with axes of your own, expected it for a new figure alone")
        draw_chart(axes, chart, with_key=True)
        drawn = axes.get_figure(root=True)
        assert drawn is not None
        return drawn
    how = named["decoder"] or "BCH"
    if named.get("iterations"):
        how += f", at most {named['iterations']} iterations, seed {named['seed']}"
    note = f"{how}   bands: 95 %   pale, dashed: unlisted, at most"
    interrupted = "interrupted   " if result.interrupted else ""
    heading = title or f"Frame error rate of {named['code']}"
    return draw_sheet(Sheet(heading, [fer_chart(result)], interrupted + note, panel=(13, 7.1), dpi=150), style, columns)


def draw_codes(
    compared: CodeComparison, title: str | None = None, style: str = "screen", columns: int | None = None
) -> Figure:
    """Draw frame error rates of several codes into one chart, as `draw_fer` draws those of one.

    A colour is a code, a marker a level; the legend says n, k and rate of each code.

    Returns a figure of 13 x 8 inches at 150 dpi, or as wide as `draw_sheet` says for the style `paper`; save it with
    its `savefig`.
    """
    interrupted = "interrupted   " if compared.interrupted else ""
    note = f"{interrupted}bands: 95 %   pale, dashed: unlisted, at most"
    heading = title or f"Frame error rates of {listed(compared.labels)}"
    return draw_sheet(Sheet(heading, [codes_chart(compared)], note, panel=(13, 7.1), dpi=150), style, columns)
