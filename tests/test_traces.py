"""Do the real traces run to the end, with every request accounted for?"""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest

import softsense
from conftest import CONFIGS, TRACES
from softsense import cli

pytestmark = pytest.mark.usefixtures("one_pixel")

# Requests, reads, writes, and what has to be said about the file, from the README beside the traces. Times in ns are
# MQSim's, whatever the file is called; where sizes are in pages, a 4 KiB page is the unit.
FILES: dict[str, tuple[int, int, int, dict[str, str]]] = {
    "postmark.disksim.trace.zst": (62_257, 51_780, 10_477, {}),
    "umass_Financial1_req3-50002.4Kpages.trace.zst": (
        50_000,
        29_199,
        20_801,
        {"format": "disksim", "size_unit": "4KiB"},
    ),
    "umass_Financial1_first10000.ns.trace.zst": (10_000, 4_077, 5_923, {"format": "mqsim"}),
    "umass_WebSearch1_first50k.4Kpages.trace.zst": (50_000, 49_990, 10, {"format": "disksim", "size_unit": "4KiB"}),
    "umass_WebSearch1_first24783_mqsim_wsrch-small.ns.trace.zst": (24_783, 24_779, 4, {"format": "mqsim"}),
    "mqsim_tpcc-small.trace.zst": (6_999, 4_381, 2_618, {"format": "mqsim"}),
    "msr_rsrch_1.csv.zst": (13_780, 42, 13_738, {}),
    "msr_hm_0_excerpt7016.csv.zst": (7_016, 5_820, 1_196, {}),
    "msr_wdev_3.csv.zst": (682, 11, 671, {}),
    "ms_DTRS_devtools_first127043.ns.trace.zst": (127_043, 113_123, 13_920, {"format": "mqsim"}),
    "iozone_100k.disksim.trace.zst": (100_000, 0, 100_000, {}),
    "blkparse_hadoop_apress_50k_events.txt.zst": (15_524, 80, 15_444, {}),
}

needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason=f"the real traces are absent: no {TRACES.name} folder")


def opened(name: str) -> softsense.Trace:
    options: dict[str, Any] = FILES[name][3]
    return softsense.Trace(str(TRACES / name), **options)


@needs_traces
@pytest.mark.parametrize("name", FILES)
def test_stats_agree_with_the_readme(name: str) -> None:
    requests, reads, writes, _ = FILES[name]
    stats = json.loads(opened(name).stats_json())
    assert (stats["requests"], stats["reads"], stats["writes"]) == (requests, reads, writes)


@needs_traces
@pytest.mark.parametrize("name", FILES)
def test_trace_runs_to_the_end(name: str) -> None:
    requests, reads, writes, _ = FILES[name]
    trace = opened(name)
    result = softsense.run(CONFIGS / "mlc-25nm.toml", trace, policy="look_ahead", beyond="wrap")
    summary = result.summary
    # An end mark is a row that looks like a read: the README counts it, but nobody asked the disk for it.
    end_marks = json.loads(trace.stats_json())["skipped"]["end_marks"]
    assert end_marks == (1 if name.startswith("postmark") else 0)
    expected = {"read": reads - end_marks, "write": writes, "all": requests - end_marks}
    assert not summary["interrupted"]
    assert (summary["requests"], summary["reads"], summary["writes"]) == (
        expected["all"],
        expected["read"],
        expected["write"],
    )
    assert {kind: summary["response"][kind]["count"] for kind in expected} == expected


def _requests(trace: softsense.Trace, folder: Path) -> list[str]:
    """What a trace holds, as softsense's own CSV."""
    trace.convert(folder / "all.csv")
    return (folder / "all.csv").read_text().splitlines()


def _real(name: str, folder: Path) -> list[list[str]]:
    """Rows of a real trace: arrival in ns, device, kind, offset and bytes."""
    return [row.split(",") for row in _requests(opened(name), folder)[1:]]


