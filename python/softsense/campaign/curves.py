"""Measured frame error rates: points of curves, and where the curves cross a target."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CONTINUED = 1e4
"""Largest missing part of a rate, over the measured part, with which the rate may be extrapolated."""

THRESHOLD_TARGETS = (1e-2, 1e-6, 1e-10, 1e-15, 1e-17)
"""Failure probabilities of a codeword at which results give the raw bit error rate."""

UBER_TARGETS = (1e-15, 1e-16)
"""Uncorrectable bit error rates, failures per data bit read, at which results give the raw bit error rate, too.

Source: JESD218, for client and enterprise drives.
"""


@dataclass
class FerResult:
    """Frame error rates of a code, as measured.

    Attributes:
        description: inputs of the measurement; ready for JSON.
        points: one dict for each level and raw bit error rate (or age), ready for JSON:

            - `fer` is the measured rate, `lo` to `hi` its 95 % interval and `relative_error` its standard error over
              it. `fer` is the sum of `waterfall` and `floor`.
            - `waterfall` is the rate by error weight.
            - `floor` is the rate by the listed absorbing sets (`floor_lo` to `floor_hi`, `floor_relative_error`,
              `floor_strata`; None where none are listed). Sets that never failed may add up to `floor_at_most`, which
              `hi` does not contain.
            - `unlisted` is an upper bound of the rate of failures that neither `waterfall` nor `floor` has seen.
            - `missing` is an extrapolation, over `fer`: the rate of strata of error weight below the lowest that failed
              (None if unknown). A point with more than 25 % is not `complete`.
            - `judged` is the result of splitting: `fer`, `relative_error` and whether it `agrees` (None where splitting
              was not asked).

        interrupted: whether the measurement was stopped before its end.
    """

    description: dict[str, Any]
    points: list[dict[str, Any]]
    interrupted: bool = False

    @property
    def rate(self) -> float:
        """The rate of the code: data bits over codeword bits."""
        return float(self.description["data_bits"] / self.description["codeword_bits"])

    @property
    def levels(self) -> list[int]:
        """The read levels, in increasing order."""
        return sorted({point["level"] for point in self.points})

    def curve(self, level: int) -> list[dict[str, Any]]:
        """The points of a level by increasing raw bit error rate."""
        return sorted((p for p in self.points if p["level"] == level), key=lambda p: p["rber"])

    @property
    def thresholds(self) -> list[dict[str, Any]]:
        """Raw bit error rates at which each level fails as often as `targets` says, where points are around.

        `failure` is the failure probability of a codeword. `uber` is the uncorrectable bit error rate from which
        `failure` was computed, or None. Between points ln FER is interpolated linearly, and `lo` and `hi` are
        interpolated between the ends of the intervals. The field `complete` says whether the points on both sides are
        complete. The field `floor_at_most` is that of the point above.
        """
        return [
            {"level": level, "uber": uber, **found}
            for level in self.levels
            for uber, target in targets(self.description.get("data_bits"))
            if (found := threshold(self.curve(level), target))
        ]

    @property
    def table(self) -> pl.DataFrame:
        """The points as a table: a row each."""
        import polars as pl

        return pl.DataFrame(self.points, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            **self.description,
            "interrupted": self.interrupted,
            "thresholds": self.thresholds,
            "points": self.points,
        }

    def plot(
        self,
        title: str | None = None,
        *,
        axes: Axes | None = None,
        style: str = "screen",
        columns: int | None = None,
    ) -> Figure:
        """Draw frame error rate against raw bit error rate; save the figure with its `savefig`.

        Args:
            title: title of the picture; default: the code's name.
            axes: axes of your own to draw into, so that curves of several codes can share them; default: a new figure.
            style: style of a new figure: `screen`, or `paper`. A figure for a paper is as wide as one of its columns
                (3.5 inches) or two (7.16 inches), with all text at 8 points.
            columns: number of columns that a picture for a paper spans: 1 or 2; default: 2.

        Returns the figure, whose axes and texts can be restyled. Raises `ValueError` for another style or number of
        columns, and for either with axes.
        """
        from softsense import plots

        return plots.draw_fer(self, title, axes, style, columns)

    def report(self) -> str:
        """The result as one HTML document, with charts, tables and the inputs; write it to a file."""
        from softsense.report import of_fer

        return of_fer(self)


def targets(data_bits: int | None) -> list[tuple[float | None, float]]:
    """Failure probabilities at which thresholds are given, each after the uncorrectable bit error rate behind it."""
    of_uber = [(uber, uber * data_bits) for uber in UBER_TARGETS] if data_bits else []
    return [*((None, target) for target in THRESHOLD_TARGETS), *of_uber]


def can_be_continued(point: dict[str, Any]) -> bool:
    """Whether enough of a rate was measured that the missing part may be extrapolated."""
    return point["missing"] is not None and point["missing"] < MOST_CONTINUED


def continued(point: dict[str, Any], curve: str = "fer") -> float | None:
    """The rate of a point, or an end of its interval, with the missing part by extrapolation; None if unknown."""
    return point[curve] * (1 + point["missing"]) if can_be_continued(point) and point[curve] is not None else None


def threshold(points: Sequence[dict[str, Any]], target: float) -> dict[str, Any] | None:
    """The point where a curve of points by increasing `rber` crosses the failure probability `target`; None without
    one.

    The missing part of a rate counts, by extrapolation. If it is more than a little, the threshold is not `complete`.
    """

    def crossing(values: Sequence[float | None]) -> tuple[float, bool, float] | None:
        for (low, below), (high, above) in itertools.pairwise(zip(points, values, strict=True)):
            if below and above and below <= target <= above and below < above:
                part = math.log(target / below) / math.log(above / below)
                rber = low["rber"] + part * (high["rber"] - low["rber"])
                return rber, low["complete"] and high["complete"], high["floor_at_most"]
        return None

    if not (found := crossing([continued(point) for point in points])):
        return None
    curves = {"lo": [continued(point, "hi") for point in points], "hi": [point["lo"] for point in points]}
    ends = {end: at[0] if (at := crossing(values)) else None for end, values in curves.items()}
    return {"failure": target, "rber": found[0], **ends, "complete": found[1], "floor_at_most": found[2]}
