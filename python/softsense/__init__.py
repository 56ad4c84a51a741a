"""softsense: an SSD simulator whose error correction is real.

The main question, in three lines::

    import softsense

    comparison = softsense.compare("configs/mlc-25nm.toml", "trace.csv")
    print(comparison.table)

`run` measures one read policy, `compare` several on the same codewords with the same luck. `Code` is an LDPC or BCH
code with its encoder and decoders, and `bench` measures it (see `softsense.codes`). Configurations, traces and codes
are checked by the Rust core; whatever is wrong with them raises a `SoftsenseError` that names the place.
"""

from softsense._core import (
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

__all__ = [
    "NO_SOFT_SENSING",
    "Code",
    "CodeError",
    "Comparison",
    "Config",
    "ConfigError",
    "DecodeResult",
    "Decoder",
    "FileError",
    "Interrupted",
    "RunResult",
    "SoftsenseError",
    "TableError",
    "Trace",
    "TraceError",
    "__version__",
    "bench",
    "build_info",
    "compare",
    "config_schema",
    "load_config",
    "policies",
    "run",
]
