"""MQSim and softsense's `mqsim-ssd` on the same requests: load by load, with two tenants, with garbage collection.

    python examples/beside_mqsim.py MQSIM [--table loads|tenants|collection] [--requests N]

MQSIM is the program that `make` builds in a copy of its public repository, https://github.com/CMU-SAFARI/MQSim; its
ssdconfig.xml has to stand beside it. The tables that come out are those of docs/model/mqsim.md.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import softsense

PAGE_SECTORS = 16
PAGES = 1 << 21
LOADS = {
    "reads": (1.0, [100, 20_000, 50_000, 100_000, 150_000, 200_000]),
    "70 % reads": (0.7, [100, 5_000, 20_000, 40_000]),
    "writes": (0.0, [100, 5_000, 20_000, 30_000, 40_000]),
}
# Caches off, the map in memory; the rest is as shipped.
DEVICE = {
    "Ideal_Mapping_Table": "true",
    "Caching_Mechanism": "SIMPLE",
    "CMD_Suspension_Support": "NONE",
    "Static_Wearleveling_Enabled": "false",
}
FLOW = {
    "Priority_Class": "HIGH",
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Channel_IDs": "0,1,2,3,4,5,6,7",
    "Chip_IDs": "0,1,2,3",
    "Die_IDs": "0,1",
    "Plane_IDs": "0,1",
    "Initial_Occupancy_Percentage": "50",
}
TRACE = {"Percentage_To_Be_Executed": "100", "Relay_Count": "1", "Time_Unit": "NANOSECOND"}
# Uniform reads of 4 KiB for 0.3 s, of a device with two chips a channel.
SYNTHETIC = {
    "Chip_IDs": "0,1",
    "Working_Set_Percentage": "50",
    "Synthetic_Generator_Type": "QUEUE_DEPTH",
    "Read_Percentage": "100",
    "Address_Distribution": "RANDOM_UNIFORM",
    "Percentage_of_Hot_Region": "0",
    "Generated_Aligned_Addresses": "true",
    "Address_Alignment_Unit": str(PAGE_SECTORS),
    "Request_Size_Distribution": "FIXED",
    "Average_Request_Size": "8",
    "Variance_Request_Size": "0",
    "Bandwidth": "32768",
    "Stop_Time": "300000000",
    "Total_Requests_To_Generate": "0",
}
# Commands fetched of each flow, and the depths of two flows.
TENANTS = {512: [(2, 2), (2, 8), (2, 32), (2, 128)], 16: [(8, 8), (8, 32), (8, 128)], 1024: [(8, 32), (8, 128)]}
# A drive that is soon filled: two channels, 128 MiB a plane, a fifth of it over-provisioned.
SMALL_BLOCKS, SMALL_PAGES, SMALL_SHARE = 256, 64, 0.2
SMALL = {
    "Flash_Channel_Count": "2",
    "Chip_No_Per_Channel": "1",
    "Die_No_Per_Chip": "1",
    "Block_No_Per_Plane": str(SMALL_BLOCKS),
    "Page_No_Per_Block": str(SMALL_PAGES),
    "GC_Block_Selection_Policy": "GREEDY",
    "Overprovisioning_Ratio": str(SMALL_SHARE),
    "Enabled_Preconditioning": "false",
}
SMALL_WRITTEN = int(4 * SMALL_BLOCKS * SMALL_PAGES * (1 - SMALL_SHARE))
# Share of free blocks at which MQSim collects, and whether it then lets the host go first. Below ten free blocks of a
# plane, whatever its config says, it stops writes: 0.05 is two blocks above, 0.06 five.
MQSIM_COLLECTS = [(0.05, False), (0.05, True), (0.06, False), (0.06, True), (0.1, True)]
SOFTSENSE_COLLECTS = [12, 15, 25]


@dataclass(frozen=True)
class Collected:
    """Pages moved, blocks erased, and responses of the writes, of a whole run."""

    moved: int
    blocks: int
    mean_us: float
    longest_us: float


class Mqsim:
    """The program, which runs in a folder of its own."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder

    def run(
        self, flows: Sequence[Mapping[str, str]], device: Mapping[str, str] | None = None, kind: str = "Trace_Based"
    ) -> ET.Element:
        """What it writes of a run of these flows."""
        tree = ET.parse(self.program.parent / "ssdconfig.xml")
        for name, value in {**DEVICE, **(device or {})}.items():
            for element in tree.getroot().iter(name):
                element.text = value
        tree.write(self.folder / "device.xml")
        scenarios = ET.Element("MQSim_IO_Scenarios")
        scenario = ET.SubElement(scenarios, "IO_Scenario")
        for own in flows:
            flow = ET.SubElement(scenario, f"IO_Flow_Parameter_Set_{kind}")
            for name, value in {**FLOW, **own}.items():
                ET.SubElement(flow, name).text = value
        ET.ElementTree(scenarios).write(self.folder / "work.xml")
        command = [str(self.program), "-i", "device.xml", "-w", "work.xml"]
        subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        return ET.parse(self.folder / "work_scenario_1.xml").getroot()


