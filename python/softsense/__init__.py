"""softsense: an SSD simulator whose error correction is real.

The main question, in three lines::

    import softsense

    comparison = softsense.compare("configs/mlc-25nm.toml", "trace.csv")
    print(comparison.table)

`run` measures one read policy, `compare` several on the same codewords with the same luck. `Code` is an LDPC or BCH
code with its encoder and decoders, and `bench` measures it (see `softsense.codes`); `Cells` are flash cells at an age;
`find_traps` finds the absorbing sets that make a code's error floor; `measure_fer` finds frame error rates down to
1e-15, keeps its counts in a `Store`, and `build_table` makes decode tables of them. Configurations, traces and codes
are checked by the Rust core; whatever is wrong with them raises a `SoftsenseError` that names the place.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from softsense._core import (
    Cells,
    Code,
    CodeError,
    Config,
    ConfigError,
    Decoder,
    DecodeResult,
    FileError,
    SoftsenseError,
    TableError,
    Trace,
    TraceError,
    __version__,
    build_info,
    config_schema,
    policies,
)
from softsense.api import NO_SOFT_SENSING, Comparison, Interrupted, RunResult, compare, load_config, run
from softsense.codes import bench
from softsense.store import Store

if TYPE_CHECKING:
    from softsense.campaign import FerResult, measure_fer
    from softsense.decode_tables import BuiltTable, build_table
    from softsense.traps import Traps, find_traps

__all__ = [
    "NO_SOFT_SENSING",
    "BuiltTable",
    "Cells",
    "Code",
    "CodeError",
    "Comparison",
    "Config",
    "ConfigError",
    "DecodeResult",
    "Decoder",
    "FerResult",
    "FileError",
    "Interrupted",
    "RunResult",
    "SoftsenseError",
    "Store",
    "TableError",
    "Trace",
    "TraceError",
    "Traps",
    "__version__",
    "bench",
    "build_info",
    "build_table",
    "compare",
    "config_schema",
    "find_traps",
    "load_config",
    "measure_fer",
    "policies",
    "run",
]

# What needs NumPy waits until it is asked for, so that importing softsense is quick.
_LATE = {
    "BuiltTable": "softsense.decode_tables",
    "FerResult": "softsense.campaign",
    "Traps": "softsense.traps",
    "build_table": "softsense.decode_tables",
    "find_traps": "softsense.traps",
    "measure_fer": "softsense.campaign",
}


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module `softsense` has no attribute `{name}`")
