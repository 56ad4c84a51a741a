"""Frame error rates of several codes, or of several decoders of one, side by side.

`compare_codes` is `softsense fer` with several codes. Every code is measured as `measure_fer` measures it alone, one
after the other, with the same channel, goal, seed and store.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense._core import Code, ConfigError
from softsense.base import Interrupted, Progress, ShardDone
from softsense.campaign import FerResult, measure_fer
from softsense.store import Store, opened_store

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

_FILES = (".qc", ".alist")
_PLACE = ("level", "pe_cycles", "retention_days", "rber")


@dataclass
class CodeComparison:
    """Frame error rates of several codes on one channel.

    Codes of different rates are not of equal cost: a lower rate corrects more and takes more flash for the same data.
    So tables and pictures show n, k and the rate of each.

    Attributes:
        results: one for each code and decoder, in the order of the request.
        labels: names of the curves: the code, with its decoder where one code has several.
        interrupted: whether the comparison was stopped before its end; codes that were not begun are left out.

    Raises `ConfigError` where results are of different channels.

    >>> import softsense
    >>> codes = [softsense.measure_fer(name, [0.01], frames=500) for name in ("teaching-1/2", "bch-512B-t15")]
    >>> compared = softsense.CodeComparison(codes, ["LDPC", "BCH"])
    >>> [result.points[0]["fer"] > 0.9 for result in compared.results]
    [False, True]
    """

    results: list[FerResult]
    labels: list[str]
    interrupted: bool = False

    def __post_init__(self) -> None:
        channels = [_comparable(result) for result in self.results]
        for label, channel in zip(self.labels, channels, strict=True):
            if channel != channels[0]:
                raise ConfigError(
                    f"codes: found {label} on another channel than {self.labels[0]}, expected the same channel for "
                    "all: the same placement of references, cells and page"
                )

    @property
    def levels(self) -> list[int]:
        """The read levels of all, in increasing order."""
        return sorted({level for result in self.results for level in result.levels})

    def places(self, level: int) -> list[dict[str, Any]]:
        """Places on the channel where any code was measured at a level: `rber`, or the age of cells and its `rber`."""
        points = [point for result in self.results for point in result.curve(level)]
        found = {_place(point): {name: point[name] for name in _PLACE if name in point} for point in points}
        return [found[place] for place in sorted(found)]

    def point(self, result: FerResult, place: dict[str, Any]) -> dict[str, Any] | None:
        """The measured point of a code at one of `places`; None where there is none."""
        return next((point for point in result.points if _place(point) == _place(place)), None)

    @property
    def table(self) -> pl.DataFrame:
        """All points as a table: a row each, with `code`, `decoder`, `codeword_bits`, `data_bits` and `rate`."""
        import polars as pl

        rows = []
        for result in self.results:
            named = result.description
            about = {name: named[name] for name in ("code", "decoder", "codeword_bits", "data_bits")}
            about["rate"] = result.rate
            rows += [about | point for point in result.points]
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: `codes` has the document of each with its `label` and `rate`."""
        codes = [
            {"label": label, "rate": result.rate, **result.to_dict()}
            for label, result in zip(self.labels, self.results, strict=True)
        ]
        return {"interrupted": self.interrupted, "codes": codes}

    def plot(self, title: str | None = None, *, style: str = "screen", columns: int | None = None) -> Figure:
        """Draw all curves into one chart; save the figure with its `savefig`.

        Args:
            title: title of the picture; default: the names of the codes.
            style: `screen`, or `paper` for a picture as wide as one column of a paper (3.5 inches) or as two (7.16),
                with all text at 8 points.
            columns: columns of a paper that a picture for a paper spans: 1 or 2; default: 2.

        Raises `ValueError` for another style, or another number of columns.
        """
        from softsense import plots

        return plots.draw_codes(self, title, style, columns)

    def report(self) -> str:
        """The comparison as one HTML document, with chart, tables and inputs; write it to a file."""
        from softsense.report import of_codes

        return of_codes(self)