def write_trace(path: Path, requests: int, per_second: float, read_fraction: float) -> None:
    """Poisson arrivals of whole pages at uniform addresses."""
    draw, now_ns = random.Random(1), 0.0
    with path.open("w") as file:
        for _ in range(requests):
            now_ns += draw.expovariate(per_second) * 1e9
            sector = draw.randrange(PAGES) * PAGE_SECTORS
            file.write(f"{int(now_ns)} 0 {sector} {PAGE_SECTORS} {int(draw.random() < read_fraction)}\n")


def summary_of(config: softsense.Config | str, trace: Path, overrides: Sequence[str] = ()) -> Mapping[str, Any]:
    """What softsense finds on a trace."""
    requests = softsense.Trace(str(trace), format="mqsim")
    return softsense.run(config, requests, overrides=list(overrides)).summary


def loads(mqsim: Mqsim, requests: int) -> Iterator[str]:
    """Mean responses, which MQSim rounds down to whole microseconds, and how long each program took."""
    yield "| requests | a second | MQSim, us | `mqsim-ssd`, us | | MQSim, s | softsense, s |"
    yield "|---|---|---|---|---|---|---|"
    trace = mqsim.folder / "requests.trace"
    for name, (read_fraction, per_second) in LOADS.items():
        for load in per_second:
            write_trace(trace, requests, load, read_fraction)
            began = time.perf_counter()
            found = mqsim.run([{**TRACE, "File_Path": str(trace)}])
            theirs = float(found.findtext(".//Device_Response_Time", "nan"))
            between = time.perf_counter()
            ours = summary_of("mqsim-ssd", trace)["response"]["all"]["mean_us"]
            ended = time.perf_counter()
            times = f"{between - began:.2f} | {ended - between:.2f}"
            means = f"{theirs:,.0f} | {ours:,.1f} | {ours / theirs - 1:+.1%}"
            yield f"| {name} | {load:,} | {means} | {times} |"


def tenants(mqsim: Mqsim, _requests: int) -> Iterator[str]:
    """Mean responses of two flows together, us, and their slowdowns against running alone."""
    yield "| depths | commands fetched, each | MQSim | slowdowns | softsense | slowdowns |"
    yield "|---|---|---|---|---|---|"
    for fetched, pairs in TENANTS.items():
        for depths in pairs:
            theirs, counts = _mqsim_tenants(mqsim, depths, fetched)
            theirs_alone, counts_alone = zip(
                *(_mqsim_tenants(mqsim, [depth], fetched) for depth in depths), strict=True
            )
            ours = _our_tenants(depths, fetched, counts)
            ours_alone = [
                _our_tenants([depth], fetched, count) for depth, count in zip(depths, counts_alone, strict=True)
            ]
            slow = [
                ", ".join(f"{both / alone[0]:.2f}" for both, alone in zip(means, means_alone, strict=True))
                for means, means_alone in ((theirs, theirs_alone), (ours, ours_alone))
            ]
            told = f"{', '.join(f'{mean:,.0f}' for mean in theirs)} | {slow[0]}"
            told += f" | {', '.join(f'{mean:,.1f}' for mean in ours)} | {slow[1]}"
            yield f"| {depths[0]}, {depths[1]} | {fetched:,} | {told} |"


def _mqsim_tenants(mqsim: Mqsim, depths: Sequence[int], fetched: int) -> tuple[list[float], list[int]]:
    """The mean response of each flow, us, and how many requests it had."""
    flows = [
        {**SYNTHETIC, "Initial_Occupancy_Percentage": "75", "Seed": str(798 + 100 * at)}
        | {"Average_No_of_Reqs_in_Queue": str(depth)}
        for at, depth in enumerate(depths)
    ]
    device = {"Enabled_Preconditioning": "false", "Queue_Fetch_Size": str(fetched)}
    found = list(mqsim.run(flows, device, "Synthetic").iter("Host.IO_Flow"))
    means = [float(flow.findtext("Device_Response_Time", "nan")) for flow in found]
    return means, [int(flow.findtext("Request_Count", "0")) for flow in found]


def _our_tenants(depths: Sequence[int], fetched: int, counts: Sequence[int]) -> list[float]:
    """The same of softsense, for so many requests each."""
    device = [
        "geometry.chips_per_channel=2",
        "geometry.codewords_per_page=2",
        "geometry.codeword_bytes=4096",
        "bus.transfer_us=12.3",
        "host.service.overhead_us=1.3",  # 4 KiB over the host's link
    ]
    toml, _, _ = softsense.Config.open("mqsim-ssd").with_overrides(device).to_toml().partition("[workload]")
    toml += f"[host.arbitration]\nfetched_commands = {fetched * len(depths)}\n"
    for at, (depth, requests) in enumerate(zip(depths, counts, strict=True)):
        toml += f"""
[[host.tenants]]
name = "{at}"
fetched_commands = {fetched}
namespace.fraction = 0.45
issue.closed_loop.queue_depth = {depth}
[host.tenants.workload]
requests = {requests}
read_fraction = 1.0
sizes = [{{ bytes = 4096, share = 1.0 }}]
addresses = "uniform"
align_bytes = 8192
arrivals = "immediate"
"""
    found = softsense.run(softsense.Config.from_toml(toml, "tenants.toml")).summary
    return [tenant["all"]["mean_us"] for tenant in found["tenants"]]