@needs_traces
def test_real_requests_in_other_forms_are_the_same_requests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The requests of real traces, as other tools would have written them, through `trace stats` and `run`."""
    rows = _real("msr_hm_0_excerpt7016.csv.zst", tmp_path)
    header = "filename,file_offset,application,op_type,request_io_size_bytes,start_time"
    forms: dict[str, tuple[str, list[str]]] = {
        "csv": (
            "when,what,bytes,where\n"
            + "".join(
                f"{int(at) // 1000},{'28' if kind == 'read' else '2a'},{size},{int(first) // 512}\n"
                for at, _, kind, first, size in rows
            ),
            ["--columns", "time:us,op,bytes,lbn:512B", "--op", "read=28,write=2a"],
        ),
        "diskmon": (
            "".join(
                f"{i}\t{int(at) / 1e9:.6f}\t0.0\t0\t{kind.title()}\t{int(first) // 512}\t{int(size) // 512}\n"
                for i, (at, _, kind, first, size) in enumerate(rows)
            ),
            [],
        ),
        "cloudphysics": (
            "version,time,op,size,lbn\n"
            + "".join(
                f"1,{int(at) // 1000},{'28' if kind == 'read' else '2a'},{size},{int(first) // 512}\n"
                for at, _, kind, first, size in rows
            ),
            [],
        ),
        "alibaba-2020": (
            "".join(
                f"3,{kind[0].upper()},{first},{size},{1577808000000000 + int(at) // 1000}\n"
                for at, _, kind, first, size in rows
            ),
            [],
        ),
        "tencent-cbs": (
            "".join(
                f"{1538323199 + int(at) // 10**9},{int(first) // 512},{int(size) // 512},{int(kind == 'write')},1576\n"
                for at, _, kind, first, size in rows
            ),
            ["--format", "tencent-cbs"],
        ),
        "systor-17": (
            "".join(
                f"{1456095145 + int(at) / 1e9:.9f},0.0008,{kind[0].upper()},2,{first},{size}\n"
                for at, _, kind, first, size in rows
            ),
            [],
        ),
        "thesios": (
            f"{header}\n"
            + "".join(
                f"{int(first) >> 24},{int(first) % 2**24},x,{kind.upper()},{size},{1705305600 + int(at) / 1e9:.6f}\n"
                for at, _, kind, first, size in rows
            ),
            [],
        ),
        "tectonic": (
            "".join(
                f"{int(first) >> 23} {int(first) % 2**23} {size} {1572074461 + int(at) / 1e9:.5f}"
                f" {1 if kind == 'read' else 4} 1 2 3\n"
                for at, _, kind, first, size in rows
            ),
            ["--format", "tectonic"],
        ),
        "fiu": (
            "".join(
                f"{at} 20782 gzip {int(first) // 512} {int(size) // 512} {kind[0].upper()} 6 0 56f11b\n"
                for at, _, kind, first, size in rows
            ),
            [],
        ),
    }
    reads = sum(row[2] == "read" for row in rows)
    objects = tmp_path / "oracle-general.txt"
    objects.write_bytes(
        b"".join(
            struct.pack("<IQIq", 1538323199 + int(at) // 10**9, int(first) // 512, int(size), -1)
            for at, _, _, first, size in rows
        )
    )
    forms["oracle-general"] = ("", ["--format", "oracle-general"])
    for version, form in ((1, "<IIIHHQQ"), (2, "<HHIIIQQ8x")):
        binary = tmp_path / f"vscsi {version}.txt"
        with binary.open("wb") as out:
            for i, (at, _, kind, first, size) in enumerate(rows):
                command, block, us = (0x28 if kind == "read" else 0x2A), int(first) // 512, int(at) // 1000
                fields = (i, int(size), 1, command, version << 8) if version == 1 else (command, 512, i, int(size), 1)
                out.write(struct.pack(form, *fields, block, us))
        forms[binary.stem] = ("", [])
    for name, (text, options) in forms.items():
        file = tmp_path / f"{name}.txt"
        if text:
            file.write_text(text)
        assert cli.main(["trace", "stats", str(file), *options, "--json"]) == 0, name
        stats = json.loads(capsys.readouterr().out)
        # Objects are read only.
        assert (stats["requests"], stats["reads"]) == (len(rows), len(rows) if name == objects.stem else reads), name
        assert stats["format"] == ("columns" if name == "csv" else name.split()[0])
        if name not in ("thesios", "tencent-cbs", objects.stem):
            assert stats["extent_bytes"] == max(int(row[3]) + int(row[4]) for row in rows)
            assert stats["span_s"] == pytest.approx(int(rows[-1][0]) / 1e9, abs=1e-3)
        command = ["run", "mlc-25nm", "--trace", str(file), *options, "--beyond", "wrap", "--json"]
        assert cli.main([*command, "--out", str(tmp_path / name)]) == 0, name
        assert json.loads(capsys.readouterr().out)["requests"] == len(rows)


@needs_traces
def test_events_of_a_real_blkparse_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(TRACES / "blkparse_hadoop_apress_50k_events.txt.zst")
    counts = {}
    for event in ("Q", "I", "D", "C"):
        if cli.main(["trace", "stats", file, "--event", event, "--json"]) == 0:
            stats = json.loads(capsys.readouterr().out)
            assert stats["event"] == event
            counts[event] = stats["requests"]
        else:
            assert "found only events that are not requests" in capsys.readouterr().err
    assert counts["Q"] == 15_524
    # Of all events without those that were queued, the next one is found and said.
    import subprocess

    text = subprocess.run(["zstd", "-dcq", file], check=True, capture_output=True, text=True).stdout
    rest = tmp_path / "rest.txt"
    rest.write_text("".join(line for line in text.splitlines(keepends=True) if line.split()[5:6] != ["Q"]))
    first = next(event for event in "IDC" if event in counts)
    assert cli.main(["trace", "stats", str(rest)]) == 0
    assert f"blkparse (recognised), {first} events" in capsys.readouterr().out
    replay = ["run", "mlc-25nm", "--trace", str(rest), "--beyond", "wrap"]
    assert cli.main([*replay, "--json", "--out", str(tmp_path / "o")]) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == counts[first]


def test_frames_of_all_kinds_are_the_same_trace(tmp_path: Path) -> None:
    import datetime

    import polars as pl

    start = datetime.datetime(2020, 1, 31, 13, 5, 59, tzinfo=datetime.UTC)
    frame = pl.DataFrame(
        {
            "id": [1, 2, 3],
            "ts": [start, start + datetime.timedelta(microseconds=250), start + datetime.timedelta(days=1)],
            "size": [4096.0, 512.0, 8192.0],
            "type": ["Read", "W", "trim"],
            "sector": [8, 16, 2**40 // 512],
        }
    )
    columns = "time=ts,op=type,bytes=size,lbn=sector"
    expected = ["0,0,read,4096,4096", "250000,0,write,8192,512", "86400000000000,0,trim,1099511627776,8192"]
    seconds = frame.with_columns(ts=pl.Series([each.timestamp() for each in frame["ts"]]))

    class Arrow:
        """What knows Arrow's interface, and nothing else."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return frame.__arrow_c_stream__(requested_schema)

    class NumPy:
        """A frame of NumPy columns, as pandas has them."""

        columns = seconds.columns

        def __getitem__(self, name: str) -> pl.Series:
            return seconds[name]

    frame.write_parquet(tmp_path / "t.parquet")
    traces = {
        "polars": softsense.Trace.from_frame(frame, columns),
        "lazy": softsense.Trace.from_frame(frame.lazy(), columns),
        "from the left": softsense.Trace.from_frame(frame, "-,time,bytes,op,lbn"),
        "seconds": softsense.Trace.from_frame(seconds, columns),
        "arrow": softsense.Trace.from_frame(Arrow(), columns),
        "numpy": softsense.Trace.from_frame(NumPy(), columns),
        "parquet": softsense.Trace(tmp_path / "t.parquet", columns=columns),
    }
    for name, trace in traces.items():
        assert _requests(trace, tmp_path)[1:] == expected, name
    # The log of a run is a trace again.
    own = pl.read_csv(tmp_path / "all.csv")
    assert _requests(softsense.Trace.from_frame(own), tmp_path)[1:] == expected
    with pytest.raises(softsense.TraceError, match=r"^mine:3: found `x` in column 4 \(op\)"):
        softsense.Trace.from_frame(frame.with_columns(type=pl.Series(["R", "x", "W"])), columns, name="mine")
    with pytest.raises(softsense.ConfigError, match="expected time, op"):
        softsense.Trace.from_frame(frame)
    with pytest.raises(softsense.ConfigError, match="found int, expected a data frame"):
        softsense.Trace.from_frame(3)
    with pytest.raises(softsense.ConfigError, match="--delimiter: found together with a data frame"):
        softsense.Trace.from_frame(frame, columns, delimiter="tab")


