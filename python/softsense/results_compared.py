"""Comparison of folders of results: differences of their inputs, and their metrics side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from softsense._core import ConfigError
from softsense.constraints import resolve
from softsense.folders import Results
from softsense.intervals import interval, interval_of, plus_minus, resolution
from softsense.points import LIFETIME_COLUMNS, SUMMARY_COLUMNS

_SIMULATED = ("run", "compare", "sweep")
_USUAL = (
    *("response.read.mean_us", "response.read.p99_us", "response.read.p999_us", "response.write.mean_us"),
    *("response.write.p99_us", "codeword_reads.uncorrectable", "energy.mean_request_uj"),
    "writes_detail.write_amplification",
)
# Columns of points of a sweep that are neither metrics nor names of the design.
_NO_METRIC = ("point", "id", "status", "error", "seed", "config_sha256", "softsense_version", "model_version")
_MOST_ROWS = 40


@dataclass(frozen=True)
class Value:
    """A number over seeds, or a text.

    Attributes:
        by_seed: the numbers by seed.
        text: a value that is no number.
        name: of the metric.
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


@dataclass(frozen=True)
class Compared:
    """Folders of results side by side.

    Attributes:
        results: the folders.
        differences: for each input that differs its name, and the value in each folder.
        rows: `label`, `metric` and `values`, one for each folder, None where it has none.
    """

    results: Sequence[Results]
    differences: Sequence[tuple[str, list[str]]]
    rows: Sequence[tuple[str, str, list[Value | None]]]

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
        """All of it for the terminal."""
        from softsense.tables import paneled

        names = [str(each.folder) for each in self.results]
        if self.differences:
            columns = [(name, [values[i] for _, values in self.differences]) for i, name in enumerate(names)]
            blocks = [paneled("What differs", "", [what for what, _ in self.differences], columns, 150)]
        else:
            blocks = ["Nothing differs in config, traces, seeds and version."]
        labels = list(dict.fromkeys(label for label, _, _ in self.rows))
        for label in labels[:_MOST_ROWS]:
            rows = [(metric, values) for each, metric, values in self.rows if each == label]
            columns = []
            for i, name in enumerate(names):
                column = [values[i] for _, values in rows]
                columns.append((name, [value.told() if value else "-" for value in column]))
                if i:
                    columns.append(("ratio", [_told(change(values[0], values[i])) for _, values in rows]))
            blocks.append(paneled(label, "", [metric for metric, _ in rows], columns, 150))
        if (left := len(labels) - _MOST_ROWS) > 0:
            blocks.append(f"and {left:,} more; --json has all")
        return "\n\n".join(blocks)


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
        metrics: names of columns, full or short ones as in constraints; by default the usual ones.
        everything: all columns instead.

    Raises:
        ConfigError: they are of several kinds, or a metric is not among their columns.
        FileError: a folder has lost its files.
    """
    kinds = dict.fromkeys("compare" if each.manifest.kind == "run" else each.manifest.kind for each in results)
    if len(kinds) > 1:
        raise ConfigError(f"found results of {' and '.join(kinds)}, expected results of one kind")
    tables = [_values(each) for each in results]
    if all(len(table) == 1 for table in tables) and len({label for table in tables for label in table}) > 1:
        # Single runs are compared whatever their policies.
        joined = " | ".join(label for table in tables for label in table)
        tables = [{joined: next(iter(table.values()))} for table in tables]
    known = list(dict.fromkeys(name for table in tables for values in table.values() for name in values))
    if metrics:
        wanted = [resolve(name, known) for name in metrics]
    else:
        usual = [name for name in _USUAL if name in known]
        wanted = usual if usual and not everything else known
    labels = dict.fromkeys(label for table in tables for label in table)
    rows = []
    for label in labels:
        for metric in wanted:
            values = [table.get(label, {}).get(metric) for table in tables]
            if any(value and (value.by_seed or value.text) for value in values):
                rows.append((label, metric, values))
    return Compared(list(results), _differences(results), rows)


def _values(results: Results) -> dict[str, dict[str, Value]]:
    """By label, and by metric: the numbers over seeds."""
    kind = results.manifest.kind
    together: dict[str, dict[str, list[tuple[Any, Any]]]] = {}
    for row in results.rows():
        keys = list(results.labels)
        if kind == "sweep":
            numbers = SUMMARY_COLUMNS | LIFETIME_COLUMNS
            keys += [name for name in row if name not in numbers and name not in (*_NO_METRIC, *keys)]
        words = [
            str(row[key]) if key in results.labels else f"{key} {row[key]}" for key in keys if row.get(key) is not None
        ]
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
