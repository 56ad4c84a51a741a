"""The public names, for type checkers and editors."""

from softsense._core import (
    Cells as Cells,
    Code as Code,
    CodeError as CodeError,
    Config as Config,
    ConfigError as ConfigError,
    Decoder as Decoder,
    DecodeResult as DecodeResult,
    FileError as FileError,
    ReadStep as ReadStep,
    SoftsenseError as SoftsenseError,
    TableError as TableError,
    TraceError as TraceError,
    __version__ as __version__,
    build_info as build_info,
    config_schema as config_schema,
    configs as configs,
    policies as policies,
)
from softsense.api import compare as compare, load_config as load_config, run as run
from softsense.base import NO_SOFT_SENSING as NO_SOFT_SENSING, Interrupted as Interrupted, ShardDone as ShardDone
from softsense.campaign import FerResult as FerResult, measure_fer as measure_fer
from softsense.code_comparison import CodeComparison as CodeComparison, compare_codes as compare_codes
from softsense.code_design import CodeDesign as CodeDesign, design_code as design_code
from softsense.codes import bench as bench
from softsense.conformance import Conformance as Conformance, conform as conform
from softsense.decode_tables import BuiltTable as BuiltTable, build_table as build_table
from softsense.judged_tables import JudgedTable as JudgedTable, judge_table as judge_table
from softsense.merging import merge as merge
from softsense.parts import Merged as Merged
from softsense.results import Comparison as Comparison, RunResult as RunResult
from softsense.run_timeline import RunTimeline as RunTimeline
from softsense.shards import Shard as Shard
from softsense.store import Store as Store
from softsense.tenants import Fairness as Fairness, fairness as fairness
from softsense.traces import Trace as Trace
from softsense.traps import Traps as Traps, find_traps as find_traps
from softsense.vectors import DecoderVectors as DecoderVectors, decoder_vectors as decoder_vectors
