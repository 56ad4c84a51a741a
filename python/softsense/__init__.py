"""softsense: an SSD simulator whose error correction is real.

The main question, in three lines::

    import softsense

    comparison = softsense.compare("configs/mlc-25nm.toml", "trace.csv")
    print(comparison.table)

`run` simulates one read policy, and `compare` several of them on the same codewords with the same random draws.
`fairness` measures how much the tenants of one device slow one another down. `Code` is an LDPC or BCH code with its
encoder and decoders, and `bench` measures it (see `softsense.codes`). `conform` compares a decoder of your own with the
shipped one (see `softsense.backends`). `Cells` are flash cells at an age. `find_traps` finds the absorbing sets that
make a code's error floor. `measure_fer` measures frame error rates down to 1e-15; a `Store` keeps its counts.
`design_code` designs an LDPC code. `build_table` makes decode tables, and `judge_table` finds their rarest rates. The
Rust core checks configurations, traces and codes; a fault in them raises a `SoftsenseError` that names the place.
"""

from importlib import import_module

__all__ = [
    "NO_SOFT_SENSING",
    "BuiltTable",
    "Cells",
    "Code",
    "CodeComparison",
    "CodeDesign",
    "CodeError",
    "Comparison",
    "Config",
    "ConfigError",
    "Conformance",
    "DecodeResult",
    "Decoder",
    "DecoderVectors",
    "Fairness",
    "FerResult",
    "FileError",
    "Interrupted",
    "JudgedTable",
    "Merged",
    "ReadStep",
    "RunResult",
    "RunTimeline",
    "Shard",
    "ShardDone",
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
    "compare_codes",
    "config_schema",
    "configs",
    "conform",
    "decoder_vectors",
    "design_code",
    "fairness",
    "find_traps",
    "judge_table",
    "load_config",
    "measure_fer",
    "merge",
    "policies",
    "run",
]

# Every name is imported when it is first used: importing softsense is quick, and the command hears Ctrl-C from its
# beginning. Type checkers and editors read `__init__.pyi`.
_HOMES = {
    "api": ("compare", "load_config", "run"),
    "base": ("NO_SOFT_SENSING", "Interrupted", "ShardDone"),
    "campaign": ("FerResult", "measure_fer"),
    "code_comparison": ("CodeComparison", "compare_codes"),
    "code_design": ("CodeDesign", "design_code"),
    "codes": ("bench",),
    "conformance": ("Conformance", "conform"),
    "decode_tables": ("BuiltTable", "build_table"),
    "judged_tables": ("JudgedTable", "judge_table"),
    "merging": ("merge",),
    "parts": ("Merged",),
    "results": ("Comparison", "RunResult"),
    "run_timeline": ("RunTimeline",),
    "shards": ("Shard",),
    "store": ("Store",),
    "tenants": ("Fairness", "fairness"),
    "traces": ("Trace",),
    "traps": ("Traps", "find_traps"),
    "vectors": ("DecoderVectors", "decoder_vectors"),
}
_HOME = {name: f"softsense.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module `softsense` has no attribute `{name}`")
    # Later accesses find the name without calling this function.
    value = globals()[name] = getattr(import_module(_HOME.get(name, "softsense._core")), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