def compare_codes(
    codes: Code | str | os.PathLike[str] | Sequence[Code | str | os.PathLike[str]],
    rber: str | Sequence[float] | None = None,
    *,
    decoders: str | Sequence[str] = "min-sum",
    store: Store | str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> CodeComparison:
    """Measure frame error rates of several codes, or of several decoders, on the same channel.

    Results are the same for any workers, and for a comparison that was stopped and resumed from its store.

    Args:
        codes: LDPC and BCH codes, as `measure_fer` takes one; one alone with several decoders.
        rber: raw bit error rates, as there; default: for each code, round numbers across its own waterfall.
        decoders: decoders of LDPC codes; each code is measured with each. BCH codes have one decoder.
        store: a store that all share.
        progress: called now and then with a name, the frames counted so far and the completed fraction of everything.
        options: all others of `measure_fer`, the same for all codes. Absorbing sets (`traps`) are those that come with
            each code, or None.

    Raises:
        SoftsenseError: a code, option or store is wrong, or there are fewer than two different curves.
        Interrupted: Ctrl-C; its `result` is the comparison of what had been measured, or None.

    >>> import softsense
    >>> codes = ["bch:m=10,t=5,k=512", "bch:m=10,t=8,k=512"]
    >>> compared = softsense.compare_codes(codes, [0.001, 0.002])
    >>> compared.table.select("code", "rber", "rate").rows()[0]
    ('bch:m=10,t=5,k=512', 0.001, 0.9110320284697508)
    >>> [result.points[0]["fer"] > 1e-6 for result in compared.results]
    [True, False]
    """
    asked = [decoders] if isinstance(decoders, str) else list(decoders)
    named = [codes] if isinstance(codes, Code | str | os.PathLike) else codes
    opened = [code if isinstance(code, Code) else Code.open(code) for code in named]
    pairs = [(code, decoder) for code in opened for decoder in (asked if code.kind == "ldpc" else asked[:1])]
    _check(pairs, options.get("traps"))
    labels = _labels(pairs)
    results: list[FerResult] = []
    left: ShardDone | None = None
    plan = {key: value for key, value in options.items() if key != "workers"}
    of = [[code.name, decoder] for code, decoder in pairs]
    with opened_store(store) as kept, kept.doing(what="fer", codes=of, rber=rber, **plan):
        for i, (code, decoder) in enumerate(pairs):
            follow = _share_of(progress, i, len(pairs), labels[i])
            try:
                more = {**options, "decoder": decoder, "store": kept, "progress": follow}
                results.append(measure_fer(code, rber, **more))
            except ShardDone as done:
                left = done
            except KeyboardInterrupt as interruption:
                # Ctrl-C between two codes raises a plain KeyboardInterrupt, which has no result.
                partial = interruption.result if isinstance(interruption, Interrupted) else None
                results += [partial] if partial else []
                found = CodeComparison(results, labels[: len(results)], interrupted=True)
                raise Interrupted(found if results else None) from None
        if left:
            raise left
    return CodeComparison(results, labels)


def _check(pairs: Sequence[tuple[Code, str]], traps: Any) -> None:
    if len(pairs) < 2:
        raise ConfigError(f"codes: found {len(pairs)} pair of code and decoder, expected at least two")
    met: dict[tuple[Any, ...], str] = {}
    for code, decoder in pairs:
        known = (*_identity(code), decoder if code.kind == "ldpc" else None)
        if known in met:
            same = "" if met[known] == code.name else f", which is {met[known]}"
            with_decoder = f" with decoder {decoder}" if code.kind == "ldpc" else ""
            raise ConfigError(f"codes: found {code.name} twice{with_decoder}{same}, expected each code once")
        met[known] = code.name
    if traps not in (None, "shipped"):
        raise ConfigError(
            "traps: found a list of one code with several codes, expected `none` or none given: those that come with "
            "each code (measure the code alone, and set the results side by side with `softsense results compare`)"
        )


def _identity(code: Code) -> tuple[Any, ...]:
    """The properties by which two codes are the same, whatever their names."""
    from softsense.traps import matrix_identity

    if code.kind == "bch":
        return (code.codeword_bits, code.data_bits, code.correctable)
    return (matrix_identity(code),)


def _labels(pairs: Sequence[tuple[Code, str]]) -> list[str]:
    """Names of curves: file names without folders unless they clash, with decoders where a code has several."""
    several = len({decoder for code, decoder in pairs if code.kind == "ldpc"}) > 1
    short = {code.name: Path(code.name).name if code.name.endswith(_FILES) else code.name for code, _ in pairs}
    clash = len(set(short.values())) < len(short)
    names = [code.name if clash else short[code.name] for code, _ in pairs]
    with_decoder = [several and code.kind == "ldpc" for code, _ in pairs]
    return [
        f"{name}, {decoder}" if told else name
        for name, told, (_, decoder) in zip(names, with_decoder, pairs, strict=True)
    ]


def _share_of(progress: Progress | None, i: int, count: int, label: str) -> Progress | None:
    if progress is None:
        return None
    return lambda _, frames, fraction: progress(label, frames, (i + fraction) / count)


def _comparable(result: FerResult) -> dict[str, Any]:
    """The channel without the ages, which are places in it."""
    channel = result.description.get("channel", {})
    return {name: value for name, value in channel.items() if name not in ("pe_cycles", "retention_days")}


def _place(point: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(point.get(name, 0) for name in _PLACE)
