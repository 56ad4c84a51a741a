"""Frame error rates that were found: points of curves, and where these cross a target."""

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
"""What may be missing, over what was measured, of a rate that is told by extrapolation."""

THRESHOLD_TARGETS = (1e-2, 1e-6, 1e-10, 1e-15, 1e-17)
"""Failure probabilities of a codeword for which results say the raw bit error rate."""

UBER_TARGETS = (1e-15, 1e-16)
"""Uncorrectable bit error rates, failures per data bit read, for which they say it, too.

Source: JESD218, for client and enterprise drives.
"""


@dataclass
class FerResult:
    """Frame error rates of a code, as measured.

    Attributes:
        description: what was run; ready for JSON.
        points: one for each level and raw bit error rate (or age), ready for JSON. `fer` is the rate of what was
            measured, `lo` to `hi` its 95 % interval and `relative_error` its standard error over it. It is the sum of
            `waterfall`, by error weight, and `floor`, by the listed absorbing sets (`floor_lo` to `floor_hi`,
            `floor_relative_error`, `floor_strata`; None where none are listed; sets that never failed may add up to
            `floor_at_most`, which `hi` does not contain). `unlisted` is an upper bound of what
            neither has seen. `missing` is what strata of error weight below the lowest that failed would add, over
            `fer`, by extrapolation (None if unknown): above 25 % a point is not `complete`. `judged` is what
            splitting says: `fer`, `relative_error` and whether it `agrees` (None where it was not asked).
        interrupted: whether it was stopped before its end.
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
        """The raw bit error rates at which each level fails as often as `targets` says, where points are around.

        `failure` is the failure probability of a codeword, `uber` the uncorrectable bit error rate from which it was
        computed, if it was. Between points ln FER is interpolated linearly; `lo` and `hi` are interpolated between the
        ends of the intervals, and `complete` says whether the points on both sides are complete. `floor_at_most` is
        taken from the point above.
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
            title: of the picture; default: the code's name.
            axes: axes of your own to draw into, so that curves of several codes can share them; default: a new figure.
            style: of a new figure: `screen`, or `paper` for one as wide as a column of a paper (3.5 inches) or as two
                (7.16), with all text at 8 points.
            columns: that a picture for a paper spans: 1 or 2; default: 2.

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
    """The failure probabilities that thresholds are told for, each after the uncorrectable bit error rate behind it."""
    of_uber = [(uber, uber * data_bits) for uber in UBER_TARGETS] if data_bits else []
    return [*((None, target) for target in THRESHOLD_TARGETS), *of_uber]


def can_be_continued(point: dict[str, Any]) -> bool:
    """Whether enough of a rate was measured that the missing part may be extrapolated."""
    return point["missing"] is not None and point["missing"] < MOST_CONTINUED


def continued(point: dict[str, Any], curve: str = "fer") -> float | None:
    """The rate of a point, or an end of its interval, with the missing part by extrapolation; None if unknown."""
    return point[curve] * (1 + point["missing"]) if can_be_continued(point) and point[curve] is not None else None


def threshold(points: Sequence[dict[str, Any]], target: float) -> dict[str, Any] | None:
    """Where a curve of points by increasing `rber` crosses the failure probability `target`; None if it does not.

    What is missing counts, by extrapolation: where that is more than a little, the threshold is not `complete`.
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