def test_frames_may_have_any_other_columns(tmp_path: Path) -> None:
    """Text with commas, quotes and new lines, lists, structs and bytes stand wherever they like in a frame."""
    import polars as pl

    others = {
        "path": ["/a", "/b,c", 'say "no"\nand go'],
        "list": [[1, 2], [], [3]],
        "struct": [{"a": 1}, {"a": 2}, {"a": None}],
        "bytes_of_it": [b"\x00", b",", b"\n"],
        "nothing": [None, None, None],
    }
    wanted = {"ts": [0.0, 1.0, 2.0], "op": ["R", "W", "R"], "size": [4096, 512, 512], "sector": [8, 16, 24]}
    columns = "time:us=ts,op=op,bytes=size,lbn=sector"
    expected = _requests(softsense.Trace.from_frame(pl.DataFrame(wanted), columns), tmp_path)
    assert len(expected) == 4
    for before in range(len(wanted) + 1):
        names = list(wanted)
        frame = pl.DataFrame(
            {name: wanted[name] for name in names[:before]} | others | {name: wanted[name] for name in names[before:]}
        )
        assert _requests(softsense.Trace.from_frame(frame, columns), tmp_path) == expected
        places = {"ts": "time:us", "op": "op", "size": "bytes", "sector": "lbn"}
        from_left = ",".join(places.get(name, "-") for name in frame.columns)
        assert _requests(softsense.Trace.from_frame(frame, from_left), tmp_path) == expected
        frame.write_parquet(tmp_path / "t.parquet")
        assert _requests(softsense.Trace(tmp_path / "t.parquet", columns=columns), tmp_path) == expected


