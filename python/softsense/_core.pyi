"""The native core: configurations, traces and the simulator itself, codes, flash cells and frame counting."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from softsense import records

__version__: str
MAX_LEVEL: int
"""The deepest read level: the largest number of references between adjacent states."""

MAX_STEPS: int
"""The most steps of one read that a policy of your own may ask for."""

MOST_DEPTH: int
"""The most tables and lists of TOML in one another, and the most names in a path."""

MOST_TOLD: int
"""The most faults of an input that a message lists; of the others it gives the number."""

class SoftsenseError(Exception):
    """Bad input; the message is one line and names the place."""

class ConfigError(SoftsenseError):
    """A configuration field, or a combination of fields, that cannot be built."""

class TraceError(SoftsenseError):
    """A trace file, one of its lines, or a trace that does not fit the device."""

class TableError(SoftsenseError):
    """A decode table."""

class CodeError(SoftsenseError):
    """A bad code, or words that do not fit it."""

class FileError(SoftsenseError):
    """The operating system refused to read or write a file."""

def build_info() -> dict[str, str]:
    """Version, model_version, profile and target of this build, and the instruction_set that codecs use here.

    Also its commit, if `SOFTSENSE_COMMIT` was set when it was built.
    """

def config_schema() -> str:
    """The JSON schema of a configuration."""

def written_schemas() -> str:
    """The JSON schemas of what is written of a run, as one JSON document.

    By the names of types, `Config` and `Summary` among them. A field that may be left out is not required.
    """

def configs() -> list[dict[str, Any]]:
    """The shipped configurations, a dict each.

    `name`, `description`, `user_bytes` (capacity that the user can address) and `reliability` (its kind, as in
    configs).
    """

def policies() -> list[dict[str, Any]]:
    """The read policies, a dict each, in the order in which comparisons show them.

    `name`, `description` (one sentence) and `knows_level`: whether the policy knows the least level that decodes. No
    controller knows that level, so such a policy is a bound for the others.
    """

def overrides(given: Iterable[str]) -> list[str]:
    """Fields to replace, each such as `ftl.over_provisioning=0.28`, in a list.

    Raises `ConfigError` where they are a text or a dict, or hold anything but text.
    """

def own_path(path: str) -> str:
    """A config path in the names that fields have: `ftl.over-provisioning` is `ftl.over_provisioning`.

    A path that leads to no field is returned unchanged.
    """

def toml_lines(text: str) -> list[tuple[list[str], int]]:
    """Path and line of every key, and of every element of a list, in a text of TOML; indices in paths are text.

    Empty for a text that is no TOML.
    """

def read_toml(text: str, origin: str) -> dict[str, Any]:
    """The values in a text of TOML: dicts, lists, text, int, float and bool, at most 64 in one another.

    `origin` names the file in errors. Raises `ConfigError`, with the line, for a text that is no TOML, a number that 64
    bits do not hold (whole numbers go from -2^63 to 2^64 - 1), a date or a time.
    """

def config_error(faults: list[str], untold: int = 0) -> ConfigError:
    """An error that lists these faults, each with its place: the first `MOST_TOLD`, and how many more there are.

    `untold` is the number of further faults, which are not in the list.
    """

def spelled_like(name: str, known: list[str]) -> str | None:
    """The name in `known` that equals `name` but for capitals and the choice among `/`, `-` and `_`.

    None if there is no such name, or several.
    """

def nearest(name: str, known: list[str]) -> str | None:
    """The name in `known` that was probably meant by `name`. None where all are far from it."""

def fairness_json(alone_us: Sequence[float], shared_us: Sequence[float]) -> str:
    """Measures of how fair a device is to its tenants, from mean responses alone and beside the others, in us.

    Both lists have the tenants in the same order. JSON of `slowdowns`, `fairness`, `max_slowdown`, `weighted_speedup`
    and `harmonic_speedup`; see `softsense.tenants`.
    """

class Config:
    """A checked configuration of device, error correction and workload."""

    sha256: str
    user_bytes: int
    has_workload: bool
    knows_rber: bool
    idle_ages: list[str]
    own_sources: dict[str, str]
    fields: records.Config
    @staticmethod
    def open(name_or_path: str | os.PathLike[str], overrides: list[str] = []) -> Config:
        """Open a shipped configuration by name, such as `mlc-25nm`, or a TOML file."""
    @staticmethod
    def from_toml(text: str, origin: str, overrides: list[str] = []) -> Config:
        """Read TOML; `origin` is the file's name, and paths in it resolve beside that file."""
    def with_overrides(self, overrides: list[str]) -> Config:
        """A copy of the configuration with fields replaced, each written as `ftl.over_provisioning=0.28`."""
    def to_toml(self) -> str:
        """The resolved configuration, every default filled in."""
    def to_json(self) -> str:
        """The resolved configuration as JSON."""
    def describe(self) -> list[tuple[str, str]]:
        """Label and value rows for people."""
    def describe_workload(self) -> list[tuple[str, str]]:
        """Label and value rows of the `[workload]` section, or of the tenants."""
    def write_workload(
        self, to: str | os.PathLike[str], format: str = "mqsim", progress: Callable[[float], None] | None = None
    ) -> int:
        """Write the `[workload]` section as a trace file; returns the number of requests."""
    def sample_codewords(self, count: int) -> dict[str, Any]:
        """Codewords of the device as it starts, spread evenly: `count`, or fewer if not all is mapped.

        Returns columns `chip` (uint32, in the order in which the stripe meets the chips), `block` (uint32), `page_type`
        (uint8) and `rber` (float64; with interleaving the mean over a codeword's chips). `p_fail_hard` and `p_fail`
        are the probabilities that codewords like it fail with hard decision, and at the deepest level.
        `p_uncorrectable` is the probability that every step of the policy fails, `mean_steps` the mean number of its
        steps (float64, NaN where only real decodes tell). A function of the config.

        Raises `ConfigError` where no raw bit error rates are known.
        """
    def bch_codes(self) -> list[dict[str, Any]]:
        """The codes of `reliability.bch` on this device, in the order of their ages; none with any other reliability.

        A dict each: `to_pe_cycles`, `codeword_bytes`, `correctable` (t), `field_bits` (m), `codeword_bits` (n),
        `parity_bytes` (room for the parity of a codeword), `codewords_per_unit`, `squeezed_bytes` (bytes that parity
        and metadata take from the data space of each unit), `units_per_block`, `crossing_per_block` (units of a block
        that lie in two pages), and `codewords_at_once` (codewords that one decoder decodes together). `transfer_us`,
        `decode_us` and `decode_without_errors_us` are times of one codeword. With `ftl.interleaving.groups = "none"` a
        block is a superblock.
        """
    def decoder_hardware(self) -> dict[str, Any] | None:
        """The circuits of decoders, by the model of docs/model/hardware.md; None where `decoder.time` is no circuit.

        `count` (of all SSDs), `node_nm`, `gates`, `memory_bits` and `mm2` of one, and `total_mm2`.
        """
    def parallelism_of_area(self, total_mm2: float) -> list[str]:
        """Overrides that give the decoders the most parallelism that `total_mm2` of area allows.

        The number of decoders stays. Parallelism is checks a cycle (LDPC, up to a block row), errors of an engine, or
        bits a cycle (BCH). Raises `ConfigError` where decoders are no circuits, or do not fit with the least
        parallelism.
        """
    def cells(self, pe_cycles: int = 0, retention_hours: float = 0.0) -> Cells | None:
        """The cells of the reliability at an age; None if it has none with threshold voltages. Raises `ConfigError`."""
    def p_fail(self, rber: NDArray[np.float64], levels: int | None = None) -> NDArray[np.float64]:
        """The probability that decoding fails at each of `rber` (float64, shape (n,)), by the decode table.

        Returns one row for each level of the table, or the first `levels` of them; the first is hard decision (float64,
        shape (levels, n)). Raises `ConfigError` where there is no table, or it has fewer.
        """

    def decode_table(self) -> DecodeTable:
        """The decode table. Raises `ConfigError` where there is none, or several by age."""

