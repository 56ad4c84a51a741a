"""Is every kind of bad input, to every command, one error that names the place, with exit code 2 and nothing written?

The commands are those that click knows: one without rows here fails.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import softsense
from conftest import ROOT, Softsense
from softsense import cli, store

Rows = list[tuple[list[str], list[str]]]
"""Arguments after the command, and what the message has to say."""

SMALL = [
    *("--set", "geometry.channels=1", "--set", "geometry.chips_per_channel=1", "--set", "geometry.dies_per_chip=1"),
    *(
        "--set",
        "geometry.blocks_per_plane=256",
        "--set",
        "workload.requests=100",
        "--set",
        "workload.footprint_bytes=1048576",
    ),
]

MANIFEST = b'{"schema": 1, "kind": "%s", "softsense": {"version": "0.1.0", "model_version": "13"}}'

FILES: dict[str, bytes] = {
    "file": b"in the way",
    "latencies.csv": b",0\n" + b"".join(b"%d,%d\n" % (100 + 10 * i, 500 * (i in (7, 8, 9, 14))) for i in range(30)),
    "loads.toml": b"[drive]\nuser_bytes = 16_000_000_000\n[[load]]\nname = 'reads'\njobs = [{ name = 'reader', rw = "
    b"'randread' }]\nmeasured = { read_iops = 10000 }\n",
    "broken.toml": b"geometry = [",
    "binary.toml": b"\xff\xfe\x00geometry",
    "wings.toml": b"[geometry]\nwings = 2\n",
    "no-workload.toml": b"[geometry]\nchannels = 2\n",
    "empty.trace": b"",
    "letters.trace": b"0 0 0 8 1\n1000 0 eight 8 1\n2000 0 16 8 1\n",
    "far.trace": b"0 0 0 8 1\n1000 0 8000000000 8 1\n2000 0 8 8 0\n",
    "good.trace": b"0 0 0 8 1\n1000 0 8 8 1\n2000 0 16 8 0\n",
    "tabs.trace": b"a\tb\t3\n",
    "torn.parquet": b"PAR1 but not much of it",
    "broken.alist": b"4 2\n2 2\n1 1 1\n",
    "broken.qc": b"2 4 8\n0 1 2 9\n0 1 2 3\n",
    "there.qc": b"a file that nobody may replace",
    "there.toml": b"a file that nobody may replace",
    "torn.fer": b"SQLite format 3\x00, but not much of it",
    # A header alone: the version of a store stands in its first hundred bytes.
    "newer.fer": b"SQLite format 3\0".ljust(60, b"\0")
    + (store.VERSION + 1).to_bytes(4, "big")
    + b"\0" * 4
    + store.APPLICATION_ID.to_bytes(4, "big")
    + b"\0" * 4024,
    "sets.toml": (Path(softsense.__file__).parent / "absorbing_sets" / "flash-8-9.toml").read_bytes(),
    # The Hamming code, which is not made of circulants.
    "there.alist": b"7 3\n3 4\n1 1 2 1 2 2 3\n4 4 4\n1 0 0\n2 0 0\n1 2 0\n3 0 0\n1 3 0\n2 3 0\n1 2 3\n"
    b"1 3 5 7\n2 3 6 7\n4 5 6 7\n",
    "there.bch": b"no code",
    "there.json": b"{}",
    "boards/torn/entries/a.json": b"{",
    "boards/strange/published.json": b'{"rows": [{"entry": "a"}]}',
    "boards/strange/entries/a.json": (ROOT / "board" / "entries" / "bch-1939-t29.json").read_bytes(),
    "boards/foreign/entries/a.json": b'{"format": "softsense board entry, version 0"}',
    "codes/bch-1939-t29.bch": b"bch:m=11,t=29,k=1620",
    "decoder.py": b"class Mute:\n    pass\n",
    "binary.py": b"\xff\xfe",
    "cells.toml": b"states = 3\n",
    "table.toml": b"levels = 3\n",
    **{
        f"missing-{name}.toml": b"format = 'softsense decode table, version 1'\nname = 't'\ncode = 'c'\ndecoder = 'd'\n"
        b"source = 's'\ninterpolation = 'log'\nrber = [0.001, 0.002]\n[[level]]\np_fail = [1e-8, 1e-2]\n"
        b"missing = " + column + b"\n"
        for name, column in (("short", b"[0.0]"), ("negative", b"[0.0, -0.5]"), ("nan", b"[nan, 0.0]"))
    },
    "there.csv": b"a file that nobody may replace",
    "torn-results/results.json": b"{",
    "foreign-results/results.json": b'{"kind": "benchmark", "score": 5}',
    "lost-results/results.json": MANIFEST % b"run",
    "odd-results/results.json": MANIFEST % b"dream",
    "other-results/results.json": MANIFEST % b"compare",
    "other-results/summary.json": b'{"policies": 7}',
    "changed-results/results.json": MANIFEST[:-1] % b"run" + b', "sha256": {"summary.json": "00"}}',
    "changed-results/summary.json": b'{"name": "two_step"}',
    "unfinished-results/.lock": b'{"softsense": "lock", "process": "process 7 on moon", "identity": ""}',
    "fer-results/results.json": MANIFEST % b"fer",
    "fer-results/fer.json": b'{"points": [{"level": 1, "rber": 0.001, "fer": 1e-5}]}',
    "sweep.toml": b"[sweep]\n",
    "good-sweep.toml": b"config = 'mlc-25nm'\n[grid]\n'ftl.over_provisioning' = [0.1, 0.2]\n",
    "sweep-wings.toml": b"name = 'a'\nconfig = 'mlc-25nm'\n[grid]\n'geometry.wings' = [1, 2]\n",
}

CPU = "softsense.backends:Cpu"

BACKENDS: Rows = [
    (["decoder.py"], ["backend", "decoder.py", "FILE.py:CLASS"]),
    (["nowhere.py:Decoder"], ["backend", "nowhere.py"]),
    (["nowhere:Decoder"], ["backend", "nowhere"]),
    (["decoder.py:Nobody"], ["backend", "Nobody", "decode"]),
    (["decoder.py:Mute"], ["backend", "decoder.py:Mute", "decode"]),
    (["binary.py:Decoder"], ["backend", "binary.py", "cannot be read"]),
]

CONFIGS: Rows = [
    ([], ["CONFIG"]),
    (["nowhere.toml"], ["nowhere.toml", "mlc-25nm"]),
    (["folder"], ["folder"]),
    (["broken.toml"], ["broken.toml", "1"]),
    (["binary.toml"], ["binary.toml", "UTF-8"]),
    (["wings.toml"], ["wings.toml", "wings", "channels"]),
    (["mlc-25nm", "--set", "geometry.wings=2"], ["geometry", "wings"]),
    (["mlc-25nm", "--set", "geometry.channels"], ["geometry.channels"]),
    (["mlc-25nm", "--set", "geometry.channels=0"], ["geometry.channels", "0"]),
    (["mlc-25nm", "--set", "geometry.channels='eight'"], ["geometry.channels", "eight"]),
    (["mlc-25nm", "--set", "=1"], ["--set", "unknown field", "geometry"]),
    (["mlc-25nm", "--seed", "lucky"], ["--seed", "lucky"]),
    (["mlc-25nm", "--seed", "-1"], ["seed", "-1"]),
    (["mlc-25nm", "--wings"], ["--wings"]),
]
"""What is wrong with the config is the same wherever there is one."""

TRACES: Rows = [
    (["nowhere.trace"], ["nowhere.trace"]),
    (["folder"], ["folder"]),
    (["empty.trace"], ["empty.trace"]),
    (["letters.trace", "--format", "mqsim"], ["letters.trace:2", "eight"]),
    (["good.trace", "--format", "punched-card"], ["--format", "punched-card", "mqsim"]),
    (["good.trace", "--format", "mqsim", "--time-unit", "weeks"], ["--time-unit", "weeks", "ms"]),
    (["good.trace", "--format", "mqsim", "--size-unit", "yards"], ["--size-unit", "yards"]),
    (["good.trace", "--format", "mqsim", "--devices", "all"], ["--devices", "all", "stack"]),
    (["good.trace", "--format", "mqsim", "--devices", "only=7"], ["good.trace", "7"]),
    (["good.trace", "--format", "mqsim", "--devices", "map=0"], ["--devices", "map=0", "@"]),
    (["good.trace", "--format", "mqsim", "--devices", "sample=2"], ["--devices", "sample=2"]),
    (["good.trace", "--columns", "time,op,bytes,lbnn"], ["--columns", "lbnn", "did you mean `lbn`"]),
    (["good.trace", "--columns", "time,op,bytes"], ["--columns", "lbn"]),
    (["good.trace", "--columns", "time:weeks,op,bytes,lbn"], ["--columns", "weeks", "ms"]),
    (["good.trace", "--columns", "time,op,bytes,lbn", "--format", "mqsim"], ["--columns", "--format mqsim"]),
    (["good.trace", "--columns", "time,op,bytes,lbn", "--delimiter", "word"], ["--delimiter", "word", "tab"]),
    (["good.trace", "--columns", "time,op,bytes,lbn", "--op", "reed=0"], ["--op", "reed"]),
    (["good.trace", "--columns", "time,op,lbn,bytes"], ["good.trace:1", "column 2 (op)", "--op read="]),
    (["good.trace", "--columns", "time=a,op=b,bytes=c,lbn=d"], ["good.trace:1", "a header with", "`a`"]),
    (["good.trace", "--op", "read=0,write=1"], ["--op", "--columns"]),
    (["good.trace", "--format", "mqsim", "--skip-header"], ["--skip-header", "--columns"]),
    (["good.trace", "--format", "mqsim", "--event", "Q"], ["--event", "mqsim", "blkparse"]),
    (["good.trace", "--format", "blkparse", "--event", "X"], ["--event", "X", "Q, I, D or C"]),
    (["good.trace", "--format", "columns"], ["--format", "--columns"]),
    (["good.trace", "--format", "nowhere.toml"], ["nowhere.toml"]),
    (["good.trace", "--format", "broken.toml"], ["broken.toml:1"]),
    (["good.trace", "--format", "wings.toml"], ["wings.toml:1", "geometry", "columns"]),
    (["good.trace", "--format", "oracle-general"], ["good.trace", "records of 24 bytes"]),
    (["good.trace", "--format", "vscsi"], ["good.trace", "begins with the bytes", "32 bytes", "40 bytes"]),
    (["torn.parquet"], ["torn.parquet", "Parquet"]),
    (["nowhere.parquet"], ["nowhere.parquet"]),
    (["torn.parquet", "--delimiter", "tab"], ["torn.parquet", "Parquet"]),
    (["tabs.trace"], ["tabs.trace:1", "a\\tb\\t3"]),
]

CODES: Rows = [
    ([], ["CODE"]),
    (["flash-9/8"], ["flash-9/8", "flash-8/9"]),
    (["bch:m=99,t=3,k=100"], ["bch:m=99", "m"]),
    (["bch:t=3"], ["bch:t=3"]),
    (["folder"], ["folder"]),
    (["broken.alist"], ["broken.alist"]),
    (["broken.qc"], ["broken.qc"]),
    (["teaching-1/2", "--wings"], ["--wings"]),
]


def after(rows: Rows, *more: str) -> Rows:
    """The rows with more arguments at their end; without those that lack the first argument."""
    return [([*arguments, *more], says) for arguments, says in rows if arguments]


def traces_of_runs() -> Rows:
    """The rows of traces, as `--trace` of a run."""
    return [(["mlc-25nm", *SMALL, "--trace", *arguments], says) for arguments, says in TRACES]


RUNS: Rows = [
    *CONFIGS,
    *traces_of_runs(),
    (["no-workload.toml"], ["workload", "trace"]),
    (["mlc-25nm", *SMALL, "--trace", "far.trace", "--format", "mqsim"], ["far.trace", "wrap", "scale"]),
    (["mlc-25nm", *SMALL, "--trace", "good.trace", "--format", "mqsim", "--beyond", "mars"], ["--beyond", "mars"]),
    (["mlc-25nm", *SMALL, "--out", "file"], ["file", "cannot write"]),
    (["mlc-25nm", *SMALL, "--out", "file/results"], ["file/results", "cannot write"]),
]

STORES: Rows = [
    (["--store", "torn.fer"], ["torn.fer"]),
    (["--store", "newer.fer"], ["newer.fer", f"version {store.VERSION + 1}", f"expected {store.VERSION}"]),
    (["--store", "folder"], ["folder"]),
    (["--store", "nowhere/s.fer"], ["nowhere/s.fer"]),
]

SAMPLING: Rows = [
    (["--rber", "x"], ["rber", "x"]),
    (["--rber", "0.9"], ["rber", "0.9", "0.5"]),
    (["--rber", "0.01:0.001:0.001"], ["rber", "0.01:0.001:0.001"]),
    (["--levels", "9"], ["levels", "9", "7"]),
    (["--levels", "one"], ["levels", "one"]),
    (["--placement", "anywhere"], ["anywhere", "nested"]),
    (["--decoder", "guess"], ["guess", "min-sum"]),
    (["--iterations", "0"], ["--iterations", "0"]),
    (["--method", "luck"], ["method", "luck", "direct"]),
    (["--method", "analytic"], ["method", "analytic", "LDPC"]),
    (["--relative-error", "0"], ["relative_error", "0"]),
    (["--relative-error", "nan"], ["relative_error", "nan"]),
    (["--down-to", "2"], ["down_to", "2"]),
    (["--frames", "0"], ["--frames", "0"]),
    (["--seed", "-1"], ["--seed", "-1"]),
    (["--workers", "0"], ["--workers", "0"]),
    (["--dask", "tcp://127.0.0.1:1"], ["--dask", "tcp://127.0.0.1:1", "cannot connect"]),
    (["--dask", "carrier-pigeon"], ["--dask", "carrier-pigeon"]),
    *STORES,
    (["--decoder", "min-sum-8bit:200"], ["min-sum-8bit:200", "12 to 126"]),
    (["--decoder", "min-sum-8bit:loud"], ["min-sum-8bit:loud", "12 to 126"]),
    (["--decoder", "min-sum-16bit:100"], ["min-sum-16bit:100", "min-sum-16bit"]),
    (["--decoder", "rcq:6"], ["rcq:6", "2 to 5 bits of a message"]),
    (["--decoder", "rcq:4:12"], ["rcq:4:12", "7 to 10 bits of an a-posteriori value"]),
    (["--traps", "sets.toml"], ["sets.toml: matrix", "flash-8/9", "teaching-1/2"]),
    (["--traps", "nowhere.toml"], ["nowhere.toml: No such file"]),
    (["--traps", "folder"], ["folder: Is a directory"]),
    (["--traps", "broken.toml"], ["broken.toml"]),
    (["--traps", "binary.toml"], ["binary.toml", "UTF-8"]),
    (["--traps", "table.toml"], ["table.toml: format", "softsense absorbing sets, version 1"]),
    (["--floor-frames", "0"], ["--floor-frames", "0"]),
]

PICTURES: Rows = [
    (["--picture", "p.gif"], ["p.gif", ".gif", ".png"]),
    (["--picture", "p"], ["p", ".png"]),
    (["--picture", "file/p.png"], ["file/p.png", "cannot write"]),
    (["--picture", "nowhere/p.svg"], ["nowhere/p.svg", "cannot write"]),
    (["--picture", "folder.png"], ["folder.png", "cannot write"]),
]

ERRORS: dict[str, Rows] = {
    "run": [
        *RUNS,
        (["mlc-25nm", "--policy", "guess"], ["guess", "two_step"]),
        (["mlc-25nm", "--policy", "two_step:never"], ["never", "restart"]),
    ],
    "compare": [
        (
            ["mlc-25nm", "--across", "temperature=40"],
            ["--across", "`temperature`", "drives, ages, loads, codes, seeds"],
        ),
        (["mlc-25nm", "--across", "ages=3000"], ["--across ages", "`3000`", "500:30,3000:365"]),
        (["mlc-25nm", "--across", "loads=0"], ["--across loads", "`0`", "above 0"]),
        (["mlc-25nm", "--across", "drives=tlc-cleint"], ["tlc-cleint", "tlc-client"]),
        (["mlc-25nm", "--across", "codes=flash-99"], ["mlc-25nm", "flash-99"]),
        (["mlc-25nm", "--across", "loads", "--by", "p50"], ["--by", "`p50`", "mean, p99, p99.9"]),
        (["mlc-25nm", "--by", "p99"], ["--by", "without --across"]),
        (["mlc-25nm", "--across", "seeds=3", "--seeds", "3"], ["--seeds", "--across seeds"]),
        (["mlc-25nm", "--across", "loads", "--requests-log"], ["--requests-log", "--across"]),
        (["mlc-25nm", "--across", "loads", "--policies", "two_step"], ["policies", "only two_step", "at least two"]),
        *RUNS,
        (["mlc-25nm", "--policies", "two_step,guess"], ["guess", "two_step", "look_ahead"]),
        (["mlc-25nm", "--policies", "two_step:never"], ["never", "restart"]),
        (["mlc-25nm", "--policies", ""], ["policies"]),
        (["mlc-25nm", "--seeds", "1"], ["--seeds", "1", "2"]),
        (["mlc-25nm", "--seeds", "3", "--requests-log"], ["--requests-log", "--seeds"]),
        (["mlc-25nm", "--jobs", "0"], ["--jobs", "0"]),
        (["mlc-25nm", "--equal-area", "mlc-lae"], ["decoder.time", "whose area is unknown", "`decoder.time.ldpc`"]),
        (["mlc-lae", "--equal-area", "mlc-25nm"], ["decoder.time", "the reference", "whose area is unknown"]),
    ],
    "board measure": [
        ([], ["MATRIX"]),
        (["nowhere.qc"], ["nowhere.qc"]),
        (["teaching-1/2"], ["teaching-1/2", "found suffix", ".qc, .alist or .bch"]),
        (["broken.qc"], ["broken.qc"]),
        (["broken.alist"], ["broken.alist"]),
        (["there.bch"], ["there.bch", "the name of a BCH code"]),
        (["there.alist", "--budget", "0"], ["--budget", "found 0", "0.01"]),
        (["there.alist", "--budget", "nan"], ["--budget", "nan"]),
        (["there.alist", "--decoder", "guess"], ["guess", "min-sum"]),
        (["there.alist", "--decoder", "decoder.py:Mute"], ["decoder.py:Mute", "a program", "min-sum"]),
        (["there.alist", "--levels", "2"], ["--levels", "found 2", "1, 3, 7"]),
        (["there.alist", "--levels", "9"], ["levels", "9"]),
        (["there.alist", "--workers", "0"], ["--workers", "0"]),
        (["there.alist", "--out", "new.toml"], ["new.toml", ".toml", ".json"]),
        (["there.alist", "--page", "new.txt"], ["new.txt", ".html"]),
        (["there.alist", "--page", "nowhere/new.html"], ["nowhere/new.html", "cannot write"]),
        (["there.alist", "--out", "there.json"], ["there.json", "--force"]),
        *[(["there.alist", *arguments], says) for arguments, says in STORES],
    ],
    "board check": [
        ([], ["FOLDER"]),
        (["nowhere"], ["nowhere", "no such folder"]),
        (["folder"], ["folder", "found no entry", "board measure"]),
        (["boards/torn"], ["boards/torn/entries/a.json", "found text that is not JSON", "line 1"]),
        (["boards/foreign"], ["boards/foreign/entries/a.json: format", "softsense board entry, version 1"]),
        (["boards/foreign", "--workers", "0"], ["--workers", "0"]),
        (["boards/foreign", "--patience", "0"], ["--patience", "0"]),
    ],
    "board page": [
        (["nowhere", "--out", "site"], ["nowhere", "no such folder"]),
        (["folder", "--out", "site"], ["folder", "found no entry"]),
        (["boards/torn", "--out", "site"], ["boards/torn/entries/a.json", "found text that is not JSON", "line 1"]),
        (["boards/foreign", "--out", "site"], ["boards/foreign/entries/a.json: format"]),
        (["boards/strange", "--out", "site"], ["boards/strange/published.json", "found no rows", "board published"]),
    ],
    "board published": [
        (["more"], ["more"]),
        (["--only", "guess"], ["only: found `guess`", "802.16e-576-1-2"]),
        (["--failures", "9"], ["--failures", "9", "10"]),
        (["--down-to", "0"], ["down_to: found 0", "above 0"]),
        (["--down-to", "nan"], ["down_to: found nan", "above 0"]),
        (["--out", "new.txt"], ["new.txt", ".json"]),
        (["--out", "there.json"], ["there.json", "--force"]),
        (["--out", "nowhere/new.json"], ["nowhere/new.json", "cannot write"]),
    ],
    "board codes": [
        (["more"], ["more"]),
        (["--only", "guess"], ["construction: found `guess`", "margulis-2640"]),
        (["--out", "file", "--only", "bch-1939-t29"], ["file", "found a file, expected a folder"]),
        (["--out", "file/codes", "--only", "bch-1939-t29"], ["file/codes", "cannot write"]),
        (["--out", "codes", "--only", "bch-1939-t29"], ["codes/bch-1939-t29.bch", "--force"]),
    ],
    "fairness": [
        (["nowhere.toml"], ["nowhere.toml"]),
        (["mlc-25nm"], ["host.tenants", "two"]),
        (["mlc-25nm", "--jobs", "0"], ["--jobs", "0"]),
        (["mlc-25nm", "--set", "geometry.wings=2"], ["geometry.wings"]),
    ],
    "fio": [
        (["mlc-25nm", "--rw", "randread"], ["runtime", "size", "a job has to end"]),
        (["mlc-25nm", "--rw", "sideways", "--runtime", "1"], ["rw", "sideways", "randread"]),
        (["mlc-25nm", "--runtime", "0"], ["runtime", "0", "a time above 0"]),
        (["mlc-25nm", "--bs", "4x", "--runtime", "1"], ["bs", "4x", "4k"]),
        (["mlc-25nm", "--size", "900t", "--runtime", "1"], ["size", "bytes of the drive"]),
        (["mlc-25nm", "jobs.fio", "--rw", "read"], ["--rw", "job file"]),
        (
            ["mlc-25nm", "--runtime", "1", "--write_lat_log", "no/a"],
            ["write_lat_log", "`no/a`", "an existing folder"],
        ),
        (["mlc-25nm", "--runtime", "1", "--log_avg_msec", "soon"], ["log_avg_msec", "soon", "a number"]),
        (["mlc-25nm", "nowhere.fio"], ["nowhere.fio"]),
        (["nowhere.toml", "--runtime", "1"], ["nowhere.toml"]),
        (["mlc-25nm", "--runtime", "1", "--set", "geometry.wings=2"], ["geometry.wings"]),
    ],
    "policies": [(["more"], ["more"]), (["--wings"], ["--wings"])],
    "completion": [([], ["SHELL"]), (["cmd.exe"], ["SHELL", "cmd.exe", "bash", "zsh", "fish"])],
    "trace stats": [
        ([], ["FILE"]),
        *TRACES,
        (["good.trace", "--format", "mqsim", "--save-columns", "mine.toml"], ["--save-columns", "columns"]),
        (["good.trace", "--format", "mqsim", "--save-columns", "mine.txt"], ["mine.txt", ".toml"]),
    ],
    "trace fit-arrivals": [([], ["FILE"]), *TRACES],
    "trace convert": [
        (["good.trace"], ["OUT"]),
        *[([arguments[0], "new.csv", *arguments[1:]], says) for arguments, says in TRACES],
        (["good.trace", "new.csv", "--format", "mqsim", "--to", "papyrus"], ["--to", "papyrus", "csv"]),
        (["good.trace", "file/new.csv", "--format", "mqsim"], ["file/new.csv"]),
        (["good.trace", "folder", "--format", "mqsim"], ["folder"]),
        (["good.trace", "good.trace", "--format", "mqsim", "--to", "mqsim"], ["good.trace"]),
    ],
    "trace generate": [
        (["mlc-25nm"], ["OUT"]),
        *[([arguments[0], "new.trace", *arguments[1:]], says) for arguments, says in CONFIGS if arguments],
        (["no-workload.toml", "new.trace"], ["workload"]),
        (["mlc-25nm", "new.trace", "--to", "papyrus"], ["--to", "papyrus", "csv"]),
        (["mlc-25nm", "file/new.trace", *SMALL], ["file/new.trace"]),
        (["mlc-25nm", "folder", *SMALL], ["folder"]),
    ],
    "config list": [(["more"], ["more"])],
    "config check": [([], ["FILE"]), *CONFIGS[1:]],
    "config show": [([], ["FILE"]), *CONFIGS[1:]],
    "config ages": [
        ([], ["FILE"]),
        *CONFIGS[1:],
        (["mlc-25nm", "--set", "reliability='perfect'"], ["raw bit error rates"]),
        (["tlc-femu", "--pe-cycles", "many"], ["pe-cycles", "many"]),
        (["tlc-femu", "--retention-days", "40000"], ["--retention", "40000"]),
        *[(["tlc-femu", "--pe-cycles", "0", *arguments], says) for arguments, says in PICTURES],
    ],
    "config schema": [(["more"], ["more"])],
    "code list": [(["more"], ["more"])],
    "code show": [
        *CODES,
        *[(["teaching-1/2", *arguments], says) for arguments, says in PICTURES],
        (["bch-2KB-t57", "--picture", "p.png"], ["bch-2KB-t57", "LDPC"]),
    ],
    "code hardware": [
        (
            ["flash-8/9", "--message-bits", "9223372036854775808"],
            ["--message-bits", "9,223,372,036,854,775,808", "2^32"],
        ),
        *CODES,
        (["flash-8/9", "--node-nm", "7"], ["--node-nm", "7", "28"]),
        (["flash-8/9", "--checks-per-cycle", "0"], ["--checks-per-cycle", "0", "from 1"]),
        (["flash-8/9", "--posterior-bits", "6"], ["--posterior-bits", "6", "7", "10"]),
        (["flash-8/9", "--posterior-bits", "8", "--message-bits", "6"], ["--message-bits", "6", "2", "5"]),
        (["bch-2KB-t57", "--clock-mhz", "0"], ["--clock-mhz", "0"]),
    ],
    "code export": [
        (["teaching-1/2"], ["FILE"]),
        *after(CODES, "new.qc"),
        (["teaching-1/2", "new.txt"], ["new.txt", ".alist", ".qc"]),
        (["teaching-1/2", "there.qc"], ["there.qc", "--force"]),
        (["teaching-1/2", "file/new.qc"], ["file/new.qc", "cannot write"]),
        (["teaching-1/2", "nowhere/new.qc"], ["nowhere/new.qc", "cannot write"]),
        (["bch-2KB-t57", "new.alist"], ["bch-2KB-t57", "LDPC"]),
    ],
    "code import": [
        ([], ["FILE"]),
        (["nowhere.qc"], ["nowhere.qc"]),
        (["folder"], ["folder"]),
        (["broken.alist"], ["broken.alist"]),
        (["broken.qc"], ["broken.qc"]),
        (["broken.qc", "--out", "new.txt"], ["new.txt", ".alist", ".qc"]),
        (["broken.qc", "--out", "there.qc"], ["there.qc", "--force"]),
        (["broken.qc", "--out", "nowhere/new.qc"], ["nowhere/new.qc", "cannot write"]),
        (["flash-8/9"], ["flash-8/9"]),
    ],
    "code bench": [
        *after(CODES, "--errors", "1", "--frames", "1"),
        (["teaching-1/2"], ["--channel", "--errors", "neither"]),
        (["teaching-1/2", "--channel", "bsc:0.01", "--errors", "1"], ["--channel", "both", "--errors"]),
        (["teaching-1/2", "--errors", "1", "--seconds", "1", "--frames", "1"], ["--frames", "both", "--seconds"]),
        (["teaching-1/2", "--channel", "string"], ["string", "bsc"]),
        (["teaching-1/2", "--channel", "bsc:7"], ["bsc:7"]),
        (["teaching-1/2", "--channel", "gaussian:0.01:9"], ["gaussian:0.01:9"]),
        (["teaching-1/2", "--errors", "-1"], ["--errors", "-1"]),
        (["teaching-1/2", "--errors", "1000000", "--frames", "1"], ["1000000"]),
        (["teaching-1/2", "--errors", "1", "--decoder", "guess"], ["guess", "min-sum"]),
        (["teaching-1/2", "--errors", "1", "--iterations", "0"], ["--iterations", "0"]),
        (["teaching-1/2", "--errors", "1", "--threads", "0"], ["--threads", "0"]),
        (["teaching-1/2", "--errors", "1", "--seconds", "-1"], ["seconds", "-1"]),
        (["teaching-1/2", "--errors", "1", "--seconds", "nan"], ["seconds", "NaN"]),
        (["teaching-1/2", "--errors", "1", "--frames", "0"], ["--frames", "0"]),
        (["teaching-1/2", "--errors", "1", "--seed", "-1"], ["--seed", "-1"]),
        *[(["flash-8/9", "--errors", "1", "--backend", *arguments], says) for arguments, says in BACKENDS],
        (["flash-8/9", "--errors", "1", "--threads", "2", "--backend", CPU], ["threads", "2", "expected 1"]),
        *[
            ([code, "--errors", "1", "--frames", "1", "--backend", CPU, *decoder], says)
            for code, decoder, says in [
                ("bch-512B-t15", [], ["backend", "BCH", "base matrix"]),
                ("there.alist", [], ["backend", "base matrix"]),
                ("flash-8/9", ["--decoder", "sum-product"], ["decoder", "sum-product", "min-sum-8bit", "integers"]),
            ]
        ],
    ],
    "code vectors": [
        *after(CODES, "--channel", "errors:1", "--out", "new"),
        (["teaching-1/2", "--out", "new"], ["--channel"]),
        (["teaching-1/2", "--channel", "errors:1"], ["--out", "--json", "neither"]),
        (["teaching-1/2", "--channel", "string", "--out", "new"], ["string", "bsc"]),
        (["teaching-1/2", "--channel", "errors:1", "--out", "there.qc"], ["there.qc", "cannot write"]),
        (["teaching-1/2", "--channel", "errors:1", "--out", "there.qc/new"], ["there.qc/new", "cannot write"]),
        (["bch-512B-t15", "--channel", "errors:1", "--out", "new"], ["BCH", "base matrix"]),
        (["there.alist", "--channel", "errors:1", "--out", "new"], ["base matrix"]),
        *[
            (["teaching-1/2", "--channel", "errors:1", "--out", "new", *more], says)
            for more, says in [
                (["--decoder", "sum-product"], ["sum-product", "min-sum-8bit", "integers"]),
                (["--decoder", "min-sum-8bit:500"], ["500", "12 to 126"]),
                (["--iterations", "0"], ["--iterations", "0"]),
                (["--frames", "0"], ["--frames", "0"]),
                (["--frames", "1000000", "--steps"], ["frames", "1000000", "1 GiB"]),
                (["--seed", "-1"], ["--seed", "-1"]),
            ]
        ],
    ],
    "code conform": [
        ([], ["NAME"]),
        *BACKENDS,
        ([CPU, "--decoder", ","], ["--decoder", "min-sum"]),
        ([CPU, "--decoder", "guess"], ["decoder", "guess", "min-sum"]),
        ([CPU, "--decoder", "min-sum,bit-flipping"], ["decoder", "bit-flipping", "min-sum"]),
        ([CPU, "--code", "nowhere.qc"], ["nowhere.qc"]),
        ([CPU, "--code", "broken.qc"], ["broken.qc"]),
        ([CPU, "--code", "bch-512B-t15"], ["backend", "BCH", "base matrix"]),
        ([CPU, "--code", "flash-8/9", "--decoder", "min-sum-8bit:500"], ["500"]),
    ],
    "code design": [
        ([], ["--data-bytes", "neither"]),
        (["--data-bytes", "128"], ["--parity-bytes", "neither"]),
        (["--data-bytes", "128", "--data-bits", "1024", "--rate", "0.8"], ["--data-bytes", "both"]),
        (["--data-bytes", "128", "--parity-bytes", "32", "--rate", "0.8"], ["--rate", "parity"]),
        (["--data-bytes", "0", "--rate", "0.8"], ["--data-bytes", "0"]),
        (["--data-bytes", "128", "--rate", "1"], ["rate", "between 0 and 1"]),
        (["--data-bytes", "128", "--rate", "2"], ["--rate", "2"]),
        *[
            (["--data-bytes", "128", "--parity-bytes", "32", *arguments], says)
            for arguments, says in [
                (["--parity-bits", "8"], ["--parity-bytes", "both"]),
                (["--circulants", "512"], ["1024 data bits and 256 parity bits", "circulants of 64, 32, 16 fit"]),
                (["--circulants", "48"], ["48", "power of two"]),
                (["--circulants", "many"], ["--circulants", "many", "256,512"]),
                (["--circulants", "-16"], ["--circulants", "-16", "256,512"]),
                (["--families", "odd"], ["odd", "regular, two_weights, three_weights"]),
                (["--families", ""], ["families", "none"]),
                (["--families", "three_weights", "--heaviest", "4"], ["three_weights", "up to 4"]),
                (["--heaviest", "2"], ["--heaviest", "2"]),
                (["--fer", "0.5"], ["--fer", "0.5"]),
                (["--fer", "nan"], ["--fer", "nan"]),
                (["--level", "8"], ["--level", "8"]),
                (["--iterations", "0"], ["--iterations", "0"]),
                (["--profiles", "0"], ["--profiles", "0"]),
                (["--seeds", "0"], ["--seeds", "0"]),
                (["--measured", "-1"], ["--measured", "-1"]),
                (["--bits", "2"], ["--bits", "2"]),
                (["--frames", "0"], ["--frames", "0"]),
                (["--seed", "-1"], ["--seed", "-1"]),
                (["--workers", "0"], ["--workers", "0"]),
                (["--dask", "carrier-pigeon"], ["--dask", "carrier-pigeon"]),
                (["--out", "new.alist"], ["new.alist", ".qc"]),
                (["--out", "there.qc"], ["there.qc", "--force"]),
                (["--out", "nowhere/new.qc"], ["nowhere/new.qc", "cannot write"]),
                *STORES,
            ]
        ],
    ],
    "code traps": [
        *CODES,
        (["bch-2KB-t57"], ["bch-2KB-t57", "LDPC"]),
        *[
            (["teaching-1/2", *arguments], says)
            for arguments, says in [
                (["--bits", "1"], ["1 bits", "3 to 14"]),
                (["--bits", "2"], ["2 bits", "3 to 14"]),
                (["--bits", "15"], ["--bits", "found 15, expected 0 to 14"]),
                (["--bits", "few"], ["--bits", "few"]),
                (["--bits", "0"], ["most_bits", "neither"]),
                (["--violated", "-1"], ["--violated", "-1"]),
                (["--violated", "99999999999"], ["--violated", "99999999999"]),
                (["--impulses", "-1"], ["--impulses", "-1"]),
                (["--impulses", "99999999999"], ["--impulses", "99999999999"]),
                (["--impulses", "1", "--impulse-decoder", "guess"], ["guess", "min-sum"]),
                (["--decoders", "min-sum,guess"], ["guess", "min-sum"]),
                (["--decoders", "min-sum-8bit:200"], ["min-sum-8bit:200", "12 to 126"]),
                (["--decoders", "min-sum", "--rber", "0.9"], ["--rber", "0.9"]),
                (["--decoders", "min-sum", "--rber", "nan"], ["--rber", "found nan, expected 0 to 0.5"]),
                (["--frames", "0"], ["--frames", "0"]),
                (["--iterations", "0"], ["--iterations", "0"]),
                (["--seed", "-1"], ["--seed", "-1"]),
                (["--workers", "0"], ["--workers", "0"]),
                (["--dask", "tcp://127.0.0.1:1"], ["--dask", "tcp://127.0.0.1:1", "cannot connect"]),
                (["--dask", "carrier-pigeon"], ["--dask", "carrier-pigeon"]),
                (["--out", "new"], ["new", ".toml"]),
                (["--out", "new.json"], ["new.json", ".json", ".toml"]),
                (["--out", "there.toml"], ["there.toml", "--force"]),
                (["--out", "nowhere/new.toml"], ["nowhere/new.toml", "cannot write"]),
                (["--out", "file/new.toml"], ["file/new.toml", "cannot write"]),
                *STORES,
                *PICTURES,
            ]
        ],
        (["./there.alist", "--decoders", "min-sum-8bit"], ["decoder", "quasi-cyclic"]),
    ],
    "fer": [
        *CODES,
        (["./there.alist", "--decoder", "min-sum-8bit"], ["decoder", "quasi-cyclic"]),
        (["./there.alist", "--decoder", "min-sum-16bit"], ["decoder", "quasi-cyclic"]),
        (["./there.alist", "--decoder", "rcq:4"], ["decoder", "quasi-cyclic"]),
        (["teaching-1/2", "--judge", "-1"], ["--judge", "-1"]),
        (["teaching-1/2", "--judge", "many"], ["--judge", "many"]),
        *[(["teaching-1/2", *arguments], says) for arguments, says in SAMPLING + PICTURES],
        (["teaching-1/2", "--cells", "mlc"], ["cells", "pe_cycles"]),
        (["teaching-1/2", "--cells", "mlc", "--rber", "0.01"], ["cells", "rber"]),
        (["teaching-1/2", "--pe-cycles", "1000"], ["cells", "pe_cycles"]),
        (["teaching-1/2", "--cells", "qlc", "--pe-cycles", "1", "--retention-days", "1"], ["qlc", "mlc"]),
        (["teaching-1/2", "--cells", "cells.toml", "--pe-cycles", "1", "--retention-days", "1"], ["cells.toml"]),
        (["teaching-1/2", "--cells", "mlc", "--pe-cycles", "x", "--retention-days", "1"], ["pe_cycles", "x"]),
        (["teaching-1/2", "--cells", "mlc", "--pe-cycles", "1", "--retention-days", "x"], ["retention_days", "x"]),
        (
            ["teaching-1/2", "--cells", "mlc", "--pe-cycles", "1", "--retention-days", "1", "--page", "top"],
            ["page", "top", "lower"],
        ),
        (["teaching-1/2", "--llrs-for", "old"], ["llrs", "old", "10000:30"]),
    ],
    "flash list": [(["more"], ["more"])],
    "flash show": [
        (["qlc"], ["qlc", "mlc"]),
        (["cells.toml"], ["cells.toml"]),
        (["nowhere.toml"], ["nowhere.toml"]),
        (["mlc", "--pe-cycles", "-1"], ["--pe-cycles", "-1"]),
        (["mlc", "--retention-days", "-1"], ["retention", "-"]),
        (["mlc", "--retention-days", "nan"], ["--retention", "nan"]),
        (["mlc", "--level", "8"], ["--level", "found 8, expected 1 to 7"]),
        (["mlc", "--placement", "anywhere"], ["anywhere", "nested"]),
        (["mlc", "--page", "top", "--picture", "p.png"], ["page", "top", "lower"]),
        (["mlc", "--page", "top"], ["page", "top", "lower"]),
        (["mlc", "--references", "best"], ["best", "tracked"]),
        (["mlc", "--temperature", "40"], ["temperature", "measured"]),
        (["tlc-measured", "--temperature", "1000"], ["temperature", "1000"]),
        *[(["mlc", *arguments], says) for arguments, says in PICTURES],
    ],
    "flash rber": [
        (["qlc"], ["qlc", "mlc"]),
        (["mlc", "--pe-cycles", "many"], ["pe-cycles", "many"]),
        (["mlc", "--retention-days", "-1"], ["--retention", "-1"]),
        (["mlc", "--levels", "8"], ["level", "8"]),
        (["mlc", "--temperature", "40"], ["temperature", "measured"]),
        *[(["mlc", *arguments], says) for arguments, says in PICTURES],
    ],
    "flash disturb": [
        (["qlc"], ["qlc", "mlc"]),
        (["mlc"], ["mlc", "read_disturb"]),
        (["tlc-measured", "--reads", "some"], ["reads", "some"]),
        (["tlc-measured", "--reads", "1e10"], ["reads", "1e+10"]),
        (["tlc-measured", "--pe-cycles", "-1"], ["--pe-cycles", "-1"]),
        (["tlc-measured", "--retention-days", "-1"], ["--retention", "-1"]),
        (["tlc-measured", "--wordlines", "2"], ["--wordlines", "2"]),
        *[(["tlc-measured", *arguments], says) for arguments, says in PICTURES],
    ],
    "flash measure": [
        (["qlc"], ["qlc", "mlc"]),
        (["mlc", "--code", "nowhere"], ["nowhere", "flash-8/9"]),
        (["mlc", "--code", "bch-2KB-t57"], ["bch-2KB-t57", "LDPC"]),
        (["mlc", "--pe-cycles", "-1"], ["--pe-cycles", "-1"]),
        (["mlc", "--retention-days", "-1"], ["--retention", "-1"]),
        (["mlc", "--cells", "0"], ["--cells", "0"]),
        (["mlc", "--known", "2"], ["--known", "2"]),
    ],
    "flash grid": [
        ([], ["FILE"]),
        (["nowhere.csv"], ["nowhere.csv"]),
        (["cells.toml"], ["cells.toml:1", "pe_cycles"]),
        (["cells.toml", "--out", "new.txt"], ["new.txt", ".toml"]),
        (["cells.toml", "--out", "there.toml"], ["there.toml", "--force"]),
    ],
    "flash references": [
        (["qlc"], ["qlc", "mlc"]),
        (["mlc", "--table", "nowhere"], ["nowhere"]),
        (["mlc", "--entries", "0"], ["--entries", "0"]),
        (["mlc", "--step-v", "nan"], ["step_v", "nan"]),
        (["mlc", "--pe-cycles", "x"], ["pe-cycles", "x"]),
        (["mlc", "--retention-days", "-1"], ["--retention", "-1"]),
        (["mlc", "--out", "there.png"], ["there.png", ".toml"]),
    ],
    "flash inference": [
        (["qlc"], ["qlc", "mlc"]),
        (["mlc", "--table", "nowhere"], ["nowhere"]),
        (["mlc", "--boundary", "3"], ["boundary", "3", "0 to 2"]),
        (["mlc", "--step-v", "nan"], ["step_v", "nan"]),
        (["mlc", "--known", "0"], ["known_share", "0"]),
        (["mlc", "--cells", "0"], ["--cells", "0"]),
        (["mlc", "--pe-cycles", "x"], ["pe-cycles", "x"]),
        (["mlc", "--pe-cycles", "0", "--retention-days", "0"], ["pe_cycles", "1 %"]),
        (["mlc", "--retention-days", "-1"], ["--retention", "-1"]),
        (["mlc", "--out", "there.png"], ["there.png", ".toml"]),
    ],
    "fit": [
        ([], ["LOG"]),
        (["nowhere.log"], ["nowhere.log"]),
        (["folder"], ["folder"]),
        (["empty.trace"], ["empty.trace"]),
        (["binary.toml"], ["binary.toml:1", "UTF-8"]),
        (["broken.toml"], ["broken.toml:1", "latency log"]),
        (["letters.trace", "--format", "fio"], ["letters.trace:1", "latency"]),
        (["latencies.csv", "--format", "punched-card"], ["--format", "punched-card", "blkparse"]),
        (["latencies.csv", "--unit", "weeks"], ["--unit", "weeks", "ms"]),
        (["latencies.csv", "--clock", "weeks"], ["--clock", "weeks", "none"]),
        (["latencies.csv", "--unit", "ns"], ["latencies.csv", "median", "--unit"]),
        (["latencies.csv", "--hold-out", "7"], ["--hold-out", "7"]),
        (["latencies.csv", "--hold-out", "last"], ["--hold-out", "last"]),
        (["latencies.csv", "--hold-out", "0"], ["--hold-out", "expected at least one round"]),
        (["latencies.csv", "--tails", "nowhere.csv"], ["nowhere.csv"]),
        (["latencies.csv", "--tails", "latencies.csv"], ["latencies.csv", "over 400us"]),
        (["latencies.csv", "--deep-log", "nowhere.log"], ["nowhere.log"]),
        (["latencies.csv", "--deep-log", "latencies.csv"], ["--deep-log", "depth"]),
        (["latencies.csv", "--seed", "lucky"], ["--seed", "lucky"]),
        (["latencies.csv", "--out", "file"], ["file", "cannot write"]),
        (["latencies.csv", "--workers", "0"], ["--workers", "0"]),
    ],
    "calibrate": [
        ([], ["FILE"]),
        (["nowhere.toml"], ["nowhere.toml"]),
        (["empty.trace"], ["empty.trace", "--capacity"]),
        (["empty.trace", "--capacity", "much"], ["--capacity", "much"]),
        (["empty.trace", "--capacity", "960GB"], ["empty.trace", "JSON of fio"]),
        (["binary.toml"], ["binary.toml", "UTF-8"]),
        (["broken.toml"], ["broken.toml:1"]),
        (["loads.toml", "--hold-out", "nothing"], ["hold_out", "nothing", "reads"]),
        (["loads.toml", "--base", "nowhere"], ["nowhere"]),
        (["loads.toml", "--seed", "lucky"], ["--seed", "lucky"]),
        (["loads.toml", "--workers", "0"], ["--workers", "0"]),
        (["loads.toml", "--out", "file"], ["file", "cannot write"]),
    ],
    "flash fit": [
        (["nowhere.csv", "--mapping", "mlc"], ["nowhere.csv"]),
        (["cells.toml", "--mapping", "mlc"], ["cells.toml:1", "pe_cycles"]),
        (["cells.toml"], ["--mapping"]),
    ],
    "flash bake": [
        (["--bake-c", "-300"], ["bake_c", "-300"]),
        (["--operating-c", "nan"], ["operating_c", "nan"]),
        (["--cycling-c", "warm"], ["--cycling-c", "warm"]),
        (["--retention-days", "-1"], ["--retention", "-1"]),
        (["--cycling-days", "inf"], ["cycling_days", "inf"]),
        (["--activation-energy-ev", "-1"], ["activation_energy_ev", "-1"]),
        (["--recovery-constant", "nan"], ["recovery_constant", "nan"]),
        (["more"], ["more"]),
    ],
    "flash calibrate": [
        *[([*arguments, "--p-fail", "0.1"], says) for arguments, says in CONFIGS],
        (["mlc-laldpc"], ["--p-fail"]),
        (["mlc-laldpc", "--p-fail", "likely"], ["--p-fail", "likely"]),
        (["mlc-25nm", "--p-fail", "2"], ["p_fail", "2"]),
        (["mlc-laldpc", "--p-fail", "0.1", "--level", "8"], ["--level", "8"]),
        (["mlc-25nm", "--set", "reliability='perfect'", "--p-fail", "0.1"], ["reliability", "table"]),
        (["tlc-femu", "--p-fail", "0.1"], ["chip_factors"]),
        (["mlc-25nm", *SMALL, "--p-fail", "0.1"], ["chip_factors", "4", "1 chip"]),
    ],
    "serve-results": [
        (["nowhere"], ["nowhere", "folder"]),
        ([".", "--port", "-1"], ["--port", "-1"]),
        ([".", "--host", "256.1.1.1"], ["--host", "256.1.1.1"]),
    ],
    "explain": [
        (["--config", "nowhere.toml"], ["nowhere.toml"]),
        (["--serve", "--pe", "3"], ["--pe", "--serve", "page"]),
        (["--serve", "--json"], ["--json", "--serve"]),
        (["--serve", "--config", "mlc-lae"], ["reliability.bch"]),
        (["--serve", "--port", "70000"], ["--port", "70000"]),
        (["--serve", "--host", "256.1.1.1"], ["--host", "256.1.1.1"]),
        (["--config", "broken.toml"], ["broken.toml"]),
        (["--set", "geometry.wings=2"], ["wings"]),
        (["--cells", "qlc"], ["qlc", "mlc"]),
        (
            ["--config", "tlc-femu", "--cells", "tlc-1-2-4"],
            ["read.references", "retry_table", "references.retry_table_v"],
        ),
        (["--pe", "-1"], ["--pe", "-1"]),
        (["--retention", "ages"], ["--retention", "ages", "365d"]),
        (["--page", "top"], ["page", "top", "lower"]),
        (["--code", "flash-9/8"], ["flash-9/8", "flash-8/9"]),
        (["--decoder", "guess"], ["guess", "min-sum"]),
        (["--iterations", "0"], ["--iterations", "0"]),
        (["--level", "8"], ["--level", "8"]),
        (["--max-level", "8"], ["--max-level", "8"]),
        (["--placement", "anywhere"], ["anywhere", "nested"]),
        (["--policies", "guess"], ["guess", "two_step"]),
        (["--needs", "8"], ["--needs", "8"]),
        (["--seed", "-1"], ["--seed", "-1"]),
        *PICTURES,
        (["more"], ["more"]),
    ],
    "design ecc-by-age": [
        *CONFIGS,
        (["mlc-lae", "--rber", "16000"], ["--rber", "16000:3e-4"]),
        (["mlc-lae", "--rber", "16000:3e-4"], ["rber", "at least two points"]),
        (["mlc-lae", "--rber", "2:0.1,3:0.2"], ["rber", "at least one code corrects"]),
        (["mlc-lae", "--stages", "points"], ["rber", "stages by points"]),
        (["mlc-lae", "--squeeze", "256,128"], ["squeeze", "ascending"]),
        (["mlc-lae", "--squeeze", "much"], ["--squeeze", "much"]),
        (["mlc-lae", "--rber", "1:1e-4,2:2e-4", "--squeeze", "128"], ["squeeze", "stages by room"]),
        (["mlc-lae", "--uber", "2"], ["uber", "2"]),
        (["mlc-lae", "--oob-bytes", "0"], ["oob_bytes", "0"]),
        (["mlc-25nm"], ["oob_bytes", "no value"]),
        (["mlc-lae", "--tables", "adaptive-5-6"], ["tables", "BCH codes"]),
        (["mlc-lae", "--code", "ldpc", "--tables", "nothing"], ["nothing", "adaptive-5-6"]),
        (["mlc-lae", "--code", "ldpc", "--level", "2"], ["level", "adaptive-"]),
        (["mlc-lae", "--code", "turbo"], ["--code", "turbo"]),
    ],
    "merge": [
        (["new.fer", "nowhere.fer"], ["nowhere.fer", "found no file"]),
        (["new.fer", "file"], ["file", "no SQLite database"]),
        (["file", "file"], ["file", "both as target and as source"]),
        (["out", "folder"], ["folder", "found no results of a shard"]),
        (["folder", "file"], ["file", "found no results of a shard"]),
        (["new.fer"], ["SHARD"]),
    ],
    "lifetime": [
        *CONFIGS,
        (["tlc-femu", "--tables", "nothing"], ["nothing", "adaptive-5-6"]),
        (["tlc-femu", "--out", "file/results"], ["file/results", "cannot write"]),
        (["tlc-femu", "--tables", "table.toml"], ["table.toml"]),
        (["tlc-femu", "--utilisation", "much"], ["--utilisation", "much"]),
        (["tlc-femu", "--utilisation", "2"], ["utilisation", "2"]),
        (["tlc-femu", "--uber", "tiny"], ["--uber", "tiny"]),
        (["tlc-femu", "--uber", "-1"], ["uber", "-1"]),
        (["tlc-femu", "--uber", "nan"], ["uber", "nan"]),
        (["tlc-femu", "--mean-iterations", "0"], ["mean_iterations", "0"]),
        (["tlc-femu", "--mean-iterations", "few"], ["--mean-iterations", "few"]),
        (["mlc-laldpc", "--level", "8"], ["--level", "8"]),
        (["mlc-laldpc"], ["laldpc-thresholds", "code"]),
        (["mlc-25nm", "--set", "reliability='perfect'"], ["reliability"]),
        *[(["tlc-femu", *arguments], says) for arguments, says in PICTURES],
    ],
    "table build": [
        (["teaching-1/2"], ["--out"]),
        *after(CODES, "--out", "new.toml"),
        *[(["teaching-1/2", "--out", "new.toml", *arguments], says) for arguments, says in SAMPLING],
        (["teaching-1/2", "--out", "new.csv"], ["new.csv", ".csv", ".toml"]),
        (["teaching-1/2", "--out", "there.toml"], ["there.toml", "--force"]),
        (["teaching-1/2", "--out", "nowhere/new.toml"], ["nowhere/new.toml"]),
        (["teaching-1/2", "--out", "new.toml", "--levels", "2-3"], ["levels"]),
        (["teaching-1/2", "--out", "new.toml", "--judge", "1"], ["judge: found 1", "0 or at least 2"]),
    ],
    "table judge": [
        ([], ["TABLE"]),
        (["flash-8-9"], ["--out"]),
        (["nothing", "--out", "new.toml"], ["nothing", "flash-8-9"]),
        (["broken.toml", "--out", "new.toml"], ["broken.toml"]),
        (["flash-8-9", "--out", "new.csv"], ["new.csv", ".csv", ".toml"]),
        (["flash-8-9", "--out", "there.toml"], ["there.toml", "--force"]),
        (["flash-8-9", "--out", "new.toml", "--judge", "1"], ["--judge", "found 1"]),
        (["flash-8-9", "--out", "new.toml", "--down-to", "0"], ["down_to: found 0"]),
        (["flash-8-9", "--out", "new.toml", "--down-to", "nan"], ["down_to: found nan"]),
        (["flash-8-9", "--out", "new.toml", "--floor-frames", "0"], ["--floor-frames", "found 0"]),
        (["flash-8-9", "--out", "new.toml", "--code", "nothing"], ["nothing"]),
        (["flash-8-9", "--out", "new.toml", "--code", "flash-64/73"], ["flash-8-9: code: found `flash-8/9:"]),
        (["laldpc-thresholds", "--out", "new.toml"], ["laldpc-thresholds: code", "--code FILE"]),
        (["bch-2KB-t57", "--out", "new.toml"], ["bch-2KB-t57: found no p_fail_lo"]),
    ],
    "table list": [(["more"], ["more"])],
    "table show": [
        ([], ["TABLE"]),
        (["nothing"], ["nothing", "flash-8-9"]),
        (["table.toml"], ["table.toml"]),
        (["missing-short.toml"], ["missing-short.toml: level 1: missing: found 1 values, expected 2"]),
        (["missing-negative.toml"], ["missing-negative.toml: level 1: missing: found -0.5"]),
        (["missing-nan.toml", "--picture", "p.png"], ["missing-nan.toml: level 1: missing: found NaN"]),
        (["broken.toml"], ["broken.toml"]),
        (["binary.toml"], ["binary.toml"]),
        (["folder"], ["folder"]),
        *[(["flash-8-9", *arguments], says) for arguments, says in PICTURES],
    ],
    "reproduce": [
        (["laldcp"], ["laldcp", "ldpc-in-ssd"]),
        (["laldpc", "--figure", "99"], ["--figure", "99"]),
        (["laldpc", "--quick", "--full"], ["--quick", "--full"]),
        (["laldpc", "--jobs", "0"], ["--jobs", "0"]),
        (["laldpc", "--dask", "tcp://127.0.0.1:1"], ["--dask", "tcp://127.0.0.1:1", "cannot connect"]),
        (["laldpc", "--traces", "nowhere"], ["nowhere"]),
        (["laldpc", "--traces", "file"], ["file"]),
        (["laldpc", "--out", "file/results"], ["file/results", "cannot write"]),
    ],
    "drive serve": [
        *[([*arguments, "--size", "16MiB", "--socket", "d.sock"], says) for arguments, says in CONFIGS],
        (["tlc-femu", "--size", "16MiB"], ["--socket", "neither"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--port", "10809"], ["--socket", "both"]),
        (["tlc-femu", "--size", "16MiB", "--port", "10809"], ["--image"]),
        (["tlc-femu", "--size", "16MiB", "--port", "70000", "--image", "i"], ["--port", "70000"]),
        (["tlc-femu", "--socket", "d.sock"], ["--size"]),
        (["tlc-femu", "--size", "much", "--socket", "d.sock"], ["--size", "much", "64MiB"]),
        (["tlc-femu", "--size", "5000", "--socket", "d.sock"], ["--size", "5000"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "nowhere/d.sock"], ["--socket", "nowhere/d.sock"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--image", "file"], ["file"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--image", "."], ["other files"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--refresh", "often"], ["--refresh", "often", "365d"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--write-cache", "warm"], ["--write-cache", "warm"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--page", "p.txt"], ["p.txt", ".html"]),
        (
            ["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--page", "file/p.html"],
            ["file/p.html", "cannot write"],
        ),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--script", "nowhere.toml"], ["nowhere.toml"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--script", "broken.toml"], ["broken.toml:1"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--script", "binary.toml"], ["binary.toml", "UTF-8"]),
        (["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--script", "table.toml"], ["table.toml", "levels"]),
        (
            ["tlc-femu", "--size", "16MiB", "--socket", "d.sock", "--set", "read.policy='ideal'"],
            ["read.policy", "ideal"],
        ),
    ],
    "drive age": [
        ([], ["DRIVE"]),
        (["nowhere.sock", "--pe", "1"], ["nowhere.sock", "softsense drive serve"]),
        (["folder", "--pe", "1"], ["folder", "softsense drive serve"]),
        (["nowhere.sock"], ["--retention", "--pe", "--reads"]),
        (["nowhere.sock", "--retention", "ages"], ["--retention", "ages", "365d"]),
        (["nowhere.sock", "--retention", "1d", "--temperature", "nan"], ["--temperature", "nan"]),
        (["nowhere.sock", "--pe", "-1"], ["--pe", "-1"]),
        (["nowhere.sock", "--reads", "-1"], ["--reads", "-1"]),
    ],
    "drive status": [
        ([], ["DRIVE"]),
        (["nowhere.sock"], ["nowhere.sock", "softsense drive serve"]),
        (["folder"], ["folder", "softsense drive serve"]),
        (["nowhere.sock", "--watch", "--json"], ["--json", "--watch"]),
        (["nowhere.sock", "--page", "p.png"], ["p.png", ".html"]),
        (["nowhere.sock", "--page", "nowhere/p.html"], ["nowhere/p.html", "cannot write"]),
    ],
    "drive fault": [
        ([], ["DRIVE"]),
        (["nowhere.sock"], ["FAULT", "kill-die DIE"]),
        (["nowhere.sock", "explode"], ["FAULT", "explode", "kill-die DIE"]),
        (["nowhere.sock", "kill-die", "x"], ["kill-die", "x"]),
        (["nowhere.sock", "heal"], ["nowhere.sock", "softsense drive serve"]),
    ],
    "drive scrub": [([], ["DRIVE"]), (["nowhere.sock"], ["nowhere.sock", "softsense drive serve"])],
    "results list": [(["nowhere"], ["nowhere", "no such folder"]), (["file"], ["file", "no such folder"])],
    "results show": [
        (["nowhere"], ["nowhere", "no such folder", "softsense results list"]),
        (["."], ["results.json", "folder of results"]),
        (["torn-results"], ["torn-results/results.json", "JSON"]),
        (["foreign-results"], ["foreign-results/results.json", "no `schema`", "manifest written by softsense"]),
        (["changed-results", "--json"], ["changed-results/summary.json", "a file that differs", "SHA-256"]),
        (["unfinished-results"], ["unfinished-results", "process 7 on moon", "unfinished results"]),
        (["lost-results", "--json"], ["lost-results/summary.json", "cannot read"]),
        (["odd-results", "--json"], ["odd-results/results.json", "kind `dream`", "sweep"]),
        (["other-results", "--json"], ["other-results/summary.json", "other content"]),
    ],
    "results compare": [
        ([], ["no folder", "at least two"]),
        (["lost-results"], ["1 folder", "at least two"]),
        (["nowhere", "lost-results"], ["nowhere", "no such folder"]),
        (["lost-results", "fer-results"], ["compare and fer", "the same kind"]),
        (["fer-results", "fer-results", "--metric", "p99"], ["unknown column `p99`"]),
        (["lost-results", "lost-results"], ["lost-results/summary.json", "cannot read"]),
        (["changed-results", "changed-results"], ["changed-results/summary.json", "a file that differs", "SHA-256"]),
    ],
    "results export": [
        (["fer-results"], ["--out"]),
        (["fer-results", "--out", "a.xlsx"], ["a.xlsx", ".csv", ".parquet"]),
        (["fer-results", "--out", "there.csv"], ["there.csv", "--force"]),
        (["fer-results", "--out", "file/a.csv"], ["file/a.csv", "cannot write"]),
        (["nowhere", "--out", "a.csv"], ["nowhere", "no such folder"]),
        (["changed-results", "--out", "a.csv"], ["changed-results/summary.json", "a file that differs", "SHA-256"]),
    ],
    "sweep": [
        ([], ["SWEEP.toml"]),
        (["nowhere.toml"], ["nowhere.toml"]),
        (["folder"], ["folder"]),
        (["broken.toml"], ["broken.toml"]),
        (["binary.toml"], ["binary.toml"]),
        (["sweep.toml"], ["sweep.toml"]),
        (["sweep-wings.toml"], ["sweep-wings.toml"]),
        (["sweep-wings.toml", "--workers", "0"], ["--workers", "0"]),
        (["good-sweep.toml", "--out", "file/results"], ["file/results", "cannot write"]),
        (["good-sweep.toml", "--out", "file"], ["file", "cannot write"]),
        (["good-sweep.toml", "--dask", "tcp://127.0.0.1:1"], ["--dask", "tcp://127.0.0.1:1", "cannot connect"]),
    ],
}

GROUPS: Rows = [
    (["fly"], ["fly"]),
    (["--wings"], ["--wings"]),
    (["trace", "fly"], ["fly"]),
    (["config", "fly"], ["fly"]),
    (["code", "fly"], ["fly"]),
    (["board", "fly"], ["fly"]),
    (["flash", "fly"], ["fly"]),
    (["table", "fly"], ["fly"]),
]


def commands(of: click.Command = cli.cli, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Every command by its path."""
    if isinstance(of, click.Group):
        for name, command in of.commands.items():
            yield from commands(command, (*path, name))
    else:
        yield " ".join(path)


