"""Inputs that several commands open before they measure: codes, traces, workers and Dask clusters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softsense import Code, Config, ConfigError, Trace
from softsense.base import check_extra
from softsense.cli.output import progress_bars

if TYPE_CHECKING:
    from softsense import Store

_CONNECT_S = 5


@contextlib.contextmanager
def measuring(name: str, no_progress: bool, options: dict[str, Any]) -> Iterator[tuple[Code, dict[str, Any]]]:
    """Open the code, and turn command-line options into arguments of the Python function, with workers and progress."""
    with measuring_codes([name], no_progress, options) as ((code,), running):
        yield code, running


@contextlib.contextmanager
def measuring_codes(
    names: Sequence[str], no_progress: bool, options: dict[str, Any]
) -> Iterator[tuple[list[Code], dict[str, Any]]]:
    """Open several codes, and turn command-line options into arguments, as `measuring` does for one code."""
    from softsense import following

    given = dict(options)
    redundant = given.pop("redundant_checks")
    codes = [Code.open(name, redundant) for name in names]
    address, workers = given.pop("dask"), given.pop("workers")
    if "traps" in given:
        chosen = given.pop("traps")
        given |= {} if chosen is None else {"traps": None if chosen == "none" else chosen}
    with (
        opened_shard(given.pop("store"), given.pop("shard")) as store,
        dask_executor(address) as executor,
        progress_bars(no_progress, given.pop("what", "frames")) as report,
        following.following(
            following.beside(store), "frames", ", ".join(code.name for code in codes), report
        ) as followed,
    ):
        yield codes, {**given, "store": store, "workers": executor or workers, "progress": followed}


@contextlib.contextmanager
def opened_shard(store: Path | None, shard: str | None) -> Iterator[Path | Store | None]:
    """The store of a shard; without a shard the file that was given, or None."""
    if shard is None:
        yield store
        return
    from softsense.shards import Shard, parse_part

    part, parts = parse_part(shard)
    if store is None:
        raise ConfigError(
            f"--shard: found {shard} without --store, expected --store with the store of all shards, such as "
            "--store all.fer"
        )
    with Shard(store, part, parts) as opened:
        yield opened


def asked(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a measurement on which its results depend, without the seed and without those about workers."""
    return {key: value for key, value in options.items() if key not in ("workers", "dask", "store", "shard", "seed")}


@contextlib.contextmanager
def dask_executor(address: str | None) -> Iterator[Any]:
    """The executor of a Dask cluster; None without an address."""
    if address is None:
        yield None
        return
    check_extra("--dask", "dask")
    import asyncio

    from distributed import Client
    from distributed.comm.core import connect

    async def reach() -> None:
        connection = await connect(address, timeout=_CONNECT_S)
        await connection.close()

    try:
        # A Dask client that finds no scheduler prints tracebacks, so the connection is tried first.
        asyncio.run(reach())
    except (OSError, ValueError) as error:
        raise ConfigError(f"--dask: {address}: cannot connect: {error}") from None
    with Client(address, set_as_default=False) as client:
        yield client.get_executor()


def opened_trace(file: str, no_progress: bool, options: dict[str, Any]) -> Trace:
    """The trace in a file, scanned with progress; `options` are those of `Trace`."""
    with progress_bars(no_progress) as report:
        what = f"scanning {trace_name(file)}"
        return Trace(file, progress=lambda fraction: report(what, 0, fraction), **options)


def trace_name(file: str) -> str:
    """The name of a trace in messages."""
    return "standard input" if file == "-" else Path(file).name


def starting_reliability(config: Config) -> str:
    """A table of the codewords' error rates at the start; empty where the config has no raw bit error rates."""
    from softsense import flash, tables

    if not config.knows_rber:
        return ""
    return tables.starting_reliability(flash.starting_reliability(config))


def config_rows(config: Config, workload: bool) -> list[tuple[str, str]]:
    """Rows that describe a config, with its own workload if `workload` is set and it has one."""
    return config.describe() + (config.describe_workload() if workload and config.has_workload else [])
