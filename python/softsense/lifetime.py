"""The amount of data that can be written to flash until its codes give up: endurance, user and lifetime capacity.

A code lasts as long as reads of the oldest data meet the demand, by the raw bit error rates of a config and a measured
decode table. Several codes can follow one another: each begins when the one before no longer meets the demand. Write
amplification is measured by overwriting a small device with the config's flash translation layer.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softsense import decode_tables
from softsense._core import Code, Config, ConfigError, DecodeTable, SoftsenseError
from softsense.api import run
from softsense.base import Progress, inline
from softsense.charts import Chart, Series, Sheet
from softsense.colours import FAINT, SERIES, of_ages
from softsense.formats import as_plain_share
from softsense.measured_part import first_levels

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

ADAPTIVE = "adaptive"
"""Name of the scheme that uses the codes one after the other."""

_SAMPLED = 4096
_MOST_PE = 10_000_000
# Spare blocks of a plane, enough for garbage collection whatever the over-provisioning.
_SPARE_BLOCKS = 40
_OVERWRITES = 2
_BUFFERED_PAGES = 16


@dataclass(frozen=True)
class Demand:
    """The limits that reads have to meet.

    Attributes:
        uber: largest number of failed decodes per data bit read (JEDEC's UBER), 0 to below 1.
        mean_iterations: largest mean number of decoding iterations; None for no limit.
        level: the deepest read level, 1 for hard decision: a read fails where this level fails. None: `read.max_level`
            of the config, or the deepest of a table that has fewer.
    """

    uber: float = 1e-14
    mean_iterations: float | None = None
    level: int | None = None


@dataclass(frozen=True)
class CodeLife:
    """A code, and the number of P/E cycles that it lasts.

    Attributes:
        table: its decode table; for BCH codes by age their data bytes and errors, such as `4096B-t105`.
        code: its name.
        data_bits: data bits of a codeword.
        user_share: data bits for each bit in flash.
        endurance_pe: P/E cycles up to which the demand is met; 0 if it never is.
        rber: mean raw bit error rate at that age.
        uber: UBER at that age.
        mean_iterations: mean iterations at that age; None if the table has none.
        level: the read level whose failures count.
        not_measured: the share of that UBER that the table did not measure: extrapolated, or carried on as an upper
            bound from a higher raw bit error rate. The endurance is a lower bound as far as this share goes.
        correctable: errors that a BCH code by age corrects; None for others.
    """

    table: str
    code: str
    data_bits: int
    user_share: float
    endurance_pe: int
    rber: float
    uber: float
    mean_iterations: float | None
    level: int = 1
    not_measured: float = 0.0
    correctable: int | None = None


@dataclass(frozen=True)
class Stage:
    """A code, and the P/E cycles from and up to which it is used."""

    life: CodeLife
    from_pe: int
    to_pe: int


@dataclass(frozen=True)
class Lifetime:
    """The lifetimes that `lifetime` computed.

    Attributes:
        codes: codes in the order of their user share, largest first.
        stages: the codes that follow one another in the adaptive scheme.
        write_amplification: write amplification by utilisation, the share of the data capacity that the user has.
        frame: a row for each scheme (a table's name, or `adaptive`) and utilisation. Columns are `scheme`,
            `utilisation`, `endurance_pe`, `user_share` (mean over life), `user_capacity` (at the start, share of the
            flash), `write_amplification` and `lifetime_capacity` (bytes that the host can write for each byte of
            flash).
    """

    codes: list[CodeLife]
    stages: list[Stage]
    write_amplification: dict[float, float]
    frame: pl.DataFrame

    def rates(self, config: Config, unit_bytes: int) -> str:
        """The stages as an override: `reliability.adaptive`, with the raw bit error rates of the config.

        For BCH codes by age the override is `reliability.bch.codes`.

        Args:
            config: the config of the lifetime.
            unit_bytes: `geometry.codeword_bytes` of the device that will use the stages.
        """
        if self._by_age:
            return f"reliability.bch.codes={inline(self._rates(unit_bytes))}"
        table = config.fields.reliability["table"]
        adaptive = {"rates": self._rates(unit_bytes), "rber": table["rber"], "variation": table["variation"]}
        return f"reliability={{ adaptive = {inline(adaptive)} }}"

    @property
    def _by_age(self) -> bool:
        return self.codes[0].correctable is not None

    def _rates(self, unit_bytes: int) -> list[dict[str, Any]]:
        if self._by_age:
            return [
                {
                    "codeword_bytes": s.life.data_bits // 8,
                    "correctable": s.life.correctable,
                    "to_pe_cycles": s.to_pe,
                }
                for s in self.stages
            ]
        return [
            {"file": s.life.table, "units": s.life.data_bits // (8 * unit_bytes), "to_pe_cycles": s.to_pe}
            for s in self.stages
        ]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `rates` are those of `reliability.adaptive`, in units of 512 bytes, or the BCH codes."""
        codes = [vars(code) for code in self.codes]
        stages = [{"table": s.life.table, "from_pe": s.from_pe, "to_pe": s.to_pe} for s in self.stages]
        return {"codes": codes, "stages": stages, "rates": self._rates(512), "schemes": self.frame.to_dicts()}


def lifetime(
    config: Config,
    tables: Sequence[str] = (),
    *,
    utilisations: Sequence[float] = (),
    demand: Demand | None = None,
    progress: Progress | None = None,
) -> Lifetime:
    """Lifetime capacity of fixed codes, and of the codes used one after the other.

    LTC = sum over stages of P/E cycles x data for each bit of flash / write amplification, in bytes that the host can
    write for each byte of flash.

    Args:
        config: a config with `reliability.table`, whose raw bit error rates, variation and
            `precondition.retention_days` determine what a code has to correct; or with `reliability.bch`, whose codes
            follow one another.
        tables: decode tables, shipped or files, one for each code; default: that of the config. None with
            `reliability.bch`.
        utilisations: shares of the data capacity that the user has, above 0 and below 1; default: that of the config.
        demand: limits that every read has to meet.
        progress: called with the current work, the steps done, and their share.

    The result is a function of the arguments on every machine.

    Raises `ConfigError` or `TableError`.

    Source: S. Korkotsides, T. Antonakopoulos, "The effect of using multiple code rates on NVM-based storage systems",
    2017, section III. Deviation: the capacity in LTC is all that the code leaves, as parts that the user does not have
    are written, too; over-provisioning enters by write amplification alone.

    A code of rate 1/2 outlives one of 5/6, but has less room; one after the other they do better than either:

    >>> small = ["geometry.blocks_per_plane=160", "geometry.pages_per_block=32", "workload.footprint_bytes=67108864"]
    >>> found = lifetime(Config.open("tlc-femu", small), ["adaptive-5-6", "adaptive-1-2"], utilisations=[0.8])
    >>> [code.code for code in found.codes], found.codes[0].endurance_pe < found.codes[1].endurance_pe
    (['adaptive-5/6', 'adaptive-1/2'], True)
    >>> best = max(found.frame.iter_rows(named=True), key=lambda row: row["lifetime_capacity"])
    >>> best["scheme"]
    'adaptive'
    """
    demand = demand or Demand()
    if not 0 <= demand.uber < 1:
        raise ConfigError(f"uber: found {demand.uber:g}, expected a share from 0 to below 1")
    if demand.mean_iterations is not None and not demand.mean_iterations > 0:
        raise ConfigError(f"mean_iterations: found {demand.mean_iterations:g}, expected a number above 0")
    fields = config.fields
    if ages := fields["precondition"]["ssds"]:
        message = f"found ages of {len(ages)} SSDs, expected an empty list: all blocks of a lifetime wear alike"
        raise ConfigError(f"precondition.ssds: {message}")
    candidates = _candidates(config, fields["reliability"], list(tables))
    shares = list(utilisations) or [1 - fields["ftl"]["over_provisioning"]]
    steps = len(candidates) + len(shares)

    def begun(done: int) -> None:
        if progress:
            progress("lifetime", done, done / steps)

    codes = []
    with tempfile.TemporaryDirectory(prefix="softsense-") as folder:
        wear = _Wear(config, fields, Path(folder))
        for i, candidate in enumerate(candidates):
            begun(i)
            codes.append(wear.life(candidate, demand))
    codes.sort(key=lambda code: (-code.user_share, code.endurance_pe))
    amplification = {}
    for i, share in enumerate(shares, len(candidates)):
        begun(i)
        amplification[share] = write_amplification(config, share)
    stages = _stages(codes)
    return Lifetime(codes, stages, amplification, _frame(codes, stages, amplification))


def write_amplification(config: Config, utilisation: float) -> float:
    """Codewords programmed for each codeword that the host writes, with the config's flash translation layer.

    The device has two planes on each interleaved chip, with the config's blocks and pages, up to 1,024 blocks. It
    begins in the steady state of uniform overwriting. It is overwritten twice more, codeword by codeword, through a
    small buffer.

    Args:
        config: the config whose FTL, geometry of blocks, and seed are used.
        utilisation: the share of the data capacity that the user has, above 0 and below 1.

    Raises `ConfigError`.
    """
    if not 0 < utilisation < 1:
        raise ConfigError(f"utilisation: found {utilisation:g}, expected a share above 0 and below 1")
    fields = config.fields
    geometry, ways = fields["geometry"], fields["ftl"]["interleaving"]["ways"]
    blocks, size = min(geometry["blocks_per_plane"], 1024), geometry["codeword_bytes"]
    small = [
        'reliability="perfect"',
        "geometry.ssds=1",
        f"geometry.channels={ways}",
        "geometry.chips_per_channel=1",
        "geometry.dies_per_chip=1",
        "geometry.planes_per_die=2",
        f"geometry.blocks_per_plane={blocks}",
        f"ftl.over_provisioning={1 - utilisation}",
        "precondition.mapped_fraction=1.0",
        "precondition.layout=steady_state",
        "precondition.ssds=[]",
        "host.issue.closed_loop.queue_depth=64",
        # With a buffer, pages of several codewords are filled.
        f"host.write_buffer_bytes={_BUFFERED_PAGES * ways * geometry['codewords_per_page'] * size}",
        # Only garbage collection reads, and its reads never fail.
        "decoder={ time = { fixed_us = 1.0 } }",
    ]
    try:
        device = config.with_overrides(small)
    except ConfigError as error:
        raise ConfigError(f"utilisation {utilisation:g}: {error}") from None
    writes = {"requests": _OVERWRITES * (device.user_bytes // size), "read_fraction": 0.0, "align_bytes": size}
    sizes = f"[{{ bytes = {size}, share = 1.0 }}]"
    workload = ", ".join([*(f"{key} = {value}" for key, value in writes.items()), f"sizes = {sizes}"])
    uniform = f'workload={{ {workload}, addresses = "uniform", arrivals = "immediate" }}'
    found: float = run(device.with_overrides([uniform])).summary["writes_detail"]["write_amplification"]
    return found


@dataclass(frozen=True)
class _Candidate:
    """A code whose lifetime is computed; its share of data is the code's own rate, unless it is given."""

    name: str
    table: str
    user_share: float | None = None
    correctable: int | None = None


def _candidates(config: Config, reliability: Any, tables: list[str]) -> list[_Candidate]:
    """The codes of the tables, or those of the config."""
    if isinstance(reliability, dict) and "bch" in reliability:
        if tables:
            found = f"tables: found {', '.join(tables)} together with `reliability.bch`"
            raise ConfigError(f"{found}, expected no tables: the config names its own codes")
        return [_of_age(config, reliability["bch"]["oob_bytes"], code) for code in config.bch_codes()]
    if not isinstance(reliability, dict) or "table" not in reliability:
        message = "found no decode table, expected `reliability.table` or `reliability.bch`"
        raise ConfigError(f"reliability: {message}")
    tables = tables or [reliability["table"]["file"]]
    if len(set(tables)) < len(tables):
        raise ConfigError(f"tables: found {', '.join(tables)}, expected each table once")
    return [_Candidate(table, table) for table in tables]


def _of_age(config: Config, oob_bytes: int, code: dict[str, Any]) -> _Candidate:
    """A BCH code of a config, whose share of data counts the out-of-band area, whether or not parity fills it."""
    geometry = config.fields.geometry
    unit, units = geometry["codeword_bytes"], geometry["pages_per_block"] * geometry["codewords_per_page"]
    size, correctable = code["codeword_bytes"], code["correctable"]
    table = f"bch:m={code['field_bits']},t={correctable},k={8 * size}"
    share = code["units_per_block"] * unit / (units * (unit + oob_bytes))
    return _Candidate(f"{size}B-t{correctable}", table, share, correctable)


class _Wear:
    """Raw bit error rates of a config's codewords at the end of retention, by wear, and failure rates of codes there.

    Tables that are made for it lie in `folder`.
    """

    def __init__(self, config: Config, fields: dict[str, Any], folder: Path) -> None:
        self._folder, self._max_level = folder, int(fields["read"]["max_level"])
        geometry, kinds = fields["geometry"], len(fields["flash"]["page_types"])
        blocks = min(geometry["blocks_per_plane"], math.ceil(_SPARE_BLOCKS / fields["ftl"]["over_provisioning"]))
        # All chips and all page types are kept; fewer blocks of the same wear make a device that is set up sooner.
        pages = min(geometry["pages_per_block"], 16 * kinds)
        start = ["precondition.mapped_fraction=1.0", "precondition.layout=sequential"]
        small = [f"geometry.blocks_per_plane={blocks}", f"geometry.pages_per_block={pages}"]
        (reliability,) = fields["reliability"].values()
        self._cells = {"rber": reliability["rber"], "variation": reliability["variation"]}
        self._most_beyond = float(reliability.get("most_beyond", 0.0))
        # Every sample has a table of its own; this one fits codewords of any length, and knows no checks.
        read = [self._read("laldpc-thresholds"), "decoder={ time = { fixed_us = 1.0 } }"]
        read += ["read.policy=two_step", "read.soft_references=cells"]
        self._config = config.with_overrides([*read, *small, *start])

    def _read(self, table: str) -> str:
        return f"reliability={{ table = {inline({'file': table, **self._cells})} }}"

    def sample(self, table: str, code: Code, pe_cycles: int) -> dict[str, NDArray[np.float64]]:
        """Codewords of such a code after `pe_cycles` and the config's retention: `rber` and `p_fail`.

        `p_fail` is the probability that the deepest level of a table fails. Soft levels are looked up as simulations do
        it: at the rate that leaves as much uncertainty as the page's cells.
        """
        reads = [self._read(table), f"geometry.codeword_bytes={code.data_bits // 8}", "read.max_level=1"]
        return self._config.with_overrides([*reads, f"precondition.pe_cycles={pe_cycles}"]).sample_codewords(_SAMPLED)

    def life(self, candidate: _Candidate, demand: Demand) -> CodeLife:
        """The lifetime of a code."""
        table = candidate.table
        document = decode_tables.describe(table)
        level = demand.level or min(self._max_level, len(document["level"]))
        try:
            code = Code.open(table if table.startswith("bch:") else document["code"].split(":")[0])
        except SoftsenseError:
            message = f"table {table}: found a table of `{document['code']}`, expected one of a code of softsense"
            raise ConfigError(message) from None
        if not 1 <= level <= len(document["level"]):
            raise ConfigError(f"level: found {level}, expected 1 to {len(document['level'])}, the levels of {table}")
        reader = DecodeTable(table)
        iterations = _mean_iterations(document, level)
        if demand.mean_iterations is not None and iterations is None:
            found = f"table {table}: found no numbers of iterations at level {level}"
            raise ConfigError(f"{found}, expected a table with `iterations`, or no limit on their mean")

        whole, measured = (str(self._folder / name) for name in ("whole.toml", "measured.toml"))
        for path in (whole, measured):
            Path(path).write_text(first_levels(document, level, measured=path == measured), encoding="utf-8")

        sampled = cache(partial(self.sample, whole, code))

        def at(pe_cycles: int) -> tuple[float, float, float | None]:
            rber = sampled(pe_cycles)["rber"]
            uber = float(sampled(pe_cycles)["p_fail"].mean()) / code.data_bits
            return float(rber.mean()), uber, iterations and float(np.interp(rber, *iterations).mean())

        def met(pe_cycles: int) -> bool:
            _, uber, mean = at(pe_cycles)
            return uber <= demand.uber and (demand.mean_iterations is None or (mean or 0.0) <= demand.mean_iterations)

        low, high = 0, 1000
        while met(high):
            if high == _MOST_PE:
                message = (
                    f"found raw bit error rates that {table} still corrects after {high:,} P/E cycles, expected "
                    "rates that grow with wear"
                )
                raise ConfigError(f"reliability.table.rber: {message}")
            low, high = high, min(2 * high, _MOST_PE)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if met(middle) else (low, middle)
        # The limit is met up to `low` and no longer one cycle later.
        for pe_cycles in (low, high):
            beyond = 1.0 - float(reader.reaches(sampled(pe_cycles)["rber"]).mean())
            if beyond > self._most_beyond:
                raise ConfigError(
                    f"table {table}: found a share of {beyond:.3g} of the codewords outside its raw bit error "
                    f"rates at {pe_cycles:,} P/E cycles, expected at most {self._most_beyond:g} "
                    "(reliability.table.most_beyond); `softsense table build CODE --for CONFIG` makes a wider one"
                )
        share = candidate.user_share or code.data_bits / code.codeword_bits
        _, uber, _ = end = at(low)
        known = float(self.sample(measured, code, low)["p_fail"].mean()) / code.data_bits
        lacking = max(0.0, 1 - known / uber) if uber else 0.0
        return CodeLife(
            candidate.name, code.name, code.data_bits, share, low, *end, level, lacking, candidate.correctable
        )


def _mean_iterations(document: dict[str, Any], level: int) -> tuple[list[float], list[float]] | None:
    """The mean number of iterations on the table's grid of raw bit error rates."""
    distributions = document["level"][level - 1].get("iterations")
    if not distributions:
        return None
    means = [float(np.dot(np.arange(1, len(each) + 1), each) / max(sum(each), 1e-300)) for each in distributions]
    return document["rber"], means


def _stages(codes: Sequence[CodeLife]) -> list[Stage]:
    """The stages: at each age the code with the most user data that still meets the demand."""
    stages, worn = [], 0
    for code in codes:
        if code.endurance_pe > worn:
            stages.append(Stage(code, worn, code.endurance_pe))
            worn = code.endurance_pe
    return stages


def _frame(codes: Sequence[CodeLife], stages: Sequence[Stage], amplification: dict[float, float]) -> pl.DataFrame:
    import polars as pl

    schemes = [(code.table, [Stage(code, 0, code.endurance_pe)]) for code in codes]
    if len(codes) > 1:
        schemes.append((ADAPTIVE, list(stages)))
    rows = []
    for scheme, parts in schemes:
        written = sum((part.to_pe - part.from_pe) * part.life.user_share for part in parts)
        endurance = max((part.to_pe for part in parts), default=0)
        for share, factor in amplification.items():
            rows.append(
                {
                    "scheme": scheme,
                    "utilisation": share,
                    "endurance_pe": endurance,
                    "user_share": written / endurance if endurance else 0.0,
                    "user_capacity": parts[0].life.user_share * share if parts else 0.0,
                    "write_amplification": factor,
                    "lifetime_capacity": written / factor,
                }
            )
    return pl.DataFrame(rows)


def draw(found: Lifetime, style: str = "screen", columns: int | None = None) -> Figure:
    """Draw the user data per bit of flash over P/E cycles, and the lifetime capacity of each scheme.

    `style` and `columns` are those of `softsense.plots.draw_sheet`.
    """
    from softsense.plots import draw_sheet

    return draw_sheet(Sheet("Lifetime", charts(found), panel=(5.5, 4.2)), style, columns)


def charts(found: Lifetime) -> list[Chart]:
    """The charts of `draw`."""
    told = ADAPTIVE if len(found.codes) > 1 else "with this code"
    edges = [0.0, *(stage.to_pe / 1000 for stage in found.stages)]
    shares = [stage.life.user_share for stage in found.stages]
    beside: dict[str, Any] = {"colour": FAINT, "pale": True, "marker": "none", "named": False}
    over_life = []
    for code in found.codes:
        until, share = [0.0, code.endurance_pe / 1000], [code.user_share] * 2
        over_life.append(Series(code.code, until, share, printed=["", code.code], **beside))
    over_life.append(Series(told, edges, [*shares, shares[-1]], colour=SERIES[0], steps=True))
    left = Chart(
        "Data for the user, over life",
        over_life,
        "P/E cycles (1,000)",
        "data bits for each bit in flash",
        x_range=(0.0, 1.2 * edges[-1]),
        y_range=(0.0, 1.0),
    )
    schemes = found.frame["scheme"].unique(maintain_order=True).to_list()
    used = list(found.write_amplification.items())
    capacities = []
    for (used_share, amplification), colour in zip(used, of_ages(len(used)), strict=True):
        rows = {row["scheme"]: row for row in found.frame.iter_rows(named=True) if row["utilisation"] == used_share}
        values = [rows[scheme]["lifetime_capacity"] for scheme in schemes]
        name = f"{as_plain_share(used_share)} used (write amplification {amplification:.2f})"
        capacities.append(Series(name, schemes, values, "bar", colour=colour))
    label = "bytes written by the host for each byte of flash"
    return [left, Chart("Lifetime capacity", capacities, "", label, across=True)]