class Trace:
    """A block trace, recognised and scanned from start to end."""

    def __new__(
        cls,
        path: str,
        *,
        format: str | None = None,
        columns: str | None = None,
        delimiter: str | None = None,
        skip_header: int = 0,
        op: str | None = None,
        time_unit: str | None = None,
        size_unit: str | None = None,
        event: str | None = None,
        devices: str = "stack",
        skip_outliers: bool = False,
        skip_flushes: bool = False,
        content: str | os.PathLike[str] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Self: ...
    def columns_toml(self) -> str | None:
        """The meaning of the columns, as a file that `format` takes; None for a format with a parser of its own."""
    def stats_json(self) -> str:
        """Format, units, counts, span, footprint and extent as JSON."""
    def describe(self) -> list[tuple[str, str]]:
        """Format, units, counts, span, footprint and extent as label and value rows for people."""
    def fit_arrivals(self) -> tuple[str, list[tuple[str, str]], str]:
        """Fit two states of `workload.arrivals.markov_modulated` to the arrivals of the first 100,000 requests.

        Returns the fit as JSON, as label and value rows for people, and as the section of a config. In JSON:
        `requests`, `span_s`, `requests_per_s` and `mean_dwell_us` of both states, the slower first,
        `gain_over_poisson_nats` (mean log-likelihood of a gap above that of a Poisson process), and `statistics`
        (`name`, `recorded`, `fitted`, `poisson`). A function of the trace. Raises `TraceError` for fewer than 100
        requests, or all at one instant.
        """
    def convert(
        self, to: str | os.PathLike[str], format: str = "csv", progress: Callable[[float], None] | None = None
    ) -> int:
        """Write the trace in another format; returns the number of requests."""

class ReadStep:
    """A step that a read policy of your own asks for: a level of sensing, and optionally the place of the references.

    Without a place the references stand where the config reads.
    """

    level: int
    references: str | None
    retry: Literal["incremental", "restart", "restart_on_jumps"] | None
    def __init__(
        self,
        level: int,
        references: str | None = None,
        retry: Literal["incremental", "restart", "restart_on_jumps"] | None = None,
    ) -> None:
        """Make a step.

        Args:
            level: the read level; 1 is hard decision.
            references: None reads as `[read]` of the config. A hard decision then comes with its retries (retry table,
                search, inference), and has failed when all of those have. `cells`: as the description of the
                cells says, which may follow the true age, as no controller could. `default`: at the chip's defaults.
                `valleys`: where a search for valleys finds them. `retry_entry:0`: at that entry of its retry table.
            retry: whether data that was sensed with the same references is kept; None as `read.retry` says.

        Raises `ValueError`.
        """

class ReadSeen:
    """A read, as a policy of your own sees it: its steps so far, all of which have failed, and the observations.

    `attempts`, `steps` and `last` (None before the first step) are always present. The others are present where the
    class names them in `observes`; otherwise AttributeError is raised. `syndrome_weights` has, for each step, the
    number of checks that its hard decisions violate, or the number of edges that this number has reached. `pe_cycles`
    is the number of P/E cycles, or of edges that they have reached. The rest are `page_type`, `block` and
    `remembered_level`.
    """

    attempts: int
    steps: tuple[ReadStep, ...]
    last: ReadStep | None
    syndrome_weights: tuple[int, ...]
    page_type: int
    pe_cycles: int
    block: int
    remembered_level: int

class ClosedBlocks:
    """The closed blocks of a plane that are worth collecting: arrays (int64, shape (n,)) in the order of their closing.

    `set` is the plane. For each block: `blocks` its number, `valid` its valid codewords, `age` how many blocks of the
    plane were closed since (1 for the last), `erases` its erases since the start of the run.
    """

    set: int
    blocks: NDArray[np.int64]
    valid: NDArray[np.int64]
    age: NDArray[np.int64]
    erases: NDArray[np.int64]
    def __len__(self) -> int:
        """The number of blocks: at least one."""

class WritePlanes:
    """The planes that a write may go to, in the order of the stripe, as a placement sees them.

    `ssd` is the number of their SSD. `codeword` is the first logical codeword to be written, and `codewords` the number
    of codewords that wait with it. `in_turn` is the index of the plane whose turn it is, `free_pages` the free pages of
    each plane (int64, shape (n,)).
    """

    ssd: int
    codeword: int
    codewords: int
    in_turn: int
    free_pages: NDArray[np.int64]
    def __len__(self) -> int:
        """The number of planes."""

class PacedPlane:
    """A plane, or a set of planes with interleaved codewords, as a pacing of garbage collection sees it.

    `set` is its number. `free_blocks` counts free blocks; `free_pages` counts free pages, with those of the block that
    is open for the host. `low_watermark`, `high_watermark` and `reserve` are those of the config, in blocks.
    `host_waits` says whether operations of the host wait for the plane. `idle_us` is the time since the last operation
    of the host there. `collecting` says whether a victim is being collected or has just been erased; `valid` counts the
    victim's valid codewords, None without one. `pages_written` counts pages written by the host since the run began,
    `pages_moved` pages moved by garbage collection.
    """

    set: int
    free_blocks: int
    free_pages: int
    low_watermark: int
    high_watermark: int
    reserve: int
    host_waits: bool
    idle_us: float
    collecting: bool
    valid: int | None
    pages_written: int
    pages_moved: int

class MissedPage:
    """A page that is not in the read buffer, as an admission sees it when a read of the page begins.

    `codeword` is the first logical codeword of the page that is requested, `codewords` the number of requested ones.
    `for_write` says whether the page is read for a write that covers a codeword in part. `misses` counts the misses of
    the page, with the present one, while it was among the pages that are remembered. `free_pages` counts free pages of
    the buffer, `request_bytes` the bytes of the request.
    """

    codeword: int
    codewords: int
    request_bytes: int
    for_write: bool
    misses: int
    free_pages: int

class MissedEntry:
    """An entry of the map that is not in the mapping cache, as an admission sees it when its translation page was read.

    `codeword` is its logical codeword, `codewords` the number of codewords of the read with entries in the same
    translation page. `misses` counts the misses of the entry, with the present one, while it was among the entries that
    are remembered.
    """

    codeword: int
    codewords: int
    misses: int

class Device:
    """The device, as the constructor of a policy or rule of your own gets it, if it takes an argument.

    `seed` of the config; `max_level` of reads; `retry_entries` of the chip's table. The others are counts:
    `page_types`, `ssds`, `planes` of an SSD, `sets` (planes of all SSDs, or sets of planes with interleaved codewords),
    `blocks_per_plane`, `pages_per_block`, `codewords_per_block` and `user_codewords`.
    """

    seed: int
    max_level: int
    retry_entries: int
    page_types: int
    ssds: int
    planes: int
    sets: int
    blocks_per_plane: int
    pages_per_block: int
    codewords_per_block: int
    user_codewords: int

class LoneRead:
    """Reads of one codeword of a page type on a device that does nothing else, and remembers nothing of other reads.

    Args:
        config: the device. Its `read` section and its times count. Its reliability, ages, data and workload do not, and
            its map is taken to be in memory.
        page_type: number in `flash.page_types`, from 0.

    Raises `ConfigError`: there is no such page type, or the device has codes by age or interleaved codewords. With
    these a unit of data is not one codeword of one page.
    """

    def __init__(self, config: Config, page_type: int) -> None: ...
    def timeline(self, codeword: Any, cells: Cells, code: Code, *, levels: int, seed: int = 1) -> dict[str, Any]:
        """The simulator's read of a codeword in `cells`: a function of the arguments.

        Args:
            codeword: an object that tells the outcomes of sensing and decoding, by two methods.
                `attempt(cells, references, level, sensing_percent)` returns whether the codeword decodes, after how
                many iterations (0 counts as one), how many hard decisions are wrong (`decoder.bypass` depends on it),
                and how many checks they violate (None at deeper levels). `violated(cells, references, checks)` returns
                how many of the first checks hard decisions violate, for a predictor. `cells` are the cells as they look
                in that sensing, with references where they then stand; `references` names that place.
            cells: cells of the codeword, at their age.
            code: the code of the codeword.
            levels: the deepest level that is read, whatever the config says.
            seed: seed of the counts of other cells of the page.

        Returns:
            `steps`: a dict for each attempt: `references`, `level`, `hard` and `extra_levels` (the parts of the level
            that are sensed and sent), `search_sensings`, `unsent_sensings`, `predictions`, `sensing_percent`,
            `known_cells`. Then `decoded` and `latency_ns`.

            `spans`: a dict each in the order in which they begin: `resource` (plane, bus, decoder), `what` (sense,
            hold, transfer, decode, or predict where decoding is then not tried), `step` (from 1), `level`, `from_ns`,
            `to_ns`, and `wasted` (for a step that was not made). Spans end with the read: a RESET after it is none.

            `measured`: measurements, by where references stood in the read before: `at` (where they stood in the
            measurement), `errors` (known cells of the lower state that read above, and of the upper one that read
            below; None where ones are counted), `difference` and `steps` (off the default references).

            `predictor`: the number of checks that it counts, and the most violated ones that it lets pass; None without
            a predictor.

        Raises `ConfigError`, where reads need facts that cells or code do not have, and whatever `codeword` raises.
        """

class DriveServer:
    """A drive that holds data and is served as an NBD block device, from its construction until it is stopped.

    Args:
        config: the config of the drive.
        options: JSON: `image` (a folder), `size_bytes` (without it, the size of the image), `socket` or `port`,
            `real_time`, `parity`, `refresh_hours`, `write_cache` (`protected` or `volatile`), `seed`, `read_only`.

    Attributes:
        address: its NBD URI.
        control: the path of its control socket.
        without_effect: paths of fields of the config that have no effect on it, where they are not at their defaults.

    Raises `ConfigError` for what cannot be served, and `FileError` for an image that is damaged, of another drive or
    served already, or a socket that is taken.
    """

    address: str
    control: os.PathLike[str]
    without_effect: list[str]
    def __init__(self, config: Config, options: str) -> None: ...
    def ask(self, request: str) -> str:
        """Send a request as over the control socket: a JSON object with one field. The answer has `ok` or `error`."""
    def running(self) -> bool:
        """Whether no request to stop has come."""
    def stop(self) -> None:
        """Stop listening and put everything on the disk; a second call does nothing. Raises `FileError`."""

class UnfinishedFile:
    """A file that appears at its path whole, when it is finished, or not at all.

    Attributes:
        path: the temporary path until then, with the suffix of the final one; None afterwards.

    Raises `FileError`.
    """

    path: str | None
    def __init__(self, whole: str | os.PathLike[str]) -> None: ...
    def finish(self) -> None:
        """Give the file its final name, once its content is on disk."""
    def discard(self) -> None:
        """Remove the file, if it was not finished."""

def check_environment() -> None:
    """Check the environment variables that softsense looks at. Raises `ConfigError`."""

def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file or pipe, at most 256 MiB. Raises `FileError` if it cannot be read, or is not UTF-8."""

def keep_panics_quiet() -> None:
    """Make later panics of the core print nothing, unless `RUST_BACKTRACE` is set."""

def last_panic() -> str | None:
    """Message and place of the last panic; None if there was none, or panics were not kept quiet."""

class Run:
    """One simulation: one configuration, one workload."""

    requests: int
    fraction: float
    simulated_s: float
    def __init__(
        self,
        config: Config,
        trace: Trace | None = None,
        *,
        beyond: str = "reject",
        log_requests: bool = False,
        window: str | None = None,
    ) -> None: ...
    def advance(self, requests: int, stop: StopFlag | None = None) -> bool:
        """Simulate until about `requests` more have completed, or `stop` was set; False when all have completed."""
    def summary_json(self, interrupted: bool = False) -> str:
        """The measurements so far, as JSON."""
    def series_json(self) -> str:
        """The run over time, a list of intervals."""
    def distribution(self, kind: str, tenant: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Response times in us, and the fraction of requests at or below each: `read`, `write`, `trim` or `all`
        requests, of one tenant if given.
        """
    def take_log(self) -> dict[str, NDArray[np.generic]]:
        """The columns of the requests that completed since the last call, with `tenant` where there are tenants."""
    def take_recording(self) -> Recording | None:
        """The recording of the window, which ends with this call; None without a window."""

def window(text: str) -> tuple[int, int]:
    """The beginning and the end, ns, of a window such as `10ms..12.5ms`. Raises ConfigError."""

class Recording:
    """The operations and requests that were recorded in a window of a run."""

    window_ns: tuple[int, int]
    ended_early: bool
    simulated_ns: int
    def spans(self) -> dict[str, Any]:
        """The columns of spans, in the order in which they begin."""
    def requests(self) -> dict[str, Any]:
        """The columns of requests that were under way in the window, in the order of their numbers."""
    def write(self, path: str | os.PathLike[str]) -> None:
        """Write trace events in JSON, which ui.perfetto.dev and chrome://tracing open. Raises FileError."""

class Code:
    """An LDPC or a BCH code, compiled and checked. Codes never change, and threads may share them.

    Words are C-contiguous uint8 arrays of shape `(bytes,)` for one frame or `(frames, bytes)` for a batch, packed as
    `numpy.packbits` does: bit i is bit 7 - i % 8 of byte i // 8. A method or field of LDPC codes raises `CodeError` for
    a BCH code, and the other way round.
    """

    name: str
    kind: Literal["ldpc", "bch"]
    codeword_bits: int
    data_bits: int
    rate: float
    shannon_limit: float
    checks: int
    punctured_bits: int
    circulant_size: int | None
    encoding: Literal["structured", "elimination"]
    field_bits: int
    correctable: int
    @staticmethod
    def open(name: str | os.PathLike[str], redundant_checks: bool = False) -> Code:
        """The code that `name` means.

        Args:
            name: a shipped code (see `entries`), any BCH code such as `bch:m=15,t=57,k=31912`, a code of the literature
                (`literature:margulis-2640`, `literature:ethernet-2048`), or the file of an LDPC code, alist or base
                matrix.
            redundant_checks: accept a matrix in which some checks follow from others: each of these is one more data
                bit.

        Raises `CodeError` or `FileError`.
        """
    @staticmethod
    def parse(name: str, text: str, redundant_checks: bool = False) -> Code:
        """The LDPC code in the text of a file called `name`: alist or base matrix. Raises `CodeError`."""
    @staticmethod
    def parse_in_any_order(name: str, text: str, redundant_checks: bool = False) -> tuple[Code, list[int] | None]:
        """Parse as `parse` does, with any block columns of a base matrix not sent.

        The columns that are not sent become the last ones, and as many parity columns become data columns. Returns the
        code, and its block columns by their numbers in the text, from 0, or None if they are in the same order. The
        words are the same with their bits in that order; data are encoded otherwise. Raises `CodeError`, also if no
        order is found in which the code can be encoded.
        """
    @staticmethod
    def construct(
        name: str,
        circulant_size: int,
        rows: int,
        column_weights: Sequence[int],
        *,
        memory: int | None = None,
        punctured: int = 0,
        seed: int = 1,
        stop: StopFlag | None = None,
    ) -> Code:
        """The quasi-cyclic LDPC code of a recipe, called `name`.

        Args:
            name: name of the code.
            circulant_size: bits of a circulant, a power of two.
            rows: block rows.
            column_weights: circulants of each block column, the parity part last. The last two columns may get one
                circulant less, or in a chain more, as some parity parts could not be inverted otherwise.
            memory: memory of a terminated chain: each block column reaches over its first block row and so many more.
            punctured: number of last columns, up to two, that are computed but not sent.
            seed: seed of all choices. Equal arguments make equal matrices.
            stop: a flag that ends the construction early, if set.

        Raises `CodeError`; `KeyboardInterrupt` if `stop` was set meanwhile.
        """
    @staticmethod
    def entries() -> list[tuple[str, str]]:
        """Name and description of every shipped code: LDPC, then BCH."""
    def encode(
        self, data: NDArray[np.uint8], *, threads: int = 1, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Encode ceil(data_bits / 8) bytes of data for each frame to codewords of ceil(codeword_bits / 8) bytes.

        Bits behind the last one are zero in both. The codewords go into `out`, if given. The GIL is released. Raises
        `CodeError`.
        """
    def extract_data(
        self, codewords: NDArray[np.uint8], *, threads: int = 1, out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]:
        """Extract the data bits of codewords: ceil(data_bits / 8) bytes a frame. Raises `CodeError`."""
    def syndrome_weight(self, words: NDArray[np.uint8], checks: int | None = None) -> NDArray[np.uint32]:
        """The number of checks that each word violates (uint32, one a frame): zero for a codeword.

        For a BCH code, the number of parity bits that differ from the parity of the data. For an LDPC code only the
        first `checks` are counted, if that is given. Raises `CodeError`.
        """
    def decoder(self, algorithm: str = "min-sum", iterations: int = 20, *, llr_step: float = 1.0) -> Decoder:
        """A decoder of this code.

        Args:
            algorithm: `min-sum` (layered, in 8-bit messages where the matrix allows it), `rcq:BITS[:POSTERIOR]`
                (messages of few bits, by tables), `bit-flipping`, or `sum-product`, `min-sum[:FACTOR]` or
                `offset-min-sum[:OFFSET]` with `layered-` or `flooding-` before it and `-f32` or `-f64` after it. It
                is ignored for a BCH code, which has one decoder.
            iterations: the most iterations; a decoder stops earlier at a codeword. BCH codes have none.
            llr_step: the natural logarithm for which a step of an integer LLR stands, or a hard decision. Sum-product
                and offset min-sum need it: on hard decisions of error rate p the value is ln((1 - p) / p).

        Raises `CodeError`.
        """
    def rcq_tables(
        self, message_bits: int = 4, posterior_bits: int | None = None, *, level: int = 1, iterations: int = 20
    ) -> dict[str, Any]:
        """The tables of the decoder `rcq:BITS[:POSTERIOR]` for words read at a level.

        Args:
            message_bits: bits of a message, its sign included, 2 to 5.
            posterior_bits: bits of an a-posteriori value, 7 to 10; None: 8 where no column is heavier than 4, else 10.
            level: the read level: 1 is hard decision. Every level above 1 has the tables of level 3.
            iterations: the number of layered iterations after which the decoder gives up.

        Returns `designed_for` (the raw bit error rate of the design, which is the predicted threshold), `channel_limit`
        (the magnitude of a hard decision, and the largest of an LLR), `message_limit` (the largest answer of a check),
        and lists of `thresholds` and of `values` for each iteration, the last for all that follow.
        Magnitudes are whole numbers in the steps of a-posteriori values. A function of its arguments. Raises
        `CodeError`.
        """
    def edges(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The ones of an LDPC code's parity-check matrix, row by row: their rows and their columns (uint32 each)."""
    def base_matrix(self) -> NDArray[np.int32] | None:
        """The shifts of an LDPC code's circulants (int32, block rows x block columns, -1 for zero blocks).

        Check c of a block meets its bit (c + shift) % circulant_size. None if the code was made from an alist.
        """
    def data_positions(self) -> NDArray[np.uint32]:
        """The positions of the data bits in a codeword (uint32, ascending): for shipped codes the first ones."""
    def degree_distribution(self) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """The fractions of an LDPC code's edges that meet a bit, and a check, of each degree, lowest degree first."""
    def syndrome_weights(self, rber: float) -> tuple[float, float]:
        """Mean and standard deviation of the number of LDPC checks that hard decisions violate at a raw bit error rate.

        Bits are wrong independently with probability `rber`, 0 to 0.5. Raises `CodeError` or `ConfigError`.
        """
    def cycles(self) -> tuple[int | None, list[tuple[int, list[tuple[int, int]]]]]:
        """The girth of an LDPC code's Tanner graph, and its cycles of 4, 6 and 8 edges.

        The girth is None without any cycle. For each length, cycles are counted by their approximate cycle extrinsic
        degree: pairs of degree and number, lowest first. Counting takes milliseconds for a base matrix, and up to a
        minute for an alist file of its size.
        """
    def threshold(self, rule: str = "sum-product", iterations: int | None = None, levels: int = 1) -> float:
        """The error rate up to which an LDPC code of these degrees decodes.

        For a binary symmetric channel; with more `levels` (up to 7) for the hard decisions of a Gaussian channel that
        is read with so many references, at the best places. Density evolution finds the threshold of infinitely long
        codes without cycles, to about 2e-3 of the value (min-sum up to 5e-3 too low); within `iterations` flooding
        iterations, if given. `rule`: `sum-product`, `min-sum[:FACTOR]` or `offset-min-sum[:OFFSET]`.

        Raises `CodeError`.
        """
    def to_alist(self) -> str:
        """An LDPC code's parity-check matrix as the text of an alist file."""
    def to_qc(self) -> str:
        """An LDPC code's base matrix as the text of a file; `CodeError` if it was made from an alist."""
    def generator_polynomial(self) -> NDArray[np.uint8]:
        """The coefficients of a BCH code's generator polynomial, lowest first (uint8, 0 or 1)."""

class Decoder:
    """A decoder of a code, compiled once. Threads may share it.

    Attributes:
        max_level: the deepest read level that gives it more information than the one before: 1 if it decodes hard
            decisions.
        uses_llr_step: whether it computes in floating point, so that its decisions on integer LLRs depend on its
            `llr_step`.
    """

    max_level: int
    uses_llr_step: bool
    def arithmetic(self) -> list[dict[str, Any]]:
        """Parameters of the arithmetic in each pass of a decoder in integers, passes over hard decisions first.

        Dicts of `decides` ("hard" or "soft"), `pass` (from 1), `begins_with` ("received" or "decided"),
        `posterior_bits` and `channel_limit` (the magnitude of a hard decision, the largest of an LLR). The others are
        `factors_16ths` (of each iteration, the last for all that follow), `offset` and `message_limit`; or, for a
        decoder by tables, `staircases` (`thresholds` and `values` for each iteration). Raises `CodeError` for other
        decoders.
        """

    def trace(self, received: NDArray[np.uint8] | NDArray[np.int8]) -> list[dict[str, Any]]:
        """The state of a decoder in integers as a frame comes, and after each iteration of each pass over it.

        Args:
            received: one frame, as `decode` takes it: packed hard decisions, or LLRs of int8.

        Dicts of `pass` (from 1), `iteration` (of the pass, from 0), `posteriors` (int16, one a bit), `messages` and
        `syndrome_weight` (checks that the decisions violate). `messages` go to the bits, by check: int8 of shape
        (circulants, circulant_size), circulants in the order of `Code.base_matrix()`, row by row. The last iteration
        of a pass ends where the word converges. Raises `CodeError`, also for decoders that do not compute in integers.
        """

    def decode(
        self,
        received: NDArray[np.uint8] | NDArray[np.int8] | NDArray[np.float32] | NDArray[np.float64],
        *,
        threads: int = 1,
        scale: float | None = None,
        out: NDArray[np.uint8] | None = None,
    ) -> DecodeResult:
        """Decode a frame or a batch of frames; results do not depend on the number of threads. The GIL is released.

        Args:
            received: C-contiguous. Packed hard decisions: uint8 of shape (bytes,) or (frames, bytes), padding bits
                zero. Or log-likelihood ratios, positive where 0 is the more likely bit: int8, float32 or float64 of
                shape (codeword_bits,) or (frames, codeword_bits). -128 is read as -127.
            threads: number of threads that share the batch.
            scale: factor of LLRs in floating point before they are rounded to the nearest integer and clipped to +-127;
                default: 1 / `llr_step` of the decoder.
            out: array for the decided words: uint8, in the shape of packed words; default: a new array.

        Raises `CodeError`: a wrong type, shape or layout, or an LLR that is not a number.
        """

class DecodeResult:
    """Results of decoding a batch, an array each; for one frame they have no dimension for frames.

    Attributes:
        word: the decided words, data and parity, packed (uint8); the received word where a BCH decoder gave up.
        converged: True for each decided word that is a codeword, though not necessarily the one sent (bool).
        iterations: iterations done (uint32): 0 if the word was a codeword as it came, and for BCH codes.
        syndrome_weight: checks that each decided word violates (uint32), as `Code.syndrome_weight` counts them.
        corrected: bits in which each decided word differs from the hard decisions received (int32); -1 if decoding did
            not converge.
    """

    word: NDArray[np.uint8]
    converged: NDArray[np.bool_]
    iterations: NDArray[np.uint32]
    syndrome_weight: NDArray[np.uint32]
    corrected: NDArray[np.int32]

def bch_parity(data_bits: int, correctable: int) -> dict[str, int] | None:
    """The parity of the BCH code of `data_bits` data bits that corrects `correctable` errors.

    The code is over the least field that has room for it. Returns `field_bits` (m), `parity_bits` (m t, the most that
    such a code needs) and `parity_bytes` (room for them); None if no field up to m = 16 has room.
    """

class Waterfall:
    """A prediction of frame error rates, for codes of one shape and one list of column weights.

    The method: docs/model/ldpc-codes.md.

    Attributes:
        threshold: the raw bit error rate up to which infinitely long codes decode, by density evolution.
    """

    threshold: float
    def __init__(
        self,
        shape: tuple[int, int, int],
        column_weights: Sequence[tuple[int, int]],
        memory: int | None = None,
        punctured: int = 0,
        *,
        level: int,
        iterations: int,
    ) -> None:
        """Predict for the default decoder.

        Args:
            shape: circulant size, block rows, block columns.
            column_weights: pairs of weight and number of block columns.
            memory: memory of a chain.
            punctured: number of punctured block columns, the last ones, beside those of the shape.
            level: read level, 1 to 7.
            iterations: layered iterations.

        Raises `CodeError`.
        """
    def fer(self, rber: float) -> float:
        """The frame error rate at a raw bit error rate, 1e-8 to 0.49. Raises `ConfigError`."""
    def rber(self, fer: float) -> float:
        """The raw bit error rate at which frames fail at the rate `fer`, 1e-30 to 0.5. Raises `ConfigError`."""

def code_shapes(
    data_bits: int, parity_bits: int, circulant_sizes: Sequence[int] | None = None
) -> list[tuple[int, int, int]]:
    """Shapes of base matrices of codes of so many bits: circulant size, block rows, block columns.

    The largest circulants come first. `circulant_sizes` are powers of two to choose from, by default 16 to 1,024.
    Raises `CodeError` if none fits; the message says which sizes would.
    """

def code_profiles(
    shape: tuple[int, int, int], family: str, heaviest: int
) -> list[tuple[list[tuple[int, int]], int | None, int]]:
    """Candidate column weights for a base matrix of such a shape, with columns up to weight `heaviest`.

    Each candidate has column weights, as pairs of weight and number of block columns; the memory of a chain in block
    rows, or None; and the number of punctured columns. Punctured columns are the last ones, beside those of the shape.
    A family is `regular`, `two_weights`, `three_weights`, `coupled` or `punctured`. Raises `CodeError`.
    """

def code_hardware(
    code: Code,
    *,
    node_nm: float = 28.0,
    clock_mhz: float | None = None,
    iterations: int = 5,
    checks_per_cycle: int | None = None,
    message_bits: int | None = None,
    posterior_bits: int | None = None,
    syndrome_bits_per_cycle: int | None = None,
    key_equation_multipliers: int | None = None,
    search_bits_per_cycle: int | None = None,
    encoder_bits_per_cycle: int = 32,
) -> dict[str, Any]:
    """Area, time and energy of a decoder and an encoder of a code as circuits, by the model of docs/model/hardware.md.

    Returns `code`, `kind`, `node_nm`, `clock_mhz`, and dicts `decoder` and `encoder`. Each has `gates` (equivalents of
    a NAND of two inputs), `memory_bits` and `mm2`; and for one codeword `cycles`, `us`, `gbps` (of data, one codeword
    after the other), `nj` and `pj_per_bit` (of data). The decoder of an LDPC code takes `iterations`. With
    `posterior_bits` it is a decoder by tables (`rcq:BITS:POSTERIOR`), whose messages have 4 bits unless others are
    given. The decoder of a BCH code finds errors. An argument that is None is as in a config. A function of its
    arguments. Raises `ConfigError`.
    """

def fit_wear(points: Sequence[tuple[int, float]], law: str) -> dict[str, Any]:
    """The straight line of least squares through logarithms of raw bit error rates over P/E cycles.

    `points` are pairs of P/E cycles and raw bit error rate: at least two, both growing. `law` is `power_law`
    (`scale (PE / 1000)^pe_exponent`) or `exponential` (`scale exp(PE / e_folding_pe_cycles)`). Returns `model` (as
    `rber` of a config takes it), `rms_ln` (root of the mean squared difference of natural logarithms) and
    `worst_factor` (the largest factor, above 1, by which a point is off). Raises `ConfigError`.
    """

def minimum_correctable(data_bits: int, rber: float, uber: float, per_bit: bool) -> int | None:
    """The least t with which a BCH code of `data_bits` meets `uber` at a raw bit error rate; None if none does.

    `per_bit` says whether `uber` limits P(more than t errors) / k, or that probability itself.
    """

def wear_law(
    model: str, pe_cycles: Sequence[int], rbers: Sequence[float], retention_hours: float
) -> tuple[list[float], list[int]]:
    """Raw bit error rates by a law, and for each of `rbers` the most P/E cycles that keep it.

    `model` is JSON, as `rber` of a config takes it. Raises `ConfigError`.
    """

def uniform_write_amplification(utilisation: float) -> float:
    """Write amplification of greedy collection under endless uniform overwriting of large blocks.

    `utilisation` is the share of the flash that holds data. The result is 1 / (1 - delta), where delta is the share of
    valid data in victims.
    """

def design_by_age(
    *,
    unit_bytes: int,
    units_per_page: int,
    oob_bytes: int,
    uber: float,
    points: Sequence[tuple[int, float]] | None = None,
    model: str | None = None,
    retention_hours: float = 0.0,
    squeezes: Sequence[int] = ...,
    tables: Sequence[str] = ...,
    level: int = 1,
) -> list[dict[str, Any]]:
    """Codes by age for a device, one dict for each stage: see `softsense.design`.

    `points` are pairs of P/E cycles and raw bit error rate at which stages end. Or `model` is a law as JSON, with
    `retention_hours` and `squeezes`. With `tables` the codes are measured ones, read at `level`; otherwise BCH codes.
    Raises `ConfigError`, `TableError` or `CodeError`.
    """

def measure_code(
    code: Code,
    channel: str,
    *,
    decoder: str,
    iterations: int,
    threads: int,
    seconds: float,
    frames: int | None,
    seed: int,
    progress: Callable[[float, int], None] | None = None,
    stop: StopFlag | None = None,
    backend: tuple[Callable[[NDArray[Any]], tuple[float, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]], int]
    | None = None,
) -> dict[str, Any]:
    """Measure error rate and speed of a code; `softsense.bench` describes arguments and result.

    `stop` ends the measurement early: `interrupted` is then true in the result. `backend` decodes in place of the
    decoder, on one thread: a callable, and the number of frames that it is given at once. The callable gets the words
    (uint8) or LLRs (int8) of a batch. It returns the seconds that decoding took, and C-contiguous arrays of the decided
    words (uint8), `converged` (bool), `iterations` and `syndrome_weight` (uint32). Exceptions of the callable pass
    through.
    """

def capacity(raw_bit_error_rate: float, levels: int) -> float:
    """The capacity, in bits, of one boundary between two Gaussian states that is read with `levels` references.

    Args:
        raw_bit_error_rate: rate of hard decision, from 1e-9 to 0.499.
        levels: references at the places with the most mutual information, 1 to 7.

    Raises `CodeError`.
    """

def normal_approximation(codeword_bits: int, data_bits: int, level: int, fer: float) -> float:
    """The raw bit error rate at which the best codes of a length fail at the rate `fer`: `softsense.codes.limit`."""

class AbsorbingSets:
    """Absorbing sets of one code, one of each orbit under the rotations of its circulants.

    Objects never change, and pickle together with their code.

    Attributes:
        sets: each as (bits, violated checks, sets in its orbit), by size, violated checks and bits.
        identity: SHA-256 of the sets, in hexadecimal.
    """

    sets: list[tuple[list[int], int, int]]
    identity: str
    def __init__(self, code: Code, sets: Sequence[Sequence[int]]) -> None:
        """Take lists of bit numbers. Raises `CodeError` for one that is not absorbing in this code, or comes twice."""
    def rotations(self, bits: Sequence[int]) -> list[list[int]]:
        """All sets of the orbit of a listed one, each ascending. Raises `CodeError` for bits that are not listed."""

class AbsorbingSetSearch:
    """A search for all small absorbing sets of an LDPC code, in units that can be done anywhere and in any order.

    Threads may share it.

    Attributes:
        units: number of units of work.
        start_count: number of cycles from which sets are grown, one of each orbit.
        longest_cycle: number of bits of the longest of these cycles.
    """

    units: int
    start_count: int
    longest_cycle: int
    def __init__(self, code: Code, most_bits: int, most_violated: int, stop: StopFlag | None = None) -> None:
        """Prepare the search for sets of up to `most_bits` bits (3 to 14) that violate up to `most_violated` checks.

        Raises `CodeError`, also for a matrix of more than 4,096 bits that is not quasi-cyclic; `KeyboardInterrupt` if
        `stop` was set meanwhile.
        """
    def search(self, unit: int, stop: StopFlag | None = None) -> list[tuple[list[int], int, int]] | None:
        """The sets that unit `unit` finds, as (bits, violated checks, sets in the orbit); None if `stop` was set.

        Two units may find the same set. Raises `CodeError`.
        """

def bit_sets(code: Code, sets: Sequence[Sequence[int]]) -> list[tuple[list[int], int, int, bool]]:
    """Sets of bits as the first of their orbits: (bits, violated checks, sets in the orbit, whether it is absorbing).

    Raises `CodeError`.
    """

def checks_of(code: Code, bits: Sequence[int]) -> list[list[int]]:
    """The checks of each of these bits of an LDPC code, ascending. Raises `CodeError`."""

def impulses(code: Code, seed: int, first: int, count: int, corrected: bool) -> list[list[int]]:
    """Impulses `first` to `first + count - 1` of a seed, each as its wrong bits.

    An impulse is a short cycle through a random bit, and a short path between two checks that the cycle violates. With
    `corrected`, each is given as the bits that stay wrong after Gallager's bit-flipping decoder. Raises `CodeError`.
    """

class StopFlag:
    """A flag that asks the threads of this process which count frames, or simulate, to stop.

    Attributes:
        is_set: whether the flag was set.
    """

    is_set: bool
    def __init__(self) -> None: ...
    def set(self) -> None:
        """Set the flag: counting or searching that was given it ends soon, with None."""

class FrameTask:
    """Frames of one code, decoder and way of reading, counted in units of work that can be done anywhere, in any order.

    Tasks never change, threads may share them, and they pickle together with their code.

    Attributes:
        identity: SHA-256 of everything on which the counts depend, in hexadecimal.
        spec_json: the description, every default filled in.
        unit_frames: frames of a unit of work.
        codeword_bits: n.
        data_bits: k.
        raw_error_rate: the probability that a hard decision is wrong; None for hard decisions without one.
        decision_error_rate: the probability that a decision is wrong, as conditions count it: by the sign of the LLR at
            a soft level.
        sure_error_rate: the probability that a soft level's LLR is wrong by half of the largest or more; None for hard
            decisions.
    """

    identity: str
    spec_json: str
    unit_frames: int
    codeword_bits: int
    data_bits: int
    raw_error_rate: float | None
    decision_error_rate: float | None
    sure_error_rate: float | None
    def __init__(self, code: Code, spec_json: str, sets: AbsorbingSets | None = None) -> None:
        """`spec_json` is an object of decoder, iterations, seed and channel (docs/model/frame-error-rates.md).

        If it has a `condition`, frames are drawn by the absorbing sets `sets`. Raises `CodeError` or `ConfigError`.
        """
    def region_probabilities(self, rber: float) -> NDArray[np.float64]:
        """The probability of each outcome of the channel for one bit, were its raw bit error rate `rber`.

        Outcomes of hard decisions are wrong and right. Outcomes of a soft level of one Gaussian boundary are its
        regions, from the one whose LLR speaks most against the bit up. Regions of one integer LLR count as one.
        References and LLRs are made for the task's own rate.

        Args:
            rber: raw bit error rate, 1e-12 (of a soft level 1e-9) to 0.499.

        Returns float64, adding up to 1. Raises `ConfigError`: a soft level of cells with an age, or a rate out of
        range.
        """
    def count(
        self, errors: int | None, first_unit: int, units: int, stop: StopFlag | None = None
    ) -> dict[str, Any] | None:
        """Count the frames of units `first_unit` to `first_unit + units - 1`. Counts are equal on every machine.

        Args:
            errors: number of wrong hard decisions in each frame; None: frames are as the channel makes them.
            first_unit: the first unit, from 0.
            units: number of units.
            stop: a flag that ends the count early, with None.

        Returns `frames`, `failures` (given up, or decided wrongly), `undetected` (failures that were reported as
        decoded) and `iterations` (frames that were taken for codewords after 0, 1, 2, ... iterations). Raises
        `CodeError` or `ConfigError`.
        """
    def split(
        self,
        ladder: Sequence[float],
        particles: int,
        steps: int,
        unit: int,
        redraw: float | None = None,
        most_frames: int = 16777216,
        patterns: bool = False,
        stop: StopFlag | None = None,
    ) -> dict[str, Any] | None:
        """Carry patterns on which the decoder fails down a ladder of raw bit error rates: splitting.

        Run `unit` gives equal results on every machine, and runs of other numbers are independent.
        `softsense.splitting` combines runs.

        Args:
            ladder: raw bit error rates, falling. At the first one frames are decoded as the channel makes them. A soft
                level has to be one of the Gaussian boundary. Its last rate is the task's own: references and LLRs are
                made for that rate on all rungs.
            particles: error patterns that are carried down.
            steps: proposals for each pattern at each rung below the first.
            unit: the number of the run, from 0.
            redraw: the probability with which a proposal redraws a bit; None: found, so that 0.2 to 0.5 are taken.
            most_frames: the most frames at the first rung; without enough failures in them an error is raised.
            patterns: whether to return the patterns at the last rung.
            stop: a flag that ends the run early, with None.

        Returns `frames` (decoded at the first rung until enough had failed; the last one did), `decoded` (on all
        rungs), `rungs` and `patterns`.

        A rung has `rber`, `log_ratio` (ln of its rate over that of the first rung), `effective` (sample size of the
        weights that led to it, over `particles`), `redraw`, `acceptance` (share of proposals taken; proposals that
        change nothing are taken) and `moved` (share taken that changed something). Figures of the patterns after the
        moves are `mean_errors`, `deviation_errors`, `least_errors`, `ancestors` (patterns of the first rung that have
        descendants), `largest_family`, `floor_like` (patterns that end with 1 to 64 violated checks) and `undetected`.

        A pattern has `errors` and `left` (places of bits that are wrong before and after decoding) and
        `syndrome_weight`. At a soft level the sign of the LLR tells which bits are wrong before decoding. Raises
        `CodeError` or `ConfigError`.
        """
    def walk(
        self,
        rber: float,
        starts: Sequence[Sequence[int]],
        steps: int,
        unit: int,
        sets: Sequence[Sequence[int]] = [],
        every: int = 1,
        redraw: float | None = None,
        missing: int = 0,
        fill: bool = True,
        most_draws: int = 1000,
        stop: StopFlag | None = None,
    ) -> dict[str, Any] | None:
        """Walk among the patterns on which the decoder fails at a raw bit error rate, a chain from each start.

        The chains leave the distribution of the channel, given that decoding fails, unchanged.

        Args:
            rber: raw bit error rate. A soft level has to be one of the Gaussian boundary, at the task's own rate.
            starts: for each chain the bits that are wrong at its start; at a soft level, bits whose LLR has the wrong
                sign.
            steps: proposals of each chain.
            unit: number of the chains; chains of other numbers are independent.
            sets: listed sets of bits.
            every: number of proposals between two records.
            redraw: the probability with which a proposal redraws a bit; None: found at the start of each chain.
            missing: a listed set counts as present if at most so many of its bits are right.
            fill: whether the other bits of a start are drawn as the channel makes them, or have its likeliest outcome.
            most_draws: the most draws of the other bits and the codeword's data until the decoder fails.
            stop: a flag that ends the walk early, with None.

        Returns arrays (uint32, chains x records): `errors`, `syndrome_weight`, `nearest` (the listed set with the
        largest share of wrong bits), `nearest_wrong` (its wrong bits) and `present` (number of present sets).

        Lists have an item for each chain. `draws` counts draws of the other bits and of data until the decoder failed;
        both are then as the channel makes them, given the start and failure. It is 0 if the decoder never failed, and
        the chain's records are then zeros. `redraw`, `acceptance` and `moved` are as in `split`. `last` is the pattern
        at the end of the chain, or None. Raises `CodeError` or `ConfigError`.
        """

def binomial_interval(failures: int, trials: int, confidence: float) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of a probability, after `failures` of `trials` trials failed."""

def student_t_quantile(degrees: int, confidence: float) -> float:
    """The two-sided quantile of Student's t distribution, for so many degrees of freedom and this confidence.

    The interval of a mean reaches so many standard errors to either side.
    """

def decode_table_check(text: str, origin: str) -> None:
    """Check the text of a decode table; `origin` names it in errors. Raises `TableError`."""

def decode_tables() -> list[str]:
    """The names of the shipped decode tables."""

class DecodeTable:
    """Failure probabilities of a code at each read level, on a grid of raw bit error rates.

    Attributes:
        text: the table in TOML.
        data_bits: data bits of a codeword of its code; None where the table does not say.
    """

    text: str
    data_bits: int | None
    def __new__(cls, name: str) -> DecodeTable:
        """Open a shipped table by its name, the table of a BCH code by the code's name, or a file.

        Raises `TableError`.
        """

    def p_fail(self, rber: NDArray[np.float64], levels: int | None = None) -> NDArray[np.float64]:
        """The probability that decoding fails at each of `rber` (float64, shape (n,)).

        Returns one row for each level, or the first `levels` of them; the first is hard decision (float64, shape
        (levels, n)). Raises `ConfigError` where the table has fewer.
        """

    def reaches(self, rber: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the table covers each of `rber` (float64, shape (n,)); elsewhere `p_fail` is a guess.

        The guess is the value at its nearest point. One bool each, shape (n,).
        """

class Cells:
    """The cells of one wordline at one age: distributions of threshold voltage, pages and reference voltages.

    Attributes:
        spec_json: every parameter, as JSON.
        pe_cycles: program/erase cycles.
        retention_hours: hours since the cells were written.
        effective_reads: reads that have disturbed the cells since then.
        adjacent_stress: effective reads for which one read of a neighbouring wordline counts; `None` where reads do not
            disturb.
        states: number of states.
        pages: the names of the pages.
        references: the hard reference voltage at each boundary between states (float64, V).
        shares_of_ones: the share of cells that a hard decision reads as 1, by page: half where all are read right.
        known_errors: the share of known cells (sentinels) in the two states about each boundary that are read wrong
            (shape (states - 1, 2)): of the lower state those above the reference, of the upper one those below.
    """

    spec_json: str
    pe_cycles: int
    retention_hours: float
    effective_reads: float
    adjacent_stress: float | None
    states: int
    pages: list[str]
    references: NDArray[np.float64]
    shares_of_ones: NDArray[np.float64]
    known_errors: NDArray[np.float64]
    @staticmethod
    def open(
        name: str = "mlc",
        pe_cycles: int = 0,
        retention_hours: float = 0.0,
        references: str | None = None,
        retention_temperature_c: float | None = None,
        effective_reads: float = 0.0,
    ) -> Cells:
        """The cells that `name` means at an age: a shipped model (see `names`) or a TOML file. Raises `ConfigError`.

        Args:
            name: name of a shipped model, or the path of a file.
            pe_cycles: program/erase cycles.
            retention_hours: hours since the cells were written.
            references: `default` (the chip's) or `tracked` (best at this age); default: the model's.
            retention_temperature_c: temperature at which data rests, in degrees Celsius, for measured cells; default:
                the cells' own.
            effective_reads: reads of other wordlines of the block since then; each read of a neighbouring wordline
                counts as `adjacent_stress` reads.
        """
    def boundaries(self, page: int) -> list[int]:
        """The boundaries at which the bit of `page` changes: i is between states i and i + 1. Raises `ConfigError`."""
    @staticmethod
    def states_of_valleys(points: Sequence[tuple[int, float, float]], states: int) -> list[tuple[float, float]]:
        """Means and standard deviations of normal states that have these valleys.

        Args:
            points: boundary (from 0), reference (any unit), and the share of all cells that it puts on the wrong side.
            states: 2 to 16.

        Raises `ConfigError`: points that tell too little.
        """
    @staticmethod
    def from_json(text: str, pe_cycles: int = 0, retention_hours: float = 0.0) -> Cells:
        """The cells of a model as `spec_json` and `fit_json` give it. Raises `ConfigError`."""
    @staticmethod
    def fit_json(
        measurements: Sequence[tuple[int, float, Sequence[float], Sequence[float] | None]],
        mapping: str,
        unit_v: float = 1.0,
        temperature_c: float = 40.0,
    ) -> str:
        """The model that fits measurements best, as JSON; see `softsense.measured_cells.fit`. Raises `ConfigError`.

        Args:
            measurements: for each age: P/E cycles, hours since the write, means by state, and standard deviations or
                None.
            mapping: the mapping of states to bits, such as `tlc_2_3_2`.
            unit_v: the unit of means and standard deviations, in volts.
            temperature_c: temperature of the measurements, in degrees Celsius.
        """
    def toml(self, digits: int = 4) -> str:
        """The model as TOML, as `open` reads it from a file, with so many digits after the point."""
    def with_references(self, references: str) -> Cells:
        """A copy of the cells with other references, `default` or `tracked`. Raises `ConfigError`."""
    def rber_off(self, offsets_v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Raw bit error rates of each page (shape (n, pages)) with references shifted by each row of `offsets_v`.

        Args:
            offsets_v: shifts for each boundary between states, in volts (shape (n, boundaries)).

        Raises `ConfigError`.
        """
    def inferred_steps(self, difference: float) -> int:
        """The number of steps off the default references that a measured difference of known cells asks for.

        Args:
            difference: at the boundary of `references.inference`: the share of cells of the lower state that read
                above, less the share of cells of the upper state that read below.

        Raises `ConfigError` where the cells have no `references.inference`. So do `calibrated_steps` and
        `inferred_offsets_v`.
        """
    def calibrated_steps(self, steps: int, difference: float) -> int:
        """The number of steps off the default references to which references are moved after a failure.

        Args:
            steps: number of steps off in the failed attempt.
            difference: difference of known cells in that attempt.
        """
    def inferred_offsets_v(self, steps: int) -> NDArray[np.float64]:
        """Offsets of the references by boundary (V), where that of the measured boundary is so many steps off."""
    def search_valleys(
        self, step_v: float | None = None, sensings: int | None = None, cells: int | None = None
    ) -> dict[str, Any]:
        """The outcome of a search for the valleys between states that begins at the default references.

        Args:
            step_v: distance of neighbouring sensings (V, 1e-4 to 1); default, as for the others: the cells' own search.
            sensings: sensings of each boundary, an odd number from 3 to 63.
            cells: number of cells that are counted, those of a page.

        Returns:
            `counts` (float64, the mean number of cells in each gap between two sensings, shape (states - 1, gaps)),
            `offsets_v` (float64, V, of the middle of each gap), `found_v` (float64, V, the offset that is found most
            often at each boundary), `rber` (float64, by page, the mean over the offsets that may be found). Counts are
            means, without random draws.

        Raises `ConfigError`.
        """
    def means_and_spreads(self) -> NDArray[np.float64]:
        """Mean and standard deviation of the threshold voltages of each state (V, shape (states, 2))."""
    @staticmethod
    def names() -> list[str]:
        """The names of the shipped models."""
    def at(self, pe_cycles: int, retention_hours: float, effective_reads: float = 0.0) -> Cells:
        """A copy of the cells at another age. Raises `ConfigError`."""
    def effective_reads_if_even(self, reads: float, wordlines_per_block: int) -> float:
        """Effective reads of a wordline between two others when reads are spread evenly over those of its block.

        Args:
            reads: number of reads of the block.
            wordlines_per_block: 3 or more.

        0 for cells that reads do not disturb. Raises `ConfigError`.
        """
    def bit(self, page: int, state: int) -> bool:
        """The bit of `page` that `state` holds. Raises `ConfigError`."""
    def hard_references(self, page: int) -> NDArray[np.float64]:
        """The hard reference voltages of `page`, one at each boundary at which its bit changes (float64, V).

        Raises `ConfigError`.
        """
    def cdf(self, state: int, volts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that a cell in `state` is below each of `volts` (shape (n,), V). Raises `ConfigError`."""
    def density(self, state: int, volts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The density of the threshold voltage of a cell in `state` at each of `volts` (1/V). Raises `ConfigError`."""
    def rber(self, page: int | None = None) -> float:
        """The raw bit error rate of `page`; without a page the mean over all pages. Raises `ConfigError`."""
    def sample(self, state: int, count: int, seed: int = 1) -> NDArray[np.float64]:
        """Threshold voltages of `count` cells in `state` (V), a function of the seed. Raises `ConfigError`."""
    def sense(
        self, page: int, level: int, *, placement: str = "mutual_information", assumed: Cells | None = None
    ) -> dict[str, Any]:
        """Reference voltages, regions and LLRs with which `page` is read at `level`, 1 to 7.

        Args:
            page: number of the page, from 0.
            level: the read level: number of references at each boundary.
            placement: `mutual_information`, `nested` or `uniform`.
            assumed: the cells for which the controller makes references and LLRs; default: these cells.

        Returns `references` (float64, V), and for each region between them `probabilities` (float64, shape
        (regions, 2), given bit 0 and bit 1), `llrs` (float64, natural logarithm) and `integer_llrs` (int8, as a decoder
        is given them, in steps of `llr_step`, a natural logarithm). Also `information` (between bit and region, in
        bits), `sensings` and `bits_per_cell` (transferred). Raises `ConfigError`.
        """

def placement_json(text: str) -> str:
    """The placement of references, from `mutual_information`, `nested`, `uniform` or `uniform:STEP_V`, as JSON.

    The JSON is for a task. Raises `ConfigError`.
    """

def retention_bake_minutes(
    retention_hours: float, operating_c: float, bake_c: float, activation_energy_ev: float
) -> float:
    """Minutes in an oven at `bake_c` that age stored data as much as `retention_hours` at `operating_c`."""

def recovery_bake_minutes(
    recovery_constant: float, cycling_hours: float, cycling_c: float, bake_c: float, activation_energy_ev: float
) -> float:
    """Minutes in an oven at `bake_c` in which a block recovers as much as in `cycling_hours` of use at `cycling_c`."""