CASES = [([*name.split(), *arguments], says) for name, rows in ERRORS.items() for arguments, says in rows] + GROUPS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run, with all that is wrong in it."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.png").mkdir()
    # Nobody answers in time, however long one waits.
    monkeypatch.setattr("softsense.cli.measuring._CONNECT_S", 0.2)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with what is in it; folders hold None."""
    return {os.path.relpath(path, folder): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_every_command_has_rows() -> None:
    assert set(ERRORS) == set(commands())
    assert all(ERRORS.values())


@pytest.mark.parametrize(("arguments", "says"), CASES, ids=[" ".join(arguments) for arguments, _ in CASES])
def test_bad_input_is_one_error(
    folder: Path, softsense_command: Softsense, arguments: list[str], says: list[str]
) -> None:
    before = contents(folder)
    done = softsense_command(arguments)
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    # What a trace was recognised as is said before it turns out not to fit, with the results of a run.
    mark = re.search("^error: ", done.stderr, re.MULTILINE)
    assert mark, done.stderr
    before_it, message = done.stderr[: mark.start()], done.stderr[mark.end() :]
    assert not before_it or before_it.endswith("\n"), done.stderr
    # A line for each fault, of which all but the first are indented.
    assert all(line.startswith("       ") for line in message.splitlines()[1:]), done.stderr
    assert "\x1b" not in done.stderr + done.stdout
    for word in says:
        assert word in message, f"{word} not in {message}"
    assert contents(folder) == before, "something was left behind"


def test_all_faults_of_a_config_are_told_in_one_block(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "three.toml").write_text("[bus]\ntransfer_us = -1.0\n[ftl]\nover-provisioning = 2.0\n")
    wrong = ["--set", "host.max_outstanding=0", "--set", "geometry.channels=0"]
    assert cli.main(["config", "check", "three.toml", *wrong]) == 2
    assert [line.split(": found ")[0] for line in capfd.readouterr().err.splitlines()] == [
        "error: three.toml:2: bus.transfer_us",
        "       three.toml:4: ftl.over_provisioning",
        "       --set geometry.channels",
        "       --set host.max_outstanding",
    ]
    wrong = ["--set", "nonsense", "--set", "wings=2", "--set", "ftl.ovr=1"]
    assert cli.main(["config", "check", "three.toml", *wrong]) == 2
    assert len(capfd.readouterr().err.splitlines()) == 3
