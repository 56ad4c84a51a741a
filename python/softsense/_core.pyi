"""The native core: configurations, traces and the simulator itself."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__version__: str

class SoftsenseError(Exception):
    """Bad input; the message is one line and names the place."""

class ConfigError(SoftsenseError):
    """A configuration field, or a combination of fields that cannot be built."""

class TraceError(SoftsenseError):
    """A trace file, one of its lines, or a trace that does not fit the device."""

class TableError(SoftsenseError):
    """A decode table."""

class FileError(SoftsenseError):
    """The operating system refused to read or write a file."""

def build_info() -> dict[str, str]:
    """What this build is: version, model_version, profile and target."""

def config_schema() -> str:
    """The JSON schema of a configuration."""

def policies() -> list[tuple[str, str]]:
    """Name and one sentence for every read policy."""

class Config:
    """A checked configuration of device, error correction and workload."""

    sha256: str
    user_bytes: int
    has_workload: bool
    @staticmethod
    def from_toml(text: str, origin: str, overrides: list[str] = []) -> Config:
        """Read TOML; `origin` is the file's name, and paths in it resolve beside that file."""
    def with_overrides(self, overrides: list[str]) -> Config:
        """The same configuration with fields replaced, each written as `ftl.over_provisioning=0.28`."""
    def to_toml(self) -> str:
        """The resolved configuration, every default filled in."""
    def to_json(self) -> str:
        """The resolved configuration as JSON."""
    def describe(self) -> list[tuple[str, str]]:
        """Label and value rows for people."""
    def describe_workload(self) -> list[tuple[str, str]]:
        """Label and value rows of the `[workload]` section."""
    def write_workload(self, to: str, format: str = "mqsim") -> int:
        """Write the `[workload]` section as a trace file; returns the number of requests."""

class Trace:
    """A block trace, recognised and scanned from start to end."""

    def __init__(
        self,
        path: str,
        *,
        format: str | None = None,
        time_unit: str | None = None,
        size_unit: str | None = None,
        devices: str = "stack",
        progress: Callable[[float], None] | None = None,
    ) -> None: ...
    def stats_json(self) -> str:
        """Format, units, counts, span, footprint and extent as JSON."""
    def describe(self) -> list[tuple[str, str]]:
        """The same as label and value rows for people."""
    def convert(self, to: str, format: str = "csv", progress: Callable[[float], None] | None = None) -> int:
        """Write the trace in another format; returns the number of requests."""

class Run:
    """One simulation: one configuration, one workload."""

    requests: int
    fraction: float
    simulated_s: float
    def __init__(
        self, config: Config, trace: Trace | None = None, *, beyond: str = "reject", log_requests: bool = False
    ) -> None: ...
    def advance(self, requests: int) -> bool:
        """Simulate until about that many more requests have completed; False when all have."""
    def summary_json(self, interrupted: bool = False) -> str:
        """What has been measured so far."""
    def distribution(self, kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Response times in us and the fraction of `read`, `write` or `all` requests at or below each."""
    def take_log(self) -> dict[str, NDArray[np.generic]]:
        """The columns of the requests that have completed since the last call."""