def test_standard_input_is_a_trace(tmp_path: Path) -> None:
    import subprocess
    import sys

    text = "".join(f"{i}.5 0 {i * 8} 8 {i % 2}\n" for i in range(20_000))
    command = [
        sys.executable,
        "-m",
        "softsense",
        "run",
        "mlc-25nm",
        "--trace",
        "-",
        "--json",
        "--out",
        str(tmp_path / "out"),
    ]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, check=True)
    assert json.loads(done.stdout)["requests"] == 20_000
    assert "standard input" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_doubtful_units_are_told_wherever_a_trace_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sizes in pages of 4 KiB, which the format takes for sectors: told first, until somebody says what they are."""
    file, sweep = tmp_path / "t.txt", tmp_path / "s.toml"
    file.write_text("".join(f"{i}.5 0 {(i * 7 // 5) * 8} 1 {i % 3 and 1}\n" for i in range(600)))
    sweep.write_text(
        f'config = "mlc-25nm"\n[[traces]]\nfile = "{file}"\n[grid]\n"ftl.over_provisioning" = [0.1, 0.2]\n'
    )
    doubt = "% of requests begin where the request before them ends if sizes are in units of 4096 B"
    out = ["--out", str(tmp_path / "out")]
    commands = [
        ["trace", "stats", str(file)],
        ["run", "mlc-25nm", "--trace", str(file)],
        ["compare", "mlc-25nm", "--trace", str(file), "--policies", "two_step,progressive"],
        ["sweep", str(sweep), "--workers", "1"],
    ]
    for command in commands:
        wanted = command if command[0] == "trace" else [*command, *out]
        assert cli.main(wanted) == 0
        assert doubt in " ".join(capsys.readouterr().out.split()), command
        if command[0] != "sweep":
            assert cli.main([*wanted, "--size-unit", "4KiB"]) == 0
            assert doubt not in " ".join(capsys.readouterr().out.split())
    document = json.loads(softsense.Trace(file).stats_json())
    assert doubt in document["unit_doubts"][0]
    file.write_text(file.read_text().replace(".5 0", ".500000001 0").replace(" 1 ", " 8 "))
    assert cli.main(["trace", "stats", str(file)]) == 0
    assert "digits below 1 ns" in capsys.readouterr().out


def test_columns_are_saved_and_taken_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, mine = tmp_path / "t.txt", tmp_path / "mine.toml"
    file.write_text("".join(f"{i * 1000};{'2a' if i % 3 else '28'};4096;{i * 8}\n" for i in range(200)))
    options = ["--columns", "time:us,op,bytes,lbn:512B", "--op", "read=28,write=2a"]
    assert cli.main(["trace", "stats", str(file), *options, "--save-columns", str(mine)]) == 0
    said = capsys.readouterr().out
    assert "delimiter semicolon" in said
    assert cli.main(["trace", "stats", str(file), "--format", str(mine)]) == 0
    assert capsys.readouterr().out == said
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'config = "mlc-25nm"\n[grid]\n"ftl.over_provisioning" = [0.1, 0.2]\n'
        '[[traces]]\nfile = "t.txt"\nformat = "mine.toml"\nskip_outliers = true\n'
    )
    small = ["--out", str(tmp_path / "swept"), "--workers", "1"]
    assert cli.main(["sweep", str(sweep), *small]) == 0
    assert cli.main(["sweep", str(sweep), *small]) == 0
    sweep.write_text(sweep.read_text().replace("skip_outliers = true", "skip_header = 'one'"))
    assert cli.main(["sweep", str(sweep), *small]) == 2
    assert "skip_header" in capsys.readouterr().err
