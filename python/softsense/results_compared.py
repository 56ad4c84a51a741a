"""Comparison of folders of results: differences of their inputs, and their metrics side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softsense._core import ConfigError
from softsense.constraints import resolve
from softsense.folders import Results
from softsense.intervals import interval, interval_of, plus_minus, resolution
from softsense.points import LIFETIME_COLUMNS, SUMMARY_COLUMNS

if TYPE_CHECKING:
    import polars as pl

_SIMULATED = ("run", "compare", "sweep")
_USUAL = (
    *("response.read.mean_us", "response.read.p99_us", "response.read.p999_us", "response.write.mean_us"),
    *("response.write.p99_us", "codeword_reads.uncorrectable", "energy.mean_request_uj"),
    "writes_detail.write_amplification",
)
# Columns of points of a sweep that are neither metrics nor names of the design.
_NO_METRIC = ("point", "id", "status", "error", "seed", "config_sha256", "softsense_version", "model_version")
_MOST_ROWS = 40
_OTHER = " of the other"


@dataclass(frozen=True)
class Value:
    """A number over seeds, or a text.

    Attributes:
        by_seed: the numbers by seed.
        text: a value that is no number.
        name: name of the metric.
    """

    by_seed: Mapping[Any, float]
    text: str | None = None
    name: str = ""

    @property
    def mean(self) -> float | None:
        """The mean over seeds."""
        return interval(list(self.by_seed.values()))[0] if self.by_seed else None

    @property
    def half_width(self) -> float | None:
        """Half the width of the 95 % interval; None with one seed."""
        return interval_of(self.name, list(self.by_seed.values()))[1] if self.by_seed else None

    def told(self) -> str:
        """The value in words."""
        if self.mean is None:
            return self.text or "-"
        size = abs(self.mean)
        if self.half_width is None:
            return f"{self.mean:,.0f}" if size >= 1e5 or self.mean == int(self.mean) else f"{self.mean:,.5g}"
        return plus_minus(self.mean, self.half_width, 0 if size >= 1e4 else 1 if size >= 10 else 4)


_Table = Mapping[str, Mapping[str, Value]]
"""The numbers over seeds, by label and by metric."""


@dataclass(frozen=True)
class Compared:
    """Folders of results side by side.

    Attributes:
        results: the folders.
        differences: the name of each input that differs, and its value in each folder.
        tables: the values of each folder, by label and metric.
        labels: the labels of all folders.
        metrics: the metrics that are compared.
    """

    results: Sequence[Results]
    differences: Sequence[tuple[str, list[str]]]
    tables: Sequence[_Table]
    labels: Sequence[str]
    metrics: Sequence[str]

    @property
    def rows(self) -> list[tuple[str, str, list[Value | None]]]:
        """`label`, `metric` and `values`, one for each folder; None for a folder without a value."""
        return [(label, metric, values) for label in self.labels for metric, values in self._of(label)]

    def _of(self, label: str) -> list[tuple[str, list[Value | None]]]:
        found = [table.get(label, {}) for table in self.tables]
        rows = [(metric, [values.get(metric) for values in found]) for metric in self.metrics]
        return [(metric, values) for metric, values in rows if any(v and (v.by_seed or v.text) for v in values)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        rows = []
        for label, metric, values in self.rows:
            told = [
                value
                and {
                    "mean": value.mean,
                    "half_width": value.half_width,
                    "seeds": len(value.by_seed),
                    "text": value.text,
                }
                for value in values
            ]
            changes = [change(values[0], value) for value in values]
            rows.append({"label": label, "metric": metric, "values": told, "against_the_first": changes})
        return {
            "folders": [str(each.folder) for each in self.results],
            "differences": [{"what": what, "values": values} for what, values in self.differences],
            "rows": rows,
        }

    def text(self) -> str:
        """Everything for the terminal; of more than 40 labels the first ones, and the spread of all from the first."""
        from softsense.tables import paneled

        names = [str(each.folder) for each in self.results]
        if self.differences:
            columns = [(name, [values[i] for _, values in self.differences]) for i, name in enumerate(names)]
            blocks = [paneled("What differs", "", [what for what, _ in self.differences], columns, 150)]
        else:
            blocks = ["Config, traces, seeds and version are the same."]
        told = [(label, rows) for label in self.labels[:_MOST_ROWS] if (rows := self._of(label))]
        for label, rows in told:
            columns = []
            for i, name in enumerate(names):
                column = [values[i] for _, values in rows]
                columns.append((name, [value.told() if value else "-" for value in column]))
                if i:
                    columns.append(("ratio", [_told(change(values[0], values[i])) for _, values in rows]))
            blocks.append(paneled(label, "", [metric for metric, _ in rows], columns, 150))
        if (left := len(self.labels) - _MOST_ROWS) > 0:
            blocks.append(f"and {left:,} more rows; --json has all of them")
            blocks += self._spread() if isinstance(self.tables[0], _Designs) else []
        return "\n\n".join(blocks)

    def _spread(self) -> list[str]:
        """For each sweep but the first, the distribution over designs of the ratios to the first."""
        from softsense.tables import paneled

        first, *others = (table.means for table in self.tables if isinstance(table, _Designs))
        blocks = []
        for results, other in zip(self.results[1:], others, strict=True):
            both = first.join(other, on="label", suffix=_OTHER)
            rows = []
            for metric in (name for name in self.metrics if f"{name}{_OTHER}" in both.columns):
                ratios = (both[f"{metric}{_OTHER}"] / both[metric]).drop_nulls()
                if len(ratios := ratios.filter(ratios.is_finite())):
                    spread = [f"{ratios.quantile(share, 'nearest'):.3f}" for share in (0.1, 0.5, 0.9)]
                    rows.append((metric, *spread, f"{len(ratios):,}"))
            if rows:
                metrics, *cells = (list(column) for column in zip(*rows, strict=True))
                columns = list(zip(("10 %", "median", "90 %", "of"), cells, strict=True))
                title = f"Ratios of {results.folder} to {self.results[0].folder}, of all designs"
                blocks.append(paneled(title, "", metrics, columns, 150))
        return blocks


def change(first: Value | None, other: Value | None) -> dict[str, float | None] | None:
    """The other value over the first, and their difference with the half width of its 95 % interval.

    The interval is of differences seed by seed, if both have the same seeds; None otherwise.
    """
    if first is None or other is None or first.mean is None or other.mean is None:
        return None
    half = None
    if first.by_seed.keys() == other.by_seed.keys():
        half = interval([other.by_seed[seed] - first.by_seed[seed] for seed in first.by_seed])[1]
        if half is not None:
            half += resolution(first.name, first.mean) + resolution(other.name, other.mean)
    ratio = other.mean / first.mean if first.mean else None
    return {"ratio": ratio, "difference": other.mean - first.mean, "half_width": half}


def compare_results(results: Sequence[Results], metrics: Sequence[str] = (), everything: bool = False) -> Compared:
    """Set folders of results side by side.

    Args:
        results: two folders or more of the same kind, where `run` and `compare` count as one kind.
        metrics: names of columns, full or short ones as in constraints; default: the usual ones.
        everything: whether to compare all columns instead.

    Raises:
        ConfigError: they are of several kinds, or a metric is not among their columns.
        FileError: a folder has lost its files.
    """
    kinds = dict.fromkeys("compare" if each.manifest.kind == "run" else each.manifest.kind for each in results)
    if len(kinds) > 1:
        raise ConfigError(f"found results of {' and '.join(kinds)}, expected results of the same kind")

    def asked(known: Sequence[str]) -> list[str]:
        if metrics:
            return [resolve(name, known) for name in metrics]
        usual = [name for name in _USUAL if name in known]
        return usual if usual and not everything else list(known)

    tables: list[_Table]
    if "sweep" in kinds:
        wanted = asked([name for name in (*SUMMARY_COLUMNS, *LIFETIME_COLUMNS) if name not in _NO_METRIC])
        tables = [_Designs(each, wanted) for each in results]
    else:
        tables = [_values(each) for each in results]
    if all(len(table) == 1 for table in tables) and len({label for table in tables for label in table}) > 1:
        # Single runs are compared whatever their policies.
        joined = " | ".join(label for table in tables for label in table)
        tables = [{joined: next(iter(table.values()))} for table in tables]
    if "sweep" not in kinds:
        wanted = asked(list(dict.fromkeys(name for table in tables for values in table.values() for name in values)))
    labels = list(dict.fromkeys(label for table in tables for label in table))
    if "sweep" not in kinds:
        labels = [label for label in labels if any(name in table.get(label, {}) for table in tables for name in wanted)]
    return Compared(list(results), _differences(results), tables, labels, wanted)


class _Designs(Mapping[str, Mapping[str, Value]]):
    """The table of a sweep: its designs, whose numbers become values when they are asked for."""

    def __init__(self, results: Results, metrics: Sequence[str]) -> None:
        import polars as pl

        numbers = {*SUMMARY_COLUMNS, *LIFETIME_COLUMNS}.difference(metrics)
        found = results.points(lambda name: name not in numbers)
        there = [name for name in metrics if name in found.columns]
        keys = list(results.labels)
        keys += [name for name in found.columns if name not in (*_NO_METRIC, *keys, *there)]
        found = found.filter(pl.any_horizontal(pl.col(there).is_not_null()))
        self._places: dict[str, list[int]] = {}
        labels = []
        for i, row in enumerate(found.select(keys).iter_rows()):
            words = [
                str(value) if key in results.labels else f"{key} {value}"
                for key, value in zip(keys, row, strict=True)
                if value is not None
            ]
            labels.append(", ".join(filter(None, words)) or "sweep")
            self._places.setdefault(labels[-1], []).append(i)
        self._seeds = found["seed"]
        self._columns = {name: found[name] for name in there}
        self._named = found.select(pl.Series("label", labels, dtype=pl.String), *there)

    @property
    def means(self) -> pl.DataFrame:
        """The means over seeds, a row for each `label`."""
        import polars as pl

        return self._named.group_by("label", maintain_order=True).agg(pl.exclude("label").mean())

    def __getitem__(self, label: str) -> Mapping[str, Value]:
        places = self._places[label]
        seeds = [self._seeds[i] for i in places]
        values = {name: [column[i] for i in places] for name, column in self._columns.items()}
        pairs = {name: [(s, v) for s, v in zip(seeds, of, strict=True) if v is not None] for name, of in values.items()}
        return {name: _value(name, found) for name, found in pairs.items() if found}

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _values(results: Results) -> dict[str, dict[str, Value]]:
    """The numbers over seeds, by label and by metric."""
    kind, keys = results.manifest.kind, results.labels
    together: dict[str, dict[str, list[tuple[Any, Any]]]] = {}
    for row in results.rows():
        words = [str(row[key]) for key in keys if row.get(key) is not None]
        found = together.setdefault(", ".join(filter(None, words)) or kind, {})
        for name, value in row.items():
            if name not in keys and name not in _NO_METRIC and value is not None:
                found.setdefault(name, []).append((row.get("seed"), value))
    return {label: {name: _value(name, each) for name, each in found.items()} for label, found in together.items()}


def _value(name: str, found: Sequence[tuple[Any, Any]]) -> Value:
    # Rows without a seed are told apart by their order.
    numbers = {i if seed is None else seed: float(v) for i, (seed, v) in enumerate(found) if isinstance(v, int | float)}
    texts = list(dict.fromkeys(str(value) for _, value in found if not isinstance(value, int | float)))
    return Value({} if texts else numbers, ", ".join(texts)[:60] if texts else None, name)


def _differences(results: Sequence[Results]) -> list[tuple[str, list[str]]]:
    configs = [each.config() for each in results]
    found: list[tuple[str, list[str]]] = []

    def tell(what: str, values: Sequence[Any]) -> None:
        told = [_shown(value) for value in values]
        if len(set(told)) > 1:
            found.append((what, told))

    manifests = [each.manifest for each in results]
    for key in ("version", "model_version", "commit"):
        tell(f"softsense {key}", [manifest.version.get(key) for manifest in manifests])
    tell("trace", [", ".join(_trace(trace) for trace in m.traces) or "own workload" for m in manifests])
    tell("seeds", [", ".join(map(str, manifest.seeds)) for manifest in manifests])
    for name in dict.fromkeys(name for config in configs for name in config):
        if name != "seed":
            tell(name, [config.get(name) for config in configs])
    if not any(configs):
        tell("config", [(m.config or {}).get("sha256", "-")[:12] for m in manifests])
    for key in dict.fromkeys(key for manifest in manifests for key in manifest.asked):
        tell(key, [manifest.asked.get(key) for manifest in manifests])
    return found


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    return "-" if value is None else str(value)


def _trace(trace: Mapping[str, Any]) -> str:
    return f"{trace.get('file')} ({str(trace.get('sha256') or '-')[:8]})"


def _told(changed: Mapping[str, float | None] | None) -> str:
    if not changed or changed["ratio"] is None:
        return "-"
    if (half := changed["half_width"]) and abs(changed["difference"] or 0.0) <= half:
        return f"{changed['ratio']:.3f} (within seeds)"
    return f"{changed['ratio']:.3f}"