def collection(mqsim: Mqsim, requests: int) -> Iterator[str]:
    """Garbage collection under uniform overwrites: what is moved between so many and three times as many."""
    yield "| | free blocks | write amplification | valid pages of a victim | mean response, us | longest, us |"
    yield "|---|---|---|---|---|---|"
    theirs: dict[tuple[float, bool], list[Collected]] = {}
    ours: dict[int, list[Collected]] = {}
    trace = mqsim.folder / "overwrites.trace"
    for overwrites in (requests, 3 * requests):
        _write_overwrites(trace, SMALL_WRITTEN, overwrites)
        for setting in MQSIM_COLLECTS:
            theirs.setdefault(setting, []).append(_mqsim_collected(mqsim, trace, overwrites, *setting))
        for collects_below in SOFTSENSE_COLLECTS:
            ours.setdefault(collects_below, []).append(_our_collected(trace, collects_below))
    rows = [
        (f"MQSim{', preemptible' if preemptible else ''}", int(threshold * SMALL_BLOCKS), counts)
        for (threshold, preemptible), counts in theirs.items()
    ]
    for name, collects_below, (before, later) in [*rows, *(("softsense", low, counts) for low, counts in ours.items())]:
        moved = later.moved - before.moved
        valid = moved / (later.blocks - before.blocks) / SMALL_PAGES
        told = f"{1 + moved / (2 * requests):.2f} | {valid:.1%} | {later.mean_us:,.0f} | {later.longest_us:,.0f}"
        yield f"| {name} | {collects_below} | {told} |"


def _mqsim_collected(mqsim: Mqsim, trace: Path, overwrites: int, threshold: float, preemptible: bool) -> Collected:
    """What MQSim collects if it begins at this share of free blocks."""
    flow = {**TRACE, "Channel_IDs": "0,1", "Chip_IDs": "0", "Die_IDs": "0", "Initial_Occupancy_Percentage": "0"}
    device = {
        **SMALL,
        "GC_Exec_Threshold": str(threshold),
        "Preemptible_GC_Enabled": str(preemptible).lower(),
    }
    found = mqsim.run([{**flow, "File_Path": str(trace)}], device)
    ftl = next(found.iter("SSDDevice.FTL")).attrib
    programmed = int(ftl["Issued_Flash_Program_CMD"]) + 2 * int(ftl["Issued_Flash_Multiplane_Program_CMD"])
    return Collected(
        moved=programmed - SMALL_WRITTEN - overwrites,
        blocks=int(ftl["Total_GC_Executions"]),
        mean_us=float(found.findtext(".//Device_Response_Time", "nan")),
        longest_us=float(found.findtext(".//Max_Device_Response_Time", "nan")),
    )


def _our_collected(trace: Path, collects_below: int) -> Collected:
    """What softsense collects if it begins below so many free blocks of a plane."""
    device = [
        "geometry.channels=2",
        "geometry.chips_per_channel=1",
        "geometry.dies_per_chip=1",
        f"geometry.blocks_per_plane={SMALL_BLOCKS}",
        f"geometry.pages_per_block={SMALL_PAGES}",
        f"ftl.over_provisioning={SMALL_SHARE}",
        f"ftl.gc_low_watermark_blocks={collects_below}",
        f"ftl.gc_high_watermark_blocks={collects_below + 1}",
        "precondition.mapped_fraction=0.0",
    ]
    summary = summary_of("mqsim-ssd", trace, device)
    write = summary["response"]["write"]
    return Collected(
        moved=summary["writes_detail"]["gc_codewords"],
        blocks=summary["gc"]["blocks_reclaimed"],
        mean_us=write["mean_us"],
        longest_us=write["max_us"],
    )


def _write_overwrites(path: Path, pages: int, overwrites: int) -> None:
    """Each page once, then pages drawn uniformly; 100 a second."""
    draw, now_ns = random.Random(2), 0.0
    with path.open("w") as file:
        for at in range(pages + overwrites):
            now_ns += draw.expovariate(100.0) * 1e9
            page = at if at < pages else draw.randrange(pages)
            file.write(f"{int(now_ns)} 0 {page * PAGE_SECTORS} {PAGE_SECTORS} 0\n")


TABLES = {"loads": loads, "tenants": tenants, "collection": collection}


def main() -> None:
    """Print the tables that are asked for, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mqsim", type=Path)
    parser.add_argument("--table", choices=TABLES, action="append")
    parser.add_argument("--requests", type=int)
    options = parser.parse_args()
    usual = {"loads": 50_000, "tenants": 0, "collection": 100_000}
    for name in options.table or TABLES:
        with tempfile.TemporaryDirectory() as folder:
            for line in TABLES[name](Mqsim(options.mqsim.resolve(), Path(folder)), options.requests or usual[name]):
                print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
